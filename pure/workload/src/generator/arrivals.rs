//! When requests come: closed loops with depth, rate ceiling and think time; open loops with constant and Poisson arrivals.

use super::Due;
use crate::{Arrival, LoadSpec};
use loadline_units::{Duration, Instant, Iops, NS_PER_S};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;

/// How far a rate ceiling may catch up after it was held back: long enough to hide the caller's own jitter, too short to
/// pass the ceiling noticeably.
const CATCH_UP: Duration = Duration::from_ms(10);

#[derive(Debug, Clone)]
pub(super) enum Arrivals {
    /// A free place is taken at once, that which has been free for longest first.
    Closed(Places),
    /// Places become free with a delay, or requests are spaced.
    Paced { ready: VecDeque<Instant>, think_time: Duration, spacing: Option<Spacing> },
    /// `index`-th arrival of the whole load is at `start + index / rate`; a thread takes every `threads`-th.
    Constant { start: Instant, rate: Iops, index: u64, step: u64, due_at: Instant },
    /// Gaps are exponential; fractions of a nanosecond are kept so that the mean rate is exact.
    Poisson { random: Xoshiro256PlusPlus, mean_gap_ns: f64, exact_ns: f64, start: Instant, due_at: Instant },
}

/// The free places of a closed loop.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// Free since `freed_at`.
    free: u32,
    freed_at: Instant,
    /// Places that became free before those and were not taken yet, the earliest first.
    earlier: VecDeque<(Instant, u32)>,
    begun: bool,
}

impl Places {
    /// Takes one; says since when it was free. `None`: there is none.
    #[inline(always)]
    fn take(&mut self) -> Option<Instant> {
        if !self.earlier.is_empty() {
            return self.take_earlier();
        }
        self.free = self.free.checked_sub(1)?;
        Some(self.freed_at)
    }

    #[cold]
    fn take_earlier(&mut self) -> Option<Instant> {
        let (freed_at, left) = self.earlier.front_mut()?;
        let freed_at = *freed_at;
        *left -= 1;
        if *left == 0 {
            self.earlier.pop_front();
        }
        Some(freed_at)
    }

    #[inline(always)]
    fn give_back(&mut self, now: Instant) {
        if self.freed_at != now {
            if self.free > 0 {
                self.earlier.push_back((self.freed_at, self.free));
            }
            (self.free, self.freed_at) = (0, now);
        }
        self.free += 1;
    }
}

/// A rate ceiling: nanoseconds between requests as `whole + fraction / rate`.
#[derive(Debug, Clone)]
pub(super) struct Spacing {
    allowed_at: Instant,
    gap: Duration,
    rest: u64,
    carried: u64,
    rate: u64,
}

impl Spacing {
    fn new(rate: Iops, thread: u32, threads: u32, start: Instant) -> Self {
        let period = u128::from(NS_PER_S) * u128::from(threads);
        let rate_u128 = u128::from(rate.get());
        Self {
            allowed_at: start + rate.time_of(u64::from(thread)),
            gap: Duration::from_ns(u64::try_from(period / rate_u128).unwrap_or(u64::MAX)),
            rest: u64::try_from(period % rate_u128).expect("a remainder is smaller than its divisor"),
            carried: 0,
            rate: rate.get(),
        }
    }
    fn advance(&mut self, now: Instant) {
        let earliest = Instant::from_ns(now.as_ns().saturating_sub(CATCH_UP.as_ns()));
        self.carried += self.rest;
        let extra = self.carried / self.rate;
        self.carried %= self.rate;
        self.allowed_at = self.allowed_at.max(earliest) + self.gap + Duration::from_ns(extra);
    }
}

impl Arrivals {
    pub(super) fn new(spec: &LoadSpec, thread: u32, seed: u64, start: Instant) -> Self {
        let step = u64::from(spec.threads);
        match spec.arrival {
            Arrival::Closed { queue_depth, rate_max: None, think_time: Duration::ZERO } => {
                Self::Closed(Places { free: queue_depth, freed_at: start, earlier: VecDeque::new(), begun: false })
            }
            Arrival::Closed { queue_depth, rate_max, think_time } => Self::Paced {
                ready: std::iter::repeat_n(start, queue_depth as usize).collect(),
                think_time,
                spacing: rate_max.map(|rate| Spacing::new(rate, thread, spec.threads, start)),
            },
            Arrival::Constant { rate } => {
                let index = u64::from(thread);
                Self::Constant { start, rate, index, step, due_at: start + rate.time_of(index) }
            }
            Arrival::Poisson { rate } => {
                let mut arrivals = Self::Poisson {
                    random: Xoshiro256PlusPlus::seed_from_u64(seed),
                    mean_gap_ns: NS_PER_S as f64 * step as f64 / rate.get() as f64,
                    exact_ns: 0.0,
                    start,
                    due_at: start,
                };
                arrivals.advance();
                arrivals
            }
        }
    }

    #[inline]
    pub(super) fn take(&mut self, now: Instant) -> Due {
        match self {
            Self::Closed(places) => places.take().map_or(Due::Blocked, Due::Now),
            Self::Paced { ready, spacing, .. } => {
                let Some(&free_at) = ready.front() else { return Due::Blocked };
                let due_at = spacing.as_ref().map_or(free_at, |s| s.allowed_at.max(free_at));
                if due_at > now {
                    return Due::At(due_at);
                }
                ready.pop_front();
                if let Some(spacing) = spacing {
                    spacing.advance(now);
                }
                Due::Now(due_at)
            }
            Self::Constant { due_at, .. } | Self::Poisson { due_at, .. } => {
                let at = *due_at;
                if at > now {
                    return Due::At(at);
                }
                self.advance();
                Due::Now(at)
            }
        }
    }

    /// A place for a request that the arrivals did not count, such as a flush; in a closed loop without pacing it was free since the
    /// moment given.
    pub(super) fn take_extra(&mut self, now: Instant) -> Due {
        match self {
            Self::Closed(_) => self.take(now),
            Self::Paced { ready, .. } => match ready.front() {
                None => Due::Blocked,
                Some(&free_at) if free_at > now => Due::At(free_at),
                Some(_) => {
                    ready.pop_front();
                    Due::Now(Instant::ZERO)
                }
            },
            Self::Constant { .. } | Self::Poisson { .. } => Due::Now(Instant::ZERO),
        }
    }

    /// The load begins at `now`, where that is later than planned; it does so once.
    pub(super) fn begin(&mut self, now: Instant) {
        if let Self::Closed(places) = self
            && !std::mem::replace(&mut places.begun, true)
        {
            places.freed_at = places.freed_at.max(now);
        }
    }

    #[inline]
    pub(super) fn complete(&mut self, now: Instant) {
        match self {
            Self::Closed(places) => places.give_back(now),
            Self::Paced { ready, think_time, .. } => ready.push_back(now + *think_time),
            Self::Constant { .. } | Self::Poisson { .. } => {}
        }
    }

    fn advance(&mut self) {
        match self {
            Self::Constant { start, rate, index, step, due_at } => {
                *index += *step;
                *due_at = *start + rate.time_of(*index);
            }
            Self::Poisson { random, mean_gap_ns, exact_ns, start, due_at } => {
                // 53 random bits in (0, 1]: never the logarithm of zero.
                let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                *exact_ns -= libm::log(uniform) * *mean_gap_ns;
                *due_at = *start + Duration::from_ns(*exact_ns as u64);
            }
            Self::Closed(_) | Self::Paced { .. } => {}
        }
    }
}
