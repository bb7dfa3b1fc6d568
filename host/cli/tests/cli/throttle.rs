//! Devices that the kernel holds to known rates: control groups of its throttle.

use crate::Bench;
use crate::bad_disk::Loop;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

const CGROUPS: &str = "/sys/fs/cgroup/blkio";

/// A control group that holds devices to rates.
pub(crate) struct Group(PathBuf);

impl Group {
    /// Each limit is a device, the name of a file of the throttle behind its prefix, and a rate.
    pub(crate) fn new(name: &str, limits: &[(&Loop, &str, u64)]) -> Option<Self> {
        let path = Path::new(CGROUPS).join(format!("loadline-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        for (device, limit, rate) in limits {
            group.limit(device, limit, *rate)?;
        }
        Some(group)
    }
    /// Sets a limit, at once: a device, the name of a file of the throttle behind its prefix, and a rate.
    pub(crate) fn limit(&self, device: &Loop, limit: &str, rate: u64) -> Option<()> {
        let device = device.node.trim_start_matches("/dev/");
        let number = fs::read_to_string(format!("/sys/block/{device}/dev")).ok()?;
        let rule = format!("{} {rate}", number.trim());
        fs::write(self.0.join(format!("blkio.throttle.{limit}")), rule).ok()
    }
    /// Runs the command within the group.
    pub(crate) fn run(&self, bench: &Bench, arguments: &[&str]) -> Output {
        let joined = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        let mut shell = bench.command_by(&["sh", "-c", &joined, "sh"], arguments);
        shell.output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended may still be on its way out.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        println!("{} is left behind", self.0.display());
    }
}
