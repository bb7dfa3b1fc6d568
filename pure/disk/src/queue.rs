//! What is to happen when: a priority queue of small entries that come nearly in order.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

/// An entry: the moment in ns, and 64 bits that decide among entries of one moment and say what it is.
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
/// How many later entries a new one may be put before. What comes earlier than so many goes to the heap.
const REACH: usize = 32;
/// How many of the last entries a new one is compared with without a branch: in which of these places it belongs is chance, and
/// a processor that guesses wrong loses more time than the comparisons take.
const CLOSE: usize = 4;

/// Entries, the earliest first. Of two at one moment, that which was added first must have the smaller `what`.
///
/// Behind a limit answers come nearly in the order of their requests: most entries are added at the end of a ring or close
/// to it, and taken from its front, in a few instructions whatever their number. The others go to a heap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    ring: Ring,
    heap: Heap,
}

impl Queue {
    /// When the first entry is; `u64::MAX` where there is none.
    #[inline]
    pub(crate) fn first_at(&mut self) -> u64 {
        let at = self.ring.first().map_or(u64::MAX, |entry| entry.at);
        if self.heap.is_empty() { at } else { at.min(self.heap.first().map_or(u64::MAX, |entry| entry.at)) }
    }

    /// The first entry.
    #[cfg(test)]
    fn first(&mut self) -> Option<Entry> {
        [self.ring.first(), self.heap.first()].into_iter().flatten().min()
    }

    /// Adds an entry.
    #[inline(always)]
    pub(crate) fn push(&mut self, entry: Entry) {
        if !self.ring.push(entry) {
            self.heap.push(entry);
        }
    }

    /// Takes the first entry.
    #[inline]
    pub(crate) fn pop_first(&mut self) -> Option<Entry> {
        if self.heap.is_empty() { self.ring.pop_first() } else { self.pop_either() }
    }

    fn pop_either(&mut self) -> Option<Entry> {
        match (self.ring.first(), self.heap.first()) {
            (Some(near), Some(far)) if near.key() < far.key() => self.ring.pop_first(),
            (_, Some(_)) => Some(self.heap.pop_first()),
            (_, None) => self.ring.pop_first(),
        }
    }
}

/// Entries in their order, around a buffer whose length is a power of two.
#[derive(Debug, Clone, Default)]
struct Ring {
    buffer: Vec<Entry>,
    /// Where the first entry is, before it is wrapped round.
    head: usize,
    count: usize,
}

impl Ring {
    #[inline]
    fn place(&self, index: usize) -> usize {
        self.head.wrapping_add(index) & (self.buffer.len() - 1)
    }

    #[inline]
    fn first(&self) -> Option<Entry> {
        (self.count > 0).then(|| self.buffer[self.place(0)])
    }

    #[inline]
    fn pop_first(&mut self) -> Option<Entry> {
        let first = self.first()?;
        self.head = self.head.wrapping_add(1);
        self.count -= 1;
        Some(first)
    }

    /// Adds an entry; does not where its place is too far from the end.
    #[inline(always)]
    fn push(&mut self, entry: Entry) -> bool {
        if self.count == self.buffer.len() {
            self.grow();
        }
        if self.count > CLOSE && self.buffer[self.place(self.count - 1 - CLOSE)].at <= entry.at {
            let mut last = entry;
            for index in self.count - CLOSE..self.count {
                let place = self.place(index);
                let other = self.buffer[place];
                let later = other.at > entry.at;
                self.buffer[place] = if later { last } else { other };
                last = if later { other } else { last };
            }
            let place = self.place(self.count);
            self.buffer[place] = last;
        } else if !self.push_far(entry) {
            return false;
        }
        self.count += 1;
        true
    }

    /// Puts an entry before more than a few others, or into a ring of few; does not where its place is too far from the end.
    fn push_far(&mut self, entry: Entry) -> bool {
        if self.count > REACH && self.buffer[self.place(self.count - 1 - REACH)].at > entry.at {
            return false;
        }
        let mut place = self.count;
        while place > 0 {
            let before = self.buffer[self.place(place - 1)];
            if before.at <= entry.at {
                break;
            }
            let here = self.place(place);
            self.buffer[here] = before;
            place -= 1;
        }
        let here = self.place(place);
        self.buffer[here] = entry;
        true
    }

    #[cold]
    fn grow(&mut self) {
        let mut buffer: Vec<Entry> = (0..self.count).map(|index| self.buffer[self.place(index)]).collect();
        buffer.resize((self.count * 2).max(REACH), Entry { at: 0, what: 0 });
        (self.buffer, self.head) = (buffer, 0);
    }
}

/// A heap with the earliest entry first.
///
/// Taking the first entry leaves a hole at the root. In a closed loop the next thing to happen is that an entry is added, and
/// it fills the hole: one way down the tree instead of a way down and a way up.
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

    /// Takes the first entry, which must have been looked at.
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
    fn the_ring_is_as_long_as_what_it_holds_however_much_passes_through() {
        let mut queue = Queue::default();
        for number in 0..100_000 {
            queue.push(Entry { at: number * 10 + number * 7 % 40, what: number });
            if number >= 32 {
                queue.pop_first();
            }
        }
        assert!(queue.ring.buffer.len() <= 64, "{}", queue.ring.buffer.len());
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
                    // Times come nearly in order or in none: the ring and the heap.
                    let entry = Entry { at: at + drift * number as u64, what: number as u64 };
                    queue.push(entry);
                    expected.insert(entry);
                    continue;
                }
                prop_assert_eq!(queue.first(), expected.first().copied());
                prop_assert_eq!(queue.first_at(), expected.first().map_or(u64::MAX, |entry| entry.at));
                if let Some(first) = expected.pop_first() {
                    prop_assert_eq!(queue.pop_first(), Some(first));
                }
            }
        }
    }
}
