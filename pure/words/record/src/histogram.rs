//! A mergeable log-linear histogram of latencies with a known error.
//!
//! Each power of two is cut into 64 buckets of equal width. A bucket that begins at `64 * 2^k` is `2^k` wide, so its
//! middle differs from any value in it by at most `2^k / 2 / (64 * 2^k)` = 0.78 %. Below 128 ns buckets are 1 ns wide and
//! exact. Values from 2^47 ns (about 39 hours) on are counted in the last bucket; the exact maximum is kept beside it.

use loadline_units::Duration;

const SUB_BITS: u32 = 6;
const SUB: usize = 1 << SUB_BITS;
const VALUE_BITS: u32 = 47;
/// Buckets: 64 exact ones, then 64 for each power of two from 2^6 to 2^46.
const BUCKETS: usize = SUB + (VALUE_BITS - SUB_BITS) as usize * SUB;

/// Counts of latencies in nanoseconds, with exact count, sum, minimum and maximum.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// The summary figures that reports print, in nanoseconds. A percentile that another tool was not asked for is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct HistogramSnapshot {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation, as another tool told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stddev: Option<f64>,
    /// Smallest value; `None` where another tool does not tell it.
    pub min: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90 % are at or below.
    pub p90: Option<u64>,
    /// 95 % are at or below.
    pub p95: Option<u64>,
    /// 99 % are at or below.
    pub p99: Option<u64>,
    /// 99.9 % are at or below.
    pub p99_9: Option<u64>,
    /// 99.99 % are at or below.
    pub p99_99: Option<u64>,
    /// Largest value.
    pub max: u64,
}

impl HistogramSnapshot {
    /// Of parts of which no more is known than their own figures and counts: mean, minimum and maximum are exact. Percentiles of a
    /// whole do not follow from those of its parts: where all parts have one, it is their mean, weighted by count, which lies
    /// between them as that of the whole does. `None` without a request.
    #[must_use]
    pub fn pooled(parts: &[(u64, Self)]) -> Option<Self> {
        let parts = || parts.iter().filter(|(count, _)| *count > 0);
        let count = parts().map(|(count, _)| *count as f64).sum::<f64>();
        let mean = |of: fn(&Self) -> Option<f64>| {
            let sum: Option<f64> = parts().map(|(count, part)| Some(*count as f64 * of(part)?)).sum();
            sum.map(|sum| sum / count)
        };
        // The mean of the squares is that of all, and so follows their deviation.
        let squares = mean(|part| part.stddev.map(|stddev| stddev * stddev + part.mean * part.mean));
        let all = mean(|part| Some(part.mean))?;
        let percentile = |of: fn(&Self) -> Option<f64>| mean(of).map(|ns| libm::round(ns) as u64);
        Some(Self {
            mean: all,
            stddev: squares.map(|squares| libm::sqrt((squares - all * all).max(0.0))),
            // Known where all parts tell it.
            min: parts().map(|(_, part)| part.min).reduce(|a, b| Some(a?.min(b?)))?,
            p50: percentile(|part| part.p50.map(|ns| ns as f64)),
            p90: percentile(|part| part.p90.map(|ns| ns as f64)),
            p95: percentile(|part| part.p95.map(|ns| ns as f64)),
            p99: percentile(|part| part.p99.map(|ns| ns as f64)),
            p99_9: percentile(|part| part.p99_9.map(|ns| ns as f64)),
            p99_99: percentile(|part| part.p99_99.map(|ns| ns as f64)),
            max: parts().map(|(_, part)| part.max).max()?,
        })
    }
    /// The percentile by its share (0.5, 0.9, 0.95, 0.99, 0.999 or 0.9999), ns; `None` for another, and where it is missing.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<u64> {
        let known = [
            (0.5, self.p50),
            (0.9, self.p90),
            (0.95, self.p95),
            (0.99, self.p99),
            (0.999, self.p99_9),
            (0.9999, self.p99_99),
        ];
        known.into_iter().find(|(own, _)| (own - share).abs() < 1e-9)?.1
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The bucket of `ns`.
#[inline]
fn bucket_of(ns: u64) -> usize {
    let ns = if ns >> VALUE_BITS == 0 { ns } else { (1 << VALUE_BITS) - 1 };
    // The highest set bit decides the power of two; `| SUB` folds the exact buckets into the same formula.
    let shift = 63 - SUB_BITS - (ns | SUB as u64).leading_zeros();
    (shift as usize) * SUB + (ns >> shift) as usize
}

/// The smallest value in `bucket`, and the bucket's width.
fn range_of(bucket: usize) -> (u64, u64) {
    if bucket < 2 * SUB {
        return (bucket as u64, 1);
    }
    let shift = (bucket / SUB - 1) as u32;
    ((((bucket % SUB) + SUB) as u64) << shift, 1 << shift)
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        let counts = vec![0u64; BUCKETS].into_boxed_slice();
        let counts = counts.try_into().expect("BUCKETS long");
        Self { counts, count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
    /// Counts one latency.
    #[inline]
    pub fn record(&mut self, latency: Duration) {
        let ns = latency.as_ns();
        self.counts[bucket_of(ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(ns);
        // Hardly ever: what does not change is not written.
        if ns < self.min_ns {
            self.min_ns = ns;
        }
        if ns > self.max_ns {
            self.max_ns = ns;
        }
    }
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let (low, high) = (bucket_of(other.min_ns), bucket_of(other.max_ns));
        for (mine, theirs) in self.counts[low..=high].iter_mut().zip(&other.counts[low..=high]) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
    /// Forgets everything, touching only what was used.
    pub fn clear(&mut self) {
        if self.count > 0 {
            let (low, high) = (bucket_of(self.min_ns), bucket_of(self.max_ns));
            self.counts[low..=high].fill(0);
        }
        (self.count, self.sum_ns, self.min_ns, self.max_ns) = (0, 0, u64::MAX, 0);
    }
    /// How many values were counted.
    #[must_use]
    #[inline]
    pub const fn count(&self) -> u64 {
        self.count
    }
    /// Exact sum of all values in nanoseconds.
    #[must_use]
    pub const fn sum_ns(&self) -> u128 {
        self.sum_ns
    }
    /// Exact mean in nanoseconds, or `None` when empty.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }
    /// Exact minimum.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_ns(self.min_ns))
    }
    /// Exact maximum.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_ns(self.max_ns))
    }
    /// The value that a share `quantile` (0.0 to 1.0) of the values do not exceed, within 0.78 %; `None` when empty.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        if self.count == 0 {
            return None;
        }
        let rank = ((self.count as f64 * quantile).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate().skip(bucket_of(self.min_ns)) {
            seen += count;
            if seen >= rank {
                let (start, width) = range_of(bucket);
                return Some(Duration::from_ns((start + width / 2).clamp(self.min_ns, self.max_ns)));
            }
        }
        Some(Duration::from_ns(self.max_ns))
    }
    /// The share of values above `limit` (0.0 to 1.0), to the width of a bucket.
    #[must_use]
    pub fn share_above(&self, limit: Duration) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let above: u64 = self.counts[bucket_of(limit.as_ns()) + 1..].iter().sum();
        above as f64 / self.count as f64
    }
    /// All figures that reports print; `None` when empty.
    #[must_use]
    pub fn snapshot(&self) -> Option<HistogramSnapshot> {
        let at = |q: f64| self.quantile(q).map(Duration::as_ns);
        Some(HistogramSnapshot {
            mean: self.mean_ns()?,
            stddev: None,
            min: Some(self.min_ns),
            p50: at(0.50),
            p90: at(0.90),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: self.max_ns,
        })
    }
    /// The filled buckets in order: smallest value, width (both ns), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, count)| {
            let (start, width) = range_of(bucket);
            (start, width, *count)
        })
    }
    /// The histogram of requests counted elsewhere in as fine buckets: each value with how many lay in its bucket, and the exact sum,
    /// minimum and maximum of all.
    ///
    /// # Errors
    /// Counts and bounds that contradict each other.
    pub fn of_counts(
        counts: impl IntoIterator<Item = (Duration, u64)>,
        sum_ns: u128,
        min: Duration,
        max: Duration,
    ) -> Result<Self, DecodeError> {
        let mut histogram = Self { sum_ns, min_ns: min.as_ns(), max_ns: max.as_ns(), ..Self::new() };
        for (value, count) in counts {
            let bucket = &mut histogram.counts[bucket_of(value.as_ns())];
            *bucket = bucket.checked_add(count).ok_or(DecodeError::Contradiction)?;
            histogram.count = histogram.count.checked_add(count).ok_or(DecodeError::Contradiction)?;
        }
        histogram.checked()
    }
    /// A compact form for storage: version, sum, minimum, maximum, then gaps and counts, as LEB128 numbers.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        put(&mut out, self.sum_ns);
        put(&mut out, u128::from(self.min_ns));
        put(&mut out, u128::from(self.max_ns));
        let mut next = 0;
        for (bucket, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            put(&mut out, (bucket - next) as u128);
            put(&mut out, u128::from(count));
            next = bucket + 1;
        }
        out
    }
    /// Reads what [`Histogram::encode`] wrote.
    ///
    /// # Errors
    /// A form of another version, one cut short, or figures that contradict each other.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (&version, mut rest) = bytes.split_first().ok_or(DecodeError::CutShort)?;
        if version != FORMAT {
            return Err(DecodeError::Version(version));
        }
        let mut histogram = Self::new();
        histogram.sum_ns = take(&mut rest)?;
        histogram.min_ns = take(&mut rest)?.try_into().map_err(|_| DecodeError::Contradiction)?;
        histogram.max_ns = take(&mut rest)?.try_into().map_err(|_| DecodeError::Contradiction)?;
        let mut next: usize = 0;
        while !rest.is_empty() {
            let gap = usize::try_from(take(&mut rest)?).map_err(|_| DecodeError::Contradiction)?;
            let count = u64::try_from(take(&mut rest)?).map_err(|_| DecodeError::Contradiction)?;
            let bucket = next.checked_add(gap).filter(|b| *b < BUCKETS).ok_or(DecodeError::Contradiction)?;
            histogram.counts[bucket] = count;
            histogram.count = histogram.count.checked_add(count).ok_or(DecodeError::Contradiction)?;
            next = bucket + 1;
        }
        histogram.checked()
    }
    /// Itself, where its counts and bounds agree.
    fn checked(self) -> Result<Self, DecodeError> {
        let bounds_hold = if self.count == 0 {
            self.min_ns == u64::MAX && self.max_ns == 0 && self.sum_ns == 0
        } else {
            let (low, high) = (bucket_of(self.min_ns), bucket_of(self.max_ns));
            let count = u128::from(self.count);
            let sums = count * u128::from(self.min_ns)..=count * u128::from(self.max_ns);
            self.min_ns <= self.max_ns
                && sums.contains(&self.sum_ns)
                && self.counts[low] > 0
                && self.counts[high] > 0
                && self.counts[..low].iter().chain(&self.counts[high + 1..]).all(|c| *c == 0)
        };
        if bounds_hold { Ok(self) } else { Err(DecodeError::Contradiction) }
    }
}

const FORMAT: u8 = 1;

/// A stored histogram that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Written by another version.
    #[error("the stored histogram has format {0}, this version reads format {FORMAT}")]
    Version(u8),
    /// The bytes end in the middle of a number.
    #[error("the stored histogram is cut short")]
    CutShort,
    /// Counts and bounds disagree.
    #[error("the stored histogram contradicts itself")]
    Contradiction,
}

fn put(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

fn take(rest: &mut &[u8]) -> Result<u128, DecodeError> {
    let mut value: u128 = 0;
    for shift in (0..126).step_by(7) {
        let (&byte, tail) = rest.split_first().ok_or(DecodeError::CutShort)?;
        *rest = tail;
        value |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(DecodeError::Contradiction)
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count)
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}

/// Stored in text formats as a list of numbers: the bytes of [`Histogram::encode`] in hexadecimal.
impl serde::Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use std::fmt::Write;
        let mut text = String::new();
        for byte in self.encode() {
            write!(text, "{byte:02x}").expect("writing to a string");
        }
        serializer.serialize_str(&text)
    }
}
impl<'de> serde::Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let digits = text.as_bytes();
        let pairs = digits.chunks(2).map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .filter(|p| p.len() == 2)
                .and_then(|p| u8::from_str_radix(p, 16).ok())
                .ok_or_else(|| D::Error::custom("a stored histogram is not hexadecimal"))
        });
        Self::decode(&pairs.collect::<Result<Vec<u8>, _>>()?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_join_without_gap_or_overlap() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (start, width) = range_of(bucket);
            assert_eq!(start, next);
            assert_eq!(bucket_of(start), bucket);
            assert_eq!(bucket_of(start + width - 1), bucket);
            next = start + width;
        }
        assert_eq!(next, 1 << VALUE_BITS);
    }

    #[test]
    fn stored_figures_that_contradict_each_other_are_refused() {
        let mut histogram = Histogram::new();
        histogram.record(Duration::from_ns(1000));
        histogram.record(Duration::from_ns(1001));
        for (sum_ns, min_ns, max_ns) in [(1, 1000, 1001), (3000, 1000, 1001), (2001, 1001, 1000)] {
            let stored = Histogram { sum_ns, min_ns, max_ns, ..histogram.clone() }.encode();
            assert_eq!(Histogram::decode(&stored), Err(DecodeError::Contradiction));
        }
    }

    #[test]
    fn counts_from_elsewhere_make_a_histogram_or_contradict_each_other() {
        let us = Duration::from_us;
        let counts = || [(us(100), 3), (us(900), 1)];
        let histogram = Histogram::of_counts(counts(), 1_200_000, us(100), us(900)).unwrap();
        assert_eq!((histogram.count(), histogram.mean_ns(), histogram.max()), (4, Some(300_000.0), Some(us(900))));
        assert_eq!(Histogram::decode(&histogram.encode()).unwrap(), histogram);
        for (sum_ns, min, max) in [(1, us(100), us(900)), (1_200_000, us(50), us(900)), (1_200_000, us(100), us(950))] {
            assert_eq!(Histogram::of_counts(counts(), sum_ns, min, max), Err(DecodeError::Contradiction));
        }
        let many = [(us(100), u64::MAX), (us(900), 1)];
        assert_eq!(Histogram::of_counts(many, 0, us(100), us(900)), Err(DecodeError::Contradiction));
    }

    #[test]
    fn of_parts_without_histograms_no_more_is_told_than_all_of_them_know() {
        let part = |mean: f64, p50: Option<u64>, max: u64| HistogramSnapshot {
            mean,
            min: Some(1),
            p50,
            p99: Some(max),
            max,
            ..HistogramSnapshot::default()
        };
        let pooled =
            |p50| HistogramSnapshot::pooled(&[(1, part(10.0, Some(8), 20)), (3, part(30.0, p50, 60))]).unwrap();
        let both = pooled(Some(28));
        assert_eq!((both.mean, both.p50, both.p99, both.min, both.max), (25.0, Some(23), Some(50), Some(1), 60));
        assert_eq!((pooled(None).p50, both.stddev), (None, None));
        let spread = |mean: f64, stddev| HistogramSnapshot { stddev: Some(stddev), ..part(mean, None, 90) };
        let all = HistogramSnapshot::pooled(&[(1, spread(10.0, 0.0)), (1, spread(30.0, 0.0))]).unwrap();
        assert_eq!(all.stddev, Some(10.0));
        assert_eq!((both.percentile(0.99), both.percentile(0.9), both.percentile(0.7)), (Some(50), None, None));
        assert_eq!(HistogramSnapshot::pooled(&[(0, both)]), None);
    }

    #[test]
    fn waits_of_hours_are_told_apart() {
        let mut histogram = Histogram::new();
        for s in [1, 300, 3_600, 86_400] {
            histogram.record(Duration::from_s(s));
        }
        let near = |quantile, s: f64| (histogram.quantile(quantile).unwrap().as_s_f64() / s - 1.0).abs() < 0.01;
        assert!(near(0.25, 1.0) && near(0.5, 300.0) && near(0.75, 3_600.0) && near(1.0, 86_400.0));
    }

    proptest! {
        #[test]
        fn any_quantile_is_within_one_percent(mut values in prop::collection::vec(100u64..100_000_000_000, 1..300), q in 0.0f64..1.0) {
            let mut histogram = Histogram::new();
            for &ns in &values {
                histogram.record(Duration::from_ns(ns));
            }
            values.sort_unstable();
            let rank = ((values.len() as f64 * q).ceil() as usize).max(1);
            let exact = values[rank - 1] as f64;
            let told = histogram.quantile(q).unwrap().as_ns() as f64;
            prop_assert!((told / exact - 1.0).abs() <= 0.01, "{told} for {exact}");
        }
        #[test]
        fn merging_is_recording_both(a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50)) {
            let fill = |values: &[u64]| {
                let mut histogram = Histogram::new();
                for ns in values {
                    histogram.record(Duration::from_ns(*ns));
                }
                histogram
            };
            let mut merged = fill(&a);
            merged.merge(&fill(&b));
            let both: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &fill(&both));
            prop_assert_eq!(Histogram::decode(&merged.encode()).unwrap(), merged.clone());
            merged.clear();
            prop_assert_eq!(merged, Histogram::new());
        }
        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Histogram::decode(&bytes);
        }
    }
}
