//! Start-up: from the start of the program to the first request, and a whole run of one request.

use crate::bench::{Bench, Tool};
use crate::job::{Job, Length, Pace, Target};
use crate::process::{self, first_write};
use crate::stage::{Loop, MemoryDisk};
use crate::statistics::MedianSpread;
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration};
use std::path::{Path, PathBuf};
use std::process::Command;

const SIZE: Bytes = Bytes::mib(64);
const PLAN: &str = r#"schema = 1
name = "one"
[[load]]
reads = "0 %"
volume = "4 KiB"
fill = "never"
warm_up = "0 s"
duration = "60 s"
trials = 1
"#;

/// A program that is started again and again.
struct Starter<'a> {
    name: &'static str,
    /// The goal is for it.
    ours: bool,
    command: Box<dyn Fn() -> Result<Command> + 'a>,
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "start: from the start of the program to the end of its first write, and to its own end; loop device, ms",
        &["one write of 4 KiB", "first write", "at most 20", "end"],
    );
    bench.size = SIZE;
    let disk = MemoryDisk::new(SIZE, &bench.stop)?;
    let folder = tempfile::tempdir()?;
    let starters = starters(bench, &disk.device, folder.path())?;
    let figures = bench.rounds(starters.len(), |bench, place| {
        let starter = &starters[place];
        std::thread::sleep(crate::bench::SETTLE);
        let first = first_write(&mut (starter.command)()?, disk.device.name()?, &bench.stop)?;
        std::thread::sleep(crate::bench::SETTLE);
        // Looking for the first write costs a little: the whole run is timed without.
        let whole = process::run(&mut (starter.command)()?, &bench.stop)?.wall;
        Ok((first.map(milliseconds), milliseconds(whole)))
    })?;
    let names: Vec<_> = starters.into_iter().map(|starter| (starter.name, starter.ours)).collect();
    for ((name, ours), figures) in names.into_iter().zip(figures) {
        let (first, whole): (Vec<Option<f64>>, Vec<f64>) = figures.into_iter().unzip();
        let first: Vec<f64> = first.into_iter().flatten().collect();
        let shown = |figures: &[f64]| {
            MedianSpread::of(figures)
                .map_or("-".to_owned(), |s| format!("{:.1} ({:.1}..{:.1})", s.median, s.least, s.most))
        };
        let judged = MedianSpread::of(&first).filter(|_| ours).map_or("", |spread| {
            bench.verdicts.judge(&format!("start of {name}, ms"), spread.median, Goal::AtMost(20.0))
        });
        table.row(bench.marked(vec![name.to_owned(), shown(&first), judged.to_owned(), shown(&whole)]));
    }
    if program().is_none() {
        table.note("No `loadline` beside this program: build it, with --release, to see the whole command too.");
    }
    bench.print(table)
}

fn milliseconds(span: Duration) -> f64 {
    span.as_s_f64() * 1e3
}

/// The `loadline` command built beside this program.
fn program() -> Option<PathBuf> {
    std::env::current_exe().ok().map(|here| here.with_file_name("loadline")).filter(|path| path.exists())
}

fn starters<'a>(bench: &'a Bench, device: &Loop, folder: &Path) -> Result<Vec<Starter<'a>>> {
    let target = Target::Device(device.node.clone());
    let job = Job::new(target, Operation::Write, Pace::Depth(1), Length::OneRequest);
    let mut starters = Vec::new();
    for (tool, name) in [(Tool::FioDefault, "fio"), (Tool::Loadline, "loadline, engine alone")] {
        let job = job.clone();
        let command = move || bench.command(tool, &job)?.context("every tool knows one write");
        starters.push(starter(name, tool == Tool::Loadline, Box::new(command)));
    }
    if let Some(program) = program() {
        let (plan, store, node) = (folder.join("one.toml"), folder.join("store.db"), device.node.clone());
        std::fs::write(&plan, PLAN).with_context(|| format!("cannot write {}", plan.display()))?;
        let command = move || {
            let mut command = Command::new(&program);
            command.arg("run").arg(&plan).arg("--on").arg(format!("data={}", node.display()));
            command.arg("--overwrite").arg(&node).args(["--quiet", "--store"]).arg(&store);
            Ok(command)
        };
        starters.push(starter("loadline run", true, Box::new(command)));
    }
    Ok(starters)
}

fn starter<'a>(name: &'static str, ours: bool, command: Box<dyn Fn() -> Result<Command> + 'a>) -> Starter<'a> {
    Starter { name, ours, command }
}
