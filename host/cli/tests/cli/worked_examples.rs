//! Microsoft's worked examples (azure-docs, premium-storage-performance and disks-performance) as a user runs them: an environment
//! file each, a plan, and `predict` with limits as published. They are arithmetic: the ceilings are exact, and what is simulated
//! comes to them but for the window of quota in which a measurement ends.

use crate::Bench;
use serde_json::Value;
use std::fmt::Write;

/// A measurement of 10 s ends within a window of about 50 ms.
const TOLERANCE: f64 = 0.01;

fn plan(kib: u32, reads: u32, load: &str) -> String {
    format!(
        "schema = 1\nname = \"p-{kib}-{reads}\"\n[[load]]\npattern = \"random\"\nreads = \"{reads} %\"\nblock = \"{kib} KiB\"\n{load}\n\
         size = \"1 GiB\"\nwarm_up = \"2 s\"\nduration = \"10 s\"\ntrials = 1\n"
    )
}

const DEEP: &str = "queue_depth = 512";

fn environment(vm: Option<&str>, volumes: &[(&str, &str, &str)]) -> String {
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
fn predicted(plans: &[String], environment: &str, more: &[&str]) -> Vec<Value> {
    let bench = Bench::new();
    let plans: Vec<String> =
        plans.iter().enumerate().map(|(number, plan)| bench.file(&format!("p{number}.toml"), plan)).collect();
    let environment = bench.file("environment.toml", environment);
    let mut arguments = vec!["predict"];
    arguments.extend(plans.iter().map(String::as_str));
    arguments.extend(["--env", &environment, "--published", "--draws", "1", "--seed", "1", "--format", "json"]);
    arguments.extend(more);
    let run: Value = serde_json::from_str(&bench.done(&arguments)).unwrap();
    run["cells"].as_array().unwrap().clone()
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

#[test]
fn a_p30_by_request_size() {
    let environment = environment(None, &[("data", "premium-p30\"", "none")]);
    for (kib, limit, wanted) in [
        (8, "disk-iops", 5_000.0),
        (32, "disk-iops", 5_000.0),
        (64, "disk-throughput", 200e6),
        (1_024, "disk-throughput", 200e6),
    ] {
        let cell = &predicted(&[plan(kib, 100, DEEP)], &environment, &[])[0];
        assert_eq!(cell["binding"]["limit"], limit, "{kib} KiB");
        let by_bytes = limit == "disk-throughput";
        let exact = ceiling(cell, limit) * if by_bytes { f64::from(kib << 10) } else { 1.0 };
        assert!((exact / wanted - 1.0).abs() < 1e-12, "{kib} KiB: {exact}");
        assert!(near(if by_bytes { bytes(cell) } else { iops(cell) }, wanted), "{kib} KiB: {}", iops(cell));
    }
}

#[test]
fn a_ds1_binds_before_its_p30() {
    let environment = environment(Some("ds1"), &[("data", "premium-p30\"", "none")]);
    let cell = &predicted(&[plan(8, 0, DEEP)], &environment, &[])[0];
    assert_eq!((&cell["binding"]["limit"], ceiling(cell, "vm-uncached-iops")), (&"vm-uncached-iops".into(), 3_200.0));
    assert!(near(iops(cell), 3_200.0), "{}", iops(cell));
}

/// Three disks of 500 IOPS each are 1,500, three of 5,000 the machine's 12,800: volumes of their own, loaded together.
#[test]
fn disks_of_a_d8s_v3_add_up_to_its_limit() {
    let of = |sku: &str| {
        let volumes = ["a", "b", "c"].map(|name| (name, sku, "none"));
        let environment = environment(Some("d8s-v3"), &volumes);
        predicted(&[plan(4, 100, DEEP)], &environment, &["--together", "--bursts", "empty"])
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
    let environment = environment(Some("d8s-v3"), &volumes);
    let cells = predicted(&[plan(4, 100, "arrival = { constant = \"5000 IOPS\" }")], &environment, &["--together"]);
    assert!(near(cells.iter().map(iops).sum(), 25_000.0), "{:?}", cells.iter().map(iops).collect::<Vec<_>>());
    // Asked for more, the budgets give 16,000 and the two disks' own 10,000.
    let cells = predicted(&[plan(4, 100, DEEP)], &environment, &["--together"]);
    assert!(near(cells[..3].iter().map(iops).sum(), 16_000.0) && near(cells[3..].iter().map(iops).sum(), 10_000.0));
    let bound: Vec<&str> = cells.iter().map(|cell| cell["binding"]["limit"].as_str().unwrap()).collect();
    let cached = "vm-cached-iops";
    assert_eq!(bound, [cached, cached, cached, "disk-iops", "disk-iops"]);
}

/// A P4 and two P10 that burst to 170 MB/s each behind the 192 MB/s of a D8as_v4, which the page gives no bursts of its own.
#[test]
fn bursts_of_disks_do_not_pass_a_d8as_v4() {
    let volumes = [("system", "premium-p4\""), ("a", "premium-p10\""), ("b", "premium-p10\"")];
    let volumes = volumes.map(|(name, sku)| (name, sku, "none"));
    let sum = |vm: Option<&str>, more: &[&str]| {
        let more = [&["--together"], more].concat();
        let limits = "vm = { uncached = { iops = \"12800 IOPS\", throughput = \"192 MB/s\" } }";
        let environment = environment(vm, &volumes).replace("vm = \"azure/d8as-v4\"", limits);
        predicted(&[plan(256, 100, "queue_depth = 64")], &environment, &more).iter().map(bytes).sum::<f64>()
    };
    assert!(near(sum(None, &[]), 510e6) && near(sum(None, &["--bursts", "empty"]), 225e6));
    assert!(near(sum(Some("d8as-v4"), &[]), 192e6), "{}", sum(Some("d8as-v4"), &[]));
}

/// The two budgets of a D8ds_v4 used at once: cached reads of 4 KiB and uncached writes of 8 KiB.
#[test]
fn both_budgets_of_a_d8ds_v4_at_once() {
    let eight = "premium-p30\", count = 8";
    let environment = environment(Some("d8ds-v4"), &[("cached", eight, "read-only"), ("uncached", eight, "none")]);
    let plans = [plan(4, 100, DEEP), plan(8, 0, DEEP)];
    let cells = predicted(&plans, &environment, &["--together", "--bursts", "empty"]);
    assert_eq!((ceiling(&cells[0], "vm-cached-iops"), iops(&cells[0]).round() > 0.0), (77_000.0, true));
    assert!(
        near(iops(&cells[0]), 77_000.0) && near(iops(&cells[1]), 12_800.0),
        "{} {}",
        iops(&cells[0]),
        iops(&cells[1])
    );
    assert_eq!(cells[0]["binding"]["limit"], "vm-cached-iops");
}
