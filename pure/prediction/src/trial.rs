//! One load on one plausible environment: a trial in virtual time, and its record.

use crate::binding::{binding, stage_waits};
use crate::bursts::BurstWatch;
use crate::ceilings::ceilings;
use crate::models::Model;
use crate::volumes::{VolumeUnknown, find};
use loadline_disk::{EnvironmentError, Fullness, HostCache, InitialState, Machine, VolumeSpec, Warmth};
use loadline_record::{CacheUse, ModelRecord, StateTaken, TrialRecord};
use loadline_simulator::{Simulation, SimulationError, TrialSetup};
use loadline_units::{Bytes, Duration, Instant};
use loadline_workload::{Fill, LoadSpec};

/// What a load that names no size spreads over, or half the volume where that is less: as much as the test file that
/// `run` would make.
pub const SIZE_DEFAULT: Bytes = Bytes::gib(16);
/// Intervals of a series that are kept; of a longer trial neighbours are joined. One second each for an hour, 32 s for a day.
pub const INTERVALS_MAX: usize = 3_600;
/// Time that passes between two looks at a trial, and the number of looks above which it is longer.
const STEP: Duration = Duration::from_s(1);
const STEPS_MAX: u64 = 86_400;

/// A load to be put on a volume of a model.
#[derive(Debug, Clone, Copy)]
pub struct Putting<'a> {
    /// The environment.
    pub model: &'a Model,
    /// The volume's name in it, or with `name/0` its first disk.
    pub volume: &'a str,
    /// The load.
    pub load: &'a LoadSpec,
    /// Which trial of its cell, from 0.
    pub trial: u32,
    /// Decides every choice of the load and, with the model's number and the trial's, of the model.
    pub seed: u64,
    /// The state that the storage begins in.
    pub initial: InitialState,
    /// What the record says about when it was made, seconds since 1970.
    pub started_unix_s: u64,
}

/// What comes of it.
#[derive(Debug, Clone)]
pub struct Predicted {
    /// As from a measurement, with the model's own account.
    pub record: TrialRecord,
    /// The storage as it is afterwards.
    pub machine: Machine,
}

/// How far a trial has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time gone by.
    pub elapsed: Duration,
    /// What the whole takes at most.
    pub expected: Duration,
}

/// Whether a trial is to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// It is.
    On,
    /// It is to be given up.
    Stop,
}

/// A load that cannot be predicted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredictionError {
    /// The volume is not there.
    #[error(transparent)]
    Volume(#[from] VolumeUnknown),
    /// The environment contradicts itself.
    #[error("the environment cannot be modelled: {0}")]
    Environment(#[from] EnvironmentError),
    /// The load cannot be simulated there.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

/// The load with a size, where it names none.
#[must_use]
pub fn fit(load: &LoadSpec, volume: Option<Bytes>) -> LoadSpec {
    let half = volume.map(|size| Bytes::new(size.get() / 2));
    let fitting = half.map_or(SIZE_DEFAULT, |half| half.min(SIZE_DEFAULT));
    let least = load.block_max() * u64::from(load.files);
    LoadSpec { size: Some(load.size.unwrap_or(fitting.max(least))), ..load.clone() }
}

/// Whether a run writes its target in full before this load, so that a host's cache is warm when the load begins.
#[must_use]
pub fn is_filled(load: &LoadSpec) -> bool {
    match load.fill {
        Fill::Auto => load.reads_any(),
        Fill::Always => true,
        Fill::Never => false,
    }
}

/// Whether the load can be put on a volume of the model.
///
/// # Errors
/// [`PredictionError`].
pub fn check(model: &Model, volume: &str, load: &LoadSpec) -> Result<(), PredictionError> {
    let load = fit(load, find(&model.spec, volume)?.size());
    let machine = Machine::new(&model.spec, 0, InitialState::default())?;
    let target = machine.target(volume).expect("the volume was found in the machine's own specification");
    Simulation::new(&load, machine, target, TrialSetup { trial: 0, seed: 0, started_unix_s: 0 })?;
    Ok(())
}

/// Puts the load on a volume of the model, fresh in its initial state, or on the machine that an earlier trial left behind.
/// `watch` is told how far it has come, about once for each virtual second; `None` where it said to stop.
///
/// The same arguments give the same record.
///
/// # Errors
/// [`PredictionError`].
pub fn predict(
    putting: &Putting<'_>,
    carried: Option<Machine>,
    watch: &mut dyn FnMut(Progress) -> Going,
) -> Result<Option<Predicted>, PredictionError> {
    let Putting { model, volume, trial, seed, initial, .. } = *putting;
    let spec = find(&model.spec, volume)?;
    let load = fit(putting.load, spec.size());
    let machine_seed = model_seed(seed, model.number, trial);
    let is_carried = carried.is_some();
    let machine = match carried {
        Some(machine) => machine,
        None => Machine::new(&model.spec, machine_seed, initial)?,
    };
    let target = machine.target(volume).expect("the volume was found in the machine's own specification");
    let begin = machine.now() + load.pause;
    let setup = TrialSetup { trial, seed, started_unix_s: putting.started_unix_s };
    let mut simulation = Simulation::new(&load, machine, target, setup)?;
    let expected = load.trial_time();
    let step = STEP.max(Duration::from_ns(expected.as_ns() / STEPS_MAX));
    let mut bursts = BurstWatch::new(simulation.waits());
    let mut elapsed = Duration::ZERO;
    loop {
        let is_over = simulation.run_until(instant(begin, elapsed + step));
        bursts.look(elapsed, simulation.waits());
        if is_over {
            break;
        }
        elapsed = elapsed + step;
        if watch(Progress { elapsed: elapsed + load.pause, expected }) == Going::Stop {
            return Ok(None);
        }
    }
    let simulated = simulation.finish();
    let mut record = simulated.record;
    let waits = stage_waits(&simulated.waits);
    let cache = CacheUse { hits: simulated.waits.cache_hits, misses: simulated.waits.cache_misses };
    let ceilings = ceilings(model, volume, &load, cache.hit_share().unwrap_or(0.0))?;
    let bursts_ended = bursts.ends(&record.series, Duration::from_ns(record.warm_up_ns));
    record.series = record.series.thinned(INTERVALS_MAX);
    record.model = Some(ModelRecord {
        draw: model.taken(),
        seed: machine_seed,
        initial: StateTaken {
            bursts_full: initial.bursts == Fullness::Full,
            caches_warm: initial.caches == Warmth::Warm,
            carried: is_carried,
        },
        binding: binding(&spec, &load, &record, &waits, &ceilings),
        waits,
        cache: cache.hit_share().map(|_| cache),
        ceilings: ceilings.list(),
        bursts_ended,
        limits_unknown: limits_unknown(model, &spec, cache),
    });
    Ok(Some(Predicted { record, machine: simulated.machine }))
}

/// Limits without a figure that the load passed: a host's cache answers no faster than its VM lets it, whether or not that
/// was ever published.
fn limits_unknown(model: &Model, volume: &VolumeSpec, cache: CacheUse) -> Vec<String> {
    let takes_writes = volume.host_cache.mode == HostCache::ReadWrite;
    let used = volume.host_cache.mode != HostCache::None && (cache.hits > 0 || takes_writes);
    let vm = model.spec.vm.as_ref();
    if !used || vm.is_some_and(|vm| vm.cached.is_some()) {
        return Vec::new();
    }
    let whose =
        vm.filter(|vm| !vm.name.is_empty()).map_or("the environment has no VM".to_owned(), |vm| vm.name.clone());
    vec![format!("what the host's cache answers ({whose}: no limit of cached requests or bytes per second)")]
}

/// The moment so long after another, the last there is at most.
fn instant(from: Instant, span: Duration) -> Instant {
    Instant::from_ns(from.as_ns().saturating_add(span.as_ns()))
}

/// A seed of its own for each trial on each model.
const fn model_seed(seed: u64, number: u32, trial: u32) -> u64 {
    let draw = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let trial = (trial as u64 + 1).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed.rotate_left(17) ^ draw ^ trial
}
