//! Hunts: one factor at a time around a load, until it is known what moves its ceiling and what is ruled out.

use crate::error::{CellsOfPlan, HuntRefusal};
use crate::open_volumes::{self, OpenVolumes};
use crate::{
    Ahead, Error, MeasuredPlace, ModelledPlace, NewRun, Observer, Overrides, PendingStore, PlannedCell, Refusal,
    RunOptions, RunOutcome, RunStore, RunUnderWay, Settings, TrialPlace, TrialsPlanned, Work, environment_again,
    keep::leftovers, label, measure_hunt, plans_again, stored_environment,
};
use loadline_catalog::Environment;
use loadline_hunt::{
    Baseline, BaselineStorage, FactorRequest, HuntDesign, HuntLoad, HuntPlan, HuntResult, HuntRounds, IoEngine, hunted,
    variations,
};
use loadline_prediction::{Initially, Model, fit, most_plausible, volume_facts};
use loadline_record::{
    CellRecord, Clock, EngineChoice, PlanText, RunHeader, RunRecord, RunStatus, RunVerb, VolumeFacts,
};
use loadline_units::{Bytes, Ratio};
use loadline_workload::{LoadSpec, Plan};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// The key of a run's settings under which its hunt stands.
const HUNT_KEY: &str = "hunt";
/// The key under which its choices stand.
const CHOICES_KEY: &str = "told";

/// The choices of a hunt beside its plan, environment and targets. They are stored with the run, for a resumed one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HuntChoices {
    /// The cell that falls short: its number in the plan, from 1, or part of what it is called. `None`: the only one.
    pub cell: Option<String>,
    /// What to vary; nothing: all that can be varied.
    pub vary: Vec<String>,
    /// The volume of the environment; `None`: its first.
    pub volume: Option<String>,
    /// What replaces the plan's own values.
    pub overrides: Overrides,
    /// A folder of catalog files beside the catalog that comes along.
    pub catalog: Option<PathBuf>,
    /// Effects that are no larger are none.
    pub margin: Ratio,
}

/// A hunt that is about to begin.
#[derive(Debug)]
pub struct Hunt {
    plans: Vec<PlanText>,
    volume: String,
    pub(crate) design: HuntDesign,
    pub(crate) choices: HuntChoices,
    pub(crate) settings: Settings,
    environment: Option<Environment>,
}

impl Hunt {
    /// Around a cell of `plan`, which was named by `typed`: on the model of an environment, or else on the only target of
    /// `settings`.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn around(
        plan: &Plan,
        typed: &str,
        choices: HuntChoices,
        settings: Settings,
        environment: Option<Environment>,
    ) -> Result<Self, Error> {
        if choices.margin == Ratio::ZERO || choices.margin >= Ratio::ONE {
            return Err(HuntRefusal::Margin.into());
        }
        if plan.together.iter().any(|group| group.loads.len() > 1) {
            return Err(Refusal::RunsTogether { what: "a hunt" }.into());
        }
        let volume = match &environment {
            Some(environment) => {
                let first = environment.volumes.first().map(|v| v.name.clone());
                choices.volume.clone().or(first).expect("an environment has a volume")
            }
            None => settings.targets.first().ok_or(Refusal::NoTarget)?.volume.clone(),
        };
        let mut spec = chosen(plan, typed, &choices)?;
        if let Some(environment) = &environment {
            // Fixed for all variations, so that a larger layout is not asked for more.
            let model = most_plausible(environment);
            let facts = volume_facts(&model, &volume, &volume).map_err(Refusal::NoSuchVolume)?;
            spec = fit(&spec, facts.size_bytes.map(Bytes::new));
            loadline_prediction::check(&model, &volume, &spec).map_err(|source| Refusal::NotModelled {
                load: label(&spec),
                volume: volume.clone(),
                source,
            })?;
        }
        if settings.read_only && spec.writes_any() {
            return Err(HuntRefusal::Writes { load: label(&spec) }.into());
        }
        let storage = match &environment {
            Some(environment) => BaselineStorage::Model { environment, volume: &volume },
            None => BaselineStorage::Target {
                is_directory: settings.targets.first().is_some_and(|t| Path::new(&t.target).is_dir()),
                engine: io_engine(settings.engine.engine),
            },
        };
        let wanted = FactorRequest::parse_all(&choices.vary).map_err(HuntRefusal::Vary)?;
        let found = variations(&Baseline { load: &spec, storage }, &wanted).map_err(HuntRefusal::Vary)?;
        if found.variations.is_empty() {
            return Err(HuntRefusal::NothingToVary.into());
        }
        let plans = vec![PlanText { name: plan.name.clone(), text: plan.text.clone(), hash: plan.hash() }];
        let design = HuntDesign::new(&volume, &spec, &label(&spec), found, choices.margin);
        Ok(Self { plans, volume, design, choices, settings, environment })
    }

    /// What is varied.
    #[must_use]
    pub const fn design(&self) -> &HuntDesign {
        &self.design
    }

    /// Hunts.
    ///
    /// # Errors
    /// A [`Refusal`] before anything is stored; the store; what ended the run early.
    pub fn run(mut self, options: &RunOptions, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let mut store = PendingStore::start(options.store_path()?, |_| Vec::new());
        let clock = if self.environment.is_some() { Clock::Virtual } else { Clock::Real };
        let around = self.design.loads[0].label.clone();
        let new = options.new_run(|| format!("hunt around {around}"), RunVerb::Hunt, clock);
        let opened = match self.environment {
            Some(_) => None,
            None => Some(open_volumes::open(&self.work(), &self.settings, &new.id, &[], observer)?),
        };
        if let Some(opened) = &opened {
            self.leave_out_impossible(opened)?;
            store.prove()?;
            open_volumes::look_at_use(opened, &self.work(), observer)?;
        }
        let (models, cells) = (self.models(), self.cells());
        let header = self.header(&new, opened.as_ref(), &models)?;
        let records: Vec<CellRecord> = cells.iter().map(PlannedCell::record).collect();
        let store = store.begin(header.clone(), records.clone())?;
        let begun = RunRecord { header, status: RunStatus::Unfinished, cells: records };
        self.carry_on(opened, &models, &cells, store, begun, observer)
    }

    /// The models that its loads are put on, where it is modelled: the environment's, then that of each variation of it.
    fn models(&self) -> Vec<Model> {
        let varied = self.design.loads.iter().filter_map(|load| load.environment.as_ref());
        self.environment.iter().chain(varied).map(most_plausible).collect()
    }

    /// Its loads, as they are measured.
    pub(crate) fn cells(&self) -> Vec<PlannedCell> {
        let mut models = 0;
        let cell = |load: &HuntLoad| {
            models += usize::from(load.environment.is_some());
            PlannedCell {
                cell: load.cell.clone(),
                label: load.label.clone(),
                engine: load.engine.map(engine_choice),
                model: Some(if load.environment.is_some() { models } else { 0 }),
                is_beside: false,
            }
        };
        self.design.loads.iter().map(cell).collect()
    }

    fn work(&self) -> Work {
        let cells = self.design.loads.iter().map(|load| load.cell.clone()).collect();
        Work {
            plans: self.plans.clone(),
            cells,
            groups: Vec::new(),
            steps: Vec::new(),
            left_out: Vec::new(),
            others_before: Vec::new(),
        }
    }

    fn header(&self, new: &NewRun, opened: Option<&OpenVolumes>, models: &[Model]) -> Result<RunHeader, Error> {
        let kept = if opened.is_some() { self.settings.standing() } else { self.settings.clone() };
        let mut settings = kept.stored();
        if let Json::Object(fields) = &mut settings {
            let plain = "a hunt is plain data";
            fields.insert(HUNT_KEY.into(), serde_json::to_value(&self.design.plan).expect(plain));
            fields.insert(CHOICES_KEY.into(), serde_json::to_value(&self.choices).expect(plain));
        }
        let volumes: Vec<VolumeFacts> = match opened {
            Some(opened) => self.settings.targets.iter().map(|t| opened[&t.volume].facts()).collect(),
            None => vec![volume_facts(&models[0], &self.volume, &self.volume)?],
        };
        let environment = self.environment.as_ref().map(stored_environment);
        Ok(RunHeader { plans: self.plans.clone(), environment, volumes, settings, ..new.header() })
    }

    /// Measures what `run` does not hold yet.
    fn carry_on(
        self,
        opened: Option<OpenVolumes>,
        models: &[Model],
        cells: &[PlannedCell],
        store: RunStore,
        run: RunRecord,
        observer: &mut dyn Observer,
    ) -> Result<RunOutcome, Error> {
        let Self { design, settings, .. } = self;
        let (id, seed) = (run.header.id.clone(), run.header.seed);
        let ahead = Ahead::Hunted { settings: design.plan.variants.len(), around: &cells[0].label };
        let (mut measured, mut modelled);
        let place: &mut dyn TrialPlace<Cell = PlannedCell> = if let Some(opened) = opened {
            measured = MeasuredPlace::new(settings, opened, seed);
            &mut measured
        } else {
            modelled = ModelledPlace::new(models, seed, Initially::default());
            &mut modelled
        };
        let rounds = HuntRounds::new(&design.plan, &cells[0].cell.spec, seed);
        let under_way = RunUnderWay { run: &id, seed, ahead, planned: TrialsPlanned::AtMost };
        under_way.carry_out(place, store, observer, |trials| measure_hunt(trials, &rounds, cells, run))
    }
}

/// Resumes a hunt: its trials are taken as they are, and the others run.
pub(crate) fn resume(stored: &RunRecord, store: RunStore, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
    let RunHeader { id, version, .. } = &stored.header;
    let settings: Settings = of_settings(stored, stored.header.settings.clone())?;
    let choices: HuntChoices = of_settings(stored, kept(stored, CHOICES_KEY))?;
    let planned: HuntPlan = of_settings(stored, kept(stored, HUNT_KEY))?;
    let Some(plan) = plans_again(stored)?.into_iter().next() else { return Err(Error::NoPlan { run: id.clone() }) };
    let environment = match &stored.header.environment {
        Some(_) => Some(environment_again(stored, choices.catalog.as_deref())?),
        None => None,
    };
    let mut hunt = Hunt::around(&plan, &plan.name, choices, settings, environment)?;
    // What the target could not have when it began.
    hunt.design.leave_out(&planned.not_tried);
    if !hunt.design.plan.varies_as(&planned) {
        return Err(Error::OtherReading { run: id.clone(), version: version.clone(), again: "begin" });
    }
    hunt.design.plan = planned;
    let opened = if hunt.environment.is_some() {
        None
    } else {
        leftovers::remove_of_run(id, &hunt.settings, observer)?;
        Some(open_volumes::open(&hunt.work(), &hunt.settings, id, &stored.header.volumes, observer)?)
    };
    let (models, cells) = (hunt.models(), hunt.cells());
    hunt.carry_on(opened, &models, &cells, store, stored.clone(), observer)
}

fn kept(stored: &RunRecord, key: &str) -> Json {
    stored.header.settings.get(key).cloned().unwrap_or_default()
}

fn of_settings<T: serde::de::DeserializeOwned>(stored: &RunRecord, value: Json) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|source| Error::OtherSettings {
        run: stored.header.id.clone(),
        again: "begin",
        source,
    })
}

/// What was found by a stored run; `None` where it is no hunt.
#[must_use]
pub fn hunt_result(record: &RunRecord) -> Option<HuntResult> {
    let plan: HuntPlan = serde_json::from_value(record.header.settings.get(HUNT_KEY)?.clone()).ok()?;
    Some(hunted(record, &plan))
}

/// The plan's cell that was meant, with the values that replace its own.
fn chosen(plan: &Plan, typed: &str, choices: &HuntChoices) -> Result<LoadSpec, Refusal> {
    let cells: Vec<&LoadSpec> = plan.cells().map(|(spec, _)| spec).collect();
    let of = CellsOfPlan { plan: plan.name.clone(), typed: typed.to_owned(), count: cells.len() };
    let mut spec = match choices.cell.as_deref() {
        None if cells.len() == 1 => cells[0],
        None => return Err(HuntRefusal::WhichCell { of }.into()),
        Some(called) => cell_called(&cells, called, of)?,
    }
    .clone();
    choices.overrides.apply(&mut spec);
    spec.check().map_err(|source| Refusal::Contradiction {
        plan: plan.name.clone(),
        load: spec.to_string(),
        source,
    })?;
    Ok(spec)
}

/// The cell of this number, or the only one that is called so.
fn cell_called<'a>(cells: &[&'a LoadSpec], called: &str, of: CellsOfPlan) -> Result<&'a LoadSpec, HuntRefusal> {
    if let Ok(cell) = called.parse::<usize>() {
        let found = cell.checked_sub(1).and_then(|index| cells.get(index).copied());
        return found.ok_or(HuntRefusal::NoCell { cell, of });
    }
    let lower = called.to_lowercase();
    let name = |spec: &LoadSpec| label(spec).to_lowercase();
    let whole: Vec<&LoadSpec> = cells.iter().copied().filter(|spec| name(spec) == lower).collect();
    let part = || cells.iter().copied().filter(|spec| name(spec).contains(&lower)).collect();
    // "depth 1" is also a part of "depth 16".
    let fitting: Vec<&LoadSpec> = if whole.is_empty() { part() } else { whole };
    let called = called.to_owned();
    match fitting[..] {
        [one] => Ok(one),
        [] => Err(HuntRefusal::NoCellCalled { called, of }),
        _ => Err(HuntRefusal::SeveralCalled { called, count: fitting.len(), of }),
    }
}

const fn io_engine(choice: EngineChoice) -> Option<IoEngine> {
    match choice {
        EngineChoice::Auto => None,
        EngineChoice::IoUring => Some(IoEngine::IoUring),
        EngineChoice::Aio => Some(IoEngine::Aio),
        EngineChoice::Threads => Some(IoEngine::Threads),
    }
}

pub(crate) const fn engine_choice(engine: IoEngine) -> EngineChoice {
    match engine {
        IoEngine::IoUring => EngineChoice::IoUring,
        IoEngine::Aio => EngineChoice::Aio,
        IoEngine::Threads => EngineChoice::Threads,
    }
}
