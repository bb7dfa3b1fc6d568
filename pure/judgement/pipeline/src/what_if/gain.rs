//! The gain of changes, with an interval: replays with and without them, on costs drawn anew from those that were measured.

use super::assumption::Assumed;
use super::change::{Change, ChangeError, DiskWish, VolumeSpeed};
use crate::recorded::{BatchWaits, REPLAYED_MAX, RecordedPipeline, recorded, recorded_with};
use crate::{Keep, PipelineItem, ReplayError, StorageModel, replay};
use loadline_disk::{DiskSpec, EnvironmentSpec, VolumeSpec};
use loadline_record::{BatchCost, PipelineRecord, PipelineSpec, VolumeRole};
use serde::{Deserialize, Serialize};

/// Replays on costs drawn anew, for the interval.
const RESAMPLES: usize = 20;
/// Shares of the resampled gains below and above the interval: 1 of 20 each.
const BEYOND: usize = RESAMPLES / 20;
/// Of what a change brings, the part by which a replay is off where it takes nothing for granted that the change puts to the test:
/// the most that was seen in changes that were made (`docs/inside/crawl.md`).
const GAIN_ERROR: f64 = 0.15;

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
    /// What the replay takes for granted, and these changes put to the test. The interval allows for each.
    pub assumed: Vec<Assumed>,
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
    let after = changed(&pipeline, changes)?;
    let (storage, waits_kept) = storage(&pipeline.spec, &pipeline.items, changes, &mut disk)?;
    let names: Vec<&str> = after.spec.sources.iter().map(|source| source.name.as_str()).collect();
    let before_of: Vec<usize> =
        names.iter().filter_map(|name| pipeline.spec.sources.iter().position(|source| source.name == **name)).collect();
    let ratios = |before: &Replay, after: &Replay| -> Vec<f64> {
        let of = |before: u64, after: u64| if after == 0 { 1.0 } else { before as f64 / after as f64 };
        let sources = before_of.iter().zip(&after.ended_ns).map(|(place, after)| of(before.ended_ns[*place], *after));
        sources.chain([of(before.wall_ns, after.wall_ns)]).collect()
    };
    let replayed_before = Replay::of(&pipeline, None)?;
    let replayed_after = Replay::of(&after, storage.as_ref())?;
    let measured = record.wall_ns as f64 * share;
    let replay_error = if measured > 0.0 { replayed_before.wall_ns as f64 / measured - 1.0 } else { 0.0 };
    let told = ratios(&replayed_before, &replayed_after);

    let mut resampled: Vec<Vec<f64>> = vec![Vec::new(); told.len()];
    for seed in 0..RESAMPLES as u64 {
        let drawn = RecordedPipeline { spec: pipeline.spec.clone(), items: resample(&pipeline.items, seed) };
        let after = changed(&drawn, changes)?;
        let ratios = ratios(&Replay::of(&drawn, None)?, &Replay::of(&after, storage.as_ref())?);
        resampled.iter_mut().zip(ratios).for_each(|(all, ratio)| all.push(ratio));
    }
    let mut intervals: Vec<Gain> = told.iter().zip(resampled).map(|(ratio, drawn)| interval(*ratio, drawn)).collect();
    let mut allow = |otherwise: &[f64]| {
        intervals.iter_mut().zip(otherwise).for_each(|(interval, ratio)| interval.hold(*ratio));
    };

    let split = [BatchWaits::Once, BatchWaits::BySize].map(|waits| recorded_with(record, waits, REPLAYED_MAX));
    let [Some(once), Some(by_size)] = split else { return Err(WhatIfError::NoSample) };
    let busy_more = replayed_after.busy_share() - replayed_before.busy_share();
    let assumed = Assumed::of(changes, &pipeline, once.spec == by_size.spec, busy_more);
    for assumption in &assumed {
        match assumption {
            Assumed::BatchWaits => {
                for pipeline in [&once, &by_size] {
                    let after = changed(pipeline, changes)?;
                    allow(&ratios(&Replay::of(pipeline, None)?, &Replay::of(&after, storage.as_ref())?));
                }
            }
            Assumed::Processors { .. } | Assumed::Repository { .. } => {
                let otherwise = assumption.otherwise(&after);
                allow(&ratios(&replayed_before, &Replay::of(&otherwise, storage.as_ref())?));
            }
            // What the replay without the change lacks may be the queues' own time, which the change takes away or adds.
            Assumed::HandingOn => allow(&told.iter().map(|ratio| ratio / (1.0 + replay_error)).collect::<Vec<_>>()),
        }
    }
    let doubt = GAIN_ERROR.max(replay_error.abs());
    let mut gains = intervals.into_iter().map(|interval| interval.widened(doubt));
    let sources = names.iter().filter_map(|name| Some(SourceGain { source: (*name).to_owned(), gain: gains.next()? }));
    let sources = sources.collect();
    let crawl = gains.next().unwrap_or(Gain { ratio: 1.0, low: 1.0, high: 1.0 });
    Ok(WhatIf { sources, crawl, replay_error, assumed, waits_kept })
}

impl Gain {
    /// The interval holds this ratio, too.
    fn hold(&mut self, ratio: f64) {
        self.low = self.low.min(ratio);
        self.high = self.high.max(ratio);
    }
    /// Wider on both sides by this part of what the change brings.
    fn widened(self, part: f64) -> Self {
        let doubt = (self.ratio - 1.0).abs() * part;
        Self { low: (self.low - doubt).max(0.0), high: self.high + doubt, ..self }
    }
}

/// What is asked of a replay here.
struct Replay {
    /// By source.
    ended_ns: Vec<u64>,
    wall_ns: u64,
    cpu_ns: u64,
    cores: u32,
}

impl Replay {
    fn of(pipeline: &RecordedPipeline, storage: Option<&StorageModel>) -> Result<Self, ReplayError> {
        let replayed = replay(&pipeline.spec, &pipeline.items, storage, Keep::default())?;
        let ended_ns = (0..pipeline.spec.sources.len()).map(|source| replayed.ended_ns(source)).collect();
        let record = replayed.record;
        Ok(Self { ended_ns, wall_ns: record.wall_ns, cpu_ns: record.cpu.crawl_ns, cores: pipeline.spec.cores })
    }
    /// The processors that work, of those there are.
    fn busy_share(&self) -> f64 {
        self.cpu_ns as f64 / (self.wall_ns as f64 * f64::from(self.cores)).max(1.0)
    }
}

/// The pipeline with the changes.
fn changed(pipeline: &RecordedPipeline, changes: &[Change]) -> Result<RecordedPipeline, ChangeError> {
    let mut after = pipeline.clone();
    for change in changes {
        change.apply(&mut after.spec, &mut after.items)?;
    }
    Ok(after)
}

/// Between the outer resampled gains.
fn interval(ratio: f64, mut resampled: Vec<f64>) -> Gain {
    resampled.sort_by(f64::total_cmp);
    let low = resampled.get(BEYOND).copied().unwrap_or(ratio).min(ratio);
    let high = resampled.iter().rev().nth(BEYOND).copied().unwrap_or(ratio).max(ratio);
    Gain { ratio, low, high }
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
