//! The scenarios that a choice must stand: plausible versions of the storage, each under plausible versions of the demand.

use crate::day::{Day, DayStep};
use crate::flow::{Flow, LayoutSplit};
use crate::need::{Asked, Need, Rates};
use loadline_catalog::Draw;
use loadline_demand::{Demand, DemandInterval};
use loadline_disk::Layout;
use loadline_units::Ratio;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Scenarios of an advice.
pub(crate) const SCENARIOS: usize = 48;
/// Means over more than this hide peaks.
const MEAN_MAX_S: f64 = 1.5;
/// How much higher the peaks within an interval may be than its mean, as assumed: nothing, a quarter, a half.
const PEAKS: [f64; 3] = [1.0, 1.25, 1.5];
/// How much more an interval may have wanted in which the source could not do more, as assumed.
const LIMITED: [f64; 3] = [1.25, 1.5, 2.0];

/// One version of the demand.
#[derive(Debug)]
pub(crate) struct Case {
    /// Rates, and how long they last; one of no length for a steady need. The need is `factor` times that.
    intervals: Rc<[(f64, Rates)]>,
    pub(crate) factor: f64,
    pub(crate) is_steady: bool,
    /// The same on one disk, and over a stripe.
    single: Rc<Day>,
    striped: Rc<Day>,
    /// The highest rates that it needs in the share of time that is to be met.
    pub(crate) peak: Rates,
    peak_flows: [Flow; 2],
}

/// One version of the storage under one of the demand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) draw: Draw,
    /// Which case.
    pub(crate) case: usize,
}

impl Case {
    fn new(intervals: Vec<(f64, Rates)>, is_steady: bool, need: &Need) -> Self {
        let peak = peak(&intervals, need.time_met);
        let flows = |layout: Layout| {
            let spread = LayoutSplit::of(layout);
            let mut known: BTreeMap<(u64, u64), Flow> = BTreeMap::new();
            let mut of = |rates: &Rates| {
                let key = (rates.read_size as u64, rates.write_size as u64);
                known.entry(key).or_insert_with(|| Flow::of(rates, spread, need.sequential)).at(rates)
            };
            let steps: Vec<DayStep> =
                intervals.iter().map(|(length_s, rates)| DayStep { length_s: *length_s, flow: of(rates) }).collect();
            (Day::new(steps), of(&peak))
        };
        let (single, one) = flows(Layout::Single);
        let (striped, other) = flows(stripe());
        let (single, striped) = (Rc::new(single), Rc::new(striped));
        Self { intervals: intervals.into(), factor: 1.0, is_steady, single, striped, peak, peak_flows: [one, other] }
    }

    /// So many times the requests. The recorded time, which is large, is the same one.
    pub(crate) fn times(&self, times: f64) -> Self {
        Self {
            intervals: Rc::clone(&self.intervals),
            factor: self.factor * times,
            is_steady: self.is_steady,
            single: Rc::clone(&self.single),
            striped: Rc::clone(&self.striped),
            peak: self.peak.times(times),
            peak_flows: self.peak_flows.each_ref().map(|flow| flow.at(&flow.rates.times(times))),
        }
    }

    /// The rates of an interval.
    pub(crate) fn rates(&self, interval: usize) -> Rates {
        self.intervals[interval].1.times(self.factor)
    }

    /// The time on a layout.
    pub(crate) fn day(&self, layout: Layout) -> &Day {
        if is_striped(layout) { &self.striped } else { &self.single }
    }
    /// Requests per second on average over its time.
    pub(crate) fn mean_requests_per_s(&self) -> f64 {
        let all: f64 = self.intervals.iter().map(|(length, _)| length).sum();
        if self.is_steady || all <= 0.0 {
            return self.peak.requests_per_s();
        }
        self.intervals.iter().map(|(length, rates)| rates.requests_per_s() * length).sum::<f64>() / all * self.factor
    }
    /// The highest rates on a layout.
    pub(crate) fn peak_flow(&self, layout: Layout) -> &Flow {
        &self.peak_flows[usize::from(is_striped(layout))]
    }
}

const fn stripe() -> Layout {
    Layout::Stripe { columns: 2, interleave: crate::disk_sets::INTERLEAVE }
}

const fn is_striped(layout: Layout) -> bool {
    matches!(layout, Layout::Stripe { .. } | Layout::StripeOfMirrors { .. })
}

/// The versions of the demand, the lowest first.
pub(crate) fn cases(need: &Need) -> Vec<Case> {
    let grown = need.growth_factor();
    match &need.asked {
        Asked::Steady(rates) => vec![Case::new(vec![(0.0, rates.times(grown))], true, need)],
        Asked::Recorded(demand) => {
            let peaks: &[f64] = if is_averaged(demand) { &PEAKS } else { &[1.0] };
            let limited = demand.intervals.iter().any(|one| one.at_limit.is_some());
            let count = if limited || peaks.len() > 1 { 3 } else { 1 };
            let whole = whole(demand);
            (0..count)
                .map(|index| {
                    let factor = |one: &DemandInterval| {
                        let peak = peaks.get(index).or(peaks.last()).copied().unwrap_or(1.0);
                        // In full from half of the interval on.
                        let part = (one.limited_share() * 2.0).min(1.0);
                        peak.max(1.0 + (LIMITED[index] - 1.0) * part)
                    };
                    let of = |one: &DemandInterval| (one.length_s, rates_of(one, &whole).times(factor(one) * grown));
                    Case::new(demand.intervals.iter().map(of).collect(), false, need)
                })
                .collect()
        }
    }
}

/// Whether the demand's rates are means over so long that they hide peaks.
pub(crate) fn is_averaged(demand: &Demand) -> bool {
    demand.intervals.iter().any(|one| one.length_s > MEAN_MAX_S)
}

/// The mean sizes over all intervals, for those that have none.
pub(crate) fn whole(demand: &Demand) -> Rates {
    let sum =
        |of: fn(&DemandInterval) -> f64| -> f64 { demand.intervals.iter().map(|one| of(one) * one.length_s).sum() };
    let (reads, writes) = (sum(|one| one.reads_per_s), sum(|one| one.writes_per_s));
    let (read, written) = (sum(|one| one.read_bytes_per_s), sum(|one| one.write_bytes_per_s));
    let time = demand.length_s().max(1e-9);
    let mean = |bytes: f64, count: f64| if count > 0.0 && bytes > 0.0 { bytes / count } else { 4096.0 };
    Rates {
        reads_per_s: reads / time,
        writes_per_s: writes / time,
        read_size: mean(read, reads),
        write_size: mean(written, writes),
    }
}

fn rates_of(one: &DemandInterval, whole: &Rates) -> Rates {
    Rates {
        reads_per_s: one.reads_per_s,
        writes_per_s: one.writes_per_s,
        read_size: rounded(one.read_size().unwrap_or(whole.read_size)),
        write_size: rounded(one.write_size().unwrap_or(whole.write_size)),
    }
}

/// A mean size is no size of a request: whole pages above one, whole sectors below.
fn rounded(size: f64) -> f64 {
    let unit = if size > 4096.0 { 4096.0 } else { 512.0 };
    (size / unit).round().max(1.0) * unit
}

/// The highest requests and bytes per second of the share of time that is to be met, as one load.
fn peak(intervals: &[(f64, Rates)], time_met: Ratio) -> Rates {
    let all: f64 = intervals.iter().map(|(length, _)| length).sum();
    let at = |of: fn(&Rates) -> f64| {
        let mut left = all * (1.0 - time_met.as_f64());
        let mut highest: Vec<(f64, &(f64, Rates))> = intervals.iter().map(|one| (of(&one.1), one)).collect();
        let falling = |a: &(f64, &(f64, Rates)), b: &(f64, &(f64, Rates))| b.0.total_cmp(&a.0);
        if left > 0.0 {
            highest.sort_by(falling);
        } else if let Some(first) = highest.iter().copied().min_by(falling) {
            highest = vec![first];
        }
        let found = highest.iter().find(|(_, (length, _))| {
            let skips = *length > 0.0 && left >= *length;
            left -= length;
            !skips
        });
        found.or(highest.first()).map_or_else(Rates::default, |(_, (_, rates))| *rates)
    };
    let (requests, bytes) = (at(Rates::requests_per_s), at(Rates::bytes_per_s));
    if requests.bytes_per_s() >= bytes.bytes_per_s() * 0.999 {
        return requests;
    }
    // The requests of one interval, as large as those of the other must be.
    let larger = bytes.bytes_per_s() / requests.bytes_per_s().max(1.0);
    Rates {
        read_size: rounded(requests.read_size * larger),
        write_size: rounded(requests.write_size * larger),
        ..requests
    }
}

/// The scenarios: the middle of all that is uncertain first, then a Latin hypercube, each under every case.
pub(crate) fn scenarios(cases: usize, seed: u64) -> Vec<Scenario> {
    let draws = (SCENARIOS / cases.max(1)).max(1);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let others = draws - 1;
    let [latency, enforcement, delivered, bursts] = std::array::from_fn(|_| strata(&mut random, others));
    let other = |index: usize| Draw {
        latency: latency[index],
        enforcement: enforcement[index],
        delivered: Some(delivered[index]),
        bursts: bursts[index],
    };
    let draws: Vec<Draw> = std::iter::once(Draw::MIDDLE).chain((0..others).map(other)).collect();
    draws.into_iter().flat_map(|draw| (0..cases).map(move |case| Scenario { draw, case })).collect()
}

/// A place in each of `count` equal strata, in random order.
fn strata(random: &mut Xoshiro256PlusPlus, count: usize) -> Vec<Ratio> {
    let whole = u64::from(Ratio::ONE.as_ppm());
    let mut places: Vec<Ratio> = (0..count as u64)
        .map(|stratum| {
            let (from, to) = (whole * stratum / count as u64, whole * (stratum + 1) / count as u64);
            Ratio::ppm((from + random.next_u64() % (to - from)) as u32).expect("a place within the whole")
        })
        .collect();
    for left in (1..places.len()).rev() {
        places.swap(left, (random.next_u64() % (left as u64 + 1)) as usize);
    }
    places
}

/// The scenario that a choice must stand so that it stands `sure` of all: limits are delivered the better, the higher a
/// draw's place is, and cases ask the more, the later they stand.
pub(crate) fn reference(scenarios: &[Scenario], cases: usize, sure: Ratio) -> Scenario {
    let all = scenarios.len();
    let mut allowed = (all as f64 * (1.0 - sure.as_f64()) + 1e-9).floor() as usize;
    let each = all / cases.max(1);
    let mut case = cases.saturating_sub(1);
    while case > 0 && allowed >= each {
        allowed -= each;
        case -= 1;
    }
    let mut places: Vec<Ratio> =
        scenarios.iter().filter(|one| one.case == case).filter_map(|one| one.draw.delivered).collect();
    places.sort_unstable_by_key(|place| place.as_ppm());
    // A draw below the place may miss every case up to this one.
    let place =
        places.get((allowed / (case + 1)).min(places.len().saturating_sub(1))).copied().unwrap_or(Ratio::percent(50));
    Scenario { draw: Draw { delivered: Some(place), ..Draw::MIDDLE }, case }
}

/// The place of latencies that is exceeded in as few scenarios as need not be met.
pub(crate) fn latency_place(scenarios: &[Scenario], sure: Ratio) -> Ratio {
    let allowed = (scenarios.len() as f64 * (1.0 - sure.as_f64()) + 1e-9).floor() as usize;
    let mut places: Vec<Ratio> = scenarios.iter().map(|one| one.draw.latency).collect();
    places.sort_unstable_by_key(|place| std::cmp::Reverse(place.as_ppm()));
    places.get(allowed).copied().unwrap_or(Ratio::percent(50))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_demand::AtLimit;
    use loadline_units::Bytes;

    fn recorded(intervals: Vec<DemandInterval>) -> Need {
        let demand = Demand { source: "test".to_owned(), intervals, ..Demand::default() };
        Need { asked: Asked::Recorded(demand), ..Need::steady("n", Rates::default(), Bytes::gib(10)) }
    }
    fn minute(rate: f64, at_limit: Option<AtLimit>) -> DemandInterval {
        DemandInterval {
            length_s: 60.0,
            reads_per_s: rate,
            read_bytes_per_s: rate * 8192.0,
            at_limit,
            ..DemandInterval::default()
        }
    }

    #[test]
    fn means_get_peaks_and_limited_minutes_get_more() {
        let need = recorded(vec![minute(100.0, None), minute(500.0, Some(AtLimit::LevelRequests))]);
        let cases = cases(&need);
        let rates: Vec<[f64; 2]> =
            cases.iter().map(|case| [case.intervals[0].1.reads_per_s, case.intervals[1].1.reads_per_s]).collect();
        assert_eq!(rates, [[100.0, 625.0], [125.0, 750.0], [150.0, 1000.0]]);
        assert!((cases[2].peak.reads_per_s - 1000.0).abs() < 1e-9);
        let second = DemandInterval { length_s: 1.0, ..minute(100.0, None) };
        assert_eq!(super::cases(&recorded(vec![second])).len(), 1);
    }

    #[test]
    fn the_reference_is_met_by_exactly_as_many_as_are_to_be_sure() {
        for (cases, sure) in [(1, 95), (3, 95), (3, 60), (1, 100)] {
            let all = scenarios(cases, 7);
            assert_eq!(all.len(), SCENARIOS);
            let at = reference(&all, cases, Ratio::percent(sure));
            let place = |one: &Scenario| one.draw.delivered.unwrap().as_ppm();
            let met = all.iter().filter(|one| one.case <= at.case && place(one) >= place(&at)).count();
            assert!(met as f64 >= SCENARIOS as f64 * f64::from(sure) / 100.0, "{cases} {sure}: {met}");
        }
    }

    #[test]
    fn the_peak_leaves_out_the_time_that_need_not_be_met() {
        let mut all = vec![minute(100.0, None); 999];
        all.push(minute(900.0, None));
        let need = Need { time_met: Ratio::ppm(999_000).unwrap(), ..recorded(all.clone()) };
        assert!((cases(&need)[0].peak.reads_per_s - 100.0).abs() < 1e-9);
        assert!((cases(&recorded(all))[0].peak.reads_per_s - 900.0).abs() < 1e-9);
    }
}
