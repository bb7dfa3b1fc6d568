//! What people install: a static command in a tarball, a Debian package and an OCI image, with their checksums.
//!
//! Each package is then installed into an empty root, and the command is started there.

mod archive;
mod debian;
mod image;
mod installed;
mod layout;

use crate::release;
use crate::step::{Outcome, cargo};
use archive::Stamp;
use layout::Layout;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Bytes of the stripped command, at most.
const COMMAND_MAX: u64 = 20 << 20;
/// The folder of all that is made, below the target folder.
const FOLDER: &str = "dist";
/// The targets that are tried when none is named, the best first. Both give a command that needs no library of the machine.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"];

/// What is made, and for which machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Release {
    /// As in the workspace's manifest.
    version: String,
    /// The target triple of the command.
    target: String,
}

impl Release {
    /// The processor, as target triples and Linux name it.
    fn processor(&self) -> &str {
        self.target.split('-').next().unwrap_or(&self.target)
    }

    /// The processor, as Debian and OCI name it.
    fn architecture(&self) -> &str {
        match self.processor() {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    /// The name of the tarball without its ending, and of the folder in it.
    fn name(&self) -> String {
        format!("loadline-{}-{}-linux", self.version, self.processor())
    }
}

/// The target that was asked for.
static TARGET: OnceLock<String> = OnceLock::new();

/// Has [`step`] build for this target.
pub(crate) fn choose(target: &str) {
    let _ = TARGET.set(target.to_owned());
}

/// Builds for the chosen target, or for the best that the toolchain has, packs, and tries each package.
pub(crate) fn step(root: &Path) -> Outcome {
    match made(root, TARGET.get().map(String::as_str)) {
        Ok(outcome) => outcome,
        Err(note) => Outcome::fail(note),
    }
}

/// The same, with the first failure as an error.
fn made(root: &Path, target: Option<&str>) -> Result<Outcome, String> {
    let target = target.map_or_else(best_target, |asked| Ok(asked.to_owned()))?;
    println!("target {target}");
    let release = Release { version: version(root)?, target };
    let command = build(root, &release)?;
    let folder = root.join("target").join(FOLDER);
    let made = pack(root, &release, &command, &folder)?;
    let mut outcome = judged(size(&folder.join("staged/usr/bin/loadline"))?);
    outcome.passed += 1;
    for path in &made {
        println!("{}: {:.1} MB", path.display(), size(path)? as f64 / 1e6);
    }
    let tried = if release.processor() == std::env::consts::ARCH {
        installed::all(&release, &folder)
    } else {
        let note = format!(
            "not started: this machine is {}, the packages are {}",
            std::env::consts::ARCH,
            release.processor()
        );
        Outcome { skipped: 1, notes: vec![note], ..Outcome::default() }
    };
    outcome.passed += tried.passed;
    outcome.failed += tried.failed;
    outcome.skipped += tried.skipped;
    outcome.notes.extend(tried.notes);
    Ok(outcome)
}

/// The first of [`TARGETS`] that the toolchain has, or that rustup can add.
fn best_target() -> Result<String, String> {
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
    let has = |target: &str| Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir();
    for target in TARGETS {
        if !has(target) {
            // Without rustup or the network this fails, and the next target is tried.
            let _ = Command::new("rustup").args(["target", "add", target]).status();
        }
        if has(target) {
            return Ok(target.to_owned());
        }
    }
    Err(format!("the toolchain has none of {}: rustup target add {}", TARGETS.join(", "), TARGETS[0]))
}

/// The version in the workspace's manifest.
fn version(root: &Path) -> Result<String, String> {
    let path = root.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let manifest: toml::Table = text.parse().map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let version =
        manifest.get("workspace").and_then(|table| table.get("package")).and_then(|table| table.get("version"));
    version
        .and_then(toml::Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| format!("{} has no workspace.package.version", path.display()))
}

/// Builds the static command; where it lies.
fn build(root: &Path, release: &Release) -> Result<PathBuf, String> {
    let mut build = cargo(root);
    build.args([
        "build",
        "--profile",
        FOLDER,
        "--package",
        "loadline",
        "--features",
        release::FEATURES,
        "--target",
        &release.target,
    ]);
    // With a target named, these are for the command alone and not for what runs during the build.
    build.env("RUSTFLAGS", "-C target-feature=+crt-static");
    if release.target.ends_with("-musl") {
        // The C sources (SQLite, zstd) need musl's headers.
        build
            .env(format!("CC_{}", release.target.replace('-', "_")), format!("{}-linux-musl-gcc", release.processor()));
    }
    match build.status() {
        Ok(status) if status.success() => Ok(root.join("target").join(&release.target).join(FOLDER).join("loadline")),
        Ok(_) if release.target.ends_with("-musl") => {
            Err("it does not build: see above (Debian: apt-get install musl-tools)".to_owned())
        }
        Ok(_) => Err("it does not build: see above".to_owned()),
        Err(error) => Err(format!("cannot start {build:?}: {error}")),
    }
}

/// Makes all packages of a command in `folder`, which is emptied first; their paths, the checksums last.
fn pack(root: &Path, release: &Release, command: &Path, folder: &Path) -> Result<Vec<PathBuf>, String> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("cannot empty {}: {error}", folder.display()));
        }
        _ => {}
    }
    make_folder(folder)?;
    let stamp = Stamp::of_commit(root);
    let layout = Layout::make(root, release, command, &folder.join("staged"))?;
    let mut made = vec![
        archive::tarball(release, &layout, folder, stamp)?,
        debian::package(release, &layout, folder, stamp)?,
        image::oci(release, &layout, folder, stamp)?,
    ];
    made.push(archive::checksums(&made, folder)?);
    Ok(made)
}

/// Whether a command of so many bytes is small enough.
fn judged(bytes: u64) -> Outcome {
    println!("the command: {:.1} MiB of {}", bytes as f64 / f64::from(1 << 20), COMMAND_MAX >> 20);
    if bytes <= COMMAND_MAX {
        return Outcome::pass();
    }
    Outcome::fail(format!("the stripped command has {bytes} bytes, more than COMMAND_MAX (xtask/src/dist.rs)"))
}

/// Bytes of a file.
fn size(path: &Path) -> Result<u64, String> {
    std::fs::metadata(path).map(|file| file.len()).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// A folder and all above it.
fn make_folder(path: &Path) -> Result<(), String> {
    std::fs::create_dir_all(path).map_err(|error| format!("cannot make {}: {error}", path.display()))
}

/// Writes a file whose folder is there.
fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(path, contents).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Reads a whole file.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Runs a command that must succeed.
fn must(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} failed: {status}")),
        Err(error) => Err(format!("cannot start {command:?}: {error}")),
    }
}

/// What a command that must succeed wrote to standard output.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{command:?} wrote no text"))
}

#[cfg(test)]
mod tests;
