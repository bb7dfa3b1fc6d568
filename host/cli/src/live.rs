//! What a person sees while a measurement runs: two status lines on a terminal, a plain line for each finished cell elsewhere.

use loadline_engine::{Phase, Progress};
use loadline_report::rates as figures;
use loadline_report::{plain, plain_lines};
use loadline_runs::Activity;
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
    /// Status lines that are drawn over.
    Terminal,
}

/// Standard error while something is measured.
#[derive(Debug)]
pub(crate) struct Live {
    mode: Mode,
    drawn: bool,
    /// Planned time of the steps that have not begun.
    ahead: Duration,
    planned: Duration,
    step: Option<(Activity, Instant)>,
    /// When a line last said how far all has come.
    told: Option<Instant>,
}

/// Where there is no terminal, a line says this often how far long work has come.
const TELL_EVERY: std::time::Duration = std::time::Duration::from_secs(10);

impl Live {
    /// A view that shows nothing when `quiet`, status lines where standard error is a terminal, plain lines elsewhere.
    pub(crate) fn new(quiet: bool) -> Self {
        let mode = if quiet {
            Mode::Quiet
        } else if std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb") {
            Mode::Terminal
        } else {
            Mode::Lines
        };
        Self { mode, drawn: false, ahead: Duration::ZERO, planned: Duration::ZERO, step: None, told: None }
    }
    /// Tells how much there is to do in all, this much more.
    pub(crate) fn expect(&mut self, more: Duration) {
        self.planned = self.planned + more;
        self.ahead = self.ahead + more;
    }
    /// Tells that so much of it will not be done after all.
    pub(crate) fn forgo(&mut self, less: Duration) {
        self.planned = self.planned.saturating_sub(less);
        self.ahead = self.ahead.saturating_sub(less);
    }
    /// A step begins.
    pub(crate) fn begin(&mut self, step: Activity) {
        self.ahead = self.ahead.saturating_sub(step.planned);
        self.step = Some((step, Instant::now()));
    }
    /// Draws how far the step has come; does nothing where there is no terminal.
    pub(crate) fn refresh(&mut self, progress: &Progress) {
        if self.mode != Mode::Terminal {
            return;
        }
        let Some((step, began)) = &self.step else { return };
        let elapsed = Duration::from_ns(began.elapsed().as_nanos() as u64);
        let left = self.ahead + left_of(step, elapsed, progress.done);
        let width = terminal_width();
        let [first, second] = status_lines(step, progress, Overall { planned: self.planned, left }, width);
        let over = if self.drawn { "\r\x1b[1A\x1b[J" } else { "" };
        let mut out = std::io::stderr().lock();
        let _ = write!(out, "{over}{first}\n{second}").and_then(|()| out.flush());
        self.drawn = true;
    }
    /// Draws how much of all work is done, of which `share` (0.0 to 1.0) took `elapsed`; where there is no terminal, says so now
    /// and then.
    pub(crate) fn draw_share(&mut self, place: &str, share: f64, elapsed: std::time::Duration) {
        let share = share.clamp(0.0, 1.0);
        let elapsed = Duration::from_ns(elapsed.as_nanos() as u64);
        let step = Activity { place: String::new(), label: String::new(), planned: Duration::ZERO, is_guessed: false };
        let left = left_of(&step, elapsed, Some(share));
        let left = if left == Duration::ZERO { String::new() } else { format!("  {} left", left.clock()) };
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
                    let _ = writeln!(std::io::stderr().lock(), "{line}");
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
    /// Takes the status lines away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let mut out = std::io::stderr().lock();
            let _ = write!(out, "\r\x1b[1A\x1b[J").and_then(|()| out.flush());
        }
    }
}

impl Drop for Live {
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

/// The whole work in time.
#[derive(Debug, Clone, Copy)]
struct Overall {
    planned: Duration,
    left: Duration,
}

/// How long the step still takes: by its plan; where its share done is known, at the pace so far, if that is sooner or the plan is
/// a guess.
fn left_of(step: &Activity, elapsed: Duration, done: Option<f64>) -> Duration {
    /// Below this share the pace so far says little.
    const SHARE_LEAST: f64 = 0.01;
    let planned = step.planned.saturating_sub(elapsed);
    let paced = done
        .filter(|share| *share >= SHARE_LEAST)
        .map(|share| Duration::from_ns((elapsed.as_ns() as f64 * (1.0 / share.min(1.0) - 1.0)) as u64));
    match paced {
        Some(paced) if step.planned > Duration::ZERO && !step.is_guessed => paced.min(planned),
        Some(paced) => paced,
        None => planned,
    }
}

/// The two status lines, each at most `width` columns wide.
fn status_lines(step: &Activity, progress: &Progress, overall: Overall, width: usize) -> [String; 2] {
    let planned = overall.planned.as_ns().max(1) as f64;
    let done = 1.0 - (overall.left.as_ns() as f64 / planned).clamp(0.0, 1.0);
    let first = format!("[{}] {}: {}", bar(done, 20), step.place, step.label);
    let mut second = format!("  {}", phase_text(progress));
    // What matters most comes first: a figure without room is left out whole.
    let figures = [
        Some(format!("{} left", overall.left.clock())),
        progress.iops.map(figures::iops),
        progress.p99.map(|latency| format!("p99 {}", latency.human())),
        progress.bytes_per_s.map(figures::megabytes_per_s),
        progress.p50.map(|latency| format!("p50 {}", latency.human())),
    ];
    for figure in figures.into_iter().flatten() {
        if second.chars().count() + 2 + figure.chars().count() < width {
            second.push_str("  ");
            second.push_str(&figure);
        }
    }
    [cut(&first, width), cut(&second, width)]
}

/// "measuring 12 s of 30 s", "filling 40 %".
fn phase_text(progress: &Progress) -> String {
    let name = match progress.phase {
        Phase::Waiting => "waiting",
        Phase::Filling => "filling",
        Phase::WarmUp => "warming up",
        Phase::Measuring => "measuring",
        Phase::CoolDown => "cooling down",
        Phase::Verifying => "reading back",
    };
    match (progress.done, progress.expected) {
        (Some(done), _) => format!("{name} {:.0} %", (done * 100.0).clamp(0.0, 100.0)),
        (None, Some(expected)) => {
            // Tenths where the whole is a few seconds; cut off, so that it never shows more than has passed.
            let scale = if expected < Duration::from_s(10) { 10.0 } else { 1.0 };
            let elapsed = (progress.elapsed.as_s_f64() * scale).floor() / scale;
            format!("{name} {elapsed} of {} s", expected.as_s_f64())
        }
        (None, None) => name.to_owned(),
    }
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

    fn step() -> Activity {
        let label = "random read 4 KiB, depth 32".to_owned();
        Activity { place: "3 of 12".into(), label, planned: Duration::from_s(30), is_guessed: false }
    }

    #[test]
    fn status_lines_say_where_it_is_and_how_long_it_takes() {
        let progress = Progress {
            phase: Phase::Measuring,
            elapsed: Duration::from_ms(12_400),
            expected: Some(Duration::from_s(30)),
            iops: Some(45_321.0),
            bytes_per_s: Some(185.6e6),
            p50: Some(Duration::from_us(120)),
            p99: Some(Duration::from_us(1_250)),
            ..Progress::default()
        };
        let overall = Overall { planned: Duration::from_s(400), left: Duration::from_s(200) };
        let [first, second] = status_lines(&step(), &progress, overall, 200);
        assert_eq!(first, "[##########----------] 3 of 12: random read 4 KiB, depth 32");
        assert_eq!(second, "  measuring 12 of 30 s  3 min 20 s left  45,321 IOPS  p99 1.25 ms  186 MB/s  p50 120 us");
        let [_, narrow] = status_lines(&step(), &progress, overall, 60);
        assert_eq!(narrow, "  measuring 12 of 30 s  3 min 20 s left  45,321 IOPS");
    }

    #[test]
    fn filling_takes_as_long_as_its_pace_says_but_no_longer_than_planned() {
        let at = |planned, elapsed, done| {
            let step = Activity { planned: Duration::from_s(planned), ..step() };
            left_of(&step, Duration::from_s(elapsed), done)
        };
        assert_eq!(at(0, 10, Some(0.25)), Duration::from_s(30));
        assert_eq!(at(12, 10, Some(0.25)), Duration::from_s(2));
        assert_eq!(at(12, 2, Some(0.5)), Duration::from_s(2));
        assert_eq!(at(30, 12, None), Duration::from_s(18));
        assert_eq!(at(30, 40, Some(1.0)), Duration::ZERO);
        let guessed = Activity { planned: Duration::from_s(12), is_guessed: true, ..step() };
        assert_eq!(left_of(&guessed, Duration::from_s(10), Some(0.25)), Duration::from_s(30));
        assert_eq!(left_of(&guessed, Duration::from_s(2), None), Duration::from_s(10));
    }

    #[test]
    fn lines_that_stay_are_broken_between_words() {
        assert_eq!(wrapped("a bb ccc dddd", 8), "a bb ccc\n    dddd");
        assert_eq!(wrapped("a bb ccc dddd", 80), "a bb ccc dddd");
        assert_eq!(wrapped("/a/path/that/is/long x", 8), "/a/path/that/is/long\n    x");
        assert_eq!(wrapped("", 8), "");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let progress = Progress { phase: Phase::Filling, done: Some(0.4), ..Progress::default() };
        let overall = Overall { planned: Duration::ZERO, left: Duration::ZERO };
        for width in [0, 1, 10, 40] {
            let lines = status_lines(&step(), &progress, overall, width);
            assert!(lines.iter().all(|line| line.chars().count() <= width));
        }
    }
}
