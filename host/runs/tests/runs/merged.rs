//! Runs that hosts made together, merged in the store.

use loadline_record::{
    DeviceFacts, DoubtCode, KernelThrottle, RunRecord, RunStatus, RunVerb, ThrottledQuantity, ThrottledRequests,
    TrialRecord,
};
use loadline_runs::{
    Error, HostsRefusal, Measurement, Merge, Refusal, RunOptions, Silent, StartTime, resume, store_location,
};
use loadline_workload::Plan;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const PLAN: &str = "schema = 1\nname = \"together\"\n[[load]]\nblock = \"4 KiB\"\narrival = { constant = \"1000 IOPS\" }\n\
                    warm_up = \"0 s\"\nduration = \"200 ms\"\npause = \"0 s\"\ntrials = 1\n";

fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

fn measured(store: &Path, start: Duration) -> Result<RunRecord, Error> {
    let start = StartTime::from_unix_ns(start.as_nanos() as u64);
    let measurement = Measurement::new(Plan::parse(PLAN, "together").unwrap()).on("data", "null").starting_at(start);
    let options = RunOptions::default().seeded(1).stored_in(store);
    Ok(measurement.run(&options, &mut Silent::default())?.record)
}

fn latencies(trial: &TrialRecord) -> u64 {
    trial.operations.values().map(|record| record.latency.count()).sum()
}

#[test]
fn runs_that_began_together_become_one_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    // Both are there by then, also on a busy machine.
    let start = wall() + Duration::from_secs(5);
    let of = |host: &str| measured(&folder.path().join(host), start).unwrap();
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| of("b.db"));
        (of("a.db"), other.join().unwrap())
    });
    let began = one.cells[0].trials[0].measured_from_unix_ns.unwrap();
    assert!(began >= start.as_nanos() as u64, "{began} before {start:?}");
    let store = store_location::open_store(&folder.path().join("all.db")).unwrap();
    let counts: u64 = [&one, &other].iter().map(|run| run.cells[0].trials[0].count()).sum();
    // On a busy machine a request may end after the measured time: its latency counts and the request does not.
    let own_latencies: u64 = [&one, &other].iter().map(|run| latencies(&run.cells[0].trials[0])).sum();
    let merged = Merge::new().with(Some("b".to_owned()), one).with(None, other).store(None, &store).unwrap().record;
    assert_eq!((&merged.header.verb, merged.status), (&RunVerb::Merge, RunStatus::Finished));
    let trial = &merged.cells[0].trials[0];
    let hosts = trial.hosts.as_ref().unwrap();
    assert_eq!(hosts.hosts.iter().map(|host| host.count).sum::<u64>(), counts);
    assert_eq!(latencies(trial), own_latencies);
    assert!(trial.doubts.iter().all(|doubt| doubt.code != DoubtCode::ClocksNotCompared), "one kernel, one clock");
    assert_eq!(merged.cells[0].load.figures().rate_iops, Some(2_000.0));
    // It is stored whole, and there is nothing to carry on with.
    assert!(resume(store, &merged.header.id, &mut Silent::default()).unwrap().ended.is_complete());
}

#[test]
fn a_merged_run_keeps_the_devices_and_throttles_of_each_host() {
    let folder = tempfile::tempdir().unwrap();
    let throttle = KernelThrottle {
        requests: ThrottledRequests::Reads,
        counts: ThrottledQuantity::Requests,
        per_s: 500,
        group: "/db".into(),
        file: "/sys/fs/cgroup/db/io.max".into(),
        lifted_by: "7:0 0".into(),
    };
    let on = |host: &str| {
        let mut record = measured(&folder.path().join(format!("{host}.db")), wall() + Duration::from_secs(1)).unwrap();
        record.header.host.boot_id = Some(host.to_owned());
        let device = DeviceFacts { name: "vda".into(), throttles: vec![throttle.clone()], ..DeviceFacts::default() };
        record.header.volumes[0].devices = vec![device];
        record
    };
    let (one, other) = (on("a"), on("b"));
    let merge = |runs: [RunRecord; 2]| {
        let [one, other] = runs;
        let merged =
            Merge::new().with(Some("a".to_owned()), one).with(Some("b".to_owned()), other).record(None).unwrap();
        let devices = merged.header.volumes[0].devices.clone();
        assert!(devices.iter().all(|device| device.throttles.as_slice() == std::slice::from_ref(&throttle)));
        devices.into_iter().map(|device| device.name).collect::<Vec<_>>()
    };
    let mut same_kernel = other.clone();
    same_kernel.header.host.boot_id.clone_from(&one.header.host.boot_id);
    assert_eq!(merge([one.clone(), same_kernel.clone()]), ["vda"]);
    assert_eq!(merge([one.clone(), other]), ["vda of a", "vda of b"]);
    // In control groups of one kernel, of which one has no throttle.
    same_kernel.header.volumes[0].devices[0].throttles.clear();
    let apart = Merge::new().with(Some("a".to_owned()), one).with(Some("b".to_owned()), same_kernel).record(None);
    let devices = apart.unwrap().header.volumes[0].devices.clone();
    let told: Vec<_> = devices.iter().map(|device| (device.name.as_str(), device.throttles.len())).collect();
    assert_eq!(told, [("vda of a", 1), ("vda of b", 0)]);
}

#[test]
fn a_start_that_passed_is_refused_before_anything_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let refused = measured(&path, wall().checked_sub(Duration::from_secs(3)).unwrap()).unwrap_err();
    assert!(
        matches!(&refused, Error::Refused(why) if matches!(**why, Refusal::Hosts(HostsRefusal::StartPassed { .. }))),
        "{refused}"
    );
    assert!(!path.exists());
}
