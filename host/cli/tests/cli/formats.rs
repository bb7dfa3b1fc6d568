//! What every verb prints for programs says what it is, and is as its published schema says.

use crate::{Bench, inputs};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats")
}

/// What a document lacks to follow the published schema that it names.
pub(crate) fn schema_errors(document: &Value) -> Vec<String> {
    let Some(name) = document["schema"].as_str() else { return vec!["it has no key schema".to_owned()] };
    let short = name.strip_prefix("loadline.").and_then(|name| name.strip_suffix("/1")).unwrap_or(name);
    let Ok(schema) = std::fs::read_to_string(folder().join(format!("{short}.schema.json"))) else {
        return vec![format!("{name} has no published schema")];
    };
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["$id"], name, "a schema has the name of its documents");
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn what_verbs_list_is_as_published() {
    let bench = Bench::new();
    for (arguments, least) in [
        (&["plans"][..], 1),
        (&["environments"], 1),
        (&["environments", "cost", "pool-4", "--region", "eastus"], 2),
        (&["catalog", "list"], 1),
        (&["catalog", "list", "--kind", "vm"], 1),
        (&["catalog", "check"], 0),
    ] {
        assert!(bench.rows(arguments).len() >= least, "{arguments:?}");
    }
    bench.document(&["catalog", "show", "azure/premium-p30"]);
    let serve = format!("{} clock serve", env!("CARGO_BIN_EXE_loadline"));
    let mut clocks = bench.document(&["clock", "compare", "here", "--by", &serve, "--count", "3"]);
    assert_eq!(clocks["rows"].as_array().unwrap().len(), 1);
    // The other clock may be behind and go slower.
    clocks["rows"][0]["offset_ns"] = (-16_000).into();
    clocks["rows"][0]["drift_ppb"] = (-40).into();
    assert_eq!(schema_errors(&clocks), Vec::<String>::new());
}

#[test]
fn what_is_predicted_measured_compared_and_hunted_is_as_published() {
    let bench = Bench::new();
    let plan = bench.file("sweep.toml", inputs::SWEEP);
    let of_model = ["predict", &plan, "--env", "ds3-p30", "--draws", "1", "--seed", "1"];
    bench.document(&of_model);
    bench.document(&[&of_model[..], &["--dry-run"]].concat());
    bench.document(&of_model);
    bench.document(&["show", "last"]);
    assert!(!bench.rows(&["show", "last", "--series"]).is_empty());
    assert!(!bench.rows(&["show", "last", "--limits"]).is_empty());
    let runs = bench.runs();
    let ids: Vec<&str> = runs.iter().map(|run| run["run"].as_str().unwrap()).collect();
    bench.document(&["compare", ids[0], ids[1]]);
    assert!(!bench.rows(&["predict", &plan, "--env", "ds3-p30", "--limits-only"]).is_empty());
    let hunt = ["hunt", &plan, "--env", "ds3-p30", "--cell", "1", "--vary", "threads=2", "--seed", "1"];
    assert_eq!(bench.rows(&[&hunt[..], &["--dry-run"]].concat()).len(), 1);
    assert_eq!(bench.document(&hunt)["schema"], "loadline.hunt/1");
}

#[test]
fn advice_for_one_need_and_for_many_is_as_published() {
    let bench = Bench::new();
    let typed = ["--iops", "3000", "--size", "200GiB", "--provider", "aws", "--limits-only"];
    bench.document(&[&["advise"], &typed[..]].concat());
    std::fs::create_dir(bench.path("needs")).unwrap();
    bench.file("needs/a.toml", "schema = 1\nname = \"a\"\niops = \"3000 IOPS\"\nsize = \"200 GiB\"\n");
    let folder = bench.path("needs").display().to_string();
    assert!(!bench.rows(&["advise", &folder, "--provider", "aws", "--limits-only"]).is_empty());
}

#[test]
fn every_schema_stands_in_the_list_of_formats() {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let mut schemas = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        if !file.ends_with(".schema.json") {
            let is_page = Path::new(&file).extension().is_some_and(|end| end == "md");
            let is_listed = file == "README.md" || !is_page || page.contains(&format!("]({file})"));
            assert!(is_listed, "{file} is not in docs/formats/README.md");
            continue;
        }
        schemas += 1;
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(folder().join(&file)).unwrap()).unwrap();
        let line =
            format!("| [`{}`]({file}) | {} |", schema["$id"].as_str().unwrap(), schema["title"].as_str().unwrap());
        assert!(page.contains(&line), "docs/formats/README.md has no line {line}");
    }
    assert_eq!(page.matches(".schema.json)").count(), schemas, "the page lists what there is");
}
