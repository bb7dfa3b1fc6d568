//! The latency that a trace shows where its own storage was not at a limit.

use crate::series::{AtLimit, Demand};
use crate::served::{ServedLimit, is_data};
use loadline_emulation::replay::join_slices;
use loadline_emulation::{Trace, TraceRecord};
use loadline_units::{Duration, NS_PER_S};
use std::collections::BTreeMap;

/// Requests at least, so that a 99th percentile says something: of all, and of a second.
const REQUESTS_MIN: usize = 200;
const SECOND_MIN: usize = 50;
/// Seconds at least, so that one is the median.
const SECONDS_MIN: usize = 5;
/// An interval is at a limit from this share of it on.
const LIMITED_MIN: f64 = 0.5;

/// The 99th percentile of the reads and writes that did not wait for a limit of the trace's own storage, in the median second; `None` where
/// those are too few, or have no answers.
///
/// The median second leaves out bursts that nobody waits for, as when the page cache is written back. Where requests are few, all are taken
/// together.
///
/// `demand` is that of the trace, with its intervals marked. Where answers show the limit, it is known of each request whether it waited for
/// it. Otherwise all that arrived in an interval at a limit did.
#[must_use]
pub fn shown_p99(trace: &Trace, demand: &Demand) -> Option<Duration> {
    let mut ends_s = 0.0;
    let ends: Vec<(f64, Option<AtLimit>)> = (demand.intervals.iter())
        .map(|interval| {
            ends_s += interval.length_s;
            (ends_s, interval.at_limit.filter(|_| interval.limited_share() >= LIMITED_MIN))
        })
        .collect();
    let limit_at = |at_ns: u64| {
        let place = ends.partition_point(|(end, _)| *end <= at_ns as f64 / 1e9).min(ends.len().saturating_sub(1));
        ends.get(place).and_then(|(_, limit)| *limit)
    };
    let is_wanted =
        |record: &TraceRecord| is_data(record) && demand.devices.contains(&trace.exports[usize::from(record.export)]);
    let records: Vec<TraceRecord> = join_slices(&trace.records).into_iter().filter(is_wanted).collect();
    let served = ServedLimit::of(&records);
    let waited = |came: u64, done: u64| match &served {
        Some(limit) => limit.delayed(came, done) || limit_at(came) == Some(AtLimit::AlwaysQueued),
        None => limit_at(came).is_some(),
    };
    let spans = records.iter().filter_map(|record| Some((record.submitted_at.as_ns(), record.completed_at?.as_ns())));
    let mut all = Vec::new();
    let mut by_second: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (came, done) in spans.filter(|(came, done)| !waited(*came, *done)) {
        let latency = done.saturating_sub(came);
        all.push(latency);
        by_second.entry(came / NS_PER_S).or_default().push(latency);
    }
    if all.len() < REQUESTS_MIN {
        return None;
    }
    let seconds = by_second.values_mut().filter(|second| second.len() >= SECOND_MIN);
    let mut of_seconds: Vec<u64> = seconds.map(|second| p99(second)).collect();
    of_seconds.sort_unstable();
    let found = if of_seconds.len() >= SECONDS_MIN { of_seconds[of_seconds.len() / 2] } else { p99(&mut all) };
    Some(Duration::from_ns(found))
}

/// The 99th percentile of some values; not of none.
fn p99(values: &mut [u64]) -> u64 {
    let place = (values.len() * 99).div_ceil(100) - 1;
    *values.select_nth_unstable(place).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::example;
    use crate::{AtLimit, demand_of_trace};
    use loadline_block::Operation;
    use loadline_units::Instant;

    /// 100 requests a second: 1 ms each, and 80 ms each from `slow_from_s` on.
    fn trace(seconds: u64, slow_from_s: u64) -> Trace {
        let record = |number: u64| {
            let submitted_at = Instant::ZERO + Duration::from_ms(number * 10);
            let took = if number / 100 < slow_from_s { Duration::from_ms(1) } else { Duration::from_ms(80) };
            example::record(number, submitted_at, Some(submitted_at + took), Operation::Write)
        };
        example::trace(&["vdb"], (0..seconds * 100).map(record).collect(), Duration::from_s(seconds))
    }

    fn shown(trace: &Trace, limited_from_s: usize) -> Option<Duration> {
        let mut demand = demand_of_trace(trace, "t", &[]).unwrap();
        for (second, interval) in demand.intervals.iter_mut().enumerate() {
            interval.at_limit = (second >= limited_from_s).then_some(AtLimit::LevelRequests);
        }
        shown_p99(trace, &demand)
    }

    #[test]
    fn what_waited_for_a_limit_shows_no_latency_that_is_needed() {
        let trace = trace(10, 6);
        let slow = self::trace(10, 3);
        assert_eq!(shown(&slow, 10), Some(Duration::from_ms(80)));
        assert_eq!(shown(&trace, 10), Some(Duration::from_ms(1)), "most seconds are quick");
        assert_eq!(shown(&slow, 3), Some(Duration::from_ms(1)));
        assert_eq!(shown(&trace, 0), None);
        assert_eq!(shown(&trace, 1), None, "100 requests are too few");
    }

    #[test]
    fn a_trace_without_answers_shows_none() {
        let mut trace = trace(10, 10);
        for record in &mut trace.records {
            record.completed_at = None;
        }
        assert_eq!(shown(&trace, 10), None);
    }
}
