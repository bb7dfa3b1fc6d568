//! A Debian package, written without Debian's tools: an `ar` archive of a version, a control archive and the files.

use super::archive::{Stamp, gzip, tar};
use super::layout::Layout;
use super::{Release, read, said, write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What begins each `ar` archive.
const AR_MAGIC: &[u8] = b"!<arch>\n";

/// Makes `loadline_VERSION_ARCHITECTURE.deb` in `folder`.
pub(super) fn package(release: &Release, layout: &Layout, folder: &Path, stamp: Stamp) -> Result<PathBuf, String> {
    let work = folder.join("debian");
    let control = work.join("control");
    super::make_folder(&control)?;
    write(&control.join("control"), fields(release, installed_kib(&layout.root)?))?;
    write(&control.join("md5sums"), sums(&layout.root)?)?;
    let (data_tar, control_tar) = (work.join("data.tar"), work.join("control.tar"));
    tar(&layout.root, &["./usr"], &[], &data_tar, stamp)?;
    tar(&control, &["./control", "./md5sums"], &[], &control_tar, stamp)?;
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", read(&gzip(&control_tar)?)?),
        ("data.tar.gz", read(&gzip(&data_tar)?)?),
    ];
    let path = folder.join(format!("loadline_{}_{}.deb", release.version, release.architecture()));
    write(&path, ar(&members, stamp))?;
    std::fs::remove_dir_all(&work).map_err(|error| format!("cannot remove {}: {error}", work.display()))?;
    Ok(path)
}

/// The control file.
fn fields(release: &Release, installed_kib: u64) -> String {
    format!(
        "Package: loadline\nVersion: {}\nArchitecture: {}\nMaintainer: the authors of loadline <loadline@localhost>\n\
         Installed-Size: {installed_kib}\nSection: admin\nPriority: optional\n\
         Description: how much load storage takes, what stops it, what to buy instead\n \
         Measures disks and file systems, names the limit behind each figure, watches\n \
         running applications, predicts and emulates cloud volumes, and ranks what to\n \
         buy by price. The command needs no other package.\n",
        release.version,
        release.architecture()
    )
}

/// All files below a folder, as `./usr/...` from there, in order.
fn files(root: &Path) -> Result<Vec<String>, String> {
    let list = said(Command::new("find").args(["./usr", "-type", "f"]).current_dir(root))?;
    let mut files: Vec<String> = list.lines().map(str::to_owned).collect();
    files.sort();
    Ok(files)
}

/// What the files take on a disk, in KiB, each rounded up.
fn installed_kib(root: &Path) -> Result<u64, String> {
    files(root)?.iter().map(|name| super::size(&root.join(name)).map(|bytes| bytes.div_ceil(1024))).sum()
}

/// The checksums that `dpkg --verify` reads.
fn sums(root: &Path) -> Result<String, String> {
    let names = files(root)?;
    said(Command::new("md5sum").args(names.iter().map(|name| name.trim_start_matches("./"))).current_dir(root))
}

/// An `ar` archive of files with short names, owned by root.
fn ar(members: &[(&str, Vec<u8>)], stamp: Stamp) -> Vec<u8> {
    let mut bytes = AR_MAGIC.to_vec();
    for (name, contents) in members {
        bytes.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", stamp.0, 0, 0, 100_644, contents.len()).bytes(),
        );
        bytes.extend_from_slice(contents);
        if contents.len() % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}
