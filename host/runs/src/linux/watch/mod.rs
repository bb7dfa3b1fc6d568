//! Watching: what others ask of storage, and what limits them. Makes no load.
//!
//! [`Watch::prepare`] finds the devices, and [`Watch::run`] samples them and stores a run. What the samples mean is for
//! `loadline-analysis` to say, anew each time that the run is looked at.

mod events;
mod groups;
mod live;
mod programs;
mod record;
mod recorder;
mod sampler;
mod surroundings;
mod target;

pub use crate::kinds::stored_watch::{StoredWatch, TypedRange};
pub use surroundings::SurroundingsWatch;
pub use target::WatchTarget;

use crate::wall_clock::unix_s;
use crate::{DeclaredEnvironment, Ended, Error, Observer, PendingStore, RunOptions, RunOutcome};
use events::EventsSeen;
use live::LiveWatch;
use loadline_kernel::facts::{BlockDevice, KernelView};
use loadline_record::{Clock, LiveMark, RunHeader, RunVerb};
use loadline_units::Duration;
use recorder::Recorder;
use sampler::{Pace, Sampler};

/// How long is watched, and what is declared of the storage.
#[derive(Debug, Default)]
pub struct WatchSettings {
    /// How long; `None`: until the observer wants an end.
    pub duration: Option<Duration>,
    /// Whether the kernel's events are read too, beside its counters: of one device.
    pub events: bool,
    /// The machine as an environment declares it: then its limits are known.
    pub environment: Option<DeclaredEnvironment>,
    /// A watch without end: an hour is a run, and hours are kept for so long.
    pub keep: Option<Duration>,
}

/// Less is no history.
const KEEP_MIN: Duration = Duration::from_s(3_600);

/// A watch that is about to begin.
#[derive(Debug)]
pub struct Watch {
    target: WatchTarget,
    /// Devices, each with the declared volume that lies on it.
    declared: Vec<(String, String)>,
    settings: WatchSettings,
    options: RunOptions,
    events: Option<EventsSeen>,
    left_out: Vec<String>,
}

impl Watch {
    /// Finds what is to be watched: a device by name or node, what lies below a path, what a process uses, or every disk.
    ///
    /// # Errors
    /// [`crate::WatchError`]: there is nothing of that name, or nothing that the kernel counts.
    pub fn prepare(typed: &[String], settings: WatchSettings, options: RunOptions) -> Result<Self, Error> {
        if settings.duration == Some(Duration::ZERO) {
            return Err(crate::WatchError::NoTime.into());
        }
        if settings.keep.is_some_and(|keep| keep < KEEP_MIN) {
            return Err(crate::WatchError::KeptTooShort.into());
        }
        let mut target = WatchTarget::find_all(&KernelView::live(), typed)?;
        let mut left_out = Vec::new();
        if settings.keep.is_some() {
            let store = options.store_path()?;
            let is_named = !typed.is_empty();
            while let Some(device) = recorder::own_disk(&KernelView::live(), &store, target.block_devices()) {
                // Of all disks the others are watched.
                let others = target.without(&device).filter(|_| !is_named);
                target = others
                    .ok_or_else(|| crate::WatchError::OwnStore { device: device.clone(), store: store.clone() })?;
                left_out.push(device);
            }
        }
        if settings.events && target.block_devices().len() != 1 {
            let devices = target.devices().map(str::to_owned).collect();
            return Err(crate::WatchError::EventsOfSeveral { devices }.into());
        }
        let declared = match &settings.environment {
            Some(environment) => target.declared(&KernelView::live(), environment),
            None => Vec::new(),
        };
        if let Some(environment) = settings.environment.as_ref().filter(|_| declared.is_empty()) {
            let devices = target.devices().map(str::to_owned).collect();
            return Err(crate::WatchError::NotDeclared { environment: environment.text().name, devices }.into());
        }
        let device = target.block_devices().first().filter(|_| settings.events);
        let events = device.map(|device| EventsSeen::prepare(&KernelView::live(), &device.name)).transpose()?;
        Ok(Self { target, declared, settings, options, events, left_out })
    }

    /// What is watched.
    #[must_use]
    pub const fn target(&self) -> &WatchTarget {
        &self.target
    }

    /// Disks that a recorder leaves out: they have its store.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Watches until the time is over or the observer wants an end, and stores what was seen.
    ///
    /// # Errors
    /// The devices cannot be watched; the store.
    pub fn run(self, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        if let Some(keep) = self.settings.keep {
            return self.record(keep, observer);
        }
        let Self { target, declared, settings, options, events, .. } = self;
        let pending = PendingStore::start(options.store_path()?, |_| Vec::new());
        let started_unix_s = unix_s();
        let new = options.new_run(|| format!("watch {}", target.shown()), RunVerb::Watch, Clock::Real);
        let mut sampler = Sampler::begin(KernelView::live(), &target, Pace::WATCH, events)?;
        let mut own = serde_json::json!({ "target": target.shown(), "subject": target.subject() });
        let header = RunHeader {
            environment: settings.environment.as_ref().map(DeclaredEnvironment::text),
            settings: own.clone(),
            ..new.header()
        };
        let mut live = LiveWatch::begin(&target, &declared, &settings, header.clone());
        sampler.look(&mut live, observer, None)?;
        let watched = sampler.end()?;
        LiveMark::put_all(&live.marks, &mut own);
        let view = KernelView::live();
        let facts = |device: &BlockDevice| target.volume(&view, device);
        let (cells, volumes) = record::cells(&target, &declared, &settings, watched, started_unix_s, &facts)?;
        let header = RunHeader { volumes, settings: own, ..header };
        pending.keep(header, cells, Ended::Complete)
    }

    /// Watches as a recorder until the observer wants an end. The outcome is the hour that was under way.
    fn record(self, keep: Duration, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let Self { target, settings, options, .. } = self;
        let new = options.new_run(|| format!("watch {}", target.shown()), RunVerb::Watch, Clock::Real);
        let view = KernelView::live();
        let volumes = target.block_devices().iter().map(|device| target.volume(&view, device)).collect();
        let own = serde_json::json!({ "target": target.shown(), "subject": target.subject() });
        let header = RunHeader { volumes, settings: own, ..new.header() };
        let mut sampler = Sampler::begin(view, &target, Pace::RECORDER, None)?;
        let store = options.store_path()?;
        let mut recorder = Recorder::begin(&store, &target, header.clone(), keep, sampler.begun())?;
        let header = RunHeader { id: recorder.run().to_owned(), ..header };
        let mut live = LiveWatch::begin(&target, &[], &settings, header);
        sampler.look(&mut live, observer, Some(&mut recorder))?;
        Ok(RunOutcome { record: recorder.end()?, ended: Ended::Complete })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{RecordSettings, Recorder};
    use loadline_units::Bytes;

    #[test]
    fn no_time_is_refused_with_what_to_do() {
        let settings = WatchSettings { duration: Some(Duration::ZERO), ..WatchSettings::default() };
        let refused = Watch::prepare(&[], settings, RunOptions::default()).unwrap_err().to_string();
        assert!(refused.contains("0 s shows nothing: watch for 10 s"), "{refused}");
        let settings = RecordSettings {
            device: "no-such-device".into(),
            file: "no-such-trace".into(),
            duration: Some(Duration::ZERO),
            size_max: Bytes::mib(1),
            buffer: Bytes::mib(1),
        };
        let refused = Recorder::prepare(settings).unwrap_err().to_string();
        assert!(refused.contains("0 s shows nothing: record for 10 s"), "{refused}");
    }
}
