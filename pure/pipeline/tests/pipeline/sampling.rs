//! How much a test tries: a sample by a seed in a gate, everything with `LOADLINE_TEST_LONG=1`.

/// A sample may miss a bound that is kept with this probability.
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

/// The most of `n` that come at `rate` each with a probability above [`RISK`]; of a whole proof the rate itself.
pub(crate) fn allowed(n: u64, rate: f64) -> u64 {
    if is_long() {
        return (n as f64 * rate) as u64;
    }
    let mut term = (1.0 - rate).powf(n as f64);
    let (mut sum, mut k) = (term, 0u64);
    while 1.0 - sum > RISK && k < n {
        k += 1;
        term *= (n - k + 1) as f64 / k as f64 * rate / (1.0 - rate);
        sum += term;
    }
    k
}
