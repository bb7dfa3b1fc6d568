//! Volumes of an emulation as block devices: what follows them while disks hang, and how they are given up.

use crate::support::devices::{run, wait_until};
use crate::support::emulated::Attached;
use crate::support::nbd_client::PAIR;
use loadline_emulation::{Change, FaultKind, FaultSelection};
use loadline_runs::emulation::AttachEvent;
use loadline_units::Duration;

#[test]
fn a_disk_that_hangs_gets_its_block_device_later_and_holds_nobody_up() {
    let Some(mut attached) = Attached::new(PAIR, |_| {}) else { return };
    let new_device = |event: &AttachEvent| matches!(event, AttachEvent::NewDevice { volume, .. } if volume == "data");
    let no_answer = |event: &AttachEvent| matches!(event, AttachEvent::NoAnswer { volume, .. } if volume == "log");
    for round in 1..3 {
        attached.emulated.begin("log", FaultKind::Hang);
        attached.emulated.change(&Change::PowerCut { seed: 1 });
        attached.follows(round, no_answer);
        attached.follows(round, new_device);
        // Old devices go as soon as nobody uses them.
        assert!(wait_until(|| attached.devices("data") == 1), "{:?}", attached.told);
        assert!(wait_until(|| attached.devices("log") == 0), "{:?}", attached.told);
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
    let Some(mut attached) = Attached::new(PAIR, |_| {}) else { return };
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
