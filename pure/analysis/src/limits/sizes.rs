//! Two sizes of requests, each measured at one depth alone, that have one rate although Little's law would give each its own.

use super::kinds::{SAME_RATE, alike, apart, highest, moved, requests_of, same};
use super::{Case, inferred};
use crate::curves::{doubted, iops, outstanding};
use crate::summary::CellSummary;
use crate::words::how_much;
use crate::words::{number, size, throughput};
use loadline_record::{Binding, DoubtCode, Limit};

/// So many times as much is outstanding of the one as of the other, or more: else requests that take as long make the rates equal.
const APART: f64 = 2.0;

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
        let differ = |a: f64, b: f64| a / b >= APART || b / a >= APART;
        let depth = |cell: &CellSummary| outstanding(cell).unwrap_or(1) as f64;
        let bytes = |cell: &CellSummary| depth(cell) * cell.load.block_bytes as f64;
        let in_bytes =
            |other: &&&CellSummary| same(moved(other), moved(cell), SAME_RATE) && differ(bytes(other), bytes(cell));
        let in_requests = |other: &&&CellSummary| {
            same(iops(other).unwrap_or(0.0), rate, SAME_RATE) && differ(depth(other), depth(cell))
        };
        let (limit, other, level, what) = match (like.iter().find(in_bytes), like.iter().find(in_requests)) {
            (Some(other), _) => (Limit::DiskThroughput, *other, throughput(moved(other)), "bytes"),
            (None, Some(other)) => (Limit::DiskIops, *other, format!("{} IOPS", number(iops(other)?)), "requests"),
            (None, None) => return None,
        };
        let at_once = |cell: &CellSummary| match limit {
            Limit::DiskThroughput => size(bytes(cell) as u64),
            _ => number(depth(cell)),
        };
        let evidence = format!(
            "{} ({}) have as many {what} a second ({level}), with {} outstanding at once and {} here: requests that wait for nothing \
             would not.",
            requests_of(other, cell),
            how_much(other),
            at_once(other),
            at_once(cell)
        );
        Some(inferred(limit, Some(rate), Some(1.0), format!("{evidence}{}", self.how_it_waits())))
    }

    /// Whether one depth alone was measured of a curve, and more than one request at a time.
    fn is_alone(&self, curve: usize) -> bool {
        let curve = &self.curves[curve];
        curve.closed.len() == 1
            && highest(curve, self.cells, self.clustered).is_some_and(|i| outstanding(&self.cells[i]) > Some(1))
    }
}
