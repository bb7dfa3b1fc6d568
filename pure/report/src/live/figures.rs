//! The past minute of a volume in rows: the figure now, the course as blocks, the most of it.

use super::line::{Emphasis, StyledLine};
use crate::rates::per_second;
use loadline_analysis::{LIVE_WINDOW_S, LiveFrame, LiveVolume};
use loadline_record::{ApplicationAt, WatchCause};
use loadline_units::Duration;

/// What the course covers.
const MINUTE_NS: u64 = LIVE_WINDOW_S as u64 * 1_000_000_000;
/// Columns of the figure's name, of the figure and of the most.
const NAME: usize = 12;
const FIGURE: usize = 10;

/// From low to high.
const BLOCKS: [char; 5] = ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2585}', '\u{2587}'];
/// The same for terminals without UTF-8.
const PLAIN_BLOCKS: [char; 5] = ['.', ':', '-', '=', '#'];

/// A figure of a volume.
struct Figure {
    name: &'static str,
    of: fn(&LiveVolume) -> Option<f64>,
    shown: fn(f64) -> String,
    /// What is of more worth has a smaller number: where there is no room, the others are left out.
    worth: u8,
}

fn rate(value: f64) -> String {
    per_second(value)
}

fn megabytes(value: f64) -> String {
    per_second(value / 1e6)
}

fn latency(value: f64) -> String {
    Duration::from_ns(value as u64).human()
}

fn outstanding(value: f64) -> String {
    format!("{value:.1}")
}

fn share(value: f64) -> String {
    format!("{:.0} %", value * 100.0)
}

/// In the order in which they are shown.
const FIGURES: [Figure; 9] = [
    Figure { name: "IOPS", of: |v| v.iops.filter(|_| v.reads_per_s.is_none()), shown: rate, worth: 1 },
    Figure { name: "reads/s", of: |v| v.reads_per_s, shown: rate, worth: 1 },
    Figure { name: "writes/s", of: |v| v.writes_per_s, shown: rate, worth: 1 },
    Figure { name: "MB/s", of: |v| v.throughput_bytes_per_s, shown: megabytes, worth: 3 },
    Figure { name: "latency each", of: |v| v.latency_ns.map(|ns| ns as f64), shown: latency, worth: 0 },
    Figure { name: "p50", of: |v| v.p50_ns.map(|ns| ns as f64), shown: latency, worth: 4 },
    Figure { name: "p99", of: |v| v.p99_ns.map(|ns| ns as f64), shown: latency, worth: 0 },
    Figure { name: "outstanding", of: |v| v.outstanding, shown: outstanding, worth: 2 },
    Figure { name: "busy", of: |v| v.busy_share, shown: share, worth: 5 },
];

/// The volume of this name in a frame.
fn volume<'a>(frame: &'a LiveFrame, name: &str) -> Option<&'a LiveVolume> {
    frame.volumes.iter().find(|volume| volume.name == name)
}

/// For each of so many columns of the minute before the last frame: what `of` says of the frames in it, or `None`.
fn columns<T>(frames: &[LiveFrame], columns: usize, of: impl Fn(&[LiveFrame]) -> Option<T>) -> Vec<Option<T>> {
    let end = frames.last().map_or(0, |frame| frame.elapsed_ns);
    let bound = |column: usize| (end + MINUTE_NS * column as u64 / columns.max(1) as u64).saturating_sub(MINUTE_NS);
    let place = |at: u64| frames.partition_point(|frame| frame.elapsed_ns <= at);
    let before = place(bound(0));
    let mut filled = (before > 0).then(|| before - 1..before);
    (0..columns)
        .map(|column| {
            if end + MINUTE_NS * (column as u64 + 1) / columns as u64 <= MINUTE_NS {
                return None;
            }
            let own = &frames[place(bound(column))..place(bound(column + 1))];
            // Between two frames the earlier one goes on.
            let own = if own.is_empty() { filled.clone().map_or(own, |range| &frames[range]) } else { own };
            let last = place(bound(column + 1));
            filled = (last > 0).then(|| last - 1..last);
            of(own)
        })
        .collect()
}

/// A course as blocks: none where nothing was seen.
fn blocks(values: &[Option<f64>], most: f64, unicode: bool) -> String {
    let marks = if unicode { BLOCKS } else { PLAIN_BLOCKS };
    let mark = |value: &Option<f64>| {
        value.map_or(' ', |value| {
            let step = if most > 0.0 { (value / most * marks.len() as f64).ceil() as usize } else { 0 };
            marks[step.clamp(1, marks.len()) - 1]
        })
    };
    values.iter().map(mark).collect()
}

/// Columns of the course on a screen so wide.
fn course_width(width: usize) -> usize {
    width.saturating_sub(NAME + 1 + FIGURE + 2 + 1 + FIGURE).min(LIVE_WINDOW_S)
}

/// Worth up to which a figure is always there.
const WORTH_ALWAYS: u8 = 2;

/// Lines that the rows of a volume take with the figures that are always there.
pub(super) fn lines_needed(frames: &[LiveFrame], name: &str) -> usize {
    let of_minute = minute(frames);
    let is_seen = |figure: &&Figure| {
        let mut own = of_minute.iter().filter_map(|frame| volume(frame, name));
        figure.worth <= WORTH_ALWAYS && own.any(|volume| (figure.of)(volume).is_some())
    };
    let has_causes = of_minute.iter().any(|frame| volume(frame, name).is_some_and(|of| of.cause_now.is_some()));
    1 + FIGURES.iter().filter(is_seen).count() + usize::from(has_causes)
}

/// The rows of a volume, at most so many: the heading, its figures, and what each moment went to.
pub(super) fn rows(frames: &[LiveFrame], name: &str, width: usize, lines: usize, unicode: bool) -> Vec<StyledLine> {
    let Some(now) = frames.last().and_then(|frame| volume(frame, name)) else { return Vec::new() };
    let course = course_width(width);
    let of_minute = minute(frames);
    let value = |figure: &Figure| {
        of_minute
            .iter()
            .filter_map(|frame| (figure.of)(volume(frame, name)?))
            .fold(None, |most: Option<f64>, value| Some(most.map_or(value, |most| most.max(value))))
    };
    let mut shown: Vec<(&Figure, f64)> = FIGURES.iter().filter_map(|figure| Some((figure, value(figure)?))).collect();
    let strip = strip(frames, name, course);
    let room = lines.saturating_sub(1 + usize::from(strip.is_some()));
    while shown.len() > room {
        let Some(least) = (0..shown.len()).max_by_key(|place| shown[*place].0.worth) else { break };
        shown.remove(least);
    }
    let mut all = vec![heading(course)];
    all.extend(shown.into_iter().map(|(figure, most)| {
        let of = |frames: &[LiveFrame]| {
            let all = frames.iter().filter_map(|frame| (figure.of)(volume(frame, name)?));
            all.fold(None, |most: Option<f64>, value| Some(most.map_or(value, |most| most.max(value))))
        };
        let seen = blocks(&columns(frames, course, of), most, unicode);
        let figure_now = (figure.of)(now).map_or_else(|| "-".to_owned(), figure.shown);
        StyledLine::plain(format!("{:<NAME$} ", figure.name))
            .then(Emphasis::Strong, format!("{figure_now:>FIGURE$}"))
            .then(Emphasis::Plain, format!("  {seen} "))
            .then(Emphasis::Faint, format!("{:>FIGURE$}", (figure.shown)(most)))
    }));
    all.extend(strip.map(|letters| {
        StyledLine::plain(format!("{:<NAME$} {:>FIGURE$}  ", "cause", "")).then(Emphasis::Plain, letters)
    }));
    all.truncate(lines);
    all
}

fn heading(course: usize) -> StyledLine {
    let past = format!("{:<course$}", format!("{LIVE_WINDOW_S} s ago").chars().take(course).collect::<String>());
    StyledLine::default().then(Emphasis::Faint, format!("{:<NAME$} {:>FIGURE$}  {past} {:>FIGURE$}", "", "now", "most"))
}

/// The frames of the minute before the last one.
pub(super) fn minute(frames: &[LiveFrame]) -> &[LiveFrame] {
    let end = frames.last().map_or(0, |frame| frame.elapsed_ns);
    &frames[frames.partition_point(|frame| frame.elapsed_ns + MINUTE_NS <= end)..]
}

/// What each moment went to, a letter each; `None` where that is not judged.
pub(super) fn strip(frames: &[LiveFrame], name: &str, course: usize) -> Option<String> {
    let of = |frames: &[LiveFrame]| {
        frames.iter().rev().find_map(|frame| volume(frame, name)?.cause_now.as_ref()).map(letter)
    };
    let letters = columns(frames, course, of);
    letters.iter().any(Option::is_some).then(|| letters.into_iter().map(|of| of.unwrap_or(' ')).collect())
}

/// A cause as a letter.
pub(super) const fn letter(cause: &WatchCause) -> char {
    match cause {
        WatchCause::Throttle { .. } => 'T',
        WatchCause::CountedExcess { .. } => 'X',
        WatchCause::DeclaredLimit { .. } => 'D',
        WatchCause::Queue { .. } => 'Q',
        WatchCause::Level => 'L',
        WatchCause::LevelAfterBurst => 'B',
        WatchCause::Flushes => 'F',
        WatchCause::Answers => 'A',
        WatchCause::Quota { .. } => 'q',
        WatchCause::Processors => 'c',
        WatchCause::Memory { .. } => 'M',
        WatchCause::PageCache { .. } => 'p',
        WatchCause::Swap => 'S',
        WatchCause::Application { at, .. } => match at {
            ApplicationAt::Computing => 'w',
            ApplicationAt::Locks => 'l',
            ApplicationAt::Threads => 't',
            ApplicationAt::Sockets => 's',
            ApplicationAt::Processes => 'o',
            ApplicationAt::Pauses => 'z',
        },
        WatchCause::NoWork => '.',
    }
}

/// A cause in a word or two.
pub(super) const fn short(cause: &WatchCause) -> &'static str {
    match cause {
        WatchCause::Throttle { .. } => "throttle",
        WatchCause::CountedExcess { .. } => "counted limit",
        WatchCause::DeclaredLimit { .. } => "declared limit",
        WatchCause::Queue { .. } => "queue full",
        WatchCause::Level => "level",
        WatchCause::LevelAfterBurst => "level after burst",
        WatchCause::Flushes => "flushes",
        WatchCause::Answers => "answers",
        WatchCause::Quota { .. } => "CPU quota",
        WatchCause::Processors => "CPUs",
        WatchCause::Memory { .. } => "memory",
        WatchCause::PageCache { .. } => "page cache",
        WatchCause::Swap => "swap",
        WatchCause::Application { at, .. } => at.name(),
        WatchCause::NoWork => "no work",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_has_the_most_of_each_column_and_ends_now() {
        let frame = |second: u64, iops: f64| LiveFrame {
            elapsed_ns: second * 1_000_000_000,
            volumes: vec![LiveVolume { name: "vda".into(), iops: Some(iops), ..LiveVolume::default() }],
            ..LiveFrame::new(String::new(), "watch".into(), String::new())
        };
        let frames: Vec<LiveFrame> = (1..=90).map(|second| frame(second, second as f64)).collect();
        let most = |frames: &[LiveFrame]| frames.last().map(|frame| frame.volumes[0].iops.unwrap() as u64);
        assert_eq!(columns(&frames, 6, most), [40, 50, 60, 70, 80, 90].map(Some));
        assert_eq!(columns(&frames[..30], 6, most), [None, None, None, Some(10), Some(20), Some(30)]);
        assert_eq!(blocks(&[None, Some(0.0), Some(50.0), Some(100.0)], 100.0, false), " .-#");
        // Rare frames go on until the next one.
        let rare: Vec<LiveFrame> = frames.iter().filter(|f| f.elapsed_ns % 20_000_000_000 == 0).cloned().collect();
        assert!(columns(&rare, 60, most).iter().all(Option::is_some), "{:?}", columns(&rare, 60, most));
    }
}
