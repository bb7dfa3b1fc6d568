//! Cells that differ only in how much is asked at once, put in order: how the rate grows with the load, and where it stops.

use crate::statistics::median;
use crate::summary::CellSummary;
use loadline_record::{CellRecord, DoubtCode};
use std::collections::BTreeMap;

/// Rates on a plateau differ from its level by at most this much: about the spread of repeated runs on a quiet disk.
const PLATEAU_SPREAD: f64 = 0.05;
/// A plateau spans at least this factor in depth: there, a rate bound by latency alone would have doubled.
const PLATEAU_SPAN: f64 = 2.0;
/// And its rate grows by no more than this power of the depth.
const PLATEAU_GROWTH: f64 = 0.1;
/// From this power of the depth on the rate counts as growing in proportion.
const PROPORTIONAL_GROWTH: f64 = 0.75;
/// An open loop that completes less than this share of what it offers asks for more than can be had.
const OVERLOADED: f64 = 0.97;
/// Doubts under which a rate says nothing about where the storage stops.
const NOT_THE_STORAGE: [DoubtCode; 5] = [
    DoubtCode::GeneratorBound,
    DoubtCode::CachedReads,
    DoubtCode::UnwrittenExtents,
    DoubtCode::Errors,
    DoubtCode::EndedEarly,
];

/// Otherwise equal cells. Indices are those of the run's cells.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    /// Closed loops by requests outstanding, then in the plan's order.
    pub(crate) closed: Vec<usize>,
    /// Open loops by offered rate.
    pub(crate) open: Vec<usize>,
    /// Where the rate stops growing, if it was seen to.
    pub(crate) plateau: Option<Plateau>,
}

/// A rate that no longer grows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plateau {
    /// Requests outstanding from which on it holds.
    pub(crate) from: u64,
    /// Its level, requests per second.
    pub(crate) iops: f64,
    /// The same in bytes per second.
    pub(crate) bytes_per_s: f64,
    /// The cells on it; the shallowest first, overloaded open loops last.
    pub(crate) cells: Vec<usize>,
}

/// Requests outstanding over all threads of a closed loop.
pub(crate) fn outstanding(cell: &CellSummary) -> Option<u64> {
    cell.load.queue_depth.map(|depth| u64::from(depth) * u64::from(cell.load.threads))
}

/// Whether a doubt of this kind is on the cell.
pub(crate) fn doubted(cell: &CellSummary, code: DoubtCode) -> bool {
    cell.doubts.iter().any(|d| d.code == code)
}

pub(crate) fn iops(cell: &CellSummary) -> Option<f64> {
    cell.total.as_ref().map(|t| t.iops)
}

/// Whether the rate can be the storage's: no doubt says that it is something else's.
pub(crate) fn sound(cell: &CellSummary) -> bool {
    !NOT_THE_STORAGE.iter().any(|code| doubted(cell, *code))
}

/// Achieved over offered, in an open loop.
pub(crate) fn met(cell: &CellSummary) -> Option<f64> {
    Some(iops(cell)? / cell.offered_iops.filter(|o| *o > 0.0)?)
}

fn closed(cell: &CellSummary) -> bool {
    cell.load.queue_depth.is_some()
}

/// Whether a closed loop waits by its own will: a rate ceiling or think time.
pub(crate) fn paced(cell: &CellSummary) -> bool {
    let waits = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().any(|o| o.waiting_ns.is_some());
    closed(cell) && (cell.load.rate_iops.is_some() || waits)
}

/// Keys of a load's specification that say how much, how long and how often, rather than what.
const AMOUNT_KEYS: [&str; 15] = [
    "arrival",
    "threads",
    "name",
    "trials",
    "duration",
    "volume",
    "warm_up",
    "cool_down",
    "steady_state",
    "pause",
    "hang_limit",
    "objective",
    "fill",
    "drop_caches",
    "verify",
];

/// What two cells must share to be on one curve. Sequential threads are streams of their own, so their number is part of it.
fn key(record: &CellRecord, cell: &CellSummary) -> String {
    let load = &cell.load;
    let mut spec = record.spec.clone();
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|key, _| !AMOUNT_KEYS.contains(&key.as_str()));
    }
    let streams = if load.pattern == "sequential" { load.threads } else { 0 };
    format!(
        "{:?} {:?} {} {} {} {} {} {spec}",
        cell.volume,
        load.pattern,
        load.read_ratio,
        load.block_bytes,
        load.buffered,
        streams,
        cell.flush.is_some()
    )
}

/// The curves of a run, in the order of their first cells.
pub(crate) fn curves(records: &[CellRecord], cells: &[CellSummary]) -> Vec<Curve> {
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    let mut curves: Vec<Curve> = Vec::new();
    for (index, (record, cell)) in records.iter().zip(cells).enumerate() {
        if cell.total.is_none() || paced(cell) {
            continue;
        }
        let place = *order.entry(key(record, cell)).or_insert_with(|| {
            curves.push(Curve { closed: Vec::new(), open: Vec::new(), plateau: None });
            curves.len() - 1
        });
        if closed(cell) { curves[place].closed.push(index) } else { curves[place].open.push(index) }
    }
    for curve in &mut curves {
        curve.closed.sort_by_key(|i| outstanding(&cells[*i]));
        let offered = |i: &usize| cells[*i].offered_iops.unwrap_or(0.0);
        curve.open.sort_by(|a, b| offered(a).total_cmp(&offered(b)));
        curve.plateau = plateau(curve, cells);
    }
    curves
}

impl Curve {
    /// By which power of the depth the rate grew from the next shallower depth to this cell, or to the next deeper one
    /// from the shallowest.
    pub(crate) fn growth(&self, cells: &[CellSummary], cell: usize) -> Option<Growth> {
        let depth = outstanding(&cells[cell])?;
        let at = |i: &&usize| outstanding(&cells[**i]).unwrap_or(depth);
        let below = self.closed.iter().rfind(|i| at(i) < depth);
        let above = self.closed.iter().find(|i| at(i) > depth);
        let (from, to) = below.map(|b| (*b, cell)).or_else(|| above.map(|a| (cell, *a)))?;
        let depths = outstanding(&cells[to])? as f64 / outstanding(&cells[from])? as f64;
        let rates = iops(&cells[to])? / iops(&cells[from]).filter(|r| *r > 0.0)?;
        (rates > 0.0).then(|| Growth { from, to, power: libm::log(rates) / libm::log(depths) })
    }
    /// The rate of a single request at a time, if it was measured.
    pub(crate) fn alone(&self, cells: &[CellSummary]) -> Option<usize> {
        self.closed.first().copied().filter(|i| outstanding(&cells[*i]) == Some(1))
    }
}

/// How a rate grew between two depths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    pub(crate) from: usize,
    pub(crate) to: usize,
    power: f64,
}

impl Growth {
    /// Whether the rate grew nearly in proportion to the depth: more could be had by asking for more at once.
    pub(crate) fn proportional(self) -> bool {
        self.power >= PROPORTIONAL_GROWTH
    }
}

/// The shallowest depth from which on the rate stays at one level, if it was measured over at least a doubling. An open loop
/// that could not be met counts as deeper than any closed one.
fn plateau(curve: &Curve, cells: &[CellSummary]) -> Option<Plateau> {
    let sound = |i: &&usize| sound(&cells[**i]);
    let overloaded = |i: &&usize| met(&cells[**i]).is_some_and(|met| met < OVERLOADED);
    let points: Vec<(f64, f64, usize)> = curve
        .closed
        .iter()
        .filter(sound)
        .map(|i| (outstanding(&cells[*i]).unwrap_or(1) as f64, *i))
        .chain(curve.open.iter().filter(sound).filter(overloaded).map(|i| (f64::INFINITY, *i)))
        .filter_map(|(depth, i)| Some((depth, iops(&cells[i])?, i)))
        .collect();
    (0..points.len()).find_map(|start| {
        let tail = &points[start..];
        let ((first_depth, first_rate, first), (last_depth, last_rate, _)) = (*tail.first()?, *tail.last()?);
        let level = median(&tail.iter().map(|p| p.1).collect::<Vec<_>>()).filter(|l| *l > 0.0)?;
        let flat = tail.iter().all(|(_, rate, _)| (rate / level - 1.0).abs() <= PLATEAU_SPREAD);
        let span = last_depth / first_depth;
        let power = if span.is_finite() { libm::log(last_rate / first_rate) / libm::log(span) } else { 0.0 };
        let holds = first_depth.is_finite() && span >= PLATEAU_SPAN && flat && power <= PLATEAU_GROWTH;
        holds.then(|| Plateau {
            from: outstanding(&cells[first]).unwrap_or(1),
            iops: level,
            bytes_per_s: level * bytes_per_request(&cells[first]),
            cells: tail.iter().map(|p| p.2).collect(),
        })
    })
}

fn bytes_per_request(cell: &CellSummary) -> f64 {
    cell.total
        .as_ref()
        .filter(|t| t.iops > 0.0)
        .map_or(cell.load.block_bytes as f64, |t| t.throughput_bytes_per_s / t.iops)
}
