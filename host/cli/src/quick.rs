//! `quick`: about a minute on one target, from nothing to a report.

use crate::arguments::QuickArguments;
use crate::failure::{Outcome, Usage};
use crate::figures;
use crate::interruption::Interruption;
use crate::output;
use crate::report_file::ReportFile;
use crate::run::{self, Beginning, Manner};
use crate::terminal::Terminal;
use crate::{typed_settings, words};
use anyhow::{Context, bail};
use loadline_engine::{EngineOptions, Filling, Need, Volume};
use loadline_record::{Ending, MEMORY_FILE_SYSTEMS, RunVerb, TargetKind, VolumeFacts};
use loadline_runs::open_volumes::{self, OpenVolume, OpenVolumes};
use loadline_runs::wall_clock::{UtcTime, fresh_seed, run_id};
use loadline_runs::{
    Activity, EngineWatch, Error, Event, Observer, PendingStore, Settings, Tried, Work, label, refuse_impossible,
    sole_target,
};
use loadline_units::{Bytes, Duration};
use loadline_workload::{
    Arrival, Fill, LoadSpec, Order, Plan, QUICK_DEPTH_MAX, QUICK_SIZE_MIN, QuickPlan, RateReached, RunCell,
    parse_objective,
};
use std::path::PathBuf;

/// What programs left in memory is waited for no longer than this,
const SETTLE_TIME: Duration = Duration::from_s(20);
/// and told from here on.
const SETTLE_TOLD: Duration = Duration::from_ms(500);
/// Filling takes no longer than this unless a size was asked for.
const FILL_TIME: Duration = Duration::from_s(12);
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
/// Measured time of a row.
const ROW_TIME: Duration = Duration::from_s(3);
/// The shortest that may be asked for.
const ROW_TIME_LEAST: Duration = Duration::from_ms(1);
/// Sizes of test files are multiples of this.
const FILE_UNIT: Bytes = Bytes::mib(1);
/// What database vendors commonly recommend.
const OBJECTIVE_DEFAULT: &str = "20 ms";

/// Of an end before the first load.
const NOTHING_KEPT: &str = "interrupted before anything was measured; nothing is kept";

/// Measures, prints, and leaves a report.
pub(crate) fn quick(arguments: &QuickArguments, quiet: bool, store: PathBuf) -> anyhow::Result<Outcome> {
    let objective = parse_objective(arguments.objective.as_deref().unwrap_or(OBJECTIVE_DEFAULT))
        .map_err(|reason| Usage(format!("--objective: {reason}")))?;
    refuse_too_little(arguments)?;
    let report = ReportFile::claimed(&arguments.report)?;
    let settings = typed_settings::of_driving(sole_target(&arguments.path), &arguments.driving);
    let name = settings.targets[0].volume.clone();
    let seed = arguments.driving.seed.unwrap_or_else(fresh_seed);
    let mut terminal = Terminal::new(quiet, &Interruption::watch()?);
    let store = PendingStore::start(store, |_| Vec::new());
    let need = Need { size: arguments.size, files: 1, writes: !settings.read_only, ..Need::default() };
    let mut volume = open_volumes::open_watched(&name, &arguments.path, &need, &settings.access(), &mut terminal)
        .map_err(|error| {
            let is_stop = matches!(error, Error::Stopped { .. });
            let error = anyhow::Error::from(error);
            if is_stop { error.context(NOTHING_KEPT) } else { error }
        })?;
    refuse_too_small(&arguments.path, &volume)?;
    open_volumes::report_unneeded(&settings, std::iter::once(&volume), &mut terminal);
    let duration = arguments.duration.unwrap_or(ROW_TIME);
    let planned = |volume: &Volume, reached: RateReached| -> anyhow::Result<Work> {
        let size = volume.size();
        let quick = QuickPlan { size, duration, objective, reached, writable: volume.writable };
        let plan = Plan::parse(&quick.text(), "quick").context("the plan of quick")?;
        Ok(Work::of(vec![plan], &settings.scope(), seed)?)
    };
    refuse_cells(&planned(&volume, REHEARSED)?, &volume, settings.engine)?;
    terminal.say(&foretold(arguments, objective.limit, &volume));
    if let Some(warning) = not_storage(&volume.facts) {
        output::tell(&warning);
    }
    let mut first = First { settings: &settings, seed, terminal: &mut terminal };
    let limit = arguments.size.is_none().then_some(FILL_TIME);
    if !first.settle(&volume) || !first.fill(&mut volume, limit)? {
        return Ok(interrupted());
    }
    let Some(reached) = first.reach(&mut volume)? else { return Ok(interrupted()) };
    terminal.clear();

    let work = planned(&volume, reached)?;
    let id = run_id(UtcTime::now());
    let opened = OpenVolumes::from([(name, OpenVolume::filled(volume))]);
    let beginning = Beginning { id, name: "quick".into(), verb: RunVerb::Quick, seed, settings, work, declared: None };
    let manner = Manner { quiet, format: arguments.printing.format };
    let outcome = run::begin(beginning, opened, store, &mut terminal, &manner, &|record, summary| {
        report.write(&loadline_report::html(&[(record, summary)]))?;
        if !quiet {
            output::tell(&format!("report: {}", report.path().display()));
        }
        Ok(())
    })?;
    Ok(match outcome {
        // The usual objective is for orientation; only the user's own is a question that can come out against.
        Outcome::Against | Outcome::Inconclusive if arguments.objective.is_none() => Outcome::Done,
        other => other,
    })
}

/// Refuses sizes and times that no row can be measured with.
fn refuse_too_little(arguments: &QuickArguments) -> Result<(), Usage> {
    if let Some(duration) = arguments.duration.filter(|duration| *duration < ROW_TIME_LEAST) {
        return Err(Usage(format!("--duration: no row is measured in {duration}; give at least {ROW_TIME_LEAST}")));
    }
    match arguments.size.filter(|size| *size < QUICK_SIZE_MIN) {
        Some(size) => Err(Usage(format!(
            "--size: {size} does not hold the largest block of quick; give at least {QUICK_SIZE_MIN}"
        ))),
        None => Ok(()),
    }
}

/// Refuses a target that is too small for the largest block.
fn refuse_too_small(target: &str, volume: &Volume) -> Result<(), Usage> {
    let (size, least) = (volume.size(), QUICK_SIZE_MIN);
    if size >= least {
        return Ok(());
    }
    Err(Usage(format!(
        "{target} has {size}, which does not hold the largest block of quick: name something of {least} at least, or measure \
         it by a plan with smaller blocks (loadline run)"
    )))
}

/// Refuses what cannot be run here before anything is filled.
fn refuse_cells(work: &Work, volume: &Volume, options: EngineOptions) -> anyhow::Result<()> {
    let labels: Vec<String> = work.cells.iter().map(|cell| label(&cell.spec)).collect();
    let tried = work.cells.iter().zip(&labels).map(|(cell, label)| Tried { cell, label, options });
    Ok(refuse_impossible(|_| volume, tried)?)
}

/// What will be done and how long it takes, in a line.
fn foretold(arguments: &QuickArguments, limit: Duration, volume: &Volume) -> String {
    let row = arguments.duration.unwrap_or(ROW_TIME);
    // The second trial usually tells that the first was as fast, and the third that a deeper queue is no faster.
    let measuring = (REACH_WARM_UP + REACH_TIME) * 3 + QuickPlan::time(row, limit, volume.writable);
    let (loads, size) = (QuickPlan::loads(volume.writable), volume.size().human());
    let null = volume.facts.kind == TargetKind::Null;
    let fills = volume.writable && !null;
    let (what, time) = match (fills, arguments.size) {
        (false, _) if null => ("measures the tool itself".to_owned(), format!("{} in all", measuring.clock())),
        (false, _) => (format!("reads only, over {size}"), format!("{} in all", measuring.clock())),
        (true, Some(_)) => (format!("fills {size} first"), format!("{} after the filling", measuring.clock())),
        (true, None) => (
            format!("fills up to {size} first, for at most {}", FILL_TIME.clock()),
            format!("{} in all", (FILL_TIME + measuring).clock()),
        ),
    };
    let after = if volume.facts.kind == TargetKind::TestFile { "; the test file is removed at the end" } else { "" };
    let target = &arguments.path;
    let more = loads + 1;
    format!("quick on {target}: {what}, then {loads} or {more} loads of {} each, about {time}{after}", row.human())
}

/// What everyone who reads the figures must know first, where the target is no storage or cannot be measured as such.
fn not_storage(facts: &VolumeFacts) -> Option<String> {
    if facts.kind == TargetKind::Null || facts.direct {
        return None;
    }
    Some(match &facts.file_system {
        Some(at) if MEMORY_FILE_SYSTEMS.contains(&at.kind.as_str()) => format!(
            "{} is a {}: this is memory, not storage; the figures say how fast memory is, and nothing about any disk",
            at.mount_point, at.kind
        ),
        _ => format!(
            "direct I/O is not possible here ({}): the page cache takes part in every figure",
            facts.direct_reason.as_deref().unwrap_or("the reason is unknown")
        ),
    })
}

fn interrupted() -> Outcome {
    output::tell(NOTHING_KEPT);
    Outcome::Interrupted
}

/// What happens before the run: letting the device come to rest, filling, and finding what the curve is a share of.
struct First<'a> {
    settings: &'a Settings,
    seed: u64,
    terminal: &'a mut Terminal,
}

impl First<'_> {
    /// Lets what programs wrote before reach the device: beneath the filling it would make the file smaller, beneath the loads their
    /// figures. What is only read is not made to be written to. Whether to go on.
    fn settle(&mut self, volume: &Volume) -> bool {
        if !volume.writable {
            return true;
        }
        self.terminal.says(&Event::Planned(Duration::ZERO));
        self.terminal.begins(&Activity {
            place: "before the run".into(),
            label: format!(
                "letting the system write back what it holds in memory, for at most {}",
                SETTLE_TIME.clock()
            ),
            planned: Duration::ZERO,
            is_guessed: true,
        });
        let mut watch = EngineWatch(self.terminal);
        let settled = watch.settle(volume, SETTLE_TIME);
        if self.terminal.wants_an_end() {
            return false;
        }
        match settled {
            // What another program could not write says nothing of what is measured, but the user wants to know.
            Err(error) => self.terminal.say(&format!("{}; measuring goes on", words::in_a_line(&error))),
            Ok(Some(settled)) if !settled.complete => self.terminal.say(&format!(
                "what programs wrote before is still on its way to the device after {}, and is measured along: for undisturbed figures \
                 wait until `sync` ends, and measure again",
                settled.elapsed.human()
            )),
            Ok(Some(settled)) if settled.elapsed >= SETTLE_TOLD => self.terminal.say(&format!(
                "what programs wrote before was written back first, which took {}",
                settled.elapsed.human()
            )),
            Ok(_) => {}
        }
        true
    }

    /// Fills the volume, for `limit` at most, and shrinks it to what was filled. Whether to go on.
    fn fill(&mut self, volume: &mut Volume, limit: Option<Duration>) -> anyhow::Result<bool> {
        if !volume.writable || volume.facts.kind == TargetKind::Null {
            return Ok(true);
        }
        let wanted = volume.size();
        let at_most = limit.map_or(String::new(), |limit| format!(" for at most {}", limit.clock()));
        self.terminal.says(&Event::Planned(limit.unwrap_or_default()));
        self.terminal.begins(&Activity {
            place: "before the run".into(),
            label: format!("filling {}{at_most}", wanted.human()),
            planned: limit.unwrap_or_default(),
            is_guessed: false,
        });
        let mut watch = EngineWatch(self.terminal);
        let filling = Filling { limit, ..Filling::default() };
        let filled = watch.fill(volume, wanted, self.seed, filling, self.settings.engine)?;
        if self.terminal.wants_an_end() {
            return Ok(false);
        }
        let (bytes, time) = (filled.bytes.round_down(FILE_UNIT), filled.elapsed.human());
        if !filled.complete {
            if bytes == Bytes::ZERO {
                bail!(
                    "less than {FILE_UNIT} could be written in {time}: name a target that answers, or --size with a size that fits"
                );
            }
            let reason = &volume.facts.size_reason;
            let reason = format!("as much as could be filled in {time}; {} would be better: {reason}", wanted.human());
            shrink(volume, bytes, reason)?;
        }
        // What was found when it was opened is no longer so, and doubts rest on it.
        volume.facts.extents = volume.extents();
        let rate = filled.bytes.get() as f64 / filled.elapsed.as_s_f64().max(1e-9);
        let (bytes, rate) = (filled.bytes.human(), figures::megabytes_per_s(rate));
        self.terminal.say(&format!("filled {bytes} in {time}, {rate} ({})", volume.facts.size_reason));
        Ok(true)
    }

    /// The most requests per second that random 4 KiB reads reach. `None` when the user stopped it.
    fn reach(&mut self, volume: &mut Volume) -> anyhow::Result<Option<RateReached>> {
        let mut number = 0;
        let reached = most_reached(|depth| {
            number += 1;
            self.reach_once(volume, depth, number - 1)
        })?;
        let Some((reached, failed)) = reached else { return Ok(None) };
        if let Some((depth, why)) = failed {
            let from = reached.depth;
            self.terminal.say(&format!("with {depth} at once {why:#}; the curve rests on what {from} at once reach"));
        }
        Ok(Some(reached))
    }

    /// The same in one trial.
    fn reach_once(&mut self, volume: &mut Volume, depth: u32, number: u32) -> anyhow::Result<Option<f64>> {
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
        self.terminal.says(&Event::Planned(planned));
        self.terminal.begins(&Activity {
            place: "before the run".into(),
            label: format!("finding what random reads reach, {depth} at once"),
            planned,
            is_guessed: false,
        });
        let mut watch = EngineWatch(self.terminal);
        let trial = watch.trial(volume, &cell, number, self.seed, self.settings.engine)?;
        match trial.ending {
            Ending::Interrupted => Ok(None),
            Ending::Complete => match trial.iops().filter(|iops| *iops > 0.0) {
                Some(iops) => Ok(Some(iops)),
                None => bail!("not one read of 4 KiB was answered in {}: the target does not answer", planned.clock()),
            },
            Ending::Failed(how) | Ending::Hung(how) => bail!("reading from the target failed: {how}"),
        }
    }
}

/// A depth at which nothing could be reached, and why.
type Failed = (u32, anyhow::Error);

/// The most that trials of `once`, at the depth they are given, reach: until they get no faster, neither again (caches, clocks and buckets
/// that fill first make a single one too slow) nor deeper, since open loops ask for as many at once as it takes. What a deeper one failed
/// with is told: what fewer reached is known all the same, and the run itself shows what fails. `None` when the user stopped it.
///
/// # Errors
/// The first depth's own.
fn most_reached(
    mut once: impl FnMut(u32) -> anyhow::Result<Option<f64>>,
) -> anyhow::Result<Option<(RateReached, Option<Failed>)>> {
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
fn shrink(volume: &mut Volume, size: Bytes, reason: String) -> anyhow::Result<()> {
    if volume.facts.kind == TargetKind::TestFile {
        for file in &volume.files {
            file.set_len(size.get()).context("cannot shorten the test file")?;
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
        let once =
            |depth| if depth == 32 { Ok(Some(70.0)) } else { bail!("reading from the target failed: no memory") };
        let (reached, failed) = most_reached(once).unwrap().unwrap();
        assert_eq!(reached, RateReached { iops: 70.0, depth: 32 });
        let (depth, why) = failed.unwrap();
        assert_eq!((depth, why.to_string().as_str()), (128, "reading from the target failed: no memory"));
        assert!(most_reached(|_| bail!("gone")).is_err());
    }
}
