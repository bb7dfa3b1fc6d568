//! `doctor`: what this machine can do, and what would spoil a measurement here.

use crate::arguments::{DoctorArguments, Format};
use crate::failure::Outcome;
use crate::output::{self, Column, Field, Table};
use crate::recognition;
use crate::words;

use loadline_emulator::ublk_is_here;
use loadline_engine::{Access, Need, Observation, Volume, capabilities};
use loadline_kernel::facts;
use loadline_kernel::facts::WakeLatency;
use loadline_kernel::ublk::UblkError;
use loadline_record::{FileSystemFacts, HostFacts, MEMORY_FILE_SYSTEMS, Surroundings, TargetKind, VolumeFacts};
use loadline_runs::leftovers;
use loadline_units::{Bytes, Duration as Span};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long the machine is watched at rest.
const WATCHED: Duration = Duration::from_secs(1);
/// The file that tries out a directory; gone when the look is over.
const TRIAL_SIZE: Bytes = Bytes::MIB;
/// From here on shares of CPU time are worth a word.
const BUSY_SHARE: f64 = 0.10;
const STEAL_SHARE: f64 = 0.01;
/// Beyond these threads wake late enough for a word: most storage answers in that time, and so do emulated disks.
const WAKING_MEDIAN: Span = Span::from_us(100);
const WAKING_P99: Span = Span::from_ms(1);
/// From here on another process's I/O in a second is worth a word.
const OTHER_BYTES: u64 = 1 << 20;
/// More than this takes long enough to be written to be seen in a figure.
const UNWRITTEN_BYTES: Bytes = Bytes::mib(64);

/// How a thing looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Would spoil a measurement, or keep it from being made.
    Trouble,
    /// To be known when figures are read.
    Note,
    /// As it should be.
    Good,
}

impl Verdict {
    const fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Note => "note",
            Self::Trouble => "trouble",
        }
    }
}

/// One thing looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    what: String,
    verdict: Verdict,
    detail: String,
}

impl Check {
    fn new(what: impl Into<String>, verdict: Verdict, detail: impl Into<String>) -> Self {
        Self { what: what.into(), verdict, detail: detail.into() }
    }
    fn good_or(what: &str, result: Result<String, String>, bad: Verdict) -> Self {
        match result {
            Ok(detail) => Self::new(what, Verdict::Good, detail),
            Err(detail) => Self::new(what, bad, detail),
        }
    }
}

/// Looks, and prints what was seen. Ends well whatever it sees: it answers a question.
pub(crate) fn doctor(arguments: &DoctorArguments) -> anyhow::Result<Outcome> {
    let host = facts::host();
    let mut checks = machine(&host);
    checks.extend(engines());
    checks.extend(target(&arguments.path));
    // What matters comes first; within that, from the machine down to the target.
    checks.sort_by_key(|check| check.verdict);
    let mut table =
        Table::new(&[Column::words("", "verdict"), Column::words("what", "what"), Column::words("seen", "detail")]);
    for check in &checks {
        table.push(vec![Field::text(check.verdict.name()), Field::text(&check.what), Field::text(&check.detail)]);
    }
    let format = arguments.printing.format;
    let table = table.render(format, output::colour_wanted());
    match format {
        Format::Table => output::print(&format!("{}\n\n{table}", conclusion(&checks)))?,
        Format::Json | Format::Csv | Format::Markdown => output::print(&table)?,
    }
    Ok(Outcome::Done)
}

fn conclusion(checks: &[Check]) -> String {
    let troubles: Vec<&str> =
        checks.iter().filter(|check| check.verdict == Verdict::Trouble).map(|check| check.what.as_str()).collect();
    if troubles.is_empty() {
        "Nothing seen that would spoil a measurement here.".to_owned()
    } else {
        format!("Would spoil a measurement here, or keep it from being made: {}.", troubles.join(", "))
    }
}

// ---- the machine

fn machine(host: &HostFacts) -> Vec<Check> {
    let unknown = || "unknown".to_owned();
    let mut checks = vec![
        Check::new(
            "kernel",
            Verdict::Good,
            format!(
                "{}, {}",
                host.kernel.clone().unwrap_or_else(unknown),
                host.os.clone().unwrap_or_else(|| "distribution unknown".into())
            ),
        ),
        Check::new(
            "CPUs",
            if host.cpus == Some(1) { Verdict::Note } else { Verdict::Good },
            format!(
                "{} of {}",
                host.cpus.map_or_else(unknown, |cpus| cpus.to_string()),
                host.cpu_model.clone().unwrap_or_else(unknown)
            ),
        ),
    ];
    if let Some(memory) = host.memory_bytes {
        checks.push(Check::new("memory", Verdict::Good, Bytes::new(memory).human()));
    }
    if let Some(virtualization) = &host.virtualization {
        let detail = format!("{virtualization}: a cache on the machine's host cannot be seen from here");
        checks.push(Check::new("virtual machine", Verdict::Note, detail));
    }
    checks.push(Check::good_or("cloud", recognition::in_a_line(), Verdict::Note));
    checks.push(clock(host.clock_source.as_deref()));
    checks.extend(facts::wake_latency().map(waking));
    checks.extend(governor());
    checks.extend(quotas());
    checks.push(droppable_caches());
    checks.extend(facts::memory_unwritten().map(unwritten));
    checks
}

/// The kernel writes it some seconds later, beneath whatever is measured then.
fn unwritten(held: Bytes) -> Check {
    let detail = format!("{} written by programs still on its way to devices", held.human());
    if held <= UNWRITTEN_BYTES {
        return Check::new("unwritten data", Verdict::Good, detail);
    }
    let advice = "it would be written beneath a measurement; run `sync` first (quick has the file system of its test file written back)";
    Check::new("unwritten data", Verdict::Trouble, format!("{detail}: {advice}"))
}

/// A clock that is read in user mode costs tens of nanoseconds; others cost a system call or more, twice a request.
fn clock(source: Option<&str>) -> Check {
    match source {
        Some(source @ ("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter")) => {
            Check::new("clock", Verdict::Good, source)
        }
        Some(source) => {
            let detail = format!(
                "{source}: slow to read, so latencies of a few microseconds come out too long; use tsc where the machine has it"
            );
            Check::new("clock", Verdict::Note, detail)
        }
        None => Check::new("clock", Verdict::Note, "the kernel does not name its clock source"),
    }
}

/// Where threads wake late, so does whatever waits for a device.
fn waking(seen: WakeLatency) -> Check {
    let WakeLatency { median, p99 } = seen;
    let detail =
        format!("a thread that sleeps comes back {} late (median), {} late (p99)", median.human(), p99.human());
    if median <= WAKING_MEDIAN && p99 <= WAKING_P99 {
        return Check::new("waking", Verdict::Good, detail);
    }
    let advice = "latency at low depth is as much longer for whoever sleeps, and answers of emulated disks leave as much later; where the CPUs \
                  are idle it is the hypervisor: measure on a machine with CPUs of its own, or at another hour";
    Check::new("waking", Verdict::Note, format!("{detail}: {advice}"))
}

fn governor() -> Option<Check> {
    let governor = read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")?;
    Some(if governor == "performance" {
        Check::new("CPU frequency", Verdict::Good, "governor performance")
    } else {
        let detail = format!(
            "governor {governor}: latency at low load depends on how fast the CPU wakes up; for the measurement: cpupower frequency-set -g performance"
        );
        Check::new("CPU frequency", Verdict::Note, detail)
    })
}

/// Limits of the control group that this process is in, and of those above it.
fn quotas() -> Vec<Check> {
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
            checks.push(Check::new("CPU quota", Verdict::Trouble, detail));
        }
        if let Some(io) = limit("io.max").filter(|text| !text.is_empty()) {
            let detail = format!(
                "{} limits I/O: {io}: what is measured is this limit; lift it, or measure outside of this group",
                directory.display()
            );
            checks.push(Check::new("I/O limit", Verdict::Trouble, detail));
        }
    }
    checks
}

fn droppable_caches() -> Check {
    let opened = fs::OpenOptions::new().write(true).open("/proc/sys/vm/drop_caches");
    let result = opened.map(|_| "the machine's caches can be dropped between trials".to_owned()).map_err(|error| {
        format!("the machine's caches cannot be dropped ({error}); direct I/O needs no dropping, buffered loads do")
    });
    Check::good_or("dropping caches", result, Verdict::Note)
}

fn engines() -> Vec<Check> {
    let found = capabilities();
    let none = found.io_uring.is_err() && found.aio.is_err();
    let verdict = if none { Verdict::Trouble } else { Verdict::Note };
    let available = |result: Result<(), String>| result.map(|()| "available".to_owned());
    vec![
        Check::good_or("io_uring", available(found.io_uring), verdict),
        Check::good_or("Linux AIO", available(found.aio), verdict),
        attaching(ublk_is_here()),
    ]
}

/// How `emulate --attach` would make block devices. It spoils no measurement.
fn attaching(ublk: Result<(), UblkError>) -> Check {
    let detail = match ublk {
        Ok(()) => "by ublk".to_owned(),
        Err(error) => format!("by FUSE and loop devices: {error}"),
    };
    Check::new("emulate --attach", Verdict::Good, detail)
}

// ---- the target

fn target(path: &Path) -> Vec<Check> {
    let typed = path.display().to_string();
    let need = Need { size: path.is_dir().then_some(TRIAL_SIZE), files: 1, ..Need::default() };
    match Volume::open("target", &typed, &need, &Access::default()) {
        Err(error) => vec![Check::new(typed, Verdict::Trouble, words::of(&error))],
        Ok(volume) => {
            let mut checks = of_volume(&volume.facts);
            checks.extend(leftovers::in_directory(path, leftovers::NAME_BEGIN).into_iter().map(|leftover| {
                let detail = format!(
                    "{} ({}): kept by a run, or left by one that was killed; if no loadline is at work here, remove it",
                    leftover.path.display(),
                    leftover.size.human()
                );
                Check::new("test file", Verdict::Note, detail)
            }));
            let observation = Observation::begin(&volume);
            std::thread::sleep(WATCHED);
            checks.extend(at_rest(&observation.end(&volume)));
            checks
        }
    }
}

fn of_volume(volume: &VolumeFacts) -> Vec<Check> {
    let mut checks = Vec::new();
    let direct = match &volume.direct_reason {
        _ if volume.kind == TargetKind::Nbd => {
            Ok("past this machine's page cache; what the server caches cannot be seen from here".to_owned())
        }
        _ if volume.direct => Ok("taken: the page cache stays out of the way".to_owned()),
        Some(reason) => Err(format!(
            "refused: {reason}; the page cache takes part in every figure. Name a directory on a disk of its own file system"
        )),
        None => Err("refused; the page cache takes part in every figure".to_owned()),
    };
    checks.push(Check::good_or("direct I/O", direct, Verdict::Trouble));
    if let Some(file_system) = &volume.file_system {
        checks.extend(of_file_system(file_system));
    }
    for device in &volume.devices {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(device.model.clone());
        parts.extend(device.size_bytes.map(|size| Bytes::new(size).human()));
        parts.extend(device.rotational.map(|spins| if spins { "rotational" } else { "not rotational" }.to_owned()));
        parts.extend(device.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")));
        parts.extend(device.queue_requests.map(|requests| format!("{requests} requests queued at most")));
        parts.extend(device.request_bytes_max.map(|size| format!("split above {}", Bytes::new(size).human())));
        let pieces = device.request_segments_max;
        parts.extend(pieces.map(|most| format!("split above {most} pieces of memory")));
        parts.extend(device.write_cache.as_ref().map(|cache| format!("write cache: {cache}")));
        parts.extend(device.backing_file.as_ref().map(|file| format!("backed by {file}")));
        let mut verdict = Verdict::Good;
        let kind = device.backing_file_system.as_deref();
        if let Some(kind) = kind.filter(|kind| MEMORY_FILE_SYSTEMS.contains(kind)) {
            verdict = Verdict::Trouble;
            parts.push(format!("a file in a {kind}: this is memory, no storage"));
        } else if device.backing_direct == Some(false) {
            verdict = Verdict::Trouble;
            let advice = "through the page cache, which answers for the disk: attach it with losetup --direct-io=on";
            parts.push(advice.to_owned());
        }
        checks.push(Check::new(format!("device {}", device.name), verdict, parts.join(", ")));
    }
    if volume.devices.is_empty() && volume.file_system.is_some() {
        let detail = "no block device found below: what reaches storage cannot be counted here";
        checks.push(Check::new("device", Verdict::Note, detail));
    }
    checks
}

fn of_file_system(facts: &FileSystemFacts) -> Vec<Check> {
    let place = format!("{} on {} at {}", facts.kind, facts.source, facts.mount_point);
    let (verdict, remark) = match facts.kind.as_str() {
        "overlay" if facts.in_memory().is_some() => {
            (Verdict::Trouble, " over memory: this is no storage; measure a volume that is mounted into the container")
        }
        "overlay" => (Verdict::Trouble, ": a container's own layer; measure a volume that is mounted into it"),
        "tmpfs" | "ramfs" => (Verdict::Trouble, ": this is memory, no storage; name a directory on a disk"),
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" | "fuse" => {
            (Verdict::Note, ": another machine or process stands between here and the storage")
        }
        _ => (Verdict::Good, ""),
    };
    let mut checks = vec![Check::new("file system", verdict, place + remark)];
    if let Some(option) = facts.options.split(',').find(|option| option.starts_with("compress")) {
        let detail = format!("mounted with {option}; the data written does not compress, so figures stay honest");
        checks.push(Check::new("compression", Verdict::Note, detail));
    }
    if let Some(free) = facts.free_bytes {
        let (verdict, advice) = if free < Bytes::gib(2).get() {
            (Verdict::Note, ": too little for a test file that caches cannot hold; free some")
        } else {
            (Verdict::Good, "")
        };
        checks.push(Check::new("free space", verdict, Bytes::new(free).human() + advice));
    }
    checks
}

/// The machine while it is left alone for a moment.
fn at_rest(seen: &Surroundings) -> Vec<Check> {
    let mut checks = Vec::new();
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut judge = |what: String, spoiled: bool, detail: String, advice: &str| {
        checks.push(if spoiled {
            Check::new(what, Verdict::Trouble, format!("{detail}; {advice}"))
        } else {
            Check::new(what, Verdict::Good, detail)
        });
    };
    if let Some(cpu) = seen.machine {
        let detail = format!("{} busy over the last second", percent(cpu.busy));
        judge("CPUs at rest".into(), cpu.busy > BUSY_SHARE, detail, "end what keeps them busy (see top), then measure");
        let detail = format!("{} taken by the hypervisor", percent(cpu.steal));
        judge(
            "steal".into(),
            cpu.steal > STEAL_SHARE,
            detail,
            "measure on a machine with CPUs of its own, or at another hour",
        );
    }
    if let Some(pressure) = seen.pressure {
        let share = |us: u64| us as f64 * 1e3 / seen.elapsed_ns.max(1) as f64;
        let (cpu, io) = (share(pressure.cpu_some_us), share(pressure.io_some_us));
        let detail = format!("tasks waited for a CPU {} of the time, for I/O {}", percent(cpu), percent(io));
        judge("pressure".into(), cpu.max(io) > BUSY_SHARE, detail, "wait until the machine is idle");
    }
    for device in &seen.devices {
        let requests = device.reads + device.writes + device.discards;
        let detail = format!(
            "{requests} requests from others in the last second ({} read, {} written)",
            Bytes::new(device.read_bytes).human(),
            Bytes::new(device.write_bytes).human()
        );
        let spoiled = device.read_bytes + device.write_bytes > OTHER_BYTES;
        judge(
            format!("load on {}", device.name),
            spoiled,
            detail,
            "stop it: notes on other load below name who it may be",
        );
    }
    for other in seen.others.iter().filter(|other| other.read_bytes + other.write_bytes > OTHER_BYTES) {
        let detail = format!(
            "process {} read {} and wrote {} in the last second",
            other.pid,
            Bytes::new(other.read_bytes).human(),
            Bytes::new(other.write_bytes).human()
        );
        checks.push(Check::new(format!("other load: {}", other.name), Verdict::Note, detail));
    }
    checks
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
        assert_eq!(clock(Some("tsc")).verdict, Verdict::Good);
        assert_eq!(clock(Some("hpet")).verdict, Verdict::Note);
    }

    #[test]
    fn what_waits_to_be_written_is_told_from_where_it_would_be_seen_on() {
        let verdict = |mib| unwritten(Bytes::mib(mib)).verdict;
        assert_eq!([0, 64, 65, 4_096].map(verdict), [Verdict::Good, Verdict::Good, Verdict::Trouble, Verdict::Trouble]);
        assert!(unwritten(Bytes::gib(3)).detail.starts_with("3.00 GiB written"), "{}", unwritten(Bytes::gib(3)).detail);
        assert!(unwritten(Bytes::gib(3)).detail.contains("`sync`"));
    }

    #[test]
    fn who_is_woken_late_is_told_what_that_spoils() {
        let seen = |median, p99| waking(WakeLatency { median: Span::from_us(median), p99: Span::from_us(p99) });
        assert_eq!(seen(100, 1_000).verdict, Verdict::Good);
        for late in [seen(101, 300), seen(60, 1_001)] {
            assert!(late.verdict == Verdict::Note && late.detail.contains("emulated disks"), "{}", late.detail);
        }
        assert!(
            seen(60, 1_500).detail.starts_with("a thread that sleeps comes back 60.0 us late (median), 1.50 ms late")
        );
    }

    #[test]
    fn a_container_layer_and_memory_are_no_storage() {
        for kind in ["overlay", "tmpfs"] {
            let facts = FileSystemFacts { kind: kind.into(), ..FileSystemFacts::default() };
            assert_eq!(of_file_system(&facts)[0].verdict, Verdict::Trouble);
        }
    }

    #[test]
    fn what_spoils_a_measurement_comes_with_what_to_do() {
        let cpu = loadline_record::MachineCpu { busy: 0.9, iowait: 0.0, steal: 0.0, cpus: 2 };
        let checks = at_rest(&Surroundings { machine: Some(cpu), ..Surroundings::default() });
        assert_eq!((checks[0].verdict, checks[1].verdict), (Verdict::Trouble, Verdict::Good));
        assert!(checks[0].detail.contains("90 % busy") && checks[0].detail.contains("end what"), "{checks:?}");
        assert!(
            Verdict::Trouble < Verdict::Note && Verdict::Note < Verdict::Good,
            "the order in which they are printed"
        );
    }

    #[test]
    fn the_conclusion_names_every_trouble() {
        let checks = [Check::new("a", Verdict::Good, ""), Check::new("b", Verdict::Trouble, "")];
        assert!(conclusion(&checks).ends_with("made: b."));
        assert!(conclusion(&checks[..1]).starts_with("Nothing"));
    }
}
