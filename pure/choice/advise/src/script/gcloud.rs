//! The commands of `gcloud`.

use super::Provisioning;
use super::guest::{self, Disks};
use std::fmt::Write as _;

/// Families with Arm processors.
const ON_ARM: &[&str] = &["t2a", "c4a", "n4a"];
/// Regions without a zone "a".
const WITHOUT_ZONE_A: &[&str] = &["us-east1", "europe-west1"];

/// A zone of the region.
pub(super) fn zone(wanted: &Provisioning<'_>) -> String {
    let region = &wanted.row.region;
    let letter = if WITHOUT_ZONE_A.contains(&region.as_str()) { "b" } else { "a" };
    format!("{region}-{letter}")
}

/// Debian's image for the machine's processors.
pub(super) fn image_family(wanted: &Provisioning<'_>) -> &'static str {
    let family = wanted.machine().split('-').next().unwrap_or_default();
    if ON_ARM.contains(&family) { "debian-12-arm64" } else { "debian-12" }
}

/// The paths of the disks on the machine.
pub(super) fn devices(wanted: &Provisioning<'_>) -> Vec<String> {
    (0..wanted.count()).map(|index| format!("/dev/disk/by-id/google-data-{index}")).collect()
}

/// The commands.
pub(super) fn commands(wanted: &Provisioning<'_>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "set -eu\nZONE={}\nVM=advised\n", zone(wanted));
    let boot = wanted
        .os
        .as_ref()
        .map_or_else(String::new, |os| format!(" --boot-disk-type={} --boot-disk-size={}GB", os.kind, os.size_gib));
    let _ = writeln!(
        text,
        "gcloud compute instances create \"$VM\" --zone=\"$ZONE\" --machine-type={} \\\n  --image-family={} --image-project=debian-cloud{boot}",
        wanted.machine(),
        image_family(wanted)
    );
    let figures = wanted.disk.provisioned(" ", "--provisioned-iops=", "--provisioned-throughput=", "");
    let _ = write!(
        text,
        "for N in $(seq 0 {}); do\n  \
         gcloud compute disks create \"$VM-data-$N\" --zone=\"$ZONE\" --type={} --size={}GB{figures}\n  \
         gcloud compute instances attach-disk \"$VM\" --zone=\"$ZONE\" --disk=\"$VM-data-$N\" --device-name=\"data-$N\"\ndone\n",
        wanted.count() - 1,
        wanted.disk.kind,
        wanted.disk.size_gib
    );
    text.push_str(&guest::file(wanted, &Disks::At(devices(wanted))));
    let _ = writeln!(
        text,
        "echo \"Next, to run it on the machine: gcloud compute ssh $VM --zone=$ZONE --command='sudo sh -s' <{}\"",
        guest::FILE
    );
    text
}
