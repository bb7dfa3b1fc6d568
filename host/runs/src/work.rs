//! From plans and volumes to cells, and the order in which their trials are run.

use crate::{Error, Overrides, PlannedCell, Refusal};
use loadline_analysis::{LoadKeys, told_apart};
use loadline_record::{CellRecord, PlanText, RunRecord};
use loadline_units::Duration;
use loadline_workload::{LoadSpec, Plan, RunCell, ScheduledTrial, run_cells, schedule, text_hash};
use std::collections::{BTreeMap, BTreeSet};

/// All that a run is to do.
#[derive(Debug, Clone)]
pub struct Work {
    /// The plans' texts with their fingerprints.
    pub plans: Vec<PlanText>,
    /// In the plans' order.
    pub cells: Vec<RunCell>,
    /// Every trial, in the order of execution.
    pub steps: Vec<ScheduledTrial>,
    /// Labels of loads left out because nothing may be written.
    pub left_out: Vec<String>,
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
}

impl Work {
    /// Every cell of `plans` on every volume of `scope`, with the scope's values in place of the plans' own.
    ///
    /// # Errors
    /// [`Refusal::Contradiction`], [`Refusal::NothingToMeasure`].
    pub fn of(plans: Vec<Plan>, scope: &Scope<'_>, seed: u64) -> Result<Self, Refusal> {
        let text =
            |plan: &Plan| PlanText { name: plan.name.clone(), text: plan.text.clone(), hash: text_hash(&plan.text) };
        let texts = plans.iter().map(text).collect();
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
            effective.push(plan);
        }
        let cells = run_cells(&effective, &scope.volumes);
        if cells.is_empty() {
            return Err(Refusal::NothingToMeasure);
        }
        let orders: Vec<_> = cells.iter().map(|cell| (cell.order, cell.spec.trials)).collect();
        Ok(Self { plans: texts, steps: schedule(&orders, seed), cells, left_out })
    }

    /// The work of several together, each on volumes of its own.
    #[must_use]
    pub fn joined(parts: Vec<Self>) -> Self {
        let mut all = Self { plans: Vec::new(), cells: Vec::new(), steps: Vec::new(), left_out: Vec::new() };
        for part in parts {
            let before = all.cells.len();
            all.plans.extend(part.plans);
            all.cells.extend(part.cells);
            all.steps.extend(part.steps.into_iter().map(|step| ScheduledTrial { cell: step.cell + before, ..step }));
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
    pub fn with_trials(mut self, trials: impl Fn(&LoadSpec) -> u32) -> Self {
        for cell in &mut self.cells {
            cell.spec.trials = trials(&cell.spec);
        }
        let count = |cell: usize| self.cells[cell].spec.trials;
        self.steps = (0..self.cells.len())
            .flat_map(|cell| (0..count(cell)).map(move |trial| ScheduledTrial { cell, trial }))
            .collect();
        self.steps.sort_by_key(|step| (step.trial, step.cell));
        self
    }

    /// The longest that everything takes apart from filling.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.steps.iter().map(|step| self.cells[step.cell].spec.trial_time()).sum()
    }

    /// What is not `finished`, in the order of execution.
    pub fn left(&self, finished: &BTreeSet<(String, u32)>) -> impl Iterator<Item = &ScheduledTrial> {
        // Most runs begin with nothing finished, and need not look up a hundred thousand names.
        let done = |step: &&ScheduledTrial| finished.contains(&(self.cells[step.cell].id.clone(), step.trial));
        self.steps.iter().filter(move |step| finished.is_empty() || !done(step))
    }

    /// What each cell is called. A label tells the rarer keys of a plan only where cells would be called the same without them.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = self.cells.iter().map(|cell| label(&cell.spec)).collect();
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
    pub fn check_against(&self, stored: &RunRecord, again: &'static str) -> Result<(), Error> {
        if self.cells.iter().map(|cell| &cell.id).eq(stored.cells.iter().map(|cell| &cell.id)) {
            return Ok(());
        }
        let (run, version) = (stored.header.id.clone(), stored.header.version.clone());
        Err(Error::OtherReading { run, version, again })
    }

    /// Its cells, as places carry out their trials.
    #[must_use]
    pub fn planned_cells(&self) -> Vec<PlannedCell> {
        self.cells.iter().cloned().map(PlannedCell::of).collect()
    }

    /// The records with which the run begins: no trials yet.
    #[must_use]
    pub fn records(&self) -> Vec<CellRecord> {
        self.cells.iter().zip(self.labels()).map(|(cell, label)| record(cell, label)).collect()
    }
}

/// A cell as the run's record begins with it: without trials.
#[must_use]
pub fn cell_record(cell: &RunCell) -> CellRecord {
    record(cell, label(&cell.spec))
}

fn record(cell: &RunCell, label: String) -> CellRecord {
    CellRecord {
        id: cell.id.clone(),
        volume: cell.volume.clone(),
        label,
        load: cell.spec.clone().into(),
        ceilings: Vec::new(),
        trials_planned: cell.spec.trials,
        trials: Vec::new(),
    }
}

/// The load's name in its plan, if it has one, before what it does.
#[must_use]
pub fn label(spec: &LoadSpec) -> String {
    spec.name.as_ref().map_or_else(|| spec.to_string(), |name| format!("{name}: {spec}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamedTarget, Settings};
    use loadline_units::{Bytes, Ratio};
    use loadline_workload::{
        Arrival, BlockShare, Content, Fill, FlushCadence, FlushMethod, LatencyFigure, Objective, Pattern,
        SteadyStateRule,
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
            let work = Work { plans: Vec::new(), cells: cells.into(), steps: Vec::new(), left_out: Vec::new() };
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
