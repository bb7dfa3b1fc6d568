//! What all threads of a crawl share.

use crate::clock::{CrawlClock, StationBoard, WorkedSpan, WorkerTimer, lock};
use crate::epochs::{EpochGate, MergeQueue};
use crate::error::CrawlError;
use crate::frontier::Frontier;
use crate::index::CrawlIndex;
use crate::item::{Extracted, Fetched, ItemFailure, ItemOnWay, Row};
use crate::measured::Measured;
use crate::observer::CrawlProgress;
use crate::queue::BoundedQueue;
use crate::search::SearchWords;
use crate::slowing::{SlowedDebt, Slowing};
use loadline_pipeline::CrawlPlan;
use loadline_record::{SlowedStation, WorkerState};
use loadline_units::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What all threads share.
pub(crate) struct Crawling {
    pub(crate) plan: CrawlPlan,
    pub(crate) clock: CrawlClock,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) is_failed: AtomicBool,
    pub(crate) failure: Mutex<Option<CrawlError>>,
    pub(crate) index: CrawlIndex,
    pub(crate) extract_queue: BoundedQueue<Fetched>,
    pub(crate) index_queue: BoundedQueue<Extracted>,
    pub(crate) rows: BoundedQueue<Row>,
    pub(crate) epochs: EpochGate,
    pub(crate) merges: MergeQueue,
    pub(crate) measured: Measured,
    pub(crate) frontiers: Vec<Arc<Frontier>>,
    /// By station: extract, index, database.
    pub(crate) boards: [Arc<StationBoard>; 3],
    pub(crate) index_workers: u32,
    pub(crate) received: AtomicU64,
    /// Words for searches while the crawl runs; `None`: there are no searches.
    pub(crate) words: Option<SearchWords>,
    /// Slows stations; `None`: none is.
    pub(crate) slowing: Option<Slowing>,
}

impl Crawling {
    /// Whether a part of it ended with an error.
    pub(crate) fn is_failed(&self) -> bool {
        self.is_failed.load(Ordering::Relaxed)
    }
    pub(crate) fn fail(&self, error: CrawlError) {
        lock(&self.failure).get_or_insert(error);
        self.is_failed.store(true, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
        self.extract_queue.abandon();
        self.index_queue.abandon();
        self.rows.abandon();
    }
    pub(crate) fn note(&self, result: Result<(), CrawlError>) {
        if let Err(error) = result {
            self.fail(error);
        }
    }
    pub(crate) fn progress(&self) -> CrawlProgress {
        let (items, failed, unchanged) = self.measured.counts();
        CrawlProgress {
            elapsed: Duration::from_ns(self.clock.ns()),
            items,
            failed,
            unchanged,
            waiting: self.frontiers.iter().map(|frontier| frontier.waiting()).sum(),
        }
    }
    /// Hosts left of each source, and bytes received so far.
    pub(crate) fn beside(&self) -> (Vec<u32>, u64) {
        let left = self.frontiers.iter().map(|frontier| frontier.hosts_left()).collect();
        (left, self.received.load(Ordering::Relaxed))
    }
    /// A worker did work for an item, and takes longer where stations are slowed.
    pub(crate) fn slow(
        &self,
        station: SlowedStation,
        span: WorkedSpan,
        debt: &mut SlowedDebt,
        timer: &mut WorkerTimer,
        source: Option<u32>,
    ) {
        if let Some(slowing) = &self.slowing
            && slowing.after(station, span, debt)
        {
            timer.worked(WorkerState::Other, source);
        }
    }
    pub(crate) fn failed_row(&self, item: ItemOnWay, failure: ItemFailure) {
        self.boards[2].enter();
        // Nobody takes it where the crawl failed as a whole.
        let _ = self.rows.put(Row::Failed { item, reason: failure.reason }, 0);
    }
}
