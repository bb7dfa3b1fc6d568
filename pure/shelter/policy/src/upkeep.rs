//! What a service does between saves, and when: it forgets, prunes, reads what is saved, and reads again what looks unchanged.
//!
//! Times of day are arguments, in seconds since 1970. The schedule is kept in a file, so that a restart begins nothing anew. What was
//! missed while the service did not run is made up for, one task after the other.

use crate::config::UpkeepPeriods;
use loadline_units::Duration;
use serde::{Deserialize, Serialize};

/// How often generations are forgotten that no rule keeps.
pub const FORGET_PERIOD_S: i64 = 3_600;
/// How often a repository is pruned.
pub const PRUNE_PERIOD_S: i64 = 86_400;
/// In how many parts everything is read.
pub const READ_SHARES: u32 = 120;

/// A part of all files or packs: number `share` of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadShare {
    /// Which part: 0 to `of` - 1.
    pub share: u32,
    /// How many parts there are.
    pub of: u32,
}

/// Something to do when no save is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpkeepTask {
    /// Generations that no rule keeps are removed.
    Forget,
    /// What no generation needs is removed.
    Prune,
    /// A part of the saved data is read and compared with its hashes.
    Verify(ReadShare),
    /// A part of the disk's files is read although they look unchanged.
    Reread(ReadShare),
}

/// Everything read once, part by part, in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingRound {
    /// When this round began.
    begun_s: Option<i64>,
    /// The part that comes next.
    next: u32,
    /// When the last whole round began: nothing was read longer ago.
    whole_s: Option<i64>,
}

impl ReadingRound {
    fn is_due(&self, now_s: i64, period_s: i64) -> bool {
        self.begun_s.is_none_or(|begun| {
            // A clock that was set back must not stop the reading.
            now_s < begun - period_s || now_s >= begun + period_s * i64::from(self.next) / i64::from(READ_SHARES)
        })
    }

    fn done(&mut self, now_s: i64, period_s: i64) {
        let begun = self.begun_s.unwrap_or(now_s);
        if begun > now_s {
            // The clock was set back: a round begins now.
            *self = Self { begun_s: Some(now_s), next: 0, whole_s: self.whole_s };
            return;
        }
        self.begun_s = Some(begun);
        self.next += 1;
        if self.next >= READ_SHARES {
            self.whole_s = Some(begun);
            // The next round begins a period later, or now if this one took longer.
            self.begun_s = Some((begun + period_s).max(now_s));
            self.next = 0;
        }
    }
}

/// When what is due.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpkeepSchedule {
    forgotten_s: Option<i64>,
    pruned_s: Option<i64>,
    verified: ReadingRound,
    reread: ReadingRound,
    /// Nothing is tried before this.
    #[serde(skip)]
    put_off_until_s: Option<i64>,
}

fn seconds(period: Duration) -> i64 {
    i64::try_from(period.as_ns() / 1_000_000_000).unwrap_or(i64::MAX / 4).max(i64::from(READ_SHARES))
}

fn is_past(last_s: Option<i64>, period_s: i64, now_s: i64) -> bool {
    last_s.is_none_or(|last| !(last..last + period_s).contains(&now_s))
}

impl UpkeepSchedule {
    /// What to do now, if anything.
    #[must_use]
    pub fn due(&self, now_s: i64, periods: UpkeepPeriods) -> Option<UpkeepTask> {
        // A clock that was set back does not wait for its old time.
        if self.put_off_until_s.is_some_and(|until| (until - FORGET_PERIOD_S..until).contains(&now_s)) {
            return None;
        }
        let share = |round: &ReadingRound| ReadShare { share: round.next, of: READ_SHARES };
        if is_past(self.forgotten_s, FORGET_PERIOD_S, now_s) {
            return Some(UpkeepTask::Forget);
        }
        if is_past(self.pruned_s, PRUNE_PERIOD_S, now_s) {
            return Some(UpkeepTask::Prune);
        }
        if self.reread.is_due(now_s, seconds(periods.reread)) {
            return Some(UpkeepTask::Reread(share(&self.reread)));
        }
        let is_due = self.verified.is_due(now_s, seconds(periods.verify));
        is_due.then(|| UpkeepTask::Verify(share(&self.verified)))
    }

    /// A task was done.
    pub fn done(&mut self, task: UpkeepTask, now_s: i64, periods: UpkeepPeriods) {
        match task {
            UpkeepTask::Forget => self.forgotten_s = Some(now_s),
            UpkeepTask::Prune => self.pruned_s = Some(now_s),
            UpkeepTask::Verify(_) => self.verified.done(now_s, seconds(periods.verify)),
            UpkeepTask::Reread(_) => self.reread.done(now_s, seconds(periods.reread)),
        }
    }

    /// Nothing is tried for a while: no longer than an hour.
    pub fn put_off(&mut self, now_s: i64, wait_s: i64) {
        self.put_off_until_s = Some(now_s + wait_s.min(FORGET_PERIOD_S));
    }

    /// Everything that is saved was read since then; `None` before the first whole round.
    #[must_use]
    pub fn verified_s(&self) -> Option<i64> {
        self.verified.whole_s
    }

    /// Every file of the disk was read since then; `None` before the first whole round.
    #[must_use]
    pub fn reread_s(&self) -> Option<i64> {
        self.reread.whole_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const PERIODS: UpkeepPeriods =
        UpkeepPeriods { verify: Duration::from_s(30 * 86_400), reread: Duration::from_s(7 * 86_400) };
    const START: i64 = 1_795_000_000;

    /// Runs a service from a time to another one, with a turn each `step_s`; gives every task with its times.
    fn run(schedule: &mut UpkeepSchedule, from_s: i64, to_s: i64, step_s: i64) -> Vec<(i64, UpkeepTask)> {
        let mut all = Vec::new();
        let mut now = from_s;
        while now < to_s {
            if let Some(task) = schedule.due(now, PERIODS) {
                schedule.done(task, now, PERIODS);
                all.push((now, task));
            }
            now += step_s;
        }
        all
    }

    /// The longest time between two readings of one share, by kind.
    fn longest(all: &[(i64, UpkeepTask)], is_verify: bool) -> (usize, i64) {
        let mut last: BTreeMap<u32, i64> = BTreeMap::new();
        let mut longest = 0;
        for (at, task) in all {
            let share = match task {
                UpkeepTask::Verify(share) if is_verify => share,
                UpkeepTask::Reread(share) if !is_verify => share,
                _ => continue,
            };
            if let Some(before) = last.insert(share.share, *at) {
                longest = longest.max(at - before);
            }
        }
        (last.len(), longest)
    }

    #[test]
    fn a_year_on_a_simulated_clock_forgets_prunes_and_reads_everything_in_its_period() {
        let mut schedule = UpkeepSchedule::default();
        let days = 365;
        let all = run(&mut schedule, START, START + days * 86_400, 300);
        let count = |wanted: UpkeepTask| i64::try_from(all.iter().filter(|(_, task)| *task == wanted).count()).unwrap();
        assert!((days * 24 - 24..=days * 24).contains(&count(UpkeepTask::Forget)), "{}", count(UpkeepTask::Forget));
        assert!((days - 2..=days).contains(&count(UpkeepTask::Prune)), "{}", count(UpkeepTask::Prune));
        // A turn may be taken by another task: a share comes a few turns late at most.
        let (shares, verified) = longest(&all, true);
        assert!(shares == READ_SHARES as usize && verified <= 30 * 86_400 + 3_600, "{shares} {verified}");
        let (shares, reread) = longest(&all, false);
        assert!(shares == READ_SHARES as usize && reread <= 7 * 86_400 + 3_600, "{shares} {reread}");
        let now = START + days * 86_400;
        assert!(schedule.reread_s().is_some_and(|at| now - at <= 2 * 7 * 86_400 + 3_600));
        assert!(schedule.verified_s().is_some_and(|at| now - at <= 2 * 30 * 86_400 + 3_600));
    }

    #[test]
    fn what_was_missed_is_made_up_for_and_a_restart_begins_nothing_anew() {
        let mut schedule = UpkeepSchedule::default();
        run(&mut schedule, START, START + 3 * 86_400, 60);
        let text = serde_json::to_string(&schedule).unwrap();
        let mut schedule: UpkeepSchedule = serde_json::from_str(&text).unwrap();
        // Away for two days, then there again: the shares of these days are read within a few hours.
        let back = START + 5 * 86_400;
        let all = run(&mut schedule, back, back + 4 * 3_600, 60);
        let reread: Vec<u32> = all
            .iter()
            .filter_map(|(_, task)| match task {
                UpkeepTask::Reread(share) => Some(share.share),
                _ => None,
            })
            .collect();
        assert!(reread.len() >= 120 * 2 / 7, "{reread:?}");
        assert!(reread.windows(2).all(|pair| pair[1] == pair[0] + 1), "no share is left out: {reread:?}");
    }

    #[test]
    fn a_clock_that_is_set_back_stops_nothing_and_a_failure_waits_an_hour_at_most() {
        let mut schedule = UpkeepSchedule::default();
        run(&mut schedule, START, START + 40 * 86_400, 600);
        let earlier = START - 1_000 * 86_400;
        let all = run(&mut schedule, earlier, earlier + 8 * 86_400, 600);
        assert_eq!(longest(&all, false).0, READ_SHARES as usize, "each share was read in the week after");
        schedule.put_off(earlier, 1_000_000);
        assert_eq!(schedule.due(earlier + 3_599, PERIODS), None);
        assert!(schedule.due(earlier + 3_600, PERIODS).is_some());
    }
}
