//! What bound each source: rules from the clocks, a replay that speeds up each part in turn, and an answer where they agree.

use crate::ReplayError;
use crate::elasticity::{Elasticities, Elasticity, elasticities};
use crate::lever::Lever;
use crate::recorded::{BatchWaits, REPLAYED_MAX, RecordedPipeline, recorded_with};
use crate::rules::{CORES_BUSY, NamedShare, cores_busy, named_by_clocks};
use crate::volume_limits::{HeldVolumes, held_volumes};
use loadline_record::{GateRule, PipelineRecord, SourceRecord, Station, StationClock, StationRecord};
use serde::{Deserialize, Serialize};

/// From this elasticity on a lever alone binds.
pub const BINDS: f64 = 0.6;
/// A lever alone leads the next by at least this.
pub const LEADS: f64 = 0.2;
/// From this elasticity on a lever takes part.
pub const TAKES_PART: f64 = 0.25;
/// A lever with less takes part as well if it has this, and leads the next by as much as [`STANDS_OUT`].
const TAKES_PART_ALONE: f64 = 0.15;
const STANDS_OUT: f64 = 0.1;
/// Sources of fewer items say nothing.
pub const ITEMS_MIN: u64 = 30;
/// A replay that takes longer or shorter than the crawl by more than this is not the crawl.
pub const REPLAY_ERROR_MAX: f64 = 0.15;
/// The same where clocks and replay name one part.
const AGREED_ERROR_MAX: f64 = 0.4;
/// A volume that the replay names against the clocks binds if it was at a limit that was read for so much of the time.
const HELD_INSISTS: f64 = 0.5;
/// Effects that are shown of a source.
const EFFECTS_MAX: usize = 4;
/// One part gives no more than another if it gives less than this in addition.
pub(crate) const HARDLY_MORE: f64 = 1.1;
/// Clocks that name a lever for more of the time than this, while it has no more effect than that, contradict the replay.
const CLOCKS_INSIST: f64 = 0.6;
const NO_EFFECT: f64 = 0.1;
/// Against such clocks a replay still names its part, as one among several, if it takes as long as the crawl to within this, and the part leads.
const TRUSTED_ERROR_MAX: f64 = 0.05;

/// What bound a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// One part alone.
    By(Lever),
    /// Several parts, the one with the largest effect first. One alone: it is part of the answer, and the rest is spread.
    Shared(Vec<Lever>),
    /// Every item failed: there is no rate.
    Failed,
    /// No honest answer.
    CannotTell(Doubtful),
}

impl Bound {
    /// The parts that bound it, the one with the largest effect first.
    #[must_use]
    pub fn levers(&self) -> &[Lever] {
        match self {
            Self::By(lever) => std::slice::from_ref(lever),
            Self::Shared(levers) => levers,
            Self::Failed | Self::CannotTell(_) => &[],
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubtful {
    /// Too few items.
    FewItems {
        /// Items of the source.
        items: u64,
    },
    /// The sample lacks a source.
    NoSample,
    /// The replay without a change does not take as long as the crawl took.
    ReplayOff {
        /// The replay's time over the measured one, less 1.
        error: f64,
    },
    /// No part has an effect of note.
    Flat,
    /// Clocks and replay name different parts.
    Disagree {
        /// What the clocks name for most of the time.
        clocks: Lever,
        /// What has the largest effect in the replay.
        replay: Lever,
    },
}

/// What bound a source, and the figures that say so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// The source's name.
    pub source: String,
    /// The answer.
    pub bound: Bound,
    /// Its figures.
    pub evidence: Evidence,
}

impl Attribution {
    /// What the clocks name for most of the time, where the answer follows the replay all the same.
    #[must_use]
    pub fn clocks_against(&self) -> Option<NamedShare> {
        let levers = self.bound.levers();
        let insisting = insisting(&self.evidence.by_clocks, &self.evidence.by_replay);
        insisting.filter(|clocks| !levers.is_empty() && !levers.contains(&clocks.lever))
    }
}

/// Figures of a source, and of the station that the answer names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Items per second until the source's end.
    pub rate_per_s: f64,
    /// Fetches in flight on average.
    pub in_flight: f64,
    /// Fetches in flight at most.
    pub in_flight_allowed: u32,
    /// Slots, by what they did, as shares of their time until the source's end.
    pub slots: WorkerShares,
    /// The rule that kept the most slot time back.
    pub gate_rule: Option<GateRule>,
    /// From sent to the first byte, mean of the sample, ns.
    pub repository_latency_ns: f64,
    /// The station that the answer names.
    pub station: Option<StationEvidence>,
    /// Use of what others left of the processors while the source ran, from 0.0 to 1.0.
    pub cores_busy: f64,
    /// What else took processors over the crawl, as shares of all processor time.
    pub cores_taken: CoresTaken,
    /// For how much of the time the clocks name what.
    pub by_clocks: Vec<NamedShare>,
    /// The largest effects in the replay.
    pub by_replay: Vec<Elasticity>,
    /// What twice as much of each of these gives, as a person sets it: `log2` of how many times as fast the source would be.
    #[serde(default)]
    pub by_settings: Vec<Elasticity>,
    /// The replay's time over the measured one, less 1.
    pub replay_error: f64,
    /// For how much of the source's time few hosts were left: fewer than slots, after the last item was found.
    pub tail: f64,
    /// How late fetch threads woke, over the repository latency; `None`: not measured.
    pub lag: Option<f64>,
}

/// What workers did, as shares of their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerShares {
    /// Working, waiting within the work included.
    pub busy: f64,
    /// Waiting for an item.
    pub starved: f64,
    /// With an item and no place to put it.
    pub blocked: f64,
    /// Kept back by a rule.
    pub gated: f64,
}

/// A station's figures over the crawl.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StationEvidence {
    /// Which.
    pub station: Station,
    /// Its workers.
    pub workers: u32,
    /// What they did.
    pub shares: WorkerShares,
    /// Of the working time, on a processor.
    pub on_cpu: f64,
    /// Of the working time, waiting for a processor.
    pub runnable: f64,
    /// Of the working time, waiting for a volume.
    pub device: f64,
    /// Items before it on average.
    pub queue_mean: f64,
    /// Sources that had a quarter or more of its working time, by place, with their share.
    pub by_source: Vec<(usize, f64)>,
}

/// Who else had the processors, as shares of all processor time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CoresTaken {
    /// Other processes.
    pub others: f64,
    /// The hypervisor.
    pub steal: f64,
    /// A quota.
    pub throttled: f64,
}

/// Names what bound each source of a crawl.
///
/// # Errors
/// When the record contradicts itself.
pub fn attribute(record: &PipelineRecord) -> Result<Vec<Attribution>, ReplayError> {
    attribute_within(record, REPLAYED_MAX)
}

/// The same with so many items replayed at most.
///
/// # Errors
/// As of [`attribute`].
pub(crate) fn attribute_within(record: &PipelineRecord, replayed_max: u64) -> Result<Vec<Attribution>, ReplayError> {
    let busy: Vec<f64> = (0..record.sources.len()).map(|source| cores_busy(record, source)).collect();
    let are_busy: Vec<bool> = busy.iter().map(|busy| *busy >= CORES_BUSY).collect();
    let pipeline = recorded_with(record, BatchWaits::Half, replayed_max);
    let replayed = match &pipeline {
        Some(pipeline) => {
            Some((elasticities(&pipeline.spec, &pipeline.items, &are_busy)?, share_of(record, pipeline.items.len())))
        }
        None => None,
    };
    let held = held_volumes(record);
    let named = record.sources.iter().enumerate().map(|(number, source)| {
        let by_clocks = named_by_clocks(record, number);
        let (by_replay, replay_error) = match &replayed {
            Some((Elasticities { base_ns, of }, share)) => {
                let measured = source.ended_ns as f64 * share;
                (of[number].clone(), if measured > 0.0 { base_ns[number] as f64 / measured - 1.0 } else { 0.0 })
            }
            None => (Vec::new(), 0.0),
        };
        let bound = name(source, &by_clocks, &by_replay, replay_error, replayed.is_some());
        let bound = settled(bound, &held);
        let by_settings = match (&pipeline, &replayed) {
            (Some(pipeline), Some((Elasticities { base_ns, .. }, _))) if !bound.levers().is_empty() => {
                gains(record, pipeline, number, base_ns[number], &by_replay)?
            }
            _ => Vec::new(),
        };
        let bound = most_first(bound, &by_settings);
        let evidence = evidence(record, number, &bound, by_clocks, by_replay, replay_error, busy[number]);
        Ok(Attribution { source: source.name.clone(), bound, evidence: Evidence { by_settings, ..evidence } })
    });
    named.collect()
}

/// What twice as much of each of the parts with the largest effects gives, as a person sets it, the most first. Workers are always asked
/// about: where they wait, more of them help, and faster ones do not.
fn gains(
    record: &PipelineRecord,
    pipeline: &RecordedPipeline,
    source: usize,
    base_ns: u64,
    by_replay: &[Elasticity],
) -> Result<Vec<Elasticity>, ReplayError> {
    let mut all = Vec::new();
    let is_asked = |(place, of): &(usize, &Elasticity)| *place < EFFECTS_MAX || matches!(of.lever, Lever::Workers(_));
    for lever in by_replay.iter().enumerate().filter(is_asked).map(|(_, of)| of.lever) {
        if let Some(gain) = pipeline.gain_of_twice(record, lever, source, base_ns)? {
            all.push(Elasticity { lever, elasticity: libm::log2(gain) });
        }
    }
    all.sort_by(|a, b| b.elasticity.total_cmp(&a.elasticity));
    Ok(all)
}

/// Names first what gives most where a person sets twice as much of it.
fn most_first(bound: Bound, by_settings: &[Elasticity]) -> Bound {
    let Some(first) = bound.levers().first().copied() else { return bound };
    let of = |lever: Lever| by_settings.iter().find(|of| of.lever == lever).map(|of| of.elasticity);
    let Some(own) = of(first) else { return bound };
    // How often is committed is set at no cost: it stands before what gives no more.
    let least = |lever: Lever| if lever == Lever::Commit { 0.0 } else { libm::log2(HARDLY_MORE) };
    let more = by_settings.iter().find(|of| of.elasticity > own + least(of.lever) && !of.lever.is_one_wait(first));
    let Some(more) = more.map(|of| of.lever) else { return bound };
    let others = bound.levers().iter().copied().filter(|lever| *lever != more);
    Bound::Shared([more].into_iter().chain(others).collect())
}

/// The share of all items that is replayed.
fn share_of(record: &PipelineRecord, items: usize) -> f64 {
    let all: u64 = record.sources.iter().map(|source| source.items).sum();
    items as f64 / all.max(1) as f64
}

/// Step 5: the answer that clocks and replay agree on.
fn name(
    source: &SourceRecord,
    by_clocks: &[NamedShare],
    by_replay: &[Elasticity],
    replay_error: f64,
    is_sampled: bool,
) -> Bound {
    if source.items == 0 {
        return if source.failed() > 0 { Bound::Failed } else { Bound::CannotTell(Doubtful::FewItems { items: 0 }) };
    }
    if source.items < ITEMS_MIN {
        return Bound::CannotTell(Doubtful::FewItems { items: source.items });
    }
    if !is_sampled {
        return Bound::CannotTell(Doubtful::NoSample);
    }
    // A sample that misses rare items changes how long a replay takes. Clocks that name the same part vouch for it.
    let agree = by_clocks.first().map(|of| of.lever) == by_replay.first().map(|of| of.lever);
    let error_max = if agree { AGREED_ERROR_MAX } else { REPLAY_ERROR_MAX };
    if replay_error.abs() > error_max {
        return Bound::CannotTell(Doubtful::ReplayOff { error: replay_error });
    }
    let second = by_replay.get(1).map_or(0.0, |second| second.elasticity);
    let takes_part = |first: &&Elasticity| {
        let alone = first.elasticity >= TAKES_PART_ALONE && first.elasticity - second >= STANDS_OUT;
        first.elasticity >= TAKES_PART || alone
    };
    let Some(first) = by_replay.first().filter(takes_part) else {
        return Bound::CannotTell(Doubtful::Flat);
    };
    let leads = first.elasticity - second >= LEADS;
    let against = insisting(by_clocks, by_replay);
    if let Some(clocks) = against.filter(|_| !leads || replay_error.abs() > TRUSTED_ERROR_MAX) {
        return Bound::CannotTell(Doubtful::Disagree { clocks: clocks.lever, replay: first.lever });
    }
    if first.elasticity >= BINDS && leads && against.is_none() {
        return Bound::By(first.lever);
    }
    let others = by_replay.iter().skip(1).filter(|of| of.elasticity >= TAKES_PART).map(|of| of.lever);
    Bound::Shared([first.lever].into_iter().chain(others).collect())
}

/// What the clocks name for most of the time and the replay does not.
fn insisting(by_clocks: &[NamedShare], by_replay: &[Elasticity]) -> Option<NamedShare> {
    let effect = |lever: Lever| by_replay.iter().find(|of| of.lever == lever).map_or(0.0, |of| of.elasticity);
    let first = by_replay.first()?.lever;
    let clocks = by_clocks.first().copied()?;
    let insists = clocks.share >= CLOCKS_INSIST && clocks.lever != first && effect(clocks.lever) < NO_EFFECT;
    insists.then_some(clocks)
}

/// Where clocks and replay disagree, the volume that the replay names, if it was at a limit that was read.
fn settled(bound: Bound, held: &[HeldVolumes]) -> Bound {
    let is_held = |lever: Lever| match lever {
        Lever::Volume(role) => held.iter().any(|of| of.share >= HELD_INSISTS && of.volumes.contains(&role)),
        _ => false,
    };
    match bound {
        Bound::CannotTell(Doubtful::Disagree { clocks, replay }) => {
            if is_held(replay) {
                Bound::By(replay)
            } else {
                Bound::CannotTell(Doubtful::Disagree { clocks, replay })
            }
        }
        bound => bound,
    }
}

fn shares(clock: &StationClock) -> WorkerShares {
    WorkerShares {
        busy: clock.share(clock.busy.total_ns()),
        starved: clock.share(clock.starved_ns),
        blocked: clock.share(clock.blocked_ns),
        gated: clock.share(clock.gated_ns),
    }
}

fn evidence(
    record: &PipelineRecord,
    number: usize,
    bound: &Bound,
    by_clocks: Vec<NamedShare>,
    mut by_replay: Vec<Elasticity>,
    replay_error: f64,
    cores_busy: f64,
) -> Evidence {
    let source = &record.sources[number];
    let slots = record.spec.sources[number].slots;
    let ended = source.ended_ns.max(1) as f64;
    // After its end a source's slots are starved: that time is not its own.
    let mut own = source.clock;
    own.starved_ns = own.starved_ns.saturating_sub((record.wall_ns - source.ended_ns) * u64::from(slots));
    let fetching = own.busy.total_ns() - own.busy.pool_ns;
    let latencies: Vec<f64> = record
        .items
        .iter()
        .filter(|item| item.source as usize == number)
        .map(|item| item.first_byte_ns.saturating_sub(item.connected_ns) as f64)
        .collect();
    let latency = latencies.iter().sum::<f64>() / latencies.len().max(1) as f64;
    let gate_rule = GateRule::ALL.into_iter().max_by_key(|rule| source.gated_by_ns[rule.index()]);
    let station = bound
        .levers()
        .first()
        .copied()
        .and_then(Lever::station)
        .and_then(|station| record.stations.iter().find(|of| of.station == station));
    by_replay.truncate(EFFECTS_MAX);
    let all_cores = (record.wall_ns * u64::from(record.spec.cores)).max(1) as f64;
    Evidence {
        rate_per_s: source.items as f64 / ended * 1e9,
        in_flight: fetching as f64 / ended,
        in_flight_allowed: slots,
        slots: shares(&own),
        gate_rule: gate_rule.filter(|rule| source.gated_by_ns[rule.index()] > 0),
        repository_latency_ns: latency,
        station: station.map(|station| station_evidence(record, station)),
        cores_busy,
        cores_taken: CoresTaken {
            others: record.cpu.others_ns as f64 / all_cores,
            steal: record.cpu.steal_ns as f64 / all_cores,
            throttled: record.cpu.throttled_ns as f64 / all_cores,
        },
        by_clocks,
        by_replay,
        by_settings: Vec::new(),
        replay_error,
        tail: tail(record, source, slots),
        lag: record.lag_p99_ns.map(|lag| lag as f64 / latency.max(1.0)),
    }
}

fn station_evidence(record: &PipelineRecord, station: &StationRecord) -> StationEvidence {
    let busy = station.clock.busy;
    let of = |ns: u64| ns as f64 / busy.total_ns().max(1) as f64;
    let all: u64 = station.busy_by_source_ns.iter().sum();
    let share = |(source, ns): (usize, &u64)| (source, *ns as f64 / all.max(1) as f64);
    StationEvidence {
        station: station.station,
        workers: station.workers,
        shares: shares(&station.clock),
        on_cpu: of(busy.on_cpu_ns),
        runnable: of(busy.runnable_ns),
        device: of(busy.device_ns),
        queue_mean: station.queue.item_us as f64 * 1e3 / record.wall_ns.max(1) as f64,
        by_source: station
            .busy_by_source_ns
            .iter()
            .enumerate()
            .map(share)
            .filter(|(_, share)| *share >= 0.25)
            .collect(),
    }
}

/// For how much of its time a source had fewer hosts left than slots, when it had had more before.
fn tail(record: &PipelineRecord, source: &SourceRecord, slots: u32) -> f64 {
    let most = source.hosts_left.iter().max().copied().unwrap_or_default();
    if most < slots || record.interval_ns == 0 {
        return 0.0;
    }
    let intervals = source.ended_ns.div_ceil(record.interval_ns) as usize;
    let dry = (source.frontier_dry_ns / record.interval_ns) as usize;
    let few = (dry..intervals).filter(|interval| source.hosts_left.get(*interval).is_some_and(|left| *left < slots));
    few.count() as f64 / intervals.max(1) as f64
}
