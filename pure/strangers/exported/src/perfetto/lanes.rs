//! What overlaps in time, on as few tracks as it takes: slices of one track follow each other.

use super::timeline::{Timeline, Track};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Tracks below one, numbered from 1. What begins takes the lowest that is free.
#[derive(Debug)]
pub(super) struct Lanes {
    above: Track,
    tracks: Vec<Track>,
    free: BTreeSet<usize>,
    taken: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Lanes {
    pub(super) const fn new(above: Track) -> Self {
        Self { above, tracks: Vec::new(), free: BTreeSet::new(), taken: BinaryHeap::new() }
    }

    /// A track for what lasts from `start_ns` to `end_ns`. Asked in the order of beginnings.
    pub(super) fn lane(&mut self, timeline: &mut Timeline, start_ns: u64, end_ns: u64) -> Track {
        while let Some(Reverse((until, lane))) =
            self.taken.peek().copied().filter(|Reverse((until, _))| *until <= start_ns)
        {
            debug_assert!(until <= start_ns);
            self.taken.pop();
            self.free.insert(lane);
        }
        let lane = self.free.pop_first().unwrap_or_else(|| {
            let name = (self.tracks.len() + 1).to_string();
            self.tracks.push(timeline.track(Some(self.above), &name));
            self.tracks.len() - 1
        });
        self.taken.push(Reverse((end_ns, lane)));
        self.tracks[lane]
    }
}
