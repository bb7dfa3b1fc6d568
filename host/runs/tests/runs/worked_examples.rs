//! Microsoft's worked examples (azure-docs, premium-storage-performance, disks-performance and disk-bursting) as they are predicted: an environment
//! each, a plan, and limits as published. They are arithmetic: the ceilings are exact, and what is simulated
//! comes to them but for the window of quota in which a measurement ends.

use crate::support::{Bench, cells, complete, environment, plan};
use loadline_disk::Fullness::{self, Empty, Full};
use loadline_runs::{Course, NamedTarget, PredictionSettings, Silent};
use serde_json::Value;
use std::fmt::Write;

/// A measurement of 10 s ends within a window of about 50 ms.
const TOLERANCE: f64 = 0.01;

fn load(kib: u32, reads: u32, load: &str) -> String {
    format!(
        "schema = 1\nname = \"p-{kib}-{reads}\"\n[[load]]\npattern = \"random\"\nreads = \"{reads} %\"\nblock = \"{kib} KiB\"\n{load}\n\
         size = \"1 GiB\"\nwarm_up = \"2 s\"\nduration = \"10 s\"\ntrials = 1\n"
    )
}

const DEEP: &str = "queue_depth = 512";

fn storage(vm: Option<&str>, volumes: &[(&str, &str, &str)]) -> String {
    let vm = vm.map_or_else(String::new, |vm| format!("vm = \"azure/{vm}\"\n"));
    let mut text = format!("schema = 1\nname = \"example\"\n{vm}");
    for (name, disks, cache) in volumes {
        let layout = if disks.contains("count") { "layout = { stripe = { interleave = \"64 KiB\" } }\n" } else { "" };
        write!(text, "[volume.{name}]\ndisks = [{{ sku = \"azure/{disks} }}]\n{layout}host_cache = \"{cache}\"\n")
            .expect("writing to a string");
    }
    text
}

/// The cells of a prediction of these plans on this environment.
fn predicted(plans: &[String], text: &str, settings: PredictionSettings) -> Vec<Value> {
    let bench = Bench::new();
    let plans = plans.iter().map(|text| plan(text)).collect();
    let settings = PredictionSettings { published: true, draws: 1, ..settings };
    let prediction = bench.prediction_by(plans, &environment(text), settings).seeded(1);
    cells(&complete(prediction.run(&mut Silent::default())))
}

/// All volumes at once, with these credits of the disks and of the VM.
fn together(disks: Fullness, vm: Fullness) -> PredictionSettings {
    PredictionSettings {
        course: Course::Together,
        bursts_empty: disks == Empty,
        vm_bursts_empty: Some(vm == Empty),
        ..PredictionSettings::default()
    }
}

fn iops(cell: &Value) -> f64 {
    cell["total"]["iops"].as_f64().unwrap()
}
fn bytes(cell: &Value) -> f64 {
    cell["total"]["throughput_bytes_per_s"].as_f64().unwrap()
}
fn near(value: f64, wanted: f64) -> bool {
    (value / wanted - 1.0).abs() <= TOLERANCE
}
/// The ceiling of this name.
fn ceiling(cell: &Value, limit: &str) -> f64 {
    let all = cell["ceilings"].as_array().unwrap();
    let found = all.iter().find(|ceiling| ceiling["limit"] == limit);
    found.unwrap_or_else(|| panic!("{limit} in {all:?}"))["iops"].as_f64().unwrap()
}

/// The page's table: 5,000, 5,000, 3,200 and 200 IOPS. It counts 1,024 KB a MB where bytes bind, and 1,000 where it puts 5,000 requests
/// of 8 and 32 KB as 40 and 160 MB/s.
#[test]
fn a_p30_by_request_size() {
    let environment = storage(None, &[("data", "premium-p30\"", "none")]);
    for (kib, limit, wanted) in [
        (8, "disk-iops", 5_000.0),
        (32, "disk-iops", 5_000.0),
        (64, "disk-throughput", 3_200.0),
        (1_024, "disk-throughput", 200.0),
    ] {
        let cell = &predicted(&[load(kib, 100, DEEP)], &environment, PredictionSettings::default())[0];
        assert_eq!(cell["binding"]["limit"], limit, "{kib} KiB");
        assert!((ceiling(cell, limit) / wanted - 1.0).abs() < 1e-12, "{kib} KiB: {}", ceiling(cell, limit));
        assert!(near(iops(cell), wanted), "{kib} KiB: {}", iops(cell));
    }
}

#[test]
fn a_ds1_binds_before_its_p30() {
    let environment = storage(Some("ds1"), &[("data", "premium-p30\"", "none")]);
    let cell = &predicted(&[load(8, 0, DEEP)], &environment, PredictionSettings::default())[0];
    assert_eq!((&cell["binding"]["limit"], ceiling(cell, "vm-uncached-iops")), (&"vm-uncached-iops".into(), 3_200.0));
    assert!(near(iops(cell), 3_200.0), "{}", iops(cell));
}

/// Three disks of 500 IOPS each are 1,500, three of 5,000 the machine's 12,800: volumes of their own, loaded together.
#[test]
fn disks_of_a_d8s_v3_add_up_to_its_limit() {
    let of = |sku: &str| {
        let volumes = ["a", "b", "c"].map(|name| (name, sku, "none"));
        let environment = storage(Some("d8s-v3@2020"), &volumes);
        predicted(&[load(4, 100, DEEP)], &environment, together(Empty, Empty))
    };
    let slow = of("standard-ssd-e30\"");
    assert!(near(slow.iter().map(iops).sum(), 1_500.0), "{:?}", slow.iter().map(iops).collect::<Vec<_>>());
    let fast = of("premium-p30\"");
    assert!(near(fast.iter().map(iops).sum(), 12_800.0), "{:?}", fast.iter().map(iops).collect::<Vec<_>>());
    assert!(fast.iter().all(|cell| cell["binding"]["limit"] == "vm-uncached-iops"), "{}", fast[0]["binding"]);
    assert!(fast.iter().all(|cell| (ceiling(cell, "vm-uncached-iops") - 12_800.0).abs() < 1e-6));
}

/// Three cached P30 and two uncached ones, 5,000 IOPS asked of each: 25,000.
#[test]
fn cached_and_uncached_disks_of_a_d8s_v3_add() {
    let volumes = [("a", "read-only"), ("b", "read-only"), ("c", "read-only"), ("d", "none"), ("e", "none")]
        .map(|(name, cache)| (name, "premium-p30\"", cache));
    let environment = storage(Some("d8s-v3@2020"), &volumes);
    let cells =
        predicted(&[load(4, 100, "arrival = { constant = \"5000 IOPS\" }")], &environment, together(Full, Full));
    assert!(near(cells.iter().map(iops).sum(), 25_000.0), "{:?}", cells.iter().map(iops).collect::<Vec<_>>());
    // Asked for more, the budgets give 16,000 and the two disks' own 10,000.
    let cells = predicted(&[load(4, 100, DEEP)], &environment, together(Full, Full));
    assert!(near(cells[..3].iter().map(iops).sum(), 16_000.0) && near(cells[3..].iter().map(iops).sum(), 10_000.0));
    let bound: Vec<&str> = cells.iter().map(|cell| cell["binding"]["limit"].as_str().unwrap()).collect();
    let cached = "vm-cached-iops";
    assert_eq!(bound, [cached, cached, cached, "disk-iops", "disk-iops"]);
}

/// A P4 for the system and two P10, each of which bursts to 170 MB/s, behind the 192 MB/s of a D8as_v4, for which the page of 2021 has
/// no burst: the VM's credits are spent.
#[test]
fn bursts_of_disks_do_not_pass_a_d8as_v4() {
    const MIB: f64 = 1_048_576.0;
    let names = ["system", "a", "b"];
    let skus = ["premium-p4\"", "premium-p10\"", "premium-p10\""];
    let volumes: Vec<_> = names.into_iter().zip(skus).map(|(name, sku)| (name, sku, "none")).collect();
    let cells = |vm: Option<&str>, plans: &[String], (disks, of_vm): (Fullness, Fullness)| {
        predicted(plans, &storage(vm, &volumes), together(disks, of_vm))
    };
    let sum = |cells: &[Value]| cells.iter().map(bytes).sum::<f64>();
    let (deep, vm, spent) = ([load(256, 100, "queue_depth = 64")], Some("d8as-v4"), (Full, Empty));
    assert!(
        near(sum(&cells(None, &deep, (Full, Full))), 510.0 * MIB)
            && near(sum(&cells(None, &deep, (Empty, Empty))), 225.0 * MIB)
    );
    // Whatever is asked of the disks, 192 MB/s pass; with credits of its own the VM lets 400 through.
    let held = cells(vm, &deep, spent);
    assert!(near(sum(&held), 192e6), "{}", sum(&held));
    assert!(held.iter().all(|cell| cell["prediction"]["bursts_full"] == true));
    assert!(held.iter().all(|cell| cell["prediction"]["vm_bursts_full"] == false));
    assert!(near(sum(&cells(vm, &deep, (Full, Full))), 400e6));
    // While the machine starts: the system disk alone, at its own 170 MB/s.
    let start = predicted(
        &deep,
        &storage(vm, &volumes),
        PredictionSettings {
            volumes: vec![NamedTarget { volume: "system".into(), target: "system".into() }],
            course: Course::Apart,
            ..together(Full, Empty)
        },
    );
    assert_eq!(start[0]["binding"]["limit"], "disk-throughput");
    assert!(near(bytes(&start[0]), 170.0 * MIB), "{}", bytes(&start[0]));
    // The application asks for 15 MB/s, 5 of each disk, and then for 192: 2 of the system's disk and 95 of each other. It gets that.
    for asked in [[5.0, 5.0, 5.0], [2.0, 95.0, 95.0]] {
        let plans = asked.map(|megabytes| asked_for(megabytes, 64));
        let given = cells(vm, &plans, spent);
        for (cell, asked) in given.iter().zip(asked) {
            assert_eq!(cell["binding"]["limit"], "arrival");
            assert!(near(bytes(cell), asked * 1e6), "{asked}: {}", bytes(cell));
        }
    }
}

/// A load of so many times 10^6 bytes a second, in requests of so many times 1,000 bytes.
fn asked_for(megabytes: f64, kilobytes: u32) -> String {
    let rate = (megabytes * 1e3 / f64::from(kilobytes)).round();
    let arrival = format!("arrival = {{ constant = \"{rate} IOPS\" }}");
    load(kilobytes, 100, &arrival).replace(" KiB", " KB")
}

/// An L8s_v2 bursts from 160 to 1,280 MB/s: three P50 of 250 MB/s each give 600 MB/s, and three P4 360, of which the bursting two give
/// 170 each and the system's 20.
#[test]
fn an_l8s_v2_bursts_with_disks_that_do_not_and_with_disks_that_do() {
    for (sku, asked) in [("premium-p50\"", [200.0; 3]), ("premium-p4\"", [20.0, 170.0, 170.0])] {
        let environment = storage(Some("l8s-v2"), &["system", "a", "b"].map(|name| (name, sku, "none")));
        let plans = asked.map(|megabytes| asked_for(megabytes, 256));
        let cells = predicted(&plans, &environment, together(Full, Full));
        for (cell, asked) in cells.iter().zip(asked) {
            assert_eq!(cell["binding"]["limit"], "arrival", "{sku}");
            assert!(near(bytes(cell), asked * 1e6), "{sku}, {asked}: {}", bytes(cell));
        }
        // Once the machine's credits are spent it holds them to 160 MB/s, whatever theirs.
        let held = predicted(&plans, &environment, together(Full, Empty)).iter().map(bytes).sum::<f64>();
        assert!(near(held, 160e6), "{sku}: {held}");
    }
}

/// The two budgets of a D8ds_v4 used at once: cached reads of 4 KiB and uncached writes of 8 KiB.
#[test]
fn both_budgets_of_a_d8ds_v4_at_once() {
    let eight = "premium-p30\", count = 8";
    let environment = storage(Some("d8ds-v4"), &[("cached", eight, "read-only"), ("uncached", eight, "none")]);
    let plans = [load(4, 100, DEEP), load(8, 0, DEEP)];
    let cells = predicted(&plans, &environment, together(Empty, Empty));
    assert_eq!((ceiling(&cells[0], "vm-cached-iops"), iops(&cells[0]).round() > 0.0), (77_000.0, true));
    assert!(
        near(iops(&cells[0]), 77_000.0) && near(iops(&cells[1]), 12_800.0),
        "{} {}",
        iops(&cells[0]),
        iops(&cells[1])
    );
    assert_eq!(cells[0]["binding"]["limit"], "vm-cached-iops");
}
