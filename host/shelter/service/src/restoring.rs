//! Restores a generation onto an empty disk, or goes on with a restore that was interrupted.

use crate::error::ShelterError;
use crate::plain_copy::{PlainCopy, order_of};
use crate::saving::group_of;
use crate::tree_files::TreeRoot;
use loadline_kernel::system_calls::write_back_file_system;
use loadline_shelter_policy::config::{DataClass, Group};
use loadline_shelter_policy::manifest::Manifest;
use loadline_shelter_policy::tree::{EntryKind, TreeEntry, TreePath};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Files that are restored at once.
const THREADS: usize = 8;
const PIECE: usize = 1 << 20;

/// What a restore did.
#[derive(Debug, Clone, Default)]
pub struct RestoreReport {
    /// The generation.
    pub generation: u64,
    /// Files written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that an interrupted restore had written already.
    pub already: u64,
    /// Entries that the generation does not have, and that were removed.
    pub removed: u64,
    /// Entries that could not be restored: why.
    pub damaged: BTreeMap<TreePath, String>,
    /// How long it took.
    pub took: Duration,
}

/// Whether the disk may already have something of the generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onto {
    /// It is empty.
    Empty,
    /// A restore was interrupted: what is whole stays, what is not in the generation goes.
    Interrupted,
}

/// How far a restore is.
#[derive(Debug, Default)]
pub(crate) struct RestoreProgress {
    pub(crate) bytes: AtomicU64,
    pub(crate) ends: AtomicBool,
}

/// Restores a generation below `root`. `groups` says in which order.
pub(crate) fn restore(
    root: &TreeRoot,
    copy: &PlainCopy,
    manifest: &Manifest,
    groups: &[Group],
    onto: Onto,
    progress: &RestoreProgress,
) -> Result<RestoreReport, ShelterError> {
    let begun = Instant::now();
    let report = Mutex::new(RestoreReport { generation: manifest.head.generation, ..RestoreReport::default() });
    let at = |path: &TreePath| root.path().join(path.as_text());
    if onto == Onto::Interrupted {
        let removed = remove_others(root, manifest, groups)?;
        report.lock().removed = removed;
    }
    for entry in manifest.entries.values().filter(|entry| entry.kind == EntryKind::Folder) {
        root.make_folder(&entry.path).map_err(ShelterError::io("make the folder", at(&entry.path)))?;
    }
    let mut files: Vec<&TreeEntry> = manifest.entries.values().filter(|e| e.kind != EntryKind::Folder).collect();
    files.sort_by_key(|entry| order_of(groups, &entry.path));
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..THREADS.min(files.len()) {
            scope.spawn(|| {
                while let Some(entry) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if progress.ends.load(Ordering::Relaxed) {
                        break;
                    }
                    let done = restore_entry(root, copy, manifest.head.generation, entry, onto, progress);
                    let mut report = report.lock();
                    match done {
                        Ok(Restored::Written(bytes)) => {
                            report.files += 1;
                            report.bytes += bytes;
                        }
                        Ok(Restored::Already) => report.already += 1,
                        Err(EntryTrouble::Source(reason)) => {
                            report.damaged.insert(entry.path.clone(), reason);
                        }
                        Err(EntryTrouble::Target(error)) => {
                            // The disk itself fails: nothing more can be done on it.
                            let mut first = failure.lock();
                            first.get_or_insert(ShelterError::io("write", at(&entry.path))(error));
                            progress.ends.store(true, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    if progress.ends.load(Ordering::Relaxed) {
        return Err(ShelterError::Ended);
    }
    let mut report = report.into_inner();
    // From the inside out: what is made in a folder changes that folder's time.
    for entry in manifest.entries.values().rev().filter(|entry| !report.damaged.contains_key(&entry.path)) {
        root.dress(entry).map_err(ShelterError::io("set owner, mode and attributes of", at(&entry.path)))?;
    }
    let handle = root.handle().map_err(ShelterError::io("open", root.path()))?;
    write_back_file_system(&handle).map_err(ShelterError::io("write back", root.path()))?;
    report.took = begun.elapsed();
    Ok(report)
}

enum Restored {
    Written(u64),
    Already,
}

enum EntryTrouble {
    /// What was saved is gone or wrong: this entry is lost, others are not.
    Source(String),
    /// The disk refuses.
    Target(io::Error),
}

fn restore_entry(
    root: &TreeRoot,
    copy: &PlainCopy,
    generation: u64,
    entry: &TreeEntry,
    onto: Onto,
    progress: &RestoreProgress,
) -> Result<Restored, EntryTrouble> {
    let EntryKind::File { size, hash } = &entry.kind else {
        return root.make_special(entry).map(|()| Restored::Written(0)).map_err(EntryTrouble::Target);
    };
    if onto == Onto::Interrupted && is_whole(root, &entry.path, *size, hash).map_err(EntryTrouble::Target)? {
        progress.bytes.fetch_add(*size, Ordering::Relaxed);
        return Ok(Restored::Already);
    }
    let source = copy.contents(generation, &entry.path).map_err(|error| EntryTrouble::Source(error.to_string()))?;
    let mut target = root.create_file(&entry.path).map_err(EntryTrouble::Target)?;
    let (found_size, found) = match hash_of(&source, |piece| {
        target.write_all(piece)?;
        progress.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(())
    }) {
        Ok(found) => found,
        Err(HashTrouble::Read(error)) => {
            root.remove(&entry.path).map_err(EntryTrouble::Target)?;
            return Err(EntryTrouble::Source(error.to_string()));
        }
        Err(HashTrouble::Sink(error)) => return Err(EntryTrouble::Target(error)),
    };
    if (found_size, &found) != (*size, hash) {
        root.remove(&entry.path).map_err(EntryTrouble::Target)?;
        return Err(EntryTrouble::Source("its saved contents are not those that were saved".to_owned()));
    }
    Ok(Restored::Written(*size))
}

/// Whether a file has these contents.
pub(crate) fn is_whole(root: &TreeRoot, path: &TreePath, size: u64, hash: &str) -> io::Result<bool> {
    let seen = match root.look(path) {
        Ok(Some(seen)) => seen,
        Ok(None) => return Ok(false),
        Err(error) => return Err(error),
    };
    if !matches!(seen.entry.kind, EntryKind::File { size: found, .. } if found == size) {
        return Ok(false);
    }
    match hash_of(&root.open_file(path)?, |_| Ok(())) {
        Ok((found_size, found)) => Ok(found_size == size && found == hash),
        Err(HashTrouble::Read(error) | HashTrouble::Sink(error)) => Err(error),
    }
}

pub(crate) enum HashTrouble {
    Read(io::Error),
    Sink(io::Error),
}

/// Reads a file to its end: its size and hash. Each piece is handed on.
pub(crate) fn hash_of(
    mut file: &File,
    mut sink: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(u64, String), HashTrouble> {
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0_u8; PIECE];
    let mut size = 0;
    loop {
        let length = match file.read(&mut piece) {
            Ok(0) => return Ok((size, hasher.finalize().to_hex().to_string())),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(HashTrouble::Read(error)),
        };
        hasher.update(&piece[..length]);
        sink(&piece[..length]).map_err(HashTrouble::Sink)?;
        size += length as u64;
    }
}

/// Removes what an interrupted restore, or somebody after it, put below the groups' paths and the generation does not have.
fn remove_others(root: &TreeRoot, manifest: &Manifest, groups: &[Group]) -> Result<u64, ShelterError> {
    let paths: Vec<String> = groups
        .iter()
        .filter(|group| group.class != DataClass::Recreate)
        .flat_map(|group| group.paths.clone())
        .collect();
    let walked = root.walk(&paths);
    let mut removed = 0;
    for path in walked.entries.keys().chain(walked.troubles.keys()) {
        if manifest.entries.contains_key(path) || group_of(groups, path).is_none() {
            continue;
        }
        root.remove(path).map_err(ShelterError::io("remove", root.path().join(path.as_text())))?;
        removed += 1;
    }
    Ok(removed)
}
