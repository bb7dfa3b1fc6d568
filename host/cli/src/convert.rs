//! `convert`: a trace in the format of another tool.

use crate::arguments::convert::{ConvertArguments, WrittenName};
use crate::failure::Outcome;
use crate::{output, output_file};
use loadline_recording::formats::{Written, write};
use loadline_runs::recording::read_trace;

/// Reads a trace of any format that is known, and writes it.
pub(crate) fn convert(arguments: &ConvertArguments, quiet: bool) -> anyhow::Result<Outcome> {
    let file = output_file::result(&arguments.output, arguments.force)?;
    let (trace, format) = read_trace(&arguments.trace)?;
    let written = match arguments.format {
        WrittenName::FioIolog => Written::FioIolog,
        WrittenName::Blktrace => Written::Blktrace,
        WrittenName::Csv => Written::Csv,
    };
    output_file::write(&file, write(&trace, written))?;
    if !quiet {
        let from = format.map_or("a trace of loadline", |format| format.name());
        let left_out = trace.recording.as_ref().map_or(0, |notes| notes.left_out);
        output::tell(&format!("{} requests of {from}, {left_out} left out", trace.records.len()));
    }
    Ok(Outcome::Done)
}
