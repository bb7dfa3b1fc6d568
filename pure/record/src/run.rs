//! A run: its provenance, its cells, and the trials that each cell has had so far.

use crate::{Ceiling, Doubt, HostFacts, TrialRecord, VolumeFacts};
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
    /// The verb that made it: `quick`, `run`.
    pub verb: String,
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

/// How requests arrive that an emulation recorded.
pub const RECORDED: &str = "recorded";
/// How requests arrive that an application makes on an emulated disk.
pub const APPLICATION: &str = "application";

/// Whether requests that arrive so were made by others. Then how many come is theirs at every moment: a rate that falls, or stays
/// below another, shows nothing of the storage, and no more can be offered.
#[must_use]
pub fn is_of_others(arrival: &str) -> bool {
    [RECORDED, APPLICATION].contains(&arrival)
}

/// The figures of a load that tables need; the whole specification is `CellRecord::spec`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSummary {
    /// `random` or `sequential`; `recorded` or `application` where others made the requests.
    pub pattern: String,
    /// Share of reads among reads and writes.
    pub read_ratio: f64,
    /// Block size; the mean, in a mix.
    pub block_bytes: u64,
    /// Bytes that the load spreads over, where it names them.
    #[serde(default)]
    pub size_bytes: Option<u64>,
    /// Requests kept outstanding by each thread; `None` in an open loop.
    pub queue_depth: Option<u32>,
    /// Load threads.
    pub threads: u32,
    /// `closed`, `constant` or `poisson`; [`RECORDED`] or [`APPLICATION`] where others made the requests.
    pub arrival: String,
    /// Open loop: arrivals per second over all threads. Closed loop with a ceiling: the ceiling.
    pub rate_iops: Option<f64>,
    /// Whether the page cache is used on purpose.
    pub buffered: bool,
    /// Flush after so many writes of a thread.
    pub flush_every: Option<u64>,
    /// Length of the measured time that was asked for, ns.
    pub duration_ns: u64,
    /// Latency objective, if one is set: "mean" or "p99" and so on, with its limit in ns.
    pub objective: Option<(String, u64)>,
}

/// One load on one volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Stable within the run: the same plan and volume give the same id.
    pub id: String,
    /// The volume's name.
    pub volume: String,
    /// For people: "random read 4 KiB, depth 32".
    pub label: String,
    /// The figures that tables need.
    pub load: LoadSummary,
    /// The whole specification (`LoadSpec` of the workload crate) as JSON.
    pub spec: serde_json::Value,
    /// Every ceiling of this load that a declared environment gives, lowest first; empty where none was declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
    /// Trials that the plan wants.
    pub trials_planned: u32,
    /// Trials done, in order of their number.
    pub trials: Vec<TrialRecord>,
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
