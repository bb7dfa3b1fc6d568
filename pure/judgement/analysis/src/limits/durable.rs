//! Loads that make their writes durable: each waits for its flush, and the file system's journal writes beside it.

use super::{Case, inferred};
use crate::curves::{doubted, iops, outstanding, paced};
use crate::trials::trials_used;
use loadline_block::Operation;
use loadline_record::{Binding, DoubtCode, Evidence, Limit, LoadFact, TrialRecord};

/// Flushes bind a load that spends this share of its time on them.
const FLUSH_SHARE_MIN: f64 = 0.5;
/// Devices that write this many times what was asked do so for the journal.
const AMPLIFIED_MIN: f64 = 1.1;

/// The flushes of a load.
#[derive(Debug, Clone, Copy)]
struct Flushes {
    per_s: f64,
    /// What each takes, if that is known.
    latency_ns: Option<f64>,
}

impl Case<'_> {
    /// Its flushes; results of other tools may know no more than how many there were.
    fn flushes(&self) -> Option<Flushes> {
        if let Some(flush) = self.cell().flush.as_ref().filter(|flush| flush.latency_ns.mean > 0.0) {
            return Some(Flushes { per_s: flush.iops, latency_ns: Some(flush.latency_ns.mean) });
        }
        let trials = trials_used(self.record());
        let count: u64 = trials.iter().filter_map(|trial| Some(trial.of(Operation::Flush)?.count)).sum();
        let measured_ns: u64 = trials.iter().map(|trial| trial.measured_ns).sum();
        (count > 0 && measured_ns > 0)
            .then(|| Flushes { per_s: count as f64 * 1e9 / measured_ns as f64, latency_ns: None })
    }

    /// The share of the load's time that its flushes take, by how many there are and how long each takes; where that is not known, the
    /// share of flushes among all that it asks.
    fn flush_share(&self) -> Option<f64> {
        let Flushes { per_s, latency_ns } = self.flushes()?;
        let outstanding = outstanding(self.cell())? as f64;
        let share = match latency_ns {
            Some(latency_ns) => per_s * latency_ns / 1e9 / outstanding,
            // Writes into memory take next to none of it.
            None if doubted(self.cell(), DoubtCode::Buffered) => {
                per_s / (per_s + self.cell().read.as_ref().map_or(0.0, |of| of.iops))
            }
            None => per_s / (per_s + iops(self.cell())?),
        };
        Some(share.min(1.0))
    }

    /// How many flushes are under way on average; `None`: there are some, and how long they take is not known.
    pub(super) fn flush_time_per_s(&self) -> Option<f64> {
        match self.flushes() {
            Some(Flushes { per_s, latency_ns }) => Some(per_s * latency_ns? / 1e9),
            None => Some(0.0),
        }
    }

    /// Whether the storage's time for flushes is most of the load's: nothing on this side of it is what binds.
    pub(super) fn waits_for_flushes(&self) -> bool {
        self.flush_share().is_some_and(|share| share >= FLUSH_SHARE_MIN)
    }

    /// Whether it seems to be held in turns: a throttle that says so is named before the flushes that it holds.
    pub(super) fn comes_in_turns(&self) -> bool {
        self.is_in_turns() || self.seen[self.index].as_ref().is_some_and(|seen| seen.by_turns)
    }

    /// Writes that wait for their flushes, and of which more at once bring hardly more.
    pub(super) fn by_flush(&self) -> Option<Binding> {
        let (cell, Flushes { per_s, latency_ns }) = (self.cell(), self.flushes()?);
        let share = self.flush_share().filter(|share| *share >= FLUSH_SHARE_MIN)?;
        let growth = self.own.and_then(|own| self.curves[own].growth(self.cells, self.index));
        // Of one at a time beside others, those say more.
        let grows = growth.is_some_and(|growth| growth.proportional() || outstanding(cell) == Some(1));
        let level = self.plateau().filter(|plateau| plateau.cells.contains(&self.index));
        if grows || paced(cell) {
            return None;
        }
        let flushes_per_s = per_s;
        let flushes = match latency_ns {
            Some(latency_ns) => LoadFact::Flushes { share, flushes_per_s, latency_ns },
            None => LoadFact::FlushesCounted { share: per_s / (per_s + iops(cell)?), flushes_per_s },
        };
        let evidence = Evidence::from(flushes).with(self.how_it_waits());
        let ceiling = level.map(|plateau| plateau.iops);
        let utilization = ceiling.zip(cell.total.as_ref()).map(|(ceiling, total)| total.iops / ceiling);
        Some(Binding { presumed: latency_ns.is_none(), ..inferred(Limit::Flush, ceiling, utilization, evidence) })
    }

    /// Whether the load writes alone, and every write is durable before it is answered.
    pub(super) fn makes_each_write_durable(&self) -> bool {
        let (load, details) = (&self.cell().load, &self.cell().load.details);
        load.read_ratio == 0.0
            && details.flush_every_writes == Some(1)
            && details.flush_method.as_deref() == Some("fua")
    }

    /// Requests that the devices wrote over the time of all trials: a second, and for each one asked.
    fn written(&self) -> Option<(f64, f64)> {
        let trials = trials_used(self.record());
        let sum = |of: fn(&TrialRecord) -> u64| trials.iter().map(|trial| of(trial)).sum::<u64>() as f64;
        let written = sum(|trial| trial.surroundings.devices.iter().map(|device| device.writes).sum());
        let asked = sum(|trial| trial.surroundings.asked.get(&Operation::Write).map_or(0, |(count, _)| *count));
        let seconds = sum(|trial| trial.surroundings.elapsed_ns) / 1e9;
        (asked > 0.0 && written > 0.0 && seconds > 0.0).then(|| (written / seconds, written / asked))
    }

    /// Of a load that makes its writes durable: what the devices wrote for each one asked.
    pub(super) fn amplified(&self, mut binding: Binding) -> Binding {
        let is_durable = self.cell().flush.is_some();
        let Some((rate, each)) = self.written().filter(|(_, each)| is_durable && *each >= AMPLIFIED_MIN) else {
            return binding;
        };
        if binding.inferred {
            binding.seen.push(LoadFact::Amplified { written_iops: rate, asked_iops: rate / each, times: each });
        }
        binding.amplification = Some(each);
        binding
    }
}
