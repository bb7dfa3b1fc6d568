//! The measurements that conclusions recommend, as commands that run as printed.

use crate::recordable;
use crate::shell::in_shell;
use crate::typed_settings;
use crate::typed_words::store_option;
use loadline_analysis::{
    Advised, CellSummary, Conclusion, Limit, NextMeasurement, RunSummary, VolumeVerdict, WatchNext, summarize,
};
use loadline_catalog::environment_text;
use loadline_hunt::{HuntResult, HuntStep};
use loadline_record::{
    Clock, HostPart, HostRank, PlanText, RunRecord, RunVerb, TargetKind, VOLUME_DEFAULT, VolumeFacts,
};
use loadline_runs::{
    Course, NamedTarget, Overrides, PredictionSettings, Scope, Work, label, prediction_settings_of, read_again,
};
use loadline_units::{Bytes, Duration};
use loadline_workload::preset;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The file that a command writes the run's plan to.
const PLAN_FILE: &str = "plan.toml";
/// The file that a command writes the run's environment to.
const ENVIRONMENT_FILE: &str = "environment.toml";

/// A plan that comes along, for commands that want some.
pub(crate) const PLAN_SHOWN: &str = "outstanding-sweep";
/// An environment that comes along, for commands that want some.
pub(crate) const ENVIRONMENT_SHOWN: &str = "ds3-p30";
/// Measures the storage of the folder where it is typed.
pub(crate) const REAL_STORAGE: &str = "loadline quick .";
/// Trials of a hunt that chance left undecided get so many times as long.
const LONGER: u64 = 4;
/// Runs that a command names.
const RUNS_NAMED_MAX: usize = 8;

/// The command that writes a report of these runs; of many, the one that lists them.
pub(crate) fn report_command<'a>(ids: impl IntoIterator<Item = &'a str>) -> String {
    let ids: Vec<&str> = ids.into_iter().collect();
    if ids.len() > RUNS_NAMED_MAX {
        return format!("loadline list -n {}{}", ids.len(), store_option());
    }
    format!("loadline report {}{}", ids.join(" "), store_option())
}

/// The run summed up, with the commands that its conclusions recommend.
pub(crate) fn summarized(record: &RunRecord) -> RunSummary {
    let mut summary = summarize(record);
    let commands: Vec<Vec<String>> =
        summary.conclusions.iter().map(|conclusion| commands(&summary, conclusion)).collect();
    for (conclusion, commands) in summary.conclusions.iter_mut().zip(commands) {
        conclusion.commands = commands;
    }
    let times: Vec<Option<Duration>> =
        summary.conclusions.iter().map(|conclusion| first_time(&summary, conclusion)).collect();
    for (conclusion, time) in summary.conclusions.iter_mut().zip(&times) {
        conclusion.takes_ns = time.map(Duration::as_ns);
    }
    let conclusions = &summary.conclusions;
    for volume in summary.verdict.iter_mut().flat_map(|block| &mut block.volumes).filter(|v| v.command.is_none()) {
        let own = |conclusion: &&Conclusion| conclusion.cell == volume.cell;
        let Some(place) = conclusions.iter().position(|conclusion| own(&conclusion)) else { continue };
        volume.command = conclusions[place].commands.first().cloned();
        volume.takes_ns = times[place].map(Duration::as_ns).filter(|_| volume.next.is_some());
    }
    summary
}

/// The summary with a command at the end of its verdict in any case.
pub(crate) fn with_command(summary: &RunSummary) -> Cow<'_, RunSummary> {
    let mut found = Cow::Borrowed(summary);
    let has_one = |summary: &RunSummary| {
        let volumes = summary.verdict.iter().flat_map(|block| &block.volumes);
        volumes.into_iter().any(|volume| volume.command.is_some())
    };
    if let Some(command) = helped(summary, |step| matches!(step, WatchNext::LiftThrottle | WatchNext::LiftSetting)) {
        found.to_mut().verdict.iter_mut().for_each(|block| block.afterwards = Some(command.clone()));
    }
    if summary.verdict.is_some() && !has_one(summary) {
        let recorded = to_record(summary);
        let again = || watched_again(summary).or_else(|| carried_on(summary)).unwrap_or_else(|| otherwise(summary));
        let command = recorded.clone().unwrap_or_else(again);
        let volumes = found.to_mut().verdict.iter_mut().flat_map(|block| &mut block.volumes);
        volumes.take(1).for_each(|volume| {
            volume.command = Some(command.clone());
            if let Some(Advised::Watch { record, .. }) = &mut volume.next {
                *record = recorded.is_some();
            }
        });
    }
    found
}

/// The command that measures the rest of a run that ended before all of its loads.
fn carried_on(summary: &RunSummary) -> Option<String> {
    summary.verdict.as_ref()?.not_measured.as_ref()?;
    let verb = if summary.run.clock == Clock::Virtual { "predict" } else { "run" };
    Some(format!("loadline {verb} --resume {}{}", summary.run.id, store_option()))
}

/// The command that shows whether the step of a watch helped, once it was taken: the same watch again, and both beside each other. `None`
/// where `is_wanted` is false of the step.
fn helped(summary: &RunSummary, is_wanted: fn(&WatchNext) -> bool) -> Option<String> {
    let run = (summary.run.verb == RunVerb::Watch).then_some(&summary.run)?;
    let is_taken =
        |volume: &&VolumeVerdict| matches!(&volume.next, Some(Advised::Watch { step, .. }) if is_wanted(step));
    let first = summary.verdict.iter().flat_map(|block| &block.volumes).find(is_taken)?;
    let cell = summary.cells.iter().find(|cell| cell.id == first.cell)?;
    let program = cell.watch.as_ref()?.programs.iter().find(|program| program.named);
    let device = || run.volumes.iter().find(|volume| volume.name == cell.volume);
    let target = program.map(|program| program.pid.to_string()).or_else(|| Some(in_shell(&device()?.target)))?;
    let store = store_option();
    Some(format!("loadline watch {target} --for 20s{store} && loadline compare {} last{store}", run.id))
}

/// Where another program is in the way: without it.
fn watched_again(summary: &RunSummary) -> Option<String> {
    helped(summary, |step| matches!(step, WatchNext::SeeProgram { .. }))
}

/// The command that records the requests of a watched device that holds its application up; `None` where the storage does not, where
/// another program is in the way, or where it cannot be recorded here.
fn to_record(summary: &RunSummary) -> Option<String> {
    let run = (summary.run.verb == RunVerb::Watch).then_some(&summary.run)?;
    let other =
        |limit| matches!(limit, Limit::Arrival | Limit::Cpu | Limit::Cache | Limit::Generator | Limit::Unexplained);
    let first = summary.verdict.iter().flat_map(|block| &block.volumes).next()?;
    first.limit.filter(|limit| !other(*limit) && watched_again(summary).is_none())?;
    let cell = summary.cells.iter().find(|cell| cell.id == first.cell)?;
    let device = &run.volumes.iter().find(|volume| volume.name == cell.volume)?.target;
    let could = |file: &PathBuf| recordable::can_record(device, file);
    // Where this folder lies on the device, memory does not.
    let file = [unused("app", "trace"), unused("/dev/shm/app", "trace")].into_iter().find(could)?;
    Some(format!("loadline record {} -o {} --for 60s", in_shell(device), in_shell(&file.display().to_string())))
}

/// A file, or a folder, that is not there yet: the name as it is, or with a number.
pub(crate) fn unused(name: &str, extension: &str) -> PathBuf {
    let of = |number: u32| {
        let name = if number == 1 { name.to_owned() } else { format!("{name}-{number}") };
        PathBuf::from(if extension.is_empty() { name } else { format!("{name}.{extension}") })
    };
    (1..1_000).map(of).find(|path| !path.exists()).unwrap_or_else(|| of(1))
}

/// The command at the end of a verdict that no measurement would settle: storage that does more, or the run's report.
fn otherwise(summary: &RunSummary) -> String {
    let run = &summary.run;
    if run.volumes.iter().all(|volume| volume.kind == TargetKind::Null) {
        return REAL_STORAGE.to_owned();
    }
    let storage_holds = |volume: &VolumeVerdict| {
        matches!(
            volume.limit,
            Some(
                Limit::DiskIops
                    | Limit::DiskThroughput
                    | Limit::VmUncachedIops
                    | Limit::VmUncachedThroughput
                    | Limit::VmCachedIops
                    | Limit::VmCachedThroughput
                    | Limit::BurstExhausted
            )
        )
    };
    let held = summary.verdict.iter().flat_map(|block| &block.volumes).find(|volume| storage_holds(volume));
    let place = held.and_then(|volume| summary.cells.iter().position(|cell| cell.id == volume.cell));
    let size =
        held.and_then(|held| run.volumes.iter().find(|volume| volume.name == held.volume || held.volume.is_empty()));
    match (place, size.and_then(|volume| volume.size_bytes).filter(|size| *size > 0)) {
        (Some(place), Some(size)) => format!(
            "loadline advise --run {} --cell {} --size '{}'{}",
            run.id,
            place + 1,
            Bytes::new(size),
            store_option()
        ),
        _ => report_command([run.id.as_str()]),
    }
}

/// The command that makes a prediction again with this seed; `None` where it keeps no single plan, or ran in a way of its own.
pub(crate) fn predicted_again(record: &RunRecord, seed: u64) -> Option<String> {
    let summary = summarize(record);
    let of = Recommended { summary: &summary, cell: summary.cells.first()? };
    let settings = prediction_settings_of(record).ok().filter(|settings| settings.course == Course::Apart)?;
    let (mut steps, plan) = of.plan()?;
    let mut command = format!("loadline predict {plan}{}", of.environment(&mut steps)?);
    for NamedTarget { volume, target } in &settings.volumes {
        let _ = write!(command, " --on {}", in_shell(&format!("{volume}={target}")));
    }
    let usual = PredictionSettings::default();
    if settings.draws != usual.draws {
        let _ = write!(command, " --draws {}", settings.draws);
    }
    command.push_str(if settings.published { " --published" } else { "" });
    command.extend(typed_settings::typed(&settings.overrides).map(|options| format!(" {options}")));
    let _ = write!(command, " --seed {seed}");
    steps.push(command + &store_option());
    Some(steps.join(" && "))
}

/// The command that measures a run's plan again with so many trials of each cell; `None` where it keeps no single plan, and where
/// several hosts ran it.
pub(crate) fn measured_again(record: &RunRecord, trials: u32) -> Option<String> {
    let summary = summarize(record);
    let of = Recommended { summary: &summary, cell: summary.cells.first()? };
    if of.is_of_several_hosts() {
        return None;
    }
    if record.header.verb == RunVerb::Quick {
        return of.quick(trials);
    }
    let (mut steps, plan) = of.plan()?;
    let mut command = format!("loadline run {plan}");
    for volume in &summary.run.volumes {
        let mut cells = summary.cells.iter().filter(|cell| cell.volume == volume.name);
        command.push_str(&on(volume, cells.all(CellSummary::reads_only)));
    }
    let overrides = Overrides { trials: Some(trials), short: false, ..of.overrides() };
    command.extend(typed_settings::typed(&overrides).map(|options| format!(" {options}")));
    command.push_str(&of.own_range());
    steps.push(command + &store_option());
    Some(steps.join(" && "))
}

/// The command for the step that follows from a hunt.
pub(crate) fn after_hunt(record: &RunRecord, found: &HuntResult) -> String {
    let run = &record.header.id;
    let report = || report_command([run.as_str()]);
    match found.next_step() {
        HuntStep::LiftThrottle(command) => command.to_owned(),
        HuntStep::SetInEnvironment(_) => shown_into(run, "--env", ENVIRONMENT_FILE),
        HuntStep::SetInPlan(_) => shown_into(run, "--plan", PLAN_FILE),
        HuntStep::LongerTrials(_) => hunted_again(record, found).unwrap_or_else(report),
        HuntStep::MoreStorage | HuntStep::LargerVm => {
            let size = record.header.volumes.iter().filter_map(|volume| volume.size_bytes).sum::<u64>();
            let size = Bytes::new(size);
            if size == Bytes::ZERO {
                report()
            } else {
                format!("loadline advise --run {run} --size '{size}'{}", store_option())
            }
        }
        HuntStep::Read(_) => report(),
    }
}

/// The command that hunts around the same cell with trials so many times as long.
fn hunted_again(record: &RunRecord, found: &HuntResult) -> Option<String> {
    let summary = summarize(record);
    let of = Recommended { summary: &summary, cell: summary.cells.iter().find(|cell| cell.id == found.cell)? };
    let (mut steps, plan) = of.plan()?;
    let mut command = format!("loadline hunt {plan} --cell {}", in_shell(&found.label));
    if summary.run.clock == Clock::Virtual {
        command.push_str(&of.environment(&mut steps)?);
        let _ = write!(command, " --volume {}", in_shell(&of.cell.volume));
    } else {
        command.push_str(&on(of.volume()?, of.cell.reads_only()));
    }
    let longer = Duration::from_ns(of.cell.load.details.duration_ns?) * LONGER;
    let _ = write!(command, " --duration '{longer}'");
    steps.push(command + &store_option());
    Some(steps.join(" && "))
}

/// The command that predicts a plan that comes along on the environment of a file.
pub(crate) fn predicted(environment: &str) -> String {
    format!("loadline predict {PLAN_SHOWN} --env {}{}", in_shell(environment), store_option())
}

/// The command that predicts a run's plan on the environment of a file; with any other plan where it keeps none.
pub(crate) fn predicted_on(record: &RunRecord, environment: &str) -> String {
    let summary = summarize(record);
    let plan = summary.cells.first().and_then(|cell| Recommended { summary: &summary, cell }.plan());
    let (mut steps, plan) = plan.unwrap_or_else(|| (Vec::new(), PLAN_SHOWN.to_owned()));
    steps.push(format!("loadline predict {plan} --env {}{}", in_shell(environment), store_option()));
    steps.join(" && ")
}

/// How long the first command of a conclusion takes, where that is not a moment.
fn first_time(summary: &RunSummary, conclusion: &Conclusion) -> Option<Duration> {
    let cell = summary.cells.iter().find(|cell| cell.id == conclusion.cell)?;
    let of = Recommended { summary, cell };
    let first = conclusion.next_measurements().into_iter().find(|measurement| of.command(*measurement).is_some())?;
    of.time(first)
}

fn commands(summary: &RunSummary, conclusion: &Conclusion) -> Vec<String> {
    let Some(cell) = summary.cells.iter().find(|cell| cell.id == conclusion.cell) else { return Vec::new() };
    let of = Recommended { summary, cell };
    conclusion.next_measurements().into_iter().filter_map(|measurement| of.command(measurement)).collect()
}

/// What a recommended measurement is about.
#[derive(Clone, Copy)]
struct Recommended<'a> {
    summary: &'a RunSummary,
    cell: &'a CellSummary,
}

impl<'a> Recommended<'a> {
    /// The command; `None` if the run keeps no plan to repeat, as an import, or if one command does not repeat it.
    fn command(self, measurement: NextMeasurement) -> Option<String> {
        match measurement {
            // Storage that is only described is not here.
            NextMeasurement::RealStorage if self.summary.run.clock == Clock::Virtual => None,
            NextMeasurement::RealStorage => Some(REAL_STORAGE.to_owned()),
            _ if self.is_of_several_hosts() => None,
            NextMeasurement::VaryFactors => self.hunt(),
            NextMeasurement::Longer { .. } | NextMeasurement::LargerRange { .. } => {
                self.run(self.overrides_for(measurement)?)
            }
        }
    }

    /// The values that a measurement of the run's plan has in place of the plan's own; `None` of other measurements.
    fn overrides_for(self, measurement: NextMeasurement) -> Option<Overrides> {
        match measurement {
            NextMeasurement::Longer { duration_ns } => Some(Overrides {
                trials: Some(1),
                duration: Some(Duration::from_ns(duration_ns)),
                short: false,
                ..self.overrides()
            }),
            NextMeasurement::LargerRange { size_bytes } => {
                // The size is that of all hosts' ranges.
                let hosts = self.rank_of_own_range().map_or(1, |rank| u64::from(rank.of));
                Some(Overrides { size: Some(Bytes::new(size_bytes) * hosts), ..self.overrides() })
            }
            NextMeasurement::VaryFactors | NextMeasurement::RealStorage => None,
        }
    }

    /// How long a measurement of the run's plan takes at most, as its dry run says, apart from filling; `None` of a prediction, which takes
    /// no such time, and of measurements that are not the plan's.
    fn time(self, measurement: NextMeasurement) -> Option<Duration> {
        if self.summary.run.clock == Clock::Virtual {
            return None;
        }
        let overrides = self.overrides_for(measurement)?;
        let plan = read_again(self.plan_text()?).ok()?;
        let volumes = vec![self.cell.volume.clone()];
        let scope = Scope { volumes, overrides: &overrides, read_only: false, hosts: None };
        Work::of(vec![plan], &scope, self.summary.run.seed).ok().map(|work| work.time())
    }

    /// Whether the run was merged from those of several hosts, each with a target of its own.
    fn is_of_several_hosts(self) -> bool {
        self.summary.run.verb == RunVerb::Merge
    }

    /// Which of the hosts it is whose ranges lie beside each other on one target.
    fn rank_of_own_range(self) -> Option<HostRank> {
        HostPart::of_settings(&self.summary.run.settings).filter(|part| part.own_range)?.rank
    }

    /// The options that keep a host off the ranges of others.
    fn own_range(self) -> String {
        self.rank_of_own_range().map_or_else(String::new, |rank| format!(" --own-range --rank {rank}"))
    }

    /// `None` for a host that has a range of its own: a hunt knows no such ranges.
    fn hunt(self) -> Option<String> {
        if self.rank_of_own_range().is_some() {
            return None;
        }
        let run = &self.summary.run;
        let (mut steps, plan) = self.plan()?;
        let mut command = format!("loadline hunt {plan} --cell {}", in_shell(&self.cell.label));
        if run.clock == Clock::Virtual {
            command.push_str(&self.environment(&mut steps)?);
            if run.volumes.len() > 1 {
                let _ = write!(command, " --volume {}", in_shell(&self.cell.volume));
            }
        } else {
            command.push_str(&on(self.volume()?, self.cell.reads_only()));
        }
        // A hunt decides itself how many trials it takes.
        let overrides = Overrides { trials: None, ..self.overrides() };
        command.extend(typed_settings::typed(&overrides).map(|options| format!(" {options}")));
        steps.push(command + &store_option());
        Some(steps.join(" && "))
    }

    /// The quick measurement with so many trials, over as much as it had.
    fn quick(self, trials: u32) -> Option<String> {
        let volume = self.volume()?;
        let all_read = self.summary.cells.iter().all(CellSummary::reads_only);
        let mut command = format!("loadline quick{}", on(volume, all_read).replacen(" --on", "", 1));
        if let Some(size) = volume.size_bytes.filter(|_| volume.kind == TargetKind::TestFile) {
            let _ = write!(command, " --size '{}'", Bytes::new(size));
        }
        if let Some(objective) = self.overrides().objective {
            let _ = write!(command, " --objective '{}={}'", objective.of.words(), objective.limit);
        }
        let _ = write!(command, " --trials {trials}");
        Some(command + &store_option())
    }

    fn run(self, overrides: Overrides) -> Option<String> {
        let (mut steps, plan) = self.plan()?;
        let mut of_volume = self.summary.cells.iter().filter(|cell| cell.volume == self.cell.volume);
        let mut command = format!("loadline run {plan}{}", on(self.volume()?, of_volume.all(CellSummary::reads_only)));
        if self.summary.run.environment.is_some() {
            command.push_str(&self.environment(&mut steps)?);
        }
        command.extend(typed_settings::typed(&overrides).map(|options| format!(" {options}")));
        command.push_str(&self.own_range());
        steps.push(command + &store_option());
        Some(steps.join(" && "))
    }

    /// The plan that has the cell, by its name or in a file, and the command that writes the file.
    fn plan(self) -> Option<(Vec<String>, String)> {
        let run = &self.summary.run;
        let plan = self.plan_text()?;
        if preset(&plan.name).is_some_and(|known| known.text == plan.text) {
            return Some((Vec::new(), plan.name.clone()));
        }
        let which = if run.plan.len() == 1 { String::new() } else { format!("={}", in_shell(&plan.name)) };
        Some((vec![shown_into(&run.id, &format!("--plan{which}"), PLAN_FILE)], PLAN_FILE.to_owned()))
    }

    /// The text of the plan that has the cell.
    fn plan_text(self) -> Option<&'a PlanText> {
        match &self.summary.run.plan[..] {
            [only] => Some(only),
            several => {
                // Plans are shown by name.
                let is_alone = |name: &str| several.iter().filter(|plan| plan.name == name).count() == 1;
                several.iter().find(|plan| is_alone(&plan.name) && has_cell(plan, &self.cell.label))
            }
        }
    }

    /// The option that names the run's environment; a file of one's own is written first.
    fn environment(self, steps: &mut Vec<String>) -> Option<String> {
        let run = &self.summary.run;
        let environment = run.environment.as_ref()?;
        if environment_text(&environment.name) == Some(&*environment.text) {
            return Some(format!(" --env {}", environment.name));
        }
        steps.push(shown_into(&run.id, "--env", ENVIRONMENT_FILE));
        Some(format!(" --env {ENVIRONMENT_FILE}"))
    }

    fn volume(self) -> Option<&'a VolumeFacts> {
        self.summary.run.volumes.iter().find(|volume| volume.name == self.cell.volume)
    }

    /// The values that the run had in place of its plan's.
    fn overrides(self) -> Overrides {
        let kept = self.summary.run.settings.get("overrides").cloned();
        kept.and_then(|kept| serde_json::from_value(kept).ok()).unwrap_or_default()
    }
}

fn has_cell(plan: &PlanText, wanted: &str) -> bool {
    read_again(plan).is_ok_and(|plan| plan.cells().any(|(spec, _)| label(spec) == wanted))
}

/// The options that name a volume. What exists and is written to must be named twice.
fn on(volume: &VolumeFacts, reads_only: bool) -> String {
    // Runs of earlier versions may have a path from a working folder of then.
    let target = in_shell(if volume.kind == TargetKind::Nbd { &volume.target } else { volume.place() });
    let is_found = matches!(volume.kind, TargetKind::File | TargetKind::BlockDevice | TargetKind::Nbd);
    let overwrite = if is_found && !reads_only { format!(" --overwrite {target}") } else { String::new() };
    let name = if volume.name == VOLUME_DEFAULT { String::new() } else { format!("{}=", volume.name) };
    format!(" --on {name}{target}{overwrite}")
}

/// The command that writes what a run keeps to a file.
fn shown_into(run: &str, what: &str, file: &str) -> String {
    format!("loadline show {run} {what}{} > {file}", store_option())
}

#[cfg(test)]
mod tests;
