//! fio's normal text and its terse form.

use crate::{Results, read};
use loadline_block::Operation;
use loadline_record::DoubtCode;

macro_rules! kept {
    ($name:literal) => {
        read(include_str!(concat!("../../../tests/corpus/", $name)), $name, 1_000_000_000).unwrap()
    };
}

fn counts(results: &Results) -> Vec<(u64, u64)> {
    assert_eq!(results.left_out, []);
    let of = |job: &crate::Job, operation| job.trial.of(operation).map_or(0, |record| record.count);
    results.jobs.iter().map(|job| (of(job, Operation::Read), of(job, Operation::Write))).collect()
}

#[test]
fn normal_text_has_its_load_and_every_printed_figure() {
    let results = kept!("fio-normal.txt");
    assert_eq!((results.tool.as_str(), results.version.as_deref()), ("fio", Some("3.36")));
    let job = &results.jobs[0];
    let record = job.trial.of(Operation::Read).unwrap();
    let figures = record.figures().unwrap();
    assert_eq!((job.trial.iops(), job.trial.bytes_per_s()), (Some(2000.0), Some(8_192_000.0)));
    assert_eq!((figures.mean, figures.min, figures.max), (3_900_000.0, Some(80_000), 40_000_000));
    let percentiles = [figures.p50, figures.p90, figures.p95, figures.p99, figures.p99_9, figures.p99_99];
    assert_eq!(percentiles, [3_510, 6_000, 7_800, 11_700, 19_530, 38_000].map(|us| Some(us * 1_000)));
    assert_eq!((job.spec.outstanding(), job.trial.engine.name.name()), (Some(8), "libaio"));
    let scatter = job.trial.told_scatter.unwrap();
    assert_eq!((scatter.samples, scatter.deviation_iops), (20, 20.0));
    assert_eq!(job.span_ms.1, 1_714_979_289_000);
    assert!(job.unknown.iter().any(|sentence| sentence.contains("direct=1")), "{:?}", job.unknown);
}

#[test]
fn what_fio_3_33_printed_is_what_its_json_would_have_said() {
    assert_eq!(counts(&kept!("fio/clientnormal.txt")), [(19_558, 0)]);
    let mix = kept!("fio/normalmix.txt");
    assert_eq!(counts(&mix), [(11_448 + 11_280, 11_407 + 11_465)], "two clones that are reported apart");
    let write = mix.jobs[0].trial.of(Operation::Write).unwrap().figures().unwrap();
    assert_eq!(
        (write.min, write.max, write.p99),
        (Some(5_000), 36_241_000, None),
        "clones have no percentiles together"
    );
    let group = kept!("fio/normalgrp.txt");
    assert_eq!((counts(&group), group.jobs[0].spec.threads), (vec![(835, 908)], 2));
    let read = group.jobs[0].trial.of(Operation::Read).unwrap().figures().unwrap();
    // Each line has a unit of its own.
    assert_eq!((read.min, read.mean, read.p50, read.p99), (Some(4_000), 3_210_670.0, Some(379_000), Some(20_055_000)));
    assert!(group.jobs[0].trial.doubts.iter().all(|doubt| doubt.code != DoubtCode::OtherLoad));
    assert_eq!(kept!("fio/normal.txt").jobs.len(), 1);
}

#[test]
fn a_terse_line_behind_its_announcement_has_that_load() {
    let own = include_str!("../../../tests/corpus/fio/terse3.txt");
    let line = own.lines().find(|line| line.starts_with("3;")).unwrap();
    let name = line.split(';').nth(2).unwrap();
    let text = format!(
        "{name}: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=4\nfio-3.32\nStarting 1 process\n{line}\n"
    );
    let spec = |text: &str| read(text, "f", 0).unwrap().jobs.remove(0).spec;
    let (told, alone) = (spec(&text), spec(line));
    assert!(format!("{:?}", told.pattern).starts_with("Sequential") && told.blocks[0].size.get() == 4096, "{told:?}");
    assert_ne!(told.pattern, alone.pattern);
}

#[test]
fn what_a_log_or_a_quotation_puts_before_each_line_changes_nothing() {
    for own in
        [include_str!("../../../tests/corpus/fio/normal.txt"), include_str!("../../../tests/corpus/fio/terse3.txt")]
    {
        let known = read(own, "f", 0).unwrap();
        for before in ["> ", "    ", "2026-11-30T05:36:12.1234567Z "] {
            let text: String = own.lines().flat_map(|line| [before, line, "\n"]).collect();
            assert_eq!(format!("{:?}", read(&text, "f", 0).unwrap().jobs), format!("{:?}", known.jobs), "{before:?}");
        }
    }
}

#[test]
fn the_terse_form_of_every_version_is_taken() {
    let rates = |results: &Results| results.jobs[0].trial.iops().unwrap().round();
    let three = kept!("fio/terse3.txt");
    let figures = three.jobs[0].trial.of(Operation::Read).unwrap().figures().unwrap();
    assert_eq!(
        (rates(&three), three.jobs[0].trial.bytes(), three.version.as_deref()),
        (8609.0, 34_540 * 1024, Some("3.33"))
    );
    assert_eq!(
        (figures.min, figures.max, figures.p50, figures.p99_99),
        (Some(4_000), 22_002_000, Some(158_000), Some(21_889_000))
    );
    assert_eq!(format!("{:.3}", figures.mean / 1e3), "347.911");
    assert_eq!((three.jobs[0].spec.outstanding(), three.jobs[0].spec.blocks[0].size.get()), (Some(4), 4096));
    assert_eq!((rates(&kept!("fio/terse2.txt")), rates(&kept!("fio/terse4.txt"))), (13_908.0, 9389.0));
    let five = kept!("fio/terse5.txt");
    let of = |operation| five.jobs[0].trial.of(operation).unwrap();
    let rate = |operation| (of(operation).count as f64 / 1.002).round();
    assert_eq!((rate(Operation::Read), rate(Operation::Write)), (6364.0, 6400.0));
    assert_eq!(of(Operation::Write).figures().unwrap().p99_9, Some(21_626_000));
    assert_eq!(five.jobs[0].trial.engine.name.name(), "not told");
    assert!(five.jobs[0].unknown.iter().any(|sentence| sentence.contains("does not tell what was asked")));
}

#[test]
fn older_versions_write_their_text_otherwise() {
    let text = "a: (g=0): rw=randwrite, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=16\nfio-2.2.10\nStarting 1 process\n\n\
        a: (groupid=0, jobs=1): err= 0: pid=7: Mon May  6 07:08:09 2016\n  write: io=78.125MB, bw=8000.0KB/s, iops=2000, runt= 10000msec\n\
        \x20   clat (usec): min=80, max=40000, avg=3900.10, stdev=1300.00\n    clat percentiles (usec):\n     | 50.00th=[ 3510], 99.00th=[11700]\n\
        \x20    issued    : total=r=0/w=20000/d=0, short=r=0/w=0/d=0\n";
    let results = read(text, "old", 0).unwrap();
    assert_eq!((counts(&results), results.jobs[0].trial.bytes()), (vec![(0, 20_000)], 81_920_000));
    let comma = text.replace("avg=3900.10", "avg=x");
    assert!(read(&comma, "old", 0).unwrap_err().to_string().contains("line 7"));
}

#[test]
fn of_reports_at_intervals_the_last_of_each_job_counts() {
    let one = kept!("fio/status-interval.txt");
    assert_eq!(one.jobs.len(), 1);
    assert_eq!((one.jobs[0].spec.threads, one.jobs[0].trial.iops().unwrap().round()), (1, 1999.0));
    let two = kept!("fio/status-interval-two.txt");
    let found: Vec<(&str, u64)> = two.jobs.iter().map(|job| (job.name.as_str(), job.trial.count())).collect();
    assert_eq!(found, [("first", 1500), ("second", 1500)]);
}
