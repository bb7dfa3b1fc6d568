//! `crawl`: what it prints last, and what is kept of it.

use crate::{Bench, text};
use loadline_report::SCREEN_LINES;
use serde_json::Value;
use std::collections::BTreeSet;

/// A folder with pages, a document and a file that is neither.
pub(crate) fn folder(bench: &Bench, pages: usize) -> String {
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
    let second: Value = serde_json::from_str(&second).unwrap();
    assert_eq!((&second["sources"][0]["items"], &second["sources"][0]["failed"]), (&80.into(), &1.into()));
    let compared = bench.done(&["compare", "First", "Second"]);
    assert!(compared.contains("Crawl Second against First") && compared.contains("docs"), "{compared}");
    assert!(compared.lines().count() <= SCREEN_LINES, "{compared}");
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

/// Paths of every key that a schema has.
fn keys_of_schema(schema: &Value, of: &Value, at: &str, all: &mut BTreeSet<String>) {
    if let Some(name) = of["$ref"].as_str() {
        return keys_of_schema(schema, &schema["$defs"][name.trim_start_matches("#/$defs/")], at, all);
    }
    for (key, value) in of["properties"].as_object().into_iter().flatten() {
        let path = format!("{at}.{key}");
        all.insert(path.clone());
        keys_of_schema(schema, value, &path, all);
    }
    if of["items"].is_object() {
        keys_of_schema(schema, &of["items"], at, all);
    }
    for one in of["anyOf"].as_array().into_iter().flatten() {
        keys_of_schema(schema, one, at, all);
    }
}

fn keys_of_value(value: &Value, at: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = format!("{at}.{key}");
                all.insert(path.clone());
                keys_of_value(value, &path, all);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys_of_value(item, at, all)),
        _ => {}
    }
}

#[test]
fn programs_get_every_key_of_the_schema_and_no_other_by_crawl_and_by_show() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/formats/crawl.schema.json")).unwrap();
    let run: Value = serde_json::from_str(include_str!("../../../../docs/formats/run.schema.json")).unwrap();
    assert_eq!(schema["properties"]["run"], run["properties"]["run"], "a run is described alike everywhere");
    for (name, of) in run["$defs"].as_object().unwrap() {
        assert!(schema["$defs"].get(name).is_none_or(|own| own == of), "{name} is described alike everywhere");
    }
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let bench = Bench::new();
    let (site, made) = (site(&bench, 150), bench.path("made").display().to_string());
    let words = ["crawl", &site, "--into", &made, "--quiet", "--confirm=20 ms", "--format", "json"];
    let printed = bench.run(&[&words[..], &["--what-if", "index workers x2", "--what-if", "slots x2"]].concat());
    let printed: Value = serde_json::from_str(&text(&printed.stdout)).unwrap();
    let shown: Value = serde_json::from_str(&bench.done(&["show", "last", "--format", "json"])).unwrap();
    assert!(!shown["doubts"].as_array().unwrap().is_empty(), "so short a crawl is doubted: {shown}");
    let mut there = BTreeSet::new();
    for value in [&printed, &shown] {
        let errors: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        keys_of_value(value, "", &mut there);
    }
    assert_eq!((&printed["schema"], &printed["sources"]), (&"loadline.crawl/1".into(), &shown["sources"]));
    let mut wanted = BTreeSet::new();
    keys_of_schema(&schema, &schema, "", &mut wanted);
    // What a run may have beside is held by the schema of runs; which answer there is, and which station it names, the machine decides.
    let varies = [
        ".run.",
        ".held.",
        ".sources.bound.attribution",
        ".sources.bound.parts",
        ".sources.bound.figures.station",
        // Computed only where what held the crawl has a setting.
        ".sources.bound.figures.by_settings.",
        ".confirmed.expected",
        ".what_if.found.assumed.busy_more",
        ".next",
    ];
    let is_fixed = |key: &&String| !varies.iter().any(|varies| key.starts_with(varies));
    let missing: Vec<&String> = wanted.iter().filter(is_fixed).filter(|key| !there.contains(*key)).collect();
    assert!(missing.iter().all(|key| key.starts_with(".sources.notes") || key.starts_with(".volumes")), "{missing:?}");
}

/// A plan of a made-up site that takes a while; gives its path.
fn site(bench: &Bench, pages: usize) -> String {
    bench.file(
        "site.toml",
        format!(
            "name = \"site\"\n[[source]]\nname = \"site\"\nslots = 2\nmade_up = {{ seed = 1, pages = {pages}, size = \"2 KiB\", latency = \
             \"20 ms\", spread = 0.2, bad = false }}\n[commit]\nevery_items = 10\n"
        ),
    )
}

#[test]
fn a_crawl_that_was_killed_is_carried_on_with_by_run_and_kept_as_every_other_run() {
    let bench = Bench::new();
    let (site, made) = (site(&bench, 200), bench.path("made").display().to_string());
    let mut crawl = bench.command(&["crawl", &site, "--into", &made, "--name", "killed", "--quiet"]).spawn().unwrap();
    // Until something is committed: the index has a segment.
    let has_segment = || {
        let entries = std::fs::read_dir(bench.path("made/index")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().ends_with(".store"))
    };
    while !has_segment() {
        assert!(crawl.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    crawl.kill().unwrap();
    crawl.wait().unwrap();
    assert_eq!((&bench.runs()[0]["status"], &bench.runs()[0]["trials"]), (&"unfinished".into(), &0.into()));

    bench.done(&["run", "--resume", "killed", "--quiet"]);
    let run = &bench.runs()[0];
    assert_eq!((&run["verb"], &run["status"], &run["trials"]), (&"crawl".into(), &"finished".into(), &1.into()));
    assert!(run["doubts"].as_u64().unwrap() > 0, "so short a crawl is doubted: {run}");
    let shown: Value = serde_json::from_str(&bench.done(&["show", "killed", "--format", "json"])).unwrap();
    let source = &shown["sources"][0];
    let done_before = source["notes"]["done before the crawl went on"].as_u64().unwrap_or_default();
    assert_eq!(
        done_before + source["items"].as_u64().unwrap(),
        200,
        "no item is lost, and none is crawled twice: {source}"
    );
    // Nothing is left of it, by the other name of the same thing either.
    assert!(text(&bench.run(&["run", "--resume", "killed"]).stderr).contains("nothing is left to do"));
    bench.done(&["crawl", "--resume", "killed", "--quiet"]);
    assert_eq!(bench.runs().len(), 1);

    bench.done(&["crawl", &site, "--into", &made, "--name", "again", "--quiet"]);
    let compared: Value =
        serde_json::from_str(&bench.done(&["compare", "killed", "again", "--format", "json"])).unwrap();
    let schema = serde_json::from_str(include_str!("../../../../docs/formats/comparison.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&compared).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(compared["crawls"][0]["sources"][0]["source"], "site");
    let undecided = bench.run(&["compare", "killed", "again", "--fail-if", "worse"]);
    assert_eq!(undecided.status.code(), Some(4), "two crawls alone decide nothing: {}", text(&undecided.stderr));
    bench.done(&["report", "killed", "again", "-o", "both.md"]);
    let report = std::fs::read_to_string(bench.path("both.md")).unwrap();
    assert!(report.contains("## Stations") && report.contains("## Crawl again against killed"), "{report}");
    bench.done(&["rm", "killed"]);
    assert_eq!(bench.runs().len(), 1);
}
