//! The most load that keeps a latency objective, found with few probes: widely apart until the objective is kept and lost, then
//! between the two where a straight line on logarithmic scales says.

use crate::compare::latency_estimate;
use crate::curves::met_of;
use crate::lasting::lasting;
use crate::trials::{MET_TOLERANCE, trials_used};
use loadline_load::LatencyFigure;
use loadline_record::CellRecord;

/// Kept and lost are near enough when they are no further apart than this.
const NEAR: f64 = 1.03;
/// Probes at most.
const PROBES_MAX: usize = 24;
/// How far the next probe is from the last one while the objective has not been both kept and lost.
const STEP_MIN: f64 = 2.0;
/// And at most.
const STEP_MAX: f64 = 8.0;
/// The next probe is no nearer to either end of the bracket than this share of it, on a logarithmic scale.
const EDGE: f64 = 0.15;
/// Once the turn is near enough, probes on either side of it go on until one is sure, at most so many.
const SURE_MAX: usize = 3;
/// By how much further such a probe goes than the interval of the last one reaches over the limit.
const SURE_BY: f64 = 1.03;
/// And how far at most.
const SURE_STEP_MAX: f64 = 1.25;
/// One that is sure is near enough within this factor of the turn.
const SURE_NEAR: f64 = 1.3;

/// A load that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probed {
    /// Queue depth of each thread, or arrivals per second.
    pub load: u64,
    /// The objective's figure, ns.
    pub latency_ns: f64,
    /// Its 95 % interval; `None` where there is too little to tell.
    pub interval_ns: Option<(f64, f64)>,
    /// Whether what was offered was completed.
    pub met: bool,
}

impl Probed {
    /// From a cell that was tried, by what lasts of it; `None` where nothing is known of its latency. Where an open loop was not met and none of its
    /// requests was answered within the measured time, because it had a backlog to begin with, the latency is the least that it
    /// can have been.
    #[must_use]
    pub fn of(cell: &CellRecord, load: u64, figure: LatencyFigure) -> Option<Self> {
        if let Some(lasting) = lasting(cell) {
            let offered = trials_used(cell).iter().find_map(|trial| trial.offered_iops);
            let met = offered.is_none_or(|offered| lasting.iops >= offered * (1.0 - MET_TOLERANCE));
            // A backlog that grows takes as long as it is let.
            let latency_ns = lasting.latency_ns.figure(figure).or_else(|| (!met).then_some(unanswered_ns(cell)?))?;
            return Some(Self { load, latency_ns, interval_ns: None, met });
        }
        let met = met_of(cell).is_none_or(|met| met >= 1.0 - MET_TOLERANCE);
        let (latency_ns, interval_ns) = match latency_estimate(cell, figure) {
            Some(estimate) => (estimate.value_ns, estimate.interval_ns),
            None if met => return None,
            None => (unanswered_ns(cell)?, None),
        };
        Some(Self { load, latency_ns, interval_ns, met })
    }
}

/// Requests that were due evenly over the measured time and were not answered in it have waited half of it on average, and wait
/// on. `None` where requests failed, which says nothing of how long they take.
fn unanswered_ns(cell: &CellRecord) -> Option<f64> {
    let trials = trials_used(cell);
    let failed = trials.iter().any(|trial| trial.errors_total() > 0);
    let longest = trials.iter().map(|trial| trial.measured_ns).max()?;
    (!failed).then_some(longest as f64 / 2.0)
}

/// Where the next probe goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The objective, ns.
    pub limit_ns: f64,
    /// The least load that there is.
    pub least: u64,
    /// The most.
    pub most: u64,
    /// The first to be tried.
    pub start: u64,
}

impl Search {
    fn keeps(&self, probe: &Probed) -> bool {
        probe.met && probe.latency_ns <= self.limit_ns
    }

    /// The heaviest load that keeps the objective below the lightest that loses it, and that one.
    #[must_use]
    pub fn bracket(&self, probes: &[Probed]) -> (Option<Probed>, Option<Probed>) {
        let lost = probes.iter().filter(|p| !self.keeps(p)).min_by_key(|p| p.load).copied();
        let below = |p: &&Probed| self.keeps(p) && lost.is_none_or(|l| p.load < l.load);
        (probes.iter().filter(below).max_by_key(|p| p.load).copied(), lost)
    }

    /// The next load to be tried; `None` when it is known well enough.
    #[must_use]
    pub fn next_load(&self, probes: &[Probed]) -> Option<u64> {
        if probes.is_empty() {
            return Some(self.start.clamp(self.least, self.most));
        }
        if probes.len() >= PROBES_MAX {
            return None;
        }
        // In a closed loop past its limit latency grows with the depth.
        let step = |probe: &Probed| {
            let ratio = self.limit_ns / probe.latency_ns.max(1.0);
            ratio.max(1.0 / ratio).clamp(STEP_MIN, STEP_MAX)
        };
        match self.bracket(probes) {
            (None, None) => None,
            (Some(kept), None) => {
                let next = (kept.load as f64 * step(&kept)) as u64;
                (kept.load < self.most).then(|| next.clamp(kept.load + 1, self.most))
            }
            (None, Some(lost)) => {
                let next = (lost.load as f64 / step(&lost)) as u64;
                (lost.load > self.least).then(|| next.clamp(self.least, lost.load - 1))
            }
            (Some(kept), Some(lost)) => self
                .between(&kept, &lost)
                .or_else(|| self.surely_lost(probes, &lost))
                .or_else(|| self.surely_kept(probes, &kept)),
        }
    }

    /// Heavier than what seems to lose the objective, where nothing near it loses it whatever its noise.
    fn surely_lost(&self, probes: &[Probed], lost: &Probed) -> Option<u64> {
        let is_sure = |p: &Probed| !p.met || p.interval_ns.is_some_and(|(low, _)| low > self.limit_ns);
        let heavier = || probes.iter().filter(|p| p.load >= lost.load);
        let end = heavier().filter(|p| is_sure(p)).map(|p| p.load).min();
        let unsure: Vec<&Probed> = heavier().filter(|p| end.is_none_or(|end| p.load < end)).collect();
        let edge = unsure.iter().max_by_key(|p| p.load)?;
        let most = end.map_or(self.most, |end| end - 1);
        if end.is_some_and(|end| end as f64 <= lost.load as f64 * SURE_NEAR) || unsure.len() > SURE_MAX {
            return None;
        }
        let further = (self.limit_ns / edge.interval_ns?.0.max(1.0) * SURE_BY).clamp(SURE_BY, SURE_STEP_MAX);
        let next = libm::round(edge.load as f64 * further) as u64;
        (edge.load < most).then(|| next.clamp(edge.load + 1, most))
    }

    /// Lighter than what seems to keep it, where nothing near it keeps it whatever its noise.
    fn surely_kept(&self, probes: &[Probed], kept: &Probed) -> Option<u64> {
        let is_sure = |p: &Probed| p.met && p.interval_ns.is_some_and(|(_, high)| high <= self.limit_ns);
        let lighter = || probes.iter().filter(|p| p.load <= kept.load);
        let end = lighter().filter(|p| is_sure(p)).map(|p| p.load).max();
        let unsure: Vec<&Probed> = lighter().filter(|p| end.is_none_or(|end| p.load > end)).collect();
        let edge = unsure.iter().min_by_key(|p| p.load)?;
        let floor = end.map_or(self.least, |end| end + 1);
        if end.is_some_and(|end| end as f64 * SURE_NEAR >= kept.load as f64) || unsure.len() > SURE_MAX {
            return None;
        }
        let further = (edge.interval_ns?.1 / self.limit_ns * SURE_BY).clamp(SURE_BY, SURE_STEP_MAX);
        let next = libm::round(edge.load as f64 / further) as u64;
        (edge.load > floor).then(|| next.clamp(floor, edge.load - 1))
    }

    fn between(&self, kept: &Probed, lost: &Probed) -> Option<u64> {
        let (low, high) = (kept.load as f64, lost.load as f64);
        if lost.load - kept.load <= 1 || high / low <= NEAR {
            return None;
        }
        let rise = libm::log(lost.latency_ns.max(1.0) / kept.latency_ns.max(1.0));
        let share = if lost.met && rise > 0.0 {
            libm::log(self.limit_ns / kept.latency_ns.max(1.0)) / rise
        } else {
            // The latency of a backlog says how long it grew, not by how much too much was asked.
            0.5
        };
        let place = libm::exp(libm::log(low) + share.clamp(EDGE, 1.0 - EDGE) * libm::log(high / low));
        Some((libm::round(place) as u64).clamp(kept.load + 1, lost.load - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, open};
    use loadline_record::Histogram;

    /// Searches a load whose latency follows from it; the answer and the number of probes.
    fn found(limit_ns: f64, start: u64, latency: impl Fn(u64) -> (f64, bool)) -> (Option<u64>, Option<u64>, usize) {
        let search = Search { limit_ns, least: 1, most: 16_384, start };
        let mut probes = Vec::new();
        while let Some(load) = search.next_load(&probes) {
            assert!(probes.iter().all(|p: &Probed| p.load != load), "{load} is tried twice");
            let (latency_ns, met) = latency(load);
            probes.push(Probed { load, latency_ns, interval_ns: None, met });
        }
        let (kept, lost) = search.bracket(&probes);
        (kept.map(|p| p.load), lost.map(|p| p.load), probes.len())
    }
    /// A closed loop on a disk of 5,000 IOPS and 1 ms.
    fn closed(depth: u64) -> (f64, bool) {
        ((depth as f64 / 5_000.0 * 1e9).max(1e6), true)
    }

    #[test]
    fn the_deepest_queue_is_found_with_few_probes_wherever_it_begins() {
        for start in [1, 32, 102, 1_024, 16_384] {
            let (kept, lost, probes) = found(20e6, start, closed);
            // 20 ms at 5,000 IOPS are 100 outstanding.
            assert!(kept.is_some_and(|k| (97..=100).contains(&k)), "{kept:?} from {start}");
            assert!(lost.is_some_and(|l| (101..=103).contains(&l)), "{lost:?} from {start}");
            assert!(probes <= 8, "{probes} probes from {start}");
        }
    }

    #[test]
    fn probes_go_on_until_both_ends_of_the_interval_are_known() {
        // Each trial knows its latency to 8 %: what lies within 3 % of the limit is sure of nothing.
        let search = Search { limit_ns: 20e6, least: 1, most: 16_384, start: 32 };
        let (mut probes, mut tried): (Vec<Probed>, usize) = (Vec::new(), 0);
        while let Some(load) = search.next_load(&probes) {
            let (latency_ns, met) = closed(load);
            let interval_ns = Some((latency_ns / 1.08, latency_ns * 1.08));
            probes.push(Probed { load, latency_ns, interval_ns, met });
            tried += 1;
        }
        let surely_lost = probes.iter().filter(|p| p.interval_ns.unwrap().0 > 20e6).map(|p| p.load).min();
        let surely_kept = probes.iter().filter(|p| p.interval_ns.unwrap().1 <= 20e6).map(|p| p.load).max();
        assert!(surely_lost.is_some_and(|load| (109..=116).contains(&load)), "{probes:?}");
        assert!(surely_kept.is_some_and(|load| (86..=92).contains(&load)), "{probes:?}");
        assert!(tried <= 10, "{tried}");
        // Where trials are too short for intervals, there is nothing to be made sure of.
        assert!(found(20e6, 32, closed).2 <= 8);
    }

    #[test]
    fn the_highest_rate_is_found_where_a_backlog_begins() {
        let open = |rate: u64| if rate <= 3_000 { (2e6, true) } else { (3e9, false) };
        let (kept, lost, probes) = found(20e6, 500, open);
        assert!(
            kept.is_some_and(|k| (2_900..=3_000).contains(&k)) && lost.is_some_and(|l| l <= 3_100),
            "{kept:?} {lost:?}"
        );
        assert!(probes <= 12, "{probes}");
    }

    /// An open loop of which only what was due before the measured time was answered in it.
    fn backlogged() -> CellRecord {
        let load = open("random", 1.0, 4 << 10, 6_400.0);
        let mut cell = cell(load, &ExampleDisk { iops: 1_000.0, ..ExampleDisk::default() }, &[1.0]);
        for trial in &mut cell.trials {
            trial.operations.values_mut().for_each(|record| record.latency = Histogram::new());
        }
        cell
    }

    #[test]
    fn an_open_loop_that_only_answers_its_backlog_has_lost() {
        let mut cell = backlogged();
        let probe = Probed::of(&cell, 6_400, LatencyFigure::P99).unwrap();
        // Measured for 60 s.
        assert!(!probe.met && probe.latency_ns >= 30e9, "{probe:?}");
        cell.trials[0].errors.insert(loadline_block::ErrorKind::Io, 1);
        assert_eq!(Probed::of(&cell, 6_400, LatencyFigure::P99), None);
    }

    #[test]
    fn what_is_never_kept_or_never_lost_is_said_so() {
        assert_eq!(found(0.5e6, 32, closed).0, None);
        assert_eq!(found(1e12, 32, closed).1, None);
    }
}
