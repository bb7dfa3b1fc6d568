//! The command on Windows, tried under Wine: each verb that touches no device of Linux prints the same figures there as here. And whether
//! it compiles for macOS.

mod trials;

use crate::step::{Outcome, cargo, check, target};
use crate::wine::Wine;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;
use trials::{ABSENT, INPUTS, NO_FILES, PATHS, TRIALS, Trial};

/// What the command is built for.
const WINDOWS: &str = "x86_64-pc-windows-gnu";
const MACOS: &str = "aarch64-apple-darwin";
/// Programs that this takes, and the Debian packages that have them.
const PROGRAMS: [(&str, &str); 2] = [("wine", "wine"), ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")];
/// The store that every trial names.
const STORE: &str = "runs.db";
/// How a command ends that was typed wrongly, and one whose store cannot be used.
const USAGE: i32 = 2;
const STORE_FAILED: i32 = 1;
/// Keys of JSON whose values are of the time or of the machine.
const VARYING: [&str; 9] = ["id", "run", "started", "started_unix_s", "host", "hostname", "hash", "fetched", "elapsed"];

/// The beginning of lines that do, where each line is a figure.
const STARTED: &str = "loadline_run_started_timestamp";

/// Files in which ids and times are packed: they are as long as one another.
const PACKED: &str = ".parquet";

/// Builds the command for both systems, and tries each verb on both.
pub(crate) fn step(root: &Path) -> Outcome {
    let missing: Vec<&str> =
        PROGRAMS.iter().filter(|(name, _)| crate::peers::find(name).is_none()).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        return Outcome::skip(format!("the command on Windows (apt-get install {})", missing.join(" ")));
    }
    let mut outcome = check(
        cargo(root).args(["build", "--package", "loadline", "--target", WINDOWS]),
        &format!("it does not build for Windows: see above, and `rustup target add {WINDOWS}`"),
    );
    outcome.add(check(cargo(root).args(["build", "--package", "loadline"]), "it does not build: see above"));
    if outcome.failed == 0 {
        outcome.add(tried(root).unwrap_or_else(|error| Outcome::fail(format!("{error:#}"))));
    }
    outcome.add(macos(root));
    outcome
}

/// Whether it compiles for macOS. C in it is taken as compiled: there is no compiler for that here, and a check does without.
fn macos(root: &Path) -> Outcome {
    let mut command = cargo(root);
    command.args(["check", "--package", "loadline", "--target", MACOS]);
    command.env("CC_aarch64_apple_darwin", "true").env("AR_aarch64_apple_darwin", "true");
    check(&mut command, &format!("it does not compile for macOS: see above, and `rustup target add {MACOS}`"))
}

/// One of the two commands, with a folder of its own.
struct System {
    program: PathBuf,
    folder: PathBuf,
    /// `None`: this machine's.
    wine: Option<Wine>,
}

impl System {
    fn command(&self, words: &[&str]) -> Command {
        let mut command =
            self.wine.as_ref().map_or_else(|| Command::new(&self.program), |wine| wine.command(&self.program));
        command.args(words).current_dir(&self.folder).stdin(Stdio::null());
        command.env_remove("LOADLINE_STORE").env("XDG_DATA_HOME", self.folder.join("data")).env("NO_COLOR", "1");
        command
    }

    /// The drive `C:` of Wine.
    fn drive(&self) -> PathBuf {
        self.wine.as_ref().expect("it is Windows").drive()
    }

    fn run(&self, words: &[&str]) -> Result<Output> {
        let begun = Instant::now();
        let output = self.command(words).output().with_context(|| format!("cannot start {words:?}"))?;
        println!(
            "  {:>5.1} s  {}{}",
            begun.elapsed().as_secs_f64(),
            if self.wine.is_some() { "wine " } else { "" },
            words.join(" ")
        );
        Ok(output)
    }
}

fn tried(root: &Path) -> Result<Outcome> {
    let place = target(root).join("windows-trial");
    if place.exists() {
        fs::remove_dir_all(&place).with_context(|| format!("cannot empty {}", place.display()))?;
    }
    let built = target(root);
    let wine = crate::peers::find("wine").expect("it was looked for");
    let linux = System { program: built.join("debug/loadline"), folder: place.join("linux"), wine: None };
    let windows = System {
        program: built.join(WINDOWS).join("debug/loadline.exe"),
        folder: place.join("windows"),
        wine: Some(Wine::in_folder(wine, place.join("wine"), Command::new(PROGRAMS[1].0))?),
    };
    for system in [&linux, &windows] {
        inputs(root, &system.folder)?;
    }
    let mut outcome = Outcome::default();
    let mut held = |what: String, result: Result<()>| match result {
        Ok(()) => outcome.passed += 1,
        Err(error) => {
            outcome.failed += 1;
            outcome.notes.push(format!("{what}: {error:#}"));
        }
    };
    for trial in TRIALS {
        held(trial.words.join(" "), compared(trial, &linux, &windows));
    }
    for (words, instead) in ABSENT {
        held(words.join(" "), refused(&windows, words, USAGE, instead));
    }
    for name in NO_FILES {
        held(
            format!("report -o {name}"),
            refused(&windows, &["report", "a", "-o", name, "--store", STORE], USAGE, name),
        );
    }
    held("--store NUL".into(), refused(&windows, &["import", "fio.json", "--store", "NUL"], STORE_FAILED, "NUL"));
    for (path, lies) in PATHS {
        held(format!("report -o {path}"), written(&windows, path, lies));
    }
    held("a store of the user's own".into(), own_store(&windows));
    held("Ctrl-C".into(), interrupted(&windows));
    // Wine's drive takes most of a gigabyte; what Wine still has open is left to the next trial.
    let _ = fs::remove_dir_all(place.join("wine"));
    Ok(outcome)
}

/// Lays out what the trials read: files of the repository, and one of them as `relog` writes it.
fn inputs(root: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (from, name) in INPUTS {
        let bytes = fs::read(root.join(from)).with_context(|| format!("cannot read {from}"))?;
        let text = String::from_utf8_lossy(&bytes);
        if let Some(wide) = name.strip_prefix("wide-") {
            let units: Vec<u8> =
                "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
            fs::write(folder.join(format!("wide-{wide}")), units)?;
        } else {
            fs::write(folder.join(name), &bytes)?;
        }
    }
    Ok(())
}

/// Whether a command ends alike on both systems, with the same figures.
fn compared(trial: &Trial, linux: &System, windows: &System) -> Result<()> {
    let words = |trial: &Trial| -> Vec<&'static str> {
        let stored = if trial.is_stored { &["--store", STORE][..] } else { &[] };
        trial.words.iter().chain(stored).copied().collect()
    };
    let words = words(trial);
    let outputs = [linux.run(&words)?, windows.run(&words)?];
    let [here, there] = outputs.each_ref().map(|output| output.status.code());
    if here != there || here != Some(trial.status) {
        let said = outputs.each_ref().map(|output| String::from_utf8_lossy(&output.stderr).trim().to_owned());
        bail!("status {here:?} here, {there:?} there, {} expected: {said:?}", trial.status);
    }
    let texts = match trial.writes {
        Some(file) => {
            let read =
                |system: &System| fs::read(system.folder.join(file)).with_context(|| format!("{file} is not there"));
            let read = |system| {
                read(system)
                    .map(|bytes| if file.ends_with(PACKED) { format!("{} bytes", bytes.len()).into() } else { bytes })
            };
            [read(linux)?, read(windows)?]
        }
        None => outputs.map(|output| if output.stdout.is_empty() { output.stderr } else { output.stdout }),
    };
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let named = |text: String| in_small(&text, host.trim());
    let [here, there] = texts.each_ref().map(|bytes| named(plain(&String::from_utf8_lossy(bytes))));
    anyhow::ensure!(!here.trim().is_empty(), "nothing was printed");
    if here != there {
        let place =
            here.bytes().zip(there.bytes()).take_while(|(here, there)| here == there).count().saturating_sub(40);
        let part = |text: &str| {
            String::from_utf8_lossy(&text.as_bytes()[place.min(text.len())..]).chars().take(80).collect::<String>()
        };
        bail!("it differs: {:?} here, {:?} there", part(&here), part(&there));
    }
    Ok(())
}

/// With the machine's name, which Windows has in capitals, as it is here.
fn in_small(text: &str, host: &str) -> String {
    let capitals = host.to_uppercase();
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once(&capitals).filter(|_| !capitals.is_empty()) {
        let is_word = !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric);
        plain.push_str(before);
        plain.push_str(if is_word { host } else { &capitals });
        rest = after;
    }
    plain + rest
}

/// A text without what is of the time or the machine: run ids, and values of some keys of JSON.
fn plain(text: &str) -> String {
    let text = match serde_json::from_str::<Value>(text) {
        Ok(mut json) => {
            without_varying(&mut json);
            serde_json::to_string_pretty(&json).expect("it was JSON")
        }
        Err(_) => {
            text.lines().filter(|line| !line.starts_with(STARTED)).fold(String::new(), |all, line| all + line + "\n")
        }
    };
    without_ids(&text)
}

fn without_varying(json: &mut Value) {
    match json {
        Value::Object(fields) => {
            fields.retain(|key, _| !VARYING.contains(&&**key));
            fields.values_mut().for_each(without_varying);
        }
        Value::Array(all) => all.iter_mut().for_each(without_varying),
        _ => {}
    }
}

/// Run ids and times, in UTC and as pages show them, and the words that stand for them.
const FORMS: [(&str, &str); 3] =
    [("dddddddd-dddddd-xxxxxx", "RUN"), ("dddd-dd-ddTdd:dd:ddZ", "TIME"), ("dddd-dd-dd dd:dd", "TIME")];

/// With a word for each id and time.
fn without_ids(text: &str) -> String {
    let matches = |rest: &str, form: &str| {
        rest.len() >= form.len()
            && rest.bytes().zip(form.bytes()).all(|(byte, form)| match form {
                b'd' => byte.is_ascii_digit(),
                b'x' => byte.is_ascii_hexdigit(),
                _ => byte == form,
            })
    };
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(next) = rest.chars().next() {
        let form = FORMS.iter().find(|(form, _)| matches(rest, form));
        let (word, length) =
            form.map_or((&rest[..next.len_utf8()], next.len_utf8()), |(form, word)| (word, form.len()));
        plain.push_str(word);
        rest = &rest[length..];
    }
    plain
}

/// Whether a command is refused in one sentence that has these words.
fn refused(windows: &System, words: &[&str], status: i32, has: &str) -> Result<()> {
    let output = windows.run(words)?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.code() == Some(status), "status {:?}: {}", output.status.code(), said.trim());
    anyhow::ensure!(said.trim().lines().count() == 1 && said.contains(has), "{}", said.trim());
    Ok(())
}

/// Whether a report is written where a path of Windows leads.
fn written(windows: &System, path: &str, lies: &str) -> Result<()> {
    let output = windows.run(&["report", "a", "-o", path, "--store", STORE])?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    let there = windows.drive().join(lies);
    anyhow::ensure!(there.is_file(), "{} is not there", there.display());
    Ok(())
}

/// Whether runs lie below the user's own data, where no store is named.
fn own_store(windows: &System) -> Result<()> {
    let output = windows.run(&["import", "crystaldiskmark.txt", "--name", "own"])?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    let users = windows.drive().join("users");
    let stores = fs::read_dir(&users)?.flatten().map(|user| user.path().join("AppData/Local/loadline").join(STORE));
    anyhow::ensure!(stores.into_iter().any(|store| store.is_file()), "there is no store below {}", users.display());
    Ok(())
}

/// Whether Ctrl-C on a console ends a long prediction in order: what was finished is kept, and the command that carries on is printed.
fn interrupted(windows: &System) -> Result<()> {
    let words = ["predict", "matrix-200", "--env", "ds3-p30", "--seed", "7", "--name", "cut", "--store", STORE];
    let typed = windows.command(&words);
    let quoted = |word: &OsStr| format!("'{}'", word.to_string_lossy());
    let line: Vec<String> = [typed.get_program()].into_iter().chain(typed.get_args()).map(quoted).collect();
    let mut console = Command::new("script");
    console.args(["-qec", &line.join(" "), "/dev/null"]).current_dir(&windows.folder);
    console.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::piped());
    let mut child = console.stdout(Stdio::piped()).spawn()?;
    let mut keyboard = child.stdin.take().context("no keyboard")?;
    // The bar is drawn when trials are done.
    let mut screen = BufReader::new(child.stdout.take().context("no screen")?).split(b'%');
    screen.nth(20).context("it ended before it was interrupted")??;
    keyboard.write_all(b"\x03")?;
    let rest: Vec<u8> = screen.collect::<io::Result<Vec<_>>>()?.concat();
    let (status, said) = (child.wait()?, String::from_utf8_lossy(&rest));
    anyhow::ensure!(status.code() == Some(130), "{status}: {}", said.trim());
    let shown = windows.run(&["show", "cut", "--format", "json", "--store", STORE])?;
    let json: BTreeMap<String, Value> =
        serde_json::from_slice(&shown.stdout).context("what was finished is not kept")?;
    anyhow::ensure!(json.contains_key("cells"), "what was finished is not kept");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_name_is_a_word() {
        assert_eq!(in_small("VM, of VMs \u{b7} VM", "vm"), "vm, of VMs \u{b7} vm");
        assert_eq!(in_small("VM", ""), "VM");
    }

    #[test]
    fn what_is_of_the_time_or_the_machine_is_left_out() {
        let text = r#"{"run": "x", "cells": [{"id": 1, "iops": 2.5}], "text": "of 20260131-142233-abcdef at 2026-01-31T14:22:33Z, 7-8"}"#;
        let json: Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(json, serde_json::json!({"cells": [{"iops": 2.5}], "text": "of RUN at TIME, 7-8"}));
        assert_eq!(plain("20260131-142233-abcdef\u{e9} 2026-01-31 14:22"), "RUN\u{e9} TIME\n");
    }
}
