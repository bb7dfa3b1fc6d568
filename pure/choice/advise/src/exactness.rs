//! Proof of the search: against every pair tried, by the ceilings of predictions, over parts of the catalog, for random needs.

use crate::cases::{cases, reference, scenarios};
use crate::disk_sets::{DiskSet, SetsFor, VOLUME};
use crate::judging::ByLimits;
use crate::machines::{MachineOffer, cost, environment};
use crate::need::{Need, Rates, Wanted};
use crate::search::Search;
use crate::stock::Stock;
use loadline_catalog::{Catalog, Draw, Kind};
use loadline_disk::Layout;
use loadline_prediction::{Model, ceilings};
use loadline_record::Limit;
use loadline_units::{Bytes, Iops, Ratio};
use loadline_workload::{Arrival, BlockShare, LoadSpec};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A region with fewer machines proves little.
const MACHINES_LEAST: usize = 12;
const BLOCKS: [u64; 6] = [4096, 8192, 16_384, 65_536, 262_144, 1 << 20];

fn below(random: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    random.next_u64() % bound
}

fn load(rates: &Rates) -> Option<LoadSpec> {
    Some(LoadSpec {
        reads: Ratio::ppm((rates.read_share() * 1e6).round() as u32)?,
        blocks: vec![BlockShare { size: Bytes::new(rates.read_size as u64), share: Ratio::ONE }],
        arrival: Arrival::Poisson { rate: Iops::per_second(rates.requests_per_s().round() as u64)? },
        ..LoadSpec::default()
    })
}

/// The lowest ceiling of a pair for a load, by the arithmetic of predictions.
fn lowest(
    catalog: &Catalog,
    set: &DiskSet,
    machine: &MachineOffer,
    rates: &Rates,
    draw: Draw,
    hits: f64,
) -> Option<f64> {
    let environment = environment(catalog, &machine.figures, set)?;
    let model = Model::new(&environment, 0, draw);
    let found = ceilings(&model, VOLUME, &load(rates)?, hits).ok()?;
    let limits = found.list().into_iter().filter(|one| !matches!(one.limit, Limit::Arrival | Limit::Latency));
    Some(limits.map(|one| one.iops).fold(f64::INFINITY, f64::min))
}

struct Question {
    need: Need,
    sets: Vec<DiskSet>,
    machines: Vec<MachineOffer>,
}

/// A random need over some disks and machines of a random provider, at the prices of a random region.
fn question(catalog: &Catalog, seed: u64) -> Question {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let providers = ["aws", "azure", "gcp"];
    let provider = providers[below(&mut random, 3) as usize];
    let mut regions = catalog.price_regions(provider);
    regions.retain(|region| catalog.listed(provider, region, Kind::Vm).len() >= MACHINES_LEAST);
    let region = regions.swap_remove(below(&mut random, regions.len() as u64) as usize);
    let rate = 10.0_f64.powf(2.0 + below(&mut random, 1000) as f64 / 1000.0 * 2.7).round();
    let reads = (below(&mut random, 11) as f64) / 10.0;
    let block = BLOCKS[below(&mut random, 6) as usize] as f64;
    let rates =
        Rates { reads_per_s: rate * reads, writes_per_s: rate * (1.0 - reads), read_size: block, write_size: block };
    let mut need = Need::steady("random", rates, Bytes::gib(1 + below(&mut random, 2_000)));
    need.hot = (below(&mut random, 3) == 0).then(|| Bytes::gib(1 + below(&mut random, 200)));
    let mut disks = catalog.network_disks_sold(provider);
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.push(disks.swap_remove(below(&mut random, disks.len() as u64) as usize));
    }
    let all = cases(&need);
    let scenarios = scenarios(1, seed);
    let at = reference(&scenarios, 1, need.sure);
    let flow_of = |layout: Layout| all[0].peak_flow(layout).clone();
    let wanted = Wanted { os_disk: Some(Bytes::gib(32)), ..Wanted::default() };
    let stock = Stock::default();
    stock.keep_to(&wanted, at.draw);
    let sets_for = SetsFor {
        catalog,
        draw: at.draw,
        stock: &stock,
        flow_of: &flow_of,
        size: need.size,
        disks_max: 5,
        hits_at_best: need.hot.map(|_| 1.0),
        is_steady: true,
        objective: None,
        latency_place: Ratio::percent(95),
    };
    let sets = taken.into_iter().flat_map(|disk| sets_for.of(disk));
    let sets: Vec<DiskSet> = sets.map(|set| set.priced(catalog, &region, 1_000_000_000)).collect();
    let mut machines = stock.machines(catalog, provider, &region).priced.clone();
    while machines.len() > 12 {
        machines.remove(below(&mut random, machines.len() as u64) as usize);
    }
    Question { need, sets, machines }
}

/// The search for one random need beside every pair tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairCheck {
    /// The price that the search found, in billionths; `None`: nothing carries the need.
    pub searched: Option<u128>,
    /// The lowest price of all pairs that carry it.
    pub tried: Option<u128>,
    /// How many pairs there are.
    pub pairs: u64,
}

/// Searches for a random need over a random part of the catalog, and tries every pair of it by the ceilings of predictions.
///
/// `None` if a pair has no ceilings.
#[must_use]
pub fn check_against_every_pair(catalog: &Catalog, seed: u64) -> Option<PairCheck> {
    let Question { need, sets, machines } = question(catalog, seed);
    let all = cases(&need);
    let draw = reference(&scenarios(1, seed), 1, need.sure).draw;
    let judge =
        ByLimits { catalog, draw, case: &all[0], hot: need.hot, time_met: need.time_met, slack: 1.0, fast_only: true };
    let searched = Search::new(&sets, &machines, &judge).next().map(|pair| pair.price);
    let rates = all[0].peak;
    let (mut tried, mut pairs): (Option<u128>, u64) = (None, 0);
    for set in sets.iter().filter(|set| set.price.is_some()) {
        for machine in machines.iter().filter(|machine| machine.takes(set)) {
            pairs += 1;
            let price = cost(set.price) + cost(machine.total);
            if tried.is_some_and(|best| price >= best) {
                continue;
            }
            let hits = machine.hits(set, need.hot);
            if lowest(catalog, set, machine, &rates, draw, hits)? >= rates.requests_per_s() * (1.0 - 1e-9) {
                tried = Some(price);
            }
        }
    }
    Some(PairCheck { searched, tried, pairs })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Cached, Flow, LayoutSplit, stations};
    use loadline_disk::HostCache;

    #[test]
    fn shares_of_limits_are_those_of_a_predictions_ceilings() {
        let catalog = Catalog::builtin();
        let mut compared = 0;
        for seed in 1_000..1_012 {
            let Question { need, sets, machines } = question(&catalog, seed);
            let rates = cases(&need)[0].peak;
            for set in sets.iter().filter(|set| set.host_cache != HostCache::ReadWrite).step_by(3) {
                for machine in machines.iter().filter(|machine| machine.takes(set)).step_by(4) {
                    let hits = machine.hits(set, need.hot);
                    let model = environment(&catalog, &machine.figures, set).unwrap().spec(&Draw::MIDDLE);
                    let flow = Flow::of(&rates, LayoutSplit::of(set.layout), false);
                    let cached = Cached { mode: set.host_cache, hits };
                    let share = stations(&model, &model.volumes[0], cached)
                        .iter()
                        .map(|one| one.share(&flow))
                        .fold(0.0, f64::max);
                    let ceiling = lowest(&catalog, set, machine, &rates, Draw::MIDDLE, hits);
                    let expected = rates.requests_per_s() / ceiling.unwrap();
                    assert!((share / expected - 1.0).abs() < 1e-3, "{} {}: {share} {expected}", machine.name, set.sku);
                    compared += 1;
                }
            }
        }
        assert!(compared > 100, "{compared}");
    }
}
