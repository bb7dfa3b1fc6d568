//! Rates of false and of right verdicts.

use crate::bounds::{least, most, tried};
use crate::noise::{CALM, Made, Noise, ROUGH, Random, SHARED, closed_loops, made, open_loops, queued};
use loadline_analysis::example::volume;
use loadline_analysis::{CompareOptions, Comparison, Verdict, compare};
use loadline_record::{LoadFigures, RunRecord, TrialRecord};

/// Pairs of runs; the gate tries a fifth of them.
const PAIRS: u64 = 200;

fn compared(a: &RunRecord, b: &RunRecord) -> Comparison {
    compare(&[a, b], &CompareOptions::default()).unwrap()
}

/// Every verdict of a comparison: overall and of each cell.
fn verdicts(comparison: &Comparison) -> Vec<Verdict> {
    let against = &comparison.against[0];
    against.overall.iter().map(|o| o.verdict).chain(against.cells.iter().map(|c| c.verdict)).collect()
}

fn different(comparison: &Comparison) -> bool {
    verdicts(comparison).iter().any(|v| matches!(v, Verdict::Better | Verdict::Worse))
}

/// In how many of so many pairs of runs of the same thing anything at all is called different.
fn false_calls(pairs: u64, loads: &[LoadFigures], how: impl Fn(u64) -> Made) -> usize {
    let same = |_: usize| 1.0;
    let falsely =
        |pair: &u64| different(&compared(&made(loads, how(2 * pair), same), &made(loads, how(2 * pair + 1), same)));
    (0..pairs).filter(falsely).count()
}

/// Of pairs of which the second does everything at `factor` of the first: how many are found overall, and the share of cells
/// that are found each by itself.
fn found(pairs: u64, loads: &[LoadFigures], factor: f64, how: impl Fn(u64) -> Made) -> (usize, f64) {
    let wanted = if factor < 1.0 { Verdict::Worse } else { Verdict::Better };
    let (mut overall, mut cells) = (0, 0);
    for pair in 0..pairs {
        let (a, b) = (made(loads, how(2 * pair), |_| 1.0), made(loads, how(2 * pair + 1), |_| factor));
        let against = compared(&a, &b).against.remove(0);
        overall += usize::from(against.overall[0].verdict == wanted);
        cells += against.cells.iter().filter(|c| c.verdict == wanted).count();
    }
    (overall, cells as f64 / (pairs as usize * loads.len()) as f64)
}

/// Half of them rates, half latencies under arrivals.
fn mixed(count: usize) -> Vec<LoadFigures> {
    closed_loops(count / 2).into_iter().chain(open_loops(count - count / 2)).collect()
}

fn at_most(share: f64, of: u64, got: usize) -> bool {
    got as u64 <= most(share, of)
}

fn at_least(share: f64, of: u64, got: usize) -> bool {
    got as u64 >= least(share, of)
}

/// Whether a share of the cells of so many pairs may be `share`: cells of one pair have its noise in common.
fn share_is_at_least(share: f64, pairs: u64, got: f64) -> bool {
    got >= least(share, pairs) as f64 / pairs as f64
}

#[test]
fn runs_of_the_same_thing_are_seldom_called_different() {
    let pairs = tried(PAIRS);
    for noise in [CALM, SHARED, ROUGH] {
        let by_default = |seed| Made::by_default(seed, noise);
        for loads in [closed_loops(1), mixed(6)] {
            let falsely = false_calls(pairs, &loads, by_default);
            println!("{noise:?}, {} cells: {falsely} of {pairs}", loads.len());
            assert!(at_most(0.05, pairs, falsely), "{noise:?}: {falsely} of {pairs} pairs");
        }
    }
}

#[test]
fn cells_with_noise_of_their_own_are_seldom_called_different() {
    let pairs = tried(PAIRS);
    // From a tenth of a percent to ten.
    let factors = |seed: u64| {
        move |i: usize| (Random::new(seed * 31 + i as u64).normal() * 0.001 * [1.0, 3.0, 9.0, 27.0, 81.0][i % 5]).exp()
    };
    let still = Noise { trials: 0.0, ..CALM };
    let falsely = (0..pairs).filter(|pair| {
        let of = |seed: u64| {
            // Every trial of a cell has its own level: five runs of one trial each, put together.
            let mut runs = (0..5).map(|t| {
                made(
                    &closed_loops(10),
                    Made { trials: 1, ..Made::by_default(5 * seed + t, still) },
                    factors(5 * seed + t),
                )
            });
            let mut all = runs.next().unwrap();
            for (number, run) in (1..).zip(runs) {
                for (cell, more) in all.cells.iter_mut().zip(run.cells) {
                    cell.trials.extend(more.trials.into_iter().map(|t| TrialRecord { trial: number, ..t }));
                }
            }
            all
        };
        different(&compared(&of(2 * pair), &of(2 * pair + 1)))
    });
    let falsely = falsely.count();
    println!("{falsely} of {pairs}");
    assert!(at_most(0.05, pairs, falsely), "{falsely} of {pairs} pairs");
}

#[test]
fn runs_five_percent_apart_are_found() {
    let pairs = tried(PAIRS);
    let cases = [
        (CALM, closed_loops(1), 0.80),
        (SHARED, closed_loops(1), 0.80),
        (SHARED, closed_loops(4), 0.80),
        (SHARED, closed_loops(12), 0.80),
    ];
    for (noise, loads, of_cells) in cases {
        for factor in [1.05, 0.95] {
            let (overall, cells) = found(pairs, &loads, factor, |seed| Made::by_default(seed, noise));
            println!("{noise:?}, {} cells at {factor}: {overall} of {pairs}, {cells:.2} of cells", loads.len());
            assert!(share_is_at_least(of_cells, pairs, cells), "{noise:?} at {factor}: {cells} of cells");
            let alone = loads.len() == 1;
            assert!(alone || at_least(0.80, pairs, overall), "{noise:?} at {factor}: {overall} of {pairs} pairs");
        }
    }
}

#[test]
fn rounds_that_move_all_cells_are_no_difference() {
    let pairs = tried(PAIRS);
    // What all cells of a round have in common is known from five rounds, however many cells there are.
    let moved = Noise { rounds: 0.03, ..CALM };
    for count in [4, 12] {
        let falsely = false_calls(pairs, &closed_loops(count), |seed| Made::by_default(seed, moved));
        println!("{count} cells: {falsely} of {pairs}");
        assert!(at_most(0.05, pairs, falsely), "{count} cells: {falsely} of {pairs} pairs");
    }
}

#[test]
fn a_trial_that_something_else_slowed_down_is_no_difference() {
    let pairs = tried(PAIRS);
    // Every twelfth trial is 10 % slower: nearly every other cell of two runs has one.
    let noise = Noise { odd: 0.08, ..CALM };
    for count in [1, 4, 12] {
        let by_default = |seed| Made::by_default(seed, noise);
        let falsely = false_calls(pairs, &closed_loops(count), by_default);
        let (overall, cells) = found(pairs, &closed_loops(count), 0.95, by_default);
        println!("{count} cells: {falsely} of {pairs}; found {overall}, {cells:.2} of cells");
        assert!(at_most(0.05, pairs, falsely), "{count} cells: {falsely} of {pairs} pairs");
    }
}

#[test]
fn a_calm_run_against_a_rough_one_is_no_difference() {
    let pairs = tried(PAIRS);
    for count in [1, 4, 12] {
        let of = |seed: u64| Made::by_default(seed, if seed.is_multiple_of(2) { CALM } else { ROUGH });
        let falsely = false_calls(pairs, &closed_loops(count), of);
        println!("{count} cells: {falsely} of {pairs}");
        assert!(at_most(0.05, pairs, falsely), "{count} cells: {falsely} of {pairs} pairs");
    }
}

#[test]
fn two_hundred_cells_turn_up_nothing_where_there_is_nothing() {
    let runs = tried(60);
    for noise in [SHARED, ROUGH] {
        let falsely = false_calls(runs, &closed_loops(200), |seed| Made::by_default(seed, noise));
        println!("{noise:?}: {falsely} of {runs}");
        assert!(at_most(0.05, runs, falsely), "{noise:?}: {falsely} of {runs} runs");
    }
}

#[test]
fn one_trial_on_either_side_is_judged_by_its_seconds() {
    let pairs = tried(PAIRS);
    // Trials that differ by nothing but their seconds: what one trial cannot see is not there.
    let alone = |seed| Made { seed, trials: 1, seconds: 60, noise: Noise { trials: 0.0, ..SHARED } };
    let falsely = false_calls(pairs, &mixed(4), alone);
    let (overall, _) = found(pairs, &closed_loops(4), 0.95, alone);
    println!("{falsely} of {pairs} falsely, {overall} found");
    assert!(at_most(0.05, pairs, falsely), "{falsely} of {pairs} pairs");
    assert!(at_least(0.80, pairs, overall), "{overall} of {pairs} pairs");
}

#[test]
fn a_drift_that_both_volumes_share_is_no_difference_and_hides_none() {
    let pairs = tried(PAIRS);
    // Each round is 10 % off the others: volumes of one run share it, and pairs of trials leave it out.
    let drifting = Noise { rounds: 0.10, ..CALM };
    let (mut falsely, mut right) = (0, 0);
    for pair in 0..pairs {
        let loads = closed_loops(4);
        let volumes =
            |factor: f64| {
                let both: Vec<LoadFigures> = loads.iter().chain(&loads).cloned().collect();
                let mut run = made(&both, Made { trials: 5, ..Made::by_default(pair, drifting) }, |i| {
                    if i < 4 { 1.0 } else { factor }
                });
                run.header.volumes = vec![volume("a"), volume("b")];
                for (i, cell) in run.cells.iter_mut().enumerate() {
                    cell.volume = if i < 4 { "a" } else { "b" }.to_owned();
                }
                compare(&[&run], &CompareOptions::default()).unwrap()
            };
        falsely += usize::from(different(&volumes(1.0)));
        right += usize::from(volumes(0.95).against[0].overall[0].verdict == Verdict::Worse);
    }
    println!("{falsely} falsely, {right} found of {pairs}");
    assert!(at_most(0.05, pairs, falsely), "{falsely} of {pairs}");
    assert!(at_least(0.80, pairs, right), "{right} of {pairs}");
}

#[test]
fn open_loops_about_the_most_that_a_disk_serves_are_seldom_called_different() {
    let pairs = tried(PAIRS);
    // Below it, at it, where either side may fall behind by chance, and beyond it. One trial alone is too few for a p99 near a knee
    // (docs/inside/how-we-compare.md), so with one the load is beyond.
    let several = (5, SHARED, &[1_050.0, 1_010.0, 1_000.0, 985.0, 960.0, 700.0][..]);
    let one = (1, Noise { trials: 0.0, ..SHARED }, &[985.0, 960.0, 700.0][..]);
    for (trials, noise, capacities) in [several, one] {
        for capacity in capacities {
            let of = |seed: u64| queued(1_000.0, *capacity, Made { trials, ..Made::by_default(seed, noise) });
            let falsely = (0..pairs).filter(|pair| different(&compared(&of(2 * pair), &of(2 * pair + 1)))).count();
            println!("{trials} trials, {capacity} IOPS: {falsely} of {pairs}");
            assert!(at_most(0.05, pairs, falsely), "{trials} trials, {capacity} IOPS: {falsely} of {pairs} pairs");
        }
    }
}

#[test]
fn a_disk_that_no_longer_keeps_up_is_found() {
    let pairs = tried(PAIRS);
    for (trials, noise) in [(5, SHARED), (1, Noise { trials: 0.0, ..SHARED })] {
        for (capacity, share) in [(900.0, 0.80), (600.0, 0.95)] {
            let of =
                |seed: u64, capacity: f64| queued(1_000.0, capacity, Made { trials, ..Made::by_default(seed, noise) });
            let worse = |pair: &u64| {
                let comparison = compared(&of(2 * pair, 4_000.0), &of(2 * pair + 1, capacity));
                comparison.against[0].cells[0].verdict == Verdict::Worse
            };
            let found = (0..pairs).filter(worse).count();
            println!("{trials} trials, {capacity} of 1,000 IOPS: {found} of {pairs}");
            assert!(at_least(share, pairs, found), "{trials} trials, {capacity} IOPS: {found} of {pairs} pairs");
        }
    }
}
