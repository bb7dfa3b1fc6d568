//! Fills a new store and times `list` on it: `cargo run --release --example fill_and_list [FOLDER [RUNS CELLS TRIALS]]`.
//!
//! By default 500 runs of 200 cells with one trial each, that is 100,000 cells, under the temporary folder.

#[path = "../tests/store/made.rs"]
mod made;

use loadline_record::RunStatus;
use loadline_store::{Filter, Store, StoreError};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const LOOKS: usize = 11;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let mut number = |default: u32| arguments.next().map_or(Ok(default), |text| text.parse());
    let (runs, cells, trials) = (number(500)?, number(200)?, number(1)?);
    let folder = tempfile::tempdir_in(folder)?;
    let path = folder.path().join("store.db");
    let store = Store::open(&path)?;

    // Few different trials, so that making them does not count as storing them.
    let samples: Vec<_> = (0..trials).map(|trial| made::trial(trial, 1, 60)).collect();
    let begun = Instant::now();
    for run in 0..runs {
        let id = format!("20260131-{run:06}-1a2b3c");
        let plan: Vec<_> = (0..cells).map(|index| made::cell(index, trials)).collect();
        store.begin_run(&made::header(&id, ["sweep", "matrix"][run as usize % 2], run), &plan)?;
        for cell in &plan {
            for trial in &samples {
                store.finish_trial(&id, &cell.id, trial)?;
            }
        }
        store.set_status(&id, RunStatus::Finished)?;
    }
    let count = runs * cells * trials;
    let each = begun.elapsed() / count.max(1);
    println!("{runs} runs, {} cells, {count} trials of 60 s; {each:.1?} to store a trial", runs * cells);
    drop(store);
    let bytes = std::fs::metadata(&path)?.len();
    println!("{} MiB, {:.1} KiB per trial", bytes >> 20, bytes as f64 / 1024.0 / f64::from(count));

    let matrices = Filter { name: Some("MATRIX".into()), volume: Some("/mnt".into()), ..Filter::default() };
    let newest = Filter { limit: Some(20), ..Filter::default() };
    time("open and list", || Store::open(&path)?.list(&Filter::default()).map(|lines| lines.len()))?;
    let store = Store::open(&path)?;
    time("list", || store.list(&Filter::default()).map(|lines| lines.len()))?;
    time("list by name and target", || store.list(&matrices).map(|lines| lines.len()))?;
    time("list the newest 20", || store.list(&newest).map(|lines| lines.len()))?;
    time("resolve and load", || store.load(&store.resolve("last")?).map(|run| run.cells.len()))?;
    Ok(())
}

/// Prints the median and the longest of some looks.
fn time(what: &str, mut look: impl FnMut() -> Result<usize, StoreError>) -> Result<(), StoreError> {
    let mut times = [Duration::ZERO; LOOKS];
    let mut found = 0;
    for time in &mut times {
        let begun = Instant::now();
        found = look()?;
        *time = begun.elapsed();
    }
    times.sort_unstable();
    println!("{what}: {:.2?}, at most {:.2?} ({found} found)", times[LOOKS / 2], times[LOOKS - 1]);
    Ok(())
}
