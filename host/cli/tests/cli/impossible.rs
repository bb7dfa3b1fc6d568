//! Cells that cannot be run where they are meant to: told before anything begins, and no end of a matrix.

use crate::bad_disk::{run, wait_until};
use crate::{Bench, entries, or_skip, text};
use std::path::Path;

const HEAD: &str = "schema = 1\nname = \"p\"\n";

fn load(keys: &str) -> String {
    format!(
        "[[load]]\npattern = \"random\"\nreads = \"100 %\"\nqueue_depth = 2\nsize = \"4 MiB\"\nwarm_up = \"0 s\"\n\
         duration = \"30 ms\"\ntrials = 1\norder = \"as-listed\"\n{keys}\n"
    )
}

/// A loop device with sectors of so many bytes, detached when dropped.
struct Sectors(String);

impl Sectors {
    fn attach(file: &Path, bytes: &str) -> Option<Self> {
        std::fs::File::create(file).unwrap().set_len(16 << 20).unwrap();
        std::fs::OpenOptions::new().write(true).open("/dev/loop-control").ok()?;
        run("losetup", &["--find", "--show", "--sector-size", bytes, file.to_str()?]).map(Self)
    }
}

impl Drop for Sectors {
    fn drop(&mut self) {
        run("losetup", &["--detach", &self.0]);
    }
}

/// Whether test files under the build folder take direct I/O.
fn direct(bench: &Bench) -> bool {
    let plan = bench.file("direct.toml", format!("{HEAD}{}", load("block = \"4 KiB\"")));
    bench.done(&["run", &plan, "--on", &bench.target()]);
    let direct = bench.last()["run"]["volumes"][0]["direct"] == true;
    bench.done(&["rm", "last"]);
    direct
}

#[test]
fn blocks_below_the_sector_are_refused_before_anything_is_stored() {
    let bench = Bench::new();
    let device = or_skip!(Sectors::attach(&bench.path("image"), "4096"), "it takes root and a loop device");
    let blocks = "block = [\"512 B\", \"4 KiB\", \"1 KiB\"]";
    let plan = bench.file("p.toml", format!("{HEAD}{}", load(blocks)));
    for more in [&["--overwrite", &device.0][..], &["--dry-run"]] {
        let told = bench.refused(2, &[&["run", &plan, "--on", &device.0], more].concat());
        assert!(told.contains("2 of 3 cells cannot be run"), "{told}");
        assert!(told.contains("random read 512 B, depth 2:") && told.contains("asks for 1 KiB"), "{told}");
        assert!(told.contains("multiples of 4 KiB") && told.contains("use a larger block"), "{told}");
    }
    assert!(bench.runs().is_empty());
    assert!(std::fs::read(bench.path("image")).unwrap().iter().all(|byte| *byte == 0), "the device was written");
}

#[test]
fn a_cell_that_an_engine_cannot_do_is_refused_before_the_others_are_measured() {
    let bench = Bench::new();
    if !direct(&bench) {
        println!("skipped: the file system under the build folder takes no direct I/O");
        return;
    }
    let (direct, buffered) = (load("block = \"4 KiB\""), load("block = \"4 KiB\"\nbuffered = true"));
    let plan = bench.file("p.toml", format!("{HEAD}{direct}{buffered}"));
    let target = bench.target();
    for (options, advice) in [
        (&["--engine", "aio"][..], "--engine auto"),
        (&["--engine", "aio", "--sqpoll"], "leave out --sqpoll"),
        (&["--iopoll"], "leave out --iopoll"),
        (&["--engine", "aio", "--keep"], "--engine auto"),
        (&["--engine", "aio", "--dry-run"], "--engine auto"),
    ] {
        let told = bench.refused(2, &[&["run", &plan, "--on", &target], options].concat());
        assert!(told.contains("depth 2, buffered") && told.contains(advice), "{options:?}: {told}");
        assert!(entries(target.as_ref()).is_empty(), "{options:?} left a test file");
    }
    let told = bench.refused(2, &["quick", &target, "--size", "16 MiB", "--engine", "aio", "--sqpoll"]);
    assert!(told.contains("16 of 16 cells") && !told.contains("filling"), "{told}");
    assert!(bench.runs().is_empty());
}

#[test]
fn what_became_impossible_is_recorded_and_the_rest_goes_on() {
    let bench = Bench::new();
    let disk = bench.path("disk");
    let small = or_skip!(Sectors::attach(&disk, "512"), "it takes root and a loop device");
    let link = bench.path("link");
    std::os::unix::fs::symlink(&small.0, &link).unwrap();
    let keys = "block = [\"512 B\", \"4 KiB\", \"8 KiB\"]\npause = \"1 s\"";
    let plan = bench.file("p.toml", format!("{HEAD}{}", load(keys)));
    let mut running = bench.command(&["run", &plan, "--on", link.to_str().unwrap(), "--read-only"]).spawn().unwrap();
    assert!(wait_until(|| bench.runs().len() == 1));
    running.kill().unwrap();
    running.wait().unwrap();
    // Meanwhile the disk was attached anew, with larger sectors.
    drop(small);
    let large = Sectors::attach(&disk, "4096").expect("it was attached before");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&large.0, &link).unwrap();
    let resumed = bench.run(&["run", "--resume", "last"]);
    let told = text(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(1), "{told}");
    assert!(told.contains("512 B, depth 2: cannot be run: ") && told.contains("multiples of 4 KiB"), "{told}");
    let last = bench.last();
    let cells = last["cells"].as_array().unwrap();
    let doubts = cells[0]["doubts"].to_string();
    assert!(doubts.contains("ended-early") && doubts.contains("multiples of 4 KiB"), "{doubts}");
    let iops: Vec<bool> = cells.iter().map(|cell| cell["total"]["iops"].as_f64().is_some_and(|v| v > 0.0)).collect();
    assert_eq!(iops, [false, true, true], "{last:#}");
    assert_eq!(bench.runs()[0]["status"], "finished");
    assert!(text(&bench.run(&["run", "--resume", "last"]).stderr).contains("nothing is left to do"));
}

#[test]
fn null_is_no_larger_than_it_was_said_to_be_and_has_no_modes_of_a_ring() {
    let bench = Bench::new();
    let plan = |size: &str| {
        let load = load("block = \"4 KiB\"").replace("4 MiB", size);
        bench.file("p.toml", format!("{HEAD}{load}"))
    };
    let told = bench.refused(1, &["run", &plan("16 MiB"), "--on", "null:1MiB"]);
    assert!(told.contains("null:1MiB has 1 MiB, less than the 16 MiB asked for"), "{told}");
    let printed = bench.done(&["run", &plan("512 KiB"), "--on", "null:1MiB"]);
    assert!(printed.contains("null:1MiB, 512 KiB, no storage: measures the tool"), "{printed}");
    assert!(!printed.contains("direct I/O"), "{printed}");
    for (option, mode) in [("--sqpoll", "SQPOLL"), ("--iopoll", "IOPOLL")] {
        let told = bench.refused(2, &["run", &plan("1 MiB"), "--on", "null", option]);
        assert!(told.contains(mode) && told.contains("null answers without any engine"), "{told}");
        assert!(told.contains(&format!("leave out {option}")), "{told}");
    }
    assert_eq!(bench.runs().len(), 1);
}
