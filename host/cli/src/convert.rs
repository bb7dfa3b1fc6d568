//! `convert`: a trace in the format of another tool.

use crate::arguments::convert::{ConvertArguments, WrittenName};
use crate::failure::Outcome;
use crate::{output, output_file};
use anyhow::bail;
use loadline_emulation::Trace;
use loadline_exported::perfetto;
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
    let (mut trace, format) = read_trace(&arguments.trace)?;
    if trace.records.is_empty() {
        bail!("{} has no requests ({}): nothing was converted", arguments.trace.display(), left_out(&trace));
    }
    let all = trace.records.len();
    let contents = match arguments.format {
        WrittenName::FioIolog => write(&trace, Written::FioIolog),
        WrittenName::Blktrace => write(&trace, Written::Blktrace),
        WrittenName::Csv => write(&trace, Written::Csv),
        WrittenName::Perfetto => {
            trace.records.truncate(usize::try_from(arguments.requests).unwrap_or(usize::MAX));
            perfetto::requests(&trace)
        }
    };
    output_file::write(&file, contents)?;
    if !quiet {
        let from = format.map_or("a trace of loadline", |format| format.name());
        let count = if trace.records.len() < all {
            format!("the first {} of {all} requests", trace.records.len())
        } else {
            format!("{all} requests")
        };
        output::tell(&format!("{count} of {from}, {}", left_out(&trace)));
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_emulation::{RecordingNotes, encode_recording_end, encode_recording_head};

    #[test]
    fn a_trace_without_requests_is_an_error_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (trace, output) = (folder.path().join("app.trace"), folder.path().join("app.csv"));
        let mut bytes = encode_recording_head("{}", ["sda"].into_iter());
        bytes.extend(encode_recording_end(&RecordingNotes::default()));
        std::fs::write(&trace, bytes).unwrap();
        let arguments =
            ConvertArguments { trace, output: output.clone(), format: WrittenName::Csv, requests: 1, force: false };
        let error = convert(&arguments, true).unwrap_err().to_string();
        assert!(error.contains("app.trace has no requests (0 left out): nothing was converted"), "{error}");
        assert!(!output.exists());
    }
}
