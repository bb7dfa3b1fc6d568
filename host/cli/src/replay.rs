//! `replay`: an application that was recorded, on another disk: described, or real.

use crate::arguments::LiveArguments;
use crate::arguments::replay::{DependenceName, ReplayArguments};
use crate::conclusion::conclude;
use crate::convert::left_out;
use crate::failure::{Outcome, Usage};
use crate::storage_replay::on_storage;
use crate::{environments, output};
use anyhow::anyhow;
use loadline_emulation::replay::Dependence;
use loadline_record::{DoubtCode, RunRecord};
use loadline_report::{TRACE_CUT_SHORT, doubt_detail};
use loadline_runs::recording::read_trace;
use loadline_runs::replay_run::{ReplayOptions, ReplayRun, blind_spot};
use loadline_runs::wall_clock::fresh_seed;
use loadline_runs::{Error, RecordError, ReplayError, RunOutcome, catalog_with};
use std::path::PathBuf;

/// Stands after the name of a trace.
const NO_SURROUNDINGS: &str =
    "says nothing of its surroundings: whether a throttle or a quota held its application back is not known";

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
    let LiveArguments { shown: lines, metrics } = &arguments.live;
    if arguments.env.is_some() && (lines.live.is_some() || lines.lines || metrics.metrics.is_some()) {
        return Err(Usage(
            "--live, --lines and --metrics show a replay on real storage (--on); this one is in virtual time".into(),
        )
        .into());
    }
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
    } else if !quiet && trace.recording.as_ref().is_some_and(|notes| notes.surroundings.is_none()) {
        output::tell(&format!("{shown} {NO_SURROUNDINGS}"));
    }
    replay.relocations().for_each(|moved| output::tell(&doubt_detail(moved)));
    concluded(&replay.run(store()?)?, dependence, quiet, arguments)
}

/// Prints what came of it; of a replay by time also whether the recorded times were kept.
pub(crate) fn concluded(
    outcome: &RunOutcome,
    dependence: Dependence,
    quiet: bool,
    arguments: &ReplayArguments,
) -> anyhow::Result<Outcome> {
    let concluded = conclude(outcome, arguments.printing.format)?;
    if dependence == Dependence::Time && !quiet {
        output::tell(&times_kept(&outcome.record));
    }
    Ok(concluded)
}

/// Whether requests came at their recorded times, and whether the storage kept up with them.
fn times_kept(record: &RunRecord) -> String {
    let trials = || record.cells.iter().flat_map(|cell| &cell.trials);
    let waiting = trials().flat_map(|trial| trial.operations.values()).filter_map(|of| of.waiting.as_ref());
    let late = waiting.filter_map(|waiting| waiting.quantile(0.99)).max();
    let came = late.map_or_else(
        || "Requests came at their recorded times".to_owned(),
        |late| format!("Requests went out at their recorded times, 99 % of them less than {} late", late.human()),
    );
    let missed = trials().flat_map(|trial| &trial.doubts).any(|doubt| doubt.code == DoubtCode::OfferedLoadMissed);
    if missed {
        format!(
            "{came}. But the storage did not keep up: it answers fewer than the recording asks for (offered-load-missed)."
        )
    } else {
        format!("{came}, and the storage kept up.")
    }
}

/// Why a trace cannot be replayed, with what helps.
pub(crate) fn with_advice(error: Error, shown: &str) -> anyhow::Error {
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

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::example::{ExampleDisk, cell, open, run};
    use loadline_record::{Doubt, Histogram};
    use loadline_units::Duration;

    #[test]
    fn a_replay_by_time_says_whether_the_recorded_times_were_kept() {
        let load = open("random", 1.0, 4 << 10, 100.0);
        let mut record = run(vec![cell(load, &ExampleDisk::default(), &[1.0])]);
        let trial = &mut record.cells[0].trials[0];
        trial.operations.values_mut().for_each(|of| of.waiting = None);
        assert_eq!(times_kept(&record), "Requests came at their recorded times, and the storage kept up.");
        let mut waiting = Histogram::new();
        waiting.record(Duration::from_ms(3));
        record.cells[0].trials[0].operations.values_mut().for_each(|of| of.waiting = Some(waiting.clone()));
        let late = times_kept(&record);
        assert!(late.contains("99 % of them less than 3") && late.contains("ms late"), "{late}");
        let doubt = Doubt::written(DoubtCode::OfferedLoadMissed, "It answered 50 a second.");
        record.cells[0].trials[0].doubts.push(doubt);
        let missed = times_kept(&record);
        assert!(missed.contains("did not keep up") && !missed.contains("the storage kept up"), "{missed}");
    }
}
