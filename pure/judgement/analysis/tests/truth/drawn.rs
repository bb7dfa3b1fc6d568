//! Drawn runs, each held against the rules that no line of a summary contradicts another: a sample by `LOADLINE_TEST_SEED`, 5,000 with
//! `LOADLINE_TEST_LONG=1`.

use loadline_analysis::example::{self, ExampleDisk, cell, closed, flushing, open, run, throttled};
use loadline_analysis::rules::violations;
use loadline_analysis::summarize;
use loadline_load::{LatencyFigure, Objective};
use loadline_record::{
    CellRecord, Doubt, DoubtCode, KernelThrottle, LoadFigures, RunRecord, RunVerb, ThrottledQuantity, ThrottledRequests,
};
use loadline_units::Duration;

const SAMPLE: u64 = 200;
const ALL: u64 = 5_000;

/// Numbers by a seed, as `splitmix64` makes them.
struct Draw(u64);

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
    fn one_in(&mut self, times: u64) -> bool {
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
    let disk = ExampleDisk {
        latency_ns: draw.between(2e4, 4e7),
        iops: libm::floor(draw.between(100.0, 60_000.0)),
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

#[test]
fn no_line_of_a_drawn_run_contradicts_another() {
    let (all, seed) = asked();
    let count = if all { ALL } else { SAMPLE };
    println!("{count} of {ALL} runs, LOADLINE_TEST_SEED={seed}; all with LOADLINE_TEST_LONG=1");
    let mut broken = Vec::new();
    for number in 0..count {
        let mut draw = Draw(seed.wrapping_mul(ALL).wrapping_add(number));
        let record = drawn(&mut draw);
        let found = violations(&record, &summarize(&record));
        if !found.is_empty() {
            broken.push((number, found));
        }
    }
    assert!(broken.is_empty(), "{} of {count} runs: {:#?}", broken.len(), &broken[..broken.len().min(12)]);
}

#[test]
fn the_run_that_shows_something_of_everything_keeps_the_rules() {
    for record in [example::golden(), example::predicted(&[1.0, 0.9, 1.1])] {
        assert_eq!(violations(&record, &summarize(&record)), []);
    }
}
