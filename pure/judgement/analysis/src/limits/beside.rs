//! Requests of others at the same devices: what stops a load beside them, as far as that shows.

use super::kinds::alike;
use super::{Case, inferred};
use crate::curves::{Growth, iops, outstanding, sound};
use crate::doubts::{Foreign, foreign};
use crate::statistics::mean;
use crate::trials::trials_used;
use loadline_record::{BesideFact, Binding, Evidence, Fact, Limit};

/// Others count if so large a share of what the devices did is theirs.
const SHARE_MIN: f64 = 0.1;
/// Rates of this load and of others together are one level if they differ by no more than this,
const SAME: f64 = 0.03;
/// and this load's own by this much.
const APART: f64 = 0.08;

impl Case<'_> {
    /// What others asked of the devices of a cell, if it is worth a word.
    fn foreign(&self, index: usize) -> Option<Foreign> {
        let (record, volume) = (&self.records[index], self.volume?);
        let load = record.load.figures();
        let all: Vec<Foreign> = trials_used(record).iter().filter_map(|trial| foreign(&load, trial, volume)).collect();
        let of = |figure: fn(&Foreign) -> f64| mean(&all.iter().map(figure).collect::<Vec<f64>>());
        let (requests_per_s, share) = (of(|one| one.requests_per_s)?, of(|one| one.share)?);
        let by = all.iter().find_map(|one| one.by.clone());
        (share >= SHARE_MIN).then_some(Foreign { requests_per_s, share, by })
    }

    /// A load beside others whose own figures show no limit: a level that both make together, or nothing.
    pub(super) fn by_others(&self) -> Option<Binding> {
        let others = self.foreign(self.index)?;
        let (cell, own) = (self.cell(), self.own?);
        let rate = iops(cell)?;
        let in_turns = self.is_in_turns();
        if let Some(total) = self.shared_level(rate, &others).filter(|_| in_turns) {
            let together = BesideFact::OneLevelTogether { rate_iops: total };
            let evidence = Evidence::from(fact(&others, rate)).and(together).with(self.how_it_waits());
            let binding = inferred(Limit::DiskIops, Some(total), Some(rate / total), evidence);
            return Some(Binding { presumed: true, ..binding });
        }
        let grows = self.curves[own].growth(self.cells, self.index).is_some_and(Growth::proportional);
        let at_level = self.plateau().is_some_and(|level| level.cells.contains(&self.index));
        let by_turns = in_turns || self.seen[self.index].as_ref().is_some_and(|seen| seen.by_turns);
        if grows || outstanding(cell) == Some(1) || by_turns || (at_level && self.kinds[own].is_some()) {
            return None;
        }
        let evidence = Evidence::from(fact(&others, rate)).and(BesideFact::OthersHide);
        Some(inferred(Limit::Unexplained, None, None, evidence))
    }

    /// The level that the same requests and those of others make together, if those by themselves differ.
    fn shared_level(&self, rate: f64, others: &Foreign) -> Option<f64> {
        let cell = self.cell();
        let total = rate + others.requests_per_s;
        (0..self.cells.len()).find_map(|index| {
            let other = &self.cells[index];
            let is_same = index != self.index
                && alike(cell, other)
                && cell.load.pattern == other.load.pattern
                && cell.load.block_bytes == other.load.block_bytes
                && sound(other);
            let (own, beside) = (iops(other).filter(|_| is_same)?, self.foreign(index)?);
            let together = own + beside.requests_per_s;
            let is_one = (together / total - 1.0).abs() <= SAME && (own / rate - 1.0).abs() >= APART;
            is_one.then(|| f64::midpoint(together, total))
        })
    }

    /// A limit that was found beside others is presumed, and what they asked for stands beside it.
    pub(super) fn beside_others(&self, mut binding: Binding) -> Binding {
        let is_disk = matches!(binding.limit, Limit::DiskIops | Limit::DiskThroughput);
        let others = self.foreign(self.index).filter(|_| binding.inferred && is_disk);
        let Some((others, rate)) = others.zip(iops(self.cell())) else { return binding };
        let beside = Fact::from(fact(&others, rate));
        if !binding.seen.facts().contains(&beside) {
            binding.seen.push(beside);
            binding.seen.push(BesideFact::SameLimit { rate_iops: rate + others.requests_per_s });
        }
        binding.presumed = true;
        binding
    }
}

/// What others asked for beside this rate.
fn fact(others: &Foreign, rate_iops: f64) -> BesideFact {
    let Foreign { requests_per_s: others_iops, share, by: process } = others.clone();
    BesideFact::Others { share, others_iops, rate_iops, process }
}
