//! `az`, and what all of Azure's tools have in common.

use super::Provisioning;
use super::guest::{self, Disks};
use std::fmt::Write as _;

/// What the catalog appends to a size whose disks hang on NVMe.
const ON_NVME: &str = "-nvme";
/// Disks of this type go to machines alone that are made for them.
const ULTRA: &str = "UltraSSD_LRS";
/// The catalog's name of the Basic tier.
const BASIC: &str = "basic-";

/// The publisher's offer that the machine boots from: Ubuntu 24.04, as azure-cli's Ubuntu2404.
pub(super) const PUBLISHER: &str = "Canonical";
pub(super) const OFFER: &str = "ubuntu-24_04-lts";

/// Whether the size's disks hang on NVMe.
pub(super) fn is_on_nvme(wanted: &Provisioning<'_>) -> bool {
    wanted.machine().ends_with(ON_NVME)
}

/// Whether the disks need a machine that is made for ultra disks.
pub(super) fn is_ultra(wanted: &Provisioning<'_>) -> bool {
    wanted.disk.kind == ULTRA
}

fn plain_name<'a>(wanted: &'a Provisioning<'_>) -> &'a str {
    let name = wanted.machine();
    name.strip_suffix(ON_NVME).unwrap_or(name)
}

/// The size's name. Azure writes sizes with underscores; letters count alike, large or small.
pub(super) fn size(wanted: &Provisioning<'_>) -> String {
    let name = plain_name(wanted).replace('-', "_");
    match plain_name(wanted).strip_prefix(BASIC) {
        Some(basic) => format!("Basic_{}", basic.to_uppercase()),
        None => format!("Standard_{name}"),
    }
}

/// Family, features and version of a size: "d4ps-v6" is `("d", "ps", 6)`.
fn parts<'a>(wanted: &'a Provisioning<'_>) -> (&'a str, &'a str, u32) {
    let mut words = plain_name(wanted).split('-');
    let name = words.next().unwrap_or_default();
    let version = words.next_back().and_then(|word| word.strip_prefix('v')?.parse().ok()).unwrap_or(1);
    let (first, last) = (name.find(|c: char| c.is_ascii_digit()), name.rfind(|c: char| c.is_ascii_digit()));
    match (first, last) {
        (Some(first), Some(last)) => (&name[..first], &name[last + 1..], version),
        _ => (name, "", version),
    }
}

/// Whether its processors are Arm's: Azure marks these sizes by a "p".
pub(super) fn is_arm(wanted: &Provisioning<'_>) -> bool {
    parts(wanted).1.contains('p')
}

/// The image's name within its offer. Sizes of Azure's first generations boot no image of generation 2.
pub(super) fn image(wanted: &Provisioning<'_>) -> &'static str {
    let (family, features, version) = parts(wanted);
    let takes_premium = family.ends_with('s') || features.contains('s');
    let is_first_generation = match version {
        1 => !["b", "gs", "ls", "m"].contains(&family),
        2 | 3 => !takes_premium && !features.contains('a'),
        _ => false,
    };
    match (is_arm(wanted), is_first_generation) {
        (true, _) => "server-arm64",
        (false, true) => "server-gen1",
        (false, false) => "server",
    }
}

/// Sets `DISKS` on a machine with Linux. Sizes hang their disks on SCSI or NVMe, and some on what the image takes: the machine knows.
/// Its image names them by number in a folder for each (azure-vm-utils).
pub(super) fn disks(wanted: &Provisioning<'_>) -> Disks {
    Disks::Found(format!(
        "DISKS=\nfor LUN in $(seq 0 {}); do\n  \
           DISK=$(ls /dev/disk/azure/data/by-lun/$LUN /dev/disk/azure/scsi1/lun$LUN 2>/dev/null | head -n 1)\n  \
           DISKS=\"$DISKS ${{DISK:?there is no data disk with this number}}\"\ndone\n",
        wanted.count() - 1
    ))
}

pub(super) fn caching(wanted: &Provisioning<'_>) -> &'static str {
    match wanted.volume.host_cache.as_str() {
        "read-only" => "ReadOnly",
        "read-write" => "ReadWrite",
        _ => "None",
    }
}

/// The type of the system's disk.
pub(super) fn os_kind<'a>(wanted: &'a Provisioning<'_>) -> &'a str {
    wanted.os.as_ref().map_or("StandardSSD_LRS", |os| os.kind.as_str())
}

/// The commands of `az`.
pub(super) fn commands(wanted: &Provisioning<'_>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "set -eu\nGROUP=advised\nVM=advised\nLOCATION={}\nZONE=1\n", wanted.row.region);
    text.push_str("az group create --name \"$GROUP\" --location \"$LOCATION\"\n");
    let mut options = String::new();
    if let Some(os) = &wanted.os {
        let _ = write!(options, " --storage-sku os={} --os-disk-size-gb {}", os.kind, os.size_gib);
    }
    if is_on_nvme(wanted) {
        options.push_str(" --disk-controller-type NVMe");
    }
    if is_ultra(wanted) {
        options.push_str(" --ultra-ssd-enabled true");
    }
    let _ = writeln!(
        text,
        "az vm create --resource-group \"$GROUP\" --name \"$VM\" --location \"$LOCATION\" --zone \"$ZONE\" --size {} \\\n  \
         --image {PUBLISHER}:{OFFER}:{}:latest{options} --generate-ssh-keys",
        size(wanted),
        image(wanted)
    );
    let figures = wanted.disk.provisioned(" ", "--disk-iops-read-write ", "--disk-mbps-read-write ", "");
    let _ = write!(
        text,
        "for LUN in $(seq 0 {}); do\n  \
         az disk create --resource-group \"$GROUP\" --name \"$VM-data-$LUN\" --location \"$LOCATION\" --zone \"$ZONE\" --sku {} --size-gb {}{figures}\n  \
         az vm disk attach --resource-group \"$GROUP\" --vm-name \"$VM\" --name \"$VM-data-$LUN\" --lun \"$LUN\" --caching {}\ndone\n",
        wanted.count() - 1,
        wanted.disk.kind,
        wanted.disk.size_gib,
        caching(wanted)
    );
    text.push_str(&guest::file(wanted, &disks(wanted)));
    let _ = writeln!(
        text,
        "echo \"Next, to run it on the machine: az vm run-command invoke --resource-group $GROUP --name $VM --command-id RunShellScript --scripts @{}\"",
        guest::FILE
    );
    text
}
