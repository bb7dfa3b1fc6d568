//! The chart of trials is of trials that follow on one another.

use loadline_analysis::example::predicted;
use loadline_analysis::summarize;
use loadline_record::RunRecord;
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
