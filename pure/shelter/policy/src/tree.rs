//! A tree of files and folders as data: what a restore needs to make each entry again.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A path relative to the disk, as text. Bytes that are no UTF-8, control characters and `%` are written as `%XX`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreePath(String);

/// Why a text is no path of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no path of a tree")]
pub struct TreePathError(String);

impl TreePath {
    /// The path of these bytes, which have `/` between names.
    ///
    /// # Errors
    /// It is empty, absolute, or has a part that is empty, `.` or `..`.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, TreePathError> {
        let path = Self(escaped(bytes));
        let bad = |part: &[u8]| part.is_empty() || part == b"." || part == b".." || part.contains(&0);
        if bytes.split(|byte| *byte == b'/').any(bad) { Err(TreePathError(path.0)) } else { Ok(path) }
    }

    /// A path that was written by [`Self::as_text`].
    ///
    /// # Errors
    /// It was not.
    pub fn parse(text: &str) -> Result<Self, TreePathError> {
        let path = Self(text.to_owned());
        let again = path.to_bytes().and_then(|bytes| Self::of_bytes(&bytes).ok());
        if again.as_ref() == Some(&path) { Ok(path) } else { Err(TreePathError(text.to_owned())) }
    }

    /// As text.
    #[must_use]
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// The bytes that the file system knows; `None` if the text was not made by [`Self::of_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        unescaped(&self.0)
    }

    /// The folder in which it is.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(folder, _)| Self(folder.to_owned()))
    }

    /// Whether it is `other` or below it.
    #[must_use]
    pub fn is_within(&self, other: &str) -> bool {
        self.0.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Bytes as text: what is no printable UTF-8 as `%XX`.
#[must_use]
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() || c == '%' {
                let mut buffer = [0; 4];
                c.encode_utf8(&mut buffer).bytes().for_each(|byte| push_code(&mut text, byte));
            } else {
                text.push(c);
            }
        }
        chunk.invalid().iter().for_each(|byte| push_code(&mut text, *byte));
    }
    text
}

fn push_code(text: &mut String, byte: u8) {
    write!(text, "%{byte:02X}").expect("text takes everything");
}

/// The bytes of an escaped text.
#[must_use]
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Some(bytes)
}

/// The kind of an entry, with what only that kind has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Bytes.
        size: u64,
        /// BLAKE3 of its contents, in hexadecimal digits.
        hash: String,
    },
    /// A symbolic link: where to, escaped.
    Link {
        /// Escaped as a path is.
        to: String,
    },
    /// A named pipe.
    Pipe,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeEntry {
    /// Where.
    pub path: TreePath,
    /// What.
    #[serde(flatten)]
    pub kind: EntryKind,
    /// Permission bits, with set-id and sticky.
    pub mode: u32,
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change of the contents, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Extended attributes, values in hexadecimal digits: access control lists and labels are among them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_path_of_a_file_system_comes_back(names in prop::collection::vec(prop::collection::vec(1..=255_u8, 1..8), 1..4)) {
            let bytes = names.join(&b'/');
            match TreePath::of_bytes(&bytes) {
                Ok(path) => {
                    prop_assert_eq!(path.to_bytes(), Some(bytes));
                    prop_assert_eq!(TreePath::parse(path.as_text()), Ok(path.clone()));
                }
                Err(_) => prop_assert!(bytes.split(|b| *b == b'/').any(|part| part.is_empty() || part == b"." || part == b"..")),
            }
        }
    }

    #[test]
    fn paths_that_lead_out_of_the_tree_are_refused() {
        for bad in ["", "/a", "a/", "a//b", "../a", "a/..", "a/./b", "a%2F..%2Fb%", "%2e%2e/x"] {
            assert!(TreePath::parse(bad).is_err(), "{bad}");
        }
        assert!(TreePath::parse("a/b").unwrap().is_within("a"));
        assert!(!TreePath::parse("ab").unwrap().is_within("a"));
    }
}
