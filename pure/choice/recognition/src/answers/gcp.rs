//! Google Cloud's metadata server: `/computeMetadata/v1/instance/?recursive=true`. It has no sizes.

use super::{AnswerError, CloudAnswers, CloudDisk, DiskCaching, Provider, Role, named, read};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Instance {
    #[serde(default)]
    machine_type: String,
    #[serde(default)]
    disks: Vec<Disk>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Disk {
    device_name: String,
    #[serde(default)]
    interface: String,
    #[serde(rename = "type", default)]
    kind: String,
}

/// Reads the answer of the server.
///
/// # Errors
/// No JSON of that form, or no machine type in it.
pub fn gcp(answer: &str) -> Result<CloudAnswers, AnswerError> {
    let instance: Instance = read(Provider::Gcp, answer)?;
    // "projects/123/machineTypes/n2-standard-8"
    let machine = instance.machine_type.rsplit('/').next().unwrap_or_default();
    let disks = instance.disks.into_iter().map(|disk| CloudDisk {
        family: family(&disk),
        role: Role::Named(disk.device_name),
        told_as: disk.kind,
        size: None,
        iops: None,
        throughput: None,
        caching: DiskCaching::None,
    });
    Ok(CloudAnswers { provider: Provider::Gcp, machine: named(Provider::Gcp, machine)?, disks: disks.collect() })
}

/// "PERSISTENT-SSD" is pd-ssd, "HYPERDISK-BALANCED" itself. "PERSISTENT" alone stood for several types.
fn family(disk: &Disk) -> Option<String> {
    let kind = disk.kind.to_ascii_lowercase();
    match kind.split_once('-') {
        Some(("persistent", kind)) => Some(format!("pd-{kind}")),
        Some(("local", _)) => Some(format!("{kind}-{}", disk.interface.to_ascii_lowercase())),
        Some(("hyperdisk", _)) => Some(kind),
        _ => None,
    }
}
