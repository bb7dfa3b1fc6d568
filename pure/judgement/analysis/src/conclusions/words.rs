//! Each limit in words: what binds, what that means for the figure, and what would move it.

use crate::doubts::meaning as meaning_of_doubt;
use crate::finding::{RiseSeen, TrialLevels};
use crate::limits::others_share;
use crate::summary::{CellSummary, NextMeasurement};
use crate::words::how_much;
use crate::words::{counted, listed, number, percent, seconds, sentence};
use loadline_record::{Ceiling, CellRecord, Clock, DoubtCode, Limit, RunRecord, TargetKind, VolumeFacts};
use loadline_units::{Bytes, Duration};

/// Other work took the CPUs if this share of their busy time was not the tool's.
const OTHERS_MOST: f64 = 0.5;
/// Time that a hypervisor takes above this explains CPUs that are busy.
const STEAL_MUCH: f64 = 0.1;

/// Measured time after which the usual bursts are spent.
const LONGER: Duration = Duration::from_s(120);
/// A range this many times the machine's memory, or the range before, is larger than most caches.
const RANGE_FACTOR: u64 = 2;

/// What to do about a limit, and the measurement that it asks for.
pub(super) struct Advice {
    /// Completes "Next: ..."; without a full stop.
    pub(super) text: String,
    /// In types, for programs that carry it out or print how.
    pub(super) measurement: Option<NextMeasurement>,
}

impl Advice {
    fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), measurement: None }
    }

    fn with(text: impl Into<String>, measurement: NextMeasurement) -> Self {
        Self { text: text.into(), measurement: Some(measurement) }
    }

    /// The advice with more behind it.
    pub(super) fn and(mut self, more: &str) -> Self {
        self.text = format!("{}; and {more}", self.text);
        self
    }

    /// As a sentence.
    pub(super) fn sentence(&self) -> String {
        format!("{}.", sentence(self.text.trim_end_matches('.')))
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Self {
        Self::of(text)
    }
}

/// What binds.
pub(super) const fn what_binds(limit: Limit) -> &'static str {
    match limit {
        Limit::DiskIops => "the disk's requests per second bind",
        Limit::DiskThroughput => "the disk's bytes per second bind",
        Limit::VmUncachedIops => "the VM's uncached requests per second bind, not the disks",
        Limit::VmUncachedThroughput => "the VM's uncached bytes per second bind, not the disks",
        Limit::VmCachedIops => "the VM's cached requests per second bind, not the disks",
        Limit::VmCachedThroughput => "the VM's cached bytes per second bind, not the disks",
        Limit::BurstExhausted => "the burst is spent and the baseline binds",
        Limit::Cache => "a cache answers, and this is its speed, not the disk's",
        Limit::Latency => "each waits only for the one before it",
        Limit::Arrival => "the load asked for no more",
        Limit::Cpu => "the machine's CPUs bind, not the storage",
        Limit::Generator => "loadline itself binds, not the storage",
        Limit::Interface => "the interface between machine and devices binds",
        Limit::Parallelism => "the storage serves only so many at once",
        Limit::Flush => "each write waits until it is durable",
        Limit::Unexplained => "nothing known binds",
    }
}

/// What the limit says of the cell's figure; `None` where it says nothing beyond its name.
pub(super) fn meaning(cell: &CellSummary, limit: Limit) -> Option<&'static str> {
    let began = cell.prediction.as_ref().is_some_and(|view| view.bursts_full || view.vm_bursts_full || view.carried);
    match limit {
        Limit::BurstExhausted if cell.prediction.is_some() && !began => {
            Some("There were no credits to begin with; with some there is more, as long as they last.")
        }
        Limit::Cpu | Limit::Generator => {
            Some("The storage was not asked for all that it can do: this is the least that it does, not the most.")
        }
        Limit::Cache => {
            Some("What the cache does not hold goes at the disk's own rate, which this load does not show.")
        }
        Limit::BurstExhausted => Some("The rate before the fall is there only as long as credits last."),
        Limit::VmUncachedIops | Limit::VmUncachedThroughput => {
            Some("The disks could do more than the VM lets through, and all its disks share what it does.")
        }
        Limit::Latency => Some("No limit of the storage has been reached yet; one lies further up."),
        Limit::Interface => Some("What the devices could do by themselves does not come through."),
        Limit::Parallelism => {
            Some("More requests at once wait for the others; no limit on requests or bytes was seen.")
        }
        Limit::Flush => {
            Some("The time until data is durable stops the writes, with what the file system's journal adds.")
        }
        Limit::VmCachedIops | Limit::VmCachedThroughput => Some(
            "What the host's cache answers counts against the VM; the disks by themselves do what they do without it.",
        ),
        Limit::DiskIops | Limit::DiskThroughput | Limit::Arrival | Limit::Unexplained => None,
    }
}

/// What would move this limit, and what would not: completes "Next: ...".
pub(super) fn advice(record: &RunRecord, cell: &CellSummary, limit: Limit, inferred: bool) -> Advice {
    let own = record.cells.iter().find(|c| c.id == cell.id);
    let measured = record.header.clock == Clock::Real;
    let text = match limit {
        Limit::DiskIops => "fewer and larger requests, a disk with more requests per second, or more disks in a stripe",
        Limit::DiskThroughput => {
            "a disk with more bytes per second, or more disks in a stripe; larger requests do not help"
        }
        Limit::VmUncachedIops | Limit::VmUncachedThroughput => {
            "a larger VM size; faster disks, or more of them, would change nothing"
        }
        Limit::VmCachedIops | Limit::VmCachedThroughput => {
            "a larger VM size, or the host's cache off where the disks by themselves allow more"
        }
        Limit::BurstExhausted => "plan with the rate after the burst, or take a disk whose baseline is high enough",
        Limit::Cache => return of_cache(record, own),
        Limit::Latency => "ask for more at once (deeper queues, more threads) before buying anything",
        Limit::Arrival => "offer more, to see where it stops",
        Limit::Cpu => return Advice::of(of_cpu(own)),
        Limit::Generator => "more load threads (threads in the plan), or a larger machine to measure from",
        Limit::Interface => "devices on another interface",
        Limit::Parallelism => {
            "storage that answers faster or serves more at once, or more disks in a stripe; more depth brings little"
        }
        Limit::Flush => {
            "make several writes durable with one flush, or take a disk that makes writes durable faster (a cache with a battery)"
        }
        Limit::Unexplained => {
            let text = "vary one factor at a time and see which moves it";
            return Advice::with(text, NextMeasurement::VaryFactors);
        }
    };
    let is_of_disk = |limit| matches!(limit, Limit::DiskIops | Limit::DiskThroughput);
    let of_disk = is_of_disk(limit);
    let declared = record.header.environment.is_some() && cell.ceilings.iter().any(|c| is_of_disk(c.limit));
    if of_disk && inferred && measured && declared {
        return Advice::of(format!(
            "find out what holds it, for the environment declares more than this for the disk and has nothing else that binds here: a \
             throttle, pauses, or another disk or size than declared. If the rate is the disk's own after all, {text}"
        ));
    }
    if of_disk && inferred && measured {
        return Advice::of(format!(
            "compare this rate with what the disk is sold with. If they agree, {text}. If the disk should do more, a limit of the \
             VM or of a throttle looks the same from here. To distinguish them, measure two disks at once, or declare the disk \
             in an environment"
        ));
    }
    Advice::of(text)
}

/// What would move the limit that follows right above the one that binds, too: completes "...; and ...".
pub(super) fn lift(next: &Ceiling) -> Option<String> {
    let by = match next.limit {
        Limit::DiskIops => "fewer requests or a disk with more of them per second",
        Limit::DiskThroughput => "a disk with more bytes per second",
        Limit::VmUncachedIops | Limit::VmUncachedThroughput | Limit::VmCachedIops | Limit::VmCachedThroughput => {
            "a larger VM size"
        }
        Limit::BurstExhausted => "a disk whose baseline is higher",
        Limit::Interface => "devices on another interface",
        Limit::Cache
        | Limit::Latency
        | Limit::Arrival
        | Limit::Cpu
        | Limit::Generator
        | Limit::Parallelism
        | Limit::Flush
        | Limit::Unexplained => return None,
    };
    Some(format!("{by}, since {} follows at {} IOPS", next.limit.name(), number(next.iops)))
}

fn of_cpu(record: Option<&CellRecord>) -> String {
    let taken =
        record.and_then(|r| r.trials.iter().filter_map(|t| Some(t.surroundings.machine?.steal)).reduce(f64::max));
    if let Some(share) = taken.filter(|share| *share > STEAL_MUCH) {
        return format!(
            "a VM size with CPUs of its own: the hypervisor took {} of the CPU time, and no change of the storage gives that back",
            percent(share)
        );
    }
    let others = record.and_then(others_share).filter(|share| *share > OTHERS_MOST);
    let Some(share) = others else {
        return "a machine with more or faster CPUs, or larger requests, which cost less CPU for each byte".to_owned();
    };
    let busiest = record.and_then(|r| r.trials.iter().find_map(|t| t.surroundings.others.first()));
    let named =
        busiest.map_or_else(String::new, |other| format!(" (the one that read and wrote most was {})", other.name));
    format!(
        "stop what else runs on this machine, which had {} of the busy CPU time{named}, and measure again before changing anything",
        percent(share)
    )
}

/// A larger range: of a measured load, one that the machine's memory does not hold.
fn of_cache(record: &RunRecord, own: Option<&CellRecord>) -> Advice {
    let text = "measure a range larger than the cache before counting on this rate for what is not cached";
    let memory = record.header.host.memory_bytes.filter(|_| record.header.clock == Clock::Real);
    let volume = own.and_then(|cell| record.header.volumes.iter().find(|volume| volume.name == cell.volume));
    let (Some(memory), Some(volume)) = (memory, volume) else { return Advice::of(text) };
    let figures = own.map(|cell| cell.load.figures());
    if let Some(instead) = instead_of_a_larger_range(volume, figures.as_ref().is_some_and(|load| load.buffered)) {
        return Advice::of(instead);
    }
    let range = figures.and_then(|load| load.size_bytes).unwrap_or(0);
    let size_bytes = memory.max(range).saturating_mul(RANGE_FACTOR).next_multiple_of(Bytes::GIB.get());
    // A test file can be made larger as far as its file system has room, what was found cannot.
    let most = match volume.kind {
        TargetKind::TestFile => {
            let free = volume.file_system.as_ref().and_then(|file_system| file_system.free_bytes);
            free.map(|free| free.saturating_add(volume.size_bytes.unwrap_or(0)))
        }
        _ => volume.size_bytes,
    };
    if most.is_some_and(|most| size_bytes > most) {
        return Advice::of(text);
    }
    Advice::with(text, NextMeasurement::LargerRange { size_bytes })
}

/// File systems whose files are in memory: no range of them is on a disk.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// What to measure instead where no range, however large, shows the disk without the cache.
pub(crate) fn instead_of_a_larger_range(volume: &VolumeFacts, buffered: bool) -> Option<&'static str> {
    let kind = volume.file_system.as_ref().map(|file_system| file_system.kind.as_str());
    if kind.is_some_and(|kind| IN_MEMORY.contains(&kind)) {
        Some("measure on a disk: the files of this file system are in memory")
    } else if buffered {
        Some("measure without the page cache (direct I/O) before counting on this rate for what is not cached")
    } else {
        None
    }
}

/// The doubts that an engineer must know of before believing a limit, in words.
pub(super) fn doubts(record: &RunRecord, cell: &CellSummary) -> Option<String> {
    let own = record.cells.iter().find(|c| c.id == cell.id);
    let meant = |code: DoubtCode| own.map_or(code.meaning(), |own| meaning_of_doubt(own, code));
    // These are about far percentiles, which a limit does not rest on.
    let told: Vec<String> = (cell.doubts.iter())
        .filter(|doubt| doubt.code != DoubtCode::FewSamples)
        .map(|doubt| format!("{} ({})", doubt.code.name(), meant(doubt.code)))
        .collect();
    (!told.is_empty()).then(|| format!("In doubt at {}: {}.", how_much(cell), told.join("; ")))
}

/// What to do first about a doubt that a longer or calmer run would settle.
pub(super) fn first(cell: &CellSummary, clock: Clock) -> Option<Advice> {
    let doubted = |code| crate::curves::doubted(cell, code);
    if doubted(DoubtCode::UnknownLimit) {
        let text = "Measure in a directory there before counting on it: a limit on the way was not published";
        return Some(Advice::with(text, NextMeasurement::RealStorage));
    }
    if clock == Clock::Virtual {
        return None;
    }
    if doubted(DoubtCode::VerifyFailed) || doubted(DoubtCode::Errors) {
        Some(
            "First find out why requests failed; the doubts tell the first of them. A rate with failures in it is not the storage's"
                .into(),
        )
    } else if doubted(DoubtCode::ToolStopped) {
        Some(
            "First measure where nothing stops the tool itself: without a CPU quota, on a machine with CPU to spare"
                .into(),
        )
    } else if doubted(DoubtCode::CachedReads) || doubted(DoubtCode::UnwrittenExtents) {
        Some(
            "First measure what is written (fill in the plan) and larger than every cache: this was not the disk's own rate"
                .into(),
        )
    } else if doubted(DoubtCode::OtherLoad) {
        Some("First measure again with nothing else on the device".into())
    } else if doubted(DoubtCode::ShortRun) && cell.held_by.is_none() {
        let text = "Before relying on the rate, measure for minutes: a burst looks the same in seconds";
        Some(Advice::with(text, NextMeasurement::Longer { duration_ns: LONGER.as_ns() }))
    } else {
        None
    }
}

/// "1,000 IOPS for 10 s and 3,000 for the 20 s after".
pub(super) fn rise_words(rise: &RiseSeen) -> String {
    let parts = rise.levels.iter().enumerate().map(|(i, level)| {
        let unit = if i == 0 { " IOPS" } else { "" };
        let (which, after) = if i + 1 == rise.levels.len() { ("the ", " after") } else { ("", "") };
        format!("{}{unit} for {which}{}{after}", number(level.iops), seconds(level.length_ns))
    });
    let whose = match (rise.shown, rise.trials) {
        (shown, all) if shown == all => String::new(),
        (1, all) => format!(", in one of {}", counted(all, "trial")),
        (shown, all) => format!(", in {} of {}", number(shown as f64), counted(all, "trial")),
    };
    format!("{}{whose}", listed(&parts.collect::<Vec<String>>()))
}

/// "1,000 IOPS on average in the first 3 trials and 500 in the 2 after".
pub(super) fn levels_words(levels: TrialLevels) -> String {
    let TrialLevels { before_iops, before_trials, after_iops, after_trials } = levels;
    let after = if after_trials == 1 {
        "the last one".to_owned()
    } else {
        format!("the {} after", number(after_trials as f64))
    };
    format!(
        "{} IOPS on average in the first {} and {} in {after}",
        number(before_iops),
        counted(before_trials, "trial"),
        number(after_iops)
    )
}
