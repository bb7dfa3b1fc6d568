//! One figure in every form: what programs read, what is exported, and what people are shown.

use crate::made_up;
use loadline_analysis::{RunSummary, VerdictSubject};
use loadline_report::{frame, run_document, verdict_lines};
use loadline_units::words::number;
use serde_json::Value;

/// A figure of a cell in the JSON, and the column of the table that has the same.
const SAME: [(&str, &str); 14] = [
    ("/id", "cell_id"),
    ("/label", "label"),
    ("/total/iops", "total_iops"),
    ("/total/iops_low", "total_low_iops"),
    ("/total/iops_high", "total_high_iops"),
    ("/total/throughput_bytes_per_s", "total_throughput_bytes_per_s"),
    ("/read/iops", "read_iops"),
    ("/read/latency_ns/mean", "read_latency_mean_ns"),
    ("/read/latency_ns/p99", "read_latency_p99_ns"),
    ("/write/iops", "write_iops"),
    ("/write/latency_ns/p99", "write_latency_p99_ns"),
    ("/binding/limit", "binding_limit"),
    ("/binding/ceiling_iops", "binding_ceiling_iops"),
    ("/binding/evidence", "binding_evidence"),
];

fn all() -> Vec<RunSummary> {
    [made_up::everything(), made_up::matrix(3, 2), made_up::layouts()].map(|(_, summary)| summary).into()
}

#[test]
fn tables_and_json_have_the_same_figures() {
    for summary in all() {
        let document = serde_json::to_value(run_document(&summary)).unwrap();
        let table = frame::cells(&summary).json();
        let rows = table.as_array().unwrap();
        assert_eq!(rows.len(), summary.cells.len());
        let mut compared = 0;
        for (cell, row) in document["cells"].as_array().unwrap().iter().zip(rows) {
            for (pointer, column) in SAME {
                let found = cell.pointer(pointer).unwrap_or(&Value::Null);
                assert_eq!((found, pointer), (&row[column], pointer), "{}", cell["id"]);
                compared += usize::from(!found.is_null());
            }
        }
        assert!(compared > rows.len() * 5, "{compared} figures");
    }
}

/// As people are shown it: four digits from `four` on, and three below.
fn significant(value: f64, four: f64) -> String {
    let digits = if value.abs() >= four { 4 } else { 3 };
    let places = digits - 1 - value.abs().log10().floor() as i32;
    if places > 0 {
        return format!("{value:.*}", places.cast_unsigned() as usize);
    }
    let step = 10_f64.powi(-places);
    number((value / step).round() * step)
}

#[test]
fn a_figure_of_the_verdict_is_that_of_its_cell() {
    for summary in all() {
        let Some(verdict) = &summary.verdict else { continue };
        let text: String = verdict_lines(verdict).into_iter().map(|line| line.text + "\n").collect();
        for figure in verdict.volumes.iter().flat_map(|volume| &volume.gives) {
            let cell = summary.cells.iter().find(|cell| cell.id == figure.cell).expect("it is of a cell");
            let total = cell.total.as_ref().expect("it was measured");
            let (own, words) = match figure.what {
                VerdictSubject::LargeReads | VerdictSubject::LargeWrites => {
                    (total.throughput_bytes_per_s, format!("{} MB/s", significant(figure.value / 1e6, 10.0)))
                }
                VerdictSubject::SmallReads | VerdictSubject::SmallWrites | VerdictSubject::Requests => {
                    (total.iops, significant(figure.value, 1e3))
                }
                _ => continue,
            };
            assert!((own / figure.value - 1.0).abs() < 1e-9, "{own} and {} of {}", figure.value, cell.id);
            assert!(text.contains(&words), "{words} in {text}");
        }
    }
}
