//! The pieces in which contents are kept in memory.

use memmap2::{Advice, MmapMut};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Once;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4_096;
/// Bytes that are taken from the system at once: where it has pages that large, looking up where bytes lie costs less.
const SLAB: usize = 2 << 20;

/// Pages that nobody uses are kept ready, at least so many.
const READY: usize = (16 << 20) / PAGE;

/// Unused pages. They are never given back to the system, but to the next writer.
static STOCK: Stock = Stock { pages: Mutex::new(VecDeque::new()), low: Condvar::new(), replenished: Once::new() };

struct Stock {
    pages: Mutex<VecDeque<&'static mut [u8; PAGE]>>,
    low: Condvar,
    replenished: Once,
}

impl Stock {
    fn pages(&self) -> MutexGuard<'_, VecDeque<&'static mut [u8; PAGE]>> {
        self.pages.lock()
    }

    fn page(&'static self) -> Option<&'static mut [u8; PAGE]> {
        // Without such a thread, a writer waits for its page.
        self.replenished.call_once(|| {
            let _ = std::thread::Builder::new().name("pages".into()).spawn(|| self.replenish());
        });
        let mut pages = self.pages();
        if pages.len() <= READY {
            self.low.notify_one();
        }
        if pages.is_empty() {
            pages.extend(slab()?);
        }
        pages.pop_front()
    }

    /// Has pages ready before they are wanted: where the system must find the memory first, as under a hypervisor, 2 MiB can take it 8 ms.
    fn replenish(&self) {
        loop {
            self.low.wait_while(&mut self.pages(), |pages| pages.len() >= READY);
            match slab() {
                Some(slab) => {
                    for page in &mut *slab {
                        std::hint::black_box(page)[0] = 0;
                    }
                    self.pages().extend(slab);
                }
                // There may be more when it is wanted again.
                None => self.low.wait(&mut self.pages()),
            }
        }
    }
}

/// Pages fresh from the system; `None`: it has no memory left.
fn slab() -> Option<&'static mut [[u8; PAGE]]> {
    let slab = MmapMut::map_anon(SLAB).ok()?;
    // A system without large pages has small ones.
    let _ = slab.advise(Advice::HugePage);
    let (pages, _) = Box::leak(Box::new(slab)).as_chunks_mut();
    Some(pages)
}

/// A page of memory, on loan from the stock.
#[derive(Debug)]
pub(crate) struct Page(Option<&'static mut [u8; PAGE]>);

impl Page {
    /// A page of any bytes; `None`: the system has no memory left.
    pub(crate) fn new() -> Option<Self> {
        STOCK.page().map(|page| Self(Some(page)))
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
            // It may still be in the processor's caches.
            STOCK.pages().push_front(page);
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

/// Pages to be used again, without asking the stock.
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

    /// Takes pages that are no longer wanted.
    #[inline]
    pub(super) fn take(&mut self, old: Old) {
        if let Old::Page(page) = old
            && self.0.len() < SPARE_MAX
        {
            self.0.push(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_ready_before_they_are_wanted_and_are_nobody_elses() {
        let begun = std::time::Instant::now();
        let mut taken = Vec::new();
        while taken.len() < 4 * SLAB / PAGE {
            let mut page = Page::new().unwrap();
            page.bytes_mut().fill(taken.len() as u8);
            taken.push(page);
        }
        assert!(taken.iter().enumerate().all(|(number, page)| page.bytes().iter().all(|byte| *byte == number as u8)));
        while STOCK.pages().len() < READY / 2 {
            assert!(begun.elapsed().as_secs() < 60, "nobody replenishes the stock");
            std::thread::yield_now();
        }
    }
}
