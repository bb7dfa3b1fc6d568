//! The pieces in which contents are kept in memory.

use memmap2::{Advice, MmapMut};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Bytes of a page.
pub(crate) const PAGE: usize = 4_096;
/// Bytes that are taken from the system at once: where it has pages that large, looking up where bytes lie costs less.
const SLAB: usize = 2 << 20;

/// Pages that nobody uses. They are never given back to the system, but to whoever wants one next.
static POOL: Mutex<Vec<&'static mut [u8; PAGE]>> = Mutex::new(Vec::new());

/// Looks at all of these bytes, which the system is about to copy, or to replace. Where the processor's caches do not hold them, a program that looks at one line
/// after the other has many of them fetched side by side; the system's own copying, page by page, waits longer.
pub(crate) fn bring(bytes: &[u8]) {
    loadline_engine::fetch(bytes);
}

/// A page of memory, on loan from the pool.
#[derive(Debug)]
pub(crate) struct Page(Option<&'static mut [u8; PAGE]>);

impl Page {
    /// A page of any bytes; `None`: the system has no memory left.
    pub(crate) fn new() -> Option<Self> {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.is_empty() {
            let slab = MmapMut::map_anon(SLAB).ok()?;
            // A system without large pages has small ones.
            let _ = slab.advise(Advice::HugePage);
            let (pages, _) = Box::leak(Box::new(slab)).as_chunks_mut();
            // The first goes first.
            pool.extend(pages.iter_mut().rev());
        }
        pool.pop().map(|page| Self(Some(page)))
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8; PAGE] {
        self.0.as_ref().expect("a page is given back when nobody has it")
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8; PAGE] {
        self.0.as_mut().expect("a page is given back when nobody has it")
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(page) = self.0.take() {
            POOL.lock().unwrap_or_else(PoisonError::into_inner).push(page);
        }
    }
}

/// What stood in a page before it was replaced.
#[derive(Debug)]
pub(super) enum Old {
    /// Nothing was kept there, it read as zeroes.
    Nothing,
    Page(Page),
}

impl Old {
    /// Some of its bytes; `None`: zeroes.
    pub(super) fn bytes(&self, range: Range<usize>) -> Option<&[u8]> {
        match self {
            Self::Nothing => None,
            Self::Page(own) => Some(&own.bytes()[range]),
        }
    }
}

/// Pages that wait to be used again, at most.
const SPARE_MAX: usize = 256;

/// Pages to be used again, without asking the pool.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<Page>);

impl Spare {
    /// A page of these bytes; `None`: the system has no memory left.
    #[inline]
    pub(super) fn page(&mut self, bytes: &[u8; PAGE]) -> Option<Page> {
        let mut page = self.any()?;
        *page.bytes_mut() = *bytes;
        Some(page)
    }

    /// A page of any bytes; `None`: the system has no memory left.
    #[inline]
    pub(super) fn any(&mut self) -> Option<Page> {
        self.0.pop().or_else(Page::new)
    }

    /// Takes what is no longer wanted.
    #[inline]
    pub(super) fn take(&mut self, old: Old) {
        if let Old::Page(page) = old
            && self.0.len() < SPARE_MAX
        {
            self.0.push(page);
        }
    }
}
