//! Series of several hosts on one time line.

use loadline_record::{Second, SecondOperation, Series, TrialRecord};
use loadline_units::NS_PER_S;

/// A host's trial with the begin of its measured time on the common time line.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) trial: &'a TrialRecord,
    pub(super) from_ns: u64,
}

impl Placed<'_> {
    pub(super) const fn to_ns(self) -> u64 {
        self.from_ns + self.trial.measured_ns
    }

    /// Its seconds, each with its begin and its length on the common time line.
    fn seconds(&self) -> impl Iterator<Item = (u64, u64, &Second)> {
        let series = &self.trial.series;
        let full = u64::from(series.interval_s) * NS_PER_S;
        let last = series.seconds.len().saturating_sub(1);
        (series.seconds.iter().zip(0_u64..)).map(move |(second, index)| {
            let length = if index as usize == last { series.last_ns } else { full };
            (self.from_ns + index * full, length, second)
        })
    }
}

/// The span in which all ran: begin and length.
pub(super) fn window(all: &[Placed<'_>]) -> Option<(u64, u64)> {
    let from = all.iter().map(|one| one.from_ns).max()?;
    let to = all.iter().map(|one| one.to_ns()).min()?;
    (to > from).then(|| (from, to - from))
}

/// How much of `amount`, spread evenly over `length` from `begin` on, comes before `at`.
fn before(amount: u64, begin: u64, length: u64, at: u64) -> u64 {
    let passed = at.saturating_sub(begin).min(length);
    if passed == length { amount } else { (u128::from(amount) * u128::from(passed) / u128::from(length)) as u64 }
}

/// The seconds of one host within a window, in intervals of `interval_s` that begin with it. An interval of the host that lies in two
/// of the window is split in proportion to time; nothing is lost or counted twice by that.
fn cut(placed: Placed<'_>, window: (u64, u64), interval_s: u32) -> Vec<Second> {
    let full = u64::from(interval_s) * NS_PER_S;
    let (from, length) = window;
    let mut cut = vec![Second::default(); length.div_ceil(full) as usize];
    for (begin, span, second) in placed.seconds().filter(|(_, span, _)| *span > 0) {
        let first = begin.saturating_sub(from) / full;
        for index in first.. {
            let (low, high) = (from + index * full, (from + (index + 1) * full).min(from + length));
            let (low, high) = (low.max(begin), high.min(begin + span));
            let Some(into) = cut.get_mut(index as usize).filter(|_| low < high) else { break };
            let share = |amount: u64| before(amount, begin, span, high) - before(amount, begin, span, low);
            for (mine, own) in into.operations.iter_mut().zip(&second.operations) {
                let count = share(own.count);
                if count > 0 {
                    *mine = of_both(mine, &SecondOperation { count, bytes: share(own.bytes), ..*own });
                }
            }
            into.errors += share(second.errors);
            into.outstanding += second.outstanding * (high - low) as f64 / full as f64;
        }
    }
    cut
}

/// Requests of two in one. Their median is the mean of both, by their counts; the far percentile is the larger one, which hides no
/// slow moment.
fn of_both(one: &SecondOperation, other: &SecondOperation) -> SecondOperation {
    let count = one.count + other.count;
    let middle = |a: u64, b: u64| {
        (u128::from(a) * u128::from(one.count) + u128::from(b) * u128::from(other.count)) / u128::from(count.max(1))
    };
    SecondOperation {
        count,
        bytes: one.bytes + other.bytes,
        p50_ns: middle(one.p50_ns, other.p50_ns) as u64,
        p99_ns: one.p99_ns.max(other.p99_ns),
        max_ns: one.max_ns.max(other.max_ns),
    }
}

/// Each host's own series within the window, and that of all together.
pub(super) fn together(all: &[Placed<'_>], window: (u64, u64)) -> (Vec<Series>, Series) {
    let interval_s = all.iter().map(|one| one.trial.series.interval_s).max().unwrap_or(1).max(1);
    let full = u64::from(interval_s) * NS_PER_S;
    let last_ns = match window.1 % full {
        0 => full,
        rest => rest,
    };
    let each: Vec<Series> =
        all.iter().map(|placed| Series { interval_s, seconds: cut(*placed, window, interval_s), last_ns }).collect();
    let mut sum = vec![Second::default(); window.1.div_ceil(full) as usize];
    for (mine, second) in each.iter().flat_map(|series| (0..).zip(&series.seconds)) {
        let mine: &mut Second = &mut sum[mine];
        for (of_all, own) in mine.operations.iter_mut().zip(&second.operations) {
            if own.count > 0 {
                *of_all = of_both(of_all, own);
            }
        }
        mine.errors += second.errors;
        mine.outstanding += second.outstanding;
    }
    // What is outstanding in a last interval that is short is so for that part of it.
    if let Some(last) = sum.last_mut() {
        last.outstanding *= full as f64 / last_ns as f64;
    }
    (each, Series { interval_s, seconds: sum, last_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::merging::tests::trial;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_the_window_has_is_what_hosts_completed_in_it(
            counts in prop::collection::vec(prop::collection::vec(0u64..5_000, 3..12), 1..5),
            late in prop::collection::vec(0u64..2_500_000_000, 5),
        ) {
            let trials: Vec<TrialRecord> = counts.iter().map(|counts| trial(counts)).collect();
            let placed: Vec<Placed<'_>> =
                trials.iter().zip(&late).map(|(trial, from_ns)| Placed { trial, from_ns: *from_ns }).collect();
            let Some(found) = window(&placed) else { return Ok(()) };
            let (each, all) = together(&placed, found);
            let of = |series: &Series| series.seconds.iter().map(Second::count).sum::<u64>();
            prop_assert_eq!(of(&all), each.iter().map(of).sum::<u64>());
            for (series, placed) in each.iter().zip(&placed) {
                // All of it if the window is all of its time, and never more than a share of an interval off.
                let whole: u64 = placed.trial.count();
                prop_assert!(of(series) <= whole);
                if (placed.from_ns, placed.trial.measured_ns) == found {
                    prop_assert_eq!(of(series), whole);
                }
            }
        }
    }

    #[test]
    fn an_interval_in_two_of_the_window_is_split_by_time() {
        let (early, late) = (trial(&[100, 200, 300]), trial(&[1_000, 1_000, 1_000]));
        let placed = [Placed { trial: &early, from_ns: 0 }, Placed { trial: &late, from_ns: 250_000_000 }];
        let found = window(&placed).unwrap();
        assert_eq!(found, (250_000_000, 2_750_000_000));
        let (each, all) = together(&placed, found);
        let counts: Vec<u64> = each[0].seconds.iter().map(Second::count).collect();
        assert_eq!(counts, [75 + 50, 150 + 75, 225]);
        assert_eq!((all.seconds.len(), all.last_ns), (3, 750_000_000));
        assert_eq!(all.seconds[2].count(), 225 + 750);
    }

    #[test]
    fn hosts_that_never_ran_together_have_no_window() {
        let one = trial(&[1, 2]);
        let placed = [Placed { trial: &one, from_ns: 0 }, Placed { trial: &one, from_ns: 2_000_000_000 }];
        assert_eq!(window(&placed), None);
    }
}
