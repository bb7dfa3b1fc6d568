//! When the rate of a warm-up is steady.

use loadline_units::{Duration, Ratio};
use serde::{Deserialize, Serialize};

/// The SNIA steady-state rule: over the last `rounds` rounds, largest minus smallest rate at most `range` of their mean, and
/// the least-squares line through them moves at most `slope` of it. (SNIA Solid State Storage Performance Test
/// Specification 2.0.2, 2020: 5 rounds, 20 %, 10 %, at most 25 rounds.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SteadyStateRule {
    /// Length of a round, in whole seconds.
    pub round: Duration,
    /// Rounds looked at together.
    pub rounds: u32,
    /// Rounds after which the measurement begins all the same, with a doubt.
    pub rounds_max: u32,
    /// Range allowed.
    pub range: Ratio,
    /// Slope allowed.
    pub slope: Ratio,
}

impl Default for SteadyStateRule {
    fn default() -> Self {
        Self {
            round: Duration::from_s(60),
            rounds: 5,
            rounds_max: 25,
            range: Ratio::percent(20),
            slope: Ratio::percent(10),
        }
    }
}

impl SteadyStateRule {
    /// Whether the last of these rates, one for each round so far, are steady. Too few rounds, a mean of zero and
    /// figures that are no numbers are not steady.
    ///
    /// The excursion of the slope is how far the least-squares line moves from the first to the last of the rounds.
    #[must_use]
    pub fn met(&self, rounds: &[f64]) -> bool {
        let count = self.rounds as usize;
        if count < 2 || rounds.len() < count {
            return false;
        }
        let window = &rounds[rounds.len() - count..];
        let mean = window.iter().sum::<f64>() / count as f64;
        if !mean.is_finite() || mean <= 0.0 {
            return false;
        }
        let (least, most) = window.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
        let middle = (count - 1) as f64 / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (index, value) in window.iter().enumerate() {
            let x = index as f64 - middle;
            products += x * (value - mean);
            squares += x * x;
        }
        let excursion = (products / squares * (count - 1) as f64).abs();
        most - least <= self.range.as_f64() * mean && excursion <= self.slope.as_f64() * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fewer_rounds_than_the_rule_looks_at_are_not_steady() {
        let rule = SteadyStateRule::default();
        assert!(!rule.met(&[]));
        assert!(!rule.met(&[100.0; 4]));
        assert!(rule.met(&[100.0; 5]));
    }

    #[test]
    fn only_the_last_rounds_count() {
        let rule = SteadyStateRule::default();
        assert!(rule.met(&[900.0, 500.0, 100.0, 101.0, 99.0, 100.0, 100.0]));
        assert!(!rule.met(&[100.0, 101.0, 99.0, 100.0, 100.0, 500.0]));
    }

    #[test]
    fn a_range_of_a_fifth_of_the_mean_is_the_most() {
        let rule = SteadyStateRule::default();
        assert!(rule.met(&[100.0, 110.0, 90.0, 110.0, 90.0]));
        assert!(!rule.met(&[100.0, 111.0, 90.0, 110.0, 89.0]));
    }

    #[test]
    fn a_line_that_moves_a_tenth_of_the_mean_is_the_most_up_or_down() {
        let rule = SteadyStateRule::default();
        assert!(rule.met(&[95.0, 97.5, 100.0, 102.5, 105.0]));
        assert!(!rule.met(&[94.0, 97.0, 100.0, 103.0, 106.0]));
        assert!(!rule.met(&[106.0, 103.0, 100.0, 97.0, 94.0]));
    }

    #[test]
    fn nothing_done_is_not_steady() {
        let rule = SteadyStateRule::default();
        assert!(!rule.met(&[0.0; 5]));
        assert!(!rule.met(&[f64::NAN, 1.0, 1.0, 1.0, 1.0]));
        assert!(!rule.met(&[f64::INFINITY; 5]));
    }

    proptest! {
        #[test]
        fn steadiness_does_not_depend_on_the_unit_of_the_rate(
            rounds in prop::collection::vec(1.0f64..1e6, 5..12), power in -8i32..8,
        ) {
            // Powers of two scale floats exactly.
            let scaled: Vec<f64> = rounds.iter().map(|v| v * 2.0f64.powi(power)).collect();
            let rule = SteadyStateRule::default();
            prop_assert_eq!(rule.met(&rounds), rule.met(&scaled));
        }
    }
}
