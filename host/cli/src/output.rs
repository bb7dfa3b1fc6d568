//! Results on standard output: tables for people, JSON and CSV for programs, Markdown for pages.

use crate::failure::OutputClosed;
use crate::tty;
use clap::builder::StyledStr;
use loadline_report::{plain_coloured, plain_lines};
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output has lines of frames, and what is printed goes to standard error.
static HAS_FRAMES: AtomicBool = AtomicBool::new(false);

/// From now on standard output has lines of frames alone.
pub(crate) fn frames_take_output() {
    HAS_FRAMES.store(true, Ordering::Relaxed);
}

/// Prints `text` to standard output as it is; to standard error, where frames have the output.
///
/// # Errors
/// [`OutputClosed`] when the reader went away; otherwise what the system says.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    if HAS_FRAMES.load(Ordering::Relaxed) {
        let _ = std::io::stderr().lock().write_all(plain_coloured(text).as_bytes());
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    // Whatever a file or a store holds, it does not steer the terminal. Programs get every character.
    let shown = out.is_terminal().then(|| plain_coloured(text));
    let text = shown.as_deref().unwrap_or(text);
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write to standard output")),
    }
}

/// Tells the user something on standard error; a closed one is no reason to stop a measurement.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", plain_lines(text));
}

/// Tells the user on standard error what is wrong with a command line, whose words were typed or come of a script.
pub(crate) fn tell_coloured(text: &StyledStr) {
    let shown = if has_colour(&std::io::stderr()) {
        plain_coloured(&text.ansi().to_string())
    } else {
        plain_lines(&text.to_string())
    };
    let _ = std::io::stderr().lock().write_all(shown.as_bytes());
}

/// Whether standard output is a terminal that wants colour.
pub(crate) fn colour_wanted() -> bool {
    !HAS_FRAMES.load(Ordering::Relaxed) && has_colour(&std::io::stdout())
}

fn has_colour(stream: &impl IsTerminal) -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    !forbidden && std::env::var_os("TERM").is_none_or(|t| t != "dumb") && stream.is_terminal() && tty::takes_sequences()
}

/// Columns of the terminal on standard output; `None` where it is no terminal.
pub(crate) fn output_width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Indented JSON, ending with a line break.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("records and tables have text keys") + "\n";
    escaped(&text)
}

/// JSON in which the control characters that may stand in strings as they are (C1, DEL) are escaped.
fn escaped(json: &str) -> String {
    let is_raw = |c: char| c.is_control() && c != '\n';
    if !json.contains(is_raw) {
        return json.to_owned();
    }
    let escape = |c: char| if is_raw(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escape).collect()
}
