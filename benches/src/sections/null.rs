//! The tool itself: requests per second and core on nothing, memory.

use crate::bench::{Bench, Tool, of};
use crate::job::{Job, Length, Pace, Target};
use crate::process::peak_memory;
use crate::statistics::{MedianSpread, ratios};
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration};

const TOOLS: [Tool; 3] = [Tool::FioDefault, Tool::FioBest, Tool::Loadline];

fn job(depth: u32, length: Length) -> Job {
    Job::new(Target::Null, Operation::Read, Pace::Depth(depth), length)
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    rates(bench)?;
    memory(bench)
}

fn rates(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "null: millions of requests per second of CPU time (user and system), one thread",
        &["depth", "fio", "fio tuned", "loadline", "loadline / fio tuned", "loadline >= 20"],
    );
    for depth in [1, 32, 128] {
        let runs = bench.interleaved(&TOOLS, &job(depth, bench.time()))?;
        let per_core = |tool| {
            let runs = of(&runs, tool);
            runs.map_or(Vec::new(), |runs| {
                runs.figures(|sample| {
                    let busy = (sample.ended.user + sample.ended.system).as_s_f64();
                    sample.told.requests as f64 / busy.max(1e-9)
                })
            })
        };
        let mut row = vec![depth.to_string()];
        for tool in TOOLS {
            let spread = MedianSpread::of(&per_core(tool)).context("no rounds")?;
            row.push(format!("{:.2} ({:.2}..{:.2})", spread.median / 1e6, spread.least / 1e6, spread.most / 1e6));
        }
        let ratio = MedianSpread::of(&ratios(&per_core(Tool::Loadline), &per_core(Tool::FioBest)));
        row.push(ratio.map_or("-".to_owned(), |spread| spread.to_string()));
        let ours = MedianSpread::of(&per_core(Tool::Loadline)).context("no rounds")?.median / 1e6;
        let what = format!("null, depth {depth}, millions of requests per second and core");
        row.push(bench.verdicts.judge(&what, ours, Goal::AtLeast(20.0)).to_owned());
        table.row(bench.marked(row));
    }
    bench.print(table)
}

fn memory(bench: &mut Bench) -> Result<()> {
    let mut table =
        FigureTable::new("null: most resident memory of the first process, MiB", &["", "2 s", "20 s", "ratio", ""]);
    for tool in [Tool::FioDefault, Tool::Loadline] {
        let mut held = Vec::new();
        for seconds in [2, if bench.arguments.quick { 6 } else { 20 }] {
            let length = Length::Time(Duration::from_s(seconds));
            let mut command = bench.command(tool, &job(32, length))?.context("every tool knows null")?;
            held.push(peak_memory(&mut command, &bench.stop)?.get() as f64 / Bytes::MIB.get() as f64);
        }
        let ratio = held[1] / held[0].max(1e-9);
        let mark = if tool == Tool::Loadline {
            // Allocators round; memory that grows with time would grow tenfold.
            bench.verdicts.judge("null, memory of a longer run over a shorter", ratio, Goal::AtMost(1.1))
        } else {
            ""
        };
        let shown = held.iter().map(|mib| format!("{mib:.1}"));
        let mut row = vec![tool.name().to_owned()];
        row.extend(shown);
        row.extend([format!("{ratio:.2}"), mark.to_owned()]);
        table.row(row);
    }
    if bench.arguments.quick {
        table.note("--quick: 6 s instead of 20 s.");
    }
    bench.print(table)
}
