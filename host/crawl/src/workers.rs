//! The workers of each station: slots that fetch, and threads that extract, index and write rows.

use crate::clock::{StationBoard, WorkedSpan, WorkerTimer};
use crate::database::CrawlDatabase;
use crate::epochs::{DatabaseAnswer, DatabaseCommit, batch};
use crate::error::CrawlError;
use crate::extract::Extraction;
use crate::frontier::Frontier;
use crate::item::{Extracted, Fetched, ItemOnWay, Row};
use crate::queue::Taken;
use crate::slowing::SlowedDebt;
use crate::source::{FetchAnswer, FetchTimer, Fetcher, SourceRunner, kind_of_bytes};
use crate::state::SharedCrawl;
use loadline_record::{ItemRecord, SlowedStation, Span, Station, WorkerState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

/// A host may put an item off so often.
const TRIES_MAX: u32 = 3;

/// One slot of a source: fetches items until there are none.
pub(crate) fn slot(
    crawl: &SharedCrawl,
    runner: &SourceRunner,
    frontier: &Frontier,
    reader: &mut dyn Fetcher,
    board: &Arc<StationBoard>,
) {
    let mut timer = WorkerTimer::start(board);
    let mut debt = SlowedDebt::default();
    while let Some(mut target) = frontier.take(&mut timer) {
        board.enter();
        let mut fetch = FetchTimer::new(&mut timer, target.source);
        let answer = reader.fetch(&target, &mut fetch);
        crawl.received.fetch_add(fetch.received, Ordering::Relaxed);
        let (record, notes) = fetch.into_record(&target);
        let retry_after_ns = match &answer {
            Ok(FetchAnswer::Later(failure)) | Err(failure) => failure.retry_after_ns,
            Ok(_) => 0,
        };
        let span = WorkedSpan {
            end_ns: record.last_byte_ns,
            on_cpu_ns: record.fetch_cpu_ns,
            runnable_ns: 0,
            waited_ns: record.last_byte_ns - record.connected_ns,
        };
        let source = target.source;
        crawl.slow(SlowedStation::Fetch(source), span, &mut debt, &mut timer, Some(source));
        frontier.fetched(target.host, retry_after_ns);
        if matches!(answer, Ok(FetchAnswer::Later(_))) && target.tries < TRIES_MAX {
            board.leave(false);
            crawl.measured.note(target.source, "put off by the host, and asked for again", 1);
            frontier.put_back(target);
            continue;
        }
        let known = target.known.take();
        let mut item = ItemOnWay {
            record: ItemRecord { retry_after_ns, ..record },
            key: target.key,
            depth: target.depth,
            replaces: known.as_ref().map(|known| known.epoch),
            identity: known.map(|known| *known).unwrap_or_default(),
            notes,
        };
        match answer {
            Ok(FetchAnswer::Content { body, kind, charset, base, is_compressed, identity }) => {
                item.record.bytes = body.len() as u64;
                let hash_before = item.identity.hash;
                item.identity = identity;
                let bytes = body.len() as u64;
                let content = Fetched { item, body, kind, charset, base, is_compressed, hash_before };
                crawl.boards.of(Station::Extract).enter();
                board.leave(true);
                if crawl.extract_queue.put(content, bytes).is_err() {
                    frontier.closed();
                }
            }
            Ok(FetchAnswer::Unchanged(identity)) => {
                item.identity = identity;
                crawl.boards.of(Station::Database).enter();
                let _ = crawl.rows.put(Row::Unchanged { item, links: Vec::new() }, 0);
                board.leave(true);
                frontier.closed();
            }
            Ok(FetchAnswer::Redirect(to)) => {
                let links = runner.redirect(&to, &item, target.redirects + 1, frontier, &crawl.measured);
                crawl.measured.note(target.source, "redirects", 1);
                board.leave(false);
                crawl.boards.of(Station::Database).enter();
                let _ = crawl.rows.put(Row::LedOn { item, links }, 0);
                frontier.closed();
            }
            Ok(FetchAnswer::Later(failure)) | Err(failure) => {
                board.leave(false);
                crawl.failed_row(item, failure);
                frontier.closed();
            }
        }
        timer.spent(WorkerState::Blocked);
    }
    timer.end();
}

/// A worker that makes text.
pub(crate) fn extractor(crawl: &SharedCrawl, extraction: &mut Extraction, runners: &[Arc<SourceRunner>]) {
    let board = crawl.boards.of(Station::Extract);
    let mut timer = WorkerTimer::start(board);
    let mut debt = SlowedDebt::default();
    let mut seen = 0;
    loop {
        let fetched = match crawl.extract_queue.take(&mut seen) {
            Taken::Item(fetched) => fetched,
            Taken::Called => continue,
            Taken::Closed => break,
        };
        timer.spent(WorkerState::Starved);
        let start_ns = timer.at_ns();
        let source = fetched.item.record.source;
        let frontier = &crawl.frontiers[source as usize];
        let Fetched { mut item, body, kind, charset, base, is_compressed, hash_before } = fetched;
        let hash = *blake3::hash(&body).as_bytes();
        item.identity.hash = Some(hash);
        let is_same = item.replaces.is_some() && hash_before == Some(hash);
        let kind_of = |bytes: &[u8]| kind.or_else(|| kind_of_bytes(bytes));
        let page = extraction.page(&body, is_compressed, kind_of, charset.as_deref(), &mut item.notes);
        drop(body);
        let mut links = Vec::new();
        if let (Ok(page), Some(base)) = (&page, &base) {
            links = runners[source as usize].follow(page, base, &item, frontier, &crawl.measured);
        }
        frontier.closed();
        let child_ns = extraction.child_ns();
        let span = timer.worked(WorkerState::Other, Some(source));
        let mut work = span.work(WorkerState::Other);
        // What the process did that reads such files is processor time as well.
        work.other_ns = work.other_ns.saturating_sub(child_ns);
        work.cpu_ns += child_ns;
        item.record.passed(Station::Extract, Span { start_ns, end_ns: span.end_ns }, work);
        crawl.slow(SlowedStation::Line(Station::Extract), span, &mut debt, &mut timer, Some(source));
        for note in item.notes.drain(..) {
            crawl.measured.note(source, &note, 1);
        }
        match page {
            Err(failure) => {
                board.leave(false);
                crawl.failed_row(item, failure);
            }
            Ok(_) if is_same => {
                board.leave(true);
                crawl.boards.of(Station::Database).enter();
                let _ = crawl.rows.put(Row::Unchanged { item, links }, 0);
            }
            Ok(page) => {
                for note in &page.notes {
                    crawl.measured.note(source, note, 1);
                }
                item.record.text_bytes = page.text.len() as u64;
                if let Some(words) = &crawl.words {
                    words.offer(&page.text);
                }
                let bytes = (page.text.len() + page.title.len()) as u64;
                let extracted = Extracted { item, title: page.title, text: page.text, links };
                crawl.boards.of(Station::Index).enter();
                board.leave(true);
                let _ = crawl.index_queue.put(extracted, bytes);
            }
        }
        timer.spent(WorkerState::Blocked);
    }
    timer.spent(WorkerState::Starved);
    timer.end();
}

/// A worker that indexes: it fills segments and writes them when they are full, or when a commit wants them.
pub(crate) fn indexer(crawl: &SharedCrawl) -> Result<(), CrawlError> {
    let board = crawl.boards.of(Station::Index);
    let mut timer = WorkerTimer::start(board);
    let mut debt = SlowedDebt::default();
    let mut segment = None;
    let mut seen = 0;
    loop {
        match crawl.index_queue.take(&mut seen) {
            Taken::Item(extracted) => {
                timer.spent(WorkerState::Starved);
                let start_ns = timer.at_ns();
                let source = extracted.item.record.source;
                if let Some(epoch) = extracted.item.replaces {
                    crawl.index.remove(epoch, &extracted.item.key);
                }
                let mut filled = match segment.take() {
                    Some(filled) => filled,
                    None => crawl.index.segment()?,
                };
                crawl.index.add(&mut filled, &extracted, crawl.epochs.epoch())?;
                let Extracted { mut item, title, links, text } = extracted;
                drop(text);
                let span = timer.worked(WorkerState::Device, Some(source));
                item.record.passed(
                    Station::Index,
                    Span { start_ns, end_ns: span.end_ns },
                    span.work(WorkerState::Device),
                );
                crawl.slow(SlowedStation::Line(Station::Index), span, &mut debt, &mut timer, Some(source));
                crawl.boards.of(Station::Database).enter();
                board.leave(true);
                let bytes = (item.key.len() + title.len()) as u64;
                let _ = crawl.rows.put(Row::Indexed { item, title, links }, bytes);
                timer.spent(WorkerState::Blocked);
                crawl.epochs.indexed(timer.at_ns(), crawl.plan.commit.every_items);
                if crawl.index.is_full(&filled, crawl.workers.index) {
                    write_segment(crawl, filled, &mut timer, &mut debt, false)?;
                } else {
                    segment = Some(filled);
                }
            }
            Taken::Called => {
                timer.spent(WorkerState::Starved);
                if let Some(filled) = segment.take() {
                    write_segment(crawl, filled, &mut timer, &mut debt, true)?;
                }
                crawl.epochs.arrive(crawl);
                timer.spent(WorkerState::Gated);
            }
            Taken::Closed => break,
        }
    }
    timer.spent(WorkerState::Starved);
    if let Some(filled) = segment.take().filter(|_| !crawl.is_failed()) {
        write_segment(crawl, filled, &mut timer, &mut debt, true)?;
    }
    timer.end();
    Ok(())
}

fn write_segment(
    crawl: &SharedCrawl,
    segment: crate::index::SegmentInWork,
    timer: &mut WorkerTimer,
    debt: &mut SlowedDebt,
    early: bool,
) -> Result<(), CrawlError> {
    if crawl.merges.wait_for_room(crawl.plan.index.merges_pending, crawl) {
        crawl.boards.of(Station::Index).blocked_by_merges(timer.spent(WorkerState::Blocked));
    }
    let start_ns = timer.at_ns();
    let (units, io) = crawl.index.write(segment)?;
    let span = timer.worked(WorkerState::Device, None);
    let batch = batch(Station::Index, units, start_ns, span, io);
    crawl.measured.batch(loadline_record::BatchRecord { early, ..batch });
    crawl.slow(SlowedStation::Line(Station::Index), span, debt, timer, None);
    Ok(())
}

/// The database's thread and its ends of the talk with the committer.
pub(crate) struct RowWriter {
    pub(crate) database: CrawlDatabase,
    /// Numbers of the sources in the database.
    pub(crate) sources: Vec<i64>,
    pub(crate) asks: Receiver<DatabaseCommit>,
    pub(crate) answers: Sender<DatabaseAnswer>,
}

impl RowWriter {
    pub(crate) fn run(mut self, crawl: &SharedCrawl) -> Result<(), CrawlError> {
        let board = crawl.boards.of(Station::Database);
        let mut timer = WorkerTimer::start(board);
        let mut debt = SlowedDebt::default();
        let mut seen = 0;
        loop {
            let row = match crawl.rows.take(&mut seen) {
                Taken::Item(row) => row,
                Taken::Called => continue,
                Taken::Closed => break,
            };
            timer.spent(WorkerState::Starved);
            let start_ns = timer.at_ns();
            match row {
                Row::Indexed { mut item, title, links } => {
                    let source = item.record.source;
                    let number = self.sources[source as usize];
                    self.database.write(number, &item, &title, None)?;
                    self.database.found(number, &links)?;
                    let span = timer.worked(WorkerState::Device, Some(source));
                    item.record.passed(
                        Station::Database,
                        Span { start_ns, end_ns: span.end_ns },
                        span.work(WorkerState::Device),
                    );
                    crawl.slow(SlowedStation::Line(Station::Database), span, &mut debt, &mut timer, Some(source));
                    board.leave(true);
                    if let Some(slowing) = &crawl.slowing {
                        slowing.passed(source, timer.at_ns());
                    }
                    crawl.measured.done(item.record);
                }
                Row::Unchanged { item, links } => {
                    let source = item.record.source;
                    let number = self.sources[source as usize];
                    self.database.touch(number, &item)?;
                    self.database.found(number, &links)?;
                    timer.worked(WorkerState::Device, Some(source));
                    board.leave(false);
                    crawl.measured.unchanged(source, timer.at_ns());
                }
                Row::Failed { item, reason } => {
                    let source = item.record.source;
                    if let Some(epoch) = item.replaces {
                        crawl.index.remove(epoch, &item.key);
                    }
                    self.database.write(self.sources[source as usize], &item, "", Some(&reason))?;
                    timer.worked(WorkerState::Device, Some(source));
                    board.leave(false);
                    crawl.measured.failed(source, &reason, timer.at_ns());
                }
                Row::LedOn { item, links } => {
                    let source = item.record.source;
                    let number = self.sources[source as usize];
                    if let Some(epoch) = item.replaces {
                        crawl.index.remove(epoch, &item.key);
                    }
                    self.database.write(number, &item, "", Some("redirect"))?;
                    self.database.found(number, &links)?;
                    timer.worked(WorkerState::Device, Some(source));
                    board.leave(false);
                }
                Row::EpochEnds { is_last } => {
                    if is_last && !crawl.stop.load(Ordering::Relaxed) {
                        self.remove_unseen(crawl)?;
                        self.database.complete()?;
                    }
                    timer.worked(WorkerState::Device, None);
                    if !self.commit(crawl, &mut timer)? {
                        break;
                    }
                }
            }
        }
        timer.spent(WorkerState::Starved);
        if !crawl.is_failed() {
            self.database.checkpoint(true)?;
            timer.worked(WorkerState::Device, None);
        }
        timer.end();
        self.database.close()
    }

    /// Ends the epoch with the committer. Returns whether the crawl goes on.
    fn commit(&mut self, crawl: &SharedCrawl, timer: &mut WorkerTimer) -> Result<bool, CrawlError> {
        if self.answers.send(DatabaseAnswer::Drained).is_err() {
            return Ok(false);
        }
        let Ok(DatabaseCommit::Commit(epoch)) = self.asks.recv() else { return Ok(false) };
        let (before, bytes) = (crate::clock::thread_ns(), self.database.log_bytes());
        self.database.commit(epoch)?;
        let after = crate::clock::thread_ns();
        let thread = (after.0 - before.0, after.1 - before.1);
        let bytes = self.database.log_bytes().saturating_sub(bytes);
        // The committer's clock has this time.
        timer.spent(WorkerState::Gated);
        crawl.measured.epoch_over(timer.at_ns());
        let is_heard = self.answers.send(DatabaseAnswer::Committed(thread, bytes)).is_ok();
        if self.database.checkpoint(false)? {
            timer.worked(WorkerState::Device, None);
        }
        Ok(is_heard)
    }

    /// Removes items that earlier crawls found and this did not. A source of which nothing came at all keeps what it has.
    fn remove_unseen(&self, crawl: &SharedCrawl) -> Result<(), CrawlError> {
        const AT_ONCE: u32 = 1_000;
        for (place, number) in self.sources.iter().enumerate() {
            if crawl.measured.seen(place) == 0 {
                continue;
            }
            loop {
                let gone = self.database.take_unseen(*number, AT_ONCE)?;
                if gone.is_empty() {
                    break;
                }
                let indexed = gone.iter().filter_map(|(key, epoch)| Some((key, (*epoch)?)));
                indexed.clone().for_each(|(key, epoch)| crawl.index.remove(epoch, key));
                crawl.measured.removed(place, indexed.count() as u64);
            }
        }
        Ok(())
    }
}
