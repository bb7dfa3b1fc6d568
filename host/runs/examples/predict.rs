//! Predicts a plan on storage as sold, in virtual time, and prints what binds each load.
//!
//! `cargo run -p loadline-runs --example predict -- d4s-v5-p10 runs.db`

use loadline_catalog::{Catalog, Environment, environment_text};
use loadline_runs::{Error, Prediction, RunOptions, RunOutcome, Silent};
use loadline_workload::Plan;
use std::path::Path;

/// Random reads of 8 KiB at two queue depths.
pub(crate) const PLAN: &str = r#"
schema = 1
name = "random reads"

[[load]]
pattern = "random"
block = "8 KiB"
queue_depth = [1, 32]
warm_up = "0 s"
duration = "1 s"
trials = 1
"#;

/// Predicts the plan on a built-in environment, and keeps the run in `store`.
///
/// # Errors
/// What is wrong with the plan or the store.
///
/// # Panics
/// No environment of that name is built in.
pub(crate) fn predict(environment: &str, store: &Path) -> Result<RunOutcome, Error> {
    let text = environment_text(environment).expect("the environment is built in");
    let environment = Environment::parse(text, environment, &Catalog::builtin()).expect("what is built in can be read");
    let plan = Plan::parse(PLAN, "example")?;
    Prediction::new(plan, environment).run(&RunOptions::default().seeded(1).stored_in(store), &mut Silent::default())
}

/// A line for each cell of a run: its load, its requests per second and what binds it.
#[must_use]
pub(crate) fn lines(outcome: &RunOutcome) -> Vec<String> {
    let summary = loadline_analysis::summarize(&outcome.record);
    let line = |cell: &loadline_analysis::CellSummary| {
        let rate =
            cell.total.as_ref().map_or_else(|| "no figure".to_owned(), |total| format!("{:.0} IOPS", total.iops));
        let limit = cell.binding.as_ref().map_or("unknown", |binding| binding.limit.name());
        format!("{}: {rate}, limit {limit}", cell.label)
    };
    summary.cells.iter().map(line).collect()
}

#[allow(dead_code, reason = "tests take the functions above")]
fn main() -> Result<(), Error> {
    let mut words = std::env::args().skip(1);
    let environment = words.next().unwrap_or_else(|| "d4s-v5-p10".into());
    let store = words.next().unwrap_or_else(|| "runs.db".into());
    for line in lines(&predict(&environment, Path::new(&store))?) {
        println!("{line}");
    }
    Ok(())
}
