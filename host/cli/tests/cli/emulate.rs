//! `emulate` from the outside.

use crate::Bench;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const ENVIRONMENT: &str = r#"
schema = 1
name = "pair"
[volume.data]
layout = { mirror = 2 }
[[volume.data.disks]]
size = "1 GiB"
count = 2
[volume.data.disks.limit]
iops = "5000 IOPS"
[volume.log]
[[volume.log.disks]]
size = "64 MiB"
[volume.log.disks.limit]
iops = "100 IOPS"
"#;

/// Starts it, and waits until its socket accepts.
pub(crate) fn start(bench: &Bench, more: &[&str]) -> Child {
    let environment = bench.file("pair.toml", ENVIRONMENT);
    let socket = bench.path("s").display().to_string();
    let mut command = bench.command(&["emulate", &environment, "--socket", &socket, "--seed", "1"]);
    let child = command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while UnixStream::connect(bench.path("s")).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

pub(crate) fn end(child: Child, signal: &str) -> (i32, String, String) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), crate::text(&output.stdout), crate::text(&output.stderr))
}

#[test]
fn it_serves_until_it_is_asked_to_end_and_tells_what_it_did() {
    for signal in ["-TERM", "-INT"] {
        let bench = Bench::new();
        let child = start(&bench, &["--format", "json"]);
        let mut greeting = [0; 18];
        UnixStream::connect(bench.path("s")).unwrap().read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        let (status, out, err) = end(child, signal);
        assert_eq!(status, 0, "{err}");
        let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
        let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["export"].as_str().unwrap()).collect();
        assert_eq!(names, ["data", "log"]);
        assert!(rows[0]["iops"].is_null() && rows[0]["requests"] == 0, "{out}");
        for export in ["data", "log", "data/0", "data/1", "log/0"] {
            assert!(err.contains(&format!("nbd+unix:///{export}?socket=")), "{err}");
        }
        assert!(!bench.path("s").exists(), "its socket stays");
    }
}

#[test]
fn what_was_asked_for_is_kept_with_what_held_it() {
    let bench = Bench::new();
    end(start(&bench, &[]), "-TERM");
    assert!(bench.runs().is_empty(), "nobody asked for anything");
    let child = start(&bench, &["--format", "json"]);
    assert_eq!(crate::fault::requests(&bench, &[1, 0, 0]), [0; 3]);
    let (status, out, err) = end(child, "-INT");
    assert!(status == 0 && err.contains("loadline show "), "{err}");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    let bound = rows[0]["bound_by"].as_str().unwrap();
    let shares: f64 = rows[0]["held"].as_array().unwrap().iter().map(|held| held["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{out}");
    assert!(rows[1]["bound_by"].is_null() && rows[1]["held"].as_array().unwrap().is_empty(), "{out}");
    assert_eq!(bench.runs().len(), 1);
    let shown: serde_json::Value = serde_json::from_str(&bench.done(&["show", "last", "--format", "json"])).unwrap();
    assert_eq!((&shown["run"]["verb"], &shown["run"]["clock"]), (&"emulate".into(), &"real".into()));
    let cells = shown["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1, "only data was used");
    assert_eq!((&cells[0]["volume"], &cells[0]["binding"]["limit"]), (&"data".into(), &bound.into()));
    assert!(cells[0]["read"]["iops"].as_f64().unwrap() > 0.0 && cells[0]["write"]["iops"].as_f64().unwrap() > 0.0);
    assert_eq!(bench.done(&["show", "last", "--limits", "--format", "json"]).trim(), "[]");
    for format in ["table", "markdown", "csv"] {
        bench.done(&["show", "last", "--format", format]);
    }
    bench.done(&["report", "last", "-o", "report.html"]);
    let child = start(&bench, &["--no-record"]);
    assert_eq!(crate::fault::requests(&bench, &[0]), [0]);
    end(child, "-TERM");
    assert_eq!(bench.runs().len(), 1);
}

#[test]
fn what_cannot_be_served_is_refused_with_what_to_do() {
    let bench = Bench::new();
    assert!(bench.refused(2, &["emulate", "ds3-p3"]).contains("did you mean ds3-p30"));
    let open = bench.refused(2, &["emulate", "ds3-p30", "--listen", "0.0.0.0:0"]);
    assert!(open.contains("unencrypted") && open.contains("--insecure"), "{open}");
    let foreign = bench.target();
    std::fs::write(bench.path("target").join("mine"), "x").unwrap();
    let socket = bench.path("s").display().to_string();
    let refusal = bench.refused(1, &["emulate", "ds3-p30", "--backing", &foreign, "--socket", &socket]);
    assert!(refusal.contains("was not made by loadline"), "{refusal}");
    let taken = bench.file("taken", "x");
    assert!(bench.refused(1, &["emulate", "ds3-p30", "--socket", &taken]).contains("is not a socket"));
}

#[test]
fn what_a_killed_emulation_left_attached_is_taken_down() {
    let bench = Bench::new();
    let folder = bench.path("files");
    let name = folder.display().to_string();
    let nothing = bench.refused(1, &["emulate", "--detach", &name]);
    assert!(nothing.contains("no emulation is attached there"), "{nothing}");
    let environment = bench.file("pair.toml", ENVIRONMENT);
    let socket = bench.path("s").display().to_string();
    let words = ["emulate", &environment, "--socket", &socket, "--attach", &name];
    let mut child = bench.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while UnixStream::connect(bench.path("s")).is_err() {
        if child.try_wait().unwrap().is_some() {
            let said = crate::text(&child.wait_with_output().unwrap().stderr);
            assert!(said.contains("cannot"), "{said}");
            println!("skipped: emulate --attach ({said})");
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(folder.join("data").exists() && folder.join("log.0").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let output = bench.command(&["emulate", "--detach", &name]).output().unwrap();
    let said = crate::text(&output.stderr);
    assert!(output.status.success() && said.matches("Released /dev/loop").count() == 2, "{said}");
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!table.contains(&name), "{table}");
}

#[test]
fn metrics_for_other_machines_are_refused_in_words_of_their_own() {
    let bench = Bench::new();
    let environment = bench.file("pair.toml", ENVIRONMENT);
    let told = bench.refused(2, &["emulate", &environment, "--metrics", "0.0.0.0:0"]);
    assert!(told.contains("--metrics 0.0.0.0:0") && told.contains("the figures of every volume"), "{told}");
    assert!(!told.contains("tls-certificates") && !told.contains("write everything"), "{told}");
    let told = bench.refused(2, &["emulate", &environment, "--listen", "0.0.0.0:0"]);
    assert!(told.contains("write everything") && told.contains("--tls-certificates"), "{told}");
}

#[test]
fn a_trace_that_is_there_already_is_named() {
    let bench = Bench::new();
    let (environment, trace) = (bench.file("pair.toml", ENVIRONMENT), bench.file("old.trace", "x"));
    let socket = bench.path("s").display().to_string();
    let told = bench.refused(1, &["emulate", &environment, "--socket", &socket, "--trace", &trace]);
    assert!(told.contains(&format!("cannot make the trace {trace}: File exists")), "{told}");
}
