//! The emulator with a whole disk model in the way, beside nbdkit's memory plugin, which has none.

mod client;

use crate::bench::Bench;
use crate::process;
use crate::statistics::{Spread, order, ratios};
use crate::table::{Goal, Table};
use anyhow::{Context, Result, bail};
use client::Load;
use loadline_disk::{Directions, DiskSpec, EnvironmentSpec, InitialState, IopsBudget, Limit, VolumeSpec};
use loadline_emulator::{Backing, Emulation, Settings};
use loadline_units::{Bytes, Iops};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The word that makes this program serve on the socket named after it.
pub(crate) const SUBCOMMAND: &str = "--serve-a-fast-disk";

/// Serves a disk of 5 million IOPS until its standard input ends.
pub(crate) fn serve(socket: &str) -> Result<()> {
    let rate = Iops::per_second(5_000_000).context("not zero")?;
    let limit = Limit { iops: Some(Directions::Together(IopsBudget::steady(rate))), ..Limit::default() };
    let disk = DiskSpec { size: Some(Bytes::gib(4)), limit, ..DiskSpec::default() };
    let volume = VolumeSpec { name: "data".into(), disks: vec![disk], ..VolumeSpec::default() };
    let environment = EnvironmentSpec { name: "fast".into(), volumes: vec![volume], ..EnvironmentSpec::default() };
    let settings = Settings {
        seed: 1,
        initial: InitialState::default(),
        backing: Backing::Memory { max: Bytes::gib(2) },
        trace: None,
        write_cache: Bytes::mib(16),
        lie_about_flush: false,
        spin: false,
    };
    let mut emulation = Emulation::start(&environment, &settings)?;
    emulation.listen_unix(Path::new(socket))?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(emulation.end()?)
}

/// A server in a process of its own. Dropped, it ends.
struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(mut command: Command, socket: PathBuf) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut server = Self { child, socket };
        for _ in 0..200 {
            if std::os::unix::net::UnixStream::connect(&server.socket).is_ok() {
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended at once: {status}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("nobody listens on {}", server.socket.display())
    }

    /// CPU time of all its threads so far, in ticks of the kernel.
    fn cpu_ticks(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name in parentheses may hold blanks.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let tick = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok());
        Ok(tick(11).context("no user time")? + tick(12).context("no system time")?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asker {
    Pipelining,
    Fio,
}

/// A row: who asks what, and what is to be reached beside nbdkit.
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

/// Requests in a second, and CPU time of the server for each, in ticks.
fn measure(bench: &Bench, server: &Server, asker: Asker, load: Load) -> Result<(f64, f64)> {
    bench.stop.check()?;
    let time = Duration::from_nanos(bench.arguments.length.as_ns());
    let before = server.cpu_ticks()?;
    let rate = match asker {
        Asker::Pipelining => client::rate(&server.socket, load, time)?,
        Asker::Fio => fio(bench, server, load, time)?,
    };
    let used = server.cpu_ticks()? - before;
    Ok((rate, used / (rate * time.as_secs_f64()).max(1.0)))
}

fn fio(bench: &Bench, server: &Server, load: Load, time: Duration) -> Result<f64> {
    let mut command = Command::new("fio");
    command.args(["--name=x", "--ioengine=nbd", "--time_based", "--output-format=json", "--randrepeat=1"]);
    command.arg(format!("--uri=nbd+unix:///?socket={}", server.socket.display()));
    command.arg(format!("--rw={}", if load.writes { "randwrite" } else { "randread" }));
    command.args([format!("--bs={}", load.length), format!("--iodepth={}", load.depth)]);
    command.args([format!("--size={}", client::SPAN), format!("--runtime={}", time.as_secs())]);
    let ended = process::run(&mut command, &bench.stop)?;
    let start = ended.stdout.find('{').context("fio tells no JSON")?;
    let told: serde_json::Value = serde_json::from_str(&ended.stdout[start..])?;
    let side = &told["jobs"][0][if load.writes { "write" } else { "read" }]["iops"];
    side.as_f64().context("fio tells no IOPS")
}

/// Why it cannot run here, if it cannot.
pub(crate) fn obstacle() -> Option<String> {
    let missing = process::tool("nbdkit", &["--version"]).is_err();
    missing.then(|| "nbdkit is the peer: apt-get install nbdkit".to_owned())
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let title = "emulate: NBD with the disk model in the way, over nbdkit's memory plugin";
    let mut table =
        Table::new(title, &["random", "nbdkit / s", "loadline / s", "ratio", "goal", "CPU per request", "goal"]);
    let folder = tempfile::tempdir()?;
    let (ours, peers) = (folder.path().join("ours"), folder.path().join("peer"));
    let mut own = Command::new(std::env::current_exe()?);
    own.arg(SUBCOMMAND).arg(&ours);
    let mut peer = Command::new("nbdkit");
    peer.args(["-f", "-U"]).arg(&peers).args(["memory", "4G"]);
    let servers = [Server::start(peer, peers)?, Server::start(own, ours)?];
    // What is read is there.
    for server in &servers {
        let fill = Load { writes: true, length: 256 << 10, depth: 8 };
        client::rate(&server.socket, fill, Duration::from_secs(2))?;
    }
    for (name, asker, load, goal) in ROWS {
        let mut figures = [Vec::new(), Vec::new()];
        for round in 0..bench.arguments.rounds {
            for place in order(round, 2) {
                figures[place].push(measure(bench, &servers[place], *asker, *load)?);
            }
        }
        let of = |place: usize, figure: fn(&(f64, f64)) -> f64| figures[place].iter().map(figure).collect::<Vec<f64>>();
        let rates = [of(0, |one| one.0), of(1, |one| one.0)];
        let ratio = Spread::of(&ratios(&rates[1], &rates[0])).context("no rounds")?;
        let cpu = Spread::of(&ratios(&of(1, |one| one.1), &of(0, |one| one.1))).context("no rounds")?;
        let reached = bench.verdicts.judge(&format!("emulate, {name}"), ratio.median, Goal::AtLeast(*goal));
        let cheap = if *asker == Asker::Pipelining && load.length <= 4 << 10 {
            bench.verdicts.judge(&format!("emulate, {name}, CPU"), cpu.median, Goal::AtMost(CPU))
        } else {
            ""
        };
        let median =
            |place: usize| Spread::of(&rates[place]).map_or("-".into(), |spread| format!("{:.0}", spread.median));
        table.row(vec![
            (*name).to_owned(),
            median(0),
            median(1),
            ratio.to_string(),
            reached.into(),
            cpu.to_string(),
            cheap.into(),
        ]);
    }
    table.note("CPU is the server's, of both kinds, ours over nbdkit's. One connection over a unix socket.");
    table.print();
    Ok(())
}
