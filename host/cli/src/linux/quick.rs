//! `quick`: about a minute on one target, from nothing to a report.

use crate::arguments::quick::QuickArguments;
use crate::conclusion::conclude;
use crate::failure::Outcome;
use crate::recommendations::summarized;
use crate::terminal::Terminal;
use crate::{dry_run, output, output_file, typed_settings};
use anyhow::Context as _;
use loadline_record::RunVerb;
use loadline_runs::{Error, OutputFile, QuickMeasurement, RunOptions, RunOutcome, sole_target};
use loadline_units::Duration;
use loadline_workload::{LatencyFigure, Objective};
use std::path::PathBuf;

/// What database vendors commonly recommend.
const OBJECTIVE_DEFAULT: Objective = Objective { of: LatencyFigure::Mean, limit: Duration::from_ms(20) };

/// Of an end before the first load.
const NOTHING_KEPT: &str = "interrupted before anything was measured; nothing is kept";

/// Measures, prints, and leaves a report.
pub(crate) fn quick(arguments: &QuickArguments, quiet: bool, store: PathBuf) -> anyhow::Result<Outcome> {
    let objective = arguments.objective.unwrap_or(OBJECTIVE_DEFAULT);
    let mut settings = typed_settings::of_driving(sole_target(&arguments.path), &arguments.driving);
    settings.overrides.trials = arguments.trials;
    let measurement = QuickMeasurement { settings, size: arguments.size, duration: arguments.duration, objective };
    let options = RunOptions { name: None, seed: arguments.driving.seed, store: Some(store) };
    measurement.check()?;
    if arguments.dry_run {
        let work = measurement.rehearsed(arguments.driving.seed.unwrap_or(0))?;
        dry_run::print(&work, Some(&measurement.settings), arguments.printing.format)?;
        return Ok(Outcome::Done);
    }
    let report = output_file::quick_report(&arguments.report)?;
    let terminal = Terminal::following(&RunVerb::Quick, &arguments.live, quiet)?;
    let mut terminal = terminal.agreeing(arguments.driving.yes);
    let outcome = measurement.run(&options, &mut terminal);
    terminal.close();
    let outcome = outcome.map_err(|error| {
        let is_stop = matches!(error, Error::Stopped { .. });
        let error = anyhow::Error::from(error);
        if is_stop { error.context(NOTHING_KEPT) } else { error }
    })?;
    let Some(outcome) = outcome else {
        output::tell(NOTHING_KEPT);
        return Ok(Outcome::Interrupted);
    };
    // Before anything is printed: that may end with a closed output.
    let written = write_report(&report, &outcome);
    let concluded = conclude(&outcome, arguments.printing.format)?;
    if written? && !quiet {
        output::tell(&format!("report: {}", report.path().display()));
    }
    terminal.print_command()?;
    Ok(match concluded {
        // The usual objective is for orientation; only the user's own is a question that can come out against.
        Outcome::Against | Outcome::Inconclusive if arguments.objective.is_none() => Outcome::Done,
        other => other,
    })
}

/// Writes the report of what was measured; whether anything was.
fn write_report(report: &OutputFile, outcome: &RunOutcome) -> anyhow::Result<bool> {
    let record = &outcome.record;
    if record.cells.iter().all(|cell| cell.trials.is_empty()) {
        return Ok(false);
    }
    let page = loadline_report::html(&[(record, &summarized(record))]);
    output_file::write(report, output_file::marked(&page))
        .context("the run is stored: `loadline report last -o FILE` writes its report elsewhere")?;
    Ok(true)
}
