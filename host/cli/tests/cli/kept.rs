//! The record of an emulation that goes on, ends, or is killed.

use crate::Bench;
use crate::bad_disk::wait_until;
use crate::emulate::{ENVIRONMENT, end, start};
use crate::fault::requests;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

/// What a child says on standard error, up to a text.
fn hear(child: &mut Child, text: &str) -> String {
    let mut said = String::new();
    let mut lines = std::io::BufReader::new(child.stderr.take().unwrap());
    while !said.contains(text) {
        assert!(std::io::BufRead::read_line(&mut lines, &mut said).unwrap() > 0, "{said}");
    }
    child.stderr = Some(lines.into_inner());
    said
}

fn signal(child: &Child, signals: &[&str]) {
    for signal in signals {
        assert!(Command::new("kill").args([signal, child.id().to_string().as_str()]).status().unwrap().success());
    }
}

#[test]
fn what_an_emulation_did_so_far_is_in_the_store_while_it_goes_on_and_after_it_is_killed() {
    let bench = Bench::new();
    let mut child = start(&bench, &["--name", "soak"]);
    let status = |bench: &Bench| bench.runs()[0]["status"].as_str().unwrap().to_owned();
    assert_eq!((status(&bench).as_str(), bench.runs().len()), ("unfinished", 1));
    assert!(bench.done(&["show", "soak"]).contains("nothing had been asked of it"));
    assert_eq!(requests(&bench, &[1, 0, 0]), [0; 3]);
    let cells = |bench: &Bench| bench.last()["cells"].as_array().unwrap().len();
    assert!(wait_until(|| cells(&bench) == 1), "nothing is kept");
    assert_eq!((status(&bench).as_str(), bench.runs().len()), ("unfinished", 1));
    let shown = bench.done(&["show", "soak"]);
    assert!(shown.contains("The emulation goes on, or was killed: these are its figures"), "{shown}");
    assert!(shown.contains("its emulation goes on, or was killed") && !shown.contains("cells are still"), "{shown}");
    assert!(bench.refused(1, &["rm", "soak"]).contains(&format!("process {}", child.id())));
    assert_eq!(crate::schema_errors(&bench.last()), Vec::<String>::new());
    // What comes later takes its place, and what is there outlives the process.
    assert_eq!(requests(&bench, &[0, 0]), [0; 2]);
    let ratio = |bench: &Bench| bench.last()["cells"][0]["load"]["read_ratio"].as_f64().unwrap();
    assert!(wait_until(|| (ratio(&bench) - 0.8).abs() < 1e-9), "{} of 3 and 2 requests are reads", ratio(&bench));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((status(&bench).as_str(), bench.runs().len()), ("unfinished", 1));
    bench.done(&["report", "soak", "-o", "report.html"]);
    let told = bench.refused(2, &["run", "--resume", "soak"]);
    assert!(told.contains("is an emulation that was killed"), "{told}");
    bench.done(&["rm", "soak"]);
    let told = |list: &[&str]| crate::text(&bench.run(list).stderr);
    assert!(told(&["list"]).contains("the store holds no run"));
    assert!(told(&["list", "--name", "soak"]).contains("no stored run passes these filters"));
}

/// As long as it goes on, `last` is what was run since it began; at its end, it is the emulation.
#[test]
fn a_run_on_an_emulated_disk_is_the_last_one_until_the_emulation_ends() {
    let bench = Bench::new();
    let child = start(&bench, &["--name", "disk"]);
    let uri = format!("nbd+unix:///data?socket={}", bench.path("s").display());
    bench.done(&["quick", &uri, "--read-only", "--size", "16 MiB", "--duration", "200 ms", "--quiet"]);
    let kept = || !bench.done(&["show", "disk"]).contains("nothing had been asked of it");
    assert!(wait_until(kept), "nothing is kept");
    assert_eq!(bench.last()["run"]["verb"], "quick");
    assert_eq!(end(child, "-INT").0, 0);
    assert_eq!(bench.last()["run"]["verb"], "emulate");
}

#[test]
fn a_store_that_takes_no_record_is_refused_before_anything_is_served() {
    let bench = Bench::new();
    let environment = bench.file("pair.toml", ENVIRONMENT);
    let no_store = bench.file("notes.txt", "not a database, but some text that somebody wrote and wants to keep");
    let socket = bench.path("s").display().to_string();
    for store in [&no_store, "/proc/self/runs/r.db", &bench.path("").display().to_string()] {
        let trace = bench.path("t").display().to_string();
        let emulate = ["emulate", &environment, "--socket", &socket, "--trace", &trace, "--store", store];
        let told = bench.refused(1, &emulate);
        assert!(told.contains("cannot keep a record of this emulation") && told.contains("--no-record"), "{told}");
        assert!(!bench.path("s").exists() && !bench.path("t").exists());
    }
    assert!(std::fs::read_to_string(no_store).unwrap().starts_with("not a database"));
}

#[test]
fn a_store_that_goes_away_while_the_emulation_goes_on_is_told_and_made_anew() {
    let bench = Bench::new();
    let mut child = start(&bench, &[]);
    assert_eq!(requests(&bench, &[0]), [0]);
    let remove = || {
        for name in ["store.db", "store.db-wal", "store.db-shm"] {
            let _ = std::fs::remove_file(bench.path(name));
        }
    };
    remove();
    std::fs::create_dir(bench.path("store.db")).unwrap();
    let said = hear(&mut child, "The record of what was done so far cannot be kept");
    assert!(said.contains("store.db"), "{said}");
    std::fs::remove_dir(bench.path("store.db")).unwrap();
    assert_eq!(requests(&bench, &[0]), [0]);
    assert!(wait_until(|| !bench.runs().is_empty()), "nothing is kept");
    // And what cannot be kept at the end is printed all the same.
    remove();
    std::fs::create_dir(bench.path("store.db")).unwrap();
    let (status, out, _) = end(child, "-INT");
    assert!(status == 1 && out.contains("data"), "{status}: {out}");
}

/// `timeout` sends one to the process and one to its group.
#[test]
fn signals_that_come_together_ask_once_for_an_end_in_order() {
    let bench = Bench::new();
    let child = start(&bench, &[]);
    assert_eq!(requests(&bench, &[0]), [0]);
    // Both wait while it is stopped.
    signal(&child, &["-STOP", "-TERM", "-INT"]);
    let (status, out, said) = end(child, "-CONT");
    assert!(status == 0 && out.contains("data"), "{status}: {out}{said}");
    assert!(!bench.path("s").exists() && bench.runs()[0]["status"] == "finished", "{said}");
    assert!(UnixStream::connect(bench.path("s")).is_err());
}
