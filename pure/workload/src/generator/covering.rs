//! Blocks of several sizes, none of which overlaps one that came before: a map of what was asked, and the next free place in it.

/// Places of a map at most: half a gibibyte of memory for a thread.
pub(super) const PLACES_MAX: u64 = 1 << 32;

/// A set of numbers below a bound that finds the next member after any number: bits, and above them bits of the words that are not
/// empty, up to one word.
#[derive(Debug, Clone)]
struct FreeSet {
    levels: Vec<Vec<u64>>,
    count: u64,
}

impl FreeSet {
    /// All numbers below `count`.
    fn full(count: u64) -> Self {
        let mut levels = Vec::new();
        let mut bits = count.max(1);
        loop {
            let words = bits.div_ceil(64);
            let mut level = vec![u64::MAX; usize::try_from(words).expect("a map fits into memory")];
            if let (Some(last), rest @ 1..) = (level.last_mut(), bits % 64) {
                *last = (1 << rest) - 1;
            }
            levels.push(level);
            if words == 1 {
                return Self { levels, count: count.max(1) };
            }
            bits = words;
        }
    }

    fn has(&self, number: u64) -> bool {
        number < self.count && self.levels[0][(number / 64) as usize] >> (number % 64) & 1 == 1
    }

    fn remove(&mut self, number: u64) {
        let mut at = number;
        for level in &mut self.levels {
            let word = &mut level[(at / 64) as usize];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The first member from `number` on.
    fn next(&self, number: u64) -> Option<u64> {
        let mut at = number;
        for (height, level) in self.levels.iter().enumerate() {
            let place = usize::try_from(at / 64).ok()?;
            let word = level.get(place)? & (u64::MAX << (at % 64));
            if word != 0 {
                // Down again to the first bit of it.
                let mut found = (place as u64) * 64 + u64::from(word.trailing_zeros());
                for below in self.levels[..height].iter().rev() {
                    found = found * 64 + u64::from(below[found as usize].trailing_zeros());
                }
                return Some(found);
            }
            at = at / 64 + 1;
        }
        None
    }
}

/// The places of a stretch that were not asked yet.
#[derive(Debug, Clone)]
pub(super) struct Covering {
    free: FreeSet,
    left: u64,
    count: u64,
    /// Places of a file: no request goes beyond its end.
    per_file: u64,
    /// The number of the first place among those of all files.
    first: u64,
}

/// Where a request may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    /// Its first place.
    pub(super) at: u64,
    /// Places up to the end of the file or of the stretch.
    pub(super) room: u64,
}

impl Covering {
    pub(super) fn new(count: u64, per_file: u64, first: u64) -> Self {
        Self { free: FreeSet::full(count), left: count, count, per_file, first }
    }

    /// The free place at or behind the one that was drawn, the first free one if there is none. If all were asked, all are free again.
    pub(super) fn gap(&mut self, drawn: u64) -> Gap {
        if self.left == 0 {
            *self = Self::new(self.count, self.per_file, self.first);
        }
        let at = self.free.next(drawn).or_else(|| self.free.next(0)).expect("a place is free");
        Gap { at, room: (self.per_file - (self.first + at) % self.per_file).min(self.count - at) }
    }

    /// Takes as many places from `at` on as are wanted and free; says how many.
    pub(super) fn take(&mut self, at: u64, wanted: u64) -> u64 {
        let mut taken = 0;
        while taken < wanted && self.free.has(at + taken) {
            self.free.remove(at + taken);
            taken += 1;
        }
        self.left -= taken;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_free_set_is_a_set(count in 1u64..20_000, taken in proptest::collection::vec(0u64..20_000, 0..400), asked in 0u64..20_000) {
            let (mut set, mut plain) = (FreeSet::full(count), (0..count).collect::<BTreeSet<u64>>());
            for number in taken.into_iter().filter(|number| *number < count) {
                set.remove(number);
                plain.remove(&number);
            }
            prop_assert_eq!(set.next(asked), plain.range(asked..).next().copied());
            prop_assert_eq!(set.has(asked), plain.contains(&asked));
        }
    }

    #[test]
    fn every_place_is_taken_once_before_any_comes_again() {
        let mut covering = Covering::new(1_000, 100, 0);
        let (mut seen, mut drawn) = (vec![0; 1_000], 7);
        while covering.left > 0 {
            drawn = drawn * 31 % 997;
            let gap = covering.gap(drawn);
            let taken = covering.take(gap.at, gap.room.min(5));
            assert!(taken >= 1 && gap.at / 100 == (gap.at + taken - 1) / 100, "{gap:?}");
            (gap.at..gap.at + taken).for_each(|place| seen[place as usize] += 1);
        }
        assert!(seen.iter().all(|times| *times == 1));
        assert_eq!(covering.gap(3).at, 3, "all are free again");
    }
}
