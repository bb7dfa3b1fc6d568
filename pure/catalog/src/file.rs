//! Reads one catalog file: a family of disks, or of virtual machines.

use crate::deviation::read_deviations;
use crate::entry::{
    ByIops, CachedEstimate, Cap, DiskEntry, DiskOption, Family, HostCacheEntry, Mechanism, Origin, Published, Rates,
    ReadsAndWrites, SizeRule, VmEntry,
};
use crate::megabytes;
use crate::memory;
use crate::parts::{self, Readable};
use crate::price::{self, Price, Priced};
use loadline_disk::{Directions, IopsBudget, Limit, Parallelism, ThroughputBudget};
use loadline_document::{DocumentError, Item, Key, Reader, entries, kind, nested};
use loadline_units::{ByteRate, Bytes, Iops};
use toml::de::DeTable;

/// The version of the catalog format that is read here.
pub const CATALOG_SCHEMA: u64 = 1;

const TOP_KEYS: &[&str] = &[
    "schema",
    "kind",
    "provider",
    "family",
    "title",
    "source",
    "date",
    "units",
    "mechanism",
    "latency",
    "disk",
    "vm",
    "caps",
    "sold_vcpus",
    "sold",
    "iops_at",
    "retired",
    "superseded_by",
    "sold_as",
    "cpu_credits",
    "deviation",
    "hit",
    "unpublished",
    "unpublished_for",
    "region",
    "terms",
    "memory",
];
const DISK_KEYS: &[&str] = &[
    "size",
    "iops",
    "throughput",
    "burst",
    "options",
    "published",
    "parallelism",
    "spinning",
    "in_order_most",
    "by_iops",
    "delivered",
    "price",
    "source",
    "date",
    "note",
    "years",
];
const VM_KEYS: &[&str] = &[
    "uncached",
    "uncached_for",
    "cached",
    "cache_size",
    "data_disks",
    "vcpus",
    "queues_in_order",
    "device_queues",
    "takes_no",
    "caches_none",
    "price",
    "source",
    "date",
    "note",
    "years",
];
const CAP_KEYS: &[&str] = &["machines", "vcpus", "read", "write", "note"];

/// The largest year in a name.
const YEAR_MAX: u32 = 9999;

/// The contents of one file.
#[derive(Debug)]
pub(crate) struct CatalogFile {
    pub(crate) family: Family,
    pub(crate) disks: Vec<DiskEntry>,
    pub(crate) vms: Vec<VmEntry>,
    pub(crate) caps: Vec<Cap>,
    pub(crate) host_cache: Option<HostCacheEntry>,
    pub(crate) prices: Vec<Priced>,
    pub(crate) memories: Vec<(String, Bytes)>,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Disks,
    Machines,
    HostCache,
    Prices,
    Memory,
}

const ABOUT: &[(&str, About)] = &[
    ("disk", About::Disks),
    ("vm", About::Machines),
    ("host-cache", About::HostCache),
    ("prices", About::Prices),
    ("memory", About::Memory),
];

/// Reads a file whose family will have the given index.
pub(crate) fn read(text: &str, file: &str, index: usize) -> Result<CatalogFile, DocumentError> {
    Reader::read(text, file, &[], |reader, top| {
        reader.schema(top, CATALOG_SCHEMA, "catalog")?;
        for (key, _) in entries(top) {
            if !TOP_KEYS.contains(&&**key.get_ref()) {
                reader.unknown_key("", key, TOP_KEYS, "a catalog file");
            }
        }
        let family = read_family(reader, top, file);
        let about = top.get("kind").and_then(|item| reader.word("kind", item, ABOUT, ""));
        if top.get("kind").is_none() {
            reader.problem(
                0..0,
                "kind",
                "is missing: write kind = \"disk\", \"vm\", \"host-cache\", \"prices\" or \"memory\"".into(),
            );
        }
        let (family, about) = (family?, about?);
        let for_others: &[&str] = match about {
            About::Disks => {
                &["vm", "caps", "sold_vcpus", "sold", "hit", "unpublished", "unpublished_for", "region", "terms"]
            }
            About::Machines => {
                &["disk", "latency", "iops_at", "deviation", "hit", "unpublished", "unpublished_for", "region", "terms"]
            }
            About::HostCache => &[
                "disk",
                "vm",
                "caps",
                "sold_vcpus",
                "sold",
                "iops_at",
                "deviation",
                "latency",
                "mechanism",
                "region",
                "terms",
            ],
            About::Prices => &[
                "disk",
                "vm",
                "caps",
                "sold_vcpus",
                "sold",
                "iops_at",
                "deviation",
                "latency",
                "mechanism",
                "hit",
                "unpublished",
                "unpublished_for",
                "units",
            ],
            About::Memory => &[
                "disk",
                "vm",
                "caps",
                "sold_vcpus",
                "sold",
                "iops_at",
                "deviation",
                "latency",
                "mechanism",
                "hit",
                "unpublished",
                "unpublished_for",
                "units",
                "region",
                "terms",
            ],
        };
        let for_memory = (about != About::Memory).then_some(&"memory");
        for key in for_others.iter().chain(for_memory) {
            if let Some(item) = top.get(*key) {
                reader.problem(item.span(), key, "does not belong to a family of this kind".into());
            }
        }
        let mut found = CatalogFile {
            family,
            disks: Vec::new(),
            vms: Vec::new(),
            caps: Vec::new(),
            host_cache: None,
            prices: Vec::new(),
            memories: Vec::new(),
        };
        if about == About::HostCache {
            found.host_cache = read_host_cache(reader, top, &found.family.provider);
        }
        if about == About::Memory {
            found.memories = memory::read(reader, top, &found.family.provider);
        }
        if about == About::Prices {
            found.prices = price::lists(reader, top, &found.family, index);
        }
        for (key, name, item) in named(reader, top, "disk") {
            if let Some((entry, prices)) = read_disk(reader, &key, &name, item, &found.family, index) {
                found.prices.extend(priced(&entry.name, index, entry.line, prices));
                let names = with_years(reader, &key, &entry.name, item);
                found.disks.extend(names.into_iter().map(|name| DiskEntry { name, ..entry.clone() }));
            }
        }
        for (key, name, item) in named(reader, top, "vm") {
            if let Some((entry, prices)) = read_vm(reader, &key, &name, item, &found.family, index) {
                found.prices.extend(priced(&entry.name, index, entry.line, prices));
                let names = with_years(reader, &key, &entry.name, item);
                found.vms.extend(names.into_iter().map(|name| VmEntry { name, ..entry.clone() }));
            }
        }
        let mut sold = Vec::new();
        if let Some(item) = top.get("sold_vcpus") {
            for value in reader.values("sold_vcpus", item) {
                sold.extend(reader.count_u32("sold_vcpus", value, u32::MAX));
            }
        }
        found.family.sold_vcpus = sold;
        if let Some(item) = top.get("sold") {
            found.family.sold = memory::sold(reader, item);
        }
        for (key, name, item) in named(reader, top, "caps") {
            for row in reader.values(&key, item) {
                let cap = read_cap(reader, &key, &name, row, &found.family, index);
                found.caps.extend(cap);
            }
        }
        if found.family.latency.is_none() && about == About::Disks {
            reader.problem(0..0, "latency", "is missing: write [latency.read] and [latency.write]".into());
        }
        Some(found)
    })
}

/// An entry's names: its own, and the same with `@` and each of its `years`.
fn with_years(reader: &mut Reader<'_>, key: &str, name: &str, item: &Item<'_>) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    let years = item.get_ref().as_table().and_then(|table| table.get("years"));
    if let (Some(years), Some((_, year))) = (years, name.split_once('@')) {
        let message = format!("does not belong to a name with a year, @{year}");
        reader.problem(years.span(), &nested(key, "years"), message);
        return names;
    }
    for value in years.map(|years| reader.values(&nested(key, "years"), years)).unwrap_or_default() {
        let year = reader.count_u32(&nested(key, "years"), value, YEAR_MAX);
        names.extend(year.map(|year| format!("{name}@{year}")));
    }
    names
}

/// An entry's own prices.
fn priced(name: &str, family: usize, line: usize, prices: Vec<Price>) -> impl Iterator<Item = Priced> {
    let name = name.to_owned();
    prices.into_iter().map(move |price| Priced { name: name.clone(), price, family, line, is_listed: false })
}

/// How the hosts of a provider cache disks.
fn read_host_cache(reader: &mut Reader<'_>, top: &DeTable<'_>, provider: &str) -> Option<HostCacheEntry> {
    let Some(hit) = top.get("hit") else {
        reader.problem(0..0, "hit", "is missing: write [hit] with a median, a p99 and a per_kib".into());
        return None;
    };
    let latency = parts::latency(reader, "hit", hit);
    let unpublished = match top.get("unpublished") {
        Some(item) => Some(read_estimate(reader, "unpublished", item, &[])?),
        None => None,
    };
    let mut unpublished_for = Vec::new();
    if let Some(item) = top.get("unpublished_for") {
        for row in reader.values("unpublished_for", item) {
            let estimate = read_estimate(reader, "unpublished_for", row, &["families"])?;
            let mut families = Vec::new();
            if let Some(names) = row.get_ref().as_table().and_then(|table| table.get("families")) {
                for name in reader.values("unpublished_for.families", names) {
                    families.push(reader.text("unpublished_for.families", name)?);
                }
            }
            unpublished_for.push((families, estimate));
        }
    }
    Some(HostCacheEntry { provider: provider.to_owned(), latency: latency?, unpublished, unpublished_for })
}

fn read_estimate(
    reader: &mut Reader<'_>,
    key: &str,
    item: &Item<'_>,
    more_keys: &[&'static str],
) -> Option<CachedEstimate> {
    let wanted = "{ iops_per_vcpu = { low = ..., mid = ..., high = ... }, throughput_per_vcpu = ... }";
    let keys = ["iops_per_vcpu", "throughput_per_vcpu", "iops_most", "throughput_most"];
    let keys: Vec<&str> = keys.iter().chain(more_keys).copied().collect();
    let (mut iops, mut throughput, mut iops_most, mut throughput_most) = (None, None, None, None);
    for (name, value) in reader.table(key, item, &keys, wanted)? {
        let inner = nested(key, name);
        match name {
            "iops_per_vcpu" => iops = parts::interval(reader, &inner, value),
            "throughput_per_vcpu" => throughput = parts::interval(reader, &inner, value),
            "iops_most" => iops_most = Some(Iops::read(reader, &inner, value)?),
            "throughput_most" => throughput_most = Some(ByteRate::read(reader, &inner, value)?),
            _ => {}
        }
    }
    let (Some(iops), Some(throughput)) = (iops, throughput) else {
        reader.problem(item.span(), key, format!("is not complete: write {wanted}"));
        return None;
    };
    Some(CachedEstimate { iops, throughput, iops_most, throughput_most })
}

/// The entries of one of the top tables, with their full keys.
fn named<'i, 'd>(reader: &mut Reader<'_>, top: &'i DeTable<'d>, table: &str) -> Vec<(String, String, &'i Item<'d>)> {
    let Some(item) = top.get(table) else { return Vec::new() };
    let Some(inner) = item.get_ref().as_table() else {
        reader.problem(item.span(), table, format!("is {}: write [{table}] with names below it", kind(item.get_ref())));
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in entries(inner) {
        if is_name(reader, table, key) {
            let name: &str = key.get_ref();
            found.push((nested(table, name), name.to_owned(), value));
        }
    }
    found
}

/// Names are lower case, with dashes for every other mark but dots, and `@` before a year.
fn is_name(reader: &mut Reader<'_>, table: &str, key: &Key<'_>) -> bool {
    let name: &str = key.get_ref();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.@".contains(c);
    let good = !name.is_empty() && name.chars().all(fits);
    if !good {
        let message = "is no name for a catalog: write lower-case letters, digits, dashes, dots and @".to_owned();
        reader.problem(key.span(), &nested(table, name), message);
    }
    good
}

fn read_family(reader: &mut Reader<'_>, top: &DeTable<'_>, file: &str) -> Option<Family> {
    let mut text = |key: &str| {
        let Some(item) = top.get(key) else {
            reader.problem(0..0, key, format!("is missing: write {key} = \"...\" at the top"));
            return None;
        };
        reader.text(key, item)
    };
    let (provider, name, title, source) = (text("provider"), text("family"), text("title"), text("source"));
    let [date, retired, superseded_by, sold_as] =
        ["date", "retired", "superseded_by", "sold_as"].map(|key| top.get(key).and_then(|item| reader.text(key, item)));
    let mut mechanism = Mechanism::default();
    if let Some(item) = top.get("mechanism") {
        let parts = reader.table("mechanism", item, parts::MECHANISM_KEYS, "[mechanism]").unwrap_or_default();
        for (name, value) in parts {
            parts::mechanism_key(reader, &nested("mechanism", name), name, value, &mut mechanism);
        }
    }
    let iops_at = top.get("iops_at").and_then(|item| Bytes::read(reader, "iops_at", item));
    if iops_at == Some(Bytes::ZERO) {
        reader.problem(0..0, "iops_at", "must be a size above 0 B".into());
    }
    let cpu_credits = memory::cpu_credits(reader, top);
    let units = top.get("units").and_then(|item| megabytes::read(reader, item));
    Some(Family {
        file: file.to_owned(),
        provider: provider?,
        name: name?,
        title: title?,
        source: source?,
        date,
        units,
        mechanism,
        latency: top.get("latency").and_then(|item| parts::latencies(reader, "latency", item)),
        sold_vcpus: Vec::new(),
        retired,
        superseded_by,
        sold_as,
        cpu_credits,
        sold: Vec::new(),
        iops_at: iops_at.filter(|size| *size > Bytes::ZERO),
        deviations: top.get("deviation").map(|item| read_deviations(reader, item)).unwrap_or_default(),
    })
}

fn read_disk(
    reader: &mut Reader<'_>,
    key: &str,
    name: &str,
    item: &Item<'_>,
    family: &Family,
    index: usize,
) -> Option<(DiskEntry, Vec<Price>)> {
    let mut disk = DiskEntry {
        name: format!("{}/{name}", family.provider),
        family: index,
        size: SizeRule::Unknown,
        iops: None,
        throughput: None,
        burst: None,
        options: Vec::new(),
        published: Vec::new(),
        parallelism: Parallelism::default(),
        spinning: None,
        in_order_most: None,
        by_iops: None,
        delivered: None,
        origin: Origin::default(),
        note: None,
        line: reader.line_of(item),
    };
    let mut prices = Vec::new();
    for (name, value) in reader.table(key, item, DISK_KEYS, "a table with the disk's figures")? {
        let inner = nested(key, name);
        match name {
            "size" => disk.size = read_size(reader, &inner, value)?,
            "iops" => disk.iops = Some(parts::figure(reader, &inner, value)?),
            "throughput" => disk.throughput = Some(parts::figure(reader, &inner, value)?),
            "burst" => disk.burst = Some(parts::burst(reader, &inner, value)?),
            "options" => disk.options = read_options(reader, &inner, value)?,
            "published" => {
                for row in reader.values(&inner, value) {
                    disk.published.extend(read_published(reader, &inner, row));
                }
            }
            "parallelism" => disk.parallelism = parts::parallelism(reader, &inner, value)?,
            "spinning" => disk.spinning = Some(parts::spinning(reader, &inner, value)?),
            "in_order_most" => disk.in_order_most = Some(read_rates(reader, &inner, value)?),
            "by_iops" => disk.by_iops = Some(read_by_iops(reader, &inner, value)?),
            "delivered" => disk.delivered = Some(parts::delivered(reader, &inner, value)?),
            "price" => prices = price::of_entry(reader, &inner, value)?,
            "source" => disk.origin.source = reader.text(&inner, value),
            "date" => disk.origin.date = reader.text(&inner, value),
            "years" => {}
            _ => disk.note = reader.text(&inner, value),
        }
    }
    let burst = disk.burst.as_ref();
    if let Some(problem) =
        burst.and_then(|burst| burst.problem(&family.mechanism, disk.iops.as_ref(), disk.throughput.as_ref()))
    {
        reader.problem(item.span(), key, problem.to_owned());
        return None;
    }
    Some((disk, prices))
}

fn read_size(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<SizeRule> {
    if item.get_ref().as_table().is_none() {
        return Bytes::read(reader, key, item).map(SizeRule::Fixed);
    }
    let wanted = "a size, or { least = \"1 GiB\", most = \"16 TiB\" }";
    let (mut least, mut most) = (None, None);
    for (name, value) in reader.table(key, item, &["least", "most"], wanted)? {
        let size = Bytes::read(reader, &nested(key, name), value);
        *(if name == "least" { &mut least } else { &mut most }) = size;
    }
    let (Some(least), Some(most)) = (least, most) else {
        reader.problem(item.span(), key, format!("is not bounded: write {wanted}"));
        return None;
    };
    if least > most {
        reader.problem(item.span(), key, "has a least above its most".into());
        return None;
    }
    Some(SizeRule::Chosen { least, most })
}

/// Requests and bytes per second, both.
fn read_rates(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Rates> {
    let wanted = "{ iops = ..., throughput = ... }";
    let (mut iops, mut throughput) = (None, None);
    for (name, value) in reader.table(key, item, &["iops", "throughput"], wanted)? {
        let inner = nested(key, name);
        if name == "iops" {
            iops = Iops::read(reader, &inner, value);
        } else {
            throughput = ByteRate::read(reader, &inner, value);
        }
    }
    let (Some(iops), Some(throughput)) = (iops, throughput) else {
        reader.problem(item.span(), key, format!("is not complete: write {wanted}"));
        return None;
    };
    Some(Rates { iops, throughput })
}

fn read_by_iops(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<ByIops> {
    let wanted = "{ least = \"2500 IOPS\", most = \"120000 IOPS\", throughput = ... }";
    let (mut least, mut most, mut throughput) = (None, None, None);
    for (name, value) in reader.table(key, item, &["least", "most", "throughput"], wanted)? {
        let inner = nested(key, name);
        match name {
            "least" => least = Iops::read(reader, &inner, value),
            "most" => most = Iops::read(reader, &inner, value),
            _ => throughput = ByteRate::read(reader, &inner, value),
        }
    }
    let (Some(least), Some(most), Some(throughput)) = (least, most, throughput) else {
        reader.problem(item.span(), key, format!("is not complete: write {wanted}"));
        return None;
    };
    Some(ByIops { least, most, throughput })
}

fn read_options(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<DiskOption>> {
    let Some(table) = item.get_ref().as_table() else {
        reader.problem(item.span(), key, "is no table of options: write { name = { iops = ... } }".into());
        return None;
    };
    let mut options = Vec::new();
    for (name, value) in entries(table) {
        let name: &str = name.get_ref();
        let inner = nested(key, name);
        let Rates { iops, throughput } = read_rates(reader, &inner, value)?;
        options.push(DiskOption { name: name.to_owned(), iops, throughput });
    }
    Some(options)
}

fn read_published(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Published> {
    let known = ["size", "iops", "throughput", "burst_iops", "burst_throughput", "highest"];
    let mut size = None;
    let mut row = Published {
        size: Bytes::ZERO,
        iops: None,
        throughput: None,
        burst_iops: None,
        burst_throughput: None,
        highest: false,
    };
    for (name, value) in reader.table(key, item, &known, "{ size = ..., iops = ... }")? {
        let inner = nested(key, name);
        match name {
            "size" => size = Bytes::read(reader, &inner, value),
            "iops" => row.iops = Iops::read(reader, &inner, value),
            "throughput" => row.throughput = ByteRate::read(reader, &inner, value),
            "burst_iops" => row.burst_iops = Iops::read(reader, &inner, value),
            "burst_throughput" => row.burst_throughput = ByteRate::read(reader, &inner, value),
            _ => row.highest = reader.switch(&inner, value)?,
        }
    }
    let Some(size) = size else {
        reader.problem(item.span(), key, "has no size: write { size = ..., iops = ... }".into());
        return None;
    };
    Some(Published { size, ..row })
}

fn read_vm(
    reader: &mut Reader<'_>,
    key: &str,
    name: &str,
    item: &Item<'_>,
    family: &Family,
    index: usize,
) -> Option<(VmEntry, Vec<Price>)> {
    let mut vm = VmEntry {
        name: format!("{}/{name}", family.provider),
        family: index,
        uncached: None,
        uncached_for: None,
        cached: None,
        cache_size: None,
        data_disks: None,
        vcpus: None,
        queues_in_order: false,
        device_queues: None,
        takes_no: Vec::new(),
        caches_none: false,
        origin: Origin::default(),
        note: None,
        line: reader.line_of(item),
    };
    let mut prices = Vec::new();
    let span = family.mechanism.burst_span;
    for (name, value) in reader.table(key, item, VM_KEYS, "a table with the machine's limits")? {
        let inner = nested(key, name);
        match name {
            "uncached" => vm.uncached = Some(parts::vm_limit(reader, &inner, value, &[], span)?),
            "cached" => vm.cached = Some(parts::vm_limit(reader, &inner, value, &[], span)?),
            "uncached_for" => {
                let limit = parts::vm_limit(reader, &inner, value, &["families"], span)?;
                let mut families = Vec::new();
                if let Some(item) = value.get_ref().as_table().and_then(|table| table.get("families")) {
                    for family in reader.values(&inner, item) {
                        families.push(reader.text(&inner, family)?);
                    }
                }
                vm.uncached_for = Some((families, limit));
            }
            "cache_size" => vm.cache_size = Bytes::read(reader, &inner, value),
            "data_disks" => vm.data_disks = reader.count_u32(&inner, value, u32::MAX),
            "vcpus" => vm.vcpus = reader.count_u32(&inner, value, u32::MAX),
            "caches_none" => vm.caches_none = reader.switch(&inner, value)?,
            "queues_in_order" => vm.queues_in_order = reader.switch(&inner, value)?,
            "device_queues" => vm.device_queues = reader.count_u32(&inner, value, u32::MAX),
            "takes_no" => {
                for family in reader.values(&inner, value) {
                    vm.takes_no.push(reader.text(&inner, family)?);
                }
            }
            "price" => prices = price::of_entry(reader, &inner, value)?,
            "source" => vm.origin.source = reader.text(&inner, value),
            "date" => vm.origin.date = reader.text(&inner, value),
            "years" => {}
            _ => vm.note = reader.text(&inner, value),
        }
    }
    Some((vm, prices))
}

fn read_cap(
    reader: &mut Reader<'_>,
    key: &str,
    disk: &str,
    item: &Item<'_>,
    family: &Family,
    index: usize,
) -> Option<Cap> {
    let (mut machines, mut vcpus, mut read, mut write, mut note) = (None, None, None, None, None);
    for (name, value) in reader.table(key, item, CAP_KEYS, "{ machines = ..., read = ..., write = ... }")? {
        let inner = nested(key, name);
        match name {
            "machines" => machines = reader.text(&inner, value),
            "vcpus" => {
                vcpus = reader.text(&inner, value).and_then(|text| range(&text));
                if vcpus.is_none() {
                    let message = "is no range: write \"8\", \"8 to 15\" or \"64 or more\"".into();
                    reader.problem(value.span(), &inner, message);
                }
            }
            "read" => read = rates(reader, &inner, value),
            "write" => write = rates(reader, &inner, value),
            _ => note = reader.text(&inner, value),
        }
    }
    let (Some(machines), Some(read), Some(write)) = (machines, read, write) else {
        reader.problem(
            item.span(),
            key,
            "is not complete: write machines, and read and write with iops and throughput each".into(),
        );
        return None;
    };
    let traded = family.mechanism.reads_and_writes == ReadsAndWrites::Traded;
    let (read_iops, write_iops) = (IopsBudget::steady(read.0), IopsBudget::steady(write.0));
    let (read_bytes, write_bytes) = (ThroughputBudget::steady(read.1), ThroughputBudget::steady(write.1));
    let limit = Limit {
        iops: Some(directions(read_iops, write_iops, traded)),
        throughput: Some(directions(read_bytes, write_bytes, traded)),
        ..Limit::default()
    };
    Some(Cap { family: index, disk: disk.to_owned(), machines, vcpus, limit, note, line: reader.line_of(item) })
}

/// Reads and writes with a budget each, traded against one another or apart.
pub(crate) fn directions<T: PartialEq>(read: T, write: T, traded: bool) -> Directions<T> {
    if traded { Directions::Traded { read, write } } else { Directions::Apart { read: Some(read), write: Some(write) } }
}

/// `{ iops, throughput }`, both there.
fn rates(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<(Iops, ByteRate)> {
    let (mut iops, mut throughput) = (None, None);
    for (name, value) in reader.table(key, item, &["iops", "throughput"], "{ iops = ..., throughput = ... }")? {
        let inner = nested(key, name);
        if name == "iops" {
            iops = Iops::read(reader, &inner, value);
        } else {
            throughput = ByteRate::read(reader, &inner, value);
        }
    }
    Some((iops?, throughput?))
}

/// "8", "8 to 15" or "64 or more".
fn range(text: &str) -> Option<(u32, Option<u32>)> {
    if let Some(least) = text.strip_suffix(" or more") {
        return Some((least.parse().ok()?, None));
    }
    let (least, most) = text.split_once(" to ").unwrap_or((text, text));
    let (least, most) = (least.parse().ok()?, most.parse().ok()?);
    (least <= most).then_some((least, Some(most)))
}
