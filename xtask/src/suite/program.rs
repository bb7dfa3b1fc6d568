//! Test programs: built by cargo, listed, and started one by one.

use super::output::{Least, Reader, Show};
use super::schedule::Class;
use super::usage::Process;
use super::{Done, Settings};
use crate::gate::FEATURES;
use crate::step::{Outcome, cargo};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A program that runs longer hangs, and is ended.
const PROGRAM_MAX: Duration = Duration::from_secs(3_600);
/// How often a running program is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long output may still come of a program that has ended, from what it left behind.
const OUTPUT_LATE_MAX: Duration = Duration::from_secs(2);

/// A test program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) package: String,
    /// The package's folder: tests run in it.
    folder: PathBuf,
    /// `lib`, `bin`, or the name of an integration test.
    target: String,
    path: PathBuf,
    /// Every test, in the order in which it is begun.
    tests: Vec<String>,
}

/// What cargo built.
pub(super) struct Built {
    pub(super) programs: Vec<Program>,
    /// The `loadline` command.
    pub(super) command: Option<PathBuf>,
}

impl Built {
    /// Builds every test program of the workspace and lists their tests.
    pub(super) fn build(root: &Path) -> Result<Self, String> {
        let mut command = cargo(root);
        command.args(["test", "--workspace", FEATURES, "--no-run", "--message-format", "json-render-diagnostics"]);
        let mut messages = Vec::new();
        let begun = Instant::now();
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        if !follow(&mut command, |line| messages.extend(serde_json::from_str(line)))?.success() {
            return Err("the tests do not build: see above".to_owned());
        }
        let mut built = Self::read(&messages);
        for program in &mut built.programs {
            program.tests = program.list()?;
        }
        println!("{} test programs, built in {:.0} s", built.programs.len(), begun.elapsed().as_secs_f64());
        Ok(built)
    }

    /// What cargo's messages say of programs.
    fn read(messages: &[Value]) -> Self {
        let mut built = Self { programs: Vec::new(), command: None };
        for message in messages.iter().filter(|message| message["reason"] == "compiler-artifact") {
            let Some(path) = message["executable"].as_str().map(PathBuf::from) else { continue };
            let target = &message["target"];
            let (name, kind) = (target["name"].as_str().unwrap_or("?"), target["kind"][0].as_str().unwrap_or("?"));
            if message["profile"]["test"] != true {
                if (name, kind) == ("loadline", "bin") {
                    built.command = Some(path);
                }
                continue;
            }
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or("?"));
            let folder = manifest.parent().unwrap_or(manifest).to_path_buf();
            let package = package(message["package_id"].as_str().unwrap_or("?"), &folder);
            let target = if kind == "test" { name } else { kind }.to_owned();
            built.programs.push(Program { package, folder, target, path, tests: Vec::new() });
        }
        built
    }
}

/// The package's name in cargo's id of it: `path+file:///x/units#loadline-units@0.1.0`, or `path+file:///x/xtask#0.1.0`.
fn package(id: &str, folder: &Path) -> String {
    let named = id.rsplit_once('#').and_then(|(_, rest)| rest.split_once('@')).map(|(name, _)| name.to_owned());
    named.unwrap_or_else(|| folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
}

impl Program {
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.package, self.target)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        // As cargo starts them.
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("CARGO_PKG_NAME", &self.package).stdin(Stdio::null());
        command
    }

    fn list(&self) -> Result<Vec<String>, String> {
        let output = self.command().arg("--list").output();
        let output = output.map_err(|error| format!("cannot start {}: {error}", self.path.display()))?;
        if !output.status.success() {
            return Err(format!("{} does not list its tests: {}", self.name(), output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Its tests of a class; `None` where it has none.
    pub(super) fn run(&self, class: Class) -> Option<Run<'_>> {
        let of_class = self.tests.iter().filter(|test| Class::of(self, test) == class);
        let tests: Vec<&str> = of_class.map(String::as_str).collect();
        (!tests.is_empty()).then_some(Run { program: self, tests })
    }

    /// One of its tests; `None` where it has none of that name.
    pub(super) fn only(&self, name: &str) -> Option<Run<'_>> {
        let test = self.tests.iter().find(|test| *test == name)?;
        Some(Run { program: self, tests: vec![test] })
    }
}

/// Some tests of a program.
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) tests: Vec<&'a str>,
}

impl Run<'_> {
    /// Starts them in so many threads, waits for their end, and prints what failed and one line of counts.
    pub(super) fn start(&self, threads: usize, settings: &Settings) -> Done {
        let name = self.program.name();
        let mut command = self.program.command();
        settings.apply(&mut command);
        // --show-output is how the output of a passing test can be seen at all; only its `skipped:` lines are wanted.
        command.args(["--show-output", "--test-threads", &threads.to_string()]);
        if self.tests.len() < self.program.tests.len() {
            command.arg("--exact").args(&self.tests);
        }
        let names = self.tests.iter().map(|test| (*test).to_owned()).collect();
        let reader = Reader::new(&name, names, threads);
        let begun = Instant::now();
        match observe(&mut command, reader) {
            Ok((reader, shown, cpu, ended)) => {
                let (times, failures) = (reader.times().to_vec(), reader.failures());
                let outcome = reader.finish(ended, Least::One);
                if outcome.failed > 0 {
                    println!("{shown}");
                }
                let word = if outcome.failed > 0 { "FAILED" } else { "ok" };
                println!(
                    "{word:<6} {name}: {} passed, {} failed, {} skipped in {:.1} s, {:.1} CPU s",
                    outcome.passed,
                    outcome.failed,
                    outcome.skipped,
                    begun.elapsed().as_secs_f64(),
                    cpu.as_secs_f64()
                );
                Done { outcome, failures, times, cpu }
            }
            Err(note) => Done { outcome: Outcome::fail(note), ..Done::default() },
        }
    }
}

/// Runs a test program to its end: what it printed, read and as it is shown; its CPU time; how it ended.
fn observe(command: &mut Command, reader: Reader) -> Result<(Reader, String, Duration, ExitStatus), String> {
    let program = command.get_program().to_owned();
    let failed = |error: std::io::Error| format!("cannot run {}: {error}", program.display());
    let (output, input) = std::io::pipe().map_err(failed)?;
    let other = input.try_clone().map_err(failed)?;
    let mut child = command.stdout(input).stderr(other).spawn().map_err(failed)?;
    // The command keeps its ends of the pipe until it is given others.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let heard = Arc::new(Mutex::new((reader, String::new())));
    let hearing = std::thread::spawn({
        let heard = Arc::clone(&heard);
        move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line);
                let mut heard = heard.lock().expect("no thread panics with it");
                if heard.0.read(&line, Instant::now()) == Show::Yes {
                    heard.1.push_str(&line);
                    heard.1.push('\n');
                }
            }
        }
    });
    let begun = Instant::now();
    let mut cpu = Duration::ZERO;
    let mut hangs = false;
    // Looked at before it is waited for: afterwards its times are no longer its own.
    while let Some(process) = Process::of(child.id()) {
        cpu = process.own + process.children;
        if process.has_ended {
            break;
        }
        if begun.elapsed() > PROGRAM_MAX && !hangs {
            hangs = true;
            let _ = child.kill();
        }
        std::thread::sleep(LOOK);
    }
    let status = child.wait().map_err(|error| format!("cannot wait for a test program: {error}"))?;
    let ended = Instant::now();
    while !hearing.is_finished() && ended.elapsed() < OUTPUT_LATE_MAX {
        std::thread::sleep(LOOK);
    }
    let mut heard = heard.lock().expect("no thread panics with it");
    let reader = std::mem::take(&mut heard.0);
    let mut shown = std::mem::take(&mut heard.1);
    if hangs {
        shown.push_str("It was ended: it ran longer than PROGRAM_MAX (xtask/src/suite/program.rs).\n");
    }
    Ok((reader, shown, cpu, status))
}

/// Runs a command and hands on each line of its standard output; how it ended.
pub(super) fn follow(command: &mut Command, mut line: impl FnMut(&str)) -> Result<ExitStatus, String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let pipe = child.stdout.take().expect("stdout is piped");
    for bytes in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
        line(&String::from_utf8_lossy(&bytes));
    }
    child.wait().map_err(|error| format!("cannot wait for {command:?}: {error}"))
}

#[cfg(test)]
impl Program {
    /// A library's with these tests.
    pub(super) fn example(package: &str, tests: &[&str]) -> Self {
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        let (folder, path) = (PathBuf::from("/x"), PathBuf::from("/x/test"));
        Self { package: package.to_owned(), folder, target: "lib".to_owned(), path, tests }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn programs_and_the_command_are_read_from_cargos_messages() {
        let artifact = |package: &str, name: &str, kind: &str, test: bool, path: Option<&str>| {
            json!({
                "reason": "compiler-artifact", "package_id": package, "manifest_path": "/x/host/cli/Cargo.toml",
                "target": {"name": name, "kind": [kind]}, "profile": {"test": test}, "executable": path,
            })
        };
        let id = "path+file:///x/host/cli#loadline@0.1.0";
        let built = Built::read(&[
            artifact(id, "loadline", "bin", false, Some("/t/loadline")),
            artifact(id, "cli", "test", true, Some("/t/cli-1")),
            artifact("path+file:///x/xtask#0.1.0", "xtask", "bin", true, Some("/t/xtask-1")),
            artifact(id, "loadline_units", "lib", false, None),
            json!({"reason": "build-finished", "success": true}),
        ]);
        assert_eq!(built.command, Some("/t/loadline".into()));
        let names: Vec<String> = built.programs.iter().map(Program::name).collect();
        assert_eq!(names, ["loadline cli", "cli bin"]);
        assert_eq!(package("path+file:///x/xtask#0.1.0", Path::new("/x/xtask")), "xtask");
    }

    #[test]
    fn a_program_is_observed_to_its_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'running 1 test'; echo 'test a ... ok'; echo aside >&2; exit 3"]);
        let (reader, shown, _, ended) = observe(&mut command, Reader::new("p", vec!["a".to_owned()], 1)).unwrap();
        assert!(ended.code() == Some(3) && shown.contains("aside"), "{shown}");
        assert_eq!(reader.times().len(), 1);
    }
}
