//! Kills at every step, storages that fail, fill up and rot, and two writers.

use crate::saving::Place;
use crate::trees::{CHEAP, NOW, PASSWORD, assert_same, noise, seen, storage};
use crate::with_restic::assert_sound;
use loadline_shelter_repository::{
    CheckFinding, CheckedData, FaultyStorage, FileKind, KeepRules, LeaseTaking, Pruned, Repository, RepositoryError,
    RepositoryStorage, RestoreRequest, SaveRequest, StorageErrorKind, StorageFault, StoredFile, Timestamp, Unpaced,
};
use loadline_units::Bytes;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A source, and a repository on a storage that can misbehave.
struct Faulty {
    place: Place,
    storage: Arc<FaultyStorage>,
}

impl Faulty {
    fn new() -> Self {
        let mut place = Place::new();
        let storage = Arc::new(FaultyStorage::new(storage(&place.folder.path().join("repository"))));
        place.repository = Repository::open(storage.clone(), PASSWORD.as_bytes()).unwrap();
        Self { place, storage }
    }
    fn repository(&self) -> PathBuf {
        self.place.folder.path().join("repository")
    }
    /// Another process opens the repository as it lies there.
    fn open_again(&mut self) {
        self.storage.set(&[]);
        self.place.repository = Repository::open(self.storage.clone(), PASSWORD.as_bytes()).unwrap();
    }
    fn assert_whole(&self) {
        let checked = self.place.repository.check(CheckedData::Everything, &Unpaced).unwrap();
        assert!(checked.findings.is_empty(), "{checked:?}");
    }
}

fn lasting(repository: &Repository, holder: &str) -> loadline_shelter_repository::Lease {
    let until = Timestamp::new(NOW.seconds + 60, 0);
    repository.take_lease(holder, NOW, until, LeaseTaking::Forced).unwrap()
}

#[test]
fn a_save_that_is_killed_at_any_step_loses_nothing() {
    let mut faulty = Faulty::new();
    let mut acknowledged = faulty.place.save().snapshot;
    let mut expected = seen(&faulty.place.source);
    let mut kills = 0;
    for step in 0.. {
        // Twice at each step: before the call, and between the call and its answer.
        let mut is_done = true;
        for fault in [StorageFault::DiesAt(step), StorageFault::AnswerLostAt(step)] {
            fs::write(faulty.place.source.join("a/1"), noise(step + 1000 * kills, 3000)).unwrap();
            fs::write(faulty.place.source.join(format!("c/{step}")), noise(step, 100)).unwrap();
            faulty.storage.set(&[fault]);
            let request = faulty.place.request();
            match faulty.place.repository.save(&request, &Unpaced) {
                Ok(saved) => {
                    acknowledged = saved.snapshot;
                    expected = seen(&faulty.place.source);
                }
                Err(error) => {
                    assert!(matches!(error, RepositoryError::Storage(_)), "{error}");
                    kills += 1;
                    is_done = false;
                }
            }
            faulty.open_again();
            faulty.assert_whole();
            let target = faulty.place.folder.path().join(format!("target {step} {kills}"));
            let request = RestoreRequest::new(acknowledged, &faulty.place.source, &target);
            assert!(faulty.place.repository.restore(&request, &Unpaced).unwrap().failed.is_empty());
            assert!(seen(&target) == expected, "after step {step}");
        }
        if is_done {
            break;
        }
    }
    assert!(kills >= 8, "{kills} kills");
    assert_sound(&faulty.repository());
}

#[test]
fn a_prune_that_is_killed_at_any_step_loses_nothing() {
    let mut faulty = Faulty::new();
    let mut kept = Vec::new();
    for round in 0..6_u64 {
        fs::write(faulty.place.source.join("a/1"), noise(round, 3_000_000)).unwrap();
        fs::write(faulty.place.source.join("a/2"), noise(round + 50, 2000)).unwrap();
        let request =
            SaveRequest { time: Timestamp::new(NOW.seconds + round.cast_signed(), 0), ..faulty.place.request() };
        kept.push(faulty.place.repository.save(&request, &Unpaced).unwrap().snapshot);
    }
    let lease = lasting(&faulty.place.repository, "here");
    let rules = KeepRules { last: 2, minutely: 0, hourly: 0, daily: 0 };
    let forgotten = faulty.place.repository.forget(rules, &lease).unwrap();
    assert_eq!(forgotten.len(), 4);
    let count = |faulty: &Faulty| faulty.storage.list(FileKind::Pack).unwrap().len();
    let before = count(&faulty);
    let mut pruned = None;
    for step in 0..200 {
        faulty.storage.set(&[StorageFault::DiesAt(step)]);
        pruned = faulty.place.repository.prune(&lease, &Unpaced).ok();
        faulty.open_again();
        faulty.assert_whole();
        if pruned.is_some() {
            break;
        }
    }
    assert!(pruned.is_some());
    assert!(count(&faulty) < before);
    let snapshots = faulty.place.repository.snapshots().unwrap();
    assert_eq!(snapshots.iter().map(|snapshot| snapshot.id).collect::<Vec<_>>(), kept[4..]);
    let saved = faulty.place.save();
    let target = faulty.place.restore(&saved, "target");
    assert_same(&faulty.place.source, &target);
    // A second one finds nothing to do but the index of that save.
    let again = faulty.place.repository.prune(&lease, &Unpaced).unwrap();
    assert_eq!(again.bytes_freed, 0, "{again:?}");
    assert_sound(&faulty.repository());
}

#[test]
fn a_full_storage_fails_the_save_and_room_mends_it() {
    let mut faulty = Faulty::new();
    let first = faulty.place.save();
    fs::write(faulty.place.source.join("large"), noise(5, 40 << 20)).unwrap();
    for room in [0, 1 << 20, 20 << 20] {
        faulty.storage.set(&[StorageFault::Fills(room)]);
        let request = faulty.place.request();
        let error = faulty.place.repository.save(&request, &Unpaced).unwrap_err();
        assert!(matches!(&error, RepositoryError::Storage(error) if error.kind == StorageErrorKind::Full), "{error}");
    }
    faulty.storage.set(&[]);
    assert_eq!(faulty.place.repository.snapshots().unwrap().len(), 1);
    let second = faulty.place.save();
    assert!(second.is_new && second.snapshot != first.snapshot);
    let target = faulty.place.restore(&second, "target");
    assert_same(&faulty.place.source, &target);
    faulty.assert_whole();
}

/// The pack that has most of the contents, and its length.
fn largest_pack(storage: &dyn RepositoryStorage) -> (StoredFile, u64) {
    let packs = storage.list(FileKind::Pack).unwrap();
    let largest = packs.iter().max_by_key(|pack| pack.length).unwrap();
    (StoredFile::Named(FileKind::Pack, largest.id), largest.length)
}

#[test]
fn a_changed_bit_costs_one_file_which_is_named_or_comes_from_an_earlier_snapshot() {
    let mut faulty = Faulty::new();
    let earlier = faulty.place.save();
    for number in 0..10_u64 {
        fs::write(faulty.place.source.join(format!("a/{number}")), noise(number + 500, 50_000)).unwrap();
    }
    let saved = faulty.place.save();
    let (pack, length) = largest_pack(&*faulty.storage);
    faulty.storage.set(&[StorageFault::FlipsBit(pack, length / 2)]);
    let checked = faulty.place.repository.check(CheckedData::Everything, &Unpaced).unwrap();
    assert!(
        matches!(
            checked.findings.as_slice(),
            [CheckFinding::File { file, .. }, CheckFinding::Snapshot { snapshot, blobs: 1, .. }]
                if *file == pack && *snapshot == saved.snapshot
        ),
        "{checked:?}"
    );
    let shares = (0..3).map(|share| {
        let data = CheckedData::Share { share, of: 3 };
        faulty.place.repository.check(data, &Unpaced).unwrap().packs_read
    });
    assert_eq!(shares.sum::<u64>(), checked.packs_read);

    let target = faulty.place.folder.path().join("target");
    let request = RestoreRequest::new(saved.snapshot, &faulty.place.source, &target);
    let restored = faulty.place.repository.restore(&request, &Unpaced).unwrap();
    assert_eq!((restored.failed.len(), restored.files), (1, 19), "{restored:?}");
    let failed = restored.failed[0].path.strip_prefix(&target).unwrap().to_owned();
    assert!(matches!(restored.failed[0].reason, RepositoryError::Damaged { .. }));
    assert!(!target.join(&failed).exists(), "half a file must not look like a whole one");

    let request = RestoreRequest { fall_back: vec![earlier.snapshot], ..request };
    let restored = faulty.place.repository.restore(&request, &Unpaced).unwrap();
    assert!(restored.failed.is_empty());
    assert_eq!(restored.fallen_back, [(target.join(&failed), earlier.snapshot)]);
    assert_eq!(fs::metadata(target.join(&failed)).unwrap().len(), 5000);
}

#[test]
fn packs_that_are_cut_or_gone_cost_the_files_in_them_and_no_more() {
    let mut faulty = Faulty::new();
    let saved = faulty.place.save();
    let (pack, length) = largest_pack(&*faulty.storage);
    for (number, fault) in
        [StorageFault::Truncates(pack, length / 2), StorageFault::Truncates(pack, 0), StorageFault::Loses(pack)]
            .into_iter()
            .enumerate()
    {
        faulty.storage.set(&[fault]);
        let target = faulty.place.folder.path().join(format!("target {number}"));
        let request = RestoreRequest::new(saved.snapshot, &faulty.place.source, &target);
        let restored = faulty.place.repository.restore(&request, &Unpaced).unwrap();
        assert_eq!(restored.failed.len() as u64 + restored.files, 20);
        assert_eq!(restored.folders, 4);
        if number == 0 {
            assert!((5..15).contains(&restored.files), "{restored:?}");
        }
    }
    // A storage that fails now and then is asked once more for what is missing.
    faulty.storage.set(&[StorageFault::FailsEvery(5)]);
    let target = faulty.place.folder.path().join("now and then");
    let request = RestoreRequest::new(saved.snapshot, &faulty.place.source, &target);
    let _ = faulty.place.repository.restore(&request, &Unpaced);
    faulty.storage.set(&[]);
    assert!(faulty.place.repository.restore(&request, &Unpaced).unwrap().failed.is_empty());
    assert_same(&faulty.place.source, &target);
}

#[test]
fn of_two_writers_only_the_later_one_writes() {
    let mut place = Place::new();
    let folder = place.folder.path().join("repository");
    let mut other = Repository::open(storage(&folder), PASSWORD.as_bytes()).unwrap();
    let at = |seconds| Timestamp::new(NOW.seconds + seconds, 0);
    assert_eq!(place.repository.lease().unwrap(), None);
    let mut first = place.repository.take_lease("first", at(0), at(60), LeaseTaking::Polite).unwrap();
    place.repository.renew_lease(&mut first, at(10), at(70)).unwrap();
    assert_eq!(first.epoch(), 1);
    let refused = other.take_lease("second", at(50), at(90), LeaseTaking::Polite).unwrap_err();
    assert!(matches!(&refused, RepositoryError::LeaseHeld { holder, until } if holder == "first" && *until == at(70)));
    let request = SaveRequest { lease: Some(first.clone()), ..place.request() };
    let saved = place.repository.save(&request, &Unpaced).unwrap();
    assert_eq!(place.repository.snapshot(saved.snapshot).unwrap().file.tags, ["epoch=1"]);

    // It ran out: the second may take it, and the first stops.
    let second = other.take_lease("second", at(71), at(120), LeaseTaking::Polite).unwrap();
    assert_eq!(second.epoch(), 2);
    fs::write(place.source.join("a/1"), b"too late").unwrap();
    let lost = |error: RepositoryError| matches!(error, RepositoryError::LeaseLost { holder } if holder == "second");
    assert!(lost(place.repository.save(&request, &Unpaced).unwrap_err()));
    assert!(lost(place.repository.renew_lease(&mut first, at(80), at(200)).unwrap_err()));
    assert!(lost(place.repository.prune(&first, &Unpaced).unwrap_err()));
    assert!(lost(place.repository.forget(KeepRules::default(), &first).unwrap_err()));
    assert_eq!(other.snapshots().unwrap().len(), 1);
    let request = SaveRequest { lease: Some(second.clone()), ..request };
    other.save(&request, &Unpaced).unwrap();
    // Later epochs come later, whatever their clocks say.
    let epochs: Vec<u64> = other.snapshots().unwrap().iter().map(|snapshot| snapshot.file.number("epoch")).collect();
    assert_eq!(epochs, [1, 2]);
    other.release_lease(second, at(100)).unwrap();
    assert_eq!(place.repository.take_lease("first", at(101), at(160), LeaseTaking::Polite).unwrap().epoch(), 3);
}

#[test]
fn repositories_open_only_by_their_password_and_are_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("repository");
    let open = |password: &[u8]| Repository::open(storage(&place), password);
    assert!(matches!(open(b"").unwrap_err(), RepositoryError::NotThere));
    let made = Repository::create(storage(&place), b"right", CHEAP, NOW).unwrap();
    assert!(matches!(Repository::create(storage(&place), b"right", CHEAP, NOW), Err(RepositoryError::AlreadyThere)));
    assert!(matches!(open(b"wrong").unwrap_err(), RepositoryError::WrongPassword));
    assert_eq!(open(b"right").unwrap().id(), made.id());
    assert_private(&place);
    fs::write(place.join("config"), b"nonsense that is longer than a seal of thirty-two bytes").unwrap();
    assert!(matches!(open(b"right").unwrap_err(), RepositoryError::Damaged { file: StoredFile::Config, .. }));
}

/// Nobody but the owner reads anything of a repository.
fn assert_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).unwrap();
    let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(metadata.permissions().mode() & 0o777, expected, "{}", path.display());
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            assert_private(&entry.unwrap().path());
        }
    }
}

#[test]
fn small_saves_become_few_packs_and_one_index() {
    let mut place = Place::new();
    for round in 0..12_u64 {
        fs::write(place.source.join("a/1"), noise(round, 100)).unwrap();
        place.save();
    }
    let lease = lasting(&place.repository, "here");
    let pruned = place.repository.prune(&lease, &Unpaced).unwrap();
    assert_eq!((pruned.packs_removed, pruned.packs_written, pruned.indexes_removed), (24, 2, 12), "{pruned:?}");
    let checked = place.repository.check(CheckedData::Everything, &Unpaced).unwrap();
    assert_eq!((checked.snapshots, checked.packs, checked.unreferenced, checked.findings.len()), (12, 2, 0, 0));
    assert!(checked.bytes_read > Bytes::kib(50));
    assert_eq!(place.repository.prune(&lease, &Unpaced).unwrap(), Pruned::default());
}
