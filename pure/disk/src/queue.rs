//! What is to happen when: a priority queue of small entries.

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

/// A heap with the earliest entry first.
///
/// Taking the first entry leaves a hole at the root. In a closed loop the next thing to happen is that an entry is added, and
/// it fills the hole: one way down the tree instead of a way down and a way up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    heap: Vec<Entry>,
    hole: bool,
}

impl Queue {
    /// The first entry.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<Entry> {
        self.fill();
        self.heap.first().copied()
    }

    /// Adds an entry.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) {
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.heap.push(entry);
            self.sift_up(entry);
        }
    }

    /// Takes the first entry, which must have been looked at.
    #[inline]
    pub(crate) fn pop_first(&mut self) -> Entry {
        assert!(!self.hole, "the first entry was taken before");
        self.hole = true;
        self.heap[0]
    }

    #[inline]
    fn fill(&mut self) {
        if self.hole {
            self.hole = false;
            if let Some(last) = self.heap.pop()
                && !self.heap.is_empty()
            {
                self.sift_down(last);
            }
        }
    }

    /// Puts `entry` into the free root.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let heap = self.heap.as_mut_slice();
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
    #[inline]
    fn sift_up(&mut self, entry: Entry) {
        let heap = self.heap.as_mut_slice();
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

    proptest! {
        #[test]
        fn entries_come_out_in_their_order(steps in prop::collection::vec(prop::option::of(0u64..50), 1..400)) {
            let mut queue = Queue::default();
            let mut expected = BTreeSet::new();
            for (number, step) in steps.into_iter().enumerate() {
                if let Some(at) = step {
                    let entry = Entry { at, what: number as u64 };
                    queue.push(entry);
                    expected.insert(entry);
                    continue;
                }
                prop_assert_eq!(queue.first(), expected.first().copied());
                if let Some(first) = expected.pop_first() {
                    prop_assert_eq!(queue.pop_first(), first);
                }
            }
        }
    }
}
