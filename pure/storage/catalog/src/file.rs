//! Reads one catalog file: a family of disks, or of virtual machines.

use crate::deviation::read_deviations;
use crate::entry::{
    ByIops, CachedEstimate, Cap, DiskEntry, DiskOption, Family, HostCacheEntry, Mechanism, Origin, PriceShares,
    Published, Rates, ReadsAndWrites, SizeRule, VmEntry,
};
use crate::megabytes;
use crate::memory;
use crate::parts::{self, Readable};
use crate::price::{self, CommitmentShare, Price, PriceColumns, Priced};
use crate::text_bounds::{self, NameKind};
use loadline_disk::{Directions, IopsBudget, Limit, ThroughputBudget};
use loadline_document::{DocumentError, Fields, Item, Reader, entries, kind, nested};
use loadline_units::{ByteRate, Bytes, Iops};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
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
    "update",
    "per",
    "regions",
    "small_regions",
    "price",
    "share",
    "bare_metal",
    "arm64",
    "fewer_cores",
    "place",
    "memory",
];
/// Keys that belong to families of these kinds alone.
const OF_KINDS: &[(&str, &[About])] = &[
    ("mechanism", &[About::Disks, About::Machines]),
    ("latency", &[About::Disks]),
    ("disk", &[About::Disks]),
    ("vm", &[About::Machines]),
    ("caps", &[About::Machines]),
    ("sold_vcpus", &[About::Machines]),
    ("sold", &[About::Machines]),
    ("iops_at", &[About::Disks]),
    ("deviation", &[About::Disks]),
    ("hit", &[About::HostCache]),
    ("unpublished", &[About::HostCache]),
    ("unpublished_for", &[About::HostCache]),
    ("region", &[About::Prices]),
    ("terms", &[About::Prices, About::Commitments]),
    ("update", &[About::Prices, About::Machines, About::Memory]),
    ("per", &[About::Prices]),
    ("regions", &[About::Prices]),
    ("small_regions", &[About::Prices]),
    ("price", &[About::Prices]),
    ("share", &[About::Commitments]),
    ("bare_metal", &[About::Machines]),
    ("arm64", &[About::Machines]),
    ("fewer_cores", &[About::Machines]),
    ("place", &[About::Regions]),
    ("units", &[About::Disks, About::Machines, About::HostCache]),
    ("memory", &[About::Memory]),
];

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
    pub(crate) columns: Option<PriceColumns>,
    pub(crate) commitments: Vec<CommitmentShare>,
    pub(crate) memories: Vec<(String, Bytes)>,
    /// Provider, region, and what its place is called.
    pub(crate) places: Vec<(String, String, String)>,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Disks,
    Machines,
    HostCache,
    Prices,
    Commitments,
    Memory,
    Regions,
}

const ABOUT: &[(&str, About)] = &[
    ("disk", About::Disks),
    ("vm", About::Machines),
    ("host-cache", About::HostCache),
    ("prices", About::Prices),
    ("commitments", About::Commitments),
    ("memory", About::Memory),
    ("regions", About::Regions),
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
                "is missing: write kind = \"disk\", \"vm\", \"host-cache\", \"prices\", \"commitments\", \"memory\" or \"regions\""
                    .into(),
            );
        }
        let (family, about) = (family?, about?);
        for (key, _) in OF_KINDS.iter().filter(|(_, kinds)| !kinds.contains(&about)) {
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
            columns: None,
            commitments: Vec::new(),
            memories: Vec::new(),
            places: Vec::new(),
        };
        if about == About::HostCache {
            found.host_cache = read_host_cache(reader, top, &found.family.provider);
        }
        if about == About::Memory {
            found.memories = memory::read(reader, top, &found.family.provider);
        }
        if about == About::Regions {
            found.places = read_places(reader, top, &found.family.provider);
        }
        if about == About::Commitments {
            found.commitments = price::commitments(reader, top, &found.family, index);
        }
        if about == About::Prices {
            found.family.digest = Some(sha256(text));
            found.prices = price::lists(reader, top, &found.family, index);
            found.columns = price::columns(reader, top, &found.family, index);
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
            let families = row.get_ref().as_table().and_then(|table| table.get("families"));
            let families = families.map_or(Some(Vec::new()), |item| texts(reader, "unpublished_for.families", item))?;
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
    let (iops, throughput, iops_most, throughput_most) = reader.fields(key, item, wanted, |t| {
        let found = (
            t.get("iops_per_vcpu", parts::interval),
            t.get("throughput_per_vcpu", parts::interval),
            t.strict("iops_most", Iops::read),
            t.strict("throughput_most", ByteRate::read),
        );
        for name in more_keys {
            t.item(name);
        }
        found
    })?;
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
        let name: &str = key.get_ref();
        let full = nested(table, name);
        if NameKind::ENTRY.is_kept(reader, key.span(), &full, name) {
            found.push((full, name.to_owned(), value));
        }
    }
    found
}

fn read_family(reader: &mut Reader<'_>, top: &DeTable<'_>, file: &str) -> Option<Family> {
    type Read = fn(&mut Reader<'_>, &str, &Item<'_>) -> Option<String>;
    fn name_of(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<String> {
        reader.name(key, item)
    }
    let mut needed = |key: &str, read: Read| {
        let Some(item) = top.get(key) else {
            reader.problem(0..0, key, format!("is missing: write {key} = \"...\" at the top"));
            return None;
        };
        read(reader, key, item)
    };
    let provider = needed("provider", |reader, key, item| NameKind::PROVIDER.read(reader, key, item));
    let name = needed("family", name_of);
    let (title, source) = (needed("title", text_bounds::text), needed("source", text_bounds::text));
    let [date, retired, superseded_by, bare_metal] = ["date", "retired", "superseded_by", "bare_metal"]
        .map(|key| top.get(key).and_then(|item| text_bounds::text(reader, key, item)));
    let sold_as = top.get("sold_as").and_then(|item| NameKind::WORD.read(reader, "sold_as", item));
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
    let cpu_credits = memory::beginnings(reader, top, "cpu_credits");
    let arm64 = memory::beginnings(reader, top, "arm64");
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
        bare_metal,
        cpu_credits,
        arm64,
        fewer_cores: read_fewer_cores(reader, top),
        digest: None,
        sold: Vec::new(),
        iops_at: iops_at.filter(|size| *size > Bytes::ZERO),
        deviations: top.get("deviation").map(|item| read_deviations(reader, item)).unwrap_or_default(),
    })
}

/// SHA-256 of a text, in hexadecimal digits.
fn sha256(text: &str) -> String {
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// `[fewer_cores]`: sizes with the numbers of processors that they are sold with, too.
fn read_fewer_cores(reader: &mut Reader<'_>, top: &DeTable<'_>) -> Vec<(String, Vec<u32>, usize)> {
    let mut found = Vec::new();
    for (key, name, item) in named(reader, top, "fewer_cores") {
        let counts = reader.values(&key, item).into_iter().filter_map(|item| reader.count_u32(&key, item, u32::MAX));
        found.push((name, counts.collect(), reader.line_of(item)));
    }
    found
}

/// `[place]`: regions with what their place is called, one name or several.
fn read_places(reader: &mut Reader<'_>, top: &DeTable<'_>, provider: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (key, region, item) in named(reader, top, "place") {
        let names = reader.values(&key, item).into_iter().filter_map(|item| text_bounds::text(reader, &key, item));
        found.extend(names.map(|name| (provider.to_owned(), region.clone(), name)));
    }
    found
}

fn read_disk(
    reader: &mut Reader<'_>,
    key: &str,
    name: &str,
    item: &Item<'_>,
    family: &Family,
    index: usize,
) -> Option<(DiskEntry, Vec<Price>)> {
    let line = reader.line_of(item);
    let (disk, prices) = reader.fields(key, item, "a table with the disk's figures", |t| {
        let disk = DiskEntry {
            name: format!("{}/{name}", family.provider),
            family: index,
            size: t.strict("size", read_size).unwrap_or(SizeRule::Unknown),
            iops: t.strict("iops", parts::figure),
            throughput: t.strict("throughput", parts::figure),
            burst: t.strict("burst", parts::burst),
            options: t.strict("options", read_options).unwrap_or_default(),
            published: t
                .get("published", |reader, key, item| {
                    let rows = reader.values(key, item).into_iter();
                    Some(rows.filter_map(|row| read_published(reader, key, row)).collect())
                })
                .unwrap_or_default(),
            parallelism: t.strict("parallelism", parts::parallelism).unwrap_or_default(),
            spinning: t.strict("spinning", parts::spinning),
            in_order_most: t.strict("in_order_most", read_rates),
            by_iops: t.strict("by_iops", read_by_iops),
            delivered: t.strict("delivered", parts::delivered),
            price_shares: t.strict("price_shares", read_price_shares),
            origin: Origin::default(),
            note: None,
            line,
        };
        let prices = t.strict("price", price::of_entry).unwrap_or_default();
        let (origin, note) = origin_and_note(t);
        (DiskEntry { origin, note, ..disk }, prices)
    })?;
    let burst = disk.burst.as_ref();
    if let Some(problem) =
        burst.and_then(|burst| burst.problem(&family.mechanism, disk.iops.as_ref(), disk.throughput.as_ref()))
    {
        reader.problem(item.span(), key, problem.to_owned());
        return None;
    }
    Some((disk, prices))
}

/// Where the figures of an entry are from, and what is said beside them.
fn origin_and_note(t: &mut Fields<'_, '_, '_, '_>) -> (Origin, Option<String>) {
    let origin = Origin { source: t.get("source", text_bounds::text), date: t.get("date", text_bounds::text) };
    let note = t.get("note", text_bounds::text);
    // Read with the entry's names.
    t.item("years");
    (origin, note)
}

fn read_size(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<SizeRule> {
    if item.get_ref().as_table().is_none() {
        return Bytes::read(reader, key, item).map(SizeRule::Fixed);
    }
    let wanted = "a size, or { least = \"1 GiB\", most = \"16 TiB\" }";
    let ends = reader.fields(key, item, wanted, |t| ["least", "most"].map(|name| t.get(name, Bytes::read)))?;
    let [Some(least), Some(most)] = ends else {
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
    let (Some(iops), Some(throughput)) = iops_and_throughput(reader, key, item, wanted)? else {
        reader.problem(item.span(), key, format!("is not complete: write {wanted}"));
        return None;
    };
    Some(Rates { iops, throughput })
}

fn iops_and_throughput(
    reader: &mut Reader<'_>,
    key: &str,
    item: &Item<'_>,
    wanted: &str,
) -> Option<(Option<Iops>, Option<ByteRate>)> {
    reader.fields(key, item, wanted, |t| (t.get("iops", Iops::read), t.get("throughput", ByteRate::read)))
}

fn read_by_iops(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<ByIops> {
    let wanted = "{ least = \"2500 IOPS\", most = \"120000 IOPS\", throughput = ... }";
    let found = reader.fields(key, item, wanted, |t| {
        (t.get("least", Iops::read), t.get("most", Iops::read), t.get("throughput", ByteRate::read))
    })?;
    let (Some(least), Some(most), Some(throughput)) = found else {
        reader.problem(item.span(), key, format!("is not complete: write {wanted}"));
        return None;
    };
    Some(ByIops { least, most, throughput })
}

/// What parts of a disk's price are of others.
fn read_price_shares(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<PriceShares> {
    let wanted = "{ iops = \"6.25 %\", throughput = \"50 %\" }, of what a GiB costs, or { iops_tiers = [\"70 %\"] }, of the first tier";
    reader.fields(key, item, wanted, |t| PriceShares {
        iops: t.strict("iops", Reader::quantity),
        throughput: t.strict("throughput", Reader::quantity),
        iops_tiers: t
            .strict("iops_tiers", |reader, key, item| {
                reader.values(key, item).into_iter().map(|item| reader.quantity(key, item)).collect()
            })
            .unwrap_or_default(),
    })
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
    let (size, row) = reader.fields(key, item, "{ size = ..., iops = ... }", |t| {
        let size = t.get("size", Bytes::read);
        let row = Published {
            size: size.unwrap_or_default(),
            iops: t.get("iops", Iops::read),
            throughput: t.get("throughput", ByteRate::read),
            burst_iops: t.get("burst_iops", Iops::read),
            burst_throughput: t.get("burst_throughput", ByteRate::read),
            highest: t.strict("highest", Reader::switch).unwrap_or(false),
        };
        (size, row)
    })?;
    if size.is_none() {
        reader.problem(item.span(), key, "has no size: write { size = ..., iops = ... }".into());
    }
    size.map(|_| row)
}

fn read_vm(
    reader: &mut Reader<'_>,
    key: &str,
    name: &str,
    item: &Item<'_>,
    family: &Family,
    index: usize,
) -> Option<(VmEntry, Vec<Price>)> {
    let line = reader.line_of(item);
    let span = family.mechanism.burst_span;
    let limit = |reader: &mut Reader<'_>, key: &str, item: &Item<'_>| parts::vm_limit(reader, key, item, &[], span);
    reader.fields(key, item, "a table with the machine's limits", |t| {
        let vm = VmEntry {
            name: format!("{}/{name}", family.provider),
            family: index,
            uncached: t.strict("uncached", limit),
            uncached_for: t.strict("uncached_for", |reader, key, item| {
                let limit = parts::vm_limit(reader, key, item, &["families"], span)?;
                let families = item.get_ref().as_table().and_then(|table| table.get("families"));
                let families = families.map_or(Some(Vec::new()), |item| texts(reader, key, item))?;
                Some((families, limit))
            }),
            cached: t.strict("cached", limit),
            cache_size: t.get("cache_size", Bytes::read),
            data_disks: t.get("data_disks", Reader::positive),
            vcpus: t.get("vcpus", Reader::positive),
            whole: None,
            queues_in_order: t.strict("queues_in_order", Reader::switch).unwrap_or(false),
            device_queues: t.get("device_queues", Reader::positive),
            takes_no: t.strict("takes_no", texts).unwrap_or_default(),
            caches_none: t.strict("caches_none", Reader::switch).unwrap_or(false),
            origin: Origin::default(),
            note: None,
            line,
        };
        let prices = t.strict("price", price::of_entry).unwrap_or_default();
        let (origin, note) = origin_and_note(t);
        (VmEntry { origin, note, ..vm }, prices)
    })
}

fn texts(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<String>> {
    reader.values(key, item).into_iter().map(|item| text_bounds::text(reader, key, item)).collect()
}

fn read_cap(
    reader: &mut Reader<'_>,
    key: &str,
    disk: &str,
    item: &Item<'_>,
    family: &Family,
    index: usize,
) -> Option<Cap> {
    let rates = |reader: &mut Reader<'_>, key: &str, item: &Item<'_>| {
        let (iops, throughput) = iops_and_throughput(reader, key, item, "{ iops = ..., throughput = ... }")?;
        Some((iops?, throughput?))
    };
    let (machines, vcpus, read, write, note) =
        reader.fields(key, item, "{ machines = ..., read = ..., write = ... }", |t| {
            let machines = t.get("machines", |reader, key, item| NameKind::PATTERN.read(reader, key, item));
            let vcpus = t.get("vcpus", |reader, key, item| {
                let vcpus = reader.text(key, item).and_then(|text| range(&text));
                if vcpus.is_none() {
                    let message = "is no range: write \"8\", \"8 to 15\" or \"64 or more\"".into();
                    reader.problem(item.span(), key, message);
                }
                vcpus
            });
            (machines, vcpus, t.get("read", rates), t.get("write", rates), t.get("note", text_bounds::text))
        })?;
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

/// "8", "8 to 15" or "64 or more".
fn range(text: &str) -> Option<(u32, Option<u32>)> {
    if let Some(least) = text.strip_suffix(" or more") {
        return Some((least.parse().ok()?, None));
    }
    let (least, most) = text.split_once(" to ").unwrap_or((text, text));
    let (least, most) = (least.parse().ok()?, most.parse().ok()?);
    (least <= most).then_some((least, Some(most)))
}
