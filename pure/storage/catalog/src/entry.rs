//! Typed contents of a catalog file: a family with its mechanism, and its disks and virtual machines.

use crate::deviation::Deviation;
use crate::figure::{Factor, Interval, Proportion, Rule};
use crate::megabytes::PublishedUnits;
use loadline_disk::{Holds, Limit, Merge, Parallelism, Place, Spinning};
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};

/// One catalog file: the common facts of its entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Family {
    /// The file's name, for messages.
    pub file: String,
    /// Who sells it.
    pub provider: String,
    /// The family's name within the provider.
    pub name: String,
    /// For people.
    pub title: String,
    /// The source of its figures.
    pub source: String,
    /// The source's date; `None` if not recorded.
    pub date: Option<String>,
    /// How to read its publisher's megabytes; `None` if they are unambiguous.
    pub units: Option<PublishedUnits>,
    /// The mechanism of its limits.
    pub mechanism: Mechanism,
    /// How long requests are in service; `None` for virtual machines.
    pub latency: Option<LatencyIntervals>,
    /// Numbers of processors that machines known by a pattern are sold with; empty for any.
    pub sold_vcpus: Vec<u32>,
    /// The same by pattern: if there is one, only these are sold.
    pub sold: Vec<Sold>,
    /// The request size at which the source's IOPS are reached; `None` if it does not say.
    pub iops_at: Option<Bytes>,
    /// Measurements that the model is known to miss.
    pub deviations: Vec<Deviation>,
    /// Since when its entries are no longer sold, in words; `None` if they are.
    pub retired: Option<String>,
    /// What the provider recommends in place of its entries, which are still sold; `None` if it does not.
    pub superseded_by: Option<String>,
    /// What the provider's tools call disks of the family, if that is not their own name: "Premium_LRS".
    pub sold_as: Option<String>,
    /// What stands in the names of machines that are whole hosts, after the name of their kind: ".metal".
    pub bare_metal: Option<String>,
    /// Beginnings of the names of machines whose processors run on credits.
    pub cpu_credits: Vec<String>,
    /// How names of ARM machines begin: `#` is a number, `*` any letters.
    pub arm64: Vec<String>,
    /// Sizes that are sold with fewer processors too, without the provider: with how many, and the line of each.
    pub fewer_cores: Vec<(String, Vec<u32>, usize)>,
    /// SHA-256 of a price list's file, in hexadecimal digits.
    pub digest: Option<String>,
}

/// Machines that are sold: a pattern as in [`Cap::machines`], and the values of `#`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sold {
    /// The pattern; it has a `#`.
    pub machines: String,
    /// Their processors.
    pub vcpus: Vec<u32>,
}

/// The origin of figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The source; `None`: the family's.
    pub source: Option<String>,
    /// The source's date; `None` if not recorded.
    pub date: Option<String>,
}

impl Origin {
    /// The date of the figures: the entry's, or the family's unless the entry has its own source.
    #[must_use]
    pub fn date_within<'o>(&'o self, family: &'o Family) -> Option<&'o str> {
        let of_family = family.date.as_deref().filter(|_| self.source.is_none());
        self.date.as_deref().or(of_family)
    }
}

/// The mechanism that a family's entries share.
#[derive(Debug, Clone, PartialEq)]
pub struct Mechanism {
    /// A request counts as one unit for each started piece of this size.
    pub counted_size: Option<Bytes>,
    /// Requests in sequence are counted together.
    pub merge: Option<Merge>,
    /// An unmerged request costs at least this many bytes.
    pub least_charge: Option<Bytes>,
    /// The mechanism of the rates.
    pub enforcement: EnforcementInterval,
    /// How long a full bucket of credits lasts at the full burst, unless credits are given otherwise.
    pub burst_span: Option<Duration>,
    /// How much of the plain rate counts as filling a bucket while it is spent, for its size: credits are (burst - this share
    /// of the plain rate) x [`Mechanism::burst_span`].
    pub burst_refilled: Interval<Factor>,
    /// Whether reads and writes with separate figures share one budget.
    pub reads_and_writes: ReadsAndWrites,
    /// The place of the disk.
    pub place: Place,
    /// One budget for all disks of the type on a virtual machine, by their total size.
    pub shared_by_type: bool,
    /// Only smaller disks are cached by the host.
    pub host_cache_below: Option<Bytes>,
    /// Whether hosts cache such disks at all.
    pub host_cached: bool,
    /// The delivered share of the published limits.
    pub delivered: Delivered,
    /// Whether a disk's limits delay requests or answers.
    pub holds: Holds,
    /// How guests reach a disk.
    pub device_queues: Option<DeviceQueuesInterval>,
}

/// The queues of a block device in the guest, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceQueuesInterval {
    /// Requests that each has room for.
    pub depth: Interval<u32>,
    /// The number of queues if the machine's processors are not known; otherwise one for each.
    pub queues: Interval<u32>,
}

impl Default for Mechanism {
    fn default() -> Self {
        Self {
            counted_size: None,
            merge: None,
            least_charge: None,
            enforcement: EnforcementInterval::Smooth,
            burst_span: None,
            burst_refilled: Interval::exactly(Factor::ONE),
            reads_and_writes: ReadsAndWrites::Apart,
            place: Place::Network,
            shared_by_type: false,
            host_cache_below: None,
            host_cached: true,
            delivered: Delivered::default(),
            holds: Holds::Requests,
            device_queues: None,
        }
    }
}

/// How reads and writes with a figure each share a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadsAndWrites {
    /// Each has a budget.
    Apart,
    /// One budget, at a price each.
    Traded,
}

/// The mechanism of rates, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnforcementInterval {
    /// Evenly.
    Smooth,
    /// A token bucket of this depth.
    Bucket(Interval<Duration>),
    /// A quota in each window, whose edges vary by up to the jitter.
    Window {
        /// A window.
        length: Interval<Duration>,
        /// Either way.
        jitter: Interval<Duration>,
    },
}

/// Multiples of the published limits that are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// Of IOPS.
    pub iops: Interval<Factor>,
    /// Of the IOPS of writes, if they have a figure of their own and differ; `None`: as `iops`.
    pub write_iops: Option<Interval<Factor>>,
    /// Of bytes per second.
    pub throughput: Interval<Factor>,
}

impl Default for Delivered {
    /// As published.
    fn default() -> Self {
        let published = Interval::exactly(Factor::ONE);
        Self { iops: published, write_iops: None, throughput: published }
    }
}

/// Service times, with their uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyIntervals {
    /// Reads.
    pub read: LatencyInterval,
    /// Writes.
    pub write: LatencyInterval,
    /// Flushes; `None`: as writes of no bytes.
    pub flush: Option<LatencyInterval>,
}

/// A log-normal time by its median and 99th percentile, and the time for each KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyInterval {
    /// Half of all requests are faster.
    pub median: Interval<Duration>,
    /// 99 of 100 are faster; at no end of the interval below the median's.
    pub p99: Interval<Duration>,
    /// For each KiB.
    pub per_kib: Interval<Duration>,
}

/// The host caches of a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct HostCacheEntry {
    /// The provider of the hosts.
    pub provider: String,
    /// Of a hit, and of a write that the cache accepts.
    pub latency: LatencyInterval,
    /// The estimate for machines without a published limit.
    pub unpublished: Option<CachedEstimate>,
    /// The estimates for machines of certain families.
    pub unpublished_for: Vec<(Vec<String>, CachedEstimate)>,
}

impl HostCacheEntry {
    /// The estimate for a machine of this family.
    #[must_use]
    pub fn estimate_for(&self, family: &str) -> Option<CachedEstimate> {
        let own = self.unpublished_for.iter().find(|(families, _)| families.iter().any(|name| name == family));
        own.map(|(_, estimate)| *estimate).or(self.unpublished)
    }
}

/// The estimated limit of a machine through its host's cache, per processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedEstimate {
    /// Requests per second.
    pub iops: Interval<Iops>,
    /// Bytes per second.
    pub throughput: Interval<ByteRate>,
    /// The most of a machine, however many processors it has; `None`: no known bound.
    pub iops_most: Option<Iops>,
    /// The most of a machine, however many processors it has; `None`: no known bound.
    pub throughput_most: Option<ByteRate>,
}

/// A disk as sold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DiskEntry {
    /// `provider/name`.
    pub name: String,
    /// Its family, by index in the catalog.
    pub(crate) family: usize,
    /// Its size, or the range to choose from.
    pub size: SizeRule,
    /// Requests per second.
    pub iops: Option<Figure<Iops>>,
    /// Bytes per second.
    pub throughput: Option<Figure<ByteRate>>,
    /// While credits last.
    pub burst: Option<BurstRule>,
    /// Other variants, by name.
    pub options: Vec<DiskOption>,
    /// Figures in the source, to check the rules.
    pub published: Vec<Published>,
    /// How much it has in service at once.
    pub parallelism: Parallelism,
    /// The mechanics of a spinning disk.
    pub spinning: Option<Spinning>,
    /// The most on a machine whose device queues serve threads in order.
    pub in_order_most: Option<Rates>,
    /// Sold by requests per second as well as by size.
    pub by_iops: Option<ByIops>,
    /// The delivered share of its published limits, if it differs from the family's.
    pub delivered: Option<Delivered>,
    /// What parts of its price are of others, wherever both are known.
    pub price_shares: Option<PriceShares>,
    /// The origin of its figures, if not the family's source.
    pub origin: Origin,
    /// A note.
    pub note: Option<String>,
    /// The line of its file.
    pub line: usize,
}

impl DiskEntry {
    /// Whether this is its name without the provider, or that with a year.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let own = self.name.split_once('/').map_or(self.name.as_str(), |(_, name)| name);
        own.split_once('@').map_or(own, |(plain, _)| plain) == name
    }

    /// The mechanism of its limits: the family's, with its own delivered share.
    pub(crate) fn mechanism(&self, family: &Family) -> Mechanism {
        let delivered = self.delivered.unwrap_or(family.mechanism.delivered);
        Mechanism { delivered, ..family.mechanism.clone() }
    }
}

/// What parts of a disk's price are of others, wherever lists have both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceShares {
    /// Of an IOPS, of what a GiB costs.
    pub iops: Option<Ratio>,
    /// Of a MiB/s, or MB/s, of what a GiB costs.
    pub throughput: Option<Ratio>,
    /// Of an IOPS in each tier after the first, of what one in the first costs.
    pub iops_tiers: Vec<Ratio>,
}

/// A size of which only some processors are used. Limits, memory and price are those of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeSize {
    /// Its name.
    pub name: String,
    /// Its processors.
    pub vcpus: Option<u32>,
}

/// Requests and bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Requests per second.
    pub iops: Iops,
    /// Bytes per second.
    pub throughput: ByteRate,
}

/// Requests per second that may be provisioned instead of the figure that follows from the size. Such a disk has its
/// own limits, even if disks of the type share others by their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByIops {
    /// The least that may be chosen.
    pub least: Iops,
    /// The most.
    pub most: Iops,
    /// Bytes per second, for every choice.
    pub throughput: ByteRate,
}

/// A disk's size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SizeRule {
    /// As sold.
    Fixed(Bytes),
    /// Chosen within bounds.
    Chosen {
        /// The smallest.
        least: Bytes,
        /// The largest.
        most: Bytes,
    },
    /// Not recorded: an environment must state it.
    #[default]
    Unknown,
}

/// A figure, alike for reads and writes or one for each.
#[derive(Debug, Clone, PartialEq)]
pub enum Figure<T> {
    /// For both.
    Together(Provision<T>),
    /// One for each.
    Apart {
        /// For reads.
        read: Rule<T>,
        /// For writes.
        write: Rule<T>,
    },
}

/// A rule, and whether its result is only the most that may be provisioned.
#[derive(Debug, Clone, PartialEq)]
pub struct Provision<T> {
    /// The figure, or the most that may be chosen.
    pub rule: Rule<T>,
    /// Whether it is chosen.
    pub choice: Choice<T>,
}

/// Whether a figure is chosen when a disk is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<T> {
    /// It follows from its rule.
    None,
    /// It is provisioned, up to the result of its rule.
    Provisioned {
        /// The figure without a choice; `None`: a choice is required.
        default: Option<T>,
        /// The least that may be chosen.
        least: Option<T>,
    },
}

/// Faster rates while credits last. Credits that are not given follow from [`Mechanism::burst_span`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BurstRule {
    /// Requests per second.
    pub iops: Option<Rule<Iops>>,
    /// Counted requests that can be saved up.
    pub iops_credits: Option<u64>,
    /// Bytes per second.
    pub throughput: Option<Rule<ByteRate>>,
    /// Bytes that can be saved up.
    pub throughput_credits: Option<Credits>,
}

impl BurstRule {
    /// Why it cannot be: credits that nothing gives, or a figure that is not one for both directions.
    pub(crate) fn problem(
        &self,
        mechanism: &Mechanism,
        iops: Option<&Figure<Iops>>,
        throughput: Option<&Figure<ByteRate>>,
    ) -> Option<&'static str> {
        let open = (self.iops.is_some() && self.iops_credits.is_none())
            || (self.throughput.is_some() && self.throughput_credits.is_none());
        if open && mechanism.burst_span.is_none() {
            return Some("bursts, and neither credits nor burst_span say for how long");
        }
        let together = (self.iops.is_none() || matches!(iops, Some(Figure::Together(_))))
            && (self.throughput.is_none() || matches!(throughput, Some(Figure::Together(_))));
        (!together).then_some("bursts above a figure that it does not have for reads and writes together")
    }
}

/// A bucket of bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Credits {
    /// Of this size.
    Fixed(Bytes),
    /// For the disk's size.
    PerSize(Proportion),
}

/// Other limits that the same disk can be bought with; they replace its own and its burst.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskOption {
    /// As in environment files.
    pub name: String,
    /// Requests per second.
    pub iops: Iops,
    /// Bytes per second.
    pub throughput: ByteRate,
}

/// A row of the source: the figures that the rules must give for a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// For this size.
    pub size: Bytes,
    /// Requests per second.
    pub iops: Option<Iops>,
    /// Bytes per second.
    pub throughput: Option<ByteRate>,
    /// While credits last.
    pub burst_iops: Option<Iops>,
    /// While credits last.
    pub burst_throughput: Option<ByteRate>,
    /// Whether these are the most that may be provisioned, and not the default.
    pub highest: bool,
}

/// A virtual machine's size as sold.
#[derive(Debug, Clone, PartialEq)]
pub struct VmEntry {
    /// `provider/name`.
    pub name: String,
    /// Its family, by index in the catalog.
    pub(crate) family: usize,
    /// To network disks, as published.
    pub uncached: Option<Limit>,
    /// The limit for network disks if all of them are of these families.
    pub uncached_for: Option<(Vec<String>, Limit)>,
    /// Through the host's cache and to disks in the host, as published.
    pub cached: Option<Limit>,
    /// The host's cache.
    pub cache_size: Option<Bytes>,
    /// Data disks at most.
    pub data_disks: Option<u32>,
    /// Processors, if recorded.
    pub vcpus: Option<u32>,
    /// The size of which it has fewer processors.
    pub whole: Option<WholeSize>,
    /// Whether its device queues give out places in the order in which threads ask.
    pub queues_in_order: bool,
    /// Queues before each of its network disks, if they were counted.
    pub device_queues: Option<u32>,
    /// Families of disks that cannot be attached to it.
    pub takes_no: Vec<String>,
    /// Whether its hosts cache no disks behind the network.
    pub caches_none: bool,
    /// The origin of its figures, if not the family's source.
    pub origin: Origin,
    /// A note.
    pub note: Option<String>,
    /// The line of its file.
    pub line: usize,
}

/// The total that machines of a kind allow all disks of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Cap {
    /// The machines' family, by index in the catalog.
    pub(crate) family: usize,
    /// The disks' name, without the provider.
    pub disk: String,
    /// A machine's name; `*` stands for any word and `#` for its processors.
    pub machines: String,
    /// Bounds on the processors.
    pub vcpus: Option<(u32, Option<u32>)>,
    /// As published.
    pub limit: Limit,
    /// A note.
    pub note: Option<String>,
    /// The line of its file.
    pub line: usize,
}

/// A machine that a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fit {
    /// The number in its name, if there is one.
    pub(crate) vcpus: Option<u32>,
}

/// Whether `machine` is one of `machines`, a pattern.
fn fit(machines: &str, machine: &str) -> Option<Fit> {
    let (words, wanted): (Vec<&str>, Vec<&str>) = (machine.split('-').collect(), machines.split('-').collect());
    if words.len() != wanted.len() {
        return None;
    }
    let mut vcpus = None;
    for (word, wanted) in words.into_iter().zip(wanted) {
        match wanted {
            "*" if !word.is_empty() => {}
            "#" => vcpus = Some(word.parse::<u32>().ok()?),
            wanted if wanted == word => {}
            _ => return None,
        }
    }
    Some(Fit { vcpus })
}

impl Cap {
    /// Whether this row is about `machine` (without the provider), and the number of processors in its name.
    pub(crate) fn fits(&self, machine: &str) -> Option<Fit> {
        let Fit { vcpus } = fit(&self.machines, machine)?;
        if let (Some((least, most)), Some(vcpus)) = (self.vcpus, vcpus)
            && (vcpus < least || most.is_some_and(|most| vcpus > most))
        {
            return None;
        }
        Some(Fit { vcpus })
    }
    /// Whether the row names one machine.
    pub(crate) fn is_exact(&self) -> bool {
        !self.machines.contains(['*', '#'])
    }
}

impl Family {
    /// Whether a machine of a pattern is sold with the number of processors in its name.
    pub(crate) fn sells(&self, machine: &str, vcpus: u32) -> bool {
        if self.sold.is_empty() {
            return self.sold_vcpus.is_empty() || self.sold_vcpus.contains(&vcpus);
        }
        self.sold.iter().any(|sold| fit(&sold.machines, machine).is_some() && sold.vcpus.contains(&vcpus))
    }

    /// Every machine that is sold by this pattern, without the provider.
    pub(crate) fn sold_names(&self) -> impl Iterator<Item = String> {
        let of = |sold: &Sold| {
            let machines = sold.machines.clone();
            sold.vcpus.clone().into_iter().map(move |vcpus| machines.replacen('#', &vcpus.to_string(), 1))
        };
        self.sold.iter().flat_map(of)
    }

    /// `file:line`, for messages.
    pub(crate) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.file)
    }
}
