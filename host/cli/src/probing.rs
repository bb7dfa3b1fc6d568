//! Trials that are decided on one by one, as their figures come in: on open volumes, or on models.

use crate::books::Books;
use crate::execution::Execution;
use crate::interruption::Interruption;
use crate::live::{Live, Step};
use crate::moment;
use crate::preparation::{label, load_summary};
use crate::settings::Settings;
use crate::volumes::OpenVolumes;
use anyhow::{Context as _, bail};
use loadline_analysis::doubts;
use loadline_disk::{Fullness, InitialState, Warmth};
use loadline_engine::EngineChoice;
use loadline_prediction::{Going, Model, Putting, is_filled, predict, volume_facts};
use loadline_record::{Ending, TrialRecord};
use loadline_workload::{LoadSpec, RunCell, cell_seed};

/// A load that can be tried.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    /// Its cell.
    pub(crate) cell: RunCell,
    /// For people.
    pub(crate) label: String,
    /// The way to the device, in place of the run's own.
    pub(crate) engine: Option<EngineChoice>,
    /// Which of the models it is put on, where there are models.
    pub(crate) model: usize,
}

/// On what loads are tried.
#[derive(Debug)]
pub(crate) enum Place {
    /// What stands on this machine.
    Measured {
        /// What the run was told.
        settings: Box<Settings>,
        /// By name.
        volumes: OpenVolumes,
    },
    /// What an environment describes.
    Modelled {
        /// The environment, and variations of it.
        models: Vec<Model>,
        /// The volume in each of them.
        volume: String,
        /// How its storage is when a load begins.
        initially: Initially,
    },
}

/// Tries loads, and stores each trial as soon as it is finished.
pub(crate) struct Prober<'a> {
    /// On what.
    pub(crate) place: &'a mut Place,
    /// Where finished trials go.
    pub(crate) books: &'a mut Books,
    /// The run's id.
    pub(crate) run: &'a str,
    /// The run's seed.
    pub(crate) seed: u64,
    /// What people see.
    pub(crate) live: &'a mut Live,
    /// Whether the user wants an end.
    pub(crate) interruption: &'a Interruption,
}

/// In which state a model's storage is when a load begins; by default bursts are full, and caches follow the load.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Initially {
    /// Credits of disks.
    pub(crate) bursts: Fullness,
    /// Those of the virtual machine; `None`: as the disks'.
    pub(crate) vm_bursts: Option<Fullness>,
    /// `None`: warm where the target of a measurement would have been filled before.
    pub(crate) caches: Option<Warmth>,
}

impl Initially {
    /// For `load`.
    pub(crate) fn of(self, load: &LoadSpec) -> InitialState {
        let filled = if is_filled(load) { Warmth::Warm } else { Warmth::Cold };
        InitialState { bursts: self.bursts, vm_bursts: self.vm_bursts, caches: self.caches.unwrap_or(filled) }
    }
}

impl Prober<'_> {
    /// Runs one trial; `None` when the user stopped it. `counted` says which of how many it is.
    ///
    /// # Errors
    /// A trial that could not be started or that did not last as long as it should; or the store.
    pub(crate) fn trial(&mut self, probe: &Probe, trial: u32, counted: &str) -> anyhow::Result<Option<TrialRecord>> {
        if self.interruption.asked() {
            return Ok(None);
        }
        let record = match self.place {
            Place::Measured { .. } => self.measured(probe, trial, counted)?,
            Place::Modelled { .. } => self.modelled(probe, trial, counted)?,
        };
        if let Some(TrialRecord { ending: Ending::Failed(how) | Ending::Hung(how), .. }) = &record {
            bail!("{}: the trial ended early: {how}", probe.label);
        }
        Ok(record)
    }

    fn measured(&mut self, probe: &Probe, trial: u32, counted: &str) -> anyhow::Result<Option<TrialRecord>> {
        let Place::Measured { settings, volumes } = &mut *self.place else { unreachable!("the caller has looked") };
        let mut settings = settings.as_ref().clone();
        if let Some(engine) = probe.engine {
            settings.engine.engine = engine;
        }
        let mut execution = Execution {
            books: self.books,
            run: self.run,
            seed: self.seed,
            settings: &settings,
            volumes,
            live: self.live,
            interruption: self.interruption,
        };
        execution.probe(&probe.cell, trial, counted)
    }

    fn modelled(&mut self, probe: &Probe, trial: u32, counted: &str) -> anyhow::Result<Option<TrialRecord>> {
        let Place::Modelled { models, volume, initially } = &*self.place else { unreachable!("the caller has looked") };
        let model = &models[probe.model];
        let planned = probe.cell.spec.trial_time();
        self.live.begin(Step { place: counted.to_owned(), label: probe.label.clone(), planned, is_guessed: false });
        let putting = Putting {
            model,
            volume,
            load: &probe.cell.spec,
            trial,
            seed: cell_seed(self.seed, &probe.cell.id),
            initial: initially.of(&probe.cell.spec),
            started_unix_s: moment::unix_s(),
        };
        let interruption = self.interruption;
        let mut watch = |_| if interruption.asked() { Going::Stop } else { Going::On };
        let made = predict(&putting, None, &mut watch).with_context(|| probe.label.clone())?;
        let Some(made) = made else { return Ok(None) };
        let mut record = made.record;
        let facts = volume_facts(model, volume, &probe.cell.volume)?;
        record.doubts = doubts(&load_summary(&probe.cell.spec), &record, &facts);
        self.books.store()?.finish_trial(self.run, &probe.cell.id, &record)?;
        Ok(Some(record))
    }
}

/// A probe of a load as it stands on a volume; `occurrence` tells apart loads that are otherwise the same.
pub(crate) fn probe(volume: &str, spec: &LoadSpec, occurrence: u32) -> Probe {
    let id = loadline_workload::cell_id(volume, spec, occurrence);
    let cell =
        RunCell { id, volume: volume.to_owned(), spec: spec.clone(), order: loadline_workload::Order::Interleaved };
    Probe { label: label(spec), cell, engine: None, model: 0 }
}
