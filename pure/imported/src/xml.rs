//! A small reader of XML: elements, attributes and text, as tools write them for programs.

use crate::ImportError;
use crate::told::Source;

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
    /// An attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The document's element; what stands before and after it is ignored.
pub(crate) fn parse(source: Source<'_>) -> Result<Element, ImportError> {
    let text = source.text;
    let line_at = |at: usize| text[..at].matches('\n').count() + 1;
    let cut_off = |at: usize| ImportError::CutOff { source_name: source.name.to_owned(), line: line_at(at) };
    let mut open: Vec<Element> = Vec::new();
    let (mut at, mut count) = (0, 0);
    while let Some(begin) = text[at..].find('<').map(|offset| at + offset) {
        if let Some(current) = open.last_mut() {
            current.text.push_str(&unescaped(&text[at..begin]));
        }
        let rest = &text[begin..];
        // Declarations, comments and the like say nothing here.
        if rest.starts_with("<!--") {
            at = begin + rest.find("-->").ok_or_else(|| cut_off(text.len()))? + "-->".len();
            continue;
        }
        let end = begin + rest.find('>').ok_or_else(|| cut_off(text.len()))?;
        let tag = &text[begin + 1..end];
        at = end + 1;
        if tag.starts_with(['?', '!']) {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().filter(|element| element.name == name.trim());
            let closed =
                closed.ok_or_else(|| source.error(line_at(begin), format!("</{}> closes nothing", name.trim())))?;
            match open.last_mut() {
                Some(parent) => parent.children.push(closed),
                None => return Ok(closed),
            }
            continue;
        }
        count += 1;
        if count > ELEMENTS_MAX || open.len() >= DEPTH_MAX {
            return Err(source.error(line_at(begin), "more elements than can be"));
        }
        let is_empty = tag.ends_with('/');
        let element = element(tag.trim_end_matches('/'));
        if !is_empty {
            open.push(element);
        } else if let Some(parent) = open.last_mut() {
            parent.children.push(element);
        }
    }
    Err(cut_off(text.len()))
}

fn element(tag: &str) -> Element {
    let tag = tag.trim();
    let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let mut attributes = Vec::new();
    while let Some((key, value)) = rest.split_once('=') {
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|c| ['"', '\''].contains(c)) else { break };
        let Some((inner, after)) = value[1..].split_once(quote) else { break };
        attributes.push((key.trim().to_owned(), unescaped(inner)));
        rest = after;
    }
    Element { name: name.to_owned(), attributes, ..Element::default() }
}

fn unescaped(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    plain.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Element, ImportError> {
        parse(Source { text, name: "a.xml", written_unix_s: 0 })
    }

    #[test]
    fn elements_have_their_text_attributes_and_children() {
        let text =
            "<?xml version=\"1.0\"?>\n<!-- <x> -->\n<A><B k=\"1 &amp; 2\" l='3'/><C> t &lt; u </C><B/></A>\nmore";
        let a = of(text).unwrap();
        assert_eq!((a.name.as_str(), a.all("B").count(), a.text_of("C")), ("A", 2, Some("t < u")));
        let first = a.child("B").unwrap();
        assert_eq!(
            (first.attribute("k"), first.attribute("l"), first.attribute("m")),
            (Some("1 & 2"), Some("3"), None)
        );
    }

    #[test]
    fn what_is_cut_off_or_closed_wrongly_is_refused_with_its_line() {
        assert!(of("<A>\n<B>").unwrap_err().to_string().contains("a.xml:2: the results are cut off"));
        assert!(of("<A>\n</B>").unwrap_err().to_string().contains("line 2: </B> closes nothing"));
        assert!(of(&"<A>".repeat(100)).unwrap_err().to_string().contains("more elements than can be"));
        assert!(of("").is_err() && of("<").is_err() && of("<A").is_err() && of("<!--").is_err());
    }
}
