//! Volumes of different numbers of devices that level off at one figure: what they have in common stops them.

use super::kinds::same;
use crate::summary::CellSummary;
use crate::words::{counted, number};
use loadline_record::{Binding, Limit, VolumeFacts};

/// Levels of different volumes are one figure within this.
const ONE_FIGURE: f64 = 0.02;

/// Inferred limits of disks that volumes with fewer or more devices reach as well, at the same load, become those of the way
/// to them.
pub(super) fn in_common(cells: &mut [CellSummary], volumes: &[VolumeFacts]) {
    let found: Vec<(usize, Binding)> =
        (0..cells.len()).filter_map(|index| Some((index, shared(cells, volumes, index)?))).collect();
    for (index, binding) in found {
        cells[index].binding = Some(binding);
    }
}

/// The disk's inferred ceiling of a cell, and the devices of its volume.
fn level(cell: &CellSummary, volumes: &[VolumeFacts]) -> Option<(Limit, f64, usize)> {
    let binding = cell.binding.as_ref().filter(|binding| binding.inferred)?;
    let is_disk = matches!(binding.limit, Limit::DiskIops | Limit::DiskThroughput);
    let devices = volumes.iter().find(|volume| volume.name == cell.volume)?.devices.len();
    Some((binding.limit, binding.ceiling_iops.filter(|_| is_disk)?, devices))
}

fn shared(cells: &[CellSummary], volumes: &[VolumeFacts], index: usize) -> Option<Binding> {
    let own = &cells[index];
    let (limit, ceiling, devices) = level(own, volumes)?;
    let (other, others) = cells.iter().find_map(|other| {
        let (its, level, others) = level(other, volumes)?;
        let is_alike = other.load == own.load && other.volume != own.volume;
        (is_alike && its == limit && others != devices && same(level, ceiling, ONE_FIGURE)).then_some((other, others))
    })?;
    let binding = own.binding.clone()?;
    let evidence = format!(
        "{} Volume {} with {} levels off at the same {} IOPS as this one with {}: what they have in common stops them, not \
         their devices.",
        binding.evidence,
        other.volume,
        counted(others, "device"),
        number(ceiling),
        devices
    );
    Some(Binding { limit: Limit::Interface, evidence, ..binding })
}

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, closed, run, volume};
    use crate::summarize;
    use loadline_record::{DeviceFacts, Limit};

    /// The limit of a volume of one device beside one of `devices` that levels off at `iops`.
    fn beside(devices: usize, iops: f64) -> Limit {
        let of = |name: &str, iops: f64| {
            let disk = ExampleDisk { iops, ..ExampleDisk::default() };
            [8, 32].map(|depth| {
                let mut cell = cell(closed("random", 1.0, 4096, depth), &disk, &[1.0]);
                cell.volume = name.to_owned();
                cell
            })
        };
        let mut record = run([of("one", 5_000.0), of("many", iops)].concat());
        let many = vec![DeviceFacts { name: "vdb".to_owned(), ..DeviceFacts::default() }; devices];
        record.header.volumes = vec![volume("one"), loadline_record::VolumeFacts { devices: many, ..volume("many") }];
        summarize(&record).cells[1].binding.clone().unwrap().limit
    }

    #[test]
    fn more_devices_at_the_same_level_show_that_it_is_not_theirs() {
        assert_eq!(beside(4, 5_020.0), Limit::Interface);
        assert_eq!(beside(4, 9_000.0), Limit::DiskIops, "another level");
        assert_eq!(beside(1, 5_000.0), Limit::DiskIops, "disks alike have limits alike");
    }
}
