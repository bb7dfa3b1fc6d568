//! Findings in sentences.

use super::evidence::evidence;
use loadline_analysis::{Finding, RunSummary, finding_codes};

/// What was found, in a sentence or two.
#[must_use]
pub fn finding(summary: &RunSummary, finding: &Finding) -> String {
    let cell = summary.cells.iter().find(|cell| finding.cells.contains(&cell.id));
    let binding = cell.and_then(|cell| cell.binding.as_ref()).filter(|_| finding.code == finding_codes::BOUND_BY);
    binding.map_or_else(|| finding.text.clone(), |binding| format!("{} {}", finding.text, evidence(&binding.seen)))
}
