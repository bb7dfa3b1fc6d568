//! Ceilings against sums by hand.

use super::*;
use loadline_disk::EnvironmentSpec;
use loadline_disk::{HostCacheSpec, IopsBurst, Latency, LatencySpec, Layout, Parallelism, PoolSpec, VmSpec};
use loadline_units::{ByteRate, Duration, Iops, Ratio};
use loadline_workload::{BlockShare, Distribution};

fn iops(rate: u64) -> IopsBudget {
    IopsBudget::steady(Iops::per_second(rate).unwrap())
}
fn bytes(rate: u64) -> ThroughputBudget {
    ThroughputBudget::steady(ByteRate::per_second(rate).unwrap())
}
fn limit(requests: u64, throughput: u64) -> Budget {
    Budget {
        iops: Some(Directions::Together(iops(requests))),
        throughput: Some(Directions::Together(bytes(throughput))),
        counted_size: Some(Bytes::kib(256)),
        ..Budget::default()
    }
}
/// 1 ms, always.
fn disk(limit: Budget) -> DiskSpec {
    let time = Duration::from_ms(1);
    let fixed = LatencySpec { median: time, p99: time, per_kib: Duration::ZERO };
    let latency = Latency { read: fixed, write: fixed, flush: None };
    DiskSpec { name: "a/disk".to_owned(), size: Some(Bytes::gib(1_024)), limit, latency, ..DiskSpec::default() }
}
fn volume(name: &str, disks: Vec<DiskSpec>, layout: Layout) -> VolumeSpec {
    VolumeSpec { name: name.to_owned(), disks, layout, ..VolumeSpec::default() }
}
fn environment(volumes: Vec<VolumeSpec>) -> EnvironmentSpec {
    EnvironmentSpec { name: "e".to_owned(), volumes, ..EnvironmentSpec::default() }
}
fn stripe(count: u32, kib: u64, limit: &Budget) -> VolumeSpec {
    let disks = (0..count).map(|_| disk(limit.clone())).collect();
    volume("data", disks, Layout::Stripe { columns: count, interleave: Bytes::kib(kib) })
}
fn load(kib: u64, reads: u32, depth: u32) -> LoadSpec {
    LoadSpec {
        pattern: Pattern::Random(Distribution::Uniform),
        reads: Ratio::percent(reads),
        blocks: vec![BlockShare { size: Bytes::kib(kib), share: Ratio::ONE }],
        arrival: Arrival::Closed { queue_depth: depth, rate_max: None, think_time: Duration::ZERO },
        ..LoadSpec::default()
    }
}
/// Limits and their requests per second, lowest first.
fn found(spec: &EnvironmentSpec, load: &LoadSpec, hits: f64) -> Vec<(Limit, f64)> {
    let ceilings = ceilings(&exactly(spec.clone()), "data", load, hits).unwrap();
    ceilings.list().into_iter().map(|ceiling| (ceiling.limit, (ceiling.iops * 1e3).round() / 1e3)).collect()
}

#[test]
fn small_requests_count_once_and_large_ones_by_started_pieces() {
    let one = environment(vec![volume("data", vec![disk(limit(5_000, 200 << 20))], Layout::Single)]);
    let all = found(&one, &load(8, 100, 64), 0.0);
    assert_eq!(all, [(Limit::DiskIops, 5_000.0), (Limit::DiskThroughput, 25_600.0), (Limit::Latency, 64_000.0)]);
    let all = found(&one, &load(1_024, 100, 64), 0.0);
    assert_eq!(all, [(Limit::DiskThroughput, 200.0), (Limit::DiskIops, 1_250.0), (Limit::Latency, 64_000.0)]);
}

#[test]
fn a_stripe_splits_large_requests_and_shares_small_ones() {
    let four = environment(vec![stripe(4, 64, &limit(500, 60_000_000))]);
    // Four parts of 64 KiB on each of four disks.
    let all = found(&four, &load(1_024, 100, 16), 0.0);
    let bytes = 60_000_000.0 / f64::from(4 << 16);
    assert_eq!(all[..2], [(Limit::DiskIops, 125.0), (Limit::DiskThroughput, (bytes * 1e3).round() / 1e3)]);
    let all = found(&four, &load(8, 100, 16), 0.0);
    assert_eq!(all[0], (Limit::DiskIops, 2_000.0));
}

#[test]
fn a_mirror_reads_from_all_and_writes_to_all() {
    let disks = vec![disk(limit(500, 60_000_000)), disk(limit(500, 60_000_000))];
    let two = environment(vec![volume("data", disks, Layout::Mirror { copies: 2 })]);
    assert_eq!(found(&two, &load(4, 100, 32), 0.0)[0], (Limit::DiskIops, 1_000.0));
    assert_eq!(found(&two, &load(4, 0, 32), 0.0)[0], (Limit::DiskIops, 500.0));
    // One read in two counts half on each disk, one write in two whole.
    assert_eq!(found(&two, &load(4, 50, 32), 0.0)[0], (Limit::DiskIops, 666.667));
}

#[test]
fn each_of_two_volumes_may_use_the_whole_budget_of_their_machine() {
    let vm = VmSpec { name: "a/vm".to_owned(), uncached: Some(limit(3_200, 32_000_000)), ..VmSpec::default() };
    let any = || vec![disk(limit(5_000, 200_000_000))];
    let volumes = vec![volume("data", any(), Layout::Single), volume("log", any(), Layout::Single)];
    let two = EnvironmentSpec { vm: Some(vm), ..environment(volumes) };
    let all = found(&two, &load(8, 0, 64), 0.0);
    assert_eq!(all[0], (Limit::VmUncachedIops, 3_200.0));
    assert_eq!(all[1], (Limit::VmUncachedThroughput, 3_906.25));
    assert_eq!(all[2], (Limit::DiskIops, 5_000.0));
}

fn cached(mode: HostCache) -> EnvironmentSpec {
    let vm = VmSpec {
        cached: Some(limit(16_000, 128 << 20)),
        uncached: Some(limit(12_800, 128_000_000)),
        cache_size: Some(Bytes::gib(10)),
        ..VmSpec::default()
    };
    let mut data = volume("data", vec![disk(limit(5_000, 200_000_000))], Layout::Single);
    let time = Duration::from_us(100);
    let latency = LatencySpec { median: time, p99: time, per_kib: Duration::ZERO };
    data.host_cache = HostCacheSpec { mode, latency, ..HostCacheSpec::default() };
    EnvironmentSpec { vm: Some(vm), ..environment(vec![data]) }
}

#[test]
fn cached_reads_pass_the_cached_budget_alone_and_misses_all_of_them() {
    let read_only = cached(HostCache::ReadOnly);
    let hits = found(&read_only, &load(8, 100, 16), 1.0);
    assert_eq!(
        hits,
        [(Limit::VmCachedIops, 16_000.0), (Limit::VmCachedThroughput, 16_384.0), (Limit::Latency, 160_000.0)]
    );
    let half = found(&read_only, &load(8, 100, 16), 0.5);
    assert_eq!(half[0], (Limit::DiskIops, 10_000.0));
    assert_eq!(half[1], (Limit::VmCachedIops, 16_000.0));
    // 16 outstanding; half take 0.1 ms, half 1 ms.
    assert!(half.contains(&(Limit::Latency, 29_090.909)), "{half:?}");
    let writes = found(&read_only, &load(8, 0, 16), 0.0);
    assert_eq!(writes[..2], [(Limit::DiskIops, 5_000.0), (Limit::VmUncachedIops, 12_800.0)]);
}

#[test]
fn a_write_back_cache_is_as_fast_as_its_disk_for_good() {
    let read_write = cached(HostCache::ReadWrite);
    let large = LoadSpec { size: Some(Bytes::gib(100)), ..load(8, 0, 16) };
    let all = found(&read_write, &large, 0.0);
    // 10 GiB of the 100 are dirty at a time: a tenth of the writes hits dirty blocks, which need no second write-back.
    assert_eq!(all[0], (Limit::Cache, 5_555.556));
    assert_eq!(all[1], (Limit::VmCachedIops, 16_000.0));
    let skewed = Pattern::Random(Distribution::Zipf { theta_milli: 900 });
    assert_eq!(found(&read_write, &LoadSpec { pattern: skewed, ..large.clone() }, 0.0)[0], (Limit::Cache, 5_000.0));
    // A load that fits may stay in the cache, however often its blocks are written.
    let small = LoadSpec { size: Some(Bytes::gib(1)), ..load(8, 0, 16) };
    assert_eq!(found(&read_write, &small, 0.0)[0], (Limit::VmCachedIops, 16_000.0));
}

#[test]
fn a_burst_and_its_baseline_are_two_ceilings() {
    let burst = Some(IopsBurst { rate: Iops::per_second(3_000).unwrap(), credits: 5_400_000 });
    let budget = IopsBudget { burst, ..iops(100) };
    let bursting = Budget { iops: Some(Directions::Together(budget)), ..Budget::default() };
    let one = environment(vec![volume("data", vec![disk(bursting)], Layout::Single)]);
    let all = found(&one, &load(16, 100, 1), 0.0);
    assert_eq!(all, [(Limit::BurstExhausted, 100.0), (Limit::Latency, 1_000.0), (Limit::DiskIops, 3_000.0)]);
    let all = ceilings(&exactly(one), "data", &load(16, 100, 1), 0.0).unwrap().list();
    let credits = |place: usize| match &all[place].source {
        CeilingSource::Budget(budget) => budget.credits,
        other => panic!("{other:?}"),
    };
    assert_eq!([credits(0), credits(2)], [Some(BudgetCredits::Spent), Some(BudgetCredits::Lasting)]);
}

#[test]
fn directions_with_budgets_apart_or_traded_bind_as_the_mix_asks() {
    let of = |throughput| Budget { throughput: Some(throughput), ..Budget::default() };
    let apart = of(Directions::Apart { read: Some(bytes(100_000_000)), write: Some(bytes(55_000_000)) });
    let one = |limit| environment(vec![volume("data", vec![disk(limit)], Layout::Single)]);
    let mixed =
        LoadSpec { blocks: vec![BlockShare { size: Bytes::new(512_000), share: Ratio::ONE }], ..load(4, 50, 64) };
    assert_eq!(
        found(&one(apart), &mixed, 0.0)[0],
        (Limit::DiskThroughput, (55_000_000.0 / 256_000.0 * 1e3f64).round() / 1e3)
    );
    let traded = of(Directions::Traded { read: bytes(100_000_000), write: bytes(50_000_000) });
    // Half of 512,000 B at 100 MB/s and half at 50 MB/s: 7.68 ms.
    assert_eq!(found(&one(traded), &mixed, 0.0)[0], (Limit::DiskThroughput, 130.208));
}

#[test]
fn a_budget_of_all_disks_of_a_type_is_asked_by_those_alone() {
    let mut disks = vec![disk(Budget::default()), disk(Budget::default())];
    disks[0].pool = Some("type".to_owned());
    let pools = vec![PoolSpec { name: "type".to_owned(), limit: limit(3_000, 140_000_000) }];
    let data = volume("data", disks, Layout::Stripe { columns: 2, interleave: Bytes::kib(64) });
    let all = found(&EnvironmentSpec { pools, ..environment(vec![data]) }, &load(16, 100, 8), 0.0);
    assert_eq!(all[0], (Limit::DiskIops, 6_000.0));
}

#[test]
fn a_disk_that_serves_few_at_once_bounds_what_depth_gains() {
    let mut few = disk(Budget::default());
    few.parallelism = Parallelism { requests: Some(4), throughput: Some(ByteRate::per_second(400_000_000).unwrap()) };
    let one = environment(vec![volume("data", vec![few], Layout::Single)]);
    let all = found(&one, &load(4, 100, 64), 0.0);
    assert_eq!(all, [(Limit::Latency, 4_000.0), (Limit::DiskThroughput, 97_656.25)]);
}

#[test]
fn an_open_loop_has_its_arrivals_for_a_ceiling_and_no_latency() {
    let one = environment(vec![volume("data", vec![disk(limit(5_000, 200 << 20))], Layout::Single)]);
    let open = LoadSpec { arrival: Arrival::Poisson { rate: Iops::per_second(1_000).unwrap() }, ..load(8, 100, 1) };
    let names: Vec<Limit> = found(&one, &open, 0.0).into_iter().map(|(limit, _)| limit).collect();
    assert_eq!(names, [Limit::Arrival, Limit::DiskIops, Limit::DiskThroughput]);
}
