//! A plan as the commands of another tool, and its results as a run of that plan.

use crate::{Bench, entries};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Output};

const TEST_FILE: &str = "loadline-test.dat";
const DISKSPD: &str = include_str!("../../../../pure/strangers/imported/tests/corpus/diskspd-2.0.xml");

/// Three small loads, two trials each.
const PLAN: &str = r#"schema = 1
name = "carried"

[[load]]
name = "pages"
queue_depth = 4
size = "16 MiB"
warm_up = "0 s"
duration = "1 s"
trials = 2

[[load]]
name = "log"
pattern = "sequential"
reads = "0 %"
block = "64 KiB"
size = "16 MiB"
warm_up = "0 s"
duration = "1 s"
trials = 2

[[load]]
name = "mix"
reads = "70 %"
block = "8 KiB"
size = "16 MiB"
warm_up = "0 s"
duration = "1 s"
trials = 2
"#;

/// The load of which `DISKSPD` has the results, and another one.
const WINDOWS: &str = r#"schema = 1
name = "windows"

[[load]]
reads = "70 %"
block = "8 KiB"
queue_depth = [8, 4]
size = "10 GiB"
flush = { every = 1, how = "fua" }
duration = "3 s"
warm_up = "1 s"
trials = 2
"#;

/// The script of a folder, on the bench's target.
fn measured(bench: &Bench, folder: &str, target: &str) -> Output {
    Command::new("sh").arg(bench.path(folder).join("measure.sh")).arg(target).output().unwrap()
}

/// The names in a folder that end so, sorted.
fn named(bench: &Bench, folder: &str, ending: &str) -> Vec<String> {
    let mut all: Vec<String> = entries(&bench.path(folder)).into_iter().filter(|name| name.ends_with(ending)).collect();
    all.sort();
    all
}

fn stderr(output: &Output) -> String {
    crate::text(&output.stderr)
}

#[test]
fn fio_measures_a_plan_and_its_results_are_a_run_of_it() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let bench = Bench::new();
    let plan = bench.file("carried.toml", PLAN);
    bench.done(&["convert", &plan, "--to", "fio", "-o", "there"]);
    let target = bench.target();
    let output = measured(&bench, "there", &target);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(entries(target.as_ref()), Vec::<String>::new(), "the test file is gone");
    assert_eq!(named(&bench, "there", ".part"), Vec::<String>::new());
    let results = named(&bench, "there", ".json");
    assert_eq!(results.len(), 6);

    bench.done(&["import", "there"]);
    let run = bench.last();
    assert_eq!((&run["run"]["verb"], &run["run"]["name"]), (&"import".into(), &"there".into()));
    let texts: Vec<&Value> = run["run"]["plan"].as_array().unwrap().iter().map(|plan| &plan["text"]).collect();
    assert_eq!(texts, [PLAN]);
    let cells = run["cells"].as_array().unwrap();
    let told: Vec<(&str, u64, &Value, u64, &Value, u64)> = cells
        .iter()
        .map(|cell| {
            let load = &cell["load"];
            let number = |value: &Value| value.as_u64().unwrap();
            let label = cell["label"].as_str().unwrap().split(':').next().unwrap();
            (
                label,
                number(&cell["trials"]),
                &load["pattern"],
                number(&load["block_bytes"]),
                &load["read_ratio"],
                number(&load["queue_depth"]),
            )
        })
        .collect();
    let (random, sequential) = (Value::from("random"), Value::from("sequential"));
    let (all, none, most) = (Value::from(1.0), Value::from(0.0), Value::from(0.7));
    let wanted = [
        ("pages", 2, &random, 4096, &all, 4),
        ("log", 2, &sequential, 65536, &none, 1),
        ("mix", 2, &random, 8192, &most, 1),
    ];
    assert_eq!(told, wanted);
    // The cells have the ids that they have where loadline measures the plan itself.
    bench.done(&["run", &plan, "--on", "null"]);
    let ids = |run: &Value| -> Vec<Value> {
        run["cells"].as_array().unwrap().iter().map(|cell| cell["id"].clone()).collect()
    };
    assert_eq!(ids(&bench.last()), ids(&run));

    // A trial that is gone is missing by its name, and the others are taken. The script measures it alone.
    let gone = bench.path("there").join(&results[0]);
    let text = std::fs::read(&gone).unwrap();
    std::fs::remove_file(&gone).unwrap();
    let told = stderr(&bench.run(&["import", "there"]));
    let named_in = |name: &&String| told.contains(name.trim_end_matches(".json"));
    assert_eq!(results.iter().filter(named_in).collect::<Vec<_>>(), [&results[0]], "{told}");
    assert_eq!(bench.last()["cells"][0]["trials"], 1);
    // What is of another cell, a copy, or of another plan is refused by its name.
    for (name, contents) in [(&results[2], text.clone()), (&results[1], text.clone()), (&"x-1.json".to_owned(), text)] {
        let file = bench.path("there").join(name);
        let before = std::fs::read(&file).ok();
        std::fs::write(&file, contents.clone()).unwrap();
        std::fs::write(&gone, &contents).unwrap();
        let told = stderr(&bench.run(&["import", "there"]));
        assert!(told.contains(name.as_str()), "{name}: {told}");
        assert_eq!(told.contains("is missing"), before.is_some(), "{name}: {told}");
        match before {
            Some(before) => std::fs::write(&file, before).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        std::fs::remove_file(&gone).unwrap();
    }
    let again = measured(&bench, "there", &target);
    assert!(again.status.success() && crate::text(&again.stdout).matches(" of 6: ").count() == 1, "{again:?}");
    assert_eq!(named(&bench, "there", ".json"), results);
}

#[test]
fn the_script_of_fio_touches_no_file_that_was_there_and_no_device() {
    let bench = Bench::new();
    let plan = bench.file("carried.toml", PLAN);
    bench.done(&["convert", &plan, "--to", "fio", "-o", "there"]);
    let target = bench.target();
    let own = bench.file(&format!("target/{TEST_FILE}"), "mine");
    for target in [target.as_str(), "/dev/null", "/dev/vda", "nowhere"] {
        let output = measured(&bench, "there", target);
        assert_eq!(output.status.code(), Some(2), "{target}: {output:?}");
    }
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "mine");
    assert_eq!(named(&bench, "there", ".json"), Vec::<String>::new());
    // Whatever the plan, a job file and a script name the test file alone.
    for name in named(&bench, "there", ".fio") {
        let job = std::fs::read_to_string(bench.path("there").join(&name)).unwrap();
        let places: BTreeSet<&str> =
            job.lines().filter(|line| line.contains("filename=") || line.contains("directory=")).collect();
        assert_eq!(places, BTreeSet::from(["filename=loadline-test.dat"]), "{name}");
    }
}

#[test]
fn results_of_diskspd_are_cells_of_the_plan() {
    let bench = Bench::new();
    let plan = bench.file("windows.toml", WINDOWS);
    bench.done(&["convert", &plan, "--to", "diskspd", "-o", "there"]);
    let script = std::fs::read_to_string(bench.path("there/measure.cmd")).unwrap();
    let mut results: Vec<&str> = script
        .lines()
        .filter_map(|line| line.strip_prefix("call :trial "))
        .map(|line| line.split(' ').nth(1).unwrap())
        .collect();
    results.sort_unstable();
    assert_eq!(results.len(), 4);
    bench.file(&format!("there/{}.xml", results[1]), DISKSPD);
    // As the redirection of an older PowerShell writes it.
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(DISKSPD.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let copy = bench.file(&format!("there/{}.xml", results[0]), wide);
    let told = stderr(&bench.run(&["import", "there"]));
    assert!(told.contains(results[1]), "one of two copies is refused: {told}");
    std::fs::remove_file(&copy).unwrap();

    bench.file(&format!("there/{}.xml", results[2]), DISKSPD.replace("3.00<", "3.01<"));
    let told = stderr(&bench.run(&["import", "there"]));
    assert!(told.contains(&format!("{}.xml", results[2])), "depth 8 is no cell of depth 4: {told}");
    let run = bench.last();
    let cells = run["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1);
    assert_eq!((&cells[0]["trials"], &cells[0]["load"]["queue_depth"]), (&1.into(), &8.into()));
    assert_eq!(cells[0]["load"]["flush_every_writes"], 1, "what the plan says beyond the results is kept");
    assert_eq!(run["run"]["plan"][0]["text"], WINDOWS);
    for name in [results[0], results[2].rsplit_once('-').unwrap().0] {
        assert!(told.contains(&format!("{name} is missing")), "{name}: {told}");
    }

    // Where nothing is left, the verdict does not call the files unknown that the lines above it know, nor is a rest imported.
    let runs = bench.runs().len();
    std::fs::remove_file(bench.path(&format!("there/{}.xml", results[1]))).unwrap();
    let output = bench.run(&["import", "there"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!stderr(&output).contains("is imported"), "{output:?}");
    let verdict = crate::text(&output.stdout);
    let refused = format!("there/{}.xml", results[2]);
    assert!(verdict.contains("refused") && verdict.contains(&format!("loadline import {refused}")), "{verdict}");
    assert_eq!(bench.runs().len(), runs);
    bench.done(&["import", &refused]);
}

#[test]
fn a_load_that_a_tool_cannot_do_is_refused_and_the_others_are_written() {
    let bench = Bench::new();
    let mixed = "schema = 1\nname = \"m\"\n[[load]]\nname = \"open\"\narrival = { poisson = \"100 IOPS\" }\nsize = \"1 GiB\"\n\
                 [[load]]\nname = \"closed\"\nsize = \"1 GiB\"\n";
    let plan = bench.file("mixed.toml", mixed);
    let output = bench.run(&["convert", &plan, "--to", "diskspd", "-o", "there"]);
    assert!(output.status.success() && stderr(&output).contains("1-open-"), "{}", stderr(&output));
    let script = std::fs::read_to_string(bench.path("there/measure.ps1")).unwrap();
    assert!(script.contains("'2-closed-") && !script.contains("'1-open-"));
    // A folder with something in it is not written into.
    bench.refused(2, &["convert", &plan, "--to", "diskspd", "-o", "there"]);
    bench.done(&["convert", &plan, "--to", "diskspd", "-o", "there", "--force"]);
    // Without a load that it can do, nothing is written; and a size is asked for by its option.
    let sizeless = bench.file("sizeless.toml", "schema = 1\nname = \"s\"\n[[load]]\n");
    let told = bench.refused(1, &["convert", &sizeless, "--to", "fio", "-o", "nowhere"]);
    assert!(told.contains("--size") && !bench.path("nowhere").exists(), "{told}");
    bench.done(&["convert", &sizeless, "--to", "fio", "-o", "sized", "--size", "1GiB"]);
    bench.refused(2, &["convert", &plan, "-o", "x"]);
    bench.refused(2, &["convert", &plan, "--to", "fio", "--as", "csv", "-o", "x"]);
    bench.refused(2, &["convert", "no-such-plan", "--to", "fio", "-o", "x"]);
}
