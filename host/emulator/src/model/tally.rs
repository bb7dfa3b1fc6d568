//! What became of an export's time: how long something was asked of it, and how long its requests took.

use super::Model;
use crate::held::Account;
use loadline_disk::Waits;
use loadline_units::{Duration, Instant};
use std::collections::VecDeque;

/// Of one export. It is told of requests when they come and when they end; the ends come in the order of time, the beginnings
/// too, but an end may be told of after a request that came later.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Beginnings that no end was told of after.
    begun: VecDeque<Instant>,
    outstanding: u64,
    /// When the first of those outstanding came.
    since: Instant,
    busy: Duration,
    first: Option<Instant>,
    last: Instant,
    requests: u64,
    at_disk: Duration,
    faults: Duration,
    /// Of machines that were replaced.
    before: Waits,
}

impl Tally {
    #[inline]
    pub(super) fn begins(&mut self, at: Instant) {
        self.first.get_or_insert(at);
        self.begun.push_back(at);
    }

    /// A request ended that took `at_disk` in the machine and was held by `faults` beyond it.
    #[inline]
    pub(super) fn ends(&mut self, at: Instant, at_disk: Duration, faults: Duration) {
        while self.begun.front().is_some_and(|begun| *begun <= at) {
            self.count_next();
        }
        // Where several machines answer, an end may be told of after a later one.
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
    pub(super) fn account(&self, now: Instant, waits: &Waits) -> Account {
        let since = if self.outstanding > 0 { Some(self.since) } else { self.begun.front().copied() };
        let going_on = since.map_or(Duration::ZERO, |since| now.max(since).since(since));
        Account {
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

impl Model {
    /// What the requests to an export waited for so far, and how long it took.
    #[must_use]
    pub fn account(&self, now: Instant, export: usize) -> Account {
        let mut waits = Waits::default();
        for generation in &self.generations {
            waits = waits.and(&generation.held(export));
        }
        let mut account = self.tallies[export].account(now, &waits);
        for slot in self.slots.iter().filter(|slot| slot.in_use && usize::from(slot.export) == export) {
            let since = now.max(slot.submitted_at).since(slot.submitted_at);
            account.asked_time = account.asked_time + since;
            if slot.is_detained() {
                account.faults = account.faults + since;
            }
        }
        account
    }

    /// Keeps what is known of machines that answered all they were asked and take no more.
    pub(super) fn retire(&mut self) {
        let last = self.generations.len() - 1;
        for index in (0..last).rev() {
            if self.generations[index].machine.outstanding() == 0 {
                let generation = self.generations.remove(index);
                for (export, tally) in self.tallies.iter_mut().enumerate() {
                    tally.before = tally.before.and(&generation.held(export));
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
        let mut tally = Tally::default();
        tally.begins(ms(10));
        tally.begins(ms(12));
        tally.ends(ms(15), Duration::from_ms(5), Duration::ZERO);
        // Told of late: it ended before the next one came.
        tally.begins(ms(30));
        tally.ends(ms(20), Duration::from_ms(8), Duration::ZERO);
        tally.ends(ms(34), Duration::from_ms(1), Duration::from_ms(3));
        let account = tally.account(ms(100), &Waits::default());
        assert_eq!((account.first, account.last), (Some(ms(10)), ms(34)));
        assert_eq!(account.busy, Duration::from_ms(10 + 4));
        assert_eq!((account.at_disk, account.faults), (Duration::from_ms(14), Duration::from_ms(3)));
        tally.begins(ms(90));
        assert_eq!(tally.account(ms(100), &Waits::default()).busy, Duration::from_ms(14 + 10));
    }

    #[test]
    fn ends_out_of_order_count_no_time_twice() {
        let mut tally = Tally::default();
        tally.begins(ms(0));
        tally.ends(ms(50), Duration::from_ms(50), Duration::ZERO);
        tally.begins(ms(40));
        tally.ends(ms(45), Duration::from_ms(5), Duration::ZERO);
        assert_eq!(tally.account(ms(60), &Waits::default()).busy, Duration::from_ms(50));
    }
}
