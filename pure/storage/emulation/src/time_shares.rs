//! Time shares of an export: how much of its time went to limits, latency, faults, and idleness.

use loadline_disk::{WaitTimes, Waits};
use loadline_record::{Limit, Second, Series};
use loadline_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// With at least this share of idle time, arrivals are what bounds the load.
const IDLE_MOST: f64 = 0.5;

/// Where the time of an export and of its requests went so far, by the model's clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeAccount {
    /// Requests answered.
    pub requests: u64,
    /// When the first one came.
    pub first: Option<Instant>,
    /// When the last one was answered.
    pub last: Instant,
    /// Time with at least one request in flight.
    pub busy: Duration,
    /// The sum over requests of the time until the disks had answered.
    pub at_disk: Duration,
    /// The sum over requests of the delay by faults beyond that, up to now for those still delayed.
    pub faults: Duration,
    /// The parts of `at_disk` that were spent waiting, by reason.
    pub waits: Waits,
    /// The sum over requests of their time in flight, up to now for those still in flight. Its growth over a span, divided by the
    /// span, is the mean queue depth.
    pub asked_time: Duration,
}

/// What time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TimeCause {
    /// A limit, or the disks' own latency.
    Limit(Limit),
    /// Something else.
    Other(OtherCause),
}

/// What time is spent on beside limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OtherCause {
    /// Delays, stalls and hangs of injected faults.
    Faults,
    /// No request was in flight.
    Idle,
}

impl TimeCause {
    /// Its name: of a limit as `docs/inside/how-limits-are-named.md` has it, else `faults` or `idle`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit(limit) => limit.name(),
            Self::Other(OtherCause::Faults) => "faults",
            Self::Other(OtherCause::Idle) => "idle",
        }
    }
}

/// A share of an export's time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TimeShare {
    /// What it was spent on.
    pub by: TimeCause,
    /// 0 to 1.
    pub share: f64,
}

/// How an export spent some time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimeShares {
    /// What bound it; `None`: there was no request.
    pub bound_by: Option<TimeCause>,
    /// The whole time, the largest share first. Busy time is divided in proportion to what the requests spent their time on.
    pub shares: Vec<TimeShare>,
}

impl TimeAccount {
    /// The growth since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            busy: self.busy.saturating_sub(earlier.busy),
            at_disk: self.at_disk.saturating_sub(earlier.at_disk),
            faults: self.faults.saturating_sub(earlier.faults),
            asked_time: self.asked_time.saturating_sub(earlier.asked_time),
            waits: self.waits.since(&earlier.waits),
            ..*self
        }
    }

    /// From the first request until the last answer.
    #[must_use]
    pub fn span(&self) -> Duration {
        self.first.map_or(Duration::ZERO, |first| self.last.max(first).since(first))
    }

    /// The share of the requests' time that was spent waiting at limits: of disks, of pools, of the virtual machine.
    #[must_use]
    pub fn throttled(&self) -> Option<f64> {
        let Waits { vm_cached, vm_uncached, allowances, pools, disks, .. } = self.waits;
        let at_limits: u64 = [vm_cached, vm_uncached, allowances, pools, disks].into_iter().map(total_ns).sum();
        let all = (self.at_disk + self.faults).as_ns();
        (all > 0).then(|| (at_limits as f64 / all as f64).min(1.0))
    }

    /// The time shares from the first request until the last answer.
    #[must_use]
    pub fn shares(&self) -> TimeShares {
        self.shares_over(self.span())
    }

    /// The same, given the seconds of that time. A standstill during faults is spent on the faults, however few requests waited in it.
    #[must_use]
    pub fn shares_of_series(&self, series: &Series) -> TimeShares {
        let all = standstills(series).fold((Duration::ZERO, Duration::ZERO), |(lasting, waited), still| {
            (lasting + still.lasting, waited + still.waited)
        });
        self.share_out(self.span(), all)
    }

    /// The time shares of `span`, in which this account came about.
    #[must_use]
    pub fn shares_over(&self, span: Duration) -> TimeShares {
        self.share_out(span, (Duration::ZERO, Duration::ZERO))
    }

    /// The time shares of `span`, which had standstills of this total length and request time.
    fn share_out(&self, span: Duration, (stood_still, waited): (Duration, Duration)) -> TimeShares {
        let mut spent = self.spent();
        let by_faults = stood_still.min(self.faults);
        // A standstill counts with its length, not with the sum of what requests waited in it.
        if let Some((_, ns)) = spent.iter_mut().find(|(by, _)| *by == TimeCause::Other(OtherCause::Faults)) {
            *ns = (*ns - waited.as_ns() as f64).max(0.0);
        }
        let all_ns: f64 = spent.iter().map(|(_, ns)| ns).sum();
        if self.requests == 0 && self.busy == Duration::ZERO {
            return TimeShares::default();
        }
        let busy = if span == Duration::ZERO { 1.0 } else { (self.busy.as_s_f64() / span.as_s_f64()).min(1.0) };
        // Nothing was answered, and not because of a fault: the first request is still in service.
        let spent = if all_ns > 0.0 { spent } else { vec![(TimeCause::Limit(Limit::Latency), 1.0)] };
        let all_ns = if all_ns > 0.0 { all_ns } else { 1.0 };
        let by_faults = by_faults.as_s_f64() / span.as_s_f64().max(f64::MIN_POSITIVE);
        let by_faults = by_faults.min(busy);
        let share = |by: TimeCause, ns: f64| {
            let alone = if by == TimeCause::Other(OtherCause::Faults) { by_faults } else { 0.0 };
            TimeShare { by, share: alone + (busy - by_faults) * ns / all_ns }
        };
        let mut shares: Vec<TimeShare> = spent.into_iter().map(|(by, ns)| share(by, ns)).collect();
        shares.push(TimeShare { by: TimeCause::Other(OtherCause::Idle), share: 1.0 - busy });
        shares.retain(|held| held.share > 0.0);
        shares.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.by.cmp(&b.by)));
        let bound_by = if 1.0 - busy >= IDLE_MOST {
            TimeCause::Limit(Limit::Arrival)
        } else {
            // The largest share binds even below a half, when several limits share the time.
            let most = shares.iter().find(|held| held.by != TimeCause::Other(OtherCause::Idle));
            most.map_or(TimeCause::Limit(Limit::Latency), |held| held.by)
        };
        TimeShares { bound_by: Some(bound_by), shares }
    }

    /// The time of the requests by what it was spent on, ns.
    fn spent(&self) -> Vec<(TimeCause, f64)> {
        let Waits { vm_cached, vm_uncached, allowances, pools, disks, service, cache, .. } = self.waits;
        let at_disk = self.at_disk.as_ns() as f64;
        let mut spent: Vec<(Limit, f64)> = vec![(Limit::Cache, cache.as_ns() as f64)];
        let mut add = |waited: WaitTimes, requests: Limit, bytes: Limit| {
            let total = total_ns(waited) as f64;
            let for_credits = (waited.credits.as_ns() as f64).min(total);
            let rest = if total > 0.0 { 1.0 - for_credits / total } else { 0.0 };
            spent.push((Limit::BurstExhausted, for_credits));
            spent.push((requests, waited.iops.as_ns() as f64 * rest));
            spent.push((bytes, waited.throughput.as_ns() as f64 * rest));
        };
        add(vm_cached, Limit::VmCachedIops, Limit::VmCachedThroughput);
        add(vm_uncached, Limit::VmUncachedIops, Limit::VmUncachedThroughput);
        add(allowances, Limit::VmUncachedIops, Limit::VmUncachedThroughput);
        add(pools, Limit::DiskIops, Limit::DiskThroughput);
        add(disks, Limit::DiskIops, Limit::DiskThroughput);
        // Waiting for a slot in the disk is waiting for the latency of others.
        add(service, Limit::Latency, Limit::DiskThroughput);
        let waited: f64 = spent.iter().map(|(_, ns)| ns).sum();
        // Parts of a request that wait at several limits at once count at each.
        let scale = if waited > at_disk { at_disk / waited } else { 1.0 };
        spent.push((Limit::Latency, (at_disk - waited).max(0.0)));
        let mut joined: Vec<(TimeCause, f64)> =
            vec![(TimeCause::Other(OtherCause::Faults), self.faults.as_ns() as f64)];
        for (limit, ns) in spent {
            let by = TimeCause::Limit(limit);
            match joined.iter_mut().find(|(other, _)| *other == by) {
                Some((_, sum)) => *sum += ns * scale,
                None => joined.push((by, ns * scale)),
            }
        }
        joined
    }
}

/// A time in which requests waited and none was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standstill {
    /// Since the first request.
    pub from: Duration,
    /// How long, to whole seconds of the series.
    pub lasting: Duration,
    /// The sum over requests of their waiting in it.
    pub waited: Duration,
}

/// With at least this mean number in flight, a request waited through the whole second.
const WAITED: f64 = 0.99;

/// The standstills of a series, in whole seconds; neighbours are joined.
pub fn standstills(series: &Series) -> impl Iterator<Item = Standstill> + '_ {
    let each = Duration::from_s(u64::from(series.interval_s));
    let last = series.seconds.len().saturating_sub(1);
    let length = move |number: usize| if number == last { Duration::from_ns(series.last_ns) } else { each };
    let is_still = |second: &Second| second.count() == 0 && second.errors == 0 && second.outstanding >= WAITED;
    let mut seconds = series.seconds.iter().enumerate().peekable();
    std::iter::from_fn(move || {
        let (first, second) = seconds.find(|(_, second)| is_still(second))?;
        let waited = |number, second: &Second| {
            let length: Duration = length(number);
            (length, Duration::from_ns((length.as_ns() as f64 * second.outstanding) as u64))
        };
        let (lasting, time) = waited(first, second);
        let mut still = Standstill { from: each * first as u64, lasting, waited: time };
        while let Some((number, second)) = seconds.next_if(|(_, second)| is_still(second)) {
            let (lasting, time) = waited(number, second);
            (still.lasting, still.waited) = (still.lasting + lasting, still.waited + time);
        }
        Some(still)
    })
}

fn total_ns(waited: WaitTimes) -> u64 {
    waited.iops.as_ns() + waited.throughput.as_ns()
}

impl TimeShare {
    /// Shares in words, such as `disk-iops 71 %, latency 20 %, idle 9 %`; those that round to nothing are left out.
    #[must_use]
    pub fn words(shares: &[Self]) -> String {
        let shown = shares.iter().filter(|held| held.share >= 0.005);
        let words: Vec<String> = shown.map(|held| format!("{} {:.0} %", held.by.name(), held.share * 100.0)).collect();
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_s(1);

    fn account(at_disk: u64, busy: u64, waits: Waits) -> TimeAccount {
        TimeAccount { requests: 1, at_disk: S * at_disk, busy: S * busy, waits, ..TimeAccount::default() }
    }

    fn waited(iops: u64, throughput: u64, credits: u64) -> WaitTimes {
        WaitTimes { iops: S * iops, throughput: S * throughput, credits: S * credits }
    }

    #[test]
    fn time_is_shared_out_by_what_requests_waited_for() {
        let waits = Waits { disks: waited(60, 20, 0), cache: S * 10, ..Waits::default() };
        let held = account(100, 8, waits).shares_over(S * 10);
        assert_eq!(
            TimeShare::words(&held.shares),
            "disk-iops 48 %, idle 20 %, disk-throughput 16 %, cache 8 %, latency 8 %"
        );
        assert_eq!(held.bound_by.map(TimeCause::name), Some("disk-iops"));
        assert!((held.shares.iter().map(|held| held.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn whoever_asks_little_is_bound_by_nothing_and_whoever_waits_nowhere_by_latency() {
        let throttled = Waits { disks: waited(10, 0, 0), ..Waits::default() };
        assert_eq!(account(10, 4, throttled).shares_over(S * 10).bound_by.map(TimeCause::name), Some("arrival"));
        let little = Waits { vm_uncached: waited(4, 0, 0), ..Waits::default() };
        assert_eq!(account(10, 10, little).shares_over(S * 10).bound_by.map(TimeCause::name), Some("latency"));
        assert_eq!(TimeAccount::default().shares_over(S), TimeShares::default());
        // Neither limit had half of the time, but both together left latency less than one of them had.
        let several = Waits { disks: waited(7, 0, 5), ..Waits::default() };
        let held = account(10, 10, several).shares_over(S * 10);
        assert_eq!(TimeShare::words(&held.shares), "burst-exhausted 50 %, latency 30 %, disk-iops 20 %");
        let several = Waits { disks: waited(7, 0, 4), ..Waits::default() };
        let held = account(10, 10, several).shares_over(S * 10);
        assert_eq!(TimeShare::words(&held.shares), "burst-exhausted 40 %, disk-iops 30 %, latency 30 %");
        assert_eq!(held.bound_by.map(TimeCause::name), Some("burst-exhausted"));
    }

    #[test]
    fn spent_credits_and_faults_have_names_of_their_own() {
        let waits = Waits { vm_uncached: waited(4, 4, 6), ..Waits::default() };
        let held = TimeAccount { faults: S * 10, ..account(10, 10, waits) }.shares_over(S * 10);
        assert_eq!(
            TimeShare::words(&held.shares),
            "faults 50 %, burst-exhausted 30 %, latency 10 %, vm-uncached-iops 5 %, vm-uncached-throughput 5 %"
        );
        assert_eq!(held.bound_by.map(TimeCause::name), Some("faults"));
        assert_eq!(serde_json::to_value(held.shares[0]).unwrap()["by"], "faults");
        assert_eq!(serde_json::to_value(held.shares[1]).unwrap()["by"], "burst-exhausted");
        let back: TimeShare = serde_json::from_str(r#"{"by": "idle", "share": 1.0}"#).unwrap();
        assert_eq!(back.by, TimeCause::Other(OtherCause::Idle));
    }

    /// Seconds with so many answers, and so many outstanding.
    fn series(seconds: &[(u64, f64)]) -> Series {
        let second = |(count, outstanding): &(u64, f64)| {
            let mut second = Second { outstanding: *outstanding, ..Second::default() };
            second.operations[0].count = *count;
            second
        };
        Series { interval_s: 1, seconds: seconds.iter().map(second).collect(), last_ns: 1_000_000_000 }
    }

    #[test]
    fn time_in_which_nothing_was_answered_is_the_faults_however_few_waited() {
        // Four requests hung for 6 s of 10; before and after that 64 waited for the disk at any time.
        let waits = Waits { disks: waited(250, 0, 0), ..Waits::default() };
        let account = TimeAccount { faults: S * 24, ..account(256, 10, waits) };
        let account = TimeAccount { first: Some(Instant::ZERO), last: Instant::ZERO + S * 10, ..account };
        let busy = (500, 64.0);
        let seconds = [busy, busy, (0, 4.0), (0, 4.0), (0, 4.0), (0, 4.0), (0, 4.0), (0, 4.0), busy, busy];
        let held = account.shares_of_series(&series(&seconds));
        assert_eq!(TimeShare::words(&held.shares), "faults 60 %, disk-iops 39 %, latency 1 %");
        assert_eq!(held.bound_by.map(TimeCause::name), Some("faults"));
        assert_eq!(TimeShare::words(&account.shares().shares), "disk-iops 89 %, faults 9 %, latency 2 %");
        // Without faults it is what else held it that did.
        let slow = TimeAccount { faults: Duration::ZERO, ..account };
        assert_eq!(slow.shares_of_series(&series(&seconds)), slow.shares());
        assert!((held.shares.iter().map(|held| held.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn seconds_that_stand_still_are_found_with_their_beginning() {
        let still = |seconds: &[(u64, f64)]| standstills(&series(seconds)).collect::<Vec<_>>();
        assert_eq!(still(&[(0, 0.0), (1, 1.0), (0, 0.5)]), []);
        let found = still(&[(0, 2.0), (3, 1.0), (0, 1.0), (0, 1.0)]);
        let expected = [(0, 1, 2), (2, 2, 2)].map(|(from, lasting, waited)| Standstill {
            from: S * from,
            lasting: S * lasting,
            waited: S * waited,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn parts_that_wait_at_once_never_make_more_than_the_time_there_was() {
        let waits = Waits { disks: waited(300, 0, 0), cache: S * 100, ..Waits::default() };
        assert_eq!(TimeShare::words(&account(100, 10, waits).shares_over(S * 10).shares), "disk-iops 75 %, cache 25 %");
    }
}
