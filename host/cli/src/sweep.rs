//! Many environments or needs at once: their rows to a file or to standard output, and the verdict over them.

use crate::arguments::Format;
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::output;
use crate::progress_line::ProgressLine;
use crate::schema::Schema;
use crate::{columnar, output_file, printing};
use loadline_report::frame::Frame;
use loadline_report::words::sweep::problems_line;
use loadline_report::{About, VerdictLine, frame_csv};
use loadline_runs::OutputFile;
use loadline_runs::sweep::{Stopped, SweepProgress};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

/// How often the view is drawn at most.
const DRAW_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

/// What the rows are called in a Parquet file.
const ROWS_NAME: &str = "rows";

/// Where rows go, looked at before the work begins.
pub(crate) struct RowsPlace {
    file: Option<(OutputFile, PathBuf)>,
    format: Format,
}

impl RowsPlace {
    /// A file, or standard output.
    pub(crate) fn claim(output: Option<&Path>, force: bool, format: Format) -> anyhow::Result<Self> {
        let Some(path) = output else { return Ok(Self { file: None, format }) };
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if !matches!(ending, "csv" | "parquet") {
            return Err(Usage(format!("{}: rows are written as .csv or as .parquet", path.display())).into());
        }
        let file = output_file::rows(path, force)?;
        Ok(Self { file: Some((file, path.to_owned())), format })
    }

    /// Writes the rows whole, or leaves what was there. `shown` are the columns for people, with their headings.
    pub(crate) fn put(
        &self,
        frame: &Frame,
        shown: &[(&'static str, &'static str)],
        schema: Schema,
    ) -> anyhow::Result<()> {
        let Some((file, path)) = &self.file else {
            return output::print(&match self.format {
                Format::Csv => frame_csv(frame),
                Format::Json => schema.rows(frame.json()),
                format => printing::part(&frame.table(shown), format),
            });
        };
        if path.extension().is_some_and(|ending| ending == "parquet") {
            return output_file::write(file, columnar::parquet(frame, ROWS_NAME)?);
        }
        output_file::write(file, frame_csv(frame))
    }

    /// Ends with the verdict, the rows without figures and where the rows are: behind a table for people, otherwise on standard error.
    pub(crate) fn conclude(
        &self,
        mut lines: Vec<VerdictLine>,
        problems: &[&str],
        quiet: bool,
    ) -> anyhow::Result<Outcome> {
        lines.extend(problems_line(problems));
        lines.extend(self.file.as_ref().map(|(_, path)| About::Rows.says(path.display().to_string())));
        if self.file.is_none() && matches!(self.format, Format::Table | Format::Markdown) {
            output::print(&format!("\n{}", printing::verdict(&lines, self.format)))?;
        } else if !quiet {
            printing::tell_verdict(&lines);
        }
        Ok(if problems.is_empty() { Outcome::Done } else { Outcome::Failed })
    }
}

/// Draws how far a sweep has come, and ends it at the user's wish.
pub(crate) struct SweepView {
    live: Mutex<(ProgressLine, Option<Instant>)>,
    began: Instant,
    interruption: Interruption,
}

impl SweepView {
    /// Shows nothing when `quiet`.
    pub(crate) fn new(quiet: bool) -> anyhow::Result<Self> {
        let live = Mutex::new((ProgressLine::new(quiet), None));
        Ok(Self { live, began: Instant::now(), interruption: Interruption::watch()? })
    }

    /// The rows of a sweep that was not stopped.
    pub(crate) fn ended<T>(&self, result: Result<T, Stopped>) -> Result<T, Outcome> {
        if let Ok(mut live) = self.live.lock() {
            live.0.clear();
            if result.is_err() {
                live.0.say(&Stopped.to_string());
            }
        }
        result.map_err(|Stopped| Outcome::Interrupted)
    }
}

impl SweepProgress for SweepView {
    fn goes_on(&self, done: usize, of: usize) -> bool {
        // Another thread is drawing.
        if let Ok(mut live) = self.live.try_lock()
            && live.1.is_none_or(|last| last.elapsed() >= DRAW_EVERY)
        {
            live.1 = Some(Instant::now());
            let share = if of == 0 { 1.0 } else { done as f64 / of as f64 };
            live.0.draw_share(&format!("{done} of {of} done"), share, self.began.elapsed());
        }
        !self.interruption.asked()
    }
}
