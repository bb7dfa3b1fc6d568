//! How many pairs are tried, and how many of them may be wrong for it to be chance.
//!
//! The gate tries a sample of pairs that each commit draws anew. So a bound allows for chance: it is passed with a
//! probability of [`RISK`] where the true rate is exactly what is allowed. With `LOADLINE_TEST_LONG` five times as many
//! pairs are held to the rate itself.

/// Of each bound, at the rate that is allowed. Some 50 are held in a gate: together they fail one in 2,000 without a cause.
const RISK: f64 = 1e-5;

/// Whether every pair is tried.
#[expect(clippy::disallowed_methods, reason = "how much a test tries is the user's to choose")]
pub(crate) fn is_long() -> bool {
    std::env::var("LOADLINE_TEST_LONG").is_ok_and(|value| !value.is_empty() && value != "0")
}

/// Pairs that are tried: all, or a fifth of them.
pub(crate) fn tried(all: u64) -> u64 {
    if is_long() { all } else { all / 5 }
}

/// The probability of `k` of `n` at a rate of `share`.
fn probability(k: u64, n: u64, share: f64) -> f64 {
    let ways: f64 = (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum();
    (ways + k as f64 * share.ln() + (n - k) as f64 * (1.0 - share).ln()).exp()
}

/// The most of `n` that are no more than a rate of `share` may give.
pub(crate) fn most(share: f64, n: u64) -> u64 {
    let exact = (share * n as f64).floor() as u64;
    if is_long() { exact } else { most_by_chance(share, n) }
}

/// The least of `n` that are no fewer than a rate of `share` may give.
pub(crate) fn least(share: f64, n: u64) -> u64 {
    let exact = (share * n as f64).ceil() as u64;
    if is_long() { exact } else { n - most_by_chance(1.0 - share, n) }
}

fn most_by_chance(share: f64, n: u64) -> u64 {
    let mut more = 0.0;
    let mut k = n;
    while k > 0 && more + probability(k, n, share) < RISK {
        more += probability(k, n, share);
        k -= 1;
    }
    k
}

#[test]
fn chance_passes_a_bound_as_seldom_as_it_says() {
    // Sums of the binomial distribution, by tables: P(X > 9) is 0.00002 and P(X > 10) 0.000003 of 40 at 5 %.
    assert_eq!(most_by_chance(0.05, 40), 10);
    assert!((probability(2, 40, 0.05) - 0.2777).abs() < 1e-3);
    let all: f64 = (0..=40).map(|k| probability(k, 40, 0.05)).sum();
    assert!((all - 1.0).abs() < 1e-9, "{all}");
    // Where half of all verdicts are wrong, or a difference is found half of the time, no seed passes.
    let passes: f64 = (0..=most_by_chance(0.05, 40)).map(|k| probability(k, 40, 0.5)).sum();
    assert!(passes < 2e-3, "{passes}");
}
