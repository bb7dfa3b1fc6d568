//! The answer of a run that asks another question than what a storage gives: what a hunt moved, what bound a crawl.

use crate::escaped::escape;
use crate::put;
use crate::table::{Column, Field, Table};
use crate::verdict_line::VerdictLine;

/// The answer: its lines open the report, its tables come before all other sections.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunAnswer {
    /// What the tables come to.
    pub lines: Vec<VerdictLine>,
    /// What the lines rest on.
    pub tables: Vec<AnswerTable>,
}

/// A table of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerTable {
    /// Its heading.
    pub title: String,
    /// Its rows.
    pub table: Table,
}

impl AnswerTable {
    /// A table without rows.
    pub(crate) fn new(title: &str, columns: &[Column]) -> Self {
        Self { title: title.to_owned(), table: Table::new(columns) }
    }
    pub(crate) fn push(&mut self, row: Vec<Field>) {
        self.table.push(row);
    }
}

impl RunAnswer {
    /// As Markdown: the lines under a heading of this level, then the tables.
    #[must_use]
    pub fn markdown(&self, heading: &str) -> String {
        let mut out = format!("{heading} Verdict\n\n");
        for VerdictLine { about, text } in &self.lines {
            put!(out, "- **{}**: {}\n", escape(&about.name()), escape(text));
        }
        for table in &self.tables {
            put!(out, "\n{heading} {}\n\n{}", escape(&table.title), table.table.markdown());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict_line::About;

    #[test]
    fn a_text_never_breaks_its_table() {
        let mut table = Table::new(&[Column::words("factor", "factor"), Column::numbers("ratio", "ratio")]);
        table.push(vec![Field::text("a|b\n<script>"), Field::both("1.00", 1.0)]);
        let table = AnswerTable { title: "What was varied".into(), table };
        let answer = RunAnswer { lines: vec![About::HeldBy.says("the disks")], tables: vec![table] };
        let text = answer.markdown("##");
        assert!(text.starts_with("## Verdict\n\n- **held by**: the disks\n\n## What was varied\n\n"), "{text}");
        assert!(text.contains("| factor | ratio |\n| --- | ---: |\n| a\\|b"), "{text}");
        assert!(!text.contains("<script"), "{text}");
        assert_eq!(text.lines().count(), 9, "{text}");
    }
}
