//! `convert`: a trace in the format of another tool, or a plan as its commands.

use crate::arguments::convert::{ConvertArguments, WrittenName};
use crate::failure::{Outcome, Usage};
use crate::shell::in_shell;
use crate::typed_plan::read_plan;
use crate::{output, output_file};
use anyhow::{Context as _, bail};
use loadline_emulation::Trace;
use loadline_exported::{CommandTool, Commands, commands, perfetto};
use loadline_recording::formats::{Written, write};
use loadline_runs::PlanLength;
use loadline_runs::recording::read_trace;
use std::path::Path;

/// How many lines or records were no requests, with the first; and whether the trace ends before its end.
pub(crate) fn left_out(trace: &Trace) -> String {
    let notes = trace.recording.as_ref();
    let count = notes.map_or(0, |notes| notes.left_out);
    let first = notes.and_then(|notes| notes.first_left_out.as_ref());
    let first = first.map_or_else(String::new, |first| format!(", the first at {first}"));
    let cut = if trace.cut_short { "; its end is missing or broken: what came after these was not read" } else { "" };
    format!("{count} left out{first}{cut}")
}

/// Reads a trace of any format that is known, and writes it; or a plan, and writes the commands that measure it.
pub(crate) fn convert(arguments: &ConvertArguments, quiet: bool) -> anyhow::Result<Outcome> {
    match (arguments.format, arguments.to) {
        (Some(format), _) => trace(arguments, format, quiet),
        (None, Some(to)) => plan(arguments, to.into(), quiet),
        (None, None) => Err(Usage("say with --as what becomes of a trace, or with --to of a plan".to_owned()).into()),
    }
}

/// The folder with a plan's commands.
fn plan(arguments: &ConvertArguments, tool: CommandTool, quiet: bool) -> anyhow::Result<Outcome> {
    let plan = read_plan(&arguments.input, PlanLength::Full)?;
    let folder = &arguments.output;
    let all = commands(&plan, tool, arguments.size).map_err(|error| Usage(format!("{}: {error}", arguments.input)))?;
    for refused in &all.refused {
        output::tell(&format!("{} is left out: {}", refused.cell, refused.why));
    }
    if all.wants_size {
        output::tell("give loads without a size one with --size, such as --size 64GiB: larger than what caches hold");
    }
    if all.cells == 0 {
        bail!("{} can do no load of {}: nothing was written", tool.name(), plan.name);
    }
    write_folder(folder, &all, arguments.force)?;
    if !quiet {
        for note in &all.notes {
            output::tell(note);
        }
        let Commands { cells, trials, time, file_size, .. } = &all;
        output::tell(&format!(
            "{}: {trials} commands for {cells} cells, about {}, on a test file of {file_size}",
            folder.display(),
            time.clock()
        ));
        let (script, place) = match tool {
            CommandTool::Diskspd => ("measure.ps1 or measure.cmd", "on the Windows machine"),
            CommandTool::Fio => ("measure.sh", "on the other machine"),
        };
        output::tell(&format!(
            "run {script} {place}, bring the folder back, and `loadline import {}`",
            in_shell(&folder.display().to_string())
        ));
    }
    Ok(Outcome::Done)
}

/// Writes the files into a folder that is new or empty, or into any if `force` is given.
fn write_folder(folder: &Path, all: &Commands, force: bool) -> anyhow::Result<()> {
    let has_more = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if has_more && !force {
        let folder = folder.display();
        return Err(Usage(format!(
            "{folder} is not empty: name another folder with -o, or write into it with --force"
        ))
        .into());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, text) in &all.files {
        let file = folder.join(name);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// The trace in another format.
fn trace(arguments: &ConvertArguments, format: WrittenName, quiet: bool) -> anyhow::Result<Outcome> {
    let input = Path::new(&arguments.input);
    let file = output_file::result(&arguments.output, arguments.force)?;
    let (mut trace, known) = read_trace(input)?;
    if trace.records.is_empty() {
        bail!("{} has no requests ({}): nothing was converted", input.display(), left_out(&trace));
    }
    let all = trace.records.len();
    let contents = match format {
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
        let from = known.map_or("a trace of loadline", |format| format.name());
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
        let arguments = ConvertArguments {
            input: trace.display().to_string(),
            output: output.clone(),
            format: Some(WrittenName::Csv),
            to: None,
            size: None,
            requests: 1,
            force: false,
        };
        let error = convert(&arguments, true).unwrap_err().to_string();
        assert!(error.contains("app.trace has no requests (0 left out): nothing was converted"), "{error}");
        assert!(!output.exists());
    }
}
