//! Snapshots: what was saved when, from where, with which tags.

use crate::{FormatError, ObjectId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

/// A file below `snapshots/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotFile {
    /// When the save began.
    pub time: Timestamp,
    /// The snapshot that this one continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ObjectId>,
    /// The tree of `/`, down to the saved paths.
    pub tree: ObjectId,
    /// What was saved: absolute paths.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub paths: Vec<String>,
    /// The machine.
    #[serde(default)]
    pub hostname: String,
    /// Who saved.
    #[serde(default)]
    pub username: String,
    /// Words such as `epoch=3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_empty")]
    pub tags: Vec<String>,
    /// The program that saved.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub program_version: String,
}

fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl SnapshotFile {
    /// The value of a tag `key=value`.
    #[must_use]
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find_map(|tag| tag.strip_prefix(key)?.strip_prefix('='))
    }

    /// The value of a tag `key=number`; 0 where there is none.
    #[must_use]
    pub fn number(&self, key: &str) -> u64 {
        self.tag(key).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// By what snapshots stand in order: the writer that held the lease later comes later, whatever the clocks say.
    #[must_use]
    pub fn order(&self) -> (u64, u64, Timestamp) {
        (self.number("epoch"), self.number("generation"), self.time)
    }

    /// Out of the opened and decompressed file.
    ///
    /// # Errors
    /// It does not make sense.
    pub fn decode(json: &[u8]) -> Result<Self, FormatError> {
        serde_json::from_slice(json).map_err(|error| FormatError::json("a snapshot", &error))
    }

    /// The JSON to compress and seal.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_values_and_order_snapshots() {
        let text = format!(
            r#"{{"time":"2026-01-02T03:04:05+01:00","tree":"{}","paths":null,"tags":["epoch=3","generation=12","x"]}}"#,
            ObjectId::of(b"")
        );
        let snapshot = SnapshotFile::decode(text.as_bytes()).unwrap();
        assert_eq!(snapshot.tag("epoch"), Some("3"));
        assert_eq!(snapshot.tag("x"), None);
        assert_eq!(snapshot.order(), (3, 12, Timestamp::new(1_767_319_445, 0)));
        assert_eq!(SnapshotFile::decode(&snapshot.encode()), Ok(snapshot));
    }
}
