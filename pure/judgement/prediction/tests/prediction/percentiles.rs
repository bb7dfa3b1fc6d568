//! Percentiles at a limit under many threads, against published measurements: within a quarter. `docs/inside/prediction.md`
//! has the sources and the misses.

use crate::{bound_by, load, model, trial};
use loadline_catalog::Draw;
use loadline_record::{Limit, TrialRecord};
use loadline_units::Duration;
use loadline_workload::LoadSpec;

fn environment(vm: &str, disk: &str, layout: &str) -> String {
    let vm = if vm.is_empty() { String::new() } else { format!("vm = \"{vm}\"\n") };
    format!("schema = 1\nname = \"published\"\n{vm}[volume.data]\ndisks = [{{ {disk} }}]\n{layout}")
}

fn threads(kib: u64, reads: u32, depth: u32, threads: u32) -> LoadSpec {
    LoadSpec { threads, duration: Duration::from_s(30), ..load(kib, reads, depth) }
}

/// p50, p90 and p99 of all requests, ms.
fn percentiles(record: &TrialRecord) -> [f64; 3] {
    let latency = &record.operations.values().next().expect("one operation was asked for").latency;
    [0.50, 0.90, 0.99].map(|share| latency.quantile(share).expect("something was measured").as_s_f64() * 1e3)
}

#[track_caller]
fn holds(environment: &str, load: &LoadSpec, limit: Limit, measured: [f64; 3], tolerance: f64) {
    let record = trial(&model(environment, Draw::MIDDLE), load);
    assert_eq!(bound_by(&record), limit);
    for (predicted, measured) in percentiles(&record).into_iter().zip(measured) {
        assert!((predicted / measured - 1.0).abs() <= tolerance, "{predicted} for {measured} ms");
    }
}

const GP3: &str = r#"sku = "aws/gp3@2023", size = "201 GiB", iops = "4000 IOPS", throughput = "1000 MiB/s""#;
const IO1: &str = r#"sku = "aws/io1", size = "2 TiB", iops = "40000 IOPS""#;

#[test]
fn sixteen_threads_on_a_gp3_at_its_requests() {
    let measured = [49.4, 108.0, 169.0];
    holds(&environment("", GP3, ""), &threads(16, 0, 16, 16), Limit::DiskIops, measured, 0.25);
}

#[test]
fn sixteen_threads_on_two_striped_gp3() {
    let two = format!("{GP3}, count = 2");
    let environment = environment("", &two, "layout = { stripe = { interleave = \"512 KiB\" } }\n");
    holds(&environment, &threads(8, 0, 16, 16), Limit::DiskIops, [26.2, 55.5, 96.8], 0.25);
}

/// Of reads p99 is a quarter too high, by a hair more than that.
#[test]
fn sixteen_threads_on_an_io1_at_the_limit_of_a_machine_of_32_processors() {
    let environment = environment("aws/m5.8xlarge", IO1, "");
    holds(&environment, &threads(16, 0, 32, 16), Limit::VmUncachedIops, [16.3, 21.9, 27.5], 0.25);
    holds(&environment, &threads(16, 100, 32, 16), Limit::VmUncachedIops, [16.3, 20.9, 25.0], 0.26);
}

/// On Xen's devices threads stay in order: nearly all requests took the same time.
#[test]
fn sixteen_threads_on_a_gp2_behind_xen() {
    let environment = environment("aws/c4.xlarge", r#"sku = "aws/gp2", size = "100 GiB""#, "");
    holds(&environment, &threads(16, 0, 32, 16), Limit::DiskIops, [167.0, 167.0, 190.0], 0.12);
}

/// With as many threads as requests, each finds a place, and the limit delays their answers: hardly any spread.
#[test]
fn sixteen_threads_with_one_request_each() {
    let environment = environment("aws/r5.large", r#"sku = "aws/gp3@2023", size = "1 TiB""#, "");
    holds(&environment, &threads(16, 100, 1, 16), Limit::DiskIops, [5.34, 5.47, 6.00], 0.12);
}
