//! What figures of storage can be, whatever a file says.

use loadline_demand::Demand;
use loadline_imported::Results;

/// More requests, or bytes, in a second than any machine does.
const REQUESTS_MAX: f64 = 2e9;
const BYTES_MAX: f64 = 2e13;
/// No request takes longer than a year, ns, and no interval either, s.
const LATENCY_MAX: f64 = 3.2e16;
const LENGTH_MAX: f64 = 3.2e7;
/// Requests in flight of one machine.
const IN_FLIGHT_MAX: f64 = 1e9;
/// Shares of time of several devices together.
const BUSY_MAX: f64 = 1_000.0;

/// What is wrong with a demand.
#[must_use]
pub fn wrong_demand(demand: &Demand) -> Option<String> {
    let within = |value: f64, most: f64| (0.0..=most).contains(&value);
    let wrong = demand.intervals.iter().find(|one| {
        let is_plausible = one.length_s > 0.0
            && within(one.length_s, LENGTH_MAX)
            && within(one.reads_per_s, REQUESTS_MAX)
            && within(one.writes_per_s, REQUESTS_MAX)
            && within(one.read_bytes_per_s, BYTES_MAX)
            && within(one.write_bytes_per_s, BYTES_MAX)
            && one.in_flight.is_none_or(|value| within(value, IN_FLIGHT_MAX))
            && one.latency_ns.is_none_or(|value| within(value, LATENCY_MAX))
            && one.limited_part.is_none_or(|value| within(value, 1.0))
            && one.busy.is_none_or(|value| within(value, BUSY_MAX));
        !is_plausible
    });
    wrong.map(|one| format!("{one:?}"))
}

/// What is wrong with imported results.
#[must_use]
pub fn wrong_results(results: &Results) -> Option<String> {
    let wrong = results.jobs.iter().find(|job| {
        let trial = &job.trial;
        let within = |value: Option<f64>, most: f64| value.is_some_and(|value| (0.0..=most).contains(&value));
        let latencies = trial.operations.values().filter_map(loadline_record::OperationRecord::figures);
        !within(trial.iops(), REQUESTS_MAX)
            || !within(trial.bytes_per_s(), BYTES_MAX)
            || !latencies.into_iter().all(|figures| (0.0..=LATENCY_MAX).contains(&figures.mean))
            || job.span_ms.0 > job.span_ms.1
    });
    wrong.map(|job| format!("{}: {:?} IOPS, {:?} bytes/s", job.name, job.trial.iops(), job.trial.bytes_per_s()))
}
