//! Values of a load that say where its requests fall, in tables of their own: zones, gaps, threads that begin apart.

use loadline_document::{Item, Reader, kind, nested};
use loadline_load::{Distribution, Staggered, Zone, ZoneGaps};
use loadline_units::{Bytes, Ratio};

const ZONES_WANTED: &str =
    "{ zones = [{ requests = \"50 %\", blocks = \"5 %\" }, { requests = \"50 %\", blocks = \"95 %\" }] }";
const STAGGERED_WANTED: &str = "{ step = \"500 MiB\", length = \"2 GiB\" }, or the step alone";
const GAPS_WANTED: &str = "{ size = \"256 MiB\", skip = \"2 GiB\" }";

/// How far the threads of a sequential load begin apart, and how much each goes through.
pub(super) fn read_staggered(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Staggered> {
    let before = reader.problem_count();
    let (step, length) = reader.fields("staggered", item, STAGGERED_WANTED, |t| {
        (t.get("step", Reader::quantity), t.get("length", Reader::quantity))
    })?;
    if step.is_none() && reader.problem_count() == before {
        reader.problem(item.span(), "staggered", format!("has no step: write {STAGGERED_WANTED}"));
    }
    (reader.problem_count() == before).then_some(Staggered { step: step?, length })
}

/// Zones of a sequential load, and what is left out behind each.
pub(super) fn read_gaps(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<ZoneGaps> {
    let before = reader.problem_count();
    let sizes = reader.table("zones", item, &["size", "skip"], GAPS_WANTED)?;
    let mut of = |name: &str| {
        let found = sizes.iter().find(|(known, _)| *known == name);
        if found.is_none() && reader.problem_count() == before {
            reader.problem(item.span(), "zones", format!("has no {name}: write {GAPS_WANTED}"));
        }
        found.and_then(|(_, value)| reader.quantity::<Bytes>(&nested("zones", name), value))
    };
    Some(ZoneGaps { size: of("size")?, skip: of("skip")? })
}

/// A list of zones, each with its shares. The list is one value.
pub(super) fn read_zones(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<Distribution> {
    const KEY: &str = "distribution.zones";
    let before = reader.problem_count();
    let Some(list) = item.get_ref().as_array() else {
        reader.problem(item.span(), KEY, format!("is {}: write {ZONES_WANTED}", kind(item.get_ref())));
        return None;
    };
    let mut zones = Vec::new();
    for part in list {
        let [requests, blocks] = read_shares(reader, KEY, part, ZONES_WANTED)?;
        zones.extend(requests.zip(blocks).map(|(requests, blocks)| Zone { requests, blocks }));
    }
    (reader.problem_count() == before).then_some(Distribution::Zoned { zones })
}

/// Which share of the requests goes to which share of the blocks.
pub(super) fn read_shares(
    reader: &mut Reader<'_>,
    key: &str,
    item: &Item<'_>,
    wanted: &str,
) -> Option<[Option<Ratio>; 2]> {
    reader.fields(key, item, wanted, |t| {
        ["requests", "blocks"].map(|name| {
            if t.item(name).is_none() {
                t.reader.problem(item.span(), key, format!("has no {name}: write {wanted}"));
            }
            t.get(name, Reader::quantity)
        })
    })
}
