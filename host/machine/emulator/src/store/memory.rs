//! Contents in memory, as far as they were written.

use super::StoreError;
use super::page::{Old, PAGE, Page, Spare};
use crate::send_buffer::{SendBuffer, ZEROES};
use loadline_nbd::reply::Extent;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Pages of a region.
const REGION_PAGES: usize = 512;
/// Bytes of a region.
const REGION: u64 = (REGION_PAGES * PAGE) as u64;
/// Pages looked at for an extent while a writer waits.
const LOOKS_MAX: u64 = 1 << 14;

/// Memory that all disks of an emulation may use together.
#[derive(Debug)]
pub(crate) struct Budget {
    max: u64,
    used: AtomicU64,
    /// A write had to fail for want of it.
    was_full: AtomicBool,
}

impl Budget {
    /// At most `max` bytes.
    pub(crate) const fn new(max: u64) -> Self {
        Self { max, used: AtomicU64::new(0), was_full: AtomicBool::new(false) }
    }
    /// Bytes in use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
    /// The bound, once something had to fail for it.
    pub(crate) fn was_full(&self) -> Option<u64> {
        self.was_full.load(Ordering::Relaxed).then_some(self.max)
    }
    fn take(&self, pages: usize) -> Result<(), StoreError> {
        if pages == 0 {
            return Ok(());
        }
        let bytes = (pages * PAGE) as u64;
        let taken = self.used.fetch_add(bytes, Ordering::Relaxed);
        if taken + bytes > self.max {
            self.give_back(pages);
            self.was_full.store(true, Ordering::Relaxed);
            return Err(StoreError::NoSpace);
        }
        Ok(())
    }
    fn give_back(&self, pages: usize) {
        self.used.fetch_sub((pages * PAGE) as u64, Ordering::Relaxed);
    }
}

/// Pages that are looked up together, as far as they were written.
type PageRegion = Box<[Option<Page>; REGION_PAGES]>;

/// The regions in which something was written, by number.
#[derive(Debug, Default)]
struct Regions {
    tables: HashMap<u64, PageRegion, BuildHasherDefault<NumberHasher>>,
    /// The numbers of all of them: what lies next on a large disk is found without asking for each that is not there.
    numbers: BTreeSet<u64>,
}

impl Regions {
    fn get(&self, number: u64) -> Option<&PageRegion> {
        self.tables.get(&number)
    }
    fn get_mut(&mut self, number: u64) -> Option<&mut PageRegion> {
        self.tables.get_mut(&number)
    }
    fn remove(&mut self, number: u64) {
        self.numbers.remove(&number);
        self.tables.remove(&number);
    }
    /// Where the first of them begins that does not begin before `offset`, in bytes.
    fn next_from(&self, offset: u64) -> Option<u64> {
        self.numbers.range(offset.div_ceil(REGION)..).next().map(|number| number * REGION)
    }
}

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

/// One disk's bytes.
#[derive(Debug)]
pub(crate) struct MemoryStore {
    regions: RwLock<Regions>,
    budget: Arc<Budget>,
}

/// Bytes that stay as they are for as long as this lives: who writes waits.
pub(crate) struct Still<'a>(RwLockReadGuard<'a, Regions>);

/// One of so many bytes is fetched: the processor itself fetches what lies next to it.
const STRIDE: usize = 512;

impl Still<'_> {
    /// Has the first page of a range fetched that is read soon, as far as it goes. What many ranges need that the processor's caches do not
    /// hold comes side by side then; copying range by range waits for each.
    #[inline]
    pub(crate) fn fetch(&self, offset: u64, length: u64) {
        let RegionPart { region, start, length } = part(offset, length);
        if let Some(page) = self.0.get(region).and_then(|pages| pages[start / PAGE].as_ref()) {
            let within = start % PAGE;
            let bytes = &page.bytes()[within..(within + length).min(PAGE)];
            loadline_kernel::prefetch::prefetch_strided(bytes, STRIDE);
        }
    }

    /// Has the place fetched where the page is noted that `offset` lies in: it is written soon.
    #[inline]
    pub(crate) fn fetch_place(&self, offset: u64) {
        let RegionPart { region, start, .. } = part(offset, 1);
        if let Some(pages) = self.0.get(region) {
            loadline_kernel::prefetch::prefetch_value(&pages[start / PAGE]);
        }
    }

    /// Calls `each` with the bytes of a range, where they lie.
    pub(crate) fn bytes<'s>(&'s self, mut offset: u64, mut length: u64, each: &mut impl FnMut(&'s [u8])) {
        while length > 0 {
            let part = part(offset, length);
            let pages = self.0.get(part.region);
            for (number, MemoryPiece { within, length }) in pieces(part.start, part.length) {
                let page = pages.and_then(|pages| pages[number].as_ref());
                each(page.map_or(&ZEROES[..length], |page| &page.bytes()[within..within + length]));
            }
            offset += part.length as u64;
            length -= part.length as u64;
        }
    }
}

/// A part of a range that lies in one region.
#[derive(Clone, Copy)]
struct RegionPart {
    region: u64,
    /// From the region's beginning.
    start: usize,
    length: usize,
}

/// A part of a range that lies in one page.
#[derive(Clone, Copy)]
struct MemoryPiece {
    /// From the beginning of the page.
    within: usize,
    length: usize,
}

fn part(offset: u64, length: u64) -> RegionPart {
    let start = offset % REGION;
    RegionPart { region: offset / REGION, start: start as usize, length: length.min(REGION - start) as usize }
}

/// Cuts a range where pages end: gives the number of each, and what of it the range covers.
fn pieces(start: usize, length: usize) -> impl Iterator<Item = (usize, MemoryPiece)> {
    let (mut at, end) = (start, start + length);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let within = at % PAGE;
            let piece = MemoryPiece { within, length: (end - at).min(PAGE - within) };
            let number = at / PAGE;
            at += piece.length;
            (number, piece)
        })
    })
}

/// A page of which `bytes` stand from `within` on; the rest is as in `before`, or zero.
fn patched(spare: &mut Spare, before: Option<&Page>, within: usize, bytes: &[u8]) -> Result<Page, StoreError> {
    let new = match <&[u8; PAGE]>::try_from(bytes) {
        Ok(whole) => spare.page(whole),
        Err(_) => spare.page(before.map_or(&[0; PAGE], Page::bytes)).map(|mut page| {
            page.bytes_mut()[within..within + bytes.len()].copy_from_slice(bytes);
            page
        }),
    };
    new.ok_or(StoreError::NoSpace)
}

impl MemoryStore {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { regions: RwLock::default(), budget }
    }

    fn regions(&self) -> RwLockReadGuard<'_, Regions> {
        self.regions.read()
    }
    fn regions_to_change(&self) -> RwLockWriteGuard<'_, Regions> {
        self.regions.write()
    }

    pub(crate) fn still(&self) -> Still<'_> {
        Still(self.regions())
    }

    pub(crate) fn read(&self, mut offset: u64, mut length: u64, buffer: &mut SendBuffer) {
        let regions = self.regions();
        while length > 0 {
            let part = part(offset, length);
            match regions.get(part.region) {
                None => buffer.zeroes(part.length),
                Some(pages) => {
                    for (number, MemoryPiece { within, length }) in pieces(part.start, part.length) {
                        match &pages[number] {
                            Some(page) => buffer.bytes(&page.bytes()[within..within + length]),
                            None => buffer.zeroes(length),
                        }
                    }
                }
            }
            offset += part.length as u64;
            length -= part.length as u64;
        }
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let mut spare = Spare::default();
        self.for_pieces(offset, bytes, |place, _, within, bytes| {
            if let Some(page) = place {
                page.bytes_mut()[within..within + bytes.len()].copy_from_slice(bytes);
                return Ok(());
            }
            let new = patched(&mut spare, None, within, bytes)?;
            self.budget.take(1)?;
            *place = Some(new);
            Ok(())
        })
    }

    /// As [`MemoryStore::write`]; what it replaces is given away, with the number of its page.
    pub(super) fn write_keeping(
        &self,
        offset: u64,
        bytes: &[u8],
        spare: &mut Spare,
        keep: &mut impl FnMut(u64, Old),
    ) -> Result<(), StoreError> {
        self.for_pieces(offset, bytes, |place, number, within, bytes| {
            let whole = <&[u8; PAGE]>::try_from(bytes);
            let new = match whole {
                Ok(_) => spare.any().ok_or(StoreError::NoSpace)?,
                Err(_) => patched(spare, place.as_ref(), within, bytes)?,
            };
            if place.is_none() {
                self.budget.take(1)?;
            }
            let old = place.replace(new).map_or(Old::Nothing, Old::Page);
            keep(number, old);
            // Last: what is noted after it in memory may wait until all of it has arrived there.
            if let (Ok(whole), Some(page)) = (whole, place) {
                *page.bytes_mut() = *whole;
            }
            Ok(())
        })
    }

    /// Calls `each` for every page that bytes fall on: with its place, its number, where in it the bytes begin, and which.
    fn for_pieces(
        &self,
        mut offset: u64,
        mut bytes: &[u8],
        mut each: impl FnMut(&mut Option<Page>, u64, usize, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut regions = self.regions_to_change();
        while !bytes.is_empty() {
            let part = part(offset, bytes.len() as u64);
            let (mut now, rest) = bytes.split_at(part.length);
            let pages = self.region(&mut regions, part.region)?;
            for (number, piece) in pieces(part.start, part.length) {
                let (own, others) = now.split_at(piece.length);
                now = others;
                let page = part.region * REGION_PAGES as u64 + number as u64;
                each(&mut pages[number], page, piece.within, own)?;
            }
            offset += part.length as u64;
            bytes = rest;
        }
        Ok(())
    }

    /// Keeps whole pages from the beginning of one on. Each is left with what stood in its place, or any bytes.
    pub(super) fn swap(&self, offset: u64, pages: &mut [Page]) -> Result<(), StoreError> {
        self.for_pages(offset, pages, |place, _, page| {
            if let Some(old) = place {
                std::mem::swap(old, page);
                return Ok(());
            }
            let other = Page::new().ok_or(StoreError::NoSpace)?;
            self.budget.take(1)?;
            *place = Some(std::mem::replace(page, other));
            Ok(())
        })
    }

    /// As [`MemoryStore::swap`]; what they replace is given away, and they are left with any bytes.
    pub(super) fn swap_keeping(
        &self,
        offset: u64,
        pages: &mut [Page],
        spare: &mut Spare,
        keep: &mut impl FnMut(u64, Old),
    ) -> Result<(), StoreError> {
        self.for_pages(offset, pages, |place, number, page| {
            let other = spare.any().ok_or(StoreError::NoSpace)?;
            if place.is_none() {
                self.budget.take(1)?;
            }
            let old = place.replace(std::mem::replace(page, other));
            keep(number, old.map_or(Old::Nothing, Old::Page));
            Ok(())
        })
    }

    /// Calls `each` for every one of these pages, which begin where one does: with its place, its number, and itself.
    fn for_pages(
        &self,
        mut offset: u64,
        mut pages: &mut [Page],
        mut each: impl FnMut(&mut Option<Page>, u64, &mut Page) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        assert!(offset.is_multiple_of(PAGE as u64), "{offset} lies within a page");
        let mut regions = self.regions_to_change();
        while !pages.is_empty() {
            let part = part(offset, (pages.len() * PAGE) as u64);
            let (now, later) = pages.split_at_mut(part.length / PAGE);
            let places = &mut self.region(&mut regions, part.region)?[part.start / PAGE..];
            for (number, (place, page)) in (offset / PAGE as u64..).zip(places.iter_mut().zip(now)) {
                each(place, number, page)?;
            }
            offset += part.length as u64;
            pages = later;
        }
        Ok(())
    }

    /// A region's own table, which is as large as a page.
    fn region<'r>(&self, regions: &'r mut Regions, number: u64) -> Result<&'r mut PageRegion, StoreError> {
        match regions.tables.entry(number) {
            Entry::Occupied(region) => Ok(region.into_mut()),
            Entry::Vacant(place) => {
                self.budget.take(1)?;
                regions.numbers.insert(number);
                Ok(place.insert(Box::new([const { None }; REGION_PAGES])))
            }
        }
    }

    pub(crate) fn clear(&self, offset: u64, length: u64) {
        let (mut at, end) = (offset, offset + length);
        let mut regions = self.regions_to_change();
        while at < end {
            let part = part(at, end - at);
            let Some(pages) = regions.get_mut(part.region) else {
                at = regions.next_from(at).map_or(end, |next| next.min(end));
                continue;
            };
            for (number, MemoryPiece { within, length }) in pieces(part.start, part.length) {
                let place = &mut pages[number];
                if length == PAGE {
                    self.budget.give_back(usize::from(place.take().is_some()));
                } else if let Some(page) = place {
                    page.bytes_mut()[within..within + length].fill(0);
                }
            }
            if part.length as u64 == REGION {
                regions.remove(part.region);
                self.budget.give_back(1);
            }
            at += part.length as u64;
        }
    }

    pub(crate) fn wipe(&self) {
        for pages in std::mem::take(&mut *self.regions_to_change()).tables.into_values() {
            // One for the region's own table.
            self.budget.give_back(1 + pages.iter().flatten().count());
        }
    }

    /// As [`super::Store::extent`]: adds to `looks` the regions and pages looked at.
    pub(crate) fn extent(&self, offset: u64, length: u64, looks: &mut u64) -> Extent {
        let end = offset + length;
        let mut at = offset;
        let looks_max = *looks + LOOKS_MAX;
        let mut found: Option<bool> = None;
        let regions = self.regions();
        'regions: while at < end && *looks < looks_max {
            let part = part(at, end - at);
            *looks += 1;
            let Some(pages) = regions.get(part.region) else {
                if *found.get_or_insert(true) {
                    at = regions.next_from(at).map_or(end, |next| next.min(end));
                    continue;
                }
                break;
            };
            for (number, piece) in pieces(part.start, part.length) {
                let hole = pages[number].is_none();
                *looks += 1;
                if *found.get_or_insert(hole) != hole {
                    break 'regions;
                }
                at += piece.length as u64;
            }
        }
        Extent { length: at - offset, hole: found.unwrap_or(true) }
    }
}
