//! What is refused at once, before a minute or a disk is spent.

use crate::bad_disk::run;
use crate::{Bench, entries, or_skip, text};

#[test]
fn a_verb_with_a_slip_is_answered_with_the_one_that_was_meant() {
    let bench = Bench::new();
    for (word, tip) in [("rnu", "'run'"), ("qiuck", "'quick'"), ("plan", "'plans'"), ("replya", "'replay'")] {
        let told = bench.refused(2, &[word, "x"]);
        assert!(told.contains(&format!("unrecognized subcommand '{word}'")), "{told}");
        assert!(told.lines().any(|line| line.contains("tip:") && line.contains(tip)), "{told}");
    }
    assert!(!bench.refused(2, &["xyzzy"]).contains("tip: a similar"));
}

#[test]
fn too_little_time_or_space_is_refused_before_anything_is_filled() {
    let bench = Bench::new();
    let target = bench.target();
    for (option, value, least) in [
        ("--duration", "0s", "at least 1 ms"),
        ("--duration", "5 ns", "at least 1 ms"),
        ("--size", "8KiB", "at least 1 MiB"),
        ("--size", "0 B", "at least 1 MiB"),
    ] {
        let told = bench.refused(2, &["quick", &target, option, value]);
        assert!(told.contains(option) && told.contains(least), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    // What is called the least does.
    bench.done(&["quick", &target, "--duration", "1 ms", "--size", "1 MiB"]);
    assert!(entries(target.as_ref()).is_empty());
}

#[test]
fn a_target_below_the_largest_block_is_refused_in_a_sentence() {
    let bench = Bench::new();
    let file = bench.file("small", vec![1; 512 << 10]);
    let image = bench.path("image");
    std::fs::write(&image, vec![0; 512 << 10]).unwrap();
    let device = crate::bad_disk::Loop::attach(&image);
    if device.is_none() {
        println!("skipped: no loop device can be had; a file and null are tried");
    }
    let targets = [Some(file.as_str()), Some("null:512 KiB"), device.as_ref().map(|device| device.node.as_str())];
    for target in targets.into_iter().flatten() {
        let told = bench.refused(2, &["quick", target, "--overwrite", target, "--duration", "1 ms"]);
        assert!(told.contains(target) && told.contains("has 512 KiB") && told.contains("1 MiB at least"), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    assert!(std::fs::read(&image).unwrap().iter().all(|byte| *byte == 0), "the device was written");
    assert!(std::fs::read(&file).unwrap().iter().all(|byte| *byte == 1), "the file was written");
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    let target = bench.target();
    let nowhere = bench.path("nowhere/x.html").display().to_string();
    // Not even root makes files in /proc.
    for (report, why) in [
        (nowhere.as_str(), "there is no folder"),
        ("/proc/report.html", "no report can be written"),
        (&target, "is a folder"),
    ] {
        let told = bench.refused(2, &["quick", &target, "--size", "1 MiB", "--duration", "1 ms", "--report", report]);
        assert!(told.contains(report) && told.contains(why), "{told}");
        assert!(told.contains("--report") && !told.contains("filled"), "{told}");
    }
    assert!(!bench.path("nowhere").exists());
    // Looking leaves nothing behind, and an earlier report as it was.
    bench.refused(1, &["quick", "/nonexistent", "--report", "fresh.html"]);
    assert!(!bench.path("fresh.html").exists());
    bench.file("old.html", "<!DOCTYPE html>\n<!-- loadline report -->\n");
    bench.refused(1, &["quick", "/nonexistent", "--report", "old.html"]);
    assert!(std::fs::metadata(bench.path("old.html")).unwrap().len() > 0);
}

/// Memory as a file system, unmounted when dropped.
pub(crate) struct Memory(pub(crate) String);

impl Memory {
    pub(crate) fn mount(point: &std::path::Path, options: &str) -> Option<Self> {
        std::fs::create_dir(point).ok()?;
        let path = point.to_str()?.to_owned();
        run("mount", &["-t", "tmpfs", "-o", options, "none", &path])?;
        Some(Self(path))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        run("umount", &[&self.0]);
    }
}

#[test]
fn a_small_file_system_is_measured_and_what_is_refused_is_true() {
    let bench = Bench::new();
    let memory = or_skip!(Memory::mount(&bench.path("small"), "size=100m"), "cannot mount");
    let output = bench.run(&["quick", &memory.0, "--duration", "1 ms"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("64.0 MiB") && told.contains("of 90.0 MiB of usable free space"), "{told}");
    let tiny = or_skip!(Memory::mount(&bench.path("tiny"), "size=4m"), "cannot mount");
    let told = bench.refused(1, &["quick", &tiny.0, "--duration", "1 ms"]);
    assert!(told.contains("no room for a test file of 4 MiB") && told.contains("at most 3680 KiB"), "{told}");
    bench.done(&["quick", &tiny.0, "--duration", "1 ms", "--size", "3 MiB"]);
    let sealed = or_skip!(Memory::mount(&bench.path("sealed"), "size=4m,ro"), "cannot mount");
    let told = bench.refused(1, &["quick", &sealed.0, "--duration", "1 ms"]);
    assert!(told.contains("read-only file system") && !told.contains("no room"), "{told}");
}
