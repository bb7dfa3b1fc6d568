//! The command as it is shipped: stripped, with what debuggers and backtraces need in a file beside it.

use crate::step::{Outcome, cargo, check};
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
        Ok(bytes) => judged(bytes),
        Err(note) => Outcome::fail(note),
    }
}

/// Whether so many bytes are few enough.
fn judged(bytes: u64) -> Outcome {
    let mb = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!("target/release/{FOLDER}/{COMMAND}: {:.1} MiB of {:.0}", mb(bytes), mb(COMMAND_MAX));
    if bytes <= COMMAND_MAX {
        return Outcome::pass();
    }
    Outcome::fail(format!("the stripped command has {bytes} bytes, more than COMMAND_MAX (xtask/src/release.rs)"))
}

/// Takes the debug information out of what was built; bytes of what is left.
fn split(release: &Path) -> Result<u64, String> {
    let folder = release.join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let built = release.join(COMMAND);
    let run = |words: &[&str], files: &[&Path]| {
        // A link to the other file holds its name alone, so that both can be moved together.
        let mut objcopy = Command::new("objcopy");
        objcopy.args(words).args(files).current_dir(&folder);
        match objcopy.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{objcopy:?} failed: {status}")),
            Err(error) => Err(format!("cannot start objcopy (Debian: apt-get install binutils): {error}")),
        }
    };
    run(&["--only-keep-debug", "--compress-debug-sections"], &[&built, Path::new(SYMBOLS)])?;
    run(&["--strip-all", &format!("--add-gnu-debuglink={SYMBOLS}")], &[&built, Path::new(COMMAND)])?;
    let stripped = folder.join(COMMAND);
    let file = std::fs::metadata(&stripped).map_err(|error| format!("cannot read {}: {error}", stripped.display()))?;
    Ok(file.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_grew_too_large_fails() {
        assert_eq!(judged(COMMAND_MAX).failed, 0);
        assert!(judged(COMMAND_MAX + 1).notes[0].contains("COMMAND_MAX"));
    }
}
