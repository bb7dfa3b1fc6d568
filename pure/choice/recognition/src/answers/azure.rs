//! Azure's Instance Metadata Service: `/metadata/instance`. All its values are text.

use super::{AnswerError, CloudAnswers, CloudDisk, DiskCaching, Provider, Role, gib, named, read};
use loadline_units::{ByteRate, Iops};
use serde::Deserialize;

#[derive(Deserialize)]
struct Instance {
    compute: Compute,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Compute {
    #[serde(default)]
    vm_size: String,
    storage_profile: Option<StorageProfile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StorageProfile {
    #[serde(default)]
    data_disks: Vec<Attachment>,
    os_disk: Option<Attachment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attachment {
    lun: Option<String>,
    #[serde(rename = "diskSizeGB")]
    size_gib: Option<String>,
    caching: Option<String>,
    managed_disk: Option<ManagedDisk>,
    /// For ultra disks only, like the next two.
    is_ultra_disk: Option<String>,
    ops_per_second_throttle: Option<String>,
    bytes_per_second_throttle: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedDisk {
    #[serde(default)]
    storage_account_type: String,
}

/// Reads the answer of the service (API version 2021-02-01).
///
/// # Errors
/// No JSON of that form, or no VM size in it.
pub fn azure(answer: &str) -> Result<CloudAnswers, AnswerError> {
    let Instance { compute } = read(Provider::Azure, answer)?;
    let profile = compute.storage_profile.unwrap_or(StorageProfile { data_disks: Vec::new(), os_disk: None });
    let system = profile.os_disk.map(|disk| told(&disk, Role::System));
    let data = profile.data_disks.iter().filter_map(|disk| Some(told(disk, Role::Unit(number(disk.lun.as_ref())?))));
    Ok(CloudAnswers {
        provider: Provider::Azure,
        machine: named(Provider::Azure, &compute.vm_size)?,
        disks: system.into_iter().chain(data).collect(),
    })
}

fn number<T: std::str::FromStr>(text: Option<&String>) -> Option<T> {
    text?.parse().ok()
}

fn told(disk: &Attachment, role: Role) -> CloudDisk {
    let told_as = disk.managed_disk.as_ref().map(|managed| managed.storage_account_type.clone()).unwrap_or_default();
    let is_ultra = disk.is_ultra_disk.as_deref() == Some("true");
    // The part after the last underscore is the redundancy.
    let family = match told_as.rsplit_once('_').map_or(told_as.as_str(), |(kind, _)| kind) {
        _ if is_ultra => Some("ultra"),
        "UltraSSD" => Some("ultra"),
        "PremiumV2" => Some("premium-v2"),
        "Premium" => Some("premium"),
        "StandardSSD" => Some("standard-ssd"),
        "Standard" => Some("standard-hdd"),
        _ => None,
    };
    CloudDisk {
        role,
        family: family.map(str::to_owned),
        told_as,
        size: number(disk.size_gib.as_ref()).and_then(gib),
        iops: number(disk.ops_per_second_throttle.as_ref()).and_then(Iops::per_second),
        throughput: number(disk.bytes_per_second_throttle.as_ref()).and_then(ByteRate::per_second),
        caching: match disk.caching.as_deref() {
            Some("ReadOnly") => DiskCaching::ReadOnly,
            Some("ReadWrite") => DiskCaching::ReadWrite,
            _ => DiskCaching::None,
        },
    }
}
