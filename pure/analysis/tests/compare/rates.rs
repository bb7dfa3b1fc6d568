//! Rates of false and of right verdicts.

use crate::noise::{CLOUD, Made, Noise, closed_loops, made, open_loops};
use loadline_analysis::{CompareOptions, Comparison, Verdict, compare};
use loadline_record::{LoadSummary, RunRecord};

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
fn false_calls(pairs: u64, loads: &[LoadSummary], how: impl Fn(u64) -> Made) -> usize {
    let same = |_: usize| 1.0;
    let falsely =
        |pair: &u64| different(&compared(&made(loads, how(2 * pair), same), &made(loads, how(2 * pair + 1), same)));
    (0..pairs).filter(falsely).count()
}

/// Of pairs of which the second does everything at `factor` of the first: how many are found overall, and the share of cells
/// that are found each by itself.
fn found(pairs: u64, loads: &[LoadSummary], factor: f64, how: impl Fn(u64) -> Made) -> (usize, f64) {
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

#[test]
fn print_rates() {
    for (name, noise) in [
        ("cloud", CLOUD),
        ("quiet", Noise { seconds: 0.01, alike: 0.5, trials: 0.002, rounds: 0.0 }),
        ("rough", Noise { seconds: 0.10, alike: 0.8, trials: 0.03, rounds: 0.0 }),
        ("rounds", Noise { rounds: 0.01, ..CLOUD }),
    ] {
        let by_default = |seed| Made::by_default(seed, noise);
        for count in [1, 4, 16] {
            let loads = closed_loops(count);
            println!(
                "{name} {count}: false {} of 200; 5 % apart {:?}; 0.95 {:?}",
                false_calls(PAIRS, &loads, by_default),
                found(PAIRS, &loads, 1.05, by_default),
                found(PAIRS, &loads, 0.95, by_default)
            );
        }
        println!("{name} open 8: false {}", false_calls(PAIRS, &open_loops(8), by_default));
        let one = |seed| Made { trials: 1, seconds: 60, noise: Noise { trials: 0.0, rounds: 0.0, ..noise }, seed };
        println!("{name} one trial, 4: false {}", false_calls(PAIRS, &closed_loops(4), one));
        println!("{name} one trial, open 4: false {}", false_calls(PAIRS, &open_loops(4), one));
    }
    println!("200 cells: false {} of 100", false_calls(100, &closed_loops(200), |seed| Made::by_default(seed, CLOUD)));
}
