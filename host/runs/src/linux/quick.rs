//! Quick measurements: about a minute on one target, with a plan that follows from what the target reaches.

use crate::open_volumes::{self, OpenVolume, OpenVolumes};
use crate::place::filling::QUICK_FILL_TIME;
use crate::sold_storage::sold;
use crate::{
    Activity, DeclaredEnvironment, EngineWatch, Error, Event, NewRun, Observer, OpenedMeasurement, PendingStore,
    QuickAhead, Refusal, RunOptions, RunOutcome, Settings, Tried, Work, label, look_first, refuse_impossible,
    refuse_memory,
};
use loadline_engine::{EngineOptions, Filling, Need, Volume};
use loadline_record::{Clock, Ending, RunVerb, TargetKind};
use loadline_units::{Bytes, Duration};
use loadline_workload::{
    Arrival, Fill, LoadSpec, Objective, Order, Plan, QUICK_DEPTH_MAX, QUICK_SIZE_MIN, QuickPlan, RateReached, RunCell,
};

/// What programs left in memory is waited for no longer than this,
const SETTLE_TIME: Duration = Duration::from_s(20);
/// and told from here on.
const SETTLE_TOLD: Duration = Duration::from_ms(500);
/// The trials that find what the curve is a share of.
const REACH_TIME: Duration = Duration::from_ms(1_500);
const REACH_WARM_UP: Duration = Duration::from_ms(500);
/// There are as many as it takes until one is no faster than those before, and no more than this,
const REACH_TRIALS_MAX: u32 = 4;
/// at the first of these depths; at each deeper one is one trial, as long as that is faster.
const REACH_DEPTHS: [u32; 3] = [QUICK_DEPTH_MAX, 128, 512];
/// Faster by less than this is no faster.
const REACH_GROWTH: f64 = 1.05;
/// In place of what random reads reach, where the plan is only looked at.
const REHEARSED: RateReached = RateReached { iops: 10_000.0, depth: REACH_DEPTHS[0] };
/// In place of a target's size, likewise.
const REHEARSED_SIZE: Bytes = Bytes::gib(1);
/// Measured time of a row.
const ROW_TIME: Duration = Duration::from_s(3);
/// The shortest that may be asked for.
const ROW_TIME_LEAST: Duration = Duration::from_ms(1);
/// Sizes of test files are multiples of this.
const FILE_UNIT: Bytes = Bytes::mib(1);

/// A quick measurement of one target.
#[derive(Debug)]
pub struct QuickMeasurement {
    /// The target, and what may be done to it. Its only target is measured.
    pub settings: Settings,
    /// Bytes that are filled and measured; `None`: as much as is filled in a few seconds.
    pub size: Option<Bytes>,
    /// Measured time of each load; `None`: 3 s.
    pub duration: Option<Duration>,
    /// The latency to keep.
    pub objective: Objective,
}

impl QuickMeasurement {
    /// Refuses sizes and times that nothing can be measured with.
    ///
    /// # Errors
    /// [`Refusal::QuickTime`], [`Refusal::QuickSize`], [`Refusal::NoTarget`].
    pub fn check(&self) -> Result<(), Refusal> {
        self.settings.check()?;
        if let Some(duration) = self.duration.filter(|duration| *duration < ROW_TIME_LEAST) {
            return Err(Refusal::QuickTime { duration, least: ROW_TIME_LEAST });
        }
        match self.size.filter(|size| *size < QUICK_SIZE_MIN) {
            Some(size) => Err(Refusal::QuickSize { size, least: QUICK_SIZE_MIN }),
            None => Ok(()),
        }
    }

    /// What would be measured on a target of this size, as far as that is known before random reads have been tried.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn rehearsed(&self, seed: u64) -> Result<Work, Error> {
        self.check()?;
        let row = self.duration.unwrap_or(ROW_TIME);
        let size = self.size.unwrap_or(REHEARSED_SIZE);
        self.planned(size, row, !self.settings.read_only, REHEARSED, seed)
    }

    fn planned(
        &self,
        size: Bytes,
        duration: Duration,
        writable: bool,
        reached: RateReached,
        seed: u64,
    ) -> Result<Work, Error> {
        let text = QuickPlan { size, duration, objective: self.objective, reached, writable }.text();
        Ok(Work::of(vec![Plan::parse(&text, "quick")?], &self.settings.scope(), seed)?)
    }

    /// Measures; `None` where the observer wanted an end before the run began, and then nothing is kept.
    ///
    /// # Errors
    /// A [`Refusal`]; a target that cannot be opened, filled or read; what ended the run early.
    pub fn run(self, options: &RunOptions, observer: &mut dyn Observer) -> Result<Option<RunOutcome>, Error> {
        self.check()?;
        let Self { settings, size, duration, .. } = &self;
        let (size, duration) = (*size, *duration);
        let new = options.new_run(|| "quick".into(), RunVerb::Quick, Clock::Real);
        let (name, target) = (settings.targets[0].volume.clone(), settings.targets[0].target.clone());
        let mut store = PendingStore::start(options.store_path()?, |_| Vec::new());
        let need = Need { size, files: 1, writes: !settings.read_only, ..Need::default() };
        let mut volume = open_volumes::open_watched(&name, &target, &need, &settings.access(), observer)?;
        if volume.size() < QUICK_SIZE_MIN {
            return Err(Refusal::TooSmall { target, size: volume.size(), least: QUICK_SIZE_MIN }.into());
        }
        refuse_memory(&volume.facts, observer)?;
        open_volumes::report_unneeded(settings, std::iter::once(&volume), observer);
        let row = duration.unwrap_or(ROW_TIME);
        let planned = |volume: &Volume, reached: RateReached| -> Result<Work, Error> {
            self.planned(volume.size(), row, volume.writable, reached, new.seed)
        };
        let rehearsed = planned(&volume, REHEARSED)?;
        refuse_cells_on(&rehearsed, &volume, settings.engine)?;
        open_volumes::report_standing(rehearsed.cells.iter().map(|cell| (&volume.facts, &cell.spec)), observer);
        // The second trial usually shows that the first was as fast, and the third that a deeper queue is no faster.
        let trials = u64::from(settings.overrides.trials.unwrap_or(1));
        let plan = QuickPlan::time(row, self.objective.limit, volume.writable) * trials;
        let measuring = (REACH_WARM_UP + REACH_TIME) * 3 + plan;
        let loads = QuickPlan::loads(volume.writable);
        let ahead = QuickAhead {
            target: &target,
            volume: &volume.facts,
            size: volume.size(),
            writable: volume.writable,
            fills_all: size.is_some(),
            row,
            loads,
            measuring,
        };
        observer.event(&Event::QuickBegins(&ahead));
        let declared = sold_limits(&volume, observer);
        let mut first = First { settings, seed: new.seed, observer };
        let limit = size.is_none().then_some(QUICK_FILL_TIME);
        // Nothing is written for a result that could not be kept.
        store.prove()?;
        if !first.settle(&volume) {
            return Ok(None);
        }
        match look_first(&[&volume], measuring, first.observer) {
            Err(Error::NotBegun) => return Ok(None),
            other => other?,
        }
        if !first.fill(&mut volume, limit)? {
            return Ok(None);
        }
        let Some(reached) = first.reach(&mut volume)? else { return Ok(None) };
        observer.event(&Event::Idle);
        let work = planned(&volume, reached)?;
        // The run begins with its first load.
        let new = NewRun::now(new.name, new.verb, new.clock, Some(new.seed));
        let opened = OpenVolumes::from([(name, OpenVolume::filled(volume))]);
        let settings = self.settings;
        let measurement = OpenedMeasurement { new, settings, work, declared, opened, start: None };
        measurement.begin(store, observer).map(Some)
    }
}

/// The limits that the volume was sold with, where this machine's cloud says so.
fn sold_limits(volume: &Volume, observer: &mut dyn Observer) -> Option<DeclaredEnvironment> {
    match sold(&volume.facts)? {
        Ok(found) => {
            let has_limits = found.declared.is_some();
            observer.event(&Event::Recognised { machine: &found.machine, disks: &found.disks, has_limits });
            found.declared
        }
        Err(error) => {
            observer.event(&Event::NotRecognised { error: &error });
            None
        }
    }
}

/// Refuses what cannot be run here before anything is filled.
fn refuse_cells_on(work: &Work, volume: &Volume, options: EngineOptions) -> Result<(), Refusal> {
    let labels: Vec<String> = work.cells.iter().map(|cell| label(&cell.spec)).collect();
    let tried = work.cells.iter().zip(&labels).map(|(cell, label)| Tried { cell, label, options });
    refuse_impossible(|_| volume, tried)
}

/// What happens before the run: letting the device come to rest, filling, and finding what the curve is a share of.
struct First<'a> {
    settings: &'a Settings,
    seed: u64,
    observer: &'a mut dyn Observer,
}

impl First<'_> {
    /// Lets what programs wrote before reach the device: beneath the filling it would make the file smaller, beneath the loads their
    /// figures. What is only read is not made to be written to. Whether to go on.
    fn settle(&mut self, volume: &Volume) -> bool {
        if !volume.writable {
            return true;
        }
        self.observer.event(&Event::Planned(Duration::ZERO));
        self.observer.event(&Event::Begins(&Activity {
            place: "before the run".into(),
            label: format!(
                "letting the system write back what it holds in memory, for at most {}",
                SETTLE_TIME.clock()
            ),
            volumes: vec![volume.facts.name.clone()],
            planned: Duration::ZERO,
            is_guessed: true,
        }));
        let mut watch = EngineWatch(self.observer);
        let settled = watch.settle(volume, SETTLE_TIME);
        if self.observer.wants_an_end() {
            return false;
        }
        match settled {
            // What another program could not write says nothing of what is measured, but people want to know.
            Err(error) => self.observer.event(&Event::NotSettled { error: &error }),
            Ok(Some(settled)) if !settled.complete || settled.elapsed >= SETTLE_TOLD => {
                self.observer.event(&Event::Settled { elapsed: settled.elapsed, complete: settled.complete });
            }
            Ok(_) => {}
        }
        true
    }

    /// Fills the volume, for `limit` at most, and shrinks it to what was filled. Whether to go on.
    fn fill(&mut self, volume: &mut Volume, limit: Option<Duration>) -> Result<bool, Error> {
        if !volume.writable || volume.facts.kind == TargetKind::Null {
            return Ok(true);
        }
        let wanted = volume.size();
        let at_most = limit.map_or(String::new(), |limit| format!(" for at most {}", limit.clock()));
        self.observer.event(&Event::Planned(limit.unwrap_or_default()));
        self.observer.event(&Event::Begins(&Activity {
            place: "before the run".into(),
            label: format!("filling {}{at_most}", wanted.human()),
            volumes: vec![volume.facts.name.clone()],
            planned: limit.unwrap_or_default(),
            is_guessed: false,
        }));
        let mut watch = EngineWatch(self.observer);
        let filling = Filling { limit, ..Filling::default() };
        let filled = watch.fill(volume, wanted, self.seed, filling, self.settings.engine)?;
        if self.observer.wants_an_end() {
            return Ok(false);
        }
        let (bytes, time) = (filled.bytes.round_down(FILE_UNIT), filled.elapsed.human());
        if !filled.complete {
            if bytes == Bytes::ZERO {
                return Err(Error::NotFilled { least: FILE_UNIT, elapsed: filled.elapsed });
            }
            let reason = &volume.facts.size_reason;
            let reason = format!("as much as could be filled in {time}; {} would be better: {reason}", wanted.human());
            shrink(volume, bytes, reason)?;
        }
        // What was found when it was opened is no longer so, and doubts rest on it.
        volume.facts.extents = volume.extents();
        self.observer.event(&Event::FilledFirst {
            bytes: filled.bytes,
            elapsed: filled.elapsed,
            reason: &volume.facts.size_reason,
        });
        Ok(true)
    }

    /// The most requests per second that random 4 KiB reads reach. `None` when the user stopped it.
    fn reach(&mut self, volume: &mut Volume) -> Result<Option<RateReached>, Error> {
        let mut number = 0;
        let reached = most_reached(|depth| {
            number += 1;
            self.reach_once(volume, depth, number - 1)
        })?;
        let Some((reached, failed)) = reached else { return Ok(None) };
        if let Some((depth, why)) = failed {
            self.observer.event(&Event::ReachedAtMost { failed: depth, error: &why, depth: reached.depth });
        }
        Ok(Some(reached))
    }

    /// The same in one trial.
    fn reach_once(&mut self, volume: &mut Volume, depth: u32, number: u32) -> Result<Option<f64>, Error> {
        let spec = LoadSpec {
            arrival: Arrival::Closed { queue_depth: depth, rate_max: None, think_time: Duration::ZERO },
            size: Some(volume.size()),
            warm_up: REACH_WARM_UP,
            duration: REACH_TIME,
            trials: 1,
            fill: Fill::Never,
            ..LoadSpec::default()
        };
        let planned = spec.trial_time();
        let id = "reach".to_owned();
        let cell = RunCell { id, volume: volume.facts.name.clone(), spec, order: Order::AsListed };
        self.observer.event(&Event::Planned(planned));
        self.observer.event(&Event::Begins(&Activity {
            place: "before the run".into(),
            label: format!("finding what random reads reach, {depth} at once"),
            volumes: vec![volume.facts.name.clone()],
            planned,
            is_guessed: false,
        }));
        let mut watch = EngineWatch(self.observer);
        let trial = watch.trial(volume, &cell, number, self.seed, self.settings.engine)?;
        match trial.ending {
            Ending::Interrupted => Ok(None),
            Ending::Complete => match trial.iops().filter(|iops| *iops > 0.0) {
                Some(iops) => Ok(Some(iops)),
                None => Err(Error::NothingAnswered { time: planned }),
            },
            Ending::Failed(how) | Ending::Hung(how) => Err(Error::NotRead { how }),
        }
    }
}

/// A depth at which nothing could be reached, and why.
type Failed = (u32, Error);

/// The most that trials of `once`, at the depth they are given, reach: until they get no faster, neither again (caches, clocks and buckets
/// that fill first make a single one too slow) nor deeper, since open loops ask for as many at once as it takes. What a deeper one failed
/// with is told: what fewer reached is known all the same, and the run itself shows what fails. `None` when the user stopped it.
///
/// # Errors
/// The first depth's own.
fn most_reached(
    mut once: impl FnMut(u32) -> Result<Option<f64>, Error>,
) -> Result<Option<(RateReached, Option<Failed>)>, Error> {
    let depth = REACH_DEPTHS[0];
    let Some(iops) = once(depth)? else { return Ok(None) };
    let mut most = RateReached { iops, depth };
    for _ in 1..REACH_TRIALS_MAX {
        let Some(iops) = once(depth)? else { return Ok(None) };
        let is_faster = iops > most.iops * REACH_GROWTH;
        most.iops = most.iops.max(iops);
        if !is_faster {
            break;
        }
    }
    for &depth in &REACH_DEPTHS[1..] {
        match once(depth) {
            Ok(Some(iops)) if iops > most.iops * REACH_GROWTH => most = RateReached { iops, depth },
            Ok(Some(_)) => break,
            Ok(None) => return Ok(None),
            Err(error) => return Ok(Some((most, Some((depth, error))))),
        }
    }
    Ok(Some((most, None)))
}

/// Takes the volume for no larger than `size`; a test file gives back the rest of its space.
fn shrink(volume: &mut Volume, size: Bytes, reason: String) -> Result<(), Error> {
    if volume.facts.kind == TargetKind::TestFile {
        for file in &volume.files {
            file.set_len(size.get()).map_err(|source| Error::NotShortened { source })?;
        }
    }
    volume.file_size = size;
    volume.facts.size_bytes = Some(size.get());
    volume.facts.size_reason = reason;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was reached by trials that give these rates, each at the depth it was asked for, and which depths these were.
    fn reached(rates: &[(u32, f64)]) -> (Option<RateReached>, Vec<u32>) {
        let mut left = rates.iter();
        let mut asked = Vec::new();
        let found = most_reached(|depth| {
            asked.push(depth);
            Ok(left.next().filter(|(of, _)| *of == depth).map(|(_, rate)| *rate))
        });
        (found.unwrap().map(|(reached, _)| reached), asked)
    }

    #[test]
    fn what_a_curve_is_a_share_of_is_looked_for_until_nothing_is_faster() {
        // As a throttle does: nothing is faster.
        let level = [(32, 5_000.0), (32, 5_010.0), (128, 5_020.0)];
        assert_eq!(reached(&level), (Some(RateReached { iops: 5_010.0, depth: 32 }), vec![32, 32, 128]));
        // Something fills first; then a deeper queue brings more, and a still deeper one does not.
        let growing = [(32, 50.0), (32, 60.0), (32, 61.0), (128, 90.0), (512, 91.0)];
        assert_eq!(reached(&growing), (Some(RateReached { iops: 90.0, depth: 128 }), vec![32, 32, 32, 128, 512]));
        // The user stopped it.
        assert_eq!(reached(&[(32, 50.0)]).0, None);
        assert_eq!(reached(&[(32, 50.0), (32, 50.0)]).0, None);
    }

    #[test]
    fn what_fails_deeper_leaves_what_fewer_reached() {
        let once = |depth| if depth == 32 { Ok(Some(70.0)) } else { Err(Error::NotRead { how: "no memory".into() }) };
        let (reached, failed) = most_reached(once).unwrap().unwrap();
        assert_eq!(reached, RateReached { iops: 70.0, depth: 32 });
        let (depth, why) = failed.unwrap();
        assert_eq!((depth, why.to_string().as_str()), (128, "reading from the target failed: no memory"));
        assert!(most_reached(|_| Err(Error::NotRead { how: "gone".into() })).is_err());
    }
}
