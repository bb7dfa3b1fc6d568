//! The published schema and what the summaries really are: each holds the other.

use jsonschema::Validator;
use loadline_analysis::example::{ExampleDisk, cell, closed, flushing, golden, open, planned, predicted, run};
use loadline_analysis::{HostRun, Limit, SCHEMA, merge_hosts, name_on_hosts, summarize};
use loadline_block::{ErrorKind, Operation};
use loadline_load::LoadSpec;
use loadline_record::{
    AnswersInClusters, Doubt, DoubtCode, Ending, EventAsker, Extents, HiddenProcesses, HostPart, HostRank,
    KernelThrottle, PlanText, ProgramSecond, RunRecord, RunStatus, RunVerb, SteadyState, TargetKind, ThrottledQuantity,
    ThrottledRequests, WatchCost, WatchEvents, WatchRecord, WatchSecond, WatchTick, WatchedProgram, WatchedThrottle,
};
use loadline_report::run_document;
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/formats/run.schema.json")).expect("the schema is JSON")
}

fn validator() -> Validator {
    jsonschema::draft202012::new(&schema()).expect("the schema is a schema")
}

fn document(record: &RunRecord) -> Value {
    serde_json::to_value(run_document(&summarize(record))).expect("a document is JSON")
}

#[track_caller]
fn holds(record: &RunRecord) -> Value {
    let value = document(record);
    let errors: Vec<String> = validator().iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    value
}

#[test]
fn a_run_of_everything_follows_the_schema() {
    let value = holds(&golden());
    assert_eq!(value["schema"], SCHEMA);
    assert_eq!(value["cells"].as_array().unwrap().len(), golden().cells.len());
}

#[test]
fn a_run_of_several_hosts_follows_the_schema() {
    let load = || cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0]);
    let of_host = |host: &str| {
        let mut record = run(vec![load()]);
        record.header.id = format!("run-{host}");
        HostRun::new(host.to_owned(), record)
    };
    let mut merged = of_host("a").record;
    merged.cells = merge_hosts(&[of_host("a"), of_host("b")]).expect("runs of one plan");
    let value = holds(&merged);
    let hosts = &value["cells"][0]["hosts"];
    assert_eq!((&hosts["hosts"][1]["host"], &hosts["jain_index"]), (&json!("b"), &json!(1.0)));
    assert_eq!(hosts["coverage"], 1.0);
}

#[test]
fn a_run_in_steps_with_more_and_more_hosts_follows_the_schema() {
    let of_rank = |rank: u32| {
        let part = HostPart { rank: Some(HostRank { rank, of: 2 }), steps: vec![1, 2], own_range: false };
        let load = closed("random", 1.0, 4 << 10, 8);
        let cells = part.own_steps().map(|hosts| {
            let mut cell = cell(load.clone(), &ExampleDisk::default(), &[1.0, 1.01]);
            cell.load = LoadSpec { name: Some(name_on_hosts(hosts, None)), ..planned(&load) }.into();
            cell.id = format!("on-{hosts}");
            cell
        });
        let mut record = run(cells.collect());
        record.header.id = format!("run-{rank}");
        record.header.settings = json!({ "hosts": part });
        HostRun::new(format!("node{rank}"), record)
    };
    let mut merged = of_rank(0).record;
    merged.cells = merge_hosts(&[of_rank(0), of_rank(1)]).expect("ranks of one plan");
    let value = holds(&merged);
    let scaling = &value["hosts_scaling"][0];
    assert_eq!((&scaling["points"][1]["hosts"], &scaling["limit"]), (&json!(2), &json!("not-reached")));
    assert_eq!(value["findings"][0]["code"], "hosts-scaling");
}

#[test]
fn a_prediction_follows_the_schema() {
    let value = holds(&predicted(&[1.0, 0.8, 1.1]));
    let cell = &value["cells"][0];
    assert_eq!(cell["prediction"]["cache_hit_share"], 0.75);
    assert_eq!(cell["prediction"]["bursts_ended"].as_array().unwrap().len(), 1);
    assert!(cell["read"]["latency_range_ns"]["p99_high"].is_u64());
    assert_eq!(value["run"]["volumes"][0]["kind"], "modelled");
}

/// A watch by the kernel's events, in which everything was seen that can be.
fn watched() -> RunRecord {
    let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
    record.header.verb = RunVerb::Watch;
    let tick = WatchTick {
        elapsed_us: 100_000,
        reads: 100,
        read_bytes: 409_600,
        read_ms: 10,
        busy_ms: 10,
        ..WatchTick::default()
    };
    let limit = KernelThrottle {
        requests: ThrottledRequests::Reads,
        counts: ThrottledQuantity::Requests,
        per_s: 1_000,
        group: "/db".into(),
        file: "/sys/fs/cgroup/db/io.max".into(),
        lifted_by: "7:0 riops=max".into(),
    };
    let did = ProgramSecond { read_bytes: 4_096_000, blocked_us: 8_000_000, ..ProgramSecond::default() };
    let program = WatchedProgram {
        name: "db".into(),
        pid: 7,
        processes: 1,
        only_here: Some(true),
        quota: None,
        memory: None,
        seconds: vec![did; 10],
    };
    let events = WatchEvents {
        requests: 10_000,
        lost: 1,
        askers: vec![EventAsker { name: "db".into(), pid: 7, reads: 10_000, ..EventAsker::default() }],
        clusters: Some(AnswersInClusters { every_us: 50_000, answers: 50.0, share: 0.9 }),
        cpu_us: 1_000,
    };
    record.cells[0].trials[0].watched = Some(Box::new(WatchRecord {
        ticks: vec![tick; 100],
        seconds: vec![WatchSecond { ticks: 10, swapped_bytes: Some(0), ..WatchSecond::default() }; 10],
        swap_here: true,
        gaps: Vec::new(),
        throttles: vec![WatchedThrottle { limit, asked: Some(vec![1_000; 10]) }],
        queue: None,
        programs: vec![program],
        subject: Some(0),
        hidden: Some(HiddenProcesses { processes: 3, by_root: true }),
        cost: WatchCost { cpu_us: 20_000, elapsed_us: 10_000_000 },
        events: Some(events),
    }));
    record
}

#[test]
fn a_watch_has_every_field_that_the_schema_has_and_no_other() {
    let value = holds(&watched());
    let schema = schema();
    let lacks = |place: &str, value: &Value, schema: &Value| -> Vec<String> {
        let known = schema["properties"].as_object().expect("an object").keys();
        known.filter(|key| value.get(*key).is_none()).map(|key| format!("{place}.{key}")).collect()
    };
    let (watch, of) = (&value["cells"][0]["watch"], &schema["$defs"]["watch"]);
    let mut missing = lacks("watch", watch, of);
    for part in ["hidden", "clusters", "above_device"] {
        missing.extend(lacks(part, &watch[part], &of["properties"][part]));
    }
    for list in ["causes", "throttles", "programs", "askers"] {
        missing.extend(lacks(list, &watch[list][0], &of["properties"][list]["items"]));
    }
    assert_eq!(missing, [""; 0]);
    // What holds the device, what it means and what to do are there as values, too.
    let (verdict, conclusion) = (&value["verdict"]["volumes"][0], &value["conclusions"][0]);
    assert_eq!((&verdict["held"]["kind"], &verdict["held"]["by"]["kind"]), (&json!("held"), &json!("storage")));
    assert_eq!((&verdict["step"]["kind"], &verdict["wait"]), (&json!("lift-throttle"), &watch["above_device"]));
    assert_eq!((&conclusion["held"], &conclusion["gain"]), (&verdict["held"], &watch["gain"]));
    assert_eq!(conclusion["step"], verdict["step"]);
}

#[test]
fn every_field_that_may_be_missing_may_be_null() {
    let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
    record.status = RunStatus::Unfinished;
    record.cells[0].trials.clear();
    let volume = &mut record.header.volumes[0];
    (volume.path, volume.file_system, volume.extents) = (None, None, None);
    volume.devices.clear();
    volume.kind = TargetKind::BlockDevice;
    record.header.host = loadline_record::HostFacts::default();
    let value = holds(&record);
    let cell = &value["cells"][0];
    for key in ["total", "read", "write", "trim", "flush", "offered_iops", "binding"] {
        assert_eq!(cell[key], Value::Null, "{key}");
    }
    assert_eq!(value["run"]["host"]["hostname"], Value::Null);
}

#[test]
fn every_field_that_may_be_there_follows_the_schema() {
    let disk = ExampleDisk::default();
    let mut record = run(vec![
        cell(closed("random", 0.5, 8 << 10, 8), &disk, &[1.0, 1.1]),
        cell(open("random", 0.0, 4 << 10, 9_000.0), &disk, &[1.0]),
        flushing(&disk),
    ]);
    record.status = RunStatus::Failed;
    record.header.environment = Some(PlanText { name: "ds3".into(), text: "schema = 1".into(), hash: "00".into() });
    record.header.volumes[0].extents = Some(Extents { written_bytes: 1, ..Extents::default() });
    record.header.volumes[0].direct_reason = Some("refused".into());
    let device = &mut record.header.volumes[0].devices[0];
    (device.rotational, device.polled, device.backing_file) = (Some(false), Some(true), Some("/x".into()));
    (device.backing_file_system, device.backing_direct) = (Some("ext4".into()), Some(false));
    let trial = &mut record.cells[0].trials[0];
    let trimmed = trial.operations[&Operation::Write].clone();
    trial.operations.insert(Operation::Trim, trimmed);
    trial.errors.insert(ErrorKind::Gone, 1);
    trial.steady_state = Some(SteadyState { reached: true, rounds: vec![5_000.0; 6], round_ns: 60_000_000_000 });
    trial.ending = Ending::Hung("read at 0".into());
    trial.doubts = DoubtCode::ALL.map(|code| Doubt::written(code, "Seen.")).to_vec();
    let value = holds(&record);
    assert_eq!(value["cells"][0]["doubts"].as_array().unwrap().len(), DoubtCode::ALL.len());
    assert!(value["cells"][1]["write"]["waiting_ns"]["p99"].is_u64());
    assert!(value["cells"][2]["flush"]["latency_ns"]["p99_9"].is_u64());
}

#[test]
fn a_cell_in_which_every_request_failed_follows_the_schema() {
    let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
    let trial = &mut record.cells[0].trials[0];
    trial.operations.clear();
    trial.errors.insert(ErrorKind::Io, 7);
    let value = holds(&record);
    assert_eq!(value["cells"][0]["total"]["iops"], 0.0);
    assert_eq!(value["cells"][0]["read"], Value::Null);
}

#[test]
fn the_schema_refuses_what_is_no_summary() {
    let good = document(&golden());
    let validator = validator();
    assert!(validator.is_valid(&good));
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut value = good.clone();
        change(&mut value);
        !validator.is_valid(&value)
    };
    assert!(refused(&|v| v["schema"] = json!("loadline.run/2")));
    assert!(refused(&|v| v["extra"] = json!(1)));
    assert!(refused(&|v| v["cells"][0]["total"]["iops"] = Value::Null));
    assert!(refused(&|v| v["cells"][0]["binding"]["limit"] = json!("magic")));
    assert!(refused(&|v| v["cells"][0]["load"]["queue_depth"] = json!(0)));
    assert!(refused(&|v| drop(v["cells"][0].as_object_mut().unwrap().remove("read"))));
    assert!(refused(&|v| v["run"]["volumes"][0]["kind"] = json!("tape")));
}

#[test]
fn the_schema_lists_the_limits_and_the_doubts_that_there_are() {
    let schema = schema();
    let listed = |path: &str| schema.pointer(path).and_then(Value::as_array).expect(path).clone();
    let codes: Vec<Value> = DoubtCode::ALL.iter().map(|c| json!(c.name())).collect();
    assert_eq!(listed("/$defs/doubt/properties/code/enum"), codes);
    // Every name is a limit, and every limit has a name: the match below fails to compile when one is added.
    let names = listed("/$defs/limit/enum");
    for name in &names {
        let limit: Limit = serde_json::from_value(name.clone()).expect("a limit");
        assert_eq!(json!(limit.name()), *name);
        match limit {
            Limit::DiskIops
            | Limit::DiskThroughput
            | Limit::VmUncachedIops
            | Limit::VmUncachedThroughput
            | Limit::VmCachedIops
            | Limit::VmCachedThroughput
            | Limit::BurstExhausted
            | Limit::Cache
            | Limit::Memory
            | Limit::Latency
            | Limit::Arrival
            | Limit::Cpu
            | Limit::Generator
            | Limit::Interface
            | Limit::Parallelism
            | Limit::Flush
            | Limit::Unexplained => {}
        }
    }
    assert_eq!(names.len(), 17);
}

/// The fields that scripts were promised.
#[test]
fn the_promised_fields_are_where_they_were_promised() {
    let value = document(&golden());
    let keys = |pointer: &str, wanted: &[&str]| {
        let object = value.pointer(pointer).and_then(Value::as_object).expect(pointer);
        for key in wanted {
            assert!(object.contains_key(*key), "{pointer}/{key}");
        }
    };
    keys("", &["schema", "run", "cells", "findings"]);
    keys("/run", &["id", "name", "clock", "started", "host", "environment", "plan", "seed"]);
    keys(
        "/cells/0",
        &[
            "id", "volume", "label", "load", "trials", "total", "read", "write", "errors", "cpu", "binding",
            "ceilings", "doubts",
        ],
    );
    keys("/cells/0/load", &["pattern", "read_ratio", "block_bytes", "queue_depth", "threads", "arrival"]);
    keys("/cells/0/total", &["iops", "iops_low", "iops_high", "throughput_bytes_per_s"]);
    keys("/cells/0/read", &["iops", "throughput_bytes_per_s", "latency_ns"]);
    keys("/cells/0/read/latency_ns", &["mean", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"]);
    keys("/cells/0/cpu", &["user_s", "system_s"]);
    keys("/cells/0/binding", &["limit", "ceiling_iops", "utilization", "evidence"]);
    keys("/cells/0/ceilings/0", &["limit", "iops", "source"]);
    keys("/findings/0", &["code", "text", "seen", "cells"]);
}
