//! What an emulation did, in lines.

use crate::verdict::{VERDICT_LINES_MAX, lines};
use crate::verdict_line::{About, VerdictLine};
use loadline_analysis::VerdictBlock;
use loadline_units::Duration;

/// Answers of an export that left late.
#[derive(Debug, Clone, Copy)]
pub struct LateExport<'a> {
    /// Its name.
    pub export: &'a str,
    /// After the model's time.
    pub late_p99: Duration,
}

/// What the volumes gave, what held them, and the `command` that shows more, where there is one.
#[must_use]
pub fn emulation_lines(
    block: Option<&VerdictBlock>,
    late: Option<LateExport<'_>>,
    command: Option<&str>,
) -> Vec<VerdictLine> {
    let mut all = block.map_or_else(Vec::new, lines);
    if let Some(LateExport { export, late_p99 }) = late {
        all.retain(|line| line.about != About::HowSure);
        let late = late_p99.human();
        all.push(About::HowSure.says(format!("doubtful: answers of {export} left {late} late (p99)")));
    }
    let has_command = all.iter().any(|line| line.about == About::Command);
    all.extend(command.filter(|_| !has_command).map(|command| About::Command.says(command)));
    all.truncate(VERDICT_LINES_MAX);
    all
}

/// Nobody used the emulation; `command` helps.
#[must_use]
pub fn unused_emulation_lines(command: &str) -> Vec<VerdictLine> {
    vec![
        About::Verdict.says("no program asked these volumes for anything"),
        About::Next.says("start it again, and point a program at the address that it prints"),
        About::Command.says(command),
    ]
}
