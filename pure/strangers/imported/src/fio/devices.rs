//! fio's device counters (`disk_util`): from 3.36 on with the sectors that the devices moved.

use super::Document;
use crate::value::At;
use crate::{ImportError, Job};
use loadline_block::Operation;
use loadline_record::DeviceCounters;
use loadline_units::SECTOR;

/// fio reads the counters four times a second: in a shorter run, the missing end is too large a share.
const RUNTIME_MIN_MS: u64 = 20_000;

/// The change of the counters of the one device below the only job of a document. `None` if there are several of
/// either, which the counters do not separate; with a ramp, trims or a short time, for which they count other things;
/// or without bytes.
pub(super) fn counters<'a>(
    document: &Document<'_>,
    mut jobs: impl Iterator<Item = &'a Job>,
) -> Result<Option<DeviceCounters>, ImportError> {
    let (Some(job), None) = (jobs.next(), jobs.next()) else { return Ok(None) };
    // It is unknown whether trims came as discards.
    let is_trimming = job.trial.of(Operation::Trim).is_some();
    let is_short = is_trimming || job.trial.measured_ns / 1_000_000 < RUNTIME_MIN_MS || job.trial.warm_up_ns > 0;
    let Some(list) = document.top.get("disk_util").filter(|_| document.names.len() == 1 && !is_short) else {
        return Ok(None);
    };
    let all = list.elements()?;
    let [device] = all.as_slice() else { return Ok(None) };
    if device.get("read_sectors").is_none() || device.get("write_sectors").is_none() {
        return Ok(None);
    }
    let name = device.get("name").ok_or_else(|| device.error("has no name"))?.text()?;
    let figure = |key: &str| device.get(key).map_or(Ok(0), |at: At<'_>| at.count());
    let busy = device.get("util").map_or(Ok(0.0), |at| at.number())?.min(100.0) / 100.0;
    Ok(Some(DeviceCounters {
        name,
        reads: figure("read_ios")?,
        reads_merged: figure("read_merges")?,
        read_bytes: figure("read_sectors")? * SECTOR.get(),
        read_ms: figure("read_ticks")?,
        writes: figure("write_ios")?,
        writes_merged: figure("write_merges")?,
        write_bytes: figure("write_sectors")? * SECTOR.get(),
        write_ms: figure("write_ticks")?,
        queue_ms: figure("in_queue")?,
        busy_ms: (busy * (job.trial.measured_ns / 1_000_000) as f64) as u64,
        ..DeviceCounters::default()
    }))
}
