//! `compare`: stored runs, or volumes of one run, against the first of them.

use crate::arguments::Format;
use crate::arguments::compare::{CompareArguments, FailIf, FigureName};
use crate::failure::{Outcome, Usage};
use crate::{crawl, output, printing, stored};
use loadline_analysis::{CompareOptions, Comparison, Verdict, compare as compare_runs};
use loadline_record::RunRecord;
use loadline_store::Store;

/// Compares, prints, and judges where that was asked for.
pub(crate) fn compare(arguments: &CompareArguments, store: &Store) -> anyhow::Result<Outcome> {
    let records =
        arguments.runs.iter().map(|run| stored::load(store, run)).collect::<anyhow::Result<Vec<RunRecord>>>()?;
    if let Some(text) = crawl::compared_text(&records, arguments.printing.format) {
        output::print(&text)?;
        return Ok(Outcome::Done);
    }
    let options = CompareOptions {
        margin: arguments.margin,
        figure: arguments.figure.map(FigureName::figure),
        disks: arguments.disks.clone(),
        volumes: arguments.volumes.clone(),
    };
    let runs: Vec<&RunRecord> = records.iter().collect();
    let comparison = compare_runs(&runs, &options).map_err(|error| Usage(error.to_string()))?;
    output::print(&printing::comparison(&comparison, arguments.printing.format))?;
    if comparison.against.iter().all(|a| a.cells.is_empty()) && arguments.printing.format == Format::Table {
        output::tell("no cell is in both: they are matched by their whole load, and by volume where a run has several");
    }
    match arguments.fail_if {
        Some(FailIf::Worse) => Ok(outcome(&comparison)),
        None => Ok(Outcome::Done),
    }
}

/// Against when anything is worse; inconclusive when nothing is and an overall verdict is missing or cannot be told, or a cell
/// that the baseline has figures for has none.
fn outcome(comparison: &Comparison) -> Outcome {
    let cells = || comparison.against.iter().flat_map(|a| &a.cells);
    let overall = || comparison.against.iter().flat_map(|a| &a.overall);
    if cells().any(|c| c.verdict == Verdict::Worse) || overall().any(|o| o.verdict == Verdict::Worse) {
        return Outcome::Against;
    }
    let untold = comparison.against.iter().any(|a| a.overall.is_empty())
        || overall().any(|o| o.verdict == Verdict::CannotTell)
        || cells().any(|c| c.deciding().is_none());
    if untold { Outcome::Inconclusive } else { Outcome::Done }
}
