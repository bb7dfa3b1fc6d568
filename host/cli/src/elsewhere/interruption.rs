//! Ctrl-C: the first asks for an orderly end, the second ends at once.

use crate::failure::Outcome;
use anyhow::Context;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Whether the user asked for an end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Takes over Ctrl-C for the rest of the process.
    ///
    /// # Errors
    /// The system refuses the handler.
    pub(crate) fn watch() -> anyhow::Result<Self> {
        // A process has one handler.
        static WATCHED: OnceLock<Interruption> = OnceLock::new();
        if let Some(watched) = WATCHED.get() {
            return Ok(watched.clone());
        }
        let asked = Self::default();
        let (heard, status) = (asked.clone(), i32::from(Outcome::Interrupted.status()));
        ctrlc::set_handler(move || {
            if heard.0.swap(true, Ordering::Relaxed) {
                std::process::exit(status);
            }
        })
        .context("cannot watch for Ctrl-C")?;
        Ok(WATCHED.get_or_init(|| asked).clone())
    }

    /// Whether an end was asked for.
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
