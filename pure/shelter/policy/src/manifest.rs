//! A manifest: every entry of one saved generation, one a line, and a last line that says it is whole.

use crate::tree::{EntryKind, TreeEntry, TreePath};
use loadline_units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format.
pub const MANIFEST_SCHEMA: &str = "loadline.shelter-manifest/1";

/// The first line of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestHead {
    /// [`MANIFEST_SCHEMA`].
    pub schema: String,
    /// Name of the configuration.
    pub source: String,
    /// The generation.
    pub generation: u64,
    /// When its save began, in nanoseconds since 1970.
    pub begun_ns: i64,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
struct ManifestEnd {
    entries: usize,
}

/// One saved generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// What it is of.
    pub head: ManifestHead,
    /// Its entries, by path.
    pub entries: BTreeMap<TreePath, TreeEntry>,
}

/// Why a text is no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A line that is not understood.
    #[error("line {line} of the manifest is not understood: {reason}")]
    Line {
        /// From 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// It ends too early.
    #[error("the manifest is not whole")]
    Torn,
}

impl Manifest {
    /// As the file has it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let line = |text: Result<String, serde_json::Error>| text.expect("text and numbers can be written") + "\n";
        let mut text = line(serde_json::to_string(&self.head));
        self.entries.values().for_each(|entry| text.push_str(&line(serde_json::to_string(entry))));
        text.push_str(&line(serde_json::to_string(&ManifestEnd { entries: self.entries.len() })));
        text
    }

    /// Reads one.
    ///
    /// # Errors
    /// It is not whole, or has a path that leads out of the tree.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let lines: Vec<&str> = text.lines().collect();
        let (Some(first), Some(last), true) = (lines.first(), lines.last(), lines.len() >= 2 && text.ends_with('\n'))
        else {
            return Err(ManifestError::Torn);
        };
        let wrong = |index: usize, reason: String| ManifestError::Line { line: index + 1, reason };
        let head: ManifestHead = serde_json::from_str(first).map_err(|error| wrong(0, error.to_string()))?;
        if head.schema != MANIFEST_SCHEMA {
            return Err(wrong(0, format!("{} is not known here: use a newer loadline", head.schema)));
        }
        let end: ManifestEnd = serde_json::from_str(last).map_err(|_| ManifestError::Torn)?;
        let mut entries = BTreeMap::new();
        for (index, line) in lines[1..lines.len() - 1].iter().enumerate() {
            let entry: TreeEntry = serde_json::from_str(line).map_err(|error| wrong(index + 1, error.to_string()))?;
            let path = TreePath::parse(entry.path.as_text()).map_err(|error| wrong(index + 1, error.to_string()))?;
            entries.insert(path, entry);
        }
        if entries.len() != end.entries {
            return Err(ManifestError::Torn);
        }
        Ok(Self { head, entries })
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.entries.values().map(size).sum())
    }

    /// How many files.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.entries.values().filter(|entry| matches!(entry.kind, EntryKind::File { .. })).count() as u64
    }
}

/// Bytes of an entry.
#[must_use]
pub const fn size(entry: &TreeEntry) -> u64 {
    match entry.kind {
        EntryKind::File { size, .. } => size,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let head = ManifestHead { schema: MANIFEST_SCHEMA.into(), source: "fast".into(), generation: 3, begun_ns: 5 };
        let entry = |path: &str, kind| TreeEntry {
            path: TreePath::parse(path).unwrap(),
            kind,
            mode: 0o640,
            uid: 1,
            gid: 2,
            modified_ns: -1,
            attributes: [("user.a".to_owned(), "00ff".to_owned())].into(),
        };
        let all = [
            entry("data", EntryKind::Folder),
            entry("data/%FF x", EntryKind::File { size: 5, hash: "ab".into() }),
            entry("data/link", EntryKind::Link { to: "../x".into() }),
        ];
        Manifest { head, entries: all.into_iter().map(|entry| (entry.path.clone(), entry)).collect() }
    }

    #[test]
    fn a_manifest_comes_back_and_each_torn_one_is_found() {
        let text = manifest().to_text();
        assert_eq!(Manifest::parse(&text), Ok(manifest()));
        assert_eq!((manifest().bytes(), manifest().files()), (Bytes::new(5), 1));
        for end in 0..text.len() {
            assert!(Manifest::parse(&text[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_path_out_of_the_tree_and_a_newer_version_are_refused() {
        let text = manifest().to_text();
        let out = text.replace("\"data/link\"", "\"../etc/passwd\"");
        assert!(Manifest::parse(&out).unwrap_err().to_string().contains("line 4"));
        let newer = text.replace("manifest/1", "manifest/2");
        assert!(Manifest::parse(&newer).unwrap_err().to_string().contains("newer loadline"));
    }
}
