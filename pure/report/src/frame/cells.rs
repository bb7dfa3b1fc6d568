//! The table of a run's cells: a unit in every column's name, nothing rounded.

use super::{Frame, FrameField, Moment};
use crate::words;
use crate::words::doubt_detail;
use loadline_analysis::{CellSummary, LatencyRange, LoadDetails, OperationFigures, RunSummary};
use loadline_record::{Clock, EngineUsed, HistogramSnapshot, ImportedFrom};
use std::collections::BTreeSet;

/// One row for each cell, as in the CSV.
#[must_use]
pub fn cells(summary: &RunSummary) -> Frame {
    // The heading needs no cell: names are pushed for figures that are absent too.
    let kinds = columns(summary, None);
    let mut frame = Frame::with_columns(kinds.iter().map(|(name, kind)| (name.as_str(), kind)));
    for cell in &summary.cells {
        frame.push(columns(summary, Some(cell)).into_iter().map(|(_, figure)| figure));
    }
    frame
}

/// Every column's name and value, for one cell.
fn columns(summary: &RunSummary, cell: Option<&CellSummary>) -> Vec<(String, FrameField)> {
    let text = |value: fn(&CellSummary) -> String| FrameField::Text(cell.map(value));
    let count = |value: fn(&CellSummary) -> Option<u64>| FrameField::Whole(cell.and_then(value));
    let is = |value: fn(&CellSummary) -> Option<bool>| FrameField::Flag(cell.and_then(value));
    let float = |value: Option<f64>| FrameField::Float(value.filter(|v| v.is_finite()));
    let total = cell.and_then(|c| c.total.as_ref());
    let binding = cell.and_then(|c| c.binding.as_ref());
    let run = &summary.run;
    let clock = if run.clock == Clock::Real { "real" } else { "virtual" };
    let mut columns: Vec<(String, FrameField)> = Vec::new();
    let mut put = |name: &str, value: FrameField| columns.push((name.to_owned(), value));
    put("run_id", FrameField::Text(Some(run.id.clone())));
    put("run_name", FrameField::Text(Some(run.name.clone())));
    put("clock", FrameField::Text(Some(clock.to_owned())));
    let own = || format!("loadline {}", run.version);
    put("tool", FrameField::Text(Some(run.imported.as_ref().map_or_else(own, ImportedFrom::tool_and_version))));
    put("cell_id", text(|c| c.id.clone()));
    put("volume", text(|c| c.volume.clone()));
    put("label", text(|c| c.label.clone()));
    put("pattern", text(|c| c.load.pattern.to_string()));
    put("read_ratio", float(cell.map(|c| c.load.read_ratio)));
    put("block_bytes", count(|c| Some(c.load.block_bytes)));
    put("size_bytes", count(|c| c.load.size_bytes));
    put("queue_depth_requests_per_thread", count(|c| c.load.queue_depth.map(u64::from)));
    put("threads_count", count(|c| Some(u64::from(c.load.threads))));
    put("arrival", text(|c| c.load.arrival.to_string()));
    put("rate_wanted_iops", float(cell.and_then(|c| c.load.rate_iops)));
    put("buffered", is(|c| Some(c.load.buffered)));
    put("trials_count", count(|c| Some(u64::from(c.trials))));
    put("offered_iops", float(cell.and_then(|c| c.offered_iops)));
    put("total_iops", float(total.map(|t| t.iops)));
    put("total_low_iops", float(total.and_then(|t| t.iops_low)));
    put("total_high_iops", float(total.and_then(|t| t.iops_high)));
    put("total_throughput_bytes_per_s", float(total.map(|t| t.throughput_bytes_per_s)));
    put("total_throughput_median_bytes_per_s", float(total.map(|t| t.throughput_median_bytes_per_s)));
    put("total_throughput_best_bytes_per_s", float(total.map(|t| t.throughput_best_bytes_per_s)));
    let operations: [(&str, Option<&OperationFigures>); 4] = [
        ("read", cell.and_then(|c| c.read.as_ref())),
        ("write", cell.and_then(|c| c.write.as_ref())),
        ("trim", cell.and_then(|c| c.trim.as_ref())),
        ("flush", cell.and_then(|c| c.flush.as_ref())),
    ];
    for (name, figures) in operations {
        put(&format!("{name}_iops"), float(figures.map(|f| f.iops)));
        put(&format!("{name}_throughput_bytes_per_s"), float(figures.map(|f| f.throughput_bytes_per_s)));
        if name != "flush" {
            let range = figures.and_then(|f| f.latency_range_ns);
            let end = |of: fn(&LatencyRange) -> u64| FrameField::Whole(range.map(|range| of(&range)));
            put(&format!("{name}_latency_p50_low_ns"), end(|r| r.p50_low));
            put(&format!("{name}_latency_p50_high_ns"), end(|r| r.p50_high));
            put(&format!("{name}_latency_p99_low_ns"), end(|r| r.p99_low));
            put(&format!("{name}_latency_p99_high_ns"), end(|r| r.p99_high));
        }
        for (span, snapshot) in [
            ("latency", figures.map(|f| f.latency_ns)),
            ("waiting", figures.and_then(|f| f.waiting_ns)),
            ("service", figures.and_then(|f| f.service_ns)),
        ] {
            let only_means = cell.is_some_and(CellSummary::has_only_means);
            spread(&mut put, &format!("{name}_{span}"), snapshot, only_means);
        }
    }
    put("errors_count", count(|c| Some(c.errors)));
    put("cpu_user_s", float(cell.map(|c| c.cpu.user_s)));
    put("cpu_system_s", float(cell.map(|c| c.cpu.system_s)));
    put("binding_limit", FrameField::Text(binding.map(|b| crate::rows::limit_name(b.limit).to_owned())));
    put("binding_ceiling_iops", float(binding.and_then(|b| b.ceiling_iops)));
    put("binding_utilization_ratio", float(binding.and_then(|b| b.utilization)));
    put("binding_inferred", FrameField::Flag(binding.map(|b| b.inferred)));
    put("binding_evidence", FrameField::Text(binding.map(|b| words::evidence(&b.seen))));
    let doubts = |of: fn(&loadline_record::Doubt) -> String| {
        let all: Vec<String> = cell.iter().flat_map(|c| &c.doubts).map(of).collect();
        FrameField::Text(cell.map(|_| all.join("; ")))
    };
    put("doubt_codes", doubts(|d| d.code.name().to_owned()));
    let details = cell.map(|c| &c.load.details);
    let word = |of: fn(&LoadDetails) -> Option<&String>| FrameField::Text(details.and_then(of).cloned());
    let number = |of: fn(&LoadDetails) -> Option<f64>| float(details.and_then(of));
    let whole = |of: fn(&LoadDetails) -> Option<u64>| FrameField::Whole(details.and_then(of));
    let mix = details.and_then(|d| d.block_mix.as_ref()).map(|mix| {
        let parts: Vec<String> = mix.iter().map(|part| format!("{}:{}", part.bytes, part.ratio)).collect();
        parts.join(" ")
    });
    let engines = |of: fn(&EngineUsed) -> String| {
        let all: Vec<String> = cell.iter().flat_map(|c| &c.engines).map(of).collect();
        FrameField::Text((!all.is_empty()).then(|| all.join("; ")))
    };
    // Columns of later versions come last, so that earlier ones do not move.
    let later = [
        ("distribution", word(|d| d.distribution.as_ref())),
        ("zipf_theta", number(|d| d.zipf_theta)),
        ("hot_requests_ratio", number(|d| d.hot_requests_ratio)),
        ("hot_blocks_ratio", number(|d| d.hot_blocks_ratio)),
        ("stride_bytes", whole(|d| d.stride_bytes)),
        ("align_bytes", whole(|d| d.align_bytes)),
        ("start_bytes", whole(|d| d.start_bytes)),
        ("files_count", whole(|d| d.files.map(u64::from))),
        ("block_mix_bytes", FrameField::Text(mix)),
        ("trim_ratio", number(|d| d.trim_ratio)),
        ("think_time_ns", whole(|d| d.think_time_ns)),
        ("flush_every_writes", whole(|d| d.flush_every_writes)),
        ("flush_method", word(|d| d.flush_method.as_ref())),
        ("compressible_ratio", number(|d| d.compressible_ratio)),
        ("duplicate_ratio", number(|d| d.duplicate_ratio)),
        ("verify", FrameField::Flag(details.and_then(|d| d.verify))),
        ("warm_up_ns", whole(|d| d.warm_up_ns)),
        ("duration_ns", whole(|d| d.duration_ns)),
        ("engine", engines(|engine| engine.name.to_string())),
        ("engine_reason", engines(|engine| engine.reason.clone())),
        ("engine_options", engines(|engine| engine.options.join(", "))),
    ];
    put("doubt_details", doubts(|d| format!("{}: {}", d.code, doubt_detail(d))));
    for (name, value) in later {
        put(name, value);
    }
    put("run_started", FrameField::Moment(Moment::of_rfc3339(&run.started)));
    put("host", FrameField::Text(run.host.hostname.clone()));
    put("environment", FrameField::Text(run.environment.as_ref().map(|environment| environment.name.clone())));
    let target = cell.and_then(|c| run.volumes.iter().find(|volume| volume.name == c.volume));
    put("target", FrameField::Text(target.map(|volume| volume.target.clone())));
    let names: BTreeSet<&str> = summary.cells.iter().flat_map(|c| &c.steps).map(|step| step.name.name()).collect();
    for name in names {
        let figures = cell.and_then(|c| c.steps.iter().find(|step| step.name.name() == name)).map(|step| &step.figures);
        put(&format!("step_{name}_iops"), float(figures.map(|f| f.iops)));
        put(&format!("step_{name}_throughput_bytes_per_s"), float(figures.map(|f| f.throughput_bytes_per_s)));
        spread(&mut put, &format!("step_{name}_latency"), figures.map(|f| f.latency_ns), false);
    }
    columns
}

/// The columns of a latency's mean and percentiles. Of means over short times the least and the highest are no request's.
fn spread(put: &mut impl FnMut(&str, FrameField), name: &str, snapshot: Option<HistogramSnapshot>, only_means: bool) {
    let ends = snapshot.filter(|_| !only_means);
    let integer = |of: fn(&HistogramSnapshot) -> Option<u64>| FrameField::Whole(snapshot.and_then(|s| of(&s)));
    put(&format!("{name}_mean_ns"), FrameField::Float(snapshot.map(|s| s.mean).filter(|mean| mean.is_finite())));
    put(&format!("{name}_min_ns"), FrameField::Whole(ends.and_then(|s| s.min)));
    put(&format!("{name}_p50_ns"), integer(|s| s.p50));
    put(&format!("{name}_p90_ns"), integer(|s| s.p90));
    put(&format!("{name}_p95_ns"), integer(|s| s.p95));
    put(&format!("{name}_p99_ns"), integer(|s| s.p99));
    put(&format!("{name}_p99_9_ns"), integer(|s| s.p99_9));
    put(&format!("{name}_p99_99_ns"), integer(|s| s.p99_99));
    put(&format!("{name}_max_ns"), FrameField::Whole(ends.map(|s| s.max)));
}
