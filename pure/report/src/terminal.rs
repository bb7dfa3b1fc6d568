//! The run for a terminal: an aligned table, the doubts, conclusions and findings wrapped to the width, and the verdict last.

use crate::best::{self, best};
use crate::conclusions;
use crate::doubts::{self, DoubtGroup};
use crate::figures::{self, MISSING, plain};
use crate::hosts;
use crate::put;
use crate::rows::{self, Column, Row};
use crate::verdict;
use crate::words;
use loadline_analysis::RunSummary;
use loadline_units::words::capital;

/// Whether to send colour codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI codes.
    Always,
}

/// Which columns a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Those for which a line has room; the others are named below the table.
    Fitting,
    /// All, however long the lines become.
    All,
}

/// How the terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Whether to send colour codes.
    pub colour: Colour,
    /// Characters in a line. Wide characters count as one.
    pub width: usize,
    /// Which columns tables have.
    pub columns: Columns,
}

/// The note below a table whose line had no room for these columns; `shown_by` shows the whole.
pub(crate) fn left_out_note(headings: &[&str], shown_by: &str) -> Option<String> {
    let named = headings.join(", ");
    (!headings.is_empty())
        .then(|| format!("Left out for want of room: {named}. A wider terminal shows them, and so does {shown_by}."))
}

/// Lines of detail under one kind of doubt; the marks in the table and the other forms have the rest.
const DETAILS_MAX: usize = 6;
/// Cells named in one line of detail.
const CELLS_NAMED_MAX: usize = 3;
/// The width of the column with the questions of conclusions.
const QUESTION_WIDTH: usize = 15;
/// The label column is not squeezed below this.
const LABEL_WIDTH_MIN: usize = 20;
/// Optional columns are dropped before the label column becomes narrower than this.
const LABEL_WIDTH_WANTED: usize = 38;
/// Columns that go first when the line is too short.
const EXPENDABLE: [Column; 9] = [
    Column::P9999,
    Column::Max,
    Column::HighestMean,
    Column::P50,
    Column::P999,
    Column::Binding,
    Column::Interval,
    Column::Range,
    Column::Offered,
];

/// Likewise of a prediction with ranges: percentiles and their ranges stay longest.
const EXPENDABLE_PREDICTED: [Column; 9] = [
    Column::P9999,
    Column::Max,
    Column::P999,
    Column::Mean,
    Column::Binding,
    Column::Offered,
    Column::P50Range,
    Column::P50,
    Column::P99Range,
];

/// The emphasis of a text.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Yellow,
    Red,
    Green,
}

impl Colour {
    /// `text` in that style, if colour is wanted.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.to_owned(),
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Yellow => 33,
            Style::Red => 31,
            Style::Green => 32,
        };
        match self {
            Self::Always if !text.trim().is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }
}

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
pub fn verdict_terminal(lines: &[(String, String)], options: &TerminalOptions) -> String {
    let mut out = format!("{}\n", options.colour.paint(Style::Bold, verdict::HEADING));
    verdict_lines(&mut out, lines, options);
    out
}

/// The lines of a verdict: what each is about, and what is said of that.
pub(crate) fn verdict_lines(out: &mut String, lines: &[(String, String)], options: &TerminalOptions) {
    let colour = options.colour;
    let label = lines.iter().map(|(label, _)| length(label)).max().unwrap_or(0).min(LABEL_WIDTH_WANTED);
    for line in lines {
        let (name, text) = line;
        let style = match verdict::is_broken(line) {
            Some(true) => Style::Red,
            Some(false) => Style::Green,
            None => Style::Plain,
        };
        // A command in one piece can be copied; a wrapped one would run in parts.
        let wrapped = if name == verdict::COMMAND {
            vec![text.clone()]
        } else {
            wrap(text, options.width.saturating_sub(label + 4))
        };
        for (index, line) in wrapped.iter().enumerate() {
            let name = if index == 0 { name.as_str() } else { "" };
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
            wrap(&plain(&format!("{volume}{}", words::verdict::stop(conclusion))), options.width.saturating_sub(2))
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

/// One column as it will be printed.
struct Printed {
    column: Column,
    width: usize,
    texts: Vec<String>,
}

fn table(out: &mut String, summary: &RunSummary, groups: &[DoubtGroup], options: &TerminalOptions) {
    let rows = rows::rows(summary, groups);
    if rows.is_empty() {
        out.push_str("\nNo cells.\n");
        return;
    }
    let mut columns: Vec<Printed> = Column::wanted(summary)
        .into_iter()
        .map(|column| {
            let texts: Vec<String> = rows.iter().map(|row| cell_text(row, column)).collect();
            let width = texts.iter().map(|t| length(t)).chain([length(column.heading())]).max().unwrap_or(0);
            Printed { column, width, texts }
        })
        .collect();
    let total = |columns: &[Printed]| columns.iter().map(|c| c.width + 2).sum::<usize>().saturating_sub(2);
    let label_width = |columns: &[Printed]| columns.iter().find(|c| c.column == Column::Load).map_or(0, |c| c.width);
    // The uncertainty range is worth more of a line than the far tail.
    let is_range = |c: &Printed| matches!(c.column, Column::P50Range | Column::P99Range);
    let expendable: &[Column] = if columns.iter().any(is_range) { &EXPENDABLE_PREDICTED } else { &EXPENDABLE };
    let mut left_out = Vec::new();
    for column in expendable.iter().copied().filter(|_| options.columns == Columns::Fitting) {
        // A wrapped label costs less than a lost column, up to a point.
        let squeezable = label_width(&columns).saturating_sub(LABEL_WIDTH_WANTED);
        if total(&columns) <= options.width + squeezable {
            break;
        }
        left_out.extend(columns.iter().filter(|c| c.column == column).map(|c| c.column.heading()));
        columns.retain(|c| c.column != column);
    }
    let excess = total(&columns).saturating_sub(options.width);
    if let Some(label) = columns.iter_mut().find(|c| c.column == Column::Load) {
        label.width = label.width.saturating_sub(excess).max(LABEL_WIDTH_MIN.min(label.width));
    }
    out.push('\n');
    let heading: Vec<String> = columns.iter().map(|c| pad(c.column.heading(), c)).collect();
    put!(out, "{}\n", options.colour.paint(Style::Bold, heading.join("  ").trim_end()));
    for (index, row) in rows.iter().enumerate() {
        print_row(out, row, index, &columns, options.colour);
    }
    let interval = columns.iter().find_map(|c| Some((c.column.heading(), c.column.interval_words()?)));
    let note = match interval {
        Some((heading, words)) => format!("MB/s is 10^6 bytes/s; {heading} is {words}."),
        None => "MB/s is 10^6 bytes/s.".to_owned(),
    };
    let left_out = left_out_note(&left_out, &format!("`loadline show {} | less -S`", plain(&summary.run.id)));
    for line in [note].into_iter().chain(left_out).flat_map(|note| wrap(&note, options.width)) {
        put!(out, "{}\n", options.colour.paint(Style::Dim, &line));
    }
}

fn best_of_trials(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = best(summary) else { return };
    small_table(out, best::HEADING, &table.headings, &table.rows, options);
    note(out, best::NOTE, options);
}

/// A line for each number of hosts that ran a load.
fn totals_of_hosts(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = hosts::hosts_scaling(summary) else { return };
    let headings: Vec<String> = table.headings.iter().map(|heading| (*heading).to_owned()).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(|text| plain(text)).collect()).collect();
    small_table(out, hosts::SCALING_HEADING, &headings, &rows, options);
    note(out, hosts::SCALING_NOTE, options);
}

/// A line for each host that ran a load together with others; where it stayed behind, the finding says how.
fn shares_of_hosts(out: &mut String, summary: &RunSummary, options: &TerminalOptions) {
    let Some(table) = hosts::hosts(summary) else { return };
    let headings: Vec<String> = table.headings.iter().map(|heading| (*heading).to_owned()).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(|text| plain(text)).collect()).collect();
    small_table(out, hosts::HEADING, &headings, &rows, options);
    note(out, hosts::NOTE, options);
}

fn note(out: &mut String, text: &str, options: &TerminalOptions) {
    for line in wrap(text, options.width) {
        put!(out, "{}\n", options.colour.paint(Style::Dim, &line));
    }
}

/// Columns as wide as their texts; the first is text, the others are figures.
fn small_table(out: &mut String, title: &str, headings: &[String], rows: &[Vec<String>], options: &TerminalOptions) {
    let colour = options.colour;
    let width = |column: usize| {
        let texts = rows.iter().map(|row| &row[column]).chain([&headings[column]]);
        texts.map(|text| length(text)).max().unwrap_or(0)
    };
    let line = |row: &[String]| {
        let texts: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(column, text)| {
                let fill = " ".repeat(width(column).saturating_sub(length(text)));
                if column == 0 { format!("{text}{fill}") } else { format!("{fill}{text}") }
            })
            .collect();
        texts.join("  ").trim_end().to_owned()
    };
    put!(out, "\n{}\n", colour.paint(Style::Bold, title));
    put!(out, "{}\n", colour.paint(Style::Bold, &line(headings)));
    for row in rows {
        put!(out, "{}\n", line(row));
    }
}

/// A row, over as many lines as its label needs.
fn print_row(out: &mut String, row: &Row<'_>, index: usize, columns: &[Printed], colour: Colour) {
    let label = columns.iter().find(|c| c.column == Column::Load).expect("every table has the load");
    let indent = if row.part.is_some() { "  " } else { "" };
    let text = label.texts[index].trim_start();
    let room = label.width.saturating_sub(indent.len());
    // A label that does not fit has its further lines indented by two.
    let mut label_lines = wrap(text, if length(text) <= room { room } else { room.saturating_sub(2) });
    for (number, line) in label_lines.iter_mut().enumerate() {
        let hang = if number > 0 && row.part.is_none() { "  " } else { indent };
        line.insert_str(0, hang);
    }
    for (number, label_line) in label_lines.iter().enumerate() {
        let mut line = String::new();
        for (position, printed) in columns.iter().enumerate() {
            if position > 0 {
                line.push_str("  ");
            }
            let text = match printed.column {
                Column::Load => label_line.as_str(),
                _ if number > 0 => "",
                _ => &printed.texts[index],
            };
            let padded = pad(text, printed);
            line.push_str(&match printed.column {
                Column::Doubts => colour.paint(Style::Yellow, &padded),
                Column::Errors if row.cell.errors > 0 => colour.paint(Style::Red, &padded),
                _ if row.part.is_some() => colour.paint(Style::Dim, &padded),
                _ => padded,
            });
        }
        put!(out, "{}\n", line.trim_end());
    }
}

/// The text of a table cell. Units of latencies take two characters, so that the numbers are aligned.
fn cell_text(row: &Row<'_>, column: Column) -> String {
    let text = row.text(column);
    if column == Column::Load && row.part.is_some() {
        return format!("  {text}");
    }
    if column.is_latency() && (text.ends_with(" s") || text == MISSING) {
        return if text == MISSING { format!("{text}   ") } else { format!("{text} ") };
    }
    text
}

fn pad(text: &str, printed: &Printed) -> String {
    let fill = " ".repeat(printed.width.saturating_sub(length(text)));
    if printed.column.is_text() { format!("{text}{fill}") } else { format!("{fill}{text}") }
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

/// Characters of a text.
pub(crate) fn length(text: &str) -> usize {
    text.chars().count()
}

/// Lines of at most `width` characters, broken between words; a longer word has its own line. At least one line.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if length(line) + 1 + length(word) <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
