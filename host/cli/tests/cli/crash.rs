//! A run that is interrupted or killed keeps what was finished, and carries on.

use crate::{Bench, entries};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Forty trials of a few milliseconds each.
const MANY: &str = r#"
schema = 1
name = "many"
[[load]]
pattern = ["random", "sequential"]
reads = ["100 %", "0 %"]
block = "4 KiB"
queue_depth = [1, 2, 3, 4, 5]
size = "1 MiB"
warm_up = "0 s"
duration = "20 ms"
trials = 2
"#;
const TRIALS: u64 = 40;
/// Kills in all; `LOADLINE_KILLS` changes it.
const KILLS: u32 = 12;

fn started(bench: &Bench, arguments: &[&str]) -> Child {
    bench.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn finished_trials(bench: &Bench) -> u64 {
    bench.runs().first().map_or(0, |run| run["trials"].as_u64().unwrap())
}

#[test]
fn a_run_killed_at_many_moments_has_every_trial_once_in_the_end() {
    let bench = Bench::new();
    let (plan, target) = (bench.file("many.toml", MANY), bench.target());
    let kills = std::env::var("LOADLINE_KILLS").map_or(KILLS, |count| count.parse().unwrap());
    let mut moments = std::iter::successors(Some(0x9e37_79b9_7f4a_7c15_u64), |last| {
        Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    })
    .map(|state| Duration::from_millis((state >> 33) % 400));
    let mut kept = 0;
    for _ in 0..kills {
        let unfinished = bench.runs().first().is_some_and(|run| run["status"] != "finished");
        let mut child = if unfinished {
            started(&bench, &["run", "--resume", "last"])
        } else {
            kept = 0;
            started(&bench, &["run", &plan, "--on", &target])
        };
        std::thread::sleep(moments.next().unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        let now = finished_trials(&bench);
        assert!(now >= kept, "{kept} trials were finished, {now} are left");
        kept = now;
        assert!(entries(target.as_ref()).is_empty(), "a killed run leaves no test file");
    }
    if bench.runs().first().is_none_or(|run| run["status"] == "finished") {
        bench.done(&["run", &plan, "--on", &target]);
    } else {
        bench.done(&["run", "--resume", "last"]);
    }
    let run = bench.last();
    assert_eq!(run["run"]["status"], "finished");
    let cells = run["cells"].as_array().unwrap();
    assert_eq!(cells.len() as u64 * 2, TRIALS);
    assert!(cells.iter().all(|cell| cell["trials"] == 2));
    assert_eq!(finished_trials(&bench), TRIALS);
}

#[test]
fn a_signal_ends_a_run_in_order_and_resume_finishes_it() {
    for signal in ["-INT", "-TERM"] {
        let bench = Bench::new();
        let (plan, target) = (bench.file("many.toml", MANY), bench.target());
        let mut child = started(&bench, &["run", &plan, "--on", &target]);
        while finished_trials(&bench) == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(entries(target.as_ref()).is_empty());
        assert_eq!(bench.runs()[0]["status"], "interrupted");
        let resumed = bench.run(&["run", "--resume", "last"]);
        assert_eq!(resumed.status.code(), Some(0));
        assert_eq!(finished_trials(&bench), TRIALS);
    }
}

#[test]
fn a_run_under_way_is_not_taken_up_twice() {
    let bench = Bench::new();
    let (plan, target) = (bench.file("many.toml", MANY), bench.target());
    let mut child = started(&bench, &["run", &plan, "--on", &target, "--duration", "10 s"]);
    while bench.runs().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let refusal = bench.refused(1, &["run", "--resume", "last"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refusal.contains("claim") || refusal.contains("process"), "{refusal}");
}
