//! Whether other loads of a run had more than a limit would have let through, and whether a token bucket explains that.

use super::caps::{Caps, EXCEEDS, NEAR, request_bytes};
use super::seen_cells::SeenCells;
use super::{Case, Course};
use crate::curves::{doubted, paced, sound};
use crate::doubts::BUCKET_S;
use crate::summary::{CellSummary, OperationFigures};
use crate::trials::trials_used;
use crate::words::how_much;
use loadline_record::{CellRecord, DoubtCode, WaitingFact};

/// Requests that wait for an even turn all wait as long: nine in ten at most so many times the median.
const EVEN: f64 = 1.1;

/// The cells of a run beside what was recorded of them.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) cells: &'a [CellSummary],
    pub(super) records: &'a [CellRecord],
    pub(super) courses: &'a [Option<Course>],
    pub(super) seen: &'a SeenCells,
}

/// A cell that had more than a limit allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct More {
    pub(super) cell: usize,
    rate: f64,
    /// Whether a bucket that saves up a second of the limit holds what it had more.
    in_bucket: bool,
}

impl Of<'_> {
    /// The cells of the kind and pattern of `index`.
    pub(super) fn like(self, index: usize) -> impl Iterator<Item = usize> {
        self.seen.of_kind(index).iter().copied().filter(move |i| {
            let cell = &self.cells[*i];
            sound(cell) && !doubted(cell, DoubtCode::Buffered)
        })
    }

    /// The open loop, or closed one that waits by its own will, that had most above these limits; one for which no bucket accounts
    /// before others.
    fn more(self, index: usize, caps: &Caps) -> Option<More> {
        let by_its_own_will = |cell: &CellSummary| cell.load.queue_depth.is_none() || paced(cell);
        let all = self.like(index).filter(|i| by_its_own_will(&self.cells[*i])).filter_map(|i| {
            let rate = self.seen[i].as_ref()?.sustained;
            let allowed = caps.of(request_bytes(&self.cells[i]))?.1;
            let more = More { cell: i, rate, in_bucket: self.in_bucket(i, allowed) };
            (rate > allowed * EXCEEDS).then_some((more, rate / allowed))
        });
        all.max_by(|a, b| (!a.0.in_bucket).cmp(&!b.0.in_bucket).then(a.1.total_cmp(&b.1))).map(|found| found.0)
    }

    /// Whether the same requests had more than this rate in a closed loop of the run, and more than a bucket of a second holds.
    pub(super) fn is_surpassed(self, index: usize, rate: f64) -> bool {
        let block = self.cells[index].load.block_bytes;
        self.like(index).any(|i| {
            let is_same =
                i != index && self.cells[i].load.block_bytes == block && self.cells[i].load.queue_depth.is_some();
            let had = self.seen[i].as_ref().map_or(0.0, |seen| seen.sustained);
            is_same && !paced(&self.cells[i]) && had > rate * EXCEEDS && !self.in_bucket(i, rate)
        })
    }

    /// Whether its own latencies show the turns of a throttle: that one, at least, it had.
    pub(super) fn is_in_turns(self, index: usize) -> bool {
        self.seen[index].as_ref().is_some_and(|seen| seen.clustered)
    }

    /// Whether what a cell had above this rate is no more than a bucket of a second holds. After a fall it is empty.
    pub(super) fn in_bucket(self, index: usize, allowed: f64) -> bool {
        let trials = trials_used(&self.records[index]);
        let fell = self.courses[index].as_ref().is_some_and(|course| !course.falls.is_empty());
        let above = |done: u64, ns: u64| done as f64 / allowed - ns as f64 / 1e9;
        let all = trials.iter().map(|trial| above(trial.operations.values().map(|o| o.count).sum(), trial.measured_ns));
        !fell && all.fold(0.0, f64::max) <= BUCKET_S
    }

    /// Whether a cell at these limits shows by itself that something counts it out.
    pub(super) fn is_counted(self, index: usize, caps: &Caps) -> bool {
        self.like(index).any(|i| {
            let (cell, Some(seen)) = (&self.cells[i], &self.seen[i]) else { return false };
            let share = caps.of(request_bytes(cell)).map_or(0.0, |(_, allowed)| seen.sustained / allowed);
            let shows = seen.counted || (cell.load.queue_depth.is_some() && !paced(cell) && waits_evenly(cell));
            (NEAR..=EXCEEDS).contains(&share) && shows
        })
    }

    /// The cell that shows that these are no limits: it had more for longer than a bucket holds; or for less, and nothing but
    /// longer latencies speaks for them.
    pub(super) fn refuted(self, index: usize, caps: &Caps) -> Option<More> {
        self.more(index, caps).filter(|more| !more.in_bucket || !self.is_counted(index, caps))
    }
}

/// Whether all requests of a cell take about as long.
pub(super) fn waits_evenly(cell: &CellSummary) -> bool {
    let even = |figures: &OperationFigures| {
        let latency = &figures.latency_ns;
        latency.p50.zip(latency.p90).is_some_and(|(p50, p90)| p90 as f64 <= p50 as f64 * EVEN)
    };
    [&cell.read, &cell.write, &cell.trim].into_iter().flatten().all(even)
}

impl Case<'_> {
    pub(super) fn of(&self) -> Of<'_> {
        Of { cells: self.cells, records: self.records, courses: self.courses, seen: self.seen }
    }

    /// Of the limits found: who had more of them for a while.
    pub(super) fn more_for_a_while(&self) -> Option<WaitingFact> {
        let more = self.of().more(self.index, self.caps[self.index].as_ref()?).filter(|more| more.in_bucket)?;
        let longest_ns = trials_used(&self.records[more.cell]).iter().map(|trial| trial.measured_ns).max()?;
        let amount = how_much(&self.cells[more.cell]);
        Some(WaitingFact::MoreForAWhile { amount, rate_iops: more.rate, longest_ns })
    }

    /// Where this cell's rate would be taken for a limit but for another cell that had more: that one.
    pub(super) fn had_more(&self) -> Option<WaitingFact> {
        let own = self.seen[self.index].as_ref()?;
        let itself = Caps { iops: None, bytes_per_s: Some(own.sustained * request_bytes(self.cell())), told: false };
        let more = self.of().more(self.index, &itself)?;
        let other = &self.cells[more.cell];
        (other.load.block_bytes == self.cell().load.block_bytes)
            .then(|| WaitingFact::HadMore { amount: how_much(other), rate_iops: more.rate })
    }
}
