//! How rates grow with the disks of layouts, found without being told how many disks each has.

use super::comparison::{Figure, Gain, Scaling, ScalingCell};
use super::{CompareOptions, Comparison, figures_compared};
use crate::words::{NAMED_MAX, counted, listed, number, percent, sentence, throughput};
use loadline_record::{RunRecord, VolumeFacts};

/// The comparison over numbers of disks of the volumes of a run, or of runs of one volume each; the fewest disks are the baseline.
/// `None` where the numbers are not all known and different, or no closed loop is on all sides.
#[must_use]
pub fn scaling_of(runs: &[&RunRecord]) -> Option<Comparison> {
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
    figures_compared(&runs, &options).ok().filter(|c| c.scaling.as_ref().is_some_and(|s| !s.cells.is_empty()))
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

/// What the numbers of disks brought, in sentences: the totals of reads, writes and mixes, then which cells gain and which lose.
#[must_use]
pub fn scaling_sentences(scaling: &Scaling) -> Vec<String> {
    let counts: Vec<String> = scaling.disks.iter().map(u32::to_string).collect();
    let times = f64::from(scaling.disks[scaling.disks.len() - 1]) / f64::from(scaling.disks[0]);
    let totals = scaling.totals.iter().filter_map(|total| {
        let value = |v: &f64| match total.figure {
            Figure::Throughput => throughput(*v),
            _ => format!("{} IOPS", number(*v)),
        };
        let values: Vec<String> = total.values.iter().map(value).collect();
        let (first, last) = (total.values.first()?, total.values.last()?);
        let kind = match total.operations.as_str() {
            "read" => "reads",
            "write" => "writes",
            _ => "mixes",
        };
        let end = match (total.levels_off_at, total.clear) {
            (None, true) => "nothing levels off here".to_owned(),
            (None, false) => "whether it levels off cannot be told".to_owned(),
            (Some(at), clear) => {
                format!(
                    "the total {} off at {}",
                    if clear { "levels" } else { "seems to level" },
                    counted(at as usize, "disk")
                )
            }
        };
        Some(format!(
            "{} reach {} with {} disks ({}), {} of linear scaling; {end}.",
            sentence(kind),
            listed(&values),
            listed(&counts),
            total.label,
            percent(last / first / times)
        ))
    });
    totals.chain(gains(scaling)).collect()
}

/// Which cells gain from the most disks, which do not, and which lose most.
fn gains(scaling: &Scaling) -> Option<String> {
    let last = *scaling.disks.last()?;
    let at_last = |cell: &ScalingCell| cell.points.iter().find(|p| p.disks == last).copied();
    let points: Vec<(&ScalingCell, super::ScalingPoint)> =
        scaling.cells.iter().filter_map(|cell| Some((cell, at_last(cell)?))).collect();
    let of = |gain: Gain| points.iter().filter(|(_, p)| p.gain == gain).count();
    let worst = points.iter().filter(|(_, p)| p.gain == Gain::Loses).min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let told = [
        (Gain::Gains, "gain"),
        (Gain::Unchanged, "stay the same"),
        (Gain::Loses, "lose"),
        (Gain::CannotTell, "cannot be told"),
    ];
    // Which they are; of many the table tells, and a single one that loses is told of with its rates.
    let named = |gain: Gain| {
        let labels: Vec<&str> =
            points.iter().filter(|(_, p)| p.gain == gain).map(|(cell, _)| cell.label.as_str()).collect();
        let alone = gain == Gain::Loses && labels.len() == 1;
        if alone || labels.len() > NAMED_MAX { String::new() } else { format!(" ({})", labels.join("; ")) }
    };
    let parts: Vec<String> = (told.iter())
        .filter(|(gain, _)| of(*gain) > 0)
        .map(|(gain, word)| format!("{} {word}{}", of(*gain), named(*gain)))
        .collect();
    let worst = worst.map_or_else(String::new, |(cell, point)| {
        let rate = |side: usize| cell.iops.get(side).copied().flatten().map_or_else(|| "-".to_owned(), number);
        format!(
            "; most of all {}, from {} to {} IOPS ({:.2} x)",
            cell.label,
            rate(0),
            rate(scaling.disks.len() - 1),
            point.ratio
        )
    });
    (!parts.is_empty()).then(|| {
        format!(
            "Of {}, with {last} disks in place of {}: {}{worst}.",
            counted(points.len(), "closed-loop cell"),
            scaling.disks[0],
            listed(&parts)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let text = scaling_sentences(scaling).join(" ");
        assert!(text.contains("with 1, 2 and 4 disks") && text.contains("nothing levels off here"), "{text}");
        let wanted = "1 gain (random read 4 KiB, depth 64) and 1 lose; most of all random read 4 KiB, depth 1";
        assert!(text.contains(wanted), "{text}");
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
