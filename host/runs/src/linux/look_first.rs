//! A look at targets before they are loaded: whether they are memory, and who else uses their devices.
//!
//! A measurement slows down everybody who shares the device. So the device's own counters are read for a moment first, while
//! loadline asks for nothing.

use crate::{Activity, Concern, Consent, DeviceUse, Error, Event, MemoryTarget, Observer, Refusal};
use loadline_engine::{Observation, Volume};
use loadline_kernel::facts::{KernelView, real_disks};
use loadline_record::{DeviceCounters, DeviceFacts, FileSystemFacts, MEMORY_FILE_SYSTEMS, Surroundings, VolumeFacts};
use loadline_units::Duration;
use std::time::{Duration as Wait, Instant};

/// A look takes at most this share of the time of the loads.
const LOOK_SHARE: u32 = 10;
/// Counters of a shorter time say little: loads that are over so soon are not looked at.
const LOOK_TIME_LEAST: Wait = Wait::from_millis(200);
/// How often the observer is asked meanwhile.
const ASK_EVERY: Wait = Wait::from_millis(50);

/// From this share of the time, or
const USED_SHARE: f64 = 0.05;
/// from so many requests a second, a device counts as used by others.
const USED_IOPS: f64 = 100.0;
/// Other processes are named from so many bytes a second on.
const NAMED_BYTES_PER_S: f64 = 64.0 * 1024.0;

/// Memory that `volume` lies in, in a word; `None` where it is storage, or where that cannot be seen.
fn memory_below(file_system: Option<&FileSystemFacts>, devices: &[DeviceFacts]) -> Option<String> {
    let file_system = file_system.and_then(FileSystemFacts::in_memory).map(str::to_owned);
    let of_device = |(name, backing): (&str, Option<&str>)| {
        let is_numbered = |prefix: &str| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
        };
        match backing.filter(|kind| MEMORY_FILE_SYSTEMS.contains(kind)) {
            Some(kind) => Some(format!("{name}, a loop device on a {kind}")),
            None if is_numbered("ram") || is_numbered("zram") => Some(format!("{name}, a disk in memory")),
            None => None,
        }
    };
    let mut devices = devices.iter().map(|device| (device.name.as_str(), device.backing_file_system.as_deref()));
    file_system.map(|kind| format!("a {kind}")).or_else(|| devices.find_map(of_device))
}

/// Refuses a target in memory unless the observer's user agrees to it.
///
/// # Errors
/// [`Refusal::NotAgreed`].
pub(crate) fn refuse_memory(volume: &VolumeFacts, observer: &mut dyn Observer) -> Result<(), Refusal> {
    let Some(kind) = memory_below(volume.file_system.as_ref(), &volume.devices) else { return Ok(()) };
    let found = MemoryTarget { target: volume.target.clone(), kind, disks: real_disks(&KernelView::live()) };
    let concern = Concern::Memory(found);
    if observer.consents(&concern) == Consent::Given { Ok(()) } else { Err(Refusal::NotAgreed(concern)) }
}

/// Looks at the devices of `volumes` for a moment before loads of so much time, and tells the observer who else uses them.
///
/// # Errors
/// [`Refusal::NotAgreed`] where the observer's user withholds consent; [`Error::NotBegun`] where an end is wanted meanwhile.
pub(crate) fn look_first(volumes: &[&Volume], planned: Duration, observer: &mut dyn Observer) -> Result<(), Error> {
    let time = DeviceUse::LOOK_TIME.min(Wait::from_nanos(planned.as_ns()) / LOOK_SHARE);
    let looked: Vec<&&Volume> = volumes.iter().filter(|volume| !volume.facts.devices.is_empty()).collect();
    if time < LOOK_TIME_LEAST || looked.is_empty() {
        return Ok(());
    }
    let expected = Duration::from_ns(time.as_nanos() as u64);
    observer.event(&Event::Planned(expected));
    observer.event(&Event::Begins(&Activity {
        place: "before the run".into(),
        label: "looking whether others use the storage".into(),
        volumes: looked.iter().map(|volume| volume.facts.name.clone()).collect(),
        planned: expected,
        is_guessed: false,
    }));
    let observations: Vec<Observation> = looked.iter().map(|volume| Observation::begin(volume)).collect();
    let began = Instant::now();
    while began.elapsed() < time {
        if observer.wants_an_end() {
            return Err(Error::NotBegun);
        }
        std::thread::sleep(ASK_EVERY.min(time.saturating_sub(began.elapsed())));
    }
    let seen = looked.iter().zip(observations).flat_map(|(volume, observation)| {
        let seen = observation.end(volume);
        used(&volume.facts.target, &seen)
    });
    let mut devices: Vec<DeviceUse> = Vec::new();
    for found in seen {
        if devices.iter().all(|known| known.device != found.device) {
            devices.push(found);
        }
    }
    observer.event(&Event::Idle);
    if devices.is_empty() {
        return Ok(());
    }
    let concern = Concern::InUse(devices);
    if observer.consents(&concern) == Consent::Withheld {
        return Err(Refusal::NotAgreed(concern).into());
    }
    Ok(())
}

/// The devices of a target that others use.
fn used(target: &str, seen: &Surroundings) -> Vec<DeviceUse> {
    let seconds = seen.elapsed_ns.max(1) as f64 / 1e9;
    let rate = |count: u64| count as f64 / seconds;
    let named = |bytes: &f64| *bytes >= NAMED_BYTES_PER_S;
    let processes = seen
        .others
        .iter()
        .map(|other| (other.name.clone(), other.pid, rate(other.read_bytes + other.write_bytes)))
        .filter(|(_, _, bytes)| named(bytes));
    let processes: Vec<(String, u32, f64)> = processes.collect();
    let of = |device: &DeviceCounters| DeviceUse {
        device: device.name.clone(),
        target: target.to_owned(),
        looked: Wait::from_nanos(seen.elapsed_ns),
        busy: (device.busy_ms as f64 / 1e3 / seconds).min(1.0),
        iops: rate(device.reads + device.writes + device.discards),
        bytes_per_s: rate(device.read_bytes + device.write_bytes),
        processes: processes.clone(),
    };
    seen.devices.iter().map(of).filter(|found| found.busy >= USED_SHARE || found.iops >= USED_IOPS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::OtherLoad;

    fn seen(busy_ms: u64, reads: u64) -> Surroundings {
        let device = DeviceCounters {
            name: "vda".into(),
            reads,
            read_bytes: reads * 8_192,
            busy_ms,
            ..DeviceCounters::default()
        };
        let other = |name: &str, read_bytes| OtherLoad { pid: 7, name: name.into(), read_bytes, write_bytes: 0 };
        Surroundings {
            elapsed_ns: 2_000_000_000,
            devices: vec![device],
            others: vec![other("postgres", reads * 8_192), other("cron", 4_096)],
            ..Surroundings::default()
        }
    }

    #[test]
    fn a_database_at_600_requests_a_second_is_named_with_what_it_asks_for() {
        let found = used("/data", &seen(216, 1_200));
        let expected = DeviceUse {
            device: "vda".into(),
            target: "/data".into(),
            looked: DeviceUse::LOOK_TIME,
            busy: 0.108,
            iops: 600.0,
            bytes_per_s: 4_915_200.0,
            processes: vec![("postgres".into(), 7, 4_915_200.0)],
        };
        assert_eq!(found, [expected]);
        assert!(!found[0].is_busy());
        assert!(used("/data", &seen(1_600, 10))[0].is_busy());
        let short = Surroundings { elapsed_ns: 500_000_000, ..seen(500, 10) };
        assert!(!used("/data", &short)[0].is_busy(), "the load is short, too");
    }

    #[test]
    fn a_journal_that_is_written_now_and_then_is_no_user() {
        assert_eq!(used("/data", &seen(99, 199)), []);
    }

    #[test]
    fn memory_is_found_below_folders_loop_devices_and_disks_in_memory() {
        let on = |kind: &str, beneath: Option<&str>| {
            let beneath = beneath.map(Into::into);
            memory_below(Some(&FileSystemFacts { kind: kind.into(), beneath, ..FileSystemFacts::default() }), &[])
        };
        let device = |name: &str, backing: Option<&str>| {
            let backing_file_system = backing.map(Into::into);
            memory_below(None, &[DeviceFacts { name: name.into(), backing_file_system, ..DeviceFacts::default() }])
        };
        assert_eq!(on("tmpfs", None).as_deref(), Some("a tmpfs"));
        assert_eq!(on("overlay", Some("tmpfs")).as_deref(), Some("a tmpfs"));
        assert_eq!(on("overlay", Some("ext4")), None);
        assert_eq!(device("loop0", Some("tmpfs")).as_deref(), Some("loop0, a loop device on a tmpfs"));
        assert_eq!(device("loop0", Some("xfs")), None);
        assert_eq!(device("zram0", None).as_deref(), Some("zram0, a disk in memory"));
        assert_eq!(device("rampart", None), None);
    }
}
