//! Where trials are carried out: all that a run asks of devices, models, other machines and applications.

use crate::TrialCell;
use crate::{Error, Loss, Observer};
use loadline_record::{LoadFigures, TrialRecord, VolumeFacts};
use loadline_units::Duration;
use loadline_workload::GroupEnd;

/// Carries out trials. It judges none and keeps none: that is the loop's.
pub trait TrialPlace {
    /// A cell, with what this place needs to put its load somewhere.
    type Cell: TrialCell;

    /// Looks at all that is ahead, before the first round. Time that comes on top of the trials' own is announced.
    fn look_ahead(&mut self, rounds: &[&TrialRound<'_, Self::Cell>], observer: &mut dyn Observer) {
        let _ = (rounds, observer);
    }

    /// Makes the round's volumes ready, such as by filling them.
    ///
    /// # Errors
    /// Why the round is not carried out.
    fn prepare(&mut self, round: &TrialRound<'_, Self::Cell>, observer: &mut dyn Observer) -> Result<(), NoTrial> {
        let _ = (round, observer);
        Ok(())
    }

    /// Carries out a round, and returns a record for each of its cells, in their order. A place may enter doubts that it
    /// alone knows. It looks now and then whether the observer wants an end.
    ///
    /// # Errors
    /// Why the round was not carried out.
    fn carry_out(
        &mut self,
        round: &TrialRound<'_, Self::Cell>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<TrialRecord>, NoTrial>;

    /// What is known of the cell's volume as its last trial found it.
    ///
    /// # Errors
    /// There is no such volume.
    fn facts(&self, cell: &Self::Cell) -> Result<VolumeFacts, Error>;

    /// The figures of a load that this trial cuts short, because it only gives a range; `None` where it is whole.
    fn cut_short(&self, cell: &Self::Cell, trial: u32) -> Option<LoadFigures> {
        let _ = (cell, trial);
        None
    }

    /// Places like this one for so many sequences of rounds at most, each for a thread of its own. Without any, all is
    /// carried out here, one round after the other. A place that stands on a thread of its own shows nothing to the
    /// observer but how far it is.
    fn lanes(&self, sequences: usize) -> Vec<Box<dyn TrialPlace<Cell = Self::Cell> + Send + '_>> {
        let _ = sequences;
        Vec::new()
    }

    /// Lets go of what it holds. Test files are removed.
    fn close(&mut self, observer: &mut dyn Observer) {
        let _ = observer;
    }
}

/// One trial of a cell, or of several cells at the same time.
#[derive(Debug)]
pub struct TrialRound<'a, C> {
    /// Never empty.
    pub cells: Vec<&'a C>,
    /// Which trial of its cell, from 0.
    pub trial: u32,
    /// When it is over.
    pub ends: GroupEnd,
}

impl<'a, C: TrialCell> TrialRound<'a, C> {
    /// One trial of one cell.
    #[must_use]
    pub fn of(cell: &'a C, trial: u32) -> Self {
        Self { cells: vec![cell], trial, ends: GroupEnd::Each }
    }

    /// How long it takes at most.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.cells.iter().map(|cell| cell.trial_time()).max().unwrap_or_default()
    }

    /// Whether one of its cells is on this volume.
    #[must_use]
    pub(crate) fn is_on(&self, volume: &str) -> bool {
        self.cells.iter().any(|cell| cell.volume() == volume)
    }
}

/// Why a round was not carried out.
#[derive(Debug)]
pub enum NoTrial {
    /// The observer wanted an end before it was over. Nothing of it is kept.
    Interrupted,
    /// It can never be carried out. That is kept, so that it is not tried again.
    Impossible(Error),
    /// The system did not let it begin, and may another time. It is left for later.
    NotStarted(Error),
    /// The volume does not answer any more. Its other trials are left out.
    VolumeLost {
        /// The volume's name.
        volume: String,
        /// How that shows.
        why: Loss,
    },
    /// Nothing else can be carried out either.
    RunEnds(Error),
}

impl<E: Into<Error>> From<E> for NoTrial {
    fn from(error: E) -> Self {
        Self::RunEnds(error.into())
    }
}
