//! Losses at random moments, under processes that are killed and a destination that dies, fills up, errs, loses answers and rots: no torn file, nothing acknowledged
//! lost, no group of two moments.
//!
//! The gate has some; LOADLINE_TEST_LONG=1 has as many as fit into LOADLINE_LOSSES_S seconds, ten minutes by default.

use super::in_repository::restic;
use super::world::{FolderProbe, World, unpaced};
use crate::error::ShelterError;
use crate::shelter::Shelter;
use loadline_shelter_policy::config::ShelterConfig;
use loadline_shelter_repository::{FaultyStorage, LocalStorage, RepositoryStorage, StorageFault, StoredFile};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Names the world's folder to the process that saves.
const ROOT: &str = "LOADLINE_SHELTER_TEST_LOSSES";
/// The longest time after which that process is killed, in microseconds.
const KILLED_WITHIN_US: u64 = 150_000;
/// Losses in the gate.
const LOSSES: u32 = 25;
/// Seconds of the long test.
const LONG_S: u64 = 600;
const FILES: u64 = 12;
const GROUPS: &str = "[group.data]\nclass = \"files\"\npaths = [\"data\"]\ndamaged = \"start\"\n\
                      [group.db]\nclass = \"files\"\npaths = [\"saved\"]\ndeletion = \"100 %\"\n";

struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The contents of all files below a folder.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        found.insert(path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap());
    }
    found
}

fn sqlite(database: &Path, statements: &str) -> Option<String> {
    let output =
        Command::new("sqlite3").args(["-cmd", ".timeout 30000"]).arg(database).arg(statements).output().ok()?;
    assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// One of the ways in which a destination fails.
fn drawn_fault(draws: &mut Draws) -> Option<StorageFault> {
    match draws.below(7) {
        0 | 1 => Some(StorageFault::DiesAt(draws.below(14))),
        2 => Some(StorageFault::AnswerLostAt(draws.below(6))),
        3 => Some(StorageFault::FailsEvery(2 + draws.below(6))),
        4 => Some(StorageFault::Fills(draws.below(20_000))),
        5 => Some(StorageFault::DiesAt(0)),
        _ => None,
    }
}

/// The application: each file it writes has one number all over, so that a mix of two versions shows.
fn write_files(world: &World, round: u64, draws: &mut Draws) {
    fs::create_dir_all(world.disk("data")).unwrap();
    for file in 0..FILES {
        let path = world.disk(&format!("data/{file}"));
        let text = format!("{round};").repeat(1 + draws.below(3_000) as usize);
        match draws.below(4) {
            0 => fs::write(&path, text).unwrap(),
            1 => {
                let next = world.disk("data/next");
                fs::write(&next, text).unwrap();
                fs::rename(next, &path).unwrap();
            }
            2 if round.is_multiple_of(5) => drop(fs::remove_file(&path)),
            _ => {}
        }
    }
}

/// The configuration of this test's world, in whichever process.
fn config_at(root: &Path) -> ShelterConfig {
    let mut config = World::config_at(root, GROUPS, "");
    if root.join("app.db").exists() {
        let (from, to) = (root.join("app.db"), root.join("disk/saved/app.db"));
        let (from, to, folder) = (from.display(), to.display(), to.parent().unwrap_or(root).display());
        let script = format!("mkdir -p {folder}; rm -f {to}; sqlite3 {from} \"vacuum into '{to}'\"");
        config.groups[1].before = Some(["/bin/sh", "-c", &script].map(str::to_owned).to_vec());
    }
    config
}

/// No test of its own: the other one starts this program again with this name, to be killed.
#[test]
fn save_to_be_killed() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let mut shelter = Shelter::new(config_at(&root), Box::new(FolderProbe::at(&root)));
    shelter.restore().unwrap();
    shelter.save(&unpaced()).unwrap();
}

/// A save by another process, which is killed in the middle. Whether it was done before.
fn killed_save(world: &World, draws: &mut Draws) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::losses::save_to_be_killed"]).env(ROOT, world.root());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_micros(draws.below(KILLED_WITHIN_US)));
    // It is gone already, if it was quicker.
    let _ = child.kill();
    child.wait().unwrap().success()
}

/// Counts of what was tried.
#[derive(Debug, Default)]
struct Tally {
    losses: u32,
    saves: u32,
    failed_saves: u32,
    killed_saves: u32,
    broken_restores: u32,
    rotten_drills: u32,
    moved: u32,
}

#[test]
fn losses_at_random_moments_lose_nothing_that_was_acknowledged() {
    let is_long = std::env::var_os("LOADLINE_TEST_LONG").is_some_and(|value| value == "1");
    let seconds = std::env::var("LOADLINE_LOSSES_S").ok().and_then(|text| text.parse().ok()).unwrap_or(LONG_S);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut world = World::new(GROUPS);
    let database = world.path("app.db");
    let has_sqlite = sqlite(&database, "create table a(x integer); insert into a values (500), (500)").is_some();
    if !has_sqlite {
        println!("skipped: there is no sqlite3 for the database beside the files");
    }
    world.config = config_at(world.root());
    let faulty = Arc::new(FaultyStorage::new(Arc::new(LocalStorage::new(world.path("saved")))));
    let opened = |world: &World| {
        let mut shelter = world.shelter();
        shelter.lie_in(Arc::clone(&faulty) as Arc<dyn RepositoryStorage>);
        shelter
    };
    let mut draws = Draws(88_172_645_463_325_252);
    let mut tally = Tally::default();
    let mut shelter = opened(&world);
    shelter.restore().unwrap();
    // What was acknowledged last, and what later saves tried without an answer.
    let mut allowed: Vec<BTreeMap<String, Vec<u8>>> = vec![BTreeMap::new()];
    let mut round = 0;
    while if is_long { Instant::now() < end } else { tally.losses < LOSSES } {
        round += 1;
        write_files(&world, round, &mut draws);
        if has_sqlite {
            sqlite(&database, &format!("update a set x = x + case rowid when 1 then {round} else -{round} end"));
        }
        if draws.below(4) == 0 {
            // A process that dies has no chance to tidy up.
            drop(shelter);
            std::thread::sleep(crate::saving::READ_AGAIN);
            tally.killed_saves += 1;
            if killed_save(&world, &mut draws) {
                allowed = vec![contents(&world.disk("data"))];
            } else {
                allowed.push(contents(&world.disk("data")));
            }
            shelter = opened(&world);
            shelter.restore().unwrap();
            continue;
        }
        if draws.below(8) == 0 {
            // Its disk is not mounted for a while, and perhaps the folder is there to mount it on.
            let (saved, away) = (world.path("saved"), world.path("away"));
            fs::rename(&saved, &away).unwrap();
            let is_point = draws.below(2) == 0;
            if is_point {
                fs::create_dir(&saved).unwrap();
            }
            let moved = shelter.save(&unpaced());
            assert!(!matches!(moved, Ok(Some(_))), "round {round}: saved where nothing is mounted: {moved:?}");
            if is_point {
                fs::remove_dir(&saved).unwrap();
            }
            fs::rename(&away, &saved).unwrap();
            tally.moved += 1;
        }
        let fault = drawn_fault(&mut draws);
        faulty.set(fault.as_slice());
        std::thread::sleep(crate::saving::READ_AGAIN);
        tally.saves += 1;
        match shelter.save(&unpaced()) {
            Ok(_) => allowed = vec![contents(&world.disk("data"))],
            Err(ShelterError::Fenced { generation, .. }) => panic!("fenced by itself at {generation} after {fault:?}"),
            Err(_) => {
                tally.failed_saves += 1;
                allowed.push(contents(&world.disk("data")));
            }
        }
        faulty.set(&[]);
        // Every third time the process goes on, after failures too.
        if draws.below(3) == 0 {
            continue;
        }
        drop(shelter);
        shelter = opened(&world);
        if draws.below(3) == 0 {
            // Only the process died.
            shelter.restore().unwrap();
            continue;
        }
        tally.losses += 1;
        world.lose_disk();
        world.insert_disk();
        if tally.losses % 8 == 0 {
            rotten(&world, &mut shelter, &faulty, &mut draws, &mut tally);
        }
        restored(&mut shelter, &faulty, &mut draws, &mut tally);
        let found = contents(&world.disk("data"));
        assert!(allowed.contains(&found), "round {round}, {tally:?}: {:?}", found.keys());
        for (name, bytes) in &found {
            let text = String::from_utf8_lossy(bytes);
            let first = text.split(';').next().unwrap_or_default();
            assert!(text.split_terminator(';').all(|number| number == first), "round {round}: {name} is torn");
        }
        if has_sqlite && world.disk("saved/app.db").exists() {
            let said = sqlite(&world.disk("saved/app.db"), "pragma integrity_check; select sum(x) from a");
            assert_eq!(said.as_deref(), Some("ok\n1000"), "round {round}");
        }
        allowed = vec![found];
    }
    println!("{tally:?}");
    assert!(
        tally.killed_saves > 5 && tally.failed_saves > 5 && tally.broken_restores > 0 && tally.rotten_drills > 0,
        "{tally:?}"
    );
    assert!(shelter.verify().unwrap().is_whole());
    restic(&world, &["check", "--read-data"]);
}

#[test]
fn a_disk_goes_on_after_a_save_whose_answer_was_lost() {
    for lost_at in 0..8 {
        let world = World::new(GROUPS);
        let faulty = Arc::new(FaultyStorage::new(Arc::new(LocalStorage::new(world.path("saved")))));
        let opened = || {
            let mut shelter = world.shelter();
            shelter.lie_in(Arc::clone(&faulty) as Arc<dyn RepositoryStorage>);
            shelter.restore().unwrap_or_else(|error| panic!("answer {lost_at} lost: {error}"));
            shelter
        };
        let saved = |shelter: &mut Shelter, text: &str| {
            fs::create_dir_all(world.disk("data")).unwrap();
            fs::write(world.disk("data/file"), text).unwrap();
            std::thread::sleep(crate::saving::READ_AGAIN);
            shelter.save(&unpaced())
        };
        let mut shelter = opened();
        saved(&mut shelter, "one").unwrap();
        faulty.set(&[StorageFault::AnswerLostAt(lost_at)]);
        drop(saved(&mut shelter, "two"));
        faulty.set(&[]);
        saved(&mut shelter, "three").unwrap().unwrap();
        drop(shelter);
        drop(opened());
        assert_eq!(world.saved("data/file").as_deref(), Some(&b"three"[..]));
    }
}

/// Restores; every other time the destination dies in the middle first.
fn restored(shelter: &mut Shelter, faulty: &FaultyStorage, draws: &mut Draws, tally: &mut Tally) {
    if draws.below(2) == 0 {
        faulty.set(&[StorageFault::DiesAt(draws.below(25))]);
        tally.broken_restores += u32::from(shelter.restore().is_err());
        faulty.set(&[]);
    }
    match shelter.restore() {
        Ok(_) => {}
        // The first try did its work, and the disk has its marker.
        Err(error) => panic!("{error}"),
    }
}

/// One bit of a pack flips: a drill names what it lost, and everything else comes back.
fn rotten(world: &World, shelter: &mut Shelter, faulty: &FaultyStorage, draws: &mut Draws, tally: &mut Tally) {
    let packs = faulty.list(loadline_shelter_repository::FileKind::Pack).unwrap();
    if packs.is_empty() {
        return;
    }
    let pack = packs[draws.below(packs.len() as u64) as usize];
    let file = StoredFile::Named(loadline_shelter_repository::FileKind::Pack, pack.id);
    faulty.set(&[StorageFault::FlipsBit(file, draws.below(pack.length))]);
    let scratch = world.path("scratch");
    // A tree that rotted ends the drill with an error; a file that rotted is named, or comes from an earlier generation.
    if let Ok(drill) = shelter.drill(&scratch) {
        assert!(drill.generation > 0, "{drill:?}");
    }
    tally.rotten_drills += 1;
    faulty.set(&[]);
    let _ = fs::remove_dir_all(&scratch);
}
