//! Marks every block that is written and finds out what became of it.
//!
//! Each 512-byte sector carries a header (magic, CRC-32 of the rest, the trial's seed, the sector's own offset, the
//! generation of its write) and random bytes that follow from these. The generation is the number of the write in its
//! thread's stream, and a thread's stream can be replayed; so what should stand where is known without a log, also after
//! a crash.

use loadline_block::{Operation, Request};
use loadline_record::{VerifyFault, VerifyFaultKind, VerifyRecord};
use loadline_workload::{LoadGenerator, Region, SECTOR};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const SECTOR_BYTES: usize = SECTOR.get() as usize;
const HEADER: usize = 32;
const MAGIC: u32 = 0x4c4f_4144;
/// Faults kept with their places; all are counted.
const FAULTS_MAX: usize = 100;
/// What became of the block's last write is not known: it failed.
const UNKNOWN: u32 = u32::MAX;

/// The last write of every block, shared by the threads of a trial, each of which writes blocks of its own only.
#[derive(Debug)]
pub(crate) struct Ledger {
    seed: u64,
    block: u64,
    region: Region,
    /// Number of the block's last completed write in its thread's stream; 0 for none.
    latest: Box<[AtomicU32]>,
}

/// One sector as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sector {
    Valid { seed: u64, offset: u64, generation: u64 },
    Zero,
    Broken,
}

/// The generation of write number `number` (from 1) of a thread.
fn generation(thread: u32, number: u32) -> u64 {
    (u64::from(thread) << 32) | u64::from(number)
}

/// Writes header and contents of every sector of a block that begins at `offset`.
fn mark(bytes: &mut [u8], seed: u64, offset: u64, generation: u64) {
    for (index, sector) in bytes.chunks_exact_mut(SECTOR_BYTES).enumerate() {
        let offset = offset + (index * SECTOR_BYTES) as u64;
        sector[..4].copy_from_slice(&MAGIC.to_le_bytes());
        sector[8..16].copy_from_slice(&seed.to_le_bytes());
        sector[16..24].copy_from_slice(&offset.to_le_bytes());
        sector[24..32].copy_from_slice(&generation.to_le_bytes());
        let mix = seed ^ offset.rotate_left(17) ^ generation.rotate_left(41);
        Xoshiro256PlusPlus::seed_from_u64(mix).fill_bytes(&mut sector[HEADER..]);
        let sum = crc32fast::hash(&sector[8..]);
        sector[4..8].copy_from_slice(&sum.to_le_bytes());
    }
}

fn parse(sector: &[u8]) -> Sector {
    let number = |range: std::ops::Range<usize>| u64::from_le_bytes(sector[range].try_into().expect("eight bytes"));
    let word = |range: std::ops::Range<usize>| u32::from_le_bytes(sector[range].try_into().expect("four bytes"));
    if sector.iter().all(|b| *b == 0) {
        Sector::Zero
    } else if word(0..4) == MAGIC && word(4..8) == crc32fast::hash(&sector[8..]) {
        Sector::Valid { seed: number(8..16), offset: number(16..24), generation: number(24..32) }
    } else {
        Sector::Broken
    }
}

/// What a whole block says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    /// Every sector is in its place and of this generation.
    Whole(u64),
    /// Nothing of this trial.
    Foreign(&'static str),
    Wrong(VerifyFaultKind, String),
}

fn read_block(bytes: &[u8], seed: u64, offset: u64) -> Block {
    let sectors: Vec<Sector> = bytes.chunks_exact(SECTOR_BYTES).map(parse).collect();
    let mut generations = BTreeSet::new();
    let (mut zero, mut broken, mut foreign) = (0, 0, 0);
    for (index, sector) in sectors.iter().enumerate() {
        let place = offset + (index * SECTOR_BYTES) as u64;
        match *sector {
            Sector::Valid { seed: found, .. } if found != seed => foreign += 1,
            Sector::Valid { offset: found, .. } if found != place => {
                let detail = format!("at {place} stands what was written for offset {found}");
                return Block::Wrong(VerifyFaultKind::Misplaced, detail);
            }
            Sector::Valid { generation, .. } => {
                generations.insert(generation);
            }
            Sector::Zero => zero += 1,
            Sector::Broken => broken += 1,
        }
    }
    let count = sectors.len();
    let own = count - zero - broken - foreign;
    match generations.len() {
        0 if zero == count => Block::Foreign("zeros"),
        0 if foreign == count => Block::Foreign("a block of another trial"),
        0 if broken == count => Block::Foreign("bytes that carry no mark"),
        1 if own == count => Block::Whole(generations.first().copied().unwrap_or_default()),
        0 | 1 if broken > 0 => {
            Block::Wrong(VerifyFaultKind::Corrupt, format!("{broken} of {count} sectors fail their checksum"))
        }
        0 | 1 => {
            let detail = format!("{own} of {count} sectors are of this write, {zero} zero, {foreign} of another trial");
            Block::Wrong(VerifyFaultKind::Torn, detail)
        }
        _ => {
            let numbers: Vec<String> = generations.iter().map(|g| (*g as u32).to_string()).collect();
            Block::Wrong(VerifyFaultKind::Torn, format!("sectors of writes {}", numbers.join(" and ")))
        }
    }
}

impl Ledger {
    /// A ledger for blocks of `block` bytes over `region`: 4 bytes of memory for each block.
    pub(crate) fn new(seed: u64, block: u64, region: Region) -> Self {
        let blocks = (region.file_size.get() * u64::from(region.files)).div_ceil(block);
        Self { seed, block, region, latest: (0..blocks).map(|_| AtomicU32::new(0)).collect() }
    }

    fn latest(&self, offset: u64) -> &AtomicU32 {
        &self.latest[(offset / self.block) as usize]
    }

    /// The size of a block.
    pub(crate) const fn block(&self) -> u64 {
        self.block
    }

    /// Offsets of all whole blocks of the region.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        let Region { files, file_size, start, size } = self.region;
        (0..u64::from(files)).flat_map(move |file| {
            let first = file * file_size.get() + start.get();
            (0..size.get() / self.block).map(move |n| first + n * self.block)
        })
    }

    /// Checks a block that was read back against its last write.
    pub(crate) fn check(&self, offset: u64, bytes: &[u8], record: &mut VerifyRecord) {
        match self.latest(offset).load(Ordering::Acquire) {
            0 | UNKNOWN => record.blocks_unwritten += 1,
            expected => {
                record.blocks_checked += 1;
                if let Some((kind, detail)) = judge(&read_block(bytes, self.seed, offset), expected, expected) {
                    note(record, offset, bytes.len(), kind, detail);
                }
            }
        }
    }

    /// A block that could not be read.
    pub(crate) fn unreadable(&self, offset: u64, detail: String, record: &mut VerifyRecord) {
        if !matches!(self.latest(offset).load(Ordering::Acquire), 0 | UNKNOWN) {
            record.blocks_checked += 1;
            note(record, offset, self.block as usize, VerifyFaultKind::Unreadable, detail);
        }
    }
}

/// What is wrong with a block whose last write is at least number `least` and at most `most`.
fn judge(block: &Block, least: u32, most: u32) -> Option<(VerifyFaultKind, String)> {
    match block {
        Block::Whole(generation) => {
            let number = *generation as u32;
            if number < least {
                Some((VerifyFaultKind::Stale, format!("write {number} stands where write {least} was acknowledged")))
            } else if number > most {
                Some((VerifyFaultKind::Corrupt, format!("write {number} was never issued; the last was {most}")))
            } else {
                None
            }
        }
        Block::Foreign(what) => Some((VerifyFaultKind::Lost, format!("write {least} was acknowledged; found {what}"))),
        Block::Wrong(kind, detail) => Some((*kind, detail.clone())),
    }
}

fn note(record: &mut VerifyRecord, offset: u64, length: usize, kind: VerifyFaultKind, detail: String) {
    record.faults_total += 1;
    if record.faults.len() < FAULTS_MAX {
        record.faults.push(VerifyFault { offset, length: length as u64, kind, detail });
    }
}

/// One thread's part in a verified load: marks writes, keeps those apart that would race, checks reads.
#[derive(Debug)]
pub(crate) struct Checker {
    ledger: Arc<Ledger>,
    thread: u32,
    issued: u32,
    /// Blocks with a request in flight.
    busy: HashSet<u64>,
    /// Numbers of writes in flight.
    writing: BTreeSet<u32>,
    window: u32,
    /// What reads during the load found.
    pub(crate) record: VerifyRecord,
}

/// How far the stream may run ahead of its oldest unanswered write: what a check after a crash cannot be sure of.
pub(crate) fn window(slots: u32) -> u32 {
    slots * 2
}

impl Checker {
    pub(crate) fn new(ledger: Arc<Ledger>, thread: u32, slots: u32) -> Self {
        Self {
            ledger,
            thread,
            issued: 0,
            busy: HashSet::new(),
            writing: BTreeSet::new(),
            window: window(slots),
            record: VerifyRecord::default(),
        }
    }

    /// Whether `request` may be issued now; otherwise it has to wait for an answer.
    pub(crate) fn may_issue(&self, request: &Request) -> bool {
        let oldest = self.writing.first().copied();
        match request.operation {
            Operation::Flush => true,
            Operation::Write if oldest.is_some_and(|o| self.issued + 1 >= o + self.window) => false,
            _ => !self.busy.contains(&request.offset),
        }
    }

    /// Marks the data of a write; gives the number of the write, 0 for other requests.
    pub(crate) fn issue(&mut self, request: &Request, bytes: &mut [u8]) -> u32 {
        if request.operation == Operation::Flush {
            return 0;
        }
        self.busy.insert(request.offset);
        if request.operation != Operation::Write {
            return 0;
        }
        self.issued += 1;
        assert!(self.issued < UNKNOWN, "a verified trial writes at most {UNKNOWN} blocks a thread");
        self.writing.insert(self.issued);
        mark(bytes, self.ledger.seed, request.offset, generation(self.thread, self.issued));
        self.issued
    }

    /// Takes note of an answer.
    pub(crate) fn complete(&mut self, request: &Request, number: u32, ok: bool, bytes: &[u8]) {
        match request.operation {
            Operation::Write => {
                self.writing.remove(&number);
                let state = if ok { number } else { UNKNOWN };
                self.ledger.latest(request.offset).store(state, Ordering::Release);
            }
            Operation::Read if ok => self.ledger.check(request.offset, bytes, &mut self.record),
            Operation::Read | Operation::Trim => {}
            // A flush is of no block, though it carries an offset.
            Operation::Flush => return,
        }
        self.busy.remove(&request.offset);
    }
}

/// Checks what stands on a volume against a trial that may have been cut off at any moment.
///
/// A first pass (`observe`) sees how far each thread came; a second, over the streams alone, tells what must be there.
#[derive(Debug)]
pub(crate) struct Afterwards {
    seed: u64,
    block: u64,
    found: Vec<Block>,
    offsets: Vec<u64>,
}

impl Afterwards {
    pub(crate) const fn new(seed: u64, block: u64) -> Self {
        Self { seed, block, found: Vec::new(), offsets: Vec::new() }
    }

    /// A block as it was read; `Err` when it could not be.
    pub(crate) fn observe(&mut self, offset: u64, bytes: Result<&[u8], String>) {
        self.offsets.push(offset);
        self.found.push(match bytes {
            Ok(bytes) => read_block(bytes, self.seed, offset),
            Err(detail) => Block::Wrong(VerifyFaultKind::Unreadable, detail),
        });
    }

    /// Replays the streams and judges every block. `streams` are the load's generators in the order of their threads;
    /// `slots` is how many requests each kept in flight. `None` when no block carries this trial's seed.
    pub(crate) fn judge(self, streams: &mut [LoadGenerator], slots: u32) -> Option<VerifyRecord> {
        let mut reached = vec![0u32; streams.len()];
        for block in &self.found {
            if let Block::Whole(generation) = block
                && let Some(most) = reached.get_mut((generation >> 32) as usize)
            {
                *most = (*most).max(*generation as u32);
            }
        }
        if reached.iter().all(|most| *most == 0) {
            return None;
        }
        // The last write of each block that must have been answered, and the last that can have been issued.
        let mut certain_writes = HashMap::new();
        let mut issued_writes = HashMap::new();
        for (stream, &most) in streams.iter_mut().zip(&reached) {
            let certain = most.saturating_sub(window(slots));
            let mut number = 0;
            while number < most {
                let request = stream.replay();
                if request.operation == Operation::Write {
                    number += 1;
                    issued_writes.insert(request.offset, number);
                    if number <= certain {
                        certain_writes.insert(request.offset, number);
                    }
                }
            }
        }
        let mut record = VerifyRecord::default();
        for (offset, block) in self.offsets.iter().zip(&self.found) {
            let (least, most) = (certain_writes.get(offset).copied(), issued_writes.get(offset).copied());
            let Some(least) = least else {
                record.blocks_unwritten += 1;
                continue;
            };
            record.blocks_checked += 1;
            if let Some((kind, detail)) = judge(block, least, most.unwrap_or(least)) {
                // A write that was in flight at the cut may be there in part.
                if kind == VerifyFaultKind::Torn && most.is_some_and(|most| most > least) {
                    continue;
                }
                note(&mut record, *offset, self.block as usize, kind, detail);
            }
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(seed: u64, offset: u64, generation: u64) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        mark(&mut bytes, seed, offset, generation);
        bytes
    }

    #[test]
    fn a_block_says_what_it_is() {
        assert_eq!(read_block(&block(1, 8192, 5), 1, 8192), Block::Whole(5));
        assert_eq!(read_block(&block(2, 8192, 5), 1, 8192), Block::Foreign("a block of another trial"));
        assert_eq!(read_block(&[0; 4096], 1, 0), Block::Foreign("zeros"));
        let moved = read_block(&block(1, 4096, 5), 1, 8192);
        assert!(matches!(moved, Block::Wrong(VerifyFaultKind::Misplaced, _)), "{moved:?}");
        let mut torn = block(1, 0, 6);
        torn[2048..].copy_from_slice(&block(1, 0, 5)[2048..]);
        assert!(matches!(read_block(&torn, 1, 0), Block::Wrong(VerifyFaultKind::Torn, _)));
        let mut rotten = block(1, 0, 6);
        rotten[700] ^= 1;
        assert!(matches!(read_block(&rotten, 1, 0), Block::Wrong(VerifyFaultKind::Corrupt, _)));
    }

    #[test]
    fn an_older_generation_is_stale_and_a_missing_one_lost() {
        let stale = judge(&Block::Whole(3), 5, 5);
        assert!(matches!(stale, Some((VerifyFaultKind::Stale, _))));
        let lost = judge(&Block::Foreign("zeros"), 5, 5);
        assert!(matches!(lost, Some((VerifyFaultKind::Lost, _))));
        assert_eq!(judge(&Block::Whole(5), 5, 5), None);
    }

    #[test]
    fn an_answered_flush_frees_no_block() {
        let size = loadline_units::Bytes::mib(1);
        let region = Region { files: 1, file_size: size, start: loadline_units::Bytes::ZERO, size };
        let mut checker = Checker::new(Arc::new(Ledger::new(1, 4096, region)), 0, 8);
        let request = |operation, length| Request {
            operation,
            durable: false,
            length,
            offset: 0,
            due_at: loadline_units::Instant::ZERO,
        };
        let (write, flush) = (request(Operation::Write, 4096), request(Operation::Flush, 0));
        let mut bytes = [0; 4096];
        let number = checker.issue(&write, &mut bytes);
        checker.issue(&flush, &mut []);
        checker.complete(&flush, 0, true, &[]);
        assert!(!checker.may_issue(&write), "the block at offset 0 is still being written");
        checker.complete(&write, number, true, &bytes);
        assert!(checker.may_issue(&write));
    }
}
