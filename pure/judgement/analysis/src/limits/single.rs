//! Single requests that spend their time waiting, though nothing else is outstanding: what they take is no time of the device.

use crate::curves::{outstanding, paced};
use crate::summary::{CellSummary, OperationFigures};

/// The mean of a service time is no such multiple of its median: of a log-normal one at 10 a hundredth would take 150 times the median.
const WAITS_IN_TURNS: f64 = 10.0;

/// Whether single requests, most of which are quick, spend their time on a few that wait: by their mean and median latency, ns.
pub(super) fn waiting_alone(cell: &CellSummary) -> Option<(f64, f64)> {
    if outstanding(cell) != Some(1) || paced(cell) {
        return None;
    }
    let time = |of: &&OperationFigures| of.iops * of.latency_ns.mean;
    let most =
        [&cell.read, &cell.write, &cell.trim].into_iter().flatten().max_by(|a, b| time(a).total_cmp(&time(b)))?;
    let (mean, median) = (most.latency_ns.mean, most.latency_ns.p50? as f64);
    (median > 0.0 && mean > median * WAITS_IN_TURNS).then_some((mean, median))
}

/// Whether they do.
pub(super) fn waits_alone(cell: &CellSummary) -> bool {
    waiting_alone(cell).is_some()
}

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, closed, latencies, run};
    use crate::limits::listing::{Quantity, limits};
    use crate::summarize;
    use crate::words::shows;
    use loadline_block::Operation;
    use loadline_record::{CellRecord, Fact, Limit, LimitSource, RunRecord, WaitingFact};
    use loadline_units::Duration;

    /// A load of one request at a time, nine of ten of which take 5 us and the others anything from 0.2 ms to 20 ms, at `rate` that changes
    /// from second to second.
    fn stalling(rate: f64) -> CellRecord {
        let disk = ExampleDisk { latency_ns: 1e9 / rate, iops: rate, bytes_per_s: 1e9 };
        let mut cell = cell(closed("random", 1.0, 4 << 10, 1), &disk, &[1.0]);
        for trial in &mut cell.trials {
            for record in trial.operations.values_mut() {
                let slow = record.count / 10;
                record.latency = latencies(record.count - slow, 5e3);
                for place in 0..slow {
                    let share = place as f64 / slow as f64;
                    record.latency.record(Duration::from_ns((200e3 * 100f64.powf(share)) as u64));
                }
            }
            for (place, second) in trial.series.seconds.iter_mut().enumerate() {
                let of = &mut second.operations[Operation::Read.index()];
                of.count = if place % 2 == 0 { of.count / 2 } else { of.count * 3 / 2 };
            }
        }
        cell
    }

    #[test]
    fn single_requests_of_which_a_few_take_most_of_the_time_are_not_bound_by_latency() {
        let alone = run(vec![stalling(1_766.0)]);
        let binding = summarize(&alone).cells[0].binding.clone().unwrap();
        assert_eq!(binding.limit, Limit::Unexplained, "{binding:?}");
        assert!(shows!(binding, Fact::Waiting(WaitingFact::FewWait { .. })), "{binding:?}");
        let of_latency = |record: &RunRecord| limits(record).into_iter().any(|f| f.quantity == Quantity::LatencyNs);
        assert!(!of_latency(&alone));
        // Deeper queues show for what they wait.
        let disk = ExampleDisk { latency_ns: 20e3, iops: 2_000.0, bytes_per_s: 1e9 };
        let mut cells = vec![stalling(1_766.0)];
        cells.extend([4, 16].map(|depth| cell(closed("random", 1.0, 4 << 10, depth), &disk, &[1.0])));
        let held = run(cells);
        let binding = summarize(&held).cells[0].binding.clone().unwrap();
        assert_eq!(
            (binding.limit, binding.ceiling_iops.map(f64::round)),
            (Limit::DiskIops, Some(2_000.0)),
            "{binding:?}"
        );
        assert!(!of_latency(&held));
        // Where the mean is the median's like, it is the device's time.
        let disk = ExampleDisk { latency_ns: 566e3, ..ExampleDisk::default() };
        let plain = run(vec![cell(closed("random", 1.0, 4 << 10, 1), &disk, &[1.0])]);
        assert_eq!(summarize(&plain).cells[0].binding.as_ref().unwrap().limit, Limit::Latency);
        let figures = limits(&plain);
        let own = figures.iter().find(|f| f.quantity == Quantity::LatencyNs).unwrap();
        assert!(own.low.unwrap() < own.value && own.value < own.high.unwrap(), "{own:?}");
    }

    #[test]
    fn the_break_point_is_that_of_the_limits_that_are_listed() {
        let disk = ExampleDisk { latency_ns: 100e3, iops: 2_000.0, bytes_per_s: 50e6 };
        let loads = [(4u64 << 10, 8, 1.0), (4 << 10, 32, 0.97), (128 << 10, 8, 0.99), (128 << 10, 32, 1.01)];
        let noisy = |factor: f64| [factor, factor * 1.01, factor * 0.99];
        let cells =
            loads.map(|(block, depth, factor)| cell(closed("random", 1.0, block, depth), &disk, &noisy(factor)));
        let figures = limits(&run(cells.into()));
        let of = |quantity| figures.iter().find(|f| f.quantity == quantity).unwrap();
        let (requests, bytes) = (of(Quantity::RequestsPerS), of(Quantity::BytesPerS));
        let size = of(Quantity::BreakPointBytes);
        assert!((size.value - bytes.value / requests.value).abs() < 1e-9, "{size:?}");
        let source = LimitSource::BreakPoint { bytes_per_s: bytes.value, rate_iops: requests.value };
        assert_eq!(size.source, source);
        assert!(size.low.unwrap() < size.value && size.value < size.high.unwrap(), "{size:?}");
    }
}
