//! The way from a need to an advice: search by limits, simulation of the few, what just misses, what more would cost.

use crate::advice::{
    Advice, Candidate, CurvePoint, JudgedBy, NeedFigures, NotLookedAt, PriceStep, ReplayedFigures, RequestTiming,
    ScenariosMet,
};
use crate::cases::{Case, Scenario, cases, is_averaged, latency_place, reference, scenarios, whole};
use crate::disk_sets::{DiskSet, SetsFor};
use crate::doubt::AdviceDoubt;
use crate::judging::ByLimits;
use crate::machines::{MachineOffer, environment, is_named};
use crate::market::{AdviseError, Market, PriceRegion, cheapest, lists, one_currency, places, region_prices};
use crate::miss::Miss;
use crate::misses::MISSES_MAX;
use crate::need::{Asked, Need};
use crate::replaying::Stretch;
use crate::search::{Pair, Search};
use crate::stock::Stock;
use loadline_catalog::{Catalog, Money};
use loadline_disk::Layout;
use loadline_units::Ratio;
use std::collections::BTreeMap;

/// Rows of an advice by default.
pub const ROWS_DEFAULT: usize = 5;
/// Rows with the same disk product at most: further ones differ in the number of disks alone.
pub const ROWS_ALIKE_MAX: usize = 2;
/// Choices that are simulated at most.
const SIMULATED_MAX: usize = 24;
/// Choices that are simulated at most for a provider that has no row yet.
const SIMULATED_OF_OTHERS_MAX: usize = 4;
/// Requests that come this much as fast as they did, or faster, keep their pace: replays are that exact.
const PACE_KEPT: f64 = 0.95;
/// How much of a limit the load may take where the cheapest choices that carry it all miss: they are at the edge of one machine's limits.
const EDGES: [f64; 4] = [0.9, 0.8, 0.65, 0.5];
/// Seconds of a month of 730 hours, as prices count them.
const MONTH_S: f64 = 2_628_000.0;
/// Multiples of the need whose price is looked up.
const STEPS: [f64; 5] = [0.5, 1.1, 1.25, 1.5, 2.0];
/// Shares of a recorded time that may be short, on the curve.
const SHORT: [f64; 6] = [0.0, 0.001, 0.01, 0.02, 0.05, 0.1];
/// Records shorter than this do not show a week.
const HISTORY_MIN_S: f64 = 7.0 * 86_400.0;

/// How an advice is made.
#[derive(Debug, Clone, PartialEq)]
pub struct AdviceOptions {
    /// Rows at most.
    pub rows: usize,
    /// Of every random choice.
    pub seed: u64,
    /// Whether the few are simulated. Otherwise latencies are not known, and no objective is judged.
    pub simulate: bool,
    /// Today's date, "2026-11-26", to tell old prices.
    pub today: Option<String>,
}

impl Default for AdviceOptions {
    fn default() -> Self {
        Self { rows: ROWS_DEFAULT, seed: 1, simulate: true, today: None }
    }
}

/// The need with its scenarios.
pub(crate) struct Posed<'a> {
    pub(crate) need: &'a Need,
    pub(crate) catalog: &'a Catalog,
    pub(crate) cases: Vec<Case>,
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) reference: Scenario,
    pub(crate) options: &'a AdviceOptions,
    pub(crate) stock: &'a Stock,
}

impl<'a> Posed<'a> {
    pub(crate) fn new(need: &'a Need, catalog: &'a Catalog, options: &'a AdviceOptions, stock: &'a Stock) -> Self {
        let cases = cases(need);
        let scenarios = scenarios(cases.len(), options.seed);
        let reference = reference(&scenarios, cases.len(), need.sure);
        stock.keep_to(&need.wanted, reference.draw);
        Self { need, catalog, cases, scenarios, reference, options, stock }
    }

    /// The same need, but for so many times the requests.
    pub(crate) fn times(&self, times: f64) -> Self {
        let cases = self.cases.iter().map(|case| case.times(times)).collect();
        Self { cases, scenarios: self.scenarios.clone(), ..*self }
    }

    pub(crate) fn judge(&self, slack: f64) -> ByLimits<'_> {
        ByLimits {
            catalog: self.catalog,
            draw: self.reference.draw,
            case: &self.cases[self.reference.case],
            hot: self.need.hot,
            time_met: self.need.time_met,
            slack,
            fast_only: true,
        }
    }

    /// The markets of these places, in their order. What a provider sells is the same in each, but for its prices.
    fn markets<'p>(&self, places: impl IntoIterator<Item = &'p PriceRegion>) -> Vec<Market> {
        let catalog = self.catalog;
        let requests = (self.cases[0].mean_requests_per_s() * MONTH_S).round() as u64;
        let mut sold: BTreeMap<&str, Vec<DiskSet>> = BTreeMap::new();
        let market = |PriceRegion { provider, region }: &'p PriceRegion| {
            let sets = sold.entry(provider).or_insert_with(|| self.sets(provider));
            Market {
                provider: provider.clone(),
                region: region.clone(),
                sets: sets.iter().map(|set| set.priced(catalog, region, requests)).collect(),
                machines: self.stock.machines(catalog, provider, region),
            }
        };
        places.into_iter().map(market).collect()
    }

    /// The sets of a provider's disks, without prices.
    fn sets(&self, provider: &str) -> Vec<DiskSet> {
        let wanted = &self.need.wanted;
        let case = &self.cases[self.reference.case];
        let flow_of = |layout: Layout| case.peak_flow(layout).clone();
        let sets_for = SetsFor {
            catalog: self.catalog,
            draw: self.reference.draw,
            stock: self.stock,
            flow_of: &flow_of,
            size: self.need.size_in_the_end(),
            disks_max: wanted.disks_max,
            hits_at_best: self.need.hot.map(|_| 1.0),
            is_steady: case.is_steady,
            objective: self.need.objective,
            latency_place: latency_place(&self.scenarios, self.need.sure),
        };
        let disks = self.catalog.network_disks_sold(provider);
        disks
            .into_iter()
            .filter(|disk| is_named(&disk.name, &wanted.disks))
            .filter(|disk| !wanted.disks.is_empty() || self.catalog.superseded_by(disk).is_none())
            .flat_map(|disk| sets_for.of(disk))
            .collect()
    }
}

/// The cheapest choices that meet a need, judged by their limits over all that is sold and by simulation for the few.
///
/// The same arguments give the same advice.
///
/// # Errors
/// [`AdviseError`].
pub fn advise(need: &Need, catalog: &Catalog, options: &AdviceOptions) -> Result<Advice, AdviseError> {
    advise_from(&Stock::default(), need, catalog, options)
}

/// The same, sooner where the stock knows the catalog from an advice on the same wants.
///
/// # Errors
/// [`AdviseError`].
pub fn advise_from(
    stock: &Stock,
    need: &Need,
    catalog: &Catalog,
    options: &AdviceOptions,
) -> Result<Advice, AdviseError> {
    let posed = Posed::new(need, catalog, options, stock);
    let peak = posed.cases[0].peak;
    if peak.requests_per_s() <= 0.0 {
        return Err(AdviseError::NothingAsked);
    }
    let places = places(need, catalog)?;
    let markets = posed.markets(&places);
    one_currency(&markets)?;
    let judge = posed.judge(1.0);
    let mut judged = 0;
    let stretch = need.trace.as_deref().and_then(Stretch::of).filter(|_| options.simulate);
    let Rows { meeting: mut rows, missed: missed_latency, mut dearer_left, cheapest, mut alike_left } =
        posed.rows(&markets, &judge, stretch.as_ref(), &mut judged);
    for edge in EDGES {
        if !rows.is_empty() || !dearer_left {
            break;
        }
        Rows { meeting: rows, dearer_left, alike_left, .. } =
            posed.rows(&markets, &posed.judge(edge), stretch.as_ref(), &mut judged);
    }
    let best = rows.first().map(|row| row.price_month.amount);
    let winner = rows.first().cloned();
    let mut misses = missed_latency;
    misses.extend(posed.just_missing(&markets, &judge, best, &mut judged));
    misses.extend(posed.too_slow(&markets, best, &mut judged));
    misses.retain(|miss| best.is_none_or(|best| miss.candidate.price_month.amount < best));
    misses.sort_by(|a, b| a.candidate.price_month.amount.total_cmp(&b.candidate.price_month.amount));
    // One product just misses in many numbers: its cheapest says it.
    let mut seen: Vec<String> = Vec::new();
    misses.retain(|miss| {
        let key = miss.candidate.volumes[0].disks[0].sku.clone();
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    misses.truncate(MISSES_MAX);
    let unpriced = posed.unpriced(&markets, &judge);
    let staircase = posed.staircase(&places, winner.as_ref());
    let curve = posed.curve(&markets);
    let mut candidates = rows;
    let lists = lists(candidates.iter().chain(&unpriced), catalog);
    regret(&mut candidates);
    candidates.iter_mut().zip(1..).for_each(|(row, rank)| row.rank = rank);
    Ok(Advice {
        need: figures(need, &posed),
        judged_by: JudgedBy {
            objective: need.objective,
            size: need.size_in_the_end(),
            simulated: options.simulate,
            pending: None,
        },
        recorded: need.trace.as_deref().and_then(Stretch::of).as_ref().and_then(Stretch::recorded),
        candidates,
        misses,
        unpriced,
        staircase,
        curve,
        not_looked_at: not_looked_at(need, &markets, catalog),
        doubts: doubts(need),
        judged,
        dearer_left,
        alike_left,
        lists,
        regions: region_prices(&markets, cheapest),
    })
}

/// Choices that were judged to the end.
struct Rows {
    /// Those that meet the need.
    meeting: Vec<Candidate>,
    /// Cheaper ones that fail in simulation alone.
    missed: Vec<Miss>,
    /// Whether there are dearer ones that nobody simulated.
    dearer_left: bool,
    /// Of each market the cheapest by limits.
    cheapest: Vec<Option<Pair>>,
    /// Those that were left out since the rows have enough of the same disk.
    alike_left: usize,
}

impl Posed<'_> {
    /// The cheapest choices that meet the need, and cheaper ones that fail in simulation alone.
    fn rows(&self, markets: &[Market], judge: &ByLimits<'_>, stretch: Option<&Stretch>, judged: &mut u64) -> Rows {
        let (mut rows, mut missed): (Vec<Candidate>, Vec<Miss>) = (Vec::new(), Vec::new());
        let mut searches: Vec<Search<'_, ByLimits<'_>>> =
            markets.iter().map(|market| Search::new(&market.sets, &market.machines.priced, judge)).collect();
        let mut next: Vec<Option<Pair>> = searches.iter_mut().map(Iterator::next).collect();
        let first = next.clone();
        let mut alike: Vec<(String, usize)> = Vec::new();
        let (mut simulated, mut alike_left) = (0, 0);
        let recorded = stretch.and_then(Stretch::recorded);
        while rows.len() < self.options.rows && simulated < SIMULATED_MAX {
            let cheapest = (0..next.len()).filter_map(|index| next[index].map(|pair| (pair.price, index, pair))).min();
            let Some((_, index, pair)) = cheapest else { break };
            next[index] = searches[index].next();
            let market = &markets[index];
            let set = &market.sets[pair.set];
            let is_like = |known: &&mut (String, usize)| known.0 == set.sku;
            if alike.iter_mut().find(is_like).is_some_and(|(_, count)| *count >= ROWS_ALIKE_MAX) {
                alike_left += 1;
                continue;
            }
            let candidate = self.candidate(market, set, &market.machines.priced[pair.machine], stretch);
            simulated += 1;
            if candidate.meets {
                match alike.iter_mut().find(is_like) {
                    Some((_, count)) => *count += 1,
                    None => alike.push((set.sku.clone(), 1)),
                }
                rows.push(candidate);
            } else if rows.is_empty() {
                missed.extend(self.missed_latency(recorded.as_ref(), candidate));
            }
        }
        // A provider without a row has its cheapest last, to compare. What is left of it costs more than the rows.
        let mut by_price: Vec<usize> = (0..markets.len()).collect();
        by_price.sort_by_key(|index| next[*index].map_or(u128::MAX, |pair| pair.price));
        for (index, market) in by_price.into_iter().map(|index| (index, &markets[index])) {
            if rows.is_empty() || rows.iter().any(|row| row.provider == market.provider) {
                continue;
            }
            for _ in 0..SIMULATED_OF_OTHERS_MAX {
                let Some(pair) = next[index] else { break };
                next[index] = searches[index].next();
                let (set, machine) = (&market.sets[pair.set], &market.machines.priced[pair.machine]);
                let candidate = self.candidate(market, set, machine, stretch);
                if candidate.meets {
                    rows.push(candidate);
                    break;
                }
            }
        }
        rows.sort_by(|a, b| a.price_month.amount.total_cmp(&b.price_month.amount));
        *judged += searches.iter().map(|search| search.judged).sum::<u64>();
        let dearer_left = simulated == SIMULATED_MAX && next.iter().any(Option::is_some);
        Rows { meeting: rows, missed, dearer_left, cheapest: first, alike_left }
    }

    /// Choices of which something has no price, by the part that is known: of each disk product and each machine without a price
    /// the cheapest.
    fn unpriced(&self, markets: &[Market], judge: &ByLimits<'_>) -> Vec<Candidate> {
        use crate::search::Judge as _;
        let known = |money: Option<Money>| money.map_or(0, Money::billionths);
        let mut found: Vec<(u128, usize, &DiskSet, &MachineOffer)> = Vec::new();
        for (index, market) in markets.iter().enumerate() {
            // What has a price in another region that was asked for is no choice without a price. Sets of a provider stand in one order.
            let alike = || markets.iter().filter(|other| other.provider == market.provider);
            let is_priced = |place: usize| alike().any(|other| other.sets[place].price.is_some());
            let sets = market.sets.iter().enumerate().filter(|(_, set)| judge.set_could(set));
            let sets = sets.filter(|(place, set)| set.price.is_some() || !is_priced(*place));
            let mut sets: Vec<&DiskSet> = sets.map(|(_, set)| set).collect();
            sets.sort_by_key(|set| (known(set.price), set.count));
            let mut products: Vec<&str> = Vec::new();
            for set in sets.iter().filter(|set| set.price.is_none()) {
                let carries = |machine: &&MachineOffer| machine.takes(set) && judge.carries(set, machine);
                if products.contains(&set.sku.as_str()) {
                    continue;
                }
                if let Some(machine) = market.machines.priced.iter().find(carries) {
                    products.push(&set.sku);
                    found.push((known(machine.total), index, set, machine));
                }
            }
            // Of machines without a price there are many that nobody asked for.
            let asked_for = |_: &&MachineOffer| !self.need.wanted.machines.is_empty();
            let machines = market.machines.unpriced.iter().filter(asked_for);
            for machine in machines.filter(|machine| judge.machine_could(machine)) {
                let carries = |set: &&&DiskSet| machine.takes(set) && judge.carries(set, machine);
                if let Some(set) = sets.iter().filter(|set| set.price.is_some()).find(carries) {
                    let disks = known(set.price) + machine.os_disk.as_ref().map_or(0, |disk| disk.price.billionths());
                    found.push((disks, index, set, machine));
                }
            }
        }
        found.sort_by_key(|(price, ..)| *price);
        let candidates = found.into_iter().take(MISSES_MAX);
        candidates.map(|(_, index, set, machine)| self.candidate(&markets[index], set, machine, None)).collect()
    }

    /// What more and less of the need cost, by limits. What carries more carries the need as well: it costs no less than the first row,
    /// and what does by limits was simulated before that row, and missed.
    fn staircase(&self, places: &[PriceRegion], winner: Option<&Candidate>) -> Vec<PriceStep> {
        let step = |times: f64| {
            let posed = self.times(times);
            // Where the winner is, or everywhere if nothing meets the need.
            let is_there = |winner: &Candidate, place: &PriceRegion| {
                (&winner.provider, &winner.region) == (&place.provider, &place.region)
            };
            let wanted = |place: &&PriceRegion| winner.is_none_or(|winner| is_there(winner, place));
            let markets = posed.markets(places.iter().filter(wanted));
            let least = winner.filter(|_| times > 1.0).map(|winner| winner.price_month.amount);
            PriceStep { times, cheapest: cheapest(&markets, &posed.judge(1.0), least) }
        };
        STEPS.into_iter().map(step).collect()
    }

    /// What a recorded need costs by the share of time short.
    fn curve(&self, markets: &[Market]) -> Vec<CurvePoint> {
        if matches!(self.need.asked, Asked::Steady(_)) {
            return Vec::new();
        }
        let point = |short: f64| {
            let mut judge = self.judge(1.0);
            judge.time_met = Ratio::ppm(((1.0 - short) * 1e6).round() as u32).unwrap_or(Ratio::ONE);
            CurvePoint { short_share: short, cheapest: cheapest(markets, &judge, None) }
        };
        SHORT.into_iter().map(point).collect()
    }

    /// A choice, judged in every scenario, and by the recorded requests if there are any.
    pub(crate) fn candidate(
        &self,
        market: &Market,
        set: &DiskSet,
        machine: &MachineOffer,
        stretch: Option<&Stretch>,
    ) -> Candidate {
        let environment = environment(self.catalog, &machine.figures, set);
        let judged = environment.as_ref().map(|environment| self.in_scenarios(environment, set, machine));
        let mut candidate = self.described(market, set, machine, judged.as_ref());
        if let (Some(stretch), Some(environment), true) = (stretch, environment, candidate.meets) {
            candidate.replayed = stretch.on(&environment, self.options.seed, self.need.objective);
            // An application lies between the two ways: one that breaks the objective either way does not keep it.
            let keeps = |found: &ReplayedFigures| found.keeps != Some(false);
            candidate.meets = candidate.replayed.is_empty() || candidate.replayed.iter().any(keeps);
            candidate.meets &= !self.need.keeps_pace || slower(stretch.recorded().as_ref(), &candidate).is_none();
        }
        candidate
    }
}

/// A row on which the recorded requests come slower than they did, each after the answer that it waited for: its pace over theirs, and
/// what they meet there. Commits wait for flushes, so that their rate is the pace where there is one.
pub(crate) fn slower<'c>(
    recorded: Option<&ReplayedFigures>,
    candidate: &'c Candidate,
) -> Option<(f64, &'c ReplayedFigures)> {
    let there = candidate.replayed.iter().find(|found| found.by == RequestTiming::Answers)?;
    let pace = there.pace_over(recorded?);
    (pace < PACE_KEPT).then_some((pace, there))
}

/// The mean regret of each row over the scenarios: what it costs above the cheapest that meets a scenario, and where it
/// does not meet it, a month of that one besides.
fn regret(candidates: &mut [Candidate]) {
    let rows: Vec<(f64, ScenariosMet)> = candidates.iter().map(|row| (row.price_month.amount, row.scenarios)).collect();
    let Some(cheapest) = rows.iter().map(|(price, _)| *price).min_by(f64::total_cmp) else { return };
    for row in candidates {
        let missed = f64::from(row.scenarios.of - row.scenarios.met) / f64::from(row.scenarios.of.max(1));
        row.regret = Some(row.price_month.amount - cheapest + missed * cheapest);
    }
}

fn figures(need: &Need, posed: &Posed<'_>) -> NeedFigures {
    let peak = posed.cases[0].peak;
    let (source, recorded_s, limited_share) = match &need.asked {
        Asked::Steady(_) => ("numbers".to_owned(), None, None),
        Asked::Recorded(demand) => (demand.source.clone(), Some(demand.length_s()), Some(demand.limited_share())),
    };
    let is_p99 = need.objective.is_some_and(|found| found.of == loadline_workload::LatencyFigure::P99);
    NeedFigures {
        name: need.name.clone(),
        iops: peak.requests_per_s(),
        read_ratio: peak.read_share(),
        block_bytes: peak.size().round() as u64,
        read_bytes: peak.read_size.round() as u64,
        write_bytes: peak.write_size.round() as u64,
        throughput_bytes_per_s: peak.bytes_per_s(),
        objective: need.objective.map(|found| found.of.name().to_owned()),
        objective_ns: need.objective_ns(),
        p99_ns: need.objective_ns().filter(|_| is_p99),
        size_bytes: need.size.get(),
        growth: need.growth.as_f64(),
        vcpus: need.wanted.vcpus,
        memory_bytes: need.wanted.memory.map(loadline_units::Bytes::get),
        source,
        recorded_s,
        limited_share,
    }
}

/// Doubts about the need.
fn doubts(need: &Need) -> Vec<AdviceDoubt> {
    let mut doubts = Vec::new();
    if let Asked::Recorded(demand) = &need.asked {
        let share = demand.limited_share();
        if share > 0.0 {
            doubts.push(AdviceDoubt::SourceLimited { share, reason: demand.limited_by() });
        }
        if is_averaged(demand) {
            let interval_s = demand.intervals.iter().map(|one| one.length_s).fold(0.0, f64::max);
            doubts.push(AdviceDoubt::Averaged { interval_s });
        }
        if demand.length_s() < HISTORY_MIN_S {
            doubts.push(AdviceDoubt::ShortHistory { recorded_s: demand.length_s() });
        }
        doubts.extend(demand.notes.iter().map(|note| AdviceDoubt::ReadAs { note: note.clone() }));
        let whole = whole(demand);
        doubts.push(AdviceDoubt::MeanSizes { read_bytes: whole.read_size, write_bytes: whole.write_size });
    }
    if need.hot.is_none() {
        doubts.push(AdviceDoubt::UnknownLocality);
    }
    doubts
}

fn not_looked_at(need: &Need, markets: &[Market], catalog: &Catalog) -> Vec<NotLookedAt> {
    let mut notes = Vec::new();
    for market in markets {
        notes.extend(market.machines.notes.iter().cloned());
        let without = |other: &&Market| other.provider == market.provider && !other.machines.unpriced.is_empty();
        let counts: Vec<usize> = markets.iter().filter(without).map(|other| other.machines.unpriced.len()).collect();
        let (regions, most) = (counts.len() as u32, counts.iter().max().map_or(0, |most| *most as u32));
        let provider = market.provider.clone();
        notes.extend(match regions {
            0 => None,
            1 if market.machines.unpriced.is_empty() => None,
            1 => {
                let region = market.region.clone();
                Some(NotLookedAt::MachinesWithoutPrice { provider, region, count: most })
            }
            _ => Some(NotLookedAt::MachinesWithoutPriceIn { provider, regions, most }),
        });
        let disks = catalog.network_disks_sold(&market.provider);
        if need.wanted.disks.is_empty() {
            for disk in &disks {
                let by = catalog.superseded_by(disk);
                notes.extend(by.map(|by| NotLookedAt::Superseded { disk: disk.name.clone(), by: by.to_string() }));
            }
        }
        let options = disks.iter().filter(|disk| !disk.options.is_empty()).count();
        if options > 0 {
            notes.push(NotLookedAt::PaidOptions { provider: market.provider.clone(), disks: options });
        }
    }
    // Of several regions of a provider most is the same.
    let mut once: Vec<NotLookedAt> = Vec::new();
    for note in notes {
        if !once.contains(&note) {
            once.push(note);
        }
    }
    let mut notes = once;
    notes.extend(need.wanted.memory.is_none().then_some(NotLookedAt::Memory));
    notes.extend(need.wanted.vcpus.is_none().then_some(NotLookedAt::Vcpus));
    notes.extend([NotLookedAt::HostDisks, NotLookedAt::Mirrors, NotLookedAt::OtherCosts]);
    notes
}
