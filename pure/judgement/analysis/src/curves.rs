//! Cells that differ only in how much is asked at once, put in order: how the rate grows with the load, and where it stops.

use crate::limits::{has_turns, level};
use crate::summary::CellSummary;
use crate::trials::trials_used;
use loadline_record::{CellRecord, DoubtCode};
use std::collections::BTreeMap;

/// Rates on a plateau differ from its level by at most this much: about the spread of repeated runs on a quiet disk.
pub(crate) const PLATEAU_SPREAD: f64 = 0.05;
/// Rates of turns agree within this,
const AGREED: f64 = 0.01;
/// and of so many at least one may be off.
const AGREED_POINTS: usize = 3;
/// Where others with as many outstanding reach the level, a cell that lacks no more than this has it, too.
const PLATEAU_SPREAD_BESIDE: f64 = 2.0 * PLATEAU_SPREAD;
/// A plateau spans at least this factor in depth: there, a rate bound by latency alone would have doubled.
const PLATEAU_SPAN: f64 = 2.0;
/// And its rate grows by no more than this power of the depth.
const PLATEAU_GROWTH: f64 = 0.1;
/// From this power of the depth on the rate counts as growing in proportion.
const PROPORTIONAL_GROWTH: f64 = 0.75;
/// An open loop that completes less than this share of what it offers asks for more than can be had.
const OVERLOADED: f64 = 0.97;
/// What an overloaded open loop may lack of the level, in seconds of it: throttles count over up to a second, so that much of
/// the backlog may be let through after the measured time.
const LATE_S: f64 = 1.0;
/// But no more than this share of it, however short the measurement.
const LATE_MAX: f64 = 0.5;
/// Doubts under which a rate says nothing about where the storage stops.
const NOT_THE_STORAGE: [DoubtCode; 6] = [
    DoubtCode::UnknownLimit,
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
    /// The same at each depth, from the shallowest.
    depths: Vec<Depth>,
    /// Open loops by offered rate.
    pub(crate) open: Vec<usize>,
    /// Where the rate stops growing, if it was seen to.
    pub(crate) plateau: Option<Plateau>,
}

/// The closed loops of a curve with as many outstanding.
#[derive(Debug, Clone)]
struct Depth {
    outstanding: u64,
    first: usize,
    last: usize,
    /// The sound one that had most.
    best: Option<usize>,
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
    /// The cells on it; the shallowest first, then open loops that asked for more in vain.
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

/// Achieved over offered, in an open loop; for good, where a burst helped at first.
pub(crate) fn met_lasting(cell: &CellSummary) -> Option<f64> {
    Some(cell.iops_lasting()? / cell.offered_iops.filter(|o| *o > 0.0)?)
}

/// Achieved over offered, in an open loop.
pub(crate) fn met(cell: &CellSummary) -> Option<f64> {
    Some(iops(cell)? / cell.offered_iops.filter(|o| *o > 0.0)?)
}

/// The same of a record, over the trials that its figures rest on.
pub(crate) fn met_of(cell: &CellRecord) -> Option<f64> {
    let trials = trials_used(cell);
    let rates = trials.iter().map(|t| Some((t.iops()?, t.offered_iops.filter(|o| *o > 0.0)?)));
    let rates: Vec<(f64, f64)> = rates.collect::<Option<_>>()?;
    let (done, offered) = rates.iter().fold((0.0, 0.0), |sum, rate| (sum.0 + rate.0, sum.1 + rate.1));
    (offered > 0.0).then(|| done / offered)
}

fn closed(cell: &CellSummary) -> bool {
    cell.load.queue_depth.is_some()
}

/// Whether a closed loop waits by its own will: a rate ceiling or think time.
pub(crate) fn paced(cell: &CellSummary) -> bool {
    let waits = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().any(|o| o.waiting_ns.is_some());
    closed(cell) && (cell.load.rate_iops.is_some() || waits)
}

/// Whether two cells are on one curve. What was made durable is not the same, whatever was asked.
pub(crate) fn is_like(a: &CellSummary, b: &CellSummary) -> bool {
    a.identity.curve() == b.identity.curve() && a.flush.is_some() == b.flush.is_some()
}

/// The curves of a run, in the order of their first cells. What others asked is on none: nobody varied how much it was. Nor are loads
/// that ran beside others, which took of the same limits.
pub(crate) fn curves(records: &[CellRecord], cells: &[CellSummary]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let mut order: BTreeMap<((&str, &str), bool), usize> = BTreeMap::new();
    for (index, cell) in cells.iter().enumerate() {
        if cell.total.is_none() || paced(cell) || cell.is_of_others() || !cell.beside.is_empty() {
            continue;
        }
        let place = *order.entry((cell.identity.curve(), cell.flush.is_some())).or_insert_with(|| {
            curves.push(Curve { closed: Vec::new(), depths: Vec::new(), open: Vec::new(), plateau: None });
            curves.len() - 1
        });
        if closed(cell) { curves[place].closed.push(index) } else { curves[place].open.push(index) }
    }
    for curve in &mut curves {
        curve.closed.sort_by_key(|i| outstanding(&cells[*i]));
        curve.depths = depths(&curve.closed, cells);
        let offered = |i: &usize| cells[*i].offered_iops.unwrap_or(0.0);
        curve.open.sort_by(|a, b| offered(a).total_cmp(&offered(b)));
        curve.plateau = plateau(curve, records, cells);
    }
    curves
}

impl Curve {
    /// By which power of the depth the rate grew from the next shallower depth to this cell, or to the next deeper one
    /// from the shallowest.
    pub(crate) fn growth(&self, cells: &[CellSummary], cell: usize) -> Option<Growth> {
        let depth = outstanding(&cells[cell])?;
        let shallower = self.depths.partition_point(|at| at.outstanding < depth);
        if let Some(below) = shallower.checked_sub(1).map(|place| &self.depths[place]) {
            return Growth::between(cells, below.best_beside(cells, below.last), cell);
        }
        self.growth_beyond(cells, cell)
    }
    /// By which power of the depth the rate grew from this cell to the next deeper one.
    pub(crate) fn growth_beyond(&self, cells: &[CellSummary], cell: usize) -> Option<Growth> {
        let depth = outstanding(&cells[cell])?;
        let above = self.depths.get(self.depths.partition_point(|at| at.outstanding <= depth))?;
        Growth::between(cells, cell, above.best_beside(cells, above.first))
    }
    /// The same with these open loops alone.
    pub(crate) fn with_open(&self, is_one: impl Fn(usize) -> bool) -> Self {
        let open = self.open.iter().copied().filter(|i| is_one(*i)).collect();
        Self { open, ..self.clone() }
    }
    /// The rate of a single request at a time, if it was measured.
    pub(crate) fn alone(&self, cells: &[CellSummary]) -> Option<usize> {
        self.closed.first().copied().filter(|i| outstanding(&cells[*i]) == Some(1))
    }
}

/// Of closed loops by their depth: those of each.
fn depths(closed: &[usize], cells: &[CellSummary]) -> Vec<Depth> {
    let rate = |i: usize| iops(&cells[i]).unwrap_or(0.0);
    let mut depths: Vec<Depth> = Vec::new();
    for index in closed.iter().copied() {
        let Some(depth) = outstanding(&cells[index]) else { continue };
        if depths.last().is_none_or(|last| last.outstanding != depth) {
            depths.push(Depth { outstanding: depth, first: index, last: index, best: None });
        }
        let at = depths.last_mut().expect("one was added");
        at.last = index;
        if sound(&cells[index]) && at.best.is_none_or(|best| rate(index) > rate(best)) {
            at.best = Some(index);
        }
    }
    depths
}

impl Depth {
    /// Of this cell and those with as many outstanding, by other numbers of threads or measured again, the one that had most: what
    /// holds a rate holds all of them, and only a disturbance takes from one.
    fn best_beside(&self, cells: &[CellSummary], cell: usize) -> usize {
        let rate = |i: usize| iops(&cells[i]).unwrap_or(0.0);
        self.best.filter(|best| rate(*best) > rate(cell)).unwrap_or(cell)
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
    fn between(cells: &[CellSummary], from: usize, to: usize) -> Option<Self> {
        let depths = outstanding(&cells[to])? as f64 / outstanding(&cells[from])? as f64;
        let rates = cells[to].iops_lasting()? / cells[from].iops_lasting().filter(|r| *r > 0.0)?;
        (rates > 0.0).then(|| Self { from, to, power: libm::log(rates) / libm::log(depths) })
    }
    /// The power of the depth by which it grew.
    pub(crate) fn power(self) -> f64 {
        self.power
    }
    /// By which factor the depths differ.
    pub(crate) fn spans(self, cells: &[CellSummary]) -> f64 {
        let depth = |i: usize| outstanding(&cells[i]).unwrap_or(1) as f64;
        depth(self.to) / depth(self.from)
    }
    /// Whether the rate grew nearly in proportion to the depth: more could be had by asking for more at once.
    pub(crate) fn proportional(self) -> bool {
        self.power >= PROPORTIONAL_GROWTH
    }
    /// Whether it grew no more than it does on a plateau.
    pub(crate) fn flat(self) -> bool {
        self.power <= PLATEAU_GROWTH
    }
}

/// The shallowest depth from which on the rate that lasts of closed loops stays at one level, over at least a doubling of depth, or at a
/// single depth beyond which an open loop asked for more in vain. An open loop that got more shows that the level is none.
fn plateau(curve: &Curve, records: &[CellRecord], cells: &[CellSummary]) -> Option<Plateau> {
    let sound = |i: &&usize| sound(&cells[**i]);
    let closed: Vec<(f64, f64, usize)> = curve
        .closed
        .iter()
        .filter(sound)
        .filter_map(|i| {
            let (cell, depth) = (&cells[*i], outstanding(&cells[*i])? as f64);
            let rate = cell.iops_lasting()?;
            let rate = if cell.lasting.is_some() { rate } else { level(&records[*i], rate) };
            Some((depth, rate, *i))
        })
        .collect();
    let open: Vec<usize> = curve.open.iter().filter(sound).copied().collect();
    let most = most_of_each_depth(&closed);
    (0..most.len()).find_map(|start| {
        let tail = &most[start..];
        let ((first_depth, first_rate, first), (last_depth, last_rate, _)) = (*tail.first()?, *tail.last()?);
        // A limit is an upper bound: a busy machine takes from any rate. The shallower ones may still lack a little of it, or live on
        // what a bucket saved.
        let deeper = &tail[tail.len() / 2..];
        let level = deeper.iter().map(|p| p.1).max_by(f64::total_cmp).filter(|l| *l > 0.0)?;
        // What a throttle saved up before is no part of its level; where several had turns of it, two that agree are.
        let level = agreed(tail, records).filter(|agreed| *agreed >= level * (1.0 - PLATEAU_SPREAD)).unwrap_or(level);
        let flat = tail.iter().all(|(_, rate, _)| (rate / level - 1.0).abs() <= PLATEAU_SPREAD);
        let span = last_depth / first_depth;
        let grows = span > 1.0 && libm::log(last_rate / first_rate) / libm::log(span) > PLATEAU_GROWTH;
        let exceeded =
            open.iter().any(|i| cells[*i].iops_lasting().is_some_and(|rate| rate > level * (1.0 + PLATEAU_SPREAD)));
        let in_vain: Vec<usize> =
            open.iter().copied().filter(|i| asked_in_vain(&records[*i], &cells[*i], level)).collect();
        let wide = span >= PLATEAU_SPAN || !in_vain.is_empty();
        let reaches =
            |point: &&(f64, f64, usize)| point.0 >= first_depth && point.1 >= level * (1.0 - PLATEAU_SPREAD_BESIDE);
        (wide && flat && !grows && !exceeded).then(|| Plateau {
            from: outstanding(&cells[first]).unwrap_or(1),
            iops: level,
            bytes_per_s: level * bytes_per_request(&cells[first]),
            cells: closed.iter().filter(reaches).map(|p| p.2).chain(in_vain).collect(),
        })
    })
}

/// The highest rate that two of these points have, if turns of a throttle gave all of them.
fn agreed(points: &[(f64, f64, usize)], records: &[CellRecord]) -> Option<f64> {
    if points.len() < AGREED_POINTS || !points.iter().all(|point| has_turns(&records[point.2])) {
        return None;
    }
    let mut rates: Vec<f64> = points.iter().map(|point| point.1).collect();
    rates.sort_by(f64::total_cmp);
    let pair = rates.windows(2).rev().find(|pair| pair[1] <= pair[0] * (1.0 + AGREED))?;
    Some(f64::midpoint(pair[0], pair[1]))
}

/// Of points by depth, rate and cell, ordered by depth: the one of each depth that had most. A limit is an upper bound, and of many loads
/// with as many outstanding some were disturbed.
fn most_of_each_depth(points: &[(f64, f64, usize)]) -> Vec<(f64, f64, usize)> {
    let mut most: Vec<(f64, f64, usize)> = Vec::new();
    for point in points {
        match most.last_mut().filter(|last| last.0.total_cmp(&point.0).is_eq()) {
            Some(last) if last.1 >= point.1 => {}
            Some(last) => *last = *point,
            None => most.push(*point),
        }
    }
    most
}

/// Whether an open loop offered more than `level` and got no more than that.
fn asked_in_vain(record: &CellRecord, cell: &CellSummary, level: f64) -> bool {
    let overloaded = met_lasting(cell).is_some_and(|met| met < OVERLOADED);
    overloaded && cell.offered_iops.is_some_and(|offered| offered > level) && pressed(record, cell, level)
}

/// Whether an open loop offered about `level` or more, and got as much. It may have got less by what a throttle lets through
/// late: some of its backlog was answered only after the measured time.
pub(crate) fn pressed(record: &CellRecord, cell: &CellSummary, level: f64) -> bool {
    let measured_s = trials_used(record).iter().map(|t| t.measured_ns as f64 / 1e9).fold(f64::INFINITY, f64::min);
    let short = PLATEAU_SPREAD.max(LATE_S / measured_s).min(LATE_MAX);
    let offered = cell.offered_iops.is_some_and(|offered| offered >= level * (1.0 - PLATEAU_SPREAD));
    let got = cell.iops_lasting().unwrap_or(0.0);
    offered && sound(cell) && got >= level * (1.0 - short) && got <= level * (1.0 + PLATEAU_SPREAD)
}

fn bytes_per_request(cell: &CellSummary) -> f64 {
    cell.total
        .as_ref()
        .filter(|t| t.iops > 0.0)
        .map_or(cell.load.block_bytes as f64, |t| t.throughput_bytes_per_s / t.iops)
}
