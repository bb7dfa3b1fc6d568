//! How the thread of a connection receives: batch sizes, socket memory, and hybrid polling, by what it sees of its client.

use crate::clock::Clock;
use loadline_units::Duration;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::sync::atomic::{AtomicBool, Ordering};

/// The batch for a client on the same processor. It does not run before all requests are answered; smaller batches would only wake it
/// more often.
const TOGETHER: usize = 64;
/// The batch for a client on another processor, which takes answers while the next ones are made.
const BESIDE: usize = 8;
/// Bytes in the socket of a client on the same processor. With more, data would have left the processor's caches when the client
/// runs.
const ROOM_SHARED: usize = 208 << 10;
/// Bytes in the socket of a client on another processor: the server fills it while the client wakes.
const ROOM_BESIDE: usize = 1 << 20;
/// The largest balance of observations of the two kinds.
const SEEN_MAX: u8 = 8;
/// How long a client on another processor is polled for. Sleeping and waking take as long, or several times that on a virtual machine.
const AWAKE: Duration = Duration::from_us(20);
/// Pauses of the processor between two looks at the socket.
const PAUSES: usize = 16;
/// The most polls skipped after one in vain.
const SKIPS_MAX: u32 = 64;

/// The policy for one client, by observations of it.
#[derive(Debug)]
pub(crate) struct ReceivePolicy {
    /// More than half of [`SEEN_MAX`]: the client shares the processor.
    shares: u8,
    /// Polls to skip now.
    skips: u32,
    /// Polls to skip after the next one in vain.
    skips_next: u32,
}

impl ReceivePolicy {
    /// Without observations.
    pub(crate) const fn new() -> Self {
        Self { shares: SEEN_MAX / 2, skips: 0, skips_next: 1 }
    }

    /// Whether the client seems to share the processor with its server.
    pub(crate) const fn shares(&self) -> bool {
        self.shares > SEEN_MAX / 2
    }

    /// The most requests of a batch.
    pub(crate) const fn batch_max(&self) -> usize {
        if self.shares() { TOGETHER } else { BESIDE }
    }

    /// Bytes that the client's socket is to hold (the kernel doubles it). `early`: bytes are sent before they are due.
    pub(crate) const fn room(&self, early: bool) -> usize {
        if self.shares() && !early { ROOM_SHARED } else { ROOM_BESIDE }
    }

    /// Receives, by `look`, from a client that was just answered or is in the middle of a write. `likely`: it waits for no other
    /// answer, so it sends now or not for long.
    ///
    /// 1. It looks without waiting.
    /// 2. It yields the processor once. A client that was waiting for the processor has sent by then, and need not wake this thread.
    /// 3. It polls for [`AWAKE`], for a client on another processor, if polling was mostly not in vain. One thread polls at a time
    ///    (`polling`), so that one processor at most is kept busy.
    /// 4. It sleeps.
    pub(crate) fn receive<T>(
        &mut self,
        likely: bool,
        clock: Clock,
        polling: &AtomicBool,
        mut look: impl FnMut(RecvFlags) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match look(RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) => {}
            received => return received,
        }
        std::thread::yield_now();
        match look(RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) => self.yielded(false),
            received => {
                self.yielded(true);
                return received;
            }
        }
        if likely && self.polls() && !polling.swap(true, Ordering::Acquire) {
            let received = self.poll(clock, || look(RecvFlags::DONTWAIT));
            polling.store(false, Ordering::Release);
            if let Some(received) = received {
                return received;
            }
        }
        look(RecvFlags::empty())
    }

    /// Polls; `None`: in vain.
    fn poll<T>(&mut self, clock: Clock, mut look: impl FnMut() -> Result<T, Errno>) -> Option<Result<T, Errno>> {
        let until = clock.now() + AWAKE;
        while clock.now() < until {
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
            match look() {
                Err(Errno::AGAIN) => {}
                received => {
                    self.polled(true);
                    return Some(received);
                }
            }
        }
        self.polled(false);
        None
    }

    /// Learns whether the client had sent after the thread yielded.
    const fn yielded(&mut self, asked: bool) {
        if !asked {
            self.shares = self.shares.saturating_sub(1);
        } else if self.shares < SEEN_MAX {
            self.shares += 1;
        }
    }

    /// Whether to poll this time.
    const fn polls(&mut self) -> bool {
        let waits = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        waits
    }

    /// Learns whether the client sent while the thread polled.
    fn polled(&mut self, asked: bool) {
        if asked {
            self.skips_next = 1;
        } else {
            self.skips = self.skips_next;
            self.skips_next = (self.skips_next * 2).min(SKIPS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_long_for_who_was_mostly_seen_to_share_the_processor() {
        let mut pace = ReceivePolicy::new();
        assert_eq!(pace.batch_max(), BESIDE);
        (0..3).for_each(|_| pace.yielded(true));
        assert_eq!(pace.batch_max(), TOGETHER);
        // Once is no habit, but often is, however long it was otherwise.
        (0..100).for_each(|_| pace.yielded(true));
        pace.yielded(false);
        assert_eq!(pace.batch_max(), TOGETHER);
        (0..SEEN_MAX).for_each(|_| pace.yielded(false));
        assert_eq!(pace.batch_max(), BESIDE);
    }

    #[test]
    fn who_lets_its_server_wait_in_vain_is_waited_for_ever_more_seldom() {
        let mut pace = ReceivePolicy::new();
        let mut awake = 0;
        for _ in 0..10_000 {
            if pace.polls() {
                awake += 1;
                pace.polled(false);
            }
        }
        // 1 + 2 + 4 + … + 64 left out, then 64 after each.
        assert_eq!(awake, 7 + (10_000 - 127 - 7_u32).div_ceil(SKIPS_MAX + 1));
        // It comes again: every time, from the next one on.
        while !pace.polls() {}
        pace.polled(true);
        assert!((0..100).all(|_| pace.polls()));
    }
}
