//! Compares two stored runs of one plan: better, worse, the same, or more trials are needed.
//!
//! `cargo run -p loadline-runs --example compare -- runs.db BASELINE RUN`

use loadline_analysis::{CompareOptions, Comparison, Verdict, compare as compare_runs};
use loadline_runs::{Error, store_location};
use std::path::Path;

/// Compares `run` with `baseline`; both are ids, or the beginnings of ids.
///
/// # Errors
/// There is no such store or run.
///
/// # Panics
/// The runs cannot be compared.
pub(crate) fn compare(store: &Path, baseline: &str, run: &str) -> Result<Comparison, Error> {
    let store = store_location::store_to_read(store)?;
    let load = |typed: &str| store.load(&store.resolve(typed)?);
    let (baseline, run) = (load(baseline)?, load(run)?);
    Ok(compare_runs(&[&baseline, &run], &CompareOptions::default()).expect("the runs can be compared"))
}

/// The verdict on each cell that is in both runs.
#[must_use]
pub(crate) fn verdicts(comparison: &Comparison) -> Vec<Verdict> {
    comparison.against.iter().flat_map(|against| &against.cells).map(|cell| cell.verdict).collect()
}

#[allow(dead_code, reason = "tests take the functions above")]
fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [store, baseline, run] = &words[..] else {
        eprintln!("give a store and two runs");
        return Ok(());
    };
    println!("{:?}", verdicts(&compare(Path::new(store), baseline, run)?));
    Ok(())
}
