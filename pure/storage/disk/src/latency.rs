//! Draws service times: log-normal by median and 99th percentile, plus a time for the bytes.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use crate::LatencySpec;

/// The 99th percentile of the standard normal distribution.
pub const NORMAL_P99: f64 = 2.326_347_874_040_841;
/// Cells of equal probability.
const CELLS: usize = 512;

/// Draws from a log-normal distribution through a table of its quantiles, linear between two of them. In the first and
/// the last cell a line would bend the tail, so the draw is computed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sampler {
    spec: LatencySpec,
    /// Logarithms of the median in ns and of one standard deviation.
    location: f64,
    scale: f64,
    /// Quantile `i / CELLS`, ns; the first and the last are not used.
    quantiles: Box<[u64; CELLS + 1]>,
}

impl Sampler {
    pub(crate) fn new(spec: LatencySpec) -> Self {
        let median = spec.median.as_ns() as f64;
        let scale = if spec.median.as_ns() == 0 || spec.p99 <= spec.median {
            0.0
        } else {
            libm::log(spec.p99.as_ns() as f64 / median) / NORMAL_P99
        };
        let location = libm::log(median.max(1.0));
        let mut quantiles = Box::new([spec.median.as_ns(); CELLS + 1]);
        if scale > 0.0 {
            for (index, quantile) in quantiles.iter_mut().enumerate().take(CELLS).skip(1) {
                *quantile = at(location, scale, index as f64 / CELLS as f64);
            }
        }
        Self { spec, location, scale, quantiles }
    }

    /// The distribution.
    pub(crate) const fn spec(&self) -> LatencySpec {
        self.spec
    }

    /// The time for `length` bytes, ns, by 64 random bits.
    #[inline(always)]
    pub(crate) fn draw(&self, bits: u64, length: u64) -> u64 {
        self.time(bits) + ((self.spec.per_kib.as_ns() * length) >> 10)
    }

    #[inline(always)]
    fn time(&self, bits: u64) -> u64 {
        let cell = (bits >> 55) as usize;
        if cell == 0 || cell == CELLS - 1 {
            return self.tail(bits);
        }
        let (low, high) = (self.quantiles[cell], self.quantiles[cell + 1]);
        let share = (bits >> 23) & 0xffff_ffff;
        low + (((high - low) * share) >> 32)
    }

    #[cold]
    fn tail(&self, bits: u64) -> u64 {
        if self.scale <= 0.0 {
            return self.spec.median.as_ns();
        }
        // The middle of one of 2^53 equal steps: neither 0 nor 1.
        let share = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        at(self.location, self.scale, share)
    }
}

/// The quantile `share` of a log-normal distribution, ns.
fn at(location: f64, scale: f64, share: f64) -> u64 {
    libm::exp(location + scale * normal_quantile(share)) as u64
}

/// The standard normal quantile of `share` in (0, 1), by P. J. Acklam's rational approximation (2003): its relative error
/// is below 1.15e-9.
#[must_use]
pub fn normal_quantile(share: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416];
    const LOW: f64 = 0.02425;
    // Horner's scheme; `mul_add` would differ between machines.
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |share: f64| {
        let q = libm::sqrt(-2.0 * libm::log(share));
        horner(&C, q) / (horner(&D, q) * q + 1.0)
    };
    if share < LOW {
        tail(share)
    } else if share > 1.0 - LOW {
        -tail(1.0 - share)
    } else {
        let q = share - 0.5;
        let r = q * q;
        horner(&A, r) * q / (horner(&B, r) * r + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (share, wanted) in
            [(0.5, 0.0), (0.99, NORMAL_P99), (0.001, -3.090_232_306_167_813), (0.9, 1.281_551_565_545)]
        {
            assert!((normal_quantile(share) - wanted).abs() < 1e-8, "{share}");
        }
    }

    #[test]
    fn draws_have_the_median_and_the_percentile_that_were_asked_for() {
        let spec = LatencySpec { median: Duration::from_ms(1), p99: Duration::from_ms(3), per_kib: Duration::ZERO };
        let sampler = Sampler::new(spec);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut draws: Vec<u64> = (0..1_000_000).map(|_| sampler.draw(random.next_u64(), 4096)).collect();
        draws.sort_unstable();
        let scale = libm::log(3.0) / NORMAL_P99;
        for (share, tolerance) in
            [(0.001, 0.03), (0.01, 0.01), (0.5, 0.003), (0.9, 0.005), (0.99, 0.01), (0.9999, 0.05)]
        {
            let wanted = 1e6 * libm::exp(scale * normal_quantile(share));
            let got = draws[(share * 1e6) as usize] as f64;
            assert!((got / wanted - 1.0).abs() < tolerance, "{share}: {got} for {wanted}");
        }
    }

    #[test]
    fn without_spread_every_draw_is_the_median_and_bytes_take_their_time() {
        let spec = LatencySpec {
            median: Duration::from_us(2_500),
            p99: Duration::from_us(2_500),
            per_kib: Duration::from_us(20),
        };
        let sampler = Sampler::new(spec);
        for bits in [0, u64::MAX, 1 << 63, 0x0123_4567_89ab_cdef] {
            assert_eq!(sampler.draw(bits, 64 * 1024), 2_500_000 + 64 * 20_000);
        }
        assert_eq!(Sampler::new(LatencySpec::default()).draw(7, 512), 0);
    }
}
