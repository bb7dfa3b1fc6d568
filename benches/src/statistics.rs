//! Medians, pairwise ratios and the order of interleaved runs.

/// A figure over rounds: its median and its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MedianSpread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl MedianSpread {
    /// Of `values`; `None` when there are none.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        Some(Self { median: median(values)?, least, most })
    }
}

impl std::fmt::Display for MedianSpread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        show(self.median, self, f)
    }
}

/// A figure of all rounds together, and the single rounds: for figures in such coarse steps that the sum of all rounds
/// is more exact than the middle round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pooled {
    pub(crate) whole: f64,
    pub(crate) rounds: MedianSpread,
}

impl std::fmt::Display for Pooled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        show(self.whole, &self.rounds, f)
    }
}

fn show(middle: f64, rounds: &MedianSpread, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    // Enough digits to show a difference of 2 %, also for small ratios.
    let digits = if middle < 0.3 { 3 } else { 2 };
    write!(f, "{middle:.digits$} ({:.digits$}..{:.digits$})", rounds.least, rounds.most)
}

/// The middle of `values`, the mean of the two middle ones if their number is even; `None` if there are none.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// `ours / theirs`, round by round; rounds in which theirs is zero say nothing and are left out.
pub(crate) fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    assert_eq!(ours.len(), theirs.len(), "one figure for each round on either side");
    ours.iter().zip(theirs).filter(|(_, theirs)| **theirs > 0.0).map(|(ours, theirs)| ours / theirs).collect()
}

/// The ratio of each run to the one before it: how far a tool agrees with itself.
pub(crate) fn against_itself(values: &[f64]) -> Vec<f64> {
    ratios(values.get(1..).unwrap_or_default(), &values[..values.len().saturating_sub(1)])
}

/// Whether `ratio` is no farther from 1, up or down, than the farthest of `own`, or than the `resolution` of its
/// inputs.
pub(crate) fn is_within(ratio: f64, own: &[f64], resolution: f64) -> bool {
    let farthest = own.iter().map(|r| r.ln().abs()).fold(resolution, f64::max);
    ratio.ln().abs() <= farthest
}

/// Who runs when in `round`: each round begins with another, so that none always follows the same.
pub(crate) fn order(round: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| (round + place) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middle_ones() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    #[test]
    fn a_spread_holds_the_least_and_the_most() {
        let spread = MedianSpread::of(&[2.0, 8.0, 4.0]).unwrap();
        assert_eq!(spread, MedianSpread { median: 4.0, least: 2.0, most: 8.0 });
        assert_eq!(spread.to_string(), "4.00 (2.00..8.00)");
        assert_eq!(MedianSpread::of(&[]), None);
        assert_eq!(Pooled { whole: 0.25, rounds: spread }.to_string(), "0.250 (2.000..8.000)");
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        assert_eq!(ratios(&[2.0, 9.0, 5.0], &[1.0, 3.0, 0.0]), [2.0, 3.0]);
        assert_eq!(against_itself(&[1.0, 2.0, 1.0]), [2.0, 0.5]);
        assert!(against_itself(&[]).is_empty());
    }

    #[test]
    fn agreement_counts_alike_upwards_and_downwards() {
        assert!(is_within(0.5, &[1.1, 2.0], 0.0));
        assert!(is_within(2.0, &[0.5], 0.0));
        assert!(!is_within(2.1, &[0.5], 0.0));
        assert!(is_within(1.0, &[], 0.0));
        // 2,001 ms instead of 2,000.
        assert!(!is_within(1.0005, &[1.0], 0.0));
        assert!(is_within(1.0005, &[1.0], 0.0005));
        assert!(!is_within(1.001, &[1.0], 0.0005));
    }

    #[test]
    fn every_round_begins_with_another_and_names_each_once() {
        assert_eq!(order(0, 3).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(order(4, 3).collect::<Vec<_>>(), [1, 2, 0]);
    }
}
