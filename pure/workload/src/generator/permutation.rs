//! A random order of 0 .. count without a table: a Feistel network over the next even power of two, walked along its cycles
//! until it falls inside.

use super::subseed;

const ROUNDS: usize = 4;

/// A bijection of `0 .. count` onto itself, chosen by a seed.
#[derive(Debug, Clone)]
pub(super) struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub(super) fn new(count: u64, seed: u64) -> Self {
        let bits = (u64::BITS - count.saturating_sub(1).leading_zeros()).max(2);
        let mut keys = [0; ROUNDS];
        for (round, key) in keys.iter_mut().enumerate() {
            *key = subseed(seed, round as u64);
        }
        Self { count, half_bits: bits.div_ceil(2), keys }
    }

    /// Where `number` (below `count`) goes. The domain is at most four times `count`, so a few steps suffice on average.
    #[inline]
    pub(super) fn image(&self, number: u64) -> u64 {
        debug_assert!(number < self.count, "{number} of {}", self.count);
        let mut image = self.scramble(number);
        while image >= self.count {
            image = self.scramble(image);
        }
        image
    }

    #[inline]
    fn scramble(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (left, right) = (right, left ^ ((mixed >> 32) & mask));
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_number_is_met_once(count in 1u64..3_000, seed in any::<u64>()) {
            let order = Permutation::new(count, seed);
            let images: BTreeSet<u64> = (0..count).map(|n| order.image(n)).collect();
            prop_assert_eq!(images.len() as u64, count);
            prop_assert!(images.iter().all(|i| *i < count));
        }
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let order = Permutation::new(100_000, 7);
        let close = (0..99_999u64).filter(|n| order.image(*n).abs_diff(order.image(n + 1)) < 100).count();
        // By chance about 2 * 100 / 100,000 of the pairs are that close.
        assert!(close < 400, "{close} close pairs");
    }
}
