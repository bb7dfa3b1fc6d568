//! What the tests that span crates share.

pub mod console;
pub mod fuzz;
pub mod measured;
pub mod mutation;
pub mod plausible;
pub mod sample;

use std::path::{Path, PathBuf};

/// The workspace's root.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the workspace's root")
}

/// The `loadline` command as the sources now are. The gate has built it and names it by `LOADLINE_BIN`; otherwise it is built
/// here if it must be.
///
/// # Panics
/// When it does not build.
#[must_use]
pub fn loadline() -> PathBuf {
    if let Some(built) = std::env::var_os("LOADLINE_BIN").map(PathBuf::from) {
        assert!(built.is_file(), "LOADLINE_BIN: {} is no file", built.display());
        return built;
    }
    let here = std::env::current_exe().expect("a test knows its own file");
    let folder = here.parent().and_then(Path::parent).expect("test programs lie in <target>/<profile>/deps");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = std::process::Command::new(cargo);
    build.args(["build", "--quiet", "--package", "loadline", "--features", "shelter"]).current_dir(root());
    if folder.ends_with("release") {
        build.arg("--release");
    }
    let status = build.status().expect("cargo can be started");
    assert!(status.success(), "{build:?} failed: {status}");
    let program = folder.join("loadline");
    assert!(program.is_file(), "{} was not built by {build:?}", program.display());
    program
}
