//! Reads back what a stored run wrote with `verify = true`, and checks every block.

mod history;

use crate::{
    Activity, EngineWatch, Error, Event, NamedTarget, Observer, Refusal, Settings, Work, keep::leftovers, open_volumes,
    work_of,
};
use history::{Begun, begun, made_at};
use loadline_engine::{Access, Ground, Keep, Need, Past, Volume};
use loadline_record::{Ending, RunRecord, RunStatus, StreamWritten, TargetKind, TrialRecord, VerifyRecord};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, RunCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

/// What was found of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedTrial {
    /// The volume's name.
    pub volume: String,
    /// The load's label.
    pub load: String,
    /// From 0.
    pub trial: u32,
    /// Of the blocks that were looked at.
    pub found: VerifyRecord,
    /// Blocks that were not looked at, since later trials that are checked may have written over them.
    pub blocks_overwritten: u64,
    /// Nothing of it is there.
    pub is_absent: bool,
    /// Why not all could be judged, where that is so.
    pub why: Option<String>,
}

/// Checks every trial with `verify` of the run, but for what later ones that are checked may have written over. `settings` are
/// the run's own, with the targets as they are reached now. Ends early where the observer wants that.
///
/// # Errors
/// A run that wrote nothing to be checked, or of which nothing is found; a volume that cannot be read.
pub fn verify(
    record: &RunRecord,
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Vec<VerifiedTrial>, Error> {
    let run = || record.header.id.clone();
    let work = work_of(record, settings)?;
    if !work.cells.iter().any(|cell| cell.spec.verify) {
        return Err(Refusal::NothingToVerify { run: run() }.into());
    }
    let labels = work.labels();
    let stored = Stored { record, settings, work: &work, labels: &labels };
    let mut checks: Vec<VerifiedTrial> = Vec::new();
    for named in &settings.targets {
        stored.check(named, observer, &mut checks)?;
        if observer.wants_an_end() {
            return Ok(checks);
        }
    }
    observer.event(&Event::Idle);
    if checks.iter().all(|check| check.is_absent) {
        return Err(Error::NothingFound { run: run() });
    }
    Ok(checks)
}

/// A stored run.
#[derive(Clone, Copy)]
struct Stored<'a> {
    record: &'a RunRecord,
    settings: &'a Settings,
    work: &'a Work,
    labels: &'a [String],
}

impl Stored<'_> {
    /// Checks what was written to one of its volumes, the last trial first; ends early where the user wants that.
    fn check(
        self,
        named: &NamedTarget,
        observer: &mut dyn Observer,
        checks: &mut Vec<VerifiedTrial>,
    ) -> Result<(), Error> {
        let apart = Path::new(&named.target).is_dir();
        let is_verified = |cell: &&RunCell| cell.volume == named.volume && cell.spec.verify;
        let verified: BTreeSet<u32> = self.work.cells.iter().filter(is_verified).map(|cell| cell.spec.files).collect();
        // By the number of files, for each of which a run makes files of their own.
        let mut sites: BTreeMap<u32, Site> = BTreeMap::new();
        for trial in begun(self.record, self.work, &named.volume, apart) {
            let (cell, load) = (&self.work.cells[trial.cell], &self.labels[trial.cell]);
            if !verified.contains(&cell.spec.files) {
                continue;
            }
            let site = match sites.entry(cell.spec.files) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(free) => {
                    let volume = self.reopened(&cell.spec, named, apart, observer)?;
                    let made_at = if apart { made_at(&volume, self.record) } else { None };
                    free.insert(Site::new(volume, made_at))
                }
            };
            site.come_to(&trial);
            let ground = Ground::of(&site.volume, &cell.spec);
            if cell.spec.verify {
                observer.event(&Event::Begins(&Activity {
                    place: format!("volume {}", named.volume),
                    label: format!("reading back {load}, trial {}", trial.trial + 1),
                    volumes: vec![named.volume.clone()],
                    planned: Duration::ZERO,
                    is_guessed: false,
                }));
                let found = site.found(&trial, &ground, |volume, past| {
                    Ok(EngineWatch(observer).verification(volume, cell, trial.trial, self.record.header.seed, past)?)
                })?;
                if observer.wants_an_end() {
                    return Ok(());
                }
                if let Some(Seen { found, blocks_overwritten, is_absent, why }) = found {
                    let (volume, load, trial) = (named.volume.clone(), load.clone(), trial.trial);
                    checks.push(VerifiedTrial { volume, load, trial, found, blocks_overwritten, is_absent, why });
                }
            } else if cell.spec.writes_any() {
                add(&mut site.overwritten, ground.part);
            }
            site.leave(&trial);
        }
        Ok(())
    }

    /// The volume as the run left it, for reading only.
    fn reopened(
        self,
        spec: &LoadSpec,
        named: &NamedTarget,
        apart: bool,
        observer: &mut dyn Observer,
    ) -> Result<Volume, Error> {
        let NamedTarget { volume: name, target } = named;
        let header = &self.record.header;
        let facts = header.volumes.iter().find(|volume| volume.name == *name);
        let file_name = open_volumes::file_name(&header.id, name, spec.files);
        // Whoever ends in order removes them; after a crash they are there.
        let is_over = self.record.status != RunStatus::Unfinished;
        if apart && is_over && !self.settings.keep && leftovers::in_directory(target.as_ref(), &file_name).is_empty() {
            return Err(Error::FilesRemoved { volume: name.clone(), target: target.clone(), run: header.id.clone() });
        }
        let need = Need {
            // Of test files, all that is there: each was made in the size that it should have.
            size: facts
                .filter(|facts| facts.kind != TargetKind::TestFile)
                .and_then(|facts| facts.size_bytes)
                .map(Bytes::new),
            files: spec.files,
            buffered: spec.buffered,
            keep: Some(Keep { file_name: Some(file_name), remove_at_end: false }),
            ..Need::default()
        };
        let access = Access { read_only: true, ..Access::default() };
        open_volumes::open_watched(name, target, &need, &access, observer).map_err(|error| error.of_volume(name))
    }
}

/// What was found of a trial; see [`VerifiedTrial`].
struct Seen {
    found: VerifyRecord,
    blocks_overwritten: u64,
    is_absent: bool,
    why: Option<String>,
}

/// Files on which trials took turns, with what came after the trial that is looked at.
struct Site {
    volume: Volume,
    /// Trials that began before, in seconds since 1970, wrote to other files.
    made_at: Option<u64>,
    is_before: bool,
    /// They were made anew since, or may have been filled.
    is_replaced: bool,
    /// Bytes of each file where what is missing is no fault.
    overwritten: Vec<Range<u64>>,
    /// Bytes of each file that are checked.
    checked: Vec<Range<u64>>,
}

impl Site {
    const fn new(volume: Volume, made_at: Option<u64>) -> Self {
        Self { volume, made_at, is_before: false, is_replaced: false, overwritten: Vec::new(), checked: Vec::new() }
    }

    /// Goes back to the end of this trial.
    fn come_to(&mut self, trial: &Begun<'_>) {
        let started = trial.record.map(|record| record.started_unix_s);
        self.is_before |= started.zip(self.made_at).is_some_and(|(started, made_at)| started < made_at);
        self.is_replaced |= self.is_before;
    }

    /// Goes back to what was there before this trial.
    fn leave(&mut self, trial: &Begun<'_>) {
        match trial.record {
            _ if !trial.is_filled => {}
            // No trial begins before its files are full.
            Some(_) => self.is_replaced = true,
            // The filling itself may have been cut off.
            None => add(&mut self.overwritten, 0..u64::MAX),
        }
    }

    /// Checks a trial as far as no later one is checked in its place; `None` where nothing is there of it and nothing is known to
    /// have been.
    fn found(
        &mut self,
        trial: &Begun<'_>,
        ground: &Ground,
        read: impl FnOnce(&mut Volume, &Past<'_>) -> Result<Option<VerifyRecord>, Error>,
    ) -> Result<Option<Seen>, Error> {
        let (all, blocks) = (ground.blocks_outside(&[]), ground.blocks_outside(&self.checked));
        let blocks_overwritten = all - blocks;
        let streams = streams(trial);
        if streams.is_some_and(|streams| streams.iter().all(|stream| stream.issued == 0)) {
            return Ok(None);
        }
        if blocks == 0 && all > 0 {
            let found = VerifyRecord::default();
            return Ok(Some(Seen { found, blocks_overwritten, is_absent: false, why: None }));
        }
        let past = Past {
            streams: streams.unwrap_or_default(),
            overwritten: &self.overwritten,
            replaced: self.is_replaced,
            left_out: &self.checked,
        };
        let found = read(&mut self.volume, &past)?;
        let (found, is_absent) = match (found, trial.record) {
            (Some(found), _) => {
                add(&mut self.checked, ground.part.clone());
                (found, false)
            }
            (None, Some(_)) => (VerifyRecord { blocks_unknown: blocks, ..VerifyRecord::default() }, true),
            // One that was cut off may not have come to its first write.
            (None, None) => return Ok(None),
        };
        let is_overwritten = ground.blocks_outside(&self.overwritten) < all
            || self.is_replaced && found.blocks_checked == 0 && found.blocks_unknown > 0;
        let why = self.unsure(trial, is_overwritten, &found);
        Ok(Some(Seen { found, blocks_overwritten, is_absent, why }))
    }

    /// Why not all could be judged, where that is so.
    fn unsure(&self, trial: &Begun<'_>, is_overwritten: bool, found: &VerifyRecord) -> Option<String> {
        const INFERRED: &str = "so how far its writes came is inferred from what is there: writes that were lost after the \
                                last one found leave no trace";
        if is_overwritten {
            let why = if self.is_before {
                "the run was carried on with after it, maybe with a new test file, so what is missing is no fault"
            } else {
                "other loads of the run came after it and may have written there, so what is missing is no fault"
            };
            return (found.blocks_unknown > 0).then(|| why.into());
        }
        if streams(trial).is_some() {
            let some = found.blocks_unknown > 0;
            return some.then(|| "the last writes of some blocks failed or were never confirmed as durable".into());
        }
        Some(match trial.record {
            None => format!("the trial was cut off, {INFERRED}"),
            Some(TrialRecord { ending: Ending::Hung(_), .. }) => {
                format!("the trial ended with requests unanswered, {INFERRED}")
            }
            Some(_) => format!("the trial was recorded without how far it came, {INFERRED}"),
        })
    }
}

/// How far the threads of a trial came, where its record tells.
fn streams<'a>(trial: &Begun<'a>) -> Option<&'a [StreamWritten]> {
    let streams = &trial.record?.verify.as_ref()?.streams;
    (!streams.is_empty()).then_some(streams)
}

/// Adds a part to others, none of which touch.
fn add(parts: &mut Vec<Range<u64>>, mut part: Range<u64>) {
    parts.retain(|other| {
        let is_apart = other.end < part.start || part.end < other.start;
        if !is_apart {
            part = part.start.min(other.start)..part.end.max(other.end);
        }
        is_apart
    });
    parts.push(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_touch_become_one() {
        let mut parts = Vec::new();
        for part in [10..20, 40..50, 25..30, 20..22, 60..70, 21..45] {
            add(&mut parts, part);
        }
        assert_eq!(parts, [60..70, 10..50]);
    }
}
