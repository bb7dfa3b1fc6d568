//! The run for a terminal: an aligned table, the doubts, conclusions and findings wrapped to the width, and the verdict last.

use crate::best::{self, best};
use crate::conclusions;
use crate::console::{Style, TerminalOptions, left_out_note, length, wrap};
use crate::doubts::{self, DoubtGroup};
use crate::figures::{self, plain};
use crate::hosts;
use crate::put;
use crate::rows::{self, Column};
use crate::table::Table;
use crate::verdict;
use crate::verdict_line::{About, ObjectiveStanding, VerdictLine};
use crate::words;
use loadline_analysis::RunSummary;
use loadline_units::words::capital;

/// Lines of detail under one kind of doubt; the marks in the table and the other forms have the rest.
const DETAILS_MAX: usize = 6;
/// Cells named in one line of detail.
const CELLS_NAMED_MAX: usize = 3;
/// The width of the column with the questions of conclusions.
const QUESTION_WIDTH: usize = 15;
/// A verdict's names are no wider than this.
const ABOUT_WIDTH_MAX: usize = 38;

/// Conclusions, findings, the table of cells, and the doubts.
#[must_use]
pub fn terminal(summary: &RunSummary, options: &TerminalOptions) -> String {
    let groups = doubts::grouped(summary);
    let mut out = String::new();
    header(&mut out, summary, options);
    table(&mut out, summary, &groups, options);
    best_of_trials(&mut out, summary, options);
    totals_of_hosts(&mut out, summary, options);
    shares_of_hosts(&mut out, summary, options);
    explain(&mut out, summary, &groups, options);
    conclude(&mut out, summary, options);
    findings(&mut out, summary, options);
    conclusive(&mut out, summary, options);
    out
}

/// The verdict, at the very end: what stays on the screen.
fn conclusive(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let Some(block) = &summary.verdict else { return };
    put!(out, "\n{}", verdict_terminal(&verdict::lines(block), options));
}

/// A verdict for a terminal: its heading, then what each line is about and what is said of that.
#[must_use]
pub fn verdict_terminal(lines: &[VerdictLine], options: &TerminalOptions) -> String {
    let mut out = format!("{}\n", options.colour.paint(Style::Bold, verdict::HEADING));
    verdict_lines(&mut out, lines, options);
    out
}

/// The lines of a verdict: what each is about, and what is said of that.
pub(crate) fn verdict_lines(out: &mut String, lines: &[VerdictLine], options: &TerminalOptions) {
    let colour = options.colour;
    let label = lines.iter().map(|line| length(&line.about.name())).max().unwrap_or(0).min(ABOUT_WIDTH_MAX);
    for VerdictLine { about, text } in lines {
        let style = match about {
            About::Objective(ObjectiveStanding::Broken) => Style::Red,
            About::Objective(ObjectiveStanding::Kept) => Style::Green,
            _ => Style::Plain,
        };
        let name = about.name();
        // A command in one piece can be copied; a wrapped one would run in parts.
        let wrapped = if *about == About::Command {
            vec![text.clone()]
        } else {
            wrap(text, options.width.saturating_sub(label + 4))
        };
        for (index, line) in wrapped.iter().enumerate() {
            let name = if index == 0 { &*name } else { "" };
            let fill = " ".repeat(label.saturating_sub(length(name)));
            put!(out, "  {}{fill}  {}\n", colour.paint(Style::Bold, name), colour.paint(style, line));
        }
    }
}

fn header(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let (run, colour) = (&summary.run, options.colour);
    put!(out, "{}", colour.paint(Style::Bold, &plain(&run.name)));
    let from = format!("{} {}, run {}", plain(&run.how()), plain(&run.started), plain(&run.id));
    put!(out, "  {}\n", colour.paint(Style::Dim, &from));
    for volume in &run.volumes {
        let direct = rows::way(volume);
        let size = rows::size(volume);
        let line = format!("{}: {}, {size}, {direct}", plain(&volume.name), rows::place(volume));
        put!(out, "{}\n", colour.paint(Style::Dim, &line));
    }
    if let Some(warning) = rows::status_warning(run) {
        put!(out, "{}\n", colour.paint(Style::Red, &format!("The run is {warning}.")));
    }
}

fn conclude(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    if summary.conclusions.is_empty() {
        return;
    }
    let colour = options.colour;
    put!(out, "\n{}\n", colour.paint(Style::Bold, conclusions::HEADING));
    for conclusion in &summary.conclusions {
        let volume = conclusions::volume(summary, conclusion).map_or_else(String::new, |name| format!("{name}: "));
        for (index, line) in
            wrap(&plain(&format!("{volume}{}", words::reached(conclusion))), options.width.saturating_sub(2))
                .iter()
                .enumerate()
        {
            put!(out, "{} {}\n", if index == 0 { "•" } else { " " }, colour.paint(Style::Bold, line));
        }
        for (question, answer) in conclusions::parts(conclusion) {
            for (index, line) in
                wrap(&plain(&answer), options.width.saturating_sub(QUESTION_WIDTH + 4)).iter().enumerate()
            {
                let question = if index == 0 { question } else { "" };
                let fill = " ".repeat(QUESTION_WIDTH.saturating_sub(length(question)));
                put!(out, "  {}{fill}  {line}\n", colour.paint(Style::Dim, question));
            }
        }
        // A command in one piece can be copied; a wrapped one would run in parts.
        for command in &conclusion.commands {
            put!(out, "{}{}\n", " ".repeat(QUESTION_WIDTH + 4), plain(command));
        }
    }
}

fn findings(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let mut told = conclusions::findings(summary).peekable();
    if told.peek().is_none() {
        return;
    }
    put!(out, "\n{}\n", options.colour.paint(Style::Bold, "Findings"));
    for finding in told {
        for (index, line) in
            wrap(&plain(&words::finding(summary, finding)), options.width.saturating_sub(2)).iter().enumerate()
        {
            put!(out, "{} {line}\n", if index == 0 { "•" } else { " " });
        }
    }
}

fn table(out: &mut String, summary: &RunSummary, groups: &[DoubtGroup], options: &TerminalOptions) {
    if summary.cells.is_empty() {
        out.push_str("\nNo cells.\n");
        return;
    }
    let columns = Column::wanted(summary);
    let fitted = rows::table(&columns, summary, groups, "  ").fitted(options);
    put!(out, "\n{}", fitted.text);
    let is_shown = |column: &&Column| !fitted.left_out.iter().any(|heading| heading == column.heading());
    let interval =
        columns.iter().filter(is_shown).find_map(|column| Some((column.heading(), column.interval_words()?)));
    let about = match interval {
        Some((heading, words)) => format!("MB/s is 10^6 bytes/s; {heading} is {words}."),
        None => "MB/s is 10^6 bytes/s.".to_owned(),
    };
    note(out, &about, options);
    let shown_by = format!("`loadline show {} | less -S`", plain(&summary.run.id));
    if let Some(left_out) = left_out_note(&fitted.left_out, &shown_by) {
        note(out, &left_out, options);
    }
}

fn best_of_trials(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = best(summary) else { return };
    noted_table(out, best::HEADING, &table, best::NOTE, options);
}

/// A line for each number of hosts that ran a load.
fn totals_of_hosts(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = hosts::hosts_scaling(summary) else { return };
    noted_table(out, hosts::SCALING_HEADING, &table, hosts::SCALING_NOTE, options);
}

/// A line for each host that ran a load together with others; where it stayed behind, the finding says how.
fn shares_of_hosts(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = hosts::hosts(summary) else { return };
    noted_table(out, hosts::HEADING, &table, hosts::NOTE, options);
}

fn noted_table(out: &mut String, title: &str, table: &Table, about: &str, options: &TerminalOptions) {
    put!(out, "\n{}\n{}", options.colour.paint(Style::Bold, title), table.terminal(options));
    note(out, about, options);
}

fn note(out: &mut String, text: &str, options: &TerminalOptions) {
    for line in wrap(text, options.width) {
        put!(out, "{}\n", options.colour.paint(Style::Dim, &line));
    }
}

fn explain(out: &mut String, summary: &RunSummary, groups: &[DoubtGroup], options: &TerminalOptions) {
    if groups.is_empty() {
        return;
    }
    let colour = options.colour;
    put!(out, "\n{}\n", colour.paint(Style::Bold, "Doubts"));
    let mut grade = None;
    for group in groups {
        if grade.replace(group.code.grade()) != Some(group.code.grade()) {
            put!(out, "  {}\n", colour.paint(Style::Dim, &format!("{}:", capital(group.code.grade().meaning()))));
        }
        if group.number.is_none() {
            let text = format!("every row is {}: {}", group.code, group.code.meaning());
            for line in wrap(&text, options.width.saturating_sub(5)) {
                put!(out, "    {line}\n");
            }
            continue;
        }
        let mark = group.mark();
        let text = format!("{}: {}", group.code, group.code.meaning());
        for (index, line) in wrap(&text, options.width.saturating_sub(5)).iter().enumerate() {
            let mark = if index == 0 { mark.as_str() } else { "" };
            let fill = " ".repeat(4_usize.saturating_sub(length(mark)));
            put!(out, "{}{fill}{line}\n", colour.paint(Style::Yellow, mark));
        }
        for detail in group.details.iter().take(DETAILS_MAX) {
            let text = format!("{}: {}", cells_named(summary, &detail.cells), detail.detail);
            for (index, line) in wrap(&text, options.width.saturating_sub(6)).iter().enumerate() {
                put!(out, "{}{line}\n", if index == 0 { "    - " } else { "      " });
            }
        }
        if let Some(rest) = group.details.len().checked_sub(DETAILS_MAX).filter(|rest| *rest > 0) {
            put!(out, "    - and {rest} more, marked {mark} in the table\n");
        }
    }
}

/// The first few cells by name and the number of the others.
fn cells_named(summary: &RunSummary, cells: &[usize]) -> String {
    let several = summary.cells.iter().any(|c| c.volume != summary.cells[0].volume);
    let names: Vec<String> = cells
        .iter()
        .take(CELLS_NAMED_MAX)
        .map(|index| {
            let cell = &summary.cells[*index];
            if several { format!("{} {}", plain(&cell.volume), plain(&cell.label)) } else { plain(&cell.label) }
        })
        .collect();
    match cells.len() - names.len() {
        0 => names.join("; "),
        rest => format!("{} and {} more", names.join("; "), figures::count(rest as u64)),
    }
}
