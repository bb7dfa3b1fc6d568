//! loadline's engine over NBD beside fio's nbd engine, both on nbdkit's memory plugin over a unix socket.

use super::emulate::client;
use crate::bench::{Bench, Runs, Tool, of};
use crate::job::{Job, Pace, Target};
use crate::placement::Pinned;
use crate::server::Server;
use crate::statistics::{MedianSpread, ratios};
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result};
use loadline_block::Operation;
use std::path::Path;
use std::process::Command;

const DEPTHS: [u32; 3] = [1, 32, 128];
const TOOLS: [Tool; 3] = [Tool::FioDefault, Tool::FioBest, Tool::Loadline];
/// The goals for user CPU of a request over fio's: one at a time, and more.
const CPU: (f64, f64) = (1.0 / 3.0, 0.2);

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let mut table = FigureTable::new(
        "exports: nbdkit's memory plugin, asked over NBD; thousands a second, and user CPU per request in us",
        &["4 KiB random", "fio", "fio tuned", "loadline", "/ better fio", "", "fio us", "loadline us", "/ fio", ""],
    );
    for (place, placed) in Pinned::places(bench.arguments.as_scheduled) {
        rows(bench, *place, placed, &mut table)?;
    }
    table.note("Goals: at least 1 over the better fio; user CPU at most 1/3 of fio's at depth 1, from 32 on 1/5.");
    table.note("One CPU: the server shares a processor with who asks; two CPUs: it has one to itself.");
    bench.print(table)
}

fn wanted(bench: &Bench, socket: &Path, placed: &str) -> Vec<(String, u32, Job)> {
    let all =
        [Operation::Read, Operation::Write].into_iter().flat_map(|operation| DEPTHS.map(|depth| (operation, depth)));
    let named = all.map(|(operation, depth)| {
        let job = Job::new(Target::Export(socket.to_owned()), operation, Pace::Depth(depth), bench.time());
        (format!("{}, {placed}", job.name()), depth, job)
    });
    named.filter(|(name, ..)| bench.arguments.wants(name)).collect()
}

fn rows(bench: &mut Bench, place: Option<usize>, placed: &str, table: &mut FigureTable) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("s");
    let wanted = wanted(bench, &socket, placed);
    if wanted.is_empty() {
        return Ok(());
    }
    let mut server = Command::new("nbdkit");
    server.args(["-f", "-U"]).arg(&socket).args(["memory", &client::SPAN.to_string()]);
    let server = {
        let _on = place.map(Pinned::at).transpose()?;
        Server::other(server, socket)?
    };
    let _on = place.map(|_| Pinned::at(0)).transpose()?;
    // All data that is read exists.
    client::fill(&server.socket)?;
    for (name, depth, job) in &wanted {
        let runs = bench.interleaved(&TOOLS, job)?;
        let row = row(bench, name, *depth, &runs)?;
        table.row(bench.marked(row));
    }
    Ok(())
}

fn row(bench: &mut Bench, name: &str, depth: u32, runs: &[Runs]) -> Result<Vec<String>> {
    let ours = of(runs, Tool::Loadline).context("loadline ran")?;
    let fio = of(runs, Tool::FioDefault).context("fio ran")?;
    let better = [Tool::FioDefault, Tool::FioBest].iter().filter_map(|tool| of(runs, *tool));
    let better = better.max_by(|a, b| a.rate().total_cmp(&b.rate())).context("fio ran")?;
    let rate = MedianSpread::of(&ratios(&ours.rates(), &better.rates())).context("no rounds")?;
    let rate_mark =
        bench.verdicts.judge(&format!("rate, {name}, over the better fio"), rate.median, Goal::AtLeast(1.0));
    let most = if depth == 1 { CPU.0 } else { CPU.1 };
    let cost = ours.user_us_pooled() / fio.user_us_pooled();
    let cost_mark = bench.verdicts.judge(&format!("user CPU, {name}, over fio"), cost, Goal::AtMost(most));
    let mut row = vec![name.to_owned()];
    row.extend(TOOLS.map(|tool| of(runs, tool).map_or("-".into(), |runs| format!("{:.1}", runs.rate() / 1e3))));
    row.extend([rate.to_string(), rate_mark.to_owned()]);
    row.extend([fio, ours].map(|runs| format!("{:.3}", runs.user_us_pooled())));
    row.extend([format!("{cost:.3}"), cost_mark.to_owned()]);
    Ok(row)
}
