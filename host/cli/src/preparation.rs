//! From plans and volumes to cells, and the order in which their trials are run.

use crate::failure::Usage;
use crate::settings::Overrides;
use anyhow::Context;
use loadline_record::{CellRecord, LoadSummary, PlanText};
use loadline_units::Duration;
use loadline_workload::{
    Arrival, LoadSpec, Pattern, Plan, RunCell, Step, nearest_preset, preset, run_cells, schedule, short_form, text_hash,
};
use std::path::Path;

/// All that a run is to do.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// The plans' texts with their fingerprints.
    pub(crate) plans: Vec<PlanText>,
    /// In the plans' order.
    pub(crate) cells: Vec<RunCell>,
    /// Every trial, in the order of execution.
    pub(crate) steps: Vec<Step>,
    /// Labels of loads left out because nothing may be written.
    pub(crate) left_out: Vec<String>,
}

/// On what plans are run, and how.
#[derive(Debug, Clone)]
pub(crate) struct Scope<'a> {
    /// Names of volumes, in their order.
    pub(crate) volumes: Vec<String>,
    /// What replaces the plans' own values.
    pub(crate) overrides: &'a Overrides,
    /// Nothing may be written.
    pub(crate) read_only: bool,
}

/// Whether a plan's own short form is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// As it stands.
    Full,
    /// Its short form, where it has one.
    Short,
}

/// Reads what was typed in place of a plan: the name of one that comes with loadline, or a file.
///
/// # Errors
/// [`Usage`] where there is no such plan, the file cannot be read, it is an fio job file, or it is no plan.
pub(crate) fn read_plan(typed: &str, length: Length) -> anyhow::Result<Plan> {
    let shortened = if length == Length::Short { short_form(typed) } else { None };
    if let Some(preset) = shortened.or_else(|| preset(typed)) {
        return parsed(preset.text, preset.name);
    }
    if !Path::new(typed).exists() {
        let near = nearest_preset(typed).map_or(String::new(), |name| format!(" (did you mean {name}?)"));
        return Err(Usage(format!(
            "there is no file {typed}, and no plan of that name comes with loadline{near}; `loadline plans` lists them"
        ))
        .into());
    }
    let text =
        std::fs::read_to_string(typed).map_err(|error| Usage(format!("cannot read the plan {typed}: {error}")))?;
    if is_fio_job(typed, &text) {
        return Err(Usage(format!(
            "{typed} is an fio job file, which this version does not read; write it as a plan in TOML \
             (`loadline plans show crystaldiskmark-8` prints one to begin with)"
        ))
        .into());
    }
    parsed(&text, typed)
}

fn parsed(text: &str, source: &str) -> anyhow::Result<Plan> {
    Plan::parse(text, source).context(Usage(format!("{source} is not a plan that can be run")))
}

/// By its name, or by sections and bare `key=value` lines that TOML does not allow.
fn is_fio_job(path: &str, text: &str) -> bool {
    const KEYS: [&str; 8] = ["rw", "readwrite", "ioengine", "bs", "blocksize", "filename", "directory", "iodepth"];
    let has_key = |line: &str| {
        let value =
            |(key, value): (&str, &str)| KEYS.contains(&key.trim()) && !value.trim().starts_with(['"', '\'', '[']);
        line.split_once('=').is_some_and(value)
    };
    let is_section = |line: &str| line.starts_with('[') && !line.starts_with("[[") && line.ends_with(']');
    let lines = || text.lines().map(str::trim);
    Path::new(path).extension().is_some_and(|e| e == "fio") || (lines().any(is_section) && lines().any(has_key))
}

impl Work {
    /// Every cell of `plans` on every volume of `scope`, with the scope's values in place of the plans' own.
    ///
    /// # Errors
    /// [`Usage`] where a value from the command line contradicts a load, or nothing is left to do.
    pub(crate) fn of(plans: Vec<Plan>, scope: &Scope<'_>, seed: u64) -> Result<Self, Usage> {
        let text =
            |plan: &Plan| PlanText { name: plan.name.clone(), text: plan.text.clone(), hash: text_hash(&plan.text) };
        let texts = plans.iter().map(text).collect();
        let mut left_out = Vec::new();
        let mut effective = Vec::new();
        for mut plan in plans {
            for load in &mut plan.loads {
                for spec in &mut load.cells {
                    scope.overrides.apply(spec);
                    spec.check().map_err(|error| {
                        Usage(format!("plan {:?} with the values from the command line: {spec}: {error}", plan.name))
                    })?;
                }
                if scope.read_only {
                    left_out.extend(load.cells.extract_if(.., |spec| spec.writes_any()).map(|spec| spec.to_string()));
                }
            }
            effective.push(plan);
        }
        let cells = run_cells(&effective, &scope.volumes);
        if cells.is_empty() {
            return Err(Usage("every load of the plan writes, and --read-only leaves nothing to measure".into()));
        }
        let orders: Vec<_> = cells.iter().map(|cell| (cell.order, cell.spec.trials)).collect();
        Ok(Self { plans: texts, steps: schedule(&orders, seed), cells, left_out })
    }

    /// With so many trials of each cell, every first one before every second one.
    pub(crate) fn with_trials(mut self, trials: impl Fn(&LoadSpec) -> u32) -> Self {
        for cell in &mut self.cells {
            cell.spec.trials = trials(&cell.spec);
        }
        let count = |cell: usize| self.cells[cell].spec.trials;
        self.steps =
            (0..self.cells.len()).flat_map(|cell| (0..count(cell)).map(move |trial| Step { cell, trial })).collect();
        self.steps.sort_by_key(|step| (step.trial, step.cell));
        self
    }

    /// The longest that everything takes apart from filling.
    pub(crate) fn time(&self) -> Duration {
        self.steps.iter().map(|step| self.cells[step.cell].spec.trial_time()).sum()
    }

    /// The records with which the run begins: no trials yet.
    pub(crate) fn records(&self) -> Vec<CellRecord> {
        self.cells.iter().map(record).collect()
    }
}

fn record(cell: &RunCell) -> CellRecord {
    CellRecord {
        id: cell.id.clone(),
        volume: cell.volume.clone(),
        label: label(&cell.spec),
        load: load_summary(&cell.spec),
        spec: serde_json::to_value(&cell.spec).expect("a specification is plain data"),
        ceilings: Vec::new(),
        trials_planned: cell.spec.trials,
        trials: Vec::new(),
    }
}

/// The load's name in its plan, if it has one, before what it does.
pub(crate) fn label(spec: &LoadSpec) -> String {
    spec.name.as_ref().map_or_else(|| spec.to_string(), |name| format!("{name}: {spec}"))
}

/// The figures of a load that tables need.
pub(crate) fn load_summary(spec: &LoadSpec) -> LoadSummary {
    let (queue_depth, arrival, rate) = match spec.arrival {
        Arrival::Closed { queue_depth, rate_max, .. } => (Some(queue_depth), "closed", rate_max),
        Arrival::Constant { rate } => (None, "constant", Some(rate)),
        Arrival::Poisson { rate } => (None, "poisson", Some(rate)),
    };
    let pattern = match spec.pattern {
        Pattern::Random(_) => "random",
        Pattern::Sequential { .. } => "sequential",
    };
    LoadSummary {
        pattern: pattern.into(),
        read_ratio: spec.reads.as_f64(),
        block_bytes: spec.block_mean().get(),
        queue_depth,
        threads: spec.threads,
        arrival: arrival.into(),
        rate_iops: rate.map(|rate| rate.get() as f64),
        buffered: spec.buffered,
        flush_every: spec.flush.map(|flush| flush.every),
        duration_ns: spec.duration.as_ns(),
        objective: spec.objective.map(|o| (o.of.name().to_owned(), o.limit.as_ns())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{CommandLine, Verb};
    use crate::settings::Settings;
    use clap::Parser;

    const PLAN: &str = "schema = 1\nname = \"p\"\n[[load]]\npattern = \"random\"\nreads = [\"100 %\", \"0 %\"]\n\
                        block = \"4 KiB\"\nqueue_depth = [1, 2]\nsize = \"1 MiB\"\ntrials = 2\nduration = \"1 s\"\nwarm_up = \"0 s\"\n";

    fn settings(words: &[&str]) -> Settings {
        let words = ["loadline", "run", "p.toml"].iter().chain(words);
        let Verb::Run(arguments) = CommandLine::try_parse_from(words).unwrap().verb else { unreachable!() };
        Settings::of_run(&arguments).unwrap()
    }

    fn work(words: &[&str]) -> Result<Work, Usage> {
        Work::of(vec![Plan::parse(PLAN, "p").unwrap()], &settings(words).scope(), 7)
    }

    #[test]
    fn every_cell_stands_once_on_every_volume() {
        let work = work(&["--on", "a=/x", "--on", "b=/y"]).unwrap();
        assert_eq!((work.cells.len(), work.steps.len()), (8, 16));
        assert_eq!(work.time(), Duration::from_s(16));
        assert_eq!(work.records().iter().filter(|record| record.volume == "a").count(), 4);
    }

    #[test]
    fn read_only_leaves_out_what_writes_and_says_so() {
        let work = work(&["--on", "/x", "--read-only"]).unwrap();
        assert_eq!((work.cells.len(), work.left_out.len()), (2, 2));
        assert!(work.cells.iter().all(|cell| !cell.spec.writes_any()));
    }

    #[test]
    fn a_value_that_contradicts_the_plan_is_a_usage_error_that_names_the_key() {
        let error = work(&["--on", "/x", "--size", "512 B"]).unwrap_err();
        assert!(error.0.contains("size: "), "{error}");
    }

    #[test]
    fn job_files_are_told_from_plans() {
        assert!(is_fio_job("a", "[global]\nioengine=libaio\nrw=randread\n[job]\n"));
        assert!(is_fio_job("a.fio", ""));
        assert!(!is_fio_job("a.toml", PLAN));
    }
}
