//! What the steps of the gate are made of: their outcome, and the commands that they run.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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

/// The environment variable by which cargo leaves out, or keeps, what the next build would use.
const INCREMENTAL: &str = "CARGO_INCREMENTAL";

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
    /// Takes in what came of more.
    pub(crate) fn add(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
        self.notes.extend(more.notes);
    }
    /// How it is printed.
    pub(crate) fn word(&self) -> &'static str {
        if self.failed > 0 { "FAILED" } else { "ok" }
    }
    /// One check that cannot be made here, with why.
    pub(crate) fn skip(note: impl std::fmt::Display) -> Self {
        Self { skipped: 1, notes: vec![format!("skipped: {note}")], ..Self::default() }
    }
    /// One check that did not hold, with what to do about it.
    pub(crate) fn fail(note: impl Into<String>) -> Self {
        Self { failed: 1, notes: vec![note.into()], ..Self::default() }
    }
}

/// The `cargo` that runs this program, in the workspace's root.
///
/// A build from nothing leaves out what only the next build would use: that takes a tenth of its time.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    if std::env::var_os(INCREMENTAL).is_none() && !was_built_in_steps(&target(root)) {
        command.env(INCREMENTAL, "0");
    }
    command
}

/// Where builds are kept.
pub(crate) fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Whether a build of our libraries left there what makes the next one quick. This program itself is built so before it runs.
fn was_built_in_steps(target: &Path) -> bool {
    let kept = std::fs::read_dir(target.join("debug/incremental")).into_iter().flatten().flatten();
    kept.into_iter().any(|folder| folder.file_name().to_string_lossy().starts_with("loadline"))
}

/// Runs a command that is one check; `advice` is said when it fails.
pub(crate) fn check(command: &mut Command, advice: &str) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Outcome::pass(),
        Ok(_) => Outcome::fail(advice),
        Err(error) => Outcome::fail(format!("cannot start {command:?}: {error}")),
    }
}

/// Runs a command that must succeed.
pub(crate) fn must(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

/// What a command that must succeed wrote to standard output.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}\n{}", output.status, words.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_with_a_build_of_our_libraries_is_built_on() {
        let target = tempfile::tempdir().unwrap();
        let kept = |name: &str| std::fs::create_dir_all(target.path().join("debug/incremental").join(name)).unwrap();
        assert!(!was_built_in_steps(target.path()));
        kept("xtask-1a2b");
        assert!(!was_built_in_steps(target.path()));
        kept("loadline_record-3c4d");
        assert!(was_built_in_steps(target.path()));
    }
}
