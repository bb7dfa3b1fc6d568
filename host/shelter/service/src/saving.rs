//! One save as the destination sees it: what is on the disk, where contents are read from, which groups are of one moment.

use crate::databases::{LogPositions, is_passing, walk};
use crate::durable::now_ns;
use crate::error::ShelterError;
use crate::frozen_files::{FROZEN, FrozenFiles};
use crate::session::QuietGroup;
use crate::tree_files::{TreeRoot, WalkedTree, attributes_of, stamp_of};
use loadline_shelter_policy::changes::{FileStamp, MassDeletion, TreeDifference, TreeStamps};
use loadline_shelter_policy::config::{DataClass, Group, MARKER_NAME, Moment, ShelterConfig};
use loadline_shelter_policy::tree::{EntryKind, TreePath};
use loadline_shelter_policy::upkeep::ReadShare;
use loadline_shelter_repository::RereadShare;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// How often a file is read again that changed meanwhile.
const READS_MAX: u32 = 4;
/// The first wait before that; it doubles. It is longer than a step of the clock.
pub(crate) const READ_AGAIN: Duration = Duration::from_millis(25);
/// File systems note times in steps of up to so many nanoseconds: two changes within one look the same.
const CLOCK_STEP_NS: i64 = 20_000_000;
/// How often reflinks are taken again because something changed between the first and the last.
const CLONES_MAX: u32 = 4;
/// What a save did.
#[derive(Debug, Clone, Default)]
pub struct SaveReport {
    /// The generation that was committed.
    pub generation: u64,
    /// Files whose contents were written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that have their previous version, or none: why.
    pub inexact: BTreeMap<TreePath, String>,
    /// Groups whose files are not of one moment.
    pub fuzzy: Vec<String>,
    /// Groups that lost more than usual; the generation before is pinned.
    pub deletions: BTreeMap<String, MassDeletion>,
    /// Groups that have their previous generation because the promised moment was not reached: why.
    pub failed: BTreeMap<String, String>,
    /// How long it took.
    pub took: Duration,
}

/// What is to be saved.
pub(crate) struct Picture<'a> {
    pub(crate) root: &'a TreeRoot,
    pub(crate) groups: &'a [Group],
    pub(crate) walked: WalkedTree,
    /// Files that are read from copies, which nobody changes.
    pub(crate) frozen: FrozenFiles<'a>,
    /// Groups of which such copies were made, with the time of the look at them, ns since 1970.
    taken: BTreeMap<String, i64>,
    /// Files that are not saved, but whose change is a change of their group.
    pub(crate) witnesses: TreeStamps,
    /// When databases changed last, if that shows in another file.
    pub(crate) changed: BTreeMap<TreePath, i64>,
    /// Where servers were, if this is saved.
    pub(crate) positions: LogPositions,
    pub(crate) of_one_moment: Vec<String>,
    pub(crate) fuzzy: Vec<String>,
    /// Groups that are not looked at: the next generation has what the newest one has of them.
    pub(crate) carried: Vec<&'a Group>,
    /// Applications that let their files be until everything is copied.
    quiet: Mutex<Vec<QuietGroup>>,
    /// Files of this share are read although they look unchanged.
    pub(crate) reread: Option<ReadShare>,
    /// When the first look began, ns since 1970.
    begun_ns: i64,
}

/// What is known of the last save.
pub(crate) struct EarlierSave<'k> {
    /// Files that it has as they are.
    pub(crate) known: &'k TreeStamps,
    /// Where servers were.
    pub(crate) positions: &'k LogPositions,
}

/// What to do on a file system without reflinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WithoutReflinks {
    /// Say so.
    Report,
    /// Copy.
    Copy,
}

/// What became of the copies of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frozen {
    /// Every file was there.
    Whole,
    /// Some went before their copies were made.
    Partly,
    /// The file system has no reflinks.
    NoReflinks,
}

/// Whether the file system has no reflinks.
fn is_unsupported(error: &io::Error) -> bool {
    // EOPNOTSUPP, EINVAL, ENOTTY.
    matches!(error.raw_os_error(), Some(95 | 22 | 25))
}

impl<'a> Picture<'a> {
    /// Looks at all groups, and takes reflinks and sessions where the configuration wants one moment. Groups that failed are carried
    /// over. Files that are as `known` says need no copy, unless they are in the share that is read again.
    pub(crate) fn take(
        root: &'a TreeRoot,
        config: &'a ShelterConfig,
        failed: &BTreeMap<String, String>,
        earlier: &EarlierSave<'_>,
        reread: Option<ReadShare>,
    ) -> Result<Self, ShelterError> {
        let known = earlier.known;
        let frozen = FrozenFiles::none(root).map_err(ShelterError::io("remove", root.path().join(FROZEN)))?;
        let mut picture = Self {
            root,
            groups: &config.groups,
            walked: WalkedTree::default(),
            frozen,
            taken: BTreeMap::new(),
            witnesses: TreeStamps::new(),
            changed: BTreeMap::new(),
            positions: LogPositions::new(),
            of_one_moment: Vec::new(),
            fuzzy: Vec::new(),
            carried: Vec::new(),
            quiet: Mutex::default(),
            reread,
            begun_ns: now_ns(),
        };
        for group in config.groups.iter().filter(|group| group.class != DataClass::Recreate) {
            if failed.contains_key(&group.name) {
                picture.carried.push(group);
                continue;
            }
            let quiet = QuietGroup::begin(group)?;
            let frozen = match &group.moment {
                _ if group.class != DataClass::Files => None,
                Moment::Reflink => {
                    let found = picture.reflinks(group, known, WithoutReflinks::Report, &mut |_, _| {})?;
                    let reason =
                        || format!("{} has no reflinks: use XFS or btrfs, or another moment", root.path().display());
                    Some(found.ok_or_else(|| not_one_moment(group, reason())).map(Some)?)
                }
                Moment::Sqlite(databases) => Some(picture.sqlite(group, databases, known)?),
                Moment::Postgres(connection) => Some(picture.postgres(group, connection, known, earlier.positions)?),
                Moment::EachFile | Moment::Session(_) => None,
            };
            let walked = if let Some(walked) = frozen {
                // What is read from now on are copies: the application goes on at once.
                quiet.map_or(Ok(()), QuietGroup::end)?;
                // Without a look, the group is as it was saved.
                let Some(walked) = walked else { continue };
                walked
            } else {
                picture.quiet.get_mut().extend(quiet);
                let kind = if group.is_of_one_moment() { &mut picture.of_one_moment } else { &mut picture.fuzzy };
                kind.push(group.name.clone());
                walk(root, group)
            };
            if group.is_of_one_moment()
                && let Some((path, trouble)) = walked.troubles.first_key_value()
            {
                return Err(not_one_moment(group, format!("{}: {trouble}", path.as_text())));
            }
            picture.walked.entries.extend(walked.entries);
            picture.walked.troubles.extend(walked.troubles);
        }
        Ok(picture)
    }

    /// Whether a later change of a file is bound to show in its stamp: one in the same step of the clock would not.
    pub(crate) fn is_settled(&self, path: &TreePath, stamp: FileStamp) -> bool {
        let taken = group_of(self.groups, path).and_then(|group| self.taken.get(&group.name));
        Self::was_settled(stamp, taken.copied().unwrap_or(self.begun_ns))
    }

    /// The same for a look that began at this time.
    pub(crate) fn was_settled(stamp: FileStamp, begun_ns: i64) -> bool {
        stamp.changed_ns < begun_ns - CLOCK_STEP_NS
    }

    /// Brings what is known up to date with files that are not saved.
    pub(crate) fn witnessed(&self) -> impl FnOnce(&mut TreeStamps) + use<> {
        let settled = self.witnesses.iter().filter(|(path, stamp)| self.is_settled(path, **stamp));
        let settled: TreeStamps = settled.map(|(path, stamp)| (path.clone(), *stamp)).collect();
        let is_at_rest = |group: &&&Group| self.witnesses.keys().any(|path| is_passing(group, path));
        let rested: Vec<Group> = self.carried.iter().filter(is_at_rest).map(|group| (*group).clone()).collect();
        move |known| {
            // What a server at rest removed from its log is no change.
            known.retain(|path, _| !rested.iter().any(|group| is_passing(group, path)));
            known.extend(settled);
        }
    }

    /// Whether there is something at the path of a group.
    pub(crate) fn has(&self, path: &str) -> bool {
        let Ok(path) = TreePath::of_bytes(path.as_bytes()) else { return false };
        self.walked.entries.contains_key(&path) || self.walked.troubles.contains_key(&path)
    }

    /// When copies of a group were made, ns since 1970; `None` if it is read where it is.
    pub(crate) fn taken_ns(&self, group: &Group) -> Option<i64> {
        self.taken.get(&group.name).copied()
    }

    /// Lets a step of the clock go by if a file changed in this one.
    pub(crate) fn settle(&self) {
        let newest = self.walked.entries.values().map(|seen| seen.stamp.changed_ns).max().unwrap_or(0);
        if newest >= now_ns() - CLOCK_STEP_NS {
            std::thread::sleep(READ_AGAIN);
        }
    }

    /// Whether nothing differs from what is saved.
    pub(crate) fn is_known(&self, known: &TreeStamps) -> bool {
        let counts = |path: &TreePath| match group_of(self.groups, path) {
            Some(group) => !self.carries(group),
            // A folder above a group that is carried over.
            None => self.walked.entries.contains_key(path),
        };
        self.walked.entries.len() + self.witnesses.keys().filter(|path| counts(path)).count()
            == known.keys().filter(|path| counts(path)).count()
            && self
                .witnesses
                .iter()
                .filter(|(path, _)| counts(path))
                .all(|(path, stamp)| known.get(path) == Some(stamp))
            && self.walked.entries.iter().all(|(path, seen)| known.get(path) == Some(&seen.stamp))
    }

    /// Takes reflinks of the files of a group that changed, until nothing changed between the first and the last. `None`: there are no
    /// reflinks on this file system. `opened` gets the files that were opened.
    pub(crate) fn reflinks(
        &mut self,
        group: &Group,
        known: &TreeStamps,
        without: WithoutReflinks,
        opened: &mut dyn FnMut(&TreePath, File),
    ) -> Result<Option<WalkedTree>, ShelterError> {
        for _ in 0..CLONES_MAX {
            let begun_ns = now_ns();
            let mut before = walk(self.root, group);
            let frozen = self.freeze(group, &mut before, known, without, opened)?;
            if frozen == Frozen::NoReflinks {
                return Ok(None);
            }
            let after = walk(self.root, group);
            let stamps = |walked: &WalkedTree| -> Vec<(TreePath, FileStamp)> {
                walked.entries.iter().map(|(path, seen)| (path.clone(), seen.stamp)).collect()
            };
            let is_still = frozen == Frozen::Whole
                && stamps(&before) == stamps(&after)
                && before.entries.values().all(|seen| Self::was_settled(seen.stamp, begun_ns));
            if is_still {
                self.taken(group, begun_ns);
                return Ok(Some(before));
            }
            self.forget(group)?;
            std::thread::sleep(READ_AGAIN);
        }
        Err(not_one_moment(group, format!("files changed each of {CLONES_MAX} times while they were copied")))
    }

    /// Copies of a group were made, beginning at this time.
    pub(crate) fn taken(&mut self, group: &Group, begun_ns: i64) {
        self.of_one_moment.push(group.name.clone());
        self.taken.insert(group.name.clone(), begun_ns);
    }

    /// Takes reflinks of the files that changed, and notes the attributes of what may be saved.
    pub(crate) fn freeze(
        &mut self,
        group: &Group,
        walked: &mut WalkedTree,
        known: &TreeStamps,
        without: WithoutReflinks,
        opened: &mut dyn FnMut(&TreePath, File),
    ) -> Result<Frozen, ShelterError> {
        let at = self.root.path();
        let prefix = [at.as_os_str().as_bytes(), b"/"].concat();
        let prefix = prefix.as_slice();
        let reread = self.reread.map(|ReadShare { share, of }| RereadShare { share, of });
        let mut gone = Vec::new();
        for (path, seen) in &mut walked.entries {
            let EntryKind::File { size, .. } = &mut seen.entry.kind else {
                match self.root.attributes(&seen.entry) {
                    Ok(attributes) => seen.entry.attributes = attributes,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => gone.push(path.clone()),
                    Err(error) => return Err(ShelterError::io("look at", at.join(path.as_text()))(error)),
                }
                continue;
            };
            let is_reread =
                reread.is_some_and(|share| share.has(&[prefix, &path.to_bytes().unwrap_or_default()].concat()));
            if known.get(path) == Some(&seen.stamp) && !is_reread {
                continue;
            }
            match self.freeze_file(path, without) {
                Ok((bytes, attributes, source)) => {
                    *size = bytes;
                    seen.entry.attributes = attributes;
                    opened(path, source);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => gone.push(path.clone()),
                Err(error) if is_unsupported(&error) && without == WithoutReflinks::Report => {
                    self.forget(group)?;
                    return Ok(Frozen::NoReflinks);
                }
                Err(error) => return Err(ShelterError::io("reflink", at.join(path.as_text()))(error)),
            }
        }
        // What went before its copy was made is no part of the picture.
        walked.entries.retain(|path, _| !gone.contains(path));
        Ok(if gone.is_empty() { Frozen::Whole } else { Frozen::Partly })
    }

    /// A copy of one file: how long it is, the attributes of the file, and the open file.
    fn freeze_file(
        &mut self,
        path: &TreePath,
        without: WithoutReflinks,
    ) -> io::Result<(u64, BTreeMap<String, String>, File)> {
        let source = self.root.open_file(path)?;
        match self.frozen.reflink(path, &source) {
            Err(error) if is_unsupported(&error) && without == WithoutReflinks::Copy => {
                let mut read = 0;
                loop {
                    let before = stamp_of(&source)?;
                    rustix::fs::seek(&source, rustix::fs::SeekFrom::Start(0))?;
                    self.frozen.copy(path, &source)?;
                    read += 1;
                    // What is written all the time is taken as it is: a server's log mends it.
                    if stamp_of(&source)? == before || read == READS_MAX {
                        break;
                    }
                }
            }
            other => other?,
        }
        let place = self.frozen.place(path).unwrap_or_default();
        Ok((std::fs::metadata(place)?.len(), attributes_of(&source)?, source))
    }

    /// Removes the copies of a group.
    pub(crate) fn forget(&mut self, group: &Group) -> Result<(), ShelterError> {
        let of_group = |path: &TreePath| group.paths.iter().any(|of| path.is_within(of));
        self.frozen.forget(of_group).map_err(ShelterError::io("remove", self.root.path().join(FROZEN)))
    }

    /// Whether a group is carried over.
    fn carries(&self, group: &Group) -> bool {
        self.carried.iter().any(|carried| carried.name == group.name)
    }

    /// Every copy was made, and nothing is committed yet: applications go on. Groups that were promised to be of one moment must be as
    /// they were at the first look.
    pub(crate) fn release(&self) -> Result<(), ShelterError> {
        let still = self.groups.iter().filter(|group| group.is_of_one_moment() && !self.carries(group));
        for group in still.filter(|group| self.taken_ns(group).is_none()) {
            let walked = walk(self.root, group);
            let seen = self.walked.entries.iter().filter(|(path, _)| group.paths.iter().any(|of| path.is_within(of)));
            let seen: TreeStamps = seen.map(|(path, seen)| (path.clone(), seen.stamp)).collect();
            let now: TreeStamps = walked.entries.into_iter().map(|(path, seen)| (path, seen.stamp)).collect();
            let difference = TreeDifference::between(&seen, &now);
            if let Some(path) = difference.changed.first().or(difference.gone.first()) {
                return Err(not_one_moment(group, format!("{} changed while it was saved", path.as_text())));
            }
        }
        let quiet = std::mem::take(&mut *self.quiet.lock());
        let mut ended = Ok(());
        for group in quiet {
            ended = ended.and(group.end());
        }
        ended
    }
}

/// A promise that was not kept.
pub(crate) fn not_one_moment(group: &Group, reason: String) -> ShelterError {
    ShelterError::NotOneMoment { group: group.name.clone(), reason }
}

/// The group of a path.
pub(crate) fn group_of<'g>(groups: &'g [Group], path: &TreePath) -> Option<&'g Group> {
    groups.iter().find(|group| group.paths.iter().any(|of| path.is_within(of)))
}

/// Whether a path is the shelter's own.
pub(crate) fn is_own(name: &[u8]) -> bool {
    name.starts_with(MARKER_NAME.as_bytes())
}
