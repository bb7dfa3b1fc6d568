//! Tests on ARM, which an emulator of the processor runs: those of the crates that touch no device, and the command's answers.

use crate::dist::{Part, Toolbox};
use crate::step::{Outcome, cargo, check, said};
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

/// What tests are built for.
const ARM: &str = "aarch64-unknown-linux-musl";
const PART: Part = Part::Linux("aarch64");
/// Folders of crates whose tests need no io_uring, no loop device and no tracepoint: the emulator has none of them.
const FOLDERS: [&str; 2] = ["pure", "host/store"];

/// Runs them; leaves them out where the emulator or the compiler is not there and cannot be had.
pub(crate) fn step(root: &Path) -> Outcome {
    let tools = match Toolbox::filled(root, &[PART]) {
        Ok(tools) => tools,
        Err(error) => return Outcome::skip(format!("tests on ARM: {error:#}")),
    };
    let Some(emulator) = tools.runner(PART) else { return Outcome::skip("tests on ARM: this machine is one") };
    tried(root, &tools, emulator).unwrap_or_else(|error| Outcome::fail(format!("{error:#}")))
}

fn tried(root: &Path, tools: &Toolbox, emulator: &Path) -> Result<Outcome> {
    let mut test = tools.tests(root);
    test.args(["--target", ARM, "--lib", "--no-fail-fast"]);
    for name in packages(root)? {
        test.args(["--package", &name]);
    }
    test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", emulator);
    Ok(check(&mut test, "tests fail on ARM: see above"))
}

/// The crates in these folders.
fn packages(root: &Path) -> Result<Vec<String>> {
    let text = said(cargo(root).args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata is no JSON")?;
    let all = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let is_here = |package: &&Value| {
        let manifest = package["manifest_path"].as_str().map(Path::new);
        let below = manifest.and_then(|path| path.strip_prefix(root).ok());
        below.is_some_and(|path| FOLDERS.iter().any(|folder| path.starts_with(folder)))
    };
    let has_library = |package: &&Value| package["targets"].to_string().contains("\"lib\"");
    Ok(all
        .iter()
        .filter(is_here)
        .filter(has_library)
        .filter_map(|all| Some(all["name"].as_str()?.to_owned()))
        .collect())
}
