//! The traits that distinguish loads in charts, apart from depth and rate.

use crate::figures;
use crate::html::CellView;
use loadline_analysis::{LoadKey, LoadKeys, LoadsApart, distinct_words, spoken_keys};
use loadline_record::ArrivalKind;
use loadline_units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Indices of the traits that every load has, in the order in which curves are put side by side. Further traits follow.
pub(crate) const VOLUME: usize = 0;
/// Reads, writes, trims.
pub(crate) const READS: usize = 1;
/// Random or sequential.
pub(crate) const PATTERN: usize = 2;
/// Block sizes.
pub(crate) const BLOCK: usize = 3;
/// Load threads.
pub(crate) const THREADS: usize = 4;
/// The order in which a person names them.
const SPOKEN: [usize; 5] = [VOLUME, PATTERN, READS, BLOCK, THREADS];
/// Keys of a load that are in those places.
const PLACED: [LoadKey; 5] = [LoadKey::Reads, LoadKey::Trims, LoadKey::Pattern, LoadKey::Blocks, LoadKey::Threads];
/// Keys that are printed even if all loads have the same value, unless it is the default.
const SAID: [LoadKey; 6] =
    [LoadKey::Flush, LoadKey::Buffered, LoadKey::Verify, LoadKey::Arrival, LoadKey::RateMax, LoadKey::ThinkTime];

/// The distinguishing traits of a load: as stored, and in words. Traits of one call have the same length and order.
#[derive(Debug, Clone)]
pub(crate) struct Traits {
    /// As stored: loads are equal if all of these are.
    pub(crate) values: Vec<String>,
    /// In words.
    pub(crate) words: Vec<String>,
    /// Whether to print it even if nothing else differs.
    said: Vec<bool>,
    /// Whether the words say that something is not there.
    absent: Vec<bool>,
}

impl Traits {
    /// The wanted ones in words.
    pub(crate) fn spoken(&self, wanted: impl Fn(usize) -> bool) -> String {
        let (keys, placed): (Vec<usize>, Vec<usize>) = spoken_order(self.words.len())
            .filter(|d| wanted(*d) && !self.words[*d].is_empty())
            .partition(|d| is_key(*d));
        let joined = |places: &[usize], between: &str| {
            places.iter().map(|d| self.words[*d].as_str()).collect::<Vec<_>>().join(between)
        };
        format!("{} {}", joined(&placed, " "), joined(&keys, ", ")).trim().to_owned()
    }
    /// The load's name beside `all`: of the rarer things those in which they are not alike, and that are there.
    pub(crate) fn name(&self, all: &[Self], wanted: impl Fn(usize) -> bool) -> String {
        let varies = |d: usize| all.iter().any(|other| other.values[d] != self.values[d]);
        let rare = |d: usize| d == THREADS || is_key(d);
        self.spoken(|d| wanted(d) && (!rare(d) || varies(d) && !self.absent[d] || self.is_said(d)))
    }
    /// Whether to print it even if all loads have the same.
    pub(crate) fn is_said(&self, place: usize) -> bool {
        self.said[place]
    }
    /// All that two loads must share that differ in these places alone.
    pub(crate) fn without(&self, places: &[usize]) -> Vec<&str> {
        let kept = self.values.iter().enumerate().filter(|(place, _)| !places.contains(place));
        kept.map(|(_, value)| value.as_str()).collect()
    }
}

/// Whether it is a place after those that every load has.
pub(crate) const fn is_key(place: usize) -> bool {
    place >= SPOKEN.len()
}

/// This many indices in the order for people.
pub(crate) fn spoken_order(count: usize) -> impl Iterator<Item = usize> {
    SPOKEN.into_iter().chain(SPOKEN.len()..count).filter(move |place| *place < count)
}

/// The distinguishing traits of some cells, each with the number of its run; their volumes only if runs have several.
pub(crate) fn traits(cells: &[(usize, CellView<'_>)], volumes_several: bool) -> Vec<Traits> {
    let keys: Vec<LoadKeys> = cells.iter().map(|(_, view)| keys(view)).collect();
    let places = cells.iter().map(|(run, view)| format!("{run} {}", view.summary.volume));
    let apart = LoadsApart::of(places.zip(&keys));
    let all: Vec<&LoadKeys> = keys.iter().collect();
    let told = |key: &LoadKey| apart.holds(key) && !PLACED.contains(key);
    let rarer: Vec<LoadKey> = spoken_keys(&all).into_iter().filter(told).collect();
    let blocks = blocks(cells, &keys);
    let mut traits: Vec<Traits> = cells
        .iter()
        .zip(&keys)
        .zip(blocks)
        .map(|(((_, view), keys), blocks)| {
            let value = |key: LoadKey| keys.value(&key).to_string();
            let volume = if volumes_several { view.summary.volume.as_str() } else { "" };
            // As stored: for a load of trims alone the share of reads means nothing.
            let values = [
                volume.to_owned(),
                format!("{} {} {}", operation_mix(view), value(LoadKey::Reads), value(LoadKey::Trims)),
                format!("{} {}", view.summary.load.pattern, value(LoadKey::Pattern)),
                format!("{} {}", view.summary.load.block_bytes, value(LoadKey::Blocks)),
                value(LoadKey::Threads),
            ];
            let threads = match view.summary.load.threads {
                1 => "1 thread".to_owned(),
                count => format!("{count} threads"),
            };
            let words = [figures::plain(volume), operations(view, keys), pattern(view, keys), blocks, threads];
            Traits {
                values: values.into(),
                words: words.into(),
                said: vec![false; SPOKEN.len()],
                absent: vec![false; SPOKEN.len()],
            }
        })
        .collect();
    for key in &rarer {
        let places = traits.iter_mut().zip(cells).zip(&keys);
        for (((traits, (_, view)), keys), words) in places.zip(distinct_words(&all, key)) {
            traits.values.push(keys.value(key).to_string());
            traits.absent.push(words.is_absence);
            traits.said.push(SAID.contains(key) && !words.is_absence);
            let arrival = (*key == LoadKey::Arrival).then_some(&view.summary.load.arrival);
            traits.words.push(match arrival {
                None | Some(ArrivalKind::Closed) => figures::plain(&words.text),
                Some(ArrivalKind::Poisson) => "Poisson arrivals".to_owned(),
                Some(other) => format!("{} arrivals", figures::plain(other.name())),
            });
        }
    }
    traits
}

/// A cell's load key by key; only the common keys if the record lacks the cell.
fn keys(view: &CellView<'_>) -> LoadKeys {
    view.record.map(LoadKeys::of_cell).unwrap_or_default()
}

/// "read", "write", "70 % read", "trim".
pub(crate) fn operation_mix(view: &CellView<'_>) -> String {
    let cell = view.summary;
    if cell.trim.is_some() && cell.read.is_none() && cell.write.is_none() {
        return "trim".to_owned();
    }
    match cell.load.read_ratio {
        r if r >= 1.0 => "read".to_owned(),
        r if r <= 0.0 => "write".to_owned(),
        r => format!("{} % read", figures::tick(r * 100.0)),
    }
}

/// The same with the trims among them: "70 % read (10 % trims)".
fn operations(view: &CellView<'_>, keys: &LoadKeys) -> String {
    let (mix, trims) = (operation_mix(view), keys.words(&LoadKey::Trims));
    if trims.is_absence || mix == "trim" { mix } else { format!("{mix} ({})", figures::plain(&trims.text)) }
}

/// "random", "random (zipf 1.2)", "sequential (stride 64 KiB)".
fn pattern(view: &CellView<'_>, keys: &LoadKeys) -> String {
    let (name, words) = (figures::plain(view.summary.load.pattern.name()), keys.words(&LoadKey::Pattern));
    let is_usual = words.is_absence || words.text == "uniform" || words.text == view.summary.load.pattern.name();
    if is_usual { name } else { format!("{name} ({})", figures::plain(&words.text)) }
}

/// Each cell's block size, or the sizes of its mix, with their shares if other mixes have the same sizes.
fn blocks(cells: &[(usize, CellView<'_>)], keys: &[LoadKeys]) -> Vec<String> {
    let sizes: Vec<String> = cells.iter().map(|(_, view)| block_sizes(view)).collect();
    let mut mixes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (sizes, keys) in sizes.iter().zip(keys) {
        mixes.entry(sizes).or_default().insert(keys.value(&LoadKey::Blocks).to_string());
    }
    let of = |(sizes, keys): (&String, &LoadKeys)| {
        let is_alone = mixes.get(sizes.as_str()).is_none_or(|mixes| mixes.len() < 2);
        if is_alone {
            return sizes.clone();
        }
        format!("{sizes} ({})", figures::plain(&keys.words(&LoadKey::Blocks).text))
    };
    sizes.iter().zip(keys).map(of).collect()
}

/// "4 KiB", "4 KiB + 64 KiB".
pub(crate) fn block_sizes(view: &CellView<'_>) -> String {
    let load = &view.summary.load;
    load.details.block_mix.as_ref().map_or_else(
        || Bytes::new(load.block_bytes).to_string(),
        |mix| mix.iter().map(|part| Bytes::new(part.bytes).to_string()).collect::<Vec<_>>().join(" + "),
    )
}
