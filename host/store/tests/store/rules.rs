//! The store's rules within one process.

use crate::made;
use loadline_record::{DoubtCode, RunRecord, RunStatus, RunVerb};
use loadline_store::{Filter, Store, StoreError};
use rusqlite::Connection;
use tempfile::TempDir;

fn new_store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("deep/er/store.db")).unwrap();
    (folder, store)
}

/// A run of two cells of two trials each, begun.
fn begin(store: &Store, id: &str, name: &str, second: u32) {
    store.begin_run(&made::header(id, name, second), &[made::cell(0, 2), made::cell(1, 2)]).unwrap();
}

fn finish_all(store: &Store, id: &str) {
    for cell in 0..2 {
        for trial in 0..2 {
            store.finish_trial(id, &made::cell(cell, 2).id, &made::trial(trial, u64::from(cell), 3)).unwrap();
        }
    }
    store.set_status(id, RunStatus::Finished).unwrap();
}

fn rows(store: &Store, table: &str) -> u64 {
    let connection = Connection::open(store.path()).unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, u32>(0)).unwrap().into()
}

#[test]
fn a_trial_is_stored_once_and_never_overwritten() {
    let (_folder, store) = new_store();
    begin(&store, "a", "sweep", 0);
    let cell = made::cell(1, 2).id;
    store.finish_trial("a", &cell, &made::trial(1, 7, 60)).unwrap();
    let before = store.load("a").unwrap();
    let again = store.finish_trial("a", &cell, &made::trial(1, 8, 60)).unwrap_err();
    assert!(matches!(again, StoreError::TrialExists { trial: 1, .. }), "{again}");
    assert_eq!(store.load("a").unwrap(), before);
    assert_eq!(before.cells[1].trials, [made::trial(1, 7, 60)]);
}

#[test]
fn what_does_not_belong_to_the_plan_is_refused() {
    let (_folder, store) = new_store();
    begin(&store, "a", "sweep", 0);
    let trial = made::trial(2, 0, 1);
    let cell = made::cell(0, 2).id;
    assert!(matches!(store.finish_trial("b", &cell, &trial), Err(StoreError::NoSuchRun { .. })));
    assert!(matches!(store.finish_trial("a", "other", &trial), Err(StoreError::NoSuchCell { .. })));
    assert!(matches!(store.finish_trial("a", &cell, &trial), Err(StoreError::TrialNotPlanned { planned: 2, .. })));
    assert_eq!(rows(&store, "trials"), 0);
}

#[test]
fn a_finished_run_is_never_edited_again() {
    let (_folder, store) = new_store();
    begin(&store, "a", "sweep", 0);
    let early = store.set_status("a", RunStatus::Finished).unwrap_err();
    assert!(matches!(early, StoreError::TrialsMissing { done: 0, planned: 4, .. }), "{early}");
    store.set_status("a", RunStatus::Interrupted).unwrap();
    store.set_status("a", RunStatus::Unfinished).unwrap();
    finish_all(&store, "a");
    let before = store.load("a").unwrap();
    assert_eq!(before.status, RunStatus::Finished);
    for status in [RunStatus::Unfinished, RunStatus::Failed, RunStatus::Finished] {
        assert!(matches!(store.set_status("a", status), Err(StoreError::RunFinished { .. })));
    }
    let more = store.finish_trial("a", &made::cell(0, 2).id, &made::trial(0, 0, 1));
    assert!(matches!(more, Err(StoreError::RunFinished { .. })));
    assert_eq!(store.load("a").unwrap(), before);
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    let (_folder, store) = new_store();
    let twice = store.begin_run(&made::header("a", "sweep", 0), &[made::cell(3, 1), made::cell(3, 1)]);
    assert!(matches!(twice, Err(StoreError::CellExists { .. })));
    for table in ["runs", "headers", "volumes", "cells"] {
        assert_eq!(rows(&store, table), 0, "{table}");
    }
    begin(&store, "a", "sweep", 0);
    let again = store.begin_run(&made::header("a", "sweep", 0), &[]);
    assert!(matches!(again, Err(StoreError::RunExists { .. })));
    for id in ["", "last", "../a", "a b", "ä"] {
        let refused = store.begin_run(&made::header(id, "sweep", 0), &[]);
        assert!(matches!(refused, Err(StoreError::BadId { .. })), "{id:?}");
    }
}

#[test]
fn a_figure_that_would_not_come_back_is_refused() {
    let (_folder, store) = new_store();
    begin(&store, "a", "sweep", 0);
    let cell = made::cell(0, 2).id;
    for wrong in [f64::NAN, f64::INFINITY] {
        let mut trial = made::trial(0, 0, 1);
        trial.surroundings.threads[0].busy = wrong;
        assert!(matches!(store.finish_trial("a", &cell, &trial), Err(StoreError::Inexact { .. })));
        trial = made::trial(0, 0, 1);
        // As an optional figure it would come back as missing.
        trial.offered_iops = Some(wrong);
        assert!(matches!(store.finish_trial("a", &cell, &trial), Err(StoreError::Inexact { .. })));
    }
    assert_eq!(rows(&store, "trials"), 0);
}

#[test]
fn removing_a_run_removes_every_row_and_gives_space_back() {
    let (_folder, store) = new_store();
    begin(&store, "kept", "sweep", 0);
    let tables = ["runs", "headers", "volumes", "cells", "trials", "operations", "doubts"];
    let before: Vec<_> = tables.iter().map(|table| rows(&store, table)).collect();
    begin(&store, "gone", "sweep", 1);
    finish_all(&store, "gone");
    assert!(tables.iter().zip(&before).all(|(table, before)| rows(&store, table) > *before));
    store.remove("gone").unwrap();
    assert_eq!(tables.iter().map(|table| rows(&store, table)).collect::<Vec<_>>(), before);
    assert!(matches!(store.load("gone"), Err(StoreError::NoSuchRun { .. })));
    assert!(matches!(store.remove("gone"), Err(StoreError::NoSuchRun { .. })));
    let connection = Connection::open(store.path()).unwrap();
    let free: u32 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0)).unwrap();
    assert_eq!(free, 0);
    let entries = std::fs::read_dir(store.path().parent().unwrap()).unwrap();
    let locks = entries.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().ends_with(".lock")).count();
    assert_eq!(locks, 0);
}

#[test]
fn a_run_is_found_by_id_number_prefix_name_or_last() {
    let (_folder, store) = new_store();
    assert!(matches!(store.resolve("last"), Err(StoreError::NoSuchRun { .. })));
    begin(&store, "20260131-000002-aaaa", "sweep", 2);
    begin(&store, "20260131-000001-bbbb", "sweep", 1);
    begin(&store, "20260131-0000", "matrix", 0);
    let resolve = |text: &str| store.resolve(text).unwrap();
    assert_eq!(resolve("last"), "20260131-0000", "what was added last, whenever it started");
    assert_eq!(resolve("20260131-000001"), "20260131-000001-bbbb");
    assert_eq!(resolve("20260131-0000"), "20260131-0000", "an id that begins others is itself");
    assert_eq!(resolve("sweep"), "20260131-000001-bbbb");
    assert_eq!(resolve("matrix"), "20260131-0000");
    match store.resolve("2026") {
        Err(StoreError::Ambiguous { candidates, .. }) => assert_eq!(candidates.len(), 3),
        other => panic!("{other:?}"),
    }
    begin(&store, "20260131-000003-cccc", "2026", 3);
    assert_eq!(resolve("2026"), "20260131-000003-cccc", "a name decides between prefixes");
    // Each keeps the number that the list shows, whatever else is removed.
    let numbers = || store.list(&Filter::default()).unwrap().into_iter().map(|run| (run.number, run.id));
    assert!(numbers().all(|(number, id)| resolve(&number.to_string()) == id));
    let before: Vec<_> = numbers().filter(|(_, id)| id != "20260131-0000").collect();
    store.remove("20260131-0000").unwrap();
    assert_eq!(numbers().collect::<Vec<_>>(), before);
    for text in ["", "swee", "20260132", "%", "20260131-00000_"] {
        assert!(matches!(store.resolve(text), Err(StoreError::NoSuchRun { .. })), "{text:?}");
    }
}

#[test]
fn a_list_begins_with_what_was_added_last_and_filters_narrow_it() {
    let (_folder, store) = new_store();
    begin(&store, "a", "sweep of data", 10);
    begin(&store, "b", "matrix", 30);
    begin(&store, "c", "sweep of logs", 20);
    let mut quick = made::header("d", "quick", 3600);
    quick.verb = RunVerb::Quick;
    quick.volumes[0].target = "/srv/50%_full".into();
    quick.volumes.push(quick.volumes[0].clone());
    quick.volumes[1].name = "logs".into();
    store.begin_run(&quick, &[]).unwrap();
    finish_all(&store, "b");
    let ids = |filter: &Filter| store.list(filter).unwrap().into_iter().map(|l| l.id).collect::<String>();
    let all = Filter::default();
    assert_eq!(ids(&all), "dcba");
    assert_eq!(ids(&Filter { limit: Some(2), ..all.clone() }), "dc");
    assert_eq!(ids(&Filter { limit: Some(0), ..all.clone() }), "");
    assert_eq!(ids(&Filter { name: Some("SWEEP".into()), ..all.clone() }), "ca");
    assert_eq!(ids(&Filter { verb: Some(RunVerb::Quick), ..all.clone() }), "d");
    assert_eq!(ids(&Filter { status: Some(RunStatus::Finished), ..all.clone() }), "b");
    assert_eq!(ids(&Filter { volume: Some("LOGS".into()), ..all.clone() }), "d");
    assert_eq!(ids(&Filter { volume: Some("%_".into()), ..all.clone() }), "d");
    assert_eq!(ids(&Filter { volume: Some("/mnt".into()), limit: Some(1), ..all.clone() }), "c");
    let since = |text: &str| Filter { since: Some(text.into()), ..Filter::default() };
    assert_eq!(ids(&since("2026-01-31")), "dcba");
    assert_eq!(ids(&since("2026-01-31T00:00:20Z")), "dcb");
    assert_eq!(ids(&since("2026-01-31T01")), "d");
    assert_eq!(ids(&since("2026-02-01")), "");
    for text in ["yesterday", "2026", "2026-01-31T01:00:00+02:00", "", "2026-01-31 01:00"] {
        assert!(matches!(store.list(&since(text)), Err(StoreError::BadTime { .. })), "{text:?}");
    }

    let lines = store.list(&all).unwrap();
    let volumes: Vec<_> = lines[0].volumes.iter().map(|v| (v.name.as_str(), v.target.as_str())).collect();
    assert_eq!(volumes, [("data", "/srv/50%_full"), ("logs", "/srv/50%_full")]);
    let line = &lines[2];
    assert_eq!((line.cells, line.trials_done, line.trials_planned), (2, 4, 4));
    assert_eq!(line.doubts, 2, "the same doubt of two trials counts once for its cell");
    assert_eq!((&line.verb, line.status), (&RunVerb::Run, RunStatus::Finished));
}

#[test]
fn doubts_in_a_list_are_those_of_the_record() {
    let (_folder, store) = new_store();
    begin(&store, "a", "sweep", 0);
    let mut trial = made::trial(0, 0, 1);
    trial.doubts[0].code = DoubtCode::CachedReads;
    trial.doubts.push(trial.doubts[0].clone());
    store.finish_trial("a", &made::cell(0, 2).id, &trial).unwrap();
    store.finish_trial("a", &made::cell(0, 2).id, &made::trial(1, 0, 1)).unwrap();
    let RunRecord { cells, .. } = store.load("a").unwrap();
    assert_eq!(cells[0].doubts().len(), 2);
    assert_eq!(store.list(&Filter::default()).unwrap()[0].doubts, 2);
}

#[test]
fn a_shell_sees_the_figures_that_reports_print() {
    let (_folder, store) = new_store();
    begin(&store, "a", "sweep", 0);
    let trial = made::trial(1, 5, 60);
    store.finish_trial("a", &made::cell(1, 2).id, &trial).unwrap();
    let connection = Connection::open(store.path()).unwrap();
    let (label, iops, p99_ns, doubts): (String, f64, i64, String) = connection
        .query_row(
            "SELECT label, iops, p99_ns, doubts FROM figures WHERE run = 'a' AND trial = 1 AND operation = 'write'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    let write = &trial.operations[&loadline_block::Operation::Write];
    assert_eq!(label, made::cell(1, 2).label);
    assert_eq!(iops.to_bits(), (write.count as f64 / 60.0).to_bits());
    assert_eq!(p99_ns.cast_unsigned(), write.latency.snapshot().unwrap().p99.unwrap());
    assert_eq!(doubts, "short-run");
    let share: f64 = connection
        .query_row("SELECT json_extract(document, '$.surroundings.machine.busy') FROM trials", [], |row| row.get(0))
        .unwrap();
    assert_eq!(share.to_bits(), trial.surroundings.machine.unwrap().busy.to_bits());
}

#[test]
fn a_trial_of_a_minute_takes_few_kibibytes() {
    let (_folder, store) = new_store();
    store.begin_run(&made::header("a", "sweep", 0), &[made::cell(0, 1_000)]).unwrap();
    let used = || {
        let connection = Connection::open(store.path()).unwrap();
        connection.pragma_query_value(None, "page_count", |row| row.get::<_, u32>(0)).unwrap() * 4096
    };
    let before = used();
    for number in 0..100 {
        store.finish_trial("a", &made::cell(0, 1).id, &made::trial(number, 0, 60)).unwrap();
    }
    let each = (used() - before) / 100;
    assert!(each < 16 << 10, "{each} bytes");
}

#[test]
fn a_run_that_decides_as_it_goes_gains_cells_and_is_finished_with_what_it_has() {
    let (_folder, store) = new_store();
    begin(&store, "a", "search", 0);
    store.add_cell("a", &made::cell(2, 9)).unwrap();
    let twice = store.add_cell("a", &made::cell(2, 9)).unwrap_err();
    assert!(matches!(twice, StoreError::CellExists { .. }), "{twice}");
    store.finish_trial("a", &made::cell(2, 9).id, &made::trial(0, 7, 3)).unwrap();
    store.finish_with_what_there_is("a").unwrap();
    let run = store.load("a").unwrap();
    let trials: Vec<usize> = run.cells.iter().map(|cell| cell.trials.len()).collect();
    assert_eq!((run.status, trials), (RunStatus::Finished, vec![0, 0, 1]));
    let listed = &store.list(&Filter::default()).unwrap()[0];
    assert_eq!((listed.cells, listed.trials_done, listed.trials_planned), (3, 1, 1));
    // A finished run is never edited again.
    assert!(matches!(store.add_cell("a", &made::cell(3, 1)), Err(StoreError::RunFinished { .. })));
}

#[test]
fn a_finished_run_is_stored_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    let mut cell = made::cell(0, 2);
    cell.trials = vec![made::trial(0, 1, 3), made::trial(1, 2, 3)];
    let run = RunRecord { header: made::header("whole", "whole", 1), status: RunStatus::Finished, cells: vec![cell] };
    let mut lacking = run.clone();
    lacking.header.id = "lacking".into();
    lacking.cells[0].trials.pop();
    assert!(matches!(store.add_run(&lacking), Err(StoreError::TrialsMissing { done: 1, planned: 2, .. })));
    assert!(store.list(&Filter::default()).unwrap().is_empty());
    store.add_run(&run).unwrap();
    assert_eq!(store.load("whole").unwrap(), run);
    assert!(matches!(store.add_run(&run), Err(StoreError::RunExists { .. })));
}

#[test]
fn a_run_told_while_it_goes_on_takes_the_place_of_what_there_was_of_it() {
    let (_folder, store) = new_store();
    let at = |seed: u64, status: RunStatus| {
        let mut cell = made::cell(0, 1);
        cell.trials = vec![made::trial(0, seed, 3)];
        RunRecord { header: made::header("live", "live", 1), status, cells: vec![cell] }
    };
    for run in [at(1, RunStatus::Unfinished), at(2, RunStatus::Unfinished), at(3, RunStatus::Finished)] {
        store.replace_run(&run).unwrap();
        assert_eq!(store.load("live").unwrap(), run);
        assert_eq!((rows(&store, "runs"), rows(&store, "trials")), (1, 1));
    }
    // While it goes on, it counts as added at its beginning; at its end it is the run added last.
    let last = || store.resolve("last").unwrap();
    let other = RunRecord { header: made::header("other", "other", 1), ..at(1, RunStatus::Unfinished) };
    store.replace_run(&other).unwrap();
    begin(&store, "later", "later", 2);
    store.replace_run(&RunRecord { header: other.header.clone(), ..at(2, RunStatus::Unfinished) }).unwrap();
    assert_eq!(last(), "later");
    store.replace_run(&RunRecord { header: other.header, ..at(3, RunStatus::Finished) }).unwrap();
    assert_eq!(last(), "other");
    // A finished run is never edited again, and a record that cannot be stored replaces nothing.
    assert!(matches!(store.replace_run(&at(4, RunStatus::Finished)), Err(StoreError::RunFinished { .. })));
    assert_eq!(store.load("live").unwrap(), at(3, RunStatus::Finished));
}

#[test]
fn what_is_written_to_a_store_that_was_removed_or_replaced_is_not_taken_for_stored() {
    let (folder, store) = new_store();
    begin(&store, "a", "a", 0);
    let trial = |number| store.finish_trial("a", &made::cell(0, 2).id, &made::trial(number, 0, 1));
    let elsewhere = folder.path().join("elsewhere.db");
    std::fs::rename(store.path(), &elsewhere).unwrap();
    assert!(matches!(trial(0), Err(StoreError::Moved { .. })));
    std::fs::copy(&elsewhere, store.path()).unwrap();
    assert!(matches!(trial(1), Err(StoreError::Moved { .. })));
    assert!(matches!(store.remove("a"), Err(StoreError::Moved { .. })));
}
