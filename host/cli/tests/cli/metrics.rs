//! `--metrics`: pages that Prometheus and its tools read, and what Prometheus makes of them.

use crate::devices::{Group, Loop, run, wait_until};
use crate::{Bench, or_skip, text};
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Where it says that it serves them.
const SAID: &str = "metrics: http://";

/// The rules and the dashboard that come along.
fn brought(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics").join(name)
}

/// A program of Prometheus, as `cargo xtask peers` or the system has it.
fn peer(name: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/prometheus/usr/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&path));
    all.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A command that serves metrics, ended when dropped.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    /// Starts it, and waits until it says where they are.
    fn start(bench: &Bench, arguments: &[&str]) -> Self {
        let words = [arguments, &["--metrics", "127.0.0.1:0"]].concat();
        let mut child = bench.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let (sender, said) = channel();
        // The pipe is read to its end, so that the command is not stopped by a full one.
        std::thread::spawn(move || lines.for_each(|line| drop(sender.send(line))));
        let mut all = String::new();
        let address = loop {
            let line = said.recv_timeout(Duration::from_secs(120)).unwrap_or_else(|_| panic!("{arguments:?}: {all}"));
            if let Some((_, address)) = line.split_once(SAID) {
                break address.trim_end_matches("/metrics").to_owned();
            }
            all += &(line + "\n");
        };
        Self { child, address }
    }

    /// The page as it is now, in Prometheus' own format.
    fn page(&self) -> String {
        let (head, page) = get(&self.address, "/metrics");
        assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("version=0.0.4"), "{head}");
        page
    }

    /// The page once it has this series.
    fn page_with(&self, series: &str) -> String {
        let mut page = String::new();
        let came = wait_until(|| {
            page = self.page();
            page.contains(series)
        });
        assert!(came, "no {series} in {page}");
        page
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        run("kill", &["-INT", &self.child.id().to_string()]);
        let _ = self.child.wait();
    }
}

/// Asks for a page: the head of the answer, and its body.
fn get(address: &str, path: &str) -> (String, String) {
    asked(address, &format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n"))
}

fn asked(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Has Prometheus' linter look at a page, where it is there.
fn lint(verb: &str, page: &str) {
    let Some(promtool) = peer("promtool") else {
        println!("skipped: promtool check metrics of {verb} (Debian's package prometheus)");
        return;
    };
    let mut linter = Command::new(promtool);
    linter.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut linter = linter.spawn().unwrap();
    linter.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = linter.wait_with_output().unwrap();
    let said = text(&output.stderr) + &text(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{verb}: {said}\n{page}");
}

#[test]
fn every_page_is_as_prometheus_wants_it_and_is_for_this_machine_alone() {
    let bench = Bench::new();
    let emulation = ["emulate", "ds3-p30", "--no-record", "--socket", &bench.path("s").display().to_string()];
    let served = Served::start(&bench, &emulation);
    let page = served.page_with("loadline_requests_total{export=\"data\"}");
    lint("emulate", &page);
    let (head, body) = asked(&served.address, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 403 ") && !body.contains("loadline_"), "{head}");
    let openly = "GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text\r\nHost: ";
    let (head, body) = asked(&served.address, &format!("{openly}{}\r\n\r\n", served.address));
    assert!(head.contains("openmetrics-text; version=1.0.0") && body.contains("# TYPE loadline_requests counter\n"));
    drop(served);
    for verb in ["watch", "emulate ds3-p30", "record sda -o trace"] {
        let words: Vec<&str> = verb.split(' ').chain(["--metrics", "0.0.0.0:9100"]).collect();
        let refused = bench.refused(2, &words);
        // Where there is nothing to watch or record, that is said first.
        assert!(refused.contains("ssh -L 9100:127.0.0.1:9100") || verb != "emulate ds3-p30", "{refused}");
    }
}

#[test]
fn a_watch_and_a_recording_have_pages_of_the_same_form() {
    let bench = Bench::new();
    let device = or_skip!(device(&bench), NO_LOOP);
    for arguments in [&["watch", &device.node][..], &["record", &device.node, "-o", "a.trace"]] {
        // The kernel's events may be forbidden even to root.
        if arguments[0] == "record"
            && !bench.run(&["record", &device.node, "-o", "b.trace", "--for", "100ms"]).status.success()
        {
            println!("skipped: a recording's page (no kernel events here)");
            continue;
        }
        let served = Served::start(&bench, arguments);
        let page = served.page_with("loadline_cause_seconds_total{device=");
        lint(arguments[0], &page);
        assert!(page.contains("loadline_run_info{run=\"") && page.contains("loadline_busy_seconds_total"));
    }
}

#[test]
fn what_a_run_and_a_crawl_do_is_counted_while_they_go_on() {
    let bench = Bench::new();
    let plan = "schema = 1\nname = \"p\"\n[[load]]\nreads = \"70 %\"\nblock = \"4 KiB\"\nsize = \"8 MiB\"\nwarm_up = \"0 s\"\n\
                duration = \"10 min\"\n";
    let (plan, target) = (bench.file("p.toml", plan), format!("data={}", bench.target()));
    let run = Served::start(&bench, &["run", &plan, "--on", &target]);
    let page = run.page_with("loadline_request_duration_seconds_bucket{volume=\"data\",cell=");
    lint("run", &page);
    assert!(page.contains("operation=\"write\"") && page.contains("loadline_trials_total{volume=\"data\""), "{page}");
    drop(run);
    let docs = crate::crawl::folder(&bench, 20_000);
    let crawl = Served::start(&bench, &["crawl", &docs]);
    let page = crawl.page_with("loadline_station_seconds_total{station=\"index\",state=\"busy\"}");
    lint("crawl", &page);
    assert!(page.contains("loadline_items_total{source=\"docs\",outcome=\"done\"}"), "{page}");
}

#[test]
fn the_rules_that_come_along_are_as_their_tests_say() {
    let Some(promtool) = peer("promtool") else {
        println!("skipped: the alert rules (promtool is not there: Debian's package prometheus)");
        return;
    };
    let output = Command::new(promtool).args(["test", "rules"]).arg(brought("alerts.test.yml")).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

const NO_LOOP: &str = "it takes root and loop devices";

/// A loop device over a file in the bench's folder.
fn device(bench: &Bench) -> Option<Loop> {
    let file = bench.path("disk");
    std::fs::File::create_new(&file).ok()?.set_len(256 << 20).ok()?;
    Loop::attach(&file)
}

/// Prometheus itself, ended when dropped.
struct Prometheus {
    child: Child,
    address: String,
}

impl Prometheus {
    /// Scrapes each of these, by its name and so often.
    fn start(bench: &Bench, program: &Path, targets: &[(&str, u32, &str)]) -> Self {
        let mut config = "scrape_configs:\n".to_owned();
        for (job, interval_s, address) in targets {
            let _ = writeln!(
                config,
                "- job_name: {job}\n  scrape_interval: {interval_s}s\n  scrape_timeout: 1s\n  static_configs: [{{targets: ['{address}']}}]"
            );
        }
        let config = bench.file("prometheus.yml", config);
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new(program)
            .arg(format!("--config.file={config}"))
            .arg(format!("--storage.tsdb.path={}", bench.path("tsdb").display()))
            .arg(format!("--web.listen-address={free}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let prometheus = Self { child, address: free.to_string() };
        assert!(wait_until(|| TcpStream::connect(free).is_ok()), "Prometheus does not listen");
        assert!(wait_until(|| prometheus.ask("up == 1").len() == targets.len()), "{:?}", prometheus.ask("up"));
        prometheus
    }

    /// Asks for a figure now: the labels and the value of each series.
    fn ask(&self, expression: &str) -> Vec<(Json, f64)> {
        let mut encoded = String::new();
        for byte in expression.bytes() {
            let _ = write!(encoded, "%{byte:02x}");
        }
        let (_, body) = get(&self.address, &format!("/api/v1/query?query={encoded}"));
        let answer: Json = serde_json::from_str(&body).unwrap_or(Json::Null);
        let results = answer["data"]["result"].as_array().cloned().unwrap_or_else(|| {
            assert!(answer.is_null() || answer["status"] != "error", "{expression}: {answer}");
            Vec::new()
        });
        let value = |of: &Json| of["value"][1].as_str().and_then(|value| value.parse().ok());
        results.iter().filter_map(|of| Some((of["metric"].clone(), value(of)?))).collect()
    }

    /// The only series of an answer.
    fn figure(&self, expression: &str) -> f64 {
        let all = self.ask(expression);
        assert_eq!(all.len(), 1, "{expression}: {all:?}");
        all[0].1
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        run("kill", &["-INT", &self.child.id().to_string()]);
        let _ = self.child.wait();
    }
}

/// The kernel's counters of a device: reads, bytes read, ms of reads, writes, bytes written, ms of writes, busy ms.
fn counted(device: &Loop) -> [f64; 7] {
    let name = device.node.trim_start_matches("/dev/");
    let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    let of: Vec<f64> = stat.split_whitespace().map(|of| of.parse().unwrap()).collect();
    [of[0], of[2] * 512.0, of[3], of[4], of[6] * 512.0, of[7], of[9]]
}

#[test]
#[ignore = "long: Prometheus scrapes a watch for two minutes"]
fn totals_by_prometheus_are_those_of_the_kernel_however_often_it_scrapes() {
    let bench = Bench::new();
    let program = or_skip!(peer("prometheus"), "it takes Prometheus (Debian's package prometheus)");
    let device = or_skip!(device(&bench), NO_LOOP);
    let limits = [(&device, "read_iops_device", 300), (&device, "write_bps_device", 4 << 20)];
    let group = or_skip!(Group::new("metrics", &limits), "it takes the blkio controller of cgroup v1");
    let watch = Served::start(&bench, &["watch", &device.node]);
    let prometheus =
        Prometheus::start(&bench, &program, &[("often", 1, &watch.address), ("seldom", 15, &watch.address)]);
    let before = counted(&device);
    // Two that read at the limit for a minute, and one that writes.
    let dd = |words: &[&str]| Command::new("dd").args(words).stderr(Stdio::null()).spawn().unwrap();
    let (from, to) = (format!("if={}", device.node), format!("of={}", device.node));
    let mut load = group.within(|| {
        let read = || dd(&[&from, "of=/dev/null", "bs=4k", "iflag=direct", "count=9000"]);
        [read(), read(), dd(&["if=/dev/zero", &to, "bs=64k", "oflag=direct", "count=3840"])]
    });
    std::thread::sleep(Duration::from_secs(40));
    for job in ["often", "seldom"] {
        let held =
            prometheus.figure(&format!("rate(loadline_cause_seconds_total{{job='{job}',cause='throttle'}}[31s])"));
        println!("{job}: held by a throttle for {held:.3} of the time");
        assert!(held > 0.9, "{job}: {held}");
    }
    for child in &mut load {
        assert!(child.wait().unwrap().success());
    }
    let after = counted(&device);
    // A frame later, each has scraped once more.
    std::thread::sleep(Duration::from_secs(19));
    let read = |name: &str, operation: &str| format!("loadline_{name}_total{{operation='{operation}'");
    let asked = [
        (read("requests", "read"), 1.0),
        (read("transferred_bytes", "read"), 1.0),
        (read("request_seconds", "read"), 1e3),
        (read("requests", "write"), 1.0),
        (read("transferred_bytes", "write"), 1.0),
        (read("request_seconds", "write"), 1e3),
        ("loadline_busy_seconds_total{device!=''".to_owned(), 1e3),
    ];
    for job in ["often", "seldom"] {
        for (place, (series, unit)) in asked.iter().enumerate() {
            let series = format!("{series},job='{job}'}}[10m]");
            let found = prometheus.figure(&format!("max_over_time({series}) - min_over_time({series})")) * unit;
            let kernel = after[place] - before[place];
            println!("{job}: {series}: {found:.0}, the kernel {kernel:.0}");
            assert!((found - kernel).abs() <= kernel * 0.01, "{job}: {series}: {found}, the kernel {kernel}");
        }
        let charged = prometheus.figure(&format!("sum(loadline_cause_seconds_total{{job='{job}'}})"));
        let watched = prometheus.figure(&format!("loadline_watched_seconds_total{{job='{job}'}}"));
        println!("{job}: {charged:.2} s of {watched:.2} s have a cause");
        assert!((watched - charged).abs() <= 1.5 && charged <= watched, "{charged} of {watched}");
    }
}

/// Every expression of the dashboard that comes along, as Grafana would ask for it.
fn expressions() -> Vec<String> {
    let dashboard: Json = serde_json::from_str(&std::fs::read_to_string(brought("dashboard.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let asked = targets.map(|target| target["expr"].as_str().unwrap());
    asked.map(|asked| asked.replace("$__rate_interval", "10s").replace("$instance", ".*")).collect()
}

#[test]
#[ignore = "long: Prometheus scrapes a watch, a run, an emulation and a crawl"]
fn every_expression_of_the_dashboard_has_an_answer() {
    let bench = Bench::new();
    let program = or_skip!(peer("prometheus"), "it takes Prometheus (Debian's package prometheus)");
    let device = or_skip!(device(&bench), NO_LOOP);
    let limits = [(&device, "read_iops_device", 300), (&device, "write_bps_device", 4 << 20)];
    let group = or_skip!(Group::new("dashboard", &limits), "it takes the blkio controller of cgroup v1");
    let plan = "schema = 1\nname = \"p\"\n[[load]]\nreads = \"70 %\"\nblock = \"4 KiB\"\nsize = \"8 MiB\"\nwarm_up = \"0 s\"\n\
                duration = \"5 s\"\ntrials = 100\n";
    let (plan, target) = (bench.file("p.toml", plan), format!("data={}", bench.target()));
    let docs = crate::crawl::folder(&bench, 20_000);
    let socket = bench.path("s").display().to_string();
    let watch = Served::start(&bench, &["watch", &device.node]);
    let run = Served::start(&bench, &["run", &plan, "--on", &target]);
    let emulation = Served::start(&bench, &["emulate", "d4s-v5-p10", "--no-record", "--socket", &socket]);
    let crawl = Served::start(&bench, &["crawl", &docs]);
    let verbs = [("watch", &watch), ("run", &run), ("emulate", &emulation), ("crawl", &crawl)];
    let targets: Vec<(&str, u32, &str)> = verbs.iter().map(|(verb, of)| (*verb, 1, of.address.as_str())).collect();
    let prometheus = Prometheus::start(&bench, &program, &targets);
    let (from, to) = (format!("if={}", device.node), format!("of={}", device.node));
    let dd = |words: &[&str]| Command::new("dd").args(words).stderr(Stdio::null()).spawn().unwrap();
    let mut load = group.within(|| {
        [dd(&[&from, "of=/dev/null", "bs=4k", "iflag=direct"]), dd(&["if=/dev/zero", &to, "bs=64k", "oflag=direct"])]
    });
    let asked = expressions();
    assert!(asked.len() >= 15, "{}", asked.len());
    let mut unanswered: Vec<&String> = asked.iter().collect();
    // Some have an answer only while the crawl goes on.
    wait_until(|| {
        unanswered.retain(|expression| !prometheus.ask(expression).iter().any(|(_, value)| value.is_finite()));
        unanswered.is_empty()
    });
    for child in &mut load {
        let _ = child.kill();
        let _ = child.wait();
    }
    println!("{} expressions have an answer", asked.len() - unanswered.len());
    assert_eq!(unanswered, Vec::<&String>::new());
}
