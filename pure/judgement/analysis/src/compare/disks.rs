//! How rates grow with the disks of layouts, found without being told how many disks each has.

use super::{CompareOptions, Comparison, figures_compared};
use loadline_record::{RunRecord, RunVerb, VolumeFacts};

/// The comparison over numbers of disks of the volumes of a run, or of runs of one volume each; the fewest disks are the baseline.
/// `None` where the numbers are not all known and different, or no closed loop is on all sides.
#[must_use]
pub fn scaling_of(runs: &[&RunRecord]) -> Option<Comparison> {
    // Devices of a merged run are those through which each of its hosts sees the storage.
    if runs.iter().any(|run| run.header.verb == RunVerb::Merge) {
        return None;
    }
    let (runs, volumes, disks) = match runs {
        [only] => {
            let mut sides: Vec<(u32, &VolumeFacts)> =
                only.header.volumes.iter().map(|v| Some((disks_of(v)?, v))).collect::<Option<_>>()?;
            sides.sort_by_key(|(disks, _)| *disks);
            let volumes = sides.iter().map(|(_, v)| v.name.clone()).collect();
            (vec![*only], volumes, sides.iter().map(|(disks, _)| *disks).collect::<Vec<u32>>())
        }
        several => {
            let one = |run: &'_ RunRecord| match run.header.volumes.as_slice() {
                [volume] => disks_of(volume),
                _ => None,
            };
            let mut sides: Vec<(u32, &RunRecord)> =
                several.iter().map(|run| Some((one(run)?, *run))).collect::<Option<_>>()?;
            sides.sort_by_key(|(disks, _)| *disks);
            (sides.iter().map(|(_, run)| *run).collect(), Vec::new(), sides.iter().map(|(disks, _)| *disks).collect())
        }
    };
    if disks.len() < 2 || disks.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    let options = CompareOptions { disks, volumes, ..CompareOptions::default() };
    figures_compared(&runs, &options, None).ok().filter(|c| c.scaling.as_ref().is_some_and(|s| !s.cells.is_empty()))
}

/// The disks that a volume stands on: of what the kernel built from others, those others; `None` where none is known.
fn disks_of(volume: &VolumeFacts) -> Option<u32> {
    let made = |name: &str| ["dm-", "md", "bcache"].iter().any(|prefix| name.starts_with(prefix));
    let part_of = |name: &str, disk: &str| {
        name.strip_prefix(disk).is_some_and(|rest| {
            let digits = rest.strip_prefix('p').unwrap_or(rest);
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
        })
    };
    let names: Vec<&str> = volume.devices.iter().map(|d| d.name.as_str()).collect();
    let disks = names.iter().filter(|name| !made(name) && !names.iter().any(|disk| part_of(name, disk))).count();
    (disks > 0).then_some(disks as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::scaling_figures::{Gain, ScalingCell};
    use crate::example::{ExampleDisk, cell, closed, predicted, run};
    use loadline_record::{CellRecord, DeviceFacts, ModelRecord};

    /// A run on so many disks that add up for deep queues.
    fn layout(disks: u32, name: &str) -> RunRecord {
        let factor = f64::from(disks);
        let deep = ExampleDisk::default();
        let cells = vec![
            cell(closed("random", 1.0, 4 << 10, 64), &deep, &[factor, factor * 1.001, factor * 0.999]),
            cell(closed("random", 1.0, 4 << 10, 1), &deep, &[0.9_f64.powf(factor - 1.0); 3].map(|f| f)),
        ];
        let mut record = run(cells);
        record.header.id = name.to_owned();
        let device =
            |i: u32| DeviceFacts { name: format!("sd{}", char::from(b'b' + i as u8)), ..DeviceFacts::default() };
        let mut devices: Vec<DeviceFacts> = (0..disks).map(device).collect();
        devices.push(DeviceFacts { name: "md0".into(), ..DeviceFacts::default() });
        record.header.volumes[0].devices = devices;
        record
    }

    #[test]
    fn disks_are_counted_below_what_is_built_of_them() {
        let mut volume = layout(4, "a").header.volumes[0].clone();
        assert_eq!(disks_of(&volume), Some(4));
        volume.devices.push(DeviceFacts { name: "sdb1".into(), ..DeviceFacts::default() });
        assert_eq!(disks_of(&volume), Some(4));
        volume.devices.clear();
        assert_eq!(disks_of(&volume), None);
    }

    #[test]
    fn runs_on_more_and_more_disks_show_what_gains_and_what_loses() {
        let records: Vec<RunRecord> = [4, 1, 2].map(|d| layout(d, &format!("run-{d}"))).into();
        let comparison = scaling_of(&records.iter().collect::<Vec<_>>()).expect("three layouts");
        let scaling = comparison.scaling.as_ref().unwrap();
        assert_eq!(scaling.disks, [1, 2, 4]);
        assert!(scaling.totals.iter().all(|total| total.levels_off_at.is_none() && total.clear), "{scaling:?}");
        let at_last = |cell: &ScalingCell| cell.points.iter().find(|point| point.disks == 4).map(|point| point.gain);
        let gains: Vec<_> = scaling.cells.iter().map(|cell| (cell.label.as_str(), at_last(cell))).collect();
        assert!(gains.contains(&("random read 4 KiB, depth 64", Some(Gain::Gains))), "{gains:?}");
        assert!(gains.contains(&("random read 4 KiB, depth 1", Some(Gain::Loses))), "{gains:?}");
    }

    #[test]
    fn volumes_that_were_loaded_at_the_same_time_show_no_scaling() {
        let of = |beside: &[&str]| {
            let (mut record, many) = (layout(1, "a"), layout(4, "a"));
            let mut volume = many.header.volumes[0].clone();
            volume.name = "many".to_owned();
            record.header.volumes.push(volume);
            let many = many.cells.into_iter();
            record.cells.extend(many.map(|cell| CellRecord {
                id: format!("many-{}", cell.id),
                volume: "many".to_owned(),
                ..cell
            }));
            let model = predicted(&[1.0]).cells.remove(0).trials.remove(0).model;
            for trial in record.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
                let beside = beside.iter().map(|name| (*name).to_owned()).collect();
                trial.model = model.clone().map(|model| ModelRecord { beside, ..model });
            }
            scaling_of(&[&record])
        };
        assert!(of(&[]).is_some());
        assert!(of(&["other"]).is_none());
    }

    #[test]
    fn equal_numbers_of_disks_are_no_scaling() {
        let records = [layout(2, "a"), layout(2, "b")];
        assert!(scaling_of(&records.iter().collect::<Vec<_>>()).is_none());
        assert!(scaling_of(&[&records[0]]).is_none());
    }
}
