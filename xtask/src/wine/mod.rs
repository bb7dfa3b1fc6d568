//! Wine, under which the command for Windows is tried.

use crate::step::must;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that older ones lack, and its source.
const LIBRARY: (&str, &str) = ("bcryptprimitives.dll", include_str!("bcryptprimitives.c"));

/// A Windows of its own, kept in a folder.
pub(crate) struct Wine {
    program: PathBuf,
    folder: PathBuf,
}

impl Wine {
    /// `compiler` builds for Windows and has GCC's options.
    pub(crate) fn in_folder(program: PathBuf, folder: PathBuf, mut compiler: Command) -> Result<Self> {
        let libraries = folder.join("libraries");
        fs::create_dir_all(&libraries).with_context(|| format!("cannot make {}", libraries.display()))?;
        let (library, source) = (libraries.join(LIBRARY.0), libraries.join("source.c"));
        fs::write(&source, LIBRARY.1)?;
        must(compiler.args(["-shared", "-o"]).arg(library).arg(source).arg("-ladvapi32"))?;
        Ok(Self { program, folder })
    }

    /// The drive `C:`.
    pub(crate) fn drive(&self) -> PathBuf {
        self.prefix().join("drive_c")
    }

    fn prefix(&self) -> PathBuf {
        self.folder.join("prefix")
    }

    /// What starts a command for Windows, without its words. A library that Wine has itself is taken before ours.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let libraries = self.folder.join("libraries");
        let mut command = Command::new(&self.program);
        command.arg(program).env("WINEPREFIX", self.prefix()).env("WINEDEBUG", "-all");
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml=");
        command.env("WINEPATH", format!("Z:{}", libraries.display()).replace('/', "\\"));
        command
    }
}
