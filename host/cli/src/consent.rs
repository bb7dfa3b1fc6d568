//! What speaks against a load, as sentences, and the user's answer to it.

use crate::shell::in_shell;
use loadline_report::rates as figures;
use loadline_runs::{BUSY_SHARE, Concern, Consent, DeviceUse, MemoryTarget};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often a question looks whether the user wants an end instead.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Processes named of those that use a device.
const PROCESSES_MAX: usize = 3;
/// Disks named in place of memory.
const DISKS_MAX: usize = 6;

/// What is to be said of a concern before the answer is known.
pub(crate) fn sentences(concern: &Concern) -> String {
    match concern {
        Concern::Memory(found) => memory(found),
        Concern::InUse(devices) => {
            let mut lines: Vec<String> = devices.iter().map(device).collect();
            lines.push("a measurement slows them down, and they slow down the measurement".to_owned());
            lines.join("\n")
        }
    }
}

/// "others use vda: 600 IOPS, 4.9 MB/s, busy 11 % of the time; processes that read or write: fio (pid 7, 4.9 MB/s)".
pub(crate) fn device(of: &DeviceUse) -> String {
    let rate = format!(
        "others use {} ({}): {}, {}, busy {:.0} % of the time",
        of.device,
        of.target,
        figures::iops(of.iops),
        figures::megabytes_per_s(of.bytes_per_s),
        of.busy * 100.0
    );
    let named =
        |(name, pid, bytes): &(String, u32, f64)| format!("{name} (pid {pid}, {})", figures::megabytes_per_s(*bytes));
    let named: Vec<String> = of.processes.iter().take(PROCESSES_MAX).map(named).collect();
    if named.is_empty() {
        return format!("{rate}; no process of it can be seen from here");
    }
    format!("{rate}; processes that read or write: {}", named.join(", "))
}

/// That a target is memory, and the disks in its place.
pub(crate) fn memory(found: &MemoryTarget) -> String {
    let MemoryTarget { target, kind, disks } = found;
    let disk = |disk: &loadline_runs::RealDisk| {
        let folders = match disk.folders.as_slice() {
            [] => "no folder of it is mounted here".to_owned(),
            folders => folders.join(", "),
        };
        format!("{} ({}): {folders}", disk.name, disk.size.human())
    };
    let listed: Vec<String> = disks.iter().take(DISKS_MAX).map(disk).collect();
    let instead = match disks.iter().find_map(|disk| disk.folders.first()) {
        _ if listed.is_empty() => "no disk of this machine can be seen from here".to_owned(),
        Some(folder) => {
            format!("disks of this machine: {}. Try `loadline quick {}`", listed.join("; "), in_shell(folder))
        }
        None => format!("disks of this machine: {}", listed.join("; ")),
    };
    format!("{target} is {kind}: that is memory, and its figures say nothing about a disk; {instead}")
}

/// The answer where nobody needs to be, or can be, asked; `None`: the terminal is to be asked.
pub(crate) fn answer(concern: &Concern, agrees: bool, has_terminal: bool) -> Option<Consent> {
    match concern {
        _ if agrees => Some(Consent::Given),
        _ if has_terminal => None,
        Concern::InUse(devices) if !devices.iter().any(DeviceUse::is_busy) => Some(Consent::Given),
        _ => Some(Consent::Withheld),
    }
}

/// Whether a question can be put to somebody.
pub(crate) fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks on the terminal. A wish to end is a no.
pub(crate) fn ask(wants_an_end: impl Fn() -> bool) -> Consent {
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "Go on? [y/N] ").and_then(|()| out.flush());
    drop(out);
    let (answered, wait) = channel();
    // Left behind where nobody answers: it ends with the process.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = std::io::stdin().read_line(&mut line);
        let _ = answered.send(line);
    });
    loop {
        match wait.recv_timeout(LOOK_EVERY) {
            Ok(line) => return said(&line),
            Err(RecvTimeoutError::Timeout) if !wants_an_end() => {}
            Err(_) => return Consent::Withheld,
        }
    }
}

/// What an answer means; nothing but a yes is one.
fn said(line: &str) -> Consent {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Consent::Given,
        _ => Consent::Withheld,
    }
}

/// The share from which a busy device wants `--yes`, for people.
pub(crate) fn busy_share() -> String {
    format!("{:.0} %", BUSY_SHARE * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(busy: f64) -> Concern {
        Concern::InUse(vec![DeviceUse {
            device: "vda".into(),
            target: "/data".into(),
            looked: Duration::from_secs(2),
            busy,
            iops: 600.0,
            bytes_per_s: 4_915_200.0,
            processes: vec![("fio".into(), 7, 4_915_200.0)],
        }])
    }

    #[test]
    fn who_uses_a_device_is_said_with_how_much() {
        assert_eq!(
            sentences(&used(0.108)),
            "others use vda (/data): 600 IOPS, 4.92 MB/s, busy 11 % of the time; processes that read or write: \
             fio (pid 7, 4.92 MB/s)\na measurement slows them down, and they slow down the measurement"
        );
    }

    #[test]
    fn scripts_go_on_beside_others_unless_the_device_is_busy_or_memory() {
        let memory = Concern::Memory(MemoryTarget { target: "/x".into(), kind: "a tmpfs".into(), disks: Vec::new() });
        for concern in [&used(0.1), &used(0.79)] {
            assert_eq!(answer(concern, false, false), Some(Consent::Given));
        }
        for concern in [&used(0.8), &memory] {
            assert_eq!(answer(concern, false, false), Some(Consent::Withheld));
            assert_eq!(answer(concern, true, false), Some(Consent::Given));
            assert_eq!(answer(concern, false, true), None, "the user is asked");
        }
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        assert_eq!(["y\n", "YES \n"].map(said), [Consent::Given; 2]);
        assert_eq!(["", "\n", "n\n", "yep\n"].map(said), [Consent::Withheld; 4]);
    }

    #[test]
    fn memory_is_refused_with_a_folder_to_measure_instead() {
        let disk = |name: &str, folders: &[&str]| loadline_runs::RealDisk {
            name: name.into(),
            size: loadline_units::Bytes::gib(1),
            folders: folders.iter().map(ToString::to_string).collect(),
        };
        let disks = vec![disk("sda", &[]), disk("vda", &["/", "/my data"])];
        let found = MemoryTarget { target: "/dev/shm".into(), kind: "a tmpfs".into(), disks };
        assert_eq!(
            memory(&found),
            "/dev/shm is a tmpfs: that is memory, and its figures say nothing about a disk; disks of this machine: \
             sda (1.00 GiB): no folder of it is mounted here; vda (1.00 GiB): /, /my data. Try `loadline quick /`"
        );
    }
}
