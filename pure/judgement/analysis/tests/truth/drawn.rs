//! Drawn runs, each held against the rules that no line of a summary contradicts another: a sample by `LOADLINE_TEST_SEED`, 5,000 with
//! `LOADLINE_TEST_LONG=1`.

use loadline_analysis::example::{self, ExampleDisk, cell, closed, flushing, open, run, throttled};
use loadline_analysis::rules::{comparison_violations, violations};
use loadline_analysis::{CompareOptions, MonthlyPrice, compare, summarize};
use loadline_load::{LatencyFigure, Objective};
use loadline_record::{
    CellRecord, Doubt, DoubtCode, KernelThrottle, LoadFigures, MemoryLimit, ProgramSecond, RunRecord, RunVerb,
    ShortQueue, ThrottledQuantity, ThrottledRequests, WatchRecord, WatchSecond, WatchTick, WatchedProgram,
    WatchedThrottle,
};
use loadline_units::Duration;

const SAMPLE: u64 = 200;
const ALL: u64 = 5_000;

/// Numbers by a seed, as `splitmix64` makes them.
pub(crate) struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize]
    }
    /// Between two figures, evenly over the powers of ten.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.share())
    }
}

fn objective(draw: &mut Draw) -> Option<Objective> {
    let of = draw.of(&[LatencyFigure::Mean, LatencyFigure::P99]);
    let limit = Duration::from_us(draw.of(&[300, 1_000, 5_000, 20_000, 100_000]));
    (!draw.one_in(4)).then_some(Objective { of, limit })
}

/// A cell of a disk, or behind a throttle, disturbed or not.
fn measured(draw: &mut Draw, load: LoadFigures, disk: &ExampleDisk) -> CellRecord {
    let noise = draw.of(&[0.0, 0.002, 0.02, 0.3]);
    let trials = draw.of(&[1, 1, 3]);
    let factors: Vec<f64> = (0..trials).map(|_| 1.0 - noise * draw.share()).collect();
    let is_closed = load.queue_depth.is_some();
    let most = disk.iops.min(disk.bytes_per_s / load.block_bytes as f64);
    let mut cell = if is_closed && draw.one_in(8) { throttled(load, most) } else { cell(load, disk, &factors) };
    if draw.one_in(6) {
        tail(&mut cell, draw);
    }
    let doubts = [
        DoubtCode::CachedReads,
        DoubtCode::OtherLoad,
        DoubtCode::GeneratorBound,
        DoubtCode::UnwrittenExtents,
        DoubtCode::ShortRun,
        DoubtCode::ToolStopped,
    ];
    if draw.one_in(10) {
        let code = draw.of(&doubts);
        cell.trials[0].doubts.push(Doubt::written(code, "As drawn."));
    }
    if is_closed && draw.one_in(10) {
        let half = cell.trials[0].series.seconds.len() / 2;
        let seconds = cell.trials[0].series.seconds.iter_mut().skip(half);
        seconds.for_each(|second| second.operations.iter_mut().for_each(|of| of.count /= 3));
    }
    cell
}

/// A few requests take far longer.
fn tail(cell: &mut CellRecord, draw: &mut Draw) {
    let (one_in, longer) = (draw.of(&[100, 300, 2_000]), Duration::from_ms(draw.of(&[20, 100, 400])));
    for trial in &mut cell.trials {
        for record in trial.operations.values_mut() {
            (0..record.count / one_in).for_each(|_| record.latency.record(longer));
        }
    }
}

fn drawn(draw: &mut Draw) -> RunRecord {
    drawn_faster(draw, 1.0)
}

/// The same on a disk that does so many times as much.
fn drawn_faster(draw: &mut Draw, times: f64) -> RunRecord {
    let disk = ExampleDisk {
        latency_ns: draw.between(2e4, 4e7) / times,
        iops: libm::floor(draw.between(100.0, 60_000.0) * times),
        bytes_per_s: draw.between(5e6, 3e9),
    };
    let objective = objective(draw);
    let duration_ns = draw.of(&[3, 4, 8, 20]) * 1_000_000_000;
    let with = |load: LoadFigures| LoadFigures { objective, duration_ns, ..load };
    let depths = draw.of(&[&[1u32][..], &[16], &[1, 4], &[1, 8, 32], &[8, 32, 64], &[1, 2, 4, 8, 16, 32, 64]]);
    let blocks = draw.of(&[&[4096u64][..], &[4096, 1 << 20], &[8192, 65_536], &[1 << 20]]);
    let directions = draw.of(&[&[1.0][..], &[0.0], &[1.0, 0.0], &[0.7], &[1.0, 0.0, 0.5]]);
    let mut cells = Vec::new();
    for reads in directions {
        for block in blocks {
            for depth in depths {
                let load = with(closed(draw.of(&["random", "random", "sequential"]), *reads, *block, *depth));
                let rate = draw.one_in(12).then(|| disk.iops * draw.share());
                cells.push(measured(draw, LoadFigures { rate_iops: rate, ..load }, &disk));
            }
        }
    }
    if draw.one_in(3) {
        for share in [0.3, 0.8, 1.2] {
            let load = with(open("random", 1.0, 4096, libm::ceil(disk.iops * share)));
            cells.push(measured(draw, load, &disk));
        }
    }
    if draw.one_in(5) {
        cells.push(flushing(&disk));
    }
    for (place, cell) in cells.iter_mut().enumerate() {
        cell.id = format!("{}-{place}", cell.id);
    }
    let mut record = run(cells);
    record.header.verb = if draw.one_in(3) { RunVerb::Quick } else { RunVerb::Run };
    if draw.one_in(3) {
        let requests = draw.of(&[ThrottledRequests::Reads, ThrottledRequests::Writes]);
        let per_s = (disk.iops * draw.of(&[1.0, 1.0, 1.03, 1.3])) as u64;
        record.header.volumes[0].devices[0].throttles = vec![KernelThrottle {
            requests,
            counts: ThrottledQuantity::Requests,
            per_s: per_s.max(1),
            group: "/db".into(),
            file: "/sys/fs/cgroup/db/io.max".into(),
            lifted_by: "7:0 0".into(),
        }];
    }
    record
}

/// Whether all are tried, and the seed of the sample.
#[expect(clippy::disallowed_methods, reason = "a test may be told to take longer and to draw another sample")]
fn asked() -> (bool, u64) {
    let all = std::env::var("LOADLINE_TEST_LONG").is_ok_and(|value| !value.is_empty() && value != "0");
    (all, std::env::var("LOADLINE_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// Draws many, and fails where one of them breaks a rule.
#[track_caller]
pub(crate) fn held<V: std::fmt::Debug>(what: &str, broken_of: impl Fn(&mut Draw) -> Vec<V>) {
    let (all, seed) = asked();
    let count = if all { ALL } else { SAMPLE };
    println!("{count} of {ALL} {what}, LOADLINE_TEST_SEED={seed}; all with LOADLINE_TEST_LONG=1");
    let of = |number: u64| (number, broken_of(&mut Draw(seed.wrapping_mul(ALL).wrapping_add(number))));
    let broken: Vec<(u64, Vec<V>)> = (0..count).map(of).filter(|(_, found)| !found.is_empty()).collect();
    assert!(broken.is_empty(), "{} of {count} {what}: {:#?}", broken.len(), &broken[..broken.len().min(12)]);
}

#[test]
fn no_line_of_a_drawn_run_contradicts_another() {
    held("runs", |draw| {
        let record = drawn(draw);
        violations(&record, &summarize(&record))
    });
}

/// What a device and its program do for a while.
pub(crate) fn watched(draw: &mut Draw) -> RunRecord {
    let seconds = draw.of(&[5usize, 8, 20, 60]);
    let cycle = draw.of(&[1usize, 2, 3]);
    let phases: Vec<Phase> = (0..cycle).map(|_| Phase::drawn(draw)).collect();
    let per_s = draw.of(&[30u64, 100, 500, 3_000, 20_000]);
    let throttle = KernelThrottle {
        requests: draw.of(&[ThrottledRequests::Reads, ThrottledRequests::Writes]),
        counts: ThrottledQuantity::Requests,
        per_s,
        group: "/db".into(),
        file: "/sys/fs/cgroup/db/io.max".into(),
        lifted_by: "7:0 0".into(),
    };
    let (mut ticks, mut programs, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    for second in 0..seconds {
        let phase = &phases[second * cycle / seconds];
        let own: Vec<WatchTick> = (0..10).map(|place| phase.tick(draw, place, per_s)).collect();
        let sum = |of: fn(&WatchTick) -> u64| own.iter().map(of).sum::<u64>();
        let writes = throttle.requests == ThrottledRequests::Writes;
        asked.push(if writes { sum(|tick| tick.writes) } else { sum(|tick| tick.reads) });
        let read_bytes = sum(|tick| tick.read_bytes);
        programs.push(ProgramSecond {
            read_bytes,
            write_bytes: sum(|tick| tick.write_bytes),
            asked_read_bytes: (read_bytes as f64 * draw.of(&[1.0, 1.0, 8.0])) as u64,
            reread_bytes: (read_bytes as f64 * phase.reread) as u64,
            quota_periods: 10,
            quota_used_up: phase.quota,
            cpu_us: 200_000,
            cpu_wait_us: draw.of(&[0, 0, 900_000]),
            locked_us: phase.locked_us,
            threads_us: phase.threads_us,
            sockets_us: phase.sockets_us,
            memory_stalled_us: draw.of(&[0, 0, 500_000]),
            ..ProgramSecond::default()
        });
        ticks.extend(own);
    }
    let limit = MemoryLimit {
        bytes: 64 << 20,
        group: "/db".into(),
        file: "/sys/fs/cgroup/db/memory.max".into(),
        lifted_by: "max".into(),
    };
    let queue = ShortQueue {
        device: "vda".into(),
        requests: 4,
        queues: 1,
        file: "/sys/block/vda/queue/nr_requests".into(),
        lifted_by: "128".into(),
    };
    let program = WatchedProgram {
        name: "db".into(),
        pid: 7,
        processes: 1,
        only_here: Some(true),
        memory: draw.one_in(2).then_some(limit),
        seconds: programs,
        ..WatchedProgram::default()
    };
    let swapped_bytes = draw.of(&[None, Some(0), Some(20_000_000)]);
    let watch = WatchRecord {
        ticks,
        seconds: vec![WatchSecond { ticks: 10, swapped_bytes, ..WatchSecond::default() }; seconds],
        swap_here: draw.one_in(3),
        throttles: if draw.one_in(2) {
            vec![WatchedThrottle { limit: throttle, asked: Some(asked) }]
        } else {
            Vec::new()
        },
        queue: draw.one_in(4).then_some(queue),
        programs: if draw.one_in(5) { Vec::new() } else { vec![program] },
        subject: None,
        ..WatchRecord::default()
    };
    let mut record = run(vec![cell(closed("random", 1.0, 4096, 1), &ExampleDisk::default(), &[1.0])]);
    record.header.verb = RunVerb::Watch;
    record.cells[0].trials[0].watched = Some(Box::new(watch));
    record
}

/// A way of working that lasts for some seconds.
struct Phase {
    per_tick: f64,
    reads: f64,
    depth: f64,
    busy: f64,
    flushes: bool,
    noise: f64,
    /// Of ten ticks so many are worked in; none after.
    worked: u64,
    at_throttle: bool,
    reread: f64,
    locked_us: u64,
    threads_us: u64,
    sockets_us: u64,
    quota: u64,
}

impl Phase {
    fn drawn(draw: &mut Draw) -> Self {
        Self {
            per_tick: draw.between(1.0, 3_000.0),
            reads: draw.of(&[1.0, 0.0, 0.5]),
            depth: draw.of(&[0.05, 0.5, 1.0, 3.0, 4.0, 16.0]),
            busy: draw.of(&[0.0, 0.05, 0.4, 0.95, 1.0]),
            flushes: draw.one_in(4),
            noise: draw.of(&[0.0, 0.05, 0.5]),
            worked: draw.of(&[10, 10, 6, 3, 1]),
            at_throttle: draw.one_in(3),
            reread: draw.of(&[0.0, 0.0, 0.3, 0.8, 3.0]),
            locked_us: draw.of(&[0, 0, 2_000_000]),
            threads_us: draw.of(&[0, 3_000_000]),
            sockets_us: draw.of(&[0, 800_000]),
            quota: draw.of(&[0, 0, 0, 2, 9]),
        }
    }

    fn tick(&self, draw: &mut Draw, place: u64, per_s: u64) -> WatchTick {
        let elapsed_us = 100_000;
        if place >= self.worked || self.busy <= 0.0 {
            return WatchTick { elapsed_us, ..WatchTick::default() };
        }
        let rate =
            if self.at_throttle { per_s as f64 / 10.0 } else { self.per_tick * (1.0 - self.noise * draw.share()) };
        let reads = libm::round(rate * self.reads) as u64;
        let writes = libm::round(rate * (1.0 - self.reads)) as u64;
        let waited = self.depth.max(self.busy) * 100.0;
        let flushed = if self.flushes && writes > 0 { 0.4 } else { 0.0 };
        let of_reads = if reads + writes == 0 { 0.0 } else { reads as f64 / (reads + writes) as f64 };
        WatchTick {
            elapsed_us,
            reads,
            writes,
            flushes: if flushed > 0.0 { writes } else { 0 },
            read_bytes: reads * 4096,
            write_bytes: writes * 4096,
            read_ms: (waited * of_reads) as u64,
            write_ms: (waited * (1.0 - of_reads) * (1.0 - flushed)) as u64,
            flush_ms: (waited * (1.0 - of_reads) * flushed) as u64,
            busy_ms: (self.busy * 100.0) as u64,
            in_flight: self.depth as u64,
            ..WatchTick::default()
        }
    }
}

#[test]
fn no_line_of_a_drawn_watch_contradicts_another() {
    held("watches", |draw| {
        let record = watched(draw);
        violations(&record, &summarize(&record))
    });
}

#[test]
fn no_line_of_a_drawn_comparison_contradicts_another() {
    held("comparisons", |draw| {
        let seed = draw.next();
        let factors = [1.0, draw.of(&[1.0, 1.02, 1.1, 0.5, 3.0]), draw.of(&[1.0, 0.9, 2.0])];
        let sides = draw.of(&[2usize, 2, 3]);
        let runs: Vec<RunRecord> =
            factors[..sides].iter().map(|factor| drawn_faster(&mut Draw(seed), *factor)).collect();
        let compared = compare(&runs.iter().collect::<Vec<_>>(), &CompareOptions::default());
        let Ok(mut found) = compared else { return Vec::new() };
        for side in &mut found.ranking {
            side.price_complete = !draw.one_in(4);
            let amount = draw.of(&[20.0, 135.17, 135.17, 495.18]);
            side.price_month = (!draw.one_in(5)).then(|| MonthlyPrice { amount, currency: "USD".to_owned() });
        }
        found.rank_ties_by_price();
        comparison_violations(&found)
    });
}

#[test]
fn the_run_that_shows_something_of_everything_keeps_the_rules() {
    for record in [example::golden(), example::predicted(&[1.0, 0.9, 1.1])] {
        assert_eq!(violations(&record, &summarize(&record)), []);
    }
}
