//! `import`: what fio measured, as a run like any other.

use crate::inputs::fio_sweep;
use crate::{Bench, golden};
use serde_json::Value;

/// What a command prints of the only run, with its id as it is not.
fn shown(bench: &Bench, arguments: &[&str]) -> String {
    let id = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    bench.done(arguments).replace(&id, "RUN").replace(&bench.path("").display().to_string(), "FOLDER/")
}

#[test]
fn the_last_run_is_the_one_added_last_however_old_its_figures() {
    let bench = Bench::new();
    let plan = bench
        .file("p.toml", "schema = 1\nname = \"now\"\n[[load]]\nwarm_up = \"0 s\"\nduration = \"10 ms\"\ntrials = 1\n");
    bench.done(&["run", &plan, "--on", "null"]);
    bench.done(&["import", &bench.file("sweep.json", fio_sweep(true)), "--name", "then"]);
    assert_eq!(bench.last()["run"]["name"], "then");
    assert!(bench.done(&["show"]).starts_with("then "));
    let names: Vec<Value> = bench.runs().iter().map(|run| run["name"].clone()).collect();
    assert_eq!(names, ["then", "now"], "what was added last stands first");
    bench.done(&["run", &plan, "--on", "null"]);
    assert_eq!(bench.last()["run"]["name"], "now");
}

#[test]
fn a_latency_that_a_tool_does_not_tell_is_not_missed() {
    let bench = Bench::new();
    let text = "CrystalDiskMark 8.0.1 x64\n[Read]\n  RND    4KiB (Q= 32, T= 1):   261.929 MB/s [  63947.5 IOPS] <   484.28 us>\n  \
                RND    4KiB (Q=  1, T= 1):    38.578 MB/s [   9418.5 IOPS] <   105.93 us>\n";
    bench.done(&["import", &bench.file("disk.txt", text)]);
    let shown = bench.done(&["show"]);
    assert!(shown.contains("63,947 IOPS") && !shown.contains("missed"), "{shown}");
}

#[test]
fn an_imported_sweep_names_its_limits() {
    let bench = Bench::new();
    let file = bench.file("sweep.json", fio_sweep(true));
    bench.done(&["import", &file]);
    golden::compare("import-show.txt", &shown(&bench, &["show", "--all"]));
    golden::compare("import-limits.txt", &shown(&bench, &["show", "--limits"]));
    // What its tool did not tell is said.
    let output = bench.run(&["show", "--series"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there are no seconds: fio 3.33"));
    assert!(bench.done(&["export", "last", "--as", "csv"]).contains(",real,fio 3.33,"));
    assert!(bench.run(&["fit"]).status.code().is_some_and(|code| code < 2));
    let disk = "disks = [{ sku = \"azure/premium-p30\", count = 1 }]\n";
    let two = format!("schema = 1\nname = \"two\"\n[volume.data]\n{disk}[volume.log]\n{disk}");
    let two = bench.file("two.toml", two);
    let told = bench.refused(2, &["import", &file, "--env", &two]);
    assert!(told.contains("--on VOLUME=/dev/nvme1n1") && told.contains("data, log"), "{told}");
    bench.done(&["import", &file, "--env", &two, "--on", "log=/dev/nvme1n1"]);
    assert_eq!(bench.last()["cells"][0]["volume"], "log");
    let elsewhere = bench.refused(2, &["import", &file, "--on", "log=/dev/nvme2n1"]);
    assert!(elsewhere.contains("log=/dev/nvme2n1: the results are of /dev/nvme1n1"), "{elsewhere}");
}

#[test]
fn what_cannot_be_read_is_refused_and_nothing_is_stored() {
    let bench = Bench::new();
    let (good, whole) = (bench.file("good.json", fio_sweep(true)), fio_sweep(true));
    for (name, text, told) in [
        ("empty.json", String::new(), "is empty"),
        ("cut.json", whole[..whole.len() / 2].to_owned(), "cut off"),
        ("negative.json", whole.replace("\"total_ios\": 300000", "\"total_ios\": -3"), "jobs[1].read.total_ios: -3"),
        ("huge.json", whole.replace("\"runtime\": 60000", "\"runtime\": 1e300"), "jobs[0].read.runtime"),
        ("text.txt", "hello\n".to_owned(), "no results of a form"),
    ] {
        let file = bench.file(name, text);
        let error = bench.refused(1, &["import", &good, &file]);
        assert!(error.contains(told) && error.contains(name), "{error}");
    }
    bench.refused(2, &["import", "nowhere.json"]);
    bench.refused(2, &["import", &bench.file("bytes", [0xff, 0x00])]);
    let none = whole.replace("\"rw\": \"randread\"", "\"rw\": \"randread\", \"flow\": \"8\"");
    let error = bench.refused(1, &["import", &bench.file("flow.json", none)]);
    assert!(error.contains("flow") && error.contains("nothing was imported"), "{error}");
    assert!(bench.runs().is_empty());
}
