//! Reads environment files.

use super::{DISKS_MAX, ENVIRONMENT_SCHEMA, Environment, EnvironmentVolume, HostCacheFigures, Pool};
use crate::catalog::Catalog;
use crate::entry::{DiskEntry, Family, Figure, Mechanism, ReadsAndWrites, SizeRule};
use crate::parts::{self, Readable};
use crate::resolve::{DiskFigures, Draw, LimitFigures, Provisioned, PurchasePart, VmFigures};
use loadline_disk::{HostCache, Layout, Place};
use loadline_document::{DocumentError, Item, Key, Reader, Synonym, entries, kind, nested};
use loadline_units::{ByteRate, Bytes, Iops, SECTOR};
use std::collections::BTreeSet;
use toml::de::DeTable;

const TOP_KEYS: &[&str] = &["schema", "name", "description", "vm", "volume"];
const VOLUME_KEYS: &[&str] = &["disks", "layout", "host_cache", "path"];
const SKU_KEYS: &[&str] = &["sku", "size", "iops", "throughput", "option", "count"];
const DISK_KEYS: &[&str] = &["size", "limit", "latency", "parallelism", "spinning", "place", "device_queues", "count"];
const VOLUME_WANTED: &str = "write [volume.data] and, below it, the volume's keys";
const DISKS_WANTED: &str = "[{ sku = \"...\" }]";
const LAYOUT_WANTED: &str = "{ stripe = { columns = 4, interleave = \"256 KiB\" } }, { mirror = 2 } or \
     { stripe_of_mirrors = { columns = 2, copies = 2, interleave = \"256 KiB\" } }";
const CACHES: &[(&str, HostCache)] =
    &[("none", HostCache::None), ("read-only", HostCache::ReadOnly), ("read-write", HostCache::ReadWrite)];
const SYNONYMS: &[Synonym] = &[
    ("cache", "host_cache"),
    ("caching", "host_cache"),
    ("chunk", "interleave"),
    ("chunk_size", "interleave"),
    ("stripe_size", "interleave"),
    ("disk", "disks"),
    ("machine", "vm"),
    ("instance", "vm"),
    ("type", "sku"),
    ("mount", "path"),
    ("target", "path"),
];

pub(super) fn environment(text: &str, source: &str, catalog: &Catalog) -> Result<Environment, DocumentError> {
    Reader::read(text, source, SYNONYMS, |reader, top| {
        reader.schema(top, ENVIRONMENT_SCHEMA, "environment")?;
        for (key, _) in entries(top) {
            let word: &str = key.get_ref();
            if VOLUME_KEYS.contains(&word) {
                reader.problem(key.span(), word, format!("belongs to a volume: {VOLUME_WANTED}"));
            } else if !TOP_KEYS.contains(&word) {
                reader.unknown_key("", key, TOP_KEYS, "an environment");
            }
        }
        let name = if let Some(item) = top.get("name") {
            reader.name("name", item)
        } else {
            reader.problem(0..0, "name", "is missing: write name = \"...\" at the top".into());
            None
        };
        let description = top.get("description").and_then(|item| reader.text("description", item));
        let vm = match top.get("vm") {
            Some(item) => read_vm(reader, item, catalog),
            None => None,
        };
        let mut volumes = read_volumes(reader, top, catalog);
        for volume in &mut volumes {
            volume.disks.iter_mut().for_each(|disk| disk.hold_on(vm.as_ref()));
            give_hit_latency(reader, top, volume, vm.as_ref(), catalog);
        }
        tell_foreign(reader, top, vm.as_ref(), &volumes);
        tell_too_many(reader, top, vm.as_ref(), &volumes);
        tell_not_taken(reader, top, vm.as_ref(), &volumes);
        tell_not_cached(reader, top, vm.as_ref(), &volumes);
        let pools = pools(catalog, vm.as_ref(), &volumes);
        let environment = Environment { name: name?, description, text: text.to_owned(), vm, volumes, pools };
        // The model has its own rules; if they hold for one draw, they hold for all.
        if reader.problem_count() == 0
            && let Err(error) = environment.spec(&Draw::PUBLISHED).check()
        {
            reader.problem(0..0, "volume", error.to_string());
        }
        Some(environment)
    })
}

fn read_vm(reader: &mut Reader<'_>, item: &Item<'_>, catalog: &Catalog) -> Option<VmFigures> {
    if let Some(name) = item.get_ref().as_str() {
        let found = catalog.vm_figures(name);
        if let Err(error) = &found {
            reader.problem(item.span(), "vm", error.to_string());
        }
        return found.ok();
    }
    let known: Vec<&str> =
        ["uncached", "cached", "cache_size", "data_disks", "vcpus", "queues_in_order", "device_queues"]
            .iter()
            .chain(parts::LIMIT_MECHANISM_KEYS)
            .copied()
            .collect();
    let found = reader.table("vm", item, &known, "a name in the catalog, or a table such as { uncached = { ... } }")?;
    let mut mechanism = Mechanism::default();
    for (name, value) in &found {
        if parts::LIMIT_MECHANISM_KEYS.contains(name) {
            parts::mechanism_key(reader, &nested("vm", name), name, value, &mut mechanism);
        }
        if *name == "reads_and_writes" && mechanism.reads_and_writes == ReadsAndWrites::Traded {
            let message = "trades reads for writes, and a machine's limits are one figure for both: leave it out";
            reader.problem(value.span(), &nested("vm", name), message.to_owned());
        }
    }
    let mut vm = VmFigures::default();
    for (name, value) in found {
        let key = nested("vm", name);
        match name {
            "uncached" | "cached" => {
                let limit = parts::vm_limit(reader, &key, value, &[], mechanism.burst_span)?;
                let figures = Some(LimitFigures { limit, mechanism: mechanism.clone() });
                *(if name == "cached" { &mut vm.cached } else { &mut vm.uncached }) = figures;
            }
            "cache_size" => vm.cache_size = Bytes::read(reader, &key, value),
            "data_disks" => vm.disks_max = reader.count_u32(&key, value, u32::MAX),
            "queues_in_order" => vm.queues_in_order = reader.switch(&key, value)?,
            "vcpus" => vm.vcpus = reader.count_u32(&key, value, u32::MAX),
            "device_queues" => vm.device_queues = reader.count_u32(&key, value, u32::MAX),
            _ => {}
        }
    }
    Some(vm)
}

fn read_volumes(reader: &mut Reader<'_>, top: &DeTable<'_>, catalog: &Catalog) -> Vec<EnvironmentVolume> {
    let Some(item) = top.get("volume") else {
        reader.problem(0..0, "volume", format!("an environment without a volume has no storage: {VOLUME_WANTED}"));
        return Vec::new();
    };
    let Some(table) = item.get_ref().as_table() else {
        reader.problem(item.span(), "volume", format!("is {}: {VOLUME_WANTED}", kind(item.get_ref())));
        return Vec::new();
    };
    if table.is_empty() {
        reader.problem(item.span(), "volume", format!("is empty: {VOLUME_WANTED}"));
    }
    let mut volumes: Vec<EnvironmentVolume> = Vec::new();
    for (key, item) in entries(table) {
        if is_volume_name(reader, key) {
            let left = DISKS_MAX - volumes.iter().map(|volume| volume.disks.len()).sum::<usize>();
            volumes.extend(read_volume(reader, key.get_ref(), item, catalog, left));
        }
    }
    volumes
}

/// In the form of the command line: `--on NAME=TARGET`.
fn is_volume_name(reader: &mut Reader<'_>, key: &Key<'_>) -> bool {
    let name: &str = key.get_ref();
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if !good {
        let message = "is no name for a volume: write a letter, then letters, digits, - and _".to_owned();
        reader.problem(key.span(), &nested("volume", name), message);
    }
    good
}

fn read_volume(
    reader: &mut Reader<'_>,
    name: &str,
    item: &Item<'_>,
    catalog: &Catalog,
    left: usize,
) -> Option<EnvironmentVolume> {
    let key = nested("volume", name);
    let before = reader.problem_count();
    let parts = reader.table(&key, item, VOLUME_KEYS, "a table with disks and a layout")?;
    let find = |wanted: &str| parts.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let mut disks: Vec<(DiskFigures, &Item<'_>)> = Vec::new();
    if let Some(list) = find("disks") {
        let key = nested(&key, "disks");
        for value in reader.values(&key, list) {
            let Some((disk, count)) = read_disk(reader, &key, value, catalog) else { continue };
            let count = usize::try_from(count).expect("a u32 is a usize");
            if disks.len() + count > left {
                let message = format!("with these the environment has more than {DISKS_MAX} disks: write fewer");
                reader.problem(value.span(), &key, message);
                return None;
            }
            disks.extend(std::iter::repeat_n((disk, value), count));
        }
    } else {
        reader.problem(item.span(), &key, format!("has no disks: write disks = {DISKS_WANTED}"));
    }
    let host_cache = find("host_cache").and_then(|value| read_host_cache(reader, &nested(&key, "host_cache"), value));
    let path = find("path").and_then(|value| reader.text(&nested(&key, "path"), value));
    if reader.problem_count() > before {
        return None;
    }
    let layout = match find("layout") {
        Some(value) => {
            let key = nested(&key, "layout");
            let layout = read_layout(reader, &key, value, disks.len())?;
            tell_too_long(reader, &key, value, layout, disks.iter().filter_map(|(disk, _)| disk.size).min())?;
            layout
        }
        None if disks.len() == 1 => Layout::Single,
        None => {
            let message = format!("has {} disks and no layout: write layout = {LAYOUT_WANTED}", disks.len());
            reader.problem(item.span(), &key, message);
            return None;
        }
    };
    let host_cache = host_cache.unwrap_or_default();
    for (disk, value) in &disks {
        tell_uncachable(reader, &nested(&key, "disks"), disk, value, host_cache.mode);
    }
    let disks = disks.into_iter().map(|(disk, _)| disk).collect();
    Some(EnvironmentVolume { name: name.to_owned(), disks, layout, host_cache, path })
}

/// The time of a hit is the provider's, unless the environment sets it.
fn give_hit_latency(
    reader: &mut Reader<'_>,
    top: &DeTable<'_>,
    volume: &mut EnvironmentVolume,
    vm: Option<&VmFigures>,
    catalog: &Catalog,
) {
    let cache = &mut volume.host_cache;
    if cache.mode == HostCache::None || cache.latency.is_some() {
        return;
    }
    let mut names = vm.iter().map(|vm| vm.name.as_str()).chain(volume.disks.iter().map(|disk| disk.name.as_str()));
    let provider = names.find_map(|name| Some(name.split_once('/')?.0));
    let entry = match provider {
        Some(provider) => catalog.host_cache(provider),
        // Storage given in full has the hosts that the catalog knows.
        None => catalog.any_host_cache(),
    };
    cache.latency = entry.map(|entry| entry.latency);
    if cache.latency.is_none() {
        let message = format!(
            "is cached by the host, and for {:?} the catalog does not say how long a hit takes: write host_cache = {{ mode = \
             \"read-only\", latency = {{ median = \"300 us\", p99 = \"1 ms\" }} }}",
            provider.unwrap_or_default()
        );
        let place = top.get("volume").map_or(0..0, Item::span);
        reader.problem(place, &nested("volume", &volume.name), message);
    }
}

fn tell_uncachable(reader: &mut Reader<'_>, key: &str, disk: &DiskFigures, item: &Item<'_>, mode: HostCache) {
    if mode == HostCache::None {
        return;
    }
    let mechanism = &disk.limits.mechanism;
    if mechanism.place == Place::Local {
        let message = "is in the host and never cached: write host_cache = \"none\"";
        reader.problem(item.span(), key, message.to_owned());
    } else if !mechanism.host_cached {
        let message = format!("is {}, and no host caches such disks: write host_cache = \"none\"", disk.name);
        reader.problem(item.span(), key, message);
    } else if let (Some(below), Some(size)) = (mechanism.host_cache_below, disk.size)
        && size >= below
    {
        let message = format!("has {size}, and disks of {below} and more are not cached: write host_cache = \"none\"");
        reader.problem(item.span(), key, message);
    }
}

/// A disk and how many of it there are.
fn read_disk(reader: &mut Reader<'_>, key: &str, item: &Item<'_>, catalog: &Catalog) -> Option<(DiskFigures, u32)> {
    let Some(table) = item.get_ref().as_table() else {
        reader.problem(item.span(), key, format!("is {}: write {DISKS_WANTED}", kind(item.get_ref())));
        return None;
    };
    let is_full = table.get("sku").is_none() && DISK_KEYS.iter().any(|k| *k != "count" && table.get(*k).is_some());
    let found = reader.table(key, item, if is_full { DISK_KEYS } else { SKU_KEYS }, DISKS_WANTED)?;
    let find = |wanted: &str| found.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    let count = match find("count") {
        Some(value) => reader.count_u32(&nested(key, "count"), value, u32::try_from(DISKS_MAX).expect("it fits"))?,
        None => 1,
    };
    if is_full {
        return read_full_disk(reader, key, &found).map(|disk| (disk, count));
    }
    let Some(sku) = find("sku") else {
        reader.problem(item.span(), key, format!("names no sku and gives no limit: write {DISKS_WANTED}"));
        return None;
    };
    let name = reader.text(&nested(key, "sku"), sku)?;
    let mut wanted = Provisioned::default();
    for (name, value) in &found {
        let inner = nested(key, name);
        match *name {
            "size" => wanted.size = Some(Bytes::read(reader, &inner, value)?),
            "iops" => wanted.iops = Some(Iops::read(reader, &inner, value)?),
            "throughput" => wanted.throughput = Some(ByteRate::read(reader, &inner, value)?),
            "option" => wanted.option = Some(reader.text(&inner, value)?),
            _ => {}
        }
    }
    match catalog.disk_figures(&name, &wanted) {
        Ok(disk) => Some((disk, count)),
        Err(error) => {
            let part = error.part();
            let (span, key) = match find(part.key()) {
                Some(value) => (value.span(), nested(key, part.key())),
                None => (sku.span(), nested(key, PurchasePart::Sku.key())),
            };
            reader.problem(span, &key, error.to_string());
            None
        }
    }
}

/// A disk that needs no entry: the same parts as in a catalog file, in one place.
fn read_full_disk(reader: &mut Reader<'_>, key: &str, found: &[(&str, &Item<'_>)]) -> Option<DiskFigures> {
    let (mut family, mut disk, mut size) = (Family::default(), DiskEntry::default(), None);
    for (name, value) in found {
        let inner = nested(key, name);
        match *name {
            "size" => size = Some(Bytes::read(reader, &inner, value)?),
            "limit" => read_full_limit(reader, &inner, value, &mut disk, &mut family.mechanism)?,
            "latency" => family.latency = Some(parts::latencies(reader, &inner, value)?),
            "parallelism" => disk.parallelism = parts::parallelism(reader, &inner, value)?,
            "spinning" => disk.spinning = Some(parts::spinning(reader, &inner, value)?),
            "device_queues" => parts::mechanism_key(reader, &inner, name, value, &mut family.mechanism),
            "place" => family.mechanism.place = reader.word(&inner, value, parts::PLACES, "")?,
            _ => {}
        }
    }
    let Some(size) = size else {
        let item = found.first().map_or(0..0, |(_, value)| value.span());
        reader.problem(item, key, "is a disk given in full and has no size: write size = \"1 TiB\"".into());
        return None;
    };
    match disk.resolve(&family, &Provisioned { size: Some(size), ..Provisioned::default() }) {
        Ok(figures) => Some(figures),
        Err(error) => {
            let place = found.iter().find(|(name, _)| *name == "limit").map_or(0..0, |(_, value)| value.span());
            reader.problem(place, key, error.to_string());
            None
        }
    }
}

fn read_full_limit(
    reader: &mut Reader<'_>,
    key: &str,
    item: &Item<'_>,
    disk: &mut DiskEntry,
    mechanism: &mut Mechanism,
) -> Option<()> {
    let before = reader.problem_count();
    let traded = reader.fields(key, item, "{ iops = \"5000 IOPS\", throughput = \"200 MB/s\" }", |t| {
        disk.iops = t.get("iops", parts::figure);
        disk.throughput = t.get("throughput", parts::figure);
        disk.burst = t.get("burst", parts::burst);
        for name in ["holds"].iter().chain(parts::LIMIT_MECHANISM_KEYS) {
            t.get(name, |reader, key, item| {
                parts::mechanism_key(reader, key, name, item, mechanism);
                Some(())
            });
        }
        t.item("reads_and_writes").filter(|_| mechanism.reads_and_writes == ReadsAndWrites::Traded).map(Item::span)
    })?;
    if let Some(span) = traded.filter(|_| reader.problem_count() == before) {
        let figures = [is_together(disk.iops.as_ref()), is_together(disk.throughput.as_ref())];
        // One of both may stand for all requests. If neither has separate figures, `traded` is a mistake.
        if figures.iter().all(|together| *together != Some(false)) {
            let message = "trades reads for writes, and neither iops nor throughput has a figure for each: write \
                           iops = { read = ..., write = ... }, or leave reads_and_writes out; one figure is one budget for both";
            reader.problem(span, &nested(key, "reads_and_writes"), message.to_owned());
        }
    }
    if let Some(burst) = &disk.burst {
        let problem = burst.problem(mechanism, disk.iops.as_ref(), disk.throughput.as_ref());
        if let Some(problem) = problem {
            reader.problem(item.span(), key, problem.to_owned());
        }
    }
    (reader.problem_count() == before).then_some(())
}

/// Whether a figure is for both directions; `None` without a figure.
fn is_together<T>(figure: Option<&Figure<T>>) -> Option<bool> {
    figure.map(|figure| matches!(figure, Figure::Together(_)))
}

fn read_host_cache(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<HostCacheFigures> {
    if item.get_ref().as_table().is_none() {
        let mode = reader.word(key, item, CACHES, ", or a table such as { mode = \"read-only\" }")?;
        return Some(HostCacheFigures { mode, ..HostCacheFigures::default() });
    }
    let (mode, cache) = reader.fields(key, item, "{ mode = \"read-only\" }", |t| {
        let mode = t.strict("mode", |reader, key, item| reader.word(key, item, CACHES, ""));
        let cache = HostCacheFigures {
            mode: mode.unwrap_or_default(),
            capacity: t.strict("capacity", Bytes::read),
            latency: t.strict("latency", parts::latency),
            dirty_max: t.strict("dirty_max", Reader::quantity),
            resume_at: t.strict("resume_at", Reader::quantity),
        };
        (mode, cache)
    })?;
    if mode.is_none() {
        reader.problem(item.span(), key, "does not say what is cached: write { mode = \"read-only\" }".into());
    }
    mode.map(|_| cache)
}

/// A layout for this many disks.
fn read_layout(reader: &mut Reader<'_>, key: &str, item: &Item<'_>, disks: usize) -> Option<Layout> {
    let disks = u32::try_from(disks).expect("an environment has few disks");
    let (layout, needed) = if item.get_ref().as_table().is_none() {
        reader.word(key, item, &[("single", ())], &format!(", {LAYOUT_WANTED}"))?;
        (Layout::Single, 1)
    } else {
        let found = reader.table(key, item, &["stripe", "mirror", "stripe_of_mirrors"], LAYOUT_WANTED)?;
        let [(name, value)] = found[..] else {
            reader.problem(item.span(), key, format!("is not one layout: write \"single\", {LAYOUT_WANTED}"));
            return None;
        };
        let inner = nested(key, name);
        match name {
            "mirror" => {
                let copies = reader.count_u32(&inner, value, u32::MAX)?;
                (Layout::Mirror { copies }, copies)
            }
            "stripe" => {
                let (columns, _, interleave) = read_columns(reader, &inner, value, false)?;
                let columns = columns.unwrap_or(disks);
                (Layout::Stripe { columns, interleave }, columns)
            }
            _ => {
                let (columns, copies, interleave) = read_columns(reader, &inner, value, true)?;
                let copies = copies.unwrap_or(2);
                let columns = columns.unwrap_or(disks / copies.max(1));
                (Layout::StripeOfMirrors { columns, copies, interleave }, columns.saturating_mul(copies))
            }
        }
    };
    if needed != disks {
        let message = format!("needs {needed} disk{}, and the volume has {disks}", if needed == 1 { "" } else { "s" });
        reader.problem(item.span(), key, message);
        return None;
    }
    if let Layout::Mirror { copies: 1 } | Layout::StripeOfMirrors { copies: 1, .. } = layout {
        reader.problem(item.span(), key, "is a mirror of one disk: write at least 2".into());
        return None;
    }
    Some(layout)
}

/// An interleave longer than the smallest disk fits on no disk: the volume would be empty.
fn tell_too_long(
    reader: &mut Reader<'_>,
    key: &str,
    item: &Item<'_>,
    layout: Layout,
    smallest: Option<Bytes>,
) -> Option<()> {
    let (Layout::Stripe { interleave, .. } | Layout::StripeOfMirrors { interleave, .. }) = layout else {
        return Some(());
    };
    let Some(smallest) = smallest.filter(|smallest| interleave > *smallest) else { return Some(()) };
    let (name, stripe) = entries(item.get_ref().as_table()?).into_iter().next()?;
    let written = stripe.get_ref().as_table().and_then(|table| table.get("interleave"));
    let key = nested(&nested(key, name.get_ref()), "interleave");
    let message = format!(
        "is {interleave}, and the smallest disk has {smallest}: no piece fits on it; write a small part of the disk, such as \"256 KiB\""
    );
    reader.problem(written.unwrap_or(stripe).span(), &key, message);
    None
}

/// Columns, copies and the interleave, by default 256 KiB.
fn read_columns(
    reader: &mut Reader<'_>,
    key: &str,
    item: &Item<'_>,
    of_mirrors: bool,
) -> Option<(Option<u32>, Option<u32>, Bytes)> {
    reader.fields(key, item, "{ columns = 4, interleave = \"256 KiB\" }", |t| {
        let columns = t.strict("columns", Reader::positive);
        let copies = if of_mirrors { t.strict("copies", Reader::positive) } else { None };
        let interleave = t.strict("interleave", |reader, key, item| {
            let interleave = Bytes::read(reader, key, item)?;
            if interleave == Bytes::ZERO || !interleave.get().is_multiple_of(SECTOR.get()) {
                reader.problem(item.span(), key, "is not a multiple of 512 B above 0".into());
                return None;
            }
            Some(interleave)
        });
        (columns, copies, interleave.unwrap_or(Bytes::kib(256)))
    })
}

/// A provider's machines only accept that provider's disks.
fn tell_foreign(reader: &mut Reader<'_>, top: &DeTable<'_>, vm: Option<&VmFigures>, volumes: &[EnvironmentVolume]) {
    let Some(vm) = vm.filter(|vm| !vm.name.is_empty()) else { return };
    let provider = |name: &str| name.split_once('/').map(|(provider, _)| provider.to_owned());
    let place = top.get("vm").map_or(0..0, Item::span);
    for volume in volumes {
        let foreign =
            volume.disks.iter().find(|disk| !disk.name.is_empty() && provider(&disk.name) != provider(&vm.name));
        if let Some(disk) = foreign {
            let message = format!(
                "{} is another provider's than {} of volume {}: write one of the same",
                vm.name, disk.name, volume.name
            );
            reader.problem(place.clone(), "vm", message);
        }
    }
}

/// A machine has a limit on data disks.
fn tell_too_many(reader: &mut Reader<'_>, top: &DeTable<'_>, vm: Option<&VmFigures>, volumes: &[EnvironmentVolume]) {
    let Some((vm, most)) = vm.and_then(|vm| vm.disks_max.map(|most| (vm, most))) else { return };
    let disks = volumes.iter().flat_map(|volume| &volume.disks);
    let count = disks.filter(|disk| disk.limits.mechanism.place == Place::Network).count();
    if count > usize::try_from(most).expect("a u32 is a usize") {
        let name = if vm.name.is_empty() { "this machine" } else { &vm.name };
        let place = top.get("vm").map_or(0..0, Item::span);
        reader.problem(place, "vm", format!("{name} takes {most} data disks, and the volumes have {count}"));
    }
}

/// Some machines cannot have disks of some families.
fn tell_not_taken(reader: &mut Reader<'_>, top: &DeTable<'_>, vm: Option<&VmFigures>, volumes: &[EnvironmentVolume]) {
    let Some(vm) = vm.filter(|vm| !vm.takes_no.is_empty()) else { return };
    for volume in volumes {
        if let Some(disk) = volume.disks.iter().find(|disk| vm.takes_no.contains(&disk.family)) {
            let message = format!(
                "{} takes no disks of the family {}, and volume {} has {}: write another size or another disk",
                vm.name, disk.family, volume.name, disk.name
            );
            reader.problem(top.get("vm").map_or(0..0, Item::span), "vm", message);
        }
    }
}

/// Hosts of some machines cache no disks.
fn tell_not_cached(reader: &mut Reader<'_>, top: &DeTable<'_>, vm: Option<&VmFigures>, volumes: &[EnvironmentVolume]) {
    let Some(vm) = vm.filter(|vm| vm.caches_none) else { return };
    for volume in volumes.iter().filter(|volume| volume.host_cache.mode != HostCache::None) {
        let message = format!(
            "hosts of {} cache no disks, and volume {} is cached: write another size, or host_cache = \"none\"",
            vm.name, volume.name
        );
        reader.problem(top.get("vm").map_or(0..0, Item::span), "vm", message);
    }
}

/// The shared budgets of disks of one name: by their total size, and by the machine's total.
pub(super) fn pools(catalog: &Catalog, vm: Option<&VmFigures>, volumes: &[EnvironmentVolume]) -> Vec<Pool> {
    let disks: Vec<&DiskFigures> = volumes.iter().flat_map(|volume| &volume.disks).collect();
    let names: BTreeSet<&str> = disks.iter().map(|disk| disk.name.as_str()).filter(|name| !name.is_empty()).collect();
    let mut pools = Vec::new();
    for name in names {
        let Ok(entry) = catalog.disk_entry(name) else { continue };
        let family = catalog.disk_family(entry);
        let alike = || disks.iter().filter(|disk| disk.name == name && !disk.is_by_iops);
        // One device in the host shares with none.
        if family.mechanism.shared_by_type && (family.mechanism.place == Place::Network || alike().count() > 1) {
            let sold = |disk: &&DiskFigures| match entry.size {
                SizeRule::Fixed(size) => Some(size),
                SizeRule::Chosen { .. } | SizeRule::Unknown => disk.size,
            };
            let sizes = alike().filter_map(sold);
            let total = Bytes::new(sizes.map(Bytes::get).fold(0, u64::saturating_add));
            if alike().next().is_some()
                && let Ok(figures) = entry.total(family, total)
            {
                let (name, disks) = (name.to_owned(), name.to_owned());
                pools.push(Pool { name, disks, limits: figures.limits, is_allowance: false });
            }
        }
        if let Some((vm, (_, limits))) = vm.and_then(|vm| Some((vm, vm.caps.iter().find(|(of, _)| of == name)?))) {
            let (limits, name, disks) = (limits.clone(), format!("{name} of {}", vm.name), name.to_owned());
            pools.push(Pool { name, disks, limits, is_allowance: true });
        }
    }
    pools
}
