//! Derivatives of the logarithm of the gamma function, for how variances scatter.

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
}
