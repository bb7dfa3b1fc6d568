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
    /// A free place is taken at once.
    Closed { free: u32, freed_at: Instant },
    /// Places become free with a delay, or requests are spaced.
    Paced { ready: VecDeque<Instant>, think_time: Duration, spacing: Option<Spacing> },
    /// `index`-th arrival of the whole load is at `start + index / rate`; a thread takes every `threads`-th.
    Constant { start: Instant, rate: Iops, index: u64, step: u64, due_at: Instant },
    /// Gaps are exponential; fractions of a nanosecond are kept so that the mean rate is exact.
    Poisson { random: Xoshiro256PlusPlus, mean_gap_ns: f64, exact_ns: f64, start: Instant, due_at: Instant },
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
                Self::Closed { free: queue_depth, freed_at: start }
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
            Self::Closed { free: 0, .. } => Due::Blocked,
            Self::Closed { free, .. } => {
                *free -= 1;
                Due::Now(now)
            }
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

    /// A place for a request that the arrivals did not count, such as a flush.
    pub(super) fn take_extra(&mut self, now: Instant) -> Due {
        match self {
            Self::Closed { .. } => self.take(now),
            Self::Paced { ready, .. } => match ready.front() {
                None => Due::Blocked,
                Some(&free_at) if free_at > now => Due::At(free_at),
                Some(_) => {
                    ready.pop_front();
                    Due::Now(now)
                }
            },
            Self::Constant { .. } | Self::Poisson { .. } => Due::Now(now),
        }
    }

    /// When a place in a closed loop last became free.
    pub(super) const fn freed_at(&self) -> Instant {
        match self {
            Self::Closed { freed_at, .. } => *freed_at,
            _ => Instant::ZERO,
        }
    }

    #[inline]
    pub(super) fn complete(&mut self, now: Instant) {
        match self {
            Self::Closed { free, freed_at } => {
                *free += 1;
                *freed_at = now;
            }
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
            Self::Closed { .. } | Self::Paced { .. } => {}
        }
    }
}
