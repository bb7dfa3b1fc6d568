//! What we write is checked and restored by restic, and what restic writes is restored by us.

use crate::trees::{PASSWORD, assert_same, every_kind, repository, storage};
use loadline_shelter_repository::{Chunking, Repository, RestoreRequest, SaveRequest, Unpaced};
use std::path::{Path, PathBuf};
use std::process::Command;

/// restic on a repository; `None` where it is not installed.
pub(crate) fn restic(repository: &Path, words: &[&str]) -> Option<String> {
    let program = std::env::var_os("LOADLINE_RESTIC").unwrap_or_else(|| "restic".into());
    let mut command = Command::new(program);
    command.arg("-r").arg(repository).args(["--no-cache", "-q"]).args(words).env("RESTIC_PASSWORD", PASSWORD);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: restic is not installed");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "restic {words:?}: {text}");
    Some(text)
}

/// restic finds nothing wrong with a repository.
pub(crate) fn assert_sound(repository: &Path) {
    restic(repository, &["check", "--read-data"]);
}

#[test]
fn restic_checks_and_restores_what_we_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (source, place) = (folder.path().join("source"), folder.path().join("repository"));
    every_kind(&source);
    let mut repository = repository(&place);
    for chunking in [Chunking::Fixed, Chunking::ContentDefined] {
        let request = SaveRequest { chunking, ..SaveRequest::new(vec![source.clone()], crate::trees::NOW) };
        let saved = repository.save(&request, &Unpaced).unwrap();
        assert!(saved.unreadable.is_empty() && saved.retained.is_empty(), "{saved:?}");
        let target = folder.path().join(format!("{chunking:?}"));
        let Some(_) = restic(&place, &["check", "--read-data"]) else { return };
        restic(&place, &["restore", &saved.snapshot.to_string(), "--target", target.to_str().unwrap()]);
        assert_same(&source, &target.join(source.strip_prefix("/").unwrap()));
        // Otherwise the second save would find nothing changed.
        std::fs::write(source.join("text"), b"changed\n").unwrap();
    }
}

#[test]
fn we_restore_what_restic_saved() {
    let folder = tempfile::tempdir().unwrap();
    let (source, place) = (folder.path().join("source"), folder.path().join("repository"));
    every_kind(&source);
    // Made by us: the keys that restic makes take a second each time.
    drop(repository(&place));
    if restic(&place, &["backup", source.to_str().unwrap()]).is_none() {
        return;
    }
    let mut repository = Repository::open(storage(&place), PASSWORD.as_bytes()).unwrap();
    let snapshots = repository.snapshots().unwrap();
    assert_eq!(snapshots.len(), 1);
    assert_eq!(snapshots[0].file.paths, [source.to_str().unwrap()]);
    let target = folder.path().join("target");
    let request = RestoreRequest::new(snapshots[0].id, source.clone(), target.clone());
    let restored = repository.restore(&request, &Unpaced).unwrap();
    assert!(restored.failed.is_empty(), "{restored:?}");
    assert_same(&source, &target);

    // The same contents are cut at the same places: nothing but trees is new.
    let request = SaveRequest {
        chunking: Chunking::ContentDefined,
        parent: Some(snapshots[0].id),
        ..SaveRequest::new(vec![PathBuf::from(&source)], crate::trees::NOW)
    };
    let before = data_blobs(&place);
    repository.save(&request, &Unpaced).unwrap();
    let fresh = SaveRequest { parent: None, ..request };
    Repository::open(storage(&place), PASSWORD.as_bytes()).unwrap().save(&fresh, &Unpaced).unwrap();
    assert_eq!(data_blobs(&place), before);
    assert_sound(&place);
}

/// How many blobs of files restic counts.
fn data_blobs(place: &Path) -> usize {
    let blobs = restic(place, &["list", "blobs"]).unwrap();
    blobs.lines().filter(|line| line.starts_with("data")).collect::<std::collections::BTreeSet<_>>().len()
}
