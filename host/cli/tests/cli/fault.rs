//! `fault` and `replay` from the outside.

use crate::Bench;
use crate::emulate::{end, start, start_on};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// On the first volume, the oldest way.
pub(crate) fn connected(bench: &Bench) -> UnixStream {
    let mut stream = UnixStream::connect(bench.path("s")).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).unwrap();
    let hello = [&3_u32.to_be_bytes()[..], b"IHAVEOPT", &1_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat();
    stream.write_all(&hello).unwrap();
    stream.read_exact(&mut [0; 10]).unwrap();
    stream
}

pub(crate) fn head(kind: u16) -> Vec<u8> {
    [&0x2560_9513_u32.to_be_bytes()[..], &[0, 0], &kind.to_be_bytes(), &[0; 16], &512_u32.to_be_bytes()].concat()
}

/// Reads 512 B of the first volume from there on.
pub(crate) fn read_at(bench: &Bench, offset: u64) {
    let (mut stream, mut asked) = (connected(bench), head(0));
    asked[16..24].copy_from_slice(&offset.to_be_bytes());
    stream.write_all(&asked).unwrap();
    stream.read_exact(&mut [0; 16 + 512]).unwrap();
}

/// Writes 512 B of the first volume from there on; gives the error.
pub(crate) fn write_at(bench: &Bench, offset: u64) -> u32 {
    let (mut stream, mut asked) = (connected(bench), head(1));
    asked[16..24].copy_from_slice(&offset.to_be_bytes());
    stream.write_all(&[&asked[..], &[1; 512]].concat()).unwrap();
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).unwrap();
    u32::from_be_bytes(reply[4..8].try_into().unwrap())
}

/// Asks for 512 B of the first volume, and is gone.
pub(crate) fn leave(bench: &Bench) {
    connected(bench).write_all(&head(0)).unwrap();
}

/// Reads and writes of the first volume, the oldest way: 512 B each; gives their errors.
pub(crate) fn requests(bench: &Bench, kinds: &[u16]) -> Vec<u32> {
    let mut stream = connected(bench);
    let mut errors = Vec::new();
    for kind in kinds {
        stream.write_all(&head(*kind)).unwrap();
        if *kind == 1 {
            stream.write_all(&[1; 512]).unwrap();
        }
        let mut reply = [0; 16];
        stream.read_exact(&mut reply).unwrap();
        let error = u32::from_be_bytes(reply[4..8].try_into().unwrap());
        if *kind == 0 && error == 0 {
            stream.read_exact(&mut [0; 512]).unwrap();
        }
        errors.push(error);
    }
    errors
}

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
    assert_eq!(requests(&bench, &[0, 1]), [0, 5]);
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
    assert_eq!(requests(&bench, &[0, 1]), [0, 0]);
    fault(&["data/0", "--lose"]);
    assert_eq!(requests(&bench, &[0]), [0]);
    fault(&["data/1", "--detach"]);
    assert_eq!(requests(&bench, &[0]), [5]);
    assert_eq!(fault(&["--clear-all"]), "2 faults cleared\n");
    fault(&["data/0", "--detach"]);
    assert_eq!(requests(&bench, &[1]), [0]);
    fault(&["data/1", "--detach"]);
    let waits = "data/0 missed writes and waits for a current copy\n";
    assert_eq!(fault(&["data/0", "--clear"]), format!("fault 4 cleared\n{waits}"));
    assert_eq!(requests(&bench, &[0, 1]), [5, 5]);
    assert!(fault(&["--status"]).contains("data/0  waiting"));
    assert_eq!(fault(&["--clear-all"]), "fault 5 cleared\n");
    assert_eq!(requests(&bench, &[0]), [0]);
    let cut = fault(&["--power-cut", "--seed", "3"]);
    assert!(cut.starts_with("power cut with seed 3: no connection dropped"), "{cut}");
    assert_eq!(
        fault(&["--redeploy"]),
        "redeployed: no connection dropped; caches are cold; no disk belongs to the host, so none is empty\n"
    );
    let faster = bench.file("faster.toml", crate::emulate::ENVIRONMENT.replace("5000 IOPS", "7500 IOPS"));
    assert!(fault(&["--environment", &faster]).starts_with("disks and machine are those of pair from now on"));
    // Lost as a volume of one disk, it is found again as one.
    assert!(fault(&["log", "--lose"]).contains("requests find the disk lost"));
    assert_eq!(fault(&["log", "--clear"]), "fault 6 cleared\n");
    assert_eq!(fault(&["log", "--clear"]), "no fault was in force there\n");
    assert!(!fault(&["--status"]).contains("log/0") && fault(&["log", "--status"]).contains("log/0"));
    let (status, _, err) = end(child, "-TERM");
    assert_eq!(status, 0, "{err}");
    assert!(!bench.path("s.control").exists());
}

#[test]
fn what_is_gone_for_good_is_told_and_what_is_not_is_not() {
    let bench = Bench::new();
    let child = start(&bench, &[]);
    let socket = bench.path("s").display().to_string();
    let fault = |words: &[&str]| bench.done(&[&["fault", &socket][..], words].concat());
    assert_eq!(requests(&bench, &[1]), [0]);
    assert!(!fault(&["data/0", "--lose"]).contains("gone"), "the other disk has a copy");
    // The first one comes back empty, and there is nothing left to fill it from.
    let last = fault(&["data/1", "--lose"]);
    assert!(last.contains("what was on data/1 is gone for good: no other disk has a copy"), "{last}");
    assert!(fault(&["--status"]).contains("absent"));
    let single: Json = serde_json::from_str(&fault(&["log", "--lose", "--format", "json"])).unwrap();
    assert_eq!(single["gone"], Json::from(vec!["log/0"]));
    let detached: Json = serde_json::from_str(&fault(&["log", "--detach", "--format", "json"])).unwrap();
    assert_eq!(detached["gone"], Json::from(Vec::<String>::new()));
    end(child, "-TERM");
}

#[test]
fn faults_are_seen_where_they_are_met() {
    let bench = Bench::new();
    let child = start(&bench, &[]);
    let socket = bench.path("s").display().to_string();
    let fault = |words: &[&str]| bench.done(&[&["fault", &socket][..], words].concat());
    fault(&["data", "--hang"]);
    fault(&["data", "--delay", "1 ms"]);
    fault(&["data/1", "--error", "io"]);
    let status: Json = serde_json::from_str(&fault(&["--status", "--format", "json"])).unwrap();
    let met = |name: &str| {
        let exports = status["exports"].as_array().unwrap();
        exports.iter().find(|export| export["export"] == name).unwrap()["faults"].clone()
    };
    // A delay of a volume lies in the guest: its disks by themselves have none.
    let expected = [("data", vec![1, 2, 3]), ("data/0", vec![1]), ("data/1", vec![1, 3]), ("log", vec![])];
    for (name, numbers) in expected {
        assert_eq!(met(name), Json::from(numbers), "{name}");
    }
    assert_eq!(status["faults"].as_array().unwrap().len(), 3);
    let listed = |name: &str| fault(&[name, "--list", "--format", "csv"]).lines().skip(1).count();
    assert_eq!(["data", "data/0", "data/1"].map(listed), [3, 1, 2]);
    let output = bench.command(&["fault", &socket, "--status"]).output().unwrap();
    let (table, beside) = (crate::text(&output.stdout), crate::text(&output.stderr));
    assert!(table.contains("1 2 3") && beside.contains("fault 1: data: requests hang"), "{table} {beside}");
    end(child, "-TERM");
}

#[test]
fn programs_are_told_what_the_control_socket_tells() {
    let bench = Bench::new();
    let child = start(&bench, &[]);
    let socket = bench.path("s").display().to_string();
    let fault = |words: &[&str]| bench.done(&[&["fault", &socket][..], words].concat());
    let json =
        |words: &[&str]| -> Json { serde_json::from_str(&fault(&[words, &["--format", "json"]].concat())).unwrap() };
    let begun = json(&["data", "--delay", "1 ms"]);
    assert_eq!((&begun["fault"], &begun["seed"]), (&Json::from(1), &Json::Null));
    let listed = json(&["--list"]);
    assert_eq!((&listed[0]["number"], &listed[0]["fault"]["on"]), (&Json::from(1), &Json::from("data")));
    let cut = json(&["--power-cut", "--seed", "3"]);
    assert_eq!((&cut["seed"], &cut["losses"]["writes"]), (&Json::from(3), &Json::from(0)));
    assert!(json(&["--power-cut"])["seed"].is_u64());
    assert!(fault(&["--power-cut", "--seed", "3", "--format", "csv"]).ends_with("\n,,0,,3,0,0,0,0,,\n"));
    assert_eq!(json(&["--clear-all"])["cleared"], Json::from(vec![1]));

    // Status has the keys of the example in the document, and so has its table.
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/control.md")).unwrap();
    let (_, example) = page.split_once("```json\n").unwrap();
    let example: Json = serde_json::from_str(example.split_once("```").unwrap().0).unwrap();
    let keys = |value: &Json| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let status = json(&["--status"]);
    assert_eq!(keys(&status), keys(&example));
    assert_eq!(keys(&status["exports"][0]), keys(&example["exports"][0]));
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
    assert_eq!(bench.done(&["fault", &socket, "--list", "--format", "csv"]), "number,text\n");
    assert_eq!(bench.done(&["fault", &socket, "--list"]), "no fault is in force\n");
    assert_eq!(bench.done(&["fault", &socket, "log", "--list"]), "no fault is in force on log\n");
    let file = bench.file("pair.toml", "no socket");
    assert!(bench.refused(1, &["fault", &file, "--list"]).contains("it is no socket"));
    refused(2, &["data"]);
    refused(2, &["data", "--hang", "--lose"]);
    let other = bench.file("other.toml", crate::emulate::ENVIRONMENT.replace("volume.log", "volume.logs"));
    assert!(refused(1, &["--environment", &other]).contains("log became logs"));
    end(child, "-TERM");
    let nobody = bench.refused(1, &["fault", &socket, "--list"]);
    assert!(nobody.contains("cannot reach an emulation") && nobody.contains("no such socket"), "{nobody}");
}

#[test]
fn what_was_done_to_an_emulation_is_in_its_record_with_its_time() {
    let bench = Bench::new();
    // A machine that has credits to spend.
    let machine =
        "\n[vm]\nuncached = { iops = \"50000 IOPS\", burst = { iops = \"90000 IOPS\" } }\nburst_span = \"30 min\"\n";
    let environment = format!("{}{machine}", crate::emulate::ENVIRONMENT);
    let child = start_on(&bench, &environment, &["--format", "json"]);
    let socket = bench.path("s").display().to_string();
    let fault = |words: &[&str]| bench.done(&[&["fault", &socket][..], words].concat());
    assert_eq!(requests(&bench, &[1, 0]), [0; 2]);
    fault(&["log", "--hang"]);
    fault(&["--spend-credits"]);
    fault(&["data", "--delay", "5 ms"]);
    assert_eq!(requests(&bench, &[0]), [0]);
    fault(&["--clear", "2"]);
    let faster = bench.file("faster.toml", environment.replace("\"pair\"", "\"faster\""));
    fault(&["--environment", &faster]);
    assert_eq!(requests(&bench, &[0, 0]), [0; 2]);
    fault(&["--power-cut", "--seed", "3"]);
    let (_, out, err) = end(child, "-TERM");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(rows[0]["doubts"], serde_json::json!(["changed-meanwhile"]), "{out} {err}");
    // Nobody asked anything of the log.
    assert_eq!(rows[1]["doubts"], serde_json::json!([]), "{out}");
    let shown: serde_json::Value = serde_json::from_str(&bench.done(&["show", "last", "--format", "json"])).unwrap();
    let doubts = shown["cells"][0]["doubts"].as_array().unwrap();
    let told = doubts.iter().find(|doubt| doubt["code"] == "changed-meanwhile").expect("a doubt");
    let told = told["detail"].as_str().unwrap();
    let changes = [
        " burst credits were spent; ",
        " fault 2 began (data: requests take 5 ms longer); ",
        " fault 2 ended (data: requests take 5 ms longer); ",
        " disks and machine became those of faster. The figures mix",
    ];
    let places: Vec<usize> = changes.iter().map(|change| told.find(change).expect(told)).collect();
    assert!(places.is_sorted() && !told.contains("log") && !told.contains("power"), "{told}");
    bench.done(&["report", "last", "-o", "report.html"]);
    let report = std::fs::read_to_string(bench.path("report.html")).unwrap();
    for text in [bench.done(&["show", "last"]).split_whitespace().collect::<Vec<_>>().join(" "), report] {
        assert!(text.contains("burst credits were spent") && text.contains("became those of faster"), "{text}");
    }
}

#[test]
fn a_trace_replays_on_other_storage_and_says_what_it_cannot_know() {
    let bench = Bench::new();
    let trace = bench.path("trace").display().to_string();
    let child = start(&bench, &["--trace", &trace]);
    assert_eq!(requests(&bench, &[1, 0, 0, 1, 0]), [0; 5]);
    end(child, "-TERM");
    let slower = bench.file("slower.toml", crate::emulate::ENVIRONMENT.replace("5000 IOPS", "100 IOPS"));
    for (by, blind) in [("time", "queues"), ("answers", "by the clock")] {
        let output = bench
            .command(&["replay", &trace, "--env", &slower, "--by", by, "--seed", "1", "--format", "json"])
            .output()
            .unwrap();
        let (out, err) = (crate::text(&output.stdout), crate::text(&output.stderr));
        assert!(output.status.success() && err.contains(blind) && !err.contains("cut short"), "{err}");
        let result: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(result["run"]["clock"], "virtual");
        assert_eq!(result["cells"].as_array().unwrap().len(), 1);
        assert_eq!(result["cells"][0]["volume"], "data");
        let doubts = result["cells"][0]["doubts"].as_array().unwrap();
        assert!(doubts.iter().any(|doubt| doubt["code"] == "few-samples"), "{doubts:?}");
        let binding = &result["cells"][0]["binding"];
        let evidence = binding["evidence"].as_str().unwrap();
        assert!(binding["inferred"] == false && evidence.contains("its time went to"), "{binding}");
        // Five requests at 100 a second: the second to the fifth wait 10 ms each where they come at once, as they did nearly.
        assert!(evidence.contains("disk-iops"), "{evidence}");
    }
    assert!(bench.done(&["show", "last"]).contains("recorded load"));
    let other = bench.file("other.toml", crate::emulate::ENVIRONMENT.replace("volume.data", "volume.dat"));
    assert!(bench.refused(1, &["replay", &trace, "--env", &other]).contains("no volume of that name"));
    let none = bench.file("none", "x");
    assert!(bench.refused(1, &["replay", &none, "--env", &slower]).contains("no trace"));
}
