//! Comparisons of made-up runs against the files in `tests/golden`.

use crate::golden::compare as golden;
use loadline_analysis::example::{ExampleDisk, cell, closed, open, predicted, run, volume};
use loadline_analysis::{CompareOptions, Comparison, compare};
use loadline_record::{
    Access, ArrivalKind, Clock, Doubt, DoubtCode, Load, LoadFigures, OthersLoad, RunRecord, RunVerb,
};
use loadline_report::{Colour, Columns, TerminalOptions, comparison_csv, comparison_markdown, comparison_terminal};

/// A run with these factors for each load, and an example of every kind of sentence in a comparison.
fn made(name: &str, factors: [&[f64]; 6]) -> RunRecord {
    let disk = ExampleDisk::default();
    let loads = [
        closed("random", 1.0, 4 << 10, 1),
        closed("random", 1.0, 4 << 10, 32),
        closed("random", 0.0, 4 << 10, 32),
        closed("sequential", 1.0, 1 << 20, 8),
        closed("random", 0.7, 8 << 10, 16),
        open("random", 1.0, 4 << 10, 2_500.0),
    ];
    let mut record = run(loads.into_iter().zip(factors).map(|(load, f)| cell(load, &disk, f)).collect());
    name.clone_into(&mut record.header.name);
    record
}

fn two() -> Comparison {
    let before = made(
        "before",
        [&[1.0, 1.002, 0.998], &[1.0, 1.001, 0.999], &[1.0, 1.01, 0.99], &[1.0, 1.0, 1.001], &[1.0], &[1.0, 1.0]],
    );
    let mut after = made(
        "after",
        [&[0.9, 0.902, 0.898], &[1.101, 1.102, 1.103], &[1.0, 1.06, 1.03], &[1.001, 1.0, 1.0], &[1.0], &[1.0, 1.0]],
    );
    "20260201-101500-4d5e6f".clone_into(&mut after.header.id);
    "2026-02-01T10:15:00Z".clone_into(&mut after.header.started);
    after.header.host.kernel = Some("6.18.0".to_owned());
    after.header.host.hostname = Some("other".to_owned());
    after.header.clock = Clock::Virtual;
    after.cells[1].trials[0].doubts =
        vec![Doubt::written(DoubtCode::CachedReads, "40 % of the reads did not reach the device.")];
    after.cells[4].trials.clear();
    after.cells.push(cell(closed("random", 1.0, 64 << 10, 8), &ExampleDisk::default(), &[1.0]));
    compare(&[&before, &after], &CompareOptions::default()).unwrap()
}

/// One, two and four disks: shallow queues gain nothing, writes little.
fn disks() -> Comparison {
    let volumes = ["one", "two", "four"];
    let gains = [[1.0, 0.99, 0.9], [1.0, 1.95, 3.9], [1.0, 1.6, 1.9]];
    let mut cells = Vec::new();
    let mut record = run(Vec::new());
    record.header.volumes = volumes.iter().map(|name| volume(name)).collect();
    let loads =
        [closed("random", 1.0, 4 << 10, 1), closed("random", 1.0, 64 << 10, 32), closed("random", 0.0, 64 << 10, 32)];
    for (load, gains) in loads.iter().zip(gains) {
        for (name, gain) in volumes.iter().zip(gains) {
            let mut made = cell(load.clone(), &ExampleDisk::default(), &[gain, gain * 1.002, gain * 0.999]);
            (*name).clone_into(&mut made.volume);
            made.id = format!("{name}-{}", made.id);
            cells.push(made);
        }
    }
    record.cells = cells;
    compare(&[&record], &CompareOptions { disks: vec![1, 2, 4], ..CompareOptions::default() }).unwrap()
}

/// An application on an emulated disk, at so many times a usual rate.
pub(crate) fn application(name: &str, factor: f64) -> RunRecord {
    let mut record = run(vec![cell(closed("random", 0.7, 8 << 10, 8), &ExampleDisk::default(), &[factor])]);
    (record.header.name, record.header.id) = (name.to_owned(), format!("20260201-101500-{name}"));
    record.header.verb = RunVerb::Emulate;
    let cell = &mut record.cells[0];
    let figures =
        LoadFigures { arrival: ArrivalKind::Application, pattern: Access::Application, ..cell.load.figures() };
    cell.load = Load::Application(OthersLoad { volume: cell.volume.clone(), by: None, figures });
    "what others asked for".clone_into(&mut cell.label);
    record
}

#[test]
fn applications_side_by_side_with_what_they_count_and_without() {
    let (before, after) = (application("p10", 1.0), application("p30", 2.0));
    let of = |counted: &[f64]| {
        let options = CompareOptions { counted: counted.to_vec(), ..CompareOptions::default() };
        comparison_terminal(&compare(&[&before, &after], &options).unwrap(), &plain(140))
    };
    golden("comparison-applications.txt", &of(&[]));
    golden("comparison-applications-counted.txt", &of(&[199.0, 666.0]));
}

fn plain(width: usize) -> TerminalOptions {
    TerminalOptions { colour: Colour::Never, width, columns: Columns::Fitting }
}

#[test]
fn two_runs_on_a_terminal() {
    golden("comparison-140.txt", &comparison_terminal(&two(), &plain(140)));
    let narrow =
        comparison_terminal(&two(), &TerminalOptions { colour: Colour::Always, width: 80, columns: Columns::Fitting });
    golden("comparison-80-colour.txt", &narrow);
}

#[test]
fn two_runs_as_markdown_and_csv() {
    golden("comparison.md", &comparison_markdown(&two()));
    golden("comparison.csv", &comparison_csv(&two()));
}

/// The fields of a line without quotes around commas, by the names of the columns.
fn fields<'a>(text: &'a str, label: &'a str) -> std::collections::BTreeMap<&'a str, &'a str> {
    let mut lines = text.split("\r\n");
    let names = lines.next().unwrap().split(',');
    let line = lines.find(|line| line.contains(label)).unwrap_or_else(|| panic!("{label} in {text}"));
    let (before, after) = line.split_once(&format!("\"{label}\"")).unwrap();
    names.zip(before.split(',').take(6).chain([label]).chain(after.split(',').skip(1))).collect()
}

#[test]
fn every_cell_of_either_side_keeps_its_own_figures_where_the_other_has_none() {
    let told = two();
    // B's trial did nothing: A has its figures, and there is no ratio.
    let text = comparison_csv(&told);
    let row = fields(&text, "random 70 % read 8 KiB, depth 16");
    for column in ["iops", "throughput_bytes_per_s", "mean_latency_ns", "p50_latency_ns", "p99_latency_ns"] {
        let (baseline, other) = (row[format!("baseline_{column}").as_str()], row[format!("other_{column}").as_str()]);
        assert!(baseline.parse::<f64>().is_ok_and(|value| value > 0.0) && other.is_empty(), "{column}: {row:?}");
    }
    assert_eq!((row["rate_ratio"], row["verdict"]), ("", "cannot-tell"));
    // And the reverse.
    let turned = {
        let (mut before, after) = (made("a", [&[1.0]; 6]), made("b", [&[1.0]; 6]));
        before.cells[0].trials.clear();
        before.cells.remove(5);
        compare(&[&before, &after], &CompareOptions::default()).unwrap()
    };
    let text = comparison_csv(&turned);
    let row = fields(&text, "random read 4 KiB, depth 1");
    assert!(row["baseline_iops"].is_empty() && row["other_iops"].parse::<f64>().unwrap() > 0.0, "{row:?}");
    // A cell of one side alone is a row, too, in every form.
    let row = fields(&text, "random read 4 KiB, 2500 IOPS Poisson");
    assert!(row["baseline_cell_id"].is_empty() && row["baseline_iops"].is_empty(), "{row:?}");
    assert!(row["other_iops"].parse::<f64>().unwrap() > 0.0 && row["why"] == "only the other has this cell", "{row:?}");
    let json = serde_json::to_value(loadline_report::ComparisonDocument::of(&turned)).unwrap();
    let alone = &json["against"][0]["unmatched"][0];
    assert!(alone["figures"].as_array().unwrap().len() > 4, "{alone}");
    let cell = &json["against"][0]["cells"][0];
    assert_eq!((cell["baseline_figures"].as_array().unwrap().len(), cell["ratios"].as_array().unwrap().len()), (0, 0));
    assert!(cell["other_figures"].as_array().unwrap().len() > 4, "{cell}");
    let line = comparison_markdown(&turned);
    assert!(line.contains("random read 4 KiB, 2500 IOPS Poisson: 2,5"), "{line}");
}

#[test]
fn more_disks() {
    golden("comparison-disks.txt", &comparison_terminal(&disks(), &plain(140)));
    golden("comparison-disks.md", &comparison_markdown(&disks()));
}

#[test]
fn predictions_show_what_their_draws_leave_open() {
    let prediction = |draws: &[f64], disk: &str| {
        let mut record = predicted(draws);
        disk.clone_into(&mut record.header.id);
        record.header.volumes[0].devices[0].model = Some(disk.to_owned());
        record
    };
    let (a, b) = (prediction(&[1.0, 0.6, 2.4], "slow"), prediction(&[1.1, 0.5, 1.5], "fast"));
    let told = compare(&[&a, &b], &CompareOptions::default()).unwrap();
    let text = comparison_terminal(&told, &plain(140));
    assert!(text.contains("over draws") && text.contains("0.208–2.500"), "{text}");
    assert!(text.contains("cannot tell in 1 cell: the draws overlap"), "{text}");
    assert!(text.contains("Intervals tell how well the most plausible draw"), "{text}");
}

#[test]
fn no_line_is_longer_than_the_terminal() {
    for comparison in [two(), disks()] {
        for width in [80, 100, 140] {
            let text = comparison_terminal(&comparison, &plain(width));
            let long = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(long, None, "at {width}");
            assert!(!text.contains('\x1b'));
        }
    }
}

#[test]
fn a_trade_off_is_told_as_one() {
    let of = |id: &str, reads: f64, writes: f64| {
        let steady = |factor: f64| [1.0, 1.002, 0.998].map(|f| f * factor);
        let loads = [(closed("random", 1.0, 4 << 10, 8), reads), (closed("random", 0.0, 4 << 10, 8), writes)];
        let cells = loads.into_iter().map(|(load, factor)| cell(load, &ExampleDisk::default(), &steady(factor)));
        let mut run = run(cells.collect());
        id.clone_into(&mut run.header.id);
        id.clone_into(&mut run.header.name);
        run
    };
    let (old, new) = (of("old", 1.0, 1.0), of("new", 1.5, 0.667));
    let comparison = compare(&[&old, &new], &CompareOptions::default()).unwrap();
    let options = TerminalOptions { colour: Colour::Never, width: 140, columns: Columns::All };
    let text = comparison_terminal(&comparison, &options);
    assert!(text.contains("it depends on the load: B and A are each better at some"), "{text}");
    assert!(text.contains("better at random read 4 KiB, depth 8; worse at random write 4 KiB, depth 8"), "{text}");
    assert!(!text.contains("more trials, in turns"), "{text}");
}
