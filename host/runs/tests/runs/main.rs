//! Runs from another program's side: what the examples do, and what an observer gets.

#[path = "../../examples/compare.rs"]
mod compare;
#[path = "../../examples/measure.rs"]
mod measure;
#[path = "../../examples/predict.rs"]
mod predict;

mod another_place;
mod attached;
mod crash;
mod crawl_tables;
mod drawn;
mod emulations;
mod faults;
mod filling;
mod fitted;
mod forms;
mod hunted;
mod imported;
mod impossible;
mod limits;
mod looked_first;
mod merged;
mod observed;
mod predicted;
mod ranks;
mod recorded;
mod refused;
mod repeated;
mod replayed;
mod replayed_on_storage;
mod safety;
mod searched;
mod set_ups;
mod support;
mod swept;
mod together;
mod told_apart;
mod verified;
mod volumes;
mod watched;
mod worked_examples;

use loadline_runs::Silent;

/// On a disk rather than in memory, so that direct I/O is taken.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn two_measurements_of_a_folder_can_be_compared() {
    let folder = folder();
    let (target, store) = (folder.path().join("target"), folder.path().join("runs.db"));
    std::fs::create_dir(&target).unwrap();
    let measured = || measure::measure(target.to_str().unwrap(), &store, &mut Silent::default()).unwrap();
    let (first, second) = (measured(), measured());
    assert!(first.ended.is_complete());
    assert_eq!(measure::lines(&first).len(), 2);
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0, "test files are removed");
    let comparison = compare::compare(&store, &first.record.header.id, &second.record.header.id).unwrap();
    assert_eq!(compare::verdicts(&comparison).len(), 2);
}

#[test]
fn a_prediction_names_what_binds() {
    let folder = folder();
    let outcome = predict::predict("d4s-v5-p10", &folder.path().join("runs.db")).unwrap();
    let lines = predict::lines(&outcome);
    assert_eq!(lines.len(), 2);
    assert!(lines[1].contains("IOPS"), "{lines:?}");
}
