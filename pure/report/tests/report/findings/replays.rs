//! Replays on real storage, as a reader meets them.

use super::texts;
use loadline_analysis::example::{self, ExampleDisk};
use loadline_analysis::{FindingCode, summarize};
use loadline_block::Operation;
use loadline_record::{Clock, Histogram, RunRecord, RunVerb};
use loadline_units::Duration;

#[test]
fn a_replay_on_real_storage_says_how_late_requests_came_and_which_rate_was_reached() {
    let load = example::closed("random", 1.0, 4096, 1);
    let mut record = example::run(vec![example::cell(load, &ExampleDisk::default(), &[1.0])]);
    record.header.verb = RunVerb::Replay;
    let told = |record: &RunRecord| texts(&summarize(record), FindingCode::ReplayedInTime);
    // Requests that come after answers have no rate of their own.
    assert!(told(&record).is_empty());
    let trial = &mut record.cells[0].trials[0];
    trial.offered_iops = Some(trial.iops().unwrap() * 1.01);
    let mut late = Histogram::default();
    (0..1_000).for_each(|_| late.record(Duration::from_us(60)));
    trial.operations.get_mut(&Operation::Read).unwrap().waiting = Some(late);
    let [text] = told(&record).try_into().unwrap();
    assert!(text.starts_with("99 % of the requests went out at most 60."), "{text}");
    assert!(text.ends_with("requests/s were reached (-0.99 %)."), "{text}");
    record.header.clock = Clock::Virtual;
    assert!(told(&record).is_empty(), "a model is never late");
}
