//! What held an export's requests: its time, shared out among limits, latency, faults, and nothing to do.

use loadline_disk::{Waited, Waits};
use loadline_record::{Limit, Second, Series};
use loadline_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// From this share of the time on that nothing was asked for, whoever asks sets the pace.
const IDLE_MOST: f64 = 0.5;

/// What became of the time of an export and of its requests so far, by the model's own clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Requests answered.
    pub requests: u64,
    /// When the first one came.
    pub first: Option<Instant>,
    /// When the last one was answered.
    pub last: Instant,
    /// How long something was outstanding.
    pub busy: Duration,
    /// How long requests took until the disks had answered, all together.
    pub at_disk: Duration,
    /// How long faults held them beyond that, all together, also those that they still hold.
    pub faults: Duration,
    /// Of `at_disk`, what they waited for.
    pub waits: Waits,
    /// How long requests were outstanding, all together, also those that are: its growth over a time, divided by that, is the mean
    /// number outstanding.
    pub asked_time: Duration,
}

/// What time goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Holder {
    /// A limit, or the disks' own latency.
    Limit(Limit),
    /// None of the storage's.
    Other(Other),
}

/// What time goes to beside limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Other {
    /// Delays, stalls and hangs made on purpose.
    Faults,
    /// Nothing was asked for.
    Idle,
}

impl Holder {
    /// Its name: of a limit as `docs/how-limits-are-named.md` has it, else `faults` or `idle`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit(limit) => limit.name(),
            Self::Other(Other::Faults) => "faults",
            Self::Other(Other::Idle) => "idle",
        }
    }
}

/// A share of an export's time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldBy {
    /// What it went to.
    pub by: Holder,
    /// 0 to 1.
    pub share: f64,
}

/// What held an export's requests over some time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Held {
    /// What bound it; `None`: nothing was asked for.
    pub bound_by: Option<Holder>,
    /// The whole time, shared out, the largest share first. Time with something outstanding is shared out in proportion to the
    /// time of the requests.
    pub shares: Vec<HeldBy>,
}

impl Account {
    /// What came since `earlier`.
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

    /// Share of the requests' time that was spent waiting at limits: of the disks, of pools, of the virtual machine.
    #[must_use]
    pub fn throttled(&self) -> Option<f64> {
        let Waits { vm_cached, vm_uncached, allowances, pools, disks, .. } = self.waits;
        let at_limits: u64 = [vm_cached, vm_uncached, allowances, pools, disks].into_iter().map(total_ns).sum();
        let all = (self.at_disk + self.faults).as_ns();
        (all > 0).then(|| (at_limits as f64 / all as f64).min(1.0))
    }

    /// What held the requests from the first one until the last answer.
    #[must_use]
    pub fn held(&self) -> Held {
        self.held_over(self.span())
    }

    /// The same with the seconds of that time known. Where nothing at all was answered while requests waited, and faults held some, that
    /// time is the faults': however few the requests were that waited, nobody could do anything else.
    #[must_use]
    pub fn held_through(&self, series: &Series) -> Held {
        let all = stands_still(series).fold((Duration::ZERO, Duration::ZERO), |(lasting, waited), still| {
            (lasting + still.lasting, waited + still.waited)
        });
        self.shared_out(self.span(), all)
    }

    /// Shares `span` out, in which this account came about.
    #[must_use]
    pub fn held_over(&self, span: Duration) -> Held {
        self.shared_out(span, (Duration::ZERO, Duration::ZERO))
    }

    /// Of `span`, nothing was answered for so long in all while requests waited, which took so much of their time.
    fn shared_out(&self, span: Duration, (stood_still, waited): (Duration, Duration)) -> Held {
        let mut spent = self.spent();
        let by_faults = stood_still.min(self.faults);
        // That time is shared out as it passed, not as it was waited.
        if let Some((_, ns)) = spent.iter_mut().find(|(by, _)| *by == Holder::Other(Other::Faults)) {
            *ns = (*ns - waited.as_ns() as f64).max(0.0);
        }
        let all_ns: f64 = spent.iter().map(|(_, ns)| ns).sum();
        if self.requests == 0 && self.busy == Duration::ZERO {
            return Held::default();
        }
        let busy = if span == Duration::ZERO { 1.0 } else { (self.busy.as_s_f64() / span.as_s_f64()).min(1.0) };
        // Nothing was answered, and no fault is why: it takes its time.
        let spent = if all_ns > 0.0 { spent } else { vec![(Holder::Limit(Limit::Latency), 1.0)] };
        let all_ns = if all_ns > 0.0 { all_ns } else { 1.0 };
        let by_faults = by_faults.as_s_f64() / span.as_s_f64().max(f64::MIN_POSITIVE);
        let by_faults = by_faults.min(busy);
        let share = |by: Holder, ns: f64| {
            let alone = if by == Holder::Other(Other::Faults) { by_faults } else { 0.0 };
            HeldBy { by, share: alone + (busy - by_faults) * ns / all_ns }
        };
        let mut shares: Vec<HeldBy> = spent.into_iter().map(|(by, ns)| share(by, ns)).collect();
        shares.push(HeldBy { by: Holder::Other(Other::Idle), share: 1.0 - busy });
        shares.retain(|held| held.share > 0.0);
        shares.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.by.cmp(&b.by)));
        let bound_by = if 1.0 - busy >= IDLE_MOST {
            Holder::Limit(Limit::Arrival)
        } else {
            // Also where it is less than half: then several limits, or one and latency, share the time.
            let most = shares.iter().find(|held| held.by != Holder::Other(Other::Idle));
            most.map_or(Holder::Limit(Limit::Latency), |held| held.by)
        };
        Held { bound_by: Some(bound_by), shares }
    }

    /// The time of the requests by what it went to, ns.
    fn spent(&self) -> Vec<(Holder, f64)> {
        let Waits { vm_cached, vm_uncached, allowances, pools, disks, service, cache, .. } = self.waits;
        let at_disk = self.at_disk.as_ns() as f64;
        let mut spent: Vec<(Limit, f64)> = vec![(Limit::Cache, cache.as_ns() as f64)];
        let mut add = |waited: Waited, requests: Limit, bytes: Limit| {
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
        // Who waits for a place in the disk waits for the latency of others.
        add(service, Limit::Latency, Limit::DiskThroughput);
        let waited: f64 = spent.iter().map(|(_, ns)| ns).sum();
        // Parts of a request that wait in several places at once count there each.
        let scale = if waited > at_disk { at_disk / waited } else { 1.0 };
        spent.push((Limit::Latency, (at_disk - waited).max(0.0)));
        let mut joined: Vec<(Holder, f64)> = vec![(Holder::Other(Other::Faults), self.faults.as_ns() as f64)];
        for (limit, ns) in spent {
            let by = Holder::Limit(limit);
            match joined.iter_mut().find(|(other, _)| *other == by) {
                Some((_, sum)) => *sum += ns * scale,
                None => joined.push((by, ns * scale)),
            }
        }
        joined
    }
}

/// A time in which nothing was answered while something waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Still {
    /// Since the first request.
    pub from: Duration,
    /// How long, to whole seconds of the series.
    pub lasting: Duration,
    /// How long requests waited in it, all together.
    pub waited: Duration,
}

/// From so many requests outstanding in the mean of a second on, something waited through all of it.
const WAITED: f64 = 0.99;

/// The whole seconds of a series in which nothing was answered while something waited, those that follow on each other together.
pub fn stands_still(series: &Series) -> impl Iterator<Item = Still> + '_ {
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
        let mut still = Still { from: each * first as u64, lasting, waited: time };
        while let Some((number, second)) = seconds.next_if(|(_, second)| is_still(second)) {
            let (lasting, time) = waited(number, second);
            (still.lasting, still.waited) = (still.lasting + lasting, still.waited + time);
        }
        Some(still)
    })
}

fn total_ns(waited: Waited) -> u64 {
    waited.iops.as_ns() + waited.throughput.as_ns()
}

impl HeldBy {
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

    fn account(at_disk: u64, busy: u64, waits: Waits) -> Account {
        Account { requests: 1, at_disk: S * at_disk, busy: S * busy, waits, ..Account::default() }
    }

    fn waited(iops: u64, throughput: u64, credits: u64) -> Waited {
        Waited { iops: S * iops, throughput: S * throughput, credits: S * credits }
    }

    #[test]
    fn time_is_shared_out_by_what_requests_waited_for() {
        let waits = Waits { disks: waited(60, 20, 0), cache: S * 10, ..Waits::default() };
        let held = account(100, 8, waits).held_over(S * 10);
        assert_eq!(
            HeldBy::words(&held.shares),
            "disk-iops 48 %, idle 20 %, disk-throughput 16 %, cache 8 %, latency 8 %"
        );
        assert_eq!(held.bound_by.map(Holder::name), Some("disk-iops"));
        assert!((held.shares.iter().map(|held| held.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn whoever_asks_little_is_bound_by_nothing_and_whoever_waits_nowhere_by_latency() {
        let throttled = Waits { disks: waited(10, 0, 0), ..Waits::default() };
        assert_eq!(account(10, 4, throttled).held_over(S * 10).bound_by.map(Holder::name), Some("arrival"));
        let little = Waits { vm_uncached: waited(4, 0, 0), ..Waits::default() };
        assert_eq!(account(10, 10, little).held_over(S * 10).bound_by.map(Holder::name), Some("latency"));
        assert_eq!(Account::default().held_over(S), Held::default());
        // Neither limit had half of the time, but both together left latency less than one of them had.
        let several = Waits { disks: waited(7, 0, 5), ..Waits::default() };
        let held = account(10, 10, several).held_over(S * 10);
        assert_eq!(HeldBy::words(&held.shares), "burst-exhausted 50 %, latency 30 %, disk-iops 20 %");
        let several = Waits { disks: waited(7, 0, 4), ..Waits::default() };
        let held = account(10, 10, several).held_over(S * 10);
        assert_eq!(HeldBy::words(&held.shares), "burst-exhausted 40 %, disk-iops 30 %, latency 30 %");
        assert_eq!(held.bound_by.map(Holder::name), Some("burst-exhausted"));
    }

    #[test]
    fn spent_credits_and_faults_have_names_of_their_own() {
        let waits = Waits { vm_uncached: waited(4, 4, 6), ..Waits::default() };
        let held = Account { faults: S * 10, ..account(10, 10, waits) }.held_over(S * 10);
        assert_eq!(
            HeldBy::words(&held.shares),
            "faults 50 %, burst-exhausted 30 %, latency 10 %, vm-uncached-iops 5 %, vm-uncached-throughput 5 %"
        );
        assert_eq!(held.bound_by.map(Holder::name), Some("faults"));
        assert_eq!(serde_json::to_value(held.shares[0]).unwrap()["by"], "faults");
        assert_eq!(serde_json::to_value(held.shares[1]).unwrap()["by"], "burst-exhausted");
        let back: HeldBy = serde_json::from_str(r#"{"by": "idle", "share": 1.0}"#).unwrap();
        assert_eq!(back.by, Holder::Other(Other::Idle));
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
        let account = Account { faults: S * 24, ..account(256, 10, waits) };
        let account = Account { first: Some(Instant::ZERO), last: Instant::ZERO + S * 10, ..account };
        let busy = (500, 64.0);
        let seconds = [busy, busy, (0, 4.0), (0, 4.0), (0, 4.0), (0, 4.0), (0, 4.0), (0, 4.0), busy, busy];
        let held = account.held_through(&series(&seconds));
        assert_eq!(HeldBy::words(&held.shares), "faults 60 %, disk-iops 39 %, latency 1 %");
        assert_eq!(held.bound_by.map(Holder::name), Some("faults"));
        assert_eq!(HeldBy::words(&account.held().shares), "disk-iops 89 %, faults 9 %, latency 2 %");
        // Without faults it is what else held it that did.
        let slow = Account { faults: Duration::ZERO, ..account };
        assert_eq!(slow.held_through(&series(&seconds)), slow.held());
        assert!((held.shares.iter().map(|held| held.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn seconds_that_stand_still_are_found_with_their_beginning() {
        let still = |seconds: &[(u64, f64)]| stands_still(&series(seconds)).collect::<Vec<_>>();
        assert_eq!(still(&[(0, 0.0), (1, 1.0), (0, 0.5)]), []);
        let found = still(&[(0, 2.0), (3, 1.0), (0, 1.0), (0, 1.0)]);
        let expected = [(0, 1, 2), (2, 2, 2)].map(|(from, lasting, waited)| Still {
            from: S * from,
            lasting: S * lasting,
            waited: S * waited,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn parts_that_wait_at_once_never_make_more_than_the_time_there_was() {
        let waits = Waits { disks: waited(300, 0, 0), cache: S * 100, ..Waits::default() };
        assert_eq!(HeldBy::words(&account(100, 10, waits).held_over(S * 10).shares), "disk-iops 75 %, cache 25 %");
    }
}
