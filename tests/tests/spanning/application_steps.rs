//! The steps of an application on their whole way: stored, read again, analysed, reported, exported and compared.

use loadline_analysis::example::{ExampleDisk, cell, closed, latencies, run};
use loadline_analysis::{CompareOptions, compare, summarize};
use loadline_exported::{fio, openmetrics};
use loadline_record::{
    Access, ArrivalKind, Load, LoadFigures, OperationRecord, OthersLoad, RunRecord, RunStatus, RunVerb,
    SecondOperation, Step, StepName,
};
use loadline_report::frame::FrameValues;
use loadline_report::{Colour, Columns, TerminalOptions, html, markdown, terminal};
use loadline_store::Store;

const STEPS: [(&str, u64, f64); 3] =
    [("index commit", 60, 40e6), ("page fetched", 6_000, 2e6), ("row read", 120_000, 0.3e6)];

/// An application that read a disk and told of its own work.
fn crawl() -> RunRecord {
    let mut cell = cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0]);
    let figures = LoadFigures {
        pattern: Access::Application,
        arrival: ArrivalKind::Application,
        queue_depth: None,
        objective: None,
        ..cell.load.figures()
    };
    cell.load = Load::Application(OthersLoad { volume: cell.volume.clone(), by: None, figures });
    let trial = &mut cell.trials[0];
    for (name, count, mean_ns) in STEPS {
        let step = trial.steps.at(&StepName::new(name).unwrap()).unwrap();
        step.record = OperationRecord { count, latency: latencies(count, mean_ns), ..OperationRecord::default() };
        let second = SecondOperation { count: count / 60, p50_ns: mean_ns as u64, ..SecondOperation::default() };
        step.series = vec![second; 60];
    }
    let mut record = run(vec![cell]);
    (record.header.verb, record.status) = (RunVerb::Emulate, RunStatus::Finished);
    record
}

/// Stores a run trial by trial, and reads it.
fn through_the_store(record: &RunRecord) -> RunRecord {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("runs.db")).unwrap();
    let mut begun = record.cells.clone();
    for cell in &mut begun {
        cell.trials.clear();
    }
    store.begin_run(&record.header, &begun).unwrap();
    for cell in &record.cells {
        for trial in &cell.trials {
            store.finish_trial(&record.header.id, &cell.id, trial).unwrap();
        }
    }
    store.set_status(&record.header.id, record.status).unwrap();
    store.load(&record.header.id).unwrap()
}

#[test]
fn steps_come_back_from_the_store_with_their_latencies_and_their_course() {
    let record = crawl();
    let read = through_the_store(&record);
    assert_eq!(read, record);
    let steps: Vec<String> = read.cells[0].trials[0].all_steps().map(|(step, _)| step.name().to_owned()).collect();
    assert_eq!(steps, ["read", "index commit", "page fetched", "row read"]);
    assert!(matches!(Step::try_from("read".to_owned()), Ok(Step::Operation(_))));
}

/// A pipeline of two sources, as a crawl measures it.
fn pipeline() -> loadline_record::PipelineRecord {
    use loadline_pipeline::{Keep, PipelineItem, replay};
    use loadline_record::{BatchCost, CommitSpec, PipelineSpec, Politeness, QueueBound, SourceSpec, StationSpec, Work};
    let station = StationSpec { workers: 2, queue: QueueBound { items: 8, bytes: loadline_units::Bytes::mib(64) } };
    let source = |name: &str, slots| SourceSpec {
        name: name.to_owned(),
        slots,
        politeness: Politeness::default(),
        connections: None,
    };
    let cost = BatchCost {
        cpu_per_unit_ns: 1_000,
        cpu_ns: 0,
        write_ns: 4_000,
        write_per_unit_ns: 2_000,
        sync_ns: 3_000_000,
        requests: None,
    };
    let spec = PipelineSpec {
        cores: 2,
        network: None,
        sources: vec![source("share", 4), source("web", 16)],
        extract: station,
        index: station,
        database: station,
        segments: None,
        commit: Some(CommitSpec { every_items: Some(50), every: None, index: cost.clone(), database: cost }),
    };
    let items: Vec<PipelineItem> = (0..400)
        .map(|number| PipelineItem {
            source: number % 2,
            first_byte_ns: if number % 2 == 0 { 70_000_000 } else { 5_000_000 },
            work: [Work { cpu_ns: 900_000, device_ns: 0, other_ns: 0 }; 3],
            ..PipelineItem::default()
        })
        .collect();
    let keep = Keep { interval_ns: 1_000_000_000, items_max: 300, seed: 1 };
    replay(&spec, &items, None, keep).unwrap().record
}

#[test]
fn a_crawls_pipeline_comes_back_from_the_store_and_names_the_same_parts() {
    let mut record = crawl();
    record.cells[0].trials[0].pipeline = Some(Box::new(pipeline()));
    let read = through_the_store(&record);
    assert_eq!(read, record);
    let named = |record: &RunRecord| {
        loadline_pipeline::attribute(record.cells[0].trials[0].pipeline.as_deref().unwrap()).unwrap()
    };
    assert_eq!(named(&read), named(&record));
    // What reads runs without knowing a pipeline shows the same as ever.
    assert_eq!(summarize(&read).cells, summarize(&crawl()).cells);
}

#[test]
fn steps_have_figures_and_storage_counts_none_of_them() {
    let (with, mut without) = (through_the_store(&crawl()), crawl());
    without.cells[0].trials[0].steps = loadline_record::Steps::default();
    let (told, plain) = (summarize(&with), summarize(&without));
    assert_eq!(told.cells[0].total, plain.cells[0].total);
    assert_eq!(told.findings, plain.findings);
    let steps: Vec<(&str, f64)> = told.cells[0].steps.iter().map(|of| (of.name.name(), of.figures.iops)).collect();
    assert_eq!(steps, [("index commit", 1.0), ("page fetched", 100.0), ("row read", 2_000.0)]);
    assert!(loadline_report::frame::cells(&plain).columns().iter().all(|column| !column.name.starts_with("step_")));
    assert!(!fio::fio(&without, &plain).contains("\"steps\""));
    // A run without steps is written as ever.
    let json = |summary| serde_json::to_string(&loadline_report::run_document(summary)).unwrap();
    assert!(json(&told).contains(r#""name":"page fetched""#) && !json(&plain).contains("\"steps\""));
}

#[test]
fn every_form_of_a_report_has_a_row_for_each_step() {
    let record = through_the_store(&crawl());
    let summary = summarize(&record);
    let options = TerminalOptions { width: 160, colour: Colour::Never, columns: Columns::All };
    let texts = [terminal(&summary, &options), markdown(&summary), html(&[(&record, &summary)])];
    let exported = openmetrics(&summary, None);
    for (name, ..) in STEPS {
        assert!(texts.iter().all(|text| text.contains(name)), "{name}");
        assert!(exported.contains(&format!("operation=\"{name}\"")), "{name}: {exported}");
    }
    assert!(exported.contains("operation=\"page fetched\"} 100\n"), "{exported}");
    // The percentiles of a cell, with those of its steps.
    let row = "<tr><th scope=\"row\">page fetched</th><td class=\"num\">100</td>";
    assert!(texts[2].contains(row), "{row}");
    let cells = loadline_report::frame::cells(&summary);
    let column = cells.columns().iter().find(|column| column.name == "step_page fetched_iops").unwrap();
    let FrameValues::Float(rates) = &column.values else { panic!("{column:?}") };
    assert_eq!(rates.get(0), Some(100.0));
    assert!(fio::fio(&record, &summary).contains("\"name\": \"index commit\""));
}

#[test]
fn applications_are_compared_by_what_storage_did() {
    let (mut a, mut b) = (through_the_store(&crawl()), crawl());
    (a.header.id, b.header.id) = ("a".to_owned(), "b".to_owned());
    b.cells[0].trials[0].steps = loadline_record::Steps::default();
    let compared = compare(&[&a, &b], &CompareOptions::default()).unwrap();
    let against = &compared.against[0];
    assert_eq!((against.cells.len(), against.unmatched.len()), (1, 0));
    assert_eq!(against.cells[0].baseline_figure, against.cells[0].other_figure);
}
