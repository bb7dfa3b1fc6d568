//! Test files with names that a killed process could not remove.
//!
//! Files without a name vanish with their process. A file has a name only where its contents must outlive a crash of the
//! machine (`verify = true`, `--keep`); then a kill leaves it behind.

use crate::wall_clock::RUN_ID_LENGTH;
use crate::{Error, Event, Observer, Settings};
use loadline_store::Store;
use loadline_units::Bytes;
use std::path::{Path, PathBuf};

/// A test file of a run that is there although no process uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is.
    pub path: PathBuf,
    /// How large.
    pub size: Bytes,
}

/// With what the names of all of them begin.
pub(crate) const NAME_BEGIN: &str = "loadline-";

/// With what the name of a test file of `run` begins.
#[must_use]
pub(crate) fn name_prefix(run: &str) -> String {
    format!("{NAME_BEGIN}{run}-")
}

/// The files that `run` left in the directories that it measured, in the order of their names.
#[must_use]
pub fn of_run(run: &str, settings: &Settings) -> Vec<Leftover> {
    let mut found: Vec<Leftover> =
        settings.targets.iter().flat_map(|named| in_directory(Path::new(&named.target), &name_prefix(run))).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup();
    found
}

/// Removes the files that `run` left, and says so. Only for the holder of its claim.
///
/// # Errors
/// A file that cannot be removed.
pub(crate) fn remove_of_run(run: &str, settings: &Settings, observer: &mut dyn Observer) -> Result<(), Error> {
    for leftover in of_run(run, settings) {
        remove(&leftover)?;
        observer.event(&Event::LeftoverRemoved { path: &leftover.path });
    }
    Ok(())
}

/// Test files in the directories that are about to be measured whose run is not in the store: of runs killed before they
/// were stored, removed since, or kept in another store.
/// `own` is the run that is about to begin, whose files may be there already.
pub fn of_no_run(settings: &Settings, store: &Store, own: &str) -> Vec<Leftover> {
    let unknown = |leftover: &Leftover| {
        let name = leftover.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let run = name.strip_prefix(NAME_BEGIN).and_then(|rest| rest.get(..RUN_ID_LENGTH));
        run.is_some_and(|run| run != own && store.resolve(run).is_err())
    };
    let directories = settings.targets.iter().map(|named| Path::new(&named.target));
    directories.flat_map(|directory| in_directory(directory, NAME_BEGIN)).filter(unknown).collect()
}

/// Regular files in `directory` whose names begin with `prefix` and end as those of test files do; none where it cannot be
/// read or is no directory.
pub(crate) fn in_directory(directory: &Path, prefix: &str) -> Vec<Leftover> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let ours = |name: &str| {
        let number = |text: &str| text.is_empty() || text.strip_prefix('.').is_some_and(is_number);
        name.starts_with(prefix) && name.rsplit_once(".data").is_some_and(|(_, rest)| number(rest))
    };
    let files = entries.filter_map(Result::ok).filter(|entry| entry.file_name().to_str().is_some_and(ours));
    files
        .filter_map(|entry| {
            // Of the entry itself: a symbolic link of that name is somebody else's.
            let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some(Leftover { path: entry.path(), size: Bytes::new(metadata.len()) })
        })
        .collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes the file. Only for the holder of its run's claim: no other process of loadline can be using it then.
///
/// # Errors
/// The system's answer, with the file's path.
fn remove(leftover: &Leftover) -> Result<(), Error> {
    std::fs::remove_file(&leftover.path).map_err(|source| Error::Leftover { path: leftover.path.clone(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::settings::sole_target;

    #[test]
    fn files_of_the_run_that_begins_are_no_strangers() {
        let directory = tempfile::tempdir().unwrap();
        let (own, other) = ("20260131-142233-1a2b3c", "20260131-142233-4d5e6f");
        for run in [own, other] {
            std::fs::write(directory.path().join(format!("{}data.data", name_prefix(run))), "x").unwrap();
        }
        let settings = Settings::of(sole_target(directory.path().to_str().unwrap()));
        let store = Store::open(&directory.path().join("store.db")).unwrap();
        let found = of_no_run(&settings, &store, own);
        let names: Vec<_> = found.iter().filter_map(|leftover| leftover.path.file_name()).collect();
        assert_eq!(names, [format!("{}data.data", name_prefix(other)).as_str()]);
    }

    #[test]
    fn only_regular_files_with_the_whole_form_of_the_name_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for name in
            ["loadline-1-data.data", "loadline-1-log.data.3", "loadline-1-x.data.old", "loadline-2-data.data", "mine"]
        {
            std::fs::write(path(name), "x").unwrap();
        }
        std::fs::create_dir(path("loadline-1-d.data")).unwrap();
        std::os::unix::fs::symlink(path("mine"), path("loadline-1-s.data")).unwrap();
        let mut found: Vec<PathBuf> =
            in_directory(directory.path(), &name_prefix("1")).into_iter().map(|leftover| leftover.path).collect();
        found.sort();
        assert_eq!(found, [path("loadline-1-data.data"), path("loadline-1-log.data.3")]);
        assert!(in_directory(&path("absent"), "loadline-").is_empty());
    }
}
