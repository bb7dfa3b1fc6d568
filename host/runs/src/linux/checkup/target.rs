//! A target: what stands behind it, and what others do there.

use super::{MachineCheck, Suitability};
use crate::{Error, keep::leftovers};
use loadline_engine::{Access, Need, Observation, Volume};
use loadline_record::{FileSystemFacts, MEMORY_FILE_SYSTEMS, Surroundings, TargetKind, VolumeFacts};
use loadline_units::Bytes;
use std::path::Path;
use std::time::Duration;

/// How long the machine is watched at rest.
const WATCHED: Duration = Duration::from_secs(1);
/// The file that tries out a directory; gone when the look is over.
const TRIAL_SIZE: Bytes = Bytes::MIB;
/// From here on shares of CPU time are worth a word.
const BUSY_SHARE: f64 = 0.10;
const STEAL_SHARE: f64 = 0.01;
/// From here on another process's I/O in a second is worth a word.
const OTHER_BYTES: u64 = 1 << 20;

/// What is known of a target, and what happens there while it is left alone for a moment. In a directory a small file shows
/// what the file system takes.
///
/// # Errors
/// The engine's refusal to open it.
pub fn check_target(path: &Path) -> Result<Vec<MachineCheck>, Error> {
    let typed = path.display().to_string();
    let need = Need { size: path.is_dir().then_some(TRIAL_SIZE), files: 1, ..Need::default() };
    let volume = Volume::open("target", &typed, &need, &Access::default())?;
    let mut checks = of_volume(&volume.facts);
    checks.extend(leftovers::in_directory(path, leftovers::NAME_BEGIN).into_iter().map(|leftover| {
        let detail = format!(
            "{} ({}): kept by a run, or left by one that was killed; if no loadline is at work here, remove it",
            leftover.path.display(),
            leftover.size.human()
        );
        MachineCheck::new("test file", Suitability::Note, detail)
    }));
    let observation = Observation::begin(&volume);
    std::thread::sleep(WATCHED);
    checks.extend(at_rest(&observation.end(&volume)));
    Ok(checks)
}

fn of_volume(volume: &VolumeFacts) -> Vec<MachineCheck> {
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
    checks.push(MachineCheck::good_or("direct I/O", direct, Suitability::Trouble));
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
        let mut verdict = Suitability::Good;
        let kind = device.backing_file_system.as_deref();
        if let Some(kind) = kind.filter(|kind| MEMORY_FILE_SYSTEMS.contains(kind)) {
            verdict = Suitability::Trouble;
            parts.push(format!("a file in a {kind}: this is memory, no storage"));
        } else if device.backing_direct == Some(false) {
            verdict = Suitability::Trouble;
            let advice = "through the page cache, which answers for the disk: attach it with losetup --direct-io=on";
            parts.push(advice.to_owned());
        }
        checks.push(MachineCheck::new(format!("device {}", device.name), verdict, parts.join(", ")));
    }
    if volume.devices.is_empty() && volume.file_system.is_some() {
        let detail = "no block device found below: what reaches storage cannot be counted here";
        checks.push(MachineCheck::new("device", Suitability::Note, detail));
    }
    checks
}

fn of_file_system(facts: &FileSystemFacts) -> Vec<MachineCheck> {
    let place = format!("{} on {} at {}", facts.kind, facts.source, facts.mount_point);
    let (verdict, remark) = match facts.kind.as_str() {
        "overlay" if facts.in_memory().is_some() => (
            Suitability::Trouble,
            " over memory: this is no storage; measure a volume that is mounted into the container",
        ),
        "overlay" => (Suitability::Trouble, ": a container's own layer; measure a volume that is mounted into it"),
        "tmpfs" | "ramfs" => (Suitability::Trouble, ": this is memory, no storage; name a directory on a disk"),
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" | "fuse" => {
            (Suitability::Note, ": another machine or process stands between here and the storage")
        }
        _ => (Suitability::Good, ""),
    };
    let mut checks = vec![MachineCheck::new("file system", verdict, place + remark)];
    if let Some(option) = facts.options.split(',').find(|option| option.starts_with("compress")) {
        let detail = format!("mounted with {option}; the data written does not compress, so figures stay honest");
        checks.push(MachineCheck::new("compression", Suitability::Note, detail));
    }
    if let Some(free) = facts.free_bytes {
        let (verdict, advice) = if free < Bytes::gib(2).get() {
            (Suitability::Note, ": too little for a test file that caches cannot hold; free some")
        } else {
            (Suitability::Good, "")
        };
        checks.push(MachineCheck::new("free space", verdict, Bytes::new(free).human() + advice));
    }
    checks
}

/// The machine while it is left alone for a moment.
fn at_rest(seen: &Surroundings) -> Vec<MachineCheck> {
    let mut checks = Vec::new();
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut judge = |what: String, spoiled: bool, detail: String, advice: &str| {
        checks.push(if spoiled {
            MachineCheck::new(what, Suitability::Trouble, format!("{detail}; {advice}"))
        } else {
            MachineCheck::new(what, Suitability::Good, detail)
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
        checks.push(MachineCheck::new(format!("other load: {}", other.name), Suitability::Note, detail));
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_layer_and_memory_are_no_storage() {
        for kind in ["overlay", "tmpfs"] {
            let facts = FileSystemFacts { kind: kind.into(), ..FileSystemFacts::default() };
            assert_eq!(of_file_system(&facts)[0].verdict, Suitability::Trouble);
        }
    }

    #[test]
    fn what_spoils_a_measurement_comes_with_what_to_do() {
        let cpu = loadline_record::MachineCpu { busy: 0.9, iowait: 0.0, steal: 0.0, cpus: 2 };
        let checks = at_rest(&Surroundings { machine: Some(cpu), ..Surroundings::default() });
        assert_eq!((checks[0].verdict, checks[1].verdict), (Suitability::Trouble, Suitability::Good));
        assert!(checks[0].detail.contains("90 % busy") && checks[0].detail.contains("end what"), "{checks:?}");
        assert!(
            Suitability::Trouble < Suitability::Note && Suitability::Note < Suitability::Good,
            "the order in which they are printed"
        );
    }
}
