//! Loads on the built-in environments: their limits, and their rates.

mod bursts;
mod field_cases;
mod mechanism;
mod percentiles;
mod worked_examples;

use loadline_catalog::{Catalog, Draw, Environment, environment_text};
use loadline_disk::{Fullness, InitialState, Warmth};
use loadline_prediction::{Going, Model, Putting, is_filled, predict};
use loadline_record::{Binding, Fact, Histogram, Limit, ModelFact, ModelRecord, TrialRecord};
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{Arrival, BlockShare, Distribution, LoadSpec, Pattern};
use std::sync::LazyLock;

static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

/// An environment by its name, or written out.
fn model(environment: &str, draw: Draw) -> Model {
    let text = environment_text(environment).unwrap_or(environment);
    let environment = Environment::parse(text, "test", &CATALOG).unwrap_or_else(|error| panic!("{error}"));
    Model::new(&environment, 0, draw)
}

/// Random requests of one size in a closed loop, measured for 10 s after 5 s.
fn load(kib: u64, reads: u32, depth: u32) -> LoadSpec {
    LoadSpec {
        pattern: Pattern::Random(Distribution::Uniform),
        reads: Ratio::percent(reads),
        blocks: vec![BlockShare { size: Bytes::kib(kib), share: Ratio::ONE }],
        arrival: Arrival::Closed { queue_depth: depth, rate_max: None, think_time: Duration::ZERO },
        warm_up: Duration::from_s(5),
        duration: Duration::from_s(10),
        trials: 1,
        ..LoadSpec::default()
    }
}

fn put(model: &Model, volume: &str, load: &LoadSpec, bursts: Fullness) -> TrialRecord {
    let caches = if is_filled(load) { Warmth::Warm } else { Warmth::Cold };
    let initial = InitialState { bursts, vm_bursts: None, caches };
    let putting = Putting { model, volume, load, trial: 0, seed: 7, initial, started_unix_s: 0 };
    predict(&putting, None, &mut |_| Going::On)
        .unwrap_or_else(|error| panic!("{error}"))
        .expect("nobody stops it")
        .record
}

fn trial(model: &Model, load: &LoadSpec) -> TrialRecord {
    put(model, "data", load, Fullness::Full)
}

fn known(record: &TrialRecord) -> &ModelRecord {
    record.model.as_ref().expect("a prediction has a model")
}
/// What the model knows of it.
fn seen_of(record: &TrialRecord) -> &ModelFact {
    match &binding(record).seen.facts()[0] {
        Fact::Model(fact) => fact,
        other => panic!("{other:?}"),
    }
}

fn binding(record: &TrialRecord) -> &Binding {
    known(record).binding.as_ref().expect("something was measured")
}
fn bound_by(record: &TrialRecord) -> Limit {
    binding(record).limit
}
fn iops(record: &TrialRecord) -> f64 {
    record.iops().expect("something was measured")
}
fn mean_ms(record: &TrialRecord) -> f64 {
    let mut all = Histogram::new();
    record.operations.values().for_each(|of| all.merge(&of.latency));
    all.mean_ns().expect("something was measured") / 1e6
}
fn ceiling(record: &TrialRecord, limit: Limit) -> f64 {
    let found = known(record).ceilings.iter().find(|ceiling| ceiling.limit == limit);
    found.unwrap_or_else(|| panic!("no ceiling {}: {:?}", limit.name(), known(record).ceilings)).iops
}
fn near(value: f64, wanted: f64, tolerance: f64) -> bool {
    (value / wanted - 1.0).abs() <= tolerance
}
