//! The record of an emulation: a run with a cell for each volume that somebody used.

use crate::kinds::application::{ApplicationTrial, RequestSource, application_cell, application_model_record};
use crate::{Error, NewRun, stored_environment};
use loadline_block::Operation;
use loadline_catalog::Environment;
use loadline_disk::InitialState;
use loadline_emulation::{History, HistoryEntry, TimeAccount};
use loadline_emulator::{Emulation, ExportFigures, Turns};
use loadline_prediction::{CreditsWatch, most_plausible, volume_facts};
use loadline_record::{
    Clock, Doubt, DoubtCode, DoubtEvidence, EngineName, EngineUsed, OperationRecord, RunHeader, RunRecord, RunStatus,
    RunVerb, Series, StorageChange, Surroundings, TrialRecord,
};
use loadline_units::{Bytes, Timestamp};
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// What is emulated, and since when.
#[derive(Debug, Clone)]
pub(super) struct EmulationAbout {
    /// Of the run.
    pub(super) id: String,
    pub(super) environment: Environment,
    /// What to call the run, where somebody said so.
    pub(super) name: Option<String>,
    pub(super) seed: u64,
    /// How it was before the first request.
    pub(super) initial: InitialState,
    pub(super) started_unix_s: u64,
    /// Settings that matter to what clients see.
    pub(super) settings: EmulationRecordSettings,
}

/// The settings of an emulation, as they stand in its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EmulationRecordSettings {
    /// Bytes of writes that each disk's own cache may hold.
    pub write_cache: Bytes,
    /// Flushes make nothing durable.
    pub lie_about_flush: bool,
    /// The clock is polled while an answer is due soon.
    pub spin: bool,
    /// Burst credits at the beginning, as they are written.
    pub bursts: String,
    /// Volumes are attached to this machine.
    pub attached: bool,
}

/// What the clients of every export did up to a moment.
#[derive(Debug, Clone)]
pub struct EmulationFigures {
    names: Vec<String>,
    figures: Vec<ExportFigures>,
    accounts: Vec<(TimeAccount, Series)>,
    /// How the emulator's threads got the processor.
    pub turns: Turns,
    /// Every change to the storage.
    pub history: History,
}

/// What the clients of one export did.
#[derive(Debug, Clone, Copy)]
pub struct ExportResult<'a> {
    /// The volume or disk.
    pub name: &'a str,
    /// Requests, latencies, and how late answers left.
    pub figures: &'a ExportFigures,
    /// What its time went to.
    pub account: &'a TimeAccount,
    /// The same second by second.
    pub series: &'a Series,
    /// Its burst credits.
    pub credits: &'a CreditsWatch,
}

impl EmulationFigures {
    /// Up to now.
    #[must_use]
    pub fn of(emulation: &Emulation) -> Self {
        Self {
            names: emulation.exports().iter().map(|export| export.name.clone()).collect(),
            figures: emulation.figures(),
            accounts: emulation.accounts_and_series(),
            turns: emulation.turns(),
            history: emulation.history(),
        }
    }

    /// Requests that have been answered, over all exports.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.accounts.iter().map(|(account, _)| account.requests).sum()
    }

    /// Each volume with its `credits`, and each disk that somebody used by itself.
    #[must_use]
    pub fn exports<'a>(&'a self, credits: &'a [CreditsWatch]) -> Vec<ExportResult<'a>> {
        let all = self.names.iter().zip(&self.figures).zip(&self.accounts).zip(credits);
        let all = all.map(|(((name, figures), (account, series)), credits)| ExportResult {
            name,
            figures,
            account,
            series,
            credits,
        });
        all.filter(|export| !export.name.contains('/') || export.figures.requests() > 0).collect()
    }
}

/// The run so far. It has no cells as long as nobody asked for anything.
///
/// # Errors
/// An export is no volume of the environment.
pub(super) fn emulation_record(
    emulated: &EmulationAbout,
    done: &EmulationFigures,
    credits: &[CreditsWatch],
    status: RunStatus,
) -> Result<RunRecord, Error> {
    let exports = done.exports(credits);
    let model = most_plausible(&emulated.environment);
    let (mut cells, mut volumes) = (Vec::new(), Vec::new());
    for (number, ExportResult { name, figures, account, series, credits }) in exports.iter().enumerate() {
        if account.requests == 0 {
            continue;
        }
        let mut trial = trial(figures, account, series, emulated.started_unix_s);
        let of_trial = ApplicationTrial {
            seed: emulated.seed,
            initial: emulated.initial,
            account,
            series,
            credits: Some(credits),
        };
        trial.model = Some(application_model_record(&model, name, &of_trial)?);
        let volume = volume_facts(&model, name, name)?;
        let label = "an application's load".to_owned();
        let mut cell = application_cell(format!("emulate-{number}"), name, label, RequestSource::Application, &trial);
        trial.doubts = loadline_analysis::doubts(&cell.load.figures(), &trial, &volume);
        trial.doubts.extend(emulation_doubts(name, figures, account, &done.history));
        trial.doubts.extend(credits.doubt(&model, name, &trial));
        trial.doubts.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
        cell.trials.push(trial);
        volumes.push(volume);
        cells.push(cell);
    }
    let environment = &emulated.environment;
    let first: serde_json::Map<String, Json> = exports
        .iter()
        .filter_map(|export| Some((export.name.to_owned(), export.account.first?.as_ns().into())))
        .collect();
    let mut settings = serde_json::to_value(&emulated.settings).expect("settings are plain data");
    settings["turns"] = done.turns.name().into();
    settings["changes"] = serde_json::to_value(&done.history).expect("a history is plain data");
    settings["first_request_ns"] = first.into();
    let new = NewRun {
        id: emulated.id.clone(),
        name: emulated.name.clone().unwrap_or_else(|| format!("application on {}", environment.name)),
        verb: RunVerb::Emulate,
        clock: Clock::Real,
        seed: emulated.seed,
        started: Timestamp::from_unix_s(emulated.started_unix_s),
    };
    let environment = Some(stored_environment(environment));
    let header = RunHeader { environment, volumes, settings, ..new.header() };
    Ok(RunRecord { header, status, cells })
}

/// Changes that a doubt lists one by one.
const LISTED_MAX: usize = 20;

/// Doubts about the figures of an export that the emulation alone knows.
#[must_use]
pub fn emulation_doubts(export: &str, figures: &ExportFigures, account: &TimeAccount, history: &History) -> Vec<Doubt> {
    late(figures).into_iter().chain(changed(export, account, history)).collect()
}

/// A doubt where the storage was changed before the export's last answer, with each change and its time.
fn changed(export: &str, account: &TimeAccount, history: &History) -> Option<Doubt> {
    let first = account.first?;
    let concerns = |happened: &&HistoryEntry| happened.concerns(export) && happened.at <= account.last;
    let all: Vec<&HistoryEntry> = history.told.iter().filter(concerns).collect();
    if all.is_empty() {
        return None;
    }
    let (listed, rest) = all.split_at(all.len().min(LISTED_MAX));
    let one = |happened: &&HistoryEntry| StorageChange {
        at_ns: happened.at.as_ns().cast_signed() - first.as_ns().cast_signed(),
        what: happened.what.clone(),
    };
    let changes = listed.iter().map(one).collect();
    let seen = DoubtEvidence::StorageChanged { changes, more: rest.len() as u64 + history.more };
    Some(Doubt { code: DoubtCode::ChangedMeanwhile, seen })
}

/// A doubt where answers left too late to be the disk's.
fn late(figures: &ExportFigures) -> Option<Doubt> {
    let (late, modelled) = figures.late()?;
    let (late_p99_ns, modelled_p99_ns) = (late.as_ns(), modelled.as_ns());
    let seen = DoubtEvidence::AnswersLate { recorded: false, late_p99_ns, modelled_p99_ns };
    Some(Doubt { code: DoubtCode::LateDelivery, seen })
}

/// The trial from the first request until the last answer.
fn trial(figures: &ExportFigures, account: &TimeAccount, series: &Series, started_unix_s: u64) -> TrialRecord {
    let mut operations: BTreeMap<Operation, OperationRecord> = BTreeMap::new();
    for operation in Operation::ALL {
        let of = &figures.operations[operation.index()];
        if of.latency.count() + of.failed > 0 {
            let (count, bytes) = (of.latency.count(), of.bytes.get());
            let (errors, latency) = (of.failed, of.latency.clone());
            operations
                .insert(operation, OperationRecord { count, bytes, errors, latency, ..OperationRecord::default() });
        }
    }
    let asked = operations.iter().map(|(operation, of)| (*operation, (of.count + of.errors, of.bytes))).collect();
    TrialRecord {
        measured_ns: account.span().as_ns(),
        operations,
        series: series.clone(),
        errors: figures.errors.clone(),
        surroundings: Surroundings { asked, ..Surroundings::default() },
        ..TrialRecord::empty(
            0,
            started_unix_s,
            EngineUsed {
                name: EngineName::Emulator,
                reason: "an application asks; the model answers under the real clock".into(),
                options: Vec::new(),
            },
        )
    }
}
