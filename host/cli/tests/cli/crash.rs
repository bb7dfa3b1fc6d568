//! A run that a signal ends keeps what was finished, and is carried on with.

use crate::inputs::{MANY, TRIALS};
use crate::{Bench, entries, text};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) fn started(bench: &Bench, arguments: &[&str]) -> Child {
    bench.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn finished_trials(bench: &Bench) -> usize {
    bench.runs().first().map_or(0, |run| run["trials"].as_u64().unwrap() as usize)
}

#[test]
fn a_signal_ends_a_run_in_order_and_resume_finishes_it() {
    for signal in ["-INT", "-TERM"] {
        let bench = Bench::new();
        let (plan, target) = (bench.file("many.toml", MANY), bench.target());
        let mut child = started(&bench, &["run", &plan, "--yes", "--on", &target]);
        while finished_trials(&bench) == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(entries(target.as_ref()).is_empty());
        assert_eq!(bench.runs()[0]["status"], "interrupted");
        bench.done(&["run", "--resume", "last"]);
        assert_eq!(finished_trials(&bench), TRIALS);
        assert!(text(&bench.run(&["run", "--resume", "last"]).stderr).contains("nothing is left to do"));
    }
}

#[test]
fn a_run_under_way_is_not_taken_up_twice() {
    let bench = Bench::new();
    let (plan, target) = (bench.file("many.toml", MANY), bench.target());
    let mut child = started(&bench, &["run", &plan, "--yes", "--on", &target, "--duration", "10 s"]);
    while bench.runs().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let refusal = bench.refused(1, &["run", "--resume", "last"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refusal.contains("claim") || refusal.contains("process"), "{refusal}");
}
