//! Doubts about an advice and its rows, in words.

use super::clock;
use loadline_advise::{AdviceDoubt, AtLimit, EstimatedItem, request_size};
use loadline_catalog::Estimated;
use loadline_units::words::percent;

/// What a doubt means here; the first letter is small.
pub(crate) fn advice_doubt(doubt: &AdviceDoubt) -> String {
    let text = match doubt {
        AdviceDoubt::SourceLimited { share, reason } => {
            return format!(
                "in {} of the time the source could not do more ({}): the need is at least what was recorded then; scenarios take 1.25, \
                 1.5 and 2 times as much there",
                percent(*share),
                reason.map_or("", at_limit)
            );
        }
        AdviceDoubt::Averaged { interval_s } => {
            return format!(
                "rates are means over {interval_s:.0} s and hide peaks: scenarios take 1, 1.25 and 1.5 times as much"
            );
        }
        AdviceDoubt::ShortHistory { recorded_s } => {
            return format!("the record covers {}, less than a week", clock(*recorded_s));
        }
        AdviceDoubt::ReadAs { note } => note,
        AdviceDoubt::MeanSizes { read_bytes, write_bytes } => {
            let (read, written) = (request_size(*read_bytes), request_size(*write_bytes));
            return format!("sizes within an interval are one mean: {read} read, {written} written");
        }
        AdviceDoubt::SizesDiffer => {
            "reads and writes differ in size: the latency is simulated with their mean size, the limits are judged with both"
        }
        AdviceDoubt::UnknownLocality => {
            "which part of the reads a host's cache would answer is not known: caches were not looked at. It takes the part that nearly \
             all reads fall on"
        }
        AdviceDoubt::NotPriced { missing } => return format!("the sum is \"at least\": {}", missing.join("; ")),
        AdviceDoubt::EstimatedPrices { items } => {
            let items: Vec<String> = items.iter().map(estimated).collect();
            return format!("no list has the price of {}: it is estimated as it is elsewhere", items.join("; "));
        }
        AdviceDoubt::NotCommitted { machine } => {
            return format!("what a commitment costs for {machine} is not known: its list price counts");
        }
        AdviceDoubt::OldPrices { dates } => return format!("prices of {}", dates.join(", ")),
        AdviceDoubt::CpuCredits => {
            "its processors run on credits, which are not modelled: work that needs them for long slows down"
        }
        AdviceDoubt::KnownDeviation { disk, measured } => return format!("{disk}: {measured}"),
        AdviceDoubt::AllowanceUnknown { machine, disks } => {
            return format!("what {machine} allows all disks {disks} is not in the catalog");
        }
        AdviceDoubt::HostCacheEstimated => {
            "what the host's cache may answer is an estimate by the machine's processors"
        }
    };
    text.to_owned()
}

/// "IOPS and throughput of NAME".
fn estimated(EstimatedItem { name, parts }: &EstimatedItem) -> String {
    let part = |part: &Estimated| match part {
        Estimated::Whole => None,
        Estimated::Size => Some("the size"),
        Estimated::Iops => Some("IOPS"),
        Estimated::Throughput => Some("throughput"),
        Estimated::Commitment => Some("the commitment"),
    };
    let parts: Vec<&str> = parts.iter().filter_map(part).collect();
    if parts.is_empty() { name.clone() } else { format!("{} of {name}", parts.join(" and ")) }
}

/// Why the rates of a record are only a lower bound of the demand.
const fn at_limit(reason: AtLimit) -> &'static str {
    match reason {
        AtLimit::Reported => "the provider's own counter says that a limit was reached",
        AtLimit::Throttled => "a control group asks for all that a throttle of the kernel allows",
        AtLimit::Queue => "the kernel's queue of the device is full",
        AtLimit::Quota => "the CPU quota of the application runs out",
        AtLimit::Memory => {
            "a memory limit leaves the page cache too little: with more memory it reads less from storage, and does more"
        }
        AtLimit::LevelRequests => "requests per second stay level at their highest while requests queue",
        AtLimit::LevelBytes => "bytes per second stay level at their highest while requests queue",
        AtLimit::AlwaysQueued => "the queue is never empty: the application always waits for the storage",
        AtLimit::LevelBeforeDevice => {
            "rates stay level at their highest and nothing queues at the device: a limit before it, or an application that asks the same \
             at all times"
        }
    }
}
