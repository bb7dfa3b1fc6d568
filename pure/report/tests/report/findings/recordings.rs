//! Findings about recorded requests and bursts, as a reader meets them.

use super::*;

/// Requests that an application made on other storage, on a model: so many answered in each second, at so long on average.
fn recorded(rates: &[u64], mean_ns: f64) -> RunRecord {
    let mut record = predicted(&[1.0]);
    let cell = &mut record.cells[0];
    let load = cell.load.figures_mut().expect("figures");
    (load.pattern, load.arrival, load.queue_depth) = (Access::Recorded, ArrivalKind::Recorded, None);
    let trial = &mut cell.trials[0];
    let count: u64 = rates.iter().sum();
    let seconds = rates.len() as u64;
    (trial.warm_up_ns, trial.measured_ns) = (0, seconds * 1_000_000_000);
    trial.offered_iops = Some(count as f64 / (seconds - 1) as f64);
    let read = trial.operations.get_mut(&Operation::Read).unwrap();
    (read.count, read.bytes, read.latency) = (count, count * KIB4, latencies(count, mean_ns));
    trial.series.seconds.truncate(rates.len());
    for (second, rate) in trial.series.seconds.iter_mut().zip(rates) {
        let read = &mut second.operations[Operation::Read.index()];
        (read.count, read.bytes) = (*rate, rate * KIB4);
    }
    let model = trial.model.as_mut().unwrap();
    model.bursts_ended.clear();
    model.ceilings.push(Ceiling { limit: Limit::BurstExhausted, iops: 500.0, source: "the disk".into() });
    record.header.verb = RunVerb::Replay;
    record
}

const FALLING: [u64; 12] = [6_000, 6_000, 6_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000];

#[test]
fn a_rate_that_an_application_lowers_is_no_burst_and_what_is_answered_in_time_keeps_the_objective() {
    let summary = summarize(&recorded(&FALLING, 9.65e6));
    assert_eq!(summary.cells[0].lasting, None);
    assert!(texts(&summary, FindingCode::Objective).is_empty(), "{:?}", summary.findings);
    assert_eq!(
        one(&summary, FindingCode::BestThroughput),
        "Came on average to 3,750 IOPS and 15.4 MB/s with recorded reads (4 KiB on average) (4,091 arrivals a second on average)."
    );
    let all = format!("{:?} {:?}", summary.findings, summary.conclusions);
    assert!(!["burst", "in time", "lasts", "ffer more"].iter().any(|word| all.contains(word)), "{all}");
}

#[test]
fn recorded_requests_that_wait_are_told_with_what_they_wait_for() {
    let summary = summarize(&recorded(&FALLING, 204e6));
    assert_eq!(
        one(&summary, FindingCode::Objective),
        "Recorded reads (4 KiB on average) miss 20 ms on average: 204 ms."
    );
    assert_eq!(summary.conclusions.len(), 1);
    let text = concluded(&summary, "text");
    assert!(
        text.starts_with(
            "Recorded reads (4 KiB on average), 4,091 arrivals a second on average, are answered after 204 ms on average"
        ) && text.ends_with("at most: the disk's requests per second bind (disk-iops, predicted)."),
        "{text}"
    );
    assert!(!concluded(&summary, "next").contains("ffer more"));
}

#[test]
fn the_end_of_a_burst_is_told_only_where_the_rate_fell() {
    let told = |before: f64, after: f64| {
        let mut record = predicted(&[1.0]);
        let end = &mut record.cells[0].trials[0].model.as_mut().unwrap().bursts_ended[0];
        (end.iops_before, end.iops_after) = (Some(before), Some(after));
        (end.bytes_per_s_before, end.bytes_per_s_after) = (Some(before * 4_096.0), Some(after * 4_096.0));
        texts(&summarize(&record), FindingCode::BurstEnded).len()
    };
    assert_eq!([told(3_000.0, 500.0), told(509.0, 510.0), told(510.0, 509.0)], [1, 0, 0]);
}

#[test]
fn an_objective_tells_the_doubts_of_the_loads_that_it_rests_on() {
    let objective = |run: &RunRecord| {
        let summary = summarize(run);
        summary.findings.into_iter().find(|f| f.code == FindingCode::Objective).unwrap()
    };
    let mut run = golden();
    let rests_on = objective(&run).cells;
    let cell = run.cells.iter_mut().find(|cell| cell.id == rests_on[0]).unwrap();
    for trial in &mut cell.trials {
        trial.doubts = vec![Doubt::written(DoubtCode::ToolStopped, "The tool did not run.")];
    }
    let told = texts(&summarize(&run), FindingCode::Objective).remove(0);
    assert!(told.contains(" behind it: ") && told.contains("tool-stopped"), "{told}");
}
