//! A run as text that Prometheus and OpenMetrics (github.com/prometheus/OpenMetrics, 1.0) both read: gauges by cell, for collectors that
//! read files or are pushed to.
//!
//! Samples have no timestamp of their own, since such collectors refuse them; the start of the run is a figure beside
//! them.

use loadline_analysis::{CellSummary, OperationFigures, RunSummary};
use loadline_exposition::{Exposition, Labels};
use loadline_record::{Clock, HistogramSnapshot};

/// The exported percentiles, with the label of each.
type Percentile = (&'static str, fn(&HistogramSnapshot) -> Option<u64>);
const PERCENTILES: [Percentile; 6] = [
    ("0.5", |of| of.p50),
    ("0.9", |of| of.p90),
    ("0.95", |of| of.p95),
    ("0.99", |of| of.p99),
    ("0.999", |of| of.p99_9),
    ("0.9999", |of| of.p99_99),
];

/// The run as OpenMetrics, which Prometheus reads as its own text. Units are seconds, bytes and requests per second; an unknown figure has no sample.
/// `started_unix_s` is the start of the run, seconds since 1970.
#[must_use]
pub fn openmetrics(summary: &RunSummary, started_unix_s: Option<u64>) -> String {
    let mut text = Exposition::file();
    let run = &summary.run;
    let clock = if run.clock == Clock::Real { "real" } else { "virtual" };
    let own = Labels::of(&[("run", &run.id), ("name", &run.name), ("clock", clock), ("version", &run.version)]);
    text.gauge("run_info", "The run, and whether it was measured or predicted.", [(own, 1.0)]);
    if let Some(started) = started_unix_s {
        let sample = (Labels::of(&[("run", &run.id)]), started as f64);
        let help = "When the run began, since 1970.";
        text.gauge("run_started_timestamp_seconds", help, [sample]);
    }
    let cells = &summary.cells;
    let by_cell = |of: fn(&CellSummary) -> Option<f64>| {
        cells.iter().filter_map(move |cell| Some((of_cell(&run.id, cell, &[]), of(cell)?)))
    };
    let info = cells.iter().map(|cell| {
        let load = &cell.load;
        let (reads, block) = (load.read_ratio.to_string(), load.block_bytes.to_string());
        let (depth, threads) = (load.queue_depth.map_or_else(String::new, |d| d.to_string()), load.threads.to_string());
        let more = [
            ("label", cell.label.as_str()),
            ("pattern", load.pattern.name()),
            ("read_ratio", &reads),
            ("block_bytes", &block),
            ("queue_depth", &depth),
            ("threads", &threads),
            ("arrival", load.arrival.name()),
        ];
        (of_cell(&run.id, cell, &more), 1.0)
    });
    text.gauge("cell_info", "The load of a cell; queue_depth is that of each thread, of closed loops.", info);
    let doubts = cells.iter().flat_map(|cell| {
        let mut codes: Vec<&str> = cell.doubts.iter().map(|doubt| doubt.code.name()).collect();
        codes.dedup();
        codes.into_iter().map(|code| (of_cell(&run.id, cell, &[("code", code)]), 1.0)).collect::<Vec<_>>()
    });
    text.gauge("doubt_info", "Why the figures of a cell should not be believed as they stand.", doubts);
    let bound = cells.iter().filter_map(|cell| {
        let binding = cell.binding.as_ref()?;
        let inferred = if binding.inferred { "true" } else { "false" };
        Some((of_cell(&run.id, cell, &[("limit", binding.limit.name()), ("inferred", inferred)]), 1.0))
    });
    text.gauge("binding_info", "What bound a cell.", bound);
    let ceilings = cells.iter().flat_map(|cell| {
        cell.ceilings
            .iter()
            .map(|of| (of_cell(&run.id, cell, &[("limit", of.limit.name())]), of.iops))
            .collect::<Vec<_>>()
    });
    text.gauge("ceiling_iops", "Limits of a cell, put as requests per second of its load.", ceilings);
    let offered = by_cell(|cell| cell.offered_iops);
    text.gauge("offered_iops", "Requests per second that an open loop offered.", offered);
    let low = by_cell(|cell| cell.total.as_ref()?.iops_low);
    text.gauge("iops_low", "Lower end of the interval of all requests per second.", low);
    let high = by_cell(|cell| cell.total.as_ref()?.iops_high);
    text.gauge("iops_high", "Upper end of the interval of all requests per second.", high);
    let errors = by_cell(|cell| Some(cell.errors as f64));
    text.gauge("errors", "Requests that failed.", errors);
    text.gauge("iops", "Requests completed per second.", figures(summary, |of| Some(of.iops)));
    let throughput = figures(summary, |of| Some(of.throughput_bytes_per_s));
    text.gauge("throughput_bytes_per_second", "Bytes completed per second.", throughput);
    let seconds = |ns: f64| ns / 1e9;
    let mean = figures(summary, move |of| Some(seconds(of.latency_ns.mean)));
    let help = "Mean latency, from when a request was wanted.";
    text.gauge("latency_mean_seconds", help, mean);
    // Of counters that only add latencies up it would be the highest mean.
    let most = by_operation(summary).filter(|(cell, ..)| !cell.has_only_means()).map(move |(cell, operation, of)| {
        (of_cell(&run.id, cell, &[("operation", operation)]), seconds(of.latency_ns.max as f64))
    });
    text.gauge("latency_max_seconds", "The largest latency.", most);
    let percentiles = by_operation(summary).flat_map(|(cell, operation, of)| {
        let told = PERCENTILES.iter().filter_map(|(share, at)| Some((*share, at(&of.latency_ns)?)));
        told.map(|(share, ns)| {
            (of_cell(&run.id, cell, &[("operation", operation), ("quantile", share)]), ns as f64 / 1e9)
        })
        .collect::<Vec<_>>()
    });
    let help = "Percentiles of the latency, from when a request was wanted.";
    text.summary("latency_seconds", help, percentiles);
    text.end()
}

/// Every operation that occurred in a cell, then every step of its application.
fn by_operation(summary: &RunSummary) -> impl Iterator<Item = (&CellSummary, &str, &OperationFigures)> {
    summary.cells.iter().flat_map(|cell| {
        let all = [("read", &cell.read), ("write", &cell.write), ("trim", &cell.trim), ("flush", &cell.flush)];
        let operations = all.into_iter().filter_map(move |(name, of)| Some((cell, name, of.as_ref()?)));
        operations.chain(cell.steps.iter().map(move |step| (cell, step.name.name(), &step.figures)))
    })
}

fn figures(summary: &RunSummary, of: impl Fn(&OperationFigures) -> Option<f64>) -> impl Iterator<Item = (Labels, f64)> {
    by_operation(summary).filter_map(move |(cell, operation, figures)| {
        Some((of_cell(&summary.run.id, cell, &[("operation", operation)]), of(figures)?))
    })
}

/// Labels of a cell's sample.
fn of_cell(run: &str, cell: &CellSummary, more: &[(&str, &str)]) -> Labels {
    let mut all = vec![("run", run), ("volume", cell.volume.as_str()), ("cell", cell.id.as_str())];
    all.extend_from_slice(more);
    Labels::of(&all)
}
