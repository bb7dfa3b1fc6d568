//! Limits by name, against truth that the kernel keeps: throttled loop devices, the page cache, the null target.

use crate::or_skip;
use crate::support::devices::{Group, Loop, run};
use crate::support::emulated::Emulated;
use crate::support::{Bench, Measuring, cells, complete, environment, refused, whole};
use loadline_analysis::{LimitFigure, known_limits};
use loadline_record::RunRecord;
use loadline_report::words::fit::fitted_environment;
use loadline_runs::{DeclaredEnvironment, Settings, Silent};
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::path::PathBuf;

const NO_LOOP: &str = "it takes root and a loop device";
pub(crate) const NO_THROTTLE: &str = "it takes root, loop devices, btrfs and blkio.throttle";
/// Storages measured at the same time; they are slow.
const AT_ONCE: usize = 3;
const ATTEMPTS: u32 = 3;
/// Throttled storages, of four cells each; `LOADLINE_TEST_THROTTLED` sets another number (25 make 100 cells),
/// `LOADLINE_TEST_SEED` another seed.
const STORAGES: u64 = 3;

/// A number between two, by a seed and a place (SplitMix64).
pub(crate) fn draw(seed: u64, place: u64, least: u64, most: u64) -> u64 {
    let mut z = seed.wrapping_add((place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    least + (z ^ (z >> 31)) % (most - least + 1)
}

pub(crate) fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}: {text} is no number")))
}

/// Loop devices in memory, one alone or several under btrfs raid0.
pub(crate) struct Storage {
    mounted: Option<PathBuf>,
    pub(crate) devices: Vec<Loop>,
    folder: tempfile::TempDir,
}

impl Storage {
    pub(crate) fn new(disks: usize) -> Option<Self> {
        let folder = tempfile::tempdir_in("/dev/shm").ok()?;
        let mut storage = Self { mounted: None, devices: Vec::new(), folder };
        for number in 0..disks {
            let path = storage.folder.path().join(number.to_string());
            if disks == 1 {
                fs::write(&path, vec![0x5a; 64 << 20]).ok()?;
            } else {
                File::create_new(&path).ok()?.set_len(160 << 20).ok()?;
            }
            storage.devices.push(Loop::attach(&path)?);
        }
        if disks > 1 {
            let nodes: Vec<&str> = storage.devices.iter().map(|device| device.node.as_str()).collect();
            run("mkfs.btrfs", &[&["-q", "-f", "-d", "raid0", "-m", "raid0"], &nodes[..]].concat())?;
            let place = storage.folder.path().join("mounted");
            fs::create_dir(&place).ok()?;
            run("btrfs", &["device", "scan"]);
            run("mount", &["-o", "nodatacow", nodes[0], place.to_str()?])?;
            storage.mounted = Some(place);
        }
        Some(storage)
    }
    pub(crate) fn target(&self) -> String {
        match &self.mounted {
            Some(place) => place.display().to_string(),
            None => self.devices[0].node.clone(),
        }
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(place) = &self.mounted {
            run("umount", &[place.to_str().unwrap()]);
        }
    }
}

/// A throttle on each of the storage's disks, and the loads that press it.
struct Case {
    disks: u64,
    reads: bool,
    /// Requests per second of each disk, and bytes per second.
    iops: Option<u64>,
    bytes_per_s: Option<u64>,
    blocks: [u64; 2],
    depths: [u64; 2],
}

impl Case {
    fn of(seed: u64) -> Self {
        let disks = [1, 1, 2, 4][draw(seed, 0, 0, 3) as usize];
        // Writes are cheap to throttle on a device alone; under a file system its own writes would be throttled, too.
        let reads = disks > 1 || draw(seed, 1, 0, 1) == 0;
        let kind = draw(seed, 2, 0, 2);
        let iops = draw(seed, 3, 200, 1_500);
        let bytes = draw(seed, 4, 20_000_000, 60_000_000);
        // A larger one would be asked of two disks of a stripe.
        let large = if disks > 1 { 64 } else { 128 };
        let blocks = match kind {
            0 => [4, 8],
            1 => [32, large],
            _ => [4, large],
        };
        let deep = if disks > 1 { 64 } else { draw(seed, 5, 16, 64) };
        Self {
            disks,
            reads,
            iops: (kind != 1).then_some(iops),
            bytes_per_s: (kind != 0).then_some(bytes),
            blocks,
            depths: [deep / 2, deep],
        }
    }

    fn plan(&self) -> String {
        let reads = if self.reads { "100 %" } else { "0 %" };
        format!(
            "schema = 1\nname = \"throttled\"\n[[load]]\npattern = \"random\"\nreads = \"{reads}\"\nblock = [\"{} KiB\", \"{} \
             KiB\"]\nqueue_depth = [{}, {}]\nwarm_up = \"1 s\"\nduration = \"8 s\"\ntrials = 1\nsize = \"48 MiB\"\n",
            self.blocks[0], self.blocks[1], self.depths[0], self.depths[1]
        )
    }

    fn group(&self, storage: &Storage) -> Option<Group> {
        let of = if self.reads { "read" } else { "write" };
        let (iops, bytes) = (format!("{of}_iops_device"), format!("{of}_bps_device"));
        let mut limits: Vec<(&Loop, &str, u64)> = Vec::new();
        for device in &storage.devices {
            limits.extend(self.iops.map(|rate| (device, iops.as_str(), rate)));
            limits.extend(self.bytes_per_s.map(|rate| (device, bytes.as_str(), rate)));
        }
        Group::new(&format!("limits-{}", storage.devices[0].node.trim_start_matches("/dev/")), &limits)
    }

    /// The name of what binds requests of this size, and its rate: as declared, or as the kernel lets requests through. It counts whole
    /// ones in slices of a tenth of a second (`throtl_slice`, and `calculate_io_allowed`, which rounds down): of 237 IOPS it gives 230.
    fn truth(&self, block: f64, known: Known) -> (&'static str, f64) {
        let all = self.disks as f64;
        let kept = |rate: u64| if known == Known::Declared { rate } else { rate / 10 * 10 };
        let iops = self.iops.map_or(f64::INFINITY, |rate| kept(rate) as f64 * all);
        let bytes = self.bytes_per_s.map_or(f64::INFINITY, |rate| rate as f64 * all / block);
        if iops <= bytes { ("disk-iops", iops) } else { ("disk-throughput", bytes) }
    }

    fn environment(&self) -> String {
        let layout = if self.disks > 1 { "layout = { stripe = { interleave = \"64 KiB\" } }\n" } else { "" };
        let iops = self.iops.map_or(String::new(), |rate| format!("iops = \"{rate} IOPS\"\n"));
        let bytes = self.bytes_per_s.map_or(String::new(), |rate| format!("throughput = \"{rate} B/s\"\n"));
        format!(
            "schema = 1\nname = \"throttled\"\n[volume.data]\n{layout}[[volume.data.disks]]\ncount = {}\nsize = \"160 MiB\"\n\
             [volume.data.disks.limit]\n{iops}{bytes}",
            self.disks
        )
    }
}

/// How a limit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Declared,
    Inferred,
}

/// Names given, by what was true.
#[derive(Default)]
struct Outcomes {
    confusion: BTreeMap<(String, String), u32>,
    cells: u32,
    right: u32,
    near: u32,
}

impl Outcomes {
    fn add(&mut self, case: &Case, cells: &[Value], known: Known) {
        for cell in cells {
            let block = cell["load"]["block_bytes"].as_f64().unwrap();
            let (name, value) = case.truth(block, known);
            let binding = &cell["binding"];
            let given = binding["limit"].as_str().unwrap();
            let ratio = binding["ceiling_iops"].as_f64().map_or(f64::NAN, |ceiling| ceiling / value);
            self.cells += 1;
            self.right += u32::from(given == name);
            self.near += u32::from(given == name && (ratio - 1.0).abs() <= 0.02);
            *self.confusion.entry((name.to_owned(), given.to_owned())).or_default() += 1;
            if given != name || (ratio - 1.0).abs() > 0.02 {
                println!(
                    "{} disks, {}: {name} of {value:.0} IOPS is {given} at {ratio:.3} of it: {}",
                    case.disks, cell["label"], binding["evidence"]
                );
            }
        }
    }
    fn print(&self, what: &str) {
        println!("{what}: {} of {} right, {} with a value within 2 %", self.right, self.cells, self.near);
        for ((truth, given), count) in &self.confusion {
            println!("    {truth:<18}{given:<18}{count:>5}");
        }
    }
}

/// The cells of a case, without and with its environment declared.
fn measure(case: Case) -> Option<(Case, [Vec<Value>; 2])> {
    let bench = Bench::new();
    let storage = Storage::new(usize::try_from(case.disks).unwrap())?;
    let (text, target) = (case.plan(), storage.target());
    let group = case.group(&storage)?;
    let run = |measurement: Measuring| cells(&group.within(|| whole(measurement)));
    let undeclared = run(bench.measurement(&text, &target).overwrite(&target));
    let shorter = text.replace("duration = \"8 s\"", "duration = \"3 s\"");
    let declared = DeclaredEnvironment::new(environment(&case.environment()));
    let declared = run(bench.measurement(&shorter, &target).overwrite(&target).declared(declared));
    Some((case, [undeclared, declared]))
}

#[test]
#[ignore = "long: measures this machine"]
fn limits_of_throttled_devices_are_named_declared_or_not() {
    let seed = setting("LOADLINE_TEST_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    let count = setting("LOADLINE_TEST_THROTTLED").unwrap_or(STORAGES);
    println!("seed {seed}, {count} storages (LOADLINE_TEST_SEED, LOADLINE_TEST_THROTTLED)");
    // A machine that keeps the load from running for longer than its queue lasts makes it lose its share: once more then.
    for attempt in 1..=ATTEMPTS {
        let (undeclared, declared) = or_skip!(outcomes(seed, count), NO_THROTTLE);
        println!("attempt {attempt}");
        undeclared.print("undeclared");
        declared.print("declared");
        let most = |outcomes: &Outcomes, good: u32| good * 20 >= outcomes.cells * 19;
        let is_right = most(&undeclared, undeclared.right) && most(&undeclared, undeclared.near);
        if is_right && declared.right == declared.cells {
            return;
        }
    }
    panic!("{ATTEMPTS} times too few limits were named rightly, seed {seed}");
}

/// All cases, without and with their environments declared.
fn outcomes(seed: u64, count: u64) -> Option<(Outcomes, Outcomes)> {
    let (mut undeclared, mut declared) = (Outcomes::default(), Outcomes::default());
    let numbers: Vec<u64> = (0..count).collect();
    for batch in numbers.chunks(AT_ONCE) {
        let measured = std::thread::scope(|scope| {
            let threads: Vec<_> =
                batch.iter().map(|number| scope.spawn(|| measure(Case::of(seed.wrapping_add(*number))))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        for measured in measured {
            let (case, [without, with]) = measured?;
            undeclared.add(&case, &without, Known::Inferred);
            declared.add(&case, &with, Known::Declared);
        }
    }
    Some((undeclared, declared))
}

/// A plan of one load.
fn alone(more: &str) -> String {
    format!(
        "schema = 1\nname = \"alone\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\nwarm_up = \"500 ms\"\n\
         duration = \"2 s\"\ntrials = 1\nsize = \"32 MiB\"\n{more}\n"
    )
}

/// What is known of a run's limits.
#[track_caller]
fn known(record: &RunRecord) -> Vec<LimitFigure> {
    let limits = known_limits(record);
    assert!(!limits.is_empty(), "no limit is known");
    limits
}

fn bound_by(record: &RunRecord) -> String {
    cells(record)[0]["binding"]["limit"].as_str().unwrap().to_owned()
}

#[test]
#[ignore = "long: measures this machine"]
fn single_requests_on_a_device_without_throttle_are_bound_by_latency() {
    let bench = Bench::new();
    let storage = or_skip!(Storage::new(1), NO_LOOP);
    let record = whole(bench.measurement(&alone("queue_depth = 1"), &storage.target()).read_only());
    assert_eq!(bound_by(&record), "latency");
}

#[test]
#[ignore = "long: measures this machine"]
fn a_cached_file_is_bound_by_the_cache() {
    let bench = Bench::new();
    let buffered = alone("queue_depth = 4\nbuffered = true");
    assert_eq!(bound_by(&bench.measured(&buffered, &bench.target())), "cache");
}

#[test]
fn nothing_is_bound_by_the_generator() {
    let bench = Bench::new();
    assert_eq!(bound_by(&bench.measured(&alone("queue_depth = 4"), "null")), "generator");
}

#[test]
fn a_declared_volume_is_measured_where_it_is_and_its_limits_are_known() {
    let bench = Bench::new();
    let target = bench.target();
    let text = format!(
        "schema = 1\nname = \"own\"\n[volume.data]\npath = \"{target}\"\n[[volume.data.disks]]\nsize = \"1 GiB\"\n\
         [volume.data.disks.limit]\niops = \"100000000 IOPS\"\n"
    );
    let on = |text: &str| {
        let declared = DeclaredEnvironment::new(environment(text));
        bench.measurement_by(&alone("queue_depth = 1"), Settings::of(Vec::new())).declared(declared)
    };
    let record = whole(on(&text));
    assert_eq!(record.header.environment.as_ref().unwrap().name, "own");
    assert_eq!(cells(&record)[0]["ceilings"][0]["iops"], 1e8);
    assert!(known(&record).iter().any(|limit| !limit.inferred));
    // A volume of another name is refused where the environment has several.
    let two = text + "[volume.log]\n[[volume.log.disks]]\nsize = \"1 GiB\"\n";
    let refusal = refused(on(&two).on("other", &target)).to_string();
    assert!(refusal.contains("has no volume \"other\": it has data, log"), "{refusal}");
}

#[test]
fn a_measured_disk_becomes_an_environment_that_can_be_predicted_on() {
    // So slow a disk that even a busy machine does not bind the load instead.
    let emulated = Emulated::new(
        "schema = 1\nname = \"slow\"\n[[volume.data.disks]]\nsize = \"64 MiB\"\n\
         [volume.data.disks.latency.read]\nmedian = \"20 ms\"\np99 = \"20 ms\"\n",
    );
    let (bench, text) = (Bench::new(), alone("queue_depth = [1, 4]"));
    let record = bench.measured(&text, &emulated.uri());
    // Which limits the figures show is no affair of this test; none of them was declared.
    assert!(known_limits(&record).iter().all(|limit| limit.inferred));
    let fitted = loadline_fitting::fit(&record, "fitted").unwrap();
    let predicted = bench.prediction(&text, &environment(&fitted_environment(&fitted))).seeded(1);
    assert_eq!(complete(predicted.run(&mut Silent::default())).cells.len(), 2);
}
