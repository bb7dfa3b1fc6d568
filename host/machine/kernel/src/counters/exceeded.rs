//! How long EBS volumes count that more was asked of them, or of the machine, than is allowed: NVMe log page 0xD0.

use crate::facts::{BlockDevice, KernelView};
use crate::system_calls::nvme_log_page;
use loadline_record::{DeviceFacts, Exceeded};
use std::fs::File;

/// The controllers' model string.
const MODEL: &str = "Amazon Elastic Block Store";
const LOG_PAGE: u8 = 0xD0;
/// The page begins with this, little-endian as all of it.
const MAGIC: u32 = 0x3C23_B510;
/// What is read of its 4 KiB: the counters; histograms of latency follow.
const READ_BYTES: usize = 512;
/// Where the four counters begin, eight bytes each, in microseconds since the volume was attached: volume IOPS, volume
/// throughput, instance IOPS, instance throughput.
const COUNTERS_AT: usize = 56;

/// The counters of each disk among `devices` that is an EBS volume and lets this user read them; each disk once.
#[must_use]
pub fn exceeded(view: &KernelView, devices: &[DeviceFacts]) -> Vec<Exceeded> {
    let mut disks: Vec<String> = Vec::new();
    for device in devices.iter().filter(|device| is_ebs(device)) {
        let disk = BlockDevice::by_name(view, &device.name).and_then(|device| device.parent());
        let name = disk.map_or_else(|| device.name.clone(), |disk| disk.name);
        if !disks.contains(&name) {
            disks.push(name);
        }
    }
    let counted = |name: &String| {
        let namespace = File::open(format!("/dev/{name}")).ok()?;
        let mut page = [0; READ_BYTES];
        nvme_log_page(&namespace, LOG_PAGE, &mut page).ok()?;
        parse(name, &page)
    };
    disks.iter().filter_map(counted).collect()
}

fn is_ebs(device: &DeviceFacts) -> bool {
    device.model.as_deref().is_some_and(|model| model.trim() == MODEL)
}

/// The counters in a page; `None` where it is none of EBS, or too short.
fn parse(device: &str, page: &[u8]) -> Option<Exceeded> {
    let magic = u32::from_le_bytes(page.get(..4)?.try_into().ok()?);
    let counter = |index: usize| {
        let at = COUNTERS_AT + index * 8;
        Some(u64::from_le_bytes(page.get(at..at + 8)?.try_into().ok()?))
    };
    (magic == MAGIC).then_some(())?;
    Some(Exceeded {
        device: device.to_owned(),
        volume_iops_us: counter(0)?,
        volume_throughput_us: counter(1)?,
        instance_iops_us: counter(2)?,
        instance_throughput_us: counter(3)?,
    })
}

/// What `after` counts more than `before`. A device that counts less was attached anew in between, and says nothing.
#[must_use]
pub fn exceeded_change(before: &[Exceeded], after: &[Exceeded]) -> Vec<Exceeded> {
    let of = |after: &Exceeded| {
        let before = before.iter().find(|before| before.device == after.device)?;
        Some(Exceeded {
            device: after.device.clone(),
            volume_iops_us: after.volume_iops_us.checked_sub(before.volume_iops_us)?,
            volume_throughput_us: after.volume_throughput_us.checked_sub(before.volume_throughput_us)?,
            instance_iops_us: after.instance_iops_us.checked_sub(before.instance_iops_us)?,
            instance_throughput_us: after.instance_throughput_us.checked_sub(before.instance_throughput_us)?,
        })
    };
    after.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 96 bytes of a page as a volume gives it, laid out by hand after the published structure: magic, reserved;
    /// reads, writes, bytes read, bytes written, time of reads and of writes in microseconds; the four counters; queue length.
    const PAGE: [u8; 96] = [
        0x10, 0xB5, 0x23, 0x3C, 0, 0, 0, 0, //
        0x28, 0x4E, 0, 0, 0, 0, 0, 0, 0xC0, 0xD4, 1, 0, 0, 0, 0, 0, //
        0, 0, 0xA0, 9, 0, 0, 0, 0, 0, 0, 0xC0, 0x75, 0, 0, 0, 0, //
        0x40, 0x42, 0x0F, 0, 0, 0, 0, 0, 0x80, 0x84, 0x1E, 0, 0, 0, 0, 0, //
        0x00, 0x87, 0x93, 0x03, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, //
        2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, //
        3, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    fn the_counters_of_a_page_are_in_microseconds() {
        let found = parse("nvme1n1", &PAGE).unwrap();
        let expected = Exceeded {
            device: "nvme1n1".into(),
            volume_iops_us: 60_000_000,
            volume_throughput_us: 1,
            instance_iops_us: (1 << 32) + 2,
            instance_throughput_us: 0,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_such_page_counts_nothing() {
        let mut other = PAGE;
        other[0] = 0x11;
        assert_eq!(parse("nvme1n1", &other), None);
        assert_eq!(parse("nvme1n1", &PAGE[..80]), None, "cut off within the counters");
        assert_eq!(parse("nvme1n1", &[]), None);
        assert_eq!(parse("nvme1n1", &[0; READ_BYTES]), None, "a controller that answers with zeros");
    }

    #[test]
    fn a_volume_attached_anew_says_nothing() {
        let at = |device: &str, us| Exceeded { device: device.into(), volume_iops_us: us, ..Exceeded::default() };
        let before = [at("nvme1n1", 100), at("nvme2n1", 100)];
        let after = [at("nvme1n1", 40), at("nvme2n1", 350), at("nvme3n1", 5)];
        assert_eq!(exceeded_change(&before, &after), [at("nvme2n1", 250)]);
    }

    #[test]
    fn only_ebs_volumes_are_asked() {
        let of = |model: &str| DeviceFacts { model: Some(model.into()), ..DeviceFacts::default() };
        assert!(is_ebs(&of("Amazon Elastic Block Store              ")));
        assert!(!is_ebs(&of("Amazon EC2 NVMe Instance Storage")) && !is_ebs(&DeviceFacts::default()));
    }
}
