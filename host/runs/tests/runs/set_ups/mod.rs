//! Limits by name over 200 set-ups of known truth, with a table: throttles of the kernel with and without busy CPUs and neighbours,
//! delays and rates of an NBD server, writes that are made durable, caches, quotas, changes within a trial, and nothing that limits.
//!
//! They take half an hour, so that `cargo xtask test --long` alone tries them. `LOADLINE_TEST_SEED` sets another seed,
//! `LOADLINE_TEST_SET_UPS` tries those whose name contains it. `LOADLINE_TEST_KEEP` names a folder that keeps the records, and in which
//! a run that was ended is carried on;
//! `LOADLINE_TEST_KEPT` names one whose records are judged anew instead of measuring.

mod constructed;

use crate::limits::setting;
use crate::or_skip;
use crate::support::cells;
use constructed::{SetUp, all};
use loadline_record::RunRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Values may be off by so much.
const VALUE_TOLERANCE: f64 = 0.02;
/// Cells that have the right name, at least, on a machine that may be busy with other things.
const RIGHT_MIN: f64 = 0.9;
/// Slow set-ups measured at the same time.
const AT_ONCE: usize = 5;
/// Seeds of set-ups follow one another from a multiple of this on.
const SEEDED: u64 = 1_000;

/// What is right for a cell: its names, and the value as IOPS of its load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Truth {
    names: Vec<String>,
    iops: Option<f64>,
}

impl Truth {
    fn of(names: &[&str], iops: impl Into<Option<f64>>) -> Self {
        Self { names: names.iter().map(|name| (*name).to_owned()).collect(), iops: iops.into() }
    }
}

/// What lacks more than this of its limit was not held by it: a busy machine did not let it run.
const REACHED: f64 = 0.9;

impl Truth {
    /// The same for what the load came to.
    fn if_reached(mut self, cell: &Value) -> Self {
        let rate = cell["lasting"]["iops"].as_f64().or(cell["total"]["iops"].as_f64()).unwrap_or(0.0);
        if self.iops.is_some_and(|limit| rate < limit * REACHED) {
            self.names.extend(["cpu", "generator", "latency", "parallelism", "unexplained"].map(str::to_owned));
            self.iops = None;
        }
        self
    }
}

/// A set-up with what was measured on it.
#[derive(Serialize, Deserialize)]
struct Measured {
    set_up: String,
    truths: Vec<Truth>,
    record: RunRecord,
}

/// One cell of the table.
struct NamedCell {
    set_up: String,
    cell: String,
    truth: Truth,
    named: String,
    ceiling: Option<f64>,
    presumed: bool,
    evidence: String,
}

impl NamedCell {
    fn is_right(&self) -> bool {
        self.truth.names.contains(&self.named)
    }
    fn error(&self) -> Option<f64> {
        Some(self.ceiling? / self.truth.iops? - 1.0)
    }
    fn is_near(&self) -> bool {
        self.truth.iops.is_none() || self.error().is_some_and(|error| error.abs() <= VALUE_TOLERANCE)
    }
    /// A limit of the disk, named with confidence where there is none.
    fn is_made_up(&self) -> bool {
        let has_limit = self.truth.names.iter().any(|name| name.starts_with("disk-"));
        !self.presumed && self.named.starts_with("disk-") && !has_limit
    }
    fn mark(&self) -> &'static str {
        if self.is_made_up() {
            "MADE UP"
        } else if !self.is_right() {
            "wrong"
        } else if !self.is_near() {
            "value"
        } else {
            ""
        }
    }
}

/// Where what is measured goes.
#[derive(Default)]
pub(crate) struct SetUps {
    kept_in: Option<PathBuf>,
    /// Set-ups in which something failed.
    broken: Mutex<Vec<String>>,
    rows: Mutex<Vec<NamedCell>>,
}

impl SetUps {
    /// The cells of a run, each with its truth.
    fn add(&self, set_up: &str, record: &RunRecord, truth: impl Fn(&Value) -> Truth) {
        let truths = cells(record).iter().map(|cell| truth(cell).if_reached(cell)).collect();
        let measured = Measured { set_up: set_up.to_owned(), truths, record: record.clone() };
        if let Some(file) = self.kept_file(set_up) {
            fs::write(file, serde_json::to_vec(&measured).unwrap()).unwrap();
        }
        self.judge(&measured);
    }

    /// Where the record of a set-up is kept.
    fn kept_file(&self, set_up: &str) -> Option<PathBuf> {
        let name = set_up.replace([' ', ',', '/'], "-");
        Some(self.kept_in.as_ref()?.join(format!("{name}.json")))
    }

    /// Measures a set-up, unless an earlier run kept its record; whether it could be set up.
    fn try_one(&self, set_up: SetUp) -> bool {
        if let Some(kept) = self.kept_file(&set_up.name).filter(|file| file.exists()) {
            self.judge(&serde_json::from_slice(&fs::read(kept).unwrap()).unwrap());
            return true;
        }
        let measured = catch_unwind(AssertUnwindSafe(|| (set_up.measure)(self, &set_up.name)));
        if measured.is_err() {
            self.broken.lock().unwrap().push(set_up.name);
        }
        matches!(measured, Ok(Some(())))
    }

    fn judge(&self, Measured { set_up, truths, record }: &Measured) {
        let named = cells(record).into_iter().zip(truths).map(|(cell, truth)| {
            let binding = &cell["binding"];
            NamedCell {
                set_up: set_up.clone(),
                cell: cell["label"].as_str().unwrap().to_owned(),
                truth: truth.clone(),
                named: binding["limit"].as_str().unwrap_or("none").to_owned(),
                ceiling: binding["ceiling_iops"].as_f64(),
                presumed: binding["presumed"].as_bool().unwrap_or(false),
                evidence: binding["evidence"].as_str().unwrap_or_default().to_owned(),
            }
        });
        self.rows.lock().unwrap().extend(named);
    }

    /// Judges what an earlier run of this test kept.
    fn of_kept(folder: &Path) -> Self {
        let table = Self::default();
        let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            table.judge(&serde_json::from_slice(&fs::read(&file).unwrap()).unwrap());
        }
        table
    }

    /// Measures set-ups: slow ones together, those that need the machine one after the other.
    fn measured(seed: u64, kept_in: Option<PathBuf>) -> Option<Self> {
        let table = Self { kept_in, ..Self::default() };
        let chosen = std::env::var("LOADLINE_TEST_SET_UPS").unwrap_or_default();
        let chosen = all(seed).into_iter().filter(|set_up| set_up.name.contains(&chosen));
        let (slow, alone): (Vec<_>, Vec<_>) = chosen.partition(|set_up| set_up.is_slow);
        println!("{} set-ups, {} of them together", slow.len() + alone.len(), slow.len());
        let slow = Mutex::new(slow.into_iter());
        let missing = Mutex::new(Vec::new());
        let work = || {
            while let Some(set_up) = { slow.lock().unwrap().next() } {
                let name = set_up.name.clone();
                if !table.try_one(set_up) {
                    missing.lock().unwrap().push(name);
                }
            }
        };
        std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
        for set_up in alone {
            let name = set_up.name.clone();
            if !table.try_one(set_up) {
                missing.lock().unwrap().push(name);
            }
        }
        let missing = missing.into_inner().unwrap();
        println!("not set up: {}", missing.join("; "));
        let has_rows = !table.rows.lock().unwrap().is_empty();
        has_rows.then_some(table)
    }
}

#[test]
#[ignore = "long: measures this machine"]
fn limits_of_constructed_set_ups_are_named_and_none_is_made_up() {
    let seed = setting("LOADLINE_TEST_SEED").unwrap_or_else(|| RandomState::new().hash_one(0) / SEEDED * SEEDED);
    println!("seed {seed} (LOADLINE_TEST_SEED)");
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let table = match folder("LOADLINE_TEST_KEPT") {
        Some(kept) => SetUps::of_kept(&kept),
        None => or_skip!(
            SetUps::measured(seed, folder("LOADLINE_TEST_KEEP")),
            "it takes root, loop devices, blkio.throttle, nbdkit and fio"
        ),
    };
    let rows = table.rows.into_inner().unwrap();
    for row in &rows {
        let error = row.error().map_or_else(String::new, |error| format!("{:+.1} %", error * 100.0));
        let (truth, cell, mark) = (row.truth.names.join("|"), &row.cell, row.mark());
        println!("{mark:<8}{:<44}{cell:<44}{truth:<28}{:<18}{error:>9}", row.set_up, row.named);
        if !mark.is_empty() {
            println!("        {}", row.evidence);
        }
    }
    let mut by_set_up: BTreeMap<&str, bool> = BTreeMap::new();
    for row in &rows {
        *by_set_up.entry(&row.set_up).or_insert(true) &= row.is_right();
    }
    let (count, right) = (rows.len(), rows.iter().filter(|row| row.is_right()).count());
    let near = rows.iter().filter(|row| row.is_right() && row.is_near()).count();
    let made_up = rows.iter().filter(|row| row.is_made_up()).count();
    println!(
        "{right} of {count} cells have the right name, {near} with a value within 2 %, {made_up} made up; {} of {} set-ups are right whole",
        by_set_up.values().filter(|right| **right).count(),
        by_set_up.len()
    );
    let broken = table.broken.into_inner().unwrap();
    assert!(broken.is_empty(), "these failed, seed {seed}: {broken:?}");
    assert_eq!(made_up, 0, "a limit is named with confidence where none is, seed {seed}");
    assert!(right as f64 >= RIGHT_MIN * count as f64, "{right} of {count}, seed {seed}");
}
