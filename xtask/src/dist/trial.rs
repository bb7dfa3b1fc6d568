//! Each package installed into an empty root, and the command started in it.

use super::linux::{CONTAINERFILE, Release};
use crate::step::{Outcome, must, said};
use crate::wine::Wine;
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

/// A question whose answer is simulated, and is the same on every machine.
const QUESTION: [&str; 14] = [
    "advise",
    "--iops",
    "2000",
    "--size",
    "200GiB",
    "--p99",
    "10ms",
    "--provider",
    "azure",
    "--rows",
    "1",
    "--quiet",
    "--format",
    "json",
];
/// The folder of the answers.
const ANSWERS: &str = "answers";

/// How a command is started in a root: its path there, after that of what runs it, and its environment.
struct Start {
    command: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Start {
    fn of(command: impl Into<String>) -> Self {
        Self { command: vec![command.into()], environment: vec![("HOME".to_owned(), "/tmp".to_owned())] }
    }
}

/// Installs and tries the packages for Linux, and the files of the image. A runner starts commands of another processor.
pub(super) fn installed(release: &Release, packages: &[PathBuf], image: &Path, runner: Option<&Path>) -> Outcome {
    let mut outcome = Outcome::default();
    let (folder, containerfile) = (image.parent().unwrap_or(image), image.join(CONTAINERFILE));
    for package in packages.iter().chain([&containerfile]) {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let root = folder.join("installed").join(release.processor()).join(&name);
        let tried = fs::create_dir_all(root.join("tmp")).map_err(Into::into).and_then(|()| {
            let enter = entered(&root)?;
            let mut start = match package.extension().and_then(|ending| ending.to_str()) {
                Some("gz") => tarball(release, package, &root),
                Some("deb") => debian(package, &root, release),
                _ => as_image(&fs::read_to_string(package)?, &image.join("staged"), &root),
            }?;
            if let Some(runner) = runner {
                fs::copy(runner, root.join("runner")).context("cannot copy what runs it")?;
                start.command.insert(0, "/runner".to_owned());
            }
            let answer = tried_in(&enter, &root, &start)?;
            kept(folder, &format!("{}-{name}", release.processor()), &answer)
        });
        outcome.add(judged(&name, tried, "an empty root"));
    }
    outcome
}

/// Unpacks the archive for Windows and tries its command.
pub(super) fn on_windows(wine: &Wine, archive: &Path, name: &str) -> Outcome {
    let folder = archive.parent().unwrap_or(archive);
    let tried = || {
        let home = folder.join("installed/windows");
        fs::create_dir_all(&home)?;
        must(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(archive).arg(&home))?;
        let run = |words: &[&str]| said(wine.command(&home.join(name).join("loadline.exe")).args(words));
        kept(folder, "windows", &asked(run)?)
    };
    judged(name, tried(), "Wine")
}

/// Unpacks a wheel into a folder of its own, and starts the command that it brings.
pub(super) fn wheel(files: &[PathBuf], folder: &Path) -> Outcome {
    let tried = |file: &Path| {
        let home = folder.join("installed/wheel");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--root-user-action=ignore"]);
        must(pip.arg("--target").arg(&home).arg(file))?;
        let words = ["-c", "import loadline; print('loadline', loadline.__version__)"];
        let text = said(Command::new("python3").args(words).env("PYTHONPATH", &home))?;
        let expected = concat!("loadline ", env!("CARGO_PKG_VERSION"));
        ensure!(text.contains(expected), "it did not print {expected:?} but {text}");
        Ok(())
    };
    match files {
        [file] => judged(&file.display().to_string(), tried(file), "a folder of its own"),
        _ => Outcome::fail(format!("there are {} wheels", files.len())),
    }
}

fn judged(name: &str, tried: Result<()>, place: &str) -> Outcome {
    match tried {
        Ok(()) => {
            println!("{name} works in {place}");
            Outcome::pass()
        }
        Err(error) => Outcome::fail(format!("{name}: {error:#}")),
    }
}

/// Keeps the answer of a package, to be compared with the others.
fn kept(folder: &Path, name: &str, answer: &str) -> Result<()> {
    let answers = folder.join(ANSWERS);
    fs::create_dir_all(&answers)?;
    fs::write(answers.join(name), answer.replace("\r\n", "\n")).context("cannot keep its answer")
}

/// Whether all that was tried gave one answer to the same question.
pub(super) fn agreed(folder: &Path) -> Result<Outcome> {
    let answers = folder.join(ANSWERS);
    let mut all: Vec<(String, String)> = Vec::new();
    for file in fs::read_dir(&answers).into_iter().flatten() {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push((name, fs::read_to_string(&path)?));
    }
    all.sort();
    let Some(((first, answer), others)) = all.split_first() else { return Ok(Outcome::default()) };
    if let Some((other, _)) = others.iter().find(|(_, other)| other != answer) {
        let (first, other) = (answers.join(first), answers.join(other));
        return Ok(Outcome::fail(format!("{} and {} are not the same", first.display(), other.display())));
    }
    println!("{} packages give the same figures", all.len());
    fs::remove_dir_all(&answers).context("cannot remove the answers")?;
    Ok(Outcome::pass())
}

/// The words that start a command in another root, in front of the root: by root, or in a user namespace.
fn entered(root: &Path) -> Result<Vec<PathBuf>> {
    // By their paths: what is started has the root's own `PATH`.
    let found = |name: &&str| crate::peers::find(name).with_context(|| format!("no {name}"));
    let words: &[&str] = if crate::peers::is_root() { &["chroot"] } else { &["unshare", "chroot"] };
    let mut enter: Vec<PathBuf> = words.iter().map(found).collect::<Result<_>>()?;
    if enter.len() > 1 {
        enter.insert(1, "--map-root-user".into());
    }
    // An empty root has nothing to start: status 127 of chroot itself says that it was entered.
    let output = Command::new(&enter[0]).args(&enter[1..]).arg(root).arg("/nothing").output()?;
    ensure!(output.status.code() == Some(127), "{} is not entered: {}", root.display(), output.status);
    Ok(enter)
}

/// Tries a command in a root; its answer to the question.
fn tried_in(enter: &[PathBuf], root: &Path, start: &Start) -> Result<String> {
    asked(|words| {
        let mut command = Command::new(&enter[0]);
        command.args(&enter[1..]).arg(root).args(&start.command).args(words).env_clear();
        said(command.envs(start.environment.iter().map(|(name, value)| (name, value))))
    })
}

/// Starts a command with each of the words that it must know; its answer to the question.
fn asked(run: impl Fn(&[&str]) -> Result<String>) -> Result<String> {
    for (words, expected) in TRIED {
        let text = run(words)?;
        ensure!(text.contains(expected), "`loadline {}` did not print {expected:?} but\n{text}", words.join(" "));
    }
    run(&QUESTION)
}

/// Unpacks the tarball.
fn tarball(release: &Release, package: &Path, root: &Path) -> Result<Start> {
    must(Command::new("tar").arg("--extract").arg("--file").arg(package).arg("--directory").arg(root))?;
    let installed = root.join(release.name());
    fs::metadata(installed.join("share/man/man1/loadline.1.gz")).context("no man page")?;
    must(Command::new("bash").arg("-n").arg(installed.join("share/bash-completion/completions/loadline")))?;
    Ok(Start::of(format!("/{}/bin/loadline", release.name())))
}

/// Installs the package by `dpkg`, also one for another processor, and has it checked.
fn debian(package: &Path, root: &Path, release: &Release) -> Result<Start> {
    let state = root.join("var/lib/dpkg");
    for name in ["updates", "info"] {
        fs::create_dir_all(state.join(name))?;
    }
    fs::write(state.join("status"), "")?;
    let dpkg = || {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", root.display()));
        if release.processor() != std::env::consts::ARCH {
            dpkg.arg("--force-architecture");
        }
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
    let mut start = Start { command: Vec::new(), environment: Vec::new() };
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
            ("ENTRYPOINT", [command]) => start.command.push(command.trim_matches(['[', ']', '"']).to_owned()),
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
        assert_eq!(fs::read_to_string(root.path().join(start.command[0].trim_start_matches('/'))).unwrap(), "x");
        assert!(root.path().join("data").is_dir() && root.path().join("tmp").is_dir());
        assert!(start.environment.contains(&("HOME".to_owned(), "/tmp".to_owned())));
        assert!(as_image("RUN sh\n", context.path(), root.path()).is_err());
    }
}
