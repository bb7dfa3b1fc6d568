//! `compare`: its forms, how it exits, and disks that the kernel holds to known rates.

use crate::bad_disk::Loop;
use crate::throttle::Group;
use crate::{Bench, or_skip, text};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

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

const NO_LOOP: &str = "it takes root and a loop device";
const READS: &str = "read_iops_device";
/// 64 MiB of written data in memory, where no other load slows it down.
fn image(folder: &tempfile::TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, vec![0x5a; 64 << 20]).unwrap();
    path
}

#[test]
fn disks_that_the_kernel_holds_to_known_rates_are_told_apart() {
    let bench = Bench::new();
    let folder = or_skip!(tempfile::tempdir_in("/dev/shm").ok(), "no /dev/shm");
    let attach = |name: &str| Loop::attach(&image(&folder, name));
    let (a, b, c) = (or_skip!(attach("a"), NO_LOOP), or_skip!(attach("b"), NO_LOOP), or_skip!(attach("c"), NO_LOOP));
    let group = or_skip!(
        Group::new("compare", &[(&a, READS, 2_000), (&b, READS, 2_000), (&c, READS, 1_000)]),
        "no blkio.throttle"
    );
    let plan = PLAN.replace("[1, 8]", "[16, 32]").replace("40 ms", "1 s").replace("\"0 s\"", "\"500 ms\"");
    let plan = bench.file("p.toml", plan);
    let on = |name: &str, device: &Loop| format!("{name}={}", device.node);
    let volumes = [on("a", &a), on("b", &b), on("c", &c)];
    let output = group
        .run(&bench, &["run", &plan, "--read-only", "--on", &volumes[0], "--on", &volumes[1], "--on", &volumes[2]]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let compared = |volumes: &str| {
        let arguments = ["compare", "last", "--volumes", volumes, "--fail-if", "worse", "--format", "json"];
        let output = bench.run(&arguments);
        let value: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
        println!("{}", bench.done(&["compare", "last", "--volumes", volumes]));
        (output.status.code(), value["against"][0].clone())
    };
    let verdicts = |against: &Value| {
        let cells = against["cells"].as_array().unwrap().iter().map(|c| &c["verdict"]);
        let all: Vec<String> =
            cells.chain([&against["overall"][0]["verdict"]]).map(|v| v.as_str().unwrap().to_owned()).collect();
        all
    };
    let (status, worse) = compared("a,c");
    assert_eq!((status, &verdicts(&worse)[..2]), (Some(3), &["worse".to_owned(), "worse".to_owned()][..]));
    let overall = &worse["overall"][0];
    if overall["doubted"] == 2 {
        // Where the hypervisor took its share from both, no cell is left for the whole, and that is said.
        assert_eq!((&overall["verdict"], &overall["why"]), (&json!("cannot-tell"), &json!("every cell is in doubt")));
    } else {
        let ratio = overall["ratio"].as_f64().unwrap();
        assert!(overall["verdict"] == "worse" && (ratio - 0.5).abs() < 0.03, "{overall}");
    }
    // A machine that is short of time for one of them leaves something untold, and calls nothing different.
    let (status, same) = compared("a,b");
    let told = verdicts(&same);
    assert!(told.iter().all(|v| v == "same" || v == "cannot-tell") && status != Some(3), "{told:?}");
}
