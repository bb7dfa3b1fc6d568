//! `fit`: an environment with a disk given in full, made of a measured run.

use crate::arguments::FitArguments;
use crate::failure::Outcome;
use crate::progress_line::ProgressLine;
use crate::typed_words::store_option;
use crate::{output, output_file, printing, recommendations, stored};
use loadline_fitting::Fitted;
use loadline_record::RunRecord;
use loadline_report::VerdictLine;
use loadline_report::words::fit::{
    FittedNext, agreement, fit_assumption, fit_doubt, fitted_environment, fitted_lines, known,
};
use loadline_store::Store;
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// How often the view is drawn.
const DRAW_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

/// Writes the environment, and tells how the run's own loads come out on it.
pub(crate) fn fit(arguments: &FitArguments, quiet: bool, store: &Store) -> anyhow::Result<Outcome> {
    let record = stored::load(store, &arguments.run)?;
    // Before a minute is spent.
    let file = arguments.output.as_deref().map(|file| output_file::result(file, arguments.force)).transpose()?;
    let known = known(record.header.clock);
    let name = arguments.name.clone().unwrap_or_else(|| format!("{} {known}", record.header.name));
    let fitted = watched(&record, &name, quiet)?;
    let text = fitted_environment(&fitted);
    match &file {
        Some(file) => output_file::write(file, &text)?,
        None => output::print(&text)?,
    }
    if !quiet {
        for of in &fitted.agreement {
            output::tell(&agreement(of, fitted.clock));
        }
        for assumption in &fitted.assumptions {
            output::tell(&format!("assumed: {}", fit_assumption(assumption)));
        }
        for doubt in &fitted.doubts {
            output::tell(&format!("doubt: {}", fit_doubt(doubt)));
        }
        printing::tell_verdict(&verdict(arguments, &record, &fitted));
    }
    Ok(Outcome::Done)
}

/// How well the disk stands for the run, and what to do with it.
fn verdict(arguments: &FitArguments, record: &RunRecord, fitted: &Fitted) -> Vec<VerdictLine> {
    let Some(file) = &arguments.output else {
        let command = format!("loadline fit {} -o fitted.toml{}", record.header.id, store_option());
        return fitted_lines(fitted, FittedNext::Write { option: "--env", command: &command });
    };
    let file = file.display().to_string();
    let command = recommendations::predicted_on(record, &file);
    fitted_lines(fitted, FittedNext::Use { file: &file, command: &command })
}

/// Fits, and shows on standard error how far that has come.
fn watched(record: &RunRecord, name: &str, quiet: bool) -> anyhow::Result<Fitted> {
    let began = Instant::now();
    let live = RefCell::new(ProgressLine::new(quiet));
    let drawn = Cell::new(began);
    let watch = |share: f64| {
        if drawn.get().elapsed() >= DRAW_EVERY {
            drawn.set(Instant::now());
            live.borrow_mut().draw_share("fitting", share, began.elapsed());
        }
    };
    Ok(loadline_fitting::fit_watched(record, name, &watch)?)
}
