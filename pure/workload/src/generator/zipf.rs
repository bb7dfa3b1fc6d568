//! Ranks with probability in proportion to 1 / rank^theta, by rejection-inversion (W. Hörmann and G. Derflinger,
//! "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996).

use rand_core::Rng;

/// A Zipf distribution over ranks `0 .. count`.
#[derive(Debug, Clone)]
pub(super) struct Zipf {
    count: f64,
    theta: f64,
    /// H(1.5) - h(1): the integral's value where the first rank begins.
    low: f64,
    /// H(count + 0.5).
    high: f64,
    /// Ranks within this distance of the inverted point need no test.
    sure: f64,
}

impl Zipf {
    /// `theta` above 0; `count` at least 1.
    pub(super) fn new(count: u64, theta: f64) -> Self {
        let mut zipf = Self { count: count as f64, theta, low: 0.0, high: 0.0, sure: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(count as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    pub(super) fn rank(&self, random: &mut impl Rng) -> u64 {
        loop {
            let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let area = self.high + uniform * (self.low - self.high);
            let point = self.inverse(area);
            let rank = libm::floor(point + 0.5).clamp(1.0, self.count);
            if rank - point <= self.sure || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// h(x) = x^-theta.
    fn density(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }
    /// H(x), an antiderivative of h: (x^(1 - theta) - 1) / (1 - theta), the logarithm where theta is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let power = (1.0 - self.theta) * log;
        if power.abs() < 1e-9 { log } else { log * libm::expm1(power) / power }
    }
    /// H^-1.
    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.theta)).max(-1.0 + f64::EPSILON);
        let log = if scaled.abs() < 1e-9 { area } else { area * libm::log1p(scaled) / scaled };
        libm::exp(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn ranks_come_as_often_as_the_law_says() {
        for theta in [0.5, 0.99, 1.0, 1.2, 2.5] {
            let count = 50u64;
            let zipf = Zipf::new(count, theta);
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            let draws = 400_000;
            let mut seen = [0u32; 50];
            for _ in 0..draws {
                seen[zipf.rank(&mut random) as usize] += 1;
            }
            let norm: f64 = (1..=count).map(|k| (k as f64).powf(-theta)).sum();
            for (index, &times) in seen.iter().enumerate() {
                let expected = f64::from(draws) * ((index + 1) as f64).powf(-theta) / norm;
                let deviation = (f64::from(times) - expected).abs() / expected.sqrt();
                assert!(deviation < 5.0, "theta {theta}, rank {index}: {times} for {expected}");
            }
        }
    }

    #[test]
    fn a_single_rank_is_always_met() {
        let zipf = Zipf::new(1, 1.1);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        assert!((0..100).all(|_| zipf.rank(&mut random) == 0));
    }
}
