//! A run that ended before all of its loads: what it did not measure, and what may be said all the same.
//!
//! A limit that follows from figures rests on all of them: the loads that are missing may show another. What was read from a file, or
//! declared, is as certain as ever.

use crate::conclusion::Conclusion;
use crate::verdict_block::{Advised, Because, Certainty, Holder, LoadsMissing, VerdictBlock, VolumeVerdict};
use loadline_record::{CellRecord, Ending, RunRecord, RunStatus, RunVerb};

/// The loads of a run that ended early, or is under way, of which no trial came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished(LoadsMissing);

impl Unfinished {
    /// `None` where every load was measured, and of runs that do not go through a list of loads.
    pub(crate) fn of(record: &RunRecord) -> Option<Self> {
        let goes_through = matches!(record.header.verb, RunVerb::Run | RunVerb::Quick | RunVerb::Predict);
        if record.status == RunStatus::Finished || !goes_through {
            return None;
        }
        let is_missing = |cell: &&CellRecord| !cell.trials.iter().any(|trial| trial.ending == Ending::Complete);
        let loads: Vec<String> = record.cells.iter().filter(is_missing).map(|cell| cell.label.clone()).collect();
        (!loads.is_empty()).then_some(Self(LoadsMissing { loads, of: record.cells.len() }))
    }

    /// Takes back what rests on the loads that are missing, and says which they are.
    pub(crate) fn limit(&self, verdict: &mut VerdictBlock) {
        verdict.not_measured = Some(self.0.clone());
        for volume in &mut verdict.volumes {
            self.limit_volume(volume);
        }
        if let Some(objective) = &mut verdict.objective {
            objective.not_measured = Some(self.count());
        }
    }

    const fn count(&self) -> (usize, usize) {
        (self.0.loads.len(), self.0.of)
    }

    fn limit_volume(&self, volume: &mut VolumeVerdict) {
        if volume.certainty == Certainty::Certain {
            return;
        }
        volume.limit = None;
        volume.held_by = Holder::NotMeasured;
        volume.certainty = Certainty::Unknown;
        let (loads, of) = self.count();
        volume.because = Because::NotMeasured { loads, of };
        volume.next = Some(Advised::CarryOn);
        volume.command = None;
    }

    /// The conclusions that need no other load: those with a limit that was read, which a command lifts.
    pub(crate) fn supported(conclusions: Vec<Conclusion>, verdict: Option<&VerdictBlock>) -> Vec<Conclusion> {
        let is_certain = |conclusion: &Conclusion| {
            let volumes = verdict.iter().flat_map(|block| &block.volumes);
            volumes.into_iter().any(|of| of.certainty == Certainty::Certain && of.cell == conclusion.cell)
        };
        conclusions.into_iter().filter(is_certain).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, ExampleDisk};
    use crate::summarize;
    use loadline_record::{KernelThrottle, ThrottledQuantity, ThrottledRequests};

    /// Reads at two depths, of which this many were measured.
    fn interrupted(measured: usize) -> RunRecord {
        let disk = ExampleDisk { iops: 3_000.0, ..ExampleDisk::default() };
        let loads = [8, 32].map(|depth| example::closed("random", 1.0, 4 << 10, depth));
        let mut cells = loads.map(|load| example::cell(load, &disk, &[1.0]));
        for cell in &mut cells[measured..] {
            cell.trials.clear();
        }
        let mut record = example::run(cells.into());
        record.status = if measured < 2 { RunStatus::Interrupted } else { RunStatus::Finished };
        record
    }

    #[test]
    fn a_run_that_ended_early_names_no_limit_that_the_missing_loads_may_disprove() {
        let whole = summarize(&interrupted(2));
        let block = whole.verdict.expect("a verdict");
        assert_eq!(block.not_measured, None);
        assert!(block.volumes[0].limit.is_some() && !whole.conclusions.is_empty());
        let half = summarize(&interrupted(1));
        let block = half.verdict.expect("a verdict");
        let missing = LoadsMissing { loads: vec!["random read 4 KiB, depth 32".to_owned()], of: 2 };
        assert_eq!(block.not_measured, Some(missing));
        let volume = &block.volumes[0];
        assert_eq!((volume.limit, volume.certainty), (None, Certainty::Unknown));
        assert_eq!((&volume.held_by, &volume.next), (&Holder::NotMeasured, &Some(Advised::CarryOn)));
        assert_eq!(volume.gives.len(), 1);
        assert_eq!(block.objective.expect("judged").not_measured, Some((1, 2)));
        assert!(half.conclusions.is_empty(), "{:?}", half.conclusions);
    }

    #[test]
    fn a_throttle_that_was_read_is_known_whatever_is_missing() {
        let mut record = interrupted(1);
        record.header.volumes[0].devices[0].throttles = vec![KernelThrottle {
            requests: ThrottledRequests::Reads,
            counts: ThrottledQuantity::Requests,
            per_s: 3_000,
            group: "/db".into(),
            file: "/sys/fs/cgroup/db/io.max".into(),
            lifted_by: "7:0 riops=max".into(),
        }];
        let block = summarize(&record).verdict.expect("a verdict");
        assert!(block.not_measured.is_some());
        let volume = &block.volumes[0];
        assert_eq!(volume.certainty, Certainty::Certain);
        let Holder::Throttles { throttles, besides: None } = &volume.held_by else { panic!("{volume:?}") };
        assert_eq!((&*throttles[0].limit.group, volume.command.is_some()), ("/db", true));
    }
}
