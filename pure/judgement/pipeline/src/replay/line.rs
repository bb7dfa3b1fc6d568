//! Extract, index and database: a bounded queue before workers that are blocked when the next queue is full.

use super::cell::WorkerCell;
use super::task::{Needs, Owner, Task};
use super::{NONE, Run, station_record};
use crate::PipelineItem;
use loadline_record::{QueueIntegral, Station, StationRecord, StationSpec, VolumeRole, WorkerState};
use std::collections::VecDeque;

pub(super) const EXTRACT: usize = 0;
pub(super) const INDEX: usize = 1;
pub(super) const DATABASE: usize = 2;

/// Who has an item that the queue has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    Slot { source: u32 },
    Worker { station: usize, worker: u32 },
}

/// A station under way.
pub(super) struct LineStation {
    spec: StationSpec,
    pub(super) workers: WorkerCell,
    /// Workers without an item.
    pub(super) idle: Vec<u32>,
    pub(super) queue: VecDeque<u32>,
    bytes: u64,
    waiting: VecDeque<(u32, Holder)>,
    at_ns: u64,
    item_ns: u128,
    byte_ns: u128,
    empty_ns: u64,
    full_ns: u64,
    by_source_ns: Vec<u64>,
    pub(super) blocked_by_merges_ns: u64,
}

impl LineStation {
    pub(super) fn new(spec: StationSpec, interval_ns: u64) -> Self {
        Self {
            spec,
            workers: WorkerCell::new(spec.workers, interval_ns),
            idle: (0..spec.workers).rev().collect(),
            queue: VecDeque::new(),
            bytes: 0,
            waiting: VecDeque::new(),
            at_ns: 0,
            item_ns: 0,
            byte_ns: 0,
            empty_ns: 0,
            full_ns: 0,
            by_source_ns: Vec::new(),
            blocked_by_merges_ns: 0,
        }
    }
    fn charge(&mut self, now: u64) {
        let span = now - self.at_ns;
        self.item_ns += self.queue.len() as u128 * u128::from(span);
        self.byte_ns += u128::from(self.bytes) * u128::from(span);
        if self.queue.is_empty() {
            self.empty_ns += span;
        }
        if !self.waiting.is_empty() {
            self.full_ns += span;
        }
        self.at_ns = now;
    }
    fn has_room(&self, bytes: u64) -> bool {
        self.queue.is_empty()
            || (self.queue.len() < self.spec.queue.items as usize && self.bytes + bytes <= self.spec.queue.bytes.get())
    }
    fn add_busy(&mut self, source: u32, ns: u64) {
        let source = source as usize;
        if self.by_source_ns.len() <= source {
            self.by_source_ns.resize(source + 1, 0);
        }
        self.by_source_ns[source] += ns;
    }
    pub(super) fn finish(mut self, station: Station, wall_ns: u64) -> StationRecord {
        self.charge(wall_ns);
        let mut record = station_record(station, self.spec.workers, self.workers, wall_ns);
        record.queue = QueueIntegral {
            item_us: (self.item_ns / 1_000) as u64,
            byte_us: (self.byte_ns / 1_000) as u64,
            empty_ns: self.empty_ns,
            full_ns: self.full_ns,
        };
        record.busy_by_source_ns = self.by_source_ns;
        record.blocked_by_merges_ns = self.blocked_by_merges_ns;
        record
    }
}

/// Bytes that an item has in the queue before a station.
const fn queued_bytes(item: &PipelineItem, station: usize) -> u64 {
    if station == EXTRACT { item.bytes } else { item.text_bytes }
}

impl Run<'_> {
    /// Puts an item into a station's queue. Returns whether there was room; if not, its holder waits in order.
    pub(super) fn put(&mut self, station: usize, item: u32, holder: Holder) -> bool {
        let bytes = queued_bytes(&self.items[item as usize], station);
        let of = &mut self.line[station];
        of.charge(self.now);
        if !of.waiting.is_empty() || !of.has_room(bytes) {
            of.waiting.push_back((item, holder));
            return false;
        }
        self.enqueue(station, item, bytes);
        true
    }
    fn enqueue(&mut self, station: usize, item: u32, bytes: u64) {
        let of = &mut self.line[station];
        of.queue.push_back(item);
        of.bytes += bytes;
        of.workers.enter(self.now);
    }

    /// Whether a station's workers may take items.
    fn is_open(&self, station: usize) -> bool {
        match station {
            INDEX => self.epoch.index_is_open(),
            DATABASE => self.epoch.database_is_open(),
            _ => true,
        }
    }

    /// Starts workers and lets holders in, from the end of the line to its start.
    pub(super) fn settle_line(&mut self) -> bool {
        let mut any = false;
        for station in (0..self.line.len()).rev() {
            loop {
                let began = self.start_worker(station);
                let admitted = self.admit(station);
                if !began && !admitted {
                    break;
                }
                any = true;
            }
            let gated = if self.is_open(station) { 0 } else { self.line[station].workers.idle() };
            self.line[station].workers.set_gated(self.now, gated);
        }
        any
    }

    fn start_worker(&mut self, station: usize) -> bool {
        if self.line[station].queue.is_empty() || self.line[station].idle.is_empty() || !self.is_open(station) {
            return false;
        }
        let now = self.now;
        let of = &mut self.line[station];
        of.charge(now);
        let (Some(item), Some(worker)) = (of.queue.pop_front(), of.idle.pop()) else { return false };
        let needs = &self.items[item as usize];
        of.bytes -= queued_bytes(needs, station);
        of.workers.take(now, WorkerState::Cpu);
        let work = needs.work[station];
        let wants =
            Needs { other_ns: work.other_ns, cpu_ns: work.cpu_ns, device_ns: work.device_ns, ..Needs::default() };
        let role = if station == DATABASE { VolumeRole::Data } else { VolumeRole::Index };
        self.start(Task::new(now, Owner::Line { station, worker, item }, wants, role));
        true
    }

    fn admit(&mut self, station: usize) -> bool {
        let Some((item, holder)) = self.line[station].waiting.front().copied() else { return false };
        let bytes = queued_bytes(&self.items[item as usize], station);
        if !self.line[station].has_room(bytes) {
            return false;
        }
        self.line[station].charge(self.now);
        self.line[station].waiting.pop_front();
        self.enqueue(station, item, bytes);
        match holder {
            Holder::Slot { source } => self.slot_free(source),
            Holder::Worker { station, worker } => {
                self.line[station].workers.shift(self.now, WorkerState::Blocked, WorkerState::Cpu);
                self.passed_on(station, worker);
            }
        }
        true
    }

    /// A worker is done with an item.
    pub(super) fn worked(&mut self, station: usize, worker: u32, item: u32, task: &Task) {
        let now = self.now;
        let PipelineItem { source, text_bytes, .. } = self.items[item as usize];
        self.line[station].add_busy(source, now - task.began_ns);
        if let Some(record) = self.records.get_mut(item as usize) {
            record.spans[station] = loadline_record::Span { start_ns: task.began_ns, end_ns: now };
            record.work[station] = loadline_record::Work {
                cpu_ns: task.took.cpu_ns,
                device_ns: task.took.device_ns,
                other_ns: task.took.other_ns,
            };
        }
        match station {
            EXTRACT => {
                let mut found = self.first_found[item as usize];
                while found != NONE {
                    self.release(found);
                    found = self.next_found[found as usize];
                }
            }
            INDEX => self.indexed(worker, text_bytes),
            _ => {
                self.left -= 1;
                let of = &mut self.sources[source as usize];
                of.left -= 1;
                if of.left == 0 {
                    of.ended_ns = now;
                }
                self.epoch.rows.push(item);
                self.passed_on(station, worker);
                return;
            }
        }
        if self.put(station + 1, item, Holder::Worker { station, worker }) {
            self.passed_on(station, worker);
        } else {
            self.line[station].workers.shift(now, WorkerState::Cpu, WorkerState::Blocked);
        }
    }

    /// A worker got rid of its item. An index worker may have a segment to write before the next.
    fn passed_on(&mut self, station: usize, worker: u32) {
        self.line[station].workers.leave(self.now);
        if station == INDEX && self.segment_is_full(worker) {
            self.write_segment(worker, false);
        } else {
            self.worker_free(station, worker, WorkerState::Cpu);
        }
    }

    pub(super) fn worker_free(&mut self, station: usize, worker: u32, from: WorkerState) {
        self.line[station].workers.shift(self.now, from, WorkerState::Starved);
        self.line[station].idle.push(worker);
    }
}
