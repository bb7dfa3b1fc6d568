//! Results of a plan that was carried elsewhere: which file is of which cell and trial.

use super::FolderImport;
use super::cells::doubted;
use crate::error::{NotOfPlan, PlannedError};
use crate::{DeclaredEnvironment, Error, PlanLength, label, read_plan};
use loadline_imported::{Job, Results};
use loadline_record::{CellRecord, ImportedFrom, LoadFigures, PlanText, TrialRecord, VOLUME_DEFAULT, VolumeFacts};
use loadline_units::Bytes;
use loadline_workload::{Arrival, CARRIED_PLAN, CarriedPlan, LoadSpec, Pattern, Plan};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How files of results end.
const ENDINGS: [&str; 2] = ["json", "xml"];

/// The plan of a folder.
#[derive(Debug)]
pub(super) struct Planned {
    plan: Plan,
    carried: CarriedPlan,
    /// Cells and trials without a result, by the names of their files.
    missing: Vec<String>,
}

impl Planned {
    /// The plan of a folder, if it has one.
    ///
    /// # Errors
    /// A plan that cannot be read, or that belongs on several volumes.
    pub(super) fn of(folder: &Path) -> Result<Option<Self>, Error> {
        let file = folder.join(CARRIED_PLAN);
        if !file.is_file() {
            return Ok(None);
        }
        let plan = read_plan(&file.display().to_string(), PlanLength::Full)?.plan;
        let carried = CarriedPlan::new(&plan, VOLUME_DEFAULT).map_err(PlannedError::from)?;
        Ok(Some(Self { plan, carried, missing: Vec::new() }))
    }

    /// Takes out of a folder what is of another run, and says what is missing.
    pub(super) fn sort_out(mut self, folder: &mut FolderImport) {
        let files = std::mem::take(&mut folder.import.files);
        let read = std::mem::take(&mut folder.import.read);
        let mut texts: BTreeMap<String, PathBuf> = BTreeMap::new();
        let mut trials: BTreeMap<(usize, u32), PathBuf> = BTreeMap::new();
        for (file, (about, results)) in files.into_iter().zip(read) {
            let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if !ENDINGS.contains(&ending) {
                folder.others += 1;
                continue;
            }
            let place = self.place(&file, &results).and_then(|place| {
                let copy = texts.get(&about.hash).map(|other| NotOfPlan::Copy { other: named(other) });
                let twice = || trials.get(&place).map(|other| NotOfPlan::Trial { other: named(other) });
                copy.or_else(twice).map_or(Ok(place), Err)
            });
            match place {
                Ok(place) => {
                    texts.insert(about.hash.clone(), file.clone());
                    trials.insert(place, file.clone());
                    folder.import.files.push(file);
                    folder.import.read.push((about, results));
                }
                Err(why) => {
                    let file = file.display().to_string();
                    folder.refused.push((file.clone(), PlannedError::File { file, why }.into()));
                }
            }
        }
        self.missing = self.without(&trials);
        folder.import.planned = Some(self);
    }

    /// Cells and trials without a result, by their names.
    fn without(&self, trials: &BTreeMap<(usize, u32), PathBuf>) -> Vec<String> {
        let mut missing = Vec::new();
        for (place, cell) in self.carried.run.cells.iter().enumerate() {
            let absent: Vec<u32> =
                (0..cell.spec.trials).filter(|trial| !trials.contains_key(&(place, *trial))).collect();
            if absent.len() == cell.spec.trials as usize {
                missing.push(self.carried.names[place].clone());
            } else {
                missing.extend(absent.into_iter().map(|trial| self.carried.result(place, trial)));
            }
        }
        missing
    }

    /// The cell and the trial of a file.
    fn place(&self, file: &Path, results: &Results) -> Result<(usize, u32), NotOfPlan> {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let place = self.carried.place_of(stem).ok_or_else(|| NotOfPlan::Name { plan: self.plan.name.clone() })?;
        match results.jobs.as_slice() {
            // The import says why it was left out.
            [] if !results.left_out.is_empty() => Ok(place),
            [job] => {
                self.is_of(place.0, results, job)?;
                Ok(place)
            }
            jobs => Err(NotOfPlan::Loads { loads: jobs.len() }),
        }
    }

    /// Whether a job can be the cell, by all that its tool tells.
    fn is_of(&self, place: usize, results: &Results, job: &Job) -> Result<(), NotOfPlan> {
        let cell = &self.carried.names[place];
        if results.tool == "fio" && job.name != *cell {
            return Err(NotOfPlan::Load { what: "the job's name", found: job.name.clone(), wanted: cell.clone() });
        }
        let (found, wanted) = (traits(&job.spec), traits(&self.carried.run.cells[place].spec));
        let other = found.into_iter().zip(wanted).find(|((_, found), (_, wanted))| found != wanted);
        other.map_or(Ok(()), |((what, found), (_, wanted))| Err(NotOfPlan::Load { what, found, wanted }))
    }

    /// Cells and trials without a result, by the names of their files.
    pub(super) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The plan's text for the record.
    pub(super) fn text(&self) -> PlanText {
        PlanText { name: self.plan.name.clone(), text: self.plan.text.clone(), hash: self.plan.hash() }
    }

    /// The volume that the plan's loads name, if they name one.
    pub(super) fn volume(&self) -> Option<&str> {
        self.plan.loads.iter().find_map(|load| load.on.as_deref())
    }

    /// The plan's cells with the trials of the results, in the plan's order: what is missing has none.
    ///
    /// # Errors
    /// A load that cannot be modelled on the environment.
    pub(super) fn cells(
        &self,
        jobs: impl Iterator<Item = (PathBuf, Job)>,
        volume: &VolumeFacts,
        from: &ImportedFrom,
        declared: Option<&DeclaredEnvironment>,
    ) -> Result<Vec<CellRecord>, Error> {
        let carried = CarriedPlan::new(&self.plan, &volume.name).map_err(PlannedError::from)?;
        let mut trials: BTreeMap<(usize, u32), TrialRecord> = BTreeMap::new();
        for (file, job) in jobs {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let Some(place) = carried.place_of(stem) else { continue };
            let load = LoadFigures::from(&carried.run.cells[place.0].spec);
            let trial = TrialRecord { trial: place.1, ..job.trial };
            trials.insert(place, doubted(&load, trial, &job.unknown, volume, from));
        }
        let mut cells = Vec::new();
        for (place, cell) in carried.run.cells.into_iter().enumerate() {
            // Nobody will measure what is missing into this run: it has the trials that there are.
            let own = trials.range((place, 0)..=(place, u32::MAX)).map(|(_, trial)| trial).zip(0..);
            let own: Vec<TrialRecord> =
                own.map(|(trial, number)| TrialRecord { trial: number, ..trial.clone() }).collect();
            if own.is_empty() {
                continue;
            }
            let ceilings = match declared {
                Some(declared) => declared.ceilings(&cell.volume, &cell.spec, volume.size_bytes.map(Bytes::new))?,
                None => Vec::new(),
            };
            cells.push(CellRecord {
                id: cell.id,
                volume: cell.volume,
                label: label(&cell.spec),
                trials_planned: own.len() as u32,
                load: cell.spec.into(),
                beside: Vec::new(),
                ceilings,
                trials: own,
            });
        }
        Ok(cells)
    }
}

/// A file's own name.
fn named(file: &Path) -> String {
    file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// What every tool tells of a load.
fn traits(spec: &LoadSpec) -> [(&'static str, String); 6] {
    let pattern = if matches!(spec.pattern, Pattern::Random(_)) { "random" } else { "sequential" };
    let blocks: Vec<String> = spec.blocks.iter().map(|of| format!("{} {}", of.share, of.size)).collect();
    let arrival = match &spec.arrival {
        Arrival::Closed { queue_depth, rate_max: None, .. } => format!("depth {queue_depth}"),
        Arrival::Closed { queue_depth, rate_max: Some(rate), .. } => format!("depth {queue_depth} at {rate}"),
        Arrival::Constant { rate } => format!("constant {rate}"),
        Arrival::Poisson { rate } => format!("Poisson {rate}"),
    };
    [
        ("the pattern", pattern.to_owned()),
        ("the share of reads", spec.reads.to_string()),
        ("the block", blocks.join(" + ")),
        ("the arrival of requests", arrival),
        ("the number of threads", spec.threads.to_string()),
        ("the page cache", if spec.buffered { "used" } else { "not used" }.to_owned()),
    ]
}
