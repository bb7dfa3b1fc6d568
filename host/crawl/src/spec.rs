//! A crawl's settings as its record has them, and series that are joined where they are long.

use crate::index::{CrawlIndex, MERGE_THREADS};
use crate::state::Workers;
use loadline_pipeline::{CrawlPlan, QueuePlan};
use loadline_record::{
    BatchCost, CommitSpec, MergeSpec, PipelineRecord, PipelineSpec, Politeness, QueueBound, SegmentSpec, SourceSpec,
    Station, StationInterval, StationSpec, VolumeSecond,
};
use loadline_units::Bytes;

/// The pipeline as it was in force.
pub(crate) fn pipeline_spec(plan: &CrawlPlan, workers: Workers, index: &CrawlIndex) -> PipelineSpec {
    let station = |of: Station, queue: QueuePlan| StationSpec {
        workers: workers.at(of),
        queue: QueueBound { items: queue.items, bytes: queue.bytes },
    };
    let source = |source: &loadline_pipeline::SourcePlan| SourceSpec {
        name: source.name.clone(),
        slots: source.slots(),
        politeness: Politeness { crawl_delay: source.crawl_delay, per_host: source.per_host },
        connections: source.connections,
    };
    PipelineSpec {
        cores: workers.cores,
        network: None,
        sources: plan.sources.iter().map(source).collect(),
        extract: station(Station::Extract, plan.extract.queue),
        index: station(Station::Index, plan.index.queue),
        database: station(Station::Database, plan.database.queue),
        segments: Some(SegmentSpec {
            budget: Bytes::new(index.budget(workers.index)),
            flush: BatchCost::default(),
            merge: Some(MergeSpec {
                factor: plan.index.merge_factor,
                threads: MERGE_THREADS,
                pending_max: plan.index.merges_pending,
                cost: BatchCost::default(),
            }),
        }),
        commit: Some(CommitSpec {
            every_items: Some(plan.commit.every_items),
            every: Some(plan.commit.every),
            index: BatchCost::default(),
            database: BatchCost::default(),
        }),
    }
}

/// Joins neighbours of every series until none has more than `most` intervals.
pub(crate) fn join_intervals(record: &mut PipelineRecord, most: usize) {
    let longest = record.wall_ns.div_ceil(record.interval_ns) as usize;
    let factor = longest.div_ceil(most);
    if factor <= 1 {
        return;
    }
    record.interval_ns *= factor as u64;
    let joined = |series: &mut Vec<StationInterval>| {
        let join = |part: &[StationInterval]| {
            let mut sum = StationInterval::default();
            for of in part {
                sum.passed += of.passed;
                sum.times_ns.iter_mut().zip(of.times_ns).for_each(|(sum, ns)| *sum += ns);
            }
            sum
        };
        *series = series.chunks(factor).map(join).collect();
    };
    for source in &mut record.sources {
        joined(&mut source.series);
        // As it stood at the end of each.
        let ends = source.hosts_left.chunks(factor).filter_map(|part| part.last().copied());
        source.hosts_left = ends.collect();
    }
    for station in &mut record.stations {
        joined(&mut station.series);
    }
    record.received_bytes = record.received_bytes.chunks(factor).map(|part| part.iter().sum()).collect();
    for volume in &mut record.volumes {
        let join = |part: &[VolumeSecond]| VolumeSecond {
            requests: part.iter().map(|of| of.requests).sum(),
            bytes: part.iter().map(|of| of.bytes).sum(),
            latency_ns: part.iter().map(|of| of.latency_ns).sum(),
            busy_ns: part.iter().map(|of| of.busy_ns).sum(),
        };
        volume.series = volume.series.chunks(factor).map(join).collect();
    }
}
