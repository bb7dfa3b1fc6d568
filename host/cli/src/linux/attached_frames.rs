//! `live`: the screen of what another terminal started.

use super::socket;
use crate::arguments::live::AttachArguments;
use crate::failure::{Outcome, Usage};
use crate::frames::{Frames, json_to};
use crate::interruption::Interruption;
use crate::output;
use anyhow::Context as _;
use loadline_analysis::LiveFrame;
use loadline_report::live::{LiveState, ScreenOf};
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Bytes of a frame at most: one of a machine with hundreds of disks has less than a hundredth of it.
const FRAME_MAX: usize = 16 << 20;
/// Between two looks at whether the user wants to leave.
const LOOK: Duration = Duration::from_millis(100);

/// Attaches to a run, and shows its frames until it ends or the user leaves. The run goes on.
pub(crate) fn attach(arguments: &AttachArguments, quiet: bool) -> anyhow::Result<Outcome> {
    let run = match &arguments.run {
        Some(run) => run.clone(),
        None => only_one(socket::running())?,
    };
    let place = socket::place(&run);
    if socket::is_of_another(&place) {
        return Err(Usage(format!("{} belongs to another user: attach as that user", place.display())).into());
    }
    let stream = UnixStream::connect(&place).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
            anyhow::Error::from(Usage(format!("{run} does not run here as this user; {}", listed(&socket::running()))))
        }
        _ => anyhow::Error::new(error).context(format!("cannot attach to {}", place.display())),
    })?;
    stream.set_read_timeout(Some(LOOK)).context("cannot read frames")?;
    let interruption = Interruption::watch()?;
    let mut json = arguments.options.live.as_deref().map(json_to).transpose()?;
    let mut frames = Frames::new(arguments.options.lines, quiet, &interruption, LiveState::new(ScreenOf::Attached));
    let (mut reader, mut line) = (BufReader::new(stream), Vec::new());
    let has_ended = loop {
        if interruption.asked() {
            break false;
        }
        let room = (FRAME_MAX - line.len()) as u64;
        match reader.by_ref().take(room).read_until(b'\n', &mut line) {
            Ok(_) if line.len() == FRAME_MAX => {
                anyhow::bail!("{run} sends a frame of more than {} MiB, which is none", FRAME_MAX >> 20);
            }
            Ok(_) if line.ends_with(b"\n") => {
                let frame: LiveFrame =
                    serde_json::from_slice(&line).context("a frame of another version of loadline")?;
                if let Some(json) = &mut json {
                    json.write_all(&line).and_then(|()| json.flush()).context("--live")?;
                }
                frames.take(&frame);
                line.clear();
            }
            Ok(_) => break true,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error).context("cannot read frames"),
        }
    };
    frames.close();
    frames.print_command()?;
    if !quiet {
        let ended = if has_ended { "ended; `loadline show` has its verdict" } else { "goes on" };
        output::tell(&format!("{run} {ended}"));
    }
    Ok(Outcome::Done)
}

/// The run that runs, where there is one.
fn only_one(runs: Vec<String>) -> anyhow::Result<String> {
    match <[String; 1]>::try_from(runs) {
        Ok([run]) => Ok(run),
        Err(runs) => Err(Usage(listed(&runs)).into()),
    }
}

fn listed(runs: &[String]) -> String {
    if runs.is_empty() {
        return "nothing of this user runs here that can be attached to: start `loadline watch` or `loadline run` first".to_owned();
    }
    format!("these run: {}; name one, as in `loadline live {}`", runs.join(", "), runs[0])
}
