//! The `loadline` command from the outside: what it prints, how it exits, what it leaves behind.

mod advise;
mod brought;
mod browser;
mod catalog;
mod compare;
mod crash;
mod crawl;
mod elsewhere;
mod emulate;
mod end_to_end;
mod explored;
mod exported;
mod fault;
mod faults;
mod fio_command;
mod fit;
mod formats;
mod golden;
mod haste;
mod hostile;
mod hostile_catalog;
mod hosts;
mod hunt;
mod import;
mod kept;
mod kubernetes;
mod limits;
mod live;
mod loop_closes;
mod metrics;
mod only_read;
mod perfetto;
mod predict;
mod prices;
mod pty;
mod recommended;
mod recorder;
mod refusals;
mod results;
mod safety;
mod shelter;
mod shelter_plan;
mod slurm;
mod steps;
mod swept;
mod tagged;
mod typing;
mod verification;
mod weekly;

// The tests of the library make the same devices, start the same applications, and ask the same way.
#[path = "../../../runs/tests/runs/support/applications.rs"]
#[allow(dead_code, reason = "some are for the tests of the library alone")]
mod applications;
#[path = "../../../runs/tests/runs/support/devices.rs"]
#[allow(dead_code, reason = "some are for the tests of the library alone")]
mod devices;
#[path = "../../../runs/tests/runs/support/inputs.rs"]
#[allow(dead_code, reason = "some are for the tests of the library alone")]
mod inputs;
#[path = "../../../runs/tests/runs/support/nbd_client.rs"]
#[allow(dead_code, reason = "some are for the tests of the library alone")]
mod nbd_client;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder of its own with a store in it, gone at the end.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// On a disk rather than in memory, so that direct I/O is taken.
    fn new() -> Self {
        Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    /// A file with this text; gives its path.
    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
    /// An empty folder to be measured; gives its path.
    fn target(&self) -> String {
        let path = self.path("target");
        std::fs::create_dir_all(&path).unwrap();
        path.display().to_string()
    }
    fn command(&self, arguments: &[&str]) -> Command {
        self.command_by(&[], arguments)
    }
    /// By another program, which becomes it.
    fn command_by(&self, by: &[&str], arguments: &[&str]) -> Command {
        let words = [by, &[env!("CARGO_BIN_EXE_loadline")], arguments].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(self.folder.path()).env("LOADLINE_STORE", self.path("store.db"));
        command.env_remove("NO_COLOR").stdin(Stdio::null());
        command
    }
    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
    /// Standard output of a command that must end with 0.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }
    /// Standard error of a command that must end with `status`.
    fn refused(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stderr)
    }
    /// `list` as objects; none where there is no store yet.
    fn runs(&self) -> Vec<serde_json::Value> {
        if !self.path("store.db").exists() {
            return Vec::new();
        }
        self.rows(&["list"])
    }
    /// The document that a command prints for programs: it says what it is, and is as its published schema says.
    fn document(&self, arguments: &[&str]) -> serde_json::Value {
        let document = self.done(&[arguments, &["--format", "json"]].concat());
        let document = serde_json::from_str(&document).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        assert_eq!(schema_errors(&document), Vec::<String>::new(), "{arguments:?}: {document:#}");
        document
    }
    /// The rows of such a document.
    fn rows(&self, arguments: &[&str]) -> Vec<serde_json::Value> {
        self.document(arguments)["rows"].as_array().unwrap_or_else(|| panic!("{arguments:?}: no rows")).clone()
    }
    /// The newest run as `export` gives it.
    fn last(&self) -> serde_json::Value {
        serde_json::from_str(&self.done(&["export", "last", "--as", "json"])).unwrap()
    }
}

use formats::schema_errors;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}
