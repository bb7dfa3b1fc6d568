//! The incomplete gamma function and derivatives of the logarithm of the gamma function, for how variances scatter.

/// From here on the asymptotic series is exact to ten digits.
const FAR: f64 = 8.0;

/// The first derivative, of values above 0 (Abramowitz and Stegun 6.3.5 and 6.3.18).
pub(crate) fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < FAR {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    sum + libm::log(x) - 0.5 / x - y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)))
}

/// The second derivative, of values above 0 (6.4.6 and 6.4.12).
pub(crate) fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < FAR {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    sum + 1.0 / x + y / 2.0 + y / x * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)))
}

/// Terms of the series, at most: it converges long before.
const TERMS_MAX: u32 = 10_000;

/// How often the variance of normal values comes to no more than `share` of what they scatter by (a chi-squared value of `freedom`
/// degrees; the series of Abramowitz and Stegun 6.5.29).
pub(crate) fn variance_below(share: f64, freedom: f64) -> f64 {
    let (a, x) = (freedom / 2.0, share * freedom / 2.0);
    if x <= 0.0 {
        return 0.0;
    }
    let (mut term, mut sum) = (1.0 / a, 1.0 / a);
    for n in 1..TERMS_MAX {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * 1e-12 {
            break;
        }
    }
    (sum * libm::exp(a * libm::log(x) - x - libm::lgamma(a))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    #[test]
    fn they_are_those_of_the_tables() {
        close(digamma(1.0), -0.577_215_664_9, 1e-9);
        close(digamma(0.5), -1.963_510_026_0, 1e-9);
        close(trigamma(1.0), std::f64::consts::PI.powi(2) / 6.0, 1e-9);
        close(trigamma(0.5), std::f64::consts::PI.powi(2) / 2.0, 1e-9);
        close(trigamma(100.0), 0.010_050_166_7, 1e-10);
    }

    #[test]
    fn chi_squared_has_the_values_of_the_tables() {
        // Lower 5 % at 3, 7 and 30 degrees of freedom; the median at 2.
        for (value, freedom, wanted) in [(0.351_846, 3.0, 0.05), (2.167_35, 7.0, 0.05), (18.492_66, 30.0, 0.05)] {
            close(variance_below(value / freedom, freedom), wanted, 1e-5);
        }
        close(variance_below(std::f64::consts::LN_2, 2.0), 0.5, 1e-9);
        close(variance_below(0.0, 7.0), 0.0, 0.0);
    }
}
