//! Doubts that are also what bound a cell, as its evidence, as long as that is text. `loadline-report` says the same, and a test there
//! compares the two.

use crate::words::{listed, percent, seconds, size};
use loadline_record::{AskedAndMoved, DoubtEvidence, DoubtedFigure};

/// What was seen of a tool that was the limit, or of reads that memory answered.
pub(super) fn doubt_words(seen: &DoubtEvidence) -> String {
    match seen {
        DoubtEvidence::Written { text } => text.clone(),
        DoubtEvidence::ThreadsBusy { threads, busy_threads, above_share, busiest_share } => {
            let (above, busiest) = (percent(*above_share), percent(*busiest_share));
            let who = match threads {
                1 => format!("The load thread was {busiest} busy"),
                all => {
                    format!("{busy_threads} of {all} load threads were more than {above} busy (the busiest {busiest})")
                }
            };
            format!("{who}: the storage may be able to do more.")
        }
        DoubtEvidence::ToolStopped { total_ns, longest_ns, measured_ns, quota_spent_ns, figures } => {
            let why = quota_spent_ns.map_or_else(
                || "it was stopped, or the machine had no CPU for it, or itself stood still".to_owned(),
                |ns| format!("its control group's CPU quota was spent for {}", seconds(ns)),
            );
            let name = |figure: &DoubtedFigure| match figure {
                DoubtedFigure::Rate => "the rate",
                DoubtedFigure::P99 => "p99",
                DoubtedFigure::P999 => "p99.9",
                DoubtedFigure::P9999 => "p99.99",
                DoubtedFigure::Maximum => "the maximum",
            };
            format!(
                "The tool did not run for {} of {} ({}), up to {} at a stretch: {why}. That can stand in {}.",
                seconds(*total_ns),
                seconds(*measured_ns),
                percent(*total_ns as f64 / *measured_ns as f64),
                seconds(*longest_ns),
                listed(&figures.iter().map(|figure| name(figure).to_owned()).collect::<Vec<_>>())
            )
        }
        DoubtEvidence::FileInMemory { file_system } => {
            format!("The file lies in a {file_system}, which is memory: no disk took part.")
        }
        DoubtEvidence::DevicesInMemory { devices } => format!("{} is memory: no disk took part.", listed(devices)),
        DoubtEvidence::MovedLess { devices, bytes: AskedAndMoved { asked_bytes, moved_bytes } } => {
            let (moved, asked) = (size(*moved_bytes), size(*asked_bytes));
            let share = percent(*moved_bytes as f64 / *asked_bytes as f64);
            format!(
                "Of {} were read {moved} of the {asked} asked ({share}): the rest came from memory.",
                listed(devices)
            )
        }
        DoubtEvidence::ResidencyRose { direct, before_share, after_share } => {
            let (before, after) = (percent(*before_share), percent(*after_share));
            if *direct {
                format!(
                    "Direct I/O was asked for, and yet the file's share in the page cache rose from {before} to {after}."
                )
            } else {
                format!(
                    "The file's share in the page cache rose from {before} to {after}, and nothing shows how much came from it."
                )
            }
        }
        DoubtEvidence::Resident { share } => {
            format!("{} of the file lay in the page cache before the trial.", percent(*share))
        }
        DoubtEvidence::OnHosts { hosts, seen } => {
            let each: Vec<(&str, String)> = seen.iter().map(|of| (of.host.as_str(), doubt_words(&of.seen))).collect();
            match each.as_slice() {
                [(_, first), ..] if each.len() == *hosts as usize && each.iter().all(|(_, words)| words == first) => {
                    format!("on every host: {first}")
                }
                _ => each.iter().map(|(host, words)| format!("{host}: {words}")).collect::<Vec<_>>().join("; "),
            }
        }
        DoubtEvidence::InSomeTrials { having, trials, seen, .. } => {
            format!("In {having} of {trials} trials: {}", doubt_words(seen))
        }
        _ => String::new(),
    }
}
