//! Test programs: built by cargo, and started one by one.

use super::Settings;
use super::words::Words;
use crate::gate::FEATURES;
use crate::step::cargo;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds after which a program hangs, and is ended.
const SECONDS_MAX: &str = "3600";
/// Folders whose tests wait for devices, servers and clocks. Those of all others compute.
const WAITING: [&str; 2] = ["host", "benches"];

/// A test program.
#[derive(Debug)]
pub(super) struct Program {
    /// Its package, and `lib`, `bin` or the name of an integration test.
    pub(super) name: String,
    /// The package's folder: tests run in it.
    folder: PathBuf,
    path: PathBuf,
    /// Whether its tests sleep most of the time.
    pub(super) waits: bool,
}

/// What cargo built.
#[derive(Default)]
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    /// The `loadline` command.
    pub(super) command: Option<PathBuf>,
}

impl Built {
    /// Builds every test program of the workspace.
    pub(super) fn build(root: &Path) -> Result<Self, String> {
        let mut command = cargo(root);
        command.args(["test", "--workspace", FEATURES, "--no-run", "--message-format", "json-render-diagnostics"]);
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("cannot start {command:?}: {error}"))?;
        if !output.status.success() {
            return Err("the tests do not build: see above".to_owned());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(Self::read(root, text.lines().filter_map(|line| serde_json::from_str(line).ok())))
    }

    /// What cargo's messages say of programs.
    fn read(root: &Path, messages: impl Iterator<Item = Value>) -> Self {
        let mut built = Self::default();
        for message in messages {
            let Some(path) = message["executable"].as_str().map(PathBuf::from) else { continue };
            let target = &message["target"];
            let (name, kind) = (target["name"].as_str().unwrap_or("?"), target["kind"][0].as_str().unwrap_or("?"));
            if message["profile"]["test"] == true {
                let manifest = Path::new(message["manifest_path"].as_str().unwrap_or("?"));
                let folder = manifest.parent().unwrap_or(root).to_path_buf();
                let within = folder.strip_prefix(root).unwrap_or(&folder);
                let waits = WAITING.iter().any(|waiting| within.starts_with(waiting));
                let name = format!("{} {}", within.display(), if kind == "test" { name } else { kind });
                built.programs.push(Program { name, folder, path, waits });
            } else if (name, kind) == ("loadline", "bin") {
                built.command = Some(path);
            }
        }
        built
    }
}

impl Program {
    /// Runs its tests, or those that `chosen` chooses, in so many threads.
    pub(super) fn run(&self, threads: usize, chosen: &[&str], settings: &Settings) -> Words {
        // What computes leaves the processors to what waits.
        let first: &[&str] = if self.waits { &[] } else { &["nice", "-n", "10"] };
        let mut words = first.iter().chain(&["timeout", "--foreground", SECONDS_MAX]);
        let mut command = Command::new(words.next().unwrap_or(&"timeout"));
        command.args(words).arg(&self.path);
        // --show-output is how the `skipped:` lines of a passing test can be seen at all.
        command.args(["--show-output", "--test-threads", &threads.to_string()]).args(chosen);
        // As cargo starts them.
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        run(&mut command, &self.name, settings)
    }
}

/// Runs a command to its end. What it prints goes to a file: a daemon that a test left behind may hold it, and nobody waits for that.
pub(super) fn run(command: &mut Command, name: &str, settings: &Settings) -> Words {
    settings.apply(command);
    let path = settings.folder.join(format!("{}.txt", name.replace(['/', ' '], "-")));
    let ended = File::create(&path).and_then(|file| {
        command.stdin(Stdio::null()).stderr(file.try_clone()?).stdout(file);
        command.status()
    });
    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
    Words::read(text, ended.map_err(|error| format!("cannot start {command:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn programs_and_the_command_are_read_from_cargos_messages() {
        let artifact = |folder: &str, name: &str, kind: &str, test: bool, path: Option<&str>| {
            json!({
                "manifest_path": format!("/x/{folder}/Cargo.toml"), "target": {"name": name, "kind": [kind]},
                "profile": {"test": test}, "executable": path,
            })
        };
        let messages = [
            artifact("host/cli", "loadline", "bin", false, Some("/t/loadline")),
            artifact("host/cli", "cli", "test", true, Some("/t/cli-1")),
            artifact("xtask", "xtask", "bin", true, Some("/t/xtask-1")),
            artifact("pure/words/units", "loadline_units", "lib", false, None),
            json!({"reason": "build-finished", "success": true}),
        ];
        let built = Built::read(Path::new("/x"), messages.into_iter());
        assert_eq!(built.command, Some("/t/loadline".into()));
        let programs: Vec<_> = built.programs.iter().map(|program| (program.name.as_str(), program.waits)).collect();
        assert_eq!(programs, [("host/cli cli", true), ("xtask bin", false)]);
    }

    #[test]
    fn all_that_a_program_prints_is_read_and_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { seed: None, command: None, folder: folder.path().to_owned() };
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'test a ... FAILED'; echo aside >&2; exit 3"]);
        let words = run(&mut command, "a/b c", &settings);
        assert!(words.failed == ["a"] && words.of_failures().contains("aside"), "{words:?}");
        assert!(run(&mut Command::new("/no/such/program"), "d", &settings).died.is_some());
    }
}
