//! Class `recreate`: folders with owners, modes and attributes, kept in a file of the state folder and made again in milliseconds.

use crate::durable::{read_bounded, write_durably};
use crate::error::ShelterError;
use crate::tree_files::TreeRoot;
use loadline_shelter_policy::config::{DataClass, ShelterConfig};
use loadline_shelter_policy::manifest::{MANIFEST_SCHEMA, Manifest, ManifestHead};
use loadline_shelter_policy::tree::EntryKind;
use std::path::{Path, PathBuf};

/// Bytes of the file, at most.
const STRUCTURE_BYTES_MAX: u64 = 256 << 20;

/// Where the folders are kept.
pub(crate) fn structure_file(config: &ShelterConfig) -> PathBuf {
    Path::new(&config.state).join("folders.jsonl")
}

/// The folders of class `recreate` as they are on the disk.
pub(crate) fn folders_on(root: &TreeRoot, config: &ShelterConfig, now_ns: i64) -> Result<Manifest, ShelterError> {
    let groups = config.groups.iter().filter(|group| group.class == DataClass::Recreate);
    let paths: Vec<String> = groups.flat_map(|group| group.paths.clone()).collect();
    let walked = root.walk(&paths);
    let mut manifest = Manifest {
        head: ManifestHead {
            schema: MANIFEST_SCHEMA.into(),
            source: config.name.clone(),
            generation: 0,
            begun_ns: now_ns,
        },
        entries: std::collections::BTreeMap::new(),
    };
    for (path, seen) in walked.entries {
        if seen.entry.kind != EntryKind::Folder {
            continue;
        }
        let mut entry = seen.entry;
        entry.attributes = match root.attributes(&entry) {
            Ok(attributes) => attributes,
            // It went between the look and the reading.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(ShelterError::io("read the attributes of", root.path().join(path.as_text()))(error));
            }
        };
        manifest.entries.insert(path, entry);
    }
    Ok(manifest)
}

/// Keeps folders; nothing is written if they are kept already. Whether they were written.
pub(crate) fn keep(config: &ShelterConfig, folders: &Manifest) -> Result<bool, ShelterError> {
    let path = structure_file(config);
    if kept(config)?.is_some_and(|kept| same(&kept, folders)) {
        return Ok(false);
    }
    write_durably(&path, folders.to_text().as_bytes()).map_err(ShelterError::io("write", &path))?;
    Ok(true)
}

/// Times of folders change with every file in them: they are no difference.
fn same(a: &Manifest, b: &Manifest) -> bool {
    let plain = |manifest: &Manifest| {
        let mut entries = manifest.entries.clone();
        for entry in entries.values_mut() {
            entry.modified_ns = 0;
        }
        entries
    };
    plain(a) == plain(b)
}

/// The folders that are kept, if any are.
pub(crate) fn kept(config: &ShelterConfig) -> Result<Option<Manifest>, ShelterError> {
    let path = structure_file(config);
    let bytes = read_bounded(&path, STRUCTURE_BYTES_MAX).map_err(ShelterError::io("read", &path))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes);
    Manifest::parse(&text).map(Some).map_err(|source| ShelterError::Manifest { path, source })
}

/// Makes the kept folders again; those that are there keep what is in them. How many were made or mended.
pub(crate) fn recreate(root: &TreeRoot, folders: &Manifest) -> Result<u64, ShelterError> {
    let mut count = 0;
    for entry in folders.entries.values().filter(|entry| entry.kind == EntryKind::Folder) {
        let at = || root.path().join(entry.path.as_text());
        root.make_folder(&entry.path).map_err(ShelterError::io("make the folder", at()))?;
        count += 1;
    }
    // From the inside out: what is made in a folder changes that folder's time.
    for entry in folders.entries.values().rev().filter(|entry| entry.kind == EntryKind::Folder) {
        let at = || root.path().join(entry.path.as_text());
        root.dress(entry).map_err(ShelterError::io("set owner, mode and attributes of", at()))?;
    }
    Ok(count)
}
