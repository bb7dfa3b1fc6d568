//! `fit`: an environment with a disk given in full, made of a measured run.

use crate::arguments::FitArguments;
use crate::failure::Outcome;
use crate::{figures, output, stored};
use anyhow::Context as _;
use loadline_fitting::{Agreement, Fitted};
use loadline_store::Store;
use loadline_units::Duration;

/// Writes the environment, and tells how the run's own loads come out on it.
pub(crate) fn fit(arguments: &FitArguments, quiet: bool, store: &Store) -> anyhow::Result<Outcome> {
    let record = stored::load(store, &arguments.run)?;
    let name = arguments.name.clone().unwrap_or_else(|| format!("{} measured", record.header.name));
    let Fitted { text, agreement } = loadline_fitting::fit(&record, &name)?;
    match &arguments.output {
        Some(file) => std::fs::write(file, &text).with_context(|| format!("cannot write {}", file.display()))?,
        None => output::print(&text)?,
    }
    if !quiet {
        for agreement in &agreement {
            output::tell(&told(agreement));
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

/// A load, measured and on the fitted disk, in a line.
fn told(agreement: &Agreement) -> String {
    let Agreement { label, iops_measured, iops_fitted, p99_measured_ns, p99_fitted_ns } = agreement;
    let off = |fitted: f64, measured: f64| format!("{:+.1} %", (fitted / measured - 1.0) * 100.0);
    let span = |ns: f64| Duration::from_ns(ns as u64).human();
    format!(
        "{label}: measured {}, p99 {}; on the fitted disk {} ({}), p99 {} ({})",
        figures::iops(*iops_measured),
        span(*p99_measured_ns),
        figures::iops(*iops_fitted),
        off(*iops_fitted, *iops_measured),
        span(*p99_fitted_ns),
        off(*p99_fitted_ns, *p99_measured_ns)
    )
}
