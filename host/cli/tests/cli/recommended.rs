//! Commands that a report recommends, run as they are printed.

use crate::{Bench, entries, text};
use loadline_analysis::example::{ExampleDisk, cell, closed, run};
use loadline_record::{Doubt, DoubtCode, PlanText, RunRecord, RunStatus};
use loadline_store::Store;
use std::path::Path;
use std::process::Command;

const PLAN: &str = "schema = 1\nname = \"mine\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\n\
                    queue_depth = 8\nsize = \"1 MiB\"\n";

fn keep(bench: &Bench, record: &RunRecord) {
    let store = Store::open(&bench.path("store.db")).unwrap();
    let mut begun = record.cells.clone();
    for cell in &mut begun {
        cell.trials.clear();
    }
    store.begin_run(&record.header, &begun).unwrap();
    for cell in &record.cells {
        for trial in &cell.trials {
            store.finish_trial(&record.header.id, &cell.id, trial).unwrap();
        }
    }
    store.set_status(&record.header.id, RunStatus::Finished).unwrap();
}

/// Beginnings of the names of what a test keeps, whatever commands write beside it.
const KEPT: [&str; 3] = ["store.db", "p.toml", "fio.json"];
/// Verbs that can be rehearsed.
const REHEARSED: [&str; 4] = ["run", "predict", "hunt", "quick"];

/// Runs a command as a shell does; loads and predictions are only rehearsed, and advice goes by limits alone.
fn assert_runs(bench: &Bench, command: &str) {
    let rehearsed = |step: &str| match step.split(' ').nth(1) {
        Some(verb) if REHEARSED.contains(&verb) => format!("{step} --dry-run"),
        Some("advise") if !step.contains("--limits-only") => format!("{step} --limits-only"),
        _ => step.to_owned(),
    };
    let line = command.split(" && ").map(rehearsed).collect::<Vec<_>>().join(" && ");
    let programs = Path::new(env!("CARGO_BIN_EXE_loadline")).parent().unwrap();
    let output = Command::new("sh")
        .args(["-c", &line])
        .current_dir(bench.path(""))
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("LOADLINE_STORE", bench.path("store.db"))
        .output()
        .unwrap();
    // An answer that comes out against, or is open, is one all the same.
    let answered = output.status.code().is_some_and(|code| [0, 3, 4].contains(&code));
    assert!(answered, "{line}: {}", text(&output.stderr));
    for name in entries(&bench.path("")).iter().filter(|name| !KEPT.iter().any(|kept| name.starts_with(kept))) {
        let _ = std::fs::remove_file(bench.path(name));
    }
}

/// The commands of an output: each stands on a line of its own, or behind the word for it in the verdict.
fn commands(output: &str) -> Vec<&str> {
    let lines = output.lines().map(str::trim);
    let bare = lines.map(|line| line.strip_prefix("command").map_or(line, str::trim));
    bare.filter(|line| line.starts_with("loadline ")).collect()
}

/// Every verb that prints results ends with a verdict, the verdict ends with a command, and each command runs as it is printed.
#[test]
fn every_verdict_ends_in_a_command_that_runs() {
    let bench = Bench::new();
    let plan =
        bench.file("p.toml", PLAN.replace("queue_depth = 8", "queue_depth = [1, 8]\nduration = \"1 s\"\ntrials = 1"));
    let results =
        bench.file("fio.json", include_str!("../../../../pure/strangers/imported/tests/corpus/fio/json.json"));
    let predict = |name, seed, environment| {
        ["predict", &*plan, "--env", environment, "--seed", seed, "--name", name].map(str::to_owned)
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let verbs = [
        predict("a", "1", "ds3-p30").to_vec(),
        predict("b", "2", "pool-4").to_vec(),
        words(&["compare", "a", "b"]),
        words(&["compare", "a", "a"]),
        words(&["hunt", &plan, "--cell", "2", "--env", "ds3-p30"]),
        words(&["run", &plan, "--on", "null", "--duration", "200 ms", "--warm-up", "0 s"]),
        words(&["import", &results]),
        words(&["show", "a"]),
    ];
    for verb in verbs {
        let typed: Vec<&str> = verb.iter().map(String::as_str).collect();
        let output = bench.run(&typed);
        let shown = text(&output.stdout);
        let (_, verdict) =
            shown.rsplit_once("Verdict\n").unwrap_or_else(|| panic!("{typed:?}: {shown}{}", text(&output.stderr)));
        assert!((1..=10).contains(&verdict.lines().count()), "{typed:?}: {verdict}");
        let last = verdict.lines().last().unwrap_or_default();
        assert!(last.trim_start().starts_with("command "), "{typed:?}: {verdict}");
        for command in commands(&shown) {
            assert_runs(&bench, command);
        }
    }
}

#[test]
fn a_recommended_command_runs_as_it_is_printed() {
    let bench = Bench::new();
    let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
    record.header.plans = vec![PlanText { name: "mine".into(), text: PLAN.into(), hash: String::new() }];
    record.header.volumes[0].target = bench.target();
    record.cells[0].trials[0].doubts = vec![Doubt::written(DoubtCode::ShortRun, "Measured for 3 s.")];
    keep(&bench, &record);
    let shown = bench.done(&["show", "last"]);
    let commands: Vec<&str> = shown.lines().map(str::trim).filter(|line| line.starts_with("loadline ")).collect();
    assert!(commands[0].contains(" --plan > plan.toml && loadline run plan.toml "), "{shown}");
    for command in commands {
        assert_runs(&bench, command);
    }
    // An environment of one's own comes out as the run had it.
    record.header.id = "20260131-142234-1a2b3c".to_owned();
    let own = "schema = 1\nname = \"own\"\n[[volume.data.disks]]\nsize = \"1 GiB\"\n";
    record.header.environment = Some(PlanText { name: "own".into(), text: own.into(), hash: String::new() });
    keep(&bench, &record);
    assert_eq!(bench.done(&["show", &record.header.id, "--env"]), own);
    assert!(bench.refused(2, &["show", "20260131-142233", "--env"]).contains("was given no environment"));
}
