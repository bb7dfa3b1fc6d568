//! The files of an installation, as they lie below `/usr`: the command, man pages, completions and documents.

use super::{Release, must, read, said, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shells, and where each looks for completions below `/usr`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/loadline"),
    ("zsh", "share/zsh/vendor-completions/_loadline"),
    ("fish", "share/fish/vendor_completions.d/loadline.fish"),
];
/// Documents that every package carries, from the workspace's root.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// What Debian wants to know of the licence.
const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: loadline

Files: *
Copyright: the authors of loadline
License: MIT or Apache-2.0
 At your choice. Both texts lie beside this file.
";

/// A tree of files that packages are made of.
#[derive(Debug)]
pub(super) struct Layout {
    /// The folder that holds `usr`.
    pub(super) root: PathBuf,
}

impl Layout {
    /// Lays all files out below `folder`. `command` must run on this machine, or `loadline` must have been built for it before.
    pub(super) fn make(root: &Path, release: &Release, command: &Path, folder: &Path) -> Result<Self, String> {
        let usr = folder.join("usr");
        let (bin, man, documents) = (usr.join("bin"), usr.join("share/man/man1"), usr.join("share/doc/loadline"));
        for path in [&bin, &man, &documents] {
            super::make_folder(path)?;
        }
        let installed = bin.join("loadline");
        write(&installed, read(command)?)?;
        set_mode(&installed, 0o755)?;
        strip(&installed)?;
        let runs_here = release.processor() == std::env::consts::ARCH;
        let writer = if runs_here { command.to_owned() } else { root.join("target/debug/loadline") };
        must(Command::new(&writer).arg("man").arg(&man))?;
        let pages = std::fs::read_dir(&man).map_err(|error| format!("cannot read {}: {error}", man.display()))?;
        let pages: Vec<PathBuf> = pages.flatten().map(|page| page.path()).collect();
        must(Command::new("gzip").args(["--best", "--no-name"]).args(&pages))?;
        for (shell, path) in COMPLETIONS {
            let path = usr.join(path);
            super::make_folder(path.parent().unwrap_or(&usr))?;
            write(&path, said(Command::new(&writer).args(["completions", shell]))?)?;
        }
        for name in DOCUMENTS {
            write(&documents.join(name), read(&root.join(name))?)?;
        }
        write(&documents.join("copyright"), COPYRIGHT)?;
        Ok(Self { root: folder.to_owned() })
    }
}

/// Takes the symbols out of a command, which not every linker does. A file that is no program of this machine stays as it is.
fn strip(command: &Path) -> Result<(), String> {
    let output = Command::new("strip").arg("--strip-all").arg(command).output();
    let output = output.map_err(|error| format!("cannot start strip (Debian: apt-get install binutils): {error}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || words.contains("not recognized") || words.contains("Unable to recognise") {
        return Ok(());
    }
    Err(format!("strip {} failed: {words}", command.display()))
}

/// Sets a file's permissions.
pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(|error| format!("cannot set the mode of {}: {error}", path.display()))
}
