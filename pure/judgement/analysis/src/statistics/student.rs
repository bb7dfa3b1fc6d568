//! Student's t distribution, by the regularised incomplete beta function.

/// How often noise alone gives a t statistic at least as far from 0 as `t`, with `freedom` degrees of freedom (at least 1;
/// a fraction is allowed). P(|T| >= t) = I_x(freedom / 2, 1 / 2) with x = freedom / (freedom + t^2).
#[must_use]
pub fn t_p_value(t: f64, freedom: f64) -> f64 {
    let freedom = freedom.max(1.0);
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The t that holds a share `confidence` (above 0, below 1) of the distribution between -t and t: 2.776 for 0.95 and 4.
#[must_use]
pub fn t_quantile(confidence: f64, freedom: f64) -> f64 {
    assert!(confidence > 0.0 && confidence < 1.0, "a confidence of {confidence} is no share");
    let (mut low, mut high) = (0.0, 1.0);
    while t_p_value(high, freedom) > 1.0 - confidence {
        high *= 2.0;
    }
    // 60 halvings are more than a double's 53 bits.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if t_p_value(middle, freedom) > 1.0 - confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Regularised incomplete beta function I_x(a, b), by its continued fraction (NIST Digital Library of Mathematical
/// Functions, 8.17.22), evaluated by the modified method of Lentz.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges quickly on this side; the other follows by symmetry (8.17.4).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front =
        libm::exp(libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * libm::log(x) + b * libm::log1p(-x)) / a;
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = below;
    for step in 1..500 {
        let step = f64::from(step);
        let place = a + 2.0 * step;
        let even = step * (b - step) * x / ((place - 1.0) * place);
        let odd = -(a + step) * (a + b + step) * x / (place * (place + 1.0));
        for term in [even, odd] {
            below = 1.0 / away_from_zero(1.0 + term * below);
            above = away_from_zero(1.0 + term / above);
            fraction *= above * below;
        }
        if (above * below - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::tests::close;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, two-sided 95 % and 99 %.
        for (freedom, at_95, at_99) in [
            (1.0, 12.706, 63.657),
            (2.0, 4.303, 9.925),
            (4.0, 2.776, 4.604),
            (10.0, 2.228, 3.169),
            (30.0, 2.042, 2.750),
            (100.0, 1.984, 2.626),
        ] {
            close(t_quantile(0.95, freedom), at_95, 6e-4);
            close(t_quantile(0.99, freedom), at_99, 6e-4);
        }
        close(t_quantile(0.95, 1e7), 1.959_964, 1e-4);
    }

    #[test]
    fn one_degree_of_freedom_is_the_cauchy_distribution() {
        for t in [0.0, 0.3, 1.0, 7.0, 100.0] {
            close(t_p_value(t, 1.0), 1.0 - 2.0 / std::f64::consts::PI * libm::atan(t), 1e-12);
        }
    }

    #[test]
    fn two_degrees_of_freedom_have_a_closed_form() {
        for t in [0.1f64, 1.0, 4.0, 50.0] {
            close(t_p_value(t, 2.0), 1.0 - t / (2.0 + t * t).sqrt(), 1e-12);
        }
        close(t_p_value(f64::INFINITY, 2.0), 0.0, 0.0);
    }
}
