//! Ctrl-C, SIGTERM and SIGHUP: the first asks for an orderly end, a second Ctrl-C or SIGTERM ends at once.

use crate::failure::Outcome;
use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Signals that come within this are one wish: `timeout` sends one to the process and one to its group, a closed terminal may send
/// two. Nobody presses Ctrl-C twice as fast.
const ONE_WISH: Duration = Duration::from_millis(100);

/// Whether the user asked for an end.
#[derive(Debug, Clone)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Takes over the signals for the rest of the process; SIGHUP not where it is ignored, as under `nohup`.
    ///
    /// # Errors
    /// The system refuses the handlers.
    pub(crate) fn watch() -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let signals = Signals::new([SIGINT, SIGTERM]).context("cannot watch for Ctrl-C and SIGTERM")?;
        let set = Arc::clone(&asked);
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || heed(signals, &set))
            .context("cannot start the thread that waits for Ctrl-C and SIGTERM")?;
        if !ignores(SIGHUP) {
            flag::register(SIGHUP, Arc::clone(&asked)).context("cannot watch for SIGHUP")?;
        }
        Ok(Self(asked))
    }
    /// Of a user who has asked for an end.
    #[cfg(test)]
    pub(crate) fn asked_already() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
    /// Whether an end was asked for.
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Waits for signals as long as the process lives.
fn heed(mut signals: Signals, asked: &AtomicBool) {
    let mut wishes = Wishes::default();
    for _ in &mut signals {
        asked.store(true, Ordering::Relaxed);
        if wishes.end_at_once(Instant::now()) {
            signal_hook::low_level::exit(i32::from(Outcome::Interrupted.status()));
        }
    }
}

/// When the first signal came.
#[derive(Debug, Default)]
struct Wishes(Option<Instant>);

impl Wishes {
    /// Whether a signal is a second wish.
    fn end_at_once(&mut self, now: Instant) -> bool {
        now.duration_since(*self.0.get_or_insert(now)) > ONE_WISH
    }
}

/// Whether this process was started with a signal ignored.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_wish_is_one_that_does_not_come_with_the_first() {
        let (mut wishes, begun) = (Wishes::default(), Instant::now());
        for (after_ms, at_once) in [(50_000, false), (50_001, false), (50_100, false), (50_101, true), (90_000, true)] {
            assert_eq!(wishes.end_at_once(begun + Duration::from_millis(after_ms)), at_once, "{after_ms} ms");
        }
    }
}
