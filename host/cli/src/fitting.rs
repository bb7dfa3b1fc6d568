//! `fit`: an environment with a disk given in full, made of a measured run.

use crate::arguments::FitArguments;
use crate::failure::Outcome;
use crate::live::Live;
use crate::{figures, output, output_file, stored};
use loadline_fitting::{Agreement, Fitted};
use loadline_record::{Clock, RunRecord};
use loadline_store::Store;
use loadline_units::Duration;
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// How often the view is drawn.
const DRAW_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

/// Writes the environment, and tells how the run's own loads come out on it.
pub(crate) fn fit(arguments: &FitArguments, quiet: bool, store: &Store) -> anyhow::Result<Outcome> {
    let record = stored::load(store, &arguments.run)?;
    // Before a minute is spent.
    let file = arguments.output.as_deref().map(|file| output_file::result(file, arguments.force)).transpose()?;
    let known = known(&record);
    let name = arguments.name.clone().unwrap_or_else(|| format!("{} {known}", record.header.name));
    let Fitted { text, agreement, doubts, assumptions } = watched(&record, &name, quiet)?;
    match &file {
        Some(file) => output_file::write(file, &text)?,
        None => output::print(&text)?,
    }
    if !quiet {
        for agreement in &agreement {
            output::tell(&told(agreement, known));
        }
        for assumption in &assumptions {
            output::tell(&format!("assumed: {assumption}"));
        }
        for doubt in &doubts {
            output::tell(&format!("doubt: {doubt}"));
        }
        let far: Vec<&Agreement> = agreement.iter().filter(|agreement| !agreement.is_near()).collect();
        if !far.is_empty() {
            output::tell(&format!(
                "doubt: {} of {} loads come out with a rate off by over 8 % or a p99 off by over 25 %, first {}: the fitted disk \
                 stands for the others at most",
                far.len(),
                agreement.len(),
                far[0].label
            ));
        }
        if let Some(file) = &arguments.output {
            output::tell(&format!("environment: {0}; try it with: loadline predict PLAN --env {0}", file.display()));
        }
    }
    Ok(Outcome::Done)
}

/// What the run's figures are.
fn known(record: &RunRecord) -> &'static str {
    match record.header.clock {
        Clock::Real => "measured",
        Clock::Virtual => "predicted",
    }
}

/// Fits, and shows on standard error how far that has come.
fn watched(record: &RunRecord, name: &str, quiet: bool) -> anyhow::Result<Fitted> {
    let began = Instant::now();
    let live = RefCell::new(Live::new(quiet));
    let drawn = Cell::new(began);
    let watch = |share: f64| {
        if drawn.get().elapsed() >= DRAW_EVERY {
            drawn.set(Instant::now());
            live.borrow_mut().draw_share("fitting", share, began.elapsed());
        }
    };
    Ok(loadline_fitting::fit_watched(record, name, &watch)?)
}

/// A load, measured and on the fitted disk, in a line.
fn told(agreement: &Agreement, known: &str) -> String {
    let Agreement { label, iops_measured, iops_fitted, p99_measured_ns, p99_fitted_ns, from_issue } = agreement;
    let from = if *from_issue { " from issue on" } else { "" };
    let off = |fitted: f64, measured: f64| format!("{:+.1} %", (fitted / measured - 1.0) * 100.0);
    let span = |ns: f64| Duration::from_ns(ns as u64).human();
    format!(
        "{label}: {known} {}, p99{from} {}; on the fitted disk {} ({}), p99 {} ({})",
        figures::iops(*iops_measured),
        span(*p99_measured_ns),
        figures::iops(*iops_fitted),
        off(*iops_fitted, *iops_measured),
        span(*p99_fitted_ns),
        off(*p99_fitted_ns, *p99_measured_ns)
    )
}
