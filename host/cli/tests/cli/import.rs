//! `import`: what fio measured, as a run like any other.

use crate::{Bench, golden};
use serde_json::{Value, json};

/// A direction of fio's results: so many requests of so many bytes in 60 s, half of which take 0.9 of the mean and half 1.1.
fn direction(count: u64, bytes: u64, mean_ns: u64, plus: bool) -> Value {
    let (low, high) = (mean_ns * 9 / 10, mean_ns * 11 / 10);
    let mut clat = json!({ "min": low, "max": high, "mean": mean_ns as f64, "stddev": 0.0, "N": count,
        "percentile": { "50.000000": low, "90.000000": high, "95.000000": high, "99.000000": high, "99.900000": high,
                        "99.990000": high } });
    if plus {
        clat["bins"] = json!({ low.to_string(): count / 2, high.to_string(): count - count / 2 });
    }
    json!({ "io_bytes": count * bytes, "io_kbytes": count * bytes / 1024, "iops": count as f64 / 60.0, "runtime": 60_000,
            "total_ios": count, "clat_ns": clat })
}

/// Random reads on a disk of 5,000 IOPS and 400 us.
fn job(group: usize, depth: u64, block: u64, plus: bool) -> Value {
    let rate = (depth * 2_500).min(5_000);
    let reads = direction(rate * 60, block, depth * 1_000_000_000 / rate, plus);
    json!({ "jobname": format!("rr-{}k-{depth}", block / 1024), "groupid": group, "error": 0, "elapsed": 600,
            "job options": { "rw": "randread", "bs": format!("{}k", block / 1024), "iodepth": depth.to_string() },
            "job_runtime": 60_000, "usr_cpu": 2.0, "sys_cpu": 5.0, "read": reads })
}

fn document(jobs: &[Value], ended_ms: u64) -> String {
    let document = json!({ "fio version": "fio-3.33", "timestamp_ms": ended_ms, "jobs": jobs, "disk_util": [],
        "global options": { "ioengine": "libaio", "direct": "1", "filename": "/dev/nvme1n1", "runtime": "60" } });
    serde_json::to_string_pretty(&document).unwrap() + "\n"
}

const ENDED_MS: u64 = 1_769_871_000_000;

fn sweep(plus: bool) -> String {
    let loads = [1, 2, 4, 8, 16].map(|depth| (depth, 4096)).into_iter().chain([(16, 16384), (32, 16384)]);
    let jobs: Vec<Value> = loads.enumerate().map(|(group, (depth, block))| job(group, depth, block, plus)).collect();
    document(&jobs, ENDED_MS)
}

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
    bench.done(&["import", &bench.file("sweep.json", sweep(true)), "--name", "then"]);
    assert_eq!(bench.last()["run"]["name"], "then");
    assert!(bench.done(&["show"]).starts_with("then "));
    let names: Vec<Value> = bench.runs().iter().map(|run| run["name"].clone()).collect();
    assert_eq!(names, ["now", "then"], "a list is by the time when runs started");
    bench.done(&["run", &plan, "--on", "null"]);
    assert_eq!(bench.last()["run"]["name"], "now");
}

#[test]
fn an_imported_sweep_names_its_limits() {
    let bench = Bench::new();
    let file = bench.file("sweep.json", sweep(true));
    bench.done(&["import", &file]);
    golden::compare("import-show.txt", &shown(&bench, &["show"]));
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
    let (good, whole) = (bench.file("good.json", sweep(true)), sweep(true));
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
    bench.refused(2, &["import", &bench.file("bytes", [0xff, 0xfe])]);
    let none = whole.replace("\"rw\": \"randread\"", "\"rw\": \"randread\", \"verify\": \"md5\"");
    let error = bench.refused(1, &["import", &bench.file("verify.json", none)]);
    assert!(error.contains("verify=md5") && error.contains("nothing was imported"), "{error}");
    assert!(bench.runs().is_empty());
}
