//! Measures random reads on a target, and prints what each load reached.
//!
//! `cargo run -p loadline-runs --example measure -- /mnt/data runs.db`

use loadline_runs::{Error, Measurement, Observer, RunOutcome, Silent};
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
    Measurement::new(plan).on("data", target).seeded(1).stored_in(store).run(observer)
}

/// A line for each cell of a run: its load and its requests per second.
#[must_use]
pub(crate) fn lines(outcome: &RunOutcome) -> Vec<String> {
    let line = |cell: &loadline_record::CellRecord| {
        let rates: Vec<f64> = cell.trials.iter().filter_map(loadline_record::TrialRecord::iops).collect();
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        format!("{}: {mean:.0} IOPS", cell.label)
    };
    outcome.record.cells.iter().map(line).collect()
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
