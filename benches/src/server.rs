//! Servers for comparisons, each a separate process: started, queried, and removed.

use crate::process::Stop;
use anyhow::{Context, Result, bail};
use loadline_disk::{EnvironmentSpec, InitialState};
use loadline_emulator::{Backing, BlockDevice, Emulation, EmulationSettings};
use loadline_record::Histogram;
use loadline_units::Bytes;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The hidden first argument that makes this program an emulation.
pub(crate) const SUBCOMMAND: &str = "--serve";
/// A server that does not end by itself within this time is killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// The kernel's ticks for CPU time of programs, on all but historical machines (`USER_HZ`).
const TICKS_PER_S: f64 = 100.0;

/// The child's order.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    environment: EnvironmentSpec,
    socket: PathBuf,
    /// The place of its first volume as a block device, if wanted.
    attach: Option<PathBuf>,
    memory: Bytes,
}

/// The child's part: prints one line about its server, answers each line with the lateness so far, and ends with its
/// input.
///
/// # Errors
/// An environment that cannot be emulated or attached here.
pub(crate) fn serve(order: &str) -> Result<()> {
    let Order { environment, socket, attach, memory } =
        serde_json::from_str(order).context("the order of a server cannot be read")?;
    let settings = EmulationSettings {
        seed: 1,
        initial: InitialState::default(),
        backing: Backing::Memory { max: memory },
        trace: None,
        write_cache: Bytes::mib(16),
        lie_about_flush: false,
        spin: false,
        hasten: true,
    };
    let mut emulation = Emulation::start(&environment, &settings)?;
    let device = match &attach {
        None => None,
        Some(folder) => Some(BlockDevice::over(emulation.mount(folder)?.first().context("there is a volume")?)?),
    };
    emulation.listen_unix(&socket)?;
    println!("{}", device.as_ref().map_or_else(|| "-".into(), |device| device.path().display().to_string()));
    for line in std::io::stdin().lines() {
        line?;
        println!("{}", serde_json::to_string(&lateness(&emulation))?);
    }
    drop(device);
    Ok(emulation.end()?)
}

/// How late answers were: bucket by bucket, its lower end and count.
fn lateness(emulation: &Emulation) -> Vec<(u64, u64)> {
    let mut all = Histogram::new();
    for figures in emulation.figures() {
        all.merge(&figures.lateness);
    }
    all.buckets().map(|(start, width, count)| (start + width / 2, count)).collect()
}

/// A server in a separate process. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    pub(crate) socket: PathBuf,
    /// Its block device.
    pub(crate) device: Option<PathBuf>,
    folder: Option<PathBuf>,
}

impl Server {
    /// loadline, emulating `environment`; with `attach`, as a block device too.
    pub(crate) fn emulating(
        environment: &EnvironmentSpec,
        socket: PathBuf,
        attach: Option<&Path>,
        memory: Bytes,
    ) -> Result<Self> {
        let order = Order {
            environment: environment.clone(),
            socket: socket.clone(),
            attach: attach.map(Path::to_owned),
            memory,
        };
        let mut command = Command::new(std::env::current_exe().context("where is this program?")?);
        command.arg(SUBCOMMAND).arg(serde_json::to_string(&order)?);
        let mut child = group_of_its_own(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let folder = attach.map(Path::to_owned);
        let mut server = Self { child, input, output, socket, device: None, folder };
        let said = server.line().context("the emulation did not begin")?;
        server.device = (said != "-").then(|| PathBuf::from(said));
        Ok(server)
    }

    /// Another program, which listens on `socket`.
    pub(crate) fn other(mut command: Command, socket: PathBuf) -> Result<Self> {
        let child = group_of_its_own(&mut command).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start {command:?}"))?;
        let mut server = Self { child, input: None, output: None, socket, device: None, folder: None };
        let begun = Instant::now();
        // nbdkit complains if a client does not read the greeting.
        let greeted = |socket: &Path| {
            use std::io::Read as _;
            let mut client = std::os::unix::net::UnixStream::connect(socket)?;
            client.read_exact(&mut [0; 18])
        };
        while greeted(&server.socket).is_err() {
            server.still_runs()?;
            if begun.elapsed() > PATIENCE {
                bail!("nobody listens on {}", server.socket.display());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Another program, which runs until it is stopped.
    pub(crate) fn plain(command: &mut Command) -> Result<Self> {
        let child = group_of_its_own(command).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let child = child.with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self { child, input: None, output: None, socket: PathBuf::new(), device: None, folder: None })
    }

    /// # Errors
    /// It has ended.
    pub(crate) fn still_runs(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("the server ended at once: {status}"),
            None => Ok(()),
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.as_mut().context("it says nothing")?.read_line(&mut line)?;
        if line.is_empty() {
            bail!("it ended");
        }
        Ok(line.trim_end().to_owned())
    }

    /// How late answers of loadline's were so far.
    pub(crate) fn lateness(&mut self) -> Result<Lateness> {
        writeln!(self.input.as_mut().context("only our own server tells")?, "lateness")?;
        Ok(Lateness(serde_json::from_str(&self.line()?)?))
    }

    /// CPU time of all its threads so far, in seconds.
    pub(crate) fn cpu_s(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name in parentheses may hold blanks.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok());
        let ticks = ticks(11).context("no user time")? + ticks(12).context("no system time")?;
        Ok(ticks / TICKS_PER_S)
    }
}

/// Ctrl-C reaches this program alone, which then removes everything in order.
fn group_of_its_own(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;
    command.process_group(0)
}

impl Drop for Server {
    fn drop(&mut self) {
        // Our server ends with its input, and removes its devices.
        let ends = self.input.take().is_some();
        let begun = Instant::now();
        while ends && begun.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(folder) = &self.folder
            && folder.exists()
            && let Err(error) = loadline_emulator::detach(folder)
        {
            eprintln!("cleaning up: {error}");
        }
    }
}

/// How late answers were, as counts of spans in ns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lateness(Vec<(u64, u64)>);

impl Lateness {
    /// The difference to `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let before = |at: u64| earlier.0.iter().find(|(other, _)| *other == at).map_or(0, |(_, count)| *count);
        Self(self.0.iter().map(|(at, count)| (*at, count - before(*at))).filter(|(_, count)| *count > 0).collect())
    }

    /// The span below which this share of answers lies, us.
    pub(crate) fn quantile_us(&self, share: f64) -> Option<f64> {
        let all: u64 = self.0.iter().map(|(_, count)| count).sum();
        let mut left = (all as f64 * share).ceil().max(1.0) as u64;
        for (at, count) in &self.0 {
            if *count >= left {
                return Some(*at as f64 / 1e3);
            }
            left -= count;
        }
        None
    }
}

/// Busy time of the whole machine so far, in seconds: of every process and of the kernel's own threads.
pub(crate) fn machine_cpu_s() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    Ok(busy_ticks(&stat).context("/proc/stat tells no CPU time")? / TICKS_PER_S)
}

/// user, nice, system, irq and softirq of the first line.
fn busy_ticks(stat: &str) -> Option<f64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    [0, 1, 2, 5, 6].iter().map(|place| ticks.get(*place)).sum()
}

/// An error once the user wants an end, and a rest before each run.
pub(crate) fn settle(stop: &Stop) -> Result<()> {
    stop.check()?;
    std::thread::sleep(crate::bench::SETTLE);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_of_a_stretch_is_what_was_not_there_before() {
        let before = Lateness(vec![(10_000, 5), (50_000, 1)]);
        let after = Lateness(vec![(10_000, 5), (20_000, 98), (50_000, 3)]);
        let stretch = after.since(&before);
        assert_eq!(stretch.0, [(20_000, 98), (50_000, 2)]);
        assert_eq!((stretch.quantile_us(0.5), stretch.quantile_us(0.99)), (Some(20.0), Some(50.0)));
        assert_eq!(before.since(&before).quantile_us(0.5), None);
    }

    #[test]
    fn idle_and_stolen_time_is_no_busy_time() {
        let stat = "cpu  10 20 30 4000 50 6 7 800 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(busy_ticks(stat), Some(73.0));
        assert_eq!(busy_ticks("intr 1"), None);
    }
}
