//! What applications asked for, where two that are compared did not ask for the same: a difference may be theirs, not the storage's.

use super::note::{AskedApart, Note};
use crate::trials::trials_used;
use loadline_block::Operation;
use loadline_record::CellRecord;

/// Shares of reads that differ by less are the same.
const SHARE_APART: f64 = 0.05;
/// Mean sizes, and flushes for each write, within this factor are the same.
const FACTOR: f64 = 1.2;
/// Requests outstanding within this factor are what faster or slower storage makes of the same application.
const OUTSTANDING_FACTOR: f64 = 2.0;

/// What an application asked for.
pub(super) struct Asked {
    /// Of reads and writes.
    pub(super) read_share: f64,
    /// Of reads and writes, in the mean.
    pub(super) bytes: f64,
    /// For each write; `None` without a write.
    flushes: Option<f64>,
    /// In the mean over the measured time, flushes counted; `None`: not known.
    outstanding: Option<f64>,
}

impl Asked {
    pub(super) fn of(cell: &CellRecord) -> Option<Self> {
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

    /// What of it differs from another's.
    fn apart(&self, other: &Self, volume: Option<String>) -> AskedApart {
        let both = |from: Option<f64>, to: Option<f64>| from.zip(to).map(|(from, to)| [from, to]);
        let is_apart = |factor: f64| move |[from, to]: &[f64; 2]| from.max(*to) > from.min(*to) * factor;
        AskedApart {
            volume,
            read_share: Some([self.read_share, other.read_share]).filter(|[from, to]| (from - to).abs() >= SHARE_APART),
            mean_bytes: Some([self.bytes, other.bytes]).filter(is_apart(FACTOR)),
            flushes_per_write: both(self.flushes, other.flushes).filter(is_apart(FACTOR)),
            in_flight: both(self.outstanding, other.outstanding).filter(is_apart(OUTSTANDING_FACTOR)),
        }
    }
}

/// A note for each pair of applications that asked for different things; a replay asks for what was recorded.
pub(super) fn notes(pairs: &[(&CellRecord, &CellRecord)]) -> Vec<Note> {
    let several = pairs.len() > 1;
    let one = |(from, to): &(&CellRecord, &CellRecord)| {
        let apart = Asked::of(from)?.apart(&Asked::of(to)?, several.then(|| from.volume.clone()));
        (!apart.is_alike()).then_some(Note::Asked(apart))
    };
    pairs.iter().filter_map(one).collect()
}
