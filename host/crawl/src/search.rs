//! Searches in a crawl's index: while it is made, at a fixed rate, and afterwards.

use crate::clock::lock;
use crate::error::CrawlError;
use crate::index::tokenizers;
use crate::state::SharedCrawl;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tantivy::collector::{DocSetCollector, TopDocs};
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Value as _};
use tantivy::{DocAddress, Index, IndexReader, ReloadPolicy, Searcher, TantivyDocument, Term};

/// Results of a search that are looked up.
const RESULTS: usize = 10;
/// Words that searches are made of, at most.
const WORDS_MAX: usize = 512;
/// Letters of such a word.
const WORD_LETTERS: std::ops::RangeInclusive<usize> = 3..=20;
/// How often a searcher that waits looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Searches in an index.
pub struct CrawlSearch {
    index: Index,
    reader: IndexReader,
    key: Field,
    texts: [Field; 2],
}

impl std::fmt::Debug for CrawlSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrawlSearch").finish_non_exhaustive()
    }
}

fn failed(error: tantivy::TantivyError) -> CrawlError {
    CrawlError::index("search", error)
}

impl CrawlSearch {
    /// In the index of a folder.
    ///
    /// # Errors
    /// There is none.
    pub fn open(folder: &Path) -> Result<Self, CrawlError> {
        let index = Index::open_in_dir(folder).map_err(failed)?;
        tokenizers(&index);
        Self::of(index)
    }
    pub(crate) fn of(index: Index) -> Result<Self, CrawlError> {
        let schema = index.schema();
        let field = |name: &str| schema.get_field(name).map_err(failed);
        let (key, texts) = (field("key")?, [field("title")?, field("body")?]);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(failed)?;
        Ok(Self { index, reader, key, texts })
    }
    /// Sees what was committed since.
    fn reload(&self) -> Result<(), CrawlError> {
        self.reader.reload().map_err(failed)
    }
    /// Every word has to be there, in title or text.
    fn query(&self, words: &[&str]) -> Result<BooleanQuery, CrawlError> {
        let mut tokenizer = self.index.tokenizer_for_field(self.texts[1]).map_err(failed)?;
        let mut musts: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for word in words {
            let mut stream = tokenizer.token_stream(word);
            stream.process(&mut |token| {
                let in_field = |field: Field| -> (Occur, Box<dyn Query>) {
                    let term = Term::from_field_text(field, &token.text);
                    (Occur::Should, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)))
                };
                musts.push((Occur::Must, Box::new(BooleanQuery::new(self.texts.map(in_field).into()))));
            });
        }
        Ok(BooleanQuery::new(musts))
    }
    fn keys(&self, searcher: &Searcher, found: impl Iterator<Item = DocAddress>) -> Result<Vec<String>, CrawlError> {
        let mut keys = Vec::new();
        for address in found {
            let document: TantivyDocument = searcher.doc(address).map_err(failed)?;
            keys.extend(document.get_first(self.key).and_then(|key| key.as_str()).map(str::to_owned));
        }
        Ok(keys)
    }
    /// Keys of the best results.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn best(&self, words: &[&str]) -> Result<Vec<String>, CrawlError> {
        let searcher = self.reader.searcher();
        let top = TopDocs::with_limit(RESULTS).order_by_score();
        let found = searcher.search(&self.query(words)?, &top).map_err(failed)?;
        self.keys(&searcher, found.into_iter().map(|(_, address)| address))
    }
    /// Keys of all results, in order.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn all(&self, words: &[&str]) -> Result<Vec<String>, CrawlError> {
        let searcher = self.reader.searcher();
        let found = searcher.search(&self.query(words)?, &DocSetCollector).map_err(failed)?;
        let mut keys = self.keys(&searcher, found.into_iter())?;
        keys.sort();
        Ok(keys)
    }
}

/// Words of the texts that are indexed, for searches while the crawl runs.
#[derive(Debug, Default)]
pub(crate) struct SearchWords {
    offered: AtomicU64,
    words: Mutex<Vec<String>>,
}

impl SearchWords {
    /// One word of a text may be searched for.
    pub(crate) fn offer(&self, text: &str) {
        let number = self.offered.fetch_add(1, Ordering::Relaxed);
        let at = crate::made_up::draw(0x0005_ea2c, number) % (text.len() as u64).max(1);
        let rest = (at as usize..text.len()).find(|at| text.is_char_boundary(*at)).map_or("", |at| &text[at..]);
        // The first may be the end of a word.
        let mut words = rest.split(|letter: char| !letter.is_alphanumeric()).skip(1);
        let Some(word) = words.find(|word| WORD_LETTERS.contains(&word.chars().count())) else { return };
        let mut kept = lock(&self.words);
        if kept.len() < WORDS_MAX {
            kept.push(word.to_owned());
        } else {
            word.clone_into(&mut kept[number as usize % WORDS_MAX]);
        }
    }
    /// One or two words; none as long as nothing was offered.
    fn draw(&self, number: u64) -> Vec<String> {
        let kept = lock(&self.words);
        if kept.is_empty() {
            return Vec::new();
        }
        let of = |salt: u64| kept[(crate::made_up::draw(salt, number) % kept.len() as u64) as usize].clone();
        if number.is_multiple_of(2) { vec![of(1)] } else { vec![of(1), of(2)] }
    }
}

/// Searches at a fixed rate until it is to end. A search is late from the moment on when it was due.
pub(crate) fn searcher(crawl: &SharedCrawl, words: &SearchWords, stop: &AtomicBool) -> Result<(), CrawlError> {
    let search = crawl.index.search()?;
    let gap_ns = 1_000_000_000 / u64::from(crawl.plan.search.per_second.max(1));
    let mut epoch = crawl.epochs.epoch();
    for number in 1.. {
        let due_ns = number * gap_ns;
        loop {
            if stop.load(Ordering::Relaxed) || crawl.is_failed() {
                return Ok(());
            }
            let left = Duration::from_nanos(due_ns.saturating_sub(crawl.clock.ns()));
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
        let now = crawl.epochs.epoch();
        if now != epoch {
            search.reload()?;
            epoch = now;
        }
        let drawn = words.draw(number);
        if !drawn.is_empty() {
            let drawn: Vec<&str> = drawn.iter().map(String::as_str).collect();
            search.best(&drawn)?;
            crawl.measured.searched(crawl.clock.ns().saturating_sub(due_ns));
        }
    }
    Ok(())
}
