//! Wake-up latency: how late this machine wakes threads that sleep.

use crate::clock::{now, sharpen_timers};
use loadline_units::Duration;

/// Sleeps that are looked at.
const SLEEPS: usize = 500;
/// How long each is: long enough for an idle processor to go to sleep itself.
const SLEEP: Duration = Duration::from_us(300);

/// How late threads come back from sleep on a machine that is otherwise left alone. A request that is waited for asleep takes as much
/// longer, and an emulated disk's answer leaves as much later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeLatency {
    /// Half come back sooner.
    pub median: Duration,
    /// All but one in a hundred do.
    pub p99: Duration,
}

impl WakeLatency {
    fn of(mut late: Vec<Duration>) -> Option<Self> {
        late.sort_unstable();
        let at = |share: usize| late.get((late.len() * share).div_ceil(100).checked_sub(1)?).copied();
        Some(Self { median: at(50)?, p99: at(99)? })
    }
}

/// Sleeps for a moment, about a fifth of a second in all, on a thread of its own. `None`: the system refuses one.
#[must_use]
pub fn wake_latency() -> Option<WakeLatency> {
    let sleeper = std::thread::Builder::new().name("sleeper".into()).spawn(|| {
        sharpen_timers();
        let late = || {
            let from = now();
            std::thread::sleep(std::time::Duration::from_nanos(SLEEP.as_ns()));
            now().since(from).saturating_sub(SLEEP)
        };
        WakeLatency::of((0..SLEEPS).map(|_| late()).collect())
    });
    sleeper.ok()?.join().ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_all_but_one_in_a_hundred_are_told() {
        let us = Duration::from_us;
        let late = |count: u64| (1..=count).rev().map(us).collect();
        assert_eq!(WakeLatency::of(late(200)), Some(WakeLatency { median: us(100), p99: us(198) }));
        assert_eq!(WakeLatency::of(late(1)), Some(WakeLatency { median: us(1), p99: us(1) }));
        assert_eq!(WakeLatency::of(Vec::new()), None);
    }

    #[test]
    fn it_is_measured_where_threads_can_be_had() {
        let seen = wake_latency().unwrap();
        assert!(seen.median <= seen.p99);
    }
}
