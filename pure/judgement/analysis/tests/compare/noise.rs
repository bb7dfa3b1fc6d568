//! Made-up runs with the noise of real ones: seconds that are like their neighbours, and trials that differ from each other.

use loadline_analysis::example::{ExampleDisk, cell, closed, open, run};
use loadline_block::Operation;
use loadline_record::{CellRecord, Histogram, LoadFigures, RunRecord, TrialRecord};
use loadline_units::Duration;

/// Standard deviations of the logarithm of the rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// From second to second within a trial.
    pub(crate) seconds: f64,
    /// How alike neighbouring seconds are: their lag-1 correlation.
    pub(crate) alike: f64,
    /// From trial to trial.
    pub(crate) trials: f64,
    /// Of each round: what all cells of a round have in common.
    pub(crate) rounds: f64,
    /// The share of trials during which something else was going on: they are [`ODD_TRIAL`] slower.
    pub(crate) odd: f64,
}

/// By how much an odd trial is slower, as a logarithm.
const ODD_TRIAL: f64 = 0.1;

/// A disk whose trials of 30 s come within 1.2 % of each other (one standard deviation): local disks, throttled ones, provisioned
/// cloud disks at their limit.
pub(crate) const CALM: Noise = Noise { seconds: 0.03, alike: 0.5, trials: 0.008, rounds: 0.0, odd: 0.0 };
/// A shared disk, below its limit: within 1.8 %.
pub(crate) const SHARED: Noise = Noise { seconds: 0.04, alike: 0.6, trials: 0.01, rounds: 0.0, odd: 0.0 };
/// One that others use too: within 6 %, and not always the same.
pub(crate) const ROUGH: Noise = Noise { seconds: 0.10, alike: 0.8, trials: 0.03, rounds: 0.02, odd: 0.0 };

/// No test uses as many seeds.
const OTHER_SEEDS: u64 = 1_000_000;

/// `LOADLINE_TEST_SEED` tries other runs.
#[expect(clippy::disallowed_methods, reason = "the test's own seed is the user's to choose")]
fn other_seeds() -> u64 {
    std::env::var("LOADLINE_TEST_SEED").map_or(0, |text| text.parse().expect("LOADLINE_TEST_SEED is a number"))
}

/// How a run is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    pub(crate) seed: u64,
    pub(crate) trials: u32,
    pub(crate) seconds: u64,
    pub(crate) noise: Noise,
}

impl Made {
    /// The default plan: five trials of 30 s.
    pub(crate) fn by_default(seed: u64, noise: Noise) -> Self {
        Self { seed: seed + OTHER_SEEDS * other_seeds(), trials: 5, seconds: 30, noise }
    }
}

/// Seeded random numbers: splitmix64 (S. Vigna, public domain).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Normal, by the polar method (G. Marsaglia).
    pub(crate) fn normal(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }
}

/// `count` different closed loops.
pub(crate) fn closed_loops(count: usize) -> Vec<LoadFigures> {
    (0..count)
        .map(|i| {
            let (pattern, reads) = [("random", 1.0), ("random", 0.0), ("random", 0.7), ("sequential", 1.0)][i % 4];
            closed(pattern, reads, 4096 << (i / 4 % 4), 1 << (i / 16))
        })
        .collect()
}

/// `count` open loops that the disk can keep up with.
pub(crate) fn open_loops(count: usize) -> Vec<LoadFigures> {
    (0..count).map(|i| open("random", 1.0, 4096, 100.0 + 20.0 * i as f64)).collect()
}

/// A run of `loads`, each at `factor` of its usual rate (or, where the rate is asked for, of its usual speed).
pub(crate) fn made(loads: &[LoadFigures], how: Made, factor: impl Fn(usize) -> f64) -> RunRecord {
    let mut random = Random::new(how.seed);
    let rounds: Vec<f64> = (0..how.trials).map(|_| how.noise.rounds * random.normal()).collect();
    let cells = loads.iter().enumerate().map(|(i, load)| noisy(load, how, factor(i), &rounds, &mut random)).collect();
    let mut record = run(cells);
    record.header.id = format!("made-up-{}", how.seed);
    record
}

fn noisy(load: &LoadFigures, how: Made, factor: f64, rounds: &[f64], random: &mut Random) -> CellRecord {
    let load = LoadFigures { duration_ns: how.seconds * 1_000_000_000, ..load.clone() };
    let disk = ExampleDisk { latency_ns: 2e6, iops: 600.0, bytes_per_s: 1e9 };
    let mut cell = cell(load, &disk, &[1.0]);
    cell.trials_planned = how.trials;
    let first = cell.trials.remove(0);
    cell.trials = (0..how.trials).map(|trial| TrialRecord { trial, ..first.clone() }).collect();
    let noise = how.noise;
    // Enough for the percentile that decides.
    let samples = if cell.load.figures().queue_depth.is_some() { 12 } else { 40 };
    for (trial, round) in cell.trials.iter_mut().zip(rounds) {
        trial.doubts.clear();
        let odd = if noise.odd > 0.0 && random.uniform() < noise.odd { ODD_TRIAL } else { 0.0 };
        let level = factor.ln() + round + noise.trials * random.normal() - odd;
        let step = (1.0 - noise.alike * noise.alike).sqrt();
        let mut wave = random.normal();
        let speeds: Vec<f64> = (0..how.seconds)
            .map(|_| {
                let speed = (level + noise.seconds * wave).exp();
                wave = noise.alike * wave + step * random.normal();
                speed
            })
            .collect();
        let asked_for = trial.offered_iops.is_some();
        for operation in [Operation::Read, Operation::Write] {
            let Some(record) = trial.operations.get_mut(&operation) else { continue };
            let mean_ns = record.latency.mean_ns().expect("requests");
            record.latency = Histogram::new();
            (record.count, record.bytes) = (0, 0);
            for (second, speed) in trial.series.seconds.iter_mut().zip(&speeds) {
                let of_second = &mut second.operations[operation.index()];
                if !asked_for {
                    of_second.count = (of_second.count as f64 * speed).round() as u64;
                    of_second.bytes = of_second.count * cell.load.figures().block_bytes;
                }
                record.count += of_second.count;
                record.bytes += of_second.bytes;
                let ns = |share: f64| (mean_ns / speed * spread(share)) as u64;
                (of_second.p50_ns, of_second.p99_ns, of_second.max_ns) = (ns(0.5), ns(0.99), ns(0.999));
                for place in 0..samples {
                    let share = (f64::from(place) + random.uniform()) / f64::from(samples);
                    record.latency.record(Duration::from_ns(ns(share)));
                }
            }
        }
    }
    cell
}

/// The latency at a percentile over the mean: an exponential tail over a floor.
fn spread(share: f64) -> f64 {
    0.5 - 0.5 * (1.0 - share.min(0.999)).ln()
}

/// A run of one open loop of `offered` Poisson arrivals a second on a disk that serves `capacity` on average, with noise: what is not
/// served waits, and the wait is latency.
pub(crate) fn queued(offered: f64, capacity: f64, how: Made) -> RunRecord {
    let load = open("random", 1.0, 4096, offered);
    let mut record = made(&[load], how, |_| 1.0);
    let mut random = Random::new(how.seed ^ 0x51ab);
    for trial in &mut record.cells[0].trials {
        let level = capacity * (how.noise.trials * random.normal()).exp();
        let (mut backlog, mut arrived, mut wave) = (0.0f64, 0.0, random.normal());
        let read = trial.operations.get_mut(&Operation::Read).expect("reads");
        (read.latency, read.count) = (Histogram::new(), 0);
        for second in &mut trial.series.seconds {
            let arrivals = (offered + offered.sqrt() * random.normal()).round();
            let serves = level * (how.noise.seconds * wave).exp();
            wave = how.noise.alike * wave + (1.0 - how.noise.alike * how.noise.alike).sqrt() * random.normal();
            let before = backlog;
            backlog = (backlog + arrivals - serves).max(0.0);
            let done = (before + arrivals - backlog).round();
            arrived += arrivals;
            let ns = |share: f64| (2e6 * spread(share) + f64::midpoint(before, backlog) / level * 1e9) as u64;
            let of_second = &mut second.operations[Operation::Read.index()];
            (of_second.count, of_second.bytes) = (done as u64, done as u64 * 4096);
            (of_second.p50_ns, of_second.p99_ns, of_second.max_ns) = (ns(0.5), ns(0.99), ns(0.999));
            (0..40).for_each(|_| read.latency.record(Duration::from_ns(ns(random.uniform()))));
            read.count += done as u64;
        }
        read.bytes = read.count * 4096;
        trial.offered_iops = Some(arrived / how.seconds as f64);
    }
    record
}
