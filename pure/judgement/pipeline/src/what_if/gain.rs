//! The gain of changes, with an interval: replays with and without them, on costs drawn anew from those that were measured.

use super::change::{Change, ChangeError, DiskWish, VolumeSpeed};
use crate::recorded::recorded;
use crate::{Keep, PipelineItem, ReplayError, StorageModel, replay};
use loadline_disk::{DiskSpec, EnvironmentSpec, VolumeSpec};
use loadline_record::{BatchCost, PipelineRecord, PipelineSpec, VolumeRole};
use serde::{Deserialize, Serialize};

/// Replays on costs drawn anew, for the interval.
const RESAMPLES: usize = 20;
/// Shares of the resampled gains below and above the interval: 1 of 20 each.
const BEYOND: usize = RESAMPLES / 20;

/// A rate over that without the change, with an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// 2: twice as fast; 1: nothing changes.
    pub ratio: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

/// The gain of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceGain {
    /// The source's name.
    pub source: String,
    /// Its gain in items per second.
    pub gain: Gain,
}

/// What changes would bring.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The sources that are left.
    pub sources: Vec<SourceGain>,
    /// The whole crawl: its duration without the changes over that with them.
    pub crawl: Gain,
    /// The replay's time without the changes over the measured one, less 1. The interval allows for it.
    pub replay_error: f64,
    /// Volumes that became another disk while single items wait for them: those waits stayed as they were measured.
    pub waits_kept: Vec<VolumeRole>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WhatIfError {
    /// A change that the pipeline cannot have.
    #[error("{0}")]
    Change(#[from] ChangeError),
    /// The replay.
    #[error("{0}")]
    Replay(#[from] ReplayError),
    /// A source that finished items has none in the sample.
    #[error("the record's sample of items lacks a source: there is nothing to replay")]
    NoSample,
    /// The disk is not known.
    #[error("the {role} volume cannot be {sku}: {reason}")]
    Disk {
        /// The volume.
        role: VolumeRole,
        /// The disk's name.
        sku: String,
        /// Why, in the words of the catalog.
        reason: String,
    },
    /// Nobody counted what is asked of the volume.
    #[error(
        "the requests to the {0} volume were not counted in this crawl: try a factor instead, as in \"{0} volume x2\""
    )]
    NoRequests(VolumeRole),
}

/// Replays a measured crawl with changes. `disk` finds a disk by its name.
///
/// # Errors
/// When a change does not fit the crawl, or a disk is not known.
pub fn what_if(
    record: &PipelineRecord,
    changes: &[Change],
    mut disk: impl FnMut(&DiskWish) -> Result<DiskSpec, String>,
) -> Result<WhatIf, WhatIfError> {
    let pipeline = recorded(record).ok_or(WhatIfError::NoSample)?;
    let share = pipeline.items.len() as f64 / record.sources.iter().map(|of| of.items).sum::<u64>().max(1) as f64;
    let (mut spec, mut items) = (pipeline.spec.clone(), pipeline.items.clone());
    for change in changes {
        change.apply(&mut spec, &mut items)?;
    }
    let (storage, waits_kept) = storage(&pipeline.spec, &items, changes, &mut disk)?;
    let names: Vec<&str> = spec.sources.iter().map(|source| source.name.as_str()).collect();
    let before_of: Vec<usize> =
        names.iter().filter_map(|name| pipeline.spec.sources.iter().position(|source| source.name == **name)).collect();
    let run = |spec: &PipelineSpec, items: &[PipelineItem], storage: Option<&StorageModel>| {
        replay(spec, items, storage, Keep::default()).map(|replayed| {
            let ends: Vec<u64> = (0..spec.sources.len()).map(|source| replayed.ended_ns(source)).collect();
            (ends, replayed.record.wall_ns)
        })
    };
    let ratios = |before: &(Vec<u64>, u64), after: &(Vec<u64>, u64)| -> Vec<f64> {
        let of = |before: u64, after: u64| if after == 0 { 1.0 } else { before as f64 / after as f64 };
        let sources = before_of.iter().zip(&after.0).map(|(place, after)| of(before.0[*place], *after));
        sources.chain([of(before.1, after.1)]).collect()
    };
    let before = run(&pipeline.spec, &pipeline.items, None)?;
    let measured = record.wall_ns as f64 * share;
    let replay_error = if measured > 0.0 { before.1 as f64 / measured - 1.0 } else { 0.0 };
    let told = ratios(&before, &run(&spec, &items, storage.as_ref())?);
    let mut resampled: Vec<Vec<f64>> = vec![Vec::new(); told.len()];
    for seed in 0..RESAMPLES as u64 {
        let drawn = resample(&pipeline.items, seed);
        let (mut spec, mut items) = (pipeline.spec.clone(), drawn.clone());
        for change in changes {
            change.apply(&mut spec, &mut items)?;
        }
        let ratios = ratios(&run(&pipeline.spec, &drawn, None)?, &run(&spec, &items, storage.as_ref())?);
        resampled.iter_mut().zip(ratios).for_each(|(all, ratio)| all.push(ratio));
    }
    let mut gains = told.iter().zip(resampled).map(|(ratio, resampled)| interval(*ratio, resampled, replay_error));
    let sources = names.iter().filter_map(|name| Some(SourceGain { source: (*name).to_owned(), gain: gains.next()? }));
    let sources = sources.collect();
    let crawl = gains.next().unwrap_or(Gain { ratio: 1.0, low: 1.0, high: 1.0 });
    Ok(WhatIf { sources, crawl, replay_error, waits_kept })
}

/// Between the outer resampled gains, and as much wider as the replay without a change was off.
fn interval(ratio: f64, mut resampled: Vec<f64>, replay_error: f64) -> Gain {
    resampled.sort_by(f64::total_cmp);
    let doubt = (ratio - 1.0).abs() * replay_error.abs();
    let low = resampled.get(BEYOND).copied().unwrap_or(ratio).min(ratio) - doubt;
    let high = resampled.iter().rev().nth(BEYOND).copied().unwrap_or(ratio).max(ratio) + doubt;
    Gain { ratio, low: low.max(0.0), high }
}

/// The same items with costs drawn anew from those of their source; what leads to what stays.
fn resample(items: &[PipelineItem], seed: u64) -> Vec<PipelineItem> {
    let sources = items.iter().map(|item| item.source + 1).max().unwrap_or(0) as usize;
    let mut of: Vec<Vec<usize>> = vec![Vec::new(); sources];
    items.iter().enumerate().for_each(|(place, item)| of[item.source as usize].push(place));
    let mut state = seed;
    let mut draw = |bound: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * bound as u128) >> 64) as usize
    };
    let one = |item: &PipelineItem| {
        let own = &of[item.source as usize];
        let costs = items[own[draw(own.len())]];
        PipelineItem { source: item.source, host: item.host, release: item.release, ..costs }
    };
    items.iter().map(one).collect()
}

/// The model of the volumes that become another disk, and of those the ones for which single items wait.
fn storage(
    spec: &PipelineSpec,
    items: &[PipelineItem],
    changes: &[Change],
    disk: &mut impl FnMut(&DiskWish) -> Result<DiskSpec, String>,
) -> Result<(Option<StorageModel>, Vec<VolumeRole>), WhatIfError> {
    let mut model = StorageModel { environment: EnvironmentSpec::default(), seed: 0, volumes: [const { None }; 3] };
    let mut waits_kept = Vec::new();
    for change in changes {
        let Change::Volume(role, VolumeSpeed::Disk(wish)) = change else { continue };
        let costs = costs(spec, *role);
        let waits = |cost: &&BatchCost| cost.write_per_unit_ns > 0 || cost.sync_ns > 0;
        if costs.iter().any(|cost| waits(cost) && cost.requests.is_none())
            || !costs.iter().any(|cost| cost.requests.is_some())
        {
            return Err(WhatIfError::NoRequests(*role));
        }
        let found = disk(wish).map_err(|reason| WhatIfError::Disk { role: *role, sku: wish.sku.clone(), reason })?;
        let name = role.name().to_owned();
        let volume = VolumeSpec { name: name.clone(), disks: vec![found], ..VolumeSpec::default() };
        model.environment.volumes.push(volume);
        let place = *role as usize;
        model.volumes[place] = Some(name);
        let single = match role {
            VolumeRole::Index => Some(1),
            VolumeRole::Data => Some(2),
            VolumeRole::Log => None,
        };
        if single.is_some_and(|station| items.iter().any(|item| item.work[station].device_ns > 0)) {
            waits_kept.push(*role);
        }
    }
    Ok(((!model.environment.volumes.is_empty()).then_some(model), waits_kept))
}

/// The batches that go to a volume.
fn costs(spec: &PipelineSpec, role: VolumeRole) -> Vec<&BatchCost> {
    let mut costs = Vec::new();
    if let (VolumeRole::Index, Some(segments)) = (role, &spec.segments) {
        costs.push(&segments.flush);
        costs.extend(segments.merge.iter().map(|merge| &merge.cost));
    }
    if let Some(commit) = &spec.commit {
        match role {
            VolumeRole::Index => costs.push(&commit.index),
            VolumeRole::Log => costs.push(&commit.database),
            VolumeRole::Data => {}
        }
    }
    costs
}
