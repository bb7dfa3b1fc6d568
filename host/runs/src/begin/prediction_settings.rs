//! The choices of a prediction beside its plans and its environment. They are stored with it, for a resumed one.

use crate::{NamedTarget, Overrides, PlannedCell, Refusal, Scope, TrialCell as _, TrialRound, TrialSchedule, Work};
use loadline_analysis::statistics::SERIES_MIN;
use loadline_catalog::Environment;
use loadline_disk::{Fullness, Warmth};
use loadline_prediction::{DRAWS_DEFAULT, Initially, Limits, Model, models, volume_facts, volume_names};
use loadline_record::VolumeFacts;
use loadline_units::Duration;
use loadline_workload::{LoadSpec, Plan, TRIALS_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The seconds of a single trial tell how well its figures are known from so long a measurement on.
const TELLS_BY_SECONDS: Duration = Duration::from_s(SERIES_MIN as u64);

/// Everything that a prediction's command line decided, apart from its plans, its environment and its seed, which the header
/// keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictionSettings {
    /// Names in the results, each with the volume of the environment.
    pub volumes: Vec<NamedTarget>,
    /// A folder of catalog files beside the catalog that comes along.
    pub catalog: Option<PathBuf>,
    /// Environments drawn.
    pub draws: u32,
    /// Limits as they are published.
    pub published: bool,
    /// Buckets of credits are empty.
    pub bursts_empty: bool,
    /// Those of the virtual machine are; `None`: as the others.
    #[serde(default)]
    pub vm_bursts_empty: Option<bool>,
    /// Caches are warm, or cold, whatever the load.
    pub caches_warm: Option<bool>,
    /// What trials have to do with one another.
    pub course: Course,
    /// Trials of each cell at least.
    pub trials: Option<u32>,
    /// What replaces the plans' own values.
    pub overrides: Overrides,
}

/// What the trials of a prediction have to do with one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// Nothing: each begins with the storage as new.
    Apart,
    /// Each trial of a cell goes on where the one before it left the storage.
    Carried,
    /// Those at the same place on all volumes run at the same time.
    Together,
}

impl Default for PredictionSettings {
    /// Every volume apart from the others, with full credits and limits as they are delivered.
    fn default() -> Self {
        Self {
            volumes: Vec::new(),
            catalog: None,
            draws: DRAWS_DEFAULT,
            published: false,
            bursts_empty: false,
            vm_bursts_empty: None,
            caches_warm: None,
            course: Course::Apart,
            trials: None,
            overrides: Overrides::default(),
        }
    }
}

impl PredictionSettings {
    /// The plausible environments, the middle first.
    #[must_use]
    pub fn models(&self, environment: &Environment, seed: u64) -> Vec<Model> {
        let limits = if self.published { Limits::Published } else { Limits::Delivered };
        models(environment, self.draws, seed, limits)
    }

    /// The cells and trials of these plans.
    ///
    /// # Errors
    /// A [`Refusal`] where a value contradicts a load, or loads that run together do not fit.
    pub fn work(&self, plans: Vec<Plan>, seed: u64) -> Result<Work, Refusal> {
        let volumes: Vec<String> = self.volumes.iter().map(|named| named.volume.clone()).collect();
        let scope = |volumes| Scope { volumes, overrides: &self.overrides, read_only: false, hosts: None };
        let work = if self.is_together() && plans.len() > 1 {
            if plans.len() != volumes.len() {
                return Err(Refusal::TogetherPlans { plans: plans.len(), volumes });
            }
            let each = plans.into_iter().zip(volumes.clone());
            let parts = each.map(|(plan, volume)| Work::of(vec![plan], &scope(vec![volume]), seed));
            Work::joined(parts.collect::<Result<_, _>>()?)
        } else {
            Work::of(plans, &scope(volumes.clone()), seed)?
        };
        let work = if self.is_together() {
            let counts: Vec<usize> = self.volumes.iter().map(|named| work.on(&named.volume).count()).collect();
            if counts.iter().any(|count| *count != counts[0]) {
                return Err(Refusal::TogetherCells { counts });
            }
            work.together_over(&volumes)
        } else {
            work
        };
        let trials = |spec: &LoadSpec| self.trials_of(spec);
        if self.is_together() {
            self.check_trials(&work, trials)?;
        }
        Ok(work.with_trials(trials))
    }

    /// One for each draw, or as many as are wanted. The seconds of a short trial do not tell how far chance moves a figure: then each
    /// draw is tried as often as the plan wants, so that the first can be compared with others.
    fn trials_of(&self, spec: &LoadSpec) -> u32 {
        let least = self.trials.unwrap_or(spec.trials).max(self.draws);
        if self.trials.is_some() || self.overrides.short || spec.duration >= TELLS_BY_SECONDS {
            return least;
        }
        least.max(spec.trials.saturating_mul(self.draws).min(TRIALS_MAX))
    }

    /// Loads that run together run as often.
    fn check_trials(&self, work: &Work, trials: impl Fn(&LoadSpec) -> u32) -> Result<(), Refusal> {
        let of = |named: &NamedTarget| {
            work.on(&named.volume).map(|cell| trials(&work.cells[cell].spec)).collect::<Vec<u32>>()
        };
        let Some((first, others)) = self.volumes.split_first() else { return Ok(()) };
        for other in others {
            let differing = of(first).into_iter().zip(of(other)).find(|(one, another)| one != another);
            if let Some((one, another)) = differing {
                return Err(Refusal::TogetherTrials {
                    volumes: [first.volume.clone(), other.volume.clone()],
                    trials: [one, another],
                });
            }
        }
        Ok(())
    }

    /// What is not `finished`: one trial each; where trials go on from one another, all of a cell.
    #[must_use]
    pub fn schedule<'a>(
        &self,
        work: &Work,
        cells: &'a [PlannedCell],
        finished: &'a BTreeSet<(String, u32)>,
    ) -> TrialSchedule<'a, PlannedCell> {
        let is_left = |cell: &PlannedCell, trial| !finished.contains(&(cell.cell.id.clone(), trial));
        let sequences = match self.course {
            Course::Apart | Course::Together => return TrialSchedule::of_work(cells, work, finished),
            // A chain that was cut is made from its beginning again, for the state that its first trials leave.
            Course::Carried => work
                .groups
                .iter()
                .map(|group| {
                    let members: Vec<&PlannedCell> = group.cells.iter().map(|cell| &cells[*cell]).collect();
                    let trials = members.iter().map(|cell| cell.trials()).max().unwrap_or(0);
                    let round = |trial| TrialRound { cells: members.clone(), trial, ends: group.ends };
                    (0..trials).map(round).collect::<Vec<_>>()
                })
                .filter(|rounds| rounds.iter().any(|round| round.cells.iter().any(|cell| is_left(cell, round.trial))))
                .collect(),
        };
        TrialSchedule::of_sequences(cells, sequences, finished)
    }

    /// As a run's header keeps them.
    #[must_use]
    pub fn stored(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("settings are plain data")
    }

    /// Takes every volume of the environment, where none was chosen.
    pub fn choose_volumes(&mut self, model: &Model) {
        if self.volumes.is_empty() {
            let named = |name: String| NamedTarget { volume: name.clone(), target: name };
            self.volumes = volume_names(model).into_iter().map(named).collect();
        }
    }

    /// What is stored of the volumes.
    ///
    /// # Errors
    /// [`Refusal::NoSuchVolume`].
    pub fn facts(&self, model: &Model) -> Result<Vec<VolumeFacts>, Refusal> {
        let one = |named: &NamedTarget| volume_facts(model, &named.target, &named.volume);
        self.volumes.iter().map(|named| one(named).map_err(Refusal::NoSuchVolume)).collect()
    }

    /// Whether all volumes are loaded at the same time.
    #[must_use]
    pub(crate) fn is_together(&self) -> bool {
        self.course == Course::Together
    }

    /// The names of the volumes in the results.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.volumes.iter().map(|named| named.volume.as_str())
    }

    /// The volume of the environment behind a name in the results.
    #[must_use]
    pub fn volume(&self, name: &str) -> &str {
        let named = self.volumes.iter().find(|named| named.volume == name);
        &named.expect("every cell is on a volume of the settings").target
    }

    /// The state in which the storage is when a load begins.
    #[must_use]
    pub(crate) fn initially(&self) -> Initially {
        let fullness = |empty: bool| if empty { Fullness::Empty } else { Fullness::Full };
        Initially {
            bursts: fullness(self.bursts_empty),
            vm_bursts: self.vm_bursts_empty.map(fullness),
            caches: self.caches_warm.map(|warm| if warm { Warmth::Warm } else { Warmth::Cold }),
        }
    }
}
