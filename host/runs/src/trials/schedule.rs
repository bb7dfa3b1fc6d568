//! Which trials of a run are left, and in which order they are carried out.

use crate::TrialCell;
use crate::Work;
use crate::trials::TrialRound;
use loadline_workload::ScheduledTrial;
use std::collections::BTreeSet;

/// What a run has still to do.
#[derive(Debug)]
pub struct TrialSchedule<'a, C> {
    /// Rounds of a sequence are carried out in their order. Several sequences may go on side by side.
    pub(crate) sequences: Vec<Vec<TrialRound<'a, C>>>,
    /// Cells and trials that are kept already. A sequence may repeat them for the state in which they leave the storage.
    pub(crate) finished: &'a BTreeSet<(String, u32)>,
    /// Trials that are kept already, and are not repeated.
    pub(crate) done: usize,
    /// The cells are on several volumes.
    pub(crate) is_on_several: bool,
}

impl<'a, C: TrialCell> TrialSchedule<'a, C> {
    /// Every step that is not in `finished`, each a trial of the one cell at its place.
    #[must_use]
    pub fn of(cells: &'a [C], steps: &[ScheduledTrial], finished: &'a BTreeSet<(String, u32)>) -> Self {
        let is_left = |step: &&ScheduledTrial| !finished.contains(&(cells[step.group].id().to_owned(), step.trial));
        let left = steps.iter().filter(is_left);
        let sequences: Vec<_> = left.map(|step| vec![TrialRound::of(&cells[step.group], step.trial)]).collect();
        let done = steps.len() - sequences.len();
        Self { sequences, done, ..Self::of_sequences(cells, Vec::new(), finished) }
    }

    /// Every step of `work` of which a cell is not in `finished`; `cells` are those of the work.
    #[must_use]
    pub(crate) fn of_work(cells: &'a [C], work: &Work, finished: &'a BTreeSet<(String, u32)>) -> Self {
        let round = |step: &ScheduledTrial| TrialRound {
            cells: work.cells_of(step).iter().map(|cell| &cells[*cell]).collect(),
            trial: step.trial,
            ends: work.groups[step.group].ends,
        };
        let sequences: Vec<_> = work.left(finished).map(|step| vec![round(step)]).collect();
        let done = work.steps.len() - sequences.len();
        Self { sequences, done, ..Self::of_sequences(cells, Vec::new(), finished) }
    }

    /// Sequences of rounds over some of these cells.
    #[must_use]
    pub fn of_sequences(
        cells: &'a [C],
        sequences: Vec<Vec<TrialRound<'a, C>>>,
        finished: &'a BTreeSet<(String, u32)>,
    ) -> Self {
        let is_on_several = cells.iter().any(|cell| cell.volume() != cells[0].volume());
        Self { sequences, finished, done: 0, is_on_several }
    }

    /// Every round, in its order.
    pub fn rounds(&self) -> impl Iterator<Item = &TrialRound<'a, C>> {
        self.sequences.iter().flatten()
    }

    /// Trials that are carried out.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.rounds().map(|round| round.cells.len()).sum()
    }

    /// "random read 4 KiB, depth 32 on data, trial 2 of 3"; leaves out what there is only one of.
    pub(crate) fn label(&self, round: &TrialRound<'_, C>) -> String {
        let of = |cell: &&C| {
            let on = if self.is_on_several { format!(" on {}", cell.volume()) } else { String::new() };
            format!("{}{on}", cell.label())
        };
        let trials = round.cells[0].trials();
        let trial = if trials > 1 { format!(", trial {} of {trials}", round.trial + 1) } else { String::new() };
        let cells: Vec<String> = round.cells.iter().map(of).collect();
        format!("{}{trial}", cells.join(" beside "))
    }
}
