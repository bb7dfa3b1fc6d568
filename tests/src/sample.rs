//! What a gate tries of tests that would take minutes: a part of their cases, drawn by a seed.
//!
//! `LOADLINE_TEST_LONG=1` tries all cases. `LOADLINE_TEST_SEED` draws the part; the gate sets it from the commit and prints
//! it, so that each commit tries another part and a failure can be repeated.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Whether every case is tried.
#[must_use]
pub fn is_long() -> bool {
    std::env::var("LOADLINE_TEST_LONG").is_ok_and(|value| !value.is_empty() && value != "0")
}

/// The seed that draws the part: 0 where none is set.
///
/// # Panics
/// Where it is no number.
#[must_use]
pub fn seed() -> u64 {
    let asked = std::env::var("LOADLINE_TEST_SEED");
    asked.map_or(0, |text| text.parse().unwrap_or_else(|_| panic!("LOADLINE_TEST_SEED: {text} is no number")))
}

/// So many of the cases in their order, or all of them where every case is tried. `what` names them in the line that is
/// printed.
#[must_use]
pub fn some<T>(what: &str, cases: Vec<T>, count: usize) -> Vec<T> {
    if is_long() || cases.len() <= count {
        return cases;
    }
    let seed = seed();
    println!("{count} of {} {what}, LOADLINE_TEST_SEED={seed}; all with LOADLINE_TEST_LONG=1", cases.len());
    drawn(cases, count, seed)
}

/// So many of the cases, in their order.
fn drawn<T>(cases: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut wanted = count;
    let mut left = cases.len();
    let mut draw = |case| {
        let is_drawn = random.next_u64() % (left as u64) < wanted as u64;
        left -= 1;
        wanted -= usize::from(is_drawn);
        is_drawn.then_some(case)
    };
    cases.into_iter().filter_map(&mut draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_draws_the_same_cases_and_others_draw_others() {
        let of = |seed| drawn((0..30).collect(), 3, seed);
        assert_eq!(of(1), of(1));
        let tried: BTreeSet<Vec<u32>> = (0..20).map(of).collect();
        assert!(tried.len() > 15 && tried.iter().all(|cases| cases.len() == 3 && cases.is_sorted()), "{tried:?}");
    }

    #[test]
    fn every_case_is_drawn_by_some_seed() {
        let tried: BTreeSet<u32> = (0..200).flat_map(|seed| drawn((0..30).collect(), 3, seed)).collect();
        assert_eq!(tried.len(), 30);
    }
}
