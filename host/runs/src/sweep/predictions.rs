//! One plan on many environments: a row for each environment, volume and load.

use super::side_by_side::{Stopped, SweepProgress, side_by_side};
use super::{Part, swept_catalog};
use crate::error::in_a_line;
use crate::{
    Course, Error, NamedTarget, PredictionSettings, Refusal, SweepRefusal, environment_named, read_environment,
};
use loadline_catalog::{Catalog, Environment};
use loadline_prediction::{PredictionRow, RowFigures, RowMaker, SweepMethod};
use loadline_workload::{Plan, RunCell};
use std::num::NonZero;
use std::sync::Arc;

/// The volume's name while its environment is not known yet.
const ANY_VOLUME: &str = "data";

/// An environment of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweptEnvironment {
    /// A file, or one that comes along. It is read when its turn comes.
    Named(String),
    /// A text, called like this in the results.
    Text {
        /// Its name.
        name: String,
        /// In TOML.
        text: String,
    },
}

impl SweptEnvironment {
    fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Text { name, .. } => name,
        }
    }

    fn read(&self, catalog: &Catalog) -> Result<Environment, Error> {
        match self {
            Self::Named(name) => Ok(environment_named(name, catalog)?.environment),
            Self::Text { name, text } => Ok(read_environment(text, name, catalog)?),
        }
    }
}

/// Plans on many environments.
#[derive(Debug)]
pub struct PredictionSweep {
    environments: Vec<SweptEnvironment>,
    /// Each load with its number in the plans.
    loads: Vec<RunCell>,
    settings: PredictionSettings,
    method: SweepMethod,
    catalog: Arc<Catalog>,
    seed: u64,
}

impl PredictionSweep {
    /// Of these environments. The catalog is that of the settings.
    ///
    /// # Errors
    /// A [`Refusal`]: trials that go on from one another or run together are no rows of their own; a value contradicts a load.
    pub fn new(
        environments: Vec<SweptEnvironment>,
        plans: Vec<Plan>,
        settings: PredictionSettings,
        method: SweepMethod,
        seed: u64,
    ) -> Result<Self, Error> {
        if settings.course != Course::Apart || plans.iter().any(|plan| !plan.together.is_empty()) {
            return Err(Refusal::from(SweepRefusal::NotApart).into());
        }
        let catalog = swept_catalog(settings.catalog.as_deref())?;
        let scope = crate::Scope {
            volumes: vec![ANY_VOLUME.to_owned()],
            overrides: &settings.overrides,
            read_only: false,
            hosts: None,
        };
        let loads = crate::Work::of(plans, &scope, seed)?.cells;
        Ok(Self { environments, loads, settings, method, catalog, seed })
    }

    /// How many environments there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.environments.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.environments.is_empty()
    }

    /// The rows of a part of the environments, in their order. An environment with a problem has one row, which says so.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run(
        &self,
        part: Part,
        threads: Option<NonZero<usize>>,
        progress: &dyn SweepProgress,
    ) -> Result<Vec<PredictionRow>, Stopped> {
        let environments = &self.environments[part.of(self.environments.len())];
        let rows = side_by_side(environments.len(), threads, progress, |place| self.rows_of(&environments[place]))?;
        Ok(rows.into_iter().flatten().collect())
    }

    fn rows_of(&self, environment: &SweptEnvironment) -> Vec<PredictionRow> {
        let name = environment.name();
        let problem = |error: &dyn std::error::Error| PredictionRow {
            environment: name.to_owned(),
            volume: None,
            cell: None,
            label: None,
            load: None,
            figures: RowFigures::default(),
            problem: Some(in_one_line(error)),
        };
        let read = match environment.read(&self.catalog) {
            Ok(read) => read,
            Err(error) => return vec![problem(&error)],
        };
        let models = self.settings.models(&read, self.seed);
        let named = |volume: &NamedTarget| (volume.volume.clone(), volume.target.clone());
        let volumes: Vec<(String, String)> = self.settings.volumes.iter().map(named).collect();
        let (method, initially) = (self.method, self.settings.initially());
        RowMaker { models: &models, method, seed: self.seed, initially }.rows(name, &volumes, &self.loads)
    }
}

/// An error with its causes, on one line of a table.
pub(super) fn in_one_line(error: &dyn std::error::Error) -> String {
    in_a_line(error).split_whitespace().collect::<Vec<_>>().join(" ")
}
