//! Plans: loads as data, read from TOML onto [`LoadSpec`]s, with every error at its place in the text.

mod load;
#[cfg(test)]
mod tests;
mod together;
mod ways;

use crate::LoadSpec;
use loadline_document::{DocumentError, Reader, Synonym, entries, text_hash};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use toml::de::DeTable;

/// The version of the plan format that is read here.
pub const PLAN_SCHEMA: u64 = 1;
/// Cells in a plan at most.
pub const CELLS_MAX: usize = 100_000;
/// Trials over all cells of a plan at most.
pub const PLAN_TRIALS_MAX: u64 = 1_000_000;
/// Values in one list at most.
const LIST_MAX: usize = 1_000;

/// Words of other tools for a key, too far from it in spelling to be found by that.
const SYNONYMS: &[Synonym] = &[
    ("bs", "block"),
    ("depth", "queue_depth"),
    ("direct", "buffered"),
    ("fdatasync", "flush"),
    ("fsync", "flush"),
    ("io_size", "volume"),
    ("iodepth", "queue_depth"),
    ("jobs", "threads"),
    ("loops", "trials"),
    ("nrfiles", "files"),
    ("numjobs", "threads"),
    ("offset", "start"),
    ("outstanding", "queue_depth"),
    ("ramp_time", "warm_up"),
    ("random_distribution", "distribution"),
    ("rate_iops", "rate_max"),
    ("repeat", "trials"),
    ("runtime", "duration"),
    ("rw", "pattern"),
    ("rwmixread", "reads"),
    ("seconds", "duration"),
    ("time", "duration"),
    ("workers", "threads"),
];

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
    /// Loads that run at the same time. A load of a group runs by itself only if another group has it alone.
    pub together: Vec<LoadGroup>,
}

/// One `[[load]]` of a plan with every combination of its lists.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanLoad {
    /// In the order of the text: the list that is written first varies slowest.
    pub cells: Vec<LoadSpec>,
    /// In which order its trials are run.
    pub order: Order,
    /// The only volume that it runs on; `None`: every one.
    pub on: Option<String>,
}

/// Loads that run at the same time: each cell of one with each cell of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadGroup {
    /// Which loads of the plan, each once.
    pub loads: Vec<usize>,
    /// When a trial of them is over.
    pub ends: GroupEnd,
}

/// When a trial of loads that run at the same time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupEnd {
    /// Each load goes on to its own end.
    #[default]
    Each,
    /// The first load that ends ends all.
    First,
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

/// A text that is not a plan.
pub type PlanError = DocumentError;

const TOP_KEYS: &[&str] = &["schema", "name", "description", "load", "together"];
const LOAD_WANTED: &str = "write [[load]] and, below it, the load's keys";

impl Plan {
    /// Reads a plan from TOML; `source` names the text in errors. The format is in `docs/formats/plan.md`.
    ///
    /// # Errors
    /// Every problem of the text, with its line, column and key: text that is not TOML, unknown keys (with the nearest
    /// known one), values of a wrong kind, keys that contradict each other, cells that [`LoadSpec::check`] refuses, or
    /// more cells or trials than a plan may have.
    pub fn parse(text: &str, source: &str) -> Result<Self, PlanError> {
        Reader::read(text, source, SYNONYMS, |reader, top| read_plan(reader, top, text))
    }

    /// What runs, in the plan's order: each load by itself, and groups at the place of their first load.
    #[must_use]
    pub fn groups(&self) -> Vec<LoadGroup> {
        let grouped: BTreeSet<usize> = self.together.iter().flat_map(|group| group.loads.iter().copied()).collect();
        let alone = (0..self.loads.len()).filter(|load| !grouped.contains(load));
        let alone = alone.map(|load| LoadGroup { loads: vec![load], ends: GroupEnd::Each });
        let mut all: Vec<LoadGroup> = alone.chain(self.together.iter().cloned()).collect();
        all.sort_by_key(|group| group.loads.iter().min().copied());
        all
    }

    /// Every cell of the loads with the order of its load, in the plan's order.
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
fn read_plan(reader: &mut Reader<'_>, top: &DeTable<'_>, text: &str) -> Option<Plan> {
    reader.schema(top, PLAN_SCHEMA, "plan")?;
    for (key, _) in entries(top) {
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
    let before = reader.problem_count();
    let loads = read_loads(reader, top);
    let is_read = reader.problem_count() == before;
    let together = top.get("together").filter(|_| is_read);
    let together = together.map(|item| together::read(reader, item, &loads)).unwrap_or_default();
    Some(Plan { name: name?, description, text: text.to_owned(), loads, together })
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
