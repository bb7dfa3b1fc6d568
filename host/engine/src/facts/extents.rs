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

/// How the first `size` bytes of `file` are stored, after what is dirty has been written; `None` where the file system
/// tells neither extents nor holes, and for block devices. Where it tells only holes, all data counts as written.
#[must_use]
pub fn extents(file: &File, size: Bytes) -> Option<Extents> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    by_map(file, size.get()).or_else(|| by_seeking(file, size.get()))
}

fn by_map(file: &File, size: u64) -> Option<Extents> {
    let mut sum = Extents::default();
    let mut position = 0;
    'map: while position < size {
        let found = system_calls::extents(file, position, size).ok()?;
        if found.is_empty() {
            break;
        }
        let before = position;
        for extent in found {
            let end = extent.logical.saturating_add(extent.length).min(size);
            // The first extent may begin before what was asked for.
            let length = end.saturating_sub(extent.logical.max(position));
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
            position = position.max(end);
            if extent.flags & LAST != 0 {
                break 'map;
            }
        }
        if sum.count > EXTENTS_MAX || position == before {
            return None;
        }
    }
    sum.hole_bytes += size.saturating_sub(position);
    Some(sum)
}

fn by_seeking(file: &File, size: u64) -> Option<Extents> {
    let mut sum = Extents::default();
    let mut position = 0;
    while position < size && sum.count <= EXTENTS_MAX {
        let Some((start, end)) = system_calls::next_data(file, position).ok()? else { break };
        let (start, end) = (start.min(size), end.min(size));
        sum.hole_bytes += start - position;
        sum.written_bytes += end - start;
        sum.count += u64::from(end > start);
        position = end;
    }
    sum.hole_bytes += size.saturating_sub(position);
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
            let Some(sum) = extents(&sparse(directory), Bytes::mib(5)) else {
                println!("{directory}: this file system tells nothing");
                continue;
            };
            assert_eq!(sum.written_bytes + sum.unwritten_bytes + sum.hole_bytes, 5 << 20, "{directory}: {sum:?}");
            assert!(sum.written_bytes >= 2 << 20, "{directory}: {sum:?}");
        }
    }

    #[test]
    fn seeking_finds_the_same_holes() {
        let sum = by_seeking(&sparse("/dev/shm"), 5 << 20).unwrap();
        assert_eq!((sum.written_bytes, sum.hole_bytes, sum.count), (2 << 20, 3 << 20, 2));
    }

    #[test]
    fn a_preallocated_file_is_unwritten() {
        let file = tempfile::tempfile_in(".").unwrap();
        system_calls::allocate(&file, 4 << 20).unwrap();
        let Some(sum) = by_map(&file, 4 << 20) else {
            println!("skipped: this file system has no FIEMAP");
            return;
        };
        assert_eq!(sum.unwritten_bytes + sum.hole_bytes, 4 << 20);
        assert_eq!(sum.written_bytes, 0);
    }
}
