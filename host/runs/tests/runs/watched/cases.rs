//! The verdicts of `watch` over applications whose limit is known, with a table: throttles of the kernel, emulated disks and machines,
//! delays, CPU quotas, neighbours, durable writes, caches, and nothing that limits.
//!
//! They take a quarter of an hour, so that `cargo xtask test --long` alone tries them. `LOADLINE_TEST_SET_UPS` tries those whose name
//! contains it. `LOADLINE_TEST_KEEP` names a folder that keeps the records, and in which a run that was ended is carried on.
//! The gate judges the records below `kept/watched` anew; `LOADLINE_TEST_KEPT` names another folder with records.

use super::constructed::{Case, all};
use crate::or_skip;
use crate::support::{Bench, summary};
use loadline_record::{HostFacts, RunRecord};
use loadline_runs::watch::{Watch, WatchSettings};
use loadline_runs::{DeclaredEnvironment, RunOptions, Silent};
use loadline_units::Duration;
use serde::{Deserialize, Serialize};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Cases that have the right name, at least, on a machine that may be busy with other things.
const RIGHT_MIN: f64 = 0.9;
/// Cases that need little of the machine, watched at the same time.
const AT_ONCE: usize = 3;
/// How long an application is watched.
const WATCHED: Duration = Duration::from_s(8);
/// What an application may need until it is at its pace.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(1_500);

/// An application that waits for a CPU for so much of the time may be limited by that, where its storage has no limit.
const CPU_WAITED: f64 = 0.25;

/// What is right for a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Cause {
    /// Names of limits; each is right.
    names: Vec<String>,
    /// What the verdict must contain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    words: String,
    /// The cause that must have most of the time, as programs read it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    at: String,
    /// Whether threads must wait behind the one that asks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    behind: bool,
}

impl Cause {
    pub(super) fn of(names: &[&str]) -> Self {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Self { names, words: String::new(), at: String::new(), behind: false }
    }
    pub(super) fn with_words(self, words: &str) -> Self {
        Self { words: words.to_owned(), ..self }
    }
    pub(super) fn at(self, cause: &str) -> Self {
        Self { at: cause.to_owned(), ..self }
    }
    pub(super) fn behind(self) -> Self {
        Self { behind: true, ..self }
    }
}

/// An application that was watched.
#[derive(Serialize, Deserialize)]
struct Watched {
    case: String,
    truth: Cause,
    record: RunRecord,
}

/// A line of the table.
struct Line {
    case: String,
    truth: Cause,
    named: String,
    held_by: String,
    presumed: bool,
    causes: String,
    /// The cause with most of the time, as programs read it.
    at: String,
    threads_behind: bool,
    /// It waited for CPUs that others had.
    waited_for_cpus: bool,
}

impl Line {
    fn is_right(&self) -> bool {
        self.is_named()
            || self.waited_for_cpus && !self.truth.names.iter().any(|name| is_limit(name)) && self.named == "cpu"
    }
    fn is_named(&self) -> bool {
        let Cause { names, words, at, behind } = &self.truth;
        names.contains(&self.named)
            && self.held_by.contains(words)
            && (at.is_empty() || *at == self.at)
            && (!behind || self.threads_behind)
    }
    /// A limit of storage, named with confidence where there is none.
    fn is_made_up(&self) -> bool {
        !self.presumed && is_limit(&self.named) && !self.truth.names.iter().any(|name| is_limit(name))
    }
    fn mark(&self) -> &'static str {
        match (self.is_made_up(), self.is_right()) {
            (true, _) => "MADE UP",
            (_, false) => "wrong",
            _ => "",
        }
    }
}

fn is_limit(name: &str) -> bool {
    ["disk-", "vm-", "burst-"].iter().any(|start| name.starts_with(start))
}

/// The share of the time for which some program of a watch waited for a CPU.
fn waited_for_cpus(record: &RunRecord) -> f64 {
    let watches = record.cells.iter().filter_map(|cell| cell.trials.last()?.watched.as_deref());
    let shares = watches.flat_map(|watch| {
        let length_us: u64 = watch.ticks.iter().map(|tick| tick.elapsed_us).sum();
        let waited = |program: &loadline_record::WatchedProgram| {
            program.seconds.iter().map(|second| second.cpu_wait_us).sum::<u64>() as f64 / length_us.max(1) as f64
        };
        watch.programs.iter().map(waited).collect::<Vec<f64>>()
    });
    shares.fold(0.0, f64::max)
}

/// Where what is watched goes.
#[derive(Default)]
pub(super) struct Cases {
    kept_in: Option<PathBuf>,
    broken: Mutex<Vec<String>>,
    lines: Mutex<Vec<Line>>,
}

impl Cases {
    /// Watches what is typed, once the application has used the device and is at its pace.
    pub(super) fn watch(&self, case: &str, typed: &str, declared: Option<DeclaredEnvironment>, truth: Cause) {
        std::thread::sleep(SETTLED);
        let bench = Bench::new();
        let settings = WatchSettings { duration: Some(WATCHED), environment: declared, ..WatchSettings::default() };
        let options = RunOptions::default().seeded(0).stored_in(bench.store());
        let outcome =
            Watch::prepare(&[typed.to_owned()], settings, options).unwrap().run(&mut Silent::default()).unwrap();
        let mut record = outcome.record;
        // A kept record says nothing of the machine.
        record.header.host = HostFacts::default();
        for volume in &mut record.header.volumes {
            (volume.devices, volume.path) = (Vec::new(), None);
        }
        let watched = Watched { case: case.to_owned(), truth, record };
        if let Some(file) = self.kept_file(case) {
            fs::write(file, format!("{}\n", serde_json::to_string(&watched).unwrap())).unwrap();
        }
        self.judge(&watched);
    }

    fn kept_file(&self, case: &str) -> Option<PathBuf> {
        let name = case.replace([' ', ',', '/', '%', '\''], "-");
        Some(self.kept_in.as_ref()?.join(format!("{name}.json")))
    }

    /// Watches a case, unless an earlier run kept its record; whether it could be set up.
    fn try_one(&self, case: Case) -> bool {
        if let Some(kept) = self.kept_file(&case.name).filter(|file| file.exists()) {
            self.judge(&serde_json::from_slice(&fs::read(kept).unwrap()).unwrap());
            return true;
        }
        let watched = catch_unwind(AssertUnwindSafe(|| (case.watch)(self, &case.name)));
        if watched.is_err() {
            self.broken.lock().unwrap().push(case.name);
        }
        matches!(watched, Ok(Some(())))
    }

    /// Of several devices it is the verdict's first.
    fn judge(&self, Watched { case, truth, record }: &Watched) {
        let summary = summary(record);
        let verdict = &summary["verdict"]["volumes"][0];
        let cells = summary["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["id"] == verdict["cell"]).expect("a verdict is about a cell");
        let most = &cell["watch"]["causes"][0]["caused_by"];
        let at = most["at"].as_str().or_else(|| most["kind"].as_str());
        let facts = cell["binding"]["seen"].as_array().unwrap();
        let threads_behind = facts.iter().any(|fact| fact["threads_behind"].as_f64().is_some());
        let causes = cell["watch"]["causes"].as_array().unwrap().iter().map(|cause| {
            format!("{} {:.0} %", cause["cause"].as_str().unwrap(), cause["share"].as_f64().unwrap() * 100.0)
        });
        let causes: Vec<String> = causes.collect();
        self.lines.lock().unwrap().push(Line {
            case: case.clone(),
            truth: truth.clone(),
            named: cell["binding"]["limit"].as_str().unwrap_or("none").to_owned(),
            held_by: verdict["held_by"].as_str().unwrap_or_default().to_owned(),
            presumed: cell["binding"]["presumed"].as_bool().unwrap_or(false),
            causes: causes.join("; "),
            at: at.unwrap_or_default().to_owned(),
            threads_behind,
            waited_for_cpus: waited_for_cpus(record) >= CPU_WAITED,
        });
    }

    /// Judges what an earlier run of this test kept.
    fn of_kept(folder: &Path) -> Self {
        let table = Self::default();
        let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            let watched = serde_json::from_slice(&fs::read(&file).unwrap());
            table.judge(&watched.unwrap_or_else(|error| panic!("{}: {error}", file.display())));
        }
        table
    }

    /// Watches cases: those that need little together, those that need the machine one after the other.
    fn watched(kept_in: Option<PathBuf>) -> Option<Self> {
        let table = Self { kept_in, ..Self::default() };
        let chosen = std::env::var("LOADLINE_TEST_SET_UPS").unwrap_or_default();
        let chosen = all().into_iter().filter(|case| case.name.contains(&chosen));
        let (light, alone): (Vec<_>, Vec<_>) = chosen.partition(|case| case.is_light);
        println!("{} cases, {} of them together", light.len() + alone.len(), light.len());
        let missing = Mutex::new(Vec::new());
        let try_one = |case: Case| {
            let name = case.name.clone();
            if !table.try_one(case) {
                missing.lock().unwrap().push(name);
            }
        };
        let light = Mutex::new(light.into_iter());
        let work = || {
            while let Some(case) = { light.lock().unwrap().next() } {
                try_one(case);
            }
        };
        std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
        alone.into_iter().for_each(try_one);
        println!("not set up: {}", missing.into_inner().unwrap().join("; "));
        let has_lines = !table.lines.lock().unwrap().is_empty();
        has_lines.then_some(table)
    }

    /// Prints the table. Returns its cases, the right ones, and those that were made up.
    fn print(&self) -> (usize, usize, usize) {
        let lines = self.lines.lock().unwrap();
        for line in lines.iter() {
            let (truth, mark) = (line.truth.names.join("|"), line.mark());
            println!("{mark:<8}{:<52}{truth:<28}{:<18}{}", line.case, line.named, line.held_by);
            if !mark.is_empty() {
                println!("        {}", line.causes);
            }
        }
        let right = lines.iter().filter(|line| line.is_right()).count();
        let made_up = lines.iter().filter(|line| line.is_made_up()).count();
        let by_cpus = lines.iter().filter(|line| line.is_right() && !line.is_named()).count();
        println!(
            "{right} of {} cases have the right name, {by_cpus} of them as others kept the CPUs busy; {made_up} made up",
            lines.len()
        );
        (lines.len(), right, made_up)
    }
}

fn folder(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

#[test]
#[ignore = "long: measures this machine"]
fn what_limits_watched_applications_is_named_and_nothing_is_made_up() {
    let watched = Cases::watched(folder("LOADLINE_TEST_KEEP"));
    let table = or_skip!(watched, "it takes root, loop devices, FUSE, control groups and fio");
    let (count, right, made_up) = table.print();
    let broken = table.broken.into_inner().unwrap();
    assert!(broken.is_empty(), "these failed: {broken:?}");
    assert_eq!(made_up, 0, "a limit is named with confidence where none is");
    assert!(right as f64 >= RIGHT_MIN * count as f64, "{right} of {count}");
}

#[test]
fn kept_watches_are_named_as_they_were() {
    let kept = folder("LOADLINE_TEST_KEPT")
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/watched"));
    let (count, right, made_up) = Cases::of_kept(&kept).print();
    assert_eq!((right, made_up), (count, 0));
}
