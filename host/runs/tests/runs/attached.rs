//! Volumes of an emulation as block devices: what follows them while disks hang, and how they are given up.

use crate::support::Bench;
use crate::support::devices::{run, wait_until};
use crate::support::emulated::Emulated;
use crate::support::nbd_client::PAIR;
use loadline_emulation::{Change, FaultKind, FaultSelection};
use loadline_runs::emulation::{AttachEvent, AttachMethod, AttachedVolumes, attach_volumes};
use loadline_units::Duration;
use std::path::PathBuf;

/// An emulation whose volumes are attached, and what was told of them.
struct Attached {
    emulated: Emulated,
    volumes: Option<AttachedVolumes>,
    folder: PathBuf,
    told: Vec<AttachEvent>,
}

impl Attached {
    /// `None`, and said so: this machine cannot.
    fn new() -> Option<Self> {
        let bench = Bench::new();
        let folder = bench.path("files");
        let mut emulated = Emulated::with(PAIR, bench, |options| options.attached = true);
        let mut told = Vec::new();
        let attached =
            attach_volumes(emulated.run.emulation_mut(), &folder, AttachMethod::Fuse, &mut |event| told.push(event));
        match attached {
            Ok(volumes) => Some(Self { emulated, volumes: Some(volumes), folder, told }),
            Err(error) => {
                println!("skipped: volumes as block devices ({error})");
                None
            }
        }
    }
    /// Follows the volumes until something was told so often.
    fn follows(&mut self, times: usize, is_it: fn(&AttachEvent) -> bool) {
        let heard = wait_until(|| {
            let volumes = self.volumes.as_mut().unwrap();
            volumes.follow(self.emulated.run.emulation_mut(), &mut |event| self.told.push(event));
            self.told.iter().filter(|event| is_it(event)).count() >= times
        });
        assert!(heard, "{:?}", self.told);
    }
    /// The loop devices over the file of a volume.
    fn devices(&self, volume: &str) -> usize {
        let file = self.folder.join(volume).display().to_string();
        let devices = std::fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
        let over = devices.filter(|device| {
            std::fs::read_to_string(device.join("loop/backing_file")).is_ok_and(|over| over.trim_end() == file)
        });
        over.count()
    }
    fn release(&mut self) {
        let making = self.volumes.take().map(|volumes| volumes.release(&mut |event| self.told.push(event)));
        self.emulated.run.emulation_mut().close();
        drop(making);
        self.emulated.run.emulation_mut().unmount();
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.release();
    }
}

#[test]
fn a_disk_that_hangs_gets_its_block_device_later_and_holds_nobody_up() {
    let Some(mut attached) = Attached::new() else { return };
    let new_device = |event: &AttachEvent| matches!(event, AttachEvent::NewDevice { volume, .. } if volume == "data");
    let no_answer = |event: &AttachEvent| matches!(event, AttachEvent::NoAnswer { volume, .. } if volume == "log");
    for round in 1..3 {
        attached.emulated.begin("log", FaultKind::Hang);
        attached.emulated.change(&Change::PowerCut { seed: 1 });
        attached.follows(round, no_answer);
        attached.follows(round, new_device);
        // The old device of the data goes as soon as nobody uses it.
        assert!(wait_until(|| attached.devices("data") == 1), "{:?}", attached.told);
        assert_eq!(attached.devices("log"), 0, "{:?}", attached.told);
        assert!(run("losetup", &["--find"]).is_some());
        if round == 1 {
            attached.emulated.change(&Change::Clear(FaultSelection::All));
            attached.follows(1, |event| matches!(event, AttachEvent::NewDevice { volume, .. } if volume == "log"));
            assert_eq!(attached.devices("log"), 1);
        }
    }
    attached.release();
    let folder = attached.folder.display().to_string();
    assert!(!std::fs::read_to_string("/proc/self/mounts").unwrap().contains(&folder));
}

#[test]
fn volumes_are_released_while_losetup_waits_for_a_slow_disk() {
    let Some(mut attached) = Attached::new() else { return };
    // Each is too short to count as a disk that does not answer.
    for _ in 0..3 {
        attached.emulated.begin("log", FaultKind::Delay(Duration::from_ms(4_900)));
    }
    attached.emulated.change(&Change::PowerCut { seed: 1 });
    attached.follows(1, |event| matches!(event, AttachEvent::NewDevice { volume, .. } if volume == "data"));
    attached.release();
    let told = &attached.told;
    assert!(
        !told.iter().any(|event| matches!(event, AttachEvent::NewDevice { volume, .. } if volume == "log")),
        "{told:?}"
    );
    let file = attached.folder.join("log").display().to_string();
    let left = run("losetup", &["--list", "--noheadings", "--output", "BACK-FILE"]).unwrap();
    assert!(!left.contains(&file), "{left}");
}
