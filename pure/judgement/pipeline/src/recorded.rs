//! A measured crawl made ready for replay: its structure, the costs of its batches, and its items in true number.

use crate::lever::Lever;
use crate::{Keep, PipelineItem, Release, ReplayError, replay};
use loadline_record::{
    BatchCost, BatchRecord, BatchRequests, CpuRecord, ItemRecord, PipelineRecord, PipelineSpec, Station, StationClock,
};
use loadline_units::Bytes;

/// Items that are replayed at most. A larger crawl is replayed smaller, every source by the same factor.
pub const REPLAYED_MAX: u64 = 40_000;

/// Batches from which their waits' growth with their size is read, at least.
const BATCHES_MIN: usize = 8;
/// Their sizes' standard deviation over the mean, at least.
const SPREAD_MIN: f64 = 0.2;

/// How a batch's work and its waits for writes grow with its size where all batches were of one size, so that nothing measured shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchWaits {
    /// Half of them come once for a batch, and half with its size: between the two others.
    Half,
    /// All come once: what each flush takes, however little it writes.
    Once,
    /// All come with the size: what the bytes take.
    BySize,
}

/// What a replay of a measured crawl takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedPipeline {
    /// The pipeline, with the costs of its batches as they were measured.
    pub spec: PipelineSpec,
    /// As many items as the crawl had, or fewer by one factor for all sources. Items that the sample lacks repeat others of it.
    pub items: Vec<PipelineItem>,
}

impl RecordedPipeline {
    /// How many times as fast a source is with twice as much of a part, as a person sets it; `base_ns` is what it takes without. `None`: no
    /// setting does that.
    ///
    /// # Errors
    /// When the pipeline or an item contradicts itself.
    pub fn gain_of_twice(
        &self,
        record: &PipelineRecord,
        lever: Lever,
        source: usize,
        base_ns: u64,
    ) -> Result<Option<f64>, ReplayError> {
        let changes = lever.twice(record);
        let (mut spec, mut items) = (self.spec.clone(), self.items.clone());
        // What the pipeline does not have changes nothing.
        if changes.is_empty() || changes.iter().any(|change| change.apply(&mut spec, &mut items).is_err()) {
            return Ok(None);
        }
        let after = replay(&spec, &items, None, Keep::default())?.ended_ns(source);
        Ok((after > 0).then(|| base_ns as f64 / after as f64))
    }
}

/// Makes a measured crawl ready for replay. `None` where a source that finished items has none in the sample.
#[must_use]
pub fn recorded(record: &PipelineRecord) -> Option<RecordedPipeline> {
    recorded_with(record, BatchWaits::Half, REPLAYED_MAX)
}

/// The same, with another way in which the waits of batches of one size grow, and so many items at most.
pub(crate) fn recorded_with(record: &PipelineRecord, waits: BatchWaits, items_max: u64) -> Option<RecordedPipeline> {
    let all: u64 = record.sources.iter().map(|source| source.items).sum();
    let scale = (items_max as f64 / all.max(1) as f64).min(1.0);
    let mut items = Vec::new();
    let slower = Station::LINE.map(|station| {
        let found = record.stations.iter().find(|of| of.station == station);
        found.map_or(1.0, |found| slower_beside_others(record.cpu, &found.clock))
    });
    for (number, source) in record.sources.iter().enumerate() {
        let sample: Vec<&ItemRecord> = record.items.iter().filter(|item| item.source as usize == number).collect();
        if sample.is_empty() && source.items > 0 {
            return None;
        }
        let slower_fetch = slower_beside_others(record.cpu, &source.clock);
        let wanted = libm::round(scale * source.items as f64) as usize;
        let first = items.len();
        for place in 0..wanted {
            // Evenly over the sample, which is in the order of the crawl.
            let item = sample[place * sample.len() / wanted];
            // As far behind the item that led to it as it was: a chain stays one, and a list stays one.
            let parent = item.found_in.filter(|_| place > 0).map(|parent| {
                let distance = f64::from(item.number.saturating_sub(parent)) * scale;
                (place as f64 - distance).clamp(0.0, (place - 1) as f64) as usize
            });
            let release = match parent {
                Some(parent) => Release::After((first + parent) as u32),
                None => Release::At((item.eligible_ns as f64 * scale) as u64),
            };
            let mut item = replayable(item, release, record.spec.network.is_some());
            item.fetch_cpu_ns = slowed(item.fetch_cpu_ns, slower_fetch);
            for (work, slower) in item.work.iter_mut().zip(slower) {
                work.cpu_ns = slowed(work.cpu_ns, slower);
            }
            items.push(item);
        }
    }
    (!items.is_empty()).then(|| RecordedPipeline { spec: with_measured_costs(record, waits), items })
}

/// By how much other processes slow down a station's work on a processor. The replay has all processors for itself, so waiting for
/// one counts here, in proportion to what others used of what was used at all.
fn slower_beside_others(cpu: CpuRecord, clock: &StationClock) -> f64 {
    let used = cpu.others_ns + cpu.crawl_ns;
    if used == 0 || clock.busy.on_cpu_ns == 0 {
        return 1.0;
    }
    let others = cpu.others_ns as f64 / used as f64;
    1.0 + others * clock.busy.runnable_ns as f64 / clock.busy.on_cpu_ns as f64
}

fn slowed(cpu_ns: u64, slower: f64) -> u64 {
    if slower > 1.0 { scaled(cpu_ns, slower) } else { cpu_ns }
}

/// `ns` times a factor, to the nearest.
pub(crate) fn scaled(ns: u64, factor: f64) -> u64 {
    libm::round(ns as f64 * factor) as u64
}

fn replayable(item: &ItemRecord, release: Release, network_is_known: bool) -> PipelineItem {
    PipelineItem {
        source: item.source,
        host: item.host,
        release,
        first_byte_ns: item.first_byte_ns.saturating_sub(item.connected_ns),
        // On a network of known rate the transfers share it anew.
        body_ns: if network_is_known { 0 } else { item.last_byte_ns.saturating_sub(item.first_byte_ns) },
        bytes: item.bytes,
        text_bytes: item.text_bytes,
        fetch_cpu_ns: item.fetch_cpu_ns,
        retry_after_ns: item.retry_after_ns,
        work: item.work,
    }
}

/// The structure with costs of what was measured. Where nothing was, those that it states stay.
fn with_measured_costs(record: &PipelineRecord, waits: BatchWaits) -> PipelineSpec {
    let mut spec = record.spec.clone();
    let of = |station: Station| -> Vec<&BatchRecord> {
        record.batches.iter().filter(|batch| batch.station == station).collect()
    };
    if let Some(segments) = &mut spec.segments {
        measure(&mut segments.flush, &of(Station::Index), waits);
        if let Some(index) = record.stations.iter().find(|of| of.station == Station::Index) {
            let slower = slower_beside_others(record.cpu, &index.clock);
            segments.flush.cpu_per_unit_ns = slowed(segments.flush.cpu_per_unit_ns, slower);
            segments.flush.cpu_ns = slowed(segments.flush.cpu_ns, slower);
        }
        if let Some(merge) = &mut segments.merge {
            measure(&mut merge.cost, &of(Station::Merge), waits);
        }
    }
    if let Some(commit) = &mut spec.commit {
        measure(&mut commit.index, &of(Station::Commit), waits);
        measure(&mut commit.database, &of(Station::Database), waits);
    }
    spec
}

fn measure(cost: &mut BatchCost, batches: &[&BatchRecord], waits: BatchWaits) {
    if batches.is_empty() {
        return;
    }
    let sum = |of: fn(&BatchRecord) -> u64| batches.iter().map(|batch| of(batch)).sum::<u64>();
    let count = batches.len() as u64;
    let units = sum(|batch| batch.units).max(1);
    let (writes, syncs) = (sum(|batch| batch.writes), sum(|batch| batch.syncs));
    let queue_depth = cost.requests.map_or(1, |requests| requests.queue_depth);
    let is_counted = writes + syncs > 0;
    // What comes once, and what comes with the size.
    let split = |of: fn(&BatchRecord) -> u64| {
        let once = once_share(batches, of).unwrap_or(match waits {
            BatchWaits::Half => 0.5,
            BatchWaits::Once => 1.0,
            BatchWaits::BySize => 0.0,
        });
        let all = sum(of);
        let once = scaled(all, once);
        (once, all - once)
    };
    let (cpu_once_ns, cpu_ns) = split(|batch| batch.cpu_ns);
    let (write_once_ns, write_ns) = split(|batch| batch.write_ns);
    *cost = BatchCost {
        cpu_ns: cpu_once_ns / count,
        cpu_per_unit_ns: cpu_ns / units,
        write_ns: write_once_ns / count,
        write_per_unit_ns: write_ns / units,
        sync_ns: sum(|batch| batch.sync_ns) / count,
        requests: is_counted.then(|| BatchRequests {
            bytes_per_unit: Bytes::new(sum(|batch| batch.bytes) / units),
            write: Bytes::new((sum(|batch| batch.bytes) / writes.max(1)).max(512)),
            queue_depth,
            syncs: u32::try_from(syncs.div_ceil(count)).unwrap_or(u32::MAX),
        }),
    };
}

/// The share of a time that batches take once, whatever their size: where a line of least squares meets the batch of no size, between 0
/// and 1. `None` where their sizes hardly differ, or too few were measured.
fn once_share(batches: &[&BatchRecord], of: fn(&BatchRecord) -> u64) -> Option<f64> {
    let count = batches.len() as f64;
    let mean = |of: fn(&BatchRecord) -> u64| batches.iter().map(|batch| of(batch) as f64).sum::<f64>() / count;
    let (units, time_ns) = (mean(|batch| batch.units), mean(of));
    let around = |both: fn(f64, f64) -> f64| -> f64 {
        let all = batches.iter().map(|batch| both(batch.units as f64 - units, of(batch) as f64 - time_ns));
        all.sum::<f64>() / count
    };
    let variance = around(|units, _| units * units);
    if batches.len() < BATCHES_MIN || time_ns <= 0.0 || libm::sqrt(variance) < SPREAD_MIN * units {
        return None;
    }
    let slope = around(|units, time_ns| units * time_ns) / variance;
    Some((1.0 - slope * units / time_ns).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::BusySplit;

    #[test]
    fn time_that_other_processes_took_counts_as_work_on_a_slower_processor() {
        let cpu = CpuRecord { crawl_ns: 100, others_ns: 300, ..CpuRecord::default() };
        let busy = BusySplit { on_cpu_ns: 100, runnable_ns: 80, ..BusySplit::default() };
        let clock = StationClock { busy, ..StationClock::default() };
        assert_eq!(slowed(1_000, slower_beside_others(cpu, &clock)), 1_600);
        let alone = CpuRecord { others_ns: 0, ..cpu };
        assert_eq!(slowed(1_000, slower_beside_others(alone, &clock)), 1_000);
    }
}
