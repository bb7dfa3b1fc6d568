//! The event queue: a priority queue of small entries that come nearly in order.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use std::hint::select_unpredictable;

/// An entry: its time in ns, and 64 bits that order entries of one time and identify the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) at: u64,
    pub(crate) what: u64,
}

impl Entry {
    #[inline]
    const fn key(self) -> u128 {
        ((self.at as u128) << 64) | self.what as u128
    }
}

/// Children of a node. Four lie in one cache line, and halve the levels of two.
const ARITY: usize = 4;
/// How many later entries a new one may be inserted before. Earlier ones go to the heap.
const REACH: usize = 32;
/// How many of the last entries a new one is compared with without a branch. Its position among these is random, and a
/// mispredicted branch costs more than the comparisons.
const CLOSE: usize = 4;

/// One of two, without a branch.
#[inline(always)]
fn choose(first: bool, one: Entry, other: Entry) -> Entry {
    Entry { at: select_unpredictable(first, one.at, other.at), what: select_unpredictable(first, one.what, other.what) }
}

/// Inserts an entry in order among a few, with a free place behind them.
#[inline(always)]
fn put_close(near: &mut [Entry; CLOSE + 1], entry: Entry) {
    let mut last = entry;
    for place in &mut near[..CLOSE] {
        let other = *place;
        let later = other.at > entry.at;
        *place = choose(later, last, other);
        last = choose(later, other, last);
    }
    near[CLOSE] = last;
}

/// Entries, the earliest first. Of two at one moment, that which was added first must have the smaller `what`.
///
/// Behind a limit answers come nearly in the order of their requests. Most entries are added at the end of a run or
/// close to it, and removed from its front, in a few instructions whatever their number. The others go to a heap.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    /// Time of the first entry; `u64::MAX` if there is none.
    first_at: u64,
    run: Run,
    heap: Heap,
}

impl Default for Queue {
    fn default() -> Self {
        Self { first_at: u64::MAX, run: Run::default(), heap: Heap::default() }
    }
}

impl Queue {
    /// Time of the first entry; `u64::MAX` if there is none.
    #[inline(always)]
    pub(crate) const fn first_at(&self) -> u64 {
        self.first_at
    }

    /// The first entry.
    pub(crate) fn first(&mut self) -> Option<Entry> {
        [self.run.first(), self.heap.first()].into_iter().flatten().min()
    }

    /// When the last entry is that is not later than `until`, of those that came nearly in order; `None`: there is none.
    pub(crate) fn last_until(&self, until: u64) -> Option<u64> {
        let run = self.run.buffer.get(self.run.head..self.run.tail)?;
        run.iter().map(|entry| entry.at).take_while(|at| *at <= until).last()
    }

    /// Adds an entry.
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: Entry) {
        self.first_at = self.first_at.min(entry.at);
        if !self.run.push(entry) {
            self.heap.push(entry);
        }
    }

    /// Removes the first entry.
    #[inline(always)]
    pub(crate) fn pop_first(&mut self) -> Option<Entry> {
        if !self.heap.is_empty() {
            return self.pop_either();
        }
        let (first, next_at) = self.run.pop_first()?;
        self.first_at = next_at;
        Some(first)
    }

    #[inline(never)]
    fn pop_either(&mut self) -> Option<Entry> {
        let first = match (self.run.first(), self.heap.first()) {
            (near, Some(far)) if near.is_none_or(|near| far.key() < near.key()) => Some(self.heap.pop_first()),
            _ => self.run.pop_first().map(|(first, _)| first),
        };
        let far = self.heap.first().map_or(u64::MAX, |entry| entry.at);
        self.first_at = self.run.first().map_or(u64::MAX, |entry| entry.at).min(far);
        first
    }
}

/// The entry behind the last one of a run.
const END: Entry = Entry { at: u64::MAX, what: u64::MAX };

/// A sorted run of entries, with [`END`] behind them. It moves forward in its buffer, and back to the beginning at the
/// buffer's end.
#[derive(Debug, Clone, Default)]
struct Run {
    buffer: Vec<Entry>,
    head: usize,
    tail: usize,
}

impl Run {
    fn first(&self) -> Option<Entry> {
        if self.head < self.tail { self.buffer.get(self.head).copied() } else { None }
    }

    /// Removes the first entry; also returns the time of the next, `u64::MAX` if there is none.
    #[inline(always)]
    fn pop_first(&mut self) -> Option<(Entry, u64)> {
        let [first, next] = self.buffer.get(self.head..)?.first_chunk()?;
        if self.head >= self.tail {
            return None;
        }
        self.head += 1;
        Some((*first, next.at))
    }

    /// Adds an entry, unless its place is too far from the end.
    #[inline(always)]
    fn push(&mut self, entry: Entry) -> bool {
        let close = self.tail.wrapping_sub(CLOSE + 1);
        if self.tail > self.head + CLOSE
            && let Some([before, near @ .., end]) =
                self.buffer.get_mut(close..).and_then(|rest| rest.first_chunk_mut::<{ CLOSE + 3 }>())
            && before.at <= entry.at
        {
            *end = END;
            put_close(near, entry);
        } else if !self.push_far(entry) {
            return false;
        }
        self.tail += 1;
        true
    }

    /// Inserts an entry before more than a few others, or into a run of few, unless its place is too far from the end.
    #[inline(never)]
    fn push_far(&mut self, entry: Entry) -> bool {
        if self.tail + 2 > self.buffer.len() {
            self.make_room();
        }
        let from = self.head.max(self.tail.saturating_sub(REACH));
        if from > self.head && self.buffer[from - 1].at > entry.at {
            return false;
        }
        let entries = &mut self.buffer[from..self.tail + 2];
        let mut place = entries.len() - 2;
        entries[place + 1] = END;
        while place >= CLOSE && entries[place - CLOSE].at > entry.at {
            entries.copy_within(place - CLOSE..place, place - CLOSE + 1);
            place -= CLOSE;
        }
        if let Some(close) = place.checked_sub(CLOSE)
            && let Some(near) = entries[close..].first_chunk_mut()
        {
            put_close(near, entry);
            return true;
        }
        while place > 0 && entries[place - 1].at > entry.at {
            entries[place] = entries[place - 1];
            place -= 1;
        }
        entries[place] = entry;
        true
    }

    /// Back to the beginning of the buffer, or into a larger one.
    #[cold]
    fn make_room(&mut self) {
        let count = self.tail - self.head;
        if count >= self.buffer.len() / 4 * 3 {
            self.buffer.resize((self.buffer.len() * 2).max(REACH), END);
        }
        self.buffer.copy_within(self.head..self.tail, 0);
        (self.head, self.tail) = (0, count);
        self.buffer[count] = END;
    }
}

/// A heap with the earliest entry first.
///
/// Removing the first entry leaves a hole at the root. In a closed loop an insertion follows, and it fills the hole:
/// one pass down the tree instead of one down and one up.
#[derive(Debug, Clone, Default)]
struct Heap {
    entries: Vec<Entry>,
    hole: bool,
}

impl Heap {
    /// Whether there is none, nor a hole to be filled.
    #[inline]
    const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The first entry.
    #[inline]
    fn first(&mut self) -> Option<Entry> {
        self.fill();
        self.entries.first().copied()
    }

    /// Adds an entry.
    #[inline]
    fn push(&mut self, entry: Entry) {
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.entries.push(entry);
            self.sift_up(entry);
        }
    }

    /// Removes the first entry. The caller has looked at it.
    #[inline]
    fn pop_first(&mut self) -> Entry {
        assert!(!self.hole, "the first entry was taken before");
        self.hole = true;
        self.entries[0]
    }

    #[inline]
    fn fill(&mut self) {
        if self.hole {
            self.hole = false;
            if let Some(last) = self.entries.pop()
                && !self.entries.is_empty()
            {
                self.sift_down(last);
            }
        }
    }

    /// Puts `entry` into the free root.
    fn sift_down(&mut self, entry: Entry) {
        let heap = self.entries.as_mut_slice();
        let count = heap.len();
        let key = entry.key();
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            if first + ARITY <= count {
                let child = |index: usize| heap[first + index].key();
                let left = usize::from(child(1) < child(0));
                let right = 2 + usize::from(child(3) < child(2));
                let least = if child(right) < child(left) { right } else { left };
                if key <= child(least) {
                    break;
                }
                heap[at] = heap[first + least];
                at = first + least;
            } else {
                let Some(least) = (first..count).min_by_key(|index| heap[*index].key()) else { break };
                if key <= heap[least].key() {
                    break;
                }
                heap[at] = heap[least];
                at = least;
            }
        }
        heap[at] = entry;
    }

    /// Moves `entry`, which was put last, up to its place.
    fn sift_up(&mut self, entry: Entry) {
        let heap = self.entries.as_mut_slice();
        let mut at = heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if heap[parent] <= entry {
                break;
            }
            heap[at] = heap[parent];
            at = parent;
        }
        heap[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_run_is_as_long_as_what_it_holds_however_much_passes_through() {
        let mut queue = Queue::default();
        for number in 0..100_000 {
            queue.push(Entry { at: number * 10 + number * 7 % 40, what: number });
            if number >= 32 {
                queue.pop_first();
            }
        }
        assert!(queue.run.buffer.len() <= 64, "{}", queue.run.buffer.len());
        assert!(queue.heap.entries.is_empty());
    }

    proptest! {
        #[test]
        fn entries_come_out_in_their_order(
            steps in prop::collection::vec(prop::option::weighted(0.6, 0u64..100), 1..800), drift in 0u64..20,
        ) {
            let mut queue = Queue::default();
            let mut expected = BTreeSet::new();
            for (number, step) in steps.into_iter().enumerate() {
                if let Some(at) = step {
                    // Times come nearly in order or in none: the run and the heap.
                    let entry = Entry { at: at + drift * number as u64, what: number as u64 };
                    queue.push(entry);
                    expected.insert(entry);
                    continue;
                }
                prop_assert_eq!(queue.first(), expected.first().copied());
                prop_assert_eq!(queue.first_at(), expected.first().map_or(u64::MAX, |entry| entry.at));
                let until = queue.first_at().saturating_add(20);
                let last = expected.iter().map(|entry| entry.at).take_while(|at| *at <= until).last();
                let told = queue.last_until(until);
                // Entries in the heap do not count.
                prop_assert!(told == last || told < last && !queue.heap.is_empty());
                if let Some(first) = expected.pop_first() {
                    prop_assert_eq!(queue.pop_first(), Some(first));
                }
            }
        }
    }
}
