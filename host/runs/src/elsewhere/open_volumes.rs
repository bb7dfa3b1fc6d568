//! Volumes of this machine: none is opened.

use crate::trials::{NoTrial, TrialPlace, TrialRound};
use crate::{Error, Hunt, Observer, PlannedCell, Refusal, Settings, Work};
use loadline_record::{TrialRecord, VolumeFacts};
use std::convert::Infallible;
use std::ops::Index;

/// What a run measures: nothing.
#[derive(Debug)]
pub(crate) struct OpenVolumes(Infallible);

/// One of it.
#[derive(Debug)]
pub(crate) struct OpenVolume(Infallible);

impl Index<&String> for OpenVolumes {
    type Output = OpenVolume;

    fn index(&self, _: &String) -> &OpenVolume {
        match self.0 {}
    }
}

impl OpenVolume {
    pub(crate) fn facts(&self) -> VolumeFacts {
        match self.0 {}
    }
}

/// Refuses: nothing is measured on this machine.
///
/// # Errors
/// [`Refusal::NoRealStorage`].
pub(crate) fn open(
    _: &Work,
    _: &Settings,
    _: &str,
    _: &[VolumeFacts],
    _: &mut dyn Observer,
) -> Result<OpenVolumes, Error> {
    Err(Refusal::NoRealStorage.into())
}

pub(crate) fn look_at_use(opened: &OpenVolumes, _: &Work, _: &mut dyn Observer) -> Result<(), Error> {
    match opened.0 {}
}

pub(crate) fn keep(opened: &mut OpenVolumes) {
    match opened.0 {}
}

pub(crate) fn refuse_cells(_: &Work, _: &Settings, opened: &OpenVolumes) -> Result<(), Refusal> {
    match opened.0 {}
}

impl Hunt {
    pub(crate) fn leave_out_impossible(&mut self, opened: &OpenVolumes) -> Result<(), Refusal> {
        match opened.0 {}
    }
}

impl Settings {
    /// The same: no target stands anywhere.
    #[must_use]
    pub fn standing(&self) -> Self {
        self.clone()
    }
}

/// Volumes that are open on this machine: none.
#[derive(Debug)]
pub(crate) struct MeasuredPlace(Infallible);

impl MeasuredPlace {
    pub(crate) fn new(_: Settings, volumes: OpenVolumes, _: u64) -> Self {
        match volumes.0 {}
    }
}

impl TrialPlace for MeasuredPlace {
    type Cell = PlannedCell;

    fn carry_out(
        &mut self,
        _: &TrialRound<'_, PlannedCell>,
        _: &mut dyn Observer,
    ) -> Result<Vec<TrialRecord>, NoTrial> {
        match self.0 {}
    }

    fn facts(&self, _: &PlannedCell) -> Result<VolumeFacts, Error> {
        match self.0 {}
    }
}
