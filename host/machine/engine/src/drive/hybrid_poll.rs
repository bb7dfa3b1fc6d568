//! Hybrid polling: a load thread polls for answers for a while before it sleeps, if that brings more answers than sleep.
//!
//! It does where being woken takes long and answers come soon. Both ways are sampled: 20 ms asleep, 20 ms polling. Polling goes on
//! while it brings a tenth more answers, and stops at once when polls are in vain or other threads need the processor.

use loadline_kernel::clock::ThreadTime;
use loadline_units::{Duration, Instant};

/// A thread polls for this long at most before it sleeps after all: as long as waking a sleeping processor takes on a
/// virtual machine. A thread that polls no longer than that loses no more than sleep would have cost.
pub(super) const POLL_MAX: Duration = Duration::from_us(60);
/// Where a request takes longer than this, the queue is so deep that it does not run empty while the thread is woken.
const LATENCY_MAX: Duration = Duration::from_us(4 * 60);
/// Where answers are farther apart than this, sleep lets the scheduler put who answers on the thread's own processor, where that is far
/// quicker than anything on two, but it does so for some milliseconds only, and seldom enough for samples to miss it. A thread that is
/// held on one processor leaves it no choice.
const APART_MAX: Duration = Duration::from_us(20);
/// Answers are counted for this long asleep, and then as long awake, before the two are compared. Where the scheduler puts a thread and
/// who answers it stays for some milliseconds.
const SAMPLE: Duration = Duration::from_ms(20);
/// Polling must bring a tenth more answers than sleep does: one in 11.
const GAIN_OF: u64 = 11;
/// What speaks against polling at once is looked for after this long for the first time,
const FIRST_STRETCH: Duration = Duration::from_ms(1);
/// and after this long again.
const STRETCH: Duration = Duration::from_ms(10);
/// Awake with success for so long, the thread sleeps for a sample again.
const POLLING_MAX: Duration = Duration::from_s(2);
/// After polling did no good, the thread sleeps for longer and longer, and for this long at most, before it tries again.
const REST_MOST: Duration = Duration::from_s(1);
/// Of so many waits one may be in vain.
const VAIN_OF: u32 = 4;
/// So many waits in vain end a stretch early, where the others were too few.
const VAIN_MIN: u32 = 8;
/// Of so many parts of the time one may be spent in the queue for the processor: beyond, others need it.
const QUEUED_OF: u64 = 8;
/// One of so many turns measures handing over, waiting and collecting separately. That takes a system call and a clock reading for each.
/// The others do all three in one. Not a power of two, with which depths and batches go in step.
const APART_OF: u32 = 31;

/// A stretch of time in which the thread polls.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: Instant,
    ready: ThreadTime,
    /// Turns that polled,
    turns: u32,
    /// and their time.
    turned: Duration,
    /// Turns that measured work and waiting separately,
    told: u32,
    /// and their work.
    worked: Duration,
    /// Spent asleep, after polling in vain.
    slept: Duration,
    vain: u32,
}

/// How a turn waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitOutcome {
    /// Not at all.
    NotAtAll,
    /// Asleep.
    Asleep,
    /// Polling, in one with handing over and collecting.
    Polling,
    /// Polling for this long, measured apart from handing over and collecting.
    PollingFor(Duration),
}

/// Answers since some moment.
#[derive(Debug, Clone, Copy)]
struct Count {
    from: Instant,
    answers: u64,
}

/// Decides between polling and sleeping, by what came of it lately.
#[derive(Debug)]
pub(super) struct HybridPoll {
    /// In the thread's queue.
    places: u32,
    /// The thread may run on one processor only.
    held: bool,
    /// While the thread polls.
    stretch: Option<Stretch>,
    /// Since the thread began to poll, or to sleep.
    count: Count,
    /// Answers asleep, and the time they took, of the last time the thread slept.
    asleep: (u64, Duration),
    /// Polling was found to bring more.
    proven: bool,
    judge_at: Instant,
    rest: Duration,
}

impl HybridPoll {
    /// For a thread with so many places in its queue, which may poll, and sleeps for a sample from `now` on; on one processor only
    /// if it is `held` there.
    pub(super) const fn new(places: u32, held: bool, now: Instant) -> Self {
        let count = Count { from: now, answers: 0 };
        let judge_at = Instant::from_ns(now.as_ns() + SAMPLE.as_ns());
        Self { places, held, stretch: None, count, asleep: (0, SAMPLE), proven: false, judge_at, rest: SAMPLE }
    }

    /// For a thread that always sleeps.
    pub(super) const fn off() -> Self {
        Self { judge_at: Instant::MAX, ..Self::new(0, false, Instant::ZERO) }
    }

    /// Whether to poll at `now`. A stretch that is over is judged by `readiness`; `waited` is given the part of it that was
    /// spent polling.
    #[inline]
    pub(super) fn polls_at(
        &mut self,
        now: Instant,
        readiness: impl FnOnce() -> Option<ThreadTime>,
        waited: impl FnOnce(Duration),
    ) -> bool {
        let early = self.stretch.as_ref().is_some_and(|stretch| stretch.vain >= VAIN_MIN && stretch.is_in_vain());
        if now < self.judge_at && !early {
            return self.stretch.is_some();
        }
        self.judge(now, readiness(), waited)
    }

    /// Whether sleep was found to bring as much lately, or is being sampled: the answering thread is woken, or scheduled, anyhow.
    #[inline]
    pub(super) const fn prefers_sleep(&self) -> bool {
        self.stretch.is_none() && self.judge_at.as_ns() != Instant::MAX.as_ns()
    }

    /// The load is over: what the last stretch spent polling.
    pub(super) fn ends(&mut self, readiness: impl FnOnce() -> Option<ThreadTime>) -> Duration {
        let waited = |stretch: Stretch| readiness().map(|ready| stretch.polled(ready));
        self.stretch.take().and_then(waited).unwrap_or(Duration::ZERO)
    }

    #[cold]
    #[inline(never)]
    fn judge(&mut self, now: Instant, ready: Option<ThreadTime>, waited: impl FnOnce(Duration)) -> bool {
        let Some(ready) = ready else {
            // Without knowing who else needs the processor it is not held.
            (self.stretch, self.judge_at) = (None, Instant::MAX);
            return false;
        };
        let elapsed = now.since(self.count.from);
        if let Some(stretch) = self.stretch.take() {
            waited(stretch.polled(ready));
            let sampled = elapsed >= SAMPLE;
            if !stretch.did_good(now, ready)
                || self.is_queue_deep(elapsed)
                || (!self.held && self.comes_seldom(elapsed))
                || (sampled && !self.proven && !self.brings_more(elapsed))
            {
                self.sleep(now, self.rest);
                self.rest = (self.rest + self.rest).min(REST_MOST);
                return false;
            }
            if sampled {
                (self.proven, self.rest) = (true, SAMPLE);
            }
            if elapsed >= POLLING_MAX {
                self.sleep(now, SAMPLE);
                return false;
            }
            self.judge_at = now + STRETCH;
        } else {
            self.asleep = (self.count.answers, elapsed);
            self.count = Count { from: now, answers: 0 };
            self.judge_at = now + FIRST_STRETCH;
        }
        self.stretch = Some(Stretch::begin(now, ready));
        true
    }

    fn sleep(&mut self, now: Instant, span: Duration) {
        self.count = Count { from: now, answers: 0 };
        (self.proven, self.judge_at) = (false, now + span);
    }

    /// Places over rate is the time that a request takes.
    fn is_queue_deep(&self, elapsed: Duration) -> bool {
        let latency = elapsed.as_ns().saturating_mul(u64::from(self.places)) / self.count.answers.max(1);
        latency > LATENCY_MAX.as_ns()
    }

    fn comes_seldom(&self, elapsed: Duration) -> bool {
        elapsed.as_ns() / self.count.answers.max(1) > APART_MAX.as_ns()
    }

    fn brings_more(&self, elapsed: Duration) -> bool {
        let (answers, asleep) = self.asleep;
        let with_gain = |answers: u64, of: u64| u128::from(answers) * u128::from(of);
        with_gain(self.count.answers, GAIN_OF - 1) * u128::from(asleep.as_ns())
            >= with_gain(answers, GAIN_OF) * u128::from(elapsed.as_ns())
    }

    /// Whether this turn, in which the thread polls, is to tell handing over, waiting and collecting apart. The first of a stretch
    /// holds its own beginning, and is like no other.
    #[inline]
    pub(super) fn is_measured(&self) -> bool {
        self.stretch.as_ref().is_some_and(|stretch| stretch.turns % APART_OF == 1)
    }

    /// A turn took `span` and brought so many answers.
    #[inline]
    pub(super) fn turned(&mut self, span: Duration, answers: u32, waited: WaitOutcome) {
        self.count.answers += u64::from(answers);
        if matches!(waited, WaitOutcome::Polling | WaitOutcome::PollingFor(_))
            && let Some(stretch) = &mut self.stretch
        {
            stretch.turns += 1;
            stretch.turned = stretch.turned + span;
            if let WaitOutcome::PollingFor(polled) = waited {
                stretch.told += 1;
                stretch.worked = stretch.worked + span.saturating_sub(polled);
            }
        }
    }

    /// The thread polled in vain, and then slept for `slept`.
    pub(super) fn polled_in_vain(&mut self, slept: Duration) {
        if let Some(stretch) = &mut self.stretch {
            stretch.vain += 1;
            stretch.slept = stretch.slept + slept;
        }
    }
}

impl Stretch {
    const fn begin(from: Instant, ready: ThreadTime) -> Self {
        let none = Duration::ZERO;
        Self { from, ready, turns: 0, turned: none, told: 0, worked: none, slept: none, vain: 0 }
    }
    const fn is_in_vain(&self) -> bool {
        self.vain.saturating_mul(VAIN_OF) > self.turns
    }
    fn did_good(&self, now: Instant, ready: ThreadTime) -> bool {
        let queued = ready.queued.saturating_sub(self.ready.queued).as_ns();
        !self.is_in_vain() && queued.saturating_mul(QUEUED_OF) <= now.since(self.from).as_ns()
    }
    /// Spent polling until the kernel reported `ready`: what is left of the time in which the thread was ready to run when each turn
    /// worked as long as the measured ones. If none did, all was work.
    fn polled(&self, ready: ThreadTime) -> Duration {
        let worked = match self.told {
            0 => return Duration::ZERO,
            told => self.worked.as_ns().saturating_mul(u64::from(self.turns)) / u64::from(told),
        };
        let waited = self.turned.saturating_sub(self.slept).as_ns().saturating_sub(worked);
        // What the kernel took for a sleep is no part of it.
        let was_ready = ready.total().saturating_sub(self.ready.total()).as_ns();
        Duration::from_ns(waited.min(was_ready.saturating_sub(worked)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that works for 2 us each turn, then waits for `answers`, 20 us longer if it sleeps.
    struct Thread {
        vigil: HybridPoll,
        now: Instant,
        ready: ThreadTime,
        wait: Duration,
        answers: u32,
        /// What sleeping costs more than polling.
        woken_in: Duration,
        in_vain: bool,
        /// Of each wait, in the queue for the processor.
        queued: Duration,
        awake: u64,
        /// Time reported as spent polling, and the true one.
        told: Duration,
        waited: Duration,
    }

    impl Thread {
        fn new() -> Self {
            let now = Instant::from_ns(1_000_000);
            Self {
                vigil: HybridPoll::new(32, false, now),
                now,
                ready: ThreadTime { running: Duration::ZERO, queued: Duration::ZERO },
                wait: Duration::from_us(10),
                answers: 4,
                woken_in: Duration::from_us(20),
                in_vain: false,
                queued: Duration::ZERO,
                awake: 0,
                told: Duration::ZERO,
                waited: Duration::ZERO,
            }
        }
        /// The share of turns awake within `seconds`.
        fn run(&mut self, seconds: u64) -> f64 {
            self.awake = 0;
            let mut turns = 0_u32;
            let until = self.now + Duration::from_s(seconds);
            while self.now < until {
                turns += 1;
                // The work for each answer differs from turn to turn.
                let work = Duration::from_ns(1_900 + u64::from(turns) * 37 % 200);
                let (from, ready, told) = (self.now, self.ready, &mut self.told);
                let mut wait = WaitOutcome::Asleep;
                let stands = self.vigil.polls_at(from, || Some(ready), |span| *told = *told + span);
                self.now = self.now + work + self.wait;
                self.ready.running = self.ready.running + work;
                if stands {
                    self.awake += 1;
                    wait = if self.vigil.is_measured() {
                        WaitOutcome::PollingFor(self.wait)
                    } else {
                        WaitOutcome::Polling
                    };
                    self.waited = self.waited + self.wait;
                    self.ready.running = self.ready.running + self.wait.saturating_sub(self.queued);
                    self.ready.queued = self.ready.queued + self.queued;
                }
                if !stands || self.in_vain {
                    self.now = self.now + self.woken_in;
                    if stands {
                        self.vigil.polled_in_vain(self.woken_in);
                    }
                }
                self.vigil.turned(self.now.since(from), self.answers, wait);
            }
            self.awake as f64 / f64::from(turns)
        }
        /// The thread sleeps now, nearly always; once `changed`, it keeps polling, but for samples.
        fn wakes_up_once(mut self, changed: impl FnOnce(&mut Self)) {
            let awake = self.run(8);
            assert!(self.vigil.prefers_sleep());
            assert!(awake < 0.05 && self.awake > 0, "{awake}");
            changed(&mut self);
            self.run(2);
            assert!(self.run(4) > 0.98);
        }
    }

    #[test]
    fn a_thread_whose_answers_come_soon_stays_awake() {
        let mut thread = Thread::new();
        assert!(thread.vigil.prefers_sleep(), "it samples sleep first");
        assert!(thread.run(4) > 0.98);
        assert!(!thread.vigil.prefers_sleep());
        // An open stretch is reported when the load ends.
        let ready = thread.ready;
        let told = thread.told + thread.vigil.ends(|| Some(ready));
        let share = told.as_s_f64() / thread.waited.as_s_f64();
        assert!((0.995..1.005).contains(&share), "{share}");
        assert_eq!(thread.vigil.ends(|| panic!("it was told once")), Duration::ZERO);
    }

    #[test]
    fn a_thread_whose_answers_come_late_sleeps_and_tries_again_ever_more_seldom() {
        let mut thread = Thread { wait: POLL_MAX, in_vain: true, answers: 16, ..Thread::new() };
        thread.run(2);
        thread.run(10);
        assert!((1..=10 * u64::from(VAIN_MIN + 1)).contains(&thread.awake), "{}", thread.awake);
        thread.wakes_up_once(|thread| (thread.wait, thread.in_vain) = (Duration::from_us(5), false));
    }

    #[test]
    fn a_thread_whose_queue_is_deep_sleeps() {
        // 32 places, and one answer in 12 us: a request takes 384 us.
        Thread { answers: 1, ..Thread::new() }.wakes_up_once(|thread| thread.answers = 2);
    }

    #[test]
    fn a_thread_whose_answers_are_far_apart_waits_awake_where_it_is_held_only() {
        let far = |held| {
            let thread = Thread::new();
            let vigil = HybridPoll::new(1, held, thread.now);
            Thread { vigil, wait: Duration::from_us(40), answers: 1, ..thread }
        };
        assert!(far(true).run(4) > 0.98);
        far(false).wakes_up_once(|thread| thread.wait = Duration::from_us(10));
    }

    #[test]
    fn a_thread_that_is_woken_at_once_sleeps() {
        Thread { woken_in: Duration::from_us(1), ..Thread::new() }
            .wakes_up_once(|thread| thread.woken_in = Duration::from_us(2));
    }

    #[test]
    fn a_processor_that_others_need_is_left_to_them() {
        Thread { queued: Duration::from_us(4), ..Thread::new() }
            .wakes_up_once(|thread| thread.queued = Duration::from_us(1));
    }

    #[test]
    fn where_the_kernel_does_not_tell_who_is_queued_a_thread_sleeps() {
        let mut vigil = HybridPoll::new(1, true, Instant::ZERO);
        assert!(!vigil.polls_at(Instant::ZERO + SAMPLE, || None, |_| {}));
        assert!(!vigil.polls_at(Instant::from_ns(u64::MAX - 1), || panic!("it was told once"), |_| {}));
    }

    #[test]
    fn a_thread_that_is_not_to_wait_awake_never_does() {
        let mut vigil = HybridPoll::off();
        assert!(!vigil.prefers_sleep(), "whoever always sleeps has not found out that it does as well");
        assert!(!vigil.polls_at(Instant::from_ns(u64::MAX - 1), || panic!("nobody asks"), |_| {}));
    }

    /// A vigil that stands, at that moment.
    fn standing() -> (HybridPoll, Instant) {
        let mut vigil = HybridPoll::new(1, true, Instant::ZERO);
        let from = Instant::ZERO + SAMPLE;
        assert!(vigil.polls_at(from, || Some(running(0)), |_| {}));
        (vigil, from)
    }

    fn running(us: u64) -> ThreadTime {
        ThreadTime { running: Duration::from_us(us), queued: Duration::ZERO }
    }

    #[test]
    fn work_is_told_by_the_turns_that_tell_it_apart_and_the_first_never_does() {
        let (mut vigil, _) = standing();
        let mut apart = 0;
        for turn in 0..2 * APART_OF {
            let tells = vigil.is_measured();
            assert!(turn != 0 || !tells);
            apart += u32::from(tells);
            // Of 50 us each 20 are work.
            let wait = if tells { WaitOutcome::PollingFor(Duration::from_us(30)) } else { WaitOutcome::Polling };
            vigil.turned(Duration::from_us(50), 1, wait);
            // What waited asleep, or not at all, is not among them.
            vigil.turned(Duration::from_ms(1), 1, WaitOutcome::Asleep);
        }
        assert_eq!(apart, 2);
        let turns = u64::from(2 * APART_OF);
        assert_eq!(vigil.ends(|| Some(running(1_000_000))), Duration::from_us(turns * 30));
    }

    #[test]
    fn waiting_that_no_turn_told_apart_is_told_as_work() {
        let (mut vigil, _) = standing();
        vigil.turned(Duration::from_us(50), 1, WaitOutcome::Polling);
        assert_eq!(vigil.ends(|| Some(running(1_000_000))), Duration::ZERO);
    }

    #[test]
    fn waiting_that_the_kernel_took_for_sleep_is_none() {
        let (mut vigil, from) = standing();
        // Of 1,000 us the thread polled for 800 and slept 100; it was running for 500, of which 100 were its work.
        for _ in 0..9 {
            vigil.turned(Duration::from_us(90), 1, WaitOutcome::PollingFor(Duration::from_us(80)));
        }
        vigil.turned(Duration::from_us(190), 1, WaitOutcome::PollingFor(Duration::from_us(180)));
        vigil.polled_in_vain(Duration::from_us(100));
        let mut waited = Duration::ZERO;
        assert!(vigil.polls_at(from + Duration::from_us(1_000), || Some(running(500)), |span| waited = span));
        assert_eq!(waited, Duration::from_us(400));
    }
}
