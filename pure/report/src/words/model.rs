//! What a model knows, in sentences.

use super::ceiling_source;
use loadline_record::{
    AccountReason, BurstSide, ModelFact, Stage, ThrottledQuantity, TimeHeld, WaitPlace, WaitedBeside, WaitedEach,
    WaitedShare,
};
use loadline_units::Duration;
use loadline_units::words::listed;
use loadline_units::words::{number, percent, span};

pub(super) fn model(fact: &ModelFact) -> String {
    match fact {
        ModelFact::Waited { most, each, source, beside: others } => format!(
            "Requests waited {}{}: {} of all waiting at limits, {}{}.{}",
            place(most.at),
            moment(most.burst),
            percent(most.share),
            waited_each(*each),
            source.as_ref().map_or_else(String::new, |source| format!(" ({})", ceiling_source(source))),
            beside(others)
        ),
        ModelFact::PassesByHead { source } => format!(
            "Its requests follow on each other, and take no longer than they pass by ({}).",
            ceiling_source(source)
        ),
        ModelFact::ModelledLatency { depth, latency_ns, rate_iops, waited } => {
            let outstanding =
                depth.map_or_else(String::new, |depth| format!("{} outstanding at ", number(depth as f64)));
            let waited = match waited {
                WaitedBeside::Mechanics => {
                    "no limit held them, but the mechanics of a spinning disk, which serves one at a time".to_owned()
                }
                WaitedBeside::Nothing => "no request waited at a limit".to_owned(),
                WaitedBeside::Share(share) => format!("{} of that time was waiting at limits", percent(*share)),
            };
            format!("{outstanding}{} each make {} IOPS; {waited}.", span(*latency_ns), number(*rate_iops))
        }
        ModelFact::VolumesWaited { volumes } => {
            format!("{}, loaded at the same time, waited for it too.", volumes.join(", "))
        }
        ModelFact::LimitShared { own_share, others } => {
            let others: Vec<String> =
                others.iter().map(|other| format!("{} {}", other.load, percent(other.share))).collect();
            format!("It took {} of this limit, and beside it {}.", percent(*own_share), others.join(", "))
        }
        ModelFact::DrawsDiffer { trials, others } => {
            let told: Vec<String> =
                others.iter().map(|other| format!("{} in {}", other.limit.name(), other.trials)).collect();
            format!("Of {trials} trials over what is uncertain it was {}.", listed(&told))
        }
        ModelFact::Account { reason, shares } => {
            let why = match reason {
                Some(AccountReason::LittleAsked) => "for half of its time or more nothing was asked for; ",
                Some(AccountReason::Faults) => "faults that were made on purpose held it; ",
                None => "",
            };
            format!("By what its requests waited for: {why}its time went to {}.", shares_of_time(shares))
        }
        ModelFact::NothingAnswered { lasting_ns, from_ns, times } => {
            let of = if *times > 1 { format!(", the longest of {times} such times") } else { String::new() };
            format!("Nothing was answered for {} on end, from {} on{of}.", clock(*lasting_ns), clock(*from_ns))
        }
    }
}

fn clock(ns: u64) -> String {
    Duration::from_ns(ns).clock()
}

/// "disk-iops 71 %, latency 20 %, idle 9 %"; those that round to nothing are left out.
fn shares_of_time(shares: &[TimeHeld]) -> String {
    let shown = shares.iter().filter(|held| held.share >= 0.005);
    let words: Vec<String> = shown.map(|held| format!("{} {:.0} %", held.by, held.share * 100.0)).collect();
    words.join(", ")
}

fn waited_each(each: WaitedEach) -> String {
    match each {
        WaitedEach::BeyondTheEnd { depth, rate_iops } => format!(
            "most of it by requests that were not answered before the end: the run is shorter than its queue takes ({} outstanding at \
             {} a second)",
            number(depth as f64),
            number(rate_iops)
        ),
        WaitedEach::Of { waited_ns, latency_ns } => {
            format!("{} for each request, which takes {} in all", span(waited_ns), span(latency_ns))
        }
    }
}

/// The other limits at which requests waited, with their share of all waiting.
fn beside(others: &[WaitedShare]) -> String {
    let told: Vec<String> = (others.iter())
        .map(|other| format!("{} of it was {}{}", percent(other.share), place(other.at), moment(other.burst)))
        .collect();
    if told.is_empty() { String::new() } else { format!(" Besides, {}.", told.join(", ")) }
}

fn moment(side: Option<BurstSide>) -> String {
    match side {
        Some(BurstSide::BeforeNs(at)) => format!(" in the first {}", clock(at)),
        Some(BurstSide::AfterNs(at)) => format!(" after the first {}", clock(at)),
        None => String::new(),
    }
}

/// "for the disk's requests per second".
const fn place(at: WaitPlace) -> &'static str {
    let bytes = matches!(at.counted, ThrottledQuantity::Bytes);
    if at.credits_spent {
        return match (at.stage, bytes) {
            (Stage::VmCached | Stage::VmUncached, false) => {
                "for the VM's requests per second, its burst credits being spent"
            }
            (Stage::VmCached | Stage::VmUncached, true) => {
                "for the VM's bytes per second, its burst credits being spent"
            }
            (_, false) => "for the disk's requests per second, its burst credits being spent",
            (_, true) => "for the disk's bytes per second, its burst credits being spent",
        };
    }
    match (at.stage, bytes) {
        (Stage::Cache, _) => "for room in the host's cache, which was full of writes",
        (Stage::VmCached, false) => "for the VM's cached requests per second",
        (Stage::VmCached, true) => "for the VM's cached bytes per second",
        (Stage::VmUncached, false) => "for the VM's uncached requests per second",
        (Stage::VmUncached, true) => "for the VM's uncached bytes per second",
        (Stage::Shared, false) => "for the requests per second that disks of the type share",
        (Stage::Shared, true) => "for the bytes per second that disks of the type share",
        (Stage::Disk, false) => "for the disk's requests per second",
        (Stage::Disk, true) => "for the disk's bytes per second",
        (Stage::Service, false) => "for a place in the disk, which serves only so many at once",
        (Stage::Service, true) => "for what the disk itself transfers",
    }
}
