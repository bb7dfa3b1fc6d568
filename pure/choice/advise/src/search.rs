//! The exact search: sets of disks and machines in the order of their joint price.
//!
//! Both lists are sorted by price. A heap holds, for each set, its pair with the cheapest machine not tried yet, so that
//! pairs come out in the order of price. A pair that carries the need is an answer, and its set is done: any further machine
//! only costs more. Sets and machines that carry the need in no pair are left out before: a set by its own limits with every
//! read that may hit the cache hitting it, a machine by a demand that no layout makes smaller.

use crate::disk_sets::DiskSet;
use crate::machines::{MachineOffer, cost};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whether a pair carries the need.
pub(crate) trait Judge {
    /// Whether the set could carry it on some machine.
    fn set_could(&self, set: &DiskSet) -> bool;
    /// Whether the machine could carry it with some set.
    fn machine_could(&self, machine: &MachineOffer) -> bool;
    /// Whether both do together.
    fn carries(&self, set: &DiskSet, machine: &MachineOffer) -> bool;
}

/// A set on a machine, by their places in the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    /// Billionths of the currency a month.
    pub(crate) price: u128,
    pub(crate) set: usize,
    pub(crate) machine: usize,
}

/// Pairs that carry a need, the cheapest first; of each set only its cheapest.
pub(crate) struct Search<'a, J> {
    sets: &'a [DiskSet],
    machines: &'a [MachineOffer],
    judge: &'a J,
    /// Machines that could carry it, the cheapest first.
    usable: Vec<usize>,
    /// The next pair of each set: its price, the set, and the place in `usable`.
    heap: BinaryHeap<Reverse<(u128, usize, usize)>>,
    /// Pairs judged so far.
    pub(crate) judged: u64,
}

impl<'a, J: Judge> Search<'a, J> {
    /// `machines` has prices and is sorted by them.
    pub(crate) fn new(sets: &'a [DiskSet], machines: &'a [MachineOffer], judge: &'a J) -> Self {
        let usable: Vec<usize> = (0..machines.len()).filter(|index| judge.machine_could(&machines[*index])).collect();
        let mut heap = BinaryHeap::new();
        if let Some(first) = usable.first() {
            for (index, set) in sets.iter().enumerate().filter(|(_, set)| set.price.is_some() && judge.set_could(set)) {
                heap.push(Reverse((cost(set.price) + cost(machines[*first].total), index, 0)));
            }
        }
        Self { sets, machines, judge, usable, heap, judged: 0 }
    }
}

impl<J: Judge> Iterator for Search<'_, J> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        while let Some(Reverse((price, set, place))) = self.heap.pop() {
            let machine = self.usable[place];
            self.judged += 1;
            let (one, other) = (&self.sets[set], &self.machines[machine]);
            if other.takes(one) && self.judge.carries(one, other) {
                return Some(Pair { price, set, machine });
            }
            if let Some(next) = self.usable.get(place + 1) {
                self.heap.push(Reverse((cost(one.price) + cost(self.machines[*next].total), set, place + 1)));
            }
        }
        None
    }
}
