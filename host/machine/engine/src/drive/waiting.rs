//! How a load thread waits for answers, and how many requests it hands over before it does.
//!
//! One of four ways each turn: it leaves its processor to the backend's workers, polls, sleeps until an answer comes, or sleeps until
//! the next request is due. [`HybridPoll`] and [`TimedSleep`] decide between them by the outcome of earlier turns.

#![expect(clippy::inline_always, reason = "a return after a sleep costs more than it does: see `raw_call`")]

use super::hybrid_poll::{HybridPoll, POLL_MAX, WaitOutcome};
use super::ledger::Log;
use super::timed_sleep::TimedSleep;
use crate::backend::{BATCH_MAX, Backend, SLICE};
use loadline_kernel::clock::{self, TscClock};
use loadline_units::{Duration, Instant};
use std::io;

/// Workers of the backend carry out a queue in less than this. A longer absence means that another program has the processor.
const YIELD_MAX: Duration = Duration::from_ms(1);
/// After another program took the processor, the thread keeps it for this many times as long.
const KEEP_TIMES: u64 = 16;

/// A load thread's waiting. Its clock is the thread's.
#[derive(Debug)]
pub(super) struct Waiting {
    polling: HybridPoll,
    sleep: TimedSleep,
    pub(super) clock: TscClock,
    open_loop: bool,
    /// The backend's workers share this thread's processor, and are given way.
    yields: bool,
    /// Until when they are not.
    keeps_until: Instant,
    /// Requests of a batch, unless sleep does as well as polling.
    batch_usual: u32,
    /// How the turn that goes on waited.
    waited: WaitOutcome,
}

/// What was issued in a turn, before the thread waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Issued {
    /// When the turn began.
    pub(super) now: Instant,
    /// Requests that were queued.
    pub(super) count: u32,
    /// The batch is full, and there is more to issue: the thread does not wait.
    pub(super) more: bool,
    /// When the next request is due, where that is known.
    pub(super) next_at: Option<Instant>,
}

impl Waiting {
    /// Of a thread that decides by `polling` and `sleep`.
    pub(super) fn new(polling: HybridPoll, sleep: TimedSleep, open_loop: bool) -> Self {
        Self {
            polling,
            sleep,
            clock: TscClock::start(),
            open_loop,
            yields: false,
            keeps_until: Instant::ZERO,
            batch_usual: BATCH_MAX,
            waited: WaitOutcome::Asleep,
        }
    }

    /// Fits it to `backend` and a queue of `slots` requests.
    pub(super) fn begin<B: Backend>(&mut self, backend: &B, slots: u32) {
        self.batch_usual = backend.batch_max(slots);
        // An open loop may have to issue before the workers are through, and with a depth of 1 there is nothing to gather.
        self.yields = backend.has_workers() && !self.open_loop && slots > 1;
    }

    /// Requests to hand over at once. Where polling brings nothing, the answering side waits for this thread's processor, or the device
    /// takes far longer than a call: a larger batch delays nobody, and fewer calls wake it less often.
    #[inline]
    pub(super) const fn batch(&self) -> u32 {
        if self.polling.prefers_sleep() { BATCH_MAX } else { self.batch_usual }
    }

    /// Hands over what was issued, and waits for an answer, but no longer than until the next request is due.
    ///
    /// # Errors
    /// The kernel takes no requests.
    #[inline(always)]
    pub(super) fn wait<B: Backend>(&mut self, backend: &mut B, issued: Issued, log: &mut Log) -> io::Result<()> {
        let Issued { now, count, more, next_at } = issued;
        if self.open_loop && count > 0 {
            self.sleep.issued(now);
        }
        let span = match next_at {
            _ if more => None,
            None => Some(SLICE),
            Some(at) => self.sleep.span_before(at, now).map(|span| span.min(SLICE)),
        };
        let only_waits = next_at.is_none() && !more;
        self.waited = WaitOutcome::Asleep;
        if self.yields && count > 0 && only_waits && now >= self.keeps_until {
            if self.give_way(backend, log)? { Ok(()) } else { backend.submit_and_wait(span) }
        } else if only_waits && self.polling.polls_at(now, clock::thread_time, |span| log.waited_awake(span)) {
            self.poll(backend, now)
        } else {
            if span.is_none() {
                self.waited = WaitOutcome::NotAtAll;
            }
            backend.submit_and_wait(span)
        }
    }

    /// A turn took `span` and brought so many answers; `outstanding` requests are still in flight.
    #[inline]
    pub(super) fn turned(&mut self, issued: Issued, span: Duration, answers: u32, outstanding: u32, log: &mut Log) {
        if outstanding == 0 {
            self.sleep.answered();
        }
        self.polling.turned(span, answers, self.waited);
        if self.waited == WaitOutcome::NotAtAll && issued.count == 0 && answers == 0 {
            if outstanding > 0 {
                // The answer may be queued behind this thread: at a kernel thread, or a server on this machine.
                std::thread::yield_now();
            }
            log.spun(span);
        }
    }

    /// The load is over.
    pub(super) fn end(&mut self, log: &mut Log) {
        log.waited_awake(self.polling.ends(clock::thread_time));
    }

    /// Hands over, and lets the workers that share this processor go first, once: they carry out what they have. Otherwise each answer
    /// would wake this thread and take the processor from them. Returns whether there are answers to collect.
    fn give_way<B: Backend>(&mut self, backend: &mut B, log: &mut Log) -> io::Result<bool> {
        backend.submit_and_wait(None)?;
        if !backend.is_answered() {
            let from = self.clock.now();
            std::thread::yield_now();
            let back = self.clock.now();
            log.gave_way(back.since(from));
            if back.since(from) > YIELD_MAX {
                self.keeps_until = back + Duration::from_ns(KEEP_TIMES * back.since(from).as_ns());
            }
        }
        Ok(backend.is_answered())
    }

    /// Hands over, and polls for answers for a while from `now` on, then sleeps.
    #[inline(always)]
    fn poll<B: Backend>(&mut self, backend: &mut B, now: Instant) -> io::Result<()> {
        if self.polling.is_measured() {
            return self.poll_measured(backend, now);
        }
        self.waited = WaitOutcome::Polling;
        backend.submit_and_wait(Some(clock::SLEEP_MIN))?;
        while !backend.is_answered() {
            let at = self.clock.now();
            if at.since(now) >= POLL_MAX {
                backend.submit_and_wait(Some(SLICE))?;
                self.polling.polled_in_vain(self.clock.now().since(at));
                break;
            }
            backend.submit_and_wait(Some(clock::SLEEP_MIN))?;
        }
        Ok(())
    }

    /// The same, with a system call and a reading of the clock for each part. Collecting answers is work, as handing over is.
    fn poll_measured<B: Backend>(&mut self, backend: &mut B, now: Instant) -> io::Result<()> {
        backend.submit_and_wait(None)?;
        let from = self.clock.now();
        let mut at = from;
        while !backend.is_announced() {
            if at.since(now) >= POLL_MAX {
                backend.submit_and_wait(Some(SLICE))?;
                let slept = self.clock.now().since(at);
                self.polling.polled_in_vain(slept);
                self.waited = WaitOutcome::PollingFor(at.since(from) + slept);
                return Ok(());
            }
            clock::sleep_min();
            at = self.clock.now();
        }
        backend.submit_and_wait(None)?;
        self.waited = WaitOutcome::PollingFor(at.since(from));
        Ok(())
    }
}
