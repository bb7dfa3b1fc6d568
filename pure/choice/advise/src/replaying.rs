//! A recorded trace on a choice: what the same requests meet there, by the answers that they waited for and by the clock.

use crate::advice::{ReplayedFigures, ReplayedRange, RequestTiming};
use loadline_block::Operation;
use loadline_catalog::{Draw, Environment};
use loadline_disk::{Fullness, InitialState, Machine, Target, Warmth};
use loadline_emulation::replay::{Dependence, ReplayedRequest, join_slices, relocate, replay_on};
use loadline_emulation::{Trace, TraceRecord};
use loadline_prediction::Model;
use loadline_record::Histogram;
use loadline_units::{Duration, Instant, Ratio};
use loadline_workload::Objective;

/// Requests that are replayed at most: those of the busiest stretch with so many.
const REQUESTS_MAX: usize = 20_000;
/// Flushes from which their rate is a figure, at least.
const FLUSHES_MIN: usize = 20;
/// Places of the latency among its plausible values: the most plausible, a low one, a high one.
const LATENCIES: [Ratio; 3] = [Ratio::percent(50), Ratio::percent(10), Ratio::percent(90)];

/// The part of a trace that is replayed, from time 0 on.
#[derive(Debug)]
pub(crate) struct Stretch {
    records: Vec<TraceRecord>,
    exports: usize,
    /// All have answers, so that what waited for what is known.
    is_answered: bool,
}

impl Stretch {
    /// The busiest stretch of a trace; `None` without reads and writes.
    pub(crate) fn of(trace: &Trace) -> Option<Self> {
        let joined = join_slices(&trace.records);
        let from = (0..(joined.len() + 1).saturating_sub(REQUESTS_MAX))
            .min_by_key(|from| joined[from + REQUESTS_MAX - 1].submitted_at.since(joined[*from].submitted_at))
            .unwrap_or(0);
        let mut records = joined[from..joined.len().min(from + REQUESTS_MAX)].to_vec();
        let begun = records.first()?.submitted_at;
        for record in &mut records {
            record.submitted_at = Instant::ZERO + record.submitted_at.since(begun);
            record.completed_at = record.completed_at.map(|at| Instant::ZERO + at.since(begun));
        }
        let is_answered = records.iter().all(|record| record.completed_at.is_some());
        records.iter().any(is_data).then_some(Self { records, exports: trace.exports.len(), is_answered })
    }

    /// What was recorded.
    pub(crate) fn recorded(&self) -> Option<ReplayedFigures> {
        let answered = |record: &TraceRecord| {
            let (submitted_at, completed_at) = (record.submitted_at, record.completed_at?);
            Some(ReplayedRequest { submitted_at, completed_at })
        };
        let met: Option<Vec<_>> = self.records.iter().map(|record| Some((record, answered(record)?))).collect();
        let Met { iops, flushes_per_s, p99_ns: p99, .. } = Met::of(&met?, None)?;
        let range = ReplayedRange { middle: p99, low: p99, high: p99 };
        let (by, requests) = (RequestTiming::Recorded, self.records.len() as u64);
        Some(ReplayedFigures { by, requests, iops, flushes_per_s, p99_ns: range, keeps: None })
    }

    /// What it meets on an environment without credits for bursts: by answers, if there are any, and by time.
    pub(crate) fn on(
        &self,
        environment: &Environment,
        seed: u64,
        objective: Option<Objective>,
    ) -> Vec<ReplayedFigures> {
        let mut all = vec![(Dependence::Time, RequestTiming::Time)];
        if self.is_answered {
            all.insert(0, (Dependence::Answers, RequestTiming::Answers));
        }
        let of = |(dependence, by): (Dependence, RequestTiming)| {
            let met = |latency: &Ratio| self.replayed(environment, dependence, *latency, seed, objective);
            let found: Vec<Met> = LATENCIES.iter().map(met).collect::<Option<_>>()?;
            let p99s = || found.iter().map(|met| met.p99_ns);
            let Met { iops, flushes_per_s, p99_ns: middle, keeps } = found[0];
            let range = ReplayedRange { middle, low: p99s().min()?, high: p99s().max()? };
            let requests = self.records.len() as u64;
            Some(ReplayedFigures { by, requests, iops, flushes_per_s, p99_ns: range, keeps })
        };
        all.into_iter().filter_map(of).collect()
    }

    fn replayed(
        &self,
        environment: &Environment,
        by: Dependence,
        latency: Ratio,
        seed: u64,
        objective: Option<Objective>,
    ) -> Option<Met> {
        let model = Model::new(environment, 0, Draw { latency, ..Draw::MIDDLE });
        let initial = InitialState { bursts: Fullness::Empty, vm_bursts: None, caches: Warmth::Cold };
        let mut machine = Machine::new(&model.spec, seed, initial).ok()?;
        let target: Target = machine.target(crate::disk_sets::VOLUME)?;
        let mut records = self.records.clone();
        if let Some(size) = machine.size(target) {
            for export in 0..self.exports {
                relocate(&mut records, u16::try_from(export).ok()?, size).ok()?;
            }
        }
        let replayed = replay_on(&mut machine, &vec![target; self.exports], &records, by, &mut |_| ());
        let met: Vec<_> =
            records.iter().zip(replayed).filter_map(|(record, replayed)| Some((record, replayed?))).collect();
        Met::of(&met, objective)
    }
}

const fn is_data(record: &TraceRecord) -> bool {
    matches!(record.operation, Operation::Read | Operation::Write)
}

/// What requests met.
struct Met {
    /// Per second, from the first arrival to the last answer.
    iops: f64,
    /// Flushes in the same time; `None`: too few.
    flushes_per_s: Option<f64>,
    p99_ns: u64,
    /// The objective.
    keeps: Option<bool>,
}

impl Met {
    fn of(met: &[(&TraceRecord, ReplayedRequest)], objective: Option<Objective>) -> Option<Self> {
        let data = || met.iter().filter(|(record, _)| is_data(record)).map(|(_, replayed)| replayed);
        let from = data().map(|replayed| replayed.submitted_at).min()?;
        let until = data().map(|replayed| replayed.completed_at).max()?;
        let mut latencies = Histogram::default();
        for ReplayedRequest { submitted_at, completed_at } in data() {
            latencies.record(completed_at.since(*submitted_at));
        }
        let length_s = until.since(from).max(Duration::from_ns(1)).as_s_f64();
        let flushes = met.iter().filter(|(record, _)| record.operation == Operation::Flush).count();
        let flushes_per_s = (flushes >= FLUSHES_MIN).then(|| flushes as f64 / length_s);
        let keeps = objective.and_then(|objective| {
            let ns = match objective.of.share() {
                Some(share) => latencies.quantile(share)?.as_ns() as f64,
                None => latencies.mean_ns()?,
            };
            Some(ns <= objective.limit.as_ns() as f64)
        });
        let iops = data().count() as f64 / length_s;
        Some(Self { iops, flushes_per_s, p99_ns: latencies.quantile(0.99)?.as_ns(), keeps })
    }
}
