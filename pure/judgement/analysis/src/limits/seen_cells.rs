//! What the cells of a run show, gathered by kind of load, so that no cell has to look at all others.

use super::caps::{Seen, latency_ns};
use crate::curves::{outstanding, paced, sound};
use crate::summary::CellSummary;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Each cell's [`Seen`], with what follows from the other cells of its kind.
///
/// Cells are of one kind if they are alike (`kinds::alike`) and have the same pattern.
#[derive(Debug)]
pub(super) struct SeenCells {
    seen: Vec<Option<Seen>>,
    /// The place of each cell's kind in `kinds`.
    kind_of: Vec<usize>,
    /// The cells of each kind, in the order of the run.
    kinds: Vec<Vec<usize>>,
    least_ns: Vec<Option<f64>>,
    unhindered_ns: Vec<Option<f64>>,
}

impl Deref for SeenCells {
    type Target = [Option<Seen>];
    fn deref(&self) -> &Self::Target {
        &self.seen
    }
}

impl SeenCells {
    /// Gathers what the cells show.
    pub(super) fn of(cells: &[CellSummary], seen: Vec<Option<Seen>>) -> Self {
        let mut places: BTreeMap<KindKey<'_>, usize> = BTreeMap::new();
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        let mut kind_of = Vec::with_capacity(cells.len());
        for (index, cell) in cells.iter().enumerate() {
            let place = *places.entry(key(cell)).or_insert_with(|| {
                kinds.push(Vec::new());
                kinds.len() - 1
            });
            kinds[place].push(index);
            kind_of.push(place);
        }
        let mut least_ns = vec![None; cells.len()];
        let mut unhindered_ns = vec![None; cells.len()];
        for kind in &kinds {
            at_fewer(cells, &seen, kind, &mut least_ns, |_| true);
            at_fewer(cells, &seen, kind, &mut unhindered_ns, |seen| !seen.counted);
        }
        Self { seen, kind_of, kinds, least_ns, unhindered_ns }
    }

    /// The cells of the kind of cell `index`, itself among them.
    pub(super) fn of_kind(&self, index: usize) -> &[usize] {
        &self.kinds[self.kind_of[index]]
    }

    /// All kinds.
    pub(super) fn kinds(&self) -> &[Vec<usize>] {
        &self.kinds
    }

    /// What a request of cell `index` takes where nothing waits, as other cells show it: the least that requests of its size or
    /// larger take at fewer outstanding, among those that are not counted out. `None` where there is no such cell.
    pub(super) fn unhindered_ns(&self, index: usize) -> Option<f64> {
        self.unhindered_ns[index]
    }

    /// What a request of cell `index` takes at most where nothing waits: requests that are counted out at fewer outstanding wait,
    /// too, but what they take is no less than that.
    pub(super) fn least_ns(&self, index: usize) -> Option<f64> {
        self.least_ns[index]
    }
}

/// What cells that are alike have in common (`kinds::alike`).
type AlikeKey<'a> = (&'a str, bool, bool, u64);
/// What cells of one kind have in common.
type KindKey<'a> = (AlikeKey<'a>, &'a str);

/// The key by which cells are alike, whatever their pattern.
pub(super) fn alike_key(cell: &CellSummary) -> AlikeKey<'_> {
    let load = &cell.load;
    (&cell.volume, load.buffered, cell.flush.is_some(), load.read_ratio.to_bits())
}

fn key(cell: &CellSummary) -> KindKey<'_> {
    (alike_key(cell), cell.load.pattern.name())
}

/// For each cell of a kind: the least latency of the sound cells with requests no smaller at fewer outstanding.
fn at_fewer(
    cells: &[CellSummary],
    seen: &[Option<Seen>],
    kind: &[usize],
    least_ns: &mut [Option<f64>],
    counts: fn(&Seen) -> bool,
) {
    let mut by_depth = kind.to_vec();
    by_depth.sort_by_key(|index| outstanding(&cells[*index]).unwrap_or(u64::MAX));
    let mut least = LeastFromSize::default();
    let mut added = 0;
    for index in &by_depth {
        let own = &cells[*index];
        let depth = outstanding(own).unwrap_or(u64::MAX);
        while let Some(of) = outstanding(&cells[by_depth[added]]).filter(|of| *of < depth) {
            debug_assert!(of < depth);
            let (other, shown) = (&cells[by_depth[added]], &seen[by_depth[added]]);
            if !paced(other)
                && sound(other)
                && shown.as_ref().is_some_and(counts)
                && let Some(latency) = latency_ns(other)
            {
                least.add(other.load.block_bytes, latency);
            }
            added += 1;
        }
        least_ns[*index] = least.from(own.load.block_bytes);
    }
}

/// The least latency of requests of a size or larger. Keeps what no larger size undercuts: latencies grow with the sizes.
#[derive(Debug, Default)]
struct LeastFromSize(BTreeMap<u64, f64>);

impl LeastFromSize {
    fn add(&mut self, size: u64, latency: f64) {
        if self.from(size).is_some_and(|known| known <= latency) {
            return;
        }
        while let Some((smaller, known)) = self.0.range(..=size).next_back()
            && *known >= latency
        {
            let smaller = *smaller;
            self.0.remove(&smaller);
        }
        self.0.insert(size, latency);
    }

    fn from(&self, size: u64) -> Option<f64> {
        self.0.range(size..).next().map(|(_, latency)| *latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_from_a_size_on_is_what_a_look_at_all_finds(
            all in prop::collection::vec((0u64..20, 0u32..50), 0..60), size in 0u64..22,
        ) {
            let mut least = LeastFromSize::default();
            for (size, latency) in &all {
                least.add(*size, f64::from(*latency));
            }
            let found = all.iter().filter(|(of, _)| *of >= size).map(|(_, latency)| f64::from(*latency)).min_by(f64::total_cmp);
            prop_assert_eq!(least.from(size), found);
        }
    }
}
