//! Named steps of an application in what other programs read: every export, and the series of `show`.

use crate::inputs::csv_rows;
use crate::{Bench, golden};
use loadline_analysis::example::{ExampleDisk, cell, closed, latencies, run};
use loadline_record::{OperationRecord, RunRecord, RunStatus, SecondOperation, StepName};
use loadline_store::Store;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

/// A run with two steps: one that ends with its first second, and one of bytes in all.
fn stored(bench: &Bench) -> RunRecord {
    let mut cell = cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0]);
    let trial = &mut cell.trials[0];
    for (name, count, bytes, mean_ns, seconds) in
        [("page, fetched", 6_000, 0, 2e6, 1), ("row read", 120_000, 120_000 << 8, 0.3e6, 2)]
    {
        let step = trial.steps.at(&StepName::new(name).unwrap()).unwrap();
        step.record =
            OperationRecord { count, bytes, latency: latencies(count, mean_ns), ..OperationRecord::default() };
        let ns = mean_ns as u64;
        let second =
            SecondOperation { count: count / 60, bytes: bytes / 60, p50_ns: ns, p99_ns: 2 * ns, max_ns: 3 * ns };
        step.series = vec![second; seconds];
    }
    trial.series.seconds.truncate(2);
    let mut record = run(vec![cell]);
    record.status = RunStatus::Finished;
    let store = Store::open(&bench.path("store.db")).unwrap();
    let mut begun = record.cells.clone();
    let trial = begun[0].trials.remove(0);
    store.begin_run(&record.header, &begun).unwrap();
    store.finish_trial(&record.header.id, &record.cells[0].id, &trial).unwrap();
    store.set_status(&record.header.id, record.status).unwrap();
    record
}

#[test]
fn the_series_of_a_run_has_a_row_for_each_second_and_step() {
    let bench = Bench::new();
    stored(&bench);
    golden::compare("steps-series.csv", &bench.done(&["show", "last", "--series", "--format", "csv"]));
    golden::compare("steps-series.txt", &bench.done(&["show", "last", "--series"]));
}

#[test]
fn csv_and_parquet_have_columns_for_each_step_after_all_others() {
    let bench = Bench::new();
    stored(&bench);
    let csv = bench.done(&["export", "last", "--as", "csv"]);
    let row = &csv_rows(&csv)[0];
    for (name, wanted) in [
        ("step_page, fetched_iops", "100"),
        ("step_page, fetched_throughput_bytes_per_s", "0"),
        ("step_row read_iops", "2000"),
        ("step_row read_throughput_bytes_per_s", "512000"),
    ] {
        assert_eq!(row[name], wanted, "{name}");
    }
    assert!((row["step_row read_latency_p50_ns"].parse::<f64>().unwrap() / 300_000.0 - 1.0).abs() < 0.02);
    let heading = csv.lines().next().unwrap();
    let (before, steps) = heading.split_once("engine_options,").unwrap();
    assert!(!before.contains("step_") && steps.split(",step_row").count() == 12, "{steps}");
    bench.done(&["export", "last", "--as", "parquet", "-o", "run.parquet"]);
    let reader = SerializedFileReader::new(std::fs::File::open(bench.path("run.parquet")).unwrap()).unwrap();
    let read = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let field = |name: &str| read.get_column_iter().find(|(column, _)| *column == name).unwrap().1.clone();
    assert_eq!(field("step_page, fetched_iops"), Field::Double(100.0));
    assert_eq!(field("step_row read_latency_max_ns").to_string(), row["step_row read_latency_max_ns"]);
}

#[test]
fn fios_form_has_the_steps_beside_its_own_keys_and_is_imported_without_them() {
    let bench = Bench::new();
    stored(&bench);
    bench.done(&["export", "last", "--as", "fio", "-o", "fio.json"]);
    let told: Value = serde_json::from_str(&std::fs::read_to_string(bench.path("fio.json")).unwrap()).unwrap();
    let steps = told["jobs"][0]["loadline"]["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["page, fetched", "row read"]);
    let row = &steps[1];
    assert_eq!((row["iops"].as_f64(), row["bw_bytes"].as_u64()), (Some(2_000.0), Some(512_000)));
    assert_eq!((row["total_ios"].as_u64(), row["lat_ns"]["N"].as_u64()), (Some(120_000), Some(120_000)));
    assert!(row["lat_ns"]["percentile"]["99.000000"].is_u64() && row["lat_ns"]["bins"].is_object());
    bench.done(&["import", "fio.json"]);
}
