//! `fit`: an environment with a disk given in full, made of a measured run.

use crate::arguments::FitArguments;
use crate::failure::Outcome;
use crate::live::Live;
use crate::typed_words::store_option;
use crate::{output, output_file, printing, recommendations, stored};
use loadline_fitting::{Agreement, Fitted};
use loadline_record::{Clock, RunRecord};
use loadline_report::rates as figures;
use loadline_report::{About, VerdictLine};
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
        printing::tell_verdict(&verdict(arguments, &record, &far, agreement.len()));
    }
    Ok(Outcome::Done)
}

/// How well the disk stands for the run, and what to do with it. `far` are the loads that come out otherwise.
fn verdict(arguments: &FitArguments, record: &RunRecord, far: &[&Agreement], loads: usize) -> Vec<VerdictLine> {
    let stands = match far {
        [] => format!("it does what was {}: rates within 8 % and p99 within 25 % for all {loads} loads", known(record)),
        [first, ..] => format!(
            "{} of {loads} loads come out with a rate off by over 8 % or a p99 off by over 25 %, first {}: the fitted disk stands for \
             the others at most",
            far.len(),
            first.label
        ),
    };
    let mut lines = vec![About::Verdict.says(stands)];
    if let Some(file) = &arguments.output {
        let file = file.display().to_string();
        lines.push(About::Environment.says(&file));
        lines.push(About::Next.says("predict, hunt or emulate on it"));
        lines.push(About::Command.says(recommendations::predicted_on(record, &file)));
    } else {
        lines.push(About::Next.says("write it to a file: predict, hunt and emulate take that as --env"));
        let run = &record.header.id;
        lines.push(About::Command.says(format!("loadline fit {run} -o fitted.toml{}", store_option())));
    }
    lines
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
