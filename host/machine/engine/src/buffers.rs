//! The memory that requests read into and write from, and what written data looks like.

#![expect(clippy::inline_always, reason = "a call for each write costs a twentieth of what the load loop does for it")]

use crate::error::EngineError;
use loadline_units::{Bytes, Ratio};
use loadline_workload::{Content, LoadSpec, Pattern};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// All threads' buffers together at most.
pub(crate) const BUFFERS_MAX: Bytes = Bytes::gib(4);
/// Data to write at random places comes from at least this much memory in turn. More would fall out of the CPU's cache
/// between two uses, with what it is copied to, and every write would wait for memory.
const WRITE_POOL_RANDOM: Bytes = Bytes::kib(256);
/// Data to write in sequence comes from at least this much, for blocks written one after the other stand side by side:
/// they must not repeat each other within what compressors look at together (128 KiB in btrfs and by default in ZFS, where
/// it can be set to 1 MiB; 64 KiB in LZ4).
const WRITE_POOL_SEQUENTIAL: Bytes = Bytes::mib(1);
/// Every piece of this size gets a stamp that no other piece of the run has; deduplication works on pieces this large.
const STAMPED: usize = 4096;
/// Transparent huge pages are of this size.
const HUGE: usize = 2 << 20;
/// Blocks from this size on stand in huge pages, whatever else there is to hold. Scattered over small ones they come to more pieces of
/// memory than many devices take with one request (64 to 254), and are cut in two where that says nothing of the storage.
const SCATTERED_MAX: usize = 128 << 10;
/// As long as that takes no more than this for all threads.
const HUGE_FOR_BLOCKS_MAX: usize = 512 << 20;

/// One page-aligned piece of anonymous memory, unmapped on drop.
#[derive(Debug)]
pub(crate) struct Region {
    start: *mut u8,
    length: usize,
}

// SAFETY: the region is plain memory owned by its holder; nothing in it is tied to a thread.
unsafe impl Send for Region {}

impl Region {
    fn new(length: usize) -> Result<Self, EngineError> {
        let length = if length >= HUGE { length.next_multiple_of(HUGE) } else { length.next_multiple_of(4096) };
        // Huge pages begin at multiples of their size, which not every kernel chooses by itself.
        let spare = if length >= HUGE { HUGE } else { 0 };
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length + spare,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            let source = std::io::Error::last_os_error();
            return Err(EngineError::os(format!("map {length} bytes of buffers"), source));
        }
        let mut start = start.cast::<u8>();
        if spare > 0 {
            let before = start.align_offset(HUGE);
            // SAFETY: the ranges were just mapped and nothing is in them yet: what stands before and behind the aligned part is
            // given back, and the advice on the rest changes no contents.
            unsafe {
                if before > 0 {
                    libc::munmap(start.cast(), before);
                }
                start = start.add(before);
                if spare > before {
                    libc::munmap(start.add(length).cast(), spare - before);
                }
                libc::madvise(start.cast(), length, libc::MADV_HUGEPAGE);
            }
        }
        Ok(Self { start, length })
    }
    /// The whole region as the kernel's I/O vector.
    pub(crate) const fn iovec(&self) -> libc::iovec {
        libc::iovec { iov_base: self.start.cast(), iov_len: self.length }
    }
    /// One region of at least `length` bytes, for reading back.
    pub(crate) fn for_reading(length: usize) -> Result<Self, EngineError> {
        Self::new(length)
    }
    /// Its first `length` bytes.
    pub(crate) fn bytes_mut(&mut self, length: usize) -> &mut [u8] {
        let start = self.at(0, length);
        // SAFETY: `at` checked the length; the region is borrowed mutably and in no request.
        unsafe { std::slice::from_raw_parts_mut(start, length) }
    }
    #[inline(always)]
    fn at(&self, offset: usize, length: usize) -> *mut u8 {
        assert!(offset + length <= self.length, "{offset} + {length} of {}", self.length);
        // SAFETY: the assertion keeps the result inside the mapping.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: start and length are those of the mapping made in `new`; no request is in flight when buffers drop
        // (the drivers leak them otherwise).
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// One thread's buffers: one for each place in the queue to read into, and a rotating pool to write from.
#[derive(Debug)]
pub(crate) struct Buffers {
    region: Region,
    slot_size: usize,
    pool_start: usize,
    pool: VecDeque<PoolNumber>,
    /// Buffers of writes that are stamped together, and the bytes that each writes.
    unstamped: Vec<(Buffer, u32)>,
    duplicates: Duplicates,
    stamp: u64,
    stamped: bool,
    random: Xoshiro256PlusPlus,
}

/// Which writes repeat others.
#[derive(Debug, Clone, Copy)]
struct Duplicates {
    threshold: u64,
    /// The buffer that holds the repeated block.
    buffer: PoolNumber,
}

/// The number of a buffer in the write pool, from 1 on: never zero, so that a [`Buffer`] is two machine words.
type PoolNumber = NonZeroU32;

/// The buffer of one request.
///
/// Two machine words are passed in registers. Three are passed in memory: there their parts were written apart and read together at once.
/// A processor waits then until its store queue is empty, which took 4 ns for each request, a third of the load loop's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    /// Where it begins; as long as the largest block.
    pub(crate) start: *mut u8,
    /// Its place in the write pool, if it is from there and has to go back.
    pooled: Option<PoolNumber>,
}

const _: () = assert!(size_of::<Buffer>() == 2 * size_of::<usize>());

/// Bytes that the buffers of one of `sharers` threads take for `slots` requests at once.
pub(crate) fn needed(spec: &LoadSpec, slots: usize, sharers: usize) -> Bytes {
    let slot = slot_size(spec);
    let pool = if spec.writes_any() { (pool_count(spec, slots, sharers) + 1) * slot } else { 0 };
    let bytes = slot * slots + pool;
    let scatters = slot >= SCATTERED_MAX && sharers * HUGE <= HUGE_FOR_BLOCKS_MAX;
    Bytes::new(if scatters { bytes.max(HUGE) } else { bytes } as u64)
}

fn slot_size(spec: &LoadSpec) -> usize {
    (spec.block_max().get() as usize).next_multiple_of(4096)
}

/// Buffers to write from: some more than can be in flight, so that the one used next is not the one just answered.
fn pool_count(spec: &LoadSpec, slots: usize, sharers: usize) -> usize {
    let wanted = match spec.pattern {
        Pattern::Random(_) => WRITE_POOL_RANDOM,
        Pattern::Sequential { .. } => WRITE_POOL_SEQUENTIAL,
    };
    (slots + slots.div_ceil(4)).max((wanted.get() as usize / sharers).div_ceil(slot_size(spec)))
}

const fn pool_number(index: u32) -> PoolNumber {
    NonZeroU32::MIN.saturating_add(index)
}

impl Buffers {
    /// Buffers for `slots` requests at once of number `thread` of `sharers` threads. Written data depends on `seed` and
    /// `thread` alone, and no two threads share a stamp.
    pub(crate) fn new(
        spec: &LoadSpec,
        slots: usize,
        thread: u32,
        sharers: usize,
        seed: u64,
    ) -> Result<Self, EngineError> {
        let slot_size = slot_size(spec);
        let pool_count = if spec.writes_any() { pool_count(spec, slots, sharers) } else { 0 };
        let pool_start = slot_size * slots;
        let region = Region::new(needed(spec, slots, sharers).get() as usize)?;
        let mut buffers = Self {
            region,
            slot_size,
            pool_start,
            pool: (0..pool_count as u32).map(pool_number).collect(),
            unstamped: Vec::new(),
            duplicates: Duplicates {
                threshold: spec.content.duplicate.threshold(),
                buffer: pool_number(pool_count as u32),
            },
            stamp: u64::from(thread) << 40,
            // What is zero throughout stays so.
            stamped: !spec.verify && spec.content.compressible != Ratio::ONE,
            random: Xoshiro256PlusPlus::seed_from_u64(seed ^ (u64::from(thread) << 32) ^ 0x6c6f_6164),
        };
        if pool_count > 0 && !spec.verify {
            for index in 0..=pool_count as u32 {
                buffers.fill(pool_number(index), spec.content);
            }
        }
        Ok(buffers)
    }

    /// Writes random bytes into pool buffer `number`, less the share that is to compress away.
    fn fill(&mut self, number: PoolNumber, content: Content) {
        let slot_size = self.slot_size;
        let start = self.in_pool(number);
        // SAFETY: `in_pool` checked the range; no request is in flight during construction.
        let bytes = unsafe { std::slice::from_raw_parts_mut(start, slot_size) };
        for piece in bytes.chunks_mut(STAMPED) {
            let random = content.compressible.complement().of(piece.len() as u64) as usize;
            self.random.fill_bytes(&mut piece[..random]);
        }
    }

    /// The memory, to register it with the kernel.
    pub(crate) const fn region(&self) -> &Region {
        &self.region
    }

    /// Where queue place `slot` reads into.
    #[inline]
    pub(crate) fn for_read(&self, slot: u32) -> Buffer {
        Buffer { start: self.region.at(slot as usize * self.slot_size, self.slot_size), pooled: None }
    }

    /// Where a write's data stands. Before it is written, [`stamp`](Self::stamp) makes it unlike any written before.
    #[inline(always)]
    pub(crate) fn for_write(&mut self) -> Buffer {
        if self.duplicates.threshold > 0 && (self.random.next_u64() >> 32) < self.duplicates.threshold {
            return Buffer { start: self.in_pool(self.duplicates.buffer), pooled: None };
        }
        let number = self.pool.pop_front().expect("the pool holds more than the requests that can be in flight");
        Buffer { start: self.in_pool(number), pooled: Some(number) }
    }

    /// Where a buffer of the write pool begins.
    #[inline]
    fn in_pool(&self, number: PoolNumber) -> *mut u8 {
        let index = number.get() as usize - 1;
        self.region.at(self.pool_start + index * self.slot_size, self.slot_size)
    }

    /// Marks the first `length` bytes of a buffer for a write, so that they repeat none written before; duplicates stay as
    /// they are, and so does what verification marks itself. The buffer may not be in a request yet.
    #[inline]
    pub(crate) fn stamp(&mut self, buffer: Buffer, length: u32) {
        if !self.stamped || buffer.pooled.is_none() {
            return;
        }
        for piece in (0..length as usize).step_by(STAMPED) {
            self.stamp += 1;
            let mark = self.stamp.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // SAFETY: `piece` is below the slot's size, a multiple of 4096, so 16 bytes lie inside it; this buffer is in
            // no other request while it is out of the pool.
            unsafe {
                let stamp = [mark, self.stamp ^ mark.rotate_left(32)];
                std::ptr::copy_nonoverlapping((&raw const stamp).cast::<u8>(), buffer.start.add(piece), 16);
            }
        }
    }

    /// Keeps a buffer for [`stamp_late`](Self::stamp_late).
    #[inline]
    pub(crate) fn keep_unstamped(&mut self, buffer: Buffer, length: u32) {
        self.unstamped.push((buffer, length));
    }

    /// Stamps the buffers that were kept for it. The blocks of the last round may still stand in another CPU's cache. One after the
    /// other each store to them is waited for; together they are fetched at once.
    #[inline]
    pub(crate) fn stamp_late(&mut self) {
        for number in 0..self.unstamped.len() {
            let (buffer, length) = self.unstamped[number];
            self.stamp(buffer, length);
        }
        self.unstamped.clear();
    }

    /// Takes a buffer back after its request was answered.
    #[inline]
    pub(crate) fn release(&mut self, buffer: Buffer) {
        if let Some(number) = buffer.pooled {
            self.pool.push_back(number);
        }
    }
}

impl Buffer {
    /// The first `length` bytes.
    ///
    /// # Safety
    /// No request may be in flight on this buffer, and `length` may not pass the largest block of the load.
    pub(crate) unsafe fn bytes_mut<'a>(self, length: usize) -> &'a mut [u8] {
        // SAFETY: the caller vouches for length and exclusivity; `start` points into a live mapping.
        unsafe { std::slice::from_raw_parts_mut(self.start, length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn written(spec: &LoadSpec, count: usize) -> Vec<Vec<u8>> {
        let mut buffers = Buffers::new(spec, 4, 0, 1, 1).unwrap();
        let length = spec.block_max().get() as usize;
        (0..count)
            .map(|_| {
                let buffer = buffers.for_write();
                buffers.stamp(buffer, length as u32);
                // SAFETY: nothing is in flight in this test.
                let bytes = unsafe { buffer.bytes_mut(length) }.to_vec();
                buffers.release(buffer);
                bytes
            })
            .collect()
    }

    fn writes() -> LoadSpec {
        LoadSpec { reads: Ratio::ZERO, ..LoadSpec::default() }
    }

    #[test]
    fn large_blocks_stand_in_huge_pages_as_long_as_that_costs_little() {
        let of = |block: Bytes, slots, sharers| {
            let blocks = vec![loadline_workload::BlockShare { size: block, share: Ratio::ONE }];
            let spec = LoadSpec { blocks, ..LoadSpec::default() };
            let buffers = Buffers::new(&spec, slots, 0, sharers, 1).unwrap();
            (needed(&spec, slots, sharers).get() as usize, buffers.region.start.align_offset(HUGE))
        };
        assert_eq!(of(Bytes::mib(1), 1, 1), (HUGE, 0));
        assert_eq!(of(Bytes::mib(1), 8, 1), (8 << 20, 0));
        assert_eq!(of(Bytes::mib(1), 1, 1_000).0, 1 << 20);
        assert_eq!(of(Bytes::kib(4), 4, 1).0, 16 << 10);
    }

    #[test]
    fn no_block_repeats_another() {
        let blocks: BTreeSet<Vec<u8>> = written(&writes(), 5_000).into_iter().collect();
        assert_eq!(blocks.len(), 5_000);
    }

    #[test]
    fn neighbours_share_almost_nothing_within_the_window_of_a_compressor() {
        let sequential = LoadSpec { pattern: Pattern::Sequential { stride: None }, ..writes() };
        for (spec, window) in [(sequential, 256), (writes(), 64)] {
            for blocks in written(&spec, 1_000).chunks(window) {
                let words = blocks.iter().flat_map(|b| b.as_chunks::<16>().0).collect::<BTreeSet<_>>();
                assert_eq!(words.len(), blocks.len() * 4096 / 16);
            }
        }
    }

    #[test]
    fn what_compresses_away_in_full_is_zero_in_every_byte() {
        let content = Content { compressible: Ratio::ONE, ..Content::default() };
        for block in written(&LoadSpec { content, ..writes() }, 100) {
            assert_eq!(block, [0; 4096]);
        }
    }

    #[test]
    fn shares_of_duplicates_and_zeros_are_those_asked() {
        let content = Content { compressible: Ratio::percent(25), duplicate: Ratio::percent(50) };
        let blocks = written(&LoadSpec { content, ..writes() }, 4_000);
        let zeros = blocks[0].iter().rev().take_while(|b| **b == 0).count();
        assert!((1_000..1_050).contains(&zeros), "{zeros} zeros at the end");
        let distinct = blocks.iter().collect::<BTreeSet<_>>().len();
        assert!((1_850..2_150).contains(&distinct), "{distinct} distinct blocks of 4000");
    }
}
