//! Packages for Linux: a tarball, a Debian package, and the files of an image.

use super::{DOCUMENTS, PROFILE};
use crate::step::{must, said};
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What an image is made by.
pub(super) const CONTAINERFILE: &str = "Containerfile";
/// Shells, and where each looks for completions below `/usr/share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/loadline"),
    ("zsh", "zsh/vendor-completions/_loadline"),
    ("fish", "fish/vendor_completions.d/loadline.fish"),
];

/// What is made, and for which machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release {
    /// As in the workspace's manifest.
    pub(super) version: &'static str,
    /// The target triple of the command.
    pub(super) triple: String,
}

impl Release {
    /// The processor, as target triples and Linux name it.
    pub(super) fn processor(&self) -> &str {
        self.triple.split('-').next().unwrap_or(&self.triple)
    }

    /// The name of the tarball without its ending, and of the folder in it.
    pub(super) fn name(&self) -> String {
        format!("loadline-{}-{}-linux", self.version, self.processor())
    }
}

/// A command, started by a runner if it needs one.
fn started(command: &Path, runner: Option<&Path>) -> Command {
    match runner {
        Some(runner) => {
            let mut started = Command::new(runner);
            started.arg(command);
            started
        }
        None => Command::new(command),
    }
}

/// Lays out all files of an installation below `staged` in a folder, where the Debian package is made from.
pub(super) fn stage(root: &Path, command: &Path, runner: Option<&Path>, folder: &Path) -> Result<()> {
    let usr = folder.join("staged/usr");
    let (share, installed) = (usr.join("share"), usr.join("bin/loadline"));
    let (man, documents) = (share.join("man/man1"), share.join("doc/loadline"));
    for path in [&usr.join("bin"), &man, &documents] {
        fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
    }
    fs::copy(command, &installed).with_context(|| format!("cannot copy {}", command.display()))?;
    fs::set_permissions(&installed, fs::Permissions::from_mode(0o755))?;
    must(started(command, runner).arg("man").arg(&man))?;
    must(Command::new("gzip").args(["--best", "--no-name", "--recursive"]).arg(&man))?;
    for (shell, path) in COMPLETIONS {
        let path = share.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&share))?;
        fs::write(&path, said(started(command, runner).args(["completions", shell]))?)?;
    }
    for name in DOCUMENTS {
        fs::copy(root.join(name), documents.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(())
}

/// `loadline-VERSION-PROCESSOR-linux.tar.gz`: one folder of that name, to unpack anywhere or over `/usr/local`. It is the same bytes each
/// time: sorted, owned by root, with the commit's time, with modes that no umask changes.
pub(super) fn tarball(release: &Release, folder: &Path, stamp: &str) -> Result<PathBuf> {
    let path = folder.join(format!("{}.tar.gz", release.name()));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rwX,go+rX,go-w"]);
    tar.args(["--use-compress-program=gzip --best --no-name", &format!("--mtime=@{stamp}")]);
    tar.arg(format!("--transform=s,^usr,{},", release.name())).arg("--file").arg(&path);
    must(tar.arg("--directory").arg(folder.join("staged")).arg("usr"))?;
    Ok(path)
}

/// The Debian package.
pub(super) fn debian(root: &Path, release: &Release, deb: &Path, folder: &Path, stamp: &str) -> Result<PathBuf> {
    let mut command = Command::new(deb);
    command.args(["deb", "--no-build", "--no-strip", "--quiet", "--package", "loadline", "--target", &release.triple]);
    let architecture = if release.processor() == "aarch64" { "arm64" } else { "amd64" };
    let path = folder.join(format!("loadline_{}_{architecture}.deb", release.version));
    command.args(["--profile", PROFILE]).arg("--output").arg(&path).current_dir(root);
    must(command.env("SOURCE_DATE_EPOCH", stamp))?;
    Ok(path)
}

/// Moves the staged files to a folder of their own, with the file that an image is made by; that folder.
pub(super) fn image(root: &Path, release: &Release, folder: &Path) -> Result<PathBuf> {
    let image = folder.join(format!("image-{}", release.processor()));
    fs::create_dir_all(&image).with_context(|| format!("cannot make {}", image.display()))?;
    fs::rename(folder.join("staged"), image.join("staged")).context("cannot move what was staged")?;
    fs::copy(root.join("packaging").join(CONTAINERFILE), image.join(CONTAINERFILE))
        .context("cannot copy the Containerfile")?;
    Ok(image)
}

/// The files of a folder with this ending.
pub(super) fn with_ending(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    Ok(paths.filter(|path| path.extension().is_some_and(|own| own == ending)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers as the command does where packages are made.
    const STAND_IN: &str = "\
#!/bin/sh
case $1 in
  man) mkdir -p \"$2\" && echo '.TH loadline 1' > \"$2/loadline.1\" ;;
  completions) echo \"complete -W help loadline\" ;;
esac
";

    /// The tarball of a stand-in for the command, in a folder of its own.
    fn packed() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let command = folder.path().join("stand-in");
        fs::write(&command, STAND_IN).unwrap();
        fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let release = Release { version: "1.2.3", triple: target };
        stage(root, &command, None, folder.path()).unwrap();
        let made = tarball(&release, folder.path(), "1700000000").unwrap();
        (folder, made)
    }

    #[test]
    fn a_tarball_holds_the_command_its_pages_completions_and_licences() {
        let (_folder, made) = packed();
        let inside = said(Command::new("tar").arg("--list").arg("--file").arg(&made)).unwrap();
        for file in ["bin/loadline", "share/man/man1/loadline.1.gz", "share/doc/loadline/LICENSE-MIT"]
            .map(str::to_owned)
            .into_iter()
            .chain(COMPLETIONS.map(|(_, path)| format!("share/{path}")))
        {
            assert!(inside.lines().any(|line| line.ends_with(&format!("-linux/{file}"))), "no {file} in {inside}");
        }
    }

    #[test]
    fn a_tarball_is_the_same_bytes_each_time() {
        let ((_first, one), (_second, two)) = (packed(), packed());
        assert_eq!(fs::read(one).unwrap(), fs::read(two).unwrap());
    }
}
