//! What lies on a disk: files by their size and by the age of their last change, in classes of powers of two.

use super::{CHUNK, READ_SIZE};

/// The size of a write of an application, where only its rate is known. A database's page.
pub const RANDOM_WRITE: u64 = 8 << 10;
/// Classes of sizes and of ages: each is twice as wide as the one before.
const CLASSES: usize = 64;
/// The ages from which a rate of changes is taken: the first in which something changed, s.
const WINDOWS_S: [f64; 3] = [600.0, 3_600.0, 86_400.0];

/// Files of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct FileClass {
    files: u64,
    bytes: u64,
}

/// Files by the age of their last change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ChangedAges([FileClass; CLASSES]);

impl Default for ChangedAges {
    fn default() -> Self {
        Self([FileClass::default(); CLASSES])
    }
}

impl ChangedAges {
    /// Files and bytes with a last change within this time; within a class as if spread evenly.
    fn within(&self, time_s: f64) -> (f64, f64) {
        let span = (time_s * 1e3).max(0.0);
        self.0.iter().enumerate().fold((0.0, 0.0), |(files, bytes), (class, of)| {
            let (from, to) = class_range(class);
            let share = ((span - from) / (to - from)).clamp(0.0, 1.0);
            (files + share * of.files as f64, bytes + share * of.bytes as f64)
        })
    }
}

/// What lies on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFiles {
    sizes: [FileClass; CLASSES],
    ages: ChangedAges,
    /// What they take of the disk: without holes, and once for a file with several names.
    room: u64,
    /// The look ended before all was seen: everything is a least figure.
    pub is_cut_short: bool,
}

impl Default for FoundFiles {
    fn default() -> Self {
        Self { sizes: [FileClass::default(); CLASSES], ages: ChangedAges::default(), room: 0, is_cut_short: false }
    }
}

/// The class of a number: 0 for 0 and 1.
fn class_of(number: u64) -> usize {
    (u64::BITS - 1).saturating_sub(number.leading_zeros()) as usize
}

/// From and to which number a class goes.
fn class_range(class: usize) -> (f64, f64) {
    let to = libm::ldexp(2.0, i32::try_from(class).unwrap_or(0));
    (if class == 0 { 0.0 } else { to / 2.0 }, to)
}

impl FoundFiles {
    /// A file of this size that takes so much of the disk, last changed this long ago.
    pub fn see(&mut self, size: u64, room: u64, age_ns: u64) {
        self.count(1, size, age_ns);
        self.room = self.room.saturating_add(room);
    }

    /// So many files of this size without holes, last changed this long ago.
    pub fn see_many(&mut self, files: u64, size: u64, age_ns: u64) {
        self.count(files, size, age_ns);
        self.room = self.room.saturating_add(size.saturating_mul(files));
    }

    fn count(&mut self, files: u64, size: u64, age_ns: u64) {
        let class = class_of(age_ns / 1_000_000);
        for class in [&mut self.sizes[class_of(size)], &mut self.ages.0[class]] {
            class.files += files;
            class.bytes = class.bytes.saturating_add(size.saturating_mul(files));
        }
    }

    /// Takes others in.
    pub fn add(&mut self, other: &Self) {
        self.is_cut_short |= other.is_cut_short;
        self.room = self.room.saturating_add(other.room);
        let classes = self.sizes.iter_mut().chain(&mut self.ages.0);
        for (sum, more) in classes.zip(other.sizes.iter().chain(&other.ages.0)) {
            sum.files += more.files;
            sum.bytes = sum.bytes.saturating_add(more.bytes);
        }
    }

    /// How many.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.sizes.iter().map(|class| class.files).sum()
    }

    /// Their bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sizes.iter().fold(0, |sum, class| sum.saturating_add(class.bytes))
    }

    /// What they take of the disk.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Bytes of a file on average.
    pub(super) fn mean_size(&self) -> f64 {
        self.bytes() as f64 / (self.files() as f64).max(1.0)
    }

    /// Reads that get all of them: each file apart, in pieces.
    pub(super) fn reads(&self) -> f64 {
        self.files() as f64 + self.bytes() as f64 / READ_SIZE.get() as f64
    }

    /// Files and bytes with a last change within this time.
    pub(super) fn changed_within(&self, time_s: f64) -> (f64, f64) {
        self.ages.within(time_s)
    }

    /// Bytes a second of files that changed, over the shortest window in which any did.
    #[must_use]
    pub fn seen_rate(&self) -> Option<f64> {
        WINDOWS_S.iter().map(|window| self.ages.within(*window).1 / window).find(|rate| *rate > 0.0)
    }

    /// What random writes of so many bytes touch, each place as likely as any other: bytes of whole files, bytes of whole chunks, and
    /// files.
    pub(super) fn touched_by(&self, changed: f64) -> (f64, f64, f64) {
        let all = self.bytes() as f64;
        if all <= 0.0 {
            // Nothing is there yet: what is written is new.
            return (changed, changed, (changed / READ_SIZE.get() as f64).ceil());
        }
        let writes = changed / RANDOM_WRITE as f64;
        let (mut bytes, mut files) = (0.0, 0.0);
        for class in self.sizes.iter().filter(|class| class.files > 0) {
            let mean = class.bytes as f64 / class.files as f64;
            // Of so many writes at least one falls on a file with this share of all bytes.
            let touched = -libm::expm1(-(writes * mean / all));
            bytes += touched * class.bytes as f64;
            files += touched * class.files as f64;
        }
        let chunk = CHUNK.get() as f64;
        let chunks = (all / chunk).max(1.0);
        let touched_chunks = chunks * -libm::expm1(-(writes / chunks));
        (bytes, (touched_chunks * chunk).min(bytes), files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_meet_without_a_gap() {
        assert_eq!([0, 1, 2, 3, 4, 1 << 40].map(class_of), [0, 0, 1, 1, 2, 40]);
        for class in 0..40 {
            assert!((class_range(class).1 - class_range(class + 1).0).abs() < 1e-9);
        }
    }
}
