//! A table whose figures are rounded for people and exact for programs.

use crate::answer::AnswerTable;
use serde_json::Value as Json;

/// A table as people read it, and its rows for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactTable {
    /// For people.
    pub shown: AnswerTable,
    /// Its columns.
    pub columns: Vec<ExactColumn>,
    /// The rows for programs: nothing is rounded, and what is missing is null.
    pub exact: Vec<Vec<Json>>,
}

/// A column: its heading for people, its key for programs, and whether it holds numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactColumn {
    /// For people.
    pub heading: &'static str,
    /// For programs; it carries the unit.
    pub key: &'static str,
    /// It holds numbers.
    pub is_number: bool,
}

impl ExactColumn {
    pub(super) const fn words(heading: &'static str, key: &'static str) -> Self {
        Self { heading, key, is_number: false }
    }
    pub(super) const fn numbers(heading: &'static str, key: &'static str) -> Self {
        Self { heading, key, is_number: true }
    }
}

/// A field: as people read it, and as programs do.
pub(super) struct Field(String, Json);

impl Field {
    pub(super) fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self(text.clone(), text.into())
    }
    pub(super) fn count(count: u64) -> Self {
        Self(count.to_string(), count.into())
    }
    /// A dash and nothing where there is no value.
    pub(super) fn figure(value: Option<f64>, shown: impl FnOnce(f64) -> String) -> Self {
        value.map_or_else(|| Self("-".to_owned(), Json::Null), |value| Self(shown(value), value.into()))
    }
}

impl ExactTable {
    pub(super) fn new(title: &str, columns: &[ExactColumn]) -> Self {
        let shown = AnswerTable {
            title: title.to_owned(),
            columns: columns.iter().map(|of| (of.heading.to_owned(), of.is_number)).collect(),
            rows: Vec::new(),
        };
        Self { shown, columns: columns.to_vec(), exact: Vec::new() }
    }
    pub(super) fn push(&mut self, row: Vec<Field>) {
        assert_eq!(row.len(), self.columns.len(), "one field for each column");
        let (shown, exact) = row.into_iter().map(|Field(shown, exact)| (shown, exact)).unzip();
        self.shown.rows.push(shown);
        self.exact.push(exact);
    }
}
