//! Figures as continuous benchmarks take them (github.com/benchmark-action/github-action-benchmark): a list of names with values.

use loadline_analysis::{CellSummary, OperationFigures, RunSummary};
use serde_json::{Value, json};

/// Which figures are wanted: a list has those of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Improvement {
    /// `customBiggerIsBetter`: rates.
    Bigger,
    /// `customSmallerIsBetter`: latencies.
    Smaller,
}

/// The run's figures as a list, JSON with a line break at its end. A figure's range is half of its 95 % interval; without an interval it has
/// none. Doubts stand in `extra`.
#[must_use]
pub fn benchmarks(summary: &RunSummary, improvement: Improvement) -> String {
    let mut all = Vec::new();
    for cell in &summary.cells {
        match improvement {
            Improvement::Bigger => rates(summary, cell, &mut all),
            Improvement::Smaller => latencies(summary, cell, &mut all),
        }
    }
    serde_json::to_string_pretty(&Value::Array(all)).expect("names are text") + "\n"
}

fn rates(summary: &RunSummary, cell: &CellSummary, all: &mut Vec<Value>) {
    let Some(total) = &cell.total else { return };
    let range = total.iops_low.zip(total.iops_high);
    all.push(entry(summary, cell, "rate", "IOPS", total.iops, range));
    // Bytes of the same requests: their interval is as wide as that of the rate.
    let of_bytes = |end: f64| end / total.iops * total.throughput_bytes_per_s / 1e6;
    let range = range.filter(|_| total.iops > 0.0).map(|(low, high)| (of_bytes(low), of_bytes(high)));
    all.push(entry(summary, cell, "throughput", "MB/s", total.throughput_bytes_per_s / 1e6, range));
}

fn latencies(summary: &RunSummary, cell: &CellSummary, all: &mut Vec<Value>) {
    const US: f64 = 1e3;
    let operations = [("read", &cell.read), ("write", &cell.write), ("trim", &cell.trim), ("flush", &cell.flush)];
    let operations = operations.into_iter().filter_map(|(name, of)| Some((name, of.as_ref()?)));
    let steps = cell.steps.iter().map(|step| (step.name.name(), &step.figures));
    for (name, OperationFigures { latency_ns, latency_range_ns, .. }) in operations.chain(steps) {
        if latency_ns.mean.is_finite() {
            all.push(entry(summary, cell, &format!("{name} mean"), "us", latency_ns.mean / US, None));
        }
        for (figure, value, range) in [
            ("p50", latency_ns.p50, latency_range_ns.map(|range| (range.p50_low, range.p50_high))),
            ("p99", latency_ns.p99, latency_range_ns.map(|range| (range.p99_low, range.p99_high))),
        ] {
            let Some(value) = value else { continue };
            let range = range.map(|(low, high)| (low as f64 / US, high as f64 / US));
            all.push(entry(summary, cell, &format!("{name} {figure}"), "us", value as f64 / US, range));
        }
    }
}

fn entry(
    summary: &RunSummary,
    cell: &CellSummary,
    figure: &str,
    unit: &str,
    value: f64,
    range: Option<(f64, f64)>,
) -> Value {
    let several = summary.cells.iter().any(|other| other.volume != cell.volume);
    let volume = if several { format!("{}: ", cell.volume) } else { String::new() };
    let mut entry = json!({ "name": format!("{volume}{}, {figure}", cell.label), "unit": unit, "value": value });
    if let Some((low, high)) = range {
        entry["range"] = json!(format!("± {}", (high - low) / 2.0));
    }
    let mut extra = vec![format!("run {}", summary.run.id)];
    extra.extend(cell.binding.iter().map(|binding| format!("limit: {}", binding.limit.name())));
    let mut codes: Vec<&str> = cell.doubts.iter().map(|doubt| doubt.code.name()).collect();
    codes.dedup();
    if !codes.is_empty() {
        extra.push(format!("doubts: {}", codes.join(", ")));
    }
    entry["extra"] = json!(extra.join("\n"));
    entry
}
