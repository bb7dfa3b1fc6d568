//! What a crawl measures besides its clocks: items, failures, latencies, batches; and how it becomes a record.

use crate::clock::lock;
use loadline_record::{
    BatchRecord, Histogram, ItemRecord, ItemReservoir, OperationRecord, Station, StepName, StepRecord, Steps,
};
use loadline_units::Duration;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Items of the sample at most.
const SAMPLE_MAX: usize = 20_000;
/// Batches of the sample at most.
const BATCHES_MAX: usize = 20_000;
/// Reasons of a source that are counted apart.
const REASONS_MAX: usize = 64;
const OTHER_REASONS: &str = "other reasons";

/// What is counted of a source.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceCounts {
    pub(crate) items: u64,
    pub(crate) unchanged: u64,
    pub(crate) removed: u64,
    pub(crate) failures: BTreeMap<String, u64>,
    pub(crate) notes: BTreeMap<String, u64>,
    pub(crate) ended_ns: u64,
    pub(crate) bytes: u64,
    fetch: Histogram,
}

#[derive(Debug, Clone)]
struct State {
    sources: Vec<SourceCounts>,
    reservoir: ItemReservoir,
    batches: Vec<BatchRecord>,
    stations: [Histogram; 3],
    commits: [Histogram; 2],
    searches: Histogram,
    /// Items of the epoch under way, which become durable with it.
    epoch: Vec<ItemRecord>,
}

/// What the crawl measured so far.
#[derive(Debug)]
pub(crate) struct Measured {
    state: Mutex<State>,
}

/// All of it, at the end.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) sources: Vec<SourceCounts>,
    pub(crate) items: Vec<ItemRecord>,
    pub(crate) batches: Vec<BatchRecord>,
    pub(crate) steps: Steps<StepRecord>,
}

/// Adds to a count by name, of which there are so many at most.
fn count(counts: &mut BTreeMap<String, u64>, name: &str, more: u64) {
    if counts.len() >= REASONS_MAX && !counts.contains_key(name) {
        *counts.entry(OTHER_REASONS.to_owned()).or_default() += more;
    } else if let Some(known) = counts.get_mut(name) {
        *known += more;
    } else {
        counts.insert(name.to_owned(), more);
    }
}

impl Measured {
    pub(crate) fn new(sources: usize, seed: u64) -> Self {
        let state = State {
            sources: vec![SourceCounts::default(); sources],
            reservoir: ItemReservoir::new(SAMPLE_MAX, sources, seed),
            batches: Vec::new(),
            stations: Default::default(),
            commits: Default::default(),
            searches: Histogram::default(),
            epoch: Vec::new(),
        };
        Self { state: Mutex::new(state) }
    }
    /// An item passed the last station.
    pub(crate) fn done(&self, item: ItemRecord) {
        let mut state = lock(&self.state);
        let source = &mut state.sources[item.source as usize];
        source.items += 1;
        source.bytes += item.bytes;
        source.ended_ns = source.ended_ns.max(item.span_at(Station::Database).end_ns);
        source.fetch.record(Duration::from_ns(item.last_byte_ns - item.sent_ns));
        for (histogram, span) in state.stations.iter_mut().zip(item.spans) {
            histogram.record(Duration::from_ns(span.length_ns()));
        }
        state.epoch.push(item);
    }
    /// An item is as it was.
    pub(crate) fn unchanged(&self, source: u32, at_ns: u64) {
        let mut state = lock(&self.state);
        let source = &mut state.sources[source as usize];
        source.unchanged += 1;
        source.ended_ns = source.ended_ns.max(at_ns);
    }
    /// An item of an earlier crawl is gone.
    pub(crate) fn removed(&self, source: usize, items: u64) {
        lock(&self.state).sources[source].removed += items;
    }
    /// An item failed.
    pub(crate) fn failed(&self, source: u32, reason: &str, at_ns: u64) {
        let mut state = lock(&self.state);
        let source = &mut state.sources[source as usize];
        count(&mut source.failures, reason, 1);
        source.ended_ns = source.ended_ns.max(at_ns);
    }
    /// Something of note.
    pub(crate) fn note(&self, source: u32, note: &str, more: u64) {
        if more > 0 {
            count(&mut lock(&self.state).sources[source as usize].notes, note, more);
        }
    }
    /// A segment, a merge or half of a commit.
    pub(crate) fn batch(&self, batch: BatchRecord) {
        let mut state = lock(&self.state);
        let length = Duration::from_ns(batch.end_ns - batch.start_ns);
        match batch.station {
            Station::Commit => state.commits[0].record(length),
            Station::Database => state.commits[1].record(length),
            _ => {}
        }
        if state.batches.len() < BATCHES_MAX {
            state.batches.push(batch);
        }
    }
    /// A search while the crawl ran.
    pub(crate) fn searched(&self, latency_ns: u64) {
        lock(&self.state).searches.record(Duration::from_ns(latency_ns));
    }
    /// The epoch is durable.
    pub(crate) fn epoch_over(&self, at_ns: u64) {
        let mut state = lock(&self.state);
        let items = std::mem::take(&mut state.epoch);
        for mut item in items {
            item.committed_ns = Some(at_ns);
            state.reservoir.offer(item);
        }
    }
    /// Items that are done, that failed, and that are as they were.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let add = |[a, b, c]: [u64; 3], [more_a, more_b, more_c]: [u64; 3]| [a + more_a, b + more_b, c + more_c];
        self.by_source().into_iter().fold([0; 3], add).into()
    }
    /// The same of each source.
    pub(crate) fn by_source(&self) -> Vec<[u64; 3]> {
        let each = |of: &SourceCounts| [of.items, of.failures.values().sum(), of.unchanged];
        lock(&self.state).sources.iter().map(each).collect()
    }
    /// Items of a source that this crawl saw.
    pub(crate) fn seen(&self, source: usize) -> u64 {
        let state = lock(&self.state);
        state.sources[source].items + state.sources[source].unchanged
    }
    /// The counts of the sources alone.
    pub(crate) fn collect_counts(&self) -> Collected {
        let sources = lock(&self.state).sources.clone();
        Collected { sources, items: Vec::new(), batches: Vec::new(), steps: Steps::default() }
    }
    /// All of it so far, with items that are durable. `names` are those of the sources.
    pub(crate) fn collect(&self, names: &[String]) -> Collected {
        let State { sources, reservoir, batches, stations, commits, searches, .. } = lock(&self.state).clone();
        let mut steps = Steps::default();
        let mut step = |name: String, bytes: u64, latency: &Histogram| {
            if latency.count() == 0 {
                return;
            }
            let name = StepName::new(name).expect("a source's name is short and one line");
            let record = OperationRecord {
                count: latency.count(),
                bytes,
                latency: latency.clone(),
                ..OperationRecord::default()
            };
            let place: &mut StepRecord = steps.at(&name).expect("there are fewer sources than steps");
            *place = StepRecord { record, series: Vec::new() };
        };
        for (name, source) in names.iter().zip(&sources) {
            step(format!("fetch {name}"), source.bytes, &source.fetch);
        }
        for (name, latency) in ["extract", "index", "database"].iter().zip(&stations) {
            step((*name).to_owned(), 0, latency);
        }
        for (name, latency) in ["index commit", "database commit"].iter().zip(&commits) {
            step((*name).to_owned(), 0, latency);
        }
        step("search".to_owned(), 0, &searches);
        Collected { sources, items: reservoir.into_items(), batches, steps }
    }
}
