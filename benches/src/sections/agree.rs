//! Whether fio and loadline measure the same on the same device, compared with fio against itself.

use crate::bench::{Bench, Runs, Sample, Tool, of};
use crate::job::{Job, Pace, Target};
use crate::placement::{Placed, Placement};
use crate::stage::{FileOnExt4, Loop, MemoryDisk, Throttle};
use crate::statistics::{MedianSpread, against_itself, is_within, ratios};
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_units::Iops;

const TOOLS: [Tool; 3] = [Tool::FioDefault, Tool::FioBest, Tool::Loadline];

/// The kernel's throttle for a device with a known maximum.
const THROTTLED_TO: u64 = 10_000;

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut tables = Tables {
        agreement: FigureTable::new(
            "agree: loadline over fio, beside each run of fio over the one before it; 4 KiB random reads",
            &["", "figure", "loadline / fio", "fio / fio", "within", "loadline / fio tuned", "tuned / tuned", "within"],
        ),
        device: FigureTable::new(
            "agree: from submitted to completed on average, as the kernel counts it, and what each tool adds to it, us",
            &["", "fio", "adds", "fio tuned", "adds", "loadline", "adds"],
        ),
    };
    // Like a device: the answering thread is on another processor than the load.
    let placement = Placement::all(bench.arguments.as_scheduled).last().copied().unwrap_or(Placement::AsScheduled);
    let obstacle = Placement::obstacle();
    let _placed = Placed::new(placement)?;
    let disk = MemoryDisk::new(bench.size, &bench.stop)?;
    let target = Target::Device(disk.device.node.clone());
    let rates = closed_loops(bench, &mut tables, &target)?;
    half_of_a_known_most(bench, &mut tables, &target, &disk.device)?;
    // Half of the rate of one request at a time, and half of the highest.
    let most = rates.iter().copied().fold(0.0, f64::max);
    for (of, rate) in [("depth 1", rates.first().copied().unwrap_or(most)), ("the most", most)] {
        let job = job(bench, &target, Pace::Constant(half(rate)?));
        compare(bench, &mut tables, &job, &format!("{}, half of {of}", job.name()))?;
    }
    drop(disk);
    let file = FileOnExt4::new(bench.size, &bench.stop)?;
    let target = Target::File(file.path());
    closed_loops(bench, &mut tables, &target)?;
    half_of_a_known_most(bench, &mut tables, &target, &file.device)?;
    drop(file);
    let Tables { mut agreement, mut device } = tables;
    match obstacle {
        None => agreement.note(format!("Where the kernel's threads run beside the tools: {}.", placement.name())),
        Some(why) => agreement.note(format!("The kernel's threads run where the scheduler puts them: {why}.")),
    }
    agreement.note(
        "In an open loop fio waits for all that is in flight before it waits for the next to be due, then hands over what fell \
         due meanwhile: where requests come closer than they are answered, its load comes in bursts, the kernel's mean with it.",
    );
    agreement.note(
        "loadline sleeps until it is woken here (--wait asleep), as fio does: else it waits awake where that brings more answers, and \
         says of these devices what nobody sees who sleeps.",
    );
    agreement.note(
        "Latency: fio's total latency, submission included; loadline's from submitted to completed. fio divides by whole ms: its \
         rates of open loops lie below what was asked for by as much as one of them, and within is what no more than that is off.",
    );
    agreement.note(
        "A goal for IOPS and p50 each: within for either fio, for each works its own way (batches, CPU per request).",
    );
    device.note("Adds: the mean that the tool tells, less the kernel's: handing over, and the time for which an answer lies there until");
    device.note("the tool looks. A median that differs where the kernel counts the same is the tool's. No goal: how a tool uses the");
    device.note("processors moves the device's own mean, too.");
    bench.print(agreement)?;
    bench.print(device)
}

/// The agreement, and the kernel's view of it.
struct Tables {
    agreement: FigureTable,
    device: FigureTable,
}

/// Half of `rate`.
fn half(rate: f64) -> Result<Iops> {
    Iops::per_second((rate / 2.0) as u64).context("fio did nothing")
}

/// Rows for `target` in closed loops; gives fio's rates.
fn closed_loops(bench: &mut Bench, tables: &mut Tables, target: &Target) -> Result<Vec<f64>> {
    let mut rates = Vec::new();
    for depth in [1, 32, 128] {
        let job = job(bench, target, Pace::Depth(depth));
        let runs = compare(bench, tables, &job, &job.name())?;
        rates.extend(of(&runs, Tool::FioDefault).map(Runs::rate));
    }
    Ok(rates)
}

/// Rows for `target` in open loops, at half of the kernel's throttle for its `device`.
fn half_of_a_known_most(bench: &mut Bench, tables: &mut Tables, target: &Target, device: &Loop) -> Result<()> {
    if let Some(obstacle) = Throttle::obstacle() {
        tables.agreement.note(format!("No rows of a {} whose most is known: {obstacle}.", target.name()));
        return Ok(());
    }
    let throttle = Throttle::reads(device, Iops::per_second(THROTTLED_TO).context("not zero")?)?;
    let rate = half(THROTTLED_TO as f64)?;
    for (pace, arrivals) in [(Pace::Constant(rate), "evenly"), (Pace::Poisson(rate), "Poisson")] {
        let job = Job { group: Some(throttle.group.clone()), ..job(bench, target, pace) };
        let name = format!("{} held to {THROTTLED_TO}/s, half of it, {arrivals}", target.name());
        compare(bench, tables, &job, &name)?;
    }
    Ok(())
}

/// Rows for one job.
fn compare(bench: &mut Bench, tables: &mut Tables, job: &Job, name: &str) -> Result<Vec<Runs>> {
    let runs = bench.interleaved(&TOOLS, job)?;
    rows(bench, &mut tables.agreement, name, &runs)?;
    if matches!(job.target, Target::Device(_)) {
        at_device(bench, &mut tables.device, name, &runs);
    }
    Ok(runs)
}

/// The kernel's time in the device under each tool, and the tools' time beyond it.
fn at_device(bench: &Bench, table: &mut FigureTable, name: &str, runs: &[Runs]) {
    let us = |sample: &Sample| sample.device_mean_ns.unwrap_or(f64::NAN) / 1e3;
    let told = |sample: &Sample| {
        sample.told.service_mean_ns.or(sample.told.latency_mean_ns).unwrap_or(f64::NAN) / 1e3 - us(sample)
    };
    let shown = |figures: &[f64]| MedianSpread::of(figures).map_or("-".to_owned(), |spread| spread.to_string());
    let mut row = vec![name.to_owned()];
    for tool in TOOLS {
        let runs = of(runs, tool);
        row.extend([
            shown(&runs.map_or(Vec::new(), |r| r.figures(us))),
            shown(&runs.map_or(Vec::new(), |r| r.figures(told))),
        ]);
    }
    table.row(bench.marked(row));
}

fn job(bench: &Bench, target: &Target, pace: Pace) -> Job {
    Job { with_submission: true, asleep: true, ..Job::new(target.clone(), Operation::Read, pace, bench.time()) }
}

fn rows(bench: &mut Bench, table: &mut FigureTable, name: &str, runs: &[Runs]) -> Result<()> {
    let p50 = |sample: &Sample| {
        let whole = sample.told.latency.map(|latency| latency.p50);
        sample.told.service_p50.or(whole).map_or(0.0, |span| span.as_ns() as f64)
    };
    let rate = |sample: &Sample| sample.told.requests_per_s;
    let ours = of(runs, Tool::Loadline).context("loadline ran")?;
    // fio reports its run time in whole milliseconds, and divides by that.
    let resolution = 0.001 / bench.arguments.length.as_s_f64();
    for (what, figure, resolution) in [("IOPS", &rate as &dyn Fn(&Sample) -> f64, resolution), ("p50", &p50, 0.0)] {
        let mut row = vec![name.to_owned(), what.to_owned()];
        let mut within = false;
        for tool in [Tool::FioDefault, Tool::FioBest] {
            let theirs = of(runs, tool).context("fio ran")?.figures(figure);
            let own = against_itself(&theirs);
            let shown = |spread: Option<MedianSpread>| spread.map_or("-".to_owned(), |spread| spread.to_string());
            let ratio = MedianSpread::of(&ratios(&ours.figures(figure), &theirs));
            let agrees = ratio.is_some_and(|ratio| is_within(ratio.median, &own, resolution));
            within |= agrees;
            row.extend([shown(ratio), shown(MedianSpread::of(&own)), if agrees { "yes" } else { "no" }.to_owned()]);
        }
        let what = format!("agreement, {name}, {what} (1 for yes)");
        bench.verdicts.judge(&what, f64::from(u8::from(within)), Goal::AtLeast(1.0));
        table.row(bench.marked(row));
    }
    Ok(())
}
