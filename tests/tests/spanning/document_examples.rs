//! The commands in README.md and docs/ do what the documents say: they run, or at least take these arguments.

use loadline_tests::console::{Example, Trial, arguments, examples, files};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

/// Longer than any example may take; `timeout` ends what takes longer.
const SECONDS_MAX: &str = "300";
/// Documents whose examples are tried at the same time.
const DOCUMENTS_AT_ONCE: usize = 3;

/// README.md and every Markdown file below docs/, sorted.
fn documents() -> Vec<PathBuf> {
    let root = loadline_tests::root();
    let mut found = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A shell or a program in a folder and with a store of its own, so that nothing of the user's is touched.
fn prepared(program: &str, folder: &Path, loadline: &Path) -> Command {
    let mut command = Command::new("timeout");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = loadline.parent().expect("a program lies in a folder").to_path_buf();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path))).expect("paths join");
    command
        .args(["--kill-after=10", SECONDS_MAX, program])
        .current_dir(folder)
        .env("PATH", path)
        .env("HOME", folder)
        .env("XDG_DATA_HOME", folder)
        .env("LOADLINE_STORE", folder.join("runs.sqlite"))
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// What went wrong with an example, if anything did.
fn try_out(example: &Example, folder: &Path, loadline: &Path) -> Result<(), String> {
    let (output, wanted): (Output, i32) = match example.trial {
        Trial::Run { status } => {
            let run = prepared("sh", folder, loadline).args(["-e", "-c", &example.command]).output();
            (run.expect("sh can be started"), status)
        }
        Trial::Check => {
            let words = arguments(&example.command)?;
            // Parsing stops at --help, after everything before it was found to exist. Behind `--` is another program's command.
            let (own, others) = words.split_at(words.iter().position(|word| word == "--").unwrap_or(words.len()));
            let run = prepared("loadline", folder, loadline).args(&own[1..]).arg("--help").args(others).output();
            (run.expect("loadline can be started"), 0)
        }
    };
    if output.status.code() == Some(wanted) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}` ended with {} instead of {wanted}: {}", example.command, output.status, said.trim()))
}

/// The examples of a document, one after the other: later ones may use what earlier ones left. How many there were, and what
/// went wrong.
fn try_document(document: &Path, loadline: &Path) -> (usize, Vec<String>) {
    let Ok(text) = std::fs::read_to_string(document) else { return (0, Vec::new()) };
    let examples = examples(&text).unwrap_or_else(|error| panic!("{}: {error}", document.display()));
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, contents) in files(&text) {
        std::fs::write(folder.path().join(name), contents).expect("a file in a temporary folder");
    }
    let failure = |example: &Example| {
        let error = try_out(example, folder.path(), loadline).err()?;
        Some(format!("{}:{}: {error}", document.display(), example.line))
    };
    (examples.len(), examples.iter().filter_map(failure).collect())
}

#[test]
fn every_command_in_the_documents_works() {
    let loadline = loadline_tests::loadline();
    // Most examples wait for a measurement, which takes its time on any machine: several documents at once.
    let (waiting, tried) = (Mutex::new(documents()), Mutex::new((0, Vec::new())));
    let work = || {
        loop {
            let Some(document) = waiting.lock().unwrap().pop() else { return };
            let (count, failures) = try_document(&document, &loadline);
            let mut tried = tried.lock().unwrap();
            tried.0 += count;
            tried.1.extend(failures);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..DOCUMENTS_AT_ONCE {
            scope.spawn(work);
        }
    });
    let (tried, failures) = tried.into_inner().unwrap();
    assert!(tried > 0, "neither README.md nor docs/ holds a console block with a `$ loadline` command");
    assert!(failures.is_empty(), "{} of {tried} examples fail:\n{}", failures.len(), failures.join("\n"));
}

/// The lines of a document's block in YAML, with what is folded (`>`) joined.
fn yaml_lines(text: &str) -> Vec<String> {
    let block = text.split_once("```yaml\n").expect("a block in YAML").1.split_once("\n```").expect("its end").0;
    let mut lines: Vec<String> = Vec::new();
    let mut folded: Option<usize> = None;
    for line in block.lines() {
        let indent = line.len() - line.trim_start().len();
        assert!(!line.contains('\t') && indent % 2 == 0, "{line:?}");
        match folded {
            Some(of) if indent > of => {
                let last = lines.last_mut().expect("a line that begins the fold");
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => {
                folded = line.ends_with(": >").then_some(indent);
                lines.push(line.strip_suffix(" >").unwrap_or(line).to_owned());
            }
        }
    }
    lines
}

#[test]
fn the_workflow_for_ci_has_commands_that_are_understood_and_fails_on_worse_only() {
    let text = std::fs::read_to_string(loadline_tests::root().join("docs/formats/export.md")).unwrap();
    let lines = yaml_lines(&text);
    for key in ["name:", "on:", "jobs:", "    runs-on:", "    steps:"] {
        assert!(lines.iter().any(|line| line.starts_with(key)), "{key} in {lines:#?}");
    }
    let commands: Vec<&str> = lines.iter().filter_map(|line| line.trim_start().strip_prefix("run: ")).collect();
    let typed: Vec<&str> = commands.iter().map(|of| of.split(" >> ").next().unwrap()).collect();
    let console = typed.join("\n$ ");
    let found = examples(&format!("```console,no-run\n$ {console}\n```\n")).unwrap();
    assert_eq!((found.len(), commands.len()), (3, 3), "{console}");
    let loadline = loadline_tests::loadline();
    let folder = tempfile::tempdir().unwrap();
    for example in &found {
        try_out(example, folder.path(), &loadline).unwrap();
    }
    let compare = commands.iter().find(|of| of.contains(" compare ")).unwrap();
    assert!(compare.contains("--fail-if worse --cannot-tell pass"), "{compare}");
}
