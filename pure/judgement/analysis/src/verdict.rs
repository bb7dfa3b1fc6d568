//! The verdict of a run: what each volume gives, what holds it, how sure that is, and whether the objective is kept.
//!
//! It is what somebody in a hurry reads. Every figure in it is a cell's own, so that one thing has one number everywhere.

use crate::conclusion::InsteadOfRange;
use crate::conclusions::instead_of_a_larger_range;
use crate::curves::{is_like, outstanding, paced};
use crate::device_throttle::HeldBy;
use crate::findings::{FLUSHES_MIN, best_cell, flushes, overloaded};
use crate::hosts::view::HostsScaling;
use crate::known_disk::KnownLevels;
use crate::more_in_flight::more_in_flight;
use crate::standing::{self, StandingLimit};
use crate::summary::{CellSummary, OperationFigures};
use crate::verdict_block::{
    Advised, Because, Certainty, HeldBesides, Holder, LimitHolder, Reached, RecordedSource, VerdictBlock,
    VerdictFigure, VerdictSubject, VolumeVerdict,
};
use crate::verdict_objective::objective;
use crate::verdict_of_others::{of_the_tool, over_hosts};
use crate::words::{LARGE_BYTES_MIN, SMALL_BYTES_MAX, VOLUMES_MAX, block, how_much, load_name};
use loadline_block::Operation;
use loadline_record::{
    Access, Clock, Doubt, DoubtCode, DoubtEvidence, DoubtGrade, HistogramSnapshot, Limit, RunHeader, RunRecord,
    RunVerb, TargetKind, VOLUME_DEFAULT,
};

/// The usual size of a small request, taken where several were measured.
const SMALL_BYTES_USUAL: u64 = 4 << 10;

/// A mean this many times the median is shown beside it.
const MEAN_APART: f64 = 2.0;

/// A load is answered by blocks that were never written from this share of what it reads on.
const NEVER_WRITTEN_MOST: f64 = 0.5;

/// A limit this near to the figure that reaches it is the same number.
const SHOWN_ALREADY: f64 = 0.05;

/// The verdict of a run; `None` where nothing was measured, and of hunts, which have a table of their own.
pub(crate) fn verdict(record: &RunRecord, cells: &[CellSummary], hosts: &[HostsScaling]) -> Option<VerdictBlock> {
    if record.header.verb == RunVerb::Hunt {
        return None;
    }
    // What measures the tool is spoken of only where there is nothing else.
    let is_tool = |kind: TargetKind| kind == TargetKind::Null;
    let only_tool = record.header.volumes.iter().all(|volume| is_tool(volume.kind));
    let told = record.header.volumes.iter().filter(|volume| only_tool || !is_tool(volume.kind));
    let all: Vec<VolumeVerdict> = told
        .filter_map(|volume| {
            let own: Vec<usize> = (0..cells.len()).filter(|i| cells[*i].volume == volume.name).collect();
            VolumeCells { record, cells, own }
                .verdict(&volume.name)
                .map(|verdict| over_hosts(verdict, &volume.name, hosts))
        })
        .collect();
    if all.is_empty() {
        return None;
    }
    let is_tool = only_tool && hosts.is_empty();
    let all: Vec<VolumeVerdict> = if is_tool { all.into_iter().map(of_the_tool).collect() } else { all };
    let volumes_left_out = all.len().saturating_sub(VOLUMES_MAX);
    let volumes = all.into_iter().take(VOLUMES_MAX).collect();
    let (objective, source) = (objective(record, cells), RecordedSource::of(record));
    Some(VerdictBlock { volumes, volumes_left_out, objective, source, ..VerdictBlock::default() })
}

/// The cells of one volume.
struct VolumeCells<'a> {
    record: &'a RunRecord,
    cells: &'a [CellSummary],
    own: Vec<usize>,
}

/// Which operation a figure is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Reads,
    Writes,
}

impl Direction {
    fn is_of(self, cell: &CellSummary) -> bool {
        match self {
            Self::Reads => cell.reads_only(),
            Self::Writes => cell.writes_only(),
        }
    }
    fn figures(self, cell: &CellSummary) -> Option<&OperationFigures> {
        match self {
            Self::Reads => cell.read.as_ref(),
            Self::Writes => cell.write.as_ref(),
        }
    }
}

impl VolumeCells<'_> {
    fn verdict(&self, volume: &str) -> Option<VolumeVerdict> {
        let mut gives: Vec<VerdictFigure> = Vec::new();
        let both = [Direction::Reads, Direction::Writes];
        gives.extend(both.into_iter().filter_map(|direction| self.small(direction)));
        if gives.is_empty() {
            gives.extend(self.any());
        }
        let first = gives.first().map(|figure| figure.cell.clone());
        gives.extend(both.into_iter().filter_map(|direction| self.large(direction)));
        gives.extend(both.into_iter().filter_map(|direction| self.one(direction)));
        gives.extend(self.durable());
        let shown = first.or_else(|| Some(gives.first()?.cell.clone()))?;
        let shown = self.cells.iter().find(|cell| cell.id == shown)?;
        // A throttle was read: it is known, whatever the figures of other loads make likely.
        let throttled = self.throttled(&gives);
        let cell = throttled.first().copied().filter(|_| shown.held_by.is_none()).unwrap_or(shown);
        // A run that offered more than was served says what stopped it.
        let cell = self.stopped_beyond(cell).unwrap_or(cell);
        let standing = self.standing(cell, volume);
        let liftable = cell.held_by.is_some() || standing.as_ref().is_some_and(|limit| limit.lifted_by.is_some());
        let (certainty, because) = match &standing {
            Some(limit) => (Certainty::Certain, Because::ReadFrom { file: limit.file.clone(), reached: None }),
            None => self.certainty(cell),
        };
        let volumes = self.record.header.volumes.len();
        let held_by = match &standing {
            Some(limit) => Holder::Standing(limit.clone()),
            None if throttled.is_empty() => self.holder(cell),
            None => self.by_throttles(&throttled, shown),
        };
        let lifted: Vec<String> =
            throttled.iter().filter_map(|cell| Some(cell.held_by.as_ref()?.lifting_command())).collect();
        let mut verdict = VolumeVerdict {
            volume: if volumes == 1 && volume == VOLUME_DEFAULT { String::new() } else { volume.to_owned() },
            gives,
            limit: cell.binding.as_ref().map(|binding| binding.limit),
            held_by,
            throttle: cell.held_by.clone(),
            certainty,
            because,
            latency: None,
            next: if liftable { Some(Advised::Lift) } else { self.next(cell) },
            takes_ns: None,
            command: standing
                .and_then(|limit| limit.lifted_by)
                .or_else(|| (!lifted.is_empty()).then(|| lifted.join(" && "))),
            cell: cell.id.clone(),
            known: None,
        };
        if matches!(verdict.next, Some(Advised::Move { limit: Limit::DiskIops | Limit::DiskThroughput, .. })) {
            verdict.known = KnownLevels::of(self.record, &verdict.gives, self.cells);
        }
        RecordedSource::speak_apart(self.record, cell, &mut verdict);
        Some(verdict)
    }

    /// The lightest open loop like one that was all served that was not.
    fn stopped_beyond(&self, cell: &CellSummary) -> Option<&CellSummary> {
        let is_served = cell.load.queue_depth.is_none()
            && cell.binding.as_ref().is_some_and(|binding| binding.limit == Limit::Arrival);
        let offered = |cell: &&CellSummary| cell.offered_iops.map(|rate| rate as u64);
        let all = self.own.iter().map(|index| &self.cells[*index]).filter(|_| is_served && !cell.is_of_others());
        let beyond = all.filter(|other| is_like(other, cell) && offered(other) > offered(&cell));
        beyond.filter(|other| overloaded(other) && spoils(other).is_none()).min_by_key(offered)
    }

    /// The loads that throttles hold, one for each throttle: those of the figures first.
    fn throttled(&self, gives: &[VerdictFigure]) -> Vec<&CellSummary> {
        let shown_first = gives.iter().filter_map(|figure| self.cells.iter().find(|cell| cell.id == figure.cell));
        let mut throttled: Vec<&CellSummary> = Vec::new();
        for cell in shown_first.chain(self.own.iter().map(|index| &self.cells[*index])) {
            let limit = |cell: &CellSummary| cell.held_by.as_ref().map(|held| held.limit.clone());
            if cell.held_by.is_some() && throttled.iter().all(|known| limit(known) != limit(cell)) {
                throttled.push(cell);
            }
        }
        throttled
    }

    /// The quota or the setting of a queue that explains the cell, unless a throttle does.
    fn standing(&self, cell: &CellSummary, volume: &str) -> Option<StandingLimit> {
        let header = &self.record.header;
        let of = self.record.cells.iter().find(|of| of.id == cell.id)?;
        let facts = header.volumes.iter().find(|facts| facts.name == volume);
        standing::holder(&header.host, facts, cell, &of.trials, self.cells).filter(|_| cell.held_by.is_none())
    }

    /// The closed loops of this kind, or the open ones if there are no others: an open loop near a limit completes some more for
    /// as long as its backlog grows.
    fn among(&self, wanted: impl Fn(&CellSummary) -> bool) -> Vec<usize> {
        // Of a run whose loads all wait by their own will, or all ask for more than is served, there is nothing else to tell.
        let is_aside = |cell: &CellSummary| paced(cell) || overloaded(cell);
        let all_aside = self.own.iter().all(|i| is_aside(&self.cells[*i]));
        let usable = |i: &usize| {
            let cell = &self.cells[*i];
            // What others asked for came at their own pace: there is no other load to take the figure from.
            let fits = cell.is_of_others() || all_aside || !is_aside(cell);
            cell.total.is_some() && fits && wanted(cell)
        };
        let all: Vec<usize> = self.own.iter().copied().filter(usable).collect();
        let closed: Vec<usize> = all.iter().copied().filter(|i| self.cells[*i].load.queue_depth.is_some()).collect();
        if closed.is_empty() { all } else { closed }
    }

    /// The best of some cells, of those that no doubt spoils if there are any.
    fn best(&self, among: &[usize], figure: fn(&CellSummary) -> Option<f64>) -> Option<&CellSummary> {
        let clean: Vec<usize> = among.iter().copied().filter(|i| spoils(&self.cells[*i]).is_none()).collect();
        let candidates = if clean.is_empty() { among } else { &clean };
        best_cell(self.cells, candidates, figure).map(|index| &self.cells[index])
    }

    fn small(&self, direction: Direction) -> Option<VerdictFigure> {
        let is_small = |cell: &CellSummary| {
            direction.is_of(cell)
                && cell.flush.is_none()
                && cell.load.pattern == Access::Random
                && cell.load.block_bytes <= SMALL_BYTES_MAX
        };
        let all = self.among(is_small);
        let sizes = || all.iter().map(|i| self.cells[*i].load.block_bytes);
        let size = sizes().find(|size| *size == SMALL_BYTES_USUAL).or_else(|| sizes().min())?;
        let among: Vec<usize> = all.iter().copied().filter(|i| self.cells[*i].load.block_bytes == size).collect();
        let cell = self.best(&among, CellSummary::iops_lasting)?;
        let what = if direction == Direction::Reads { VerdictSubject::SmallReads } else { VerdictSubject::SmallWrites };
        rate(cell, what)
    }

    /// Any load, where no small random reads or writes were measured.
    fn any(&self) -> Option<VerdictFigure> {
        let cell = self.best(&self.among(|cell| cell.load.block_bytes < LARGE_BYTES_MIN), CellSummary::iops_lasting)?;
        rate(cell, VerdictSubject::Requests)
    }

    fn large(&self, direction: Direction) -> Option<VerdictFigure> {
        let is_large = |cell: &CellSummary| direction.is_of(cell) && cell.load.block_bytes >= LARGE_BYTES_MIN;
        let cell = self.best(&self.among(is_large), CellSummary::throughput_lasting)?;
        let (value, total) = (cell.throughput_lasting()?, cell.total.as_ref()?);
        let bytes = |iops: Option<f64>| Some(iops? / total.iops * total.throughput_bytes_per_s);
        let what = if direction == Direction::Reads { VerdictSubject::LargeReads } else { VerdictSubject::LargeWrites };
        let interval = cell.lasting.is_none().then(|| (bytes(total.iops_low), bytes(total.iops_high)));
        Some(figure(cell, what, value, interval.unwrap_or_default()))
    }

    /// What one request takes while no other is in flight.
    fn one(&self, direction: Direction) -> Option<VerdictFigure> {
        let is_one = |cell: &CellSummary| {
            direction.is_of(cell)
                && cell.flush.is_none()
                && outstanding(cell) == Some(1)
                && cell.load.block_bytes <= SMALL_BYTES_MAX
        };
        let among = self.among(is_one);
        let is_random = |i: &&usize| self.cells[**i].load.pattern == Access::Random;
        let index = among.iter().find(is_random).or_else(|| among.first())?;
        let cell = &self.cells[*index];
        let of = direction.figures(cell)?;
        let what = if direction == Direction::Reads { VerdictSubject::OneRead } else { VerdictSubject::OneWrite };
        let interval = of.latency_interval_ns.as_ref().map(|interval| (interval.p50_low, interval.p50_high));
        let mean_ns = mean_apart(&of.latency_ns);
        Some(VerdictFigure { mean_ns, ..figure(cell, what, of.latency_ns.p50? as f64, interval.unwrap_or_default()) })
    }

    /// What it takes to make a write durable, at the shallowest load that does.
    fn durable(&self) -> Option<VerdictFigure> {
        let mut among = self.among(|cell| cell.flush.is_some());
        among.retain(|i| flushes(&self.record.cells[*i]) >= FLUSHES_MIN);
        let cell = among.iter().map(|i| &self.cells[*i]).min_by_key(|cell| outstanding(cell).unwrap_or(u64::MAX))?;
        let latency = &cell.flush.as_ref()?.latency_ns;
        let (p50, p99_ns, mean_ns) = (latency.p50?, latency.p99, mean_apart(latency));
        let p99_9_ns = of_few(latency);
        Some(VerdictFigure {
            p99_ns,
            p99_9_ns,
            mean_ns,
            ..figure(cell, VerdictSubject::DurableWrite, p50 as f64, (None, None))
        })
    }

    fn certainty(&self, cell: &CellSummary) -> (Certainty, Because) {
        let spoiled = spoils(cell);
        if let Some(held) = &cell.held_by {
            let file = held.limit.file.clone();
            return (Certainty::Certain, Because::ReadFrom { file, reached: Some(Reached::ByTheLoad) });
        }
        if is_never_written(cell) {
            return (Certainty::Doubtful, Because::Doubt(DoubtCode::UnwrittenExtents));
        }
        let Some(binding) = cell.binding.as_ref().filter(|binding| binding.limit != Limit::Unexplained) else {
            return (Certainty::Unknown, Because::NothingExplains);
        };
        if let Some(doubt) = spoiled {
            return (Certainty::Doubtful, Because::Doubt(doubt.code));
        }
        if is_modelled(&self.record.header) {
            return (Certainty::Certain, Because::Model);
        }
        if !binding.inferred {
            return (Certainty::Certain, Because::Declared { share: binding.utilization });
        }
        (Certainty::Likely, Because::FirstSeen(binding.seen.clone()))
    }
}

/// The gravest doubt of a cell, where it spoils the figure.
fn spoils(cell: &CellSummary) -> Option<&Doubt> {
    let rank = |doubt: &&Doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code);
    cell.doubts.iter().filter(|doubt| doubt.code.grade() == DoubtGrade::Spoils).min_by_key(rank)
}

fn rate(cell: &CellSummary, what: VerdictSubject) -> Option<VerdictFigure> {
    let total = cell.total.as_ref()?;
    let interval = if cell.lasting.is_none() { (total.iops_low, total.iops_high) } else { (None, None) };
    Some(figure(cell, what, cell.iops_lasting()?, interval))
}

fn figure(
    cell: &CellSummary,
    what: VerdictSubject,
    value: f64,
    (low, high): (Option<f64>, Option<f64>),
) -> VerdictFigure {
    let slowest = [&cell.read, &cell.write].into_iter().flatten().filter_map(|of| of.latency_ns.p99).max();
    let p99_ns = match &cell.lasting {
        Some(lasting) => lasting.latency_ns.p99.map(|ns| ns as u64),
        None => slowest,
    };
    let p99_9_ns = match cell.lasting {
        Some(_) => None,
        None => [&cell.read, &cell.write].into_iter().flatten().filter_map(|of| of_few(&of.latency_ns)).max(),
    };
    VerdictFigure {
        what,
        load: match what {
            VerdictSubject::SmallReads => format!("random {} reads", block(cell.load.block_bytes)),
            VerdictSubject::SmallWrites => format!("random {} writes", block(cell.load.block_bytes)),
            _ => load_name(cell),
        },
        at: how_much(cell),
        value,
        low: low.map(|low| low.min(value)),
        high: high.map(|high| high.max(value)),
        p99_ns,
        p99_9_ns,
        mean_ns: None,
        cell: cell.id.clone(),
    }
}

/// The 99.9th percentile where the mean lies above the 99th: that one shows none of the waits that make the mean.
fn of_few(latency: &HistogramSnapshot) -> Option<u64> {
    latency.p99_9.filter(|_| latency.p99.is_some_and(|p99| latency.mean > p99 as f64))
}

/// The mean where it is more than so many times the median: most requests are quick, and some wait long, as at a throttle.
fn mean_apart(latency: &HistogramSnapshot) -> Option<f64> {
    let median = latency.p50? as f64;
    (latency.mean > median * MEAN_APART).then_some(latency.mean)
}

impl VolumeCells<'_> {
    /// What the throttles do, and what limits the load that the verdict shows first if none of them does.
    fn by_throttles(&self, cells: &[&CellSummary], shown: &CellSummary) -> Holder {
        let throttles: Vec<HeldBy> = cells.iter().filter_map(|cell| cell.held_by.clone()).collect();
        let operation = match (shown.reads_only(), shown.writes_only()) {
            (true, _) => Some(Operation::Read),
            (_, true) => Some(Operation::Write),
            _ => None,
        };
        let besides = || Box::new(HeldBesides { operation, held_by: self.holder(shown) });
        Holder::Throttles { throttles, besides: shown.held_by.is_none().then(besides) }
    }

    /// What holds a cell.
    fn holder(&self, cell: &CellSummary) -> Holder {
        if let Some(held) = &cell.held_by {
            return Holder::Throttles { throttles: vec![held.clone()], besides: None };
        }
        let Some(binding) = &cell.binding else { return Holder::Unknown };
        if is_never_written(cell) {
            return Holder::NeverWritten;
        }
        let foretold = cell.lasting.as_ref().and_then(|lasting| Some((lasting.iops_before, lasting.source.clone()?)));
        if let Some((iops_before, source)) = foretold {
            return Holder::BaselineToCome { source, iops_before };
        }
        // A limit that the figure above shows already is not printed a second time.
        let shown = cell.iops_lasting().unwrap_or(0.0);
        Holder::Limit(LimitHolder {
            limit: binding.limit,
            ceiling_iops: binding.ceiling_iops.filter(|iops| (iops - shown).abs() > SHOWN_ALREADY * shown),
            presumed: binding.presumed,
            burst: cell.level_rate().before.filter(|before| before.before_ns.is_some()),
            of_others: cell.is_of_others(),
            more: more_in_flight(self.record, self.cells.iter(), cell),
        })
    }

    /// What to do about what holds a cell.
    fn next(&self, cell: &CellSummary) -> Option<Advised> {
        let header = &self.record.header;
        let limit = cell.binding.as_ref()?.limit;
        let limit = if is_baseline_to_come(cell) { Limit::BurstExhausted } else { limit };
        let modelled = is_modelled(header);
        let is_vain = || more_in_flight(self.record, self.cells.iter(), cell).is_some_and(|more| !more.may_help());
        Some(match limit {
            _ if is_never_written(cell) => Advised::Fill,
            Limit::Unexplained => return None,
            Limit::Arrival | Limit::Latency if cell.is_of_others() => Advised::MoveOfOthers { limit },
            Limit::Latency if cell.load.buffered && !modelled => Advised::InsteadOfRange(InsteadOfRange::Direct),
            Limit::Latency if is_vain() => Advised::Faster,
            Limit::Cache => {
                let volume = header.volumes.iter().find(|volume| volume.name == cell.volume).filter(|_| !modelled);
                let instead = volume.and_then(|volume| instead_of_a_larger_range(volume, cell.load.buffered));
                instead.map_or(Advised::LargerRange, Advised::InsteadOfRange)
            }
            limit => Advised::Move { limit, modelled },
        })
    }
}

/// Whether what a burst leaves once it ends is known of a load that did not live to see that.
fn is_baseline_to_come(cell: &CellSummary) -> bool {
    cell.lasting.as_ref().is_some_and(|lasting| lasting.source.is_some())
}

/// Whether a model gave the answers: in virtual time, or as an emulated disk.
fn is_modelled(header: &RunHeader) -> bool {
    header.clock == Clock::Virtual || header.verb == RunVerb::Emulate
}

/// Whether most of what a load reads was never written, and nothing but that explains how it is answered.
fn is_never_written(cell: &CellSummary) -> bool {
    let mostly = |doubt: &Doubt| match &doubt.seen {
        // Writes to new blocks are answered by the disk.
        DoubtEvidence::NeverWritten { operation, share, .. } => {
            *operation == Operation::Read && *share >= NEVER_WRITTEN_MOST
        }
        _ => doubt.code == DoubtCode::UnwrittenExtents,
    };
    let is_disk = cell.binding.as_ref().is_some_and(|binding| {
        matches!(binding.limit, Limit::DiskIops | Limit::DiskThroughput | Limit::BurstExhausted | Limit::Arrival)
    });
    cell.held_by.is_none() && !is_disk && cell.doubts.iter().any(mostly)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, ExampleDisk};
    use crate::summarize;
    use crate::summary::{LastingFigures, LastingLatency};
    use crate::verdict_block::{Answered, ObjectiveFound};
    use crate::{AdvisedStep, FindingSeen, Meaning};
    use loadline_load::{LatencyFigure, Objective as ObjectiveSet};
    use loadline_record::{Binding, Evidence, LoadFigures};
    use loadline_units::Duration;

    fn block_of(loads: Vec<LoadFigures>) -> VerdictBlock {
        let disk = ExampleDisk { iops: 3_000.0, bytes_per_s: 125e6, latency_ns: 1e6 };
        let cells = loads.into_iter().map(|load| example::cell(load, &disk, &[1.0])).collect();
        summarize(&example::run(cells)).verdict.expect("a verdict")
    }

    fn sweep(limit_ms: u64) -> Vec<LoadFigures> {
        let objective = ObjectiveSet { of: LatencyFigure::Mean, limit: Duration::from_ms(limit_ms) };
        let random = [1, 8, 32].map(|depth| example::closed("random", 1.0, 4096, depth));
        let large = example::closed("sequential", 1.0, 1 << 20, 8);
        random.into_iter().chain([large]).map(|load| LoadFigures { objective: Some(objective), ..load }).collect()
    }

    #[test]
    fn a_run_whose_only_rate_is_not_kept_has_a_verdict_all_the_same() {
        let block = block_of(vec![example::open("random", 1.0, 16 << 10, 6_000.0)]);
        let [volume] = block.volumes.as_slice() else { panic!("{block:?}") };
        assert!((volume.gives[0].value - 3_000.0).abs() < 60.0, "{:?}", volume.gives[0]);
        // Beside loads that were served, what asked for more in vain is no figure.
        let both = block_of(vec![
            example::closed("random", 1.0, 16 << 10, 32),
            example::open("random", 1.0, 16 << 10, 6_000.0),
        ]);
        assert_eq!(both.volumes[0].gives.len(), 1, "{both:?}");
    }

    #[test]
    fn a_volume_gives_one_number_for_each_subject_that_was_measured() {
        let block = block_of(sweep(20));
        let [volume] = block.volumes.as_slice() else { panic!("{block:?}") };
        let subjects: Vec<VerdictSubject> = volume.gives.iter().map(|figure| figure.what).collect();
        assert_eq!(subjects, [VerdictSubject::SmallReads, VerdictSubject::LargeReads, VerdictSubject::OneRead]);
        assert!((volume.gives[0].value - 3_000.0).abs() < 30.0, "{:?}", volume.gives[0]);
        assert!((volume.gives[1].value - 125e6).abs() < 2e6, "{:?}", volume.gives[1]);
        assert_eq!(volume.limit, Some(Limit::DiskIops));
        assert_eq!(volume.certainty, Certainty::Likely);
        for figure in &volume.gives {
            assert!(figure.low.is_none_or(|low| low <= figure.value), "{figure:?}");
            assert!(figure.high.is_none_or(|high| high >= figure.value), "{figure:?}");
        }
    }

    #[test]
    fn an_open_loop_gives_the_figure_only_if_no_closed_one_was_measured() {
        let disk = ExampleDisk { iops: 3_000.0, ..ExampleDisk::default() };
        let open = example::cell(example::open("random", 1.0, 4096, 2_950.0), &disk, &[1.0]);
        let closed = example::cell(example::closed("random", 1.0, 4096, 32), &disk, &[0.9]);
        let first = |cells: Vec<loadline_record::CellRecord>| {
            summarize(&example::run(cells)).verdict.expect("a verdict").volumes[0].gives[0].clone()
        };
        // The open loop completed more, and its backlog may have grown all the time.
        assert_eq!(first(vec![open.clone(), closed]).at, "depth 32");
        assert_eq!(first(vec![open]).at, "2,950 arrivals a second");
    }

    #[test]
    fn the_objective_is_kept_up_to_a_load_or_missed_by_the_lightest() {
        let kept = block_of(sweep(100)).objective.expect("judged");
        assert!(matches!(kept.found, ObjectiveFound::Everywhere { .. }), "{kept:?}");
        let some = block_of(sweep(5)[..3].to_vec()).objective.expect("judged");
        let ObjectiveFound::UpTo { kept, broken, .. } = &some.found else { panic!("{some:?}") };
        assert_eq!((&*kept.at, &*broken.at), ("depth 8", "depth 32"));
        assert!(matches!((kept.answered, broken.answered), (Answered::After(_), Answered::After(_))), "{some:?}");
        let lost = block_of(
            sweep(0)
                .into_iter()
                .map(|load| {
                    let objective = ObjectiveSet { of: LatencyFigure::Mean, limit: Duration::from_us(500) };
                    LoadFigures { objective: Some(objective), ..load }
                })
                .collect(),
        )
        .objective
        .expect("judged");
        let ObjectiveFound::Broken { lightest, .. } = &lost.found else { panic!("{lost:?}") };
        assert_eq!(lightest.at, "depth 1");
    }

    #[test]
    fn where_some_loads_have_an_objective_no_other_is_spoken_of() {
        let objective = ObjectiveSet { of: LatencyFigure::P99, limit: Duration::from_ms(5) };
        let with = |load: LoadFigures| LoadFigures { objective: Some(objective), ..load };
        let without = |load: LoadFigures| LoadFigures { objective: None, ..load };
        let disk = ExampleDisk { iops: 3_000.0, ..ExampleDisk::default() };
        let closed = [1, 8, 32].map(|depth| without(example::closed("random", 1.0, 4096, depth)));
        let open = [1_500.0, 2_500.0].map(|rate| with(example::open("random", 1.0, 4096, rate)));
        let loads = closed.into_iter().chain(open);
        let mut record = example::run(loads.map(|load| example::cell(load, &disk, &[1.0])).collect());
        // Of findings and of the conclusion.
        let spoken = |record: &RunRecord| {
            let summary = summarize(record);
            let found = summary.findings.iter().filter_map(|found| match &found.seen {
                FindingSeen::Objective(seen) => Some((seen.objective.figure, seen.objective.limit_ns)),
                FindingSeen::KeptEverywhere { objective, .. } => Some((objective.figure, objective.limit_ns)),
                _ => None,
            });
            let meant = summary.conclusions.iter().flat_map(|one| &one.means).filter_map(|one| match one {
                Meaning::DeeperAdds { objective, .. } => objective.as_ref().map(|of| (of.figure, of.limit_ns)),
                _ => None,
            });
            let mut all: Vec<(LatencyFigure, u64)> = found.chain(meant).collect();
            assert_eq!(all.len(), 3, "{all:?}");
            all.dedup();
            all
        };
        assert_eq!(spoken(&record), [(LatencyFigure::P99, 5_000_000)]);
        record.judge_by(ObjectiveSet { of: LatencyFigure::Mean, limit: Duration::from_ms(7) });
        let judged: Vec<bool> = record.cells.iter().map(|cell| cell.load.figures().objective.is_some()).collect();
        assert_eq!(judged, [false, false, false, true, true], "the same loads, by another objective");
        assert_eq!(spoken(&record), [(LatencyFigure::Mean, 7_000_000)]);
    }

    #[test]
    fn what_holds_a_load_after_its_burst_says_when_that_ended_and_what_there_was_before() {
        let disk = ExampleDisk { iops: 600.0, ..ExampleDisk::default() };
        let load = example::closed("random", 1.0, 8 << 10, 32);
        let mut summary = summarize(&example::run(vec![example::cell(load, &disk, &[1.0])]));
        let cell = &mut summary.cells[0];
        let binding = Binding::known(Limit::BurstExhausted, Some(600.0), Some(1.0), Evidence::default());
        cell.binding = Some(binding);
        let record = example::run(Vec::new());
        let found =
            |cell: &CellSummary| match (VolumeCells { record: &record, cells: &[], own: Vec::new() }).holder(cell) {
                Holder::Limit(held) => (held.limit, held.burst.map(|burst| (burst.iops, burst.before_ns))),
                other => panic!("{other:?}"),
            };
        assert_eq!(found(cell), (Limit::BurstExhausted, None));
        cell.lasting = Some(LastingFigures {
            iops_before: 3_001.0,
            bytes_per_s_before: 24.6e6,
            before_ns: Some(2_249_000_000_000),
            iops: 600.0,
            throughput_bytes_per_s: 4.9e6,
            latency_ns: LastingLatency { mean: None, p50: None, p99: None, max: None },
            source: None,
        });
        assert_eq!(found(cell), (Limit::BurstExhausted, Some((3_001.0, Some(2_249_000_000_000)))));
    }

    #[test]
    fn a_median_far_below_the_mean_is_not_shown_alone() {
        let disk = ExampleDisk { latency_ns: 20e3, ..ExampleDisk::default() };
        let mut cell = example::cell(example::closed("random", 1.0, 4 << 10, 1), &disk, &[1.0]);
        let of = |cell: &loadline_record::CellRecord| {
            let volume = summarize(&example::run(vec![cell.clone()])).verdict.unwrap().volumes.remove(0);
            volume.gives.into_iter().find(|figure| figure.what == VerdictSubject::OneRead).unwrap()
        };
        assert_eq!(of(&cell).mean_ns, None);
        let reads = cell.trials[0].operations.values_mut().next().unwrap();
        for _ in 0..reads.count / 20 {
            reads.latency.record(Duration::from_ms(50));
        }
        let found = of(&cell);
        assert!(found.mean_ns.is_some_and(|mean| mean > 2e6 && mean > found.value * 2.0), "{found:?}");
    }

    #[test]
    fn each_throttle_is_in_the_verdict_with_what_lifts_it() {
        use loadline_record::{KernelThrottle, ThrottledQuantity, ThrottledRequests};
        let throttle = |requests, name: &str, per_s| KernelThrottle {
            requests,
            counts: ThrottledQuantity::Requests,
            per_s,
            group: "/db".into(),
            file: format!("/sys/fs/cgroup/blkio/db/blkio.throttle.{name}_iops_device"),
            lifted_by: "7:0 0".into(),
        };
        let of = |reads: u64| {
            let cell = |read_ratio, iops| {
                let disk = ExampleDisk { iops, ..ExampleDisk::default() };
                example::cell(example::closed("random", read_ratio, 4 << 10, 32), &disk, &[1.0])
            };
            let mut record = example::run(vec![cell(1.0, 3_000.0), cell(0.0, 400.0)]);
            let reads = throttle(ThrottledRequests::Reads, "read", reads);
            record.header.volumes[0].devices[0].throttles =
                vec![reads, throttle(ThrottledRequests::Writes, "write", 400)];
            let summary = summarize(&record);
            let lifts = |step: &AdvisedStep| matches!(step, AdvisedStep::Lift { .. });
            let lifted = summary.conclusions.iter().filter(|one| one.steps.iter().any(lifts));
            (summary.verdict.unwrap().volumes.remove(0), lifted.count())
        };
        let (both, lifted) = of(3_000);
        let found = |volume: &VolumeVerdict| match &volume.held_by {
            Holder::Throttles { throttles, besides } => (
                throttles.iter().map(|held| held.limit.per_s).collect::<Vec<_>>(),
                besides.as_ref().map(|besides| besides.operation),
            ),
            other => panic!("{other:?}"),
        };
        assert_eq!((found(&both), both.certainty, lifted), ((vec![3_000, 400], None), Certainty::Certain, 2));
        let command = both.command.unwrap();
        assert!(
            command.contains("read_iops_device && echo '7:0 0' | sudo tee") && command.ends_with("write_iops_device")
        );
        // What the reads run into is not known with certainty, and the throttle of the writes is.
        let (writes, _) = of(90_000);
        assert_eq!(found(&writes), (vec![400], Some(Some(Operation::Read))));
        assert_eq!((writes.certainty, writes.limit), (Certainty::Certain, Some(Limit::DiskIops)));
        assert!(writes.command.unwrap().ends_with("write_iops_device"));
    }

    #[test]
    fn a_lighter_load_that_misses_an_objective_ends_what_keeps_it() {
        let objective = ObjectiveSet { of: LatencyFigure::Mean, limit: Duration::from_ms(20) };
        let of = |depth: u32, iops: f64| {
            let disk = ExampleDisk { latency_ns: f64::from(depth) * 1e9 / iops, iops, bytes_per_s: 1e9 };
            let load = LoadFigures { objective: Some(objective), ..example::closed("random", 1.0, 4 << 10, depth) };
            example::cell(load, &disk, &[1.0])
        };
        let verdict = |cells: Vec<loadline_record::CellRecord>| {
            let objective = summarize(&example::run(cells)).verdict.expect("a verdict").objective.expect("one is set");
            objective.found
        };
        // Depth 8 takes 80 ms, and depth 16, which takes 5, is no load up to which it is kept.
        let found = verdict(vec![of(1, 1_000.0), of(8, 100.0), of(16, 3_200.0)]);
        let ObjectiveFound::UpTo { kept, broken, .. } = &found else { panic!("{found:?}") };
        assert_eq!((&*kept.at, &*broken.at), ("depth 1", "depth 8"));
        let found = verdict(vec![of(8, 100.0), of(16, 3_200.0)]);
        let ObjectiveFound::Broken { lightest, heavier: Some(heavier), .. } = &found else { panic!("{found:?}") };
        assert_eq!((&*lightest.at, &*heavier.at), ("depth 8", "depth 16"));
    }

    #[test]
    fn a_figure_that_a_doubt_spoils_is_used_only_if_there_is_no_other_and_then_says_so() {
        let disk = ExampleDisk { iops: 3_000.0, ..ExampleDisk::default() };
        let mut cells: Vec<_> =
            [8, 32].map(|depth| example::cell(example::closed("random", 1.0, 4096, depth), &disk, &[1.0])).into();
        let spoil = |cell: &mut loadline_record::CellRecord| {
            cell.trials[0].doubts.push(Doubt::written(DoubtCode::CachedReads, "the devices read less than was asked"));
        };
        spoil(&mut cells[1]);
        let volume = summarize(&example::run(cells.clone())).verdict.expect("a verdict").volumes.remove(0);
        assert_eq!(volume.gives[0].at, "depth 8");
        spoil(&mut cells[0]);
        let volume = summarize(&example::run(cells)).verdict.expect("a verdict").volumes.remove(0);
        assert!(matches!(volume.certainty, Certainty::Doubtful | Certainty::Unknown), "{volume:?}");
    }
}
