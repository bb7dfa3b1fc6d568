//! What holds for every pipeline: nothing is lost, clocks add up, Little's law is exact, and the same comes out twice.

use crate::made_up::{items, station, wide_open};
use loadline_pipeline::{Keep, PipelineItem, Release, replay};
use loadline_record::{
    BatchCost, CommitSpec, MergeSpec, PipelineSpec, Politeness, QueueBound, SegmentSpec, SourceSpec, Station,
    StationSpec, Work,
};
use loadline_units::{ByteRate, Bytes, Duration};
use proptest::prelude::*;

fn stations() -> impl Strategy<Value = StationSpec> {
    (1u32..4, 1u32..6, 1u64..40)
        .prop_map(|(workers, items, kib)| StationSpec { workers, queue: QueueBound { items, bytes: Bytes::kib(kib) } })
}

fn costs() -> impl Strategy<Value = BatchCost> {
    let costs = (0u64..2_000, 0u64..100_000, 0u64..200_000, 0u64..2_000, 0u64..500_000);
    costs.prop_map(|(cpu_per_unit_ns, cpu_ns, write_ns, write_per_unit_ns, sync_ns)| BatchCost {
        cpu_per_unit_ns,
        cpu_ns,
        write_ns,
        write_per_unit_ns,
        sync_ns,
        requests: None,
    })
}

fn sources() -> impl Strategy<Value = Vec<SourceSpec>> {
    let delay = prop::option::of((0u64..300_000).prop_map(Duration::from_ns));
    let source = (1u32..6, delay, prop::option::of(1u32..3), prop::option::of(1u32..4));
    prop::collection::vec(source, 1..4).prop_map(|sources| {
        let of = |(number, (slots, crawl_delay, per_host, connections)): (usize, _)| SourceSpec {
            name: format!("s{number}"),
            slots,
            politeness: Politeness { crawl_delay, per_host },
            connections,
        };
        sources.into_iter().enumerate().map(of).collect()
    })
}

fn specs() -> impl Strategy<Value = PipelineSpec> {
    let merge = (2u32..4, 1u32..3, 1u32..3, costs()).prop_map(|(factor, threads, pending_max, cost)| MergeSpec {
        factor,
        threads,
        pending_max,
        cost,
    });
    let segments = (4u64..64, costs(), prop::option::of(merge)).prop_map(|(kib, flush, merge)| SegmentSpec {
        budget: Bytes::kib(kib),
        flush,
        merge,
    });
    let every = prop::option::of((100_000u64..5_000_000).prop_map(Duration::from_ns));
    let commit = (prop::option::of(1u64..40), every, costs(), costs())
        .prop_map(|(every_items, every, index, database)| CommitSpec { every_items, every, index, database });
    let network = prop::option::of((1_000_000u64..1_000_000_000).prop_map(|rate| ByteRate::per_second(rate).unwrap()));
    (
        1u32..4,
        network,
        sources(),
        (stations(), stations(), stations()),
        prop::option::of(segments),
        prop::option::of(commit),
    )
        .prop_map(|(cores, network, sources, (extract, index, database), segments, commit)| PipelineSpec {
            cores,
            network,
            sources,
            extract,
            index,
            database,
            segments,
            commit,
        })
}

fn works() -> impl Strategy<Value = Work> {
    (0u64..200_000, 0u64..100_000, 0u64..100_000).prop_map(|(cpu_ns, device_ns, other_ns)| Work {
        cpu_ns: cpu_ns.saturating_sub(50_000),
        device_ns: device_ns.saturating_sub(50_000),
        other_ns: other_ns.saturating_sub(50_000),
    })
}

/// Items with links by a share of an item's own place, so that each is found in an earlier one of its source.
fn streams(sources: usize) -> impl Strategy<Value = Vec<PipelineItem>> {
    let item = (0..sources as u32, 0u32..3, prop::option::of(0.0..1.0f64), 0u64..400_000, 0u64..20_000, 0u64..100_000);
    let one = (item, (works(), works(), works()), 0u64..300_000);
    prop::collection::vec(one, 1..120).prop_map(|drawn| {
        let mut items: Vec<PipelineItem> = Vec::new();
        for ((source, host, link, first_byte_ns, bytes, fetch_cpu_ns), (a, b, c), retry) in drawn {
            let same: Vec<usize> = (0..items.len()).filter(|place| items[*place].source == source).collect();
            let release = match link {
                Some(share) if !same.is_empty() => Release::After(same[(share * same.len() as f64) as usize] as u32),
                _ => Release::At(first_byte_ns / 2),
            };
            items.push(PipelineItem {
                source,
                host,
                release,
                first_byte_ns,
                body_ns: 0,
                bytes,
                text_bytes: bytes / 2,
                fetch_cpu_ns,
                retry_after_ns: if retry < 30_000 { retry } else { 0 },
                work: [a, b, c],
            });
        }
        items
    })
}

fn cases() -> impl Strategy<Value = (PipelineSpec, Vec<PipelineItem>)> {
    specs().prop_flat_map(|spec| {
        let sources = spec.sources.len();
        (Just(spec), streams(sources))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn nothing_is_lost_clocks_add_up_and_littles_law_is_exact((spec, items) in cases()) {
        let keep = Keep { interval_ns: 250_000, items_max: 10_000, seed: 1 };
        let replayed = replay(&spec, &items, None, keep).unwrap();
        let record = &replayed.record;
        // Every item passed every station.
        prop_assert_eq!(record.sources.iter().map(|source| source.items).sum::<u64>(), items.len() as u64);
        for station in record.stations.iter().filter(|of| Station::LINE.contains(&of.station)) {
            prop_assert_eq!(station.passed, items.len() as u64);
        }
        // Workers' times add up, in all and by interval.
        let clocks = record.stations.iter().map(|of| (of.workers, &of.clock, &of.series));
        let slots = record.sources.iter().zip(&spec.sources).map(|(of, spec)| (spec.slots, &of.clock, &of.series));
        for (workers, clock, series) in clocks.chain(slots) {
            prop_assert_eq!(clock.total_ns(), record.wall_ns * u64::from(workers));
            let in_series: u64 = series.iter().flat_map(|interval| interval.times_ns).sum();
            prop_assert_eq!(in_series, clock.total_ns());
        }
        for source in &record.sources {
            prop_assert_eq!(source.gated_by_ns.iter().sum::<u64>(), source.clock.gated_ns);
        }
        // All processor time that was asked for was given, on no more processors than there are.
        let asked: u64 = items.iter().map(|item| item.fetch_cpu_ns + item.work.iter().map(|work| work.cpu_ns).sum::<u64>()).sum();
        let batches: u64 = record.batches.iter().map(|batch| batch.cpu_ns).sum();
        prop_assert_eq!(record.cpu.crawl_ns, asked + batches);
        prop_assert!(record.cpu.crawl_ns <= record.wall_ns * u64::from(spec.cores));
        // Items inside, integrated over time, are the times that items were inside.
        let inside: u128 = replayed.inside_item_ns.iter().sum();
        let spent: u128 = record.items.iter().map(|item| u128::from(item.spans[2].end_ns - item.sent_ns)).sum();
        prop_assert_eq!(inside, spent);
        let waited: u128 = record.items.iter().map(|item| u128::from(item.sent_ns - item.eligible_ns)).sum();
        let waiting: u64 = record.sources.iter().map(|source| source.waiting_item_us).sum();
        prop_assert!(waited / 1_000 - u128::from(waiting) <= record.sources.len() as u128);
        // Times follow one another.
        for item in &record.items {
            let times = [item.eligible_ns, item.sent_ns, item.connected_ns, item.first_byte_ns, item.last_byte_ns,
                item.spans[0].start_ns, item.spans[0].end_ns, item.spans[1].start_ns, item.spans[1].end_ns,
                item.spans[2].start_ns, item.spans[2].end_ns, item.committed_ns.unwrap_or(u64::MAX)];
            prop_assert!(times.is_sorted(), "{:?}", times);
            prop_assert_eq!(item.committed_ns.is_some(), spec.commit.is_some());
        }
        // The crawl is over when its last work is: timers that nobody waits for are no part of it.
        let last_item = record.items.iter().map(|item| item.spans[2].end_ns).max().unwrap_or_default();
        let last_batch = record.batches.iter().map(|batch| batch.end_ns).max().unwrap_or_default();
        prop_assert_eq!(record.wall_ns, last_item.max(last_batch));
        // The same comes out twice.
        prop_assert_eq!(&replay(&spec, &items, None, keep).unwrap().record, record);
    }

    #[test]
    fn politeness_is_kept((spec, items) in cases()) {
        let keep = Keep { interval_ns: 0, items_max: 10_000, seed: 1 };
        let record = replay(&spec, &items, None, keep).unwrap().record;
        for (number, source) in spec.sources.iter().enumerate() {
            for host in 0..3 {
                let mut fetches: Vec<_> = record.items.iter()
                    .filter(|item| item.source == number as u32 && item.host == host).collect();
                fetches.sort_by_key(|item| item.sent_ns);
                for pair in fetches.windows(2) {
                    let delay = source.politeness.crawl_delay.map_or(0, Duration::as_ns);
                    prop_assert!(pair[1].sent_ns - pair[0].sent_ns >= delay);
                }
            }
        }
    }

    #[test]
    fn more_speed_is_never_slower_where_that_is_a_theorem(
        waits in prop::collection::vec([0u64..1_000, 0u64..1_000, 0u64..1_000, 0u64..1_000], 1..80),
        places in [1u32..5, 1u32..5, 1u32..5],
        faster in 0usize..4,
    ) {
        // One worker at each station, in order, with finite queues: the times of departures are sums and maxima of the work.
        let mut spec = wide_open(1);
        spec.extract = station(1, places[0]);
        spec.index = station(1, places[1]);
        spec.database = station(1, places[2]);
        let wall = |waits: &[[u64; 4]]| {
            let mut each = waits.iter();
            let stream = items(waits.len(), || *each.next().unwrap());
            replay(&spec, &stream, None, Keep::default()).unwrap().record.wall_ns
        };
        let mut less = waits.clone();
        for wait in &mut less {
            wait[faster] /= 2;
        }
        prop_assert!(wall(&less) <= wall(&waits));
        // And a larger queue is never slower.
        let before = wall(&waits);
        spec.extract.queue.items += 1;
        let mut each = waits.iter();
        let stream = items(waits.len(), || *each.next().unwrap());
        prop_assert!(replay(&spec, &stream, None, Keep::default()).unwrap().record.wall_ns <= before);
    }
}
