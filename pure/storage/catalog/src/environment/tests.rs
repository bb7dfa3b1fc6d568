//! Environments are read correctly, and every error is reported at its place with a remedy.

use super::*;
use loadline_disk::{DeviceQueues, Directions, Enforcement, Holds, IopsBudget, LatencySpec, ThroughputBudget};
use loadline_units::{Duration, Iops};
use proptest::prelude::*;
use std::sync::LazyLock;

static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

fn parse(text: &str) -> Result<Environment, DocumentError> {
    Environment::parse(text, "e.toml", &CATALOG)
}
/// An environment with these lines, which begin in line 3.
fn with(lines: &str) -> String {
    format!("schema = 1\nname = \"x\"\n{lines}")
}
fn read(lines: &str) -> Environment {
    parse(&with(lines)).unwrap_or_else(|error| panic!("{error}"))
}
fn refuses(lines: &str, message: &str) {
    assert_eq!(parse(&with(lines)).unwrap_err().to_string(), message);
}
fn iops(count: u64) -> IopsBudget {
    IopsBudget::steady(Iops::per_second(count).unwrap())
}

#[test]
fn every_environment_that_comes_along_has_its_name() {
    for (name, text) in environments() {
        let environment = parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(environment.name, *name);
        assert!(environment.description.is_some(), "{name} says what it stands for");
        assert!(text.starts_with("# "), "{name} says first what it is");
        assert_eq!(environment.spec(&Draw::MIDDLE).volumes.len(), environment.volumes.len());
    }
}

#[test]
fn the_field_cases_have_their_set_ups() {
    let shape = |name: &str| {
        let spec = parse(environment_text(name).unwrap()).unwrap().spec(&Draw::PUBLISHED);
        let volumes = spec.volumes.iter().map(|v| (v.name.clone(), v.disks.len(), v.layout, v.host_cache.mode));
        (spec.vm.map(|vm| vm.name), volumes.collect::<Vec<_>>())
    };
    let one = |vm: &str, disks, layout, cache| (Some(vm.to_owned()), vec![("data".to_owned(), disks, layout, cache)]);
    let stripe = |columns, kib| Layout::Stripe { columns, interleave: Bytes::kib(kib) };
    let (none, read_only) = (HostCache::None, HostCache::ReadOnly);
    assert_eq!(shape("ds3-p30"), one("azure/ds3", 1, Layout::Single, read_only));
    assert_eq!(shape("ds3-2-p30"), one("azure/ds3", 2, stripe(2, 64), read_only));
    assert_eq!(shape("a3-8-standard"), one("azure/a3", 8, stripe(8, 64), none));
    assert_eq!(shape("pool-1"), one("azure/a2", 1, Layout::Single, none));
    assert_eq!(shape("pool-4"), one("azure/a2", 4, stripe(4, 256), none));
    assert_eq!(shape("small-mirrored"), one("azure/a1", 2, Layout::Mirror { copies: 2 }, none));
    assert_eq!(shape("d14").1.len(), 3);
    let disks = |name: &str| shape(name).1.iter().map(|(_, disks, _, _)| *disks).collect::<Vec<_>>();
    assert_eq!((disks("search-farm-dev"), disks("search-farm-prod")), (vec![4, 4, 4, 4, 2], vec![1, 1, 4, 4, 2]));
}

#[test]
fn a_disk_given_in_full_needs_no_entry() {
    let environment = read(
        r#"[[volume.data.disks]]
size = "1 TiB"
[volume.data.disks.limit]
iops = "5000 IOPS"
throughput = { read = "200 MB/s", write = "100 MB/s" }
counted_size = "256 KiB"
enforcement = { window = "50 ms" }
[volume.data.disks.latency.read]
median = "1 ms"
p99 = "3 ms"
"#,
    );
    let spec = environment.spec(&Draw::MIDDLE);
    let disk = &spec.volumes[0].disks[0];
    assert_eq!((disk.name.as_str(), disk.size), ("", Some(Bytes::gib(1024))));
    assert_eq!(disk.limit.iops, Some(Directions::Together(iops(5_000))));
    let rate = |text: &str| Some(ThroughputBudget::steady(text.parse().unwrap()));
    let throughput = Directions::Apart { read: rate("200 MB/s"), write: rate("100 MB/s") };
    assert_eq!(disk.limit.throughput, Some(throughput));
    assert_eq!(disk.limit.counted_size, Some(Bytes::kib(256)));
    let (length, jitter) = (Duration::from_ms(50), Duration::ZERO);
    assert_eq!(disk.limit.enforcement, Enforcement::Window { length, jitter });
    let time = LatencySpec { median: Duration::from_ms(1), p99: Duration::from_ms(3), per_kib: Duration::ZERO };
    assert_eq!((disk.latency.read, disk.latency.write), (time, time));
}

#[test]
fn disks_of_a_shared_type_have_one_budget_up_to_the_machines() {
    let environment = read(
        "vm = \"gcp/n2-standard-8\"\n\
         [volume.a]\ndisks = [{ sku = \"gcp/pd-standard\", size = \"1000 GiB\" }]\n\
         [volume.b]\ndisks = [{ sku = \"gcp/pd-standard\", size = \"3000 GiB\" }]\n\
         [volume.c]\ndisks = [{ sku = \"gcp/pd-ssd\", size = \"4000 GiB\" }]\n",
    );
    let spec = environment.spec(&Draw::PUBLISHED);
    let pools: Vec<_> = spec.pools.iter().map(|pool| (pool.name.as_str(), pool.limit.iops)).collect();
    // 0.75 and 1.5 IOPS for each of 4,000 GiB; and an SSD's 100,000 IOPS, the most there is, against the machine's 15,000.
    let standard = Directions::Traded { read: iops(3_000), write: iops(6_000) };
    let ssd = Directions::Traded { read: iops(15_000), write: iops(15_000) };
    let own = Directions::Traded { read: iops(100_000), write: iops(100_000) };
    assert_eq!(
        pools[..3],
        [
            ("gcp/pd-ssd", Some(own)),
            ("gcp/pd-ssd of gcp/n2-standard-8", Some(ssd)),
            ("gcp/pd-standard", Some(standard))
        ]
    );
    assert_eq!(pools[3].0, "gcp/pd-standard of gcp/n2-standard-8");
    for volume in &spec.volumes {
        assert_eq!(volume.disks[0].limit, Limit::default(), "the pool's limit is the only one");
        let name = &volume.disks[0].name;
        assert_eq!(volume.disks[0].pool.as_ref(), Some(name));
        assert_eq!(volume.disks[0].allowance, Some(format!("{name} of gcp/n2-standard-8")));
    }
}

#[test]
fn a_machine_has_a_limit_of_its_own_for_certain_families_alone() {
    let limit = |disks: &str| {
        let text = format!(
            "vm = \"azure/e2bds-v5\"\n[volume.data]\ndisks = [{disks}]\nlayout = {{ stripe = {{ interleave = \"64 KiB\" }} }}"
        );
        read(&text).spec(&Draw::PUBLISHED).vm.unwrap().uncached.unwrap().iops.unwrap()
    };
    let rate = |found| match found {
        Directions::Together(IopsBudget { rate, .. }) => rate.get(),
        other => panic!("{other:?}"),
    };
    let v2 = "{ sku = \"azure/premium-v2\", size = \"1 TiB\" }";
    assert_eq!(rate(limit(&format!("{v2}, {v2}"))), 8_000);
    assert_eq!(rate(limit(&format!("{v2}, {{ sku = \"azure/premium-p30\" }}"))), 6_000);
}

#[test]
fn a_machine_may_be_given_in_full() {
    let environment = read(
        "[vm]\nuncached = { iops = \"1000 IOPS\", throughput = \"10 MB/s\", burst = { iops = \"2000 IOPS\" } }\n\
         burst_span = \"30 min\"\ndata_disks = 1\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]",
    );
    let vm = environment.spec(&Draw::MIDDLE).vm.unwrap();
    let Some(Directions::Together(budget)) = vm.uncached.unwrap().iops else { panic!() };
    assert_eq!(budget.burst.unwrap().credits, 1_000 * 1_800);
}

#[test]
fn a_machine_takes_as_many_disks_as_its_page_says() {
    let text = |count: u32| {
        format!(
            "vm = \"azure/ds3\"\n[volume.data]\ndisks = [{{ sku = \"azure/premium-p30\", count = {count} }}]\nlayout = {{ stripe = {{ interleave = \"64 KiB\" }} }}"
        )
    };
    read(&text(16));
    refuses(&text(17), "e.toml:3:6: vm: azure/ds3 takes 16 data disks, and the volumes have 17");
    let catalog = Catalog::builtin();
    let silent = catalog.vms().iter().filter(|vm| vm.data_disks.is_none() && catalog.vm_family(vm).provider == "azure");
    assert_eq!(silent.map(|vm| vm.name.as_str()).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_is_not_in_the_catalog_is_told_at_its_place() {
    refuses(
        "[volume.data]\ndisks = [{ sku = \"azure/premum-p30\" }]",
        "e.toml:4:18: volume.data.disks.sku: no disk \"azure/premum-p30\" is in the catalog: did you mean azure/premium-p30?",
    );
    refuses(
        "vm = \"azure/ds33\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]",
        "e.toml:3:6: vm: no VM size \"azure/ds33\" is in the catalog: did you mean azure/ds3?",
    );
    refuses(
        "[volume.data]\ndisks = [{ sku = \"aws/gp3\", size = \"16 GiB\", iops = \"9000 IOPS\" }]",
        "e.toml:4:53: volume.data.disks.iops: aws/gp3 can be provisioned with at most 8000 IOPS at 16 GiB, not with 9000 IOPS \
         (limits as of 2026-03)",
    );
    refuses(
        "[volume.data]\ndisks = [{ sku = \"azure/premium-p30\", size = \"2 TiB\" }]",
        "e.toml:4:46: volume.data.disks.size: azure/premium-p30 comes with at most 1 TiB, not with 2 TiB: the next larger is azure/premium-p40",
    );
}

#[test]
fn an_interleave_longer_than_the_smallest_disk_is_told_at_its_place() {
    refuses(
        "[volume.data]\ndisks = [{ sku = \"azure/premium-p30\", count = 2 }]\nlayout = { stripe = { columns = 2, interleave = \"2 TiB\" } }",
        "e.toml:5:49: volume.data.layout.stripe.interleave: is 2 TiB, and the smallest disk has 1 TiB: no piece fits on it; write a small \
         part of the disk, such as \"256 KiB\"",
    );
    let error = parse(&with(
        "[volume.data]\ndisks = [{ size = \"64 KiB\", count = 4 }]\nlayout = { stripe_of_mirrors = { copies = 2 } }\n",
    ))
    .unwrap_err();
    assert!(error.to_string().contains("volume.data.layout.stripe_of_mirrors.interleave: is 256 KiB"), "{error}");
}

#[test]
fn an_unknown_key_names_the_nearest_known_one() {
    refuses(
        "[volume.data]\ndisk = [{ sku = \"azure/premium-p30\" }]",
        "e.toml:3:1: volume.data: has no disks: write disks = [{ sku = \"...\" }]\n\
         e.toml:4:1: volume.data.disk: is not a key of volume.data: did you mean disks? It has disks, layout, host_cache, path",
    );
    refuses(
        "[volume.data]\ndisks = [{ sku = \"azure/premium-p30\", number = 2 }]",
        "e.toml:4:39: volume.data.disks.number: is not a key of volume.data.disks: it has sku, size, iops, throughput, option, count",
    );
    refuses(
        "disks = []\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]",
        "e.toml:3:1: disks: belongs to a volume: write [volume.data] and, below it, the volume's keys",
    );
}

#[test]
fn a_layout_fits_its_disks() {
    let two = "[volume.data]\ndisks = [{ sku = \"azure/premium-p30\", count = 2 }]\n";
    let four = read(
        "[volume.data]\ndisks = [{ sku = \"azure/premium-p30\", count = 4 }]\n\
         layout = { stripe_of_mirrors = { interleave = \"64 KiB\" } }",
    );
    let wanted = Layout::StripeOfMirrors { columns: 2, copies: 2, interleave: Bytes::kib(64) };
    assert_eq!(four.volumes[0].layout, wanted);
    refuses(
        &format!("{two}layout = {{ stripe = {{ columns = 4, interleave = \"64 KiB\" }} }}"),
        "e.toml:5:10: volume.data.layout: needs 4 disks, and the volume has 2",
    );
    refuses(
        &format!("{two}layout = \"single\""),
        "e.toml:5:10: volume.data.layout: needs 1 disk, and the volume has 2",
    );
    refuses(
        &format!("{two}layout = {{ stripe = {{ interleave = \"1000 B\" }} }}"),
        "e.toml:5:36: volume.data.layout.stripe.interleave: is not a multiple of 512 B above 0",
    );
    // Advice never suggests a layout that would not fit two disks, and repeats nothing.
    let none = parse(&with(two)).unwrap_err().to_string();
    assert!(none.contains("has 2 disks and no layout: write layout = { stripe"), "{none}");
    let unknown = parse(&with(&format!("{two}\nlayout = \"raid5\""))).unwrap_err().to_string();
    assert_eq!(unknown.matches("\"single\"").count(), 1, "{unknown}");
}

#[test]
fn a_machine_takes_so_many_disks_and_caches_only_small_ones() {
    refuses(
        "vm = \"azure/a2\"\n[volume.data]\ndisks = [{ sku = \"azure/classic-standard\", count = 5 }]\n\
         layout = { stripe = { interleave = \"64 KiB\" } }",
        "e.toml:3:6: vm: azure/a2 takes 4 data disks, and the volumes have 5",
    );
    refuses(
        "[volume.data]\ndisks = [{ sku = \"azure/premium-p50\" }]\nhost_cache = \"read-only\"",
        "e.toml:4:10: volume.data.disks: has 4 TiB, and disks of 4 TiB and more are not cached: write host_cache = \"none\"",
    );
    refuses(
        "vm = \"azure/d14\"\n[volume.data]\ndisks = [{ sku = \"azure/d14-temp\" }]\nhost_cache = \"read-only\"",
        "e.toml:5:10: volume.data.disks: is in the host and never cached: write host_cache = \"none\"",
    );
}

#[test]
fn hosts_of_some_machines_cache_no_disks() {
    let lines = "vm = \"azure/l8s-v3\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]\nhost_cache = ";
    refuses(
        &format!("{lines}\"read-only\""),
        "e.toml:3:6: vm: hosts of azure/l8s-v3 cache no disks, and volume data is cached: write another size, or host_cache = \
         \"none\"",
    );
    assert_eq!(read(&format!("{lines}\"none\"")).volumes.len(), 1);
    assert!(Catalog::builtin().vm_figures("azure/l8s-v3").unwrap().cached_estimate.is_none(), "nothing to estimate");
}

#[test]
fn disks_that_no_host_caches_are_not_cached() {
    for sku in
        ["premium-v2\", size = \"1 TiB", "ultra\", size = \"1 TiB\", iops = \"3000 IOPS\", throughput = \"100 MB/s"]
    {
        let lines =
            format!("vm = \"azure/d8s-v3\"\n[volume.data]\ndisks = [{{ sku = \"azure/{sku}\" }}]\nhost_cache = ");
        let name = sku.split('"').next().unwrap();
        refuses(
            &format!("{lines}\"read-only\""),
            &format!(
                "e.toml:5:10: volume.data.disks: is azure/{name}, and no host caches such disks: write host_cache = \"none\""
            ),
        );
        assert_eq!(read(&format!("{lines}\"none\"")).volumes.len(), 1);
    }
}

#[test]
fn a_machine_without_premium_disks_takes_none() {
    for (vm, sku) in [("a1", "premium-p30"), ("d14", "classic-premium-p10")] {
        let family = sku.rsplit_once('-').unwrap().0;
        refuses(
            &format!("vm = \"azure/{vm}\"\n[volume.data]\ndisks = [{{ sku = \"azure/{sku}\" }}]"),
            &format!(
                "e.toml:3:6: vm: azure/{vm} takes no disks of the family {family}, and volume data has azure/{sku}: write another size \
                 or another disk"
            ),
        );
    }
    read("vm = \"azure/ds14\"\n[volume.data]\ndisks = [{ sku = \"azure/classic-premium-p10\" }]");
}

#[test]
fn an_environment_says_its_schema_and_has_a_volume() {
    assert_eq!(
        parse("name = \"x\"").unwrap_err().to_string(),
        "e.toml:1:1: schema: is missing: write schema = 1 at the top\n\
         e.toml:1:1: volume: an environment without a volume has no storage: write [volume.data] and, below it, the volume's keys"
    );
    let error = parse("schema = 9").unwrap_err().to_string();
    assert_eq!(
        error,
        "e.toml:1:10: schema: 9 is a version of the environment format that is not known here: write 1, or use a newer loadline"
    );
}

#[test]
fn a_misspelt_environment_is_recognised() {
    assert_eq!(nearest_environment("ds3-p3"), Some("ds3-p30"));
    assert_eq!(environment_text("zzz"), None);
}

/// A built-in environment with a stretch of it replaced.
fn mutated() -> impl Strategy<Value = String> {
    let pieces =
        ["", "[", "]", "{", "}", "\"", "=", "\n", "[volume.data]\n", "-1", "0", "true", "é", "count = 9", "\"0 B\""];
    let piece =
        prop_oneof![Just(String::new()), "\\PC{0,6}", prop::sample::select(pieces.to_vec()).prop_map(str::to_owned)];
    (prop::sample::select(environments()), any::<prop::sample::Index>(), 0usize..40, piece).prop_map(
        |((_, text), at, length, piece)| {
            let characters: Vec<char> = text.chars().collect();
            let start = at.index(characters.len());
            let (before, after) = (&characters[..start], &characters[(start + length).min(characters.len())..]);
            before.iter().chain(&piece.chars().collect::<Vec<_>>()).chain(after).collect()
        },
    )
}

proptest! {
    #[test]
    fn no_mutated_environment_makes_the_parser_panic_and_what_it_reads_has_a_spec(text in mutated()) {
        match parse(&text) {
            Ok(environment) => {
                let spec = environment.spec(&Draw::MIDDLE);
                prop_assert_eq!(spec.check(), Ok(()));
            }
            Err(error) => prop_assert!(!error.problems.is_empty()),
        }
    }
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*") {
        prop_assert!(parse(&text).is_err());
    }
}

#[test]
fn a_disk_in_full_may_say_what_its_limits_hold_back_and_how_the_guest_reaches_it() {
    let text = |vm: &str, limit: &str| {
        format!(
            "schema = 1\nname = \"own\"\n{vm}[[volume.data.disks]]\nsize = \"1 TiB\"\n\
             device_queues = {{ depth = 31, queues = {{ low = 2, mid = 4, high = 32 }} }}\n\
             [volume.data.disks.limit]\niops = \"4000 IOPS\"\n{limit}"
        )
    };
    let disk = |vm: &str| {
        let environment = Environment::parse(&text(vm, "holds = \"answers\"\n"), "own", &Catalog::builtin()).unwrap();
        environment.spec(&Draw::MIDDLE).volumes[0].disks[0].clone()
    };
    assert_eq!(disk("").holds, Holds::Answers);
    assert_eq!(disk("").device_queues, Some(DeviceQueues { queues: 4, depth: 31 }));
    assert_eq!(disk("[vm]\nvcpus = 16\n").device_queues, Some(DeviceQueues { queues: 4, depth: 31 }));
    assert_eq!(disk("[vm]\nvcpus = 2\n").device_queues, Some(DeviceQueues { queues: 2, depth: 31 }));
    assert_eq!(
        disk("[vm]\nvcpus = 16\ndevice_queues = 8\n").device_queues,
        Some(DeviceQueues { queues: 8, depth: 31 })
    );
    assert_eq!(disk("[vm]\nvcpus = 16\nqueues_in_order = true\n").device_queues, None);
    let refused = Environment::parse(&text("", "holds = \"replies\"\n"), "own", &Catalog::builtin()).unwrap_err();
    assert!(refused.to_string().contains("holds"), "{refused}");
    let refused = Environment::parse(&text("[vm]\nholds = \"answers\"\n", ""), "own", &Catalog::builtin()).unwrap_err();
    assert!(refused.to_string().contains("vm.holds"), "a machine's budgets hold back requests: {refused}");
}

/// A partition has its own limits, and several of them at most the machine's total for their number.
#[test]
fn each_local_ssd_has_its_own_limits_and_several_what_their_number_has() {
    let spec = |sku: &str, count: u32| {
        let layout = if count > 1 { "layout = { stripe = { interleave = \"64 KiB\" } }\n" } else { "" };
        let text = format!(
            "[volume.data]\ndisks = [{{ sku = \"gcp/{sku}\", count = {count}, size = \"300 GiB\" }}]\n{layout}"
        );
        read(&text).spec(&Draw::PUBLISHED)
    };
    let rates = |limit: &Limit| match (limit.iops, limit.throughput) {
        (
            Some(Directions::Apart { read: Some(reads), write: Some(writes) }),
            Some(Directions::Apart { read: Some(read), write: Some(written) }),
        ) => [reads.rate.get(), writes.rate.get(), read.rate.get() >> 20, written.rate.get() >> 20],
        other => panic!("{other:?}"),
    };
    let one = spec("local-ssd-nvme", 1);
    assert_eq!(rates(&one.volumes[0].disks[0].limit), [170_000, 90_000, 660, 350]);
    assert!(one.pools.is_empty());
    for (sku, count, all) in [
        ("local-ssd-nvme", 2, [340_000, 180_000, 1_320, 700]),
        ("local-ssd-nvme", 4, [680_000, 360_000, 2_650, 1_400]),
        ("local-ssd-nvme", 8, [680_000, 360_000, 2_650, 1_400]),
        ("local-ssd-nvme", 24, [2_400_000, 1_200_000, 9_360, 4_680]),
        ("local-ssd-scsi", 4, [400_000, 280_000, 1_560, 1_090]),
    ] {
        let spec = spec(sku, count);
        assert_eq!(rates(&spec.pools[0].limit), all, "{count} {sku}");
        assert_ne!(rates(&spec.volumes[0].disks[0].limit), all, "each has its own beside it");
    }
}

/// Instances of the generation before have less for a volume than is provisioned.
#[test]
fn a_machine_whose_queues_serve_in_order_holds_a_disk_to_less() {
    let at = |vm: &str, sku: &str| {
        let text = format!(
            "vm = \"aws/{vm}\"\n[volume.data]\ndisks = [{{ sku = \"aws/{sku}\", size = \"1500 GiB\", iops = \"64000 IOPS\" }}]"
        );
        let limit = read(&text).spec(&Draw::PUBLISHED).volumes[0].disks[0].limit.clone();
        match (limit.iops, limit.throughput) {
            (Some(Directions::Together(iops)), Some(Directions::Together(bytes))) => {
                (iops.rate.get(), bytes.rate.get() >> 20)
            }
            other => panic!("{other:?}"),
        }
    };
    for sku in ["io1", "io2"] {
        assert_eq!(at("m4.16xlarge", sku), (32_000, 500), "{sku}");
        assert_eq!(at("m5.16xlarge", sku), (64_000, 1_000), "{sku}");
    }
}

/// Sold by IOPS, it has its own limits; by size it shares with others of its type.
#[test]
fn a_disk_that_is_sold_by_iops_or_by_size_has_what_was_bought() {
    let of = |disks: &str| {
        read(&format!(
            "vm = \"gcp/n2-standard-64\"\n[volume.data]\ndisks = [{disks}]\nlayout = {{ stripe = {{ interleave = \"64 KiB\" }} }}"
        ))
    };
    let bought = "{ sku = \"gcp/pd-extreme\", size = \"500 GiB\", iops = \"60000 IOPS\" }";
    let sized = "{ sku = \"gcp/pd-extreme\", size = \"1000 GiB\" }";
    let spec = of(&format!("{bought}, {sized}")).spec(&Draw::PUBLISHED);
    let disks = &spec.volumes[0].disks;
    assert_eq!(disks[0].limit.iops, Some(Directions::Together(iops(60_000))));
    assert_eq!((disks[0].pool.as_deref(), disks[1].pool.as_deref()), (None, Some("gcp/pd-extreme")));
    assert_eq!(disks[0].allowance, disks[1].allowance);
    assert_eq!(spec.pools[0].limit.iops, Some(Directions::Traded { read: iops(3_600), write: iops(3_600) }));
    assert_eq!(of(bought).spec(&Draw::PUBLISHED).pools.len(), 1, "what the machine allows is left");
    let wrong = |iops: &str| {
        let disk = bought.replace("60000", iops);
        parse(&with(&format!("[volume.data]\ndisks = [{disk}]"))).unwrap_err().to_string()
    };
    assert!(wrong("130000").contains("at most 120000 IOPS") && wrong("100").contains("2500 IOPS"), "{}", wrong("100"));
}

#[test]
fn reads_are_traded_for_writes_only_where_each_has_a_figure() {
    let limit = |limit: &str| {
        format!(
            "[volume.data]\n[[volume.data.disks]]\nsize = \"1 TiB\"\nlimit = {{ {limit}, reads_and_writes = \"traded\" }}"
        )
    };
    let apart = "iops = { read = \"5000 IOPS\", write = \"2500 IOPS\" }";
    read(&limit(apart));
    read(&limit(&format!("{apart}, throughput = \"200 MB/s\"")));
    let why = "volume.data.disks.limit.reads_and_writes: trades reads for writes, and neither iops nor throughput has a figure for \
               each: write iops = { read = ..., write = ... }, or leave reads_and_writes out; one figure is one budget for both";
    refuses(&limit("iops = \"5000 IOPS\""), &format!("e.toml:6:50: {why}"));
    refuses(&limit("throughput = \"200 MB/s\", iops = \"5000 IOPS\""), &format!("e.toml:6:75: {why}"));
    refuses(
        "vm = { uncached = { iops = \"5000 IOPS\" }, reads_and_writes = \"traded\" }\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]",
        "e.toml:3:62: vm.reads_and_writes: trades reads for writes, and a machine's limits are one figure for both: leave it out",
    );
}
