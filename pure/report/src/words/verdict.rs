//! What holds a volume, what that means and what to do, in sentences.

use super::doubt::source_limit;
use super::{hosts, watch};
use loadline_analysis::{Advised, Conclusion, Consequence, Holder, RecordedSource, Stop};
use loadline_units::words::{capital, percent};

/// What holds the figures of a volume; the first letter is small.
#[must_use]
pub fn holder(holder: &Holder) -> String {
    match holder {
        Holder::Written(text) => text.clone(),
        Holder::Hosts(seen) => hosts::limit(seen),
        Holder::RecordedPace => "nothing here: this storage kept up with the requests as they were recorded".to_owned(),
        Holder::Watch(holder) => watch::holder(holder),
    }
}

/// What to do, as a verdict has it: the first letter is small.
pub(crate) fn advised(advised: &Advised) -> String {
    match advised {
        Advised::Written(text) => text.clone(),
        Advised::RecordWithout => {
            "lift the limit of the source and record again, or plan for more than was recorded".to_owned()
        }
        Advised::Watch { step, record: false } => watch::next(step),
        Advised::Watch { step, record: true } => {
            format!("{}. Record the requests to find what would do", watch::next(step))
        }
    }
}

/// What held the application back where its load was recorded.
pub(crate) fn source(source: &RecordedSource) -> String {
    let RecordedSource { limit, share } = source;
    format!(
        "{}, {} of the recorded time: without it, more would have been asked for",
        source_limit(limit),
        percent(*share)
    )
}

/// How far the load of a conclusion comes, and what stops it.
#[must_use]
pub fn stop(conclusion: &Conclusion) -> String {
    match &conclusion.text {
        Stop::Written(text) => text.clone(),
        Stop::Hosts { load, seen } => hosts::limit_of(seen, load),
        Stop::Watch(holder) => format!("What holds {}: {}", conclusion.volume, watch::holder(holder)),
    }
}

/// What it means.
pub(crate) fn consequence(consequence: &Consequence) -> String {
    match consequence {
        Consequence::Written(text) => text.clone(),
        Consequence::Gain(gain) => capital(&watch::gain(*gain)),
    }
}

/// What to do, as a conclusion has it: with a capital.
pub(crate) fn next(conclusion: &Conclusion) -> Option<String> {
    Some(match conclusion.next.as_ref()? {
        Advised::Written(text) => text.clone(),
        advised @ (Advised::RecordWithout | Advised::Watch { .. }) => capital(&self::advised(advised)),
    })
}
