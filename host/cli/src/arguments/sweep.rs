//! The options of sweeps: many environments or needs, in parts.

use clap::Args;
use loadline_runs::sweep::Part;
use std::num::NonZero;
use std::path::PathBuf;

/// What a folder of environments or needs is carried out with.
#[derive(Debug, Clone, Args)]
pub(crate) struct SweepArguments {
    /// Only this part of its files, such as 3/1000. Rows are the same whatever the number of parts
    #[arg(long, value_name = "N/OF", help_heading = "Of a folder (many at once)")]
    pub(crate) part: Option<Part>,
    /// Threads, by default one for each processor
    #[arg(long, value_name = "COUNT", help_heading = "Of a folder (many at once)")]
    pub(crate) threads: Option<NonZero<usize>>,
}

impl SweepArguments {
    /// The part; all of it where none was typed.
    pub(crate) fn part(&self) -> Part {
        self.part.unwrap_or(Part::WHOLE)
    }

    /// The first of its options that was typed.
    pub(crate) fn typed(&self) -> Option<&'static str> {
        let part = self.part.map(|_| "--part");
        part.or(self.threads.map(|_| "--threads"))
    }
}

/// Where the rows of a sweep go.
#[derive(Debug, Clone, Args)]
pub(crate) struct RowsArguments {
    /// Write the rows to this file, .csv or .parquet. The rows of an earlier try are replaced
    #[arg(long, short, value_name = "FILE", help_heading = "Of a folder (many at once)")]
    pub(crate) output: Option<PathBuf>,
    /// Write in the place of any file that is there
    #[arg(long, help_heading = "Of a folder (many at once)")]
    pub(crate) force: bool,
}
