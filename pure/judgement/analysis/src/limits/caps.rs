//! Requests or bytes, where no plateau tells: the pair of limits that explains all cells of a kind in which requests waited.

use super::kinds::same;
use super::passed::Of;
use super::seen_cells::SeenCells;
use crate::curves::{doubted, iops, outstanding, paced, sound};
use crate::statistics::Interval;
use crate::summary::{CellSummary, OperationFigures};
use loadline_record::{DoubtCode, Limit, PresumedBy, RoundUnit, TakenTime};
use std::cell::OnceCell;

/// A cell waits for a limit if its requests take this many times what they take where nothing waits.
pub(super) const WAITS: f64 = 2.0;
/// A single random request on a spinning disk takes at least so long: half a turn at 10,000 turns a minute, ns.
const SEEK_NS: f64 = 3e6;
/// Latencies further apart than this are told apart.
const OTHERWISE_MIN: f64 = 1.05;
/// Or if it comes so near to it.
pub(super) const NEAR: f64 = 0.95;
/// Sizes of requests that tell limits apart differ by this factor.
const BLOCKS_APART: f64 = 1.5;
/// Loads of one figure show a limit if so many times as much is asked of one as of the other.
pub(super) const ASKED_APART: f64 = 2.0;
/// How far rates of cells at one limit differ.
const SPREAD: f64 = 0.02;
/// No cell weighs more than this, in squared spreads.
const WEIGHT_MAX: f64 = 25.0;
/// A rate above a limit weighs more than one below it, which other causes may have.
const CONTRADICTION: f64 = 2.0 * WEIGHT_MAX;
/// What a further limit must explain, in squared spreads.
const LIMIT_COST: f64 = 9.0;
/// A rate above a limit by more than this contradicts it.
pub(super) const EXCEEDS: f64 = 1.05;
/// Looks at a point that are taken to find the limits of a kind of load. Up to 215 cells of it every pair is tried.
const TRIED_MAX: f64 = 1e7;
/// Rates that are tried at least.
const TRIED_MIN: f64 = 16.0;
/// A rate below this share of what the pair allows is not explained by it.
const EXPLAINED_MIN: f64 = 0.5;
/// A figure is round if it comes as near to a whole number,
const ROUND_OFF: f64 = 5e-4;
/// as near as this where round figures lie so far apart that it is
const ROUGH_OFF: f64 = 1.5e-3;
/// no more than this share of the way from one to the next,
const APART_MAX: f64 = 0.1;
/// from this on,
const ROUND_MIN: f64 = 10.0;
/// and below the number that four digits tell from the next.
const ROUND_MAX: f64 = 1_000.0;
/// Requests per second are set in steps of this, and the kernel rounds them to it.
const ROUND_IOPS: f64 = 10.0;
/// Or of more, as far as this share of them is below it: a rate near ten thousand is always near a multiple of ten.
const ROUND_STEP: f64 = 2e-3;
/// Where one block size alone was seen: disks as they are sold move about `25 MB/s x (IOPS / 120)^0.7` (120 IOPS and 25 MB/s
/// to 20,000 IOPS and 900 MB/s; docs/inside/how-limits-are-named.md).
const SOLD: (f64, f64, f64) = (25e6, 120.0, 0.7);

/// What is known of a cell beside its figures.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and any of them may hold together")]
pub(super) struct Seen {
    /// The rate that lasts.
    pub(super) sustained: f64,
    pub(super) interval: Option<Interval>,
    /// Whether the cell itself shows that something counts: clusters, counts that hardly scatter, or an offer unmet.
    pub(super) counted: bool,
    /// Whether its latencies lie in two clusters.
    pub(super) clustered: bool,
    /// Whether turns of a throttle show that: by the clusters, by what passes in each, or by what the kernel keeps from the device.
    pub(super) by_turns: bool,
    /// Whether its own rate is one that something holds: clusters, counts that hardly scatter, an offer unmet, or requests that all wait as
    /// long.
    pub(super) shows_rate: bool,
    /// Whether its rate is one that more requests at once, or a higher offer, did not raise.
    pub(super) at_level: bool,
    /// Whether several loads share that level.
    pub(super) in_plateau: bool,
    /// Whether nothing but an unmet offer shows that: it does not show what holds the rate.
    pub(super) unmet_alone: bool,
    /// Whether nothing but the latencies of single requests shows that: its rate is none that anything was counted to.
    pub(super) stalls: bool,
    /// Whether its own latencies are mostly waits for a turn.
    pub(super) turns: bool,
    /// Whether it is an open loop that got what it asked for: its rate is its own, however long its requests took.
    pub(super) met: bool,
    /// Whether the devices say that they spin, requests are random, and the rate does not level off.
    pub(super) spins: bool,
}

/// Requests and bytes per second that bound loads of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Caps {
    pub(super) iops: Option<f64>,
    pub(super) bytes_per_s: Option<f64>,
    /// Whether two block sizes, or one that rules the other limit out, tell them apart; else it is what is usual.
    pub(super) told: bool,
}

impl Caps {
    /// The lower of the two for requests of this size.
    pub(super) fn of(&self, block: f64) -> Option<(Limit, f64)> {
        let bytes = self.bytes_per_s.map(|rate| (Limit::DiskThroughput, rate / block));
        let iops = self.iops.map(|rate| (Limit::DiskIops, rate));
        [iops, bytes].into_iter().flatten().min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// The size of a cell's requests, as they were.
pub(crate) fn request_bytes(cell: &CellSummary) -> f64 {
    let total = cell.total.as_ref().filter(|total| total.iops > 0.0 && total.throughput_bytes_per_s > 0.0);
    total.map_or(cell.load.block_bytes as f64, |total| total.throughput_bytes_per_s / total.iops)
}

/// What a cell's requests take on average over all operations, ns; in an open loop from their issue on.
///
/// Where it is not known, as of results of other tools, it follows from how many were outstanding in a closed loop (Little's law).
pub(super) fn latency_ns(cell: &CellSummary) -> Option<f64> {
    let known = mean_ns(cell, |figures| figures.service_ns.as_ref().unwrap_or(&figures.latency_ns).mean);
    let by_depth = || Some(outstanding(cell).filter(|_| !paced(cell))? as f64 / iops(cell)? * 1e9);
    known.filter(|known| *known > 0.0).or_else(by_depth).filter(|known| known.is_finite())
}

/// The same beside the latency in tables, from when each was due, where that is another.
pub(super) fn taken(cell: &CellSummary) -> Option<TakenTime> {
    let latency_ns = latency_ns(cell)?;
    let from_due = mean_ns(cell, |figures| figures.latency_ns.mean)?;
    Some(TakenTime { latency_ns, from_due_ns: Some(from_due).filter(|due| *due > latency_ns * OTHERWISE_MIN) })
}

/// A mean over all operations, each by its rate.
fn mean_ns(cell: &CellSummary, of: fn(&OperationFigures) -> f64) -> Option<f64> {
    let parts = || [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
    let all: f64 = parts().map(|figures| figures.iops).sum();
    (all > 0.0).then(|| parts().map(|figures| figures.iops * of(figures)).sum::<f64>() / all)
}

/// Whether a cell's requests wait for something other than the device's own time.
pub(super) fn waits(cells: &[CellSummary], seen: &SeenCells, index: usize) -> bool {
    seen[index].as_ref().is_some_and(|own| own.counted) || take_longer(cells, seen, index)
}

/// Whether a cell's requests take so much longer than fewer at once do that they wait.
fn take_longer(cells: &[CellSummary], seen: &SeenCells, index: usize) -> bool {
    let longer = || {
        let (took, least) = (latency_ns(&cells[index])?, seen.least_ns(index)?);
        // A head serves one request at a time, and the more there are the shorter its ways.
        let is_mechanics = seen[index].as_ref()?.spins && least >= SEEK_NS;
        Some(took >= WAITS * least && !is_mechanics)
    };
    longer().unwrap_or(false)
}

/// The limits of the loads of each cell's kind, from all of them; none that another load is known to have had more than.
pub(super) fn caps(of: Of<'_>) -> Vec<Option<Caps>> {
    let mut all = vec![None; of.cells.len()];
    for kind in of.seen.kinds() {
        let lightest = Lightest::of(of, kind);
        // Cells of a kind differ in which of few limits is theirs.
        let mut judged: Vec<(Caps, bool)> = Vec::new();
        for index in kind {
            let Some(caps) = lightest.of_cell(&of.cells[*index]) else { continue };
            let refuted = judged.iter().find(|(known, _)| *known == caps).map(|(_, refuted)| *refuted);
            let refuted = refuted.unwrap_or_else(|| {
                let refuted = of.refuted(*index, &caps).is_some();
                judged.push((caps, refuted));
                refuted
            });
            all[*index] = (!refuted).then_some(caps);
        }
    }
    all
}

/// The limits that explain the loads of a kind best.
#[derive(Debug, Default)]
struct Lightest {
    /// Requests alone, where they explain all as well as anything.
    requests: Option<Caps>,
    /// Bytes alone.
    bytes: Option<Caps>,
    best: Option<Caps>,
}

impl Lightest {
    fn of(of: Of<'_>, kind: &[usize]) -> Self {
        let Of { cells, seen, .. } = of;
        let usable = |i: usize| {
            let cell = &cells[i];
            sound(cell) && !paced(cell) && !doubted(cell, DoubtCode::Buffered) && seen[i].is_some()
        };
        let points: Vec<Point> = kind
            .iter()
            .filter(|i| usable(**i))
            .filter_map(|i| {
                let Seen { sustained: rate, met, stalls, .. } = *seen[*i].as_ref()?;
                let waits = !met && waits(cells, seen, *i);
                let stalls = stalls && !take_longer(cells, seen, *i);
                (rate > 0.0).then(|| Point { cell: *i, block: request_bytes(&cells[*i]), rate, waits, stalls })
            })
            .collect();
        let waiting = tried(&points);
        let shown = |quantity| {
            let found: Vec<&Point> = waiting.iter().filter(|p| is_shown(of, p, &waiting, quantity)).collect();
            found
        };
        let (of_requests, of_bytes) = (shown(Counted::Requests), shown(Counted::Bytes));
        let mut candidates: Vec<(f64, Caps)> = Vec::new();
        for requests in of_requests.iter().copied().map(Some).chain([None]) {
            for bytes in of_bytes.iter().copied().map(Some).chain([None]) {
                // Requests bind small ones and bytes large ones; at one block size they are the same.
                let makes_sense = match (requests, bytes) {
                    (Some(small), Some(large)) => large.block >= small.block * BLOCKS_APART,
                    (None, None) => false,
                    _ => true,
                };
                if makes_sense {
                    let caps = Caps {
                        iops: requests.map(|p| p.rate),
                        bytes_per_s: bytes.map(|p| p.rate * p.block),
                        told: true,
                    };
                    candidates.push((cost(of, &points, caps), caps));
                }
            }
        }
        let Some(least) = candidates.iter().map(|c| c.0).min_by(f64::total_cmp) else { return Self::default() };
        let best = |of: fn(&Caps) -> bool| {
            let fitting = candidates.iter().filter(|(cost, caps)| of(caps) && *cost <= least + 1e-9);
            fitting.map(|(_, caps)| *caps).next()
        };
        Self {
            requests: best(|caps| caps.bytes_per_s.is_none()),
            bytes: best(|caps| caps.iops.is_none()),
            best: candidates
                .iter()
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .map(|c| c.1)
                .filter(|caps| is_confirmed(of, &points, caps)),
        }
    }

    /// Those of one of the cells.
    fn of_cell(&self, own: &CellSummary) -> Option<Caps> {
        match (self.requests, self.bytes) {
            (Some(requests), Some(bytes)) => Some(usual(own, requests, bytes)),
            _ => self.best,
        }
    }
}

/// The waiting cells whose rates are tried as limits: all of them as long as trying all pairs on all points is no more than
/// [`TRIED_MAX`] looks, and otherwise an even choice of sizes and rates.
fn tried(points: &[Point]) -> Vec<Point> {
    let waiting: Vec<Point> = points.iter().copied().filter(|p| p.waits && !p.stalls).collect();
    let most = libm::sqrt(TRIED_MAX / points.len().max(1) as f64).max(TRIED_MIN) as usize;
    if waiting.len() <= most {
        return waiting;
    }
    let mut order: Vec<usize> = (0..waiting.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&waiting[*a], &waiting[*b]);
        a.block.total_cmp(&b.block).then(a.rate.total_cmp(&b.rate))
    });
    let mut chosen: Vec<usize> = (0..most).map(|place| order[place * order.len() / most]).collect();
    chosen.sort_unstable();
    chosen.into_iter().map(|place| waiting[place]).collect()
}

/// Where either alone explains all: what disks of that many requests per second usually move decides.
fn usual(own: &CellSummary, requests: Caps, bytes: Caps) -> Caps {
    let limit = usual_limit(requests.iops.unwrap_or(0.0), request_bytes(own));
    Caps { told: false, ..if limit == Limit::DiskThroughput { bytes } else { requests } }
}

/// Which limit a rate is one of, as figures are round and as disks are sold.
pub(crate) fn usual_limit(iops: f64, block: f64) -> Limit {
    if round_in_bytes(iops, block).is_some() { Limit::DiskThroughput } else { sold_limit(iops, block) }
}

/// The same by the figures of disks as they are sold alone: for a rate that is known to a percent or so, of which no digit says
/// that somebody set it.
pub(crate) fn sold_limit(iops: f64, block: f64) -> Limit {
    let (rate, usual_iops, power) = SOLD;
    let usual_bytes = rate * libm::pow(iops / usual_iops, power);
    if iops * block > usual_bytes { Limit::DiskThroughput } else { Limit::DiskIops }
}

/// A rate in bytes that is a whole number of MiB or MB a second to four digits, where in requests it is round to none: limits are set
/// in round figures, and by chance one in a hundred rates is one. Where tens of requests, and whole MB, lie far enough apart, three digits
/// do: few limits on requests are no multiple of ten, and the kernel keeps none of those.
pub(super) fn round_in_bytes(iops: f64, block: f64) -> Option<PresumedBy> {
    let off = |figure: f64, step: f64| {
        let whole = libm::round(figure / step) * step;
        if whole > 0.0 { libm::fabs(figure / whole - 1.0) } else { f64::INFINITY }
    };
    let step =
        [1.0, 10.0, 100.0, 1e3].map(|times| times * ROUND_IOPS).into_iter().find(|step| *step >= iops * ROUND_STEP);
    let off_tens = step.map_or(f64::INFINITY, |step| off(iops, step));
    if off_tens <= ROUND_OFF {
        return None;
    }
    let units = [(RoundUnit::MibPerS, f64::from(1 << 20)), (RoundUnit::MbPerS, 1e6)];
    let is_whole = |figure: f64| {
        let is_apart = iops * ROUGH_OFF <= ROUND_IOPS * APART_MAX && figure * ROUGH_OFF <= APART_MAX;
        let most = if is_apart && off_tens > 2.0 * ROUND_OFF { ROUGH_OFF } else { ROUND_OFF };
        (ROUND_MIN..ROUND_MAX).contains(&libm::round(figure)) && off(figure, 1.0) <= most
    };
    let found = units.into_iter().find(|(_, unit)| is_whole(iops * block / unit));
    found.map(|(unit, bytes)| PresumedBy::RoundFigure { figure: libm::round(iops * block / bytes), unit })
}

/// A cell by what tells limits apart.
#[derive(Debug, Clone, Copy)]
struct Point {
    cell: usize,
    block: f64,
    rate: f64,
    waits: bool,
    /// Its own rate is no limit, though it may wait for one.
    stalls: bool,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Requests,
    Bytes,
}

/// Whether anything beside the rate itself shows that `point` is at a limit of this quantity: what it shows by itself, a level, or
/// another load with the same figure. What the same requests had more of is no limit.
fn is_shown(of: Of<'_>, point: &Point, waiting: &[Point], quantity: Counted) -> bool {
    let Some(own) = &of.seen[point.cell] else { return false };
    if !of.is_in_turns(point.cell) && of.is_surpassed(point.cell, point.rate) {
        return false;
    }
    let figure = |of: &Point| match quantity {
        Counted::Requests => of.rate,
        Counted::Bytes => of.rate * of.block,
    };
    let asked = |of: &Point, cells: &[CellSummary]| {
        let at_once = outstanding(&cells[of.cell])? as f64;
        Some(if quantity == Counted::Bytes { at_once * of.block } else { at_once })
    };
    let differ = |a: f64, b: f64| a / b >= ASKED_APART || b / a >= ASKED_APART;
    // As many that take as long make one rate by themselves.
    let agrees = |other: &&Point| {
        let apart = match (asked(point, of.cells), asked(other, of.cells)) {
            (Some(a), Some(b)) => differ(a, b),
            _ => true,
        };
        other.cell != point.cell && apart && same(figure(other), figure(point), SPREAD)
    };
    let paced_alike = || quantity == Counted::Requests && is_paced_alike(of, point);
    own.shows_rate || own.at_level || waiting.iter().find(agrees).is_some() || paced_alike()
}

/// Whether anything beside requests that take longer the more there are speaks for these limits: something counts requests of this kind,
/// several loads share a level, or come to the figure of a limit. A device that serves few at once has loads that all wait as long, and
/// a deepest one that is no faster, as well.
fn is_confirmed(of: Of<'_>, points: &[Point], caps: &Caps) -> bool {
    let at = |limit: Limit| {
        let is_at = move |point: &&Point| {
            let of_point = caps.of(point.block).filter(|(own, _)| *own == limit && point.waits);
            of_point.is_some_and(|(_, allowed)| same(point.rate, allowed, SPREAD))
        };
        points.iter().filter(is_at)
    };
    let is_shared = |limit: Limit| at(limit).count() > 1 || at(limit).any(|point| is_paced_alike(of, point));
    let shows = |point: &Point| of.seen[point.cell].as_ref().is_some_and(|seen| seen.counted || seen.in_plateau);
    points.iter().any(shows) || is_shared(Limit::DiskIops) || is_shared(Limit::DiskThroughput)
}

/// Whether a load that waits by its own will, and is no point therefore, comes to the same rate.
fn is_paced_alike(of: Of<'_>, point: &Point) -> bool {
    of.like(point.cell).any(|i| {
        let rate = of.seen[i].as_ref().filter(|seen| !seen.met).map_or(0.0, |seen| seen.sustained);
        paced(&of.cells[i])
            && of.cells[i].load.block_bytes == of.cells[point.cell].load.block_bytes
            && same(rate, point.rate, SPREAD)
            && waits(of.cells, of.seen, i)
    })
}

/// How badly a pair of limits explains what was seen.
fn cost(of: Of<'_>, points: &[Point], caps: Caps) -> f64 {
    let limits = [caps.iops, caps.bytes_per_s].into_iter().flatten().count() as f64;
    // The same for all points, as they are of one kind.
    let is_counted = OnceCell::new();
    let of_point = |point: &Point| {
        let Some((_, allowed)) = caps.of(point.block) else { return 0.0 };
        let ratio = point.rate / allowed;
        if ratio > EXCEEDS {
            // What a bucket saves up is no contradiction where another load shows that something counts; who lives on it waits for
            // nothing.
            let saved_up = !point.waits
                && of.in_bucket(point.cell, allowed)
                && *is_counted.get_or_init(|| of.is_counted(point.cell, &caps));
            if saved_up { 0.0 } else { CONTRADICTION }
        } else if point.waits && !point.stalls {
            let off = libm::log(ratio) / SPREAD;
            (off * off).min(WEIGHT_MAX)
        } else {
            0.0
        }
    };
    points.iter().map(of_point).sum::<f64>() + limits * LIMIT_COST
}

/// Whether the cell's rate is that of this limit: at it, or below it with requests waiting.
pub(super) fn explains(rate: f64, allowed: f64, waits: bool) -> bool {
    let share = rate / allowed;
    share <= EXCEEDS && (share >= NEAR || (waits && share >= EXPLAINED_MIN))
}

/// A limit of another kind of load on the volume at this cell's level.
pub(super) fn at_level_of_another<'a>(
    cells: &'a [CellSummary],
    all: &[Option<Caps>],
    index: usize,
    rate: f64,
) -> Option<(Limit, f64, &'a CellSummary)> {
    let own = &cells[index];
    let block = request_bytes(own);
    let known = (0..cells.len()).filter(|i| *i != index && cells[*i].volume == own.volume);
    known
        .filter_map(|i| Some((i, all[i].filter(|caps| caps.told)?)))
        .flat_map(|(i, caps)| {
            let iops = caps.iops.map(|rate| (Limit::DiskIops, rate, &cells[i]));
            let bytes = caps.bytes_per_s.map(|rate| (Limit::DiskThroughput, rate / block, &cells[i]));
            [iops, bytes].into_iter().flatten()
        })
        .find(|(_, level, _)| same(*level, rate, SPREAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_taken_grow_with_the_cells_and_no_faster() {
        let point = |number: usize| Point {
            cell: number,
            block: f64::from(4096_u32 << (number % 8)),
            rate: 1_000.0 + number as f64,
            waits: true,
            stalls: false,
        };
        for count in [100, 1_000, 10_000, 100_000] {
            let points: Vec<Point> = (0..count).map(point).collect();
            let tried = tried(&points);
            let looks = (tried.len() * tried.len() * count) as f64;
            assert!(looks <= TRIED_MAX.max(TRIED_MIN * TRIED_MIN * count as f64), "{count}: {looks}");
            // Every size is among them, and few cells are all tried.
            let sizes: std::collections::BTreeSet<u64> = tried.iter().map(|point| point.block as u64).collect();
            assert_eq!(sizes.len(), 8, "{count}");
            assert!(count > 215 || tried.len() == count);
        }
    }
}
