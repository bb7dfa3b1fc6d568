//! What holds a volume, what to do and up to which load an objective is kept, in sentences.

use super::ceiling::ceiling_owner;
use super::doubt::source_limit;
use super::finding::how_long;
use super::throttle::{amount, standing, throttle};
use super::{NAMED_MAX, hosts, watch};
use crate::figures;
use loadline_analysis::{
    Advised, Answered, HeldBesides, HeldBy, Holder, HostsLimit, InsteadOfRange, KnownDisk, KnownLevels, LimitHolder,
    LoadAnswers, LoadsMissing, MoreInFlight, ObjectiveFound, ObjectiveVerdict, RecordedSource, VolumeVerdict,
};
use loadline_block::Operation;
use loadline_record::Limit;
use loadline_units::Duration;
use loadline_units::words::{number, percent, span};
use std::fmt::Write as _;

/// What holds the figures of a volume; the first letter is small.
#[must_use]
pub fn holder(holder: &Holder) -> String {
    match holder {
        Holder::Hosts { seen } => hosts::limit(seen),
        Holder::Unknown => "not known".to_owned(),
        Holder::NotMeasured => "not known yet: the loads that were not measured may show another limit".to_owned(),
        Holder::Tool => "loadline itself: there is no storage behind this target".to_owned(),
        Holder::Throttles { throttles, besides } => throttled(throttles, besides.as_deref()),
        Holder::Standing(limit) => standing(limit),
        Holder::BaselineToCome { source, iops_before } => format!(
            "the baseline of {}, once what was saved up is spent ({} IOPS until then)",
            ceiling_owner(source),
            number(*iops_before)
        ),
        Holder::NeverWritten => "nothing of the disk: what was never written is answered without it".to_owned(),
        Holder::Limit(held) => limit(held),
        Holder::RecordedPace => "nothing here: this storage kept up with the requests as they were recorded".to_owned(),
        Holder::Watch(holder) => watch::holder(holder),
    }
}

fn throttled(throttles: &[HeldBy], besides: Option<&HeldBesides>) -> String {
    let Some((first, others)) = throttles.split_first() else { return String::new() };
    let mut text = throttle(first);
    for other in others {
        // The first has said which group and which device.
        if (&other.device, other.devices, &other.limit.group) == (&first.device, first.devices, &first.limit.group) {
            let _ = write!(text, " and to {}", amount(&other.limit));
        } else {
            let _ = write!(text, "; {}", throttle(other));
        }
    }
    if let Some(HeldBesides { operation, held_by }) = besides {
        let kind = match operation {
            Some(Operation::Read) => "reads",
            Some(Operation::Write) => "writes",
            _ => "mixes",
        };
        let _ = write!(text, "; {kind}: {}", holder(held_by));
    }
    text
}

fn limit(held: &LimitHolder) -> String {
    let value = held.ceiling_iops.map(|iops| format!(", {} IOPS for this load", number(iops))).unwrap_or_default();
    let value = if held.presumed { format!("{value} (presumed)") } else { value };
    let text = match held.limit {
        Limit::DiskIops => "the disk's limit on requests per second",
        Limit::DiskThroughput => "the disk's limit on bytes per second",
        Limit::VmUncachedIops => "the VM's limit on uncached requests per second",
        Limit::VmUncachedThroughput => "the VM's limit on uncached bytes per second",
        Limit::VmCachedIops => "the VM's limit on cached requests per second",
        Limit::VmCachedThroughput => "the VM's limit on cached bytes per second",
        Limit::BurstExhausted => match held.burst {
            Some(burst) => {
                let (before, long) = (number(burst.iops), how_long(burst.before_ns));
                return format!("the baseline, after {before} IOPS {long} of burst{value}");
            }
            None => "the baseline, after the burst was used up",
        },
        Limit::Interface => "the interface between machine and devices",
        Limit::Parallelism => "the storage serves only so many requests at once",
        Limit::Flush => "the time until writes are durable",
        Limit::Latency if !held.of_others => return latency(held.more),
        other => return without_figure(other, held.of_others).to_owned(),
    };
    format!("{text}{value}")
}

/// What a load has that only its own latency holds, and what more of it would bring.
fn latency(more: Option<MoreInFlight>) -> String {
    match more {
        None | Some(MoreInFlight::More) => "no limit yet: more requests in flight would give more".to_owned(),
        Some(MoreInFlight::Untried) => {
            "the time that each request takes; whether more in flight would give more was not tried".to_owned()
        }
        Some(MoreInFlight::HardlyMore { in_flight, iops }) => format!(
            "the time that each request takes: {} in flight came to {} IOPS",
            number(in_flight as f64),
            number(iops)
        ),
        Some(MoreInFlight::ObjectiveBroken) => {
            "the time that each request takes: the lightest load breaks the objective already".to_owned()
        }
    }
}

/// What holds a load and has no figure of its own.
const fn without_figure(limit: Limit, of_others: bool) -> &'static str {
    match limit {
        Limit::Cache => "nothing of the disk: a cache answers",
        Limit::Memory => "a page cache that is too small for what is read",
        Limit::Latency if of_others => "the latency of its requests: the application waits for each",
        Limit::Arrival if of_others => "the application, not the storage: nothing was asked most of the time",
        Limit::Arrival => "no limit yet: all that was offered was served",
        Limit::Cpu => "the machine's CPUs, not the storage",
        Limit::Generator => "loadline itself, not the storage",
        _ => "nothing that loadline knows",
    }
}

/// What to do about a volume, and how long that takes; the first letter is small.
pub(crate) fn next(volume: &VolumeVerdict) -> Option<String> {
    let mut text = match (&volume.known, volume.next.as_ref()?) {
        (Some(known), Advised::Move { .. }) => known_levels(known),
        (_, next) => advised(next),
    };
    if let Some(ns) = volume.takes_ns {
        let _ = write!(text, "; takes about {}", Duration::from_ns(ns).clock());
    }
    Some(text)
}

/// "5,099 IOPS and 207.6 MB/s are the limits of DISK (sold with 5,000 IOPS and 209.7 MB/s); more needs another disk or a stripe".
fn known_levels(known: &KnownLevels) -> String {
    let levels = |iops: f64, bytes: f64| format!("{} IOPS and {} MB/s", figures::iops(iops), figures::megabytes(bytes));
    let disk = |disk: &KnownDisk| {
        let sold = levels(disk.iops as f64, disk.throughput_bytes_per_s as f64);
        format!("{} (sold with {sold})", disk.name)
    };
    let disks: Vec<String> = known.disks.iter().map(disk).collect();
    format!(
        "{} are the limits of {}; more needs another disk or a stripe",
        levels(known.iops, known.throughput_bytes_per_s),
        disks.join(" or ")
    )
}

pub(crate) fn advised(advised: &Advised) -> String {
    let text = match advised {
        Advised::Lift => "if this limit is not meant, lift it: that costs nothing",
        Advised::Move { limit, modelled } => moved(*limit, *modelled),
        Advised::MoveOfOthers { limit: Limit::Arrival } => {
            "look elsewhere than at this storage: it waited for the application"
        }
        Advised::MoveOfOthers { .. } => "more in flight at once, or storage that answers faster",
        Advised::Faster => "take storage that answers faster: more requests in flight do not help",
        Advised::Fill => "fill what is read first: write all of it once, then measure again",
        Advised::LargerRange => "measure a range larger than the cache",
        Advised::InsteadOfRange(instead) => instead_of_range(*instead),
        Advised::RecordWithout => "lift the limit of the source and record again, or plan for more than was recorded",
        Advised::CarryOn => "carry on with this run: what was finished is kept",
        Advised::MeasureStorage => "measure storage",
        Advised::OnHosts { limit } => on_hosts(*limit),
        Advised::Watch { step, record: false } => return watch::next(step),
        Advised::Watch { step, record: true } => {
            return format!("{}. Record the requests to find what would do", watch::next(step));
        }
    };
    text.to_owned()
}

/// What to measure where no range shows the disk without a cache.
pub(super) const fn instead_of_range(instead: InsteadOfRange) -> &'static str {
    match instead {
        InsteadOfRange::OnDisk => "measure on a disk: the files of this file system are in memory",
        InsteadOfRange::Direct => {
            "measure without the page cache (direct I/O) before counting on this rate for what is not cached"
        }
    }
}

/// What to do after more and more hosts loaded a storage.
pub(super) const fn on_hosts(limit: HostsLimit) -> &'static str {
    match limit {
        HostsLimit::EachHost | HostsLimit::Growing => "measure with more hosts to find the end of the storage",
        HostsLimit::NotReached => "measure with deeper queues or more hosts to find the end of the storage",
        HostsLimit::Arrival => "measure with higher rates or more hosts to find the end of the storage",
        HostsLimit::Unclear => "measure with more trials",
        // It is the end.
        HostsLimit::Shared => "",
    }
}

const fn moved(limit: Limit, modelled: bool) -> &'static str {
    match limit {
        Limit::DiskIops if modelled => "more needs a disk with more IOPS, or a stripe",
        Limit::DiskIops => "compare with what the disk is sold with; more needs another disk or a stripe",
        Limit::DiskThroughput => "more needs a disk with more MB/s, or a stripe",
        Limit::VmUncachedIops | Limit::VmUncachedThroughput => "more needs a larger VM; faster disks change nothing",
        Limit::VmCachedIops | Limit::VmCachedThroughput => "more needs a larger VM, or the host cache off",
        Limit::BurstExhausted => "plan with this rate, or take storage with a higher baseline",
        Limit::Latency => "have more requests in flight (deeper queues, more threads) before buying anything",
        Limit::Arrival => "offer more to find where it stops",
        Limit::Cpu => "free the CPUs or measure from a larger machine",
        Limit::Generator => "use more load threads",
        Limit::Interface => "use devices on another interface",
        Limit::Parallelism => "more needs storage that answers faster or serves more at once",
        Limit::Flush => "make several writes durable with one flush, or take a disk that flushes faster",
        Limit::Memory => "give it more memory: what is read again then needs no storage",
        // These have an advice of their own.
        Limit::Cache | Limit::Unexplained => "",
    }
}

/// What held the application back where its load was recorded.
pub(crate) fn source(source: &RecordedSource) -> String {
    let RecordedSource { limit, share } = source;
    format!(
        "{}, {} of the recorded time: without it, more would have been asked for",
        source_limit(limit),
        percent(*share)
    )
}

/// "p99 within 5 ms".
pub(crate) fn objective(verdict: &ObjectiveVerdict) -> String {
    format!("{} within {}", verdict.rule.figure.words(), Duration::from_ns(verdict.rule.limit_ns))
}

/// Up to which load it is kept, and where it breaks: what follows the objective and a colon.
pub(crate) fn objective_found(verdict: &ObjectiveVerdict) -> String {
    let found = match &verdict.found {
        ObjectiveFound::Everywhere { load, at, latency_ns } => {
            format!("holds at every load measured. The slowest, {load} at {at}, take {}", span(*latency_ns))
        }
        ObjectiveFound::UpTo { load, kept, broken } => {
            format!("holds for {load} up to {}, breaks at {}", answers(kept), answers(broken))
        }
        ObjectiveFound::Broken { load, lightest, heavier } => {
            let heavier = heavier.as_ref().map_or_else(String::new, |kept| {
                format!(", though it holds at {}: measure again when nothing else runs", answers(kept))
            });
            format!("{load} break it already at {}{heavier}", answers(lightest))
        }
    };
    match verdict.not_measured {
        Some((loads, of)) => format!("{found}; {loads} of {of} loads were not measured"),
        None => found,
    }
}

/// "depth 8 (2.50 ms)".
fn answers(of: &LoadAnswers) -> String {
    let how = match of.answered {
        Answered::Unknown => String::new(),
        Answered::After(ns) => format!(" ({})", span(ns)),
        Answered::NotInTime => " (not all are answered in time)".to_owned(),
        Answered::InDraws { kept, of } => format!(" (in {} of {of} draws of the model)", of - kept),
    };
    format!("{}{how}", of.at)
}

/// "7 of 17 loads: random read 4 KiB, depth 1; ... and 3 more".
pub(crate) fn not_measured(missing: &LoadsMissing) -> String {
    let (named, more) = missing.loads.split_at(missing.loads.len().min(NAMED_MAX));
    let more = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
    format!("{} of {} loads: {}{more}", missing.loads.len(), missing.of, named.join("; "))
}
