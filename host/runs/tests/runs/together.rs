//! Loads that run at the same time: measured and predicted, each with figures of its own.

use crate::limits::NO_THROTTLE;
use crate::or_skip;
use crate::support::devices::{Group, Loop, Mount, run};
use crate::support::{Bench, cells, complete, environment, findings, plan, refusal, schema_errors, summary};
use loadline_analysis::summarize;
use loadline_block::Operation;
use loadline_record::{Ending, Limit, RunRecord, TrialRecord};
use loadline_report::{run_document, words};
use loadline_runs::{Measurement, PredictionSettings, Settings, Silent, sole_target};
use loadline_workload::fio_jobs;
use serde_json::Value;
use std::path::Path;

/// A writer that makes each write durable, beside readers, and the readers by themselves.
const LOG_AND_READERS: &str = r#"
schema = 1
name = "log beside readers"
together = [["readers"], ["log", "readers"]]

[[load]]
name = "log"
pattern = "sequential"
reads = "0 %"
block = "4 KiB"
flush = { every = 1, how = "fdatasync" }
size = "8 MiB"
start = "8 MiB"
warm_up = "0 s"
duration = "200 ms"
trials = 2

[[load]]
name = "readers"
queue_depth = [1, 8]
size = "8 MiB"
warm_up = "0 s"
duration = "200 ms"
trials = 2
"#;

/// A disk of 500 requests a second, for all programs together.
const DISK: &str = "schema = 1\nname = \"500\"\n[[volume.data.disks]]\nsize = \"1 TiB\"\n\
                    [volume.data.disks.limit]\niops = \"500 IOPS\"\nenforcement = \"smooth\"\n\
                    [volume.data.disks.latency.read]\nmedian = \"1 ms\"\n\
                    [volume.data.disks.latency.write]\nmedian = \"1 ms\"\n";

fn names(record: &RunRecord) -> Vec<String> {
    record.cells.iter().map(|cell| format!("{} {}", cell.load.name().unwrap_or("-"), cell.beside.len())).collect()
}

fn predicted(text: &str, environment_text: &str) -> RunRecord {
    let settings = PredictionSettings { draws: 1, ..PredictionSettings::default() };
    let environment = environment(environment_text);
    complete(Bench::new().prediction_by(vec![plan(text)], &environment, settings).seeded(1).run(&mut Silent::default()))
}

#[test]
fn loads_are_measured_at_the_same_time_and_each_is_a_cell() {
    let bench = Bench::new();
    let record = bench.measured(LOG_AND_READERS, &bench.target());
    assert_eq!(names(&record), ["log 1", "readers 1", "log 1", "readers 1", "readers 0", "readers 0"]);
    for cell in &record.cells {
        assert_eq!(cell.trials.len(), 2, "{}", cell.label);
        let began = |trial: &TrialRecord| !trial.surroundings.asked.is_empty();
        assert!(cell.trials.iter().all(|trial| began(trial) && trial.ending == Ending::Complete));
    }
    let (log, readers) = (&record.cells[0], &record.cells[1]);
    assert!(log.label.ends_with(", beside readers") && readers.label.ends_with(", beside log"), "{}", log.label);
    assert_eq!((&log.beside[0].cell, &readers.beside[0].cell), (&readers.id, &log.id));
    let asked = |cell: usize, operation| record.cells[cell].trials[0].surroundings.asked[&operation];
    let beside = log.trials[0].surroundings.beside.as_ref().expect("the readers are on its device");
    assert_eq!(beside.asked[&Operation::Read], asked(1, Operation::Read));
    let beside = readers.trials[0].surroundings.beside.as_ref().unwrap();
    assert_eq!(beside.asked[&Operation::Flush], asked(0, Operation::Flush));
    assert!(record.cells[4].trials[0].surroundings.beside.is_none(), "the readers by themselves");
    let told = findings(&record, "ran-together");
    assert!(told.iter().any(|text| text.contains("At the same time ran log at ")), "{told:?}");
    assert_eq!(schema_errors("run.schema.json", &summary(&record)), [""; 0]);
    // Cells are distinguished by what ran beside them, and a plan gives the same ones each time.
    let again = bench.measured(LOG_AND_READERS, &bench.target());
    let ids = |record: &RunRecord| record.cells.iter().map(|cell| cell.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&record), ids(&again));
    assert_eq!(std::collections::BTreeSet::from_iter(ids(&record)).len(), 6);
}

#[test]
fn a_modelled_disk_is_shared_and_its_limit_is_named_with_what_each_took() {
    let long = LOG_AND_READERS.replace("\"200 ms\"", "\"20 s\"").replace("trials = 2", "trials = 1");
    let record = predicted(&long, DISK);
    let summary = summarize(&record);
    let rate = |cell: usize| summary.cells[cell].total.as_ref().unwrap().iops;
    let flushes = |cell: usize| summary.cells[cell].flush.as_ref().unwrap().iops;
    // Log and eight readers beside each other fill the limit, flushes included; eight readers fill it alone.
    let all = rate(2) + rate(3);
    assert!((490.0..=510.0).contains(&all) || (490.0..=510.0).contains(&(all + flushes(2))), "{all} {}", flushes(2));
    assert!((490.0..=510.0).contains(&rate(5)), "{}", rate(5));
    assert!(rate(3) < rate(5) * 0.95, "the log took its part");
    let binding = summary.cells[3].binding.as_ref().unwrap();
    assert_eq!(binding.limit, Limit::DiskIops);
    assert!(binding.utilization.is_some_and(|share| (0.95..1.03).contains(&share)), "{binding:?}");
    assert!(words::evidence(&binding.seen).contains("beside it log "), "{}", words::evidence(&binding.seen));
}

#[test]
fn a_load_begins_after_its_pause_and_the_first_that_ends_can_end_all() {
    let text = LOG_AND_READERS
        .replace("[[\"readers\"], [\"log\", \"readers\"]]", "[{ loads = [\"log\", \"readers\"], ends = \"first\" }]")
        .replace("queue_depth = [1, 8]", "queue_depth = 8\npause = \"5 s\"")
        .replace("\"200 ms\"", "\"20 s\"")
        .replace("trials = 2", "trials = 1");
    let record = predicted(&text, DISK);
    let trial = |cell: usize| &record.cells[cell].trials[0];
    assert_eq!(trial(0).measured_ns, 20_000_000_000, "the log ends first");
    assert!((14_900_000_000..=15_100_000_000).contains(&trial(1).measured_ns), "{}", trial(1).measured_ns);
    assert!(record.cells.iter().all(|cell| cell.trials[0].ending == Ending::Complete));
    // The same on a device: the readers end with the log, though they were to go on.
    let bench = Bench::new();
    let short =
        text.replace("\"20 s\"\ntrials = 1\n\n[[load]]", "\"100 ms\"\ntrials = 1\n\n[[load]]").replace("5 s", "20 ms");
    let measured = bench.measured(&short, &bench.target());
    let spans: Vec<u64> = measured.cells.iter().map(|cell| cell.trials[0].measured_ns / 1_000_000).collect();
    assert!(spans[0] == 100 && spans[1] < 20_000, "{spans:?}");
    assert!(measured.cells.iter().all(|cell| cell.trials[0].ending == Ending::Complete));
}

#[test]
fn loads_belong_on_volumes_of_their_own_where_the_plan_says_so() {
    let text = LOG_AND_READERS
        .replace("[[\"readers\"], [\"log\", \"readers\"]]", "[\"log\", \"readers\"]")
        .replace("name = \"log\"\n", "name = \"log\"\non = \"log\"\n")
        .replace("name = \"readers\"\n", "name = \"readers\"\non = \"data\"\n");
    let bench = Bench::new();
    let measurement = |volumes: &[&str]| {
        let one = |of: Measurement, volume: &&str| of.on(volume, &bench.target());
        volumes.iter().fold(Measurement::new(plan(&text)), one)
    };
    let record = complete(measurement(&["log", "data"]).run(&bench.options(), &mut Silent::default()));
    let volumes: Vec<&str> = record.cells.iter().map(|cell| cell.volume.as_str()).collect();
    assert_eq!(volumes, ["log", "data", "log", "data"]);
    assert_eq!(cells(&record).len(), 4);
    let message = refusal(measurement(&["data"]).run(&bench.options(), &mut Silent::default())).to_string();
    assert!(message.contains("\"log\" runs on the volume \"log\", and the run has data"), "{message}");
}

/// etcd's log writer, as its pages test a disk for it, beside readers.
const ETCD: &str = "[global]\ntime_based\nruntime=8\nsize=22m\noverwrite=1\n[wal]\nrw=write\nioengine=sync\nfdatasync=1\nbs=2300\n\
                    [readers]\nrw=randread\nbs=8k\ndirect=1\nioengine=libaio\niodepth=8\n";
/// Times that each tool runs them.
const ETCD_ROUNDS: usize = 5;

/// IOPS and mean latency in ms of the writer and of the readers, out of JSON.
type Rates = [(f64, f64); 2];

fn rates_of(cells: &Value, iops: &str, mean: [&str; 2]) -> Rates {
    let of = |place: usize, direction: &str| {
        let figures = &cells[place][direction];
        let latency = figures[mean[0]][mean[1]].as_f64().unwrap_or_else(|| panic!("{cells}"));
        (figures[iops].as_f64().expect("a rate"), latency / 1e6)
    };
    [of(0, "write"), of(1, "read")]
}

#[test]
#[ignore = "long: measures this machine"]
fn a_log_writer_beside_readers_gets_what_it_gets_in_fio() {
    let bench = Bench::new();
    let image = bench.sparse("disk.img", 512);
    let device = or_skip!(Loop::attach(Path::new(&image)), NO_THROTTLE);
    or_skip!(run("mkfs.ext4", &["-q", "-F", &device.node]), "it takes mkfs.ext4");
    let mount = or_skip!(Mount::of(&device.node, bench.path("mounted"), &[]), NO_THROTTLE);
    let limits = [(&device, "read_iops_device", 500), (&device, "write_iops_device", 300)];
    let group = or_skip!(Group::new("etcd", &limits), NO_THROTTLE);
    let (job, target) = (bench.file("etcd.fio", ETCD), mount.0.display().to_string());
    let jobs = fio_jobs(ETCD, "etcd.fio").expect("a job file");
    let (mut theirs, mut ours): (Vec<Rates>, Vec<Rates>) = (Vec::new(), Vec::new());
    for _ in 0..ETCD_ROUNDS {
        let place = format!("--directory={target}");
        let said = or_skip!(
            group.within(|| run("fio", &["--output-format=json", &place, &job])),
            "it takes fio, and a control group that it may enter"
        );
        let results: Value = serde_json::from_str(&said[said.find('{').expect("JSON")..]).expect("JSON");
        theirs.push(rates_of(&results["jobs"], "iops", ["clat_ns", "mean"]));
        for number in 0..2 {
            let _ = std::fs::remove_file(mount.0.join(format!("{}.0.0", ["wal", "readers"][number])));
        }
        let measurement = Measurement::of(vec![jobs.plan.clone()], Settings::of(sole_target(&target)));
        let record = complete(group.within(|| measurement.run(&bench.options(), &mut Silent::default())));
        let told = serde_json::to_value(run_document(&summarize(&record))).expect("plain data");
        ours.push(rates_of(&told["cells"], "iops", ["latency_ns", "mean"]));
    }
    for (place, name) in ["log writer", "readers"].into_iter().enumerate() {
        for (what, figure) in
            [("IOPS", (|rates| rates.0) as fn((f64, f64)) -> f64), ("mean latency in ms", |rates| rates.1)]
        {
            let of = |all: &[Rates]| -> Vec<f64> { all.iter().map(|rates| figure(rates[place])).collect() };
            let (own, other) = (of(&ours), of(&theirs));
            println!("{name}, {what}: loadline {own:.2?}, fio {other:.2?}");
            let least = other.iter().copied().fold(f64::INFINITY, f64::min);
            let most = other.iter().copied().fold(0.0, f64::max);
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            // A tenth on top: what a shared machine does in five runs is not all that it does.
            assert!(
                (least * 0.9..=most * 1.1).contains(&mean),
                "{name}, {what}: {mean} here, {least} to {most} in fio"
            );
        }
    }
}
