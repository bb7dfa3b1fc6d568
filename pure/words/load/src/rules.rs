//! What every load must hold: rules about one key each, and rules about several together.

use crate::spec::{
    Arrival, BLOCK_MAX, BlockShare, Content, Distribution, FILES_MAX, LoadSpec, OFFSET_MAX, Pattern, QUEUE_DEPTH_MAX,
    SpecError, THREADS_MAX, TRIALS_MAX, Walk, Zone,
};
use loadline_units::{Bytes, Duration, NS_PER_S, Ratio, SECTOR};

impl LoadSpec {
    /// Holds the invariants.
    ///
    /// # Errors
    /// The first rule that does not hold, with the plan's key.
    pub fn check(&self) -> Result<(), SpecError> {
        self.broken().into_iter().next().map_or(Ok(()), Err)
    }
    /// Every rule about one key that does not hold, one for each key; where all of them hold, the first about several keys.
    #[must_use]
    pub fn broken(&self) -> Vec<SpecError> {
        let mut broken = self.broken_alone();
        if broken.is_empty() {
            broken.extend(self.broken_together());
        }
        broken
    }
    /// Every rule that a key breaks whatever the others say, one for each key.
    #[must_use]
    pub fn broken_alone(&self) -> Vec<SpecError> {
        let rules = [
            ("block", self.blocks_broken()),
            ("align", self.align_broken()),
            (
                "start",
                (!self.start.get().is_multiple_of(SECTOR.get()))
                    .then(|| format!("{} is not a multiple of 512 B", self.start)),
            ),
            (
                "threads",
                (self.threads == 0 || self.threads > THREADS_MAX)
                    .then(|| format!("{} is not from 1 to {THREADS_MAX}", self.threads)),
            ),
            ("queue_depth", self.queue_depth_broken()),
            (
                "files",
                (self.files == 0 || self.files > FILES_MAX)
                    .then(|| format!("{} is not from 1 to {FILES_MAX}", self.files)),
            ),
            ("distribution", self.distribution_broken()),
            (
                "flush",
                self.flush
                    .is_some_and(|f| f.every == 0)
                    .then(|| "every = 0 never comes; leave the key out for no flushes".into()),
            ),
            (
                "duration",
                (self.duration == Duration::ZERO)
                    .then(|| "a measurement takes time; with `volume` it is the longest that it may take".into()),
            ),
            (
                "volume",
                (self.volume == Some(Bytes::ZERO))
                    .then(|| "0 B ends before it begins; leave the key out for no bound".into()),
            ),
            (
                "passes",
                (self.passes == Some(0)).then(|| "0 ends before it begins; leave the key out for no bound".into()),
            ),
            (
                "hang_limit",
                (self.hang_limit == Duration::ZERO)
                    .then(|| "no request is answered in no time; the default is 60 s".into()),
            ),
            (
                "trials",
                (self.trials == 0 || self.trials > TRIALS_MAX)
                    .then(|| format!("{} is not from 1 to {TRIALS_MAX}", self.trials)),
            ),
            ("steady_state", self.steady_state_broken()),
        ];
        rules.into_iter().filter_map(|(key, reason)| reason.map(|reason| SpecError { key, reason })).collect()
    }

    fn blocks_broken(&self) -> Option<String> {
        if self.blocks.is_empty() {
            return Some("give at least one block size".into());
        }
        let broken = |size: Bytes| size == Bytes::ZERO || size > BLOCK_MAX;
        if let Some(block) = self.blocks.iter().find(|block| broken(block.size)) {
            return Some(format!("{} is not a multiple of 512 B from 512 B to {BLOCK_MAX}", block.size));
        }
        let shares: u64 = self.blocks.iter().map(|b| u64::from(b.share.as_ppm())).sum();
        (shares != u64::from(Ratio::ONE.as_ppm()))
            .then(|| format!("the shares of the sizes add up to {} % instead of 100 %", shares as f64 / 1e4))
    }

    fn align_broken(&self) -> Option<String> {
        let align = self.align.filter(|align| *align == Bytes::ZERO || !align.get().is_multiple_of(SECTOR.get()))?;
        Some(format!("{align} is not a multiple of 512 B"))
    }

    fn queue_depth_broken(&self) -> Option<String> {
        let Arrival::Closed { queue_depth, .. } = self.arrival else { return None };
        (queue_depth == 0 || queue_depth > QUEUE_DEPTH_MAX)
            .then(|| format!("{queue_depth} is not from 1 to {QUEUE_DEPTH_MAX}"))
    }

    fn distribution_broken(&self) -> Option<String> {
        match self.pattern {
            Pattern::Random(Distribution::Zipf { theta_milli }) => (!(1..=5_000).contains(&theta_milli))
                .then(|| format!("zipf {} is not above 0 and at most 5", f64::from(theta_milli) / 1e3)),
            Pattern::Random(Distribution::HotCold { requests, blocks }) => {
                (requests == Ratio::ZERO || blocks == Ratio::ZERO || blocks == Ratio::ONE)
                    .then(|| "hot shares are above 0 %, and not every block can be hot".into())
            }
            Pattern::Random(Distribution::Pareto { h_milli }) => (!(1..1_000).contains(&h_milli))
                .then(|| format!("pareto {} is not above 0 and below 1", f64::from(h_milli) / 1e3)),
            Pattern::Random(Distribution::Zoned { ref zones }) => {
                let sum = |of: fn(&Zone) -> Ratio| zones.iter().map(|zone| u64::from(of(zone).as_ppm())).sum::<u64>();
                let whole = u64::from(Ratio::ONE.as_ppm());
                let is_empty = zones.iter().any(|zone| zone.blocks == Ratio::ZERO);
                (sum(|zone| zone.requests) != whole || sum(|zone| zone.blocks) != whole || is_empty).then(|| {
                    "the zones together have 100 % of the requests and of the blocks, and each has blocks".into()
                })
            }
            _ => None,
        }
    }

    fn steady_state_broken(&self) -> Option<String> {
        let rule = self.steady_state?;
        if rule.rounds < 2 || rule.rounds_max < rule.rounds || rule.round == Duration::ZERO {
            return Some("needs rounds of some length, at least 2, and rounds_max no fewer".into());
        }
        (!rule.round.as_ns().is_multiple_of(NS_PER_S))
            .then(|| format!("a round of {} is not of whole seconds, by which requests are counted", rule.round))
    }

    /// The first rule about several keys that does not hold, where each key by itself does.
    fn broken_together(&self) -> Option<SpecError> {
        let fail = |key, reason: String| Some(SpecError { key, reason });
        if let Some(block) = self.blocks.iter().find(|block| !block.size.get().is_multiple_of(SECTOR.get())) {
            if !self.buffered {
                let reason = format!(
                    "{} is not a multiple of 512 B from 512 B to {BLOCK_MAX}; only a load with buffered = true may have any size",
                    block.size
                );
                return fail("block", reason);
            }
            if self.verify || self.trims != Ratio::ZERO {
                let reason = format!("{} is not a multiple of 512 B, as verify and trims need it", block.size);
                return fail("block", reason);
            }
        }
        if let Some(size) = self.size
            && size < self.block_max() * u64::from(self.files)
        {
            return fail(
                "size",
                format!("{size} over {} file(s) does not hold one block of {}", self.files, self.block_max()),
            );
        }
        if let Some(volume) = self.volume
            && volume < self.block_max()
        {
            return fail("volume", format!("{volume} ends before one block of {} is moved", self.block_max()));
        }
        let end = self.start.get().saturating_add(self.size.unwrap_or(Bytes::ZERO).get());
        if end > OFFSET_MAX.get() {
            let key = if self.size.is_some() { "size" } else { "start" };
            return fail(key, format!("the load ends past {OFFSET_MAX}, where files and devices end"));
        }
        if let Pattern::Sequential { stride: Some(stride) } = self.pattern
            && (stride < self.block_max() || !stride.get().is_multiple_of(SECTOR.get()))
        {
            return fail("stride", format!("{stride} is not a multiple of 512 B that is at least the block size"));
        }
        let has_stride = matches!(self.pattern, Pattern::Sequential { stride: Some(_) });
        if self.walk != Walk::Onward && !has_stride {
            return fail("walk", "says how a sequential load with a stride goes on, and this one has none".into());
        }
        let has_order = matches!(
            self.pattern,
            Pattern::Sequential { .. } | Pattern::Random(Distribution::Covering | Distribution::Permutation)
        );
        if self.overlap && !has_order {
            return fail(
                "overlap",
                "is of loads that ask each block once: the threads of others share their blocks anyway".into(),
            );
        }
        if let Some(broken) = self.way_broken() {
            return Some(broken);
        }
        if self.end_flush && !self.writes_any() {
            return fail("end_flush", "comes after writes, and this load only reads: leave it out".into());
        }
        if self.overlap && self.verify {
            return fail("overlap", "and verify: what two threads write to one block cannot be checked".into());
        }
        if self.verify && (self.blocks.len() > 1 || self.align.is_some_and(|a| a.get() % self.block_max().get() != 0)) {
            return fail("verify", "needs one block size and offsets that are multiples of it".into());
        }
        if let (true, Pattern::Sequential { stride: Some(stride) }) = (self.verify, &self.pattern)
            && !stride.get().is_multiple_of(self.block_max().get())
        {
            return fail("verify", format!("needs a stride that is a multiple of the block, {}", self.block_max()));
        }
        if self.verify && (self.trims != Ratio::ZERO || self.content != Content::default()) {
            return fail(
                "verify",
                "needs every block to be its own: leave out trims, compressible and duplicate".into(),
            );
        }
        None
    }

    /// The first rule about shares, turns and zones that does not hold.
    fn way_broken(&self) -> Option<SpecError> {
        let fail = |key, reason: &str| Some(SpecError { key, reason: reason.to_owned() });
        let is_random = matches!(self.pattern, Pattern::Random(_));
        if self.size_share.is_some_and(|share| self.size.is_some() || share == Ratio::ZERO) {
            return fail("size_share", "stands in place of size, and is above 0 %");
        }
        if self.in_turn == Some(0) {
            return fail("in_turn", "0 never asks a file; leave the key out for no turns");
        }
        if self.in_turn.is_some() && (self.zones.is_some() || self.continued != Ratio::ZERO) {
            return fail("in_turn", "and zones or continued: leave one of them out");
        }
        if self.continued != Ratio::ZERO && (!is_random || self.verify || self.files > 1) {
            return fail("continued", "is of random loads of one file without verify: leave it out");
        }
        if let Some(staggered) = self.staggered {
            if self.overlap || self.verify || self.files > 1 || self.zones.is_some() {
                return fail("staggered", "is of loads of one file, without overlap, zones and verify");
            }
            let is_even = |size: Bytes| size != Bytes::ZERO && size.get().is_multiple_of(SECTOR.get());
            if !is_even(staggered.step) || staggered.length.is_some_and(|length| length < self.block_max()) {
                return fail("staggered", "has a step that is a multiple of 512 B, and a length of a block at least");
            }
            let last = staggered.step * u64::from(self.threads - 1) + self.block_max();
            if self.size.is_some_and(|size| size < last) {
                return fail("staggered", "leaves the last threads no block within the size: write a smaller step");
            }
        }
        if let Some(zones) = self.zones {
            let is_plain = matches!(self.pattern, Pattern::Sequential { stride: None }) && self.blocks.len() == 1;
            let block = self.block_max().get();
            let is_even = zones.size.get().is_multiple_of(block) && zones.skip.get().is_multiple_of(SECTOR.get());
            if !is_plain || self.verify || self.files > 1 || (self.threads > 1 && !self.overlap) {
                return fail(
                    "zones",
                    "are of sequential loads without stride and verify, with one block size, one file, and one thread or overlap",
                );
            }
            if zones.size == Bytes::ZERO || !is_even {
                return fail("zones", "have a size that is a multiple of the block, and a skip that is one of 512 B");
            }
        }
        if self.pattern == Pattern::Random(Distribution::Covering) {
            let least = self.block_min().get();
            let is_even = |block: &BlockShare| block.size.get().is_multiple_of(least) && block.share != Ratio::ZERO;
            if self.align.is_some() || !self.blocks.iter().all(is_even) {
                return fail(
                    "distribution",
                    "covering has blocks that are multiples of the smallest one, and no align",
                );
            }
        }
        None
    }
}
