//! What changes bring: the replay of a measured crawl with a change against the crawl that has it.

use crate::made_up::{Random, source, station, wide_open};
use loadline_disk::{DiskSpec, Latency, LatencySpec, Parallelism};
use loadline_pipeline::{
    Amount, Assumed, Bound, Change, Keep, Lever, PipelineItem, WhatIf, WhatIfError, attribute, replay, what_if,
};
use loadline_record::{
    BatchCost, BatchRequests, CommitSpec, PipelineRecord, PipelineSpec, SegmentSpec, Station, VolumeRole, Work,
};
use loadline_units::{Bytes, Duration};

const MS: f64 = 1e6;

fn drawn(seed: u64, count: usize) -> Vec<PipelineItem> {
    let mut random = Random::new(seed);
    let mut item = |source: u32| {
        let mut work = |cpu: f64| Work { cpu_ns: random.exponential(cpu * MS), ..Work::default() };
        let work = [work(1.0), work(8.0), work(0.5)];
        let latency = if source == 0 { 20.0 } else { 1_000.0 };
        PipelineItem {
            source,
            first_byte_ns: random.exponential(latency * MS),
            bytes: 20_000,
            text_bytes: 8_000,
            work,
            ..PipelineItem::default()
        }
    };
    (0..count + count / 8).map(|number| item(u32::from(number >= count))).collect()
}

fn farm() -> PipelineSpec {
    let mut spec = wide_open(8);
    spec.sources = vec![source("web", 8), source("share", 4)];
    spec.cores = 8;
    spec.extract = station(2, 16);
    spec.index = station(1, 16);
    spec.database = station(1, 16);
    spec
}

fn measured(spec: &PipelineSpec, items: &[PipelineItem]) -> PipelineRecord {
    let keep = Keep { interval_ns: 50_000_000, items_max: 2 * items.len(), seed: 7 };
    replay(spec, items, None, keep).unwrap().record
}

fn asked(record: &PipelineRecord, changes: &[&str]) -> Result<WhatIf, WhatIfError> {
    let changes: Vec<Change> = changes.iter().map(|text| text.parse().expect(text)).collect();
    what_if(record, &changes, |wish| if wish.sku == "made/slow" { Ok(slow()) } else { Err("no such disk".to_owned()) })
}

/// A disk of 10 ms for anything.
fn slow() -> DiskSpec {
    let of = LatencySpec { median: Duration::from_ms(10), p99: Duration::from_ms(10), per_kib: Duration::ZERO };
    DiskSpec {
        latency: Latency { read: of, write: of, flush: Some(of) },
        parallelism: Parallelism { requests: Some(1), throughput: None },
        ..DiskSpec::default()
    }
}

#[test]
fn the_replay_with_a_change_is_the_crawl_that_has_it() {
    let items = drawn(3, 800);
    let record = measured(&farm(), &items);
    for (texts, change) in [
        (vec!["index workers x2"], (|spec: &mut PipelineSpec| spec.index.workers = 2) as fn(&mut PipelineSpec)),
        (vec!["web slots 16", "index workers 4"], |spec| {
            spec.sources[0].slots = 16;
            spec.index.workers = 4;
        }),
        (vec!["cores 1"], |spec| spec.cores = 1),
    ] {
        let mut spec = farm();
        change(&mut spec);
        let truth = record.wall_ns as f64 / measured(&spec, &items).wall_ns as f64;
        let told = asked(&record, &texts).unwrap();
        assert!(told.replay_error.abs() < 1e-9, "{texts:?}: {}", told.replay_error);
        assert!((told.crawl.ratio / truth - 1.0).abs() < 1e-9, "{texts:?}: {:?}, truth {truth}", told.crawl);
        assert!(told.crawl.low <= truth && truth <= told.crawl.high);
        // Another crawl of the same kind lies within the interval, or near it.
        let others = drawn(4, 800);
        let other = measured(&farm(), &others).wall_ns as f64 / measured(&spec, &others).wall_ns as f64;
        let width = told.crawl.high - told.crawl.low;
        assert!(other > told.crawl.low - width && other < told.crawl.high + width, "{other} and {:?}", told.crawl);
    }
}

#[test]
fn processors_that_others_use_are_what_is_short_and_not_workers() {
    let mut record = measured(&farm(), &drawn(3, 800));
    assert_eq!(attribute(&record).unwrap()[0].bound, Bound::By(Lever::Workers(Station::Index)));
    // Other processes use all that the crawl did not.
    record.cpu.others_ns = record.wall_ns * u64::from(record.spec.cores) - record.cpu.crawl_ns;
    let found = &attribute(&record).unwrap()[0];
    assert_eq!(found.bound, Bound::By(Lever::Cores), "{found:?}");
    assert!(found.evidence.cores_taken.others > 0.05, "{found:?}");
}

#[test]
fn a_source_that_is_left_out_leaves_its_room_to_the_others() {
    let record = measured(&farm(), &drawn(3, 800));
    let told = asked(&record, &["no source share"]).unwrap();
    assert_eq!(told.sources.len(), 1);
    assert_eq!(told.sources[0].source, "web");
    assert!(told.sources[0].gain.ratio > 1.01, "{told:?}");
}

#[test]
fn a_crawl_that_ends_before_its_first_epoch_is_old_commits_at_its_end() {
    let mut spec = farm();
    let cost = BatchCost { write_per_unit_ns: 1_000, sync_ns: 1_000_000, ..BatchCost::default() };
    let every = Some(Duration::from_s(30));
    spec.commit = Some(CommitSpec { every_items: Some(10_000), every, index: cost.clone(), database: cost });
    let record = measured(&spec, &drawn(3, 800));
    let ended_ns = record.sources.iter().map(|source| source.ended_ns).max().unwrap();
    assert!(record.wall_ns < ended_ns + 10_000_000, "{} and {ended_ns}", record.wall_ns);
    // What the sources gain, the whole crawl gains.
    let both = asked(&record, &["index workers x2", "share slots x2"]).unwrap();
    assert!(both.crawl.ratio > 1.5, "{both:?}");
    // An epoch that no item lives to see changes nothing.
    let longer = asked(&record, &["commit every 60 s"]).unwrap();
    assert!((longer.crawl.ratio - 1.0).abs() < 1e-9, "{longer:?}");
    assert!(asked(&record, &["no source share"]).unwrap().crawl.ratio > 1.01);
}

/// A crawl of the web alone: no slow share that outlasts what the change is about.
fn of_web(seed: u64) -> (PipelineSpec, Vec<PipelineItem>) {
    let mut spec = farm();
    spec.sources.truncate(1);
    (spec, drawn(seed, 800).into_iter().filter(|item| item.source == 0).collect())
}

/// Commits of so many items, each of which waits this long once, however many they are.
fn committing(items: u64, once_ms: u64) -> PipelineSpec {
    let (mut spec, _) = of_web(3);
    let cost = BatchCost { write_ns: once_ms * 1_000_000, ..BatchCost::default() };
    spec.commit =
        Some(CommitSpec { every_items: Some(items), every: None, index: BatchCost::default(), database: cost });
    spec
}

#[test]
fn commits_of_one_size_do_not_show_what_larger_ones_take_and_the_interval_holds_both() {
    let (_, items) = of_web(3);
    let record = measured(&committing(20, 400), &items);
    let told = asked(&record, &["commit every 40 items"]).unwrap();
    assert_eq!(told.assumed, [Assumed::BatchWaits]);
    let once = record.wall_ns as f64 / measured(&committing(40, 400), &items).wall_ns as f64;
    let by_size = record.wall_ns as f64 / measured(&committing(40, 800), &items).wall_ns as f64;
    assert!(once > 1.1 * by_size, "{once} and {by_size}");
    for truth in [once, by_size] {
        assert!(told.crawl.low <= truth && truth <= told.crawl.high, "{truth}, told {:?}", told.crawl);
    }
    // A change that leaves the commits as they are takes nothing of them for granted.
    assert_eq!(asked(&record, &["cores 16"]).unwrap().assumed, []);
}

#[test]
fn a_commit_of_each_item_is_asked_about_by_a_step_that_a_person_takes() {
    let (_, items) = of_web(3);
    let asked_about = |every: u64| Lever::Commit.twice(&measured(&committing(every, 30), &items));
    assert_eq!(asked_about(1), [Change::CommitItems(Amount::To(8))]);
    assert_eq!(asked_about(3), [Change::CommitItems(Amount::To(8))]);
    assert_eq!(asked_about(4), [Change::CommitItems(Amount::Times(2.0))]);
}

#[test]
fn commits_of_many_sizes_show_what_larger_ones_take() {
    let (_, items) = of_web(3);
    let mut spec = committing(20, 30);
    // Ended by time, they have as many items as came meanwhile.
    let by_time = |spec: &mut PipelineSpec, ms: u64| {
        let commit = spec.commit.as_mut().unwrap();
        (commit.every_items, commit.every) = (None, Some(Duration::from_ms(ms)));
    };
    by_time(&mut spec, 60);
    let record = measured(&spec, &items);
    let told = asked(&record, &["commit every 120 ms"]).unwrap();
    assert_eq!(told.assumed, []);
    by_time(&mut spec, 120);
    let truth = record.wall_ns as f64 / measured(&spec, &items).wall_ns as f64;
    assert!((told.crawl.ratio / truth - 1.0).abs() < 0.02, "{truth}, told {:?}", told.crawl);
}

#[test]
fn work_beside_work_may_be_slower_and_the_interval_says_so() {
    let (mut spec, items) = of_web(3);
    spec.cores = 2;
    let record = measured(&spec, &items);
    let told = asked(&record, &["index workers x2"]).unwrap();
    let Some(Assumed::Processors { busy_more }) = told.assumed.first() else { panic!("{:?}", told.assumed) };
    // Two threads of one core: at work both, they do 1.3 times what one does.
    spec.index.workers = 2;
    let longer = 1.0 + 0.5 * busy_more;
    let work = |work: Work| Work { cpu_ns: (work.cpu_ns as f64 * longer) as u64, ..work };
    let slowed: Vec<PipelineItem> =
        items.iter().map(|item| PipelineItem { work: item.work.map(work), ..*item }).collect();
    let truth = record.wall_ns as f64 / measured(&spec, &slowed).wall_ns as f64;
    assert!(truth < 0.97 * told.crawl.ratio, "{truth}, told {:?}", told.crawl);
    assert!(told.crawl.low <= truth, "{truth}, told {:?}", told.crawl);
}

#[test]
fn a_repository_asked_for_more_at_once_may_answer_slower() {
    let record = measured(&farm(), &drawn(3, 800));
    let told = asked(&record, &["share slots x2"]).unwrap();
    assert!(
        told.assumed.contains(&Assumed::Repository { source: "share".to_owned(), times: 2.0 }),
        "{:?}",
        told.assumed
    );
    let gain = told.sources[1].gain;
    assert!(gain.ratio > 1.5 && gain.low < 0.9 * gain.ratio && gain.high < 1.3 * gain.ratio, "{gain:?}");
    // As many as before, or fewer, ask for nothing new.
    assert_eq!(asked(&record, &["share slots 4"]).unwrap().assumed, []);
}

#[test]
fn a_repository_that_answers_sooner_helps_where_it_binds() {
    let record = measured(&farm(), &drawn(3, 800));
    let gain = |text: &str, source: usize| asked(&record, &[text]).unwrap().sources[source].gain;
    // The index binds the web source; the share waits for its repository.
    assert!(gain("share repository latency 500 ms", 1).ratio > 1.5);
    assert!(gain("web repository latency 1 ms", 0).ratio < 1.1);
}

#[test]
fn another_disk_takes_the_counted_requests() {
    let requests = BatchRequests { bytes_per_unit: Bytes::kib(1), write: Bytes::kib(64), queue_depth: 1, syncs: 1 };
    let cost =
        BatchCost { write_per_unit_ns: 1_000, sync_ns: 1_000_000, requests: Some(requests), ..BatchCost::default() };
    let mut spec = farm();
    spec.segments = Some(SegmentSpec { budget: Bytes::kib(640), flush: cost.clone(), merge: None });
    spec.commit = Some(CommitSpec { every_items: Some(100), every: None, index: cost.clone(), database: cost });
    let items = drawn(3, 800);
    let mut record = measured(&spec, &items);
    // Nothing was counted: there is nothing to run through a model.
    let error = asked(&record, &["index volume made/slow"]).unwrap_err();
    assert_eq!(error, WhatIfError::NoRequests(VolumeRole::Index));
    assert!(error.to_string().contains("\"index volume x2\""));
    for batch in &mut record.batches {
        batch.bytes = batch.units * 1_024;
        batch.writes = batch.bytes.div_ceil(64 << 10);
        batch.syncs = 1;
    }
    let slower = asked(&record, &["index volume made/slow"]).unwrap();
    assert!(slower.sources[0].gain.ratio < 0.9, "{slower:?}");
    assert_eq!(slower.waits_kept, []);
    let error = asked(&record, &["index volume made/none"]).unwrap_err();
    assert_eq!(error.to_string(), "the index volume cannot be made/none: no such disk");
}

#[test]
fn a_change_that_does_not_fit_says_why() {
    let record = measured(&farm(), &drawn(3, 100));
    let error = |text: &str| asked(&record, &[text]).expect_err(text).to_string();
    assert_eq!(error("mail slots 3"), "the crawl has no source \"mail\": it has web, share");
    assert_eq!(error("commit x2"), "the crawl has no commit that could be changed");
    assert_eq!(error("network x2"), "the crawl has no network of known rate that could be changed");
}
