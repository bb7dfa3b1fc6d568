//! What is written in full before loads: for which of them, how often, and what is said of it.

use crate::bad_disk::{Loop, wait_until};
use crate::first_look::Memory;
use crate::{Bench, or_skip, text};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Stdio;

/// Short trials of one load, in the order in which they stand.
fn plan(loads: &[&str]) -> String {
    let load = |keys: &&str| {
        format!(
            "[[load]]\nblock = \"4 KiB\"\nqueue_depth = 4\nwarm_up = \"0 s\"\nduration = \"30 ms\"\norder = \"as-listed\"\n{keys}\n"
        )
    };
    format!("schema = 1\nname = \"p\"\n{}", loads.iter().map(load).collect::<String>())
}

/// Runs it: each line of standard error that tells of a filling or a trial, short.
fn course(bench: &Bench, arguments: &[&str]) -> Vec<String> {
    let output = bench.run(arguments);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    course_of(&told)
}

fn course_of(told: &str) -> Vec<String> {
    let short = |line: &str| {
        if let Some((volume, _)) = line.split_once(": filled ") {
            return Some(volume.to_owned());
        }
        let (place, rest) = line.split_once(": ")?;
        place.contains(" of ").then(|| rest.split(", ").next().unwrap_or_default().to_owned())
    };
    told.lines().filter_map(short).collect()
}

/// How many cells of the newest run have the doubt.
fn unwritten(bench: &Bench) -> usize {
    let run = bench.last();
    let has =
        |cell: &&Value| cell["doubts"].as_array().unwrap().iter().any(|doubt| doubt["code"] == "unwritten-extents");
    run["cells"].as_array().unwrap().iter().filter(has).count()
}

const WRITES: &str = "reads = \"0 %\"\nsize = \"4 MiB\"\ntrials = 2";

#[test]
fn a_test_file_is_filled_once_before_loads_that_only_write_and_never_where_that_is_said() {
    let bench = Bench::new();
    let target = bench.target();
    let both = format!("pattern = [\"random\", \"sequential\"]\n{WRITES}");
    let path = bench.file("p.toml", plan(&[&both]));
    let [random, sequential] = ["random write 4 KiB", "sequential write 4 KiB"];
    assert_eq!(
        course(&bench, &["run", &path, "--on", &target]),
        ["volume data", random, random, sequential, sequential]
    );
    assert_eq!(unwritten(&bench), 0);
    let path = bench.file("p.toml", plan(&[&format!("fill = \"never\"\n{both}")]));
    assert_eq!(course(&bench, &["run", &path, "--on", &target]), [random, random, sequential, sequential]);
    if unwritten(&bench) == 0 {
        println!("skipped: the file system under the build folder tells of no extents");
    }
}

#[test]
fn each_volume_and_each_number_of_files_is_filled_once() {
    let bench = Bench::new();
    let [a, b] = ["a", "b"].map(|name| {
        let path = bench.path(name);
        std::fs::create_dir(&path).unwrap();
        format!("{name}={}", path.display())
    });
    let path = bench.file("p.toml", plan(&[&format!("files = [1, 2]\n{WRITES}")]));
    let arguments = ["run", &path, "--on", &a, "--on", &b];
    let mut filled: Vec<String> =
        course(&bench, &arguments).into_iter().filter(|step| step.starts_with("volume")).collect();
    filled.sort();
    assert_eq!(filled, ["volume a", "volume a", "volume b", "volume b"]);
    let planned = bench.done(&[&arguments[..], &["--dry-run"]].concat());
    assert!(
        planned.ends_with("8 trials: 1 s at most, and the time to fill 16.0 MiB (1 s at 200 MiB/s)\n"),
        "{planned}"
    );
}

#[test]
fn what_was_trimmed_is_filled_again_before_the_next_load() {
    let bench = Bench::new();
    let target = bench.target();
    let path = bench.file(
        "p.toml",
        plan(&["reads = \"50 %\"\nsize = \"1 MiB\"\ntrials = 2\ntrims = \"50 %\"", &WRITES.replace("4 MiB", "1 MiB")]),
    );
    let [mixed, writes] = ["random 50 % read 4 KiB", "random write 4 KiB"];
    assert_eq!(
        course(&bench, &["run", &path, "--on", &target]),
        ["volume data", mixed, "volume data", mixed, "volume data", writes, writes]
    );
    let planned = bench.done(&["run", &path, "--on", &target, "--dry-run", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&planned).unwrap()["fill_bytes"], 3 << 20);
}

/// A file that was never written to.
fn sparse(path: &Path, mib: u64) -> String {
    File::create(path).unwrap().set_len(mib << 20).unwrap();
    path.display().to_string()
}

#[test]
fn what_loadline_found_is_filled_where_a_load_reads_it_or_asks_for_it_and_else_doubted() {
    let bench = Bench::new();
    let mine = sparse(&bench.path("mine"), 4);
    let [reads, writes] = ["random read 4 KiB", "random write 4 KiB"];
    let run = |loads: &[&str], more: &[&str]| {
        sparse(&bench.path("mine"), 4);
        let path = bench.file("p.toml", plan(loads));
        course(&bench, &[&["run", &path, "--on", &mine], more].concat())
    };
    let over = ["--overwrite", &mine];
    let ones = |reads: &str| format!("reads = \"{reads}\"\ntrials = 1");
    // Nothing reads, and only the user knows what was there before.
    assert_eq!(run(&[&ones("0 %")], &over), [writes]);
    let doubted = unwritten(&bench);
    assert_eq!(run(&[&format!("fill = \"always\"\n{}", ones("0 %"))], &over), ["volume data", writes]);
    assert_eq!(unwritten(&bench), 0);
    // One load reads: all find it full, whichever is first.
    assert_eq!(run(&[&ones("0 %"), &ones("100 %")], &over), ["volume data", writes, reads]);
    // Nothing may be written.
    assert_eq!(run(&[&ones("100 %")], &["--read-only"]), [reads]);
    assert_eq!(run(&[&ones("100 %")], &[]), [reads]);
    assert_eq!(File::open(&mine).unwrap().metadata().unwrap().blocks(), 0, "it is as it was");
    if doubted == 0 {
        println!("skipped: the file system under the build folder tells of no extents");
    }
}

#[test]
fn a_device_that_is_not_filled_is_told_with_what_that_means() {
    let bench = Bench::new();
    let image = sparse(&bench.path("image"), 4);
    let device = or_skip!(Loop::attach(Path::new(&image)), "it takes root and a loop device");
    let told = |loads: &[&str]| {
        let path = bench.file("p.toml", plan(loads));
        let output = bench.run(&["run", &path, "--on", &device.node, "--overwrite", &device.node]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        told
    };
    let writes = "reads = \"0 %\"\ntrials = 1";
    let said = told(&[writes]);
    assert!(
        said.contains("is not filled first, since no load reads it") && said.contains("1 s at 200 MiB/s"),
        "{said}"
    );
    for loads in [
        &[writes, "trials = 1"][..],
        &[&format!("fill = \"always\"\n{writes}")],
        &[&format!("fill = \"never\"\n{writes}")],
    ] {
        let said = told(loads);
        assert!(!said.contains("is not filled first"), "{said}");
    }
}

#[test]
fn what_stands_before_the_start_of_the_loads_is_not_filled() {
    let bench = Bench::new();
    let mine = bench.file("mine", vec![b'x'; 4 << 20]);
    let path = bench.file("p.toml", plan(&["reads = \"50 %\"\nstart = \"1 MiB\"\nsize = \"1 MiB\"\ntrials = 1"]));
    let arguments = ["run", &path, "--on", &mine, "--overwrite", &mine];
    let planned = bench.done(&[&arguments[..], &["--dry-run"]].concat());
    assert!(planned.contains("1 cell, 1 trial: 1 s at most, and the time to fill 1.00 MiB (1 s "), "{planned}");
    bench.done(&arguments);
    let mut bytes = vec![0; 4 << 20];
    File::open(&mine).unwrap().read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes[..1 << 20].iter().chain(&bytes[2 << 20..]).all(|byte| *byte == b'x'), "nobody touches it");
    assert!(bytes[1 << 20..2 << 20].chunks(4096).all(|block| block.iter().any(|byte| *byte != b'x')));
}

#[test]
fn a_dry_run_counts_what_would_be_filled() {
    let bench = Bench::new();
    let mine = sparse(&bench.path("mine"), 4);
    let (writes, reads) = (bench.file("w.toml", plan(&[WRITES])), bench.file("r.toml", plan(&["size = \"4 MiB\""])));
    let never = bench.file("n.toml", plan(&[&format!("fill = \"never\"\n{WRITES}")]));
    let unsized_ = bench.file("u.toml", plan(&["reads = \"0 %\""]));
    let bytes = |plan: &str, on: &str| {
        let planned = bench.done(&["run", plan, "--on", on, "--dry-run", "--format", "json"]);
        serde_json::from_str::<Value>(&planned).unwrap()["fill_bytes"].clone()
    };
    let target = bench.target();
    assert_eq!(bytes(&writes, &target), 4 << 20);
    assert_eq!(bytes(&writes, &mine), 0);
    assert_eq!(bytes(&writes, "null"), 0);
    assert_eq!(bytes(&never, &target), 0);
    assert_eq!(bytes(&reads, &target), 4 << 20);
    assert_eq!(bytes(&reads, &mine), 0, "it is opened for reading");
    assert_eq!(bytes(&unsized_, &target), Value::Null);
    let mixed = bench.file("m.toml", plan(&["reads = \"50 %\"\nstart = \"1 MiB\""]));
    assert_eq!(bytes(&mixed, &mine), 3 << 20, "it is all of what is there that loads touch");
    let told = bench.done(&["run", &unsized_, "--dry-run"]);
    assert!(told.contains("and the time to fill the test file or target, whose size is not known yet"), "{told}");
}

#[test]
fn a_resumed_run_fills_its_new_file() {
    let bench = Bench::new();
    let target = bench.target();
    let path = bench.file("p.toml", plan(&[&WRITES.replace("trials = 2", "trials = 40")]).replace("30 ms", "100 ms"));
    let mut command = bench.command(&["run", &path, "--on", &target]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let stored = || bench.runs().first().map_or(0, |run| run["trials"].as_u64().unwrap());
    assert!(wait_until(|| stored() >= 2));
    child.kill().unwrap();
    child.wait().unwrap();
    let before = stored();
    let output = bench.run(&["run", "--resume", "last"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let course = course_of(&told);
    assert_eq!(course[0], "volume data", "{told}");
    assert_eq!(course.iter().filter(|step| *step == "volume data").count(), 1, "{told}");
    assert_eq!(course.len() as u64, 1 + 40 - before, "{told}");
    // What is left is foretold, not all.
    let left = format!("{} ms at most", (40 - before) * 100);
    let seconds = format!("{} s at most, and the time to fill 4.00 MiB", ((40 - before) * 100).div_ceil(1000));
    assert!(told.contains(&left) || told.contains(&seconds), "{told}");
    assert_eq!(unwritten(&bench), 0);
}

#[test]
fn a_file_system_that_fills_up_while_a_target_is_filled_is_told_with_how_much_was_wanted() {
    let bench = Bench::new();
    let memory = or_skip!(Memory::mount(&bench.path("memory"), "size=24M"), "it takes root to mount");
    let mine = sparse(&Path::new(&memory.0).join("mine"), 64);
    let path = bench.file("p.toml", plan(&["reads = \"50 %\"\ntrials = 2"]));
    let told = bench.refused(1, &["run", &path, "--on", &mine, "--overwrite", &mine]);
    for part in [
        "no room on volume data to fill it: 64.0 MiB were to be written",
        "ask for less with --size",
        "2 trials left out",
    ] {
        assert!(told.contains(part), "{told}");
    }
}
