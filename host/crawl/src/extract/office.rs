//! Text of Office Open XML: documents, sheets and slides. Every part is read within the caps.

use super::PageText;
use crate::item::ItemFailure;
use loadline_pipeline::CrawlCaps;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::io::{Cursor, Read as _};
use zip::ZipArchive;

/// So much may come of a few bytes, whatever the ratio.
const RATIO_FROM: u64 = 1 << 20;
/// Elements within one another at most.
const DEPTH_MAX: usize = 1_000;

/// How the text of a part is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Runs of text in paragraphs: documents, slides, shared strings.
    Runs,
    /// Cells in rows.
    Sheet,
    /// The title among other properties.
    Properties,
}

/// The place of a part in the document's order; `None`: it has no text.
fn place(name: &str) -> Option<(u32, u32, Part)> {
    let number = |name: &str| -> u32 {
        let digits: String = name.chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let (folder, file) = name.rsplit_once('/')?;
    let stem = file.strip_suffix(".xml")?;
    let begins = |with: &str| stem.starts_with(with);
    match folder {
        "word" if stem == "document" => Some((0, 0, Part::Runs)),
        "word" if begins("header") => Some((1, number(stem), Part::Runs)),
        "word" if begins("footer") => Some((2, number(stem), Part::Runs)),
        "word" if matches!(stem, "footnotes" | "endnotes" | "comments") => Some((3, 0, Part::Runs)),
        "xl" if stem == "sharedStrings" => Some((0, 0, Part::Runs)),
        "xl/worksheets" if begins("sheet") => Some((1, number(stem), Part::Sheet)),
        "ppt/slides" if begins("slide") => Some((0, number(stem), Part::Runs)),
        "ppt/notesSlides" if begins("notesSlide") => Some((1, number(stem), Part::Runs)),
        "docProps" if stem == "core" => Some((4, 0, Part::Properties)),
        _ => None,
    }
}

/// The document's text.
///
/// # Errors
/// It is none, or takes more than the caps allow.
pub(super) fn of_office(body: &[u8], caps: &CrawlCaps) -> Result<PageText, ItemFailure> {
    let no_archive = |_| ItemFailure::of("no Office file, or one that is encrypted");
    let mut archive = ZipArchive::new(Cursor::new(body)).map_err(no_archive)?;
    if archive.len() > caps.entries as usize {
        return Err(ItemFailure::of("more entries than caps.entries"));
    }
    let names: Vec<String> = archive.file_names().flatten().map(std::borrow::Cow::into_owned).collect();
    let mut parts: Vec<(u32, u32, Part, String)> = names
        .into_iter()
        .filter_map(|name| place(&name).map(|(class, number, part)| (class, number, part, name)))
        .collect();
    parts.sort_by_key(|(class, number, _, _)| (*class, *number));
    if parts.iter().all(|(_, _, part, _)| *part == Part::Properties) {
        return Err(ItemFailure::of("no kind of file that has text"));
    }
    let by_ratio = (body.len() as u64).saturating_mul(u64::from(caps.ratio)).max(RATIO_FROM);
    let most = caps.inflated.get().min(by_ratio);
    let mut left = most;
    let mut page = PageText::default();
    for (_, _, part, name) in parts {
        if part != Part::Properties && page.text.len() as u64 > caps.text.get() {
            continue;
        }
        let mut bytes = Vec::new();
        let entry = archive.by_name(&name).map_err(|_| ItemFailure::of("a part of it cannot be read"))?;
        // An archive may lie about sizes: what comes is what counts.
        entry
            .take(left + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| ItemFailure::of("a part of it cannot be decompressed"))?;
        if bytes.len() as u64 > left {
            let cap = if most == caps.inflated.get() { "caps.inflated" } else { "caps.ratio" };
            return Err(ItemFailure::of(format!("larger than {cap} when it is decompressed")));
        }
        left -= bytes.len() as u64;
        let reader = PartReader {
            part,
            page: &mut page,
            most: caps.text.get() as usize,
            silent: 0,
            in_text: false,
            is_shared: false,
        };
        if !reader.read(&String::from_utf8_lossy(&bytes)) {
            let note = "the XML of a document is damaged";
            if !page.notes.iter().any(|known| known == note) {
                page.notes.push(note.into());
            }
        }
    }
    page.text.truncate(page.text.trim_end().len());
    Ok(page)
}

/// Reads a part from tag to tag. No tree is built.
struct PartReader<'p> {
    part: Part,
    page: &'p mut PageText,
    most: usize,
    /// Depth below an element whose text is there a second time, or is no text of the page.
    silent: usize,
    in_text: bool,
    /// The cell's value is the number of a shared string.
    is_shared: bool,
}

impl PartReader<'_> {
    /// Whether it could be read to its end.
    fn read(mut self, xml: &str) -> bool {
        let mut reader = Reader::from_str(xml.trim_start_matches('\u{feff}'));
        reader.config_mut().check_end_names = false;
        let mut depth = 0_usize;
        loop {
            if self.page.text.len() > self.most {
                return true;
            }
            match reader.read_event() {
                Ok(Event::Start(tag)) => {
                    depth += 1;
                    if depth > DEPTH_MAX {
                        return false;
                    }
                    self.start(&tag);
                }
                Ok(Event::Empty(tag)) => self.mark(tag.local_name().as_ref()),
                Ok(Event::End(tag)) => {
                    depth = depth.saturating_sub(1);
                    self.end(tag.local_name().as_ref());
                }
                Ok(Event::Text(text)) if self.takes_text() => match text.decode() {
                    Ok(text) => self.push(&text),
                    Err(_) => return false,
                },
                Ok(Event::CData(text)) if self.takes_text() => match text.decode() {
                    Ok(text) => self.push(&text),
                    Err(_) => return false,
                },
                Ok(Event::GeneralRef(name)) if self.takes_text() => {
                    if let Ok(Some(letter)) = name.resolve_char_ref() {
                        self.push(letter.encode_utf8(&mut [0; 4]));
                    } else if let Ok(name) = name.decode() {
                        // Entities of its own a document cannot have: only those of XML are known.
                        self.push(quick_xml::escape::resolve_predefined_entity(&name).unwrap_or_default());
                    }
                }
                Ok(Event::Eof) => return true,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
    }
    const fn takes_text(&self) -> bool {
        self.in_text && self.silent == 0
    }
    fn push(&mut self, text: &str) {
        if self.part == Part::Properties {
            self.page.title.push_str(text);
        } else {
            self.page.text.push_str(text);
        }
    }
    fn start(&mut self, tag: &BytesStart<'_>) {
        let name = tag.local_name();
        let name = name.as_ref();
        // A fallback has the text again for older programs; a phonetic run has it again for readers.
        if self.silent > 0 || matches!(name, b"Fallback" | b"rPh") {
            self.silent += 1;
            return;
        }
        match (self.part, name) {
            (Part::Properties, b"title") | (Part::Runs | Part::Sheet, b"t") => self.in_text = true,
            (Part::Sheet, b"c") => {
                let kind = tag.try_get_attribute("t").ok().flatten();
                self.is_shared = kind.is_some_and(|kind| matches!(kind.value.as_ref(), b"s" | b"b" | b"e"));
            }
            (Part::Sheet, b"v") => self.in_text = !self.is_shared,
            _ => {}
        }
    }
    fn end(&mut self, name: &[u8]) {
        if self.silent > 0 {
            self.silent -= 1;
            return;
        }
        match (self.part, name) {
            (Part::Properties, b"title") | (Part::Runs, b"t") => self.in_text = false,
            (Part::Sheet, b"t" | b"v") if std::mem::take(&mut self.in_text) => self.separate(' '),
            (Part::Runs, b"p" | b"si") | (Part::Sheet, b"row") => self.separate('\n'),
            _ => {}
        }
    }
    /// An element without contents.
    fn mark(&mut self, name: &[u8]) {
        if self.silent == 0 && self.part == Part::Runs {
            match name {
                b"tab" => self.separate(' '),
                b"br" | b"cr" => self.separate('\n'),
                _ => {}
            }
        }
    }
    /// Words on both sides of here are two.
    fn separate(&mut self, by: char) {
        if !self.page.text.is_empty() && !self.page.text.ends_with(['\n', by]) {
            self.page.text.push(by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::documents::{archive, office};

    fn text(body: &[u8], caps: &CrawlCaps) -> Result<PageText, String> {
        of_office(body, caps).map_err(|failure| failure.reason.into_owned())
    }

    #[test]
    fn documents_sheets_and_slides_have_their_text_in_order() {
        for kind in ["docx", "xlsx", "pptx"] {
            let page = text(&office(kind, "A title", &["one & two", "three <four>"]), &CrawlCaps::default()).unwrap();
            assert_eq!((page.title.as_str(), page.notes.len()), ("A title", 0), "{kind}");
            let words: Vec<&str> = page.text.split_whitespace().collect();
            assert_eq!(words.join(" "), "one & two three <four>", "{kind}");
        }
    }

    #[test]
    fn runs_join_paragraphs_part_and_what_is_there_twice_counts_once() {
        let xml = "<w:document><w:p><w:r><w:t>on</w:t></w:r><w:r><w:t>e&#x21;</w:t><w:tab/><w:t>two</w:t></w:r></w:p>\
            <mc:Fallback><w:p><w:t>again</w:t></w:p></mc:Fallback><w:p><w:delText>gone</w:delText><w:t>three";
        let page = text(&archive(&[("word/document.xml", xml.as_bytes())]), &CrawlCaps::default()).unwrap();
        assert_eq!(page.text, "one! two\nthree");
        let cells = "<row><c t='s'><v>0</v></c><c><v>42</v></c><c t='inlineStr'><is><t>in</t></is></c></row>";
        let strings = "<sst><si><t>shared</t><rPh><t>phonetic</t></rPh></si></sst>";
        let parts = [("xl/worksheets/sheet1.xml", cells.as_bytes()), ("xl/sharedStrings.xml", strings.as_bytes())];
        assert_eq!(text(&archive(&parts), &CrawlCaps::default()).unwrap().text, "shared\n42 in");
    }

    #[test]
    fn bombs_and_what_is_no_document_are_failures_by_their_reason() {
        let caps = CrawlCaps::default();
        let zeros = vec![b' '; 8 << 20];
        let bomb = archive(&[("word/document.xml", zeros.as_slice())]);
        assert_eq!(text(&bomb, &caps), Err("larger than caps.ratio when it is decompressed".to_owned()));
        let small = CrawlCaps { inflated: loadline_units::Bytes::kib(1), ..caps };
        assert_eq!(text(&bomb, &small), Err("larger than caps.inflated when it is decompressed".to_owned()));
        let few = CrawlCaps { entries: 1, ..caps };
        let two = archive(&[("word/document.xml", b"<p/>"), ("b", b"")]);
        assert_eq!(text(&two, &few), Err("more entries than caps.entries".to_owned()));
        assert_eq!(text(b"PK\x03\x04", &caps), Err("no Office file, or one that is encrypted".to_owned()));
        let other = archive(&[("META-INF/MANIFEST.MF", b"words")]);
        assert_eq!(text(&other, &caps), Err("no kind of file that has text".to_owned()));
        let nested = "<a>".repeat(100_000);
        let page = text(&archive(&[("word/document.xml", nested.as_bytes())]), &caps).unwrap();
        assert_eq!(page.notes, ["the XML of a document is damaged"]);
        let long = CrawlCaps { text: loadline_units::Bytes::new(10), ..caps };
        assert!(text(&office("docx", "t", &["one two three"; 100]), &long).unwrap().text.len() < 40);
    }
}
