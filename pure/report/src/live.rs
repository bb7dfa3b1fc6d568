//! A run as it is now: as a line of JSON, as a line of words, and as a screen.

mod crawl;
mod emulation;
mod figures;
mod keys;
mod line;
mod screen;

pub use keys::{Key, LiveState, ScreenOf, Wish};
pub use line::{Emphasis, StyledLine};
pub use screen::{COLUMNS_MIN, LINES_MIN, LiveScreen};

use crate::figures::plain;
use crate::rates::{megabytes_per_s, per_second};
use crate::words;
use crate::words::certainty::because;
use loadline_analysis::{LIVE_SCHEMA, LIVE_WINDOW_MIN_S, LiveFrame, LivePhase, LiveStep, LiveVolume};
use loadline_units::{Duration, Timestamp};
use serde::Serialize;

/// A frame with its sentences.
#[derive(Serialize)]
struct LiveDocument<'a> {
    schema: &'static str,
    #[serde(flatten)]
    frame: &'a LiveFrame,
    said: Vec<Said>,
}

/// What is said of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The volume.
    pub volume: String,
    /// What holds it.
    pub held_by: String,
    /// How sure that is, and why.
    pub how_sure: Option<String>,
    /// What to do.
    pub next: Option<String>,
    /// The command that does it.
    pub command: Option<String>,
}

impl Said {
    /// What is said of a volume of a frame.
    #[must_use]
    pub fn of(frame: &LiveFrame, volume: &LiveVolume) -> Self {
        let silent =
            |held_by: String| Self { volume: plain(&volume.name), held_by, how_sure: None, next: None, command: None };
        if let Some(emulation) = &frame.emulation {
            let place = frame.volumes.iter().position(|own| own.name == volume.name);
            let own = place.and_then(|place| emulation.exports.get(place));
            return silent(own.map_or_else(String::new, emulation::held_by));
        }
        let Some(judged) = &volume.judged else {
            return silent(if frame.is_of_trials() {
                "not known yet: no load was measured".to_owned()
            } else if frame.judged_ns == 0 {
                format!("too early to say: {LIVE_WINDOW_MIN_S} s are needed")
            } else {
                "nothing: no request reached it".to_owned()
            });
        };
        Self {
            how_sure: Some(plain(&format!("{}: {}", judged.certainty.name(), because(&judged.because)))),
            next: judged.next.as_ref().map(|next| plain(&words::verdict::advised(next))),
            command: judged.command.as_deref().map(plain),
            ..silent(plain(&words::holder(&judged.held_by)))
        }
    }
}

/// A frame as one line of JSON, schema `loadline.live/1`.
#[must_use]
pub fn live_json(frame: &LiveFrame) -> String {
    let said = match &frame.crawl {
        Some(of) => crawl::said(of),
        None => frame.volumes.iter().map(|volume| Said::of(frame, volume)).collect(),
    };
    serde_json::to_string(&LiveDocument { schema: LIVE_SCHEMA, frame, said }).expect("a frame is plain data")
}

/// The same with how sure it is of each volume that something holds, and what to do: a line each.
#[must_use]
pub fn live_lines(frame: &LiveFrame) -> Vec<String> {
    let mut lines = vec![live_words(frame)];
    for said in frame.volumes.iter().filter(|volume| volume.judged.is_some()).map(|volume| Said::of(frame, volume)) {
        lines.push(format!("{}: held by {}", said.volume, said.held_by));
        let more = [("how sure", said.how_sure), ("next", said.next), ("command", said.command)];
        lines.extend(more.into_iter().filter_map(|(about, text)| Some(format!("  {about:<9} {}", text?))));
    }
    lines
}

/// A frame in a line of words: the volume that has the most to do, and what holds it.
#[must_use]
pub fn live_words(frame: &LiveFrame) -> String {
    let mut parts = vec![time(frame)];
    parts.extend(frame.step.as_ref().map(|step| plain(&step_words(step))));
    if let Some(of) = &frame.crawl {
        let sure = if of.judged_ns > 0 { " (presumed)" } else { "" };
        parts.extend(crawl::items(frame));
        parts.extend(crawl::held_by(of).into_iter().map(|line| plain(&line) + sure));
        return parts.join("; ");
    }
    let work = |volume: &&LiveVolume| volume.busy_share.or(volume.iops).unwrap_or(0.0);
    if let Some(volume) = frame.volumes.iter().max_by(|a, b| work(a).total_cmp(&work(b))) {
        let of = |figure: Option<f64>, unit: &str| figure.map(|figure| format!("{} {unit}", per_second(figure)));
        let rates = match (volume.reads_per_s, volume.writes_per_s) {
            (Some(reads), Some(writes)) => {
                of(Some(reads), "reads/s").into_iter().chain(of(Some(writes), "writes/s")).collect()
            }
            _ => of(volume.iops, "IOPS").into_iter().collect::<Vec<_>>(),
        };
        let p99 = volume.p99_ns.map(|ns| format!("p99 {}", Duration::from_ns(ns).human()));
        let latency = p99.or_else(|| volume.latency_ns.map(|ns| format!("{} each", Duration::from_ns(ns).human())));
        let figures = rates
            .into_iter()
            .chain(volume.throughput_bytes_per_s.map(megabytes_per_s))
            .chain(latency)
            .chain(volume.outstanding.map(|outstanding| format!("{outstanding:.1} outstanding")));
        parts.push(format!("{}: {}", plain(&volume.name), figures.collect::<Vec<_>>().join(", ")));
        let said = Said::of(frame, volume).held_by;
        parts.push(match &volume.judged {
            Some(judged) => format!("held by {said} ({})", judged.certainty.name()),
            None => said,
        });
    }
    parts.extend(
        frame.trace.map(|trace| format!("{} requests in the trace, {} events lost", trace.requests, trace.events_lost)),
    );
    parts.join("; ")
}

/// "3 of 12, measuring 00:12 of 00:30: random read 4 KiB".
fn step_words(step: &LiveStep) -> String {
    let LiveStep { place, label, phase, elapsed_ns, planned_ns, done_share } = step;
    let phase = match phase {
        LivePhase::Waiting => "waiting",
        LivePhase::Filling => "filling",
        LivePhase::WarmUp => "warming up",
        LivePhase::Measuring => "measuring",
        LivePhase::CoolDown => "cooling down",
        LivePhase::Verifying => "reading back",
    };
    let far = match (done_share, planned_ns) {
        (Some(share), _) => format!(" {:.0} %", share.clamp(0.0, 1.0) * 100.0),
        (None, Some(planned)) => format!(" {} of {}", clock(*elapsed_ns), clock(*planned)),
        (None, None) => String::new(),
    };
    format!("{place}, {phase}{far}: {label}")
}

/// "03:12 of 10:00"; of a stored watch the time of the wall clock.
fn time(frame: &LiveFrame) -> String {
    if frame.is_past {
        return Timestamp::from_unix_s(frame.at_unix_ms / 1_000).to_string();
    }
    let elapsed = clock(frame.elapsed_ns);
    frame.planned_ns.map_or_else(|| elapsed.clone(), |planned| format!("{elapsed} of {}", clock(planned)))
}

/// "03:12", "1:03:12".
fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes:02}:{seconds:02}") }
}
