//! What an emulation did, as a run in the store: a cell for each volume that somebody used.

use crate::modelled::{self, Asker, How};
use loadline_block::Operation;
use loadline_catalog::Environment;
use loadline_disk::InitialState;
use loadline_emulation::{History, HistoryEntry, TimeAccount};
use loadline_emulator::{Emulation, ExportFigures, Turns};
use loadline_prediction::{CreditsWatch, most_plausible, volume_facts};
use loadline_record::{
    Clock, Doubt, DoubtCode, Ending, EngineName, EngineUsed, OperationRecord, PlanText, RunHeader, RunRecord,
    RunStatus, RunVerb, Series, Surroundings, TrialRecord,
};
use loadline_runs::wall_clock::UtcTime;
use loadline_units::Bytes;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// What is emulated, and since when.
pub(crate) struct Emulated<'a> {
    /// Of the run.
    pub(crate) id: String,
    pub(crate) environment: &'a Environment,
    /// What to call the run, where somebody said so.
    pub(crate) name: Option<&'a str>,
    pub(crate) seed: u64,
    /// How it was before the first request.
    pub(crate) initial: InitialState,
    pub(crate) started_unix_s: u64,
    /// Settings that matter to what clients see.
    pub(crate) settings: Settings,
}

/// As they stand in a record.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Settings {
    pub(crate) write_cache: Bytes,
    pub(crate) lie_about_flush: bool,
    pub(crate) spin: bool,
    pub(crate) bursts: String,
    pub(crate) attached: bool,
}

/// What was done up to a moment, by every export.
pub(crate) struct Done {
    names: Vec<String>,
    figures: Vec<ExportFigures>,
    went: Vec<(TimeAccount, Series)>,
    pub(crate) turns: Turns,
    pub(crate) history: History,
}

/// An export: its name, what it did, what became of its time, how that went second by second, and what of its credits.
pub(crate) struct Export<'a> {
    pub(crate) name: &'a str,
    pub(crate) figures: &'a ExportFigures,
    pub(crate) account: &'a TimeAccount,
    pub(crate) series: &'a Series,
    pub(crate) credits: &'a CreditsWatch,
}

impl Done {
    /// Up to now.
    pub(crate) fn of(emulation: &Emulation) -> Self {
        Self {
            names: emulation.exports().iter().map(|export| export.name.clone()).collect(),
            figures: emulation.figures(),
            went: emulation.accounts_and_series(),
            turns: emulation.turns(),
            history: emulation.history(),
        }
    }

    /// Requests that have been answered, over all exports.
    pub(crate) fn requests(&self) -> u64 {
        self.went.iter().map(|(account, _)| account.requests).sum()
    }

    /// Each export with its `credits`; of the disks those that somebody used by themselves.
    pub(crate) fn exports<'a>(&'a self, credits: &'a [CreditsWatch]) -> Vec<Export<'a>> {
        let all = self.names.iter().zip(&self.figures).zip(&self.went).zip(credits);
        let all = all.map(|(((name, figures), (account, series)), credits)| Export {
            name,
            figures,
            account,
            series,
            credits,
        });
        all.filter(|export| !export.name.contains('/') || export.figures.requests() > 0).collect()
    }
}

/// What each export did so far, as a run; without cells as long as nobody asked for anything.
///
/// # Errors
/// The model cannot be made of the environment.
pub(crate) fn record(
    emulated: &Emulated<'_>,
    done: &Done,
    credits: &[CreditsWatch],
    status: RunStatus,
) -> anyhow::Result<RunRecord> {
    let exports = done.exports(credits);
    let model = most_plausible(emulated.environment);
    let (mut cells, mut volumes) = (Vec::new(), Vec::new());
    for (number, Export { name, figures, account, series, credits }) in exports.iter().enumerate() {
        if account.requests == 0 {
            continue;
        }
        let mut trial = trial(figures, account, series, emulated.started_unix_s);
        let how = How { seed: emulated.seed, initial: emulated.initial, account, series, credits: Some(credits) };
        trial.model = Some(modelled::record(&model, name, &how)?);
        let volume = volume_facts(&model, name, name)?;
        let label = "an application's load".to_owned();
        let mut cell = modelled::cell(format!("emulate-{number}"), name, label, Asker::Application, &trial);
        trial.doubts = loadline_analysis::doubts(&cell.load.figures(), &trial, &volume);
        trial.doubts.extend(doubts(name, figures, account, &done.history));
        trial.doubts.extend(credits.doubt(&model, name, &trial));
        trial.doubts.sort_by_key(|doubt| DoubtCode::ALL.iter().position(|code| *code == doubt.code));
        cell.trials.push(trial);
        volumes.push(volume);
        cells.push(cell);
    }
    let environment = emulated.environment;
    let first: serde_json::Map<String, Json> = exports
        .iter()
        .filter_map(|export| Some((export.name.to_owned(), export.account.first?.as_ns().into())))
        .collect();
    let mut settings = serde_json::to_value(&emulated.settings)?;
    settings["turns"] = done.turns.name().into();
    settings["changes"] = serde_json::to_value(&done.history)?;
    settings["first_request_ns"] = first.into();
    let header = RunHeader {
        id: emulated.id.clone(),
        name: emulated.name.map_or_else(|| format!("application on {}", environment.name), str::to_owned),
        verb: RunVerb::Emulate,
        clock: Clock::Real,
        started: UtcTime::from_unix_s(emulated.started_unix_s).rfc3339(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: emulated.seed,
        imported: None,
        host: loadline_kernel::facts::host(),
        plans: Vec::new(),
        environment: Some(PlanText {
            name: environment.name.clone(),
            text: environment.text.clone(),
            hash: environment.hash(),
        }),
        volumes,
        settings,
    };
    Ok(RunRecord { header, status, cells })
}

/// Changes that a doubt tells one by one.
const TOLD_MAX: usize = 20;

/// Why what an export did should not be believed as it stands, by what the emulation alone knows.
pub(crate) fn doubts(export: &str, figures: &ExportFigures, account: &TimeAccount, history: &History) -> Vec<Doubt> {
    late(figures).into_iter().chain(changed(export, account, history)).collect()
}

/// That the storage was changed before the export's last answer, with each change and its time.
fn changed(export: &str, account: &TimeAccount, history: &History) -> Option<Doubt> {
    let first = account.first?;
    let concerns = |happened: &&HistoryEntry| happened.concerns(export) && happened.at <= account.last;
    let all: Vec<&HistoryEntry> = history.told.iter().filter(concerns).collect();
    if all.is_empty() {
        return None;
    }
    let (told, rest) = all.split_at(all.len().min(TOLD_MAX));
    let one = |happened: &&HistoryEntry| {
        let when = if happened.at < first {
            format!("{} before it,", first.since(happened.at).human())
        } else {
            format!("after {}", happened.at.since(first).human())
        };
        format!("{when} {}", happened.what)
    };
    let mut told: Vec<String> = told.iter().map(one).collect();
    let more = rest.len() as u64 + history.more;
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    let detail = format!(
        "The storage was changed on purpose, counted from the first request as the seconds are: {}. The figures mix what was before \
         and after, and ceilings are those of the environment at the beginning.",
        told.join("; ")
    );
    Some(Doubt { code: DoubtCode::ChangedMeanwhile, detail })
}

/// That answers left too late to be the disk's, where they did.
fn late(figures: &ExportFigures) -> Option<Doubt> {
    let (late, modelled) = figures.late()?;
    let detail = format!(
        "Answers left late: p99 {} after the model's time, beside a modelled latency of p99 {}. Clients measured this machine \
         rather than the disk.",
        late.human(),
        modelled.human()
    );
    Some(Doubt { code: DoubtCode::LateDelivery, detail })
}

/// From the first request until the last answer.
pub(crate) fn trial(
    figures: &ExportFigures,
    account: &TimeAccount,
    series: &Series,
    started_unix_s: u64,
) -> TrialRecord {
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
        trial: 0,
        started_unix_s,
        engine: EngineUsed {
            name: EngineName::Emulator,
            reason: "an application asks; the model answers under the real clock".into(),
            options: Vec::new(),
        },
        warm_up_ns: 0,
        measured_ns: account.span().as_ns(),
        operations,
        offered_iops: None,
        missed: 0,
        series: series.clone(),
        errors: figures.errors.clone(),
        error_samples: Vec::new(),
        surroundings: Surroundings { asked, ..Surroundings::default() },
        told_scatter: None,
        steady_state: None,
        verify: None,
        model: None,
        ending: Ending::Complete,
        doubts: Vec::new(),
    }
}
