//! Whole lives of a disk: taken into use, saved, lost, restored; and everything that must be refused.

mod databases;
mod in_object_store;
mod in_repository;
mod killed;
mod losses;
mod machine;
mod one_moment;
mod postgres;
mod reflinked;
mod serving;
mod taking_over;
mod upkeep;
mod world;

use crate::durable::write_durably;
use crate::error::ShelterError;
use loadline_shelter_policy::config::MARKER_NAME;
use loadline_shelter_policy::start::{Awaited, StartRefusal, StartVerdict};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use world::{GROUPS, World, flip, noise, packs, save, tree};

#[test]
fn a_disk_that_survived_goes_on_where_it_was() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    drop(shelter);
    fs::write(world.disk("data/file1"), "while nobody looked").unwrap();
    let mut shelter = world.started();
    let report = save(&mut shelter).unwrap();
    assert_eq!(report.generation, 2);
    assert_eq!(world.saved("data/file1").unwrap(), b"while nobody looked");
}

#[test]
fn folders_are_made_again_with_all_that_belongs_to_them() {
    let world = World::new("[group.tempdb]\nclass = \"recreate\"\npaths = [\"tempdb\"]\n");
    let mut shelter = world.started();
    for index in 0..1_000 {
        let path = world.disk(&format!("tempdb/a{}/b{index}", index % 7));
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700 + index % 8)).unwrap();
    }
    fs::write(world.disk("tempdb/contents"), "none of it is kept").unwrap();
    let file = fs::File::open(world.disk("tempdb/a1")).unwrap();
    let has_attributes = rustix::fs::fsetxattr(&file, "user.label", b"x", rustix::fs::XattrFlags::empty()).is_ok();
    // Entries for a user and a mask, as `setfacl -d -m u:1:rwx` writes them.
    let list = b"\x02\0\0\0\x01\0\x07\0\xff\xff\xff\xff\x02\0\x07\0\x01\0\0\0\x04\0\x05\0\xff\xff\xff\xff\x10\0\x07\0\xff\xff\xff\xff\x20\0\x05\0\xff\xff\xff\xff";
    let name = "system.posix_acl_default";
    let has_lists = rustix::fs::fsetxattr(&file, name, list, rustix::fs::XattrFlags::empty()).is_ok();
    assert_eq!(shelter.adopt().unwrap().folders, 1_008);
    drop(shelter);
    fs::remove_file(world.disk("tempdb/contents")).unwrap();
    let before = tree(&world.disk("tempdb"));
    world.lose_disk();
    world.insert_disk();
    let mut shelter = world.shelter();
    assert_eq!(shelter.restore().unwrap().folders, 1_008);
    assert_eq!(tree(&world.disk("tempdb")), before);
    let file = fs::File::open(world.disk("tempdb/a1")).unwrap();
    let mut value = [0; 64];
    if has_attributes {
        assert_eq!(rustix::fs::fgetxattr(&file, "user.label", &mut value[..]), Ok(1));
    }
    if has_lists {
        assert_eq!(rustix::fs::fgetxattr(&file, name, &mut value[..]), Ok(list.len()));
    }
    // Once more, with data in it by now: nothing changes.
    fs::write(world.disk("tempdb/a1/new"), "data").unwrap();
    drop(shelter);
    let before = tree(&world.disk("tempdb"));
    world.started();
    let mut after = tree(&world.disk("tempdb"));
    // The folder's time alone is that of the kept one again.
    after.insert("a1".into(), before[std::path::Path::new("a1")].clone());
    assert_eq!(after, before);
}

#[test]
fn an_interrupted_restore_goes_on_and_merges_nothing() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    drop(shelter);
    let data = tree(&world.disk("data"));
    world.lose_disk();
    world.insert_disk();
    world.started();
    // As if it had ended in the middle: half a file, a file too many, one missing; and the marker says so.
    let text = fs::read_to_string(world.disk(MARKER_NAME)).unwrap();
    let mut marker = loadline_shelter_policy::marker::Marker::parse(&text).unwrap();
    marker.state = loadline_shelter_policy::marker::MarkedState::Restoring;
    write_durably(&world.disk(MARKER_NAME), marker.to_text().as_bytes()).unwrap();
    fs::write(world.disk("data/file9"), "half").unwrap();
    fs::write(world.disk("data/stale-redo-log"), "of another time").unwrap();
    fs::remove_file(world.disk("data/file7")).unwrap();
    let mut shelter = world.shelter();
    let report = shelter.restore().unwrap().restored.unwrap();
    assert_eq!(report.removed, 1);
    assert!(report.bytes < 20_000, "two files: the others are whole already: {report:?}");
    assert_eq!(tree(&world.disk("data")), data);
}

#[test]
fn a_damaged_file_costs_that_file_alone_and_holds_services_back_unless_told_otherwise() {
    for (damaged, starts) in [("hold", false), ("start", true)] {
        let groups = GROUPS.replace("recovery_point = \"1 s\"", &format!("damaged = \"{damaged}\""));
        let world = World::new(&groups);
        let mut shelter = world.started();
        world.fill();
        save(&mut shelter).unwrap();
        // A pack of its own.
        let packs = packs(&world);
        fs::write(world.disk("data/file9"), noise(300_000, 9)).unwrap();
        save(&mut shelter).unwrap();
        let pack = world::packs(&world).into_iter().filter(|pack| !packs.contains(pack));
        let pack = pack.max_by_key(|pack| fs::metadata(pack).unwrap().len()).unwrap();
        flip(&pack);
        assert!(!shelter.verify().unwrap().is_whole());
        drop(shelter);
        world.lose_disk();
        world.insert_disk();
        let mut shelter = world.shelter();
        match shelter.restore() {
            Ok(prepared) => {
                assert!(starts);
                let report = prepared.restored.unwrap();
                assert_eq!((report.damaged.len(), report.files), (1, 24));
                assert_eq!(fs::read(world.disk("data/file9")).unwrap(), vec![9; 9_000], "as it was before");
            }
            Err(ShelterError::Damaged(names)) => {
                assert!(!starts);
                assert_eq!(names, ["data/file9"]);
                let (_, verdict) = shelter.look().unwrap();
                assert!(matches!(verdict, StartVerdict::Resume(2)), "{verdict:?}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn nothing_is_saved_once_the_disk_is_another_one_or_gone() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    let saved = tree(&world.path("saved"));
    // Unmounted: the folder below is empty, which looks as if all were deleted.
    fs::rename(world.path("disk"), world.path("away")).unwrap();
    fs::create_dir(world.path("disk")).unwrap();
    let error = shelter.save(&world::unpaced()).unwrap_err();
    assert!(matches!(error, ShelterError::DiskChanged { .. }), "{error}");
    // Another file system is there, with a copy of all files and of the marker.
    fs::remove_dir(world.path("disk")).unwrap();
    fs::rename(world.path("away"), world.path("disk")).unwrap();
    world.insert_disk();
    let error = shelter.save(&world::unpaced()).unwrap_err();
    assert!(matches!(error, ShelterError::DiskChanged { .. }), "{error}");
    assert_eq!(tree(&world.path("saved")), saved);
    drop(shelter);
    let error = world.shelter().restore().unwrap_err();
    assert!(matches!(error, ShelterError::Refused(StartRefusal::CopiedMarker)), "{error}");
}

#[test]
fn other_files_on_the_disk_are_refused_until_they_are_adopted_or_named_to_be_replaced() {
    let world = World::new(GROUPS);
    world.fill();
    let mut shelter = world.shelter();
    let error = shelter.restore().unwrap_err();
    assert!(matches!(error, ShelterError::Refused(StartRefusal::OtherEntries(2))), "{error}");
    assert!(!world.disk(MARKER_NAME).exists());
    assert_eq!(shelter.adopt().unwrap().saved.unwrap().generation, 1);
    drop(shelter);
    world.lose_disk();
    world.insert_disk();
    fs::create_dir(world.disk("data")).unwrap();
    fs::write(world.disk("data/theirs"), "x").unwrap();
    fs::write(world.disk("elsewhere"), "in no group").unwrap();
    let mut shelter = world.shelter();
    assert!(matches!(shelter.restore(), Err(ShelterError::Refused(StartRefusal::OtherEntries(2)))));
    assert!(shelter.restore_over(&world.path("wrong")).unwrap_err().to_string().contains("nothing was done"));
    assert!(world.disk("data/theirs").exists());
    shelter.restore_over(&world.path("disk")).unwrap();
    assert!(!world.disk("data/theirs").exists() && world.disk("data/file9").exists());
    assert!(world.disk("elsewhere").exists(), "what is in no group stays");
}

#[test]
fn one_process_works_on_a_shelter() {
    let world = World::new(GROUPS);
    let shelter = world.started();
    let error = world.shelter().restore().unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(shelter);
    world.started();
}

#[test]
fn a_start_waits_for_disk_and_destination_and_looks_at_both() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    drop(shelter);
    world.lose_disk();
    fs::create_dir(world.path("disk")).unwrap();
    assert!(matches!(world.shelter().restore(), Err(ShelterError::NotReady(Awaited::Mounted))));
    fs::remove_dir(world.path("disk")).unwrap();
    world.insert_disk();
}

/// What is where the destination was.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Instead {
    Nothing,
    EmptyFolder,
    OtherRepository,
}

#[test]
fn nothing_but_the_destination_that_has_what_was_acknowledged_is_saved_to_or_restored_from() {
    // The same file on another machine, with as many generations.
    let other = World::new(GROUPS);
    let mut shelter = other.started();
    other.fill();
    fs::write(other.disk("data/file3"), "of another machine").unwrap();
    save(&mut shelter).unwrap();
    shelter.release().unwrap();
    drop(shelter);
    for instead in [Instead::Nothing, Instead::EmptyFolder, Instead::OtherRepository] {
        for is_lost in [false, true] {
            let world = World::new(GROUPS);
            let mut shelter = world.started();
            world.fill();
            save(&mut shelter).unwrap();
            drop(shelter);
            let data = tree(&world.disk("data"));
            let (saved, away) = (world.path("saved"), world.path("away"));
            fs::rename(&saved, &away).unwrap();
            match instead {
                Instead::Nothing => {}
                Instead::EmptyFolder => fs::create_dir(&saved).unwrap(),
                Instead::OtherRepository => std::os::unix::fs::symlink(other.path("saved"), &saved).unwrap(),
            }
            if is_lost {
                world.lose_disk();
                world.insert_disk();
            }
            let mut shelter = world.shelter();
            let begun = shelter.restore();
            let is_right = match (&begun, instead) {
                // Services go on with a disk that is whole; it is saved once its destination is there again.
                (Ok(_), Instead::Nothing) => !is_lost,
                (Err(ShelterError::NotReady(Awaited::Destination(_))), Instead::Nothing) => is_lost,
                (Err(ShelterError::Refused(refusal)), Instead::EmptyFolder) => {
                    *refusal == StartRefusal::DestinationOlder { disk: 1, destination: 0 }
                }
                (Err(ShelterError::Refused(refusal)), Instead::OtherRepository) => {
                    *refusal == StartRefusal::OtherRepository { disk: 1 }
                }
                _ => false,
            };
            assert!(is_right, "{instead:?}, lost: {is_lost}: {begun:?}");
            let tried =
                if is_lost { shelter.adopt().map(|adopted| adopted.saved) } else { shelter.save(&world::unpaced()) };
            assert!(tried.is_err(), "{instead:?}, lost: {is_lost}: {tried:?}");
            match instead {
                Instead::Nothing => assert!(!saved.exists()),
                Instead::EmptyFolder => assert!(fs::read_dir(&saved).unwrap().next().is_none()),
                Instead::OtherRepository => assert_eq!(other.saved("data/file3").unwrap(), b"of another machine"),
            }
            // Mounted late.
            let _ = fs::remove_dir(&saved).or_else(|_| fs::remove_file(&saved));
            fs::rename(&away, &saved).unwrap();
            if instead != Instead::Nothing || is_lost {
                shelter.restore().unwrap();
            }
            assert_eq!(tree(&world.disk("data")), data);
            fs::write(world.disk("data/file3"), "later").unwrap();
            assert_eq!(save(&mut shelter).unwrap().generation, 2, "{instead:?}, lost: {is_lost}");
        }
    }
}

#[test]
fn a_destination_that_is_unmounted_while_the_service_runs_is_waited_for() {
    let mut world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    fs::rename(world.path("saved"), world.path("away")).unwrap();
    fs::create_dir(world.path("saved")).unwrap();
    fs::write(world.disk("data/file3"), "meanwhile").unwrap();
    let error = shelter.save(&world::unpaced()).unwrap_err();
    let refusal = StartRefusal::DestinationOlder { disk: 1, destination: 0 };
    assert!(matches!(&error, ShelterError::Refused(found) if *found == refusal), "{error}");
    assert!(fs::read_dir(world.path("saved")).unwrap().next().is_none(), "nothing was written");
    fs::remove_dir(world.path("saved")).unwrap();
    fs::rename(world.path("away"), world.path("saved")).unwrap();
    assert_eq!(save(&mut shelter).unwrap().generation, 2);
    drop(shelter);
    // Its folder moved, and the configuration with it.
    fs::rename(world.path("saved"), world.path("moved")).unwrap();
    let moved = world.path("moved").display().to_string();
    world.config.destination = Some(loadline_shelter_policy::config::Destination::FolderRepository(moved));
    let mut shelter = world.started();
    fs::write(world.disk("data/file3"), "after the move").unwrap();
    assert_eq!(save(&mut shelter).unwrap().generation, 3);
}

#[test]
fn a_second_shelter_on_a_repository_is_refused_by_the_name_of_the_first_while_that_works() {
    let world = World::new(GROUPS);
    let mut first = world.started();
    world.fill();
    save(&mut first).unwrap();
    let mut other = World::new(GROUPS);
    other.fill();
    other.config.name = "other".to_owned();
    other.config.destination.clone_from(&world.config.destination);
    other.config.passphrase_file.clone_from(&world.config.passphrase_file);
    let mut second = other.shelter();
    let refused = second.adopt();
    let is_named = |refusal: &StartRefusal| *refusal == StartRefusal::OtherDestination("test".to_owned());
    assert!(matches!(&refused, Err(ShelterError::Refused(refusal)) if is_named(refusal)), "{refused:?}");
    fs::write(world.disk("data/file3"), "undisturbed").unwrap();
    assert_eq!(save(&mut first).unwrap().generation, 2);
    // It ended in good order: the other one need not wait.
    first.release().unwrap();
    assert_eq!(second.adopt().unwrap().saved.unwrap().generation, 1);
    assert_eq!(world.saved("data/file3").unwrap(), b"undisturbed");
}

#[test]
fn a_drill_removes_whatever_it_made() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    let device = rustix::fs::makedev(7, 99);
    let (mode, kind) = (rustix::fs::Mode::RUSR, rustix::fs::FileType::BlockDevice);
    if let Err(error) = rustix::fs::mknodat(rustix::fs::CWD, world.disk("data/b"), kind, mode, device) {
        println!("skipped: a device file cannot be made: {error}");
        return;
    }
    save(&mut shelter).unwrap();
    assert!(shelter.drill(&world.path("scratch")).unwrap().damaged.is_empty());
    assert!(fs::read_dir(world.path("scratch")).unwrap().next().is_none());
}

#[test]
fn a_repository_without_a_passphrase_file_has_its_own_and_a_killed_creation_is_made_up_for() {
    use std::os::unix::fs::MetadataExt as _;
    let mut world = World::without_repository(GROUPS, "");
    world.config.passphrase_file = None;
    // What a start leaves that is killed before the repository is one: keys that fit nothing.
    let own = world.path("saved/loadline/passphrase");
    fs::create_dir_all(world.path("saved/keys")).unwrap();
    let before = World::new(GROUPS);
    for key in fs::read_dir(before.path("saved/keys")).unwrap() {
        let key = key.unwrap();
        fs::copy(key.path(), world.path("saved/keys").join(key.file_name())).unwrap();
    }
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    assert_eq!(fs::metadata(&own).unwrap().mode() & 0o777, 0o600);
    assert!(shelter.readable_passphrase().is_none());
    assert_eq!(world.saved("data/file7").unwrap(), vec![7; 7_000]);
    fs::set_permissions(&own, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(shelter.readable_passphrase(), Some((own.clone(), 0o666)));
    fs::remove_file(&own).unwrap();
    let missing = shelter.verify().unwrap_err();
    assert!(matches!(&missing, ShelterError::Io { path, .. } if *path == own), "{missing}");
}

#[test]
fn a_file_that_changes_while_it_is_read_has_its_previous_version() {
    use crate::pace::Pace;
    use loadline_shelter_policy::config::OwnLimits;
    use loadline_units::ByteRate;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    fs::create_dir_all(world.disk("data")).unwrap();
    let old = vec![0_u8; 3 << 20];
    fs::write(world.disk("data/busy"), &old).unwrap();
    fs::write(world.disk("data/calm"), "old").unwrap();
    save(&mut shelter).unwrap();
    fs::write(world.disk("data/calm"), "new").unwrap();
    let (ends, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::os::unix::fs::FileExt;
            let file = fs::OpenOptions::new().write(true).open(world.disk("data/busy")).unwrap();
            let mut round = 1_u8;
            while !ends.load(Ordering::Relaxed) {
                file.write_all_at(&[round; 4096], 0).unwrap();
                file.write_all_at(&[round; 4096], 2 << 20).unwrap();
                round = round.wrapping_add(1);
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        while rounds.load(Ordering::Relaxed) < 10 {
            std::thread::yield_now();
        }
        // Held back, a read takes so long that the other thread comes to write, however busy the machine is.
        let limits = OwnLimits { throughput: ByteRate::per_second(16 << 20), ..OwnLimits::default() };
        // As `save` does: a file that was just written is known for sure only a step of the clock later.
        std::thread::sleep(crate::saving::READ_AGAIN);
        let report = shelter.save(&Pace::new(limits, None)).unwrap().unwrap();
        ends.store(true, Ordering::Relaxed);
        report
    });
    let inexact: Vec<&str> = report.inexact.keys().map(loadline_shelter_policy::tree::TreePath::as_text).collect();
    assert_eq!(inexact, ["data/busy"]);
    assert!(world.saved("data/busy").unwrap() == old, "never a mix of two moments");
    assert_eq!(world.saved("data/calm").unwrap(), b"new");
    assert_eq!(save(&mut shelter).unwrap().files, 1, "it is tried again");
}
