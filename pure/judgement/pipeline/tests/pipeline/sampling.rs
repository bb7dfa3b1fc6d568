//! How much a test tries: a sample by a seed in a gate, everything with `LOADLINE_TEST_LONG=1`.

/// Pipelines are drawn anew for each commit: a bound that is just kept is missed with this probability.
const RISK: f64 = 1e-5;

/// Whether every case is tried.
#[expect(clippy::disallowed_methods, reason = "how much a test tries is the user's to choose")]
pub(crate) fn is_long() -> bool {
    std::env::var("LOADLINE_TEST_LONG").is_ok_and(|value| !value.is_empty() && value != "0")
}

/// What draws the sample.
#[expect(clippy::disallowed_methods, reason = "how much a test tries is the user's to choose")]
pub(crate) fn seed() -> u64 {
    std::env::var("LOADLINE_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The most of `n` that come at `rate` each with a probability above [`RISK`].
pub(crate) fn allowed(n: u64, rate: f64) -> u64 {
    // In logarithms: with many cases the first term is less than a float can be.
    let mut term = n as f64 * (-rate).ln_1p();
    let (mut sum, mut k) = (term.exp(), 0u64);
    while 1.0 - sum > RISK && k < n {
        k += 1;
        term += ((n - k + 1) as f64 / k as f64 * rate / (1.0 - rate)).ln();
        sum += term.exp();
    }
    k
}
