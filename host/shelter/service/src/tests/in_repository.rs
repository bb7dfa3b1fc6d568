//! What is in the repository: restic is the judge where it is installed.

use super::world::{GROUPS, World, flip, noise, packs, save, tree, unpaced};
use crate::error::ShelterError;
use crate::shelter::Shelter;
use loadline_shelter_policy::config::{KeptGenerations, MARKER_NAME};
use loadline_shelter_policy::marker::{MarkedState, Marker};
use loadline_shelter_policy::start::StartRefusal;
use loadline_shelter_repository::{
    FaultyStorage, LeaseTaking, LocalStorage, Repository, StorageFault, Timestamp, Unpaced,
};
use loadline_units::Bytes;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Runs restic on the saved data; `None` where it is not installed.
pub(super) fn restic(world: &World, words: &[&str]) -> Option<String> {
    let mut command = Command::new("restic");
    command.arg("-r").arg(world.path("saved")).arg("--password-file").arg(world.path("secret"));
    let output = match command.args(["--no-cache", "-q"]).args(words).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: restic cannot be started: {error}");
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_lost_disk_comes_back_from_a_repository_that_restic_reads() {
    let world = World::without_repository(GROUPS, "");
    let mut shelter = world.started();
    world.fill();
    assert_eq!(save(&mut shelter).unwrap().generation, 1);
    assert!(save(&mut shelter).is_none(), "nothing changed, nothing is written");
    fs::write(world.disk("data/file3"), "changed").unwrap();
    fs::remove_file(world.disk("data/file4")).unwrap();
    let second = save(&mut shelter).unwrap();
    assert_eq!((second.generation, second.files), (2, 1), "only what changed is read");
    let (data, wal) = (tree(&world.disk("data")), tree(&world.disk("wal")));
    drop(shelter);
    // The passphrase is needed, and not on the disk; nothing readable is in the repository.
    assert!(restic(&world, &["check", "--read-data"]).is_none_or(|_| true));
    let elsewhere = world.path("by-restic");
    if restic(&world, &["restore", "latest", "--target", &elsewhere.display().to_string()]).is_some() {
        let restored = elsewhere.join(world.disk("data").strip_prefix("/").unwrap());
        assert_eq!(tree(&restored), data);
    }
    world.lose_disk();
    world.insert_disk();
    let mut shelter = world.shelter();
    let prepared = shelter.restore().unwrap();
    assert_eq!(prepared.restored.unwrap().damaged.len(), 0);
    assert_eq!(tree(&world.disk("data")), data);
    assert_eq!(tree(&world.disk("wal")), wal);
    assert!(save(&mut shelter).is_none(), "what was restored is known: nothing is read again");
    drop(shelter);
    let drill = world.shelter().drill(&world.path("scratch")).unwrap();
    assert!(drill.files >= 23 && drill.damaged.is_empty(), "{drill:?}");
    assert!(fs::read_dir(world.path("scratch")).unwrap().next().is_none());
}

#[test]
fn holes_stay_holes_and_names_of_one_file_stay_those_of_one_file() {
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    let sparse = fs::File::create(world.disk("data/sparse")).unwrap();
    sparse.set_len(200 << 20).unwrap();
    sparse.write_all_at(&noise(50_000, 1), (100 << 20) + 12_345).unwrap();
    drop(sparse);
    fs::File::create(world.disk("data/hole")).unwrap().set_len(5_000_000).unwrap();
    fs::write(world.disk("data/many"), noise(3_000_000, 2)).unwrap();
    for name in ["data/deep/again", "data/aaa", "data/zzz", "wal/of-another-group"] {
        fs::hard_link(world.disk("data/many"), world.disk(name)).unwrap();
    }
    save(&mut shelter).unwrap();
    drop(shelter);
    let judge = |data: PathBuf, by: &str| {
        let seen = |name: &str| fs::metadata(data.join(name)).unwrap();
        let (sparse, hole, many) = (seen("sparse"), seen("hole"), seen("many"));
        assert_eq!((sparse.len(), hole.len()), (200 << 20, 5_000_000), "{by}");
        let file = fs::File::open(data.join("sparse")).unwrap();
        let mut bytes = vec![0; 50_000];
        file.read_exact_at(&mut bytes, (100 << 20) + 12_345).unwrap();
        assert!(bytes == noise(50_000, 1), "{by}");
        assert_eq!(fs::read(data.join("many")).unwrap(), noise(3_000_000, 2), "{by}");
        for name in ["deep/again", "aaa", "zzz", "../wal/of-another-group"] {
            assert_eq!((seen(name).ino(), seen(name).nlink()), (many.ino(), 5), "{by}: {name}");
        }
        (sparse.blocks() * 512, hole.blocks() * 512)
    };
    let (sparse, hole) = judge(world.disk("data"), "before");
    let elsewhere = world.path("by-restic");
    let words = ["restore", "latest", "--target", &elsewhere.display().to_string()];
    if restic(&world, &words).is_some() {
        judge(elsewhere.join(world.disk("data").strip_prefix("/").unwrap()), "restic");
        fs::remove_dir_all(&elsewhere).unwrap();
    }
    world.lose_disk();
    world.insert_disk();
    let mut shelter = world.started();
    let after = judge(world.disk("data"), "restored");
    assert!(after.0 <= sparse + 8_192 && after.1 <= hole, "{after:?} of {sparse} and {hole}");
    assert!(save(&mut shelter).is_none(), "what was restored is known");
    // Over what somebody wrote into the holes, too.
    let scribbled = fs::OpenOptions::new().write(true).open(world.disk("data/hole")).unwrap();
    let scribble = vec![7; 2_000_000];
    scribbled.write_all_at(&scribble, 1_000).unwrap();
    drop((scribbled, shelter));
    world.shelter().restore_over(&world.path("disk")).unwrap();
    assert!(fs::read(world.disk("data/hole")).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn a_restore_that_does_not_fit_is_refused_before_anything_is_written() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    let copy = shelter.copy_mut().unwrap();
    let room = copy.room().unwrap();
    assert!(room > 190_000 && copy.fits(1, room).is_ok(), "{room}");
    let refused = copy.fits(1, 100_000);
    assert!(matches!(refused, Err(ShelterError::Refused(StartRefusal::TooSmall { .. }))), "{refused:?}");
}

#[test]
fn without_its_passphrase_nothing_is_saved_and_nothing_restored() {
    let world = World::without_repository(GROUPS, "");
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    drop(shelter);
    world.lose_disk();
    world.insert_disk();
    fs::write(world.path("secret"), "another\n").unwrap();
    let error = world.shelter().restore().unwrap_err();
    assert!(error.to_string().contains("no key of the repository opens"), "{error}");
    fs::write(world.path("secret"), "\n").unwrap();
    let error = world.shelter().restore().unwrap_err();
    assert!(error.to_string().contains("no passphrase"), "{error}");
    assert!(!world.disk(MARKER_NAME).exists() && !world.disk("data").exists());
}

#[test]
fn a_second_machine_on_the_same_repository_ends_the_writing_of_the_first() {
    let world = World::new(GROUPS);
    let mut first = world.started();
    world.fill();
    save(&mut first).unwrap();
    // The same machine's image, started once more: another disk at the same path, another state folder.
    let kept = world.path("first-disk");
    fs::rename(world.path("disk"), &kept).unwrap();
    fs::rename(world.path("state"), world.path("first-state")).unwrap();
    let identity = fs::read_to_string(world.path("identity")).unwrap();
    world.insert_disk();
    let mut second = world.started();
    fs::write(world.disk("data/file1"), "second").unwrap();
    assert_eq!(save(&mut second).unwrap().generation, 2);
    drop(second);
    swap(&world.path("disk"), &kept);
    swap(&world.path("state"), &world.path("first-state"));
    fs::write(world.path("identity"), identity).unwrap();
    fs::write(world.disk("data/file1"), "first").unwrap();
    let error = first.save(&unpaced()).unwrap_err();
    assert!(matches!(error, ShelterError::Fenced { generation: 2, .. }), "{error}");
    drop(first);
    let error = world.shelter().restore().unwrap_err();
    assert!(matches!(error, ShelterError::Refused(StartRefusal::OldCopy { .. })), "{error}");
}

#[test]
fn an_earlier_generation_is_restored_and_becomes_the_newest() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    let first = tree(&world.disk("data"));
    fs::write(world.disk("data/file3"), "changed").unwrap();
    save(&mut shelter).unwrap();
    drop(shelter);
    let mut shelter = world.shelter();
    shelter.want(1);
    let error = shelter.restore().unwrap_err();
    assert!(matches!(error, ShelterError::KeptContents(1)), "{error}");
    world.lose_disk();
    world.insert_disk();
    shelter.want(7);
    let error = shelter.restore().unwrap_err();
    assert!(error.to_string().contains("choose one of 1, 2"), "{error}");
    assert!(!world.disk(MARKER_NAME).exists(), "nothing was written");
    shelter.want(1);
    assert_eq!(shelter.restore().unwrap().restored.unwrap().generation, 1);
    assert_eq!(tree(&world.disk("data")), first);
    // As if it had been killed before its end: the same generation goes on.
    drop(shelter);
    let text = fs::read_to_string(world.disk(MARKER_NAME)).unwrap();
    let marker = Marker { state: MarkedState::Restoring, restores: 1, ..Marker::parse(&text).unwrap() };
    for path in [world.disk(MARKER_NAME), world.path("state/marker")] {
        fs::write(path, marker.to_text()).unwrap();
    }
    fs::remove_file(world.disk("data/file7")).unwrap();
    let mut shelter = world.started();
    assert_eq!(tree(&world.disk("data")), first);
    assert_eq!(save(&mut shelter).unwrap().generation, 3, "what was brought back is saved as the newest");
    drop(shelter);
    world.lose_disk();
    world.insert_disk();
    world.started();
    assert_eq!(tree(&world.disk("data")), first);
}

/// restic finds nothing wrong, and restores the newest snapshot as the disk is.
fn judge(world: &World, data: &std::collections::BTreeMap<PathBuf, String>) {
    let elsewhere = world.path("judged");
    let _ = fs::remove_dir_all(&elsewhere);
    if restic(world, &["check", "--read-data"]).is_some() {
        restic(world, &["restore", "latest", "--target", &elsewhere.display().to_string()]);
        assert_eq!(tree(&elsewhere.join(world.disk("data").strip_prefix("/").unwrap())), *data);
    }
}

/// Nine generations, each with a file of its own that does not compress.
fn nine_generations(world: &World, shelter: &mut Shelter) {
    world.fill();
    for round in 1..=9_u64 {
        fs::write(world.disk("data/changing"), noise(300_000, round)).unwrap();
        assert_eq!(save(shelter).unwrap().generation, round);
    }
}

#[test]
fn generations_that_no_rule_keeps_are_forgotten_and_what_is_left_is_whole() {
    let mut world = World::new(GROUPS);
    world.config.keep = KeptGenerations { last: 2, minutely: 0, hourly: 0, daily: 0 };
    let mut shelter = world.started();
    nine_generations(&world, &mut shelter);
    // Most is deleted: the generation before is pinned, whatever the rules say.
    for index in 0..20 {
        fs::remove_file(world.disk(&format!("data/file{index}"))).unwrap();
    }
    assert!(!save(&mut shelter).unwrap().deletions.is_empty());
    for round in 11..=13 {
        fs::write(world.disk("data/more"), round.to_string()).unwrap();
        assert_eq!(save(&mut shelter).unwrap().generation, round);
    }
    // Somebody else's snapshot in the same repository is left alone.
    let other = restic(&world, &["backup", "--host", "elsewhere", &world.path("secret").display().to_string()]);
    let before = packs(&world).len();
    assert_eq!(shelter.forget().unwrap().forgotten, 10);
    assert_eq!((shelter.generations(), shelter.pinned()), (3, vec![9]));
    assert!(shelter.prune(Bytes::new(u64::MAX), &Unpaced).unwrap().bytes_freed > 2_000_000);
    assert!(packs(&world).len() < before);
    assert_eq!(shelter.forget().unwrap().forgotten, 0);
    assert_eq!(shelter.prune(Bytes::new(u64::MAX), &Unpaced).unwrap().bytes_freed, 0);
    if other.is_some() {
        restic(&world, &["restore", "latest", "--host", "elsewhere", "--target", "/", "--verify"]);
    }
    assert!(shelter.last_prune().is_some());
    // Saves go on, and what the pruned repository has is read by us and by others.
    fs::write(world.disk("data/more"), "after").unwrap();
    assert_eq!(save(&mut shelter).unwrap().generation, 14);
    let data = tree(&world.disk("data"));
    let found = shelter.verify().unwrap();
    assert!(found.is_whole(), "{found:?}");
    drop(shelter);
    if other.is_none() {
        judge(&world, &data);
    }
    world.lose_disk();
    world.insert_disk();
    assert!(world.shelter().restore().unwrap().restored.unwrap().damaged.is_empty());
    assert_eq!(tree(&world.disk("data")), data);
}

#[test]
fn an_upkeep_that_is_killed_at_any_call_loses_no_generation_that_stays() {
    let mut world = World::new(GROUPS);
    world.config.keep = KeptGenerations { last: 2, minutely: 0, hourly: 0, daily: 0 };
    let faulty = Arc::new(FaultyStorage::new(Arc::new(LocalStorage::new(world.path("saved")))));
    let started = || {
        let mut shelter = world.shelter();
        shelter.lie_in(faulty.clone());
        shelter.restore().unwrap();
        shelter
    };
    let mut shelter = world.started();
    nine_generations(&world, &mut shelter);
    drop(shelter);
    let data = tree(&world.disk("data"));
    let (mut kills, mut is_done) = (0, false);
    for step in 0..500 {
        let mut shelter = started();
        faulty.set(&[StorageFault::DiesAt(step)]);
        let done = shelter.forget().and_then(|_| shelter.prune(Bytes::new(16 << 20), &Unpaced));
        is_done = done.is_ok();
        faulty.set(&[]);
        kills += u32::from(!is_done);
        drop(shelter);
        // Opening is what costs: every few steps everything is read, and at the end once more.
        if step % 4 == 0 || is_done {
            let found = world.shelter().verify().unwrap();
            assert!(found.is_whole(), "after call {step}: {found:?}");
        }
        // restic takes a while to start.
        if is_done || step == 12 {
            judge(&world, &data);
        }
        if is_done {
            break;
        }
    }
    assert!(is_done && kills > 20, "{kills} kills");
    assert!(world.shelter().verify().unwrap().snapshots == 2);
}

#[test]
fn a_writer_whose_lease_was_taken_stops_before_the_other_has_saved_anything() {
    let world = World::new(GROUPS);
    let mut first = world.started();
    world.fill();
    save(&mut first).unwrap();
    let lease = || fs::read_to_string(world.path("saved/loadline/lease")).unwrap();
    assert!(lease().contains("\"epoch\":1"), "{}", lease());
    let storage = Arc::new(LocalStorage::new(world.path("saved")));
    let other = Repository::open(storage, b"a long passphrase").unwrap();
    let (now, until) = (Timestamp::new(0, 0), Timestamp::new(1, 0));
    other.take_lease("another machine", now, until, LeaseTaking::Forced).unwrap();
    fs::write(world.disk("data/file1"), "late").unwrap();
    let pruned = |shelter: &mut Shelter| shelter.prune(Bytes::new(0), &Unpaced);
    for error in [first.save(&unpaced()).unwrap_err(), pruned(&mut first).unwrap_err()] {
        assert!(matches!(error, ShelterError::Fenced { generation: 1, .. }), "{error}");
    }
    assert!(lease().contains("another machine"), "{}", lease());
}

#[test]
fn a_passphrase_on_the_disk_that_forgets_is_refused_by_any_name() {
    let mut world = World::without_repository(GROUPS, "");
    fs::write(world.disk("secret"), "a long passphrase\n").unwrap();
    std::os::unix::fs::symlink(world.disk("secret"), world.path("link")).unwrap();
    world.config.passphrase_file = Some(world.path("link").display().to_string());
    let error = world.shelter().restore().unwrap_err();
    assert!(error.to_string().contains("on the disk that forgets"), "{error}");
    assert!(fs::read_dir(world.path("saved")).unwrap().next().is_none(), "nothing was written");
    assert!(!world.disk(MARKER_NAME).exists());
}

#[test]
fn verify_names_what_a_rotten_repository_lost() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    assert!(shelter.verify().unwrap().is_whole());
    drop(shelter);
    flip(&packs(&world).into_iter().max_by_key(|pack| fs::metadata(pack).unwrap().len()).unwrap());
    let report = world.shelter().verify().unwrap();
    assert!(!report.is_whole());
    let findings = report.findings;
    assert!(findings.iter().any(|finding| finding.contains("is damaged")), "{findings:?}");
    assert!(findings.iter().any(|finding| finding.starts_with("generation 1 lacks")), "{findings:?}");
}

fn swap(a: &Path, b: &Path) {
    let between = a.with_extension("between");
    fs::rename(a, &between).unwrap();
    fs::rename(b, a).unwrap();
    fs::rename(&between, b).unwrap();
}

#[test]
fn a_mass_deletion_is_pinned_by_the_next_snapshots_until_it_is_adopted() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    for index in 0..15 {
        fs::remove_file(world.disk(&format!("data/file{index}"))).unwrap();
    }
    assert_eq!(save(&mut shelter).unwrap().deletions["data"].files, 15);
    assert_eq!(shelter.pinned(), [1]);
    fs::write(world.disk("data/more"), "x").unwrap();
    save(&mut shelter).unwrap();
    assert_eq!(shelter.pinned(), [1], "later snapshots say so too");
    fs::write(world.disk("data/more"), "y").unwrap();
    assert_eq!(shelter.adopt().unwrap().unpinned, [1]);
    assert!(shelter.pinned().is_empty());
}
