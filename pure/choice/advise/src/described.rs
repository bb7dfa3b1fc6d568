//! A choice described: its price by item, what binds it, its latency, and in how many scenarios it meets the need.

use crate::advice::{
    Bound, Candidate, DiskChoice, LatencyRange, PriceMonth, PricedItem, PricedPart, ScenariosMet, VolumeChoice,
};
use crate::advisor::Posed;
use crate::day::DayResult;
use crate::disk_sets::{DiskSet, INTERLEAVE, VOLUME};
use crate::doubt::{AdviceDoubt, EstimatedItem};
use crate::environment_text::environment_text;
use crate::flow::{Cached, Station, stations};
use crate::machines::{MachineOffer, environment};
use crate::market::Market;
use crate::trial::trial;
use loadline_catalog::{Cost, Draw, Environment, Estimated, Provisioned, Reduction, ReductionReason};
use loadline_disk::HostCache;
use loadline_prediction::Model;
use loadline_record::Limit;

/// Prices older than this are reported.
const PRICE_DAYS_MAX: i64 = 180;
/// Sizes of reads and writes that differ more are not one size.
const ONE_SIZE: f64 = 1.5;

impl Posed<'_> {
    /// A choice in every scenario.
    pub(crate) fn in_scenarios(&self, environment: &Environment, set: &DiskSet, machine: &MachineOffer) -> InScenarios {
        let cached = Cached { mode: set.host_cache, hits: machine.hits(set, self.need.hot) };
        let mut result = InScenarios { met: Vec::new(), latencies: Vec::new(), middle: None, day: None };
        for (number, scenario) in self.scenarios.iter().enumerate() {
            let model = Model::new(environment, number as u32, scenario.draw);
            let Some(volume) = model.spec.volumes.first() else { continue };
            let all = stations(&model.spec, volume, cached);
            let case = &self.cases[scenario.case];
            let (by_limits, rates, in_credit) = if case.is_steady {
                let flow = case.peak_flow(set.layout);
                (all.iter().all(|one| one.share(flow) <= 1.0 + 1e-9), case.peak, false)
            } else {
                let (day, allowed) = (case.day(set.layout), 1.0 - self.need.time_met.as_f64());
                // Which interval is the worst is asked for the first scenario, and where requests are simulated.
                if number > 0 && !self.options.simulate {
                    (day.is_carried(&all, case.factor, allowed), case.peak, false)
                } else {
                    let found = day.result(&all, case.factor);
                    let (rates, in_credit) = (case.rates(found.worst), found.worst_in_credit);
                    let met = found.short <= allowed + 1e-9;
                    if number == 0 {
                        result.day = Some(found);
                    }
                    (met, rates, in_credit)
                }
            };
            // What is beyond a limit waits without end: there is no latency to simulate.
            let latency = (self.options.simulate && by_limits)
                .then(|| trial(environment, &model, self.need, &rates, in_credit, self.options.seed))
                .flatten();
            let kept = match (latency, self.need.objective_ns()) {
                (Some(found), Some(limit)) => found.kept_up && found.latency_ns <= limit as f64,
                (Some(found), None) => found.kept_up,
                (None, _) => true,
            };
            if number == 0 {
                result.middle = latency.map(|found| found.latency_ns);
            }
            result.latencies.extend(latency.map(|found| found.latency_ns));
            result.met.push(by_limits && kept);
        }
        result
    }

    /// A choice with its price and what binds it.
    pub(crate) fn described(
        &self,
        market: &Market,
        set: &DiskSet,
        machine: &MachineOffer,
        judged: Option<&InScenarios>,
    ) -> Candidate {
        let (binding, next, used) = self.bounds(set, machine);
        let (latency_ns, met) = match judged {
            Some(judged) => (judged.range(), judged.met.iter().filter(|met| **met).count()),
            None => (None, 0),
        };
        let of = self.scenarios.len();
        let meets = judged.is_some() && met as f64 + 1e-9 >= self.need.sure.as_f64() * of as f64;
        let day = judged.and_then(|judged| judged.day.clone());
        let mut candidate = Candidate {
            rank: 0,
            meets,
            provider: market.provider.clone(),
            region: market.region.clone(),
            machine: machine.name.clone(),
            architecture: machine.architecture,
            vcpus: machine.figures.vcpus,
            memory_bytes: self.catalog.memory(&machine.name).map(loadline_units::Bytes::get),
            volumes: vec![volume_choice(set)],
            os_disk: machine.os_disk.as_ref().map(|disk| DiskChoice {
                sku: disk.sku.clone(),
                count: 1,
                size_bytes: disk.wanted.size.map(loadline_units::Bytes::get),
                iops: None,
                throughput_bytes_per_s: None,
            }),
            price_month: self.price(market, set, machine),
            binding,
            next,
            used,
            latency_ns,
            replayed: Vec::new(),
            scenarios: ScenariosMet { met: met as u32, of: of as u32 },
            burst_ends_s: day.as_ref().and_then(|day| day.burst_ends.as_ref()).map(|(at, _)| *at),
            short_share: day.map(|day| day.short),
            regret: None,
            doubts: Vec::new(),
            environment: String::new(),
        };
        candidate.doubts = self.doubts_of(&candidate, set, machine);
        candidate.environment = environment_text(&candidate);
        candidate
    }

    /// What binds at the need as published, and what would next.
    fn bounds(&self, set: &DiskSet, machine: &MachineOffer) -> (Bound, Option<Bound>, f64) {
        let nothing = Bound {
            limit: "unexplained".to_owned(),
            source: "no limit is known".to_owned(),
            ceiling_iops: 0.0,
            headroom: 0.0,
        };
        let Some(environment) = environment(self.catalog, &machine.figures, set) else { return (nothing, None, 0.0) };
        let spec = environment.spec(&Draw::PUBLISHED);
        let Some(volume) = spec.volumes.first() else { return (nothing, None, 0.0) };
        let cached = Cached { mode: set.host_cache, hits: machine.hits(set, self.need.hot) };
        let case = &self.cases[0];
        let flow = case.peak_flow(set.layout);
        let mut all: Vec<(Station, crate::flow::Used)> = stations(&spec, volume, cached)
            .into_iter()
            .flat_map(|station| {
                let used = station.used(flow);
                used.into_iter().flatten().map(move |used| (station.clone(), used)).collect::<Vec<_>>()
            })
            .collect();
        // A recorded peak may run on credits: the rate in a burst binds it. What lasts binds the mean.
        let lasting = case.mean_requests_per_s() / case.peak.requests_per_s().max(1e-9);
        let share = |used: &crate::flow::Used| {
            if case.is_steady { used.share } else { used.share_in_burst.max(used.share * lasting) }
        };
        // At the rate that a limit allows for good its credits are not spent: another limit of that rate is the one.
        let place = |(station, used): &(Station, crate::flow::Used)| {
            let is_spent = limit_name(station, used) == Limit::BurstExhausted.name();
            share(used) * if is_spent { 1.0 - 1e-9 } else { 1.0 }
        };
        all.sort_by(|a, b| place(b).total_cmp(&place(a)));
        let bound = |(station, used): &(Station, crate::flow::Used)| {
            let share = share(used).max(1e-9);
            Bound {
                limit: limit_name(station, used),
                source: format!("{}: {}", station.who, station.figure(used.is_bytes)),
                ceiling_iops: flow.rates.requests_per_s() / share,
                headroom: 1.0 / share - 1.0,
            }
        };
        match all.first() {
            Some(first) => (bound(first), all.get(1).map(bound), share(&first.1)),
            None => (nothing, None, 0.0),
        }
    }

    fn price(&self, market: &Market, set: &DiskSet, machine: &MachineOffer) -> PriceMonth {
        let nothing = Provisioned::default();
        let mut items = Vec::new();
        let mut add = |what, name: &str, count, cost: Result<Cost, String>| {
            items.extend(self.items(what, name, count, cost, &market.region));
        };
        let cost = |name: &str, wanted: &Provisioned| {
            self.catalog.cost(name, wanted, &market.region).map_err(|error| error.to_string())
        };
        add(PricedPart::Machine, &machine.name, 1, cost(&machine.name, &nothing));
        add(PricedPart::DataDisks, &set.sku, set.count, cost(&set.sku, &set.wanted));
        if let Some(requests) = &set.requests {
            add(PricedPart::Requests, &set.sku, 1, Ok(requests.clone()));
        }
        if let Some(disk) = &machine.os_disk {
            add(PricedPart::SystemDisk, &disk.sku, 1, cost(&disk.sku, &disk.wanted));
        }
        let mut dates: Vec<String> = items.iter().filter_map(|item| item.date.clone()).collect();
        dates.sort_unstable();
        dates.dedup();
        let currency = [machine.price, set.price, machine.total].into_iter().flatten().next();
        PriceMonth {
            amount: items.iter().filter_map(|item| item.amount).sum(),
            currency: currency.map_or_else(|| "USD".to_owned(), |money| money.currency().to_string()),
            complete: items.iter().all(|item| item.amount.is_some()),
            estimated: items.iter().any(|item| !item.estimated.is_empty()),
            dates,
            items,
        }
    }

    /// What is paid for, at its list price, and what is taken off that.
    fn items(
        &self,
        what: PricedPart,
        name: &str,
        count: u32,
        cost: Result<Cost, String>,
        region: &str,
    ) -> Vec<PricedItem> {
        let price = self.catalog.price_in(name, region).filter(|_| cost.is_ok());
        let plain = PricedItem {
            what,
            off: None,
            share: None,
            name: name.to_owned(),
            count,
            amount: None,
            date: price.as_ref().and_then(|price| price.date.clone()),
            fetched: price.as_ref().and_then(|price| price.fetched.clone()),
            estimated: Vec::new(),
            terms: price.as_ref().and_then(|price| price.terms.clone()),
            source: price.map(|price| price.source),
            missing: None,
        };
        let cost = match cost {
            Ok(cost) => cost,
            Err(missing) => return vec![PricedItem { missing: Some(missing), ..plain }],
        };
        let (of_commitment, estimated) = cost.estimated.iter().partition(|part| **part == Estimated::Commitment);
        let reduction = |found: &Reduction| {
            let taken = PricedItem {
                off: Some(what),
                amount: Some(-found.amount.times(count).amount()),
                fetched: None,
                terms: None,
                ..plain.clone()
            };
            match &found.why {
                ReductionReason::Commitment { share, source, date, terms, .. } => PricedItem {
                    what: PricedPart::Commitment,
                    share: Some(share.complement().as_f64()),
                    source: Some(source.clone()),
                    date: date.clone(),
                    terms: terms.clone(),
                    estimated: Vec::clone(&of_commitment),
                    ..taken
                },
                ReductionReason::Discount { share } => PricedItem {
                    what: PricedPart::Discount,
                    share: Some(share.as_f64()),
                    source: None,
                    date: None,
                    ..taken
                },
            }
        };
        let first = PricedItem {
            amount: Some(cost.at_list().times(count).amount()),
            date: cost.dates.iter().min().cloned().or_else(|| plain.date.clone()),
            estimated,
            ..plain.clone()
        };
        [first].into_iter().chain(cost.reductions.iter().map(reduction)).collect()
    }

    fn doubts_of(&self, candidate: &Candidate, set: &DiskSet, machine: &MachineOffer) -> Vec<AdviceDoubt> {
        let mut doubts = Vec::new();
        if !candidate.price_month.complete {
            let missing = candidate.price_month.items.iter().filter_map(|item| item.missing.clone()).collect();
            doubts.push(AdviceDoubt::NotPriced { missing });
        }
        let estimated = candidate.price_month.items.iter().filter(|item| !item.estimated.is_empty());
        let estimated: Vec<EstimatedItem> =
            estimated.map(|item| EstimatedItem { name: item.name.clone(), parts: item.estimated.clone() }).collect();
        doubts.extend((!estimated.is_empty()).then_some(AdviceDoubt::EstimatedPrices { items: estimated }));
        if let Some(today) = self.options.today.as_deref().and_then(days) {
            let is_old = |date: &&String| days(date).is_some_and(|date| today - date > PRICE_DAYS_MAX);
            let dates: Vec<String> = candidate.price_month.dates.iter().filter(is_old).cloned().collect();
            doubts.extend((!dates.is_empty()).then_some(AdviceDoubt::OldPrices { dates }));
        }
        if self.catalog.lacks_commitment(&machine.name) {
            doubts.push(AdviceDoubt::NotCommitted { machine: machine.name.clone() });
        }
        if self.catalog.has_cpu_credits(&machine.name) {
            doubts.push(AdviceDoubt::CpuCredits);
        }
        if let Some(environment) = environment(self.catalog, &machine.figures, set) {
            doubts.extend(environment.deviations(VOLUME).into_iter().map(|(disk, deviation)| {
                AdviceDoubt::KnownDeviation { disk: disk.clone(), measured: deviation.measured.clone() }
            }));
            doubts.extend(
                environment
                    .uncapped()
                    .into_iter()
                    .map(|name| AdviceDoubt::AllowanceUnknown { machine: machine.name.clone(), disks: name.clone() }),
            );
        }
        if set.host_cache != HostCache::None && machine.figures.cached.is_none() {
            doubts.push(AdviceDoubt::HostCacheEstimated);
        }
        if !self.need_is_one_size() {
            doubts.push(AdviceDoubt::SizesDiffer);
        }
        doubts
    }

    fn need_is_one_size(&self) -> bool {
        let peak = self.cases[0].peak;
        if peak.reads_per_s <= 0.0 || peak.writes_per_s <= 0.0 {
            return true;
        }
        let (small, large) = (peak.read_size.min(peak.write_size), peak.read_size.max(peak.write_size));
        large <= ONE_SIZE * small
    }
}

/// What a choice did in each scenario.
pub(crate) struct InScenarios {
    met: Vec<bool>,
    latencies: Vec<f64>,
    middle: Option<f64>,
    day: Option<DayResult>,
}

impl InScenarios {
    fn range(&self) -> Option<LatencyRange> {
        let mut sorted = self.latencies.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted.get(((sorted.len().checked_sub(1)?) as f64 * share).round() as usize).copied();
        let (low, high) = (at(0.05)?, at(0.95)?);
        let middle = self.middle.or_else(|| at(0.5))?;
        Some(LatencyRange { p99: middle as u64, p99_low: low.min(middle) as u64, p99_high: high.max(middle) as u64 })
    }
}

/// The name of a limit: once credits are spent it is another.
pub(crate) fn limit_name(station: &Station, used: &crate::flow::Used) -> String {
    let bursts = if used.is_bytes {
        station.budget.throughput.is_some_and(|found| bursts(found, |budget| budget.burst.is_some()))
    } else {
        station.budget.iops.is_some_and(|found| bursts(found, |budget| budget.burst.is_some()))
    };
    if bursts { Limit::BurstExhausted.name().to_owned() } else { used.limit.name().to_owned() }
}

fn bursts<T: Copy>(found: loadline_disk::Directions<T>, test: impl Fn(&T) -> bool) -> bool {
    match found {
        loadline_disk::Directions::Together(both) => test(&both),
        loadline_disk::Directions::Apart { read, write } => read.iter().chain(&write).any(test),
        loadline_disk::Directions::Traded { .. } => false,
    }
}

/// The disks of a set.
pub(crate) fn choice(set: &DiskSet) -> DiskChoice {
    DiskChoice {
        sku: set.sku.clone(),
        count: set.count,
        size_bytes: set.wanted.size.map(loadline_units::Bytes::get),
        iops: set.wanted.iops.map(loadline_units::Iops::get),
        throughput_bytes_per_s: set.wanted.throughput.map(loadline_units::ByteRate::get),
    }
}

fn volume_choice(set: &DiskSet) -> VolumeChoice {
    VolumeChoice {
        name: VOLUME.to_owned(),
        disks: vec![choice(set)],
        layout: if set.count > 1 { "stripe" } else { "single" }.to_owned(),
        columns: set.count,
        interleave_bytes: (set.count > 1).then_some(INTERLEAVE.get()),
        host_cache: match set.host_cache {
            HostCache::None => "none",
            HostCache::ReadOnly => "read-only",
            HostCache::ReadWrite => "read-write",
        }
        .to_owned(),
    }
}

/// Disks, layout and cache in words.
pub(crate) fn set_words(set: &DiskSet) -> String {
    volume_choice(set).words()
}

/// Days since 1970 of an ISO date; `None` of other texts.
fn days(date: &str) -> Option<i64> {
    loadline_units::Date::of_text(date.get(..10)?).map(loadline_units::Date::days)
}
