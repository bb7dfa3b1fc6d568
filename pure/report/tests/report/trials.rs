//! Trials in charts: consecutive ones as a course, and hollow bars if the rate is in doubt.

use loadline_analysis::example::{ExampleDisk, cell, closed, predicted, run};
use loadline_analysis::summarize;
use loadline_load::LoadSpec;
use loadline_record::{Doubt, DoubtCode, RunRecord};
use loadline_report::html;

fn is_charted(record: &RunRecord) -> bool {
    html(&[(record, &summarize(record))]).contains("Trial by trial")
}

#[test]
fn draws_of_a_prediction_are_no_course_of_trials() {
    let mut record = predicted(&[1.0, 0.6, 1.4, 0.8, 1.2]);
    assert!(!is_charted(&record), "each draw begins anew, on another model");
    for (index, trial) in record.cells[0].trials.iter_mut().enumerate() {
        let model = trial.model.as_mut().expect("it is predicted");
        model.draw.number = 0;
        model.initial.carried = index > 0;
    }
    assert!(is_charted(&record), "each goes on where the one before left the storage");
    record.cells[0].trials.iter_mut().for_each(|trial| trial.model = None);
    assert!(is_charted(&record), "these were measured");
}

#[test]
fn too_few_requests_for_far_percentiles_make_no_bar_of_a_rate_hollow() {
    let hollow = |code| {
        let disk = ExampleDisk::default();
        let mut cells = [8, 32].map(|depth| cell(closed("random", 1.0, 4 << 10, depth), &disk, &[1.0]));
        for (cell, name) in cells.iter_mut().zip(["one", "other"]) {
            cell.load =
                LoadSpec { name: Some(name.to_owned()), ..loadline_analysis::example::planned(&cell.load.figures()) }
                    .into();
            cell.label = format!("{name}: {}", cell.label);
            cell.trials[0].doubts = vec![Doubt::written(code, "As seen.")];
        }
        let record = run(cells.into());
        let html = html(&[(&record, &summarize(&record))]);
        assert!(html.contains("The named loads"), "the bars");
        html.contains("rect hollow")
    };
    assert!(!hollow(DoubtCode::FewSamples));
    assert!(hollow(DoubtCode::NotSteady));
}
