//! Reads what machines are sold with: numbers of processors by pattern, and memory.

use crate::entry::Sold;
use crate::parts::Readable;
use crate::text_bounds::NameKind;
use loadline_document::{Item, Reader, entries, kind, nested};
use loadline_units::Bytes;
use toml::de::DeTable;

/// Patterns of machines with the numbers of processors that are sold.
pub(crate) fn sold(reader: &mut Reader<'_>, item: &Item<'_>) -> Vec<Sold> {
    let Some(table) = item.get_ref().as_table() else {
        reader.problem(item.span(), "sold", "is no table: write [sold] and below it \"n2-standard-#\" = [2, 4]".into());
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in entries(table) {
        let machines: &str = key.get_ref();
        let inner = nested("sold", machines);
        if machines.split('-').filter(|word| *word == "#").count() != 1 {
            let message = "names no place for the number of processors: write # for it, as in \"n2-standard-#\"";
            reader.problem(key.span(), &inner, message.into());
        } else if !NameKind::PATTERN.is_kept(reader, key.span(), &inner, machines) {
            continue;
        }
        let values = reader.values(&inner, value);
        let vcpus = values.into_iter().filter_map(|value| reader.count_u32(&inner, value, u32::MAX)).collect();
        found.push(Sold { machines: machines.to_owned(), vcpus });
    }
    found
}

/// The memory of machines, by their names without the provider.
pub(crate) fn read(reader: &mut Reader<'_>, top: &DeTable<'_>, provider: &str) -> Vec<(String, Bytes)> {
    let Some(item) = top.get("memory") else {
        reader.problem(0..0, "memory", "is missing: write [memory] and below it machines with their sizes".into());
        return Vec::new();
    };
    let Some(table) = item.get_ref().as_table() else {
        reader.problem(
            item.span(),
            "memory",
            format!("is {}: write [memory] with names below it", kind(item.get_ref())),
        );
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in entries(table) {
        let name: &str = key.get_ref();
        if let Some(size) = Bytes::read(reader, &nested("memory", name), value) {
            found.push((format!("{provider}/{name}"), size));
        }
    }
    found
}

/// Beginnings of the names of machines that have something in common.
pub(crate) fn beginnings(reader: &mut Reader<'_>, top: &DeTable<'_>, key: &str) -> Vec<String> {
    let Some(list) = top.get(key) else { return Vec::new() };
    reader.values(key, list).into_iter().filter_map(|item| NameKind::PATTERN.read(reader, key, item)).collect()
}
