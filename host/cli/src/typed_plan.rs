//! Plans as they are typed.

use crate::output;
use loadline_runs::{PlanLength, Refusal};
use loadline_workload::Plan;

/// Reads a plan, and says what of a job file means something else here.
pub(crate) fn read_plan(typed: &str, length: PlanLength) -> Result<Plan, Refusal> {
    let read = loadline_runs::read_plan(typed, length)?;
    for note in &read.notes {
        output::tell(&format!("{typed}: {note}"));
    }
    Ok(read.plan)
}
