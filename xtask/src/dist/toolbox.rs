//! What packages are made with: looked for, and got where that is possible, before anything is built.

use super::Part;
use crate::peers::{apt_install, find, is_root};
use crate::step::{must, said};
use crate::tools::Tool;
use crate::wine::Wine;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A C compiler and linker for every platform, which comes ready-made and needs nothing of the machine.
const ZIG: Tool = Tool { name: "zig", version: "0.13.0", wheel: Some("ziglang"), only_in: Some("ziglang") };
/// Has cargo use it.
const ZIGBUILD: Tool = Tool { name: "cargo-zigbuild", version: "0.24.1", wheel: Some("cargo-zigbuild"), only_in: None };
/// Makes the Debian package, as `host/cli/Cargo.toml` describes it.
const DEB: Tool = Tool { name: "cargo-deb", version: "3.8.0", wheel: None, only_in: None };
/// Makes the wheel.
const MATURIN: Tool = Tool { name: "maturin", version: "1.9.6", wheel: Some("maturin"), only_in: None };
/// The target of the page's module.
const MODULE: &str = "wasm32-unknown-unknown";

/// What was found.
pub(crate) struct Toolbox {
    zig: PathBuf,
    zigbuild: PathBuf,
    /// Where it is; in words, that it cannot be had.
    pub(super) deb: Result<PathBuf, String>,
    pub(super) maturin: Option<PathBuf>,
    wine: Option<PathBuf>,
    qemu: Option<PathBuf>,
}

impl Toolbox {
    /// All that the parts need.
    ///
    /// # Errors
    /// One sentence with everything that is missing and cannot be had, and how to get it.
    pub(crate) fn filled(root: &Path, parts: &[Part]) -> Result<Self> {
        let mut missing = Vec::new();
        let mut need = |found: Result<PathBuf, String>| found.map_err(|error| missing.push(error)).ok();
        let (zig, zigbuild) = (need(ZIG.find(root)), need(ZIGBUILD.find(root)));
        let maturin = parts.contains(&Part::Wheel).then(|| need(MATURIN.find(root))).flatten();
        for triple in parts.iter().filter_map(|part| part.triple()).chain([MODULE.to_owned()]) {
            need(target_added(&triple));
        }
        let foreign = parts.iter().find(|part| matches!(part, Part::Linux(_)) && !part.is_native());
        let qemu = foreign.and_then(|part| need(program(&format!("qemu-{}-static", part.word()), "qemu-user-static")));
        for (command, package) in [("python3", "python3"), ("gzip", "gzip"), ("cc", "gcc")] {
            need(program(command, package));
        }
        if !missing.is_empty() {
            bail!("nothing was built; missing: {}", missing.join("; "));
        }
        let (Some(zig), Some(zigbuild)) = (zig, zigbuild) else { bail!("no compiler") };
        let has_linux = parts.iter().any(|part| matches!(part, Part::Linux(_)));
        let deb = if has_linux { DEB.find(root) } else { Err("not asked for".to_owned()) };
        let wine = parts.contains(&Part::Windows).then(|| program("wine", "wine").ok()).flatten();
        Ok(Self { zig, zigbuild, deb, maturin, wine, qemu })
    }

    /// A command that builds by cargo, with the compiler where it looks for it.
    pub(super) fn cross(&self, mut command: Command) -> Command {
        let folders = [self.zigbuild.parent(), self.zig.parent()].into_iter().flatten().map(Path::to_path_buf);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(folders.chain(std::env::split_paths(&path))).unwrap_or(path);
        command.env("PATH", path).env("CARGO_ZIGBUILD_ZIG_PATH", &self.zig);
        command
    }

    /// `cargo test` with the same compiler.
    pub(crate) fn tests(&self, root: &Path) -> Command {
        let mut command = self.cross(Command::new(&self.zigbuild));
        command.arg("test").current_dir(root);
        command
    }

    /// A Windows in a folder, where Wine could be had.
    pub(super) fn wine(&self, folder: PathBuf) -> Result<Option<Wine>> {
        let mut compiler = Command::new(&self.zig);
        compiler.args(["cc", "-target", "x86_64-windows-gnu"]);
        self.wine.clone().map(|program| Wine::in_folder(program, folder, compiler)).transpose()
    }

    /// What starts the commands of a part here; nothing where they start by themselves.
    pub(crate) fn runner(&self, part: Part) -> Option<&Path> {
        self.qemu.as_deref().filter(|_| !part.is_native())
    }
}

/// A target of the toolchain, added if it is not there.
fn target_added(triple: &str) -> Result<PathBuf, String> {
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"])).map_err(|error| error.to_string())?;
    let folder = Path::new(sysroot.trim()).join("lib/rustlib").join(triple).join("lib");
    let added = || must(Command::new("rustup").args(["target", "add", triple])).is_ok();
    if folder.is_dir() || (added() && folder.is_dir()) {
        return Ok(folder);
    }
    Err(format!("the toolchain's target {triple} (rustup target add {triple})"))
}

/// A program of the machine, installed by root from Debian's package.
fn program(command: &str, package: &str) -> Result<PathBuf, String> {
    let installed = || is_root() && apt_install(&[package]);
    find(command)
        .or_else(|| if installed() { find(command) } else { None })
        .ok_or_else(|| format!("{command} (Debian: apt-get install {package})"))
}
