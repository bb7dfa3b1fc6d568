//! Time accounting of an export: how long it was busy, and how long its requests took.

use super::FaultyMachine;
use crate::time_shares::TimeAccount;
use loadline_disk::Waits;
use loadline_units::{Duration, Instant};
use std::collections::VecDeque;

/// The time accounting of one export. Starts are reported in the order of time, and so are ends; but an end may be reported after
/// a later start.
#[derive(Debug, Default)]
pub(super) struct ExportAccounting {
    /// Starts after the last end.
    begun: VecDeque<Instant>,
    outstanding: u64,
    /// When the oldest request in flight started.
    since: Instant,
    busy: Duration,
    first: Option<Instant>,
    last: Instant,
    requests: u64,
    at_disk: Duration,
    faults: Duration,
    /// The waits at machines that were replaced.
    before: Waits,
}

impl ExportAccounting {
    #[inline]
    pub(super) fn begins(&mut self, at: Instant) {
        self.first.get_or_insert(at);
        self.begun.push_back(at);
    }

    /// A request ended that took `at_disk` in the machine, and that faults delayed by `faults` more.
    #[inline]
    pub(super) fn ends(&mut self, at: Instant, at_disk: Duration, faults: Duration) {
        while self.begun.front().is_some_and(|begun| *begun <= at) {
            self.count_next();
        }
        // When several machines answer, an end may be reported after a later one.
        if self.outstanding == 0 {
            self.count_next();
        }
        self.outstanding -= 1;
        if self.outstanding == 0 {
            self.busy = self.busy + at.max(self.since).since(self.since);
        }
        self.last = self.last.max(at);
        self.requests += 1;
        self.at_disk = self.at_disk + at_disk;
        self.faults = self.faults + faults;
    }

    fn count_next(&mut self) {
        let at = self.begun.pop_front().expect("what ends has begun");
        if self.outstanding == 0 {
            self.since = at.max(self.last);
        }
        self.outstanding += 1;
    }

    /// The account at `now`; `waits` is that of the machine at hand.
    pub(super) fn account(&self, now: Instant, waits: &Waits) -> TimeAccount {
        let since = if self.outstanding > 0 { Some(self.since) } else { self.begun.front().copied() };
        let going_on = since.map_or(Duration::ZERO, |since| now.max(since).since(since));
        TimeAccount {
            requests: self.requests,
            first: self.first,
            last: self.last,
            busy: self.busy + going_on,
            at_disk: self.at_disk,
            faults: self.faults,
            waits: self.before.and(waits),
            asked_time: self.at_disk + self.faults,
        }
    }
}

impl FaultyMachine {
    /// The time account of an export so far.
    #[must_use]
    pub fn account(&self, now: Instant, export: usize) -> TimeAccount {
        let mut waits = Waits::default();
        for generation in &self.generations {
            waits = waits.and(&generation.waits(export));
        }
        let mut account = self.accounts[export].account(now, &waits);
        for slot in self.slots.iter().filter(|slot| slot.in_use && usize::from(slot.export) == export) {
            let since = now.max(slot.submitted_at).since(slot.submitted_at);
            account.asked_time = account.asked_time + since;
            if slot.is_detained() {
                account.faults = account.faults + since;
            }
        }
        account
    }

    /// Drops the replaced machines that have answered everything, and keeps their waits.
    pub(super) fn retire(&mut self) {
        let last = self.generations.len() - 1;
        for index in (0..last).rev() {
            if self.generations[index].machine.outstanding() == 0 {
                let generation = self.generations.remove(index);
                for (export, accounting) in self.accounts.iter_mut().enumerate() {
                    accounting.before = accounting.before.and(&generation.waits(export));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_ns(at * 1_000_000)
    }

    #[test]
    fn busy_is_the_time_with_something_outstanding() {
        let mut accounting = ExportAccounting::default();
        accounting.begins(ms(10));
        accounting.begins(ms(12));
        accounting.ends(ms(15), Duration::from_ms(5), Duration::ZERO);
        // Told of late: it ended before the next one came.
        accounting.begins(ms(30));
        accounting.ends(ms(20), Duration::from_ms(8), Duration::ZERO);
        accounting.ends(ms(34), Duration::from_ms(1), Duration::from_ms(3));
        let account = accounting.account(ms(100), &Waits::default());
        assert_eq!((account.first, account.last), (Some(ms(10)), ms(34)));
        assert_eq!(account.busy, Duration::from_ms(10 + 4));
        assert_eq!((account.at_disk, account.faults), (Duration::from_ms(14), Duration::from_ms(3)));
        accounting.begins(ms(90));
        assert_eq!(accounting.account(ms(100), &Waits::default()).busy, Duration::from_ms(14 + 10));
    }

    #[test]
    fn ends_out_of_order_count_no_time_twice() {
        let mut accounting = ExportAccounting::default();
        accounting.begins(ms(0));
        accounting.ends(ms(50), Duration::from_ms(50), Duration::ZERO);
        accounting.begins(ms(40));
        accounting.ends(ms(45), Duration::from_ms(5), Duration::ZERO);
        assert_eq!(accounting.account(ms(60), &Waits::default()).busy, Duration::from_ms(50));
    }
}
