//! What exists is not written unless it was handed over, and what was written can be checked later.

use crate::bad_disk::Loop;
use crate::crash::started;
use crate::end_to_end::SMALL;
use crate::{Bench, entries, text};
use std::os::unix::fs::FileExt;
use std::time::Duration;

const MIB: usize = 1 << 20;

#[test]
fn an_existing_file_is_written_only_when_it_is_named_again() {
    let bench = Bench::new();
    let plan = bench.file("small.toml", SMALL);
    let mine = vec![b'x'; 4 * MIB];
    let file = bench.file("mine", &mine);
    assert!(bench.refused(1, &["run", &plan, "--on", &file]).contains(&format!("--overwrite {file}")));
    assert_eq!(std::fs::read(&file).unwrap(), mine);
    bench.done(&["run", &plan, "--on", &file, "--read-only"]);
    assert_eq!(std::fs::read(&file).unwrap(), mine);
    assert_eq!(bench.last()["cells"].as_array().unwrap().len(), 2, "what writes is left out");
    bench.done(&["run", &plan, "--on", &file, "--overwrite", &file]);
    assert_ne!(std::fs::read(&file).unwrap(), mine);
}

#[test]
fn what_overwrite_was_not_needed_for_is_told() {
    let bench = Bench::new();
    let reads = SMALL.replace("reads = [\"100 %\", \"0 %\"]", "reads = \"100 %\"");
    let (plan, reads) = (bench.file("small.toml", SMALL), bench.file("reads.toml", reads));
    let (file, target) = (bench.file("mine", vec![b'x'; 4 * MIB]), bench.target());
    let told = |words: &[&str]| {
        let output = bench.run(&[&["run"], words].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let unneeded = |word: &str, why: &str| format!("--overwrite {word} was not needed: {why}");
    let by_a_directory = told(&[&plan, "--on", &target, "--overwrite", &target]);
    assert!(by_a_directory.contains(&unneeded(&target, "in a directory")), "{by_a_directory}");
    let by_reading = told(&[&reads, "--on", &file, "--overwrite", &file]);
    assert!(by_reading.contains(&unneeded(&file, "nothing is written to it")), "{by_reading}");
    let needed = told(&[&plan, "--on", &file, "--overwrite", &file, "--overwrite", "abcd-1234"]);
    assert!(!needed.contains(&format!("--overwrite {file}")), "{needed}");
    assert!(needed.contains(&unneeded("abcd-1234", "it is no target here")), "{needed}");
}

#[test]
fn a_store_that_is_refused_stops_the_run_before_the_target_is_touched() {
    let bench = Bench::new();
    let plan = bench.file("small.toml", SMALL);
    let mine = vec![b'x'; 4 * MIB];
    let file = bench.file("mine", &mine);
    let run = |store: &str| bench.refused(1, &["run", &plan, "--on", &file, "--overwrite", &file, "--store", store]);
    let foreign = bench.file("foreign.db", "somebody else's");
    assert!(run(&foreign).contains("foreign.db"));
    assert_eq!(std::fs::read(&file).unwrap(), mine);
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "somebody else's");
    // One that cannot be made is told too.
    assert!(run("/proc/no-such-place/runs.db").contains("no-such-place"));
}

#[test]
fn results_and_stores_are_never_written_over_a_device() {
    let bench = Bench::new();
    bench.done(&["quick", "null", "--duration", "30 ms"]);
    let mine = vec![0; MIB];
    let file = bench.file("image", &mine);
    let Some(device) = Loop::attach(file.as_ref()) else { return println!("skipped: no loop device can be had") };
    let node = device.node.as_str();
    for refused in [
        &["export", "last", "--as", "json", "-o", node][..],
        &["export", "last", "--as", "parquet", "-o", node],
        &["quick", "null", "--duration", "30 ms", "--report", node],
    ] {
        let told = bench.refused(2, refused);
        assert!(told.contains("is a block device"), "{refused:?}: {told}");
    }
    for store in [&["list", "--store", node][..], &["quick", "null", "--store", node]] {
        let told = bench.refused(1, store);
        assert!(told.contains("is no regular file"), "{store:?}: {told}");
    }
    drop(device);
    assert_eq!(std::fs::read(&file).unwrap(), mine);
}

#[test]
fn quick_read_only_changes_nothing() {
    let bench = Bench::new();
    let mine = vec![b'x'; 4 * MIB];
    let file = bench.file("mine", &mine);
    bench.refused(1, &["quick", &file, "--duration", "30 ms"]);
    bench.done(&["quick", &file, "--duration", "30 ms", "--read-only"]);
    assert_eq!(std::fs::read(&file).unwrap(), mine);
}

#[test]
fn a_kept_file_is_checked_later_and_a_changed_block_is_named() {
    let bench = Bench::new();
    let target = bench.target();
    let plan = "schema = 1\nname = \"v\"\n[[load]]\npattern = \"random\"\nreads = \"0 %\"\nblock = \"4 KiB\"\nqueue_depth = 4\n\
                size = \"1 MiB\"\nwarm_up = \"0 s\"\nduration = \"200 ms\"\ntrials = 1\nverify = true\n";
    let plan = bench.file("verify.toml", plan);
    bench.done(&["run", &plan, "--on", &target, "--keep"]);
    let kept = entries(target.as_ref());
    assert_eq!(kept.len(), 1);
    bench.done(&["run", "--verify-only", "last"]);
    let path = std::path::Path::new(&target).join(&kept[0]);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8 * 4096 + 2000] ^= 0xff;
    std::fs::write(&path, bytes).unwrap();
    let output = bench.run(&["run", "--verify-only", "last", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let faults: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(faults[0]["offset"], 8 * 4096);
}

const SEQUENTIAL: &str = "schema = 1\nname = \"v\"\n[[load]]\npattern = \"sequential\"\nreads = \"0 %\"\nblock = \"4 KiB\"\n\
                          size = \"1 MiB\"\nwarm_up = \"0 s\"\nduration = \"60 s\"\ntrials = 1\norder = \"as-listed\"\nverify = true\n";

#[test]
fn acknowledged_writes_that_are_gone_from_the_end_are_told_as_lost() {
    let bench = Bench::new();
    let target = bench.target();
    let once = "queue_depth = 1\nvolume = \"1 MiB\"\nflush = { every = 1, how = \"fdatasync\" }\n";
    let plan = bench.file("verify.toml", format!("{SEQUENTIAL}{once}"));
    bench.done(&["run", &plan, "--on", &target, "--keep"]);
    let output = bench.run(&["run", "--verify-only", "last"]);
    assert!(text(&output.stderr).contains("256 blocks checked, 0 never written by the load, 0 faulty"), "{output:?}");
    let path = std::path::Path::new(&target).join(&entries(target.as_ref())[0]);
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    for (from, lost) in [(MIB / 2, 128), (0, 256)] {
        file.write_all_at(&vec![0; MIB - from], from as u64).unwrap();
        file.sync_all().unwrap();
        let told = bench.refused(1, &["run", "--verify-only", "last"]);
        assert!(told.contains(&format!("256 blocks checked, 0 never written by the load, {lost} faulty")), "{told}");
    }
}

#[test]
fn what_a_trial_that_was_cut_off_may_have_lost_is_told_and_no_pass() {
    let bench = Bench::new();
    let target = bench.target();
    let slowly = "arrival = { constant = \"100 IOPS\" }\n";
    let plan = bench.file("verify.toml", format!("{SEQUENTIAL}{slowly}"));
    let mut child = started(&bench, &["run", &plan, "--on", &target]);
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
    let told = bench.refused(4, &["run", "--verify-only", "last"]);
    assert!(told.contains("not judged, which may have been written and lost, 0 faulty"), "{told}");
    assert!(told.contains("the trial was cut off") && !told.contains("never written"), "{told}");
}

#[test]
fn what_other_loads_of_the_run_wrote_over_is_no_fault() {
    let bench = Bench::new();
    let target = bench.target();
    let (verified, keys) = ("queue_depth = 1\nvolume = \"1 MiB\"\n", SEQUENTIAL.split_once("[[load]]").unwrap().1);
    let unmarked = format!("[[load]]{}volume = \"512 KiB\"\nqueue_depth = 1\n", keys.replace("verify = true\n", ""));
    let plan = bench.file("verify.toml", format!("{SEQUENTIAL}{verified}{unmarked}"));
    bench.done(&["run", &plan, "--on", &target, "--keep"]);
    let told = bench.refused(4, &["run", "--verify-only", "last"]);
    assert!(told.contains("128 blocks checked, 128 not judged"), "{told}");
    assert!(told.contains("other loads of the run came after it"), "{told}");
}

#[test]
fn files_for_results_replace_nothing_unasked() {
    let bench = Bench::new();
    bench.done(&["quick", "null", "--duration", "30 ms"]);
    let store = bench.file("store.html", std::fs::read(bench.path("store.db")).unwrap());
    let mine = bench.file("mine.html", "my own page");
    let export = ["export", "last", "--as", "csv", "-o"];
    for refused in [&export[..], &["report", "last", "-o"]] {
        let told = bench.refused(2, &[refused, &[&mine]].concat());
        assert!(told.contains("--force"), "{told}");
        for forced in [&[][..], &["--force"]] {
            let told = bench.refused(2, &[refused, &[&store], forced].concat());
            assert!(told.contains("is a database"), "{told}");
        }
    }
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "my own page");
    bench.done(&[&export[..], &[&mine, "--force"]].concat());
    assert!(std::fs::read_to_string(&mine).unwrap().starts_with("run_id,"));
    // A report replaces a report, and has a name where none is given.
    bench.done(&["report", "last", "-o", "r.html"]);
    bench.done(&["report", "last", "-o", "r.html"]);
    bench.done(&["report", "last"]);
    let names = entries(bench.folder.path());
    let is_page = |name: &str| std::path::Path::new(name).extension().is_some_and(|extension| extension == "html");
    assert!(names.iter().any(|name| name.starts_with("loadline-report-2") && is_page(name)), "{names:?}");
}

#[test]
fn nothing_of_a_job_file_steers_the_terminal() {
    let bench = Bench::new();
    let name = "[x\u{1b}]0;p\u{7}y\u{9b}2J]\n";
    let fine = bench.file("e\u{1b}]0;p\u{7}.fio", format!("{name}rw=read\nsize=1m\nruntime=1\n"));
    let wrong = bench.file("w\u{1b}[2J.fio", format!("{name}rw=read\nno\u{1b}]0;p\u{7}such=1\n"));
    let plan = bench.file("p.toml", "schema = 1\nname = \"p\"\n\"x\\u001b]0;p\\u0007\" = 1\n");
    let missing = "m\u{1b}]0;p\u{7}.toml";
    for arguments in [
        &["run", &fine, "--dry-run", "--on", "null:1 MiB"][..],
        &["run", &wrong, "--dry-run"],
        &["run", &plan, "--dry-run"],
        &["run", missing],
        &["predict", "quick", "--env", missing],
        &["replay", missing, "--env", "ds3-p30"],
        &["import", missing],
        &["run", &fine, "--on", "null:1 MiB", "--overwrite", missing],
        &["list"],
        &["show"],
        &["show", "--format", "markdown"],
        &["export", "last", "--as", "json"],
    ] {
        let output = bench.run(arguments);
        for text in [text(&output.stdout), text(&output.stderr)] {
            let steers = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r'));
            assert!(steers.is_none(), "{arguments:?}: {text:?}");
        }
    }
}
