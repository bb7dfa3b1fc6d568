//! Imported jobs as cells: the same job run several times, one time after the other, has several trials.

use super::volumes::Placed;
use crate::{DeclaredEnvironment, Error, label};
use loadline_record::{
    CellRecord, Doubt, DoubtCode, DoubtEvidence, ImportedFrom, LoadFigures, TrialRecord, VolumeFacts,
};
use loadline_units::Bytes;
use loadline_workload::LoadSpec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Ends and beginnings are known to a second.
const SLACK_MS: u64 = 1_000;

/// A cell on its way: its trials in the order of time.
struct Gathered {
    volume: String,
    spec: LoadSpec,
    trials: Vec<(TrialRecord, Vec<String>)>,
}

/// Cells of one load, by their places among all.
#[derive(Default)]
struct Waiting {
    /// Those that may have another trial.
    ended: BTreeSet<usize>,
    /// Those whose last job goes on, with its end; the first to end comes first.
    running: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Waiting {
    /// Time comes to `now_ms`.
    fn pass(&mut self, now_ms: u64) {
        while let Some(Reverse((ends_ms, place))) = self.running.peek().copied()
            && ends_ms <= now_ms
        {
            self.running.pop();
            self.ended.insert(place);
        }
    }
}

/// The cells of jobs on their volumes, in the order in which they come, with their doubts.
///
/// # Errors
/// A load that cannot be modelled on the environment.
pub(super) fn cells(
    jobs: &[Placed],
    volumes: &[VolumeFacts],
    from: &ImportedFrom,
    declared: Option<&DeclaredEnvironment>,
) -> Result<Vec<CellRecord>, Error> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|index| jobs[*index].1.span_ms);
    let mut gathered: Vec<(usize, Gathered)> = Vec::new();
    // The cells of each load: those whose last job has ended by now, and when the others end.
    let mut places: BTreeMap<(&str, &str, String), Waiting> = BTreeMap::new();
    for index in order {
        let (volume, job) = &jobs[index];
        let spec = serde_json::to_string(&job.spec).expect("a specification is plain data");
        let waiting = places.entry((volume, &job.name, spec)).or_default();
        waiting.pass(job.span_ms.0 + SLACK_MS);
        let trial = (job.trial.clone(), job.unknown.clone());
        let place = if let Some(place) = waiting.ended.pop_first() {
            let (first, cell) = &mut gathered[place];
            *first = (*first).min(index);
            cell.trials.push(trial);
            place
        } else {
            let cell = Gathered { volume: volume.clone(), spec: job.spec.clone(), trials: vec![trial] };
            gathered.push((index, cell));
            gathered.len() - 1
        };
        waiting.running.push(Reverse((job.span_ms.1, place)));
    }
    gathered.sort_by_key(|(index, _)| *index);
    let facts_of: BTreeMap<&str, &VolumeFacts> = volumes.iter().map(|facts| (facts.name.as_str(), facts)).collect();
    let mut alike: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut cells: Vec<CellRecord> = Vec::new();
    for (number, (_, cell)) in gathered.into_iter().enumerate() {
        let facts = facts_of.get(cell.volume.as_str()).expect("every job has a volume");
        let ceilings = match declared {
            Some(declared) => declared.ceilings(&cell.volume, &cell.spec, facts.size_bytes.map(Bytes::new))?,
            None => Vec::new(),
        };
        let mut record = CellRecord { ceilings, ..record(number, cell, facts, from) };
        let load = serde_json::to_string(&record.load.spec()).expect("a specification is plain data");
        let alike = alike.entry((record.volume.clone(), load)).or_default();
        *alike += 1;
        if *alike > 1 {
            record.label = format!("{} ({alike})", record.label);
        }
        cells.push(record);
    }
    Ok(cells)
}

fn record(number: usize, cell: Gathered, volume: &VolumeFacts, from: &ImportedFrom) -> CellRecord {
    let count = cell.trials.len() as u32;
    let spec = LoadSpec { trials: count, ..cell.spec };
    let load = LoadFigures::from(&spec);
    let trials = (cell.trials.into_iter().zip(0..))
        .map(|((trial, unknown), number)| {
            doubted(&load, TrialRecord { trial: number, ..trial }, &unknown, volume, from)
        })
        .collect();
    CellRecord {
        id: format!("import-{number}"),
        volume: cell.volume,
        label: label(&spec),
        load: spec.into(),
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned: count,
        trials,
    }
}

/// A trial with its doubts: those of every measurement, those that its tool's figures show, and what the tool does not tell.
pub(super) fn doubted(
    load: &LoadFigures,
    mut trial: TrialRecord,
    unknown: &[String],
    volume: &VolumeFacts,
    from: &ImportedFrom,
) -> TrialRecord {
    let mut doubts = loadline_analysis::doubts(load, &trial, volume);
    doubts.append(&mut trial.doubts);
    doubts.push(of_the_import(&trial, unknown, from));
    doubts.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
    doubts.dedup_by_key(|doubt| doubt.code);
    TrialRecord { doubts, ..trial }
}

/// What could not be checked of what another tool measured.
fn of_the_import(trial: &TrialRecord, unknown: &[String], from: &ImportedFrom) -> Doubt {
    let seen = DoubtEvidence::MeasuredElsewhere {
        tool: from.tool_and_version(),
        counted_device: trial.surroundings.devices.first().map(|device| device.name.clone()),
        has_series: !trial.series.seconds.is_empty(),
        not_told: unknown.to_vec(),
    };
    Doubt { code: DoubtCode::Imported, seen }
}
