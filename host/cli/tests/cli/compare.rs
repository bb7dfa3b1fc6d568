//! `compare`: its forms, and how it exits.

use crate::{Bench, text};
use serde_json::Value;

const PLAN: &str = r#"
schema = 1
name = "two-depths"
[[load]]
pattern = "random"
reads = "100 %"
block = "4 KiB"
queue_depth = [1, 8]
warm_up = "0 s"
duration = "40 ms"
trials = 3
"#;

/// Two runs on the null target.
fn two_runs(bench: &Bench) -> [String; 2] {
    let plan = bench.file("p.toml", PLAN);
    [(); 2].map(|()| {
        bench.done(&["run", &plan, "--on", "data=null"]);
        bench.last()["run"]["id"].as_str().unwrap().to_owned()
    })
}

#[test]
fn every_form_tells_of_the_same_cells_and_programs_get_what_the_schema_says() {
    let bench = Bench::new();
    let [a, b] = two_runs(&bench);
    let schema = include_str!("../../../../docs/formats/comparison.schema.json");
    let schema = jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap();
    let value: Value = serde_json::from_str(&bench.done(&["compare", &a, &b, "--format", "json"])).unwrap();
    let errors: Vec<String> = schema.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let cells = value["against"][0]["cells"].as_array().unwrap();
    assert_eq!((cells.len(), &value["sides"][0]["run"]), (2, &Value::from(a.clone())));
    for format in ["table", "markdown", "csv"] {
        let told = bench.done(&["compare", &a, &b, "--format", format]);
        for cell in cells {
            assert!(told.contains(cell["label"].as_str().unwrap()), "{format}: {told}");
        }
        assert!(!told.contains('\x1b'));
    }
    // The figure that was asked for decides everywhere.
    let by = bench.done(&["compare", &a, &b, "--figure", "p99.9", "--margin", "20%", "--format", "json"]);
    let by: Value = serde_json::from_str(&by).unwrap();
    assert_eq!((&by["margin"], &by["against"][0]["cells"][0]["figure"]), (&Value::from(0.2), &Value::from("p99_9")));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let bench = Bench::new();
    let [a, b] = two_runs(&bench);
    let refused = |arguments: &[&str]| bench.refused(2, arguments);
    assert!(refused(&["compare", &a]).contains("at least two volumes"));
    assert!(refused(&["compare", &a, "--volumes", "data", "log"]).contains("it has data"));
    assert!(refused(&["compare", &a, &b, "--disks", "1,2,4"]).contains("3 numbers of disks are given for 2 sides"));
    assert!(refused(&["compare", &a, &b, "--tps", "199,666"]).contains("one of these runs is none"));
    assert!(refused(&["compare", &a, &b, "--tps", "many", "666"]).contains("--tps many is no number"));
    let note = bench.file("note.txt", "fast");
    assert!(refused(&["compare", &a, &b, "--tps", &note, "666"]).contains("no result of pgbench or sysbench"));
    assert!(refused(&["compare", &a, &b, "--margin", "0%"]).contains("no margin"));
    assert!(refused(&["compare", &a, &b, "--margin", "5"]).contains("share"));
    assert!(bench.refused(1, &["compare", &a, "nonsense"]).contains("nonsense"));
}

#[test]
fn runs_without_a_common_cell_leave_a_gate_without_an_answer() {
    let bench = Bench::new();
    let [a, _] = two_runs(&bench);
    let other = bench.file("q.toml", PLAN.replace("4 KiB", "8 KiB"));
    bench.done(&["run", &other, "--on", "data=null"]);
    let output = bench.run(&["compare", &a, "last", "--fail-if", "worse"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    assert!(told.contains("no cell that both have") && told.contains("the nearest differs in blocks"), "{told}");
    let deeper = bench.file("d.toml", PLAN.replace("[1, 8]", "[2, 4]"));
    bench.done(&["run", &deeper, "--on", "data=null"]);
    let told = text(&bench.run(&["compare", &a, "last"]).stdout);
    assert!(told.contains("the nearest differs in queue_depth"), "{told}");
}

#[test]
fn what_is_worse_fails_where_that_is_asked_for() {
    let bench = Bench::new();
    let plan = bench.file("sweep.toml", crate::inputs::SWEEP.replace("trials = 1", "trials = 3"));
    for environment in ["ds3-p30", "ds3-p10"] {
        bench.done(&["predict", &plan, "--env", environment, "--seed", "1", "--name", environment]);
    }
    bench.refused(3, &["compare", "ds3-p30", "ds3-p10", "--fail-if", "worse"]);
    bench.done(&["compare", "ds3-p30", "ds3-p10"]);
}

/// Two predictions whose single trials decide nothing.
fn two_predictions(bench: &Bench) -> [&'static str; 2] {
    let plan = bench.file("sweep.toml", crate::inputs::SWEEP);
    let names = ["ds3-p30", "ds3-p10"];
    for environment in names {
        bench.done(&["predict", &plan, "--env", environment, "--seed", "1", "--name", environment]);
    }
    names
}

#[test]
fn a_report_says_of_runs_what_their_comparison_says() {
    let bench = Bench::new();
    let [a, b] = two_predictions(&bench);
    let told = bench.done(&["compare", a, b]);
    let (_, verdict) = told.split_once("\nVerdict\n").unwrap();
    bench.done(&["report", a, b, "-o", "r.html"]);
    let page = std::fs::read_to_string(bench.path("r.html")).unwrap();
    let page = page.replace("&#39;", "'").replace("&gt;", ">");
    let same: Vec<&str> = verdict.lines().map(str::trim).take_while(|line| !line.starts_with("next")).collect();
    assert!(same.len() > 3, "{told}");
    for line in same {
        let text = line.split_once("  ").map_or(line, |(_, text)| text.trim());
        assert!(page.contains(text), "not in the report: {text}\n{verdict}");
    }
}

#[test]
fn a_comparison_names_the_trials_it_repeated_and_doubts_those_of_the_runs() {
    let bench = Bench::new();
    let [a, b] = two_predictions(&bench);
    let value: Value = serde_json::from_str(&bench.done(&["compare", a, b, "--format", "json"])).unwrap();
    let schema = include_str!("../../../../docs/formats/comparison.schema.json");
    let schema = jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap();
    assert!(schema.is_valid(&value));
    let added: u64 = (0..2).map(|side| value["sides"][side]["trials_added"].as_u64().unwrap()).sum();
    let told = bench.done(&["compare", a, b]);
    assert!(told.contains(&format!("{added} were predicted anew to decide this")), "{told}");
    let shown: Value = serde_json::from_str(&bench.done(&["show", b, "--format", "json"])).unwrap();
    for cell in value["against"][0]["cells"].as_array().unwrap() {
        let of = shown["cells"].as_array().unwrap().iter().find(|of| of["id"] == cell["other_id"]).unwrap();
        let details = |doubts: &Value| -> Vec<String> {
            doubts.as_array().unwrap().iter().map(|doubt| doubt["detail"].to_string()).collect()
        };
        assert_eq!(details(&cell["other_doubts"]), details(&of["doubts"]));
    }
}

#[test]
fn disks_of_two_providers_have_a_price_each_and_what_has_none_says_why() {
    let bench = Bench::new();
    let plan = bench.file("p.toml", PLAN);
    let environment = |name: &str, disks: &str| {
        bench.file(&format!("{name}.toml"), format!("schema = 1\nname = \"{name}\"\n[volume.data]\n{disks}\n"))
    };
    let azure = environment("azure", "disks = [{ sku = \"azure/premium-p30\" }]");
    let aws = environment("aws", "disks = [{ sku = \"aws/gp3\", size = \"1000 GiB\" }]");
    let own = environment(
        "own",
        "[[volume.data.disks]]\nsize = \"1 TiB\"\n[volume.data.disks.latency.read]\nmedian = \"1 ms\"",
    );
    let [azure, aws, own] = [azure, aws, own].map(|file| {
        bench.done(&["predict", &plan, "--env", &file, "--quiet"]);
        bench.last()["run"]["id"].as_str().unwrap().to_owned()
    });
    let of = |other: &str| -> Value {
        serde_json::from_str(&bench.done(&["compare", &azure, other, "--format", "json"])).unwrap()
    };
    let both = of(&aws);
    for ranked in both["ranking"].as_array().unwrap() {
        assert!(ranked["price_month"].is_string() && ranked["price_region"].is_string(), "{ranked}");
    }
    let one = of(&own);
    let notes: Vec<&str> =
        one["against"][0]["notes"].as_array().unwrap().iter().filter_map(|n| n["text"].as_str()).collect();
    assert!(notes.iter().any(|note| note.contains("nobody sells them")), "{notes:?}");
}
