//! A comparison as JUnit's XML, which CI systems show: a case for each cell.
//!
//! A cell that is worse is a failure. One without a verdict is skipped, with the reason: it is no proof of anything.

use loadline_analysis::{Against, CellComparison, Comparison, Verdict};
use loadline_report::Escaped;
use loadline_report::words::undecided;
use std::fmt::Write as _;

/// What the file says of itself, behind its first line.
pub const JUNIT_MARK: &str = "<!-- loadline junit -->";

/// The comparison as XML. `skip_fails` makes a failure of cells without a verdict.
#[must_use]
pub fn junit(comparison: &Comparison, skip_fails: bool) -> String {
    let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{JUNIT_MARK}\n");
    let suites: Vec<Suite> = comparison.against.iter().map(|of| Suite::of(comparison, of, skip_fails)).collect();
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    let (all, failures, skipped) = (sum(|suite| suite.cases.len()), sum(Suite::failures), sum(Suite::skipped));
    let _ = writeln!(
        text,
        "<testsuites name=\"loadline compare\" tests=\"{all}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">"
    );
    for suite in &suites {
        suite.write(&mut text);
    }
    text.push_str("</testsuites>\n");
    text
}

/// A run against the baseline.
struct Suite {
    name: String,
    started: String,
    cases: Vec<Case>,
}

struct Case {
    volume: String,
    label: String,
    outcome: CaseOutcome,
    text: String,
}

enum CaseOutcome {
    Passed,
    Failed(String),
    Skipped(String),
}

impl Suite {
    fn of(comparison: &Comparison, against: &Against, skip_fails: bool) -> Self {
        let side = |place: u32| &comparison.sides[place as usize];
        let (baseline, other) = (side(0), side(against.side));
        let untold = |why: String| if skip_fails { CaseOutcome::Failed(why) } else { CaseOutcome::Skipped(why) };
        let outcome = |cell: &CellComparison| match cell.verdict {
            Verdict::Worse => CaseOutcome::Failed(sentence(cell)),
            Verdict::CannotTell => untold(cell.undecided.map_or_else(|| sentence(cell), undecided)),
            Verdict::Better | Verdict::Same => CaseOutcome::Passed,
        };
        let compared = against.cells.iter().map(|cell| Case {
            volume: cell.other_volume.clone(),
            label: cell.label.clone(),
            outcome: outcome(cell),
            text: sentence(cell),
        });
        let alone = against.unmatched.iter().filter(|cell| cell.side == 0).map(|cell| Case {
            volume: cell.volume.clone(),
            label: cell.label.clone(),
            outcome: untold("only the baseline has this cell".to_owned()),
            text: String::new(),
        });
        Self {
            name: format!("{} against {}", other.run, baseline.run),
            started: other.started.trim_end_matches('Z').to_owned(),
            cases: compared.chain(alone).collect(),
        }
    }
    fn failures(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.outcome, CaseOutcome::Failed(_))).count()
    }
    fn skipped(&self) -> usize {
        self.cases.iter().filter(|case| matches!(case.outcome, CaseOutcome::Skipped(_))).count()
    }
    fn write(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" timestamp=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
            Escaped(&self.name),
            Escaped(&self.started),
            self.cases.len(),
            self.failures(),
            self.skipped()
        );
        for case in &self.cases {
            let (volume, label) = (Escaped(&case.volume), Escaped(&case.label));
            let _ = writeln!(text, "    <testcase classname=\"{volume}\" name=\"{label}\">");
            match &case.outcome {
                CaseOutcome::Passed => {}
                CaseOutcome::Failed(why) => {
                    let _ = writeln!(text, "      <failure message=\"{}\"/>", Escaped(why));
                }
                CaseOutcome::Skipped(why) => {
                    let _ = writeln!(text, "      <skipped message=\"{}\"/>", Escaped(why));
                }
            }
            if !case.text.is_empty() {
                let _ = writeln!(text, "      <system-out>{}</system-out>", Escaped(&case.text));
            }
            text.push_str("    </testcase>\n");
        }
        text.push_str("  </testsuite>\n");
    }
}

/// The deciding figure of both sides, and their ratio.
fn sentence(cell: &CellComparison) -> String {
    let name = cell.figure.name();
    let Some(of) = cell.deciding() else { return format!("{}: {name} is missing", cell.verdict.words()) };
    let interval = match (of.low, of.high) {
        (Some(low), Some(high)) => format!(" ({low:.3} to {high:.3})"),
        _ => String::new(),
    };
    format!("{}: {name} {} against {}, ratio {:.3}{interval}", cell.verdict.words(), of.other, of.baseline, of.ratio)
}
