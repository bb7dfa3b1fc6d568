//! How near a replay on real storage came to its recording: whether requests came when they were due, and at the recorded rate.

use super::codes;
use crate::summary::Finding;
use crate::words::{number, span};
use loadline_record::{Clock, Histogram, RunRecord, RunVerb, TrialRecord};

/// The 99th percentile of how late requests went to the device, ns.
fn lateness_p99_ns(trial: &TrialRecord) -> Option<f64> {
    let mut all = Histogram::default();
    for own in trial.operations.values().filter_map(|of| of.waiting.as_ref()) {
        all.merge(own);
    }
    all.quantile(0.99).map(|late| late.as_ns() as f64)
}

/// One for each volume whose requests were asked by time.
pub(super) fn told(record: &RunRecord) -> Vec<Finding> {
    if record.header.verb != RunVerb::Replay || record.header.clock != Clock::Real {
        return Vec::new();
    }
    let of = |cell: &loadline_record::CellRecord| {
        let trial = cell.trials.last()?;
        let (offered, achieved) = (trial.offered_iops.filter(|rate| *rate > 0.0)?, trial.iops()?);
        let late = lateness_p99_ns(trial)?;
        let prefix = if record.header.volumes.len() > 1 { format!("{}: ", cell.volume) } else { String::new() };
        let text = format!(
            "{prefix}99 % of the requests went out at most {} after they were due; {} of {} requests/s were reached ({:+.2} %).",
            span(late),
            number(achieved),
            number(offered),
            (achieved / offered - 1.0) * 100.0
        );
        Some(Finding { code: codes::REPLAYED.to_owned(), text, cells: vec![cell.id.clone()] })
    };
    record.cells.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, ExampleDisk};
    use crate::summarize;
    use loadline_block::Operation;
    use loadline_units::Duration;

    #[test]
    fn a_replay_on_real_storage_says_how_late_requests_came_and_which_rate_was_reached() {
        let load = example::closed("random", 1.0, 4096, 1);
        let mut record = example::run(vec![example::cell(load, &ExampleDisk::default(), &[1.0])]);
        record.header.verb = RunVerb::Replay;
        let told = |record: &RunRecord| {
            let all = summarize(record).findings.into_iter();
            all.filter(|found| found.code == codes::REPLAYED).map(|found| found.text).collect::<Vec<_>>()
        };
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
}
