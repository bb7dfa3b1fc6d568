//! How the thread of a connection gets on with a client that asks again as soon as it is answered.

use crate::clock::Clock;
use loadline_units::Duration;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests handed over together for a client that shares the processor with its server: it does not run before all of them are
/// answered, and fewer would only wake it more often.
const TOGETHER: usize = 64;
/// And for one that runs beside it, which takes answers while the next ones are made. Fewer would wake it more often.
const BESIDE: usize = 8;
/// Bytes that the socket of a client is asked to hold that shares the processor: with more, what it is sent would have left the processor's
/// caches when it comes to it.
const ROOM_SHARED: usize = 208 << 10;
/// And of one beside: its server goes on making long answers until it is awake.
const ROOM_BESIDE: usize = 1 << 20;
/// So many more times the one was seen than the other counts at most.
const SEEN_MAX: u8 = 8;
/// A client beside is waited for awake for so long: sleeping and being woken take that much, or several times that on a virtual machine.
const AWAKE: Duration = Duration::from_us(20);
/// Pauses of the processor between two looks at the socket.
const PAUSES: usize = 16;
/// After a wait in vain so many are left out at most, where the client would have been waited for.
const LEFT_OUT_MAX: u32 = 64;

/// What was seen of a client, and what follows from it.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Beyond half of [`SEEN_MAX`]: it shares the processor with its server.
    shares: u8,
    /// Waits that are left out now.
    left_out: u32,
    /// And after the next one in vain.
    left_out_next: u32,
}

impl Pace {
    /// Nothing was seen yet.
    pub(crate) const fn new() -> Self {
        Self { shares: SEEN_MAX / 2, left_out: 0, left_out_next: 1 }
    }

    /// Whether the client seems to share the processor with its server.
    pub(crate) const fn shares(&self) -> bool {
        self.shares > SEEN_MAX / 2
    }

    /// Requests that are handed over together.
    pub(crate) const fn turn_max(&self) -> usize {
        if self.shares() { TOGETHER } else { BESIDE }
    }

    /// Bytes that the client's socket is asked to hold (the kernel doubles it). `ahead`: bytes are sent before they are due.
    pub(crate) const fn room(&self, ahead: bool) -> usize {
        if self.shares() && !ahead { ROOM_SHARED } else { ROOM_BESIDE }
    }

    /// Has `look` receive what a client sends that was just answered, or is in the middle of a write. `likely`: it waits for no other answer, so that it
    /// goes on now or not for long.
    ///
    /// Before the thread would sleep, others have their turn on the processor, once: a client that was waiting for it has gone
    /// on by then, and need not wake anybody. One that runs on another processor is waited for awake for a moment, as long as
    /// that is mostly not in vain, by one thread at a time: no more processors than one are kept awake.
    pub(crate) fn receive<T>(
        &mut self,
        likely: bool,
        clock: Clock,
        awake: &AtomicBool,
        mut look: impl FnMut(RecvFlags) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match look(RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) => {}
            received => return received,
        }
        std::thread::yield_now();
        match look(RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) => self.gave_way(false),
            received => {
                self.gave_way(true);
                return received;
            }
        }
        if likely && self.waits_awake() && !awake.swap(true, Ordering::Acquire) {
            let received = self.wait_awake(clock, || look(RecvFlags::DONTWAIT));
            awake.store(false, Ordering::Release);
            if let Some(received) = received {
                return received;
            }
        }
        look(RecvFlags::empty())
    }

    /// Looks for a while; `None`: in vain.
    fn wait_awake<T>(&mut self, clock: Clock, mut look: impl FnMut() -> Result<T, Errno>) -> Option<Result<T, Errno>> {
        let until = clock.now() + AWAKE;
        while clock.now() < until {
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
            match look() {
                Err(Errno::AGAIN) => {}
                received => {
                    self.waited(true);
                    return Some(received);
                }
            }
        }
        self.waited(false);
        None
    }

    /// Others had their turn, after which the client had asked or not.
    const fn gave_way(&mut self, asked: bool) {
        if !asked {
            self.shares = self.shares.saturating_sub(1);
        } else if self.shares < SEEN_MAX {
            self.shares += 1;
        }
    }

    /// Whether the client is waited for awake this time.
    const fn waits_awake(&mut self) -> bool {
        let waits = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        waits
    }

    /// The client was waited for, after which it had asked or not.
    fn waited(&mut self, asked: bool) {
        if asked {
            self.left_out_next = 1;
        } else {
            self.left_out = self.left_out_next;
            self.left_out_next = (self.left_out_next * 2).min(LEFT_OUT_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_long_for_who_was_mostly_seen_to_share_the_processor() {
        let mut pace = Pace::new();
        assert_eq!(pace.turn_max(), BESIDE);
        (0..3).for_each(|_| pace.gave_way(true));
        assert_eq!(pace.turn_max(), TOGETHER);
        // Once is no habit, but often is, however long it was otherwise.
        (0..100).for_each(|_| pace.gave_way(true));
        pace.gave_way(false);
        assert_eq!(pace.turn_max(), TOGETHER);
        (0..SEEN_MAX).for_each(|_| pace.gave_way(false));
        assert_eq!(pace.turn_max(), BESIDE);
    }

    #[test]
    fn who_lets_its_server_wait_in_vain_is_waited_for_ever_more_seldom() {
        let mut pace = Pace::new();
        let mut awake = 0;
        for _ in 0..10_000 {
            if pace.waits_awake() {
                awake += 1;
                pace.waited(false);
            }
        }
        // 1 + 2 + 4 + … + 64 left out, then 64 after each.
        assert_eq!(awake, 7 + (10_000 - 127 - 7_u32).div_ceil(LEFT_OUT_MAX + 1));
        // It comes again: every time, from the next one on.
        while !pace.waits_awake() {}
        pace.waited(true);
        assert!((0..100).all(|_| pace.waits_awake()));
    }
}
