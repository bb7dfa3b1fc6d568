//! A change of a pipeline, and the pipeline that it makes.

use crate::PipelineItem;
use crate::recorded::scaled;
use loadline_record::{BatchCost, PipelineSpec, SourceSpec, Station, StationSpec, VolumeRole};
use loadline_units::{ByteRate, Bytes, Duration, Iops};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A new figure, or the old one times a factor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount<T> {
    /// This.
    To(T),
    /// So many times as much.
    Times(f64),
}

/// A volume's new speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeSpeed {
    /// So many times as fast.
    Times(f64),
    /// As this disk.
    Disk(DiskWish),
}

/// A disk by its name, with what is provisioned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskWish {
    /// `provider/family-size`.
    pub sku: String,
    /// Requests per second.
    pub iops: Option<Iops>,
    /// Bytes per second.
    pub throughput: Option<ByteRate>,
    /// Capacity.
    pub size: Option<Bytes>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Another number of workers.
    Workers(Station, Amount<u32>),
    /// Another bound of the queue before a station.
    Queue(Station, Amount<u32>),
    /// Other slots, of one source or of all.
    Slots(Option<String>, Amount<u32>),
    /// Other connections.
    Connections(Option<String>, Amount<u32>),
    /// Another latency of a repository: its mean, with the same spread.
    RepositoryLatency(Option<String>, Amount<Duration>),
    /// Another crawl delay.
    CrawlDelay(Option<String>, Amount<Duration>),
    /// Another limit per host.
    PerHost(Option<String>, Amount<u32>),
    /// Without a source.
    NoSource(String),
    /// Another number of processors.
    Cores(Amount<u32>),
    /// Another network.
    Network(Amount<ByteRate>),
    /// Another volume.
    Volume(VolumeRole, VolumeSpeed),
    /// Other memory for segments, of each index worker.
    IndexMemory(Amount<Bytes>),
    /// An epoch of so many items.
    CommitItems(Amount<u64>),
    /// An epoch of so much time.
    CommitEvery(Duration),
}

/// A change that this pipeline cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such source.
    #[error("the crawl has no source {name:?}: it has {known}")]
    Source {
        /// The name.
        name: String,
        /// The sources there are.
        known: String,
    },
    /// The crawl has no such part.
    #[error("the crawl has no {0} that could be changed")]
    Part(&'static str),
    /// Nothing would be left.
    #[error("{0:?} is the crawl's only source: without it nothing is left")]
    Last(String),
}

/// Counts that a factor changes; at least 1.
fn counted(old: u32, to: Amount<u32>) -> u32 {
    match to {
        Amount::To(new) => new.max(1),
        Amount::Times(factor) => (libm::round(f64::from(old) * factor) as u32).max(1),
    }
}

impl Change {
    /// Makes the change.
    ///
    /// A volume that becomes another disk is not changed here: the replay has a model of it.
    ///
    /// # Errors
    /// Where the pipeline has no such part.
    pub fn apply(&self, spec: &mut PipelineSpec, items: &mut Vec<PipelineItem>) -> Result<(), ChangeError> {
        match self {
            Self::Workers(station, to) => {
                let station = station_mut(spec, *station)?;
                station.workers = counted(station.workers, *to);
            }
            Self::Queue(station, to) => {
                let queue = &mut station_mut(spec, *station)?.queue;
                let before = queue.items;
                queue.items = counted(before, *to);
                queue.bytes = Bytes::new(scaled(queue.bytes.get(), f64::from(queue.items) / f64::from(before)));
            }
            Self::Slots(name, to) => {
                for source in places(spec, name.as_deref())? {
                    spec.sources[source].slots = counted(spec.sources[source].slots, *to);
                }
            }
            Self::Connections(name, to) => {
                for source in places(spec, name.as_deref())? {
                    let source = &mut spec.sources[source];
                    source.connections = Some(counted(source.connections.unwrap_or(source.slots), *to));
                }
            }
            Self::RepositoryLatency(name, to) => {
                for source in places(spec, name.as_deref())? {
                    repository(items, source as u32, *to);
                }
            }
            Self::CrawlDelay(name, to) => {
                for source in places(spec, name.as_deref())? {
                    let rule = &mut spec.sources[source].politeness;
                    rule.crawl_delay = match *to {
                        Amount::To(delay) => Some(delay),
                        Amount::Times(factor) => {
                            rule.crawl_delay.map(|delay| Duration::from_ns(scaled(delay.as_ns(), factor)))
                        }
                    };
                }
            }
            Self::PerHost(name, to) => {
                for source in places(spec, name.as_deref())? {
                    let source = &mut spec.sources[source];
                    let before = source.politeness.per_host.unwrap_or(source.slots);
                    source.politeness.per_host = Some(counted(before, *to));
                }
            }
            Self::NoSource(name) => remove(spec, items, name)?,
            Self::Cores(to) => spec.cores = counted(spec.cores, *to),
            Self::Network(to) => {
                spec.network = match (*to, spec.network) {
                    (Amount::To(rate), _) => Some(rate),
                    (Amount::Times(_), None) => return Err(ChangeError::Part("network of known rate")),
                    (Amount::Times(factor), Some(rate)) => ByteRate::per_second(scaled(rate.get(), factor).max(1)),
                };
            }
            Self::Volume(role, VolumeSpeed::Times(factor)) => volume(spec, items, *role, *factor),
            Self::Volume(_, VolumeSpeed::Disk(_)) => {}
            Self::IndexMemory(to) => {
                let segments = spec.segments.as_mut().ok_or(ChangeError::Part("memory for segments"))?;
                segments.budget = match *to {
                    Amount::To(budget) => budget,
                    Amount::Times(factor) => Bytes::new(scaled(segments.budget.get(), factor)),
                };
            }
            Self::CommitItems(to) => {
                let commit = spec.commit.as_mut().ok_or(ChangeError::Part("commit"))?;
                match *to {
                    Amount::To(items) => (commit.every_items, commit.every) = (Some(items.max(1)), None),
                    Amount::Times(factor) => {
                        commit.every_items = commit.every_items.map(|items| scaled(items, factor).max(1));
                        commit.every = commit.every.map(|every| Duration::from_ns(scaled(every.as_ns(), factor)));
                    }
                }
            }
            Self::CommitEvery(every) => {
                let commit = spec.commit.as_mut().ok_or(ChangeError::Part("commit"))?;
                (commit.every_items, commit.every) = (None, Some(*every));
            }
        }
        Ok(())
    }
}

impl Change {
    /// The slots that the change gives this source, where it changes them.
    pub(super) fn slots_of(&self, source: &SourceSpec) -> Option<u32> {
        match self {
            Self::Slots(name, to) if name.as_ref().is_none_or(|name| *name == source.name) => {
                Some(counted(source.slots, *to))
            }
            _ => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Amount<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::To(value) => write!(f, "{value}"),
            Self::Times(factor) => write!(f, "x{factor}"),
        }
    }
}

/// As it is typed.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |name: &Option<String>| name.as_ref().map_or_else(String::new, |name| format!("{name} "));
        match self {
            Self::Workers(station, to) => write!(f, "{station} workers {to}"),
            Self::Queue(station, to) => write!(f, "{station} queue {to}"),
            Self::Slots(name, to) => write!(f, "{}slots {to}", of(name)),
            Self::Connections(name, to) => write!(f, "{}connections {to}", of(name)),
            Self::RepositoryLatency(name, to) => write!(f, "{}repository latency {to}", of(name)),
            Self::CrawlDelay(name, to) => write!(f, "{}crawl delay {to}", of(name)),
            Self::PerHost(name, to) => write!(f, "{}per host {to}", of(name)),
            Self::NoSource(name) => write!(f, "no source {name}"),
            Self::Cores(to) => write!(f, "cores {to}"),
            Self::Network(to) => write!(f, "network {to}"),
            Self::Volume(role, VolumeSpeed::Times(factor)) => write!(f, "{} volume x{factor}", role.name()),
            Self::Volume(role, VolumeSpeed::Disk(DiskWish { sku, iops, throughput, size })) => {
                write!(f, "{} volume {sku}", role.name())?;
                iops.iter().try_for_each(|iops| write!(f, " {iops}"))?;
                throughput.iter().try_for_each(|rate| write!(f, " {rate}"))?;
                size.iter().try_for_each(|size| write!(f, " {size}"))
            }
            Self::IndexMemory(to) => write!(f, "index memory {to}"),
            Self::CommitItems(Amount::To(items)) => write!(f, "commit every {items} items"),
            Self::CommitItems(to) => write!(f, "commit {to}"),
            Self::CommitEvery(every) => write!(f, "commit every {every}"),
        }
    }
}

fn station_mut(spec: &mut PipelineSpec, station: Station) -> Result<&mut StationSpec, ChangeError> {
    match station {
        Station::Extract => Ok(&mut spec.extract),
        Station::Index => Ok(&mut spec.index),
        Station::Database => Ok(&mut spec.database),
        Station::Fetch | Station::Commit | Station::Merge => Err(ChangeError::Part("such station")),
    }
}

/// The sources of this name, or all.
fn places(spec: &PipelineSpec, name: Option<&str>) -> Result<Vec<usize>, ChangeError> {
    let Some(name) = name else { return Ok((0..spec.sources.len()).collect()) };
    let found: Vec<usize> = (0..spec.sources.len()).filter(|source| spec.sources[*source].name == name).collect();
    if found.is_empty() {
        let known: Vec<&str> = spec.sources.iter().map(|source| source.name.as_str()).collect();
        return Err(ChangeError::Source { name: name.to_owned(), known: known.join(", ") });
    }
    Ok(found)
}

fn remove(spec: &mut PipelineSpec, items: &mut Vec<PipelineItem>, name: &str) -> Result<(), ChangeError> {
    let place = places(spec, Some(name))?[0];
    if spec.sources.len() == 1 {
        return Err(ChangeError::Last(name.to_owned()));
    }
    spec.sources.remove(place);
    let mut new_places = Vec::with_capacity(items.len());
    let mut kept = 0u32;
    for item in items.iter() {
        new_places.push(kept);
        kept += u32::from(item.source as usize != place);
    }
    items.retain(|item| item.source as usize != place);
    for item in items {
        if item.source as usize > place {
            item.source -= 1;
        }
        if let crate::Release::After(parent) = &mut item.release {
            *parent = new_places[*parent as usize];
        }
    }
    Ok(())
}

fn repository(items: &mut [PipelineItem], source: u32, to: Amount<Duration>) {
    let own = || items.iter().filter(|item| item.source == source);
    let count = own().count().max(1) as f64;
    let mean = own().map(|item| item.first_byte_ns as f64).sum::<f64>() / count;
    let factor = match to {
        Amount::Times(factor) => factor,
        Amount::To(latency) if mean > 0.0 => latency.as_ns() as f64 / mean,
        // There was none: all items get the same.
        Amount::To(latency) => {
            let own = items.iter_mut().filter(|item| item.source == source);
            own.for_each(|item| item.first_byte_ns = latency.as_ns());
            return;
        }
    };
    let own = items.iter_mut().filter(|item| item.source == source);
    own.for_each(|item| item.first_byte_ns = scaled(item.first_byte_ns, factor));
}

/// All waits for a volume are `factor` times shorter.
fn volume(spec: &mut PipelineSpec, items: &mut [PipelineItem], role: VolumeRole, factor: f64) {
    let faster = |ns: &mut u64| *ns = scaled(*ns, 1.0 / factor);
    let batch = |cost: &mut BatchCost| {
        faster(&mut cost.write_ns);
        faster(&mut cost.write_per_unit_ns);
        faster(&mut cost.sync_ns);
    };
    let place = match role {
        VolumeRole::Index => Some(1),
        VolumeRole::Data => Some(2),
        VolumeRole::Log => None,
    };
    if let Some(place) = place {
        for item in items {
            faster(&mut item.work[place].device_ns);
        }
    }
    if let (VolumeRole::Index, Some(segments)) = (role, &mut spec.segments) {
        batch(&mut segments.flush);
        segments.merge.iter_mut().for_each(|merge| batch(&mut merge.cost));
    }
    if let Some(commit) = &mut spec.commit {
        match role {
            VolumeRole::Index => batch(&mut commit.index),
            VolumeRole::Log => batch(&mut commit.database),
            VolumeRole::Data => {}
        }
    }
}
