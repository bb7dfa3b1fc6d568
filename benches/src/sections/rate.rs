//! Requests per second and user CPU per request in a closed loop, on a loop device over memory and on a cached file.

use crate::bench::{Bench, Runs, Tool, of};
use crate::job::{Job, Pace, Target};
use crate::placement::{Placed, Placement};
use crate::stage::{FileOnExt4, MemoryDisk};
use crate::statistics::{Spread, median, ratios};
use crate::table::{Goal, Table};
use anyhow::{Context, Result};
use loadline_block::Operation;

const DEPTHS: [u32; 3] = [1, 32, 128];
const TOOLS: [Tool; 4] = [Tool::FioDefault, Tool::FioBest, Tool::Peak, Tool::Loadline];

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut rates = Table::new(
        "rate: thousands of requests per second; loadline over the better fio and over t/io_uring",
        &["4 KiB random", "fio", "fio tuned", "t/io_uring", "loadline", "/ better fio", "", "/ t/io_uring", ""],
    );
    let mut costs = Table::new(
        "rate: user CPU per request in us; loadline over fio and over fio tuned",
        &["4 KiB random", "fio", "fio tuned", "t/io_uring", "loadline", "/ fio", "", "/ fio tuned", ""],
    );
    {
        let disk = MemoryDisk::new(bench.size, &bench.stop)?;
        for placement in Placement::all(bench.arguments.as_scheduled) {
            let target = Target::Device(disk.device.node.clone());
            rows(bench, &target, *placement, &mut rates, &mut costs)?;
        }
    }
    {
        let file = FileOnExt4::new(bench.size, &bench.stop)?;
        // Writing back is the kernel's work, beside the tool's.
        let placement = Placement::all(bench.arguments.as_scheduled).last().copied().unwrap_or(Placement::AsScheduled);
        rows(bench, &Target::CachedFile(file.path()), placement, &mut rates, &mut costs)?;
    }
    rates.note("Goals: at least 1 over the better fio, 0.9 over t/io_uring (reads only; it measures latency, too).");
    if let Some(why) = Placement::obstacle() {
        rates.note(format!("Tools and the kernel's threads run where the scheduler puts them: {why}."));
    }
    costs.note("Goals: at most 1/3 of fio at depth 1, from depth 32 on 1/5 of fio and 1/2 of fio tuned.");
    costs.note("Start-up (a run of one request) is subtracted; t/io_uring has none to speak of.");
    rates.print();
    costs.print();
    Ok(())
}

fn rows(bench: &mut Bench, target: &Target, placement: Placement, rates: &mut Table, costs: &mut Table) -> Result<()> {
    let _placed = Placed::new(placement)?;
    for operation in [Operation::Read, Operation::Write] {
        for depth in DEPTHS {
            let job = Job::new(target.clone(), operation, Pace::Depth(depth), bench.time());
            let name = format!("{}, {}", job.name(), placement.name());
            let runs = bench.interleaved(&TOOLS, &job)?;
            let ours = of(&runs, Tool::Loadline).context("loadline ran")?;
            rates.row(rate_row(bench, &name, &runs, ours));
            costs.row(cost_row(bench, &name, depth, &runs, ours));
        }
    }
    Ok(())
}

/// The spread of the ratios of `ours` to `theirs`, and the mark of its median.
fn against(bench: &mut Bench, what: &str, goal: Goal, ours: &[f64], theirs: &[f64]) -> [String; 2] {
    match Spread::of(&ratios(ours, theirs)) {
        Some(spread) => {
            let mark = bench.verdicts.judge(what, spread.median, goal);
            [spread.to_string(), mark.to_owned()]
        }
        None => ["-".to_owned(), String::new()],
    }
}

fn rate_row(bench: &mut Bench, name: &str, runs: &[Runs], ours: &Runs) -> Vec<String> {
    let shown = |tool| of(runs, tool).map_or("-".to_owned(), |runs| format!("{:.1}", runs.rate() / 1e3));
    let mut row = vec![name.to_owned()];
    row.extend(TOOLS.map(shown));
    let fio = [Tool::FioDefault, Tool::FioBest].iter().filter_map(|tool| of(runs, *tool));
    let better = fio.max_by(|a, b| a.rate().total_cmp(&b.rate())).map(Runs::rates).unwrap_or_default();
    let what = format!("rate, {name}, over the better fio");
    row.extend(against(bench, &what, Goal::AtLeast(1.0), &ours.rates(), &better));
    match of(runs, Tool::Peak) {
        Some(peak) => {
            let what = format!("rate, {name}, over t/io_uring");
            row.extend(against(bench, &what, Goal::AtLeast(0.9), &ours.rates(), &peak.rates()));
        }
        None => row.extend(["-".to_owned(), String::new()]),
    }
    row
}

fn cost_row(bench: &mut Bench, name: &str, depth: u32, runs: &[Runs], ours: &Runs) -> Vec<String> {
    let shown = |tool| {
        let figure = of(runs, tool).and_then(|runs| median(&runs.user_us()));
        figure.map_or("-".to_owned(), |figure| format!("{figure:.3}"))
    };
    let mut row = vec![name.to_owned()];
    row.extend(TOOLS.map(shown));
    let goals = if depth == 1 { [Some(1.0 / 3.0), None] } else { [Some(0.2), Some(0.5)] };
    for (tool, goal) in [Tool::FioDefault, Tool::FioBest].into_iter().zip(goals) {
        let theirs = of(runs, tool).map(Runs::user_us).unwrap_or_default();
        if let Some(bound) = goal {
            let what = format!("user CPU, {name}, over {}", tool.name());
            row.extend(against(bench, &what, Goal::AtMost(bound), &ours.user_us(), &theirs));
        } else {
            let spread = Spread::of(&ratios(&ours.user_us(), &theirs));
            row.extend([spread.map_or("-".to_owned(), |spread| spread.to_string()), String::new()]);
        }
    }
    row
}
