//! A comparison for a terminal: the sides, the overall verdict, an aligned table, and the doubts.

use super::rows;
use super::{legend, letter, overall_words, reasons, side_words, total_words, unmatched, verdict};
use crate::console::{Style, TerminalOptions, left_out_note, length, wrap};
use crate::draft::{Draft, Noun, Weight};
use crate::figures::plain;
use crate::put;
use crate::table::Table;
use crate::verdict::HEADING;
use crate::words;
use loadline_analysis::{Against, CellComparison, Comparison, Scaling, Verdict};

/// Cells without a counterpart that are named; the other forms name all.
const UNMATCHED_MAX: usize = 10;

/// The comparison as text, ending with a line break.
#[must_use]
pub fn comparison_terminal(comparison: &Comparison, options: &TerminalOptions) -> String {
    comparison_draft(comparison, options).whole()
}

/// The same in pieces, for a screen.
#[must_use]
pub fn comparison_draft(comparison: &Comparison, options: &TerminalOptions) -> Draft {
    let mut out = Draft::default();
    if comparison.ranking.iter().any(|side| side.iops.is_some()) {
        table(out.heading(), &verdict::ranks(comparison), options, |_| Weight::Carries);
        out.item(Noun::Note, Weight::Explains).push_str("\n");
    }
    out.heading();
    for (place, side) in comparison.sides.iter().enumerate() {
        out.item(Noun::Line, Weight::Carries);
        paragraph(&mut out, &format!("{} ", letter(place)), &side_words(side), Style::Bold, options);
    }
    for against in &comparison.against {
        one(&mut out, against, options);
    }
    if let Some(scaling) = &comparison.scaling {
        of_disks(&mut out, scaling, options);
    }
    out.item(Noun::Note, Weight::Explains).push_str("\n");
    for line in wrap(&legend(comparison), options.width) {
        put!(out, "{}\n", options.colour.paint(Style::Dim, &line));
    }
    put!(out.frame(), "\n{}\n", options.colour.paint(Style::Bold, HEADING));
    out.push_str(&crate::terminal::verdict_lines(&verdict::lines(comparison), options));
    out
}

/// A cell that differs is what a comparison is about.
const fn weight(cell: &CellComparison) -> Weight {
    match cell.verdict {
        Verdict::Worse => Weight::Carries,
        Verdict::Better => Weight::Qualifies,
        _ => Weight::Beside,
    }
}

fn one(out: &mut Draft, against: &Against, options: &TerminalOptions) {
    let name = format!("{} against {}", letter(against.side as usize), letter(0));
    if against.overall.is_empty() {
        put!(out.frame(), "\n{}: no cell that both have\n", options.colour.paint(Style::Bold, &name));
    } else {
        out.heading().push_str("\n");
    }
    for overall in &against.overall {
        out.item(Noun::Line, Weight::Carries);
        let verdict = options.colour.paint(rows::verdict_style(overall.verdict), overall.verdict.words());
        let words = overall_words(overall);
        // The verdict's colour codes have no width.
        let plain_head = format!("{name}: {}: ", overall.verdict.words());
        let lines = wrap(&format!("{plain_head}{words}"), options.width);
        for (index, line) in lines.iter().enumerate() {
            let head = plain_head.trim_end();
            if let (0, Some(rest)) = (index, line.strip_prefix(head)) {
                put!(out, "{}: {verdict}:{rest}\n", options.colour.paint(Style::Bold, &name));
            } else {
                put!(out, "{line}\n");
            }
        }
    }
    for note in &against.notes {
        out.item(Noun::Line, Weight::Qualifies);
        paragraph(out, "! ", &plain(&words::note(note)), Style::Yellow, options);
    }
    let marks = rows::doubt_marks(against);
    if !against.cells.is_empty() {
        out.heading().push_str("\n");
        table(out, &rows::cells(against, &marks), options, |row| weight(&against.cells[row]));
    }
    for reason in reasons(against) {
        out.item(Noun::Line, Weight::Details);
        paragraph(out, "- ", &reason, Style::Dim, options);
    }
    for mark in &marks {
        out.item(Noun::Doubt, Weight::Qualifies);
        let more = if mark.cells > 1 { format!(" ({} cells)", mark.cells) } else { String::new() };
        let text = format!("{}, {}{more}: {}. {}", mark.sides, mark.code, mark.code.meaning(), mark.detail);
        paragraph(out, &format!("†{} ", mark.number), &text, Style::Yellow, options);
    }
    let alone = unmatched(against);
    if !alone.is_empty() {
        put!(out.heading(), "\n{}\n", options.colour.paint(Style::Bold, "Cells that only one side has, not compared"));
        for line in alone.iter().take(UNMATCHED_MAX) {
            out.item(Noun::Line, Weight::Beside);
            paragraph(out, "- ", line, Style::Dim, options);
        }
        if let Some(rest) = alone.len().checked_sub(UNMATCHED_MAX).filter(|rest| *rest > 0) {
            put!(out, "- and {rest} more; the JSON form has them all\n");
        }
    }
}

fn of_disks(out: &mut Draft, scaling: &Scaling, options: &TerminalOptions) {
    put!(out.heading(), "\n{}\n", options.colour.paint(Style::Bold, "With more disks (100 % is linear scaling)"));
    if !scaling.cells.is_empty() {
        table(out, &rows::efficiencies(scaling), options, |_| Weight::Details);
    }
    for point in &scaling.overall {
        let ends = point.efficiency_low.zip(point.efficiency_high);
        let interval =
            ends.map_or_else(String::new, |(low, high)| format!(" ({:.1} to {:.1})", low * 100.0, high * 100.0));
        put!(
            out.item(Noun::Line, Weight::Carries),
            "All cells together, {} disks: {:.1} %{interval}, {}\n",
            point.disks,
            point.efficiency * 100.0,
            point.gain.words()
        );
    }
    for total in &scaling.totals {
        out.item(Noun::Line, Weight::Qualifies);
        paragraph(out, "- ", &total_words(scaling, total), Style::Plain, options);
    }
}

/// A marked paragraph, its further lines indented by the width of the mark.
fn paragraph(out: &mut Draft, mark: &str, text: &str, style: Style, options: &TerminalOptions) {
    let indent = " ".repeat(length(mark));
    for (index, line) in wrap(text, options.width.saturating_sub(length(mark))).iter().enumerate() {
        let head = if index == 0 { options.colour.paint(style, mark) } else { indent.clone() };
        put!(out, "{head}{line}\n");
    }
}

/// The table, and a note on the columns that a line has no room for.
fn table(out: &mut Draft, table: &Table, options: &TerminalOptions, weigh: impl Fn(usize) -> Weight) {
    let fitted = table.fitted(options);
    out.table(table, options, weigh);
    out.item(Noun::Note, Weight::Explains);
    let note = left_out_note(&fitted.left_out, "the same command with `| less -S` behind it");
    for line in note.iter().flat_map(|note| wrap(note, options.width)) {
        put!(out, "{}\n", options.colour.paint(Style::Dim, &line));
    }
}
