//! The scheduling priority of a thread that takes requests.

use crate::clock::Clock;
use loadline_kernel::scheduling::{Turns, TurnsOfThread};
use loadline_units::{Duration, Instant};

/// The cost of a request beside its bytes, in bytes.
const REQUEST: u64 = 32 << 10;
/// The work between two decisions: 64 short requests.
const WORK: u64 = 64 * REQUEST;
/// A thread that does this work in less is busy: 32,000 short requests/s, or 1 GB/s.
const SELDOM: Duration = Duration::from_ms(2);

/// The priority of one thread, by how busy it is. A thread with little work runs as soon as it wakes, so that requests reach the model
/// without delay. A busy one steps back: on a disk without limits it would take the whole processor, and its client could not ask.
#[derive(Debug)]
pub(crate) struct ThreadPriority {
    turns: Option<TurnsOfThread>,
    /// Since the last look, in bytes.
    work: u64,
    looked_at: Instant,
}

impl ThreadPriority {
    /// The priority of the calling thread; `wanted`: it may be raised.
    pub(crate) fn new(wanted: bool) -> Self {
        let turns = wanted.then(|| {
            let mut turns = TurnsOfThread::given();
            turns.hasten();
            turns
        });
        Self { turns, work: 0, looked_at: Instant::ZERO }
    }

    /// Counts requests with so many bytes in all.
    #[inline]
    pub(crate) const fn count(&mut self, requests: usize, bytes: u64) {
        self.work = self.work.saturating_add(requests as u64 * REQUEST + bytes);
    }

    /// Decides anew after enough work. Called often.
    #[inline]
    pub(crate) fn adapt(&mut self, clock: Clock) {
        if self.work >= WORK {
            self.look(clock.now());
        }
    }

    fn look(&mut self, now: Instant) {
        let seldom = is_seldom(std::mem::take(&mut self.work), now.since(self.looked_at));
        self.looked_at = now;
        if let Some(turns) = &mut self.turns {
            if !seldom {
                turns.stand_back();
            } else if matches!(turns.now(), Turns::AsGiven | Turns::Batch) {
                turns.hasten();
            }
        }
    }
}

/// Whether this is little work for the time.
fn is_seldom(work: u64, span: Duration) -> bool {
    u128::from(span.as_ns()) * u128::from(WORK) >= u128::from(SELDOM.as_ns()) * u128::from(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_thousand_a_second_are_few_and_thirty_four_are_many() {
        let work = |requests: usize, bytes: u64| {
            let mut priority = ThreadPriority::new(false);
            priority.count(requests, bytes);
            priority.work
        };
        for requests in [64_usize, 65, 200, 1_000_000] {
            let span = |rate: u64| Duration::from_ns(requests as u64 * 1_000_000_000 / rate);
            let short = work(requests, 0);
            assert!(is_seldom(short, span(30_000)) && !is_seldom(short, span(34_000)), "{requests}");
            // Long ones are fewer: 256 KiB take as much as nine.
            let long = work(requests, requests as u64 * (256 << 10));
            assert!(is_seldom(long, span(3_500)) && !is_seldom(long, span(3_600)), "{requests}");
        }
        assert!(!is_seldom(u64::MAX, Duration::from_s(3_600)));
    }

    #[test]
    fn a_thread_is_hastened_as_long_as_it_is_seldom_asked() {
        let now = |priority: &ThreadPriority| priority.turns.as_ref().map(TurnsOfThread::now);
        let mut priority = ThreadPriority::new(true);
        let hastened = now(&priority);
        let mut at = Instant::ZERO;
        for (requests, span, expected) in [
            (64, Duration::from_ms(10), hastened),
            (64, Duration::from_us(200), Some(Turns::Batch)),
            (640, Duration::from_ms(1), Some(Turns::Batch)),
            (64, Duration::from_s(1), hastened),
        ] {
            at = at + span;
            priority.count(requests, 0);
            priority.look(at);
            assert_eq!((now(&priority), priority.work), (expected, 0));
        }
        let mut unwanted = ThreadPriority::new(false);
        unwanted.look(at);
        assert_eq!(now(&unwanted), None);
    }
}
