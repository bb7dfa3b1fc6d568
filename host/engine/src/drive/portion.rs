//! How many requests a closed loop hands over with one system call: few where who answers has a processor of its own.
//!
//! A call prepares all of its requests before the device has the first of them, and who is to answer them waits meanwhile: for that the
//! fewer the better. But where the two share a processor nobody waits, and each call takes it from whoever answers. The time that the
//! thread itself waits for its processor tells which of the two it is.

use crate::backend::Portions;
use crate::clock::Readiness;
use loadline_units::{Duration, Instant};

/// The time in the queue for the processor is looked at this often: the scheduler leaves threads where they are for some milliseconds.
const LOOK_EVERY: Duration = Duration::from_ms(20);
/// Of so many parts of the time one spent in the queue means that the processor is shared. Sharing it with a loop device's worker takes
/// a quarter and more of it, being alone on it a sixteenth at most (decision 25).
const SHARED_OF: u64 = 8;

/// Chooses between few and many requests at once, by whether the processor was shared lately.
#[derive(Debug)]
pub(super) struct Portion {
    of: Portions,
    now: u32,
    /// When the time in the queue was looked at last, and what it was.
    seen: Option<(Instant, Duration)>,
    look_at: Instant,
}

impl Portion {
    /// Many at first; looked at when `now` has passed, if there is something to choose.
    pub(super) const fn new(of: Portions, now: Instant) -> Self {
        let look_at = if of.few < of.most { now } else { Instant::MAX };
        Self { of, now: of.most, seen: None, look_at }
    }

    /// Always as many as there may be.
    pub(super) const fn most(of: Portions) -> Self {
        Self { of, now: of.most, seen: None, look_at: Instant::MAX }
    }

    /// How many to hand over at once at `now`.
    #[inline]
    pub(super) fn at(&mut self, now: Instant, readiness: impl FnOnce() -> Option<Readiness>) -> u32 {
        if now >= self.look_at {
            self.look(now, readiness());
        }
        self.now
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self, now: Instant, ready: Option<Readiness>) {
        let Some(Readiness { queued, .. }) = ready else {
            // Where the kernel does not tell, there is nothing to go by.
            (self.now, self.look_at) = (self.of.most, Instant::MAX);
            return;
        };
        if let Some((from, before)) = self.seen {
            let shared = queued.saturating_sub(before).as_ns().saturating_mul(SHARED_OF) > now.since(from).as_ns();
            self.now = if shared { self.of.most } else { self.of.few };
        }
        (self.seen, self.look_at) = (Some((now, queued)), now + LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEEP: Portions = Portions { few: 8, most: 32 };

    /// What is handed over at once each millisecond of `ms`, where the thread waits for its processor for `permille` of the time.
    fn course(portion: &mut Portion, from_ms: u64, ms: u64, queued: &mut u64, permille: u64) -> Vec<u32> {
        (from_ms..from_ms + ms)
            .map(|at| {
                *queued += permille * 1_000;
                let ready = Readiness { running: Duration::ZERO, queued: Duration::from_ns(*queued) };
                portion.at(Instant::from_ns(at * 1_000_000), || Some(ready))
            })
            .collect()
    }

    #[test]
    fn a_processor_of_its_own_gets_few_at_once_and_a_shared_one_many() {
        let mut portion = Portion::new(DEEP, Instant::ZERO);
        let mut queued = 5_000_000_000;
        let alone = course(&mut portion, 0, 100, &mut queued, 60);
        assert_eq!((alone[0], alone[19], alone[20], alone[99]), (32, 32, 8, 8));
        let shared = course(&mut portion, 100, 100, &mut queued, 270);
        assert_eq!((shared[0], shared[20], shared[99]), (8, 32, 32), "{shared:?}");
        let alone = course(&mut portion, 200, 100, &mut queued, 20);
        assert_eq!(alone[99], 8);
    }

    #[test]
    fn who_does_not_know_hands_over_many() {
        let mut portion = Portion::new(DEEP, Instant::ZERO);
        assert_eq!(portion.at(Instant::from_ns(1), || None), 32);
        assert_eq!(portion.at(Instant::from_ns(1_000_000_000), || unreachable!("asked again")), 32);
    }

    #[test]
    fn nothing_is_looked_at_where_there_is_nothing_to_choose() {
        let asked = || -> Option<Readiness> { unreachable!("asked") };
        let at = Instant::from_ns(1_000_000_000);
        assert_eq!(Portion::new(Portions { few: 8, most: 8 }, Instant::ZERO).at(at, asked), 8);
        assert_eq!(Portion::most(DEEP).at(at, asked), 32);
    }
}
