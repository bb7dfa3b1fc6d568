//! The figures of a crawl that a comparison needs: of our own record, or of a table that somebody published.

use loadline_record::{HostFacts, PipelineRecord, RunRecord};
use loadline_units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A crawl of one environment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CrawlFigures {
    /// What it is called.
    pub name: String,
    /// What is known of the machine and its set-up, by name: "cpu", "memory".
    pub facts: BTreeMap<String, String>,
    /// Its sources, in their order.
    pub sources: Vec<SourceFigures>,
}

/// A source of a crawl.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceFigures {
    /// Its name; the same in both crawls.
    pub name: String,
    /// Items that were done.
    pub items: u64,
    /// Items that failed; `None`: not known.
    pub failed: Option<u64>,
    /// From the start of the crawl to the source's end, ns.
    pub duration_ns: u64,
    /// Rate as it was stated, items per second; `None`: it was not.
    pub stated_rate_per_s: Option<f64>,
    /// Mean time of the repository for one item, ns.
    pub repository_latency_ns: Option<f64>,
    /// Fetches in flight at most.
    pub slots: Option<u32>,
    /// Precision of the duration, ns: 1 s where it was stated in seconds.
    pub precision_ns: u64,
}

impl SourceFigures {
    /// Whether no item was done although the source was asked.
    #[must_use]
    pub const fn is_failed(&self) -> bool {
        self.items == 0
    }
    /// Items per second, by count and duration; `None` without items or time.
    #[must_use]
    pub fn rate_per_s(&self) -> Option<f64> {
        (self.items > 0 && self.duration_ns > 0).then(|| self.items as f64 * 1e9 / self.duration_ns as f64)
    }
    /// Fetches in flight on average: rate times latency (Little's law).
    #[must_use]
    pub fn in_flight(&self) -> Option<f64> {
        Some(self.rate_per_s()? * self.repository_latency_ns.filter(|ns| *ns > 0.0)? / 1e9)
    }
    /// Of the fetches that may be in flight, the share that was.
    #[must_use]
    pub fn slot_use(&self) -> Option<f64> {
        Some(self.in_flight()? / f64::from(self.slots?))
    }
}

impl CrawlFigures {
    /// The key of a run's settings under which a crawl of others is kept.
    pub const SETTINGS_KEY: &str = "crawl";

    /// Of a run: of our own record, or of a table that was imported. `None`: the run is no crawl.
    #[must_use]
    pub fn of_run(record: &RunRecord) -> Option<Self> {
        let Some(pipeline) = record.pipeline() else {
            return Self::deserialize(record.header.settings.get(Self::SETTINGS_KEY)?).ok();
        };
        let HostFacts { cpu_model, cpus, memory_bytes, kernel, .. } = &record.header.host;
        let spec = &pipeline.spec;
        let facts = [
            ("cpu", cpu_model.clone()),
            ("cpus", cpus.map(|cpus| cpus.to_string())),
            ("memory", memory_bytes.map(|bytes| Bytes::new(bytes).human())),
            ("kernel", kernel.clone()),
            ("environment", record.header.environment.as_ref().map(|environment| environment.name.clone())),
            ("extract workers", Some(spec.extract.workers.to_string())),
            ("index workers", Some(spec.index.workers.to_string())),
        ];
        let facts = facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        Some(Self::of(&record.header.name, pipeline, facts))
    }
    /// Of a measured crawl.
    #[must_use]
    pub fn of(name: &str, record: &PipelineRecord, facts: BTreeMap<String, String>) -> Self {
        let sources = record.sources.iter().enumerate().map(|(number, source)| {
            let latencies: Vec<f64> = record
                .items
                .iter()
                .filter(|item| item.source as usize == number)
                .map(|item| item.last_byte_ns.saturating_sub(item.connected_ns) as f64)
                .collect();
            let latency = latencies.iter().sum::<f64>() / latencies.len().max(1) as f64;
            SourceFigures {
                name: source.name.clone(),
                items: source.items,
                failed: Some(source.failed()),
                duration_ns: source.ended_ns,
                stated_rate_per_s: None,
                repository_latency_ns: (!latencies.is_empty()).then_some(latency),
                slots: Some(record.spec.sources[number].slots),
                precision_ns: 1,
            }
        });
        Self { name: name.to_owned(), facts, sources: sources.collect() }
    }
}
