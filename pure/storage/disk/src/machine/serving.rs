//! Service: computes when a part that has passed the limits is done.

#![expect(
    clippy::inline_always,
    reason = "what is done for each simulated request is one piece of code: with calls between its steps it is a sixth slower"
)]

use super::outstanding::{Event, KnownTimes, Owner, PendingPart};
use super::{DiskState, Machine};
use crate::Holds;
use crate::latency::Sampler;
use loadline_block::Operation;
use rand_core::Rng;

impl Machine {
    /// A part that reached a disk at `now` and passes its limits at `at` comes to a disk with limited places.
    #[inline(never)]
    pub(super) fn reach_turn(&mut self, now: u64, at: u64, part: PendingPart) -> KnownTimes {
        let PendingPart { owner, disk, operation, length, .. } = part;
        if self.disks[disk].spindle.is_some() && operation != Operation::Flush {
            if let Owner::Request(id) = owner {
                self.outstanding[id as usize].parts += 1;
            }
            self.part_follows(at, part, Event::Arrives);
            return KnownTimes::nothing(at);
        }
        let holds = self.disks[disk].holds;
        if at > self.now && holds == Holds::Requests && operation != Operation::Flush {
            if let Owner::Request(id) = owner {
                self.outstanding[id as usize].parts += 1;
            }
            self.part_follows(at, part, Event::Admitted);
            return KnownTimes::nothing(at);
        }
        let begins = if holds == Holds::Answers { now } else { at };
        let completed = self.serve(begins, disk, operation, length).max(at);
        if let Owner::WriteBack(_) = owner {
            self.part_follows(completed, part, Event::WroteBack);
        }
        KnownTimes { admitted: at, completed }
    }

    /// When a part that comes to be served at `now` is done.
    #[inline(always)]
    pub(super) fn serve(&mut self, now: u64, disk: usize, operation: Operation, length: u64) -> u64 {
        let service = self.service(disk, operation, length);
        let lanes = &mut self.disks[disk].lanes;
        match operation {
            Operation::Flush => now + service,
            Operation::Trim => lanes.serve(now, service, 0),
            Operation::Read | Operation::Write => lanes.serve(now, service, length),
        }
    }

    /// A delayed part comes for its place only after the limit: parts that passed meanwhile came first.
    pub(super) fn admitted(&mut self, now: u64, number: u32) {
        let PendingPart { owner, disk, operation, length, .. } = self.parts[number as usize];
        let waited = self.disks[disk].lanes.waited();
        let done = self.serve(now, disk, operation, length);
        let waited = self.disks[disk].lanes.waited().since(waited);
        match owner {
            Owner::Request(id) => {
                self.free_parts.push(number);
                self.account_served(id, disk);
                self.part_ends(id, now, done);
            }
            Owner::WriteBack(_) => {
                let behind = &mut self.disks[disk].write_back.waited;
                behind.service = behind.service + waited;
                self.account_nobody(disk);
                self.plan(done, Event::WroteBack(number));
            }
        }
    }

    /// Draws a service time.
    #[inline(always)]
    pub(super) fn service(&mut self, disk: usize, operation: Operation, length: u64) -> u64 {
        self.disks[disk].service(&self.samplers, &mut self.random, operation, length)
    }
}

impl DiskState {
    /// Draws a service time.
    #[inline(always)]
    pub(super) fn service(
        &self,
        samplers: &[Sampler],
        random: &mut impl Rng,
        operation: Operation,
        length: u64,
    ) -> u64 {
        let bytes = if matches!(operation, Operation::Read | Operation::Write) { length } else { 0 };
        samplers[self.latency[operation.index()]].draw(random.next_u64(), bytes)
    }
}
