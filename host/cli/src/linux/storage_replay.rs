//! `replay --on`: a recorded application on real storage.

use crate::arguments::EngineName;
use crate::arguments::replay::ReplayArguments;
use crate::failure::Outcome;
use crate::output;
use crate::replay::{concluded, with_advice};
use crate::terminal::Terminal;
use crate::typed_settings::named_targets;
use loadline_emulation::Trace;
use loadline_emulation::replay::Dependence;
use loadline_engine::{Access, EngineChoice, EngineOptions};
use loadline_record::RunVerb;
use loadline_runs::replay_run::blind_spot;
use loadline_runs::{RunOptions, StorageReplay, StorageReplaySettings};
use std::path::PathBuf;

/// Puts a trace on real storage.
pub(crate) fn on_storage(
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
    let mut terminal = Terminal::following(&RunVerb::Replay, &arguments.live, quiet)?;
    let replay =
        StorageReplay::prepare(trace, settings, options, &mut terminal).map_err(|error| with_advice(error, &shown))?;
    if !quiet {
        output::tell(&format!("{} {}", blind_spot(dependence), arguments.by.other()));
        if replay.left_out() > 0 {
            output::tell(&format!("--reads-only leaves {} requests out", replay.left_out()));
        }
    }
    let outcome = replay.run(&mut terminal);
    terminal.close();
    concluded(&outcome?, dependence, quiet, arguments)
}
