//! The rate of our own I/O: as much as the application's latency allows, and never above the caps.
//!
//! It rises by a small share while latency is well below the objective, and halves above it (additive increase and
//! multiplicative decrease, as TCP does). A floor keeps the recovery point; if floor and objective exclude each other, the
//! controller says so and names the limit.

use crate::config::OwnLimits;
use loadline_units::{ByteRate, Bytes, Duration, Instant};

/// How often it decides.
pub const PERIOD: Duration = Duration::from_ms(250);
/// Of the objective: below it the rate rises.
const CALM: f64 = 0.8;
/// By how much it rises in a period.
const RISE: f64 = 1.05;
/// By how much it rises as long as it is well below the rate that was too fast last: a disturbance that was not ours costs little time.
const RISE_AGAIN: f64 = 1.25;
/// How far up, of the rate that was too fast.
const AGAIN_UP_TO: f64 = 0.7;
/// By how much it falls.
const FALL: f64 = 0.5;
/// The rate never falls below it: a save must end some day.
pub const RATE_MIN: u64 = 256 << 10;
/// Where no cap says another.
const RATE_MAX: u64 = 64 << 30;
/// Where it begins.
const RATE_FIRST: u64 = 8 << 20;
/// Requests of the application below which a period says nothing of its latency.
const REQUESTS_MIN: u64 = 5;

/// What a device counted in a period, without our own requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ApplicationLoad {
    /// Requests completed.
    pub requests: u64,
    /// Sum of the time that each took.
    pub time: Duration,
    /// Share of the period in which the device had requests, in thousandths, ours included.
    pub busy_per_mille: u64,
}

/// Requests of one kind that a device completed in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCount {
    /// How many.
    pub requests: u64,
    /// Sum of the time that each took.
    pub time: Duration,
}

impl ApplicationLoad {
    /// What the device counted, less our own reads. The kernel splits these into requests of `request` bytes at most, and reads ahead, so
    /// that the time of a call says nothing of theirs. Each is taken to have the mean time of all reads: if it took longer than
    /// the application's, these seem slower than they are, never faster.
    #[must_use]
    pub fn beside(reads: DeviceCount, writes: DeviceCount, own: Bytes, request: Bytes, busy_per_mille: u64) -> Self {
        let ours = own.get().div_ceil(request.get().max(1)).min(reads.requests);
        let ours_ns = u128::from(reads.time.as_ns()) * u128::from(ours) / u128::from(reads.requests.max(1));
        let ours_time = Duration::from_ns(u64::try_from(ours_ns).unwrap_or(u64::MAX));
        Self {
            requests: reads.requests - ours + writes.requests,
            time: Duration::from_ns(reads.time.saturating_sub(ours_time).as_ns().saturating_add(writes.time.as_ns())),
            busy_per_mille,
        }
    }

    /// The mean latency, if there were enough requests.
    #[must_use]
    pub fn latency(&self) -> Option<Duration> {
        (self.requests >= REQUESTS_MIN).then(|| Duration::from_ns(self.time.as_ns() / self.requests))
    }
}

/// What holds the rate down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateHeldBy {
    /// Nothing: all that is asked for is allowed.
    Nothing,
    /// The cap on bytes per second.
    ThroughputCap,
    /// The cap on requests per second.
    IopsCap,
    /// The application's latency.
    Latency,
    /// Latency would want less, the recovery point does not allow it.
    Floor,
}

/// A conflict: the recovery point wants more than the objective allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateConflict {
    /// Bytes per second that keep the recovery point.
    pub wanted: ByteRate,
    /// The application's latency.
    pub latency: Duration,
    /// What it should be.
    pub objective: Duration,
    /// The device had requests all the time: its own limit is reached. Else something above it holds both, such as a limit of the VM.
    pub device_is_busy: bool,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct RateController {
    limits: OwnLimits,
    rate: f64,
    /// The rate that was too fast last.
    too_fast: f64,
    held_by: RateHeldBy,
    conflict: Option<RateConflict>,
    decided: Option<Instant>,
    is_off: bool,
}

impl RateController {
    /// One with these limits.
    #[must_use]
    pub fn new(limits: OwnLimits) -> Self {
        let rate = if limits.objective.is_some() { RATE_FIRST as f64 } else { RATE_MAX as f64 };
        let mut new = Self {
            limits,
            rate,
            too_fast: 0.0,
            held_by: RateHeldBy::Nothing,
            conflict: None,
            decided: None,
            is_off: false,
        };
        new.cap(Bytes::ZERO);
        new
    }

    /// A notice came: nothing is held back from now on.
    pub fn switch_off(&mut self) {
        self.is_off = true;
    }

    /// Decides anew, if a period has passed. `request` is the mean size of our requests, `floor` the bytes per second that keep the
    /// recovery point.
    pub fn decide(&mut self, now: Instant, load: &ApplicationLoad, request: Bytes, floor: Option<ByteRate>) {
        if self.decided.is_some_and(|at| now.since(at) < PERIOD) {
            return;
        }
        self.decided = Some(now);
        self.conflict = None;
        self.held_by = RateHeldBy::Nothing;
        if let Some(objective) = self.limits.objective {
            match load.latency() {
                Some(latency) if latency > objective => {
                    self.too_fast = self.rate;
                    self.rate *= FALL;
                    self.held_by = RateHeldBy::Latency;
                }
                Some(latency) if latency.as_s_f64() > CALM * objective.as_s_f64() => self.held_by = RateHeldBy::Latency,
                // An idle application has no latency to keep.
                _ if self.rate < AGAIN_UP_TO * self.too_fast => self.rate *= RISE_AGAIN,
                _ => self.rate *= RISE,
            }
            if let Some(wanted) = floor.filter(|floor| self.rate < floor.get() as f64) {
                self.rate = wanted.get() as f64;
                if self.held_by == RateHeldBy::Latency {
                    self.held_by = RateHeldBy::Floor;
                    self.conflict = load.latency().filter(|latency| *latency > objective).map(|latency| RateConflict {
                        wanted,
                        latency,
                        objective,
                        device_is_busy: load.busy_per_mille >= 950,
                    });
                }
            }
        }
        self.cap(request);
    }

    /// Holds the rate below the caps.
    fn cap(&mut self, request: Bytes) {
        self.rate = self.rate.clamp(RATE_MIN as f64, RATE_MAX as f64);
        if let Some(cap) = self.limits.throughput.map(|cap| cap.get() as f64).filter(|cap| *cap < self.rate) {
            self.rate = cap;
            self.held_by = RateHeldBy::ThroughputCap;
        }
        let by_requests =
            self.limits.iops.filter(|_| request > Bytes::ZERO).map(|iops| iops.get() as f64 * request.get() as f64);
        if let Some(cap) = by_requests.filter(|cap| *cap < self.rate) {
            self.rate = cap;
            self.held_by = RateHeldBy::IopsCap;
        }
    }

    /// Bytes per second that our own I/O may take; `None` if nothing is held back.
    #[must_use]
    pub fn rate(&self) -> Option<ByteRate> {
        if self.is_off || (self.rate >= RATE_MAX as f64) {
            return None;
        }
        ByteRate::per_second((self.rate as u64).max(1))
    }

    /// What holds it down.
    #[must_use]
    pub const fn held_by(&self) -> RateHeldBy {
        self.held_by
    }

    /// Whether recovery point and objective exclude each other.
    #[must_use]
    pub const fn conflict(&self) -> Option<RateConflict> {
        self.conflict
    }
}

impl std::fmt::Display for RateConflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let limit = if self.device_is_busy {
            "the disk itself is busy all the time"
        } else {
            "the disk is not busy, so a limit above it binds, such as that of the VM"
        };
        write!(
            f,
            "saving in time takes {}, and the application then waits {} where {} is the objective: {limit}",
            self.wanted,
            self.latency.human(),
            self.objective.human()
        )
    }
}

/// Hands out bytes at a rate, as a token bucket told the time. No second gets more than the rate and one burst.
#[derive(Debug, Clone, Default)]
pub struct ByteBucket {
    /// Nano-bytes that may go out.
    level: u128,
    filled: Option<Instant>,
}

/// Of a second, how much of the rate may be saved up.
const BURST_MS: u64 = 20;

impl ByteBucket {
    /// Takes `bytes` at this rate; how long to wait before they may be used.
    pub fn take(&mut self, now: Instant, rate: ByteRate, bytes: Bytes) -> Duration {
        let per_ns = u128::from(rate.get());
        let burst = per_ns * u128::from(BURST_MS) * 1_000_000;
        let since = self.filled.map_or(0, |at| u128::from(now.since(at).as_ns()));
        self.filled = Some(self.filled.map_or(now, |at| at.max(now)));
        self.level = (self.level + since * per_ns).min(burst);
        let wanted = u128::from(bytes.get()) * 1_000_000_000;
        if self.level >= wanted {
            self.level -= wanted;
            return Duration::ZERO;
        }
        let wait = u64::try_from((wanted - self.level).div_ceil(per_ns)).unwrap_or(u64::MAX);
        self.level = 0;
        // What is owed is paid by time that is not counted again.
        self.filled = self.filled.map(|at| Instant::from_ns(at.as_ns().saturating_add(wait)));
        let ready = self.filled.unwrap_or(now);
        ready.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Iops;

    /// A disk that serves 100 MB/s to both; the application asks for 50, and waits as a queue does.
    fn latency_at(own: f64) -> Duration {
        let busy = ((50e6 + own) / 100e6).min(0.999);
        Duration::from_ns((0.2e6 / (1.0 - busy)) as u64)
    }

    fn limits(objective_ms: Option<u64>) -> OwnLimits {
        OwnLimits { objective: objective_ms.map(Duration::from_ms), ..OwnLimits::default() }
    }

    fn simulate(controller: &mut RateController, periods: u64, floor: Option<ByteRate>) -> Vec<(f64, Duration)> {
        let mut seen = Vec::new();
        for period in 0..periods {
            let rate = controller.rate().map_or(1e12, |rate| rate.get() as f64);
            let latency = latency_at(rate);
            let load = ApplicationLoad {
                requests: 1_000,
                time: Duration::from_ns(latency.as_ns() * 1_000),
                busy_per_mille: 500,
            };
            seen.push((rate, latency));
            controller.decide(Instant::from_ns(period * PERIOD.as_ns()), &load, Bytes::mib(1), floor);
        }
        seen
    }

    #[test]
    fn the_objective_is_kept_and_most_of_what_is_left_is_used() {
        // 1 ms is reached at 80 MB/s in all: 30 MB/s are left for us.
        let seen = simulate(&mut RateController::new(limits(Some(1))), 4_000, None);
        let later = &seen[400..];
        let over = later.iter().filter(|(_, latency)| *latency > Duration::from_ms(1)).count();
        assert!(over * 20 < later.len(), "{over} of {}", later.len());
        let mean = later.iter().map(|(rate, _)| rate).sum::<f64>() / later.len() as f64;
        assert!(mean > 0.6 * 30e6 && mean < 30e6, "{mean}");
    }

    #[test]
    fn an_idle_application_lets_the_rate_rise_to_its_cap() {
        let cap = ByteRate::per_second(200_000_000).unwrap();
        let mut controller = RateController::new(OwnLimits { throughput: Some(cap), ..limits(Some(1)) });
        for period in 0..400 {
            let now = Instant::from_ns(period * PERIOD.as_ns());
            controller.decide(now, &ApplicationLoad::default(), Bytes::mib(1), None);
        }
        assert_eq!((controller.rate(), controller.held_by()), (Some(cap), RateHeldBy::ThroughputCap));
        let iops = OwnLimits { iops: Iops::per_second(10), ..OwnLimits::default() };
        let mut controller = RateController::new(iops);
        assert_eq!(controller.rate(), None, "no size is known yet");
        controller.decide(Instant::ZERO, &ApplicationLoad::default(), Bytes::mib(1), None);
        assert_eq!(controller.held_by(), RateHeldBy::IopsCap);
        assert_eq!(controller.rate().unwrap().get(), 10 << 20);
    }

    #[test]
    fn a_floor_above_what_the_objective_allows_is_a_conflict_that_names_the_limit() {
        let floor = ByteRate::per_second(45_000_000);
        let mut controller = RateController::new(limits(Some(1)));
        simulate(&mut controller, 400, floor);
        let conflict = controller.conflict().unwrap();
        assert_eq!((controller.held_by(), controller.rate()), (RateHeldBy::Floor, floor));
        assert!(conflict.to_string().contains("that of the VM"), "{conflict}");
        let busy = RateConflict { device_is_busy: true, ..conflict };
        assert!(busy.to_string().contains("the disk itself"));
        controller.switch_off();
        assert_eq!(controller.rate(), None, "a notice lifts every limit");
    }

    #[test]
    fn without_an_objective_only_caps_count() {
        let mut controller = RateController::new(limits(None));
        simulate(&mut controller, 3, None);
        assert_eq!((controller.rate(), controller.held_by()), (None, RateHeldBy::Nothing));
    }

    #[test]
    fn our_own_reads_are_no_part_of_the_applications_latency_however_the_kernel_splits_them() {
        let count = |requests, ms| DeviceCount { requests, time: Duration::from_ms(ms) };
        // 10 MiB in requests of 128 KiB: 80 of the 100 reads. The application's 20 reads and 100 writes took 1 ms each.
        let beside = |own| ApplicationLoad::beside(count(100, 100), count(100, 100), own, Bytes::kib(128), 500);
        assert_eq!(
            beside(Bytes::mib(10)),
            ApplicationLoad { requests: 120, time: Duration::from_ms(120), busy_per_mille: 500 }
        );
        assert_eq!(beside(Bytes::mib(10)).latency(), Some(Duration::from_ms(1)));
        // More than the device read came out of memory.
        assert_eq!(beside(Bytes::gib(1)).requests, 100);
        let only_ours = ApplicationLoad::beside(count(80, 800), count(2, 1), Bytes::mib(10), Bytes::kib(128), 0);
        assert_eq!(only_ours.latency(), None, "too few to say");
    }

    #[test]
    fn after_a_disturbance_that_was_not_ours_the_rate_is_back_soon() {
        let mut controller = RateController::new(limits(Some(1)));
        simulate(&mut controller, 400, None);
        let before = controller.rate().unwrap().get();
        let slow = ApplicationLoad { requests: 100, time: Duration::from_ms(500), busy_per_mille: 100 };
        controller.decide(Instant::from_ns(1_000 * PERIOD.as_ns()), &slow, Bytes::mib(1), None);
        assert!(controller.rate().unwrap().get() < before * 6 / 10);
        let calm = ApplicationLoad { requests: 100, time: Duration::from_ms(50), busy_per_mille: 100 };
        for period in 1_001..1_003 {
            controller.decide(Instant::from_ns(period * PERIOD.as_ns()), &calm, Bytes::mib(1), None);
        }
        assert!(controller.rate().unwrap().get() > before * 7 / 10, "half a second later");
    }

    #[test]
    fn no_second_gets_more_than_the_rate_and_a_burst() {
        let rate = ByteRate::per_second(10_000_000).unwrap();
        for piece in [1_000_u64, 65_536, 1 << 20] {
            let (mut bucket, mut now, mut sent) = (ByteBucket::default(), Instant::ZERO, Vec::new());
            while now < Instant::from_ns(5_000_000_000) {
                let wait = bucket.take(now, rate, Bytes::new(piece));
                now = now + wait;
                sent.push((now, piece));
                // A caller that dawdles now and then saves up no more than a burst.
                if sent.len() % 50 == 0 {
                    now = now + Duration::from_ms(40);
                }
            }
            for (from, _) in sent.iter().step_by(37) {
                let to = *from + Duration::from_s(1);
                let in_second: u64 = sent.iter().filter(|(at, _)| at >= from && *at < to).map(|(_, bytes)| bytes).sum();
                assert!(in_second <= 10_000_000 * 102 / 100 + 2 * piece, "{piece}: {in_second}");
            }
        }
    }
}
