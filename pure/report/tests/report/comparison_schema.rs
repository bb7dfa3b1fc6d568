//! The published schema and what comparisons really are: each holds the other.

use loadline_analysis::example::{ExampleDisk, cell, closed, open, run, volume};
use loadline_analysis::{Basis, CompareOptions, Comparison, Figure, Gain, Verdict, compare};
use loadline_record::{Clock, Doubt, DoubtCode, PlanText, RunRecord};
use loadline_report::ComparisonDocument;
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/formats/comparison.schema.json")).expect("the schema is JSON")
}

#[track_caller]
fn holds(comparison: &Comparison) -> Value {
    let validator = jsonschema::draft202012::new(&schema()).expect("the schema is a schema");
    let value = serde_json::to_value(ComparisonDocument::of(comparison)).expect("a comparison is JSON");
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(&serde_json::from_value::<Comparison>(value.clone()).expect("it reads back"), comparison);
    value
}

#[test]
fn applications_follow_the_schema() {
    let sides = [("p10", 1.0), ("p30", 2.0)].map(|(name, factor)| crate::comparison::application(name, factor));
    let options = CompareOptions { counted: vec![199.0, 666.0], ..CompareOptions::default() };
    let mut found = compare(&[&sides[0], &sides[1]], &options).unwrap();
    // What holds a side is text there.
    for side in &mut found.applications {
        assert!(side.held_by.take().is_some());
    }
    let value = holds(&found);
    assert_eq!(value["applications"][1]["counted_per_s"], json!(666.0));
    assert_eq!(value["against"][0]["cells"][0]["figure"], json!("counted"));
}

fn made(factors: &[f64]) -> RunRecord {
    let disk = ExampleDisk::default();
    run(vec![
        cell(closed("random", 1.0, 4 << 10, 8), &disk, factors),
        cell(closed("random", 0.0, 4 << 10, 8), &disk, factors),
        cell(open("random", 0.5, 4 << 10, 900.0), &disk, factors),
    ])
}

#[test]
fn a_comparison_with_everything_in_it_follows_the_schema() {
    let (a, mut b) = (made(&[1.0, 1.01, 0.99]), made(&[0.8, 0.81, 0.79]));
    b.header.id = "other".to_owned();
    b.header.clock = Clock::Virtual;
    b.header.version = "9.9.9".to_owned();
    b.header.environment = Some(PlanText { name: "e".to_owned(), text: String::new(), hash: "1".to_owned() });
    let host = &mut b.header.host;
    (host.hostname, host.cpus) = (Some("elsewhere".to_owned()), Some(99));
    b.header.plans[0].hash = "2".to_owned();
    let volume = &mut b.header.volumes[0];
    (volume.target, volume.size_bytes, volume.direct) = ("/elsewhere".to_owned(), Some(1 << 20), false);
    b.cells[1].trials[0].doubts = DoubtCode::ALL.map(|code| Doubt::written(code, "Seen.")).to_vec();
    b.cells[2].trials.clear();
    b.cells.push(cell(closed("random", 1.0, 1 << 20, 8), &ExampleDisk::default(), &[1.0]));
    let value = holds(&compare(&[&a, &b], &CompareOptions::default()).unwrap());
    let codes: Vec<&str> =
        value["against"][0]["notes"].as_array().unwrap().iter().map(|n| n["code"].as_str().unwrap()).collect();
    assert_eq!(
        codes,
        ["clock", "target", "volume-size", "page-cache", "machine", "cpus", "version", "plan", "environment"]
    );
    let cell = &value["against"][0]["cells"][2];
    assert_eq!(cell["why"], "the other has no trial");
    assert_eq!(cell["undecided"], json!({ "kind": "no-figure", "baseline": null, "other": "no-trial" }));
    let cpus = &value["against"][0]["notes"][5];
    assert_eq!((&cpus["code"], &cpus["other"]), (&json!("cpus"), &json!(99)));
    assert_eq!(value["against"][0]["unmatched"][0]["side"], 1);
    assert_eq!(value["scaling"], Value::Null);
}

#[test]
fn scaling_follows_the_schema() {
    let mut record = made(&[1.0, 1.01, 0.99, 1.02, 0.98]);
    record.header.volumes = ["one", "two"].map(volume).to_vec();
    let mut more = record.cells.clone();
    for cell in &mut record.cells {
        cell.volume = "one".to_owned();
    }
    for cell in &mut more {
        cell.volume = "two".to_owned();
    }
    record.cells.extend(more);
    let options = CompareOptions { disks: vec![1, 2], ..CompareOptions::default() };
    let value = holds(&compare(&[&record], &options).unwrap());
    assert_eq!(value["scaling"]["cells"].as_array().unwrap().len(), 2);
    assert_eq!(value["scaling"]["totals"].as_array().unwrap().len(), 2);
    assert_eq!(value["against"][0]["cells"][0]["ratios"][0]["basis"], "paired-trials");
}

#[test]
fn trials_too_short_to_tell_follow_the_schema() {
    let (mut a, mut b) = (made(&[1.0]), made(&[1.0]));
    b.header.id = "other".to_owned();
    for run in [&mut a, &mut b] {
        for cell in &mut run.cells {
            cell.trials[0].series.seconds.truncate(5);
        }
    }
    let value = holds(&compare(&[&a, &b], &CompareOptions::default()).unwrap());
    assert_eq!(value["against"][0]["overall"][0]["low"], Value::Null);
    assert_eq!(value["against"][0]["overall"][0]["verdict"], "cannot-tell");
    assert_eq!(value["against"][0]["cells"][0]["ratios"][0]["basis"], Value::Null);
}

#[test]
fn the_schema_lists_the_figures_and_the_verdicts_that_there_are() {
    let schema = schema();
    let listed = |path: &str| schema.pointer(path).and_then(Value::as_array).expect(path).clone();
    let figures: Vec<Figure> = Figure::ALL.into_iter().chain([Figure::Counted]).collect();
    assert_eq!(listed("/$defs/figure/enum"), figures.iter().map(|f| json!(f.name())).collect::<Vec<_>>());
    assert_eq!(listed("/$defs/figure/enum"), figures.iter().map(|f| json!(f)).collect::<Vec<_>>());
    let verdicts = [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::CannotTell];
    assert_eq!(listed("/$defs/verdict/enum"), verdicts.map(|v| json!(v)));
    let gains = [Gain::Gains, Gain::Loses, Gain::Unchanged, Gain::CannotTell];
    assert_eq!(listed("/$defs/point/properties/gain/enum"), gains.map(|g| json!(g)));
    let bases = [Basis::PairedTrials, Basis::Trials, Basis::TrialsOfOneSide, Basis::OneTrial].map(|b| json!(b));
    assert_eq!(listed("/$defs/ratio/properties/basis/enum")[..4], bases);
}
