//! Ctrl-C, SIGTERM and SIGHUP: the first asks for an orderly end, a second Ctrl-C or SIGTERM ends at once.

use crate::failure::Outcome;
use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
        for signal in [SIGINT, SIGTERM] {
            // In this order: the shutdown looks at the flag before the same signal sets it.
            flag::register_conditional_shutdown(signal, i32::from(Outcome::Interrupted.status()), Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .context("cannot watch for Ctrl-C and SIGTERM")?;
        }
        if !ignores(SIGHUP) {
            // A terminal that is closed may send it more than once, by the shell and by the kernel.
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

/// Whether this process was started with a signal ignored.
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
