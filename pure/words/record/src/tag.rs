//! What users say of runs: words, and keys with values. A record never changes; its tags do, and are kept beside it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The longest key, and the longest value, in characters.
const KEY_MAX: usize = 64;
const VALUE_MAX: usize = 2_000;
/// The key of a run's note.
pub const NOTE: &str = "note";
/// The word of a run that others are held against.
pub const BASELINE: &str = "baseline";

/// What a user says of a run: a word, or a key with a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tag {
    /// The word or key: letters, digits, `.`, `_` and `-`.
    pub key: String,
    /// The value; empty of a word.
    pub value: String,
}

/// Why a text is no tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// The key.
    #[error("a key has 1 to {KEY_MAX} letters, digits, dots, dashes and underscores, as in host=db1, and not {0:?}")]
    Key(String),
    /// The value.
    #[error("a value has at most {VALUE_MAX} characters, none of them a control character")]
    Value,
}

impl Tag {
    /// A key with a value.
    ///
    /// # Errors
    /// One of them has other characters, or too many.
    pub fn new(key: &str, value: &str) -> Result<Self, TagError> {
        let is_key = |c: char| c.is_alphanumeric() || "._-".contains(c);
        if key.is_empty() || key.chars().count() > KEY_MAX || !key.chars().all(is_key) {
            return Err(TagError::Key(key.to_owned()));
        }
        if value.chars().count() > VALUE_MAX || value.chars().any(char::is_control) {
            return Err(TagError::Value);
        }
        Ok(Self { key: key.to_owned(), value: value.to_owned() })
    }
}

/// "KEY=VALUE", or "KEY".
impl FromStr for Tag {
    type Err = TagError;

    fn from_str(text: &str) -> Result<Self, TagError> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        Self::new(key.trim(), value.trim())
    }
}

/// As it is typed.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value } = self;
        if value.is_empty() { f.write_str(key) } else { write!(f, "{key}={value}") }
    }
}
