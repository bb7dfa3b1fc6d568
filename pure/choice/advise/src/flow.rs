//! A demand on its way through the limits: the units that reads and writes take at each, and the share of it they use.
//!
//! The sums are those of `loadline-prediction`'s ceilings, for random requests whose offsets are multiples of their size. A
//! property test compares both over the catalog.

use crate::need::Rates;
use loadline_catalog::rate_text;
use loadline_disk::{
    Directions, DiskSpec, EnvironmentSpec, HostCache, IopsBudget, Layout, Limit as Budget, ThroughputBudget, VmSpec,
    VolumeSpec,
};
use loadline_record::Limit;
use loadline_units::{ByteRate, Bytes};
use std::rc::Rc;

/// Offsets within an interleave that are looked at, at most.
const RESIDUES_MAX: u64 = 4_096;

/// The parts of one request of a size: lengths, and how many of each on average. The intervals of a recorded time share them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Pieces(Rc<[(u64, f64)]>);

/// How a layout spreads requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LayoutSplit {
    columns: u64,
    copies: u64,
    interleave: Option<u64>,
}

impl LayoutSplit {
    pub(crate) fn of(layout: Layout) -> Self {
        Self {
            columns: layout.columns().into(),
            copies: layout.copies() as u64,
            interleave: layout.interleave().map(Bytes::get),
        }
    }

    fn read_share(self) -> f64 {
        1.0 / (self.columns * self.copies) as f64
    }
    fn write_share(self) -> f64 {
        1.0 / self.columns as f64
    }

    /// The parts of a request of this size, at offsets that are multiples of it.
    pub(crate) fn pieces(self, size: f64) -> Pieces {
        let length = (size.round() as u64).max(512);
        let Some(interleave) = self.interleave else { return Pieces(Rc::new([(length, 1.0)])) };
        let unit = common_factor(length, interleave);
        let all = interleave / unit;
        let taken = all.min(RESIDUES_MAX);
        let weight = 1.0 / taken as f64;
        let mut pieces: Vec<(u64, f64)> = Vec::new();
        let mut add = |length: u64, count: u64| {
            if length > 0 && count > 0 {
                match pieces.iter_mut().find(|(known, _)| *known == length) {
                    Some((_, sum)) => *sum += weight * count as f64,
                    None => pieces.push((length, weight * count as f64)),
                }
            }
        };
        for index in 0..taken {
            let residue = index * all / taken * unit;
            let first = length.min(interleave - residue);
            add(first, 1);
            add(interleave, (length - first) / interleave);
            add((length - first) % interleave, 1);
        }
        Pieces(pieces.into())
    }
}

const fn common_factor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A demand in the parts that a layout makes of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flow {
    pub(crate) rates: Rates,
    read: Pieces,
    write: Pieces,
    sequential: bool,
}

impl Flow {
    pub(crate) fn of(rates: &Rates, spread: LayoutSplit, sequential: bool) -> Self {
        Self { rates: *rates, read: spread.pieces(rates.read_size), write: spread.pieces(rates.write_size), sequential }
    }
    /// The same parts at other rates.
    pub(crate) fn at(&self, rates: &Rates) -> Self {
        Self { rates: *rates, ..self.clone() }
    }
}

/// One limit on the way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Station {
    /// The names of its limits on requests and on bytes.
    pub(crate) names: (Limit, Limit),
    /// Whose it is.
    pub(crate) who: String,
    pub(crate) budget: Budget,
    /// The share of the volume's parts that pass here.
    pub(crate) read_share: f64,
    pub(crate) write_share: f64,
}

/// How a limit counts requests: limits that count alike see the same units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counting {
    counted: Option<Bytes>,
    least: Option<Bytes>,
    merged_above: Option<Bytes>,
}

impl Counting {
    pub(crate) fn of(budget: &Budget) -> Self {
        let merged_above = budget.merge.map(|merge| merge.larger_than);
        Self { counted: budget.counted_size, least: budget.least_charge, merged_above }
    }

    /// Units per second of a flow: requests of reads and writes, then bytes.
    pub(crate) fn units(self, flow: &Flow) -> [f64; 4] {
        let least = self.least.map_or(0, Bytes::get);
        let of = |pieces: &Pieces| {
            let (mut requests, mut bytes) = (0.0, 0.0);
            for (length, count) in &*pieces.0 {
                let merged = flow.sequential && self.merged_above.is_some_and(|above| *length > above.get());
                requests += count
                    * match self.counted.map(Bytes::get) {
                        Some(counted) if merged => *length as f64 / counted as f64,
                        Some(counted) => length.div_ceil(counted) as f64,
                        None => 1.0,
                    };
                bytes += count * if merged { *length as f64 } else { (*length).max(least) as f64 };
            }
            (requests, bytes)
        };
        let (read, write) = (of(&flow.read), of(&flow.write));
        let (reads, writes) = (flow.rates.reads_per_s, flow.rates.writes_per_s);
        [read.0 * reads, write.0 * writes, read.1 * reads, write.1 * writes]
    }
}

/// The use of one kind of a limit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Used {
    pub(crate) limit: Limit,
    /// Units per second that are asked, reads and writes.
    pub(crate) asked: [f64; 2],
    /// The share of the lasting rate.
    pub(crate) share: f64,
    /// The share of the rate while credits last.
    pub(crate) share_in_burst: f64,
    pub(crate) is_bytes: bool,
}

impl Station {
    fn new(names: (Limit, Limit), who: String, budget: &Budget, read_share: f64, write_share: f64) -> Self {
        Self { names, who, budget: budget.clone(), read_share, write_share }
    }

    /// Units per second on it: requests of reads and writes, then bytes.
    pub(crate) fn units(&self, flow: &Flow) -> [[f64; 2]; 2] {
        let [reads, writes, read, written] = Counting::of(&self.budget).units(flow);
        [[reads * self.read_share, writes * self.write_share], [read * self.read_share, written * self.write_share]]
    }

    /// The use of both kinds, as far as there is a limit.
    pub(crate) fn used(&self, flow: &Flow) -> [Option<Used>; 2] {
        let [requests, bytes] = self.units(flow);
        let used = |limit, asked, shares: Option<(f64, f64)>, is_bytes| {
            shares.map(|(share, share_in_burst)| Used { limit, asked, share, share_in_burst, is_bytes })
        };
        [
            used(self.names.0, requests, self.budget.iops.map(|found| shares(found, requests)), false),
            used(self.names.1, bytes, self.budget.throughput.map(|found| shares(found, bytes)), true),
        ]
    }

    /// The largest share of a lasting rate that a flow uses.
    pub(crate) fn share(&self, flow: &Flow) -> f64 {
        self.used(flow).into_iter().flatten().map(|used| used.share).fold(0.0, f64::max)
    }
    /// The figure of a kind in words: "5,000 IOPS".
    pub(crate) fn figure(&self, is_bytes: bool) -> String {
        if is_bytes {
            self.budget.throughput.map_or_else(String::new, words)
        } else {
            self.budget.iops.map_or_else(String::new, words)
        }
    }
}

/// A budget of either kind.
pub(crate) trait Rated: Copy {
    fn lasting(&self) -> u64;
    fn in_burst(&self) -> u64;
    fn credits(&self) -> Option<f64>;
    fn text(&self) -> String;
}

impl Rated for IopsBudget {
    fn lasting(&self) -> u64 {
        self.rate.get()
    }
    fn in_burst(&self) -> u64 {
        self.burst.map_or(self.rate, |burst| burst.rate.max(self.rate)).get()
    }
    fn credits(&self) -> Option<f64> {
        self.burst.map(|burst| burst.credits as f64)
    }
    fn text(&self) -> String {
        let burst = self.burst.map(|burst| format!(", {} in a burst", crate::words::number(burst.rate.get() as f64)));
        format!("{} IOPS{}", crate::words::number(self.rate.get() as f64), burst.unwrap_or_default())
    }
}

impl Rated for ThroughputBudget {
    fn lasting(&self) -> u64 {
        self.rate.get()
    }
    fn in_burst(&self) -> u64 {
        self.burst.map_or(self.rate, |burst| burst.rate.max(self.rate)).get()
    }
    fn credits(&self) -> Option<f64> {
        self.burst.map(|burst| burst.credits.get() as f64)
    }
    fn text(&self) -> String {
        let text = |rate: u64| ByteRate::per_second(rate).map_or_else(String::new, rate_text);
        let burst = self.burst.map(|burst| format!(", {} in a burst", text(burst.rate.get())));
        format!("{}{}", text(self.rate.get()), burst.unwrap_or_default())
    }
}

fn shares<T: Rated>(found: Directions<T>, [reads, writes]: [f64; 2]) -> (f64, f64) {
    let both = |of: fn(&T) -> u64| match found {
        Directions::Together(budget) => (reads + writes) / of(&budget) as f64,
        Directions::Apart { read, write } => {
            let one = |budget: Option<T>, asked: f64| budget.map_or(0.0, |budget| asked / of(&budget) as f64);
            one(read, reads).max(one(write, writes))
        }
        Directions::Traded { read, write } => reads / of(&read) as f64 + writes / of(&write) as f64,
    };
    (both(T::lasting), both(T::in_burst))
}

fn words<T: Rated>(found: Directions<T>) -> String {
    match found {
        Directions::Together(budget) => budget.text(),
        Directions::Apart { read, write } => {
            let one = |budget: Option<T>, what: &str| budget.map(|budget| format!("{} {what}", budget.text()));
            let both: Vec<String> = [one(read, "read"), one(write, "written")].into_iter().flatten().collect();
            both.join(", ")
        }
        Directions::Traded { read, write } => format!("{} read or {} written", read.text(), write.text()),
    }
}

/// The share of a cached disk's reads that its host answers, and what else passes there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cached {
    pub(crate) mode: HostCache,
    /// Share of reads that hit.
    pub(crate) hits: f64,
}

impl Cached {
    fn is_on(self) -> bool {
        self.mode != HostCache::None
    }
    /// The shares of reads and writes that go on to the disk before they are answered.
    fn beyond(self) -> (f64, f64) {
        match self.mode {
            HostCache::None => (1.0, 1.0),
            // What a cache of writes accepts must reach the disk in the end: only as fast is it taken for good.
            HostCache::ReadOnly | HostCache::ReadWrite => (1.0 - self.hits, 1.0),
        }
    }
}

/// The limits of the disks of a volume, and of what their type shares.
pub(crate) fn disk_stations(spec: &EnvironmentSpec, volume: &VolumeSpec, cached: Cached) -> Vec<Station> {
    let spread = LayoutSplit::of(volume.layout);
    let (reads, writes) = cached.beyond();
    let names = (Limit::DiskIops, Limit::DiskThroughput);
    let mut stations = Vec::new();
    let mut seen: Vec<(&str, &Budget)> = Vec::new();
    for disk in &volume.disks {
        if disk.limit == Budget::default() || seen.contains(&(disk.name.as_str(), &disk.limit)) {
            continue;
        }
        seen.push((&disk.name, &disk.limit));
        let count = volume.disks.len();
        let who = if count > 1 { format!("each of {count} {}", disk.name) } else { disk.name.clone() };
        let share = (spread.read_share() * reads, spread.write_share() * writes);
        stations.push(Station::new(names, who, &disk.limit, share.0, share.1));
    }
    let of = |test: &dyn Fn(&DiskSpec) -> bool| {
        let count = volume.disks.iter().filter(|disk| test(disk)).count() as f64;
        (count * spread.read_share() * reads, count * spread.write_share() * writes)
    };
    for pool in &spec.pools {
        let pooled = of(&|disk| disk.pool.as_ref() == Some(&pool.name));
        if pooled.0 + pooled.1 > 0.0 {
            let who = format!("all disks {} of the machine together", pool.name);
            stations.push(Station::new(names, who, &pool.limit, pooled.0, pooled.1));
        }
        let allowed = of(&|disk| disk.allowance.as_ref() == Some(&pool.name));
        if allowed.0 + allowed.1 > 0.0 {
            let who = format!("all disks {}", pool.name);
            let names = (Limit::VmUncachedIops, Limit::VmUncachedThroughput);
            stations.push(Station::new(names, who, &pool.limit, allowed.0, allowed.1));
        }
    }
    for disk in &volume.disks {
        let pipes = [disk.parallelism.throughput, disk.spinning.map(|spinning| spinning.transfer)];
        let Some(rate) = pipes.into_iter().flatten().min() else { continue };
        let budget =
            Budget { throughput: Some(Directions::Together(ThroughputBudget::steady(rate))), ..Budget::default() };
        let share = (spread.read_share() * reads, spread.write_share() * writes);
        stations.push(Station::new(names, format!("{}, what it transfers", disk.name), &budget, share.0, share.1));
        break;
    }
    stations
}

/// What a machine allows all disks of one type, without a cache: the same share of the limit as [`disk_stations`] finds.
pub(crate) fn allowance(budget: &Budget, layout: Layout, count: u32) -> Station {
    let spread = LayoutSplit::of(layout);
    let names = (Limit::VmUncachedIops, Limit::VmUncachedThroughput);
    let count = f64::from(count);
    Station::new(names, String::new(), budget, count * spread.read_share(), count * spread.write_share())
}

/// The limits of a machine for network disks with this layout.
pub(crate) fn machine_stations(vm: &VmSpec, layout: Layout, cached: Cached) -> Vec<Station> {
    let copies = LayoutSplit::of(layout).copies as f64;
    let (reads, writes) = cached.beyond();
    let mut stations = Vec::new();
    if let Some(budget) = &vm.uncached {
        let names = (Limit::VmUncachedIops, Limit::VmUncachedThroughput);
        stations.push(Station::new(names, format!("all disks of {}", vm.name), budget, reads, writes * copies));
    }
    if let Some(budget) = vm.cached.as_ref().filter(|_| cached.is_on()) {
        let names = (Limit::VmCachedIops, Limit::VmCachedThroughput);
        // An estimate covers only what the cache answers.
        let (reads, writes) = if vm.cached_estimated { (1.0 - reads, 0.0) } else { (1.0, copies) };
        stations.push(Station::new(names, format!("the host's cache of {}", vm.name), budget, reads, writes));
    }
    stations
}

/// All limits of a volume's way, the machine's first.
pub(crate) fn stations(spec: &EnvironmentSpec, volume: &VolumeSpec, cached: Cached) -> Vec<Station> {
    let mut all = spec.vm.as_ref().map_or_else(Vec::new, |vm| machine_stations(vm, volume.layout, cached));
    all.extend(disk_stations(spec, volume, cached));
    all
}
