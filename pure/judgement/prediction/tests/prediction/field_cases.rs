//! The field cases, as their authors found them, by mechanism alone; and the parts that the model does not explain.

use crate::{bound_by, ceiling, iops, load, mean_ms, model, near, trial};
use loadline_catalog::Draw;
use loadline_record::Limit;
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, Pattern};

/// The deepest load on the doubling scale with a mean latency within 20 ms.
fn deepest_within_20_ms(reads: u32) -> u32 {
    let model = model("ds3-p30", Draw::MIDDLE);
    let kept =
        (0..=10).map(|power| 1 << power).filter(|depth| mean_ms(&trial(&model, &load(8, reads, *depth))) <= 20.0);
    kept.max().expect("a single request is within 20 ms")
}

/// Case B: writes of one P30 level at its 5,000 IOPS; 41.80 MB/s at 100.39 ms were measured at 512 outstanding.
#[test]
fn writes_of_a_premium_disk_level_at_its_requests() {
    let model = model("ds3-p30", Draw::MIDDLE);
    for depth in [16, 64, 512, 1_024] {
        let record = trial(&model, &load(8, 0, depth));
        assert_eq!(bound_by(&record), Limit::DiskIops, "depth {depth}");
        assert!(near(iops(&record), ceiling(&record, Limit::DiskIops), 0.01), "depth {depth}: {}", iops(&record));
    }
    let deep = trial(&model, &load(8, 0, 512));
    assert!(near(deep.bytes_per_s().unwrap(), 41.80e6, 0.01) && near(mean_ms(&deep), 100.39, 0.01));
}

/// Case B: the host's cache answers reads, and they stop at the VM's cached limit, above the disk's and the VM's
/// uncached ones. About 134 MB/s and 62.74 ms at 1,024 outstanding were measured.
#[test]
fn reads_of_a_cached_premium_disk_level_at_the_machines_cached_limit() {
    let record = trial(&model("ds3-p30", Draw::MIDDLE), &load(8, 100, 1_024));
    assert_eq!(bound_by(&record), Limit::VmCachedIops);
    assert!(near(record.bytes_per_s().unwrap(), 134e6, 0.01) && near(mean_ms(&record), 62.74, 0.01));
    assert_eq!(super::known(&record).cache.unwrap().hit_share(), Some(1.0));
}

/// Case B: within 20 ms reads go to 256 outstanding. For writes the author says "about 128". At the measured 5,103
/// requests a second, 128 outstanding take 25.1 ms (Little's law). 20 ms are exceeded at 102, between 64 and 128.
#[test]
fn the_objective_is_kept_up_to_the_depths_that_were_found() {
    assert_eq!(deepest_within_20_ms(100), 256);
    assert_eq!(deepest_within_20_ms(0), 64);
    let at_102 = mean_ms(&trial(&model("ds3-p30", Draw::MIDDLE), &load(8, 0, 102)));
    assert!(near(at_102, 20.0, 0.01), "{at_102}");
}

/// A cell of case D's matrix, shortened: two threads, 100 GiB.
fn matrix(kib: u64, reads: u32, depth: u32) -> LoadSpec {
    LoadSpec { threads: 2, size: Some(Bytes::gib(100)), warm_up: Duration::from_s(2), ..load(kib, reads, depth) }
}

/// Case D: reads scale with the disks, up to the VM's own limit.
#[test]
fn reads_of_a_pool_scale_with_its_disks() {
    let rate = |pool: &str| iops(&trial(&model(pool, Draw::MIDDLE), &matrix(64, 100, 32)));
    let one = rate("pool-1");
    assert!(near(one, 500.0, 0.02), "{one}");
    assert!(near(rate("pool-2"), 2.0 * one, 0.03) && near(rate("pool-4"), 4.0 * one, 0.05));
}

/// Case D: 4 KiB reads at depth 1 are as fast on four disks as on one.
#[test]
fn shallow_queues_do_not_gain_from_more_disks() {
    let shallow = |pool: &str| trial(&model(pool, Draw::MIDDLE), &LoadSpec { threads: 1, ..matrix(4, 100, 1) });
    let (one, four) = (shallow("pool-1"), shallow("pool-4"));
    assert!(near(iops(&four), iops(&one), 0.02), "{} and {}", iops(&four), iops(&one));
    assert_eq!((bound_by(&one), bound_by(&four)), (Limit::Latency, Limit::Latency));
}

/// Case D is not explained. Writes of the pools stopped at 55, 91, 106 and 120 to 160 MB/s on 1, 2, 4 and 8 disks, and
/// no varied factor moved the ceiling of four disks. The model has only the limits of each disk and of the VM, so its
/// writes scale like reads. A mechanism that explains it would change the figures here.
#[test]
fn the_write_ceiling_of_the_pool_is_not_explained() {
    let writes = |pool: &str| {
        let load = LoadSpec { pattern: Pattern::Sequential { stride: None }, ..matrix(1_024, 0, 32) };
        let record = trial(&model(pool, Draw::MIDDLE), &load);
        (record.bytes_per_s().unwrap() / 1e6, bound_by(&record))
    };
    let measured = [("pool-1", 55.0), ("pool-2", 91.0), ("pool-4", 106.0), ("pool-8", 140.0)];
    let found = measured.map(|(pool, _)| writes(pool));
    for ((pool, measured), (predicted, limit)) in measured.iter().zip(found) {
        println!("{pool}: {predicted:.0} MB/s predicted ({}), {measured} MB/s measured", limit.name());
        assert_eq!(limit, Limit::DiskThroughput, "{pool}");
    }
    for ((predicted, _), scaled) in found.iter().zip([60.0, 120.0, 240.0, 480.0]) {
        assert!(near(*predicted, scaled, 0.01), "{predicted} MB/s in place of {scaled}");
    }
    // The prediction says so itself, beside these figures alone.
    let told = |pool: &str, kib: u64, reads: u32| {
        let record = trial(&model(pool, Draw::MIDDLE), &matrix(kib, reads, 1));
        super::known(&record).known_deviations.iter().map(|found| found.text.clone()).collect::<Vec<_>>()
    };
    let (writes, reads) = (told("pool-4", 1_024, 0), told("pool-4", 1_024, 100));
    assert!(writes.len() == 1 && writes[0].contains("106") && writes[0].contains("239"), "{writes:?}");
    assert!(reads.len() == 1 && reads[0].contains("399 and 800"), "{reads:?}");
    assert_eq!(told("pool-4", 1_024, 50).len(), 2);
    assert_eq!(told("pool-4", 4, 50), [""; 0], "small requests meet another limit");
    assert_eq!(told("pool-1", 1_024, 0), [""; 0], "one disk is no stripe");
    assert_eq!(told("small-mirrored", 1_024, 50), [""; 0], "nor is a mirror");
    let (four, _) = found[2];
    assert!(four > 2.0 * 106.0, "four disks are predicted at over twice of what was measured");
}
