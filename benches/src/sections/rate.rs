//! Requests per second and user CPU per request in a closed loop, on a loop device over memory and on a cached file.

use crate::bench::{Bench, Runs, Tool, of};
use crate::job::{Job, Pace, Target};
use crate::placement::{Placed, Placement};
use crate::stage::{FileOnExt4, MemoryDisk};
use crate::statistics::{MedianSpread, Pooled, ratios};
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result, bail};
use loadline_block::Operation;
use std::path::PathBuf;

const DEPTHS: [u32; 3] = [1, 32, 128];
/// The first columns of both tables.
const COLUMNS: [&str; 6] = ["4 KiB random", "fio", "fio tuned", "repeating", "t/io_uring", "loadline"];
const TOOLS: [Tool; 5] = [Tool::FioDefault, Tool::FioBest, Tool::FioRepeating, Tool::Peak, Tool::Loadline];

/// In the order in which they are printed, also when the section is cut short.
struct Tables {
    rates: FigureTable,
    costs: FigureTable,
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let rates = FigureTable::new(
        "rate: thousands of requests per second; loadline over the better of fio and tuned fio, over t/io_uring, and over fio \
         that repeats what it writes",
        &[&COLUMNS[..], &["/ better fio", "", "/ t/io_uring", "", "/ repeating"]].concat(),
    );
    let costs = FigureTable::new(
        "rate: user CPU per request in us, all rounds together; loadline over fio, over tuned fio, and over fio that repeats \
         what it writes",
        &[&COLUMNS[..], &["/ fio", "", "/ fio tuned", "", "/ repeating"]].concat(),
    );
    let mut tables = Tables { rates, costs };
    let placements = Placement::all(bench.arguments.as_scheduled);
    let wanted: Vec<Placement> = placements
        .iter()
        .copied()
        .filter(|placement| !rows(bench, &Target::Device(PathBuf::new()), *placement).is_empty())
        .collect();
    let mut count = 0;
    if !wanted.is_empty() {
        let disk = MemoryDisk::new(bench.size, &bench.stop)?;
        for placement in wanted {
            let target = Target::Device(disk.device.node.clone());
            count += measure(bench, &target, placement, &mut tables)?;
        }
    }
    // Writing back is the kernel's work, beside the tool's.
    let placement = placements.last().copied().unwrap_or(Placement::AsScheduled);
    if !rows(bench, &Target::CachedFile(PathBuf::new()), placement).is_empty() {
        let file = FileOnExt4::new(bench.size, &bench.stop)?;
        count += measure(bench, &Target::CachedFile(file.path()), placement, &mut tables)?;
    }
    if count == 0 {
        bail!("no row of `rate` has a name that contains {:?}", bench.arguments.only);
    }
    tables
        .rates
        .note("Goals: at least 1 over the better fio, 0.9 over t/io_uring (reads only; it measures latency, too).");
    if let Some(why) = Placement::obstacle() {
        tables.rates.note(format!("Tools and the kernel's threads run where the scheduler puts them: {why}."));
    }
    tables.costs.note("Goals: at most 1/3 of fio at depth 1, from depth 32 on 1/5 of fio and 1/2 of fio tuned.");
    tables.costs.note("Start-up (a run of one request) is subtracted; t/io_uring has none to speak of.");
    tables
        .rates
        .note("Repeating: tuned fio that writes the same few buffers again and again. Less work, so there is no goal.");
    bench.print(tables.rates)?;
    bench.print(tables.costs)
}

/// The rows on `target` that are wanted: names, depths and jobs.
fn rows(bench: &Bench, target: &Target, placement: Placement) -> Vec<(String, u32, Job)> {
    let all =
        [Operation::Read, Operation::Write].into_iter().flat_map(|operation| DEPTHS.map(|depth| (operation, depth)));
    let named = all.map(|(operation, depth)| {
        let job = Job::new(target.clone(), operation, Pace::Depth(depth), bench.time());
        (format!("{}, {}", job.name(), placement.name()), depth, job)
    });
    named.filter(|(name, ..)| bench.arguments.wants(name)).collect()
}

/// Measures the wanted rows on `target`; gives their number.
fn measure(bench: &mut Bench, target: &Target, placement: Placement, tables: &mut Tables) -> Result<usize> {
    let _placed = Placed::new(placement)?;
    let rows = rows(bench, target, placement);
    for (name, depth, job) in &rows {
        let runs = bench.interleaved(&TOOLS, job)?;
        let ours = of(&runs, Tool::Loadline).context("loadline ran")?;
        let row = rate_row(bench, name, &runs, ours);
        tables.rates.row(bench.marked(row));
        let row = cost_row(bench, name, *depth, &runs, ours);
        tables.costs.row(bench.marked(row));
    }
    Ok(rows.len())
}

/// The spread of the ratios of `ours` to `theirs`, and the mark of its median.
fn against(bench: &mut Bench, what: &str, goal: Goal, ours: &[f64], theirs: &[f64]) -> [String; 2] {
    match MedianSpread::of(&ratios(ours, theirs)) {
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
    let repeating =
        of(runs, Tool::FioRepeating).and_then(|theirs| MedianSpread::of(&ratios(&ours.rates(), &theirs.rates())));
    row.push(shown_or_dash(repeating));
    row
}

fn shown_or_dash(cell: Option<impl std::fmt::Display>) -> String {
    cell.map_or("-".to_owned(), |cell| cell.to_string())
}

/// User CPU of `ours` over that of `tool`, all rounds together.
fn cost(runs: &[Runs], ours: &Runs, tool: Tool) -> Option<Pooled> {
    let theirs = of(runs, tool)?;
    let rounds = MedianSpread::of(&ratios(&ours.user_us(), &theirs.user_us()))?;
    let whole = theirs.user_us_pooled();
    (whole > 0.0).then(|| Pooled { whole: ours.user_us_pooled() / whole, rounds })
}

fn cost_row(bench: &mut Bench, name: &str, depth: u32, runs: &[Runs], ours: &Runs) -> Vec<String> {
    let shown = |tool| of(runs, tool).map_or("-".to_owned(), |runs| format!("{:.3}", runs.user_us_pooled()));
    let mut row = vec![name.to_owned()];
    row.extend(TOOLS.map(shown));
    let goals = if depth == 1 { [Some(1.0 / 3.0), None] } else { [Some(0.2), Some(0.5)] };
    for (tool, goal) in [Tool::FioDefault, Tool::FioBest].into_iter().zip(goals) {
        let ratio = cost(runs, ours, tool);
        let mark = ratio.zip(goal).map_or("", |(ratio, bound)| {
            let what = format!("user CPU, {name}, over {}", tool.name());
            bench.verdicts.judge(&what, ratio.whole, Goal::AtMost(bound))
        });
        row.extend([shown_or_dash(ratio), mark.to_owned()]);
    }
    row.push(shown_or_dash(cost(runs, ours, Tool::FioRepeating)));
    row
}
