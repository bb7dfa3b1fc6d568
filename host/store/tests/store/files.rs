//! Files that are not a store, or of another version, are refused and not changed.

use crate::made;
use loadline_store::{Filter, Store, StoreError};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> =
        entries.map(|e| e.unwrap().path()).map(|p| (p.clone(), std::fs::read(p).unwrap())).collect();
    files.sort();
    files
}

/// Without printing the bytes.
fn assert_unchanged(folder: &Path, before: &[(PathBuf, Vec<u8>)], case: &str) {
    let after = contents(folder);
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    assert_eq!(names(&after), names(before), "{case}");
    assert!(after == before, "{case}: a file was changed");
}

/// A closed store with a run of some size.
fn filled(path: &Path) {
    let store = Store::open(path).unwrap();
    store.begin_run(&made::header("a", "sweep", 0), &[made::cell(0, 20)]).unwrap();
    for number in 0..20 {
        store.finish_trial("a", &made::cell(0, 20).id, &made::trial(number, 0, 60)).unwrap();
    }
}

#[test]
fn a_store_is_one_file_in_folders_made_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b %41?x=1#/store.db");
    filled(&path);
    let names: Vec<_> = contents(path.parent().unwrap()).into_iter().map(|(p, _)| p).collect();
    assert_eq!(names, std::slice::from_ref(&path));
    assert_eq!(Store::open(&path).unwrap().load("a").unwrap().cells[0].trials.len(), 20);
}

#[test]
fn looking_at_a_store_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    let before = contents(folder.path());
    let store = Store::open(&path).unwrap();
    store.load(&store.resolve("last").unwrap()).unwrap();
    store.list(&Filter::default()).unwrap();
    drop(store);
    assert_unchanged(folder.path(), &before, "after");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let file = tempfile::NamedTempFile::new().unwrap();
    filled(file.path());
    assert_eq!(Store::open(file.path()).unwrap().list(&Filter::default()).unwrap().len(), 1);
}

#[test]
fn a_newer_store_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 1_000).unwrap();
    let before = contents(folder.path());
    match Store::open(&path).unwrap_err() {
        StoreError::Newer { path: named, found: 1_000, known: 4 } => assert_eq!(named, path),
        other => panic!("{other}"),
    }
    assert_unchanged(folder.path(), &before, "after");
}

#[test]
fn a_newer_store_with_a_log_beside_it_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (path, log) = (folder.path().join("store.db"), folder.path().join("store.db-wal"));
    filled(&path);
    let writer = Connection::open(&path).unwrap();
    writer.pragma_update(None, "user_version", 1_000).unwrap();
    // The remains of a killed process: the file and its write-ahead log.
    let left = tempfile::tempdir().unwrap();
    let (path_left, log_left) = (left.path().join("store.db"), left.path().join("store.db-wal"));
    std::fs::copy(&path, &path_left).unwrap();
    std::fs::copy(&log, &log_left).unwrap();
    let before = contents(left.path());
    assert!(matches!(Store::open(&path_left), Err(StoreError::Newer { .. })));
    let after: Vec<_> = contents(left.path()).into_iter().filter(|(p, _)| !p.ends_with("store.db-shm")).collect();
    assert!(after == before);
}

#[test]
fn another_programs_database_is_refused_and_left_as_it_is() {
    for mode in ["DELETE", "WAL"] {
        for application_id in [0, 77] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("places.sqlite");
            let connection = Connection::open(&path).unwrap();
            connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |_| Ok(())).unwrap();
            connection.pragma_update(None, "application_id", application_id).unwrap();
            connection.execute_batch("CREATE TABLE runs (id TEXT); INSERT INTO runs VALUES ('mine')").unwrap();
            drop(connection);
            let before = contents(folder.path());
            match Store::open(&path).unwrap_err() {
                StoreError::Foreign { path: named } => assert_eq!(named, path),
                other => panic!("{other}"),
            }
            assert_unchanged(folder.path(), &before, &format!("{mode}, {application_id}"));
        }
    }
}

#[test]
fn what_is_no_database_is_named_and_left_as_it_is() {
    let mut almost = b"SQLite format 3\0".to_vec();
    almost.resize(8192, 0x5a);
    let samples: [&[u8]; 4] = [b"just some notes\n", &[0; 4096], &vec![0xa5; 100_000], &almost];
    for bytes in samples {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        std::fs::write(&path, bytes).unwrap();
        let before = contents(folder.path());
        match Store::open(&path).unwrap_err() {
            StoreError::Corrupt { path: named, .. } => assert_eq!(named, path),
            other => panic!("{other}"),
        }
        assert_unchanged(folder.path(), &before, "after");
    }
}

#[test]
fn a_file_of_one_byte_is_not_taken_for_empty() {
    // SQLite itself would.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::write(&path, b"x").unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Foreign { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"x");
}

#[test]
fn a_store_cut_short_is_named_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    let whole = std::fs::read(&path).unwrap();
    for keep in [whole.len() / 2, whole.len() - 4096, 4096, 5000, 512, 10] {
        std::fs::write(&path, &whole[..keep]).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(&error, StoreError::Corrupt { path: named, .. } if *named == path), "{keep}: {error}");
        assert!(error.to_string().contains("store.db"));
        assert!(std::fs::read(&path).unwrap() == whole[..keep], "{keep}");
    }
}

#[test]
fn a_damaged_page_is_named_when_it_is_met_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    filled(&path);
    let whole = std::fs::read(&path).unwrap();
    let pages = whole.len() / 4096;
    let mut met = 0;
    for page in 1..pages {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0xff);
        std::fs::write(&path, &bytes).unwrap();
        // Pages with only a part of a long text or blob are checked by its decoder.
        let found = Store::open(&path).and_then(|store| {
            store.list(&Filter::default())?;
            store.load("a")
        });
        match found {
            Err(StoreError::Corrupt { path: named, .. }) => {
                assert_eq!(named, path);
                met += 1;
            }
            Err(StoreError::Unreadable { run, .. }) => assert_eq!(run, "a"),
            Err(StoreError::Sql { .. }) | Ok(_) => {}
            Err(other) => panic!("page {page}: {other}"),
        }
        assert!(std::fs::read(&path).unwrap() == bytes, "page {page} of {pages}: the file was changed");
    }
    assert!(met > pages / 4, "{met} of {pages}");
}

#[test]
fn a_folder_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Store::open(folder.path()), Err(StoreError::Path { .. })));
    let below_file = folder.path().join("file");
    std::fs::write(&below_file, b"x").unwrap();
    assert!(matches!(Store::open(&below_file.join("store.db")), Err(StoreError::Path { .. })));
}

#[test]
fn a_device_is_no_store_and_nothing_is_written_to_it() {
    let error = Store::open(Path::new("/dev/null")).unwrap_err();
    assert!(matches!(error, StoreError::Path { .. }), "{error}");
    assert!(error.to_string().contains("is no regular file"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    std::fs::write(&image, vec![0; 1 << 20]).unwrap();
    let losetup = |arguments: &[&str]| {
        let done = std::process::Command::new("losetup").args(arguments).output().ok()?;
        done.status.success().then(|| String::from_utf8(done.stdout).unwrap().trim().to_owned())
    };
    let Some(device) = losetup(&["--find", "--show", image.to_str().unwrap()]) else {
        println!("skipped: no loop device can be had");
        return;
    };
    let opened = Store::open(Path::new(&device));
    losetup(&["--detach", &device]).unwrap();
    assert!(matches!(opened, Err(StoreError::Path { .. })));
    assert!(std::fs::read(&image).unwrap() == vec![0; 1 << 20], "the device was written to");
}

#[test]
fn a_process_killed_while_it_moved_its_log_into_the_file_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = Store::open(&path).unwrap();
    store.begin_run(&made::header("a", "sweep", 0), &[made::cell(0, 20)]).unwrap();
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    for number in 0..20 {
        store.finish_trial("a", &made::cell(0, 20).id, &made::trial(number, 0, 60)).unwrap();
    }
    let pages: u32 = writer.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let left = tempfile::tempdir().unwrap();
    let path_left = left.path().join("store.db");
    std::fs::copy(folder.path().join("store.db-wal"), left.path().join("store.db-wal")).unwrap();
    // The first page is moved first: it already has the later number of pages.
    let mut bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() < pages as usize * 4096);
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    std::fs::write(&path_left, bytes).unwrap();
    let found = Store::open(&path_left).unwrap();
    assert_eq!(found.load("a").unwrap(), store.load("a").unwrap());
}
