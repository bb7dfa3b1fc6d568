//! The machine by itself: its clock, its processors, their limits, its ways to a device.

use super::{MachineCheck, Suitability};
use loadline_engine::capabilities;
use loadline_kernel::facts::{self, WakeLatency};
use loadline_kernel::trace_instance::TraceFs;
use loadline_record::HostFacts;
use loadline_units::{Bytes, Duration as Span};
use std::fs;
use std::path::Path;

/// Beyond these threads wake late enough for a word: most storage answers in that time, and so do emulated disks.
const WAKING_MEDIAN: Span = Span::from_us(100);
const WAKING_P99: Span = Span::from_ms(1);
/// More than this takes long enough to be written to be seen in a figure.
const UNWRITTEN_BYTES: Bytes = Bytes::mib(64);

/// The machine by itself.
#[must_use]
pub fn check_machine(host: &HostFacts) -> Vec<MachineCheck> {
    let unknown = || "unknown".to_owned();
    let mut checks = vec![
        MachineCheck::new(
            "kernel",
            Suitability::Good,
            format!(
                "{}, {}",
                host.kernel.clone().unwrap_or_else(unknown),
                host.os.clone().unwrap_or_else(|| "distribution unknown".into())
            ),
        ),
        MachineCheck::new(
            "CPUs",
            if host.cpus == Some(1) { Suitability::Note } else { Suitability::Good },
            format!(
                "{} of {}",
                host.cpus.map_or_else(unknown, |cpus| cpus.to_string()),
                host.cpu_model.clone().unwrap_or_else(unknown)
            ),
        ),
    ];
    if let Some(memory) = host.memory_bytes {
        checks.push(MachineCheck::new("memory", Suitability::Good, Bytes::new(memory).human()));
    }
    if let Some(virtualization) = &host.virtualization {
        let detail = format!("{virtualization}: a cache on the machine's host cannot be seen from here");
        checks.push(MachineCheck::new("virtual machine", Suitability::Note, detail));
    }
    checks.push(clock(host.clock_source.as_deref()));
    checks.extend(facts::wake_latency().map(waking));
    checks.extend(governor());
    checks.extend(quotas());
    checks.push(droppable_caches());
    checks.extend(facts::memory_unwritten().map(unwritten));
    checks.extend(stale_recordings());
    checks
}

/// Buffers of recordings that were killed: they hold memory of the kernel, and are removed here.
fn stale_recordings() -> Option<MachineCheck> {
    let removed = TraceFs::open().ok()?.remove_stale();
    let detail = format!("{} of recordings that were killed: removed now", removed.join(", "));
    (!removed.is_empty()).then(|| MachineCheck::new("event buffers", Suitability::Note, detail))
}

/// The kernel writes it some seconds later, beneath whatever is measured then.
fn unwritten(held: Bytes) -> MachineCheck {
    let detail = format!("{} written by programs still on its way to devices", held.human());
    if held <= UNWRITTEN_BYTES {
        return MachineCheck::new("unwritten data", Suitability::Good, detail);
    }
    let advice = "it would be written beneath a measurement; run `sync` first (quick has the file system of its test file written back)";
    MachineCheck::new("unwritten data", Suitability::Trouble, format!("{detail}: {advice}"))
}

/// A clock that is read in user mode costs tens of nanoseconds; others cost a system call or more, twice a request.
fn clock(source: Option<&str>) -> MachineCheck {
    match source {
        Some(source @ ("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter")) => {
            MachineCheck::new("clock", Suitability::Good, source)
        }
        Some(source) => {
            let detail = format!(
                "{source}: slow to read, so latencies of a few microseconds come out too long; use tsc where the machine has it"
            );
            MachineCheck::new("clock", Suitability::Note, detail)
        }
        None => MachineCheck::new("clock", Suitability::Note, "the kernel does not name its clock source"),
    }
}

/// Where threads wake late, so does whatever waits for a device.
fn waking(seen: WakeLatency) -> MachineCheck {
    let WakeLatency { median, p99 } = seen;
    let detail =
        format!("a thread that sleeps comes back {} late (median), {} late (p99)", median.human(), p99.human());
    if median <= WAKING_MEDIAN && p99 <= WAKING_P99 {
        return MachineCheck::new("waking", Suitability::Good, detail);
    }
    let advice = "latency at low depth and answers of emulated disks come as much later. If the CPUs are idle, the hypervisor is the \
                  cause: measure on a machine with CPUs of its own, or at another hour";
    MachineCheck::new("waking", Suitability::Note, format!("{detail}: {advice}"))
}

fn governor() -> Option<MachineCheck> {
    let governor = read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    Some(if governor == "performance" {
        MachineCheck::new("CPU frequency", Suitability::Good, "governor performance")
    } else {
        let detail = format!(
            "governor {governor}: latency at low load depends on how fast the CPU wakes up; for the measurement: cpupower frequency-set -g performance"
        );
        MachineCheck::new("CPU frequency", Suitability::Note, detail)
    })
}

/// Limits of the control group that this process is in, and of those above it.
fn quotas() -> Vec<MachineCheck> {
    let Some(group) = read_line("/proc/self/cgroup").and_then(|line| Some(line.strip_prefix("0::")?.to_owned())) else {
        return Vec::new();
    };
    let root = Path::new("/sys/fs/cgroup");
    let own = root.join(group.trim_start_matches('/'));
    let mut checks = Vec::new();
    for directory in own.ancestors().take_while(|directory| directory.starts_with(root)) {
        let limit = |file: &str| read_line(directory.join(file));
        if let Some(cpu) = limit("cpu.max").filter(|text| !text.starts_with("max")) {
            let detail = format!(
                "{} grants {cpu} (microseconds of CPU in each period): measure outside of this group, or lift its limit",
                directory.display()
            );
            checks.push(MachineCheck::new("CPU quota", Suitability::Trouble, detail));
        }
        if let Some(io) = limit("io.max").filter(|text| !text.is_empty()) {
            let detail = format!(
                "{} limits I/O: {io}: what is measured is this limit; lift it, or measure outside of this group",
                directory.display()
            );
            checks.push(MachineCheck::new("I/O limit", Suitability::Trouble, detail));
        }
    }
    checks
}

fn droppable_caches() -> MachineCheck {
    let opened = fs::OpenOptions::new().write(true).open("/proc/sys/vm/drop_caches");
    let result = opened.map(|_| "the machine's caches can be dropped between trials".to_owned()).map_err(|error| {
        format!("the machine's caches cannot be dropped ({error}); direct I/O needs no dropping, buffered loads do")
    });
    MachineCheck::good_or("dropping caches", result, Suitability::Note)
}

/// The ways of this machine to a device.
#[must_use]
pub fn check_engines() -> Vec<MachineCheck> {
    let found = capabilities();
    let none = found.io_uring.is_err() && found.aio.is_err();
    let verdict = if none { Suitability::Trouble } else { Suitability::Note };
    let available = |result: Result<(), String>| result.map(|()| "available".to_owned());
    vec![
        MachineCheck::good_or("io_uring", available(found.io_uring), verdict),
        MachineCheck::good_or("Linux AIO", available(found.aio), verdict),
    ]
}

fn read_line(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_clock_is_told() {
        assert_eq!(clock(Some("tsc")).verdict, Suitability::Good);
        assert_eq!(clock(Some("hpet")).verdict, Suitability::Note);
    }

    #[test]
    fn what_waits_to_be_written_is_told_from_where_it_would_be_seen_on() {
        let verdict = |mib| unwritten(Bytes::mib(mib)).verdict;
        assert_eq!(
            [0, 64, 65, 4_096].map(verdict),
            [Suitability::Good, Suitability::Good, Suitability::Trouble, Suitability::Trouble]
        );
        assert!(unwritten(Bytes::gib(3)).detail.starts_with("3.00 GiB written"), "{}", unwritten(Bytes::gib(3)).detail);
        assert!(unwritten(Bytes::gib(3)).detail.contains("`sync`"));
    }

    #[test]
    fn who_is_woken_late_is_told_what_that_spoils() {
        let seen = |median, p99| waking(WakeLatency { median: Span::from_us(median), p99: Span::from_us(p99) });
        assert_eq!(seen(100, 1_000).verdict, Suitability::Good);
        for late in [seen(101, 300), seen(60, 1_001)] {
            assert!(late.verdict == Suitability::Note && late.detail.contains("emulated disks"), "{}", late.detail);
        }
        assert!(
            seen(60, 1_500).detail.starts_with("a thread that sleeps comes back 60.0 us late (median), 1.50 ms late")
        );
    }
}
