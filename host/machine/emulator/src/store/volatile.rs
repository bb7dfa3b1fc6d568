//! What a power cut would take: the bytes that writes replaced and that were not made durable since.

use super::memory::NumberHasher;
use super::page::{Old, PAGE, Spare};
use super::{Fresh, Store, StoreError};
use loadline_emulation::scramble;
use loadline_kernel::prefetch::{prefetch, prefetch_value};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;

/// What a disk writes in one piece, whatever happens.
pub(crate) const SECTOR: usize = loadline_units::SECTOR.get() as usize;
const SECTORS: u64 = (PAGE / SECTOR) as u64;
/// The most entries that only record durability, beside those that hold pages.
const SETTLED_MAX: usize = 1_024;
/// Writes that are looked for among so many of the newest first, one by one: those that were just answered are there.
const NEWEST: usize = 32;
/// Pages are fetched so many writes before bytes go to them.
const AHEAD: usize = 2;
/// And the notes about them so many writes before they are read.
const FAR_AHEAD: usize = 16;
/// The ticket of a request that is no write.
const NOBODY: u64 = u64::MAX;

/// What stood in pages before a write, or what became durable there.
#[derive(Debug)]
struct CachedWrite {
    ticket: u64,
    first: u64,
    pages: u64,
    /// The sectors of each page that it wrote, a bit for each.
    sectors: u8,
    /// `None`: what it wrote is durable, and so is what was written there before.
    old: Option<Old>,
}

/// A write whose bytes came, as far as they did.
#[derive(Debug)]
struct Write {
    ticket: u64,
    /// Its place in the order of answers; `None`: it was not answered yet.
    answered: Option<u64>,
    /// The number of its first entry, among all that ever were.
    first: u64,
    /// How many it has; others' may stand in between. 0: it is durable.
    entries: u64,
}

/// What a power cut did to writes. A write is one, on however many disks: the same becomes of all its parts that were not durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// Writes that were not durable, or of which a part was not.
    pub writes: u64,
    /// Of these, those that are there in full, unless a later one overwrote them.
    pub kept: u64,
    /// Those of which nothing is left.
    pub lost: u64,
    /// Those of which some sectors may be there.
    pub torn: u64,
}

impl Losses {
    /// What a cut with this seed does to the writes with these tickets.
    pub(crate) fn of(seed: u64, tickets: &HashSet<u64>) -> Self {
        let mut losses = Self { writes: tickets.len() as u64, ..Self::default() };
        for ticket in tickets {
            match fate(seed, *ticket) {
                Fate::Lost => losses.lost += 1,
                Fate::Kept => losses.kept += 1,
                Fate::Torn => losses.torn += 1,
            }
        }
        losses
    }
}

/// A disk's own cache of writes, as far as it matters: the store has the newest bytes, here is what they replaced.
///
/// Invariants: entries stand in the order in which bytes were written, writes in that of their tickets; the oldest of each is not
/// durable; `held` counts the pages of the entries that are not.
#[derive(Debug, Default)]
pub(crate) struct Volatile {
    entries: VecDeque<CachedWrite>,
    /// How many entries went before those that are here.
    gone: u64,
    writes: VecDeque<Write>,
    held: u64,
    spare: Spare,
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
        fresh: Fresh<'_>,
        ticket: u64,
        pages_max: usize,
    ) -> Result<(), StoreError> {
        let Self { entries, held, spare, .. } = self;
        let (size, end) = (PAGE as u64, offset + fresh.length());
        let before = entries.len();
        let written = store.put_keeping(offset, fresh, spare, &mut |number, old| {
            let (from, to) = (offset.max(number * size) % size, (end - 1).min(number * size + size - 1) % size);
            let sectors = (from / SECTOR as u64..=to / SECTOR as u64).fold(0, |bits, sector| bits | 1 << sector);
            entries.push_back(CachedWrite { ticket, first: number, pages: 1, sectors, old: Some(old) });
            *held += 1;
        });
        let (first, added) = (self.gone + before as u64, (self.entries.len() - before) as u64);
        if added > 0 {
            self.add(ticket, first, added);
        }
        self.settle_beyond(pages_max);
        // The page of a write that comes soon is one that becomes free soon.
        if added == 1 && self.held == pages_max as u64 {
            if let Some(Old::Page(page)) = self.entries.get(AHEAD).and_then(|entry| entry.old.as_ref()) {
                prefetch(page.bytes());
            }
            // And the note that identifies it is old.
            self.entries.get(FAR_AHEAD).into_iter().for_each(prefetch_value);
            self.writes.get(FAR_AHEAD).into_iter().for_each(prefetch_value);
        }
        written
    }

    /// Entries that were written last are those of a write, which may be known already.
    fn add(&mut self, ticket: u64, first: u64, entries: u64) {
        match self.place(ticket) {
            Ok(place) => {
                let write = &mut self.writes[place];
                if write.entries == 0 {
                    write.first = first;
                }
                write.entries += entries;
            }
            Err(place) => self.writes.insert(place, Write { ticket, answered: None, first, entries }),
        }
    }

    /// Where among the writes this one is, or would be.
    fn place(&self, ticket: u64) -> Result<usize, usize> {
        let all = self.writes.len();
        if self.writes.front().is_some_and(|oldest| oldest.ticket == ticket) {
            return Ok(0);
        }
        if self.writes.get(all.saturating_sub(NEWEST)).is_none_or(|write| write.ticket <= ticket) {
            let later = self.writes.iter().rev().take_while(|write| write.ticket > ticket).count();
            let after = all - later;
            let found = after.checked_sub(1).filter(|last| self.writes[*last].ticket == ticket);
            return found.ok_or(after);
        }
        self.writes.binary_search_by_key(&ticket, |write| write.ticket)
    }

    /// The oldest writes reach the disk where there are too many.
    fn settle_beyond(&mut self, pages_max: usize) {
        while (self.held > pages_max as u64 || self.entries.len() > pages_max + SETTLED_MAX)
            && let Some(oldest) = self.entries.front()
        {
            self.durable(oldest.ticket);
        }
    }

    /// A range was cleared: that is on the disk at once, and what was written there before is as well.
    pub(crate) fn cleared(&mut self, offset: u64, length: u64, pages_max: usize) {
        let (first, end) = (offset / PAGE as u64, (offset + length).div_ceil(PAGE as u64));
        if !self.entries.is_empty() {
            let all = CachedWrite { ticket: NOBODY, first, pages: end - first, sectors: u8::MAX, old: None };
            self.entries.push_back(all);
            self.settle_beyond(pages_max);
        }
    }

    /// A write was answered, as number `order` of all answers.
    pub(crate) fn answered(&mut self, ticket: u64, order: u64) {
        if let Ok(place) = self.place(ticket) {
            self.writes[place].answered = Some(order);
        }
    }

    /// A write is durable.
    pub(crate) fn durable(&mut self, ticket: u64) {
        let Ok(place) = self.place(ticket) else { return };
        let Write { first, entries, .. } = &mut self.writes[place];
        let own = self.entries.range_mut((*first - self.gone) as usize..).filter(|entry| entry.ticket == ticket);
        for entry in own.take(std::mem::take(entries) as usize) {
            self.held -= entry.pages;
            self.spare.take(entry.old.take().expect("what is held is not durable"));
        }
        while self.entries.front().is_some_and(|oldest| oldest.old.is_none()) {
            self.entries.pop_front();
            self.gone += 1;
        }
        while self.writes.front().is_some_and(|oldest| oldest.entries == 0) {
            self.writes.pop_front();
        }
    }

    /// Writes that were answered by `order` are durable.
    pub(crate) fn flushed(&mut self, order: u64) {
        let covered = |write: &&Write| write.entries > 0 && write.answered.is_some_and(|answered| answered <= order);
        let tickets: Vec<u64> = self.writes.iter().filter(covered).map(|write| write.ticket).collect();
        for ticket in tickets {
            self.durable(ticket);
        }
    }

    /// Forgets everything: the disk is another one.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Power fails. Each write is lost, kept or torn; a later one may be kept where an earlier one is not. Gives their tickets.
    pub(crate) fn cut(&mut self, store: &Store, seed: u64) -> Result<HashSet<u64>, StoreError> {
        let entries = std::mem::take(self).entries;
        let replaced = Replaced::of(&entries);
        replaced.put_back(store, seed)?;
        Ok(replaced.tickets())
    }
}

/// What stood in a page before a write that is not durable.
struct Before<'a> {
    ticket: u64,
    sectors: u8,
    old: &'a Old,
}

/// By page, what stood there before each write that is not durable, in their order.
#[derive(Default)]
struct Replaced<'a>(HashMap<u64, SmallVec<[Before<'a>; 1]>, BuildHasherDefault<NumberHasher>>);

impl<'a> Replaced<'a> {
    fn of(entries: &'a VecDeque<CachedWrite>) -> Self {
        let mut replaced = Self::default();
        for CachedWrite { ticket, first, pages, sectors, old } in entries {
            match old {
                Some(old) => {
                    let before = Before { ticket: *ticket, sectors: *sectors, old };
                    replaced.0.entry(*first).or_default().push(before);
                }
                None => replaced.settle(*first, first + pages, *sectors),
            }
        }
        replaced
    }

    /// What was written to sectors of these pages is durable.
    fn settle(&mut self, first: u64, end: u64, sectors: u8) {
        self.0.retain(|page, befores| {
            if (first..end).contains(page) {
                befores.iter_mut().for_each(|before| before.sectors &= !sectors);
                befores.retain(|before| before.sectors != 0);
            }
            !befores.is_empty()
        });
    }

    fn tickets(&self) -> HashSet<u64> {
        self.0.values().flatten().map(|before| before.ticket).collect()
    }

    fn put_back(&self, store: &Store, seed: u64) -> Result<(), StoreError> {
        for (page, befores) in &self.0 {
            for sector in 0..SECTORS {
                let own: Vec<&Before<'_>> =
                    befores.iter().filter(|before| before.sectors & (1 << sector) != 0).collect();
                let stays = |before: &&Before<'_>| match fate(seed, before.ticket) {
                    Fate::Lost => false,
                    Fate::Kept => true,
                    Fate::Torn => {
                        scramble(seed ^ scramble(before.ticket ^ scramble(page * SECTORS + sector))) >> 63 == 0
                    }
                };
                let back_to = own.iter().rposition(stays).map_or(0, |last| last + 1);
                let Some(before) = own.get(back_to) else { continue };
                let from = sector as usize * SECTOR;
                let old = before.old.bytes(from..from + SECTOR).unwrap_or(&[0; SECTOR]);
                store.write(page * PAGE as u64 + from as u64, old)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
