//! Folders: whole, again, and with what cannot be read.

use loadline_crawl::{Crawl, CrawlAgreement, CrawlMode, CrawlSearch, of_record};
use loadline_pipeline::{CrawlPlan, SourcePlan, crawl_violations};
use loadline_record::{RunStatus, StepName};
use loadline_runs::{RunOptions, RunOutcome, Silent};
use std::path::Path;

fn page(number: usize) -> String {
    let words: Vec<String> = (0..200).map(|word| format!("word{} same", (number * 7 + word) % 997)).collect();
    format!("<html><head><title>Page {number}</title></head><body><p>{}</p></body></html>", words.join(" "))
}

pub(crate) fn write_pages(folder: &Path, pages: usize) {
    std::fs::create_dir_all(folder.join("below")).unwrap();
    for number in 0..pages {
        let place = if number % 2 == 0 { "." } else { "below" };
        std::fs::write(folder.join(place).join(format!("{number}.html")), page(number)).unwrap();
    }
}

/// A crawl of `docs` in the folder, with index and database in `made`.
fn crawl(folder: &Path, mode: CrawlMode) -> RunOutcome {
    let mut plan = CrawlPlan::of("docs", vec![SourcePlan::of_files("docs", folder.join("docs"))]);
    plan.commit.every_items = 50;
    crawl_of(folder, plan, mode)
}

/// A crawl of a plan, with index and database in `made`.
pub(crate) fn crawl_of(folder: &Path, plan: CrawlPlan, mode: CrawlMode) -> RunOutcome {
    let options = RunOptions::default().seeded(1).stored_in(folder.join("runs.db"));
    let crawl = Crawl { folder: Some(folder.join("made")), mode, options, ..Crawl::of(plan) };
    let outcome = crawl.run(&mut Silent::default()).unwrap();
    assert_kept(&outcome);
    outcome
}

/// What is named first of a crawl gives most.
fn assert_kept(outcome: &RunOutcome) {
    let Some(pipeline) = outcome.record.pipeline() else { return };
    let named = of_record(&outcome.record).unwrap();
    assert_eq!(crawl_violations(pipeline, &named).unwrap(), [], "{named:#?}");
}

/// Documents of the index that have the word that all pages have.
fn documents(folder: &Path) -> usize {
    CrawlSearch::open(&folder.join("made/index")).unwrap().all(&["same"]).unwrap().len()
}

pub(crate) fn agreement(folder: &Path) -> CrawlAgreement {
    let agreement = CrawlAgreement::look(&folder.join("made/index"), &folder.join("made/database")).unwrap();
    assert!(agreement.holds(), "{agreement:?}");
    agreement
}

#[test]
fn a_folder_becomes_an_index_a_database_and_a_measured_run() {
    let folder = tempfile::tempdir().unwrap();
    write_pages(&folder.path().join("docs"), 300);
    std::fs::write(folder.path().join("docs/binary"), [0u8; 100]).unwrap();
    let outcome = crawl(folder.path(), CrawlMode::Full);
    assert_eq!(documents(folder.path()), 300);
    assert_eq!(agreement(folder.path()).items, 300);
    let record = &outcome.record;
    assert_eq!(record.status, RunStatus::Finished);
    let trial = &record.cells[0].trials[0];
    let pipeline = trial.pipeline.as_ref().unwrap();
    assert_eq!(pipeline.sources[0].items, 300);
    assert_eq!(pipeline.sources[0].failures.get("no kind of file that has text"), Some(&1));
    assert_eq!(pipeline.items.len(), 300);
    assert!(pipeline.items.iter().all(|item| item.committed_ns.is_some() && item.text_bytes > 0));
    let fetches = trial.steps.get(&StepName::new("fetch docs").unwrap()).unwrap();
    assert_eq!(fetches.record.count, 300);
    assert!(trial.steps.get(&StepName::new("index commit").unwrap()).unwrap().record.count >= 2);
    // Little's law: what was inside the stations, over time, is what items spent there.
    for (place, station) in pipeline.stations.iter().take(3).enumerate() {
        let spent: u64 = pipeline.items.iter().map(|item| item.spans[place].length_ns()).sum();
        assert!(station.inside_item_us >= spent / 1_000, "{:?}", station.station);
    }
}

#[test]
fn searches_while_the_crawl_runs_are_a_step_and_afterwards_find_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    write_pages(&folder.path().join("docs"), 200);
    let mut plan = CrawlPlan::of("docs", vec![SourcePlan::of_files("docs", folder.path().join("docs"))]);
    plan.commit.every_items = 20;
    plan.search.per_second = 500;
    let outcome = crawl_of(folder.path(), plan, CrawlMode::Full);
    let searches = outcome.record.cells[0].trials[0].steps.get(&StepName::new("search").unwrap()).unwrap();
    assert!(searches.record.count > 0);
    let search = CrawlSearch::open(&folder.path().join("made/index")).unwrap();
    assert_eq!(search.all(&["same"]).unwrap().len(), 200);
    assert_eq!(search.best(&["SAME"]).unwrap().len(), 10);
    // Word 42 is in the pages whose first word is at most 199 before it.
    let with_word = |page: usize| (0..200).any(|word| (page * 7 + word) % 997 == 42);
    let mut expected: Vec<usize> = (0..200).filter(|page| with_word(*page)).collect();
    let found = search.all(&["word42", "same"]).unwrap();
    let mut found: Vec<usize> =
        found.iter().map(|key| Path::new(key).file_stem().unwrap().to_str().unwrap().parse().unwrap()).collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(search.all(&["word42", "nothing"]).unwrap(), Vec::<String>::new());
}

#[test]
fn a_second_crawl_takes_what_changed_and_removes_what_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs");
    write_pages(&docs, 100);
    crawl(folder.path(), CrawlMode::Full);
    std::fs::write(docs.join("0.html"), page(1_000)).unwrap();
    std::fs::write(docs.join("new.html"), page(1_001)).unwrap();
    std::fs::remove_file(docs.join("2.html")).unwrap();
    let outcome = crawl(folder.path(), CrawlMode::Incremental);
    let source = &outcome.record.cells[0].trials[0].pipeline.as_ref().unwrap().sources[0];
    assert_eq!((source.items, source.unchanged, source.removed), (2, 98, 1));
    assert_eq!(agreement(folder.path()).items, 100);
    crawl(folder.path(), CrawlMode::Full);
    assert_eq!((documents(folder.path()), agreement(folder.path()).items), (100, 100));
}
