//! Several processes on one store, and processes that are killed.
//!
//! The other processes are this test program itself: it is started again with the name of one ignored test and a role
//! in its environment.

use crate::made;
use loadline_record::RunStatus;
use loadline_store::{Filter, Store, StoreError};
use rusqlite::Connection;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const ROLE: &str = "LOADLINE_STORE_TEST_ROLE";
const STORE: &str = "LOADLINE_STORE_TEST_STORE";
const RUN: &str = "LOADLINE_STORE_TEST_RUN";
/// Printed before each message of a child, to find it among the test program's own lines.
const TELL: &str = "told:";
const CELLS: u32 = 12;
const TRIALS: u32 = 50;

struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(role: &str, store: &Path, run: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::another_process", "--ignored", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(STORE, store)
            .env(RUN, run)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }
    /// Its next message; `None` after its end.
    fn told(&mut self) -> Option<String> {
        self.lines.find_map(|line| line.unwrap().split_once(TELL).map(|(_, told)| told.to_owned()))
    }
    /// SIGKILL.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
    /// All its messages until it ends well.
    fn finish(mut self) -> Vec<String> {
        let told = std::iter::from_fn(|| self.told()).collect();
        assert!(self.child.wait().unwrap().success());
        told
    }
}

fn tell(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{TELL}{what}").unwrap();
    out.flush().unwrap();
}

/// Not a test: the other process.
#[test]
#[ignore = "started by the tests of this module"]
fn another_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let path = std::env::var_os(STORE).unwrap();
    let run = std::env::var(RUN).unwrap();
    let store = Store::open(Path::new(&path)).unwrap();
    match role.as_str() {
        "write" => write(&store, &run),
        "open" => tell("open"),
        "claim" => {
            let _claim = store.claim(&run).unwrap();
            tell("claimed");
            // Until the other side is tired of it.
            let _ = std::io::stdin().read_line(&mut String::new());
        }
        other => panic!("no role {other}"),
    }
}

/// Begins or resumes the run, and adds every missing trial.
fn write(store: &Store, run: &str) {
    let _claim = store.claim(run).unwrap();
    match store.begin_run(&made::header(run, run, 0), &(0..CELLS).map(|i| made::cell(i, TRIALS)).collect::<Vec<_>>()) {
        Ok(()) | Err(StoreError::RunExists { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    if store.load(run).unwrap().status == RunStatus::Finished {
        return;
    }
    let finished = store.finished_trials(run).unwrap();
    for number in 0..TRIALS {
        for index in 0..CELLS {
            let cell = made::cell(index, TRIALS).id;
            if !finished.contains(&(cell.clone(), number)) {
                store.finish_trial(run, &cell, &made::trial(number, u64::from(index), 60)).unwrap();
                tell(&format!("{cell} {number}"));
            }
        }
    }
    store.set_status(run, RunStatus::Finished).unwrap();
}

fn assert_sound(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let verdict: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let orphans = connection.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap();
    assert!(!orphans);
}

/// Every trial that is stored is the right one.
fn assert_exact(store: &Store, run: &str) {
    let record = store.load(run).unwrap();
    for (index, cell) in record.cells.iter().enumerate() {
        for trial in &cell.trials {
            assert_eq!(*trial, made::trial(trial.trial, index as u64, 60));
        }
    }
}

#[test]
fn a_writer_killed_at_any_moment_loses_no_finished_trial() {
    const RUNS: u32 = 6;
    const KILLS: u32 = 6;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    // Moments spread by the golden ratio: some fall into opening, beginning and the first trial, most later.
    let mut moment: f64 = 0.5;
    let (mut kills_under_way, mut patience) = (0, 1.0);
    for run in (0..RUNS).map(|number| format!("run-{number}")) {
        let mut told = Vec::new();
        for kill in 1..=KILLS {
            moment = (moment + 0.618_033_988_749_895).fract();
            let mut process = Process::start("write", &path, &run);
            // A busy machine brings a process to its first trial later.
            let longest_ms = if kill % 3 == 1 { 20.0 } else { 100.0 * patience };
            std::thread::sleep(Duration::from_secs_f64(moment * longest_ms / 1e3));
            process.kill();
            let new: Vec<_> = std::iter::from_fn(|| process.told()).collect();
            kills_under_way += u32::from(!new.is_empty());
            if kills_under_way == 0 {
                patience *= 1.5;
            }
            told.extend(new);
            let store = Store::open(&path).unwrap();
            let finished = match store.finished_trials(&run) {
                Ok(finished) => finished,
                Err(StoreError::NoSuchRun { .. }) if told.is_empty() => continue,
                Err(other) => panic!("{run}, kill {kill}: {other}"),
            };
            for line in &told {
                let (cell, number) = line.split_once(' ').unwrap();
                let trial = (cell.to_owned(), number.parse().unwrap());
                assert!(finished.contains(&trial), "{run}, kill {kill}: {line} was lost");
            }
            // A trial may have been stored just before its word got out, one for each kill.
            assert!(finished.len() <= told.len() + kill as usize);
            assert_exact(&store, &run);
            let lines = store.list(&Filter { name: Some(run.clone()), ..Filter::default() }).unwrap();
            assert_eq!(lines[0].trials_done, finished.len() as u64);
            drop(store);
            assert_sound(&path);
        }
    }
    assert!(kills_under_way > 0, "no process came as far as a trial");
    for run in (0..RUNS).map(|number| format!("run-{number}")) {
        Process::start("write", &path, &run).finish();
        let store = Store::open(&path).unwrap();
        assert_exact(&store, &run);
        assert_eq!(store.load(&run).unwrap().status, RunStatus::Finished);
        assert_eq!(store.finished_trials(&run).unwrap().len(), (CELLS * TRIALS) as usize);
    }
}

#[test]
fn two_writers_and_a_reader_share_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut writers = [Process::start("write", &path, "a"), Process::start("write", &path, "b")];
    for writer in &mut writers {
        writer.told().unwrap();
    }
    let store = Store::open(&path).unwrap();
    let mut before = 0;
    for _ in 0..20 {
        let done = store.list(&Filter::default()).unwrap().iter().map(|line| line.trials_done).sum();
        assert!(done >= before);
        before = done;
        let record = store.load("a").unwrap();
        assert!(record.cells.windows(2).all(|pair| pair[0].trials.len() >= pair[1].trials.len()), "one moment's view");
    }
    for writer in writers {
        writer.finish();
    }
    for run in ["a", "b"] {
        assert_exact(&store, run);
        assert_eq!(store.load(run).unwrap().status, RunStatus::Finished);
    }
    assert_sound(&path);
}

#[test]
fn processes_that_open_a_new_store_at_once_all_succeed() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let processes: Vec<_> = (0..8).map(|_| Process::start("open", &path, "-")).collect();
        for process in processes {
            assert_eq!(process.finish(), ["open"]);
        }
        assert_sound(&path);
    }
}

#[test]
fn a_claimed_run_is_refused_to_others_until_its_holder_ends_or_dies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).unwrap();
    store.begin_run(&made::header("a", "sweep", 0), &[]).unwrap();
    for kill in [true, false] {
        let mut holder = Process::start("claim", &path, "a");
        assert_eq!(holder.told().unwrap(), "claimed");
        match store.claim("a").unwrap_err() {
            StoreError::Claimed { pid, .. } => assert_eq!(pid, Some(holder.child.id())),
            other => panic!("{other}"),
        }
        assert!(matches!(store.remove("a"), Err(StoreError::Claimed { .. })));
        drop(store.claim("another-run").unwrap());
        if kill {
            holder.kill();
        } else {
            drop(holder.child.stdin.take());
            holder.finish();
        }
        let claim = store.claim("a").unwrap();
        assert!(
            matches!(store.claim("a"), Err(StoreError::Claimed { pid: Some(pid), .. }) if pid == std::process::id())
        );
        drop(claim);
        drop(store.claim("a").unwrap());
    }
    let locks = std::fs::read_dir(folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "lock"));
    assert_eq!(locks.count(), 0);
    store.remove("a").unwrap();
}

#[test]
fn a_link_to_a_store_leads_to_the_same_claims() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(store.path(), &link).unwrap();
    let linked = Store::open(&link).unwrap();
    let _claim = store.claim("a").unwrap();
    assert!(matches!(linked.claim("a"), Err(StoreError::Claimed { .. })));
}

#[test]
fn threads_that_claim_and_release_never_hold_a_run_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let holders = std::sync::atomic::AtomicU32::new(0);
    let claimed = std::sync::atomic::AtomicU32::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = Store::open(&path).unwrap();
                for _ in 0..500 {
                    if let Ok(claim) = store.claim("a") {
                        assert_eq!(holders.fetch_add(1, order), 0);
                        claimed.fetch_add(1, order);
                        // Long enough for the others to come between.
                        (0..20).for_each(|_| std::thread::yield_now());
                        holders.fetch_sub(1, order);
                        drop(claim);
                    }
                }
            });
        }
    });
    assert!(claimed.load(order) > 0);
}
