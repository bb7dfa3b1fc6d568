//! The pieces in which contents are kept in memory.

use std::ops::Range;
use std::sync::Arc;

/// Bytes of a page, the smallest piece.
pub(crate) const PAGE: usize = 4_096;
/// Pages of a chunk.
pub(super) const CHUNK_PAGES: usize = 16;
/// Bytes of a chunk.
pub(crate) const CHUNK: usize = CHUNK_PAGES * PAGE;
/// A page's bytes.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct Page(pub(super) [u8; PAGE]);

/// Pages that follow on each other, in one piece: what was written at once and is long is copied, looked up and sent at once.
/// Shared by those who are sending it.
#[derive(Debug, Clone)]
pub(crate) struct Chunk(Arc<ChunkBytes>);

/// A chunk's bytes. They begin where a page of the machine does: one that straddles two takes longer to look up and to fetch.
#[derive(Debug)]
#[repr(align(4096))]
struct ChunkBytes([u8; CHUNK]);

impl Chunk {
    /// A chunk of these bytes.
    ///
    /// # Panics
    /// Where they are not as many as a chunk has.
    #[expect(clippy::large_stack_arrays, reason = "nothing else makes aligned shared memory; stacks hold far more")]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut chunk = Self(Arc::new(ChunkBytes([0; CHUNK])));
        chunk.alone().expect("nobody else has it yet").copy_from_slice(bytes);
        chunk
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0.0
    }

    /// Its bytes, to be changed; `None` where somebody else has it too.
    pub(super) fn alone(&mut self) -> Option<&mut [u8]> {
        Some(&mut Arc::get_mut(&mut self.0)?.0)
    }

    /// Changes some bytes, of a copy where somebody else has it too.
    pub(super) fn change(&mut self, from: usize, bytes: &[u8]) {
        if self.alone().is_none() {
            *self = Self::of(self.bytes());
        }
        self.alone().expect("nobody else has it")[from..from + bytes.len()].copy_from_slice(bytes);
    }

    /// One of its pages.
    pub(super) fn page(&self, number: usize) -> &[u8; PAGE] {
        self.bytes()[number * PAGE..].first_chunk().expect("a chunk is made of whole pages")
    }
}

/// The pages of a chunk, as far as they were written.
pub(super) type Pages = Box<[Option<Box<Page>>; CHUNK_PAGES]>;

/// What stood somewhere before it was replaced.
#[derive(Debug)]
pub(super) enum Old {
    /// Nothing was kept there, it read as zeroes.
    Nothing,
    /// One page.
    Page(Box<Page>),
    /// The pages of a chunk.
    Pages(Pages),
    /// A chunk in one piece.
    Chunk(Chunk),
}

impl Old {
    /// Some bytes of a page, by the page's number from the first; `None`: zeroes.
    pub(super) fn bytes(&self, page: usize, range: Range<usize>) -> Option<&[u8]> {
        match self {
            Self::Nothing => None,
            Self::Page(own) => Some(&own.0[range]),
            Self::Pages(pages) => pages[page].as_ref().map(|page| &page.0[range]),
            Self::Chunk(chunk) => Some(&chunk.page(page)[range]),
        }
    }
}

/// Pages and chunks that wait to be used again, at most: fresh memory costs a fault for each page, as much as its bytes.
const SPARE_PAGES: usize = 256;
const SPARE_CHUNKS: usize = 32;

/// Memory to be used again.
#[derive(Debug, Default)]
pub(super) struct Spare {
    pages: Vec<Box<Page>>,
    chunks: Vec<Chunk>,
}

impl Spare {
    /// A page of these bytes.
    pub(super) fn page(&mut self, bytes: &[u8; PAGE]) -> Box<Page> {
        match self.pages.pop() {
            Some(mut page) => {
                page.0 = *bytes;
                page
            }
            None => Box::new(Page(*bytes)),
        }
    }

    /// A chunk of these bytes, as many as a chunk has.
    pub(super) fn chunk(&mut self, bytes: &[u8]) -> Chunk {
        match self.chunks.pop() {
            Some(mut chunk) => {
                chunk.change(0, bytes);
                chunk
            }
            None => Chunk::of(bytes),
        }
    }

    /// Takes what is no longer wanted.
    pub(super) fn take(&mut self, old: Old) {
        match old {
            Old::Page(page) if self.pages.len() < SPARE_PAGES => self.pages.push(page),
            Old::Nothing | Old::Page(_) => {}
            Old::Pages(pages) => {
                let left = SPARE_PAGES - self.pages.len();
                self.pages.extend(pages.into_iter().flatten().take(left));
            }
            // Somebody may be sending it still.
            Old::Chunk(mut chunk) => {
                if self.chunks.len() < SPARE_CHUNKS && chunk.alone().is_some() {
                    self.chunks.push(chunk);
                }
            }
        }
    }
}
