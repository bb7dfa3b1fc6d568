//! Groups of databases: copies of their files while they run, of one moment.

mod postgres;
mod sqlite;

pub(crate) use postgres::LogPosition;

use crate::durable::now_ns;
use crate::error::ShelterError;
use crate::frozen_files::FROZEN;
use crate::saving::{Frozen, Picture, READ_AGAIN, WithoutReflinks, not_one_moment};
use crate::tree_files::{SeenEntry, TreeRoot, WalkedTree};
use loadline_shelter_policy::changes::{FileStamp, TreeStamps};
use loadline_shelter_policy::config::{DataClass, Group, Moment};
use loadline_shelter_policy::tree::{EntryKind, TreePath};
use postgres::Server;
use sqlite::StillDatabases;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

/// How often other files of a group may change while its databases are copied.
const COPIES_MAX: u32 = 4;

/// A path of the configuration as the tree writes it, with something behind it.
fn tree_path(path: &str, behind: &str) -> Option<TreePath> {
    TreePath::of_bytes(format!("{path}{behind}").as_bytes()).ok()
}

/// Whether a path is one that a database of the group makes anew by itself.
fn is_left_out(group: &Group, path: &TreePath) -> bool {
    match &group.moment {
        Moment::Sqlite(databases) => {
            databases.iter().any(|database| tree_path(database, sqlite::SHARED).as_ref() == Some(path))
        }
        Moment::Postgres(_) => {
            let inner = |of: &String| path.as_text().strip_prefix(of.as_str())?.strip_prefix('/').map(str::to_owned);
            group.paths.iter().filter_map(inner).any(|inner| postgres::is_left_out(&inner))
        }
        _ => false,
    }
}

/// Whether files at this path come and go by themselves: that many of them go at once is no deletion.
pub(crate) fn is_passing(group: &Group, path: &TreePath) -> bool {
    matches!(group.moment, Moment::Postgres(_))
        && group.paths.iter().any(|of| path.is_within(&format!("{of}/{}", postgres::LOG)))
}

/// A look at a group, without what its database makes anew.
pub(crate) fn walk(root: &TreeRoot, group: &Group) -> WalkedTree {
    let mut walked = root.walk(&group.paths);
    walked.entries.retain(|path, _| !is_left_out(group, path));
    walked.troubles.retain(|path, _| !is_left_out(group, path));
    if let Moment::Sqlite(databases) = &group.moment {
        // Each connection of root sets the owner of a log once more: that is no change.
        for path in databases.iter().flat_map(|database| beside(database)) {
            walked.entries.entry(path).and_modify(|seen| seen.stamp.changed_ns = seen.stamp.modified_ns);
        }
    }
    walked
}

/// Where an entry is.
fn place_of(root: &TreeRoot, path: &TreePath) -> PathBuf {
    root.path().join(OsStr::from_bytes(&path.to_bytes().unwrap_or_default()))
}

/// The log and the journal of a database.
fn beside(database: &str) -> Vec<TreePath> {
    sqlite::BESIDE.iter().filter_map(|end| tree_path(database, end)).collect()
}

/// Where the servers of groups were at the last save: one that is not beyond it has nothing new.
pub(crate) type LogPositions = BTreeMap<String, LogPosition>;

impl<'a> Picture<'a> {
    /// Whether a group is as it was saved last.
    fn is_as_saved(&self, group: &Group, walked: &WalkedTree, known: &TreeStamps) -> bool {
        let of_group = |path: &TreePath| group.paths.iter().any(|of| path.is_within(of));
        let now = || walked.entries.iter().filter(|(path, _)| of_group(path));
        self.reread.is_none()
            && walked.troubles.is_empty()
            && now().count() == known.keys().filter(|path| of_group(path)).count()
            && now().all(|(path, seen)| known.get(path) == Some(&seen.stamp))
    }

    /// SQLite databases and what is beside them. `None`: nothing changed, so the group is carried over.
    pub(crate) fn sqlite(
        &mut self,
        group: &'a Group,
        databases: &[String],
        known: &TreeStamps,
    ) -> Result<Option<WalkedTree>, ShelterError> {
        let walked = walk(self.root, group);
        if self.is_as_saved(group, &walked, known) {
            self.carried.push(group);
            return Ok(None);
        }
        let failed = |reason: String| not_one_moment(group, reason);
        let timeout = Duration::from_nanos(group.timeout.as_ns());
        let databases: Vec<TreePath> = databases.iter().filter_map(|database| tree_path(database, "")).collect();
        let there: Vec<TreePath> = databases.into_iter().filter(|path| walked.entries.contains_key(path)).collect();
        let places: Vec<PathBuf> = there.iter().map(|path| place_of(self.root, path)).collect();
        let still = StillDatabases::lock(&places, timeout).map_err(failed)?;
        // Closed only after the locks are given back: closing them would give the locks back.
        let mut opened = Vec::new();
        let frozen = self.reflinks(group, known, WithoutReflinks::Report, &mut |path, file| {
            opened.extend(there.contains(path).then_some(file));
        });
        still.release().map_err(failed)?;
        drop(opened);
        match frozen? {
            Some(walked) => Ok(Some(walked)),
            None => self.backed_up(group, &there, known, timeout).map(Some),
        }
    }

    /// The same on a file system without reflinks: by SQLite's own backup.
    fn backed_up(
        &mut self,
        group: &Group,
        databases: &[TreePath],
        known: &TreeStamps,
        timeout: Duration,
    ) -> Result<WalkedTree, ShelterError> {
        let failed = |reason: String| not_one_moment(group, reason);
        let places: Vec<PathBuf> = databases.iter().map(|path| place_of(self.root, path)).collect();
        let beside: Vec<TreePath> = databases
            .iter()
            .flat_map(|path| {
                sqlite::BESIDE.iter().filter_map(|end| TreePath::parse(&format!("{}{end}", path.as_text())).ok())
            })
            .collect();
        for _ in 0..COPIES_MAX {
            let begun_ns = now_ns();
            let mut walked = walk(self.root, group);
            for path in databases {
                // What is written into its log is a change of the database.
                let ends =
                    sqlite::BESIDE.iter().filter_map(|end| TreePath::parse(&format!("{}{end}", path.as_text())).ok());
                let beside = ends.filter_map(|beside| walked.entries.get(&beside)).map(|seen| seen.stamp.changed_ns);
                let changed = walked.entries.get(path).map(|seen| seen.stamp.changed_ns);
                self.changed.extend(beside.chain(changed).max().map(|latest| (path.clone(), latest)));
            }
            let witnesses = witnesses(&mut walked, |path| beside.contains(path));
            // The others first, with the attributes of all: no handle of a database is opened under its lock.
            let (of_databases, entries) = walked.entries.into_iter().partition(|(path, _)| databases.contains(path));
            walked = WalkedTree { entries: of_databases, troubles: walked.troubles };
            let mut others = WalkedTree { entries, troubles: BTreeMap::new() };
            let is_whole = self.freeze(group, &mut others, known, WithoutReflinks::Copy, &mut |_, _| {})?;
            for path in databases {
                let Some(seen) = walked.entries.get_mut(path) else { continue };
                let attributes = self.root.attributes(&seen.entry);
                seen.entry.attributes = attributes.map_err(|error| failed(format!("{}: {error}", path.as_text())))?;
            }
            // Several databases are of one moment only if nobody writes to any of them.
            let still =
                if databases.len() > 1 { Some(StillDatabases::lock(&places, timeout).map_err(failed)?) } else { None };
            for (path, place) in databases.iter().zip(&places) {
                let Some(seen) = walked.entries.get_mut(path) else { continue };
                let io = |error| ShelterError::io("copy", place)(error);
                drop(self.frozen.create(path).map_err(io)?);
                let into = self.frozen.place(path).unwrap_or_default();
                sqlite::back_up(place, &into, timeout).map_err(failed)?;
                let size = std::fs::metadata(&into).map_err(io)?.len();
                seen.entry.kind = EntryKind::File { size, hash: String::new() };
            }
            still.map_or(Ok(()), StillDatabases::release).map_err(failed)?;
            let after = walk(self.root, group);
            let is_still = others.entries.iter().all(|(path, seen)| {
                let is_file = matches!(seen.entry.kind, EntryKind::File { .. });
                !is_file || after.entries.get(path).is_some_and(|now| now.stamp == seen.stamp)
            });
            walked.entries.extend(others.entries);
            if is_whole == Frozen::Whole && is_still {
                self.taken(group, begun_ns);
                self.witnesses.extend(witnesses);
                return Ok(walked);
            }
            self.forget(group)?;
            std::thread::sleep(READ_AGAIN);
        }
        Err(failed(format!("files beside its databases changed each of {COPIES_MAX} times")))
    }

    /// The files of a PostgreSQL server that runs or rests. `None`: nothing changed, so the group is carried over.
    pub(crate) fn postgres(
        &mut self,
        group: &'a Group,
        connection: &str,
        known: &TreeStamps,
        positions: &LogPositions,
    ) -> Result<Option<WalkedTree>, ShelterError> {
        let failed = |reason: String| not_one_moment(group, reason);
        let walked = walk(self.root, group);
        let Some(folder) = data_folder(group, &walked) else {
            if walked.entries.is_empty() {
                return Ok(Some(walked));
            }
            return Err(failed("none of its paths is a data folder of PostgreSQL: they have no PG_VERSION".to_owned()));
        };
        if let Some((path, _)) = walked.entries.iter().find(|(path, seen)| is_elsewhere(&folder, path, seen)) {
            return Err(failed(format!(
                "{} leads out of the data folder: only what is in it is saved",
                path.as_text()
            )));
        }
        let data = self.root.path().join(&folder);
        if !postgres::is_served(&data) {
            if self.is_as_saved(group, &walked, known) {
                self.carried.push(group);
                return Ok(None);
            }
            let frozen = self.reflinks(group, known, WithoutReflinks::Copy, &mut |_, _| {})?;
            if postgres::is_served(&data) {
                return Err(failed("its server was started while it was copied".to_owned()));
            }
            return Ok(frozen);
        }
        let timeout = Duration::from_nanos(group.timeout.as_ns());
        let mut server = Server::connect(connection, owner(&data), timeout).map_err(failed)?;
        let control = control_of(&data).map_err(|error| failed(format!("global/pg_control: {error}")))?;
        server.works_on(control).map_err(failed)?;
        let position = server.position().map_err(failed)?;
        if self.reread.is_none() && positions.get(&group.name).is_some_and(|quiet| position <= *quiet) {
            let mut log = walked;
            let is_log = |path: &TreePath| is_passing(group, path);
            self.witnesses.extend(witnesses(&mut log, is_log));
            self.carried.push(group);
            return Ok(None);
        }
        server.begin_backup().map_err(failed)?;
        std::thread::sleep(READ_AGAIN);
        let begun_ns = now_ns();
        let mut walked = walk(self.root, group);
        walked
            .entries
            .retain(|path, seen| !(is_passing(group, path) && matches!(seen.entry.kind, EntryKind::File { .. })));
        self.freeze(group, &mut walked, known, WithoutReflinks::Copy, &mut |_, _| {})?;
        let end = server.end_backup().map_err(failed)?;
        if end.has_tablespaces {
            return Err(failed("it has tablespaces outside its data folder: they are not saved".to_owned()));
        }
        let mut log = self.root.walk(&[format!("{folder}/{}", postgres::LOG)]);
        let seen_log = log.entries.iter().map(|(path, seen)| (path.clone(), seen.stamp)).collect::<TreeStamps>();
        let name = |path: &TreePath| path.as_text().rsplit('/').next().unwrap_or_default().to_owned();
        log.entries.retain(|path, _| end.needs(&name(path)) || name(path).ends_with(".history"));
        self.freeze(group, &mut log, known, WithoutReflinks::Copy, &mut |_, _| {})?;
        let names: Vec<String> = log.entries.keys().map(name).filter(|name| end.needs(name)).collect();
        if !end.has_log(&names, server.segment_bytes()) {
            let (first, last) = &end.segments;
            return Err(failed(format!("its log from {first} to {last} is not all there: {}", names.join(", "))));
        }
        drop(server);
        walked.entries.extend(log.entries);
        let label = self.label(&folder, &walked, &end.label)?;
        walked.entries.insert(label.entry.path.clone(), label);
        let rest = seen_log.into_iter().filter(|(path, _)| !walked.entries.contains_key(path));
        self.witnesses.extend(rest);
        self.positions.insert(group.name.clone(), end.quiet_until);
        self.taken(group, begun_ns);
        Ok(Some(walked))
    }

    /// The file by which a restored server knows from where to read its log. It is never beside a server that runs.
    fn label(&mut self, folder: &str, walked: &WalkedTree, text: &str) -> Result<SeenEntry, ShelterError> {
        let wrong = || ShelterError::Unsupported(format!("{folder} has no PG_VERSION"));
        let path = tree_path(folder, "/backup_label").ok_or_else(wrong)?;
        let mut label =
            tree_path(folder, "/PG_VERSION").and_then(|like| walked.entries.get(&like)).cloned().ok_or_else(wrong)?;
        let written = self.frozen.create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(ShelterError::io("write", self.root.path().join(FROZEN)))?;
        let (size, now) = (text.len() as u64, now_ns());
        label.entry.path = path;
        label.entry.kind = EntryKind::File { size, hash: String::new() };
        label.entry.modified_ns = now;
        label.stamp = FileStamp { size, modified_ns: now, changed_ns: now, inode: 0 };
        Ok(label)
    }
}

/// Takes entries out of a look: they are not saved, but a change of them is a change of the group.
fn witnesses(walked: &mut WalkedTree, is_one: impl Fn(&TreePath) -> bool) -> TreeStamps {
    let entries = std::mem::take(&mut walked.entries);
    let (found, rest): (BTreeMap<_, _>, _) = entries.into_iter().partition(|(path, _)| is_one(path));
    walked.entries = rest;
    found.into_iter().map(|(path, seen)| (path, seen.stamp)).collect()
}

/// The path of a group that is a data folder.
fn data_folder(group: &Group, walked: &WalkedTree) -> Option<String> {
    let is_one = |of: &&String| tree_path(of, "/PG_VERSION").is_some_and(|path| walked.entries.contains_key(&path));
    group.paths.iter().find(is_one).cloned()
}

/// Whether an entry is a link by which a part of the data is elsewhere.
fn is_elsewhere(folder: &str, path: &TreePath, seen: &SeenEntry) -> bool {
    let is_link = matches!(seen.entry.kind, EntryKind::Link { .. });
    is_link
        && (path.is_within(&format!("{folder}/{}", postgres::LOG)) || path.is_within(&format!("{folder}/pg_tblspc")))
}

/// Whom the server takes us for: the owner of the data folder, if we may be anybody.
fn owner(data: &std::path::Path) -> Option<(u32, u32)> {
    let found = std::fs::metadata(data.join("PG_VERSION")).ok()?;
    (rustix::process::geteuid().is_root() && found.uid() != 0).then_some((found.uid(), found.gid()))
}

fn control_of(data: &std::path::Path) -> std::io::Result<[u8; 8]> {
    let mut bytes = [0; 8];
    File::open(data.join("global/pg_control"))?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// What is wrong with the databases of groups below a folder, by their paths.
pub(crate) fn troubles(groups: &[Group], folder: &std::path::Path) -> BTreeMap<TreePath, String> {
    let named = groups.iter().filter(|group| group.class == DataClass::Files).flat_map(|group| match &group.moment {
        Moment::Sqlite(databases) => databases.as_slice(),
        _ => &[],
    });
    let there = named.filter_map(|database| {
        let place = folder.join(database);
        let path = tree_path(database, "").filter(|_| place.exists())?;
        Some((path, sqlite::trouble_of(&place)?))
    });
    there.collect()
}
