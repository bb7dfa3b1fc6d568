//! Servers of object stores that others wrote: moto for S3, Azurite for Azure Blob.
//!
//! Each comes from a registry of its own and takes a while to unpack, so only the long test gets them. Tests use those that are there.
//! fake-gcs-server is not among them: it lacks the writes of the XML interface, which clients with conditions need.

use super::{on_path, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What goes untested without them.
pub(super) const TESTS: &str = "repositories in object stores of others' servers";

/// Gets those that are missing below `target/peers/stores`, where the tests look for them.
///
/// # Errors
/// Why some of them cannot be had, in words.
pub(super) fn get(root: &Path) -> Result<(), String> {
    let folder = root.join("target/peers/stores");
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let reasons: Vec<String> = [moto(&folder), azurite(&folder)].into_iter().filter_map(Result::err).collect();
    if reasons.is_empty() { Ok(()) } else { Err(reasons.join("; ")) }
}

fn moto(folder: &Path) -> Result<(), String> {
    if folder.join("bin/moto_server").is_file() {
        return Ok(());
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "moto[server,s3]==5.2.5"];
    run(Command::new(folder.join("bin/python")).args(pip)).map(drop)
}

fn azurite(folder: &Path) -> Result<(), String> {
    if folder.join("node_modules/.bin/azurite-blob").is_file() {
        return Ok(());
    }
    if !on_path("npm") {
        return Err("npm is not there, which gets azurite".to_owned());
    }
    let words = ["install", "--silent", "--no-fund", "--no-audit", "--prefix"];
    run(Command::new("npm").args(words).arg(folder).arg("azurite@3.37.0")).map(drop)
}
