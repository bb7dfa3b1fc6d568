//! What applications asked for, where two that are compared did not ask for the same: a difference may be theirs, not the storage's.

use super::comparison::Note;
use crate::trials::trials_used;
use crate::words::{listed, number, percent, size};
use loadline_block::Operation;
use loadline_record::CellRecord;

/// Shares of reads that differ by less are the same.
const SHARE_APART: f64 = 0.05;
/// Mean sizes, and flushes for each write, within this factor are the same.
const FACTOR: f64 = 1.2;
/// Requests outstanding within this factor are what faster or slower storage makes of the same application.
const OUTSTANDING_FACTOR: f64 = 2.0;

/// What an application asked for.
struct Asked {
    /// Of reads and writes.
    read_share: f64,
    /// Of reads and writes, in the mean.
    bytes: f64,
    /// For each write; `None` without a write.
    flushes: Option<f64>,
    /// In the mean over the measured time, flushes counted; `None`: not known.
    outstanding: Option<f64>,
}

impl Asked {
    fn of(cell: &CellRecord) -> Option<Self> {
        if !cell.load.is_of_others() {
            return None;
        }
        let trials = trials_used(cell);
        let of = |operation| {
            let of_trials = trials.iter().filter_map(|trial| trial.of(operation));
            of_trials.fold((0_u64, 0_u64, 0.0), |(count, bytes, ns), of| {
                let time = of.latency.mean_ns().unwrap_or(0.0) * of.count as f64;
                (count + of.count, bytes + of.bytes, ns + time)
            })
        };
        let [reads, writes, flushes] = [Operation::Read, Operation::Write, Operation::Flush].map(of);
        let count = (reads.0 + writes.0) as f64;
        let measured: u64 = trials.iter().map(|trial| trial.measured_ns).sum();
        let outstanding = (measured > 0).then(|| (reads.2 + writes.2 + flushes.2) / measured as f64);
        (count > 0.0).then(|| Self {
            read_share: reads.0 as f64 / count,
            bytes: (reads.1 + writes.1) as f64 / count,
            flushes: (writes.0 > 0).then(|| flushes.0 as f64 / writes.0 as f64),
            outstanding,
        })
    }

    /// What of it differs from another's, in words.
    fn differs(&self, other: &Self) -> Vec<String> {
        let mut told = Vec::new();
        if (self.read_share - other.read_share).abs() >= SHARE_APART {
            told.push(format!("{} reads, here {}", percent(self.read_share), percent(other.read_share)));
        }
        if apart(self.bytes, other.bytes, FACTOR) {
            told.push(format!("{} on average, here {}", size(self.bytes as u64), size(other.bytes as u64)));
        }
        if let Some((from, to)) = self.flushes.zip(other.flushes).filter(|(from, to)| apart(*from, *to, FACTOR)) {
            let each = |flushes: f64| format!("{:.0}", flushes * 1_000.0);
            told.push(format!("{} flushes for 1,000 writes, here {}", each(from), each(to)));
        }
        let outstanding = self.outstanding.zip(other.outstanding);
        if let Some((from, to)) = outstanding.filter(|(from, to)| apart(*from, *to, OUTSTANDING_FACTOR)) {
            told.push(format!("{} requests outstanding on average, here {}", number(from), number(to)));
        }
        told
    }
}

fn apart(from: f64, to: f64, factor: f64) -> bool {
    from.max(to) > from.min(to) * factor
}

/// A note for each pair of applications that asked for different things; a replay asks for what was recorded.
pub(super) fn notes(pairs: &[(&CellRecord, &CellRecord)]) -> Vec<Note> {
    let several = pairs.len() > 1;
    let one = |(from, to): &(&CellRecord, &CellRecord)| {
        let told = Asked::of(from)?.differs(&Asked::of(to)?);
        let whose = if several { format!(" of {}", from.volume) } else { String::new() };
        let text = format!(
            "The applications{whose} asked for different things: {}. A difference may be theirs, not the storage's.",
            listed(&told)
        );
        (!told.is_empty()).then(|| Note { code: "asked".to_owned(), text })
    };
    pairs.iter().filter_map(one).collect()
}
