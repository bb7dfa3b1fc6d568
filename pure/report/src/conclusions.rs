//! The conclusions of a run for every printed form, and the findings that they do not repeat.

use crate::words;
use crate::words::evidence::paragraph;
use loadline_analysis::{Conclusion, Finding, FindingCode, RunSummary};

/// The heading over all of them.
pub(crate) const HEADING: &str = "What stops it";

/// The parts after the sentence that names the limit, each with the question that it answers.
pub(crate) fn parts(conclusion: &Conclusion) -> impl Iterator<Item = (&'static str, String)> {
    let all = [
        ("How it is known", paragraph(&conclusion.seen)),
        ("What it means", words::meaning(conclusion)),
        ("What to do", words::next(conclusion)),
    ];
    all.into_iter().filter_map(|(question, answer)| Some((question, answer?)))
}

/// The volume's name, if there are several.
pub(crate) fn volume<'a>(summary: &RunSummary, conclusion: &'a Conclusion) -> Option<&'a str> {
    (summary.run.volumes.len() > 1).then_some(conclusion.volume.as_str())
}

/// The findings that no conclusion repeats.
pub(crate) fn findings(summary: &RunSummary) -> impl Iterator<Item = &Finding> {
    let told = |finding: &&Finding| {
        let of_limit = matches!(finding.code, FindingCode::Plateau | FindingCode::BoundBy);
        (of_limit || is_over_hosts(summary, finding))
            && summary.conclusions.iter().any(|c| finding.cells.contains(&c.cell))
    };
    summary.findings.iter().filter(move |finding| !told(finding))
}

/// Whether a finding says what more and more hosts show, which is then the conclusion, too.
fn is_over_hosts(summary: &RunSummary, finding: &Finding) -> bool {
    let mut clear = summary.hosts_scaling.iter().filter(|scaling| scaling.clear);
    finding.code == FindingCode::HostsScaling
        && clear.any(|scaling| scaling.points.iter().any(|point| finding.cells.contains(&point.cell)))
}
