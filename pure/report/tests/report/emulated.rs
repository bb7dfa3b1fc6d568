//! What clients had of an emulated disk is no measurement of storage, and is not called one.

use crate::made_up;
use loadline_analysis::{CompareOptions, compare, summarize};
use loadline_record::{RunRecord, TargetKind};
use loadline_report::{Colour, Columns, TerminalOptions, comparison_terminal, html, markdown, terminal};

fn emulated() -> RunRecord {
    let plan = made_up::CellPlan::closed("random", 1.0, 4096, 4);
    let (mut record, _) = made_up::run("application on ds3-p30", &["data"], vec![made_up::cell(0, &plan)]);
    "emulate".clone_into(&mut record.header.verb);
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
        assert!(text.contains("Emulated up to ") && text.contains("emulated"), "{text}");
        assert!(
            !text.contains("Measured up to") && !text.contains("· measured ·") && !text.contains(", measured,"),
            "{text}"
        );
        assert!(text.contains("Latency is the model&#39;s") || text.contains("Latency is the model's"), "{text}");
        assert!(!text.contains("from when the load wanted the request"), "{text}");
    }
    // One cell, named once.
    assert!(page.contains("<p class=\"meta\">1 cell · "), "{page}");
    assert!(page.contains("Emulated up to 4.08 MB/s and 997 IOPS (random read 4 KiB, depth 4); no doubts."), "{page}");
    let text = terminal(&summary, &OPTIONS);
    assert!(text.contains("  emulated 2026-01-31T14:22:33Z"), "{text}");
}

#[test]
fn beside_a_measurement_it_is_told_apart() {
    let (emulated, mut measured) = (emulated(), emulated());
    "run".clone_into(&mut measured.header.verb);
    let summaries = [summarize(&emulated), summarize(&measured)];
    let page = html(&[(&emulated, &summaries[0]), (&measured, &summaries[1])]);
    assert!(page.contains("some are measured and some emulated"), "{page}");
    let comparison = compare(&[&emulated, &measured], &CompareOptions::default()).unwrap();
    let text = comparison_terminal(&comparison, &OPTIONS);
    assert!(text.contains("; emulated 2026") && text.contains("; measured 2026"), "{text}");
}
