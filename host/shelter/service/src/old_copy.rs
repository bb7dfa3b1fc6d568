//! A plain copy that an earlier version kept in a folder: read once, to be taken over into a repository.
//!
//! Its files have the owners that they had on the disk, so others than root may have put links and pipes in their places since. Nothing is
//! followed, nothing is waited for, and contents count only if they are those that were committed.

use crate::durable::read_bounded;
use crate::error::ShelterError;
use crate::saving::group_of;
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::config::{DataClass, Group};
use loadline_shelter_policy::manifest::Manifest;
use loadline_shelter_policy::tree::{EntryKind, TreeEntry, TreePath};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The version of the layout.
const COPY_SCHEMA: &str = "loadline.shelter-copy/1";
const HEAD: &str = "shelter.json";
const HEAD_BYTES_MAX: u64 = 1 << 20;
const MANIFEST_BYTES_MAX: u64 = 16 << 30;

/// The head: which generation counts.
#[derive(Debug, Deserialize)]
struct CopyHead {
    schema: String,
    source: String,
    /// Claim of the disk that was saved.
    claim: String,
    generation: u64,
    /// BLAKE3 of the manifest's file.
    manifest: String,
    /// The files of manifests by generation.
    manifests: BTreeMap<u64, String>,
}

/// The newest generation of a copy.
#[derive(Debug)]
pub(crate) struct OldCopy {
    root: TreeRoot,
    head: CopyHead,
    manifest: Manifest,
}

/// What a copy has of the groups of a configuration.
#[derive(Debug, Default)]
pub(crate) struct OldFiles {
    /// Every entry, and for a file the place of its contents.
    pub(crate) entries: BTreeMap<TreePath, (TreeEntry, Option<PathBuf>)>,
    /// Files that are missing or not what was saved: why.
    pub(crate) damaged: BTreeMap<TreePath, String>,
}

impl OldCopy {
    /// Opens the copy of this shelter. Nothing is written.
    pub(crate) fn open(folder: &Path, source: &str) -> Result<Self, ShelterError> {
        let folder = fs::canonicalize(folder).map_err(ShelterError::io("look at", folder))?;
        let path = folder.join(HEAD);
        let bytes = read_bounded(&path, HEAD_BYTES_MAX).map_err(ShelterError::io("read", &path))?;
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let bytes = bytes.ok_or_else(missing).map_err(ShelterError::io("read", &path))?;
        let wrong = |path: &Path, reason: String| ShelterError::Record { path: path.to_path_buf(), reason };
        let head: CopyHead = serde_json::from_slice(&bytes).map_err(|error| wrong(&path, error.to_string()))?;
        if head.schema != COPY_SCHEMA {
            return Err(wrong(&path, format!("{} is not known here", head.schema)));
        }
        if head.source != source {
            return Err(ShelterError::OtherShelter { path: folder, name: head.source });
        }
        let name = head.manifests.get(&head.generation).cloned().unwrap_or_else(|| head.generation.to_string());
        let path = folder.join("manifests").join(format!("{name}.jsonl"));
        let bytes = read_bounded(&path, MANIFEST_BYTES_MAX).map_err(ShelterError::io("read", &path))?;
        let bytes = bytes.ok_or_else(missing).map_err(ShelterError::io("read", &path))?;
        if blake3::hash(&bytes).to_hex().as_str() != head.manifest {
            return Err(wrong(&path, "it is not what was committed".to_owned()));
        }
        let manifest = Manifest::parse(&String::from_utf8_lossy(&bytes))
            .map_err(|source| ShelterError::Manifest { path, source })?;
        let root = TreeRoot::open(&folder).map_err(ShelterError::io("open", &folder))?;
        Ok(Self { root, head, manifest })
    }

    pub(crate) fn generation(&self) -> u64 {
        self.head.generation
    }

    pub(crate) fn claim(&self) -> &str {
        &self.head.claim
    }

    /// When it was saved, ns since 1970.
    pub(crate) fn saved_ns(&self) -> i64 {
        self.manifest.head.begun_ns
    }

    /// Reads everything that it has of these groups, and compares it with what was saved.
    pub(crate) fn files(&self, groups: &[Group]) -> OldFiles {
        let mut found = OldFiles::default();
        let is_wanted =
            |path: &TreePath| group_of(groups, path).is_some_and(|group| group.class != DataClass::Recreate);
        for (path, entry) in self.manifest.entries.iter().filter(|(path, _)| is_wanted(path)) {
            let place = match &entry.kind {
                EntryKind::File { size, hash } => match self.contents(path, *size, hash) {
                    Ok(place) => Some(place),
                    Err(reason) => {
                        found.damaged.insert(path.clone(), reason);
                        continue;
                    }
                },
                _ => None,
            };
            found.entries.insert(path.clone(), (entry.clone(), place));
        }
        found
    }

    /// Where the contents of a file are: beside the copy, if its last commit was interrupted, or in it.
    fn contents(&self, path: &TreePath, size: u64, hash: &str) -> Result<PathBuf, String> {
        let staged = format!("staged/{}-{}", self.head.generation, self.head.claim);
        let mut why = "it is missing".to_owned();
        for folder in [staged.as_str(), "current"] {
            let bytes = [folder.as_bytes(), b"/", &path.to_bytes().unwrap_or_default()].concat();
            let Ok(inner) = TreePath::of_bytes(&bytes) else { continue };
            match self.root.open_file(&inner).and_then(|file| is_whole(&file, size, hash)) {
                Ok(true) => return Ok(self.root.place(&inner)),
                Ok(false) => why = "its contents are not those that were saved".into(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => why = error.to_string(),
            }
        }
        Err(why)
    }
}

/// Whether an open file is a regular one with these contents.
fn is_whole(file: &File, size: u64, hash: &str) -> io::Result<bool> {
    let seen = file.metadata()?;
    if !seen.is_file() || seen.len() != size {
        return Ok(false);
    }
    let mut hasher = blake3::Hasher::new();
    // No more than it should have: its owner may make it longer all the time.
    hasher.update_reader(file.take(size + 1))?;
    Ok(hasher.finalize().to_hex().as_str() == hash)
}
