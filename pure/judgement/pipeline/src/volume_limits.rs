//! At which limits a crawl's volumes were: those that a watch of the same time reads.

use loadline_record::{PipelineRecord, SourceLimit, VolumeRole};
use serde::Serialize;

/// A limit that holds for less of the time is not what holds a volume.
const HELD_MIN: f64 = 0.1;

/// A device of a crawl that was at a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldVolumes {
    /// The volumes that lie on it.
    pub volumes: Vec<VolumeRole>,
    /// The limit.
    pub limit: SourceLimit,
    /// For this share of the crawl's time.
    pub share: f64,
}

/// The limits at which a crawl's devices were, the one that held longest first. Limits of its processors hold it wherever they were read,
/// and stand there once.
#[must_use]
pub fn held_volumes(record: &PipelineRecord) -> Vec<HeldVolumes> {
    let mut found: Vec<HeldVolumes> = Vec::new();
    for (device, limit, share) in record.surroundings.iter().flat_map(|run| run.source_limits()) {
        let of_device = record.volumes.iter().filter(|volume| volume.devices.iter().any(|own| own == device));
        let volumes = of_device.map(|volume| volume.role).collect();
        if share >= HELD_MIN && found.iter().all(|known| known.limit != limit) {
            found.push(HeldVolumes { volumes, limit, share });
        }
    }
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}
