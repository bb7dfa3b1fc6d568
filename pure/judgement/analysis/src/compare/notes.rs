//! What differs between two sides apart from their figures: each is a possible reason for a difference.

use super::Side;
use super::note::{DeviceModel, Differing, DifferingBytes, EngineWithOptions, Note, Whose};
use crate::summary::{how, is_emulated};
use crate::trials::trials_used;
use crate::words::size;
use loadline_record::{
    CellRecord, Clock, HostFacts, ImportedFrom, RunHeader, RunStatus, TargetKind, TrialRecord, VolumeFacts,
};
use std::collections::BTreeSet;

/// Trials of a measurement on either side that decide between most pairs.
pub const TRIALS_TO_DECIDE: u32 = 5;

/// Every note about `other` against `baseline`, whose matched cells are `pairs`.
pub(super) fn notes(baseline: &Side<'_>, other: &Side<'_>, pairs: &[(&CellRecord, &CellRecord)]) -> Vec<Note> {
    let (a, b) = (&baseline.run.header, &other.run.header);
    let mut found = Vec::new();
    // What keeps everything from being decided comes before what may be a reason.
    // An application is not asked twice.
    let once = |cell: &CellRecord| trials_used(cell).len() == 1 && !cell.load.is_of_others();
    if a.clock == Clock::Real && b.clock == Clock::Real && pairs.iter().any(|(a, b)| once(a) || once(b)) {
        found.push(Note::OneTrial { all_loads: pairs.iter().all(|(a, b)| once(a) || once(b)) });
    }
    if a.id == b.id && baseline.volume == other.volume {
        found.push(Note::SameRun);
    }
    if a.clock == b.clock {
        let tool = |header: &RunHeader| {
            let from = header.imported.as_ref();
            Some(from.map_or_else(|| "loadline".to_owned(), ImportedFrom::tool_and_version))
        };
        found.extend(differing(None, tool(a), tool(b)).map(Note::Tool));
    } else {
        let how = |header: &RunHeader| how(None, &header.verb, header.clock);
        found.push(Note::Clock(Differing { volume: None, baseline: how(a), other: how(b) }));
    }
    volumes(&mut found, baseline, other, pairs);
    let (from, to) = (&a.host, &b.host);
    let texts = |of: fn(&HostFacts) -> &Option<String>| differing(None, of(from).clone(), of(to).clone());
    found.extend(texts(|host| &host.hostname).map(Note::Machine));
    found.extend(texts(|host| &host.cpu_model).map(Note::CpuModel));
    found.extend(differing(None, from.cpus, to.cpus).map(Note::Cpus));
    found.extend(differing_bytes(None, from.memory_bytes.zip(to.memory_bytes)).map(Note::Memory));
    found.extend(texts(|host| &host.virtualization).map(Note::Virtualization));
    found.extend(texts(|host| &host.kernel).map(Note::Kernel));
    let [engines_from, engines_to] = [engines(pairs.iter().map(|p| p.0)), engines(pairs.iter().map(|p| p.1))];
    found.extend(differing(None, engines_from, engines_to).map(Note::Engine));
    found.extend(differing(None, Some(a.version.clone()), Some(b.version.clone())).map(Note::Version));
    let plans = |side: &Side<'_>| -> Vec<String> { side.run.header.plans.iter().map(|p| p.hash.clone()).collect() };
    if plans(baseline) != plans(other) {
        found.push(Note::Plan);
    }
    let environment = |header: &RunHeader| header.environment.as_ref().map(|e| (e.name.clone(), e.hash.clone()));
    if environment(a) != environment(b) {
        let name = |header: &RunHeader| header.environment.as_ref().map(|environment| environment.name.clone());
        found.push(Note::Environment(Differing { volume: None, baseline: name(a), other: name(b) }));
    }
    for (side, whose) in [(baseline, Whose::Baseline), (other, Whose::Other)] {
        if side.run.status != RunStatus::Finished {
            let header = &side.run.header;
            found.push(Note::Incomplete { whose, emulated: is_emulated(&header.verb, header.clock) });
        }
    }
    found
}

/// What is known of one side alone is no difference.
fn differing<T: PartialEq>(volume: Option<&str>, from: Option<T>, to: Option<T>) -> Option<Differing<T>> {
    let (baseline, other) = from.zip(to).filter(|(from, to)| from != to)?;
    Some(Differing { volume: volume.map(str::to_owned), baseline, other })
}

/// Sizes that people read as one are no difference.
fn differing_bytes(volume: Option<&str>, sizes: Option<(u64, u64)>) -> Option<DifferingBytes> {
    let (baseline_bytes, other_bytes) = sizes.filter(|(from, to)| size(*from) != size(*to))?;
    Some(DifferingBytes { volume: volume.map(str::to_owned), baseline_bytes, other_bytes })
}

/// What is compared of a side, by the names of its volumes.
fn volumes_of<'a>(side: &Side<'a>) -> Vec<&'a VolumeFacts> {
    side.run.header.volumes.iter().filter(|v| side.volume.is_none_or(|name| v.name == name)).collect()
}

/// One volume against another, or those of one name.
fn volumes(found: &mut Vec<Note>, baseline: &Side<'_>, other: &Side<'_>, cells: &[(&CellRecord, &CellRecord)]) {
    let (from, to) = (volumes_of(baseline), volumes_of(other));
    let pairs: Vec<(&VolumeFacts, &VolumeFacts)> = match (from.as_slice(), to.as_slice()) {
        ([a], [b]) => vec![(*a, *b)],
        _ => from.iter().filter_map(|a| to.iter().find(|b| b.name == a.name).map(|b| (*a, *b))).collect(),
    };
    for (a, b) in &pairs {
        let name = (pairs.len() > 1).then_some(a.name.as_str());
        found.extend(differing(name, Some(a.place().to_owned()), Some(b.place().to_owned())).map(Note::Target));
        found.extend(differing_bytes(name, spread_over(a, b, cells)).map(Note::VolumeSize));
        found.extend(differing(name, Some(a.direct), Some(b.direct)).map(Note::PageCache));
        let system = |v: &VolumeFacts| v.file_system.as_ref().map(|f| f.kind.clone());
        found.extend(differing(name, system(a), system(b)).map(Note::FileSystem));
        found.extend(differing(name, devices(a), devices(b)).map(Note::Device));
    }
}

/// What a load that names nothing spreads over on a model, or half the volume where that is less (`docs/inside/prediction.md`).
const OF_A_MODEL: u64 = 16 << 30;

/// What the load spreads over on either side, of the first cells that differ in it: what the load names, or where it names nothing all
/// of the volume, of a model [`OF_A_MODEL`]. A volume that is larger than that makes no difference.
fn spread_over(a: &VolumeFacts, b: &VolumeFacts, cells: &[(&CellRecord, &CellRecord)]) -> Option<(u64, u64)> {
    let all = |volume: &VolumeFacts| match volume.kind {
        TargetKind::Modelled => volume.size_bytes.map(|size| OF_A_MODEL.min(size / 2)),
        _ => volume.size_bytes,
    };
    let of = |cell: &CellRecord, volume: &VolumeFacts| cell.load.figures().size_bytes.or_else(|| all(volume));
    let own = cells.iter().filter(|(from, to)| from.volume == a.name && to.volume == b.name);
    let mut sizes = own.filter_map(|(from, to)| Some((of(from, a)?, of(to, b)?)));
    sizes.find(|(from, to)| from != to)
}

/// Models of the devices; `None` where the kernel knows no model.
fn devices(volume: &VolumeFacts) -> Option<Vec<DeviceModel>> {
    let mut counted: Vec<DeviceModel> = Vec::new();
    for model in volume.devices.iter().filter_map(|device| device.model.as_deref()) {
        match counted.iter_mut().find(|known| known.model == model) {
            Some(known) => known.count += 1,
            None => counted.push(DeviceModel { model: model.to_owned(), count: 1 }),
        }
    }
    (!counted.is_empty()).then_some(counted)
}

/// Every engine that was used, with its options.
fn engines<'a>(cells: impl Iterator<Item = &'a CellRecord>) -> Option<Vec<EngineWithOptions>> {
    let engine = |trial: &TrialRecord| EngineWithOptions {
        engine: trial.engine.name.to_string(),
        options: trial.engine.options.clone(),
    };
    let all: BTreeSet<EngineWithOptions> = cells.flat_map(trials_used).map(engine).collect();
    (!all.is_empty()).then(|| all.into_iter().collect())
}
