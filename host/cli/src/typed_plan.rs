//! Plans as they are typed.

use crate::output;
use loadline_runs::{NamedTarget, PlanLength, Refusal, in_their_folders, named, targets_named};
use loadline_workload::{Plan, is_fio_command};

/// Reads a plan, and says what of a job file means something else here.
pub(crate) fn read_plan(typed: &str, length: PlanLength) -> Result<Plan, Refusal> {
    let read = loadline_runs::read_plan(typed, length)?;
    for note in &read.notes {
        output::tell(&format!("{typed}: {note}"));
    }
    Ok(read.plan)
}

/// The plans that are typed, or the one that a command line of fio stands for; and what they name to be measured.
pub(crate) fn read_plans(typed: &[String], length: PlanLength) -> Result<(Vec<Plan>, Vec<NamedTarget>), Refusal> {
    if is_fio_command(typed) {
        let read = loadline_runs::read_command(typed)?;
        for note in &read.notes {
            output::tell(&format!("fio: {note}"));
        }
        return Ok((vec![read.plan], placed(named(read.targets))));
    }
    let plans = typed.iter().map(|typed| read_plan(typed, length)).collect::<Result<_, _>>()?;
    let targets = typed.iter().map(|typed| targets_named(typed)).find(|targets| !targets.is_empty());
    Ok((plans, placed(targets.unwrap_or_default())))
}

/// The targets with folders in place of files that are not there.
fn placed(targets: Vec<NamedTarget>) -> Vec<NamedTarget> {
    let (targets, notes) = in_their_folders(targets);
    for note in &notes {
        output::tell(note);
    }
    targets
}
