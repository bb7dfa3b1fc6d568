//! Lines and names of loads that differ in one thing stay distinct.

use crate::well_formed::check;
use loadline_analysis::example::{ExampleDisk, cell, change, closed, other_loads, planned, run};
use loadline_analysis::summarize;
use loadline_load::LoadSpec;
use loadline_record::{CellRecord, RunRecord};
use loadline_report::html;
use std::collections::BTreeSet;

/// A load at three depths, and another beside it.
fn beside(other: &dyn Fn(&mut CellRecord)) -> RunRecord {
    let of = |depth| cell(closed("random", 0.5, 34 << 10, depth), &ExampleDisk::default(), &[1.0]);
    let mut cells: Vec<CellRecord> = [1, 8, 32, 1, 8, 32].map(of).into();
    for (place, cell) in cells.iter_mut().enumerate() {
        cell.load = LoadSpec { objective: None, ..planned(&cell.load.figures()) }.into();
        cell.id.push_str(if place < 3 { "-a" } else { "-b" });
    }
    cells[3..].iter_mut().for_each(other);
    run(cells)
}

fn page(record: &RunRecord) -> String {
    let text = html(&[(record, &summarize(record))]);
    check(&text).unwrap();
    text
}

/// The chart of rates by depth, or the charts if each has one line.
fn by_depth(text: &str) -> Vec<&str> {
    let all = text.split("<svg class=\"chart\"").skip(1).map(|chart| chart.split("</svg>").next().unwrap());
    // Each is there once more for narrow pages.
    all.filter(|chart| chart.contains("-throughput-") && !chart.contains("-n-t ")).collect()
}

/// The description of each line for readers who cannot see it.
fn names(chart: &str) -> BTreeSet<&str> {
    let told = chart.split("<desc").nth(1).and_then(|text| text.split('>').nth(1)).unwrap();
    told.split(". ").filter_map(|line| line.split(": ").next()).collect()
}

#[test]
fn loads_that_differ_in_any_one_key_are_two_lines_with_two_names() {
    for (pointer, value) in other_loads() {
        // A suite of named loads is drawn as bars, not as curves; these share their name.
        let text = page(&beside(&|cell| {
            change(cell, |spec| *spec.pointer_mut(pointer).expect(pointer) = value.clone());
        }));
        let charts = by_depth(&text);
        assert_eq!(charts.len(), 1, "{pointer}: {value}");
        assert_eq!(charts[0].matches("class=\"ln\"").count(), 2, "{pointer}: {value}");
        let names = names(charts[0]);
        assert!(names.len() == 2 && !names.contains("the load"), "{pointer}: {value}: {names:?}");
    }
}

#[test]
fn a_key_that_nobody_foresaw_is_a_line_of_its_own_too() {
    let text = page(&beside(&|cell| change(cell, |spec| spec["brand_new"] = "90 %".into())));
    assert_eq!(names(by_depth(&text)[0]), BTreeSet::from(["brand new 90 %", "no brand new"]));
}

#[test]
fn mixes_of_sizes_are_called_by_their_sizes_and_by_their_shares_where_those_alone_differ() {
    let mix = |shares: [&str; 3]| {
        let sizes = ["4 KiB", "12 KiB", "64 KiB"].into_iter().zip(shares);
        serde_json::json!(
            sizes.map(|(size, share)| serde_json::json!({"size": size, "share": share})).collect::<Vec<_>>()
        )
    };
    let mut record = beside(&|cell| change(cell, |spec| spec["blocks"] = mix(["60 %", "20 %", "20 %"])));
    let text = page(&record);
    assert_eq!(names(by_depth(&text)[0]), BTreeSet::from(["34 KiB", "4 KiB + 12 KiB + 64 KiB"]));
    record.cells[..3].iter_mut().for_each(|cell| change(cell, |spec| spec["blocks"] = mix(["20 %", "60 %", "20 %"])));
    let sizes = "4 KiB + 12 KiB + 64 KiB";
    let told = [format!("{sizes} (20 % + 60 % + 20 %)"), format!("{sizes} (60 % + 20 % + 20 %)")];
    let text = page(&record);
    assert_eq!(names(by_depth(&text)[0]), told.iter().map(String::as_str).collect());
    record.cells.drain(..3);
    assert!(page(&record).contains("Every line: random 50 % read 4 KiB + 12 KiB + 64 KiB, 1 thread."));
}

#[test]
fn findings_of_different_loads_begin_with_different_words() {
    let record = beside(&|cell| {
        change(cell, |spec| spec["pattern"] = serde_json::json!({"random": {"zipf": {"theta_milli": 1200}}}));
    });
    let summary = summarize(&record);
    let texts: BTreeSet<String> =
        summary.findings.iter().map(|finding| loadline_report::words::finding(&summary, finding)).collect();
    assert_eq!(texts.len(), summary.findings.len(), "{texts:?}");
    for load in ["(50 % reads, uniform)", "(50 % reads, zipf 1.2)"] {
        let begin = format!("Random 34 KiB requests {load} level off at ");
        assert!(texts.iter().any(|text| text.starts_with(&begin)), "{begin}: {texts:?}");
    }
}
