//! `shelter`: the data of an ephemeral disk, kept on a persistent one.

use crate::arguments::Format;
use crate::arguments::shelter::{ShelterAction, ShelterArguments};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::linux::shelter_plan;
use crate::schema::document;
use crate::shell::in_shell;
use crate::{output, printing};
use loadline_report::{About, VERDICT_LINES_MAX, VerdictLine};
use loadline_shelter_policy::config::ShelterConfig;
use loadline_shelter_policy::start::{StartRefusal, StartVerdict};
use loadline_shelter_policy::status::{ServicePhase, ShelterStatus};
use loadline_shelter_policy::tree::TreePath;
use loadline_shelter_policy::unit::{UnitFile, unit_files, unit_name};
use loadline_shelter_service::{
    Adopted, Ending, MachineProbe, Prepared, RestoreReport, ServiceManager, ServiceSettings, Shelter, ShelterError,
    ShelterFile, VerifyReport, last_status, serve,
};
use loadline_units::{Bytes, Duration};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What `status` prints for programs.
const STATUS_SCHEMA: &str = "loadline.shelter/1";

/// Entries that a verdict names.
const NAMED: usize = 3;

/// The lines of a verdict.
type Lines = Vec<VerdictLine>;

/// What a shelter shows of itself.
fn fact(name: &'static str, text: impl Into<String>) -> VerdictLine {
    About::subject(name).says(text)
}

/// Does what was asked with the shelter of a file.
pub(crate) fn shelter(
    arguments: &ShelterArguments,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let file = ShelterFile::read(&arguments.file).map_err(usage)?;
    if let ShelterAction::Plan(planned) = &arguments.action {
        return shelter_plan::print(&file.config, &arguments.file, planned, store);
    }
    let mut shelter = Shelter::new(file.config.clone(), Box::new(MachineProbe::default()));
    let typed = in_shell(&arguments.file.display().to_string());
    let again = |verb: &str| format!("loadline shelter {typed} {verb}");
    let done = match &arguments.action {
        ShelterAction::Run => run(&mut shelter),
        ShelterAction::Status { printing } => return status(&shelter, &again, printing.format),
        ShelterAction::Adopt { from_copy } => {
            let (adopted, next) = match from_copy {
                Some(copy) => (shelter.take_over(copy), ("see what a start would do with it", again("status"))),
                None => (shelter.adopt(), ("see the unit of its service, which saves from now on", again("unit"))),
            };
            let lines = adopted.map(|adopted| [adopted_lines(&adopted), readable_passphrase(&shelter)].concat());
            lines.map(|lines| with_next(lines, Some(next))).map_err(anyhow::Error::from)
        }
        ShelterAction::Export { folder, generation } => {
            let report = shelter.export(folder, *generation)?;
            print(&exported_lines(&report, folder))?;
            return Ok(if report.damaged.is_empty() { Outcome::Done } else { Outcome::Against });
        }
        ShelterAction::Restore { over, generation } => {
            if let Some(generation) = generation {
                shelter.want(*generation);
            }
            let prepared = match over {
                Some(folder) => shelter.restore_over(folder),
                None => shelter.restore(),
            };
            let next = ("see whether the service runs, which saves from now on", again("status"));
            prepared.map(|prepared| with_next(restored_lines(&prepared), Some(next))).map_err(with_remedy)
        }
        ShelterAction::Verify => {
            let report = shelter.verify()?;
            let next = if report.is_whole() {
                ("restore it into a new folder, to see how long that takes", again("drill /var/tmp/shelter-drill"))
            } else {
                ("keep the disk as it is; `adopt` saves it anew", again("status"))
            };
            print(&with_next(verified_lines(&report), Some(next)))?;
            return Ok(if report.is_whole() { Outcome::Done } else { Outcome::Against });
        }
        ShelterAction::Drill { scratch } => {
            let report = shelter.drill(scratch)?;
            let is_well = report.damaged.is_empty();
            let next = (!is_well).then(|| ("see what is damaged", again("verify")));
            print(&with_next(drill_lines(&report), next))?;
            return Ok(if is_well { Outcome::Done } else { Outcome::Against });
        }
        ShelterAction::Unit { write } => return unit(&file, write.as_deref()),
        ShelterAction::Plan(_) => unreachable!("a plan was printed before"),
    };
    print(&done?)?;
    Ok(Outcome::Done)
}

/// A wrong file is a mistake of usage.
fn usage(error: ShelterError) -> anyhow::Error {
    match error {
        ShelterError::Config(error) => Usage(error.to_string()).into(),
        error => error.into(),
    }
}

/// What the command can do about a refusal.
fn with_remedy(error: ShelterError) -> anyhow::Error {
    match error {
        ShelterError::Refused(refusal @ (StartRefusal::OtherEntries(_) | StartRefusal::TornMarker)) => {
            Usage(format!("nothing was done: {refusal}\n`adopt` keeps what is there; --over FOLDER replaces it")).into()
        }
        error @ ShelterError::KeptContents(_) => Usage(format!("{error}\n--over FOLDER replaces them")).into(),
        error => error.into(),
    }
}

/// The service, until it is asked to end.
fn run(shelter: &mut Shelter) -> anyhow::Result<Lines> {
    let interruption = Interruption::watch()?;
    let settings = ServiceSettings { manager: ServiceManager::of_environment() };
    let ending = serve(shelter, &settings, &|| interruption.asked(), &mut |line| output::tell(line));
    Ok(match ending.map_err(with_remedy)? {
        Ending::Saved => vec![fact("ended", "everything is saved".to_owned())],
        Ending::NeverReady => vec![fact("ended", "before the disk was there: nothing was written".to_owned())],
    })
}

/// The next step and its command, at the end of at most nine lines.
fn with_next(mut lines: Lines, next: Option<(&str, String)>) -> Lines {
    if let Some((next, command)) = next {
        lines.truncate(VERDICT_LINES_MAX - 2);
        lines.extend([About::Next.says(next), About::Command.says(command)]);
    }
    lines
}

/// Prints a verdict.
fn print(lines: &[VerdictLine]) -> anyhow::Result<()> {
    output::print(&printing::verdict(lines, Format::Table))
}

/// "3 files, 1.2 MiB".
fn amount(files: u64, bytes: u64) -> String {
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    format!("{files}, {}", Bytes::new(bytes).human())
}

fn took(time: std::time::Duration) -> String {
    Duration::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).human()
}

fn adopted_lines(adopted: &Adopted) -> Lines {
    let mut lines = Vec::new();
    if let Some(saved) = &adopted.saved {
        let text =
            format!("generation {}: {} in {}", saved.generation, amount(saved.files, saved.bytes), took(saved.took));
        lines.push(fact("saved", text));
        lines.extend(named("not exact", &saved.inexact));
        lines
            .extend(saved.failed.iter().take(3).map(|(group, why)| fact("NOT SAVED", format!("group {group}: {why}"))));
        if !saved.fuzzy.is_empty() {
            lines.push(fact("fuzzy", format!("files of {} are not of one moment", saved.fuzzy.join(", "))));
        }
    }
    if adopted.folders > 0 {
        lines.push(fact("folders", format!("{} are made again at each start", adopted.folders)));
    }
    if !adopted.unpinned.is_empty() {
        let all: Vec<String> = adopted.unpinned.iter().map(u64::to_string).collect();
        lines.push(fact("confirmed", format!("pinned generations are gone: {}", all.join(", "))));
    }
    if lines.is_empty() {
        lines.push(fact("adopted", "nothing changed since the last save".to_owned()));
    }
    lines
}

fn restored_lines(prepared: &Prepared) -> Lines {
    let mut lines = vec![fact("disk", prepared.verdict.clone())];
    if let Some(restored) = &prepared.restored {
        lines.push(fact("restored", format!("{} in {}", amount(restored.files, restored.bytes), took(restored.took))));
        lines.extend(named("lost", &restored.damaged));
    }
    if prepared.folders > 0 {
        lines.push(fact("folders", format!("{} were made again", prepared.folders)));
    }
    lines
}

/// A passphrase that others than its owner may read.
fn readable_passphrase(shelter: &Shelter) -> Lines {
    let found = shelter.readable_passphrase();
    let line = |(path, mode): (PathBuf, u32)| {
        let path = in_shell(&path.display().to_string());
        fact("passphrase", format!("others may read it (mode {mode:03o}): chmod 600 {path}"))
    };
    found.map(line).into_iter().collect()
}

/// The first entries of a list that may be long, each with its reason.
fn named(what: &'static str, entries: &BTreeMap<TreePath, String>) -> Lines {
    let first = entries.iter().take(NAMED).map(|(path, why)| fact(what, format!("{}: {why}", path.as_text())));
    let more = entries.len().saturating_sub(NAMED);
    first.chain((more > 0).then(|| fact("and", format!("{more} more")))).collect()
}

fn exported_lines(report: &RestoreReport, folder: &Path) -> Lines {
    let amount = amount(report.files, report.bytes);
    let text = format!("generation {}: {amount} in {}, in {}", report.generation, took(report.took), folder.display());
    let mut lines = vec![fact("written", text)];
    lines.extend(named("lost", &report.damaged));
    lines
}

fn verified_lines(report: &VerifyReport) -> Lines {
    let (read, took) = (Bytes::new(report.bytes).human(), took(report.took));
    let of = format!("{} generations in {} packs", report.snapshots, report.packs);
    let mut lines = vec![fact("read", format!("{of}, up to generation {}: {read} in {took}", report.generation))];
    if report.findings.is_empty() {
        lines.push(fact("saved data", "WHOLE: every generation can be restored".to_owned()));
    }
    lines.extend(report.findings.iter().take(5).map(|finding| fact("DAMAGED", finding.clone())));
    if report.findings.len() > 5 {
        lines.push(fact("and", format!("{} more", report.findings.len() - 5)));
    }
    lines
}

fn drill_lines(restored: &RestoreReport) -> Lines {
    let mut lines = vec![
        fact("restored", format!("generation {}: {}", restored.generation, amount(restored.files, restored.bytes))),
        fact("recovery time", took(restored.took)),
    ];
    lines.push(match restored.damaged.len() {
        0 => fact("drill", format!("PASSED: {} files were compared", restored.files)),
        1 => fact("drill", "FAILED: 1 entry is not what was saved"),
        wrong => fact("drill", format!("FAILED: {wrong} entries are not what was saved")),
    });
    lines.extend(named("lost", &restored.damaged));
    lines
}

/// The report of the service, and what a start would do now.
fn status(shelter: &Shelter, again: &dyn Fn(&str) -> String, format: Format) -> anyhow::Result<Outcome> {
    let report = last_status(shelter.config())?;
    let start = shelter.look().map(|(_, verdict)| verdict);
    if format == Format::Table {
        let mut lines = report.as_ref().map_or_else(
            || vec![fact("service", "it never ran".to_owned())],
            |report| status_lines(report, shelter.config()),
        );
        lines.extend(shelter.config().disk.device.as_ref().filter(|device| device.goes_with_the_disk()).map(|device| {
            let why = "is the name of this very disk: after a stop that replaces it, the service waits for a disk that is gone. Write \
                       \"model:NAME\", or a link that the cloud keeps for the place";
            fact("device", format!("{device} {why}"))
        }));
        lines.extend(readable_passphrase(shelter));
        if !report.as_ref().is_some_and(is_running) {
            lines.push(fact("a start now", start.as_ref().map_or_else(ToString::to_string, start_in_words)));
        }
        print(&with_next(lines, next_of(report.as_ref(), start.as_ref().ok(), shelter.config(), again)))?;
    } else {
        let report = report.as_ref().map(serde_json::to_value).transpose()?;
        let start = start.as_ref().map_or_else(ToString::to_string, start_in_words);
        let all = serde_json::json!({"service": report, "start": start});
        output::print(&document(STATUS_SCHEMA, all))?;
    }
    let is_well = report.is_none_or(|report| {
        let is_over = report.phase == ServicePhase::Stopped || is_running(&report);
        is_over && !report.is_late() && report.failure.is_none() && report.damage.is_none()
    });
    Ok(if is_well { Outcome::Done } else { Outcome::Against })
}

/// What to do about a report.
fn next_of(
    report: Option<&ShelterStatus>,
    start: Option<&StartVerdict>,
    config: &ShelterConfig,
    again: &dyn Fn(&str) -> String,
) -> Option<(&'static str, String)> {
    let unit = unit_name(config);
    match report {
        Some(report) if report.damage.is_some() => Some(("see everything that is damaged", again("verify"))),
        Some(report) if report.phase == ServicePhase::Failed || report.failure.is_some() => {
            Some(("see what the service said", format!("journalctl --unit {unit} --lines 20")))
        }
        Some(report) if is_running(report) => None,
        Some(_) => Some(("start the service again", format!("systemctl start {unit}"))),
        None => Some(match start {
            Some(StartVerdict::Refuse(StartRefusal::OtherEntries(_))) => {
                ("take what is on the disk into the shelter", again("adopt"))
            }
            _ => ("see the unit of its service", again("unit")),
        }),
    }
}

/// Whether the process of a report still runs.
fn is_running(report: &ShelterStatus) -> bool {
    let over = matches!(report.phase, ServicePhase::Stopped | ServicePhase::Failed);
    !over && Path::new(&format!("/proc/{}", report.pid)).exists()
}

fn start_in_words(verdict: &StartVerdict) -> String {
    match verdict {
        StartVerdict::Wait(awaited) => format!("would wait: {awaited}"),
        StartVerdict::Refuse(refusal) => format!("would be REFUSED: {refusal}"),
        StartVerdict::Format => "would make a file system on the raw device, and restore".to_owned(),
        StartVerdict::Mount => "would mount the device".to_owned(),
        StartVerdict::Begin => "would take the empty disk into use; nothing is saved yet".to_owned(),
        StartVerdict::Restore(generation) => format!("would restore generation {generation} onto the empty disk"),
        StartVerdict::Resume(generation) => format!("would go on with the restore of generation {generation}"),
        StartVerdict::Survived => "would go on: the disk kept its contents".to_owned(),
    }
}

fn status_lines(report: &ShelterStatus, config: &ShelterConfig) -> Lines {
    let span = |ns: u64| Duration::from_ns(ns).human();
    let phase = match report.phase {
        ServicePhase::Stopped => "stopped; everything was saved",
        ServicePhase::Failed => "FAILED",
        _ if !is_running(report) => {
            "NOT RUNNING: it was killed, or the machine stopped; what follows is its last report"
        }
        ServicePhase::Waiting => "waits for the disk",
        ServicePhase::Restoring => "restores",
        ServicePhase::Ready => "runs: services may use the disk",
        ServicePhase::Flushing => "makes the last save",
    };
    let mut lines = vec![fact("service", phase.to_owned()), fact("at its start", report.verdict.clone())];
    if let (true, Some(point)) = (config.has_contents(), report.recovery_point_ns) {
        let age = match report.recovery_age_ns {
            None if is_running(report) || report.phase == ServicePhase::Stopped => {
                "KEPT: everything is saved".to_owned()
            }
            None => "everything was saved at the last report".to_owned(),
            Some(age) => format!(
                "{}: the oldest unsaved change is {} old, {} in {} files",
                if report.is_late() { "MISSED" } else { "KEPT" },
                span(age),
                Bytes::new(report.unsaved_bytes).human(),
                report.unsaved_files
            ),
        };
        lines.push(fact("recovery point", format!("{age} (at most {})", span(point))));
    }
    if let Some(save) = &report.last_save {
        let text =
            format!("generation {}: {} in {}", save.generation, amount(save.files, save.bytes), span(save.took_ns));
        lines.push(fact("last save", text));
    }
    if let Some(room) = report.restore_room_bytes {
        lines.push(fact("a restore", format!("takes {} of the disk", Bytes::new(room).human())));
    }
    if let Some(budget) = report.budget_bytes {
        let fits = if report.unsaved_bytes <= budget { "all of it fits" } else { "NOT all of it fits" };
        lines.push(fact("in a notice", format!("{} can be saved: {fits}", Bytes::new(budget).human())));
    }
    let mut more = |what, said: &Option<String>| lines.extend(said.iter().map(|said| fact(what, said)));
    more("failure", &report.failure);
    more("DAMAGED", &report.damage);
    more("upkeep", &report.upkeep_trouble);
    more("conflict", &report.conflict);
    more("notice", &report.notice.clone().or_else(|| report.notice_trouble.clone()));
    if !report.pinned.is_empty() {
        lines.push(fact("pinned", "much was deleted at once: `adopt` confirms it".to_owned()));
    }
    lines.truncate(8);
    lines
}

/// Prints or writes the files of systemd.
fn unit(file: &ShelterFile, folder: Option<&Path>) -> anyhow::Result<Outcome> {
    let command = std::env::current_exe()?;
    let files = unit_files(&file.config, &command.to_string_lossy(), &file.path.to_string_lossy());
    let Some(folder) = folder else {
        let text: Vec<String> =
            files.iter().map(|UnitFile { path, text }| format!("# /etc/systemd/system/{path}\n{text}")).collect();
        output::print(&format!("{}\n", text.join("\n").trim_end()))?;
        return Ok(Outcome::Done);
    };
    for UnitFile { path, text } in &files {
        let path = folder.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text)?;
    }
    let unit = unit_name(&file.config);
    print(&[
        fact("written", format!("{} files below {}", files.len(), folder.display())),
        About::Next.says("start the service now and at each boot"),
        About::Command.says(format!("systemctl daemon-reload && systemctl enable --now {unit}")),
    ])?;
    Ok(Outcome::Done)
}
