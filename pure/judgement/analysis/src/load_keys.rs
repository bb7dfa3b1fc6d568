//! A load key by key: which loads are one, and in which words others are told apart.

mod key_words;

use key_words::{missing, plainly, said, words_of_plan, words_of_tables};
use loadline_load::Arrival;
use loadline_record::{Access, CellRecord, Load};
use loadline_units::Duration;
use loadline_units::words::listed;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What of a load a plan names by a key, in the order in which a person names them. Keys that are not known come before the
/// circumstances.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the key of that name in a plan")]
pub enum LoadKey {
    Pattern,
    Reads,
    Trims,
    Size,
    /// In place of a size.
    SizeShare,
    /// Threads that begin apart.
    Staggered,
    Blocks,
    Align,
    Start,
    Files,
    /// Requests after which a thread goes to its next file.
    InTurn,
    /// The share of requests that go on from the last.
    Continued,
    /// Zones and the gaps between them.
    Zones,
    Walk,
    Overlap,
    Flush,
    EndFlush,
    Buffered,
    Compressible,
    Duplicate,
    Verify,
    Arrival,
    RateMax,
    ThinkTime,
    Threads,
    QueueDepth,
    Rate,
    /// Pattern, mean block size and the page cache as tables have them: every name has them.
    Tables,
    /// The loads that ran at the same time.
    Beside,
    /// One that another version stored.
    Other(String),
    DropCaches,
    Volume,
    Passes,
    WarmUp,
    SteadyState,
    Duration,
    CoolDown,
    Fill,
    Objective,
    Name,
    Trials,
    Pause,
    HangLimit,
    BestOfTrials,
}

/// Circumstances by how much they say of a load: the later ones count only where cells differ in none of the earlier ones.
const TELLING: [&[LoadKey]; 3] = [
    &[
        LoadKey::DropCaches,
        LoadKey::Volume,
        LoadKey::Passes,
        LoadKey::WarmUp,
        LoadKey::SteadyState,
        LoadKey::Duration,
        LoadKey::CoolDown,
        LoadKey::Fill,
        LoadKey::Objective,
    ],
    &[LoadKey::Name],
    &[LoadKey::Trials, LoadKey::Pause, LoadKey::HangLimit, LoadKey::BestOfTrials],
];

impl LoadKey {
    /// Every one that this version knows.
    const KNOWN: [Self; 43] = [
        Self::Pattern,
        Self::Reads,
        Self::Trims,
        Self::Size,
        Self::SizeShare,
        Self::Staggered,
        Self::Blocks,
        Self::Align,
        Self::Start,
        Self::Files,
        Self::InTurn,
        Self::Continued,
        Self::Zones,
        Self::Walk,
        Self::Overlap,
        Self::Flush,
        Self::EndFlush,
        Self::Buffered,
        Self::Compressible,
        Self::Duplicate,
        Self::Verify,
        Self::Arrival,
        Self::RateMax,
        Self::ThinkTime,
        Self::Threads,
        Self::QueueDepth,
        Self::Rate,
        Self::Tables,
        Self::Beside,
        Self::DropCaches,
        Self::Volume,
        Self::Passes,
        Self::WarmUp,
        Self::SteadyState,
        Self::Duration,
        Self::CoolDown,
        Self::Fill,
        Self::Objective,
        Self::Name,
        Self::Trials,
        Self::Pause,
        Self::HangLimit,
        Self::BestOfTrials,
    ];

    /// As it is stored; the parts of an arrival and of contents behind a dot.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Pattern => "pattern",
            Self::Reads => "reads",
            Self::Trims => "trims",
            Self::Size => "size",
            Self::SizeShare => "size_share",
            Self::Staggered => "staggered",
            Self::Blocks => "blocks",
            Self::Align => "align",
            Self::Start => "start",
            Self::Files => "files",
            Self::InTurn => "in_turn",
            Self::Continued => "continued",
            Self::Zones => "zones",
            Self::Walk => "walk",
            Self::Overlap => "overlap",
            Self::Flush => "flush",
            Self::EndFlush => "end_flush",
            Self::Buffered => "buffered",
            Self::Compressible => "content.compressible",
            Self::Duplicate => "content.duplicate",
            Self::Verify => "verify",
            Self::Arrival => "arrival",
            Self::RateMax => "arrival.rate_max",
            Self::ThinkTime => "arrival.think_time",
            Self::Threads => "threads",
            Self::QueueDepth => "arrival.queue_depth",
            Self::Rate => "arrival.rate",
            Self::Tables => "",
            Self::Beside => "beside",
            Self::DropCaches => "drop_caches",
            Self::Volume => "volume",
            Self::Passes => "passes",
            Self::WarmUp => "warm_up",
            Self::SteadyState => "steady_state",
            Self::Duration => "duration",
            Self::CoolDown => "cool_down",
            Self::Fill => "fill",
            Self::Objective => "objective",
            Self::Name => "name",
            Self::Trials => "trials",
            Self::Pause => "pause",
            Self::HangLimit => "hang_limit",
            Self::BestOfTrials => "best_of_trials",
            Self::Other(name) => name,
        }
    }

    fn of(name: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|key| key.name() == name && *key != Self::Tables);
        known.unwrap_or_else(|| Self::Other(name.to_owned()))
    }

    /// How much is asked at once: what curves are drawn along.
    const fn is_amount(&self) -> bool {
        matches!(self, Self::QueueDepth | Self::Rate | Self::Threads)
    }

    /// How a trial is prepared, how long it lasts and by what it is judged. Cells of one load often differ in that, those at the
    /// knee being measured for longer. It is part of a load only where it is varied.
    fn is_circumstance(&self) -> bool {
        TELLING.iter().any(|keys| keys.contains(self))
    }
}

/// The keys of a load with their values; a key without a value is not there. What is stored of a load is here whether this file
/// knows its key or not: a key that is new tells loads apart from the day on which it is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadKeys {
    values: BTreeMap<LoadKey, Value>,
    /// Of the keys that this version knows.
    words: BTreeMap<LoadKey, KeyWords>,
    is_sequential: bool,
    is_closed: bool,
}

/// A key's value in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyWords {
    /// The words.
    pub text: String,
    /// Whether it says that something is not there: a name may leave that out where others say that it is.
    pub is_absence: bool,
}

impl LoadKeys {
    /// Of a load. What its specification lacks, the figures of tables have.
    #[must_use]
    pub fn of(load: &Load) -> Self {
        let figures = load.figures();
        let mut values = flat(&load.spec_stored());
        // What was recorded of a load is so whatever a specification says.
        values.extend([
            (LoadKey::Reads, json!(figures.read_ratio)),
            (LoadKey::Threads, json!(figures.threads)),
            (LoadKey::QueueDepth, json!(figures.queue_depth)),
            (LoadKey::Tables, json!([figures.pattern, figures.block_bytes, figures.buffered])),
        ]);
        let rate = if figures.queue_depth.is_some() { LoadKey::RateMax } else { LoadKey::Rate };
        let of_tables = [
            (LoadKey::Pattern, json!(figures.pattern)),
            (LoadKey::Blocks, json!(figures.block_bytes)),
            (LoadKey::Size, json!(figures.size_bytes)),
            (LoadKey::Flush, json!(figures.flush_every)),
            (LoadKey::Buffered, json!(figures.buffered)),
            (LoadKey::Arrival, json!(figures.arrival)),
            (rate, json!(figures.rate_iops)),
            (LoadKey::Duration, json!(figures.duration_ns)),
            (LoadKey::Objective, json!(figures.objective)),
        ];
        for (key, value) in of_tables {
            values.entry(key).or_insert(value);
        }
        // An open loop has no think time at all.
        let think = load.spec().map(|spec| &spec.arrival);
        let thinks = !matches!(think, Some(Arrival::Closed { think_time: Duration::ZERO, .. }));
        values.retain(|key, value| !value.is_null() && (thinks || *key != LoadKey::ThinkTime));
        let mut words = words_of_tables(&figures);
        words.extend(load.spec().into_iter().flat_map(words_of_plan));
        Self {
            values,
            words,
            is_sequential: figures.pattern == Access::Sequential,
            is_closed: figures.queue_depth.is_some(),
        }
    }

    /// Of a cell: its load, and those that ran beside it.
    #[must_use]
    pub fn of_cell(cell: &CellRecord) -> Self {
        let mut keys = Self::of(&cell.load);
        if !cell.beside.is_empty() {
            let loads: Vec<&str> = cell.beside.iter().map(|load| load.load.as_str()).collect();
            let named: Vec<String> = cell.beside.iter().map(|load| load.words().to_owned()).collect();
            keys.values.insert(LoadKey::Beside, json!(loads));
            keys.words.insert(LoadKey::Beside, said(format!("beside {}", listed(&named))));
        }
        keys
    }

    /// A key's value as it is stored: loads are one where all of these are alike.
    #[must_use]
    pub fn value(&self, key: &LoadKey) -> &Value {
        self.values.get(key).unwrap_or(&Value::Null)
    }

    /// A key's value in words.
    #[must_use]
    pub fn words(&self, key: &LoadKey) -> KeyWords {
        if self.value(key).is_null() {
            return missing(key);
        }
        self.words.get(key).cloned().unwrap_or_else(|| plainly(key, self.value(key)))
    }

    /// What two cells must share to be on one curve, with the keys that `told` holds for. Sequential threads are streams of their
    /// own, so their number is part of it. A load is one whether its requests wait for answers or come by themselves.
    fn curve(&self, told: impl Fn(&LoadKey) -> bool) -> String {
        let streams = self.is_sequential;
        let is_part =
            |key: &LoadKey| *key == LoadKey::Threads && streams || !key.is_amount() && *key != LoadKey::Arrival;
        let parts: BTreeMap<&LoadKey, &Value> =
            self.values.iter().filter(|(key, _)| is_part(key) && told(key)).collect();
        format!("{parts:?}")
    }
}

/// A specification key by key, as it is stored.
fn flat(spec: &Value) -> BTreeMap<LoadKey, Value> {
    let mut keys = BTreeMap::new();
    for (name, value) in spec.as_object().into_iter().flatten() {
        match (LoadKey::of(name), value) {
            (LoadKey::Arrival, Value::Object(ways)) => {
                for (way, fields) in ways {
                    keys.insert(LoadKey::Arrival, json!(way));
                    keys.extend(parts(name, fields));
                }
            }
            (LoadKey::Other(_), Value::Object(_)) if name == "content" => keys.extend(parts(name, value)),
            (key, value) => {
                keys.insert(key, value.clone());
            }
        }
    }
    keys
}

fn parts(name: &str, fields: &Value) -> impl Iterator<Item = (LoadKey, Value)> {
    let fields = fields.as_object().into_iter().flatten();
    fields.map(move |(field, value)| (LoadKey::of(&format!("{name}.{field}")), value.clone()))
}

/// What makes the cells of a run, or of several beside each other, different loads apart from how much they ask for at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadsApart {
    /// Circumstances that are varied.
    varied: BTreeSet<LoadKey>,
}

impl LoadsApart {
    /// Of cells, each with the name of its volume and of its run. What circumstances are varied, cells show that differ in nothing
    /// else.
    #[must_use]
    pub fn of<'a>(cells: impl Iterator<Item = (String, &'a LoadKeys)>) -> Self {
        let mut same: BTreeMap<String, Vec<&LoadKeys>> = BTreeMap::new();
        for (place, keys) in cells {
            let rest: BTreeMap<&LoadKey, &Value> =
                keys.values.iter().filter(|(key, _)| !key.is_circumstance()).collect();
            same.entry(format!("{place:?} {rest:?}")).or_default().push(keys);
        }
        let mut varied = BTreeSet::new();
        for cells in same.values() {
            let differ = |key: &&LoadKey| cells.iter().any(|other| other.value(key) != cells[0].value(key));
            let of_each = TELLING.iter().map(|keys| keys.iter().filter(differ).collect::<Vec<_>>());
            let telling = of_each.into_iter().find(|keys| !keys.is_empty());
            varied.extend(telling.into_iter().flatten().cloned());
        }
        Self { varied }
    }

    /// Whether a difference in this key makes another load.
    #[must_use]
    pub fn holds(&self, key: &LoadKey) -> bool {
        !key.is_amount() && (!key.is_circumstance() || self.varied.contains(key))
    }
}

/// What a load is within its run. Cells that differ in nothing but how much is asked at once have the same. Sentences are made with
/// it, and it is not printed: a summary that is read again lacks it, and is the same summary.
#[derive(Debug, Clone, Default)]
pub struct LoadIdentity {
    /// Everything but its reads.
    apart_from_reads: String,
    reads: String,
    /// What tells it from others of its volume that have the same name.
    pub(crate) told: Vec<String>,
}

impl PartialEq for LoadIdentity {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl LoadIdentity {
    /// What all points of a curve share.
    pub(crate) fn curve(&self) -> (&str, &str) {
        (&self.apart_from_reads, &self.reads)
    }
    /// The same of loads that may differ in their share of reads.
    pub(crate) fn is_like_apart_from_reads(&self, other: &Self) -> bool {
        self.apart_from_reads == other.apart_from_reads
    }
    /// Of the cells of a run, each with what it is called without.
    pub(crate) fn all(cells: &[CellRecord], names: &[String]) -> Vec<Self> {
        let keys: Vec<LoadKeys> = cells.iter().map(LoadKeys::of_cell).collect();
        let apart = LoadsApart::of(cells.iter().map(|cell| cell.volume.clone()).zip(&keys));
        let mut all: Vec<Self> = keys
            .iter()
            .zip(cells)
            .map(|(keys, cell)| Self {
                apart_from_reads: format!(
                    "{:?} {}",
                    cell.volume,
                    keys.curve(|key| *key != LoadKey::Reads && (apart.holds(key) || *key == LoadKey::Threads))
                ),
                reads: keys.value(&LoadKey::Reads).to_string(),
                told: Vec::new(),
            })
            .collect();
        let mut namesakes: BTreeMap<(&String, &String), Vec<usize>> = BTreeMap::new();
        for (index, (cell, name)) in cells.iter().zip(names).enumerate() {
            namesakes.entry((&cell.volume, name)).or_default().push(index);
        }
        for places in namesakes.values() {
            let group: Vec<&LoadKeys> = places.iter().map(|place| &keys[*place]).collect();
            let streams = group.iter().all(|keys| keys.is_sequential);
            let told = told_apart(&group, |key| apart.holds(key) || *key == LoadKey::Threads && streams);
            for (place, told) in places.iter().zip(told) {
                all[*place].told = told;
            }
        }
        all
    }
}

/// For each of some loads the words for the keys, of those that `is_told` holds for, in which they are not all alike.
#[must_use]
pub fn told_apart(loads: &[&LoadKeys], is_told: impl Fn(&LoadKey) -> bool) -> Vec<Vec<String>> {
    let mut told = vec![Vec::new(); loads.len()];
    if loads.len() < 2 {
        return told;
    }
    for key in spoken_keys(loads).into_iter().filter(|key| is_told(key)) {
        // Closed loops have no way of arriving that could be another.
        let ways = |keys: &&&LoadKeys| key != LoadKey::Arrival || !keys.is_closed;
        let values: BTreeSet<String> = loads.iter().filter(ways).map(|keys| keys.value(&key).to_string()).collect();
        if values.len() < 2 {
            continue;
        }
        for (words, told) in distinct_words(loads, &key).into_iter().zip(&mut told) {
            told.extend((!words.is_absence).then_some(words.text));
        }
    }
    told
}

/// Every key that one of some loads has, in the order in which a person names them.
#[must_use]
pub fn spoken_keys(loads: &[&LoadKeys]) -> Vec<LoadKey> {
    let all: BTreeSet<&LoadKey> = loads.iter().flat_map(|keys| keys.values.keys()).collect();
    all.into_iter().filter(|key| **key != LoadKey::Tables).cloned().collect()
}

/// The words for a key of each of some loads. Words that do not tell different values apart give way to the values themselves.
#[must_use]
pub fn distinct_words(loads: &[&LoadKeys], key: &LoadKey) -> Vec<KeyWords> {
    let mut known: BTreeMap<String, &Value> = BTreeMap::new();
    let unclear = loads.iter().any(|keys| {
        let value = keys.value(key);
        *known.entry(keys.words(key).text).or_insert(value) != value
    });
    let of = |keys: &&LoadKeys| if unclear { plainly(key, keys.value(key)) } else { keys.words(key) };
    loads.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::curves;
    use crate::example::{ExampleDisk, cell, change, closed, other_loads, planned, run};
    use crate::words::load_name;
    use crate::{CellSummary, summarize};
    use loadline_load::LoadSpec;
    use loadline_record::LoadFigures;

    /// A load at three depths, and another beside it.
    fn beside(other: &dyn Fn(&mut CellRecord)) -> (Vec<CellRecord>, Vec<CellSummary>) {
        let of = |depth| cell(stored_load(depth), &ExampleDisk::default(), &[1.0]);
        let mut cells: Vec<CellRecord> = [1, 8, 32, 1, 8, 32].map(of).into();
        for cell in &mut cells {
            cell.load = LoadSpec { objective: None, ..planned(&cell.load.figures()) }.into();
        }
        cells[3..].iter_mut().for_each(other);
        let summary = summarize(&run(cells.clone()));
        (cells, summary.cells)
    }

    fn stored_load(depth: u32) -> LoadFigures {
        closed("random", 0.5, 34 << 10, depth)
    }

    #[test]
    fn loads_that_differ_in_any_one_key_are_two_curves_with_two_names() {
        for (pointer, value) in other_loads() {
            let (records, cells) = beside(&|cell| {
                change(cell, |spec| *spec.pointer_mut(pointer).expect(pointer) = value.clone());
            });
            // What holds itself back is on no curve.
            let is_paced = pointer.ends_with("rate_max");
            assert_eq!(curves(&records, &cells).len(), if is_paced { 1 } else { 2 }, "{pointer}: {value}");
            let names: BTreeSet<String> = cells.iter().map(load_name).collect();
            assert_eq!(names.len(), 2, "{pointer}: {value}: {names:?}");
        }
    }

    #[test]
    fn a_key_that_nobody_foresaw_tells_loads_apart_too() {
        for place in ["", "/arrival/closed", "/content", "/pattern"] {
            let (records, cells) = beside(&|cell| {
                change(cell, |spec| {
                    let fields = spec.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
                    fields.insert("brand_new".to_owned(), json!("90 %"));
                });
            });
            assert_eq!(curves(&records, &cells).len(), 2, "{place}");
            assert_ne!(load_name(&cells[0]), load_name(&cells[3]), "{place}");
        }
    }

    #[test]
    fn loads_that_are_one_keep_their_short_name() {
        let (records, cells) = beside(&|_| ());
        assert_eq!(curves(&records, &cells).len(), 1);
        assert!(cells.iter().all(|cell| load_name(cell) == "random 34 KiB requests (50 % reads)"));
    }

    #[test]
    fn what_makes_a_cell_longer_at_one_depth_alone_makes_no_other_load() {
        let (records, cells) = beside(&|cell| {
            let mut figures = cell.load.figures();
            figures.queue_depth = figures.queue_depth.map(|depth| depth * 100);
            let (duration, name) = (Duration::from_s(120), Some("deep".to_owned()));
            cell.load = LoadSpec { duration, name, ..planned(&figures) }.into();
        });
        assert_eq!(curves(&records, &cells).len(), 1);
        assert!(cells.iter().all(|cell| load_name(cell) == "random 34 KiB requests (50 % reads)"));
    }

    #[test]
    fn names_tell_what_differs_in_the_words_of_the_plan() {
        let name = |pointer: &str, value: Value| {
            let (_, cells) = beside(&|cell| {
                change(cell, |spec| *spec.pointer_mut(pointer).expect("a key") = value.clone());
            });
            [load_name(&cells[0]), load_name(&cells[3])].map(|name| name.replace("random 34 KiB requests ", ""))
        };
        let zipf = json!({"random": {"zipf": {"theta_milli": 1200}}});
        assert_eq!(name("/pattern", zipf), ["(50 % reads, uniform)", "(50 % reads, zipf 1.2)"]);
        let flush = json!({"every": 1, "how": "fdatasync"});
        assert_eq!(name("/flush", flush), ["(50 % reads)", "(50 % reads, fdatasync every 1)"]);
        let compressible = ["(50 % reads, 0 % compressible)", "(50 % reads, 90 % compressible)"];
        assert_eq!(name("/content/compressible", json!("90 %")), compressible);
    }
}
