//! Segments, merges and epochs: what the index writes in batches, and when index and database become durable together.

use super::cell::WorkerCell;
use super::line::{DATABASE, INDEX};
use super::task::{Owner, Task};
use super::{Event, Run, Volumes, station_record};
use loadline_record::{BatchCost, PipelineSpec, Station, StationRecord, VolumeRole, WorkerState};
use std::collections::VecDeque;

/// Where a commit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Items pass.
    Open,
    /// Index workers end what they have in hand, and write their segments.
    Closing,
    /// Rows of the epoch's items are written.
    Draining,
    /// Index, then database, become durable.
    Committing,
}

/// The epoch under way, and the segments of the index.
pub(super) struct Epoch {
    standing: Standing,
    pub(super) number: u64,
    /// Items indexed since the last commit.
    items: u64,
    pub(super) is_old: bool,
    /// Items whose rows are written and not durable.
    pub(super) rows: Vec<u32>,
    pub(super) committer: WorkerCell,
    pub(super) merges: WorkerCell,
    merge_threads: u32,
    /// Text in the segment of each index worker, bytes.
    segments: Vec<u64>,
    /// Segments on the volume, by level, KiB.
    levels: Vec<Vec<u64>>,
    merges_waiting: VecDeque<(usize, u64)>,
    merges_pending: u32,
    /// Index workers that wait until fewer merges are pending, since when, and whether a commit wants the segment.
    held: VecDeque<(u32, u64, bool)>,
    has_commits: bool,
}

impl Epoch {
    pub(super) fn new(spec: &PipelineSpec, interval_ns: u64) -> Self {
        let merge_threads =
            spec.segments.as_ref().and_then(|segments| segments.merge.as_ref()).map_or(0, |merge| merge.threads);
        Self {
            standing: Standing::Open,
            number: 0,
            items: 0,
            is_old: false,
            rows: Vec::new(),
            committer: WorkerCell::new(1, interval_ns),
            merges: WorkerCell::new(merge_threads, interval_ns),
            merge_threads,
            segments: vec![0; spec.index.workers as usize],
            levels: Vec::new(),
            merges_waiting: VecDeque::new(),
            merges_pending: 0,
            held: VecDeque::new(),
            has_commits: spec.commit.is_some(),
        }
    }
    pub(super) fn index_is_open(&self) -> bool {
        self.standing == Standing::Open
    }
    pub(super) fn database_is_open(&self) -> bool {
        self.standing != Standing::Committing
    }
    /// Whether nothing is left to write.
    pub(super) fn is_done(&self) -> bool {
        self.standing == Standing::Open && self.merges_pending == 0 && self.segments.iter().all(|bytes| *bytes == 0)
    }
    pub(super) fn finish(self, wall_ns: u64) -> Vec<StationRecord> {
        let mut records = Vec::new();
        if self.has_commits {
            records.push(station_record(Station::Commit, 1, self.committer, wall_ns));
        }
        if self.merge_threads > 0 {
            records.push(station_record(Station::Merge, self.merge_threads, self.merges, wall_ns));
        }
        records
    }
}

impl Run<'_> {
    fn is_modelled(&self, role: VolumeRole) -> bool {
        self.volumes.as_ref().is_some_and(|volumes: &Volumes| volumes.serves(role))
    }

    /// An index worker has added an item to its segment.
    pub(super) fn indexed(&mut self, worker: u32, text_bytes: u64) {
        if self.spec.segments.is_some() {
            self.epoch.segments[worker as usize] += text_bytes;
        }
        self.epoch.items += 1;
        if self.epoch.items == 1
            && let Some(every) = self.spec.commit.as_ref().and_then(|commit| commit.every)
        {
            self.plan(self.now + every.as_ns(), Event::Commit(self.epoch.number));
        }
    }

    pub(super) fn segment_is_full(&self, worker: u32) -> bool {
        let text = self.epoch.segments[worker as usize];
        self.spec.segments.as_ref().is_some_and(|segments| text > 0 && text >= segments.budget.get())
    }

    /// A worker, busy until now, writes its segment, or waits until fewer merges are pending.
    pub(super) fn write_segment(&mut self, worker: u32, early: bool) {
        let segments = self.spec.segments.as_ref().expect("there are segments");
        if segments.merge.as_ref().is_some_and(|merge| self.epoch.merges_pending >= merge.pending_max) {
            self.line[INDEX].workers.shift(self.now, WorkerState::Cpu, WorkerState::Blocked);
            self.epoch.held.push_back((worker, self.now, early));
            return;
        }
        let units = self.epoch.segments[worker as usize].div_ceil(1024);
        self.epoch.segments[worker as usize] = 0;
        let is_modelled = self.is_modelled(VolumeRole::Index);
        let owner = Owner::Flush { worker };
        let mut task = Task::batch(self.now, owner, &segments.flush, units, VolumeRole::Index, is_modelled);
        task.early = early;
        self.start(task);
    }

    /// A segment is on the volume.
    pub(super) fn flushed(&mut self, worker: u32, task: &Task) {
        self.note_batch(Station::Index, task);
        self.add_segment(0, task.units);
        self.worker_free(INDEX, worker, WorkerState::Cpu);
    }

    fn add_segment(&mut self, level: usize, kib: u64) {
        let merge = self.spec.segments.as_ref().and_then(|segments| segments.merge.as_ref());
        let Some(merge) = merge else { return };
        if self.epoch.levels.len() <= level {
            self.epoch.levels.resize(level + 1, Vec::new());
        }
        self.epoch.levels[level].push(kib);
        if self.epoch.levels[level].len() >= merge.factor as usize {
            let joined = self.epoch.levels[level].drain(..).sum();
            self.epoch.merges_waiting.push_back((level, joined));
            self.epoch.merges_pending += 1;
        }
    }

    pub(super) fn merged(&mut self, level: usize, task: &Task) {
        self.note_batch(Station::Merge, task);
        self.epoch.merges.shift(self.now, WorkerState::Cpu, WorkerState::Starved);
        self.epoch.merges.pass(self.now);
        self.epoch.merges_pending -= 1;
        self.add_segment(level + 1, task.units);
    }

    /// Whether an epoch should end now.
    fn commit_is_due(&self) -> bool {
        let is_last = self.left == 0;
        let has_segments = self.epoch.segments.iter().any(|bytes| *bytes > 0);
        match &self.spec.commit {
            None => is_last && has_segments,
            Some(commit) => {
                self.epoch.items > 0
                    && (is_last
                        || self.epoch.is_old
                        || commit.every_items.is_some_and(|items| self.epoch.items >= items))
            }
        }
    }

    /// Moves merges and the commit on.
    pub(super) fn settle_epoch(&mut self) -> bool {
        self.start_merges();
        self.release_held();
        let index_is_idle = self.line[INDEX].idle.len() == self.spec.index.workers as usize;
        match self.epoch.standing {
            Standing::Open if self.commit_is_due() => {
                self.epoch.standing = Standing::Closing;
                true
            }
            Standing::Closing if index_is_idle => {
                let full: Vec<u32> =
                    (0..self.spec.index.workers).filter(|worker| self.epoch.segments[*worker as usize] > 0).collect();
                if full.is_empty() {
                    self.epoch.standing = Standing::Draining;
                }
                for worker in full {
                    self.line[INDEX].idle.retain(|idle| *idle != worker);
                    self.line[INDEX].workers.take(self.now, WorkerState::Cpu);
                    self.write_segment(worker, true);
                }
                true
            }
            Standing::Draining if self.is_drained() => {
                match &self.spec.commit {
                    None => self.epoch.standing = Standing::Open,
                    Some(commit) => {
                        self.epoch.standing = Standing::Committing;
                        self.start_commit(Owner::CommitIndex, &commit.index, VolumeRole::Index);
                    }
                }
                true
            }
            Standing::Open | Standing::Closing | Standing::Draining | Standing::Committing => false,
        }
    }

    fn is_drained(&self) -> bool {
        self.line[DATABASE].queue.is_empty() && self.line[DATABASE].idle.len() == self.spec.database.workers as usize
    }

    fn start_commit(&mut self, owner: Owner, cost: &BatchCost, role: VolumeRole) {
        self.epoch.committer.take(self.now, WorkerState::Cpu);
        let is_modelled = self.is_modelled(role);
        self.start(Task::batch(self.now, owner, cost, self.epoch.items, role, is_modelled));
    }

    pub(super) fn index_committed(&mut self, task: &Task) {
        self.note_batch(Station::Commit, task);
        self.epoch.committer.shift(self.now, WorkerState::Cpu, WorkerState::Starved);
        let commit = self.spec.commit.as_ref().expect("there are commits");
        self.start_commit(Owner::CommitDatabase, &commit.database, VolumeRole::Log);
    }

    pub(super) fn database_committed(&mut self, task: &Task) {
        self.note_batch(Station::Database, task);
        self.epoch.committer.shift(self.now, WorkerState::Cpu, WorkerState::Starved);
        self.epoch.committer.pass(self.now);
        for item in std::mem::take(&mut self.epoch.rows) {
            if let Some(record) = self.records.get_mut(item as usize) {
                record.committed_ns = Some(self.now);
            }
        }
        self.epoch.standing = Standing::Open;
        self.epoch.number += 1;
        (self.epoch.items, self.epoch.is_old) = (0, false);
    }

    fn start_merges(&mut self) {
        while self.epoch.merges.idle() > 0
            && let Some((level, kib)) = self.epoch.merges_waiting.pop_front()
        {
            let merge = self.spec.segments.as_ref().and_then(|segments| segments.merge.as_ref());
            let cost = &merge.expect("there are merges").cost;
            let is_modelled = self.is_modelled(VolumeRole::Index);
            self.epoch.merges.take(self.now, WorkerState::Cpu);
            self.start(Task::batch(self.now, Owner::Merge { level }, cost, kib, VolumeRole::Index, is_modelled));
        }
    }

    fn release_held(&mut self) {
        let merge = self.spec.segments.as_ref().and_then(|segments| segments.merge.as_ref());
        let Some(merge) = merge else { return };
        while self.epoch.merges_pending < merge.pending_max
            && let Some((worker, since, early)) = self.epoch.held.pop_front()
        {
            self.line[INDEX].blocked_by_merges_ns += self.now - since;
            self.line[INDEX].workers.shift(self.now, WorkerState::Blocked, WorkerState::Cpu);
            self.write_segment(worker, early);
        }
    }
}
