//! Typed values out of TOML documents, with every problem at its place in the text: what plans, environments and catalog
//! files share.

mod fingerprint;
mod reader;

pub use fingerprint::text_hash;
pub use reader::{Item, Key, NAME_MAX, Quantity, Reader, Synonym, entries, kind, list, nearest, nested};

/// Problems told of one text at most.
pub const PROBLEMS_MAX: usize = 20;

/// One thing wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The key that is wrong, with the table it stands in if it is nested; `None` where the text is not TOML.
    pub key: Option<String>,
    /// What is wrong and what to write.
    pub message: String,
}

/// A text that does not say what it should.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.source_name, .problems, *.more))]
pub struct DocumentError {
    /// Where the text is from: a file's path, or the name of one that comes along.
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
