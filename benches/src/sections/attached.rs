//! The emulator's volumes as block devices, beside nbdkit's memory plugin behind nbdfuse and a loop device.

use super::emulate::fast;
use crate::bench::Bench;
use crate::process;
use crate::server::{Server, machine_cpu_s, settle};
use crate::stage::Loop;
use crate::statistics::{MedianSpread, ratios};
use crate::table::{FigureTable, Goal};
use anyhow::{Context, Result, bail};
use loadline_block::Operation;
use loadline_units::Bytes;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The range of requests, from the beginning; all of it was written.
const SPAN: Bytes = Bytes::gib(1);
/// The least ratio of IOPS.
const RATE: f64 = 2.0;
/// The largest ratio of CPU time for each request.
const CPU: f64 = 0.5;

/// The loads.
const ROWS: &[(&str, Operation, u32)] = &[
    ("reads, depth 1", Operation::Read, 1),
    ("reads, depth 32", Operation::Read, 32),
    ("writes, depth 1", Operation::Write, 1),
    ("writes, depth 32", Operation::Write, 32),
];

/// Why it cannot run here, if it cannot.
pub(crate) fn obstacle() -> Option<String> {
    let missing = |program: &&str| process::tool(program, &["--version"]).is_err();
    let missing = ["nbdkit", "nbdfuse"].into_iter().find(missing)?;
    Some(format!("{missing} is the peer: apt-get install {missing}"))
}

/// The peer's chain. Fields are dropped in this order: the device, the file, the server.
struct Chain {
    device: Loop,
    file: FuseFile,
    server: Server,
}

/// A file of nbdfuse.
struct FuseFile {
    path: PathBuf,
    program: Server,
}

impl Drop for FuseFile {
    fn drop(&mut self) {
        let path = self.path.display().to_string();
        let is_mounted = || std::fs::read_to_string("/proc/self/mounts").is_ok_and(|table| table.contains(&path));
        let begun = Instant::now();
        // A loop device releases its file a moment after it was detached.
        while is_mounted() {
            let by_force = begun.elapsed() > Duration::from_secs(5);
            let words = ["--lazy", path.as_str()];
            let unmounted = process::tool("umount", if by_force { &words } else { &words[1..] });
            if let (true, Err(error)) = (by_force, unmounted) {
                eprintln!("cleaning up: {error:#}");
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Chain {
    fn new(folder: &Path) -> Result<Self> {
        let (socket, path) = (folder.join("peer"), folder.join("file"));
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["-f", "-U"]).arg(&socket).args(["memory", "4G"]);
        let server = Server::other(nbdkit, socket.clone())?;
        std::fs::write(&path, "").with_context(|| format!("cannot make {}", path.display()))?;
        let program = Server::plain(Command::new("nbdfuse").arg(&path).arg("--unix").arg(&socket))?;
        let mut file = FuseFile { path, program };
        let begun = Instant::now();
        while std::fs::metadata(&file.path)?.len() == 0 {
            file.program.still_runs().context("nbdfuse")?;
            if begun.elapsed() > Duration::from_secs(10) {
                bail!("nbdfuse shows no file");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(Self { device: Loop::attach_direct(&file.path)?, file, server })
    }

    fn cpu_s(&self) -> Result<f64> {
        Ok(self.server.cpu_s()? + self.file.program.cpu_s()?)
    }
}

/// One run of fio.
#[derive(Debug, Clone, Copy)]
struct Run {
    rate: f64,
    p50_us: f64,
    /// Of the whole machine, the kernel's threads and fio included, for each request.
    cpu_us: f64,
    /// Of the serving programs.
    servers_us: f64,
}

fn fio(device: &Path, words: &[String]) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=x", "--ioengine=libaio", "--direct=1", "--output-format=json", "--randrepeat=1"]);
    command.arg(format!("--filename={}", device.display())).arg(format!("--size={}", SPAN.get())).args(words);
    command
}

fn measure(
    bench: &Bench,
    device: &Path,
    servers_s: &dyn Fn() -> Result<f64>,
    operation: Operation,
    depth: u32,
) -> Result<Run> {
    settle(&bench.stop)?;
    let way = if operation == Operation::Write { "randwrite" } else { "randread" };
    let runtime = format!("--runtime={}ms", bench.arguments.length.as_ns() / 1_000_000);
    let words = [format!("--rw={way}"), "--bs=4k".into(), format!("--iodepth={depth}"), "--time_based".into(), runtime];
    let (machine, servers) = (machine_cpu_s()?, servers_s()?);
    let ended = process::run(&mut fio(device, &words), &bench.stop)?;
    let (machine, servers) = (machine_cpu_s()? - machine, servers_s()? - servers);
    let told = crate::fio::parse(&ended.stdout, operation)?;
    let requests = told.requests.max(1) as f64;
    let p50 = told.latency.context("fio tells no latency")?.p50;
    Ok(Run {
        rate: told.requests_per_s,
        p50_us: p50.as_ns() as f64 / 1e3,
        cpu_us: machine * 1e6 / requests,
        servers_us: servers * 1e6 / requests,
    })
}

pub(crate) fn run(bench: &mut Bench) -> Result<()> {
    let header =
        ["4 KiB random", "peer: IOPS, p50", "loadline: IOPS, p50", "IOPS", "goal", "CPU", "goal", "servers' CPU"];
    let mut table = FigureTable::new(
        "attached: a block device over the emulator, over one of nbdkit's memory plugin and nbdfuse; fio, Linux AIO",
        &header,
    );
    let folder = tempfile::Builder::new().prefix("loadline-bench-").tempdir()?;
    let chain = Chain::new(folder.path())?;
    let ours =
        Server::emulating(&fast(), folder.path().join("ours"), Some(&folder.path().join("attached")), Bytes::gib(2))?;
    let own = ours.device.clone().context("the emulation was not attached")?;
    let devices = [chain.device.node.as_path(), own.as_path()];
    // All data that is read was written before.
    for device in devices {
        let words = ["--rw=write", "--bs=1m", "--iodepth=4", "--refill_buffers=1"].map(str::to_owned);
        process::run(&mut fio(device, &words), &bench.stop)?;
    }
    for (name, operation, depth) in ROWS {
        let runs = bench.rounds(2, |bench, place| {
            let servers_s: &dyn Fn() -> Result<f64> = if place == 0 { &|| chain.cpu_s() } else { &|| ours.cpu_s() };
            measure(bench, devices[place], servers_s, *operation, *depth)
        })?;
        let of = |place: usize, figure: fn(&Run) -> f64| runs[place].iter().map(figure).collect::<Vec<f64>>();
        let ratio =
            |figure: fn(&Run) -> f64| MedianSpread::of(&ratios(&of(1, figure), &of(0, figure))).context("no rounds");
        let (rate, cpu) = (ratio(|run| run.rate)?, ratio(|run| run.cpu_us)?);
        let servers = ratio(|run| run.servers_us)?;
        let reached = bench.verdicts.judge(&format!("attached, {name}, IOPS"), rate.median, Goal::AtLeast(RATE));
        let cheap = bench.verdicts.judge(&format!("attached, {name}, CPU"), cpu.median, Goal::AtMost(CPU));
        let shown = |place: usize| {
            let median = |figure| crate::statistics::median(&of(place, figure)).unwrap_or(0.0);
            format!(
                "{:.0}, {:.0} us, {:.1} us",
                median(|run| run.rate),
                median(|run| run.p50_us),
                median(|run| run.cpu_us)
            )
        };
        let cells = [shown(0), shown(1), rate.to_string(), reached.into(), cpu.to_string(), cheap.into()];
        let mut row = vec![(*name).to_owned()];
        row.extend(cells);
        row.push(servers.to_string());
        table.row(bench.marked(row));
    }
    table.note("IOPS, p50, and CPU for each request: of the whole machine, so of fio, of every server and of the kernel's threads.");
    table.note("Servers' CPU is that of the serving programs alone, ours over nbdkit's and nbdfuse's.");
    bench.print(table)
}
