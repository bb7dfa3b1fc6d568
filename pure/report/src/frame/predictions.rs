//! Rows of predictions as a table.

use super::{Frame, FrameColumn, FrameValues};
use loadline_prediction::PredictionRow;

/// The rows as a table. Every column is always there.
#[must_use]
pub fn prediction_frame(rows: &[PredictionRow]) -> Frame {
    let text = |name: &str, of: &dyn Fn(&PredictionRow) -> Option<String>| {
        let values: Vec<Option<String>> = rows.iter().map(of).collect();
        FrameColumn::of(name, FrameValues::Text(values.iter().map(Option::as_deref).collect()))
    };
    let float = |name: &str, of: &dyn Fn(&PredictionRow) -> Option<f64>| {
        FrameColumn::of(
            name,
            FrameValues::Float(rows.iter().map(|row| of(row).filter(|value| value.is_finite())).collect()),
        )
    };
    let whole = |name: &str, of: &dyn Fn(&PredictionRow) -> Option<u64>| {
        let value = |row| of(row).and_then(|value| i64::try_from(value).ok());
        FrameColumn::of(name, FrameValues::Whole(rows.iter().map(value).collect()))
    };
    let load = |row: &PredictionRow| row.load.clone();
    Frame::of_columns(vec![
        text("environment", &|row| Some(row.environment.clone())),
        text("volume", &|row| row.volume.clone()),
        whole("cell", &|row| row.cell),
        text("label", &|row| row.label.clone()),
        text("pattern", &|row| load(row).map(|load| load.pattern.to_string())),
        float("read_ratio", &|row| load(row).map(|load| load.read_ratio)),
        whole("block_bytes", &|row| load(row).map(|load| load.block_bytes)),
        whole("queue_depth_requests_per_thread", &|row| load(row)?.queue_depth.map(u64::from)),
        whole("threads_count", &|row| load(row).map(|load| load.threads.into())),
        float("offered_iops", &|row| load(row)?.rate_iops),
        float("iops", &|row| row.figures.iops),
        float("iops_low", &|row| row.figures.range.map(|(low, _)| low)),
        float("iops_high", &|row| row.figures.range.map(|(_, high)| high)),
        float("throughput_bytes_per_s", &|row| row.figures.throughput_bytes_per_s),
        float("latency_mean_ns", &|row| row.figures.latency_mean_ns),
        whole("latency_p99_ns", &|row| row.figures.latency_p99_ns),
        text("binding_limit", &|row| row.figures.binding.as_ref().map(|(limit, _)| limit.clone())),
        float("ceiling_iops", &|row| row.figures.binding.as_ref()?.1),
        text("next_limit", &|row| row.figures.next.as_ref().map(|(limit, _)| limit.clone())),
        float("next_ceiling_iops", &|row| row.figures.next.as_ref().map(|(_, iops)| *iops)),
        float("burst_ends_s", &|row| row.figures.burst_ends_s),
        float("burst_iops", &|row| row.figures.burst_iops),
        float("lasting_iops", &|row| row.figures.lasting_iops),
        text("problem", &|row| row.problem.clone()),
    ])
}
