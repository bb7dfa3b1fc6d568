//! Marks every block that is written and finds out what became of it.
//!
//! Each 512-byte sector carries a header (magic, CRC-32 of the rest, the trial's seed, the sector's own offset, the
//! generation of its write) and random bytes that follow from these. The generation is the number of the write in its
//! thread's stream, and a thread's stream can be replayed; so what should stand where is known without a log, also after
//! a crash.

mod afterwards;
mod marks;

pub(crate) use afterwards::Afterwards;
pub use afterwards::Past;

use loadline_block::{Operation, Request};
use loadline_record::{StreamWritten, VerifyFault, VerifyFaultKind, VerifyRecord};
use loadline_workload::Region;
use marks::{Block, generation, mark, read_block};
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Faults kept with their places; all are counted.
const FAULTS_MAX: usize = 100;
/// Failed writes of a thread kept by their numbers; of those after one that is not, nothing is said.
const FAILED_MAX: usize = 1_024;
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
    /// How far each thread's writes came, as far as the threads have reported.
    streams: Mutex<Vec<Option<StreamWritten>>>,
}

/// Offsets of all whole blocks of `region`, ascending.
pub(crate) fn offsets(region: &Region, block: u64) -> impl Iterator<Item = u64> + use<> {
    let Region { files, file_size, start, size } = *region;
    (0..u64::from(files)).flat_map(move |file| {
        let first = file * file_size.get() + start.get();
        (0..size.get() / block).map(move |n| first + n * block)
    })
}

/// Whether any of the `length` bytes from `start` on lies in one of these parts.
pub(crate) fn touches(parts: &[Range<u64>], start: u64, length: u64) -> bool {
    parts.iter().any(|part| part.start < start + length && start < part.end)
}

impl Ledger {
    /// A ledger for blocks of `block` bytes over `region`, written by so many threads: 4 bytes of memory for each block.
    pub(crate) fn new(seed: u64, block: u64, region: Region, threads: u32) -> Self {
        let blocks = (region.file_size.get() * u64::from(region.files)).div_ceil(block);
        let latest = (0..blocks).map(|_| AtomicU32::new(0)).collect();
        Self { seed, block, region, latest, streams: Mutex::new(vec![None; threads as usize]) }
    }

    fn latest(&self, offset: u64) -> &AtomicU32 {
        &self.latest[(offset / self.block) as usize]
    }

    /// The size of a block.
    pub(crate) const fn block(&self) -> u64 {
        self.block
    }

    /// Offsets of all whole blocks of the region.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = u64> + use<> {
        offsets(&self.region, self.block)
    }

    /// How far the threads' writes came, in the order of the threads; empty where one of them did not tell.
    pub(crate) fn written(&self) -> Vec<StreamWritten> {
        let streams = self.streams.lock();
        streams.iter().cloned().collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// Checks a block that was read back against its last write.
    pub(crate) fn check(&self, offset: u64, bytes: &[u8], record: &mut VerifyRecord) {
        let block = read_block(bytes, self.seed, offset);
        match self.latest(offset).load(Ordering::Acquire) {
            never @ (0 | UNKNOWN) => match block {
                // What was written for another place is wrong in every place.
                Block::Wrong(wrong) if wrong.kind == VerifyFaultKind::Misplaced => {
                    record.blocks_checked += 1;
                    note(record, offset, bytes.len(), wrong.kind, wrong.detail);
                }
                _ if never == UNKNOWN => record.blocks_unknown += 1,
                _ => record.blocks_unwritten += 1,
            },
            expected => {
                record.blocks_checked += 1;
                if let Some((kind, detail)) = judge(&block, expected, expected) {
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

/// The fault of a block whose last write is at least number `least` and at most `most`.
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
        Block::Wrong(wrong) => Some((wrong.kind, wrong.detail.clone())),
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
    /// Numbers of writes that failed, and the first that failed when no more were kept.
    failed: Vec<u32>,
    forgotten: u32,
    /// Every write up to this one was answered when a flush began that was acknowledged.
    durable: u32,
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
            failed: Vec::new(),
            forgotten: u32::MAX,
            durable: 0,
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

    /// Every write up to this one was answered.
    fn answered(&self) -> u32 {
        self.writing.first().map_or(self.issued, |oldest| oldest - 1)
    }

    /// Marks the data of a write; gives the number of the write; of a flush that of the last write that it makes durable, with
    /// all before; of other requests 0.
    pub(crate) fn issue(&mut self, request: &Request, bytes: &mut [u8]) -> u32 {
        if request.operation == Operation::Flush {
            // Of several files it flushes one.
            return if self.ledger.region.files == 1 { self.answered() } else { 0 };
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
                if !ok && self.failed.len() < FAILED_MAX {
                    self.failed.push(number);
                } else if !ok {
                    self.forgotten = self.forgotten.min(number);
                }
                let state = if ok { number } else { UNKNOWN };
                self.ledger.latest(request.offset).store(state, Ordering::Release);
            }
            Operation::Read if ok => self.ledger.check(request.offset, bytes, &mut self.record),
            Operation::Read | Operation::Trim => {}
            // A flush is of no block, though it carries an offset.
            Operation::Flush => {
                if ok {
                    self.durable = self.durable.max(number);
                }
                return;
            }
        }
        self.busy.remove(&request.offset);
    }

    /// Enters in the ledger how far the thread's writes have come.
    pub(crate) fn settle(&self) {
        let acknowledged = self.answered().min(self.forgotten - 1);
        let mut failed: Vec<u32> = self.failed.iter().copied().filter(|number| *number <= acknowledged).collect();
        failed.sort_unstable();
        let (issued, durable) = (self.issued, self.durable.min(acknowledged));
        let mut streams = self.ledger.streams.lock();
        streams[self.thread as usize] = Some(StreamWritten { issued, acknowledged, failed, durable });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut checker = Checker::new(Arc::new(Ledger::new(1, 4096, region, 1)), 0, 8);
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

    #[test]
    fn a_flush_makes_durable_what_was_answered_before_it_began() {
        let size = loadline_units::Bytes::mib(1);
        let region = Region { files: 1, file_size: size, start: loadline_units::Bytes::ZERO, size };
        let ledger = Arc::new(Ledger::new(1, 4096, region, 1));
        let mut checker = Checker::new(Arc::clone(&ledger), 0, 8);
        let request = |operation, offset| Request {
            operation,
            durable: false,
            length: 4096,
            offset,
            due_at: loadline_units::Instant::ZERO,
        };
        let writes: Vec<Request> = (0..4).map(|n| request(Operation::Write, n * 4096)).collect();
        let mut bytes = [0; 4096];
        let mut issue = |checker: &mut Checker, n: usize| checker.issue(&writes[n], &mut bytes);
        assert_eq!((issue(&mut checker, 0), issue(&mut checker, 1)), (1, 2));
        checker.complete(&writes[0], 1, true, &[]);
        let flush = request(Operation::Flush, 0);
        let through = checker.issue(&flush, &mut []);
        checker.complete(&writes[1], 2, false, &[]);
        checker.complete(&flush, through, true, &[]);
        assert_eq!((issue(&mut checker, 2), issue(&mut checker, 3)), (3, 4));
        checker.complete(&writes[3], 4, true, &[]);
        // The third is still under way.
        checker.settle();
        let expected = StreamWritten { issued: 4, acknowledged: 2, failed: vec![2], durable: 1 };
        assert_eq!(ledger.written(), [expected]);
    }
}
