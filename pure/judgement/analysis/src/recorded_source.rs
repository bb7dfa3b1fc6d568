//! The source of a load that was recorded and is replayed: another storage than that of the run, and another limit.

use crate::summary::CellSummary;
use crate::verdict_block::{Advised, Holder, RecordedSource, VolumeVerdict};
use loadline_record::{DoubtEvidence, Limit, RunRecord, RunVerb};

impl RecordedSource {
    /// That of a run whose load was recorded at a limit.
    #[must_use]
    pub fn of(record: &RunRecord) -> Option<Self> {
        let mut doubts = record.cells.iter().flat_map(|cell| &cell.trials).flat_map(|trial| &trial.doubts);
        doubts.find_map(|doubt| match &doubt.seen {
            DoubtEvidence::SourceLimited { limit, share } => Some(Self { limit: limit.clone(), share: *share }),
            _ => None,
        })
    }

    /// A replay at the recorded pace says nothing of the application: the verdict speaks of this storage alone, and of the source apart.
    pub(crate) fn speak_apart(record: &RunRecord, cell: &CellSummary, verdict: &mut VolumeVerdict) {
        let is_pace = cell.binding.as_ref().is_some_and(|binding| binding.limit == Limit::Arrival);
        if record.header.verb == RunVerb::Replay && cell.is_of_others() && is_pace {
            verdict.held_by = Holder::RecordedPace;
            if Self::of(record).is_some() {
                verdict.next = Some(Advised::RecordWithout);
            }
        }
    }
}
