//! A measured crawl made ready for replay: its structure, the costs of its batches, and its sampled items in true proportion.

use crate::{PipelineItem, Release};
use loadline_record::{BatchCost, BatchRecord, BatchRequests, ItemRecord, PipelineRecord, PipelineSpec, Station};
use loadline_units::Bytes;

/// What a replay of a measured crawl takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedPipeline {
    /// The pipeline, with the costs of its batches as they were measured.
    pub spec: PipelineSpec,
    /// Sampled items, of every source the same share of all.
    pub items: Vec<PipelineItem>,
}

/// Makes a measured crawl ready for replay. `None` where a source that finished items has none in the sample.
#[must_use]
pub fn recorded(record: &PipelineRecord) -> Option<RecordedPipeline> {
    let of = |source: usize| record.items.iter().filter(move |item| item.source as usize == source);
    let mut share = 1.0f64;
    for (number, source) in record.sources.iter().enumerate() {
        if source.items > 0 {
            share = share.min(of(number).count() as f64 / source.items as f64);
        }
    }
    if share <= 0.0 {
        return None;
    }
    let mut items = Vec::new();
    for (number, source) in record.sources.iter().enumerate() {
        let sample: Vec<&ItemRecord> = of(number).collect();
        let wanted = (libm::round(share * source.items as f64) as usize).min(sample.len());
        // Evenly over the sample, which is in the order of the crawl.
        let taken = (0..wanted).map(|place| sample[place * sample.len() / wanted]);
        let first = items.len();
        let mut numbers: Vec<u32> = Vec::new();
        for item in taken {
            // The item that led to it, or the nearest before that in the sample: a chain stays one.
            let found_in = item.found_in.and_then(|parent| {
                let before = numbers.partition_point(|number| *number <= parent);
                (before > 0).then(|| (first + before - 1) as u32)
            });
            let release =
                found_in.map_or_else(|| Release::At((item.eligible_ns as f64 * share) as u64), Release::After);
            numbers.push(item.number);
            items.push(replayable(item, release, record.spec.network.is_some()));
        }
    }
    Some(RecordedPipeline { spec: with_measured_costs(record), items })
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
fn with_measured_costs(record: &PipelineRecord) -> PipelineSpec {
    let mut spec = record.spec.clone();
    let of = |station: Station| record.batches.iter().filter(move |batch| batch.station == station);
    if let Some(segments) = &mut spec.segments {
        measure(&mut segments.flush, of(Station::Index));
        if let Some(merge) = &mut segments.merge {
            measure(&mut merge.cost, of(Station::Merge));
        }
    }
    if let Some(commit) = &mut spec.commit {
        measure(&mut commit.index, of(Station::Commit));
        measure(&mut commit.database, of(Station::Database));
    }
    spec
}

fn measure<'a>(cost: &mut BatchCost, batches: impl Iterator<Item = &'a BatchRecord>) {
    let (mut count, mut units) = (0u64, 0u64);
    let mut sums = [0u64; 6];
    for batch in batches {
        count += 1;
        units += batch.units;
        let parts = [batch.cpu_ns, batch.write_ns, batch.sync_ns, batch.bytes, batch.writes, batch.syncs];
        sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    if count == 0 {
        return;
    }
    let [cpu_ns, write_ns, sync_ns, bytes, writes, syncs] = sums;
    let units = units.max(1);
    let queue_depth = cost.requests.map_or(1, |requests| requests.queue_depth);
    let is_counted = writes + syncs > 0;
    *cost = BatchCost {
        cpu_per_unit_ns: cpu_ns / units,
        write_per_unit_ns: write_ns / units,
        sync_ns: sync_ns / count,
        requests: is_counted.then(|| BatchRequests {
            bytes_per_unit: Bytes::new(bytes / units),
            write: Bytes::new((bytes / writes.max(1)).max(512)),
            queue_depth,
            syncs: u32::try_from(syncs.div_ceil(count)).unwrap_or(u32::MAX),
        }),
    };
}
