//! How much a run would fill before its loads, found out without opening its targets.

use crate::place::filling::{Wishes, passes};
use crate::{Settings, Work};
use loadline_nbd::uri::is_nbd_uri;
use loadline_units::Bytes;
use loadline_workload::{LoadSpec, OFFSET_MAX, Origin, RunCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// What is written in full before loads, over all volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillForecast {
    /// Nothing.
    Nothing,
    /// As much as the loads spread over.
    Size(Bytes),
    /// What is chosen for a test file, or all that a target holds.
    Unknown,
}

impl FillForecast {
    /// Of a run on the targets of `settings`, as far as they can be looked at without being opened for a load.
    #[must_use]
    pub fn of(work: &Work, settings: &Settings) -> Self {
        let wishes = Wishes::of(&work.cells, |volume| origin(volume, work, settings));
        let mut spans: BTreeMap<(&str, u32), Option<Bytes>> = BTreeMap::new();
        let steps: Vec<&RunCell> = work.cell_trials().map(|(cell, _)| &work.cells[cell]).collect();
        let passes = passes(steps.iter().copied(), |cell| wishes.hold_for(cell));
        if passes.is_empty() {
            return Self::Nothing;
        }
        let filled = passes.into_iter().map(|index| {
            let RunCell { volume, spec, .. } = steps[index];
            let sharing = work.cells.iter().filter(|cell| cell.volume == *volume && cell.spec.files == spec.files);
            let span = || span(sharing.map(|cell| &cell.spec), settings.target_of(volume).and_then(size_of));
            *spans.entry((volume, spec.files)).or_insert_with(span)
        });
        let all: Option<Bytes> = filled.into_iter().try_fold(Bytes::ZERO, |sum, size| Some(sum + size?));
        all.map_or(Self::Unknown, Self::Size)
    }
}

/// Where a volume comes from, as far as can be seen without opening it; `None` where nothing of it is written.
fn origin(volume: &str, work: &Work, settings: &Settings) -> Option<Origin> {
    let target = settings.target_of(volume)?;
    if settings.read_only || target == "null" || target.starts_with("null:") {
        return None;
    }
    // What is not there yet is taken for a folder.
    if !is_nbd_uri(target) && Path::new(target).metadata().map_or(true, |there| there.is_dir()) {
        return Some(Origin::Made);
    }
    work.cells.iter().any(|cell| cell.volume == volume && cell.spec.writes_any()).then_some(Origin::Found)
}

/// The size of what is there already, where it can be looked at.
fn size_of(target: &str) -> Option<Bytes> {
    let mut there = File::open(target).ok().filter(|there| there.metadata().is_ok_and(|m| !m.is_dir()))?;
    there.seek(SeekFrom::End(0)).ok().map(Bytes::new)
}

/// What loads on the same files spread over: as each says, or all of it; `None` where one does not say and that is not known.
fn span<'a>(loads: impl Iterator<Item = &'a LoadSpec>, all: Option<Bytes>) -> Option<Bytes> {
    let (mut start, mut end, mut files) = (OFFSET_MAX, Bytes::ZERO, 1);
    for load in loads {
        files = u64::from(load.files);
        start = start.min(load.start);
        end = end.max(load.size.map(|size| load.start * files + size).or(all)?);
    }
    Some(end.saturating_sub(start * files))
}
