//! Whether the bytes came from, and went to, the storage at all: caches, unwritten extents, compression.

use super::devices::{Asked, Seen, of_asked, shortage};
use crate::words::{listed, percent, size};
use loadline_record::{Extents, FileSystemFacts, LoadFigures, MEMORY_FILE_SYSTEMS, TargetKind, VolumeFacts};

/// Devices may read this much less than was asked: counters are taken a moment before and after.
const CACHED_SHARE: f64 = 0.05;
/// Less than this asked is too little to compare with counters that others move too.
const COMPARED_MIN_BYTES: f64 = 1024.0 * 1024.0;
/// Page-cache residency, or its rise, from which on reads will have hit it.
const RESIDENCY_MIN: f64 = 0.05;
/// A share of unwritten space that begins to show in a rate.
const UNWRITTEN_SHARE: f64 = 0.01;
/// Devices may write this much less than was asked.
const SPARSE_SHARE: f64 = 0.05;
/// A share of encoded (compressed) extents that begins to show.
const ENCODED_SHARE: f64 = 0.01;
/// Block devices that are memory.
const MEMORY_DEVICES: [&str; 2] = ["ram", "zram"];

/// The type of the file system that has the volume's files in memory.
fn memory_file_system(volume: &VolumeFacts) -> Option<&str> {
    volume.file_system.as_ref().and_then(FileSystemFacts::in_memory)
}

fn memory_device(name: &str) -> bool {
    MEMORY_DEVICES
        .iter()
        .any(|kind| name.strip_prefix(kind).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())))
}

/// Reads that did not come from the storage.
pub(super) fn cached_reads(asked: &Asked<'_>) -> Option<String> {
    if asked.volume.kind == TargetKind::Null || asked.reads.requests == 0 {
        return None;
    }
    if let Some(kind) = memory_file_system(asked.volume) {
        return Some(format!("The file lies in a {kind}, which is memory: no disk took part."));
    }
    if let Some(seen) = asked.seen.as_ref().filter(|s| s.names.iter().all(|n| memory_device(n))) {
        return Some(format!("{} is memory: no disk took part.", seen.device()));
    }
    let residency = asked.trial.surroundings.residency.unwrap_or_default();
    let rise = residency.after - residency.before;
    if asked.direct {
        let missing = shortage(asked, asked.reads, |s| s.reads).unwrap_or(0.0);
        let explained = unwritten_share(asked).unwrap_or(0.0) + encoded_share(asked.volume);
        let explained = if trims_holes(asked) { 1.0 } else { explained };
        if missing > CACHED_SHARE + explained && asked.reads.bytes >= COMPARED_MIN_BYTES {
            return asked.seen.as_ref().map(|seen| read_less(asked, seen));
        }
        return (rise > RESIDENCY_MIN).then(|| {
            format!(
                "Direct I/O was asked for, and yet the file's share in the page cache rose from {} to {}.",
                percent(residency.before),
                percent(residency.after)
            )
        });
    }
    if let Some(seen) = &asked.seen {
        let missing = 1.0 - seen.reads.bytes / asked.reads.bytes.max(1.0);
        if missing > CACHED_SHARE && asked.reads.bytes >= COMPARED_MIN_BYTES {
            return Some(read_less(asked, seen));
        }
    }
    if residency.before > RESIDENCY_MIN {
        return Some(format!("{} of the file lay in the page cache before the trial.", percent(residency.before)));
    }
    // With counters, a rise is what was read from the device once; without, nothing shows that it was not read twice.
    (asked.seen.is_none() && rise > RESIDENCY_MIN).then(|| {
        format!(
            "The file's share in the page cache rose from {} to {}, and nothing shows how much came from it.",
            percent(residency.before),
            percent(residency.after)
        )
    })
}

fn read_less(asked: &Asked<'_>, seen: &Seen) -> String {
    format!("Of {} were read {}: the rest came from memory.", seen.device(), of_asked(asked.reads, seen.reads))
}

/// The share of the target that was never written, when that is known and read.
fn unwritten_share(asked: &Asked<'_>) -> Option<f64> {
    let extents = asked.volume.extents.filter(|_| asked.reads.requests > 0)?;
    let unwritten = (extents.unwritten_bytes + extents.hole_bytes) as f64;
    let all = unwritten + extents.written_bytes as f64;
    (all > 0.0).then(|| unwritten / all)
}

/// Whether the load's own trims make holes in a file that it reads: how much of what it reads falls into them cannot be told.
fn trims_holes(asked: &Asked<'_>) -> bool {
    asked.trims.requests > 0 && asked.on_file_system()
}

/// Reads of what was never written. Devices that read all that was asked refute it: the file was filled meanwhile.
pub(super) fn unwritten_extents(asked: &Asked<'_>) -> Option<String> {
    let missing_much = |missing: &f64| *missing > CACHED_SHARE && asked.reads.bytes >= COMPARED_MIN_BYTES;
    if trims_holes(asked)
        && let Some(seen) = &asked.seen
        && shortage(asked, asked.reads, |s| s.reads).is_some_and(|missing| missing_much(&missing))
    {
        return Some(format!(
            "The load's own trims make holes in the file, which need no disk to be read: of {} were read {}.",
            seen.device(),
            of_asked(asked.reads, seen.reads)
        ));
    }
    let extents = asked.volume.extents.filter(|_| asked.volume.kind != TargetKind::Null)?;
    let Some(share) = unwritten_share(asked).filter(|s| *s > UNWRITTEN_SHARE) else {
        return first_writes(asked, extents);
    };
    let missing = shortage(asked, asked.reads, |s| s.reads);
    let refuted = missing.is_some_and(|missing| missing < share / 2.0);
    (!refuted).then(|| {
        format!(
            "{} of the file ({}) was never written when the load began: such reads need no disk.",
            percent(share),
            size(extents.unwritten_bytes + extents.hole_bytes)
        )
    })
}

/// Devices that keep what is read and written in this machine's memory: direct I/O ends above it.
pub(super) fn cached_below(asked: &Asked<'_>) -> Option<String> {
    let facts = asked.volume.devices.iter().filter(|device| device.backing_file.is_some());
    let told: Vec<String> = facts
        .filter_map(|device| {
            let file = device.backing_file.as_deref().unwrap_or_default();
            let memory = device.backing_file_system.as_deref().filter(|kind| MEMORY_FILE_SYSTEMS.contains(kind));
            match (memory, device.backing_direct) {
                (Some(kind), _) => Some(format!("{} is the file {file} in a {kind}, which is memory", device.name)),
                (None, Some(false)) => Some(format!("{} goes through the page cache to its file {file}", device.name)),
                (None, _) => None,
            }
        })
        .collect();
    let real = asked.volume.kind != TargetKind::Null;
    (real && !told.is_empty()).then(|| {
        format!("Direct I/O ends above: {}. What was read and written need not have reached a disk.", listed(&told))
    })
}

/// Writes that were the first to their blocks: the file system notes of each that it is written now.
fn first_writes(asked: &Asked<'_>, extents: Extents) -> Option<String> {
    let unwritten = (extents.unwritten_bytes + extents.hole_bytes) as f64;
    let all = unwritten + extents.written_bytes as f64;
    if asked.writes.bytes <= 0.0 || all <= 0.0 {
        return None;
    }
    // No more of them than there were blocks, and from the beginning no larger a share than the blocks'.
    let share = (unwritten / asked.writes.bytes).min(unwritten / all);
    (share > UNWRITTEN_SHARE).then(|| {
        format!(
            "{} of the file ({}) was never written when the load began: the first write of a block is also work for the \
             file system, which writes over written blocks are not.",
            percent(unwritten / all),
            size(unwritten as u64)
        )
    })
}

/// The page cache took part.
pub(super) fn buffered(load: &LoadFigures, volume: &VolumeFacts) -> Option<String> {
    if volume.kind == TargetKind::Null {
        return None;
    }
    if let Some(kind) = memory_file_system(volume) {
        return Some(format!("A {kind} is itself the page cache: what was measured is memory."));
    }
    if load.buffered {
        return Some("The load asked for the page cache: rates are those of memory until it is full.".to_owned());
    }
    let why = volume.direct_reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
    (!volume.direct).then(|| format!("Direct I/O was not possible{why}, so the page cache took part."))
}

fn encoded_share(volume: &VolumeFacts) -> f64 {
    volume.extents.map_or(0.0, |e| {
        let all = (e.written_bytes + e.unwritten_bytes + e.hole_bytes) as f64;
        if all > 0.0 { e.encoded_bytes as f64 / all } else { 0.0 }
    })
}

/// A mount option that turns compression on, as it stands.
fn compression(fs: &FileSystemFacts) -> Option<&str> {
    fs.options.split(',').find(|option| {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        (key == "compress" || key == "compress-force" || key == "compression")
            && !matches!(value, "no" | "none" | "off")
    })
}

/// The file system may store less than was written.
pub(super) fn compressed_or_sparse(asked: &Asked<'_>) -> Option<String> {
    if asked.volume.kind == TargetKind::Null {
        return None;
    }
    let mut found = Vec::new();
    if let Some(fs) = &asked.volume.file_system {
        if fs.kind == "zfs" {
            found.push("the file system is zfs, which may compress and leaves out zeros".to_owned());
        } else if let Some(option) = compression(fs) {
            found.push(format!("the {} is mounted with {option}", fs.kind));
        }
    }
    let encoded = encoded_share(asked.volume);
    if encoded > ENCODED_SHARE {
        found.push(format!("{} of the file is compressed or otherwise encoded", percent(encoded)));
    }
    let missing = shortage(asked, asked.writes, |s| s.writes).unwrap_or(0.0);
    if let Some(seen) =
        asked.seen.as_ref().filter(|_| missing > SPARSE_SHARE && asked.writes.bytes >= COMPARED_MIN_BYTES)
    {
        found.push(format!("to {} were written only {}", seen.device(), of_asked(asked.writes, seen.writes)));
    }
    (!found.is_empty()).then(|| format!("{}.", crate::words::sentence(&listed(&found))))
}
