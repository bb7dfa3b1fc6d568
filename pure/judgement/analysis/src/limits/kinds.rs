//! Requests or bytes: what a plateau is a limit of, as other loads of the same run show it.

use crate::clusters::Clusters;
use crate::curves::{Curve, Growth, PLATEAU_SPREAD, Plateau, doubted, iops, outstanding, sound};
use crate::summary::CellSummary;
use crate::words::{blocks, load_name};
use loadline_record::{DoubtCode, KindShown, Limit, ThrottledQuantity};

/// A rate that was not seen to level off itself, or another kind of load, must be closer than that to pass for the same limit.
pub(super) const SAME_RATE: f64 = 0.02;
/// Block sizes must differ by this factor to tell a limit on requests from one on bytes.
const BLOCKS_APART: f64 = 2.0;
/// A limit on bytes is ruled out where larger requests move this many times as many.
const MORE_BYTES: f64 = 2.0;

/// What a plateau is a limit of, with what shows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kind {
    /// [`Limit::DiskIops`] or [`Limit::DiskThroughput`].
    pub(super) limit: Limit,
    /// What shows it.
    pub(super) shown: KindShown,
}

pub(super) fn same(a: f64, b: f64, tolerance: f64) -> bool {
    a > 0.0 && b > 0.0 && (a / b - 1.0).abs() <= tolerance
}

/// The first cell of a curve stands for what all share.
pub(super) fn sample<'a>(curve: &Curve, cells: &'a [CellSummary]) -> &'a CellSummary {
    let first = curve.closed.first().or(curve.open.first()).expect("a curve has a cell");
    &cells[*first]
}

/// Whether the block sizes differ by enough to tell requests from bytes.
pub(super) fn apart(a: &CellSummary, b: &CellSummary) -> bool {
    let (a, b) = (a.load.block_bytes as f64, b.load.block_bytes as f64);
    a / b >= BLOCKS_APART || b / a >= BLOCKS_APART
}

/// Reads with reads, writes with writes, on one volume.
pub(super) fn alike(a: &CellSummary, b: &CellSummary) -> bool {
    comparable(a, b) && a.load.read_ratio.to_bits() == b.load.read_ratio.to_bits()
}

/// On one volume, by the same way.
pub(super) fn comparable(a: &CellSummary, b: &CellSummary) -> bool {
    a.volume == b.volume && a.load.buffered == b.load.buffered && a.flush.is_some() == b.flush.is_some()
}

pub(super) fn moved(cell: &CellSummary) -> f64 {
    cell.total.as_ref().map_or(0.0, |t| t.throughput_bytes_per_s)
}

/// "16 KiB requests", with the pattern where it is another.
pub(super) fn requests_of(other: &CellSummary, own: &CellSummary) -> String {
    let pattern =
        if other.load.pattern == own.load.pattern { String::new() } else { format!("{} ", other.load.pattern) };
    format!("{pattern}{} requests", blocks(other))
}

/// The deepest cell of a curve without a plateau, if its rate may be at a limit: several requests at once, or one at a time let
/// through in bursts, and no growth in proportion to the depth.
pub(super) fn highest(curve: &Curve, cells: &[CellSummary], clustered: &[Option<Clusters>]) -> Option<usize> {
    let deepest = *curve.closed.last().filter(|_| curve.plateau.is_none())?;
    let grows = curve.growth(cells, deepest).is_some_and(Growth::proportional);
    let pressed = outstanding(&cells[deepest])? > 1 || clustered[deepest].is_some();
    (pressed && !grows && sound(&cells[deepest]) && !doubted(&cells[deepest], DoubtCode::Buffered)).then_some(deepest)
}

/// What each curve's plateau is a limit of. Where the page cache took part, a level shows nothing of the disk.
pub(super) fn kinds(curves: &[Curve], cells: &[CellSummary], clustered: &[Option<Clusters>]) -> Vec<Option<Kind>> {
    let case = |own| Some(Levels { curves, cells, clustered, own }).filter(|c| c.plateau().is_some());
    let direct: Vec<Option<Kind>> = (0..curves.len()).map(|own| case(own)?.by_block_size()).collect();
    (0..curves.len())
        .map(|own| {
            direct[own].clone().or_else(|| case(own)?.as_another_load(&direct)).or_else(|| case(own)?.by_agreement())
        })
        .collect()
}

/// One curve among all.
struct Levels<'a> {
    curves: &'a [Curve],
    cells: &'a [CellSummary],
    clustered: &'a [Option<Clusters>],
    own: usize,
}

impl Levels<'_> {
    fn plateau(&self) -> Option<&Plateau> {
        self.curves[self.own].plateau.as_ref().filter(|_| !doubted(self.first(), DoubtCode::Buffered))
    }
    fn first(&self) -> &CellSummary {
        sample(&self.curves[self.own], self.cells)
    }
    fn others(&self) -> impl Iterator<Item = (usize, &Curve, &CellSummary)> {
        let with_sample = self.curves.iter().enumerate().map(|(i, curve)| (i, curve, sample(curve, self.cells)));
        with_sample.filter(|(i, _, _)| *i != self.own)
    }
    /// Whether a figure of another curve is at `level`: that of its plateau, or else of its deepest cell.
    fn at(&self, other: &Curve, level: f64, of: Figures, plateau_tolerance: f64) -> bool {
        match &other.plateau {
            Some(plateau) => same((of.plateau)(plateau), level, plateau_tolerance),
            None => highest(other, self.cells, self.clustered)
                .is_some_and(|i| same((of.cell)(&self.cells[i]), level, SAME_RATE)),
        }
    }

    /// How far that figure is from `level`, as a share of it.
    fn off(&self, other: &Curve, level: f64, of: Figures) -> f64 {
        let figure = match &other.plateau {
            Some(plateau) => (of.plateau)(plateau),
            None => highest(other, self.cells, self.clustered).map_or(0.0, |i| (of.cell)(&self.cells[i])),
        };
        (figure / level - 1.0).abs()
    }

    /// Equal requests per second at two block sizes show a limit on requests; equal bytes per second one on bytes. What
    /// levels off itself, in the same pattern, shows it best.
    fn by_block_size(&self) -> Option<Kind> {
        let (plateau, first) = (self.plateau()?, self.first());
        let witness = |of: Figures, level: f64| {
            self.others()
                .filter(|(_, _, cell)| alike(first, cell) && apart(first, cell))
                .filter(|(_, other, _)| self.at(other, level, of, PLATEAU_SPREAD))
                .map(|(_, other, cell)| {
                    let strength = (other.plateau.is_none(), cell.load.pattern != first.load.pattern);
                    (strength, self.off(other, level, of), cell)
                })
                .min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))
        };
        let kind = |limit, cell| {
            let counted = match limit {
                Limit::DiskThroughput => ThrottledQuantity::Bytes,
                _ => ThrottledQuantity::Requests,
            };
            Kind { limit, shown: KindShown::OtherSize { load: requests_of(cell, first), counted } }
        };
        let (requests, bytes) = (witness(REQUESTS, plateau.iops), witness(BYTES, plateau.bytes_per_s));
        let nearer = |a: &Witness<'_>, b: &Witness<'_>| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).is_lt();
        match (requests, bytes) {
            // Near the size at which both limits meet, other sizes come near either level: the nearer one tells.
            (Some(requests), Some(bytes)) if nearer(&bytes, &requests) => Some(kind(Limit::DiskThroughput, bytes.2)),
            (Some((.., cell)), _) => Some(kind(Limit::DiskIops, cell)),
            (None, Some((.., cell))) => Some(kind(Limit::DiskThroughput, cell)),
            (None, None) => None,
        }
    }

    /// Another load of the same block size at the same level, whose limit is known.
    fn as_another_load(&self, direct: &[Option<Kind>]) -> Option<Kind> {
        let (level, first) = (self.plateau()?.iops, self.first());
        self.same_block()
            .find_map(|(i, other, cell)| {
                let known = direct[i].as_ref()?;
                same(other.plateau.as_ref()?.iops, level, SAME_RATE).then(|| Kind {
                    limit: known.limit,
                    shown: KindShown::AnotherLoad { load: load_name(cell), shown: Box::new(known.shown.clone()) },
                })
            })
            .filter(|kind| kind.limit != Limit::DiskThroughput || larger_moves_more(self.cells, first, level).is_none())
    }

    /// Reads and writes, or both patterns, stop at one rate: that is counted, not the device's own speed, which is hardly ever the
    /// same for both. Where larger requests move more bytes, bytes are not what is counted.
    fn by_agreement(&self) -> Option<Kind> {
        let level = self.plateau()?.iops;
        let more = larger_moves_more(self.cells, self.first(), level)?;
        let (_, _, cell) = self.same_block().find(|(_, other, _)| self.at(other, level, REQUESTS, SAME_RATE))?;
        Some(Kind {
            limit: Limit::DiskIops,
            shown: KindShown::Agreement {
                load: load_name(cell),
                larger: load_name(more),
                larger_bytes_per_s: moved(more),
            },
        })
    }

    fn same_block(&self) -> impl Iterator<Item = (usize, &Curve, &CellSummary)> {
        let first = self.first();
        self.others().filter(move |(_, _, c)| comparable(first, c) && c.load.block_bytes == first.load.block_bytes)
    }
}

/// Another block size at a level: what weakens it, how far off it is, and a cell of it.
type Witness<'a> = ((bool, bool), f64, &'a CellSummary);

/// A figure of a plateau and the same one of a cell.
#[derive(Clone, Copy)]
struct Figures {
    plateau: fn(&Plateau) -> f64,
    cell: fn(&CellSummary) -> f64,
}
const REQUESTS: Figures = Figures { plateau: |p| p.iops, cell: |c| iops(c).unwrap_or(0.0) };
const BYTES: Figures = Figures { plateau: |p| p.bytes_per_s, cell: moved };

/// A cell of larger requests of the same operation that moves so many more bytes than `level` requests of `own` that bytes
/// cannot be what limits those.
pub(super) fn larger_moves_more<'a>(
    cells: &'a [CellSummary],
    own: &CellSummary,
    level: f64,
) -> Option<&'a CellSummary> {
    let bytes = level * own.load.block_bytes as f64;
    cells
        .iter()
        .filter(|c| c.load.block_bytes > own.load.block_bytes && apart(own, c) && moved(c) >= bytes * MORE_BYTES)
        .filter(|c| alike(own, c) && sound(c) && !doubted(c, DoubtCode::Buffered))
        .max_by(|a, b| moved(a).total_cmp(&moved(b)))
}
