//! The set-ups themselves, each with what is right for its cells.

use super::{SetUps, Truth};
use crate::limits::{Storage, draw};
use crate::support::devices::{Group, Loop, Mount, Quota, run, wait_until};
use crate::support::{Bench, Measuring, whole};
use loadline_record::CellRecord;
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Names for loads that nothing limits.
const NO_LIMIT: &[&str] = &["latency", "parallelism", "cpu", "generator", "unexplained", "interface"];
/// The same where data may lie in memory.
const CACHED: &[&str] = &["cache", "latency", "parallelism", "cpu", "generator", "unexplained"];
/// Two limits that lie nearer than this are both right.
const TIE: f64 = 1.03;
/// A server of delays that comes to less than this share of what it was made for lacks CPU.
const STARVED: f64 = 0.75;
/// A load that its latency leaves between these shares of a limit is held by either.
const EITHER: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// Measures a set-up of this name; `None` where something that it takes is missing.
type Measure = Box<dyn FnOnce(&SetUps, &str) -> Option<()> + Send>;

/// A set-up to be measured.
pub(super) struct SetUp {
    pub(super) name: String,
    /// Whether others may be measured beside it.
    pub(super) is_slow: bool,
    pub(super) measure: Measure,
}

/// A list of them.
#[derive(Default)]
struct List(Vec<SetUp>);

impl List {
    fn slow(&mut self, name: impl Into<String>, measure: impl FnOnce(&SetUps, &str) -> Option<()> + Send + 'static) {
        self.0.push(SetUp { name: name.into(), is_slow: true, measure: Box::new(measure) });
    }
    fn alone(&mut self, name: impl Into<String>, measure: impl FnOnce(&SetUps, &str) -> Option<()> + Send + 'static) {
        self.0.push(SetUp { name: name.into(), is_slow: false, measure: Box::new(measure) });
    }
}

/// Processes that are ended when dropped.
struct Processes(Vec<Child>);

impl Processes {
    fn of(command: &mut Command) -> Option<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(Self(vec![command.spawn().ok()?]))
    }
    /// Loops that keep CPUs busy.
    fn hogs(count: usize) -> Self {
        let hog = || Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        Self((0..count).map(|_| hog()).collect())
    }
    /// A reader of a device, `arguments` say how.
    fn neighbour(device: &str, arguments: &[&str]) -> Option<Self> {
        let file = format!("--filename={device}");
        let base = [
            "--name=neighbour",
            "--thread",
            "--rw=randread",
            "--bs=4k",
            "--direct=1",
            "--time_based",
            "--runtime=600",
            &file,
        ];
        Self::of(Command::new("fio").args(base).args(arguments))
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

/// A plan of random loads: shares of reads as TOML has them, block sizes in KiB, depths.
fn plan(reads: &str, blocks: &[u64], depths: &[u64], more: &str) -> String {
    let blocks: Vec<String> = blocks.iter().map(|kib| format!("\"{kib} KiB\"")).collect();
    format!(
        "schema = 1\nname = \"set-up\"\n[[load]]\npattern = \"random\"\nreads = {reads}\nblock = [{}]\nqueue_depth = {depths:?}\n\
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

/// The name of the device in the name of a group.
fn short(device: &Loop) -> &str {
    device.node.trim_start_matches("/dev/")
}

/// The lower of two limits, either where both are as low.
fn lower(of_requests: f64, of_bytes: f64) -> Truth {
    let names: &[&str] = if of_requests.max(of_bytes) <= of_requests.min(of_bytes) * TIE {
        &["disk-iops", "disk-throughput"]
    } else if of_requests < of_bytes {
        &["disk-iops"]
    } else {
        &["disk-throughput"]
    };
    Truth::of(names, of_requests.min(of_bytes))
}

/// What a throttled set-up has beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    Hogs(usize),
    Neighbour,
}

/// A throttle of the kernel on requests, on bytes or on both, for reads or for writes.
fn throttled(table: &SetUps, set_up: &str, seed: u64, beside: Beside) -> Option<()> {
    let bench = Bench::new();
    let storage = Storage::new(1)?;
    let device = &storage.devices[0];
    let (kind, reads) = (draw(seed, 0, 0, 2), draw(seed, 1, 0, 1) == 0);
    let (iops, bytes) = (draw(seed, 2, 20, 400) * 10, draw(seed, 3, 20, 60) * 1_000_000);
    let blocks: &[u64] = [&[4, 64][..], &[4, 16], &[16, 128], &[32, 256], &[4], &[64]][draw(seed, 4, 0, 5) as usize];
    let depths: &[u64] =
        [&[1, 16][..], &[8, 32], &[1, 8, 32], &[16, 64], &[4, 8, 16], &[32]][draw(seed, 5, 0, 5) as usize];
    let of = if reads { "read" } else { "write" };
    let (of_iops, of_bytes) = (format!("{of}_iops_device"), format!("{of}_bps_device"));
    let mut limits = Vec::new();
    if kind != 1 {
        limits.push((device, of_iops.as_str(), iops));
    }
    if kind != 0 {
        limits.push((device, of_bytes.as_str(), bytes));
    }
    let group = Group::new(&format!("set-up-{}", short(device)), &limits)?;
    let _busy = Processes::hogs(if let Beside::Hogs(hogs) = beside { hogs } else { 0 });
    let _other = match beside {
        Beside::Neighbour => Some(Processes::neighbour(&device.node, &["--ioengine=psync", "--rate_iops=300"])?),
        Beside::Nothing | Beside::Hogs(_) => None,
    };
    let plan = plan(if reads { "\"100 %\"" } else { "\"0 %\"" }, blocks, depths, "duration = \"3 s\"");
    let record = group.within(|| whole(bench.measurement(&plan, &device.node).overwrite(&device.node)));
    // One block size alone cannot tell requests from bytes: then either name is right if it is presumed.
    table.add(set_up, &record, |cell| {
        let of_requests = if kind == 1 { f64::INFINITY } else { iops as f64 };
        let of_bytes = if kind == 0 { f64::INFINITY } else { bytes as f64 / block_bytes(cell) };
        lower(of_requests, of_bytes)
    });
    Some(())
}

/// Throttles on reads and on writes, each alone and in a mix.
fn mixed(table: &SetUps, set_up: &str, seed: u64) -> Option<()> {
    let bench = Bench::new();
    let storage = Storage::new(1)?;
    let device = &storage.devices[0];
    let (read, write) = (draw(seed, 0, 20, 300) * 10, draw(seed, 1, 20, 300) * 10);
    let limits = [(device, "read_iops_device", read), (device, "write_iops_device", write)];
    let group = Group::new(&format!("set-up-{}", short(device)), &limits)?;
    let share = [30, 50, 70][draw(seed, 2, 0, 2) as usize];
    let plan = plan(&format!("[\"100 %\", \"0 %\", \"{share} %\"]"), &[4], &[16, 32], "duration = \"4 s\"");
    let record = group.within(|| whole(bench.measurement(&plan, &device.node).overwrite(&device.node)));
    table.add(set_up, &record, |cell| {
        // Drawn by chance for each request: as it came.
        let rate = |of: &str| cell[of]["iops"].as_f64().unwrap_or(0.0);
        let reads = rate("read") / rate("total");
        let of_reads = if reads > 0.0 { read as f64 / reads } else { f64::INFINITY };
        let of_writes = if reads < 1.0 { write as f64 / (1.0 - reads) } else { f64::INFINITY };
        Truth::of(&["disk-iops"], of_reads.min(of_writes))
    });
    Some(())
}

/// Where a load runs that nothing limits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A loop device in memory, past the page cache.
    Device,
    /// One whose file the page cache answers for.
    CachedBelow,
    /// A file system on the first.
    Files(&'static str),
}

/// A loop device over a new file in memory, that is kept with it.
fn fresh_loop(mib: u64) -> Option<(Loop, tempfile::TempDir)> {
    let folder = tempfile::tempdir_in("/dev/shm").ok()?;
    let image = folder.path().join("image");
    fs::File::create_new(&image).ok()?.set_len(mib << 20).ok()?;
    Some((Loop::attach(&image)?, folder))
}

/// A device without a throttle.
fn unlimited(
    table: &SetUps,
    set_up: &str,
    place: Place,
    (reads, blocks, depths, more): (&str, &[u64], &[u64], &str),
    (hogs, beside): (usize, bool),
) -> Option<()> {
    let bench = Bench::new();
    let plan = plan(reads, blocks, depths, &format!("duration = \"2500 ms\"\n{more}"));
    let measured = |target: &str, node: &str| {
        let _busy = Processes::hogs(hogs);
        let _other =
            if beside { Some(Processes::neighbour(node, &["--ioengine=libaio", "--iodepth=8"])?) } else { None };
        let measuring: Measuring = bench.measurement(&plan, target);
        Some(whole(if target == node { measuring.overwrite(node) } else { measuring }))
    };
    let record = match place {
        Place::Device => {
            let storage = Storage::new(1)?;
            measured(&storage.devices[0].node, &storage.devices[0].node)?
        }
        Place::CachedBelow => {
            let file = bench.file("below", vec![0x5a; 64 << 20]);
            let node = run("losetup", &["--find", "--show", &file])?;
            let device = Loop { node };
            measured(&device.node, &device.node)?
        }
        Place::Files(kind) => {
            let (device, folder) = fresh_loop(400)?;
            run(&format!("mkfs.{kind}"), &["-q", &device.node])?;
            let mount = Mount::of(&device.node, folder.path().join("mounted"), &[])?;
            measured(mount.0.to_str()?, &device.node)?
        }
    };
    let names = if place == Place::CachedBelow { CACHED } else { NO_LIMIT };
    table.add(set_up, &record, |_| Truth::of(names, None));
    Some(())
}

/// An export of nbdkit with these filters.
fn served(
    table: &SetUps,
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
    let _server = Processes::of(command.args(["--foreground", "--unix", socket.to_str()?]).args(arguments))?;
    if !wait_until(|| socket.exists()) {
        return None;
    }
    let target = format!("nbd+unix:///?socket={}", socket.display());
    let record = whole(bench.measurement(plan, &target).read_only());
    table.add(set_up, &record, truth);
    Some(())
}

/// A server that takes a time for each request and has so many places.
fn delayed(table: &SetUps, set_up: &str, (ms, places): (u64, u64), (blocks, hogs): (&[u64], usize)) -> Option<()> {
    let (delay, threads) = (format!("rdelay={ms}ms"), places.to_string());
    let arguments = ["--threads", &threads, "--filter=delay", "memory", "64M", &delay];
    let depths: &[u64] = if blocks.len() > 1 { &[1, 16, 64] } else { &[1, 4, 16, 64] };
    let plan = plan("\"100 %\"", blocks, depths, "duration = \"2500 ms\"");
    served(table, set_up, &arguments, (&plan, hogs), |cell| {
        // So many places that take the same time for every request are a limit on requests, too; and a server that gets no CPU in time
        // is slower than it was made.
        let mut names = Vec::new();
        if depth(cell) <= places {
            names.push("latency");
        }
        if depth(cell) >= places {
            names.extend(["parallelism", "disk-iops"]);
        }
        let made_for = depth(cell).min(places) as f64 * 1e3 / ms as f64;
        if cell["total"]["iops"].as_f64().unwrap() < made_for * STARVED {
            names.push("cpu");
        }
        Truth::of(&names, None)
    })
}

/// A server that lets so many megabits (of 2^20) a second through, and may take a time for each request.
fn rated(table: &SetUps, set_up: &str, (mbit, delay_ms): (u64, u64), blocks: &[u64], hogs: usize) -> Option<()> {
    let (rate, delay) = (format!("rate={mbit}M"), format!("rdelay={delay_ms}ms"));
    let mut arguments = vec!["--threads", "64", "--filter=rate"];
    if delay_ms > 0 {
        arguments.push("--filter=delay");
    }
    arguments.extend(["memory", "64M", &rate]);
    if delay_ms > 0 {
        arguments.push(&delay);
    }
    let plan = plan("\"100 %\"", blocks, &[1, 4, 16], "duration = \"4 s\"");
    served(table, set_up, &arguments, (&plan, hogs), |cell| {
        let limit = (mbit << 20) as f64 / 8.0 / block_bytes(cell);
        let alone = if delay_ms > 0 { depth(cell) as f64 * 1e3 / delay_ms as f64 } else { f64::INFINITY };
        match alone / limit {
            share if EITHER.contains(&share) => Truth::of(&["latency", "disk-throughput"], None),
            share if share < 1.0 => Truth::of(&["latency"], None),
            // 15 MiB/s of 64 KiB are 240 requests: both figures are round.
            _ if blocks.len() == 1 => Truth::of(&["disk-throughput", "disk-iops"], limit),
            _ => Truth::of(&["disk-throughput"], limit),
        }
    })
}

/// Writes to a file, each made durable, with and without a throttle on the device's writes.
fn durable(table: &SetUps, set_up: &str, kind: &str, how: &str, limit: Option<u64>) -> Option<()> {
    let bench = Bench::new();
    let (device, folder) = fresh_loop(400)?;
    run(&format!("mkfs.{kind}"), &["-q", &device.node])?;
    let mount = Mount::of(&device.node, folder.path().join("mounted"), &[])?;
    let limits: Vec<_> = limit.iter().map(|rate| (&device, "write_iops_device", *rate)).collect();
    let group = Group::new(&format!("set-up-{}", short(&device)), &limits)?;
    let flush = format!("threads = [1, 4, 16]\nflush = {{ every = 1, how = \"{how}\" }}\nduration = \"3 s\"");
    let plan = plan("\"0 %\"", &[4], &[1], &flush);
    let record = group.within(|| whole(bench.measurement(&plan, mount.0.to_str().unwrap())));
    table.add(set_up, &record, |cell| match limit {
        Some(_) => Truth::of(&["disk-iops"], None),
        None if depth(cell) == 1 => Truth::of(&["latency", "flush"], None),
        None => Truth::of(&["latency", "flush", "cpu"], None),
    });
    Some(())
}

/// What changes in the midst of a trial.
#[derive(Clone, Copy)]
struct Change {
    limit: &'static str,
    before: u64,
    after: u64,
    block_kib: u64,
    depths: &'static [u64],
}

/// A throttle that is set anew while a trial goes on, the last one if there are several.
fn changed(table: &SetUps, set_up: &str, change: Change) -> Option<()> {
    let Change { limit, before, after, block_kib, depths } = change;
    let bench = Bench::new();
    let storage = Storage::new(1)?;
    let device = &storage.devices[0];
    let group = Group::new(&format!("set-up-{}", short(device)), &[(device, limit, before)])?;
    let reads = if limit.starts_with("read") { "\"100 %\"" } else { "\"0 %\"" };
    let plan = plan(reads, &[block_kib], depths, "duration = \"10 s\"");
    let moment = Duration::from_millis(5_500 + 10_600 * (depths.len() as u64 - 1));
    let record = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(moment);
            group.limit(device, limit, after).unwrap();
        });
        group.within(|| whole(bench.measurement(&plan, &device.node).overwrite(&device.node)))
    });
    let own = if limit.contains("iops") { "disk-iops" } else { "disk-throughput" };
    let rate = |figure: u64| if own == "disk-iops" { figure as f64 } else { figure as f64 / (block_kib << 10) as f64 };
    // Cells are measured in an order of their own.
    let begin = |cell: &CellRecord| cell.trials[0].started_unix_s;
    let last = record.cells.iter().max_by_key(|cell| begin(cell))?.label.clone();
    table.add(set_up, &record, |cell| match cell["label"] == last.as_str() {
        true if after < before => Truth::of(&["burst-exhausted"], rate(after)),
        true => Truth::of(&[own], rate(after)),
        false => Truth::of(&[own], rate(before)),
    });
    Some(())
}

/// A load with a share of a CPU, on a device with or without a throttle.
fn with_quota(table: &SetUps, set_up: &str, percent: u64, limit: Option<u64>) -> Option<()> {
    let bench = Bench::new();
    let storage = Storage::new(1)?;
    let device = &storage.devices[0];
    let limits: Vec<_> = limit.iter().map(|rate| (device, "read_iops_device", *rate)).collect();
    let group = Group::new(&format!("set-up-{}", short(device)), &limits)?;
    let quota = Quota::new(&format!("set-up-{percent}"), percent)?;
    let plan = plan("\"100 %\"", &[4], &[1, 16, 64], "duration = \"3 s\"");
    let record = group.within(|| {
        quota.enter();
        whole(bench.measurement(&plan, &device.node).read_only())
    });
    table.add(set_up, &record, |_| match limit {
        Some(limit) => Truth::of(&["disk-iops"], limit as f64),
        None => Truth::of(&["generator", "cpu", "latency"], None),
    });
    Some(())
}

/// A file whose data lies in the page cache.
fn cached(table: &SetUps, set_up: &str, blocks: &[u64], threads: u64) {
    let bench = Bench::new();
    let more = format!("buffered = true\nthreads = {threads}\nduration = \"2 s\"");
    let record = bench.measured(&plan("\"100 %\"", blocks, &[1, 4], &more), &bench.target());
    table.add(set_up, &record, |_| Truth::of(&["cache"], None));
}

/// All of them, as this seed draws them.
pub(super) fn all(seed: u64) -> Vec<SetUp> {
    let mut list = List::default();
    for number in 0..60 {
        let own = seed.wrapping_add(number);
        list.slow(format!("throttle {own}"), move |table, name| throttled(table, name, own, Beside::Nothing));
    }
    for number in 60..74 {
        let own = seed.wrapping_add(number);
        let name = format!("throttle {own}, neighbour");
        list.slow(name, move |table, name| throttled(table, name, own, Beside::Neighbour));
    }
    for number in 74..86 {
        let (own, hogs) = (seed.wrapping_add(number), 2 + 2 * (number as usize % 2));
        let name = format!("throttle {own}, {hogs} hogs");
        list.alone(name, move |table, name| throttled(table, name, own, Beside::Hogs(hogs)));
    }
    for number in 86..96 {
        let own = seed.wrapping_add(number);
        list.slow(format!("throttled mix {own}"), move |table, name| mixed(table, name, own));
    }
    served_set_ups(&mut list);
    file_set_ups(&mut list);
    changing(&mut list);
    unlimited_set_ups(&mut list);
    list.0
}

fn served_set_ups(list: &mut List) {
    for (ms, places) in [1, 2, 4, 8, 16, 32, 64].into_iter().flat_map(|places| [(1, places), (3, places)]) {
        let name = format!("{places} places of {ms} ms");
        list.slow(name, move |table, name| delayed(table, name, (ms, places), (&[4], 0)));
    }
    for (ms, places) in [(2, 2), (2, 8), (4, 12), (5, 64)] {
        let name = format!("{places} places of {ms} ms, two sizes");
        list.slow(name, move |table, name| delayed(table, name, (ms, places), (&[4, 64], 0)));
    }
    for (ms, places) in [(3, 64), (4, 8)] {
        let name = format!("{places} places of {ms} ms, 2 hogs");
        list.alone(name, move |table, name| delayed(table, name, (ms, places), (&[4], 2)));
    }
    for mbit in [60, 100, 160, 240, 320, 400] {
        list.slow(format!("{mbit} Mbit/s"), move |table, name| rated(table, name, (mbit, 0), &[16, 128], 0));
    }
    for mbit in [120, 200] {
        list.slow(format!("{mbit} Mbit/s, one size"), move |table, name| rated(table, name, (mbit, 0), &[64], 0));
        let name = format!("{mbit} Mbit/s, 2 hogs");
        list.alone(name, move |table, name| rated(table, name, (mbit, 0), &[16, 128], 2));
    }
    for (mbit, ms) in [(100, 1), (100, 3), (160, 2), (160, 5), (240, 1), (240, 4), (320, 2), (320, 8)] {
        let name = format!("{mbit} Mbit/s and {ms} ms");
        list.slow(name, move |table, name| rated(table, name, (mbit, ms), &[16, 128], 0));
    }
}

fn file_set_ups(list: &mut List) {
    for kind in ["ext4", "xfs"] {
        for limit in [200, 400, 1_000] {
            let name = format!("durable writes on {kind}, {limit} writes/s");
            list.slow(name, move |table, name| durable(table, name, kind, "fdatasync", Some(limit)));
        }
        for how in ["fdatasync", "fua"] {
            let name = format!("durable writes on {kind} by {how}");
            list.alone(name, move |table, name| durable(table, name, kind, how, None));
        }
    }
    for (blocks, threads) in [(&[4][..], 1), (&[4, 64], 1), (&[16], 4), (&[256], 2)] {
        let name = format!("page cache, {} KiB, {threads} threads", blocks[blocks.len() - 1]);
        list.alone(name, move |table, name| {
            cached(table, name, blocks, threads);
            Some(())
        });
    }
    for percent in [10, 15, 30] {
        let name = format!("{percent} % of a CPU");
        list.alone(name, move |table, name| with_quota(table, name, percent, None));
        let name = format!("{percent} % of a CPU and 500 IOPS");
        list.slow(name, move |table, name| with_quota(table, name, percent + 1, Some(500)));
    }
}

fn changing(list: &mut List) {
    let one: &'static [u64] = &[16];
    for (limit, before, after, block_kib, depths) in [
        ("read_iops_device", 800, 4_000, 4, one),
        ("read_iops_device", 4_000, 800, 4, one),
        ("write_iops_device", 2_000, 500, 4, one),
        ("write_iops_device", 300, 900, 16, one),
        ("read_bps_device", 100_000_000, 20_000_000, 64, one),
        ("read_bps_device", 20_000_000, 60_000_000, 128, one),
        ("write_bps_device", 60_000_000, 15_000_000, 32, one),
        ("read_iops_device", 3_000, 600, 4, &[8, 32]),
        ("read_iops_device", 600, 3_000, 4, &[8, 32]),
        ("read_bps_device", 50_000_000, 25_000_000, 64, &[8, 32]),
    ] {
        let name = format!("{limit} {before}, then {after}, {} cells", depths.len());
        let change = Change { limit, before, after, block_kib, depths };
        list.slow(name, move |table, name| changed(table, name, change));
    }
}

fn unlimited_set_ups(list: &mut List) {
    type Load = (&'static str, &'static [u64], &'static [u64], &'static str);
    const READS: &str = "\"100 %\"";
    const WRITES: &str = "\"0 %\"";
    const MIX: &str = "\"70 %\"";
    let loads: [Load; 7] = [
        (READS, &[4], &[1, 8, 32, 128], ""),
        (READS, &[4, 8], &[1, 8, 32], ""),
        (READS, &[64, 1024], &[1, 4, 16], ""),
        (WRITES, &[4, 64], &[1, 16], ""),
        (MIX, &[4, 16], &[1, 16], ""),
        (READS, &[4], &[1, 16], "threads = 2"),
        (READS, &[4], &[64], ""),
    ];
    for (place, what) in [
        (Place::Device, "a device"),
        (Place::CachedBelow, "a device cached below"),
        (Place::Files("ext4"), "ext4"),
        (Place::Files("xfs"), "xfs"),
    ] {
        for (number, load) in loads.into_iter().enumerate() {
            let name = format!("no throttle, {what}, load {number}");
            list.alone(name, move |table, name| unlimited(table, name, place, load, (0, false)));
        }
    }
    for (number, load) in [loads[0], loads[1], loads[4]].into_iter().enumerate() {
        let name = format!("no throttle, 4 hogs, load {number}");
        list.alone(name, move |table, name| unlimited(table, name, Place::Device, load, (4, false)));
        let name = format!("no throttle, neighbour, load {number}");
        list.alone(name, move |table, name| unlimited(table, name, Place::Device, load, (0, true)));
    }
    for (name, arguments) in [
        ("a server in memory", &["memory", "64M"][..]),
        ("a server with one thread", &["--threads", "1", "memory", "64M"]),
        (
            "a server that serves one after the other",
            &["--filter=noparallel", "memory", "64M", "serialize=all-requests"],
        ),
        (
            "a server with a cache over a delay",
            &["--filter=cache", "--filter=delay", "memory", "64M", "cache-on-read=true", "rdelay=1ms"],
        ),
    ] {
        list.alone(name, move |table, name| {
            let plan = plan(READS, &[4, 64], &[1, 8, 64], "duration = \"2500 ms\"");
            served(table, name, arguments, (&plan, 0), |_| Truth::of(CACHED, None))
        });
    }
}
