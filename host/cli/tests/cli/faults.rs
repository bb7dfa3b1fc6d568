//! Storage that fails, and signals while a run is under way: what is said, and with which status it ends.

use crate::devices::{BadDisk, NO_BAD_DISK, run, wait_until};
use crate::inputs::STEADY;
use crate::{Bench, entries, or_skip, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

fn started(bench: &Bench, arguments: &[&str]) -> Child {
    bench.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn trials_stored(bench: &Bench) -> u64 {
    bench.runs().first().map_or(0, |run| run["trials"].as_u64().unwrap())
}

/// Trials that each cell of a volume has.
fn trials_on(run: &Value, volume: &str) -> Vec<u64> {
    let cells = run["cells"].as_array().unwrap().iter().filter(|cell| cell["volume"] == volume);
    cells.map(|cell| cell["trials"].as_u64().unwrap()).collect()
}

/// Cells of a volume with this doubt.
fn doubted(run: &Value, volume: &str, code: &str) -> usize {
    let has = |cell: &&Value| cell["doubts"].as_array().unwrap().iter().any(|doubt| doubt["code"] == code);
    run["cells"].as_array().unwrap().iter().filter(|cell| cell["volume"] == volume).filter(has).count()
}

/// Waits until a block device has requests that are not answered.
fn wait_until_asked(node: &str) {
    let counts = format!("/sys/class/block/{}/inflight", node.trim_start_matches("/dev/"));
    let is_asked = |text: String| text.split_whitespace().any(|count| count != "0");
    assert!(wait_until(|| std::fs::read_to_string(&counts).is_ok_and(is_asked)));
}

#[test]
fn what_a_device_that_stops_answering_cost_a_run_is_told_with_how_to_go_on() {
    let disk = or_skip!(BadDisk::new(16), NO_BAD_DISK);
    let bench = Bench::new();
    let plan = bench.file("steady.toml", STEADY);
    let child = started(&bench, &["run", &plan, "--on", disk.node(), "--overwrite", disk.node()]);
    assert!(wait_until(|| trials_stored(&bench) >= 2));
    let paused = disk.pause();
    let output = child.wait_with_output().unwrap();
    drop(paused);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("the run ended early: volume data: it does not answer"), "{told}");
    assert!(told.contains("left out") && told.contains("--resume"), "{told}");
    assert!(!output.stdout.is_empty(), "what was measured is shown");
    disk.wait_until_free();
    let told = bench.refused(1, &["run", "--resume", "last"]);
    assert!(told.contains("1 trial was cut short"), "{told}");
}

#[test]
fn a_second_signal_ends_at_once_where_the_first_waits_for_an_answer() {
    let disk = or_skip!(BadDisk::new(16), NO_BAD_DISK);
    let bench = Bench::new();
    let plan = bench.file("steady.toml", STEADY.replace("hang_limit = \"1 s\"", "hang_limit = \"1 h\""));
    let mut child = started(&bench, &["run", &plan, "--on", disk.node(), "--overwrite", disk.node()]);
    assert!(wait_until(|| trials_stored(&bench) >= 1));
    let paused = disk.pause();
    // It may have been between two trials.
    wait_until_asked(disk.node());
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    interrupt(&child);
    while !told.contains("Ctrl-C once more") {
        assert_ne!(stderr.read_line(&mut told).unwrap(), 0, "{told}");
    }
    assert_eq!(child.try_wait().unwrap(), None, "requests are under way");
    // What comes at the same instant as the first would be one with it.
    std::thread::sleep(std::time::Duration::from_millis(20));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    let before = trials_stored(&bench);
    drop(paused);
    disk.wait_until_free();
    bench.done(&["run", "--resume", "last", "--quiet"]);
    assert!(before >= 1 && trials_stored(&bench) == 6);
}

#[test]
fn quick_interrupted_keeps_what_was_finished_reports_it_and_leaves_no_file() {
    let bench = Bench::new();
    let target = bench.target();
    let mut child = started(&bench, &["quick", &target, "--size", "8 MiB", "--duration", "400 ms"]);
    assert!(wait_until(|| trials_stored(&bench) >= 2));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("--resume") && told.contains("loadline-report.html"), "{told}");
    assert!(entries(target.as_ref()).is_empty());
    assert!(text(&output.stdout).contains("SEQ1M Q8T1"));
    assert!(std::fs::read_to_string(bench.path("loadline-report.html")).unwrap().contains("SEQ1M Q8T1"));
    assert_eq!(bench.runs()[0]["status"], "interrupted");

    // While it fills, there is nothing to keep, and that is said.
    child = started(&bench, &["quick", &target, "--size", "2 GiB"]);
    assert!(wait_until(|| uses_space(&child)));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("nothing is kept"));
    assert!(entries(target.as_ref()).is_empty());
    assert_eq!(bench.runs().len(), 1);
}

#[test]
fn a_tool_that_was_stopped_for_longer_than_a_request_may_take_goes_on_and_blames_no_device() {
    let bench = Bench::new();
    let keys = "duration = \"1500 ms\"\nfill = \"never\"";
    let (plan, target) = (bench.file("steady.toml", STEADY.replace("duration = \"500 ms\"", keys)), bench.target());
    let child = started(&bench, &["run", &plan, "--on", &target]);
    let signal = |name: &str| run("kill", &[name, &child.id().to_string()]).unwrap();
    for trial in 1..=3 {
        assert!(wait_until(|| trials_stored(&bench) >= trial));
        std::thread::sleep(std::time::Duration::from_millis(300));
        signal("-STOP");
        std::thread::sleep(std::time::Duration::from_secs(2));
        signal("-CONT");
    }
    let output = child.wait_with_output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let run = bench.last();
    assert_eq!(trials_on(&run, "data"), [1; 6]);
    assert_eq!((doubted(&run, "data", "ended-early"), doubted(&run, "data", "errors")), (0, 0), "{told}");
    assert!(doubted(&run, "data", "tool-stopped") > 0, "{told}");
}

/// Whether the process has a test file open that has no name.
fn uses_space(child: &Child) -> bool {
    let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
    let nameless = |path: std::path::PathBuf| path.to_string_lossy().ends_with("(deleted)");
    files.filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(nameless)
}

fn interrupt(child: &Child) {
    run("kill", &["-INT", &child.id().to_string()]).unwrap();
}
