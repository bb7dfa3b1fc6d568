//! `crawl`: what it prints last, and what is kept of it.

use crate::{Bench, text};

/// A folder with pages, a document and a file that is neither.
fn folder(bench: &Bench, pages: usize) -> String {
    let folder = bench.path("docs");
    std::fs::create_dir_all(&folder).unwrap();
    for page in 0..pages {
        let words: Vec<String> = (0..60).map(|word| format!("word{}", (page * 7 + word) % 331)).collect();
        let html = format!("<html><title>Page {page}</title><p>{}</html>", words.join(" "));
        std::fs::write(folder.join(format!("{page}.html")), html).unwrap();
    }
    std::fs::write(folder.join("broken.docx"), "PK\x03\x04 and no more").unwrap();
    folder.display().to_string()
}

#[test]
fn a_crawl_of_a_folder_ends_with_its_verdict_and_is_kept_shown_and_compared() {
    let bench = Bench::new();
    let docs = folder(&bench, 80);
    let printed = bench.done(&["crawl", &docs, "--name", "First", "--quiet"]);
    let last: Vec<&str> = printed.lines().rev().take_while(|line| !line.is_empty()).collect();
    assert!(last.len() <= 10 && last.iter().any(|line| line.contains("bound")), "{printed}");
    assert!(last[0].contains("loadline report "), "{printed}");
    // The process that reads documents is this command again.
    assert!(printed.contains("no Office file, or one that is encrypted: 1"), "{printed}");
    assert_eq!((&bench.runs()[0]["verb"], &bench.runs()[0]["status"]), (&"crawl".into(), &"finished".into()));
    let shown = bench.done(&["show", "last"]);
    assert!(shown.contains("fetch docs") && shown.contains("bound"), "{shown}");
    assert_eq!(crate::schema_errors(&bench.last()), Vec::<String>::new());

    let second = bench.done(&["crawl", &docs, "--name", "Second", "--quiet", "--format", "json"]);
    let second: serde_json::Value = serde_json::from_str(&second).unwrap();
    assert_eq!((&second["sources"][0]["items"], &second["sources"][0]["failed"]), (&80.into(), &1.into()));
    let compared = bench.done(&["compare", "First", "Second"]);
    assert!(compared.contains("Crawl Second against First") && compared.contains("docs"), "{compared}");
}

#[test]
fn a_source_of_which_nothing_came_failed_and_is_never_fast() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("docs")).unwrap();
    bench.file("docs/one.docx", "no archive");
    let output = bench.run(&["crawl", &bench.path("docs").display().to_string(), "--quiet"]);
    assert_ne!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("docs failed: no item came. It has no rate."), "{}", text(&output.stdout));
}

#[test]
fn the_next_command_runs_as_printed_after_another_crawl_and_its_table_has_the_source() {
    let bench = Bench::new();
    let docs = folder(&bench, 80);
    bench.done(&["crawl", &docs, "--quiet"]);
    let run = bench.runs()[0]["run"].as_str().unwrap().to_owned();
    bench.done(&["crawl", &docs, "--quiet"]);
    let shown = bench.done(&["crawl", "--stored", &run]);
    // What bound so small a crawl may be unknown; where a change is named, it is one of this run.
    for line in shown.lines().filter(|line| line.contains("--stored")) {
        assert!(line.contains(&format!("loadline crawl --stored {run} --what-if '")), "{line}");
    }
    let tried = bench.done(&["crawl", "--stored", &run, "--what-if", "index workers x2"]);
    for of in ["docs", "the whole crawl"] {
        let is_row = |line: &&str| line.starts_with("index workers x2") && line.contains(of);
        assert_eq!(tried.lines().filter(is_row).count(), 1, "{of}: {tried}");
    }
}

#[test]
fn a_database_given_as_a_folder_is_answered_with_a_plan_of_its_rows() {
    let bench = Bench::new();
    bench.done(&["crawl", &folder(&bench, 40), "--quiet"]);
    // A database that is at hand: the one that runs are kept in.
    let database = bench.path("people.db");
    std::fs::copy(bench.path("store.db"), &database).unwrap();
    let refused = bench.run(&["crawl", &database.display().to_string()]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("is a SQLite database") && said.contains("loadline crawl rows.toml"), "{said}");
    let plan = &said[said.find("[[source]]").unwrap()..];
    let plan =
        loadline_pipeline::CrawlPlan::read(&plan.replace("TABLE", "people").replace("KEY", "id"), "rows").unwrap();
    assert_eq!((plan.sources[0].name.as_str(), plan.sources[0].sql.as_deref()), ("people", Some(database.as_path())));
}
