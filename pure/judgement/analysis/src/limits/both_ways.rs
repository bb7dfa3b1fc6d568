//! Reads and writes that come to one rate: a limit counts them, as no device takes as long for both.

use super::kinds::{SAME_RATE, alike, apart, larger_moves_more, moved, requests_of, same};
use super::{Case, inferred};
use crate::curves::{Curve, Growth, doubted, iops, outstanding, paced, sound};
use crate::summary::CellSummary;
use crate::words::load_name;
use loadline_record::{Binding, DoubtCode, Evidence, LevelFact, Limit, ThrottledRequests};

/// A rate that comes to this share of what so many single requests would make is made by what each takes.
const OWN_TIME: f64 = 0.9;
/// Requests of another size that take no longer than so many times this one's take the same time.
const SAME_TIME: f64 = 1.25;

/// The same requests in the other direction, as many at once.
fn mirrors<'a>(cells: &'a [CellSummary], own: &'a CellSummary) -> impl Iterator<Item = &'a CellSummary> {
    let (reads, writes) = (own.reads_only(), own.writes_only());
    let is_opposite = move |other: &CellSummary| (reads && other.writes_only()) || (writes && other.reads_only());
    let apt = if reads || writes { cells } else { &[] };
    apt.iter().filter(move |other| {
        other.load.block_bytes == own.load.block_bytes
            && is_opposite(other)
            && other.volume == own.volume
            && other.flush.is_none()
            && other.load.buffered == own.load.buffered
            && other.load.pattern == own.load.pattern
            && is_apt(other)
    })
}

/// Whether a cell may show a limit of both directions: several requests at once that wait for nothing of their own will.
fn is_apt(cell: &CellSummary) -> bool {
    outstanding(cell).is_some_and(|depth| depth > 1)
        && cell.flush.is_none()
        && cell.beside.is_empty()
        && sound(cell)
        && !paced(cell)
        && !doubted(cell, DoubtCode::Buffered)
}

/// The other direction at as many outstanding, where it comes to the same rate.
fn equal_both_ways<'a>(cells: &'a [CellSummary], own: &'a CellSummary) -> Option<&'a CellSummary> {
    let rate = iops(own).filter(|_| is_apt(own))?;
    mirrors(cells, own)
        .filter(|other| outstanding(other) == outstanding(own))
        .find(|other| iops(other).is_some_and(|its| same(its, rate, SAME_RATE)))
}

impl Case<'_> {
    /// Reads and writes of this size at one rate, and those of another size at another: two limits, on requests and on bytes.
    pub(super) fn by_both_directions(&self, rate: f64) -> Option<Binding> {
        let (cell, depth) = (self.cell(), outstanding(self.cell())? as f64);
        let other_way = equal_both_ways(self.cells, cell)?;
        let single = self.own.and_then(|own| iops(&self.cells[self.curves[own].alone(self.cells)?]));
        if single.is_some_and(|single| rate >= OWN_TIME * depth * single) {
            return None;
        }
        let takes = |of: &CellSummary| Some(outstanding(of)? as f64 / iops(of)?);
        let is_other_limit = |other: &&CellSummary| {
            let longer = takes(other).zip(takes(cell)).map(|(other, own)| (other / own).max(own / other));
            alike(cell, other)
                && apart(cell, other)
                && other.load.pattern == cell.load.pattern
                && equal_both_ways(self.cells, other).is_some()
                && longer.is_some_and(|longer| longer > SAME_TIME)
        };
        let other = self.cells.iter().find(is_other_limit)?;
        let is_smaller = cell.load.block_bytes < other.load.block_bytes;
        let limit = match is_smaller {
            true if larger_moves_more(self.cells, cell, rate).is_some() => Limit::DiskIops,
            false if larger_moves_more(self.cells, other, iops(other)?).is_some() => Limit::DiskThroughput,
            _ => return None,
        };
        let fact = LevelFact::BothDirections {
            load: load_name(other_way),
            rate_iops: rate,
            bytes_per_s: moved(cell),
            other: requests_of(other, cell),
            other_iops: iops(other)?,
            other_bytes_per_s: moved(other),
        };
        Some(inferred(limit, Some(rate), Some(1.0), Evidence::from(fact).with(self.how_it_waits())))
    }
}

/// What stops one direction stops the other at the same rate, where nothing else was found that does. What is named so names in turn those
/// of its own depth in the first direction.
pub(super) fn one_limit_in_both(cells: &mut [CellSummary], curves: &[Curve]) {
    for _ in [ThrottledRequests::Reads, ThrottledRequests::Writes] {
        let found: Vec<Option<Binding>> =
            (0..cells.len()).map(|index| of_other_direction(cells, curves, index)).collect();
        for (cell, found) in cells.iter_mut().zip(found) {
            cell.binding = found.or(cell.binding.take());
        }
    }
}

fn of_other_direction(cells: &[CellSummary], curves: &[Curve], index: usize) -> Option<Binding> {
    let own = &cells[index];
    let binding = own.binding.as_ref().filter(|binding| binding.inferred)?;
    let is_open = matches!(binding.limit, Limit::Latency | Limit::Parallelism | Limit::Unexplained);
    let rate = iops(own).filter(|_| is_open && is_apt(own))?;
    let curve = curves.iter().find(|curve| curve.closed.contains(&index))?;
    let single = curve.alone(cells).and_then(|alone| iops(&cells[alone]));
    let is_own = single.is_some_and(|single| rate >= OWN_TIME * outstanding(own).unwrap_or(1) as f64 * single);
    if is_own || curve.growth_beyond(cells, index).is_some_and(Growth::proportional) {
        return None;
    }
    mirrors(cells, own).find_map(|other| {
        let its = other.binding.as_ref().filter(|its| its.inferred)?;
        let level = its.ceiling_iops.filter(|level| same(*level, rate, SAME_RATE))?;
        let is_disk = matches!(its.limit, Limit::DiskIops | Limit::DiskThroughput);
        let fact =
            LevelFact::RequestsOfLevel { rate_iops: rate, load: load_name(other), level_iops: level, shown: None };
        let of_both = || Binding { presumed: true, ..inferred(its.limit, Some(level), Some(rate / level), fact) };
        is_disk.then(of_both)
    })
}
