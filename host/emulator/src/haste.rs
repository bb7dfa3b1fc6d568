//! Which threads of an emulation run as soon as they wake.

use crate::clock::Clock;
use loadline_kernel::scheduling::{Turns, TurnsOfThread};
use loadline_units::{Duration, Instant};

/// What a request takes beside its bytes, as if it were bytes.
const REQUEST: u64 = 32 << 10;
/// So much at a time is looked at: 64 short requests.
const WORK: u64 = 64 * REQUEST;
/// A thread that takes it in less does not seldom run: 32,000 short requests a second, or a gigabyte.
const SELDOM: Duration = Duration::from_ms(2);

/// A thread that takes requests. As long as these come seldom it runs as soon as it wakes, for what it is asked is due from then on. Of
/// a disk that nothing holds back it takes what the processor gives, and would keep the client from asking.
#[derive(Debug)]
pub(crate) struct Haste {
    turns: Option<TurnsOfThread>,
    /// Since the last look, in bytes.
    work: u64,
    looked_at: Instant,
}

impl Haste {
    /// Of the calling thread, if it is wanted.
    pub(crate) fn new(wanted: bool) -> Self {
        let turns = wanted.then(|| {
            let mut turns = TurnsOfThread::given();
            turns.hasten();
            turns
        });
        Self { turns, work: 0, looked_at: Instant::ZERO }
    }

    /// The thread took `requests` with so many bytes in all.
    #[inline]
    pub(crate) const fn took(&mut self, requests: usize, bytes: u64) {
        self.work = self.work.saturating_add(requests as u64 * REQUEST + bytes);
    }

    /// Decides anew, if there was enough to go by. Comes often.
    #[inline]
    pub(crate) fn follow(&mut self, clock: Clock) {
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

/// Whether it is little work for the time in which it came.
fn is_seldom(work: u64, span: Duration) -> bool {
    u128::from(span.as_ns()) * u128::from(WORK) >= u128::from(SELDOM.as_ns()) * u128::from(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_thousand_a_second_are_few_and_thirty_four_are_many() {
        let work = |requests: usize, bytes: u64| {
            let mut haste = Haste::new(false);
            haste.took(requests, bytes);
            haste.work
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
        let now = |haste: &Haste| haste.turns.as_ref().map(TurnsOfThread::now);
        let mut haste = Haste::new(true);
        let hastened = now(&haste);
        let mut at = Instant::ZERO;
        for (requests, span, expected) in [
            (64, Duration::from_ms(10), hastened),
            (64, Duration::from_us(200), Some(Turns::Batch)),
            (640, Duration::from_ms(1), Some(Turns::Batch)),
            (64, Duration::from_s(1), hastened),
        ] {
            at = at + span;
            haste.took(requests, 0);
            haste.look(at);
            assert_eq!((now(&haste), haste.work), (expected, 0));
        }
        let mut unwanted = Haste::new(false);
        unwanted.look(at);
        assert_eq!(now(&unwanted), None);
    }
}
