//! Ctrl-C: the first asks for an orderly end, the second ends at once.

use crate::failure::Outcome;
use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user asked for an end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Takes over Ctrl-C for the rest of the process.
    ///
    /// # Errors
    /// The system refuses the handlers.
    pub(crate) fn watch() -> anyhow::Result<Self> {
        let asked = Arc::<AtomicBool>::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: what was asked for before ends the process.
            let status = i32::from(Outcome::Interrupted.status());
            flag::register_conditional_shutdown(signal, status, Arc::clone(&asked))
                .and_then(|_| flag::register(signal, Arc::clone(&asked)))
                .context("cannot watch for Ctrl-C")?;
        }
        Ok(Self(asked))
    }

    /// Whether an end was asked for.
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
