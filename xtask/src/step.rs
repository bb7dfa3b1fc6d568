//! What the steps of the gate are made of: their outcome, and the commands that they run.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// Set for tests that are to try everything and not a sample.
pub(crate) const LONG: &str = "LOADLINE_TEST_LONG";
/// Whether `--long` was asked for.
static IS_LONG: OnceLock<()> = OnceLock::new();

/// Has sampled tests try everything.
pub(crate) fn choose_long() {
    let _ = IS_LONG.set(());
}

/// Whether everything is to be tried: by `--long`, or by the setting.
pub(crate) fn is_long() -> bool {
    IS_LONG.get().is_some() || std::env::var_os(LONG).is_some_and(|value| value != "0" && !value.is_empty())
}

/// What came of a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Checks or tests that held.
    pub(crate) passed: u64,
    /// Those that did not; any makes the gate fail.
    pub(crate) failed: u64,
    /// Those that were left out.
    pub(crate) skipped: u64,
    /// What to say at the end: failures with what to do, and what was left out for want of what.
    pub(crate) notes: Vec<String>,
}

impl Outcome {
    /// One check that held.
    pub(crate) fn pass() -> Self {
        Self { passed: 1, ..Self::default() }
    }
    /// How it is printed.
    pub(crate) fn word(&self) -> &'static str {
        if self.failed > 0 { "FAILED" } else { "ok" }
    }
    /// One check that did not hold, with what to do about it.
    pub(crate) fn fail(note: impl Into<String>) -> Self {
        Self { failed: 1, notes: vec![note.into()], ..Self::default() }
    }
}

/// The `cargo` that runs this program, in the workspace's root.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command that is one check; `advice` is said when it fails.
pub(crate) fn check(command: &mut Command, advice: &str) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Outcome::pass(),
        Ok(_) => Outcome::fail(advice),
        Err(error) => Outcome::fail(format!("cannot start {command:?}: {error}")),
    }
}
