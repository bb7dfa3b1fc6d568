//! A watch without end: an hour is a run, written in short parts while it lasts. Older hours get coarser, and the oldest go.

use super::WatchTarget;
use super::sampler::SampledDevice;
use crate::wall_clock::{run_id, unix_s};
use crate::{Error, WatchError, files::store_location};
use loadline_analysis::LiveMark;
use loadline_kernel::facts::{BlockDevice, KernelView};
use loadline_record::{
    CellRecord, KeptHour, Load, LoadFigures, OthersLoad, RecordedHour, RunHeader, RunRecord, RunStatus, TrialRecord,
    Upkeep, WatchRecord, upkeep,
};
use loadline_store::{Claim, Store, StoreError, WatchLine};
use loadline_units::{Duration, Instant, Timestamp};
use std::collections::BTreeMap;
use std::path::Path;

/// Seconds of an hour.
const HOUR_S: u64 = 3_600;
/// Samples that are not written yet, at most: with the look that is under way less than 10 s are lost when the process is killed.
const UNWRITTEN_MAX: Duration = Duration::from_s(8);
/// Parts of an hour: one for each second at most.
const PARTS_MAX: u32 = 3_600;
/// A wall clock that is so far from where it should be was set: an hour of the new time begins.
const CLOCK_SET_S: u64 = 5;
/// Hours that are thinned or removed at once: samples wait meanwhile.
const UPKEEP_AT_ONCE: usize = 4;

/// The hours of a recorder.
#[derive(Debug)]
pub(super) struct Recorder<'a> {
    store: Store,
    target: &'a WatchTarget,
    /// The header of each hour, with its own id and time.
    header: RunHeader,
    keep: Duration,
    /// From when on marks count, and the wall clock at that moment.
    begun: Instant,
    begun_unix_s: u64,
    /// One recorder a device.
    _devices: Vec<Claim>,
    hour: Hour,
    /// What was sampled until then is stored.
    written: Instant,
}

/// The hour that is under way.
#[derive(Debug)]
struct Hour {
    run: String,
    _claim: Claim,
    mark: RecordedHour,
    /// Parts that are stored.
    parts: u32,
    /// When it began by both clocks. From then on the monotonic one says the time.
    begun_unix_s: u64,
    begun: Instant,
    /// How long the rest of the hour is.
    length: Duration,
    /// A run that stands in the store from its first part on.
    is_stored: bool,
}

impl Hour {
    fn unix_s_at(&self, at: Instant) -> u64 {
        self.begun_unix_s + at.since(self.begun).as_ns() / 1_000_000_000
    }
}

impl<'a> Recorder<'a> {
    /// Goes on in the hour that was under way, or begins one.
    ///
    /// # Errors
    /// Another recorder has one of the devices; the store.
    pub(super) fn begin(
        store: &Path,
        target: &'a WatchTarget,
        header: RunHeader,
        keep: Duration,
        now: Instant,
    ) -> Result<Self, Error> {
        let store = store_location::open_store(store)?;
        let claims: Result<Vec<Claim>, Error> = target.devices().map(|device| claim_device(&store, device)).collect();
        let claims = claims?;
        let own = own_lines(&store, &devices_of(target), header.host.hostname.as_ref())?;
        let hour = Hour::begin(&store, target, &own, &header, now)?;
        let begun_unix_s = unix_s();
        let recorder =
            Self { store, target, header, keep, begun: now, begun_unix_s, _devices: claims, hour, written: now };
        recorder.look_after(now)?;
        Ok(recorder)
    }

    /// The run of the hour that is under way.
    pub(super) fn run(&self) -> &str {
        &self.hour.run
    }

    /// Whether what was sampled since the last part is to be written now, where the next look comes after so long.
    pub(super) fn is_due(&self, now: Instant, next: Duration) -> bool {
        now.since(self.written) + next > UNWRITTEN_MAX || self.hour_is_over(now)
    }

    fn hour_is_over(&self, now: Instant) -> bool {
        let is_set = unix_s().abs_diff(self.hour.unix_s_at(now)) > CLOCK_SET_S;
        now.since(self.hour.begun) >= self.hour.length || is_set || self.hour.parts >= PARTS_MAX
    }

    /// Writes what was sampled since the last part. Where the hour is over, the next begins.
    ///
    /// # Errors
    /// The store.
    pub(super) fn write(&mut self, sampled: Vec<SampledDevice>, marks: &[LiveMark], now: Instant) -> Result<(), Error> {
        let begun = self.hour.unix_s_at(self.written);
        let trial = |device: SampledDevice| {
            let of = device.record.into_trial(&BTreeMap::new(), &device.name, begun);
            (device.name, TrialRecord { trial: self.hour.parts, ..of })
        };
        let trials: Vec<(String, TrialRecord)> = sampled.into_iter().map(trial).collect();
        if !self.hour.is_stored {
            self.store.begin_run(&self.hour_header(), &self.cells())?;
            self.hour.is_stored = true;
        }
        let all: Vec<(&str, &TrialRecord)> = trials.iter().map(|(device, trial)| (device.as_str(), trial)).collect();
        self.store.finish_trials(&self.hour.run, &all)?;
        self.hour.parts += 1;
        self.written = now;
        if self.hour_is_over(now) {
            let before_ns = self.hour.begun.since(self.begun).as_ns();
            let own = marks.iter().filter_map(|mark| mark.clone().moved(-i128::from(before_ns)));
            close(&self.store, &self.hour.run, &own.collect::<Vec<_>>())?;
            self.hour = Hour::begin(&self.store, self.target, &[], &self.header, now)?;
            self.look_after(now)?;
        }
        Ok(())
    }

    /// Ends it. The hour can be gone on with.
    ///
    /// # Errors
    /// The store.
    pub(super) fn end(self) -> Result<RunRecord, Error> {
        if self.hour.is_stored {
            self.store.set_status(&self.hour.run, RunStatus::Interrupted)?;
        }
        Ok(self.store.load(&self.hour.run)?)
    }

    fn hour_header(&self) -> RunHeader {
        let mut header = RunHeader {
            id: self.hour.run.clone(),
            started: Timestamp::from_unix_s(self.hour.begun_unix_s).to_string(),
            ..self.header.clone()
        };
        self.hour.mark.put_into(&mut header.settings);
        header
    }

    /// Each device, whatever is asked of it later.
    fn cells(&self) -> Vec<CellRecord> {
        let nothing = WatchRecord::default().into_trial(&BTreeMap::new(), "", 0);
        let cell = |device: &str| CellRecord {
            id: device.to_owned(),
            volume: device.to_owned(),
            label: "what others asked for".to_owned(),
            load: Load::Application(OthersLoad {
                volume: device.to_owned(),
                by: None,
                figures: LoadFigures::of_watched(&nothing),
            }),
            beside: Vec::new(),
            ceilings: Vec::new(),
            trials_planned: PARTS_MAX,
            trials: Vec::new(),
        };
        self.target.devices().map(cell).collect()
    }

    /// Closes hours that nobody goes on with, thins older ones, and removes the oldest.
    fn look_after(&self, now: Instant) -> Result<(), Error> {
        let mut own = own_lines(&self.store, &self.hour.mark.devices, self.header.host.hostname.as_ref())?;
        own.retain(|line| line.run != self.hour.run);
        for line in own.iter().filter(|line| line.status != RunStatus::Finished) {
            close(&self.store, &line.run, &[])?;
        }
        let kept: Vec<KeptHour> = own.iter().filter_map(kept_hour).collect();
        let devices = self.hour.mark.devices.len() as u64;
        let aged_until = aged_until(unix_s(), self.begun_unix_s, now.since(self.begun));
        let keep_s = self.keep.as_ns() / 1_000_000_000;
        for one in upkeep(&kept, aged_until, keep_s, devices).into_iter().take(UPKEEP_AT_ONCE) {
            match one {
                Upkeep::Thin { run, step_s } => self.store.replace_hour(&self.store.load(&run)?.in_steps(step_s))?,
                Upkeep::Remove { run } => self.store.remove(&run)?,
            }
        }
        Ok(())
    }
}

/// The time by which hours get old, in seconds since 1970: that of the wall clock, but not beyond what has passed since the recorder began. A
/// clock that is set ahead meanwhile, perhaps by mistake, makes no hour old at once.
fn aged_until(wall_unix_s: u64, begun_unix_s: u64, passed: Duration) -> u64 {
    wall_unix_s.min(begun_unix_s.saturating_add(passed.as_ns() / 1_000_000_000))
}

impl Hour {
    /// The hour of now: one that stands in the store and can be gone on with, or a new one.
    fn begin(
        store: &Store,
        target: &WatchTarget,
        own: &[WatchLine],
        header: &RunHeader,
        now: Instant,
    ) -> Result<Self, Error> {
        let now_unix_s = unix_s();
        let hour_unix_s = now_unix_s - now_unix_s % HOUR_S;
        let length = Duration::from_s(HOUR_S - now_unix_s % HOUR_S);
        let goes_on = |line: &&WatchLine| {
            let is_open = line.status != RunStatus::Finished && line.parts < PARTS_MAX;
            let is_now = line.hour.as_ref().is_some_and(|hour| hour.hour_unix_s == hour_unix_s);
            // A clock that was set back has been here before.
            is_open && is_now && line.ended_unix_s <= now_unix_s + 1
        };
        let before = own.iter().rfind(goes_on);
        let run = match before {
            Some(line) => line.run.clone(),
            // The first hour of a recorder has the id that its frames have.
            None if find(store, &header.id) => run_id(Timestamp::from_unix_s(now_unix_s)),
            None => header.id.clone(),
        };
        let claim = store.claim(&run)?;
        if before.is_some() {
            store.set_status(&run, RunStatus::Unfinished)?;
        }
        Ok(Self {
            run,
            _claim: claim,
            mark: RecordedHour { devices: devices_of(target), hour_unix_s, step_s: 1 },
            parts: before.map_or(0, |line| line.parts),
            begun_unix_s: now_unix_s,
            begun: now,
            length,
            is_stored: before.is_some(),
        })
    }
}

fn find(store: &Store, run: &str) -> bool {
    store.finished_trials(run).is_ok()
}

/// Sorted, so that one recorder is itself whatever the order in which its devices were typed.
fn devices_of(target: &WatchTarget) -> Vec<String> {
    let mut devices: Vec<String> = target.devices().map(str::to_owned).collect();
    devices.sort();
    devices
}

/// The hours of a recorder of these devices on this machine.
fn own_lines(store: &Store, devices: &[String], hostname: Option<&String>) -> Result<Vec<WatchLine>, Error> {
    let mut lines = store.watches()?;
    lines.retain(|line| {
        line.hostname.as_ref() == hostname && line.hour.as_ref().is_some_and(|hour| hour.devices == devices)
    });
    Ok(lines)
}

fn kept_hour(line: &WatchLine) -> Option<KeptHour> {
    let step_s = line.hour.as_ref()?.step_s;
    Some(KeptHour { run: line.run.clone(), begun_unix_s: line.begun_unix_s, step_s, bytes: line.bytes })
}

/// Makes one trial a device of an hour that is over.
fn close(store: &Store, run: &str, marks: &[LiveMark]) -> Result<(), Error> {
    let mut record = RunRecord { status: RunStatus::Finished, ..store.load(run)? };
    let mut all = LiveMark::of_settings(&record.header.settings);
    all.extend(marks.iter().cloned());
    LiveMark::put_all(&all, &mut record.header.settings);
    Ok(store.replace_hour(&record)?)
}

fn claim_device(store: &Store, device: &str) -> Result<Claim, Error> {
    store.claim(&format!("recorder.{}", device.replace('!', "_"))).map_err(|error| match error {
        StoreError::Claimed { pid, .. } => WatchError::RecorderRuns { device: device.to_owned(), pid }.into(),
        other => other.into(),
    })
}

/// The watched device on whose disk the store lies, if it does: each part that is written would be seen, and would ask for more.
pub(super) fn own_disk(view: &KernelView, store: &Path, devices: &[BlockDevice]) -> Option<String> {
    let place = store.ancestors().skip(1).find(|folder| folder.is_dir() || folder.as_os_str().is_empty())?;
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    let below_store = crate::recording::beneath_path(view, place);
    let is_there = |device: &&BlockDevice| {
        let below = crate::recording::beneath(view, vec![(*device).clone()], false);
        below.iter().any(|own| below_store.contains(own))
    };
    devices.iter().find(is_there).map(|device| device.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::Upkeep;

    #[test]
    fn a_clock_that_is_set_ahead_removes_no_hour() {
        const HOUR_S: u64 = 3_600;
        let hours: Vec<KeptHour> = (0..100)
            .map(|number| KeptHour { run: number.to_string(), begun_unix_s: number * HOUR_S, step_s: 1, bytes: 1_000 })
            .collect();
        let keep_s = 7 * 24 * HOUR_S;
        let removed = |wall_unix_s: u64, passed: Duration| {
            let until = aged_until(wall_unix_s, 100 * HOUR_S, passed);
            let done = upkeep(&hours, until, keep_s, 1);
            done.iter().filter(|one| matches!(one, Upkeep::Remove { .. })).count()
        };
        assert_eq!(removed(100_000 * HOUR_S, Duration::from_s(10)), 0, "set ahead by years");
        assert_eq!(removed(100 * HOUR_S + keep_s, Duration::from_s(keep_s)), 99, "a week went by");
        assert_eq!(removed(0, Duration::from_s(keep_s)), 0, "set back");
    }
}
