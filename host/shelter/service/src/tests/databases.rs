//! SQLite databases that are saved while another process writes to them, with reflinks and without.

use super::machine::{LoopWorld, shelter};
use super::world::{World, save, unpaced};
use crate::error::ShelterError;
use crate::restoring::RestoreProgress;
use crate::shelter::Shelter;
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Names the database to the process that writes.
const DATABASE: &str = "LOADLINE_SHELTER_TEST_DATABASE";
const GROUP: &str =
    "[group.app]\nclass = \"files\"\npaths = [\"app\"]\nmoment = { sqlite = [\"app/a.db\", \"app/not-yet.db\"] }\n";
/// The sum of all accounts, whatever is moved between them.
const SUM: i64 = 100_000;

/// No test of its own: the other one starts this program again with this name, to be killed.
#[test]
fn process_that_writes() {
    let Some(database) = std::env::var_os(DATABASE).map(PathBuf::from) else { return };
    let mut connection = Connection::open(database).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    // The smallest cache: pages go to the file in the middle of a transaction.
    connection
        .execute_batch("pragma synchronous = off; pragma cache_size = 2; pragma wal_autocheckpoint = 40")
        .unwrap();
    for round in 1.. {
        let moved = connection.transaction().unwrap();
        moved
            .execute("update account set amount = amount - ?1, text = ?2 where id % 2 = 0", (round, "x".repeat(500)))
            .unwrap();
        moved
            .execute("update account set amount = amount + ?1, text = ?2 where id % 2 = 1", (round, "y".repeat(500)))
            .unwrap();
        moved.execute("update round set number = ?1", [round]).unwrap();
        moved.commit().unwrap();
    }
}

/// Killed when it is dropped.
struct Writer(Child);

impl Writer {
    fn start(database: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "tests::databases::process_that_writes"]).env(DATABASE, database);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn make(database: &Path, mode: &str) {
    fs::create_dir_all(database.parent().unwrap()).unwrap();
    let connection = Connection::open(database).unwrap();
    let said: String = connection.query_row(&format!("pragma journal_mode = {mode}"), [], |row| row.get(0)).unwrap();
    assert_eq!(said, mode);
    let tables = "create table account(id integer primary key, amount integer, text text); create table round(number integer); \
                  insert into round values (0); with recursive n(i) as (select 1 union all select i + 1 from n where i < 100) \
                  insert into account select i, 1000, '' from n";
    connection.execute_batch(tables).unwrap();
}

fn number(database: &Path, query: &str) -> i64 {
    let connection = Connection::open(database).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

const ROUND: &str = "select number from round";

/// Saves while another process writes; returns the least round that must come back.
fn saved_beside_a_writer(shelter: &mut Shelter, database: &Path) -> i64 {
    let writer = Writer::start(database);
    let mut least = 0;
    for _ in 0..4 {
        let before = number(database, ROUND);
        least = loop {
            let now = number(database, ROUND);
            if now > before + 1 {
                break now;
            }
            std::thread::yield_now();
        };
        let report = shelter.save(&unpaced()).unwrap().unwrap();
        assert!(report.failed.is_empty() && report.fuzzy.is_empty() && report.inexact.is_empty(), "{report:?}");
    }
    drop(writer);
    least
}

/// The restored database is whole, and has what was acknowledged.
fn judge(database: &Path, least: i64, case: &str) {
    let connection = Connection::open(database).unwrap();
    let said: String = connection.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok", "{case}");
    drop(connection);
    assert_eq!(number(database, "select sum(amount) from account"), SUM, "{case}: half of a transaction came back");
    let round = number(database, ROUND);
    assert!(round >= least, "{case}: round {round} came back, {least} was there before the save");
}

#[test]
fn a_database_is_saved_whole_while_another_process_writes_to_it() {
    for mode in ["wal", "delete"] {
        let world = World::new(GROUP);
        let database = world.disk("app/a.db");
        let mut shelter = world.started();
        make(&database, mode);
        let least = saved_beside_a_writer(&mut shelter, &database);
        assert!(shelter.drill(&world.path("scratch")).unwrap().damaged.is_empty());
        drop(shelter);
        world.lose_disk();
        world.insert_disk();
        world.started();
        judge(&database, least, mode);
    }
}

#[test]
fn a_database_on_a_file_system_with_reflinks_stands_still_only_for_them() {
    for mode in ["wal", "delete"] {
        let Some(mut world) = LoopWorld::new() else { return };
        let mut config = world.config("xfs", "");
        config.groups[0].moment = loadline_shelter_policy::config::Moment::Sqlite(vec!["data/a.db".to_owned()]);
        let mut first = shelter(&config);
        if let Err(error) = first.restore() {
            println!("skipped: no XFS here: {error}");
            return;
        }
        let database = world.path("disk/data/a.db");
        make(&database, mode);
        let least = saved_beside_a_writer(&mut first, &database);
        drop(first);
        world.lose();
        world.insert().unwrap();
        shelter(&config).restore().unwrap();
        judge(&database, least, mode);
    }
}

#[test]
fn a_database_that_nobody_changed_is_not_saved_again_and_one_that_rotted_fails_the_drill() {
    for (mode, world) in [("wal", World::new(GROUP)), ("delete", World::new(GROUP))] {
        let database = world.disk("app/a.db");
        let mut shelter = world.started();
        make(&database, mode);
        fs::write(world.disk("app/beside"), "x").unwrap();
        // An application that has it open, and does nothing.
        let open = Connection::open(&database).unwrap();
        open.query_row(ROUND, [], |_| Ok(())).unwrap();
        assert_eq!(save(&mut shelter).unwrap().generation, 1);
        // The first connection that wants to write makes a log: that is looked at once more.
        let _ = save(&mut shelter);
        assert!(save(&mut shelter).is_none(), "{mode}");
        let first = shelter.generation();
        open.execute("update round set number = 7", []).unwrap();
        let second = save(&mut shelter).map(|report| report.generation);
        assert_eq!(second, Some(first + 1), "{mode}, {:?}", world.config.destination);
        assert!(save(&mut shelter).is_none(), "{mode}");
        drop(open);
        let restored = world.path("restored");
        fs::create_dir(&restored).unwrap();
        let root = crate::tree_files::TreeRoot::open(&restored).unwrap();
        let groups = world.config.groups.clone();
        shelter.copy_mut().unwrap().restore(&root, first + 1, &groups, &RestoreProgress::default()).unwrap();
        assert_eq!(number(&restored.join("app/a.db"), ROUND), 7, "{mode}");
        let mut bytes = fs::read(&database).unwrap();
        let length = bytes.len();
        bytes[length / 2..].fill(0x55);
        fs::write(&database, bytes).unwrap();
        let report = save(&mut shelter);
        // A backup may find it, or the drill does.
        if report.is_some() {
            let drill = shelter.drill(&world.path("scratch")).unwrap();
            assert!(!drill.damaged.is_empty(), "{drill:?}");
        }
    }
}

#[test]
fn a_database_that_stays_locked_fails_its_group_alone() {
    let groups = format!("{GROUP}timeout = \"100 ms\"\n[group.other]\nclass = \"files\"\npaths = [\"other\"]\n");
    let world = World::new(&groups);
    let database = world.disk("app/a.db");
    let mut shelter = world.started();
    make(&database, "delete");
    fs::create_dir(world.disk("other")).unwrap();
    fs::write(world.disk("other/a"), "x").unwrap();
    let open = Connection::open(&database).unwrap();
    open.execute_batch("begin exclusive").unwrap();
    let report = save(&mut shelter).unwrap();
    assert!(report.failed["app"].contains("a.db: database is locked"), "{:?}", report.failed);
    assert_eq!(report.files, 1);
    let error = shelter.save(&unpaced()).unwrap_err();
    assert!(matches!(error, ShelterError::NotOneMoment { .. }), "{error}");
    drop(open);
    assert!(save(&mut shelter).unwrap().failed.is_empty());
}
