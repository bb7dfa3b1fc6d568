//! The first minute with the command: what it asks, refuses and advises before anything is measured.

mod examples;
mod looked_first;
mod objective;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own with a store in it, gone at the end.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    /// On a disk rather than in memory.
    fn new() -> Self {
        Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadline"));
        command.args(arguments).current_dir(self.folder.path()).env("LOADLINE_STORE", self.path("store.db"));
        command.env_remove("NO_COLOR").stdin(Stdio::null());
        command
    }
    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
    /// Standard output and standard error of a command that must end with `status`.
    fn ends(&self, status: i32, arguments: &[&str]) -> (String, String) {
        let output = self.run(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, told) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {told}");
        (out, told)
    }
}
