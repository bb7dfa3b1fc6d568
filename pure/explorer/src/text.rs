//! What questions and answers are written in.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A field's name and what was typed in it.
pub(crate) type Word = (String, String);

/// What a page asks.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(crate) enum Question {
    /// What there is to choose from.
    Choices,
    /// What to buy.
    Buy(BuyQuestion),
    /// What storage would do.
    Storage(StorageQuestion),
}

/// What to buy for a need.
#[derive(Debug, Deserialize)]
pub(crate) struct BuyQuestion {
    /// The need, and how it is paid.
    pub(crate) words: Vec<Word>,
    /// Today's date, to tell old prices.
    #[serde(default)]
    pub(crate) today: Option<String>,
    /// Present: latencies are simulated. Missing: limits alone judge.
    #[serde(default)]
    pub(crate) simulate: Option<usize>,
    /// Whether the values are wanted beside the page.
    #[serde(default)]
    pub(crate) values: bool,
}

/// What one storage would do, or each of several.
#[derive(Debug, Deserialize)]
pub(crate) struct StorageQuestion {
    /// The load.
    pub(crate) words: Vec<Word>,
    /// The storage.
    pub(crate) sides: Vec<Vec<Word>>,
    /// Present: the row of this number is simulated, besides those that were before. Missing: limits alone.
    #[serde(default)]
    pub(crate) simulate: Option<usize>,
    /// Whether the values are wanted beside the page.
    #[serde(default)]
    pub(crate) values: bool,
}

/// What is wrong, and with which field; an empty name is of none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    pub(crate) field: String,
    pub(crate) text: String,
}

impl Problem {
    pub(crate) fn of(field: impl Into<String>, text: impl Into<String>) -> Self {
        Self { field: field.into(), text: text.into() }
    }
}

/// What a page is answered.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PageAnswer {
    /// The question's kind.
    pub(crate) ask: &'static str,
    /// A part of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) html: Option<String>,
    /// What gives the same in a terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// What the command leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// The first choices, each as the words of a storage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sides: Vec<Vec<Word>>,
    /// What is wrong; then there is nothing else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<Problem>,
    /// A simulation would say more.
    pub(crate) simulates: bool,
    /// More rows are there to simulate.
    pub(crate) more: bool,
    /// How many rows are simulated, and of how many; `None` where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) progress: Option<[usize; 2]>,
    /// The values, as the command's JSON has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Json>,
}

impl PageAnswer {
    pub(crate) fn refused(ask: &'static str, problems: Vec<Problem>) -> Self {
        Self { ask, problems, ..Self::default() }
    }
}
