//! Trials in virtual time, on models of an environment.
//!
//! What is predicted does not depend on how many threads there are: every trial has its own model and seed.

use crate::PlannedCell;
use crate::trials::{NoTrial, TrialPlace, TrialRound};
use crate::{Advance, Course, Error, Event, NamedTarget, Observer, wall_clock};
use loadline_disk::{InitialState, Machine, Warmth};
use loadline_prediction::{
    Going, Initially, Model, Predicted, PredictionError, Progress, Putting, for_draw, predict, predict_together,
    volume_facts,
};
use loadline_record::{LoadFigures, TrialRecord, VolumeFacts};
use loadline_workload::{LoadSpec, RunCell, cell_seed};
use std::num::NonZero;

/// Plausible models of an environment, or variations of it.
#[derive(Debug, Clone)]
pub(crate) struct ModelledPlace<'a> {
    /// The middle first.
    models: &'a [Model],
    seed: u64,
    /// Names in the results, each with the volume of the environment. A volume that is not named is called as there.
    volumes: Vec<NamedTarget>,
    initially: Initially,
    course: Course,
    /// The storage as the last trial left it, where trials go on from one another.
    machine: Option<Machine>,
}

impl<'a> ModelledPlace<'a> {
    /// These models with their volumes, where each trial begins with the storage as new. `seed` is the run's.
    #[must_use]
    pub(crate) const fn new(models: &'a [Model], seed: u64, initially: Initially) -> Self {
        Self { models, seed, volumes: Vec::new(), initially, course: Course::Apart, machine: None }
    }

    /// With volumes that are called otherwise in the results.
    #[must_use]
    pub(crate) fn with_volumes(mut self, volumes: &[NamedTarget]) -> Self {
        self.volumes = volumes.to_vec();
        self
    }

    /// With trials that have this to do with one another.
    #[must_use]
    pub(crate) const fn with_course(mut self, course: Course) -> Self {
        self.course = course;
        self
    }

    /// The volume of the environment that a cell is on.
    fn volume<'c>(&'c self, cell: &'c PlannedCell) -> &'c str {
        let name = &cell.cell.volume;
        self.volumes.iter().find(|named| named.volume == *name).map_or(name, |named| &named.target)
    }

    fn model(&self, cell: &PlannedCell, trial: u32) -> &'a Model {
        &self.models[cell.model.unwrap_or(trial as usize % self.models.len())]
    }

    /// A cell's load as a trial of it puts it.
    fn load(&self, cell: &PlannedCell, trial: u32) -> LoadSpec {
        // Loads that run at the same time are not cut short, each by itself.
        if cell.is_beside {
            return cell.cell.spec.clone();
        }
        for_draw(self.model(cell, trial), self.volume(cell), &cell.cell.spec)
    }

    /// The state in which a round finds the storage: one load that begins with warm caches warms those of all.
    fn initial(&self, cells: &[&PlannedCell]) -> InitialState {
        let states: Vec<InitialState> = cells.iter().map(|cell| self.initially.of(&cell.cell.spec)).collect();
        *states.iter().find(|state| state.caches == Warmth::Warm).unwrap_or(&states[0])
    }
}

impl TrialPlace for ModelledPlace<'_> {
    type Cell = PlannedCell;

    fn carry_out(
        &mut self,
        round: &TrialRound<'_, PlannedCell>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<TrialRecord>, NoTrial> {
        let TrialRound { cells, trial, ends } = round;
        // Loads that run at the same time are not cut short, each by itself.
        let whole =
            |cell: &&PlannedCell| if cells.len() > 1 { cell.cell.spec.clone() } else { self.load(cell, *trial) };
        let loads: Vec<LoadSpec> = cells.iter().map(whole).collect();
        let (initial, started_unix_s) = (self.initial(cells), wall_clock::unix_s());
        // A chain of trials begins with its first.
        let carried = self.machine.take().filter(|_| *trial > 0);
        let puttings: Vec<Putting<'_>> = cells
            .iter()
            .zip(&loads)
            .map(|(cell, load)| Putting {
                model: self.model(cell, *trial),
                volume: self.volume(cell),
                load,
                trial: *trial,
                seed: cell_seed(self.seed, &cell.cell.id),
                initial,
                started_unix_s,
            })
            .collect();
        let mut watch = |progress: Progress| {
            observer
                .event(&Event::Advances(Advance::Virtual { elapsed: progress.elapsed, planned: progress.expected }));
            if observer.wants_an_end() { Going::Stop } else { Going::On }
        };
        let failed = |source: PredictionError| {
            let RunCell { volume, .. } = &cells[0].cell;
            Error::Prediction { what: format!("{} on volume {volume}", cells[0].label), source }
        };
        if let [putting] = &puttings[..] {
            let made = predict(putting, carried, &mut watch).map_err(failed)?;
            let Some(Predicted { record, machine }) = made else { return Err(NoTrial::Interrupted) };
            drop(puttings);
            self.machine = (self.course == Course::Carried).then_some(machine);
            return Ok(vec![record]);
        }
        predict_together(&puttings, *ends, &mut watch).map_err(failed)?.ok_or(NoTrial::Interrupted)
    }

    fn facts(&self, cell: &PlannedCell) -> Result<VolumeFacts, Error> {
        Ok(volume_facts(self.model(cell, 0), self.volume(cell), &cell.cell.volume)?)
    }

    fn cut_short(&self, cell: &PlannedCell, trial: u32) -> Option<LoadFigures> {
        let load = self.load(cell, trial);
        (load != cell.cell.spec).then(|| LoadFigures::from(&load))
    }

    fn lanes(&self, sequences: usize) -> Vec<Box<dyn TrialPlace<Cell = PlannedCell> + Send + '_>> {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(sequences).max(1);
        let lane = || Box::new(self.clone()) as Box<dyn TrialPlace<Cell = PlannedCell> + Send + '_>;
        std::iter::repeat_with(lane).take(threads).collect()
    }
}
