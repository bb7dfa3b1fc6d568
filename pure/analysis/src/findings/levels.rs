//! Where more requests at once stop helping.

use super::{View, at_depth, codes};
use crate::curves::{Curve, Plateau, outstanding};
use crate::summary::{CellSummary, Finding};
use crate::words::{counted, load_name, number, span, throughput};

/// Plateaus told one by one; a matrix of hundreds of cells gives the rest in one sentence.
const TOLD_ONE_BY_ONE: usize = 6;
/// Requests of this size and more are spoken of in bytes per second.
const LARGE_BLOCK: u64 = 128 * 1024;

pub(super) fn plateaus(view: &View<'_>, curves: &[&Curve]) -> Vec<Finding> {
    let mut seen: Vec<(&Curve, &Plateau)> = curves.iter().filter_map(|c| Some((*c, c.plateau.as_ref()?))).collect();
    // Small random loads first: those are what databases ask for.
    seen.sort_by_key(|(_, plateau)| importance(&view.cells[plateau.cells[0]]));
    let (told, rest) = seen.split_at(seen.len().min(TOLD_ONE_BY_ONE));
    let mut found: Vec<Finding> = told.iter().map(|(curve, plateau)| told_one(view, curve, plateau)).collect();
    if !rest.is_empty() {
        let cells: Vec<usize> = rest.iter().map(|(_, p)| p.cells[0]).collect();
        let text = format!("{} more level off within the depths measured.", counted(rest.len(), "load"));
        found.push(view.finding(codes::PLATEAU, &text, &cells));
    }
    found
}

/// Smaller is told earlier: random before sequential, small before large, pure reads and writes before mixes.
pub(super) fn importance(cell: &CellSummary) -> (bool, bool, u64, u64) {
    let mixed = cell.load.read_ratio > 0.0 && cell.load.read_ratio < 1.0;
    let writes = ((1.0 - cell.load.read_ratio) * 1e6) as u64;
    (mixed, cell.load.pattern != "random", cell.load.block_bytes, writes)
}

fn told_one(view: &View<'_>, curve: &Curve, plateau: &Plateau) -> Finding {
    let first = &view.cells[plateau.cells[0]];
    let level = if first.load.block_bytes >= LARGE_BLOCK {
        throughput(plateau.bytes_per_s)
    } else {
        format!("{} IOPS", number(plateau.iops))
    };
    let deepest = curve.closed.last().map(|i| &view.cells[*i]).filter(|c| outstanding(c) > Some(plateau.from));
    let then = match deepest.and_then(|c| Some((outstanding(c)?, mean_latency(c)?))) {
        Some((depth, mean)) => {
            format!("deeper queues only add latency ({} at {})", span(mean), at_depth(view, curve, depth))
        }
        None => "offering more only makes requests wait".to_owned(),
    };
    let from = at_depth(view, curve, plateau.from);
    let text = format!("{} level off at {level} from {from} on; {then}.", load_name(first));
    view.finding(codes::PLATEAU, &text, &plateau.cells)
}

/// Mean over reads, writes and trims, each weighted by its rate.
fn mean_latency(cell: &CellSummary) -> Option<f64> {
    let parts = || [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
    let rate: f64 = parts().map(|o| o.iops).sum();
    (rate > 0.0).then(|| parts().map(|o| o.latency_ns.mean * o.iops).sum::<f64>() / rate)
}
