//! Each package installed into an empty root, and the command started in it.

use super::{CONTAINERFILE, Release};
use crate::step::{Outcome, must, said};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is started in each root, and a word that it must print.
const TRIED: [(&[&str], &str); 4] = [
    (&["--version"], concat!("loadline ", env!("CARGO_PKG_VERSION"))),
    (&["help", "advise"], "Usage: loadline advise"),
    (&["environments"], "ds3-p30"),
    (&["predict", "outstanding-sweep", "--short", "--env", "ds3-p30", "--seed", "1"], "Verdict"),
];

/// How a command is started in a root: its path there, and its environment.
struct Start {
    command: String,
    environment: Vec<(String, String)>,
}

impl Start {
    fn of(command: impl Into<String>) -> Self {
        Self { command: command.into(), environment: vec![("HOME".to_owned(), "/tmp".to_owned())] }
    }
}

/// Installs and tries every package in `folder`, and the files of the image.
pub(super) fn all(release: &Release, packages: &[PathBuf], folder: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    let (image, staged) = (folder.join(CONTAINERFILE), folder.join("staged"));
    for package in packages.iter().chain([&image]) {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let root = folder.join("installed").join(&name);
        let tried = fs::create_dir_all(root.join("tmp")).map_err(Into::into).and_then(|()| {
            let enter = entered(&root)?;
            let start = match package.extension().and_then(|ending| ending.to_str()) {
                Some("gz") => tarball(release, package, &root),
                Some("deb") => debian(package, &root),
                _ => as_image(&fs::read_to_string(package)?, &staged, &root),
            }?;
            started(&enter, &root, &start)
        });
        match tried {
            Ok(()) => {
                println!("{name} works in an empty root");
                outcome.passed += 1;
            }
            Err(error) => outcome.add(Outcome::fail(format!("{name}: {error:#}"))),
        }
    }
    outcome
        .notes
        .push(format!("the image is not built here: podman build -f target/dist/{CONTAINERFILE} target/dist/staged"));
    outcome
}

/// The words that start a command in another root, in front of the root: by root, or in a user namespace.
fn entered(root: &Path) -> Result<Vec<&'static str>> {
    let enter = if crate::peers::is_root() { vec!["chroot"] } else { vec!["unshare", "--map-root-user", "chroot"] };
    // An empty root has nothing to start: status 127 of chroot itself says that it was entered.
    let output = Command::new(enter[0]).args(&enter[1..]).arg(root).arg("/nothing").output()?;
    ensure!(output.status.code() == Some(127), "{} is not entered: {}", root.display(), output.status);
    Ok(enter)
}

fn started(enter: &[&str], root: &Path, start: &Start) -> Result<()> {
    for (words, expected) in TRIED {
        let mut command = Command::new(enter[0]);
        command.args(&enter[1..]).arg(root).arg(&start.command).args(words).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let text = said(command.envs(start.environment.iter().map(|(name, value)| (name, value))))?;
        ensure!(text.contains(expected), "`loadline {}` did not print {expected:?} but\n{text}", words.join(" "));
    }
    Ok(())
}

/// Unpacks the tarball.
fn tarball(release: &Release, package: &Path, root: &Path) -> Result<Start> {
    must(Command::new("tar").arg("--extract").arg("--file").arg(package).arg("--directory").arg(root))?;
    let installed = root.join(release.name());
    fs::metadata(installed.join("share/man/man1/loadline.1.gz")).context("no man page")?;
    must(Command::new("bash").arg("-n").arg(installed.join("share/bash-completion/completions/loadline")))?;
    Ok(Start::of(format!("/{}/bin/loadline", release.name())))
}

/// Installs the package by `dpkg`, and has it checked.
fn debian(package: &Path, root: &Path) -> Result<Start> {
    let state = root.join("var/lib/dpkg");
    for name in ["updates", "info"] {
        fs::create_dir_all(state.join(name))?;
    }
    fs::write(state.join("status"), "")?;
    let dpkg = || {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", root.display()));
        dpkg
    };
    must(dpkg().arg("--install").arg(package))?;
    must(dpkg().args(["--verify", "loadline"]))?;
    for name in ["man/man1/loadline.1.gz", "doc/loadline/copyright", "zsh/vendor-completions/_loadline"] {
        fs::metadata(root.join("usr/share").join(name)).with_context(|| format!("no {name}"))?;
    }
    Ok(Start::of("/usr/bin/loadline"))
}

/// Does as a container file says, without an engine: copies from its context, makes folders, sets the environment.
fn as_image(file: &str, context: &Path, root: &Path) -> Result<Start> {
    let mut start = Start { command: String::new(), environment: Vec::new() };
    let below = |path: &str| root.join(path.trim_start_matches('/'));
    for (instruction, words) in
        file.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '))
    {
        let pairs: Vec<&str> = words.split(' ').collect();
        match (instruction, pairs.as_slice()) {
            ("FROM", ["scratch"]) | ("LABEL" | "CMD", _) => {}
            ("COPY", [from, to]) => must(Command::new("cp").arg("-a").arg(context.join(from)).arg(below(to)))?,
            ("WORKDIR", [path]) => fs::create_dir_all(below(path))?,
            ("ENV", pairs) => {
                let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
                start.environment.extend(pairs.iter().filter_map(|text| text.split_once('=')).map(pair));
            }
            ("ENTRYPOINT", [command]) => command.trim_matches(['[', ']', '"']).clone_into(&mut start.command),
            _ => anyhow::bail!("{CONTAINERFILE}: nobody tries `{instruction} {words}`"),
        }
    }
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_container_file_is_followed_to_its_entry() {
        let (context, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(context.path().join("usr/bin")).unwrap();
        fs::write(context.path().join("usr/bin/loadline"), "x").unwrap();
        let start = as_image(include_str!("../../../packaging/Containerfile"), context.path(), root.path()).unwrap();
        assert_eq!(fs::read_to_string(root.path().join(start.command.trim_start_matches('/'))).unwrap(), "x");
        assert!(root.path().join("data").is_dir() && root.path().join("tmp").is_dir());
        assert!(start.environment.contains(&("HOME".to_owned(), "/tmp".to_owned())));
        assert!(as_image("RUN sh\n", context.path(), root.path()).is_err());
    }
}
