//! `emulate` from the outside.

use crate::devices::{Memory, wait_until};
use crate::nbd_client::{PAIR, ask, requests};
use crate::{Bench, or_skip, text};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Starts it, and waits until its socket accepts.
pub(crate) fn start(bench: &Bench, more: &[&str]) -> Child {
    start_on(bench, PAIR, more)
}

/// Emulates an environment of one's own.
pub(crate) fn start_on(bench: &Bench, environment: &str, more: &[&str]) -> Child {
    let environment = bench.file("pair.toml", environment);
    let socket = bench.path("s").display().to_string();
    let mut command = bench.command(&["emulate", &environment, "--socket", &socket, "--seed", "1"]);
    let child = command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while UnixStream::connect(bench.path("s")).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

pub(crate) fn end(child: Child, signal: &str) -> (i32, String, String) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn it_serves_until_it_is_asked_to_end_and_tells_what_it_did() {
    for signal in ["-TERM", "-INT"] {
        let bench = Bench::new();
        let child = start(&bench, &["--format", "json"]);
        assert_eq!(requests(&bench.path("s"), &[1, 0, 0]), [0; 3]);
        let (status, out, err) = end(child, signal);
        assert_eq!(status, 0, "{err}");
        let document: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(crate::schema_errors(&document), Vec::<String>::new());
        let rows = &document["rows"];
        let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["export"].as_str().unwrap()).collect();
        assert_eq!(names, ["data", "log"]);
        assert!(rows[1]["iops"].is_null() && rows[1]["requests"] == 0 && rows[1]["bound_by"].is_null(), "{out}");
        for export in ["data", "log", "data/0", "data/1", "log/0"] {
            assert!(err.contains(&format!("nbd+unix:///{export}?socket=")), "{err}");
        }
        assert!(!bench.path("s").exists(), "its socket stays");
        assert!(err.contains("loadline show "), "{err}");
        let total = &bench.last()["cells"][0]["total"];
        for (told, kept) in [("iops", "iops"), ("bytes_per_s", "throughput_bytes_per_s")] {
            let (told, kept) = (rows[0][told].as_f64().unwrap(), total[kept].as_f64().unwrap());
            assert!(told > 0.0 && (told / kept - 1.0).abs() < 1e-6, "{told} here, {kept} in the run");
        }
        assert_eq!(crate::schema_errors(&bench.last()), Vec::<String>::new());
        for format in ["table", "markdown", "csv"] {
            bench.done(&["show", "last", "--format", format]);
        }
        bench.done(&["report", "last", "-o", "report.html"]);
    }
}

#[test]
fn troubles_of_an_emulation_are_told_to_whoever_runs_it_and_cost_nothing_else() {
    let bench = Bench::new();
    let small = or_skip!(Memory::mount(&bench.path("small"), "size=4k"), "cannot mount");
    let trace = format!("{}/trace", small.0);
    let child = start(&bench, &["--trace", &trace, "--memory-max", "2 MiB", "--write-cache", "0 B"]);
    // Each page of a mirror takes two; the trace has no room either.
    let pages: Vec<(u16, u64, u32)> = (0..600).map(|page| (1, page * 4_096, 512)).collect();
    assert!(ask(&bench.path("s"), &pages).contains(&28));
    std::thread::sleep(Duration::from_millis(1_500));
    let (status, out, err) = end(child, "-INT");
    assert!(status == 1 && err.contains("cannot write the trace"), "{err}");
    assert!(err.contains("contents: in memory, up to 2.00 MiB"), "{err}");
    assert!(err.contains("Contents fill the 2 MiB of memory"), "{err}");
    assert!(out.contains("data") && err.contains("loadline show ") && bench.runs().len() == 1, "{err}");
    std::fs::remove_file(&trace).unwrap();
    let child = start(&bench, &["--backing", &format!("{}/disks", small.0)]);
    assert!(requests(&bench.path("s"), &[1; 8]).contains(&28), "it has room for them");
    let (status, _, err) = end(child, "-INT");
    assert!(status == 0 && err.contains("The folder of --backing failed"), "{err}");
}

#[test]
fn a_recorded_emulation_is_replayed_and_what_it_cannot_know_is_told() {
    let bench = Bench::new();
    let trace = bench.path("trace").display().to_string();
    let child = start(&bench, &["--trace", &trace]);
    assert_eq!(ask(&bench.path("s"), &[(1, 0, 512), (0, 0, 512), (0, 0, 512), (0, 1_000 << 20, 512)]), [0; 4]);
    assert_eq!(end(child, "-TERM").0, 0);
    let environment = bench.path("pair.toml").display().to_string();
    for (by, blind) in [("time", "queues"), ("answers", "by the clock")] {
        let output = bench.run(&["replay", &trace, "--env", &environment, "--by", by, "--seed", "1"]);
        let err = text(&output.stderr);
        assert!(output.status.success() && err.contains(blind) && !err.contains("cut short"), "{err}");
    }
    assert!(bench.done(&["show", "last"]).contains("recorded load"));
    let bytes = std::fs::read(&trace).unwrap();
    let cut = bench.file("cut", &bytes[..bytes.len() - 44]);
    let output = bench.run(&["replay", &cut, "--env", &environment]);
    assert!(text(&output.stderr).contains("was cut short") && text(&output.stdout).contains("ended-early"));
    // The four requests and the end are gone.
    let empty = bench.file("empty", &bytes[..bytes.len() - 5 * 44]);
    let told = bench.refused(1, &["replay", &empty, "--env", &environment]);
    assert!(told.contains("cut short") && told.contains("record it again, where there is room"), "{told}");
    let none = bench.file("none.toml", PAIR.replace("1 GiB", "1 MiB"));
    let told = bench.refused(1, &["replay", &trace, "--env", &none]);
    assert!(told.contains("asks for 2.00 MiB") && told.contains("environment file"), "{told}");
}

/// An emulation whose volumes are attached. Dropped, it is killed and taken down, so that nothing of this machine waits for it.
struct Attached<'a> {
    bench: &'a Bench,
    child: Option<Child>,
    folder: String,
    said: Arc<Mutex<String>>,
}

impl<'a> Attached<'a> {
    /// `None`, and said so: this machine cannot.
    fn start(bench: &'a Bench) -> Option<Self> {
        let folder = bench.path("files").display().to_string();
        let mut attached = Self { bench, child: None, folder, said: Arc::default() };
        attached.restart().then_some(attached)
    }
    /// Where another one ran before, or none; `false`, and said so: this machine cannot.
    fn restart(&mut self) -> bool {
        let environment = self.bench.file("pair.toml", PAIR);
        let socket = self.bench.path("s").display().to_string();
        let words = ["emulate", &environment, "--socket", &socket, "--attach", &self.folder, "--attach-by", "fuse"];
        // Who runs the tests may keep them from hanging up; programs inherit that, and keep to it.
        let mut command = self.bench.command_by(&["env", "--default-signal=HUP"], &words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stderr.take().unwrap();
        let heard = Arc::clone(&self.said);
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                heard.lock().unwrap().push_str(&text(&bytes[..count]));
            }
        });
        self.child = Some(child);
        let begun = Instant::now();
        while UnixStream::connect(self.bench.path("s")).is_err() {
            if self.child().try_wait().unwrap().is_some() {
                assert!(wait_until(|| self.said().contains("cannot")), "{}", self.said());
                println!("skipped: emulate --attach ({})", self.said());
                return false;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "it does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
    fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it has not ended")
    }
    fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }
    /// Waits until it has said something so often.
    fn hears(&self, what: &str, times: usize) {
        let heard = || self.said().matches(what).count() >= times;
        assert!(wait_until(heard), "not {times} times {what}: {}", self.said());
    }
    /// The loop devices over a file of the folder.
    fn devices(&self, file: &str) -> Vec<String> {
        let file = format!("{}/{file}", self.folder);
        let devices = std::fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap());
        let over = devices.filter(|device| {
            std::fs::read_to_string(device.path().join("loop/backing_file")).is_ok_and(|over| over.trim_end() == file)
        });
        over.map(|device| device.file_name().into_string().unwrap()).collect()
    }
    fn fault(&self, words: &[&str]) -> String {
        let socket = self.bench.path("s").display().to_string();
        self.bench.done(&[&["fault", &socket][..], words].concat())
    }
    /// Its exit status, and what it said; gives up after a while.
    fn end(mut self, signal: &str) -> (i32, String) {
        let process = self.child().id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
        let child = self.child();
        assert!(wait_until(|| child.try_wait().unwrap().is_some()), "{signal} does not end it");
        let status = self.child.take().unwrap().wait().unwrap();
        // It says this last, but for what it stores.
        self.hears("Emulated pair", 1);
        (status.code().unwrap_or(-1), self.said())
    }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = self.bench.command(&["emulate", "--detach", &self.folder]).output();
    }
}

#[test]
fn a_living_emulation_is_not_detached_and_a_closed_terminal_ends_it_in_order() {
    let bench = Bench::new();
    let Some(mut attached) = Attached::start(&bench) else { return };
    let process = attached.child().id();
    let refused = bench.refused(1, &["emulate", "--detach", &attached.folder]);
    assert!(refused.contains(&format!("as process {process}")) && refused.contains("Ctrl-C"), "{refused}");
    assert_eq!(attached.devices("data").len(), 1);
    // Its folder is lost all the same, by somebody else's hand.
    let device = format!("/dev/{}", attached.devices("data")[0]);
    assert!(Command::new("umount").args(["--lazy", &attached.folder]).status().unwrap().success());
    attached.fault(&["--power-cut", "--seed", "1"]);
    assert_eq!(requests(&bench.path("s"), &[0]), [0]);
    attached.hears("data was switched off and on, and has no block device any more", 1);
    assert_eq!(requests(&bench.path("s"), &[0]), [0]);
    let folder = attached.folder.clone();
    let (status, said) = attached.end("-HUP");
    assert_eq!(status, 0, "{said}");
    let backing = format!("/sys/block/{}/loop/backing_file", device.trim_start_matches("/dev/"));
    assert!(!std::fs::read_to_string(backing).is_ok_and(|file| file.starts_with(&folder)));
    assert_eq!(bench.runs().len(), 1);
}

#[test]
fn over_tcp_alone_faults_are_taken_where_the_default_socket_would_be() {
    let bench = Bench::new();
    let environment =
        bench.file("odd.toml", "schema = 1\nname = \"odd\"\n[[volume.data.disks]]\nsize = \"100001 B\"\n");
    let start = || {
        let mut command = bench.command(&["emulate", &environment, "--listen", "127.0.0.1:0"]);
        command.env("XDG_RUNTIME_DIR", bench.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let control = bench.path("loadline-odd.sock.control");
    let child = start();
    assert!(wait_until(|| UnixStream::connect(&control).is_ok()), "no control socket");
    bench.done(&["fault", &bench.path("loadline-odd.sock").display().to_string(), "data", "--hang"]);
    // A second one goes without.
    let mut second = start();
    let mut said = String::new();
    let mut lines = std::io::BufReader::new(second.stderr.take().unwrap());
    while !said.contains("Emulating odd") {
        assert!(std::io::BufRead::read_line(&mut lines, &mut said).unwrap() > 0, "{said}");
    }
    assert!(said.contains("--control names a place"), "{said}");
    assert_eq!(end(second, "-TERM").0, 0);
    let (status, _, said) = end(child, "-TERM");
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("data: 100001 B is no multiple of 512 B") && said.contains(": clients see "), "{said}");
    assert!(said.contains("faults: loadline fault") && !control.exists(), "{said}");
}

#[test]
fn what_a_killed_emulation_left_attached_is_taken_down() {
    let bench = Bench::new();
    let name = bench.path("files").display().to_string();
    let nothing = bench.refused(1, &["emulate", "--detach", &name]);
    assert!(nothing.contains("no emulation is attached there"), "{nothing}");
    let Some(mut attached) = Attached::start(&bench) else { return };
    assert!(bench.path("files").join("data").exists() && bench.path("files").join("log.0").exists());
    attached.child().kill().unwrap();
    attached.child().wait().unwrap();
    let output = bench.command(&["emulate", "--detach", &name]).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success() && said.matches("Released /dev/loop").count() == 2, "{said}");
    assert!(said.contains("Unless it was to keep no record, what it did is in the store"), "{said}");
    // The next one on the same folder, socket and all takes it down by itself.
    attached.restart();
    attached.child().kill().unwrap();
    attached.child().wait().unwrap();
    attached.restart();
    attached.hears("was killed left", 1);
    assert_eq!(attached.devices("data").len(), 1);
    assert_eq!(requests(&bench.path("s"), &[0]), [0]);
    let (status, said) = attached.end("-INT");
    assert!(status == 0 && said.matches("Released /dev/loop").count() == 2, "{said}");
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!table.contains(&name), "{table}");
}

#[test]
fn who_gets_no_export_is_told_to_whoever_runs_it_and_counted() {
    let bench = Bench::new();
    let child = start(&bench, &["--metrics", "127.0.0.1:0"]);
    let mut stream = UnixStream::connect(bench.path("s")).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(stream);
    let socket = bench.path("s").display().to_string();
    let status = || -> serde_json::Value {
        serde_json::from_str(&bench.done(&["fault", &socket, "--status", "--format", "json"])).unwrap()
    };
    assert!(wait_until(|| status()["refused_total"] == 1), "{}", status());
    let (status, _, err) = end(child, "-INT");
    assert_eq!(status, 0, "{err}");
    let me = format!("Refused a client, process {} (", std::process::id());
    assert_eq!(err.matches(&me).count(), 1, "{err}");
    assert!(err.contains("): what it sent is not the beginning of an NBD connection."), "{err}");
}

#[test]
fn whoever_may_open_few_files_still_takes_orders_when_clients_have_them_all() {
    let bench = Bench::new();
    let environment = bench.file("pair.toml", PAIR);
    let socket = bench.path("s").display().to_string();
    // Both the limit that is set and the one that it can be raised to.
    let limited = ["sh", "-c", "ulimit -n 200; exec \"$@\"", "sh"];
    let mut command = bench.command_by(&limited, &["emulate", &environment, "--socket", &socket]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(wait_until(|| UnixStream::connect(bench.path("s")).is_ok()), "it does not listen");
    let mut clients: Vec<UnixStream> = (0..300).map(|_| UnixStream::connect(bench.path("s")).unwrap()).collect();
    let greeted = |client: &mut UnixStream| {
        client.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        client.read(&mut [0; 18]).unwrap() == 18
    };
    let served = clients.iter_mut().filter_map(|client| greeted(client).then_some(())).count();
    assert!((1..200).contains(&served), "{served}");
    assert!(bench.done(&["fault", &socket, "--status"]).contains("data"));
    let (_, _, err) = end(child, "-TERM");
    assert!(err.contains("may open no more files") && err.contains("ulimit -n"), "{err}");
    assert!(err.contains(" more clients.") && err.lines().count() < 30, "{err}");
}
