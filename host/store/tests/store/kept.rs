//! A store that version 2 of the format wrote: one run of every verb that most people use. It must always be read.

use loadline_load::{Distribution, LatencyFigure, Pattern};
use loadline_record::{Access, Clock, Doubt, DoubtCode, EngineName, Load, RunRecord, RunVerb};
use loadline_store::{Filter, Store};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// A copy of it that a test may write to.
fn kept(folder: &Path) -> PathBuf {
    let path = folder.join("runs.db");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept/version-2.db"), &path).unwrap();
    path
}

fn all(store: &Store) -> Vec<RunRecord> {
    let lines = store.list(&Filter::default()).unwrap();
    lines.iter().map(|line| store.load(&line.id).unwrap()).collect()
}

#[test]
fn every_run_of_a_kept_store_is_read_with_its_load() {
    let folder = tempfile::tempdir().unwrap();
    let runs = all(&Store::open(&kept(folder.path())).unwrap());
    let of = |verb: RunVerb| runs.iter().find(|run| run.header.verb == verb).unwrap_or_else(|| panic!("no {verb}"));
    assert_eq!(runs.len(), 6);
    for run in &runs {
        assert!(!matches!(run.header.verb, RunVerb::Other(_)), "{:?}", run.header.verb);
        for cell in &run.cells {
            assert!(!matches!(cell.load, Load::Figures { .. }), "{}: {:?}", cell.label, cell.load);
            assert!(!cell.trials.is_empty());
        }
    }
    let run = of(RunVerb::Run);
    let mix = run.cells[0].load.spec().expect("a plan's load");
    assert_eq!(mix.pattern, Pattern::Random(Distribution::Zipf { theta_milli: 1_200 }));
    assert_eq!((mix.blocks.len(), run.cells[0].load.name()), (2, Some("mix")));
    assert_eq!(mix.objective.map(|objective| objective.of), Some(LatencyFigure::P999));
    assert_eq!(run.cells[2].load.figures().pattern, Access::Sequential);
    assert_eq!(of(RunVerb::Import).cells[0].load.figures().queue_depth, Some(1));
    assert_eq!(of(RunVerb::Hunt).cells.len(), 2);
    let predicted = of(RunVerb::Predict);
    assert_eq!(
        (predicted.header.clock, &predicted.cells[0].trials[0].engine.name),
        (Clock::Virtual, &EngineName::Simulator)
    );
    let Load::Application(asked) = &of(RunVerb::Emulate).cells[0].load else { panic!("an application asked") };
    let Load::Recorded(replayed) = &of(RunVerb::Replay).cells[0].load else { panic!("a trace asked") };
    assert_eq!(
        (asked.volume.as_str(), replayed.volume.as_str(), replayed.by.as_deref()),
        ("data", "data", Some("time"))
    );
}

#[test]
fn a_doubt_of_an_earlier_version_is_the_sentence_that_it_stored() {
    let folder = tempfile::tempdir().unwrap();
    let runs = all(&Store::open(&kept(folder.path())).unwrap());
    let mut doubts =
        runs.iter().flat_map(|run| &run.cells).flat_map(|cell| &cell.trials).flat_map(|trial| &trial.doubts);
    let text = "Measured for 2 s: a limit that counts in windows of 50.0 ms gives out each one's share as it begins, so that so short \
                a run may show up to 2.5 % more or less than lasts.";
    assert!(doubts.any(|doubt| *doubt == Doubt::written(DoubtCode::ShortRun, text)));
}

#[test]
fn a_kept_store_may_be_on_a_disk_that_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = kept(folder.path());
    let written = all(&Store::open(&path).unwrap());
    assert_eq!(all(&Store::open_to_read(&path).unwrap()), written);
}

#[test]
fn the_wide_views_have_a_row_for_each_run_cell_and_trial_of_an_older_store_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = kept(folder.path());
    let runs = all(&Store::open(&path).unwrap());
    let shell = Connection::open(&path).unwrap();
    let count =
        |view: &str| -> u32 { shell.query_row(&format!("SELECT count(*) FROM {view}"), [], |row| row.get(0)).unwrap() };
    let cells = || runs.iter().flat_map(|run| &run.cells);
    assert_eq!(
        (count("runs_wide"), count("cells_wide"), count("trials_wide")),
        (runs.len() as u32, cells().count() as u32, cells().map(|cell| cell.trials.len() as u32).sum())
    );
    for run in &runs {
        let header = &run.header;
        let (host, environment, plan): (Option<String>, Option<String>, Option<String>) = shell
            .query_row("SELECT host, environment, plan FROM runs_wide WHERE run = ?", [&header.id], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        let plans: Vec<&str> = header.plans.iter().map(|plan| plan.name.as_str()).collect();
        assert_eq!(host, header.host.hostname);
        assert_eq!(environment, header.environment.as_ref().map(|environment| environment.name.clone()));
        assert_eq!(plan.unwrap_or_default(), plans.join(" + "));
        for cell in &run.cells {
            let figures = cell.load.figures();
            let of_trials = cell.trials.iter().map(|trial| {
                let all = trial.operations.iter().filter(|(of, _)| **of != loadline_block::Operation::Flush);
                all.map(|(_, record)| record.count).sum::<u64>() as f64 * 1e9 / trial.measured_ns as f64
            });
            let mean = of_trials.sum::<f64>() / cell.trials.len() as f64;
            let (block, threads, trials, iops, p99): (i64, u32, u32, f64, Option<f64>) = shell
                .query_row(
                    "SELECT block_bytes, threads, trials, iops_mean, read_p99_ns_mean FROM cells_wide WHERE run = ? AND cell = ?",
                    [&header.id, &cell.id],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
                )
                .unwrap();
            assert_eq!(
                (block, threads, trials),
                (figures.block_bytes.cast_signed(), figures.threads, cell.trials.len() as u32)
            );
            assert!((iops - mean).abs() <= mean * 1e-9, "{iops} {mean}");
            let reads = cell.trials.iter().any(|trial| trial.operations.contains_key(&loadline_block::Operation::Read));
            assert_eq!(p99.is_some(), reads, "{}", cell.label);
        }
    }
}

#[test]
fn a_run_of_a_kept_store_is_stored_again_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let runs = all(&Store::open(&kept(folder.path())).unwrap());
    for run in runs {
        let text = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<RunRecord>(&text).unwrap(), run);
    }
}
