//! What goes on, on a real terminal and without one: screen, keys, lines of JSON, and those who attach.

use crate::pty::Pty;
use crate::{Bench, schema_errors, text};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// A watch of every disk; a container may show none.
fn has_disk(bench: &Bench) -> bool {
    let tried = bench.run(&["watch", "--for", "100ms", "--quiet"]);
    tried.status.success()
}

macro_rules! or_skip {
    ($bench:expr) => {
        if !has_disk(&$bench) {
            println!("skipped: there is no disk to watch");
            return;
        }
    };
}

/// A shell with job control on a terminal of its own, which finds `loadline`.
fn shell(bench: &Bench) -> Pty {
    let mut shell = Command::new("bash");
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_loadline")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    shell.args(["--norc", "--noprofile", "-i"]).current_dir(bench.folder.path());
    shell
        .env("PATH", path)
        .env("PS1", "ready$ ")
        .env("LOADLINE_STORE", bench.path("store.db"))
        .env("XDG_RUNTIME_DIR", bench.folder.path());
    Pty::start(&shell, (80, 24))
}

#[test]
fn keys_size_and_job_control_are_as_on_any_terminal_and_the_verdict_stays() {
    let bench = Bench::new();
    or_skip!(bench);
    let mut terminal = shell(&bench);
    terminal.wait_for("ready$");
    terminal.press("loadline watch --for 10m\r");
    terminal.wait_for("HELD BY");
    assert!(!terminal.is_given_back());
    for (key, words) in
        [("?", "No key makes load"), ("?", "HELD BY"), ("2", "causes"), ("4", "of a known limit"), ("1", "60 s ago")]
    {
        terminal.press(key);
        terminal.wait_for(words);
    }
    terminal.press("mnight batch\x7fx\r");
    terminal.wait_for("night batcx");
    terminal.press(" ");
    terminal.wait_for("FROZEN");
    terminal.press(" ");
    terminal.resize((20, 5));
    terminal.wait("a small screen", |of| of.text().lines().all(|line| line.chars().count() <= 20));
    terminal.resize((80, 24));
    terminal.wait_for("own ");
    terminal.press("\x1a");
    terminal.wait("the shell", |of| of.is_given_back() && of.text().contains("Stopped"));
    terminal.press("fg\r");
    terminal.wait("the screen", |of| !of.is_given_back() && of.text().contains("HELD BY"));
    // It is judged from the fourth second on.
    terminal.wait("a verdict", |of| !of.text().contains("too early"));
    terminal.press("cq");
    terminal.wait("the verdict", |of| of.is_given_back() && of.scrollback().contains("Verdict"));
    terminal.press("stty -a\r");
    terminal.wait("an ordinary terminal", |of| of.text().contains(" icanon") && of.text().contains(" echo "));
    terminal.press("exit\r");
    terminal.child.wait().unwrap();
    let shown: Value = bench.document(&["show", "last"]);
    assert_eq!(shown["run"]["settings"]["marks"][0]["note"], "night batcx", "{:#}", shown["run"]);
}

#[test]
fn a_watch_that_is_ended_from_outside_gives_the_terminal_back() {
    let bench = Bench::new();
    or_skip!(bench);
    let mut terminal =
        Pty::start(bench.command(&["watch", "--for", "10m"]).env("XDG_RUNTIME_DIR", bench.folder.path()), (100, 30));
    terminal.wait_for("HELD BY");
    let pid = rustix::process::Pid::from_child(&terminal.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(terminal.child.wait().unwrap().success());
    terminal.wait("the verdict", |of| of.is_given_back() && of.scrollback().contains("Verdict"));
    assert!(terminal.was_taken());
}

#[test]
fn lines_of_json_are_as_published_and_a_terminal_that_cannot_draw_has_words() {
    let bench = Bench::new();
    or_skip!(bench);
    let printed = bench.done(&["watch", "--for", "2s", "--live", "-"]);
    let frames: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!frames.is_empty());
    for frame in &frames {
        assert_eq!(schema_errors(frame), Vec::<String>::new(), "{frame:#}");
    }
    let file = bench.path("frames.jsonl").display().to_string();
    let output = bench.run(&["watch", "--for", "300ms", "--live", &file]);
    assert!(output.status.success() && text(&output.stdout).contains("Verdict"));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with('{'));
    let refused = bench.refused(2, &["watch", "--for", "1s", "--live", &file]);
    assert!(refused.contains("exists; name another file"), "{refused}");
    let mut dumb = bench.command(&["watch", "--for", "10m", "--lines"]);
    let terminal = Pty::start(dumb.env("XDG_RUNTIME_DIR", bench.folder.path()), (100, 30));
    terminal.wait_for("held by");
    assert!(terminal.is_given_back());
}

#[test]
fn others_of_the_same_user_attach_and_leave_and_the_watch_goes_on() {
    let bench = Bench::new();
    or_skip!(bench);
    let own = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        command.env("XDG_RUNTIME_DIR", bench.folder.path());
        command
    };
    let none = own(&["live"]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("start `loadline watch` first"), "{}", text(&none.stderr));
    let mut watch = own(&["watch", "--for", "10m", "--quiet"]).spawn().unwrap();
    let socket = || {
        let files = std::fs::read_dir(bench.folder.path()).unwrap().flatten();
        files.map(|file| file.path()).find(|path| path.extension().is_some_and(|end| end == "sock"))
    };
    while socket().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(std::fs::metadata(socket().unwrap()).unwrap().permissions().mode() & 0o777, 0o600);
    let mut attached = Pty::start(&own(&["live"]), (80, 24));
    attached.wait_for("q leave");
    attached.press("m");
    attached.wait_for("where the run was started");
    attached.press("q");
    attached.wait("the end of it", |of| of.is_given_back() && of.text().contains("goes on"));
    assert!(watch.try_wait().unwrap().is_none());
    // A reader that is attached when it ends sees that.
    let last = Pty::start(&own(&["live", "--lines"]), (80, 24));
    let pid = rustix::process::Pid::from_child(&watch);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    last.wait("the end of the watch", |of| {
        of.text().contains("ended") || of.text().contains("does not run here") || of.text().contains("first")
    });
    assert!(watch.wait().unwrap().success());
    assert!(socket().is_none(), "the socket goes with its run");
}
