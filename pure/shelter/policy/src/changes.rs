//! What changed on the disk since the last save: between two looks, how old the oldest change is, mass deletions.

use crate::tree::TreePath;
use loadline_units::{Bytes, Duration, Instant};
use std::collections::BTreeMap;

/// What a look at a file gives without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// Last change of the contents, ns since 1970.
    pub modified_ns: i64,
    /// Last change of contents or attributes: programs cannot set it.
    pub changed_ns: i64,
    /// Number of the inode.
    pub inode: u64,
}

/// What a look at a whole tree gives.
pub type TreeStamps = BTreeMap<TreePath, FileStamp>;

/// Paths that differ between two looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeDifference {
    /// New or changed.
    pub changed: Vec<TreePath>,
    /// Gone.
    pub gone: Vec<TreePath>,
}

impl TreeDifference {
    /// Between two looks.
    #[must_use]
    pub fn between(before: &TreeStamps, now: &TreeStamps) -> Self {
        let changed = now.iter().filter(|(path, stamp)| before.get(*path) != Some(*stamp));
        let gone = before.keys().filter(|path| !now.contains_key(*path));
        Self { changed: changed.map(|(path, _)| path.clone()).collect(), gone: gone.cloned().collect() }
    }

    /// Nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }
}

/// What is unsaved, and since when.
#[derive(Debug, Clone, Default)]
pub struct UnsavedChanges {
    /// By path: when the change was first seen, and the file's bytes then.
    paths: BTreeMap<TreePath, (Instant, u64)>,
}

impl UnsavedChanges {
    /// A change was seen at `now`. A file that is already unsaved keeps its earlier time.
    pub fn see(&mut self, path: TreePath, now: Instant, size: u64) {
        self.paths.entry(path).and_modify(|(_, old)| *old = size).or_insert((now, size));
    }

    /// A save that began at `begun` was acknowledged: changes seen before it are saved. `is_still` says which it could not save.
    pub fn saved(&mut self, begun: Instant, is_still: impl Fn(&TreePath) -> bool) {
        self.paths.retain(|path, (seen, _)| *seen >= begun || is_still(path));
    }

    /// How old the oldest unsaved change is; `None` if all is saved.
    #[must_use]
    pub fn age(&self, now: Instant) -> Option<Duration> {
        self.paths.values().map(|(seen, _)| *seen).min().map(|oldest| now.since(oldest))
    }

    /// Bytes of files with unsaved changes.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.paths.values().map(|(_, size)| size).sum())
    }

    /// Files with unsaved changes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.paths.len()
    }
}

/// A loss between two generations that is more than usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MassDeletion {
    /// Files that are gone.
    pub files: u64,
    /// Files that there were.
    pub of_files: u64,
    /// Bytes that are gone.
    pub bytes: Bytes,
    /// Bytes that there were.
    pub of_bytes: Bytes,
}

/// Files, below which a deletion is not called one of masses.
pub const MASS_FILES_MIN: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> TreePath {
        TreePath::parse(text).unwrap()
    }
    fn stamp(size: u64, changed_ns: i64) -> FileStamp {
        FileStamp { size, modified_ns: 1, changed_ns, inode: 1 }
    }

    #[test]
    fn a_change_that_keeps_size_and_time_of_the_contents_is_found() {
        let before: TreeStamps = [(path("a"), stamp(1, 1)), (path("b"), stamp(1, 1))].into();
        let now: TreeStamps = [(path("a"), stamp(1, 2)), (path("c"), stamp(1, 1))].into();
        let difference = TreeDifference::between(&before, &now);
        assert_eq!((difference.changed, difference.gone), (vec![path("a"), path("c")], vec![path("b")]));
        assert!(TreeDifference::between(&now, &now).is_empty());
    }

    #[test]
    fn the_age_is_that_of_the_oldest_change_and_a_save_takes_only_what_came_before_it() {
        let at = |s| Instant::ZERO + Duration::from_s(s);
        let mut unsaved = UnsavedChanges::default();
        assert_eq!(unsaved.age(at(9)), None);
        unsaved.see(path("a"), at(1), 10);
        unsaved.see(path("b"), at(3), 20);
        unsaved.see(path("a"), at(4), 15);
        assert_eq!((unsaved.age(at(5)), unsaved.bytes()), (Some(Duration::from_s(4)), Bytes::new(35)));
        unsaved.saved(at(2), |_| false);
        assert_eq!((unsaved.age(at(5)), unsaved.count()), (Some(Duration::from_s(2)), 1));
        unsaved.saved(at(9), |still| *still == path("b"));
        assert_eq!(unsaved.count(), 1, "what a save could not take stays unsaved");
    }
}
