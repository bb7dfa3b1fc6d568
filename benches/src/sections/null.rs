//! The tool itself: requests per second and core on nothing, memory, start-up.

use crate::bench::{Bench, Tool, of};
use crate::job::{Job, Length, Pace, Target};
use crate::process::{self, peak_memory};
use crate::stage;
use crate::statistics::{Spread, ratios};
use crate::table::{Goal, Table};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration};
use std::path::PathBuf;
use std::process::Command;

const TOOLS: [Tool; 3] = [Tool::FioDefault, Tool::FioBest, Tool::Loadline];

fn job(depth: u32, length: Length) -> Job {
    Job::new(Target::Null, Operation::Read, Pace::Depth(depth), length)
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    rates(bench)?;
    memory(bench)?;
    start_up(bench)
}

fn rates(bench: &mut Bench) -> Result<()> {
    let mut table = Table::new(
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
            let spread = Spread::of(&per_core(tool)).context("no rounds")?;
            row.push(format!("{:.2} ({:.2}..{:.2})", spread.median / 1e6, spread.least / 1e6, spread.most / 1e6));
        }
        let ratio = Spread::of(&ratios(&per_core(Tool::Loadline), &per_core(Tool::FioBest)));
        row.push(ratio.map_or("-".to_owned(), |spread| spread.to_string()));
        let ours = Spread::of(&per_core(Tool::Loadline)).context("no rounds")?.median / 1e6;
        let what = format!("null, depth {depth}, millions of requests per second and core");
        row.push(bench.verdicts.judge(&what, ours, Goal::AtLeast(20.0)).to_owned());
        table.row(row);
    }
    table.print();
    Ok(())
}

fn memory(bench: &mut Bench) -> Result<()> {
    let mut table =
        Table::new("null: most resident memory of the first process, MiB", &["", "2 s", "20 s", "ratio", ""]);
    for tool in [Tool::FioDefault, Tool::Loadline] {
        let mut held = Vec::new();
        for seconds in [2, if bench.arguments.quick { 6 } else { 20 }] {
            let length = Length::Time(Duration::from_s(seconds));
            let mut command = bench.command(tool, &job(32, length))?.context("every tool knows null")?;
            held.push(peak_memory(&mut command, &bench.stop)?.get() as f64 / Bytes::MIB.get() as f64);
        }
        let ratio = held[1] / held[0].max(1e-9);
        let mark = if tool == Tool::Loadline {
            // Allocators round; what grows with time would grow tenfold.
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
    table.print();
    Ok(())
}

/// The `loadline` command built beside this program, with a plan of one request, and the folder that both need.
fn whole_tool() -> Result<Option<(tempfile::TempDir, impl Fn() -> Command)>> {
    let here = std::env::current_exe().context("where is this program?")?;
    let program: PathBuf = here.with_file_name("loadline");
    if !program.exists() {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let plan = folder.path().join("one.toml");
    let text = "schema = 1\nname = \"one\"\n[[load]]\nvolume = \"4 KiB\"\nwarm_up = \"0 s\"\nduration = \"60 s\"\ntrials = 1\n";
    std::fs::write(&plan, text).with_context(|| format!("cannot write {}", plan.display()))?;
    let store = folder.path().join("store.db");
    Ok(Some((folder, move || {
        let mut command = Command::new(&program);
        command.arg("run").arg(&plan).args(["--on", "data=null", "--quiet", "--store"]).arg(&store);
        command
    })))
}

fn start_up(bench: &mut Bench) -> Result<()> {
    let mut table =
        Table::new("null: wall time of a whole run of one request, ms", &["", "null", "loop", "goal: at most 20"]);
    let disk = match stage::obstacle() {
        Some(why) => {
            table.note(format!("No loop device: {why}."));
            None
        }
        None => Some(stage::MemoryDisk::new(Bytes::mib(64), &bench.stop)?),
    };
    let full = std::mem::replace(&mut bench.size, Bytes::mib(64));
    let tools = [Tool::FioDefault, Tool::Loadline];
    let on_null = bench.interleaved(&tools, &job(1, Length::OneRequest))?;
    let on_loop = match &disk {
        None => Vec::new(),
        Some(disk) => {
            let target = Target::Device(disk.device.node.clone());
            bench.interleaved(&tools, &Job { target, ..job(1, Length::OneRequest) })?
        }
    };
    bench.size = full;
    let milliseconds = |figures: &[f64]| {
        Spread::of(figures).map_or("-".to_owned(), |s| format!("{:.1} ({:.1}..{:.1})", s.median, s.least, s.most))
    };
    for tool in tools {
        let figures = |runs| of(runs, tool).map_or(Vec::new(), |runs| runs.figures(|s| s.ended.wall.as_s_f64() * 1e3));
        let (null, device) = (figures(&on_null), figures(&on_loop));
        let judged = Spread::of(if device.is_empty() { &null } else { &device }).context("no rounds")?.median;
        let mark = if tool == Tool::Loadline {
            bench.verdicts.judge("start-up, engine alone, ms", judged, Goal::AtMost(20.0))
        } else {
            ""
        };
        let name = if tool == Tool::Loadline { "loadline, engine alone" } else { tool.name() };
        table.row(vec![name.to_owned(), milliseconds(&null), milliseconds(&device), mark.to_owned()]);
    }
    match whole_tool()? {
        None => table.note("No `loadline` beside this program: build the workspace to see its command line, too."),
        Some((_folder, command)) => {
            let mut figures = Vec::new();
            for _ in 0..bench.arguments.rounds {
                match process::run(&mut command(), &bench.stop) {
                    Ok(ended) => figures.push(ended.wall.as_s_f64() * 1e3),
                    Err(error) => {
                        bench.stop.check()?;
                        table.note(format!("`loadline run` failed: {error:#}"));
                        break;
                    }
                }
            }
            if let Some(spread) = Spread::of(&figures) {
                let mark = bench.verdicts.judge("start-up, `loadline run`, ms", spread.median, Goal::AtMost(20.0));
                table.row(vec!["loadline run".into(), milliseconds(&figures), "-".into(), mark.into()]);
            }
        }
    }
    table.note("From start to end, so that the time to the first request is less than this.");
    table.print();
    Ok(())
}
