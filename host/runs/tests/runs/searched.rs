//! Searches for the load at which an objective is lost, where it is known.

use crate::support::{Bench, Course, cells, complete, environment, findings, plan, refusal, trials, words};
use loadline_analysis::{RunVerdict, run_verdict};
use loadline_record::{CellRecord, RunRecord, RunStatus, RunVerb};
use loadline_runs::{
    Ended, Error, ObjectiveSearch, Observer, PredictionSettings, Refusal, RunOptions, RunOutcome, Settings, Silent,
    sole_target,
};
use std::path::PathBuf;

const SEED: u64 = 5;

fn load(arrival: &str, objective: &str) -> String {
    format!(
        "schema = 1\nname = \"turn\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\n{arrival}\n\
         warm_up = \"2 s\"\nduration = \"20 s\"\nsize = \"1 GiB\"\nobjective = {{ {objective} }}\n"
    )
}

/// A disk of 1,000 IOPS that answers in 1 ms.
const DISK: &str = r#"
schema = 1
name = "disk"
[[volume.data.disks]]
size = "10 GiB"
[volume.data.disks.limit]
iops = "1000 IOPS"
enforcement = "smooth"
[volume.data.disks.latency.read]
median = "1 ms"
p99 = "1.2 ms"
"#;

/// A search on a modelled disk.
fn searched(text: &str, on: &str, settings: &PredictionSettings) -> RunRecord {
    let bench = Bench::new();
    complete(begun(text, on, settings, bench.store(), &mut Silent::default()))
}

/// The same, kept somewhere and followed.
fn begun(
    text: &str,
    on: &str,
    settings: &PredictionSettings,
    store: PathBuf,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, Error> {
    let search = ObjectiveSearch::modelled(vec![plan(text)], environment(on), settings.clone());
    search.run(&RunOptions::default().seeded(SEED).stored_in(store), observer)
}

fn finding(record: &RunRecord) -> String {
    findings(record, "objective").into_iter().next().expect("something is found")
}

fn usual() -> PredictionSettings {
    PredictionSettings::default()
}

#[test]
fn the_deepest_queue_is_found_with_few_probes_and_its_interval() {
    let record = searched(&load("queue_depth = [1, 4]", "mean = \"20 ms\""), DISK, &usual());
    assert_eq!(run_verdict(&record), RunVerdict::Kept);
    let told = finding(&record);
    // 20 outstanding at 1,000 IOPS take 20 ms.
    assert!(told.contains("up to depth 20 (") || told.contains("up to depth 19 ("), "{told}");
    assert!(told.contains("Found by search: with 95 % confidence it is kept at depth"), "{told}");
    assert!(record.cells.len() <= 8, "{} probes", record.cells.len());
    assert_eq!((&record.header.verb, record.status), (&RunVerb::Search, RunStatus::Finished));
}

#[test]
fn the_highest_rate_is_found_below_what_the_disk_can_do() {
    let record = searched(&load("arrival = { poisson = [\"100 IOPS\"] }", "p99 = \"20 ms\""), DISK, &usual());
    let kept = cells(&record)
        .into_iter()
        .filter(|c| c["read"]["latency_ns"]["p99"].as_f64().unwrap() <= 20e6 && c["binding"]["limit"] == "arrival");
    let most = kept.map(|c| c["offered_iops"].as_f64().unwrap()).fold(0.0, f64::max);
    // An M/D/1 queue at 1,000 IOPS has its p99 at 20 ms where about 0.89 of it are used.
    assert!((820.0..960.0).contains(&most), "{most}");
    assert!(finding(&record).contains("Found by search"), "{}", finding(&record));
}

#[test]
fn a_rate_of_which_nothing_is_answered_in_time_is_lost_and_the_search_goes_on_below() {
    // 8 times the rate of the disk: a warm-up of 2 s leaves a backlog that outlasts a trial of 4 s.
    let closed = load("queue_depth = 4", "mean = \"20 ms\"");
    let open = load("arrival = { poisson = [\"8000 IOPS\"] }", "mean = \"20 ms\"");
    let both = format!("{closed}[[load]]{}", open.split_once("[[load]]").unwrap().1).replace("20 s", "4 s");
    let record = searched(&both, DISK, &usual());
    assert!(cells(&record).iter().any(|c| c["offered_iops"].is_number() && c["read"].is_null()), "no such probe");
    let found = findings(&record, "objective");
    let of_open = found.iter().find(|text| text.contains("arriving a second")).unwrap_or_else(|| panic!("{found:?}"));
    assert!(of_open.contains("Random 4 KiB reads stay within 20 ms on average up to"), "{of_open}");
    assert!(found.iter().any(|text| text.contains("stay within 20 ms on average up to depth")), "{found:?}");
}

/// The disk when its latency is known to a factor of two either way.
fn uncertain() -> String {
    DISK.replace("median = \"1 ms\"", "median = { low = \"0.5 ms\", mid = \"1 ms\", high = \"2 ms\" }")
        .replace("p99 = \"1.2 ms\"", "p99 = { low = \"0.6 ms\", mid = \"1.2 ms\", high = \"2.4 ms\" }")
        .replace("1000 IOPS", "100000 IOPS")
}

#[test]
fn a_search_on_a_model_says_what_holds_in_every_draw() {
    // Whether one request at a time keeps 1.5 ms depends on the draw.
    let arrives = load("arrival = { poisson = [\"100 IOPS\"] }", "p50 = \"1.5 ms\"").replace("20 s", "1 s");
    let record = searched(&arrives.replace("2 s", "0 s"), &uncertain(), &usual());
    let told = finding(&record);
    let of_all = usual().draws;
    let drawn: Vec<&CellRecord> = record.cells.iter().filter(|cell| cell.trials.len() > 1).collect();
    assert!(!drawn.is_empty(), "{told}");
    assert!(drawn.iter().all(|cell| cell.trials.len() == of_all as usize), "{told}");
    assert!(told.contains(&format!(" of {of_all} draws")) && told.contains("no load tried holds it in all"), "{told}");
    assert_eq!(run_verdict(&record), RunVerdict::Broken, "its status follows the worst draw");
}

#[test]
fn an_objective_that_holds_in_all_draws_is_said_to() {
    let record = searched(&load("queue_depth = [1, 4]", "mean = \"20.5 ms\""), DISK, &usual());
    let told = finding(&record);
    assert!(told.contains(&format!("in all {} draws", usual().draws)), "{told}");
    let drawn = record.cells.iter().filter(|cell| cell.trials.len() > 1).count();
    assert_eq!(drawn, 1, "only the heaviest that keeps it");
}

#[test]
fn an_objective_that_nothing_keeps_comes_out_against() {
    let record = searched(&load("queue_depth = 8", "p99 = \"10 us\""), DISK, &usual());
    assert_eq!(run_verdict(&record), RunVerdict::Broken);
}

/// A search on a target, in short trials.
fn on_target(text: &str, target: &str, store: PathBuf, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
    let search = ObjectiveSearch::measured(vec![plan(text)], Settings::of(sole_target(target)), None);
    search.run(&RunOptions::default().seeded(SEED).stored_in(store), observer)
}

fn short(objective: &str) -> String {
    let text = load("queue_depth = 2", objective).replace("20 s", "20 ms").replace("2 s", "0 s");
    text.replace("1 GiB", "8 MiB")
}

#[test]
fn a_target_is_searched_too_and_an_objective_is_needed() {
    let bench = Bench::new();
    let record = complete(on_target(&short("mean = \"1 s\""), "null", bench.store(), &mut Silent::default()));
    assert_eq!(record.header.verb, RunVerb::Search);
    let none = short("mean = \"1 s\"").replace("objective = { mean = \"1 s\" }\n", "");
    let refusal = refusal(on_target(&none, "null", bench.store(), &mut Silent::default()));
    assert!(matches!(refusal, Refusal::NoObjective), "{refusal}");
    assert_eq!(bench.runs(), 1);
}

/// Rates by cell and trial.
fn rates(record: &RunRecord) -> Vec<(&str, Option<f64>)> {
    record.cells.iter().flat_map(|cell| cell.trials.iter().map(|trial| (cell.id.as_str(), trial.iops()))).collect()
}

#[test]
fn a_search_that_is_ended_early_again_and_again_comes_to_what_it_would_have_come_to() {
    let bench = Bench::new();
    let text = load("queue_depth = 1", "mean = \"20 ms\"");
    let settings = usual();
    let mut outcome = begun(&text, DISK, &settings, bench.store(), &mut Course::ending_in(2)).unwrap();
    let mut resumed = 0;
    while matches!(outcome.ended, Ended::Interrupted) {
        let stored = outcome.record;
        outcome = bench.resume(&mut Course::ending_in(2)).unwrap();
        let now = rates(&outcome.record);
        assert!(rates(&stored).iter().all(|kept| now.contains(kept)), "a finished trial was lost or run again");
        resumed += 1;
    }
    assert!(resumed > 1, "it was ended {resumed} times");
    assert_eq!(rates(&outcome.record), rates(&searched(&text, DISK, &settings)));
}

#[test]
fn a_search_on_a_target_goes_on_where_it_was_ended() {
    let bench = Bench::new();
    // Two probes at least: not even the shallowest queue keeps it.
    let text = short("mean = \"1 ns\"").replace("20 ms", "500 ms");
    let outcome = on_target(&text, "null", bench.store(), &mut Course::ending_in(2)).unwrap();
    assert!(matches!(outcome.ended, Ended::Interrupted), "{:?}", outcome.ended);
    let resumed = bench.resume(&mut Silent::default());
    let resumed = resumed.unwrap_or_else(|error| panic!("{}", words(&error)));
    assert!(resumed.ended.is_complete() && resumed.record.cells.iter().all(|cell| cell.trials.len() == 1));
    assert_eq!(trials(&resumed.record).next(), trials(&outcome.record).next());
}

/// One that saves up credits while it is idle.
const BURSTING: &str = r#"
schema = 1
name = "bursting"
[[volume.data.disks]]
size = "10 GiB"
[volume.data.disks.limit]
iops = "500 IOPS"
burst = { iops = "3500 IOPS" }
burst_span = "30 min"
enforcement = "smooth"
"#;

#[test]
fn the_search_begins_with_the_storage_as_it_is_told() {
    // The way of the search is the same, for it goes by what lasts.
    for (bursts_empty, iops) in [(false, 3_500.0), (true, 500.0)] {
        let settings = PredictionSettings { bursts_empty, caches_warm: Some(false), ..usual() };
        let cells = cells(&searched(&load("queue_depth = 1", "mean = \"20 ms\""), BURSTING, &settings));
        assert!(cells.len() > 2, "{cells:?}");
        for cell in cells {
            let (taken, achieved) = (&cell["prediction"], cell["total"]["iops"].as_f64().unwrap());
            assert_eq!((&taken["bursts_full"], &taken["caches_warm"]), (&(!bursts_empty).into(), &false.into()));
            assert!((achieved / iops - 1.0).abs() < 0.01, "{achieved}, bursts empty: {bursts_empty}");
        }
    }
}
