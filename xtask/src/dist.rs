//! What people install: for each platform a command that needs no library of the machine, the Python wheel, and the page that computes;
//! with their checksums. Each is tried as it is installed, on a machine of its kind or on a stand-in for one.

mod linux;
mod toolbox;
mod trial;

use crate::release;
use crate::step::{Outcome, cargo, must, said, target};
use anyhow::{Context, Result};
use linux::Release;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
pub(crate) use toolbox::Toolbox;

/// The folder of all that is made, below the target folder.
const FOLDER: &str = "dist";
/// The profile of the build; cargo has a folder of its name.
const PROFILE: &str = "shipped";
/// Documents that every package carries, from the workspace's root.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// Bytes of the stripped command that are aimed at.
const COMMAND_GOAL: u64 = 25 << 20;

/// One thing to install.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Packages for Linux on this processor.
    Linux(&'static str),
    /// An archive for Windows on x86-64.
    Windows,
    /// The Python package.
    Wheel,
    /// `loadline explore`, as a file.
    Page,
}

impl Part {
    /// In the order in which they are made: the first writes the pages of those that cannot be started here.
    const ALL: [Self; 5] = [Self::Linux("x86_64"), Self::Linux("aarch64"), Self::Windows, Self::Wheel, Self::Page];

    /// As it is typed.
    fn word(self) -> &'static str {
        match self {
            Self::Linux(processor) => processor,
            Self::Windows => "windows",
            Self::Wheel => "wheel",
            Self::Page => "page",
        }
    }

    /// What its command is built for. The page is written by this machine's command.
    fn triple(self) -> Option<String> {
        match self {
            Self::Linux(processor) => Some(format!("{processor}-unknown-linux-musl")),
            Self::Windows => Some("x86_64-pc-windows-gnu".to_owned()),
            Self::Page => Self::Linux(std::env::consts::ARCH).triple(),
            Self::Wheel => None,
        }
    }

    /// Whether its command runs on this machine as it is.
    fn is_native(self) -> bool {
        matches!(self, Self::Page) || self == Self::Linux(std::env::consts::ARCH)
    }
}

/// The parts that were asked for.
static PARTS: OnceLock<Vec<Part>> = OnceLock::new();

/// Has [`step`] make these parts alone.
///
/// # Errors
/// A word that is none, with those that there are.
pub(crate) fn choose(words: &[&str]) -> Result<(), String> {
    let of = |word: &&str| Part::ALL.into_iter().find(|part| part.word() == *word);
    let known = || Part::ALL.map(Part::word).join(", ");
    let parts: Option<Vec<Part>> = words.iter().map(of).collect();
    let mut parts = parts.ok_or_else(|| format!("no such part in {words:?}; there are {}", known()))?;
    parts.sort_by_key(|part| Part::ALL.iter().position(|other| other == part));
    let _ = PARTS.set(parts);
    Ok(())
}

/// Makes the chosen parts, or all, and tries each.
pub(crate) fn step(root: &Path) -> Outcome {
    made(root).unwrap_or_else(|error| Outcome::fail(format!("{error:#}")))
}

/// What was made of a part, and what came of trying it.
struct Made {
    files: Vec<PathBuf>,
    tried: &'static str,
}

fn made(root: &Path) -> Result<Outcome> {
    let parts = PARTS.get().cloned().unwrap_or_else(|| Part::ALL.to_vec());
    let tools = Toolbox::filled(root, &parts)?;
    let folder = target(root).join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let maker = Maker { root, folder, tools, stamp: said(Command::new("git").args(["log", "-1", "--format=%ct"]))? };
    let (mut outcome, mut table) = (Outcome::default(), Vec::new());
    for part in parts {
        println!("-- {}", part.word());
        let made = maker.make(part, &mut outcome).with_context(|| format!("{} was not made", part.word()))?;
        table.extend(made.files.into_iter().map(|path| (path, made.tried)));
    }
    let files: Vec<&PathBuf> = table.iter().map(|(path, _)| path).collect();
    checksums(&files, &maker.folder)?;
    outcome.add(trial::agreed(&maker.folder)?);
    for (path, tried) in &table {
        println!("{:<60} {:>6.1} MB  {tried}", path.display(), fs::metadata(path)?.len() as f64 / 1e6);
    }
    Ok(outcome)
}

/// Makes parts in a folder.
struct Maker<'a> {
    root: &'a Path,
    folder: PathBuf,
    tools: Toolbox,
    /// The commit's time, which files have.
    stamp: String,
}

impl Maker<'_> {
    fn make(&self, part: Part, outcome: &mut Outcome) -> Result<Made> {
        match part {
            Part::Linux(_) => self.linux(part, outcome),
            Part::Windows => self.windows(part, outcome),
            Part::Wheel => self.wheel(outcome),
            Part::Page => self.page(part, outcome),
        }
    }

    /// Builds the command of a part; where it lies.
    fn build(&self, part: Part) -> Result<PathBuf> {
        let triple = part.triple().context("it has no command")?;
        let mut build = self.tools.cross(cargo(self.root));
        build.args(["zigbuild", "--profile", PROFILE, "--package", "loadline", "--target", &triple]);
        must(build.args(["--features", release::FEATURES])).context("see above")?;
        let name = if part == Part::Windows { "loadline.exe" } else { "loadline" };
        let command = target(self.root).join(triple).join(PROFILE).join(name);
        let bytes = fs::metadata(&command).with_context(|| format!("no {}", command.display()))?.len();
        release::measured(&format!("the command of {}", part.word()), bytes, COMMAND_GOAL);
        Ok(command)
    }

    fn linux(&self, part: Part, outcome: &mut Outcome) -> Result<Made> {
        let command = self.build(part)?;
        // All crates have the version of the workspace.
        let release = Release { version: env!("CARGO_PKG_VERSION"), triple: part.triple().context("no triple")? };
        let runner = self.tools.runner(part);
        linux::stage(self.root, &command, runner, &self.folder)?;
        let mut files = vec![linux::tarball(&release, &self.folder, self.stamp.trim())?];
        match &self.tools.deb {
            Ok(deb) => files.push(linux::debian(self.root, &release, deb, &self.folder, self.stamp.trim())?),
            Err(reason) => outcome.add(Outcome::skip(format!("the Debian package ({reason})"))),
        }
        let image = linux::image(self.root, &release, &self.folder)?;
        outcome.add(trial::installed(&release, &files, &image, runner));
        files.push(image.join(linux::CONTAINERFILE));
        Ok(Made { files, tried: "tried in an empty root" })
    }

    fn windows(&self, part: Part, outcome: &mut Outcome) -> Result<Made> {
        let command = self.build(part)?;
        let name = concat!("loadline-", env!("CARGO_PKG_VERSION"), "-x86_64-windows");
        let inside = self.folder.join(name);
        fs::create_dir_all(&inside).with_context(|| format!("cannot make {}", inside.display()))?;
        fs::copy(&command, inside.join("loadline.exe"))
            .with_context(|| format!("cannot copy {}", command.display()))?;
        for document in DOCUMENTS {
            fs::copy(self.root.join(document), inside.join(document))
                .with_context(|| format!("cannot copy {document}"))?;
        }
        let archive = format!("{name}.zip");
        let touch = format!("find {name} -exec touch --date=@{} {{}} +", self.stamp.trim());
        must(Command::new("sh").args(["-c", &touch]).current_dir(&self.folder))?;
        must(Command::new("python3").args(["-m", "zipfile", "-c", &archive, name]).current_dir(&self.folder))?;
        fs::remove_dir_all(&inside).with_context(|| format!("cannot remove {}", inside.display()))?;
        let archive = self.folder.join(archive);
        let tried = if let Some(wine) = self.tools.wine(self.folder.join("installed/wine"))? {
            outcome.add(trial::on_windows(&wine, &archive, name));
            "tried under Wine"
        } else {
            outcome.add(Outcome::skip("Windows is not tried (Debian: apt-get install wine)"));
            "not tried"
        };
        Ok(Made { files: vec![archive], tried })
    }

    /// For any Linux of the last ten years with this processor.
    fn wheel(&self, outcome: &mut Outcome) -> Result<Made> {
        let maturin = self.tools.maturin.as_ref().context("no maturin")?;
        let mut build = self.tools.cross(Command::new(maturin));
        build.args(["build", "--release", "--quiet", "--zig", "--compatibility", "manylinux2014", "--out"]);
        must(build.arg(&self.folder).current_dir(self.root.join("host/python"))).context("see above")?;
        let files = linux::with_ending(&self.folder, "whl")?;
        outcome.add(trial::wheel(&files, &self.folder));
        Ok(Made { files, tried: "tried in a folder of its own" })
    }

    fn page(&self, part: Part, outcome: &mut Outcome) -> Result<Made> {
        let (command, file) = (self.build(part)?, self.folder.join("explorer.html"));
        must(Command::new(command).arg("explore").arg("--output").arg(&file))?;
        let text = fs::read_to_string(&file).context("the page is no text")?;
        outcome.add(if text.contains("<script") && text.trim_end().ends_with("</html>") {
            Outcome::pass()
        } else {
            Outcome::fail("explorer.html is no whole page with a script")
        });
        Ok(Made { files: vec![file], tried: "written by this machine's command" })
    }
}

/// `SHA256SUMS` of `files`, for `sha256sum --check` in their folder.
fn checksums(files: &[&PathBuf], folder: &Path) -> Result<()> {
    let names = files.iter().filter_map(|path| path.strip_prefix(folder).ok());
    let sums = said(Command::new("sha256sum").args(names).current_dir(folder))?;
    fs::write(folder.join("SHA256SUMS"), sums).context("cannot write SHA256SUMS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("image/Containerfile");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "FROM scratch").unwrap();
        checksums(&[&file], folder.path()).unwrap();
        let check = || must(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&folder));
        assert!(check().is_ok());
        fs::write(&file, "FROM debian").unwrap();
        assert!(check().is_err());
    }

    #[test]
    fn parts_are_made_in_their_order_and_others_are_refused() {
        assert!(choose(&["arm"]).is_err_and(|error| error.contains("aarch64, windows")));
        choose(&["page", "aarch64"]).unwrap();
        assert_eq!(PARTS.get().unwrap(), &[Part::Linux("aarch64"), Part::Page]);
    }
}
