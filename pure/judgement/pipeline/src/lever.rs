//! What could be made faster: each lever of a pipeline, and the pipeline in which it is twice as fast.

use crate::{Amount, Change, PipelineItem, Release, VolumeSpeed};
use loadline_record::{BatchCost, PipelineRecord, PipelineSpec, Station, VolumeRole};
use loadline_units::Duration;
use serde::{Deserialize, Serialize};

/// A part of the pipeline that may bind a source. No two cover the same time of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "part", content = "of")]
pub enum Lever {
    /// How fast a source's items become known; the source by its place.
    Discovery(usize),
    /// What the hosts of a source may be asked.
    Politeness(usize),
    /// A source's repository: its latency times the slots.
    Repository(usize),
    /// Connections, or streams of one, to a source.
    Connections(usize),
    /// The network that fetches share.
    Network,
    /// All processors together.
    Cores,
    /// Processor time of a station while processors are idle: its workers are too few.
    Workers(Station),
    /// A volume.
    Volume(VolumeRole),
    /// What a station waits for that is no volume: a lock, a server.
    Waits(Station),
    /// How often epochs are made durable.
    Commit,
    /// Memory for segments: how often they are written.
    Memory,
    /// Merges of segments.
    Merges,
}

/// A commit of fewer items is one of nearly each: a person who sets it goes on to so many, not from one to two.
const FEW_ITEMS: u64 = 8;

/// The larger commits that a person sets: of twice the items, or of 8 where twice is fewer.
#[must_use]
pub fn larger_commits(spec: &PipelineSpec) -> Amount<u64> {
    let items = spec.commit.as_ref().and_then(|commit| commit.every_items);
    let few = items.filter(|items| items.saturating_mul(2) < FEW_ITEMS);
    few.map_or(Amount::Times(2.0), |_| Amount::To(FEW_ITEMS))
}

impl Lever {
    /// What kind of part it is, as it is stored and printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discovery(_) => "discovery",
            Self::Politeness(_) => "politeness",
            Self::Repository(_) => "repository",
            Self::Connections(_) => "connections",
            Self::Network => "network",
            Self::Cores => "cores",
            Self::Workers(_) => "workers",
            Self::Volume(_) => "volume",
            Self::Waits(_) => "waits",
            Self::Commit => "commit",
            Self::Memory => "memory",
            Self::Merges => "merges",
        }
    }
    /// Every lever of a pipeline.
    #[must_use]
    pub fn all(spec: &PipelineSpec) -> Vec<Self> {
        let mut all = Vec::new();
        for source in 0..spec.sources.len() {
            all.extend([Self::Discovery(source), Self::Politeness(source), Self::Repository(source)]);
            if spec.sources[source].connections.is_some() {
                all.push(Self::Connections(source));
            }
        }
        if spec.network.is_some() {
            all.push(Self::Network);
        }
        all.push(Self::Cores);
        all.extend(Station::LINE.map(Self::Workers));
        all.extend(VolumeRole::ALL.map(Self::Volume));
        all.extend(Station::LINE.map(Self::Waits));
        if spec.commit.is_some() {
            all.push(Self::Commit);
        }
        if let Some(segments) = &spec.segments {
            all.push(Self::Memory);
            if segments.merge.is_some() {
                all.push(Self::Merges);
            }
        }
        all
    }
    /// The source that the lever belongs to alone.
    #[must_use]
    pub const fn source(self) -> Option<usize> {
        match self {
            Self::Discovery(source)
            | Self::Politeness(source)
            | Self::Repository(source)
            | Self::Connections(source) => Some(source),
            Self::Network
            | Self::Cores
            | Self::Workers(_)
            | Self::Volume(_)
            | Self::Waits(_)
            | Self::Commit
            | Self::Memory
            | Self::Merges => None,
        }
    }
    /// The station whose time the lever is, where it is one's.
    #[must_use]
    pub const fn station(self) -> Option<Station> {
        match self {
            Self::Workers(station) | Self::Waits(station) => Some(station),
            Self::Volume(VolumeRole::Index) | Self::Memory | Self::Merges => Some(Station::Index),
            Self::Volume(VolumeRole::Data) => Some(Station::Database),
            Self::Volume(VolumeRole::Log) | Self::Commit => Some(Station::Commit),
            Self::Discovery(_) | Self::Politeness(_) | Self::Repository(_) | Self::Connections(_) | Self::Network => {
                Some(Station::Fetch)
            }
            Self::Cores => None,
        }
    }

    /// The same pipeline with twice as many of what the lever stands for, if it is counted: processors with workers for them, or workers.
    pub(crate) fn multiply(self, spec: &mut PipelineSpec) -> bool {
        match self {
            Self::Cores => {
                spec.cores = spec.cores.saturating_mul(2);
                for station in [&mut spec.extract, &mut spec.index, &mut spec.database] {
                    station.workers = station.workers.saturating_mul(2);
                }
            }
            Self::Workers(Station::Extract) => spec.extract.workers *= 2,
            Self::Workers(Station::Index) => spec.index.workers *= 2,
            Self::Workers(Station::Database) => spec.database.workers *= 2,
            _ => return false,
        }
        true
    }

    /// Whether both are names for the same waits: what is made durable waits for its volume, however often that is.
    #[must_use]
    pub const fn is_one_wait(self, other: Self) -> bool {
        const fn is_batch(lever: Lever) -> bool {
            matches!(lever, Lever::Commit | Lever::Memory | Lever::Merges)
        }
        (matches!(self, Self::Volume(_)) && is_batch(other)) || (is_batch(self) && matches!(other, Self::Volume(_)))
    }

    /// What a person sets to have twice as much of it; empty: no setting does.
    #[must_use]
    pub fn twice(self, record: &PipelineRecord) -> Vec<Change> {
        let source = |place: usize| record.spec.sources.get(place);
        let name = |place: usize| source(place).map(|source| source.name.clone());
        match self {
            Self::Repository(place) => vec![Change::Slots(name(place), Amount::Times(2.0))],
            Self::Politeness(place) => {
                let Some(of) = source(place) else { return Vec::new() };
                let delay = of.politeness.crawl_delay.map(|_| Change::CrawlDelay(name(place), Amount::Times(0.5)));
                let per_host = of.politeness.per_host.map(|_| Change::PerHost(name(place), Amount::Times(2.0)));
                // What hosts ask for is no setting.
                delay.into_iter().chain(per_host).collect()
            }
            Self::Connections(place) => vec![Change::Connections(name(place), Amount::Times(2.0))],
            Self::Network => vec![Change::Network(Amount::Times(2.0))],
            Self::Cores => {
                // More processors help if there are workers for them.
                let line = record.stations.iter().filter(|of| Station::LINE.contains(&of.station));
                let busiest = line.max_by_key(|of| of.clock.busy.cpu_ns() / u64::from(of.workers.max(1)));
                let workers = busiest.map(|of| Change::Workers(of.station, Amount::Times(2.0)));
                [Change::Cores(Amount::Times(2.0))].into_iter().chain(workers).collect()
            }
            Self::Workers(station) => vec![Change::Workers(station, Amount::Times(2.0))],
            Self::Volume(role) => vec![Change::Volume(role, VolumeSpeed::Times(2.0))],
            Self::Commit => vec![Change::CommitItems(larger_commits(&record.spec))],
            Self::Memory => vec![Change::IndexMemory(Amount::Times(2.0))],
            Self::Discovery(_) | Self::Waits(_) | Self::Merges => Vec::new(),
        }
    }

    /// The same pipeline with the lever twice as fast.
    pub fn speed_up(self, spec: &mut PipelineSpec, items: &mut [PipelineItem]) {
        let twice = |count: &mut u32| *count = count.saturating_mul(2);
        match self {
            Self::Discovery(source) => find_sooner(source as u32, items),
            Self::Politeness(source) => {
                let rule = &mut spec.sources[source].politeness;
                rule.crawl_delay = rule.crawl_delay.map(|delay| Duration::from_ns(delay.as_ns() / 2));
                rule.per_host.iter_mut().for_each(twice);
                let own = items.iter_mut().filter(|item| item.source as usize == source);
                own.for_each(|item| item.retry_after_ns /= 2);
            }
            Self::Repository(source) => twice(&mut spec.sources[source].slots),
            Self::Connections(source) => spec.sources[source].connections.iter_mut().for_each(twice),
            Self::Network => {
                spec.network =
                    spec.network.map(|rate| loadline_units::ByteRate::per_second(rate.get() * 2).unwrap_or(rate));
            }
            Self::Cores => {
                for item in items {
                    item.fetch_cpu_ns /= 2;
                    item.work.iter_mut().for_each(|work| work.cpu_ns /= 2);
                }
                costs(spec).for_each(half_the_work);
            }
            Self::Workers(station) => {
                let place = place(station);
                for item in items {
                    item.work[place].cpu_ns /= 2;
                }
                if let (Station::Index, Some(segments)) = (station, &mut spec.segments) {
                    half_the_work(&mut segments.flush);
                }
            }
            Self::Waits(station) => {
                let place = place(station);
                for item in items {
                    item.work[place].other_ns /= 2;
                }
            }
            // What a batch waits for once, whatever its size, is a matter of how many batches there are.
            Self::Volume(role) => {
                let station = match role {
                    VolumeRole::Index => Some(1),
                    VolumeRole::Data => Some(2),
                    VolumeRole::Log => None,
                };
                if let Some(place) = station {
                    for item in items {
                        item.work[place].device_ns /= 2;
                    }
                }
                if let (VolumeRole::Index, Some(segments)) = (role, &mut spec.segments) {
                    segments.flush.write_per_unit_ns /= 2;
                }
                if let Some(commit) = &mut spec.commit {
                    match role {
                        VolumeRole::Index => commit.index.write_per_unit_ns /= 2,
                        VolumeRole::Log => commit.database.write_per_unit_ns /= 2,
                        VolumeRole::Data => {}
                    }
                }
            }
            Self::Commit => {
                if let Some(commit) = &mut spec.commit {
                    commit.every_items.iter_mut().for_each(|items| *items = items.saturating_mul(2));
                    commit.every = commit.every.map(|every| every * 2);
                }
            }
            Self::Memory => {
                if let Some(segments) = &mut spec.segments {
                    segments.budget = segments.budget * 2;
                }
            }
            Self::Merges => {
                if let Some(merge) = spec.segments.as_mut().and_then(|segments| segments.merge.as_mut()) {
                    half_the_work(&mut merge.cost);
                    merge.cost.write_per_unit_ns /= 2;
                    merge.cost.write_ns /= 2;
                    merge.cost.sync_ns /= 2;
                }
            }
        }
    }
}

const fn place(station: Station) -> usize {
    match station {
        Station::Fetch | Station::Extract => 0,
        Station::Index | Station::Merge => 1,
        Station::Database | Station::Commit => 2,
    }
}

/// The batch on a processor twice as fast.
const fn half_the_work(cost: &mut BatchCost) {
    cost.cpu_per_unit_ns /= 2;
    cost.cpu_ns /= 2;
}

pub(crate) fn costs(spec: &mut PipelineSpec) -> impl Iterator<Item = &mut BatchCost> {
    let (mut of_segments, mut of_commit) = (Vec::new(), Vec::new());
    if let Some(segments) = &mut spec.segments {
        of_segments.push(&mut segments.flush);
        of_segments.extend(segments.merge.iter_mut().map(|merge| &mut merge.cost));
    }
    if let Some(commit) = &mut spec.commit {
        of_commit.extend([&mut commit.index, &mut commit.database]);
    }
    of_segments.into_iter().chain(of_commit)
}

/// Every page lists what the pages that it lists have listed: half as many steps lead to each item.
fn find_sooner(source: u32, items: &mut [PipelineItem]) {
    for place in (0..items.len()).rev().filter(|place| items[*place].source == source).collect::<Vec<_>>() {
        items[place].release = match items[place].release {
            Release::At(at) => Release::At(at / 2),
            Release::After(parent) => match items[parent as usize].release {
                Release::After(before) => Release::After(before),
                // The second step of a way stays: the first item must be fetched to know any.
                Release::At(_) => Release::After(parent),
            },
        };
    }
}
