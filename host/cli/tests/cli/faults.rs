//! Storage that fails, goes away or stops answering, and questions that the figures cannot answer: what is said, what is
//! kept, and with which status it ends.

use crate::bad_disk::{BadDisk, NO_BAD_DISK, run, wait_until};
use crate::{Bench, entries, or_skip, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

/// Six trials of half a second, in the order in which they stand.
const STEADY: &str = r#"
schema = 1
name = "steady"
[[load]]
pattern = "random"
reads = ["100 %", "50 %"]
block = "4 KiB"
queue_depth = [1, 2, 4]
size = "4 MiB"
warm_up = "0 s"
duration = "500 ms"
trials = 1
order = "as-listed"
hang_limit = "1 s"
"#;

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

/// Runs the plan on a good volume and a bad one, lets `spoil` happen to the bad one after the first trials, and checks that
/// the good one is measured whole.
fn one_of_two_volumes<Spoiled>(disk: &BadDisk, said: &str, spoil: impl FnOnce() -> Spoiled) {
    let bench = Bench::new();
    let (plan, good) = (bench.file("steady.toml", STEADY), bench.target());
    let bad = disk.node();
    let child = started(
        &bench,
        &["run", &plan, "--on", &format!("bad={bad}"), "--on", &format!("good={good}"), "--overwrite", bad],
    );
    assert!(wait_until(|| trials_stored(&bench) >= 2));
    let spoiled = spoil();
    let output = child.wait_with_output().unwrap();
    drop(spoiled);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("the run ended early: volume bad: "), "{told}");
    assert!(told.contains(said) && told.contains("left out") && told.contains("--resume"), "{told}");
    assert!(!output.stdout.is_empty(), "what was measured is shown");
    assert!(entries(good.as_ref()).is_empty());
    let run = bench.last();
    assert_eq!(run["run"]["status"], "failed");
    assert_eq!(trials_on(&run, "good"), [1; 6]);
    let on_bad = trials_on(&run, "bad");
    assert!(on_bad[0] == 1 && on_bad[5] == 0, "the rest is not tried in vain: {on_bad:?}");
    assert_eq!((doubted(&run, "bad", "ended-early"), doubted(&run, "good", "ended-early")), (1, 0));

    // The target is back: nothing that was finished is measured again, and what was cut short still counts as such.
    disk.wait_until_free();
    let resumed = bench.run(&["run", "--resume", "last"]);
    let told = text(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(1), "{told}");
    assert!(told.contains("1 trial was cut short"), "{told}");
    let run = bench.last();
    assert_eq!((run["run"]["status"].as_str(), trials_on(&run, "bad")), (Some("finished"), vec![1; 6]));
}

#[test]
fn a_device_that_fails_ends_the_run_there_and_other_volumes_go_on() {
    let disk = or_skip!(BadDisk::new(16), NO_BAD_DISK);
    one_of_two_volumes(&disk, "not one read is answered any more", || disk.fail());
}

#[test]
fn a_device_that_stops_answering_ends_the_run_there_and_other_volumes_go_on() {
    let disk = or_skip!(BadDisk::new(16), NO_BAD_DISK);
    one_of_two_volumes(&disk, "it does not answer", || disk.pause());
}

#[test]
fn a_device_that_cannot_be_filled_ends_the_run_before_anything_is_measured_there() {
    let disk = or_skip!(BadDisk::new(512), NO_BAD_DISK);
    let bench = Bench::new();
    let plan = bench.file("steady.toml", STEADY);
    let mut child =
        started(&bench, &["run", &plan, "--on", disk.node(), "--overwrite", disk.node(), "--size", "512 MiB"]);
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("seed") {
        assert_ne!(stderr.read_line(&mut told).unwrap(), 0, "{told}");
    }
    let _failing = disk.fail();
    stderr.read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{told}");
    assert!(told.contains("cannot fill volume data") && told.contains("6 trials left out"), "{told}");
    assert_eq!(trials_stored(&bench), 0);
}

#[test]
fn a_second_signal_ends_at_once_where_the_first_waits_for_an_answer() {
    let disk = or_skip!(BadDisk::new(16), NO_BAD_DISK);
    let bench = Bench::new();
    let plan = bench.file("steady.toml", STEADY.replace("hang_limit = \"1 s\"", "hang_limit = \"1 h\""));
    let mut child = started(&bench, &["run", &plan, "--on", disk.node(), "--overwrite", disk.node()]);
    assert!(wait_until(|| trials_stored(&bench) >= 1));
    let paused = disk.pause();
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

#[test]
fn a_question_without_an_answer_is_status_4() {
    let bench = Bench::new();
    let plan = r#"
schema = 1
name = "too-short"
[[load]]
pattern = "random"
reads = "100 %"
block = "4 KiB"
arrival = { poisson = ["1 IOPS"] }
size = "4 MiB"
warm_up = "0 s"
duration = "1 ms"
trials = 1
objective = { p99 = "20 ms" }
"#;
    let plan = bench.file("too-short.toml", plan);
    let output = bench.run(&["run", &plan, "--on", "null", "--seed", "1"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert_eq!(bench.last()["run"]["status"], "finished");
}

#[test]
fn a_tool_that_was_stopped_says_so_beside_its_figures() {
    let bench = Bench::new();
    let plan = "schema = 1\nname = \"s\"\n[[load]]\narrival = { poisson = \"1000 IOPS\" }\nwarm_up = \"0 s\"\nduration = \"5 s\"\ntrials = 1\n";
    let plan = bench.file("stopped.toml", plan);
    let mut child = started(&bench, &["run", &plan, "--on", "null"]);
    assert!(wait_until(|| !bench.runs().is_empty()));
    let process = child.id().to_string();
    std::thread::sleep(std::time::Duration::from_millis(500));
    run("kill", &["-STOP", &process]).expect("it is our child");
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    run("kill", &["-CONT", &process]).expect("it is our child");
    assert!(child.wait().unwrap().success());
    assert_eq!(doubted(&bench.last(), "data", "tool-stopped"), 1);
}

#[test]
fn a_loop_device_that_keeps_its_file_in_memory_is_told() {
    let bench = Bench::new();
    let plan = bench.file("steady.toml", STEADY);
    let image = bench.file("image", vec![b'x'; 8 << 20]);
    let node = or_skip!(run("losetup", &["--find", "--show", "--direct-io=off", &image]), "no loop device can be had");
    let measured = bench.run(&["run", &plan, "--on", &node, "--read-only", "--duration", "50 ms"]);
    run("losetup", &["--detach", &node]).expect("it is ours");
    assert!(measured.status.success(), "{}", text(&measured.stderr));
    assert_eq!(doubted(&bench.last(), "data", "cached-below"), 3);
}
