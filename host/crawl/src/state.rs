//! What all threads of a crawl share.

use crate::clock::{CrawlClock, StationBoard, WorkedSpan, WorkerTimer, lock};
use crate::epochs::{EpochGate, MergeQueue};
use crate::error::CrawlError;
use crate::frontier::Frontier;
use crate::index::{CrawlIndex, MERGE_THREADS};
use crate::item::{Extracted, Fetched, ItemFailure, ItemOnWay, Row};
use crate::measured::Measured;
use crate::queue::BoundedQueue;
use crate::search::SearchWords;
use crate::slowing::{SlowedDebt, Slowing};
use loadline_pipeline::CrawlPlan;
use loadline_record::{SlowedStation, Station, WORKER_STATES, WorkerState};
use loadline_runs::{CrawlCounts, ItemsDone};
use loadline_units::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Where the workers of each station note their time.
pub(crate) struct Boards {
    /// Slots, by source.
    pub(crate) slots: Vec<Arc<StationBoard>>,
    /// Stations that sources share, in the order in which an item passes.
    shared: [(Station, Arc<StationBoard>); 5],
}

/// Workers of the stations whose number the machine decides where the plan does not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workers {
    /// Processors of the machine.
    pub(crate) cores: u32,
    extract: u32,
    pub(crate) index: u32,
}

impl Workers {
    pub(crate) fn of(plan: &CrawlPlan) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let extract = plan.extract.workers.unwrap_or(cores);
        Self { cores, extract, index: plan.index.workers.unwrap_or((cores / 2).max(1)) }
    }
    /// Of a station that sources share.
    pub(crate) const fn at(self, station: Station) -> u32 {
        match station {
            Station::Extract => self.extract,
            Station::Index => self.index,
            Station::Merge => MERGE_THREADS,
            Station::Fetch | Station::Database | Station::Commit => 1,
        }
    }
}

impl Boards {
    pub(crate) fn new(plan: &CrawlPlan, workers: Workers, clock: CrawlClock, interval_ns: u64) -> Self {
        let board = |workers: u32| StationBoard::new(clock, interval_ns, workers, plan.sources.len());
        let shared = [Station::Extract, Station::Index, Station::Database, Station::Commit, Station::Merge];
        Self {
            slots: plan.sources.iter().map(|source| board(source.slots())).collect(),
            shared: shared.map(|station| (station, board(workers.at(station)))),
        }
    }
    /// That of a station that sources share.
    ///
    /// # Panics
    /// Of slots: each source has a board of its own.
    pub(crate) fn of(&self, station: Station) -> &Arc<StationBoard> {
        let found = self.shared.iter().find(|(of, _)| *of == station);
        &found.unwrap_or_else(|| panic!("{station} is no station that sources share")).1
    }
    /// Whether every worker of every station is done.
    pub(crate) fn are_over(&self) -> bool {
        self.slots.iter().chain(self.shared.iter().map(|(_, board)| board)).all(|board| board.is_over())
    }
    /// Every station that sources share, with its board.
    pub(crate) fn shared(&self) -> impl Iterator<Item = (Station, &Arc<StationBoard>)> {
        self.shared.iter().map(|(station, board)| (*station, board))
    }
}

/// What all threads share.
pub(crate) struct SharedCrawl {
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
    pub(crate) boards: Boards,
    pub(crate) workers: Workers,
    pub(crate) received: AtomicU64,
    /// Words for searches while the crawl runs; `None`: there are no searches.
    pub(crate) words: Option<SearchWords>,
    /// Slows stations; `None`: none is.
    pub(crate) slowing: Option<Slowing>,
}

impl SharedCrawl {
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
    pub(crate) fn progress(&self) -> ItemsDone {
        let (items, failed, unchanged) = self.measured.counts();
        ItemsDone {
            elapsed: Duration::from_ns(self.clock.ns()),
            items,
            failed,
            unchanged,
            waiting: self.frontiers.iter().map(|frontier| frontier.waiting()).sum(),
        }
    }
    /// All that is counted so far.
    pub(crate) fn counts(&self) -> CrawlCounts {
        let names = self.plan.sources.iter().map(|source| source.name.clone());
        let mut slots = [0; WORKER_STATES];
        for board in &self.boards.slots {
            slots.iter_mut().zip(board.times_ns()).for_each(|(sum, more)| *sum += more);
        }
        let shared = self.boards.shared().map(|(station, board)| (station, board.times_ns()));
        CrawlCounts {
            sources: names.zip(self.measured.by_source()).collect(),
            stations: std::iter::once((Station::Fetch, slots)).chain(shared).collect(),
            queues: vec![
                (Station::Extract, self.extract_queue.fill().items),
                (Station::Index, self.index_queue.fill().items),
                (Station::Database, self.rows.fill().items),
            ],
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
        self.boards.of(Station::Database).enter();
        // Nobody takes it where the crawl failed as a whole.
        let _ = self.rows.put(Row::Failed { item, reason: failure.reason }, 0);
    }
}
