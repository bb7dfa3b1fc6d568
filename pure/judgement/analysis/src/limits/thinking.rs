//! Closed loops that think between requests: what they ask for is known exactly, and stands beside the disk's limits.

use super::caps::{WAITS, explains, latency_ns, request_bytes};
use super::{Case, inferred};
use crate::curves::{doubted, iops, outstanding, paced};
use crate::summary::CellSummary;
use loadline_record::{Binding, DoubtCode, Evidence, Limit, LoadFact};

/// A load whose own think time takes this share of its time asks for no more than it gets.
const OWN_TIME_MIN: f64 = 0.9;
/// A load that has so few of its requests in flight on average spends most of its time on something else than the storage.
const IN_FLIGHT_MIN: f64 = 0.5;
/// The share of a load's requests whose latencies are known, from which on they stand for all.
const TIMED_MIN: f64 = 0.99;
/// What takes less of the time from one request to the next is not all of it.
const OF_TURN_MAX: f64 = 0.9;
/// The larger part of a load's time.
const MOST: f64 = 0.5;

/// The times of a closed loop, on average: each request is answered after one, and followed after the other.
#[derive(Debug, Clone, Copy)]
struct Times {
    outstanding: f64,
    rate: f64,
    answer_ns: f64,
    think_ns: f64,
}

impl Times {
    /// Of a closed loop that thinks and has no rate ceiling.
    fn of(cell: &CellSummary) -> Option<Self> {
        let outstanding = outstanding(cell).filter(|_| paced(cell) && cell.load.rate_iops.is_none())? as f64;
        let rate = iops(cell).filter(|rate| *rate > 0.0)?;
        let parts = || [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
        let answer_ns = parts().map(|o| o.latency_ns.mean * o.iops).sum::<f64>() / parts().map(|o| o.iops).sum::<f64>();
        Some(Self { outstanding, rate, answer_ns, think_ns: (outstanding / rate * 1e9 - answer_ns).max(0.0) })
    }
    /// Think time as a share of the load's time.
    fn share(self) -> f64 {
        self.think_ns / (self.think_ns + self.answer_ns)
    }
    /// Requests per second if each were answered after so long.
    fn asked(self, answer_ns: f64) -> f64 {
        self.outstanding * 1e9 / (self.think_ns + answer_ns)
    }
}

/// A closed loop most of whose time is its own think time asks for no more than that allows. `unhindered_ns` is what its requests
/// take where nothing waits, if that is known.
pub(super) fn by_think_time(cell: &CellSummary, unhindered_ns: Option<f64>) -> Option<Binding> {
    let times = Times::of(cell).filter(|times| times.share() >= MOST)?;
    let Times { outstanding: depth, rate: rate_iops, think_ns, .. } = times;
    let share = times.share();
    let (asked_iops, fact) = if share >= OWN_TIME_MIN {
        let asked_iops = times.asked(0.0);
        (asked_iops, LoadFact::Thinks { share, depth, think_ns, asked_iops, rate_iops })
    } else {
        let latency_ns = times.answer_ns;
        let fewer_ns = unhindered_ns.filter(|alone| *alone < latency_ns);
        let asked_iops = times.asked(fewer_ns.unwrap_or(latency_ns));
        (asked_iops, LoadFact::ThinksAndWaits { share, depth, think_ns, latency_ns, fewer_ns, asked_iops, rate_iops })
    };
    Some(inferred(Limit::Arrival, Some(asked_iops), Some(rate_iops / asked_iops), fact))
}

impl Case<'_> {
    /// A closed loop of another tool that had far fewer requests in flight than it may have: options that its results do not tell held
    /// it back. Loads of this tool pause only where they are asked to.
    pub(super) fn by_own_pauses(&self) -> Option<Binding> {
        let cell = self.cell();
        let depth = outstanding(cell).filter(|_| doubted(cell, DoubtCode::Imported) && !paced(cell))? as f64;
        let (requests, flushes) = (iops(cell).filter(|rate| *rate > 0.0)?, self.flush_time_per_s()?);
        let parts = || [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
        // Requests without a latency may have been in flight at all times.
        let timed = parts().filter(|of| of.latency_ns.mean > 0.0).map(|of| of.iops).sum::<f64>();
        if timed < requests * TIMED_MIN {
            return None;
        }
        let busy = parts().map(|of| of.latency_ns.mean * of.iops).sum::<f64>() / 1e9;
        let in_flight = busy + flushes;
        let (latency_ns, rate_iops) = (busy * 1e9 / requests, requests);
        (in_flight < depth * IN_FLIGHT_MIN).then(|| {
            let fact = LoadFact::HeldItselfBack { in_flight, depth, latency_ns, rate_iops };
            Binding { presumed: true, ..inferred(Limit::Arrival, Some(rate_iops), Some(1.0), fact) }
        })
    }

    /// Of single requests of another tool: that they take less than the time from one to the next, which has their submission in it.
    pub(super) fn share_of_turn(&self, turn_ns: f64) -> Option<LoadFact> {
        let cell = self.cell();
        let parts = || [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
        let busy = parts().map(|of| of.latency_ns.mean * of.iops).sum::<f64>();
        let latency_ns = busy / iops(cell)?;
        let is_less = latency_ns > 0.0 && latency_ns < turn_ns * OF_TURN_MAX && cell.flush.is_none();
        (is_less && doubted(cell, DoubtCode::Imported)).then_some(LoadFact::ShareOfTurn { turn_ns, latency_ns })
    }

    /// A load that does next to nothing but think, and reaches no limit of its kind.
    pub(super) fn by_thinking_alone(&self) -> Option<Binding> {
        Times::of(self.cell()).filter(|times| times.share() >= OWN_TIME_MIN)?;
        if self.by_limit_of_its_kind().is_some() {
            return None;
        }
        by_think_time(self.cell(), None)
    }

    /// A load that thinks between requests: it reaches a limit of its kind, or what binds is the larger part of its time.
    pub(super) fn by_thinking(&self) -> Option<Binding> {
        let times = Times::of(self.cell())?;
        let unhindered = self.seen.unhindered_ns(self.index);
        let by_latency = || {
            let waits = unhindered.is_some_and(|alone| times.answer_ns >= WAITS * alone);
            (!waits).then(|| {
                let fact = LoadFact::ThinksLess {
                    share: times.share(),
                    depth: times.outstanding,
                    think_ns: times.think_ns,
                    latency_ns: times.answer_ns,
                    rate_iops: times.rate,
                };
                inferred(Limit::Latency, None, None, fact)
            })
        };
        self.by_limit_of_its_kind().or_else(|| by_think_time(self.cell(), unhindered)).or_else(by_latency)
    }

    /// The limit that loads of this kind have, where this one comes to it and its requests wait.
    fn by_limit_of_its_kind(&self) -> Option<Binding> {
        let rate = self.seen[self.index].as_ref()?.sustained;
        let (_, allowed) = self.caps[self.index]?.of(request_bytes(self.cell()))?;
        let unhindered = self.seen.unhindered_ns(self.index);
        let waits = latency_ns(self.cell()).zip(unhindered).map(|(own, alone)| own >= WAITS * alone);
        let times = Times::of(self.cell())?;
        // One that hardly thinks waits for a limit as any load does.
        let as_any = waits == Some(true) && times.share() < MOST;
        if waits == Some(false) || !explains(rate, allowed, as_any) {
            return None;
        }
        let found = self.caps_of(rate)?;
        let thinks = LoadFact::ThinksAtLimit { share: times.share() };
        let evidence = Evidence::from(thinks).and(found.fact.clone()).with(self.how_it_waits());
        Some(found.binding(rate, evidence))
    }
}
