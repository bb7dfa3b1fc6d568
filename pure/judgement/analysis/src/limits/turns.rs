//! Requests that wait for a turn, by their own latencies: what they take ends where service times do not, or a few take far longer than
//! most would have it.

use crate::trials::trials_used;
use loadline_record::{CellRecord, Histogram};
use std::collections::BTreeMap;

/// Of a log-normal time whose mean is so many times its tenth percentile the 99th percentile is 1.8 times the 90th.
const MEAN_MIN: f64 = 2.5;
/// Waits for a turn end with it: the 99th percentile is no more than so many times the 90th.
const END_MAX: f64 = 1.3;
/// A mean so many times what the median and the 90th percentile make of it as of a log-normal time: most of the time a few wait.
const TAIL_MIN: f64 = 2.0;
/// Fewer latencies have no shape.
const COUNT_MIN: u64 = 100;
/// Of the normal distribution, the 90th percentile.
const NORMAL_90: f64 = 1.281_551_565_545;

/// Whether requests of the operation that takes most of a closed loop's time wait for a turn for most of theirs.
pub(super) fn waits_for_turns(cell: &CellRecord) -> bool {
    let load = cell.load.figures();
    if load.queue_depth.is_none() || load.rate_iops.is_some() {
        return false;
    }
    let mut all = BTreeMap::new();
    for trial in trials_used(cell) {
        for (operation, record) in &trial.operations {
            if record.waiting.is_some() {
                return false;
            }
            all.entry(*operation).or_insert_with(Histogram::new).merge(&record.latency);
        }
    }
    all.values().max_by_key(|latency| latency.sum_ns()).is_some_and(|latency| in_turns(latency).unwrap_or(false))
}

fn in_turns(latency: &Histogram) -> Option<bool> {
    let at = |share: f64| latency.quantile(share).map(|of| of.as_ns() as f64).filter(|ns| *ns > 0.0);
    let (mean, p10, p50, p90, p99) = (latency.mean_ns()?, at(0.1)?, at(0.5)?, at(0.9)?, at(0.99)?);
    let scale = libm::log(p90 / p50) / NORMAL_90;
    let as_most = p50 * libm::exp(scale * scale / 2.0);
    let ends = mean >= MEAN_MIN * p10 && p99 <= END_MAX * p90;
    Some(latency.count() >= COUNT_MIN && (ends || mean >= TAIL_MIN * as_most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::summarize;
    use crate::words::shows;
    use loadline_block::Operation;
    use loadline_record::{Fact, Limit, RunRecord, WaitingFact};
    use loadline_units::Duration;

    /// So many latencies at even shares of a distribution, ns.
    fn at_shares(count: u64, of: impl Fn(f64) -> f64) -> Histogram {
        let mut all = Histogram::new();
        (0..count).for_each(|i| all.record(Duration::from_ns(of((i as f64 + 0.5) / count as f64) as u64)));
        all
    }
    /// A log-normal time, by an approximation of the normal quantile within a thousandth (Abramowitz and Stegun 26.2.23).
    fn log_normal(median: f64, sigma: f64) -> impl Fn(f64) -> f64 {
        move |share: f64| {
            let tail = share.min(1.0 - share);
            let t = libm::sqrt(-2.0 * libm::log(tail));
            let z = t
                - (2.515_517 + t * (0.802_853 + t * 0.010_328))
                    / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
            median * libm::exp(sigma * if share < 0.5 { -z } else { z })
        }
    }

    #[test]
    fn service_times_are_no_turns_however_far_they_spread() {
        for sigma in [0.1, 0.6, 1.0, 1.5] {
            assert_eq!(in_turns(&at_shares(10_000, log_normal(1e6, sigma))), Some(false), "{sigma}");
        }
        // Nor are the ways of a head.
        assert_eq!(in_turns(&at_shares(10_000, |share| 4e6 + 14e6 * share)), Some(false));
    }

    #[test]
    fn a_turn_of_one_disk_of_a_stripe_is_one() {
        // Half go at once; the disk that was asked just before lets the others wait until its turn ends, 4.2 ms later.
        let stripe = at_shares(10_000, |share| if share < 0.6 { log_normal(3e5, 0.4)(share / 0.6) } else { 4.2e6 });
        assert_eq!(in_turns(&stripe), Some(true));
        // One in fifty waits for the next window.
        let few = at_shares(10_000, |share| {
            if share < 0.98 { log_normal(3e5, 0.4)(share / 0.98) } else { 20e6 + 60e6 * (share - 0.98) / 0.02 }
        });
        assert_eq!(in_turns(&few), Some(true));
    }

    /// A depth sweep of a stripe of four disks of 238 IOPS each: a single request waits where the one before it went to the same disk.
    fn stripe() -> RunRecord {
        let disk = |rate: f64, depth: f64| ExampleDisk { latency_ns: depth * 1e9 / rate, iops: rate, bytes_per_s: 1e9 };
        let mut cells: Vec<CellRecord> = [(1u32, 507.0), (8, 823.0), (64, 932.0)]
            .map(|(depth, rate)| cell(closed("random", 0.0, 8 << 10, depth), &disk(rate, f64::from(depth)), &[1.0]))
            .into();
        cells.push(cell(closed("random", 0.0, 1 << 20, 64), &disk(59.5, 64.0), &[1.0]));
        let trial = &mut cells[0].trials[0];
        let record = trial.operations.get_mut(&Operation::Write).unwrap();
        record.latency =
            at_shares(record.count, |share| if share < 0.6 { log_normal(4.2e5, 0.4)(share / 0.6) } else { 4.2e6 });
        for (place, second) in trial.series.seconds.iter_mut().enumerate() {
            second.operations[Operation::Write.index()].count = 507 + 20 * (place as u64 % 2);
        }
        run(cells)
    }

    #[test]
    fn a_single_request_that_waits_for_turns_has_the_limit_that_deeper_queues_show() {
        let found = summarize(&stripe()).cells;
        let shallow = found[0].binding.as_ref().unwrap();
        assert_eq!(shallow.limit, Limit::DiskIops, "{shallow:?}");
        assert!((shallow.ceiling_iops.unwrap() - 932.0).abs() < 1.0, "{shallow:?}");
        assert!(shows!(shallow, Fact::Waiting(WaitingFact::WaitsForTurn)), "{shallow:?}");
    }
}
