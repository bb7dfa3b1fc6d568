//! What more requests in flight would bring to a load that only the time of each request holds, as the other cells of its run show it.

use crate::curves::{is_like, outstanding, paced, sound};
use crate::finding::ObjectiveRule;
use crate::summary::CellSummary;
use crate::verdict_block::MoreInFlight;
use loadline_record::{Limit, RunRecord};

/// More requests in flight that bring less than this factor bring nothing worth the wait,
const HARDLY_MORE: f64 = 1.1;
/// if they are so many times as many.
const DEEPER: f64 = 1.25;

/// What more would bring of a closed loop that its own latency holds; `None` of any other.
pub(crate) fn more_in_flight<'a>(
    record: &RunRecord,
    cells: impl Iterator<Item = &'a CellSummary>,
    own: &CellSummary,
) -> Option<MoreInFlight> {
    let is_latency = own.binding.as_ref().is_some_and(|binding| binding.limit == Limit::Latency);
    let depth = outstanding(own).filter(|_| is_latency && !own.is_of_others())?;
    let is_usable = |cell: &&CellSummary| {
        is_like(cell, own) && cell.beside.is_empty() && !paced(cell) && outstanding(cell).is_some()
    };
    let mut row: Vec<&CellSummary> = cells.filter(is_usable).collect();
    row.sort_by_key(|cell| outstanding(cell));
    let is_kept = |cell: &&CellSummary| {
        let load = record.cells.iter().find(|known| known.id == cell.id && known.volume == cell.volume)?;
        ObjectiveRule::of(&load.load.figures()).kept(cell)
    };
    if row.first().and_then(is_kept) == Some(false) {
        return Some(MoreInFlight::ObjectiveBroken);
    }
    let rate = own.iops_lasting().filter(|rate| *rate > 0.0)?;
    let known = |cell: &&CellSummary| Some((outstanding(cell)?, cell.iops_lasting()?));
    let others: Vec<(u64, f64)> = row.iter().filter(|cell| sound(cell)).filter_map(known).collect();
    let is_far = |a: u64, b: u64| a as f64 >= b as f64 * DEEPER;
    let deeper = others.iter().filter(|(of, _)| is_far(*of, depth)).max_by(|a, b| a.1.total_cmp(&b.1));
    let shallower = others.iter().rev().find(|(of, _)| is_far(depth, *of));
    let hardly = |(in_flight, iops): (u64, f64)| MoreInFlight::HardlyMore { in_flight, iops };
    Some(match (deeper, shallower) {
        (Some(other), _) if other.1 < rate * HARDLY_MORE => hardly(*other),
        (None, Some(other)) if rate < other.1 * HARDLY_MORE => hardly(*other),
        (None, None) => MoreInFlight::Untried,
        _ => MoreInFlight::More,
    })
}
