//! Trials on open volumes of this machine.

use crate::PlannedCell;
use crate::engine_watch::{EngineWatch, OnVolume};
use crate::hosts::host_part::BETWEEN_STARTS;
use crate::open_volumes::{self, ExtentsState, FileSet, OpenVolumes, VolumeHealth, dirty_beside, filled_before};
use crate::refusal_of;
use crate::trials::{NoTrial, TrialPlace, TrialRound};
use crate::{Activity, Error, Event, Loss, Observer, Settings, place::filling};
use loadline_block::ErrorKind;
use loadline_engine::{EngineError, EngineOptions, Filling};
use loadline_kernel::facts::CacheScope;
use loadline_record::{Ending, Extents, TrialRecord, VolumeFacts};
use loadline_units::{Duration, Instant, Ratio};
use loadline_workload::{Arrival, BlockShare, Fill, LoadSpec, RunCell};
use std::collections::BTreeMap;

/// Volumes that are open on this machine.
#[derive(Debug)]
pub(crate) struct MeasuredPlace {
    settings: Settings,
    seed: u64,
    volumes: OpenVolumes,
    /// The fills that are ahead, in their order: of which volume, and how long each takes.
    fills: Vec<(String, Duration)>,
    /// When the first round begins, if that was agreed on with other hosts.
    start: Option<Instant>,
    /// Before each round, how long those take that only other hosts run.
    others_before: Vec<Duration>,
    /// When each round begins then, by its first cell and the number of its trial.
    starts: BTreeMap<(String, u32), Instant>,
}

/// Reads that find out whether a volume answers at all.
const PROBE_READS: u64 = 8;
/// They are given so long.
const PROBE_TIME: Duration = Duration::from_s(2);
/// So long before an agreed start, preparations of the round begin.
const PREPARED_BEFORE: Duration = Duration::from_ms(500);
/// And more than that if caches are dropped.
const CACHES_DROPPED_BEFORE: Duration = Duration::from_s(5);

impl MeasuredPlace {
    /// The targets of `settings`, as they were opened. `seed` is the run's.
    #[must_use]
    pub(crate) const fn new(settings: Settings, volumes: OpenVolumes, seed: u64) -> Self {
        Self {
            settings,
            seed,
            volumes,
            fills: Vec::new(),
            start: None,
            others_before: Vec::new(),
            starts: BTreeMap::new(),
        }
    }

    /// The same, with a start of the first round that was agreed on with other hosts. The starts of the others follow from the
    /// planned times of the rounds before them, `others_before` those that only other hosts run. A host that comes too late begins
    /// at once.
    #[must_use]
    pub(crate) fn starting_at(mut self, start: Option<Instant>, others_before: &[Duration]) -> Self {
        self.start = start;
        self.others_before = others_before.to_vec();
        self
    }

    /// Waits until the round is to be prepared. Returns when it begins, if that was agreed on.
    fn wait_for_start(
        &self,
        round: &TrialRound<'_, PlannedCell>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Instant>, NoTrial> {
        let Some(start) = self.starts.get(&key_of(round)).copied() else { return Ok(None) };
        let specs = || round.cells.iter().map(|cell| &cell.cell.spec);
        let pause = specs().map(|spec| spec.pause).min().unwrap_or_default();
        let caches = if specs().any(|spec| spec.drop_caches) { CACHES_DROPPED_BEFORE } else { Duration::ZERO };
        let before = pause + caches + PREPARED_BEFORE;
        let from = Instant::from_ns(start.since(Instant::from_ns(0)).saturating_sub(before).as_ns());
        if EngineWatch(observer).wait_until(from) { Ok(Some(start)) } else { Err(NoTrial::Interrupted) }
    }

    fn options(&self, cell: &PlannedCell) -> EngineOptions {
        EngineOptions { engine: cell.engine.unwrap_or(self.settings.engine.engine), ..self.settings.engine }
    }

    /// Finds out whether the cell's volume still answers, where its last trial failed.
    fn look_after(&mut self, cell: &PlannedCell, observer: &mut dyn Observer) -> Result<(), NoTrial> {
        let name = &cell.cell.volume;
        let why = match &self.volumes[name].health {
            VolumeHealth::Answers => return Ok(()),
            VolumeHealth::Lost(why) => why.clone(),
            // The load may have failed for a reason of its own, such as a full disk: then reads are still answered.
            VolumeHealth::Doubtful(how) => {
                let why = Loss::from(format!("not one read is answered any more: {how}"));
                if self.answers(cell, observer)? {
                    set_health(&mut self.volumes, name, VolumeHealth::Answers);
                    return Ok(());
                }
                set_health(&mut self.volumes, name, VolumeHealth::Lost(why.clone()));
                why
            }
        };
        Err(self.lost(name, why, observer))
    }

    /// Gives up a volume. Its fills that are ahead will not be needed.
    fn lost(&mut self, volume: &str, why: Loss, observer: &mut dyn Observer) -> NoTrial {
        let own = self.fills.extract_if(.., |(name, _)| name == volume);
        observer.event(&Event::Forgone(own.map(|(_, time)| time).sum()));
        NoTrial::VolumeLost { volume: volume.to_owned(), why }
    }

    /// Whether the cell's volume answers any of a few reads.
    fn answers(&mut self, cell: &PlannedCell, observer: &mut dyn Observer) -> Result<bool, Error> {
        let options = self.options(cell);
        let set = set_of(&mut self.volumes, &cell.cell);
        let block = LoadSpec::default().block_max().max(set.volume.alignment().offset);
        let spec = LoadSpec {
            blocks: vec![BlockShare { size: block, share: Ratio::ONE }],
            arrival: Arrival::Closed { queue_depth: 1, rate_max: None, think_time: Duration::ZERO },
            volume: Some(block * PROBE_READS),
            warm_up: Duration::ZERO,
            duration: PROBE_TIME,
            hang_limit: PROBE_TIME,
            fill: Fill::Never,
            ..LoadSpec::default()
        };
        let probe = RunCell { id: "probe".into(), spec, ..cell.cell.clone() };
        let record = EngineWatch(observer).trial(&mut set.volume, &probe, 0, self.seed, options)?;
        Ok(record.count() > 0)
    }

    /// Fills the cell's volume where the cell wants that and it has not been done.
    fn fill(&mut self, cell: &PlannedCell, observer: &mut dyn Observer) -> Result<(), NoTrial> {
        let name = &cell.cell.volume;
        let options = self.options(cell);
        let set = set_of(&mut self.volumes, &cell.cell);
        if set.filled || !set.is_full_for(&cell.cell.spec) {
            return Ok(());
        }
        // One that was begun is not ahead any more.
        if let Some(next) = self.fills.iter().position(|(volume, _)| volume == name) {
            self.fills.remove(next);
        }
        let range = set.volume.span();
        observer.event(&Event::Begins(&Activity {
            place: format!("volume {name}"),
            label: format!("filling {}", range.human()),
            volumes: vec![name.clone()],
            planned: filling::time(range),
            is_guessed: true,
        }));
        let filling = Filling { content: set.wish.content, limit: None };
        let why = match EngineWatch(observer).fill(&mut set.volume, range, self.seed, filling, options) {
            Ok(report) if !report.complete => return Err(NoTrial::Interrupted),
            Ok(report) => {
                set.filled = true;
                // What was found when it was opened is no longer so, and doubts rest on it.
                set.volume.facts.extents = set.volume.extents();
                set.extents = ExtentsState::Known;
                observer.event(&Event::Filled { volume: name, bytes: report.bytes, elapsed: report.elapsed });
                return Ok(());
            }
            Err(EngineError::Os { attempted, source }) => format!("cannot {attempted}: {source}").into(),
            Err(error @ (EngineError::NoRoom { .. } | EngineError::Lacking { .. })) => {
                Loss { how: error.to_string(), remedy: error.remedy() }
            }
            Err(source) => return Err(Error::Fill { volume: name.clone(), source: Box::new(source) }.into()),
        };
        set_health(&mut self.volumes, name, VolumeHealth::Lost(why.clone()));
        Err(self.lost(name, why, observer))
    }
}

impl TrialPlace for MeasuredPlace {
    type Cell = PlannedCell;

    fn look_ahead(&mut self, rounds: &[&TrialRound<'_, PlannedCell>], observer: &mut dyn Observer) {
        let cells: Vec<&RunCell> = rounds.iter().flat_map(|round| &round.cells).map(|cell| &cell.cell).collect();
        let fills = filled_before(&self.volumes, cells.iter().copied());
        self.fills = fills.iter().map(|(index, size)| (cells[*index].volume.clone(), filling::time(*size))).collect();
        observer.event(&Event::Planned(self.fills.iter().map(|(_, time)| *time).sum()));
        if let Some(mut start) = self.start {
            for (index, round) in rounds.iter().enumerate() {
                start = start + self.others_before.get(index).copied().unwrap_or_default();
                self.starts.insert(key_of(round), start);
                start = start + round.time() + BETWEEN_STARTS;
            }
        }
    }

    fn prepare(&mut self, round: &TrialRound<'_, PlannedCell>, observer: &mut dyn Observer) -> Result<(), NoTrial> {
        for cell in &round.cells {
            self.look_after(cell, observer)?;
            let options = self.options(cell);
            let set = set_of(&mut self.volumes, &cell.cell);
            if let Some(why) = refusal_of(&set.volume, &cell.cell, options) {
                return Err(NoTrial::Impossible(why.into()));
            }
            if std::mem::take(&mut set.extents) == ExtentsState::Changed {
                set.volume.facts.extents = set.volume.extents();
            }
        }
        round.cells.iter().try_for_each(|cell| self.fill(cell, observer))
    }

    fn carry_out(
        &mut self,
        round: &TrialRound<'_, PlannedCell>,
        observer: &mut dyn Observer,
    ) -> Result<Vec<TrialRecord>, NoTrial> {
        let cells: Vec<&RunCell> = round.cells.iter().map(|cell| &cell.cell).collect();
        // What earlier loads left in memory would be written back beneath these, and pass for somebody else's load.
        for other in dirty_beside(&mut self.volumes, &cells) {
            other.dirty = other.volume.write_back().is_err();
        }
        for cell in &cells {
            let set = set_of(&mut self.volumes, cell);
            if set.buffered_before && !cell.spec.buffered {
                let _ = set.volume.drop_caches(CacheScope::Files);
            }
        }
        for cell in &cells {
            let is_its = |other: &&&RunCell| other.volume == cell.volume && other.spec.files == cell.spec.files;
            let on_set = || cells.iter().filter(is_its);
            let buffered = on_set().any(|other| other.spec.buffered);
            let dirty = on_set().any(|other| other.spec.buffered && other.spec.writes_any());
            let set = set_of(&mut self.volumes, cell);
            (set.buffered_before, set.dirty) = (buffered, dirty);
        }
        let loads = round.cells.iter().map(|cell| OnVolume {
            volume: self.volumes[&cell.cell.volume].volume_for(&cell.cell.spec),
            cell: &cell.cell,
            options: self.options(cell),
        });
        let loads: Vec<OnVolume<'_>> = loads.collect();
        let start = self.wait_for_start(round, observer)?;
        let records = EngineWatch(observer).together(&loads, round.ends, round.trial, self.seed, start);
        let records = records.map_err(|source| {
            let labels: Vec<&str> = round.cells.iter().map(|cell| cell.label.as_str()).collect();
            // The system refused this one; others may want less of it.
            NoTrial::NotStarted(Error::Trial {
                load: labels.join(" beside "),
                volume: cells[0].volume.clone(),
                source: Box::new(source),
            })
        })?;
        if records.iter().any(|record| record.ending == Ending::Interrupted) {
            return Err(NoTrial::Interrupted);
        }
        for cell in &cells {
            let set = set_of(&mut self.volumes, cell);
            // What was trimmed is as if it had never been written.
            set.filled &= !cell.spec.trims_any();
            // What this trial wrote is written when the next begins.
            let is_unwritten = |extents: &Extents| extents.unwritten_bytes + extents.hole_bytes > 0;
            let was_unwritten = set.volume.facts.extents.as_ref().is_some_and(is_unwritten);
            if cell.spec.trims_any() || cell.spec.writes_any() && was_unwritten {
                set.extents = ExtentsState::Changed;
            }
        }
        // Of loads on one volume the one that fared worst tells.
        for answers in [true, false] {
            for (cell, record) in cells.iter().zip(&records) {
                let health = health_after(record);
                if matches!(health, VolumeHealth::Answers) == answers {
                    set_health(&mut self.volumes, &cell.volume, health);
                }
            }
        }
        Ok(records)
    }

    fn facts(&self, cell: &PlannedCell) -> Result<VolumeFacts, Error> {
        Ok(self.volumes[&cell.cell.volume].volume_for(&cell.cell.spec).facts.clone())
    }

    fn close(&mut self, observer: &mut dyn Observer) {
        open_volumes::close(std::mem::take(&mut self.volumes), observer);
    }
}

/// What a round is known by.
fn key_of(round: &TrialRound<'_, PlannedCell>) -> (String, u32) {
    (round.cells[0].cell.id.clone(), round.trial)
}

/// What a trial shows of its volume.
fn health_after(trial: &TrialRecord) -> VolumeHealth {
    match &trial.ending {
        Ending::Hung(how) => VolumeHealth::Lost(format!("it does not answer: {how}").into()),
        Ending::Failed(how) if trial.errors.contains_key(&ErrorKind::Gone) => {
            VolumeHealth::Lost(format!("it is gone: {how}").into())
        }
        Ending::Failed(how) => VolumeHealth::Doubtful(how.clone()),
        Ending::Complete | Ending::Interrupted => VolumeHealth::Answers,
    }
}

fn set_health(volumes: &mut OpenVolumes, volume: &str, health: VolumeHealth) {
    volumes.get_mut(volume).expect("every volume of the plan is open").health = health;
}

/// The files that a cell runs on.
fn set_of<'a>(volumes: &'a mut OpenVolumes, cell: &RunCell) -> &'a mut FileSet {
    volumes.get_mut(&cell.volume).expect("every volume of the plan is open").set_for(&cell.spec)
}
