//! Results on standard output: tables for people, JSON and CSV for programs, Markdown for pages.

use crate::arguments::Format;
use crate::failure::OutputClosed;
use anstyle::Style;
use loadline_report::crawl::ExactTable;
use loadline_report::{no_formula, plain, plain_coloured, plain_lines};
use serde_json::Value as Json;
use std::io::{ErrorKind, IsTerminal, Write};

/// Prints `text` to standard output as it is.
///
/// # Errors
/// [`OutputClosed`] when the reader went away; otherwise what the system says.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    // Whatever a file or a store holds, it does not steer the terminal. Programs get every character.
    let shown = out.is_terminal().then(|| plain_coloured(text));
    let text = shown.as_deref().unwrap_or(text);
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write to standard output")),
    }
}

/// Tells the user something on standard error; a closed one is no reason to stop a measurement.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain_lines(text));
}

/// Whether standard output is a terminal that wants colour.
pub(crate) fn colour_wanted() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    !forbidden && std::env::var_os("TERM").is_none_or(|t| t != "dumb") && std::io::stdout().is_terminal()
}

/// Columns of the terminal on standard output; `None` where it is no terminal.
pub(crate) fn output_width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Characters of a field that people are shown.
const SHOWN_MAX: usize = 400;

/// One field of a table: as people read it, and as programs do.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    shown: String,
    exact: Json,
}

impl Field {
    /// The same for people and programs.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let exact = text.into();
        Self { shown: shown(&exact), exact: Json::String(exact) }
    }
    /// A number, alike for both.
    pub(crate) fn count(count: u64) -> Self {
        Self { shown: count.to_string(), exact: count.into() }
    }
    /// Rounded for people, exact for programs.
    pub(crate) fn both(shown: impl Into<String>, exact: impl Into<Json>) -> Self {
        Self { shown: self::shown(&shown.into()), exact: exact.into() }
    }
}

/// A text in a table: on one line, without control characters, and cut where it would drown all else.
fn shown(text: &str) -> String {
    let text = plain(text);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A column: its heading for people, its key for programs, and whether it holds numbers (set to the right).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// For people.
    pub(crate) heading: &'static str,
    /// For programs; carries the unit.
    pub(crate) key: &'static str,
    /// Where the text stands.
    pub(crate) align: Align,
}

/// Where a column's text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

impl Column {
    /// A column of words.
    pub(crate) const fn words(heading: &'static str, key: &'static str) -> Self {
        Self { heading, key, align: Align::Left }
    }
    /// A column of numbers.
    pub(crate) const fn numbers(heading: &'static str, key: &'static str) -> Self {
        Self { heading, key, align: Align::Right }
    }
}

/// Rows under columns.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Field>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }
    /// A table that a report made.
    pub(crate) fn of(table: &ExactTable) -> Self {
        let columns = table.columns.iter().map(|column| Column {
            heading: column.heading,
            key: column.key,
            align: if column.is_number { Align::Right } else { Align::Left },
        });
        let field = |(shown, exact): (&String, &Json)| Field::both(shown.as_str(), exact.clone());
        let rows = table.shown.rows.iter().zip(&table.exact);
        Self {
            columns: columns.collect(),
            rows: rows.map(|(shown, exact)| shown.iter().zip(exact).map(field).collect()).collect(),
        }
    }
    /// Adds a row: one field for each column.
    pub(crate) fn push(&mut self, row: Vec<Field>) {
        assert_eq!(row.len(), self.columns.len(), "one field for each column");
        self.rows.push(row);
    }
    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// The table under this heading in a report.
    pub(crate) fn in_report(&self, title: &str) -> loadline_report::AnswerTable {
        let columns = self.columns.iter().map(|column| (column.heading.to_owned(), column.align == Align::Right));
        let row = |row: &Vec<Field>| row.iter().map(|field| field.shown.clone()).collect();
        loadline_report::AnswerTable {
            title: title.to_owned(),
            columns: columns.collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }
    /// Rows as objects under the columns' keys.
    pub(crate) fn to_json(&self) -> Json {
        let object = |row: &Vec<Field>| {
            let pairs =
                self.columns.iter().zip(row).map(|(column, field)| (column.key.to_owned(), field.exact.clone()));
            Json::Object(pairs.collect())
        };
        Json::Array(self.rows.iter().map(object).collect())
    }
    /// The table in the given form, ending with a line break.
    pub(crate) fn render(&self, format: Format, colour: bool) -> String {
        match format {
            Format::Table => self.for_people(colour),
            Format::Json => pretty(&self.to_json()),
            Format::Csv => self.for_spreadsheets(),
            Format::Markdown => self.for_pages(),
        }
    }

    fn for_people(&self, colour: bool) -> String {
        let mut widths: Vec<usize> = self.columns.iter().map(|c| c.heading.chars().count()).collect();
        for row in &self.rows {
            for (width, field) in widths.iter_mut().zip(row) {
                *width = (*width).max(field.shown.chars().count());
            }
        }
        let bold = if colour { Style::new().bold() } else { Style::new() };
        let line = |texts: &[&str]| {
            let parts: Vec<String> = (self.columns.iter().zip(texts).zip(&widths))
                .map(|((column, text), &width)| {
                    let room = " ".repeat(width.saturating_sub(text.chars().count()));
                    match column.align {
                        Align::Left => format!("{text}{room}"),
                        Align::Right => format!("{room}{text}"),
                    }
                })
                .collect();
            parts.join("  ").trim_end().to_owned()
        };
        let headings: Vec<&str> = self.columns.iter().map(|c| c.heading).collect();
        let mut text = format!("{bold}{}{bold:#}\n", line(&headings));
        for row in &self.rows {
            let texts: Vec<&str> = row.iter().map(|f| f.shown.as_str()).collect();
            text.push_str(&line(&texts));
            text.push('\n');
        }
        text
    }

    fn for_spreadsheets(&self) -> String {
        let keys: Vec<String> = self.columns.iter().map(|c| c.key.to_owned()).collect();
        let mut text = keys.join(",") + "\n";
        for row in &self.rows {
            let fields: Vec<String> = row.iter().map(|f| csv_field(&f.exact)).collect();
            text.push_str(&fields.join(","));
            text.push('\n');
        }
        text
    }

    fn for_pages(&self) -> String {
        let row_of = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
        let mut text = row_of(self.columns.iter().map(|c| c.heading.to_owned()).collect());
        let rule = |c: &Column| if c.align == Align::Left { "---".to_owned() } else { "---:".to_owned() };
        text.push_str(&row_of(self.columns.iter().map(rule).collect()));
        for row in &self.rows {
            text.push_str(&row_of(row.iter().map(|f| f.shown.replace('|', "\\|")).collect()));
        }
        text
    }
}

/// Indented JSON, ending with a line break.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("records and tables have text keys") + "\n";
    escaped(&text)
}

/// JSON in which the control characters that may stand in strings as they are (C1, DEL) are escaped.
fn escaped(json: &str) -> String {
    let is_raw = |c: char| c.is_control() && c != '\n';
    if !json.contains(is_raw) {
        return json.to_owned();
    }
    let escape = |c: char| if is_raw(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escape).collect()
}

/// RFC 4180: quoted where the text holds a comma, a quote or a line break; a missing value is empty.
fn csv_field(value: &Json) -> String {
    let text = match value {
        Json::Null => return String::new(),
        Json::String(text) => no_formula(text),
        other => other.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[Column::words("name", "name"), Column::numbers("time", "time_s")]);
        table.push(vec![Field::text("a, \"b\" | c"), Field::both("1 min 00 s", 60)]);
        table.push(vec![Field::text("d"), Field::both("-", Json::Null)]);
        table
    }

    #[test]
    fn text_from_outside_is_cut_and_steers_nothing() {
        let mut table = Table::new(&[Column::words("name", "name"), Column::numbers("n", "n")]);
        table.push(vec![Field::text("a".repeat(70_000)), Field::count(1)]);
        table.push(vec![Field::text("=x\x1b]0;p\x07\u{9b}"), Field::both("x".repeat(70_000), -5)]);
        for format in [Format::Table, Format::Markdown] {
            let text = table.render(format, false);
            assert!(text.lines().all(|line| line.chars().count() < 2 * SHOWN_MAX + 20), "{}", text.len());
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
        }
        assert!(table.render(Format::Csv, false).ends_with("\n'=x\x1b]0;p\x07\u{9b},-5\n"));
        let json = table.render(Format::Json, false);
        assert!(!json.chars().any(|c| c.is_control() && c != '\n'));
        let back: Json = serde_json::from_str(&json).unwrap();
        assert_eq!(back[1]["name"], "=x\x1b]0;p\x07\u{9b}");
        assert_eq!(back[0]["name"].as_str().unwrap().len(), 70_000);
    }

    #[test]
    fn people_see_aligned_columns() {
        let wanted = "name              time\na, \"b\" | c  1 min 00 s\nd                    -\n";
        assert_eq!(table().render(Format::Table, false), wanted);
    }

    #[test]
    fn spreadsheets_get_exact_values_quoted_where_needed_and_nothing_for_missing() {
        assert_eq!(table().render(Format::Csv, false), "name,time_s\n\"a, \"\"b\"\" | c\",60\nd,\n");
    }

    #[test]
    fn programs_get_objects_with_null_for_missing() {
        let json: Json = serde_json::from_str(&table().render(Format::Json, false)).unwrap();
        assert_eq!(json, serde_json::json!([{"name": "a, \"b\" | c", "time_s": 60}, {"name": "d", "time_s": null}]));
    }

    #[test]
    fn pages_get_escaped_bars() {
        assert!(table().render(Format::Markdown, false).contains("| a, \"b\" \\| c | 1 min 00 s |"));
    }
}
