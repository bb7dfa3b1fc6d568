//! `shelter` as it is typed: a disk in memory that is lost, the service from start to end, its units.

use crate::golden::compare;
use crate::{Bench, text};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// A configuration in the bench with this recovery point; gives its path.
pub(crate) fn file(bench: &Bench, recovery_point: &str, more: &str) -> String {
    let root = bench.folder.path().display();
    bench.file(
        "fast.toml",
        format!(
            "schema = 1\nname = \"fast\"\nstate = \"{root}/state\"\n[disk]\npath = \"{root}/disk\"\n\
             [destination]\nfolder = \"{root}/saved\"\n\
             [group.data]\nclass = \"files\"\npaths = [\"data\"]\nrecovery_point = \"{recovery_point}\"\n\
             [group.tempdb]\nclass = \"recreate\"\npaths = [\"tempdb\"]\n{more}"
        ),
    )
}

#[test]
fn help_and_a_build_without_it() {
    let bench = Bench::new();
    let help = bench.done(&["shelter", "--help"]);
    // A build without it says so first.
    let rest = help.strip_prefix(
        "This build has no shelter. `cargo build --release --features shelter` makes one that has it.\n\n",
    );
    assert_eq!(rest.is_none(), cfg!(feature = "shelter"), "{help}");
    compare("help-shelter.txt", rest.unwrap_or(&help));
    if !cfg!(feature = "shelter") {
        let told = bench.refused(2, &["shelter", "fast.toml", "status"]);
        assert!(told.contains("cargo run --release --features shelter -- shelter fast.toml"), "{told}");
    }
}

/// Mounted memory, gone at the end.
struct Memory(String);

impl Memory {
    fn at(path: String) -> Option<Self> {
        fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "shelter-test", &path]).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(path));
        }
        println!("skipped: it needs root to mount memory");
        None
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_service_from_start_to_end_over_a_lost_disk() {
    if !cfg!(feature = "shelter") {
        println!("skipped: this build has no shelter");
        return;
    }
    let bench = Bench::new();
    let file = file(&bench, "1 s", "");
    let disk = bench.path("disk");
    fs::create_dir(bench.path("saved")).unwrap();
    let told = bench.done(&["shelter", &file, "status"]);
    assert!(told.contains("it never ran") && told.contains("would wait"), "{told}");
    assert!(told.contains(&format!("loadline shelter {file} unit")), "{told}");
    assert!(told.ends_with('\n'), "{told}");
    let Some(memory) = Memory::at(disk.display().to_string()) else { return };
    fs::create_dir_all(disk.join("data")).unwrap();
    fs::create_dir_all(disk.join("tempdb/one")).unwrap();
    fs::write(disk.join("data/a"), "first").unwrap();
    let told = bench.refused(2, &["shelter", &file, "restore"]);
    assert!(told.contains("no marker but 2 other entries") && told.contains("--over"), "{told}");
    let told = bench.done(&["shelter", &file, "status"]);
    assert!(told.contains(&format!("loadline shelter {file} adopt")), "{told}");
    let told = bench.done(&["shelter", &file, "adopt"]);
    assert!(told.contains("generation 1: 1 file, 5.00 B") && told.contains("2 are made again"), "{told}");
    assert!(told.lines().count() <= 10);
    let told = bench.done(&["shelter", &file, "verify"]);
    assert!(told.contains("WHOLE"), "{told}");
    let told = bench.done(&["shelter", &file, "drill", &bench.path("scratch").display().to_string()]);
    assert!(told.contains("PASSED"), "{told}");
    // The machine is stopped: the disk comes back empty.
    drop(memory);
    let told = bench.done(&["shelter", &file, "status"]);
    assert!(told.contains("would wait: nothing is mounted"), "{told}");
    let _memory = Memory::at(disk.display().to_string()).unwrap();
    let told = bench.done(&["shelter", &file, "status"]);
    assert!(told.contains("would restore generation 1 onto the empty disk"), "{told}");
    let mut service =
        bench.command(&["shelter", &file, "run"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(service.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("restored 1 files")));
    assert_eq!(fs::read(disk.join("data/a")).unwrap(), b"first");
    assert!(disk.join("tempdb/one").is_dir());
    fs::write(disk.join("data/b"), "second").unwrap();
    let ended = Command::new("kill").arg(service.id().to_string()).status().unwrap();
    assert!(ended.success());
    let rest: Vec<String> = lines.collect();
    assert!(service.wait().unwrap().success(), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("saved generation 2: 1 files")), "{rest:?}");
    let written = bench.path("plain");
    let told = bench.done(&["shelter", &file, "export", &written.display().to_string()]);
    assert!(told.contains("generation 2: 2 files"), "{told}");
    assert_eq!(fs::read(written.join("data/b")).unwrap(), b"second");
    let told = bench.refused(1, &["shelter", &file, "export", &written.display().to_string()]);
    assert!(told.contains("is not empty"), "{told}");
    let told = bench.done(&["shelter", &file, "status"]);
    assert!(told.contains("stopped; everything was saved") && told.lines().count() <= 10, "{told}");
    let told = bench.done(&["shelter", &file, "status", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(json["service"]["last_save"]["generation"], 2);
    // A service that was killed leaves its last report: a check sees that it is gone.
    let mut service = bench.command(&["shelter", &file, "run"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(service.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("kept its contents")));
    let is_ready = || bench.done(&["shelter", &file, "status"]).contains("services may use the disk");
    assert!((0..200).any(|_| is_ready()), "it never gets ready");
    service.kill().unwrap();
    service.wait().unwrap();
    let told = bench.command(&["shelter", &file, "status"]).output().unwrap();
    assert_eq!(told.status.code(), Some(3), "{}", text(&told.stdout));
    assert!(text(&told.stdout).contains("NOT RUNNING") && !text(&told.stdout).contains("KEPT"));
}

#[test]
fn units_are_what_systemd_understands_and_mistakes_are_told_at_their_line() {
    if !cfg!(feature = "shelter") {
        println!("skipped: this build has no shelter");
        return;
    }
    let bench = Bench::new();
    let guarded = file(&bench, "1 s", "[service]\nguards = [\"search.service\"]\n");
    let units = bench.path("units").display().to_string();
    let told = bench.done(&["shelter", &guarded, "unit", "--write", &units]);
    assert!(told.contains("2 files") && told.contains("systemctl daemon-reload"), "{told}");
    let unit = bench.path("units/loadline-shelter-fast.service");
    fs::write(bench.path("units/search.service"), "[Service]\nExecStart=/bin/true\n").unwrap();
    match Command::new("systemd-analyze")
        .arg("verify")
        .arg(&unit)
        .env("SYSTEMD_UNIT_PATH", format!("{units}:"))
        .output()
    {
        Ok(output) => {
            let said = text(&output.stderr);
            let about: Vec<&str> = said.lines().filter(|line| line.contains("loadline-shelter")).collect();
            assert!(output.status.success() && about.is_empty(), "{said}");
        }
        Err(error) => println!("skipped: systemd-analyze cannot be started: {error}"),
    }
    let wrong = file(&bench, "1 s", "[service]\nguard = \"x\"\n");
    let told = bench.refused(2, &["shelter", &wrong, "status"]);
    assert!(told.contains("fast.toml:16:1: service.guard: is not a key"), "{told}");
}
