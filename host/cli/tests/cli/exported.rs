//! `export` in the words of other tools, each read back by a program that knows the form.

use crate::Bench;
use crate::inputs::csv_rows;
use crate::results::measured;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

#[test]
fn every_form_of_other_tools_is_written_and_fios_is_read_back() {
    let bench = Bench::new();
    measured(&bench);
    assert_eq!(crate::schema_errors(&bench.last()), Vec::<String>::new());
    assert!(bench.done(&["export", "last", "--as", "openmetrics"]).ends_with("\n# EOF\n"));
    bench.done(&["export", "last", "--as", "fio", "-o", "fio.json"]);
    bench.done(&["import", "fio.json"]);
    // Both began at the same time: it is told by what made it.
    assert!(bench.runs().iter().any(|run| run["verb"] == "import"));
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
                Field::TimestampMicros(unix_us) => {
                    assert_eq!(loadline_report::Moment { unix_us: *unix_us }.to_string(), *wanted, "{name}");
                }
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

#[test]
fn several_runs_become_one_table_by_trial_with_text_that_is_null_where_it_is_missing() {
    let bench = Bench::new();
    measured(&bench);
    measured(&bench);
    let trials = csv_rows(&bench.done(&["export", "--all", "--as", "csv", "--rows", "trials"]));
    let runs: std::collections::BTreeSet<&str> = trials.iter().map(|row| row["run_id"].as_str()).collect();
    assert_eq!(runs.len(), 2);
    bench.done(&["export", "--all", "--as", "parquet", "--rows", "cells", "-o", "cells.parquet"]);
    let reader = SerializedFileReader::new(std::fs::File::open(bench.path("cells.parquet")).unwrap()).unwrap();
    let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let of = |column: &str| read[0].get_column_iter().find(|(name, _)| *name == column).unwrap().1.clone();
    assert_eq!((of("environment"), of("flush_method")), (Field::Null, Field::Null));
    assert!(matches!(of("target"), Field::Str(_)) && matches!(of("run_started"), Field::TimestampMicros(_)));
    assert!(bench.refused(2, &["export", "--all", "--as", "fio"]).contains("several go into --as csv"));
    assert!(bench.refused(2, &["export", "last", "--as", "json", "--rows", "trials"]).contains("--rows"));
}

#[test]
fn a_baseline_in_a_file_is_compared_and_the_user_says_what_cannot_tell_means() {
    let bench = Bench::new();
    measured(&bench);
    bench.done(&["export", "last", "--as", "record", "-o", "baseline.json"]);
    let compare = ["compare", "baseline.json", "last", "--fail-if", "worse", "--junit", "comparison.xml"];
    // One short trial against itself: nothing is worse, and nothing can be told.
    let _ = bench.refused(4, &compare);
    bench.done(&[&compare[..], &["--cannot-tell", "pass"]].concat());
    assert!(std::fs::read_to_string(bench.path("comparison.xml")).unwrap().contains("<skipped "));
    let _ = bench.refused(3, &[&compare[..], &["--cannot-tell", "fail"]].concat());
    assert!(std::fs::read_to_string(bench.path("comparison.xml")).unwrap().contains("<failure "));
    std::fs::write(bench.path("other.json"), "{}").unwrap();
    assert!(bench.refused(2, &["compare", "other.json", "last"]).contains("export RUN --as record"));
}

#[test]
fn fios_results_fill_a_folder_with_a_file_for_each_job() {
    let bench = Bench::new();
    measured(&bench);
    bench.done(&["export", "last", "--as", "fio", "-o", "fio/"]);
    let mut folders = vec![bench.path("fio")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                files += 1;
            }
        }
    }
    let trials = csv_rows(&bench.done(&["export", "last", "--as", "csv", "--rows", "trials"])).len();
    assert!(files == trials && files > 1, "{files} {trials}");
    assert!(bench.refused(2, &["export", "last", "--as", "fio", "-o", "fio"]).contains("--force"));
}
