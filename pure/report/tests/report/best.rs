//! The best of trials beside their median, in every form that people read.

use crate::golden::compare as golden;
use loadline_analysis::example::{ExampleDisk, cell, closed, planned, run};
use loadline_analysis::{RunSummary, summarize};
use loadline_load::LoadSpec;
use loadline_record::RunRecord;
use loadline_report::{Colour, Columns, TerminalOptions, html, markdown, terminal};

/// Reads and writes of one row, with 0.8 to 1.2 times the disk's rate, and a load whose plan wants no best.
fn made(asked: bool) -> (RunRecord, RunSummary) {
    let disk = ExampleDisk::default();
    let cells = [(1.0, 8), (0.0, 8), (1.0, 1)].map(|(reads, depth)| {
        let mut cell = cell(closed("random", reads, 4 << 10, depth), &disk, &[0.8, 1.0, 1.2, 1.0, 1.0]);
        let name = Some(format!("RND4K Q{depth}T1"));
        let best_of_trials = asked && depth == 8;
        cell.load = LoadSpec { name, best_of_trials, ..planned(&cell.load.figures()) }.into();
        cell
    });
    let record = run(cells.into());
    let summary = summarize(&record);
    (record, summary)
}

#[test]
fn the_best_stands_beside_the_median_and_the_interval() {
    let (record, summary) = made(true);
    let text = terminal(&summary, &TerminalOptions { colour: Colour::Never, width: 140, columns: Columns::Fitting });
    let from = text.find("Best of trials").expect("the table");
    let table: Vec<&str> = text[from..].lines().take_while(|line| !line.is_empty()).collect();
    golden("best-of-trials.txt", &format!("{}\n", table.join("\n")));
    // 1.2 and 1.0 times 5,000 requests of 4 KiB: 24.58 and 20.48 MB/s.
    let markdown = markdown(&summary);
    assert!(markdown.contains("| RND4K Q8T1, write | 24.58 | 20.48 |"), "{markdown}");
    let html = html(&[(&record, &summary)]);
    assert!(html.contains("<td>RND4K Q8T1, read</td><td class=\"num\">24.58</td><td class=\"num\">20.48</td>"));
    assert!(!markdown.contains("RND4K Q1T1, read") && !html.contains("<td>RND4K Q1T1, read</td>"));
}

#[test]
fn it_is_shown_only_where_the_plan_asks() {
    let (record, summary) = made(false);
    let text = terminal(&summary, &TerminalOptions { colour: Colour::Never, width: 140, columns: Columns::Fitting });
    let all = [text, markdown(&summary), html(&[(&record, &summary)])];
    assert!(all.iter().all(|text| !text.contains("Best of trials")));
}
