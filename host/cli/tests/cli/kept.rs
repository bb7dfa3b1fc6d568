//! The record of an emulation that goes on, ends, or is killed.

use crate::devices::wait_until;
use crate::emulate::{end, start};
use crate::nbd_client::requests;
use crate::{Bench, text};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};

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
    assert_eq!(requests(&bench.path("s"), &[1, 0, 0]), [0; 3]);
    let cells = |bench: &Bench| bench.last()["cells"].as_array().unwrap().len();
    assert!(wait_until(|| cells(&bench) == 1), "nothing is kept");
    assert_eq!((status(&bench).as_str(), bench.runs().len()), ("unfinished", 1));
    let shown = bench.done(&["show", "soak"]);
    assert!(shown.contains("The emulation goes on, or was killed: these are its figures"), "{shown}");
    assert!(shown.contains("its emulation goes on, or was killed") && !shown.contains("cells are still"), "{shown}");
    assert!(bench.refused(1, &["rm", "soak"]).contains(&format!("process {}", child.id())));
    assert_eq!(crate::schema_errors(&bench.last()), Vec::<String>::new());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((status(&bench).as_str(), bench.runs().len()), ("unfinished", 1));
    bench.done(&["report", "soak", "-o", "report.html"]);
    let told = bench.refused(2, &["run", "--resume", "soak"]);
    assert!(told.contains("is an emulation that was killed"), "{told}");
    bench.done(&["rm", "soak"]);
    let told = |list: &[&str]| text(&bench.run(list).stderr);
    assert!(told(&["list"]).contains("the store holds no run"));
    assert!(told(&["list", "--name", "soak"]).contains("no stored run passes these filters"));
}

/// As long as it goes on, `last` is what was run since it began; at its end, it is the emulation.
#[test]
fn a_run_on_an_emulated_disk_is_the_last_one_until_the_emulation_ends() {
    let bench = Bench::new();
    let child = start(&bench, &["--name", "disk"]);
    let uri = format!("nbd+unix:///data?socket={}", bench.path("s").display());
    assert!(text(&bench.run(&["doctor", &uri]).stdout).contains("past this machine's page cache"));
    assert!(bench.refused(1, &["quick", &uri, "--size", "16 MiB"]).contains(&format!("--overwrite {uri}")));
    let quick = bench.run(&["quick", &uri, "--read-only", "--size", "16 MiB", "--duration", "200 ms"]);
    assert!(quick.status.success() && text(&quick.stderr).contains("reads only, over 16.0 MiB"));
    let kept = || !bench.done(&["show", "disk"]).contains("nothing had been asked of it");
    assert!(wait_until(kept), "nothing is kept");
    assert_eq!(bench.last()["run"]["verb"], "quick");
    assert_eq!(end(child, "-INT").0, 0);
    assert_eq!(bench.last()["run"]["verb"], "emulate");
}

/// `timeout` sends one to the process and one to its group.
#[test]
fn signals_that_come_together_ask_once_for_an_end_in_order() {
    let bench = Bench::new();
    let child = start(&bench, &[]);
    assert_eq!(requests(&bench.path("s"), &[0]), [0]);
    // Both wait while it is stopped.
    signal(&child, &["-STOP", "-TERM", "-INT"]);
    let (status, out, said) = end(child, "-CONT");
    assert!(status == 0 && out.contains("data"), "{status}: {out}{said}");
    assert!(!bench.path("s").exists() && bench.runs()[0]["status"] == "finished", "{said}");
    assert!(UnixStream::connect(bench.path("s")).is_err());
}
