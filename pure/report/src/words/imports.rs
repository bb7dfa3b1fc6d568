//! What came of an import of several runs, in lines.

use super::verdict::holder;
use crate::verdict_line::{About, VerdictLine};
use loadline_analysis::RunSummary;

/// Runs that have a line.
const RUNS_SHOWN_MAX: usize = 5;

/// What was imported, what stops each of the first runs, and how to see more: by `command`.
#[must_use]
pub fn imports_lines(summaries: &[RunSummary], command: &str) -> Vec<VerdictLine> {
    let runs = if summaries.len() == 1 { "run" } else { "runs" };
    let mut lines = vec![About::Verdict.says(format!("{} {runs} imported", summaries.len()))];
    lines.extend(summaries.iter().take(RUNS_SHOWN_MAX).map(|summary| {
        let volume = summary.verdict.as_ref().and_then(|block| block.volumes.first());
        let held = volume.map(|volume| format!("held by {}", holder(&volume.held_by)));
        About::subject(summary.run.name.clone()).says(held.unwrap_or_else(|| "no limit is named".to_owned()))
    }));
    let more = summaries.len().saturating_sub(RUNS_SHOWN_MAX);
    lines.extend((more > 0).then(|| About::More.says(format!("{more} more in the table above"))));
    lines.extend([About::Next.says("see them side by side"), About::Command.says(command)]);
    lines
}

/// Nothing was imported: what another tool writes such results with, and the `command` that helps.
#[must_use]
pub fn nothing_imported_lines(tool: &str, options: &str, command: &str) -> Vec<VerdictLine> {
    vec![
        About::Verdict.says("nothing was imported: no file holds results of a form that is known"),
        About::Next.says(format!("{tool} writes such results with {options}")),
        About::Command.says(command),
    ]
}
