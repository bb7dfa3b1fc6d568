//! The service: start, watch, save, hear notices, end.

mod upkeep;

use crate::durable::now_ns;
use crate::error::ShelterError;
use crate::metadata_client::MetadataClient;
use crate::notify::ServiceManager;
use crate::pace::Pace;
use crate::restoring::RestoreProgress;
use crate::saving::{SaveReport, group_of};
use crate::shelter::{Prepared, Shelter, end_restore};
use loadline_shelter_policy::budget::{DestinationRate, SaveQuestion, dirty_budget};
use loadline_shelter_policy::changes::{TreeDifference, UnsavedChanges};
use loadline_shelter_policy::config::NoticeSource;
use loadline_shelter_policy::notice::CloudNotice;
use loadline_shelter_policy::status::{LastSave, ServicePhase, ShelterStatus};
use loadline_shelter_policy::tree::TreePath;
use loadline_shelter_policy::upkeep::UpkeepSchedule;
use loadline_units::{ByteRate, Bytes, Duration as Span, Instant as Moment};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How often the loop looks at what is due.
const TICK: Duration = Duration::from_millis(100);
/// How often the report is written.
const REPORT: Duration = Duration::from_secs(1);
/// How often all files are looked at: this share of the recovery point, within bounds.
const SCANS_A_RECOVERY_POINT: u32 = 4;
const SCAN_MIN: Duration = Duration::from_millis(250);
const SCAN_MAX: Duration = Duration::from_secs(60);
/// A scan takes this share of the time at most.
const SCAN_SHARE: u32 = 20;
/// The wait after a save that failed; it doubles up to the longest.
const RETRY_MIN: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(30);
/// How long systemd is to wait for the next word while something takes long.
const EXTENSION: &str = "EXTEND_TIMEOUT_USEC=120000000";

/// How the service runs.
#[derive(Debug, Default)]
pub struct ServiceSettings {
    /// Who started it.
    pub manager: ServiceManager,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It was asked to, and everything is saved.
    Saved,
    /// It was asked to before the disk was ready.
    NeverReady,
}

/// Runs until `ends` says so: prepares the disk, lets services start, saves, and saves once more at the end. `tell` gets one line for
/// each thing that happens.
///
/// # Errors
/// The start is refused; the disk or the destination becomes somebody else's; the last save fails.
pub fn serve(
    shelter: &mut Shelter,
    settings: &ServiceSettings,
    ends: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(&str),
) -> Result<Ending, ShelterError> {
    let mut status = ShelterStatus::new(&shelter.config().name, std::process::id());
    status.recovery_point_ns = shelter.config().recovery_point().map(Span::as_ns);
    status.drill_s = shelter.last_drill();
    let outcome = run(shelter, settings, ends, tell, &mut status);
    status.phase = if outcome.is_ok() { ServicePhase::Stopped } else { ServicePhase::Failed };
    if let Err(error) = &outcome {
        status.failure = Some(error.to_string());
        settings.manager.tell(&format!("STATUS={error}"));
    }
    status.written_s = now_ns() / 1_000_000_000;
    // A service that never had the lock must not overwrite the report of the one that has it.
    if shelter.take().is_ok() {
        shelter.publish(&status)?;
    }
    outcome
}

fn run(
    shelter: &mut Shelter,
    settings: &ServiceSettings,
    ends: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(&str),
    status: &mut ShelterStatus,
) -> Result<Ending, ShelterError> {
    shelter.take()?;
    let Some(prepared) = start(shelter, settings, ends, tell, status)? else { return Ok(Ending::NeverReady) };
    status.verdict.clone_from(&prepared.verdict);
    tell(&prepared.verdict);
    if let Some(restored) = &prepared.restored {
        status.restore_took_ns = u64::try_from(restored.took.as_nanos()).ok();
        status.damaged = restored.damaged.keys().map(|path| path.as_text().to_owned()).collect();
        tell(&format!(
            "restored {} files, {}, in {:.1} s",
            restored.files,
            Bytes::new(restored.bytes).human(),
            restored.took.as_secs_f64()
        ));
        for (path, reason) in &restored.damaged {
            tell(&format!("not restored: {}: {reason}", path.as_text()));
        }
    }
    status.phase = ServicePhase::Ready;
    let mut watch = Watch::new(shelter, prepared);
    watch.report(shelter, status)?;
    settings.manager.tell(&format!("READY=1\nSTATUS={}", status.verdict));
    watch.until_end(shelter, settings, ends, tell, status)?;
    Ok(Ending::Saved)
}

/// Waits for the disk and prepares it; `None`: asked to end before.
fn start(
    shelter: &mut Shelter,
    settings: &ServiceSettings,
    ends: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(&str),
    status: &mut ShelterStatus,
) -> Result<Option<Prepared>, ShelterError> {
    let mut waited_for = None;
    loop {
        if ends() {
            return Ok(None);
        }
        let progress = Arc::new(RestoreProgress::default());
        let prepared = while_alive(
            settings,
            || {
                if ends() {
                    end_restore(&progress);
                }
            },
            || shelter.prepare(&progress),
        );
        match prepared {
            Ok(prepared) => return Ok(Some(prepared)),
            Err(ShelterError::Ended) if ends() => return Ok(None),
            Err(ShelterError::NotReady(awaited)) => {
                let text = awaited.to_string();
                if waited_for.as_ref() != Some(&text) {
                    tell(&format!("waiting: {text}"));
                    settings.manager.tell(&format!("STATUS=waiting: {text}"));
                    status.verdict = format!("waiting: {text}");
                    status.written_s = now_ns() / 1_000_000_000;
                    shelter.publish(status)?;
                    waited_for = Some(text);
                }
                settings.manager.tell(EXTENSION);
                std::thread::sleep(TICK);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Does something that may take long, while the service manager hears that this process lives.
fn while_alive<T: Send>(settings: &ServiceSettings, also: impl Fn() + Sync, work: impl FnOnce() -> T + Send) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut told = Instant::now();
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
                also();
                if told.elapsed() > REPORT {
                    settings.manager.tell(&format!("WATCHDOG=1\n{EXTENSION}"));
                    told = Instant::now();
                }
            }
        });
        // Whatever happens in the work, the other thread must end.
        let guard = Done(&done);
        let result = work();
        drop(guard);
        result
    })
}

struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the notices' thread says.
enum Heard {
    Notice(CloudNotice),
    Trouble(Option<String>),
}

/// The service between READY and its end.
struct Watch {
    origin: Instant,
    pace: Arc<Pace>,
    unsaved: UnsavedChanges,
    /// What the last look showed.
    seen: loadline_shelter_policy::changes::TreeStamps,
    looked: Option<Instant>,
    look_took: Duration,
    rate: DestinationRate,
    last_took: Duration,
    retry: Option<(Instant, Duration)>,
    reported: Option<Instant>,
    notices: Option<Receiver<Heard>>,
    notices_end: Arc<AtomicBool>,
    /// Notices that were acted on.
    acted: Vec<String>,
    /// A notice came, and nobody acted on it yet.
    is_urgent: Arc<AtomicBool>,
    restore_rate: Option<f64>,
    /// What is done besides saving, and the earliest moment for it.
    schedule: UpkeepSchedule,
    upkeep_at: Instant,
    /// A share of this round's reading found something missing or damaged.
    finds_damage: bool,
    /// How much the next prune writes anew.
    rewritten: u64,
}

impl Watch {
    fn new(shelter: &Shelter, prepared: Prepared) -> Self {
        let notices_end = Arc::new(AtomicBool::new(false));
        let is_urgent = Arc::new(AtomicBool::new(false));
        let listening = |source| listen(source, Arc::clone(&notices_end), Arc::clone(&is_urgent));
        let notices = shelter.config().notices.clone().map(listening);
        let restored = prepared.restored.filter(|restored| restored.bytes > 1 << 20);
        let restore_rate = restored.map(|restored| restored.bytes as f64 / restored.took.as_secs_f64().max(1e-6));
        Self {
            origin: Instant::now(),
            pace: Arc::new(Pace::new(shelter.config().limits, shelter.device_name())),
            unsaved: UnsavedChanges::default(),
            seen: shelter.known().clone(),
            looked: None,
            look_took: Duration::ZERO,
            rate: DestinationRate::default(),
            last_took: Duration::ZERO,
            retry: None,
            reported: None,
            notices,
            notices_end,
            acted: Vec::new(),
            is_urgent,
            restore_rate,
            schedule: shelter.schedule(),
            upkeep_at: Instant::now(),
            finds_damage: false,
            rewritten: upkeep::REWRITTEN_MAX,
        }
    }

    fn now(&self) -> Moment {
        Moment::from_ns(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn until_end(
        &mut self,
        shelter: &mut Shelter,
        settings: &ServiceSettings,
        ends: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(&str),
        status: &mut ShelterStatus,
    ) -> Result<(), ShelterError> {
        let done = self.turns(shelter, settings, ends, tell, status);
        self.notices_end.store(true, Ordering::Relaxed);
        done?;
        // The guest shuts down, or somebody stops the service: nothing is held back any more.
        settings.manager.tell(&format!("STOPPING=1\n{EXTENSION}"));
        status.phase = ServicePhase::Flushing;
        self.pace.switch_off();
        if shelter.config().has_contents() {
            self.save(shelter, settings, &|| false, tell, status)?;
            if let Some(failure) = &status.failure {
                return Err(ShelterError::Program { program: "the last save".to_owned(), reason: failure.clone() });
            }
            shelter.release()?;
        }
        Ok(())
    }

    fn turns(
        &mut self,
        shelter: &mut Shelter,
        settings: &ServiceSettings,
        ends: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(&str),
        status: &mut ShelterStatus,
    ) -> Result<(), ShelterError> {
        let has_contents = shelter.config().has_contents();
        while !ends() {
            if has_contents {
                self.look(shelter)?;
                if self.is_due(shelter) {
                    self.save(shelter, settings, ends, tell, status)?;
                } else {
                    self.keep_up(shelter, settings, ends, tell, status)?;
                }
            }
            self.hear(shelter, settings, tell, status)?;
            settings.manager.tell("WATCHDOG=1");
            self.report(shelter, status)?;
            std::thread::sleep(TICK);
        }
        Ok(())
    }

    /// How long between two looks at all files.
    fn look_period(&self, shelter: &Shelter) -> Duration {
        let point = shelter.config().recovery_point().map_or(SCAN_MAX, |point| Duration::from_nanos(point.as_ns()));
        (point / SCANS_A_RECOVERY_POINT).clamp(SCAN_MIN, SCAN_MAX).max(self.look_took * SCAN_SHARE)
    }

    /// Looks at all files, if it is time.
    fn look(&mut self, shelter: &Shelter) -> Result<(), ShelterError> {
        if self.looked.is_some_and(|at| at.elapsed() < self.look_period(shelter)) {
            return Ok(());
        }
        let begun = Instant::now();
        let (now, now_real) = (self.now(), now_ns());
        let stamps = shelter.stamps()?;
        let difference = TreeDifference::between(&self.seen, &stamps);
        let earliest = self
            .looked
            .map_or(now, |at| Moment::from_ns(u64::try_from(at.duration_since(self.origin).as_nanos()).unwrap_or(0)));
        for path in difference.changed {
            let Some(stamp) = stamps.get(&path) else { continue };
            // The time that the file itself tells, but never before the look that did not see it yet.
            let age = u64::try_from(now_real.saturating_sub(stamp.changed_ns)).unwrap_or(0);
            let at = Moment::from_ns(now.as_ns().saturating_sub(age)).max(earliest);
            self.unsaved.see(path, at, stamp.size);
        }
        for path in difference.gone {
            self.unsaved.see(path, earliest, 0);
        }
        self.seen = stamps;
        self.looked = Some(begun);
        self.look_took = begun.elapsed();
        Ok(())
    }

    fn is_due(&self, shelter: &Shelter) -> bool {
        if self.retry.is_some_and(|(at, _)| Instant::now() < at) {
            return false;
        }
        let recovery_point = shelter.config().recovery_point().unwrap_or_default();
        let question = SaveQuestion {
            age: self.unsaved.age(self.now()),
            unsaved: self.unsaved.bytes(),
            recovery_point,
            last_save: Span::from_ns(u64::try_from(self.last_took.as_nanos()).unwrap_or(u64::MAX)),
            budget: self.budget(shelter),
        };
        question.answer().is_some() || (shelter.generation() == 0 && self.unsaved.count() > 0)
    }

    fn budget(&self, shelter: &Shelter) -> Option<Bytes> {
        let notice = shelter.config().notices.as_ref()?.time;
        Some(dirty_budget(notice, self.rate.get()?))
    }

    /// Saves now. A failure is reported and tried again later, unless disk or destination became somebody else's.
    fn save(
        &mut self,
        shelter: &mut Shelter,
        settings: &ServiceSettings,
        ends: &(dyn Fn() -> bool + Sync),
        tell: &mut dyn FnMut(&str),
        status: &mut ShelterStatus,
    ) -> Result<(), ShelterError> {
        let begun = self.now();
        let point = shelter.config().recovery_point().unwrap_or_default();
        let floor = (self.unsaved.bytes().get() as f64 / (point.as_s_f64() / 2.0).max(0.1)) as u64;
        self.pace.set_floor(ByteRate::per_second(floor));
        let pace = Arc::clone(&self.pace);
        let saved = while_alive(
            settings,
            || {
                if ends() {
                    pace.switch_off();
                }
            },
            || shelter.save(&pace),
        );
        match saved {
            Ok(report) => {
                let failed = report.as_ref().map(|report| report.failed.clone()).unwrap_or_default();
                let is_failed = |path: &TreePath| {
                    group_of(&shelter.config().groups, path).is_some_and(|group| failed.contains_key(&group.name))
                };
                let is_inexact =
                    |path: &TreePath| report.as_ref().is_some_and(|report| report.inexact.contains_key(path));
                self.unsaved.saved(begun, |path| is_inexact(path) || is_failed(path));
                if let Some((group, reason)) = failed.first_key_value() {
                    for (group, reason) in &failed {
                        tell(&format!("group {group} is not saved and has its previous generation: {reason}"));
                    }
                    self.failed(format!("group {group} is not saved: {reason}"), status);
                } else {
                    self.retry = None;
                    status.failures_in_row = 0;
                    status.failure = None;
                }
                // What is not known for sure counts as changed at the next look.
                self.seen = shelter.known().clone();
                if let Some(report) = report {
                    self.saved(shelter, &report, tell, status);
                }
            }
            Err(
                error @ (ShelterError::DiskChanged { .. } | ShelterError::Fenced { .. } | ShelterError::Record { .. }),
            ) => return Err(error),
            Err(error) => {
                tell(&format!("not saved: {error}"));
                self.failed(error.to_string(), status);
            }
        }
        Ok(())
    }

    /// Something was not saved: it is tried again after a while.
    fn failed(&mut self, why: String, status: &mut ShelterStatus) {
        status.failures_in_row += 1;
        status.failure = Some(why);
        let wait = self.retry.map_or(RETRY_MIN, |(_, wait)| (wait * 2).min(RETRY_MAX));
        self.retry = Some((Instant::now() + wait, wait));
    }

    fn saved(
        &mut self,
        shelter: &Shelter,
        report: &SaveReport,
        tell: &mut dyn FnMut(&str),
        status: &mut ShelterStatus,
    ) {
        self.last_took = report.took;
        let took = Span::from_ns(u64::try_from(report.took.as_nanos()).unwrap_or(u64::MAX));
        self.rate.see(Bytes::new(report.bytes), took);
        status.saves_total += 1;
        status.saved_bytes_total += report.bytes;
        status.pinned = shelter.pinned();
        status.last_save = Some(LastSave {
            generation: report.generation,
            acknowledged_s: now_ns() / 1_000_000_000,
            took_ns: took.as_ns(),
            files: report.files,
            bytes: report.bytes,
            inexact: report.inexact.len() as u64,
            fuzzy: report.fuzzy.clone(),
        });
        tell(&format!(
            "saved generation {}: {} files, {}, in {}",
            report.generation,
            report.files,
            Bytes::new(report.bytes).human(),
            took.human()
        ));
        for (path, reason) in &report.inexact {
            tell(&format!("has its previous version: {}: {reason}", path.as_text()));
        }
        for (group, loss) in &report.deletions {
            tell(&format!(
                "group {group} lost {} of {} files and {} of {}: generation {} is pinned until `adopt`",
                loss.files,
                loss.of_files,
                loss.bytes.human(),
                loss.of_bytes.human(),
                report.generation - 1
            ));
        }
    }

    /// Acts on notices that came.
    fn hear(
        &mut self,
        shelter: &mut Shelter,
        settings: &ServiceSettings,
        tell: &mut dyn FnMut(&str),
        status: &mut ShelterStatus,
    ) -> Result<(), ShelterError> {
        self.is_urgent.store(false, Ordering::Relaxed);
        let heard: Vec<Heard> = self.notices.iter().flat_map(Receiver::try_iter).collect();
        for heard in heard {
            match heard {
                Heard::Trouble(trouble) => status.notice_trouble = trouble,
                Heard::Notice(notice) if self.acted.contains(&notice.id) => {}
                Heard::Notice(notice) => {
                    let when = notice.at.as_ref().map(|at| format!(", not before {at}")).unwrap_or_default();
                    let text = format!("{}{when}", notice.what);
                    tell(&format!("notice: {text}"));
                    status.notice = Some(text);
                    self.acted.push(notice.id.clone());
                    if !notice.loses_disk {
                        continue;
                    }
                    self.pace.switch_off();
                    // Changes of the last moments count too: the save looks for itself.
                    self.save(shelter, settings, &|| false, tell, status)?;
                    if status.failure.is_none()
                        && let Some(source) = &shelter.config().notices
                        && let Err(error) = MetadataClient::new(source.clone()).approve(&notice)
                    {
                        status.notice_trouble = Some(error.to_string());
                    }
                }
            }
        }
        Ok(())
    }

    fn report(&mut self, shelter: &Shelter, status: &mut ShelterStatus) -> Result<(), ShelterError> {
        if self.reported.is_some_and(|at| at.elapsed() < REPORT) {
            return Ok(());
        }
        self.reported = Some(Instant::now());
        let pace = self.pace.view();
        status.written_s = now_ns() / 1_000_000_000;
        status.recovery_age_ns = self.unsaved.age(self.now()).map(Span::as_ns);
        status.unsaved_files = self.unsaved.count() as u64;
        status.unsaved_bytes = self.unsaved.bytes().get();
        status.budget_bytes = self.budget(shelter).map(Bytes::get);
        status.rate_bytes_per_s = pace.rate.map(ByteRate::get);
        status.conflict = pace.conflict;
        status.generations = shelter.generations();
        status.pruned_s = shelter.last_prune();
        status.verified_s = self.schedule.verified_s();
        status.reread_s = self.schedule.reread_s();
        let traffic = shelter.traffic();
        status.requests_total = traffic.map(|traffic| traffic.requests);
        status.requests_failed_total = traffic.map(|traffic| traffic.failed);
        status.requests_throttled_total = traffic.map(|traffic| traffic.throttled);
        status.restore_predicted_ns =
            self.restore_rate.zip(shelter.saved_bytes()).map(|(rate, bytes)| (bytes as f64 / rate * 1e9) as u64);
        status.restore_room_bytes = shelter.saved_room();
        shelter.publish(status)
    }
}

/// Polls for notices in a thread of its own, whose answers may take minutes.
fn listen(source: NoticeSource, ends: Arc<AtomicBool>, is_urgent: Arc<AtomicBool>) -> Receiver<Heard> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut client = MetadataClient::new(source);
        let period = Duration::from_nanos(client.cloud().poll_period().as_ns());
        while !ends.load(Ordering::Relaxed) {
            let mut is_notice = false;
            let heard = match client.poll() {
                Ok(notices) => {
                    is_notice = !notices.is_empty();
                    let mut all: Vec<Heard> = notices.into_iter().map(Heard::Notice).collect();
                    all.push(Heard::Trouble(None));
                    all
                }
                Err(error) => vec![Heard::Trouble(Some(error.to_string()))],
            };
            if heard.into_iter().any(|heard| sender.send(heard).is_err()) {
                return;
            }
            is_urgent.fetch_or(is_notice, Ordering::Relaxed);
            std::thread::sleep(period);
        }
    });
    receiver
}
