//! How much of a file lies in the page cache, and how to get it out.

use crate::system_calls;
use loadline_units::Bytes;
use std::fmt::Write as _;
use std::fs::{self, File};

/// The largest file whose residency is found by mapping it, where the kernel lacks `cachestat`; larger ones take too long.
const MAPPED_MAX: Bytes = Bytes::gib(64);

/// Which caches to drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheScope {
    /// Of these files only.
    Files,
    /// Of the whole machine as well, where this user may.
    Machine,
}

/// Share of the first `size` bytes of each file that lies in the page cache, over all of them (0.0 to 1.0); `None` where
/// the kernel does not tell.
#[must_use]
pub fn cached_share(files: &[File], size: Bytes) -> Option<f64> {
    if files.is_empty() || size == Bytes::ZERO {
        return None;
    }
    let page = system_calls::page_bytes();
    let mut cached = 0;
    for file in files {
        cached += match system_calls::cached_pages(file, size.get()) {
            Ok(pages) => pages,
            Err(_) if size <= MAPPED_MAX => system_calls::cached_pages_by_mapping(file, size.get()).ok()?,
            Err(_) => return None,
        };
    }
    Some((cached as f64 / (size.get().div_ceil(page) * files.len() as u64) as f64).min(1.0))
}

/// Writes back what is dirty and drops the cached pages of `files` (each `size` long); says in words what was achieved.
#[must_use]
pub fn drop_caches(files: &[File], size: Bytes, scope: CacheScope) -> String {
    let before = cached_share(files, size);
    let mut trouble = Vec::new();
    for file in files {
        if let Err(error) = file.sync_data() {
            trouble.push(format!("writing back failed: {error}"));
        }
        if let Err(error) = system_calls::drop_clean_pages(file) {
            trouble.push(format!("dropping the file's pages failed: {error}"));
        }
    }
    let mut achieved = match (before, cached_share(files, size)) {
        (Some(before), Some(after)) => {
            format!("in the page cache before {:.1} %, after {:.1} %", before * 100.0, after * 100.0)
        }
        _ => "the kernel does not tell what remains in the page cache".to_owned(),
    };
    if scope == CacheScope::Machine {
        trouble.push(drop_machine_caches());
    }
    trouble.dedup();
    for line in trouble {
        let _ = write!(achieved, "; {line}");
    }
    achieved
}

/// Drops the caches of the whole machine, where this user may; says in words whether they were.
#[must_use]
pub fn drop_machine_caches() -> String {
    // 3: page cache, and the directory entries and inodes that would save reading metadata.
    match fs::write("/proc/sys/vm/drop_caches", "3\n") {
        Ok(()) => "the machine's caches dropped".to_owned(),
        Err(error) => format!("the machine's caches stay ({error}): that takes root"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn dropping_empties_the_cache_of_a_file_on_disk() {
        let mut file = tempfile::tempfile_in(".").unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        let files = [file];
        let Some(before) = cached_share(&files, Bytes::MIB) else {
            println!("skipped: this kernel does not tell");
            return;
        };
        assert!((before - 1.0).abs() < f64::EPSILON, "just written: {before}");
        let words = drop_caches(&files, Bytes::MIB, CacheScope::Files);
        assert!(words.starts_with("in the page cache before 100.0 %"), "{words}");
        assert!(cached_share(&files, Bytes::MIB).unwrap() <= before);
    }

    #[test]
    fn nothing_is_no_share() {
        assert_eq!(cached_share(&[], Bytes::MIB), None);
    }
}
