//! `--find-objective`: the load at which an objective is lost, where it is known.

use crate::{Bench, text};
use serde_json::Value;

fn plan(arrival: &str, objective: &str) -> String {
    format!(
        "schema = 1\nname = \"turn\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\n{arrival}\n\
         warm_up = \"2 s\"\nduration = \"20 s\"\nsize = \"1 GiB\"\nobjective = {{ {objective} }}\n"
    )
}

/// A disk of 1,000 IOPS that answers in 1 ms.
const DISK: &str = r#"
schema = 1
name = "disk"
[[volume.data.disks]]
size = "10 GiB"
[volume.data.disks.limit]
iops = "1000 IOPS"
enforcement = "smooth"
[volume.data.disks.latency.read]
median = "1 ms"
p99 = "1.2 ms"
"#;

fn searched(bench: &Bench, plan: &str, arguments: &[&str]) -> (Option<i32>, Value) {
    let plan = bench.file("p.toml", plan);
    let env = bench.file("e.toml", DISK);
    let common = ["--find-objective", "--seed", "5", "--quiet", "--format", "json"];
    let output = bench.run(&[&["predict", &plan, "--env", &env], &common[..], arguments].concat());
    let run = serde_json::from_str(&text(&output.stdout)).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    (output.status.code(), run)
}
fn finding(run: &Value) -> String {
    let found = run["findings"].as_array().unwrap().iter().find(|f| f["code"] == "objective");
    found.unwrap_or_else(|| panic!("{run}"))["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_deepest_queue_is_found_with_few_probes_and_its_interval() {
    let bench = Bench::new();
    let (status, run) = searched(&bench, &plan("queue_depth = [1, 4]", "mean = \"20 ms\""), &[]);
    assert_eq!(status, Some(0));
    let told = finding(&run);
    // 20 outstanding at 1,000 IOPS take 20 ms.
    assert!(told.contains("up to depth 20 (") || told.contains("up to depth 19 ("), "{told}");
    assert!(told.contains("Found by search: with 95 % confidence it is kept at depth"), "{told}");
    assert!(run["cells"].as_array().unwrap().len() <= 8, "{run}");
    assert_eq!((&run["run"]["verb"], &run["run"]["status"]), (&"search".into(), &"finished".into()));
}

#[test]
fn the_highest_rate_is_found_below_what_the_disk_can_do() {
    let bench = Bench::new();
    let (status, run) = searched(&bench, &plan("arrival = { poisson = [\"100 IOPS\"] }", "p99 = \"20 ms\""), &[]);
    assert_eq!(status, Some(0));
    let kept = run["cells"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["read"]["latency_ns"]["p99"].as_f64().unwrap() <= 20e6 && c["binding"]["limit"] == "arrival");
    let most = kept.map(|c| c["offered_iops"].as_f64().unwrap()).fold(0.0, f64::max);
    // An M/D/1 queue at 1,000 IOPS has its p99 at 20 ms where about 0.89 of it are used.
    assert!((820.0..960.0).contains(&most), "{most}");
    assert!(finding(&run).contains("Found by search"), "{}", finding(&run));
}

/// 8 times the rate of the disk: a warm-up of 2 s leaves a backlog that outlasts a trial of 4 s.
fn overloading() -> String {
    let closed = plan("queue_depth = 4", "mean = \"20 ms\"");
    let open = plan("arrival = { poisson = [\"8000 IOPS\"] }", "mean = \"20 ms\"");
    let open = open.split_once("[[load]]").unwrap().1.to_owned();
    format!("{closed}[[load]]{open}").replace("20 s", "4 s")
}

#[test]
fn a_rate_of_which_nothing_is_answered_in_time_is_lost_and_the_search_goes_on_below() {
    let bench = Bench::new();
    let (status, run) = searched(&bench, &overloading(), &[]);
    assert_eq!(status, Some(0));
    let cells = run["cells"].as_array().unwrap();
    assert!(cells.iter().any(|c| c["offered_iops"].is_number() && c["read"].is_null()), "no such probe: {run}");
    let found: Vec<&str> = run["findings"].as_array().unwrap().iter().filter_map(|f| f["text"].as_str()).collect();
    let of_open = found.iter().find(|text| text.contains("arriving a second")).unwrap_or_else(|| panic!("{found:?}"));
    assert!(of_open.contains("Random 4 KiB reads lose 20 ms on average between"), "{of_open}");
    assert!(found.iter().any(|text| text.contains("stay within 20 ms on average up to depth")), "{found:?}");
}

#[test]
fn an_objective_that_nothing_keeps_comes_out_against() {
    let bench = Bench::new();
    assert_eq!(searched(&bench, &plan("queue_depth = 8", "p99 = \"10 us\""), &[]).0, Some(3));
}

#[test]
fn it_works_on_a_target_too_and_needs_an_objective() {
    let bench = Bench::new();
    let short = |objective: &str| plan("queue_depth = 2", objective).replace("20 s", "20 ms").replace("2 s", "0 s");
    let one = bench.file("p.toml", short("mean = \"1 s\"").replace("1 GiB", "8 MiB"));
    let output = bench.run(&["run", &one, "--on", "null", "--find-objective", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(bench.runs()[0]["verb"], "search");
    let none = bench.file("q.toml", short("mean = \"1 s\"").replace("objective = { mean = \"1 s\" }\n", ""));
    assert!(
        bench
            .refused(2, &["run", &none, "--on", "null", "--find-objective"])
            .contains("no load of the plan has an objective")
    );
}

/// One that saves up credits while it is idle.
const BURSTING: &str = r#"
schema = 1
name = "bursting"
[[volume.data.disks]]
size = "10 GiB"
[volume.data.disks.limit]
iops = "500 IOPS"
burst = { iops = "3500 IOPS" }
burst_span = "30 min"
enforcement = "smooth"
"#;

#[test]
fn the_search_begins_with_the_storage_as_it_is_told() {
    let bench = Bench::new();
    let plan = bench.file("p.toml", plan("queue_depth = 1", "mean = \"20 ms\""));
    let env = bench.file("e.toml", BURSTING);
    // The way of the search is the same, for it goes by what lasts.
    for (bursts, iops) in [("full", 3_500.0), ("empty", 500.0)] {
        let common =
            ["predict", &plan, "--env", &env, "--find-objective", "--seed", "5", "--quiet", "--format", "json"];
        let output = bench.run(&[&common[..], &["--bursts", bursts, "--caches", "cold"]].concat());
        let run: Value =
            serde_json::from_str(&text(&output.stdout)).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        let cells = run["cells"].as_array().unwrap();
        assert!(cells.len() > 2, "{run}");
        for cell in cells {
            let (taken, achieved) = (&cell["prediction"], cell["total"]["iops"].as_f64().unwrap());
            assert_eq!((&taken["bursts_full"], &taken["caches_warm"]), (&(bursts == "full").into(), &false.into()));
            assert!((achieved / iops - 1.0).abs() < 0.01, "{achieved} with bursts {bursts}");
        }
    }
    for apart in ["--together", "--carry"] {
        let refusal = bench.refused(2, &["predict", &plan, "--env", &env, "--find-objective", apart]);
        assert!(refusal.contains("cannot be used with"), "{refusal}");
    }
}
