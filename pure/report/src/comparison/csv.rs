//! A comparison for spreadsheets: one row for each matched cell of each side, nothing rounded.

use crate::csv::{float, record};
use loadline_analysis::{Against, CellComparison, Comparison, Figure};
use loadline_record::Doubt;

/// The matched cells as CSV (RFC 4180, UTF-8, CRLF). A missing figure is an empty field.
#[must_use]
pub fn comparison_csv(comparison: &Comparison) -> String {
    let mut out = String::new();
    record(&mut out, columns(comparison, None).into_iter().map(|(name, _)| name));
    for against in &comparison.against {
        for cell in &against.cells {
            record(&mut out, columns(comparison, Some((against, cell))).into_iter().map(|(_, value)| value));
        }
    }
    out
}

/// Every column's name and value.
fn columns(comparison: &Comparison, row: Option<(&Against, &CellComparison)>) -> Vec<(String, String)> {
    let mut columns: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, value: String| columns.push((name.to_owned(), value));
    let cell = row.map(|(_, cell)| cell);
    let text = |of: &dyn Fn(&CellComparison) -> String| cell.map_or_else(String::new, of);
    let number = |of: &dyn Fn(&CellComparison) -> Option<f64>| float(cell.and_then(of));
    let run = |place: Option<usize>| place.map_or_else(String::new, |place| comparison.sides[place].run.clone());
    put("baseline_run_id", run(row.map(|_| 0)));
    put("other_run_id", run(row.map(|(against, _)| against.side as usize)));
    put("baseline_cell_id", text(&|c| c.baseline_id.clone()));
    put("other_cell_id", text(&|c| c.other_id.clone()));
    put("baseline_volume", text(&|c| c.baseline_volume.clone()));
    put("other_volume", text(&|c| c.other_volume.clone()));
    put("label", text(&|c| c.label.clone()));
    put("figure", text(&|c| c.figure.name().to_owned()));
    put("verdict", text(&|c| c.verdict.words().replace(' ', "-")));
    put("why", text(&|c| c.why.clone().unwrap_or_default()));
    put("p_value", number(&|c| c.p_value));
    put("p_adjusted", number(&|c| c.p_adjusted));
    put("p_same", number(&|c| c.p_same));
    put("in_overall", text(&|c| c.in_overall.to_string()));
    for figure in Figure::ALL {
        let unit = match figure {
            Figure::Rate => "iops",
            Figure::Throughput => "throughput_bytes_per_s",
            _ => "latency_ns",
        };
        let name = match figure {
            Figure::Rate | Figure::Throughput => unit.to_owned(),
            _ => format!("{}_{unit}", figure.name()),
        };
        put(&format!("baseline_{name}"), number(&|c| c.of(figure).map(|r| r.baseline)));
        put(&format!("other_{name}"), number(&|c| c.of(figure).map(|r| r.other)));
        put(&format!("{}_ratio", figure.name()), number(&|c| c.of(figure).map(|r| r.ratio)));
        put(&format!("{}_ratio_low", figure.name()), number(&|c| c.of(figure).and_then(|r| r.low)));
        put(&format!("{}_ratio_high", figure.name()), number(&|c| c.of(figure).and_then(|r| r.high)));
    }
    put("draws_ratio_low", number(&|c| Some(c.draws?.low)));
    put("draws_ratio_high", number(&|c| Some(c.draws?.high)));
    let codes = |doubts: &[Doubt]| doubts.iter().map(|d| d.code.name()).collect::<Vec<_>>().join("; ");
    put("baseline_doubt_codes", text(&|c| codes(&c.baseline_doubts)));
    put("other_doubt_codes", text(&|c| codes(&c.other_doubts)));
    columns
}
