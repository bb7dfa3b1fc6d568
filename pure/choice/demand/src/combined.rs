//! The rows of several devices, added up to one demand.

use crate::consistency;
use crate::error::DemandError;
use crate::limited::mark_limited;
use crate::options::ReadOptions;
use crate::series::{AtLimit, Demand, DemandInterval};
use loadline_units::words::percent;
use std::collections::BTreeSet;

/// One time's rows of all devices.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub(crate) length_s: f64,
    pub(crate) rows: Vec<(String, DemandInterval)>,
}

/// Devices that stand for others in the list: maps, arrays, loops, memory, optical drives.
fn is_layer(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    ["dm-", "md", "loop", "ram", "zram", "sr", "scd", "fd", "nbd"].iter().any(|layer| {
        name.strip_prefix(layer).is_some_and(|rest| rest.chars().next().is_none_or(|c| c.is_ascii_digit() || c == '-'))
    })
}

/// Whether `name` is a partition of one of `all`: "sda1" of "sda", "nvme0n1p2" of "nvme0n1", "ata-DISK-part3" of "ata-DISK".
fn is_partition(name: &str, all: &BTreeSet<String>) -> bool {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if digits.len() == name.len() {
        return false;
    }
    all.contains(digits) || ["p", "-part"].iter().any(|end| digits.strip_suffix(end).is_some_and(|of| all.contains(of)))
}

/// The names of groups (`iostat -g`), which sysstat writes with a space before them; here they lose it.
fn groups(blocks: &mut [Block]) -> BTreeSet<String> {
    let mut groups = BTreeSet::new();
    for (name, _) in blocks.iter_mut().flat_map(|block| &mut block.rows) {
        if let Some(plain) = name.strip_prefix(' ') {
            *name = plain.to_owned();
            groups.insert(name.clone());
        }
    }
    groups
}

/// Numbers that the kernel gives out as drivers come: disks of a virtual machine or volumes over others.
const DYNAMIC_MAJORS: std::ops::RangeInclusive<u32> = 240..=254;

/// Whether the kernel gives this name to a disk, a partition or a number, and nobody to a volume over others.
fn is_disk_name(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let lettered = |kind: &str| {
        name.strip_prefix(kind).is_some_and(|rest| {
            let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
            (1..=3).contains(&letters.len()) && letters.chars().all(|c| c.is_ascii_lowercase())
        })
    };
    let numbered =
        |kind: &str| name.strip_prefix(kind).and_then(|rest| rest.chars().next()).is_some_and(|c| c.is_ascii_digit());
    ["sd", "vd", "xvd", "hd", "dasd"].into_iter().any(lettered)
        || ["nvme", "mmcblk", "rbd", "pmem", "nbd", "loop"].into_iter().any(numbered)
        || name.strip_prefix("dev").and_then(|rest| rest.split_once('-')).is_some_and(|(a, b)| {
            digits(a) && digits(b) && !a.parse().is_ok_and(|major: u32| DYNAMIC_MAJORS.contains(&major))
        })
}

/// Bytes read and written in every block.
type Course = Vec<(f64, f64)>;

/// Rates are printed with two digits behind the point, of KiB or MiB.
const ROUNDED_BYTES: f64 = 0.011 * 1024.0 * 1024.0;

/// Whether a course is another's, or the sum of several: each block agrees, and something was asked at all.
fn is_same(course: &Course, others: &[&Course]) -> bool {
    let slack = ROUNDED_BYTES * (1 + others.len()) as f64;
    let near = |a: f64, b: f64| (a - b).abs() <= slack.min(a.max(b) * 0.01 + 11.0 * (1 + others.len()) as f64);
    let sum = |place: usize| {
        let at = others.iter().filter_map(|other| other.get(place));
        at.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    course.iter().any(|(read, written)| read + written > 0.0)
        && course.iter().enumerate().all(|(place, (read, written))| {
            let (reads, writes) = sum(place);
            near(*read, reads) && near(*written, writes)
        })
}

/// A device that is at a limit for more of the time is named.
const LIMITED_SHARE_TOLD: f64 = 0.1;

/// Disks of which sums are tried.
const DISKS_MAX: usize = 10;

/// Devices that are looked at one by one. No machine has more; a file that says so is only added up, so that any file ends.
const DEVICES_MAX: usize = 256;

/// Devices with names of their own whose figures are those of a disk, or of several disks together: volumes, maps and groups over them.
fn volumes(names: &BTreeSet<String>, blocks: &[Block]) -> BTreeSet<String> {
    let course = |name: &String| -> Course {
        let of = |block: &Block| {
            let row = block.rows.iter().find(|(known, _)| known == name);
            row.map_or((0.0, 0.0), |(_, row)| (row.read_bytes_per_s, row.write_bytes_per_s))
        };
        blocks.iter().map(of).collect()
    };
    let (disks, others): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| is_disk_name(name));
    if others.is_empty() || disks.is_empty() || names.len() > DEVICES_MAX {
        return BTreeSet::new();
    }
    let disks: Vec<Course> = disks.into_iter().map(course).collect();
    let is_volume = |name: &&String| {
        let own = course(name);
        if disks.len() > DISKS_MAX {
            return disks.iter().any(|disk| is_same(&own, &[disk])) || is_same(&own, &disks.iter().collect::<Vec<_>>());
        }
        (1_u32..1 << disks.len()).any(|chosen| {
            let some: Vec<&Course> =
                disks.iter().enumerate().filter(|(place, _)| chosen >> place & 1 == 1).map(|(_, disk)| disk).collect();
            is_same(&own, &some)
        })
    };
    others.into_iter().filter(is_volume).cloned().collect()
}

/// What is said of a device that is at a limit of its own, which a sum with others would hide.
fn limit_of_one(device: &str, blocks: &[Block]) -> Option<String> {
    let of = |block: &Block| {
        let (_, row) = block.rows.iter().find(|(name, _)| name == device)?;
        Some(DemandInterval { length_s: block.length_s, ..*row })
    };
    let mut alone = Demand { intervals: blocks.iter().filter_map(of).collect(), ..Demand::default() };
    mark_limited(&mut alone);
    let share = alone.limited_share();
    // A disk that is asked little and evenly looks as if a limit before it held that.
    let is_its_own = alone.limited_by() != Some(AtLimit::LevelBeforeDevice);
    (is_its_own && share >= LIMITED_SHARE_TOLD)
        .then(|| format!("{device} alone is at a limit for {} of the time: ask for it alone, too", percent(share)))
}

/// Adds up the devices that were asked for, or all that do not stand for others.
pub(crate) fn combined(
    source: &str,
    source_name: &str,
    mut blocks: Vec<Block>,
    options: &ReadOptions,
    mut notes: Vec<String>,
) -> Result<Demand, DemandError> {
    let groups = groups(&mut blocks);
    let all: BTreeSet<String> =
        blocks.iter().flat_map(|block| block.rows.iter().map(|(name, _)| name.clone())).collect();
    let chosen: BTreeSet<String> = if options.devices.is_empty() {
        let whole: BTreeSet<String> =
            all.iter().filter(|name| !is_layer(name) && !is_partition(name, &all)).cloned().collect();
        let over_others = volumes(&whole, &blocks);
        let whole: BTreeSet<String> = whole.difference(&over_others).cloned().collect();
        // Totals over the others would count everything twice.
        let parts: BTreeSet<String> = whole
            .iter()
            .filter(|name| !name.eq_ignore_ascii_case("_total") && !groups.contains(*name))
            .cloned()
            .collect();
        match (parts.is_empty(), whole.is_empty()) {
            (false, _) => parts,
            (true, false) => whole,
            (true, true) => all.clone(),
        }
    } else {
        for device in &options.devices {
            if !all.contains(device) {
                let known = all.into_iter().collect();
                return Err(DemandError::NoDevice {
                    source_name: source_name.to_owned(),
                    device: device.clone(),
                    known,
                });
            }
        }
        options.devices.iter().cloned().collect()
    };
    if chosen.len() <= DEVICES_MAX {
        let devices: Vec<&str> = chosen.iter().map(String::as_str).collect();
        let disagreements = consistency::hold(&mut blocks, &devices);
        notes.extend(disagreements.iter().map(|(device, found)| format!("{device}: {found}")));
    }
    let left_out: Vec<&str> = all.difference(&chosen).map(String::as_str).collect();
    if chosen.len() > 1 {
        let names: Vec<&str> = chosen.iter().map(String::as_str).collect();
        notes.push(format!("{} devices are added up as one volume: {}", chosen.len(), names.join(", ")));
        if chosen.len() <= DEVICES_MAX {
            notes.extend(chosen.iter().filter_map(|device| limit_of_one(device, &blocks)));
        }
    }
    if !left_out.is_empty() && options.devices.is_empty() {
        notes.push(format!("left out, because they stand for other devices: {}", left_out.join(", ")));
    }
    if chosen.iter().any(|name| name.eq_ignore_ascii_case("_total")) {
        notes.push("only the total of all disks is in the file: how it spreads over the disks is not known".to_owned());
    }
    let mut intervals = Vec::new();
    for block in blocks {
        let mut rows = block.rows.iter().filter(|(name, _)| chosen.contains(name)).map(|(_, interval)| *interval);
        let Some(first) = rows.next() else { continue };
        let sum = rows.fold(first, |sum, row| sum.plus(&row));
        intervals.push(DemandInterval { length_s: block.length_s, ..sum });
    }
    if intervals.is_empty() {
        return Err(DemandError::Empty { source_name: source_name.to_owned() });
    }
    Ok(Demand { source: source.to_owned(), devices: chosen.into_iter().collect(), intervals, notes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(names: &[&str]) -> Vec<Block> {
        let interval = DemandInterval { reads_per_s: 10.0, in_flight: Some(1.0), ..DemandInterval::default() };
        vec![Block { length_s: 60.0, rows: names.iter().map(|name| ((*name).to_owned(), interval)).collect() }]
    }

    #[test]
    fn nothing_is_counted_twice() {
        let names = ["sda", "sda1", "nvme0n1", "nvme0n1p2", "dm-0", "md127", "loop3"];
        let demand = combined("iostat", "f", block(&names), &ReadOptions::default(), Vec::new()).unwrap();
        assert_eq!(demand.devices, ["nvme0n1", "sda"]);
        assert!((demand.intervals[0].reads_per_s - 20.0).abs() < 1e-9);
        assert_eq!(demand.intervals[0].in_flight, Some(2.0));
        assert_eq!(demand.notes.len(), 2);
        let one = ReadOptions { devices: vec!["dm-0".to_owned()], ..ReadOptions::default() };
        assert_eq!(combined("iostat", "f", block(&names), &one, Vec::new()).unwrap().devices, ["dm-0"]);
        let none = ReadOptions { devices: vec!["sdz".to_owned()], ..ReadOptions::default() };
        assert!(matches!(combined("x", "f", block(&names), &none, Vec::new()), Err(DemandError::NoDevice { .. })));
    }

    #[test]
    fn a_volume_with_the_figures_of_its_disks_is_not_counted_beside_them() {
        let row = |read: f64, written: f64| DemandInterval {
            reads_per_s: 10.0,
            read_bytes_per_s: read,
            write_bytes_per_s: written,
            ..DemandInterval::default()
        };
        let blocks = |volume: [(f64, f64); 2]| {
            let of = |[b, c]: [(f64, f64); 2], volume: (f64, f64)| Block {
                length_s: 60.0,
                rows: vec![
                    ("sdb".to_owned(), row(b.0, b.1)),
                    ("sdc".to_owned(), row(c.0, c.1)),
                    ("vg0-data".to_owned(), row(volume.0, volume.1)),
                ],
            };
            vec![of([(1e6, 2e6), (3e6, 0.0)], volume[0]), of([(5e6, 0.0), (1e6, 1e6)], volume[1])]
        };
        let devices =
            |volume| combined("iostat", "f", blocks(volume), &ReadOptions::default(), Vec::new()).unwrap().devices;
        // Over both disks, over one, and over none that is in the file.
        assert_eq!(devices([(4e6, 2e6), (6e6, 1e6)]), ["sdb", "sdc"]);
        assert_eq!(devices([(3e6, 5.0), (1.001e6, 1e6)]), ["sdb", "sdc"]);
        assert_eq!(devices([(4e6, 2e6), (9e6, 1e6)]), ["sdb", "sdc", "vg0-data"]);
        assert_eq!(devices([(0.0, 0.0), (0.0, 0.0)]), ["sdb", "sdc", "vg0-data"]);
        // Two disks of a mirror stay two.
        assert!(["sda", "nvme0n1", "xvdf", "dev8-16", "mmcblk0"].into_iter().all(is_disk_name));
        assert!(!["dev253-1", "vg0-data", "data", "sd", "mpatha", " both", "dev-x"].into_iter().any(is_disk_name));
    }

    #[test]
    fn groups_and_partitions_of_stable_names_are_not_counted_beside_their_disks() {
        let devices = |names: &[&str]| {
            combined("iostat", "f", block(names), &ReadOptions::default(), Vec::new()).unwrap().devices
        };
        assert_eq!(devices(&["sda", "sdb", " both", "sdc", " rest"]), ["sda", "sdb", "sdc"]);
        assert_eq!(devices(&[" both", " rest"]), ["both", "rest"]);
        assert_eq!(devices(&["ata-A_1", "ata-A_1-part1", "ata-A_1-part12", "scd0"]), ["ata-A_1"]);
        assert_eq!(devices(&["wwn-0x5-part1"]), ["wwn-0x5-part1"]);
    }

    #[test]
    fn a_device_at_a_limit_is_named_though_the_sum_hides_it() {
        let busy = DemandInterval {
            reads_per_s: 500.0,
            read_bytes_per_s: 4e6,
            in_flight: Some(8.0),
            ..DemandInterval::default()
        };
        let other = |place: u32| {
            let reads_per_s = 40.0 + 900.0 * f64::from(place % 7);
            DemandInterval { reads_per_s, read_bytes_per_s: reads_per_s * 8192.0, in_flight: Some(0.1), ..busy }
        };
        let rows = |place| vec![("sda".to_owned(), other(place)), ("sdb".to_owned(), busy)];
        let blocks = (0..40).map(|place| Block { length_s: 60.0, rows: rows(place) }).collect();
        let notes = combined("iostat", "f", blocks, &ReadOptions::default(), Vec::new()).unwrap().notes;
        assert!(notes.iter().any(|note| note.starts_with("sdb alone is at a limit for 100 %")), "{notes:?}");
        assert!(!notes.iter().any(|note| note.starts_with("sda alone")), "{notes:?}");
    }

    #[test]
    fn more_devices_than_any_machine_has_are_added_up_all_the_same() {
        let names: Vec<String> = (0..200_000).map(|number| format!("sda{number}x")).chain(["sdb".to_owned()]).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let demand = combined("iostat", "f", block(&names), &ReadOptions::default(), Vec::new()).unwrap();
        assert_eq!(demand.devices.len(), 200_001);
    }

    #[test]
    fn a_total_counts_only_where_nothing_else_is() {
        let both = combined("x", "f", block(&["_Total", "0 C:"]), &ReadOptions::default(), Vec::new()).unwrap();
        assert_eq!(both.devices, ["0 C:"]);
        let total = combined("x", "f", block(&["_Total"]), &ReadOptions::default(), Vec::new()).unwrap();
        assert!(total.notes[0].contains("only the total"));
    }
}
