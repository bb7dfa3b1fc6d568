//! Trials that are chosen one by one, as their figures come in: on open volumes, or on models.

use crate::measured_trials::MeasuredTrials;
use crate::open_volumes::OpenVolumes;
use crate::work::label;
use crate::{Activity, Error, Observer, RunStore, Settings, wall_clock};
use loadline_analysis::doubts;
use loadline_disk::{Fullness, InitialState, Warmth};
use loadline_engine::EngineChoice;
use loadline_prediction::{Going, Model, Putting, is_filled, predict, volume_facts};
use loadline_record::{Ending, LoadFigures, TrialRecord};
use loadline_workload::{LoadSpec, RunCell, cell_seed};

/// A load that can be tried.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Its cell.
    pub cell: RunCell,
    /// For people.
    pub label: String,
    /// The way to the device, in place of the run's own.
    pub engine: Option<EngineChoice>,
    /// Which of the models it is put on, where there are models.
    pub model: usize,
}

/// On what loads are tried.
#[derive(Debug)]
pub enum TrialPlace {
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
pub struct Prober<'a> {
    /// On what.
    pub place: &'a mut TrialPlace,
    /// Where finished trials go.
    pub store: &'a mut RunStore,
    /// The run's id.
    pub run: &'a str,
    /// The run's seed.
    pub seed: u64,
    /// Who follows.
    pub observer: &'a mut dyn Observer,
}

/// In which state a model's storage is when a load begins; by default bursts are full, and caches follow the load.
#[derive(Debug, Clone, Copy, Default)]
pub struct Initially {
    /// Credits of disks.
    pub bursts: Fullness,
    /// Those of the virtual machine; `None`: as the disks'.
    pub vm_bursts: Option<Fullness>,
    /// `None`: warm where the target of a measurement would have been filled before.
    pub caches: Option<Warmth>,
}

impl Initially {
    /// For `load`.
    #[must_use]
    pub fn of(self, load: &LoadSpec) -> InitialState {
        let filled = if is_filled(load) { Warmth::Warm } else { Warmth::Cold };
        InitialState { bursts: self.bursts, vm_bursts: self.vm_bursts, caches: self.caches.unwrap_or(filled) }
    }
}

impl Prober<'_> {
    /// Runs one trial; `None` when the user stopped it. `counted` says which of how many it is.
    ///
    /// # Errors
    /// A trial that could not be started or that did not last as long as it should; or the store.
    pub fn trial(&mut self, probe: &Probe, trial: u32, counted: &str) -> Result<Option<TrialRecord>, Error> {
        if self.observer.wants_an_end() {
            return Ok(None);
        }
        let record = match self.place {
            TrialPlace::Measured { .. } => self.measured(probe, trial, counted)?,
            TrialPlace::Modelled { .. } => self.modelled(probe, trial, counted)?,
        };
        if let Some(TrialRecord { ending: Ending::Failed(how) | Ending::Hung(how), .. }) = &record {
            return Err(Error::EndedEarly { load: probe.label.clone(), how: how.clone() });
        }
        Ok(record)
    }

    fn measured(&mut self, probe: &Probe, trial: u32, counted: &str) -> Result<Option<TrialRecord>, Error> {
        let TrialPlace::Measured { settings, volumes } = &mut *self.place else {
            unreachable!("the caller has looked")
        };
        let mut settings = settings.as_ref().clone();
        if let Some(engine) = probe.engine {
            settings.engine.engine = engine;
        }
        let mut trials = MeasuredTrials {
            store: self.store,
            run: self.run,
            seed: self.seed,
            settings: &settings,
            volumes,
            observer: self.observer,
        };
        trials.probe(&probe.cell, trial, counted)
    }

    fn modelled(&mut self, probe: &Probe, trial: u32, counted: &str) -> Result<Option<TrialRecord>, Error> {
        let TrialPlace::Modelled { models, volume, initially } = &*self.place else {
            unreachable!("the caller has looked")
        };
        let model = &models[probe.model];
        let planned = probe.cell.spec.trial_time();
        self.observer.begins(&Activity {
            place: counted.to_owned(),
            label: probe.label.clone(),
            planned,
            is_guessed: false,
        });
        let putting = Putting {
            model,
            volume,
            load: &probe.cell.spec,
            trial,
            seed: cell_seed(self.seed, &probe.cell.id),
            initial: initially.of(&probe.cell.spec),
            started_unix_s: wall_clock::unix_s(),
        };
        let observer = &*self.observer;
        let mut watch = |_| if observer.wants_an_end() { Going::Stop } else { Going::On };
        let made = predict(&putting, None, &mut watch)
            .map_err(|source| Error::Prediction { what: probe.label.clone(), source })?;
        let Some(made) = made else { return Ok(None) };
        let mut record = made.record;
        let facts = volume_facts(model, volume, &probe.cell.volume)?;
        record.doubts = doubts(&LoadFigures::from(&probe.cell.spec), &record, &facts);
        self.store.store()?.finish_trial(self.run, &probe.cell.id, &record)?;
        Ok(Some(record))
    }
}

/// A probe of a load as it stands on a volume; `occurrence` tells apart loads that are otherwise the same.
#[must_use]
pub fn probe(volume: &str, spec: &LoadSpec, occurrence: u32) -> Probe {
    let id = loadline_workload::cell_id(volume, spec, occurrence);
    let cell =
        RunCell { id, volume: volume.to_owned(), spec: spec.clone(), order: loadline_workload::Order::Interleaved };
    Probe { label: label(spec), cell, engine: None, model: 0 }
}
