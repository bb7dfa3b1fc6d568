//! Results in fio's form, of several versions, and impossible ones.

mod brought;
mod kinds;
mod plain;

use super::read;
use crate::{ImportError, Job, Results};
use loadline_block::{ErrorKind, Operation};
use loadline_record::{Doubt, DoubtCode, DoubtEvidence, Ending};
use loadline_units::Duration;
use loadline_workload::Arrival;
use serde_json::{Value, json};

/// A direction that completed nothing.
fn idle() -> Value {
    json!({ "io_bytes": 0, "io_kbytes": 0, "iops": 0.0, "runtime": 0, "total_ios": 0,
            "clat_ns": { "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 } })
}

/// 1,000 requests of 4 KiB in 10 s: half take 1 ms, half 3 ms.
fn direction() -> Value {
    json!({ "io_bytes": 4_096_000, "io_kbytes": 4000, "bw": 400, "iops": 100.0, "runtime": 10_000, "total_ios": 1000,
            "slat_ns": { "min": 1000, "max": 9000, "mean": 2000.0, "stddev": 1.0, "N": 1000 },
            "clat_ns": { "min": 1_000_000, "max": 3_000_000, "mean": 2_000_000.0, "stddev": 1e6, "N": 1000,
                         "percentile": { "50.000000": 999_424, "90.000000": 2_998_272, "95.000000": 2_998_272,
                                         "99.000000": 2_998_272, "99.900000": 2_998_272 },
                         "bins": { "995328": 500, "2998272": 500 } } })
}

fn job(name: &str, options: &Value, directions: &[(&str, Value)]) -> Value {
    let mut job = json!({ "jobname": name, "groupid": 0, "error": 0, "elapsed": 11, "job options": options,
                          "job_runtime": 10_000, "usr_cpu": 1.5, "sys_cpu": 3.5,
                          "read": idle(), "write": idle(), "trim": idle() });
    for (key, value) in directions {
        job[key] = value.clone();
    }
    job
}

fn random_reads() -> Value {
    json!({ "rw": "randread", "bs": "4k", "iodepth": "8" })
}

fn document(jobs: &[Value]) -> Value {
    json!({ "fio version": "fio-3.33", "timestamp": 1_700_000_100, "timestamp_ms": 1_700_000_100_500_u64,
            "global options": { "ioengine": "libaio", "direct": "1", "filename": "/dev/vdb", "runtime": "10" },
            "jobs": jobs, "disk_util": [] })
}

fn results(document: &Value) -> Result<Results, ImportError> {
    read(&document.to_string(), "a.json", 7)
}

fn only(document: &Value) -> Job {
    let mut read = results(document).unwrap();
    assert!(read.left_out.is_empty() && read.jobs.len() == 1, "{read:?}");
    read.jobs.remove(0)
}

fn sample() -> Value {
    document(&[job("a", &random_reads(), &[("read", direction())])])
}

#[test]
fn a_job_has_its_load_and_its_figures() {
    let read = results(&sample()).unwrap();
    assert_eq!((read.tool.as_str(), read.version.as_deref()), ("fio", Some("3.33")));
    let job = &read.jobs[0];
    assert_eq!((job.name.as_str(), job.target.as_deref(), job.is_null), ("a", Some("/dev/vdb"), false));
    assert!(matches!(job.spec.arrival, Arrival::Closed { queue_depth: 8, rate_max: None, .. }));
    assert_eq!((job.spec.duration, job.spec.volume, job.spec.buffered), (Duration::from_s(10), None, false));
    let trial = &job.trial;
    assert_eq!((trial.iops(), trial.bytes_per_s()), (Some(100.0), Some(409_600.0)));
    assert_eq!((trial.measured_ns, trial.started_unix_s), (10_000_000_000, 1_700_000_090));
    assert_eq!((trial.engine.name.name(), &trial.ending), ("libaio", &Ending::Complete));
    assert_eq!((trial.surroundings.load_user_ns, trial.surroundings.load_system_ns), (150_000_000, 350_000_000));
    assert!((trial.surroundings.threads[0].busy - 0.05).abs() < 1e-9);
    assert!(trial.series.seconds.is_empty() && trial.doubts.is_empty() && job.unknown.is_empty(), "{job:?}");
}

#[test]
fn buckets_become_a_histogram_and_percentiles_alone_stay_what_they_are() {
    let mut document = sample();
    let record = |document: &Value| only(document).trial.of(Operation::Read).unwrap().clone();
    let own = record(&document);
    assert_eq!((own.told, own.latency.count()), (None, 1000));
    let figures = own.figures().unwrap();
    assert_eq!((figures.min, figures.max, figures.mean as u64), (Some(1_000_000), 3_000_000, 2_000_000));
    assert!((figures.p99.unwrap() as f64 / 3e6 - 1.0).abs() < 0.01, "{figures:?}");
    let clat = document["jobs"][0]["read"]["clat_ns"].as_object_mut().unwrap();
    clat.remove("bins");
    let told = record(&document);
    assert_eq!((told.latency.count(), told.figures_count()), (0, 1000));
    let figures = told.figures().unwrap();
    // A percentile is the middle of a bucket: the least and the largest are exact.
    assert_eq!((figures.p50, figures.p99, figures.p99_99), (Some(1_000_000), Some(2_998_272), None));
    assert!(only(&document).unknown[0].contains("without a histogram"));
    document["jobs"][0]["read"]["clat_ns"].as_object_mut().unwrap().remove("percentile");
    let figures = record(&document).figures().unwrap();
    assert_eq!((figures.mean as u64, figures.p50, figures.max), (2_000_000, None, 3_000_000));
}

#[test]
fn latencies_that_were_not_kept_are_missing() {
    let mut document = sample();
    document["jobs"][0]["read"]["clat_ns"] = json!({ "min": 0, "max": 0, "mean": 0.0, "N": 0 });
    let job = only(&document);
    assert_eq!(job.trial.of(Operation::Read).unwrap().figures(), None);
    assert_eq!(job.trial.iops(), Some(100.0));
    assert!(job.unknown[0].contains("not kept"), "{:?}", job.unknown);
}

/// As versions 2 wrote it: KiB, microseconds, buckets by their place, no count of samples, no option of the whole file.
fn older() -> Value {
    let clat = json!({ "min": 1000, "max": 3000, "mean": 2000.0, "stddev": 1000.0,
                       "percentile": { "50.000000": 996, "90.000000": 2992, "99.000000": 2992, "99.990000": 2992, "0.00": 0 },
                       "bins": { "FIO_IO_U_PLAT_BITS": 6, "FIO_IO_U_PLAT_VAL": 64, "FIO_IO_U_PLAT_NR": 1216,
                                 "317": 500, "0": 0, "413": 500 } });
    let options = json!({ "rw": "randread", "bs": "4k", "iodepth": "8", "ioengine": "libaio", "direct": "1" });
    let reads =
        json!({ "io_bytes": 4000, "bw": 400, "iops": 100.0, "runtime": 10_000, "total_ios": 1000, "clat": clat });
    json!({ "fio version": "fio-2.16", "timestamp": 1_480_000_000, "time": "Thu Nov 24 15:06:40 2016",
            "jobs": [{ "jobname": "old", "groupid": 0, "error": 0, "job options": options, "read": reads,
                       "usr_cpu": 1.0, "sys_cpu": 2.0 }] })
}

#[test]
fn older_versions_count_in_kib_and_microseconds() {
    let mut document = older();
    let job = only(&document);
    assert_eq!((job.trial.bytes_per_s(), job.trial.iops()), (Some(409_600.0), Some(100.0)));
    let read = job.trial.of(Operation::Read).unwrap();
    assert_eq!(read.latency.count(), 1000);
    let near = |ns: Option<u64>, wanted: f64| (ns.unwrap() as f64 / wanted - 1.0).abs() < 0.01;
    let figures = read.figures().unwrap();
    assert!(near(figures.p50, 1e6) && near(figures.p99, 3e6) && figures.max == 3_000_000, "{figures:?}");
    assert_eq!(job.trial.surroundings.threads, []);
    // Buckets of another make are no histogram; the percentiles are still there.
    document["jobs"][0]["read"]["clat"]["bins"]["FIO_IO_U_PLAT_BITS"] = json!(5);
    let figures = only(&document).trial.of(Operation::Read).unwrap().told.unwrap();
    assert_eq!((figures.p50, figures.p95, figures.p99_99), (Some(1_000_000), None, Some(2_992_000)));
}

#[test]
fn a_job_without_options_is_told() {
    let mut document = older();
    document["jobs"][0].as_object_mut().unwrap().remove("job options");
    let read = results(&document).unwrap();
    assert!(read.jobs.is_empty() && read.left_out[0].why.contains("which options"), "{read:?}");
}

#[test]
fn lines_around_documents_are_no_part_of_them() {
    let text = format!(
        "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1\n{}\nfio: pid=7, err=0\n",
        serde_json::to_string_pretty(&sample()).unwrap()
    );
    assert_eq!(read(&text, "a", 0).unwrap().jobs.len(), 1);
}

#[test]
fn what_fio_wrote_last_counts_and_another_fio_is_another_run() {
    let (mut early, late) = (sample(), sample());
    early["timestamp_ms"] = json!(1_700_000_095_400_u64);
    early["jobs"][0]["elapsed"] = json!(6);
    early["jobs"][0]["read"]["total_ios"] = json!(400);
    let all = read(&format!("{early}\n{late}\n"), "a", 0).unwrap();
    assert_eq!((all.jobs.len(), all.jobs[0].trial.count()), (1, 1000));
    assert!(all.notes[0].contains("--status-interval"), "{:?}", all.notes);
    let mut next = sample();
    next["timestamp_ms"] = json!(1_700_000_200_000_u64);
    let both = read(&format!("{late}\n{next}\n"), "a", 0).unwrap();
    assert_eq!(both.jobs.len(), 2);
    assert!(both.jobs[0].span_ms.1 <= both.jobs[1].span_ms.0);
}

#[test]
fn groups_run_one_after_the_other_and_what_shares_one_at_the_same_time() {
    let mut jobs: Vec<Value> =
        ["a", "b", "c"].iter().map(|name| job(name, &random_reads(), &[("read", direction())])).collect();
    jobs[2]["groupid"] = json!(1);
    let read = results(&document(&jobs)).unwrap();
    let spans: Vec<(u64, u64)> = read.jobs.iter().map(|job| job.span_ms).collect();
    let end = 1_700_000_100_500;
    assert_eq!(spans, [(end - 20_000, end - 10_000), (end - 20_000, end - 10_000), (end - 10_000, end)]);
    let beside = |index: usize| read.jobs[index].trial.doubts.first().cloned();
    let seen = DoubtEvidence::JobsBeside { jobs: vec!["b".into()], more: 0 };
    assert_eq!((beside(0), beside(2)), (Some(Doubt { code: DoubtCode::OtherLoad, seen }), None));
}

#[test]
fn clones_are_one_load_whether_they_are_reported_together_or_apart() {
    let options = json!({ "rw": "randread", "bs": "4k", "iodepth": "8", "numjobs": "2" });
    let apart = job("a", &options, &[("read", direction())]);
    let sum = only(&document(&[apart.clone(), apart.clone()]));
    assert_eq!((sum.trial.count(), sum.trial.iops(), sum.spec.threads), (2000, Some(200.0), 2));
    assert_eq!(sum.trial.of(Operation::Read).unwrap().latency.count(), 2000);
    // Percentiles of clones are not those of all; sums are.
    let mut plain = apart.clone();
    plain["read"]["clat_ns"].as_object_mut().unwrap().remove("bins");
    let told = only(&document(&[plain.clone(), plain])).trial.of(Operation::Read).unwrap().told.unwrap();
    assert_eq!((told.p50, told.mean as u64, told.max), (None, 2_000_000, 3_000_000));
    let mut group = job("a", &options, &[("read", direction())]);
    group["job_runtime"] = json!(20_000);
    assert_eq!(only(&document(&[group.clone()])).spec.threads, 2);
    // Three of two clones, or the time of four threads in one entry, are no such job.
    let three = results(&document(&[apart.clone(), apart.clone(), apart])).unwrap();
    assert!(three.left_out[0].why.contains("numjobs=2, and 3 clones"), "{three:?}");
    group["job_runtime"] = json!(40_000);
    assert!(results(&document(&[group])).unwrap().left_out[0].why.contains("about 4 threads"));
}

#[test]
fn what_is_no_load_of_ours_is_told_and_the_rest_is_read() {
    let other = job("low", &json!({ "rw": "randread", "flow": "8" }), &[("read", direction())]);
    let never = job("never", &random_reads(), &[]);
    let mixed = job("mixed", &random_reads(), &[("read", direction()), ("write", direction())]);
    let taken = job("taken", &random_reads(), &[("read", direction())]);
    let read = results(&document(&[other, never, mixed, taken])).unwrap();
    let told: Vec<(&str, bool)> = read
        .left_out
        .iter()
        .zip(["flow", "no request", "group_reporting"])
        .map(|(out, word)| (out.name.as_str(), out.why.contains(word)))
        .collect();
    assert_eq!(told, [("low", true), ("never", true), ("mixed", true)]);
    assert_eq!(read.jobs[0].name, "taken");
}

#[test]
fn mixes_flushes_trims_and_rates_are_taken() {
    let options = json!({ "rw": "randrw", "bs": "4k", "iodepth": "8", "fsync": "10", "rate_iops": "200" });
    let mut mix = job("mix", &options, &[("read", direction()), ("write", direction())]);
    mix["sync"] = json!({ "total_ios": 100, "lat_ns": { "min": 5000, "max": 5000, "mean": 5000.0, "N": 100 } });
    let mixed = only(&document(&[mix]));
    assert_eq!(mixed.trial.of(Operation::Flush).map(|flush| (flush.count, flush.told.unwrap().max)), Some((100, 5000)));
    assert!(mixed.unknown.iter().any(|told| told.contains("not from when its rate wanted it")), "{:?}", mixed.unknown);
    let poisson = json!({ "rw": "randtrim", "bs": "4k", "rate_iops": "110", "rate_process": "poisson" });
    let open = only(&document(&[job("open", &poisson, &[("trim", direction())])]));
    assert_eq!((open.trial.offered_iops, open.trial.count()), (Some(110.0), 1000));
    // Of 1,020 that were to come on average, 1,000 may well be all.
    let near = json!({ "rw": "randtrim", "bs": "4k", "rate_iops": "102", "rate_process": "poisson" });
    let met = only(&document(&[job("open", &near, &[("trim", direction())])]));
    assert_eq!(met.trial.offered_iops, Some(100.0));
}

#[test]
fn an_error_ends_a_job_unless_it_was_to_go_on() {
    let mut failed = sample();
    failed["jobs"][0]["error"] = json!(5);
    let trial = only(&failed).trial;
    assert!(matches!(trial.ending, Ending::Failed(ref why) if why.contains("error 5")));
    assert_eq!(trial.errors.get(&ErrorKind::Io), Some(&1));
    failed["jobs"][0]["total_err"] = json!(12);
    let trial = only(&failed).trial;
    assert_eq!((trial.ending, trial.errors.get(&ErrorKind::Io)), (Ending::Complete, Some(&12)));
}

#[test]
fn a_job_that_ended_with_its_size_is_the_one_of_its_job_file() {
    let options = json!({ "rw": "randread", "bs": "4k", "iodepth": "8", "size": "4096000" });
    let mut document = document(&[job("a", &options, &[("read", direction())])]);
    document["global options"].as_object_mut().unwrap().remove("runtime");
    let job = only(&document);
    assert_eq!(job.spec.volume.map(loadline_units::Bytes::get), Some(4_096_000));
    document["jobs"][0]["job options"]["size"] = json!("1g");
    let cut = only(&document);
    assert_eq!((cut.spec.volume, cut.spec.duration), (None, Duration::from_s(10)));
}

#[test]
fn latencies_beyond_the_last_bucket_keep_their_largest() {
    let mut document = sample();
    document["jobs"][0]["read"]["clat_ns"] = json!({ "min": 1_000_000, "max": 30_000_000_000_u64, "mean": 31_000_000.0, "N": 1000,
                "bins": { "995328": 999, "17112760320": 1 } });
    let latency = only(&document).trial.of(Operation::Read).unwrap().latency.clone();
    assert_eq!(latency.max(), Some(Duration::from_s(30)));
    assert_eq!(latency.count(), 1000);
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let refused = |pointer: &str, value: Value, place: &str| {
        let mut document = sample();
        *document.pointer_mut(pointer).unwrap() = value;
        let error = results(&document).unwrap_err().to_string();
        assert!(error.starts_with("a.json: ") && error.contains(place), "{pointer}: {error}");
    };
    refused("/jobs/0/read/total_ios", json!(-1), "jobs[0].read.total_ios: -1 is negative");
    refused("/jobs/0/read/total_ios", json!(1e300), "more than can be");
    refused("/jobs/0/read/runtime", json!(1e14), "longer than any can be");
    refused("/jobs/0/read/runtime", json!("x"), "jobs[0].read.runtime: \"x\" is no number");
    refused("/jobs/0/read/io_bytes", json!(u64::MAX), "jobs[0].read.io_bytes");
    refused("/jobs/0/read/clat_ns/bins", json!({ "995328": 500, "x": 1 }), "bins.x: is no bucket");
    refused("/jobs/0/read/clat_ns/bins", json!({ "9223372036854775808": 500 }), "no latency is so long");
    refused("/jobs/0/read/clat_ns/bins", json!({ "995328": 500 }), "500 requests lie in the buckets, and N says 1000");
    refused("/jobs/0/read/clat_ns/bins", json!({ "995328": 500, "5998272": 500 }), "do not go from the least");
    refused("/jobs/0/read/clat_ns/bins/995328", json!(1.5), "no whole number");
    refused("/jobs/0/read/clat_ns/mean", json!(9e9), "does not lie between");
    refused("/jobs/0/read/clat_ns/min", json!(4_000_000), "does not lie between");
    refused("/jobs/0/read/clat_ns/max", json!(1e18), "longer than any latency can be");
    refused("/jobs/0/read/slat_ns/mean", json!(-2.0), "slat_ns.mean: -2.0 is negative");
    refused("/jobs/0/usr_cpu", json!(1e6), "no share of CPU time");
    refused("/jobs/0/jobname", Value::Null, "has no jobname");
    refused("/jobs", json!(7), "jobs: is no list");
    refused("/timestamp_ms", json!(1_u64 << 50), "no time before the year 10000");
}

#[test]
fn what_is_no_file_of_results_is_told_what_it_is() {
    let told = |text: &str| read(text, "a.json", 0).unwrap_err();
    assert!(matches!(told(" \n"), ImportError::Empty { .. }));
    assert!(matches!(told("[job]\nrw=read\n"), ImportError::Unknown { .. }));
    assert!(matches!(told("{\"a\": 1}"), ImportError::Unknown { .. }));
    assert!(matches!(told("{\"schema\": \"loadline.run/1\"}"), ImportError::OwnExport { .. }));
    let whole = serde_json::to_string_pretty(&sample()).unwrap();
    let cut = &whole[..whole.len() / 2];
    let lines = cut.matches('\n').count() + 2;
    let error = told(&format!("note: x\n{cut}"));
    assert!(matches!(error, ImportError::CutOff { line, .. } if line == lines), "{error} {lines}");
    let error = told("fio: hello\n{\n  \"iops\": nan\n}");
    assert!(matches!(error, ImportError::Syntax { line: 3, .. }), "{error}");
    assert!(told(&"[".repeat(100_000)).to_string().contains("no results of a form"));
    assert!(told(&"{\"a\":".repeat(100_000)).to_string().contains("is not JSON"));
}

#[test]
fn results_without_a_time_have_that_of_their_file() {
    let mut document = sample();
    for key in ["timestamp", "timestamp_ms"] {
        document.as_object_mut().unwrap().remove(key);
    }
    let read = read(&document.to_string(), "a", 1_600_000_000).unwrap();
    assert_eq!(read.jobs[0].trial.started_unix_s, 1_599_999_990);
    assert!(read.notes[0].contains("file's own time"));
}

#[test]
fn counters_of_the_one_device_are_taken_where_they_are_those_of_the_job() {
    let mut long = sample();
    long["jobs"][0]["read"]["runtime"] = json!(30_000);
    long["disk_util"] = json!([{ "name": "vdb", "read_ios": 1003, "write_ios": 2, "read_sectors": 8024, "write_sectors": 16,
        "read_merges": 1, "write_merges": 0, "read_ticks": 2000, "write_ticks": 3, "in_queue": 2003, "util": 50.0 }]);
    let devices = |document: &Value| only(document).trial.surroundings.devices;
    let found = devices(&long);
    assert_eq!((found[0].name.as_str(), found[0].reads, found[0].read_bytes), ("vdb", 1003, 8024 * 512));
    assert_eq!((found[0].queue_ms, found[0].busy_ms), (2003, 15_000));
    let mut older = long.clone();
    older["disk_util"][0].as_object_mut().unwrap().remove("read_sectors");
    assert_eq!(devices(&older), [], "requests without their bytes");
    let mut short = long.clone();
    short["jobs"][0]["read"]["runtime"] = json!(10_000);
    assert_eq!(devices(&short), []);
    let device = long["disk_util"][0].clone();
    long["disk_util"].as_array_mut().unwrap().push(device);
    assert_eq!(devices(&long), [], "of two it is not known which");
}

/// A direction whose rate has this many samples.
fn scattered(deviation: f64, samples: u64) -> Value {
    let mut direction = direction();
    direction["iops_mean"] = json!(100.0);
    direction["iops_stddev"] = json!(deviation);
    direction["iops_samples"] = json!(samples);
    direction
}

fn scatter_of(jobs: &[Value]) -> Option<(u64, f64)> {
    only(&document(jobs)).trial.told_scatter.map(|scatter| (scatter.samples, scatter.deviation_iops))
}

#[test]
fn how_the_rate_scattered_from_sample_to_sample_is_kept() {
    let of_one = |direction: Value| scatter_of(&[job("a", &random_reads(), &[("read", direction)])]);
    assert_eq!(of_one(scattered(5.0, 20)), Some((20, 5.0)));
    assert_eq!(of_one(scattered(5.0, 1)), None, "one sample scatters by nothing");
    assert_eq!(of_one(direction()), None, "older versions do not tell");
    let refused = results(&document(&[job("a", &random_reads(), &[("read", scattered(-5.0, 20))])])).unwrap_err();
    assert!(refused.to_string().contains("iops_stddev"), "{refused}");
}

#[test]
fn parts_of_a_load_scatter_as_if_they_rose_and_fell_together() {
    let mix = json!({ "rw": "randrw", "bs": "4k", "iodepth": "8" });
    let directions = [("read", scattered(5.0, 20)), ("write", scattered(3.0, 19))];
    assert_eq!(scatter_of(&[job("a", &mix, &directions)]), Some((19, 8.0)));
    let half_told = [("read", scattered(5.0, 20)), ("write", direction())];
    assert_eq!(scatter_of(&[job("a", &mix, &half_told)]), None, "nothing is told of the writes");

    let options = json!({ "rw": "randread", "bs": "4k", "iodepth": "8", "numjobs": "2" });
    let clones = [5.0, 7.0].map(|deviation| job("a", &options, &[("read", scattered(deviation, 20))]));
    assert_eq!(scatter_of(&clones), Some((20, 12.0)), "reported apart");
    // Together: fio puts the samples of all threads after one another, and the deviation is that of one.
    let mut group = job("a", &options, &[("read", scattered(6.0, 40))]);
    group["job_runtime"] = json!(20_000);
    assert_eq!(scatter_of(&[group]), Some((20, 12.0)));
}
