//! The pages that an update has fetched so far: one that was killed goes on with them.
//!
//! A page is written beside its place, synced and renamed, so what stands in the journal is whole. After a day its pages are of other
//! prices, and it begins anew.

use super::shelf::{PriceShelf, ShelfError, make_folder, put};
use loadline_offers::PagePlace;
use loadline_units::Timestamp;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

const FOLDER: &str = ".fetched";
const BEGUN: &str = "begun";
const AGE_MAX_NS: u128 = 86_400 * 1_000_000_000;

/// See the head of this file.
pub(super) struct PageJournal {
    folder: PathBuf,
}

impl PageJournal {
    /// Of a shelf, whose lock the caller holds.
    pub(super) fn open(shelf: &PriceShelf, now: Timestamp) -> Result<Self, ShelfError> {
        let journal = Self { folder: shelf.fetched_pages() };
        let begun = fs::read_to_string(journal.folder.join(BEGUN)).ok().and_then(|text| text.parse::<Timestamp>().ok());
        if !begun.is_some_and(|begun| begun <= now && begun.nanoseconds_until(now) <= AGE_MAX_NS) {
            journal.remove()?;
            make_folder(&journal.folder)?;
            let note = || -> io::Result<()> {
                let mut file = File::create(journal.part())?;
                file.write_all(now.to_string().as_bytes())?;
                put(&file, &journal.part(), &journal.folder.join(BEGUN))
            };
            note().map_err(journal.failed("write"))?;
        }
        Ok(journal)
    }

    /// The place of a page: of its address, and so of its currency, too.
    pub(super) fn page(&self, file: &str, place: PagePlace, url: &str) -> PathBuf {
        let digest = blake3::hash(url.as_bytes()).to_hex();
        self.folder.join(format!("{file}-{}-{}-{}.json", place.walk, place.page, &digest[..16]))
    }

    /// Where a page is written before it has its place.
    pub(super) fn part(&self) -> PathBuf {
        self.folder.join("part")
    }

    /// Gives what was written its place.
    pub(super) fn put(&self, file: &File, page: &Path) -> io::Result<()> {
        put(file, &self.part(), page)
    }

    /// Removes it.
    pub(super) fn remove(&self) -> Result<(), ShelfError> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed("remove")(error)),
            _ => Ok(()),
        }
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> ShelfError + use<> {
        let path = self.folder.clone();
        move |source| ShelfError::System { doing, path: path.clone(), source }
    }
}

impl PriceShelf {
    /// Where pages are kept for a day if a fetch ends before its end.
    #[must_use]
    pub fn fetched_pages(&self) -> PathBuf {
        self.folder().join(FOLDER)
    }
}
