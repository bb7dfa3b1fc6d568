//! The destination of layout `plain`: a copy in a folder, which can be used in place, and a manifest of it.
//!
//! A save writes new contents beside the copy (`staged/`), then its manifest, then the head. The head is the commit: before it the old
//! generation counts, after it the new one. Then staged files are moved into the copy (`current/`); a crash in between is made
//! up for at the next opening. So at each moment one whole generation can be read.

use crate::databases::is_passing;
use crate::durable::{FileLock, read_bounded, sync_folder, write_durably};
use crate::error::ShelterError;
use crate::pace::Pace;
use crate::saving::{CopyTrouble, Picture, SaveReport, group_of, not_one_moment};
use crate::tree_files::TreeRoot;
use loadline_kernel::system_calls::write_back_file_system;
use loadline_shelter_policy::changes::{TreeStamps, mass_deletion};
use loadline_shelter_policy::config::DataClass;
use loadline_shelter_policy::manifest::{MANIFEST_SCHEMA, Manifest, ManifestHead};
use loadline_shelter_policy::start::DestinationSeen;
use loadline_shelter_policy::tree::{EntryKind, TreeEntry, TreePath};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The version of the layout.
const COPY_SCHEMA: &str = "loadline.shelter-copy/1";
const HEAD: &str = "shelter.json";
const LOCK: &str = "lock";
const HEAD_BYTES_MAX: u64 = 1 << 20;
const MANIFEST_BYTES_MAX: u64 = 16 << 30;

/// The head: which generation counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CopyHead {
    schema: String,
    source: String,
    /// Claim of the disk that was saved.
    claim: String,
    generation: u64,
    /// BLAKE3 of the manifest's file.
    manifest: String,
    /// The files of manifests by generation: of this one, the one before, and pinned ones.
    manifests: BTreeMap<u64, String>,
    /// Generations that mass deletions pinned, oldest first.
    pinned: Vec<u64>,
    /// Bytes that a restore writes.
    bytes: u64,
}

/// A copy in a folder.
#[derive(Debug)]
pub(crate) struct PlainCopy {
    folder: PathBuf,
    source: String,
    head: Option<CopyHead>,
    manifest: Option<Manifest>,
}

impl PlainCopy {
    /// What is there; nothing is written.
    pub(crate) fn look(folder: &Path, source: &str) -> DestinationSeen {
        match read_head(folder) {
            Ok(Some(head)) if head.source != source => DestinationSeen::Foreign(head.source),
            Ok(Some(head)) => DestinationSeen::Holds {
                generation: head.generation,
                claim: head.claim,
                bytes: loadline_units::Bytes::new(head.bytes),
            },
            Ok(None) => match fs::read_dir(folder) {
                Err(error) => DestinationSeen::Unreachable(format!("{}: {error}", folder.display())),
                Ok(mut entries) => match entries.find(|entry| !entry.as_ref().is_ok_and(is_own_folder)) {
                    None => DestinationSeen::Unused,
                    Some(_) => DestinationSeen::Foreign("files that no shelter wrote".to_owned()),
                },
            },
            Err(error) => DestinationSeen::Unreachable(error.to_string()),
        }
    }

    /// Opens it to read; a commit that was interrupted behind its head is understood without writing.
    pub(crate) fn open(folder: &Path, source: &str) -> Result<Self, ShelterError> {
        let head = read_head(folder)?;
        if let Some(head) = head.as_ref().filter(|head| head.source != source) {
            let reason = format!("it belongs to shelter {}", head.source);
            return Err(ShelterError::Record { path: folder.join(HEAD), reason });
        }
        let manifest = head.as_ref().map(|head| read_manifest(folder, head, head.generation)).transpose()?;
        Ok(Self { folder: folder.to_path_buf(), source: source.to_owned(), head, manifest })
    }

    /// The newest generation.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// The newest generation, or a pinned one.
    pub(crate) fn manifest_of(&self, generation: u64) -> Result<Manifest, ShelterError> {
        match (&self.head, &self.manifest) {
            (Some(head), Some(newest)) if head.generation == generation => Ok(newest.clone()),
            (Some(head), _) if head.pinned.contains(&generation) => read_manifest(&self.folder, head, generation),
            _ => Err(ShelterError::NothingSaved(self.folder.join(format!("generation {generation}")))),
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.head.as_ref().map_or(0, |head| head.generation)
    }

    pub(crate) fn pinned(&self) -> Vec<u64> {
        self.head.as_ref().map(|head| head.pinned.clone()).unwrap_or_default()
    }

    /// A file's contents in a generation.
    pub(crate) fn contents(&self, generation: u64, path: &TreePath) -> io::Result<File> {
        let name = relative(path)?;
        let mut places = Vec::new();
        if let Some(head) = self.head.as_ref().filter(|head| head.generation == generation) {
            places.push(self.staged(&own_name(generation, &head.claim)).join(&name));
        } else {
            places.push(self.kept(generation).join(&name));
        }
        places.push(self.current().join(&name));
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for place in places {
            match File::open(&place) {
                Ok(file) => return Ok(file),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Finishes a commit that was interrupted, and removes what an interrupted save left.
    pub(crate) fn finish(&mut self) -> Result<(), ShelterError> {
        let generation = self.generation();
        for folder in
            [self.current(), self.folder.join("staged"), self.folder.join("manifests"), self.folder.join("kept")]
        {
            fs::create_dir_all(&folder).map_err(ShelterError::io("make the folder", &folder))?;
        }
        if generation > 0 {
            self.apply()?;
        }
        let staged = self.folder.join("staged");
        for entry in fs::read_dir(&staged).map_err(ShelterError::io("list", &staged))? {
            let path = entry.map_err(ShelterError::io("list", &staged))?.path();
            fs::remove_dir_all(&path).map_err(ShelterError::io("remove", &path))?;
        }
        Ok(())
    }

    /// Saves a picture as the next generation. `known` has the stamps of what the newest generation has, and is brought up to date.
    pub(crate) fn save(
        &mut self,
        picture: &Picture<'_>,
        claim: &str,
        known: &mut TreeStamps,
        now_ns: i64,
        pace: &Pace,
    ) -> Result<SaveReport, ShelterError> {
        let _lock = self.lock()?;
        self.fence(claim)?;
        let generation = self.generation() + 1;
        let staged = self.staged(&own_name(generation, claim));
        if staged.exists() {
            fs::remove_dir_all(&staged).map_err(ShelterError::io("remove", &staged))?;
        }
        fs::create_dir_all(&staged).map_err(ShelterError::io("make the folder", &staged))?;
        let mut report = SaveReport { generation, fuzzy: picture.fuzzy.clone(), ..SaveReport::default() };
        let mut stamps = TreeStamps::new();
        let mut entries = BTreeMap::new();
        let none = BTreeMap::new();
        let before = self.manifest.as_ref().map_or(&none, |manifest| &manifest.entries);
        picture.settle();
        for group in &picture.carried {
            // With the folders above it.
            let is_above =
                |path: &TreePath, of: &str| of.strip_prefix(path.as_text()).is_some_and(|rest| rest.starts_with('/'));
            let of_group = |path: &TreePath| group.paths.iter().any(|of| path.is_within(of) || is_above(path, of));
            entries.extend(
                before.iter().filter(|(path, _)| of_group(path)).map(|(path, old)| (path.clone(), old.clone())),
            );
            stamps.extend(known.iter().filter(|(path, _)| of_group(path)).map(|(path, stamp)| (path.clone(), *stamp)));
        }
        for (path, seen) in &picture.walked.entries {
            let old = before.get(path);
            if known.get(path) == Some(&seen.stamp)
                && picture.frozen.place(path).is_none()
                && let Some(old) = old
                && std::mem::discriminant(&old.kind) == std::mem::discriminant(&seen.entry.kind)
            {
                stamps.insert(path.clone(), seen.stamp);
                entries.insert(path.clone(), old.clone());
                continue;
            }
            match Self::save_entry(picture, seen, &staged, pace, &mut report) {
                Ok((entry, stamp)) => {
                    stamps.insert(path.clone(), stamp);
                    entries.insert(path.clone(), entry);
                }
                Err(CopyTrouble::Ended) => return Err(ShelterError::Ended),
                Err(CopyTrouble::Target(error)) => {
                    return Err(ShelterError::io("write", staged.join(path.as_text()))(error));
                }
                // It went after it was seen.
                Err(CopyTrouble::Source(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(trouble) => {
                    let reason = match trouble {
                        CopyTrouble::Source(error) => error.to_string(),
                        _ => "it changed whenever it was read".to_owned(),
                    };
                    // A previous version is of another moment than the rest.
                    if let Some(group) = group_of(picture.groups, path).filter(|group| group.is_of_one_moment()) {
                        return Err(not_one_moment(group, format!("{}: {reason}", path.as_text())));
                    }
                    self.keep_old(path, reason, &mut entries, &mut report);
                }
            }
        }
        picture.release()?;
        for (path, trouble) in &picture.walked.troubles {
            self.keep_old(path, trouble.clone(), &mut entries, &mut report);
        }
        report.gone = before.keys().filter(|path| !entries.contains_key(*path)).count() as u64;
        for group in picture.groups.iter().filter(|group| group.class != DataClass::Recreate) {
            let of_group = before.values().filter(|e| group.paths.iter().any(|of| e.path.is_within(of)));
            let of_group = of_group.filter(|entry| !is_passing(group, &entry.path));
            if let Some(found) = mass_deletion(of_group, &entries, group.deletion) {
                report.deletions.insert(group.name.clone(), found);
            }
        }
        let mut pinned = self.pinned();
        if !report.deletions.is_empty() && generation > 1 {
            pinned.push(generation - 1);
        }
        let manifest = Manifest {
            head: ManifestHead {
                schema: MANIFEST_SCHEMA.into(),
                source: self.source.clone(),
                generation,
                begun_ns: now_ns,
                of_one_moment: picture.of_one_moment.clone(),
                inexact: report.inexact.keys().cloned().collect(),
                pinned: pinned.clone(),
            },
            entries,
        };
        self.commit(manifest, claim, pinned)?;
        stamps.retain(|path, stamp| picture.is_settled(path, *stamp));
        *known = stamps;
        Ok(report)
    }

    /// One entry of the new generation, with its contents staged.
    fn save_entry(
        picture: &Picture<'_>,
        seen: &crate::tree_files::SeenEntry,
        staged: &Path,
        pace: &Pace,
        report: &mut SaveReport,
    ) -> Result<(TreeEntry, loadline_shelter_policy::changes::FileStamp), CopyTrouble> {
        let mut entry = seen.entry.clone();
        entry.attributes = picture.attributes(seen).map_err(CopyTrouble::Source)?;
        if !matches!(entry.kind, EntryKind::File { .. }) {
            return Ok((entry, seen.stamp));
        }
        let target = staged.join(relative(&entry.path).map_err(CopyTrouble::Target)?);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(CopyTrouble::Target)?;
        }
        let copied = picture.copy_patiently(&entry.path, pace, || File::create(&target).map_err(CopyTrouble::Target));
        let (copied, _) = match copied {
            Ok(copied) => copied,
            Err(trouble) => {
                // Half a file must not be taken for a new version.
                let _ = fs::remove_file(&target);
                return Err(trouble);
            }
        };
        report.files += 1;
        report.bytes += copied.size;
        entry.kind = EntryKind::File { size: copied.size, hash: copied.hash };
        entry.modified_ns = copied.stamp.modified_ns;
        Ok((entry, copied.stamp))
    }

    /// What cannot be read has its previous version, with all that is below it.
    fn keep_old(
        &self,
        path: &TreePath,
        why: String,
        entries: &mut BTreeMap<TreePath, TreeEntry>,
        report: &mut SaveReport,
    ) {
        if let Some(manifest) = &self.manifest {
            let old = manifest.entries.iter().filter(|(old, _)| old.is_within(path.as_text()));
            old.for_each(|(path, entry)| {
                entries.entry(path.clone()).or_insert_with(|| entry.clone());
            });
        }
        report.inexact.insert(path.clone(), why);
    }

    /// Makes a manifest the newest generation.
    fn commit(&mut self, manifest: Manifest, claim: &str, pinned: Vec<u64>) -> Result<(), ShelterError> {
        let generation = manifest.head.generation;
        let text = manifest.to_text();
        let mut manifests = self.head.as_ref().map(|head| head.manifests.clone()).unwrap_or_default();
        manifests.retain(|of, _| *of + 1 == generation || pinned.contains(of));
        manifests.insert(generation, own_name(generation, claim));
        let path = self.folder.join("manifests").join(format!("{}.jsonl", own_name(generation, claim)));
        fs::write(&path, &text).map_err(ShelterError::io("write", &path))?;
        let folder = File::open(&self.folder).map_err(ShelterError::io("open", &self.folder))?;
        write_back_file_system(&folder).map_err(ShelterError::io("write back", &self.folder))?;
        self.fence(claim)?;
        let head = CopyHead {
            schema: COPY_SCHEMA.to_owned(),
            source: self.source.clone(),
            claim: claim.to_owned(),
            generation,
            manifest: blake3::hash(text.as_bytes()).to_hex().to_string(),
            manifests,
            pinned,
            bytes: manifest.bytes().get(),
        };
        let place = self.folder.join(HEAD);
        let text = serde_json::to_string(&head).expect("text and numbers can be written");
        write_durably(&place, text.as_bytes()).map_err(ShelterError::io("write", &place))?;
        self.head = Some(head);
        self.manifest = Some(manifest);
        self.apply()
    }

    /// Nobody else may have written since we last looked.
    fn fence(&self, claim: &str) -> Result<(), ShelterError> {
        let now = read_head(&self.folder)?;
        let others = now.as_ref().filter(|now| Some(*now) != self.head.as_ref() && now.claim != claim);
        match others {
            Some(other) => Err(ShelterError::Fenced { path: self.folder.clone(), generation: other.generation }),
            None if now == self.head => Ok(()),
            None => {
                let generation = now.map_or(0, |now| now.generation);
                Err(ShelterError::Fenced { path: self.folder.clone(), generation })
            }
        }
    }

    /// Brings the copy to the newest generation: moves what is staged, removes what is gone. Done twice it does nothing.
    fn apply(&mut self) -> Result<(), ShelterError> {
        let (Some(head), Some(manifest)) = (self.head.clone(), self.manifest.take()) else { return Ok(()) };
        let done = self.apply_manifest(&head, &manifest);
        self.manifest = Some(manifest);
        done
    }

    fn apply_manifest(&self, head: &CopyHead, manifest: &Manifest) -> Result<(), ShelterError> {
        let generation = head.generation;
        let staged = self.staged(&own_name(generation, &head.claim));
        let old = manifest_file(&self.folder, head, generation.saturating_sub(1));
        if !staged.exists() && (!old.exists() || head.pinned.contains(&(generation - 1))) {
            return Ok(());
        }
        let before = if old.exists() { Some(read_manifest(&self.folder, head, generation - 1)?) } else { None };
        let pins: Vec<(u64, Manifest)> = head
            .pinned
            .iter()
            .map(|pin| Ok((*pin, read_manifest(&self.folder, head, *pin)?)))
            .collect::<Result<_, ShelterError>>()?;
        let current = self.current();
        // Gone first: a folder may take a file's place.
        for (path, entry) in before.iter().flat_map(|before| before.entries.iter().rev()) {
            let same_kind = manifest
                .entries
                .get(path)
                .is_some_and(|new| std::mem::discriminant(&new.kind) == std::mem::discriminant(&entry.kind));
            if !same_kind {
                self.drop_current(path, entry, &pins)?;
            }
        }
        for entry in manifest.entries.values() {
            let name = relative(&entry.path).map_err(ShelterError::io("name", &current))?;
            let place = current.join(&name);
            match &entry.kind {
                EntryKind::Folder => {
                    fs::create_dir_all(&place).map_err(ShelterError::io("make the folder", &place))?;
                }
                EntryKind::File { .. } => {
                    let new = staged.join(&name);
                    if !new.exists() {
                        continue;
                    }
                    if let Some(old) = before.as_ref().and_then(|before| before.entries.get(&entry.path)) {
                        self.drop_current(&entry.path, old, &pins)?;
                    }
                    if let Some(folder) = place.parent() {
                        fs::create_dir_all(folder).map_err(ShelterError::io("make the folder", folder))?;
                    }
                    fs::rename(&new, &place).map_err(ShelterError::io("move", &new))?;
                }
                EntryKind::Link { to } => {
                    let to = loadline_shelter_policy::tree::unescaped(to).unwrap_or_default();
                    let to = Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&to));
                    if fs::read_link(&place).ok().as_deref() != Some(to) {
                        let _ = fs::remove_file(&place);
                        std::os::unix::fs::symlink(to, &place).map_err(ShelterError::io("link", &place))?;
                    }
                }
                EntryKind::Pipe => {}
            }
        }
        self.dress(manifest);
        let folder = File::open(&self.folder).map_err(ShelterError::io("open", &self.folder))?;
        write_back_file_system(&folder).map_err(ShelterError::io("write back", &self.folder))?;
        if staged.exists() {
            fs::remove_dir_all(&staged).map_err(ShelterError::io("remove", &staged))?;
        }
        if old.exists() && !head.pinned.contains(&(generation - 1)) {
            fs::remove_file(&old).map_err(ShelterError::io("remove", &old))?;
        }
        sync_folder(&self.folder).map_err(ShelterError::io("write back", &self.folder))
    }

    /// Gives the copy owners, modes and attributes as far as this user and file system can: the manifest has them in any case.
    fn dress(&self, manifest: &Manifest) {
        if let Ok(root) = TreeRoot::open(&self.current()) {
            for entry in manifest.entries.values().rev() {
                let _ = root.dress(entry);
            }
        }
    }

    /// Takes an entry out of the copy. A file that a pinned generation needs is moved to where that one finds it.
    fn drop_current(&self, path: &TreePath, old: &TreeEntry, pins: &[(u64, Manifest)]) -> Result<(), ShelterError> {
        let current = self.current();
        let name = relative(path).map_err(ShelterError::io("name", &current))?;
        let place = current.join(&name);
        let found = match fs::symlink_metadata(&place) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ShelterError::io("look at", &place)(error)),
        };
        // Done twice: what is there may already be the new entry, of another kind.
        let is_old = match old.kind {
            EntryKind::Folder => found.is_dir(),
            EntryKind::File { .. } => found.is_file(),
            EntryKind::Link { .. } => found.is_symlink(),
            EntryKind::Pipe => false,
        };
        if !is_old {
            return Ok(());
        }
        if found.is_dir() {
            return match fs::remove_dir(&place) {
                // Its own entries went before: what is left in it is somebody else's.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
                other => other.map_err(ShelterError::io("remove", &place)),
            };
        }
        let wanted = pins.iter().rev().find(|(pin, manifest)| {
            let same = manifest.entries.get(path).is_some_and(|entry| entry.kind == old.kind);
            same && found.is_file() && !self.kept(*pin).join(&name).exists()
        });
        if let Some((pin, _)) = wanted {
            let kept = self.kept(*pin).join(&name);
            if let Some(folder) = kept.parent() {
                fs::create_dir_all(folder).map_err(ShelterError::io("make the folder", folder))?;
            }
            return fs::rename(&place, &kept).map_err(ShelterError::io("keep", &place));
        }
        fs::remove_file(&place).map_err(ShelterError::io("remove", &place))
    }

    /// The deletions were meant: pinned generations go.
    pub(crate) fn unpin(&mut self, claim: &str) -> Result<Vec<u64>, ShelterError> {
        let pinned = self.pinned();
        let Some(mut head) = self.head.clone().filter(|_| !pinned.is_empty()) else { return Ok(pinned) };
        let _lock = self.lock()?;
        self.fence(claim)?;
        let old = head.clone();
        let generation = head.generation;
        head.manifests.retain(|of, _| *of == generation);
        head.pinned.clear();
        let place = self.folder.join(HEAD);
        let text = serde_json::to_string(&head).expect("text and numbers can be written");
        write_durably(&place, text.as_bytes()).map_err(ShelterError::io("write", &place))?;
        self.head = Some(head);
        for pin in &pinned {
            let kept = self.kept(*pin);
            if kept.exists() {
                fs::remove_dir_all(&kept).map_err(ShelterError::io("remove", &kept))?;
            }
            let manifest = manifest_file(&self.folder, &old, *pin);
            if *pin != generation && manifest.exists() {
                fs::remove_file(&manifest).map_err(ShelterError::io("remove", &manifest))?;
            }
        }
        Ok(pinned)
    }

    fn current(&self) -> PathBuf {
        self.folder.join("current")
    }
    fn staged(&self, name: &str) -> PathBuf {
        self.folder.join("staged").join(name)
    }
    /// Holds others of this machine, and those who share the folder, off while something is written.
    fn lock(&self) -> Result<FileLock, ShelterError> {
        let path = self.folder.join(LOCK);
        let file = File::create(&path).map_err(ShelterError::io("open", &path))?;
        FileLock::take(file)
            .map_err(|_| ShelterError::Unsupported(format!("somebody else writes to {} now", self.folder.display())))
    }
    fn kept(&self, generation: u64) -> PathBuf {
        self.folder.join("kept").join(generation.to_string())
    }
}

/// The name of a generation that a disk with this claim writes: two writers never meet in one file.
fn own_name(generation: u64, claim: &str) -> String {
    format!("{generation}-{claim}")
}

/// Where a generation's manifest is.
fn manifest_file(folder: &Path, head: &CopyHead, generation: u64) -> PathBuf {
    let name = head.manifests.get(&generation).cloned().unwrap_or_else(|| generation.to_string());
    folder.join("manifests").join(format!("{name}.jsonl"))
}

/// Folders that an interrupted first save leaves.
fn is_own_folder(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    ["current", "staged", "manifests", "kept", "lost+found"].iter().any(|own| name == *own)
        || name == format!("{HEAD}.new").as_str()
        || name == LOCK
}

/// The path of an entry below a folder of the destination.
fn relative(path: &TreePath) -> io::Result<PathBuf> {
    let bytes = path.to_bytes().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)))
}

fn read_head(folder: &Path) -> Result<Option<CopyHead>, ShelterError> {
    let path = folder.join(HEAD);
    let bytes = read_bounded(&path, HEAD_BYTES_MAX).map_err(ShelterError::io("read", &path))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let wrong = |reason: String| ShelterError::Record { path: path.clone(), reason };
    let head: CopyHead = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    if head.schema != COPY_SCHEMA {
        return Err(wrong(format!("{} is not known here: use a newer loadline", head.schema)));
    }
    Ok(Some(head))
}

fn read_manifest(folder: &Path, head: &CopyHead, generation: u64) -> Result<Manifest, ShelterError> {
    let path = manifest_file(folder, head, generation);
    let bytes = read_bounded(&path, MANIFEST_BYTES_MAX).map_err(ShelterError::io("read", &path))?;
    let wrong = |reason: &str| ShelterError::Record { path: path.clone(), reason: reason.to_owned() };
    let bytes = bytes.ok_or_else(|| wrong("it is missing"))?;
    let is_newest = generation == head.generation;
    if is_newest && blake3::hash(&bytes).to_hex().as_str() != head.manifest {
        return Err(wrong("it is not what was committed"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is no text"))?;
    Manifest::parse(&text).map_err(|source| ShelterError::Manifest { path, source })
}

/// The group that an entry belongs to, for a restore in order; folders above all groups come first.
pub(crate) fn order_of(groups: &[loadline_shelter_policy::config::Group], path: &TreePath) -> u32 {
    group_of(groups, path).map_or(0, |group| group.order)
}
