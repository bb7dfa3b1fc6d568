//! The same lives with a repository as the destination; restic is the judge where it is installed.

use super::world::{GROUPS, World, save, tree, unpaced};
use crate::error::ShelterError;
use loadline_shelter::config::MARKER_NAME;
use loadline_shelter::start::StartRefusal;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs restic on the saved data; `None` where it is not installed.
fn restic(world: &World, words: &[&str]) -> Option<String> {
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
    let world = World::with_repository(GROUPS);
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
    assert!(drill.compared >= 23 && drill.restored.damaged.is_empty(), "{drill:?}");
    assert!(fs::read_dir(world.path("scratch")).unwrap().next().is_none());
}

#[test]
fn without_its_passphrase_nothing_is_saved_and_nothing_restored() {
    let world = World::with_repository(GROUPS);
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
    let world = World::with_repository(GROUPS);
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

fn swap(a: &Path, b: &Path) {
    let between = a.with_extension("between");
    fs::rename(a, &between).unwrap();
    fs::rename(b, a).unwrap();
    fs::rename(&between, b).unwrap();
}

#[test]
fn a_mass_deletion_is_pinned_by_the_next_snapshots_until_it_is_adopted() {
    let world = World::with_repository(GROUPS);
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
