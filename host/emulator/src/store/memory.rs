//! Contents in memory, as far as they were written.

use super::StoreError;
use crate::made::{Made, PAGE, Page};
use crate::protocol::reply::Extent;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Pages of a region, whose pages are looked up together.
const REGION_PAGES: usize = 512;
/// Bytes of a region.
const REGION: u64 = (REGION_PAGES * PAGE) as u64;
/// Locks of a disk: neighbouring regions have different ones.
const SHARDS: usize = 64;

/// Memory that all disks of an emulation may use together.
#[derive(Debug)]
pub(crate) struct Budget {
    max: u64,
    used: AtomicU64,
}

impl Budget {
    /// At most `max` bytes.
    pub(crate) const fn new(max: u64) -> Self {
        Self { max, used: AtomicU64::new(0) }
    }
    /// Bytes in use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
    fn take(&self) -> Result<(), StoreError> {
        let taken = self.used.fetch_add(PAGE as u64, Ordering::Relaxed);
        if taken + PAGE as u64 > self.max {
            self.give_back();
            return Err(StoreError::NoSpace);
        }
        Ok(())
    }
    fn give_back(&self) {
        self.used.fetch_sub(PAGE as u64, Ordering::Relaxed);
    }
}

type Region = Box<[Option<Arc<Page>>; REGION_PAGES]>;
type Shard = HashMap<u64, Region, BuildHasherDefault<NumberHasher>>;

/// Spreads small numbers: a multiplication by an odd number near 2^64 divided by the golden ratio (Knuth, 6.4).
#[derive(Debug, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte) ^ self.0);
        }
    }
    fn write_u64(&mut self, number: u64) {
        let product = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }
}

/// One disk's bytes. A page that is being sent is not changed: a write to it makes a new one.
#[derive(Debug)]
pub(crate) struct MemoryStore {
    shards: Box<[RwLock<Shard>]>,
    budget: Arc<Budget>,
}

/// A part of a range that lies in one region.
struct Part {
    region: u64,
    /// From the region's beginning.
    start: usize,
    length: usize,
}

fn part(offset: u64, length: u64) -> Part {
    let start = offset % REGION;
    Part { region: offset / REGION, start: start as usize, length: length.min(REGION - start) as usize }
}

/// A page like another, or of zeroes, but for some bytes.
fn changed(old: Option<&Arc<Page>>, within: usize, part: &[u8]) -> Arc<Page> {
    if let Ok(whole) = part.try_into() {
        return Page::of(whole);
    }
    let mut new = old.map_or([0; PAGE], |old| old.0);
    new[within..within + part.len()].copy_from_slice(part);
    Page::of(&new)
}

impl MemoryStore {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect(), budget }
    }

    fn shard(&self, region: u64) -> RwLockReadGuard<'_, Shard> {
        self.shards[region as usize % SHARDS].read().unwrap_or_else(PoisonError::into_inner)
    }
    fn shard_to_change(&self, region: u64) -> RwLockWriteGuard<'_, Shard> {
        self.shards[region as usize % SHARDS].write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read(&self, mut offset: u64, mut length: u64, made: &mut Made) {
        while length > 0 {
            let part = part(offset, length);
            match self.shard(part.region).get(&part.region) {
                None => made.zeroes(part.length),
                Some(pages) => {
                    let mut at = part.start;
                    while at < part.start + part.length {
                        let within = at % PAGE;
                        let count = (part.start + part.length - at).min(PAGE - within);
                        match &pages[at / PAGE] {
                            Some(page) => made.page(page, within..within + count),
                            None => made.zeroes(count),
                        }
                        at += count;
                    }
                }
            }
            offset += part.length as u64;
            length -= part.length as u64;
        }
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.for_pages(offset, bytes, |_, page, within, part, budget| {
            match (page.as_mut(), <&[u8; PAGE]>::try_from(part)) {
                // A whole page, while somebody is being sent the old one.
                (Some(old), Ok(whole)) if Arc::strong_count(old) > 1 => *old = Page::of(whole),
                // Copied where somebody holds the old one.
                (Some(old), _) => Arc::make_mut(old).0[within..within + part.len()].copy_from_slice(part),
                (None, _) => {
                    budget.take()?;
                    *page = Some(changed(None, within, part));
                }
            }
            Ok(())
        })
    }

    /// As [`MemoryStore::write`]; the pages before are given away, and new ones take their places.
    pub(crate) fn write_keeping(
        &self,
        offset: u64,
        bytes: &[u8],
        keep: &mut impl FnMut(u64, Option<Arc<Page>>),
    ) -> Result<(), StoreError> {
        self.for_pages(offset, bytes, |number, page, within, part, budget| {
            if page.is_none() {
                budget.take()?;
            }
            let new = changed(page.as_ref(), within, part);
            keep(number, page.replace(new));
            Ok(())
        })
    }

    /// Calls `each` for every page that bytes fall on: with its number, its place, where in it they begin, and which.
    fn for_pages(
        &self,
        mut offset: u64,
        mut bytes: &[u8],
        mut each: impl FnMut(u64, &mut Option<Arc<Page>>, usize, &[u8], &Budget) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            let part = part(offset, bytes.len() as u64);
            let (mut now, rest) = bytes.split_at(part.length);
            let mut shard = self.shard_to_change(part.region);
            let pages = match shard.entry(part.region) {
                Entry::Occupied(region) => region.into_mut(),
                Entry::Vacant(place) => {
                    // The region's own table is about as large as a page.
                    self.budget.take()?;
                    place.insert(Box::new([const { None }; REGION_PAGES]))
                }
            };
            let mut at = part.start;
            while !now.is_empty() {
                let within = at % PAGE;
                let (first, others) = now.split_at(now.len().min(PAGE - within));
                let number = part.region * REGION_PAGES as u64 + (at / PAGE) as u64;
                each(number, &mut pages[at / PAGE], within, first, &self.budget)?;
                at += first.len();
                now = others;
            }
            drop(shard);
            offset += part.length as u64;
            bytes = rest;
        }
        Ok(())
    }

    pub(crate) fn clear(&self, mut offset: u64, mut length: u64) {
        while length > 0 {
            let part = part(offset, length);
            let mut shard = self.shard_to_change(part.region);
            if let Some(pages) = shard.get_mut(&part.region) {
                let mut at = part.start;
                while at < part.start + part.length {
                    let within = at % PAGE;
                    let count = (part.start + part.length - at).min(PAGE - within);
                    let page = &mut pages[at / PAGE];
                    if count == PAGE {
                        if page.take().is_some() {
                            self.budget.give_back();
                        }
                    } else if let Some(page) = page {
                        Arc::make_mut(page).0[within..within + count].fill(0);
                    }
                    at += count;
                }
                if part.length as u64 == REGION {
                    shard.remove(&part.region);
                    self.budget.give_back();
                }
            }
            drop(shard);
            offset += part.length as u64;
            length -= part.length as u64;
        }
    }

    pub(crate) fn wipe(&self) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            for (_, pages) in shard.drain() {
                // One for the region's own table.
                for _ in 0..=pages.iter().flatten().count() {
                    self.budget.give_back();
                }
            }
        }
    }

    pub(crate) fn extent(&self, offset: u64, length: u64) -> Extent {
        let end = offset + length;
        let mut at = offset;
        let mut found: Option<bool> = None;
        'regions: while at < end {
            let part = part(at, end - at);
            let shard = self.shard(part.region);
            let Some(pages) = shard.get(&part.region) else {
                if found == Some(false) {
                    break;
                }
                found = Some(true);
                at += part.length as u64;
                continue;
            };
            let first = part.start / PAGE;
            let last = (part.start + part.length - 1) / PAGE;
            for (index, page) in pages[first..=last].iter().enumerate() {
                if *found.get_or_insert(page.is_none()) != page.is_none() {
                    at = at.max(part.region * REGION + ((first + index) * PAGE) as u64);
                    break 'regions;
                }
            }
            at += part.length as u64;
        }
        Extent { length: at - offset, hole: found.unwrap_or(true) }
    }
}
