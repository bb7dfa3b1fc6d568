//! How fast a processor of this machine computes now, beside the machine on which the budget of CPU seconds was set.
//!
//! What shares a processor's core or its cache with others takes more CPU seconds for the same work: three times as many were seen
//! from one day to the next on one shared machine. The budget is one of work.

use std::hint::black_box;
use std::time::Duration;

/// Rounds of the computation.
const ROUNDS: u64 = 2_000_000;
/// The table that it reads and writes: larger than the nearest caches, as the tests' data are.
const WORDS: usize = 1 << 18;
/// What it took of a processor where the budget was set.
const REFERENCE: Duration = Duration::from_millis(50);

/// Measures taken between the tests.
#[derive(Debug, Default)]
pub(super) struct Yardstick(Vec<Duration>);

impl Yardstick {
    /// Takes a measure: some hundredths of a second.
    pub(super) fn measure(&mut self) {
        let Some(begun) = on_processor() else { return };
        black_box(computed());
        self.0.extend(on_processor().map(|ended| ended.saturating_sub(begun)));
    }

    /// How many times as long the same work takes here: at least 1, as what a faster machine saves is no work. 1 where nothing was
    /// measured.
    pub(super) fn slowness(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(REFERENCE);
        (median.as_secs_f64() / REFERENCE.as_secs_f64()).max(1.0)
    }
}

/// Steps of a generator that change a table in places that no cache foresees.
fn computed() -> u64 {
    let mut table = vec![0_u64; WORDS];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..ROUNDS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let place = usize::try_from(state % WORDS as u64).unwrap_or_default();
        table[place] = table[place].wrapping_add(state);
    }
    table.iter().fold(state, |sum, word| sum ^ word)
}

/// The time that this thread was on a processor; `None` where no kernel counts it.
fn on_processor() -> Option<Duration> {
    let counts = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(counts.split_ascii_whitespace().next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowness_is_that_of_the_median_and_never_below_one() {
        let of = |factors: &[f64]| Yardstick(factors.iter().map(|factor| REFERENCE.mul_f64(*factor)).collect());
        assert!((of(&[9.0, 2.0, 1.0]).slowness() - 2.0).abs() < 1e-6);
        assert!((of(&[0.5]).slowness() - 1.0).abs() < 1e-9);
        assert!((of(&[]).slowness() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_measure_takes_time_on_the_processor() {
        let mut yardstick = Yardstick::default();
        yardstick.measure();
        assert!(yardstick.0.iter().all(|measure| *measure > Duration::ZERO));
        assert_eq!(yardstick.0.is_empty(), on_processor().is_none());
    }
}
