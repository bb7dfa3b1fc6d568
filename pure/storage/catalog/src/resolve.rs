//! Resolves entries to the disk model's specs: provisioned figures give published ones, and a draw from the intervals
//! gives the enforced ones.

use crate::deviation::Deviation;
use crate::entry::{
    BurstRule, ByIops, CachedEstimate, Choice, Credits, DiskEntry, EnforcementInterval, Family, Figure,
    LatencyInterval, LatencyIntervals, Mechanism, Provision, Rates, ReadsAndWrites, SizeRule,
};
use crate::figure::{Factor, Interval, Lack, Rule, Scalar};
use crate::file::directions;
use loadline_disk::{
    DeviceQueues, Directions, DiskSpec, Enforcement, IopsBudget, IopsBurst, Latency, LatencySpec, Limit, Parallelism,
    Spinning, ThroughputBudget, ThroughputBurst, VmSpec,
};
use loadline_units::{ByteRate, Bytes, Duration, Iops, NS_PER_S, Ratio};
use std::sync::Arc;

/// The user's choices for a disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Provisioned {
    /// Its size; `None`: as sold.
    pub size: Option<Bytes>,
    /// Requests per second, if they are chosen.
    pub iops: Option<Iops>,
    /// Bytes per second, if they are chosen.
    pub throughput: Option<ByteRate>,
    /// One of the disk's options.
    pub option: Option<String>,
}

/// The place of a draw in the intervals of uncertain parameters: 0 % at the low end, 50 % in the middle, 100 % at the
/// high end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Of latencies.
    pub latency: Ratio,
    /// Of the windows and buckets of limits.
    pub enforcement: Ratio,
    /// Of the delivered share of published limits; `None`: exactly the published figures.
    pub delivered: Option<Ratio>,
    /// Of the size of buckets of credits.
    pub bursts: Ratio,
}

impl Draw {
    /// The most plausible of everything.
    pub const MIDDLE: Self = Self {
        latency: Ratio::percent(50),
        enforcement: Ratio::percent(50),
        delivered: Some(Ratio::percent(50)),
        bursts: Ratio::percent(50),
    };
    /// The most plausible, with limits as they are published.
    pub const PUBLISHED: Self = Self { delivered: None, ..Self::MIDDLE };
}

/// The wrong part of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PurchasePart {
    /// Its name.
    Sku,
    /// Its size.
    Size,
    /// Its requests per second.
    Iops,
    /// Its bytes per second.
    Throughput,
    /// Its option.
    Option,
}

impl PurchasePart {
    /// The key in an environment file.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Sku => "sku",
            Self::Size => "size",
            Self::Iops => "iops",
            Self::Throughput => "throughput",
            Self::Option => "option",
        }
    }
}

/// Why the catalog cannot resolve a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Nothing is called so.
    #[error("no {kind} {name:?} is in the catalog{}", .near.as_ref().map_or(String::new(), |near| format!(": did you mean {near}?")))]
    Unknown {
        /// The requested name.
        name: String,
        /// "disk" or "VM size".
        kind: &'static str,
        /// The nearest that is there.
        near: Option<String>,
    },
    /// The size is missing.
    #[error("{name} has no size of its own: give a size{}", .bounds.map_or(String::new(), |(least, most)| format!(" from {least} to {most}")))]
    SizeMissing {
        /// The disk.
        name: String,
        /// The permitted range, if known.
        bounds: Option<(Bytes, Bytes)>,
    },
    /// The size is not to be had.
    #[error(
        "{name} comes with {}, not with {size}{}", sizes(*.least, *.most),
        .larger.as_ref().map_or(String::new(), |larger| format!(": the next larger is {larger}"))
    )]
    SizeOutside {
        /// The disk.
        name: String,
        /// The requested size.
        size: Bytes,
        /// The least there is.
        least: Bytes,
        /// The most there is.
        most: Bytes,
        /// The smallest disk of the same family with at least that size.
        larger: Option<String>,
    },
    /// The figure follows and cannot be chosen.
    #[error("the {} of {name} follow from its size and cannot be provisioned: leave it out", .part.key())]
    NotChosen {
        /// The disk.
        name: String,
        /// Which figure.
        part: PurchasePart,
    },
    /// The figure is missing.
    #[error("{name} has no {} of its own: give {} {}", .part.key(), .part.key(), .most.as_ref().map_or("= ...".to_owned(), |most| format!("up to {most}")))]
    Unchosen {
        /// The disk.
        name: String,
        /// Which figure.
        part: PurchasePart,
        /// The most at this size.
        most: Option<String>,
    },
    /// More than can be provisioned.
    #[error("{name} can be provisioned with at most {most}{}, not with {wanted}{}", .size.map_or(String::new(), |size| format!(" at {size}")), dated(.date.as_ref()))]
    Above {
        /// The disk.
        name: String,
        /// Which figure.
        part: PurchasePart,
        /// The requested figure.
        wanted: String,
        /// The most.
        most: String,
        /// At this size.
        size: Option<Bytes>,
        /// The date of the source with this bound.
        date: Option<String>,
    },
    /// Less than can be provisioned.
    #[error("{name} cannot be provisioned with less than {least}: {wanted} is below{}", dated(.date.as_ref()))]
    Below {
        /// The disk.
        name: String,
        /// Which figure.
        part: PurchasePart,
        /// The requested figure.
        wanted: String,
        /// The least.
        least: String,
        /// The date of the source with this bound.
        date: Option<String>,
    },
    /// The disk has no such option.
    #[error("{name} has no option {option:?}{}", if .known.is_empty() { String::new() } else { format!(": it has {}", .known.join(", ")) })]
    NoOption {
        /// The disk.
        name: String,
        /// The requested option.
        option: String,
        /// The known options.
        known: Vec<String>,
    },
}

/// The date of a bound, as the end of a message.
fn dated(date: Option<&String>) -> String {
    date.map_or(String::new(), |date| format!(" (limits as of {date})"))
}

/// The permitted sizes. A disk of one size may be used in part, so only its most is printed.
fn sizes(least: Bytes, most: Bytes) -> String {
    if least.get() <= 1 { format!("at most {most}") } else { format!("{least} to {most}") }
}

impl EntryError {
    /// With the date of the source that gave a bound.
    fn of_source(mut self, source: Option<&str>) -> Self {
        if let Self::Above { date, .. } | Self::Below { date, .. } = &mut self {
            *date = source.map(str::to_owned);
        }
        self
    }

    /// The wrong part.
    #[must_use]
    pub const fn part(&self) -> PurchasePart {
        match self {
            Self::Unknown { .. } => PurchasePart::Sku,
            Self::SizeMissing { .. } | Self::SizeOutside { .. } => PurchasePart::Size,
            Self::NotChosen { part, .. }
            | Self::Unchosen { part, .. }
            | Self::Above { part, .. }
            | Self::Below { part, .. } => *part,
            Self::NoOption { .. } => PurchasePart::Option,
        }
    }
}

/// Published limits with their mechanism.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitFigures {
    /// As published; its enforcement is not set.
    pub limit: Limit,
    /// Its mechanism.
    pub mechanism: Mechanism,
}

/// A disk with its provisioned figures: published figures, and their uncertainty.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskFigures {
    /// The SKU's name; empty for a disk given in full.
    pub name: String,
    /// Its family's name; empty for a disk given in full.
    pub family: String,
    /// The user's choices.
    pub wanted: Provisioned,
    /// Its size.
    pub size: Option<Bytes>,
    /// Its limits.
    pub limits: LimitFigures,
    /// How long requests are in service; `None` for no time.
    pub latency: Option<LatencyIntervals>,
    /// How much it has in service at once.
    pub parallelism: Parallelism,
    /// The mechanics of a spinning disk.
    pub spinning: Option<Spinning>,
    /// The most on a machine whose device queues serve threads in order.
    pub in_order_most: Option<Rates>,
    /// Whether its limits were bought for it alone: it does not share the limits by size of its type.
    pub is_by_iops: bool,
    /// Measurements of such a disk that the model is known to miss.
    pub deviations: Arc<[Deviation]>,
}

/// A limit that was not published, estimated by a machine's processors.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatedLimit {
    /// For each processor.
    pub estimate: CachedEstimate,
    /// The processors.
    pub vcpus: u32,
    /// The mechanism of its limits.
    pub mechanism: Mechanism,
}

impl EstimatedLimit {
    /// The enforced limit under `draw`: the place of the delivered share is also that of the estimate.
    fn enforced(&self, draw: &Draw) -> Limit {
        let place = draw.delivered.unwrap_or(Ratio::percent(50));
        let CachedEstimate { iops, throughput, iops_most, throughput_most } = self.estimate;
        let iops = Iops::of(iops.at(place).get() * u64::from(self.vcpus));
        let throughput = ByteRate::of(throughput.at(place).get() * u64::from(self.vcpus));
        let iops = iops_most.map_or(iops, |most| iops.min(most));
        let throughput = throughput_most.map_or(throughput, |most| throughput.min(most));
        let limit = Limit {
            iops: Some(Directions::Together(IopsBudget::steady(iops))),
            throughput: Some(Directions::Together(ThroughputBudget::steady(throughput))),
            ..Limit::default()
        };
        LimitFigures { limit, mechanism: self.mechanism.clone() }.enforced(&Draw { delivered: None, ..*draw })
    }
}

/// A virtual machine's figures as published.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VmFigures {
    /// The size's name; empty for one given in full.
    pub name: String,
    /// To network disks.
    pub uncached: Option<LimitFigures>,
    /// Instead of `uncached`, if all network disks are of these families.
    pub uncached_for: Option<(Vec<String>, LimitFigures)>,
    /// Through the host.
    pub cached: Option<LimitFigures>,
    /// Through the host's cache, if nothing was published.
    pub cached_estimate: Option<EstimatedLimit>,
    /// For all disks of a type together, by the disk's full name.
    pub caps: Vec<(String, LimitFigures)>,
    /// Data disks at most.
    pub disks_max: Option<u32>,
    /// The host's cache.
    pub cache_size: Option<Bytes>,
    /// Processors, if known.
    pub vcpus: Option<u32>,
    /// Whether its device queues give out places in the order in which threads ask.
    pub queues_in_order: bool,
    /// Queues before each of its network disks, if they were counted.
    pub device_queues: Option<u32>,
    /// Families of disks that cannot be attached to it.
    pub takes_no: Vec<String>,
    /// Whether its hosts cache no disks behind the network.
    pub caches_none: bool,
}

impl LimitFigures {
    /// The enforced figures under `draw`.
    #[must_use]
    pub fn enforced(&self, draw: &Draw) -> Limit {
        let mechanism = &self.mechanism;
        let mut limit = self.limit.clone();
        let delivered = &mechanism.delivered;
        let at = |share: Interval<Factor>| draw.delivered.map_or(Factor::ONE, |place| share.at(place));
        let (iops, throughput) = (at(delivered.iops), at(delivered.throughput));
        let write_iops = at(delivered.write_iops.unwrap_or(delivered.iops));
        let refilled = mechanism.burst_refilled.at(draw.bursts);
        // Credits that follow from a span follow from the rates that are enforced: a full bucket lasts for the span.
        let credits = |published: (u64, u64, u64), factor: Factor| {
            let (base, burst, credits) = published;
            match mechanism.burst_span {
                Some(span) if credits == saved(burst.saturating_sub(base), span) => {
                    let (base, burst) = (factor.of_count(base), factor.of_count(burst));
                    saved(burst.saturating_sub(refilled.of_count(base)), span)
                }
                _ => credits,
            }
        };
        let iops_of = |budget: IopsBudget, share: Factor| IopsBudget {
            rate: share.times(budget.rate),
            burst: budget.burst.map(|burst| IopsBurst {
                rate: share.times(burst.rate),
                credits: credits((budget.rate.get(), burst.rate.get(), burst.credits), share),
            }),
        };
        limit.iops = limit.iops.map(|found| match found {
            Directions::Apart { read, write } => Directions::Apart {
                read: read.map(|budget| iops_of(budget, iops)),
                write: write.map(|budget| iops_of(budget, write_iops)),
            },
            found => each(found, |budget| iops_of(budget, iops)),
        });
        limit.throughput = limit.throughput.map(|found| {
            each(found, |budget| ThroughputBudget {
                rate: throughput.times(budget.rate),
                burst: budget.burst.map(|burst| ThroughputBurst {
                    rate: throughput.times(burst.rate),
                    credits: Bytes::new(credits(
                        (budget.rate.get(), burst.rate.get(), burst.credits.get()),
                        throughput,
                    )),
                }),
            })
        });
        limit.counted_size = mechanism.counted_size;
        limit.merge = mechanism.merge;
        limit.least_charge = mechanism.least_charge;
        limit.enforcement = match mechanism.enforcement {
            EnforcementInterval::Smooth => Enforcement::Smooth,
            EnforcementInterval::Bucket(depth) => Enforcement::Bucket { depth: depth.at(draw.enforcement) },
            EnforcementInterval::Window { length, jitter } => {
                Enforcement::Window { length: length.at(draw.enforcement), jitter: jitter.at(draw.enforcement) }
            }
        };
        limit
    }
}

/// Each budget of `found`, changed.
fn each<T, U>(found: Directions<T>, mut change: impl FnMut(T) -> U) -> Directions<U> {
    match found {
        Directions::Together(both) => Directions::Together(change(both)),
        Directions::Apart { read, write } => {
            Directions::Apart { read: read.map(&mut change), write: write.map(&mut change) }
        }
        Directions::Traded { read, write } => Directions::Traded { read: change(read), write: change(write) },
    }
}

impl DiskFigures {
    /// The disk for the model, under `draw`.
    #[must_use]
    pub fn spec(&self, draw: &Draw) -> DiskSpec {
        let latency = self.latency.map_or_else(Latency::default, |found| {
            let at = |interval: LatencyInterval| LatencySpec {
                median: interval.median.at(draw.latency),
                p99: interval.p99.at(draw.latency),
                per_kib: interval.per_kib.at(draw.latency),
            };
            Latency { read: at(found.read), write: at(found.write), flush: found.flush.map(at) }
        });
        DiskSpec {
            name: self.name.clone(),
            size: self.size,
            place: self.limits.mechanism.place,
            limit: self.limits.enforced(draw),
            pool: None,
            allowance: None,
            latency,
            parallelism: self.parallelism,
            spinning: self.spinning,
            holds: self.limits.mechanism.holds,
            device_queues: None,
        }
    }

    /// Restricts the disk to its limits on `vm`.
    pub(crate) fn hold_on(&mut self, vm: Option<&VmFigures>) {
        let Some(most) = self.in_order_most.filter(|_| vm.is_some_and(|vm| vm.queues_in_order)) else { return };
        let limit = &mut self.limits.limit;
        limit.iops = limit.iops.map(|found| {
            each(found, |budget| IopsBudget {
                rate: budget.rate.min(most.iops),
                burst: budget.burst.map(|burst| IopsBurst { rate: burst.rate.min(most.iops), ..burst }),
            })
        });
        limit.throughput = limit.throughput.map(|found| {
            each(found, |budget| ThroughputBudget {
                rate: budget.rate.min(most.throughput),
                burst: budget.burst.map(|burst| ThroughputBurst { rate: burst.rate.min(most.throughput), ..burst }),
            })
        });
    }

    /// How a machine's guest reaches the disk, under `draw`.
    pub(crate) fn device_queues(&self, draw: &Draw, vm: Option<&VmFigures>) -> Option<DeviceQueues> {
        let found = self.limits.mechanism.device_queues?;
        if vm.is_some_and(|vm| vm.queues_in_order) {
            return None;
        }
        let counted = vm.and_then(|vm| vm.device_queues);
        let queues = counted.unwrap_or_else(|| found.queues.at(draw.enforcement)).max(1);
        let queues = vm.and_then(|vm| vm.vcpus).map_or(queues, |vcpus| queues.min(vcpus));
        Some(DeviceQueues { queues, depth: found.depth.at(draw.enforcement) })
    }
}

impl VmFigures {
    /// The machine for the model, under `draw`. Pass `true` if every network disk is of a family in `uncached_for`.
    #[must_use]
    pub fn spec(&self, draw: &Draw, only_for: bool) -> VmSpec {
        let uncached = match &self.uncached_for {
            Some((_, limits)) if only_for => Some(limits),
            _ => self.uncached.as_ref(),
        };
        VmSpec {
            name: self.name.clone(),
            uncached: uncached.map(|limits| limits.enforced(draw)),
            cached: (self.cached.as_ref().map(|limits| limits.enforced(draw)))
                .or_else(|| self.cached_estimate.as_ref().map(|estimate| estimate.enforced(draw))),
            cached_estimated: self.cached.is_none() && self.cached_estimate.is_some(),
            disks_max: self.disks_max,
            cache_size: self.cache_size,
            vcpus: self.vcpus,
        }
    }
}

impl DiskEntry {
    /// The disk with its provisioned figures.
    pub(crate) fn resolve(&self, family: &Family, wanted: &Provisioned) -> Result<DiskFigures, EntryError> {
        let size = self.size_of(wanted.size)?;
        self.figures(family, size, wanted).map_err(|error| error.of_source(self.origin.date_within(family)))
    }

    /// As [`DiskEntry::resolve`], for all disks of a type together, which may be larger than any.
    pub(crate) fn total(&self, family: &Family, size: Bytes) -> Result<DiskFigures, EntryError> {
        self.figures(family, Some(size), &Provisioned::default())
    }

    /// A smaller disk than the size sold is sold as this one.
    fn size_of(&self, wanted: Option<Bytes>) -> Result<Option<Bytes>, EntryError> {
        let name = || self.name.clone();
        let (least, most) = match self.size {
            SizeRule::Fixed(size) => (Bytes::new(1), size),
            SizeRule::Chosen { least, most } => (least, most),
            SizeRule::Unknown => {
                return wanted.map(Some).ok_or_else(|| EntryError::SizeMissing { name: name(), bounds: None });
            }
        };
        match (wanted, self.size) {
            (None, SizeRule::Fixed(size)) => Ok(Some(size)),
            (None, _) => Err(EntryError::SizeMissing { name: name(), bounds: Some((least, most)) }),
            (Some(size), _) if size < least || size > most => {
                Err(EntryError::SizeOutside { name: name(), size, least, most, larger: None })
            }
            (Some(size), _) => Ok(Some(size)),
        }
    }

    fn figures(&self, family: &Family, size: Option<Bytes>, wanted: &Provisioned) -> Result<DiskFigures, EntryError> {
        let mechanism = &self.mechanism(family);
        let mut limit = Limit::default();
        let by_iops = self.by_iops(size, wanted)?;
        if let Some(Rates { iops, throughput }) = by_iops {
            limit.iops = Some(Directions::Together(IopsBudget::steady(iops)));
            limit.throughput = Some(Directions::Together(ThroughputBudget::steady(throughput)));
        } else if let Some(option) = &wanted.option {
            let Some(found) = self.options.iter().find(|known| known.name == *option) else {
                let known = self.options.iter().map(|option| option.name.clone()).collect();
                return Err(EntryError::NoOption { name: self.name.clone(), option: option.clone(), known });
            };
            limit.iops = Some(Directions::Together(IopsBudget::steady(found.iops)));
            limit.throughput = Some(Directions::Together(ThroughputBudget::steady(found.throughput)));
        } else {
            let iops_last = self.iops.as_ref().is_some_and(needs_other);
            let mut throughput = None;
            if iops_last {
                throughput =
                    self.figure(self.throughput.as_ref(), PurchasePart::Throughput, size, wanted.throughput, None)?;
            }
            let other = throughput.map(|found| single(found).get());
            let iops = self.figure(self.iops.as_ref(), PurchasePart::Iops, size, wanted.iops, other)?;
            if !iops_last {
                let other = iops.map(|found| single(found).get());
                throughput =
                    self.figure(self.throughput.as_ref(), PurchasePart::Throughput, size, wanted.throughput, other)?;
            }
            let traded = mechanism.reads_and_writes == ReadsAndWrites::Traded;
            let burst = self.burst.clone().unwrap_or_default();
            limit.iops =
                iops.map(|found| priced(each(found, |rate| iops_budget(rate, &burst, size, mechanism)), traded));
            limit.throughput = throughput
                .map(|found| priced(each(found, |rate| throughput_budget(rate, &burst, size, mechanism)), traded));
        }
        Ok(DiskFigures {
            name: self.name.clone(),
            family: family.name.clone(),
            wanted: wanted.clone(),
            size,
            limits: LimitFigures { limit, mechanism: mechanism.clone() },
            latency: family.latency,
            parallelism: self.parallelism,
            spinning: self.spinning,
            in_order_most: self.in_order_most,
            is_by_iops: by_iops.is_some(),
            deviations: (family.deviations.iter())
                .filter(|found| found.disks.is_empty() || found.disks.iter().any(|name| self.is_called(name)))
                .cloned()
                .collect(),
        })
    }

    /// The limits of a disk that is bought by requests per second; `None`: it is not.
    fn by_iops(&self, size: Option<Bytes>, wanted: &Provisioned) -> Result<Option<Rates>, EntryError> {
        let Some((ByIops { least, most, throughput }, iops)) = self.by_iops.zip(wanted.iops) else { return Ok(None) };
        let name = || self.name.clone();
        let part = PurchasePart::Iops;
        if wanted.throughput.is_some() {
            return Err(EntryError::NotChosen { name: name(), part: PurchasePart::Throughput });
        }
        if iops > most {
            return Err(EntryError::Above {
                name: name(),
                part,
                wanted: iops.to_string(),
                most: most.to_string(),
                size,
                date: None,
            });
        }
        if iops < least {
            let (wanted, least) = (iops.to_string(), least.to_string());
            return Err(EntryError::Below { name: name(), part, wanted, least, date: None });
        }
        Ok(Some(Rates { iops, throughput }))
    }

    /// One figure; `None`: no bound.
    fn figure<T: Scalar>(
        &self,
        figure: Option<&Figure<T>>,
        part: PurchasePart,
        size: Option<Bytes>,
        wanted: Option<T>,
        other: Option<u64>,
    ) -> Result<Option<Directions<T>>, EntryError> {
        let at = |rule: &Rule<T>| {
            rule.at(size, other).map_err(|lack| match lack {
                Lack::Size => EntryError::SizeMissing { name: self.name.clone(), bounds: None },
                Lack::Other => EntryError::Unchosen { name: self.name.clone(), part, most: None },
            })
        };
        match figure {
            None if wanted.is_some() => Err(EntryError::NotChosen { name: self.name.clone(), part }),
            None => Ok(None),
            Some(Figure::Apart { .. }) if wanted.is_some() => {
                Err(EntryError::NotChosen { name: self.name.clone(), part })
            }
            Some(Figure::Apart { read, write }) => {
                let (read, write) = (at(read)?, at(write)?);
                Ok(Some(Directions::Apart { read, write }))
            }
            Some(Figure::Together(provision)) => {
                let most = at(&provision.rule)?;
                Ok(self.chosen(provision, part, size, wanted, most)?.map(Directions::Together))
            }
        }
    }

    fn chosen<T: Scalar>(
        &self,
        provision: &Provision<T>,
        part: PurchasePart,
        size: Option<Bytes>,
        wanted: Option<T>,
        most: Option<T>,
    ) -> Result<Option<T>, EntryError> {
        let name = || self.name.clone();
        match (wanted, provision.choice) {
            (None, Choice::None) => Ok(most),
            (Some(_), Choice::None) => Err(EntryError::NotChosen { name: name(), part }),
            (None, Choice::Provisioned { default: Some(default), .. }) => Ok(Some(default)),
            (None, Choice::Provisioned { default: None, .. }) => {
                Err(EntryError::Unchosen { name: name(), part, most: most.map(|most| most.to_string()) })
            }
            (Some(wanted), Choice::Provisioned { least, .. }) => {
                if let Some(most) = most.filter(|most| wanted > *most) {
                    let (wanted, most) = (wanted.to_string(), most.to_string());
                    return Err(EntryError::Above { name: name(), part, wanted, most, size, date: None });
                }
                if let Some(least) = least.filter(|least| wanted < *least) {
                    let (wanted, least) = (wanted.to_string(), least.to_string());
                    return Err(EntryError::Below { name: name(), part, wanted, least, date: None });
                }
                Ok(Some(wanted))
            }
        }
    }
}

fn needs_other<T: Scalar>(figure: &Figure<T>) -> bool {
    match figure {
        Figure::Together(provision) => provision.rule.needs_other(),
        Figure::Apart { read, write } => read.needs_other() || write.needs_other(),
    }
}

/// The one figure, or that for reads, that another follows from.
fn single<T: Scalar>(found: Directions<T>) -> T {
    match found {
        Directions::Together(both) => both,
        Directions::Apart { read, write } => read.or(write).unwrap_or_else(|| T::of(0)),
        Directions::Traded { read, .. } => read,
    }
}

/// Separate figures for reads and writes become one budget with two prices, if they are traded.
fn priced<T: Copy + PartialEq>(found: Directions<T>, traded: bool) -> Directions<T> {
    match found {
        Directions::Apart { read: Some(read), write: Some(write) } => directions(read, write, traded),
        found => found,
    }
}

fn iops_budget(rate: Iops, burst: &BurstRule, size: Option<Bytes>, mechanism: &Mechanism) -> IopsBudget {
    let most = burst.iops.as_ref().and_then(|rule| rule.at(size, None).ok().flatten());
    match (most.filter(|most| *most > rate), burst.iops_credits) {
        (None, _) => IopsBudget::steady(rate),
        (Some(most), Some(credits)) => IopsBudget { rate, burst: Some(IopsBurst { rate: most, credits }) },
        (Some(most), None) => IopsBudget::bursting(rate, most, span(mechanism)),
    }
}

fn throughput_budget(
    rate: ByteRate,
    burst: &BurstRule,
    size: Option<Bytes>,
    mechanism: &Mechanism,
) -> ThroughputBudget {
    let most = burst.throughput.as_ref().and_then(|rule| rule.at(size, None).ok().flatten());
    let credits = burst.throughput_credits.as_ref().map(|credits| match credits {
        Credits::Fixed(credits) => *credits,
        Credits::PerSize(proportion) => Bytes::new(proportion.times(size.unwrap_or_default().get())),
    });
    match (most.filter(|most| *most > rate), credits) {
        (None, _) => ThroughputBudget::steady(rate),
        (Some(most), Some(credits)) => ThroughputBudget { rate, burst: Some(ThroughputBurst { rate: most, credits }) },
        (Some(most), None) => ThroughputBudget::bursting(rate, most, span(mechanism)),
    }
}

/// What a rate per second gives in `span`, rounded down.
fn saved(rate: u64, span: Duration) -> u64 {
    let product = u128::from(rate) * u128::from(span.as_ns()) / u128::from(NS_PER_S);
    u64::try_from(product).unwrap_or(u64::MAX)
}

fn span(mechanism: &Mechanism) -> Duration {
    mechanism.burst_span.expect("a burst without credits has a span: checked when read")
}
