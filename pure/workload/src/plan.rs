//! Plans: loads as data, read from TOML onto [`LoadSpec`]s, with every error at its place in the text.

mod load;
mod reader;
#[cfg(test)]
mod tests;

pub(crate) use reader::nearest;

use crate::LoadSpec;
use crate::fingerprint::Fingerprint;
use reader::Reader;
use serde::{Deserialize, Serialize};
use toml::de::DeTable;

/// The version of the plan format that is read here.
pub const PLAN_SCHEMA: u64 = 1;
/// Cells in a plan at most.
pub const CELLS_MAX: usize = 100_000;
/// Trials over all cells of a plan at most.
pub const PLAN_TRIALS_MAX: u64 = 1_000_000;
/// Characters in the name of a plan or load at most.
pub const NAME_MAX: usize = 100;
/// Values in one list at most.
const LIST_MAX: usize = 1_000;
/// Problems told of one text at most.
pub const PROBLEMS_MAX: usize = 20;

/// What is to be measured: a matrix of cells for each load.
///
/// Invariants, kept by [`Plan::parse`]: at least one load, each with at least one cell; every cell passes
/// [`LoadSpec::check`]; at most [`CELLS_MAX`] cells and [`PLAN_TRIALS_MAX`] trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The plan's name.
    pub name: String,
    /// What it answers, in one line.
    pub description: Option<String>,
    /// The text that it was read from.
    pub text: String,
    /// In the order of the text.
    pub loads: Vec<PlanLoad>,
}

/// One `[[load]]` of a plan with every combination of its lists.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanLoad {
    /// In the order of the text: the list that is written first varies slowest.
    pub cells: Vec<LoadSpec>,
    /// In which order its trials are run.
    pub order: Order,
}

/// In which order the trials of a load's cells are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Round by round, all cells in random order in each, so that a drift of the storage falls on all cells alike.
    Interleaved,
    /// Cell by cell, all trials of a cell one after the other.
    AsListed,
}

/// One thing wrong with a plan.
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

/// A text that is not a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.source_name, .problems, *.more))]
pub struct PlanError {
    /// Where the text is from: a file's path or a plan's name.
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

/// The fingerprint of a plan's or an environment's text: FNV-1a (64 bit), 16 hexadecimal digits.
#[must_use]
pub fn text_hash(text: &str) -> String {
    Fingerprint::of(text.as_bytes()).to_string()
}

const TOP_KEYS: &[&str] = &["schema", "name", "description", "load"];
const LOAD_WANTED: &str = "write [[load]] and, below it, the load's keys";

impl Plan {
    /// Reads a plan from TOML; `source` names the text in errors. The format is in `docs/formats/plan.md`.
    ///
    /// # Errors
    /// Every problem of the text, with its line, column and key: text that is not TOML, unknown keys (with the nearest
    /// known one), values of a wrong kind, keys that contradict each other, cells that [`LoadSpec::check`] refuses, or
    /// more cells or trials than a plan may have.
    pub fn parse(text: &str, source: &str) -> Result<Self, PlanError> {
        let mut reader = Reader::new(text);
        let plan = read_plan(&mut reader, text);
        let (problems, more) = reader.into_problems();
        match plan {
            Some(plan) if problems.is_empty() => Ok(plan),
            _ => {
                assert!(!problems.is_empty(), "a plan that could not be read has a problem");
                Err(PlanError { source_name: source.to_owned(), problems, more })
            }
        }
    }

    /// Every cell with the order of its load, in the plan's order.
    pub fn cells(&self) -> impl Iterator<Item = (&LoadSpec, Order)> {
        self.loads.iter().flat_map(|load| load.cells.iter().map(|cell| (cell, load.order)))
    }

    /// The fingerprint of its text.
    #[must_use]
    pub fn hash(&self) -> String {
        text_hash(&self.text)
    }
}

/// `None` leaves at least one problem in `reader`.
fn read_plan(reader: &mut Reader<'_>, text: &str) -> Option<Plan> {
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(error) => {
            reader.not_toml(error.span().unwrap_or(0..0), error.message());
            return None;
        }
    };
    let top = document.get_ref();
    read_schema(reader, top)?;
    for (key, _) in reader::entries(top) {
        let word: &str = key.get_ref();
        if load::keys().contains(&word) && !TOP_KEYS.contains(&word) {
            reader.problem(key.span(), word, format!("belongs to a load: {LOAD_WANTED}"));
        } else if !TOP_KEYS.contains(&word) {
            reader.unknown_key("", key, TOP_KEYS, "a plan");
        }
    }
    let name = if let Some(item) = top.get("name") {
        reader.name("name", item)
    } else {
        let message = "is missing: write name = \"...\" at the top, a few words to find it by";
        reader.problem(0..0, "name", message.into());
        None
    };
    let description = top.get("description").and_then(|item| reader.text("description", item));
    let loads = read_loads(reader, top);
    Some(Plan { name: name?, description, text: text.to_owned(), loads })
}

/// `None` where the plan is not of this version, so that nothing else about it can be told.
fn read_schema(reader: &mut Reader<'_>, top: &DeTable<'_>) -> Option<()> {
    let Some(item) = top.get("schema") else {
        reader.problem(0..0, "schema", format!("is missing: write schema = {PLAN_SCHEMA} at the top"));
        return Some(());
    };
    let schema = reader.count("schema", item, u64::MAX)?;
    if schema != PLAN_SCHEMA {
        let message = format!(
            "{schema} is a version of the plan format that is not known here: write {PLAN_SCHEMA}, or use a newer loadline"
        );
        reader.problem(item.span(), "schema", message);
        return None;
    }
    Some(())
}

fn read_loads(reader: &mut Reader<'_>, top: &DeTable<'_>) -> Vec<PlanLoad> {
    let Some(item) = top.get("load") else {
        reader.problem(0..0, "load", format!("a plan without a load measures nothing: {LOAD_WANTED}"));
        return Vec::new();
    };
    let Some(sections) = item.get_ref().as_array() else {
        reader.problem(item.span(), "load", format!("is not a list of loads: {LOAD_WANTED}"));
        return Vec::new();
    };
    if sections.is_empty() {
        reader.problem(item.span(), "load", format!("a plan without a load measures nothing: {LOAD_WANTED}"));
    }
    let mut loads: Vec<PlanLoad> = Vec::new();
    let mut left = Budget { cells: CELLS_MAX, trials: PLAN_TRIALS_MAX };
    for section in sections {
        if let Some(table) = section.get_ref().as_table() {
            loads.extend(load::read(reader, table, section.span(), &mut left));
        } else {
            reader.problem(section.span(), "load", format!("is not a load: {LOAD_WANTED}"));
        }
    }
    loads
}

/// What a plan may still have.
struct Budget {
    cells: usize,
    trials: u64,
}
