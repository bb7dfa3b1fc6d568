//! What happened around a trial: the machine's own surroundings, and how much of the volume lay in the page cache.

use crate::target::Volume;
use loadline_kernel::surroundings::Observation as MachineObservation;
use loadline_record::{Residency, Surroundings};

/// What the machine showed just before a trial; [`Observation::end`] compares.
#[derive(Debug)]
pub struct Observation {
    cached_share: Option<f64>,
    machine: MachineObservation,
}

impl Observation {
    /// Looks for the first time.
    #[must_use]
    pub fn begin(volume: &Volume) -> Self {
        let cached_share = volume.cached_share();
        Self { cached_share, machine: MachineObservation::begin(&volume.facts.devices, &volume.holding.counted) }
    }

    /// Looks again and gives the changes. What only the load's driver knows (`threads`, `load_user_ns`, `load_system_ns`,
    /// `asked`, and of `stops` all but the quotas) is left empty.
    #[must_use]
    pub fn end(self, volume: &Volume) -> Surroundings {
        let seen = self.machine.end();
        let residency = self.cached_share.zip(volume.cached_share());
        Surroundings { residency: residency.map(|(before, after)| Residency { before, after }), ..seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Access, Need};
    use loadline_units::Bytes;
    use std::fs;
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
        assert!(seen.clock.is_some(), "long enough");
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
        // Too short to tell, unless this thread was kept from running meanwhile.
        assert!(seen.clock.is_none() || seen.elapsed_ns >= 10_000_000, "{:?} in {} ns", seen.clock, seen.elapsed_ns);
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
