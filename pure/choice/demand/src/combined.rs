//! The rows of several devices, added up to one demand.

use crate::error::DemandError;
use crate::options::ReadOptions;
use crate::series::{Demand, DemandInterval};
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
    ["dm-", "md", "loop", "ram", "zram", "sr", "fd", "nbd"].iter().any(|layer| {
        name.strip_prefix(layer).is_some_and(|rest| rest.chars().next().is_none_or(|c| c.is_ascii_digit() || c == '-'))
    })
}

/// Whether `name` is a partition of one of `all`: "sda1" of "sda", "nvme0n1p2" of "nvme0n1".
fn is_partition(name: &str, all: &BTreeSet<String>) -> bool {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if digits.len() == name.len() {
        return false;
    }
    all.contains(digits) || digits.strip_suffix('p').is_some_and(|whole| all.contains(whole))
}

/// Adds up the devices that were asked for, or all that do not stand for others.
pub(crate) fn combined(
    source: &str,
    source_name: &str,
    blocks: Vec<Block>,
    options: &ReadOptions,
    mut notes: Vec<String>,
) -> Result<Demand, DemandError> {
    let all: BTreeSet<String> =
        blocks.iter().flat_map(|block| block.rows.iter().map(|(name, _)| name.clone())).collect();
    let chosen: BTreeSet<String> = if options.devices.is_empty() {
        let whole: BTreeSet<String> =
            all.iter().filter(|name| !is_layer(name) && !is_partition(name, &all)).cloned().collect();
        // Totals over the others would count everything twice.
        let parts: BTreeSet<String> =
            whole.iter().filter(|name| !name.eq_ignore_ascii_case("_total")).cloned().collect();
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
    let left_out: Vec<&str> = all.difference(&chosen).map(String::as_str).collect();
    if chosen.len() > 1 {
        let names: Vec<&str> = chosen.iter().map(String::as_str).collect();
        notes.push(format!("{} devices are added up as one volume: {}", chosen.len(), names.join(", ")));
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
    fn a_total_counts_only_where_nothing_else_is() {
        let both = combined("x", "f", block(&["_Total", "0 C:"]), &ReadOptions::default(), Vec::new()).unwrap();
        assert_eq!(both.devices, ["0 C:"]);
        let total = combined("x", "f", block(&["_Total"]), &ReadOptions::default(), Vec::new()).unwrap();
        assert!(total.notes[0].contains("only the total"));
    }
}
