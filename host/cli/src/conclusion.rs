//! How a run came out: its figures are printed, and what they say becomes the exit status.

use crate::answers::KindAnswer;
use crate::arguments::Format;
use crate::failure::Outcome;
use crate::recommendations::{summarized, with_command};
use crate::typed_words::store_option;
use crate::{output, printing, words};
use loadline_analysis::{RunVerdict, run_verdict, trials_cut_short};
use loadline_record::{Clock, RunRecord, RunVerb};
use loadline_runs::{Ended, Error, Loss, RunOutcome};

/// Prints what is there and says how it came out. With `is_judged` an objective that no load keeps is an answer of its own.
pub(crate) fn conclude_judged(outcome: &RunOutcome, format: Format, is_judged: bool) -> anyhow::Result<Outcome> {
    let is_broken = is_judged && outcome.ended.is_complete() && run_verdict(&outcome.record) == RunVerdict::Broken;
    let concluded = conclude(outcome, format)?;
    Ok(if is_broken { Outcome::Against } else { concluded })
}

/// Prints what a search found, also where it ended early.
pub(crate) fn conclude_search(outcome: Result<RunOutcome, Error>, format: Format) -> anyhow::Result<Outcome> {
    if let Err(Error::RunEndedEarly { record: Some(record), .. }) = &outcome
        && record.cells.iter().any(|cell| !cell.trials.is_empty())
    {
        output::print(&summary_text(record, format))?;
    }
    conclude(&outcome?, format)
}

/// Why trials are missing, volume by volume.
fn why_broken(given_up: &[(String, Loss)], not_started: &[Error]) -> String {
    let mut why: Vec<String> =
        given_up.iter().map(|(volume, why)| format!("volume {volume}: {}", words::lost(why))).collect();
    if let Some(first) = not_started.first() {
        let more = match not_started.len() {
            1 => String::new(),
            all => format!(" (and {} trials more)", all - 1),
        };
        why.push(format!("{}{more}", words::in_a_line(first)));
    }
    why.join("; ")
}

/// Prints what is there and says how it came out.
pub(crate) fn conclude(outcome: &RunOutcome, format: Format) -> anyhow::Result<Outcome> {
    conclude_with(outcome, KindAnswer::of(&outcome.record).as_ref(), format)
}

/// The same of a run with this answer.
pub(crate) fn conclude_with(
    outcome: &RunOutcome,
    answer: Option<&KindAnswer<'_>>,
    format: Format,
) -> anyhow::Result<Outcome> {
    let RunOutcome { record, ended } = outcome;
    let run = &record.header.id;
    if let Some(answer) = answer {
        output::print(&answer.concluded(format))?;
    } else if record.cells.iter().any(|cell| !cell.trials.is_empty()) {
        output::print(&summary_text(record, format))?;
    }
    let outcome = match (ended, answer) {
        (Ended::Complete, Some(answer)) => answer.outcome(),
        (Ended::Complete, None) => match trials_cut_short(record) {
            0 => Outcome::from(run_verdict(record)),
            trials => {
                let trials = if trials == 1 { "1 trial was".to_owned() } else { format!("{trials} trials were") };
                output::tell(&format!("{trials} cut short by errors; the doubts say which and why"));
                Outcome::Failed
            }
        },
        (Ended::Interrupted, _) if record.header.verb == RunVerb::Merge => {
            output::tell("not every host finished its run; what they finished is merged");
            Outcome::Interrupted
        }
        (Ended::Interrupted, _) => {
            tell_how_to_go_on(record);
            Outcome::Interrupted
        }
        (Ended::Broken { given_up, not_started }, _) => {
            let why = why_broken(given_up, not_started);
            output::tell(&format!(
                "the run ended early: {why}. What was finished is kept; when that is mended, carry on with: \
                 loadline run --resume {run}{}",
                store_option()
            ));
            Outcome::Failed
        }
    };
    Ok(outcome)
}

/// The run in this form; for people its verdict ends in a command.
fn summary_text(record: &RunRecord, format: Format) -> String {
    let summary = summarized(record);
    match format {
        Format::Table | Format::Markdown => printing::summary(&with_command(&summary), format),
        Format::Json | Format::Csv => printing::summary(&summary, format),
    }
}

/// How a run that was interrupted is carried on with.
fn tell_how_to_go_on(record: &RunRecord) {
    let verb = match record.header.clock {
        Clock::Virtual if record.header.verb != RunVerb::Hunt => "predict",
        _ => "run",
    };
    let run = &record.header.id;
    output::tell(&format!(
        "interrupted; what was finished is kept. Carry on with: loadline {verb} --resume {run}{}",
        store_option()
    ));
}
