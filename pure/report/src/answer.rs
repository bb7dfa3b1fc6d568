//! The answer of a run that asks another question than what a storage gives: what a hunt moved, what bound a crawl.

use crate::plain_text::plain;
use crate::put;

/// The answer: its lines open the report, its tables come before all other sections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunAnswer {
    /// What each line is about, and what it says.
    pub lines: Vec<(String, String)>,
    /// What the lines rest on.
    pub tables: Vec<AnswerTable>,
}

/// A table of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerTable {
    /// Its heading.
    pub title: String,
    /// The columns: their headings, and whether they hold numbers.
    pub columns: Vec<(String, bool)>,
    /// One text for each column.
    pub rows: Vec<Vec<String>>,
}

impl RunAnswer {
    /// As Markdown: the lines under a heading of this level, then the tables.
    #[must_use]
    pub fn markdown(&self, heading: &str) -> String {
        let mut out = format!("{heading} Verdict\n\n");
        for (about, text) in &self.lines {
            put!(out, "- **{}**: {}\n", in_a_cell(about), in_a_cell(text));
        }
        for table in &self.tables {
            put!(out, "\n{heading} {}\n\n", in_a_cell(&table.title));
            let headings: Vec<String> = table.columns.iter().map(|(name, _)| in_a_cell(name)).collect();
            let rules: Vec<&str> =
                table.columns.iter().map(|(_, number)| if *number { "--:" } else { "---" }).collect();
            put!(out, "| {} |\n| {} |\n", headings.join(" | "), rules.join(" | "));
            for row in &table.rows {
                let texts: Vec<String> = row.iter().map(|text| in_a_cell(text)).collect();
                put!(out, "| {} |\n", texts.join(" | "));
            }
        }
        out
    }
}

/// A text of a stranger in a Markdown table.
fn in_a_cell(text: &str) -> String {
    plain(text).replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_never_breaks_its_table() {
        let table = AnswerTable {
            title: "What was varied".into(),
            columns: vec![("factor".into(), false), ("ratio".into(), true)],
            rows: vec![vec!["a|b\n<script>".into(), "1.00".into()]],
        };
        let answer = RunAnswer { lines: vec![("held by".into(), "the disks".into())], tables: vec![table] };
        let text = answer.markdown("##");
        assert!(text.starts_with("## Verdict\n\n- **held by**: the disks\n\n## What was varied\n\n"), "{text}");
        assert!(text.contains("| factor | ratio |\n| --- | --: |\n| a\\|b"), "{text}");
        assert!(!text.contains("<script"), "{text}");
        assert_eq!(text.lines().count(), 9, "{text}");
    }
}
