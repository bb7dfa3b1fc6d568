//! Ctrl-C, SIGTERM and SIGHUP: the first asks for an orderly end, a second Ctrl-C or SIGTERM ends at once.

use crate::failure::Outcome;
use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Signals that come within this are one wish: `timeout` sends one to the process and one to its group at once.
const TOGETHER: Duration = Duration::from_millis(10);
/// And within this, as long as the first was not noticed: nobody was told that another one ends at once.
const UNNOTICED: Duration = Duration::from_millis(100);

/// Whether the user asked for an end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interruption(Arc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    asked: AtomicBool,
    /// Whoever can do something about it knows.
    noticed: AtomicBool,
}

impl Interruption {
    /// Takes over the signals for the rest of the process; SIGHUP not where it is ignored, as under `nohup`.
    ///
    /// # Errors
    /// The system refuses the handlers.
    pub(crate) fn watch() -> anyhow::Result<Self> {
        let wish = Arc::<Wish>::default();
        let watched = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !ignores(SIGHUP));
        let signals = Signals::new(watched).context("cannot watch for Ctrl-C and SIGTERM")?;
        let heeded = Arc::clone(&wish);
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || heed(signals, &heeded))
            .context("cannot start the thread that waits for Ctrl-C and SIGTERM")?;
        Ok(Self(wish))
    }
    /// Of a user who has asked for an end.
    #[cfg(test)]
    pub(crate) fn asked_already() -> Self {
        Self(Arc::new(Wish { asked: AtomicBool::new(true), ..Wish::default() }))
    }
    /// Asks for an end, as a key does.
    pub(crate) fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }
    /// Whether an end was asked for.
    pub(crate) fn asked(&self) -> bool {
        let asked = self.0.asked.load(Ordering::Relaxed);
        if asked {
            self.0.noticed.store(true, Ordering::Relaxed);
        }
        asked
    }
}

/// Waits for signals as long as the process lives.
fn heed(mut signals: Signals, wish: &Wish) {
    let mut first = None;
    for signal in &mut signals {
        let now = Instant::now();
        let since = now.duration_since(*first.get_or_insert(now));
        // A terminal that is closed may send it more than once, by the shell and by the kernel.
        if signal != SIGHUP && is_second(since, wish.noticed.load(Ordering::Relaxed)) {
            crate::tty::leave();
            signal_hook::low_level::exit(i32::from(Outcome::Interrupted.status()));
        }
        wish.asked.store(true, Ordering::Relaxed);
    }
}

/// Whether a signal so long after the first is a second wish.
fn is_second(since_first: Duration, noticed: bool) -> bool {
    since_first > if noticed { TOGETHER } else { UNNOTICED }
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
        let after = |us| [false, true].map(|noticed| is_second(Duration::from_micros(us), noticed));
        assert_eq!([0, 10_000].map(after), [[false, false]; 2]);
        assert_eq!([10_001, 100_000].map(after), [[false, true]; 2]);
        assert_eq!(after(100_001), [true, true]);
    }

    #[test]
    fn what_is_asked_for_is_noticed_by_whoever_looks() {
        let nobody = Interruption::default();
        assert!(!nobody.asked() && !nobody.0.noticed.load(Ordering::Relaxed));
        let asked = Interruption::asked_already();
        assert!(asked.asked() && asked.0.noticed.load(Ordering::Relaxed));
    }
}
