//! The environment of a choice as a file for `predict`, `emulate` and `hunt`.

use crate::advice::{Candidate, VolumeChoice};
use loadline_units::{ByteRate, Bytes, Iops};
use std::fmt::Write as _;

/// The text; the system's disk and the price are comments.
pub(crate) fn environment_text(candidate: &Candidate) -> String {
    let mut text = String::new();
    let mut put = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    put(&format!("# {} a month in {}, as far as the catalog knows.", candidate.price_words(), candidate.region));
    if let Some(disk) = &candidate.os_disk {
        put(&format!("# The system's disk is not described here: {}.", disk.words()));
    }
    put("schema = 1");
    put(&format!("name = \"{}\"", name(candidate)));
    put(&format!("vm = \"{}\"", candidate.machine));
    for volume in &candidate.volumes {
        put(&format!("[volume.{}]", volume.name));
        let disks: Vec<String> = volume
            .disks
            .iter()
            .map(|disk| {
                let mut parts = vec![format!("sku = \"{}\"", disk.sku)];
                if let Some(size) = disk.size_bytes {
                    parts.push(format!("size = \"{}\"", Bytes::new(size)));
                }
                if let Some(iops) = disk.iops.and_then(Iops::per_second) {
                    parts.push(format!("iops = \"{iops}\""));
                }
                if let Some(rate) = disk.throughput_bytes_per_s.and_then(ByteRate::per_second) {
                    parts.push(format!("throughput = \"{rate}\""));
                }
                parts.push(format!("count = {}", disk.count));
                format!("{{ {} }}", parts.join(", "))
            })
            .collect();
        put(&format!("disks = [{}]", disks.join(", ")));
        put(&layout(volume));
        put(&format!("host_cache = \"{}\"", volume.host_cache));
    }
    text
}

fn layout(volume: &VolumeChoice) -> String {
    match volume.interleave_bytes {
        Some(bytes) if volume.columns > 1 => {
            format!(
                "layout = {{ stripe = {{ columns = {}, interleave = \"{}\" }} }}",
                volume.columns,
                Bytes::new(bytes)
            )
        }
        _ => "layout = \"single\"".to_owned(),
    }
}

fn name(candidate: &Candidate) -> String {
    let mut name = candidate.machine.rsplit('/').next().unwrap_or_default().to_owned();
    for disk in candidate.volumes.iter().flat_map(|volume| &volume.disks) {
        let sku = disk.sku.rsplit('/').next().unwrap_or_default();
        let _ = write!(name, "-{}x-{sku}", disk.count);
    }
    name.chars().take(100).collect()
}
