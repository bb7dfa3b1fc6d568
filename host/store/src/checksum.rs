//! The checksum of a stored record: damage is found when the record is read.
//!
//! It stands at the end of the record's document, as its last key, so that stores of earlier versions need no change and
//! stay readable. A document without one is of an earlier version, and is read unchecked.

use crc32fast::Hasher;

/// Precedes the digits at the end of a document.
const BEFORE: &str = ",\"checksum\":\"crc32-";
/// Follows them.
const BEHIND: &str = "\"}";
/// Digits of a checksum.
const DIGITS: usize = 8;

/// A checksum over the parts of a record, in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checksum(Hasher);

impl Checksum {
    /// Over a document without a checksum.
    pub(crate) fn of(document: &str) -> Self {
        let mut sum = Self::default();
        sum.add(document.as_bytes());
        sum
    }

    /// Goes on with a part; where one ends counts, too.
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// The same with a part that may be missing.
    pub(crate) fn add_optional(&mut self, part: Option<&[u8]>) {
        self.add(&[u8::from(part.is_some())]);
        self.add(part.unwrap_or_default());
    }

    fn digits(self) -> String {
        format!("{:0width$x}", self.0.finalize(), width = DIGITS)
    }

    /// The document, which is an object with a key, with this checksum at its end.
    pub(crate) fn append_to(self, document: &str) -> String {
        let open = document.strip_suffix('}').expect("a document is a JSON object");
        format!("{open}{BEFORE}{}{BEHIND}", self.digits())
    }
}

/// A document as it was stored.
pub(crate) struct Stored<'a> {
    /// The document without its checksum.
    pub(crate) document: String,
    digits: Option<&'a str>,
}

impl<'a> Stored<'a> {
    /// Takes the checksum off, if there is one.
    pub(crate) fn new(text: &'a str) -> Self {
        let parts = || {
            let rest = text.strip_suffix(BEHIND)?;
            let (before, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
            Some((before.strip_suffix(BEFORE)?, digits))
        };
        match parts() {
            Some((open, digits)) => Self { document: format!("{open}}}"), digits: Some(digits) },
            None => Self { document: text.to_owned(), digits: None },
        }
    }

    /// Whether there is a checksum to compare with.
    pub(crate) fn is_checked(&self) -> bool {
        self.digits.is_some()
    }

    /// Whether the record is as it was written; one without a checksum is taken to be.
    pub(crate) fn is_whole(&self, sum: Checksum) -> bool {
        self.digits.is_none_or(|digits| digits == sum.digits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_comes_back_and_any_flipped_bit_shows() {
        let document = r#"{"a":[1,2.5],"b":{"c":"d"}}"#;
        let text = Checksum::of(document).append_to(document);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["b"]["c"], "d", "it is still a document");
        let stored = Stored::new(&text);
        assert_eq!(stored.document, document);
        assert!(stored.is_checked() && stored.is_whole(Checksum::of(&stored.document)));
        for bit in 0..text.len() * 8 {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Ok(damaged) = String::from_utf8(bytes) else { continue };
            let stored = Stored::new(&damaged);
            let is_found = !stored.is_whole(Checksum::of(&stored.document));
            // Of damage in the mark itself the record knows nothing, and is not damaged.
            let is_in_mark = stored.digits.is_none() && damaged.starts_with(&document[..document.len() - 1]);
            assert!(is_found || is_in_mark, "bit {bit}: {damaged}");
        }
        assert!(!Stored::new(document).is_checked() && Stored::new(document).is_whole(Checksum::default()));
    }

    #[test]
    fn where_parts_end_and_whether_they_are_there_counts() {
        let sum = |parts: &[&str]| {
            let mut sum = Checksum::default();
            for part in parts {
                sum.add(part.as_bytes());
            }
            sum.digits()
        };
        assert_ne!(sum(&["ab", "c"]), sum(&["a", "bc"]));
        let optional = |part: Option<&[u8]>| {
            let mut sum = Checksum::default();
            sum.add_optional(part);
            sum.digits()
        };
        assert_ne!(optional(None), optional(Some(&[])));
    }
}
