//! What bound a load, and what was seen of that.

use crate::{Evidence, Limit};
use serde::{Deserialize, Serialize};

/// What bound a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredBinding")]
pub struct Binding {
    /// Its name.
    pub limit: Limit,
    /// Its value as requests per second of this load, where it has one.
    pub ceiling_iops: Option<f64>,
    /// Achieved over ceiling.
    pub utilization: Option<f64>,
    /// What was seen.
    pub seen: Evidence,
    /// Whether the limit was inferred from the data rather than declared.
    pub inferred: bool,
    /// Whether the rate was seen to be limited, and which limit it is was only presumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub presumed: bool,
    /// Of a load that makes its writes durable: requests that the devices wrote for each one asked, the journal's among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amplification: Option<f64>,
}

impl Binding {
    /// A limit that is known, not inferred.
    #[must_use]
    pub const fn known(limit: Limit, ceiling_iops: Option<f64>, utilization: Option<f64>, seen: Evidence) -> Self {
        Self { limit, ceiling_iops, utilization, seen, inferred: false, presumed: false, amplification: None }
    }
}

/// As records have it: earlier versions kept a sentence in place of what was seen.
#[derive(Deserialize)]
struct StoredBinding {
    limit: Limit,
    ceiling_iops: Option<f64>,
    utilization: Option<f64>,
    #[serde(default)]
    seen: Evidence,
    #[serde(default)]
    evidence: Option<String>,
    inferred: bool,
    #[serde(default)]
    presumed: bool,
    #[serde(default)]
    amplification: Option<f64>,
}

impl From<StoredBinding> for Binding {
    fn from(stored: StoredBinding) -> Self {
        let StoredBinding { limit, ceiling_iops, utilization, seen, evidence, inferred, presumed, amplification } =
            stored;
        let seen = evidence.map_or(seen, Evidence::written);
        Self { limit, ceiling_iops, utilization, seen, inferred, presumed, amplification }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_of_an_earlier_version_is_read_as_what_was_seen() {
        let stored = r#"{"limit":"disk-iops","ceiling_iops":5000.0,"utilization":0.9,"evidence":"Requests waited for it.","inferred":false}"#;
        let binding: Binding = serde_json::from_str(stored).unwrap();
        assert_eq!(binding.seen, Evidence::written("Requests waited for it.".to_owned()));
        let again: Binding = serde_json::from_str(&serde_json::to_string(&binding).unwrap()).unwrap();
        assert_eq!(again, binding);
    }
}
