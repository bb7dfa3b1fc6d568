//! How far the clocks of hosts lie apart, in lines.

use crate::verdict_line::{About, VerdictLine};
use loadline_units::Duration;

/// What to do with a comparison of clocks.
#[derive(Debug, Clone, Copy)]
pub enum ClocksNext<'a> {
    /// Keep it.
    Keep {
        /// The option that does.
        option: &'a str,
        /// The command that takes it.
        merge: &'a str,
    },
    /// Merge the runs, by this command.
    Merge(&'a str),
}

/// How far they lie apart, within which error, and what to do next.
#[must_use]
pub fn clocks_lines(apart: Duration, error: Duration, next: ClocksNext<'_>) -> Vec<VerdictLine> {
    let (apart, error) = (apart.human(), error.human());
    let mut lines = vec![About::Clocks.says(format!("they lie {apart} apart, each known within {error} or better"))];
    match next {
        ClocksNext::Keep { option, merge } => {
            lines.push(About::Next.says(format!("with {option} the comparison is kept for `{merge}`")));
        }
        ClocksNext::Merge(command) => lines.extend([
            About::Next.says("compare once before the runs and once after them, then merge"),
            About::Command.says(command),
        ]),
    }
    lines
}
