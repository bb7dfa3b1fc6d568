//! Write-back: the host's cache accepts writes and sends them to the disk later.

use super::{CacheState, KnownTimes, Machine, Owner, Path, PendingPart, Waits, pass};
use crate::cache::{BLOCK, Run};
use crate::limit::Limiter;
use loadline_block::Operation;
use rand_core::Rng;

/// Runs of blocks of a disk on their way from the cache at once.
const IN_FLIGHT_MAX: usize = 32;
/// Blocks of a run at most: 256 KiB, one request in the providers' count.
const RUN_MAX: u64 = 64;

/// Runs in write-back to a disk, and the flushes that wait for them.
#[derive(Debug, Clone, Default)]
pub(super) struct WriteBack {
    /// Numbers of the runs on their way.
    in_flight: Vec<u64>,
    issued: u64,
    flushes: Vec<Flush>,
    /// Their waiting at limits, which delays no request.
    pub(super) waited: Waits,
}

/// A flush that waits until all blocks that were dirty at its arrival are on the disk.
#[derive(Debug, Clone, Copy)]
struct Flush {
    id: u32,
    /// The search for dirty blocks must have come round to this place: rounds, block.
    place: (u64, u64),
    /// Then all runs issued before this one must have arrived.
    until: Option<u64>,
}

impl Machine {
    /// A part of a write reaches a write-back cache.
    pub(super) fn write_to_cache(&mut self, now: u64, id: u32, disk: usize, offset: u64, length: u64) -> KnownTimes {
        let Path::Cached { cache, .. } = self.disks[disk].path else { unreachable!("the disk has a cache") };
        let state = &mut self.caches[cache];
        if state.stalling || !state.cache.has_room(Run::of(offset, length).count) {
            state.stalling = true;
            let part = PendingPart {
                owner: Owner::Request(id),
                disk,
                operation: Operation::Write,
                offset,
                length,
                since: now,
            };
            self.outstanding[id as usize].parts += 1;
            let part = self.new_part(part);
            self.caches[cache].stalled.push_back(part);
            return KnownTimes::nothing(now);
        }
        self.take_write(now, disk, offset, length)
    }

    /// The cache accepts a write.
    fn take_write(&mut self, now: u64, disk: usize, offset: u64, length: u64) -> KnownTimes {
        let Path::Cached { cache, member, hit, .. } = self.disks[disk].path else {
            unreachable!("the disk has a cache")
        };
        self.caches[cache].cache.write(member, Run::of(offset, length));
        let at = pass(&mut self.vm_cached, now, Operation::Write, offset, length);
        let done = at + self.samplers[hit].draw(self.random.next_u64(), length);
        self.write_back(now, disk);
        KnownTimes { admitted: at, completed: done }
    }

    /// A flush reaches a write-back cache.
    pub(super) fn flush_cache(&mut self, now: u64, id: u32, disk: usize) {
        let Path::Cached { cache, member, .. } = self.disks[disk].path else { unreachable!("the disk has a cache") };
        let (rounds, hand) = self.caches[cache].cache.member(member).swept();
        self.outstanding[id as usize].parts += 1;
        self.disks[disk].write_back.flushes.push(Flush { id, place: (rounds + 1, hand), until: None });
        self.end_flushes(now, disk);
    }

    /// Sends dirty blocks of a disk on their way, as many runs as may be.
    fn write_back(&mut self, now: u64, disk: usize) {
        let Path::Cached { cache, member, .. } = self.disks[disk].path else { unreachable!("the disk has a cache") };
        while self.disks[disk].write_back.in_flight.len() < IN_FLIGHT_MAX {
            let Some(run) = self.caches[cache].cache.take_dirty(member, RUN_MAX) else { return };
            let number = self.disks[disk].write_back.issued;
            self.disks[disk].write_back.issued += 1;
            self.disks[disk].write_back.in_flight.push(number);
            self.send_back(now, disk, number, (run.first * BLOCK, run.count * BLOCK));
        }
    }

    /// A run of blocks, an offset and a length, leaves the cache for its disk.
    fn send_back(&mut self, now: u64, disk: usize, number: u64, (offset, length): (u64, u64)) {
        let before = self.waits_behind_cache(disk);
        let at = pass(&mut self.vm_uncached, now, Operation::Write, offset, length);
        self.reach_disk(at, Owner::WriteBack(number), disk, Operation::Write, offset, length);
        let waited = self.waits_behind_cache(disk).since(&before);
        self.disks[disk].write_back.waited = self.disks[disk].write_back.waited.and(&waited);
        self.account_nobody(disk);
    }

    /// Nothing waits any more: writes that waited for room are not done, flushes not answered. Write-back in flight,
    /// the parts in `before`, starts anew.
    pub(super) fn break_off_caches(&mut self, now: u64, before: Vec<PendingPart>) {
        for cache in &mut self.caches {
            cache.stalled.clear();
            cache.stalling = false;
        }
        let mut runs: Vec<(usize, u64, (u64, u64))> = Vec::new();
        for part in before {
            let Owner::WriteBack(number) = part.owner else { continue };
            if self.disks[part.disk].write_back.in_flight.contains(&number) {
                runs.push((part.disk, number, (part.offset, part.length)));
            }
        }
        runs.sort_unstable();
        for disk in &mut self.disks {
            disk.write_back.flushes.clear();
        }
        for (disk, number, range) in runs {
            self.send_back(now, disk, number, range);
        }
    }

    /// The waiting so far at the limits between a cache and its disk.
    fn waits_behind_cache(&self, disk: usize) -> Waits {
        let disk = &self.disks[disk];
        Waits {
            vm_uncached: self.vm_uncached.as_ref().map(Limiter::waited).unwrap_or_default(),
            allowances: disk.allowance.map(|pool| self.pools[pool].waited()).unwrap_or_default(),
            pools: disk.pool.map(|pool| self.pools[pool].waited()).unwrap_or_default(),
            disks: disk.limiter.waited(),
            service: disk.lanes.waited(),
            ..Waits::default()
        }
    }

    /// Blocks have reached their disk: there is room again.
    pub(super) fn wrote_back(&mut self, now: u64, part: u32) {
        let PendingPart { owner, disk, length, .. } = self.parts[part as usize];
        self.free_parts.push(part);
        let Owner::WriteBack(number) = owner else { unreachable!("only caches write back") };
        let Path::Cached { cache, .. } = self.disks[disk].path else { unreachable!("the disk has a cache") };
        self.disks[disk].write_back.in_flight.retain(|other| *other != number);
        self.caches[cache].cache.wrote_back(length / BLOCK);
        self.resume(now, cache);
        self.write_back(now, disk);
        self.end_flushes(now, disk);
    }

    /// Resumes stalled writes, in their order, as far as there is room.
    fn resume(&mut self, now: u64, cache: usize) {
        let CacheState { stalling, resume_at, cache: blocks, .. } = &self.caches[cache];
        if !*stalling || blocks.dirty() > *resume_at {
            return;
        }
        while let Some(&number) = self.caches[cache].stalled.front() {
            let PendingPart { owner, disk, offset, length, since, .. } = self.parts[number as usize];
            if !self.caches[cache].cache.has_room(Run::of(offset, length).count) {
                return;
            }
            self.caches[cache].stalled.pop_front();
            self.caches[cache].waited += now - since;
            self.free_parts.push(number);
            let known = self.take_write(now, disk, offset, length);
            let Owner::Request(id) = owner else { unreachable!("caches do not write to themselves") };
            self.account_resumed(now, id, disk, since);
            self.part_ends(id, known.admitted, known.completed);
        }
        self.caches[cache].stalling = false;
    }

    /// Completes the flushes whose blocks are on the disk.
    fn end_flushes(&mut self, now: u64, disk: usize) {
        if self.disks[disk].write_back.flushes.is_empty() {
            return;
        }
        let Path::Cached { cache, member, .. } = self.disks[disk].path else { unreachable!("the disk has a cache") };
        let map = self.caches[cache].cache.member(member);
        let (swept, clean) = (map.swept(), map.dirty() == 0);
        let WriteBack { in_flight, issued, flushes, .. } = &mut self.disks[disk].write_back;
        let mut ended = Vec::new();
        flushes.retain_mut(|flush| {
            if flush.until.is_none() && (clean || swept >= flush.place) {
                flush.until = Some(*issued);
            }
            let over = flush.until.is_some_and(|until| in_flight.iter().all(|number| *number >= until));
            if over {
                ended.push(*flush);
            }
            !over
        });
        for flush in ended {
            self.account_flushed(now, flush.id);
            let done = now + self.service(disk, Operation::Flush, 0);
            self.part_ends(flush.id, now, done);
        }
    }
}
