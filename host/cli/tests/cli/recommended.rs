//! Commands that a report recommends, run as they are printed.

use crate::{Bench, text};
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

#[test]
fn a_recommended_command_runs_as_it_is_printed() {
    let bench = Bench::new();
    let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
    record.header.plans = vec![PlanText { name: "mine".into(), text: PLAN.into(), hash: String::new() }];
    record.header.volumes[0].target = bench.target();
    record.cells[0].trials[0].doubts =
        vec![Doubt { code: DoubtCode::ShortRun, detail: "Measured for 3 s.".to_owned() }];
    keep(&bench, &record);
    let shown = bench.done(&["show", "last"]);
    let commands: Vec<&str> = shown.lines().map(str::trim).filter(|line| line.starts_with("loadline ")).collect();
    assert!(commands[0].contains(" --plan > plan.toml && loadline run plan.toml "), "{shown}");
    let programs = Path::new(env!("CARGO_BIN_EXE_loadline")).parent().unwrap();
    for command in commands {
        let line = format!("{command} --dry-run");
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(bench.path(""))
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            .env("LOADLINE_STORE", bench.path("store.db"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{line}");
    }
    // An environment of one's own comes out as the run had it.
    record.header.id = "20260131-142234-1a2b3c".to_owned();
    let own = "schema = 1\nname = \"own\"\n[[volume.data.disks]]\nsize = \"1 GiB\"\n";
    record.header.environment = Some(PlanText { name: "own".into(), text: own.into(), hash: String::new() });
    keep(&bench, &record);
    assert_eq!(bench.done(&["show", &record.header.id, "--env"]), own);
    assert!(bench.refused(2, &["show", "20260131-142233", "--env"]).contains("was given no environment"));
}
