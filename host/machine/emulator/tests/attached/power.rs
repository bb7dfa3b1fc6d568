//! Databases that lose their power: what they called committed is there afterwards.

use crate::database::{Database, folder, programs, user_number};
use crate::served::{Mounted, Served, disk, run};
use loadline_disk::{DiskSpec, Latency, LatencySpec, Layout};
use loadline_emulation::Change;
use loadline_emulator::BlockDevice;
use loadline_units::{Bytes, Duration};
use rusqlite::Connection;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration as Span;

/// How many cuts a test makes, unless the user says.
fn cuts(default: u64) -> u64 {
    std::env::var("LOADLINE_POWER_CUTS").map_or(default, |text| text.parse().expect("LOADLINE_POWER_CUTS is a number"))
}

/// A machine with a file system on an emulated disk.
struct PowerCutMachine {
    served: Served,
    on: Option<(Mounted, BlockDevice)>,
}

impl PowerCutMachine {
    fn start(lie_about_flush: bool) -> Option<Self> {
        let quick =
            LatencySpec { median: Duration::from_us(30), p99: Duration::from_us(200), ..LatencySpec::default() };
        let latency = Latency { read: quick, write: quick, flush: None };
        let disk = DiskSpec { latency, ..disk(Bytes::mib(256)) };
        let served = Served::start_with(disk, Layout::Single, lie_about_flush)?;
        let device = BlockDevice::over(&served.files[0]).unwrap();
        run(Command::new("mkfs.ext4").arg("-q").arg(device.path()));
        rustix::fs::sync();
        drop(device);
        let mut machine = Self { served, on: None };
        assert!(machine.boot());
        Some(machine)
    }

    fn boot(&mut self) -> bool {
        let device = BlockDevice::over(&self.served.files[0]).unwrap();
        self.on = Mounted::try_mount(device.path(), self.folder()).map(|mounted| (mounted, device));
        self.on.is_some()
    }

    fn folder(&self) -> PathBuf {
        self.served.path("mounted")
    }

    fn cut(&self, seed: u64) {
        let changed = self.served.emulation.change(&Change::PowerCut { seed }).unwrap();
        assert!(changed.losses.is_some());
    }

    /// After a cut, and once nobody uses the file system any more.
    /// Tells whether the file system is still one.
    fn reboot(&mut self) -> bool {
        let (mounted, device) = self.on.take().expect("it was on");
        mounted.unmount();
        drop(device);
        self.boot()
    }
}

/// Numbers that follow on a seed.
fn drawn(seed: u64, below: u64) -> u64 {
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state ^ (state >> 31)) % below
}

fn open(path: &std::path::Path, journal: &str) -> Connection {
    let base = Connection::open(path).unwrap();
    base.pragma_update(None, "journal_mode", journal).unwrap();
    base.pragma_update(None, "synchronous", "FULL").unwrap();
    base
}

/// Cuts the power in the midst of transactions, again and again; gives how many committed ones were lost in all.
fn lost_by_sqlite(lie_about_flush: bool, cuts: u64) -> Option<u64> {
    let mut machine = PowerCutMachine::start(lie_about_flush)?;
    let path = machine.folder().join("base");
    let mut lost = 0;
    let mut next = 1;
    for seed in 0..cuts {
        // A journal that is removed loses a transaction by design where the folder is not synced: EXTRA, or this, keeps it.
        let journal = if seed % 2 == 0 { "WAL" } else { "PERSIST" };
        let base = open(&path, journal);
        base.execute_batch("create table if not exists rows (number integer primary key, filling blob)").unwrap();
        let committed = AtomicU64::new(next - 1);
        let over = AtomicBool::new(false);
        let (committed_now, over_now) = (&committed, &over);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut number = next;
                let insert = "insert into rows values (?1, randomblob(?2))";
                while !over_now.load(Ordering::Acquire)
                    && base.execute(insert, (number.cast_signed(), (1 + number * 77 % 9_000).cast_signed())).is_ok()
                {
                    committed_now.store(number, Ordering::Release);
                    number += 1;
                }
                // What it wants to tidy up at the end it cannot: the disk is gone.
                let _ = base.close();
            });
            let enough = next + drawn(seed, 30);
            let begun = std::time::Instant::now();
            while committed.load(Ordering::Acquire) < enough && begun.elapsed() < Span::from_secs(120) {
                std::thread::sleep(Span::from_micros(50));
            }
            std::thread::sleep(Span::from_micros(drawn(!seed, 3_000)));
            machine.cut(seed);
            over.store(true, Ordering::Release);
        });
        let committed = committed.into_inner();
        let found = if machine.reboot() { found_by_sqlite(&path) } else { Err("no file system is there".into()) };
        assert!(lie_about_flush || found.is_ok(), "cut {seed}: {found:?}");
        let found = found.unwrap_or(0);
        lost += committed.saturating_sub(found);
        if lost > 0 {
            println!("cut {seed}, {journal}: {committed} were committed, {found} are there");
            break;
        }
        next = found + 1;
    }
    Some(lost)
}

/// The rows up to the first gap; an error where the base is broken.
fn found_by_sqlite(path: &std::path::Path) -> Result<u64, String> {
    let told = |error: rusqlite::Error| error.to_string();
    let base = Connection::open(path).map_err(told)?;
    let whole: String = base.query_row("pragma integrity_check", [], |row| row.get(0)).map_err(told)?;
    if whole != "ok" {
        return Err(whole);
    }
    let (count, last): (i64, i64) = base
        .query_row("select count(*), coalesce(max(number), 0) from rows", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(told)?;
    if count == last { Ok(last.cast_unsigned()) } else { Err(format!("{count} rows up to number {last}")) }
}

#[test]
fn sqlite_keeps_what_it_committed() {
    if let Some(lost) = lost_by_sqlite(false, cuts(10)) {
        assert_eq!(lost, 0);
    }
}

#[test]
fn sqlite_on_a_disk_that_lies_about_flush_loses_something() {
    // Each cut loses something by chance, nearly always: the first that does ends the test.
    let Some(lost) = lost_by_sqlite(true, 10) else { return };
    assert!(lost > 0, "nothing was lost in 10 cuts");
}

#[test]
fn postgresql_keeps_what_it_committed() {
    let (Some(programs), Some(user)) = (programs(), user_number()) else {
        println!("skipped: PostgreSQL without power (it is not there)");
        return;
    };
    let Some(mut machine) = PowerCutMachine::start(false) else { return };
    let own = folder(&machine.folder(), user);
    let database = Database::create(programs, own);
    database.query("create table rows (number bigint primary key, filling text)");
    let mut next: u64 = 1;
    for seed in 0..cuts(3) {
        let enough = next + 5 + drawn(seed, 60);
        let committed = database.insert_until(next, |number| {
            if number == enough {
                machine.cut(seed);
            }
        });
        database.stop("immediate");
        assert!(machine.reboot());
        database.forget_process();
        database.start();
        let found = database.query("select count(*), coalesce(max(number), 0) from rows");
        let (count, last) = found.trim().split_once('|').unwrap();
        let (count, last): (u64, u64) = (count.parse().unwrap(), last.parse().unwrap());
        assert!(
            count == last && last >= committed,
            "cut {seed}: {committed} were committed, {count} up to {last} are there"
        );
        next = last + 1;
    }
}
