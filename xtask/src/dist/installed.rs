//! Each package installed into an empty root, and the command started in it.

use super::{Release, archive, image, must, read, said, write};
use crate::step::Outcome;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is started in each root, and a word that it must print.
const TRIED: [(&[&str], &str); 4] = [
    (&["--version"], "loadline "),
    (&["help", "advise"], "Usage: loadline advise"),
    (&["environments"], "ds3-p30"),
    (&["predict", "outstanding-sweep", "--short", "--env", "ds3-p30", "--seed", "1"], "Verdict"),
];

/// Installs a package of a folder into a root; the command's path in that root.
type Install = fn(&Release, &Path, &Path) -> Result<String, String>;

/// Installs and tries every package in `folder`.
pub(super) fn all(release: &Release, folder: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    if let Err(note) = must(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(folder)) {
        return Outcome::fail(note);
    }
    let packages: [(&str, Install); 3] = [("tarball", tarball), ("Debian package", debian), ("OCI image", oci)];
    for (name, install) in packages {
        let root = folder.join("installed").join(name.replace(' ', "-"));
        match tried(release, folder, &root, install) {
            Ok(Some(skipped)) => {
                outcome.skipped += 1;
                outcome.notes.push(format!("the {name} was not tried: {skipped}"));
            }
            Ok(None) => {
                println!("the {name} works in an empty root");
                outcome.passed += 1;
            }
            Err(note) => {
                outcome.failed += 1;
                outcome.notes.push(format!("the {name}: {note}"));
            }
        }
    }
    outcome
}

/// Installs by `install`, which gives the command's path in the root, and starts it. `Some` is why that cannot be tried here.
fn tried(release: &Release, folder: &Path, root: &Path, install: Install) -> Result<Option<String>, String> {
    super::make_folder(&root.join("tmp"))?;
    let enter = match entered(root) {
        Ok(enter) => enter,
        Err(note) => return Ok(Some(note)),
    };
    let command = install(release, folder, root)?;
    for (words, expected) in TRIED {
        let mut start = Command::new(enter[0]);
        start.args(&enter[1..]).arg(root).arg(&command).args(words).env_clear();
        start.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", "/tmp");
        let text = said(&mut start)?;
        if !text.contains(expected) {
            return Err(format!("`loadline {}` did not print {expected:?} but\n{text}", words.join(" ")));
        }
    }
    let version = said(Command::new(enter[0]).args(&enter[1..]).arg(root).args([&command, "--version"]))?;
    if version.trim() == format!("loadline {}", release.version) {
        return Ok(None);
    }
    Err(format!("--version printed {version:?}, not {}", release.version))
}

/// The words that start a command in another root, in front of the root: by root, or in a user namespace.
fn entered(root: &Path) -> Result<Vec<&'static str>, String> {
    let is_root = said(Command::new("id").arg("--user")).is_ok_and(|text| text.trim() == "0");
    let enter = if is_root { vec!["chroot"] } else { vec!["unshare", "--map-root-user", "chroot"] };
    // An empty root has nothing to start: status 127 of chroot itself says that it was entered.
    let mut probe = Command::new(enter[0]);
    probe.args(&enter[1..]).arg(root).arg("/nothing");
    match probe.output() {
        Ok(output) if output.status.code() == Some(127) => Ok(enter),
        Ok(output) => Err(format!("{probe:?}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("cannot start {probe:?}: {error}")),
    }
}

/// Unpacks the tarball.
fn tarball(release: &Release, folder: &Path, root: &Path) -> Result<String, String> {
    let packed = folder.join(format!("{}.tar.gz", release.name()));
    must(Command::new("tar").arg("--extract").arg("--file").arg(packed).arg("--directory").arg(root))?;
    let installed = root.join(release.name());
    for name in ["share/man/man1/loadline.1.gz", "share/doc/loadline/LICENSE-MIT"] {
        read(&installed.join(name))?;
    }
    must(Command::new("bash").arg("-n").arg(installed.join("share/bash-completion/completions/loadline")))?;
    Ok(format!("/{}/bin/loadline", release.name()))
}

/// Installs the package by `dpkg`, where there is one.
fn debian(release: &Release, folder: &Path, root: &Path) -> Result<String, String> {
    let package = folder.join(format!("loadline_{}_{}.deb", release.version, release.architecture()));
    if Command::new("dpkg").arg("--version").output().is_err() {
        return Err("dpkg is not installed: it cannot be tried here".to_owned());
    }
    let state = root.join("var/lib/dpkg");
    for name in ["updates", "info"] {
        super::make_folder(&state.join(name))?;
    }
    write(&state.join("status"), "")?;
    must(Command::new("dpkg").arg(format!("--root={}", root.display())).arg("--install").arg(package))?;
    must(Command::new("dpkg").arg(format!("--root={}", root.display())).args(["--verify", "loadline"]))?;
    read(&root.join("usr/share/man/man1/loadline.1.gz"))?;
    Ok("/usr/bin/loadline".to_owned())
}

/// Unpacks the image as a container engine does: from the index, by digests that are compared.
fn oci(release: &Release, folder: &Path, root: &Path) -> Result<String, String> {
    let archive = folder.join(format!("loadline-{}-{}-oci.tar", release.version, release.processor()));
    let image = root.with_extension("image");
    super::make_folder(&image)?;
    must(Command::new("tar").arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(&image))?;
    let index = document(&read(&image.join("index.json"))?)?;
    let manifest = document(&read(&blob(&image, &index["manifests"][0])?)?)?;
    let config = document(&read(&blob(&image, &manifest["config"])?)?)?;
    let layer = blob(&image, &manifest["layers"][0])?;
    must(Command::new("tar").args(["--extract", "--gzip", "--file"]).arg(layer).arg("--directory").arg(root))?;
    if !root.join(image::WORK).is_dir() {
        return Err(format!("the image has no /{}", image::WORK));
    }
    let entry = config["config"]["Entrypoint"][0].as_str().unwrap_or_default().to_owned();
    // The field's own reader of images, where it is installed.
    match Command::new("skopeo").arg("inspect").arg(format!("oci-archive:{}", archive.display())).output() {
        Ok(output) if !output.status.success() => {
            Err(format!("skopeo does not read it: {}", String::from_utf8_lossy(&output.stderr)))
        }
        _ => Ok(entry),
    }
}

/// The file that a descriptor names, once its size and digest are found right.
fn blob(image: &Path, descriptor: &Value) -> Result<PathBuf, String> {
    let digest = descriptor["digest"].as_str().and_then(|text| text.strip_prefix("sha256:"));
    let digest = digest.ok_or_else(|| format!("no digest in {descriptor}"))?;
    let path = image.join("blobs/sha256").join(digest);
    if archive::sha256(&path)? != digest || Some(super::size(&path)?) != descriptor["size"].as_u64() {
        return Err(format!("{} is not what {descriptor} says", path.display()));
    }
    Ok(path)
}

/// Reads a JSON document.
fn document(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("no JSON: {error}"))
}
