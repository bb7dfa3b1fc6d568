//! Crawls that are killed at any moment and gone on with: no item is lost, and none is there twice.

use crate::files::{agreement, write_pages};
use loadline_crawl::{Crawl, CrawlMode, resume};
use loadline_pipeline::{CrawlPlan, SourcePlan};
use loadline_record::RunStatus;
use loadline_runs::{RunOptions, Silent, StoredRun, store_location};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FOLDER: &str = "LOADLINE_CRAWL_TEST_FOLDER";
const PAGES: usize = 400;

/// The crawl that is to be killed: begun, or gone on with, in a process of its own.
#[test]
#[ignore = "the test of kills starts it"]
fn a_crawl_to_be_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let store = folder.join("runs.db");
    if store.exists()
        && !store_location::existing_store(&store).unwrap().list(&loadline_store::Filter::default()).unwrap().is_empty()
    {
        let run = StoredRun::claim(store_location::existing_store(&store).unwrap(), "last").unwrap();
        assert!(resume(run, None, &mut Silent::default()).unwrap().ended.is_complete());
        return;
    }
    let mut plan = CrawlPlan::of("docs", vec![SourcePlan::of_files("docs", folder.join("docs"))]);
    plan.commit.every_items = 20;
    let options = RunOptions::default().seeded(1).stored_in(store);
    let crawl = Crawl { folder: Some(folder.join("made")), mode: CrawlMode::Full, options, ..Crawl::of(plan) };
    crawl.run(&mut Silent::default()).unwrap();
}

/// Starts it and kills it after this time; whether it came to its end before.
fn is_done(folder: &Path, after: Duration) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::a_crawl_to_be_killed", "--ignored", "--test-threads=1"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + after;
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "the crawl failed");
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

#[test]
fn killed_crawls_go_on_and_index_and_database_agree() {
    let is_long = std::env::var_os("LOADLINE_TEST_LONG").is_some();
    let wanted = if is_long { 50 } else { 6 };
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut kills = 0;
    while kills < wanted {
        let folder = tempfile::tempdir().unwrap();
        write_pages(&folder.path().join("docs"), PAGES);
        loop {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // From before the first commit to near the end, on a slow and on a fast machine.
            if is_done(folder.path(), Duration::from_millis(20 + state % 400)) {
                break;
            }
            kills += 1;
            if kills >= 10 * wanted {
                assert!(is_done(folder.path(), Duration::from_secs(60)), "it does not come to an end");
                break;
            }
            if kills % 6 == 5 {
                while !is_done(folder.path(), Duration::from_secs(20)) {}
                break;
            }
        }
        assert_eq!(agreement(folder.path()).items, PAGES as u64);
        let store = store_location::existing_store(&folder.path().join("runs.db")).unwrap();
        let run = store.load(&store.resolve("last").unwrap()).unwrap();
        assert_eq!(run.status, RunStatus::Finished);
    }
}
