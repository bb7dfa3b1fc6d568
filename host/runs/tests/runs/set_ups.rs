//! Limits by name over many set-ups of known truth, with a table: throttles of the kernel with and without busy CPUs and neighbours,
//! delays and rates of an NBD server, writes that are made durable, changes within a trial, and nothing that limits.
//!
//! They take a quarter of an hour, so that `cargo xtask test --long` alone tries them. `LOADLINE_TEST_SEED` sets another seed.

use crate::limits::{NO_THROTTLE, Storage, draw, setting};
use crate::or_skip;
use crate::support::devices::{Group, Loop, run, wait_until};
use crate::support::{Bench, cells, whole};
use loadline_record::RunRecord;
use serde_json::Value;
use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Values may be off by so much.
const VALUE_TOLERANCE: f64 = 0.02;
/// Cells that have the right name, at least, on a machine that may be busy with other things.
const RIGHT_MIN: f64 = 0.9;
/// Throttled devices that are drawn, of each kind.
const DRAWN: u64 = 12;
/// Names for loads that nothing limits.
const NO_LIMIT: &[&str] = &["latency", "parallelism", "cpu", "generator", "unexplained"];

/// Processes that are ended when dropped.
struct Processes(Vec<Child>);

impl Processes {
    /// Loops that keep CPUs busy.
    fn hogs(count: usize) -> Self {
        let hog = || Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        Self((0..count).map(|_| hog()).collect())
    }
    /// A reader of a device, `arguments` say how.
    fn neighbour(device: &str, arguments: &[&str]) -> Option<Self> {
        let file = format!("--filename={device}");
        let base =
            ["--name=neighbour", "--rw=randread", "--bs=4k", "--direct=1", "--time_based", "--runtime=600", &file];
        let mut command = Command::new("fio");
        command.args(base).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(Self(vec![command.spawn().ok()?]))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What is right for a cell: its names, and the value as IOPS of its load.
type Truth = (&'static [&'static str], Option<f64>);

/// One cell of the table.
struct NamedCell {
    set_up: String,
    cell: String,
    truth: Truth,
    named: String,
    ceiling: Option<f64>,
    presumed: bool,
}

impl NamedCell {
    fn is_right(&self) -> bool {
        self.truth.0.contains(&self.named.as_str())
    }
    fn error(&self) -> Option<f64> {
        Some(self.ceiling? / self.truth.1? - 1.0)
    }
    fn is_near(&self) -> bool {
        self.truth.1.is_none() || self.error().is_some_and(|error| error.abs() <= VALUE_TOLERANCE)
    }
    /// A limit of the disk, named with confidence where there is none.
    fn is_made_up(&self) -> bool {
        !self.presumed && self.named.starts_with("disk-") && !self.truth.0.iter().any(|name| name.starts_with("disk-"))
    }
}

/// Where the rows go.
#[derive(Default)]
struct SetUps(Vec<NamedCell>);

impl SetUps {
    /// The cells of a run, each with its truth.
    fn add(&mut self, set_up: &str, record: &RunRecord, truth: impl Fn(&Value) -> Truth) {
        for cell in &cells(record) {
            let binding = &cell["binding"];
            self.0.push(NamedCell {
                set_up: set_up.to_owned(),
                cell: cell["label"].as_str().unwrap().to_owned(),
                truth: truth(cell),
                named: binding["limit"].as_str().unwrap_or("none").to_owned(),
                ceiling: binding["ceiling_iops"].as_f64(),
                presumed: binding["presumed"].as_bool().unwrap_or(false),
            });
        }
    }
    fn print(&self) {
        for row in &self.0 {
            let mark = if row.is_made_up() {
                "MADE UP"
            } else if !row.is_right() {
                "wrong"
            } else if !row.is_near() {
                "value"
            } else {
                ""
            };
            let error = row.error().map_or_else(String::new, |error| format!("{:+.1} %", error * 100.0));
            let (truth, cell) = (row.truth.0.join("|"), &row.cell);
            println!("{mark:<8}{:<36}{cell:<44}{truth:<28}{:<18}{error:>9}", row.set_up, row.named);
        }
    }
}

/// A plan of random loads.
fn plan(reads: &str, blocks: &[u64], depths: &[u64], more: &str) -> String {
    let blocks: Vec<String> = blocks.iter().map(|kib| format!("\"{kib} KiB\"")).collect();
    format!(
        "schema = 1\nname = \"set-up\"\n[[load]]\npattern = \"random\"\nreads = \"{reads}\"\nblock = [{}]\nqueue_depth = {depths:?}\n\
         warm_up = \"500 ms\"\ntrials = 1\nsize = \"32 MiB\"\n{more}\n",
        blocks.join(", ")
    )
}

fn block_bytes(cell: &Value) -> f64 {
    cell["load"]["block_bytes"].as_f64().unwrap()
}
fn depth(cell: &Value) -> u64 {
    cell["load"]["queue_depth"].as_u64().unwrap() * cell["load"]["threads"].as_u64().unwrap_or(1)
}

/// A throttle of the kernel on requests, on bytes or on both, for reads or for writes.
fn throttled(table: &mut SetUps, seed: u64, hogs: usize, neighbour: bool) -> Option<()> {
    let bench = Bench::new();
    let storage = Storage::new(1)?;
    let device = &storage.devices[0];
    let (kind, reads) = (draw(seed, 0, 0, 2), draw(seed, 1, 0, 1) == 0);
    let (iops, bytes) = (draw(seed, 2, 20, 400) * 10, draw(seed, 3, 20, 60) * 1_000_000);
    let blocks: &[u64] = [&[4, 64][..], &[4, 16], &[16, 128], &[32, 256]][draw(seed, 4, 0, 3) as usize];
    let depths: &[u64] = [&[1, 16][..], &[8, 32], &[1, 8, 32], &[16, 64]][draw(seed, 5, 0, 3) as usize];
    let of = if reads { "read" } else { "write" };
    let (of_iops, of_bytes) = (format!("{of}_iops_device"), format!("{of}_bps_device"));
    let mut limits = Vec::new();
    if kind != 1 {
        limits.push((device, of_iops.as_str(), iops));
    }
    if kind != 0 {
        limits.push((device, of_bytes.as_str(), bytes));
    }
    let group = Group::new(&format!("set-up-{}", device.node.trim_start_matches("/dev/")), &limits)?;
    let _busy = Processes::hogs(hogs);
    let _other = if neighbour {
        Some(Processes::neighbour(&device.node, &["--ioengine=psync", "--rate_iops=300"])?)
    } else {
        None
    };
    let plan = plan(if reads { "100 %" } else { "0 %" }, blocks, depths, "duration = \"4 s\"");
    let record = group.within(|| whole(bench.measurement(&plan, &device.node).overwrite(&device.node)));
    let beside = if neighbour { ", neighbour" } else { "" };
    table.add(&format!("throttle {seed}, {hogs} hogs{beside}"), &record, |cell| {
        let of_requests = if kind == 1 { f64::INFINITY } else { iops as f64 };
        let of_bytes = if kind == 0 { f64::INFINITY } else { bytes as f64 / block_bytes(cell) };
        let name: &'static [&'static str] = if of_requests <= of_bytes { &["disk-iops"] } else { &["disk-throughput"] };
        (name, Some(of_requests.min(of_bytes)))
    });
    Some(())
}

/// A device without a throttle.
fn unlimited(table: &mut SetUps, (blocks, depths): (&[u64], &[u64]), hogs: usize, beside: bool) -> Option<()> {
    let bench = Bench::new();
    let storage = Storage::new(1)?;
    let node = &storage.devices[0].node;
    let _busy = Processes::hogs(hogs);
    let _other = if beside { Some(Processes::neighbour(node, &["--ioengine=libaio", "--iodepth=8"])?) } else { None };
    let plan = plan("100 %", blocks, depths, "duration = \"3 s\"");
    let record = whole(bench.measurement(&plan, node).read_only());
    let beside = if beside { ", neighbour" } else { "" };
    table.add(&format!("no throttle, {hogs} hogs{beside}"), &record, |_| (NO_LIMIT, None));
    Some(())
}

/// An export of nbdkit with these filters.
fn served(
    table: &mut SetUps,
    set_up: &str,
    arguments: &[&str],
    (plan, hogs): (&str, usize),
    truth: impl Fn(&Value) -> Truth,
) -> Option<()> {
    let bench = Bench::new();
    let folder = tempfile::tempdir().ok()?;
    let socket = folder.path().join("s");
    let _busy = Processes::hogs(hogs);
    let mut command = Command::new("nbdkit");
    command.args(["--foreground", "--unix", socket.to_str()?]).args(arguments).stdin(Stdio::null());
    let _server = Processes(vec![command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?]);
    if !wait_until(|| socket.exists()) {
        return None;
    }
    let target = format!("nbd+unix:///?socket={}", socket.display());
    let record = whole(bench.measurement(plan, &target).read_only());
    table.add(&format!("{set_up}, {hogs} hogs"), &record, truth);
    Some(())
}

/// A server that takes a time for each request and has so many places.
fn delayed(table: &mut SetUps, (ms, places): (u64, u64), hogs: usize) -> Option<()> {
    let (delay, threads) = (format!("rdelay={ms}ms"), places.to_string());
    let arguments = ["--threads", &threads, "--filter=delay", "memory", "64M", &delay];
    let plan = plan("100 %", &[4], &[1, 4, 16, 64], "duration = \"3 s\"");
    served(table, &format!("{places} places of {ms} ms"), &arguments, (&plan, hogs), |cell| {
        let name: &'static [&'static str] =
            if depth(cell) <= places { &["latency"] } else { &["parallelism", "disk-iops"] };
        (name, None)
    })
}

/// A server that lets so many megabits (of 2^20) a second through.
fn rated(table: &mut SetUps, mbit: u64, hogs: usize) -> Option<()> {
    let rate = format!("rate={mbit}M");
    let arguments = ["--filter=rate", "memory", "64M", &rate];
    let plan = plan("100 %", &[16, 128], &[1, 16], "duration = \"4 s\"");
    served(table, &format!("{mbit} Mbit/s"), &arguments, (&plan, hogs), |cell| {
        (&["disk-throughput"], Some((mbit << 20) as f64 / 8.0 / block_bytes(cell)))
    })
}

/// Writes to a file, each made durable, with and without a throttle on the device's writes.
fn durable(table: &mut SetUps, limit: Option<u64>) -> Option<()> {
    let bench = Bench::new();
    let folder = tempfile::tempdir_in("/dev/shm").ok()?;
    let (image, place) = (folder.path().join("image"), folder.path().join("mounted"));
    fs::File::create_new(&image).ok()?.set_len(160 << 20).ok()?;
    let device = Loop::attach(&image)?;
    run("mkfs.ext4", &["-q", &device.node])?;
    fs::create_dir(&place).ok()?;
    run("mount", &[&device.node, place.to_str()?])?;
    let limits: Vec<_> = limit.iter().map(|rate| (&device, "write_iops_device", *rate)).collect();
    let group = Group::new(&format!("set-up-{}", device.node.trim_start_matches("/dev/")), &limits)?;
    let flush = "threads = [1, 4, 16]\nflush = { every = 1, how = \"fdatasync\" }\nduration = \"3 s\"";
    let plan = plan("0 %", &[4], &[1], flush);
    let record = group.within(|| whole(bench.measurement(&plan, place.to_str().unwrap())));
    run("umount", &[place.to_str()?]);
    table.add(&format!("durable writes, limit {limit:?}"), &record, |cell| match limit {
        Some(_) => (&["disk-iops"], None),
        None if depth(cell) == 1 => (&["latency", "flush"], None),
        None => (&["latency", "flush", "cpu"], None),
    });
    Some(())
}

/// A throttle that is set anew while a trial goes on.
fn changed(table: &mut SetUps, (before, after): (u64, u64), name: &'static [&'static str]) -> Option<()> {
    let bench = Bench::new();
    let storage = Storage::new(1)?;
    let device = &storage.devices[0];
    let of = |rate: u64| [(device, "read_iops_device", rate)];
    let group = Group::new(&format!("set-up-{}", device.node.trim_start_matches("/dev/")), &of(before))?;
    let plan = plan("100 %", &[4], &[16], "duration = \"14 s\"");
    let record = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(7));
            group.limit(device, "read_iops_device", after).unwrap();
        });
        group.within(|| whole(bench.measurement(&plan, &device.node).read_only()))
    });
    table.add(&format!("{before}, then {after} IOPS"), &record, |_| (name, Some(after as f64)));
    Some(())
}

#[test]
fn limits_of_constructed_set_ups_are_named_and_none_is_made_up() {
    let is_long = std::env::var("LOADLINE_TEST_LONG").is_ok_and(|value| !value.is_empty() && value != "0");
    or_skip!(is_long.then_some(()), "it takes a quarter of an hour: LOADLINE_TEST_LONG=1");
    let seed = setting("LOADLINE_TEST_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("seed {seed} (LOADLINE_TEST_SEED)");
    let mut table = SetUps::default();
    for number in 0..DRAWN {
        let seed = seed.wrapping_add(number);
        or_skip!(throttled(&mut table, seed, 0, false), NO_THROTTLE);
        or_skip!(throttled(&mut table, seed.wrapping_add(DRAWN), 2 * (number as usize % 2), number % 2 == 0), "no fio");
    }
    let four: (&[u64], &[u64]) = (&[4], &[1, 8, 32, 128]);
    for (load, hogs, beside) in [
        (four, 0, false),
        ((&[4, 8], &[1, 8, 32, 128]), 0, false),
        ((&[64, 1024], &[1, 4, 16]), 0, false),
        (four, 4, false),
        (four, 0, true),
    ] {
        or_skip!(unlimited(&mut table, load, hogs, beside), NO_THROTTLE);
    }
    for (ms, places) in [(3, 64), (4, 8), (2, 4), (1, 16)] {
        for hogs in [0, 2] {
            or_skip!(delayed(&mut table, (ms, places), hogs), "no nbdkit");
        }
    }
    for (mbit, hogs) in [(160, 0), (160, 2), (320, 0)] {
        or_skip!(rated(&mut table, mbit, hogs), "no nbdkit");
    }
    for limit in [None, Some(400)] {
        or_skip!(durable(&mut table, limit), "it takes root and ext4");
    }
    or_skip!(changed(&mut table, (800, 4_000), &["disk-iops"]), NO_THROTTLE);
    or_skip!(changed(&mut table, (4_000, 800), &["burst-exhausted"]), NO_THROTTLE);
    table.print();
    let (all, right) = (table.0.len(), table.0.iter().filter(|row| row.is_right()).count());
    let near = table.0.iter().filter(|row| row.is_right() && row.is_near()).count();
    println!("{right} of {all} cells have the right name, {near} with a value within 2 %");
    assert!(table.0.iter().all(|row| !row.is_made_up()), "a limit is named with confidence where none is, seed {seed}");
    assert!(right as f64 >= RIGHT_MIN * all as f64, "{right} of {all}, seed {seed}");
}
