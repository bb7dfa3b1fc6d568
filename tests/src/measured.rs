//! Modelled storage as if it had been measured: records of plans without what only the model knows.

use loadline_catalog::{Catalog, Draw, Environment};
use loadline_disk::{InitialState, Warmth};
use loadline_prediction::{Going, Model, Putting, is_filled, predict, volume_facts};
use loadline_record::{
    CellRecord, Clock, HostFacts, ModelRecord, RunHeader, RunRecord, RunStatus, RunVerb, TrialRecord,
};
use loadline_workload::{LoadSpec, Plan};

/// What the model knows, and the record without it.
pub struct Measured {
    /// As a measurement leaves it.
    pub record: RunRecord,
    /// What the model knows of each cell.
    pub truths: Vec<ModelRecord>,
}

fn trial(model: &Model, load: &LoadSpec, seed: u64) -> TrialRecord {
    let caches = if is_filled(load) { Warmth::Warm } else { Warmth::Cold };
    let initial = InitialState { caches, ..InitialState::default() };
    let putting = Putting { model, volume: "data", load, trial: 0, seed, initial, started_unix_s: 0 };
    predict(&putting, None, &mut |_| Going::On)
        .unwrap_or_else(|error| panic!("{error}"))
        .expect("nobody stops it")
        .record
}

/// What `run` would store of the plan's cells on volume `data` of the environment.
///
/// # Panics
/// Where either is none.
#[must_use]
pub fn measure(environment: &str, plan: &str, seed: u64) -> Measured {
    measure_draw(environment, plan, seed, Draw::PUBLISHED)
}

/// The load of a cell on volume `data` of the environment once for each seed.
///
/// # Panics
/// Where either is none.
#[must_use]
pub fn draws(environment: &str, cell: &CellRecord, seeds: impl Iterator<Item = u64>) -> Vec<TrialRecord> {
    let parsed = Environment::parse(environment, "environment", &Catalog::builtin())
        .unwrap_or_else(|error| panic!("{error}\n{environment}"));
    let model = Model::new(&parsed, 0, Draw::PUBLISHED);
    let load = cell.load.spec().expect("a plan's load");
    seeds.map(|seed| trial(&model, load, seed)).collect()
}

/// As [`measure`], for one draw of what the catalog knows as intervals.
///
/// # Panics
/// As [`measure`].
#[must_use]
pub fn measure_draw(environment: &str, plan: &str, seed: u64, draw: Draw) -> Measured {
    let parsed = Environment::parse(environment, "environment", &Catalog::builtin())
        .unwrap_or_else(|error| panic!("{error}\n{environment}"));
    let model = Model::new(&parsed, 0, draw);
    let plan = Plan::parse(plan, "plan").unwrap_or_else(|error| panic!("{error}\n{plan}"));
    let mut truths = Vec::new();
    let mut cells = Vec::new();
    for (number, (spec, _)) in plan.cells().enumerate() {
        let mut record = trial(&model, spec, seed ^ number as u64);
        truths.push(record.model.take().expect("a prediction has a model"));
        cells.push(CellRecord {
            id: number.to_string(),
            volume: "data".into(),
            label: spec.to_string(),
            load: spec.clone().into(),
            beside: Vec::new(),
            ceilings: Vec::new(),
            trials_planned: 1,
            trials: vec![record],
        });
    }
    let header = RunHeader {
        id: "simulated".into(),
        name: "simulated".into(),
        verb: RunVerb::Run,
        clock: Clock::Real,
        started: String::new(),
        version: String::new(),
        seed,
        imported: None,
        host: HostFacts::default(),
        plans: Vec::new(),
        environment: None,
        volumes: vec![volume_facts(&model, "data", "data").unwrap()],
        settings: serde_json::Value::Null,
    };
    Measured { record: RunRecord { header, status: RunStatus::Finished, cells }, truths }
}
