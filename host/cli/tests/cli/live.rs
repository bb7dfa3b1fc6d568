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
    assert!(text(&none.stderr).contains("start `loadline watch` or"), "{}", text(&none.stderr));
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
    attached.wait_for("where a watch was started");
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

/// A plan of two cells that the null target serves, its trials of this time.
fn null_plan(bench: &Bench, time: &str) -> String {
    let plan = format!(
        "schema = 1\nname = \"null\"\n[[load]]\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\nqueue_depth = [1, 4]\nsize = \"64 MiB\"\nwarm_up = \"0 s\"\n\
         duration = \"{time}\"\ntrials = 1\nfill = \"never\"\n"
    );
    bench.file("plan.toml", &plan)
}

/// The frames of standard output, each as published.
fn frames(output: &std::process::Output) -> Vec<Value> {
    let frames: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for frame in &frames {
        assert_eq!(schema_errors(frame), Vec::<String>::new(), "{frame:#}");
    }
    frames
}

#[test]
fn frames_of_a_run_name_its_cells_and_end_with_what_the_stored_run_says() {
    let bench = Bench::new();
    let output = bench.run(&["run", &null_plan(&bench, "3500ms"), "--on", "data=null", "--live", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let frames = frames(&output);
    assert!(text(&output.stderr).contains("Verdict"), "the verdict stands beside the frames");
    let steps: Vec<&str> = frames.iter().filter_map(|frame| frame["step"]["label"].as_str()).collect();
    for depth in ["depth 1", "depth 4"] {
        assert!(steps.iter().any(|label| label.ends_with(depth)), "{steps:?}");
    }
    assert!(
        frames.iter().any(|frame| frame["step"]["phase"] == "measuring" && frame["volumes"][0]["iops"].is_number())
    );
    let shown: Value = bench.document(&["show", "last"]);
    let last = frames.last().unwrap();
    assert_eq!(last["run"], shown["run"]["id"]);
    assert_eq!(last["cells"].as_array().unwrap().len(), 2);
    let verdict = &shown["verdict"]["volumes"][0];
    assert_eq!(last["volumes"][0]["judged"]["limit"], verdict["limit"]);
    assert_eq!(last["said"][0]["held_by"], verdict["held_by"]);
    assert_eq!(last["said"][0]["command"], verdict["command"]);
    for cell in last["cells"].as_array().unwrap() {
        let stored = shown["cells"].as_array().unwrap().iter().find(|stored| stored["id"] == cell["cell"]).unwrap();
        assert_eq!(cell["limit"], stored["binding"]["limit"], "{cell:#}");
        assert_eq!(cell["iops"], stored["total"]["iops"]);
    }
}

#[test]
fn a_run_on_a_terminal_has_a_screen_and_what_was_said_meanwhile_stays() {
    let bench = Bench::new();
    let plan = null_plan(&bench, "3s");
    let mut run = bench.command(&["run", &plan, "--on", "data=null"]);
    let mut terminal = Pty::start(run.env("XDG_RUNTIME_DIR", bench.folder.path()), (80, 24));
    terminal.wait_for("TRIAL");
    terminal.wait("a measured cell", |of| of.text().contains("measured") && of.text().contains("depth 1"));
    assert!(!terminal.is_given_back());
    let attached =
        bench.command(&["live", "--live", "-"]).env("XDG_RUNTIME_DIR", bench.folder.path()).output().unwrap();
    assert!(frames(&attached).iter().any(|frame| frame["step"]["phase"] == "measuring"), "{}", text(&attached.stderr));
    assert!(terminal.child.wait().unwrap().success());
    terminal.wait("the verdict", |of| of.is_given_back() && of.scrollback().contains("Verdict"));
    assert!(terminal.scrollback().contains("1 of 2: "), "{}", terminal.scrollback());
}

#[test]
fn frames_of_a_crawl_name_its_sources_and_end_with_what_the_stored_crawl_says() {
    let bench = Bench::new();
    let plan = "name = \"farm\"\n[[source]]\nname = \"site\"\nslots = 2\nmade_up = { seed = 1, pages = 350, size = \"2 KiB\", latency = \"20 ms\", \
                spread = 0.2, bad = false }\n[commit]\nevery_items = 10\n";
    let plan = bench.file("farm.toml", plan);
    let output = bench.run(&["crawl", &plan, "--live", "-"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let frames = frames(&output);
    assert!(frames.len() > 2, "{}", frames.len());
    for frame in &frames {
        assert_eq!(frame["crawl"]["sources"][0]["name"], "site", "{frame:#}");
        assert_eq!(frame["said"][0]["volume"], "site");
    }
    assert!(frames.iter().any(|frame| frame["crawl"]["sources"][0]["items_per_s"].as_f64() > Some(0.0)));
    assert_eq!(frames[0]["crawl"]["sources"][0]["bound"], Value::Null, "it is too early to say");
    let shown: Value = bench.document(&["show", "last"]);
    let last = frames.last().unwrap();
    assert_eq!(last["run"], shown["run"]["id"]);
    assert_eq!(last["crawl"]["sources"][0]["bound"], shown["sources"][0]["bound"]["attribution"], "{last:#}");
}

#[test]
fn frames_of_an_emulation_have_its_volumes_and_end_when_it_does() {
    let bench = Bench::new();
    let socket = bench.path("nbd.sock").display().to_string();
    let words = ["emulate", "a3-standard", "--socket", &socket, "--no-record", "--live", "-"];
    let mut emulation = bench.command(&words).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut output = std::io::BufReader::new(emulation.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    let frame: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(schema_errors(&frame), Vec::<String>::new(), "{frame:#}");
    assert_eq!((&frame["verb"], &frame["volumes"][0]["name"]), (&"emulate".into(), &"data".into()));
    let exports = frame["emulation"]["exports"].as_array().unwrap();
    assert_eq!((exports.len(), &frame["emulation"]["faults"]), (1, &Value::Array(Vec::new())));
    let pid = rustix::process::Pid::from_child(&emulation);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(emulation.wait().unwrap().success());
}
