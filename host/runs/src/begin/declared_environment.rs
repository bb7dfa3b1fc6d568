//! A measured machine as an environment declares it: where its volumes are, and the ceilings of each cell.

use crate::begin::work::label;
use crate::{Error, NamedTarget, Refusal, Work};
use loadline_catalog::Environment;
use loadline_disk::{HostCache, InitialState, Warmth};
use loadline_prediction::{Going, Limits, Model, Putting, ceilings, fit, is_filled, models, predict, volume_facts};
use loadline_record::{Ceiling, CellRecord, PlanText};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, RunCell};

/// How long the share of reads that a host's cache answers is simulated for.
const HITS_TIME: Duration = Duration::from_s(2);

/// An environment as it was declared for a measurement.
#[derive(Debug)]
pub struct DeclaredEnvironment {
    environment: Environment,
    model: Model,
}

impl DeclaredEnvironment {
    /// Of an environment, with limits as they are known to be delivered.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        let model = models(&environment, 1, 0, Limits::Delivered).remove(0);
        Self { environment, model }
    }

    /// What the run keeps of it.
    #[must_use]
    pub fn text(&self) -> PlanText {
        let Environment { name, text, .. } = &self.environment;
        PlanText { name: name.clone(), text: text.clone(), hash: self.environment.hash() }
    }

    /// The volumes that say where they are on this machine.
    ///
    /// # Errors
    /// [`Refusal::NoPaths`] where none does.
    pub fn targets(&self) -> Result<Vec<NamedTarget>, Refusal> {
        let placed = self
            .environment
            .volumes
            .iter()
            .filter_map(|volume| Some(NamedTarget { volume: volume.name.clone(), target: volume.path.clone()? }));
        let targets: Vec<NamedTarget> = placed.collect();
        if targets.is_empty() {
            return Err(Refusal::NoPaths { environment: self.environment.name.clone() });
        }
        Ok(targets)
    }

    /// Checks that every target is a volume of the environment.
    ///
    /// # Errors
    /// [`Refusal::NotDeclared`] that names those there are.
    pub fn check(&self, targets: &[NamedTarget]) -> Result<(), Refusal> {
        for target in targets {
            volume_facts(&self.model, self.volume(&target.volume), &target.volume).map_err(Refusal::NotDeclared)?;
        }
        Ok(())
    }

    /// The volume of the environment that a volume of the run is: the one of its name, or the only one.
    fn volume<'a>(&'a self, name: &'a str) -> &'a str {
        match &self.environment.volumes[..] {
            [only] if name != only.name && !name.contains('/') => &only.name,
            _ => name,
        }
    }

    /// The cells with which the run begins, each with its ceilings. `size_of` gives what a volume of the run measures.
    ///
    /// # Errors
    /// A load that cannot be modelled there.
    pub fn records(&self, work: &Work, size_of: impl Fn(&RunCell) -> Option<Bytes>) -> Result<Vec<CellRecord>, Error> {
        let mut records = work.records();
        for (cell, record) in work.cells.iter().zip(&mut records) {
            record.ceilings = self.ceilings(&cell.volume, &cell.spec, size_of(cell))?;
        }
        Ok(records)
    }

    /// The ceilings of a load on a volume that measures so much.
    ///
    /// # Errors
    /// A load that cannot be modelled there.
    pub fn ceilings(&self, name: &str, spec: &LoadSpec, size: Option<Bytes>) -> Result<Vec<Ceiling>, Error> {
        let load = LoadSpec { size: spec.size.or(size), ..spec.clone() };
        let volume = self.volume(name);
        let hits = self.hits(volume, &load)?;
        let found = ceilings(&self.model, volume, &fit(&load, None), hits).map_err(|source| Error::Ceilings {
            load: label(spec),
            volume: name.to_owned(),
            source,
        })?;
        Ok(found.list())
    }

    /// The volumes of the environment: their names, and where they are on the machine that was measured.
    pub fn volumes(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.environment.volumes.iter().map(|volume| (volume.name.as_str(), volume.path.as_deref()))
    }

    /// The share of reads that the host's cache answers, as the model has it.
    fn hits(&self, volume: &str, load: &LoadSpec) -> Result<f64, Error> {
        let name = volume.split('/').next().unwrap_or(volume);
        let of = self.environment.volumes.iter().find(|known| known.name == name);
        if of.is_none_or(|volume| volume.host_cache.mode == HostCache::None) || !load.reads_any() {
            return Ok(0.0);
        }
        let load = LoadSpec {
            warm_up: Duration::ZERO,
            duration: load.duration.min(HITS_TIME),
            pause: Duration::ZERO,
            ..load.clone()
        };
        let caches = if is_filled(&load) { Warmth::Warm } else { Warmth::Cold };
        let initial = InitialState { caches, ..InitialState::default() };
        let putting =
            Putting { model: &self.model, volume, load: &load, trial: 0, seed: 0, initial, started_unix_s: 0 };
        let made = predict(&putting, None, &mut |_| Going::On).map_err(|source| Error::Prediction {
            what: format!("the host's cache of volume {volume} cannot be modelled"),
            source,
        })?;
        let model = made.and_then(|made| made.record.model);
        Ok(model.and_then(|model| model.cache?.hit_share()).unwrap_or(0.0))
    }
}
