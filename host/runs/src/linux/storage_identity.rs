//! Whether a run that is carried on with still stands on what it began on.

use loadline_record::{DeviceFacts, VolumeFacts};
use loadline_units::Bytes;

/// What tells this volume from the one that the run began on, in words; empty where nothing does. Names that the kernel gives may
/// be others after it started anew, and what is not known tells nothing. Whoever opens it has seen to it that it is large enough.
pub(crate) fn differences(then: &VolumeFacts, now: &VolumeFacts) -> Vec<String> {
    let mut told = other_devices(&then.devices, &now.devices);
    if let (Some(then), Some(now)) = (&then.file_system, &now.file_system)
        && (&then.kind, &then.mount_point) != (&now.kind, &now.mount_point)
    {
        told.push(format!(
            "it lay in the {} at {} and lies in the {} at {}",
            then.kind, then.mount_point, now.kind, now.mount_point
        ));
    }
    if then.kind != now.kind {
        told.push("it is of another kind".to_owned());
    }
    told
}

fn other_devices(then: &[DeviceFacts], now: &[DeviceFacts]) -> Vec<String> {
    if then.len() != now.len() {
        return vec![format!("devices below it: {} then, {} now", then.len(), now.len())];
    }
    let in_order = |devices: &[DeviceFacts]| {
        let mut devices = devices.to_vec();
        devices.sort_by(|a, b| (&a.serial, &a.model, a.size_bytes).cmp(&(&b.serial, &b.model, b.size_bytes)));
        devices
    };
    let pairs = in_order(then).into_iter().zip(in_order(now));
    pairs
        .flat_map(|(then, now)| {
            let words = [
                ("serial number", &then.serial, &now.serial),
                ("model", &then.model, &now.model),
                ("backing file", &then.backing_file, &now.backing_file),
            ];
            let other = |(what, then, now): (&str, &Option<String>, &Option<String>)| {
                let (then, now) = (then.as_ref()?, now.as_ref()?);
                (then != now).then(|| format!("the {what} was {then} and is {now}"))
            };
            let told: Vec<String> = words.into_iter().filter_map(other).collect();
            told.into_iter().chain(other_size(&format!("device {}", now.name), then.size_bytes, now.size_bytes))
        })
        .collect()
}

fn other_size(what: &str, then: Option<u64>, now: Option<u64>) -> Option<String> {
    let (then, now) = (then?, now?);
    (then != now).then(|| format!("{what} had {} and has {}", Bytes::new(then).human(), Bytes::new(now).human()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::example;

    #[test]
    fn another_disk_is_told_and_another_name_is_none() {
        let then = example::volume("data");
        assert_eq!(differences(&then, &then), Vec::<String>::new());
        let mut renamed = then.clone();
        renamed.devices[0].name = "vdb".to_owned();
        renamed.devices[0].serial = Some("S1".to_owned());
        assert_eq!(differences(&then, &renamed), Vec::<String>::new(), "a serial that was not known tells nothing");
        let mut unmounted = then.clone();
        unmounted.file_system.as_mut().unwrap().mount_point = "/".to_owned();
        assert_eq!(differences(&then, &unmounted), ["it lay in the ext4 at /mnt/data and lies in the ext4 at /"]);
        let mut swapped = renamed.clone();
        swapped.devices[0].serial = Some("S2".to_owned());
        assert_eq!(differences(&renamed, &swapped), ["the serial number was S1 and is S2"]);
        swapped.devices.clear();
        assert_eq!(differences(&then, &swapped), ["devices below it: 1 then, 0 now"]);
    }
}
