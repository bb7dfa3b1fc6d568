//! Two sizes of requests, each measured at one depth alone, that have one rate although Little's law would give each its own.

use super::caps::ASKED_APART;
use super::kinds::{SAME_RATE, alike, apart, highest, moved, requests_of, same};
use super::{Case, inferred};
use crate::curves::{doubted, iops, outstanding};
use crate::summary::CellSummary;
use crate::words::how_much;
use loadline_record::{Binding, DoubtCode, Evidence, LevelFact, Limit};

impl Case<'_> {
    /// A load that was measured at one depth alone, and another size of its requests with as many bytes a second though so many more or
    /// fewer of them are outstanding, or with as many requests a second likewise.
    pub(super) fn by_equal_sizes(&self, rate: f64) -> Option<Binding> {
        let cell = self.cell();
        if doubted(cell, DoubtCode::Buffered) || !self.is_alone(self.own?) {
            return None;
        }
        let others = (0..self.curves.len()).filter(|curve| Some(*curve) != self.own && self.is_alone(*curve));
        let others = others.map(|curve| &self.cells[self.curves[curve].closed[0]]);
        let like: Vec<&CellSummary> = others
            .filter(|other| alike(cell, other) && apart(cell, other) && other.load.pattern == cell.load.pattern)
            .collect();
        let differ = |a: f64, b: f64| a / b >= ASKED_APART || b / a >= ASKED_APART;
        let depth = |cell: &CellSummary| outstanding(cell).unwrap_or(1) as f64;
        let bytes = |cell: &CellSummary| depth(cell) * cell.load.block_bytes as f64;
        let in_bytes =
            |other: &&&CellSummary| same(moved(other), moved(cell), SAME_RATE) && differ(bytes(other), bytes(cell));
        let in_requests = |other: &&&CellSummary| {
            same(iops(other).unwrap_or(0.0), rate, SAME_RATE) && differ(depth(other), depth(cell))
        };
        let named = |other: &CellSummary| (requests_of(other, cell), how_much(other));
        let (limit, fact) = match (like.iter().find(in_bytes), like.iter().find(in_requests)) {
            (Some(other), _) => {
                let (load, amount) = named(other);
                let (other_bytes, own_bytes) = (bytes(other), bytes(cell));
                let bytes_per_s = moved(other);
                let fact = LevelFact::EqualBytes { load, amount, bytes_per_s, other_bytes, own_bytes };
                (Limit::DiskThroughput, fact)
            }
            (None, Some(other)) => {
                let (load, amount) = named(other);
                let (other_depth, own_depth) = (depth(other), depth(cell));
                let rate_iops = iops(other)?;
                (Limit::DiskIops, LevelFact::EqualRequests { load, amount, rate_iops, other_depth, own_depth })
            }
            (None, None) => return None,
        };
        Some(inferred(limit, Some(rate), Some(1.0), Evidence::from(fact).with(self.how_it_waits())))
    }

    /// Whether one depth alone was measured of a curve, and more than one request at a time.
    fn is_alone(&self, curve: usize) -> bool {
        let curve = &self.curves[curve];
        curve.closed.len() == 1
            && highest(curve, self.cells, self.clustered).is_some_and(|i| outstanding(&self.cells[i]) > Some(1))
    }
}
