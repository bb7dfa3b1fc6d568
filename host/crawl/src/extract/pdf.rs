//! Text of PDF, page by page.

use super::PageText;
use crate::item::ItemFailure;
use loadline_pipeline::CrawlCaps;
use lopdf::{Document, Error, LoadOptions, Object};

/// Pages whose text is made at once: the library looks for all pages each time.
const PAGES_AT_ONCE: usize = 64;

/// The document's text.
///
/// # Errors
/// It is none, is encrypted, or takes more than the caps allow.
pub(super) fn of_pdf(body: &[u8], caps: &CrawlCaps) -> Result<PageText, ItemFailure> {
    let inflated_max = caps.inflated.get() as usize;
    let options = LoadOptions { max_decompressed_size: Some(inflated_max), ..LoadOptions::default() };
    let document = Document::load_mem_with_options(body, options).map_err(|error| failure(&error))?;
    if document.is_encrypted() {
        return Err(ItemFailure::of("it is encrypted"));
    }
    let mut page = PageText { title: title(&document).unwrap_or_default(), ..PageText::default() };
    let mut pages = document.page_iter().take(caps.pages as usize + 1).count();
    if pages == 0 {
        return Err(ItemFailure::of("a PDF without pages"));
    }
    if pages > caps.pages as usize {
        pages = caps.pages as usize;
        page.notes.push("pages beyond caps.pages are left out".into());
    }
    let numbers: Vec<u32> = (1..=pages as u32).collect();
    let mut left = inflated_max;
    for some in numbers.chunks(PAGES_AT_ONCE) {
        for chunk in document.extract_text_chunks_with_limit(some, left) {
            match chunk {
                Ok(text) => {
                    left = left.saturating_sub(text.len());
                    page.text.push_str(&text);
                    if !page.text.ends_with('\n') {
                        page.text.push('\n');
                    }
                }
                Err(error @ Error::Decompress(_)) => return Err(failure(&error)),
                Err(_) => {
                    let note = "some text of a PDF cannot be decoded";
                    if !page.notes.iter().any(|known| known == note) {
                        page.notes.push(note.into());
                    }
                }
            }
        }
        if page.text.len() as u64 > caps.text.get() {
            break;
        }
    }
    page.text.truncate(page.text.trim_end().len());
    Ok(page)
}

fn failure(error: &Error) -> ItemFailure {
    match error {
        Error::Decompress(lopdf::DecompressError::MemoryLimitExceeded { .. }) => {
            ItemFailure::of("larger than caps.inflated when it is decompressed")
        }
        Error::InvalidPassword | Error::Decryption(_) => ItemFailure::of("it is encrypted"),
        _ => ItemFailure::of("no PDF that can be read"),
    }
}

fn title(document: &Document) -> Option<String> {
    let info = document.trailer.get(b"Info").ok()?;
    let info = match info {
        Object::Reference(id) => document.get_dictionary(*id).ok()?,
        other => other.as_dict().ok()?,
    };
    let bytes = info.get_deref(b"Title", document).ok()?.as_str().ok()?;
    let text = match bytes.strip_prefix(b"\xfe\xff") {
        Some(wide) => encoding_rs::UTF_16BE.decode_without_bom_handling(wide).0,
        None => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0,
    };
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::documents::{bad, pdf, pdf_bomb};

    fn text(body: &[u8], caps: &CrawlCaps) -> Result<PageText, String> {
        of_pdf(body, caps).map_err(|failure| failure.reason.into_owned())
    }

    #[test]
    fn pages_have_their_text_and_beyond_the_cap_they_are_left_out() {
        let body = pdf("A title", &["one (two)", "three"]);
        let page = text(&body, &CrawlCaps::default()).unwrap();
        assert_eq!((page.title.as_str(), page.text.as_str()), ("A title", "one (two)\nthree"));
        let one = text(&body, &CrawlCaps { pages: 1, ..CrawlCaps::default() }).unwrap();
        assert_eq!((one.text.as_str(), one.notes.len()), ("one (two)", 1));
    }

    #[test]
    fn a_page_tree_without_an_end_ends_and_what_is_no_pdf_is_named() {
        let reason = text(&bad("tree.pdf").unwrap(), &CrawlCaps::default()).unwrap_err();
        assert_eq!(reason, "a PDF without pages");
        assert_eq!(text(b"%PDF-1.7 nothing", &CrawlCaps::default()).unwrap_err(), "no PDF that can be read");
    }

    #[test]
    fn a_bomb_in_a_page_is_cut_at_its_cap() {
        let caps = CrawlCaps { inflated: loadline_units::Bytes::kib(64), ..CrawlCaps::default() };
        let reason = text(&pdf_bomb(), &caps).unwrap_err();
        assert_eq!(reason, "larger than caps.inflated when it is decompressed");
    }
}
