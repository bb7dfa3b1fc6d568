//! A comparison as Markdown, for tickets and pull requests.

use super::rows::{self, Align, Column};
use super::{legend, letter, overall_words, reasons, side_words, total_words, unmatched, verdict};
use crate::figures::plain;
use crate::markdown::escape;
use crate::put;
use crate::words;
use loadline_analysis::{Against, Comparison};

/// The comparison as Markdown.
#[must_use]
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut out = String::from("# Comparison\n\n");
    if comparison.ranking.iter().any(|side| side.iops.is_some()) {
        table(&mut out, &verdict::columns(comparison));
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
        table(&mut out, &rows::efficiencies(scaling));
        out.push('\n');
        for total in &scaling.totals {
            put!(out, "- {}\n", escape(&total_words(scaling, total)));
        }
    }
    put!(out, "\n{}\n\n## Verdict\n\n", escape(&legend(comparison)));
    for (name, text) in verdict::lines(comparison) {
        put!(out, "- **{}**: {}\n", escape(&name), escape(&text));
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
        table(out, &rows::cells(against, &marks));
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

fn table(out: &mut String, columns: &[Column]) {
    let line = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
    out.push_str(&line(columns.iter().map(|c| escape(&c.heading)).collect()));
    let rule = |c: &Column| if c.align == Align::Left { "---" } else { "---:" }.to_owned();
    out.push_str(&line(columns.iter().map(rule).collect()));
    for row in 0..columns.first().map_or(0, |c| c.texts.len()) {
        out.push_str(&line(columns.iter().map(|c| escape(&c.texts[row])).collect()));
    }
}
