//! A load on a volume as a fluid: the rate that its ceilings and its credits allow, without a single request.
//!
//! It takes microseconds where a simulation takes seconds, so a hundred thousand environments are looked at in minutes. What it leaves
//! out is queueing: near the depth at which a limit begins to matter, a simulation has less. It has no percentiles.

use crate::ceilings::{Bank, Ceilings, Lasting, ceilings};
use crate::models::Model;
use crate::trial::{PredictionError, fit};
use crate::volumes::find;
use loadline_disk::{Fullness, HostCache, InitialState, VolumeSpec, Warmth};
use loadline_record::{Ceiling, Stage};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, Pattern};

/// A bank with less than this share of its credits is empty: rounding.
const EMPTY: f64 = 1e-9;

/// The rates of a load over time.
#[derive(Debug, Clone, PartialEq)]
pub struct FluidCourse {
    /// From the begin of the load on; the last phase lasts. Empty if nothing limits the load, or if the time of a request is not known.
    pub phases: Vec<FluidPhase>,
    /// The share of reads that the host's cache is taken to answer.
    pub hits: f64,
}

/// A time in which the rate is the same.
#[derive(Debug, Clone, PartialEq)]
pub struct FluidPhase {
    /// When it begins, after the load did.
    pub from: Duration,
    /// The lowest ceiling in it, which is the rate.
    pub binding: Ceiling,
    /// The lowest ceiling with another name.
    pub next: Option<Ceiling>,
}

impl FluidCourse {
    /// Requests per second on average from one moment of the load to another.
    #[must_use]
    pub fn mean_iops(&self, from: Duration, to: Duration) -> Option<f64> {
        let length = to.saturating_sub(from).as_s_f64();
        let last = self.phase_at(from)?;
        if length <= 0.0 {
            return Some(last.binding.iops);
        }
        let ends = self.phases.iter().skip(1).map(|phase| phase.from).chain([Duration::from_ns(u64::MAX)]);
        let requests = self.phases.iter().zip(ends).map(|(phase, end)| {
            let shared = end.min(to).saturating_sub(phase.from.max(from));
            phase.binding.iops * shared.as_s_f64()
        });
        Some(requests.sum::<f64>() / length)
    }

    /// The phase at a moment of the load.
    #[must_use]
    pub fn phase_at(&self, at: Duration) -> Option<&FluidPhase> {
        self.phases.iter().rev().find(|phase| phase.from <= at)
    }

    /// When the first credits are spent, with the rate before; `None`: never.
    #[must_use]
    pub fn burst_end(&self) -> Option<(Duration, f64)> {
        let [first, second, ..] = &self.phases[..] else { return None };
        Some((second.from, first.binding.iops))
    }

    /// The rate that lasts.
    #[must_use]
    pub fn lasting_iops(&self) -> Option<f64> {
        self.phases.last().map(|phase| phase.binding.iops)
    }
}

/// The course of `load` on a volume whose credits and caches are in `initial` state.
///
/// A warm cache answers the share of reads that it has room for, if requests are spread evenly. Of a load with a hot part it answers
/// more, so the rate is a lower bound.
///
/// # Errors
/// [`PredictionError`].
pub fn fluid(
    model: &Model,
    volume: &str,
    load: &LoadSpec,
    initial: InitialState,
) -> Result<FluidCourse, PredictionError> {
    let spec = find(&model.spec, volume)?;
    if let (Some(asked), Some(size)) = (load.size.map(|asked| load.start + asked), spec.size())
        && asked > size
    {
        return Err(PredictionError::Size { asked, size });
    }
    let load = fit(load, spec.size());
    let hits = hits(model, &spec, &load, initial.caches);
    let ceilings = ceilings(model, volume, &load, hits)?;
    Ok(FluidCourse { phases: phases(&ceilings, initial), hits })
}

/// The share of reads that a cache answers.
fn hits(model: &Model, spec: &VolumeSpec, load: &LoadSpec, caches: Warmth) -> f64 {
    let cache = &spec.host_cache;
    if cache.mode == HostCache::None || caches == Warmth::Cold {
        return 0.0;
    }
    let all = match cache.capacity {
        Some(each) => Some(each.get() * spec.disks.len() as u64),
        None => model.spec.vm.as_ref().and_then(|vm| vm.cache_size).map(Bytes::get),
    };
    let (Some(capacity), Some(size)) = (all, load.size) else { return 1.0 };
    let share = capacity as f64 / size.get().max(1) as f64;
    match load.pattern {
        _ if share >= 1.0 => 1.0,
        // What comes again was evicted before.
        Pattern::Sequential { .. } => 0.0,
        Pattern::Random(_) => share,
    }
}

/// Credits of one limit on their way.
struct Level<'a> {
    lasting: Lasting<'a>,
    bank: Option<&'a Bank>,
    /// In requests of the load.
    left: f64,
}

impl Level<'_> {
    fn ceiling(&self) -> &Ceiling {
        match self.bank {
            Some(bank) if self.left > 0.0 => &bank.burst,
            _ => self.lasting.ceiling,
        }
    }
}

/// From one empty bank to the next. The rate only falls, so an empty bank never matters again.
fn phases(ceilings: &Ceilings, initial: InitialState) -> Vec<FluidPhase> {
    let is_full = |stage: Option<Stage>| {
        let of_vm = matches!(stage, Some(Stage::VmCached | Stage::VmUncached));
        initial.vm_bursts.filter(|_| of_vm).unwrap_or(initial.bursts) == Fullness::Full
    };
    let mut levels: Vec<Level<'_>> = ceilings
        .lasting()
        .map(|lasting| {
            let left = lasting.bank.filter(|_| is_full(lasting.stage)).map_or(0.0, |bank| bank.credits);
            Level { lasting, bank: lasting.bank, left }
        })
        .collect();
    let mut found = Vec::new();
    let mut at_s = 0.0;
    loop {
        let mut by_rate: Vec<&Ceiling> = levels.iter().map(Level::ceiling).collect();
        by_rate.sort_by(|a, b| a.iops.total_cmp(&b.iops));
        let Some(binding) = by_rate.first().copied().cloned() else { break };
        let next = by_rate.iter().find(|other| other.limit != binding.limit).copied().cloned();
        let rate = binding.iops;
        found.push(FluidPhase { from: Duration::from_ns((at_s * 1e9) as u64), binding, next });
        let drain = |level: &Level<'_>| rate - level.lasting.ceiling.iops;
        let first = levels
            .iter()
            .filter(|level| level.left > 0.0 && drain(level) > 0.0)
            .map(|level| level.left / drain(level))
            .min_by(f64::total_cmp);
        // What lasts longer than clocks count lasts.
        let Some(passed_s) = first.filter(|passed_s| at_s + passed_s < 1e9) else { break };
        for level in &mut levels {
            let Some(bank) = level.bank.filter(|_| level.left > 0.0) else { continue };
            level.left = (level.left - (rate - level.lasting.ceiling.iops) * passed_s).min(bank.credits);
            if level.left <= bank.credits * EMPTY {
                level.left = 0.0;
            }
        }
        at_s += passed_s;
    }
    found
}

#[cfg(test)]
mod tests;
