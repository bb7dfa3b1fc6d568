//! Timed sleeps of an open loop: when a load thread sleeps until the next request is due, and for how long.
//!
//! A sleep that ends by itself needs a timer. Setting it, and putting it off where an answer comes first, take a virtual machine as long as a quick device
//! takes to answer, and an answer that comes meanwhile waits.

use super::hybrid_poll::POLL_MAX;
use loadline_units::{Duration, Instant};

/// After an answer was waited for awake in vain so many requests are not waited for so, at most.
const LEFT_OUT_MAX: u32 = 64;

/// How a thread sleeps.
#[derive(Debug)]
pub(super) struct TimedSleep {
    /// The last of the time before something is due is spent awake: a thread that sleeps wakes too late.
    awake: Duration,
    /// Shorter sleeps are left out: the thread stays awake.
    least: Duration,
    /// Answers are waited for awake for so long.
    patience: Duration,
    /// Until when they are, now.
    stays_until: Instant,
    /// The last request was not answered so far, nor waited for in vain.
    expects: bool,
    /// Requests that are not waited for awake, now,
    left_out: u32,
    /// and after the next one in vain.
    left_out_next: u32,
}

impl TimedSleep {
    /// Of a thread that may wait awake: it does not sleep for less than waking it takes, nor before an answer that comes sooner.
    pub(super) const fn adaptive() -> Self {
        Self { patience: POLL_MAX, ..Self::new(Duration::from_us(80), POLL_MAX) }
    }

    /// Of a thread that is to sleep while it waits, as applications do: for as long as lets it mostly be back in time.
    pub(super) const fn asleep() -> Self {
        Self::new(Duration::from_us(40), Duration::from_us(40))
    }

    const fn new(awake: Duration, least: Duration) -> Self {
        let (patience, stays_until) = (Duration::ZERO, Instant::ZERO);
        Self { awake, least, patience, stays_until, expects: false, left_out: 0, left_out_next: 1 }
    }

    /// Requests were handed over at `now`.
    #[inline]
    pub(super) fn issued(&mut self, now: Instant) {
        if self.left_out > 0 {
            self.left_out -= 1;
        } else if self.patience > Duration::ZERO {
            (self.stays_until, self.expects) = (now + self.patience, true);
        }
    }

    /// All that was under way was answered.
    #[inline]
    pub(super) const fn answered(&mut self) {
        self.stays_until = Instant::ZERO;
        if self.expects {
            (self.expects, self.left_out_next) = (false, 1);
        }
    }

    /// For how long to sleep at `now` for a request due at `at`; `None`: not at all.
    #[inline]
    pub(super) fn span_before(&mut self, at: Instant, now: Instant) -> Option<Duration> {
        if now < self.stays_until {
            return None;
        }
        if self.expects {
            (self.expects, self.left_out) = (false, self.left_out_next);
            self.left_out_next = (self.left_out_next * 2).min(LEFT_OUT_MAX);
        }
        Some(at.since(now).saturating_sub(self.awake)).filter(|span| *span >= self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_ns(7_000_000);

    fn us(us: u64) -> Duration {
        Duration::from_us(us)
    }

    #[test]
    fn nobody_sleeps_for_less_than_it_is_worth_or_into_what_is_due() {
        let span = |mut sleep: TimedSleep, ahead: u64| sleep.span_before(NOW + us(ahead), NOW);
        for (ahead, adaptive, asleep) in [
            (0, None, None),
            (79, None, None),
            (80, None, Some(us(40))),
            (94, None, Some(us(54))),
            (139, None, Some(us(99))),
            (140, Some(us(60)), Some(us(100))),
            (50_000, Some(us(49_920)), Some(us(49_960))),
        ] {
            assert_eq!(
                (span(TimedSleep::adaptive(), ahead), span(TimedSleep::asleep(), ahead)),
                (adaptive, asleep),
                "{ahead} us"
            );
        }
        assert_eq!(TimedSleep::adaptive().span_before(Instant::ZERO, NOW), None);
    }

    /// Requests one at a time, a millisecond apart, answered after `latency`: how many of them the thread waited for awake.
    fn awake(sleep: &mut TimedSleep, requests: u64, latency: Duration) -> u64 {
        (0..requests)
            .filter(|number| {
                let at = NOW + us(1_000 * number);
                let next = at + us(1_000);
                sleep.issued(at);
                let stays = sleep.span_before(next, at).is_none();
                if latency >= POLL_MAX {
                    assert!(sleep.span_before(next, at + POLL_MAX).is_some(), "it sleeps after all");
                }
                sleep.answered();
                assert!(sleep.span_before(next, at + latency).is_some(), "it sleeps once it is answered");
                stays
            })
            .count() as u64
    }

    #[test]
    fn answers_that_come_soon_are_waited_for_awake_and_others_ever_more_seldom() {
        let mut sleep = TimedSleep::adaptive();
        assert_eq!(awake(&mut sleep, 1_000, us(59)), 1_000);
        // 1 + 2 + 4 + … + 64 left out, then 64 after each.
        assert_eq!(awake(&mut sleep, 10_000, us(61)), 7 + (10_000_u64 - 127 - 7).div_ceil(65));
        // They come soon again: every time, from the next one on.
        assert!(awake(&mut sleep, 65, us(59)) >= 1);
        assert_eq!(awake(&mut sleep, 1_000, us(59)), 1_000);
        // Who is to sleep does.
        assert_eq!(awake(&mut TimedSleep::asleep(), 1_000, us(5)), 0);
    }
}
