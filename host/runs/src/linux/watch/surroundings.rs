//! A watch beside something else that is done with a device: its surroundings, seen and stored as `watch` does.

use super::live::LiveWatch;
use super::sampler::{Pace, Sampler};
use super::{WatchSettings, WatchTarget, record};
use crate::wall_clock::unix_s;
use crate::{Error, Event, NewRun, Observer};
use loadline_analysis::LiveFrame;
use loadline_kernel::facts::{BlockDevice, KernelView};
use loadline_record::{Clock, RunHeader, RunRecord, RunStatus, RunVerb};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// What the thread and its owner share.
#[derive(Debug, Default)]
struct Seen {
    stop: AtomicBool,
    latest: Mutex<Option<LiveFrame>>,
}

/// Keeps the latest frame for the owner.
#[derive(Debug)]
struct Keeper(Arc<Seen>);

impl Observer for Keeper {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Live(frame) = event {
            *self.0.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((*frame).clone());
        }
    }
    fn wants_an_end(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }
}

/// A watch on a thread of its own, from its begin until its end is wanted.
#[derive(Debug)]
pub struct SurroundingsWatch {
    seen: Arc<Seen>,
    thread: JoinHandle<Result<RunRecord, Error>>,
}

impl SurroundingsWatch {
    /// Begins to watch devices. `subject` is the process that uses them, where it is known.
    ///
    /// # Errors
    /// There is no device, or the kernel does not count what one does.
    pub fn begin(devices: Vec<BlockDevice>, subject: Option<u32>) -> Result<Self, Error> {
        let shown = devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
        let target = WatchTarget::of(shown, None, None, devices)?.used_by(subject);
        let seen = Arc::<Seen>::default();
        let keeper = Keeper(Arc::clone(&seen));
        let thread = std::thread::spawn(move || watched(&target, keeper));
        Ok(Self { seen, thread })
    }

    /// The frame of the last second.
    pub(crate) fn latest(&self) -> Option<LiveFrame> {
        self.seen.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All that was seen.
    ///
    /// # Errors
    /// The device is gone.
    pub fn end(self) -> Result<RunRecord, Error> {
        self.seen.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The run that `watch` would have stored.
fn watched(target: &WatchTarget, mut observer: Keeper) -> Result<RunRecord, Error> {
    let started_unix_s = unix_s();
    let new = NewRun::now(format!("around {}", target.shown()), RunVerb::Watch, Clock::Real, Some(0));
    let mut sampler = Sampler::begin(KernelView::live(), target, Pace::WATCH, None)?;
    let (whole, settings) =
        (WatchSettings::default(), serde_json::json!({ "target": target.shown(), "subject": target.subject() }));
    let header = RunHeader { settings, ..new.header() };
    sampler.look(&mut LiveWatch::begin(target, &[], &whole, header.clone()), &mut observer, None)?;
    let seen = sampler.end()?;
    let view = KernelView::live();
    let facts = |device: &BlockDevice| target.volume(&view, device);
    let (cells, volumes) = record::cells(target, &[], &whole, seen, started_unix_s, &facts)?;
    let header = RunHeader { volumes, ..header };
    Ok(RunRecord { header, status: RunStatus::Finished, cells })
}
