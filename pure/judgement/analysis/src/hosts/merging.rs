//! Runs of several hosts in, the cells of one run out.

use super::belonging::{MergeError, check, most_cells, part_of, whole_load};
use super::clocks::{ClockReading, clock_at};
use super::steps::label_on_hosts;
use super::time_line::{Placed, together, window};
use crate::doubts::doubts;
use loadline_block::Operation;
use loadline_load::{Arrival, LoadSpec};
use loadline_record::{
    Ceiling, CeilingSource, CellRecord, Doubt, DoubtCode, DoubtEvidence, Ending, EngineUsed, Histogram,
    HistogramSnapshot, HostClock, HostPart, HostRank, HostSpan, HostTrial, HostsRecord, Limit, Load, MachineCpu,
    OperationRecord, RunRecord, RunTogether, Second, SeenOnHost, SharedWindow, Stops, Surroundings, TrialRecord,
    VerifyRecord, VolumeFacts,
};
use loadline_units::Iops;
use std::collections::BTreeMap;

/// Less of the time together than this is a doubt.
const COVERAGE_MIN: f64 = 0.98;
/// An error of a clock of more than the measured time over this is a doubt.
const UNSURE: u64 = 100;
/// Rounds that place a moment of a host's clock on the common time.
const ROUNDS: u32 = 4;
/// Hosts that one merge takes.
pub(super) const HOSTS_MAX: usize = 4_096;
/// Fault and error samples that are kept of all hosts together.
const SAMPLES_MAX: usize = 32;

/// How far the wall clock of a host is ahead of the common time, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset(pub i64);

/// A run of one host.
#[derive(Debug, Clone)]
pub struct HostRun {
    /// The host's name.
    pub host: String,
    /// What it stored.
    pub record: RunRecord,
    /// Its wall clock against the common time, if somebody gave it.
    pub offset: Option<ClockOffset>,
    /// Comparisons of its wall clock with the common time. An offset that was given counts before them.
    pub readings: Vec<ClockReading>,
}

impl HostRun {
    /// A run whose clock is taken as it is.
    #[must_use]
    pub const fn new(host: String, record: RunRecord) -> Self {
        Self { host, record, offset: None, readings: Vec::new() }
    }

    const fn is_compared(&self) -> bool {
        self.offset.is_some() || !self.readings.is_empty()
    }
}

/// The cells of all runs together. A cell's load is that of all hosts, and its trials have the hosts' shares.
///
/// # Errors
/// Runs that are not of one plan, or not of several hosts.
pub fn merge_hosts(runs: &[HostRun]) -> Result<Vec<CellRecord>, MergeError> {
    check(runs)?;
    let clocks = clocks(runs);
    // In steps, the first rank has the cells of all of them.
    let first = &most_cells(runs).record;
    let part = HostPart::of_settings(&first.header.settings).unwrap_or_default();
    let steps = part.hosts_of_cells(first.cells.len());
    let cells = first.cells.iter().zip(steps).map(|(cell, step)| {
        let volume = first.header.volumes.iter().find(|volume| volume.name == cell.volume);
        let of_run = |run: &HostRun| run.record.cells.iter().position(|own| own.id == cell.id);
        let there: Vec<usize> = (0..runs.len()).filter(|run| step.is_none() || of_run(&runs[*run]).is_some()).collect();
        let own: Vec<Option<&CellRecord>> =
            there.iter().map(|run| Some(&runs[*run].record.cells[of_run(&runs[*run])?])).collect();
        let named: Vec<&HostRun> = there.iter().map(|run| &runs[*run]).collect();
        let clocks: Vec<ClockSource<'_>> = there.iter().map(|run| clocks[*run]).collect();
        let cell = CellRecord { load: whole_load(&cell.load, &part), ..cell.clone() };
        merged_cell(&cell, &own, &named, &clocks, volume, &not_named(runs, step))
    });
    Ok(cells.collect())
}

/// Ranks of a step of which there is no run, by what they would be called.
fn not_named(runs: &[HostRun], step: Option<u32>) -> Vec<String> {
    let ranks: Vec<HostRank> = runs.iter().filter_map(|run| part_of(run).rank).collect();
    let Some(of) = ranks.first().map(|rank| rank.of).filter(|_| ranks.len() == runs.len()) else { return Vec::new() };
    let absent = (0..step.unwrap_or(of)).filter(|rank| !ranks.iter().any(|known| known.rank == *rank));
    absent.map(|rank| format!("rank {rank}")).collect()
}

/// Where a host's time is from.
#[derive(Debug, Clone, Copy)]
enum ClockSource<'a> {
    Known(HostClock),
    Readings(&'a [ClockReading]),
}

impl ClockSource<'_> {
    /// The clock when it showed this time.
    fn at(self, own_ns: u64) -> HostClock {
        let readings = match self {
            Self::Known(clock) => return clock,
            Self::Readings(readings) => readings,
        };
        // Readings are by the common time, of which the offset is needed first: each round is closer by the drift.
        let mut common = own_ns;
        for _ in 0..ROUNDS {
            let offset_ns = clock_at(readings, common).map_or(0, |state| state.offset_ns);
            common = own_ns.saturating_add_signed(offset_ns.saturating_neg());
        }
        clock_at(readings, common).map_or(HostClock::NotCompared, |state| HostClock::Compared {
            offset_ns: state.offset_ns,
            error_ns: Some(state.error_ns),
            drift_ppb: state.drift_ppb,
        })
    }
}

/// What is known of each host's wall clock.
fn clocks(runs: &[HostRun]) -> Vec<ClockSource<'_>> {
    let boot = |run: &HostRun| run.record.header.host.boot_id.clone();
    let is_any_compared = runs.iter().any(HostRun::is_compared);
    let first = boot(&runs[0]);
    let compared = |offset_ns| HostClock::Compared { offset_ns, error_ns: None, drift_ppb: None };
    // Where others were compared with it, the one that was not is the reference.
    let is_only_one_left = is_any_compared && runs.iter().filter(|run| !run.is_compared()).count() == 1;
    let of = |run: &HostRun| match run.offset {
        Some(ClockOffset(offset_ns)) => compared(offset_ns),
        None if is_only_one_left => compared(0),
        None if first.is_some() && boot(run) == first && !is_any_compared => HostClock::Same,
        None => HostClock::NotCompared,
    };
    let source = |run| ClockSource::Known(of(run));
    let by_readings = |run: &'_ HostRun| run.offset.is_none() && !run.readings.is_empty();
    runs.iter().map(|run| if by_readings(run) { ClockSource::Readings(&run.readings) } else { source(run) }).collect()
}

fn merged_cell(
    cell: &CellRecord,
    own: &[Option<&CellRecord>],
    runs: &[&HostRun],
    clocks: &[ClockSource<'_>],
    volume: Option<&VolumeFacts>,
    not_named: &[String],
) -> CellRecord {
    let numbers = own.iter().flatten().flat_map(|cell| cell.trials.iter().map(|trial| trial.trial)).max();
    let count = (runs.len() + not_named.len()) as u32;
    let load = of_all_hosts(&cell.load, count);
    let trials: Vec<TrialRecord> = (0..=numbers.unwrap_or(0))
        .filter_map(|number| {
            let found =
                own.iter().map(|cell| cell.and_then(|cell| cell.trials.iter().find(|trial| trial.trial == number)));
            let of_hosts: Vec<OfHost<'_>> =
                runs.iter().zip(clocks).zip(found).map(|((run, clock), trial)| (*run, *clock, trial)).collect();
            merged_trial(&of_hosts, &load, volume, not_named)
        })
        .collect();
    CellRecord {
        label: label_on_hosts(count, &cell.label),
        load,
        ceilings: of_all_clients(&cell.ceilings, u64::from(count)),
        trials_planned: cell.trials_planned,
        trials,
        ..cell.clone()
    }
}

/// What all hosts asked together.
fn of_all_hosts(load: &Load, hosts: u32) -> Load {
    let Some(spec) = load.spec() else {
        let mut load = load.clone();
        if let Some(figures) = load.figures_mut() {
            figures.threads = figures.threads.saturating_mul(hosts);
            figures.rate_iops = figures.rate_iops.map(|rate| rate * f64::from(hosts));
        }
        return load;
    };
    let times = |rate: Iops| Iops::per_second(rate.get().saturating_mul(u64::from(hosts))).unwrap_or(rate);
    let arrival = match spec.arrival {
        Arrival::Closed { queue_depth, rate_max, think_time } => {
            Arrival::Closed { queue_depth, rate_max: rate_max.map(times), think_time }
        }
        Arrival::Constant { rate } => Arrival::Constant { rate: times(rate) },
        Arrival::Poisson { rate } => Arrival::Poisson { rate: times(rate) },
    };
    LoadSpec { arrival, threads: spec.threads.saturating_mul(hosts), ..spec.clone() }.into()
}

/// The ceilings of all hosts together: those of a client's machine hold for each of them, those of the storage for all together.
fn of_all_clients(ceilings: &[Ceiling], hosts: u64) -> Vec<Ceiling> {
    let is_of_client = |limit| {
        matches!(
            limit,
            Limit::VmUncachedIops | Limit::VmUncachedThroughput | Limit::VmCachedIops | Limit::VmCachedThroughput
        )
    };
    let mut all: Vec<Ceiling> = ceilings
        .iter()
        .map(|ceiling| {
            if !is_of_client(ceiling.limit) {
                return ceiling.clone();
            }
            let source = CeilingSource::OnEachHost { hosts, source: Box::new(ceiling.source.clone()) };
            Ceiling { iops: ceiling.iops * hosts as f64, source, ..ceiling.clone() }
        })
        .collect();
    all.sort_by(|one, other| one.iops.total_cmp(&other.iops));
    all
}

type OfHost<'a> = (&'a HostRun, ClockSource<'a>, Option<&'a TrialRecord>);

fn merged_trial(
    of_hosts: &[OfHost<'_>],
    load: &Load,
    volume: Option<&VolumeFacts>,
    not_named: &[String],
) -> Option<TrialRecord> {
    let there: Vec<(&HostRun, HostClock, &TrialRecord)> = of_hosts
        .iter()
        .filter_map(|(run, clock, trial)| (*trial).map(|own| (*run, clock.at(shown(own)), own)))
        .collect();
    let missing = of_hosts.iter().filter(|(.., trial)| trial.is_none()).map(|(run, ..)| run.host.clone());
    let missing = missing.chain(not_named.iter().cloned()).collect();
    let begins: Vec<i128> = there.iter().map(|(_, clock, trial)| began(*clock, trial)).collect();
    let origin = begins.iter().copied().min()?;
    let placed: Vec<Placed<'_>> = (there.iter().zip(&begins))
        .map(|((.., trial), began)| Placed { trial, from_ns: u64::try_from(began - origin).unwrap_or(u64::MAX / 4) })
        .collect();
    let found = window(&placed);
    let (each, series) = found.map(|window| together(&placed, window)).unwrap_or_default();
    let counted = |index: usize, amount: fn(&Second) -> u64| {
        each.get(index).map_or(0, |series| series.seconds.iter().map(amount).sum())
    };
    let hosts = (there.iter().zip(&placed).enumerate())
        .map(|(index, ((run, clock, trial), placed))| HostTrial {
            host: run.host.clone(),
            run: run.record.header.id.clone(),
            clock: *clock,
            from_ns: placed.from_ns,
            measured_ns: trial.measured_ns,
            count: trial.count(),
            bytes: trial.bytes(),
            window_count: counted(index, transfers),
            window_bytes: counted(index, Second::bytes),
            errors: trial.errors_total(),
            offered_iops: trial.offered_iops,
            latency: latency(trial),
            histogram: histogram(trial).map(Box::new),
            stopped_ns: trial.surroundings.stops.map_or(0, |stops| stops.total_ns),
            interval_s: trial.series.interval_s,
            counts: trial.series.seconds.iter().map(transfers).collect(),
        })
        .collect();
    let window = found.map(|(from_ns, length_ns)| SharedWindow { from_ns, length_ns });
    let hosts = HostsRecord { hosts, window, missing };
    let trials: Vec<&TrialRecord> = there.iter().map(|(.., trial)| *trial).collect();
    let first = trials[0];
    let mut merged = TrialRecord {
        measured_from_unix_ns: found.and_then(|(from, _)| u64::try_from(origin + i128::from(from)).ok()),
        warm_up_ns: trials.iter().map(|trial| trial.warm_up_ns).max().unwrap_or(0),
        measured_ns: found.map_or(0, |(_, length)| length),
        operations: operations(&trials, &series.seconds),
        offered_iops: trials.iter().map(|trial| trial.offered_iops).sum(),
        missed: trials.iter().map(|trial| trial.missed).sum(),
        series,
        surroundings: surroundings(&trials),
        verify: verified(&trials),
        ending: ending(&trials),
        ..TrialRecord::empty(first.trial, first.started_unix_s, engine(first))
    };
    for trial in &trials {
        for (kind, count) in &trial.errors {
            *merged.errors.entry(*kind).or_default() += count;
        }
    }
    let samples = there
        .iter()
        .flat_map(|(run, _, trial)| trial.error_samples.iter().map(move |sample| format!("{}: {sample}", run.host)));
    merged.error_samples = samples.take(SAMPLES_MAX).collect();
    merged.doubts = all_doubts(&there, &hosts, load, &merged, volume);
    merged.hosts = Some(Box::new(hosts));
    Some(merged)
}

/// Reads, writes and trims of a second: flushes are no transfers.
fn transfers(second: &Second) -> u64 {
    second.count() - second.of(Operation::Flush).count
}

/// Begin of the measured time by the host's own clock, ns since 1970.
fn shown(trial: &TrialRecord) -> u64 {
    trial.measured_from_unix_ns.unwrap_or(trial.started_unix_s * 1_000_000_000 + trial.warm_up_ns)
}

/// Begin of the measured time by the common time, ns since 1970.
fn began(clock: HostClock, trial: &TrialRecord) -> i128 {
    let offset = match clock {
        HostClock::Compared { offset_ns, .. } => offset_ns,
        HostClock::Same | HostClock::NotCompared => 0,
    };
    i128::from(shown(trial)) - i128::from(offset)
}

fn latency(trial: &TrialRecord) -> Option<HistogramSnapshot> {
    let parts: Vec<&OperationRecord> = trial.operations.values().collect();
    if parts.iter().any(|part| part.told.is_some()) {
        let parts: Option<Vec<_>> = parts.iter().map(|part| Some((part.figures_count(), part.figures()?))).collect();
        return HistogramSnapshot::pooled(&parts?);
    }
    histogram(trial)?.snapshot()
}

/// Latencies of all requests; `None` where some of them came as percentiles.
fn histogram(trial: &TrialRecord) -> Option<Histogram> {
    let mut all = Histogram::new();
    for part in trial.operations.values() {
        if part.told.is_some() {
            return None;
        }
        all.merge(&part.latency);
    }
    Some(all)
}

/// Counts of the window, latencies of every request.
fn operations(trials: &[&TrialRecord], seconds: &[Second]) -> BTreeMap<Operation, OperationRecord> {
    let mut all: BTreeMap<Operation, OperationRecord> = BTreeMap::new();
    for (operation, record) in trials.iter().flat_map(|trial| &trial.operations) {
        match all.get_mut(operation) {
            Some(merged) => {
                merged.errors += record.errors;
                merged.latency.merge(&record.latency);
                for (mine, own) in [(&mut merged.waiting, &record.waiting), (&mut merged.service, &record.service)] {
                    match (mine.as_mut(), own) {
                        (Some(mine), Some(own)) => mine.merge(own),
                        _ => *mine = None,
                    }
                }
            }
            None => drop(all.insert(*operation, record.clone())),
        }
    }
    for (operation, record) in &mut all {
        let of = |second: &Second| *second.of(*operation);
        record.count = seconds.iter().map(|second| of(second).count).sum();
        record.bytes = seconds.iter().map(|second| of(second).bytes).sum();
    }
    all
}

fn engine(trial: &TrialRecord) -> EngineUsed {
    EngineUsed { reason: format!("on each host; of the first: {}", trial.engine.reason), ..trial.engine.clone() }
}

/// One is complete if any host's is: a host that failed is a doubt, and the others' data count.
fn ending(trials: &[&TrialRecord]) -> Ending {
    let complete = trials.iter().find(|trial| trial.ending == Ending::Complete);
    complete.unwrap_or(&trials[0]).ending.clone()
}

/// What happened around all of them: sums over hosts, and of the machines the busiest. Devices are each host's own.
fn surroundings(trials: &[&TrialRecord]) -> Surroundings {
    let all = || trials.iter().map(|trial| &trial.surroundings);
    let machines = all().filter_map(|around| around.machine);
    let stops = all().filter_map(|around| around.stops);
    Surroundings {
        elapsed_ns: all().map(|around| around.elapsed_ns).max().unwrap_or(0),
        tool_user_ns: all().map(|around| around.tool_user_ns).sum(),
        tool_system_ns: all().map(|around| around.tool_system_ns).sum(),
        load_user_ns: all().map(|around| around.load_user_ns).sum(),
        load_system_ns: all().map(|around| around.load_system_ns).sum(),
        threads: all().flat_map(|around| around.threads.iter().copied()).collect(),
        machine: machines.max_by(|one: &MachineCpu, other| one.busy.total_cmp(&other.busy)),
        stops: stops.max_by_key(|stops: &Stops| stops.total_ns),
        ..Surroundings::default()
    }
}

fn verified(trials: &[&TrialRecord]) -> Option<VerifyRecord> {
    let mut found = trials.iter().filter_map(|trial| trial.verify.as_ref()).peekable();
    found.peek()?;
    Some(found.fold(VerifyRecord::default(), |mut all, one| {
        all.blocks_checked += one.blocks_checked;
        all.blocks_unwritten += one.blocks_unwritten;
        all.blocks_unknown += one.blocks_unknown;
        all.faults_total += one.faults_total;
        let room = SAMPLES_MAX.saturating_sub(all.faults.len());
        all.faults.extend(one.faults.iter().take(room).cloned());
        all
    }))
}

/// Those of the hosts with their names, and those of all together.
fn all_doubts(
    there: &[(&HostRun, HostClock, &TrialRecord)],
    hosts: &HostsRecord,
    load: &Load,
    merged: &TrialRecord,
    volume: Option<&VolumeFacts>,
) -> Vec<Doubt> {
    let mut all: Vec<Doubt> = Vec::new();
    for code in DoubtCode::ALL {
        // The requests of all hosts count.
        if code == DoubtCode::FewSamples {
            let whole = volume.map(|volume| doubts(&load.figures(), merged, volume)).unwrap_or_default();
            all.extend(whole.into_iter().filter(|doubt| doubt.code == code));
            continue;
        }
        let of =
            |trial: &TrialRecord| trial.doubts.iter().find(|doubt| doubt.code == code).map(|doubt| doubt.seen.clone());
        let seen: Vec<SeenOnHost> = (there.iter())
            .filter_map(|(run, _, trial)| Some(SeenOnHost { host: run.host.clone(), seen: of(trial)? }))
            .collect();
        if !seen.is_empty() {
            all.push(Doubt { code, seen: DoubtEvidence::OnHosts { hosts: there.len() as u32, seen } });
        }
    }
    all.extend(not_together(hosts));
    all.extend(not_compared(hosts, there));
    all.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
    all
}

fn not_together(hosts: &HostsRecord) -> Option<Doubt> {
    let longest = hosts.hosts.iter().map(|host| host.measured_ns).max().unwrap_or(0);
    let length = hosts.window.map_or(0, |window| window.length_ns);
    let covered = length as f64 / longest.max(1) as f64;
    let span = |host: &HostTrial, span_ns| HostSpan { host: host.host.clone(), span_ns };
    let together = if hosts.window.is_none() {
        Some(RunTogether::Never)
    } else if covered < COVERAGE_MIN {
        let late = hosts.hosts.iter().max_by_key(|host| host.from_ns);
        let early = hosts.hosts.iter().min_by_key(|host| host.to_ns());
        let ends = hosts.hosts.iter().map(HostTrial::to_ns).max().unwrap_or(0);
        Some(RunTogether::Partly {
            share: covered,
            begun_late: late.filter(|host| host.from_ns > 0).map(|host| span(host, host.from_ns)),
            ended_early: early.filter(|host| host.to_ns() < ends).map(|host| span(host, ends - host.to_ns())),
        })
    } else {
        None
    };
    let is_any = together.is_some() || !hosts.missing.is_empty();
    let seen = DoubtEvidence::HostsApart { together, missing: hosts.missing.clone() };
    is_any.then_some(Doubt { code: DoubtCode::NotTogether, seen })
}

fn not_compared(hosts: &HostsRecord, there: &[(&HostRun, HostClock, &TrialRecord)]) -> Option<Doubt> {
    let is_open = |host: &&HostTrial| host.clock == HostClock::NotCompared;
    let not_compared: Vec<String> = hosts.hosts.iter().filter(is_open).map(|host| host.host.clone()).collect();
    let unsure = hosts.hosts.iter().filter_map(|host| match host.clock {
        HostClock::Compared { error_ns: Some(error_ns), .. } if error_ns > host.measured_ns / UNSURE => {
            Some(HostSpan { host: host.host.clone(), span_ns: error_ns })
        }
        _ => None,
    });
    let unsure: Vec<HostSpan> = unsure.collect();
    let to_a_second: Vec<String> = (there.iter())
        .filter(|(.., trial)| trial.measured_from_unix_ns.is_none())
        .map(|(run, ..)| run.host.clone())
        .collect();
    let is_any = !(not_compared.is_empty() && unsure.is_empty() && to_a_second.is_empty());
    let seen = DoubtEvidence::HostClocks { hosts: hosts.hosts.len() as u32, not_compared, unsure, to_a_second };
    is_any.then_some(Doubt { code: DoubtCode::ClocksNotCompared, seen })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::example;
    use crate::hosts::{MergeError, hosts_view};
    use loadline_record::{EngineName, RunVerb, SecondOperation, Series};
    use loadline_units::Duration;
    use proptest::prelude::*;

    /// A trial of reads that completed so many in each second.
    pub(crate) fn trial(counts: &[u64]) -> TrialRecord {
        let engine = EngineUsed { name: EngineName::IoUring, reason: String::new(), options: Vec::new() };
        let second = |count: &u64| {
            let mut second = Second::default();
            second.operations[Operation::Read.index()] = SecondOperation {
                count: *count,
                bytes: count * 4_096,
                p50_ns: 100_000,
                p99_ns: 200_000,
                max_ns: 300_000,
            };
            second
        };
        let count: u64 = counts.iter().sum();
        let mut latency = Histogram::new();
        (0..count.min(50)).for_each(|n| latency.record(Duration::from_us(100 + n)));
        let read = OperationRecord { count, bytes: count * 4_096, latency, ..OperationRecord::default() };
        TrialRecord {
            measured_ns: counts.len() as u64 * 1_000_000_000,
            measured_from_unix_ns: Some(1_700_000_000_000_000_000),
            operations: [(Operation::Read, read)].into(),
            series: Series { interval_s: 1, seconds: counts.iter().map(second).collect(), last_ns: 1_000_000_000 },
            ..TrialRecord::empty(0, 1_700_000_000, engine)
        }
    }

    fn run(host: &str, trial: TrialRecord) -> HostRun {
        let mut record = example::golden();
        record.header.verb = RunVerb::Run;
        record.header.id = format!("run-{host}");
        record.header.host.boot_id = Some("one".to_owned());
        record.cells.truncate(1);
        record.cells[0].trials = vec![trial];
        HostRun::new(host.to_owned(), record)
    }
    fn later(trial: TrialRecord, ns: u64) -> TrialRecord {
        TrialRecord { measured_from_unix_ns: trial.measured_from_unix_ns.map(|from| from + ns), ..trial }
    }
    fn codes(trial: &TrialRecord) -> Vec<DoubtCode> {
        let own = [DoubtCode::NotTogether, DoubtCode::ClocksNotCompared];
        trial.doubts.iter().map(|doubt| doubt.code).filter(|code| own.contains(code)).collect()
    }

    proptest! {
        #[test]
        fn latencies_are_those_of_one_process_with_the_same_requests(
            parts in prop::collection::vec(prop::collection::vec(1_000u64..10_000_000_000, 1..60), 2..6),
        ) {
            let mut all = Histogram::new();
            let runs: Vec<HostRun> = parts
                .iter()
                .enumerate()
                .map(|(index, values)| {
                    let mut own = Histogram::new();
                    for ns in values {
                        own.record(Duration::from_ns(*ns));
                    }
                    all.merge(&own);
                    let mut made = trial(&[values.len() as u64, 5]);
                    made.operations.get_mut(&Operation::Read).unwrap().latency = own;
                    run(&format!("h{index}"), made)
                })
                .collect();
            let merged = &merge_hosts(&runs).unwrap()[0].trials[0];
            prop_assert!(merged.operations[&Operation::Read].latency.buckets().eq(all.buckets()));
            prop_assert_eq!(&merged.operations[&Operation::Read].latency, &all);
        }
    }

    #[test]
    fn latencies_of_a_host_are_those_of_all_its_trials_together() {
        let with = |trial: TrialRecord, us: u64, number: u32| {
            let mut latency = Histogram::new();
            (0..1_000).for_each(|n| latency.record(Duration::from_us(us + n % 10)));
            let mut made = TrialRecord { trial: number, ..trial };
            made.operations.get_mut(&Operation::Read).unwrap().latency = latency;
            made
        };
        let host = |name: &str| {
            let mut own = run(name, with(trial(&[1_000]), 100, 0));
            // Each trial of the two hosts is as slow as the other's.
            own.record.cells[0]
                .trials
                .extend((1..5).map(|n| with(later(trial(&[1_000]), u64::from(n) * 10_000_000_000), 100, n)));
            own.record.cells[0].trials.push(with(later(trial(&[1_000]), 50_000_000_000), 9_000, 5));
            own
        };
        let cells = merge_hosts(&[host("a"), host("b")]).unwrap();
        let mut all = Histogram::new();
        for trial in &cells[0].trials {
            all.merge(&trial.operations[&Operation::Read].latency);
        }
        let (all, view) = (all.snapshot().unwrap(), hosts_view(&cells[0]).unwrap());
        for host in &view.hosts {
            assert_eq!((host.p50_ns, host.p99_ns), (all.p50, all.p99), "{}", host.host);
        }
    }

    #[test]
    fn hosts_that_ran_together_have_the_sum_of_their_rates_and_no_doubt() {
        let runs = [run("a", trial(&[1_000; 20])), run("b", later(trial(&[500; 20]), 1_000_000))];
        let cells = merge_hosts(&runs).unwrap();
        let merged = &cells[0].trials[0];
        let rate = merged.iops().unwrap();
        assert!((rate - 1_500.0).abs() < 1.5, "{rate}");
        assert_eq!(codes(merged), []);
        let hosts = merged.hosts.as_ref().unwrap();
        assert_eq!((hosts.hosts[1].from_ns, hosts.hosts[0].count), (1_000_000, 20_000));
        let load = |cell: &CellRecord| cell.load.figures().threads;
        assert_eq!(load(&cells[0]), 2 * load(&runs[0].record.cells[0]));
    }

    #[test]
    fn a_host_that_comes_late_is_a_doubt_and_the_rate_is_that_of_all() {
        let runs = [run("a", trial(&[1_000; 20])), run("b", later(trial(&[500; 20]), 5_000_000_000))];
        let cells = merge_hosts(&runs).unwrap();
        let merged = &cells[0].trials[0];
        assert_eq!((merged.measured_ns, merged.iops()), (15_000_000_000, Some(1_500.0)));
        assert_eq!(codes(merged), [DoubtCode::NotTogether]);
        assert_eq!(merged.operations[&Operation::Read].latency.count(), 100);
    }

    #[test]
    fn hosts_without_a_moment_together_have_no_rate() {
        let runs = [run("a", trial(&[1_000; 5])), run("b", later(trial(&[500; 5]), 9_000_000_000))];
        let cells = merge_hosts(&runs).unwrap();
        assert_eq!((cells[0].trials[0].iops(), codes(&cells[0].trials[0])), (None, vec![DoubtCode::NotTogether]));
    }

    #[test]
    fn a_clock_that_is_ahead_is_set_back_and_one_that_nobody_compared_is_a_doubt() {
        let ahead = 3_600_000_000_000;
        let mut other = run("b", later(trial(&[500; 20]), ahead));
        other.record.header.host.boot_id = Some("two".to_owned());
        let as_it_is = merge_hosts(&[run("a", trial(&[1_000; 20])), other.clone()]).unwrap();
        let both = vec![DoubtCode::NotTogether, DoubtCode::ClocksNotCompared];
        assert_eq!(codes(&as_it_is[0].trials[0]), both);
        other.offset = Some(ClockOffset(ahead.cast_signed()));
        let compared = merge_hosts(&[run("a", trial(&[1_000; 20])), other]).unwrap();
        assert_eq!((codes(&compared[0].trials[0]), compared[0].trials[0].iops()), (vec![], Some(1_500.0)));
    }

    #[test]
    fn readings_before_and_after_place_a_drifting_clock_and_are_kept_with_their_error() {
        let (ahead, home) = (3_600_000_000_000, 1_000_000_000_000_000_000);
        let mut other = run("b", later(trial(&[500; 20]), ahead));
        other.record.header.host.boot_id = Some("two".to_owned());
        let begin = other.record.cells[0].trials[0].measured_from_unix_ns.unwrap() - ahead;
        let reading = |at_unix_ns, offset_ns| ClockReading { at_unix_ns, offset_ns, error_ns: 40_000, exchanges: 9 };
        let ahead = ahead.cast_signed();
        // 100 s before and after, 20 ms apart: 100 ppm.
        other.readings = vec![
            reading(begin - 100_000_000_000, ahead - 10_000_000),
            reading(begin + 100_000_000_000, ahead + 10_000_000),
        ];
        assert!(begin < home * 2);
        let merged = merge_hosts(&[run("a", trial(&[1_000; 20])), other.clone()]).unwrap();
        let found = &merged[0].trials[0];
        assert!(codes(found).is_empty() && (found.iops().unwrap() - 1_500.0).abs() < 0.1, "{:?}", found.doubts);
        let HostClock::Compared { offset_ns, error_ns, drift_ppb } = found.hosts.as_ref().unwrap().hosts[1].clock
        else {
            panic!("it was compared");
        };
        assert!(offset_ns.abs_diff(ahead) <= 1 && error_ns == Some(40_001), "{offset_ns} {error_ns:?}");
        assert_eq!(drift_ppb, Some(100_000));
        // A reading long ago says little.
        other.readings = vec![reading(begin - 4_000_000_000_000, ahead)];
        let merged = merge_hosts(&[run("a", trial(&[1_000; 20])), other]).unwrap();
        let doubts = &merged[0].trials[0].doubts;
        assert!(
            doubts.iter().any(|doubt| matches!(&doubt.seen, DoubtEvidence::HostClocks { unsure, .. }
                if unsure.len() == 1 && unsure[0].host == "b" && unsure[0].span_ns / 1_000_000 == 400)),
            "{doubts:?}"
        );
    }

    #[test]
    fn what_a_host_that_died_had_finished_is_kept() {
        let mut died = run("b", trial(&[500; 20]));
        died.record.cells[0].trials.clear();
        let merged = merge_hosts(&[run("a", trial(&[1_000; 20])), died]).unwrap();
        let trial = &merged[0].trials[0];
        assert_eq!((trial.iops(), codes(trial)), (Some(1_000.0), vec![DoubtCode::NotTogether]));
        assert_eq!(trial.hosts.as_ref().unwrap().missing, ["b"]);
    }

    #[test]
    fn runs_that_are_not_of_one_plan_and_several_hosts_are_refused() {
        let one = run("a", trial(&[1; 5]));
        assert_eq!(merge_hosts(std::slice::from_ref(&one)), Err(MergeError::Count { count: 1 }));
        let same = merge_hosts(&[one.clone(), one.clone()]);
        assert_eq!(same, Err(MergeError::RunTwice { run: "run-a".to_owned() }));
        let mut other = run("b", trial(&[1; 5]));
        other.record.cells.clear();
        assert!(matches!(merge_hosts(&[one.clone(), other]), Err(MergeError::OtherPlan { .. })));
        let mut predicted = run("b", trial(&[1; 5]));
        predicted.record.header.verb = RunVerb::Predict;
        assert!(matches!(merge_hosts(&[one, predicted]), Err(MergeError::Verb { .. })));
    }
}
