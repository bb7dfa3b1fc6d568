//! Hosts on one shared storage, as processes on an emulated disk whose own count is the truth.

use crate::support::Bench;
use crate::support::emulated::Emulated;
use loadline_analysis::{HostsView, StragglerSeen, summarize};
use loadline_block::Operation;
use loadline_emulation::Trace;
use loadline_record::{DoubtCode, HostPart, HostRank, RunRecord, RunStatus, TrialRecord};
use loadline_runs::emulation::EmulationFigures;
use loadline_runs::{Measurement, Merge, RunOptions, Silent, StartTime};
use loadline_store::{Filter, Store};
use loadline_workload::Plan;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A budget for all.
const SHARED: &str = "schema = 1\nname = \"shared\"\n[[volume.data.disks]]\nsize = \"64 MiB\"\n\
                      limit = { iops = \"1500 IOPS\", enforcement = \"smooth\" }\n\
                      [volume.data.disks.latency.read]\nmedian = \"100 us\"\np99 = \"100 us\"\n";
/// The arguments of a rank's process: its store, the target, its start, and the plan.
const RANK: [&str; 4] = ["LOADLINE_TEST_RANK", "LOADLINE_TEST_TARGET", "LOADLINE_TEST_START", "LOADLINE_TEST_PLAN"];
/// Which of several ranks it is, as in 2/4: it writes to a range of its own. Without it, it reads.
const OWN_RANGE: &str = "LOADLINE_TEST_OWN_RANGE";
/// Processes start within this, also on a busy machine.
const STARTING: Duration = Duration::from_secs(2);

fn is_long() -> bool {
    std::env::var_os("LOADLINE_TEST_LONG").is_some_and(|value| value == "1")
}
fn plan(seconds: u32, trials: u32) -> String {
    format!(
        "schema = 1\nname = \"shared\"\n[[load]]\nblock = \"4 KiB\"\nqueue_depth = 4\nwarm_up = \"500 ms\"\n\
         duration = \"{seconds} s\"\npause = \"0 s\"\ntrials = {trials}\n"
    )
}
fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// Does nothing but in a process that another test starts.
#[test]
fn in_the_process_of_a_rank_its_run_is_made() {
    let Some([store, target, start, plan]) = RANK
        .map(std::env::var_os)
        .into_iter()
        .collect::<Option<Vec<OsString>>>()
        .and_then(|all| <[OsString; 4]>::try_from(all).ok())
    else {
        return;
    };
    let start = StartTime::from_unix_ns(start.to_str().unwrap().parse().unwrap());
    let plan = Plan::parse(plan.to_str().unwrap(), "shared").unwrap();
    let target = target.to_str().unwrap();
    let measurement = Measurement::new(plan).on("data", target).starting_at(start);
    let measurement = match std::env::var(OWN_RANGE) {
        Ok(rank) => {
            let part = HostPart { rank: Some(rank.parse().unwrap()), own_range: true, ..HostPart::default() };
            measurement.overwrite(target).as_host(part)
        }
        Err(_) => measurement.read_only(),
    };
    measurement.run(&RunOptions::default().seeded(1).stored_in(Path::new(&store)), &mut Silent::default()).unwrap();
}

/// A rank that has been started, killed where it is dropped.
struct Rank {
    name: String,
    child: Child,
}

impl Rank {
    fn new(emulated: &Emulated, name: &str, start: Duration, plan: &str) -> Self {
        Self::with(emulated, name, start, plan, None)
    }
    /// With a range of its own, if it is one of several ranks.
    fn with(emulated: &Emulated, name: &str, start: Duration, plan: &str, own_range: Option<HostRank>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "ranks::in_the_process_of_a_rank_its_run_is_made", "--nocapture"]);
        command.env(RANK[0], store_of(&emulated.bench, name)).env(RANK[1], emulated.uri());
        command.env(RANK[2], start.as_nanos().to_string()).env(RANK[3], plan);
        command.envs(own_range.map(|rank| (OWN_RANGE, rank.to_string())));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        Self { name: name.to_owned(), child }
    }
    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }
    fn ended(mut self) {
        assert!(self.child.wait().unwrap().success(), "{}", self.name);
    }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn store_of(bench: &Bench, name: &str) -> std::path::PathBuf {
    bench.path(&format!("{name}.db"))
}
/// What a rank has stored by now; `None` before its run was begun.
fn run_of(bench: &Bench, name: &str) -> Option<RunRecord> {
    let path = store_of(bench, name);
    let store = path.is_file().then(|| Store::open(&path).unwrap())?;
    let id = store.list(&Filter { limit: Some(1), ..Filter::default() }).unwrap().first()?.id.clone();
    Some(store.load(&id).unwrap())
}
fn merged(bench: &Bench, names: &[&str]) -> RunRecord {
    let runs = names.iter().map(|name| (*name, run_of(bench, name).unwrap()));
    runs.fold(Merge::new(), |merge, (name, run)| merge.with(Some(name.to_owned()), run)).record(None).unwrap()
}
fn hosts(record: &RunRecord) -> HostsView {
    summarize(record).cells[0].hosts.clone().unwrap()
}
/// Looks at the emulator's own count while `work` goes on: moments of the wall clock, each with the requests answered until then.
fn counted(emulated: &Emulated, work: impl FnOnce() + Send) -> Vec<(u64, u64)> {
    std::thread::scope(|scope| {
        let working = scope.spawn(work);
        let mut counts = Vec::new();
        while !working.is_finished() {
            let requests = EmulationFigures::of(emulated.run.emulation()).requests();
            counts.push((wall().as_nanos() as u64, requests));
            sleep(Duration::from_millis(10));
        }
        working.join().unwrap();
        counts
    })
}
/// Requests per second by the emulator's count while a trial was measured.
fn rate_by(counts: &[(u64, u64)], trial: &TrialRecord) -> f64 {
    let from = trial.measured_from_unix_ns.unwrap();
    let until = |at: u64| {
        let place = counts.partition_point(|(moment, _)| *moment < at).clamp(1, counts.len() - 1);
        let ((before, fewer), (after, more)) = (counts[place - 1], counts[place]);
        fewer as f64 + (more - fewer) as f64 * (at as f64 - before as f64) / (after - before) as f64
    };
    (until(from + trial.measured_ns) - until(from)) * 1e9 / trial.measured_ns as f64
}
fn is_within(found: f64, truth: f64) {
    assert!((found / truth - 1.0).abs() < 0.003, "{found} by the hosts, {truth} by the emulator");
}

#[test]
#[ignore = "long: measures this machine"]
fn a_frozen_host_is_named_and_the_sum_of_all_is_the_storages_own() {
    let emulated = Emulated::new(SHARED);
    let text = plan(3, 2);
    let start = wall() + STARTING;
    let names = ["a", "b", "c"];
    let ranks = names.map(|name| Rank::new(&emulated, name, start, &text));
    let until = |after_ms: u64| sleep((start + Duration::from_millis(after_ms)).saturating_sub(wall()));
    let counts = counted(&emulated, || {
        // Measured from 500 ms to 3,500 ms. The second trial is left alone.
        until(1_000);
        ranks[1].signal("-STOP");
        until(3_000);
        ranks[1].signal("-CONT");
        ranks.into_iter().for_each(Rank::ended);
    });
    let all = merged(&emulated.bench, &names);
    assert_eq!((all.status, all.cells[0].trials.len()), (RunStatus::Finished, 2));
    let view = hosts(&all);
    let stragglers: Vec<&str> = view.stragglers.iter().map(|straggler| straggler.host.as_str()).collect();
    assert_eq!(stragglers, ["b"], "{view:?}");
    assert!(
        matches!(view.stragglers[0].seen, StragglerSeen::StoodStill { .. } | StragglerSeen::ToolStopped { .. }),
        "{view:?}"
    );
    for trial in &all.cells[0].trials {
        is_within(trial.iops().unwrap(), rate_by(&counts, trial));
    }
}

/// Whose ranges each connection wrote to, by the trace of the export.
fn writers(trace: &Path, of: u32, part: u64) -> Vec<BTreeSet<u64>> {
    let trace = Trace::read(BufReader::new(File::open(trace).unwrap())).unwrap();
    let mut ranks: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    let writes = trace.records.iter().filter(|record| record.operation == Operation::Write);
    for write in writes {
        let [first, last] = [write.offset, write.offset + write.length - 1].map(|at| at / part);
        assert!(first == last && last < u64::from(of), "{write:?} is in the ranges of two ranks, or beyond all");
        ranks.entry(write.client).or_default().insert(first);
    }
    ranks.into_values().collect()
}

#[test]
fn processes_that_share_an_export_write_to_their_own_ranges_at_the_same_time() {
    const RANKS: u32 = 4;
    const PART: u64 = 2 << 20;
    let bench = Bench::new();
    let trace = bench.path("trace");
    let emulated = Emulated::with(SHARED, bench, |options| options.trace = Some(trace.clone()));
    let plan = "schema = 1\nname = \"shared\"\n[[load]]\nblock = \"4 KiB\"\nreads = \"25 %\"\nsize = \"8 MiB\"\nverify = true\n\
                arrival = { constant = \"150 IOPS\" }\nwarm_up = \"0 s\"\nduration = \"2 s\"\npause = \"0 s\"\ntrials = 1\n";
    // Each fills its range first, while the others fill theirs.
    let start = wall() + 3 * STARTING;
    let names = ["a", "b", "c", "d"];
    let ranks: Vec<Rank> = (names.iter().zip(0..))
        .map(|(name, rank)| Rank::with(&emulated, name, start, plan, Some(HostRank { rank, of: RANKS })))
        .collect();
    ranks.into_iter().for_each(Rank::ended);
    let all = merged(&emulated.bench, &names);
    let (ended, bench) = emulated.end();
    ended.result.unwrap();
    // No rank wrote over what another one had written: all that was read back was as its own rank wrote it.
    for name in names {
        let verified = run_of(&bench, name).unwrap().cells[0].trials[0].verify.clone().unwrap();
        assert!(verified.blocks_checked > 0 && verified.faults.is_empty(), "{name}: {verified:?}");
    }
    let view = hosts(&all);
    assert_eq!(view.hosts.iter().map(|host| host.host.as_str()).collect::<Vec<_>>(), names);
    assert_eq!(all.cells[0].load.spec().unwrap().size.unwrap().get(), 8 << 20);
    assert_eq!(all.header.volumes[0].size_bytes, Some(8 << 20), "the ranges of all");
    let writers = writers(&trace, RANKS, PART);
    assert!(writers.iter().all(|ranks| ranks.len() == 1), "one connection wrote for two ranks: {writers:?}");
    assert_eq!(writers.into_iter().flatten().collect::<BTreeSet<_>>(), BTreeSet::from([0, 1, 2, 3]));
}

#[test]
#[ignore = "long: measures this machine"]
fn the_odd_one_of_three_hosts_is_named_and_none_where_there_is_none() {
    let names = ["a", "b", "c"];
    let text = plan(8, 1);
    let (mut slow, mut frozen, mut falsely) = (0, 0, 0);
    for round in 0..15 {
        let emulated = Emulated::new(SHARED);
        let start = wall() + STARTING;
        let ranks = names.map(|name| Rank::new(&emulated, name, start, &text));
        let until = |after: Duration| sleep((start + after).saturating_sub(wall()));
        match round % 3 {
            // Half of the time it has no CPU.
            0 => {
                let mut after = Duration::from_millis(300);
                while after < Duration::from_millis(8_600) {
                    until(after);
                    ranks[1].signal("-STOP");
                    until(after + Duration::from_millis(100));
                    ranks[1].signal("-CONT");
                    after += Duration::from_millis(200);
                }
            }
            1 => {
                until(Duration::from_secs(3));
                ranks[1].signal("-STOP");
                until(Duration::from_secs(5));
                ranks[1].signal("-CONT");
            }
            _ => {}
        }
        ranks.into_iter().for_each(Rank::ended);
        let view = hosts(&merged(&emulated.bench, &names));
        let found: Vec<&str> = view.stragglers.iter().map(|straggler| straggler.host.as_str()).collect();
        match round % 3 {
            0 => slow += u32::from(found == ["b"]),
            1 => frozen += u32::from(found == ["b"]),
            _ => falsely += u32::from(!found.is_empty()),
        }
        println!("{round}: {found:?}, {:?}", view.hosts.iter().map(|host| host.iops).collect::<Vec<_>>());
    }
    println!("of 5 each: {slow} throttled and {frozen} frozen named, {falsely} where there was none");
    assert_eq!((slow, frozen, falsely), (5, 5, 0));
}

#[test]
#[ignore = "long: measures this machine"]
fn one_to_eight_hosts_share_what_the_storage_gives_also_when_one_comes_late() {
    for late in [Duration::ZERO, Duration::from_secs(5)] {
        for count in [1, 2, 4, 8] {
            let emulated = Emulated::new(SHARED);
            let text = plan(12, 1);
            let start = wall() + 2 * STARTING;
            let names: Vec<String> = (0..count).map(|number| format!("h{number}")).collect();
            let ranks: Vec<Rank> = (names.iter().enumerate())
                .map(|(number, name)| {
                    let own = if number + 1 == count { start + late } else { start };
                    Rank::new(&emulated, name, own, &text)
                })
                .collect();
            let counts = counted(&emulated, || ranks.into_iter().for_each(Rank::ended));
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let trial = if let [only] = names[..] {
                run_of(&emulated.bench, only).unwrap().cells[0].trials[0].clone()
            } else {
                let all = merged(&emulated.bench, &names);
                let view = hosts(&all);
                assert_eq!(view.stragglers, [], "{view:?}");
                let not_together = |doubt: &loadline_record::Doubt| doubt.code == DoubtCode::NotTogether;
                assert_eq!(all.cells[0].trials[0].doubts.iter().any(not_together), !late.is_zero());
                all.cells[0].trials[0].clone()
            };
            let (found, truth) = (trial.iops().unwrap(), rate_by(&counts, &trial));
            println!(
                "{count} hosts, the last {} s late: {found:.1} by them, {truth:.1} by the emulator",
                late.as_secs()
            );
            is_within(found, truth);
        }
    }
}

#[test]
fn ranks_that_are_killed_at_any_moment_lose_no_trial_that_was_finished() {
    let kills = if is_long() { 200 } else { 3 };
    let seed = std::hash::RandomState::new().build_hasher().finish();
    println!("seed {seed}");
    let mut state = seed;
    // Knuth's generator (MMIX); its upper bits are the good ones.
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let text = "schema = 1\nname = \"shared\"\n[[load]]\nblock = \"4 KiB\"\nqueue_depth = 4\nwarm_up = \"0 s\"\n\
                duration = \"20 ms\"\npause = \"0 s\"\ntrials = 2\n";
    let lanes = if is_long() { 8 } else { 3 };
    let (mut killed, mut finished) = (0, 0);
    while killed < kills {
        let emulated = Emulated::new(SHARED);
        let start = wall() + Duration::from_millis(1_200);
        let names: Vec<String> = (0..lanes).map(|number| format!("h{number}")).collect();
        let mut ranks: Vec<Rank> = names.iter().map(|name| Rank::new(&emulated, name, start, text)).collect();
        let within = start.saturating_sub(wall()) + Duration::from_secs(if is_long() { 3 } else { 1 });
        let mut moments: Vec<Duration> =
            ranks.iter().map(|_| Duration::from_millis(random(within.as_millis() as u64))).collect();
        moments.sort();
        let began = Instant::now();
        for (rank, moment) in ranks.iter_mut().zip(moments) {
            sleep(moment.saturating_sub(began.elapsed()));
            // What is in the store now is there afterwards.
            let before = run_of(&emulated.bench, &rank.name);
            rank.child.kill().unwrap();
            rank.child.wait().unwrap();
            killed += 1;
            let after = run_of(&emulated.bench, &rank.name);
            for (own, kept) in before.iter().flat_map(|run| &run.cells).zip(after.iter().flat_map(|run| &run.cells)) {
                assert!(kept.trials.starts_with(&own.trials), "{}: a finished trial was lost or changed", rank.name);
                finished += own.trials.len();
            }
            assert!(before.is_none() || after.is_some());
        }
        // What each of them had finished is in the merged run.
        let runs: Vec<(String, RunRecord)> =
            names.iter().filter_map(|name| Some((name.clone(), run_of(&emulated.bench, name)?))).collect();
        if runs.len() > 1 && runs.iter().any(|(_, run)| !run.cells[0].trials.is_empty()) {
            let all = runs.iter().fold(Merge::new(), |merge, (name, run)| merge.with(Some(name.clone()), run.clone()));
            let all = all.record(None).unwrap();
            let shares = |record: &RunRecord| -> usize {
                record.cells[0].trials.iter().map(|trial| trial.hosts.as_ref().unwrap().hosts.len()).sum()
            };
            assert_eq!(shares(&all), runs.iter().map(|(_, run)| run.cells[0].trials.len()).sum::<usize>());
        }
    }
    println!("{killed} kills, {finished} trials finished before them, none lost");
}
