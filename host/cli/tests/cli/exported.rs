//! `export` in the words of other tools, each read back by a program that knows the form.

use crate::Bench;
use crate::results::{csv_rows, measured};
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
