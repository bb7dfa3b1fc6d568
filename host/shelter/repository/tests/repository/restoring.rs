//! What a restore writes, keeps, removes, and says about what it could not restore.

use crate::saving::Place;
use crate::trees::{NOW, assert_same, every_kind, noise};
use loadline_shelter_repository::{
    Extras, NodeKind, PacedStep, Pacing, Permission, PicturedEntry, PicturedRoot, RepositoryError, RestoreRequest,
    SaveRequest, Unpaced,
};
use loadline_units::Bytes;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn whatever_is_in_the_way_is_replaced_and_nothing_outside_is_touched() {
    let mut place = Place::new();
    every_kind(&place.source);
    let saved = place.save();
    let target = place.folder.path().join("target");
    let outside = place.folder.path().join("outside");
    fs::create_dir_all(target.join("text")).unwrap();
    fs::write(target.join("text/inner"), b"in the way").unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("victim"), b"untouched").unwrap();
    fs::write(outside.join("0"), b"untouched").unwrap();
    // A folder, a file and a hard link that lead out of the target.
    std::os::unix::fs::symlink(&outside, target.join("a")).unwrap();
    std::os::unix::fs::symlink(outside.join("victim"), target.join("empty")).unwrap();
    fs::hard_link(outside.join("victim"), target.join("names \u{e4}\u{1F600}")).unwrap();
    fs::write(target.join("deep"), b"a file where a folder belongs").unwrap();
    fs::write(target.join("extra"), b"kept").unwrap();
    let request = RestoreRequest::new(saved.snapshot, &place.source, &target);
    let restored = place.repository.restore(&request, &Unpaced).unwrap();
    assert!(restored.failed.is_empty(), "{restored:?}");
    assert_eq!(fs::read(outside.join("victim")).unwrap(), b"untouched");
    assert_eq!(fs::read(outside.join("0")).unwrap(), b"untouched");
    assert_eq!(fs::read(target.join("extra")).unwrap(), b"kept");

    fs::create_dir(target.join("marker")).unwrap();
    let request = RestoreRequest { extras: Extras::Remove, untouched: vec![PathBuf::from("marker")], ..request };
    let restored = place.repository.restore(&request, &Unpaced).unwrap();
    assert_eq!((restored.removed, restored.failed.len()), (1, 0));
    fs::remove_dir(target.join("marker")).unwrap();
    let modified = fs::metadata(&place.source).unwrap().modified().unwrap();
    fs::File::open(&target).unwrap().set_modified(modified).unwrap();
    assert_same(&place.source, &target);
}

/// Ends everything after so many steps.
struct EndsAfter(AtomicU64);

impl Pacing for EndsAfter {
    fn before(&self, _: PacedStep) -> Permission {
        let left = self.0.load(Ordering::Relaxed);
        if left == 0 {
            return Permission::Stop;
        }
        self.0.store(left - 1, Ordering::Relaxed);
        Permission::Granted
    }
}

/// Stops everything once so many bytes of the target were granted, whichever files the threads took first.
struct EndsAfterWriting(AtomicU64);

impl Pacing for EndsAfterWriting {
    fn before(&self, step: PacedStep) -> Permission {
        let PacedStep::WriteTarget(bytes) = step else { return Permission::Granted };
        let taken = |left: u64| (left > 0).then(|| left.saturating_sub(bytes.get()));
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken) {
            Ok(_) => Permission::Granted,
            Err(_) => Permission::Stop,
        }
    }
}

#[test]
fn an_interrupted_restore_goes_on_where_it_was() {
    let mut place = Place::new();
    for number in 0..6 {
        fs::write(place.source.join(format!("large {number}")), noise(number, 5 << 20)).unwrap();
    }
    let saved = place.save();
    let target = place.folder.path().join("target");
    let request = RestoreRequest::new(saved.snapshot, &place.source, &target);
    let ends = EndsAfterWriting(AtomicU64::new(12 << 20));
    let error = place.repository.restore(&request, &ends).unwrap_err();
    assert!(matches!(error, RepositoryError::Stopped));
    let rest = place.repository.restore(&request, &Unpaced).unwrap();
    assert!(rest.bytes_kept > Bytes::mib(2), "{rest:?}");
    assert!(rest.failed.is_empty());
    assert_same(&place.source, &target);
    let error = place.repository.save(&SaveRequest::new(vec![target], NOW), &EndsAfter(AtomicU64::new(9)));
    assert!(matches!(error, Err(RepositoryError::Stopped)));
}

#[test]
fn contents_are_compared_and_not_times() {
    let mut place = Place::new();
    let saved = place.save();
    let target = place.restore(&saved, "target");
    let path = target.join("a/4");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let mut contents = fs::read(&path).unwrap();
    contents[100] ^= 1;
    fs::write(&path, &contents).unwrap();
    fs::File::open(&path).unwrap().set_modified(modified).unwrap();
    fs::write(target.join("a/5"), b"").unwrap();
    fs::write(target.join("a/6"), noise(6, 9000)).unwrap();
    place.restore(&saved, "target");
    assert_same(&place.source, &target);
}

#[test]
fn a_part_is_restored_alone_and_what_is_asked_for_first_comes_first() {
    let mut place = Place::new();
    let saved = place.save();
    let target = place.folder.path().join("target");
    let request = RestoreRequest {
        only: vec![PathBuf::from("a/b"), PathBuf::from("a/3")],
        ..RestoreRequest::new(saved.snapshot, &place.source, &target)
    };
    let restored = place.repository.restore(&request, &Unpaced).unwrap();
    assert_eq!((restored.files, restored.failed.len()), (11, 0));
    assert_same(&place.source.join("a/b"), &target.join("a/b"));
    assert!(!target.join("a/4").exists() && !target.join("c").exists());

    // Each file is larger than what a thread restores in one go: two threads do not come to the third file.
    for name in ["x", "y", "z"] {
        fs::write(place.source.join(name), noise(name.len() as u64 + u64::from(name.as_bytes()[0]), 17 << 20)).unwrap();
    }
    let saved = place.save();
    let target = place.folder.path().join("ordered");
    let request = RestoreRequest {
        order: vec![PathBuf::from("y"), PathBuf::from("x")],
        ..RestoreRequest::new(saved.snapshot, &place.source, &target)
    };
    let ends = EndsAfter(AtomicU64::new(6));
    place.repository.restore(&request, &ends).unwrap_err();
    assert!(target.join("y").exists() && !target.join("z").exists());
}

#[test]
fn the_first_save_after_a_restore_reads_nothing() {
    let mut place = Place::new();
    let saved = place.save();
    fs::remove_dir_all(&place.source).unwrap();
    place.open_again();
    let request = RestoreRequest::new(saved.snapshot, &place.source, &place.source);
    place.repository.restore(&request, &Unpaced).unwrap();
    let next = place.save();
    assert_eq!((next.files_read, next.is_new), (0, true));
    let target = place.restore(&next, "target");
    assert_same(&place.source, &target);
    assert!(!place.save().is_new);
}

#[test]
fn a_tree_that_many_folders_share_is_counted_each_time() {
    let mut place = Place::new();
    let folder = |below: BTreeMap<Vec<u8>, PicturedEntry>| PicturedEntry {
        kind: NodeKind::Folder,
        permissions: 0o755,
        uid: 0,
        gid: 0,
        size: 0,
        modified: NOW,
        changed: NOW,
        inode: 1,
        device: 1,
        links: 1,
        link_target: Vec::new(),
        attributes: Vec::new(),
        contents: None,
        below,
    };
    let mut entry = folder(BTreeMap::new());
    for _ in 0..12 {
        entry = folder([(b"a".to_vec(), entry.clone()), (b"b".to_vec(), entry)].into());
    }
    let root = place.source.clone();
    let mut request = SaveRequest::new(vec![root.clone()], NOW);
    request.pictured = [(root.clone(), PicturedRoot { taken: NOW, entry })].into();
    let saved = place.repository.save(&request, &Unpaced).unwrap();
    let size = place.repository.restore_size(saved.snapshot).unwrap();
    let above = root.components().skip(1).count() as u64;
    assert_eq!((size.entries, size.room), (above + (1 << 13) - 2, Bytes::ZERO));
}
