//! What requests wait for above the device: a throttle of the kernel passes them on late, and the device's counters and events begin
//! after it.

use super::course::Moment;
use crate::summary::{CellSummary, WaitAbove};
use loadline_record::{ProgramSecond, WatchRecord, WatchTick};

/// A throttle with less of the time than this is not worth a word.
const THROTTLED_MIN: f64 = 0.01;
/// Threads that were blocked for no longer than this many times what the device took show no waiting before it.
const LONGER_MIN: f64 = 1.5;
/// Requests that make a mean.
const REQUESTS_MIN: u64 = 10;

/// What requests wait above the device, if a throttle was reached for this share of the time. `is_alone`: no other device is watched, whose
/// requests threads could be blocked for.
pub(super) fn wait_above(watch: &WatchRecord, all: &[Moment], throttled: f64, is_alone: bool) -> Option<WaitAbove> {
    let total = all.iter().map(|moment| moment.tick).reduce(WatchTick::joined)?;
    if throttled < THROTTLED_MIN || total.requests() < REQUESTS_MIN {
        return None;
    }
    let requests = total.requests() as f64;
    let device_ns = (total.read_ms + total.write_ms) as f64 * 1e6 / requests;
    // Little's law: threads that are blocked at any moment, over requests in a second.
    let seconds = watch.programs.iter().flat_map(|program| &program.seconds);
    let blocked_us = seconds.copied().fold(ProgramSecond::default(), ProgramSecond::joined).blocked_us as f64;
    let application_ns = blocked_us * 1e3 / requests;
    let length: f64 = all.iter().map(|moment| moment.seconds).sum::<f64>().max(1e-9);
    let is_seen = is_alone && application_ns > device_ns * LONGER_MIN;
    Some(WaitAbove {
        device_ns,
        application_ns: is_seen.then_some(application_ns),
        threads_blocked: is_seen.then_some(blocked_us / 1e6 / length),
        pid: watch.principal().map(|place| watch.programs[place].pid),
    })
}

impl CellSummary {
    /// Whether only counters were read, which add latencies up: `min` and `max` are then the least and the highest of the means over 0.1 s.
    #[must_use]
    pub fn has_only_means(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.events_seen.is_none())
    }
}
