//! The demand in a stored run: the seconds of its trials, as any verb stored them.

use crate::limited::mark_limited;
use crate::series::{AtLimit, Demand, DemandInterval};
use loadline_block::Operation;
use loadline_record::{RunRecord, TrialRecord, WatchRecord, WatchTick};

const NS_PER_S: f64 = 1e9;
/// A throttle is reached from this share of it on.
const THROTTLE_REACHED: f64 = 0.95;
/// A volume's counter of excess that ran for more of a second than this marks it.
const EXCEEDED_MIN: f64 = 0.05;

/// What the load or the application of a stored run asked of a volume: each interval of each trial of its cells, in order.
/// `cell` is the number of one cell, from 0. `None`: the run has no such cell, or no trial with a series.
#[must_use]
pub fn demand_of_run(record: &RunRecord, volume: Option<&str>, cell: Option<usize>) -> Option<Demand> {
    let cells = record.cells.iter().enumerate().filter(|(number, stored)| {
        cell.is_none_or(|wanted| wanted == *number) && volume.is_none_or(|wanted| stored.volume == wanted)
    });
    let mut devices: Vec<String> = Vec::new();
    let mut intervals = Vec::new();
    for (_, cell) in cells {
        if !devices.contains(&cell.volume) {
            devices.push(cell.volume.clone());
        }
        intervals.extend(cell.trials.iter().flat_map(intervals_of));
    }
    if intervals.is_empty() {
        return None;
    }
    let source = format!("stored run {}", record.header.name);
    let mut demand = Demand { source, devices, intervals, notes: Vec::new() };
    mark_limited(&mut demand);
    Some(demand)
}

fn intervals_of(trial: &TrialRecord) -> Vec<DemandInterval> {
    if let Some(watch) = &trial.watched {
        return watched(watch);
    }
    let series = &trial.series;
    let last = series.seconds.len().saturating_sub(1);
    let each = series.seconds.iter().enumerate().map(|(index, second)| {
        let length_s = if index == last { series.last_ns as f64 / NS_PER_S } else { f64::from(series.interval_s) };
        let (reads, writes) = (second.of(Operation::Read), second.of(Operation::Write));
        let per_s = |count: u64| if length_s > 0.0 { count as f64 / length_s } else { 0.0 };
        let requests = per_s(reads.count) + per_s(writes.count);
        DemandInterval {
            length_s,
            reads_per_s: per_s(reads.count),
            writes_per_s: per_s(writes.count),
            read_bytes_per_s: per_s(reads.bytes),
            write_bytes_per_s: per_s(writes.bytes),
            in_flight: Some(second.outstanding),
            // Little's law: the series has percentiles, and no mean.
            latency_ns: (requests > 0.0).then(|| second.outstanding / requests * NS_PER_S),
            at_limit: None,
        }
    });
    each.filter(|interval| interval.length_s > 0.0).collect()
}

/// The seconds of a watch, marked where a throttle or a volume's own counter says that more was asked for.
fn watched(watch: &WatchRecord) -> Vec<DemandInterval> {
    let of = |(place, tick): (usize, WatchTick)| {
        let length_s = tick.elapsed_us as f64 / 1e6;
        let per_s = |count: u64| count as f64 / length_s.max(1e-9);
        let is_throttled = watch.throttles.iter().any(|throttle| {
            let asked = throttle.asked.as_ref().and_then(|asked| asked.get(place));
            asked.is_some_and(|asked| per_s(*asked) >= throttle.limit.per_s as f64 * THROTTLE_REACHED)
        });
        let is_exceeded = watch.seconds[place].exceeded.iter().any(|of| {
            let all = [of.volume_iops_us, of.volume_throughput_us, of.instance_iops_us, of.instance_throughput_us];
            all.into_iter().any(|us| us as f64 / 1e6 >= length_s * EXCEEDED_MIN)
        });
        let requests = tick.requests();
        DemandInterval {
            length_s,
            reads_per_s: per_s(tick.reads),
            writes_per_s: per_s(tick.writes),
            read_bytes_per_s: per_s(tick.read_bytes),
            write_bytes_per_s: per_s(tick.write_bytes),
            in_flight: Some(tick.outstanding()),
            latency_ns: (requests > 0).then(|| (tick.read_ms + tick.write_ms) as f64 * 1e6 / requests as f64),
            at_limit: match (is_exceeded, is_throttled) {
                (true, _) => Some(AtLimit::Reported),
                (false, true) => Some(AtLimit::Throttled),
                (false, false) => None,
            },
        }
    };
    watch.by_second().enumerate().map(of).filter(|interval| interval.length_s > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::{KernelThrottle, ThrottledQuantity, ThrottledRequests, WatchSecond, WatchedThrottle};

    #[test]
    fn seconds_of_a_watch_at_a_throttle_are_a_lower_bound() {
        let tick = |reads: u64| WatchTick {
            elapsed_us: 1_000_000,
            reads,
            read_bytes: reads * 8_192,
            read_ms: reads * 2,
            ..WatchTick::default()
        };
        let limit = KernelThrottle {
            file: "io.max".to_owned(),
            group: "db".to_owned(),
            requests: ThrottledRequests::Reads,
            counts: ThrottledQuantity::Requests,
            per_s: 1_000,
            lifted_by: String::new(),
        };
        let watch = WatchRecord {
            ticks: vec![tick(400), tick(990)],
            seconds: vec![WatchSecond { ticks: 1, ..WatchSecond::default() }; 2],
            throttles: vec![WatchedThrottle { limit, asked: Some(vec![400, 990]) }],
            ..WatchRecord::default()
        };
        let found = watched(&watch);
        assert_eq!(found.iter().map(|one| one.at_limit).collect::<Vec<_>>(), [None, Some(AtLimit::Throttled)]);
        assert_eq!((found[0].reads_per_s, found[0].in_flight, found[0].latency_ns), (400.0, Some(0.8), Some(2e6)));
    }
}
