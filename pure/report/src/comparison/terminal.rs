//! A comparison for a terminal: the sides, the overall verdict, an aligned table, and the doubts.

use super::rows::{self, Align, Column};
use super::{legend, letter, overall_words, reasons, side_words, total_words, unmatched, verdict};
use crate::figures::plain;
use crate::put;
use crate::terminal::{Columns, Style, TerminalOptions, left_out_note, length, wrap};
use crate::verdict::HEADING;
use crate::words;
use loadline_analysis::{Against, Comparison, Scaling};

/// The first column is not squeezed below this.
const LABEL_WIDTH_MIN: usize = 20;
/// Cells without a counterpart that are named; the other forms name all.
const UNMATCHED_MAX: usize = 10;

/// The comparison as text, ending with a line break.
#[must_use]
pub fn comparison_terminal(comparison: &Comparison, options: &TerminalOptions) -> String {
    let mut out = String::new();
    if comparison.ranking.iter().any(|side| side.iops.is_some()) {
        table(&mut out, verdict::columns(comparison), options);
        out.push('\n');
    }
    for (place, side) in comparison.sides.iter().enumerate() {
        paragraph(&mut out, &format!("{} ", letter(place)), &side_words(side), Style::Bold, options);
    }
    for against in &comparison.against {
        one(&mut out, against, options);
    }
    if let Some(scaling) = &comparison.scaling {
        of_disks(&mut out, scaling, options);
    }
    out.push('\n');
    for line in wrap(&legend(comparison), options.width) {
        put!(out, "{}\n", options.colour.paint(Style::Dim, &line));
    }
    put!(out, "\n{}\n", options.colour.paint(Style::Bold, HEADING));
    crate::terminal::verdict_lines(&mut out, &verdict::lines(comparison), options);
    out
}

fn one(out: &mut String, against: &Against, options: &TerminalOptions) {
    let name = format!("{} against {}", letter(against.side as usize), letter(0));
    if against.overall.is_empty() {
        put!(out, "\n{}: no cell that both have\n", options.colour.paint(Style::Bold, &name));
    } else {
        out.push('\n');
    }
    for overall in &against.overall {
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
        paragraph(out, "! ", &plain(&words::note(note)), Style::Yellow, options);
    }
    let marks = rows::doubt_marks(against);
    if !against.cells.is_empty() {
        out.push('\n');
        table(out, rows::cells(against, &marks), options);
    }
    for reason in reasons(against) {
        paragraph(out, "- ", &reason, Style::Dim, options);
    }
    for mark in &marks {
        let more = if mark.cells > 1 { format!(" ({} cells)", mark.cells) } else { String::new() };
        let text = format!("{}, {}{more}: {}. {}", mark.sides, mark.code, mark.code.meaning(), mark.detail);
        paragraph(out, &format!("†{} ", mark.number), &text, Style::Yellow, options);
    }
    let alone = unmatched(against);
    if !alone.is_empty() {
        put!(out, "\n{}\n", options.colour.paint(Style::Bold, "Cells that only one side has, not compared"));
        for line in alone.iter().take(UNMATCHED_MAX) {
            paragraph(out, "- ", line, Style::Dim, options);
        }
        if let Some(rest) = alone.len().checked_sub(UNMATCHED_MAX).filter(|rest| *rest > 0) {
            put!(out, "- and {rest} more; the JSON form has them all\n");
        }
    }
}

fn of_disks(out: &mut String, scaling: &Scaling, options: &TerminalOptions) {
    put!(out, "\n{}\n", options.colour.paint(Style::Bold, "With more disks (100 % is linear scaling)"));
    if !scaling.cells.is_empty() {
        table(out, rows::efficiencies(scaling), options);
    }
    for point in &scaling.overall {
        let ends = point.efficiency_low.zip(point.efficiency_high);
        let interval =
            ends.map_or_else(String::new, |(low, high)| format!(" ({:.1} to {:.1})", low * 100.0, high * 100.0));
        put!(
            out,
            "All cells together, {} disks: {:.1} %{interval}, {}\n",
            point.disks,
            point.efficiency * 100.0,
            point.gain.words()
        );
    }
    for total in &scaling.totals {
        paragraph(out, "- ", &total_words(scaling, total), Style::Plain, options);
    }
}

/// A marked paragraph, its further lines indented by the width of the mark.
fn paragraph(out: &mut String, mark: &str, text: &str, style: Style, options: &TerminalOptions) {
    let indent = " ".repeat(length(mark));
    for (index, line) in wrap(text, options.width.saturating_sub(length(mark))).iter().enumerate() {
        let head = if index == 0 { options.colour.paint(style, mark) } else { indent.clone() };
        put!(out, "{head}{line}\n");
    }
}

/// Columns side by side. The load's column is wrapped, and optional columns are dropped if the line is too short.
fn table(out: &mut String, mut columns: Vec<Column>, options: &TerminalOptions) {
    let width_of = |c: &Column| c.texts.iter().map(|t| length(t)).chain([length(&c.heading)]).max().unwrap_or(0);
    let total = |columns: &[Column]| columns.iter().map(|c| width_of(c) + 2).sum::<usize>().saturating_sub(2);
    let is_label = |column: &Column| ["load", "layout"].contains(&column.heading.as_str());
    let label = |columns: &[Column]| columns.iter().position(is_label).unwrap_or(0);
    let mut left_out: Vec<String> = Vec::new();
    while options.columns == Columns::Fitting
        && total(&columns) > options.width + width_of(&columns[label(&columns)]).saturating_sub(LABEL_WIDTH_MIN)
    {
        let Some(most) = columns.iter().map(|c| c.expendable).max().filter(|most| *most > 0) else { break };
        left_out.extend(columns.iter().filter(|c| c.expendable == most).map(|c| c.heading.clone()));
        columns.retain(|c| c.expendable < most);
    }
    let place = label(&columns);
    let mut widths: Vec<usize> = columns.iter().map(width_of).collect();
    let excess = total(&columns).saturating_sub(options.width);
    widths[place] = widths[place].saturating_sub(excess).max(LABEL_WIDTH_MIN.min(widths[place]));
    let pad = |text: &str, index: usize| {
        let fill = " ".repeat(widths[index].saturating_sub(length(text)));
        if columns[index].align == Align::Left { format!("{text}{fill}") } else { format!("{fill}{text}") }
    };
    let heading: Vec<String> = columns.iter().enumerate().map(|(i, c)| pad(&c.heading, i)).collect();
    put!(out, "{}\n", options.colour.paint(Style::Bold, heading.join("  ").trim_end()));
    for row in 0..columns[0].texts.len() {
        let label_lines = wrap(&columns[place].texts[row], widths[place]);
        for (number, label_line) in label_lines.iter().enumerate() {
            let mut line = String::new();
            for (index, column) in columns.iter().enumerate() {
                let text = match (index == place, number) {
                    (true, _) => label_line.as_str(),
                    (false, 0) => column.texts[row].as_str(),
                    _ => "",
                };
                let gap = if index == 0 { "" } else { "  " };
                put!(line, "{gap}{}", options.colour.paint(column.styles[row], &pad(text, index)));
            }
            put!(out, "{}\n", line.trim_end());
        }
    }
    let headings: Vec<&str> = left_out.iter().map(String::as_str).collect();
    let note = left_out_note(&headings, "the same command with `| less -S` behind it");
    for line in note.iter().flat_map(|note| wrap(note, options.width)) {
        put!(out, "{}\n", options.colour.paint(Style::Dim, &line));
    }
}
