//! `import`: what fio measured, as a run like any other.

use crate::{Bench, golden};
use serde_json::{Value, json};
use std::process::Command;

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
    let run = bench.last();
    let from = &run["run"]["imported"];
    assert_eq!((from["tool"].as_str(), from["tool_version"].as_str()), (Some("fio"), Some("3.33")));
    assert_eq!(from["files"][0]["hash"].as_str().map(str::len), Some(16));
    assert_eq!(run["run"]["host"]["hostname"], Value::Null, "not this machine");
    assert_eq!(run["run"]["volumes"][0]["size_bytes"], Value::Null);
    for cell in run["cells"].as_array().unwrap() {
        assert!(cell["binding"]["evidence"].as_str().is_some_and(|text| !text.is_empty()), "{cell}");
        assert!(!cell["ceilings"].as_array().unwrap().is_empty(), "{cell}");
        assert!(cell["doubts"].as_array().unwrap().iter().any(|doubt| doubt["code"] == "imported"), "{cell}");
    }
    let limit = |index: usize| run["cells"][index]["binding"]["limit"].as_str().unwrap().to_owned();
    assert_eq!((limit(0), limit(4), limit(6)), ("latency".into(), "disk-iops".into(), "disk-iops".into()));
}

#[test]
fn percentiles_alone_name_the_same_limits_and_no_histogram_is_made_up() {
    let bench = Bench::new();
    bench.done(&["import", &bench.file("sweep.json", sweep(false))]);
    let run = bench.last();
    let deepest = &run["cells"][4];
    assert_eq!(deepest["binding"]["limit"], "disk-iops");
    assert_eq!(deepest["read"]["latency_ns"]["p99"], 3_520_000);
    assert!(deepest["doubts"][0]["detail"].as_str().unwrap().contains("without a histogram"));
    let output = bench.run(&["show", "--series"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there are no seconds: fio 3.33"));
    assert!(bench.done(&["export", "last", "--as", "csv"]).contains(",real,fio 3.33,"));
    for arguments in [&["show", "--limits"][..], &["export", "last", "--as", "csv"]] {
        bench.done(arguments);
    }
    let page = bench.path("report.html").display().to_string();
    bench.done(&["report", "last", "-o", &page]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("measured by fio 3.33") && html.contains("sweep.json"), "{html}");
    assert!(html.contains("No course over time: fio 3.33 told no seconds.") && !html.contains("NaN"));
    assert!(html.contains("Latency is what fio 3.33 calls so."));
    // A modelled disk needs a histogram: it is made, or told why not, and nothing breaks.
    assert!(bench.run(&["fit"]).status.code().is_some_and(|code| code < 2));
    bench.done(&["rm", "last"]);
    assert!(bench.runs().is_empty());
}

#[test]
fn a_declared_environment_gives_the_ceilings() {
    let bench = Bench::new();
    let file = bench.file("sweep.json", sweep(true));
    let disk = "disks = [{ sku = \"azure/premium-p30\", count = 1 }]\n";
    let one = bench.file("one.toml", format!("schema = 1\nname = \"one\"\n[volume.data]\n{disk}"));
    bench.done(&["import", &file, "--env", &one]);
    let run = bench.last();
    let deepest = &run["cells"][4];
    assert_eq!((&deepest["binding"]["limit"], &deepest["binding"]["inferred"]), (&json!("disk-iops"), &json!(false)));
    assert!(deepest["ceilings"].as_array().unwrap().len() > 2, "{deepest}");
    assert_eq!(run["run"]["environment"]["name"], "one");
    bench.done(&["rm", "last"]);
    // Of several volumes it has to be told which one was measured, by the results or by the user.
    let text = format!("schema = 1\nname = \"two\"\n[volume.data]\n{disk}[volume.log]\n{disk}");
    let two = bench.file("two.toml", &text);
    let told = bench.refused(2, &["import", &file, "--env", &two]);
    assert!(told.contains("--on VOLUME=/dev/nvme1n1") && told.contains("data, log"), "{told}");
    bench.done(&["import", &file, "--env", &two, "--on", "log=/dev/nvme1n1"]);
    assert_eq!(bench.last()["cells"][0]["volume"], "log");
    bench.done(&["rm", "last"]);
    let elsewhere = bench.refused(2, &["import", &file, "--on", "log=/dev/nvme2n1"]);
    assert!(elsewhere.contains("log=/dev/nvme2n1: the results are of /dev/nvme1n1"), "{elsewhere}");
    let placed = bench.file("placed.toml", text.replace("[volume.log]", "[volume.log]\npath = \"/dev/nvme1n1\""));
    bench.done(&["import", &file, "--env", &placed]);
    assert_eq!(bench.last()["cells"][0]["volume"], "log");
}

#[test]
fn the_same_job_one_time_after_the_other_has_trials() {
    let bench = Bench::new();
    let file = |name: &str, ended_ms| bench.file(name, document(&[job(0, 8, 4096, true)], ended_ms));
    let (first, second) = (file("1.json", ENDED_MS), file("2.json", ENDED_MS + 70_000));
    let beside = file("3.json", ENDED_MS + 30_000);
    bench.done(&["import", &first, &second]);
    let trials = |run: &Value| -> Vec<u64> {
        run["cells"].as_array().unwrap().iter().map(|cell| cell["trials"].as_u64().unwrap()).collect()
    };
    assert_eq!(trials(&bench.last()), [2]);
    bench.done(&["rm", "last"]);
    bench.done(&["import", &second, &beside, &first, "--name", "three"]);
    assert_eq!(trials(&bench.last()), [2, 1], "what overlaps is no trial of the same");
    assert_eq!(bench.last()["run"]["name"], "three");
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

#[test]
fn what_fio_measured_is_what_is_shown() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio is not installed");
        return;
    }
    let bench = Bench::new();
    let data = bench.path("data");
    let jobs = format!(
        "[global]\nioengine=psync\nfilename={}\nsize=8m\nbs=4k\nrw=randread\nruntime=1\ntime_based\nnorandommap\n[one]\n[two]\n\
         stonewall\nnumjobs=2\ngroup_reporting\n",
        data.display()
    );
    let plan = bench.file("jobs.fio", jobs);
    for form in ["json+", "json"] {
        let output = Command::new("fio")
            .args([format!("--output-format={form}"), plan.clone()])
            .current_dir(bench.path(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let theirs: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        bench.done(&["import", &bench.file("results.json", &text)]);
        let ours = bench.last();
        for (index, threads) in [(0, 1), (1, 2)] {
            let (cell, read) = (&ours["cells"][index], &theirs["jobs"][index]["read"]);
            let near = |a: &Value, b: &Value, what: &str| {
                let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
                assert!((a / b - 1.0).abs() < 0.01, "{form} {what}: {a} for {b}");
            };
            let (latency, clat) = (&cell["read"]["latency_ns"], &read["clat_ns"]);
            near(&cell["total"]["iops"], &read["iops"], "iops");
            near(&latency["mean"], &clat["mean"], "mean");
            for (own, name) in
                [("p50", "50.000000"), ("p90", "90.000000"), ("p99", "99.000000"), ("p99_9", "99.900000")]
            {
                near(&latency[own], &clat["percentile"][name], own);
            }
            assert_eq!((&latency["min"], &latency["max"]), (&clat["min"], &clat["max"]));
            assert_eq!(cell["load"]["threads"], threads);
            assert!(cell["binding"]["limit"].is_string(), "{cell}");
        }
        bench.done(&["rm", "last"]);
    }
}

#[test]
fn an_imported_run_is_compared_with_a_measured_one_and_says_so() {
    let bench = Bench::new();
    let data = bench.file("data", vec![7_u8; 8 << 20]);
    let options = format!("ioengine=psync\nfilename={data}\nsize=8m\nbs=4k\nrw=randread\ndirect=1\nruntime=1\n");
    let plan = bench.file("job.fio", format!("[one]\n{options}time_based\n"));
    bench.done(&["run", &plan, "--read-only", "--name", "measured"]);
    let mut options: serde_json::Map<String, Value> =
        options.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect();
    options.insert("time_based".into(), "1".into());
    let results = json!({ "fio version": "fio-3.36", "timestamp": ENDED_MS / 1000, "jobs": [
        { "jobname": "one", "groupid": 0, "error": 0, "job options": options, "read": direction(60_000, 4096, 900_000, true) }
    ] });
    bench.done(&["import", &bench.file("fio.json", results.to_string()), "--name", "imported"]);
    let compared: Value =
        serde_json::from_str(&bench.done(&["compare", "imported", "measured", "--format", "json"])).unwrap();
    let text = compared.to_string();
    assert!(text.contains("The tool that measured differs: fio 3.36, here loadline."), "{text}");
    assert!(compared["against"][0]["cells"].as_array().is_some_and(|cells| cells.len() == 1), "{text}");
    bench.done(&["compare", "imported", "measured"]);
    let page = bench.path("both.html").display().to_string();
    bench.done(&["report", "imported", "measured", "-o", &page]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("they were measured by different tools"));
}
