//! What users bring, in sizes 100, 1,000 and 10,000: how the time for it grows with jobs, cells and runs; without a peer.

use crate::bench::Bench;
use crate::table::FigureTable;
use anyhow::Result;
use loadline_analysis::example::{ExampleDisk, cell, closed, run as record_of};
use loadline_record::{CellRecord, RunRecord};
use loadline_store::{Filter, Store};
use loadline_workload::{Plan, fio_jobs};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// A kind of work whose amount a user decides.
type Work = (&'static str, fn(usize) -> Result<f64>);

const WORK: [Work; 8] = [
    ("fio jobs at the same time, joined", |count| {
        timed(&joined(count), |text| black_box(fio_jobs(text, "jobs").is_ok()))
    }),
    ("fio jobs one after the other", |count| {
        timed(&one_by_one(count), |text| black_box(fio_jobs(text, "jobs").is_ok()))
    }),
    ("loads of a plan", |count| timed(&plan(count), |text| black_box(Plan::parse(text, "plan").is_ok()))),
    ("results of fio's, read", |count| {
        timed(&results(count), |text| black_box(loadline_imported::read(text, "fio", 0).is_ok()))
    }),
    ("cells of one kind of load, summarized", |count| {
        timed(&one_kind(count), |record| black_box(!loadline_analysis::summarize(record).cells.is_empty()))
    }),
    ("cells of a matrix, summarized", |count| {
        timed(&matrix(count), |record| black_box(!loadline_analysis::summarize(record).cells.is_empty()))
    }),
    ("cells of a matrix, their limits listed", |count| {
        timed(&matrix(count), |record| black_box(!loadline_analysis::limits(record).is_empty()))
    }),
    ("runs in a store, listed", runs_listed),
];

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "growth: seconds for what a user brings, and the factor from one size to the next, ten times as large",
        &["", "100", "1,000", "factor", "10,000", "factor"],
    );
    for (what, work) in WORK {
        let sizes = if bench.arguments.quick { &SIZES[..2] } else { &SIZES[..] };
        let times = sizes.iter().map(|size| work(*size)).collect::<Result<Vec<f64>>>()?;
        let time = |place: usize| times.get(place).map_or("-".to_owned(), |seconds| format!("{seconds:.4}"));
        let factor = |place: usize| {
            times.get(place).map_or("-".to_owned(), |seconds| format!("{:.0}", seconds / times[place - 1].max(1e-9)))
        };
        table.row(vec![what.to_owned(), time(0), time(1), factor(1), time(2), factor(2)]);
    }
    table.note("10 is linear growth, 100 quadratic, 1,000 cubic.");
    bench.print(table)
}

fn timed<T>(input: &T, work: impl Fn(&T) -> bool) -> Result<f64> {
    let begun = Instant::now();
    anyhow::ensure!(work(input), "the work failed");
    Ok(begun.elapsed().as_secs_f64())
}

/// Jobs of which each runs with the next 100.
fn joined(count: usize) -> String {
    let mut text = String::from("[global]\nrw=randread\nsize=1m\nfilename=/dev/null\n");
    for number in 0..count {
        let waits = if number % 100 == 0 { "stonewall\n" } else { "" };
        let _ = write!(text, "[job{number}]\n{waits}");
    }
    text
}

fn one_by_one(count: usize) -> String {
    let mut text = String::from("[global]\nrw=randread\nsize=1m\nstonewall\nfilename=/dev/null\n");
    for number in 0..count {
        let _ = write!(text, "[job{number}]\niodepth={}\n", 1 + number % 64);
    }
    text
}

fn plan(count: usize) -> String {
    let mut text = String::from("schema = 1\nname = \"many\"\n");
    for number in 0..count {
        let _ = write!(text, "[[load]]\nqueue_depth = {}\n", 1 + number % 64);
    }
    text
}

fn results(count: usize) -> String {
    let job = |number: usize| {
        let requests = 90_000 + number;
        serde_json::json!({
            "jobname": format!("j{number}"), "groupid": number, "error": 0, "elapsed": 31, "job_runtime": 30_000,
            "job options": {"rw": "randread", "bs": "4k", "iodepth": (1 + number % 64).to_string(), "ioengine": "libaio",
                            "direct": "1", "runtime": "30", "filename": "/dev/sdb"},
            "read": {"io_bytes": requests * 4096, "iops": requests as f64 / 30.0, "runtime": 30_000, "total_ios": requests,
                     "clat_ns": {"min": 1_000_000, "max": 42_000_000, "mean": 10_600_000.0, "N": requests,
                                 "percentile": {"50.000000": 10_000_000, "99.000000": 21_000_000}},
                     "iops_stddev": 90.0, "iops_samples": 60},
        })
    };
    let jobs: Vec<_> = (0..count).map(job).collect();
    serde_json::json!({"fio version": "fio-3.36", "timestamp": 1_700_000_000, "jobs": jobs}).to_string()
}

fn numbered(cells: impl Iterator<Item = CellRecord>) -> RunRecord {
    let numbered = cells.enumerate().map(|(number, cell)| CellRecord { id: format!("cell-{number}"), ..cell });
    record_of(numbered.collect())
}

/// Cells that differ in depth alone, from few requests to many that wait.
fn one_kind(count: usize) -> RunRecord {
    let of =
        |number: usize| cell(closed("random", 1.0, 4096, 1 + (number % 64) as u32), &ExampleDisk::default(), &[1.0]);
    numbered((0..count).map(of))
}

fn matrix(count: usize) -> RunRecord {
    let of = |number: usize| {
        let pattern = if number.is_multiple_of(2) { "random" } else { "sequential" };
        let reads = if (number / 2).is_multiple_of(2) { 1.0 } else { 0.0 };
        let (block, depth) = (4096_u64 << (number / 4 % 8), 1 + (number / 32 % 64) as u32);
        cell(closed(pattern, reads, block, depth), &ExampleDisk::default(), &[1.0])
    };
    numbered((0..count).map(of))
}

fn runs_listed(count: usize) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let store = Store::open(&folder.path().join("store.db"))?;
    let record = one_kind(1);
    // Each commit waits for the disk; a hundredth of the runs shows as much.
    let count = count / 100;
    for number in 0..count {
        let mut record = record.clone();
        record.header.id = format!("run-{number}");
        store.add_run(&record)?;
    }
    timed(&store, |store| store.list(&Filter::default()).is_ok_and(|lines| lines.len() == count))
}
