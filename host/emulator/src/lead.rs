//! How long before a long read ends its bytes begin to leave.

use loadline_units::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What copying takes from memory that no cache holds, about.
const COPY_NS_PER_KIB: u64 = 200;
/// What is added for threads to wake at either end, ns: what was seen of it decides.
const MORE_MAX: u64 = 500_000;
/// What each read changes of that, ns: nine in ten are to be in time.
const LONGER: u64 = 9_000;
const SHORTER: u64 = 1_000;
/// No earlier in all: what else ends for the client meanwhile has to wait.
const MOST: Duration = Duration::from_ms(1);

/// The time for which bytes leave ahead, by what it took lately. What comes too early waits with the client, which does not see
/// it before the last byte.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    more: AtomicU64,
    used: AtomicBool,
}

impl Lead {
    /// For a read of so many bytes.
    #[inline]
    pub(crate) fn of(&self, length: u64) -> Duration {
        let copying = length.saturating_mul(COPY_NS_PER_KIB) / 1024;
        Duration::from_ns(copying.saturating_add(self.more.load(Ordering::Relaxed))).min(MOST)
    }

    /// Bytes of a read begin to leave.
    pub(crate) fn begin(&self) {
        if !self.is_used() {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether bytes left ahead at all: they are for the sockets to hold until their client takes them.
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// When a read ended, all bytes but the last were handed over already, or were not.
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
            let lead = Lead::default();
            let mut in_time = 0;
            for read in 0..4_000_u64 {
                // It takes up to a half more.
                let takes = needed + Duration::from_ns(needed.as_ns() * (read * 7_919 % 100) / 200);
                let enough = lead.of(256 << 10) >= takes;
                lead.learn(enough);
                in_time += u32::from(enough && read >= 1_000);
            }
            assert!((2_550..2_850).contains(&in_time), "{needed}: {in_time} of 3,000");
        }
    }

    #[test]
    fn bytes_never_leave_long_before_the_end() {
        let lead = Lead::default();
        (0..1_000).for_each(|_| lead.learn(false));
        assert_eq!((lead.of(64 << 20), lead.of(u64::MAX)), (MOST, MOST));
        assert!(lead.of(64 << 10) < Duration::from_us(600));
    }
}
