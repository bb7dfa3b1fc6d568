//! Aligned tables on standard output, and whether goals are met.

use std::fmt::Write;

/// Rows under a heading; the first column is aligned to the left, the others to the right. If its section ends before
/// it is printed, its rows are printed as incomplete.
#[derive(Debug)]
pub(crate) struct FigureTable {
    title: String,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
    printed: bool,
}

impl FigureTable {
    pub(crate) fn new(title: impl Into<String>, header: &[&str]) -> Self {
        let header = header.iter().map(|cell| (*cell).to_owned()).collect();
        Self { title: title.into(), rows: vec![header], notes: Vec::new(), printed: false }
    }
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.rows[0].len(), "a cell for each column");
        self.rows.push(cells);
    }
    /// A line below the table.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
    /// Prints it as one that has all its rows.
    pub(crate) fn print(mut self) {
        self.printed = true;
        println!("\n{self}");
    }
    /// The text of a table that its section did not print: `None` without a row.
    fn cut_short(&mut self) -> Option<String> {
        if self.printed || self.rows.len() < 2 {
            return None;
        }
        self.title.insert_str(0, "INCOMPLETE: ");
        self.note("Incomplete: the section ended before its last row, or before all rounds of it.");
        Some(self.to_string())
    }
}

impl Drop for FigureTable {
    fn drop(&mut self) {
        if let Some(text) = self.cut_short() {
            println!("\n{text}");
        }
    }
}

impl std::fmt::Display for FigureTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        writeln!(f, "## {}", self.title)?;
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let width = *width;
                if column == 0 {
                    write!(line, "{cell:<width$}")?;
                } else {
                    write!(line, "  {cell:>width$}")?;
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

/// A goal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(crate) fn met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound:.4}"),
            Self::AtMost(bound) => write!(f, "<= {bound:.4}"),
        }
    }
}

/// Every goal that was judged, for the list at the end.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    met: usize,
    missed: Vec<String>,
}

impl Verdicts {
    /// Judges `value`, called `what` in the list at the end; returns the mark beside it.
    pub(crate) fn judge(&mut self, what: &str, value: f64, goal: Goal) -> &'static str {
        if goal.met(value) {
            self.met += 1;
            "ok"
        } else {
            self.missed.push(format!("{what}: {value:.4}, goal {goal}"));
            "MISS"
        }
    }
    pub(crate) fn print(&self) {
        println!("\n## Goals: {} met, {} missed", self.met, self.missed.len());
        for missed in &self.missed {
            println!("{missed}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = FigureTable::new("title", &["a", "value"]);
        table.row(vec!["longer".into(), "1".into()]);
        table.note("below");
        assert_eq!(table.to_string(), "## title\na       value\nlonger      1\nbelow\n");
    }

    #[test]
    fn what_was_not_printed_as_whole_is_said_to_be_incomplete() {
        let mut table = FigureTable::new("rate: so many", &["a", "value"]);
        assert_eq!(table.cut_short(), None, "nothing was measured");
        table.row(vec!["one".into(), "1".into()]);
        let told = table.cut_short().unwrap();
        assert!(told.starts_with("## INCOMPLETE: rate: so many\n") && told.contains("one      1\n"), "{told}");
        table.printed = true;
        assert_eq!(table.cut_short(), None);
    }

    #[test]
    fn goals_are_judged_at_their_bound_and_misses_are_named() {
        let mut verdicts = Verdicts::default();
        assert_eq!(verdicts.judge("rate", 1.0, Goal::AtLeast(1.0)), "ok");
        assert_eq!(verdicts.judge("cpu", 0.21, Goal::AtMost(0.2)), "MISS");
        assert_eq!(verdicts.met, 1);
        assert_eq!(verdicts.missed, ["cpu: 0.2100, goal <= 0.2000"]);
    }
}
