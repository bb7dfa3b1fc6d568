//! `run --verify-only`: what it prints, and with which status it ends.

use crate::crash::started;
use crate::{Bench, entries, text};
use std::os::unix::fs::FileExt;
use std::time::Duration;

const MIB: usize = 1 << 20;
const SEQUENTIAL: &str = "schema = 1\nname = \"v\"\n[[load]]\npattern = \"sequential\"\nreads = \"0 %\"\nblock = \"4 KiB\"\n\
                          size = \"1 MiB\"\nwarm_up = \"0 s\"\nduration = \"60 s\"\ntrials = 1\norder = \"as-listed\"\nverify = true\n";
/// Over it once.
const ONCE: &str = "queue_depth = 1\nvolume = \"1 MiB\"\n";

#[test]
fn a_check_ends_by_what_it_found() {
    let bench = Bench::new();
    let target = bench.target();
    let (plan, elsewhere) = (bench.file("verify.toml", format!("{SEQUENTIAL}{ONCE}")), bench.path("b"));
    bench.done(&["run", &plan, "--yes", "--on", &target]);
    let told = bench.refused(1, &["run", "--verify-only", "last"]);
    assert!(told.contains("removed its test file when it ended; with --keep a run leaves it"), "{told}");
    bench.done(&["run", &plan, "--yes", "--on", &target, "--keep"]);
    let output = bench.run(&["run", "--verify-only", "last"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("256 blocks checked, 0 never written by the load, 0 faulty"), "{output:?}");
    let name = &entries(target.as_ref())[0];
    let path = std::path::Path::new(&target).join(name);
    // A copy is checked where it is, from any folder.
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::copy(&path, elsewhere.join(name)).unwrap();
    bench.done(&["run", "--verify-only", "last", "--on", elsewhere.to_str().unwrap()]);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&vec![0; MIB / 2], (MIB / 2) as u64).unwrap();
    let output =
        bench.command(&["run", "--verify-only", "last", "--format", "json"]).current_dir("/").output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("128 faulty, of which the first 100 are listed and 28 are not"), "{told}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(crate::schema_errors(&document), Vec::<String>::new());
    let rows = document["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["offset"], &rows[100]["outcome"]), (101, &(MIB / 2).into(), &"faulty".into()));

    // What is written over by others is no fault, and no pass.
    let unmarked = SEQUENTIAL.split_once("[[load]]").unwrap().1.replace("verify = true\n", "");
    let plan = bench.file("over.toml", format!("{SEQUENTIAL}{ONCE}[[load]]{unmarked}volume = \"512 KiB\"\n"));
    bench.done(&["run", &plan, "--yes", "--on", &target, "--keep"]);
    let told = bench.refused(4, &["run", "--verify-only", "last"]);
    assert!(told.contains("128 blocks checked, 128 not judged"), "{told}");
    assert!(told.contains("other loads of the run came after it"), "{told}");
    let plan = bench.file("twice.toml", format!("{SEQUENTIAL}{ONCE}").replace("trials = 1", "trials = 2"));
    bench.done(&["run", &plan, "--yes", "--on", &target, "--keep"]);
    let told = text(&bench.run(&["run", "--verify-only", "last"]).stderr);
    assert!(told.contains(", trial 1: not checked: later trials"), "{told}");
}

#[test]
fn what_a_trial_that_was_cut_off_may_have_lost_is_told_and_no_pass() {
    let bench = Bench::new();
    let target = bench.target();
    let plan = bench.file("verify.toml", format!("{SEQUENTIAL}arrival = {{ constant = \"100 IOPS\" }}\n"));
    let mut child = started(&bench, &["run", &plan, "--yes", "--on", &target]);
    // Killed once the mark of the fortieth of its 256 blocks stands there.
    let is_marked = || {
        let name = std::fs::read_dir(&target).unwrap().next().and_then(Result::ok);
        let file = name.and_then(|entry| std::fs::File::open(entry.path()).ok());
        let mut mark = [0; 4];
        file.is_some_and(|file| file.read_exact_at(&mut mark, 40 * 4_096).is_ok()) && mark == *b"DAOL"
    };
    while !is_marked() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The file that it left is named wherever the run is shown.
    let left = &entries(target.as_ref())[0];
    assert!(text(&bench.run(&["show", "last"]).stderr).contains(left.as_str()));
    let told = bench.refused(4, &["run", "--verify-only", "last"]);
    assert!(told.contains("not judged, which may have been written and lost, 0 faulty"), "{told}");
    assert!(told.contains("the trial was cut off") && !told.contains("never written"), "{told}");
    // Once nobody knows its run, it is a stranger.
    bench.done(&["rm", "last"]);
    assert!(text(&bench.run(&["doctor", &target]).stdout).contains(left.as_str()));
    let plan = bench.file("small.toml", crate::end_to_end::SMALL);
    let output = bench.run(&["run", &plan, "--yes", "--on", &target, "--trials", "1"]);
    assert!(text(&output.stderr).contains(left.as_str()), "{}", text(&output.stderr));
}
