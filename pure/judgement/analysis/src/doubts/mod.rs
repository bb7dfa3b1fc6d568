//! Why a trial's figures should not be believed as they stand: every check, on what the trial itself carries.
//!
//! Each check gives a doubt with its figures, or nothing. What a check cannot see (no counters, no extents) it says nothing
//! about. `docs/doubts.md` tells readers what each code means and what to do.

mod devices;
mod split_requests;
mod stops;
mod storage;

pub(crate) use devices::{Foreign, HeldBack, foreign, held_back};
pub(crate) use stops::stopped_share;

use crate::curves::met_of;
use crate::statistics::{shift, trend};
use crate::trials::{CHANGE_MIN, MET_TOLERANCE, MET_TOLERANCE_COUNT};
use devices::Asked;
use loadline_block::Operation;
use loadline_record::{
    CellRecord, Doubt, DoubtCode, DoubtEvidence, DoubtedFigure, Ending, FewOfOperation, Histogram, LoadFigures,
    ModelRecord, RateChange, Stage, TargetKind, TrialRecord, VolumeFacts,
};
use loadline_units::Duration;
use std::collections::BTreeMap;

/// Measurements shorter than this say so. Runs on disks kept to their limit by a token bucket of about one second deliver
/// that second on top: +20 % in 5 s, +10 % in 10 s, some 3 % in 30 s, +1 % in 180 s.
const SHORT_RUN_S: f64 = 30.0;
/// Depth of such a bucket, in seconds of its rate.
pub(crate) const BUCKET_S: f64 = 1.0;
/// A measurement may end this much early before it counts as shorter than asked: timers are not exact.
const SHORT_RUN_SLACK: f64 = 0.01;
/// A bucket, or a window, that a model knows shows in a measurement from this share of its time on.
const BUCKET_SHOWN: f64 = 0.01;
/// A load thread busier than this may be what holds the rate back.
const GENERATOR_BUSY_MAX: f64 = 0.90;
/// More arrivals than this share never issued would change p99.9.
const MISSED_SHARE_MAX: f64 = 0.001;
/// How rarely noise alone may pass for a movement: two tests on every trial of a matrix must not cry wolf.
const NOT_STEADY_P: f64 = 0.01;
/// A percentile needs ten requests beyond it, or it is the luck of a few.
pub(crate) const REQUESTS_BEYOND_MIN: u64 = 10;
/// The percentiles in question: one request in so many lies beyond each. p99.99 is named with the others but makes no
/// doubt alone: hardly any measurement of a minute could carry it.
const PERCENTILES: [(DoubtedFigure, u64); 3] =
    [(DoubtedFigure::P99, 100), (DoubtedFigure::P999, 1_000), (DoubtedFigure::P9999, 10_000)];
/// The last of [`PERCENTILES`] whose want of requests makes a doubt: p99.9.
const PERCENTILE_DOUBTED: usize = 1;
/// The frequency by which `adjtime` may slew a clock for good; beyond it the clock is being forced.
const CLOCK_DRIFT_PPM_MAX: f64 = 500.0;
/// Two clocks read one after the other can be this far apart when the reading thread is preempted; more is a step.
const CLOCK_STEP_NS_MAX: u64 = 50_000_000;
/// Clock sources that tick in milliseconds.
const CLOCK_SOURCES_COARSE: [&str; 3] = ["jiffies", "refined-jiffies", "pit"];
/// CPU time taken by the hypervisor that begins to matter.
pub(crate) const STEAL_MAX: f64 = 0.01;

/// The doubts that a prediction can have: the others are of devices, machines and caches that are not there.
const MODELLED: [DoubtCode; 8] = [
    DoubtCode::Errors,
    DoubtCode::EndedEarly,
    DoubtCode::OfferedLoadMissed,
    DoubtCode::NotSteady,
    DoubtCode::UnknownLimit,
    DoubtCode::KnownDeviation,
    DoubtCode::ShortRun,
    DoubtCode::FewSamples,
];

/// Every doubt about a trial, in the order in which reports list them.
///
/// `volume.extents` counts as the state of the file when the trial began: who fills the target takes the extents anew, or
/// clears them. The counters of `surroundings.devices` are added up: of a stack only one layer may be among them.
#[must_use]
pub fn doubts(load: &LoadFigures, trial: &TrialRecord, volume: &VolumeFacts) -> Vec<Doubt> {
    let asked = Asked::of(load, trial, volume);
    let checks = [
        (DoubtCode::VerifyFailed, verify_failed(trial)),
        (DoubtCode::Errors, errors(trial)),
        (DoubtCode::EndedEarly, ended_early(load, trial)),
        (DoubtCode::UnknownLimit, unknown_limit(trial)),
        (DoubtCode::KnownDeviation, known_deviation(trial)),
        (DoubtCode::CachedReads, storage::cached_reads(&asked)),
        (DoubtCode::UnwrittenExtents, storage::unwritten_extents(&asked)),
        (DoubtCode::Buffered, storage::buffered(load, volume)),
        (DoubtCode::CachedBelow, storage::cached_below(&asked)),
        (DoubtCode::CompressedOrSparse, storage::compressed_or_sparse(&asked)),
        (DoubtCode::GeneratorBound, generator_bound(trial)),
        (DoubtCode::ToolStopped, stops::tool_stopped(load, trial)),
        (DoubtCode::OfferedLoadMissed, offered_load_missed(trial)),
        (DoubtCode::DepthNotReached, devices::depth_not_reached(&asked)),
        (DoubtCode::OtherLoad, devices::other_load(&asked)),
        (DoubtCode::CpuStolen, cpu_stolen(trial)),
        (DoubtCode::ClockUnstable, clock_unstable(trial)),
        (DoubtCode::NotSteady, not_steady(load, trial)),
        (DoubtCode::ShortRun, short_run(load, trial, volume)),
        (DoubtCode::FewSamples, few_samples(trial)),
    ];
    let applies = |code: DoubtCode| volume.kind != TargetKind::Modelled || MODELLED.contains(&code);
    let checks = checks.into_iter().filter(|(code, _)| applies(*code));
    checks.filter_map(|(code, seen)| seen.map(|seen| Doubt { code, seen })).collect()
}

fn verify_failed(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let verify = trial.verify.as_ref().filter(|v| v.faults_total > 0)?;
    Some(DoubtEvidence::BlocksDiffer {
        blocks: verify.faults_total,
        blocks_checked: verify.blocks_checked,
        first: verify.faults.first().cloned(),
    })
}

fn errors(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let by_kind: BTreeMap<_, _> = trial.errors.iter().filter(|(_, n)| **n > 0).map(|(kind, n)| (*kind, *n)).collect();
    let first_error = trial.error_samples.first().cloned();
    (!by_kind.is_empty()).then_some(DoubtEvidence::RequestsFailed { by_kind, first_error })
}

fn ended_early(load: &LoadFigures, trial: &TrialRecord) -> Option<DoubtEvidence> {
    (trial.ending != Ending::Complete).then(|| DoubtEvidence::CutShort {
        ending: trial.ending.clone(),
        measured_ns: trial.measured_ns,
        planned_ns: load.duration_ns,
    })
}

fn unknown_limit(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let limits = trial.model.as_ref()?.limits_unknown.clone();
    (!limits.is_empty()).then_some(DoubtEvidence::LimitsNotPublished { limits })
}

fn known_deviation(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let measurements = trial.model.as_ref()?.known_deviations.clone();
    (!measurements.is_empty()).then_some(DoubtEvidence::ModelDeviates { measurements })
}

/// Whether a load thread had hardly time to spare.
fn is_busy(trial: &TrialRecord) -> bool {
    trial.surroundings.threads.iter().any(|thread| thread.busy > GENERATOR_BUSY_MAX)
}

fn generator_bound(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let threads = &trial.surroundings.threads;
    let busiest_share = threads.iter().map(|t| t.busy).filter(|b| b.is_finite()).max_by(f64::total_cmp)?;
    let busy_threads = threads.iter().filter(|t| t.busy > GENERATOR_BUSY_MAX).count() as u32;
    (busy_threads > 0).then_some(DoubtEvidence::ThreadsBusy {
        threads: threads.len() as u32,
        busy_threads,
        above_share: GENERATOR_BUSY_MAX,
        busiest_share,
    })
}

fn offered_load_missed(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let offered = trial.offered_iops.filter(|o| *o > 0.0)?;
    let achieved = trial.iops()?;
    let measured_s = trial.measured_ns as f64 / 1e9;
    let answered_later = in_flight_at_the_end(trial, offered).min((offered - achieved).max(0.0) * measured_s);
    let apart = (achieved - offered).abs() - answered_later / measured_s;
    let far_off = apart > offered * MET_TOLERANCE && apart * measured_s > MET_TOLERANCE_COUNT;
    let never_issued = many_missed(trial).then_some(trial.missed);
    (far_off || never_issued.is_some()).then_some(DoubtEvidence::ArrivalsMissed {
        offered_iops: offered,
        completed_iops: achieved,
        never_issued,
    })
}

/// What a doubt means for this cell, as far as its trials tell more than the doubt's own words.
pub(crate) fn meaning(cell: &CellRecord, code: DoubtCode) -> &'static str {
    match code {
        DoubtCode::OfferedLoadMissed if cell.trials.iter().any(many_missed) => {
            "the arrivals asked for were not all issued"
        }
        DoubtCode::OfferedLoadMissed if met_of(cell).is_some_and(|share| share > 1.0) => {
            "more was completed than the arrivals asked for"
        }
        DoubtCode::OfferedLoadMissed => "all arrivals were issued, and not all completed in time",
        code => code.meaning(),
    }
}

/// Whether more arrivals were never issued than the end of the measurement makes by chance.
pub(crate) fn many_missed(trial: &TrialRecord) -> bool {
    let due = trial.offered_iops.unwrap_or(0.0) * trial.measured_ns as f64 / 1e9;
    let missed = trial.missed as f64;
    missed > due * MISSED_SHARE_MAX && missed > MET_TOLERANCE_COUNT
}

/// Of a measurement in which requests take longer than this share of it, it cannot be told whether a load is met.
const IN_FLIGHT_OF_TIME_MAX: f64 = 0.1;

/// How many more requests may be in flight at the end of the measurement than at its begin although the load is met.
///
/// It is the offered rate times the 25th percentile of the latency, less the warm-up. Where a queue grows, that percentile is
/// small beside the latency at the end, so this is little beside what is missing.
pub(crate) fn in_flight_at_the_end(trial: &TrialRecord, offered: f64) -> f64 {
    let mut all = Histogram::new();
    for (_, kept) in trial.operations.iter().filter(|(operation, _)| **operation != Operation::Flush) {
        all.merge(&kept.latency);
    }
    let taken = all.quantile(0.25).unwrap_or(Duration::ZERO);
    let taken_s = taken.saturating_sub(Duration::from_ns(trial.warm_up_ns)).as_s_f64();
    offered * taken_s.min(trial.measured_ns as f64 / 1e9 * IN_FLIGHT_OF_TIME_MAX)
}

fn cpu_stolen(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let machine = trial.surroundings.machine.filter(|m| m.steal > STEAL_MAX)?;
    Some(DoubtEvidence::CpuStolen { share: machine.steal })
}

fn clock_unstable(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let clock = trial.surroundings.clock.as_ref()?;
    let drift_ppm = Some(clock.drift_ppm).filter(|drift| drift.abs() > CLOCK_DRIFT_PPM_MAX);
    let step_ns = Some(clock.wall_step_ns).filter(|step| step.unsigned_abs() > CLOCK_STEP_NS_MAX);
    let coarse_source = clock.source.clone().filter(|source| CLOCK_SOURCES_COARSE.contains(&source.as_str()));
    let is_any = drift_ppm.is_some() || step_ns.is_some() || coarse_source.is_some();
    is_any.then_some(DoubtEvidence::ClockMoved { drift_ppm, step_ns, coarse_source })
}

fn not_steady(load: &LoadFigures, trial: &TrialRecord) -> Option<DoubtEvidence> {
    if load.is_of_others() {
        // Its rate is the application's at every moment.
        return None;
    }
    if let Some(rule) = trial.steady_state.as_ref().filter(|s| !s.reached) {
        let ends = rule.rounds.first().zip(rule.rounds.last());
        return Some(DoubtEvidence::SteadyStateMissed {
            rounds: rule.rounds.len() as u64,
            round_ns: rule.round_ns,
            ends: ends.map(|(first, last)| RateChange { from_iops: *first, to_iops: *last }),
        });
    }
    if trial.model.as_ref().is_some_and(|model| !model.bursts_ended.is_empty()) {
        // What moved it is known, and told by a finding of its own.
        return None;
    }
    let rates: Vec<f64> = trial.series.iops().collect();
    let mean = crate::statistics::mean(&rates).filter(|m| *m > 0.0)?;
    let weighty = |from: f64, to: f64| (to - from).abs() / mean > CHANGE_MIN;
    let step = shift(&rates).filter(|s| s.p_value < NOT_STEADY_P && weighty(s.before, s.after));
    let line = trend(&rates).filter(|t| t.p_value < NOT_STEADY_P && weighty(t.from, t.to));
    if let Some(line) = line {
        // A line through rates that end in nothing passes below it.
        let rate = RateChange { from_iops: line.from.max(0.0), to_iops: line.to.max(0.0) };
        return Some(DoubtEvidence::RateMoves { rate });
    }
    step.map(|step| DoubtEvidence::RateStepped {
        rate: RateChange { from_iops: step.before, to_iops: step.after },
        after_s: step.at as u64 * u64::from(trial.series.interval_s),
    })
}

fn short_run(load: &LoadFigures, trial: &TrialRecord, volume: &VolumeFacts) -> Option<DoubtEvidence> {
    let measured_s = trial.measured_ns as f64 / 1e9;
    if volume.kind == TargetKind::Null || measured_s * (1.0 + SHORT_RUN_SLACK) >= SHORT_RUN_S || measured_s <= 0.0 {
        return None;
    }
    // A model knows how deep its buckets are, and whether it has any.
    let bucket_ns = match &trial.model {
        // A warm-up with the same load is as long as it takes to empty it.
        Some(model) if !shows(model.bucket_ns, trial) || model.bucket_ns <= trial.warm_up_ns => {
            return short_of_windows(load, trial, model);
        }
        Some(model) => model.bucket_ns,
        None => (BUCKET_S * 1e9) as u64,
    };
    Some(DoubtEvidence::BucketInShortRun {
        measured_ns: trial.measured_ns,
        bucket_ns,
        is_known: trial.model.is_some(),
        warm_up_ns: trial.warm_up_ns,
    })
}

/// Whether what a model saves up, or gives out at once, in so much time shows in the measurement.
fn shows(span_ns: u64, trial: &TrialRecord) -> bool {
    span_ns as f64 >= trial.measured_ns as f64 * BUCKET_SHOWN
}

/// A limit that counts in windows gives each window's share when it begins: a measurement has one share more or less than its time
/// comes to. Only a load that waited for a limit has them; what others asked for has a rate of its own.
fn short_of_windows(load: &LoadFigures, trial: &TrialRecord, model: &ModelRecord) -> Option<DoubtEvidence> {
    let is_limit = |stage: Stage| !matches!(stage, Stage::Cache | Stage::Service);
    let waited = model.waits.iter().any(|wait| is_limit(wait.stage) && wait.total_ns() > 0);
    let shown = waited && model.window_ns > 0 && shows(model.window_ns, trial) && !load.is_of_others();
    shown.then_some(DoubtEvidence::FewWindows { measured_ns: trial.measured_ns, window_ns: model.window_ns })
}

fn few_samples(trial: &TrialRecord) -> Option<DoubtEvidence> {
    let doubted = |count: u64| count > 0 && count < PERCENTILES[PERCENTILE_DOUBTED].1 * REQUESTS_BEYOND_MIN;
    let lacking = |count: u64| PERCENTILES.into_iter().filter(move |(_, beyond)| count < beyond * REQUESTS_BEYOND_MIN);
    let operations: Vec<FewOfOperation> = (trial.operations.iter())
        .map(|(operation, record)| (*operation, record.figures_count()))
        .filter(|(_, count)| doubted(*count))
        .map(|(operation, requests)| FewOfOperation {
            operation,
            requests,
            figures: lacking(requests).map(|(figure, _)| figure).collect(),
        })
        .collect();
    (!operations.is_empty()).then_some(DoubtEvidence::FewRequests { operations })
}

#[cfg(test)]
mod tests;
