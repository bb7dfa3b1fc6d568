//! Cells that cannot be run on their targets, found before anything is filled, measured or stored.

use crate::{ImpossibleCell, Refusal};
use loadline_engine::{EngineError, EngineOptions, Volume};
use loadline_workload::RunCell;

/// A cell as it is about to be tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tried<'a> {
    /// Its load and its volume.
    pub cell: &'a RunCell,
    /// For people.
    pub label: &'a str,
    /// How the engine is to work.
    pub options: EngineOptions,
}

/// Why the engine would refuse a load on a volume every time it is tried. A refusal of the system that may pass is none.
#[must_use]
pub fn refusal_of(volume: &Volume, cell: &RunCell, options: EngineOptions) -> Option<EngineError> {
    loadline_engine::check(volume, &cell.spec, options).err().filter(EngineError::is_lasting)
}

/// Refuses a run of which some cells cannot be run on what was opened.
///
/// # Errors
/// [`Refusal::Impossible`] with every such cell.
pub(crate) fn refuse_impossible<'a, 'v>(
    volume_of: impl Fn(&RunCell) -> &'v Volume,
    all: impl IntoIterator<Item = Tried<'a>>,
) -> Result<(), Refusal> {
    let mut count = 0;
    let mut impossible = Vec::new();
    for Tried { cell, label, options } in all {
        count += 1;
        if let Some(error) = refusal_of(volume_of(cell), cell, options) {
            impossible.push(ImpossibleCell { label: label.to_owned(), why: error });
        }
    }
    if impossible.is_empty() { Ok(()) } else { Err(Refusal::Impossible { count, cells: impossible }) }
}
