//! Plans by name or from files: built-in ones, TOML, fio job files.

use crate::{Error, InputKind, Refusal, read_text};
use loadline_record::{PlanText, RunRecord};
use loadline_workload::{Plan, fio_jobs, is_fio, nearest_preset, preset, short_form};
use std::path::Path;

/// Whether a plan's own short form is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanLength {
    /// As it stands.
    Full,
    /// Its short form, where it has one.
    Short,
}

/// A plan as it was read.
#[derive(Debug)]
pub struct PlanFile {
    /// The plan.
    pub plan: Plan,
    /// What of a job file means something else here.
    pub notes: Vec<String>,
}

/// Reads a plan: one that is built in, by its name, or a file.
///
/// # Errors
/// A [`Refusal`] where there is no such plan, the file cannot be read, or it is neither a plan nor an fio job file that can be
/// run.
pub fn read_plan(typed: &str, length: PlanLength) -> Result<PlanFile, Refusal> {
    let shortened = if length == PlanLength::Short { short_form(typed) } else { None };
    if let Some(preset) = shortened.or_else(|| preset(typed)) {
        return parsed(preset.text, preset.name);
    }
    if !Path::new(typed).exists() {
        return Err(Refusal::NoSuchPlan { typed: typed.to_owned(), nearest: nearest_preset(typed) });
    }
    let text = read_text(typed, InputKind::Plan)
        .map_err(|source| Refusal::UnreadablePlan { typed: typed.to_owned(), source })?;
    if !is_fio_job(typed, &text) {
        return parsed(&text, typed);
    }
    let jobs = fio_jobs(&text, typed).map_err(|source| Refusal::NotAJobFile { typed: typed.to_owned(), source })?;
    Ok(PlanFile { plan: jobs.plan, notes: jobs.notes })
}

/// What a job file names to be measured, where it is one and names something.
#[must_use]
pub fn target_named(typed: &str) -> Option<String> {
    let text = read_text(typed, InputKind::Plan).ok().filter(|text| is_fio_job(typed, text))?;
    fio_jobs(&text, typed).ok()?.target
}

/// A stored plan once more.
///
/// # Errors
/// A text that this version does not read.
pub fn read_again(plan: &PlanText) -> Result<Plan, Error> {
    if is_fio(&plan.text) {
        return Ok(fio_jobs(&plan.text, &plan.name)?.plan);
    }
    Ok(Plan::parse(&plan.text, &plan.name)?)
}

fn parsed(text: &str, source: &str) -> Result<PlanFile, Refusal> {
    match Plan::parse(text, source) {
        Ok(plan) => Ok(PlanFile { plan, notes: Vec::new() }),
        Err(error) => Err(Refusal::NotAPlan { typed: source.to_owned(), source: error }),
    }
}

/// By its name, or by what is in it.
fn is_fio_job(path: &str, text: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == "fio") || is_fio(text)
}

/// The plans of a stored run, read once more.
///
/// # Errors
/// A plan that this version does not read.
pub fn plans_again(stored: &RunRecord) -> Result<Vec<Plan>, Error> {
    stored.header.plans.iter().map(read_again).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_files_are_told_from_plans() {
        assert!(is_fio_job("a", "[global]\nioengine=libaio\nrw=randread\n[job]\n"));
        assert!(is_fio_job("a.fio", ""));
        assert!(!is_fio_job("a.toml", "schema = 1\nname = \"p\"\n[[load]]\n"));
    }
}
