//! Removes runs from a store whose file system is full, where nothing can be written beside it.

use crate::unix::{DiskNumber, make_private_file, other_folders};
use crate::{Store, StoreError};
use std::path::{Path, PathBuf};

impl Store {
    /// Removes a run in place, without the files that SQLite would need beside the store. They would keep it whole if this
    /// process were killed: a copy on another file system does instead, as long as that takes.
    ///
    /// # Errors
    /// [`StoreError::Full`] if there is no other file system with space for the copy; or trouble with the file.
    pub(crate) fn remove_without_space(&self, run: &str) -> Result<(), StoreError> {
        const ATTEMPT: &str = "remove a run";
        let told = |error: rusqlite::Error| crate::error::Trouble::Sql(error).tell(ATTEMPT, self.path());
        let full = || StoreError::Full { attempt: ATTEMPT, path: self.path().to_owned() };
        let set = |name: &str, value: &str| {
            self.connection.query_row(&format!("PRAGMA {name} = {value}"), [], |_| Ok(())).map_err(told)
        };
        set("locking_mode", "EXCLUSIVE")?;
        // Also gives back the space of the write-ahead log.
        set("journal_mode", "MEMORY")?;
        let copy = StoreCopy::made(self).ok_or_else(full)?;
        let removed = self.connection.execute("DELETE FROM runs WHERE id = ?", [run]).map_err(told)?;
        self.give_back_space();
        drop(copy);
        // What follows on this connection is whole again if the process is killed, and fails without space. The next to open the
        // store switches to the write-ahead log.
        set("journal_mode", "DELETE")?;
        if removed == 0 { Err(StoreError::NoSuchRun { run: run.to_owned(), nearest: None }) } else { Ok(()) }
    }
}

/// A copy of the store on another file system; removed when dropped.
struct StoreCopy(PathBuf);

impl StoreCopy {
    fn made(store: &Store) -> Option<Self> {
        let own = DiskNumber::of(store.path())?;
        let folders = other_folders();
        let elsewhere = folders.iter().filter(|folder| DiskNumber::of(folder).is_some_and(|other| other != own));
        elsewhere.into_iter().find_map(|folder| Self::in_folder(store, folder))
    }

    fn in_folder(store: &Store, folder: &Path) -> Option<Self> {
        let path = folder.join(format!("loadline-store-{}.db", std::process::id()));
        make_private_file(&path).ok()?;
        let copy = Self(path);
        store.connection.execute("VACUUM INTO ?", [copy.0.to_str()?]).ok()?;
        Some(copy)
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
