//! Early send: how long before a long read completes its bytes begin to leave.

use loadline_units::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The time to copy uncached memory, about.
const COPY_NS_PER_KIB: u64 = 200;
/// The most time added for threads to wake at both ends, ns. The time added is learned.
const MORE_MAX: u64 = 500_000;
/// The change of that time by each read, ns: nine in ten are to be in time.
const LONGER: u64 = 9_000;
const SHORTER: u64 = 1_000;
/// The most in all, as other replies of the connection wait meanwhile.
const MOST: Duration = Duration::from_ms(1);

/// The time by which bytes leave early, learned from recent reads. Bytes that arrive too early wait with the client, which does not use
/// them before the last byte.
#[derive(Debug, Default)]
pub(crate) struct EarlySend {
    more: AtomicU64,
    used: AtomicBool,
}

impl EarlySend {
    /// For a read of so many bytes.
    #[inline]
    pub(crate) fn of(&self, length: u64) -> Duration {
        let copying = length.saturating_mul(COPY_NS_PER_KIB) / 1024;
        Duration::from_ns(copying.saturating_add(self.more.load(Ordering::Relaxed))).min(MOST)
    }

    /// Notes that bytes of a read leave early.
    pub(crate) fn begin(&self) {
        if !self.is_used() {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether bytes ever left early: sockets must hold them until their client reads them.
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Learns whether all early bytes of a read had left when it completed.
    pub(crate) fn learn(&self, in_time: bool) {
        let more = self.more.load(Ordering::Relaxed);
        let more = if in_time { more.saturating_sub(SHORTER) } else { more + LONGER };
        self.more.store(more.min(MORE_MAX), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_in_ten_are_in_time_whatever_it_takes() {
        for needed in [Duration::from_us(90), Duration::from_us(200), Duration::from_us(350)] {
            let early_send = EarlySend::default();
            let mut in_time = 0;
            for read in 0..4_000_u64 {
                // It takes up to a half more.
                let takes = needed + Duration::from_ns(needed.as_ns() * (read * 7_919 % 100) / 200);
                let enough = early_send.of(256 << 10) >= takes;
                early_send.learn(enough);
                in_time += u32::from(enough && read >= 1_000);
            }
            assert!((2_550..2_850).contains(&in_time), "{needed}: {in_time} of 3,000");
        }
    }

    #[test]
    fn bytes_never_leave_long_before_the_end() {
        let early_send = EarlySend::default();
        (0..1_000).for_each(|_| early_send.learn(false));
        assert_eq!((early_send.of(64 << 20), early_send.of(u64::MAX)), (MOST, MOST));
        assert!(early_send.of(64 << 10) < Duration::from_us(600));
    }
}
