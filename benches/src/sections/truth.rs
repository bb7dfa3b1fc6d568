//! The accuracy of emulated disks: rates and latencies in fio, over those of the model in virtual time.

use crate::bench::Bench;
use crate::process;
use crate::server::{Server, settle};
use crate::statistics::{MedianSpread, median};
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result, bail, ensure};
use loadline_block::Operation;
use loadline_disk::{
    Directions, DiskSpec, EnvironmentSpec, InitialState, IopsBudget, Limit, Machine, ThroughputBudget, VolumeSpec,
};
use loadline_record::{Ending, OperationRecord};
use loadline_simulator::{TrialSetup, simulate};
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, LoadSpec};
use std::path::Path;
use std::process::Command;

/// The range of requests; all of it was written.
pub(super) const SPAN: Bytes = Bytes::mib(256);
/// Off the model's rate, and off its mean latency, at most.
const RATE: f64 = 0.003;
const MEAN: f64 = 0.01;
/// The tolerance of percentiles: this share of them, or this time, whichever is larger.
const PERCENTILE: f64 = 0.05;
const PERCENTILE_US: f64 = 100.0;
/// The wanted number of answers in multiples of the depth, and the longest time for that.
const TURNS: f64 = 150.0;
const LONGEST: Duration = Duration::from_s(60);
/// Lateness, us: the median and p99.
const LATE: [f64; 2] = [50.0, 1_000.0];

/// A load on the disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    operation: Operation,
    kib: u64,
    depth: u32,
}

pub(super) const fn case(operation: Operation, kib: u64, depth: u32) -> Case {
    Case { operation, kib, depth }
}

/// The default cases.
const SELECTED: &[Case] = &[
    case(Operation::Read, 4, 1),
    case(Operation::Read, 4, 8),
    case(Operation::Read, 4, 64),
    case(Operation::Read, 4, 256),
    case(Operation::Write, 4, 1),
    case(Operation::Write, 4, 64),
    case(Operation::Read, 64, 8),
    case(Operation::Read, 256, 8),
    case(Operation::Write, 256, 8),
    case(Operation::Read, 1_024, 1),
    case(Operation::Read, 1_024, 8),
];

fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for operation in [Operation::Read, Operation::Write] {
        for kib in [4, 64, 256, 1_024] {
            cases.extend([1, 8, 64, 256].map(|depth| case(operation, kib, depth)));
        }
    }
    cases
}

impl Case {
    fn name(self) -> String {
        let size = if self.kib == 1_024 { "1 MiB".to_owned() } else { format!("{} KiB", self.kib) };
        format!("{size} {}s, depth {}", self.operation.name(), self.depth)
    }

    /// At least `least`, and long enough that the requests which fio collects at its end are fewer than those beyond
    /// p99. At its end fio waits for a whole depth, and gives the time of the last one to each.
    fn length(self, least: Duration) -> Duration {
        let turns = Duration::from_ns((self.turn_s() * TURNS * 1e9) as u64);
        Duration::from_s(turns.max(least).min(LONGEST.max(least)).as_ns().div_ceil(1_000_000_000))
    }

    /// The time in which as many as are outstanding are answered.
    fn turn_s(self) -> f64 {
        f64::from(self.depth) / (200e6 / (self.kib * 1_024) as f64).min(5_000.0)
    }

    /// Whether enough are answered in `length` for a meaningful p99.
    fn has_p99(self, length: Duration) -> bool {
        length.as_s_f64() >= self.turn_s() * 101.0
    }
}

/// 5,000 requests and 200 MB a second, limited evenly; no latency of its own.
fn smooth() -> EnvironmentSpec {
    let limit = Limit {
        iops: Iops::per_second(5_000).map(|rate| Directions::Together(IopsBudget::steady(rate))),
        throughput: ByteRate::per_second(200_000_000).map(|rate| Directions::Together(ThroughputBudget::steady(rate))),
        ..Limit::default()
    };
    let disk = DiskSpec { size: Some(Bytes::gib(1_024)), limit, ..DiskSpec::default() };
    let volume = VolumeSpec { name: "data".into(), disks: vec![disk], ..VolumeSpec::default() };
    EnvironmentSpec { name: "smooth".into(), volumes: vec![volume], ..EnvironmentSpec::default() }
}

/// The figures of a run, latencies in us.
#[derive(Debug, Clone, Copy)]
struct Seen {
    rate: f64,
    mean: f64,
    p50: f64,
    p99: f64,
}

/// In virtual time.
fn modelled(environment: &EnvironmentSpec, case: Case, duration: Duration) -> Result<Seen> {
    let machine = Machine::new(environment, 1, InitialState::default())?;
    let target = machine.target("data").context("no volume is called data")?;
    let load = LoadSpec {
        reads: if case.operation == Operation::Write { Ratio::ZERO } else { Ratio::ONE },
        blocks: vec![BlockShare { size: Bytes::kib(case.kib), share: Ratio::ONE }],
        arrival: Arrival::Closed { queue_depth: case.depth, rate_max: None, think_time: Duration::ZERO },
        size: Some(SPAN),
        // fio leaves out requests of a warm-up that are answered later: a whole depth of them.
        warm_up: Duration::ZERO,
        duration,
        ..LoadSpec::default()
    };
    let record = simulate(&load, machine, target, TrialSetup { trial: 0, seed: 1, started_unix_s: 0 })?.record;
    ensure!(record.ending == Ending::Complete, "{load} ended with {:?}", record.ending);
    let of: &OperationRecord = record.of(case.operation).context("nothing was simulated")?;
    let us = |quantile| of.latency.quantile(quantile).map(|span| span.as_ns() as f64 / 1e3).context("no latency");
    Ok(Seen {
        rate: record.iops().context("no rate")?,
        mean: of.latency.mean_ns().context("no latency")? / 1e3,
        p50: us(0.5)?,
        p99: us(0.99)?,
    })
}

pub(super) fn fio(socket: &Path, export: &str, words: &[String]) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=x", "--ioengine=nbd", "--output-format=json", "--randrepeat=1", "--randseed=1"]);
    // Percentiles count from when a request was taken up, as the mean does.
    command.args(["--lat_percentiles=1", "--clat_percentiles=0"]);
    command.arg(format!("--uri=nbd+unix:///{export}?socket={}", socket.display()));
    command.arg(format!("--size={}", SPAN.get())).args(words);
    command
}

pub(super) fn load_words(case: Case, duration: Duration) -> Vec<String> {
    let way = if case.operation == Operation::Write { "randwrite" } else { "randread" };
    vec![
        format!("--rw={way}"),
        format!("--bs={}k", case.kib),
        format!("--iodepth={}", case.depth),
        "--norandommap".into(),
        "--time_based".into(),
        format!("--runtime={}ms", duration.as_ns() / 1_000_000),
    ]
}

/// Writes all of an export's span.
pub(super) fn fill(bench: &Bench, socket: &Path, export: &str) -> Result<()> {
    let words = ["--rw=write", "--bs=1m", "--iodepth=8"].map(str::to_owned);
    process::run(&mut fio(socket, export, &words), &bench.stop).map(drop)
}

fn seen(printed: &str, operation: Operation) -> Result<Seen> {
    let start = printed.find('{').context("fio printed no JSON")?;
    let told: serde_json::Value = serde_json::from_str(&printed[start..]).context("fio's JSON cannot be read")?;
    let way = &told["jobs"][0][operation.name()];
    let latency = &way["lat_ns"];
    let us = |value: &serde_json::Value| value.as_f64().map(|ns| ns / 1e3).context("fio tells no latency");
    Ok(Seen {
        rate: way["iops"].as_f64().context("fio tells no IOPS")?,
        mean: us(&latency["mean"])?,
        p50: us(&latency["percentile"]["50.000000"])?,
        p99: us(&latency["percentile"]["99.000000"])?,
    })
}

/// One run: fio's figures, the lateness of answers (the median and p99, us), and the server's share of a core.
struct Run {
    seen: Seen,
    late: [f64; 2],
    cpu: f64,
}

fn measure(bench: &Bench, server: &mut Server, case: Case) -> Result<Run> {
    settle(&bench.stop)?;
    let duration = case.length(bench.arguments.length);
    let (late, cpu) = (server.lateness()?, server.cpu_s()?);
    let ended = process::run(&mut fio(&server.socket, "", &load_words(case, duration)), &bench.stop)?;
    let cpu = (server.cpu_s()? - cpu) / duration.as_s_f64();
    let late = server.lateness()?.since(&late);
    let late = [late.quantile_us(0.5), late.quantile_us(0.99)].map(Option::unwrap_or_default);
    Ok(Run { seen: seen(&ended.stdout, case.operation)?, late, cpu })
}

/// A figure off the model's, as a share of it, signed; over rounds.
fn off(runs: &[Run], model: f64, figure: fn(&Seen) -> f64) -> Result<(f64, String)> {
    let off: Vec<f64> = runs.iter().map(|run| figure(&run.seen) / model - 1.0).collect();
    let MedianSpread { median, least, most } = MedianSpread::of(&off).context("no rounds")?;
    Ok((median, format!("{:+.2} % ({:+.2}..{:+.2})", median * 100.0, least * 100.0, most * 100.0)))
}

/// The error of a percentile over its tolerance: at most 1.
fn beyond(runs: &[Run], model: f64, figure: fn(&Seen) -> f64) -> f64 {
    let off: Vec<f64> = runs.iter().map(|run| (figure(&run.seen) - model).abs()).collect();
    median(&off).unwrap_or(f64::MAX) / (model * PERCENTILE).max(PERCENTILE_US)
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let title =
        "truth: a disk of 5,000 IOPS and 200 MB/s, held smoothly, as fio sees it over NBD: off the model's figures";
    let header = [
        "random",
        "model: IOPS, mean",
        "IOPS",
        "0.3 %",
        "mean",
        "1 %",
        "p50",
        "p99",
        "5 % or 100 us",
        "late p50, p99",
        "50 us, 1 ms",
        "CPU",
    ];
    let mut table = FigureTable::new(title, &header);
    let mut cases = if bench.arguments.all { all() } else { SELECTED.to_vec() };
    cases.retain(|case| bench.arguments.wants(&case.name()));
    if let (Some(only), true) = (&bench.arguments.only, cases.is_empty()) {
        bail!("no row of `truth` has a name that contains {only:?}");
    }
    let environment = smooth();
    let folder = tempfile::tempdir()?;
    let mut server = Server::emulating(&environment, folder.path().join("s"), None, Bytes::gib(2))?;
    fill(bench, &server.socket, "")?;
    for case in cases {
        let duration = case.length(bench.arguments.length);
        let model = modelled(&environment, case, duration)?;
        let runs = bench.rounds(1, |bench, _| measure(bench, &mut server, case))?.remove(0);
        let name = case.name();
        let mut judge = |what: &str, value: f64, most: f64| {
            bench.verdicts.judge(&format!("truth, {name}, {what}"), value, Goal::AtMost(most))
        };
        let (rate, rate_shown) = off(&runs, model.rate, |seen| seen.rate)?;
        let (mean, mean_shown) = off(&runs, model.mean, |seen| seen.mean)?;
        let p99 = if case.has_p99(duration) { beyond(&runs, model.p99, |seen| seen.p99) } else { 0.0 };
        let percentiles = beyond(&runs, model.p50, |seen| seen.p50).max(p99);
        let of =
            |figure: &dyn Fn(&Run) -> f64| median(&runs.iter().map(figure).collect::<Vec<_>>()).unwrap_or_default();
        let late = [of(&|run| run.late[0]), of(&|run| run.late[1])];
        let marks = [
            judge("IOPS off the model's", rate.abs(), RATE),
            judge("mean off the model's", mean.abs(), MEAN),
            judge("percentiles off the model's, of what is allowed", percentiles, 1.0),
            judge("lateness, of what is allowed", (late[0] / LATE[0]).max(late[1] / LATE[1]), 1.0),
        ];
        table.row(bench.marked(vec![
            name.clone(),
            format!("{:.0}, {:.0} us", model.rate, model.mean),
            rate_shown,
            marks[0].into(),
            mean_shown,
            marks[1].into(),
            off(&runs, model.p50, |seen| seen.p50)?.1,
            if case.has_p99(duration) { off(&runs, model.p99, |seen| seen.p99)?.1 } else { "-".to_owned() },
            marks[2].into(),
            format!("{:.0}, {:.0} us", late[0], late[1]),
            marks[3].into(),
            format!("{:.1} %", of(&|run| run.cpu) * 100.0),
        ]));
    }
    table.note("The model's figures are those of the simulator for the same load and time. Late: how long after the model's time");
    table.note("answers left, as the emulation counts it. CPU: the emulation's, of a core.");
    bench.print(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_the_arithmetic() {
        let seen = modelled(&smooth(), case(Operation::Read, 4, 8), Duration::from_s(2)).unwrap();
        assert!((seen.rate - 5_000.0).abs() < 1.0 && (seen.mean - 1_600.0).abs() < 1.0, "{seen:?}");
        let large = case(Operation::Write, 1_024, 64);
        let seen = modelled(&smooth(), large, Duration::from_s(4)).unwrap();
        assert!((seen.rate - 200e6 / f64::from(1 << 20)).abs() < 1.0, "{seen:?}");
    }

    #[test]
    fn fio_is_read_by_operation() {
        let printed = r#"fio: note
{"jobs": [{"read": {"iops": 4999.5, "lat_ns": {"mean": 200000.0, "percentile": {"50.000000": 199000, "99.000000": 210000}}},
           "write": {"iops": 0}}, {"read": {"iops": 0.5}}]}"#;
        let one = seen(printed, Operation::Read).unwrap();
        assert_eq!([one.rate, one.mean, one.p50, one.p99].map(|figure| figure as u64), [4_999, 200, 199, 210]);
        assert!(seen(printed, Operation::Write).is_err());
    }

    #[test]
    fn long_queues_are_asked_for_long_enough() {
        assert_eq!(all().len(), 32);
        let least = Duration::from_s(3);
        assert_eq!(case(Operation::Read, 4, 1).length(least), least);
        let (long, longer) = (case(Operation::Read, 4, 256), case(Operation::Read, 1_024, 256));
        assert_eq!((long.length(least), long.has_p99(long.length(least))), (Duration::from_s(8), true));
        // A turn of 256 MiB takes 1.34 s.
        assert_eq!((longer.length(least), longer.has_p99(longer.length(least))), (LONGEST, false));
    }
}
