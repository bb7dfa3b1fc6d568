//! The command as it is shipped: stripped, with what debuggers and backtraces need in a file beside it.

use crate::step::{Outcome, cargo, check, must};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// What the shipped command has beyond a default build.
pub(crate) const FEATURES: &str = "shelter,pdf,explore";
/// Bytes of the stripped command that are aimed at.
const COMMAND_GOAL: u64 = 25 << 20;
/// The folder below `target/release`, and the two files in it.
const FOLDER: &str = "shipped";
const COMMAND: &str = "loadline";
const SYMBOLS: &str = "loadline.debug";

/// Builds the command, and puts it without debug information beside that information.
pub(crate) fn step(root: &Path) -> Outcome {
    let built = check(
        cargo(root).args(["build", "--release", "--package", "loadline", "--features", FEATURES]),
        "it does not build: see above",
    );
    if built.failed > 0 {
        return built;
    }
    match split(&root.join("target/release")) {
        Ok(bytes) => {
            measured(&format!("target/release/{FOLDER}/{COMMAND}"), bytes, COMMAND_GOAL);
            Outcome::pass()
        }
        Err(error) => Outcome::fail(format!("{error:#}")),
    }
}

/// Prints the size of a command beside the goal.
pub(crate) fn measured(what: &str, bytes: u64, goal: u64) {
    println!("{what}: {:.1} MiB, the goal is {}", bytes as f64 / f64::from(1 << 20), goal >> 20);
}

/// Takes the debug information out of what was built; bytes of what is left.
fn split(release: &Path) -> Result<u64> {
    let folder = release.join(FOLDER);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let built = release.join(COMMAND);
    let run = |words: &[&str], files: &[&Path]| {
        // A link to the other file holds its name alone, so that both can be moved together.
        let mut objcopy = Command::new("objcopy");
        must(objcopy.args(words).args(files).current_dir(&folder)).context("Debian: apt-get install binutils")
    };
    run(&["--only-keep-debug", "--compress-debug-sections"], &[&built, Path::new(SYMBOLS)])?;
    run(&["--strip-all", &format!("--add-gnu-debuglink={SYMBOLS}")], &[&built, Path::new(COMMAND)])?;
    Ok(std::fs::metadata(folder.join(COMMAND))?.len())
}
