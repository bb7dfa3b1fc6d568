//! A crawl under way: its threads, what they share, and how it ends.

use crate::clock::{CrawlClock, StationBoard, lock};
use crate::crawling::Crawling;
use crate::database::{CrawlDatabase, CrawlNumber, KnownItems};
use crate::epochs::{CommitTalk, EpochGate, MergeQueue, committer, merger};
use crate::error::CrawlError;
use crate::extract::{Extraction, ReaderCommand};
use crate::folders::CrawlFolders;
use crate::frontier::Frontier;
use crate::index::CrawlIndex;
use crate::log_volume::DatabaseFolder;
use crate::machine::MachineWatch;
use crate::measured::Measured;
use crate::observer::CrawlObserver;
use crate::queue::BoundedQueue;
use crate::search::{SearchWords, searcher};
use crate::slowing::Slowing;
use crate::source::{Feeding, SourceRunner};
use crate::workers::{RowWriter, extractor, indexer, slot};
use loadline_pipeline::{CrawlPlan, QueuePlan};
use loadline_record::{PipelineRecord, Politeness, QueueBound, SourceRecord, Station, StationRecord};
use loadline_units::Duration;
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

/// What a crawl left, measured.
#[derive(Debug)]
pub(crate) struct CrawlEnd {
    pub(crate) pipeline: PipelineRecord,
    pub(crate) steps: loadline_record::Steps<loadline_record::StepRecord>,
    /// The observer wanted an end before all was done.
    pub(crate) is_stopped: bool,
    pub(crate) documents: u64,
    pub(crate) watched: crate::machine::MachineRecord,
}

fn bound(queue: QueuePlan) -> QueueBound {
    QueueBound { items: queue.items, bytes: queue.bytes }
}

/// A thread with a name that fits.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new().name(name.to_owned()).spawn(work).expect("a thread can be made")
}

/// The ends of all threads of a kind; a panic of one is the crawl's failure.
fn join(crawl: &Crawling, threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        if let Err(panic) = thread.join() {
            crawl.fail(CrawlError::Ended("a panic".to_owned()));
            std::panic::resume_unwind(panic);
        }
    }
}

/// Carries a crawl out. `reset` begins with an empty index and database.
pub(crate) fn carry_out(
    plan: CrawlPlan,
    folders: &CrawlFolders,
    reset: bool,
    seed: u64,
    documents: Option<&ReaderCommand>,
    confirm: Option<Duration>,
    observer: &mut dyn CrawlObserver,
) -> Result<CrawlEnd, CrawlError> {
    plan.check()?;
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let extract_workers = plan.extract.workers.unwrap_or(cores);
    let index_workers = plan.index.workers.unwrap_or((cores / 2).max(1));
    let index = CrawlIndex::open(&folders.index, &plan.index, reset)?;
    let database_folder = DatabaseFolder::open(folders)?;
    let data = database_folder.path().to_owned();
    let (database, number) = CrawlDatabase::open(&data, reset, plan.database.log_size.get())?;
    agree(&index, number)?;
    let names: Vec<String> = plan.sources.iter().map(|source| source.name.clone()).collect();
    let numbers = database.sources(&names)?;
    let runners: Vec<Arc<SourceRunner>> = plan
        .sources
        .iter()
        .map(|source| SourceRunner::new(source, &plan.caps, folders).map(Arc::new))
        .collect::<Result<_, _>>()?;

    let clock = CrawlClock::start();
    let stop: Arc<AtomicBool> = Arc::default();
    let interval_ns = INTERVAL.as_ns();
    let sources = plan.sources.len();
    let board = |workers: u32| StationBoard::new(clock, interval_ns, workers, sources);
    let boards = [board(extract_workers), board(index_workers), board(1)];
    let (commit_board, merge_board) = (board(1), board(crate::index::MERGE_THREADS));
    let frontiers: Vec<Arc<Frontier>> = plan
        .sources
        .iter()
        .enumerate()
        .map(|(place, source)| {
            let politeness = Politeness { crawl_delay: source.crawl_delay, per_host: source.per_host };
            Arc::new(Frontier::new(place as u32, clock, politeness, plan.caps.items, Arc::clone(&stop)))
        })
        .collect();
    let crawl = Arc::new(Crawling {
        clock,
        stop: Arc::clone(&stop),
        is_failed: AtomicBool::new(false),
        failure: Mutex::new(None),
        index,
        extract_queue: BoundedQueue::new(clock, bound(plan.extract.queue)),
        index_queue: BoundedQueue::new(clock, bound(plan.index.queue)),
        rows: BoundedQueue::new(clock, bound(plan.database.queue)),
        epochs: EpochGate::new(number.epoch + 1, index_workers),
        merges: MergeQueue::default(),
        measured: Measured::new(sources, seed),
        frontiers,
        boards,
        index_workers,
        received: AtomicU64::new(0),
        words: (plan.search.per_second > 0).then(SearchWords::default),
        slowing: confirm.map(|window| Slowing::new(clock, window, sources, seed)),
        plan,
    });

    let (asks, asked) = channel();
    let (answers, answered) = channel();
    let writer = RowWriter { database, sources: numbers.clone(), asks: asked, answers };
    let watch = MachineWatch::start(clock, interval_ns, folders, &crawl);
    let rows_thread = {
        let crawl = Arc::clone(&crawl);
        spawn("database", move || crawl.note(writer.run(&crawl)))
    };
    let commit_thread = {
        let (crawl, board) = (Arc::clone(&crawl), Arc::clone(&commit_board));
        let talk = CommitTalk { asks, answers: answered };
        spawn("commit", move || crawl.note(committer(&crawl, &board, &talk)))
    };
    let merge_thread = {
        let (crawl, board) = (Arc::clone(&crawl), Arc::clone(&merge_board));
        spawn("merge", move || crawl.note(merger(&crawl, &board)))
    };
    let searches_end: Arc<AtomicBool> = Arc::default();
    let search_threads: Vec<_> = (0..usize::from(crawl.words.is_some()))
        .map(|_| {
            let (crawl, end) = (Arc::clone(&crawl), Arc::clone(&searches_end));
            spawn("search", move || {
                let words = crawl.words.as_ref().expect("there are searches");
                crawl.note(searcher(&crawl, words, &end));
            })
        })
        .collect();
    let index_threads: Vec<_> = (0..index_workers)
        .map(|place| {
            let crawl = Arc::clone(&crawl);
            spawn(&format!("index-{place}"), move || {
                let result = indexer(&crawl);
                crawl.note(result);
                crawl.epochs.worker_ended();
            })
        })
        .collect();
    let extract_threads: Vec<_> = (0..extract_workers)
        .map(|place| {
            let (crawl, runners, documents) = (Arc::clone(&crawl), runners.clone(), documents.cloned());
            spawn(&format!("extract-{place}"), move || {
                let mut extraction = Extraction::new(crawl.plan.caps, documents);
                extractor(&crawl, &mut extraction, &runners);
            })
        })
        .collect();
    let mut source_boards = Vec::new();
    let mut fetch_threads = Vec::new();
    let mut feed_threads = Vec::new();
    for (place, source) in crawl.plan.sources.iter().enumerate() {
        let slots = source.slots();
        let board = StationBoard::new(clock, interval_ns, slots, sources);
        source_boards.push(Arc::clone(&board));
        for slot_number in 0..slots {
            let (crawl, board, runner) = (Arc::clone(&crawl), Arc::clone(&board), Arc::clone(&runners[place]));
            fetch_threads.push(spawn(&format!("fetch-{place}-{slot_number}"), move || {
                let frontier = &crawl.frontiers[place];
                let mut fetcher = runner.fetcher(frontier);
                slot(&crawl, &runner, frontier, &mut *fetcher, &board);
            }));
        }
        let (crawl, runner, data) = (Arc::clone(&crawl), Arc::clone(&runners[place]), data.clone());
        let number_in_database = numbers[place];
        feed_threads.push(spawn(&format!("feed-{place}"), move || {
            let result = feed(&crawl, &runner, place, number_in_database, &data, number);
            crawl.note(result);
            crawl.frontiers[place].fed();
        }));
    }
    let is_stopped = follow(&crawl, &fetch_threads, observer);
    join(&crawl, feed_threads);
    join(&crawl, fetch_threads);
    crawl.extract_queue.close();
    follow(&crawl, &extract_threads, observer);
    join(&crawl, extract_threads);
    crawl.index_queue.close();
    follow(&crawl, &index_threads, observer);
    join(&crawl, index_threads);
    join(&crawl, vec![commit_thread]);
    crawl.rows.close();
    crawl.merges.end();
    join(&crawl, vec![rows_thread, merge_thread]);
    searches_end.store(true, Ordering::Relaxed);
    join(&crawl, search_threads);
    if let Some(error) = lock(&crawl.failure).take() {
        return Err(error);
    }
    crate::machine::write_back(&folders.index);
    let wall_ns = clock.ns();
    let watched = watch.end();
    drop(runners);
    let crawl = Arc::into_inner(crawl).expect("every thread has ended");
    let documents = crawl.index.documents()?;
    let boards = AllBoards { sources: source_boards, commit: commit_board, merge: merge_board };
    let (pipeline, steps, index) = record(crawl, &boards, &watched, wall_ns, cores, extract_workers);
    index.close()?;
    Ok(CrawlEnd { pipeline, steps, is_stopped, documents, watched })
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
fn feed(
    crawl: &Crawling,
    runner: &SourceRunner,
    place: usize,
    number: i64,
    data: &std::path::Path,
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
fn follow(crawl: &Crawling, threads: &[JoinHandle<()>], observer: &mut dyn CrawlObserver) -> bool {
    let mut is_stopped = false;
    while threads.iter().any(|thread| !thread.is_finished()) {
        std::thread::sleep(LOOK_EVERY);
        observer.progresses(&crawl.progress());
        if observer.wants_an_end() && !is_stopped {
            is_stopped = true;
            crawl.stop.store(true, Ordering::Relaxed);
        }
    }
    is_stopped
}

struct AllBoards {
    sources: Vec<Arc<StationBoard>>,
    commit: Arc<StationBoard>,
    merge: Arc<StationBoard>,
}

fn record(
    crawl: Crawling,
    boards: &AllBoards,
    watched: &crate::machine::MachineRecord,
    wall_ns: u64,
    cores: u32,
    extract_workers: u32,
) -> (PipelineRecord, loadline_record::Steps<loadline_record::StepRecord>, CrawlIndex) {
    let spec = crate::spec::pipeline_spec(&crawl.plan, cores, extract_workers, crawl.index_workers, &crawl.index);
    let workers = [extract_workers, crawl.index_workers, 1];
    let queues =
        [crawl.extract_queue.integral(wall_ns), crawl.index_queue.integral(wall_ns), crawl.rows.integral(wall_ns)];
    let mut stations: Vec<StationRecord> = Vec::new();
    for (place, station) in Station::LINE.into_iter().enumerate() {
        let of = crawl.boards[place].record(wall_ns);
        stations.push(of.station(station, workers[place], queues[place]));
    }
    let nothing = loadline_record::QueueIntegral::default();
    stations.push(boards.commit.record(wall_ns).station(Station::Commit, 1, nothing));
    let merges = boards.merge.record(wall_ns);
    stations.push(merges.station(Station::Merge, crate::index::MERGE_THREADS, nothing));
    let names: Vec<String> = crawl.plan.sources.iter().map(|source| source.name.clone()).collect();
    let slowed = crawl.slowing.as_ref().map(|slowing| slowing.record(wall_ns));
    let Crawling { measured, frontiers, index, .. } = crawl;
    let collected = measured.collect(&names);
    let sources = names.into_iter().zip(collected.sources).enumerate().map(|(place, (name, counts))| {
        let board = boards.sources[place].record(wall_ns);
        let (frontier_dry_ns, waiting_item_us) = frontiers[place].record(wall_ns);
        SourceRecord {
            name,
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
    let mut pipeline = PipelineRecord {
        spec,
        wall_ns,
        interval_ns: INTERVAL.as_ns(),
        sources: sources.collect(),
        stations,
        cpu: watched.cpu,
        received_bytes: watched.received_bytes.clone(),
        volumes: watched.volumes.clone(),
        batches: collected.batches,
        items: collected.items,
        lag_p99_ns: watched.lag_p99_ns,
        slowed,
    };
    crate::spec::join_intervals(&mut pipeline, INTERVALS_MAX);
    (pipeline, collected.steps, index)
}
