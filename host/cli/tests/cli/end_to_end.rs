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

/// [`SMALL`] with trials of so many requests: in so short a time a busy machine may come to none.
fn counted() -> String {
    SMALL.replace("\"40 ms\"", "\"60 s\"\nvolume = \"256 KiB\"")
}

#[test]
fn a_run_on_the_null_target_is_measured_stored_and_shown() {
    let bench = Bench::new();
    let plan = bench.file("small.toml", counted());
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
fn quick_measures_prints_and_leaves_a_report() {
    let bench = Bench::new();
    let target = bench.target();
    let arguments = ["quick", &target, "--size", "8 MiB", "--duration", "60 ms"];
    assert!(bench.done(&arguments).contains("\nVerdict\n"));
    assert!(entries(target.as_ref()).is_empty());
    // Which rows the screen has room for depends on what is found. The report has all.
    let report = std::fs::read_to_string(bench.path("loadline-report.html")).unwrap();
    assert!(report.contains("RND4K Q32T1"));
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
    let plan = |limit: &str| format!("{}objective = {{ mean = \"{limit}\" }}\n", counted());
    let (kept, lost) = (bench.file("kept.toml", plan("1 h")), bench.file("lost.toml", plan("1 ns")));
    bench.done(&["run", &kept, "--on", "null", "--trials", "1"]);
    bench.refused(3, &["run", &lost, "--on", "null", "--trials", "1"]);
    bench.refused(3, &["quick", "null", "--duration", "300 ms", "--objective", "1 ns"]);
    // One that the figures cannot answer is status 4.
    let arrivals = plan("1 h").replace("queue_depth = [1, 4]", "arrival = { poisson = [\"1 IOPS\"] }");
    let short = bench.file("short.toml", arrivals.replace("60 s", "1 ms").replace("\"100 %\", ", ""));
    bench.refused(4, &["run", &short, "--on", "null", "--trials", "1", "--seed", "1"]);
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
        serde_json::from_str(&text(&bench.run(&["doctor", &target, "--format", "json"]).stdout)).unwrap();
    assert_eq!(crate::schema_errors(&checks), Vec::<String>::new());
    assert!(checks["rows"].as_array().unwrap().iter().any(|check| check["what"] == "io_uring"));
    assert!(entries(target.as_ref()).is_empty());
    let absent = bench.run(&["doctor", "no-such-place"]);
    assert_eq!(absent.status.code(), Some(3));
    assert!(text(&absent.stdout).contains("no-such-place"));
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

#[test]
fn quick_foretells_what_it_does_and_calls_memory_memory() {
    let bench = Bench::new();
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm");
        return;
    };
    let target = folder.path().to_str().unwrap();
    let output = bench.run(&["quick", target, "--duration", "30 ms", "--size", "4 MiB", "--yes"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let first = told.lines().next().unwrap();
    assert!(
        first.contains("fills 4.00 MiB first, then 16 or 17 loads") && first.contains("after the filling"),
        "{told}"
    );
    assert!(told.contains("this is memory, not storage"), "{told}");
    assert!(told.contains("curve 10 %: random read 4 KiB"), "{told}");
    assert!(entries(folder.path()).is_empty());
}

#[test]
fn what_would_be_filled_is_foretold_and_volumes_are_shown_apart() {
    let bench = Bench::new();
    let writes = SMALL.replace("reads = [\"100 %\", \"0 %\"]", "reads = \"0 %\"");
    let (plan, target) = (bench.file("w.toml", &writes), bench.target());
    let unsized_ = bench.file("u.toml", writes.replace("size = \"4 MiB\"\n", ""));
    let on = |name: &str| format!("{name}={target}");
    let both = ["run", &plan, "--on", &on("fast"), "--on", &on("slow")];
    let planned = bench.done(&[&both[..], &["--dry-run"]].concat());
    assert!(
        planned.ends_with("8 trials: 1 s at most, and the time to fill 8.00 MiB (1 s at 200 MiB/s)\n"),
        "{planned}"
    );
    let planned: serde_json::Value =
        serde_json::from_str(&bench.done(&["run", &plan, "--on", &target, "--dry-run", "--format", "json"])).unwrap();
    assert_eq!(planned["fill_bytes"], 4 << 20);
    let told = bench.done(&["run", &unsized_, "--dry-run"]);
    assert!(told.contains("and the time to fill the test file or target, whose size is not known yet"), "{told}");
    let output = bench.run(&both);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(err.contains("volume fast: filled 4.00 MiB") && err.contains(" on slow, trial "), "{err}");
    for name in ["fast", "slow"] {
        assert!(out.lines().filter(|line| line.contains(name) && line.contains("random ")).count() >= 2, "{out}");
    }
    let steady =
        "steady_state = { round = \"1 s\", rounds = 2, rounds_max = 30, range = \"100 %\", slope = \"100 %\" }";
    let steady =
        bench.file("s.toml", writes.replace("trials = 2", &format!("trials = 1\n{steady}")).replace("[1, 4]", "4"));
    bench.done(&["run", &steady, "--on", "null"]);
    let shown = bench.done(&["show", "last"]);
    // More than the two where others had the processors.
    assert!(shown.contains("The rate was steady before the measurement, after "), "{shown}");
    assert!(shown.contains(" rounds of 1 s."), "{shown}");
    assert!(shown.contains("no storage: measures the tool"), "{shown}");
}
