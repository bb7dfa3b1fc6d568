//! Detects the ends of bursts: requests begin to wait because saved-up credits are spent.

use loadline_disk::{Fullness, InitialState, WaitTimes, Waits};
use loadline_record::{BurstEnd, Second, Series, Stage};
use loadline_units::{Duration, NS_PER_S};

/// The stages that may burst.
pub(crate) fn budgets(waits: &Waits) -> [(Stage, WaitTimes); 4] {
    [
        (Stage::VmCached, waits.vm_cached),
        (Stage::VmUncached, waits.vm_uncached + waits.allowances),
        (Stage::Shared, waits.pools),
        (Stage::Disk, waits.disks),
    ]
}

/// Notes when the credits of each stage were spent. Looked at in steps, it knows a moment to within one of them.
#[derive(Debug, Clone)]
pub struct BurstWatch {
    begin: Waits,
    before: Waits,
    /// The waiting when credits were first spent.
    first_end: Option<FirstEnd>,
    /// Of each stage: whether it was seen with credits left, and when it was seen without.
    seen: [(bool, Option<Duration>); 4],
    /// Of each stage: whether credits may have been there from the beginning.
    saved: [bool; 4],
}

/// The moment at which the credits of a stage were spent, before those of any other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstEnd {
    /// Since the load began.
    pub(crate) at: Duration,
    /// The waiting until then, of all waiting in the end.
    until: Waits,
    all: Waits,
}

impl FirstEnd {
    /// The share of the waiting for requests, or for bytes, at a stage that came before that moment; `None`: nothing waited there.
    pub(crate) fn share_before(&self, stage: Stage, bytes: bool) -> Option<f64> {
        let of = |waits: &Waits| {
            let (_, waited) = budgets(waits).into_iter().find(|(known, _)| *known == stage)?;
            Some(if bytes { waited.throughput } else { waited.iops }.as_ns() as f64)
        };
        let (until, all) = (of(&self.until)?, of(&self.all)?);
        (all > 0.0).then(|| until / all)
    }
}

impl BurstWatch {
    /// Begins with the waiting before the load. An earlier trial may have left credits.
    #[must_use]
    pub fn new(before: Waits, initial: InitialState, is_carried: bool) -> Self {
        let saved = budgets(&before).map(|(stage, _)| {
            let of_vm = matches!(stage, Stage::VmCached | Stage::VmUncached);
            let bursts = initial.vm_bursts.filter(|_| of_vm).unwrap_or(initial.bursts);
            is_carried || bursts == Fullness::Full
        });
        Self { begin: before, before, first_end: None, seen: [(false, None); 4], saved }
    }

    /// Looks at a step that began `from` after the load did, when `now` had been waited in all.
    pub fn look(&mut self, from: Duration, now: Waits) {
        let step = now.since(&self.before);
        let until = self.before.since(&self.begin);
        self.before = now;
        for (((left, spent), saved), (_, waited)) in self.seen.iter_mut().zip(self.saved).zip(budgets(&step)) {
            if spent.is_some() {
                continue;
            }
            let all = (waited.iops + waited.throughput).as_ns();
            if waited.credits.as_ns() * 2 <= all {
                // Without waiting there may still be no credits.
                *left |= all > 0 || saved;
            } else if *left {
                *spent = Some(from);
                self.first_end.get_or_insert(FirstEnd { at: from, until, all: until });
            }
        }
    }

    /// When credits were first spent, with the waiting before and in all; `None`: never.
    pub(crate) fn first_end(&self) -> Option<FirstEnd> {
        self.first_end.map(|end| FirstEnd { all: self.before.since(&self.begin), ..end })
    }

    /// The bursts that ended, with the rates around them. `warm_up` is the time from the load's begin to the measurement.
    #[must_use]
    pub fn ends(&self, series: &Series, warm_up: Duration) -> Vec<BurstEnd> {
        let stages = budgets(&Waits::default()).map(|(stage, _)| stage);
        let mut ends: Vec<BurstEnd> = stages
            .into_iter()
            .zip(self.seen)
            .filter_map(|(stage, (_, spent))| Some(rates_around(stage, spent?, series, warm_up)))
            .collect();
        ends.sort_by_key(|end| end.at_ns);
        ends
    }
}

fn rates_around(stage: Stage, at: Duration, series: &Series, warm_up: Duration) -> BurstEnd {
    let interval_ns = u64::from(series.interval_s) * NS_PER_S;
    // The interval in which it ended, and the one after it, belong to neither.
    let index = (at.saturating_sub(warm_up).as_ns() / interval_ns) as usize;
    let before = &series.seconds[..index.min(series.seconds.len())];
    let before = if at < warm_up { &[] } else { before };
    let after = series.seconds.get(if at < warm_up { 0 } else { index + 2 }..).unwrap_or(&[]);
    let rate = |seconds: &[Second], length_ns: u64, of: fn(&Second) -> u64| {
        (length_ns > 0).then(|| seconds.iter().map(of).sum::<u64>() as f64 * 1e9 / length_ns as f64)
    };
    let before_ns = before.len() as u64 * interval_ns;
    let after_ns = if after.is_empty() { 0 } else { (after.len() as u64 - 1) * interval_ns + series.last_ns };
    BurstEnd {
        stage,
        at_ns: at.as_ns(),
        iops_before: rate(before, before_ns, Second::count),
        iops_after: rate(after, after_ns, Second::count),
        bytes_per_s_before: rate(before, before_ns, Second::bytes),
        bytes_per_s_after: rate(after, after_ns, Second::bytes),
    }
}
