//! What a running service reports: one document that `status` reads, and the same as metrics.

use loadline_exposition::{Exposition, Labels};
use serde::{Deserialize, Serialize};

/// The version of the document.
pub const STATUS_SCHEMA: &str = "loadline.shelter-status/1";

/// What the service does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServicePhase {
    /// It waits for the disk or the destination.
    #[default]
    Waiting,
    /// It restores.
    Restoring,
    /// It watches and saves.
    Ready,
    /// It makes the last save.
    Flushing,
    /// It ended.
    Stopped,
    /// It refused, or failed.
    Failed,
}

/// A save in the report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastSave {
    /// Its generation.
    pub generation: u64,
    /// When it was acknowledged, in seconds since 1970.
    pub acknowledged_s: i64,
    /// How long it took, ns.
    pub took_ns: u64,
    /// Files written.
    pub files: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Files that changed while they were read and have their previous version.
    pub inexact: u64,
    /// Groups whose files are not of one moment.
    pub fuzzy: Vec<String>,
}

/// The report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShelterStatus {
    /// [`STATUS_SCHEMA`].
    pub schema: String,
    /// Name of the configuration.
    pub name: String,
    /// Process of the service.
    pub pid: u32,
    /// When this was written, in seconds since 1970.
    pub written_s: i64,
    /// What it does.
    pub phase: ServicePhase,
    /// What the start decided, in words.
    pub verdict: String,
    /// Age of the oldest unsaved change, ns; `None`: all is saved.
    pub recovery_age_ns: Option<u64>,
    /// How old it may become, ns.
    pub recovery_point_ns: Option<u64>,
    /// Files with unsaved changes.
    pub unsaved_files: u64,
    /// Bytes of them.
    pub unsaved_bytes: u64,
    /// How many of these fit in a notice.
    pub budget_bytes: Option<u64>,
    /// The last save.
    pub last_save: Option<LastSave>,
    /// Bytes written to the destination since the start.
    pub saved_bytes_total: u64,
    /// Saves since the start.
    pub saves_total: u64,
    /// Saves that failed since the last that did not.
    pub failures_in_row: u64,
    /// Why the last one failed.
    pub failure: Option<String>,
    /// Generations that mass deletions pinned.
    pub pinned: Vec<u64>,
    /// Bytes per second that our own I/O may take; `None`: not limited.
    pub rate_bytes_per_s: Option<u64>,
    /// Objective and recovery point exclude each other: which limit is to blame.
    pub conflict: Option<String>,
    /// How long a restore would take, ns.
    pub restore_predicted_ns: Option<u64>,
    /// What a restore takes of the disk: without holes, and once for a file with several names.
    #[serde(default)]
    pub restore_room_bytes: Option<u64>,
    /// How long the last restore took, ns.
    pub restore_took_ns: Option<u64>,
    /// Files that could not be restored.
    pub damaged: Vec<String>,
    /// When the last drill was passed, in seconds since 1970.
    pub drill_s: Option<i64>,
    /// The notice that came last, in words.
    pub notice: Option<String>,
    /// Why notices cannot be heard.
    pub notice_trouble: Option<String>,
    /// Events of the kernel that were lost; each time all files were looked at.
    pub events_overflow_total: u64,
    /// Generations that can be restored.
    #[serde(default)]
    pub generations: u64,
    /// When the repository was pruned last, in seconds since 1970.
    #[serde(default)]
    pub pruned_s: Option<i64>,
    /// Why generations are not forgotten, or the repository is not pruned.
    #[serde(default)]
    pub upkeep_trouble: Option<String>,
    /// Everything that is saved was read since then, in seconds since 1970; `None` before the first whole round.
    #[serde(default)]
    pub verified_s: Option<i64>,
    /// Every file of the disk was read since then, in seconds since 1970; `None` before the first whole round.
    #[serde(default)]
    pub reread_s: Option<i64>,
    /// What the reading of saved data found to be missing or damaged.
    #[serde(default)]
    pub damage: Option<String>,
    /// Requests to an object store since the start; `None`: the destination is a folder.
    #[serde(default)]
    pub requests_total: Option<u64>,
    /// Those that failed; each was repeated within bounds.
    #[serde(default)]
    pub requests_failed_total: Option<u64>,
    /// Those that the store put off because there were too many.
    #[serde(default)]
    pub requests_throttled_total: Option<u64>,
}

impl ShelterStatus {
    /// The report of a service that begins.
    #[must_use]
    pub fn new(name: &str, pid: u32) -> Self {
        Self { schema: STATUS_SCHEMA.into(), name: name.into(), pid, ..Self::default() }
    }

    /// Whether the oldest unsaved change is older than it may become.
    #[must_use]
    pub fn is_late(&self) -> bool {
        matches!((self.recovery_age_ns, self.recovery_point_ns), (Some(age), Some(point)) if age > point)
    }

    /// As a file for collectors of metrics. What is unknown is left out, never 0.
    #[must_use]
    pub fn metrics(&self) -> String {
        let mut text = Exposition::file();
        let labels = Labels::of(&[("name", &self.name)]);
        let sample = |value: Option<f64>| value.map(|value| (labels.clone(), value));
        let seconds = |ns: Option<u64>| sample(ns.map(|ns| ns as f64 / 1e9));
        let count = |count: Option<u64>| sample(count.map(|count| count as f64));
        let at = |unix_s: Option<i64>| sample(unix_s.map(|unix_s| unix_s as f64));
        let is = |is: bool| sample(Some(f64::from(u8::from(is))));
        // All saved is an age of zero: that is known, not missing.
        let age = (self.phase == ServicePhase::Ready).then(|| self.recovery_age_ns.unwrap_or(0));
        let last = self.last_save.as_ref();
        let generations = (self.generations > 0).then_some(self.generations);
        for (name, help, sample) in [
            ("recovery_age_seconds", "Age of the oldest unsaved change.", seconds(age)),
            ("recovery_point_seconds", "How old an unsaved change may become.", seconds(self.recovery_point_ns)),
            ("dirty_bytes", "Bytes of files with unsaved changes.", count(Some(self.unsaved_bytes))),
            ("dirty_budget_bytes", "Bytes that can be saved within a notice.", count(self.budget_bytes)),
            (
                "last_commit_timestamp_seconds",
                "When the last save was acknowledged.",
                at(last.map(|save| save.acknowledged_s)),
            ),
            ("generation", "The newest saved generation.", count(last.map(|save| save.generation))),
            (
                "inexact_files",
                "Files that changed while they were read; their previous version is kept.",
                count(last.map(|save| save.inexact)),
            ),
            ("failures_in_row", "Saves that failed since the last that did not.", count(Some(self.failures_in_row))),
            ("rate_bytes_per_second", "Bytes per second that saving may take.", count(self.rate_bytes_per_s)),
            ("restore_predicted_seconds", "How long a restore would take.", seconds(self.restore_predicted_ns)),
            ("restore_room_bytes", "What a restore takes of the disk.", count(self.restore_room_bytes)),
            ("last_drill_timestamp_seconds", "When the last drill was passed.", at(self.drill_s)),
            ("generations", "Generations that can be restored.", count(generations)),
            ("last_prune_timestamp_seconds", "When the repository was pruned last.", at(self.pruned_s)),
            ("verified_timestamp_seconds", "Everything that is saved was read since then.", at(self.verified_s)),
            ("reread_timestamp_seconds", "Every file of the disk was read since then.", at(self.reread_s)),
            ("damaged", "1 if saved data is missing or damaged.", is(self.damage.is_some())),
            ("ready", "1 if services may run.", is(self.phase == ServicePhase::Ready)),
        ] {
            text.gauge(&format!("shelter_{name}"), help, sample);
        }
        for (name, help, value) in [
            ("save_bytes", "Bytes written to the destination.", Some(self.saved_bytes_total)),
            ("saves", "Saves.", Some(self.saves_total)),
            ("events_overflow", "Events of the kernel that were lost.", Some(self.events_overflow_total)),
            ("requests", "Requests to the object store.", self.requests_total),
            ("requests_failed", "Requests that failed and were repeated.", self.requests_failed_total),
            ("requests_throttled", "Requests that the store put off.", self.requests_throttled_total),
        ] {
            text.counter(&format!("shelter_{name}"), help, count(value));
        }
        text.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_back_and_its_metrics_leave_out_what_is_unknown() {
        let mut status = ShelterStatus::new("fast", 7);
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<ShelterStatus>(&text).unwrap(), status);
        let metrics = status.metrics();
        assert!(!metrics.contains("recovery_age") && !metrics.contains("budget") && metrics.ends_with("# EOF\n"));
        status.phase = ServicePhase::Ready;
        assert!(status.metrics().contains("loadline_shelter_recovery_age_seconds{name=\"fast\"} 0\n"));
        status.recovery_age_ns = Some(1_500_000_000);
        status.recovery_point_ns = Some(1_000_000_000);
        assert!(status.is_late());
        assert!(status.metrics().contains("loadline_shelter_recovery_age_seconds{name=\"fast\"} 1.5\n"));
        for line in status.metrics().lines().filter(|line| !line.starts_with('#')) {
            assert!(line.split(' ').count() == 2 && line.contains("{name=\"fast\"}"), "{line}");
        }
    }
}
