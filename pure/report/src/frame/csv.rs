//! Tables by column as CSV.

use super::{Frame, FrameValues, Moment, cells};
use crate::csv::{float, record};
use crate::plain_text::no_formula;
use loadline_analysis::RunSummary;

/// The run's cells as CSV (RFC 4180, UTF-8, CRLF), one row for each. A missing figure is an empty field. Shares are from 0 to 1.
#[must_use]
pub fn csv(summary: &RunSummary) -> String {
    frame_csv(&cells(summary))
}

/// A table by column as CSV, in the same way. Points in time are RFC 3339, to the second.
#[must_use]
pub fn frame_csv(frame: &Frame) -> String {
    let mut out = String::new();
    record(&mut out, frame.columns().iter().map(|column| column.name.clone()));
    let figure = |figure: Option<String>| figure.unwrap_or_default();
    for row in 0..frame.rows() {
        let fields = frame.columns().iter().map(|column| match &column.values {
            FrameValues::Text(words) => words.get(row).map_or_else(String::new, no_formula),
            FrameValues::Float(values) => float(values.get(row)),
            FrameValues::Whole(values) => figure(values.get(row).map(|value| value.to_string())),
            FrameValues::Flag(values) => figure(values.get(row).map(|value| value.to_string())),
            FrameValues::Moment(values) => figure(values.get(row).map(|unix_us| Moment { unix_us }.to_string())),
        });
        record(&mut out, fields);
    }
    out
}
