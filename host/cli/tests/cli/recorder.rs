//! A recorder on a loop device: one a device, its hours are runs as any other, and a restart goes on. What it stored is found by its time.

use crate::devices::{Loop, Mount, run, wait_until};
use crate::{Bench, or_skip, schema_errors, text};
use loadline_record::{
    CellRecord, Clock, HostFacts, KernelThrottle, Load, LoadFigures, OthersLoad, RecordedHour, RunHeader, RunRecord,
    RunStatus, RunVerb, ThrottledQuantity, ThrottledRequests, VolumeFacts, WatchCause, WatchRecord, WatchSecond,
    WatchTick, WatchedThrottle,
};
use loadline_store::Store;
use loadline_units::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Child;
use std::time::{SystemTime, UNIX_EPOCH};

const NO_LOOP: &str = "it takes root and loop devices";

/// A loop device over a file in the bench's folder.
fn device(bench: &Bench) -> Option<Loop> {
    let file = bench.path("disk");
    std::fs::File::create_new(&file).ok()?.set_len(64 << 20).ok()?;
    Loop::attach(&file)
}

fn name(device: &Loop) -> &str {
    device.node.trim_start_matches("/dev/")
}

/// Starts a recorder, and waits until it has its device.
fn recorder(bench: &Bench, device: &Loop) -> Child {
    let child = bench.command(&["watch", &device.node, "--keep", "7d", "--quiet"]).spawn().unwrap();
    let lock = bench.path(&format!("store.db.recorder.{}.lock", name(device)));
    assert!(wait_until(|| lock.exists()));
    child
}

fn stop(mut child: Child) {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_second_recorder_of_a_device_is_refused_and_a_restart_goes_on_in_the_hour() {
    let bench = Bench::new();
    let device = or_skip!(device(&bench), NO_LOOP);
    let child = recorder(&bench, &device);
    let refused = bench.refused(1, &["watch", name(&device), "--keep", "7d", "--quiet"]);
    for part in [name(&device), "is recorded into this store already", &child.id().to_string()] {
        assert!(refused.contains(part), "{refused}");
    }
    stop(child);
    stop(recorder(&bench, &device));
    let runs = bench.runs();
    let hours: Vec<RecordedHour> = runs
        .iter()
        .map(|line| bench.document(&["show", line["run"].as_str().unwrap()]))
        .map(|shown| RecordedHour::of_settings(&shown["run"]["settings"]).expect("an hour says that it is one"))
        .collect();
    assert!(hours.iter().all(|hour| hour.devices == [name(&device)] && hour.step_s == 1), "{hours:?}");
    // A full hour may lie between the two.
    if runs.len() == 1 {
        assert_eq!(
            (runs[0]["trials"].as_u64(), runs[0]["status"].as_str()),
            (Some(2), Some("interrupted")),
            "{runs:?}"
        );
    }
    let exported = bench.last();
    assert_eq!(exported["cells"].as_array().map(Vec::len), Some(1), "{exported:#}");
    for verb in ["show", "report"] {
        let done = bench.run(&[verb, "last"]);
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
}

#[test]
fn a_store_on_the_disk_that_is_watched_is_refused_with_what_to_do() {
    let bench = Bench::new();
    let device = or_skip!(device(&bench), NO_LOOP);
    or_skip!(run("mkfs.ext4", &["-q", &device.node]), "it takes mkfs.ext4");
    let mount = or_skip!(Mount::of(&device.node, bench.path("mounted"), &[]), NO_LOOP);
    let refused = |store: &Path| {
        let words = ["watch", &device.node, "--keep", "7d", "--store", store.to_str().unwrap()];
        let refused = bench.refused(2, &words);
        assert!(refused.contains(&format!("lies on the disk of {}", name(&device))), "{refused}");
        assert!(refused.contains("--store /mnt/other/loadline.db"), "{refused}");
    };
    refused(&mount.0.join("store.db"));
    refused(&mount.0.join("a/folder/that/is/new/store.db"));
    // A disk whose file lies there.
    let file = mount.0.join("inner");
    std::fs::File::create_new(&file).unwrap().set_len(16 << 20).unwrap();
    let inner = or_skip!(Loop::attach(&file), NO_LOOP);
    or_skip!(run("mkfs.ext4", &["-q", &inner.node]), "it takes mkfs.ext4");
    let above = or_skip!(Mount::of(&inner.node, bench.path("above"), &[]), NO_LOOP);
    refused(&above.0.join("store.db"));
    assert!(!mount.0.join("a").exists(), "nothing was made");
    assert!(bench.refused(2, &["watch", &device.node, "--keep", "10min"]).contains("--keep 7d"));
}

#[test]
fn the_unit_of_a_recorder_names_what_was_typed() {
    let bench = Bench::new();
    let printed = bench.done(&["watch", "/dev/vdb", "--keep", "7d", "--unit"]);
    let store = bench.path("store.db");
    let command = format!("watch /dev/vdb --keep 168h --quiet --store {}", store.display());
    assert!(printed.lines().any(|line| line.starts_with("ExecStart=/") && line.ends_with(&command)), "{printed}");
    assert!(!store.exists());
}

const DAY_S: u64 = 86_400;
const HOUR_S: u64 = 3_600;

/// The throttle that the incidents are of.
fn throttle() -> KernelThrottle {
    KernelThrottle {
        requests: ThrottledRequests::Reads,
        counts: ThrottledQuantity::Requests,
        per_s: 3_000,
        group: "/db".into(),
        file: "/sys/fs/cgroup/db/io.max".into(),
        lifted_by: "254:16 riops=max".into(),
    }
}

/// An hour of one device that reads 200 times a second, and as often as a throttle allows in these seconds of the hour.
fn hour(begun_unix_s: u64, at_limit: std::ops::Range<u64>) -> RunRecord {
    let reads = |second: u64| if at_limit.contains(&second) { 3_000 } else { 200 };
    let tick = |second| WatchTick {
        elapsed_us: 1_000_000,
        reads: reads(second),
        read_bytes: reads(second) * 4_096,
        read_ms: reads(second) / 5,
        busy_ms: reads(second) / 5,
        ..WatchTick::default()
    };
    let watch = WatchRecord {
        ticks: (0..HOUR_S).map(tick).collect(),
        seconds: vec![WatchSecond { ticks: 1, ..WatchSecond::default() }; HOUR_S as usize],
        throttles: vec![WatchedThrottle { limit: throttle(), asked: Some((0..HOUR_S).map(reads).collect()) }],
        ..WatchRecord::default()
    };
    let trial = watch.into_trial(&BTreeMap::new(), "vdb", begun_unix_s);
    let figures = LoadFigures::of_watched(&trial);
    let cell = CellRecord {
        id: "vdb".into(),
        volume: "vdb".into(),
        label: "what others asked for".into(),
        load: Load::Application(OthersLoad { volume: "vdb".into(), by: None, figures }),
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned: 1,
        trials: vec![trial],
    };
    let mut settings = serde_json::json!({ "target": "vdb" });
    RecordedHour { devices: vec!["vdb".into()], hour_unix_s: begun_unix_s, step_s: 1 }.put_into(&mut settings);
    let header = RunHeader {
        id: format!("hour-{begun_unix_s}"),
        name: "watch vdb".into(),
        verb: RunVerb::Watch,
        clock: Clock::Real,
        started: Timestamp::from_unix_s(begun_unix_s).to_string(),
        version: "0".into(),
        seed: 0,
        imported: None,
        host: HostFacts::default(),
        plans: Vec::new(),
        environment: None,
        volumes: vec![VolumeFacts {
            name: "vdb".into(),
            target: "/dev/vdb".into(),
            size_bytes: Some(100 << 30),
            ..VolumeFacts::default()
        }],
        settings,
    };
    RunRecord { header, status: RunStatus::Finished, cells: vec![cell] }
}

/// The text of a time.
fn time(unix_s: u64) -> String {
    Timestamp::from_unix_s(unix_s).to_string()
}

/// A recorded week with an incident of 40 s last night, and one three nights before, of which samples of 10 s are left. Returns the
/// beginnings of both.
fn recorded_week(bench: &Bench) -> (u64, u64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let three = now / DAY_S * DAY_S + 3 * HOUR_S;
    let last_night = if three + 3 * HOUR_S <= now { three } else { three - DAY_S };
    let before = last_night - 3 * DAY_S;
    let store = Store::open(&bench.path("store.db")).unwrap();
    for number in (0..=6 * 24 + 1).rev() {
        let begun = last_night + HOUR_S - number * HOUR_S;
        let is_night = begun == last_night || begun == before;
        let record = hour(begun, if is_night { 612..652 } else { 0..0 });
        store.add_run(&if begun + 6 * HOUR_S > last_night { record } else { record.in_steps(10) }).unwrap();
    }
    (last_night + 612, before + 612)
}

fn cause(value: &Value) -> WatchCause {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn an_incident_of_40_s_at_night_is_found_afterwards_by_one_command() {
    let bench = Bench::new();
    let (last_night, before) = recorded_week(&bench);
    let limit = WatchCause::Throttle { throttle: throttle() };
    // With its time.
    let printed = bench.done(&["live", "--at", "03:10", "--live", "-"]);
    let frames: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(frames.len(), 60);
    for frame in &frames {
        assert_eq!(schema_errors(frame), Vec::<String>::new(), "{frame:#}");
    }
    let shown = &frames[59];
    assert_eq!(shown["at_unix_ms"], (last_night + 48) * 1_000);
    let volume = &shown["volumes"][0];
    let seconds = volume["causes"][0]["seconds"].as_f64().map(f64::round);
    assert_eq!((cause(&volume["causes"][0]["cause"]), seconds), (limit.clone(), Some(40.0)));
    assert_eq!(volume["judged"]["limit"], "disk-iops", "{volume:#}");
    let words = bench.done(&["live", "--at", "03:10"]);
    assert!(words.contains("control group /db") && words.starts_with(&time(last_night + 48)), "{words}");
    // A part is judged as a run is.
    let part = bench.document(&["show", "--since", "03:10", "--until", "03:11"]);
    let cell = &part["cells"][0];
    assert_eq!(
        (cause(&cell["watch"]["causes"][0]["caused_by"]), &cell["binding"]["limit"]),
        (limit.clone(), &"disk-iops".into())
    );
    assert_eq!(part["run"]["settings"]["part"]["since_unix_s"], last_night - 12);
    let whole = bench.document(&["show", &format!("hour-{}", last_night - 612)]);
    assert_eq!(whole["cells"][0]["binding"]["limit"], "arrival", "in the whole hour it is lost: {whole:#}");
    // Across hours, and of a night of which only coarse samples are left.
    let across = bench.document(&["show", "--since", &time(last_night - 7_200), "--until", &time(last_night + 3_600)]);
    assert_eq!(across["run"]["settings"]["part"]["runs"].as_array().map(Vec::len), Some(4), "{across:#}");
    let day = &time(before)[..10];
    let coarse = bench.document(&["show", "--since", &format!("{day} 03:10"), "--until", "03:11"]);
    assert_eq!(coarse["cells"][0]["binding"]["limit"], "disk-iops", "{coarse:#}");
    // Without its time.
    let rows = bench.rows(&["show", "--incidents"]);
    let [first, second] = &rows[..] else { panic!("{rows:#?}") };
    assert_eq!(
        (first["since"].as_str(), first["until"].as_str()),
        (Some(&*time(before + 8)), Some(&*time(before + 38)))
    );
    assert_eq!(
        (second["since"].as_str(), second["until"].as_str()),
        (Some(&*time(last_night)), Some(&*time(last_night + 40)))
    );
    assert_eq!((second["held_ns"].as_u64(), cause(&second["caused_by"])), (Some(40_000_000_000), limit));
    // For a need, and as a page.
    let page = bench.path("night.html").display().to_string();
    bench.done(&["report", "--since", "03:10", "--until", "03:11", "-o", &page]);
    let advised = bench.run(&["advise", "--since", "03:10", "--until", "03:11", "--limits-only", "--format", "json"]);
    let advised: Value =
        serde_json::from_slice(&advised.stdout).unwrap_or_else(|_| panic!("{}", text(&advised.stderr)));
    assert_eq!(advised["schema"], "loadline.advice/1");
}

#[test]
fn a_time_that_nothing_was_watched_at_is_refused_with_what_was() {
    let bench = Bench::new();
    let refused = |arguments: &[&str], part: &str| {
        let refused = bench.refused(2, arguments);
        assert!(refused.contains(part), "{refused}");
    };
    let (last_night, _) = recorded_week(&bench);
    for verb in [&["show", "--since", "2020-01-01"][..], &["live", "--at", "2020-01-01 03:10"]] {
        refused(verb, "nothing that is stored was watched then (times are in UTC); watched is from ");
    }
    refused(&["show", "--since", "03:10", "--until", &time(last_night - DAY_S)], "--until is later than --since");
    refused(&["live", "--at", "last night"], "such as 03:10");
}
