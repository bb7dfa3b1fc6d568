//! The emulator with a whole disk model, beside nbdkit's memory plugin, which has none.

pub(super) mod client;

use crate::bench::Bench;
use crate::placement::Pinned;
use crate::process;
use crate::server::Server;
use crate::statistics::{MedianSpread, ratios};
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result, bail};
use client::Load;
use loadline_disk::{Directions, DiskSpec, EnvironmentSpec, IopsBudget, Limit, VolumeSpec};
use loadline_units::{Bytes, Iops};
use std::process::Command;
use std::time::Duration;

/// A disk of 100 million IOPS: its limit is evaluated for each request, and never reached.
pub(crate) fn fast() -> EnvironmentSpec {
    let limit = Limit {
        iops: Iops::per_second(100_000_000).map(|rate| Directions::Together(IopsBudget::steady(rate))),
        ..Limit::default()
    };
    let disk = DiskSpec { size: Some(Bytes::gib(4)), limit, ..DiskSpec::default() };
    let volume = VolumeSpec { name: "data".into(), disks: vec![disk], ..VolumeSpec::default() };
    EnvironmentSpec { name: "fast".into(), volumes: vec![volume], ..EnvironmentSpec::default() }
}

/// The client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asker {
    Pipelining,
    Fio,
}

/// A row: the client, its load, and the goal beside nbdkit.
const ROWS: &[(&str, Asker, Load, f64)] = &[
    ("4 KiB reads, depth 32", Asker::Pipelining, Load { writes: false, length: 4 << 10, depth: 32 }, 2.5),
    ("4 KiB writes, depth 32", Asker::Pipelining, Load { writes: true, length: 4 << 10, depth: 32 }, 2.5),
    ("256 KiB reads, depth 8", Asker::Pipelining, Load { writes: false, length: 256 << 10, depth: 8 }, 1.5),
    ("256 KiB writes, depth 8", Asker::Pipelining, Load { writes: true, length: 256 << 10, depth: 8 }, 1.5),
    ("4 KiB reads, depth 32, fio", Asker::Fio, Load { writes: false, length: 4 << 10, depth: 32 }, 1.5),
    ("4 KiB writes, depth 32, fio", Asker::Fio, Load { writes: true, length: 4 << 10, depth: 32 }, 1.5),
];
/// The share of nbdkit's CPU time per request that a pipelining client may cost.
const CPU: f64 = 0.4;

/// The result of one run.
#[derive(Debug, Clone, Copy)]
struct Figures {
    /// Requests in a second.
    rate: f64,
    /// CPU time of the server for each, in seconds.
    cpu_s: f64,
    /// The client's share of a processor; `None`: not measured.
    client: Option<f64>,
}

fn measure(bench: &Bench, server: &Server, asker: Asker, load: Load) -> Result<Figures> {
    bench.stop.check()?;
    let time = Duration::from_nanos(bench.arguments.length.as_ns());
    let before = server.cpu_s()?;
    let (rate, client) = match asker {
        Asker::Pipelining => (client::rate(&server.socket, load, time)?, None),
        Asker::Fio => {
            let (rate, busy) = fio(bench, server, load, time)?;
            (rate, Some(busy))
        }
    };
    let used = server.cpu_s()? - before;
    Ok(Figures { rate, cpu_s: used / (rate * time.as_secs_f64()).max(1.0), client })
}

/// Requests in a second, and how busy it was itself.
fn fio(bench: &Bench, server: &Server, load: Load, time: Duration) -> Result<(f64, f64)> {
    let mut command = Command::new("fio");
    command.args(["--name=x", "--ioengine=nbd", "--time_based", "--output-format=json", "--randrepeat=1"]);
    command.arg(format!("--uri=nbd+unix:///?socket={}", server.socket.display()));
    command.arg(format!("--rw={}", if load.writes { "randwrite" } else { "randread" }));
    command.args([format!("--bs={}", load.length), format!("--iodepth={}", load.depth)]);
    command.args([format!("--size={}", client::SPAN), format!("--runtime={}", time.as_secs())]);
    let ended = process::run(&mut command, &bench.stop)?;
    let start = ended.stdout.find('{').context("fio tells no JSON")?;
    let told: serde_json::Value = serde_json::from_str(&ended.stdout[start..])?;
    let job = &told["jobs"][0];
    let side = &job[if load.writes { "write" } else { "read" }]["iops"];
    let cpu = job["usr_cpu"].as_f64().zip(job["sys_cpu"].as_f64()).context("fio tells no CPU time")?;
    Ok((side.as_f64().context("fio tells no IOPS")?, (cpu.0 + cpu.1) / 100.0))
}

/// Why it cannot run here, if it cannot.
pub(crate) fn obstacle() -> Option<String> {
    let missing = process::tool("nbdkit", &["--version"]).is_err();
    missing.then(|| "nbdkit is the peer: apt-get install nbdkit".to_owned())
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let title = "emulate: NBD with the disk model in the way, over nbdkit's memory plugin";
    let mut table = FigureTable::new(
        title,
        &["random", "nbdkit / s", "loadline / s", "ratio", "goal", "CPU per request", "goal", "client busy"],
    );
    let mut count = 0;
    for (place, placed) in Pinned::places(bench.arguments.as_scheduled) {
        count += rows(bench, *place, placed, &mut table)?;
    }
    if count == 0 {
        bail!("no row of `emulate` has a name that contains {:?}", bench.arguments.only);
    }
    table.note("One CPU: servers share a processor with their client; two CPUs: they have one to themselves.");
    table.note("CPU is the server's, of both kinds, ours over nbdkit's. One connection over a unix socket.");
    table.note(
        "Busy is fio itself, before nbdkit and before us: at all of a processor only answers that cost it less are faster.",
    );
    bench.print(table)
}

/// Gives how many rows were wanted.
fn rows(bench: &mut Bench, place: Option<usize>, placed: &str, table: &mut FigureTable) -> Result<usize> {
    let named = ROWS.iter().map(|(name, asker, load, goal)| (format!("{name}, {placed}"), *asker, *load, *goal));
    let named: Vec<_> = named.filter(|(name, ..)| bench.arguments.wants(name)).collect();
    if named.is_empty() {
        return Ok(0);
    }
    let count = named.len();
    let folder = tempfile::tempdir()?;
    let (ours, peers) = (folder.path().join("ours"), folder.path().join("peer"));
    let mut peer = Command::new("nbdkit");
    peer.args(["-f", "-U"]).arg(&peers).args(["memory", "4G"]);
    let pinned = |place: Option<usize>| place.map(Pinned::at).transpose();
    let servers = {
        let _on = pinned(place)?;
        [Server::other(peer, peers)?, Server::emulating(&fast(), ours, None, Bytes::gib(2))?]
    };
    let _on = pinned(place.map(|_| 0))?;
    // All data that is read exists.
    for server in &servers {
        client::fill(&server.socket)?;
    }
    for (name, asker, load, goal) in named {
        let figures = bench.rounds(2, |bench, place| measure(bench, &servers[place], asker, load))?;
        let of = |place: usize, figure: fn(&Figures) -> f64| figures[place].iter().map(figure).collect::<Vec<f64>>();
        let rates = [of(0, |one| one.rate), of(1, |one| one.rate)];
        let ratio = MedianSpread::of(&ratios(&rates[1], &rates[0])).context("no rounds")?;
        let cpu = MedianSpread::of(&ratios(&of(1, |one| one.cpu_s), &of(0, |one| one.cpu_s))).context("no rounds")?;
        let reached = bench.verdicts.judge(&format!("emulate, {name}"), ratio.median, Goal::AtLeast(goal));
        let cheap = if asker == Asker::Pipelining && load.length <= 4 << 10 {
            bench.verdicts.judge(&format!("emulate, {name}, CPU"), cpu.median, Goal::AtMost(CPU))
        } else {
            ""
        };
        let median =
            |place: usize| MedianSpread::of(&rates[place]).map_or("-".into(), |spread| format!("{:.0}", spread.median));
        let busy = |place: usize| {
            let shares: Vec<f64> = figures[place].iter().filter_map(|one| one.client).collect();
            MedianSpread::of(&shares).map(|spread| format!("{:.0} %", spread.median * 100.0))
        };
        let busy = busy(0).zip(busy(1)).map_or_else(|| "-".into(), |(peer, ours)| format!("{peer}, {ours}"));
        let (ratio, cpu) = (ratio.to_string(), cpu.to_string());
        let cells = [name, median(0), median(1), ratio, reached.into(), cpu, cheap.into(), busy];
        table.row(bench.marked(cells.to_vec()));
    }
    Ok(count)
}
