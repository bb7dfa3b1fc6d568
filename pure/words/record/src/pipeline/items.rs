//! Items with their times at each station, and a bounded sample of them.

use super::Station;
use serde::{Deserialize, Serialize};

/// What a station did for an item, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// On a processor.
    pub cpu_ns: u64,
    /// Waiting for a volume.
    pub device_ns: u64,
    /// Waiting for anything else: the repository's first byte, a lock, a server.
    pub other_ns: u64,
}

/// From when to when, ns since the crawl began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The start.
    pub start_ns: u64,
    /// The end.
    pub end_ns: u64,
}

impl Span {
    /// Its length, ns.
    #[must_use]
    pub const fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// One item on its way. Times are ns since the crawl began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRecord {
    /// Its source, by its place in the pipeline.
    pub source: u32,
    /// Its number within the source, in the order in which items became eligible.
    pub number: u32,
    /// The item of the same source that led to it, by its number; `None`: it was known without another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_in: Option<u32>,
    /// Its host, by a number within the source.
    pub host: u32,
    /// Bytes fetched.
    pub bytes: u64,
    /// Bytes of text made of them.
    pub text_bytes: u64,
    /// When it could have been fetched, were there a slot and no rule.
    pub eligible_ns: u64,
    /// When a slot took it.
    pub sent_ns: u64,
    /// When it had its connection.
    pub connected_ns: u64,
    /// When the first byte came.
    pub first_byte_ns: u64,
    /// When the last byte came.
    pub last_byte_ns: u64,
    /// The host asked to be left alone for so long, ns; 0: it did not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_ns: u64,
    /// Processor time of the fetch.
    pub fetch_cpu_ns: u64,
    /// At extract, index and database: see [`ItemRecord::span_at`].
    pub spans: [Span; 3],
    /// What was done there.
    pub work: [Work; 3],
    /// When it was durable; `None` where nothing is committed.
    pub committed_ns: Option<u64>,
}

impl ItemRecord {
    /// It passed a station in line.
    pub const fn passed(&mut self, station: Station, span: Span, work: Work) {
        self.spans[station.place_in_line()] = span;
        self.work[station.place_in_line()] = work;
    }
    /// Its time at a station in line.
    #[must_use]
    pub const fn span_at(&self, station: Station) -> Span {
        self.spans[station.place_in_line()]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(super) const fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A sample of items with a bound, equally likely each, from every source its share.
///
/// Each source has room for the same number. Which item gives way to a new one follows from the seed (Vitter's algorithm R).
#[derive(Debug, Clone)]
pub struct ItemReservoir {
    room: usize,
    state: u64,
    strata: Vec<(u64, Vec<ItemRecord>)>,
}

impl ItemReservoir {
    /// Room for `items_max` in all, from so many sources.
    #[must_use]
    pub fn new(items_max: usize, sources: usize, seed: u64) -> Self {
        let sources = sources.max(1);
        Self { room: (items_max / sources).max(1), state: seed, strata: vec![(0, Vec::new()); sources] }
    }
    /// Shows it an item that is done.
    ///
    /// # Panics
    /// For a source that it was not made for.
    pub fn offer(&mut self, item: ItemRecord) {
        let source = item.source as usize;
        assert!(source < self.strata.len(), "source {source} of {}", self.strata.len());
        let seen = self.strata[source].0 + 1;
        self.strata[source].0 = seen;
        if self.strata[source].1.len() < self.room {
            self.strata[source].1.push(item);
            return;
        }
        let place = self.draw(seen);
        if let Some(kept) = self.strata[source].1.get_mut(place as usize) {
            *kept = item;
        }
    }
    /// The sample, by source and number.
    #[must_use]
    pub fn into_items(self) -> Vec<ItemRecord> {
        let mut items: Vec<ItemRecord> = self.strata.into_iter().flat_map(|(_, items)| items).collect();
        items.sort_by_key(|item| (item.source, item.number));
        items
    }
    /// Below `bound`, evenly (splitmix64; the bias of the product is below one in 2^32).
    fn draw(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(source: u32, number: u32) -> ItemRecord {
        ItemRecord { source, number, ..ItemRecord::default() }
    }

    #[test]
    fn a_reservoir_stays_within_its_bound_and_every_source_has_its_share() {
        let mut reservoir = ItemReservoir::new(100, 2, 1);
        for number in 0..10_000 {
            reservoir.offer(item(0, number));
        }
        for number in 0..30 {
            reservoir.offer(item(1, number));
        }
        let items = reservoir.into_items();
        assert_eq!(items.iter().filter(|item| item.source == 0).count(), 50);
        assert_eq!(items.iter().filter(|item| item.source == 1).count(), 30);
        assert!(items.is_sorted_by_key(|item| (item.source, item.number)));
    }

    #[test]
    fn every_item_is_as_likely_to_be_kept() {
        let mut kept = [0u32; 10];
        for seed in 0..400 {
            let mut reservoir = ItemReservoir::new(20, 1, seed);
            (0..200).for_each(|number| reservoir.offer(item(0, number)));
            reservoir.into_items().iter().for_each(|item| kept[item.number as usize / 20] += 1);
        }
        // 8,000 kept over ten parts: 800 each, standard deviation 27.
        assert!(kept.iter().all(|count| (680..920).contains(count)), "{kept:?}");
    }
}
