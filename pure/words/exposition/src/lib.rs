//! Counters, gauges and histograms as text: the format of OpenMetrics 1.0 (github.com/prometheus/OpenMetrics), or the older one of
//! Prometheus (prometheus.io/docs/instrumenting/exposition_formats).
//!
//! What describes something is a gauge of 1 whose name ends in `_info`: node_exporter and promtool refuse OpenMetrics' type `info`.
//! The unit of a family follows from the end of its name. What is unknown has no sample, never 0.

use loadline_record::Histogram;
use std::fmt::Write as _;

/// Every name begins with it.
const PREFIX: &str = "loadline_";
/// Ends of names that are units.
const UNITS: [&str; 4] = ["bytes_per_second", "seconds", "bytes", "ratio"];
/// Upper bounds of a histogram's buckets, us: six a decade from 10 us to 10 s, so that a quantile is off by a quarter at most; then three.
const BOUNDS_US: [u64; 40] = [
    10,
    15,
    20,
    30,
    50,
    70,
    100,
    150,
    200,
    300,
    500,
    700,
    1_000,
    1_500,
    2_000,
    3_000,
    5_000,
    7_000,
    10_000,
    15_000,
    20_000,
    30_000,
    50_000,
    70_000,
    100_000,
    150_000,
    200_000,
    300_000,
    500_000,
    700_000,
    1_000_000,
    1_500_000,
    2_000_000,
    3_000_000,
    5_000_000,
    7_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
];
/// Series of a histogram: its buckets, that without an end, the count and the sum.
pub const HISTOGRAM_SERIES: usize = BOUNDS_US.len() + 3;
/// What a page that is scraped has at most.
pub const SERIES_MAX: usize = 2_000;

/// The form of the text. Only the names of counters in its comments differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// OpenMetrics 1.0: a counter is named without `_total`.
    OpenMetrics,
    /// Prometheus' own, which `promtool check metrics` and node_exporter's text collector read.
    #[default]
    Prometheus,
}

impl Dialect {
    /// The one that an `Accept` header asks for.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The `Content-Type` of such a text.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The labels of a sample.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels(String);

impl Labels {
    /// Labels with their values.
    #[must_use]
    pub fn of(all: &[(&str, &str)]) -> Self {
        Self::default().and(all)
    }

    /// The same with more.
    #[must_use]
    pub fn and(&self, more: &[(&str, &str)]) -> Self {
        let mut all = self.0.clone();
        for (name, value) in more {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let comma = if all.is_empty() { "" } else { "," };
            let _ = write!(all, "{comma}{name}=\"{value}\"");
        }
        Self(all)
    }
}

/// A text that grows by families of samples.
#[derive(Debug)]
pub struct Exposition {
    text: String,
    dialect: Dialect,
    series: usize,
    series_max: usize,
    left_out: usize,
}

impl Exposition {
    /// A page that is scraped: [`SERIES_MAX`] series at most. Those that come later are left out, and how many these are is said.
    #[must_use]
    pub const fn scraped(dialect: Dialect) -> Self {
        Self { text: String::new(), dialect, series: 0, series_max: SERIES_MAX - 1, left_out: 0 }
    }

    /// A file, as long as it gets.
    #[must_use]
    pub const fn file() -> Self {
        Self { text: String::new(), dialect: Dialect::Prometheus, series: 0, series_max: usize::MAX, left_out: 0 }
    }

    /// What may rise and fall.
    pub fn gauge(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, f64)>) {
        self.family((name, name), "gauge", help, samples.into_iter().map(|sample| one(name, sample)));
    }

    /// What only rises. The name goes without `_total`, which is added.
    pub fn counter(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, f64)>) {
        let total = format!("{name}_total");
        let family = if self.dialect == Dialect::OpenMetrics { name } else { &total };
        self.family((name, family), "counter", help, samples.into_iter().map(|sample| one(&total, sample)));
    }

    /// Quantiles of something that is over: the samples have the label `quantile`.
    pub fn summary(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, f64)>) {
        self.family((name, name), "summary", help, samples.into_iter().map(|sample| one(name, sample)));
    }

    /// Times by how long they were, as counters by bucket: the name ends in `_seconds`.
    pub fn histogram<'a>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, &'a Histogram)>,
    ) {
        self.family((name, name), "histogram", help, samples.into_iter().map(|sample| buckets(name, sample)));
    }

    /// A family with its samples, each of one or more series; nothing if there are none. `bare` is its name without `_total`.
    fn family(
        &mut self,
        (bare, name): (&str, &str),
        kind: &str,
        help: &str,
        samples: impl Iterator<Item = Vec<(String, f64)>>,
    ) {
        let mut begun = false;
        for sample in samples.filter(|sample| sample.iter().all(|(_, value)| value.is_finite())) {
            if self.series + sample.len() > self.series_max {
                self.left_out += sample.len();
                continue;
            }
            if !begun {
                begun = true;
                let _ = writeln!(self.text, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}");
                // The older format has no units: there it is a comment, and of the same name.
                if let Some(unit) = UNITS.into_iter().find(|unit| bare.ends_with(&format!("_{unit}"))) {
                    let _ = writeln!(self.text, "# UNIT {PREFIX}{name} {unit}");
                }
            }
            self.series += sample.len();
            for (series, value) in sample {
                let _ = writeln!(self.text, "{PREFIX}{series} {value}");
            }
        }
    }

    /// The text, with its end.
    #[must_use]
    pub fn end(mut self) -> String {
        if self.left_out > 0 {
            let left_out = self.left_out as f64;
            self.series_max = usize::MAX;
            self.gauge("series_left_out", "Series for which this page has no room.", [(Labels::default(), left_out)]);
        }
        self.text.push_str("# EOF\n");
        self.text
    }
}

fn one(name: &str, (labels, value): (Labels, f64)) -> Vec<(String, f64)> {
    let labels = labels.0;
    vec![(if labels.is_empty() { name.to_owned() } else { format!("{name}{{{labels}}}") }, value)]
}

fn buckets(name: &str, (labels, histogram): (Labels, &Histogram)) -> Vec<(String, f64)> {
    let mut series = Vec::with_capacity(HISTOGRAM_SERIES);
    let (mut filled, mut below) = (histogram.buckets().peekable(), 0);
    let bucket = format!("{name}_bucket");
    for bound_us in BOUNDS_US {
        // By their smallest value: they are narrower than 1 %.
        while let Some((_, _, count)) = filled.next_if(|(start, ..)| *start <= bound_us * 1_000) {
            below += count;
        }
        let bound = bound_us as f64 / 1e6;
        let bound = if bound.fract() == 0.0 { format!("{bound:.1}") } else { bound.to_string() };
        series.extend(one(&bucket, (labels.and(&[("le", &bound)]), below as f64)));
    }
    let all = histogram.count() as f64;
    series.extend(one(&bucket, (labels.and(&[("le", "+Inf")]), all)));
    series.extend(one(&format!("{name}_sum"), (labels.clone(), histogram.sum_ns() as f64 / 1e9)));
    series.extend(one(&format!("{name}_count"), (labels, all)));
    series
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_units::Duration;
    use proptest::prelude::*;

    fn text(dialect: Dialect, fill: impl Fn(&mut Exposition)) -> String {
        let mut exposition = Exposition::scraped(dialect);
        fill(&mut exposition);
        exposition.end()
    }

    #[test]
    fn dialects_differ_in_the_names_of_counters_alone() {
        let fill = |of: &mut Exposition| {
            of.gauge(
                "queue",
                "Waiting.",
                [(Labels::of(&[("volume", "da\"t\na")]), 1.5), (Labels::default(), f64::NAN)],
            );
            of.counter("busy_seconds", "Busy.", [(Labels::default(), 3.0)]);
            of.gauge("absent", "Nothing.", []);
        };
        let queue =
            "# HELP loadline_queue Waiting.\n# TYPE loadline_queue gauge\nloadline_queue{volume=\"da\\\"t\\na\"} 1.5\n";
        let busy = |name: &str| {
            format!(
                "# HELP {name} Busy.\n# TYPE {name} counter\n# UNIT {name} seconds\nloadline_busy_seconds_total 3\n# EOF\n"
            )
        };
        assert_eq!(text(Dialect::OpenMetrics, fill), queue.to_owned() + &busy("loadline_busy_seconds"));
        assert_eq!(text(Dialect::Prometheus, fill), queue.to_owned() + &busy("loadline_busy_seconds_total"));
    }

    #[test]
    fn a_scraper_says_which_dialect_it_reads() {
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Dialect::accepted(prometheus), Dialect::OpenMetrics);
        assert_eq!(Dialect::accepted("*/*"), Dialect::Prometheus);
    }

    #[test]
    fn a_page_has_room_for_so_many_series_and_says_how_many_had_none() {
        let samples = |count: usize| (0..count).map(|place| (Labels::of(&[("cell", &place.to_string())]), 1.0));
        let series = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        let full = text(Dialect::Prometheus, |of| of.gauge("iops", "Some.", samples(SERIES_MAX - 1)));
        assert_eq!(series(&full), SERIES_MAX - 1);
        let histogram = Histogram::new();
        let over = text(Dialect::Prometheus, |of| {
            of.gauge("iops", "Some.", samples(SERIES_MAX - 10));
            of.histogram("latency_seconds", "Whole or not at all.", [(Labels::default(), &histogram)]);
            of.counter("requests", "More.", samples(20));
        });
        assert_eq!(series(&over), SERIES_MAX);
        assert!(over.ends_with(&format!("loadline_series_left_out {}\n# EOF\n", HISTOGRAM_SERIES + 11)), "{over}");
        let mut file = Exposition::file();
        file.gauge("iops", "All.", samples(3 * SERIES_MAX));
        assert_eq!(series(&file.end()), 3 * SERIES_MAX);
    }

    proptest! {
        #[test]
        fn buckets_count_what_is_not_above_them(values in prop::collection::vec(1_000u64..200_000_000_000, 0..200)) {
            let mut histogram = Histogram::new();
            for ns in &values {
                histogram.record(Duration::from_ns(*ns));
            }
            let series = buckets("latency_seconds", (Labels::default(), &histogram));
            prop_assert_eq!(series.len(), HISTOGRAM_SERIES);
            for ((name, count), bound_us) in series.iter().zip(BOUNDS_US) {
                prop_assert!(name.contains("le=\""));
                let below = |ns: u64| values.iter().filter(|value| **value <= ns).count() as f64;
                let bound = bound_us * 1_000;
                prop_assert!((below(bound)..=below(bound + bound / 100)).contains(count), "{}: {}", name, count);
            }
            let sum: u64 = values.iter().sum();
            prop_assert_eq!(series[HISTOGRAM_SERIES - 2].1.to_string(), (sum as f64 / 1e9).to_string());
            prop_assert_eq!(series[HISTOGRAM_SERIES - 1].1.to_string(), values.len().to_string());
        }
    }
}
