//! Timelines for Perfetto of a trace, a crawl and a run, read by Perfetto's own classes where they are there.

use crate::Bench;
use std::path::Path;
use std::process::Command;

/// Says of a file: how many slices there are of each name, their time in ns, how many ways they make, and how many counters there are. Fails
/// where slices do not nest.
const READ: &str = r#"
import collections, json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
trace = perfetto.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
tracks, names, opened = {}, {}, collections.defaultdict(list)
slices, spent, flows, counters, now = collections.Counter(), collections.Counter(), set(), set(), 0
for packet in trace.packet:
    names.update({name.iid: name.name for name in packet.interned_data.event_names})
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert not track.parent_uuid or track.parent_uuid in tracks
        tracks[track.uuid] = track.name
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    assert packet.timestamp >= now and event.track_uuid in tracks
    now = packet.timestamp
    flows.update(event.flow_ids)
    if event.type == perfetto.TrackEvent.TYPE_SLICE_BEGIN:
        opened[event.track_uuid].append((names[event.name_iid], now))
    elif event.type == perfetto.TrackEvent.TYPE_SLICE_END:
        name, began = opened[event.track_uuid].pop()
        slices[name] += 1
        spent[name] += now - began
    elif event.type == perfetto.TrackEvent.TYPE_COUNTER:
        counters.add(tracks[event.track_uuid])
assert not any(opened.values())
json.dump({"slices": slices, "spent": spent, "flows": len(flows), "counters": sorted(counters)}, sys.stdout)
"#;

/// What Perfetto's classes read of a file; `None` where they are not there.
fn read(bench: &Bench, file: &str) -> Option<serde_json::Value> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers/python/bin/python");
    let has_them = |python: &Path| {
        let asked = Command::new(python).args(["-c", "import perfetto"]).output();
        asked.is_ok_and(|output| output.status.success())
    };
    let Some(python) = [peers.as_path(), Path::new("python3")].into_iter().find(|python| has_them(python)) else {
        println!("skipped: Perfetto's classes on timelines (they are not there: cargo xtask peers --long)");
        return None;
    };
    let output = Command::new(python).args(["-c", READ]).arg(bench.path(file)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_trace_becomes_a_timeline_of_its_requests() {
    let bench = Bench::new();
    let rows = [
        "time_s,operation,offset,length,latency_us",
        "0,read,0,4096,500",
        "0.0001,write,8192,8192,900",
        "0.001,read,4096,4096,100",
    ];
    let trace = bench.file("app.csv", rows.join("\n") + "\n");
    let file = bench.path("app.perfetto").display().to_string();
    bench.done(&["convert", &trace, "-o", &file, "--as", "perfetto"]);
    let first = bench.path("first.perfetto").display().to_string();
    let said = bench.run(&["convert", &trace, "-o", &first, "--as", "perfetto", "--requests", "1"]);
    assert!(crate::text(&said.stderr).contains("the first 1 of 3 requests"), "{}", crate::text(&said.stderr));
    let Some(of) = read(&bench, "app.perfetto") else { return };
    assert_eq!(of["slices"], serde_json::json!({"read 4 KiB": 2, "write 8 KiB": 1}));
    assert_eq!(of["spent"], serde_json::json!({"read 4 KiB": 600_000, "write 8 KiB": 900_000}));
    assert_eq!(of["counters"], serde_json::json!(["IOPS", "outstanding", "reads", "writes"]));
    assert_eq!(read(&bench, "first.perfetto").unwrap()["slices"], serde_json::json!({"read 4 KiB": 1}));
}

#[test]
fn a_crawl_becomes_a_timeline_of_its_items() {
    let bench = Bench::new();
    let docs = crate::crawl::folder(&bench, 60);
    bench.done(&["crawl", &docs, "--quiet"]);
    let refused = bench.run(&["export", "last", "--as", "perfetto"]);
    assert!(crate::text(&refused.stderr).contains("-o FILE.perfetto"), "{}", crate::text(&refused.stderr));
    let file = bench.path("crawl.perfetto").display().to_string();
    bench.done(&["export", "last", "--as", "perfetto", "-o", &file]);
    let Some(of) = read(&bench, "crawl.perfetto") else { return };
    // Fetch, extract, index and database of each page.
    assert_eq!((&of["slices"]["docs"], &of["flows"]), (&240.into(), &60.into()), "{of}");
    assert!(of["slices"]["commits of the database"].as_u64() > Some(0), "{of}");
    assert!(of["counters"].as_array().unwrap().contains(&"starved".into()), "{of}");
}

#[test]
fn a_prediction_becomes_a_timeline_of_its_trials() {
    let bench = Bench::new();
    let plan = bench.file(
        "plan.toml",
        "schema = 1\nname = \"two\"\n[[load]]\nblock = [\"4 KiB\", \"8 KiB\"]\nqueue_depth = 4\nduration = \"3 s\"\ntrials = 1\nsize = \"1 GiB\"\n",
    );
    let env = bench
        .file("disk.toml", "schema = 1\nname = \"disk\"\n[volume.data]\ndisks = [{ sku = \"azure/premium-p30\" }]\n");
    bench.done(&["predict", &plan, "--env", &env, "--quiet"]);
    let file = bench.path("run.perfetto").display().to_string();
    bench.done(&["export", "last", "--as", "perfetto", "-o", &file]);
    let Some(of) = read(&bench, "run.perfetto") else { return };
    let trials =
        bench.last()["cells"].as_array().unwrap().iter().map(|cell| cell["trials"].as_u64().unwrap()).sum::<u64>();
    let sum = |what: &str| of[what].as_object().unwrap().values().map(|each| each.as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("slices"), sum("spent")), (trials, trials * 3_000_000_000), "{of}");
    assert_eq!(of["counters"], serde_json::json!(["outstanding", "read p99", "reads"]));
}
