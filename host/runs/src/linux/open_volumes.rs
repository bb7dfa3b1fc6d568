//! Opens what a run measures: each target once, or once for each number of test files, large enough for its largest cell.

use crate::begin::work::label;
use crate::place::filling::{self, Wish};
use crate::{
    Error, Event, HostsRefusal, Loss, NamedTarget, Observer, Refusal, Settings, Unneeded, Work, hosts::host_part,
    keep::leftovers, look_first, storage_identity,
};
use loadline_analysis::standing_limits;
use loadline_engine::target::{is_nbd_uri, is_same_export, overlap};
use loadline_engine::{Access, Keep, Need, Volume};
use loadline_kernel::facts::host;
use loadline_record::{LoadFigures, TargetKind, VolumeFacts};
use loadline_units::Bytes;
use loadline_workload::{Fill, LoadSpec, OFFSET_MAX, Origin, RunCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// By the volume's name.
pub(crate) type OpenVolumes = BTreeMap<String, OpenVolume>;

impl Error {
    /// The same, said of a volume.
    pub(crate) fn of_volume(self, volume: &str) -> Self {
        Self::Volume { volume: volume.to_owned(), source: Box::new(self) }
    }
}

/// What a run measures under one name: an existing file or device; or a directory with one set of test files for each number
/// of files that the loads ask for.
#[derive(Debug)]
pub(crate) struct OpenVolume {
    /// The first is the one in the run's header. Never empty.
    sets: Vec<FileSet>,
    /// Whether it still answers.
    pub(crate) health: VolumeHealth,
}

/// Whether an open volume still answers.
#[derive(Debug, Clone)]
pub(crate) enum VolumeHealth {
    /// It does.
    Answers,
    /// Its last trial failed like this, and nothing was asked of it since.
    Doubtful(String),
    /// It stopped answering: nothing more is asked of it.
    Lost(Loss),
}

/// Files that share a size, with what has been done to them.
#[derive(Debug)]
pub(crate) struct FileSet {
    /// How many files the loads on it ask for.
    files: u32,
    /// The engine's view of them.
    pub(crate) volume: Volume,
    /// Whether all that loads touch of it holds data written by this process.
    pub(crate) filled: bool,
    /// What the loads want of it before they begin.
    pub(crate) wish: Wish,
    /// Whether the last load went through the page cache.
    pub(crate) buffered_before: bool,
    /// Whether it may have left something there that is to be written.
    pub(crate) dirty: bool,
    /// Whether it is known which blocks were ever written.
    pub(crate) extents: ExtentsState,
}

/// Whether the volume's facts say which blocks were ever written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ExtentsState {
    /// They do.
    #[default]
    Known,
    /// A trial changed that since.
    Changed,
}

impl FileSet {
    fn new(files: u32, volume: Volume, cells: &[&RunCell]) -> Self {
        let origin = if volume.facts.kind == TargetKind::TestFile { Origin::Made } else { Origin::Found };
        let wish = Wish::of(cells.iter().map(|cell| &cell.spec), origin);
        Self { files, volume, filled: false, wish, buffered_before: false, dirty: false, extents: ExtentsState::Known }
    }
    /// Whether this load begins only when all that loads touch was written.
    #[must_use]
    pub(crate) fn is_full_for(&self, spec: &LoadSpec) -> bool {
        self.volume.writable && self.volume.facts.kind != TargetKind::Null && self.wish.holds_for(spec)
    }
}

impl OpenVolume {
    /// One set, filled already.
    #[must_use]
    pub(crate) fn filled(volume: Volume) -> Self {
        let set = FileSet { filled: true, ..FileSet::new(1, volume, &[]) };
        Self { sets: vec![set], health: VolumeHealth::Answers }
    }
    /// The files that this load runs on.
    pub(crate) fn set_for(&mut self, spec: &LoadSpec) -> &mut FileSet {
        let index = self.index_for(spec);
        &mut self.sets[index]
    }
    /// The engine's view of the files that this load runs on.
    #[must_use]
    pub(crate) fn volume_for(&self, spec: &LoadSpec) -> &Volume {
        &self.set_of(spec).volume
    }
    fn set_of(&self, spec: &LoadSpec) -> &FileSet {
        &self.sets[self.index_for(spec)]
    }
    fn index_for(&self, spec: &LoadSpec) -> usize {
        // What exists is one set, whatever the loads ask for.
        self.sets.iter().position(|set| set.files == spec.files).unwrap_or(0)
    }
    /// Whether it is known to answer.
    const fn is_well(&self) -> bool {
        matches!(self.health, VolumeHealth::Answers)
    }
    /// Leaves its test files in place when it is closed.
    fn keep(&mut self) {
        self.sets.iter_mut().for_each(|set| set.volume.leave_files());
    }
    /// What is stored of it with the run.
    #[must_use]
    pub(crate) fn facts(&self) -> VolumeFacts {
        let mut facts = self.sets[0].volume.facts.clone();
        if self.sets.len() > 1 {
            let counts: Vec<String> = self.sets.iter().map(|set| set.files.to_string()).collect();
            facts.size_reason =
                format!("{}; as much once more for each number of files: {}", facts.size_reason, counts.join(", "));
        }
        facts
    }
}

/// Before which of these cells, in the order of execution, something is filled, and how much: by their place.
#[must_use]
pub(crate) fn filled_before<'a>(
    opened: &OpenVolumes,
    cells: impl IntoIterator<Item = &'a RunCell>,
) -> BTreeMap<usize, Bytes> {
    let cells: Vec<&RunCell> = cells.into_iter().collect();
    let set = |cell: &RunCell| opened[&cell.volume].set_of(&cell.spec);
    let passes = filling::passes(cells.iter().copied(), |cell| set(cell).is_full_for(&cell.spec));
    passes.into_iter().map(|index| (index, set(cells[index]).volume.span())).collect()
}

/// The sets of files other than those of these loads that loads before them left something to be written of: it would be written
/// beneath these, on the same device maybe. None of a volume that does not answer.
#[must_use]
pub(crate) fn dirty_beside<'a>(opened: &'a mut OpenVolumes, cells: &[&RunCell]) -> Vec<&'a mut FileSet> {
    let mut dirty = Vec::new();
    for (name, open) in opened.iter_mut().filter(|(_, open)| open.is_well()) {
        let here = cells.iter().filter(|cell| cell.volume == *name);
        let own: Vec<usize> = here.map(|cell| open.index_for(&cell.spec)).collect();
        let others = open.sets.iter_mut().enumerate().filter(|(index, set)| set.dirty && !own.contains(index));
        dirty.extend(others.map(|(_, set)| set));
    }
    dirty
}

/// What of `--overwrite` nobody needed, each with why; these are the volumes that were opened with it.
pub(crate) fn report_unneeded<'a>(
    settings: &Settings,
    volumes: impl Iterator<Item = &'a Volume>,
    observer: &mut dyn Observer,
) {
    let volumes: Vec<&Volume> = volumes.collect();
    for word in &settings.overwrite {
        if volumes.iter().any(|volume| volume.handed_over().contains(word)) {
            continue;
        }
        let resolved = Path::new(word).canonicalize().ok();
        let is_it = |target: &str| {
            target == word
                || resolved.is_some() && Path::new(target).canonicalize().ok() == resolved
                || is_same_export(target, word)
        };
        let why = if resolved.as_ref().is_some_and(|path| path.is_dir()) {
            Unneeded::Directory
        } else if settings.targets.iter().any(|named| is_it(&named.target)) {
            Unneeded::OnlyRead
        } else {
            Unneeded::NoTarget
        };
        observer.event(&Event::OverwriteUnneeded { word, why });
    }
}

/// Devices that are only written and not filled for that, each with what follows from it. Of files the extents tell.
pub(crate) fn report_unfilled(opened: &OpenVolumes, work: &Work, observer: &mut dyn Observer) {
    for (name, open) in opened {
        let volume = &open.sets[0].volume;
        let is_left = |cell: &RunCell| {
            cell.volume == *name && cell.spec.fill == Fill::Auto && !open.set_of(&cell.spec).is_full_for(&cell.spec)
        };
        let is_found = matches!(volume.facts.kind, TargetKind::BlockDevice | TargetKind::Nbd);
        if is_found && volume.writable && work.cells.iter().any(is_left) {
            observer.event(&Event::NotFilledFirst { volume: name, target: &volume.facts.target, span: volume.span() });
        }
    }
}

/// Looks whether others use the devices of `opened` before the loads of `work`.
///
/// # Errors
/// As of [`look_first`].
pub(crate) fn look_at_use(opened: &OpenVolumes, work: &Work, observer: &mut dyn Observer) -> Result<(), Error> {
    let volumes: Vec<&Volume> = opened.values().map(|open| &open.sets[0].volume).collect();
    let loads =
        work.cells.iter().filter_map(|cell| Some((&opened.get(&cell.volume)?.sets[0].volume.facts, &cell.spec)));
    report_standing(loads, observer);
    let trials = |cell: &RunCell| cell.spec.trial_time() * u64::from(cell.spec.trials);
    look_first(&volumes, work.cells.iter().map(trials).sum(), observer)
}

/// Names what stands in the way of these loads by the kernel's own files, before they begin.
pub(crate) fn report_standing<'a>(
    loads: impl Iterator<Item = (&'a VolumeFacts, &'a LoadSpec)>,
    observer: &mut dyn Observer,
) {
    let limits = standing_limits(&host(), loads.map(|(facts, spec)| (facts, LoadFigures::from(spec))));
    if !limits.is_empty() {
        observer.event(&Event::Standing { limits: &limits });
    }
}

/// Leaves all test files in place when the volumes are closed. They are not before it is known that the run can begin.
pub(crate) fn keep(opened: &mut OpenVolumes) {
    opened.values_mut().for_each(OpenVolume::keep);
}

/// Opens every target of `settings` for the cells of `work` that stand on it; `run` becomes part of the name of test files
/// that have one. A volume in `before` is opened in the size that it had then, and must be the same storage: a run is not resumed
/// on another one. Test files are removed when the volumes are closed, unless [`keep`] is called.
///
/// # Errors
/// A [`Refusal`] where a load cannot be what it says on its target; a refusal of the engine; what is not what it was in `before`.
pub(crate) fn open(
    work: &Work,
    settings: &Settings,
    run: &str,
    before: &[VolumeFacts],
    observer: &mut dyn Observer,
) -> Result<OpenVolumes, Error> {
    check_loads(work, settings)?;
    let access = settings.access();
    let mut opened = BTreeMap::new();
    for named in &settings.targets {
        let cells: Vec<&RunCell> = work.cells.iter().filter(|cell| cell.volume == named.volume).collect();
        let known = before.iter().find(|facts| facts.name == named.volume);
        let mut size = known.and_then(|facts| facts.size_bytes).map(Bytes::new);
        let mut sets: Vec<FileSet> = Vec::new();
        for (files, cells) in by_files(&cells) {
            let mut need = need_of(&cells, files, settings.keep, &named.volume, run);
            // Of loads without a size, all numbers of files get the one that was chosen first.
            if sets.is_empty() || need.size.is_none() {
                need.size = size.or(need.size);
            }
            let volume = all_ranges_fit(named, settings, &need, &cells, &access, observer)
                .and_then(|()| open_one(&named.volume, &named.target, need, largest(&cells), &access, observer))
                .map_err(|error| error.of_volume(&named.volume))?;
            size.get_or_insert(volume.size());
            sets.push(FileSet::new(files, volume, &cells));
        }
        let open = OpenVolume { sets, health: VolumeHealth::Answers };
        let differences = known.map_or_else(Vec::new, |then| storage_identity::differences(then, &open.facts()));
        if !differences.is_empty() {
            return Err(Error::OtherStorage {
                volume: named.volume.clone(),
                target: named.target.clone(),
                run: run.to_owned(),
                differences,
            });
        }
        opened.insert(named.volume.clone(), open);
    }
    report_unneeded(
        settings,
        opened.values().flat_map(|open: &OpenVolume| &open.sets).map(|set| &set.volume),
        observer,
    );
    Ok(opened)
}

/// Opens a target in which each host has a range of its own as large as all of these are together, and closes it again: a host whose own
/// range still fits is refused with the others.
fn all_ranges_fit(
    named: &NamedTarget,
    settings: &Settings,
    need: &Need,
    cells: &[&RunCell],
    access: &Access,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let rank = settings.hosts.as_ref().filter(|part| part.own_range).and_then(|part| part.rank);
    let end = |rank| cells.iter().filter_map(|cell| host_part::end_of_all(&cell.spec, rank)).max();
    let Some(size) = rank.and_then(end) else { return Ok(()) };
    let need = Need { size: Some(size), ..need.clone() };
    open_watched(&named.volume, &named.target, &need, access, observer).map(drop)
}

/// Bytes of a test file that only shows what the file system takes.
const LOOK_SIZE: Bytes = Bytes::kib(4);

/// Looks at the targets of `settings` as far as can be done without writing to anything that is there; in a directory a small
/// file without a name shows what the file system takes. What cannot be looked at is told and left out.
pub(crate) fn look(work: &Work, settings: &Settings, observer: &mut dyn Observer) -> OpenVolumes {
    let mut opened = BTreeMap::new();
    for named in &settings.targets {
        let cells: Vec<&RunCell> = work.cells.iter().filter(|cell| cell.volume == named.volume).collect();
        let is_directory = Path::new(&named.target).is_dir();
        let access = Access { read_only: settings.read_only || !is_directory, ..Access::default() };
        let sets = by_files(&cells).into_iter().map(|(files, cells)| {
            let size = if is_directory { Some(LOOK_SIZE * u64::from(files)) } else { largest(&cells) };
            let buffered = cells.iter().all(|cell| cell.spec.buffered);
            let need = Need { size, files, buffered, ..Need::default() };
            let mut volume = open_watched(&named.volume, &named.target, &need, &access, observer)?;
            // As if it had been handed over, in its full size.
            volume.writable = !settings.read_only && volume.may_be_written();
            if is_directory {
                volume.file_size = largest(&cells).map_or(OFFSET_MAX, |size| Bytes::new(size.get() / u64::from(files)));
            }
            Ok(FileSet::new(files, volume, &cells))
        });
        match sets.collect::<Result<Vec<_>, Error>>() {
            Ok(sets) => {
                opened.insert(named.volume.clone(), OpenVolume { sets, health: VolumeHealth::Answers });
            }
            Err(error) => observer.event(&Event::NotLookedAt { volume: &named.volume, error: &error }),
        }
    }
    opened
}

/// Refuses what a target cannot do: to be several files without being a directory, to keep what is verified when it is null, to be two
/// volumes when it is written to.
///
/// # Errors
/// The first load that asks for it, with its target.
pub(crate) fn check_loads(work: &Work, settings: &Settings) -> Result<(), Refusal> {
    let is_divided = settings.hosts.as_ref().is_some_and(|part| part.own_range);
    for named in &settings.targets {
        let target = named.target.as_str();
        if is_divided && Path::new(target).is_dir() {
            return Err(HostsRefusal::RangeOfDirectory { target: target.to_owned() }.into());
        }
        let null = target == "null" || target.starts_with("null:");
        // What is not there is told by whoever opens it.
        let single = null || is_nbd_uri(target) || Path::new(target).metadata().is_ok_and(|there| !there.is_dir());
        for cell in work.cells.iter().filter(|cell| cell.volume == named.volume) {
            let spec = &cell.spec;
            if null && spec.verify {
                return Err(Refusal::KeepsNothing { load: label(spec), target: target.to_owned() });
            }
            if single && spec.files > 1 {
                return Err(Refusal::NoDirectory { load: label(spec), files: spec.files, target: target.to_owned() });
            }
        }
    }
    let written = |volume: &str| work.cells.iter().any(|cell| cell.volume == volume && cell.spec.writes_any());
    for (index, one) in settings.targets.iter().enumerate() {
        for other in settings.targets[..index].iter().filter(|other| written(&one.volume) || written(&other.volume)) {
            if let Some(how) = overlap(&other.target, &one.target) {
                let volumes = [other.volume.clone(), one.volume.clone()];
                return Err(Refusal::Overlap { volumes, how });
            }
        }
    }
    Ok(())
}

/// The cells by the number of files that they ask for, in the order in which it first occurs.
fn by_files<'a>(cells: &[&'a RunCell]) -> Vec<(u32, Vec<&'a RunCell>)> {
    let mut sets: Vec<(u32, Vec<&RunCell>)> = Vec::new();
    for cell in cells {
        let files = cell.spec.files;
        match sets.iter_mut().find(|(count, _)| *count == files) {
            Some((_, cells)) => cells.push(cell),
            None => sets.push((files, vec![cell])),
        }
    }
    sets
}

/// When a target that is slow to open is spoken of.
const OPEN_TIME: Duration = Duration::from_secs(5);
/// And when it is given up: as long as a request may take.
const OPEN_TIME_MAX: Duration = Duration::from_secs(60);

/// How often the observer is asked meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// [`Volume::open`] on a thread of its own, which storage that does not answer holds in the kernel for as long as it likes.
///
/// # Errors
/// A refusal of the engine; the target has not been opened for a long time; or [`Error::Stopped`].
pub(crate) fn open_watched(
    name: &str,
    target: &str,
    need: &Need,
    access: &Access,
    observer: &mut dyn Observer,
) -> Result<Volume, Error> {
    let (opened, wait) = channel();
    let owned = (name.to_owned(), target.to_owned(), need.clone(), access.clone());
    let opening = std::thread::spawn(move || {
        let (name, target, need, access) = owned;
        let _ = opened.send(Volume::open(&name, &target, &need, &access));
    });
    let began = Instant::now();
    let mut told = false;
    let result = loop {
        let result = wait.recv_timeout(LOOK_EVERY);
        if result.as_ref().err() != Some(&RecvTimeoutError::Timeout) || began.elapsed() >= OPEN_TIME_MAX {
            break result;
        }
        if observer.wants_an_end() {
            return Err(Error::Stopped { target: target.to_owned() });
        }
        if !told && began.elapsed() >= OPEN_TIME {
            told = true;
            observer.event(&Event::SlowToOpen { target });
        }
    };
    match result {
        Ok(result) => Ok(result?),
        Err(RecvTimeoutError::Timeout) => {
            Err(Error::NotOpened { target: target.to_owned(), seconds: OPEN_TIME_MAX.as_secs() })
        }
        // It can only have panicked.
        Err(RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(opening.join().expect_err("a thread that ends in order has sent its result"))
        }
    }
}

/// How long a volume that stopped answering may take to be closed.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// Closes the volumes, which removes their test files. Does not wait for long for those that stopped answering.
pub(crate) fn close(opened: OpenVolumes, observer: &mut dyn Observer) {
    for (name, open) in opened {
        if open.is_well() {
            continue;
        }
        let place = open.facts().path.unwrap_or_default();
        let (closed, wait) = channel();
        // Left behind where the kernel holds it: the process ends without it.
        std::thread::spawn(move || {
            drop(open);
            let _ = closed.send(());
        });
        if wait.recv_timeout(CLOSE_TIME).is_err() {
            observer.event(&Event::NotClosed { volume: &name, place: &place });
        }
    }
}

/// A load without a size takes what the target offers or what is chosen for a test file; one with a size must have that too.
fn open_one(
    name: &str,
    target: &str,
    mut need: Need,
    largest: Option<Bytes>,
    access: &Access,
    observer: &mut dyn Observer,
) -> Result<Volume, Error> {
    let volume = open_watched(name, target, &need, access, observer)?;
    match largest {
        Some(asked) if asked > volume.size() => {
            drop(volume);
            need.size = largest;
            open_watched(name, target, &need, access, observer)
        }
        _ => Ok(volume),
    }
}

fn need_of(cells: &[&RunCell], files: u32, keep: bool, volume: &str, run: &str) -> Need {
    let named = keep || cells.iter().any(|cell| cell.spec.verify);
    Need {
        size: if cells.iter().all(|cell| cell.spec.size.is_some()) { largest(cells) } else { None },
        start: cells.iter().map(|cell| cell.spec.start).min().unwrap_or_default(),
        files,
        writes: cells.iter().any(|cell| cell.spec.writes_any()),
        // Each load says for itself whether it takes the page cache; a volume opened for direct I/O serves both kinds.
        buffered: cells.iter().all(|cell| cell.spec.buffered),
        hole: cells.iter().all(|cell| cell.spec.fill == Fill::Hole),
        keep: named.then(|| Keep { file_name: Some(file_name(run, volume, files)), remove_at_end: true }),
    }
}

/// The name of a test file that has one; of several, that with which their names begin.
#[must_use]
pub(crate) fn file_name(run: &str, volume: &str, files: u32) -> String {
    let of = if files > 1 { format!("-of-{files}") } else { String::new() };
    format!("{}{volume}{of}.data", leftovers::name_prefix(run))
}

/// The largest size that a cell names, counted from the start of the target.
fn largest(cells: &[&RunCell]) -> Option<Bytes> {
    let end = |spec: &LoadSpec| Some(spec.size? + spec.start * u64::from(spec.files));
    cells.iter().filter_map(|cell| end(&cell.spec)).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;

    #[test]
    fn whoever_stops_while_a_target_does_not_answer_need_not_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("mute");
        let _listens_and_says_nothing = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let target = format!("nbd+unix:///data?socket={}", socket.display());
        let mut observer = Silent::default();
        observer.stop().store(true, std::sync::atomic::Ordering::Relaxed);
        let error = open_watched("data", &target, &Need::default(), &Access::default(), &mut observer).unwrap_err();
        assert!(matches!(error, Error::Stopped { .. }));
    }

    #[test]
    fn what_other_loads_left_to_be_written_is_found_on_other_volumes_and_other_numbers_of_files() {
        let cell = |volume: &str, files| RunCell {
            id: volume.to_owned(),
            volume: volume.to_owned(),
            spec: LoadSpec { files, ..LoadSpec::default() },
            order: loadline_workload::Order::Interleaved,
        };
        let set = |files| {
            let need = Need { size: Some(Bytes::MIB), files, ..Need::default() };
            let volume = Volume::open("v", "null", &need, &Access::default()).unwrap();
            FileSet { dirty: true, ..FileSet::new(files, volume, &[]) }
        };
        let open = || OpenVolume { sets: vec![set(1), set(2)], health: VolumeHealth::Answers };
        let mut opened = OpenVolumes::from([("a".to_owned(), open()), ("b".to_owned(), open())]);
        let found = |opened: &mut OpenVolumes| dirty_beside(opened, &[&cell("a", 2)]).len();
        assert_eq!(found(&mut opened), 3);
        opened.get_mut("a").unwrap().sets[0].dirty = false;
        assert_eq!(found(&mut opened), 2);
        opened.get_mut("b").unwrap().health = VolumeHealth::Doubtful("not one read".to_owned());
        assert_eq!(found(&mut opened), 0);
    }
}
