//! What `run --verify-only` checks of a stored run, and what it says of the rest.

use crate::crash::started;
use crate::{Bench, entries, text};
use serde_json::Value;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Blocks of 4 KiB in it.
const BLOCKS: u64 = MIB / 4096;

/// A load of sequential writes that begins at `start`, goes over `mib` MiB once and is done one load after the other.
fn once(start: &str, mib: u64, keys: &str) -> String {
    let trials = if keys.contains("trials") { "" } else { "trials = 1\n" };
    format!(
        "[[load]]\npattern = \"sequential\"\nreads = \"0 %\"\nblock = \"4 KiB\"\nqueue_depth = 4\nstart = \"{start}\"\n\
         size = \"{mib} MiB\"\nvolume = \"{mib} MiB\"\nwarm_up = \"0 s\"\nduration = \"60 s\"\norder = \"as-listed\"\n{trials}{keys}\n"
    )
}

fn plan(bench: &Bench, loads: &[String]) -> String {
    bench.file("p.toml", format!("schema = 1\nname = \"v\"\n{}", loads.concat()))
}

/// Runs the loads on a file that was there; gives its path.
fn run_on_a_file(bench: &Bench, loads: &[String]) -> String {
    let (plan, file) = (plan(bench, loads), bench.file("mine", vec![b'x'; 8 * MIB as usize]));
    bench.done(&["run", &plan, "--on", &file, "--overwrite", &file, "--seed", "3"]);
    file
}

fn zero(file: impl AsRef<Path>, from: u64, length: u64) {
    let file = OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(&vec![0; length as usize], from).unwrap();
    file.sync_all().unwrap();
}

/// What a check that ends with `status` prints: the faults, the trials, and what it tells.
fn check(bench: &Bench, status: i32) -> (Vec<Value>, Vec<Value>, String) {
    let output = bench.run(&["run", "--verify-only", "last", "--format", "json"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{told}");
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let (faults, trials) = rows.into_iter().partition(|row| row.get("fault").is_some());
    (faults, trials, told)
}

/// Of each trial: its outcome; blocks checked, never written, not judged, written over; faults.
fn counts(trials: &[Value]) -> Vec<(&str, [u64; 5])> {
    let keys = ["blocks_checked", "blocks_unwritten", "blocks_unknown", "blocks_overwritten", "faults_total"];
    trials.iter().map(|row| (row["outcome"].as_str().unwrap(), keys.map(|key| row[key].as_u64().unwrap()))).collect()
}

#[test]
fn loads_that_keep_to_parts_of_their_own_are_each_checked() {
    let bench = Bench::new();
    let file = run_on_a_file(&bench, &[once("0 B", 4, "verify = true"), once("4 MiB", 4, "verify = true")]);
    let sound = ("sound", [4 * BLOCKS, 0, 0, 0, 0]);
    let (listed, trials, told) = check(&bench, 0);
    assert_eq!((listed.len(), counts(&trials)), (0, vec![sound, sound]), "{told}");
    // The last is checked first.
    let faulty = ("faulty", [4 * BLOCKS, 0, 0, 0, 4 * BLOCKS]);
    for (from, expected) in [(4 * MIB, [faulty, sound]), (0, [faulty, faulty])] {
        zero(&file, from, 4 * MIB);
        let (listed, trials, told) = check(&bench, 1);
        assert_eq!(counts(&trials), expected, "{told}");
        // Not all of them are listed, which is told.
        assert_eq!(listed.last().unwrap()["offset"].as_u64(), Some(from + 99 * 4096));
        assert!(told.contains("1024 faulty, of which the first 100 are listed and 924 are not"), "{told}");
    }
}

#[test]
fn each_number_of_files_is_checked_and_trials_that_were_written_over_are_told() {
    let bench = Bench::new();
    let target = bench.target();
    let plan = plan(&bench, &[once("0 B", 2, "verify = true\nfiles = [1, 2]\ntrials = 2")]);
    bench.done(&["run", &plan, "--on", &target, "--keep"]);
    let (listed, trials, told) = check(&bench, 0);
    assert_eq!((listed.len(), trials.len()), (0, 4), "{told}");
    let (sound, overwritten) = (("sound", [2 * BLOCKS, 0, 0, 0, 0]), ("overwritten", [0, 0, 0, 2 * BLOCKS, 0]));
    let mut found = counts(&trials);
    found.sort_unstable();
    assert_eq!(found, [overwritten, overwritten, sound, sound]);
    assert_eq!(told.matches(", trial 1: not checked: later trials").count(), 2, "{told}");
    let is_alone = |name: &String| Path::new(name).extension().is_some_and(|extension| extension == "data");
    let alone: Vec<String> = entries(target.as_ref()).into_iter().filter(is_alone).collect();
    assert_eq!(alone.len(), 1);
    zero(Path::new(&target).join(&alone[0]), 0, 2 * MIB);
    let (_, trials, told) = check(&bench, 1);
    let mut found = counts(&trials);
    found.sort_unstable();
    let faulty = ("faulty", [2 * BLOCKS, 0, 0, 0, 2 * BLOCKS]);
    assert_eq!(found, [faulty, overwritten, overwritten, sound], "{told}");
}

#[test]
fn of_a_load_that_was_written_over_in_part_the_rest_is_checked() {
    let bench = Bench::new();
    let file = run_on_a_file(&bench, &[once("0 B", 4, "verify = true"), once("2 MiB", 4, "verify = true")]);
    zero(&file, MIB, 2 * MIB);
    let (faults, trials, told) = check(&bench, 1);
    let half = [2 * BLOCKS, 0, 0, 2 * BLOCKS, BLOCKS];
    assert_eq!(counts(&trials), [("faulty", [4 * BLOCKS, 0, 0, 0, BLOCKS]), ("faulty", half)], "{told}");
    assert_eq!((faults[0]["offset"].as_u64(), faults[100]["offset"].as_u64()), (Some(2 * MIB), Some(MIB)));
}

#[test]
fn what_a_load_without_verify_wrote_over_is_not_judged_and_no_pass() {
    let bench = Bench::new();
    let loads = [once("0 B", 1, "verify = true"), once("0 B", 1, ""), once("1 MiB", 1, "verify = true")];
    let file = run_on_a_file(&bench, &loads);
    let (faults, trials, told) = check(&bench, 4);
    let sound = ("sound", [BLOCKS, 0, 0, 0, 0]);
    assert_eq!((faults.len(), counts(&trials)), (0, vec![sound, ("not-judged", [0, 0, BLOCKS, 0, 0])]), "{told}");
    assert!(trials[1]["why"].as_str().unwrap().contains("other loads of the run came after it"), "{told}");
    // What came before, or went elsewhere, is judged in full.
    zero(&file, MIB, MIB);
    check(&bench, 1);
    let bench = Bench::new();
    run_on_a_file(&bench, &[once("0 B", 1, ""), once("0 B", 1, "verify = true"), once("1 MiB", 1, "")]);
    assert_eq!(counts(&check(&bench, 0).1), [sound]);
}

#[test]
fn where_a_filling_may_have_come_after_a_trial_what_is_left_of_it_tells_that_none_did() {
    let bench = Bench::new();
    // Loads that read are reason to fill what was found, at each start of the run.
    let mixed = |start| once(start, 1, "verify = true").replace("\"0 %\"", "\"50 %\"");
    let file = run_on_a_file(&bench, &[mixed("0 B"), mixed("1 MiB")]);
    let (_, before, told) = check(&bench, 0);
    zero(&file, 0, MIB / 2);
    let (_, after, _) = check(&bench, 1);
    assert_eq!(counts(&before)[0], counts(&after)[0], "{told}");
    assert_eq!(after[1]["outcome"], "faulty");
    assert_eq!(before[1]["blocks_checked"], after[1]["blocks_checked"]);
    // Where nothing is left, a filling may have done it.
    zero(&file, MIB / 2, MIB / 2);
    let (listed, after, told) = check(&bench, 4);
    assert_eq!((listed.len(), after[1]["outcome"].as_str()), (0, Some("not-judged")), "{told}");
    assert_eq!(before[1]["blocks_checked"], after[1]["blocks_unknown"]);
    assert!(after[1]["why"].as_str().unwrap().contains("came after it"), "{told}");
}

#[test]
fn what_stood_in_a_test_file_that_was_made_anew_is_not_judged() {
    let bench = Bench::new();
    let target = bench.target();
    let slowly =
        once("1 MiB", 1, "verify = true\narrival = { constant = \"150 IOPS\" }").replace("queue_depth = 4\n", "");
    let plan = plan(&bench, &[once("0 B", 1, "verify = true"), slowly]);
    let mut child = started(&bench, &["run", &plan, "--on", &target, "--keep"]);
    while bench.runs().first().is_none_or(|run| run["trials"] == 0) {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The moments at which trials begin are kept in whole seconds.
    std::thread::sleep(Duration::from_millis(1_100));
    bench.done(&["run", "--resume", "last"]);
    let (faults, trials, told) = check(&bench, 4);
    let expected = [("sound", [BLOCKS, 0, 0, 0, 0]), ("not-judged", [0, 0, BLOCKS, 0, 0])];
    assert_eq!((faults.len(), counts(&trials)), (0, expected.to_vec()), "{told}");
    assert!(trials[1]["why"].as_str().unwrap().contains("carried on with after it"), "{told}");
}

#[test]
fn a_test_file_that_the_run_removed_is_told_as_that() {
    let bench = Bench::new();
    let target = bench.target();
    let plan = plan(&bench, &[once("0 B", 1, "verify = true")]);
    bench.done(&["run", &plan, "--on", &target]);
    let told = bench.refused(1, &["run", "--verify-only", "last"]);
    assert!(told.contains("removed its test file when it ended; with --keep a run leaves it"), "{told}");
    // A copy of what was kept is as good, also where it is younger than all trials.
    bench.done(&["run", &plan, "--on", &target, "--keep"]);
    let (from, elsewhere): (PathBuf, PathBuf) =
        (Path::new(&target).join(&entries(target.as_ref())[0]), bench.path("b"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::copy(&from, elsewhere.join(from.file_name().unwrap())).unwrap();
    bench.done(&["run", "--verify-only", "last", "--on", elsewhere.to_str().unwrap()]);
}

#[test]
fn a_relative_target_is_stored_from_the_root_on_and_checked_from_anywhere() {
    let bench = Bench::new();
    std::fs::File::create(bench.path("disk")).unwrap().set_len(4 << 20).unwrap();
    let plan = "schema = 1\nname = \"r\"\n[[load]]\npattern = \"random\"\nreads = \"0 %\"\nblock = \"4 KiB\"\nsize = \"1 MiB\"\n\
                verify = true\nwarm_up = \"0 s\"\nduration = \"200 ms\"\ntrials = 1\n";
    let plan = bench.file("plan.toml", plan);
    bench.done(&["run", &plan, "--on", "./disk", "--overwrite", "disk"]);
    let target = std::path::absolute(bench.path("disk")).unwrap().display().to_string();
    assert_eq!(bench.runs()[0]["volumes"], format!("data={target}"));
    let run = bench.last();
    assert_eq!(run["run"]["volumes"][0]["target"], target.as_str());
    assert_eq!(run["run"]["settings"]["targets"][0]["target"], target.as_str());
    assert_eq!(run["run"]["settings"]["overwrite"][0], target.as_str());
    let output = bench.command(&["run", "--verify-only", "last"]).current_dir("/").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    bench.done(&["quick", ".", "--size", "16 MiB", "--duration", "200 ms", "--quiet"]);
    let folder = bench.path("").canonicalize().unwrap().display().to_string();
    assert_eq!(bench.runs()[0]["volumes"], format!("data={folder}"));
}
