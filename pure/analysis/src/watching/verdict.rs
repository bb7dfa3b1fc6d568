//! The verdict of a watch and its conclusions: what holds each device, how sure that is, and what to do.

use super::of_the_time;
use super::said::{cause_words, gain_words, is_storage, waited, waiting};
use crate::summary::{CauseShare, CellSummary, Conclusion, ProgramFigures, WatchView};
use crate::verdict_block::{
    Because, Certainty, HeldBy, Reached, VerdictBlock, VerdictFigure, VerdictSubject, VolumeVerdict,
};
use crate::words::{block, number, percent, sentence};
use loadline_record::{Binding, HiddenProcesses, Limit};

/// Volumes that a verdict speaks of.
const VOLUMES_MAX: usize = 8;
/// A program that moves so much of the device's bytes is worth a name.
const OTHERS_SHARE: f64 = 0.5;
/// Two causes are near each other if the smaller has this much of the larger one's time.
const NEAR: f64 = 0.7;
/// Storage that is waited for less than this is not worth a change.
const GAIN_MIN: f64 = 0.1;

/// Beside the program that was named: another one that is known to move most of the device's bytes.
fn crowded(watch: &WatchView) -> Option<(&ProgramFigures, f64)> {
    watch.programs.iter().find(|program| program.named)?;
    let others = watch.programs.iter().filter(|program| !program.named);
    let known = others.filter_map(|program| Some((program, program.share?)));
    known.filter(|(_, share)| *share >= OTHERS_SHARE).max_by(|(_, a), (_, b)| a.total_cmp(b))
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
    /// "; faster storage saves at most 30 % of the time".
    fn saves(&self) -> String {
        format!("faster storage saves at most {}", of_the_time(self.storage))
    }
}

/// "waiting for the device's answers, 30 % of the time".
fn with_time(cause: &CauseShare) -> String {
    format!("{}, {}", cause_words(&cause.cause), of_the_time(cause.share))
}

/// Whether anything reached the device.
fn is_idle(cell: &CellSummary) -> bool {
    cell.total.as_ref().is_none_or(|total| total.iops <= 0.0)
}

/// What held it, in words.
fn holder(cell: &CellSummary) -> String {
    let (Some(binding), Some(watch)) = (&cell.binding, &cell.watch) else { return "not known".to_owned() };
    if is_idle(cell) && binding.limit == Limit::Arrival {
        return format!("nothing: no request reached {}", cell.volume);
    }
    let sides = Sides::of(watch);
    let own = if is_storage(Some(binding.limit)) {
        limit_words(cell, binding)
    } else {
        sides.of_others.map_or_else(|| binding.limit.name().to_owned(), with_time)
    };
    let share = cell.binding_share.unwrap_or(0.0);
    let text = match (is_storage(Some(binding.limit)), sides.of_storage, sides.of_others) {
        (true, _, Some(other)) if sides.is_even() => format!("both {own}, and {}", with_time(other)),
        (false, Some(storage), _) if sides.is_even() => format!("both {}, and {own}", with_time(storage)),
        (true, _, Some(other)) if other.share > share => format!("{own}; otherwise {}", with_time(other)),
        (true, ..) => {
            let near = watch.causes.iter().filter(|cause| is_storage(cause.limit)).nth(1);
            match near.filter(|cause| cause.share >= share * NEAR) {
                Some(near) => format!("{own}; nearly as long {}", with_time(near)),
                None => own,
            }
        }
        (false, Some(storage), _) if !sides.is_elsewhere() => {
            format!("mostly not the storage: {own}; {}", with_time(storage))
        }
        (false, ..) => match binding.limit {
            Limit::Arrival => format!("not the storage: it was busy {}", of_the_time(watch.busy_share)),
            Limit::Cache => "not the storage: the page cache answers".to_owned(),
            _ => format!("not the storage but {own}"),
        },
    };
    match crowded(watch) {
        Some((other, share)) if binding.limit != Limit::Arrival => {
            format!("{text}; {} ({}) has {} of the bytes of {}", other.name, other.pid, percent(share), cell.volume)
        }
        _ => text,
    }
}

/// A limit of storage, with its value and its share of the time.
fn limit_words(cell: &CellSummary, binding: &Binding) -> String {
    let value = binding.ceiling_iops.map(|iops| format!(", {} IOPS for this load", number(iops))).unwrap_or_default();
    let value = if binding.presumed { format!("{value} (presumed)") } else { value };
    let time = of_the_time(cell.binding_share.unwrap_or(0.0));
    match (&cell.held_by, binding.limit) {
        (Some(held), _) => format!("{}, {time}", held.sentence()),
        (None, Limit::DiskIops) => format!("the disk's limit on requests per second{value}, {time}"),
        (None, Limit::DiskThroughput) => format!("the disk's limit on bytes per second{value}, {time}"),
        (None, Limit::VmUncachedIops | Limit::VmCachedIops) => {
            format!("the VM's limit on requests per second ({}){value}, {time}", binding.limit.name())
        }
        (None, Limit::VmUncachedThroughput | Limit::VmCachedThroughput) => {
            format!("the VM's limit on bytes per second ({}){value}, {time}", binding.limit.name())
        }
        (None, Limit::BurstExhausted) => format!("the baseline, after the burst was used up{value}, {time}"),
        (None, Limit::Latency) => format!("the time that each answer of the disk takes, {time}"),
        (None, Limit::Flush) => format!("the time until writes are durable, {time}"),
        (None, limit) => format!("{}{value}, {time}", limit.name()),
    }
}

/// What to do.
fn next(cell: &CellSummary) -> Option<String> {
    let (binding, watch) = (cell.binding.as_ref()?, cell.watch.as_ref()?);
    // What is known comes first, and is what the command does.
    if cell.held_by.is_some() {
        return Some("if this limit is not meant, lift it: that costs nothing".to_owned());
    }
    if is_idle(cell) && binding.limit == Limit::Arrival {
        return Some(format!("watch while the application works; without a name, every disk but {}", cell.volume));
    }
    if let Some((other, share)) = crowded(watch).filter(|_| binding.limit != Limit::Arrival) {
        return Some(format!(
            "see first whether {} ({}) must run now: it has {} of the bytes of {}",
            other.name,
            other.pid,
            percent(share),
            cell.volume
        ));
    }
    let sides = Sides::of(watch);
    let text = match binding.limit {
        Limit::DiskIops => "compare with what the disk is sold with; more needs another disk or a stripe",
        Limit::DiskThroughput => {
            "compare with what the disk is sold with; more needs a disk with more MB/s, or a stripe"
        }
        Limit::VmUncachedIops | Limit::VmUncachedThroughput | Limit::VmCachedIops | Limit::VmCachedThroughput => {
            "more needs a larger VM; faster disks change nothing"
        }
        Limit::BurstExhausted => "plan with this rate, or take a disk with a higher baseline",
        Limit::Latency => {
            "ask for more at once (more connections, deeper read-ahead), or take a disk that answers faster"
        }
        Limit::Flush => "make several writes durable with one flush, or take a disk that flushes faster",
        Limit::Cpu => "give the application more CPU",
        Limit::Cache => "leave the storage as it is, as long as the memory stays",
        Limit::Arrival if sides.is_elsewhere() => {
            return Some("look elsewhere: other storage changes nothing here".to_owned());
        }
        Limit::Arrival => "see what the application does while it asks for nothing",
        _ => return None,
    };
    Some(match binding.limit {
        Limit::Cpu if sides.is_elsewhere() => format!("{text}; other storage changes nothing"),
        Limit::Arrival | Limit::Cpu => format!("{text}; {}", sides.saves()),
        Limit::Latency | Limit::Flush | Limit::Cache if sides.is_even() => format!("{text}; {}", sides.saves()),
        _ => text.to_owned(),
    })
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
fn rests_on_programs(cell: &CellSummary, binding: &Binding, watch: &WatchView) -> Option<HiddenProcesses> {
    let rests = matches!(binding.limit, Limit::Arrival | Limit::Cpu | Limit::Cache | Limit::Latency | Limit::Flush);
    let is_named = watch.programs.iter().any(|program| program.named);
    watch.hidden.filter(|_| rests && !is_named && !is_idle(cell))
}

/// The run in a few lines.
pub(crate) fn verdict(cells: &[CellSummary]) -> Option<VerdictBlock> {
    // A device that most was asked of comes first.
    let mut order: Vec<&CellSummary> = cells.iter().filter(|cell| cell.watch.is_some()).collect();
    order.sort_by(|a, b| {
        let key = |cell: &CellSummary| cell.watch.as_ref().map_or(0.0, |watch| watch.busy_share);
        key(b).total_cmp(&key(a))
    });
    let volumes: Vec<VolumeVerdict> = order
        .iter()
        .map(|cell| {
            let (certainty, because) = certainty(cell);
            VolumeVerdict {
                volume: if cells.len() == 1 { String::new() } else { cell.volume.clone() },
                gives: vec![asked(cell)],
                limit: cell.binding.as_ref().map(|binding| binding.limit),
                held_by: holder(cell),
                throttle: cell.held_by.clone(),
                certainty,
                because,
                latency: cell.watch.as_ref().and_then(|watch| Some(watch.above_device.as_ref()?.in_short())),
                next: next(cell),
                command: cell.held_by.as_ref().map(HeldBy::lifting_command),
                cell: cell.id.clone(),
            }
        })
        .collect();
    let volumes_left_out = volumes.len().saturating_sub(VOLUMES_MAX);
    let volumes: Vec<VolumeVerdict> = volumes.into_iter().take(VOLUMES_MAX).collect();
    (!volumes.is_empty()).then_some(VerdictBlock { volumes, volumes_left_out, not_measured: None, objective: None })
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
        mean_ns: None,
        cell: cell.id.clone(),
    }
}

/// Each device in a sentence or two.
pub(crate) fn conclusions(cells: &[CellSummary]) -> Vec<Conclusion> {
    let of = |cell: &CellSummary| {
        let watch = cell.watch.as_ref()?;
        let limit = cell.binding.as_ref().map(|binding| binding.limit);
        Some(Conclusion {
            volume: cell.volume.clone(),
            cell: cell.id.clone(),
            limit,
            text: sentence(&format!("what holds {}: {}", cell.volume, holder(cell))),
            seen: cell.binding.as_ref().map(|binding| binding.seen.clone()).unwrap_or_default(),
            consequence: Some(sentence(&gain_words(watch.gain))),
            next: next(cell).map(|next| sentence(&next)),
            next_measurements: Vec::new(),
            commands: cell.held_by.as_ref().map(HeldBy::lifting_command).into_iter().collect(),
        })
    };
    cells.iter().filter_map(of).collect()
}
