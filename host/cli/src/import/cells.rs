//! Imported jobs as cells: the same job run several times, one time after the other, has several trials.

use super::volumes::Placed;
use loadline_record::{CellRecord, Doubt, DoubtCode, ImportedFrom, LoadFigures, TrialRecord, VolumeFacts};
use loadline_runs::{DeclaredEnvironment, label};
use loadline_units::Bytes;
use loadline_workload::LoadSpec;

/// Ends and beginnings are known to a second.
const SLACK_MS: u64 = 1_000;

/// A cell on its way: its trials in the order of time.
struct Gathered {
    volume: String,
    name: String,
    spec: LoadSpec,
    ended_ms: u64,
    trials: Vec<(TrialRecord, Vec<String>)>,
}

/// The cells of jobs on their volumes, in the order in which they come, with their doubts.
///
/// # Errors
/// A load that cannot be modelled on the environment.
pub(crate) fn cells(
    jobs: &[Placed],
    volumes: &[VolumeFacts],
    from: &ImportedFrom,
    declared: Option<&DeclaredEnvironment>,
) -> anyhow::Result<Vec<CellRecord>> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|index| jobs[*index].1.span_ms);
    let mut gathered: Vec<(usize, Gathered)> = Vec::new();
    for index in order {
        let (volume, job) = &jobs[index];
        let fits = |(_, cell): &&mut (usize, Gathered)| {
            (&cell.volume, &cell.name, &cell.spec) == (volume, &job.name, &job.spec)
                && cell.ended_ms <= job.span_ms.0 + SLACK_MS
        };
        let trial = (job.trial.clone(), job.unknown.clone());
        if let Some((place, cell)) = gathered.iter_mut().find(fits) {
            *place = (*place).min(index);
            cell.ended_ms = job.span_ms.1;
            cell.trials.push(trial);
        } else {
            let (name, spec) = (job.name.clone(), job.spec.clone());
            let cell = Gathered { volume: volume.clone(), name, spec, ended_ms: job.span_ms.1, trials: vec![trial] };
            gathered.push((index, cell));
        }
    }
    gathered.sort_by_key(|(index, _)| *index);
    let mut cells: Vec<CellRecord> = Vec::new();
    for (number, (_, cell)) in gathered.into_iter().enumerate() {
        let facts = volumes.iter().find(|facts| facts.name == cell.volume).expect("every job has a volume");
        let ceilings = match declared {
            Some(declared) => declared.ceilings(&cell.volume, &cell.spec, facts.size_bytes.map(Bytes::new))?,
            None => Vec::new(),
        };
        let mut record = CellRecord { ceilings, ..record(number, cell, facts, from) };
        let alike = cells.iter().filter(|c| c.volume == record.volume && c.load == record.load).count();
        if alike > 0 {
            record.label = format!("{} ({})", record.label, alike + 1);
        }
        cells.push(record);
    }
    Ok(cells)
}

fn record(number: usize, cell: Gathered, volume: &VolumeFacts, from: &ImportedFrom) -> CellRecord {
    let count = cell.trials.len() as u32;
    let spec = LoadSpec { trials: count, ..cell.spec };
    let load = LoadFigures::from(&spec);
    let trials = (cell.trials.into_iter().zip(0..)).map(|((mut trial, unknown), number)| {
        trial.trial = number;
        let mut doubts = loadline_analysis::doubts(&load, &trial, volume);
        doubts.append(&mut trial.doubts);
        doubts.push(of_the_import(&trial, &unknown, from));
        doubts.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
        doubts.dedup_by_key(|doubt| doubt.code);
        TrialRecord { doubts, ..trial }
    });
    let trials = trials.collect();
    CellRecord {
        id: format!("import-{number}"),
        volume: cell.volume,
        label: label(&spec),
        load: spec.into(),
        ceilings: Vec::new(),
        trials_planned: count,
        trials,
    }
}

/// What could not be checked of what another tool measured.
fn of_the_import(trial: &TrialRecord, unknown: &[String], from: &ImportedFrom) -> Doubt {
    let more: Vec<String> = unknown.iter().map(|sentence| format!(" {sentence}.")).collect();
    let around = match trial.surroundings.devices.as_slice() {
        [] => "nothing was noted around it. Not checked: whether reads came from a cache or from blocks never written, which requests \
               reached the device and how many at once, other load on the device, CPU time taken by the hypervisor, the clock"
            .to_owned(),
        [device, ..] => format!(
            "nothing but its own counts of {} was noted around it. Not checked: whether reads fell on blocks never written, CPU time \
             taken by the hypervisor, the clock",
            device.name
        ),
    };
    let detail = format!(
        "{} measured it, and {around}. There is no course of seconds: whether the rate was steady, and whether it lasts, is not known.{}",
        from.tool_and_version(),
        more.concat()
    );
    Doubt { code: DoubtCode::Imported, detail }
}
