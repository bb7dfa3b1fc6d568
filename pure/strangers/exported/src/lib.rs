//! Exports runs in the formats of other tools: fio's results, OpenMetrics, timelines, and what CI systems read; and plans as their commands.
//!
//! Doubts stand with their figures in every form. Facts without an equivalent are stated in words, not left out.

mod benchmarks;
mod commands;
mod counters;
pub mod fio;
mod junit;
mod openmetrics;
pub mod perfetto;

pub use benchmarks::{Improvement, benchmarks};
pub use commands::{CommandTool, Commands, Refused, commands};
pub use counters::Counters;
pub use junit::{JUNIT_MARK, junit};
pub use loadline_exposition::Dialect;
pub use openmetrics::openmetrics;

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::example::{ExampleDisk, cell, closed, run};
    use loadline_analysis::summarize;
    use loadline_block::Operation;
    use loadline_record::{Histogram, HistogramSnapshot, RunVerb, WatchEvents, WatchRecord};

    #[test]
    fn the_highest_mean_of_a_watch_is_not_exported_as_the_largest_latency() {
        let exported = |events: Option<WatchEvents>| {
            let mut record = run(vec![cell(closed("random", 1.0, 4096, 8), &ExampleDisk::default(), &[1.0])]);
            record.header.verb = RunVerb::Watch;
            let trial = &mut record.cells[0].trials[0];
            let read = trial.operations.get_mut(&Operation::Read).expect("it reads");
            (read.latency, read.service) = (Histogram::default(), None);
            read.told = Some(HistogramSnapshot {
                mean: 2e6,
                stddev: Some(5e5),
                min: Some(1_000_000),
                max: 7_000_000,
                ..HistogramSnapshot::default()
            });
            trial.watched = Some(Box::new(WatchRecord { events, ..WatchRecord::default() }));
            let summary = summarize(&record);
            let fio: serde_json::Value = serde_json::from_str(&fio::fio(&record, &summary)).expect("JSON");
            (fio["jobs"][0]["read"]["clat_ns"].clone(), openmetrics(&summary, None))
        };
        let (clat, metrics) = exported(None);
        assert_eq!((&clat["mean"], clat.get("min"), clat.get("max")), (&2e6.into(), None, None));
        assert_eq!(clat["stddev"], 5e5, "what another tool told is kept");
        assert!(metrics.contains("latency_mean_seconds{") && !metrics.contains("latency_max_seconds{"), "{metrics}");
        // With the kernel's events each request has its latency.
        let (clat, metrics) = exported(Some(WatchEvents::default()));
        assert_eq!((&clat["min"], &clat["max"]), (&1_000_000.into(), &7_000_000.into()));
        assert!(metrics.contains("latency_max_seconds{"), "{metrics}");
    }
}
