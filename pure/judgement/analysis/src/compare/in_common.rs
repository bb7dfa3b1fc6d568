//! Runs on different disks whose loads stop at one figure: what the disks share may stop them, and no other disk there would do more.

use super::Side;
use super::comparison::InCommon;
use crate::limits::request_bytes;
use crate::summarize;
use crate::summary::CellSummary;
use loadline_record::{Clock, Limit, Rate};
use std::collections::BTreeMap;

/// Disks of so many runs stop there: two may do so by chance.
const SIDES_MIN: usize = 3;
/// The highest of the levels lies at most this far above the lowest.
const WIDTH: f64 = 0.03;
/// Disks whose rates differ by this much at another load are not one disk measured again.
const APART: f64 = 0.1;

/// A kind of load, and what was counted of it.
type Kind = (bool, bool);

/// What a side shows of its disk.
struct Shown {
    side: usize,
    /// The level at which loads of a kind stop: whether they read, whether bytes are counted.
    levels: BTreeMap<Kind, f64>,
    /// Requests per second of every load.
    rates: BTreeMap<String, f64>,
}

/// Each kind of load that stops at one figure on at least three disks.
pub(super) fn in_common(sides: &[Side<'_>]) -> Vec<InCommon> {
    if sides.len() < SIDES_MIN {
        return Vec::new();
    }
    let is_measured = |(_, side): &(usize, &Side<'_>)| side.run.header.clock == Clock::Real;
    let shown: Vec<Shown> = sides.iter().enumerate().filter(is_measured).map(|(i, side)| Shown::of(i, side)).collect();
    let kinds = [(true, false), (true, true), (false, false), (false, true)];
    kinds.into_iter().filter_map(|kind| one_figure(&shown, kind)).collect()
}

impl Shown {
    fn of(place: usize, side: &Side<'_>) -> Self {
        let (mut levels, mut rates) = (BTreeMap::new(), BTreeMap::new());
        let own = |cell: &CellSummary| side.volume.is_none_or(|volume| cell.volume == volume);
        for cell in summarize(side.run).cells.into_iter().filter(own) {
            if let Some((kind, level)) = level(&cell) {
                let highest = levels.entry(kind).or_insert(level);
                *highest = level.max(*highest);
            }
            if let Some(total) = &cell.total {
                rates.insert(format!("{:?}", cell.load), total.iops);
            }
        }
        Self { side: place, levels, rates }
    }

    /// Whether a load that both ran, and that does not stop at the level, shows two different disks.
    fn is_another_than(&self, other: &Self) -> bool {
        let both = self.rates.iter().filter_map(|(load, own)| Some((*own, *other.rates.get(load)?)));
        both.into_iter().any(|(a, b)| a > 0.0 && b > 0.0 && (a / b).max(b / a) >= 1.0 + APART)
    }
}

/// The level at which a load of reads or of writes alone stops, where it was inferred.
fn level(cell: &CellSummary) -> Option<(Kind, f64)> {
    let is_read = match cell.load.read_ratio {
        1.0 => true,
        0.0 => false,
        _ => return None,
    };
    let binding = cell.binding.as_ref().filter(|binding| binding.inferred)?;
    let is_bytes = match binding.limit {
        Limit::DiskIops => false,
        Limit::DiskThroughput => true,
        _ => return None,
    };
    let ceiling = binding.ceiling_iops?;
    Some(((is_read, is_bytes), if is_bytes { ceiling * request_bytes(cell) } else { ceiling }))
}

/// The largest group of sides whose levels are one figure; of groups as large, the one with the highest level.
fn one_figure(shown: &[Shown], kind: Kind) -> Option<InCommon> {
    let mut levels: Vec<(f64, &Shown)> =
        shown.iter().filter_map(|side| Some((*side.levels.get(&kind)?, side))).collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let groups = (0..levels.len()).map(|lowest| {
        let near = levels[lowest..].iter().take_while(|(level, _)| *level <= levels[lowest].0 * (1.0 + WIDTH));
        &levels[lowest..lowest + near.count()]
    });
    let group = groups.max_by_key(|group| group.len())?;
    // Runs of one disk count once.
    let mut disks: Vec<&Shown> = Vec::new();
    for (_, side) in group {
        if disks.iter().all(|known| known.is_another_than(side)) {
            disks.push(side);
        }
    }
    if disks.len() < SIDES_MIN {
        return None;
    }
    let rate = if kind.1 { Rate::BytesPerS } else { Rate::Iops };
    let (lowest, highest) = (rate(group.first()?.0), rate(group.last()?.0));
    let mut sides: Vec<u32> = disks.iter().map(|side| side.side as u32).collect();
    sides.sort_unstable();
    Some(InCommon::OneFigure { sides, reads: kind.0, lowest, highest })
}

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::{CompareOptions, Comparison, InCommon, compare};
    use loadline_record::{Rate, RunRecord};

    const DEPTHS: [u32; 4] = [1, 8, 32, 128];

    /// Reads that level off at one rate, and writes that do so at another.
    fn disk(name: &str, reads: f64, writes: f64) -> RunRecord {
        let of = |share: f64, iops: f64| {
            let disk = ExampleDisk { iops, ..ExampleDisk::default() };
            DEPTHS.map(|depth| cell(closed("random", share, 4096, depth), &disk, &[1.0]))
        };
        let mut run = run([of(1.0, reads), of(0.0, writes)].concat());
        name.clone_into(&mut run.header.id);
        name.clone_into(&mut run.header.name);
        run
    }
    fn compared(runs: &[RunRecord]) -> Comparison {
        compare(&runs.iter().collect::<Vec<_>>(), &CompareOptions::default()).unwrap()
    }

    #[test]
    fn reads_of_different_disks_that_stop_at_one_figure_are_named() {
        let runs = [disk("one", 5_150.0, 2_000.0), disk("two", 5_280.0, 3_000.0), disk("three", 5_200.0, 4_000.0)];
        let found = compared(&runs).in_common;
        assert_eq!(found.len(), 1, "{found:?}");
        let InCommon::OneFigure { sides, reads, lowest: Rate::Iops(lowest), .. } = &found[0] else {
            panic!("{found:?}")
        };
        assert_eq!((sides.as_slice(), *reads), ([0, 1, 2].as_slice(), true));
        assert!((5_150.0..5_160.0).contains(lowest), "{lowest}");
    }

    #[test]
    fn one_disk_measured_again_shares_nothing_with_others() {
        let again = [disk("one", 5_200.0, 2_000.0), disk("two", 5_210.0, 2_010.0), disk("three", 5_190.0, 1_990.0)];
        assert!(compared(&again).in_common.is_empty());
        // Two disks may agree by chance, and the second run of one of them is no third.
        let two = [disk("one", 5_200.0, 2_000.0), disk("two", 5_210.0, 4_000.0), disk("three", 5_190.0, 2_010.0)];
        assert!(compared(&two).in_common.is_empty());
    }

    #[test]
    fn levels_apart_are_levels_of_the_disks() {
        let apart = [disk("one", 5_000.0, 2_000.0), disk("two", 5_600.0, 3_000.0), disk("three", 6_200.0, 4_000.0)];
        assert!(compared(&apart).in_common.is_empty());
    }
}
