//! The figures of a load held against each other: what cannot be beside the others is taken back, and both are said.

use crate::told::Figures;
use loadline_block::Operation;
use loadline_record::HistogramSnapshot;
use loadline_workload::LoadSpec;

/// Figures that differ by less are the same: tools round them.
const SAME: f64 = 0.1;

/// Holds rates, latencies and percentiles against each other. A latency that contradicts them is taken back.
///
/// Returns a sentence for each contradiction, with both figures.
pub(crate) fn hold(spec: &LoadSpec, seconds: f64, operations: &mut [(Operation, Figures)]) -> Vec<String> {
    let mut found = Vec::new();
    for (operation, figures) in operations.iter_mut() {
        let Some(latency) = figures.latency else { continue };
        if let Some((share, at_ns)) = contradiction(&latency) {
            let ms = |ns: f64| ns / 1e6;
            found.push(format!(
                "A mean latency of {:.3} ms and {share} % within {:.3} ms contradict each other (operation {}): these latencies are left out",
                ms(latency.mean),
                ms(at_ns),
                operation.name(),
            ));
            figures.latency = None;
        }
    }
    let Some(outstanding) = spec.outstanding().filter(|_| seconds > 0.0) else { return found };
    let data = |operation: &Operation| *operation != Operation::Flush;
    let told = operations.iter().filter(|(operation, _)| data(operation));
    let in_flight: f64 =
        told.filter_map(|(_, figures)| Some(figures.count as f64 / seconds * figures.latency?.mean / 1e9)).sum();
    if in_flight > outstanding as f64 * (1.0 + SAME) {
        found.push(format!(
            "Its rate and its mean latency come to {in_flight:.1} requests in flight, and it had {outstanding} at most: its latencies are left out"
        ));
        for (_, figures) in operations.iter_mut() {
            figures.latency = None;
        }
    }
    found
}

/// A percentile that the mean rules out: its share in percent, and the time, ns. At least so many take at least so long.
fn contradiction(latency: &HistogramSnapshot) -> Option<(f64, f64)> {
    let all = [
        (50.0, latency.p50),
        (90.0, latency.p90),
        (95.0, latency.p95),
        (99.0, latency.p99),
        (99.9, latency.p99_9),
        (99.99, latency.p99_99),
    ];
    let least = latency.min.unwrap_or(0) as f64;
    let max = latency.max as f64;
    all.into_iter().filter_map(|(share, at)| Some((share, at? as f64))).find(|(share, at)| {
        let above = 1.0 - share / 100.0;
        let mean_min = above * at + (1.0 - above) * least;
        let mean_max = (1.0 - above) * at + above * max;
        // A percentile may be the end of a bucket, above the largest.
        latency.mean * (1.0 + SAME) < mean_min.min(max) * (1.0 - SAME)
            || latency.mean * (1.0 - SAME) > mean_max.max(*at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::told::Shape;

    fn held(count: u64, latency: HistogramSnapshot) -> (bool, Vec<String>) {
        let shape = Shape { is_random: true, reads: 1.0, block: 4096, depth: 4, threads: 2, is_buffered: false };
        let figures = Figures { count, bytes: count * 4096, latency: Some(latency) };
        let mut operations = [(Operation::Read, figures)];
        let found = hold(&shape.spec("a"), 10.0, &mut operations);
        (operations[0].1.latency.is_some(), found)
    }

    const SOUND: HistogramSnapshot = HistogramSnapshot {
        mean: 1e6,
        stddev: None,
        min: Some(100_000),
        max: 20_000_000,
        p50: Some(800_000),
        p90: Some(1_900_000),
        p95: Some(2_500_000),
        p99: Some(6_000_000),
        p99_9: Some(20_100_000),
        p99_99: None,
    };

    #[test]
    fn what_agrees_is_left_as_it_is() {
        assert_eq!(held(80_000, SOUND), (true, vec![]));
        // The least that can be: half are at the median, the others at the least.
        let skewed = HistogramSnapshot { mean: 450_000.0, ..SOUND };
        assert_eq!(held(80_000, skewed), (true, vec![]));
    }

    #[test]
    fn more_in_flight_than_were_asked_for_is_said_with_both() {
        let (kept, found) = held(160_000, SOUND);
        assert!(!kept && found[0].contains("come to 16.0 requests in flight, and it had 8 at most"), "{found:?}");
    }

    #[test]
    fn a_mean_that_percentiles_rule_out_is_said_with_both() {
        // A unit of its own for the mean.
        for mean in [1e3, 19e6] {
            let (kept, found) = held(100, HistogramSnapshot { mean, ..SOUND });
            assert!(!kept && found[0].contains("contradict each other"), "{found:?}");
        }
    }
}
