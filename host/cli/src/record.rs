//! `record`: an application's requests on a real device, into a trace.

use crate::arguments::record::RecordArguments;
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::output;
use crate::printing;
use crate::recommendations::{ENVIRONMENT_SHOWN, summarized};
use crate::schema::Schema;
use crate::screen::{Screen, cut};
use crate::shell::in_shell;
use loadline_analysis::{Advised, VolumeVerdict, WatchNext};
use loadline_report::rates::{iops, per_second};
use loadline_report::{About, Column, Field, Table, VerdictLine, verdict_lines};
use loadline_runs::recording::{RecordEnd, RecordOutcome, RecordSettings, Recorder};
use loadline_runs::{Error, Event, Observer, RecordError};
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
    let mut eyes =
        Eyes { screen: Screen::new(quiet), interruption: Interruption::watch()?, planned: arguments.duration };
    if !quiet {
        let how_long = arguments.duration.map_or_else(
            || "until Ctrl-C".to_owned(),
            |duration| format!("for {}; Ctrl-C ends it earlier and keeps what was recorded", duration.human()),
        );
        output::tell(&format!("recording {} {how_long}", recorder.device()));
    }
    let outcome = recorder.run(&mut eyes);
    eyes.screen.clear();
    let outcome = outcome.map_err(refused)?;
    output::print(&printing::table(&table(&outcome), Schema::Recording, arguments.printing.format))?;
    if !quiet {
        printing::tell_verdict(&verdict(&outcome));
    }
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

/// Follows a recording on a terminal.
struct Eyes {
    screen: Screen,
    interruption: Interruption,
    planned: Option<Duration>,
}

impl Observer for Eyes {
    fn event(&mut self, event: &Event<'_>) {
        let Event::Recorded(view) = event else { return };
        let planned = self.planned.map_or_else(String::new, |planned| format!(" of {}", planned.clock()));
        let line = format!(
            "{}{planned}  {}  {} requests in {}, {} events lost, {:.1} % of a CPU",
            view.elapsed.clock(),
            iops(view.iops),
            per_second(view.requests as f64),
            view.size.human(),
            view.events_lost,
            view.own_share * 100.0
        );
        self.screen.show(|width, _| vec![cut(&line, width)]);
    }
    fn wants_an_end(&self) -> bool {
        self.interruption.asked()
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
    ]);
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
    ]);
    table
}

/// What held the application meanwhile, as `watch` judges it, whether the trace is whole, and what to do with it.
fn verdict(outcome: &RecordOutcome) -> Vec<VerdictLine> {
    let (notes, counts) = (&outcome.notes, &outcome.counts);
    let around = notes.surroundings.as_ref().and_then(|run| summarized(run).verdict);
    let mut lines: Vec<VerdictLine> = around.iter().flat_map(verdict_lines).collect();
    lines.retain(|line| !matches!(line.about, About::Next | About::Command));
    if around.is_none() {
        lines.push(About::HeldBy.says(format!("not known: the kernel does not count what {} does", outcome.device)));
    }
    let mut say = |about: About, text: String| lines.push(about.says(text));
    let whole = match (notes.events_lost, notes.missing()) {
        (0, Some(0)) => "whole: the trace has every request that the kernel counted".to_owned(),
        (0, None) => "no event was lost; the kernel does not count this device's requests".to_owned(),
        (lost, missing) => format!(
            "not whole: {lost} events were lost, and {} requests are missing. Record with a larger --buffer",
            missing.map_or_else(|| "an unknown number of".to_owned(), |missing| missing.to_string())
        ),
    };
    say(About::Trace, whole);
    if counts.without_issue + counts.without_arrival + counts.issued_left > 0 {
        say(
            About::TraceEnds,
            format!(
                "{} requests were under way at the beginning, {} at the end. Of {} no arrival was recorded: it is taken for their submission",
                counts.without_issue, counts.issued_left, counts.without_arrival
            ),
        );
    }
    let why = match outcome.end {
        RecordEnd::Time => "its time was over",
        RecordEnd::Size => "the trace has the size that --max-size allows",
        RecordEnd::Wanted => "you ended it",
    };
    say(About::Ended, why.to_owned());
    let file = in_shell(&outcome.file.display().to_string());
    let lifts = |volume: &&VolumeVerdict| {
        let Some(Advised::Watch { step, .. }) = &volume.next else { return false };
        matches!(step, WatchNext::LiftThrottle | WatchNext::LiftSetting)
    };
    let held = around.iter().flat_map(|block| &block.volumes).find(lifts);
    let lifting = held.and_then(|volume| volume.command.clone());
    if let Some((_, share)) = notes.source_limit() {
        let text = format!(
            "without that limit more would have been asked for in {} of the time (source-limited)",
            percent(share)
        );
        lines.push(About::Doubt.says(text));
    }
    let mut say = |about: About, text: String| lines.push(about.says(text));
    if notes.requests == 0 {
        say(About::Next, "see whether anything uses this device: no request came".to_owned());
        say(About::Command, format!("loadline watch {} --for 60s", in_shell(&outcome.device)));
    } else if let Some(lifting) = lifting {
        say(About::Next, "if this limit is not meant, lift it: that costs nothing. Then record again".to_owned());
        say(About::Command, lifting);
    } else {
        say(
            About::Next,
            format!(
                "find what to buy for these requests; or see what other storage does with them: loadline replay {file} --env \
                 {ENVIRONMENT_SHOWN}"
            ),
        );
        say(About::Command, format!("loadline advise {file}"));
    }
    lines
}
