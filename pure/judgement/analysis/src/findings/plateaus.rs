//! Where more requests at once stop helping.

use super::{TOLD_ONE_BY_ONE, VolumeView, in_flight};
use crate::curves::{Curve, PLATEAU_SPREAD, Plateau, outstanding};
use crate::finding::{Finding, FindingCode, FindingSeen, InFlight, PlateauLimit, PlateauSeen};
use crate::summary::CellSummary;
use crate::words::{LARGE_BYTES_MIN, load_names};
use loadline_record::{Access, Limit, Rate};

pub(super) fn plateaus(view: &VolumeView<'_>, curves: &[&Curve]) -> Vec<Finding> {
    let mut seen: Vec<(&Curve, &Plateau)> = curves.iter().filter_map(|c| Some((*c, c.plateau.as_ref()?))).collect();
    // Small random loads first: those are what databases ask for.
    seen.sort_by_key(|(_, plateau)| importance(&view.cells[plateau.cells[0]]));
    // Reads and writes that stop alike are one thing to know.
    let mut groups: Vec<Vec<(&Curve, &Plateau)>> = Vec::new();
    for level in seen {
        match groups.iter_mut().find(|group| group.len() == 1 && stop_alike(view, group[0], level)) {
            Some(group) => group.push(level),
            None => groups.push(vec![level]),
        }
    }
    let (told, rest) = groups.split_at(groups.len().min(TOLD_ONE_BY_ONE));
    let mut found: Vec<Finding> = told.iter().map(|group| told_together(view, group)).collect();
    if !rest.is_empty() {
        let cells: Vec<usize> = rest.iter().flatten().map(|(_, p)| p.cells[0]).collect();
        let seen = FindingSeen::MoreLevelOff { loads: cells.len() };
        found.push(view.finding(FindingCode::Plateau, seen, &cells));
    }
    found
}

/// Whether reads alone and writes alone, otherwise equal, level off from one depth on at about the same rate, by the same limit.
fn stop_alike(view: &VolumeView<'_>, a: (&Curve, &Plateau), b: (&Curve, &Plateau)) -> bool {
    let (first, second) = (&view.cells[a.1.cells[0]], &view.cells[b.1.cells[0]]);
    first.reads_only()
        && second.writes_only()
        && first.identity.is_like_apart_from_reads(&second.identity)
        && first.flush.is_some() == second.flush.is_some()
        && a.1.from == b.1.from
        && (a.1.iops / b.1.iops - 1.0).abs() <= PLATEAU_SPREAD
        && limit(view, a.1) == limit(view, b.1)
        && deepest(view, a).map(|(depth, _)| depth) == deepest(view, b).map(|(depth, _)| depth)
}

/// What the plateau is a limit of, as its cells were named.
fn limit(view: &VolumeView<'_>, plateau: &Plateau) -> Option<Limit> {
    let named = plateau.cells.iter().filter_map(|i| view.cells[*i].binding.as_ref());
    let is_limit = |l: &Limit| matches!(l, Limit::DiskIops | Limit::DiskThroughput) || is_known(*l);
    let is_cpu = || !plateau.cells.is_empty() && plateau.cells.iter().all(|i| is_bound_by_cpu(&view.cells[*i]));
    named.map(|b| b.limit).find(is_limit).or_else(|| is_cpu().then_some(Limit::Cpu))
}

fn is_bound_by_cpu(cell: &CellSummary) -> bool {
    cell.binding.as_ref().is_some_and(|binding| binding.limit == Limit::Cpu)
}

/// Whether only a model can tell this limit.
const fn is_known(limit: Limit) -> bool {
    use Limit::{BurstExhausted, VmCachedIops, VmCachedThroughput, VmUncachedIops, VmUncachedThroughput};
    matches!(limit, VmCachedIops | VmCachedThroughput | VmUncachedIops | VmUncachedThroughput | BurstExhausted)
}

/// The deepest queue beyond the beginning of the plateau, and the mean latency there.
fn deepest(view: &VolumeView<'_>, (curve, plateau): (&Curve, &Plateau)) -> Option<(u64, f64)> {
    let cell = curve.closed.last().map(|i| &view.cells[*i]).filter(|c| outstanding(c) > Some(plateau.from))?;
    Some((outstanding(cell)?, mean_latency(cell)?))
}

/// Smaller is told earlier: random before sequential, small before large, pure reads and writes before mixes.
pub(super) fn importance(cell: &CellSummary) -> (bool, bool, u64, u64) {
    let mixed = cell.load.read_ratio > 0.0 && cell.load.read_ratio < 1.0;
    let writes = ((1.0 - cell.load.read_ratio) * 1e6) as u64;
    (mixed, cell.load.pattern != Access::Random, cell.load.block_bytes, writes)
}

fn told_together(view: &VolumeView<'_>, group: &[(&Curve, &Plateau)]) -> Finding {
    let (curve, plateau) = group[0];
    // A mix that one direction stops has no limit of its own.
    let direction = plateau.cells.iter().find_map(|i| view.directions[*i].as_ref());
    let limit = match (limit(view, plateau), direction) {
        (Some(limit @ (Limit::DiskIops | Limit::DiskThroughput)), Some(one)) => Some(one.stops(limit)),
        (other, _) => other.map(PlateauLimit::Whole),
    };
    let latencies: Vec<(u64, f64)> = group.iter().filter_map(|level| deepest(view, *level)).collect();
    let deepest = latencies.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let at = |requests: u64| in_flight(view, curve, requests);
    let firsts: Vec<&CellSummary> = group.iter().map(|(_, p)| &view.cells[p.cells[0]]).collect();
    let seen = PlateauSeen {
        loads: load_names(&firsts),
        levels: group.iter().map(|(_, p)| in_unit(firsts[0], p.iops, p.bytes_per_s)).collect(),
        before: before(view, group),
        from: at(plateau.from),
        limit,
        deepest: deepest.map(|(requests, mean)| -> (InFlight, f64) { (at(requests), mean) }),
    };
    let cells: Vec<usize> = group.iter().flat_map(|(_, p)| p.cells.iter().copied()).collect();
    view.finding(FindingCode::Plateau, FindingSeen::LevelsOff(Box::new(seen)), &cells)
}

/// A rate in the unit in which such a load is spoken of.
fn in_unit(cell: &CellSummary, iops: f64, bytes_per_s: f64) -> Rate {
    if cell.load.block_bytes >= LARGE_BYTES_MIN { Rate::BytesPerS(bytes_per_s) } else { Rate::Iops(iops) }
}

/// What there was before the rate that lasts, and for how long: of the cells on the level, the most.
fn before(view: &VolumeView<'_>, group: &[(&Curve, &Plateau)]) -> Option<(Rate, Option<u64>)> {
    let cells = group.iter().flat_map(|(_, plateau)| &plateau.cells).map(|i| &view.cells[*i]);
    let most = cells
        .filter_map(|cell| Some((cell, cell.lasting.as_ref()?)))
        .max_by(|a, b| a.1.iops_before.total_cmp(&b.1.iops_before));
    most.map(|(cell, lasting)| (in_unit(cell, lasting.iops_before, lasting.bytes_per_s_before), lasting.before_ns))
}

/// Mean over reads, writes and trims, each weighted by its rate; after a burst, where there was one.
fn mean_latency(cell: &CellSummary) -> Option<f64> {
    if let Some(lasting) = &cell.lasting {
        return lasting.latency_ns.mean;
    }
    let parts = || [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
    let rate: f64 = parts().map(|o| o.iops).sum();
    (rate > 0.0).then(|| parts().map(|o| o.latency_ns.mean * o.iops).sum::<f64>() / rate)
}
