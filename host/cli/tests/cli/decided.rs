//! Runs that decide what to try as their figures come in (hunts, searches for an objective), killed at any moment: what was finished
//! is neither lost nor run twice, and they come to what they would have come to.

use crate::crash::{moments, newest, started, trials_of};
use crate::{Bench, text};
use loadline_record::{RunRecord, RunStatus};
use serde_json::Value;
use std::os::unix::process::ExitStatusExt;

/// Kills of each run at most; then it is left alone.
const KILLS: usize = 12;

/// A disk of 1,000 IOPS that answers in 1 ms or so.
const DISK: &str = r#"
schema = 1
name = "disk"
[[volume.data.disks]]
size = "10 GiB"
[volume.data.disks.limit]
iops = "1000 IOPS"
enforcement = "smooth"
[volume.data.disks.latency.read]
median = "1 ms"
p99 = "4 ms"
"#;

fn plan(more: &str) -> String {
    format!(
        "schema = 1\nname = \"one\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\nsize = \"8 MiB\"\n\
         warm_up = \"0 s\"\n{more}\n"
    )
}

/// Begins a run, kills it again and again and carries on each time, until it is through or was killed often enough; then lets it end.
fn killed_and_resumed(bench: &Bench, begin: &[&str], resume: &[&str]) -> RunRecord {
    let mut moments = moments();
    let mut kept: Option<RunRecord> = None;
    let mut kills = 0;
    while kills < KILLS && kept.as_ref().is_none_or(|run| run.status != RunStatus::Finished) {
        let mut child = started(bench, if kept.is_some() { resume } else { begin });
        std::thread::sleep(moments.next().unwrap());
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(matches!(status.code(), Some(0 | 4)) || status.signal() == Some(9), "{status}");
        kills += usize::from(status.signal() == Some(9));
        let Some(now) = newest(bench) else { continue };
        if let Some(before) = &kept {
            assert_eq!(before.header.id, now.header.id, "another run was begun");
            let stored = trials_of(&now);
            for (key, trial) in trials_of(before) {
                assert_eq!(stored.get(&key), Some(&trial), "{key:?} was finished, and was lost or run again");
            }
        }
        kept = Some(now);
    }
    println!("{kills} kills, {} trials kept", kept.as_ref().map_or(0, |run| trials_of(run).len()));
    let last = bench.run(if kept.is_some() { resume } else { begin });
    assert!(matches!(last.status.code(), Some(0 | 4)), "{}", text(&last.stderr));
    let run = newest(bench).unwrap();
    assert_eq!(run.status, RunStatus::Finished);
    run
}

/// Rates by cell and trial.
fn rates(run: &RunRecord) -> Vec<(String, u32, Option<f64>)> {
    trials_of(run).into_iter().map(|((cell, number), trial)| (cell.to_owned(), number, trial.iops())).collect()
}

#[test]
fn a_hunt_on_a_model_comes_to_the_same_however_often_it_is_killed() {
    let bench = Bench::new();
    let (plan, env) = (bench.file("p.toml", plan("queue_depth = 4\nduration = \"20 s\"")), bench.file("e.toml", DISK));
    // Settings that have no effect, and a margin so narrow that it takes rounds to know.
    let varied = ["--vary", "alignment=16KiB,64KiB", "--vary", "depth=8", "--margin", "0.2%", "--seed", "7", "--quiet"];
    let begin = [&["hunt", plan.as_str(), "--env", &env], &varied[..]].concat();
    let killed = killed_and_resumed(&bench, &begin, &["run", "--resume", "last", "--quiet"]);
    let whole = Bench::new();
    let output = whole.run(&[&begin[..], &["--format", "json"]].concat());
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text(&output.stderr));
    assert_eq!(rates(&killed), rates(&newest(&whole).unwrap()));
    let found: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(found["rows"].as_array().unwrap().len(), 3);
}

#[test]
fn a_hunt_on_a_target_goes_on_where_it_was_killed() {
    let bench = Bench::new();
    let plan = bench.file("p.toml", plan("queue_depth = 2\nduration = \"10 ms\""));
    let target = bench.target();
    let varied = ["--vary", "depth=4,engine=threads,files=2", "--margin", "1%", "--quiet"];
    let begin = [&["hunt", plan.as_str(), "--on", &target], &varied[..]].concat();
    let run = killed_and_resumed(&bench, &begin, &["run", "--resume", "last", "--quiet"]);
    let baseline = &run.cells[0];
    assert!(run.cells.iter().all(|cell| cell.trials.len() <= baseline.trials.len()), "a round without its baseline");
    assert!(crate::entries(target.as_ref()).is_empty());
}

#[test]
fn a_search_on_a_model_comes_to_the_same_however_often_it_is_killed() {
    let bench = Bench::new();
    let text = plan("queue_depth = 1\nduration = \"60 s\"\nobjective = { mean = \"20 ms\" }");
    let (plan, env) = (bench.file("p.toml", text), bench.file("e.toml", DISK));
    let begin = ["predict", plan.as_str(), "--env", &env, "--find-objective", "--seed", "7", "--quiet"];
    let killed = killed_and_resumed(&bench, &begin, &["predict", "--resume", "last", "--quiet"]);
    let whole = Bench::new();
    assert_eq!(whole.run(&begin).status.code(), Some(0));
    assert_eq!(rates(&killed), rates(&newest(&whole).unwrap()));
}

#[test]
fn a_search_on_a_target_goes_on_where_it_was_killed() {
    let bench = Bench::new();
    let text = plan("queue_depth = 4\nduration = \"20 ms\"\nobjective = { mean = \"300 us\" }");
    let plan = bench.file("p.toml", text);
    let begin = ["run", plan.as_str(), "--on", "null", "--find-objective", "--quiet"];
    let run = killed_and_resumed(&bench, &begin, &["run", "--resume", "last", "--quiet"]);
    assert!(run.cells.iter().all(|cell| cell.trials.len() == 1));
}
