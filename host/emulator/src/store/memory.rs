//! Contents in memory, as far as they were written.

use super::StoreError;
use super::page::{CHUNK, CHUNK_PAGES, Chunk, Old, PAGE, Page, Pages, Spare};
use crate::made::Made;
use crate::protocol::reply::Extent;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Chunks of a region, which are looked up together.
const REGION_CHUNKS: usize = 32;
/// Bytes of a region.
const REGION: u64 = (REGION_CHUNKS * CHUNK) as u64;

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
    fn take(&self, pages: usize) -> Result<(), StoreError> {
        if pages == 0 {
            return Ok(());
        }
        let bytes = (pages * PAGE) as u64;
        let taken = self.used.fetch_add(bytes, Ordering::Relaxed);
        if taken + bytes > self.max {
            self.give_back(pages);
            return Err(StoreError::NoSpace);
        }
        Ok(())
    }
    fn give_back(&self, pages: usize) {
        self.used.fetch_sub((pages * PAGE) as u64, Ordering::Relaxed);
    }
}

/// What is kept of a chunk's pages.
#[derive(Debug)]
enum Slot {
    Empty,
    /// Written piece by piece.
    Pages(Pages),
    /// Written at once.
    Whole(Chunk),
}

type Region = Box<[Slot; REGION_CHUNKS]>;
type Regions = HashMap<u64, Region, BuildHasherDefault<NumberHasher>>;

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

/// One disk's bytes. A chunk that is being sent is not changed: a write to it makes a new one.
#[derive(Debug)]
pub(crate) struct MemoryStore {
    regions: RwLock<Regions>,
    budget: Arc<Budget>,
}

/// Looks at bytes that are read soon, many ranges at once: memory that the processor's caches do not hold is fetched side by side
/// then, where copying range by range waits for each.
pub(crate) struct Fetching<'a>(RwLockReadGuard<'a, Regions>);

/// A look at every so many bytes: the processor itself fetches what lies next to them.
const LOOK: usize = 512;

impl Fetching<'_> {
    /// Looks at a range as far as it lies in one chunk.
    #[inline]
    pub(crate) fn look_at(&self, offset: u64, length: u64) {
        let Part { region, start, length } = part(offset, length);
        let Some(slots) = self.0.get(&region) else { return };
        let within = start % CHUNK;
        let bytes = match &slots[start / CHUNK] {
            Slot::Whole(chunk) => &chunk.bytes()[within..(within + length).min(CHUNK)],
            Slot::Pages(pages) => match &pages[within / PAGE] {
                Some(page) => &page.0[within % PAGE..(within % PAGE + length).min(PAGE)],
                None => return,
            },
            Slot::Empty => return,
        };
        std::hint::black_box(bytes.iter().step_by(LOOK).fold(0, |all, byte| all ^ byte));
    }
}

/// A part of a range that lies in one region.
#[derive(Clone, Copy)]
struct Part {
    region: u64,
    /// From the region's beginning.
    start: usize,
    length: usize,
}

/// A part of a range that lies in one page or one chunk.
#[derive(Clone, Copy)]
struct Piece {
    /// From the beginning of the page or chunk.
    within: usize,
    length: usize,
}

fn part(offset: u64, length: u64) -> Part {
    let start = offset % REGION;
    Part { region: offset / REGION, start: start as usize, length: length.min(REGION - start) as usize }
}

/// Cuts a range where pages or chunks of `size` bytes end: gives the number of each, and what of it the range covers.
fn pieces(start: usize, length: usize, size: usize) -> impl Iterator<Item = (usize, Piece)> {
    let (mut at, end) = (start, start + length);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let within = at % size;
            let piece = Piece { within, length: (end - at).min(size - within) };
            let number = at / size;
            at += piece.length;
            (number, piece)
        })
    })
}

impl Slot {
    fn pages(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Pages(pages) => pages.iter().flatten().count(),
            Self::Whole(_) => CHUNK_PAGES,
        }
    }

    fn has(&self, page: usize) -> bool {
        match self {
            Self::Empty => false,
            Self::Pages(pages) => pages[page].is_some(),
            Self::Whole(_) => true,
        }
    }

    /// Its pages one by one.
    fn apart(&mut self) -> &mut Pages {
        let pages = match self {
            Self::Pages(_) => None,
            Self::Empty => Some(Box::new([const { None }; CHUNK_PAGES])),
            Self::Whole(chunk) => {
                Some(Box::new(std::array::from_fn(|number| Some(Box::new(Page(*chunk.page(number)))))))
            }
        };
        if let Some(pages) = pages {
            *self = Self::Pages(pages);
        }
        let Self::Pages(pages) = self else { unreachable!("pages were put there") };
        pages
    }

    fn read(&self, piece: Piece, made: &mut Made) {
        match self {
            Self::Empty => made.zeroes(piece.length),
            Self::Whole(chunk) => made.chunk(chunk, piece.within..piece.within + piece.length),
            Self::Pages(pages) => {
                for (number, Piece { within, length }) in pieces(piece.within, piece.length, PAGE) {
                    match &pages[number] {
                        Some(page) => made.bytes(&page.0[within..within + length]),
                        None => made.zeroes(length),
                    }
                }
            }
        }
    }

    /// Puts bytes in a page of a chunk that is there already, or else gives the place for the page.
    fn write(&mut self, number: usize, within: usize, bytes: &[u8]) -> Option<&mut Option<Box<Page>>> {
        let place = match self {
            Self::Whole(chunk) => {
                chunk.change(number * PAGE + within, bytes);
                return None;
            }
            Self::Empty | Self::Pages(_) => &mut self.apart()[number],
        };
        Some(place)
    }

    /// Makes a part read as zeroes; gives how many pages that spared.
    fn clear(&mut self, piece: Piece) -> usize {
        let before = self.pages();
        if piece.length == CHUNK {
            *self = Self::Empty;
        }
        if before == 0 || piece.length == CHUNK {
            return before;
        }
        let pages = self.apart();
        for (number, Piece { within, length }) in pieces(piece.within, piece.length, PAGE) {
            if length == PAGE {
                pages[number] = None;
            } else if let Some(page) = &mut pages[number] {
                page.0[within..within + length].fill(0);
            }
        }
        before - self.pages()
    }
}

impl MemoryStore {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { regions: RwLock::default(), budget }
    }

    fn regions(&self) -> RwLockReadGuard<'_, Regions> {
        self.regions.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn regions_to_change(&self) -> RwLockWriteGuard<'_, Regions> {
        self.regions.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the processor fetch what is going to be read.
    pub(crate) fn fetching(&self) -> Fetching<'_> {
        Fetching(self.regions())
    }

    pub(crate) fn read(&self, mut offset: u64, mut length: u64, made: &mut Made) {
        let regions = self.regions();
        while length > 0 {
            let part = part(offset, length);
            match regions.get(&part.region) {
                None => made.zeroes(part.length),
                Some(slots) => {
                    for (chunk, piece) in pieces(part.start, part.length, CHUNK) {
                        slots[chunk].read(piece, made);
                    }
                }
            }
            offset += part.length as u64;
            length -= part.length as u64;
        }
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.for_pieces(offset, bytes, |slot, _, piece, bytes| {
            if piece.length == CHUNK {
                self.budget.take(CHUNK_PAGES - slot.pages())?;
                if let Slot::Whole(chunk) = slot
                    && let Some(own) = chunk.alone()
                {
                    own.copy_from_slice(bytes);
                } else {
                    *slot = Slot::Whole(Chunk::of(bytes));
                }
                return Ok(());
            }
            let mut left = bytes;
            for (number, Piece { within, length }) in pieces(piece.within, piece.length, PAGE) {
                let (now, rest) = left.split_at(length);
                left = rest;
                match slot.write(number, within, now) {
                    None => {}
                    Some(Some(page)) => page.0[within..within + length].copy_from_slice(now),
                    Some(place) => {
                        self.budget.take(1)?;
                        place.insert(Box::new(Page([0; PAGE]))).0[within..within + length].copy_from_slice(now);
                    }
                }
            }
            Ok(())
        })
    }

    /// As [`MemoryStore::write`]; what it replaces is given away, with the number of its first page and how many they are.
    pub(super) fn write_keeping(
        &self,
        offset: u64,
        bytes: &[u8],
        spare: &mut Spare,
        keep: &mut impl FnMut(u64, u64, Old),
    ) -> Result<(), StoreError> {
        self.for_pieces(offset, bytes, |slot, first, piece, bytes| {
            if piece.length == CHUNK {
                self.budget.take(CHUNK_PAGES - slot.pages())?;
                let old = match std::mem::replace(slot, Slot::Whole(spare.chunk(bytes))) {
                    Slot::Empty => Old::Nothing,
                    Slot::Pages(pages) => Old::Pages(pages),
                    Slot::Whole(chunk) => Old::Chunk(chunk),
                };
                keep(first, CHUNK_PAGES as u64, old);
                return Ok(());
            }
            let mut left = bytes;
            for (number, Piece { within, length }) in pieces(piece.within, piece.length, PAGE) {
                let (now, rest) = left.split_at(length);
                left = rest;
                let mut old = if let Slot::Whole(chunk) = slot {
                    Old::Page(spare.page(chunk.page(number)))
                } else {
                    Old::Nothing
                };
                if let Some(place) = slot.write(number, within, now) {
                    let new = match (&*place, <&[u8; PAGE]>::try_from(now)) {
                        (_, Ok(whole)) => spare.page(whole),
                        (before, Err(_)) => {
                            let mut new = spare.page(before.as_ref().map_or(&[0; PAGE], |page| &page.0));
                            new.0[within..within + length].copy_from_slice(now);
                            new
                        }
                    };
                    match place.replace(new) {
                        Some(page) => old = Old::Page(page),
                        None => {
                            if let Err(error) = self.budget.take(1) {
                                *place = None;
                                return Err(error);
                            }
                        }
                    }
                }
                keep(first + number as u64, 1, old);
            }
            Ok(())
        })
    }

    /// Calls `each` for every chunk that bytes fall on: with its place, the number of its first page, where in it the bytes
    /// begin and how many they are, and which.
    fn for_pieces(
        &self,
        mut offset: u64,
        mut bytes: &[u8],
        mut each: impl FnMut(&mut Slot, u64, Piece, &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut regions = self.regions_to_change();
        while !bytes.is_empty() {
            let part = part(offset, bytes.len() as u64);
            let (mut now, rest) = bytes.split_at(part.length);
            let slots = match regions.entry(part.region) {
                Entry::Occupied(region) => region.into_mut(),
                Entry::Vacant(place) => {
                    // The region's own tables are about as large as a page.
                    self.budget.take(1)?;
                    place.insert(Box::new([const { Slot::Empty }; REGION_CHUNKS]))
                }
            };
            for (chunk, piece) in pieces(part.start, part.length, CHUNK) {
                let (own, others) = now.split_at(piece.length);
                now = others;
                let first = (part.region * REGION_CHUNKS as u64 + chunk as u64) * CHUNK_PAGES as u64;
                each(&mut slots[chunk], first, piece, own)?;
            }
            offset += part.length as u64;
            bytes = rest;
        }
        Ok(())
    }

    pub(crate) fn clear(&self, mut offset: u64, mut length: u64) {
        let mut regions = self.regions_to_change();
        while length > 0 {
            let part = part(offset, length);
            if let Some(slots) = regions.get_mut(&part.region) {
                for (chunk, piece) in pieces(part.start, part.length, CHUNK) {
                    self.budget.give_back(slots[chunk].clear(piece));
                }
                if part.length as u64 == REGION {
                    regions.remove(&part.region);
                    self.budget.give_back(1);
                }
            }
            offset += part.length as u64;
            length -= part.length as u64;
        }
    }

    pub(crate) fn wipe(&self) {
        for (_, slots) in self.regions_to_change().drain() {
            // One for the region's own tables.
            self.budget.give_back(1 + slots.iter().map(Slot::pages).sum::<usize>());
        }
    }

    pub(crate) fn extent(&self, offset: u64, length: u64) -> Extent {
        let end = offset + length;
        let mut at = offset;
        let mut found: Option<bool> = None;
        let regions = self.regions();
        'regions: while at < end {
            let part = part(at, end - at);
            let Some(slots) = regions.get(&part.region) else {
                if found == Some(false) {
                    break;
                }
                found = Some(true);
                at += part.length as u64;
                continue;
            };
            for (page, piece) in pieces(part.start, part.length, PAGE) {
                let hole = !slots[page / CHUNK_PAGES].has(page % CHUNK_PAGES);
                if *found.get_or_insert(hole) != hole {
                    break 'regions;
                }
                at += piece.length as u64;
            }
        }
        Extent { length: at - offset, hole: found.unwrap_or(true) }
    }
}
