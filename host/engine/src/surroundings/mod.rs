//! What happened around a trial: CPU time, pressure, the devices' own counters, the page cache, other processes, the clock.

mod counters;
mod exceeded;
mod processes;
mod quota;

use crate::facts::clock_source;
use crate::facts::devices::{BlockDevice, KernelView};
use crate::system_calls::{KernelClock, clock_ns, process_cpu_ns};
use crate::target::Volume;
use counters::{CpuTicks, cpu_shares, cpu_ticks, disk_change, disk_counters, pressure, pressure_change};
use loadline_record::{ClockCheck, DeviceCounters, Exceeded, Pressure, Residency, Stops, Surroundings};
use processes::ProcessBytes;
use std::fs;
use std::thread::JoinHandle;

/// What the machine showed when it was begun, just before a trial; [`Observation::end`] compares.
#[derive(Debug)]
pub struct Observation {
    view: KernelView,
    before: Snapshot,
    /// Looking through all processes takes milliseconds: it goes on while the load begins.
    processes: JoinHandle<ProcessBytes>,
}

/// Everything that is compared.
#[derive(Debug)]
struct Snapshot {
    clocks: Clocks,
    /// User mode, system, ns.
    tool_cpu: (u64, u64),
    cpu: Option<CpuTicks>,
    pressure: Option<Pressure>,
    devices: Vec<DeviceCounters>,
    cached_share: Option<f64>,
    exceeded: Vec<Exceeded>,
    throttled_ns: Option<u64>,
}

impl Observation {
    /// Looks for the first time.
    #[must_use]
    pub fn begin(volume: &Volume) -> Self {
        let view = KernelView::live();
        // What takes long comes first, what is compared to the nanosecond last; `end` goes the other way.
        let processes = std::thread::spawn({
            let proc = view.proc.clone();
            move || ProcessBytes::read(&proc)
        });
        let cached_share = volume.cached_share();
        let exceeded = exceeded::read(&view, &volume.facts.devices);
        let (cpu, pressure) = (read_cpu(&view), read_pressure(&view));
        let devices = read_devices(&view, volume);
        let before = Snapshot {
            tool_cpu: process_cpu_ns(),
            clocks: Clocks::read(),
            cpu,
            pressure,
            devices,
            cached_share,
            exceeded,
            throttled_ns: quota::throttled_ns(&view),
        };
        Self { view, before, processes }
    }

    /// Looks again and gives the changes. What only the load's driver knows (`threads`, `load_user_ns`, `load_system_ns`,
    /// `asked`, and of `stops` all but the quotas) is left empty.
    #[must_use]
    pub fn end(self, volume: &Volume) -> Surroundings {
        let Self { view, before, processes: processes_before } = self;
        let clocks = Clocks::read();
        let tool_cpu = process_cpu_ns();
        let devices = read_devices(&view, volume);
        let (cpu, pressure) = (read_cpu(&view), read_pressure(&view));
        let residency =
            before.cached_share.zip(volume.cached_share()).map(|(before, after)| Residency { before, after });
        let throttled_ns = before.throttled_ns.zip(quota::throttled_ns(&view));
        let throttled_ns = throttled_ns.map(|(before, after)| after.saturating_sub(before));
        let exceeded = exceeded::change(&before.exceeded, &exceeded::read(&view, &volume.facts.devices));
        let processes = ProcessBytes::read(&view.proc);
        let processes_before = processes_before.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Surroundings {
            elapsed_ns: (clocks.monotonic - before.clocks.monotonic).max(0) as u64,
            tool_user_ns: tool_cpu.0.saturating_sub(before.tool_cpu.0),
            tool_system_ns: tool_cpu.1.saturating_sub(before.tool_cpu.1),
            machine: before.cpu.zip(cpu).and_then(|(before, after)| cpu_shares(before, after)),
            pressure: before.pressure.zip(pressure).map(|(before, after)| pressure_change(before, after)),
            devices: devices
                .iter()
                .filter_map(|after| Some((before.devices.iter().find(|b| b.name == after.name)?, after)))
                .map(|(before, after)| disk_change(before, after))
                .collect(),
            residency,
            others: processes.busiest_since(&processes_before, &view.proc),
            clock: before.clocks.check(&clocks),
            exceeded,
            stops: Some(Stops { throttled_ns, ..Stops::default() }),
            ..Surroundings::default()
        }
    }
}

fn read_cpu(view: &KernelView) -> Option<CpuTicks> {
    cpu_ticks(&fs::read_to_string(view.proc.join("stat")).ok()?)
}

fn read_pressure(view: &KernelView) -> Option<Pressure> {
    let text = |what: &str| fs::read_to_string(view.proc.join("pressure").join(what)).ok();
    pressure(&text("cpu")?, &text("io")?, &text("memory")?)
}

/// Counters of the volume's devices; a device that does not count is left out, for its zeros would say "no I/O".
fn read_devices(view: &KernelView, volume: &Volume) -> Vec<DeviceCounters> {
    let counting = |name: &&String| BlockDevice::by_name(view, name).is_some_and(|device| device.counts_io());
    let names: Vec<String> = volume.holding.counted.iter().filter(counting).cloned().collect();
    if names.is_empty() {
        return Vec::new();
    }
    disk_counters(&fs::read_to_string(view.proc.join("diskstats")).unwrap_or_default(), &names)
}

/// The kernel's clocks at about the same instant, ns.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    monotonic: i64,
    raw: i64,
    realtime: i64,
}

impl Clocks {
    /// Reads between two readings of the monotonic clock; of a few attempts the one least disturbed.
    fn read() -> Self {
        const ATTEMPTS: u32 = 5;
        let attempt = || {
            let first = clock_ns(KernelClock::Monotonic);
            let (raw, realtime) = (clock_ns(KernelClock::MonotonicRaw), clock_ns(KernelClock::Realtime));
            let width = clock_ns(KernelClock::Monotonic) - first;
            (width, Self { monotonic: first + width / 2, raw, realtime })
        };
        let mut best = attempt();
        for _ in 1..ATTEMPTS {
            let next = attempt();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    fn check(&self, later: &Self) -> Option<ClockCheck> {
        // Below this the readings' own jitter (some 100 ns) would pass for drift of more than 10 ppm.
        const SPAN_MIN_NS: i64 = 10_000_000;
        let raw = later.raw - self.raw;
        let monotonic = later.monotonic - self.monotonic;
        (raw >= SPAN_MIN_NS).then(|| ClockCheck {
            source: clock_source(),
            drift_ppm: (monotonic - raw) as f64 * 1e6 / raw as f64,
            wall_step_ns: later.realtime - self.realtime - monotonic,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Access, Need};
    use loadline_units::Bytes;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    fn volume(target: &str) -> Volume {
        let need = Need { size: Some(Bytes::mib(8)), buffered: true, ..Need::default() };
        Volume::open("data", target, &need, &Access::default()).unwrap()
    }

    #[test]
    fn the_tools_own_work_and_the_devices_are_seen() {
        let volume = volume(".");
        let observation = Observation::begin(&volume);
        volume.files[0].write_all_at(&vec![1; 4 << 20], 0).unwrap();
        volume.files[0].sync_data().unwrap();
        let started = std::time::Instant::now();
        let mut count = 0_u64;
        while started.elapsed().as_millis() < 30 {
            count += 1;
        }
        let seen = observation.end(&volume);
        assert!(count > 0 && seen.elapsed_ns >= 30_000_000);
        assert!(seen.tool_user_ns + seen.tool_system_ns > 0);
        let residency = seen.residency.expect("this kernel tells what is cached");
        assert!(residency.after > residency.before, "{residency:?}");
        assert!(seen.clock.expect("long enough").drift_ppm.abs() < 10_000.0);
        let written: u64 = seen.devices.iter().map(|d| d.write_bytes).sum();
        assert!(seen.devices.is_empty() || written >= 4 << 20, "{:?}", seen.devices);
        assert!(seen.others.len() <= 5);
    }

    #[test]
    fn a_null_target_has_no_devices_and_no_residency() {
        let volume = volume("null");
        let seen = Observation::begin(&volume).end(&volume);
        assert!(seen.devices.is_empty());
        assert_eq!(seen.residency, None);
        assert_eq!(seen.clock, None, "too short to tell");
    }

    #[test]
    fn a_busy_neighbour_is_named() {
        let volume = volume(".");
        let observation = Observation::begin(&volume);
        // A shell that writes and then waits for its input to end, so that it is there to be seen. The kernel counts pages when they
        // become dirty; in a large folio that is written in pieces it was seen to count half of them.
        let directory = tempfile::tempdir_in(".").unwrap();
        let script = "printf '%12000000s' '' > x; sync x; echo done; read line";
        let mut neighbour = std::process::Command::new("bash")
            .args(["-c", script])
            .current_dir(directory.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(neighbour.stdout.as_mut().unwrap()), &mut line)
            .unwrap();
        let seen = observation.end(&volume);
        neighbour.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        neighbour.wait().unwrap();
        if fs::read_to_string("/proc/1/io").is_err() && seen.others.is_empty() {
            println!("skipped: this user may not look into other processes");
            return;
        }
        let found = seen.others.iter().find(|o| o.pid == neighbour.id());
        // Others may be busier on a busy machine; then five of them are named.
        assert!(found.is_some_and(|o| o.write_bytes >= 3_000_000) || seen.others.len() == 5, "{:?}", seen.others);
    }
}
