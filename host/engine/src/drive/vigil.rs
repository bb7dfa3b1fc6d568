//! When a load thread waits awake: where answers come sooner than a thread that sleeps is woken.

use crate::clock::Readiness;
use loadline_units::{Duration, Instant};

/// A thread waits awake for this long at most before it sleeps after all: as long as waking a sleeping processor takes on a
/// virtual machine. Whoever waits awake no longer than that loses no more than sleep would have cost.
pub(super) const AWAKE_MAX: Duration = Duration::from_us(60);
/// Whether it does good to wait awake is asked after this long for the first time.
const FIRST_STRETCH: Duration = Duration::from_ms(1);
/// And after this long again, while it does good.
const STRETCH: Duration = Duration::from_ms(10);
/// After it did no good, the thread sleeps for this long at first,
const REST_LEAST: Duration = Duration::from_ms(16);
/// and for this long at most, before it tries again.
const REST_MOST: Duration = Duration::from_s(1);
/// Of so many waits one may be in vain.
const VAIN_OF: u32 = 4;
/// So many waits in vain end a stretch early, where the others were too few.
const VAIN_MIN: u32 = 8;
/// Of so many parts of the time one may be spent in the queue for the processor: beyond, others need it.
const QUEUED_OF: u64 = 8;

/// A stretch of time in which the thread waits awake.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: Instant,
    ready: Readiness,
    /// Spent waiting awake.
    waited: Duration,
    /// Spent asleep, after waiting awake in vain.
    slept: Duration,
    waits: u32,
    vain: u32,
}

/// Decides between waiting awake and sleeping, by what came of it lately.
#[derive(Debug)]
pub(super) struct Vigil {
    stretch: Option<Stretch>,
    length: Duration,
    rest: Duration,
    rests_until: Instant,
}

impl Vigil {
    /// For a thread that may wait awake, or one that always sleeps.
    pub(super) const fn new(allowed: bool) -> Self {
        let rests_until = if allowed { Instant::ZERO } else { Instant::MAX };
        Self { stretch: None, length: FIRST_STRETCH, rest: REST_LEAST, rests_until }
    }

    /// Whether to wait awake at `now`. A stretch that is over is judged by what `readiness` tells; `slept` is given the part of its waiting
    /// for which the thread was not ready to run after all.
    #[inline]
    pub(super) fn stands(
        &mut self,
        now: Instant,
        readiness: impl FnOnce() -> Option<Readiness>,
        slept: impl FnOnce(Duration),
    ) -> bool {
        match &self.stretch {
            None if now < self.rests_until => false,
            Some(stretch) if !stretch.is_over(now, self.length) => true,
            _ => self.judge(now, readiness(), slept),
        }
    }

    #[cold]
    #[inline(never)]
    fn judge(&mut self, now: Instant, ready: Option<Readiness>, slept: impl FnOnce(Duration)) -> bool {
        let Some(ready) = ready else {
            // Without knowing who else needs the processor it is not held.
            (self.stretch, self.rests_until) = (None, Instant::MAX);
            return false;
        };
        if let Some(stretch) = self.stretch.take() {
            slept(stretch.not_ready(now, ready));
            if !stretch.did_good(now, ready) {
                self.rests_until = now + self.rest;
                self.rest = (self.rest + self.rest).min(REST_MOST);
                self.length = FIRST_STRETCH;
                return false;
            }
            (self.length, self.rest) = (STRETCH, REST_LEAST);
        }
        self.stretch =
            Some(Stretch { from: now, ready, waited: Duration::ZERO, slept: Duration::ZERO, waits: 0, vain: 0 });
        true
    }

    /// The thread waited awake for `span`, until it was answered.
    #[inline]
    pub(super) fn waited(&mut self, span: Duration) {
        if let Some(stretch) = &mut self.stretch {
            stretch.waits += 1;
            stretch.waited = stretch.waited + span;
        }
    }

    /// The thread waited awake for `span` in vain, and then slept for `slept`.
    pub(super) fn waited_in_vain(&mut self, span: Duration, slept: Duration) {
        self.waited(span);
        if let Some(stretch) = &mut self.stretch {
            stretch.vain += 1;
            stretch.slept = stretch.slept + slept;
        }
    }
}

impl Stretch {
    #[inline]
    fn is_over(&self, now: Instant, length: Duration) -> bool {
        now.since(self.from) >= length || (self.vain >= VAIN_MIN && self.is_in_vain())
    }
    const fn is_in_vain(&self) -> bool {
        self.vain.saturating_mul(VAIN_OF) > self.waits
    }
    fn did_good(&self, now: Instant, ready: Readiness) -> bool {
        let queued = ready.queued.saturating_sub(self.ready.queued);
        !self.is_in_vain() && queued.as_ns().saturating_mul(QUEUED_OF) <= now.since(self.from).as_ns()
    }
    /// How much of the time spent waiting awake the thread was neither running nor queued for the processor: the kernel took the wait
    /// for a short sleep.
    fn not_ready(&self, now: Instant, ready: Readiness) -> Duration {
        let worked = now.since(self.from).saturating_sub(self.waited).saturating_sub(self.slept);
        let was_ready = ready.total().saturating_sub(self.ready.total());
        self.waited.saturating_sub(was_ready.saturating_sub(worked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that waits awake for `wait`, in vain or not, works for 2 us, and is in the queue for `queued` of each turn.
    struct Thread {
        vigil: Vigil,
        now: Instant,
        ready: Readiness,
        wait: Duration,
        in_vain: bool,
        queued: Duration,
        awake: u64,
        turns: u64,
        slept: Duration,
    }

    impl Thread {
        fn new(wait: Duration, in_vain: bool, queued: Duration) -> Self {
            let ready = Readiness { running: Duration::ZERO, queued: Duration::ZERO };
            let (vigil, now) = (Vigil::new(true), Instant::from_ns(1_000_000));
            Self { vigil, now, ready, wait, in_vain, queued, awake: 0, turns: 0, slept: Duration::ZERO }
        }
        fn run(&mut self, span: Duration) -> f64 {
            (self.awake, self.turns) = (0, 0);
            let until = self.now + span;
            while self.now < until {
                self.turns += 1;
                let work = Duration::from_us(2);
                self.now = self.now + work;
                self.ready.running = self.ready.running + work;
                let (ready, slept) = (self.ready, &mut self.slept);
                if self.vigil.stands(self.now, || Some(ready), |span| *slept = *slept + span) {
                    self.awake += 1;
                    self.now = self.now + self.wait;
                    self.ready.running = self.ready.running + self.wait.saturating_sub(self.queued);
                    self.ready.queued = self.ready.queued + self.queued;
                    if self.in_vain {
                        let asleep = Duration::from_us(100);
                        self.now = self.now + asleep;
                        self.vigil.waited_in_vain(self.wait, asleep);
                    } else {
                        self.vigil.waited(self.wait);
                    }
                } else {
                    self.now = self.now + self.wait + Duration::from_us(20);
                }
            }
            self.awake as f64 / self.turns as f64
        }
    }

    #[test]
    fn a_thread_whose_answers_come_soon_stays_awake() {
        let mut thread = Thread::new(Duration::from_us(10), false, Duration::ZERO);
        assert!(thread.run(Duration::from_s(1)) > 0.999);
        assert_eq!(thread.slept, Duration::ZERO);
    }

    #[test]
    fn a_thread_whose_answers_come_late_sleeps_and_tries_again_ever_more_seldom() {
        let mut thread = Thread::new(AWAKE_MAX, true, Duration::ZERO);
        assert!(thread.run(Duration::from_s(2)) < 0.01);
        thread.run(Duration::from_s(10));
        assert!((1..=10 * u64::from(VAIN_MIN + 1)).contains(&thread.awake), "{}", thread.awake);
        // The device becomes fast.
        (thread.wait, thread.in_vain) = (Duration::from_us(5), false);
        thread.run(REST_MOST);
        assert!(thread.run(Duration::from_s(1)) > 0.999);
    }

    #[test]
    fn a_processor_that_others_need_is_left_to_them() {
        let mut thread = Thread::new(Duration::from_us(10), false, Duration::from_us(4));
        assert!(thread.run(Duration::from_s(4)) < 0.01);
        thread.queued = Duration::ZERO;
        thread.run(REST_MOST);
        assert!(thread.run(Duration::from_s(1)) > 0.999);
    }

    #[test]
    fn where_the_kernel_does_not_tell_who_is_queued_a_thread_sleeps() {
        let mut vigil = Vigil::new(true);
        assert!(!vigil.stands(Instant::from_ns(5), || None, |_| {}));
        assert!(!vigil.stands(Instant::from_ns(u64::MAX - 1), || panic!("it was told once"), |_| {}));
    }

    #[test]
    fn a_thread_that_is_not_to_wait_awake_never_does() {
        let mut vigil = Vigil::new(false);
        assert!(!vigil.stands(Instant::from_ns(5), || panic!("nobody asks"), |_| {}));
    }

    #[test]
    fn waiting_that_the_kernel_took_for_sleep_is_told() {
        let mut vigil = Vigil::new(true);
        let at = |us: u64| Instant::from_ns(us * 1_000);
        let running = |us| Some(Readiness { running: Duration::from_us(us), queued: Duration::ZERO });
        assert!(vigil.stands(at(1), || running(0), |_| {}));
        // Of 1,000 us the thread waited 800 and slept 100; it was running for 500, of which 100 were its work.
        vigil.waited(Duration::from_us(700));
        for _ in 0..8 {
            vigil.waited(Duration::ZERO);
        }
        vigil.waited_in_vain(Duration::from_us(100), Duration::from_us(100));
        let mut slept = Duration::ZERO;
        assert!(vigil.stands(at(1_001), || running(500), |span| slept = span));
        assert_eq!(slept, Duration::from_us(400));
    }
}
