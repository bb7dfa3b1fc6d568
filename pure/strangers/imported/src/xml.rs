//! XML as a tree: elements, attributes and text, as tools write them for programs.

use crate::ImportError;
use crate::told::Source;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::borrow::Cow;

/// Elements of one document.
const ELEMENTS_MAX: usize = 2_000_000;
/// Elements within elements.
const DEPTH_MAX: usize = 64;

/// An element.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

impl Element {
    /// The first child of a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }
    /// All children of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }
    /// The text of the first child of a name, unless it is empty.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim()).filter(|text| !text.is_empty())
    }
    fn of(tag: &BytesStart<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let attribute =
            |of: Attribute<'_>| Some((text(of.key.0), of.normalized_value(XmlVersion::Implicit1_0).ok()?.into_owned()));
        let attributes = tag.attributes().flatten().filter_map(attribute).collect();
        Self { name: text(tag.name().0), attributes, ..Self::default() }
    }
    /// An attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The document's element; what stands before and after it is ignored.
pub(crate) fn parse(source: Source<'_>) -> Result<Element, ImportError> {
    let line_at = |at: u64| source.text[..at as usize].matches('\n').count() + 1;
    let cut_off =
        || ImportError::CutOff { source_name: source.name.to_owned(), line: line_at(source.text.len() as u64) };
    let mut reader = Reader::from_str(source.text);
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    // diskspd writes paths as they are: `R&D`.
    reader.config_mut().allow_dangling_amp = true;
    let mut open: Vec<Element> = Vec::new();
    let mut count = 0;
    loop {
        let begin = reader.buffer_position();
        let closed = match reader.read_event().map_err(|_| cut_off())? {
            Event::Start(tag) => {
                open.push(Element::of(&tag));
                None
            }
            Event::Empty(tag) => Some(Element::of(&tag)),
            Event::End(tag) => {
                let name = String::from_utf8_lossy(tag.name().0).into_owned();
                let closed = open.pop().filter(|element| element.name == name);
                Some(closed.ok_or_else(|| source.error(line_at(begin), format!("</{name}> closes nothing")))?)
            }
            Event::Eof => return Err(cut_off()),
            event => {
                if let (Some(current), Some(text)) = (open.last_mut(), text_in(&event)) {
                    current.text.push_str(&text);
                }
                continue;
            }
        };
        count += 1;
        if count > ELEMENTS_MAX || open.len() > DEPTH_MAX {
            return Err(source.error(line_at(begin), "more elements than can be"));
        }
        match (closed, open.last_mut()) {
            (Some(closed), Some(parent)) => parent.children.push(closed),
            (Some(closed), None) => return Ok(closed),
            (None, _) => {}
        }
    }
}

/// The text that an event stands for; `None` of declarations, comments and the like.
fn text_in<'a>(event: &'a Event<'_>) -> Option<Cow<'a, str>> {
    match event {
        Event::Text(text) => text.decode().ok(),
        Event::CData(text) => text.decode().ok(),
        Event::GeneralRef(name) => {
            if let Ok(Some(letter)) = name.resolve_char_ref() {
                return Some(letter.to_string().into());
            }
            let name = name.decode().ok()?;
            Some(resolve_predefined_entity(&name).map_or_else(|| format!("&{name};").into(), Cow::Borrowed))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Element, ImportError> {
        parse(Source { text, name: "a.xml", written_unix_s: 0 })
    }

    #[test]
    fn elements_have_their_text_attributes_and_children() {
        let text = "<?xml version=\"1.0\"?>\n<!-- <x> -->\n<A><B k=\"1 &amp; &#50;\" l='3'/><C> t &lt; u&#10;<![CDATA[<v>]]> </C><B/></A>\nmore";
        let a = of(text).unwrap();
        assert_eq!((a.name.as_str(), a.all("B").count(), a.text_of("C")), ("A", 2, Some("t < u\n<v>")));
        let first = a.child("B").unwrap();
        assert_eq!(
            (first.attribute("k"), first.attribute("l"), first.attribute("m")),
            (Some("1 & 2"), Some("3"), None)
        );
    }

    #[test]
    fn an_ampersand_that_begins_no_reference_stands_for_itself() {
        for path in ["D:\\R&D\\io.dat", "D:\\a & b; c\\io.dat", "D:\\a&", "D:\\a&b;", "&&"] {
            let a = of(&format!("<A>\n<B>{path}</B><C>1</C></A>")).unwrap();
            assert_eq!((a.text_of("B"), a.text_of("C")), (Some(path), Some("1")));
        }
    }

    #[test]
    fn what_is_cut_off_or_closed_wrongly_is_refused_with_its_line() {
        assert!(of("<A>\n<B>").unwrap_err().to_string().contains("a.xml:2: the results are cut off"));
        assert!(of("<A>\n</B>").unwrap_err().to_string().contains("line 2: </B> closes nothing"));
        assert!(of(&"<A>".repeat(100)).unwrap_err().to_string().contains("more elements than can be"));
        assert!(of("").is_err() && of("<").is_err() && of("<A").is_err() && of("<!--").is_err());
    }
}
