//! What a recording of an application's requests came to, in lines.

use crate::verdict::lines;
use crate::verdict_line::{About, VerdictLine};
use crate::words::watch;
use loadline_analysis::{ProgramFigures, VerdictBlock, WatchNext};
use loadline_units::words::percent;

/// A recording that has ended. Options are in the words of the command.
#[derive(Debug)]
pub struct RecordingVerdict<'a> {
    /// Of this device.
    pub device: &'a str,
    /// What held the application meanwhile, as a watch judges it.
    pub around: Option<&'a VerdictBlock>,
    /// The programs that asked, with their shares of the device's bytes where those are known.
    pub programs: &'a [ProgramFigures],
    /// Events that the kernel dropped.
    pub events_lost: u64,
    /// Requests that the kernel counted and the trace does not have; `None` where nobody counted.
    pub missing: Option<u64>,
    /// The option that makes the buffer of events larger.
    pub buffer_option: &'a str,
    /// Requests that were under way at the beginning.
    pub under_way_before: u64,
    /// Requests that were under way at the end.
    pub under_way_after: u64,
    /// Requests of which no arrival was recorded.
    pub without_arrival: u64,
    /// Why it ended.
    pub end: RecordingEnd<'a>,
    /// The share of the time for which a limit held the application back.
    pub limited_share: Option<f64>,
    /// What to do next.
    pub next: RecordingNext<'a>,
}

/// A program with so much of the bytes has a name in the verdict,
const NAMED_SHARE: f64 = 0.01;
/// if not more than so many have more.
const NAMED_MAX: usize = 3;

/// Why a recording ended.
#[derive(Debug, Clone, Copy)]
pub enum RecordingEnd<'a> {
    /// Its time was over.
    Time,
    /// The trace has the size that this option allows.
    Size(&'a str),
    /// The user ended it.
    Wanted,
}

/// What to do after a recording, with its command.
#[derive(Debug, Clone, Copy)]
pub enum RecordingNext<'a> {
    /// The storage is not what to change: this step is.
    NotStorage {
        /// The step.
        step: &'a WatchNext,
        /// The command that finds storage for these requests.
        command: &'a str,
    },
    /// No request came: watch the device.
    Watch(&'a str),
    /// Lift the limit that held the application.
    Lift(&'a str),
    /// Find what to buy.
    Buy {
        /// The command.
        command: &'a str,
        /// The command that replays the trace on other storage.
        replay: &'a str,
    },
}

/// What held the application meanwhile, whether the trace is whole, and what to do with it.
#[must_use]
pub fn recording_lines(of: &RecordingVerdict<'_>) -> Vec<VerdictLine> {
    let mut all: Vec<VerdictLine> = of.around.into_iter().flat_map(lines).collect();
    all.retain(|line| !matches!(line.about, About::Next | About::Command | About::Afterwards));
    if of.around.is_none() {
        all.push(About::HeldBy.says(format!("not known: the kernel does not count what {} does", of.device)));
    }
    all.extend(askers(of.programs).map(|askers| About::AskedBy.says(askers)));
    all.push(About::Trace.says(wholeness(of)));
    let (before, after, without) = (of.under_way_before, of.under_way_after, of.without_arrival);
    if before + after + without > 0 {
        all.push(About::TraceEnds.says(format!(
            "{before} requests were under way at the beginning, {after} at the end. Of {without} no arrival was recorded: it is taken for \
             their submission"
        )));
    }
    all.push(About::Ended.says(match of.end {
        RecordingEnd::Time => "its time was over".to_owned(),
        RecordingEnd::Size(option) => format!("the trace has the size that {option} allows"),
        RecordingEnd::Wanted => "you ended it".to_owned(),
    }));
    all.extend(of.limited_share.map(|share| {
        let share = percent(share);
        About::Doubt
            .says(format!("without that limit more would have been asked for in {share} of the time (source-limited)"))
    }));
    let (next, command) = match of.next {
        RecordingNext::Watch(command) => ("see whether anything uses this device: no request came".to_owned(), command),
        RecordingNext::Lift(command) => {
            ("if this limit is not meant, lift it: that costs nothing. Then record again".to_owned(), command)
        }
        RecordingNext::NotStorage { step, command } => {
            (format!("{}. What these requests need of storage:", watch::next(step)), command)
        }
        RecordingNext::Buy { command, replay } => (
            format!("find what to buy for these requests; or see what other storage does with them: {replay}"),
            command,
        ),
    };
    all.extend([About::Next.says(next), About::Command.says(command)]);
    all
}

/// Whose requests the trace has; `None` where no program's part is known.
fn askers(programs: &[ProgramFigures]) -> Option<String> {
    let mut known: Vec<(&ProgramFigures, f64)> = programs
        .iter()
        .filter_map(|program| Some((program, program.share.filter(|share| *share >= NAMED_SHARE)?)))
        .collect();
    known.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let named: Vec<String> = (known.iter().take(NAMED_MAX))
        .map(|(program, share)| format!("{} ({}) {}", program.name, program.pid, percent(*share)))
        .collect();
    (!named.is_empty()).then(|| {
        let advice = if known.len() > 1 { "; to record one alone, record while the others rest" } else { "" };
        format!("{} of the bytes{advice}", named.join(", "))
    })
}

/// Whether the trace has every request.
fn wholeness(of: &RecordingVerdict<'_>) -> String {
    match (of.events_lost, of.missing) {
        (0, Some(0)) => "whole: the trace has every request that the kernel counted".to_owned(),
        (0, None) => "no event was lost; the kernel does not count this device's requests".to_owned(),
        (lost, missing) => format!(
            "not whole: {lost} events were lost, and {} requests are missing. Record with a larger {}",
            missing.map_or_else(|| "an unknown number of".to_owned(), |missing| missing.to_string()),
            of.buffer_option
        ),
    }
}
