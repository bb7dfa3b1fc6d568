//! Open loops that complete nearly all of what they offer while what is missing waits, and the longer they last the longer.

use crate::doubts::{in_flight_at_the_end, many_missed};
use crate::trials::trials_used;
use loadline_block::Operation;
use loadline_record::{CellRecord, TrialRecord};

/// Fewer requests more at the end than at the begin are chance,
pub(super) const GROWN_MIN: f64 = 20.0;
/// and so is less than this share of what was offered.
pub(super) const GROWN_SHARE_MIN: f64 = 0.002;
/// Requests that wait for so much of their time are held, whatever share of them is completed.
const WAITED_MOST: f64 = 0.5;
/// Who waits in a queue waits no longer than requests take; that much more leaves room for a queue that does not grow evenly.
const WAITED_MAX: f64 = 1.5;

/// Whether arrivals were never issued, or a queue grew in which requests spent half of their time or more.
pub(super) fn is_left_waiting(record: &CellRecord) -> bool {
    let trials = trials_used(record);
    let count = |is: fn(&TrialRecord) -> bool| trials.iter().filter(|trial| is(trial)).count();
    !record.load.is_of_others() && (count(many_missed) > 0 || count(queue_grew) * 2 > trials.len())
}

/// What was due and not completed waits at the end: over the time half as many did, on average, so that by Little's law each request
/// waited half as many over the rate.
fn queue_grew(trial: &TrialRecord) -> bool {
    let Some((offered, rate)) = trial.offered_iops.zip(trial.iops()).filter(|(_, rate)| *rate > 0.0) else {
        return false;
    };
    let measured_s = trial.measured_ns as f64 / 1e9;
    let grown = (offered - rate) * measured_s - in_flight_at_the_end(trial, offered);
    let transfers = trial.operations.iter().filter(|(operation, _)| **operation != Operation::Flush);
    let taken = transfers.map(|(_, of)| (of.latency.mean_ns().unwrap_or(0.0) / 1e9, of.latency.count() as f64));
    let (taken_s, count) = taken.fold((0.0, 0.0), |sum, (mean, count)| (sum.0 + mean * count, sum.1 + count));
    let waited = grown / 2.0 / rate / (taken_s / count);
    grown >= GROWN_MIN
        && grown >= GROWN_SHARE_MIN * offered * measured_s
        && (WAITED_MOST..=WAITED_MAX).contains(&waited)
}

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, latencies, open, run};
    use crate::summarize;
    use crate::{AdvisedStep, LoadReached};
    use loadline_record::{CellRecord, Limit, RunRecord};

    /// 0.6 % more than the example's disk has, for a minute: 1,800 are left in the end, and 0.18 s were waited on average.
    fn overloaded(mean_ns: f64) -> CellRecord {
        let mut cell = cell(open("random", 1.0, 4096, 5_030.0), &ExampleDisk::default(), &[1.0]);
        let read = cell.trials[0].operations.values_mut().next().unwrap();
        read.latency = latencies(read.count, mean_ns);
        cell.trials[0].missed = 0;
        cell
    }

    fn limit(cell: CellRecord) -> Limit {
        summarize(&run(vec![cell])).cells[0].binding.as_ref().unwrap().limit
    }

    #[test]
    fn a_queue_that_grows_is_no_load_that_is_met() {
        assert_eq!(limit(overloaded(180e6)), Limit::DiskIops);
        // Half of what requests take at least was waited; and what is issued late, and only counts from then on, waited in no queue.
        assert_eq!([2e6, 500e6].map(|mean| limit(overloaded(mean))), [Limit::Arrival; 2]);
        let record: RunRecord = run(vec![overloaded(180e6)]);
        let told = summarize(&record).conclusions.remove(0);
        let LoadReached::Overloaded { up_to, at, rate, .. } = &told.reached else { panic!("{told:?}") };
        assert_eq!((up_to, at.as_str()), (&None, "5,030 arrivals a second"));
        assert!(rate.iops.is_some_and(|iops| (iops - 5_005.0).abs() < 6.0), "{rate:?}");
        let offers_more = |step: &AdvisedStep| matches!(step, AdvisedStep::MoveLimit { limit: Limit::Arrival, .. });
        assert!(!told.steps.is_empty() && !told.steps.iter().any(offers_more), "{told:?}");
    }

    #[test]
    fn arrivals_that_were_never_issued_are_not_met() {
        let missing = |missed: u64| {
            let mut cell = cell(open("random", 1.0, 4096, 4_000.0), &ExampleDisk::default(), &[1.0]);
            cell.trials[0].missed = missed;
            limit(cell)
        };
        assert_eq!(missing(3), Limit::Arrival);
        assert_ne!(missing(1_000), Limit::Arrival);
    }
}
