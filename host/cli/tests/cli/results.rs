//! Stored results as they are asked for: which run, which cells, in which form.

use crate::inputs::{CELLS, VARIED, csv_rows};
use crate::{Bench, text};
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) fn measured(bench: &Bench) {
    let (plan, target) = (bench.file("varied.toml", VARIED), bench.target());
    bench.done(&["run", &plan, "--on", &target]);
}

/// What `list` prints for programs where there is no run.
const NO_RUNS: &str = "{\n  \"schema\": \"loadline.list/1\",\n  \"rows\": []\n}\n";

#[test]
fn show_takes_cells_by_number_label_and_id_in_every_form() {
    let bench = Bench::new();
    measured(&bench);
    let run = bench.last();
    let ids = |arguments: &[&str]| -> Vec<String> {
        let text = bench.done(&[&["show", "last", "--format", "json"], arguments].concat());
        let value: Value = serde_json::from_str(&text).unwrap();
        value["cells"].as_array().unwrap().iter().map(|cell| cell["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids(&[]);
    assert_eq!(all.len(), CELLS);
    assert_eq!(ids(&["--cell", "3"]), [all[2].clone()]);
    assert_eq!(ids(&["--cell", &all[4][..9]]), [all[4].clone()]);
    assert_eq!(ids(&["--cell", "DEPTH 4"]), [all[1].clone(), all[3].clone()]);
    for wrong in ["0", "7", "no such load"] {
        assert!(bench.refused(2, &["show", "last", "--cell", wrong]).contains("1 to 6"));
    }
    let label = run["cells"][4]["label"].as_str().unwrap();
    for format in ["table", "markdown"] {
        let whole = bench.done(&["show", "last", "--cell", "5", "--format", format]);
        assert!(whole.contains("8 KiB") && !whole.contains("Poisson"), "{whole}");
    }
    assert_eq!(csv_rows(&bench.done(&["show", "last", "--cell", "5", "--format", "csv"]))[0]["label"], label);
}

#[test]
fn the_series_has_the_same_rows_in_every_form() {
    let bench = Bench::new();
    measured(&bench);
    let print = |format: &str| bench.done(&["show", "last", "--series", "--cell", "3", "--format", format]);
    let document: Value = serde_json::from_str(&print("json")).unwrap();
    let rows: Vec<BTreeMap<String, Value>> = serde_json::from_value(document["rows"].clone()).unwrap();
    // Two trials of a mix, shorter than a second: a row for each operation.
    assert_eq!(rows.len(), 4);
    let csv = csv_rows(&print("csv"));
    for (row, csv) in rows.iter().zip(&csv) {
        assert_eq!(row.keys().collect::<Vec<_>>(), csv.keys().collect::<Vec<_>>());
        for (key, value) in row {
            assert_eq!(csv[key], value.as_str().map_or_else(|| value.to_string(), str::to_owned), "{key}");
        }
    }
    for format in ["table", "markdown"] {
        assert_eq!(print(format).lines().filter(|line| line.contains("50 % read")).count(), rows.len());
    }
}

#[test]
fn verbs_that_read_make_no_store_and_say_where_they_looked() {
    let bench = Bench::new();
    let (folder, store) = (bench.path("a"), bench.path("a/b.db").display().to_string());
    for verb in [
        &["list"][..],
        &["list", "--format", "json"],
        &["show", "last"],
        &["compare", "last", "last"],
        &["fit", "last"],
        &["rm", "last"],
        &["report", "last", "-o", "r.html"],
        &["export", "last", "--as", "csv"],
        &["run", "--resume", "last"],
        &["run", "--verify-only", "last"],
        &["predict", "--resume", "last"],
    ] {
        let told = bench.refused(2, &[verb, &["--store", &store]].concat());
        assert!(
            told.contains("there is no store at") && told.contains(&store) && told.contains("--store FILE"),
            "{told}"
        );
        assert!(!folder.exists(), "{verb:?} made a folder");
    }
    // Where nobody named one, there may be none yet, and then there are no runs.
    let mut fresh = bench.command(&["list", "--format", "json"]);
    let output = fresh.env_remove("LOADLINE_STORE").env("XDG_DATA_HOME", bench.path("data")).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), NO_RUNS.as_bytes()));
    assert!(!bench.path("data").exists());
}

#[test]
fn a_time_or_a_verb_that_is_none_is_bad_usage() {
    let bench = Bench::new();
    // With a store and without.
    for _ in 0..2 {
        let told = bench.refused(2, &["list", "--since", "yesterday"]);
        assert!(told.contains("--since") && told.contains("2026-01-31"), "{told}");
        let told = bench.refused(2, &["list", "--since", "2026-13-01"]);
        assert!(told.contains("--since") && told.contains("there is no month 13, only 01 to 12"), "{told}");
        let told = bench.refused(2, &["list", "--verb", "bogus"]);
        assert!(told.contains("--verb") && told.contains("emulate") && told.contains("search"), "{told}");
        bench.file("store.db", "");
    }
    bench.done(&["list", "--verb", "Quick", "--since", "2026-02-28T23:59"]);
}

#[test]
fn every_column_is_there_where_no_terminal_is() {
    let bench = Bench::new();
    let long = "buffered = true\nfill = \"never\"";
    let plan =
        bench.file("long.toml", crate::end_to_end::SMALL.replace("queue_depth", &format!("{long}\nqueue_depth")));
    let printed = bench.done(&["run", &plan, "--on", &bench.target(), "--on", "second=null", "--trials", "1"]);
    let heading = printed.lines().find(|line| line.contains("  MB/s  ")).unwrap();
    for column in ["p50", "p99.9", "p99.99", "max"] {
        assert!(heading.split_whitespace().any(|word| word == column), "{column} is not in {heading}");
    }
    assert!(!printed.contains("Left out"), "{printed}");
}

#[test]
fn a_run_named_twice_is_reported_once() {
    let bench = Bench::new();
    measured(&bench);
    let id = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    bench.done(&["report", &id, "-o", "one.md"]);
    bench.done(&["report", &id, "last", &id, "-o", "two.md"]);
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    assert_eq!(read("one.md"), read("two.md"));
}

#[test]
fn a_variable_set_to_nothing_is_as_if_it_were_not_set() {
    let bench = Bench::new();
    let data = bench.path("data");
    let output = |value: &str, arguments: &[&str]| {
        bench.command(arguments).env("LOADLINE_STORE", value).env("XDG_DATA_HOME", &data).output().unwrap()
    };
    let listed = output("", &["list", "--format", "json"]);
    assert_eq!(
        (listed.status.code(), listed.stdout.as_slice()),
        (Some(0), NO_RUNS.as_bytes()),
        "{}",
        text(&listed.stderr)
    );
    output("", &["quick", "null", "--duration", "10 ms"]);
    assert!(data.join("loadline/runs.db").exists());
    assert_eq!(output("/x", &["list", "--store", ""]).status.code(), Some(2));
    // The option is not asked for where the variable is set.
    let usage = text(&output("/x", &["rm"]).stderr);
    assert!(usage.contains("Usage: loadline rm ") && !usage.contains("--store <FILE> <RUNS>"), "{usage}");
}

#[test]
fn the_plan_that_a_run_keeps_comes_out_as_it_was_read() {
    let bench = Bench::new();
    let (plan, other) = (bench.file("varied.toml", VARIED), VARIED.replace("\"varied\"", "\"other\""));
    let other = bench.file("other.toml", &other);
    bench.done(&["run", &plan, "--on", "data=null", "--trials", "1", "--duration", "20ms"]);
    let shown = bench.run(&["show", "last", "--plan"]);
    assert_eq!(text(&shown.stdout), VARIED);
    let told = text(&shown.stderr);
    assert!(told.contains("--trials 1 --duration '20 ms'"), "{told}");
    let refusal = bench.refused(2, &["show", "last", "--plan=another"]);
    assert!(refusal.contains("has no plan \"another\"; it has \"varied\""), "{refusal}");
    bench.done(&["run", &plan, &other, "--on", "data=null", "--trials", "1", "--duration", "20ms"]);
    let refusal = bench.refused(2, &["show", "last", "--plan"]);
    assert!(refusal.contains("say which, as in --plan=varied"), "{refusal}");
    assert!(bench.done(&["show", "last", "--plan=other"]).contains("name = \"other\""));
}
