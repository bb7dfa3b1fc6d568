//! A comparison as Markdown, for tickets and pull requests.

use super::rows;
use super::{legend, letter, overall_words, reasons, side_words, total_words, unmatched, verdict};
use crate::escaped::escape;
use crate::figures::plain;
use crate::put;
use crate::words;
use loadline_analysis::{Against, Comparison};

/// The comparison as Markdown.
#[must_use]
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut out = String::from("# Comparison\n\n");
    if comparison.ranking.iter().any(|side| side.iops.is_some()) {
        out.push_str(&verdict::ranks(comparison).markdown());
        out.push('\n');
    }
    for (place, side) in comparison.sides.iter().enumerate() {
        put!(out, "- **{}**: {}\n", letter(place), escape(&side_words(side)));
    }
    for against in &comparison.against {
        one(&mut out, against);
    }
    if let Some(scaling) = &comparison.scaling {
        out.push_str("\n## With more disks\n\n100 % is linear scaling.\n\n");
        out.push_str(&rows::efficiencies(scaling).markdown());
        out.push('\n');
        for total in &scaling.totals {
            put!(out, "- {}\n", escape(&total_words(scaling, total)));
        }
    }
    put!(out, "\n{}\n\n## Verdict\n\n", escape(&legend(comparison)));
    for line in verdict::lines(comparison) {
        put!(out, "- **{}**: {}\n", escape(&line.about.name()), escape(&line.text));
    }
    out
}

fn one(out: &mut String, against: &Against) {
    put!(out, "\n## {} against {}\n\n", letter(against.side as usize), letter(0));
    if against.overall.is_empty() {
        out.push_str("No cell that both have.\n");
    }
    for overall in &against.overall {
        put!(out, "**{}**: {}\n\n", overall.verdict.words(), escape(&overall_words(overall)));
    }
    for note in &against.notes {
        put!(out, "- {}\n", escape(&plain(&words::note(note))));
    }
    if !against.notes.is_empty() {
        out.push('\n');
    }
    let marks = rows::doubt_marks(against);
    if !against.cells.is_empty() {
        out.push_str(&rows::cells(against, &marks).markdown());
        out.push('\n');
    }
    for reason in reasons(against) {
        put!(out, "- {}\n", escape(&reason));
    }
    for mark in &marks {
        let more = if mark.cells > 1 { format!(" ({} cells)", mark.cells) } else { String::new() };
        put!(out, "- †{} {}, `{}`{more}: {}\n", mark.number, mark.sides, mark.code, escape(&mark.detail));
    }
    let alone = unmatched(against);
    if !alone.is_empty() {
        out.push_str("\n### Cells that only one side has\n\n");
        for line in &alone {
            put!(out, "- {}\n", escape(line));
        }
    }
}
