//! What a load gets for good: what is left once a burst, a full bucket or a cache that took it is spent. The one place where
//! that is found; levels, conclusions, objectives and charts ask here.

use crate::conclusion::{LevelRate, RateBefore};
use crate::limits::{Course, Fall, course, fall};
use crate::statistics::{mean, median};
use crate::summary::{CellSummary, LastingFigures, LastingLatency};
use crate::trials::{MET_TOLERANCE, latency_figures, trials_used};
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::{
    BurstEnd, Ceiling, CeilingSource, CellRecord, HistogramSnapshot, Limit, LoadFigures, Second, Series, StateTaken,
    TrialRecord,
};

/// Where the mean over the whole time comes as near to the rate that lasts as this, it is that rate.
pub(crate) const NEAR: f64 = 1.05;
/// And to one that is foretold.
const NEAR_FORETOLD: f64 = 1.01;
/// What is left after a fall lies above what is foretold by this factor at least, or it is what was foretold.
const FALL_TO_COME: f64 = 1.2;
/// Fewer whole intervals after a fall are no level.
const AFTER_MIN: usize = 2;

/// What lasts of a cell, by itself; `None` where its mean does.
pub(crate) fn lasting(cell: &CellRecord) -> Option<LastingFigures> {
    of_course(cell, course(cell).as_ref())
}

/// The same where it is known already how the rate went.
pub(crate) fn of_course(cell: &CellRecord, course: Option<&Course>) -> Option<LastingFigures> {
    if cell.load.is_of_others() {
        return None;
    }
    let trials = trials_used(cell);
    let whole =
        mean(&trials.iter().filter_map(|trial| trial.iops()).collect::<Vec<f64>>()).filter(|rate| *rate > 0.0)?;
    let bytes = mean(&trials.iter().filter_map(|trial| trial.bytes_per_s()).collect::<Vec<f64>>())? / whole;
    let change = change(&trials, course, whole)?;
    // What is foretold has no noise, but for the depth of a bucket.
    let near = if change.at_ns.is_some() { NEAR } else { NEAR_FORETOLD };
    let offered = trials.iter().filter_map(|trial| trial.offered_iops).fold(f64::INFINITY, f64::min);
    if change.after <= 0.0 || whole <= change.after * near || change.after >= offered * (1.0 - MET_TOLERANCE) {
        return None;
    }
    let latency_ns = match change.at_ns {
        Some(at_ns) => latency_after(cell, &trials, at_ns, change.after),
        None => latency_foretold(&cell.load.figures(), &trials, change.after),
    };
    Some(LastingFigures {
        iops_before: change.before,
        bytes_per_s_before: change.before * bytes,
        before_ns: change.at_ns,
        iops: change.after,
        throughput_bytes_per_s: change.after * bytes,
        latency_ns,
        source: change.at_ns.is_none().then(|| source(&trials, change.after)).flatten(),
    })
}

/// A change for good.
#[derive(Debug, Clone, Copy)]
struct Change {
    /// From the begin of the load, ns; `None` where it was not lived to see.
    at_ns: Option<u64>,
    before: f64,
    after: f64,
}

/// The change that decides what lasts: what the model saw come; or what the seconds show, unless the model knows of one that is
/// still to come. The depth of a bucket, spent in the first second, is none that anything else ends with.
fn change(trials: &[&TrialRecord], course: Option<&Course>, whole: f64) -> Option<Change> {
    if let Some(told) = told_by_model(trials) {
        return Some(told);
    }
    let seen = course.and_then(|course| seen(trials, course));
    let foretold = foretold(trials, whole).filter(|foretold| whole > foretold.after * NEAR_FORETOLD);
    let Some((seen, foretold)) = seen.as_ref().zip(foretold.as_ref()) else { return foretold.or(seen) };
    let is_burst = course.and_then(Course::fall).is_some_and(|fall| fall.is_burst());
    // A fall that was lived to see is the one that was foretold, unless it ended far above that.
    let to_come = !is_burst || foretold.after * FALL_TO_COME < seen.after;
    Some(if to_come { *foretold } else { *seen })
}

/// Where a burst ended within the measured time, as the model knows it.
fn told_by_model(trials: &[&TrialRecord]) -> Option<Change> {
    let end: &BurstEnd = trials.iter().find_map(|trial| trial.model.as_ref()?.bursts_ended.last())?;
    let (before, after) = end.iops_before.zip(end.iops_after)?;
    Some(Change { at_ns: Some(end.at_ns), before, after })
}

/// Where the seconds show a fall, and what came after it for long enough to be a level.
fn seen(trials: &[&TrialRecord], course: &Course) -> Option<Change> {
    let Fall { at_ns, before, .. } = course.fall()?;
    let long_enough = |trial: &TrialRecord| fall(trial).is_none_or(|fall| after(trial, fall.at_ns).len() >= AFTER_MIN);
    if !trials.iter().all(|trial| long_enough(trial)) {
        return None;
    }
    Some(Change { at_ns: Some(at_ns as u64), before, after: course.sustained })
}

/// What a model says is left once credits are spent, or once a cache full of writes takes no more than its disk does, where the
/// load did not last long enough to show it.
fn foretold(trials: &[&TrialRecord], whole: f64) -> Option<Change> {
    let model = trials.iter().find_map(|trial| trial.model.as_ref())?;
    let StateTaken { bursts_full, vm_bursts_full, carried, .. } = model.initial;
    // Where no credits were there to begin with, a load at its limits saves up none.
    let saved_up = bursts_full || vm_bursts_full.unwrap_or(false) || carried;
    let spent = model.ceilings.iter().filter(|ceiling| match ceiling.limit {
        Limit::BurstExhausted => saved_up,
        Limit::Cache => true,
        _ => false,
    });
    let spent = spent.map(|ceiling| ceiling.iops);
    Some(Change { at_ns: None, before: whole, after: spent.min_by(f64::total_cmp)? })
}

/// What a model says of the limit that leaves this rate.
fn source(trials: &[&TrialRecord], rate: f64) -> Option<CeilingSource> {
    let model = trials.iter().find_map(|trial| trial.model.as_ref())?;
    let of_rate = |ceiling: &&Ceiling| {
        matches!(ceiling.limit, Limit::BurstExhausted | Limit::Cache) && ceiling.iops.total_cmp(&rate).is_eq()
    };
    model.ceilings.iter().find(of_rate).map(|ceiling| ceiling.source.clone())
}

/// The whole intervals after a change that came so long after the begin of the load; the one in which it came, and the next, are
/// left out.
fn after(trial: &TrialRecord, at_ns: f64) -> &[Second] {
    let Series { interval_s, seconds, .. } = &trial.series;
    let interval_ns = f64::from(*interval_s) * 1e9;
    let from = libm::ceil((at_ns - trial.warm_up_ns as f64).max(0.0) / interval_ns) as usize + 1;
    let whole = u64::from(*interval_s) * 1_000_000_000;
    let to = seconds.len().saturating_sub(usize::from(trial.series.last_ns < whole));
    &seconds[from.min(to)..to]
}

/// By the seconds after the change: percentiles are the median of the seconds' own, the mean follows by Little's law. Of a mix
/// the slower operation counts.
fn latency_after(cell: &CellRecord, trials: &[&TrialRecord], at_ns: u64, rate: f64) -> LastingLatency {
    let starts = trials
        .iter()
        .map(|trial| if trial.model.is_some() { None } else { fall(trial) }.map_or(at_ns as f64, |fall| fall.at_ns));
    let seconds: Vec<&Second> = trials.iter().zip(starts).flat_map(|(trial, at_ns)| after(trial, at_ns)).collect();
    let of = |operation: Operation, figure: fn(&loadline_record::SecondOperation) -> u64| {
        let figures = seconds.iter().map(|second| second.of(operation)).filter(|of| of.count > 0);
        median(&figures.map(|of| figure(of) as f64).collect::<Vec<f64>>())
    };
    let slowest = |figure: fn(&loadline_record::SecondOperation) -> u64| {
        TRANSFERS.iter().filter_map(|operation| of(*operation, figure)).max_by(f64::total_cmp)
    };
    let outstanding = outstanding(&cell.load.figures())
        .or_else(|| mean(&seconds.iter().map(|second| second.outstanding).collect::<Vec<f64>>()))
        .filter(|outstanding| *outstanding > 0.0);
    // Each operation's share of the time that all requests take together, as their medians have it.
    let count = |operation: Operation| seconds.iter().map(|second| second.of(operation).count).sum::<u64>() as f64;
    let weights = TRANSFERS.iter().filter_map(|operation| Some((count(*operation), of(*operation, |of| of.p50_ns)?)));
    let (all, time) = weights.fold((0.0, 0.0), |(all, time), (count, p50)| (all + count, time + count * p50));
    let slower = slowest(|of| of.p50_ns).filter(|_| time > 0.0).map_or(1.0, |p50| p50 * all / time);
    LastingLatency {
        mean: outstanding.map(|outstanding| outstanding / rate * 1e9 * slower),
        p50: slowest(|of| of.p50_ns),
        p99: slowest(|of| of.p99_ns),
        max: slowest(|of| of.max_ns),
    }
}

/// At a lower rate that was not lived to see: the mean follows by Little's law. No percentile is smaller than the mean, as if every request
/// waited alike, nor than the one that was seen at the higher rate.
fn latency_foretold(load: &LoadFigures, trials: &[&TrialRecord], rate: f64) -> LastingLatency {
    let mean = outstanding(load).map(|outstanding| outstanding / rate * 1e9);
    let records = |operation: Operation| trials.iter().filter_map(move |trial| trial.operations.get(&operation));
    let seen: Vec<HistogramSnapshot> =
        TRANSFERS.iter().filter_map(|operation| latency_figures(records(*operation))).collect();
    let at_least = |figure: fn(&HistogramSnapshot) -> Option<u64>| {
        let slowest = seen.iter().filter_map(figure).max().map_or(0.0, |ns| ns as f64);
        mean.map(|mean| mean.max(slowest))
    };
    LastingLatency {
        mean,
        p50: at_least(|seen| seen.p50),
        p99: at_least(|seen| seen.p99),
        max: at_least(|seen| Some(seen.max)),
    }
}

fn outstanding(load: &LoadFigures) -> Option<f64> {
    load.queue_depth.map(|depth| f64::from(depth) * f64::from(load.threads))
}

const TRANSFERS: [Operation; 3] = [Operation::Read, Operation::Write, Operation::Trim];

impl LastingLatency {
    /// A figure, ns. Seconds keep no more than the median, the 99th percentile and
    /// the largest latency: what lies between two of them is taken for the upper one, which promises nothing that is not kept.
    #[must_use]
    pub fn figure(&self, figure: LatencyFigure) -> Option<f64> {
        match figure {
            LatencyFigure::Mean => self.mean,
            LatencyFigure::P50 => self.p50,
            LatencyFigure::P90 | LatencyFigure::P95 | LatencyFigure::P99 => self.p99,
            LatencyFigure::P999 => self.max,
        }
    }
}

impl CellSummary {
    /// Its rate; across a burst's end, what was before and what lasts.
    pub(crate) fn level_rate(&self) -> LevelRate {
        if let Some(lasting) = &self.lasting {
            let (iops, bytes_per_s) = (lasting.iops_before, lasting.bytes_per_s_before);
            return LevelRate {
                iops: Some(lasting.iops),
                bytes_per_s: Some(lasting.throughput_bytes_per_s),
                before: Some(RateBefore { iops, bytes_per_s, before_ns: lasting.before_ns }),
            };
        }
        let total = self.total.as_ref();
        let bytes_per_s = total.map(|total| total.throughput_bytes_per_s);
        LevelRate { iops: total.map(|total| total.iops), bytes_per_s, before: None }
    }
    /// Requests per second that last: those after a burst, where the run shows that there is one, else the mean.
    #[must_use]
    pub fn iops_lasting(&self) -> Option<f64> {
        self.lasting.as_ref().map(|lasting| lasting.iops).or_else(|| Some(self.total.as_ref()?.iops))
    }
    /// Bytes per second that last.
    #[must_use]
    pub fn throughput_lasting(&self) -> Option<f64> {
        let lasting = self.lasting.as_ref().map(|lasting| lasting.throughput_bytes_per_s);
        lasting.or_else(|| Some(self.total.as_ref()?.throughput_bytes_per_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, open, predicted, run};
    use crate::search::Probed;
    use crate::{
        DepthKept, FindingCode, FindingSeen, Holder, LoadReached, Meaning, ObjectiveTurn, RateCourse, RunSummary,
        summarize,
    };
    use loadline_record::{Rate, RunRecord};
    use loadline_units::Duration;

    const BURST_S: usize = 30;

    /// A cell of 60 s on a disk of 3,000 IOPS for 30 s and of 500 from then on.
    fn bursting(depth: u32, block_bytes: u64) -> CellRecord {
        let disk = ExampleDisk { latency_ns: 300e3, iops: 1_750.0, bytes_per_s: 1e9 };
        let mut cell = cell(closed("random", 1.0, block_bytes, depth), &disk, &[1.0]);
        for (number, second) in cell.trials[0].series.seconds.iter_mut().enumerate() {
            let rate = if number < BURST_S { 3_000 } else { 500 };
            let read = &mut second.operations[Operation::Read.index()];
            (read.count, read.bytes) = (rate, rate * block_bytes);
            read.p50_ns = u64::from(depth) * 1_000_000_000 / rate;
            (read.p99_ns, read.max_ns) = (read.p50_ns * 11 / 10, read.p50_ns * 12 / 10);
        }
        cell.trials[0].warm_up_ns = 0;
        cell
    }
    fn sweep() -> RunRecord {
        run([4, 16, 64].map(|depth| bursting(depth, 4 << 10)).into())
    }
    fn finding(summary: &RunSummary, code: FindingCode) -> &FindingSeen {
        let found = summary.findings.iter().find(|f| f.code == code);
        &found.unwrap_or_else(|| panic!("{:?}", summary.findings)).seen
    }

    #[test]
    fn what_lasts_is_the_rate_after_the_burst_and_its_latency() {
        let found = lasting(&bursting(16, 4 << 10)).unwrap();
        assert!((found.iops - 500.0).abs() < 1.0 && (found.iops_before - 3_000.0).abs() < 1.0, "{found:?}");
        assert!(found.before_ns.is_some_and(|ns| ns.abs_diff(30_000_000_000) < 500_000_000), "{found:?}");
        // 16 outstanding at 500 a second take 32 ms.
        for (figure, wanted) in [
            (LatencyFigure::Mean, 32e6),
            (LatencyFigure::P50, 32e6),
            (LatencyFigure::P99, 35.2e6),
            (LatencyFigure::P95, 35.2e6),
            (LatencyFigure::P999, 38.4e6),
        ] {
            let value = found.latency_ns.figure(figure).unwrap();
            assert!((value / wanted - 1.0).abs() < 0.01, "{figure:?} {value}");
        }
        assert_eq!(lasting(&cell(closed("random", 1.0, 4 << 10, 16), &ExampleDisk::default(), &[1.0])), None);
    }

    #[test]
    fn levels_conclusions_and_objectives_rest_on_what_lasts_and_tell_both() {
        let summary = summarize(&sweep());
        let told = &summary.conclusions[0];
        let LoadReached::Closed(reached) = &told.reached else { panic!("{told:?}") };
        let before = reached.rate.before.map(|before| (before.iops.round(), before.before_ns.is_some()));
        assert_eq!((reached.rate.iops.map(f64::round), before), (Some(500.0), Some((3_000.0, true))));
        let kept = told.means.iter().find_map(|one| match one {
            Meaning::DeeperAdds { objective: Some(objective), .. } => Some(&objective.kept),
            _ => None,
        });
        assert_eq!(kept, Some(&DepthKept::UpTo("depth 4".to_owned())));
        let FindingSeen::LevelsOff(level) = finding(&summary, FindingCode::Plateau) else { panic!("{summary:?}") };
        let iops = |rate: Rate| if let Rate::Iops(iops) = rate { iops.round() } else { f64::NAN };
        let before = level.before.map(|(rate, ns)| (iops(rate), ns.is_some()));
        assert_eq!((iops(level.levels[0]), before), (500.0, Some((3_000.0, true))));
        let FindingSeen::Objective(objective) = finding(&summary, FindingCode::Objective) else {
            panic!("{summary:?}")
        };
        let ObjectiveTurn::BetweenDepths { kept, level_in_flight, .. } = &objective.turn else {
            panic!("{objective:?}")
        };
        assert_eq!((kept.in_flight.requests, kept.iops.round(), *level_in_flight), (4, 500.0, Some(10.0)));
        assert!((kept.latency_ns / 8e6 - 1.0).abs() < 0.01 && kept.before.is_some(), "{kept:?}");
        let most = finding(&summary, FindingCode::BestRandomIops);
        let FindingSeen::MostRequests { loads } = most else { panic!("{most:?}") };
        assert!(matches!(loads[0].rate, RateCourse::Fell { before_ns: Some(_), .. }), "{most:?}");
    }

    #[test]
    fn a_search_judges_by_what_lasts() {
        let probe = Probed::of(&bursting(16, 4 << 10), 16, LatencyFigure::Mean).unwrap();
        assert!((probe.latency_ns / 32e6 - 1.0).abs() < 0.01, "{probe:?}");
        let mut offered = cell(open("random", 1.0, 4 << 10, 1_000.0), &ExampleDisk::default(), &[1.0]);
        offered.trials[0].series = bursting(16, 4 << 10).trials.remove(0).series;
        offered.trials[0].series.seconds[..BURST_S].iter_mut().for_each(|second| second.operations[0].count = 1_000);
        assert!(!Probed::of(&offered, 1_000, LatencyFigure::Mean).unwrap().met);
    }

    /// A prediction without a burst that ended, whose seconds completed so many reads, and what is left once credits are spent.
    fn foretelling(counts: impl Iterator<Item = u64>, limit: Limit, left: f64) -> CellRecord {
        let mut cell = predicted(&[1.0]).cells.remove(0);
        let trial = &mut cell.trials[0];
        for (second, count) in trial.series.seconds.iter_mut().zip(counts) {
            second.operations[Operation::Read.index()].count = count;
        }
        let model = trial.model.as_mut().unwrap();
        model.bursts_ended.clear();
        model.ceilings.insert(0, Ceiling { limit, iops: left, source: "the disk".into() });
        cell
    }

    #[test]
    fn a_full_bucket_does_not_hide_the_end_of_a_burst_that_is_to_come() {
        let seconds = std::iter::once(6_600).chain(std::iter::repeat(5_000));
        let found =
            lasting(&foretelling(seconds.clone(), Limit::BurstExhausted, 3_600.0)).expect("credits will be spent");
        assert_eq!((found.before_ns, found.iops), (None, 3_600.0));
        // A fall that was seen and is the one that was foretold keeps its moment.
        let fall = std::iter::repeat_n(5_000, 20).chain(std::iter::repeat(3_620));
        let found = lasting(&foretelling(fall, Limit::Cache, 3_600.0)).expect("the rate fell");
        assert!(found.before_ns.is_some() && (found.iops - 3_620.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn what_begins_without_credits_has_none_to_spend() {
        let mut cell = foretelling(std::iter::repeat(5_000), Limit::BurstExhausted, 4_000.0);
        assert!(lasting(&cell).is_some());
        cell.trials[0].model.as_mut().unwrap().initial.bursts_full = false;
        assert_eq!(lasting(&cell), None);
        cell.trials[0].model.as_mut().unwrap().initial.vm_bursts_full = Some(true);
        assert!(lasting(&cell).is_some());
    }

    #[test]
    fn a_cache_that_is_not_full_yet_is_known_to_fill() {
        let found = lasting(&foretelling(std::iter::repeat(5_000), Limit::Cache, 1_000.0))
            .expect("more comes in than goes out");
        assert_eq!((found.before_ns, found.iops), (None, 1_000.0));
        assert_eq!(lasting(&foretelling(std::iter::repeat(5_000), Limit::Cache, 9_000.0)), None);
    }

    #[test]
    fn a_model_foretells_what_a_short_load_does_not_live_to_see() {
        let mut record = predicted(&[1.0]);
        record.cells[0].trials[0].model.as_mut().unwrap().bursts_ended.clear();
        assert_eq!(lasting(&record.cells[0]), None);
        let spent = Ceiling { limit: Limit::BurstExhausted, iops: 500.0, source: "the disk".into() };
        record.cells[0].trials[0].model.as_mut().unwrap().ceilings.insert(0, spent);
        let foretold = lasting(&record.cells[0]).unwrap();
        assert_eq!((foretold.before_ns, foretold.iops), (None, 500.0));
        // 8 outstanding.
        assert_eq!(foretold.latency_ns.mean, Some(16e6));
        assert_eq!(foretold.latency_ns.p99, Some(16e6));
        assert_eq!(foretold.source, Some("the disk".into()));
        let LoadReached::Closed(reached) = summarize(&record).conclusions.remove(0).reached else { panic!("closed") };
        let before = reached.rate.before.map(|before| before.before_ns);
        assert_eq!((reached.rate.iops, before), (Some(500.0), Some(None)));
    }

    #[test]
    fn a_percentile_after_a_burst_is_not_below_the_one_seen_in_it() {
        let mut record = predicted(&[1.0]);
        let trial = &mut record.cells[0].trials[0];
        trial.model.as_mut().unwrap().bursts_ended.clear();
        let spent = Ceiling { limit: Limit::BurstExhausted, iops: 500.0, source: "the machine: 500 IOPS".into() };
        trial.model.as_mut().unwrap().ceilings.insert(0, spent);
        // One in fifty waits for the next turn of a throttle.
        let slow = trial.operations.values_mut().next().unwrap();
        for _ in 0..slow.count / 50 {
            slow.latency.record(Duration::from_ms(48));
        }
        let foretold = lasting(&record.cells[0]).unwrap();
        assert_eq!((foretold.latency_ns.mean, foretold.latency_ns.p50), (Some(16e6), Some(16e6)));
        let p99 = foretold.latency_ns.p99.unwrap();
        assert!(p99 >= 47e6, "{p99}");
        let verdict = summarize(&record).verdict.unwrap().volumes.remove(0);
        assert_eq!(verdict.gives[0].p99_ns, Some(p99 as u64));
        assert!(matches!(verdict.held_by, Holder::BaselineToCome { .. }), "{:?}", verdict.held_by);
    }
}
