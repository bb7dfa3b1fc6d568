//! What is advised: rows by price, what just misses, and what more would cost.

use crate::doubt::AdviceDoubt;
use crate::miss::Miss;
use loadline_catalog::{Architecture, Estimated, UsedList};
use loadline_units::Bytes;
use loadline_workload::Objective;
use serde::Serialize;
use std::fmt::Write as _;

/// The schema of the JSON form, which `loadline-report` makes.
pub const ADVICE_SCHEMA: &str = "loadline.advice/1";

/// The advice for a need.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The need, in figures.
    pub need: NeedFigures,
    /// What choices were judged by.
    pub judged_by: JudgedBy,
    /// The recorded requests as they were, if the need is a trace with answers.
    pub recorded: Option<ReplayedFigures>,
    /// Choices by price: those that meet the need first.
    pub candidates: Vec<Candidate>,
    /// Cheaper choices that just miss.
    pub misses: Vec<Miss>,
    /// Choices without a complete price, which may be cheaper or not.
    pub unpriced: Vec<Candidate>,
    /// The cheapest of each region, by limits, if a provider has several: the cheapest first.
    pub regions: Vec<RegionPrice>,
    /// What more and less of the need would cost, where the first row is.
    pub staircase: Vec<PriceStep>,
    /// What a recorded need costs, by the share of time in which it may be short.
    pub curve: Vec<CurvePoint>,
    /// What was not looked at.
    pub not_looked_at: Vec<NotLookedAt>,
    /// Doubts about the advice as a whole.
    pub doubts: Vec<AdviceDoubt>,
    /// The price lists behind the rows.
    pub lists: Vec<UsedList>,
    /// Pairs of machine and disks that were judged.
    pub judged: u64,
    /// Whether dearer choices that carry the need by their limits were left out, since enough cheaper ones were simulated.
    pub dearer_left: bool,
    /// Choices between the rows, by price, that were left out since the rows have enough of the same disk.
    pub alike_left: usize,
}

/// What choices are judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedBy {
    /// The latency to keep.
    pub objective: Option<Objective>,
    /// The bytes to hold in the end.
    pub size: Bytes,
    /// Whether latencies are judged, and not limits alone.
    pub simulated: bool,
    /// The latency that a simulation still to come judges; an advice that waits for none has `None`.
    pub pending: Option<Objective>,
}

/// What an advice did not look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NotLookedAt {
    /// Machines of which the catalog has no memory, where memory was asked for.
    MachinesWithoutMemory {
        /// Whose.
        provider: String,
        /// How many.
        count: u32,
    },
    /// Machines of which the catalog has no number of processors, where some were asked for.
    MachinesWithoutVcpus {
        /// Whose.
        provider: String,
        /// How many.
        count: u32,
    },
    /// Machines of which the catalog has no limit for network disks.
    MachinesWithoutLimit {
        /// Whose.
        provider: String,
        /// How many.
        count: u32,
    },
    /// Machines without a price.
    MachinesWithoutPrice {
        /// Whose.
        provider: String,
        /// In which region.
        region: String,
        /// How many.
        count: u32,
    },
    /// Machines without a price, in several regions.
    MachinesWithoutPriceIn {
        /// Whose.
        provider: String,
        /// In how many.
        regions: u32,
        /// How many, where they are most.
        most: u32,
    },
    /// A disk that its provider recommends to replace.
    Superseded {
        /// Its name.
        disk: String,
        /// By what.
        by: String,
    },
    /// Options of disks that cost more.
    PaidOptions {
        /// Whose.
        provider: String,
        /// Of so many disks.
        disks: usize,
    },
    /// The memory of machines: none was asked for.
    Memory,
    /// Their processors: none were asked for.
    Vcpus,
    /// Disks in the machine's host.
    HostDisks,
    /// Mirrors.
    Mirrors,
    /// Reserved terms, licences and whatever else is on a bill.
    OtherCosts,
}

/// The need in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeedFigures {
    /// For people.
    pub name: String,
    /// Requests per second: of a recorded need the highest that must be met.
    pub iops: f64,
    /// Share of reads, 0 to 1.
    pub read_ratio: f64,
    /// Bytes of a request on average.
    pub block_bytes: u64,
    /// Of a read and of a write, if they differ.
    pub read_bytes: u64,
    /// See [`NeedFigures::read_bytes`].
    pub write_bytes: u64,
    /// Bytes per second.
    pub throughput_bytes_per_s: f64,
    /// The objective's figure: "p99"; `None` without one.
    pub objective: Option<String>,
    /// The latency to keep, ns.
    pub objective_ns: Option<u64>,
    /// The same if it is a p99.
    pub p99_ns: Option<u64>,
    /// The bytes to hold.
    pub size_bytes: u64,
    /// Growth, 0.2 for 20 %.
    pub growth: f64,
    /// Processors of the machine at least, if that was asked.
    pub vcpus: Option<u32>,
    /// Memory of the machine at least, if that was asked.
    pub memory_bytes: Option<u64>,
    /// Where it is from: "numbers", or the source of a recorded demand.
    pub source: String,
    /// Seconds that a recorded need covers.
    pub recorded_s: Option<f64>,
    /// Share of them in which the source could not do more.
    pub limited_share: Option<f64>,
}

/// One choice. `loadline-report` puts its doubts, and the environment after them, into its JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// From 1, by price.
    pub rank: u32,
    /// Whether it meets the need in as many scenarios as asked.
    pub meets: bool,
    /// "azure".
    pub provider: String,
    /// Whose prices.
    pub region: String,
    /// The machine's name in the catalog.
    pub machine: String,
    /// What its processors are, if its name shows it.
    pub architecture: Option<Architecture>,
    /// Its processors.
    pub vcpus: Option<u32>,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// The volumes: one.
    pub volumes: Vec<VolumeChoice>,
    /// The system's disk.
    pub os_disk: Option<DiskChoice>,
    /// The price a month.
    pub price_month: PriceMonth,
    /// What binds at the need.
    pub binding: Bound,
    /// The limit after that.
    pub next: Option<Bound>,
    /// The share of the binding limit that the need uses.
    pub used: f64,
    /// The latency under the need; `None` if it was not simulated.
    pub latency_ns: Option<LatencyRange>,
    /// What the recorded requests would meet, if the need is a trace: by answers, and by time.
    pub replayed: Vec<ReplayedFigures>,
    /// In how many scenarios it meets the need.
    pub scenarios: ScenariosMet,
    /// When a burst ends under a recorded need, seconds from its start; `None`: never.
    pub burst_ends_s: Option<f64>,
    /// The share of a recorded time in which it is short, in the middle scenario.
    pub short_share: Option<f64>,
    /// Mean regret over the scenarios, in the currency a month.
    pub regret: Option<f64>,
    /// Doubts about it.
    #[serde(skip)]
    pub doubts: Vec<AdviceDoubt>,
    /// The environment, as a file for `predict` and `emulate`.
    #[serde(skip)]
    pub environment: String,
}

/// A volume of a choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VolumeChoice {
    /// Its name in the environment.
    pub name: String,
    /// Its disks.
    pub disks: Vec<DiskChoice>,
    /// "single" or "stripe".
    pub layout: String,
    /// Disks side by side.
    pub columns: u32,
    /// Pieces of a stripe.
    pub interleave_bytes: Option<u64>,
    /// "none" or "read-only".
    pub host_cache: String,
}

/// Equal disks of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiskChoice {
    /// Its name in the catalog.
    pub sku: String,
    /// How many.
    pub count: u32,
    /// The size to choose; `None`: as sold.
    pub size_bytes: Option<u64>,
    /// Provisioned requests per second; `None`: as comes with it.
    pub iops: Option<u64>,
    /// Provisioned bytes per second; `None`: as comes with it.
    pub throughput_bytes_per_s: Option<u64>,
}

/// A price a month, by item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceMonth {
    /// The sum of the known amounts.
    pub amount: f64,
    /// "USD".
    pub currency: String,
    /// Whether everything has a price. Otherwise the sum is "at least".
    pub complete: bool,
    /// Whether a part of it is an estimate.
    pub estimated: bool,
    /// The dates of the prices, each once.
    pub dates: Vec<String>,
    /// Item by item.
    pub items: Vec<PricedItem>,
}

/// What is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PricedPart {
    /// The machine.
    #[serde(rename = "machine")]
    Machine,
    /// The disks of the volume.
    #[serde(rename = "data disks")]
    DataDisks,
    /// Requests, where the price depends on them.
    #[serde(rename = "requests")]
    Requests,
    /// The system's disk.
    #[serde(rename = "system's disk")]
    SystemDisk,
    /// What a commitment takes off another item.
    #[serde(rename = "commitment")]
    Commitment,
    /// What a discount takes off another item.
    #[serde(rename = "discount")]
    Discount,
}

/// One thing that is paid for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PricedItem {
    /// What it is.
    pub what: PricedPart,
    /// What it is taken off; `None`: it is paid for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<PricedPart>,
    /// How much of the list price that is, 0 to 1, or of what a commitment leaves of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Its name in the catalog.
    pub name: String,
    /// How many.
    pub count: u32,
    /// All of them a month at list prices, or what is taken off, below 0; `None`: no price is known.
    pub amount: Option<f64>,
    /// The date of its list; of several the earliest.
    pub date: Option<String>,
    /// When an update read it, in UTC; `None` of prices that come along or are the user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched: Option<String>,
    /// What of it is an estimate, since no list has it: `whole`, `size`, `iops` or `throughput`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub estimated: Vec<Estimated>,
    /// For whom or under which conditions.
    pub terms: Option<String>,
    /// Where the price is from.
    pub source: Option<String>,
    /// Why there is none.
    pub missing: Option<String>,
}

/// A limit at the need.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// Its name: "disk-iops".
    pub limit: String,
    /// Whose it is, and its figure: "each of 2 disks: 5,000 IOPS".
    pub source: String,
    /// Requests per second of this need at which it binds.
    pub ceiling_iops: f64,
    /// How much more than the need that is: 0.11 for 11 %.
    pub headroom: f64,
}

/// A latency with its range over the scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyRange {
    /// In the middle scenario: of the objective's figure, or p99.
    pub p99: u64,
    /// The lowest and the highest of 90 % of the scenarios.
    pub p99_low: u64,
    /// See [`LatencyRange::p99_low`].
    pub p99_high: u64,
}

/// What makes recorded requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestTiming {
    /// The answers that they waited for.
    Answers,
    /// Their recorded times.
    Time,
    /// They are as they were recorded.
    Recorded,
}

impl RequestTiming {
    /// Its name, as in the JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Time => "time",
            Self::Recorded => "recorded",
        }
    }
}

/// What recorded requests met, or would meet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayedFigures {
    /// What made a request come.
    pub by: RequestTiming,
    /// How many: those of the busiest stretch.
    pub requests: u64,
    /// Reads and writes per second.
    pub iops: f64,
    /// Flushes per second: what an application that commits gets done. `None`: hardly any.
    pub flushes_per_s: Option<f64>,
    /// The 99th percentile of their latency.
    pub p99_ns: ReplayedRange,
    /// Whether the most plausible latency keeps the objective; `None` without one.
    pub keeps: Option<bool>,
}

/// A latency as it most plausibly is, and the least and the most that it may be; ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReplayedRange {
    /// In the middle.
    pub middle: u64,
    /// The lowest.
    pub low: u64,
    /// The highest.
    pub high: u64,
}

/// In how many scenarios a choice meets the need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ScenariosMet {
    /// So many.
    pub met: u32,
    /// Of so many.
    pub of: u32,
}

/// The cheapest by limits in one region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionPrice {
    /// "azure".
    pub provider: String,
    /// The region.
    pub region: String,
    /// What carries the need there.
    #[serde(flatten)]
    pub cheapest: Cheapest,
}

/// What another multiple of the need costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceStep {
    /// Of the need.
    pub times: f64,
    /// What carries that.
    #[serde(flatten)]
    pub cheapest: Cheapest,
}

/// The cheapest by limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Cheapest {
    /// A month of it; `None`: nothing carries what is asked.
    pub amount: Option<f64>,
    /// Whether a part of that is an estimate.
    pub estimated: bool,
    /// Its machine and disks.
    pub choice: Option<String>,
}

/// How well a sum is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumKnown {
    /// Every part is in a list.
    Exactly,
    /// A part of it is an estimate.
    About,
    /// A part of it has no price.
    AtLeast,
}

impl SumKnown {
    /// By whether every part has a price, and one of these is an estimate.
    #[must_use]
    pub const fn of(complete: bool, estimated: bool) -> Self {
        match (complete, estimated) {
            (false, _) => Self::AtLeast,
            (true, true) => Self::About,
            (true, false) => Self::Exactly,
        }
    }
    /// An amount with what is known of it before it: "about 550.66".
    #[must_use]
    pub fn words(self, amount: f64) -> String {
        let before = match self {
            Self::Exactly => "",
            Self::About => "about ",
            Self::AtLeast => "at least ",
        };
        format!("{before}{amount:.2}")
    }
}

impl Cheapest {
    /// "about 550.66"; `None`: nothing carries what is asked.
    #[must_use]
    pub fn amount_words(&self) -> Option<String> {
        self.amount.map(|amount| SumKnown::of(true, self.estimated).words(amount))
    }
}

/// A point of the curve of cost against the share of time short.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Share of the time that may be short.
    pub short_share: f64,
    /// What carries the need then.
    #[serde(flatten)]
    pub cheapest: Cheapest,
}

impl PriceMonth {
    /// What is paid for a part: its list price with what is taken off; `None`: there is no such part, or no price.
    #[must_use]
    pub fn paid_for(&self, part: PricedPart) -> Option<f64> {
        let of = |item: &&PricedItem| item.what == part || item.off == Some(part);
        let amounts = self.items.iter().filter(of).map(|item| item.amount);
        let sum = amounts.reduce(|sum, amount| Some(sum? + amount?));
        sum.flatten()
    }
    /// The sum with what is known of it: "at least 550.66" if a part has no price, "about 550.66" if one is an estimate.
    #[must_use]
    pub fn amount_words(&self) -> String {
        SumKnown::of(self.complete, self.estimated).words(self.amount)
    }
}

impl DiskChoice {
    /// the name of the catalog with its number, or with its size and what is bought.
    #[must_use]
    pub fn words(&self) -> String {
        let count = if self.count > 1 { format!("{} x ", self.count) } else { String::new() };
        let mut text = format!("{count}{}", self.sku);
        if let Some(size) = self.size_bytes {
            text.push(' ');
            text.push_str(&Bytes::new(size).human());
        }
        if let Some(iops) = self.iops {
            let _ = write!(text, ", {} IOPS", crate::words::number(iops as f64));
        }
        if let Some(rate) = self.throughput_bytes_per_s.and_then(loadline_units::ByteRate::per_second) {
            let _ = write!(text, ", {}", loadline_catalog::rate_text(rate));
        }
        text
    }
}

impl VolumeChoice {
    /// Disks, layout and cache: "2 x NAME striped".
    #[must_use]
    pub fn words(&self) -> String {
        let disks: Vec<String> = self.disks.iter().map(DiskChoice::words).collect();
        let layout = if self.columns > 1 { " striped" } else { "" };
        let cache = if self.host_cache == "none" { String::new() } else { format!(", host cache {}", self.host_cache) };
        format!("{}{layout}{cache}", disks.join(" + "))
    }
}

impl ReplayedFigures {
    /// How fast the application comes along, over another time: by flushes, for which commits wait, or by all requests.
    #[must_use]
    pub fn pace_over(&self, other: &Self) -> f64 {
        match (self.flushes_per_s, other.flushes_per_s) {
            (Some(own), Some(other)) => own / other,
            _ => self.iops / other.iops.max(1e-9),
        }
    }
    /// "2,300 IOPS, 190 flushes/s, p99 14 ms (12 to 17 ms)".
    #[must_use]
    pub fn words(&self) -> String {
        let ReplayedRange { middle, low, high } = self.p99_ns;
        let range = if low == high {
            String::new()
        } else {
            format!(" ({} to {})", crate::words::span(low as f64), crate::words::span(high as f64))
        };
        let flushes = self.flushes_per_s.map(|rate| format!(", {} flushes/s", crate::words::number(rate)));
        format!(
            "{} IOPS{}, p99 {}{range}",
            crate::words::number(self.iops),
            flushes.unwrap_or_default(),
            crate::words::span(middle as f64)
        )
    }
}

/// A machine, with what is to be known of it in parentheses: whether it is ARM, and its size.
pub(crate) fn machine_words(machine: &str, architecture: Option<Architecture>, size: &str) -> String {
    let arm = (architecture == Some(Architecture::Arm64)).then_some("ARM");
    let known: Vec<&str> = arm.into_iter().chain(Some(size).filter(|size| !size.is_empty())).collect();
    if known.is_empty() { machine.to_owned() } else { format!("{machine} ({})", known.join(", ")) }
}

impl Candidate {
    /// Machine and disks in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let volumes: Vec<String> = self.volumes.iter().map(VolumeChoice::words).collect();
        format!("{} with {}", self.machine_words(""), volumes.join("; "))
    }
    fn machine_words(&self, size: &str) -> String {
        machine_words(&self.machine, self.architecture, size)
    }
    /// The same with what is known of the machine's size: "NAME (2 vCPUs, 8 GiB) with DISKS".
    #[must_use]
    pub fn sized_words(&self) -> String {
        let vcpus = self.vcpus.map(|count| format!("{count} vCPU{}", if count == 1 { "" } else { "s" }));
        let memory = self.memory_bytes.map(|bytes| Bytes::new(bytes).to_string());
        let size: Vec<String> = vcpus.into_iter().chain(memory).collect();
        self.words().replacen(&self.machine_words(""), &self.machine_words(&size.join(", ")), 1)
    }
    /// The price in words: "550.66 USD", "about 550.66 USD" or "at least 550.66 USD".
    #[must_use]
    pub fn price_words(&self) -> String {
        format!("{} {}", self.price_month.amount_words(), self.price_month.currency)
    }
}

impl Advice {
    /// The advised choice; `None` if nothing with a complete price meets the need.
    #[must_use]
    pub fn winner(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.meets)
    }
}
