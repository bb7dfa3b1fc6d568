//! What people install: a static command in a tarball, a Debian package and the files of an image, with their checksums.
//!
//! Each is then installed into an empty root, and the command is started there.

mod trial;

use crate::release;
use crate::step::{Outcome, cargo, must, said};
use crate::tools::Tool;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Bytes of the stripped command, at most.
const COMMAND_MAX: u64 = 20 << 20;
/// The profile of the build, and the folder of all that is made below the target folder.
const DIST: &str = "dist";
/// The targets that are tried when none is named, the best first. Both give a command that needs no library of the machine.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"];
/// Makes the Debian package, as `host/cli/Cargo.toml` describes it.
const DEB: Tool = Tool { name: "cargo-deb", version: "3.8.0", wheel: None };
/// Shells, and where each looks for completions below `/usr/share`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/loadline"),
    ("zsh", "zsh/vendor-completions/_loadline"),
    ("fish", "fish/vendor_completions.d/loadline.fish"),
];
/// Documents that every package carries, from the workspace's root.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// What an image is made by.
const CONTAINERFILE: &str = "Containerfile";

/// What is made, and for which machine.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Release {
    /// As in the workspace's manifest.
    version: &'static str,
    /// The target triple of the command.
    target: String,
}

impl Release {
    /// The processor, as target triples and Linux name it.
    fn processor(&self) -> &str {
        self.target.split('-').next().unwrap_or(&self.target)
    }

    /// The name of the tarball without its ending, and of the folder in it.
    fn name(&self) -> String {
        format!("loadline-{}-{}-linux", self.version, self.processor())
    }
}

/// The target that was asked for.
static TARGET: OnceLock<String> = OnceLock::new();

/// Has [`step`] build for this target.
pub(crate) fn choose(target: &str) {
    let _ = TARGET.set(target.to_owned());
}

/// Builds for the chosen target, or for the best that the toolchain has, packs, and tries each package.
pub(crate) fn step(root: &Path) -> Outcome {
    made(root).unwrap_or_else(|error| Outcome::fail(format!("{error:#}")))
}

fn made(root: &Path) -> Result<Outcome> {
    let target = TARGET.get().map_or_else(best_target, |asked| Ok(asked.clone()))?;
    println!("target {target}");
    // All crates have the version of the workspace.
    let release = Release { version: env!("CARGO_PKG_VERSION"), target };
    let command = build(root, &release)?;
    let folder = root.join("target").join(DIST);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    let stamp = said(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
    stage(root, &release, &command, &folder)?;
    let mut made = vec![tarball(&release, &folder, stamp.trim())?];
    let mut outcome = Outcome::pass();
    match DEB.find(root) {
        Ok(deb) => made.push(debian(root, &release, &deb, &folder, stamp.trim())?),
        Err(reason) => outcome.add(Outcome::skip(format!("the Debian package ({reason})"))),
    }
    checksums(&made, &folder)?;
    for path in &made {
        println!("{}: {:.1} MB", path.display(), fs::metadata(path)?.len() as f64 / 1e6);
    }
    let bytes = fs::metadata(folder.join("staged/usr/bin/loadline"))?.len();
    outcome.add(release::judged("the command of packages", bytes, COMMAND_MAX));
    outcome.add(if release.processor() == std::env::consts::ARCH {
        trial::all(&release, &made, &folder)
    } else {
        Outcome::skip(format!("packages are not started: this machine is no {}", release.processor()))
    });
    Ok(outcome)
}

/// The first of [`TARGETS`] that the toolchain has, or that rustup can add.
fn best_target() -> Result<String> {
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
    let has = |target: &str| Path::new(sysroot.trim()).join("lib/rustlib").join(target).join("lib").is_dir();
    for target in TARGETS {
        // Without rustup or the network it cannot be added, and the next target is tried.
        if has(target) || (must(Command::new("rustup").args(["target", "add", target])).is_ok() && has(target)) {
            return Ok(target.to_owned());
        }
    }
    bail!("the toolchain has none of {}: rustup target add {}", TARGETS.join(", "), TARGETS[0])
}

/// Builds the static command; where it lies.
fn build(root: &Path, release: &Release) -> Result<PathBuf> {
    let (target, musl) = (&release.target, release.target.ends_with("-musl"));
    let mut build = cargo(root);
    build.args(["build", "--profile", DIST, "--package", "loadline", "--target", target]);
    build.args(["--features", release::FEATURES]);
    // With a target named, these are for the command alone and not for what runs during the build.
    build.env("RUSTFLAGS", "-C target-feature=+crt-static");
    if musl {
        // The C sources (SQLite, zstd) need musl's headers.
        build.env(format!("CC_{}", target.replace('-', "_")), format!("{}-linux-musl-gcc", release.processor()));
    }
    must(&mut build).context(if musl { "see above (Debian: apt-get install musl-tools)" } else { "see above" })?;
    Ok(root.join("target").join(target).join(DIST).join("loadline"))
}

/// Lays out all files of an installation below `staged` in a folder. A command of another machine is asked for its pages and completions
/// in the form that was built for this one.
fn stage(root: &Path, release: &Release, command: &Path, folder: &Path) -> Result<()> {
    let usr = folder.join("staged/usr");
    let (share, installed) = (usr.join("share"), usr.join("bin/loadline"));
    let (man, documents) = (share.join("man/man1"), share.join("doc/loadline"));
    for path in [&usr.join("bin"), &man, &documents] {
        fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))?;
    }
    fs::copy(command, &installed).with_context(|| format!("cannot copy {}", command.display()))?;
    fs::set_permissions(&installed, fs::Permissions::from_mode(0o755))?;
    let own = release.processor() == std::env::consts::ARCH;
    let writer = if own { command.to_owned() } else { root.join("target/debug/loadline") };
    must(Command::new(&writer).arg("man").arg(&man))?;
    must(Command::new("gzip").args(["--best", "--no-name", "--recursive"]).arg(&man))?;
    for (shell, path) in COMPLETIONS {
        let path = share.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&share))?;
        fs::write(&path, said(Command::new(&writer).args(["completions", shell]))?)?;
    }
    for name in DOCUMENTS {
        fs::copy(root.join(name), documents.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }

    fs::copy(root.join("packaging").join(CONTAINERFILE), folder.join(CONTAINERFILE))
        .context("cannot copy the Containerfile")?;
    Ok(())
}

/// `loadline-VERSION-PROCESSOR-linux.tar.gz`: one folder of that name, to unpack anywhere or over `/usr/local`. It is the same bytes each
/// time: sorted, owned by root, with the commit's time, with modes that no umask changes.
fn tarball(release: &Release, folder: &Path, stamp: &str) -> Result<PathBuf> {
    let path = folder.join(format!("{}.tar.gz", release.name()));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rwX,go+rX,go-w"]);
    tar.args(["--use-compress-program=gzip --best --no-name", &format!("--mtime=@{stamp}")]);
    tar.arg(format!("--transform=s,^usr,{},", release.name())).arg("--file").arg(&path);
    must(tar.arg("--directory").arg(folder.join("staged")).arg("usr"))?;
    Ok(path)
}

/// The Debian package.
fn debian(root: &Path, release: &Release, deb: &Path, folder: &Path, stamp: &str) -> Result<PathBuf> {
    let mut command = Command::new(deb);
    command.args(["deb", "--no-build", "--no-strip", "--quiet", "--package", "loadline", "--target", &release.target]);
    let architecture = if release.processor() == "aarch64" { "arm64" } else { "amd64" };
    let path = folder.join(format!("loadline_{}_{architecture}.deb", release.version));
    command.args(["--profile", DIST]).arg("--output").arg(&path).current_dir(root);
    must(command.env("SOURCE_DATE_EPOCH", stamp))?;
    Ok(path)
}

/// `SHA256SUMS` of `files`, for `sha256sum --check` in their folder.
fn checksums(files: &[PathBuf], folder: &Path) -> Result<()> {
    let names = files.iter().filter_map(|path| path.file_name());
    let sums = said(Command::new("sha256sum").args(names).current_dir(folder))?;
    fs::write(folder.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")
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
        let release = Release { version: "1.2.3", target };
        stage(root, &release, &command, folder.path()).unwrap();
        let made = tarball(&release, folder.path(), "1700000000").unwrap();
        checksums(std::slice::from_ref(&made), folder.path()).unwrap();
        (folder, made)
    }

    #[test]
    fn a_tarball_holds_the_command_its_pages_completions_and_licences() {
        let (folder, made) = packed();
        let inside = said(Command::new("tar").arg("--list").arg("--file").arg(&made)).unwrap();
        for file in ["bin/loadline", "share/man/man1/loadline.1.gz", "share/doc/loadline/LICENSE-MIT"]
            .map(str::to_owned)
            .into_iter()
            .chain(COMPLETIONS.map(|(_, path)| format!("share/{path}")))
        {
            assert!(inside.lines().any(|line| line.ends_with(&format!("-linux/{file}"))), "no {file} in {inside}");
        }
        assert!(must(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&folder)).is_ok());
    }

    #[test]
    fn a_tarball_is_the_same_bytes_each_time() {
        let ((_first, one), (_second, two)) = (packed(), packed());
        assert_eq!(fs::read(one).unwrap(), fs::read(two).unwrap());
    }
}
