//! What a shelter would give, in lines: of each group, of all together, beside the alternatives, and the verdict.

use crate::verdict::VERDICT_LINES_MAX;
use crate::verdict_line::{About, VerdictLine};
use loadline_shelter_policy::plan::{
    AdvisedClass, ApplicationForecast, ChangesSource, ForecastLatency, GroupPlan, GroupVerdict, MissingFigure,
    PlanOutcome, ShelterPlan,
};
use loadline_units::words::{capital, number};
use loadline_units::{Bytes, Duration};
use std::borrow::Cow;

/// Groups that the verdict names.
const GROUPS_NAMED: usize = 2;

fn time(seconds: f64) -> String {
    Duration::from_ns((seconds.max(0.0) * 1e9) as u64).human()
}

fn bytes(count: f64) -> String {
    Bytes::new(count.max(0.0) as u64).human()
}

/// "12 files, 3 MiB".
fn amount(files: u64, of: u64) -> String {
    let files = if files == 1 { "1 file".to_owned() } else { format!("{} files", number(files as f64)) };
    format!("{files}, {}", bytes(of as f64))
}

fn latency(ns: u64) -> String {
    Duration::from_ns(ns).human()
}

fn p99(of: ForecastLatency) -> String {
    if of.keeps_up { latency(of.p99_ns) } else { "too slow for it".to_owned() }
}

/// What is not known.
#[must_use]
pub const fn missing_figure(missing: MissingFigure) -> &'static str {
    match missing {
        MissingFigure::Files => "which files there will be: none is at the disk's path",
        MissingFigure::FilesUnseen => "files that the look did not reach in time: figures are lower bounds",
        MissingFigure::Changes => "how fast data changes: no file changed within a day",
        MissingFigure::DiskRate => "how fast the disk is",
        MissingFigure::DestinationRate => "how fast the destination takes data",
        MissingFigure::ReturnRate => "how fast a restore gets data back",
        MissingFigure::Application => "the application's p99",
        MissingFigure::Price => "the price of the destination",
        MissingFigure::StorePrice => "the price of the destination: the catalog has none of object stores",
    }
}

/// What is foreseen of a group.
#[must_use]
pub fn group_lines(group: &GroupPlan) -> Vec<VerdictLine> {
    let mut rows = Vec::new();
    let mut say = |what: &'static str, said: String| rows.push(About::subject(what).says(said));
    let advised = group.advice.class.map_or("unknown", AdvisedClass::name);
    let point = group
        .advice
        .recovery_point_s
        .map_or_else(String::new, |point| format!(" with a recovery point of {}", time(point)));
    say("class", format!("{}; advised: {advised}{point}", group.class.name()));
    say("why", group.advice.why.clone());
    if let Some(wanted) = group.wanted_s {
        let found = group.files.zip(group.bytes).map_or("unknown".to_owned(), |(files, of)| amount(files, of));
        say("on the disk", found);
        let shortest = group.shortest_s.map_or("unknown".to_owned(), time);
        say("recovery point", format!("{} wanted; the shortest that saves keep: {shortest}", time(wanted)));
        let save = match (&group.save, group.save_reads_bytes, group.save_writes_bytes) {
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

fn application(of: &ApplicationForecast, objective_ns: Option<u64>, keeps: Option<bool>) -> String {
    let saving = match (of.saving, of.saving_bytes_per_s) {
        (Some(saving), Some(rate)) => format!("{} while a save reads {}/s", p99(saving), bytes(rate as f64)),
        _ => "unknown while a save runs".to_owned(),
    };
    let objective = match (objective_ns, keeps, of.saving) {
        (Some(objective), Some(keeps), Some(saving)) => {
            let mark = if keeps { "KEPT" } else { "MISSED" };
            format!("; mean {}, objective {}: {mark}", latency(saving.mean_ns), latency(objective))
        }
        _ => String::new(),
    };
    format!("p99 {} alone, {saving}{objective}", p99(of.alone))
}

/// How fast data changes, and where that comes from.
fn changes(plan: &ShelterPlan) -> String {
    let Some(rate) = plan.changes_bytes_per_s else { return "unknown".to_owned() };
    let rate = format!("{}/s", bytes(rate));
    match plan.changes_from {
        ChangesSource::Typed => format!("{rate}, as typed, in writes of 8 KiB at random places"),
        ChangesSource::File => format!("{rate}, as the file says, in writes of 8 KiB at random places"),
        ChangesSource::Service => format!("{rate}, as the service's last save wrote"),
        ChangesSource::FileTimes => format!("{rate} in whole files, by the times of the files"),
    }
}

/// What is foreseen of all groups together.
#[must_use]
pub fn plan_lines(plan: &ShelterPlan) -> Vec<VerdictLine> {
    let unknown = || "unknown".to_owned();
    let mut rows = vec![About::subject("changes").says(changes(plan))];
    let mut say = |what: &'static str, said: String| rows.push(About::subject(what).says(said));
    say("stored", plan.stored_bytes.map_or_else(unknown, |stored| format!("{} at most", bytes(stored))));
    let objects = plan.objects_month.map_or_else(String::new, |count| format!(", {count:.0} objects"));
    say("written", plan.written_month_bytes.map_or_else(unknown, |of| format!("{} a month{objects}", bytes(of))));
    say("price", plan.price_month.clone().unwrap_or_else(unknown));
    let notice = match (plan.notice_s.map(time), plan.fits_in_notice) {
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
pub fn alternative_lines(plan: &ShelterPlan) -> Vec<VerdictLine> {
    let figure = |of: Option<ForecastLatency>| of.map_or_else(|| "unknown".to_owned(), p99);
    let application = plan.application.as_ref();
    let saving = application.and_then(|application| application.saving);
    let mirror = application.and_then(|application| application.mirror_writes);
    let persistent = application.and_then(|application| application.persistent);
    let shelter = format!("p99 {} while it saves; a loss costs changes up to the recovery point", figure(saving));
    let price = plan.price_month.as_deref().map_or_else(
        || "price unknown".to_owned(),
        |price| price.split(" a month").next().map_or_else(String::new, |amount| format!("{amount} a month")),
    );
    let shelter = format!("{shelter}; {price}");
    let mirrored = format!("p99 of writes {}, reads as now; a loss costs nothing; {price}", figure(mirror));
    let alone = format!("p99 {}; nothing is lost; {price}", figure(persistent));
    vec![
        About::subject("this shelter").says(shelter),
        About::subject("mirror by mdadm").says(mirrored),
        About::subject("persistent disk alone").says(alone),
    ]
}

/// The verdict with the next step, and the `command` of it where there is one.
#[must_use]
pub fn shelter_lines(plan: &ShelterPlan, command: Option<String>) -> Vec<VerdictLine> {
    let mut lines = Vec::new();
    let mut say = |what: Cow<'static, str>, said: String| lines.push(About::Subject(what).says(said));
    let mut named: Vec<&GroupPlan> = plan.groups.iter().filter(|group| group.wanted_s.is_some()).collect();
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
        say(format!("group {}", group.group).into(), format!("{mark}: {wanted}. {}", capital(&group.advice.why)));
    }
    if named.len() > GROUPS_NAMED {
        let kept = named.iter().filter(|group| group.advice.verdict == GroupVerdict::Kept).count();
        say("all groups".into(), format!("{kept} of {} recovery points can be kept", named.len()));
    }
    if named.is_empty() {
        say("contents".into(), "none is saved: folders are made again at each start".to_owned());
    } else {
        let recovery = match (&plan.recovery, plan.restored_files, plan.restored_bytes) {
            (Some(recovery), Some(files), Some(of)) => {
                format!("{} for {}{}: {}", time(recovery.time_s), amount(files, of), room(plan), recovery.limit)
            }
            _ => "unknown".to_owned(),
        };
        say("recovery time".into(), recovery);
    }
    if let Some(application) = &plan.application {
        say("application".into(), self::application(application, plan.objective_ns, plan.keeps_objective()));
    }
    if plan.fits_in_notice == Some(false) {
        say("in a notice".into(), "what one save writes does NOT fit: an announced loss may lose changes".to_owned());
    }
    if let Some(first) = plan.missing.first() {
        let more =
            if plan.missing.len() > 1 { format!(" (and {} more)", plan.missing.len() - 1) } else { String::new() };
        say("unknown".into(), format!("{}{more}", missing_figure(*first)));
    }
    lines.truncate(VERDICT_LINES_MAX - 2);
    lines.push(About::Next.says(next(plan)));
    lines.extend(command.map(|command| About::Command.says(command)));
    lines
}

/// What a restore takes of the disk, where that is less than the files are long.
fn room(plan: &ShelterPlan) -> String {
    match (plan.restored_room_bytes, plan.restored_bytes) {
        (Some(room), Some(of)) if room < of => format!(", {} of the disk", bytes(room as f64)),
        _ => String::new(),
    }
}

/// The next step.
fn next(plan: &ShelterPlan) -> String {
    let longer = plan.groups.iter().find_map(|group| Some((group, group.advice.recovery_point_s?)));
    match (plan.outcome(), longer) {
        (PlanOutcome::Missed, Some((group, point))) => {
            format!("write recovery_point = \"{point:.0} s\" below [group.{}], and plan again", group.group)
        }
        (PlanOutcome::Missed, None) if plan.groups.iter().any(|group| group.advice.verdict == GroupVerdict::Missed) => {
            "mirror the disk: docs/shelter.md has the commands".to_owned()
        }
        (PlanOutcome::Missed, None) if plan.fits_in_notice == Some(false) => {
            "choose a faster destination, or save fewer files".to_owned()
        }
        (PlanOutcome::Missed, None) => "cap saves by limits.throughput, or allow the application more".to_owned(),
        (PlanOutcome::Unknown, _) => "give what is unknown, and plan again".to_owned(),
        (PlanOutcome::Kept, _) => "look at what a start would do".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_shelter_policy::config::DataClass;
    use loadline_shelter_policy::plan::{BoundTime, GroupAdvice, PLAN_SCHEMA};

    /// Of a group that is saved every 30 s at most, and is asked for more.
    fn missed() -> ShelterPlan {
        let advice = GroupAdvice {
            class: Some(AdvisedClass::Files),
            recovery_point_s: Some(1_020.0),
            verdict: GroupVerdict::Missed,
            why: "a save takes 8 min".to_owned(),
        };
        let group = GroupPlan {
            group: "data".to_owned(),
            class: DataClass::Files,
            files: Some(4),
            bytes: Some(100 << 20),
            wanted_s: Some(60.0),
            shortest_s: Some(1_000.0),
            save: Some(BoundTime { time_s: 500.0, limit: "the destination".to_owned() }),
            save_reads_bytes: Some(100 << 20),
            save_writes_bytes: Some(1 << 20),
            advice,
        };
        let slow = ForecastLatency { p99_ns: 12_000_000, mean_ns: 4_000_000, keeps_up: true };
        let application = ApplicationForecast {
            load: "1000 requests/s".to_owned(),
            alone: slow,
            saving: Some(slow),
            saving_bytes_per_s: Some(1 << 20),
            persistent: Some(slow),
            mirror_writes: Some(slow),
        };
        ShelterPlan {
            schema: PLAN_SCHEMA,
            name: "a".to_owned(),
            groups: vec![group],
            changes_from: ChangesSource::Typed,
            changes_bytes_per_s: Some(1_048_576.0),
            recovery: None,
            restored_bytes: None,
            restored_room_bytes: None,
            restored_files: None,
            notice_s: Some(30.0),
            fits_in_notice: Some(false),
            stored_bytes: None,
            written_month_bytes: None,
            objects_month: None,
            price_month: None,
            application: Some(application),
            objective_ns: Some(5_000_000),
            missing: vec![MissingFigure::Files, MissingFigure::Price],
        }
    }

    #[test]
    fn the_verdict_says_what_is_not_kept_and_ends_in_the_next_step() {
        let lines = shelter_lines(&missed(), Some("plan".to_owned()));
        let text = |about: &str| lines.iter().find(|line| line.about.name() == about).map(|line| line.text.as_str());
        assert_eq!(text("group data"), Some("NOT KEPT: 60.0 s. A save takes 8 min"));
        assert_eq!(text("in a notice"), Some("what one save writes does NOT fit: an announced loss may lose changes"));
        assert_eq!(text("unknown"), Some("which files there will be: none is at the disk's path (and 1 more)"));
        assert_eq!(text("next"), Some("write recovery_point = \"1020 s\" below [group.data], and plan again"));
        assert!(lines.len() <= VERDICT_LINES_MAX && text("command") == Some("plan"), "{lines:?}");
    }

    #[test]
    fn a_mirror_stands_beside_the_shelter_with_its_latency() {
        let lines = alternative_lines(&missed());
        assert_eq!(lines[1].text, "p99 of writes 12.0 ms, reads as now; a loss costs nothing; price unknown");
        let mut mirrored = missed();
        mirrored.groups[0].advice.recovery_point_s = None;
        assert_eq!(next(&mirrored), "mirror the disk: docs/shelter.md has the commands");
    }
}
