//! What a save reads and writes, and what it says about files that it could not read.

use crate::trees::{NOW, PASSWORD, assert_same, every_kind, noise, repository, storage};
use loadline_shelter_repository::{
    Changes, PacedStep, Pacing, Permission, Repository, RepositoryError, RereadShare, RestoreRequest, SaveRequest,
    Saved, Unpaced,
};
use loadline_units::Bytes;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A source, and a repository that has it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) source: PathBuf,
    pub(crate) repository: Repository,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir_all(source.join("a/b")).unwrap();
        fs::create_dir_all(source.join("c")).unwrap();
        for number in 0..10_u64 {
            fs::write(source.join(format!("a/{number}")), noise(number, 5000)).unwrap();
            fs::write(source.join(format!("a/b/{number}")), noise(number + 100, 50)).unwrap();
        }
        let repository = repository(&folder.path().join("repository"));
        Self { folder, source, repository }
    }
    pub(crate) fn request(&self) -> SaveRequest {
        SaveRequest::new(vec![self.source.clone()], NOW)
    }
    pub(crate) fn save(&mut self) -> Saved {
        let request = self.request();
        self.repository.save(&request, &Unpaced).unwrap()
    }
    /// As [`Self::save`], when no stamp can be that of a later change.
    pub(crate) fn save_settled(&mut self) -> Saved {
        // Files change their stamps at ticks of a clock: until the next ones nothing is known for good.
        let newest = newest_change(&self.source);
        while coarse_now() - newest < 25_000_000 {
            std::thread::yield_now();
        }
        self.save()
    }
    pub(crate) fn restore(&mut self, saved: &Saved, name: &str) -> PathBuf {
        let target = self.folder.path().join(name);
        let request = RestoreRequest::new(saved.snapshot, &self.source, &target);
        let restored = self.repository.restore(&request, &Unpaced).unwrap();
        assert!(restored.failed.is_empty(), "{restored:?}");
        target
    }
    pub(crate) fn open_again(&mut self) {
        let place = self.folder.path().join("repository");
        self.repository = Repository::open(storage(&place), PASSWORD.as_bytes()).unwrap();
    }
}

/// Nanoseconds since 1970, by the clock that stamps files.
fn coarse_now() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn newest_change(path: &Path) -> i64 {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::symlink_metadata(path).unwrap();
    let own = metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec();
    if !metadata.is_dir() {
        return own;
    }
    fs::read_dir(path).unwrap().map(|entry| newest_change(&entry.unwrap().path())).max().unwrap_or(0).max(own)
}

#[test]
fn every_kind_of_entry_comes_back_and_a_second_restore_keeps_it() {
    let mut place = Place::new();
    every_kind(&place.source);
    let saved = place.save();
    assert!(saved.is_new && saved.unreadable.is_empty(), "{saved:?}");
    let target = place.restore(&saved, "target");
    assert_same(&place.source, &target);
    let request = RestoreRequest::new(saved.snapshot, &place.source, &target);
    let again = place.repository.restore(&request, &Unpaced).unwrap();
    // But for a file with a second name: what is written into it might be seen elsewhere.
    assert_eq!((again.bytes_written, again.failed.len()), (Bytes::new(6), 0));
    assert!(again.bytes_kept > Bytes::mib(5));
    assert_same(&place.source, &target);
}

#[test]
fn what_did_not_change_is_neither_read_nor_written() {
    let mut place = Place::new();
    let first = place.save_settled();
    assert_eq!((first.files_read, first.objects), (20, 4));
    let second = place.save();
    assert_eq!((second.is_new, second.files_read, second.objects), (false, 0, 0));
    assert_eq!(second.snapshot, first.snapshot);

    // Another process knows it from the snapshot.
    place.open_again();
    let request = SaveRequest { parent: Some(first.snapshot), time: NOW, ..place.request() };
    let third = place.repository.save(&request, &Unpaced).unwrap();
    assert!(!third.is_new);

    fs::write(place.source.join("a/3"), b"new").unwrap();
    fs::remove_file(place.source.join("a/b/4")).unwrap();
    let fourth = place.save();
    assert_eq!((fourth.files_read, fourth.objects, fourth.bytes_read), (1, 4, Bytes::new(3)));
    let target = place.restore(&fourth, "target");
    assert_same(&place.source, &target);
}

#[test]
fn a_file_that_changed_within_a_tick_of_the_clock_is_read_again() {
    let mut place = Place::new();
    // Whatever the save saw, a change of the same length at once after it is not missed.
    for round in 0..20_u8 {
        fs::write(place.source.join("a/5"), [round; 64]).unwrap();
        place.save();
        fs::write(place.source.join("a/5"), [round + 100; 64]).unwrap();
        let saved = place.save();
        assert!(saved.is_new);
    }
    let saved = place.save();
    let target = place.restore(&saved, "target");
    assert_same(&place.source, &target);
}

#[test]
fn only_the_paths_that_changed_are_looked_at() {
    let mut place = Place::new();
    place.save_settled();
    let root = place.source.clone();
    fs::write(root.join("a/1"), b"changed").unwrap();
    fs::remove_file(root.join("a/2")).unwrap();
    fs::create_dir_all(root.join("c/new/deep")).unwrap();
    fs::write(root.join("c/new/deep/file"), b"deep").unwrap();
    fs::rename(root.join("a/b"), root.join("c/moved")).unwrap();
    let paths = ["a/1", "a/2", "c/new", "a/b", "c/moved"].map(|path| root.join(path)).to_vec();
    let request = SaveRequest { changes: Changes::Paths(paths), ..place.request() };
    let saved = place.repository.save(&request, &Unpaced).unwrap();
    // The source, a, c, 1, new, deep, its file, and moved with its ten files.
    assert_eq!((saved.entries_seen, saved.files_read), (18, 12));
    let target = place.restore(&saved, "target");
    assert_same(&root, &target);

    // A folder that is named is listed, and what is below it and known is not entered.
    fs::write(root.join("c/extra"), b"x").unwrap();
    let request = SaveRequest { changes: Changes::Paths(vec![root.join("c")]), ..place.request() };
    let saved = place.repository.save(&request, &Unpaced).unwrap();
    assert_eq!((saved.entries_seen, saved.files_read), (5, 1));
    let target = place.restore(&saved, "again");
    assert_same(&root, &target);
}

#[test]
fn shares_are_read_again_although_they_look_unchanged() {
    let mut place = Place::new();
    let first = place.save_settled();
    let mut read = 0;
    for share in 0..3 {
        let request = SaveRequest { reread: Some(RereadShare { share, of: 3 }), ..place.request() };
        let saved = place.repository.save(&request, &Unpaced).unwrap();
        assert_eq!((saved.is_new, saved.snapshot), (false, first.snapshot));
        read += saved.files_read;
    }
    assert_eq!(read, 20);
    // Contents that changed while all stamps stayed are found.
    let path = place.source.join("a/7");
    let before = fs::metadata(&path).unwrap();
    fs::write(&path, noise(77, 5000)).unwrap();
    fs::File::open(&path).unwrap().set_modified(before.modified().unwrap()).unwrap();
    let request = SaveRequest { reread: Some(RereadShare { share: 0, of: 1 }), ..place.request() };
    let saved = place.repository.save(&request, &Unpaced).unwrap();
    let target = place.restore(&saved, "target");
    assert_same(&place.source, &target);
}

/// Alters a file whenever anything is read.
struct Meddler(PathBuf);

impl Pacing for Meddler {
    fn before(&self, step: PacedStep) -> Permission {
        if let PacedStep::ReadSource(_) = step {
            let mut contents = fs::read(&self.0).unwrap();
            contents.push(b'!');
            fs::write(&self.0, contents).unwrap();
        }
        Permission::Granted
    }
}

#[test]
fn a_file_that_always_changes_keeps_its_previous_version() {
    let mut place = Place::new();
    let path = place.source.join("a/0");
    let first_contents = fs::read(&path).unwrap();
    place.save_settled();
    fs::write(&path, b"second").unwrap();
    let meddler = Meddler(path.clone());
    let request = place.request();
    let saved = place.repository.save(&request, &meddler).unwrap();
    assert_eq!(saved.retained, std::slice::from_ref(&path));
    let target = place.restore(&saved, "target");
    assert_eq!(fs::read(target.join("a/0")).unwrap(), first_contents);

    // Without a previous version it is named, and not in the snapshot. The other one is read as soon as it rests.
    let new = place.source.join("new");
    fs::write(&new, b"new").unwrap();
    let saved = place.repository.save(&request, &Meddler(new.clone())).unwrap();
    assert_eq!(saved.unreadable.iter().map(|entry| (&entry.path, entry.is_kept)).collect::<Vec<_>>(), [(&new, false)]);
    let target = place.restore(&saved, "again");
    assert_eq!(fs::read(target.join("a/0")).unwrap(), fs::read(&path).unwrap());
    assert!(!target.join("new").exists());
}

#[test]
fn roots_that_are_not_there_or_make_no_sense_are_refused() {
    let mut place = Place::new();
    let source = place.source.clone();
    for (roots, is_refused) in [
        (vec![], true),
        (vec![PathBuf::from("relative")], true),
        (vec![PathBuf::from("/")], true),
        (vec![source.clone(), source.join("a")], true),
        (vec![source.join("../source")], true),
        (vec![source.join("nothing")], false),
    ] {
        let error = place.repository.save(&SaveRequest::new(roots.clone(), NOW), &Unpaced).unwrap_err();
        assert_eq!(matches!(error, RepositoryError::Unusable(..)), is_refused, "{roots:?}: {error}");
    }
    assert!(place.repository.snapshots().unwrap().is_empty());
    // Several roots, one of them a file, share what is above them.
    let request = SaveRequest::new(vec![source.join("a/b"), source.join("a/1")], NOW);
    let saved = place.repository.save(&request, &Unpaced).unwrap();
    assert_eq!(saved.files_read, 11);
    let target = place.folder.path().join("file");
    let request = RestoreRequest::new(saved.snapshot, source.join("a/1"), &target);
    place.repository.restore(&request, &Unpaced).unwrap();
    assert_eq!(fs::read(target).unwrap(), fs::read(source.join("a/1")).unwrap());
}

#[test]
fn excluded_paths_are_left_out_and_other_file_systems_are_not_entered() {
    let mut place = Place::new();
    let request = SaveRequest { excluded: vec![place.source.join("a/b")], ..place.request() };
    let saved = place.repository.save(&request, &Unpaced).unwrap();
    assert_eq!(saved.files_read, 10);
    // Below /dev lies at least one other file system, and nothing of it is entered.
    if Path::new("/dev/shm").is_dir() && Path::new("/dev/pts").is_dir() {
        let saved = place.repository.save(&SaveRequest::new(vec![PathBuf::from("/dev")], NOW), &Unpaced).unwrap();
        let target = place.folder.path().join("devices");
        let request = RestoreRequest {
            only: vec![PathBuf::from("shm"), PathBuf::from("pts")],
            ..RestoreRequest::new(saved.snapshot, "/dev", &target)
        };
        place.repository.restore(&request, &Unpaced).unwrap();
        assert!(fs::read_dir(target.join("pts")).unwrap().next().is_none());
    }
}

#[test]
fn large_files_are_read_by_all_threads_and_stay_whole() {
    let mut place = Place::new();
    // Sparse, so that only the hashing takes time.
    let path = place.source.join("large");
    let file = fs::File::create(&path).unwrap();
    file.set_len(70 << 20).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"here", (33 << 20) + 5).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"end", (70 << 20) - 3).unwrap();
    let saved = place.save();
    assert!(saved.bytes_stored < Bytes::mib(1), "{saved:?}");
    let target = place.restore(&saved, "target");
    assert!(fs::read(target.join("large")).unwrap() == fs::read(&path).unwrap());
}
