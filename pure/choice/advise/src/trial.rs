//! Request-level simulation of a choice under a need: the latency that it gives, over everything that is uncertain.

use crate::disk_sets::VOLUME;
use crate::need::{Need, Rates};
use loadline_catalog::Environment;
use loadline_disk::{Fullness, HostCache, InitialState, Warmth};
use loadline_prediction::{Going, Model, Putting, predict};
use loadline_units::{Bytes, Duration, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, Distribution, LatencyFigure, LoadSpec, Pattern};

/// Requests of a simulation: enough for a 99th percentile, and for 99.9 % ten times as many.
const REQUESTS: f64 = 4_000.0;
const REQUESTS_MAX: f64 = 40_000.0;
/// Windows and buckets of limits are tens of milliseconds to a second long: simulations cover several.
const TIME_MIN_S: f64 = 1.0;
const WARM_UP: Duration = Duration::from_ms(200);

/// The latency of a choice under a scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TrialResult {
    /// The figure of the objective, or p99; ns.
    pub(crate) latency_ns: f64,
    /// Completed per second, of what was offered.
    pub(crate) kept_up: bool,
}

/// The load of some rates.
pub(crate) fn load(need: &Need, rates: &Rates, volume: Option<Bytes>) -> LoadSpec {
    let requests = rates.requests_per_s().max(1.0);
    let enough = match need.objective.map(|found| found.of) {
        Some(LatencyFigure::P999) => REQUESTS * 5.0,
        _ => REQUESTS,
    };
    let seconds = (enough / requests).max(TIME_MIN_S).min((REQUESTS_MAX / requests).max(0.05));
    let size = (rates.size().max(512.0) / 512.0).round() as u64 * 512;
    let reads = Ratio::ppm((rates.read_share() * 1e6).round() as u32).unwrap_or(Ratio::ONE);
    let spread = need.hot.or(Some(need.size)).filter(|size| *size > Bytes::ZERO);
    let spread = spread.map(|size| volume.map_or(size, |volume| size.min(volume)));
    LoadSpec {
        pattern: if need.sequential {
            Pattern::Sequential { stride: None }
        } else {
            Pattern::Random(Distribution::Uniform)
        },
        reads,
        blocks: vec![BlockShare { size: Bytes::new(size), share: Ratio::ONE }],
        arrival: Arrival::Poisson { rate: Iops::per_second(requests.round() as u64).expect("at least one") },
        size: spread.map(|size| size.round_down(Bytes::new(size.get().clamp(512, 4096)))),
        warm_up: WARM_UP,
        duration: Duration::from_ns((seconds * 1e9) as u64),
        ..LoadSpec::default()
    }
}

/// Simulates rates on an environment at one draw. `in_credit`: bursts have credits when it begins.
pub(crate) fn trial(
    environment: &Environment,
    model: &Model,
    need: &Need,
    rates: &Rates,
    in_credit: bool,
    seed: u64,
) -> Option<TrialResult> {
    let volume = environment.spec(&model.draw).volumes.first()?.size();
    let load = load(need, rates, volume);
    let is_cached = environment.volumes.first()?.host_cache.mode != HostCache::None;
    let bursts = if in_credit { Fullness::Full } else { Fullness::Empty };
    let caches = if is_cached { Warmth::Warm } else { Warmth::Cold };
    let initial = InitialState { bursts, vm_bursts: None, caches };
    let putting = Putting { model, volume: VOLUME, load: &load, trial: 0, seed, initial, started_unix_s: 0 };
    let record = predict(&putting, None, &mut |_| Going::On).ok()??.record;
    let offered = record.offered_iops.unwrap_or(rates.requests_per_s());
    let kept_up = record.missed == 0 && record.iops().is_some_and(|iops| iops >= 0.95 * offered);
    let mut all = loadline_record::Histogram::default();
    for of in record.operations.values() {
        all.merge(&of.latency);
    }
    let latency_ns = match need.objective.map(|found| found.of) {
        Some(LatencyFigure::Mean) => all.mean_ns()?,
        Some(figure) => all.quantile(figure.share()?)?.as_ns() as f64,
        None => all.quantile(0.99)?.as_ns() as f64,
    };
    Some(TrialResult { latency_ns, kept_up })
}
