//! From plans and volumes to cells, and the order in which their trials are run.

use crate::{Error, Overrides, PlannedCell, Refusal, hosts::host_part};
use loadline_analysis::{LoadKeys, listed, told_apart};
use loadline_record::{CellRecord, HostPart, LoadBeside, PlanText, RunRecord};
use loadline_units::Duration;
use loadline_workload::{
    CellGroup, LoadGroup, LoadSpec, Plan, RunCell, RunCells, ScheduledTrial, run_cells, schedule, text_hash,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// All that a run is to do.
#[derive(Debug, Clone)]
pub struct Work {
    /// The plans' texts with their fingerprints.
    pub plans: Vec<PlanText>,
    /// In the plans' order.
    pub cells: Vec<RunCell>,
    /// Which of them run at the same time; most are by themselves.
    pub groups: Vec<CellGroup>,
    /// Every trial of a group, in the order of execution.
    pub steps: Vec<ScheduledTrial>,
    /// Labels of loads left out because nothing may be written.
    pub left_out: Vec<String>,
    /// Before each step, how long rounds take that only other hosts run; empty where this host runs all of them.
    pub others_before: Vec<Duration>,
}

/// On what plans are run, and how.
#[derive(Debug, Clone)]
pub struct Scope<'a> {
    /// Names of volumes, in their order.
    pub volumes: Vec<String>,
    /// What replaces the plans' own values.
    pub overrides: &'a Overrides,
    /// Nothing may be written.
    pub read_only: bool,
    /// This host's part, where several run the plans together.
    pub hosts: Option<&'a HostPart>,
}

impl Work {
    /// Every cell of `plans` on every volume of `scope`, with the scope's values in place of the plans' own.
    ///
    /// # Errors
    /// [`Refusal::Contradiction`], [`Refusal::NothingToMeasure`]; a [`HostsRefusal`](crate::HostsRefusal).
    pub fn of(plans: Vec<Plan>, scope: &Scope<'_>, seed: u64) -> Result<Self, Refusal> {
        let text =
            |plan: &Plan| PlanText { name: plan.name.clone(), text: plan.text.clone(), hash: text_hash(&plan.text) };
        let texts: Vec<PlanText> = plans.iter().map(text).collect();
        let mut left_out = Vec::new();
        let mut effective = Vec::new();
        for mut plan in plans {
            for load in &mut plan.loads {
                for spec in &mut load.cells {
                    scope.overrides.apply(spec);
                    spec.check().map_err(|source| Refusal::Contradiction {
                        plan: plan.name.clone(),
                        load: spec.to_string(),
                        source,
                    })?;
                }
                if scope.read_only {
                    left_out.extend(load.cells.extract_if(.., |spec| spec.writes_any()).map(|spec| spec.to_string()));
                }
            }
            left_out.extend(left_behind(&plan));
            effective.push(plan);
        }
        let steps = scope.hosts.map_or(&[][..], |part| &part.steps);
        let effective = host_part::stepped(effective, steps);
        let RunCells { cells, groups } = run_cells(&effective, &scope.volumes).map_err(Refusal::NotOnRun)?;
        if cells.is_empty() {
            return Err(Refusal::NothingToMeasure);
        }
        // Hosts that begin together have their trials in one order.
        let seed = scope.hosts.map_or(seed, |_| host_part::order_seed(&texts));
        let mut work = Self { plans: texts, cells, groups, steps: Vec::new(), left_out, others_before: Vec::new() };
        let orders: Vec<_> = work.groups.iter().map(|group| (group.order, work.trials_of(group))).collect();
        work.steps = schedule(&orders, seed);
        match scope.hosts {
            Some(part) => host_part::of_host(work, part),
            None => Ok(work),
        }
    }

    /// The trials of cells that run at the same time.
    fn trials_of(&self, group: &CellGroup) -> u32 {
        group.cells.iter().map(|cell| self.cells[*cell].spec.trials).max().unwrap_or(0)
    }

    /// The cells of a step, by their index.
    #[must_use]
    pub fn cells_of(&self, step: &ScheduledTrial) -> &[usize] {
        &self.groups[step.group].cells
    }

    /// Trials of all cells.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.steps.iter().map(|step| self.cells_of(step).len()).sum()
    }

    /// Each trial of each cell, in the order of execution; those of one group come together.
    pub(crate) fn cell_trials(&self) -> impl Iterator<Item = (usize, u32)> {
        self.steps.iter().flat_map(|step| self.cells_of(step).iter().map(|cell| (*cell, step.trial)))
    }

    /// The cells that run at the same time as one, by their index.
    pub fn beside(&self, cell: usize) -> impl Iterator<Item = usize> {
        let group = self.groups.iter().find(|group| group.cells.len() > 1 && group.cells.contains(&cell));
        group.into_iter().flat_map(|group| group.cells.iter().copied()).filter(move |other| *other != cell)
    }

    /// Whether any loads run at the same time.
    #[must_use]
    pub(crate) fn is_any_together(&self) -> bool {
        self.groups.iter().any(|group| group.cells.len() > 1)
    }

    /// With what stands at the same place on each of these volumes run at the same time.
    #[must_use]
    pub(crate) fn together_over(mut self, volumes: &[String]) -> Self {
        let is_on =
            |group: &CellGroup, volume: &String| group.cells.iter().all(|cell| self.cells[*cell].volume == *volume);
        let on: Vec<Vec<&CellGroup>> =
            volumes.iter().map(|volume| self.groups.iter().filter(|group| is_on(group, volume)).collect()).collect();
        let places = on.iter().map(Vec::len).max().unwrap_or(0);
        let merged = (0..places).map(|place| {
            let parts: Vec<&CellGroup> = on.iter().filter_map(|groups| groups.get(place).copied()).collect();
            CellGroup { cells: parts.iter().flat_map(|part| part.cells.iter().copied()).collect(), ..parts[0].clone() }
        });
        let apart = self.groups.iter().filter(|group| !volumes.iter().any(|volume| is_on(group, volume)));
        self.groups = merged.chain(apart.cloned()).collect();
        self
    }

    /// The work of several together, each on volumes of its own.
    #[must_use]
    pub fn joined(parts: Vec<Self>) -> Self {
        let mut all = Self {
            plans: Vec::new(),
            cells: Vec::new(),
            groups: Vec::new(),
            steps: Vec::new(),
            left_out: Vec::new(),
            others_before: Vec::new(),
        };
        for part in parts {
            let (cells, groups) = (all.cells.len(), all.groups.len());
            all.plans.extend(part.plans);
            all.cells.extend(part.cells);
            let moved =
                |group: CellGroup| CellGroup { cells: group.cells.iter().map(|cell| cell + cells).collect(), ..group };
            all.groups.extend(part.groups.into_iter().map(moved));
            all.steps.extend(part.steps.into_iter().map(|step| ScheduledTrial { group: step.group + groups, ..step }));
            all.left_out.extend(part.left_out);
        }
        all
    }

    /// The cells on a volume, by their index.
    pub fn on(&self, volume: &str) -> impl Iterator<Item = usize> {
        (0..self.cells.len()).filter(move |cell| self.cells[*cell].volume == volume)
    }

    /// With so many trials of each cell, every first one before every second one.
    #[must_use]
    pub(crate) fn with_trials(mut self, trials: impl Fn(&LoadSpec) -> u32) -> Self {
        for cell in &mut self.cells {
            cell.spec.trials = trials(&cell.spec);
        }
        self.steps = (0..self.groups.len())
            .flat_map(|group| {
                (0..self.trials_of(&self.groups[group])).map(move |trial| ScheduledTrial { group, trial })
            })
            .collect();
        self.steps.sort_by_key(|step| (step.trial, step.group));
        self.others_before.clear();
        self
    }

    /// The longest that everything takes apart from filling.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.steps.iter().map(|step| self.step_time(step)).sum()
    }

    /// The longest that a step takes.
    #[must_use]
    pub(crate) fn step_time(&self, step: &ScheduledTrial) -> Duration {
        let times = self.cells_of(step).iter().map(|cell| self.cells[*cell].spec.trial_time());
        times.max().unwrap_or_default()
    }

    /// What is not `finished`, in the order of execution.
    pub fn left(&self, finished: &BTreeSet<(String, u32)>) -> impl Iterator<Item = &ScheduledTrial> {
        // Most runs begin with nothing finished, and need not look up a hundred thousand names.
        let is_done = |cell: &usize, trial| finished.contains(&(self.cells[*cell].id.clone(), trial));
        let done = move |step: &&ScheduledTrial| self.cells_of(step).iter().all(|cell| is_done(cell, step.trial));
        self.steps.iter().filter(move |step| finished.is_empty() || !done(step))
    }

    /// What each cell is called. A label tells the rarer keys of a plan only where cells would be called the same without them.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = self.cells.iter().map(|cell| label(&cell.spec)).collect();
        for group in self.groups.iter().filter(|group| group.cells.len() > 1) {
            for cell in &group.cells {
                let words: Vec<String> =
                    self.loads_beside(group, *cell).iter().map(|load| self.in_words(*cell, load)).collect();
                let _ = write!(labels[*cell], ", beside {}", listed(&words));
            }
        }
        let mut namesakes: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for (index, (cell, label)) in self.cells.iter().zip(&labels).enumerate() {
            namesakes.entry((&cell.volume, label)).or_default().push(index);
        }
        let namesakes: Vec<Vec<usize>> = namesakes.into_values().filter(|cells| cells.len() > 1).collect();
        for cells in namesakes {
            let keys = |index: &usize| LoadKeys::of(&self.cells[*index].spec.clone().into());
            let keys: Vec<LoadKeys> = cells.iter().map(keys).collect();
            for (index, told) in cells.iter().zip(told_apart(&keys.iter().collect::<Vec<_>>(), |_| true)) {
                for words in told {
                    labels[*index].push_str(", ");
                    labels[*index].push_str(&words);
                }
            }
        }
        labels
    }

    /// Checks that a stored run has these cells.
    ///
    /// # Errors
    /// [`Error::OtherReading`]; `again` says what is to be done with the plan instead: measure, predict.
    pub(crate) fn check_against(&self, stored: &RunRecord, again: &'static str) -> Result<(), Error> {
        if self.cells.iter().map(|cell| &cell.id).eq(stored.cells.iter().map(|cell| &cell.id)) {
            return Ok(());
        }
        let (run, version) = (stored.header.id.clone(), stored.header.version.clone());
        Err(Error::OtherReading { run, version, again })
    }

    /// Its cells, as places carry out their trials.
    #[must_use]
    pub(crate) fn planned_cells(&self) -> Vec<PlannedCell> {
        let mut cells: Vec<PlannedCell> = self.cells.iter().cloned().map(PlannedCell::of).collect();
        for group in self.groups.iter().filter(|group| group.cells.len() > 1) {
            group.cells.iter().for_each(|cell| cells[*cell].is_beside = true);
        }
        cells
    }

    /// The records with which the run begins: no trials yet.
    #[must_use]
    pub fn records(&self) -> Vec<CellRecord> {
        let mut records: Vec<CellRecord> =
            self.cells.iter().zip(self.labels()).map(|(cell, label)| record(cell, label)).collect();
        for group in self.groups.iter().filter(|group| group.cells.len() > 1) {
            for cell in &group.cells {
                records[*cell].beside = self.loads_beside(group, *cell);
            }
        }
        records
    }

    /// The loads of a group beside one of its cells.
    fn loads_beside(&self, group: &CellGroup, own: usize) -> Vec<LoadBeside> {
        let others = group.cells.iter().filter(|cell| **cell != own).map(|cell| &self.cells[*cell]);
        others
            .map(|other| LoadBeside {
                cell: other.id.clone(),
                volume: other.volume.clone(),
                name: other.spec.name.clone(),
                load: other.spec.to_string(),
            })
            .collect()
    }

    /// A load beside a cell, with its volume where that is another.
    fn in_words(&self, cell: usize, load: &LoadBeside) -> String {
        let is_here = self.cells[cell].volume == load.volume;
        if is_here { load.words().to_owned() } else { format!("{} on {}", load.words(), load.volume) }
    }
}

/// Loads of which nothing is left to run beside, so that they are left out with it.
fn left_behind(plan: &Plan) -> Vec<String> {
    let is_whole = |group: &LoadGroup| group.loads.iter().all(|load| !plan.loads[*load].cells.is_empty());
    let groups = plan.groups();
    let (whole, cut): (Vec<&LoadGroup>, Vec<&LoadGroup>) = groups.iter().partition(|group| is_whole(group));
    let runs = |load: &usize| whole.iter().any(|group| group.loads.contains(load));
    let left: BTreeSet<usize> = cut.iter().flat_map(|group| group.loads.iter().copied()).collect();
    let left = left.into_iter().filter(|load| !runs(load));
    left.flat_map(|load| plan.loads[load].cells.iter().map(LoadSpec::to_string)).collect()
}

/// A cell as the run's record begins with it: without trials.
#[must_use]
pub(crate) fn cell_record(cell: &RunCell) -> CellRecord {
    record(cell, label(&cell.spec))
}

fn record(cell: &RunCell, label: String) -> CellRecord {
    CellRecord {
        id: cell.id.clone(),
        volume: cell.volume.clone(),
        label,
        load: cell.spec.clone().into(),
        beside: Vec::new(),
        ceilings: Vec::new(),
        trials_planned: cell.spec.trials,
        trials: Vec::new(),
    }
}

/// The load's name in its plan, if it has one, before what it does.
#[must_use]
pub fn label(spec: &LoadSpec) -> String {
    spec.label()
}

/// "a + b".
#[must_use]
pub(crate) fn joined_names(plans: &[Plan]) -> String {
    plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamedTarget, Settings};
    use loadline_units::{Bytes, Ratio};
    use loadline_workload::{
        Arrival, BlockShare, Content, Fill, FlushCadence, FlushMethod, LatencyFigure, Objective, Pattern, Staggered,
        SteadyStateRule, ZoneGaps,
    };

    #[test]
    fn a_label_tells_what_varies_and_nothing_else_does() {
        let mixes = "[{ \"4 KiB\" = \"90 %\", \"8 KiB\" = \"10 %\" }, { \"4 KiB\" = \"10 %\", \"8 KiB\" = \"90 %\" }]";
        let plan = PLAN
            .replace("\"4 KiB\"", mixes)
            .replace("duration", "volume = [\"1 MiB\", \"2 MiB\"]\ncompressible = [\"0 %\", \"50 %\"]\nduration")
            .replace("[1, 2]", "1");
        let settings = settings(&["a"]);
        let work = Work::of(vec![Plan::parse(&plan, "p").unwrap()], &settings.scope(), 7).unwrap();
        let mut labels = work.labels();
        assert_eq!(labels[0], "random read 4 KiB + 8 KiB, depth 1, 90 % + 10 %, 0 % compressible, 1 MiB of it");
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), 16);
    }

    #[test]
    fn every_key_of_a_load_tells_its_label_from_another() {
        let load = LoadSpec::default();
        let other = LoadSpec {
            name: Some("another".into()),
            pattern: Pattern::Sequential { stride: None },
            reads: Ratio::ZERO,
            trims: Ratio::percent(10),
            blocks: vec![BlockShare { size: Bytes::kib(8), share: Ratio::ONE }],
            align: Some(Bytes::kib(64)),
            arrival: Arrival::Closed { queue_depth: 1, rate_max: None, think_time: Duration::from_ms(1) },
            threads: 2,
            size: Some(Bytes::GIB),
            start: Bytes::GIB,
            files: 2,
            flush: Some(FlushCadence { every: 1, how: FlushMethod::Fua }),
            buffered: true,
            content: Content { compressible: Ratio::percent(90), duplicate: Ratio::ZERO },
            verify: true,
            fill: Fill::Never,
            drop_caches: true,
            warm_up: Duration::ZERO,
            cool_down: Duration::from_s(1),
            steady_state: Some(SteadyStateRule::default()),
            duration: Duration::from_s(1),
            volume: Some(Bytes::GIB),
            passes: Some(2),
            walk: loadline_workload::Walk::Back,
            overlap: true,
            end_flush: true,
            size_share: Some(Ratio::percent(50)),
            staggered: Some(Staggered { step: Bytes::MIB, length: None }),
            in_turn: Some(2),
            continued: Ratio::percent(30),
            zones: Some(ZoneGaps { size: Bytes::MIB, skip: Bytes::MIB }),
            trials: 2,
            pause: Duration::from_s(1),
            hang_limit: Duration::from_s(1),
            objective: Some(Objective { of: LatencyFigure::P99, limit: Duration::from_ms(5) }),
            best_of_trials: true,
        };
        let stored = |spec: &LoadSpec| serde_json::to_value(spec).unwrap();
        let (load, other) = (stored(&load), stored(&other));
        for (key, value) in other.as_object().unwrap() {
            let mut changed = load.clone();
            changed[key] = value.clone();
            let cells = [&load, &changed].map(|spec| RunCell {
                id: spec.to_string(),
                volume: "a".into(),
                spec: serde_json::from_value(spec.clone()).unwrap(),
                order: loadline_workload::Order::Interleaved,
            });
            let work = Work {
                plans: Vec::new(),
                cells: cells.into(),
                groups: Vec::new(),
                steps: Vec::new(),
                left_out: Vec::new(),
                others_before: Vec::new(),
            };
            let labels = work.labels();
            assert_ne!(labels[0], labels[1], "{key}");
        }
    }

    #[test]
    fn labels_tell_how_a_trial_is_prepared_and_ended_where_that_varies() {
        let keys = "fill = [\"never\", \"always\", \"auto\"]\ncool_down = [\"0 s\", \"1 s\"]\n\
                    steady_state = [{ round = \"1 s\" }, { round = \"2 s\" }]\nduration";
        let plan = PLAN.replace("duration", keys).replace("[1, 2]", "1").replace("[\"100 %\", \"0 %\"]", "\"0 %\"");
        let settings = settings(&["a"]);
        let work = Work::of(vec![Plan::parse(&plan, "p").unwrap()], &settings.scope(), 7).unwrap();
        let mut labels = work.labels();
        assert!(
            labels[0].ends_with(", 5 rounds of 1 s within 20 % and 10 %, 25 at most, no cool-down, not filled"),
            "{labels:?}"
        );
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), 12);
    }

    #[test]
    fn a_label_has_the_size_only_where_sizes_vary() {
        let plan = PLAN.replace("\"1 MiB\"", "[\"1 MiB\", \"2 MiB\"]");
        let settings = settings(&["a"]);
        let work = Work::of(vec![Plan::parse(&plan, "p").unwrap()], &settings.scope(), 7).unwrap();
        let records = work.records();
        let mut labels: Vec<&str> = records.iter().map(|record| record.label.as_str()).collect();
        assert!(labels[0].ends_with(", over 1 MiB") || labels[0].ends_with(", over 2 MiB"), "{labels:?}");
        assert_eq!(records.iter().filter(|record| record.load.figures().size_bytes == Some(2 << 20)).count(), 4);
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), 8);
        let unvaried = self::work(&settings).unwrap().records();
        assert!(unvaried.iter().all(|record| !record.label.contains("over")), "{unvaried:?}");
    }

    const PLAN: &str = "schema = 1\nname = \"p\"\n[[load]]\npattern = \"random\"\nreads = [\"100 %\", \"0 %\"]\n\
                        block = \"4 KiB\"\nqueue_depth = [1, 2]\nsize = \"1 MiB\"\ntrials = 2\nduration = \"1 s\"\nwarm_up = \"0 s\"\n";

    fn settings(volumes: &[&str]) -> Settings {
        let target = |name: &&str| NamedTarget { volume: (*name).to_owned(), target: "/x".to_owned() };
        Settings::of(volumes.iter().map(target).collect())
    }

    fn work(settings: &Settings) -> Result<Work, Refusal> {
        Work::of(vec![Plan::parse(PLAN, "p").unwrap()], &settings.scope(), 7)
    }

    #[test]
    fn every_cell_stands_once_on_every_volume() {
        let work = work(&settings(&["a", "b"])).unwrap();
        assert_eq!((work.cells.len(), work.steps.len()), (8, 16));
        assert_eq!(work.time(), Duration::from_s(16));
        assert_eq!(work.records().iter().filter(|record| record.volume == "a").count(), 4);
    }

    #[test]
    fn read_only_leaves_out_what_writes_and_says_so() {
        let work = work(&Settings { read_only: true, ..settings(&["a"]) }).unwrap();
        assert_eq!((work.cells.len(), work.left_out.len()), (2, 2));
        assert!(work.cells.iter().all(|cell| !cell.spec.writes_any()));
    }

    #[test]
    fn a_value_that_contradicts_the_plan_is_refused_with_its_key() {
        let overrides = Overrides { size: Some(Bytes::new(512)), ..Overrides::default() };
        let error = work(&Settings { overrides, ..settings(&["a"]) }).unwrap_err();
        assert!(error.to_string().contains("size: "), "{error}");
    }
}
