//! When recorded requests come: by the clock, by the answers, or as fast as places in the queue allow.

use super::Dependence;
use super::dependence::{AnswerDependences, FlushDependences, askers, backgrounds, dependences, queue_depths};
use crate::trace::TraceRecord;
use loadline_units::Instant;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The queue depth of one asker: free places, and the requests that wait for one.
#[derive(Debug, Clone)]
struct DepthLimit {
    free: usize,
    waiting: VecDeque<usize>,
}

/// Recorded requests that come one after the other. Who answers them, a model or a disk, says when it did.
#[derive(Debug)]
pub struct ReplaySchedule<'a> {
    records: &'a [TraceRecord],
    /// Who asked for each request.
    asker: Vec<u32>,
    /// By asker.
    depths: Vec<DepthLimit>,
    /// `None`: requests depend on no answer.
    dependences: Option<(AnswerDependences, FlushDependences)>,
    /// Requests whose time is known.
    coming: BinaryHeap<Reverse<(Instant, usize)>>,
    /// By asker: whether its writes come by the clock while others come by their answers.
    backgrounds: Vec<bool>,
    /// Requests of the others that have no answer yet. When all have one, what comes by the clock is left out.
    foreground_left: usize,
}

impl<'a> ReplaySchedule<'a> {
    /// Of requests to so many exports. Times count from the beginning of the recording, not from the first request: for limits that
    /// count in windows, it matters when within a window requests come.
    #[must_use]
    pub fn new(records: &'a [TraceRecord], exports: usize, dependence: Dependence) -> Self {
        let (asker, count) = askers(records);
        let all = || (0..records.len()).collect();
        let mut background = vec![false; count];
        let (dependences, independent, depths): (_, Vec<usize>, Vec<usize>) = match dependence {
            Dependence::Time => (None, all(), vec![usize::MAX; count]),
            Dependence::Haste => (None, all(), queue_depths(records, (&asker, count))),
            Dependence::Answers => {
                background = backgrounds(records, (&asker, count), exports);
                let (answers, flushes, independent) = dependences(records, (&asker, count), exports, &background);
                (Some((answers, flushes)), independent, queue_depths(records, (&asker, count)))
            }
        };
        let at = |number: usize| match dependence {
            Dependence::Haste => Instant::ZERO,
            Dependence::Time | Dependence::Answers => records[number].submitted_at,
        };
        let foreground_left = asker.iter().filter(|one| !background[**one as usize]).count();
        Self {
            records,
            asker,
            backgrounds: background,
            foreground_left,
            depths: depths.into_iter().map(|free| DepthLimit { free, waiting: VecDeque::new() }).collect(),
            dependences,
            coming: independent.into_iter().map(|number| Reverse((at(number), number))).collect(),
        }
    }

    /// When the next request is due; `None`: none before another answer.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        if self.foreground_left == 0 {
            return None;
        }
        self.coming.peek().map(|Reverse((at, _))| *at)
    }

    /// The next request that is due, with the time at which it was, unless it waits for writes or for a place in the queue.
    pub fn take(&mut self, now: Instant) -> Option<(usize, Instant)> {
        while let Some(at) = self.next_at().filter(|at| *at <= now) {
            let Some(Reverse((_, number))) = self.coming.peek().copied() else { break };
            self.coming.pop();
            if self.dependences.as_mut().is_some_and(|(_, flushes)| flushes.holds(&self.records[number], number)) {
                continue;
            }
            let depth = &mut self.depths[self.asker[number] as usize];
            if depth.free == 0 {
                depth.waiting.push_back(number);
                continue;
            }
            depth.free -= 1;
            return Some((number, at));
        }
        None
    }

    /// Whether a request is left out where it was not asked by the end: those that come by their answers had theirs before its time.
    #[must_use]
    pub fn is_background(&self, number: usize) -> bool {
        self.backgrounds[self.asker[number] as usize]
    }

    /// Notes that a request was answered, and is taken in `now`: others may come.
    pub fn answer(&mut self, number: usize, completed_at: Instant, now: Instant) {
        let asker = self.asker[number] as usize;
        self.foreground_left -= usize::from(!self.backgrounds[asker]);
        let depth = &mut self.depths[asker];
        depth.free = depth.free.saturating_add(1);
        self.coming.extend(depth.waiting.pop_front().map(|waiting| Reverse((now, waiting))));
        let Some((answers, flushes)) = &mut self.dependences else { return };
        let coming = &mut self.coming;
        let mut comes = |dependent: usize, at: Instant| coming.push(Reverse((at.max(now), dependent)));
        for flush in flushes.answer(&self.records[number], number) {
            comes(flush, completed_at + answers.think_time[flush]);
        }
        answers.answer(number, completed_at, &mut comes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;

    fn record(sequence: u64, submitted_ms: u64, completed_ms: u64) -> TraceRecord {
        let at = |ms: u64| Instant::ZERO + Duration::from_ms(ms);
        TraceRecord {
            sequence,
            submitted_at: at(submitted_ms),
            completed_at: Some(at(completed_ms)),
            length: 4_096,
            ..TraceRecord::default()
        }
    }

    #[test]
    fn in_haste_requests_come_as_places_are_free_and_in_their_order() {
        // Two at once at most.
        let records = [record(0, 10, 20), record(1, 10, 20), record(2, 500, 510), record(3, 900, 910)];
        let mut schedule = ReplaySchedule::new(&records, 1, Dependence::Haste);
        let at = |ms: u64| Instant::ZERO + Duration::from_ms(ms);
        let taken = |schedule: &mut ReplaySchedule<'_>, ms| {
            std::iter::from_fn(|| schedule.take(at(ms)).map(|(number, _)| number)).collect::<Vec<_>>()
        };
        assert_eq!(taken(&mut schedule, 0), [0, 1]);
        schedule.answer(1, at(3), at(3));
        assert_eq!(taken(&mut schedule, 3), [2]);
        assert_eq!(taken(&mut schedule, 4), [0_usize; 0]);
        schedule.answer(0, at(5), at(5));
        assert_eq!(taken(&mut schedule, 5), [3]);
    }

    #[test]
    fn by_time_a_request_that_is_late_keeps_the_time_at_which_it_was_due() {
        let records = [record(0, 10, 20)];
        let mut schedule = ReplaySchedule::new(&records, 1, Dependence::Time);
        let late = Instant::ZERO + Duration::from_ms(70);
        assert_eq!(schedule.take(late), Some((0, records[0].submitted_at)));
    }
}
