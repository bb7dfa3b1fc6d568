//! CSV for spreadsheets and scripts: RFC 4180.

use crate::frame::{Frame, FrameValues};
use crate::plain_text::no_formula;
use crate::table::{Field, Moment, Table, table};
use loadline_analysis::RunSummary;

/// The run's cells as CSV (RFC 4180, UTF-8, CRLF), one row for each. A missing figure is an empty field. Shares are from 0 to 1.
#[must_use]
pub fn csv(summary: &RunSummary) -> String {
    let mut out = String::new();
    let Table { names, rows, .. } = table(summary);
    record(&mut out, names.into_iter());
    for row in rows {
        record(&mut out, row.iter().map(cell));
    }
    out
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

/// What a spreadsheet gets of a field: no text is a formula.
fn cell(field: &Field) -> String {
    match field {
        Field::Text(Some(text)) => no_formula(text),
        figure => figure.to_string(),
    }
}

/// One line with its fields quoted as needed.
pub(crate) fn record(out: &mut String, fields: impl Iterator<Item = String>) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        if field.contains(['"', ',', '\r', '\n']) || field.starts_with(' ') || field.ends_with(' ') {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}

/// A float at full precision; empty when missing or no number.
pub(crate) fn float(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or_else(String::new, |v| v.to_string())
}
