//! Whether fio and loadline say the same of the same device, beside how far fio agrees with itself.

use crate::bench::{Bench, Runs, Sample, Tool, of};
use crate::job::{Job, Pace, Target};
use crate::placement::{Placed, Placement};
use crate::stage::MemoryDisk;
use crate::statistics::{Spread, against_itself, is_within, ratios};
use crate::table::{Goal, Table};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_units::Iops;

const TOOLS: [Tool; 3] = [Tool::FioDefault, Tool::FioBest, Tool::Loadline];

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut table = Table::new(
        "agree: loadline over fio, beside each run of fio over the one before it; loop device, 4 KiB random reads",
        &["", "figure", "loadline / fio", "fio / fio", "within", "loadline / fio tuned", "tuned / tuned", "within"],
    );
    let mut device = Table::new(
        "agree: from submitted to completed on average, as the kernel counts it, and what each tool adds to it, us",
        &["", "fio", "adds", "fio tuned", "adds", "loadline", "adds"],
    );
    let disk = MemoryDisk::new(bench.size, &bench.stop)?;
    let target = Target::Device(disk.device.node.clone());
    // As a device is: what answers is not where the load is.
    let placement = Placement::all(bench.arguments.as_scheduled).last().copied().unwrap_or(Placement::AsScheduled);
    let obstacle = Placement::obstacle();
    let _placed = Placed::new(placement)?;
    let mut rates = Vec::new();
    for depth in [1, 32, 128] {
        let job = job(bench, &target, Pace::Depth(depth));
        let runs = bench.interleaved(&TOOLS, &job)?;
        rates.extend(of(&runs, Tool::FioDefault).map(Runs::rate));
        rows(bench, &mut table, &job, &runs)?;
        at_device(bench, &mut device, &job, &runs);
    }
    // Half of what one request at a time comes to, which fio follows while it looks for answers, and half of the most.
    let most = rates.iter().copied().fold(0.0, f64::max);
    for rate in [rates.first().copied().unwrap_or(most), most] {
        let half = Iops::per_second((rate / 2.0) as u64).context("fio did nothing")?;
        let job = job(bench, &target, Pace::Constant(half));
        let runs = bench.interleaved(&TOOLS, &job)?;
        rows(bench, &mut table, &job, &runs)?;
        at_device(bench, &mut device, &job, &runs);
    }
    match obstacle {
        None => table.note(format!("Where the kernel's threads run beside the tools: {}.", placement.name())),
        Some(why) => table.note(format!("The kernel's threads run where the scheduler puts them: {why}.")),
    }
    table.note(
        "In an open loop fio takes completions in when its queue is full, or after it slept until the next is due; tuned here, \
         after each request as well, which it can do some ten thousand times a second.",
    );
    table.note("Latency: fio's total latency, submission included; loadline's from submitted to completed.");
    table.note(
        "A goal for IOPS and p50 each: within for either fio, for each works its own way (batches, CPU per request).",
    );
    device.note("Adds: the mean that the tool tells, less the kernel's: handing over, and the time for which an answer lies there until");
    device.note("the tool looks. A median that differs where the kernel counts the same is the tool's. No goal: how a tool uses the");
    device.note("processors moves the device's own mean, too.");
    bench.print(table)?;
    bench.print(device)
}

/// What the kernel says of the device under each tool, and what the tools say beyond it.
fn at_device(bench: &Bench, table: &mut Table, job: &Job, runs: &[Runs]) {
    let us = |sample: &Sample| sample.device_mean_ns.unwrap_or(f64::NAN) / 1e3;
    let told = |sample: &Sample| {
        sample.told.service_mean_ns.or(sample.told.latency_mean_ns).unwrap_or(f64::NAN) / 1e3 - us(sample)
    };
    let shown = |figures: &[f64]| Spread::of(figures).map_or("-".to_owned(), |spread| spread.to_string());
    let mut row = vec![job.name()];
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
    Job { with_submission: true, ..Job::new(target.clone(), Operation::Read, pace, bench.time()) }
}

fn rows(bench: &mut Bench, table: &mut Table, job: &Job, runs: &[Runs]) -> Result<()> {
    let p50 = |sample: &Sample| {
        let whole = sample.told.latency.map(|latency| latency.p50);
        sample.told.service_p50.or(whole).map_or(0.0, |span| span.as_ns() as f64)
    };
    let rate = |sample: &Sample| sample.told.requests_per_s;
    let ours = of(runs, Tool::Loadline).context("loadline ran")?;
    for (name, figure) in [("IOPS", &rate as &dyn Fn(&Sample) -> f64), ("p50", &p50)] {
        let mut row = vec![job.name(), name.to_owned()];
        let mut within = false;
        for tool in [Tool::FioDefault, Tool::FioBest] {
            let theirs = of(runs, tool).context("fio ran")?.figures(figure);
            let own = against_itself(&theirs);
            let shown = |spread: Option<Spread>| spread.map_or("-".to_owned(), |spread| spread.to_string());
            let ratio = Spread::of(&ratios(&ours.figures(figure), &theirs));
            let agrees = ratio.is_some_and(|ratio| is_within(ratio.median, &own));
            within |= agrees;
            row.extend([shown(ratio), shown(Spread::of(&own)), if agrees { "yes" } else { "no" }.to_owned()]);
        }
        let what = format!("agreement, {}, {name} (1 for yes)", job.name());
        bench.verdicts.judge(&what, f64::from(u8::from(within)), Goal::AtLeast(1.0));
        table.row(bench.marked(row));
    }
    Ok(())
}
