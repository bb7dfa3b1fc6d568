//! Every kind of result that fio 3.33 writes, kept small as it wrote them.

use crate::{Job, Results, read};
use loadline_block::Operation;
use loadline_record::DoubtCode;
use loadline_workload::{Arrival, Distribution, Pattern};
use serde_json::Value;

macro_rules! kept {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../tests/corpus/fio/", $name)))),*]
    };
}

const JSON: [(&str, &str); 24] = kept![
    "batch.json",
    "both.json",
    "bsrange.json",
    "client1.json",
    "client2.json",
    "clones.json",
    "cpus.json",
    "endf.json",
    "etcd.json",
    "grouped.json",
    "gtod.json",
    "hist.json",
    "json.json",
    "latp.json",
    "lattarget.json",
    "lfsr.json",
    "pareto.json",
    "plist.json",
    "rate.json",
    "status.json",
    "steady.json",
    "unified.json",
    "unifiedboth.json",
    "verify.json",
];

pub(super) fn results(name: &str) -> Results {
    let (_, text) = JSON.into_iter().find(|(known, _)| *known == name).unwrap();
    read(text, name, 0).unwrap()
}

fn job(name: &str) -> Job {
    let mut results = results(name);
    assert_eq!((results.jobs.len(), results.left_out.len()), (1, 0), "{name}");
    results.jobs.remove(0)
}

/// The last document of a text, parsed without any of the reader's rules.
fn document(text: &str) -> Value {
    let mut lines = text.lines().filter(|line| line.starts_with('{'));
    serde_json::from_str(lines.next_back().unwrap()).unwrap()
}

#[test]
fn every_kind_has_the_requests_and_bytes_that_fio_printed() {
    for (name, text) in JSON {
        let results = results(name);
        assert!(results.left_out.is_empty() && !results.jobs.is_empty(), "{name}: {:?}", results.left_out);
        let document = document(text);
        let entries = document.get("jobs").or(document.get("client_stats")).unwrap().as_array().unwrap();
        let own = entries.iter().filter(|entry| entry["jobname"] != "All clients");
        let mut printed = [0_u64; 2];
        for entry in own {
            let parts: &[&str] = if entry.get("read").is_some() { &["read", "write", "trim"] } else { &["mixed"] };
            for part in parts {
                printed[0] += entry[part]["total_ios"].as_u64().unwrap();
                printed[1] += entry[part]["io_bytes"].as_u64().unwrap();
            }
        }
        let sum = |of: fn(&Job) -> u64| results.jobs.iter().map(of).sum::<u64>();
        assert_eq!([sum(|job| job.trial.count()), sum(|job| job.trial.bytes())], printed, "{name}");
    }
}

#[test]
fn latencies_are_those_printed_and_what_lies_above_the_largest_stands_beside() {
    let mut clamped = 0;
    for (name, text) in JSON {
        let document = document(text);
        let Some([entry]) = document["jobs"].as_array().map(Vec::as_slice) else { continue };
        let jobs = results(name).jobs;
        for (key, operation) in [("read", Operation::Read), ("write", Operation::Write)] {
            let Some(record) = jobs.iter().find_map(|job| job.trial.of(operation)) else { continue };
            let of = ["clat_ns", "lat_ns"].map(|kind| &entry[key][kind]);
            let Some(printed) = of.into_iter().find(|one| one.get("percentile").is_some()) else { continue };
            let figures = record.figures().unwrap();
            assert_eq!(
                (Some(figures.mean), Some(figures.max)),
                (printed["mean"].as_f64(), printed["max"].as_u64()),
                "{name}"
            );
            let unknown: Vec<&String> = jobs.iter().flat_map(|job| &job.unknown).collect();
            for (share, own) in [("50", figures.p50), ("99", figures.p99), ("99.99", figures.p99_99)] {
                let long = format!("{:.6}", share.parse::<f64>().unwrap());
                let Some(percentile) = printed["percentile"][long].as_u64() else { continue };
                assert_eq!(own, Some(percentile.min(figures.max)), "{name} p{share}");
                if percentile > figures.max {
                    clamped += 1;
                    let told = format!("p{share} as {percentile} ns");
                    assert!(unknown.iter().any(|sentence| sentence.contains(&told)), "{name}: {told}: {unknown:?}");
                }
            }
        }
    }
    assert!(clamped >= 5, "{clamped} samples have such percentiles");
}

#[test]
fn what_no_plan_has_is_put_as_near_as_it_can_be_and_told() {
    let told = |job: &Job, word: &str| job.unknown.iter().any(|sentence| sentence.contains(word));
    assert!(told(&job("steady.json"), "steadystate=iops:50%") && told(&job("batch.json"), "iodepth_batch=4"));
    let target = job("lattarget.json");
    assert!(told(&target, "latency_target=10ms"));
    assert!(matches!(target.spec.arrival, Arrival::Closed { queue_depth: 16, .. }), "the depth that fio came to");
    let pareto = job("pareto.json");
    assert!(
        matches!(pareto.spec.pattern, Pattern::Random(Distribution::HotCold { .. })) && told(&pareto, "pareto:0.9")
    );
    assert_eq!(job("bsrange.json").spec.blocks.len(), 4);
    assert_eq!(job("etcd.json").spec.blocks[0].size.get(), 2300);
    assert!(job("lfsr.json").unknown.len() <= 3, "a generator of places changes no load");
}

#[test]
fn reads_and_writes_told_as_one_are_counted_once() {
    let one = job("unified.json");
    let counts = [Operation::Read, Operation::Write].map(|operation| one.trial.of(operation).unwrap().count);
    assert!(counts[0].abs_diff(counts[1]) <= 1, "by the mix: {counts:?}");
    assert!(one.unknown.iter().any(|sentence| sentence.contains("unified_rw_reporting")));
    let both = job("unifiedboth.json");
    let count = both.trial.of(Operation::Read).unwrap().count;
    assert_eq!((count, both.unknown.iter().any(|sentence| sentence.contains("unified"))), (8161, false));
}

#[test]
fn what_was_written_and_read_back_are_two_loads_one_after_the_other() {
    let results = results("verify.json");
    let [written, back] = results.jobs.as_slice() else { panic!("{results:?}") };
    assert_eq!((written.trial.count(), back.trial.count()), (1024, 1024));
    assert_eq!((written.trial.measured_ns, back.trial.measured_ns), (12_000_000, 8_000_000));
    assert_eq!((written.trial.of(Operation::Read), back.trial.of(Operation::Write)), (None, None));
    assert_eq!((written.span_ms.1, back.name.as_str()), (back.span_ms.0, "a, read back"));
    assert!(results.jobs.iter().all(|job| job.trial.doubts.is_empty()), "neither ran beside the other");
    assert!(written.unknown.iter().any(|sentence| sentence.contains("verify=crc32c")));
}

#[test]
fn machines_of_a_client_and_server_run_are_jobs_beside_each_other() {
    // Two connections to one machine: the sum of all is left out.
    let two = results("client2.json");
    let rates: Vec<u64> = two.jobs.iter().map(|job| job.trial.iops().unwrap() as u64).collect();
    assert_eq!(rates, [18_594, 19_274]);
    assert!(two.jobs.iter().all(|job| job.trial.doubts[0].code == DoubtCode::OtherLoad));
    let sample = read(include_str!("../../../tests/corpus/fio-client.json"), "client", 0).unwrap();
    let names: Vec<(&str, Option<&str>)> =
        sample.jobs.iter().map(|job| (job.name.as_str(), job.target.as_deref())).collect();
    assert_eq!(names, [("a on host-a", Some("host-a:/dev/sdb")), ("a on host-b", Some("host-b:/dev/sdb"))]);
    let rates: Vec<f64> = sample.jobs.iter().map(|job| job.trial.iops().unwrap()).collect();
    assert_eq!(rates, [2000.0, 1900.0]);
}

#[test]
fn the_sum_of_clones_that_took_different_times_stands_beside_their_rate() {
    let (_, text) = JSON.into_iter().find(|(name, _)| *name == "clones.json").unwrap();
    let mut document = document(text);
    document["jobs"][0]["read"]["runtime"] = 500.into();
    let results = read(&document.to_string(), "a", 0).unwrap();
    let of = |index: usize, ms: u64| document["jobs"][index]["read"]["total_ios"].as_f64().unwrap() / ms as f64 * 1e3;
    let longest = document["jobs"][1]["read"]["runtime"].as_u64().unwrap();
    let sum = of(0, 500) + of(1, longest);
    let told = format!("add up to {sum:.1} IOPS");
    assert!(results.jobs[0].unknown.iter().any(|sentence| sentence.contains(&told)), "{:?}", results.jobs[0].unknown);
    let rate = of(0, longest) + of(1, longest);
    assert!((results.jobs[0].trial.iops().unwrap() / rate - 1.0).abs() < 1e-9);
}

#[test]
fn reading_back_is_a_job_of_its_own_at_depth_1_too() {
    let text = include_str!("../../../tests/corpus/fio/verify-depth-1.json");
    let results = read(text, "verify-depth-1.json", 0).unwrap();
    let found: Vec<(&str, u64, f64)> = (results.jobs.iter())
        .map(|job| (job.name.as_str(), job.trial.count(), job.trial.iops().unwrap().round()))
        .collect();
    assert_eq!(found, [("j", 2048, 8866.0), ("j, read back", 2048, 15_876.0)]);
}
