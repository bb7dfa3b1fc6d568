//! A run that is killed at any moment keeps what was finished, and carries on.

use crate::support::inputs::{MANY, TRIALS};
use crate::support::{Bench, Course, complete, entries, interrupted, trial_count};
use loadline_record::{RunRecord, RunStatus, TrialRecord};
use loadline_runs::{Error, Silent, leftovers, settings_of, store_location};
use loadline_store::Store;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Kills in all; `LOADLINE_KILLS` changes it.
const KILLS: u32 = 50;
/// No run is left alone for longer than this: it starts, and comes a few trials further.
const KILLED_WITHIN_MS: u64 = 200;
/// Names the folder of the run to the process that is killed.
const FOLDER: &str = "LOADLINE_TEST_KILLED_IN";

/// What the killed process does: carries on with the run in its folder, or begins one.
fn run_in(folder: &Path) -> Result<(), Error> {
    let store = store_location::open_store(&folder.join("runs.db"))?;
    let newest = newest(&store).filter(|run| run.status != RunStatus::Finished);
    let observer = &mut Silent::default();
    if let Some(stored) = newest {
        complete(loadline_runs::resume(store, &stored.header.id, observer));
        return Ok(());
    }
    drop(store);
    let text = std::fs::read_to_string(folder.join("plan.toml")).unwrap();
    let target = folder.join("target").display().to_string();
    let measurement = loadline_runs::Measurement::new(crate::support::plan(&text)).on("data", &target);
    complete(measurement.run(&loadline_runs::RunOptions::default().stored_in(folder.join("runs.db")), observer));
    Ok(())
}

/// Does nothing but in a process that another test starts and kills.
#[test]
fn in_a_process_that_is_killed_a_run_begins_or_goes_on() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        run_in(folder.as_ref()).unwrap();
    }
}

/// This program again, for that one test.
fn started(folder: &OsStr) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::in_a_process_that_is_killed_a_run_begins_or_goes_on"]).env(FOLDER, folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A number from the environment, or another one.
fn from_environment<T: std::str::FromStr<Err: std::fmt::Debug>>(name: &str, otherwise: impl FnOnce() -> T) -> T {
    std::env::var(name).map_or_else(|_| otherwise(), |text| text.parse().unwrap())
}

/// For how long a run is left alone before it is killed, again and again; the seed is printed.
fn moments() -> impl Iterator<Item = Duration> {
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
fn newest(store: &Store) -> Option<RunRecord> {
    let filter = loadline_store::Filter { limit: Some(1), ..loadline_store::Filter::default() };
    let id = store.list(&filter).unwrap().first()?.id.clone();
    Some(store.load(&id).unwrap())
}

/// Each stored trial by its cell and number.
fn trials_of(run: &RunRecord) -> BTreeMap<(&str, u32), &TrialRecord> {
    let mut found = BTreeMap::new();
    for cell in &run.cells {
        for trial in &cell.trials {
            assert!(found.insert((cell.id.as_str(), trial.trial), trial).is_none(), "a trial stands there twice");
        }
    }
    found
}

/// Runs one plan again and again, killed at any moment, resumed each time, until `kills` of them are done.
fn kill_and_resume(text: &str, kills: u32, mut moments: impl Iterator<Item = Duration>) {
    let bench = Bench::new();
    bench.file("plan.toml", text);
    let target = bench.target();
    let (mut kept, mut done): (Option<RunRecord>, u32) = (None, 0);
    while done < kills {
        kept = kept.filter(|run| run.status != RunStatus::Finished);
        let mut child = started(bench.folder.path().as_os_str());
        std::thread::sleep(moments.next().unwrap());
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(9), "{status}");
        done += u32::from(status.signal() == Some(9));

        let Some(now) = bench.newest() else {
            // Cut off before the first run had begun: what is left then belongs to none, and none of those that follow takes it.
            for name in entries(&target) {
                std::fs::remove_file(Path::new(&target).join(name)).unwrap();
            }
            continue;
        };
        if let Some(before) = kept.as_ref().filter(|before| before.header.id == now.header.id) {
            let stored = trials_of(&now);
            for (key, trial) in trials_of(before) {
                assert_eq!(stored.get(&key), Some(&trial), "{key:?} was finished, and was lost or run again");
            }
        }
        let mut left = entries(&target);
        let settings = settings_of(&now).unwrap();
        // Cut off between the making of a file and the beginning of its run: nothing to resume, but told as well.
        let strangers: Vec<String> = left.extract_if(.., |name| !name.contains(&now.header.id)).collect();
        if !strangers.is_empty() {
            let store = store_location::open_store(&bench.store()).unwrap();
            let told = leftovers::of_no_run(&settings, &store, "");
            for name in &strangers {
                assert!(told.iter().any(|left| left.path.ends_with(name)), "{name}: {told:?}");
                std::fs::remove_file(Path::new(&target).join(name)).unwrap();
            }
        }
        let verified = now.cells.iter().any(|cell| cell.load.spec().is_some_and(|load| load.verify));
        let named = format!("loadline-{}-data.data", now.header.id);
        // A name belongs to the run that has just been cut off, and only where its contents are to outlive a crash.
        assert!(left.iter().all(|name| verified && *name == named), "{left:?}");
        assert_eq!(leftovers::of_run(&now.header.id, &settings).len(), left.len());
        kept = Some(now);
    }
    run_in(bench.folder.path()).unwrap();
    let run = bench.newest().unwrap();
    assert_eq!(run.status, RunStatus::Finished);
    assert_eq!((run.cells.len(), trials_of(&run).len()), (TRIALS / 2, TRIALS));
    assert!(run.cells.iter().all(|cell| cell.trials.len() == 2));
    assert_eq!(entries(&target), Vec::<String>::new());
}

#[test]
fn a_run_killed_at_random_moments_has_every_trial_once_in_the_end() {
    let kills = from_environment("LOADLINE_KILLS", || KILLS);
    println!("LOADLINE_KILLS={kills}");
    let mut moments = moments();
    kill_and_resume(MANY, kills.div_ceil(2), &mut moments);
    // Its test file has a name, which a kill leaves behind.
    kill_and_resume(&format!("{MANY}verify = true\n"), kills / 2, &mut moments);
}

#[test]
fn a_run_that_is_ended_in_order_leaves_no_file_and_is_finished_later() {
    let bench = Bench::new();
    let target = bench.target();
    let run = interrupted(bench.measurement(&format!("{MANY}verify = true\n"), &target), 3);
    assert_eq!((run.status, trial_count(&run)), (RunStatus::Interrupted, 3));
    assert!(entries(&target).is_empty());
    let mut course = Course::default();
    let resumed = complete(bench.resume(&mut course));
    assert_eq!((course.finished, trials_of(&resumed).len()), (TRIALS - 3, TRIALS));
}
