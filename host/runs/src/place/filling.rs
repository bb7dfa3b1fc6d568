//! Fills: before which loads a target is written in full, how often, and how long that may take.

use loadline_units::{Bytes, Duration};
use loadline_workload::{Content, LoadSpec, Origin, RunCell};
use std::collections::{BTreeMap, BTreeSet};

/// Per second; a round figure of a plain SATA SSD or a mid-size cloud disk, so that the reader can scale it.
const RATE: Bytes = Bytes::mib(200);

/// Filling takes no longer than this unless a size was asked for.
pub const QUICK_FILL_TIME: Duration = Duration::from_s(12);

/// How long it takes to fill so much at a rate that nobody has measured yet.
#[must_use]
pub fn time(size: Bytes) -> Duration {
    Duration::from_s(size.get().div_ceil(RATE.get()))
}

/// So much, and how long it takes, for people.
#[must_use]
pub fn in_words(size: Bytes) -> String {
    format!("{} at {RATE}/s", time(size).clock())
}

/// What the loads that share files want of them before the first begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wish {
    /// Any of them is reason to write all of it. Those that leave it open run on what was filled for the others, from the first
    /// one on: what a trial finds does not depend on the order.
    any: bool,
    /// That of all of them, where they agree.
    pub content: Content,
}

impl Wish {
    /// Of the loads on a target that may be written.
    pub fn of<'a>(loads: impl IntoIterator<Item = &'a LoadSpec>, origin: Origin) -> Self {
        let (mut any, mut contents) = (false, Vec::new());
        for load in loads.into_iter().filter(|load| load.fill.may_fill()) {
            any |= load.wants_full(origin);
            contents.push(load.content);
        }
        let content = contents.first().filter(|first| contents.iter().all(|content| content == *first));
        Self { any, content: content.copied().unwrap_or_default() }
    }

    /// Whether this one of them begins on a full target.
    #[must_use]
    pub(crate) fn holds_for(self, load: &LoadSpec) -> bool {
        self.any && load.fill.may_fill()
    }
}

/// The wishes of all loads, by volume and number of files.
#[derive(Debug)]
pub(crate) struct Wishes<'a>(BTreeMap<(&'a str, u32), Wish>);

impl<'a> Wishes<'a> {
    /// Of these loads on volumes of which `origin` tells where they come from; `None` where nothing may be written.
    pub(crate) fn of(cells: &'a [RunCell], origin: impl Fn(&str) -> Option<Origin>) -> Self {
        let mut sharing: BTreeMap<(&str, u32), Vec<&LoadSpec>> = BTreeMap::new();
        for cell in cells {
            sharing.entry((&cell.volume, cell.spec.files)).or_default().push(&cell.spec);
        }
        let wish = |(files, loads): ((&'a str, u32), Vec<&LoadSpec>)| Some((files, Wish::of(loads, origin(files.0)?)));
        Self(sharing.into_iter().filter_map(wish).collect())
    }
    /// Whether this one of them begins on a full target.
    #[must_use]
    pub(crate) fn hold_for(&self, cell: &RunCell) -> bool {
        let wish = self.0.get(&(cell.volume.as_str(), cell.spec.files));
        wish.is_some_and(|wish| wish.holds_for(&cell.spec))
    }
}

/// The trials before which something is filled, by their place among these cells, which are in the order of execution: the
/// first on its files that wants them full (`is_wanted`), and the first that does after one that trimmed.
pub fn passes<'a>(cells: impl IntoIterator<Item = &'a RunCell>, is_wanted: impl Fn(&RunCell) -> bool) -> Vec<usize> {
    let mut full = BTreeSet::new();
    let mut passes = Vec::new();
    for (index, cell) in cells.into_iter().enumerate() {
        let files = (&cell.volume, cell.spec.files);
        if is_wanted(cell) && full.insert(files) {
            passes.push(index);
        }
        if cell.spec.trims_any() {
            full.remove(&files);
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Ratio;
    use loadline_workload::{Fill, Order};

    fn load(reads: u32, fill: Fill) -> LoadSpec {
        LoadSpec { reads: Ratio::percent(reads), fill, ..LoadSpec::default() }
    }

    #[test]
    fn what_is_filled_for_one_load_is_full_for_all_but_those_that_never_want_it() {
        let [reading, writing, never] = [load(100, Fill::Auto), load(0, Fill::Auto), load(100, Fill::Never)];
        let wish = Wish::of([&writing, &never], Origin::Found);
        assert!([&writing, &never].into_iter().all(|load| !wish.holds_for(load)));
        for wish in [Wish::of([&writing, &reading, &never], Origin::Found), Wish::of([&writing, &never], Origin::Made)]
        {
            assert!(wish.holds_for(&writing) && wish.holds_for(&reading) && !wish.holds_for(&never));
        }
    }

    #[test]
    fn what_is_filled_looks_like_what_the_loads_write_where_they_agree() {
        let content = Content { compressible: Ratio::percent(50), ..Content::default() };
        let half = LoadSpec { content, ..load(0, Fill::Auto) };
        assert_eq!(Wish::of([&half, &half, &load(0, Fill::Never)], Origin::Made).content, content);
        assert_eq!(Wish::of([&half, &load(0, Fill::Auto)], Origin::Made).content, Content::default());
    }

    #[test]
    fn files_are_filled_once_and_again_after_trims() {
        let cell = |volume: &str, files, spec: LoadSpec| RunCell {
            id: String::new(),
            volume: volume.to_owned(),
            spec: LoadSpec { files, ..spec },
            order: Order::Interleaved,
        };
        let write = || load(0, Fill::Auto);
        let trim = || LoadSpec { trims: Ratio::ONE, ..write() };
        let cells = [
            cell("a", 1, load(0, Fill::Never)),
            cell("a", 1, write()),
            cell("b", 1, write()),
            cell("a", 2, write()),
            cell("a", 1, write()),
            cell("a", 1, trim()),
            cell("a", 2, write()),
            cell("a", 1, load(0, Fill::Never)),
            cell("a", 1, trim()),
            cell("a", 1, write()),
        ];
        assert_eq!(passes(&cells, |cell| cell.spec.fill != Fill::Never), [1, 2, 3, 8, 9]);
        assert_eq!(passes(&cells, |_| false), [0; 0]);
    }

    #[test]
    fn the_time_is_a_round_figure() {
        assert_eq!(in_words(Bytes::gib(16)), "1 min 22 s at 200 MiB/s");
    }
}
