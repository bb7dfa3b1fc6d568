//! One load on one plausible environment: a trial in virtual time, and its record.

use crate::binding::{binding, shared, stage_waits};
use crate::bursts::BurstWatch;
use crate::ceilings::ceilings;
use crate::models::Model;
use crate::volumes::{VolumeUnknown, find};
use loadline_catalog::Deviation;
use loadline_disk::{
    Directions, Enforcement, EnvironmentError, Fullness, HostCache, InitialState, Limit, Machine, PoolSpec, Target,
    VolumeSpec, Waits, Warmth,
};
use loadline_record::{Binding, CacheUse, KnownDeviation, LoadShare, ModelFact, ModelRecord, StateTaken, TrialRecord};
use loadline_simulator::{Reached, Simulated, Simulation, SimulationError, Together, TrialSetup};
use loadline_units::words::number;
use loadline_units::{ByteRate, Bytes, Duration, Instant, Ratio};
use loadline_workload::{Distribution, GroupEnd, LoadSpec, Origin, Pattern};

/// The range of a load without a size, or half the volume if that is less: like the test file of `run`.
pub const SIZE_DEFAULT: Bytes = Bytes::gib(16);
/// Intervals of a series at most; neighbours of a longer trial are joined. One second each for an hour, 32 s for a day.
pub const INTERVALS_MAX: usize = 3_600;
/// Time that passes between two looks at a trial, and the number of looks above which it is longer.
const STEP: Duration = Duration::from_s(1);
const STEPS_MAX: u64 = 86_400;
/// Events between two looks at most, however little time passes in them: some 50 ms of work.
const EVENTS_MAX: u64 = 1 << 18;

/// The warm-up of draws that only give a range, if the load is longer.
const WARM_UP_OF_RANGES: Duration = Duration::from_s(10);
const TIME_OF_RANGES: Duration = Duration::from_s(60);

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
    /// The start time in the record, seconds since 1970.
    pub started_unix_s: u64,
}

/// The result.
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
    /// Elapsed virtual time.
    pub elapsed: Duration,
    /// The most that the whole takes.
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
    /// It names more than there is.
    #[error("the load spreads over {asked}, and the volume has {size}: give less in the plan")]
    Size {
        /// The range of the load, from its start on.
        asked: Bytes,
        /// The size of the volume.
        size: Bytes,
    },
}

/// The load with a size.
#[must_use]
pub fn fit(load: &LoadSpec, volume: Option<Bytes>) -> LoadSpec {
    let half = volume.map(|size| Bytes::new(size.get() / 2));
    let fitting = half.map_or(SIZE_DEFAULT, |half| half.min(SIZE_DEFAULT));
    let least = load.block_max() * u64::from(load.files);
    let size = load.size_in(fitting.max(least)).max(least);
    LoadSpec { size: Some(load.size.unwrap_or(size)), size_share: None, ..load.clone() }
}

/// Whether a run fills its target before this load, so that a host's cache is warm when the load begins. Like the
/// [size](SIZE_DEFAULT), this follows `run` with a test file on the volume.
#[must_use]
pub fn is_filled(load: &LoadSpec) -> bool {
    load.wants_full(Origin::Made)
}

/// Whether the load can be put on a volume of the model.
///
/// # Errors
/// [`PredictionError`].
pub fn check(model: &Model, volume: &str, load: &LoadSpec) -> Result<(), PredictionError> {
    let size = find(&model.spec, volume)?.size();
    if let (Some(asked), Some(size)) = (load.size.map(|asked| load.start + asked), size)
        && asked > size
    {
        return Err(PredictionError::Size { asked, size });
    }
    let load = fit(load, size);
    let machine = Machine::new(&model.spec, 0, InitialState::default())?;
    let target = machine.target(volume).expect("the volume was found in the machine's own specification");
    let begin = machine.now() + load.pause;
    let setup = TrialSetup { trial: 0, seed: 0, started_unix_s: 0 };
    // A load that costs no time at all shows at the first instant.
    Simulation::new(&load, machine, target, setup)?.run_until(begin)?;
    Ok(())
}

/// Runs the load on a volume of the model, fresh in its initial state, or on the machine after an earlier trial. It
/// calls `watch` about once for each virtual second and after so many requests. `None`: `watch` stopped it.
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
    let mut machine = match carried {
        Some(machine) => machine,
        None => Machine::new(&model.spec, machine_seed, initial)?,
    };
    if spec.disks.len() > 1 {
        // A request in several parts is not delayed by the waiting of parts that ended before the last.
        machine.keep_accounts();
    }
    let target = machine.target(volume).expect("the volume was found in the machine's own specification");
    let begin = machine.now() + load.pause;
    let setup = TrialSetup { trial, seed, started_unix_s: putting.started_unix_s };
    let mut simulation = Simulation::new(&load, machine, target, setup)?;
    let expected = load.trial_time();
    let step = STEP.max(Duration::from_ns(expected.as_ns() / STEPS_MAX));
    let mut bursts = BurstWatch::new(simulation.waits(), initial, is_carried);
    let mut elapsed = Duration::ZERO;
    loop {
        let reached = simulation.run_for(instant(begin, elapsed + step), EVENTS_MAX)?;
        if reached != Reached::Events {
            bursts.look(elapsed, simulation.waits());
        }
        match reached {
            Reached::End => break,
            Reached::Time => elapsed = elapsed + step,
            Reached::Events => {}
        }
        if watch(Progress { elapsed: elapsed + load.pause, expected }) == Going::Stop {
            return Ok(None);
        }
    }
    let Simulated { record, waits, machine } = simulation.finish();
    let taken = Taken { machine_seed, is_carried, waits, beside: Vec::new() };
    Ok(Some(Predicted { record: told(putting, &spec, &load, record, &bursts, &taken)?, machine }))
}

/// The parts of a trial that are not in its record yet.
struct Taken {
    machine_seed: u64,
    is_carried: bool,
    waits: Waits,
    /// The other volumes that were loaded at the same time, and how their requests waited.
    beside: Vec<(String, Waits)>,
}

/// A record with the model's own account.
fn told(
    putting: &Putting<'_>,
    spec: &VolumeSpec,
    load: &LoadSpec,
    mut record: TrialRecord,
    bursts: &BurstWatch,
    taken: &Taken,
) -> Result<TrialRecord, PredictionError> {
    let Putting { model, volume, initial, .. } = *putting;
    let waits = stage_waits(&taken.waits);
    let cache = CacheUse { hits: taken.waits.cache_hits, misses: taken.waits.cache_misses };
    let mut ceilings = ceilings(model, volume, load, cache.hit_share().unwrap_or(0.0))?;
    // If blocks are written again and again, a cache may never fill, and its rate is unknown until it has.
    let filled = taken.waits.cache > Duration::ZERO;
    let prefers = |of: &Distribution| !matches!(of, Distribution::Uniform | Distribution::Permutation);
    if !filled && matches!(&load.pattern, Pattern::Random(of) if prefers(of)) {
        ceilings = ceilings.without(loadline_record::Limit::Cache);
    }
    let bursts_ended = bursts.ends(&record.series, Duration::from_ns(record.warm_up_ns));
    record.series = record.series.thinned(INTERVALS_MAX);
    record.model = Some(ModelRecord {
        draw: model.taken(),
        seed: taken.machine_seed,
        initial: StateTaken {
            bursts_full: initial.bursts == Fullness::Full,
            vm_bursts_full: initial.vm_bursts.map(|bursts| bursts == Fullness::Full),
            caches_warm: initial.caches == Warmth::Warm,
            carried: taken.is_carried,
        },
        binding: binding(spec, load, &record, &waits, &ceilings, bursts.first_end().as_ref())
            .map(|found| shared(found, &taken.beside)),
        waits,
        cache: cache.hit_share().map(|_| cache),
        ceilings: ceilings.list(),
        bursts_ended,
        bucket_ns: deepest_bucket(model, spec),
        window_ns: longest_window(model, spec),
        limits_unknown: limits_unknown(model, spec, cache),
        known_deviations: known_deviations(model, volume, load),
        beside: taken.beside.iter().map(|(name, _)| name.clone()).collect(),
    });
    Ok(record)
}

/// The model's knowledge of requests to `volume` by others, such as an application: they waited as in `waits`, from
/// `initial` on, and the caller knows their limit. There are no ceilings: these are limits as requests of one kind.
///
/// # Errors
/// [`PredictionError`], if the model has no such volume.
pub fn account(
    model: &Model,
    volume: &str,
    seed: u64,
    initial: InitialState,
    waits: &Waits,
    binding: Option<Binding>,
) -> Result<ModelRecord, PredictionError> {
    let spec = &find(&model.spec, volume)?;
    let cache = CacheUse { hits: waits.cache_hits, misses: waits.cache_misses };
    Ok(ModelRecord {
        draw: model.taken(),
        seed,
        initial: StateTaken {
            bursts_full: initial.bursts == Fullness::Full,
            vm_bursts_full: initial.vm_bursts.map(|bursts| bursts == Fullness::Full),
            caches_warm: initial.caches == Warmth::Warm,
            carried: false,
        },
        binding,
        waits: stage_waits(waits),
        cache: cache.hit_share().map(|_| cache),
        ceilings: Vec::new(),
        bursts_ended: Vec::new(),
        bucket_ns: deepest_bucket(model, spec),
        window_ns: longest_window(model, spec),
        limits_unknown: limits_unknown(model, spec, cache),
        // These hold for requests of one size, which an application's are not.
        known_deviations: Vec::new(),
        beside: Vec::new(),
    })
}

/// Runs loads on volumes of one model at the same time. `puttings` have the same model, trial and initial state; several may be on one
/// volume. Otherwise it is like [`predict`], with a record for each in order.
///
/// If several share a limit, each record has the waiting of its own requests.
///
/// # Errors
/// [`PredictionError`].
///
/// # Panics
/// Without a load.
pub fn predict_together(
    puttings: &[Putting<'_>],
    ends: GroupEnd,
    watch: &mut dyn FnMut(Progress) -> Going,
) -> Result<Option<Vec<TrialRecord>>, PredictionError> {
    let Putting { model, trial, seed, initial, started_unix_s, .. } = *puttings.first().expect("there is a load");
    let machine_seed = model_seed(seed, model.number, trial);
    let mut machine = Machine::new(&model.spec, machine_seed, initial)?;
    let mut specs = Vec::new();
    let mut targets: Vec<Target> = Vec::new();
    for (place, putting) in puttings.iter().enumerate() {
        let spec = find(&model.spec, putting.volume)?;
        let load = fit(putting.load, spec.size());
        specs.push((spec, load));
        let target = machine.target(putting.volume).expect("the volume was found in the machine's own specification");
        let is_taken = puttings[..place].iter().any(|other| other.volume == putting.volume);
        targets.push(if is_taken { machine.another(target) } else { target });
    }
    // Accounts separate the waiting at shared limits.
    machine.keep_accounts();
    let begin = machine.now();
    let setup = |putting: &Putting<'_>| TrialSetup { trial, seed: putting.seed, started_unix_s };
    let loads: Vec<_> = (puttings.iter().zip(&specs).zip(targets))
        .map(|((putting, (_, load)), target)| (load, target, setup(putting)))
        .collect();
    let expected = specs.iter().map(|(_, load)| load.trial_time()).max().unwrap_or_default();
    let step = STEP.max(Duration::from_ns(expected.as_ns() / STEPS_MAX));
    let mut together = Together::new(&loads, ends, machine)?;
    let mut bursts: Vec<BurstWatch> =
        together.waits().into_iter().map(|waits| BurstWatch::new(waits, initial, false)).collect();
    let mut elapsed = Duration::ZERO;
    loop {
        let reached = together.run_for(instant(begin, elapsed + step), EVENTS_MAX)?;
        if reached != Reached::Events {
            bursts.iter_mut().zip(together.waits()).for_each(|(watch, waits)| watch.look(elapsed, waits));
        }
        match reached {
            Reached::End => break,
            Reached::Time => elapsed = elapsed + step,
            Reached::Events => {}
        }
        if watch(Progress { elapsed, expected }) == Going::Stop {
            return Ok(None);
        }
    }
    let (records, _) = together.finish();
    let mut told_of = Vec::new();
    let all: Vec<(String, Waits)> =
        puttings.iter().zip(&records).map(|(putting, (_, waits))| (putting.volume.to_owned(), *waits)).collect();
    for (((putting, (spec, load)), (record, waits)), bursts) in puttings.iter().zip(&specs).zip(records).zip(&bursts) {
        // Loads on the volume itself share all of its limits, and are named with the cell.
        let beside = all.iter().filter(|(name, _)| *name != putting.volume).cloned().collect();
        let taken = Taken { machine_seed, is_carried: false, waits, beside };
        told_of.push(told(putting, spec, load, record, bursts, &taken)?);
    }
    share_limits(puttings, &mut told_of);
    Ok(Some(told_of))
}

/// Puts the shares of a limit together that loads on one volume take of it: each has the limit with the others.
fn share_limits(puttings: &[Putting<'_>], records: &mut [TrialRecord]) {
    let share = |record: &TrialRecord, limit| {
        let ceilings = record.model.iter().flat_map(|model| &model.ceilings).filter(|ceiling| ceiling.limit == limit);
        let lowest = ceilings.map(|ceiling| ceiling.iops).min_by(f64::total_cmp)?;
        Some(record.iops()? / lowest)
    };
    let bound = |record: &TrialRecord| Some(record.model.as_ref()?.binding.as_ref()?.limit);
    let mut shared: Vec<Option<(f64, ModelFact)>> = Vec::new();
    for (own, record) in records.iter().enumerate() {
        let others: Vec<usize> = (0..records.len())
            .filter(|other| *other != own && puttings[*other].volume == puttings[own].volume)
            .collect();
        let is_disks = |limit: &loadline_record::Limit| {
            !matches!(limit, loadline_record::Limit::Arrival | loadline_record::Limit::Latency)
        };
        shared.push(bound(record).filter(is_disks).filter(|_| !others.is_empty()).and_then(|limit| {
            let own_share = share(record, limit)?;
            let taken = |other: usize| {
                let load = puttings[other].load;
                let name = load.name.clone().unwrap_or_else(|| load.to_string());
                Some(LoadShare { load: name, share: share(&records[other], limit)? })
            };
            let others: Vec<LoadShare> = others.into_iter().map(taken).collect::<Option<_>>()?;
            let sum = others.iter().fold(own_share, |sum, other| sum + other.share);
            Some((sum, ModelFact::LimitShared { own_share, others }))
        }));
    }
    for (record, shared) in records.iter_mut().zip(shared) {
        let binding = record.model.as_mut().and_then(|model| model.binding.as_mut());
        if let (Some(binding), Some((sum, fact))) = (binding, shared) {
            binding.utilization = Some(sum);
            binding.seen.push(fact);
        }
    }
}

/// Measurements of such storage under such a load that the model is known to miss.
fn known_deviations(model: &Model, volume: &str, load: &LoadSpec) -> Vec<KnownDeviation> {
    let whole = volume.rsplit_once('/').map_or(volume, |(whole, _)| whole);
    let Some((_, all)) = model.deviations.iter().find(|(name, _)| name == volume || name == whole) else {
        return Vec::new();
    };
    // One disk of a stripe is no stripe.
    let is_alone = !model.deviations.iter().any(|(name, _)| name == volume);
    let smallest = load.blocks.iter().map(|block| block.size).min().unwrap_or_default();
    let fits = |found: &Deviation| {
        let asked = (found.of_reads && load.reads > Ratio::ZERO) || (found.of_writes && load.reads < Ratio::ONE);
        asked && smallest >= found.from_block && !(is_alone && found.striped == Some(true))
    };
    let told = all.iter().filter(|(_, found)| fits(found));
    told.map(|(disk, found)| KnownDeviation {
        disk: disk.clone(),
        text: found.measured.clone(),
        source: found.source.clone(),
    })
    .collect()
}

/// Limits without a known figure that the load passed.
fn limits_unknown(model: &Model, volume: &VolumeSpec, cache: CacheUse) -> Vec<String> {
    caps_unknown(model, volume).chain(cached_limit_unknown(model, volume, cache)).collect()
}

/// A machine's total for disks of a type limits them, whether or not its figure is in the catalog.
fn caps_unknown<'m>(model: &'m Model, volume: &'m VolumeSpec) -> impl Iterator<Item = String> + 'm {
    let of_volume = |name: &&String| volume.disks.iter().any(|disk| disk.name == **name);
    let vm = model.spec.vm.as_ref().map_or("", |vm| vm.name.as_str());
    let told = move |name: &String| format!("what {vm} allows all disks of {name} together; nothing is held there");
    model.uncapped.iter().filter(of_volume).map(told)
}

/// A host's cache is limited by its VM, whether or not that limit was ever published.
fn cached_limit_unknown(model: &Model, volume: &VolumeSpec, cache: CacheUse) -> Option<String> {
    let takes_writes = volume.host_cache.mode == HostCache::ReadWrite;
    let used = volume.host_cache.mode != HostCache::None && (cache.hits > 0 || takes_writes);
    let vm = model.spec.vm.as_ref();
    if !used || vm.is_some_and(|vm| vm.cached.is_some() && !vm.cached_estimated) {
        return None;
    }
    let whose =
        vm.filter(|vm| !vm.name.is_empty()).map_or("the environment has no VM".to_owned(), |vm| vm.name.clone());
    let taken = vm.and_then(|vm| vm.cached.as_ref()).map_or_else(
        || "; nothing is held there".to_owned(),
        |cached| {
            let (iops, bytes) = (both(cached.iops, |b| b.rate.get()), both(cached.throughput, |b| b.rate.get()));
            let rate = bytes.and_then(ByteRate::per_second).map_or_else(String::new, loadline_units::words::rate_text);
            format!(", estimated by its processors as {} IOPS and {rate}", number(iops.unwrap_or(0) as f64))
        },
    );
    Some(format!("what the host's cache may answer ({whose}){taken}"))
}

/// The figure of a budget for both directions.
fn both<T>(found: Option<Directions<T>>, of: impl Fn(&T) -> u64) -> Option<u64> {
    match found {
        Some(Directions::Together(budget)) => Some(of(&budget)),
        _ => None,
    }
}

/// Every limit of the environment that a load on the volume may pass.
fn limits<'m>(model: &'m Model, volume: &'m VolumeSpec) -> impl Iterator<Item = &'m Limit> {
    let vm = model.spec.vm.iter().flat_map(|vm| vm.cached.iter().chain(&vm.uncached));
    let own = volume.disks.iter().map(|disk| &disk.limit);
    let of = move |pool: &&PoolSpec| {
        volume.disks.iter().any(|disk| disk.pool.iter().chain(&disk.allowance).any(|name| *name == pool.name))
    };
    vm.chain(own).chain(model.spec.pools.iter().filter(of).map(|pool| &pool.limit))
}

/// Depth of the deepest token bucket, ns.
fn deepest_bucket(model: &Model, volume: &VolumeSpec) -> u64 {
    longest(model, volume, |held| if let Enforcement::Bucket { depth } = held { Some(*depth) } else { None })
}

/// Length of the longest window that counts, ns.
fn longest_window(model: &Model, volume: &VolumeSpec) -> u64 {
    longest(model, volume, |held| if let Enforcement::Window { length, .. } = held { Some(*length) } else { None })
}

/// The longest span of a limit's mechanism on the way, ns; 0 without one.
fn longest(model: &Model, volume: &VolumeSpec, of: impl Fn(&Enforcement) -> Option<Duration>) -> u64 {
    let limiting = limits(model, volume).filter(|limit| limit.iops.is_some() || limit.throughput.is_some());
    limiting.filter_map(|limit| of(&limit.enforcement)).map(Duration::as_ns).max().unwrap_or(0)
}

/// Whether the storage depends on its distant past: on saved credits, or on a cache.
fn has_memory(model: &Model, volume: &VolumeSpec) -> bool {
    let iops = |limit: &Limit| limit.iops.is_some_and(|found| any(found, |budget| budget.burst.is_some()));
    let bytes = |limit: &Limit| limit.throughput.is_some_and(|found| any(found, |budget| budget.burst.is_some()));
    volume.host_cache.mode != HostCache::None || limits(model, volume).any(|limit| iops(limit) || bytes(limit))
}

fn any<T>(found: Directions<T>, test: impl Fn(&T) -> bool) -> bool {
    match found {
        Directions::Together(both) => test(&both),
        Directions::Apart { read, write } => read.iter().chain(&write).any(test),
        Directions::Traded { read, write } => test(&read) || test(&write),
    }
}

/// The load for a draw. The first draw gives the figures and takes the whole time. The others only give a range.
/// Without dependence on the distant past, a minute after ten seconds gives it as well as an hour.
#[must_use]
pub fn for_draw(model: &Model, volume: &str, load: &LoadSpec) -> LoadSpec {
    let Ok(spec) = find(&model.spec, volume) else { return load.clone() };
    let whole = model.number == 0
        || load.warm_up < WARM_UP_OF_RANGES
        || load.is_bound_in_bytes()
        || load.steady_state.is_some()
        || has_memory(model, &spec);
    if whole {
        return load.clone();
    }
    LoadSpec {
        warm_up: WARM_UP_OF_RANGES,
        duration: load.duration.min(TIME_OF_RANGES),
        cool_down: Duration::ZERO,
        pause: Duration::ZERO,
        ..load.clone()
    }
}

/// The instant this long after another, at most the last one.
fn instant(from: Instant, span: Duration) -> Instant {
    Instant::from_ns(from.as_ns().saturating_add(span.as_ns()))
}

/// A separate seed for each trial on each model.
const fn model_seed(seed: u64, number: u32, trial: u32) -> u64 {
    let draw = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let trial = (trial as u64 + 1).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed.rotate_left(17) ^ draw ^ trial
}
