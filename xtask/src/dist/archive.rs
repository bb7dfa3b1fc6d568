//! Archives that are the same bytes each time: sorted, owned by root, with the commit's time.

use super::layout::Layout;
use super::{Release, must, said, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The time that all files in the packages have, in seconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp(pub(super) u64);

impl Stamp {
    /// That of the last commit; 0 without one.
    pub(super) fn of_commit(root: &Path) -> Self {
        let safe = format!("safe.directory={}", root.display());
        let time = said(Command::new("git").args(["-c", &safe, "log", "-1", "--format=%ct"]).current_dir(root));
        Self(time.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0))
    }
}

/// Writes `names` below `from` into the archive `to`, not compressed. `options` are further words for `tar`.
pub(super) fn tar(from: &Path, names: &[&str], options: &[String], to: &Path, stamp: Stamp) -> Result<(), String> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    // Modes must not depend on the umask of the one who builds.
    tar.args(["--mode=u+rwX,go+rX,go-w", &format!("--mtime=@{}", stamp.0)]).args(options);
    must(tar.arg("--file").arg(to).arg("--directory").arg(from).args(names))
}

/// Compresses `path` and leaves it; the path of what came.
pub(super) fn gzip(path: &Path) -> Result<PathBuf, String> {
    must(Command::new("gzip").args(["--best", "--no-name", "--keep", "--force"]).arg(path))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    Ok(name.into())
}

/// `loadline-VERSION-PROCESSOR-linux.tar.gz`: one folder of that name, to unpack anywhere or over `/usr/local`.
pub(super) fn tarball(release: &Release, layout: &Layout, folder: &Path, stamp: Stamp) -> Result<PathBuf, String> {
    let plain = folder.join(format!("{}.tar", release.name()));
    tar(&layout.root, &["usr"], &[format!("--transform=s,^usr,{},", release.name())], &plain, stamp)?;
    let packed = gzip(&plain)?;
    remove(&plain)?;
    Ok(packed)
}

/// `SHA256SUMS` of `files`, for `sha256sum --check` in their folder.
pub(super) fn checksums(files: &[PathBuf], folder: &Path) -> Result<PathBuf, String> {
    let names = files.iter().filter_map(|path| path.file_name());
    let path = folder.join("SHA256SUMS");
    write(&path, said(Command::new("sha256sum").args(names).current_dir(folder))?)?;
    Ok(path)
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> Result<String, String> {
    let text = said(Command::new("sha256sum").arg(path))?;
    let digits = text.split_whitespace().next().unwrap_or_default();
    // A name with a backslash or a line end has one in front.
    Ok(digits.trim_start_matches('\\').to_owned())
}

/// Removes a file that served its purpose.
pub(super) fn remove(path: &Path) -> Result<(), String> {
    std::fs::remove_file(path).map_err(|error| format!("cannot remove {}: {error}", path.display()))
}
