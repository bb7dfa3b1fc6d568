//! What two crawls show of one another, in typed findings.

use super::figures::{CrawlFigures, SourceFigures};
use serde::{Deserialize, Serialize};

/// Figures that differ by less than this are taken as the same.
const SAME: f64 = 0.15;
/// A stated rate this far from count over duration is named.
const STATED_RATE_OFF: f64 = 0.05;
/// Item counts this far apart confound.
const ITEMS_DIFFER: f64 = 0.05;
/// Ends within this share of the duration fall together, or within so many steps of the stated precision.
const ENDS_TOGETHER: f64 = 0.002;
const ENDS_TOGETHER_STEPS: u64 = 2;
/// From this use of its slots on a source is bound by its repository.
const SLOTS_FULL: f64 = 0.85;

/// Two crawls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrawlComparison {
    /// The first crawl's name.
    pub base: String,
    /// The second's.
    pub other: String,
    /// Every source that either has, in the order of the second.
    pub sources: Vec<SourceComparison>,
    /// What stands out.
    pub findings: Vec<CrawlFinding>,
    /// What spoils the comparison.
    pub confounders: Vec<CrawlConfounder>,
}

/// One source in both crawls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceComparison {
    /// Its name.
    pub source: String,
    /// In the first crawl.
    pub base: Option<SourceFigures>,
    /// In the second.
    pub other: Option<SourceFigures>,
    /// Rate of the second over that of the first: time by item, whatever the counts. `None` where either has none.
    pub rate_ratio: Option<f64>,
    /// Repository latency of the second over that of the first.
    pub latency_ratio: Option<f64>,
    /// Fetches in flight, by Little's law.
    pub in_flight: [Option<f64>; 2],
    /// What its latency explains of its rate.
    pub reading: RepositoryReading,
}

/// What the repository's latency explains of a rate. With full slots in both, rate times latency stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepositoryReading {
    /// A figure is missing.
    Unknown,
    /// No item came in one of the two.
    Failed,
    /// As many fetches were in flight: the rate follows the latency.
    Explains,
    /// More fetches were in flight in the second: something else held the source back in the first.
    HeldBackBefore,
    /// Fewer were in flight in the second: something else holds the source back there, beside its repository.
    HeldBackNow,
    /// Its latency fell and its rate did not rise: the repository does not bind it in the second.
    NotBoundNow,
}

/// What stands out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrawlFinding {
    /// No item of a source came: it has no rate, whatever its duration.
    Failed {
        /// The crawl.
        crawl: String,
        /// The source.
        source: String,
        /// How long it took to fail, ns.
        after_ns: u64,
    },
    /// Sources of a crawl end within a moment of each other: one thing ends them, and their rates are not independent.
    EndsTogether {
        /// The crawl.
        crawl: String,
        /// The sources.
        sources: Vec<String>,
        /// From the first of these ends to the last, ns.
        within_ns: u64,
    },
    /// A source's latency fell and its rate did not rise: in this crawl its repository does not bind it.
    NotBoundByRepository {
        /// The crawl.
        crawl: String,
        /// The source.
        source: String,
        /// Latency over that of the other crawl.
        latency_ratio: f64,
        /// Rate over that of the other crawl.
        rate_ratio: f64,
        /// In flight in the other crawl and in this.
        in_flight: [f64; 2],
    },
    /// A source's slots are full of fetches: latency times slots is its limit.
    BoundByRepository {
        /// The crawl.
        crawl: String,
        /// The source.
        source: String,
        /// In flight, by Little's law.
        in_flight: f64,
        /// The most there may be.
        slots: u32,
    },
    /// One source has most of all fetches in flight.
    MostInFlight {
        /// The crawl.
        crawl: String,
        /// The source.
        source: String,
        /// Of all in flight, from 0.0 to 1.0.
        share: f64,
        /// In flight, by Little's law.
        in_flight: f64,
    },
    /// A rate is not count over duration.
    StatedRateOff {
        /// The crawl.
        crawl: String,
        /// The source.
        source: String,
        /// As stated, items per second.
        stated_per_s: f64,
        /// Count over duration, items per second.
        counted_per_s: f64,
    },
}

/// What spoils the comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrawlConfounder {
    /// A source has other items.
    Items {
        /// The source.
        source: String,
        /// In the first crawl.
        base: u64,
        /// In the second.
        other: u64,
    },
    /// A source was there, and at work, in one crawl alone: the others had more room in the other.
    Beside {
        /// The source.
        source: String,
        /// The crawl in which it worked.
        crawl: String,
    },
    /// A fact of the environments differs.
    Fact {
        /// Its name.
        name: String,
        /// In the first crawl; `None`: not stated.
        base: Option<String>,
        /// In the second.
        other: Option<String>,
    },
    /// A source may have other fetches in flight.
    Slots {
        /// The source.
        source: String,
        /// In the first crawl.
        base: u32,
        /// In the second.
        other: u32,
    },
}

/// Compares two crawls.
#[must_use]
pub fn compare_crawls(base: &CrawlFigures, other: &CrawlFigures) -> CrawlComparison {
    let find = |crawl: &CrawlFigures, name: &str| crawl.sources.iter().find(|source| source.name == name).cloned();
    let mut names: Vec<&str> = other.sources.iter().map(|source| source.name.as_str()).collect();
    names.extend(base.sources.iter().map(|source| source.name.as_str()).filter(|name| find(other, name).is_none()));
    let sources: Vec<SourceComparison> =
        names.into_iter().map(|name| source(name, find(base, name), find(other, name))).collect();
    let mut findings = Vec::new();
    for crawl in [base, other] {
        of_one(crawl, &mut findings);
    }
    for of in &sources {
        if let (RepositoryReading::NotBoundNow, Some(latency_ratio), Some(rate_ratio), [Some(before), Some(now)]) =
            (of.reading, of.latency_ratio, of.rate_ratio, of.in_flight)
        {
            findings.push(CrawlFinding::NotBoundByRepository {
                crawl: other.name.clone(),
                source: of.source.clone(),
                latency_ratio,
                rate_ratio,
                in_flight: [before, now],
            });
        }
    }
    let confounders = confounders(base, other, &sources);
    CrawlComparison { base: base.name.clone(), other: other.name.clone(), sources, findings, confounders }
}

fn source(name: &str, base: Option<SourceFigures>, other: Option<SourceFigures>) -> SourceComparison {
    let ratio = |of: fn(&SourceFigures) -> Option<f64>| Some(of(other.as_ref()?)? / of(base.as_ref()?)?);
    let rate_ratio = ratio(SourceFigures::rate_per_s);
    let latency_ratio = ratio(|of| of.repository_latency_ns);
    let in_flight = [&base, &other].map(|of| of.as_ref().and_then(SourceFigures::in_flight));
    let is_failed = [&base, &other].iter().any(|of| of.as_ref().is_some_and(SourceFigures::is_failed));
    let reading = match (rate_ratio, latency_ratio, in_flight) {
        _ if is_failed => RepositoryReading::Failed,
        (Some(rate), Some(latency), [Some(before), Some(now)]) => read(rate, latency, now / before),
        _ => RepositoryReading::Unknown,
    };
    SourceComparison { source: name.to_owned(), base, other, rate_ratio, latency_ratio, in_flight, reading }
}

fn read(rate: f64, latency: f64, in_flight: f64) -> RepositoryReading {
    if latency < 1.0 - SAME && rate <= 1.0 {
        RepositoryReading::NotBoundNow
    } else if in_flight > 1.0 + SAME {
        RepositoryReading::HeldBackBefore
    } else if in_flight < 1.0 / (1.0 + SAME) {
        RepositoryReading::HeldBackNow
    } else {
        RepositoryReading::Explains
    }
}

/// What stands out in one crawl.
fn of_one(crawl: &CrawlFigures, findings: &mut Vec<CrawlFinding>) {
    let all: f64 = crawl.sources.iter().filter_map(SourceFigures::in_flight).sum();
    for source in &crawl.sources {
        let (name, of) = (crawl.name.clone(), source.name.clone());
        if source.is_failed() {
            findings.push(CrawlFinding::Failed { crawl: name, source: of, after_ns: source.duration_ns });
            continue;
        }
        if let (Some(stated), Some(counted)) = (source.stated_rate_per_s, source.rate_per_s())
            && (stated / counted - 1.0).abs() > STATED_RATE_OFF
        {
            let (stated_per_s, counted_per_s) = (stated, counted);
            let (crawl, source) = (name.clone(), of.clone());
            findings.push(CrawlFinding::StatedRateOff { crawl, source, stated_per_s, counted_per_s });
        }
        let Some(in_flight) = source.in_flight() else { continue };
        if let Some(slots) = source.slots
            && source.slot_use().is_some_and(|share| share >= SLOTS_FULL)
        {
            let (crawl, source) = (name.clone(), of.clone());
            findings.push(CrawlFinding::BoundByRepository { crawl, source, in_flight, slots });
        }
        let share = in_flight / all;
        if crawl.sources.len() > 1 && share > 0.5 && share < 1.0 {
            findings.push(CrawlFinding::MostInFlight { crawl: name, source: of, share, in_flight });
        }
    }
    ends_together(crawl, findings);
}

/// Groups of sources whose ends lie within a moment.
fn ends_together(crawl: &CrawlFigures, findings: &mut Vec<CrawlFinding>) {
    let mut ended: Vec<&SourceFigures> = crawl.sources.iter().filter(|source| !source.is_failed()).collect();
    ended.sort_by_key(|source| source.duration_ns);
    let mut from = 0;
    while from < ended.len() {
        let first = ended[from];
        let moment = ((first.duration_ns as f64 * ENDS_TOGETHER) as u64).max(first.precision_ns * ENDS_TOGETHER_STEPS);
        let near = |source: &&&SourceFigures| source.duration_ns - first.duration_ns <= moment;
        let group: Vec<&SourceFigures> = ended[from..].iter().take_while(near).copied().collect();
        from += group.len();
        if group.len() > 1 {
            findings.push(CrawlFinding::EndsTogether {
                crawl: crawl.name.clone(),
                sources: group.iter().map(|source| source.name.clone()).collect(),
                within_ns: group[group.len() - 1].duration_ns - first.duration_ns,
            });
        }
    }
}

fn confounders(base: &CrawlFigures, other: &CrawlFigures, sources: &[SourceComparison]) -> Vec<CrawlConfounder> {
    let mut found = Vec::new();
    let works = |of: &Option<SourceFigures>| of.as_ref().is_some_and(|source| !source.is_failed());
    for of in sources {
        let source = || of.source.clone();
        match (works(&of.base), works(&of.other)) {
            (true, false) => found.push(CrawlConfounder::Beside { source: source(), crawl: base.name.clone() }),
            (false, true) => found.push(CrawlConfounder::Beside { source: source(), crawl: other.name.clone() }),
            (false, false) => {}
            (true, true) => {
                let (Some(before), Some(now)) = (&of.base, &of.other) else { continue };
                if (now.items as f64 / before.items as f64 - 1.0).abs() > ITEMS_DIFFER {
                    found.push(CrawlConfounder::Items { source: source(), base: before.items, other: now.items });
                }
                if let (Some(base), Some(other)) = (before.slots, now.slots)
                    && base != other
                {
                    found.push(CrawlConfounder::Slots { source: source(), base, other });
                }
            }
        }
    }
    let mut names: Vec<&String> = base.facts.keys().chain(other.facts.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (base, other) = (base.facts.get(name).cloned(), other.facts.get(name).cloned());
        if base != other {
            found.push(CrawlConfounder::Fact { name: name.clone(), base, other });
        }
    }
    found
}
