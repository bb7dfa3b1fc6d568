//! The demand in a stored run: the seconds of its trials, as any verb stored them.

use crate::limited::mark_limited;
use crate::series::{AtLimit, Demand, DemandInterval};
use loadline_block::Operation;
use loadline_record::{CellRecord, DoubtEvidence, RunRecord, TrialRecord, WatchRecord, WatchedSecond};

const NS_PER_S: f64 = 1e9;
/// A load with a rate of its own that got less than this share of it fell behind: the rest still waits at the end.
const KEPT_UP: f64 = 0.99;

/// What the load or the application of a stored run asked of a volume: each interval of each trial of its cells, in order.
///
/// Loads that ran together add up; others follow one another. Of a prediction the most plausible draw counts alone, since the
/// others are the same time on other versions of the disk. `cell` is the number of one cell, from 0. `None`: the run has no such
/// cell, or no trial with a series.
#[must_use]
pub fn demand_of_run(record: &RunRecord, volume: Option<&str>, cell: Option<usize>) -> Option<Demand> {
    // A crawl asks of several devices: what a watch saw of them is what it asks for.
    let watched = record.pipeline().and_then(|pipeline| pipeline.surroundings.as_deref()).map(|run| &run.cells);
    let chosen: Vec<&CellRecord> = (watched.unwrap_or(&record.cells).iter().enumerate())
        .filter(|(number, stored)| {
            cell.is_none_or(|wanted| wanted == *number) && volume.is_none_or(|wanted| stored.volume == wanted)
        })
        .map(|(_, stored)| stored)
        .collect();
    demand_of_cells(format!("stored run {}", record.header.name), &chosen)
}

fn demand_of_cells(source: String, cells: &[&CellRecord]) -> Option<Demand> {
    let mut demand = Demand { source, ..Demand::default() };
    let mut loads = 0;
    for together in groups(cells) {
        let intervals = intervals_together(&together, &mut demand.notes);
        if intervals.is_empty() {
            continue;
        }
        loads += 1;
        for one in together {
            if !demand.devices.contains(&one.volume) {
                demand.devices.push(one.volume.clone());
            }
        }
        demand.intervals.extend(intervals);
    }
    if demand.intervals.is_empty() {
        return None;
    }
    if loads > 1 {
        demand.notes.push(format!("{loads} loads of the run are taken one after another, as one demand"));
    }
    demand.notes.dedup();
    Some(demand)
}

/// The cells that ran at the same time, each group in its order.
fn groups<'a>(cells: &[&'a CellRecord]) -> Vec<Vec<&'a CellRecord>> {
    let is_watch = |cell: &CellRecord| cell.trials.iter().any(|trial| trial.watched.is_some());
    let mut groups: Vec<Vec<&CellRecord>> = Vec::new();
    for cell in cells {
        let ran_with = |other: &CellRecord| {
            let names = |one: &CellRecord, other: &CellRecord| one.beside.iter().any(|beside| beside.cell == other.id);
            names(cell, other) || names(other, cell) || (is_watch(cell) && is_watch(other))
        };
        match groups.iter_mut().find(|group| group.iter().any(|other| ran_with(other))) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

/// The intervals of cells that ran together, trial by trial.
fn intervals_together(cells: &[&CellRecord], notes: &mut Vec<String>) -> Vec<DemandInterval> {
    let mut whole: Vec<DemandInterval> = Vec::new();
    let trials: Vec<Vec<&TrialRecord>> = cells.iter().map(|cell| trials_in_time(cell, notes)).collect();
    for number in 0..trials.iter().map(Vec::len).max().unwrap_or(0) {
        let mut of_trial: Vec<DemandInterval> = Vec::new();
        for (cell, trials) in cells.iter().zip(&trials) {
            let Some(trial) = trials.get(number) else { continue };
            for (place, interval) in intervals_of(cell, trial, notes).into_iter().enumerate() {
                match of_trial.get_mut(place) {
                    Some(sum) => *sum = sum.plus(&interval),
                    None => of_trial.push(interval),
                }
            }
        }
        whole.extend(of_trial);
    }
    // Of a load of one's own it is known when it waits: nothing has to be read from its rates.
    if cells.iter().any(|cell| cell.load.is_of_others()) {
        let mut of_others = Demand { intervals: whole, ..Demand::default() };
        mark_limited(&mut of_others);
        whole = of_others.intervals;
    }
    whole
}

/// The trials whose seconds followed one another: of a model's those of the most plausible draw that do not begin anew.
fn trials_in_time<'a>(cell: &'a CellRecord, notes: &mut Vec<String>) -> Vec<&'a TrialRecord> {
    let modelled = cell.trials.iter().any(|trial| trial.model.is_some());
    if !modelled {
        return cell.trials.iter().collect();
    }
    let likely: Vec<&TrialRecord> =
        cell.trials.iter().filter(|trial| !trial.is_alternative() && !trial.is_anew()).collect();
    let taken = if likely.is_empty() { cell.trials.iter().take(1).collect() } else { likely };
    let others = cell.trials.len() - taken.len();
    if others > 0 {
        notes.push(format!(
            "the run is a prediction: its most plausible draw is the time; {others} other draws are the same time on other versions of \
             the disk, and are left out"
        ));
    }
    taken
}

fn intervals_of(cell: &CellRecord, trial: &TrialRecord, notes: &mut Vec<String>) -> Vec<DemandInterval> {
    if let Some(watch) = &trial.watched {
        return watched(watch);
    }
    let got = trial.iops().unwrap_or(0.0);
    let is_less = |wanted: &f64| got > 0.0 && got < wanted * KEPT_UP;
    let fell_behind = trial.offered_iops.filter(is_less);
    // An application with a rate of its own needs that rate, whatever the storage of the run could do.
    let times = fell_behind.map_or(1.0, |wanted| wanted / got);
    if let Some(wanted) = fell_behind {
        notes.push(format!(
            "the run's storage did {got:.0} of the {wanted:.0} requests a second that its load asked for: the need is what was asked for"
        ));
    }
    // A closed loop asks for as much as there is, or for its ceiling.
    let is_closed = trial.offered_iops.is_none() && !cell.load.is_of_others();
    let always_waits = is_closed && cell.load.figures().rate_iops.is_none_or(|ceiling| is_less(&ceiling));
    // A load that was recorded at a limit is no less limited where it is replayed.
    let recorded = trial.doubts.iter().find_map(|doubt| match &doubt.seen {
        DoubtEvidence::SourceLimited { limit, share } => Some((AtLimit::from(limit), *share)),
        _ => None,
    });
    let recorded_part = recorded.map(|(_, share)| share);
    let at_limit = recorded.map(|(limit, _)| limit).or(always_waits.then_some(AtLimit::AlwaysQueued));
    let series = &trial.series;
    let last = series.seconds.len().saturating_sub(1);
    let each = series.seconds.iter().enumerate().map(|(index, second)| {
        let length_s = if index == last { series.last_ns as f64 / NS_PER_S } else { f64::from(series.interval_s) };
        let (reads, writes) = (second.of(Operation::Read), second.of(Operation::Write));
        let per_s = |count: u64| if length_s > 0.0 { count as f64 / length_s } else { 0.0 };
        let requests = per_s(reads.count) + per_s(writes.count);
        DemandInterval {
            length_s,
            reads_per_s: per_s(reads.count) * times,
            writes_per_s: per_s(writes.count) * times,
            read_bytes_per_s: per_s(reads.bytes) * times,
            write_bytes_per_s: per_s(writes.bytes) * times,
            // A backlog that grows is the storage's, not the application's.
            in_flight: Some(second.outstanding).filter(|_| fell_behind.is_none()),
            // Little's law: the series has percentiles, and no mean.
            latency_ns: (requests > 0.0 && fell_behind.is_none()).then(|| second.outstanding / requests * NS_PER_S),
            at_limit: at_limit.filter(|_| requests > 0.0),
            limited_part: recorded_part,
            ..DemandInterval::default()
        }
    });
    each.filter(|interval| interval.length_s > 0.0).collect()
}

/// The seconds of a watch, marked where a limit says that more was asked for.
fn watched(watch: &WatchRecord) -> Vec<DemandInterval> {
    let principal = watch.principal();
    let of = |second: WatchedSecond<'_>| {
        let tick = second.tick;
        let length_s = tick.elapsed_us as f64 / 1e6;
        let per_s = |count: u64| count as f64 / length_s.max(1e-9);
        let requests = tick.requests();
        let limit = second.limit(principal);
        DemandInterval {
            length_s,
            reads_per_s: per_s(tick.reads),
            writes_per_s: per_s(tick.writes),
            read_bytes_per_s: per_s(tick.read_bytes),
            write_bytes_per_s: per_s(tick.write_bytes),
            in_flight: Some(tick.outstanding()),
            latency_ns: (requests > 0).then(|| (tick.read_ms + tick.write_ms) as f64 * 1e6 / requests as f64),
            at_limit: limit.map(|(limit, _)| limit.into()),
            limited_part: limit.map(|(_, share)| share),
            ..DemandInterval::default()
        }
    };
    watch.looked_at().map(of).filter(|interval| interval.length_s > 0.0).collect()
}

/// Marks the intervals of a demand at those times at which a watch beside it saw a limit.
pub(crate) fn mark_watched(demand: &mut Demand, watch: &WatchRecord) {
    let mut seen: Vec<(f64, DemandInterval)> = Vec::new();
    let mut end_s = 0.0;
    for second in watched(watch) {
        end_s += second.length_s;
        seen.push((end_s, second));
    }
    let mut begin_s = 0.0;
    for interval in &mut demand.intervals {
        let middle_s = begin_s + interval.length_s / 2.0;
        begin_s += interval.length_s;
        let found = seen.get(seen.partition_point(|(end_s, _)| *end_s <= middle_s));
        if let Some((_, second)) = found.filter(|(_, second)| interval.at_limit.is_none() && second.at_limit.is_some())
        {
            (interval.at_limit, interval.limited_part) = (second.at_limit, second.limited_part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::{
        Access, ArrivalKind, DrawTaken, EngineName, EngineUsed, KernelThrottle, LoadBeside, LoadFigures, ModelRecord,
        OperationRecord, Second, Series, StateTaken, ThrottledQuantity, ThrottledRequests, WatchSecond, WatchTick,
        WatchedThrottle,
    };

    /// A trial of so many seconds with so many reads of 8 KiB in each; `draw` of a prediction.
    fn trial(number: u32, draw: Option<u32>, reads: u64, seconds: usize) -> TrialRecord {
        let engine = EngineUsed { name: EngineName::Simulator, reason: String::new(), options: Vec::new() };
        let mut second = Second { outstanding: 2.0, ..Second::default() };
        let of = &mut second.operations[Operation::Read.index()];
        (of.count, of.bytes) = (reads, reads * 8_192);
        let count = reads * seconds as u64;
        let record = OperationRecord { count, bytes: count * 8_192, ..OperationRecord::default() };
        let model = draw.map(|number| ModelRecord {
            draw: DrawTaken {
                number,
                latency_ppm: 500_000,
                enforcement_ppm: 500_000,
                delivered_ppm: None,
                bursts_ppm: 500_000,
            },
            seed: 1,
            initial: StateTaken { bursts_full: false, vm_bursts_full: None, caches_warm: false, carried: false },
            waits: Vec::new(),
            cache: None,
            ceilings: Vec::new(),
            binding: None,
            bursts_ended: Vec::new(),
            bucket_ns: 0,
            window_ns: 0,
            limits_unknown: Vec::new(),
            known_deviations: Vec::new(),
            beside: Vec::new(),
        });
        TrialRecord {
            measured_ns: seconds as u64 * 1_000_000_000,
            operations: [(Operation::Read, record)].into(),
            series: Series { interval_s: 1, seconds: vec![second; seconds], last_ns: 1_000_000_000 },
            model,
            ..TrialRecord::empty(number, 0, engine)
        }
    }

    fn cell(id: &str, rate: Option<f64>, trials: Vec<TrialRecord>) -> CellRecord {
        let figures = LoadFigures {
            pattern: Access::Random,
            read_ratio: 1.0,
            block_bytes: 8_192,
            size_bytes: None,
            queue_depth: rate.is_none().then_some(2),
            threads: 1,
            arrival: if rate.is_some() { ArrivalKind::Poisson } else { ArrivalKind::Closed },
            rate_iops: rate,
            buffered: false,
            flush_every: None,
            duration_ns: 0,
            objective: None,
        };
        let trials = trials.into_iter().map(|trial| TrialRecord { offered_iops: rate, ..trial }).collect();
        CellRecord {
            id: id.to_owned(),
            volume: id.to_owned(),
            label: String::new(),
            load: figures.into(),
            beside: Vec::new(),
            ceilings: Vec::new(),
            trials_planned: 1,
            trials,
        }
    }
    fn of(cells: &[&CellRecord]) -> Demand {
        demand_of_cells("stored run".to_owned(), cells).unwrap()
    }
    fn marks(demand: &Demand) -> Vec<Option<AtLimit>> {
        let mut marks: Vec<Option<AtLimit>> = demand.intervals.iter().map(|one| one.at_limit).collect();
        marks.dedup();
        marks
    }

    #[test]
    fn draws_of_a_prediction_are_no_time() {
        let draws = (0..5).map(|number| trial(number, Some(number), 2_000 - u64::from(number), 20)).collect();
        let demand = of(&[&cell("data", Some(2_000.0), draws)]);
        assert!((demand.length_s() - 20.0).abs() < 1e-9, "{}", demand.length_s());
        assert!(demand.intervals.iter().all(|one| (one.reads_per_s - 2_000.0).abs() < 1e-6));
        assert!(demand.notes.iter().any(|note| note.contains("4 other draws")), "{:?}", demand.notes);
        // Measured trials did follow one another.
        let measured = (0..5).map(|number| trial(number, None, 2_000, 20)).collect();
        assert!((of(&[&cell("data", Some(2_000.0), measured)]).length_s() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_load_with_a_rate_needs_that_rate_and_a_closed_loop_at_least_what_it_got() {
        // Level, with requests in flight: it kept up all the same.
        let kept = of(&[&cell("data", Some(2_000.0), vec![trial(0, None, 2_000, 20)])]);
        assert_eq!(marks(&kept), [None]);
        let behind = of(&[&cell("data", Some(3_000.0), vec![trial(0, None, 2_000, 20)])]);
        assert_eq!((marks(&behind), behind.intervals[0].reads_per_s.round()), (vec![None], 3_000.0));
        assert!(behind.notes[0].contains("2000 of the 3000"), "{:?}", behind.notes);
        let closed = of(&[&cell("data", None, vec![trial(0, None, 2_000, 20)])]);
        assert_eq!(marks(&closed), [Some(AtLimit::AlwaysQueued)]);
    }

    #[test]
    fn loads_that_ran_together_add_up_and_others_follow() {
        let one = |id| cell(id, Some(2_000.0), vec![trial(0, None, 2_000, 20)]);
        let (data, mut log) = (one("data"), one("log"));
        let after = of(&[&data, &log]);
        assert_eq!((after.length_s(), after.intervals[0].reads_per_s), (40.0, 2_000.0));
        assert!(after.notes[0].contains("2 loads"), "{:?}", after.notes);
        let beside = LoadBeside { cell: "data".to_owned(), volume: "data".to_owned(), name: None, load: String::new() };
        log.beside.push(beside);
        let together = of(&[&data, &log]);
        assert_eq!((together.length_s(), together.intervals[0].reads_per_s), (20.0, 4_000.0));
        assert_eq!((together.devices.len(), together.notes.len()), (2, 0));
    }

    #[test]
    fn a_second_of_a_watch_counts_for_as_long_as_it_is_at_a_throttle() {
        // Each second writes all that the throttle allows in its first half, and level: a heuristic would take all of it.
        let tick =
            |writes| WatchTick { elapsed_us: 100_000, writes, write_bytes: writes * 4_096, ..WatchTick::default() };
        let limit = KernelThrottle {
            file: "io.max".to_owned(),
            group: "db".to_owned(),
            requests: ThrottledRequests::Writes,
            counts: ThrottledQuantity::Requests,
            per_s: 500,
            lifted_by: String::new(),
        };
        let half = [[tick(50); 6].as_slice(), &[tick(0); 4]].concat();
        let watch = WatchRecord {
            ticks: half.repeat(20),
            seconds: vec![WatchSecond { ticks: 10, ..WatchSecond::default() }; 20],
            throttles: vec![WatchedThrottle { limit, asked: Some(vec![300; 20]) }],
            ..WatchRecord::default()
        };
        let share = watch.source_limit("vda").unwrap().1;
        assert!((share - 0.6).abs() < 1e-9, "{share}");
        let mut trial = trial(0, None, 1, 20);
        trial.watched = Some(Box::new(watch));
        let mut watched = cell("vda", None, vec![trial]);
        let load = watched.load.figures().clone();
        watched.load = loadline_record::Load::Application(loadline_record::OthersLoad {
            volume: "vda".to_owned(),
            by: None,
            figures: load,
        });
        let found = of(&[&watched]);
        assert!((found.limited_share() - share).abs() < 1e-9, "{}", found.limited_share());
        assert_eq!(found.limited_by(), Some(AtLimit::Throttled));
    }

    #[test]
    fn seconds_of_a_watch_at_a_throttle_are_a_lower_bound() {
        let tick = |reads: u64| WatchTick {
            elapsed_us: 1_000_000,
            reads,
            read_bytes: reads * 8_192,
            read_ms: reads * 2,
            ..WatchTick::default()
        };
        let limit = KernelThrottle {
            file: "io.max".to_owned(),
            group: "db".to_owned(),
            requests: ThrottledRequests::Reads,
            counts: ThrottledQuantity::Requests,
            per_s: 1_000,
            lifted_by: String::new(),
        };
        let watch = WatchRecord {
            ticks: vec![tick(400), tick(990)],
            seconds: vec![WatchSecond { ticks: 1, ..WatchSecond::default() }; 2],
            throttles: vec![WatchedThrottle { limit, asked: Some(vec![400, 990]) }],
            ..WatchRecord::default()
        };
        let found = watched(&watch);
        assert_eq!(found.iter().map(|one| one.at_limit).collect::<Vec<_>>(), [None, Some(AtLimit::Throttled)]);
        assert_eq!((found[0].reads_per_s, found[0].in_flight, found[0].latency_ns), (400.0, Some(0.8), Some(2e6)));
    }
}
