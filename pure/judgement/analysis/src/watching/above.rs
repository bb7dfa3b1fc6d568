//! What requests wait for above the device: a throttle of the kernel passes them on late, and the device's counters and events begin
//! after it.

use super::course::{Moment, principal};
use crate::summary::{CellSummary, WaitAbove};
use crate::words::{number, span};
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
        pid: principal(watch).map(|place| watch.programs[place].pid),
    })
}

impl CellSummary {
    /// Whether only counters were read, which add latencies up: `min` and `max` are then the least and the highest of the means over 0.1 s.
    #[must_use]
    pub fn has_only_means(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.events_seen.is_none())
    }
}

impl WaitAbove {
    /// For the findings: with how that is known, or what shows it.
    pub(super) fn in_full(&self, device: &str) -> String {
        let why = format!(
            "the latencies of {device} are the device's alone ({} on average): requests wait for the kernel's throttle before the device, \
             and neither its counters nor its events see them there",
            span(self.device_ns)
        );
        if let (Some(ns), Some(threads)) = (self.application_ns, self.threads_blocked) {
            return format!(
                "{why}. The application waits about {} for each: on average {} of its threads were blocked in the kernel",
                span(ns),
                if threads < 9.95 { format!("{threads:.1}") } else { number(threads) }
            );
        }
        let pid = self.pid.map_or_else(|| "PID".to_owned(), |pid| pid.to_string());
        format!(
            "{why}. How long the application waits does not show here. Its system calls show it: \
             `sudo timeout 10 strace -f -c -w -p {pid}`"
        )
    }
}
