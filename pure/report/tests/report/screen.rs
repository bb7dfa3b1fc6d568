//! What a verb prints unless all is asked for: a screen, with the verdict whole.

use crate::golden::compare;
use crate::made_up;
use loadline_analysis::{FindingCode, RunSummary};
use loadline_report::{
    Colour, Columns, Draft, Noun, SCREEN_LINES, TerminalOptions, Weight, run_draft, terminal, verdict_lines,
    verdict_terminal,
};
use proptest::prelude::*;

const SCREEN: TerminalOptions = TerminalOptions { colour: Colour::Never, width: 100, columns: Columns::Fitting };
const SHOWN_BY: &str = "loadline show 20260131-142233-1a2b3c --all";

fn screen(summary: &RunSummary) -> String {
    run_draft(summary, &SCREEN).fitted(&SCREEN, SHOWN_BY)
}

/// Lines on a terminal of 100 columns.
fn lines_of(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(100).max(1)).sum()
}

/// Rows of these cells that are there, and those that the note counts.
fn rows_told(summary: &RunSummary, text: &str) -> usize {
    let label = |label: &str| label.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    let table = text.split("\nDoubts").next().unwrap_or(text);
    let begins = |line: &&str| summary.cells.iter().any(|cell| line.contains(&label(&cell.label)));
    let kept = table.lines().take_while(|line| !line.starts_with("Best")).filter(begins).count();
    let note = text.lines().find(|line| line.ends_with(SHOWN_BY)).unwrap_or("");
    let (numbers, _) = note.split_once(" more row").unwrap_or(("0", ""));
    kept + numbers.replace(',', "").parse::<usize>().unwrap_or(0)
}

#[test]
fn a_screen_has_the_verdict_the_rows_it_is_about_and_the_kinds_of_doubt() {
    let (_, summary) = made_up::everything();
    let text = screen(&summary);
    compare("screen-100.txt", &text);
    for code in ["errors: ", "cached-reads: ", "other-load: "] {
        assert!(text.contains(code), "{code} in {text}");
    }
    for label in ["random read 4 KiB, depth 32", "random write 4 KiB, depth 32", "random write 4 KiB, depth 1 "] {
        assert!(text.contains(label), "{label} in {text}");
    }
    assert_eq!(rows_told(&summary, &text), summary.cells.len(), "{text}");
}

#[test]
fn what_fits_is_printed_as_it_is() {
    let (_, mut summary) = made_up::everything();
    summary.cells.truncate(4);
    summary.conclusions.clear();
    summary.findings.clear();
    assert_eq!(screen(&summary), terminal(&summary, &SCREEN));
}

#[test]
fn colours_take_no_room() {
    let (_, summary) = made_up::everything();
    let coloured = TerminalOptions { colour: Colour::Always, ..SCREEN };
    let text = run_draft(&summary, &coloured).fitted(&coloured, SHOWN_BY);
    let mut plain = text;
    while let Some(begin) = plain.find('\x1b') {
        let end = begin + plain[begin..].find('m').unwrap();
        plain.replace_range(begin..=end, "");
    }
    assert_eq!(plain, screen(&summary));
}

#[test]
fn an_explanation_goes_with_what_it_explains() {
    let mut draft = Draft::default();
    draft.push_str("name\n");
    draft.heading().push_str("Rows\n");
    for row in 0..60 {
        draft.item(Noun::Row, Weight::Qualifies).push_str(&format!("row {row}\n"));
    }
    draft.heading().push_str("Others\n");
    draft.item(Noun::Row, Weight::Beside).push_str("other\n");
    draft.item(Noun::Note, Weight::Explains).push_str("others are rare\n");
    draft.frame().push_str("\nVerdict\n");
    let text = draft.fitted(&SCREEN, SHOWN_BY);
    assert!(!text.contains("Others") && !text.contains("others are rare"), "{text}");
    assert_eq!(lines_of(&text), SCREEN_LINES, "{text}");
    assert!(text.ends_with(&format!("row 33\n\n27 more rows: {SHOWN_BY}\n\nVerdict\n")), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_run_takes_more_than_a_screen_and_its_verdict_is_whole(
        which in 0usize..3, kept in any::<[bool; 64]>(), times in 1usize..4, findings in 0usize..20, volumes in 1usize..30,
    ) {
        let (_, mut summary) = match which {
            0 => made_up::everything(),
            1 => made_up::layouts(),
            _ => made_up::matrix(10, 2),
        };
        let mut place = 0;
        summary.cells.retain(|_| { place += 1; kept[place % 64] });
        let wanted = summary.cells.len() * times;
        summary.cells = summary.cells.iter().cycle().take(wanted).cloned().collect();
        let all = summary.findings.clone();
        summary.findings = all.iter().cycle().take(if all.is_empty() { 0 } else { findings }).cloned().collect();
        summary.run.volumes = summary.run.volumes.iter().cycle().take(volumes).cloned().collect();
        let text = screen(&summary);
        prop_assert!(lines_of(&text) <= SCREEN_LINES, "{} lines:\n{text}", lines_of(&text));
        if let Some(block) = &summary.verdict {
            prop_assert!(text.ends_with(&verdict_terminal(&verdict_lines(block), &SCREEN)), "{text}");
        }
        let wide = TerminalOptions { width: 1_000, ..SCREEN };
        let whole = terminal(&summary, &wide);
        for cell in &summary.cells {
            prop_assert!(whole.contains(&cell.label), "{} in {whole}", cell.label);
        }
        let is_spoiled = summary.findings.iter().any(|finding| finding.code == FindingCode::VerifyFailed);
        prop_assert!(!is_spoiled || text.contains("Findings"), "{text}");
    }
}
