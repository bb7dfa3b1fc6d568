//! Pipelines made up for tests: wide open where nothing is said.

use loadline_pipeline::PipelineItem;
use loadline_record::{PipelineSpec, Politeness, QueueBound, SourceSpec, StationSpec, Work};
use loadline_units::Bytes;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
    /// Between 0 and 1, neither included.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }
    /// Exponential with this mean, ns.
    pub(crate) fn exponential(&mut self, mean_ns: f64) -> u64 {
        (-self.unit().ln() * mean_ns).round() as u64
    }
    /// Between two figures, evenly in their logarithm.
    pub(crate) fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.unit() * (high / low).ln()).exp()
    }
    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

pub(crate) const fn station(workers: u32, items: u32) -> StationSpec {
    StationSpec { workers, queue: QueueBound { items, bytes: Bytes::gib(1) } }
}

pub(crate) fn source(name: &str, slots: u32) -> SourceSpec {
    SourceSpec { name: name.to_owned(), slots, politeness: Politeness::default(), connections: None }
}

/// One source, stations without a limit, nothing committed.
pub(crate) fn wide_open(slots: u32) -> PipelineSpec {
    PipelineSpec {
        cores: 1_000_000,
        network: None,
        sources: vec![source("web", slots)],
        extract: station(1_000, 1_000_000),
        index: station(1_000, 1_000_000),
        database: station(1_000, 1_000_000),
        segments: None,
        commit: None,
    }
}

pub(crate) fn waits(other_ns: u64) -> Work {
    Work { other_ns, ..Work::default() }
}

/// Items that wait so long at each of fetch, extract, index and database.
pub(crate) fn items(count: usize, mut of: impl FnMut() -> [u64; 4]) -> Vec<PipelineItem> {
    let item = |[fetch, extract, index, database]: [u64; 4]| PipelineItem {
        first_byte_ns: fetch,
        work: [waits(extract), waits(index), waits(database)],
        ..PipelineItem::default()
    };
    (0..count).map(|_| item(of())).collect()
}
