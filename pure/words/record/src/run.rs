//! A run: its provenance, its cells, and the trials that each cell has had so far.

use crate::load::StoredFigures;
use crate::{Ceiling, Doubt, HostFacts, Load, PipelineRecord, RunVerb, SourceLimit, TrialRecord, VolumeFacts};
use loadline_load::Objective;
use serde::{Deserialize, Serialize};

/// Which clock a run's times are told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The machine's: something was measured.
    Real,
    /// A model's: something was predicted.
    Virtual,
}

/// A plan's text with its fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanText {
    /// The plan's name.
    pub name: String,
    /// Its text, as read.
    pub text: String,
    /// FNV-1a (64 bit) of the text, hexadecimal.
    pub hash: String,
}

/// Where figures come from that loadline did not measure itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// The tool that measured: `fio`.
    pub tool: String,
    /// Its version, as its results tell it.
    pub tool_version: Option<String>,
    /// The files read, in their order.
    pub files: Vec<ImportedFile>,
    /// What the results say about how they were read, in sentences.
    pub notes: Vec<String>,
}

impl ImportedFrom {
    /// "fio 3.33", or "fio" where it does not tell its version.
    #[must_use]
    pub fn tool_and_version(&self) -> String {
        self.tool_version.as_ref().map_or_else(|| self.tool.clone(), |version| format!("{} {version}", self.tool))
    }
}

/// A file of another tool's results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// Its name as typed.
    pub name: String,
    /// FNV-1a (64 bit) of its text, hexadecimal.
    pub hash: String,
}

/// What is known of a run when it begins; never changed afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunHeader {
    /// Unique, sorts by start: `20260131-142233-1a2b3c`.
    pub id: String,
    /// The plan's name, or what the user called the run.
    pub name: String,
    /// The verb that made it.
    pub verb: RunVerb,
    /// Which clock.
    pub clock: Clock,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// Version of the tool.
    pub version: String,
    /// The seed of every random choice.
    pub seed: u64,
    /// Where its figures come from; `None` where loadline measured or predicted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFrom>,
    /// The machine.
    pub host: HostFacts,
    /// The plans, in order.
    pub plans: Vec<PlanText>,
    /// The environment's text, if one was declared.
    pub environment: Option<PlanText>,
    /// The volumes.
    pub volumes: Vec<VolumeFacts>,
    /// Settings of the command that `--resume` must repeat; opaque to everything but the command line.
    pub settings: serde_json::Value,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// Begun; still under way, or killed.
    Unfinished,
    /// Every trial is there.
    Finished,
    /// Stopped by the user.
    Interrupted,
    /// Ended by an error; what was finished is there.
    Failed,
}

/// What a volume is called where the command line gives it no name.
pub const VOLUME_DEFAULT: &str = "data";

/// One load on one volume.
///
/// It is stored with its load in two parts: the figures that tables need, and the whole specification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredCell", into = "StoredCell")]
pub struct CellRecord {
    /// Stable within the run: the same plan and volume give the same id.
    pub id: String,
    /// The volume's name.
    pub volume: String,
    /// For people: "random read 4 KiB, depth 32".
    pub label: String,
    /// What was asked of it.
    pub load: Load,
    /// The loads that ran at the same time in each of its trials.
    pub beside: Vec<LoadBeside>,
    /// Every ceiling of this load that a declared environment gives, lowest first; empty where none was declared.
    pub ceilings: Vec<Ceiling>,
    /// Trials that the plan wants.
    pub trials_planned: u32,
    /// Trials done, in order of their number.
    pub trials: Vec<TrialRecord>,
}

/// Another cell of the run whose trials run at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBeside {
    /// Its id.
    pub cell: String,
    /// Its volume's name.
    pub volume: String,
    /// Its name in the plan, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it asks, for people: "sequential write 4 KiB, depth 1".
    pub load: String,
}

impl LoadBeside {
    /// Its name, or what it asks.
    #[must_use]
    pub fn words(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.load)
    }
}

/// A cell as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredCell {
    id: String,
    volume: String,
    label: String,
    load: StoredFigures,
    spec: serde_json::Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    beside: Vec<LoadBeside>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ceilings: Vec<Ceiling>,
    trials_planned: u32,
    trials: Vec<TrialRecord>,
}

impl From<CellRecord> for StoredCell {
    fn from(cell: CellRecord) -> Self {
        let CellRecord { id, volume, label, load, beside, ceilings, trials_planned, trials } = cell;
        let spec = load.spec_stored();
        Self { id, volume, label, load: load.figures().into(), spec, beside, ceilings, trials_planned, trials }
    }
}

impl From<StoredCell> for CellRecord {
    fn from(stored: StoredCell) -> Self {
        let StoredCell { id, volume, label, load, spec, beside, ceilings, trials_planned, trials } = stored;
        Self { id, volume, label, load: Load::stored(load.into(), spec), beside, ceilings, trials_planned, trials }
    }
}

/// A run with all that it has so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Provenance.
    pub header: RunHeader,
    /// How far it has come.
    pub status: RunStatus,
    /// In the plan's order.
    pub cells: Vec<CellRecord>,
}

impl RunRecord {
    /// A run from its JSON. All that a run holds is compiled for this once, and not for each reader of a text that has one in it.
    ///
    /// # Errors
    /// It is no JSON, or lacks a part.
    pub fn of_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
    /// The limit at which it was watched, with the share of the time for which it was at one: of several devices the one that was at its limit
    /// longest.
    #[must_use]
    pub fn source_limit(&self) -> Option<(SourceLimit, f64)> {
        self.source_limits().into_iter().map(|(_, limit, share)| (limit, share)).max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
    /// The same of each watched device, with its name.
    #[must_use]
    pub fn source_limits(&self) -> Vec<(&str, SourceLimit, f64)> {
        let of_cell = |cell: &'_ CellRecord| {
            let watched = cell.trials.iter().filter_map(|trial| trial.watched.as_ref());
            watched.filter_map(|watched| watched.source_limit(&cell.volume)).max_by(|(_, a), (_, b)| a.total_cmp(b))
        };
        let all = self.cells.iter().map(|cell| (cell.volume.as_str(), of_cell(cell)));
        all.filter_map(|(device, found)| found.map(|(limit, share)| (device, limit, share))).collect()
    }
    /// The pipeline that a crawl measured last; `None`: it is no crawl, or did not come to its end.
    #[must_use]
    pub fn pipeline(&self) -> Option<&PipelineRecord> {
        self.cells.iter().flat_map(|cell| &cell.trials).rev().find_map(|trial| trial.pipeline.as_deref())
    }
    /// The objective that a cell is spoken of by: its own, or else the only one that loads of the run have.
    #[must_use]
    pub fn objective_of(&self, cell: &CellRecord) -> Option<Objective> {
        cell.load.figures().objective.or_else(|| self.sole_objective())
    }
    fn sole_objective(&self) -> Option<Objective> {
        let mut all = self.cells.iter().filter_map(|cell| cell.load.figures().objective);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }
    /// Judges the run by another objective: the loads that have one, or all of them where none has.
    pub fn judge_by(&mut self, objective: Objective) {
        let any = self.cells.iter().any(|cell| cell.load.figures().objective.is_some());
        for cell in &mut self.cells {
            if !any || cell.load.figures().objective.is_some() {
                cell.load.set_objective(objective);
            }
        }
    }
}

impl CellRecord {
    /// Every distinct doubt of the cell's trials, in their order.
    #[must_use]
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut all: Vec<Doubt> = Vec::new();
        for doubt in self.trials.iter().flat_map(|t| &t.doubts) {
            if !all.iter().any(|seen| seen.code == doubt.code) {
                all.push(doubt.clone());
            }
        }
        all.sort_by_key(|d| crate::DoubtCode::ALL.iter().position(|c| *c == d.code));
        all
    }
}
