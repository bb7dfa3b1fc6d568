//! The verdict of a watch and its conclusions: what holds each device, how sure that is, and what to do.

use super::findings::{is_storage, waited};
use super::holder::{OtherProgram, WatchBeside, WatchHeld, WatchHolder, WatchNext, WatchStep};
use super::waiting;
use crate::conclusion::{AdvisedStep, Conclusion, LoadReached, Meaning};
use crate::summary::{CauseShare, CellSummary, WatchView};
use crate::verdict_block::{
    Advised, Because, Certainty, Holder, Reached, VerdictBlock, VerdictFigure, VerdictSubject, VolumeVerdict,
};
use crate::words::{VOLUMES_MAX, block, percent};
use loadline_record::{Binding, HiddenProcesses, Limit, SourceLimit, WatchCause};

/// A program that moves so much of the device's bytes is worth a name.
const OTHERS_SHARE: f64 = 0.5;
/// Two causes are near each other if the smaller has this much of the larger one's time.
const NEAR: f64 = 0.7;
/// Where so many requests are outstanding, more at once are no advice.
const MANY_OUTSTANDING: f64 = 4.0;
/// Storage that is waited for less than this is not worth a change.
const GAIN_MIN: f64 = 0.1;

/// Beside the program that was named: another one that is known to move most of the device's bytes.
fn crowded(cell: &CellSummary, watch: &WatchView) -> Option<OtherProgram> {
    watch.programs.iter().find(|program| program.named)?;
    let others = watch.programs.iter().filter(|program| !program.named);
    let known = others.filter_map(|program| Some((program, program.share?)));
    let most = known.filter(|(_, share)| *share >= OTHERS_SHARE).max_by(|(_, a), (_, b)| a.total_cmp(b));
    most.map(|(program, share_of_bytes)| OtherProgram {
        program: program.name.clone(),
        pid: program.pid,
        share_of_bytes,
        device: cell.volume.clone(),
    })
}

/// How the time is divided between storage and what uses it.
struct Sides<'a> {
    /// Share of the time in which storage, or a limit on it, was waited for.
    storage: f64,
    /// The largest cause of that, and the largest of the rest.
    of_storage: Option<&'a CauseShare>,
    of_others: Option<&'a CauseShare>,
}

impl<'a> Sides<'a> {
    fn of(watch: &'a WatchView) -> Self {
        let (of_storage, of_others): (Vec<&CauseShare>, Vec<&CauseShare>) =
            watch.causes.iter().partition(|cause| is_storage(cause.limit));
        Self {
            storage: waited(&watch.causes),
            of_storage: of_storage.first().copied(),
            of_others: of_others.first().copied(),
        }
    }
    /// Whether both had about as much of the time.
    fn is_even(&self) -> bool {
        let others = 1.0 - self.storage;
        self.storage.min(others) >= self.storage.max(others) * NEAR
    }
    /// Whether other storage changes next to nothing.
    fn is_elsewhere(&self) -> bool {
        self.storage < GAIN_MIN
    }
    /// What else has the time, beside what holds.
    fn beside(&self, watch: &WatchView, by: &WatchHeld) -> WatchBeside {
        match (by, self.of_storage, self.of_others) {
            (WatchHeld::Storage { .. }, _, Some(other)) if self.is_even() => {
                WatchBeside::AsMuch { other: other.clone() }
            }
            (WatchHeld::Other { .. }, Some(other), _) if self.is_even() => WatchBeside::AsMuch { other: other.clone() },
            (WatchHeld::Storage { share_of_time, .. }, _, Some(other)) if other.share > *share_of_time => {
                WatchBeside::Otherwise { other: other.clone() }
            }
            (WatchHeld::Storage { share_of_time, .. }, ..) => {
                let near = watch.causes.iter().filter(|cause| is_storage(cause.limit)).nth(1);
                let near = near.filter(|cause| cause.share >= share_of_time * NEAR);
                near.map_or(WatchBeside::Nothing, |other| WatchBeside::NearlyAsMuch { other: other.clone() })
            }
            (WatchHeld::Other { .. }, Some(storage), _) if !self.is_elsewhere() => {
                WatchBeside::SomeStorage { storage: storage.clone() }
            }
            (WatchHeld::Other { .. }, ..) => WatchBeside::NoStorage { busy_share: watch.busy_share },
        }
    }
}

/// Whether anything reached the device.
fn is_idle(cell: &CellSummary) -> bool {
    cell.total.as_ref().is_none_or(|total| total.iops <= 0.0)
}

/// What held it.
fn holder(cell: &CellSummary) -> WatchHolder {
    let (Some(binding), Some(watch)) = (&cell.binding, &cell.watch) else { return WatchHolder::Unknown };
    if is_idle(cell) && binding.limit == Limit::Arrival {
        return WatchHolder::NoRequest { device: cell.volume.clone() };
    }
    let sides = Sides::of(watch);
    let share_of_time = cell.binding_share.unwrap_or(0.0);
    let by = if is_storage(Some(binding.limit)) {
        let (limit, ceiling_iops, presumed) = (binding.limit, binding.ceiling_iops, binding.presumed);
        let (queue, memory) = match &watch.standing {
            Some(SourceLimit::Queue { queue }) => (Some(queue.clone()), None),
            Some(SourceLimit::Memory { limit, .. }) => (None, Some(Box::new(limit.clone()))),
            _ => (None, None),
        };
        let throttle = cell.held_by.clone();
        let swap =
            matches!(sides.of_storage, Some(CauseShare { cause: WatchCause::Swap, .. })) && limit == Limit::Memory;
        WatchHeld::Storage { limit, ceiling_iops, presumed, throttle, queue, memory, swap, share_of_time }
    } else {
        WatchHeld::Other { limit: binding.limit, cause: sides.of_others.cloned() }
    };
    let crowd = crowded(cell, watch).filter(|_| binding.limit != Limit::Arrival);
    WatchHolder::Held { beside: Box::new(sides.beside(watch, &by)), by: Box::new(by), crowd }
}

/// The command that lifts what holds it, where that stands in a file.
fn lifting_command(cell: &CellSummary) -> Option<String> {
    cell.watch.as_ref()?.standing.as_ref()?.lifting_command()
}

/// What to do.
fn next(cell: &CellSummary) -> Option<WatchNext> {
    let (binding, watch) = (cell.binding.as_ref()?, cell.watch.as_ref()?);
    // What is known comes first, and is what the command does.
    if lifting_command(cell).is_some() {
        return Some(if cell.held_by.is_some() { WatchNext::LiftThrottle } else { WatchNext::LiftSetting });
    }
    if is_idle(cell) && binding.limit == Limit::Arrival {
        return Some(WatchNext::WatchAtWork { device: cell.volume.clone() });
    }
    if let Some(other) = crowded(cell, watch).filter(|_| binding.limit != Limit::Arrival) {
        return Some(WatchNext::SeeProgram { other });
    }
    let sides = Sides::of(watch);
    if let (Limit::Arrival, Some(CauseShare { cause: WatchCause::Application { at, .. }, .. })) =
        (binding.limit, sides.of_others)
    {
        let storage_saves = if sides.is_elsewhere() { 0.0 } else { sides.storage };
        return Some(WatchNext::Application { at: *at, storage_saves });
    }
    let step = match binding.limit {
        Limit::Arrival if sides.is_elsewhere() => return Some(WatchNext::LookElsewhere),
        Limit::DiskIops => WatchStep::MoreIops,
        Limit::DiskThroughput => WatchStep::MoreThroughput,
        Limit::VmUncachedIops | Limit::VmUncachedThroughput | Limit::VmCachedIops | Limit::VmCachedThroughput => {
            WatchStep::LargerMachine
        }
        Limit::BurstExhausted => WatchStep::HigherBaseline,
        Limit::Latency if watch.outstanding.is_some_and(|depth| depth >= MANY_OUTSTANDING) => WatchStep::FasterOnly,
        Limit::Latency => WatchStep::FasterAnswers,
        Limit::Flush => WatchStep::FasterFlushes,
        Limit::Memory => WatchStep::MoreMemory,
        Limit::Cpu => WatchStep::MoreCpu,
        Limit::Cache => WatchStep::KeepStorage,
        Limit::Arrival => WatchStep::SeeApplication,
        Limit::Generator | Limit::Interface | Limit::Parallelism | Limit::Unexplained => return None,
    };
    let storage_saves = match binding.limit {
        Limit::Cpu if sides.is_elsewhere() => Some(0.0),
        Limit::Arrival | Limit::Cpu => Some(sides.storage),
        Limit::Latency | Limit::Flush | Limit::Cache | Limit::Memory => Some(sides.storage).filter(|_| sides.is_even()),
        _ => None,
    };
    Some(WatchNext::Step { step, storage_saves })
}

fn certainty(cell: &CellSummary) -> (Certainty, Because) {
    if let Some(held) = &cell.held_by {
        let file = held.limit.file.clone();
        return (Certainty::Certain, Because::ReadFrom { file, reached: Some(Reached::ByAllThatIsAsked) });
    }
    let Some(binding) = &cell.binding else { return (Certainty::Unknown, Because::NothingSeen) };
    if let Some(hidden) = cell.watch.as_ref().and_then(|watch| rests_on_programs(cell, binding, watch)) {
        return (Certainty::Doubtful, Because::Watched { seen: binding.seen.clone(), hidden: Some(hidden) });
    }
    let certainty = match (binding.inferred, binding.presumed) {
        (false, _) => Certainty::Certain,
        (true, true) => Certainty::Doubtful,
        (true, false) => Certainty::Likely,
    };
    (certainty, Because::Watched { seen: binding.seen.clone(), hidden: None })
}

/// The processes that could not be seen, if what held the device follows from what its programs did, and nobody said which one counts.
/// What the device's counters show, or a file of the kernel, does not rest on programs.
fn rests_on_programs(cell: &CellSummary, binding: &Binding, watch: &WatchView) -> Option<HiddenProcesses> {
    let rests = matches!(binding.limit, Limit::Arrival | Limit::Cpu | Limit::Cache | Limit::Memory);
    let is_read = watch.standing.is_some();
    let is_named = watch.programs.iter().any(|program| program.named);
    watch.hidden.filter(|_| rests && !is_read && !is_named && !is_idle(cell))
}

/// The run in a few lines.
pub(crate) fn verdict(cells: &[CellSummary]) -> Option<VerdictBlock> {
    let mut volumes = volumes(cells);
    let volumes_left_out = volumes.len().saturating_sub(VOLUMES_MAX);
    volumes.truncate(VOLUMES_MAX);
    (!volumes.is_empty()).then_some(VerdictBlock { volumes, volumes_left_out, ..VerdictBlock::default() })
}

/// What holds each device.
pub(crate) fn volumes(cells: &[CellSummary]) -> Vec<VolumeVerdict> {
    // A device that most was asked of comes first.
    let mut order: Vec<&CellSummary> = cells.iter().filter(|cell| cell.watch.is_some()).collect();
    order.sort_by(|a, b| {
        let key = |cell: &CellSummary| cell.watch.as_ref().map_or(0.0, |watch| watch.busy_share);
        key(b).total_cmp(&key(a))
    });
    order
        .iter()
        .map(|cell| {
            let (certainty, because) = certainty(cell);
            VolumeVerdict {
                volume: if cells.len() == 1 { String::new() } else { cell.volume.clone() },
                gives: vec![asked(cell)],
                limit: cell.binding.as_ref().map(|binding| binding.limit),
                held_by: Holder::Watch(holder(cell)),
                throttle: cell.held_by.clone(),
                certainty,
                because,
                latency: cell.watch.as_ref().and_then(|watch| watch.above_device.clone()),
                next: next(cell).map(|step| Advised::Watch { step, record: false }),
                takes_ns: None,
                command: lifting_command(cell),
                cell: cell.id.clone(),
                known: None,
            }
        })
        .collect()
}

/// What was asked of the device.
fn asked(cell: &CellSummary) -> VerdictFigure {
    let reads = percent(cell.load.read_ratio);
    let total = cell.total.as_ref();
    let outstanding = cell.watch.as_ref().and_then(|watch| watch.outstanding);
    let at =
        outstanding.map_or_else(|| "nothing outstanding".to_owned(), |depth| format!("{} outstanding", waiting(depth)));
    let load = match total {
        Some(total) if total.iops > 0.0 => {
            format!("asked of {}: {}, {reads} reads", cell.volume, block(cell.load.block_bytes))
        }
        _ => format!("asked of {}", cell.volume),
    };
    VerdictFigure {
        what: VerdictSubject::Requests,
        load,
        at,
        value: total.map_or(0.0, |total| total.iops),
        low: None,
        high: None,
        p99_ns: None,
        p99_9_ns: None,
        mean_ns: None,
        cell: cell.id.clone(),
    }
}

/// The same as conclusions.
pub(crate) fn conclusions(cells: &[CellSummary]) -> Vec<Conclusion> {
    let of = |cell: &CellSummary| {
        let watch = cell.watch.as_ref()?;
        let limit = cell.binding.as_ref().map(|binding| binding.limit);
        Some(Conclusion {
            volume: cell.volume.clone(),
            cell: cell.id.clone(),
            limit,
            reached: LoadReached::WatchHolder { holder: holder(cell) },
            seen: cell.binding.as_ref().map(|binding| binding.seen.clone()).unwrap_or_default(),
            means: vec![Meaning::WatchGain { gain: watch.gain }],
            steps: next(cell).map(|step| AdvisedStep::WatchNext { step }).into_iter().collect(),
            takes_ns: None,
            commands: lifting_command(cell).into_iter().collect(),
        })
    };
    cells.iter().filter_map(of).collect()
}
