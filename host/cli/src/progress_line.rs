//! Lines of progress: one that is drawn over on a terminal, and now and then a plain one elsewhere.

use crate::tty;
use loadline_report::{plain, plain_lines};
use loadline_units::Duration;
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Nothing.
    Quiet,
    /// One line for each event.
    Lines,
    /// A line that is drawn over.
    Terminal,
}

/// Standard error while something is measured.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    mode: Mode,
    drawn: bool,
    /// When a line last said how far all has come.
    told: Option<Instant>,
}

/// Where there is no terminal, a line says this often how far long work has come.
const TELL_EVERY: std::time::Duration = std::time::Duration::from_secs(10);

impl ProgressLine {
    /// A view that shows nothing when `quiet`, a line that is drawn over where standard error is a terminal, plain lines elsewhere.
    pub(crate) fn new(quiet: bool) -> Self {
        let mode = if quiet {
            Mode::Quiet
        } else if std::io::stderr().is_terminal()
            && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
            && tty::takes_sequences()
        {
            Mode::Terminal
        } else {
            Mode::Lines
        };
        Self { mode, drawn: false, told: None }
    }
    /// Draws how much of all work is done, of which `share` (0.0 to 1.0) took `elapsed`; where there is no terminal, says so now
    /// and then.
    pub(crate) fn draw_share(&mut self, place: &str, share: f64, elapsed: std::time::Duration) {
        let share = share.clamp(0.0, 1.0);
        let elapsed = Duration::from_ns(elapsed.as_nanos() as u64);
        let left = left_of(elapsed, share).filter(|left| *left > Duration::ZERO);
        let left = left.map_or_else(String::new, |left| format!("  {} left", left.clock()));
        let bar = if self.mode == Mode::Terminal { format!("[{}] ", bar(share, 20)) } else { String::new() };
        self.draw_line(&format!("{bar}{place}, {:.0} %{left}", share * 100.0));
    }
    /// Draws a line of its own; where there is no terminal, says it now and then.
    pub(crate) fn draw_line(&mut self, line: &str) {
        match self.mode {
            Mode::Quiet => {}
            Mode::Lines => {
                let last = *self.told.get_or_insert_with(Instant::now);
                if last.elapsed() >= TELL_EVERY {
                    self.told = Some(Instant::now());
                    let _ = writeln!(std::io::stderr().lock(), "{}", plain(line));
                }
            }
            Mode::Terminal => {
                let over = if self.drawn { "\r\x1b[1A\x1b[J" } else { "" };
                let mut out = std::io::stderr().lock();
                let _ = writeln!(out, "{over}{}", cut(line, terminal_width())).and_then(|()| out.flush());
                self.drawn = true;
            }
        }
    }
    /// A line that stays.
    pub(crate) fn say(&mut self, line: &str) {
        self.clear();
        let line = &plain_lines(line);
        let text = match self.mode {
            Mode::Quiet => return,
            Mode::Lines => line.to_owned(),
            Mode::Terminal => wrapped(line, terminal_width()),
        };
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
    /// Takes the line away that is drawn over.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let mut out = std::io::stderr().lock();
            let _ = write!(out, "\r\x1b[1A\x1b[J").and_then(|()| out.flush());
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Columns of the terminal on standard error.
fn terminal_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0))
}

/// The line broken between words; what goes on in a further line is set in. A word that is too long stays whole.
fn wrapped(line: &str, width: usize) -> String {
    const INDENT: &str = "    ";
    let (mut text, mut column) = (String::new(), 0);
    for word in line.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            text.push('\n');
            text.push_str(INDENT);
            column = INDENT.len();
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// How long work still takes at its pace so far; `None` where that says little.
fn left_of(elapsed: Duration, share: f64) -> Option<Duration> {
    const SHARE_LEAST: f64 = 0.01;
    (share >= SHARE_LEAST).then(|| Duration::from_ns((elapsed.as_ns() as f64 * (1.0 / share - 1.0)) as u64))
}

fn bar(done: f64, columns: usize) -> String {
    let full = (done * columns as f64).round() as usize;
    "#".repeat(full) + &"-".repeat(columns - full)
}

/// At most `width` characters: a line that wraps could not be drawn over.
fn cut(text: &str, width: usize) -> String {
    plain(text).chars().take(width.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_the_pace() {
        let left = |share| left_of(Duration::from_s(10), share);
        assert_eq!((left(0.25), left(1.0), left(0.001)), (Some(Duration::from_s(30)), Some(Duration::ZERO), None));
    }

    #[test]
    fn lines_that_stay_are_broken_between_words() {
        assert_eq!(wrapped("a bb ccc dddd", 8), "a bb ccc\n    dddd");
        assert_eq!(wrapped("a bb ccc dddd", 80), "a bb ccc dddd");
        assert_eq!(wrapped("/a/path/that/is/long x", 8), "/a/path/that/is/long\n    x");
        assert_eq!(wrapped("", 8), "");
    }
}
