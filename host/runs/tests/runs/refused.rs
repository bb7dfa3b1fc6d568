//! Requests that are refused before anything is done: typed, and without an option of any command line.

use crate::folder;
use crate::measure::PLAN;
use loadline_runs::{Error, Measurement, Overrides, Refusal, RunOptions, Settings, Silent, sole_target};
use loadline_workload::Plan;

fn refusal_of(measurement: Measurement) -> Refusal {
    let folder = folder();
    let store = folder.path().join("runs.db");
    let error = measurement.run(&RunOptions::default().stored_in(&store), &mut Silent::default()).unwrap_err();
    let Error::Refused(refusal) = error else { panic!("{error}") };
    assert!(!refusal.to_string().contains("--"), "{refusal}");
    *refusal
}

fn plan(text: &str) -> Plan {
    Plan::parse(text, "test").unwrap()
}

#[test]
fn targets_are_named_once_each_by_names_that_volumes_can_have() {
    assert!(matches!(refusal_of(Measurement::new(plan(PLAN))), Refusal::NoTarget));
    let twice = Measurement::new(plan(PLAN)).on("data", "null").on("data", "/tmp");
    assert!(matches!(refusal_of(twice), Refusal::VolumeTwice { volume } if volume == "data"));
    let misnamed = Measurement::new(plan(PLAN)).on("a=b", "null");
    assert!(matches!(refusal_of(misnamed), Refusal::VolumeName { name } if name == "a=b"));
}

#[test]
fn a_plan_that_only_writes_leaves_nothing_where_nothing_may_be_written() {
    let writes = PLAN.replace("pattern", "reads = \"0 %\"\npattern");
    assert!(matches!(
        refusal_of(Measurement::new(plan(&writes)).on("data", "null").read_only()),
        Refusal::NothingToMeasure
    ));
}

#[test]
fn values_that_contradict_a_load_are_refused_with_the_load() {
    let overrides = Overrides { size: Some(loadline_units::Bytes::new(512)), ..Overrides::default() };
    let settings = Settings { overrides, ..Settings::of(sole_target("null")) };
    let refusal = refusal_of(Measurement::of(vec![plan(PLAN)], settings));
    assert!(matches!(refusal, Refusal::Contradiction { .. }), "{refusal}");
}

#[test]
fn what_a_target_cannot_do_is_found_before_the_run_begins() {
    let verified = PLAN.replace("pattern", "reads = \"0 %\"\nverify = true\npattern");
    let refusal = refusal_of(Measurement::new(plan(&verified)).on("data", "null"));
    assert!(matches!(refusal, Refusal::KeepsNothing { .. }), "{refusal}");
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, vec![0; 8 << 20]).unwrap();
    let several = PLAN.replace("pattern", "files = 2\npattern");
    let refusal = refusal_of(Measurement::new(plan(&several)).on("data", file.to_str().unwrap()));
    assert!(matches!(refusal, Refusal::NoDirectory { files: 2, .. }), "{refusal}");
    let writes = PLAN.replace("pattern", "reads = \"50 %\"\npattern");
    let both = Measurement::new(plan(&writes)).on("a", file.to_str().unwrap()).on("b", file.to_str().unwrap());
    assert!(matches!(refusal_of(both), Refusal::Overlap { .. }));
}
