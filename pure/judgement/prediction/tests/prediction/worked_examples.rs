//! Microsoft's worked examples (azure-docs, premium-storage-performance and disks-performance), with published limits.
//! They are arithmetic, and so are ceilings: they must agree exactly.

use crate::{bound_by, ceiling, iops, known, load, model, near, put, trial};
use loadline_catalog::Draw;
use loadline_disk::Fullness;
use loadline_record::{Budget, BudgetRate, BudgetRates, CeilingSource, Limit};

/// Except for rounding in floating-point sums.
fn exactly(value: f64, wanted: f64) -> bool {
    near(value, wanted, 1e-12)
}

fn p30() -> String {
    "schema = 1\nname = \"p30\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]".to_owned()
}

/// A P30 by request size: 5,000 IOPS or 200 MB/s; the page counts 1,024 KB as a MB.
#[test]
fn a_p30_by_request_size() {
    let model = model(&p30(), Draw::PUBLISHED);
    for (kib, limit, wanted) in [
        (8, Limit::DiskIops, 5_000.0),
        (32, Limit::DiskIops, 5_000.0),
        (64, Limit::DiskThroughput, 3_200.0),
        (1_024, Limit::DiskThroughput, 200.0),
    ] {
        let record = trial(&model, &load(kib, 100, 256));
        assert_eq!(bound_by(&record), limit, "{kib} KiB");
        let (requests, bytes) = (ceiling(&record, Limit::DiskIops), ceiling(&record, Limit::DiskThroughput));
        assert!(exactly(requests, 5_000.0 / (kib as f64 / 256.0).ceil()));
        assert!(exactly(bytes, 200.0 * 1_024.0 / kib as f64));
        assert!(exactly(requests.min(bytes), wanted), "{kib} KiB: {requests} and {bytes}");
        assert!(near(iops(&record), wanted, 0.01), "{kib} KiB: {}", iops(&record));
    }
}

/// Standard_DS1 with a P30: the machine's 3,200 IOPS are less than the disk's 5,000.
#[test]
fn a_ds1_binds_before_its_p30() {
    let text = p30().replace("[volume", "vm = \"azure/ds1\"\n[volume");
    let record = trial(&model(&text, Draw::PUBLISHED), &load(8, 0, 256));
    assert_eq!(bound_by(&record), Limit::VmUncachedIops);
    assert!(exactly(ceiling(&record, Limit::VmUncachedIops), 3_200.0));
    assert!(near(iops(&record), 3_200.0, 0.01), "{}", iops(&record));
}

/// Standard_D8s_v3 (12,800 IOPS uncached) with three E30 (500 IOPS each), and with three P30.
#[test]
fn three_disks_behind_a_d8s_v3() {
    let of = |sku: &str| {
        let text = format!(
            "schema = 1\nname = \"x\"\nvm = \"azure/d8s-v3@2020\"\n[volume.data]\ndisks = [{{ sku = \"{sku}\", count = 3 }}]\n\
             layout = {{ stripe = {{ columns = 3, interleave = \"64 KiB\" }} }}"
        );
        put(&model(&text, Draw::PUBLISHED), "data", &load(4, 100, 512), Fullness::Empty)
    };
    let slow = of("azure/standard-ssd-e30");
    let least = known(&slow).ceilings.first().unwrap();
    assert!(exactly(least.iops, 1_500.0), "{least:?}");
    assert!(near(iops(&slow), 1_500.0, 0.02), "{}", iops(&slow));
    let fast = of("azure/premium-p30");
    assert_eq!((bound_by(&fast), ceiling(&fast, Limit::VmUncachedIops)), (Limit::VmUncachedIops, 12_800.0));
    assert!(near(iops(&fast), 12_800.0, 0.02), "{}", iops(&fast));
}

/// Standard_D8ds_v4, the two budgets: 77,000 cached reads and 12,800 uncached writes. The page measured 78,521.23 and
/// 13,052.65, the usual delivered share.
#[test]
fn both_budgets_of_a_d8ds_v4() {
    let disks =
        "disks = [{ sku = \"azure/premium-p30\", count = 8 }]\nlayout = { stripe = { interleave = \"64 KiB\" } }";
    let text = format!(
        "schema = 1\nname = \"x\"\nvm = \"azure/d8ds-v4\"\n[volume.cached]\n{disks}\nhost_cache = \"read-only\"\n\
         [volume.uncached]\n{disks}"
    );
    for (draw, cached, uncached) in [(Draw::PUBLISHED, 77_000.0, 12_800.0), (Draw::MIDDLE, 78_521.23, 13_052.65)] {
        let model = model(&text, draw);
        let reads = put(&model, "cached", &load(4, 100, 512), Fullness::Empty);
        assert_eq!(bound_by(&reads), Limit::VmCachedIops);
        assert!(near(iops(&reads), cached, 0.01), "{}", iops(&reads));
        let writes = put(&model, "uncached", &load(8, 0, 512), Fullness::Empty);
        assert!(near(iops(&writes), uncached, 0.01), "{}", iops(&writes));
    }
}

#[test]
fn a_ceiling_knows_what_was_published_beside_what_is_delivered() {
    let source = |disk: &str| {
        let text = format!("schema = 1\nname = \"x\"\n[volume.data]\ndisks = [{{ sku = \"azure/{disk} }}]");
        let record = trial(&model(&text, Draw::MIDDLE), &load(1_024, 100, 64));
        let ceilings = &known(&record).ceilings;
        ceilings
            .iter()
            .find(|ceiling| ceiling.limit == Limit::DiskThroughput)
            .expect("bytes are limited")
            .source
            .clone()
    };
    let rates = |source: CeilingSource| match source {
        CeilingSource::Budget(Budget {
            allowed: BudgetRates::Together { rate: BudgetRate::BytesPerS(allowed) },
            published: Some(BudgetRates::Together { rate: BudgetRate::BytesPerS(published) }),
            steady_per_s,
            ..
        }) => {
            assert_eq!(steady_per_s, published);
            (published, allowed)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(rates(source("premium-p40\"")), (250 << 20, 495 << 19));
    let chosen = source("premium-v2\", size = \"1 TiB\", iops = \"20000 IOPS\", throughput = \"300 MB/s\"");
    assert_eq!(rates(chosen), (300_000_000, 321_000_000));
}
