//! How near a replay on real storage came to its recording: whether requests came when they were due, and at the recorded rate.

use super::name_among;
use crate::finding::{Finding, FindingCode, FindingSeen};
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
        let (offered_iops, achieved_iops) = (trial.offered_iops.filter(|rate| *rate > 0.0)?, trial.iops()?);
        let late_p99_ns = lateness_p99_ns(trial)?;
        let seen = FindingSeen::Replayed { late_p99_ns, achieved_iops, offered_iops };
        let volume = name_among(record, &cell.volume);
        Some(Finding { code: FindingCode::ReplayedInTime, volume, seen, cells: vec![cell.id.clone()] })
    };
    record.cells.iter().filter_map(of).collect()
}
