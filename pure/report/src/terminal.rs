//! The run for a terminal: an aligned table, the doubts, conclusions and findings wrapped to the width, and the verdict last.

use crate::best::{self, best};
use crate::conclusions;
use crate::console::{Style, TerminalOptions, left_out_note, length, wrap};
use crate::doubts::{self, DoubtGroup};
use crate::draft::{Draft, Noun, Weight};
use crate::figures::{self, plain};
use crate::hosts;
use crate::put;
use crate::remarks;
use crate::rows::{self, Column};
use crate::table::Table;
use crate::verdict;
use crate::verdict_line::{About, ObjectiveStanding, VerdictLine};
use crate::words;
use loadline_analysis::{FindingCode, RunSummary};
use loadline_record::DoubtGrade;
use loadline_units::words::capital;
use std::collections::BTreeSet;

/// Lines of detail under one kind of doubt; the marks in the table and the other forms have the rest.
const DETAILS_MAX: usize = 6;
/// Cells named in one line of detail.
const CELLS_NAMED_MAX: usize = 3;
/// So many findings come before the rows that no verdict is about.
const FINDINGS_FIRST: usize = 3;
/// The width of the column with the questions of conclusions.
const QUESTION_WIDTH: usize = 15;
/// A verdict's names are no wider than this.
const ABOUT_WIDTH_MAX: usize = 38;

/// Conclusions, findings, the table of cells, and the doubts.
#[must_use]
pub fn terminal(summary: &RunSummary, options: &TerminalOptions) -> String {
    run_draft(summary, options).whole()
}

/// The same in pieces, for a screen.
#[must_use]
pub fn run_draft(summary: &RunSummary, options: &TerminalOptions) -> Draft {
    let groups = doubts::grouped(summary);
    let mut out = Draft::default();
    header(&mut out, summary, options);
    table(&mut out, summary, &groups, options);
    best_of_trials(&mut out, summary, options);
    totals_of_hosts(&mut out, summary, options);
    shares_of_hosts(&mut out, summary, options);
    marks(&mut out, summary, options);
    explain(&mut out, summary, &groups, options);
    conclude(&mut out, summary, options);
    findings(&mut out, summary, options);
    conclusive(&mut out, summary, options);
    out
}

/// The verdict, at the very end: what stays on the screen.
fn conclusive(out: &mut Draft, summary: &RunSummary, options: &TerminalOptions) {
    let Some(block) = &summary.verdict else { return };
    put!(out.frame(), "\n{}", verdict_terminal(&verdict::lines(block), options));
}

/// A verdict for a terminal: its heading, then what each line is about and what is said of that.
#[must_use]
pub fn verdict_terminal(lines: &[VerdictLine], options: &TerminalOptions) -> String {
    format!("{}\n{}", options.colour.paint(Style::Bold, verdict::HEADING), verdict_lines(lines, options))
}

/// The lines of a verdict: what each is about, and what is said of that.
pub(crate) fn verdict_lines(lines: &[VerdictLine], options: &TerminalOptions) -> String {
    let (colour, mut out) = (options.colour, String::new());
    let label = lines.iter().map(|line| length(&line.about.name())).max().unwrap_or(0).min(ABOUT_WIDTH_MAX);
    for VerdictLine { about, text } in lines {
        let style = match about {
            About::Objective(ObjectiveStanding::Broken) => Style::Red,
            About::Objective(ObjectiveStanding::Kept) => Style::Green,
            _ => Style::Plain,
        };
        let name = about.name();
        // A command in one piece can be copied; a wrapped one would run in parts.
        let wrapped = if matches!(about, About::Command | About::Afterwards) {
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
    out
}

fn header(out: &mut Draft, summary: &RunSummary, options: &TerminalOptions) {
    let (run, colour) = (&summary.run, options.colour);
    put!(out.frame(), "{}", colour.paint(Style::Bold, &plain(&run.name)));
    let from = format!("{} {}, run {}", plain(&run.how()), plain(&run.started), plain(&run.id));
    put!(out, "  {}\n", colour.paint(Style::Dim, &from));
    for (place, volume) in run.volumes.iter().enumerate() {
        let direct = rows::way(volume);
        let size = rows::size(volume);
        let line = format!("{}: {}, {size}, {direct}", plain(&volume.name), rows::place(volume));
        if place > 0 {
            out.item(Noun::Line, Weight::Qualifies);
        }
        put!(out, "{}\n", colour.paint(Style::Dim, &line));
    }
    for (about, said) in remarks::remarks(run) {
        let indent = " ".repeat(length(about) + 2);
        for (place, line) in wrap(&said, options.width.saturating_sub(length(&indent))).iter().enumerate() {
            let about = if place == 0 { format!("{about}: ") } else { indent.clone() };
            put!(out.frame(), "{}{line}\n", colour.paint(Style::Dim, &about));
        }
    }
    if let Some(warning) = rows::status_warning(run) {
        put!(out.frame(), "{}\n", colour.paint(Style::Red, &format!("The run is {warning}.")));
    }
}

fn marks(out: &mut Draft, summary: &RunSummary, options: &TerminalOptions) {
    if let Some(table) = remarks::marks(&summary.run) {
        put!(out.heading(), "\n{}\n", options.colour.paint(Style::Bold, remarks::MARKS_HEADING));
        out.table(&table, options, |_| Weight::Beside);
    }
}

fn conclude(out: &mut Draft, summary: &RunSummary, options: &TerminalOptions) {
    if summary.conclusions.is_empty() {
        return;
    }
    let colour = options.colour;
    put!(out.heading(), "\n{}\n", colour.paint(Style::Bold, conclusions::HEADING));
    for conclusion in &summary.conclusions {
        out.item(Noun::Line, Weight::Carries);
        let volume = conclusions::volume(summary, conclusion).map_or_else(String::new, |name| format!("{name}: "));
        for (index, line) in
            wrap(&plain(&format!("{volume}{}", words::reached(conclusion))), options.width.saturating_sub(2))
                .iter()
                .enumerate()
        {
            put!(out, "{} {}\n", if index == 0 { "•" } else { " " }, colour.paint(Style::Bold, line));
        }
        for (question, answer) in conclusions::parts(conclusion) {
            out.item(Noun::Line, Weight::Beside);
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
            put!(out.item(Noun::Line, Weight::Beside), "{}{}\n", " ".repeat(QUESTION_WIDTH + 4), plain(command));
        }
    }
}

fn findings(out: &mut Draft, summary: &RunSummary, options: &TerminalOptions) {
    let mut told = conclusions::findings(summary).peekable();
    if told.peek().is_none() {
        return;
    }
    put!(out.heading(), "\n{}\n", options.colour.paint(Style::Bold, "Findings"));
    for (place, finding) in told.enumerate() {
        let weight = match finding.code {
            FindingCode::VerifyFailed => Weight::Spoils,
            FindingCode::Objective => Weight::Carries,
            _ if place < FINDINGS_FIRST => Weight::Qualifies,
            _ => Weight::Beside,
        };
        out.item(Noun::Finding, weight);
        for (index, line) in
            wrap(&plain(&words::finding(summary, finding)), options.width.saturating_sub(2)).iter().enumerate()
        {
            put!(out, "{} {line}\n", if index == 0 { "•" } else { " " });
        }
    }
}

fn table(out: &mut Draft, summary: &RunSummary, groups: &[DoubtGroup], options: &TerminalOptions) {
    if summary.cells.is_empty() {
        out.frame().push_str("\nNo cells.\n");
        return;
    }
    let columns = Column::wanted(summary);
    let fitted = rows::table(&columns, summary, groups, "  ").fitted(options);
    put!(out.heading(), "\n{}", fitted.head);
    let carrying = carrying(summary);
    let mut last = None;
    for (row, text) in rows::rows(summary, groups).iter().zip(&fitted.rows) {
        if last.replace(row.index) != Some(row.index) {
            let carries = carrying.contains(&*row.cell.id);
            out.item(Noun::Row, if carries { Weight::Carries } else { Weight::Beside });
        }
        out.push_str(text);
    }
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

/// Ids of the cells that the verdict and the conclusions are about.
fn carrying(summary: &RunSummary) -> BTreeSet<&str> {
    let figures = summary.verdict.iter().flat_map(|verdict| &verdict.volumes).flat_map(|volume| &volume.gives);
    let edges = summary.findings.iter().filter(|finding| finding.code == FindingCode::VerifyFailed);
    let concluded = summary.conclusions.iter().map(|conclusion| &*conclusion.cell);
    let edges = edges.flat_map(|finding| &finding.cells).map(|cell| &**cell);
    figures.map(|figure| &*figure.cell).chain(concluded).chain(edges).collect()
}

fn best_of_trials(out: &mut Draft, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = best(summary) else { return };
    noted_table(out, best::HEADING, &table, best::NOTE, options);
}

/// A line for each number of hosts that ran a load.
fn totals_of_hosts(out: &mut Draft, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = hosts::hosts_scaling(summary) else { return };
    noted_table(out, hosts::SCALING_HEADING, &table, hosts::SCALING_NOTE, options);
}

/// A line for each host that ran a load together with others; where it stayed behind, the finding says how.
fn shares_of_hosts(out: &mut Draft, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = hosts::hosts(summary) else { return };
    noted_table(out, hosts::HEADING, &table, hosts::NOTE, options);
}

fn noted_table(out: &mut Draft, title: &str, table: &Table, about: &str, options: &TerminalOptions) {
    put!(out.heading(), "\n{}\n", options.colour.paint(Style::Bold, title));
    out.table(table, options, |_| Weight::Details);
    note(out, about, options);
}

fn note(out: &mut Draft, text: &str, options: &TerminalOptions) {
    out.item(Noun::Note, Weight::Explains);
    for line in wrap(text, options.width) {
        put!(out, "{}\n", options.colour.paint(Style::Dim, &line));
    }
}

fn explain(out: &mut Draft, summary: &RunSummary, groups: &[DoubtGroup], options: &TerminalOptions) {
    if groups.is_empty() {
        return;
    }
    put!(out.heading(), "\n{}\n", options.colour.paint(Style::Bold, "Doubts"));
    let mut grade = None;
    for group in groups {
        if grade.replace(group.code.grade()) != Some(group.code.grade()) {
            let meaning = format!("{}:", capital(group.code.grade().meaning()));
            put!(out.item(Noun::Note, Weight::Beside), "  {}\n", options.colour.paint(Style::Dim, &meaning));
        }
        doubt(out, summary, group, options);
    }
}

/// One kind of doubt, with the first of its places; where there is no room for these, with their number.
fn doubt(out: &mut Draft, summary: &RunSummary, group: &DoubtGroup, options: &TerminalOptions) {
    out.item(
        Noun::Doubt,
        match group.code.grade() {
            DoubtGrade::Spoils => Weight::Spoils,
            DoubtGrade::Qualifies => Weight::Carries,
            DoubtGrade::Note => Weight::Details,
        },
    );
    if group.number.is_none() {
        let text = format!("every row is {}: {}", group.code, group.code.meaning());
        for line in wrap(&text, options.width.saturating_sub(5)) {
            put!(out, "    {line}\n");
        }
        return;
    }
    let cells = group.cells().len();
    let cells = format!(" ({} cell{})", figures::count(cells as u64), if cells == 1 { "" } else { "s" });
    out.push_str(&doubt_head(group, "", options));
    out.briefly(doubt_head(group, &cells, options));
    for detail in group.details.iter().take(DETAILS_MAX) {
        let text = format!("{}: {}", cells_named(summary, &detail.cells), detail.detail);
        out.item(Noun::Line, Weight::Beside);
        for (index, line) in wrap(&text, options.width.saturating_sub(6)).iter().enumerate() {
            put!(out, "{}{line}\n", if index == 0 { "    - " } else { "      " });
        }
    }
    if let Some(rest) = group.details.len().checked_sub(DETAILS_MAX).filter(|rest| *rest > 0) {
        let mark = group.mark();
        put!(out.item(Noun::Note, Weight::Explains), "    - and {rest} more, marked {mark} in the table\n");
    }
}

/// "†3  cached-reads: reads were answered from memory".
fn doubt_head(group: &DoubtGroup, cells: &str, options: &TerminalOptions) -> String {
    let (mark, mut out) = (group.mark(), String::new());
    let text = format!("{}: {}{cells}", group.code, group.code.meaning());
    for (index, line) in wrap(&text, options.width.saturating_sub(5)).iter().enumerate() {
        let mark = if index == 0 { mark.as_str() } else { "" };
        let fill = " ".repeat(4_usize.saturating_sub(length(mark)));
        put!(out, "{}{fill}{line}\n", options.colour.paint(Style::Yellow, mark));
    }
    out
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
