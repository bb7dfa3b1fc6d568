//! What a comparison of crawls shows, in plain words.

use super::{CrawlConfounder, CrawlFinding, RepositoryReading};
use loadline_units::words::span;

impl RepositoryReading {
    /// What the repository's latency explains, in a few words. `other` is the name of the second crawl.
    #[must_use]
    pub fn words(self, base: &str, other: &str) -> String {
        match self {
            Self::Unknown => "a figure is missing".to_owned(),
            Self::Failed => "no item came in one of them".to_owned(),
            Self::Explains => "the rate follows the repository's latency".to_owned(),
            Self::HeldBackBefore => format!("something else held it back in {base}"),
            Self::HeldBackNow => format!("something else holds it back in {other}"),
            Self::NotBoundNow => format!("not bound by its repository in {other}"),
        }
    }
}

impl CrawlFinding {
    /// A sentence or two.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Failed { crawl, source, after_ns } => {
                format!("{crawl}: {source} failed. No item came in {}; it has no rate.", span(*after_ns as f64))
            }
            Self::EndsTogether { crawl, sources, within_ns } => format!(
                "{crawl}: {} end within {} of each other. One thing ends them, so their rates are not independent.",
                sources.join(", "),
                span(*within_ns as f64)
            ),
            Self::NotBoundByRepository { crawl, source, latency_ratio, rate_ratio, in_flight } => format!(
                "{crawl}: the repository does not limit {source}. Its latency is {latency_ratio:.2} times the other crawl's and its rate \
                 {rate_ratio:.2} times: {:.1} fetches are in flight, after {:.1}.",
                in_flight[1], in_flight[0]
            ),
            Self::BoundByRepository { crawl, source, in_flight, slots } => format!(
                "{crawl}: the repository limits {source}. {in_flight:.1} of {slots} fetches are in flight: latency times slots is its limit."
            ),
            Self::MostInFlight { crawl, source, share, in_flight } => {
                format!("{crawl}: {source} has {:.0} % of all fetches in flight ({in_flight:.1}).", share * 100.0)
            }
            Self::StatedRateOff { crawl, source, stated_per_s, counted_per_s } => format!(
                "{crawl}: the stated rate of {source}, {stated_per_s:.1}/s, is not its count over its duration: that is {counted_per_s:.1}/s."
            ),
        }
    }
}

impl CrawlConfounder {
    /// What differs, in a few words. `base` and `other` are the crawls' names.
    #[must_use]
    pub fn words(&self, base: &str, other: &str) -> String {
        let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
        match self {
            Self::Items { source, base: before, other: now } => {
                format!("{source} has {before} items in {base} and {now} in {other}: compare rates, not durations")
            }
            Self::Beside { source, crawl } => {
                format!("{source} worked in {crawl} alone: the other sources had less room there")
            }
            Self::Fact { name, base: before, other: now } => {
                format!("{name}: {} in {base}, {} in {other}", of(before), of(now))
            }
            Self::Slots { source, base: before, other: now } => {
                format!("{source} may have {before} fetches in flight in {base} and {now} in {other}")
            }
        }
    }
}
