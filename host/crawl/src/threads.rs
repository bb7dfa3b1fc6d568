//! A crawl's threads: how they start, how they are followed, and how they end.

use crate::clock::{CrawlClock, lock};
use crate::database::{CrawlDatabase, CrawlNumber, KnownItems};
use crate::epochs::{CommitTalk, EpochGate, MergeQueue, committer, merger};
use crate::error::CrawlError;
use crate::extract::{Extraction, ReaderCommand};
use crate::folders::CrawlFolders;
use crate::frames::CrawlFrames;
use crate::frontier::Frontier;
use crate::index::CrawlIndex;
use crate::log_volume::DatabaseFolder;
use crate::machine::{MachineRecord, MachineWatch};
use crate::measured::{Collected, Measured};
use crate::queue::BoundedQueue;
use crate::search::{SearchWords, searcher};
use crate::slowing::Slowing;
use crate::source::{Feeding, SourceRunner};
use crate::state::{Boards, SharedCrawl, Workers};
use crate::workers::{RowWriter, extractor, indexer, slot};
use loadline_analysis::LiveFrame;
use loadline_pipeline::{CrawlPlan, QueuePlan, SourcePlan};
use loadline_record::{
    PipelineRecord, Politeness, QueueBound, QueueIntegral, SourceRecord, Station, StepRecord, Steps,
};
use loadline_runs::{Advance, Event, Observer};
use loadline_units::Duration;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Length of an interval of the series.
const INTERVAL: Duration = Duration::from_s(1);
/// Intervals of a record at most; those of a longer crawl are joined.
const INTERVALS_MAX: usize = 3_600;
/// How often the observer is called.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(100);
/// It is shown all that is counted once in so many times.
const LOOKS_PER_COUNT: u64 = 10;

/// What a crawl is carried out with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CrawlSetUp<'a> {
    pub(crate) plan: &'a CrawlPlan,
    pub(crate) folders: &'a CrawlFolders,
    /// It begins with an empty index and database.
    pub(crate) is_reset: bool,
    pub(crate) seed: u64,
    pub(crate) documents: Option<&'a ReaderCommand>,
    pub(crate) confirm: Option<Duration>,
}

/// What a crawl left, measured.
#[derive(Debug)]
pub(crate) struct CrawlEnd {
    pub(crate) pipeline: PipelineRecord,
    pub(crate) steps: Steps<StepRecord>,
    pub(crate) watched: MachineRecord,
}

/// A crawl under way.
pub(crate) struct CrawlThreads {
    crawl: Arc<SharedCrawl>,
    runners: Vec<Arc<SourceRunner>>,
    watch: MachineWatch,
    /// Holds the data where the log is.
    database_folder: DatabaseFolder,
    index_folder: PathBuf,
    feed: Vec<JoinHandle<()>>,
    fetch: Vec<JoinHandle<()>>,
    extract: Vec<JoinHandle<()>>,
    index: Vec<JoinHandle<()>>,
    commit: JoinHandle<()>,
    rows_and_merges: Vec<JoinHandle<()>>,
    search: Vec<JoinHandle<()>>,
    searches_end: Arc<AtomicBool>,
    is_stopped: bool,
}

fn bound(queue: QueuePlan) -> QueueBound {
    QueueBound { items: queue.items, bytes: queue.bytes }
}

/// What a thread does; its failure is the crawl's.
type ThreadWork = Box<dyn FnOnce(&SharedCrawl) -> Result<(), CrawlError> + Send>;

/// A thread with a name that fits.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new().name(name.to_owned()).spawn(work).expect("a thread can be made")
}

/// The ends of all threads of a kind; a panic of one is the crawl's failure.
fn join(crawl: &SharedCrawl, threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        if let Err(panic) = thread.join() {
            crawl.fail(CrawlError::Ended("a panic".to_owned()));
            std::panic::resume_unwind(panic);
        }
    }
}

impl CrawlThreads {
    /// Opens what the crawl needs and starts its threads.
    ///
    /// # Errors
    /// Index, database, folders or a source.
    pub(crate) fn start(set_up: CrawlSetUp<'_>) -> Result<Self, CrawlError> {
        let CrawlSetUp { plan, folders, is_reset, documents, .. } = set_up;
        let index = CrawlIndex::open(&folders.index, &plan.index, is_reset)?;
        let database_folder = DatabaseFolder::open(folders)?;
        let data = database_folder.path().to_owned();
        let (database, number) = CrawlDatabase::open(&data, is_reset, plan.database.log_size.get())?;
        agree(&index, number)?;
        let names: Vec<String> = plan.sources.iter().map(|source| source.name.clone()).collect();
        let numbers = database.sources(&names)?;
        let runner = |source: &SourcePlan| SourceRunner::new(source, &plan.caps, folders).map(Arc::new);
        let runners: Vec<Arc<SourceRunner>> = plan.sources.iter().map(runner).collect::<Result<_, _>>()?;
        let crawl = Arc::new(shared(set_up, index, number));
        let (asks, asked) = channel();
        let (answers, answered) = channel();
        let writer = RowWriter { database, sources: numbers.clone(), asks: asked, answers };
        let watch = MachineWatch::start(crawl.clock, INTERVAL.as_ns(), folders, &crawl);
        let with = |name: &str, work: ThreadWork| {
            let crawl = Arc::clone(&crawl);
            spawn(name, move || crawl.note(work(&crawl)))
        };
        let rows = with("database", Box::new(move |crawl| writer.run(crawl)));
        let talk = CommitTalk { asks, answers: answered };
        let commit = with("commit", Box::new(move |crawl| committer(crawl, crawl.boards.of(Station::Commit), &talk)));
        let merge = with("merge", Box::new(|crawl| merger(crawl, crawl.boards.of(Station::Merge))));
        let searches_end: Arc<AtomicBool> = Arc::default();
        let search = crawl.words.is_some().then(|| {
            let end = Arc::clone(&searches_end);
            with(
                "search",
                Box::new(move |crawl| crawl.words.as_ref().map_or(Ok(()), |words| searcher(crawl, words, &end))),
            )
        });
        let index = (0..crawl.workers.index).map(|place| {
            let work = |crawl: &SharedCrawl| {
                // A failure is known before the committer may take the worker's end for the crawl's.
                crawl.note(indexer(crawl));
                crawl.epochs.worker_ended();
                Ok(())
            };
            with(&format!("index-{place}"), Box::new(work))
        });
        let index = index.collect();
        let extract = (0..crawl.workers.at(Station::Extract)).map(|place| {
            let (runners, documents) = (runners.clone(), documents.cloned());
            let work = move |crawl: &SharedCrawl| {
                extractor(crawl, &mut Extraction::new(crawl.plan.caps, documents), &runners);
                Ok(())
            };
            with(&format!("extract-{place}"), Box::new(work))
        });
        let extract = extract.collect();
        let (mut fetch, mut feed) = (Vec::new(), Vec::new());
        for (place, (runner, number_in_database)) in runners.iter().zip(numbers).enumerate() {
            for slot_number in 0..plan.sources[place].slots() {
                let runner = Arc::clone(runner);
                let work = move |crawl: &SharedCrawl| {
                    let (frontier, board) = (&crawl.frontiers[place], &crawl.boards.slots[place]);
                    slot(crawl, &runner, frontier, &mut *runner.fetcher(frontier), board);
                    Ok(())
                };
                fetch.push(with(&format!("fetch-{place}-{slot_number}"), Box::new(work)));
            }
            let (runner, data) = (Arc::clone(runner), data.clone());
            let work = move |crawl: &SharedCrawl| {
                crawl.note(feed_source(crawl, &runner, place, number_in_database, &data, number));
                crawl.frontiers[place].fed();
                Ok(())
            };
            feed.push(with(&format!("feed-{place}"), Box::new(work)));
        }
        Ok(Self {
            runners,
            watch,
            database_folder,
            index_folder: folders.index.clone(),
            feed,
            fetch,
            extract,
            index,
            commit,
            rows_and_merges: vec![rows, merge],
            search: search.into_iter().collect(),
            searches_end,
            is_stopped: false,
            crawl,
        })
    }

    /// Shows the observer how far it is until every item has passed; an observer that wants an end stops the sources. `frames` show
    /// what goes on.
    pub(crate) fn follow(&mut self, observer: &mut dyn Observer, frames: &mut CrawlFrames) {
        let Self { crawl, watch, feed, fetch, extract, index, is_stopped, .. } = self;
        let mut until_they_end = |crawl: &SharedCrawl, threads: &[JoinHandle<()>]| {
            until_they_end(crawl, threads, observer, || frames.next(crawl, watch))
        };
        *is_stopped = until_they_end(crawl, fetch);
        join(crawl, std::mem::take(feed));
        join(crawl, std::mem::take(fetch));
        crawl.extract_queue.close();
        until_they_end(crawl, extract);
        join(crawl, std::mem::take(extract));
        crawl.index_queue.close();
        until_they_end(crawl, index);
        join(crawl, std::mem::take(index));
    }

    /// Waits for the last commit and takes what was measured; `None`: the crawl was stopped, and what it committed is kept.
    ///
    /// # Errors
    /// What ended a part of it.
    pub(crate) fn finish(self) -> Result<Option<CrawlEnd>, CrawlError> {
        let Self { crawl, commit, rows_and_merges, search, searches_end, watch, .. } = self;
        join(&crawl, vec![commit]);
        crawl.rows.close();
        crawl.merges.end();
        join(&crawl, rows_and_merges);
        searches_end.store(true, Ordering::Relaxed);
        join(&crawl, search);
        if let Some(error) = lock(&crawl.failure).take() {
            return Err(error);
        }
        crate::machine::write_back(&self.index_folder);
        let wall_ns = crawl.clock.ns();
        let watched = watch.end(wall_ns);
        drop(self.runners);
        let crawl = Arc::into_inner(crawl).expect("every thread has ended");
        assert!(crawl.boards.are_over(), "every worker ends before the crawl does");
        let names: Vec<String> = crawl.plan.sources.iter().map(|source| source.name.clone()).collect();
        let mut collected = crawl.measured.collect(&names);
        let steps = std::mem::take(&mut collected.steps);
        let slowed = crawl.slowing.as_ref().map(|slowing| slowing.record(wall_ns));
        let mut pipeline = PipelineRecord { slowed, ..record(&crawl, &watched, collected, wall_ns) };
        crate::spec::join_intervals(&mut pipeline, INTERVALS_MAX);
        crawl.index.close()?;
        drop(self.database_folder);
        Ok((!self.is_stopped).then_some(CrawlEnd { pipeline, steps, watched }))
    }
}

/// What the threads share.
fn shared(set_up: CrawlSetUp<'_>, index: CrawlIndex, number: CrawlNumber) -> SharedCrawl {
    let CrawlSetUp { plan, seed, confirm, .. } = set_up;
    let clock = CrawlClock::start();
    let (stop, sources): (Arc<AtomicBool>, usize) = (Arc::default(), plan.sources.len());
    let workers = Workers::of(plan);
    let frontier = |(place, source): (usize, &SourcePlan)| {
        let politeness = Politeness { crawl_delay: source.crawl_delay, per_host: source.per_host };
        Arc::new(Frontier::new(place as u32, clock, politeness, plan.caps.items, Arc::clone(&stop)))
    };
    SharedCrawl {
        clock,
        stop: Arc::clone(&stop),
        is_failed: AtomicBool::new(false),
        failure: Mutex::new(None),
        index,
        extract_queue: BoundedQueue::new(clock, bound(plan.extract.queue)),
        index_queue: BoundedQueue::new(clock, bound(plan.index.queue)),
        rows: BoundedQueue::new(clock, bound(plan.database.queue)),
        epochs: EpochGate::new(number.epoch + 1, workers.index),
        merges: MergeQueue::default(),
        measured: Measured::new(sources, seed),
        frontiers: plan.sources.iter().enumerate().map(frontier).collect(),
        boards: Boards::new(plan, workers, clock, INTERVAL.as_ns()),
        workers,
        received: AtomicU64::new(0),
        words: (plan.search.per_second > 0).then(SearchWords::default),
        slowing: confirm.map(|window| Slowing::new(clock, window, sources, seed)),
        plan: plan.clone(),
    }
}

/// What stands in the index and not in the database is taken back: it was made durable a moment before the crawl was killed.
fn agree(index: &CrawlIndex, number: CrawlNumber) -> Result<(), CrawlError> {
    let (of_index, of_database) = (index.epoch()?, number.epoch);
    if of_index == of_database {
        Ok(())
    } else if of_index == of_database + 1 {
        index.take_back(of_index, of_database)
    } else {
        Err(CrawlError::Apart { index: of_index, database: of_database })
    }
}

/// Adds what a source begins with, and what an earlier part of the crawl found.
fn feed_source(
    crawl: &SharedCrawl,
    runner: &SourceRunner,
    place: usize,
    number: i64,
    data: &Path,
    crawl_number: CrawlNumber,
) -> Result<(), CrawlError> {
    let known: KnownItems = CrawlDatabase::known_items(data, crawl_number.crawl)?;
    let known = (!known.is_empty()?).then_some(known);
    let mut feeding = Feeding {
        frontier: &crawl.frontiers[place],
        source: number,
        known: known.as_ref(),
        notes: std::collections::BTreeMap::new(),
        done_before: 0,
    };
    runner.feed(&mut feeding, &crawl.stop)?;
    let Feeding { notes, done_before, .. } = feeding;
    for (note, count) in notes {
        crawl.measured.note(place as u32, &note, count);
    }
    crawl.measured.note(place as u32, "done before the crawl went on", done_before);
    Ok(())
}

/// Shows the observer how far it is until these threads have ended; whether it wanted an end.
fn until_they_end(
    crawl: &SharedCrawl,
    threads: &[JoinHandle<()>],
    observer: &mut dyn Observer,
    mut frame: impl FnMut() -> Option<LiveFrame>,
) -> bool {
    let (mut is_stopped, mut looks) = (false, 0_u64);
    while threads.iter().any(|thread| !thread.is_finished()) {
        std::thread::sleep(LOOK_EVERY);
        observer.event(&Event::Advances(Advance::Items(&crawl.progress())));
        // From the first look on: a crawl may be short.
        if looks.is_multiple_of(LOOKS_PER_COUNT) {
            observer.event(&Event::Crawled(&crawl.counts()));
        }
        looks += 1;
        if let Some(frame) = frame() {
            observer.event(&Event::Live(&frame));
        }
        if observer.wants_an_end() && !is_stopped {
            is_stopped = true;
            crawl.stop.store(true, Ordering::Relaxed);
        }
    }
    is_stopped
}

/// What was measured of a crawl by a moment since it began.
pub(crate) fn record(
    crawl: &SharedCrawl,
    watched: &MachineRecord,
    collected: Collected,
    wall_ns: u64,
) -> PipelineRecord {
    let queue = |station: Station| match station {
        Station::Extract => crawl.extract_queue.integral(wall_ns),
        Station::Index => crawl.index_queue.integral(wall_ns),
        Station::Database => crawl.rows.integral(wall_ns),
        Station::Fetch | Station::Commit | Station::Merge => QueueIntegral::default(),
    };
    let stations = crawl
        .boards
        .shared()
        .map(|(station, board)| board.record(wall_ns).station(station, crawl.workers.at(station), queue(station)));
    let sources = crawl.plan.sources.iter().zip(collected.sources).enumerate().map(|(place, (source, counts))| {
        let board = crawl.boards.slots[place].record(wall_ns);
        let (frontier_dry_ns, waiting_item_us) = crawl.frontiers[place].record(wall_ns);
        SourceRecord {
            name: source.name.clone(),
            items: counts.items,
            failures: counts.failures,
            unchanged: counts.unchanged,
            removed: counts.removed,
            notes: counts.notes,
            ended_ns: counts.ended_ns,
            frontier_dry_ns,
            clock: board.clock,
            gated_by_ns: board.gated_by_ns,
            waiting_item_us,
            hosts_left: watched.hosts_left.get(place).cloned().unwrap_or_default(),
            series: board.series,
        }
    });
    PipelineRecord {
        spec: crate::spec::pipeline_spec(&crawl.plan, crawl.workers, &crawl.index),
        wall_ns,
        interval_ns: INTERVAL.as_ns(),
        sources: sources.collect(),
        stations: stations.collect(),
        cpu: watched.cpu,
        received_bytes: watched.received_bytes.clone(),
        volumes: watched.volumes.clone(),
        batches: collected.batches,
        items: collected.items,
        lag_p99_ns: watched.lag_p99_ns,
        slowed: None,
        surroundings: watched.watch.clone(),
    }
}
