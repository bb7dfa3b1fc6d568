//! Moments of a run that its user marked with a note.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Under which key of the settings.
const KEY: &str = "marks";

/// A moment that the user marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveMark {
    /// Since the run began, ns.
    pub elapsed_ns: u64,
    /// What was noted.
    pub note: String,
}

impl LiveMark {
    /// Those of a run, as its settings say, in their order; none where none was marked.
    #[must_use]
    pub fn of_settings(settings: &Value) -> Vec<Self> {
        settings.get(KEY).and_then(|marks| Vec::deserialize(marks).ok()).unwrap_or_default()
    }

    /// Has the settings of a run say so. Where nothing is marked, they say nothing.
    pub fn put_all(marks: &[Self], settings: &mut Value) {
        if !marks.is_empty() {
            settings[KEY] = serde_json::json!(marks);
        } else if let Some(settings) = settings.as_object_mut() {
            settings.remove(KEY);
        }
    }

    /// As far into another run; `None` before that began.
    #[must_use]
    pub fn moved(self, by_ns: i128) -> Option<Self> {
        let elapsed_ns = u64::try_from(i128::from(self.elapsed_ns) + by_ns).ok()?;
        Some(Self { elapsed_ns, ..self })
    }
}
