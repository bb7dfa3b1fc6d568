//! The command as it is shipped: stripped, with what debuggers and backtraces need in a file beside it.

use crate::step::{Outcome, cargo, check, must};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// What the shipped command has beyond a default build.
pub(crate) const FEATURES: &str = "shelter,pdf";
/// Bytes of the stripped command, at most.
const COMMAND_MAX: u64 = 25 << 20;
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
        Ok(bytes) => judged(&format!("target/release/{FOLDER}/{COMMAND}"), bytes, COMMAND_MAX),
        Err(error) => Outcome::fail(format!("{error:#}")),
    }
}

/// Whether a command of so many bytes is small enough.
pub(crate) fn judged(what: &str, bytes: u64, max: u64) -> Outcome {
    println!("{what}: {:.1} MiB of {}", bytes as f64 / f64::from(1 << 20), max >> 20);
    if bytes <= max {
        return Outcome::pass();
    }
    Outcome::fail(format!("{what} has {bytes} bytes, more than COMMAND_MAX (xtask/src)"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_grew_too_large_fails() {
        assert_eq!(judged("it", COMMAND_MAX, COMMAND_MAX).failed, 0);
        assert!(judged("it", COMMAND_MAX + 1, COMMAND_MAX).notes[0].contains("COMMAND_MAX"));
    }
}
