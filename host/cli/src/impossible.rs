//! Cells that cannot be run on what was opened: told before anything is filled, measured or stored.

use crate::failure::Usage;
use loadline_engine::{EngineError, EngineOptions, Volume};
use loadline_workload::RunCell;
use std::fmt::Write as _;

/// Cells named in a refusal at most, for each reason.
const NAMED_MAX: usize = 3;

/// A cell as it is about to be tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tried<'a> {
    /// Its load and its volume.
    pub(crate) cell: &'a RunCell,
    /// For people.
    pub(crate) label: &'a str,
    /// How the engine is to work.
    pub(crate) options: EngineOptions,
}

/// Why the engine would refuse a load on a volume every time it is tried. What the system may think better of is none.
pub(crate) fn why(volume: &Volume, cell: &RunCell, options: EngineOptions) -> Option<EngineError> {
    loadline_engine::check(volume, &cell.spec, options).err().filter(EngineError::is_lasting)
}

/// Refuses a run of which some cells cannot be run on what was opened.
///
/// # Errors
/// [`Usage`], with every reason, the cells that it holds for, and what to change.
pub(crate) fn refuse<'a, 'v>(
    volume_of: impl Fn(&RunCell) -> &'v Volume,
    all: impl IntoIterator<Item = Tried<'a>>,
) -> Result<(), Usage> {
    let mut count = 0;
    let mut impossible = Vec::new();
    for Tried { cell, label, options } in all {
        count += 1;
        if let Some(error) = why(volume_of(cell), cell, options) {
            impossible.push((label.to_owned(), error.to_string()));
        }
    }
    if impossible.is_empty() { Ok(()) } else { Err(Usage(told(count, &impossible))) }
}

/// The cells, each with its reason, gathered by reason in the order in which it first occurs.
fn told(count: usize, impossible: &[(String, String)]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (label, reason) in impossible {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, labels)) => labels.push(label),
            None => reasons.push((reason, vec![label])),
        }
    }
    let of = if count == 1 { "the only cell".to_owned() } else { format!("{} of {count} cells", impossible.len()) };
    let mut text = format!("{of} cannot be run; nothing was measured and nothing is stored:");
    for (reason, labels) in reasons {
        let named = labels.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join("; ");
        let more = match labels.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let _ = write!(text, "\n  {named}{more}:\n    {reason}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_gathered_by_their_reason_and_no_list_is_endless() {
        let cell = |label: usize, reason: &str| (format!("cell {label}"), reason.to_owned());
        let all: Vec<_> = (1..=5).map(|n| cell(n, "too small")).chain([cell(6, "too deep")]).collect();
        assert_eq!(
            told(9, &all),
            "6 of 9 cells cannot be run; nothing was measured and nothing is stored:\n  cell 1; cell 2; cell 3; and 2 \
             more:\n    too small\n  cell 6:\n    too deep"
        );
        assert!(told(1, &all[5..]).starts_with("the only cell cannot be run; "));
    }
}
