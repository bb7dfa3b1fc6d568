//! An even rate at one depth, and tails: what they show of a limit.

use crate::{bindings, counted, even, limits, reads};
use loadline_analysis::example::{ExampleDisk, cell, run};
use loadline_analysis::{Certainty, Limit, summarize};
use loadline_units::Duration;

/// Sixteen requests in flight that all take 13.03 ms: a limit of 1,228, or a device that takes just that.
#[test]
fn a_longer_measurement_of_an_even_rate_names_it_no_worse() {
    let named = |seconds: u64| {
        let summary = summarize(&run(vec![even(reads(16, seconds), 1_228.0)]));
        let verdict = summary.verdict.as_ref().expect("measured").volumes[0].clone();
        (bindings(&summary)[0].clone(), verdict.certainty)
    };
    for seconds in [3, 4, 5, 8, 20] {
        let (binding, _) = named(seconds);
        assert_eq!((binding.limit, binding.presumed), (Limit::DiskIops, true), "{seconds} s: {binding:?}");
        assert!((binding.ceiling_iops.unwrap_or(0.0) - 1_228.0).abs() < 0.5, "{binding:?}");
    }
}

/// One request at a time behind an even limit looks as a device does that takes as long.
#[test]
fn single_requests_at_an_even_rate_are_their_latency() {
    assert_eq!(limits(&run(vec![even(reads(1, 8), 816.0)])), [Limit::Latency]);
}

/// Latencies that are even and counts that are not: neither a limit nor its absence shows.
#[test]
fn even_latencies_with_counts_that_scatter_show_nothing_at_one_depth() {
    let summary =
        summarize(&run(vec![counted(reads(16, 8), &[1_228, 1_190, 1_260, 1_215, 1_240, 1_205, 1_250, 1_222])]));
    assert_ne!(bindings(&summary)[0].limit, Limit::Latency, "{summary:?}");
    let verdict = &summary.verdict.as_ref().expect("measured").volumes[0];
    assert!(matches!(verdict.certainty, Certainty::Unknown | Certainty::Likely), "{verdict:?}");
}

/// One request in 200 takes 200 ms, the others 500 us.
#[test]
fn a_tail_is_no_throttle_where_the_rate_grows_with_the_depth() {
    let tailed = |depth: u32, rate: f64| {
        let disk = ExampleDisk { latency_ns: f64::from(depth) * 1e9 / rate, iops: 1e6, bytes_per_s: f64::MAX };
        let mut cell = cell(reads(depth, 9), &disk, &[1.0]);
        let trial = &mut cell.trials[0];
        for record in trial.operations.values_mut() {
            let slow = record.count / 200;
            record.latency = loadline_analysis::example::latencies(record.count - slow, 500e3);
            (0..slow).for_each(|_| record.latency.record(Duration::from_ms(200)));
        }
        for (place, second) in trial.series.seconds.iter_mut().enumerate() {
            let of = &mut second.operations[0];
            of.count = if place % 2 == 0 { of.count * 19 / 20 } else { of.count * 21 / 20 };
        }
        cell
    };
    let record = run(vec![tailed(1, 544.0), tailed(8, 5_704.0), tailed(32, 19_777.0)]);
    assert_eq!(limits(&record), [Limit::Latency; 3]);
}
