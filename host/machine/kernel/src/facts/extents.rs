//! What of a file is really stored.

use crate::system_calls;
use loadline_record::Extents;
use loadline_units::Bytes;
use std::fs::File;

/// Extents counted before giving up: so fragmented a file says more by its slowness than by its map.
const EXTENTS_MAX: u64 = 4_000_000;

// FIEMAP_EXTENT_* of linux/fiemap.h.
const LAST: u32 = 0x1;
const ENCODED: u32 = 0x8;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;

/// How `file` is stored from `start` to `end`, after what is dirty has been written; `None` where the file system
/// tells neither extents nor holes, and for block devices. Where it tells only holes, all data counts as written.
#[must_use]
pub fn extents(file: &File, start: Bytes, end: Bytes) -> Option<Extents> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let (start, end) = (start.get(), end.get());
    by_map(file, start, end).or_else(|| by_seeking(file, start, end))
}

fn by_map(file: &File, start: u64, end: u64) -> Option<Extents> {
    let mut sum = Extents::default();
    let mut position = start;
    'map: while position < end {
        let found = system_calls::extents(file, position, end).ok()?;
        if found.is_empty() {
            break;
        }
        let before = position;
        for extent in found {
            let to = extent.logical.saturating_add(extent.length).min(end);
            // The first extent may begin before what was asked for.
            let length = to.saturating_sub(extent.logical.max(position));
            sum.hole_bytes += extent.logical.saturating_sub(position);
            if extent.flags & UNWRITTEN == 0 {
                sum.written_bytes += length;
            } else {
                sum.unwritten_bytes += length;
            }
            if extent.flags & ENCODED != 0 {
                sum.encoded_bytes += length;
            }
            if extent.flags & SHARED != 0 {
                sum.shared_bytes += length;
            }
            sum.count += 1;
            position = position.max(to);
            if extent.flags & LAST != 0 {
                break 'map;
            }
        }
        if sum.count > EXTENTS_MAX || position == before {
            return None;
        }
    }
    sum.hole_bytes += end.saturating_sub(position);
    Some(sum)
}

fn by_seeking(file: &File, start: u64, end: u64) -> Option<Extents> {
    let mut sum = Extents::default();
    let mut position = start;
    while position < end && sum.count <= EXTENTS_MAX {
        let Some((from, to)) = system_calls::next_data(file, position).ok()? else { break };
        let (from, to) = (from.min(end), to.min(end));
        sum.hole_bytes += from - position;
        sum.written_bytes += to - from;
        sum.count += u64::from(to > from);
        position = to;
    }
    sum.hole_bytes += end.saturating_sub(position);
    (sum.count <= EXTENTS_MAX).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    /// A MiB of data, two of hole, one of data, and one of hole at the end.
    fn sparse(directory: &str) -> File {
        let file = tempfile::tempfile_in(directory).unwrap();
        file.set_len(5 << 20).unwrap();
        file.write_all_at(&vec![7; 1 << 20], 0).unwrap();
        file.write_all_at(&vec![7; 1 << 20], 3 << 20).unwrap();
        file
    }

    #[test]
    fn every_byte_is_counted_once() {
        for directory in ["/dev/shm", "/tmp", "."] {
            let Some(sum) = extents(&sparse(directory), Bytes::ZERO, Bytes::mib(5)) else {
                println!("{directory}: this file system tells nothing");
                continue;
            };
            assert_eq!(sum.written_bytes + sum.unwritten_bytes + sum.hole_bytes, 5 << 20, "{directory}: {sum:?}");
            assert!(sum.written_bytes >= 2 << 20, "{directory}: {sum:?}");
        }
    }

    #[test]
    fn seeking_finds_the_same_holes() {
        let sum = by_seeking(&sparse("/dev/shm"), 0, 5 << 20).unwrap();
        assert_eq!((sum.written_bytes, sum.hole_bytes, sum.count), (2 << 20, 3 << 20, 2));
    }

    #[test]
    fn what_stands_before_the_start_is_not_looked_at() {
        for directory in ["/dev/shm", "/tmp", "."] {
            // The second half of the hole, and half of the data behind it.
            let Some(sum) = extents(&sparse(directory), Bytes::mib(2), Bytes::kib(3584)) else {
                println!("{directory}: this file system tells nothing");
                continue;
            };
            assert_eq!(sum.written_bytes + sum.unwritten_bytes + sum.hole_bytes, 1536 << 10, "{directory}: {sum:?}");
            assert!(sum.written_bytes >= 512 << 10, "{directory}: {sum:?}");
        }
        let sum = by_seeking(&sparse("/dev/shm"), 2 << 20, 3584 << 10).unwrap();
        assert_eq!((sum.written_bytes, sum.hole_bytes, sum.count), (512 << 10, 1 << 20, 1));
    }

    #[test]
    fn a_preallocated_file_is_unwritten() {
        let file = tempfile::tempfile_in(".").unwrap();
        system_calls::allocate(&file, 4 << 20).unwrap();
        let Some(sum) = by_map(&file, 0, 4 << 20) else {
            println!("skipped: this file system has no FIEMAP");
            return;
        };
        assert_eq!(sum.unwritten_bytes + sum.hole_bytes, 4 << 20);
        assert_eq!(sum.written_bytes, 0);
    }
}
