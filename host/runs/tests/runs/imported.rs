//! Imports: what fio measured, as a run like any other.

use crate::forms::measured;
use crate::support::inputs::{ENDED_MS, fio_direction, fio_document, fio_job, fio_sweep};
use crate::support::{Bench, cells, environment, schema_errors, summary, words};
use loadline_analysis::{CompareOptions, compare, summarize};
use loadline_record::RunRecord;
use loadline_runs::{DeclaredEnvironment, Error, Import, NamedTarget};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// These files as one run, kept in the bench.
fn imported(
    bench: &Bench,
    files: &[String],
    targets: &[NamedTarget],
    declared: Option<&str>,
) -> Result<RunRecord, Error> {
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let declared = declared.map(|text| DeclaredEnvironment::new(environment(text)));
    if let Some(declared) = &declared {
        declared.check(targets)?;
    }
    Ok(Import::read(&files)?.store(None, targets, declared.as_ref(), &bench.store())?.record)
}

#[test]
fn an_imported_sweep_names_its_limits() {
    let bench = Bench::new();
    let run = summary(&imported(&bench, &[bench.file("sweep.json", fio_sweep(true))], &[], None).unwrap());
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
    let record = imported(&bench, &[bench.file("sweep.json", fio_sweep(false))], &[], None).unwrap();
    let deepest = &cells(&record)[4];
    assert_eq!(deepest["binding"]["limit"], "disk-iops");
    assert_eq!(deepest["read"]["latency_ns"]["p99"], 3_520_000);
    assert!(deepest["doubts"][0]["detail"].as_str().unwrap().contains("without a histogram"));
    let html = loadline_report::html(&[(&record, &summarize(&record))]);
    assert!(html.contains("measured by fio 3.33") && html.contains("sweep.json"), "{html}");
    assert!(html.contains("No course over time: fio 3.33 told no seconds.") && !html.contains("NaN"));
    assert!(html.contains("Latency is what fio 3.33 calls so."));
    // A modelled disk needs a histogram: it is made, or told why not, and nothing breaks.
    let _ = loadline_fitting::fit(&record, "fitted");
}

#[test]
fn a_declared_environment_gives_the_ceilings() {
    let disk = "disks = [{ sku = \"azure/premium-p30\", count = 1 }]\n";
    let one = format!("schema = 1\nname = \"one\"\n[volume.data]\n{disk}");
    let two = format!("schema = 1\nname = \"two\"\n[volume.data]\n{disk}[volume.log]\n{disk}");
    let on = |volume: &str, target: &str| NamedTarget { volume: volume.to_owned(), target: target.to_owned() };
    let import = |targets: &[NamedTarget], declared: &str| {
        let bench = Bench::new();
        imported(&bench, &[bench.file("sweep.json", fio_sweep(true))], targets, Some(declared))
    };
    let record = import(&[], &one).unwrap();
    let deepest = &cells(&record)[4];
    assert_eq!((&deepest["binding"]["limit"], &deepest["binding"]["inferred"]), (&json!("disk-iops"), &json!(false)));
    assert!(deepest["ceilings"].as_array().unwrap().len() > 2, "{deepest}");
    assert_eq!(record.header.environment.as_ref().unwrap().name, "one");
    // Of several volumes it has to be told which one was measured, by the results or by the user.
    let told = words(&import(&[], &two).unwrap_err());
    assert!(told.contains("/dev/nvme1n1") && told.contains("data, log"), "{told}");
    assert_eq!(import(&[on("log", "/dev/nvme1n1")], &two).unwrap().cells[0].volume, "log");
    let elsewhere = words(&import(&[on("log", "/dev/nvme2n1")], &two).unwrap_err());
    assert!(elsewhere.contains("/dev/nvme2n1") && elsewhere.contains("/dev/nvme1n1"), "{elsewhere}");
    let placed = two.replace("[volume.log]", "[volume.log]\npath = \"/dev/nvme1n1\"");
    assert_eq!(import(&[], &placed).unwrap().cells[0].volume, "log");
}

#[test]
fn the_same_job_one_time_after_the_other_has_trials() {
    let bench = Bench::new();
    let file = |name: &str, ended_ms| bench.file(name, fio_document(&[fio_job(0, 8, 4096, true)], ended_ms));
    let (first, second) = (file("1.json", ENDED_MS), file("2.json", ENDED_MS + 70_000));
    let beside = file("3.json", ENDED_MS + 30_000);
    let trials = |files: &[String]| -> Vec<usize> {
        let bench = Bench::new();
        imported(&bench, files, &[], None).unwrap().cells.iter().map(|cell| cell.trials.len()).collect()
    };
    assert_eq!(trials(&[first.clone(), second.clone()]), [2]);
    assert_eq!(trials(&[second, beside, first]), [2, 1], "what overlaps is no trial of the same");
}

#[test]
fn a_folder_is_a_run_for_each_folder_in_it_that_holds_results() {
    let bench = Bench::new();
    for folder in ["results/one", "results/two/deep", "results/none"] {
        std::fs::create_dir_all(bench.path(folder)).unwrap();
    }
    bench.file("results/one/a.json", fio_sweep(true));
    bench.file("results/one/picture.png", [0_u8, 159, 146, 150]);
    bench.file("results/one/cut.json", &fio_sweep(true)[..400]);
    bench.file("results/two/deep/b.json", fio_sweep(false));
    bench.file("results/none/notes.txt", "nothing measured");
    let folders = Import::folders(&bench.path("results")).unwrap();
    let found: Vec<_> = folders
        .iter()
        .map(|one| (one.name.as_str(), one.import.files().len(), one.refused.len(), one.others))
        .collect();
    assert_eq!(found, [("one", 1, 1, 1), ("two/deep", 1, 0, 0)]);
    assert!(words(&folders[0].refused[0].1).contains("cut off"));
    for one in folders {
        let record = one.import.store(Some(one.name.clone()), &[], None, &bench.store()).unwrap().record;
        assert_eq!((record.header.name.as_str(), record.cells.len()), (one.name.as_str(), 7));
    }
    let own = Import::folders(&bench.path("results/one")).unwrap();
    assert_eq!(own[0].name, "one", "a folder that holds results itself");
    assert!(Import::folders(&bench.path("results/none")).unwrap().is_empty());
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
        let ours = summary(&imported(&bench, &[bench.file("results.json", &text)], &[], None).unwrap());
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
    }
}

#[test]
fn an_imported_run_is_compared_with_a_measured_one_and_says_so() {
    let bench = Bench::new();
    let data = bench.file("data", vec![7_u8; 8 << 20]);
    let options = format!("ioengine=psync\nfilename={data}\nsize=8m\nbs=4k\nrw=randread\ndirect=1\nruntime=1\n");
    let job = bench.file("job.fio", format!("[one]\n{options}time_based\n"));
    let plan = loadline_runs::read_plan(&job, loadline_runs::PlanLength::Full).unwrap().plan;
    let measurement = loadline_runs::Measurement::new(plan).on("data", &data).read_only();
    let own = measurement.run(&bench.options(), &mut loadline_runs::Silent::default()).unwrap().record;
    let mut options: serde_json::Map<String, Value> =
        options.lines().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.into(), v.into())).collect();
    options.insert("time_based".into(), "1".into());
    let results = json!({ "fio version": "fio-3.36", "timestamp": ENDED_MS / 1000, "jobs": [
        { "jobname": "one", "groupid": 0, "error": 0, "job options": options, "read": fio_direction(60_000, 4096, 900_000, true) }
    ] });
    let theirs = imported(&bench, &[bench.file("fio.json", results.to_string())], &[], None).unwrap();
    let compared = compare(&[&theirs, &own], &CompareOptions::default()).unwrap();
    let compared = serde_json::to_value(loadline_report::ComparisonDocument::of(&compared)).unwrap();
    assert!(compared.to_string().contains("The tool that measured differs: fio 3.36, here loadline."), "{compared}");
    assert!(compared["against"][0]["cells"].as_array().is_some_and(|cells| cells.len() == 1), "{compared}");
    let html = loadline_report::html(&[(&theirs, &summarize(&theirs)), (&own, &summarize(&own))]);
    assert!(html.contains("they were measured by different tools"));
}

/// How far one is from another, as a share.
fn off(one: &Value, other: &Value) -> f64 {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one / other - 1.0).abs(),
        _ => f64::INFINITY,
    }
}

#[test]
fn results_in_fios_words_come_back_as_they_were() {
    let bench = Bench::new();
    let (record, of_run) = measured();
    let run = summary(record);
    let told = loadline_exported::fio::fio(record, of_run);
    let jobs: Value = serde_json::from_str(&told).unwrap();
    let trials: usize = record.cells.iter().map(|cell| cell.trials.len()).sum();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), trials, "a job for each trial");
    let back = summary(&imported(&bench, &[bench.file("fio.json", told)], &[], None).unwrap());
    assert_eq!(back["run"]["imported"]["tool"], "fio");
    assert_eq!(schema_errors("run.schema.json", &back), Vec::<String>::new());
    let (own, back) = (run["cells"].as_array().unwrap(), back["cells"].as_array().unwrap());
    for cell in own {
        let of_cell: Vec<&Value> = back
            .iter()
            .filter(|other| {
                [
                    "pattern",
                    "read_ratio",
                    "block_bytes",
                    "queue_depth",
                    "arrival",
                    "rate_iops",
                    "flush_every",
                    "threads",
                ]
                .iter()
                .all(|key| other["load"][key] == cell["load"][key])
            })
            .collect();
        let [other] = of_cell[..] else { panic!("{} of {}: {back:#?}", of_cell.len(), cell["label"]) };
        assert_eq!(other["trials"], cell["trials"], "{}", cell["label"]);
        for operation in ["read", "write"] {
            let (one, other) = (&cell[operation], &other[operation]);
            assert_eq!(one.is_null(), other.is_null(), "{operation} of {}", cell["label"]);
            if one.is_null() {
                continue;
            }
            // fio tells its time in milliseconds: 60 of them, or 300.
            assert!(off(&other["iops"], &one["iops"]) < 0.02, "{operation} of {}: {one} {other}", cell["label"]);
            // Of an open loop fio tells what came after the submission.
            let of = if one["service_ns"].is_null() { "latency_ns" } else { "service_ns" };
            for figure in ["mean", "p50", "p99", "max"] {
                let share = off(&other["latency_ns"][figure], &one[of][figure]);
                assert!(share < 0.01, "{figure} of {operation} of {}: {one} {other}", cell["label"]);
            }
        }
    }
}
