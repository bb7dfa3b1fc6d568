//! `nbd-tester-client`, the test program of the nbd package: Debian has it in no binary package, so it is built from the source.

use super::{apt, is_root, on_path, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What goes untested without it.
pub(super) const TESTS: &str = "the nbd package's own tests against NBD exports";
/// Headers that it is compiled with.
const PACKAGES: [&str; 3] = ["pkg-config", "libglib2.0-dev", "libgnutls28-dev"];
/// Releases whose source does as well where the mirror has not kept that of the machine's own.
const OTHER_RELEASES: [&str; 1] = ["trixie"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// In place of what its `configure` finds out, for all the machines that this project is built on.
const CONFIGURATION: &str = "\
#define HAVE_FDATASYNC 1
#define HAVE_GNUTLS 1
#define HAVE_MKSTEMP 1
#define ISSERVER 1
#define SIZEOF_UNSIGNED_SHORT_INT 2
#define SIZEOF_UNSIGNED_INT 4
#define SIZEOF_UNSIGNED_LONG_INT 8
#define SIZEOF_UNSIGNED_LONG_LONG_INT 8
";

/// Builds it below `target/peers`, where the tests look for it, unless it is there.
///
/// # Errors
/// Why it cannot be had, in words.
pub(super) fn build(root: &Path) -> Result<(), String> {
    let folder = root.join("target/peers/nbd");
    let program = folder.join("nbd-tester-client");
    if program.is_file() {
        return Ok(());
    }
    if !on_path("cc") {
        return Err("there is no C compiler".into());
    }
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let source = match unpacked(&folder) {
        Some(source) => source,
        None => fetch(&folder)?,
    };
    let flags = flags().or_else(|| {
        let installed = is_root() && on_path("apt-get") && apt(&[&["install"], PACKAGES.as_slice()].concat());
        installed.then(flags)?
    });
    let flags = flags.ok_or_else(|| format!("it wants {}", PACKAGES.join(", ")))?;
    fs::write(folder.join("config.h"), CONFIGURATION).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-w", "-D_FILE_OFFSET_BITS=64", "-I"]).arg(&folder).arg("-I").arg(&source);
    compiler.arg("-o").arg(&program);
    let files = ["tests/run/nbd-tester-client.c", "cliserv.c", "buffer.c", "crypto-gnutls.c"];
    compiler.args(files.map(|file| source.join(file))).args(flags);
    run(&mut compiler).map(drop)
}

/// The source in a folder, where it was unpacked before.
fn unpacked(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| path.join("tests/run/nbd-tester-client.c").is_file())
}

fn flags() -> Option<Vec<String>> {
    let words = run(Command::new("pkg-config").args(["--cflags", "--libs", "glib-2.0", "gnutls"])).ok()?;
    Some(words.split_whitespace().map(str::to_owned).collect())
}

/// Fetches the source by apt, with lists of its own: those of the machine stay as they are.
fn fetch(folder: &Path) -> Result<PathBuf, String> {
    if !on_path("apt-get") {
        return Err("there is no apt-get to fetch its source with".into());
    }
    let told = run(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)",
    ]))?;
    let (release, mirror) = mirror(&told).ok_or("apt knows no mirror of Debian's")?;
    let others = OTHER_RELEASES.into_iter().filter(|other| *other != release);
    let mut reason = String::new();
    for release in std::iter::once(release).chain(others) {
        match fetch_of(folder, release, mirror) {
            Ok(source) => return Ok(source),
            Err(error) => reason = error,
        }
    }
    Err(format!("its source cannot be had: {reason}"))
}

/// The release and the mirror of Debian's that the machine's own packages come from.
fn mirror(targets: &str) -> Option<(&str, &str)> {
    targets.lines().find_map(|line| match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["Debian", release, "main", mirror] if !release.contains('-') => Some((release, mirror)),
        _ => None,
    })
}

fn fetch_of(folder: &Path, release: &str, mirror: &str) -> Result<PathBuf, String> {
    let signed = if Path::new(KEYRING).exists() { format!(" [signed-by={KEYRING}]") } else { String::new() };
    let list = folder.join("source.list");
    let made = fs::write(&list, format!("deb-src{signed} {mirror} {release} main\n"));
    made.and_then(|()| fs::create_dir_all(folder.join("lists/partial"))).map_err(|error| error.to_string())?;
    let apt = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command.args(["300", "apt-get", "-qq", "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Sandbox::User=root"]);
        for (name, path) in
            [("Etc::sourcelist", &list), ("State::lists", &folder.join("lists")), ("Cache", &folder.join("cache"))]
        {
            command.arg("-o").arg(format!("Dir::{name}={}", path.display()));
        }
        command.args(["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=30"]).args(words).current_dir(folder);
        run(&mut command)
    };
    fs::create_dir_all(folder.join("cache/archives/partial")).map_err(|error| error.to_string())?;
    apt(&["update"])?;
    apt(&["source", "--download-only", "nbd"])?;
    let archives = fs::read_dir(folder).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
    let is_source =
        |path: &PathBuf| path.to_string_lossy().contains(".orig.tar.") && !path.to_string_lossy().ends_with(".asc");
    let archive = archives.into_iter().find(is_source).ok_or("apt fetched no source")?;
    run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(folder).arg("--no-same-owner"))?;
    unpacked(folder).ok_or_else(|| "the source holds no nbd-tester-client".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_that_of_the_machines_own_release() {
        let told = "Other stable main http://other.example/apt\nDebian bookworm-updates main http://mirror.example/debian/\n\
                    Debian bookworm main http://mirror.example/debian/\n";
        assert_eq!(mirror(told), Some(("bookworm", "http://mirror.example/debian/")));
        assert_eq!(mirror("Debian\n\nOther a main b\n"), None);
    }
}
