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
mod upkeep;
mod world;

use crate::durable::write_durably;
use crate::error::ShelterError;
use loadline_shelter_policy::config::MARKER_NAME;
use loadline_shelter_policy::start::{Awaited, StartRefusal, StartVerdict};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use world::{GROUPS, World, save, tree};

#[test]
fn a_lost_disk_comes_back_as_it_was_saved() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    let first = save(&mut shelter).unwrap();
    assert_eq!((first.generation, first.files), (1, 24));
    assert!(save(&mut shelter).is_none(), "nothing changed, nothing is written");
    fs::write(world.disk("data/file3"), "changed").unwrap();
    fs::remove_file(world.disk("data/file4")).unwrap();
    fs::rename(world.disk("data/file5"), world.disk("data/deep/file5")).unwrap();
    let second = save(&mut shelter).unwrap();
    assert_eq!((second.files, second.gone), (2, 2), "only what changed is read");
    let (data, wal) = (tree(&world.disk("data")), tree(&world.disk("wal")));
    drop(shelter);
    world.lose_disk();
    world.insert_disk();
    let mut shelter = world.shelter();
    let prepared = shelter.restore().unwrap();
    assert_eq!(prepared.restored.unwrap().damaged.len(), 0);
    assert_eq!(tree(&world.disk("data")), data);
    assert_eq!(tree(&world.disk("wal")), wal);
    assert!(save(&mut shelter).is_none(), "what was restored is known: nothing is read again");
    // The copy can be used in place.
    assert_eq!(tree(&world.path("saved/current/data")), data);
    assert_eq!(shelter.verify().unwrap().damaged.len(), 0);
    let drill = shelter.drill(&world.path("scratch")).unwrap();
    assert!(drill.wrong.is_empty() && drill.compared > 24);
    assert!(fs::read_dir(world.path("scratch")).unwrap().next().is_none());
}

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
    assert_eq!(fs::read(world.path("saved/current/data/file1")).unwrap(), b"while nobody looked");
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
    assert_eq!((report.files, report.removed), (3, 1), "a link and two files: the others are whole already");
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
        fs::write(world.path("saved/current/data/file9"), "rot").unwrap();
        let damaged: Vec<String> =
            shelter.verify().unwrap().damaged.keys().map(|path| path.as_text().to_owned()).collect();
        assert_eq!(damaged, ["data/file9"]);
        drop(shelter);
        world.lose_disk();
        world.insert_disk();
        let mut shelter = world.shelter();
        match shelter.restore() {
            Ok(prepared) => {
                assert!(starts);
                let report = prepared.restored.unwrap();
                assert_eq!((report.damaged.len(), report.files), (1, 24));
                assert!(!world.disk("data/file9").exists());
            }
            Err(ShelterError::Damaged(names)) => {
                assert!(!starts);
                assert_eq!(names, ["data/file9"]);
                let (_, verdict) = shelter.look().unwrap();
                assert!(matches!(verdict, StartVerdict::Resume(1)), "{verdict:?}");
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_mass_deletion_pins_the_old_generation_until_it_is_adopted() {
    let world = World::new(GROUPS);
    let mut shelter = world.started();
    world.fill();
    save(&mut shelter).unwrap();
    let data = tree(&world.disk("data"));
    for index in 0..15 {
        fs::remove_file(world.disk(&format!("data/file{index}"))).unwrap();
    }
    let report = save(&mut shelter).unwrap();
    assert_eq!(report.deletions["data"].files, 15);
    assert_eq!(shelter.pinned(), [1]);
    // Later saves leave the pinned generation whole, whatever they replace.
    fs::write(world.disk("data/file16"), "other").unwrap();
    fs::remove_file(world.disk("data/link")).unwrap();
    save(&mut shelter).unwrap();
    let copy = crate::plain_copy::PlainCopy::open(&world.path("saved"), "test").unwrap();
    let pinned = copy.manifest_of(1).unwrap();
    let scratch = world.path("scratch");
    fs::create_dir(&scratch).unwrap();
    let root = crate::tree_files::TreeRoot::open(&scratch).unwrap();
    let (onto, progress) = (crate::restoring::Onto::Empty, crate::restoring::RestoreProgress::default());
    let done = crate::restoring::restore(&root, &copy, &pinned, &world.config.groups, onto, &progress);
    assert_eq!(done.unwrap().damaged.len(), 0);
    assert_eq!(tree(&scratch.join("data")), data);
    assert_eq!(shelter.adopt().unwrap().unpinned, [1]);
    assert!(shelter.pinned().is_empty() && fs::read_dir(world.path("saved/kept")).unwrap().next().is_none());
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
fn a_second_machine_ends_the_writing_of_the_first() {
    let world = World::new(GROUPS);
    let mut first = world.started();
    world.fill();
    save(&mut first).unwrap();
    // The second has a disk and a state folder of its own, and the same destination.
    let other = World::new(GROUPS);
    fs::remove_dir_all(other.path("saved")).unwrap();
    std::os::unix::fs::symlink(world.path("saved"), other.path("saved")).unwrap();
    let mut second = other.started();
    fs::write(other.disk("data/file1"), "second").unwrap();
    assert_eq!(save(&mut second).unwrap().generation, 2);
    fs::write(world.disk("data/file1"), "first").unwrap();
    let error = first.save(&world::unpaced()).unwrap_err();
    assert!(matches!(error, ShelterError::Fenced { generation: 2, .. }), "{error}");
    drop(first);
    assert_eq!(fs::read(world.path("saved/current/data/file1")).unwrap(), b"second");
    let error = world.shelter().restore().unwrap_err();
    assert!(matches!(error, ShelterError::Refused(StartRefusal::OldCopy { disk: 1, destination: 2 })), "{error}");
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
    // Its folder is there, and what should be mounted on it is not.
    fs::rename(world.path("saved"), world.path("elsewhere")).unwrap();
    assert!(matches!(world.shelter().restore(), Err(ShelterError::NotReady(Awaited::Destination(_)))));
    fs::create_dir(world.path("saved")).unwrap();
    let refused = world.shelter().restore();
    assert!(
        matches!(refused, Err(ShelterError::Refused(StartRefusal::DestinationOlder { disk: 1, destination: 0 }))),
        "{refused:?}"
    );
    assert!(fs::read_dir(world.path("disk")).unwrap().next().is_none(), "nothing was written");
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
    assert!(fs::read(world.path("saved/current/data/busy")).unwrap() == old, "never a mix of two moments");
    assert_eq!(fs::read(world.path("saved/current/data/calm")).unwrap(), b"new");
    assert_eq!(save(&mut shelter).unwrap().files, 1, "it is tried again");
}
