//! Runs from start to report, on the null target and on small files.

use crate::{Bench, entries, text};
use std::process::Stdio;

/// Two reads, two writes; a fraction of a second.
pub(crate) const SMALL: &str = r#"
schema = 1
name = "small"
[[load]]
pattern = "random"
reads = ["100 %", "0 %"]
block = "4 KiB"
queue_depth = [1, 4]
size = "4 MiB"
warm_up = "0 s"
duration = "40 ms"
trials = 2
"#;

#[test]
fn a_run_on_the_null_target_is_measured_stored_and_shown() {
    let bench = Bench::new();
    let plan = bench.file("small.toml", SMALL);
    let printed = bench.done(&["run", &plan, "--on", "null", "--format", "json", "--seed", "7"]);
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["schema"], "loadline.run/1");
    assert_eq!(printed["run"]["status"], "finished");
    assert_eq!(printed["run"]["seed"], 7);
    let cells = printed["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    assert!(cells.iter().all(|cell| cell["trials"] == 2 && cell["total"]["iops"].as_f64().unwrap() > 0.0));
    assert_eq!(bench.last(), printed);
    assert_eq!(bench.runs()[0]["trials"], 8);
    let id = printed["run"]["id"].as_str().unwrap().to_owned();
    assert!(bench.done(&["show", &id, "--cell", "write", "--series", "--format", "csv"]).contains(",write,"));
    bench.done(&["report", &id, "-o", "r.html"]);
    bench.done(&["report", &id, "-o", "r.md"]);
    assert!(bench.refused(2, &["report", &id, "-o", "r.txt"]).contains(".html or .md"));
    assert!(bench.done(&["export", &id, "--as", "csv"]).starts_with("run_id,"));
    bench.done(&["rm", &id]);
    assert!(bench.runs().is_empty());
}

#[test]
fn a_run_on_a_folder_leaves_no_file_there() {
    let bench = Bench::new();
    let (plan, target) = (bench.file("small.toml", SMALL), bench.target());
    for engine in ["auto", "threads"] {
        bench.done(&["run", &plan, "--on", &target, "--engine", engine]);
        assert!(entries(target.as_ref()).is_empty());
        assert_eq!(bench.last()["run"]["volumes"][0]["kind"], "test-file");
    }
}

#[test]
fn several_volumes_have_the_same_cells() {
    let bench = Bench::new();
    let plan = bench.file("small.toml", SMALL);
    bench.done(&["run", &plan, "--on", "a=null", "--on", "b=null", "--trials", "1"]);
    let run = bench.last();
    let on = |volume: &str| run["cells"].as_array().unwrap().iter().filter(|cell| cell["volume"] == volume).count();
    assert_eq!((on("a"), on("b")), (4, 4));
}

#[test]
fn quick_measures_prints_and_leaves_a_report() {
    let bench = Bench::new();
    let target = bench.target();
    let arguments = ["quick", &target, "--size", "8 MiB", "--duration", "60 ms"];
    assert!(bench.done(&arguments).contains("RND4K Q32T1"));
    assert!(entries(target.as_ref()).is_empty());
    let report = std::fs::read_to_string(bench.path("loadline-report.html")).unwrap();
    assert!(report.contains("loadline"));
    // One more where a deeper queue reaches more.
    assert!((16..=17).contains(&bench.last()["cells"].as_array().unwrap().len()));
    // A report is replaced, anything else is not.
    bench.done(&arguments);
    std::fs::write(bench.path("loadline-report.html"), "mine").unwrap();
    assert!(bench.refused(2, &arguments).contains("--report"));
    assert_eq!(std::fs::read_to_string(bench.path("loadline-report.html")).unwrap(), "mine");
}

#[test]
fn quick_leaves_its_report_also_when_nobody_reads_what_it_prints() {
    let bench = Bench::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = bench.command(&["quick", "null", "--duration", "30 ms"]);
    command.stdout(writer).stderr(Stdio::null()).status().unwrap();
    assert!(std::fs::read_to_string(bench.path("loadline-report.html")).unwrap().contains("RND4K Q32T1"));
}

#[test]
fn an_objective_that_no_load_keeps_is_status_3() {
    let bench = Bench::new();
    let plan = |limit: &str| format!("{SMALL}objective = {{ mean = \"{limit}\" }}\n");
    let (kept, lost) = (bench.file("kept.toml", plan("1 h")), bench.file("lost.toml", plan("1 ns")));
    bench.done(&["run", &kept, "--on", "null", "--trials", "1"]);
    bench.refused(3, &["run", &lost, "--on", "null", "--trials", "1"]);
    bench.refused(3, &["quick", "null", "--duration", "30 ms", "--objective", "1 ns"]);
}

#[test]
fn what_cannot_be_understood_is_status_2_and_touches_nothing() {
    let bench = Bench::new();
    let plan = bench.file("small.toml", SMALL);
    let bad = bench.file("bad.toml", SMALL.replace("queue_depth", "queue_dept"));
    let job = bench.file("job.fio", "[global]\nrw=randread\n[a]\nfilename=/x\n");
    assert!(bench.refused(2, &["run", &plan]).contains("--on"));
    assert!(bench.refused(2, &["run", &bad, "--on", "null"]).contains("did you mean queue_depth"));
    assert!(bench.refused(2, &["run", &job, "--on", "null"]).contains("fio job file"));
    assert!(bench.refused(2, &["run", "no-such-plan", "--on", "null"]).contains("no-such-plan"));
    assert!(bench.refused(2, &["run", &plan, "--on", "a=null", "--on", "a=null"]).contains("twice"));
    assert!(bench.refused(2, &["quick", "null", "--objective", "fast"]).contains("--objective"));
    bench.refused(2, &["no-such-verb"]);
    std::fs::File::create(bench.path("store.db")).unwrap();
    assert!(bench.refused(1, &["show", "no-such-run"]).contains("no-such-run"));
    assert!(bench.runs().is_empty());
}

#[test]
fn quiet_prints_results_only() {
    let bench = Bench::new();
    let plan = bench.file("small.toml", SMALL);
    let output = bench.run(&["run", &plan, "--on", "null", "--quiet", "--trials", "1"]);
    assert_eq!(text(&output.stderr), "");
    assert!(!output.stdout.is_empty());
    assert!(!text(&output.stdout).contains('\x1b'), "no colour where nobody looks");
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let bench = Bench::new();
    let mut child =
        bench.command(&["plans", "show", "matrix-200"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn completions_and_man_pages_know_every_verb() {
    let bench = Bench::new();
    assert!(bench.done(&["completions", "bash"]).contains("doctor"));
    bench.done(&["man", "pages"]);
    let pages = entries(&bench.path("pages"));
    for verb in ["quick", "run", "list", "show", "rm", "report", "export", "plans", "doctor"] {
        assert!(pages.contains(&format!("loadline-{verb}.1")), "{pages:?}");
    }
}

#[test]
fn doctor_ends_well_whatever_it_sees() {
    let bench = Bench::new();
    let target = bench.target();
    let checks: serde_json::Value =
        serde_json::from_str(&bench.done(&["doctor", &target, "--format", "json"])).unwrap();
    assert!(checks.as_array().unwrap().iter().any(|check| check["what"] == "io_uring"));
    assert!(entries(target.as_ref()).is_empty());
    assert!(bench.done(&["doctor", "no-such-place"]).contains("no-such-place"));
}

#[test]
fn a_job_file_runs_as_it_stands_on_what_it_names() {
    let bench = Bench::new();
    let target = bench.target();
    let jobs = format!(
        "[global]\nioengine=libaio\ndirect=1\nsize=4m\nruntime=1\ndirectory={target}\ngroup_reporting\n\
         [Seq]\nrw=read\nbs=1m\nstonewall\n[Rand-QD8]\nrw=randread\nbs=4k\niodepth=8\nstonewall\n"
    );
    let job = bench.file("disk.fio", &jobs);
    let output = bench.run(&["run", &job, "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("do not change the load: group_reporting"));
    let run = bench.last();
    assert_eq!(run["run"]["name"], "disk");
    let labels: Vec<&str> = run["cells"].as_array().unwrap().iter().map(|c| c["label"].as_str().unwrap()).collect();
    assert!(labels[0].starts_with("Seq: sequential read 1 MiB") && labels[1].starts_with("Rand-QD8: "), "{labels:?}");
    // A job ends with its size: 4 MiB of 4 KiB, each block once.
    let bytes = run["cells"][1]["total"]["throughput_bytes_per_s"].as_f64().unwrap();
    assert!(bytes > 0.0);
    // The same file is predicted.
    let predicted = bench.done(&["predict", &job, "--env", "ds3-p30", "--draws", "1", "--quiet"]);
    assert!(predicted.contains("Rand-QD8"), "{predicted}");
    // And what it asks beyond what is known is refused with its line.
    let odd = bench.file("odd.fio", format!("{jobs}verify=crc32c\n"));
    assert!(bench.refused(2, &["run", &odd]).contains("odd.fio:17: verify=crc32c"));
}
