//! What a volume gives, where its rates level off, and how they come and go.

use super::{how_long, in_doubt, show};
use loadline_analysis::{
    AloneLatency, CameTo, Clusters, FlushRule, InFlight, LoadAt, MostOf, PlateauLimit, PlateauSeen, RateCourse,
    StallsSeen,
};
use loadline_block::Operation;
use loadline_record::{Limit, Rate, Stage};
use loadline_units::Duration;
use loadline_units::words::{capital, counted, listed, number, percent, seconds, span, throughput};

/// Lengths that differ by no more than this are one figure.
const ALIKE: f64 = 1.05;

fn rate(rate: Rate) -> String {
    match rate {
        Rate::Iops(iops) => number(iops),
        Rate::BytesPerS(bytes) => throughput(bytes),
    }
}

const fn unit(rate: Rate) -> &'static str {
    match rate {
        Rate::Iops(_) => " IOPS",
        Rate::BytesPerS(_) => "",
    }
}

/// The rate that stands first, and what was before it or came then.
fn course(course: RateCourse) -> [String; 2] {
    match course {
        RateCourse::Even { rate: even } => [rate(even), String::new()],
        RateCourse::Fell { before, before_ns, then } => {
            let burst = if before_ns.is_some() { " of burst" } else { "" };
            [rate(before), format!(" {}{burst}, {} from then on", how_long(before_ns), rate(then))]
        }
        RateCourse::Rose { before, last, last_ns } => {
            [rate(last), format!(" in the last {}, {} before that", seconds(last_ns), rate(before))]
        }
    }
}

pub(super) fn most_requests(loads: &[MostOf]) -> String {
    let of = |most: &MostOf| {
        let [rate, then] = course(most.rate);
        format!("{rate} {} a second{then} ({}{})", most.load.load, most.load.at, in_doubt(&most.doubts))
    };
    format!("delivers up to {}.", listed(&loads.iter().map(of).collect::<Vec<String>>()))
}

pub(super) fn most_bytes(loads: &[MostOf]) -> String {
    let of = |most: &MostOf| {
        let [rate, then] = course(most.rate);
        format!("{rate}{then} with {} ({}{})", most.load.load, most.load.at, in_doubt(&most.doubts))
    };
    format!("highest throughput: {}.", listed(&loads.iter().map(of).collect::<Vec<String>>()))
}

pub(super) fn of_applications(loads: &[CameTo]) -> String {
    let of = |came: &CameTo| {
        let (iops, bytes, doubts) = (number(came.iops), throughput(came.bytes_per_s), in_doubt(&came.doubts));
        format!("{iops} IOPS and {bytes} with {} ({}{doubts})", came.load.load, came.load.at)
    };
    format!("came on average to {}.", listed(&loads.iter().map(of).collect::<Vec<String>>()))
}

pub(super) fn in_clusters(load: &LoadAt, clusters: &Clusters, is_level: bool, others: usize) -> String {
    let or_cache = if is_level { "" } else { ", or a cache answers all but a few" };
    format!(
        "requests are let through in bursts, as a throttle does{or_cache}: of {} at {} half take at most {}, {} take about {}, and \
         hardly any take a time between these.{}",
        load.load,
        load.at,
        span(clusters.median_ns),
        percent(clusters.slow_share),
        span(clusters.slow_ns),
        show(others, "the same")
    )
}

/// A mean, with the median beside it where there is one.
pub(super) fn mean(mean_ns: f64, half_ns: Option<f64>) -> String {
    let half = half_ns.map_or_else(String::new, |half| format!(" (half at most {})", span(half)));
    format!("{} on average{half}", span(mean_ns))
}

pub(super) fn alone(loads: &[AloneLatency]) -> String {
    let of = |alone: &AloneLatency| {
        let p99 = alone.p99_ns.map_or_else(String::new, |p99| format!(", p99 {}", span(p99 as f64)));
        // Another load may follow, to which it does not belong.
        let doubts = match alone.doubts.as_slice() {
            [] => String::new(),
            some => format!(" (in doubt: {})", super::codes(some)),
        };
        format!("{} take {}{p99}{doubts}", alone.load, mean(alone.mean_ns, alone.half_ns))
    };
    format!("one request at a time, {}.", listed(&loads.iter().map(of).collect::<Vec<String>>()))
}

pub(super) fn flushes(takes: &str, p99_ns: u64, max_ns: u64, calls: u64, rule: FlushRule, doubts: &str) -> String {
    let p99 = span(p99_ns as f64);
    match rule {
        FlushRule::CannotTell => format!(
            "{takes} and {} at most, of {}: too few to tell whether 99 % keep within the 10 ms that etcd asks of its log \
             disk{doubts}.",
            span(max_ns as f64),
            counted(usize::try_from(calls).unwrap_or(usize::MAX), "call")
        ),
        FlushRule::Within => format!("{takes}, p99 {p99}: within the 10 ms that etcd asks of its log disk{doubts}."),
        FlushRule::Beyond => format!("{takes}, p99 {p99}: beyond the 10 ms that etcd asks of its log disk{doubts}."),
    }
}

pub(super) fn burst_ended(
    load: &LoadAt,
    stage: Stage,
    at_ns: u64,
    range_ns: Option<(u64, u64)>,
    rates: Option<(Rate, Rate)>,
) -> String {
    let whose = match stage {
        Stage::VmCached => "the VM's burst (cached)",
        Stage::VmUncached => "the VM's burst (uncached)",
        Stage::Shared => "the burst that the disks share",
        Stage::Disk | Stage::Service | Stage::Cache => "the disk's burst",
    };
    let rates = rates.map_or_else(String::new, |(before, after)| {
        format!(", and the rate went from {} to {}{}", rate(before), rate(after), unit(after))
    });
    let clock = |ns| Duration::from_ns(ns).clock();
    let range = range_ns.map(|(least, most)| (clock(least), clock(most))).filter(|(least, most)| least != most);
    let range = range.map_or_else(String::new, |(least, most)| format!(" ({least} to {most} over what is uncertain)"));
    format!("{} at {}: {whose} ended after {} of load{range}{rates}.", load.load, load.at, clock(at_ns))
}

/// Requests in flight, in the words of the plan: its depth, where every cell has one thread.
pub(super) fn in_flight(in_flight: InFlight) -> String {
    let requests = number(in_flight.requests as f64);
    let place = if in_flight.is_depth { format!("depth {requests}") } else { format!("{requests} outstanding") };
    match in_flight.as_planned {
        None => place,
        Some(planned) if planned.threads == 1 => format!("{place} (depth {}, 1 thread)", planned.depth),
        Some(planned) => format!("{place} (depth {}, {} threads)", planned.depth, planned.threads),
    }
}

pub(super) fn plateau(seen: &PlateauSeen) -> String {
    let mut levels: Vec<String> = seen.levels.iter().map(|level| rate(*level)).collect();
    levels.dedup();
    let unit = seen.levels.first().map_or("", |level| unit(*level));
    let before = seen.before.map_or_else(String::new, |(before, before_ns)| {
        format!(", which lasts ({} {} before that),", rate(before), how_long(before_ns))
    });
    let then = match seen.deepest {
        Some((depth, mean)) => {
            format!("deeper queues only add latency ({} at {})", span(mean), in_flight(depth))
        }
        None => "asking for more only makes requests wait".to_owned(),
    };
    format!(
        "{} level off at {}{unit}{before} from {} on{}; {then}.",
        seen.loads,
        listed(&levels),
        in_flight(seen.from),
        seen.limit.map(of_limit).unwrap_or_default()
    )
}

/// What a level is a limit of, to follow it.
fn of_limit(limit: PlateauLimit) -> String {
    let whole = match limit {
        PlateauLimit::Direction { operation, limit, alone_iops, share } => {
            let what = if limit == Limit::DiskIops { "requests" } else { "bytes" };
            let whose = if operation == Operation::Write { "writes" } else { "reads" };
            return format!(
                ", stopped by the {whose}' limit on {what} ({}): {} IOPS alone, and {} of these requests",
                limit.name(),
                number(alone_iops),
                percent(share)
            );
        }
        PlateauLimit::Whole(limit) => limit,
    };
    let text = match whole {
        Limit::DiskIops => ", a limit on requests (disk-iops)",
        Limit::DiskThroughput => ", a limit on bytes (disk-throughput)",
        Limit::VmCachedIops => ", the VM's limit on cached requests (vm-cached-iops)",
        Limit::VmCachedThroughput => ", the VM's limit on cached bytes (vm-cached-throughput)",
        Limit::VmUncachedIops => ", the VM's limit on uncached requests (vm-uncached-iops)",
        Limit::VmUncachedThroughput => ", the VM's limit on uncached bytes (vm-uncached-throughput)",
        Limit::Cpu => ", where the machine has no CPU left (cpu)",
        Limit::BurstExhausted => ", what is left once burst credits are spent (burst-exhausted)",
        _ => "",
    };
    text.to_owned()
}

pub(super) fn stands_still(seen: &StallsSeen) -> String {
    let StallsSeen { shortest_ns, longest_ns, total_ns, .. } = *seen;
    let share = total_ns / seen.measured_ns as f64;
    let times = format!("{} times in {}", number(seen.count as f64), seconds(seen.measured_ns));
    let how_long = match seen.count {
        1 => format!("once in {}, for {}", seconds(seen.measured_ns), span(longest_ns)),
        n if longest_ns <= shortest_ns * ALIKE => format!("{times}, for about {} each", span(total_ns / n as f64)),
        _ => format!("{times}, for {} to {} ({} in all)", span(shortest_ns), span(longest_ns), span(total_ns)),
    };
    let maximum = span(seen.max_ns);
    let tail = match seen.p99_9_ns {
        Some(p99_9) if p99_9 >= shortest_ns / 2.0 => {
            format!("p99.9 is {} by that, and the maximum {maximum}", span(p99_9))
        }
        Some(p99_9) => format!("p99.9 ({}) does not show it, the maximum does ({maximum})", span(p99_9)),
        None => format!("the maximum is {maximum}"),
    };
    let waited = match seen.waited_share {
        share if share > 0.0 => format!("one of {} requests waited for it: {tail}", number((1.0 / share).round())),
        _ => tail,
    };
    let clock = seen.period_s.map_or_else(String::new, |period| {
        format!(" They come every {period} s, as by a clock: what flushes or counts at such times makes them, too.")
    });
    let alone = if seen.is_alone {
        " With one request at a time, a device that stands still and one slow request look alike. To be sure, test deeper queues."
    } else {
        ""
    };
    format!(
        "the device stands still now and then: under {} at {} it answered nothing {how_long}, {} of the time, and went on as \
         before. The mean hides that: {} IOPS on average are {} while it answers. {}. No throttle that lets requests \
         through by slices and no burst that ends does this: the storage, or what lies on the way to it, paused.{clock}{alone}{}",
        seen.load.load,
        seen.load.at,
        percent(share),
        number(seen.iops),
        number(seen.iops / (1.0 - share)),
        capital(&waited),
        show(seen.others, "the same")
    )
}
