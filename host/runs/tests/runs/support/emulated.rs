//! An emulated disk with its record, and the plainest of clients.

use super::{Bench, environment};
use loadline_emulation::{Change, Fault, FaultKind};
use loadline_emulator::ChangeOutcome;
use loadline_runs::emulation::{EmulationOptions, EmulationRun, EndedEmulation};
use loadline_units::{Bytes, Ratio};
use std::path::PathBuf;

/// An emulation that listens on a socket in a folder of its own, and keeps its record there.
pub(crate) struct Emulated {
    pub(crate) run: EmulationRun,
    pub(crate) bench: Bench,
}

impl Emulated {
    pub(crate) fn new(text: &str) -> Self {
        Self::with(text, Bench::new(), |_| {})
    }
    /// In that folder, with options of its own.
    pub(crate) fn with(text: &str, bench: Bench, change: impl FnOnce(&mut EmulationOptions)) -> Self {
        let mut options = EmulationOptions::in_memory(1, Bytes::gib(1));
        change(&mut options);
        let mut run = EmulationRun::begin(&environment(text), options).unwrap();
        run.keep_in(&bench.store()).unwrap();
        run.emulation_mut().listen_unix(&bench.path("s")).unwrap();
        Self { run, bench }
    }
    pub(crate) fn socket(&self) -> PathBuf {
        self.bench.path("s")
    }
    /// Its volume "data" as a target.
    pub(crate) fn uri(&self) -> String {
        format!("nbd+unix:///data?socket={}", self.socket().display())
    }
    pub(crate) fn change(&self, change: &Change) -> ChangeOutcome {
        self.run.emulation().change(change).unwrap()
    }
    /// Begins a fault of everything on a volume or disk.
    pub(crate) fn begin(&self, on: &str, kind: FaultKind) -> ChangeOutcome {
        let (from, until, share) = (Bytes::ZERO, None, Ratio::ONE);
        self.change(&Change::Begin(Fault { on: on.into(), kind, operations: Vec::new(), from, until, share }))
    }
    pub(crate) fn end(self) -> (EndedEmulation, Bench) {
        (self.run.end(), self.bench)
    }
}
