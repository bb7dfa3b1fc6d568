//! Trees of files for tests: made, altered, and compared with everything that belongs to them.

use loadline_shelter_repository::{LocalStorage, Repository, RepositoryStorage, ScryptCost, Timestamp};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const PASSWORD: &str = "secret";
pub(crate) const CHEAP: ScryptCost = ScryptCost { log_n: 10, r: 8, p: 1 };
pub(crate) const NOW: Timestamp = Timestamp { seconds: 1_795_702_500, nanoseconds: 0 };

/// A new repository in a folder.
pub(crate) fn repository(folder: &Path) -> Repository {
    Repository::create(storage(folder), PASSWORD.as_bytes(), CHEAP, NOW).unwrap()
}

pub(crate) fn storage(folder: &Path) -> Arc<dyn RepositoryStorage> {
    Arc::new(LocalStorage::new(folder))
}

/// Bytes that look random and are the same each time.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = vec![0; length];
    for part in bytes.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        part.copy_from_slice(&state.to_le_bytes()[..part.len()]);
    }
    bytes
}

/// A folder with every kind of entry.
pub(crate) fn every_kind(root: &Path) {
    fs::create_dir_all(root.join("deep/deeper")).unwrap();
    fs::create_dir(root.join("empty folder")).unwrap();
    fs::write(root.join("empty"), b"").unwrap();
    fs::write(root.join("text"), b"hello\n").unwrap();
    fs::write(root.join("deep/noise"), noise(1, 3_000_000)).unwrap();
    fs::write(root.join("deep/deeper/even"), vec![b'x'; 2_500_000]).unwrap();
    fs::write(root.join(OsString::from_vec(b"odd \"\\<&>\n\xff\x01 name".to_vec())), b"odd").unwrap();
    fs::write(root.join("names \u{e4}\u{1F600}"), b"unicode").unwrap();
    for number in 0..40 {
        fs::write(root.join(format!("deep/small {number:02}")), noise(number + 10, 700)).unwrap();
    }
    fs::hard_link(root.join("text"), root.join("deep/second name")).unwrap();
    std::os::unix::fs::symlink("../text", root.join("deep/link")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o640),
        0,
    )
    .unwrap();
    let set = |path: &str, mode| fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    set("text", 0o4755);
    set("deep/deeper", 0o1777);
    set("deep/noise", 0o600);
    let flags = rustix::fs::XattrFlags::empty();
    // Not every file system has attributes; then there are none to compare.
    let _ = rustix::fs::setxattr(root.join("text"), "user.origin", b"a\0b", flags);
    let _ = rustix::fs::setxattr(root.join("deep"), "user.folder", b"", flags);
    let times = rustix::fs::Timestamps {
        last_access: rustix::fs::Timespec { tv_sec: 1_000_000_000, tv_nsec: 5 },
        last_modification: rustix::fs::Timespec { tv_sec: 1_000_000_000, tv_nsec: 123_456_789 },
    };
    for path in ["dangling", "deep/noise", "deep/deeper", "text"] {
        rustix::fs::utimensat(rustix::fs::CWD, root.join(path), &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
}

/// Everything about an entry that a restore brings back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    kind: &'static str,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    links: u64,
    contents: Vec<u8>,
    attributes: Vec<(String, Vec<u8>)>,
}

/// All entries of a folder, by their paths below it.
pub(crate) fn seen(root: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut all = BTreeMap::new();
    look(root, Path::new(""), &mut all);
    all
}

fn look(root: &Path, path: &Path, all: &mut BTreeMap<PathBuf, Seen>) {
    let full = root.join(path);
    let metadata = fs::symlink_metadata(&full).unwrap();
    let kind = metadata.file_type();
    let (kind, contents) = if kind.is_dir() {
        for entry in fs::read_dir(&full).unwrap() {
            look(root, &path.join(entry.unwrap().file_name()), all);
        }
        ("folder", Vec::new())
    } else if kind.is_symlink() {
        ("link", fs::read_link(&full).unwrap().into_os_string().into_vec())
    } else if kind.is_fifo() {
        ("pipe", Vec::new())
    } else {
        ("file", fs::read(&full).unwrap())
    };
    let mut names = vec![0; 4096];
    let length = rustix::fs::llistxattr(&full, names.as_mut_slice()).unwrap_or(0);
    let attributes = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(|name| {
        let mut value = vec![0; 4096];
        let length = rustix::fs::lgetxattr(&full, name, value.as_mut_slice()).unwrap();
        value.truncate(length);
        (String::from_utf8(name.to_vec()).unwrap(), value)
    });
    let entry = Seen {
        kind,
        mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        links: if metadata.is_dir() { 0 } else { metadata.nlink() },
        contents,
        attributes: attributes.collect(),
    };
    all.insert(path.to_owned(), entry);
}

/// Two folders have the same entries, each the same in everything.
#[track_caller]
pub(crate) fn assert_same(left: &Path, right: &Path) {
    let (left, right) = (seen(left), seen(right));
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (path, entry) in &left {
        let other = &right[path];
        let same = entry == other;
        assert!(same, "{}: {:.300} against {:.300}", path.display(), format!("{entry:?}"), format!("{other:?}"));
    }
}
