//! A load key by key, as it is stored: which loads are one, and in which words others are told apart.

use crate::words::{block, percent, seconds, size};
use loadline_record::{CellRecord, LoadSummary};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How much is asked at once: what curves are drawn along.
const AMOUNT: [&str; 3] = ["arrival.queue_depth", "arrival.rate", "threads"];
/// How requests arrive. A load is one whether its requests wait for answers or come by themselves.
const ARRIVAL: &str = "arrival";
/// Pattern, mean block size and the page cache as tables have them: every name tells them.
const TABLES: &str = "";
/// How a trial is prepared, how long it lasts and by what it is judged. Cells of one load often differ in that, those at the
/// knee being measured for longer. It is part of a load only where it is varied.
const CIRCUMSTANCES: [&str; 13] = [
    "drop_caches",
    "volume",
    "warm_up",
    "steady_state",
    "duration",
    "cool_down",
    "fill",
    "objective",
    "name",
    "trials",
    "pause",
    "hang_limit",
    "best_of_trials",
];
/// The same by how much they tell: the later ones only where cells differ in none of the earlier ones.
const TELLING: [&[&str]; 3] = [
    &["drop_caches", "volume", "warm_up", "steady_state", "duration", "cool_down", "fill", "objective"],
    &["name"],
    &["trials", "pause", "hang_limit", "best_of_trials"],
];
/// The order in which a person names them. Keys that are not here come before the circumstances.
const SPOKEN: [&str; 17] = [
    "pattern",
    "reads",
    "trims",
    "size",
    "blocks",
    "align",
    "start",
    "files",
    "flush",
    "buffered",
    "content.compressible",
    "content.duplicate",
    "verify",
    "arrival",
    "arrival.rate_max",
    "arrival.think_time",
    "threads",
];

/// The keys of a load with their values; a key without a value is not there. What is stored of a load is here whether this file
/// knows its key or not: a key that is new tells loads apart from the day on which it is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadKeys(BTreeMap<String, Value>);

/// A key's value in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyWords {
    /// The words.
    pub text: String,
    /// Whether it says that something is not there: a name may leave that out where others say that it is.
    pub is_absence: bool,
}

impl LoadKeys {
    /// Of a cell as it is stored.
    #[must_use]
    pub fn of(cell: &CellRecord) -> Self {
        Self::stored(&cell.spec, &cell.load)
    }

    /// Of a specification (`LoadSpec` of the workload crate) as it is stored. What it does not tell, since it is none of a plan's
    /// load, the figures of tables tell.
    #[must_use]
    pub fn stored(spec: &Value, load: &LoadSummary) -> Self {
        let mut keys: BTreeMap<String, Value> = BTreeMap::new();
        for (key, value) in spec.as_object().into_iter().flatten() {
            match (key.as_str(), value) {
                ("arrival", Value::Object(ways)) => {
                    for (way, fields) in ways {
                        keys.insert(key.clone(), json!(way));
                        let fields = fields.as_object().into_iter().flatten();
                        keys.extend(fields.map(|(field, value)| (format!("{key}.{field}"), value.clone())));
                    }
                }
                ("content", Value::Object(fields)) => {
                    keys.extend(fields.iter().map(|(field, value)| (format!("{key}.{field}"), value.clone())));
                }
                _ => {
                    keys.insert(key.clone(), value.clone());
                }
            }
        }
        // What was recorded of a load is so whatever a specification says.
        for (key, value) in [
            ("reads", json!(load.read_ratio)),
            ("threads", json!(load.threads)),
            ("arrival.queue_depth", json!(load.queue_depth)),
            (TABLES, json!([load.pattern, load.block_bytes, load.buffered])),
        ] {
            keys.insert(key.to_owned(), value);
        }
        let rate = if load.queue_depth.is_some() { "arrival.rate_max" } else { "arrival.rate" };
        let of_tables = [
            ("pattern", json!(load.pattern)),
            ("blocks", json!(load.block_bytes)),
            ("size", json!(load.size_bytes)),
            ("flush", json!(load.flush_every)),
            ("buffered", json!(load.buffered)),
            ("arrival", json!(load.arrival)),
            (rate, json!(load.rate_iops)),
            ("duration", json!(load.duration_ns)),
            ("objective", json!(load.objective)),
        ];
        for (key, value) in of_tables {
            keys.entry(key.to_owned()).or_insert(value);
        }
        // An open loop has no think time at all.
        let is_nothing = |key: &str, value: &Value| value.is_null() || key == "arrival.think_time" && is_zero(value);
        keys.retain(|key, value| !is_nothing(key, value));
        Self(keys)
    }

    /// A key's value.
    #[must_use]
    pub fn value(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }

    /// A key's value in words.
    #[must_use]
    pub fn words(&self, key: &str) -> KeyWords {
        words(key, self.value(key))
    }

    /// What two cells must share to be on one curve, with the keys that `told` holds for. Sequential threads are streams of their
    /// own, so their number is part of it.
    fn curve(&self, told: impl Fn(&str) -> bool) -> String {
        let streams = self.is_sequential();
        let is_part = |key: &str| key == "threads" && streams || !AMOUNT.contains(&key) && key != ARRIVAL;
        let parts: BTreeMap<&String, &Value> = self.0.iter().filter(|(key, _)| is_part(key) && told(key)).collect();
        format!("{parts:?}")
    }

    fn is_sequential(&self) -> bool {
        let pattern = self.value("pattern");
        pattern.as_str() == Some("sequential") || pattern.get("sequential").is_some()
    }
}

/// What makes the cells of a run, or of several beside each other, different loads apart from how much they ask for at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadsApart {
    /// Circumstances that are varied.
    varied: BTreeSet<String>,
}

impl LoadsApart {
    /// Of cells, each with the name of its volume and of its run. What circumstances are varied, cells show that differ in nothing
    /// else.
    #[must_use]
    pub fn of<'a>(cells: impl Iterator<Item = (String, &'a LoadKeys)>) -> Self {
        let mut same: BTreeMap<String, Vec<&LoadKeys>> = BTreeMap::new();
        for (place, keys) in cells {
            let rest: BTreeMap<&String, &Value> = keys.0.iter().filter(|(key, _)| !is_circumstance(key)).collect();
            same.entry(format!("{place:?} {rest:?}")).or_default().push(keys);
        }
        let mut varied = BTreeSet::new();
        for cells in same.values() {
            let differ = |key: &&&str| cells.iter().any(|other| other.value(key) != cells[0].value(key));
            let of_each = TELLING.iter().map(|keys| keys.iter().filter(differ).collect::<Vec<_>>());
            let telling = of_each.into_iter().find(|keys| !keys.is_empty());
            varied.extend(telling.into_iter().flatten().map(|key| (*key).to_owned()));
        }
        Self { varied }
    }

    /// Whether a difference in this key makes another load.
    #[must_use]
    pub fn holds(&self, key: &str) -> bool {
        !AMOUNT.contains(&key) && (!is_circumstance(key) || self.varied.contains(key))
    }
}

fn is_circumstance(key: &str) -> bool {
    CIRCUMSTANCES.contains(&key)
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
    /// Of the cells of a run, each with the name that it has without: its volume, then what it is called.
    pub(crate) fn all(cells: &[CellRecord], names: &[(String, String)]) -> Vec<Self> {
        let keys: Vec<LoadKeys> = cells.iter().map(LoadKeys::of).collect();
        let apart = LoadsApart::of(cells.iter().map(|cell| cell.volume.clone()).zip(&keys));
        let mut all: Vec<Self> = keys
            .iter()
            .zip(cells)
            .map(|(keys, cell)| Self {
                apart_from_reads: format!(
                    "{:?} {}",
                    cell.volume,
                    keys.curve(|key| key != "reads" && (apart.holds(key) || key == "threads"))
                ),
                reads: keys.value("reads").to_string(),
                told: Vec::new(),
            })
            .collect();
        let mut namesakes: BTreeMap<&(String, String), Vec<usize>> = BTreeMap::new();
        for (index, name) in names.iter().enumerate() {
            namesakes.entry(name).or_default().push(index);
        }
        for places in namesakes.values() {
            let group: Vec<&LoadKeys> = places.iter().map(|place| &keys[*place]).collect();
            let streams = group.iter().all(|keys| keys.is_sequential());
            let told = told_apart(&group, |key| apart.holds(key) || key == "threads" && streams);
            for (place, told) in places.iter().zip(told) {
                all[*place].told = told;
            }
        }
        all
    }
}

/// For each of some loads the words for the keys, of those that `is_told` holds for, in which they are not all alike.
#[must_use]
pub fn told_apart(loads: &[&LoadKeys], is_told: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let mut told = vec![Vec::new(); loads.len()];
    if loads.len() < 2 {
        return told;
    }
    for key in spoken_keys(loads).into_iter().filter(|key| is_told(key)) {
        // Closed loops have no way of arriving that could be another.
        let ways = |keys: &&&LoadKeys| key != ARRIVAL || keys.value("arrival.queue_depth").is_null();
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
pub fn spoken_keys(loads: &[&LoadKeys]) -> Vec<String> {
    let all: BTreeSet<&String> = loads.iter().flat_map(|keys| keys.0.keys()).filter(|key| *key != TABLES).collect();
    let mut all: Vec<String> = all.into_iter().cloned().collect();
    all.sort_by_key(|key| {
        let place = |keys: &[&str]| keys.iter().position(|known| known == key);
        match (place(&SPOKEN), place(&CIRCUMSTANCES)) {
            (Some(place), _) => (0, place),
            (None, Some(place)) => (2, place),
            (None, None) => (1, 0),
        }
    });
    all
}

/// The words for a key of each of some loads. Words that do not tell different values apart give way to the values themselves.
#[must_use]
pub fn distinct_words(loads: &[&LoadKeys], key: &str) -> Vec<KeyWords> {
    let mut known: BTreeMap<String, &Value> = BTreeMap::new();
    let unclear = loads.iter().any(|keys| {
        let value = keys.value(key);
        *known.entry(words(key, value).text).or_insert(value) != value
    });
    let of = |keys: &&LoadKeys| if unclear { plainly(key, keys.value(key)) } else { keys.words(key) };
    loads.iter().map(of).collect()
}

/// What there is, in these words.
fn said(text: impl Into<String>) -> KeyWords {
    KeyWords { text: text.into(), is_absence: false }
}

/// What there is not, in these words.
fn absent(text: &str) -> KeyWords {
    KeyWords { text: text.to_owned(), is_absence: true }
}

fn words(key: &str, value: &Value) -> KeyWords {
    let plain = || text(value);
    let switch = |on: &str, off: &str| match value.as_bool() {
        Some(true) => said(on),
        _ => absent(off),
    };
    let unless_null = |none: &str, some: &dyn Fn() -> String| if value.is_null() { absent(none) } else { said(some()) };
    match (key, value.as_u64()) {
        ("pattern", _) => pattern(value),
        ("reads", _) => said(format!("{} reads", value.as_f64().map_or_else(plain, percent))),
        ("trims", _) if is_zero(value) => absent("no trims"),
        ("trims", _) => unless_null("no trims", &|| format!("{} trims", plain())),
        ("size", bytes) => unless_null("over all of it", &|| format!("over {}", bytes.map_or_else(plain, size))),
        ("blocks", Some(bytes)) => said(block(bytes)),
        ("blocks", None) => shares(value),
        ("align", _) => unless_null("aligned to its blocks", &|| format!("aligned to {}", plain())),
        ("start", _) => unless_null("from the start on", &|| format!("from {} on", plain())),
        ("files", Some(1)) => absent("1 file"),
        ("files", _) => unless_null("1 file", &|| format!("{} files", plain())),
        ("flush", _) => flush(value),
        ("buffered", _) => switch("buffered", "not buffered"),
        ("content.compressible", _) => said(format!("{} compressible", plain())),
        ("content.duplicate", _) => said(format!("{} duplicate", plain())),
        ("verify", _) => switch("verified", "not verified"),
        ("arrival", _) => match plain().as_str() {
            "closed" => absent("closed loop"),
            "constant" => said("arriving evenly"),
            "poisson" => said("arriving by chance"),
            other => said(other),
        },
        ("arrival.rate_max", None) if value.is_f64() => said(format!("at most {} IOPS", plain())),
        ("arrival.rate_max", _) => unless_null("at any rate", &|| format!("at most {}", plain())),
        ("arrival.think_time", _) => unless_null("no think time", &|| format!("think {}", plain())),
        ("threads", Some(1)) => said("1 thread"),
        ("threads", _) => said(format!("{} threads", plain())),
        ("drop_caches", _) => switch("caches dropped", "caches kept"),
        ("volume", _) => unless_null("no bound in bytes", &|| format!("{} of it", plain())),
        ("warm_up", _) => lasting("warm-up", value),
        ("steady_state", _) => steady_state(value),
        ("duration", ns) => said(format!("for {}", ns.map_or_else(plain, seconds))),
        ("cool_down", _) => lasting("cool-down", value),
        ("fill", _) => match plain().as_str() {
            "auto" => said("filled where that is wanted"),
            "always" => said("filled"),
            "never" => said("not filled"),
            _ => plainly(key, value),
        },
        ("objective", _) => objective(value),
        ("name", _) => unless_null("without a name", &plain),
        ("trials", _) => said(format!("{} trials", plain())),
        ("pause", _) => lasting("pause", value),
        ("best_of_trials", _) => switch("best of trials", "all trials"),
        _ => plainly(key, value),
    }
}

/// Where requests of a pattern fall.
fn pattern(value: &Value) -> KeyWords {
    let random = value.get("random");
    let distribution = |kind: &str| random.and_then(|r| r.get(kind));
    if let Some(theta) = distribution("zipf").and_then(|zipf| zipf.get("theta_milli")?.as_f64()) {
        return said(format!("zipf {}", theta / 1e3));
    }
    if let Some(hot) = distribution("hot-cold") {
        return said(format!("{} to {}", text(&hot["requests"]), text(&hot["blocks"])));
    }
    match (random.and_then(Value::as_str), value.get("sequential").map(|of| &of["stride"])) {
        (Some("permutation"), _) => said("each block once"),
        (Some(other), _) => said(other),
        (None, Some(Value::Null)) => absent("no stride"),
        (None, Some(stride)) => said(format!("stride {}", text(stride))),
        (None, None) => said(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
    }
}

/// The shares of the sizes of a mix.
fn shares(value: &Value) -> KeyWords {
    let shares = value.as_array().into_iter().flatten().map(|block| text(&block["share"]));
    said(shares.collect::<Vec<_>>().join(" + "))
}

fn flush(value: &Value) -> KeyWords {
    let how = match (value, value["how"].as_str()) {
        (Value::Null, _) => return absent("never flushed"),
        (Value::Number(every), _) => return said(format!("flush every {every}")),
        (_, Some("fua")) => "FUA",
        (_, Some(how)) => how,
        (_, None) => "flush",
    };
    said(format!("{how} every {}", text(&value["every"])))
}

fn lasting(what: &str, value: &Value) -> KeyWords {
    said(if value.is_null() || is_zero(value) { format!("no {what}") } else { format!("{what} {}", text(value)) })
}

fn steady_state(value: &Value) -> KeyWords {
    if value.is_null() {
        return absent("steady or not");
    }
    let of = |key: &str| text(&value[key]);
    said(format!(
        "once steady, {} rounds of {} within {} and {}, {} at most",
        of("rounds"),
        of("round"),
        of("range"),
        of("slope"),
        of("rounds_max")
    ))
}

fn objective(value: &Value) -> KeyWords {
    match value {
        Value::Null => absent("no objective"),
        Value::Object(fields) if fields.contains_key("of") => {
            said(format!("objective {} {}", text(&value["of"]).replace('_', "."), text(&value["limit"])))
        }
        _ => plainly("objective", value),
    }
}

/// Whether a stored share, time or size is none at all: "0 %", "0 ns", "0 B".
fn is_zero(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with("0 "))
}

/// A value as it is stored, by the name of its key.
fn plainly(key: &str, value: &Value) -> KeyWords {
    let name = key.replace(['_', '.'], " ");
    match value {
        Value::Null | Value::Bool(false) => absent(&format!("no {name}")),
        Value::Bool(true) => said(name),
        _ => said(format!("{name} {}", text(value))),
    }
}

/// A value without the quotes of JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::curves;
    use crate::example::{ExampleDisk, cell, closed, other_loads, run, stored};
    use crate::words::load_name;
    use crate::{CellSummary, summarize};

    /// A load at three depths, and another beside it.
    fn beside(other: &dyn Fn(&mut CellRecord)) -> (Vec<CellRecord>, Vec<CellSummary>) {
        let of = |depth| cell(stored_load(depth), &ExampleDisk::default(), &[1.0]);
        let mut cells: Vec<CellRecord> = [1, 8, 32, 1, 8, 32].map(of).into();
        for cell in &mut cells {
            cell.spec = stored(&cell.load);
        }
        cells[3..].iter_mut().for_each(other);
        let summary = summarize(&run(cells.clone()));
        (cells, summary.cells)
    }

    fn stored_load(depth: u32) -> LoadSummary {
        closed("random", 0.5, 34 << 10, depth)
    }

    #[test]
    fn loads_that_differ_in_any_one_key_are_two_curves_with_two_names() {
        for (pointer, value) in other_loads() {
            let (records, cells) = beside(&|cell| *cell.spec.pointer_mut(pointer).expect(pointer) = value.clone());
            assert_eq!(curves(&records, &cells).len(), 2, "{pointer}: {value}");
            let names: BTreeSet<String> = cells.iter().map(load_name).collect();
            assert_eq!(names.len(), 2, "{pointer}: {value}: {names:?}");
        }
    }

    #[test]
    fn a_key_that_nobody_foresaw_tells_loads_apart_too() {
        for place in ["", "/arrival/closed", "/content", "/pattern"] {
            let (records, cells) = beside(&|cell| {
                let fields = cell.spec.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
                fields.insert("brand_new".to_owned(), json!("90 %"));
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
            let deeper = cell.load.queue_depth.unwrap_or(1) * 100;
            cell.load.queue_depth = Some(deeper);
            cell.spec = stored(&cell.load);
            (cell.spec["duration"], cell.spec["name"]) = (json!("2 min"), json!("deep"));
        });
        assert_eq!(curves(&records, &cells).len(), 1);
        assert!(cells.iter().all(|cell| load_name(cell) == "random 34 KiB requests (50 % reads)"));
    }

    #[test]
    fn names_tell_what_differs_in_the_words_of_the_plan() {
        let name = |pointer: &str, value: Value| {
            let (_, cells) = beside(&|cell| *cell.spec.pointer_mut(pointer).expect("a key") = value.clone());
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
