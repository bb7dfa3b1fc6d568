//! Choices that cost less than the first row and just miss: at a limit, or in their latency; and the change that would mend each.
//!
//! If rows are simulated, so is what stands here: a change is only named if the changed choice meets the need in simulation, and a
//! choice short of a limit only if its latency keeps the objective within its limits.

use crate::advice::{Candidate, ReplayedFigures};
use crate::advisor::{Posed, slower};
use crate::described::{choice, limit_name};
use crate::disk_sets::DiskSet;
use crate::judging::ByLimits;
use crate::machines::{MachineOffer, cost};
use crate::market::Market;
use crate::miss::{Fix, FixChange, Miss, Shortfall};
use crate::search::{Judge as _, Pair, Search};

/// Choices that just miss, at most.
pub(crate) const MISSES_MAX: usize = 3;
/// A limit that is asked this many times is just missed.
const JUST_MISSED: f64 = 1.25;
/// Changes of one kind that are simulated at most, the cheapest first.
const CHANGES_SIMULATED_MAX: usize = 2;
/// The part of its limits at which the latency of a choice short of one is looked at: close below them all latencies are long.
const WITHIN_LIMITS: f64 = 0.8;

/// A changed choice: its price in billionths, whether that is an estimate, and the change.
type Changed = (u128, bool, FixChange);

impl Posed<'_> {
    /// A choice that carries the need by its limits and misses its latency.
    pub(crate) fn missed_latency(&self, recorded: Option<&ReplayedFigures>, candidate: Candidate) -> Option<Miss> {
        if let Some((pace, replayed)) = slower(recorded, &candidate).filter(|_| self.need.keeps_pace) {
            let seen = Shortfall::RecordedPace { pace, replayed: replayed.clone() };
            return Some(Miss { candidate, seen, by: 1.0 / pace.max(1e-9), fix: None });
        }
        let (latency, objective) = (candidate.latency_ns.filter(|_| !candidate.meets)?, self.need.objective_ns()?);
        let broken = candidate.replayed.iter().filter(|found| found.keeps == Some(false));
        // Where these break it, random arrivals keep it, and the requests as they were recorded do not.
        let (ns, seen) = match broken.min_by_key(|found| found.p99_ns.middle) {
            Some(best) => (best.p99_ns.middle, Shortfall::RecordedLatency { replayed: best.clone() }),
            None => (latency.p99_high, Shortfall::Latency { latency_ns: latency, scenarios: candidate.scenarios }),
        };
        Some(Miss { candidate, seen, by: ns as f64 / objective.max(1) as f64, fix: None })
    }

    /// The cheapest choices whose limits are asked a little too much.
    pub(crate) fn just_missing(
        &self,
        markets: &[Market],
        judge: &ByLimits<'_>,
        best: Option<f64>,
        judged: &mut u64,
    ) -> Vec<Miss> {
        let relaxed = self.judge(JUST_MISSED);
        let mut found: Vec<(u128, &Market, &DiskSet, &MachineOffer)> = Vec::new();
        for market in markets {
            let mut search = Search::new(&market.sets, &market.machines.priced, &relaxed);
            let mut products: Vec<&str> = Vec::new();
            for pair in search.by_ref() {
                let is_cheaper = best.is_none_or(|best| (pair.price as f64) < best * 1e9 * (1.0 - 1e-9));
                if !is_cheaper || products.len() >= MISSES_MAX {
                    break;
                }
                let (set, machine) = (&market.sets[pair.set], &market.machines.priced[pair.machine]);
                let is_missing = !judge.set_could(set) || !judge.carries(set, machine);
                if is_missing && !products.contains(&set.sku.as_str()) {
                    products.push(&set.sku);
                    found.push((pair.price, market, set, machine));
                }
            }
            *judged += search.judged;
        }
        // Of several regions the cheapest shows it.
        found.sort_by_key(|(price, ..)| *price);
        let mut products: Vec<&str> = Vec::new();
        found.retain(|(_, _, set, _)| {
            let is_new = !products.contains(&set.sku.as_str());
            products.push(&set.sku);
            is_new
        });
        let cheapest = found.into_iter().take(MISSES_MAX);
        cheapest.filter_map(|(_, market, set, machine)| self.miss(market, judge, set, machine, best)).collect()
    }

    /// The cheapest choice whose limits carry the need, and whose disks are too slow for its latency.
    pub(crate) fn too_slow(&self, markets: &[Market], best: Option<f64>, judged: &mut u64) -> Option<Miss> {
        let mut judge = self.judge(1.0);
        judge.fast_only = false;
        let mut found: Option<(u128, Candidate)> = None;
        for market in markets {
            let mut search = Search::new(&market.sets, &market.machines.priced, &judge);
            let is_cheaper = |pair: &Pair| {
                best.is_none_or(|best| (pair.price as f64) < best * 1e9)
                    && found.as_ref().is_none_or(|(price, _)| pair.price < *price)
            };
            let slow = search.by_ref().take_while(is_cheaper).find(|pair| !market.sets[pair.set].is_fast_enough);
            *judged += search.judged;
            if let Some(pair) = slow {
                let (set, machine) = (&market.sets[pair.set], &market.machines.priced[pair.machine]);
                found = Some((pair.price, self.candidate(market, set, machine, None)));
            }
        }
        found.and_then(|(_, candidate)| self.missed_latency(None, candidate))
    }

    fn miss(
        &self,
        market: &Market,
        judge: &ByLimits<'_>,
        set: &DiskSet,
        machine: &MachineOffer,
        best: Option<f64>,
    ) -> Option<Miss> {
        let case = &self.cases[self.reference.case];
        let all = judge.stations(set, machine);
        let flow = case.peak_flow(set.layout);
        let (station, used) = all
            .iter()
            .flat_map(|station| station.used(flow).into_iter().flatten().map(move |used| (station, used)))
            .max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
        if case.is_steady && !self.keeps_within_limits(market, set, machine, used.share) {
            return None;
        }
        let candidate = self.described(market, set, machine, None);
        let (of, figure) = (station.who.clone(), station.figure(used.is_bytes));
        let seen = if case.is_steady {
            Shortfall::Limit { limit: limit_name(station, &used), used: used.share, of, figure }
        } else {
            let result = case.day(set.layout).result(&all, 1.0);
            let short_share = result.short;
            match result.burst_ends {
                Some((ends_s, of)) => Shortfall::Burst { short_share, ends_s, of },
                None => Shortfall::Time { short_share, of, figure },
            }
        };
        let fix = self.fix(market, judge, set, machine, best);
        Some(Miss { candidate, seen, by: used.share, fix })
    }

    /// Whether the latency of a choice keeps the objective within its limits, which the need uses so many times. Otherwise latency is
    /// what it misses, and not by a little.
    fn keeps_within_limits(&self, market: &Market, set: &DiskSet, machine: &MachineOffer, used: f64) -> bool {
        if !self.options.simulate || self.need.objective.is_none() {
            return true;
        }
        self.times(WITHIN_LIMITS / used.max(1e-9)).candidate(market, set, machine, None).meets
    }

    /// The cheapest machine for the same disks, or the cheapest disks for the same machine, that meets the need for less than the
    /// first row.
    fn fix(
        &self,
        market: &Market,
        judge: &ByLimits<'_>,
        set: &DiskSet,
        machine: &MachineOffer,
        best: Option<f64>,
    ) -> Option<Fix> {
        // A change that costs as much as the first row mends nothing.
        let is_less = |price: u128| best.is_none_or(|best| (price as f64) < best * 1e9 * (1.0 - 1e-9));
        let meets = |set: &DiskSet, machine: &MachineOffer| {
            !self.options.simulate || self.candidate(market, set, machine, None).meets
        };
        let together = |set: &DiskSet, machine: &MachineOffer| cost(set.price).saturating_add(cost(machine.total));
        let machines = market.machines.priced.iter().filter(|other| other.takes(set) && judge.carries(set, other));
        let other_machine = (judge.set_could(set).then_some(machines).into_iter().flatten())
            .take_while(|other| is_less(together(set, other)))
            .take(CHANGES_SIMULATED_MAX)
            .find(|other| meets(set, other));
        let other_machine = other_machine.map(|other| -> Changed {
            let change = FixChange::Machine { to: other.name.clone(), from: machine.name.clone() };
            (together(set, other), set.is_estimated || other.is_estimated, change)
        });
        let could = |other: &&DiskSet| {
            other.price.is_some() && machine.takes(other) && judge.set_could(other) && judge.carries(other, machine)
        };
        let mut sets: Vec<&DiskSet> = market.sets.iter().filter(could).collect();
        sets.sort_by_key(|other| cost(other.price));
        let other_set = (sets.into_iter())
            .take_while(|other| is_less(together(other, machine)))
            .take(CHANGES_SIMULATED_MAX)
            .find(|other| meets(other, machine));
        let other_set = other_set.map(|other| -> Changed {
            let change = FixChange::Disks { to: choice(other), from: choice(set) };
            (together(other, machine), other.is_estimated || machine.is_estimated, change)
        });
        let cheapest = other_machine.into_iter().chain(other_set).min_by_key(|(price, ..)| *price);
        cheapest.map(|(price, estimated, change)| Fix { change, amount: price as f64 / 1e9, estimated })
    }
}
