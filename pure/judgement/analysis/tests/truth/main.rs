//! Runs whose truth is known: what each shows, and what must not be said of it.

mod drawn;
mod holders;
mod levels;
mod live;
mod shared;
mod throttles;

use loadline_analysis::example::{self, ExampleDisk, closed};
use loadline_analysis::{Binding, Limit, RunSummary, summarize};
use loadline_block::Operation;
use loadline_record::{CellRecord, LoadFigures, RunRecord};
use loadline_units::Duration;

const KIB: u64 = 1 << 10;

/// Random reads of 4 KiB for so many seconds.
fn reads(depth: u32, seconds: u64) -> LoadFigures {
    LoadFigures { duration_ns: seconds * 1_000_000_000, ..closed("random", 1.0, 4 * KIB, depth) }
}

/// A closed loop at this rate: as many requests in each second, which take as long as the depth makes them.
fn even(load: LoadFigures, rate: f64) -> CellRecord {
    let counts = vec![rate as u64; (load.duration_ns / 1_000_000_000) as usize];
    counted(load, &counts)
}

/// A closed loop with so many requests in each second, all of which take about as long.
fn counted(load: LoadFigures, seconds: &[u64]) -> CellRecord {
    let rate = seconds.iter().sum::<u64>() as f64 / seconds.len() as f64;
    let disk = ExampleDisk { latency_ns: 1.0, iops: rate, bytes_per_s: f64::MAX };
    let depth = f64::from(load.queue_depth.unwrap_or(1) * load.threads);
    let operation = if load.read_ratio >= 0.5 { Operation::Read } else { Operation::Write };
    let block = load.block_bytes;
    let mut cell = example::cell(load, &disk, &[1.0]);
    let trial = &mut cell.trials[0];
    for (second, count) in trial.series.seconds.iter_mut().zip(seconds) {
        let of = &mut second.operations[operation.index()];
        (of.count, of.bytes) = (*count, count * block);
    }
    let record = trial.operations.get_mut(&operation).expect("asked");
    record.count = seconds.iter().sum();
    record.bytes = record.count * block;
    record.latency = around(record.count, depth * 1e9 / rate, 0.002);
    cell
}

/// So many latencies evenly within this share of a mean.
fn around(count: u64, mean_ns: f64, share: f64) -> loadline_record::Histogram {
    let mut all = loadline_record::Histogram::new();
    for i in 0..count {
        let at = mean_ns * (1.0 - share + 2.0 * share * (i as f64 + 0.5) / count as f64);
        all.record(Duration::from_ns(at as u64));
    }
    all
}

fn bindings(summary: &RunSummary) -> Vec<&Binding> {
    summary.cells.iter().map(|cell| cell.binding.as_ref().expect("measured")).collect()
}

fn limits(record: &RunRecord) -> Vec<Limit> {
    bindings(&summarize(record)).iter().map(|binding| binding.limit).collect()
}
