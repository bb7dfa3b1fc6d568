//! Describes an entry in words and with units.

use crate::catalog::{Catalog, vcpus_text};
use crate::entry::{
    ByIops, Cap, Choice, Credits, DeviceQueuesInterval, DiskEntry, EnforcementInterval, Family, Figure,
    LatencyInterval, Mechanism, Origin, Provision, Rates, ReadsAndWrites, SizeRule, VmEntry,
};
use crate::figure::{Factor, Interval, Rule, Scalar};
use crate::price::some_of;
use crate::resolve::EntryError;
use loadline_disk::{Directions, Holds, IopsBudget, Limit, Place, ThroughputBudget};
use loadline_units::words::rate_text;
use loadline_units::{ByteRate, Bytes, Duration};

/// One thing that is known of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// For programs; stable.
    pub key: String,
    /// For people.
    pub label: String,
    /// With its units.
    pub text: String,
}

/// Facts in order.
#[derive(Debug, Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, key: &str, label: &str, text: impl Into<String>) {
        self.0.push(Fact { key: key.to_owned(), label: label.to_owned(), text: text.into() });
    }
    fn add_some(&mut self, key: &str, label: &str, text: Option<impl Into<String>>) {
        if let Some(text) = text {
            self.add(key, label, text);
        }
    }
}

impl Catalog {
    /// Describes the disk or virtual machine of this name.
    ///
    /// # Errors
    /// [`EntryError::Unknown`], with the nearest name.
    pub fn describe(&self, name: &str) -> Result<Vec<Fact>, EntryError> {
        let mut facts = Facts::default();
        let disk = self.disk_entry(name);
        let (vm, caps) = (self.vm_entry(name), self.caps_of(name));
        if let Ok(disk) = disk {
            disk_facts(&mut facts, disk, self.disk_family(disk), self.price_facts(name, Some(disk)));
        }
        if let Some(vm) = vm {
            vm_facts(&mut facts, vm, self.vm_family(vm), self.price_facts(name, None));
            if let Some(estimated) = self.vm_figures(name).ok().and_then(|figures| figures.cached_estimate) {
                let times = |interval: Interval<u64>, text: fn(u64) -> String| {
                    let of = |each: u64| text(each * u64::from(estimated.vcpus));
                    format!("{} ({} to {})", of(interval.mid), of(interval.low), of(interval.high))
                };
                let (iops, rate) = (estimated.estimate.iops.counts(), estimated.estimate.throughput.counts());
                let text = format!(
                    "not published; estimated by its processors as {} and {}",
                    times(iops, |count| format!("{count} IOPS")),
                    times(rate, |count| ByteRate::per_second(count).map_or_else(String::new, rate_text))
                );
                facts.add("cached_estimate", "through the host's cache", text);
            }
        }
        let with_family = |cap| (cap, self.cap_family(cap));
        let caps: Vec<(&Cap, &Family)> = caps.iter().map(|(cap, _)| with_family(*cap)).collect();
        if !caps.is_empty() {
            cap_facts(&mut facts, name, &caps, self.price_facts(name, None));
        }
        let rows: Vec<(&Cap, &Family)> = self.rows_of_pattern(name).into_iter().map(with_family).collect();
        if !rows.is_empty() {
            let mut price = Facts::default();
            price.add("price", "price", "each machine has its own: ask for it by its name");
            cap_facts(&mut facts, name, &rows, price);
        }
        match (facts.0.is_empty(), disk) {
            (true, Err(_)) => Err(self.unknown(name)),
            _ => Ok(facts.0),
        }
    }
}

/// Prices that are shown of an entry; of more, the first.
const PRICES_SHOWN_MAX: usize = 3;

impl Catalog {
    /// Its price in each region, and the parts of a disk that these leave out.
    fn price_facts(&self, name: &str, disk: Option<&DiskEntry>) -> Facts {
        let mut facts = Facts::default();
        let prices = self.prices(name);
        if prices.is_empty() {
            facts.add("price", "price", "not recorded");
        }
        let shown = if prices.len() > PRICES_SHOWN_MAX { 1 } else { prices.len() };
        for (index, price) in prices[..shown].iter().enumerate() {
            let key = if index == 0 { "price".to_owned() } else { format!("price_{}", index + 1) };
            facts.add(&key, "price", price.to_string());
        }
        let elsewhere: Vec<String> = prices[shown..].iter().filter_map(|price| price.region.clone()).collect();
        facts.add_some("price_elsewhere", "price elsewhere", (!elsewhere.is_empty()).then(|| some_of(&elsewhere)));
        let unpriced = disk.map(|disk| self.unpriced(disk)).unwrap_or_default();
        facts.add_some("unpriced", "not priced", (!unpriced.is_empty()).then(|| unpriced.join("; ")));
        facts
    }
}

fn disk_facts(facts: &mut Facts, disk: &DiskEntry, family: &Family, price: Facts) {
    facts.add("name", "name", &disk.name);
    facts.add("kind", "kind", "disk");
    facts.add("family", "family", format!("{}: {}", family.name, family.title));
    let size = match disk.size {
        SizeRule::Fixed(size) => size.to_string(),
        SizeRule::Chosen { least, most } => format!("{least} to {most}, as provisioned"),
        SizeRule::Unknown => "not recorded; give it where the disk is used".to_owned(),
    };
    facts.add("size", "size", size);
    facts.add("iops", "IOPS", disk.iops.as_ref().map_or("no limit known".to_owned(), figure));
    facts.add("throughput", "throughput", disk.throughput.as_ref().map_or("no limit known".to_owned(), figure));
    if let Some(burst) = &disk.burst {
        let unsure =
            if family.mechanism.burst_refilled.is_exact() { "" } else { " or more; the bucket's size is not known" };
        let span =
            family.mechanism.burst_span.map(|span| format!("{span} at the full burst from a full bucket{unsure}"));
        let credits = |given: Option<String>| given.or_else(|| span.clone()).unwrap_or_default();
        if let Some(rule) = &burst.iops {
            let given = burst.iops_credits.map(|credits| format!("{credits} I/O credits"));
            facts.add("burst_iops", "burst IOPS", format!("{rule}; {}", credits(given)));
        }
        if let Some(rule) = &burst.throughput {
            let given = burst.throughput_credits.as_ref().map(|credits| match credits {
                Credits::Fixed(bytes) => format!("credits of {bytes}"),
                Credits::PerSize(proportion) => format!("credits of {proportion}"),
            });
            facts.add("burst_throughput", "burst throughput", format!("{rule}; {}", credits(given)));
        }
    }
    for option in &disk.options {
        let text = format!("{}, {} in place of the plain figures", option.iops, rate_text(option.throughput));
        facts.add(&format!("option_{}", option.name), &format!("option {}", option.name), text);
    }
    if let Some(ByIops { least, most, throughput }) = disk.by_iops {
        let text =
            format!("{least} to {most} may be provisioned instead, and {} come with them", rate_text(throughput));
        facts.add("by_iops", "by IOPS", text);
    }
    if let Some(Rates { iops, throughput }) = disk.in_order_most {
        let text = format!("at most {iops}, {}", rate_text(throughput));
        facts.add("in_order_most", "where queues serve threads in their order", text);
    }
    facts.add_some("units", "units", family.units.as_ref().map(ToString::to_string));
    let iops_at = family.iops_at.map(|size| format!("of requests of {size}, by the source"));
    facts.add_some("iops_at", "IOPS are", iops_at);
    mechanism_facts(facts, &disk.mechanism(family));
    if let Some(found) = &family.latency {
        facts.add("latency_read", "read latency", latency(&found.read));
        facts.add("latency_write", "write latency", latency(&found.write));
        facts.add_some("latency_flush", "flush latency", found.flush.as_ref().map(latency));
    }
    let known = family
        .deviations
        .iter()
        .filter(|found| found.disks.is_empty() || found.disks.iter().any(|n| disk.is_called(n)));
    for (number, found) in (1..).zip(known) {
        let text = format!("{} ({})", found.measured, found.source);
        facts.add(&format!("deviation_{number}"), "known deviation", text);
    }
    facts.0.extend(price.0);
    source_facts(facts, disk.note.as_deref(), (&disk.origin, family), disk.line);
}

fn vm_facts(facts: &mut Facts, vm: &VmEntry, family: &Family, price: Facts) {
    facts.add("name", "name", &vm.name);
    facts.add("kind", "kind", "vm");
    facts.add("family", "family", format!("{}: {}", family.name, family.title));
    facts.add("uncached", "to network disks", vm.uncached.as_ref().map_or("no limit known".to_owned(), limit));
    if let Some((families, found)) = &vm.uncached_for {
        let label = format!("to {} alone", families.join(", "));
        facts.add("uncached_for", &label, limit(found));
    }
    facts.add_some("cached", "through the host's cache", vm.cached.as_ref().map(limit));
    facts.add_some("vcpus", "processors", vm.vcpus.map(|vcpus| vcpus.to_string()));
    let whole = vm.whole.as_ref().map(|whole| format!("all other figures, and the price, are those of {}", whole.name));
    facts.add_some("whole_size", "fewer processors", whole);
    if vm.queues_in_order {
        facts.add("queues_in_order", "queues in the guest", "serve threads in their order");
    }
    let queues = vm.device_queues.map(|queues| format!("{queues} for each network disk, counted"));
    facts.add_some("device_queues", "queues in the guest", queues);
    facts.add_some("cache_size", "host's cache", vm.cache_size.map(|size| size.to_string()));
    facts.add_some("data_disks", "data disks", vm.data_disks.map(|disks| format!("{disks} at most")));
    let takes_no = (!vm.takes_no.is_empty()).then(|| format!("of the families {}", vm.takes_no.join(", ")));
    facts.add_some("takes_no", "takes no disks", takes_no);
    facts.add_some("caches_none", "host's cache", vm.caches_none.then(|| "caches no network disks".to_owned()));
    facts.add_some("units", "units", family.units.as_ref().map(ToString::to_string));
    mechanism_facts(facts, &family.mechanism);
    facts.0.extend(price.0);
    source_facts(facts, vm.note.as_deref(), (&vm.origin, family), vm.line);
}

/// A machine's totals by type of disk, which may be from several files: the first gives the mechanism, and each its
/// source.
fn cap_facts(facts: &mut Facts, name: &str, caps: &[(&Cap, &Family)], price: Facts) {
    let (first, family) = caps[0];
    facts.add("name", "name", name);
    facts.add("kind", "kind", "vm");
    facts.add("family", "family", format!("{}: {}", family.name, family.title));
    for (cap, _) in caps {
        // A machine has one row for each type; a pattern stands for machines of all sizes, with a row for each.
        let alike = caps.iter().filter(|(other, _)| other.disk == cap.disk).count();
        let (key, label) = match cap.vcpus {
            Some((least, _)) if alike > 1 => {
                (format!("{}_{least}", cap.disk), format!("{}{}", cap.disk, vcpus_text(cap)))
            }
            _ => (cap.disk.clone(), cap.disk.clone()),
        };
        facts.add(&format!("cap_{key}"), &format!("all {label}"), limit(&cap.limit));
        facts.add_some(&format!("note_{key}"), &format!("note on {label}"), cap.note.as_deref());
    }
    facts.add_some("units", "units", family.units.as_ref().map(ToString::to_string));
    mechanism_facts(facts, &family.mechanism);
    facts.0.extend(price.0);
    source_facts(facts, None, (&Origin::default(), family), first.line);
    let (held, mut told) = (&family.mechanism.enforcement, vec![&family.name]);
    for (cap, family) in caps {
        if told.contains(&&family.name) {
            continue;
        }
        told.push(&family.name);
        let mut disks: Vec<&str> =
            caps.iter().filter(|(_, of)| of.name == family.name).map(|(cap, _)| cap.disk.as_str()).collect();
        disks.dedup();
        let (number, disks) = (told.len(), disks.join(", "));
        let date = family.date.as_deref().unwrap_or("not recorded");
        if family.mechanism.enforcement != *held {
            facts.add(&format!("enforcement_{number}"), &format!("{disks} held by"), held_by(&family.mechanism));
        }
        facts.add(&format!("source_{number}"), &format!("source of {disks}"), &family.source);
        facts.add(&format!("date_{number}"), "date of source", date);
        facts.add(&format!("file_{number}"), "file", family.at(cap.line));
    }
}

fn mechanism_facts(facts: &mut Facts, mechanism: &Mechanism) {
    let counted = mechanism.counted_size.map(|size| format!("each started {size} of a request counts as one"));
    facts.add_some("counted_size", "I/O accounting", counted);
    let merged = mechanism.merge.map(|merge| match merge.larger_than {
        Bytes::ZERO => "requests in sequence are counted together".to_owned(),
        size => format!("requests in sequence are counted together where they are larger than {size}"),
    });
    facts.add_some("merge", "merging", merged);
    let charge = mechanism.least_charge.map(|size| format!("a request that is not merged costs {size} of throughput"));
    facts.add_some("least_charge", "least charge", charge);
    facts.add("enforcement", "limits held by", held_by(mechanism));
    if mechanism.holds == Holds::Answers {
        facts.add("holds", "held back", "answers: a request is served while it waits for the limit");
    }
    if let Some(DeviceQueuesInterval { depth, queues }) = mechanism.device_queues {
        let count = |found: Interval<u32>| interval(found, |count| count.to_string());
        let text = format!("{} requests in each; {} queues, no more than processors", count(depth), count(queues));
        facts.add("device_queues", "queues in the guest", text);
    }
    let delivered = mechanism.delivered;
    let share = |found: Interval<Factor>| interval(found, |factor| factor.to_string());
    if delivered.iops != Interval::exactly(Factor::ONE) || delivered.throughput != Interval::exactly(Factor::ONE) {
        let writes = delivered.write_iops.map_or(String::new(), |found| format!(" ({} of writes)", share(found)));
        let text =
            format!("{} of the IOPS{writes}, {} of the throughput", share(delivered.iops), share(delivered.throughput));
        facts.add("delivered", "delivered", text);
    }
    if mechanism.reads_and_writes == ReadsAndWrites::Traded {
        facts.add("reads_and_writes", "reads and writes", "share one budget, at a price each");
    }
    if mechanism.shared_by_type {
        facts.add("shared_by_type", "shared", "by all disks of the type on a machine, by their total size");
    }
    if mechanism.place == Place::Local {
        facts.add("place", "place", "in the host; counts as cached, and is lost with the machine");
    }
    let cached = mechanism.host_cache_below.map(|size| format!("for disks below {size}"));
    facts.add_some("host_cache_below", "host's cache", cached);
    facts.add_some(
        "host_cached",
        "host's cache",
        (!mechanism.host_cached).then_some("never: no host caches such disks"),
    );
}

fn held_by(mechanism: &Mechanism) -> String {
    match mechanism.enforcement {
        EnforcementInterval::Smooth => "evenly".to_owned(),
        EnforcementInterval::Bucket(depth) => format!("a token bucket of {} at the rate", interval(depth, span)),
        EnforcementInterval::Window { length, jitter } => {
            format!("a quota in each window of {}, edges {} off", interval(length, span), interval(jitter, span))
        }
    }
}

/// An entry's own source counts before the family's, and then its own date alone: the family's is that of another source.
fn source_facts(facts: &mut Facts, note: Option<&str>, (origin, family): (&Origin, &Family), line: usize) {
    facts.add_some("note", "note", note);
    facts.add("source", "source", origin.source.as_ref().unwrap_or(&family.source));
    facts.add("date", "date of source", origin.date_within(family).unwrap_or("not recorded"));
    facts.add("file", "file", family.at(line));
}

fn figure<T: Scalar>(figure: &Figure<T>) -> String {
    match figure {
        Figure::Together(provision) => provided(provision),
        Figure::Apart { read, write } => format!("reads {read}; writes {write}"),
    }
}

fn provided<T: Scalar>(provision: &Provision<T>) -> String {
    match &provision.choice {
        Choice::None => provision.rule.to_string(),
        Choice::Provisioned { default: Some(default), .. } => {
            format!("{default} unless provisioned; {}", the_most(&provision.rule))
        }
        Choice::Provisioned { default: None, .. } => format!("as provisioned; {}", the_most(&provision.rule)),
    }
}

/// The range that may be provisioned; a single bound is described as such.
fn the_most<T: Scalar>(rule: &Rule<T>) -> String {
    let text = rule.to_string();
    format!("the most is {}", text.strip_prefix("at most ").unwrap_or(&text))
}

fn interval<T: Scalar>(found: Interval<T>, show: impl Fn(T) -> String) -> String {
    if found.is_exact() {
        return show(found.mid);
    }
    format!("{} ({} to {})", show(found.mid), show(found.low), show(found.high))
}

/// Milliseconds as they are written, from 1 ms on; microseconds below.
fn span(time: Duration) -> String {
    let ns = time.as_ns();
    let (unit, scale) = match ns {
        1_000_000_000.. => ("s", 1_000_000_000),
        1_000_000.. => ("ms", 1_000_000),
        _ => ("us", 1_000),
    };
    let digits = format!("{:09}", ns % scale * (1_000_000_000 / scale));
    let part = digits.trim_end_matches('0');
    format!("{}{}{part} {unit}", ns / scale, if part.is_empty() { "" } else { "." })
}

fn latency(found: &LatencyInterval) -> String {
    let mut text = format!("median {}, p99 {}", interval(found.median, span), interval(found.p99, span));
    if found.per_kib != Interval::exactly(Duration::ZERO) {
        text = format!("{text}, and {} for each KiB", interval(found.per_kib, span));
    }
    text
}

fn limit(limit: &Limit) -> String {
    let iops = limit.iops.as_ref().map(|found| {
        both(found, |budget: &IopsBudget| match budget.burst {
            Some(burst) => format!("{} (burst {})", budget.rate, burst.rate),
            None => budget.rate.to_string(),
        })
    });
    let throughput = limit.throughput.as_ref().map(|found| {
        both(found, |budget: &ThroughputBudget| match budget.burst {
            Some(burst) => format!("{} (burst {})", rate_text(budget.rate), rate_text(burst.rate)),
            None => rate_text(budget.rate),
        })
    });
    let none = "no limit on bytes known".to_owned();
    format!("{}, {}", iops.unwrap_or_else(|| "no limit on IOPS known".to_owned()), throughput.unwrap_or(none))
}

fn both<T>(found: &Directions<T>, show: impl Fn(&T) -> String) -> String {
    match found {
        Directions::Together(both) => show(both),
        Directions::Apart { read, write } => {
            let side = |budget: &Option<T>| budget.as_ref().map_or("no limit".to_owned(), &show);
            format!("reads {} / writes {}", side(read), side(write))
        }
        Directions::Traded { read, write } => {
            let (read, write) = (show(read), show(write));
            if read == write { read } else { format!("reads {read} / writes {write}") }
        }
    }
}
