//! Measures random reads on a target, and prints for each load its rate, its limit and its doubts.
//!
//! A target is a directory, which gets a test file, a block device, an NBD URI, or `null` for no storage at all. Nothing that
//! exists is written to unless `Measurement::overwrite` names it.
//!
//! `cargo run -p loadline-runs --example measure -- /mnt/data runs.db`

use loadline_runs::{Error, Measurement, Observer, RunOptions, RunOutcome, Silent};
use loadline_workload::Plan;
use std::path::Path;

/// Random reads of 4 KiB at two queue depths.
pub(crate) const PLAN: &str = r#"
schema = 1
name = "random reads"

[[load]]
pattern = "random"
block = "4 KiB"
queue_depth = [1, 8]
size = "4 MiB"
warm_up = "0 s"
duration = "200 ms"
pause = "0 s"
trials = 1
"#;

/// Measures the plan on `target`, and keeps the run in `store`.
///
/// # Errors
/// What is wrong with the plan, the target or the store.
pub(crate) fn measure(target: &str, store: &Path, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
    let plan = Plan::parse(PLAN, "example")?;
    Measurement::new(plan).on("data", target).run(&RunOptions::default().seeded(1).stored_in(store), observer)
}

/// What came of a run: how it ended if it is not whole, then for each load its rate, what bound it and what is in doubt.
#[must_use]
pub(crate) fn lines(outcome: &RunOutcome) -> Vec<String> {
    let summary = loadline_analysis::summarize(&outcome.record);
    let unfinished = (!outcome.ended.is_complete()).then(|| format!("not every trial was run: {:?}", outcome.ended));
    let cells = summary.cells.iter().map(|cell| {
        let rate =
            cell.total.as_ref().map_or_else(|| "no figure".to_owned(), |total| format!("{:.0} IOPS", total.iops));
        let limit = cell.binding.as_ref().map_or("unknown", |binding| binding.limit.name());
        let doubts: Vec<&str> = cell.doubts.iter().map(|doubt| doubt.code.name()).collect();
        format!("{}: {rate}, limit {limit}, doubts {doubts:?}", cell.label)
    });
    unfinished.into_iter().chain(cells).collect()
}

#[allow(dead_code, reason = "tests take the functions above")]
fn main() -> Result<(), Error> {
    let mut words = std::env::args().skip(1);
    let (target, store) =
        (words.next().unwrap_or_else(|| "null".into()), words.next().unwrap_or_else(|| "runs.db".into()));
    for line in lines(&measure(&target, Path::new(&store), &mut Silent::default())?) {
        println!("{line}");
    }
    Ok(())
}
