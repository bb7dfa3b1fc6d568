//! Epochs: when index and database become durable together.

use crate::clock::{StationBoard, WorkedSpan, WorkerTimer, lock};
use crate::error::CrawlError;
use crate::item::Row;
use crate::state::SharedCrawl;
use crate::volume_io::BatchIo;
use loadline_pipeline::LiveEpoch;
use loadline_record::{BatchRecord, Station, WorkerState};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration as RealDuration;

/// How often a wait looks whether the crawl failed meanwhile.
const LOOK_EVERY: RealDuration = RealDuration::from_millis(50);

/// Where the epoch under way stands.
#[derive(Debug)]
pub(crate) struct EpochGate {
    state: Mutex<EpochState>,
    changed: Condvar,
}

#[derive(Debug)]
struct EpochState {
    /// The epoch that the next commit makes durable.
    epoch: u64,
    /// Items that were indexed since the last commit.
    items: u64,
    /// When the first of them was, ns since the crawl began.
    first_ns: u64,
    /// Index workers that are at work, and those that wrote their segments for this commit.
    workers: u32,
    arrived: u32,
    is_closing: bool,
}

impl EpochGate {
    pub(crate) fn new(epoch: u64, workers: u32) -> Self {
        let state = EpochState { epoch, items: 0, first_ns: 0, workers, arrived: 0, is_closing: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
    /// The current epoch: items that are indexed now belong to it.
    pub(crate) fn epoch(&self) -> u64 {
        lock(&self.state).epoch
    }
    /// The epoch under way; with `items_max` items it ends.
    pub(crate) fn now(&self, items_max: u64) -> LiveEpoch {
        let state = lock(&self.state);
        LiveEpoch { number: state.epoch, items: state.items, items_max }
    }
    /// An item was indexed. Returns whether a commit is due for their number.
    pub(crate) fn indexed(&self, now_ns: u64, every_items: u64) {
        let mut state = lock(&self.state);
        if state.items == 0 {
            state.first_ns = now_ns;
        }
        state.items += 1;
        if state.items == every_items {
            drop(state);
            self.changed.notify_all();
        }
    }
    /// An index worker wrote its segment; it waits until the epoch is over.
    pub(crate) fn arrive(&self, crawl: &SharedCrawl) {
        let mut state = lock(&self.state);
        let epoch = state.epoch;
        state.arrived += 1;
        self.changed.notify_all();
        while state.epoch == epoch && state.is_closing && !crawl.is_failed() {
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
    /// An index worker ended.
    pub(crate) fn worker_ended(&self) {
        lock(&self.state).workers -= 1;
        self.changed.notify_all();
    }
    /// Waits until an epoch is to end; whether it is the last.
    fn wait_until_due(&self, crawl: &SharedCrawl) -> bool {
        let commit = &crawl.plan.commit;
        let mut state = lock(&self.state);
        loop {
            if state.workers == 0 || crawl.is_failed() {
                return true;
            }
            let age_ns = crawl.clock.ns().saturating_sub(state.first_ns);
            if state.items >= commit.every_items || (state.items > 0 && age_ns >= commit.every.as_ns()) {
                state.is_closing = true;
                state.arrived = 0;
                return false;
            }
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
    fn wait_until_written(&self, crawl: &SharedCrawl) {
        let mut state = lock(&self.state);
        while state.arrived < state.workers && !crawl.is_failed() {
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
    fn over(&self) {
        let mut state = lock(&self.state);
        state.epoch += 1;
        state.items = 0;
        state.is_closing = false;
        drop(state);
        self.changed.notify_all();
    }
    fn items(&self) -> u64 {
        lock(&self.state).items
    }
}

/// What the committer asks of the database's thread.
#[derive(Debug)]
pub(crate) enum DatabaseCommit {
    /// The index is durable: commit this epoch.
    Commit(u64),
}

/// What the database's thread answers.
#[derive(Debug)]
pub(crate) enum DatabaseAnswer {
    /// Every row of the epoch is written.
    Drained,
    /// The epoch is durable: time of the thread, and bytes of the log.
    Committed((u64, u64), u64),
}

/// The committer's ends of its talk with the database's thread.
pub(crate) struct CommitTalk {
    pub(crate) asks: Sender<DatabaseCommit>,
    pub(crate) answers: Receiver<DatabaseAnswer>,
}

impl CommitTalk {
    fn answer(&self, crawl: &SharedCrawl) -> Option<DatabaseAnswer> {
        loop {
            match self.answers.recv_timeout(LOOK_EVERY) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Timeout) if !crawl.is_failed() => {}
                Err(_) => return None,
            }
        }
    }
}

/// A batch's record out of its span and what its volume was asked.
pub(crate) fn batch(station: Station, units: u64, start_ns: u64, span: WorkedSpan, io: BatchIo) -> BatchRecord {
    // Of the waiting, so much was for durability; the rest for writes.
    let sync_ns = io.sync_ns.min(span.waited_ns);
    BatchRecord {
        station,
        units,
        start_ns,
        end_ns: span.end_ns,
        cpu_ns: span.on_cpu_ns,
        write_ns: span.waited_ns - sync_ns,
        sync_ns,
        bytes: io.bytes,
        writes: io.writes,
        syncs: io.syncs,
        early: false,
    }
}

/// The worker of the station that commits: epoch after epoch until every index worker has ended.
pub(crate) fn committer(crawl: &SharedCrawl, board: &Arc<StationBoard>, talk: &CommitTalk) -> Result<(), CrawlError> {
    let mut timer = WorkerTimer::start(board);
    loop {
        let is_last = crawl.epochs.wait_until_due(crawl);
        if crawl.is_failed() {
            break;
        }
        if !is_last {
            crawl.index_queue.call();
            crawl.epochs.wait_until_written(crawl);
        }
        if crawl.rows.put(Row::EpochEnds { is_last }, 0).is_err() {
            break;
        }
        let Some(DatabaseAnswer::Drained) = talk.answer(crawl) else { break };
        let (epoch, items) = (crawl.epochs.epoch(), crawl.epochs.items());
        timer.spent(WorkerState::Starved);
        let start_ns = timer.at_ns();
        let io = crawl.index.commit_counted(epoch)?;
        let span = timer.worked(WorkerState::Device, None);
        crawl.measured.batch(batch(Station::Commit, items, start_ns, span, io));
        let start_ns = timer.at_ns();
        if talk.asks.send(DatabaseCommit::Commit(epoch)).is_err() {
            break;
        }
        let Some(DatabaseAnswer::Committed(thread, bytes)) = talk.answer(crawl) else { break };
        let span = timer.worked_elsewhere(thread, WorkerState::Device);
        let writes = crate::database::CrawlDatabase::log_writes(bytes);
        // A commit of the database is one write and one flush of its log: what is not a processor's is both.
        let io = BatchIo { bytes, writes, syncs: 1, sync_ns: span.waited_ns };
        crawl.measured.batch(batch(Station::Database, items, start_ns, span, io));
        board.pass();
        crawl.epochs.over();
        crawl.merges.look();
        if is_last {
            break;
        }
    }
    timer.spent(WorkerState::Starved);
    timer.end();
    Ok(())
}

/// What the thread that merges waits for.
#[derive(Debug, Default)]
pub(crate) struct MergeQueue {
    state: Mutex<MergeState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct MergeState {
    looks: u64,
    pending: u32,
    is_ending: bool,
}

impl MergeQueue {
    /// There may be segments to be joined.
    fn look(&self) {
        lock(&self.state).looks += 1;
        self.changed.notify_all();
    }
    /// No more segments will come.
    pub(crate) fn end(&self) {
        lock(&self.state).is_ending = true;
        self.changed.notify_all();
    }
    /// Waits until fewer merges are pending than the most.
    pub(crate) fn wait_for_room(&self, most: u32, crawl: &SharedCrawl) -> bool {
        let mut state = lock(&self.state);
        let waits = state.pending >= most;
        while state.pending >= most && !crawl.is_failed() {
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
        waits
    }
    fn set_pending(&self, pending: u32) {
        lock(&self.state).pending = pending;
        self.changed.notify_all();
    }
    /// Whether there is something to look at; `false`: nothing will be.
    fn wait(&self, seen: &mut u64, crawl: &SharedCrawl) -> bool {
        let mut state = lock(&self.state);
        loop {
            if crawl.is_failed() {
                return false;
            }
            if state.looks > *seen {
                *seen = state.looks;
                return true;
            }
            if state.is_ending {
                return false;
            }
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The worker that joins segments.
pub(crate) fn merger(crawl: &SharedCrawl, board: &Arc<StationBoard>) -> Result<(), CrawlError> {
    let mut timer = WorkerTimer::start(board);
    let mut seen = 0;
    while crawl.merges.wait(&mut seen, crawl) {
        loop {
            let waiting = crawl.index.merges()?;
            crawl.merges.set_pending(waiting.len() as u32);
            let Some(merge) = waiting.into_iter().next() else { break };
            timer.spent(WorkerState::Starved);
            let start_ns = timer.at_ns();
            let (io, thread) = crawl.index.merge(&merge)?;
            let span = timer.worked_elsewhere(thread, WorkerState::Device);
            crawl.measured.batch(batch(Station::Merge, merge.text_kib, start_ns, span, io));
            board.pass();
            if crawl.is_failed() {
                break;
            }
        }
    }
    crawl.merges.set_pending(0);
    timer.spent(WorkerState::Starved);
    timer.end();
    Ok(())
}
