//! Needs drawn at random: where an advice says that nothing meets one, no choice with a given number of vCPUs does either.

use crate::days::{between, unit};
use crate::exactness::is_long;
use crate::{by_p99, rates};
use loadline_advise::{AdviceOptions, Need, advise};
use loadline_catalog::Catalog;
use loadline_units::Bytes;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Needs in the gate, and in its long form.
const NEEDS: u64 = 2;
const NEEDS_LONG: u64 = 200;
const VCPUS: [u32; 5] = [2, 4, 8, 16, 32];

/// From 300 to 100,000 requests a second.
fn need(seed: u64) -> Need {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let iops = 10.0_f64.powf(between(&mut random, 2.5, 5.0));
    let block = [4096, 8192, 16_384, 65_536][(unit(&mut random) * 4.0) as usize];
    let reads = between(&mut random, 0.0, 1.0);
    let size = Bytes::gib(10.0_f64.powf(between(&mut random, 1.5, 3.5)) as u64);
    let provider = ["aws", "azure", "gcp"][(unit(&mut random) * 3.0) as usize];
    by_p99(rates(iops, reads, block), size, provider)
}

#[test]
fn nothing_meets_a_need_only_where_no_number_of_cpus_does() {
    let catalog = Catalog::builtin();
    let options = AdviceOptions { rows: 1, ..AdviceOptions::default() };
    let wins = |need: &Need| advise(need, &catalog, &options).is_ok_and(|advice| advice.winner().is_some());
    let mut found = Vec::new();
    for seed in 0..if is_long() { NEEDS_LONG } else { NEEDS } {
        let need = need(seed);
        if wins(&need) {
            continue;
        }
        for vcpus in VCPUS {
            let mut sized = need.clone();
            sized.wanted.vcpus = Some(vcpus);
            if wins(&sized) {
                found.push((seed, vcpus));
                break;
            }
        }
    }
    assert!(found.is_empty(), "met with so many vCPUs, and by nothing without: {found:?}");
}

/// Needs whose first rows are looked at, in the gate and in its long form; each in a region drawn at random.
const PRICED: u64 = 3;
const PRICED_LONG: u64 = 100;
/// Rows that are looked at.
const ROWS: usize = 5;

#[test]
fn the_cheapest_rows_are_priced_in_full_anywhere() {
    let catalog = Catalog::builtin();
    let options = AdviceOptions { simulate: false, ..AdviceOptions::default() };
    let (mut rows, mut at_least, mut may_be_cheaper) = (0_usize, 0_usize, 0_usize);
    for seed in 0..if is_long() { PRICED_LONG } else { PRICED } {
        let mut need = need(seed);
        need.objective = None;
        let regions = catalog.price_regions(&need.wanted.providers[0]);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed + 1_000);
        need.wanted.regions = vec![regions[(unit(&mut random) * regions.len() as f64) as usize].clone()];
        let Ok(advice) = advise(&need, &catalog, &options) else { continue };
        let first = advice.candidates.iter().take(ROWS);
        rows += first.clone().count();
        at_least += first.filter(|row| !row.price_month.complete).count();
        let Some(dearest) = advice.candidates.iter().take(ROWS).map(|row| row.price_month.amount).reduce(f64::max)
        else {
            continue;
        };
        may_be_cheaper += advice.unpriced.iter().filter(|row| row.price_month.amount < dearest).count();
    }
    println!(
        "{at_least} of {rows} rows are \"at least\"; {may_be_cheaper} choices without a complete price may be cheaper"
    );
    assert!(rows > 0 && at_least * 100 < rows * 3, "{at_least} of {rows}");
}
