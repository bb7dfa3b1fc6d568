//! `replay`: an application that was recorded, on another disk: described, or real.

use crate::arguments::EngineName;
use crate::arguments::replay::{DependenceName, ReplayArguments};
use crate::conclusion::conclude;
use crate::convert::left_out;
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::terminal::Terminal;
use crate::typed_settings::named_targets;
use crate::{environments, output};
use anyhow::anyhow;
use loadline_emulation::Trace;
use loadline_emulation::replay::Dependence;
use loadline_engine::{Access, EngineChoice, EngineOptions};
use loadline_runs::recording::read_trace;
use loadline_runs::replay_run::{ReplayOptions, ReplayRun, TRACE_CUT_SHORT, blind_spot};
use loadline_runs::wall_clock::fresh_seed;
use loadline_runs::{Error, RecordError, ReplayError, RunOptions, StorageReplay, StorageReplaySettings, catalog_with};
use std::path::PathBuf;

/// Puts a trace on another environment and stores the result as a run in virtual time.
pub(crate) fn replay(
    arguments: &ReplayArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let shown = arguments.trace.display().to_string();
    let (trace, format) = read_trace(&arguments.trace).map_err(|error| match error {
        Error::Record(RecordError::Open { .. }) => anyhow::Error::from(Usage(error.to_string())),
        error => error.into(),
    })?;
    if let (Some(format), false) = (format, quiet) {
        let left_out = left_out(&trace);
        output::tell(&format!("{shown} is {}: {} requests read, {left_out}", format.name(), trace.records.len()));
    }
    let dependence = match arguments.by {
        DependenceName::Time => Dependence::Time,
        DependenceName::Answers => Dependence::Answers,
        DependenceName::AsFast => Dependence::Haste,
    };
    let Some(environment) = &arguments.env else {
        return on_storage(arguments, trace, dependence, quiet, store()?);
    };
    let environment = environments::read(environment, &catalog_with(arguments.own.catalog.as_deref())?)?;
    let options = ReplayOptions {
        name: arguments.name.clone(),
        file: arguments.trace.clone(),
        dependence,
        seed: arguments.seed.unwrap_or_else(fresh_seed),
        credits: arguments.bursts,
    };
    let replay = ReplayRun::prepare(trace, &environment, options).map_err(|error| with_advice(error, &shown))?;
    let trace = replay.trace();
    if !quiet {
        output::tell(&format!("{} {}", blind_spot(dependence), arguments.by.other()));
        let failed = trace.records.iter().filter(|record| record.error.is_some()).count();
        if !trace.changes.is_empty() || failed > 0 {
            output::tell(&format!(
                "The trace has {} changes to the emulation and {failed} requests that failed: here nothing goes wrong, and what failed \
                 is answered.",
                trace.changes.len()
            ));
        }
    }
    if trace.cut_short {
        output::tell(&format!("{shown} {TRACE_CUT_SHORT}"));
    }
    replay.relocations().for_each(output::tell);
    conclude(&replay.run(store()?)?, arguments.printing.format)
}

/// Puts a trace on real storage.
fn on_storage(
    arguments: &ReplayArguments,
    trace: Trace,
    dependence: Dependence,
    quiet: bool,
    store: PathBuf,
) -> anyhow::Result<Outcome> {
    let shown = arguments.trace.display().to_string();
    let targets = named_targets(&arguments.on)?;
    let overwrite = arguments.overwrite.clone();
    let settings = StorageReplaySettings {
        file: arguments.trace.clone(),
        targets,
        dependence,
        speed: arguments.speed,
        reads_only: arguments.reads_only,
        // A path is no serial and a serial is no path, so each word can stand for either.
        access: Access { read_only: arguments.reads_only, overwrite: overwrite.clone(), identities: overwrite },
        engine: EngineOptions {
            engine: match arguments.engine {
                EngineName::Auto => EngineChoice::Auto,
                EngineName::IoUring => EngineChoice::IoUring,
                EngineName::Aio => EngineChoice::Aio,
                EngineName::Threads => EngineChoice::Threads,
            },
            ..EngineOptions::default()
        },
    };
    let options = RunOptions { name: arguments.name.clone(), seed: arguments.seed, store: Some(store) };
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let replay =
        StorageReplay::prepare(trace, settings, options, &mut terminal).map_err(|error| with_advice(error, &shown))?;
    if !quiet {
        output::tell(&format!("{} {}", blind_spot(dependence), arguments.by.other()));
        if replay.left_out() > 0 {
            output::tell(&format!("--reads-only leaves {} requests out", replay.left_out()));
        }
    }
    let outcome = replay.run(&mut terminal);
    terminal.clear();
    conclude(&outcome?, arguments.printing.format)
}

/// Why a trace cannot be replayed, with what helps.
fn with_advice(error: Error, shown: &str) -> anyhow::Error {
    match error {
        Error::Replay(error @ ReplayError::CutShort) => {
            anyhow!("{shown}: {error}; record it again, where there is room")
        }
        Error::Replay(error @ ReplayError::NoRequest) => anyhow!("{shown}: {error}"),
        Error::Replay(ReplayError::NoRoom { ref environment, .. }) => anyhow!(
            "{error}: choose larger disks, or give them a size in an environment file of your own (size = \"...\"; \
             `loadline environments show {environment}` prints one to begin with)"
        ),
        error => error.into(),
    }
}
