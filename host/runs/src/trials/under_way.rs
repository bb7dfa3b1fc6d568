//! A run under way: it begins for the observer, goes through its trials, closes its place, and is concluded in the store.

use crate::TrialCell;
use crate::trials::{TrialLoop, TrialPlace};
use crate::{Ahead, Ended, Error, Event, Observer, RunOutcome, RunStore, TrialsPlanned};

/// A run that stands in the store, with trials ahead.
#[derive(Debug, Clone, Copy)]
pub struct RunUnderWay<'a> {
    /// Its id.
    pub run: &'a str,
    /// The seed of every random choice.
    pub seed: u64,
    /// What is ahead.
    pub ahead: Ahead<'a>,
    /// Whether it was known from the beginning how many trials it has.
    pub planned: TrialsPlanned,
}

impl RunUnderWay<'_> {
    /// Carries out `trials`, and stores how the run ended, also when it ends with an error. Test files go before that: of
    /// a run that is over nobody would look for them.
    ///
    /// # Errors
    /// [`Error::RunEndedEarly`]; the store.
    pub fn carry_out<C: TrialCell>(
        self,
        place: &mut dyn TrialPlace<Cell = C>,
        mut store: RunStore,
        observer: &mut dyn Observer,
        trials: impl FnOnce(&mut TrialLoop<'_, C>) -> Result<Ended, Error>,
    ) -> Result<RunOutcome, Error> {
        let Self { run, seed, ahead, planned } = self;
        observer.event(&Event::RunBegins { run, seed, ahead });
        let result = trials(&mut TrialLoop::of(place, &mut store, run, observer));
        observer.event(&Event::Idle);
        place.close(observer);
        let outcome = store.conclude(run, result, planned)?;
        observer.event(&Event::Stored(&outcome.record));
        Ok(outcome)
    }
}
