//! A disk as contents see it: its bytes, what of them is durable, and whether it is there.

use super::volatile::Volatile;
use super::{Fresh, Store, StoreError};
use crate::send_buffer::SendBuffer;
use loadline_nbd::reply::Extent;
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Whether a disk takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Presence {
    /// It is read and written.
    Live = 0,
    /// It is written, but not read: it does not have everything yet.
    Filling = 1,
    /// It is not there.
    Gone = 2,
    /// It is there, but missed writes, and no current copy is: it is neither read nor written.
    Waiting = 3,
}

/// How a disk keeps written data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeping {
    /// Pages of writes that are not durable at most; 0: every write is durable at once.
    pub(crate) pages_max: usize,
    /// Says that it flushed, and did not.
    pub(crate) lies: bool,
}

/// One disk.
#[derive(Debug)]
pub(crate) struct StoredDisk {
    pub(crate) store: Store,
    keeping: Keeping,
    volatile: Mutex<Volatile>,
    presence: AtomicU8,
    /// A copy of it has what it does not.
    stale: AtomicBool,
}

impl StoredDisk {
    pub(crate) fn new(store: Store, keeping: Keeping) -> Self {
        let presence = AtomicU8::new(Presence::Live as u8);
        Self { store, keeping, volatile: Mutex::default(), presence, stale: AtomicBool::new(false) }
    }

    fn volatile(&self) -> MutexGuard<'_, Volatile> {
        self.volatile.lock()
    }

    pub(crate) fn presence(&self) -> Presence {
        match self.presence.load(Ordering::Acquire) {
            0 => Presence::Live,
            1 => Presence::Filling,
            2 => Presence::Gone,
            _ => Presence::Waiting,
        }
    }

    pub(crate) fn set_presence(&self, presence: Presence) {
        self.presence.store(presence as u8, Ordering::Release);
    }

    /// Whether a copy of it has what it does not.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    pub(crate) fn set_stale(&self, stale: bool) {
        self.stale.store(stale, Ordering::Release);
    }

    pub(crate) fn read(&self, offset: u64, length: u64, buffer: &mut SendBuffer) -> Result<(), StoreError> {
        self.store.read(offset, length, buffer)
    }

    /// Keeps bytes of the write with this ticket.
    pub(crate) fn write(&self, offset: u64, fresh: Fresh<'_>, ticket: u64) -> Result<(), StoreError> {
        if self.keeping.pages_max == 0 || fresh.length() == 0 {
            return self.store.put(offset, fresh);
        }
        self.volatile().write(&self.store, offset, fresh, ticket, self.keeping.pages_max)
    }

    /// Makes a range read as zeroes, durably.
    pub(crate) fn clear(&self, offset: u64, length: u64) -> Result<(), StoreError> {
        let mut volatile = self.volatile();
        volatile.cleared(offset, length, self.keeping.pages_max);
        self.store.clear(offset, length)
    }

    pub(crate) fn extent(&self, offset: u64, length: u64, looks: &mut u64) -> Extent {
        self.store.extent(offset, length, looks)
    }

    pub(crate) fn answered(&self, ticket: u64, order: u64) {
        self.volatile().answered(ticket, order);
    }

    pub(crate) fn durable(&self, ticket: u64) {
        if !self.keeping.lies {
            self.volatile().durable(ticket);
        }
    }

    pub(crate) fn flushed(&self, order: u64) {
        if !self.keeping.lies {
            self.volatile().flushed(order);
        }
    }

    /// Everything is durable.
    pub(crate) fn settle(&self) {
        self.volatile().reset();
    }

    /// Power fails. Gives the tickets of writes that were not durable; what became of them: [`super::Losses::of`].
    pub(crate) fn cut(&self, seed: u64) -> Result<HashSet<u64>, StoreError> {
        self.volatile().cut(&self.store, seed)
    }

    /// Loses everything.
    pub(crate) fn wipe(&self) -> Result<(), StoreError> {
        let mut volatile = self.volatile();
        volatile.reset();
        self.store.wipe()
    }

    /// Takes over the bytes of a range of another disk, for good.
    pub(crate) fn copy(&self, from: &Self, offset: u64, length: u64) -> Result<(), StoreError> {
        let mut buffer = SendBuffer::default();
        from.read(offset, length, &mut buffer)?;
        self.store.write(offset, &buffer.to_vec())
    }
}
