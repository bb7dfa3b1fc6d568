//! A store that version 2 of the format wrote: one run of every verb that most people use. It must always be read.

use loadline_load::{Distribution, LatencyFigure, Pattern};
use loadline_record::{Access, Clock, EngineName, Load, RunRecord, RunVerb};
use loadline_store::{Filter, Store};
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
fn a_kept_store_may_be_on_a_disk_that_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = kept(folder.path());
    let written = all(&Store::open(&path).unwrap());
    assert_eq!(all(&Store::open_to_read(&path).unwrap()), written);
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
