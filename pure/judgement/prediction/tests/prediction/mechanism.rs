//! The named limit follows from where requests waited, and agrees with the ceilings.

use crate::{binding, bound_by, ceiling, iops, known, load, mean_ms, model, near, put, seen_of, trial};
use loadline_catalog::Draw;
use loadline_disk::{Fullness, InitialState, Warmth};
use loadline_prediction::{Going, PredictionError, Putting, check, predict, predict_together};
use loadline_record::{Fact, Limit, ModelFact, Stage, WaitedEach};
use loadline_units::{Bytes, Duration, Iops};
use loadline_workload::{Arrival, Distribution, GroupEnd, LoadSpec, Pattern};

/// 1 ms a request, limited to 1,000 IOPS and 50 MB/s.
const DISK: &str = r#"
schema = 1
name = "x"
[volume.data]
[[volume.data.disks]]
size = "100 GiB"
[volume.data.disks.limit]
iops = "1000 IOPS"
throughput = "50 MB/s"
counted_size = "256 KiB"
[volume.data.disks.latency.read]
median = "4 ms"
"#;

fn open(kib: u64, rate: u64) -> LoadSpec {
    LoadSpec { arrival: Arrival::Poisson { rate: Iops::per_second(rate).unwrap() }, ..load(kib, 100, 1) }
}

#[test]
fn few_requests_are_bound_by_their_latency() {
    let record = trial(&model(DISK, Draw::PUBLISHED), &load(4, 100, 2));
    assert_eq!(bound_by(&record), Limit::Latency);
    assert!(near(ceiling(&record, Limit::Latency), 500.0, 1e-9));
    assert!(near(binding(&record).utilization.unwrap(), 1.0, 0.01) && known(&record).waits.is_empty());
}

#[test]
fn small_requests_wait_for_requests_and_large_ones_for_bytes() {
    let model = model(DISK, Draw::PUBLISHED);
    let small = trial(&model, &load(4, 100, 32));
    assert_eq!(bound_by(&small), Limit::DiskIops);
    let large = trial(&model, &load(1_024, 100, 32));
    assert_eq!(bound_by(&large), Limit::DiskThroughput);
    for record in [small, large] {
        assert!(near(binding(&record).utilization.unwrap(), 1.0, 0.01), "{:?}", binding(&record));
        assert!(!binding(&record).inferred && known(&record).waits[0].stage == Stage::Disk);
    }
}

#[test]
fn a_budget_of_the_machine_that_others_wait_for_too_is_told_as_shared() {
    let disk = "disks = [{ size = \"100 GiB\", limit = { iops = \"2000 IOPS\" }, latency = { read = { median = \"1 ms\" } } }]";
    let text = format!(
        "schema = 1\nname = \"x\"\n[vm]\nuncached = {{ iops = \"3000 IOPS\" }}\n[volume.a]\n{disk}\n[volume.b]\n{disk}\n\
         [volume.c]\n{disk}\n"
    );
    let model = model(&text, Draw::PUBLISHED);
    let (deep, shallow) = (load(4, 100, 32), load(4, 100, 1));
    let initial = InitialState::default();
    let on = |volume, load| Putting { model: &model, volume, load, trial: 0, seed: 7, initial, started_unix_s: 0 };
    let puttings = [on("a", &deep), on("b", &deep)];
    let records = predict_together(&puttings, GroupEnd::Each, &mut |_| Going::On).unwrap().unwrap();
    assert_eq!(bound_by(&records[0]), Limit::VmUncachedIops);
    let with_b = Fact::from(ModelFact::VolumesWaited { volumes: vec!["b".to_owned()] });
    assert_eq!(binding(&records[0]).seen.facts().last(), Some(&with_b));
    assert_eq!(known(&records[1]).beside, ["a"]);
    // One at a time leaves the budget to the other.
    let alone =
        predict_together(&[on("a", &shallow), on("b", &shallow)], GroupEnd::Each, &mut |_| Going::On).unwrap().unwrap();
    assert_eq!(bound_by(&alone[0]), Limit::Latency);
    assert_eq!(binding(&alone[0]).seen.facts().len(), 1, "no fact about b");
    assert!(known(&put(&model, "a", &deep, Fullness::Full)).beside.is_empty());
}

/// Sixteen parts come at once: they wait first for their turn as requests, then as bytes, and only the bytes last as long.
#[test]
fn of_two_budgets_at_one_place_the_lower_ceiling_binds_the_parts_of_one_request() {
    let text = "schema = 1\nname = \"x\"\n[vm]\nuncached = { iops = \"3000 IOPS\", throughput = \"100 MB/s\" }\n[volume.data]\n\
                layout = { stripe = { interleave = \"64 KiB\" } }\n\
                disks = [{ size = \"100 GiB\", count = 16, latency = { read = { median = \"2 ms\" } } }]\n";
    let model = model(text, Draw::PUBLISHED);
    let record = trial(&model, &load(1_024, 100, 1));
    // 15 x 64 KiB at 100 MB/s, and the last part's 2 ms: 11.8 ms each.
    assert!(near(iops(&record), 1e3 / 11.83, 0.01), "{}", iops(&record));
    assert_eq!(bound_by(&record), Limit::VmUncachedThroughput, "{:?}", seen_of(&record));
    let small = trial(&model, &load(4, 100, 64));
    assert_eq!(bound_by(&small), Limit::VmUncachedIops);
}

#[test]
fn an_open_loop_that_is_met_is_bound_by_nothing_and_one_that_is_not_by_the_limit() {
    let model = model(DISK, Draw::PUBLISHED);
    let met = trial(&model, &open(4, 800));
    assert_eq!(bound_by(&met), Limit::Arrival);
    let missed = trial(&model, &open(4, 1_500));
    assert_eq!((bound_by(&missed), binding(&missed).ceiling_iops), (Limit::DiskIops, Some(1_000.0)));
}

#[test]
fn an_open_loop_that_asks_for_a_little_more_than_the_limit_is_bound_by_it_however_little_is_missing() {
    let model = model(DISK, Draw::PUBLISHED);
    let arrival = Arrival::Constant { rate: Iops::per_second(1_008).unwrap() };
    let above = trial(&model, &LoadSpec { arrival, ..open(4, 1) });
    let share = above.iops().unwrap() / 1_008.0;
    assert!(share > 0.99 && share < 1.0, "it is met within 1 %: {share}");
    assert_eq!((bound_by(&above), binding(&above).ceiling_iops), (Limit::DiskIops, Some(1_000.0)));
    // Below the limit its requests may wait for each other all the same.
    let below = Arrival::Constant { rate: Iops::per_second(995).unwrap() };
    assert_eq!(bound_by(&trial(&model, &LoadSpec { arrival: below, ..open(4, 1) })), Limit::Arrival);
}

#[test]
fn an_open_loop_whose_arrivals_were_not_all_issued_is_held_by_the_limit() {
    let arrival = Arrival::Constant { rate: Iops::per_second(1_009).unwrap() };
    let load = LoadSpec { arrival, duration: Duration::from_s(3_000), ..open(4, 1) };
    let record = trial(&model(DISK, Draw::PUBLISHED), &load);
    let share = record.iops().unwrap() / record.offered_iops.unwrap();
    assert!(record.missed > 0 && share > 0.99, "{} missed, {share}", record.missed);
    assert_eq!((bound_by(&record), binding(&record).ceiling_iops), (Limit::DiskIops, Some(1_000.0)));
}

#[test]
fn a_rate_ceiling_of_the_load_itself_is_an_arrival() {
    let arrival = Arrival::Closed { queue_depth: 8, rate_max: Iops::per_second(300), think_time: Duration::ZERO };
    assert_eq!(
        bound_by(&trial(&model(DISK, Draw::PUBLISHED), &LoadSpec { arrival, ..load(4, 100, 8) })),
        Limit::Arrival
    );
}

#[test]
fn a_write_back_cache_that_is_full_binds() {
    let text = r#"
schema = 1
name = "x"
[volume.data]
host_cache = { mode = "read-write", capacity = "64 MiB" }
[[volume.data.disks]]
size = "100 GiB"
[volume.data.disks.limit]
iops = "500 IOPS"
[volume.data.disks.latency.read]
median = "1 ms"
"#;
    let record = trial(&model(text, Draw::PUBLISHED), &LoadSpec { warm_up: Duration::from_s(60), ..load(8, 0, 16) });
    assert_eq!(bound_by(&record), Limit::Cache, "{:?}", known(&record));
    assert!(near(iops(&record), ceiling(&record, Limit::Cache), 0.05), "{}", iops(&record));
}

/// 16,384 outstanding at 3,000 a second take 5.5 s, and the run takes 2. Some requests are not answered within it:
/// their waiting is not compared with the time of the others.
#[test]
fn a_run_shorter_than_its_queue_tells_no_times_that_cannot_be() {
    let text = "schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{ sku = \"aws/gp3\", size = \"100 GiB\" }]";
    let deep = LoadSpec { warm_up: Duration::ZERO, duration: Duration::from_s(2), ..load(16, 100, 16_384) };
    let record = trial(&model(text, Draw::PUBLISHED), &deep);
    let each = |record| match seen_of(record) {
        ModelFact::Waited { each, .. } => *each,
        other => panic!("{other:?}"),
    };
    assert!(matches!(each(&record), WaitedEach::BeyondTheEnd { depth: 16_384, .. }), "{:?}", each(&record));
    let long = LoadSpec { warm_up: Duration::from_s(10), duration: Duration::from_s(60), ..load(16, 100, 1_024) };
    let record = trial(&model(text, Draw::PUBLISHED), &long);
    let WaitedEach::Of { latency_ns, .. } = each(&record) else { panic!("{:?}", each(&record)) };
    assert!((340e6..350e6).contains(&latency_ns), "{latency_ns}");
}

/// Writes of 64 KiB at nearly 1 GB/s into 10 GiB: for 5 s nothing waits for room, and the rate afterwards is known.
#[test]
fn a_write_back_cache_that_is_not_full_yet_has_a_ceiling() {
    let text = "schema = 1\nname = \"x\"\nvm = \"azure/d16ds-v4\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]\n\
                host_cache = { mode = \"read-write\", capacity = \"10 GiB\" }";
    let model = model(text, Draw::PUBLISHED);
    let short = LoadSpec {
        warm_up: Duration::from_s(1),
        duration: Duration::from_s(2),
        size: Some(Bytes::gib(100)),
        ..load(64, 0, 32)
    };
    let record = trial(&model, &short);
    assert!(known(&record).waits.iter().all(|wait| wait.stage != Stage::Cache), "{:?}", known(&record).waits);
    // 200 MiB/s, and a tenth of the writes hits dirty blocks.
    assert!(near(ceiling(&record, Limit::Cache), 3_200.0 / 0.9, 1e-6), "{}", ceiling(&record, Limit::Cache));
    assert!(iops(&record) > 15_000.0);
    let full = LoadSpec { warm_up: Duration::from_s(16), duration: Duration::from_s(4), ..short.clone() };
    let record = trial(&model, &full);
    assert!(near(iops(&record), ceiling(&record, Limit::Cache), 0.01), "{}", iops(&record));
    // If few blocks have most of the writes, the cache may never fill.
    let skewed = Pattern::Random(Distribution::Zipf { theta_milli: 1_200 });
    let record = trial(&model, &LoadSpec { pattern: skewed, ..short });
    assert!(known(&record).ceilings.iter().all(|ceiling| ceiling.limit != Limit::Cache));
}

#[test]
fn a_disk_with_few_places_is_bound_by_their_latency() {
    let text = r#"
schema = 1
name = "x"
[volume.data]
[[volume.data.disks]]
size = "100 GiB"
parallelism = { requests = 4 }
[volume.data.disks.latency.read]
median = "1 ms"
"#;
    let record = trial(&model(text, Draw::PUBLISHED), &load(4, 100, 64));
    assert_eq!((bound_by(&record), known(&record).waits[0].stage), (Limit::Latency, Stage::Service));
    assert!(near(iops(&record), 4_000.0, 0.01));
}

#[test]
fn one_disk_of_a_volume_can_be_asked_alone() {
    let record = put(&model("pool-4", Draw::PUBLISHED), "data/1", &load(8, 100, 64), Fullness::Full);
    assert!(near(iops(&record), 500.0, 0.02), "{}", iops(&record));
}

/// No ceiling is exceeded, on any built-in environment.
#[test]
fn no_load_passes_its_lowest_ceiling() {
    for (name, _) in loadline_catalog::environments() {
        let model = model(name, Draw::MIDDLE);
        for volume in loadline_prediction::volume_names(&model) {
            for (kib, reads, depth) in [(4, 100, 1), (8, 0, 64), (1_024, 50, 16)] {
                for pattern in [load(kib, reads, depth).pattern, Pattern::Sequential { stride: None }] {
                    let size = Some(Bytes::gib(4));
                    let load = LoadSpec { pattern, size, warm_up: Duration::from_s(20), ..load(kib, reads, depth) };
                    let record = put(&model, &volume, &load, Fullness::Empty);
                    let steady = known(&record).ceilings.iter().filter(|c| c.limit != Limit::Latency);
                    let least = steady.map(|c| c.iops).fold(f64::MAX, f64::min);
                    // A window of quota more than the time measured, and how far a mix strays by chance.
                    let chance = 0.02 + 2.0 / (record.count() as f64).sqrt();
                    assert!(
                        iops(&record) <= least * (1.0 + chance),
                        "{name} {volume} {load}: {} above {least}",
                        iops(&record)
                    );
                }
            }
        }
    }
}

#[test]
fn the_same_arguments_give_the_same_record_and_a_carried_machine_another() {
    let model = model("ds3-p30", Draw::MIDDLE);
    let load = LoadSpec { size: Some(Bytes::gib(1)), ..load(8, 100, 64) };
    let initial = InitialState { bursts: Fullness::Full, vm_bursts: None, caches: Warmth::Cold };
    let putting = Putting { model: &model, volume: "data", load: &load, trial: 0, seed: 3, initial, started_unix_s: 0 };
    let make = |carried| predict(&putting, carried, &mut |_| Going::On).unwrap().unwrap();
    let (first, again) = (make(None), make(None));
    assert_eq!(first.record, again.record);
    let later = make(Some(first.machine));
    assert!(known(&later.record).initial.carried);
    assert!(iops(&later.record) > iops(&first.record), "the cache is warmer than it was");
}

#[test]
fn what_cannot_be_modelled_is_refused_and_a_stop_is_obeyed() {
    let model = model(DISK, Draw::PUBLISHED);
    let buffered = LoadSpec { buffered: true, ..load(4, 100, 1) };
    assert!(matches!(check(&model, "data", &buffered), Err(PredictionError::Simulation(_))));
    let message = check(&model, "log", &load(4, 100, 1)).unwrap_err().to_string();
    assert_eq!(message, "environment \"x\" has no volume \"log\": it has data");
    let putting = Putting {
        model: &model,
        volume: "data",
        load: &load(4, 100, 1),
        trial: 0,
        seed: 3,
        initial: InitialState::default(),
        started_unix_s: 0,
    };
    assert!(predict(&putting, None, &mut |_| Going::Stop).unwrap().is_none());
}

/// Answers of a host's cache are limited by its VM; without a published figure, the prediction says so.
#[test]
fn a_cache_without_a_published_limit_is_told() {
    let unknown = |environment: &str, volume: &str, reads: u32| {
        let record = put(&model(environment, Draw::MIDDLE), volume, &load(8, reads, 16), Fullness::Full);
        known(&record).limits_unknown.clone()
    };
    let a7 = |cache: &str| {
        format!(
            "schema = 1\nname = \"x\"\nvm = \"azure/a7\"\n[volume.data]\ndisks = [{{ sku = \"azure/classic-standard\" }}]\n\
             host_cache = \"{cache}\"\n"
        )
    };
    let told = unknown(&a7("read-only"), "data", 100);
    assert!(told.len() == 1 && told[0].contains("azure/a7"), "{told:?}");
    assert_eq!(unknown(&a7("read-only"), "data", 0), Vec::<String>::new(), "writes pass the cache by");
    assert_eq!(unknown(&a7("read-write"), "data", 0).len(), 1, "writes are taken by the cache");
    // The provider's API gives one limit for temporary disk and cache of a D14.
    assert_eq!(unknown("d14", "attached", 100), Vec::<String>::new());
    assert_eq!(unknown("d14", "temporary", 100), Vec::<String>::new());
    assert_eq!(unknown("ds3-p30", "data", 100), Vec::<String>::new());
}

/// If a machine limits each type of disk separately and the catalog lacks this one, the prediction says so.
#[test]
fn a_machines_limit_that_is_not_in_the_catalog_is_told() {
    let unknown = |vm: &str, disk: &str| {
        let text =
            format!("schema = 1\nname = \"x\"\nvm = \"gcp/{vm}\"\n[volume.data]\ndisks = [{{ sku = \"gcp/{disk} }}]\n");
        known(&trial(&model(&text, Draw::MIDDLE), &load(8, 100, 16))).limits_unknown.clone()
    };
    let hyperdisk = "hyperdisk-balanced\", size = \"1 TiB\", iops = \"20000 IOPS\", throughput = \"600 MiB/s\"";
    let told = unknown("n2-standard-4", hyperdisk);
    assert!(
        told == ["what gcp/n2-standard-4 allows all disks of gcp/hyperdisk-balanced together; nothing is held there"],
        "{told:?}"
    );
    assert_eq!(unknown("c3-standard-4", hyperdisk), Vec::<String>::new());
    assert_eq!(
        unknown("c3-standard-4", "hyperdisk-throughput\", size = \"4 TiB\", throughput = \"600 MiB/s\"").len(),
        1
    );
    assert_eq!(unknown("n2-standard-8", "pd-extreme\", size = \"1 TiB\"").len(), 1);
    assert_eq!(unknown("n2-standard-64", "pd-extreme\", size = \"1 TiB\""), Vec::<String>::new());
    assert_eq!(unknown("c3-standard-4", "pd-ssd\", size = \"1 TiB\""), Vec::<String>::new());
    assert_eq!(unknown("n2-standard-8", "local-ssd-nvme\""), Vec::<String>::new());
}

/// A machine's total for disks of a type is a separate limit beside theirs by size.
#[test]
fn what_a_machine_allows_disks_of_a_type_is_the_machines_limit() {
    let text = |gib: u32| {
        format!(
            "schema = 1\nname = \"x\"\nvm = \"gcp/n2-standard-8\"\n[volume.data]\n\
             disks = [{{ sku = \"gcp/pd-ssd\", size = \"{gib} GiB\" }}]"
        )
    };
    let large = trial(&model(&text(4_000), Draw::PUBLISHED), &load(4, 100, 256));
    assert_eq!(bound_by(&large), Limit::VmUncachedIops);
    assert!(near(ceiling(&large, Limit::VmUncachedIops), 15_000.0, 1e-9));
    assert!(near(ceiling(&large, Limit::DiskIops), 100_000.0, 1e-9));
    assert!(near(iops(&large), 15_000.0, 0.01), "{}", iops(&large));
    let small = trial(&model(&text(100), Draw::PUBLISHED), &load(4, 100, 256));
    assert_eq!((bound_by(&small), ceiling(&small, Limit::DiskIops)), (Limit::DiskIops, 9_000.0));
}

/// Draws that only give a range are measured for a minute, unless the distant past matters.
#[test]
fn draws_other_than_the_first_are_short_where_nothing_lasts() {
    let long = LoadSpec { warm_up: Duration::from_s(60), duration: Duration::from_s(300), ..load(4, 100, 8) };
    let other = |environment: &str| {
        let text = loadline_catalog::environment_text(environment).unwrap();
        let environment = loadline_catalog::Environment::parse(text, "x", &crate::CATALOG).unwrap();
        loadline_prediction::Model::new(&environment, 1, Draw::MIDDLE)
    };
    let short = loadline_prediction::for_draw(&other("pool-4"), "data", &long);
    assert_eq!((short.warm_up, short.duration), (Duration::from_s(10), Duration::from_s(60)));
    // A cache, or credits, remember; the first draw is the figure itself.
    assert_eq!(loadline_prediction::for_draw(&other("ds3-p30"), "data", &long), long);
    assert_eq!(loadline_prediction::for_draw(&model("pool-4", Draw::MIDDLE), "data", &long), long);
    let (whole, part) =
        (put(&other("pool-4"), "data", &long, Fullness::Full), put(&other("pool-4"), "data", &short, Fullness::Full));
    assert!(near(iops(&part), iops(&whole), 0.01), "{} {}", iops(&part), iops(&whole));
}

/// Each part of a split or a mirrored request waits, and the request no longer than the last of them.
#[test]
fn the_evidence_tells_no_more_waiting_than_a_request_takes() {
    let text = |layout: &str, count: u32| {
        format!(
            "schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{{ sku = \"azure/premium-p30\", count = {count} }}]\n\
             layout = {{ {layout} }}\n"
        )
    };
    let stripe = text("stripe = { columns = 2, interleave = \"64 KiB\" }", 2);
    let mirror = text("mirror = 2", 2);
    for (text, load) in [(&stripe, load(1_024, 100, 32)), (&mirror, load(64, 0, 64))] {
        let record = trial(&model(text, Draw::PUBLISHED), &load);
        let waited: u64 = known(&record).waits.iter().map(loadline_record::StageWait::total_ns).sum();
        let each_ms = waited as f64 / record.count() as f64 / 1e6;
        assert_eq!(bound_by(&record), Limit::DiskThroughput);
        assert!(each_ms > 0.5 * mean_ms(&record), "{each_ms} of {}", mean_ms(&record));
        assert!(each_ms <= mean_ms(&record) * 1.02, "{each_ms} of {}", mean_ms(&record));
    }
}

/// A request over a quick disk and a slow one is limited by the slow one, whatever the waiting of the quick part.
#[test]
fn the_slowest_part_of_a_request_decides_what_binds_it() {
    let text = "schema = 1\nname = \"x\"\n[[volume.data.disks]]\nsize = \"1 TiB\"\nlatency.read.median = \"1 ms\"\n\
                [[volume.data.disks]]\nsize = \"1 TiB\"\nlatency.read.median = \"1 ms\"\nlimit.throughput = \"10 MiB/s\"\n\
                [volume.data]\nlayout = { stripe = { columns = 2, interleave = \"64 KiB\" } }\n";
    let record = trial(&model(text, Draw::PUBLISHED), &load(1_024, 100, 2));
    assert_eq!(bound_by(&record), Limit::DiskThroughput, "{:?}", seen_of(&record));
}

#[test]
fn a_disk_that_transfers_its_most_is_bound_by_that_however_deep_its_queue() {
    let narrow = "schema = 1\nname = \"x\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"1 TiB\"\n\
                  [volume.data.disks.parallelism]\nrequests = 1\nthroughput = \"500 MB/s\"\n\
                  [volume.data.disks.latency.read]\nmedian = \"200 us\"\n";
    let spins = "schema = 1\nname = \"x\"\n[volume.data]\n[[volume.data.disks]]\nsize = \"1 TiB\"\n\
                 [volume.data.disks.spinning]\nrevolutions_per_minute = 7200\nseek_min = \"1 ms\"\nseek_max = \"16 ms\"\n\
                 transfer = \"150 MB/s\"\nqueue_depth = 32\n";
    for (text, pattern, most) in
        [(narrow, load(1_024, 100, 1).pattern, 500e6), (spins, Pattern::Sequential { stride: None }, 150e6)]
    {
        for depth in [4, 64] {
            let record =
                trial(&model(text, Draw::PUBLISHED), &LoadSpec { pattern: pattern.clone(), ..load(1_024, 100, depth) });
            let bound = binding(&record);
            assert_eq!(bound.limit, Limit::DiskThroughput, "depth {depth}: {bound:?}");
            assert!(near(bound.ceiling_iops.unwrap(), most / f64::from(1 << 20), 1e-6));
            assert!(near(ceiling(&record, Limit::DiskThroughput), most / f64::from(1 << 20), 1e-6));
        }
    }
    // Anywhere on the disk a head has other things to do.
    let anywhere = trial(&model(spins, Draw::PUBLISHED), &load(64, 100, 4));
    assert_eq!(bound_by(&anywhere), Limit::Latency, "{:?}", seen_of(&anywhere));
}
