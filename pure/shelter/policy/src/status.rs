//! What a running service reports: one document that `status` reads, and the same as metrics.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

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

    /// As OpenMetrics text. What is unknown is left out, never 0.
    #[must_use]
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        let labels = format!("{{name=\"{}\"}}", self.name);
        let mut gauge = |name: &str, help: &str, value: Option<f64>| {
            if let Some(value) = value {
                write!(
                    text,
                    "# HELP loadline_shelter_{name} {help}\n# TYPE loadline_shelter_{name} gauge\n\
                     loadline_shelter_{name}{labels} {value}\n"
                )
                .expect("text takes everything");
            }
        };
        let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
        // All saved is an age of zero: that is known, not missing.
        let age = (self.phase == ServicePhase::Ready).then(|| self.recovery_age_ns.unwrap_or(0));
        gauge("recovery_age_seconds", "Age of the oldest unsaved change.", seconds(age));
        gauge("recovery_point_seconds", "How old an unsaved change may become.", seconds(self.recovery_point_ns));
        gauge("dirty_bytes", "Bytes of files with unsaved changes.", Some(self.unsaved_bytes as f64));
        gauge(
            "dirty_budget_bytes",
            "Bytes that can be saved within a notice.",
            self.budget_bytes.map(|bytes| bytes as f64),
        );
        gauge(
            "last_commit_timestamp_seconds",
            "When the last save was acknowledged.",
            self.last_save.as_ref().map(|save| save.acknowledged_s as f64),
        );
        gauge("generation", "The newest saved generation.", self.last_save.as_ref().map(|save| save.generation as f64));
        gauge(
            "inexact_files",
            "Files that changed while they were read; their previous version is kept.",
            self.last_save.as_ref().map(|save| save.inexact as f64),
        );
        gauge("failures_in_row", "Saves that failed since the last that did not.", Some(self.failures_in_row as f64));
        gauge(
            "rate_bytes_per_second",
            "Bytes per second that saving may take.",
            self.rate_bytes_per_s.map(|rate| rate as f64),
        );
        gauge("restore_predicted_seconds", "How long a restore would take.", seconds(self.restore_predicted_ns));
        gauge("last_drill_timestamp_seconds", "When the last drill was passed.", self.drill_s.map(|at| at as f64));
        let generations = (self.generations > 0).then_some(self.generations as f64);
        gauge("generations", "Generations that can be restored.", generations);
        gauge(
            "last_prune_timestamp_seconds",
            "When the repository was pruned last.",
            self.pruned_s.map(|at| at as f64),
        );
        for (name, help, at) in [
            ("verified_timestamp_seconds", "Everything that is saved was read since then.", self.verified_s),
            ("reread_timestamp_seconds", "Every file of the disk was read since then.", self.reread_s),
        ] {
            gauge(name, help, at.map(|at| at as f64));
        }
        gauge("damaged", "1 if saved data is missing or damaged.", Some(f64::from(u8::from(self.damage.is_some()))));
        gauge("ready", "1 if services may run.", Some(f64::from(u8::from(self.phase == ServicePhase::Ready))));
        for (name, help, value) in [
            ("save_bytes", "Bytes written to the destination.", Some(self.saved_bytes_total)),
            ("saves", "Saves.", Some(self.saves_total)),
            ("events_overflow", "Events of the kernel that were lost.", Some(self.events_overflow_total)),
            ("requests", "Requests to the object store.", self.requests_total),
            ("requests_failed", "Requests that failed and were repeated.", self.requests_failed_total),
            ("requests_throttled", "Requests that the store put off.", self.requests_throttled_total),
        ] {
            let Some(value) = value else { continue };
            write!(
                text,
                "# HELP loadline_shelter_{name} {help}\n# TYPE loadline_shelter_{name} counter\n\
                 loadline_shelter_{name}_total{labels} {value}\n"
            )
            .expect("text takes everything");
        }
        text.push_str("# EOF\n");
        text
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
