//! What goes on, on a terminal: lines that are drawn over once a second.

use loadline_emulation::TimeShare;
use loadline_emulator::{ContentsState, ExportView, View};
use loadline_units::Duration;
use std::io::{IsTerminal as _, Write as _};

/// Shares of its time that a volume's line shows, the largest first.
const HELD_SHOWN: usize = 2;
/// Where the terminal does not tell.
const WIDTH: usize = 80;
const HEIGHT: usize = 24;

/// Lines on a terminal that are drawn over.
pub(crate) struct Screen {
    shows: bool,
    /// As the terminal has them.
    drawn: usize,
}

impl Screen {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { shows: terminal && !quiet, drawn: 0 }
    }

    pub(crate) fn clear(&mut self) {
        if self.drawn > 0 {
            let _ = write!(std::io::stderr(), "\x1b[{}A\x1b[J", self.drawn);
            self.drawn = 0;
        }
    }

    /// Draws the volumes, and the disks that are in use by themselves.
    pub(crate) fn draw(&mut self, view: &View) {
        self.show(|width, height| lines(view, width, height));
    }

    /// Draws lines that fit on a terminal so wide and high.
    pub(crate) fn show(&mut self, lines: impl FnOnce(usize, usize) -> Vec<String>) {
        if !self.shows {
            return;
        }
        let size = terminal_size::terminal_size_of(std::io::stderr());
        let (width, height) = size.map_or((WIDTH, HEIGHT), |(width, height)| (width.0.into(), height.0.into()));
        let lines = lines(width, height);
        self.clear();
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(std::io::stderr(), "{}", lines.join("\n"));
        self.drawn = lines.len();
    }
}

/// The lines of a terminal so wide and high: none is wider, and what is drawn can be drawn over.
fn lines(view: &View, width: usize, height: usize) -> Vec<String> {
    let used = |export: &&ExportView| !export.export.contains('/') || export.iops > 0.0 || export.queue > 0.0;
    let blocks: Vec<Vec<String>> =
        view.exports.iter().filter(used).map(|export| wrapped(&parts(export), width)).collect();
    // The last line is the cursor's, and one may be needed to say what is left out.
    let most = height.saturating_sub(2).max(1);
    let mut lines: Vec<String> = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        if number > 0 && lines.len() + block.len() > most {
            let text = format!("and {} more: `loadline fault SOCKET --status` shows all", blocks.len() - number);
            lines.push(cut(&text, width));
            break;
        }
        lines.extend(block.iter().cloned());
    }
    lines
}

/// What is said of a volume, piece by piece.
fn parts(export: &ExportView) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| Duration::from_ns(ns).human());
    let mut parts = vec![format!("{:<12} {:>7.0} IOPS", export.export, export.iops)];
    if export.state != ContentsState::Present {
        parts.push(export.state.name().to_owned());
    }
    let faults: Vec<String> = export.faults.iter().map(u32::to_string).collect();
    match faults.as_slice() {
        [] => {}
        [one] => parts.push(format!("fault {one}")),
        several => parts.push(format!("faults {}", several.join(" "))),
    }
    parts.push(format!("{:>7.1} MB/s", export.bytes_per_s / 1e6));
    parts.push(format!("p50 {}", time(export.p50_ns)));
    parts.push(format!("p99 {}", time(export.p99_ns)));
    parts.push(format!("queue {:.1}", export.queue));
    let shares = [("throttled", export.throttled), ("credits", export.credits), ("cache hits", export.cache_hits)];
    for (name, share) in shares {
        parts.extend(share.map(|share| format!("{name} {:.0} %", share * 100.0)));
    }
    let held = TimeShare::words(&export.held[..export.held.len().min(HELD_SHOWN)]);
    parts.extend((!held.is_empty()).then_some(held));
    parts
}

/// The pieces on lines of a terminal; those that follow are set in.
fn wrapped(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + part.chars().count() < width => {
                line.push_str("  ");
                line.push_str(part);
            }
            Some(_) => lines.push(format!("    {part}")),
            None => lines.push(part.clone()),
        }
    }
    lines.iter().map(|line| cut(line, width)).collect()
}

fn cut(line: &str, width: usize) -> String {
    line.chars().take(width.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(volumes: usize) -> View {
        let export = |number: usize| ExportView {
            export: format!("volume-{number}"),
            iops: 5_166.0,
            bytes_per_s: 42.3e6,
            p50_ns: Some(2_670_000),
            p99_ns: Some(33_800_000),
            queue: 28.7,
            throttled: Some(0.53),
            credits: Some(0.5),
            cache_hits: Some(0.125),
            ..ExportView::default()
        };
        View { exports: (0..volumes).map(export).collect(), ..View::default() }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_nothing_is_left_out_for_that() {
        let whole = lines(&view(1), 200, 24);
        assert_eq!(whole.len(), 1);
        for width in [30, 60, 80, 120] {
            let lines = lines(&view(1), width, 24);
            assert!(lines.len() > 1 && lines.iter().all(|line| line.chars().count() < width), "{lines:?}");
            let words = |lines: &[String]| lines.join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&lines), words(&whole), "{width}");
        }
    }

    #[test]
    fn what_does_not_fit_on_the_terminal_is_counted() {
        let told = lines(&view(40), 80, 24);
        assert!(told.len() < 24, "{told:?}");
        assert!(told.last().unwrap().starts_with("and 29 more: "), "{told:?}");
        assert_eq!(lines(&view(2), 200, 24).len(), 2);
    }

    #[test]
    fn a_volume_that_is_not_whole_says_so() {
        let mut view = view(1);
        view.exports[0].state = ContentsState::Degraded;
        assert!(lines(&view, 200, 24)[0].contains("degraded"));
        assert!(!lines(&view, 200, 24)[0].contains("fault"));
        view.exports[0].faults = vec![3, 7];
        assert!(lines(&view, 200, 24)[0].contains("degraded  faults 3 7"));
    }
}
