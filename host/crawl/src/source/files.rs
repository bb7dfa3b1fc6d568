//! Files below a folder: a walk that adds them, and slots that read them.

use super::{Feeding, FetchAnswer, FetchPhase, FetchTimer, Fetcher, kind_of_name};
use crate::error::CrawlError;
use crate::frontier::NewTarget;
use crate::item::{CrawlTarget, Identity, ItemFailure, io_reason};
use loadline_pipeline::CrawlCaps;
use loadline_record::WorkerState;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Folders below one another at most.
const DEPTH_MAX: usize = 64;

/// Adds every file below `folder`, but what lies in `own`, on another file system, or behind a symbolic link.
pub(crate) fn walk(
    folder: &Path,
    own: &[PathBuf],
    feeding: &mut Feeding<'_>,
    stop: &AtomicBool,
) -> Result<(), CrawlError> {
    let facts = std::fs::metadata(folder).map_err(CrawlError::folder("read", folder))?;
    if !facts.is_dir() {
        return add(folder, feeding);
    }
    let mut open: Vec<(PathBuf, usize)> = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Ok(entries) = std::fs::read_dir(&folder) else {
            feeding.note("a folder cannot be read");
            continue;
        };
        // In order of their names: two crawls of one folder meet its files in one order.
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        let mut below = Vec::new();
        for entry in entries {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                feeding.note("an entry was gone before it was looked at");
                continue;
            };
            if kind.is_symlink() {
                feeding.note("symbolic links are not followed");
            } else if kind.is_dir() {
                let is_own = own.iter().any(|own| own == &path);
                let is_here = entry.metadata().is_ok_and(|below| below.dev() == facts.dev());
                if is_own {
                    feeding.note("the crawl's own folder is left out");
                } else if !is_here {
                    feeding.note("another file system is left out");
                } else if depth >= DEPTH_MAX {
                    feeding.note("folders too deep are left out");
                } else {
                    below.push((path, depth + 1));
                }
            } else if kind.is_file() {
                add(&path, feeding)?;
            } else {
                feeding.note("sockets, pipes and devices are left out");
            }
        }
        open.extend(below.into_iter().rev());
    }
    Ok(())
}

fn add(path: &Path, feeding: &mut Feeding<'_>) -> Result<(), CrawlError> {
    if let Some(key) = path.to_str() {
        return feeding.add(NewTarget { key: key.to_owned(), ..NewTarget::default() });
    }
    feeding.note("names that are no text are left out");
    Ok(())
}

/// Reads files.
#[derive(Debug)]
pub(crate) struct FileFetcher {
    pub(crate) caps: CrawlCaps,
}

impl Fetcher for FileFetcher {
    fn fetch(&mut self, target: &CrawlTarget, timer: &mut FetchTimer<'_>) -> Result<FetchAnswer, ItemFailure> {
        let read = read(target, &self.caps);
        timer.received = match &read {
            Ok(FetchAnswer::Content { body, .. }) => body.len() as u64,
            _ => 0,
        };
        timer.ends(FetchPhase::FirstByte(WorkerState::Device));
        read
    }
}

fn read(target: &CrawlTarget, caps: &CrawlCaps) -> Result<FetchAnswer, ItemFailure> {
    let file = File::open(&target.key).map_err(|error| ItemFailure::of(io_reason("open", &error)))?;
    let facts = file.metadata().map_err(|error| ItemFailure::of(io_reason("open", &error)))?;
    let mut identity = identity(&facts);
    if let Some(known) = &target.known {
        identity.hash = known.hash;
        if same_file(known, &identity) {
            return Ok(FetchAnswer::Unchanged(identity));
        }
    }
    identity.hash = None;
    if facts.len() > caps.bytes.get() {
        return Err(ItemFailure::of("larger than caps.bytes"));
    }
    loadline_kernel::system_calls::leave_access_time(&file);
    let mut body = Vec::with_capacity(facts.len() as usize + 1);
    // A file that grows meanwhile is cut at the cap.
    file.take(caps.bytes.get() + 1)
        .read_to_end(&mut body)
        .map_err(|error| ItemFailure::of(io_reason("read", &error)))?;
    if body.len() as u64 > caps.bytes.get() {
        return Err(ItemFailure::of("larger than caps.bytes"));
    }
    Ok(FetchAnswer::Content {
        is_compressed: body.starts_with(b"\x1f\x8b"),
        kind: kind_of_name(&target.key),
        charset: None,
        base: None,
        body,
        identity,
    })
}

fn identity(facts: &Metadata) -> Identity {
    let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
    Identity {
        size: facts.len(),
        mtime_ns: ns(facts.mtime(), facts.mtime_nsec()),
        ctime_ns: ns(facts.ctime(), facts.ctime_nsec()),
        device: facts.dev(),
        inode: facts.ino(),
        ..Identity::default()
    }
}

/// Whether a file is as it was. The inode's own time also changes where somebody set back the other.
fn same_file(before: &Identity, now: &Identity) -> bool {
    let of =
        |identity: &Identity| (identity.size, identity.mtime_ns, identity.ctime_ns, identity.device, identity.inode);
    of(before) == of(now)
}
