//! Start of a request: the way of its parts through the virtual machine's budgets and the disks' limits.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use super::outstanding::{Event, KnownTimes, Outstanding, Owner, PendingPart};
use super::{Machine, Path, Target, TargetState, pass};
use crate::cache::{BlockMap, Run};
use crate::layout::{Piece, Split};
use crate::{Holds, HostCache};
use loadline_block::Operation;
use rand_core::Rng;

impl Machine {
    /// Starts the parts of a request. The request is read in place, since passing it on would copy it once more.
    pub(super) fn start_parts(&mut self, now: u64, id: u32, target: Target) -> KnownTimes {
        let Outstanding { operation, offset, length, .. } = self.outstanding[id as usize];
        let TargetState { disks, placement, .. } = &self.targets[target.0];
        if operation != Operation::Flush
            && let Some(Piece { disk, offset, length }) = placement.only_part(offset, u64::from(length))
        {
            let disk = disks[disk];
            let known = self.start(now, id, disk, operation, offset, length);
            if self.accounts.is_some() {
                self.account_part(now, disk, known);
                self.account_request(id, target);
            }
            return known;
        }
        self.start_several(now, id, target, Split::new(operation, offset, u64::from(length)))
    }

    #[inline(never)]
    fn start_several(&mut self, now: u64, id: u32, target: Target, mut split: Split) -> KnownTimes {
        let mut known = KnownTimes::nothing(now);
        let operation = split.operation();
        while let Some(Piece { disk, offset, length }) = self.targets[target.0].placement.next(&mut split) {
            if self.targets[target.0].placement.is_absent(disk) {
                continue;
            }
            let disk = self.targets[target.0].disks[disk];
            let part = self.start(now, id, disk, operation, offset, length);
            if self.accounts.is_some() {
                self.account_part(now, disk, part);
            }
            known.admitted = known.admitted.max(part.admitted);
            known.completed = known.completed.max(part.completed);
        }
        if self.accounts.is_some() {
            self.account_request(id, target);
        }
        known
    }

    /// Starts one part. A part without a known end counts as pending.
    #[inline(always)]
    pub(super) fn start(
        &mut self,
        now: u64,
        id: u32,
        disk: usize,
        operation: Operation,
        offset: u64,
        length: u64,
    ) -> KnownTimes {
        match self.disks[disk].path {
            Path::Network => {
                let at = pass(&mut self.vm_uncached, now, operation, offset, length);
                self.reach_disk(at, Owner::Request(id), disk, operation, offset, length)
            }
            Path::Local | Path::Cached { .. } => self.start_at_host(now, id, disk, operation, offset, length),
        }
    }

    /// [`Machine::start`], for a disk whose requests go through the host.
    #[inline(always)]
    fn start_at_host(
        &mut self,
        now: u64,
        id: u32,
        disk: usize,
        operation: Operation,
        offset: u64,
        length: u64,
    ) -> KnownTimes {
        match self.disks[disk].path {
            Path::Network | Path::Local => {
                let at = self.pass_host(now, operation, offset, length);
                self.reach_disk(at, Owner::Request(id), disk, operation, offset, length)
            }
            Path::Cached { cache, member, mode, hit } => {
                let run = Run::of(offset, length);
                let state = &mut self.caches[cache];
                let taken = mode == HostCache::ReadWrite && BlockMap::is_within(run);
                let mut is_hit = false;
                match operation {
                    Operation::Read => {
                        is_hit = state.cache.ask(member, run);
                        *(if is_hit { &mut state.hits } else { &mut state.misses }) += 1;
                    }
                    Operation::Write if taken && !self.outstanding[id as usize].durable => {
                        return self.write_to_cache(now, id, disk, offset, length);
                    }
                    Operation::Write => state.cache.insert(member, run),
                    Operation::Flush if taken => {
                        self.flush_cache(now, id, disk);
                        return KnownTimes::nothing(now);
                    }
                    Operation::Trim | Operation::Flush => {}
                }
                let at = if is_hit || !self.only_answers_count {
                    pass(&mut self.vm_cached, now, operation, offset, length)
                } else {
                    now
                };
                if is_hit {
                    let done = at + self.samplers[hit].draw(self.random.next_u64(), length);
                    return KnownTimes { admitted: at, completed: done };
                }
                let at = pass(&mut self.vm_uncached, at, operation, offset, length);
                self.reach_disk(at, Owner::Request(id), disk, operation, offset, length)
            }
        }
    }

    /// When a part of a local disk has passed the host's budget.
    #[inline(never)]
    fn pass_host(&mut self, now: u64, operation: Operation, offset: u64, length: u64) -> u64 {
        if self.only_answers_count { now } else { pass(&mut self.vm_cached, now, operation, offset, length) }
    }

    /// A part has passed the virtual machine's budgets: on to the disk.
    #[inline(always)]
    pub(super) fn reach_disk(
        &mut self,
        now: u64,
        owner: Owner,
        number: usize,
        operation: Operation,
        offset: u64,
        length: u64,
    ) -> KnownTimes {
        let Self { disks, pools, samplers, random, .. } = self;
        let disk = &mut disks[number];
        let mut at = now;
        if let Some(allowance) = disk.allowance {
            at = pools[allowance].pass(at, operation, offset, length);
        }
        if let Some(pool) = disk.pool {
            at = pools[pool].pass(at, operation, offset, length);
        }
        at = disk.limiter.pass(at, operation, offset, length);
        if disk.takes_turns {
            return self.reach_turn(
                now,
                at,
                PendingPart { owner, disk: number, operation, offset, length, since: now },
            );
        }
        let service = disk.service(samplers, random, operation, length);
        let begins = if disk.holds == Holds::Answers { now } else { at };
        let completed = (begins + service).max(at);
        if let Owner::WriteBack(_) = owner {
            let part = PendingPart { owner, disk: number, operation, offset, length, since: now };
            self.part_follows(completed, part, Event::WroteBack);
        }
        KnownTimes { admitted: at, completed }
    }

    /// A part continues at `at`.
    #[inline(never)]
    pub(super) fn part_follows(&mut self, at: u64, part: PendingPart, event: fn(u32) -> Event) {
        let part = self.new_part(part);
        self.plan(at, event(part));
    }
}
