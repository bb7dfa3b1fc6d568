//! The volumes of an environment as targets of loads, and their facts in records.

use crate::models::Model;
use crate::trial::SIZE_DEFAULT;
use loadline_disk::{EnvironmentSpec, Layout, VolumeSpec};
use loadline_record::{DeviceFacts, TargetKind, VolumeFacts};
use loadline_units::Bytes;

/// An environment has no volume of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("environment {environment:?} has no volume {volume:?}: it has {}", .known.join(", "))]
pub struct VolumeUnknown {
    /// The environment's name.
    pub environment: String,
    /// The requested name.
    pub volume: String,
    /// The known names.
    pub known: Vec<String>,
}

/// The volumes of the environment, in its order.
#[must_use]
pub fn volume_names(model: &Model) -> Vec<String> {
    model.spec.volumes.iter().map(|volume| volume.name.clone()).collect()
}

/// The volume of this name, or with `name/0` its first disk alone, past the layout.
pub(crate) fn find(spec: &EnvironmentSpec, name: &str) -> Result<VolumeSpec, VolumeUnknown> {
    let whole = |name: &str| spec.volumes.iter().find(|volume| volume.name == name);
    let disk = || {
        let (volume, number) = name.rsplit_once('/')?;
        let volume = whole(volume)?;
        let disk = volume.disks.get(number.parse::<usize>().ok()?)?.clone();
        Some(VolumeSpec { name: name.to_owned(), disks: vec![disk], layout: Layout::Single, ..volume.clone() })
    };
    whole(name).cloned().or_else(disk).ok_or_else(|| VolumeUnknown {
        environment: spec.name.clone(),
        volume: name.to_owned(),
        known: spec.volumes.iter().map(|volume| volume.name.clone()).collect(),
    })
}

/// The facts in a record about a volume of the environment, under the run's name for it.
///
/// # Errors
/// [`VolumeUnknown`].
pub fn volume_facts(model: &Model, volume: &str, name: &str) -> Result<VolumeFacts, VolumeUnknown> {
    let spec = find(&model.spec, volume)?;
    let devices = spec.disks.iter().enumerate().map(|(number, disk)| DeviceFacts {
        name: if spec.disks.len() == 1 && volume.contains('/') {
            volume.to_owned()
        } else {
            format!("{volume}/{number}")
        },
        model: (!disk.name.is_empty()).then(|| disk.name.clone()),
        rotational: disk.spinning.is_some().then_some(true),
        size_bytes: disk.size.map(Bytes::get),
        ..DeviceFacts::default()
    });
    let (size, reason) = match spec.size() {
        Some(size) => (size, "the volume's, in the environment".to_owned()),
        None => (SIZE_DEFAULT, "the environment names no size; a load that names none takes so much".to_owned()),
    };
    Ok(VolumeFacts {
        name: name.to_owned(),
        target: format!("{volume} of {}", model.spec.name),
        kind: TargetKind::Modelled,
        size_bytes: Some(size.get()),
        size_reason: reason,
        direct: true,
        devices: devices.collect(),
        ..VolumeFacts::default()
    })
}
