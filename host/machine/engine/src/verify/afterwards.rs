//! Checks what stands on a volume against a trial that is over, or was cut off at any moment.

use super::marks::{Block, generation, read_block, write_of};
use super::{judge, note, window};
use loadline_block::Operation;
use loadline_record::{StreamWritten, VerifyFaultKind, VerifyRecord};
use loadline_workload::{LoadGenerator, Region};
use std::ops::Range;

/// The known facts of a trial that is checked after its end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Past<'a> {
    /// How far each thread's writes came, by the trial's record. Empty without a record: then it is inferred from what is
    /// there, and writes that were lost after the last one found leave no trace.
    pub streams: &'a [StreamWritten],
    /// Bytes of each file where something else may have written since: what is missing there is no fault.
    pub overwritten: &'a [Range<u64>],
    /// Everything may have been written anew since, from the first byte to the last: where nothing of the trial is left, that is no
    /// fault.
    pub replaced: bool,
    /// Bytes of each file that are not looked at: a later trial wrote there, and is checked itself.
    pub left_out: &'a [Range<u64>],
}

/// A first pass (`observe`) reads the present blocks; a second, over the streams alone, computes the blocks that must be there.
#[derive(Debug)]
pub(crate) struct Afterwards {
    seed: u64,
    block: u64,
    region: Region,
    /// Every whole block of the region, in the order of their offsets; `None` for those that were not looked at.
    found: Vec<Option<Block>>,
}

/// The writes of one block.
#[derive(Debug, Clone, Copy, Default)]
struct Writes {
    /// The last that must be there unless a later one is; 0 for none.
    least: u32,
    /// The last that can have been issued; 0 for none.
    most: u32,
    /// What the block holds was written for it.
    confirmed: bool,
}

/// How far the writes of a thread came.
#[derive(Debug, Clone, Copy)]
struct Reach<'a> {
    issued: u32,
    acknowledged: u32,
    failed: &'a [u32],
    /// Beyond it, only writes that are durable by themselves must be there.
    durable: u32,
}

impl<'a> Reach<'a> {
    fn recorded(stream: &'a StreamWritten) -> Self {
        let StreamWritten { issued, acknowledged, failed, durable } = stream;
        Self { issued: *issued, acknowledged: *acknowledged, failed, durable: *durable }
    }
    /// From the last write of which anything is there: the stream runs only so far ahead of its oldest unanswered write. What
    /// was flushed is not known, so that an answer counts.
    fn inferred(last: u32, slots: u32) -> Self {
        let acknowledged = last.saturating_sub(window(slots));
        Self { issued: last, acknowledged, failed: &[], durable: acknowledged }
    }
    /// Whether this write must be there.
    fn certain(&self, number: u32, durable: bool) -> bool {
        number <= self.acknowledged
            && (durable || number <= self.durable)
            && self.failed.binary_search(&number).is_err()
    }
}

/// What a block comes to.
enum Verdict {
    Sound,
    Fault(VerifyFaultKind, String),
    /// The load never wrote it.
    Unwritten,
    /// It may have been written and lost, or never written.
    Unknown,
}

impl Afterwards {
    pub(crate) fn new(seed: u64, block: u64, region: Region) -> Self {
        let found = super::offsets(&region, block).map(|_| None).collect();
        Self { seed, block, region, found }
    }

    /// Offsets of the blocks to observe, ascending.
    pub(crate) fn offsets(&self, past: &Past<'_>) -> Vec<u64> {
        let is_wanted = |offset: &u64| !self.touches(past.left_out, *offset);
        super::offsets(&self.region, self.block).filter(is_wanted).collect()
    }

    /// A block as it was read; `Err` when it could not be.
    pub(crate) fn observe(&mut self, offset: u64, bytes: Result<&[u8], String>) {
        let index = self.index(offset);
        self.found[index] = Some(match bytes {
            Ok(bytes) => read_block(bytes, self.seed, offset),
            Err(detail) => Block::unreadable(detail),
        });
    }

    /// Replays the streams and judges every block. `generators` are the load's, in the order of their threads; `slots` is how
    /// many requests each kept in flight. `None` when nothing is there of the trial, and it is not known to have written anything.
    pub(crate) fn judge(self, generators: &mut [LoadGenerator], slots: u32, past: &Past<'_>) -> Option<VerifyRecord> {
        let recorded = past.streams.len() == generators.len();
        let mut last = vec![0u32; generators.len()];
        for newest in self.found.iter().flatten().filter_map(Block::newest) {
            let (thread, number) = write_of(newest);
            if let Some(last) = last.get_mut(thread) {
                *last = (*last).max(number);
            }
        }
        let nothing_left = last.iter().all(|last| *last == 0);
        let must = recorded && past.streams.iter().any(|stream| stream.issued > 0);
        if !must && nothing_left {
            return None;
        }
        let mut writes = vec![Writes::default(); self.found.len()];
        for (thread, (generator, &last)) in (0..).zip(generators.iter_mut().zip(&last)) {
            let reach =
                if recorded { Reach::recorded(&past.streams[thread as usize]) } else { Reach::inferred(last, slots) };
            let mut number = 0;
            // Beyond what was issued for what an earlier attempt at the same trial may have left.
            while number < reach.issued.max(last) {
                let request = generator.replay();
                if request.operation != Operation::Write {
                    continue;
                }
                number += 1;
                let index = self.index(request.offset);
                let writes = &mut writes[index];
                writes.confirmed |=
                    self.found[index].as_ref().and_then(Block::newest) == Some(generation(thread, number));
                if number <= reach.issued {
                    writes.most = number;
                    if reach.certain(number, request.durable) {
                        writes.least = number;
                    }
                }
            }
        }
        let mut record = VerifyRecord::default();
        for ((offset, block), writes) in super::offsets(&self.region, self.block).zip(&self.found).zip(&writes) {
            let Some(block) = block else { continue };
            let overwritten = past.replaced && nothing_left || self.touches(past.overwritten, offset);
            match verdict(block, *writes, recorded, overwritten) {
                Verdict::Sound => record.blocks_checked += 1,
                Verdict::Fault(kind, detail) => {
                    record.blocks_checked += 1;
                    note(&mut record, offset, self.block as usize, kind, detail);
                }
                Verdict::Unwritten => record.blocks_unwritten += 1,
                Verdict::Unknown => record.blocks_unknown += 1,
            }
        }
        Some(record)
    }

    /// Whether anything of the block at `offset` lies in one of these parts of each file.
    fn touches(&self, parts: &[Range<u64>], offset: u64) -> bool {
        let within = offset % self.region.file_size.get();
        super::touches(parts, within, self.block)
    }

    /// Which block lies at `offset`.
    fn index(&self, offset: u64) -> usize {
        let Region { file_size, start, size, .. } = self.region;
        let (file, within) = (offset / file_size.get(), offset % file_size.get() - start.get());
        (file * (size.get() / self.block) + within / self.block) as usize
    }
}

fn verdict(block: &Block, writes: Writes, recorded: bool, overwritten: bool) -> Verdict {
    let Writes { least, most, confirmed } = writes;
    let unsure = if most > 0 || !recorded { Verdict::Unknown } else { Verdict::Unwritten };
    if let Some(newest) = block.newest().filter(|_| !confirmed) {
        let detail = format!("write {} stands here, which belongs elsewhere", write_of(newest).1);
        return Verdict::Fault(VerifyFaultKind::Corrupt, detail);
    }
    match block {
        Block::Whole(newest) if least == 0 && write_of(*newest).1 > most => unsure,
        Block::Foreign(_) if overwritten || least == 0 => unsure,
        Block::Wrong(wrong) => match wrong.kind {
            VerifyFaultKind::Unreadable if most == 0 => unsure,
            VerifyFaultKind::Torn | VerifyFaultKind::Corrupt if wrong.rotten => {
                Verdict::Fault(VerifyFaultKind::Corrupt, wrong.detail.clone())
            }
            // A write that was under way may be there in part, here over an earlier one.
            VerifyFaultKind::Torn if least > 0 && most > least => Verdict::Sound,
            // Here over what was there before the load, or below what other loads wrote since.
            VerifyFaultKind::Torn | VerifyFaultKind::Corrupt if least == 0 || overwritten => unsure,
            _ => Verdict::Fault(wrong.kind, wrong.detail.clone()),
        },
        _ => match judge(block, least, most) {
            Some((kind, detail)) => Verdict::Fault(kind, detail),
            None => Verdict::Sound,
        },
    }
}
