//! `record`: an application's requests on a real device, into a trace.

use crate::arguments::record::RecordArguments;
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::printing;
use crate::recommendations::{ENVIRONMENT_SHOWN, summarized};
use crate::schema::Schema;
use crate::shell::in_shell;
use crate::terminal::Terminal;
use loadline_analysis::{Advised, ProgramFigures, WatchNext};
use loadline_record::{RunVerb, SourceLimit};
use loadline_report::words::trace::{RecordingEnd, RecordingNext, RecordingVerdict, recording_lines};
use loadline_report::{Column, Field, Table, VerdictLine};
use loadline_runs::recording::{RecordEnd, RecordOutcome, RecordSettings, Recorder};
use loadline_runs::{Error, RecordError};
use loadline_units::Duration;
use loadline_units::words::percent;

/// Records, and prints what came of it.
pub(crate) fn record(arguments: &RecordArguments, quiet: bool) -> anyhow::Result<Outcome> {
    let settings = RecordSettings {
        device: arguments.device.clone(),
        file: arguments.output.clone(),
        duration: arguments.duration,
        size_max: arguments.max_size,
        buffer: arguments.buffer,
    };
    let recorder = Recorder::prepare(settings).map_err(refused)?;
    let mut terminal = Terminal::following(&RunVerb::Watch, &arguments.live, quiet)?;
    if !quiet {
        let how_long = arguments.duration.map_or_else(
            || "until Ctrl-C".to_owned(),
            |duration| format!("for {}; Ctrl-C ends it earlier and keeps what was recorded", duration.human()),
        );
        output::tell(&format!("recording {} {how_long}", recorder.device()));
    }
    let outcome = recorder.run(&mut terminal);
    terminal.close();
    let outcome = outcome.map_err(refused)?;
    output::print(&printing::table(&table(&outcome), Schema::Recording, arguments.printing.format))?;
    if !quiet {
        printing::tell_verdict(&verdict(&outcome));
    }
    terminal.print_command()?;
    Ok(Outcome::Done)
}

fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Watch(error) => Usage(error.to_string()).into(),
        Error::Record(
            error @ (RecordError::SeveralDevices { .. }
            | RecordError::NoTime
            | RecordError::Exists { .. }
            | RecordError::Feedback { .. }),
        ) => Usage(error.to_string()).into(),
        error => error.into(),
    }
}

fn table(outcome: &RecordOutcome) -> Table {
    let notes = &outcome.notes;
    let mut table = Table::new(&[
        Column::words("device", "device"),
        Column::words("trace", "file"),
        Column::numbers("requests", "requests"),
        Column::numbers("counted by the kernel", "counted"),
        Column::numbers("missing", "missing"),
        Column::numbers("events lost", "events_lost"),
        Column::numbers("time", "elapsed_ns"),
        Column::numbers("bytes", "bytes"),
        Column::numbers("% of a CPU", "own_cpu_share"),
        Column::words("at a limit", "source_limit").expendable(1),
        Column::numbers("of the time", "source_limited_share").expendable(1),
    ]);
    let (limit, share) = notes.source_limit().unzip();
    let count = |count: Option<u64>| count.map_or_else(|| Field::both("–", serde_json::Value::Null), Field::count);
    table.push(vec![
        Field::text(&outcome.device),
        Field::text(outcome.file.display().to_string()),
        Field::count(notes.requests),
        count(notes.counted),
        count(notes.missing()),
        Field::count(notes.events_lost),
        Field::both(Duration::from_ns(notes.elapsed_ns).human(), notes.elapsed_ns),
        Field::count(outcome.size.get()),
        Field::both(format!("{:.2}", outcome.own_share * 100.0), outcome.own_share),
        limit.map_or_else(Field::missing, |limit| Field::both(kind(&limit), serde_json::json!(limit))),
        Field::figure(share, percent),
    ]);
    table
}

/// The kind of a limit in a word.
const fn kind(limit: &SourceLimit) -> &'static str {
    match limit {
        SourceLimit::Throttle { .. } => "throttle",
        SourceLimit::Exceeded { .. } => "counter",
        SourceLimit::Queue { .. } => "queue",
        SourceLimit::Quota { .. } => "CPU quota",
        SourceLimit::Memory { .. } => "memory limit",
    }
}

/// What came of it, with what to do next.
fn verdict(outcome: &RecordOutcome) -> Vec<VerdictLine> {
    let (notes, counts) = (&outcome.notes, &outcome.counts);
    let around = notes.surroundings.as_deref().map(summarized);
    let programs = around.iter().flat_map(|run| &run.cells).filter_map(|cell| cell.watch.as_ref());
    let programs: Vec<ProgramFigures> = programs.flat_map(|watch| watch.programs.clone()).collect();
    let around = around.and_then(|run| run.verdict);
    let (file, device) = (in_shell(&outcome.file.display().to_string()), in_shell(&outcome.device));
    let (watch, buy) = (format!("loadline watch {device} --for 60s"), format!("loadline advise {file}"));
    let replay = format!("loadline replay {file} --env {ENVIRONMENT_SHOWN}");
    let volume = around.iter().flat_map(|block| &block.volumes).next();
    let step = volume.and_then(|volume| match &volume.next {
        Some(Advised::Watch { step, .. }) => Some(step),
        _ => None,
    });
    let lifting = volume
        .and_then(|volume| volume.command.as_deref())
        .filter(|_| step.is_some_and(|step| matches!(step, WatchNext::LiftThrottle | WatchNext::LiftSetting)));
    let elsewhere = step.filter(|step| step.storage_changes_nothing());
    recording_lines(&RecordingVerdict {
        device: &outcome.device,
        around: around.as_ref(),
        programs: &programs,
        events_lost: notes.events_lost,
        missing: notes.missing(),
        buffer_option: "--buffer",
        under_way_before: counts.without_issue,
        under_way_after: counts.issued_left,
        without_arrival: counts.without_arrival,
        end: match outcome.end {
            RecordEnd::Time => RecordingEnd::Time,
            RecordEnd::Size => RecordingEnd::Size("--max-size"),
            RecordEnd::Wanted => RecordingEnd::Wanted,
        },
        limited_share: notes.source_limit().map(|(_, share)| share),
        next: match lifting {
            _ if notes.requests == 0 => RecordingNext::Watch(&watch),
            Some(command) => RecordingNext::Lift(command),
            None if let Some(step) = elsewhere => RecordingNext::NotStorage { step, command: &buy },
            None => RecordingNext::Buy { command: &buy, replay: &replay },
        },
    })
}
