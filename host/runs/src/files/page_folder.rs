//! A folder of pages that is brought up to date: only what changed is written, each page whole, and what others put there is left alone.

use super::output_file::OutputError;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// What of a page is read to see whose it is, and what it was made of.
const BEGINNING_MAX: u64 = 64 * 1024;
/// The name of a page on its way to its place, up to the process that writes it.
const ON_ITS_WAY: &str = ".page.loadline-";
/// What a page is to those who are refused.
const KIND: &str = "page";

/// A folder of pages.
#[derive(Debug)]
pub struct PageFolder {
    folder: PathBuf,
    /// Stands at the beginning of each of its pages.
    mark: &'static str,
    /// Whether files of others may be replaced.
    replaces_all: bool,
    written: PagesWritten,
}

/// What was done to a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PagesWritten {
    /// Pages that were not there.
    pub new: usize,
    /// Pages that were there, and were otherwise.
    pub changed: usize,
    /// Pages that belong to nothing any more.
    pub removed: usize,
}

/// A file of the folder as it was found.
enum Found {
    Nothing,
    /// A page of ours, by its beginning.
    Own(String),
    /// Something else.
    Foreign,
}

impl PageFolder {
    /// A folder for pages with this mark within their first lines, and the folders in it; made where they are not there. What a killed
    /// process left on its way is removed.
    ///
    /// # Errors
    /// The place is no folder, or the system refuses.
    pub fn open(folder: &Path, inner: &[&str], mark: &'static str, replaces_all: bool) -> Result<Self, OutputError> {
        let opened = Self { folder: folder.to_owned(), mark, replaces_all, written: PagesWritten::default() };
        for path in std::iter::once(folder.to_owned()).chain(inner.iter().map(|name| folder.join(name))) {
            match fs::create_dir(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
                made => made.map_err(|source| failed("make the folder", &path, source))?,
            }
            remove_left(&path);
        }
        Ok(opened)
    }

    /// What was done so far.
    #[must_use]
    pub const fn written(&self) -> PagesWritten {
        self.written
    }

    /// The beginning of a page of ours, as far as it says what the page was made of; `None`: there is none.
    ///
    /// # Errors
    /// Something else has its place, and may not be replaced; or the system refuses.
    pub fn beginning(&self, name: &str) -> Result<Option<String>, OutputError> {
        match self.look(name)? {
            Found::Nothing => Ok(None),
            Found::Own(beginning) => Ok(Some(beginning)),
            Found::Foreign if self.replaces_all => Ok(None),
            Found::Foreign => Err(OutputError::Foreign { path: self.folder.join(name), kind: KIND }),
        }
    }

    /// Writes a page, unless it is there as it is. Its place has the old page or the new one at every moment.
    ///
    /// # Errors
    /// Something else has its place; or the system refuses.
    pub fn write(&mut self, name: &str, contents: &str) -> Result<(), OutputError> {
        let is_there = self.beginning(name)?.is_some();
        let path = self.folder.join(name);
        if is_there && fs::read(&path).is_ok_and(|found| found == contents.as_bytes()) {
            return Ok(());
        }
        let beside = folder_of(&path).join(format!("{ON_ITS_WAY}{}", std::process::id()));
        let moved = (|| {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&beside)?;
            // Locked as long as it is written: what a killed process left is not.
            let _ = file.try_lock();
            file.write_all(contents.as_bytes())?;
            fs::rename(&beside, &path)
        })();
        moved.map_err(|source| {
            let _ = fs::remove_file(&beside);
            failed("write", &path, source)
        })?;
        if is_there {
            self.written.changed += 1;
        } else {
            self.written.new += 1;
        }
        Ok(())
    }

    /// Removes pages of ours that are not among these; `inner` is a folder in it, or "" for itself. What others put there stays.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove_others(&mut self, inner: &str, kept: &BTreeSet<String>) -> Result<(), OutputError> {
        let folder = self.folder.join(inner);
        let entries = fs::read_dir(&folder).map_err(|source| failed("read the folder", &folder, source))?;
        for entry in entries.flatten() {
            let Ok(file) = entry.file_name().into_string() else { continue };
            let name = if inner.is_empty() { file } else { format!("{inner}/{file}") };
            let is_page = Path::new(&name).extension().is_some_and(|ending| ending == "html");
            if is_page && !kept.contains(&name) && matches!(self.look(&name)?, Found::Own(_)) {
                fs::remove_file(entry.path()).map_err(|source| failed("remove", &entry.path(), source))?;
                self.written.removed += 1;
            }
        }
        Ok(())
    }

    fn look(&self, name: &str) -> Result<Found, OutputError> {
        let path = self.folder.join(name);
        match path.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(source) => return Err(failed("look at", &path, source)),
            // A link is somebody's own, whatever it leads to.
            Ok(found) if !found.is_file() => return Ok(Found::Foreign),
            Ok(_) => {}
        }
        let mut beginning = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(BEGINNING_MAX).read_to_end(&mut beginning));
        read.map_err(|source| failed("read", &path, source))?;
        let beginning = String::from_utf8_lossy(&beginning).into_owned();
        let is_own = beginning.lines().take(2).any(|line| line == self.mark);
        Ok(if is_own { Found::Own(beginning) } else { Found::Foreign })
    }
}

fn failed(attempt: &'static str, path: &Path, source: io::Error) -> OutputError {
    OutputError::System { attempt, path: path.to_owned(), source }
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// Removes what a process that is no more had on its way.
fn remove_left(folder: &Path) {
    for left in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = left.file_name().as_encoded_bytes().starts_with(ON_ITS_WAY.as_bytes());
        if is_ours && File::open(left.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(left.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: &str = "<!-- mine -->";

    fn page(text: &str) -> String {
        format!("<!DOCTYPE html>\n{MARK}\n{text}\n")
    }
    fn open(folder: &Path) -> PageFolder {
        PageFolder::open(&folder.join("pages"), &["runs"], MARK, false).unwrap()
    }
    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_changed_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = open(folder.path());
        pages.write("index.html", &page("1")).unwrap();
        pages.write("runs/a.html", &page("a")).unwrap();
        assert_eq!(pages.written(), PagesWritten { new: 2, ..PagesWritten::default() });
        let mut pages = open(folder.path());
        let number = |name: &str| {
            use std::os::unix::fs::MetadataExt;
            fs::metadata(folder.path().join("pages").join(name)).unwrap().ino()
        };
        let before = (number("index.html"), number("runs/a.html"));
        pages.write("index.html", &page("2")).unwrap();
        pages.write("runs/a.html", &page("a")).unwrap();
        assert_eq!(pages.written(), PagesWritten { changed: 1, ..PagesWritten::default() });
        assert!(number("index.html") != before.0 && number("runs/a.html") == before.1);
        assert_eq!(pages.beginning("index.html").unwrap(), Some(page("2")));
        assert_eq!(pages.beginning("absent.html").unwrap(), None);
    }

    #[test]
    fn what_others_put_there_is_neither_replaced_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut pages = open(folder.path());
        let place = folder.path().join("pages");
        fs::write(place.join("mine.html"), "<!DOCTYPE html>\nmy own").unwrap();
        fs::write(place.join("notes.txt"), page("a text")).unwrap();
        std::os::unix::fs::symlink(place.join("mine.html"), place.join("link.html")).unwrap();
        for name in ["mine.html", "link.html"] {
            let refused = pages.write(name, &page("x"));
            assert!(matches!(refused, Err(OutputError::Foreign { .. })), "{refused:?}");
        }
        pages.write("index.html", &page("1")).unwrap();
        pages.write("2026-01.html", &page("1")).unwrap();
        pages.remove_others("", &BTreeSet::from(["index.html".to_owned()])).unwrap();
        assert_eq!(pages.written().removed, 1);
        assert_eq!(names(&place), ["index.html", "link.html", "mine.html", "notes.txt", "runs"]);
        let mut forced = PageFolder::open(&place, &[], MARK, true).unwrap();
        forced.write("link.html", &page("x")).unwrap();
        assert_eq!(fs::read_to_string(place.join("mine.html")).unwrap(), "<!DOCTYPE html>\nmy own");
    }

    #[test]
    fn what_a_killed_process_left_goes_and_what_a_living_one_writes_stays() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("pages/runs");
        drop(open(folder.path()));
        fs::write(inner.join(".page.loadline-1"), "half").unwrap();
        let living = File::create(inner.join(".page.loadline-2")).unwrap();
        living.try_lock().unwrap();
        drop(open(folder.path()));
        assert_eq!(names(&inner), [".page.loadline-2"]);
    }

    #[test]
    fn a_file_in_place_of_the_folder_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("pages"), "").unwrap();
        let refused = PageFolder::open(&folder.path().join("pages"), &[], MARK, false).unwrap_err();
        assert!(refused.to_string().contains("/pages"), "{refused}");
    }
}
