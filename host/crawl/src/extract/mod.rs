//! Text and links out of contents.

mod charset;
mod html;
mod inflate;
mod man;
mod office;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(not(feature = "pdf"))]
mod pdf_absent;
mod reader;
mod served;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use reader::DocumentReader;
pub use reader::ReaderCommand;
pub use served::serve_documents;

use crate::item::{ContentKind, ItemFailure};
use loadline_pipeline::CrawlCaps;
use std::borrow::Cow;

use charset::decoded;
use html::of_html;
use inflate::inflated;
use man::of_man;
#[cfg(feature = "pdf")]
use pdf as pdf_reader;
#[cfg(not(feature = "pdf"))]
use pdf_absent as pdf_reader;

/// What was made of contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageText {
    pub(crate) title: String,
    pub(crate) text: String,
    /// As they stand in the page.
    pub(crate) links: Vec<String>,
    /// The page's own base for links.
    pub(crate) base: Option<String>,
    /// The page asks that its links are not followed.
    pub(crate) is_nofollow: bool,
    /// The page asks not to be indexed.
    pub(crate) is_noindex: bool,
    pub(crate) notes: Vec<Cow<'static, str>>,
}

/// Text that is cut: its cap, as it is named.
pub(crate) const TEXT_CUT: &str = "text is cut at caps.text";

/// Makes text of contents, for one worker.
#[derive(Debug)]
pub(crate) struct Extraction {
    caps: CrawlCaps,
    reader: DocumentReader,
    child_ns: u64,
}

impl Extraction {
    /// `documents` reads PDF and Office files.
    pub(crate) const fn new(caps: CrawlCaps, documents: Option<ReaderCommand>) -> Self {
        Self { caps, reader: DocumentReader::new(documents, caps), child_ns: 0 }
    }
    /// The text of contents. `kind_of` says what they are, when they are decompressed.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn page(
        &mut self,
        body: &[u8],
        is_compressed: bool,
        kind_of: impl Fn(&[u8]) -> Option<ContentKind>,
        declared: Option<&str>,
        notes: &mut Vec<Cow<'static, str>>,
    ) -> Result<PageText, ItemFailure> {
        self.child_ns = 0;
        let whole = if is_compressed { Cow::Owned(inflated(body, &self.caps)?) } else { Cow::Borrowed(body) };
        let kind = kind_of(&whole).ok_or_else(|| ItemFailure::of("no kind of file that has text"))?;
        let page = match kind {
            ContentKind::Pdf | ContentKind::Office => {
                let (page, child_ns) = self.reader.read(kind, &whole);
                self.child_ns = child_ns;
                page?
            }
            ContentKind::Html | ContentKind::Man | ContentKind::Text => page_text(kind, &whole, declared, &self.caps),
        };
        if page.text.is_empty() {
            notes.push("no text in it".into());
        }
        Ok(page)
    }
    /// Processor time that other processes spent on the last contents.
    pub(crate) const fn child_ns(&self) -> u64 {
        self.child_ns
    }
}

/// Makes text of contents that need no process of their own.
fn page_text(kind: ContentKind, body: &[u8], declared: Option<&str>, caps: &CrawlCaps) -> PageText {
    let mut notes = Vec::new();
    let text = decoded(body, declared, kind == ContentKind::Html, &mut notes);
    let mut page = match kind {
        ContentKind::Html => of_html(&text, caps),
        ContentKind::Man => of_man(&text),
        _ => PageText { text: text.into_owned(), ..PageText::default() },
    };
    page.notes.extend(notes);
    cut(&mut page, caps);
    page
}

/// Keeps the text within its cap, at a character's end.
pub(crate) fn cut(page: &mut PageText, caps: &CrawlCaps) {
    let most = caps.text.get() as usize;
    if page.text.len() > most {
        let end = (0..=most).rev().find(|at| page.text.is_char_boundary(*at)).unwrap_or(0);
        page.text.truncate(end);
        page.notes.push(TEXT_CUT.into());
    }
    let most = 1_000;
    if page.title.len() > most {
        let end = (0..=most).rev().find(|at| page.title.is_char_boundary(*at)).unwrap_or(0);
        page.title.truncate(end);
    }
}
