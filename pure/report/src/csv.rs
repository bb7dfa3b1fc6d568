//! CSV for spreadsheets and scripts: RFC 4180.

use crate::plain_text::no_formula;
use crate::table::{Field, Table, table};
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

/// What a spreadsheet gets of a field: no text is a formula.
fn cell(field: &Field) -> String {
    match field {
        Field::Text(text) => no_formula(text),
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
