//! Cells and volumes of a watch: one of each for a device that was asked for anything, or for the first of several.

use super::sampler::SampledDevice;
use super::{WatchSettings, WatchTarget};
use crate::Error;
use loadline_kernel::facts::BlockDevice;
use loadline_record::{Ceiling, CellRecord, Load, LoadFigures, OthersLoad, TrialRecord, VolumeFacts};
use loadline_units::{Bytes, Ratio, SECTOR};
use loadline_workload::{BlockShare, LoadSpec};

/// The cells, each with its trial, and their volumes.
pub(super) fn cells(
    target: &WatchTarget,
    declared: &[(String, String)],
    settings: &WatchSettings,
    watched: Vec<SampledDevice>,
    started_unix_s: u64,
    volume_of: &dyn Fn(&BlockDevice) -> VolumeFacts,
) -> Result<(Vec<CellRecord>, Vec<VolumeFacts>), Error> {
    let asked = |device: &SampledDevice| device.record.total().requests() > 0;
    let any = watched.iter().any(asked);
    let kept = watched.into_iter().enumerate().filter(|(number, device)| asked(device) || (!any && *number == 0));
    let (mut cells, mut volumes) = (Vec::new(), Vec::new());
    for (_, SampledDevice { name, record, latencies }) in kept {
        let Some(device) = target.block_devices().iter().find(|device| device.name == name) else { continue };
        let volume = volume_of(device);
        let trial = record.into_trial(&latencies, &name, started_unix_s);
        let of = declared.iter().find(|(device, _)| *device == name);
        let ceilings = match of {
            Some((_, declared)) => ceilings(settings, declared, &trial, &volume)?,
            None => Vec::new(),
        };
        let load =
            Load::Application(OthersLoad { volume: name.clone(), by: None, figures: LoadFigures::of_watched(&trial) });
        cells.push(CellRecord {
            id: format!("watch-{}", cells.len()),
            volume: name,
            label: "what others asked for".to_owned(),
            load,
            beside: Vec::new(),
            ceilings,
            trials_planned: 1,
            trials: vec![trial],
        });
        volumes.push(volume);
    }
    Ok((cells, volumes))
}

/// What the declared storage allows of requests like those that were seen.
fn ceilings(
    settings: &WatchSettings,
    name: &str,
    trial: &TrialRecord,
    volume: &VolumeFacts,
) -> Result<Vec<Ceiling>, Error> {
    let Some(environment) = &settings.environment else { return Ok(Vec::new()) };
    let load = LoadFigures::of_watched(trial);
    if trial.count() == 0 {
        return Ok(Vec::new());
    }
    let size = Bytes::new(load.block_bytes.next_multiple_of(SECTOR.get()).max(SECTOR.get()));
    let spec = LoadSpec {
        reads: Ratio::ppm((load.read_ratio * 1e6) as u32).unwrap_or(Ratio::ONE),
        blocks: vec![BlockShare { size, share: Ratio::ONE }],
        ..LoadSpec::default()
    };
    environment.ceilings(name, &spec, volume.size_bytes.map(Bytes::new))
}
