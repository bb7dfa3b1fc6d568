//! The verdict of a run as lines: the last thing on the screen, and the first in a report.

use crate::figures::{self, plain};
use crate::verdict_line::{About, ObjectiveStanding, VerdictLine};
use crate::words;
use crate::words::certainty::because;
use loadline_analysis::{ObjectiveVerdict, VerdictBlock, VerdictFigure, VerdictSubject, VolumeVerdict};
use loadline_units::words::capital;

/// The heading above it.
pub(crate) const HEADING: &str = "Verdict";
/// Lines of a verdict under its heading.
pub const VERDICT_LINES_MAX: usize = 9;
/// An objective that not even the lightest load keeps. A kept one is not shouted: it holds up to some load only.
pub(crate) const BROKEN: &str = "BROKEN";
/// The usual rule, where the user set no objective.
const EXCEEDED: &str = "exceeded";

/// The lines of a verdict in their order.
struct Parts {
    figures: Vec<VerdictLine>,
    /// What limits the figures, and how sure that is.
    limits: Vec<VerdictLine>,
    /// What to do.
    advice: Vec<VerdictLine>,
}

/// The verdict of a run in at most [`VERDICT_LINES_MAX`] lines.
#[must_use]
pub fn lines(verdict: &VerdictBlock) -> Vec<VerdictLine> {
    let Parts { figures, limits, advice } = match verdict.volumes.as_slice() {
        [only] => of_one(only),
        several => of_several(several, verdict),
    };
    let missing = verdict.not_measured.as_ref().map(|missing| {
        let missing = words::verdict::not_measured(missing);
        About::NotMeasured.says(plain(&missing))
    });
    let objective = verdict.objective.as_ref().map(objective_line);
    let source = verdict.source.as_ref().map(|source| About::Source.says(plain(&words::verdict::source(source))));
    let after = verdict.afterwards.as_ref().map(|command| About::Afterwards.says(command.clone()));
    figures.into_iter().chain(missing).chain(limits).chain(source).chain(objective).chain(advice).chain(after).collect()
}

fn objective_line(objective: &ObjectiveVerdict) -> VerdictLine {
    let usual = if objective.rule.chosen { "" } else { " (the usual rule)" };
    let text = plain(&words::verdict::objective_found(objective));
    let (standing, text) = if objective.is_kept() {
        (ObjectiveStanding::Kept, text)
    } else {
        // What nobody asked for is not broken: the exit status is that of a run that was done.
        let word = if objective.rule.chosen { BROKEN } else { EXCEEDED };
        (ObjectiveStanding::Broken, format!("{word}. {}", capital(&text)))
    };
    About::Objective(standing).says(format!("{}{usual}: {text}.", words::verdict::objective(objective)))
}

/// A figure to be seen from afar.
pub(crate) struct Tile {
    /// What it is of.
    pub(crate) what: String,
    /// The figure with its unit.
    pub(crate) value: String,
    /// Its range, or where it was reached.
    pub(crate) aside: String,
}

/// The figures of a run's only volume as tiles, and the rest as lines; of several volumes there are lines alone.
pub(crate) fn tiles(verdict: &VerdictBlock) -> (Vec<Tile>, Vec<VerdictLine>) {
    let all = lines(verdict);
    let [only] = verdict.volumes.as_slice() else { return (Vec::new(), all) };
    let tiles = only.gives.iter().map(|figure| {
        let what = match figure.what {
            VerdictSubject::SmallReads | VerdictSubject::SmallWrites | VerdictSubject::Requests => plain(&figure.load),
            VerdictSubject::LargeReads => "large reads".to_owned(),
            VerdictSubject::LargeWrites => "large writes".to_owned(),
            VerdictSubject::OneRead => "one read alone".to_owned(),
            VerdictSubject::OneWrite => "one write alone".to_owned(),
            VerdictSubject::DurableWrite => "making it durable".to_owned(),
        };
        let aside = if figure.what.is_latency() {
            figure
                .mean_ns
                .map_or_else(|| "median".to_owned(), |mean| format!("median; mean {}", figures::latency(mean)))
        } else {
            format!("at {}{}", plain(&figure.at), tail(figure))
        };
        Tile { what, value: value(figure), aside }
    });
    let figures_shown = of_figures(only).len();
    (tiles.collect(), all.into_iter().skip(figures_shown).collect())
}

/// A line for each volume, and what to do about the first with an advice.
fn of_several(volumes: &[VolumeVerdict], verdict: &VerdictBlock) -> Parts {
    let advised = volumes.iter().find(|volume| volume.command.is_some());
    let mut advice = Vec::new();
    if let Some(volume) = advised {
        let next = words::verdict::next(volume).map(|next| format!("{}: {}", plain(&volume.volume), plain(&next)));
        advice.extend(next.map(|next| About::Next.says(next)));
        advice.extend(volume.command.as_ref().map(|command| About::Command.says(plain(command))));
    }
    let besides = [
        verdict.objective.is_some(),
        verdict.not_measured.is_some(),
        verdict.source.is_some(),
        verdict.afterwards.is_some(),
    ];
    let besides = besides.into_iter().filter(|is_there| *is_there).count();
    let room = VERDICT_LINES_MAX - besides - advice.len();
    let all = volumes.len() + verdict.volumes_left_out;
    let shown = if all > room { (room - 1).min(volumes.len()) } else { volumes.len() };
    let mut figures: Vec<VerdictLine> = volumes.iter().take(shown).map(in_one_line).collect();
    if all > shown {
        figures.push(About::More.says(format!("{} other volumes: see the table above", all - shown)));
    }
    Parts { figures, limits: Vec::new(), advice }
}

fn of_one(volume: &VolumeVerdict) -> Parts {
    let because = plain(&because(&volume.because));
    let latency = volume.latency.as_ref().map(|latency| About::Latency.says(words::watch::latency(latency)));
    let sure = About::HowSure.says(format!("{}: {because}", volume.certainty.name()));
    let next = words::verdict::next(volume).map(|next| About::Next.says(plain(&next)));
    let command = volume.command.as_ref().map(|command| About::Command.says(plain(command)));
    Parts {
        figures: of_figures(volume),
        limits: [About::HeldBy.says(plain(&words::holder(&volume.held_by)))]
            .into_iter()
            .chain(latency)
            .chain([sure])
            .collect(),
        advice: next.into_iter().chain(command).collect(),
    }
}

/// What the volume gives, in lines.
fn of_figures(volume: &VolumeVerdict) -> Vec<VerdictLine> {
    let mut lines: Vec<VerdictLine> = Vec::new();
    let of = |what: VerdictSubject| volume.gives.iter().find(|figure| figure.what == what);
    for what in [VerdictSubject::SmallReads, VerdictSubject::SmallWrites, VerdictSubject::Requests] {
        lines.extend(of(what).map(|figure| About::subject(plain(&figure.load)).says(rate(figure))));
    }
    let joined = |parts: &[(VerdictSubject, &str)]| {
        let all: Vec<String> =
            parts.iter().filter_map(|(what, noun)| Some(format!("{noun} {}", with_mean(of(*what)?)))).collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let large = joined(&[(VerdictSubject::LargeReads, "reads"), (VerdictSubject::LargeWrites, "writes")]);
    lines.extend(large.map(|text| About::LargeTransfers.says(text)));
    let one = joined(&[
        (VerdictSubject::OneRead, "read"),
        (VerdictSubject::OneWrite, "write"),
        (VerdictSubject::DurableWrite, "flush to make it durable"),
    ]);
    lines.extend(one.map(|text| About::OneRequest.says(format!("{text} (median)"))));
    lines
}

/// The figure, and the mean beside a median that misleads: "20.1 us (mean 2.50 ms)".
fn with_mean(figure: &VerdictFigure) -> String {
    let mean = figure.mean_ns.map_or_else(String::new, |mean| format!(" (mean {})", figures::latency(mean)));
    format!("{}{mean}", value(figure))
}

/// A volume among several: "735 reads/s, 731 writes/s, 39.9 MB/s of large reads; held by ...".
fn in_one_line(volume: &VolumeVerdict) -> VerdictLine {
    let noun = |figure: &VerdictFigure| match figure.what {
        VerdictSubject::SmallReads => Some(format!("{} reads/s", figures::iops(figure.value))),
        VerdictSubject::SmallWrites => Some(format!("{} writes/s", figures::iops(figure.value))),
        VerdictSubject::Requests => Some(format!("{} requests/s", figures::iops(figure.value))),
        VerdictSubject::LargeReads => Some(format!("{} of large reads", value(figure))),
        VerdictSubject::LargeWrites => Some(format!("{} of large writes", value(figure))),
        VerdictSubject::OneRead | VerdictSubject::OneWrite | VerdictSubject::DurableWrite => None,
    };
    let gives: Vec<String> = volume.gives.iter().filter_map(noun).collect();
    let text = format!("{}; held by {}", gives.join(", "), plain(&words::holder(&volume.held_by)));
    About::subject(plain(&volume.volume)).says(text)
}

/// "3,000 IOPS (2,990 to 3,010) at depth 32, p99 101 ms".
fn rate(figure: &VerdictFigure) -> String {
    let range = match (figure.low, figure.high) {
        (Some(low), Some(high)) if figures::iops(low) != figures::iops(high) => {
            format!(" ({} to {})", figures::iops(low), figures::iops(high))
        }
        _ => String::new(),
    };
    format!("{}{range} at {}{}", value(figure), plain(&figure.at), tail(figure))
}

/// ", p99 101 ms", or the percentile that shows waits which that one does not.
fn tail(figure: &VerdictFigure) -> String {
    let named = |name: &str, ns: u64| format!(", {name} {}", figures::latency(ns as f64));
    match (figure.p99_9_ns, figure.p99_ns) {
        (Some(ns), _) => named("p99.9", ns),
        (None, Some(ns)) => named("p99", ns),
        (None, None) => String::new(),
    }
}

/// A figure with its unit.
pub(crate) fn value(figure: &VerdictFigure) -> String {
    match figure.what {
        what if what.is_latency() => figures::latency(figure.value),
        what if what.is_throughput() => format!("{} MB/s", figures::megabytes(figure.value)),
        _ => format!("{} IOPS", figures::iops(figure.value)),
    }
}
