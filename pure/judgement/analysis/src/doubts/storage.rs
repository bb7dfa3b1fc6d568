//! Whether the bytes came from, and went to, the storage at all: caches, unwritten extents, compression.

use super::devices::{Asked, Seen, asked_and_moved, shortage};
use loadline_block::Operation;
use loadline_record::{
    ArrivalKind, Compression, DoubtEvidence, Extents, FileSystemFacts, LoadFigures, MEMORY_FILE_SYSTEMS, MemoryBacked,
    TargetKind, VolumeFacts, WroteLess,
};

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
pub(super) fn cached_reads(asked: &Asked<'_>) -> Option<DoubtEvidence> {
    if asked.volume.kind == TargetKind::Null || asked.reads.requests == 0 {
        return None;
    }
    if let Some(kind) = memory_file_system(asked.volume) {
        return Some(DoubtEvidence::FileInMemory { file_system: kind.to_owned() });
    }
    if let Some(seen) = asked.seen.as_ref().filter(|s| s.names.iter().all(|n| memory_device(n))) {
        return Some(DoubtEvidence::DevicesInMemory { devices: seen.names.clone() });
    }
    let residency = asked.trial.surroundings.residency.unwrap_or_default();
    let rise = residency.after - residency.before;
    let filled = DoubtEvidence::ResidencyRose {
        direct: asked.direct,
        before_share: residency.before,
        after_share: residency.after,
    };
    if asked.direct {
        let missing = shortage(asked, asked.reads, |s| s.reads).unwrap_or(0.0);
        let explained = unwritten_share(asked).unwrap_or(0.0) + encoded_share(asked.volume);
        let explained = if trims_holes(asked) { 1.0 } else { explained };
        if missing > CACHED_SHARE + explained && asked.reads.bytes >= COMPARED_MIN_BYTES {
            return asked.seen.as_ref().map(|seen| read_less(asked, seen));
        }
        return (rise > RESIDENCY_MIN).then_some(filled);
    }
    if let Some(seen) = &asked.seen {
        let missing = 1.0 - seen.reads.bytes / asked.reads.bytes.max(1.0);
        if missing > CACHED_SHARE && asked.reads.bytes >= COMPARED_MIN_BYTES {
            return Some(read_less(asked, seen));
        }
    }
    if residency.before > RESIDENCY_MIN {
        return Some(DoubtEvidence::Resident { share: residency.before });
    }
    // With counters, a rise is what was read from the device once; without, nothing shows that it was not read twice.
    (asked.seen.is_none() && rise > RESIDENCY_MIN).then_some(filled)
}

fn read_less(asked: &Asked<'_>, seen: &Seen) -> DoubtEvidence {
    DoubtEvidence::MovedLess { devices: seen.names.clone(), bytes: asked_and_moved(asked.reads, seen.reads) }
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
pub(super) fn unwritten_extents(asked: &Asked<'_>) -> Option<DoubtEvidence> {
    let missing_much = |missing: &f64| *missing > CACHED_SHARE && asked.reads.bytes >= COMPARED_MIN_BYTES;
    if trims_holes(asked)
        && let Some(seen) = &asked.seen
        && shortage(asked, asked.reads, |s| s.reads).is_some_and(|missing| missing_much(&missing))
    {
        return Some(read_less(asked, seen));
    }
    let extents = asked.volume.extents.filter(|_| asked.volume.kind != TargetKind::Null)?;
    let Some(share) = unwritten_share(asked).filter(|s| *s > UNWRITTEN_SHARE) else {
        return first_writes(asked, extents);
    };
    let missing = shortage(asked, asked.reads, |s| s.reads);
    let refuted = missing.is_some_and(|missing| missing < share / 2.0);
    (!refuted).then_some(DoubtEvidence::NeverWritten {
        operation: Operation::Read,
        share,
        bytes: extents.unwritten_bytes + extents.hole_bytes,
    })
}

/// Devices that keep what is read and written in this machine's memory: direct I/O ends above it.
pub(super) fn cached_below(asked: &Asked<'_>) -> Option<DoubtEvidence> {
    let in_memory = |kind: &&String| MEMORY_FILE_SYSTEMS.contains(&kind.as_str());
    let devices = asked.volume.devices.iter().filter_map(|device| {
        let file = device.backing_file.clone()?;
        let file_system = device.backing_file_system.as_ref().filter(in_memory).cloned();
        let keeps_it = file_system.is_some() || device.backing_direct == Some(false);
        keeps_it.then(|| MemoryBacked { device: device.name.clone(), file, file_system })
    });
    let devices: Vec<MemoryBacked> = devices.collect();
    let real = asked.volume.kind != TargetKind::Null;
    (real && !devices.is_empty()).then_some(DoubtEvidence::ContentsInMemory { devices })
}

/// Writes that were the first to their blocks: the file system notes of each that it is written now.
fn first_writes(asked: &Asked<'_>, extents: Extents) -> Option<DoubtEvidence> {
    let unwritten = (extents.unwritten_bytes + extents.hole_bytes) as f64;
    let all = unwritten + extents.written_bytes as f64;
    if asked.writes.bytes <= 0.0 || all <= 0.0 {
        return None;
    }
    // No more of them than there were blocks, and from the beginning no larger a share than the blocks'.
    let share = (unwritten / asked.writes.bytes).min(unwritten / all);
    (share > UNWRITTEN_SHARE).then_some(DoubtEvidence::NeverWritten {
        operation: Operation::Write,
        share: unwritten / all,
        bytes: unwritten as u64,
    })
}

/// The page cache took part.
pub(super) fn buffered(load: &LoadFigures, volume: &VolumeFacts) -> Option<DoubtEvidence> {
    if volume.kind == TargetKind::Null {
        return None;
    }
    if let Some(kind) = memory_file_system(volume) {
        return Some(DoubtEvidence::FileInMemory { file_system: kind.to_owned() });
    }
    if load.buffered {
        // How an application uses the page cache is part of what it does, and of its figures.
        return (load.arrival != ArrivalKind::Application).then_some(DoubtEvidence::PageCacheAsked);
    }
    (!volume.direct).then(|| DoubtEvidence::DirectNotPossible { error: volume.direct_reason.clone() })
}

fn encoded_share(volume: &VolumeFacts) -> f64 {
    volume.extents.map_or(0.0, |e| {
        let all = (e.written_bytes + e.unwritten_bytes + e.hole_bytes) as f64;
        if all > 0.0 { e.encoded_bytes as f64 / all } else { 0.0 }
    })
}

/// Why the file system is taken to compress.
fn compression(fs: &FileSystemFacts) -> Option<Compression> {
    let asks = |option: &&str| {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        (key == "compress" || key == "compress-force" || key == "compression")
            && !matches!(value, "no" | "none" | "off")
    };
    let option = fs.options.split(',').find(asks).filter(|_| fs.kind != "zfs").map(str::to_owned);
    let compresses = fs.kind == "zfs" || option.is_some();
    compresses.then(|| Compression { file_system: fs.kind.clone(), option })
}

/// The file system may store less than was written.
pub(super) fn compressed_or_sparse(asked: &Asked<'_>) -> Option<DoubtEvidence> {
    if asked.volume.kind == TargetKind::Null {
        return None;
    }
    let compression = asked.volume.file_system.as_ref().and_then(compression);
    let encoded_share = Some(encoded_share(asked.volume)).filter(|share| *share > ENCODED_SHARE);
    let missing = shortage(asked, asked.writes, |s| s.writes).unwrap_or(0.0);
    let seen = asked.seen.as_ref().filter(|_| missing > SPARSE_SHARE && asked.writes.bytes >= COMPARED_MIN_BYTES);
    let wrote_less =
        seen.map(|seen| WroteLess { devices: seen.names.clone(), bytes: asked_and_moved(asked.writes, seen.writes) });
    let is_any = compression.is_some() || encoded_share.is_some() || wrote_less.is_some();
    is_any.then_some(DoubtEvidence::StoredLess { compression, encoded_share, wrote_less })
}
