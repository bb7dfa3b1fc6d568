//! AWS: the instance identity document, which has the type of the instance and nothing of its volumes; and the output
//! of `aws ec2 describe-volumes`, if the user has it.

use super::{AnswerError, CloudAnswers, CloudDisk, DiskCaching, Provider, Role, gib, named, read};
use loadline_units::{ByteRate, Iops};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    #[serde(default)]
    instance_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Description {
    volumes: Vec<Described>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Described {
    volume_id: String,
    #[serde(default)]
    volume_type: String,
    /// GiB.
    size: Option<u64>,
    iops: Option<u64>,
    /// MiB/s.
    throughput: Option<u64>,
}

/// Reads the identity document, and for volumes the output of `aws ec2 describe-volumes` (JSON).
///
/// # Errors
/// No JSON of that form, or no instance type in it.
pub fn aws(identity: &str, volumes: Option<&str>) -> Result<CloudAnswers, AnswerError> {
    let Identity { instance_type } = read(Provider::Aws, identity)?;
    let description: Option<Description> = volumes.map(|text| read(Provider::Aws, text)).transpose()?;
    let volumes = description.map(|description| description.volumes).unwrap_or_default();
    let disks = volumes.into_iter().map(|volume| CloudDisk {
        role: Role::Volume(volume.volume_id),
        family: Some(volume.volume_type.clone()).filter(|kind| !kind.is_empty()),
        told_as: volume.volume_type,
        size: volume.size.and_then(gib),
        iops: volume.iops.and_then(Iops::per_second),
        throughput: volume.throughput.and_then(|mib| ByteRate::per_second(mib.checked_mul(1 << 20)?)),
        caching: DiskCaching::None,
    });
    Ok(CloudAnswers { provider: Provider::Aws, machine: named(Provider::Aws, &instance_type)?, disks: disks.collect() })
}
