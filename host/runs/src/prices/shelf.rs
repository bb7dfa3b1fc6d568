//! Where updated lists are kept: `prices/PROVIDER/REGION/KIND-DATE.toml` in the user's data folder, the last three of each kind; limits,
//! which hold in every region, in `prices/PROVIDER/all/`.
//!
//! A list is written beside its place, synced and renamed: its place has the old list or the new one at every moment. One update at a time
//! holds the lock.

use crate::store_location;
use loadline_catalog::{Kind, PriceList};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Lists that are kept of each kind and region.
const KEPT: usize = 3;
const ON_ITS_WAY: &str = ".on-its-way";

/// Why updated lists cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// Another update is under way.
    #[error("another update is under way; wait for its end")]
    Locked,
    /// There is no updated list.
    #[error("no prices were updated yet: those that come along are the only ones")]
    Empty,
    /// Too many lists of one day.
    #[error("{} has the lists of 26 updates of this day already; undo some, or wait for tomorrow", .0.display())]
    Full(PathBuf),
    /// The system refuses.
    #[error("cannot {doing} {}", path.display())]
    System {
        /// What was tried: "write", "read".
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// See the head of this file.
#[derive(Debug, Clone)]
pub struct PriceShelf {
    folder: PathBuf,
}

/// A list as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredList {
    /// The provider.
    pub provider: String,
    /// The region.
    pub region: String,
    /// "machines" or "disks".
    pub kind: String,
    /// The day of the update, with a letter for later ones of a day.
    pub day: String,
    /// The file.
    pub path: PathBuf,
}

/// Where a list belongs.
#[derive(Debug)]
pub(crate) struct ShelfPlace<'a> {
    pub(crate) provider: &'a str,
    pub(crate) region: &'a str,
    pub(crate) kind: &'a str,
}

/// What holds in every region has this in place of one.
pub(crate) const EVERYWHERE: &str = "all";

impl<'a> ShelfPlace<'a> {
    pub(crate) fn of(list: &'a PriceList) -> Self {
        Self { provider: &list.provider, region: &list.region, kind: list.family() }
    }
}

impl PriceShelf {
    /// In the user's data folder.
    ///
    /// # Errors
    /// There is no home directory.
    pub fn at_default() -> Result<Self, crate::Error> {
        let runs = store_location::store_path(None)?;
        Ok(Self::at(&runs.with_file_name("prices")))
    }

    /// In this folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The lock of one update, held until it is dropped.
    pub(crate) fn lock(&self) -> Result<File, ShelfError> {
        make_folder(&self.folder)?;
        let path = self.folder.join(".lock");
        let failed = |source| ShelfError::System { doing: "lock", path: path.clone(), source };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(ShelfError::Locked),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Every list that is kept, sorted: of one kind and region the oldest first.
    ///
    /// # Errors
    /// A folder cannot be listed.
    pub fn lists(&self) -> Result<Vec<StoredList>, ShelfError> {
        let mut found = Vec::new();
        for (provider, folder) in folders(&self.folder)? {
            for (region, folder) in folders(&folder)? {
                for path in entries(&folder)? {
                    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                    let parts = name.strip_suffix(".toml").and_then(|name| name.split_once('-'));
                    if let Some((kind, day)) = parts.filter(|_| !name.starts_with('.')) {
                        let (provider, region) = (provider.clone(), region.clone());
                        found.push(StoredList { provider, region, kind: kind.into(), day: day.into(), path });
                    }
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// The newest list of each kind and region.
    ///
    /// # Errors
    /// As of [`PriceShelf::lists`].
    pub fn newest(&self) -> Result<Vec<StoredList>, ShelfError> {
        let mut found: Vec<StoredList> = Vec::new();
        for list in self.lists()? {
            match found.last_mut() {
                Some(last) if last.is_beside(&list) => *last = list,
                _ => found.push(list),
            }
        }
        Ok(found)
    }

    /// The names and texts of the newest lists: of prices, or of limits.
    ///
    /// # Errors
    /// As of [`PriceShelf::lists`]; a list cannot be read.
    pub fn newest_texts(&self, of_limits: bool) -> Result<Vec<(String, String)>, ShelfError> {
        let read = |list: StoredList| Ok((list.path.display().to_string(), list.text()?));
        self.newest()?.into_iter().filter(|list| (list.region == EVERYWHERE) == of_limits).map(read).collect()
    }

    /// Keeps a list, and of those before it the last ones.
    pub(crate) fn store(&self, place: &ShelfPlace<'_>, text: &str, today: &str) -> Result<PathBuf, ShelfError> {
        let folder = self.folder.join(place.provider).join(place.region);
        make_folder(&folder)?;
        let of_kind = |all: Vec<StoredList>| all.into_iter().filter(|stored| stored.is_of(place)).collect::<Vec<_>>();
        let newest = of_kind(self.lists()?).pop().map(|stored| stored.day);
        let day = next_of_day(newest.as_deref(), today).ok_or_else(|| ShelfError::Full(folder.clone()))?;
        let path = folder.join(format!("{}-{day}.toml", place.kind));
        let beside = folder.join(format!("{ON_ITS_WAY}-{}", place.kind));
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| ShelfError::System { doing: "write", path, source }
        };
        let written = File::create(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            put(&file, &beside, &path)
        });
        if let Err(error) = written {
            // A full disk is not to be made fuller.
            let _ = fs::remove_file(&beside);
            return Err(failed(&path)(error));
        }
        let of_kind = of_kind(self.lists()?);
        for old in &of_kind[..of_kind.len().saturating_sub(KEPT)] {
            fs::remove_file(&old.path).map_err(failed(&old.path))?;
        }
        Ok(path)
    }

    /// Removes a list: the one before it counts again.
    pub(crate) fn remove(list: &StoredList) -> Result<(), ShelfError> {
        fs::remove_file(&list.path).map_err(|source| ShelfError::System {
            doing: "remove",
            path: list.path.clone(),
            source,
        })
    }
}

impl StoredList {
    /// Whether the other is of the same region and kind.
    #[must_use]
    pub fn is_beside(&self, other: &Self) -> bool {
        (&self.provider, &self.region, &self.kind) == (&other.provider, &other.region, &other.kind)
    }

    pub(crate) fn is_of(&self, place: &ShelfPlace<'_>) -> bool {
        (&*self.provider, &*self.region, &*self.kind) == (place.provider, place.region, place.kind)
    }

    pub(crate) fn text(&self) -> Result<String, ShelfError> {
        let failed = |source| ShelfError::System { doing: "read", path: self.path.clone(), source };
        fs::read_to_string(&self.path).map_err(failed)
    }

    /// The digest and the instant that the list has noted.
    pub(crate) fn noted(&self) -> Option<(String, String)> {
        let text = fs::read_to_string(&self.path).ok()?;
        let of = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
            line.strip_suffix('"').map(str::to_owned)
        };
        Some((of("blake3")?, of("fetched")?))
    }

    /// What it lists.
    #[must_use]
    pub fn of_kind(&self, kind: Kind) -> bool {
        (kind == Kind::Disk) == (self.kind == "disks")
    }
}

/// The name of the next list: the day alone, or with a letter after those of the newest list where that is of this day, too. After a clock
/// was set back, the day of the newest list stays, so that the next one is newer still.
fn next_of_day(newest: Option<&str>, today: &str) -> Option<String> {
    let Some(newest) = newest.filter(|newest| *newest >= today) else { return Some(today.to_owned()) };
    let letter = newest.chars().last().filter(char::is_ascii_lowercase);
    let day = letter.map_or(newest, |_| &newest[..newest.len() - 1]);
    match letter {
        None => Some(format!("{day}b")),
        Some('z') => None,
        Some(letter) => Some(format!("{day}{}", char::from(letter as u8 + 1))),
    }
}

/// Gives a file that was written beside its place its name, once it is on the disk.
pub(super) fn put(file: &File, beside: &Path, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    fs::rename(beside, path)?;
    crate::sync_folder(path.parent().unwrap_or(path))
}

pub(super) fn make_folder(folder: &Path) -> Result<(), ShelfError> {
    crate::make_private_folder(folder).map_err(|source| ShelfError::System {
        doing: "make",
        path: folder.to_owned(),
        source,
    })
}

/// The folders in a folder, with their names; none where it is missing.
fn folders(folder: &Path) -> Result<Vec<(String, PathBuf)>, ShelfError> {
    let named = |path: PathBuf| Some((path.file_name()?.to_str()?.to_owned(), path));
    Ok(entries(folder)?.into_iter().filter(|path| path.is_dir()).filter_map(named).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, ShelfError> {
    let failed = |source| ShelfError::System { doing: "list", path: folder.to_owned(), source };
    match fs::read_dir(folder) {
        Ok(entries) => {
            let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
            paths.map_err(failed)
        }
        // A folder that this user may not enter has no lists of theirs.
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::next_of_day;

    #[test]
    fn a_list_is_named_after_the_newest_whatever_the_clock_says() {
        let next = |newest| next_of_day(newest, "2026-11-28");
        assert_eq!(next(None).unwrap(), "2026-11-28");
        assert_eq!(next(Some("2026-11-27c")).unwrap(), "2026-11-28");
        assert_eq!(next(Some("2026-11-28")).unwrap(), "2026-11-28b");
        assert_eq!(next(Some("2026-11-28b")).unwrap(), "2026-11-28c");
        assert_eq!(next(Some("2026-11-30")).unwrap(), "2026-11-30b");
        assert_eq!(next(Some("2026-11-28z")), None);
    }
}
