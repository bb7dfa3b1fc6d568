//! What a power cut would take: the bytes that writes replaced and that were not made durable since.

use super::memory::NumberHasher;
use super::{Store, StoreError};
use crate::made::{PAGE, Page};
use crate::model::scramble;
use smallvec::SmallVec;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;
use std::sync::Arc;

/// What a disk writes in one piece, whatever happens.
pub(crate) const SECTOR: usize = 512;
const SECTORS: u64 = (PAGE / SECTOR) as u64;

/// What stood in a page before a write.
#[derive(Debug)]
struct Before {
    ticket: u64,
    /// The sectors that it wrote, a bit for each.
    sectors: u8,
    /// `None`: nothing was kept there, it read as zeroes.
    page: Option<Arc<Page>>,
}

/// A write that is not durable.
#[derive(Debug, Default)]
struct Write {
    pages: SmallVec<[u64; 2]>,
    /// Its place in the order of answers; `None`: it was not answered yet.
    answered: Option<u64>,
}

/// What a power cut did to a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// Writes that were not durable.
    pub writes: u64,
    /// Of these, those that are there in full, unless a later one overwrote them.
    pub kept: u64,
    /// Those of which nothing is left.
    pub lost: u64,
    /// Those of which some sectors may be there.
    pub torn: u64,
}

impl std::ops::AddAssign for Losses {
    fn add_assign(&mut self, other: Self) {
        self.writes += other.writes;
        self.kept += other.kept;
        self.lost += other.lost;
        self.torn += other.torn;
    }
}

/// A disk's own cache of writes, as far as it matters: the store has the newest bytes, here is what they replaced.
///
/// Invariant: the entries of a page stand in the order in which they were written; `held` counts them.
#[derive(Debug, Default)]
pub(crate) struct Volatile {
    pages: HashMap<u64, SmallVec<[Before; 1]>, BuildHasherDefault<NumberHasher>>,
    writes: BTreeMap<u64, Write>,
    held: usize,
}

/// How a write that was not durable comes out of a power cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lost,
    Kept,
    Torn,
}

fn fate(seed: u64, ticket: u64) -> Fate {
    [Fate::Lost, Fate::Kept, Fate::Torn][(scramble(seed ^ scramble(ticket)) >> 32) as usize % 3]
}

impl Volatile {
    /// Writes, and keeps what that replaces. Beyond `pages_max` the oldest writes have reached the disk.
    pub(crate) fn write(
        &mut self,
        store: &Store,
        offset: u64,
        bytes: &[u8],
        ticket: u64,
        pages_max: usize,
    ) -> Result<(), StoreError> {
        let Self { pages, writes, held } = self;
        let (size, end) = (PAGE as u64, offset + bytes.len() as u64);
        let own = writes.entry(ticket).or_default();
        let written = store.write_keeping(offset, bytes, &mut |number, page| {
            let (from, to) = (offset.max(number * size) % size, (end - 1).min(number * size + size - 1) % size);
            let sectors = (from / SECTOR as u64..=to / SECTOR as u64).fold(0, |bits, sector| bits | 1 << sector);
            let entries = pages.entry(number).or_default();
            match entries.last_mut() {
                // The rest of a write whose bytes come in parts.
                Some(last) if last.ticket == ticket => {
                    last.sectors |= sectors;
                    page.into_iter().for_each(Page::spare);
                }
                _ => {
                    entries.push(Before { ticket, sectors, page });
                    own.pages.push(number);
                    *held += 1;
                }
            }
        });
        while self.held > pages_max
            && let Some((ticket, write)) = self.writes.pop_first()
        {
            self.forget(ticket, &write.pages);
        }
        written
    }

    /// What this write replaced is gone for good, and so is what stood there earlier.
    fn forget(&mut self, ticket: u64, pages: &[u64]) {
        for page in pages {
            let Entry::Occupied(mut entry) = self.pages.entry(*page) else { continue };
            let entries = entry.get_mut();
            let before = entries.len();
            // It may have gone with a later one that overwrote it.
            if let Some(place) = entries.iter().position(|entry| entry.ticket == ticket) {
                let sectors = entries[place].sectors;
                for earlier in &mut entries[..=place] {
                    earlier.sectors &= !sectors;
                }
                entries.retain(|entry| {
                    let stays = entry.sectors != 0;
                    if !stays && let Some(page) = entry.page.take() {
                        Page::spare(page);
                    }
                    stays
                });
            }
            self.held -= before - entries.len();
            if entries.is_empty() {
                entry.remove();
            }
        }
    }

    /// A range was cleared: that is on the disk at once, and what was written there before is as well.
    pub(crate) fn cleared(&mut self, offset: u64, length: u64) {
        let (first, end) = (offset / PAGE as u64, (offset + length).div_ceil(PAGE as u64));
        let mut dropped = 0;
        if end - first < self.pages.len() as u64 {
            for page in first..end {
                dropped += self.pages.remove(&page).map_or(0, |entries| entries.len());
            }
        } else {
            self.pages.retain(|page, entries| {
                let stays = !(first..end).contains(page);
                dropped += if stays { 0 } else { entries.len() };
                stays
            });
        }
        self.held -= dropped;
    }

    /// A write was answered, as number `order` of all answers.
    pub(crate) fn answered(&mut self, ticket: u64, order: u64) {
        if let Some(write) = self.writes.get_mut(&ticket) {
            write.answered = Some(order);
        }
    }

    /// A write is durable.
    pub(crate) fn durable(&mut self, ticket: u64) {
        if let Some(write) = self.writes.remove(&ticket) {
            self.forget(ticket, &write.pages);
        }
    }

    /// Writes that were answered by `order` are durable.
    pub(crate) fn flushed(&mut self, order: u64) {
        let covered = |write: &Write| write.answered.is_some_and(|answered| answered <= order);
        let tickets: Vec<u64> =
            self.writes.iter().filter(|(_, write)| covered(write)).map(|(ticket, _)| *ticket).collect();
        for ticket in tickets {
            self.durable(ticket);
        }
    }

    /// Forgets everything: the disk is another one.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Power fails. Each write is lost, kept or torn; a later one may be kept where an earlier one is not.
    pub(crate) fn cut(&mut self, store: &Store, seed: u64) -> Result<Losses, StoreError> {
        let mut losses = Losses::default();
        for (ticket, write) in &self.writes {
            if !write.pages.iter().any(|page| self.holds(*page, *ticket)) {
                continue;
            }
            losses.writes += 1;
            match fate(seed, *ticket) {
                Fate::Lost => losses.lost += 1,
                Fate::Kept => losses.kept += 1,
                Fate::Torn => losses.torn += 1,
            }
        }
        for (page, entries) in &self.pages {
            for sector in 0..SECTORS {
                let own: Vec<&Before> = entries.iter().filter(|entry| entry.sectors & (1 << sector) != 0).collect();
                let stays = |entry: &&Before| match fate(seed, entry.ticket) {
                    Fate::Lost => false,
                    Fate::Kept => true,
                    Fate::Torn => {
                        scramble(seed ^ scramble(entry.ticket ^ scramble(page * SECTORS + sector))) >> 63 == 0
                    }
                };
                let back_to = own.iter().rposition(stays).map_or(0, |last| last + 1);
                let Some(before) = own.get(back_to) else { continue };
                let from = sector as usize * SECTOR;
                let old = before.page.as_ref().map_or(&[0; SECTOR][..], |page| &page.0[from..from + SECTOR]);
                store.write(page * PAGE as u64 + from as u64, old)?;
            }
        }
        self.reset();
        Ok(losses)
    }

    fn holds(&self, page: u64, ticket: u64) -> bool {
        self.pages.get(&page).is_some_and(|entries| entries.iter().any(|entry| entry.ticket == ticket))
    }
}

#[cfg(test)]
mod tests;
