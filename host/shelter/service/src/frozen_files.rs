//! Copies of files as they were at one moment: mostly reflinks, in a folder of their own at the top of the disk.
//!
//! A save reads them while applications go on. The folder is removed when the save ends. If the process was killed, the next start
//! removes it.

use crate::tree_files::TreeRoot;
use loadline_shelter_policy::tree::TreePath;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// The folder; its name begins like the marker's, so nobody takes it for data.
pub(crate) const FROZEN: &str = ".loadline-shelter.frozen";

/// Copies that nobody changes.
#[derive(Debug)]
pub(crate) struct FrozenFiles<'a> {
    root: &'a TreeRoot,
    names: BTreeMap<TreePath, String>,
    next: u64,
    /// Whether the folder is there.
    is_made: bool,
}

fn path_of(name: &str) -> TreePath {
    let path = if name.is_empty() { FROZEN.to_owned() } else { format!("{FROZEN}/{name}") };
    TreePath::of_bytes(path.as_bytes()).expect("a name of digits in a folder is a path")
}

/// Removes what a killed save left.
pub(crate) fn remove_left(root: &TreeRoot) -> io::Result<()> {
    root.remove(&path_of(""))
}

impl<'a> FrozenFiles<'a> {
    /// No copies yet, and nothing of an earlier process.
    pub(crate) fn none(root: &'a TreeRoot) -> io::Result<Self> {
        remove_left(root)?;
        Ok(Self { root, names: BTreeMap::new(), next: 0, is_made: false })
    }

    /// A new and empty file of the folder, which stands for `path`.
    pub(crate) fn create(&mut self, path: &TreePath) -> io::Result<File> {
        if !self.is_made {
            self.root.make_folder(&path_of(""))?;
            self.is_made = true;
        }
        let name = self.next.to_string();
        self.next += 1;
        let file = self.root.create_file(&path_of(&name))?;
        if let Some(old) = self.names.insert(path.clone(), name) {
            self.root.remove(&path_of(&old))?;
        }
        Ok(file)
    }

    /// Takes a reflink of an open file.
    pub(crate) fn reflink(&mut self, path: &TreePath, source: &File) -> io::Result<()> {
        let copy = self.create(path)?;
        Ok(rustix::fs::ioctl_ficlone(&copy, source)?)
    }

    /// Copies an open file.
    pub(crate) fn copy(&mut self, path: &TreePath, source: &File) -> io::Result<()> {
        let mut copy = self.create(path)?;
        io::copy(&mut &*source, &mut copy).map(drop)
    }

    /// Removes the copies of these paths.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(&TreePath) -> bool) -> io::Result<()> {
        let (forgotten, left) = std::mem::take(&mut self.names).into_iter().partition(|(path, _)| is_forgotten(path));
        self.names = left;
        let forgotten: BTreeMap<TreePath, String> = forgotten;
        forgotten.values().try_for_each(|name| self.root.remove(&path_of(name)))
    }

    /// Where the copy of a file is.
    pub(crate) fn place(&self, path: &TreePath) -> Option<PathBuf> {
        self.names.get(path).map(|name| self.root.place(&path_of(name)))
    }
}

impl Drop for FrozenFiles<'_> {
    fn drop(&mut self) {
        if self.is_made {
            // What is left is removed by the next save or the next start.
            let _ = remove_left(self.root);
        }
    }
}
