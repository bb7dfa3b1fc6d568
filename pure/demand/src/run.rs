//! The demand in a stored run: the seconds of its trials, as any verb stored them.

use crate::limited::mark_limited;
use crate::series::{Demand, DemandInterval};
use loadline_block::Operation;
use loadline_record::{RunRecord, TrialRecord};

const NS_PER_S: f64 = 1e9;

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
