//! `fault`: what it prints, for people and for programs, and what it refuses.

use crate::Bench;
use crate::emulate::{end, start};
use crate::nbd_client::{PAIR, requests};
use serde_json::Value as Json;
use std::collections::BTreeSet;

#[test]
fn faults_begin_are_listed_and_end() {
    let bench = Bench::new();
    let child = start(&bench, &[]);
    let socket = bench.path("s").display().to_string();
    let fault = |words: &[&str]| bench.done(&[&["fault", &socket][..], words].concat());
    assert_eq!(
        fault(&["data", "--error", "io", "--on", "write", "--until", "4 KiB"]),
        "fault 1 began (data: writes from 0 B to 4 KiB fail with EIO); --clear 1 ends it\n"
    );
    assert_eq!(requests(&bench.path("s"), &[0, 1]), [0, 5]);
    let listed = fault(&["--list", "--format", "json"]);
    assert!(listed.contains("data: writes from 0 B to 4 KiB fail with EIO"), "{listed}");
    assert_eq!(fault(&["data", "--list"]), fault(&["--list"]));
    let of_log: Vec<String> = ["--list", "--status"].map(|what| fault(&["log", what, "--format", "csv"])).into();
    assert_eq!(of_log[0].lines().count(), 1, "{}", of_log[0]);
    let named: Vec<&str> = of_log[1].lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(named, ["export", "log", "log/0"]);
    let told = bench.refused(1, &["fault", &socket, "nix", "--list"]);
    assert!(told.contains("no volume or disk \"nix\"; there are data, log, data/0"), "{told}");
    assert_eq!(fault(&["--clear", "1"]), "fault 1 cleared\n");
    assert_eq!(requests(&bench.path("s"), &[0, 1]), [0, 0]);
    fault(&["data/0", "--lose"]);
    assert_eq!(requests(&bench.path("s"), &[0]), [0]);
    fault(&["data/1", "--detach"]);
    assert_eq!(requests(&bench.path("s"), &[0]), [5]);
    assert_eq!(fault(&["--clear-all"]), "2 faults cleared\n");
    fault(&["data/0", "--detach"]);
    assert_eq!(requests(&bench.path("s"), &[1]), [0]);
    fault(&["data/1", "--detach"]);
    let waits = "data/0 missed writes and waits for a current copy\n";
    assert_eq!(fault(&["data/0", "--clear"]), format!("fault 4 cleared\n{waits}"));
    assert_eq!(requests(&bench.path("s"), &[0, 1]), [5, 5]);
    assert!(fault(&["--status"]).contains("data/0  waiting"));
    assert_eq!(fault(&["--clear-all"]), "fault 5 cleared\n");
    assert_eq!(requests(&bench.path("s"), &[0]), [0]);
    let cut = fault(&["--power-cut", "--seed", "3"]);
    assert!(cut.starts_with("power cut with seed 3: no connection dropped"), "{cut}");
    assert_eq!(
        fault(&["--redeploy"]),
        "redeployed: no connection dropped; caches are cold; no disk belongs to the host, so none is empty\n"
    );
    let faster = bench.file("faster.toml", PAIR.replace("5000 IOPS", "7500 IOPS"));
    assert!(fault(&["--environment", &faster]).starts_with("disks and machine are those of pair from now on"));
    // The first one comes back empty, and there is nothing left to fill it from.
    assert!(!fault(&["data/0", "--lose"]).contains("gone"), "the other disk has a copy");
    let last = fault(&["data/1", "--lose"]);
    assert!(last.contains("what was on data/1 is gone for good: no other disk has a copy"), "{last}");
    assert!(fault(&["--status"]).contains("absent"));
    fault(&["--clear-all"]);
    // Lost as a volume of one disk, it is found again as one.
    assert!(fault(&["log", "--lose"]).contains("requests find the disk lost"));
    assert_eq!(fault(&["log", "--clear"]), "fault 8 cleared\n");
    assert_eq!(fault(&["log", "--clear"]), "no fault was in force there\n");
    assert!(!fault(&["--status"]).contains("log/0") && fault(&["log", "--status"]).contains("log/0"));
    let (status, _, err) = end(child, "-TERM");
    assert_eq!(status, 0, "{err}");
    assert!(!bench.path("s.control").exists());
}

#[test]
fn programs_are_told_what_the_control_socket_tells() {
    let bench = Bench::new();
    let child = start(&bench, &[]);
    let socket = bench.path("s").display().to_string();
    let fault = |words: &[&str]| bench.done(&[&["fault", &socket][..], words].concat());
    let json = |words: &[&str]| bench.document(&[&["fault", &socket][..], words].concat());
    let begun = json(&["data", "--delay", "1 ms"]);
    assert_eq!((&begun["fault"], &begun["seed"]), (&Json::from(1), &Json::Null));
    let listed = json(&["--list"])["rows"].clone();
    assert_eq!((&listed[0]["number"], &listed[0]["fault"]["on"]), (&Json::from(1), &Json::from("data")));
    let cut = json(&["--power-cut", "--seed", "3"]);
    assert_eq!((&cut["seed"], &cut["losses"]["writes"]), (&Json::from(3), &Json::from(0)));
    assert!(json(&["--power-cut"])["seed"].is_u64());
    assert!(fault(&["--power-cut", "--seed", "3", "--format", "csv"]).ends_with("\r\n,,0,,3,0,0,0,0,,\r\n"));
    assert_eq!(json(&["--clear-all"])["cleared"], Json::from(vec![1]));

    // Status has the keys of the example in the document, and so has its table.
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/control.md")).unwrap();
    let (_, example) = page.split_once("```json\n").unwrap();
    let example: Json = serde_json::from_str(example.split_once("```").unwrap().0).unwrap();
    let keys = |value: &Json| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let mut status = json(&["--status"]);
    // The command says what it prints; the socket does not.
    assert!(status.as_object_mut().unwrap().remove("schema").is_some());
    assert_eq!(keys(&status), keys(&example));
    assert_eq!(keys(&status["exports"][0]), keys(&example["exports"][0]));
    let output = bench.run(&["fault", &socket, "--status"]);
    let (table, beside) = (crate::text(&output.stdout), crate::text(&output.stderr));
    assert!(table.contains("data") && !beside.contains("requests hang"), "{table} {beside}");
    fault(&["data", "--hang"]);
    let beside = crate::text(&bench.run(&["fault", &socket, "--status"]).stderr);
    assert!(beside.contains("data: requests hang"), "{beside}");
    let csv = fault(&["--status", "--format", "csv"]);
    let columns: BTreeSet<String> = csv.lines().next().unwrap().split(',').map(str::to_owned).collect();
    assert_eq!(columns, keys(&example["exports"][0]));
    end(child, "-TERM");
}

#[test]
fn what_cannot_be_done_says_what_to_do() {
    let bench = Bench::new();
    let child = start(&bench, &[]);
    let socket = bench.path("s").display().to_string();
    let refused = |status: i32, words: &[&str]| bench.refused(status, &[&["fault", &socket][..], words].concat());
    assert!(refused(1, &["dta", "--hang"]).contains("there are data, log, data/0, data/1, log/0"));
    assert!(refused(1, &["data", "--lose"]).contains("such as data/0"));
    assert!(refused(1, &["--clear", "7"]).contains("--list"));
    assert!(refused(2, &["--hang"]).contains("name the volume"));
    assert!(refused(2, &["data", "--lose", "--share", "1 %"]).contains("narrow"));
    assert!(refused(2, &["data", "--power-cut"]).contains("whole machine"));
    for (status, words, reason) in [
        (2, &["data", "--hang", "--every", "1 s"][..], "--stall"),
        (2, &["data", "--drop-caches", "--seed", "3"], "--power-cut"),
        (1, &["data", "--delay", "0 s"], "delays nothing"),
        (1, &["log", "--error", "io", "--from", "10 TiB"], "log ends at 64 MiB"),
        (1, &["log", "--spend-credits"], "no credits to spend on log"),
        (1, &["--spend-credits"], "no credits to spend on any volume"),
        (1, &["data/1", "--drop-caches"], "no cache to drop before data/1"),
    ] {
        let told = refused(status, words);
        assert!(told.contains(reason), "{told}");
    }
    assert_eq!(bench.done(&["fault", &socket, "--list", "--format", "csv"]), "number,text\r\n");
    assert_eq!(bench.done(&["fault", &socket, "--list"]), "no fault is in force\n");
    assert_eq!(bench.done(&["fault", &socket, "log", "--list"]), "no fault is in force on log\n");
    refused(2, &["data"]);
    refused(2, &["data", "--hang", "--lose"]);
    let other = bench.file("other.toml", PAIR.replace("volume.log", "volume.logs"));
    assert!(refused(1, &["--environment", &other]).contains("log became logs"));
    end(child, "-TERM");
}
