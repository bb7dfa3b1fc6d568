//! Why a trial's figures should not be believed as they stand: every check, on what the trial itself carries.
//!
//! Each check gives a doubt with its figures, or nothing. What a check cannot see (no counters, no extents) it says nothing
//! about. `docs/doubts.md` tells readers what each code means and what to do.

mod devices;
mod split_requests;
mod stops;
mod storage;

pub(crate) use devices::{Foreign, foreign, held_back};
pub(crate) use stops::stopped_share;

use crate::curves::met_of;
use crate::statistics::{shift, trend};
use crate::words::{counted, listed, number, percent, seconds};
use devices::Asked;
use loadline_block::Operation;
use loadline_record::{
    CellRecord, Doubt, DoubtCode, Ending, Histogram, LoadFigures, ModelRecord, Stage, TargetKind, TrialRecord,
    VolumeFacts,
};
use loadline_units::Duration;

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
/// Achieved and offered arrivals may differ by this much.
const OFFERED_TOLERANCE: f64 = 0.01;
/// And by as many requests as can be under way when the measurement ends at its second.
const OFFERED_TOLERANCE_COUNT: f64 = 3.0;
/// More arrivals than this share never issued would change p99.9.
const MISSED_SHARE_MAX: f64 = 0.001;
/// A movement of the rate smaller than this is of no practical weight, however significant.
const NOT_STEADY_CHANGE: f64 = 0.05;
/// How rarely noise alone may pass for a movement: two tests on every trial of a matrix must not cry wolf.
const NOT_STEADY_P: f64 = 0.01;
/// A percentile needs ten requests beyond it, or it is the luck of a few.
pub(crate) const REQUESTS_BEYOND_MIN: u64 = 10;
/// The percentiles in question: name, and one request in so many lies beyond it. p99.99 is named with the others but makes no
/// doubt alone: hardly any measurement of a minute could carry it.
const PERCENTILES: [(&str, u64); 3] = [("p99", 100), ("p99.9", 1_000), ("p99.99", 10_000)];
/// The last of [`PERCENTILES`] whose want of requests makes a doubt: p99.9.
const PERCENTILE_DOUBTED: usize = 1;
/// The frequency by which `adjtime` may slew a clock for good; beyond it the clock is being forced.
const CLOCK_DRIFT_PPM_MAX: f64 = 500.0;
/// Two clocks read one after the other can be this far apart when the reading thread is preempted; more is a step.
const CLOCK_STEP_NS_MAX: u64 = 50_000_000;
/// Clock sources that tick in milliseconds.
const CLOCK_SOURCES_COARSE: [&str; 3] = ["jiffies", "refined-jiffies", "pit"];
/// CPU time taken by the hypervisor that begins to matter.
const STEAL_MAX: f64 = 0.01;

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
    checks.filter_map(|(code, detail)| detail.map(|detail| Doubt { code, detail })).collect()
}

fn verify_failed(trial: &TrialRecord) -> Option<String> {
    let verify = trial.verify.as_ref().filter(|v| v.faults_total > 0)?;
    let first = verify.faults.first().map_or_else(String::new, |fault| {
        format!("; the first at offset {}: {}", fault.offset, fault.detail.trim_end_matches('.'))
    });
    Some(format!(
        "{} of {} blocks read back were not what was written{first}.",
        number(verify.faults_total as f64),
        number(verify.blocks_checked as f64)
    ))
}

fn errors(trial: &TrialRecord) -> Option<String> {
    let kinds: Vec<String> =
        trial.errors.iter().filter(|(_, n)| **n > 0).map(|(kind, n)| format!("{} {kind}", number(*n as f64))).collect();
    let first = trial
        .error_samples
        .first()
        .map_or_else(String::new, |sample| format!("; the first: {}", sample.trim_end_matches('.')));
    (!kinds.is_empty())
        .then(|| format!("{} failed ({}){first}.", counted(trial.errors_total() as usize, "request"), listed(&kinds)))
}

fn ended_early(load: &LoadFigures, trial: &TrialRecord) -> Option<String> {
    let why = match &trial.ending {
        Ending::Complete => return None,
        Ending::Interrupted => "It was stopped by the user".to_owned(),
        Ending::Failed(reason) => format!("It could not go on: {reason}"),
        Ending::Hung(request) => format!("A request was not answered: {request}"),
    };
    Some(format!("{why}; {} of {} were measured.", seconds(trial.measured_ns), seconds(load.duration_ns)))
}

fn unknown_limit(trial: &TrialRecord) -> Option<String> {
    let unknown = &trial.model.as_ref()?.limits_unknown;
    (!unknown.is_empty()).then(|| format!("Not known: {}.", listed(unknown)))
}

fn known_deviation(trial: &TrialRecord) -> Option<String> {
    let known = &trial.model.as_ref()?.known_deviations;
    let told: Vec<String> =
        known.iter().map(|found| format!("{}: {} ({})", found.disk, found.text, found.source)).collect();
    (!told.is_empty()).then(|| format!("{}.", told.join("; ")))
}

/// Whether a load thread had hardly time to spare.
fn is_busy(trial: &TrialRecord) -> bool {
    trial.surroundings.threads.iter().any(|thread| thread.busy > GENERATOR_BUSY_MAX)
}

fn generator_bound(trial: &TrialRecord) -> Option<String> {
    let threads = &trial.surroundings.threads;
    let busiest = threads.iter().map(|t| t.busy).filter(|b| b.is_finite()).max_by(f64::total_cmp)?;
    let over = threads.iter().filter(|t| t.busy > GENERATOR_BUSY_MAX).count();
    (over > 0).then(|| {
        let busiest = percent(busiest);
        let who = match threads.len() {
            1 => format!("The load thread was {busiest} busy"),
            all => format!(
                "{over} of {all} load threads were more than {} busy (the busiest {busiest})",
                percent(GENERATOR_BUSY_MAX)
            ),
        };
        format!("{who}: the storage may be able to do more.")
    })
}

fn offered_load_missed(trial: &TrialRecord) -> Option<String> {
    let offered = trial.offered_iops.filter(|o| *o > 0.0)?;
    let achieved = trial.iops()?;
    let measured_s = trial.measured_ns as f64 / 1e9;
    let off = achieved / offered - 1.0;
    let answered_later = in_flight_at_the_end(trial, offered).min((offered - achieved).max(0.0) * measured_s);
    let apart = (achieved - offered).abs() - answered_later / measured_s;
    let far_off = apart > offered * OFFERED_TOLERANCE && apart * measured_s > OFFERED_TOLERANCE_COUNT;
    let many_missed = many_missed(trial);
    let never_issued = if many_missed {
        format!("; {} arrivals were never issued, and their waiting is in no latency", number(trial.missed as f64))
    } else {
        String::new()
    };
    (far_off || many_missed).then(|| {
        format!(
            "{} requests a second were offered and {} completed ({} {}){never_issued}.",
            number(offered),
            number(achieved),
            percent(off.abs()),
            if off < 0.0 { "fewer" } else { "more" }
        )
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
    missed > due * MISSED_SHARE_MAX && missed > OFFERED_TOLERANCE_COUNT
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

fn cpu_stolen(trial: &TrialRecord) -> Option<String> {
    let machine = trial.surroundings.machine.filter(|m| m.steal > STEAL_MAX)?;
    Some(format!(
        "The hypervisor took {} of the CPU time: latencies and rates may be the host's, not the storage's.",
        percent(machine.steal)
    ))
}

fn clock_unstable(trial: &TrialRecord) -> Option<String> {
    let clock = trial.surroundings.clock.as_ref()?;
    let mut seen = Vec::new();
    if clock.drift_ppm.abs() > CLOCK_DRIFT_PPM_MAX {
        seen.push(format!("ran {} parts per million off its reference", number(clock.drift_ppm)));
    }
    if clock.wall_step_ns.unsigned_abs() > CLOCK_STEP_NS_MAX {
        seen.push(format!("was stepped by {} ms", number((clock.wall_step_ns as f64 / 1e6).round())));
    }
    if let Some(source) = clock.source.as_deref().filter(|s| CLOCK_SOURCES_COARSE.contains(s)) {
        seen.push(format!("has the source {source}, which ticks in milliseconds"));
    }
    (!seen.is_empty()).then(|| format!("The clock {}.", listed(&seen)))
}

fn not_steady(load: &LoadFigures, trial: &TrialRecord) -> Option<String> {
    if load.is_of_others() {
        // Its rate is the application's at every moment.
        return None;
    }
    if let Some(rule) = trial.steady_state.as_ref().filter(|s| !s.reached) {
        let ends = rule.rounds.first().zip(rule.rounds.last());
        let figures = ends.map_or_else(String::new, |(a, b)| {
            format!(" (from {} IOPS in the first to {} in the last)", number(*a), number(*b))
        });
        return Some(format!(
            "The steady-state rule was not met in {} of {}{figures}.",
            counted(rule.rounds.len(), "round"),
            seconds(rule.round_ns)
        ));
    }
    if trial.model.as_ref().is_some_and(|model| !model.bursts_ended.is_empty()) {
        // What moved it is known, and told by a finding of its own.
        return None;
    }
    let rates: Vec<f64> = trial.series.iops().collect();
    let mean = crate::statistics::mean(&rates).filter(|m| *m > 0.0)?;
    let weighty = |from: f64, to: f64| (to - from).abs() / mean > NOT_STEADY_CHANGE;
    let word = |from: f64, to: f64| if to < from { "fell" } else { "rose" };
    let step = shift(&rates).filter(|s| s.p_value < NOT_STEADY_P && weighty(s.before, s.after));
    let line = trend(&rates).filter(|t| t.p_value < NOT_STEADY_P && weighty(t.from, t.to));
    if let Some(line) = line {
        // A line through rates that end in nothing passes below it.
        let (from, to) = (line.from.max(0.0), line.to.max(0.0));
        let by = if from > 0.0 { format!(" by {}", percent((to - from).abs() / from)) } else { String::new() };
        return Some(format!(
            "The rate {} steadily{by} over the measured time, from about {} to {} IOPS.",
            word(from, to),
            number(from),
            number(to)
        ));
    }
    step.map(|step| {
        format!(
            "The rate {} from {} to {} IOPS after {} s.",
            word(step.before, step.after),
            number(step.before),
            number(step.after),
            number((step.at as u64 * u64::from(trial.series.interval_s)) as f64)
        )
    })
}

fn short_run(load: &LoadFigures, trial: &TrialRecord, volume: &VolumeFacts) -> Option<String> {
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
    let bucket = if trial.model.is_some() { seconds(bucket_ns) } else { "about a second".to_owned() };
    let unless = if trial.warm_up_ns > 0 {
        format!(", unless the warm-up of {} used that up", seconds(trial.warm_up_ns))
    } else {
        String::new()
    };
    Some(format!(
        "Measured for {}: a limit kept by a token bucket of {bucket} lets so short a run show up to {} more than \
         lasts{unless}.",
        seconds(trial.measured_ns),
        percent(bucket_ns as f64 / trial.measured_ns as f64)
    ))
}

/// Whether what a model saves up, or gives out at once, in so much time shows in the measurement.
fn shows(span_ns: u64, trial: &TrialRecord) -> bool {
    span_ns as f64 >= trial.measured_ns as f64 * BUCKET_SHOWN
}

/// A limit that counts in windows gives each window's share when it begins: a measurement has one share more or less than its time
/// comes to. Only a load that waited for a limit has them; what others asked for has a rate of its own.
fn short_of_windows(load: &LoadFigures, trial: &TrialRecord, model: &ModelRecord) -> Option<String> {
    let is_limit = |stage: Stage| !matches!(stage, Stage::Cache | Stage::Service);
    let waited = model.waits.iter().any(|wait| is_limit(wait.stage) && wait.total_ns() > 0);
    (waited && model.window_ns > 0 && shows(model.window_ns, trial) && !load.is_of_others()).then(|| {
        format!(
            "Measured for {}: a limit that counts in windows of {} gives out each one's share as it begins, so that so short a run \
             may show up to {} more or less than lasts.",
            seconds(trial.measured_ns),
            seconds(model.window_ns),
            percent(model.window_ns as f64 / trial.measured_ns as f64)
        )
    })
}

fn few_samples(trial: &TrialRecord) -> Option<String> {
    let doubted = |count: u64| count > 0 && count < PERCENTILES[PERCENTILE_DOUBTED].1 * REQUESTS_BEYOND_MIN;
    let lacking: Vec<String> = trial
        .operations
        .iter()
        .map(|(operation, record)| (operation, record.figures_count()))
        .filter(|(_, count)| doubted(*count))
        .map(|(operation, count)| {
            let names: Vec<String> = PERCENTILES
                .iter()
                .filter(|(_, beyond)| count < beyond * REQUESTS_BEYOND_MIN)
                .map(|(name, _)| (*name).to_owned())
                .collect();
            let noun = match (operation, count) {
                (Operation::Flush, 2..) => "flushes".to_owned(),
                (_, 1) => operation.name().to_owned(),
                _ => format!("{}s", operation.name()),
            };
            let verb = if count == 1 { "is" } else { "are" };
            format!("{} {noun} {verb} too few for {}", number(count as f64), listed(&names))
        })
        .collect();
    (!lacking.is_empty()).then(|| format!("{}.", lacking.join("; ")))
}

#[cfg(test)]
mod tests;
