//! A reader of typed values from TOML, with every problem at its place in the text. Plans, environments and catalog
//! files use it.

mod fingerprint;
mod reader;
pub mod unit;

pub use fingerprint::text_hash;
pub use reader::{
    Fields, Item, Key, NAME_MAX, Quantity, Reader, Synonym, entries, kind, list, nearest, nearest_spelled, nested,
};

/// Problems reported for one text at most.
pub const PROBLEMS_MAX: usize = 20;

/// One thing wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The wrong key, with its table if it is nested; `None` if the text is not TOML.
    pub key: Option<String>,
    /// The problem and the remedy.
    pub message: String,
}

/// A text with problems.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.source_name, .problems, *.more))]
pub struct DocumentError {
    /// The origin of the text: a file's path, or the name of a built-in one.
    pub source_name: String,
    /// At least one, in the order of the text, at most [`PROBLEMS_MAX`].
    pub problems: Vec<Problem>,
    /// Problems found beyond those.
    pub more: usize,
}

/// One line for each problem: `source:line:column: key: message`.
fn lines(source_name: &str, problems: &[Problem], more: usize) -> String {
    let mut lines: Vec<String> = problems
        .iter()
        .map(|p| {
            let key = p.key.as_ref().map_or(String::new(), |key| format!("{key}: "));
            format!("{source_name}:{}:{}: {key}{}", p.line, p.column, p.message)
        })
        .collect();
    if more > 0 {
        lines.push(format!("{source_name}: and {more} more"));
    }
    lines.join("\n")
}
