//! `export` in the words of other tools, each read back by a program that knows the form.

use crate::results::{csv_rows, measured};
use crate::{Bench, text};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

fn fio_results(bench: &Bench) -> Value {
    bench.done(&["export", "last", "--as", "fio", "-o", "fio.json"]);
    serde_json::from_str(&std::fs::read_to_string(bench.path("fio.json")).unwrap()).unwrap()
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
    measured(&bench);
    let run = bench.last();
    let told = fio_results(&bench);
    let jobs = told["jobs"].as_array().unwrap();
    let trials: u64 = run["cells"].as_array().unwrap().iter().map(|cell| cell["trials"].as_u64().unwrap()).sum();
    assert_eq!(jobs.len() as u64, trials, "a job for each trial");
    bench.done(&["import", "fio.json"]);
    // Both began at the same time: it is told by what made it.
    let runs = bench.runs();
    let imported = runs.iter().find(|run| run["verb"] == "import").unwrap()["run"].as_str().unwrap();
    let back: Value = serde_json::from_str(&bench.done(&["export", imported, "--as", "json"])).unwrap();
    assert_eq!(back["run"]["imported"]["tool"], "fio");
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
            // fio tells its time in milliseconds: 60 of them.
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

#[test]
fn what_fio_has_no_words_for_stands_beside_each_job() {
    let bench = Bench::new();
    measured(&bench);
    let run = bench.last();
    let told = fio_results(&bench);
    for job in told["jobs"].as_array().unwrap() {
        let own = &job["loadline"];
        let cells = run["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["id"] == own["cell"]).expect("it names its cell");
        assert_eq!(own["binding"]["limit"], cell["binding"]["limit"]);
        // Nobody knows of which direction an arrival is that was never issued: none counts it.
        assert_eq!(own["missed"].is_u64(), !cell["offered_iops"].is_null(), "{own}");
        assert!(["read", "write", "trim"].iter().all(|of| job[of]["drop_ios"].is_null()), "{job}");
        let codes = |of: &Value| -> Vec<String> {
            let mut codes: Vec<String> =
                of["doubts"].as_array().unwrap().iter().map(|d| d["code"].as_str().unwrap().to_owned()).collect();
            codes.sort();
            codes.dedup();
            codes
        };
        assert!(codes(own).iter().all(|code| codes(cell).contains(code)) && !codes(own).is_empty(), "{own}");
        assert_eq!(own["not_in_options"].as_array().map(Vec::len), Some(0), "{own}");
    }
}

#[test]
fn fios_own_tool_reads_the_histograms() {
    let tool = "fio_jsonplus_clat2csv";
    if Command::new(tool).arg("--help").output().is_err() {
        eprintln!("skipped: {tool} of fio's package is not installed");
        return;
    }
    let bench = Bench::new();
    measured(&bench);
    let told = fio_results(&bench);
    let output = Command::new(tool).args(["fio.json", "latencies.csv"]).current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let first = &told["jobs"][0]["read"];
    let table = std::fs::read_to_string(bench.path("latencies_job0.csv")).unwrap();
    let last = table.lines().last().unwrap();
    let cells: Vec<&str> = last.split(',').map(str::trim).collect();
    let bins = first["clat_ns"]["bins"].as_object().unwrap();
    let slowest: u64 = bins.keys().map(|ns| ns.parse().unwrap()).max().unwrap();
    assert_eq!(cells[0].parse::<u64>().unwrap(), slowest, "{last}");
    let counted: u64 = bins.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted, first["total_ios"].as_u64().unwrap());
}

/// Samples of OpenMetrics: name, labels, value.
fn samples(text: &str) -> Vec<(String, BTreeMap<String, String>, f64)> {
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    let of_line = |line: &str| {
        let (name, rest) = line.split_once('{').unwrap();
        let (labels, value) = rest.rsplit_once("} ").unwrap();
        let mut all = BTreeMap::new();
        let mut rest = labels;
        while let Some((key, after)) = rest.split_once("=\"") {
            let mut end = 0;
            while after.as_bytes()[end] != b'"' {
                end += if after.as_bytes()[end] == b'\\' { 2 } else { 1 };
            }
            all.insert(
                key.trim_start_matches(',').to_owned(),
                after[..end].replace("\\\"", "\"").replace("\\\\", "\\"),
            );
            rest = &after[end + 1..];
        }
        (name.to_owned(), all, value.parse().unwrap())
    };
    text.lines().filter(|line| !line.starts_with('#')).map(of_line).collect()
}

#[test]
fn openmetrics_holds_the_figures_with_what_to_doubt() {
    let bench = Bench::new();
    measured(&bench);
    let run = bench.last();
    let told = bench.done(&["export", "last", "--as", "openmetrics"]);
    let all = samples(&told);
    let of = |name: &str, cell: &Value, more: &[(&str, &str)]| -> Vec<f64> {
        all.iter()
            .filter(|(own, labels, _)| own == name && labels.get("cell").map(String::as_str) == cell["id"].as_str())
            .filter(|(_, labels, _)| {
                more.iter().all(|(key, value)| labels.get(*key).map(String::as_str) == Some(value))
            })
            .map(|(_, _, value)| *value)
            .collect()
    };
    for cell in run["cells"].as_array().unwrap() {
        assert_eq!(of("loadline_cell_info", cell, &[("label", cell["label"].as_str().unwrap())]), [1.0]);
        for operation in ["read", "write", "flush"] {
            let wanted: Vec<f64> = cell[operation]["iops"].as_f64().into_iter().collect();
            assert_eq!(
                of("loadline_iops", cell, &[("operation", operation)]),
                wanted,
                "{operation} of {}",
                cell["label"]
            );
            let p99 = cell[operation]["latency_ns"]["p99"].as_f64().map(|ns| ns / 1e9);
            let told = of("loadline_latency_seconds", cell, &[("operation", operation), ("quantile", "0.99")]);
            assert_eq!(told, p99.into_iter().collect::<Vec<f64>>());
        }
        let limit = cell["binding"]["limit"].as_str().unwrap();
        assert_eq!(of("loadline_binding_info", cell, &[("limit", limit)]), [1.0]);
        for doubt in cell["doubts"].as_array().unwrap() {
            assert_eq!(of("loadline_doubt_info", cell, &[("code", doubt["code"].as_str().unwrap())]), [1.0]);
        }
    }
    // Each family is told once, before its samples.
    let families: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let mut names = families.clone();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), families.len(), "{families:?}");
}

#[test]
fn parquet_holds_the_rows_of_the_csv_with_their_kinds() {
    let bench = Bench::new();
    measured(&bench);
    let rows = csv_rows(&bench.done(&["export", "last", "--as", "csv"]));
    assert!(bench.refused(2, &["export", "last", "--as", "parquet"]).contains("-o FILE.parquet"));
    bench.done(&["export", "last", "--as", "parquet", "-o", "run.parquet"]);
    let file = std::fs::File::open(bench.path("run.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), rows.len());
    for (row, wanted) in read.iter().zip(&rows) {
        let mut columns = 0;
        for (name, field) in row.get_column_iter() {
            columns += 1;
            let wanted = &wanted[name];
            match field {
                Field::Null => assert_eq!(wanted, "", "{name}"),
                Field::Str(text) => assert_eq!(text, wanted, "{name}"),
                Field::Double(value) => assert_eq!(Ok(*value), wanted.parse(), "{name}"),
                Field::Long(value) => assert_eq!(Ok(*value), wanted.parse(), "{name}"),
                Field::Bool(value) => assert_eq!(Ok(*value), wanted.parse(), "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        assert_eq!(columns, wanted.len());
    }
    // A figure that is missing is null and no 0.
    let offered = read[0].get_column_iter().find(|(name, _)| *name == "offered_iops").unwrap().1;
    assert_eq!(*offered, Field::Null);
}
