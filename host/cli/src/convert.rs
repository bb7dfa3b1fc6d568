//! `convert`: a trace in the format of another tool.

use crate::arguments::convert::{ConvertArguments, WrittenName};
use crate::failure::Outcome;
use crate::{output, output_file};
use loadline_emulation::Trace;
use loadline_recording::formats::{Written, write};
use loadline_runs::recording::read_trace;

/// How many lines or records were no requests, with the first; and whether the trace ends before its end.
pub(crate) fn left_out(trace: &Trace) -> String {
    let notes = trace.recording.as_ref();
    let count = notes.map_or(0, |notes| notes.left_out);
    let first = notes.and_then(|notes| notes.first_left_out.as_ref());
    let first = first.map_or_else(String::new, |first| format!(", the first at {first}"));
    let cut = if trace.cut_short { "; its end is missing or broken: what came after these was not read" } else { "" };
    format!("{count} left out{first}{cut}")
}

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
        output::tell(&format!("{} requests of {from}, {}", trace.records.len(), left_out(&trace)));
    }
    Ok(Outcome::Done)
}
