//! Text, title and links of HTML, from its tokens. No tree is built: nesting costs nothing.

use super::PageText;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Readable, Reader, Span, StringReader, Tokenizer};
use loadline_pipeline::CrawlCaps;
use std::cell::Cell;

/// Elements whose contents are no text of the page.
const SILENT: [&[u8]; 5] = [b"script", b"style", b"template", b"noscript", b"svg"];
/// Elements within a line: their ends separate no words.
const INLINE: [&[u8]; 18] = [
    b"a", b"abbr", b"b", b"bdi", b"cite", b"code", b"em", b"font", b"i", b"kbd", b"mark", b"s", b"small", b"span",
    b"strong", b"sub", b"sup", b"u",
];

/// Attributes of one tag. The tokenizer goes some calls deeper with each, so that no stack is large enough for what a page may have.
const ATTRIBUTES_MAX: u32 = 100;

/// A tag has more than [`ATTRIBUTES_MAX`] attributes.
#[derive(Debug, thiserror::Error)]
#[error("a tag has more than {ATTRIBUTES_MAX} attributes")]
struct TooManyAttributes;

/// A page that ends where a tag has too many attributes.
struct PageBytes<'h> {
    html: StringReader<'h>,
    /// Attributes of the tag that is being read.
    attributes: &'h Cell<u32>,
}

impl PageBytes<'_> {
    fn is_within(&self) -> Result<(), TooManyAttributes> {
        if self.attributes.get() > ATTRIBUTES_MAX { Err(TooManyAttributes) } else { Ok(()) }
    }
}

impl Reader for PageBytes<'_> {
    type Error = TooManyAttributes;

    fn read_byte(&mut self) -> Result<Option<u8>, TooManyAttributes> {
        self.is_within()?;
        let Ok(byte) = self.html.read_byte();
        Ok(byte)
    }
    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, TooManyAttributes> {
        let Ok(found) = self.html.try_read_string(text, case_sensitive);
        Ok(found)
    }
    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, TooManyAttributes> {
        self.is_within()?;
        let Ok(bytes) = self.html.read_until(needle, buffer);
        Ok(bytes)
    }
}

/// What is read of the element whose start tag is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Link,
    Base,
    Meta,
    Frame,
    Other,
}

#[derive(Debug)]
struct PageReader<'p> {
    page: &'p mut PageText,
    links_max: usize,
    text_max: usize,
    /// The silent element, and how deep it is in itself.
    silent: Option<(Vec<u8>, u32)>,
    in_title: bool,
    element: Element,
    attribute: Vec<u8>,
    meta_name: Vec<u8>,
    meta_content: Vec<u8>,
}

/// The page's text. Everything is within the caps.
pub(crate) fn of_html(html: &str, caps: &CrawlCaps) -> PageText {
    let mut page = PageText::default();
    let mut reader = PageReader {
        page: &mut page,
        links_max: caps.links as usize,
        // One character more than the cap shows that it strikes.
        text_max: caps.text.get() as usize + 1,
        silent: None,
        in_title: false,
        element: Element::Other,
        attribute: Vec::new(),
        meta_name: Vec::new(),
        meta_content: Vec::new(),
    };
    let attributes = Cell::new(0);
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<()> {
        attributes.set(match event {
            CallbackEvent::AttributeName { .. } => attributes.get() + 1,
            CallbackEvent::AttributeValue { .. } | CallbackEvent::Error(_) => attributes.get(),
            _ => 0,
        });
        reader.event(&event);
        None
    });
    let bytes = PageBytes { html: html.to_reader(), attributes: &attributes };
    let cut = Tokenizer::new_with_emitter(bytes, emitter).find_map(Result::err);
    if let Some(TooManyAttributes) = cut {
        page.notes.push(format!("{TooManyAttributes}: the rest of the page is left out").into());
    }
    page.text.truncate(page.text.trim_end().len());
    page
}

impl PageReader<'_> {
    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.open(name),
            CallbackEvent::AttributeName { name } => {
                self.attribute.clear();
                self.attribute.extend_from_slice(name);
            }
            CallbackEvent::AttributeValue { value } => self.value(value),
            CallbackEvent::CloseStartTag { self_closing } => self.close(*self_closing),
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } => self.string(value),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
    }
    fn open(&mut self, name: &[u8]) {
        if let Some((silent, depth)) = &mut self.silent {
            if silent == name {
                *depth += 1;
            }
            self.element = Element::Other;
            return;
        }
        self.element = match name {
            b"a" | b"area" => Element::Link,
            b"frame" | b"iframe" => Element::Frame,
            b"base" => Element::Base,
            b"meta" => Element::Meta,
            _ => Element::Other,
        };
        if SILENT.contains(&name) {
            self.silent = Some((name.to_vec(), 1));
        } else if name == b"title" {
            self.in_title = self.page.title.is_empty();
        } else if !INLINE.contains(&name) {
            self.separate();
        }
    }
    fn value(&mut self, value: &[u8]) {
        let text = || String::from_utf8_lossy(value).into_owned();
        match (self.element, self.attribute.as_slice()) {
            (Element::Link, b"href") | (Element::Frame, b"src") if self.page.links.len() < self.links_max => {
                self.page.links.push(text());
            }
            (Element::Link, b"href") | (Element::Frame, b"src") => {
                let note = "links beyond caps.links are left out";
                if !self.page.notes.iter().any(|known| known == note) {
                    self.page.notes.push(note.into());
                }
            }
            (Element::Base, b"href") if self.page.base.is_none() => self.page.base = Some(text()),
            (Element::Meta, b"name") => self.meta_name = value.to_ascii_lowercase(),
            (Element::Meta, b"content") => self.meta_content = value.to_ascii_lowercase(),
            _ => {}
        }
    }
    fn close(&mut self, self_closing: bool) {
        if self.element == Element::Meta {
            if self.meta_name == b"robots" {
                let says = |word: &[u8]| self.meta_content.windows(word.len()).any(|window| window == word);
                self.page.is_nofollow |= says(b"nofollow") || says(b"none");
                self.page.is_noindex |= says(b"noindex") || says(b"none");
            }
            self.meta_name.clear();
            self.meta_content.clear();
        }
        if self_closing && self.silent.as_ref().is_some_and(|(name, _)| name == b"svg") {
            self.leave_silence();
        }
    }
    fn leave_silence(&mut self) {
        if let Some((_, depth)) = &mut self.silent {
            *depth -= 1;
            if *depth == 0 {
                self.silent = None;
            }
        }
    }
    fn end(&mut self, name: &[u8]) {
        if let Some((silent, _)) = &self.silent {
            if silent == name {
                self.leave_silence();
            }
            return;
        }
        if name == b"title" {
            self.in_title = false;
        } else if !INLINE.contains(&name) {
            self.separate();
        }
    }
    /// Words on both sides of here are two.
    fn separate(&mut self) {
        if !self.page.text.is_empty() && !self.page.text.ends_with('\n') {
            let trimmed = self.page.text.trim_end_matches(' ').len();
            self.page.text.truncate(trimmed);
            self.page.text.push('\n');
        }
    }
    fn string(&mut self, value: &[u8]) {
        if self.silent.is_some() {
            return;
        }
        let value = String::from_utf8_lossy(value);
        if self.in_title {
            push_words(&mut self.page.title, &value, 4_096);
        } else {
            push_words(&mut self.page.text, &value, self.text_max);
        }
    }
}

/// Appends, with one blank for each run of white space.
fn push_words(text: &mut String, more: &str, most: usize) {
    if more.starts_with(char::is_whitespace) && !text.is_empty() && !text.ends_with(['\n', ' ']) {
        text.push(' ');
    }
    let mut is_first = true;
    for word in more.split_whitespace() {
        if text.len() >= most {
            return;
        }
        if !is_first {
            text.push(' ');
        }
        is_first = false;
        text.push_str(word);
    }
    if !is_first && more.ends_with(char::is_whitespace) {
        text.push(' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_title_links_and_directives_come_out_of_a_page() {
        let html = "<!doctype html><head><title> A  page </title><base href='/sub/'>\
            <meta content='NoFollow' name='robots'><style>p {}</style><script>if (a < b) { '<p>no</p>' }</script></head>\
            <body><h1>One</h1><p>two<b>three</b> four&amp;five <a href='x.html'>six</a></p><template><p>no</template>\
            <iframe src=frame.html></iframe><p>seven";
        let page = of_html(html, &CrawlCaps::default());
        assert_eq!(page.title.trim(), "A page");
        assert_eq!(page.text, "One\ntwothree four&five six\nseven");
        assert_eq!(page.links, ["x.html", "frame.html"]);
        assert_eq!((page.base.as_deref(), page.is_nofollow, page.is_noindex), (Some("/sub/"), true, false));
    }

    #[test]
    fn deep_nesting_costs_no_more_than_its_length() {
        let html = "<ul><li>".repeat(100_000) + "end";
        assert_eq!(of_html(&html, &CrawlCaps::default()).text, "end");
    }

    #[test]
    fn many_attributes_in_a_tag_end_the_page_and_nothing_else() {
        let one = |kind: &str, count: usize| format!("<p>before<{kind} {}>after", "x=\"y\" ".repeat(count));
        let read = |html: String| {
            // A stack as small as a worker may have.
            let worker = std::thread::Builder::new().stack_size(512 << 10);
            worker.spawn(move || of_html(&html, &CrawlCaps::default())).unwrap().join().unwrap()
        };
        for kind in ["p", "/p"] {
            let page = read(one(kind, 10_000));
            assert_eq!(page.text, "before", "{kind}");
            assert_eq!(page.notes, ["a tag has more than 100 attributes: the rest of the page is left out"]);
            assert_eq!(read(one(kind, 90)).text, "before\nafter", "{kind}");
        }
        // The count begins anew with each tag.
        assert_eq!(read(one("p", 90).repeat(50)).notes.len(), 0);
    }

    #[test]
    fn links_and_text_stay_within_their_caps() {
        let caps = CrawlCaps { links: 2, text: loadline_units::Bytes::new(10), ..CrawlCaps::default() };
        let page = of_html("<a href=1>one two three four five six seven</a><a href=2></a><a href=3></a>", &caps);
        assert_eq!(page.links, ["1", "2"]);
        assert!(page.text.len() < 20, "{}", page.text);
        assert_eq!(page.notes.len(), 1);
    }
}
