//! Rows under columns: as people read them on a terminal, in Markdown and on a page, and as programs read them in CSV and JSON.

use crate::console::{Columns, Style, TerminalOptions, length, wrap};
use crate::csv::record;
use crate::escaped::Escaped;
use crate::escaped::escape;
use crate::plain_text::{no_formula, plain};
use crate::put;
use serde_json::Value as Json;
use std::borrow::Cow;

/// Characters of a field that people are shown.
const SHOWN_MAX: usize = 400;
/// A column that is wrapped does not become narrower than this.
const WRAPPED_MIN: usize = 20;

/// One field: as people read it, and as programs do.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    shown: String,
    exact: Json,
    style: Style,
    /// Spaces behind a short unit, so that the numbers of a column are aligned.
    fill: usize,
}

impl Field {
    /// The same for people and programs.
    pub fn text(text: impl Into<String>) -> Self {
        let exact = text.into();
        Self { shown: shown(&exact), exact: Json::String(exact), style: Style::Plain, fill: 0 }
    }
    /// A number, alike for both.
    #[must_use]
    pub fn count(count: u64) -> Self {
        Self::both(count.to_string(), count)
    }
    /// Rounded for people, exact for programs.
    pub fn both(shown: impl AsRef<str>, exact: impl Into<Json>) -> Self {
        Self { shown: self::shown(shown.as_ref()), exact: exact.into(), style: Style::Plain, fill: 0 }
    }
    /// Whole for programs, and for people at most so many characters of its beginning.
    pub fn cut(text: impl Into<String>, length_max: usize) -> Self {
        let exact = text.into();
        let shown = match exact.char_indices().nth(length_max) {
            Some(_) => format!("{}…", exact.chars().take(length_max - 1).collect::<String>()),
            None => exact.clone(),
        };
        Self::both(shown, exact)
    }
    /// A figure that may be missing: a dash, and null.
    pub fn figure<T: Copy + Into<Json>>(value: Option<T>, shown: impl FnOnce(T) -> String) -> Self {
        value.map_or_else(Self::missing, |value| Self::both(shown(value), value))
    }
    /// What is not known.
    #[must_use]
    pub fn missing() -> Self {
        Self::both("-", Json::Null)
    }
    /// A span in ns: for people in the unit that suits it.
    pub(crate) fn into_span(self) -> Self {
        match self.exact.as_f64() {
            Some(ns) => Self { shown: crate::figures::latency(ns), ..self },
            None => self,
        }
    }
    /// In this style, on terminals that have colours.
    pub(crate) const fn styled(mut self, style: Style) -> Self {
        self.style = style;
        self
    }
    /// With so many spaces behind it on a terminal.
    pub(crate) const fn filled(mut self, fill: usize) -> Self {
        self.fill = fill;
        self
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

/// A column: its heading for people, and its key for programs, which carries the unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    heading: Cow<'static, str>,
    key: Cow<'static, str>,
    is_number: bool,
    /// Where a line has no room: the largest go first; 0 stays.
    expendable: u8,
    wrapping: Option<Wrapping>,
}

/// How a column is wrapped where a line has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wrapping {
    /// Other columns go before it becomes narrower than this.
    wanted: usize,
    /// Spaces before its further lines.
    hang: usize,
}

impl Column {
    /// A column of words.
    pub fn words(heading: impl Into<Cow<'static, str>>, key: impl Into<Cow<'static, str>>) -> Self {
        Self { heading: heading.into(), key: key.into(), is_number: false, expendable: 0, wrapping: None }
    }
    /// A column of numbers, set to the right.
    pub fn numbers(heading: impl Into<Cow<'static, str>>, key: impl Into<Cow<'static, str>>) -> Self {
        Self { is_number: true, ..Self::words(heading, key) }
    }
    /// Left out where a line has no room; those with a larger number first.
    #[must_use]
    pub const fn expendable(mut self, order: u8) -> Self {
        self.expendable = order;
        self
    }
    /// Wrapped where a line has no room.
    pub(crate) const fn wrapped(mut self, wanted: usize, hang: usize) -> Self {
        self.wrapping = Some(Wrapping { wanted, hang });
        self
    }
}

/// Rows under columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Field>>,
}

/// A table as text for a terminal.
pub(crate) struct TerminalTable {
    /// The line of headings.
    pub(crate) head: String,
    /// Each row with its line breaks.
    pub(crate) rows: Vec<String>,
    /// Headings of columns for which a line had no room.
    pub(crate) left_out: Vec<String>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }
    /// Of columns with their fields, row by row.
    pub(crate) fn of_columns(columns: Vec<(Column, Vec<Field>)>) -> Self {
        let (columns, fields): (Vec<Column>, Vec<Vec<Field>>) = columns.into_iter().unzip();
        let mut table = Self::new(&columns);
        let mut fields: Vec<_> = fields.into_iter().map(Vec::into_iter).collect();
        loop {
            let row: Vec<Field> = fields.iter_mut().filter_map(Iterator::next).collect();
            if row.is_empty() {
                return table;
            }
            table.push(row);
        }
    }
    /// Adds a row.
    ///
    /// # Panics
    /// Not one field for each column.
    pub fn push(&mut self, row: Vec<Field>) {
        assert_eq!(row.len(), self.columns.len(), "one field for each column");
        self.rows.push(row);
    }
    /// With a column more, a field for each row.
    ///
    /// # Panics
    /// Not one field for each row.
    pub(crate) fn with_column(mut self, column: Column, fields: Vec<Field>) -> Self {
        assert_eq!(fields.len(), self.rows.len(), "one field for each row");
        self.columns.push(column);
        self.rows.iter_mut().zip(fields).for_each(|(row, field)| row.push(field));
        self
    }
    /// Whether there is nothing to show.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows as objects under the columns' keys.
    #[must_use]
    pub fn json(&self) -> Json {
        let object = |row: &Vec<Field>| {
            let pairs = self.columns.iter().zip(row);
            Json::Object(pairs.map(|(column, field)| (column.key.to_string(), field.exact.clone())).collect())
        };
        Json::Array(self.rows.iter().map(object).collect())
    }

    /// For spreadsheets: the exact values under the columns' keys (RFC 4180, CRLF). What is missing is empty, and no text is a formula.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = String::new();
        record(&mut out, self.columns.iter().map(|column| column.key.to_string()));
        for row in &self.rows {
            record(
                &mut out,
                row.iter().map(|field| match &field.exact {
                    Json::Null => String::new(),
                    Json::String(text) => no_formula(text),
                    other => other.to_string(),
                }),
            );
        }
        out
    }

    /// For pages and tickets.
    #[must_use]
    pub fn markdown(&self) -> String {
        let line = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
        let mut out = line(self.columns.iter().map(|column| escape(&column.heading)).collect());
        let rule = |column: &Column| if column.is_number { "---:" } else { "---" }.to_owned();
        out.push_str(&line(self.columns.iter().map(rule).collect()));
        for row in &self.rows {
            out.push_str(&line(row.iter().map(|field| escape(&field.shown)).collect()));
        }
        out
    }

    /// For a page. Where it is wider than the window it is scrolled by itself, by keys as well. A column without a heading has none there:
    /// an empty one would be read out as a heading of nothing.
    #[must_use]
    pub fn html(&self) -> String {
        let class = |column: &Column| if column.is_number { " class=\"num\"" } else { "" };
        let mut out = String::from("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
        for column in &self.columns {
            if column.heading.is_empty() {
                out.push_str("<td></td>");
            } else {
                put!(out, "<th scope=\"col\"{}>{}</th>", class(column), Escaped(&column.heading));
            }
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (column, field) in self.columns.iter().zip(row) {
                put!(out, "<td{}>{}</td>", class(column), Escaped(&field.shown));
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }

    /// For a terminal.
    #[must_use]
    pub fn terminal(&self, options: &TerminalOptions) -> String {
        let fitted = self.fitted(options);
        fitted.head + &fitted.rows.concat()
    }

    /// For a terminal, with what its lines have no room for.
    pub(crate) fn fitted(&self, options: &TerminalOptions) -> TerminalTable {
        let places: Vec<usize> = (0..self.columns.len()).collect();
        let mut widths: Vec<usize> = places.iter().map(|place| self.width(*place)).collect();
        let wrapped = self.columns.iter().position(|column| column.wrapping.is_some());
        let mut shown = places;
        let mut left_out = Vec::new();
        let total = |shown: &[usize], widths: &[usize]| {
            shown.iter().map(|place| widths[*place] + 2).sum::<usize>().saturating_sub(2)
        };
        let squeezable = wrapped.map_or(0, |place| {
            widths[place].saturating_sub(self.columns[place].wrapping.map_or(0, |wrapping| wrapping.wanted))
        });
        while options.columns == Columns::Fitting && total(&shown, &widths) > options.width + squeezable {
            let order = |place: &usize| self.columns[*place].expendable;
            let Some(most) = shown.iter().map(order).max().filter(|most| *most > 0) else { break };
            left_out.extend(
                shown.iter().filter(|place| order(place) == most).map(|place| self.columns[*place].heading.to_string()),
            );
            shown.retain(|place| order(place) < most);
        }
        if let Some(place) = wrapped {
            let excess = total(&shown, &widths).saturating_sub(options.width);
            widths[place] = widths[place].saturating_sub(excess).max(WRAPPED_MIN.min(widths[place]));
        }
        let pad = |text: &str, place: usize| {
            let room = " ".repeat(widths[place].saturating_sub(length(text)));
            if self.columns[place].is_number { format!("{room}{text}") } else { format!("{text}{room}") }
        };
        let headings: Vec<String> = shown.iter().map(|place| pad(&self.columns[*place].heading, *place)).collect();
        let head = format!("{}\n", options.colour.paint(Style::Bold, headings.join("  ").trim_end()));
        let row_text = |row: &Vec<Field>| {
            let mut text = String::new();
            let lines = wrapped.map_or_else(|| vec![String::new()], |place| self.wrapped(row, place, widths[place]));
            for (number, wrapped_line) in lines.iter().enumerate() {
                let mut line = String::new();
                for (index, place) in shown.iter().copied().enumerate() {
                    let field = &row[place];
                    let own = match (Some(place) == wrapped, number) {
                        (true, _) => wrapped_line.clone(),
                        (false, 0) => field.filled_text(),
                        _ => String::new(),
                    };
                    let gap = if index == 0 { "" } else { "  " };
                    put!(line, "{gap}{}", options.colour.paint(field.style, &pad(&own, place)));
                }
                put!(text, "{}\n", line.trim_end());
            }
            text
        };
        TerminalTable { head, rows: self.rows.iter().map(row_text).collect(), left_out }
    }

    /// The width of the widest text of a column.
    fn width(&self, place: usize) -> usize {
        let texts = self.rows.iter().map(|row| length(&row[place].shown) + row[place].fill);
        texts.chain([length(&self.columns[place].heading)]).max().unwrap_or(0)
    }

    /// The lines of a wrapped field: a text that begins with spaces keeps them before each line, and others hang.
    fn wrapped(&self, row: &[Field], place: usize, width: usize) -> Vec<String> {
        let text = &row[place].shown;
        let indent = &text[..text.len() - text.trim_start().len()];
        let hang = self.columns[place].wrapping.map_or(0, |wrapping| wrapping.hang);
        let room = width.saturating_sub(indent.len());
        let fits = length(text.trim_start()) <= room;
        let further = if indent.is_empty() { " ".repeat(hang) } else { indent.to_owned() };
        let lines = wrap(text, if fits { room } else { room.saturating_sub(hang) });
        let indented =
            |(number, line): (usize, String)| format!("{}{line}", if number == 0 { indent } else { &further });
        lines.into_iter().enumerate().map(indented).collect()
    }
}

impl Field {
    fn filled_text(&self) -> String {
        format!("{}{}", self.shown, " ".repeat(self.fill))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Colour;

    const WIDE: TerminalOptions = TerminalOptions { colour: Colour::Never, width: 140, columns: Columns::All };

    fn table() -> Table {
        let mut table = Table::new(&[Column::words("name", "name"), Column::numbers("time", "time_s")]);
        table.push(vec![Field::text("a, \"b\" | c"), Field::both("1 min 00 s", 60)]);
        table.push(vec![Field::text("d"), Field::missing()]);
        table
    }

    #[test]
    fn text_from_outside_is_cut_and_steers_nothing() {
        let mut table = Table::new(&[Column::words("name", "name"), Column::numbers("n", "n")]);
        table.push(vec![Field::text("a".repeat(70_000)), Field::count(1)]);
        table.push(vec![Field::text("=x\x1b]0;p\x07\u{9b}<b>"), Field::both("x".repeat(70_000), -5)]);
        for text in [table.terminal(&WIDE), table.markdown(), table.html()] {
            assert!(text.lines().all(|line| line.chars().count() < 2 * SHOWN_MAX + 60), "{}", text.len());
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
        }
        assert!(!table.html().contains("<b>") && !table.markdown().contains("<b>"));
        assert!(table.csv().ends_with("\n'=x\x1b]0;p\x07\u{9b}<b>,-5\r\n"));
        let json = table.json();
        assert_eq!(json[1]["name"], "=x\x1b]0;p\x07\u{9b}<b>");
        assert_eq!(json[0]["name"].as_str().unwrap().len(), 70_000);
    }

    #[test]
    fn people_see_aligned_columns() {
        let wanted = "name              time\na, \"b\" | c  1 min 00 s\nd                    -\n";
        assert_eq!(table().terminal(&WIDE), wanted);
    }

    #[test]
    fn spreadsheets_get_exact_values_quoted_where_needed_and_nothing_for_missing() {
        assert_eq!(table().csv(), "name,time_s\r\n\"a, \"\"b\"\" | c\",60\r\nd,\r\n");
    }

    #[test]
    fn programs_get_objects_with_null_for_missing() {
        let wanted = serde_json::json!([{"name": "a, \"b\" | c", "time_s": 60}, {"name": "d", "time_s": null}]);
        assert_eq!(table().json(), wanted);
    }

    #[test]
    fn a_line_without_room_loses_columns_and_wraps_one() {
        let columns = [
            Column::words("load", "load").wrapped(WRAPPED_MIN, 2),
            Column::numbers("IOPS", "iops"),
            Column::numbers("p99", "p99_ns").expendable(1),
            Column::numbers("max", "max_ns").expendable(2),
        ];
        let mut table = Table::new(&columns);
        let label = "random reads of 4 KiB at depth 32";
        table.push(vec![Field::text(label), Field::count(500), Field::both("1.0 ms", 1), Field::both("9.0 ms", 9)]);
        let fitted = table.fitted(&TerminalOptions { width: 36, columns: Columns::Fitting, ..WIDE });
        assert_eq!(fitted.left_out, ["max"]);
        let wanted = "load                    IOPS     p99\nrandom reads of 4        500  1.0 ms\n  KiB at depth 32\n";
        assert_eq!(fitted.head + &fitted.rows.concat(), wanted);
    }

    #[test]
    fn a_short_unit_leaves_numbers_aligned() {
        let mut table = Table::new(&[Column::numbers("p99", "p99_ns")]);
        table.push(vec![Field::both("1.25 ms", 1_250_000)]);
        table.push(vec![Field::both("1.25 s", 1_250_000_000).filled(1)]);
        assert_eq!(table.terminal(&WIDE), "    p99\n1.25 ms\n1.25 s\n");
    }
}
