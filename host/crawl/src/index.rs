//! The full-text index: segments written by workers of our own, commits with an epoch, merges that are counted.
//!
//! `tantivy` has workers behind a queue of its own, which holds 10,000 documents and shows nothing. So each of our workers writes
//! its own segments (`SegmentWriter`) and hands them over whole. That way is public and not documented, which is why the version
//! of `tantivy` is exact, and why only searches use it besides.

use crate::clock::lock;
use crate::error::CrawlError;
use crate::item::Extracted;
use crate::search::CrawlSearch;
use crate::volume_io::{BatchIo, CountedDirectory, IoTotals};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tantivy::directory::MmapDirectory;
use tantivy::index::SegmentId;
use tantivy::indexer::{AddOperation, IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy, SegmentWriter};
use tantivy::schema::{Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{AsciiFoldingFilter, LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};
use tantivy::{Index, IndexSettings, IndexWriter, Segment, TantivyDocument, Term};

/// The name of the tokenizer: words, lower case, without accents.
const TOKENIZER: &str = "words";
/// Bytes of a word at most; longer ones are no words.
const WORD_MAX: usize = 200;
/// Memory of the writer's own worker, which gets nothing to do.
const IDLE_BUDGET: usize = 15_000_000;
/// Memory for which a segment's tables are laid out at least.
const TABLE_MEMORY_MIN: usize = 15_000_000;
/// Merges at once.
pub(crate) const MERGE_THREADS: u32 = 1;

/// The index of a crawl.
pub(crate) struct CrawlIndex {
    index: Index,
    writer: Mutex<IndexWriter>,
    fields: Fields,
    policy: LogMergePolicy,
    totals: Arc<IoTotals>,
    memory: usize,
    /// Text of each segment, KiB.
    text_kib: Mutex<HashMap<SegmentId, u64>>,
}

#[derive(Debug, Clone, Copy)]
struct Fields {
    /// The key, to be shown.
    key: Field,
    /// Epoch and key: what a newer version of an item removes.
    version: Field,
    title: Field,
    body: Field,
    epoch: Field,
    size: Field,
}

/// A segment that a worker fills.
pub(crate) struct SegmentInWork {
    segment: Segment,
    writer: SegmentWriter,
    text_bytes: u64,
}

/// Segments that become one.
pub(crate) struct MergeInWork {
    ids: Vec<SegmentId>,
    pub(crate) text_kib: u64,
}

fn schema(store_text: bool) -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let text = TextOptions::default().set_indexing_options(words);
    let body = if store_text { text.clone().set_stored() } else { text.clone() };
    let fields = Fields {
        key: builder.add_text_field("key", STORED),
        version: builder.add_text_field("version", STRING),
        title: builder.add_text_field("title", text.set_stored()),
        body: builder.add_text_field("body", body),
        epoch: builder.add_u64_field("epoch", INDEXED),
        size: builder.add_u64_field("size", STORED),
    };
    (builder.build(), fields)
}

impl CrawlIndex {
    /// Opens the index in `folder`, or makes it; with `reset` it is made anew.
    pub(crate) fn open(folder: &Path, plan: &loadline_pipeline::IndexPlan, reset: bool) -> Result<Self, CrawlError> {
        if reset && folder.exists() {
            std::fs::remove_dir_all(folder).map_err(CrawlError::folder("remove the old index in", folder))?;
        }
        std::fs::create_dir_all(folder).map_err(CrawlError::folder("make the folder of the index,", folder))?;
        let mmap = MmapDirectory::open(folder).map_err(|error| CrawlError::index("open", error.into()))?;
        let totals = Arc::new(IoTotals::default());
        let directory = CountedDirectory::new(mmap, Arc::clone(&totals));
        let (schema, fields) = schema(plan.store_text);
        let exists = Index::exists(&directory).map_err(|error| CrawlError::index("open", error.into()))?;
        let index = if exists {
            Index::open(directory)
        } else {
            // Contents may be read in any order: smaller blocks of stored text cost little.
            Index::create(directory, schema, IndexSettings::default())
        };
        let index = index.map_err(|error| CrawlError::index("open", error))?;
        tokenizers(&index);
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(IDLE_BUDGET)
            .num_worker_threads(1)
            .num_merge_threads(MERGE_THREADS as usize)
            .build();
        let writer: IndexWriter =
            index.writer_with_options(options).map_err(|error| CrawlError::index("open for writing", error))?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(plan.merge_factor as usize);
        let memory = plan.memory.get() as usize;
        let text_kib = Mutex::default();
        Ok(Self { index, writer: Mutex::new(writer), fields, policy, totals, memory, text_kib })
    }
    /// The epoch that it holds; 0: none.
    pub(crate) fn epoch(&self) -> Result<u64, CrawlError> {
        let metas = self.index.load_metas().map_err(|error| CrawlError::index("read", error))?;
        Ok(metas.payload.and_then(|payload| payload.parse().ok()).unwrap_or(0))
    }
    /// Searches in what is committed.
    pub(crate) fn search(&self) -> Result<CrawlSearch, CrawlError> {
        CrawlSearch::of(self.index.clone())
    }
    /// Every key in it.
    pub(crate) fn keys(&self) -> Result<Vec<String>, CrawlError> {
        let read = |error| CrawlError::index("read", error);
        let searcher = self.index.reader().map_err(read)?.searcher();
        let mut keys = Vec::new();
        for segment in searcher.segment_readers() {
            let inverted = segment.inverted_index(self.fields.version).map_err(read)?;
            let mut terms = inverted.terms().stream().map_err(|error| read(error.into()))?;
            while terms.advance() {
                let alive = inverted
                    .read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)
                    .map_err(|error| read(error.into()))?;
                let mut postings = alive;
                let term = String::from_utf8_lossy(terms.key()).into_owned();
                let key = term.split_once(' ').map_or(term.clone(), |(_, key)| key.to_owned());
                let mut document = tantivy::DocSet::doc(&postings);
                while document != tantivy::TERMINATED {
                    if segment.alive_bitset().is_none_or(|bits| bits.is_alive(document)) {
                        keys.push(key.clone());
                    }
                    document = tantivy::DocSet::advance(&mut postings);
                }
            }
        }
        keys.sort();
        Ok(keys)
    }
    /// Removes the documents of an epoch that the database does not have, and is at `epoch` then.
    pub(crate) fn take_back(&self, surplus: u64, epoch: u64) -> Result<(), CrawlError> {
        lock(&self.writer).delete_term(Term::from_field_u64(self.fields.epoch, surplus));
        self.commit(epoch)
    }
    /// An item that is indexed anew, or is gone: what stands in the index since that epoch is removed with the next commit. A newer
    /// version of it has another term and stays: the library would remove that as well where its segment is not written yet.
    pub(crate) fn remove(&self, epoch: u64, key: &str) {
        lock(&self.writer).delete_term(Term::from_field_text(self.fields.version, &version(epoch, key)));
    }
    /// A new segment.
    pub(crate) fn segment(&self) -> Result<SegmentInWork, CrawlError> {
        let segment = self.index.new_segment();
        let memory = self.memory.max(TABLE_MEMORY_MIN);
        let writer = SegmentWriter::for_segment(memory, segment.clone())
            .map_err(|error| CrawlError::index("begin a segment of", error))?;
        Ok(SegmentInWork { segment, writer, text_bytes: 0 })
    }
    /// Adds an item to a segment.
    pub(crate) fn add(&self, segment: &mut SegmentInWork, extracted: &Extracted, epoch: u64) -> Result<(), CrawlError> {
        let mut document = TantivyDocument::default();
        document.add_text(self.fields.key, &extracted.item.key);
        document.add_text(self.fields.version, version(epoch, &extracted.item.key));
        document.add_text(self.fields.title, &extracted.title);
        document.add_text(self.fields.body, &extracted.text);
        document.add_u64(self.fields.epoch, epoch);
        document.add_u64(self.fields.size, extracted.item.record.bytes);
        segment.text_bytes += extracted.item.record.text_bytes;
        segment
            .writer
            .add_document(AddOperation { opstamp: 0, document })
            .map_err(|error| CrawlError::index("add an item to", error))
    }
    /// Whether the segment has the text, or the memory, that it may have.
    pub(crate) fn is_full(&self, segment: &SegmentInWork, workers: u32) -> bool {
        let budget = self.memory as u64 / u64::from(workers);
        segment.text_bytes >= budget || segment.writer.mem_usage() as u64 >= 2 * budget.max(TABLE_MEMORY_MIN as u64)
    }
    /// Writes a segment to its volume. Returns KiB of text, and what the volume was asked.
    pub(crate) fn write(&self, work: SegmentInWork) -> Result<(u64, BatchIo), CrawlError> {
        let write = |error| CrawlError::index("write a segment of", error);
        let SegmentInWork { segment, writer, text_bytes } = work;
        BatchIo::begin();
        let documents = writer.max_doc();
        writer.finalize().map_err(write)?;
        let segment = segment.with_max_doc(documents);
        let units = text_bytes.div_ceil(1024);
        lock(&self.text_kib).insert(segment.id(), units);
        lock(&self.writer).add_segment(segment.meta().clone()).map_err(write)?;
        Ok((units, BatchIo::take()))
    }
    /// Makes all segments durable, as of `epoch`.
    pub(crate) fn commit(&self, epoch: u64) -> Result<(), CrawlError> {
        let commit = |error| CrawlError::index("commit", error);
        let mut writer = lock(&self.writer);
        let mut prepared = writer.prepare_commit().map_err(commit)?;
        prepared.set_payload(&epoch.to_string());
        prepared.commit().map_err(commit)?;
        Ok(())
    }
    /// The same, with what the volume was asked.
    pub(crate) fn commit_counted(&self, epoch: u64) -> Result<BatchIo, CrawlError> {
        self.totals.updater.take();
        self.commit(epoch)?;
        Ok(self.totals.updater.take())
    }
    /// Segments that are to become one, beside those that are in work.
    pub(crate) fn merges(&self) -> Result<Vec<MergeInWork>, CrawlError> {
        let segments = self.index.searchable_segment_metas().map_err(|error| CrawlError::index("read", error))?;
        let text = lock(&self.text_kib);
        let known: u64 = text.values().sum();
        let documents: u64 = segments.iter().map(|segment| u64::from(segment.max_doc())).sum();
        let candidates = self.policy.compute_merge_candidates(&segments).into_iter();
        let of = |id: &SegmentId| {
            let segment = segments.iter().find(|segment| segment.id() == *id);
            // Of an earlier crawl: by its share of all documents.
            let share = segment.map_or(0, |segment| known * u64::from(segment.max_doc()) / documents.max(1));
            text.get(id).copied().unwrap_or(share)
        };
        let merge = |candidate: tantivy::indexer::MergeCandidate| {
            let text_kib = candidate.0.iter().map(of).sum();
            MergeInWork { ids: candidate.0, text_kib }
        };
        Ok(candidates.map(merge).collect())
    }
    /// Joins segments, and waits for that. Returns what the volume was asked, and the time of the thread that did it.
    pub(crate) fn merge(&self, merge: &MergeInWork) -> Result<(BatchIo, (u64, u64)), CrawlError> {
        self.totals.merges.take();
        let before = merge_thread_ns();
        let joined = lock(&self.writer).merge(&merge.ids);
        let joined = joined.wait().map_err(|error| CrawlError::index("merge segments of", error))?;
        let after = merge_thread_ns();
        if let Some(joined) = joined {
            let mut text = lock(&self.text_kib);
            text.retain(|id, _| !merge.ids.contains(id));
            text.insert(joined.id(), merge.text_kib);
        }
        let thread = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
        Ok((self.totals.merges.take(), thread))
    }
    /// Ends it: files that nothing needs any more are removed.
    pub(crate) fn close(self) -> Result<(), CrawlError> {
        let writer = self.writer.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let removed = writer.garbage_collect_files().wait();
        removed.map_err(|error| CrawlError::index("tidy up", error))?;
        writer.wait_merging_threads().map_err(|error| CrawlError::index("close", error))
    }
    /// The text that a worker gathers before it writes a segment.
    pub(crate) fn budget(&self, workers: u32) -> u64 {
        self.memory as u64 / u64::from(workers)
    }
}

/// The words of an index: in lower case, without accents.
pub(crate) fn tokenizers(index: &Index) {
    let words = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(WORD_MAX))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .build();
    index.tokenizers().register(TOKENIZER, words);
}

/// The term of an item as an epoch has it. A key that is too long for a term is known by its hash there.
fn version(epoch: u64, key: &str) -> String {
    const KEY_MAX: usize = 60_000;
    if key.len() > KEY_MAX { format!("{epoch} {}", blake3::hash(key.as_bytes())) } else { format!("{epoch} {key}") }
}

/// Time of the threads that merge: running, and in the queue for a processor.
fn merge_thread_ns() -> (u64, u64) {
    let mut sum = (0, 0);
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        if read("comm").starts_with("merge_thread") {
            let text = read("schedstat");
            let mut fields = text.split_ascii_whitespace().map(|field| field.parse::<u64>().unwrap_or_default());
            sum.0 += fields.next().unwrap_or_default();
            sum.1 += fields.next().unwrap_or_default();
        }
    }
    sum
}

impl std::fmt::Debug for CrawlIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrawlIndex").finish_non_exhaustive()
    }
}
