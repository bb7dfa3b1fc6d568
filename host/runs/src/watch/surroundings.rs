//! A watch beside something else that is done with a device: its surroundings, seen and stored as `watch` does.

use super::sampler::Sampler;
use super::{WatchSettings, WatchTarget, record};
use crate::wall_clock::unix_s;
use crate::{Error, NewRun, Silent};
use loadline_kernel::facts::{BlockDevice, KernelView};
use loadline_record::{Clock, RunHeader, RunRecord, RunStatus, RunVerb};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A watch of one device on a thread of its own, from its begin until its end is wanted.
#[derive(Debug)]
pub(crate) struct SurroundingsWatch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<RunRecord, Error>>,
}

impl SurroundingsWatch {
    /// Begins to watch.
    ///
    /// # Errors
    /// The kernel does not count what the device does.
    pub(crate) fn begin(device: BlockDevice) -> Result<Self, Error> {
        let target = WatchTarget::of(device.name.clone(), None, None, vec![device])?;
        let observer = Silent::default();
        let stop = observer.stop();
        let thread = std::thread::spawn(move || watched(&target, observer));
        Ok(Self { stop, thread })
    }

    /// All that was seen.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn end(self) -> Result<RunRecord, Error> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The run that `watch` would have stored.
fn watched(target: &WatchTarget, mut observer: Silent) -> Result<RunRecord, Error> {
    let started_unix_s = unix_s();
    let new = NewRun::now(format!("around {}", target.shown()), RunVerb::Watch, Clock::Real, Some(0));
    let mut sampler = Sampler::begin(KernelView::live(), target, None)?;
    sampler.look(None, &mut observer)?;
    let seen = sampler.end()?;
    let (cells, volumes) = record::cells(target, &[], &WatchSettings::default(), seen, started_unix_s)?;
    let settings = serde_json::json!({ "target": target.shown(), "subject": null });
    let header = RunHeader { volumes, settings, ..new.header() };
    Ok(RunRecord { header, status: RunStatus::Finished, cells })
}
