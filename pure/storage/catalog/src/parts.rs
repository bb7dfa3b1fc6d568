//! Readers for the common parts of catalog and environment files: intervals, rules, mechanisms, latencies, limits.

use crate::entry::{
    BurstRule, Choice, Credits, Delivered, DeviceQueuesInterval, EnforcementInterval, Figure, LatencyInterval,
    LatencyIntervals, Mechanism, Provision, ReadsAndWrites,
};
use crate::figure::{Factor, Formula, Interval, Proportion, Rule, Scalar};
use loadline_disk::{Directions, Holds, IopsBudget, Limit, Merge, Parallelism, Place, Spinning, ThroughputBudget};
use loadline_document::{Fields, Item, Quantity, Reader, kind, nested};
use loadline_units::{ByteRate, Bytes, Duration, Iops};
use std::str::FromStr;

/// A quantity that can be read from an item.
pub(crate) trait Readable: Scalar {
    /// Reads it, or reports what to write.
    fn read(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Self>;
}

macro_rules! readable {
    ($($type:ty),*) => {$(
        impl Readable for $type {
            fn read(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Self> {
                reader.quantity(key, item)
            }
        }
    )*};
}
readable!(Iops, ByteRate, Bytes, Duration);

impl Readable for Factor {
    fn read(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Self> {
        let factor = item.get_ref().as_str().and_then(Self::parse);
        if factor.is_none() {
            let message =
                format!("is {}: write a multiple of what is published such as \"102 %\"", kind(item.get_ref()));
            reader.problem(item.span(), key, message);
        }
        factor
    }
}

impl Readable for u32 {
    fn read(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Self> {
        reader.count_u32(key, item, COUNT_MAX)
    }
}

/// Queues of a device, or places in one, at most.
const COUNT_MAX: u32 = 65_536;

/// A value, or `{ low, mid, high }`.
pub(crate) fn interval<T: Readable>(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Interval<T>> {
    if item.get_ref().as_table().is_none() {
        return T::read(reader, key, item).map(Interval::exactly);
    }
    let wanted = "{ low = ..., mid = ..., high = ... }";
    let parts = reader.table(key, item, &["low", "mid", "high"], wanted)?;
    let mut ends = Vec::new();
    for end in ["low", "mid", "high"] {
        let Some((_, value)) = parts.iter().find(|(name, _)| *name == end) else {
            reader.problem(item.span(), key, format!("has no {end}: write {wanted}"));
            return None;
        };
        ends.push(T::read(reader, &nested(key, end), value)?);
    }
    if !ends.is_sorted() {
        reader.problem(item.span(), key, "does not rise from low over mid to high".into());
        return None;
    }
    Some(Interval { low: ends[0], mid: ends[1], high: ends[2] })
}

fn proportion<T: Scalar + FromStr, U: Scalar + FromStr>(
    reader: &mut Reader<'_>,
    key: &str,
    item: &Item<'_>,
    example: &str,
) -> Option<Proportion> {
    let found = item.get_ref().as_str().and_then(Proportion::parse::<T, U>);
    if found.is_none() {
        reader.problem(item.span(), key, format!("is {}: write {example}", kind(item.get_ref())));
    }
    found
}

/// The other figure that a rule may depend on, beside the size.
pub(crate) trait Follows: Readable + Quantity {
    /// The key for the proportion to the other figure.
    const PER_OTHER: &'static str;
    /// Reads that proportion.
    fn per_other(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Proportion>;
}
impl Follows for Iops {
    const PER_OTHER: &'static str = "per_throughput";
    fn per_other(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Proportion> {
        proportion::<Self, ByteRate>(reader, key, item, "a proportion such as \"4 IOPS per MiB/s\"")
    }
}
impl Follows for ByteRate {
    const PER_OTHER: &'static str = "per_iops";
    fn per_other(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Proportion> {
        proportion::<Self, Iops>(reader, key, item, "a proportion such as \"0.25 MiB/s per IOPS\"")
    }
}

const RULE_WANTED: &str = "a rate, or a table such as { per_size = \"3 IOPS per GiB\", least = ..., most = ... }";

/// A rule with the keys for the permitted choices.
fn provision<T: Follows>(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Provision<T>> {
    if item.get_ref().as_table().is_none() {
        let rule = T::read(reader, key, item).map(Rule::Fixed)?;
        return Some(Provision { rule, choice: Choice::None });
    }
    let before = reader.problem_count();
    let (chosen, default, formula, steps, tiers) = reader.fields(key, item, RULE_WANTED, |t| {
        let chosen = t.get("provisioned", Reader::switch).unwrap_or(false);
        let default = t.get("default", T::read);
        (chosen, default, formula(t), t.get("steps", read_steps::<T>), t.get("tiers", read_tiers::<T>))
    })?;
    if default.is_some() && !chosen {
        reader.problem(item.span(), key, "has a default but is not chosen: write provisioned = true".into());
    }
    let choice = if chosen { Choice::Provisioned { default, least: formula.least } } else { Choice::None };
    let rule = match (steps, tiers) {
        (Some(steps), None) => Rule::Steps(steps),
        (None, Some(tiers)) => Rule::Formulas(tiers),
        (None, None) => Rule::Formulas(vec![formula]),
        (Some(_), Some(_)) => {
            reader.problem(item.span(), key, "has steps and tiers: write one of them".into());
            return None;
        }
    };
    (reader.problem_count() == before).then_some(Provision { rule, choice })
}

fn formula<T: Follows>(t: &mut Fields<'_, '_, '_, '_>) -> Formula<T> {
    let example = format!("a proportion such as \"3 {} per GiB\"", T::UNIT);
    Formula {
        base: t.get("base", T::read),
        per_size: t.get("per_size", |reader, key, item| proportion::<T, Bytes>(reader, key, item, &example)),
        per_other: t.get(T::PER_OTHER, T::per_other),
        least: t.get("least", T::read),
        most: t.get("most", T::read),
    }
}

fn read_steps<T: Follows>(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<(Bytes, T)>> {
    let mut steps: Vec<(Bytes, T)> = Vec::new();
    for value in reader.values(key, item) {
        let step = reader.fields(key, value, "{ from = \"1 GiB\", value = ... }", |t| {
            (t.get("from", Bytes::read), t.get("value", T::read))
        })?;
        let (Some(from), Some(rate)) = step else {
            reader.problem(value.span(), key, "is no step: write { from = \"1 GiB\", value = ... }".into());
            return None;
        };
        if steps.last().is_some_and(|(last, _)| *last >= from) {
            reader.problem(value.span(), key, "does not begin above the step before it".into());
        }
        steps.push((from, rate));
    }
    Some(steps)
}

fn read_tiers<T: Follows>(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<Formula<T>>> {
    reader.values(key, item).into_iter().map(|tier| reader.fields(key, tier, RULE_WANTED, formula)).collect()
}

/// A figure: a rule, or `{ read, write }` with one each.
pub(crate) fn figure<T: Follows>(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Figure<T>> {
    let apart = item.get_ref().as_table().is_some_and(|table| table.get("read").or(table.get("write")).is_some());
    if !apart {
        return provision(reader, key, item).map(Figure::Together);
    }
    let wanted = "{ read = ..., write = ... }";
    let rule = |reader: &mut Reader<'_>, key: &str, item: &Item<'_>| {
        let found: Provision<T> = provision(reader, key, item)?;
        if found.choice != Choice::None {
            reader.problem(item.span(), key, "is for one direction and cannot be provisioned apart".into());
            return None;
        }
        Some(found.rule)
    };
    let [Some(read), Some(write)] =
        reader.fields(key, item, wanted, |t| ["read", "write"].map(|name| t.strict(name, rule)))?
    else {
        reader.problem(item.span(), key, format!("is for one direction only: write {wanted}"));
        return None;
    };
    Some(Figure::Apart { read, write })
}

/// The rates and credits of a burst.
pub(crate) fn burst(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<BurstRule> {
    let rule = |found: Provision<_>| found.rule;
    let bytes_rule = |found: Provision<_>| found.rule;
    reader.fields(key, item, "{ iops = ..., throughput = ... }", |t| BurstRule {
        iops: t.get("iops", provision::<Iops>).map(rule),
        iops_credits: t.get("iops_credits", |reader, key, item| reader.count(key, item, u64::MAX)),
        throughput: t.get("throughput", provision::<ByteRate>).map(bytes_rule),
        throughput_credits: t.get("throughput_credits", |reader, key, item| {
            match Proportion::parse::<Bytes, Bytes>(item.get_ref().as_str().unwrap_or_default()) {
                Some(proportion) => Some(Credits::PerSize(proportion)),
                None => Bytes::read(reader, key, item).map(Credits::Fixed),
            }
        }),
    })
}

/// Keys of a mechanism.
pub(crate) const MECHANISM_KEYS: &[&str] = &[
    "counted_size",
    "merge",
    "least_charge",
    "enforcement",
    "burst_span",
    "burst_refilled",
    "reads_and_writes",
    "place",
    "shared_by_type",
    "host_cache_below",
    "host_cached",
    "delivered",
    "holds",
    "device_queues",
];
/// Those that also belong to a disk's limit in an environment file.
pub(crate) const LIMIT_MECHANISM_KEYS: &[&str] = &[
    "counted_size",
    "merge",
    "least_charge",
    "enforcement",
    "burst_span",
    "burst_refilled",
    "reads_and_writes",
    "delivered",
];
pub(crate) const PLACES: &[(&str, Place)] = &[("network", Place::Network), ("local", Place::Local)];
const HOLDS: &[(&str, Holds)] = &[("requests", Holds::Requests), ("answers", Holds::Answers)];
const READS_AND_WRITES: &[(&str, ReadsAndWrites)] =
    &[("apart", ReadsAndWrites::Apart), ("traded", ReadsAndWrites::Traded)];

/// Reads one of [`MECHANISM_KEYS`] into `mechanism`.
pub(crate) fn mechanism_key(
    reader: &mut Reader<'_>,
    key: &str,
    name: &str,
    item: &Item<'_>,
    mechanism: &mut Mechanism,
) {
    match name {
        "counted_size" => {
            mechanism.counted_size = Bytes::read(reader, key, item).filter(|size| *size > Bytes::ZERO);
            if mechanism.counted_size.is_none() {
                reader.problem(item.span(), key, "must be a size above 0 B".into());
            }
        }
        "merge" => mechanism.merge = Bytes::read(reader, key, item).map(|larger_than| Merge { larger_than }),
        "least_charge" => mechanism.least_charge = Bytes::read(reader, key, item),
        "enforcement" => {
            if let Some(found) = enforcement(reader, key, item) {
                mechanism.enforcement = found;
            }
        }
        "burst_span" => mechanism.burst_span = Duration::read(reader, key, item),
        "burst_refilled" => {
            if let Some(share) = interval::<Factor>(reader, key, item) {
                if share.high > Factor::ONE {
                    reader.problem(item.span(), key, "is a share of the plain rate: write at most \"100 %\"".into());
                }
                mechanism.burst_refilled = share;
            }
        }
        "reads_and_writes" => {
            if let Some(found) = reader.word(key, item, READS_AND_WRITES, "") {
                mechanism.reads_and_writes = found;
            }
        }
        "place" => {
            if let Some(found) = reader.word(key, item, PLACES, "") {
                mechanism.place = found;
            }
        }
        "shared_by_type" => mechanism.shared_by_type = reader.switch(key, item).unwrap_or(false),
        "host_cached" => mechanism.host_cached = reader.switch(key, item).unwrap_or(true),
        "host_cache_below" => mechanism.host_cache_below = Bytes::read(reader, key, item),
        "delivered" => {
            if let Some(found) = delivered(reader, key, item) {
                mechanism.delivered = found;
            }
        }
        "holds" => {
            if let Some(found) = reader.word(key, item, HOLDS, "") {
                mechanism.holds = found;
            }
        }
        "device_queues" => mechanism.device_queues = device_queues(reader, key, item),
        _ => unreachable!("{name} is one of MECHANISM_KEYS"),
    }
}

fn device_queues(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<DeviceQueuesInterval> {
    let wanted = "{ depth = 31, queues = { low = 2, mid = 4, high = 32 } }";
    let found = reader
        .fields(key, item, wanted, |t| (t.strict("depth", interval::<u32>), t.strict("queues", interval::<u32>)))?;
    let (Some(depth), Some(queues)) = found else {
        reader.problem(item.span(), key, format!("is not complete: write {wanted}"));
        return None;
    };
    if depth.low == 0 || queues.low == 0 {
        reader.problem(item.span(), key, "leaves no room for a request: write at least 1".into());
        return None;
    }
    Some(DeviceQueuesInterval { depth, queues })
}

const ENFORCEMENT_WANTED: &str = "\"smooth\", { window = \"50 ms\" } or { bucket = \"1 s\" }";

fn enforcement(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<EnforcementInterval> {
    if item.get_ref().as_str() == Some("smooth") {
        return Some(EnforcementInterval::Smooth);
    }
    let above_zero = |time: Interval<Duration>| time.low > Duration::ZERO;
    let found = reader.fields(key, item, ENFORCEMENT_WANTED, |t| {
        ["window", "jitter", "bucket"].map(|name| t.strict(name, interval::<Duration>))
    })?;
    match found.into() {
        (Some(length), jitter, None) if above_zero(length) => {
            let jitter = jitter.unwrap_or(Interval::exactly(Duration::ZERO));
            if jitter.high * 2 >= length.low {
                reader.problem(item.span(), key, "has a jitter that is not less than half the window".into());
                return None;
            }
            Some(EnforcementInterval::Window { length, jitter })
        }
        (None, None, Some(depth)) if above_zero(depth) => Some(EnforcementInterval::Bucket(depth)),
        _ => {
            reader.problem(item.span(), key, format!("is no way to hold a limit: write {ENFORCEMENT_WANTED}"));
            None
        }
    }
}

/// `{ iops, write_iops, throughput }`, each a share of what is published, or an interval.
pub(crate) fn delivered(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Delivered> {
    reader.fields(key, item, "{ iops = \"102 %\" }", |t| Delivered {
        iops: t.strict("iops", interval).unwrap_or(Interval::exactly(Factor::ONE)),
        write_iops: t.strict("write_iops", interval),
        throughput: t.strict("throughput", interval).unwrap_or(Interval::exactly(Factor::ONE)),
    })
}

/// `latency`: a time for reads and one for writes, and one for flushes if they differ.
pub(crate) fn latencies(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<LatencyIntervals> {
    let wanted = "{ read = { median = \"1 ms\", p99 = \"3 ms\" }, write = ... }";
    let found = reader.fields(key, item, wanted, |t| ["read", "write", "flush"].map(|name| t.strict(name, latency)))?;
    let [read, write, flush] = found;
    // One direction stands for both: a source may give only that one.
    let (Some(read), Some(write)) = (read.or(write), write.or(read)) else {
        reader.problem(item.span(), key, format!("says no time: write {wanted}"));
        return None;
    };
    Some(LatencyIntervals { read, write, flush })
}

/// One time.
pub(crate) fn latency(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<LatencyInterval> {
    let wanted = "{ median = \"1 ms\", p99 = \"3 ms\", per_kib = \"20 us\" }";
    let found =
        reader.fields(key, item, wanted, |t| ["median", "p99", "per_kib"].map(|name| t.strict(name, interval)))?;
    let [median, p99, per_kib] = found;
    let per_kib = per_kib.unwrap_or(Interval::exactly(Duration::ZERO));
    let Some(median) = median else {
        reader.problem(item.span(), key, format!("has no median: write {wanted}"));
        return None;
    };
    let p99 = p99.unwrap_or(median);
    if p99.low < median.low || p99.mid < median.mid || p99.high < median.high {
        reader.problem(item.span(), key, "has a p99 below its median".into());
        return None;
    }
    Some(LatencyInterval { median, p99, per_kib })
}

/// `{ iops, throughput, burst }` of a virtual machine, as published. The throughput may be one for reads and one for writes. A
/// burst's credits last for `span`.
pub(crate) fn vm_limit(
    reader: &mut Reader<'_>,
    key: &str,
    item: &Item<'_>,
    known: &[&'static str],
    span: Option<Duration>,
) -> Option<Limit> {
    let (iops, throughput, throughput_apart, burst) =
        reader.fields(key, item, "{ iops = ..., throughput = ... }", |t| {
            let iops = t.strict("iops", Iops::read);
            let is_apart = t.item("throughput").is_some_and(|item| item.get_ref().as_table().is_some());
            let throughput = if is_apart { None } else { t.strict("throughput", ByteRate::read) };
            let apart = if is_apart { t.strict("throughput", read_and_write) } else { None };
            let burst = t.strict("burst", |reader, key, item| {
                reader.fields(key, item, "{ iops = ... }", |t| {
                    (t.strict("iops", Iops::read), t.strict("throughput", ByteRate::read))
                })
            });
            for name in known {
                t.item(name);
            }
            (iops, throughput, apart, burst)
        })?;
    let (burst_iops, burst_throughput) = burst.unwrap_or_default();
    if (burst_iops.is_some() || burst_throughput.is_some()) && span.is_none() {
        reader.problem(item.span(), key, "bursts, and burst_span does not say how long credits last".into());
        return None;
    }
    if iops.zip(burst_iops).is_some_and(|(rate, burst)| burst < rate)
        || throughput.zip(burst_throughput).is_some_and(|(rate, burst)| burst < rate)
    {
        reader.problem(item.span(), key, "has less in a burst than without one".into());
        return None;
    }
    if throughput_apart.is_some() && burst_throughput.is_some() {
        reader.problem(item.span(), key, "has a burst of bytes beside a throughput for reads and writes apart".into());
        return None;
    }
    let span = span.unwrap_or_default();
    let iops = iops.map(|rate| match burst_iops.filter(|burst| *burst > rate) {
        Some(burst) => IopsBudget::bursting(rate, burst, span),
        None => IopsBudget::steady(rate),
    });
    let throughput = throughput.map(|rate| match burst_throughput.filter(|burst| *burst > rate) {
        Some(burst) => ThroughputBudget::bursting(rate, burst, span),
        None => ThroughputBudget::steady(rate),
    });
    Some(Limit {
        iops: iops.map(Directions::Together),
        throughput: throughput_apart.or(throughput.map(Directions::Together)),
        ..Limit::default()
    })
}

/// A machine's throughput for reads and for writes.
fn read_and_write(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Directions<ThroughputBudget>> {
    let wanted = "{ read = ..., write = ... }";
    let rates = reader.fields(key, item, wanted, |t| ["read", "write"].map(|name| t.strict(name, ByteRate::read)))?;
    let [read, write] = rates.map(|rate| rate.map(ThroughputBudget::steady));
    if read.is_none() || write.is_none() {
        reader.problem(item.span(), key, format!("is not complete: write {wanted}"));
        return None;
    }
    Some(Directions::Apart { read, write })
}

/// How much a disk has in service at once.
pub(crate) fn parallelism(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Parallelism> {
    reader.fields(key, item, "{ requests = 32 }", |t| Parallelism {
        requests: t.strict("requests", Reader::positive),
        throughput: t.strict("throughput", ByteRate::read),
    })
}

/// The mechanics of a spinning disk.
pub(crate) fn spinning(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Spinning> {
    let wanted =
        "{ revolutions_per_minute = 7200, seek_min = \"1 ms\", seek_max = \"16 ms\", transfer = \"150 MB/s\" }";
    let (turns, seek_min, seek_max, transfer, queue_depth) = reader.fields(key, item, wanted, |t| {
        let turns = t.strict("revolutions_per_minute", |reader, key, item| reader.count_u32(key, item, 1_000_000));
        let [seek_min, seek_max] = ["seek_min", "seek_max"].map(|name| t.strict(name, Duration::read));
        let transfer = t.strict("transfer", ByteRate::read);
        let queue_depth = t.strict("queue_depth", |reader, key, item| reader.count_u32(key, item, 65_536));
        (turns, seek_min, seek_max, transfer, queue_depth.unwrap_or(1))
    })?;
    let (Some(revolutions_per_minute), Some(seek_min), Some(seek_max), Some(transfer)) =
        (turns, seek_min, seek_max, transfer)
    else {
        reader.problem(item.span(), key, format!("is not complete: write {wanted}"));
        return None;
    };
    if seek_min > seek_max {
        reader.problem(item.span(), key, "has a seek_min above its seek_max".into());
        return None;
    }
    Some(Spinning { revolutions_per_minute, seek_min, seek_max, transfer, queue_depth })
}
