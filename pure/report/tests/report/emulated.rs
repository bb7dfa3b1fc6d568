//! An emulation's run is no measurement of storage, and is not called one.

use crate::made_up;
use loadline_analysis::{CompareOptions, compare, summarize};
use loadline_record::{RunRecord, RunVerb, TargetKind};
use loadline_report::{Colour, Columns, TerminalOptions, comparison_terminal, html, markdown, terminal};

fn emulated() -> RunRecord {
    let plan = made_up::CellPlan::closed("random", 1.0, 4096, 4);
    let (mut record, _) = made_up::run("application on ds3-p30", &["data"], vec![made_up::cell(0, &plan)]);
    record.header.verb = RunVerb::Emulate;
    record.header.volumes[0].kind = TargetKind::Modelled;
    record
}

const OPTIONS: TerminalOptions = TerminalOptions { width: 140, colour: Colour::Never, columns: Columns::All };

#[test]
fn an_emulation_is_told_as_one() {
    let record = emulated();
    let summary = summarize(&record);
    let page = html(&[(&record, &summary)]);
    for text in [&markdown(&summary), &page] {
        assert!(text.contains("emulated"), "{text}");
        assert!(
            !text.contains("Measured up to") && !text.contains("· measured ·") && !text.contains(", measured,"),
            "{text}"
        );
        assert!(text.contains("Latency is the model&#39;s") || text.contains("Latency is the model's"), "{text}");
        assert!(!text.contains("from when the load wanted the request"), "{text}");
    }
    // One cell, named once.
    assert!(page.contains("<p class=\"meta\">1 cell · "), "{page}");
    let lead = "Emulated up to 4.08 MB/s and 997 IOPS (random read 4 KiB, depth 4); no doubts.";
    assert!(markdown(&summary).contains(lead), "{}", markdown(&summary));
    assert!(page.contains("<strong>997 IOPS</strong>"), "{page}");
    let text = terminal(&summary, &OPTIONS);
    assert!(text.contains("  emulated 2026-01-31T14:22:33Z"), "{text}");
}

/// The paths of the large charts with this end of their id: the drawn lines.
fn lines<'a>(page: &'a str, id: &str) -> Vec<&'a str> {
    let chart = page.split("<svg").find(|chart| chart.contains(&format!("{id}-t "))).expect("the chart");
    let chart = chart.split("</svg>").next().unwrap();
    chart
        .split("data-name=")
        .skip(1)
        .map(|line| line.split_once(" d=\"").unwrap().1.split('"').next().unwrap())
        .collect()
}

#[test]
fn what_was_done_to_it_is_drawn_where_it_was_done_and_what_stood_still_has_no_latency() {
    let mut record = emulated();
    record.cells[0].trials.truncate(1);
    let told = |volume: &str| {
        serde_json::json!({ "first_request_ns": { volume: 4_000_000_000_u64 }, "changes": { "told": [
            { "at_ns": 3_000_000_000_u64, "on": null, "what": "came before" },
            { "at_ns": 6_500_000_000_u64, "on": "data/0", "what": "fault 1 began (data/0: requests hang)" },
            { "at_ns": 7_000_000_000_u64, "on": "log", "what": "another's" },
        ], "more": 0 } })
    };
    let before = html(&[(&record, &summarize(&record))]);
    record.header.settings = told("data");
    let seconds = &mut record.cells[0].trials[0].series.seconds;
    assert!(seconds.len() > 5, "{}", seconds.len());
    for second in &mut seconds[2..4] {
        second.operations = Default::default();
        second.outstanding = 4.0;
    }
    let page = html(&[(&record, &summarize(&record))]);
    let title = "<title>after 2.5 s fault 1 began (data/0: requests hang)</title>";
    // Of rate and of latency, on the screen and on paper.
    assert_eq!((page.matches(title).count(), page.matches("class=\"mark\"").count()), (4, 4));
    assert!(page.contains("Dashed lines: what was done to the storage on purpose."));
    assert!(!before.contains("class=\"mark\"") && !before.contains("Dashed lines"));
    let breaks = |page: &str, id: &str| lines(page, id).iter().map(|d| d.matches('M').count()).max().unwrap();
    assert_eq!((breaks(&before, "-late"), breaks(&page, "-late")), (1, 2));
    // Of the rate it is known that it was nothing.
    assert_eq!(breaks(&page, "-rate"), 1);
    record.header.settings = told("log");
    assert!(!html(&[(&record, &summarize(&record))]).contains("class=\"mark\""));
}

#[test]
fn beside_a_measurement_it_is_told_apart() {
    let (emulated, mut measured) = (emulated(), emulated());
    measured.header.verb = RunVerb::Run;
    let summaries = [summarize(&emulated), summarize(&measured)];
    let page = html(&[(&emulated, &summaries[0]), (&measured, &summaries[1])]);
    assert!(page.contains("some are measured and some emulated"), "{page}");
    let comparison = compare(&[&emulated, &measured], &CompareOptions::default()).unwrap();
    let text = comparison_terminal(&comparison, &OPTIONS);
    assert!(text.contains("; emulated 2026") && text.contains("; measured 2026"), "{text}");
}
