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

/// Why nothing was imported.
#[derive(Debug, Clone, Copy)]
pub enum NothingImported<'a> {
    /// No file is of a form that is known. A tool writes such results with these options.
    NoForm {
        /// The tool.
        tool: &'a str,
        /// Its options.
        options: &'a str,
    },
    /// So many files hold results, and each is refused for a reason of its own.
    Refused {
        /// How many.
        files: usize,
    },
    /// Files of results were read, and no job in them is a load that is known.
    NoLoad,
}

/// Nothing was imported: why, what to do, and the `command` that helps.
#[must_use]
pub fn nothing_imported_lines(why: NothingImported<'_>, command: &str) -> Vec<VerdictLine> {
    let alone = "look at one of them by itself";
    let (reason, next) = match why {
        NothingImported::NoForm { tool, options } => (
            "no file holds results of a form that is known".to_owned(),
            format!("{tool} writes such results with {options}"),
        ),
        NothingImported::Refused { files: 1 } => {
            ("the one file with results is refused, see above".to_owned(), "look at it by itself".to_owned())
        }
        NothingImported::Refused { files } => {
            (format!("{files} files hold results, and each is refused, see above"), alone.to_owned())
        }
        NothingImported::NoLoad => ("no job in the files is a load that loadline knows".to_owned(), alone.to_owned()),
    };
    vec![
        About::Verdict.says(format!("nothing was imported: {reason}")),
        About::Next.says(next),
        About::Command.says(command),
    ]
}
