//! A plan in words: what stands in a table of groups, and the lines of the verdict.

use super::advice::{GroupVerdict, amount};
use super::{ApplicationForecast, ChangesSource, ForecastLatency, GroupPlan, MissingFigure, PlanOutcome, ShelterPlan};
use loadline_units::{Bytes, Duration};

/// Groups that the verdict names.
const GROUPS_NAMED: usize = 2;

/// A time in words.
pub(super) fn time(seconds: f64) -> String {
    Duration::from_ns((seconds.max(0.0) * 1e9) as u64).human()
}

/// An amount in words.
pub(super) fn bytes(count: f64) -> String {
    Bytes::new(count.max(0.0) as u64).human()
}

fn latency(ns: u64) -> String {
    Duration::from_ns(ns).human()
}

fn p99(of: ForecastLatency) -> String {
    if of.keeps_up { latency(of.p99_ns) } else { "too slow for it".to_owned() }
}

/// One row about a group: what it is called, and what is said.
pub(super) type PlanRow = (String, String);

impl std::fmt::Display for MissingFigure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Files => "which files there will be: none is at the disk's path",
            Self::FilesUnseen => "files that the look did not reach in time: figures are lower bounds",
            Self::Changes => "how fast data changes: no file changed within a day",
            Self::DiskRate => "how fast the disk is",
            Self::DestinationRate => "how fast the destination takes data",
            Self::ReturnRate => "how fast a restore gets data back",
            Self::Application => "the application's p99",
            Self::Price => "the price of the destination",
            Self::StorePrice => "the price of the destination: the catalog has none of object stores",
        })
    }
}

impl GroupPlan {
    /// The rows about it, its name first.
    #[must_use]
    pub fn rows(&self) -> Vec<PlanRow> {
        let mut rows = Vec::new();
        let mut say = |what: &str, said: String| rows.push((what.to_owned(), said));
        let advised = self.advice.class.map_or("unknown", super::AdvisedClass::name);
        let point = self
            .advice
            .recovery_point_s
            .map_or_else(String::new, |point| format!(" with a recovery point of {}", time(point)));
        say("class", format!("{}; advised: {advised}{point}", self.class.name()));
        say("why", self.advice.why.clone());
        if let Some(wanted) = self.wanted_s {
            let found = self.files.zip(self.bytes).map_or("unknown".to_owned(), |(files, of)| amount(files, of));
            say("on the disk", found);
            let shortest = self.shortest_s.map_or("unknown".to_owned(), time);
            say("recovery point", format!("{} wanted; the shortest that saves keep: {shortest}", time(wanted)));
            let save = match (&self.save, self.save_reads_bytes, self.save_writes_bytes) {
                (Some(save), Some(read), Some(written)) => {
                    let amounts = format!("reads {}, writes {}", bytes(read as f64), bytes(written as f64));
                    format!("each {}: {amounts}, takes {}", time(wanted / 2.0), time(save.time_s))
                }
                _ => "unknown".to_owned(),
            };
            say("a save", save);
        }
        rows
    }
}

impl ApplicationForecast {
    fn line(&self, objective_ns: Option<u64>, keeps: Option<bool>) -> String {
        let saving = match (self.saving, self.saving_bytes_per_s) {
            (Some(saving), Some(rate)) => format!("{} while a save reads {}/s", p99(saving), bytes(rate as f64)),
            _ => "unknown while a save runs".to_owned(),
        };
        let objective = match (objective_ns, keeps, self.saving) {
            (Some(objective), Some(keeps), Some(saving)) => {
                let mark = if keeps { "KEPT" } else { "MISSED" };
                format!("; mean {}, objective {}: {mark}", latency(saving.mean_ns), latency(objective))
            }
            _ => String::new(),
        };
        format!("p99 {} alone, {saving}{objective}", p99(self.alone))
    }
}

impl ShelterPlan {
    /// Where the rate of changes comes from, in words.
    #[must_use]
    pub fn changes_in_words(&self) -> String {
        let Some(rate) = self.changes_bytes_per_s else { return "unknown".to_owned() };
        let rate = format!("{}/s", bytes(rate));
        match self.changes_from {
            ChangesSource::Typed => format!("{rate}, as typed, in writes of 8 KiB at random places"),
            ChangesSource::File => format!("{rate}, as the file says, in writes of 8 KiB at random places"),
            ChangesSource::Service => format!("{rate}, as the service's last save wrote"),
            ChangesSource::FileTimes => format!("{rate} in whole files, by the times of the files"),
        }
    }

    /// Rows about all groups together.
    #[must_use]
    pub fn rows(&self) -> Vec<PlanRow> {
        let unknown = || "unknown".to_owned();
        let mut rows = vec![("changes".to_owned(), self.changes_in_words())];
        let mut say = |what: &str, said: String| rows.push((what.to_owned(), said));
        say("stored", self.stored_bytes.map_or_else(unknown, |stored| format!("{} at most", bytes(stored))));
        let objects = self.objects_month.map_or_else(String::new, |count| format!(", {count:.0} objects"));
        say("written", self.written_month_bytes.map_or_else(unknown, |of| format!("{} a month{objects}", bytes(of))));
        say("price", self.price_month.clone().unwrap_or_else(unknown));
        let notice = match (self.notice_s.map(time), self.fits_in_notice) {
            (None, _) => "the file has no [notices]".to_owned(),
            (Some(notice), Some(true)) => {
                format!("what is unsaved fits into {notice}: an announced loss loses nothing")
            }
            (Some(notice), Some(false)) => {
                format!("what one save writes does NOT fit into {notice}: an announced loss may lose changes")
            }
            (Some(notice), None) => format!("whether what is unsaved fits into {notice} is unknown"),
        };
        say("in a notice", notice);
        rows
    }

    /// What else would do, each with the application's p99.
    #[must_use]
    pub fn alternatives(&self) -> Vec<PlanRow> {
        let figure = |of: Option<ForecastLatency>| of.map_or_else(|| "unknown".to_owned(), p99);
        let application = self.application.as_ref();
        let saving = application.and_then(|application| application.saving);
        let mirror = application.and_then(|application| application.mirror_writes);
        let persistent = application.and_then(|application| application.persistent);
        let shelter = format!("p99 {} while it saves; a loss costs changes up to the recovery point", figure(saving));
        let price = self.price_month.as_deref().map_or_else(
            || "price unknown".to_owned(),
            |price| price.split(" a month").next().map_or_else(String::new, |amount| format!("{amount} a month")),
        );
        let shelter = format!("{shelter}; {price}");
        let mirrored = format!("p99 of writes {}, reads as now; a loss costs nothing; {price}", figure(mirror));
        let alone = format!("p99 {}; nothing is lost; {price}", figure(persistent));
        vec![
            ("this shelter".to_owned(), shelter),
            ("mirror by mdadm".to_owned(), mirrored),
            ("persistent disk alone".to_owned(), alone),
        ]
    }

    /// The lines of the verdict, without the next step.
    #[must_use]
    pub fn verdict(&self) -> Vec<PlanRow> {
        let mut lines = Vec::new();
        let mut say = |what: &str, said: String| lines.push((what.to_owned(), said));
        let mut named: Vec<&GroupPlan> = self.groups.iter().filter(|group| group.wanted_s.is_some()).collect();
        // What cannot be kept comes first.
        named.sort_by_key(|group| match group.advice.verdict {
            GroupVerdict::Missed => 0,
            GroupVerdict::Unknown => 1,
            GroupVerdict::Kept => 2,
        });
        for group in named.iter().take(GROUPS_NAMED) {
            let wanted = group.wanted_s.map(time).unwrap_or_default();
            let mark = match group.advice.verdict {
                GroupVerdict::Kept => "KEPT",
                GroupVerdict::Missed => "NOT KEPT",
                GroupVerdict::Unknown => "UNKNOWN",
            };
            say(
                &format!("group {}", group.group),
                format!("{mark}: {wanted}. {}", loadline_units::words::capital(&group.advice.why)),
            );
        }
        if named.len() > GROUPS_NAMED {
            let kept = named.iter().filter(|group| group.advice.verdict == GroupVerdict::Kept).count();
            say("all groups", format!("{kept} of {} recovery points can be kept", named.len()));
        }
        if named.is_empty() {
            say("contents", "none is saved: folders are made again at each start".to_owned());
        } else {
            let recovery = match (&self.recovery, self.restored_files, self.restored_bytes) {
                (Some(recovery), Some(files), Some(of)) => {
                    format!("{} for {}: {}", time(recovery.time_s), amount(files, of), recovery.limit)
                }
                _ => "unknown".to_owned(),
            };
            say("recovery time", recovery);
        }
        if let Some(application) = &self.application {
            say("application", application.line(self.objective_ns, self.keeps_objective()));
        }
        if self.fits_in_notice == Some(false) {
            say("in a notice", "what one save writes does NOT fit: an announced loss may lose changes".to_owned());
        }
        if let Some(first) = self.missing.first() {
            let more =
                if self.missing.len() > 1 { format!(" (and {} more)", self.missing.len() - 1) } else { String::new() };
            say("unknown", format!("{first}{more}"));
        }
        lines
    }

    /// The next step in words.
    #[must_use]
    pub fn next(&self) -> String {
        let longer = self.groups.iter().find_map(|group| Some((group, group.advice.recovery_point_s?)));
        match (self.outcome(), longer) {
            (PlanOutcome::Missed, Some((group, point))) => {
                format!("write recovery_point = \"{point:.0} s\" below [group.{}], and plan again", group.group)
            }
            (PlanOutcome::Missed, None)
                if self.groups.iter().any(|group| group.advice.verdict == GroupVerdict::Missed) =>
            {
                "mirror the disk: docs/shelter.md has the commands".to_owned()
            }
            (PlanOutcome::Missed, None) if self.fits_in_notice == Some(false) => {
                "choose a faster destination, or save fewer files".to_owned()
            }
            (PlanOutcome::Missed, None) => "cap saves by limits.throughput, or allow the application more".to_owned(),
            (PlanOutcome::Unknown, _) => "give what is unknown, and plan again".to_owned(),
            (PlanOutcome::Kept, _) => "look at what a start would do".to_owned(),
        }
    }
}
