//! A large matrix is still a file that a mail server accepts.

use crate::made_up;
use loadline_report::html;

/// The report of 200 cells with 300 s of series each must stay below this, in bytes.
const SIZE_MAX: usize = 10_000_000;

#[test]
fn two_hundred_cells_of_five_minutes_stay_below_ten_megabytes() {
    let (record, summary) = made_up::matrix(300, 1);
    let text = html(&[(&record, &summary)]);
    assert_eq!(text.matches("<details class=\"cell\"").count(), 200);
    assert!(text.len() < SIZE_MAX, "{} bytes", text.len());
}

#[test]
fn an_hour_is_thinned_and_says_so() {
    let plan = made_up::CellPlan { seconds: 3_600, ..made_up::CellPlan::closed("random", 0.5, 4096, 8) };
    let (record, summary) = made_up::run("an hour", &["data"], vec![made_up::cell(0, &plan)]);
    let text = html(&[(&record, &summary)]);
    assert!(text.contains("10,800 seconds drawn as at most 300 points"), "{text}");
    for path in text.split("data-name=\"").skip(1) {
        let points = path.split('"').nth(2).unwrap().matches(['M', 'L']).count();
        assert!(points <= 300, "{points} points in a line");
    }
}
