//! A run that is interrupted or killed keeps what was finished, and carries on.

use crate::bad_disk::run;
use crate::{Bench, entries, or_skip, text};
use loadline_record::{RunRecord, RunStatus, TrialRecord};
use loadline_store::{Filter, Store};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Sixteen trials of a few milliseconds each.
const MANY: &str = r#"
schema = 1
name = "many"
[[load]]
pattern = ["random", "sequential"]
reads = ["100 %", "0 %"]
block = "4 KiB"
queue_depth = [1, 4]
size = "256 KiB"
warm_up = "0 s"
duration = "1 ms"
trials = 2
"#;
const TRIALS: usize = 16;
/// Kills in all; `LOADLINE_KILLS` changes it.
const KILLS: u32 = 50;
/// No run is left alone for longer than this: it starts, and comes a few trials further.
const KILLED_WITHIN_MS: u64 = 200;

pub(crate) fn started(bench: &Bench, arguments: &[&str]) -> Child {
    bench.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn finished_trials(bench: &Bench) -> usize {
    bench.runs().first().map_or(0, |run| run["trials"].as_u64().unwrap() as usize)
}

/// A number from the environment, or another one.
fn from_environment<T: std::str::FromStr<Err: std::fmt::Debug>>(name: &str, otherwise: impl FnOnce() -> T) -> T {
    std::env::var(name).map_or_else(|_| otherwise(), |text| text.parse().unwrap())
}

/// For how long a run is left alone before it is killed, again and again; the seed is printed.
pub(crate) fn moments() -> impl Iterator<Item = Duration> {
    let seed = from_environment("LOADLINE_KILL_SEED", || std::hash::RandomState::new().build_hasher().finish());
    println!("LOADLINE_KILL_SEED={seed}");
    // Knuth's generator (MMIX); its upper bits are the good ones.
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros((state >> 33) % (KILLED_WITHIN_MS * 1_000))
    })
}

/// The run that is newest in the store, whole; `None` before the first was begun.
pub(crate) fn newest(bench: &Bench) -> Option<RunRecord> {
    let store = Store::open(&bench.path("store.db")).unwrap();
    let id = store.list(&Filter { limit: Some(1), ..Filter::default() }).unwrap().first()?.id.clone();
    Some(store.load(&id).unwrap())
}

/// Each stored trial by its cell and number.
pub(crate) fn trials_of(run: &RunRecord) -> BTreeMap<(&str, u32), &TrialRecord> {
    let mut found = BTreeMap::new();
    for cell in &run.cells {
        for trial in &cell.trials {
            assert!(found.insert((cell.id.as_str(), trial.trial), trial).is_none(), "a trial stands there twice");
        }
    }
    found
}

/// Runs one plan again and again, killed at any moment, resumed each time, until `kills` of them are done.
fn kill_and_resume(bench: &Bench, plan: &str, target: &str, kills: u32, mut moments: impl Iterator<Item = Duration>) {
    let (mut kept, mut done): (Option<RunRecord>, u32) = (None, 0);
    while done < kills {
        let unfinished = kept.as_ref().is_some_and(|run| run.status != RunStatus::Finished);
        let mut child = if unfinished {
            started(bench, &["run", "--resume", "last"])
        } else {
            kept = None;
            started(bench, &["run", plan, "--on", target])
        };
        std::thread::sleep(moments.next().unwrap());
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(9), "{status}");
        done += u32::from(status.signal() == Some(9));

        let Some(now) = newest(bench) else { continue };
        if let Some(before) = kept.as_ref().filter(|before| before.header.id == now.header.id) {
            let stored = trials_of(&now);
            for (key, trial) in trials_of(before) {
                assert_eq!(stored.get(&key), Some(&trial), "{key:?} was finished, and was lost or run again");
            }
        }
        let left = entries(target.as_ref());
        // Cut off between the making of the file and the beginning of the run: nothing to resume, but told as well.
        if let [name] = left.as_slice()
            && !name.contains(&now.header.id)
        {
            assert!(bench.done(&["doctor", target]).contains(name.as_str()));
            assert!(text(&bench.run(&["run", plan, "--on", target]).stderr).contains(name.as_str()));
            std::fs::remove_file(format!("{target}/{name}")).unwrap();
            kept = newest(bench);
            continue;
        }
        let verified = now.cells.iter().any(|cell| cell.load.spec().is_some_and(|load| load.verify));
        let named = format!("loadline-{}-data.data", now.header.id);
        // A name belongs to the run that has just been cut off, and only where its contents are to outlive a crash.
        assert!(left.iter().all(|name| verified && *name == named), "{left:?}");
        if let Some(path) = left.first() {
            let shown = bench.run(&["show", "last"]);
            assert!(text(&shown.stderr).contains(path.as_str()), "the user is told of {path}: {shown:?}");
        }
        kept = Some(now);
    }
    if kept.is_none_or(|run| run.status == RunStatus::Finished) {
        bench.done(&["run", plan, "--on", target]);
    } else {
        bench.done(&["run", "--resume", "last"]);
    }
    let run = newest(bench).unwrap();
    assert_eq!(run.status, RunStatus::Finished);
    assert_eq!((run.cells.len(), trials_of(&run).len()), (TRIALS / 2, TRIALS));
    assert!(run.cells.iter().all(|cell| cell.trials.len() == 2));
    assert_eq!(entries(target.as_ref()), Vec::<String>::new());
}

#[test]
fn a_run_killed_at_random_moments_has_every_trial_once_in_the_end() {
    let kills = from_environment("LOADLINE_KILLS", || KILLS);
    println!("LOADLINE_KILLS={kills}");
    let mut moments = moments();
    let bench = Bench::new();
    let target = bench.target();
    let plain = bench.file("many.toml", MANY);
    // Its test file has a name, which a kill leaves behind.
    let verified = bench.file("verified.toml", format!("{MANY}verify = true\n"));
    kill_and_resume(&bench, &plain, &target, kills.div_ceil(2), &mut moments);
    kill_and_resume(&bench, &verified, &target, kills / 2, &mut moments);
}

#[test]
fn a_signal_ends_a_run_in_order_and_resume_finishes_it() {
    for signal in ["-INT", "-TERM"] {
        let bench = Bench::new();
        let (plan, target) = (bench.file("many.toml", MANY), bench.target());
        let mut child = started(&bench, &["run", &plan, "--on", &target]);
        while finished_trials(&bench) == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(entries(target.as_ref()).is_empty());
        assert_eq!(bench.runs()[0]["status"], "interrupted");
        let resumed = bench.run(&["run", "--resume", "last"]);
        assert_eq!(resumed.status.code(), Some(0));
        assert_eq!(finished_trials(&bench), TRIALS);
    }
}

#[test]
fn a_run_under_way_is_not_taken_up_twice() {
    let bench = Bench::new();
    let (plan, target) = (bench.file("many.toml", MANY), bench.target());
    let mut child = started(&bench, &["run", &plan, "--on", &target, "--duration", "10 s"]);
    while bench.runs().is_empty() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let refusal = bench.refused(1, &["run", "--resume", "last"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refusal.contains("claim") || refusal.contains("process"), "{refusal}");
}

#[test]
fn a_run_is_not_carried_on_with_on_other_storage() {
    let bench = Bench::new();
    let plan = bench.file("many.toml", MANY);
    let image = bench.file("image", vec![b'x'; 8 << 20]);
    let node = or_skip!(run("losetup", &["--find", "--show", &image]), "no loop device can be had");
    let mut child = started(&bench, &["run", &plan, "--on", &node, "--read-only", "--duration", "300 ms"]);
    while finished_trials(&bench) == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let trials = finished_trials(&bench);
    // As if another disk had come by its name.
    let of_size = |mib: u64| {
        std::fs::OpenOptions::new().write(true).open(&image).unwrap().set_len(mib << 20).unwrap();
        run("losetup", &["--set-capacity", &node]).expect("it is ours");
    };
    of_size(9);
    let on_other = bench.run(&["run", "--resume", "last"]);
    let trials_after = finished_trials(&bench);
    of_size(8);
    let on_its_own = bench.run(&["run", "--resume", "last"]);
    run("losetup", &["--detach", &node]).expect("it is ours");
    let refusal = text(&on_other.stderr);
    assert_eq!(on_other.status.code(), Some(1), "{refusal}");
    assert!(
        refusal.contains("is not the storage that run") && refusal.contains("had 8.00 MiB and has 9.00 MiB"),
        "{refusal}"
    );
    assert_eq!(trials_after, trials, "nothing was measured there");
    assert_eq!(on_its_own.status.code(), Some(0), "{}", text(&on_its_own.stderr));
}
