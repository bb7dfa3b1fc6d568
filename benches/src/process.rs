//! Runs other programs to their end and measures their cost; ends them when the user interrupts.

use anyhow::{Context, Result, bail};
use loadline_block::Operation;
use loadline_units::{Bytes, Duration};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// A program that runs longer counts as hung.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(120);

/// Whether the user wants an end, and which process group is to hear of it.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    wanted: AtomicBool,
    running: AtomicI32,
}

impl Stop {
    /// Watches for Ctrl-C and its like from now on.
    pub(crate) fn watch() -> Result<Arc<Self>> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let stop = Arc::new(Self::default());
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || {
                for _ in signals.forever() {
                    stop.wanted.store(true, Ordering::SeqCst);
                    stop.end_running();
                }
            }
        });
        Ok(stop)
    }
    /// An error after the user's interruption, so that everything is removed on the way out.
    pub(crate) fn check(&self) -> Result<()> {
        if self.wanted.load(Ordering::SeqCst) {
            bail!("interrupted");
        }
        Ok(())
    }
    fn end_running(&self) {
        let group = self.running.load(Ordering::SeqCst);
        if group > 0 {
            // It may have ended meanwhile.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
    }
}

/// The output and cost of a program, including its own children.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) wall: Duration,
    pub(crate) user: Duration,
    pub(crate) system: Duration,
}

/// Runs `command` to its end. Nothing else may be waited for meanwhile: the CPU time is that of all children that ended.
///
/// # Errors
/// When it cannot be started, fails, hangs, or the user wants an end.
pub(crate) fn run(command: &mut Command, stop: &Stop) -> Result<Ended> {
    stop.check()?;
    let before = children()?;
    let begun = Instant::now();
    // A separate process group: Ctrl-C reaches this program alone, which then removes everything in order.
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let group = i32::try_from(child.id()).context("a process number fits")?;
    stop.running.store(group, Ordering::SeqCst);
    let (ended, at_the_end) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let late = at_the_end.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout);
        if late {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        late
    });
    let mut stderr = child.stderr.take().context("no standard error")?;
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.read_to_end(&mut text);
        text
    });
    let mut stdout = Vec::new();
    let read = child.stdout.take().context("no standard output")?.read_to_end(&mut stdout);
    let status = child.wait();
    let wall = begun.elapsed();
    stop.running.store(0, Ordering::SeqCst);
    drop(ended);
    let late = watchdog.join().unwrap_or(false);
    let errors = errors.join().unwrap_or_default();
    let after = children()?;
    stop.check()?;
    let (status, _) = (status?, read?);
    if late {
        bail!("{command:?} did not end within {} s", LIMIT.as_secs());
    }
    if !status.success() {
        let (told, said) = (String::from_utf8_lossy(&errors), String::from_utf8_lossy(&stdout));
        bail!("{command:?} ended with {status}: {} {}", told.trim(), said.trim().chars().take(500).collect::<String>());
    }
    Ok(Ended {
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        wall: Duration::from_ns(wall.as_nanos() as u64),
        user: after.0.saturating_sub(before.0),
        system: after.1.saturating_sub(before.1),
    })
}

/// User-mode and system time of all children that have ended.
fn children() -> Result<(Duration, Duration)> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot read the CPU time of children")?;
    let span = |time: nix::sys::time::TimeVal| Duration::from_us(time.num_microseconds().max(0) as u64);
    Ok((span(usage.user_time()), span(usage.system_time())))
}

/// Runs `command` to its end and returns the peak memory of its first process, sampled every 5 ms.
///
/// # Errors
/// As for [`run`].
pub(crate) fn peak_memory(command: &mut Command, stop: &Arc<Stop>) -> Result<Bytes> {
    let done = Arc::new(AtomicBool::new(false));
    let looker = std::thread::spawn({
        let (done, stop) = (Arc::clone(&done), Arc::clone(stop));
        move || {
            let mut most = Bytes::ZERO;
            while !done.load(Ordering::SeqCst) {
                let path = format!("/proc/{}/status", stop.running.load(Ordering::SeqCst));
                if let Some(held) = std::fs::read_to_string(path).ok().as_deref().and_then(held) {
                    most = most.max(held);
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            most
        }
    });
    let ended = run(command, stop);
    done.store(true, Ordering::SeqCst);
    let most = looker.join().unwrap_or_default();
    ended.map(|_| most)
}

/// Runs `command` to its end and gives the time from its start to the first write that `device` (its kernel name)
/// completes; `None` when none was seen. The device must be idle, and is looked at every 100 us.
///
/// # Errors
/// As for [`run`], and when the device has no counters.
pub(crate) fn first_write(command: &mut Command, device: &str, stop: &Stop) -> Result<Option<Duration>> {
    let path = format!("/sys/block/{device}/stat");
    let writes = move || std::fs::read_to_string(&path).ok().as_deref().and_then(writes_completed);
    let before = writes().with_context(|| format!("device {device} has no counters"))?;
    let done = Arc::new(AtomicBool::new(false));
    let begun = Instant::now();
    let looker = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            while !done.load(Ordering::SeqCst) {
                if writes().is_some_and(|count| count > before) {
                    return Some(begun.elapsed());
                }
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            None
        }
    });
    let ended = run(command, stop);
    done.store(true, Ordering::SeqCst);
    let seen = looker.join().unwrap_or_default();
    ended.map(|_| seen.map(|span| Duration::from_ns(span.as_nanos() as u64)))
}

/// Requests of one operation that a device completed, and the time that they took there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceTime {
    requests: u64,
    ms: u64,
}

impl DeviceTime {
    /// The mean time of a request since `before`; `None` if there was none.
    pub(crate) fn mean_ns_since(self, before: Self) -> Option<f64> {
        let requests = self.requests.saturating_sub(before.requests);
        (requests > 0).then(|| self.ms.saturating_sub(before.ms) as f64 * 1e6 / requests as f64)
    }
}

/// The kernel's counters of a device.
pub(crate) fn read_counters(node: &Path, operation: Operation) -> Option<DeviceTime> {
    let name = node.file_name()?.to_str()?;
    device_time(&std::fs::read_to_string(format!("/sys/block/{name}/stat")).ok()?, operation)
}

/// From a device's `stat` file (Documentation/block/stat.rst of the kernel): of each operation the requests, those merged, the
/// sectors and the milliseconds, reads first.
fn device_time(stat: &str, operation: Operation) -> Option<DeviceTime> {
    let first = match operation {
        Operation::Read => 0,
        Operation::Write => 4,
        Operation::Trim | Operation::Flush => return None,
    };
    let mut figures = stat.split_whitespace().skip(first).map(str::parse);
    let requests = figures.next()?.ok()?;
    Some(DeviceTime { requests, ms: figures.nth(2)?.ok()? })
}

/// Writes completed, from a device's `stat` file (Documentation/block/stat.rst of the kernel: the fifth figure).
fn writes_completed(stat: &str) -> Option<u64> {
    stat.split_whitespace().nth(4)?.parse().ok()
}

/// The high-water mark of resident memory in a process's status file.
fn held(status: &str) -> Option<Bytes> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(Bytes::kib(line.split_whitespace().next()?.parse().ok()?))
}

/// Runs a short program of the system, such as losetup; returns its output.
///
/// # Errors
/// When it is missing or fails.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Time that this thread has had a core, so that other work on the machine counts as little as it can.
pub(crate) fn core_time() -> Result<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").context("cannot tell a thread's core time")?;
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok()).context("a thread's core time is no number")?;
    Ok(Duration::from_ns(ns))
}

/// Core time that one sleep of `span` costs, waking included, of a thread that does nothing else.
pub(crate) fn core_time_of_waking(span: Duration) -> Result<Duration> {
    const TIMES: u32 = 3_000;
    let before = core_time()?;
    for _ in 0..TIMES {
        std::thread::sleep(std::time::Duration::from_nanos(span.as_ns()));
    }
    Ok(Duration::from_ns((core_time()?.as_ns() - before.as_ns()) / u64::from(TIMES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gives_what_it_printed_and_a_failure_what_it_said() {
        let stop = Stop::default();
        let ended = run(Command::new("sh").args(["-c", "echo out; echo err >&2"]), &stop).unwrap();
        assert_eq!(ended.stdout, "out\n");
        let error = run(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]), &stop).unwrap_err();
        assert!(error.to_string().contains("broken"), "{error}");
        assert!(run(&mut Command::new("/no/such/program"), &stop).is_err());
    }

    #[test]
    fn nothing_is_started_once_the_user_wants_an_end() {
        let stop = Stop::default();
        stop.wanted.store(true, Ordering::SeqCst);
        assert_eq!(run(&mut Command::new("true"), &stop).unwrap_err().to_string(), "interrupted");
    }

    #[test]
    fn writes_are_the_fifth_figure_of_a_device() {
        let stat = "     289        1     2312       20       42        3      336       17        0       36       37";
        assert_eq!(writes_completed(stat), Some(42));
        assert_eq!(writes_completed(""), None);
        let [reads, writes] =
            [Operation::Read, Operation::Write].map(|operation| device_time(stat, operation).unwrap());
        assert_eq!((reads, writes), (DeviceTime { requests: 289, ms: 20 }, DeviceTime { requests: 42, ms: 17 }));
        let later = DeviceTime { requests: 389, ms: 30 };
        assert_eq!((later.mean_ns_since(reads), reads.mean_ns_since(reads)), (Some(100_000.0), None));
    }

    #[test]
    fn the_high_water_mark_is_read_in_kibibytes() {
        assert_eq!(held("Name:\tx\nVmHWM:\t    1234 kB\nVmRSS:\t 5 kB\n"), Some(Bytes::kib(1234)));
        assert_eq!(held("Name:\tkthread\n"), None);
    }
}
