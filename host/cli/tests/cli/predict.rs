//! Predictions from the outside: what they print and keep, and that they say the same twice.

use crate::inputs::{SWEEP, TWO};
use crate::{Bench, text};
use serde_json::Value;
use std::process::{Command, Stdio};

fn predicted(bench: &Bench, arguments: &[&str]) -> Value {
    serde_json::from_str(&bench.done(&[&["predict"], arguments, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn a_prediction_is_kept_and_shown_like_a_measurement() {
    let bench = Bench::new();
    let plan = bench.file("sweep.toml", SWEEP);
    let run = predicted(&bench, &[&plan, "--env", "ds3-p30", "--seed", "3"]);
    assert_eq!((&run["run"]["clock"], &run["run"]["name"]), (&"virtual".into(), &"sweep on ds3-p30".into()));
    assert_eq!(crate::schema_errors(&run), Vec::<String>::new());
    assert_eq!(bench.last(), run);
    let table = bench.done(&["show", "last"]);
    assert!(table.contains("predicted") && table.contains("range") && table.contains("vm-cached-iops"), "{table}");
    let heading = table.lines().find(|line| line.trim_start().starts_with("load ")).unwrap();
    assert!(heading.contains("p50 range") && heading.contains("p99 range") && !table.contains("95 %"), "{table}");
    let listed = bench.runs();
    assert_eq!((&listed[0]["verb"], listed.len()), (&"predict".into(), 1));
}

#[test]
fn several_environments_are_predicted_by_the_same_choices_and_compared() {
    let bench = Bench::new();
    let plan = bench.file("sweep.toml", SWEEP);
    let typed = ["predict", &plan, "--env", "ds3-p30", "--env", "ds3-p10"];
    let compared = bench.document(&typed);
    assert_eq!(
        (&compared["schema"], compared["sides"].as_array().unwrap().len()),
        (&"loadline.comparison/1".into(), 2)
    );
    assert_eq!(compared["sides"][0]["seed"], compared["sides"][1]["seed"]);
    let numbers: Vec<Value> = bench.runs().iter().map(|run| run["number"].clone()).collect();
    assert_eq!(numbers, [2, 1], "each is a run of its own");
    assert_eq!(bench.document(&["compare", "1", "2"]), compared, "the list's numbers name them");
    for refused in [["--find-objective"], ["--dry-run"]] {
        let why = bench.refused(2, &[&typed[..], &refused].concat());
        assert!(why.contains("takes one environment"), "{why}");
    }
    assert_eq!(bench.runs().len(), 2);
}

#[test]
fn what_is_typed_reaches_the_prediction() {
    let bench = Bench::new();
    let (plan, two) = (bench.file("sweep.toml", SWEEP), bench.file("two.toml", TWO));
    let own = bench.path("own");
    std::fs::create_dir(&own).unwrap();
    let family = "schema = 1\nkind = \"disk\"\nprovider = \"home\"\nfamily = \"fast\"\ntitle = \"Fast\"\nsource = \"a bench\"\n\
                  [latency.read]\nmedian = \"1 ms\"\n[latency.write]\nmedian = \"1 ms\"\n\
                  [disk]\nfast-1 = { size = \"1 TiB\", iops = \"1234 IOPS\", throughput = \"100 MB/s\" }\n";
    std::fs::write(own.join("fast.toml"), family).unwrap();
    let home = "schema = 1\nname = \"own\"\n[volume.data]\ndisks = [{ sku = \"home/fast-1\" }]\n";
    let home = bench.file("home.toml", home);
    for (typed, path, wanted) in [
        (&["--env", &two, "--volume", "plain", "--draws", "1"][..], "/cells/0/volume", "plain".into()),
        (&["--env", &two, "--on", "fast=plain", "--draws", "1"], "/cells/3/volume", "fast".into()),
        (&["--env", &two, "--together", "--trials", "2", "--draws", "1"], "/cells/7/trials", 2.into()),
        (&["--env", &two, "--carry"], "/run/settings/course", "carried".into()),
        (&["--env", &two, "--hours", "0.001", "--draws", "1"], "/run/settings/overrides/duration", "3600 ms".into()),
        (
            &["--env", &two, "--bursts", "disks=full,vm=empty", "--draws", "1"],
            "/run/settings/vm_bursts_empty",
            true.into(),
        ),
        (
            &["--env", &two, "--caches", "cold", "--published", "--draws", "1"],
            "/run/settings/caches_warm",
            false.into(),
        ),
        (&["--env", &home, "--catalog", "own", "--draws", "1"], "/run/environment/name", "own".into()),
        (&["--env", "ds3-p30", "--short", "--draws", "2"], "/cells/0/trials", 2.into()),
    ] {
        let run = predicted(&bench, &[&[plan.as_str()], typed].concat());
        assert_eq!(run.pointer(path), Some::<&Value>(&wanted), "{typed:?}: {}", run["run"]["settings"]);
    }
    let searched = predicted(&bench, &[&plan, "--env", "ds3-p30", "--find-objective", "--quiet"]);
    assert_eq!(searched["run"]["verb"], "search");
}

#[test]
fn a_dry_run_says_how_much_virtual_time_it_takes() {
    let bench = Bench::new();
    let plan = bench.file("sweep.toml", SWEEP);
    let said = bench.done(&["predict", &plan, "--env", "ds3-p30", "--dry-run"]);
    assert!(said.contains("4 cells, 20 trials: 1 min 20 s of virtual time"), "{said}");
    assert!(bench.runs().is_empty());
}

#[test]
fn an_interrupted_prediction_keeps_what_was_finished_and_is_carried_on() {
    let bench = Bench::new();
    let plan = bench.file("sweep.toml", SWEEP);
    // Long enough that it is under way when the signal comes.
    let long = ["predict", &plan, "--env", "ds3-p30", "--seed", "5", "--draws", "2", "--duration", "300 s"];
    let mut command = bench.command(&long);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while bench.runs().first().is_none_or(|run| run["trials"] == 0) {
        assert!(child.try_wait().unwrap().is_none(), "it was over before it could be stopped");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("loadline predict --resume"), "{}", text(&output.stderr));
    let refused = bench.refused(2, &["run", "--resume", "last"]);
    assert!(refused.contains("is a prediction"), "{refused}");
    let resumed = predicted(&bench, &["--resume", "last"]);
    assert_eq!(resumed["run"]["status"], "finished");
}
