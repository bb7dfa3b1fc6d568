//! A run record in, its results as programs read them out.

use crate::clusters::{Clusters, clusters};
use crate::compare::latency_estimate;
use crate::conclusions::conclusions;
use crate::findings::findings;
use crate::held_by::name_holders;
use crate::hosts::{hosts_scaling, hosts_view};
use crate::lasting::{lasting, of_course};
use crate::limits::{courses, exceeded_shares, name_limits};
use crate::load_details::LoadDetails;
use crate::load_keys::LoadIdentity;
use crate::statistics::{Interval, around, mean, mean_over_trials, median, scatter_error, series_interval};
use crate::summary::{
    BestOf, CellSummary, CpuFigures, LatencyIntervals, LatencyRange, LoadView, OperationFigures, PredictionView,
    RunInfo, RunSummary, SCHEMA, SteadyStateView, StepFigures, TotalFigures,
};
use crate::trials::{cell_doubts, latency_figures, merged, trials_counted, trials_used};
use crate::unfinished::Unfinished;
use crate::verdict::verdict;
use crate::verdict_of_others::concluded_over_hosts;
use crate::watching::{self, name_watched};
use crate::words::load_name;
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::{
    CellRecord, EngineUsed, Histogram, LiveMark, OperationRecord, RunHeader, RunRecord, RunVerb, SteadyState, StepName,
    TrialRecord,
};
use std::collections::BTreeSet;

/// Estimates, limits and findings of a run, finished or not.
#[must_use]
pub fn summarize(record: &RunRecord) -> RunSummary {
    let summary = judged(record);
    // Whatever a test of this crate sums up keeps the rules.
    #[cfg(test)]
    crate::rules::assert_kept(record, &summary);
    summary
}

/// The cells of a run with their figures, and what lasts of these; their limits are named after.
pub(crate) fn figures_of_cells(record: &RunRecord) -> Vec<CellSummary> {
    let mut cells: Vec<CellSummary> = record.cells.iter().map(summarize_cell).collect();
    let names: Vec<String> = cells.iter().map(load_name).collect();
    for (cell, identity) in cells.iter_mut().zip(LoadIdentity::all(&record.cells, &names)) {
        cell.identity = identity;
    }
    let courses = courses(record, &cells);
    for ((cell, own), course) in cells.iter_mut().zip(&record.cells).zip(&courses) {
        // What draws differ by is no fall, and each prediction begins anew: no other cell's rate contradicts its own.
        let is_modelled = own.trials.iter().any(|trial| trial.model.is_some());
        cell.lasting = if is_modelled { lasting(own) } else { of_course(own, course.as_ref()) };
    }
    cells
}

fn judged(record: &RunRecord) -> RunSummary {
    let mut cells = figures_of_cells(record);
    let mut clustered: Vec<Option<Clusters>> = record.cells.iter().map(clusters).collect();
    let curves = name_limits(record, &mut cells, &mut clustered);
    name_holders(record, &mut cells);
    if record.header.verb == RunVerb::Watch {
        name_watched(record, &mut cells);
        let (findings, conclusions) = (watching::findings(record, &cells), watching::conclusions(&cells));
        let verdict = watching::verdict(&cells);
        let (schema, run, hosts_scaling) = (SCHEMA.to_owned(), run_info(record), Vec::new());
        return RunSummary { schema, run, cells, hosts_scaling, conclusions, findings, verdict };
    }
    let hosts_scaling = hosts_scaling(record, &cells);
    let findings = findings(record, &cells, &curves, &clustered, &hosts_scaling);
    let conclusions = conclusions(record, &cells).into_iter();
    let mut conclusions = conclusions.map(|one| concluded_over_hosts(one, &hosts_scaling)).collect();
    let mut verdict = verdict(record, &cells, &hosts_scaling);
    if let Some(unfinished) = Unfinished::of(record) {
        conclusions = Unfinished::supported(conclusions, verdict.as_ref());
        if let Some(verdict) = &mut verdict {
            unfinished.limit(verdict);
        }
    }
    RunSummary {
        schema: SCHEMA.to_owned(),
        run: run_info(record),
        cells,
        hosts_scaling,
        conclusions,
        findings,
        verdict,
    }
}

fn run_info(record: &RunRecord) -> RunInfo {
    let RunHeader {
        id,
        name,
        verb,
        clock,
        started,
        version,
        seed,
        imported,
        host,
        plans,
        environment,
        volumes,
        settings,
    } = record.header.clone();
    RunInfo {
        id,
        name,
        verb,
        clock,
        started,
        version,
        status: record.status,
        host,
        environment,
        plan: plans,
        volumes,
        seed,
        imported,
        marks: LiveMark::of_settings(&settings),
        tags: Vec::new(),
        settings,
    }
}

/// The figures of a cell by themselves: its limit is named among the others.
fn summarize_cell(cell: &CellRecord) -> CellSummary {
    let (used, counted) = (trials_used(cell), trials_counted(cell));
    let of = |operation| {
        let range = latency_range(&counted, operation).filter(|_| is_predicted(&used) && differ_in_draw(&counted));
        let figures = figures_of(&used, |trial| trial.of(operation))?;
        Some(OperationFigures { latency_range_ns: range, ..figures })
    };
    let offered: Option<Vec<f64>> = used.iter().map(|t| t.offered_iops).collect();
    let mut transfers = [Operation::Read, Operation::Write, Operation::Trim].map(of);
    let mut occurring: Vec<&mut OperationFigures> = transfers.iter_mut().flatten().collect();
    if let ([only], false) = (occurring.as_mut_slice(), is_predicted(&used)) {
        only.latency_interval_ns = latency_intervals(cell);
    }
    let [read, write, trim] = transfers;
    CellSummary {
        id: cell.id.clone(),
        volume: cell.volume.clone(),
        label: cell.label.clone(),
        load: load_view(cell),
        beside: cell.beside.clone(),
        identity: LoadIdentity::default(),
        engines: engines(cell),
        trials: counted.len() as u32,
        total: total_figures(&used, &counted),
        read,
        write,
        trim,
        lasting: None,
        flush: of(Operation::Flush),
        steps: steps(&used),
        offered_iops: offered.and_then(|o| mean(&o)),
        steady_state: cell.trials.iter().filter_map(steady_state_view).collect(),
        errors: cell.trials.iter().map(TrialRecord::errors_total).sum(),
        cpu: cpu_figures(&cell.trials),
        binding: None,
        binding_share: None,
        held_by: None,
        watch: None,
        hosts: hosts_view(cell),
        ceilings: Vec::new(),
        prediction: prediction_view(&used),
        exceeded: exceeded_shares(&cell.trials),
        doubts: cell_doubts(cell, counted.len()),
        best_of: best_of(cell, used.len()),
    }
}

/// Every way to the device that the cell's trials took, in their order.
fn engines(cell: &CellRecord) -> Vec<EngineUsed> {
    let mut all: Vec<EngineUsed> = Vec::new();
    for trial in &cell.trials {
        if !all.contains(&trial.engine) {
            all.push(trial.engine.clone());
        }
    }
    all
}

/// Where the plan asks for the best of the trials beside their median, and there are several.
fn best_of(cell: &CellRecord, trials: usize) -> Option<BestOf> {
    cell.load.spec().filter(|spec| spec.best_of_trials && trials > 1)?;
    Some(BestOf { name: cell.load.name().unwrap_or(&cell.label).to_owned(), trials: trials as u32 })
}

fn steady_state_view(trial: &TrialRecord) -> Option<SteadyStateView> {
    let SteadyState { reached, rounds, round_ns } = trial.steady_state.as_ref()?;
    Some(SteadyStateView { trial: trial.trial, reached: *reached, round_ns: *round_ns, rounds_iops: rounds.clone() })
}

fn load_view(cell: &CellRecord) -> LoadView {
    let load = cell.load.figures();
    LoadView {
        pattern: load.pattern,
        read_ratio: load.read_ratio,
        block_bytes: load.block_bytes,
        size_bytes: load.size_bytes,
        queue_depth: load.queue_depth,
        threads: load.threads,
        arrival: load.arrival,
        rate_iops: load.rate_iops,
        buffered: load.buffered,
        details: LoadDetails::of(&cell.load),
    }
}

fn total_figures(used: &[&TrialRecord], counted: &[&TrialRecord]) -> Option<TotalFigures> {
    let iops: Vec<f64> = used.iter().filter_map(|t| t.iops()).collect();
    let bytes: Vec<f64> = used.iter().filter_map(|t| t.bytes_per_s()).collect();
    let estimate = mean_over_trials(&iops)?;
    let interval = match used {
        _ if is_predicted(used) => {
            range_of(counted.iter().filter_map(|t| t.iops())).filter(|_| differ_in_draw(counted))
        }
        [only] => interval_of_one(only, estimate.mean),
        _ => estimate.interval,
    };
    Some(TotalFigures {
        iops: estimate.mean,
        iops_low: interval.map(|i| i.low.max(0.0)),
        iops_high: interval.map(|i| i.high),
        throughput_bytes_per_s: mean(&bytes)?,
        throughput_median_bytes_per_s: median(&bytes)?,
        throughput_best_bytes_per_s: bytes.iter().copied().max_by(f64::total_cmp)?,
    })
}

/// Whether a model gave the figures.
fn is_predicted(used: &[&TrialRecord]) -> bool {
    used.iter().any(|trial| trial.model.is_some())
}

/// Whether more than one draw of what is uncertain is among the trials. What trials of one draw differ by is chance alone.
fn differ_in_draw(counted: &[&TrialRecord]) -> bool {
    let mut draws = counted.iter().filter_map(|trial| Some(trial.model.as_ref()?.draw.number));
    let first = draws.next();
    draws.any(|draw| Some(draw) != first)
}

fn prediction_view(used: &[&TrialRecord]) -> Option<PredictionView> {
    let model = used.first()?.model.as_ref()?;
    Some(PredictionView {
        bursts_full: model.initial.bursts_full,
        vm_bursts_full: model.initial.vm_bursts_full.unwrap_or(model.initial.bursts_full),
        caches_warm: model.initial.caches_warm,
        carried: used.iter().any(|trial| trial.model.as_ref().is_some_and(|model| model.initial.carried)),
        cache_hit_share: model.cache.as_ref().and_then(loadline_record::CacheUse::hit_share),
        waits: model.waits.clone(),
        bursts_ended: model.bursts_ended.clone(),
        beside: model.beside.clone(),
    })
}

/// The least and the most; `None` for fewer than two values.
fn range_of(values: impl Iterator<Item = f64>) -> Option<Interval> {
    let values: Vec<f64> = values.collect();
    let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    (values.len() > 1).then_some(Interval { low, high })
}

/// The range of an operation's latency over the draws of a prediction.
fn latency_range(counted: &[&TrialRecord], operation: Operation) -> Option<LatencyRange> {
    let latencies: Vec<&Histogram> = counted.iter().filter_map(|t| Some(&t.of(operation)?.latency)).collect();
    let mean = range_of(latencies.iter().filter_map(|latency| latency.mean_ns()))?;
    let at = |share: f64| {
        latencies.iter().filter_map(move |latency| latency.quantile(share)).map(loadline_units::Duration::as_ns)
    };
    Some(LatencyRange {
        mean_low: mean.low,
        mean_high: mean.high,
        p50_low: at(0.5).min()?,
        p50_high: at(0.5).max()?,
        p99_low: at(0.99).min()?,
        p99_high: at(0.99).max()?,
    })
}

/// How well the latencies of a cell of one operation are known; `None` where nothing is told of any.
fn latency_intervals(cell: &CellRecord) -> Option<LatencyIntervals> {
    let of = |figure| latency_estimate(cell, figure).and_then(|estimate| estimate.interval_ns);
    let [mean, p50, p99] = [LatencyFigure::Mean, LatencyFigure::P50, LatencyFigure::P99].map(of);
    let (low, high) = (|ends: (f64, f64)| ends.0, |ends: (f64, f64)| ends.1);
    mean.or(p50).or(p99)?;
    Some(LatencyIntervals {
        mean_low: mean.map(low),
        mean_high: mean.map(high),
        p50_low: p50.map(low),
        p50_high: p50.map(high),
        p99_low: p99.map(low),
        p99_high: p99.map(high),
    })
}

/// What the seconds of a single trial say about its mean, or the scatter that another tool told of them. The series counts flushes too and leaves out a short last second, so its
/// interval is taken in proportion.
fn interval_of_one(trial: &TrialRecord, iops: f64) -> Option<Interval> {
    if let Some(scatter) = trial.told_scatter {
        return Some(around(iops, scatter_error(scatter)?.half_width()));
    }
    let rates: Vec<f64> = trial.series.iops().collect();
    let interval = series_interval(&rates)?;
    let scale = iops / mean(&rates).filter(|m| *m > 0.0)?;
    let half_width = (interval.high - interval.low) / 2.0 * scale;
    Some(around(iops, half_width))
}

/// The figures of what `of` gives of each trial.
fn figures_of<'a>(
    used: &[&'a TrialRecord],
    of: impl Fn(&'a TrialRecord) -> Option<&'a OperationRecord>,
) -> Option<OperationFigures> {
    let records: Vec<(&TrialRecord, &OperationRecord)> = used.iter().filter_map(|t| Some((*t, of(t)?))).collect();
    // Trials in which the operation did not occur completed none of it: a rate of 0, not a missing one.
    let rate = |of: fn(&OperationRecord) -> u64| {
        records.iter().map(|(t, r)| of(r) as f64 * 1e9 / t.measured_ns as f64).sum::<f64>() / used.len() as f64
    };
    let latency_ns = latency_figures(records.iter().map(|(_, r)| *r))?;
    let part = |of: fn(&OperationRecord) -> Option<&Histogram>| {
        merged(records.iter().map(|(_, r)| of(r))).and_then(|h| h.snapshot())
    };
    Some(OperationFigures {
        iops: rate(|r| r.count),
        throughput_bytes_per_s: rate(|r| r.bytes),
        latency_ns,
        latency_range_ns: None,
        latency_interval_ns: None,
        waiting_ns: part(|r| r.waiting.as_ref()),
        service_ns: part(|r| r.service.as_ref()),
    })
}

/// Every named step of the trials, by name.
fn steps(used: &[&TrialRecord]) -> Vec<StepFigures> {
    let names: BTreeSet<&StepName> = used.iter().flat_map(|trial| trial.steps.iter().map(|(name, _)| name)).collect();
    let figures = |name: &StepName| {
        let figures = figures_of(used, |trial| Some(&trial.steps.get(name)?.record))?;
        Some(StepFigures { name: name.clone(), figures })
    };
    names.into_iter().filter_map(figures).collect()
}

fn cpu_figures(trials: &[TrialRecord]) -> CpuFigures {
    let seconds = |of: fn(&TrialRecord) -> u64| trials.iter().map(of).sum::<u64>() as f64 / 1e9;
    CpuFigures {
        user_s: seconds(|t| t.surroundings.load_user_ns),
        system_s: seconds(|t| t.surroundings.load_system_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, flushing, golden, latencies, open, planned, run};
    use loadline_block::ErrorKind;
    use loadline_load::LoadSpec;
    use loadline_record::{Doubt, DoubtCode, Ending, RunStatus};

    fn depth_8(factors: &[f64]) -> RunRecord {
        run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), factors)])
    }
    fn total(record: &RunRecord) -> TotalFigures {
        summarize(record).cells[0].total.clone().expect("measured")
    }

    #[test]
    fn trials_give_a_mean_its_interval_the_median_and_the_best() {
        let total = total(&depth_8(&[0.8, 1.0, 1.2]));
        let of = |factor: f64| 5_000.0 * factor;
        assert!((total.iops - of(1.0)).abs() < 3.0);
        // s = 1,000, n = 3: 4.3027 x 1,000 / sqrt(3) = 2,484.
        assert!((total.iops - total.iops_low.unwrap() - 2_484.0).abs() < 3.0, "{total:?}");
        assert!((total.iops_high.unwrap() - total.iops - 2_484.0).abs() < 3.0);
        assert!((total.throughput_median_bytes_per_s / 4_096.0 - of(1.0)).abs() < 3.0);
        assert!((total.throughput_best_bytes_per_s / 4_096.0 - of(1.2)).abs() < 3.0);
    }

    #[test]
    fn the_best_is_named_where_the_plan_asks_for_it() {
        let of = |best_of_trials, factors: &[f64]| {
            let mut record = depth_8(factors);
            let load = &mut record.cells[0].load;
            let name = Some("RND4K Q8T1".to_owned());
            *load = LoadSpec { name, best_of_trials, ..planned(&load.figures()) }.into();
            summarize(&record).cells.remove(0).best_of
        };
        assert_eq!(of(true, &[1.0, 1.2]), Some(BestOf { name: "RND4K Q8T1".to_owned(), trials: 2 }));
        assert_eq!(of(true, &[1.0]), None, "one trial has no best");
        assert_eq!(of(false, &[1.0, 1.2]), None);
    }

    #[test]
    fn one_trial_has_the_interval_of_its_seconds_and_a_short_one_has_none() {
        let mut record = depth_8(&[1.0]);
        let long = total(&record);
        let half_width = long.iops_high.unwrap() - long.iops;
        assert!(half_width > 0.0 && half_width < 25.0, "{long:?}");
        assert!((long.iops - long.iops_low.unwrap() - half_width).abs() < 1e-6);
        record.cells[0].trials[0].series.seconds.truncate(9);
        let short = total(&record);
        assert_eq!((short.iops_low, short.iops_high), (None, None));
    }

    #[test]
    fn percentiles_are_those_of_all_trials_together() {
        let mut record = depth_8(&[1.0, 1.0]);
        let slow = record.cells[0].trials[1].operations.get_mut(&Operation::Read).unwrap();
        slow.latency = latencies(slow.count, 100e6);
        let latency = summarize(&record).cells[0].read.clone().unwrap().latency_ns;
        // Half of the requests took 100 ms: the median lies between, the 90th percentile among the slow ones. An average of
        // the two 90th percentiles would be 67 ms.
        assert!((latency.p90.unwrap() as f64 / 124e6 - 1.0).abs() < 0.02, "{latency:?}");
        assert!((latency.mean / 50.8e6 - 1.0).abs() < 0.02, "{latency:?}");
    }

    #[test]
    fn percentiles_of_one_operation_have_intervals_and_those_of_mixes_have_none() {
        let read = summarize(&depth_8(&[1.0, 1.05, 0.95])).cells[0].read.clone().unwrap();
        let ends = read.latency_interval_ns.unwrap();
        let holds = |low: Option<f64>, value: f64, high: Option<f64>| low.unwrap() < value && value < high.unwrap();
        assert!(holds(ends.mean_low, read.latency_ns.mean, ends.mean_high), "{ends:?}");
        assert!(holds(ends.p99_low, read.latency_ns.p99.unwrap() as f64, ends.p99_high), "{ends:?}");
        let mixed = cell(closed("random", 0.7, 4 << 10, 8), &ExampleDisk::default(), &[1.0, 1.05]);
        let mixed = &summarize(&run(vec![mixed])).cells[0];
        assert!(mixed.read.as_ref().unwrap().latency_interval_ns.is_none());
    }

    #[test]
    fn an_interrupted_trial_is_left_out_and_told() {
        let mut record = depth_8(&[1.0, 0.2]);
        let cut = &mut record.cells[0].trials[1];
        cut.ending = Ending::Interrupted;
        cut.doubts = vec![Doubt::written(DoubtCode::EndedEarly, "It was stopped.")];
        let seen = Box::new(cut.doubts[0].seen.clone());
        let summary = summarize(&record);
        let first = &summary.cells[0];
        assert_eq!(first.trials, 1);
        assert!(first.total.as_ref().unwrap().iops > 4_900.0);
        let stopped =
            loadline_record::DoubtEvidence::InSomeTrials { having: 1, trials: 2, figures_from: Some(1), seen };
        assert_eq!(first.doubts[0].seen, stopped);
        record.cells[0].trials.remove(0);
        let alone = &summarize(&record).cells[0];
        assert_eq!(alone.trials, 1);
        assert!(alone.total.as_ref().unwrap().iops < 1_100.0);
    }

    #[test]
    fn errors_and_cpu_time_are_sums_over_all_trials() {
        let mut record = depth_8(&[1.0, 1.0, 1.0]);
        record.cells[0].trials[0].errors.insert(ErrorKind::Io, 2);
        record.cells[0].trials[2].errors.insert(ErrorKind::NoSpace, 5);
        let first = &summarize(&record).cells[0];
        assert_eq!(first.errors, 7);
        assert!((first.cpu.user_s - 3.0).abs() < 1e-9 && (first.cpu.system_s - 7.5).abs() < 1e-9);
    }

    #[test]
    fn open_loops_carry_what_was_offered_and_the_parts_of_their_latency() {
        let record = run(vec![cell(open("random", 1.0, 4 << 10, 2_500.0), &ExampleDisk::default(), &[1.0, 1.0])]);
        let first = &summarize(&record).cells[0];
        assert_eq!(first.offered_iops, Some(2_500.0));
        let read = first.read.as_ref().unwrap();
        assert!((read.waiting_ns.unwrap().mean + read.service_ns.unwrap().mean - read.latency_ns.mean).abs() < 1e4);
        let closed = &summarize(&depth_8(&[1.0])).cells[0];
        assert_eq!((closed.offered_iops, closed.read.as_ref().unwrap().waiting_ns), (None, None));
    }

    #[test]
    fn flushes_have_figures_of_their_own_and_do_not_count_as_requests() {
        let record = run(vec![flushing(&ExampleDisk::default())]);
        let first = &summarize(&record).cells[0];
        assert!((first.total.as_ref().unwrap().iops - 500.0).abs() < 5.0);
        assert!((first.flush.as_ref().unwrap().iops - 500.0).abs() < 5.0);
    }

    #[test]
    fn a_summary_keeps_provenance_and_the_order_of_the_plan() {
        let record = golden();
        let summary = summarize(&record);
        assert_eq!(summary.run.seed, record.header.seed);
        assert_eq!(summary.run.status, RunStatus::Finished);
        let ids = |cells: Vec<&String>| cells.into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(
            ids(summary.cells.iter().map(|c| &c.id).collect()),
            ids(record.cells.iter().map(|c| &c.id).collect())
        );
        assert_eq!(summarize(&record), summary);
    }
}
