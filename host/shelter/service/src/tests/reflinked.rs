//! Groups that are read from reflinks, on XFS and btrfs behind a loop device.

use super::machine::{LoopWorld, run, shelter};
use super::world::{save, tree, unpaced};
use crate::databases::LogPositions;
use crate::frozen_files::FROZEN;
use crate::saving::{EarlierSave, Picture};
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::config::ShelterConfig;
use loadline_shelter_policy::upkeep::ReadShare;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Files that the application writes in each round.
const FILES: usize = 6;

fn shell(script: &str) -> Vec<String> {
    ["/bin/sh", "-c", script].map(str::to_owned).to_vec()
}

fn has(format: &str) -> bool {
    let found = ["/usr/sbin", "/sbin"].iter().any(|folder| Path::new(folder).join(format!("mkfs.{format}")).exists());
    if !found {
        println!("skipped: there is no mkfs.{format}");
    }
    found
}

fn config(world: &LoopWorld, format: &str) -> ShelterConfig {
    world.config(format, "moment = \"reflink\"\n")
}

/// restic finds nothing wrong with the repository.
fn judge(world: &LoopWorld) {
    let (saved, secret) = (world.path("saved"), world.path("secret"));
    let words = ["-r", saved.to_str().unwrap(), "--password-file", secret.to_str().unwrap(), "--no-cache", "-q"];
    match run("restic", &[words.as_slice(), &["check", "--read-data"]].concat()) {
        Err(reason) if reason.contains("No such file") => println!("skipped: restic cannot be started: {reason}"),
        other => drop(other.unwrap()),
    }
}

/// The different first lines of all files.
fn rounds(folder: &Path) -> BTreeSet<String> {
    (0..FILES).map(|file| fs::read_to_string(folder.join(file.to_string())).unwrap()).collect()
}

#[test]
fn a_group_is_of_one_moment_while_its_application_writes_and_waits_only_for_the_reflinks() {
    for format in ["xfs", "btrfs"] {
        let Some(mut world) = LoopWorld::new() else { return };
        if !has(format) {
            continue;
        }
        let mut config = config(&world, format);
        let mut first = shelter(&config);
        first.restore().unwrap();
        drop(first);
        let (data, lock) = (world.path("disk/data"), world.path("lock"));
        fs::create_dir(&data).unwrap();
        // The holder of the lock may write. Once the reflinks are taken, the files are overwritten at once.
        config.groups[0].before =
            Some(shell(&format!("until mkdir {} 2>/dev/null; do sleep 0.01; done", lock.display())));
        let spoil = format!("for f in {}/*; do echo later > $f; done; rmdir {}", data.display(), lock.display());
        config.groups[0].after = Some(shell(&spoil));
        let mut saving = shelter(&config);
        saving.restore().unwrap();
        let (ends, written) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    if fs::create_dir(&lock).is_err() {
                        std::thread::yield_now();
                        continue;
                    }
                    let round = written.fetch_add(1, Ordering::Relaxed);
                    for file in 0..FILES {
                        fs::write(data.join(file.to_string()), format!("{round} ").repeat(20_000)).unwrap();
                    }
                    fs::remove_dir(&lock).unwrap();
                }
            });
            for generation in 1..=3 {
                let before = written.load(Ordering::Relaxed);
                while written.load(Ordering::Relaxed) < before + 2 {
                    std::thread::yield_now();
                }
                let report = save(&mut saving).unwrap();
                assert_eq!((report.generation, report.files), (generation, FILES as u64), "{report:?}");
                assert!(report.fuzzy.is_empty() && report.failed.is_empty(), "{report:?}");
            }
            ends.store(true, Ordering::Relaxed);
        });
        assert!(!world.path("disk").join(FROZEN).exists());
        drop(saving);
        world.lose();
        world.insert().unwrap();
        let mut restoring = shelter(&config);
        restoring.restore().unwrap();
        let found = rounds(&data);
        assert_eq!(found.len(), 1, "{format}: files of several rounds");
        assert!(!found.contains("later\n"), "{format}: what came after the reflinks was saved");
        judge(&world);
    }
}

#[test]
fn only_what_changed_is_copied_and_what_a_killed_save_left_is_removed() {
    let Some(mut world) = LoopWorld::new() else { return };
    if !has("xfs") {
        return;
    }
    let config = config(&world, "xfs");
    let mut first = shelter(&config);
    first.restore().unwrap();
    fs::create_dir_all(world.path("disk/data/deep")).unwrap();
    for file in 0..FILES {
        fs::write(world.path(&format!("disk/data/{file}")), file.to_string()).unwrap();
    }
    std::os::unix::fs::symlink("../1", world.path("disk/data/deep/link")).unwrap();
    run("mkfifo", &["-m", "640", world.path("disk/data/deep/pipe").to_str().unwrap()]).unwrap();
    let file = fs::File::open(world.path("disk/data/3")).unwrap();
    rustix::fs::fsetxattr(&file, "user.label", b"x", rustix::fs::XattrFlags::empty()).unwrap();
    drop(file);
    assert_eq!(save(&mut first).unwrap().files, FILES as u64);
    assert!(save(&mut first).is_none(), "nothing changed, nothing is written");
    fs::write(world.path("disk/data/1"), "changed").unwrap();
    fs::remove_file(world.path("disk/data/2")).unwrap();
    std::thread::sleep(crate::saving::READ_AGAIN);
    let root = TreeRoot::open(&world.path("disk")).unwrap();
    let frozen = || fs::read_dir(world.path("disk").join(FROZEN)).map_or(0, Iterator::count);
    for (reread, copies) in [(None, 1), (Some(ReadShare { share: 0, of: 1 }), FILES - 1)] {
        let (known, positions) = (first.known().clone(), LogPositions::new());
        let earlier = EarlierSave { known: &known, positions: &positions };
        let picture = Picture::take(&root, &config, &BTreeMap::new(), &earlier, reread).unwrap();
        assert_eq!(frozen(), copies, "{reread:?}");
        // As if it were killed here.
        std::mem::forget(picture);
    }
    drop((first, root));
    let mut second = shelter(&config);
    second.restore().unwrap();
    assert_eq!(frozen(), 0);
    let report = save(&mut second).unwrap();
    assert_eq!((report.generation, report.files), (2, 1), "what the repository knows is not read");
    assert!(second.save(&unpaced()).unwrap().is_none());
    let before = tree(&world.path("disk/data"));
    drop(second);
    world.lose();
    world.insert().unwrap();
    let mut third = shelter(&config);
    assert!(third.restore().unwrap().restored.unwrap().damaged.is_empty());
    assert_eq!(tree(&world.path("disk/data")), before);
    let mut value = [0; 8];
    let file = fs::File::open(world.path("disk/data/3")).unwrap();
    assert_eq!(rustix::fs::fgetxattr(&file, "user.label", &mut value[..]), Ok(1));
    judge(&world);
}
