//! Reads prices: those of an entry, and price lists by region.

use super::{Charge, CommitmentShare, CommitmentTerm, Price, PriceColumns, Priced};
use crate::entry::Family;
use crate::text_bounds::{self, NameKind};
use loadline_document::{Item, Reader, entries, kind, nested};
use loadline_units::Ratio;
use std::collections::BTreeSet;
use toml::de::DeTable;

const CHARGE_WANTED: &str = "\"135.17 USD per month\" or a list such as [\"0.08 USD per GiB-month\", \"0.005 USD per IOPS-month above 3000 IOPS\"]";
const PRICE_WANTED: &str =
    "{ amount = \"19.71 USD per month\", region = \"eastus\", date = \"2026-09\", source = ... }";

/// `price` of an entry: one, or a list with one for each region.
pub(crate) fn of_entry(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<Price>> {
    reader.values(key, item).into_iter().map(|item| price(reader, key, item)).collect()
}

fn price(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Price> {
    let (charges, region, [date, terms, source]) = reader.fields(key, item, PRICE_WANTED, |t| {
        let charges = t.strict("amount", amount);
        let region = t.strict("region", |reader, key, item| NameKind::REGION.read(reader, key, item));
        (charges, region, ["date", "terms", "source"].map(|name| t.strict(name, text_bounds::text)))
    })?;
    let (Some(charges), Some(source)) = (charges, source) else {
        reader.problem(item.span(), key, format!("is no price with its source: write {PRICE_WANTED}"));
        return None;
    };
    Some(Price { charges, region, date, terms, source, fetched: None })
}

/// One charge or several.
fn amount(reader: &mut Reader<'_>, key: &str, item: &Item<'_>) -> Option<Vec<Charge>> {
    let mut charges: Vec<Charge> = Vec::new();
    for value in reader.values(key, item) {
        let Some(text) = value.get_ref().as_str() else {
            let message = format!("is {}: write {CHARGE_WANTED}", kind(value.get_ref()));
            reader.problem(value.span(), key, message);
            return None;
        };
        match text.parse::<Charge>() {
            Ok(charge) => charges.push(charge),
            Err(error) => {
                reader.problem(value.span(), key, format!("{text:?} {error}: write {CHARGE_WANTED}"));
                return None;
            }
        }
    }
    let currency = charges.first()?.money.currency;
    if let Some(other) = charges.iter().find(|charge| charge.money.currency != currency) {
        let message = format!("mixes {currency} and {}: write a price for each", other.money.currency);
        reader.problem(item.span(), key, message);
        return None;
    }
    Some(charges)
}

/// `[region.NAME]` of a file of prices: names with their amounts. Source and date are the file's.
pub(crate) fn lists(reader: &mut Reader<'_>, top: &DeTable<'_>, family: &Family, index: usize) -> Vec<Priced> {
    let mut found = Vec::new();
    let terms = top.get("terms").and_then(|item| text_bounds::text(reader, "terms", item));
    let fetched = top.get("update").and_then(|item| fetched(reader, item));
    let Some(item) = top.get("region") else {
        if top.get("price").is_none() {
            let message =
                "is missing: write [region.NAME] and below it names with what they cost, or regions and [price]";
            reader.problem(0..0, "region", message.into());
        }
        return found;
    };
    let Some(regions) = item.get_ref().as_table() else {
        let message = format!("is {}: write [region.NAME]", kind(item.get_ref()));
        reader.problem(item.span(), "region", message);
        return found;
    };
    for (name, item) in entries(regions) {
        let region: &str = name.get_ref();
        let key = nested("region", region);
        if !NameKind::REGION.is_kept(reader, name.span(), &key, region) {
            continue;
        }
        let Some(names) = item.get_ref().as_table() else {
            let message = format!("is {}: write names with what they cost", kind(item.get_ref()));
            reader.problem(item.span(), &key, message);
            continue;
        };
        for (name, value) in entries(names) {
            let name: &str = name.get_ref();
            let Some(charges) = amount(reader, &nested(&key, name), value) else { continue };
            let price = Price {
                charges,
                region: Some(region.to_owned()),
                date: family.date.clone(),
                terms: terms.clone(),
                source: family.source.clone(),
                fetched: fetched.clone(),
            };
            let name = format!("{}/{name}", family.provider);
            found.push(Priced { name, price, family: index, line: reader.line_of(value), is_listed: true });
        }
    }
    found
}

/// `[share]` of a file of commitments: kinds of machines with what they cost for each term, in parts of their list price.
pub(crate) fn commitments(
    reader: &mut Reader<'_>,
    top: &DeTable<'_>,
    family: &Family,
    index: usize,
) -> Vec<CommitmentShare> {
    const WANTED: &str = "m5 = { 1y = \"63 %\", 3y = \"43 %\" }";
    let mut found = Vec::new();
    let terms = top.get("terms").and_then(|item| text_bounds::text(reader, "terms", item));
    let Some(item) = top.get("share") else {
        reader.problem(0..0, "share", format!("is missing: write [share] and below it {WANTED}"));
        return found;
    };
    let Some(kinds) = item.get_ref().as_table() else {
        reader.problem(
            item.span(),
            "share",
            format!("is {}: write [share] and below it {WANTED}", kind(item.get_ref())),
        );
        return found;
    };
    for (machines, item) in entries(kinds) {
        let key = nested("share", machines.get_ref());
        let shares = reader.fields(&key, item, WANTED, |t| {
            CommitmentTerm::ALL.map(|term| (term, t.strict(term.name(), Reader::quantity::<Ratio>)))
        });
        for (term, share) in shares.into_iter().flatten() {
            let (provider, machines) = (family.provider.clone(), machines.get_ref().to_string());
            let terms = terms.clone();
            found.extend(share.map(|share| CommitmentShare { provider, machines, term, share, terms, family: index }));
        }
    }
    found
}

/// When an update read the list. The rest of `[update]` is for people.
fn fetched(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<String> {
    reader.fields("update", item, "{ fetched = \"2026-11-28T12:00:00Z\", ... }", |t| {
        for name in ["blake3", "loadline", "kept", "left_out"] {
            t.item(name);
        }
        t.get("fetched", text_bounds::text)
    })?
}

const COLUMNS_WANTED: &str =
    "per = \"USD per hour\", regions = [\"eu-west-1\", \"us-east-1\"] and below [price] \"m5.large\" = \"0.107 0.096\"";

/// `[price]` of a file of prices: names with an amount for each of `regions`, each of what `per` says.
pub(crate) fn columns(
    reader: &mut Reader<'_>,
    top: &DeTable<'_>,
    family: &Family,
    index: usize,
) -> Option<PriceColumns> {
    let item = top.get("price")?;
    let (Some(per), Some(regions)) = (top.get("per"), top.get("regions")) else {
        reader.problem(item.span(), "price", format!("has no columns: write {COLUMNS_WANTED}"));
        return None;
    };
    let unit = text_bounds::text(reader, "per", per)?;
    if format!("1 {unit}").parse::<Charge>().is_err() {
        reader.problem(per.span(), "per", format!("{unit:?} is no currency and unit: write {COLUMNS_WANTED}"));
        return None;
    }
    let regions =
        reader.values("regions", regions).into_iter().map(|item| NameKind::REGION.read(reader, "regions", item));
    let regions: Vec<String> = regions.collect::<Option<_>>()?;
    let mut seen = BTreeSet::new();
    if let Some(twice) = regions.iter().find(|name| !seen.insert(name.as_str())) {
        reader.problem(per.span(), "regions", format!("has {twice:?} twice: write each once"));
        return None;
    }
    let Some(names) = item.get_ref().as_table() else {
        reader.problem(item.span(), "price", format!("is {}: write {COLUMNS_WANTED}", kind(item.get_ref())));
        return None;
    };
    let terms = top.get("terms").and_then(|item| text_bounds::text(reader, "terms", item));
    let small = top.get("small_regions").map(|item| reader.values("small_regions", item)).unwrap_or_default();
    let small = small.into_iter().filter_map(|item| NameKind::REGION.read(reader, "small_regions", item)).collect();
    let mut found = PriceColumns::new(family, index, terms, unit, regions, small);
    for (name, value) in entries(names) {
        let (key, line) = (nested("price", name.get_ref()), reader.line_of(value));
        let Some(cells) = reader.text(&key, value) else { continue };
        if let Err(error) = found.add(name.get_ref(), line, &cells) {
            reader.problem(value.span(), &key, error.to_string());
        }
    }
    Some(found)
}
