//! `emulate` from the outside.

use crate::bad_disk::wait_until;
use crate::first_look::Memory;
use crate::{Bench, or_skip};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) const ENVIRONMENT: &str = r#"
schema = 1
name = "pair"
[volume.data]
layout = { mirror = 2 }
[[volume.data.disks]]
size = "1 GiB"
count = 2
[volume.data.disks.limit]
iops = "5000 IOPS"
[volume.log]
[[volume.log.disks]]
size = "64 MiB"
[volume.log.disks.limit]
iops = "100 IOPS"
"#;

/// Starts it, and waits until its socket accepts.
pub(crate) fn start(bench: &Bench, more: &[&str]) -> Child {
    start_on(bench, ENVIRONMENT, more)
}

/// Emulates an environment of one's own.
pub(crate) fn start_on(bench: &Bench, environment: &str, more: &[&str]) -> Child {
    let environment = bench.file("pair.toml", environment);
    let socket = bench.path("s").display().to_string();
    let mut command = bench.command(&["emulate", &environment, "--socket", &socket, "--seed", "1"]);
    let child = command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while UnixStream::connect(bench.path("s")).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

pub(crate) fn end(child: Child, signal: &str) -> (i32, String, String) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), crate::text(&output.stdout), crate::text(&output.stderr))
}

#[test]
fn it_serves_until_it_is_asked_to_end_and_tells_what_it_did() {
    for signal in ["-TERM", "-INT"] {
        let bench = Bench::new();
        let child = start(&bench, &["--format", "json"]);
        let mut greeting = [0; 18];
        UnixStream::connect(bench.path("s")).unwrap().read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting[..16], b"NBDMAGICIHAVEOPT");
        let (status, out, err) = end(child, signal);
        assert_eq!(status, 0, "{err}");
        let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
        let names: Vec<&str> = rows.as_array().unwrap().iter().map(|row| row["export"].as_str().unwrap()).collect();
        assert_eq!(names, ["data", "log"]);
        assert!(rows[0]["iops"].is_null() && rows[0]["requests"] == 0, "{out}");
        for export in ["data", "log", "data/0", "data/1", "log/0"] {
            assert!(err.contains(&format!("nbd+unix:///{export}?socket=")), "{err}");
        }
        assert!(!bench.path("s").exists(), "its socket stays");
    }
}

#[test]
fn what_was_asked_for_is_kept_with_what_held_it() {
    let bench = Bench::new();
    end(start(&bench, &[]), "-TERM");
    assert!(bench.runs().is_empty(), "nobody asked for anything");
    let child = start(&bench, &["--format", "json"]);
    assert_eq!(crate::fault::requests(&bench, &[1, 0, 0]), [0; 3]);
    let (status, out, err) = end(child, "-INT");
    assert!(status == 0 && err.contains("loadline show "), "{err}");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    let bound = rows[0]["bound_by"].as_str().unwrap();
    let shares: f64 = rows[0]["held"].as_array().unwrap().iter().map(|held| held["share"].as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{out}");
    assert!(rows[1]["bound_by"].is_null() && rows[1]["held"].as_array().unwrap().is_empty(), "{out}");
    assert_eq!(bench.runs().len(), 1);
    let shown: serde_json::Value = serde_json::from_str(&bench.done(&["show", "last", "--format", "json"])).unwrap();
    assert_eq!((&shown["run"]["verb"], &shown["run"]["clock"]), (&"emulate".into(), &"real".into()));
    let cells = shown["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1, "only data was used");
    assert_eq!(crate::schema_errors(&bench.last()), Vec::<String>::new());
    assert_eq!((&cells[0]["volume"], &cells[0]["binding"]["limit"]), (&"data".into(), &bound.into()));
    assert!(cells[0]["read"]["iops"].as_f64().unwrap() > 0.0 && cells[0]["write"]["iops"].as_f64().unwrap() > 0.0);
    assert_eq!(bench.done(&["show", "last", "--limits", "--format", "json"]).trim(), "[]");
    for format in ["table", "markdown", "csv"] {
        bench.done(&["show", "last", "--format", format]);
    }
    bench.done(&["report", "last", "-o", "report.html"]);

    // What somebody asked for who left without the answer takes its time and counts all the same: here and there.
    let child = start(&bench, &["--format", "json"]);
    let socket = bench.path("s").display().to_string();
    assert_eq!(crate::fault::requests(&bench, &[0, 1]), [0; 2]);
    bench.done(&["fault", &socket, "data", "--hang"]);
    crate::fault::leave(&bench);
    std::thread::sleep(Duration::from_millis(2_300));
    bench.done(&["fault", &socket, "--clear-all"]);
    std::thread::sleep(Duration::from_millis(300));
    let (_, out, _) = end(child, "-INT");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&bench.done(&["show", "last", "--format", "json"])).unwrap();
    let total = &shown["cells"][0]["total"];
    let same = |told: &serde_json::Value, kept: &serde_json::Value| {
        let (told, kept) = (told.as_f64().unwrap(), kept.as_f64().unwrap());
        assert!(told > 0.0 && (told / kept - 1.0).abs() < 1e-6, "{told} here, {kept} in the run");
    };
    same(&rows[0]["iops"], &total["iops"]);
    same(&rows[0]["bytes_per_s"], &total["throughput_bytes_per_s"]);
    assert_eq!(rows[0]["requests"], 3, "{out}");
    assert!(rows[0]["iops"].as_f64().unwrap() < 3.0 / 2.3, "{out}");
    // Second by second: what hung was outstanding all the time, and is answered in the last one.
    let seconds = bench.done(&["show", "last", "--series", "--format", "json"]);
    let seconds: Vec<serde_json::Value> = serde_json::from_str(&seconds).unwrap();
    let requests: u64 = seconds.iter().filter_map(|row| row["requests"].as_u64()).sum();
    let outstanding = seconds[0]["outstanding"].as_f64().unwrap();
    assert!(requests == 3 && outstanding > 0.5, "{seconds:?}");
    let between: Vec<_> = seconds.iter().filter(|row| row["operation"].is_null()).collect();
    assert!(!between.is_empty() && between.iter().all(|row| row["outstanding"] == 1.0), "{seconds:?}");
    bench.done(&["report", "last", "-o", "report.html"]);
    let html = std::fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(html.contains("over time") && !html.contains("No course over time"), "{seconds:?}");

    let child = start(&bench, &["--no-record"]);
    assert_eq!(crate::fault::requests(&bench, &[0]), [0]);
    end(child, "-TERM");
    assert_eq!(bench.runs().len(), 2);
}

#[test]
fn what_a_client_has_not_taken_by_the_end_was_done_and_is_in_the_figures_and_in_the_run() {
    let bench = Bench::new();
    let child = start(&bench, &["--format", "json"]);
    let mut client = crate::fault::connected(&bench);
    // More than any socket holds.
    let (count, length) = (64, 1_u32 << 20);
    let mut ask = crate::fault::head(0);
    ask.splice(24.., length.to_be_bytes());
    for _ in 0..count {
        client.write_all(&ask).unwrap();
    }
    // The first one is on its way, and all are done soon.
    client.read_exact(&mut [0; 16]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let (status, out, err) = end(child, "-INT");
    assert_eq!(status, 0, "{err}");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&rows[0]["requests"], &rows[0]["errors"]), (&count.into(), &0.into()), "{out}");
    let shown: serde_json::Value = serde_json::from_str(&bench.done(&["show", "last", "--format", "json"])).unwrap();
    let (told, kept) = (&rows[0]["iops"], &shown["cells"][0]["total"]["iops"]);
    assert!((told.as_f64().unwrap() / kept.as_f64().unwrap() - 1.0).abs() < 1e-6, "{told} here, {kept} in the run");
}

#[test]
fn what_cannot_be_served_is_refused_with_what_to_do() {
    let bench = Bench::new();
    assert!(bench.refused(2, &["emulate", "ds3-p3"]).contains("did you mean ds3-p30"));
    let open = bench.refused(2, &["emulate", "ds3-p30", "--listen", "0.0.0.0:0"]);
    assert!(open.contains("unencrypted") && open.contains("--insecure"), "{open}");
    let honest = bench.refused(2, &["emulate", "ds3-p30", "--lie-about-flush", "--write-cache", "0 B"]);
    assert!(honest.contains("no flush can lie"), "{honest}");
    let foreign = bench.target();
    std::fs::write(bench.path("target").join("mine"), "x").unwrap();
    let socket = bench.path("s").display().to_string();
    let refusal = bench.refused(1, &["emulate", "ds3-p30", "--backing", &foreign, "--socket", &socket]);
    assert!(refusal.contains("was not made by loadline"), "{refusal}");
    let lost = bench.path("nowhere").join("contents").display().to_string();
    let refusal = bench.refused(1, &["emulate", "ds3-p30", "--backing", &lost, "--socket", &socket]);
    assert!(refusal.contains("nowhere is not there") && !bench.path("nowhere").exists(), "{refusal}");
    let refusal = bench.refused(1, &["emulate", "ds3-p30", "--socket", &lost]);
    assert!(refusal.contains("its folder is not there; make it"), "{refusal}");
    let refusal = bench.refused(2, &["emulate", "ds3-p30", "--memory-max", "1 KiB"]);
    assert!(refusal.contains("2 MiB at a time"), "{refusal}");
    let refusal = bench.refused(2, &["emulate", "ds3-p30", "--catalog", &lost]);
    assert!(refusal.contains("it is not there; name a folder of catalog files"), "{refusal}");
    let sized =
        "schema = 1\nname = \"mine\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p10\", size = \"200 GiB\" }]\n";
    let refusal = bench.refused(2, &["emulate", &bench.file("sized.toml", sized)]);
    assert!(refusal.contains("the next larger is azure/premium-p15"), "{refusal}");
    let whole = bench.file("whole.toml", sized.replace("200 GiB", "100 GiB"));
    assert_eq!(bench.done(&["environments", "show", &whole]), sized.replace("200 GiB", "100 GiB"));
    let taken = bench.file("taken", "x");
    assert!(bench.refused(1, &["emulate", "ds3-p30", "--socket", &taken]).contains("is not a socket"));
}

#[test]
fn a_place_that_no_socket_can_have_is_told_with_what_to_do() {
    let bench = Bench::new();
    let name = |bytes| "s".repeat(bytes);
    let refusal = bench.refused(1, &["emulate", "ds3-p30", "--socket", &name(108)]);
    assert!(refusal.contains("108 bytes") && refusal.contains("name a shorter one"), "{refusal}");
    // What is beside it is longer.
    let refusal = bench.refused(1, &["emulate", "ds3-p30", "--socket", &name(105)]);
    assert!(refusal.contains("--control") && refusal.contains("113 bytes"), "{refusal}");
    assert!(!bench.path(&name(105)).exists());
    let both = bench.refused(2, &["emulate", "ds3-p30", "--socket", "s", "--control", "s"]);
    assert!(both.contains("--socket and --control both name s"), "{both}");
}

#[test]
fn a_trace_that_could_not_be_written_costs_nothing_else() {
    let bench = Bench::new();
    let small = or_skip!(Memory::mount(&bench.path("small"), "size=4k"), "cannot mount");
    let trace = format!("{}/trace", small.0);
    let child = start(&bench, &["--trace", &trace, "--format", "json"]);
    assert_eq!(crate::fault::requests(&bench, &[0; 200]), [0; 200]);
    let (status, out, err) = end(child, "-INT");
    assert!(status == 1 && err.contains("cannot write the trace"), "{err}");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(rows[0]["requests"], 200, "{out}");
    assert!(err.contains("loadline show ") && bench.runs().len() == 1, "{err}");

    // Contents that did not fit are told, however short it was.
    let folder = format!("{}/disks", small.0);
    std::fs::remove_file(&trace).unwrap();
    let child = start(&bench, &["--backing", &folder]);
    assert!(crate::fault::requests(&bench, &[1; 8]).contains(&28), "it has room for them");
    let (status, _, err) = end(child, "-INT");
    assert!(status == 0 && err.contains("The folder of --backing failed"), "{err}");
}

#[test]
fn a_trace_that_was_cut_short_before_its_first_request_is_not_taken_for_an_idle_one() {
    let bench = Bench::new();
    let trace = bench.path("trace");
    let path = trace.display().to_string();
    end(start(&bench, &["--trace", &path]), "-INT");
    let told = bench.refused(1, &["replay", &path, "--env", "ds3-p30"]);
    assert!(told.contains("nothing was asked of the emulation"), "{told}");
    let bytes = std::fs::read(&trace).unwrap();
    std::fs::write(&trace, &bytes[..bytes.len() - 44]).unwrap();
    let told = bench.refused(1, &["replay", &path, "--env", "ds3-p30"]);
    assert!(told.contains("cut short") && !told.contains("nothing was asked"), "{told}");
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
        let environment = self.bench.file("pair.toml", ENVIRONMENT);
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
                heard.lock().unwrap().push_str(&crate::text(&bytes[..count]));
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
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not listen");
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
fn a_disk_that_hangs_gets_its_block_device_later_and_holds_nobody_up() {
    let bench = Bench::new();
    let Some(attached) = Attached::start(&bench) else { return };
    for round in 1..3 {
        attached.fault(&["log", "--hang"]);
        attached.fault(&["--power-cut", "--seed", "1"]);
        attached.hears("log was switched off and on. It has no block device for now", round);
        attached.hears("data was switched off and on: ", round);
        let (log, data) = (attached.devices("log"), attached.devices("data"));
        assert!(log.is_empty() && data.len() == 1, "log: {log:?}, data: {data:?}; {}", attached.said());
        assert!(Command::new("losetup").arg("--find").output().unwrap().status.success());
        if round == 1 {
            attached.fault(&["--clear-all"]);
            attached.hears("log was switched off and on: ", 1);
            assert_eq!(attached.devices("log").len(), 1);
        }
    }
    let folder = attached.folder.clone();
    let (status, said) = attached.end("-INT");
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("log: requests hang"), "{said}");
    assert!(!std::fs::read_to_string("/proc/self/mounts").unwrap().contains(&folder));
}

#[test]
fn ctrl_c_is_obeyed_while_losetup_waits_for_a_slow_disk() {
    let bench = Bench::new();
    let Some(attached) = Attached::start(&bench) else { return };
    // Each is too short to count as a disk that does not answer.
    for _ in 0..3 {
        attached.fault(&["log", "--delay", "4900 ms"]);
    }
    attached.fault(&["--power-cut", "--seed", "1"]);
    attached.hears("data was switched off and on: ", 1);
    std::thread::sleep(Duration::from_millis(300));
    let file = format!("{}/log", attached.folder);
    let (status, said) = attached.end("-INT");
    assert!(status == 0 && !said.contains("log was switched off"), "{said}");
    let left = Command::new("losetup").args(["--list", "--noheadings", "--output", "BACK-FILE"]).output().unwrap();
    assert!(left.status.success() && !crate::text(&left.stdout).contains(&file));
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
    assert_eq!(crate::fault::requests(&bench, &[0]), [0]);
    attached.hears("data was switched off and on, and has no block device any more", 1);
    assert_eq!(crate::fault::requests(&bench, &[0]), [0]);
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
    let said = crate::text(&output.stderr);
    assert!(output.status.success() && said.matches("Released /dev/loop").count() == 2, "{said}");
    assert!(said.contains("Unless it was to keep no record, what it did is in the store"), "{said}");
    // The next one on the same folder, socket and all takes it down by itself.
    attached.restart();
    attached.child().kill().unwrap();
    attached.child().wait().unwrap();
    attached.restart();
    attached.hears("was killed left", 1);
    assert_eq!(attached.devices("data").len(), 1);
    assert_eq!(crate::fault::requests(&bench, &[0]), [0]);
    let (status, said) = attached.end("-INT");
    assert!(status == 0 && said.matches("Released /dev/loop").count() == 2, "{said}");
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!table.contains(&name), "{table}");
}

#[test]
fn metrics_for_other_machines_are_refused_in_words_of_their_own() {
    let bench = Bench::new();
    let environment = bench.file("pair.toml", ENVIRONMENT);
    let told = bench.refused(2, &["emulate", &environment, "--metrics", "0.0.0.0:0"]);
    assert!(told.contains("--metrics 0.0.0.0:0") && told.contains("the figures of every volume"), "{told}");
    assert!(!told.contains("tls-certificates") && !told.contains("write everything"), "{told}");
    let told = bench.refused(2, &["emulate", &environment, "--listen", "0.0.0.0:0"]);
    assert!(told.contains("write everything") && told.contains("--tls-certificates"), "{told}");
}

#[test]
fn a_trace_that_is_there_already_is_named() {
    let bench = Bench::new();
    let (environment, trace) = (bench.file("pair.toml", ENVIRONMENT), bench.file("old.trace", "x"));
    let socket = bench.path("s").display().to_string();
    let told = bench.refused(1, &["emulate", &environment, "--socket", &socket, "--trace", &trace]);
    assert!(told.contains(&format!("cannot make the trace {trace}: File exists")), "{told}");
}

#[test]
fn who_gets_no_export_is_told_to_whoever_runs_it_and_counted() {
    let bench = Bench::new();
    let child = start(&bench, &["--metrics", "127.0.0.1:0"]);
    let mut stream = UnixStream::connect(bench.path("s")).unwrap();
    let name = "no\u{1b}thing";
    let go = [&(name.len() as u32).to_be_bytes()[..], name.as_bytes(), &[0, 0]].concat();
    let length = (go.len() as u32).to_be_bytes();
    let ask = [&3_u32.to_be_bytes()[..], b"IHAVEOPT", &7_u32.to_be_bytes(), &length, &go].concat();
    stream.write_all(&ask).unwrap();
    stream.read_exact(&mut [0; 18 + 20]).unwrap();
    drop(stream);
    let mut stream = UnixStream::connect(bench.path("s")).unwrap();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(stream);
    let socket = bench.path("s").display().to_string();
    let status = || -> serde_json::Value {
        serde_json::from_str(&bench.done(&["fault", &socket, "--status", "--format", "json"])).unwrap()
    };
    assert!(wait_until(|| status()["refused_total"] == 2), "{}", status());
    let (status, _, err) = end(child, "-INT");
    assert_eq!(status, 0, "{err}");
    let me = format!("Refused a client, process {} (", std::process::id());
    assert_eq!(err.matches(&me).count(), 2, "{err}");
    assert!(err.contains("): it asked for the export \"no\\u{1b}thing\", which is not there."), "{err}");
    assert!(err.contains("): what it sent is not the beginning of an NBD connection."), "{err}");
}

#[test]
fn whoever_may_open_few_files_still_takes_orders_when_clients_have_them_all() {
    let bench = Bench::new();
    let environment = bench.file("pair.toml", ENVIRONMENT);
    let socket = bench.path("s").display().to_string();
    // Both the limit that is set and the one that it can be raised to.
    let limited = ["sh", "-c", "ulimit -n 200; exec \"$@\"", "sh"];
    let mut command = bench.command_by(&limited, &["emulate", &environment, "--socket", &socket]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(wait_until(|| UnixStream::connect(bench.path("s")).is_ok()), "it does not listen");
    let mut clients: Vec<UnixStream> = (0..300).map(|_| UnixStream::connect(bench.path("s")).unwrap()).collect();
    let greeted = |client: &mut UnixStream| {
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.read(&mut [0; 18]).unwrap() == 18
    };
    let served = clients.iter_mut().filter_map(|client| greeted(client).then_some(())).count();
    assert!((1..200).contains(&served), "{served}");
    assert!(bench.done(&["fault", &socket, "--status"]).contains("data"));
    let (_, _, err) = end(child, "-TERM");
    assert!(err.contains("may open no more files") && err.contains("ulimit -n"), "{err}");
    assert!(err.contains(" more clients.") && err.lines().count() < 30, "{err}");
}

#[test]
fn a_trace_is_there_for_whoever_is_killed_and_not_where_nothing_began() {
    let bench = Bench::new();
    let trace = bench.path("trace").display().to_string();
    let taken = bench.file("taken", "x");
    let environment = bench.file("pair.toml", ENVIRONMENT);
    bench.refused(1, &["emulate", &environment, "--socket", &taken, "--trace", &trace]);
    assert!(!bench.path("trace").exists(), "it is in the way the next time");
    let mut child = start(&bench, &["--trace", &trace]);
    assert_eq!(crate::fault::requests(&bench, &[1, 0, 0]), [0; 3]);
    crate::fault::read_at(&bench, 1_000 << 20);
    let whole = || std::fs::metadata(bench.path("trace")).unwrap().len();
    let empty = whole();
    assert!(empty > 0, "no head");
    assert!(wait_until(|| whole() > empty), "nothing is written");
    child.kill().unwrap();
    child.wait().unwrap();
    let output = bench.command(&["replay", &trace, "--env", &environment]).output().unwrap();
    let (out, err) = (crate::text(&output.stdout), crate::text(&output.stderr));
    assert!(output.status.success() && err.contains("was cut short"), "{err}");
    assert!(out.contains("ended-early"), "{out}");
    // What lies beyond the end of a smaller disk is moved, and that is a doubt; more than it holds is refused.
    let small = bench.file("small.toml", ENVIRONMENT.replace("1 GiB", "64 MiB"));
    bench.done(&["replay", &trace, "--env", &small]);
    let run = bench.last();
    let doubts = run["cells"][0]["doubts"].as_array().unwrap();
    let moved = doubts.iter().find(|doubt| doubt["code"] == "requests-moved").expect("it is told");
    assert!(moved["detail"].as_str().unwrap().contains("1 beyond its end"), "{moved}");
    assert_eq!(crate::schema_errors(&run), Vec::<String>::new());
    let none = bench.file("none.toml", ENVIRONMENT.replace("1 GiB", "1 MiB"));
    let refusal = bench.refused(1, &["replay", &trace, "--env", &none]);
    assert!(refusal.contains("asks for 2.00 MiB") && refusal.contains("environment file"), "{refusal}");
}

#[test]
fn memory_that_is_full_is_told_with_its_bound() {
    let bench = Bench::new();
    let mut child = start(&bench, &["--memory-max", "2 MiB", "--write-cache", "0 B"]);
    let mut lines = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    let mut hears = |what: &str| {
        while !said.contains(what) {
            assert!(std::io::BufRead::read_line(&mut lines, &mut said).unwrap() > 0, "{said}");
        }
    };
    hears("contents: in memory, up to 2.00 MiB");
    // Each page of a mirror takes two.
    let errors = (0..600).map(|page| crate::fault::write_at(&bench, page * 4_096));
    assert_eq!(errors.into_iter().find(|error| *error != 0), Some(28));
    hears("Contents fill the 2 MiB of memory");
    end(child, "-TERM");
}

#[test]
fn a_folder_that_is_full_is_told_to_whoever_runs_it() {
    let bench = Bench::new();
    // Room for the list of the disks and a page more, where a mirror wants two.
    let memory = or_skip!(Memory::mount(&bench.path("small"), "size=8k"), "cannot mount");
    let folder = bench.path("small/disks").display().to_string();
    let mut child = start(&bench, &["--backing", &folder, "--write-cache", "0 B"]);
    assert_eq!(crate::fault::requests(&bench, &[1]), [28]);
    let mut lines = String::new();
    let mut reader = std::io::BufReader::new(child.stderr.take().unwrap());
    while !lines.contains("The folder of --backing failed: cannot write: No space left") {
        assert!(std::io::BufRead::read_line(&mut reader, &mut lines).unwrap() > 0, "{lines}");
    }
    end(child, "-TERM");
    drop(memory);
}
