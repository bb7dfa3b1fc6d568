//! One plan on many environments: a row for each environment, volume and load.

use super::side_by_side::{Stopped, SweepProgress, side_by_side};
use super::{Part, swept_catalog};
use crate::error::in_a_line;
use crate::{Course, Error, PredictionSettings, Refusal, SweepRefusal, environment_named, label, read_environment};
use loadline_block::Operation;
use loadline_catalog::{Catalog, Environment};
use loadline_prediction::{
    FluidCourse, Going, Model, PredictionError, Putting, fluid, for_draw, predict, volume_names,
};
use loadline_record::{Histogram, LoadFigures, TrialRecord};
use loadline_report::frame::{Frame, FrameColumn, FrameValues};
use loadline_units::Duration;
use loadline_workload::{LoadSpec, Plan, RunCell, cell_seed};
use std::num::NonZero;
use std::sync::Arc;

/// The volume's name while its environment is not known yet.
const ANY_VOLUME: &str = "data";

/// An environment of a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SweptEnvironment {
    /// A file, or one that comes along. It is read when its turn comes.
    Named(String),
    /// A text, called like this in the results.
    Text {
        /// Its name.
        name: String,
        /// In TOML.
        text: String,
    },
}

impl SweptEnvironment {
    fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Text { name, .. } => name,
        }
    }

    fn read(&self, catalog: &Catalog) -> Result<Environment, Error> {
        match self {
            Self::Named(name) => Ok(environment_named(name, catalog)?.environment),
            Self::Text { name, text } => Ok(read_environment(text, name, catalog)?),
        }
    }
}

/// How a row's figures are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepMethod {
    /// By ceilings and credits, as a fluid: microseconds, and no percentiles.
    Limits,
    /// By simulation of every request.
    Simulation,
}

/// Plans on many environments.
#[derive(Debug)]
pub struct PredictionSweep {
    environments: Vec<SweptEnvironment>,
    /// Each load with its number in the plans.
    loads: Vec<RunCell>,
    settings: PredictionSettings,
    method: SweepMethod,
    catalog: Arc<Catalog>,
    seed: u64,
}

/// A load on a volume of an environment.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictionRow {
    /// The environment's file or name.
    pub environment: String,
    /// The volume; `None` where the environment has a problem.
    pub volume: Option<String>,
    /// Which load of the plans, from 1.
    pub cell: Option<u64>,
    /// The load in words.
    pub label: Option<String>,
    /// And in figures.
    pub load: Option<LoadFigures>,
    /// What it comes to.
    pub figures: RowFigures,
    /// Why there are none.
    pub problem: Option<String>,
}

/// What a load comes to. What is not known is missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RowFigures {
    /// Requests per second over the measured time, with each uncertain figure in its middle.
    pub iops: Option<f64>,
    /// The least and the most over the draws.
    pub range: Option<(f64, f64)>,
    /// Bytes per second.
    pub throughput_bytes_per_s: Option<f64>,
    /// Mean latency, ns.
    pub latency_mean_ns: Option<f64>,
    /// 99th percentile, ns. Limits alone do not show it.
    pub latency_p99_ns: Option<u64>,
    /// The limit at the end of the measured time, and its ceiling.
    pub binding: Option<(String, Option<f64>)>,
    /// The limit after that.
    pub next: Option<(String, f64)>,
    /// When credits are spent, seconds from the load's begin.
    pub burst_ends_s: Option<f64>,
    /// The rate before.
    pub burst_iops: Option<f64>,
    /// And the rate for good; with [`SweepMethod::Limits`] also where there is no burst.
    pub lasting_iops: Option<f64>,
}

impl PredictionSweep {
    /// Of these environments. The catalog is that of the settings.
    ///
    /// # Errors
    /// A [`Refusal`]: trials that go on from one another or run together are no rows of their own; a value contradicts a load.
    pub fn new(
        environments: Vec<SweptEnvironment>,
        plans: Vec<Plan>,
        settings: PredictionSettings,
        method: SweepMethod,
        seed: u64,
    ) -> Result<Self, Error> {
        if settings.course != Course::Apart || plans.iter().any(|plan| !plan.together.is_empty()) {
            return Err(Refusal::from(SweepRefusal::NotApart).into());
        }
        let catalog = swept_catalog(settings.catalog.as_deref())?;
        let scope = crate::Scope {
            volumes: vec![ANY_VOLUME.to_owned()],
            overrides: &settings.overrides,
            read_only: false,
            hosts: None,
        };
        let loads = crate::Work::of(plans, &scope, seed)?.cells;
        Ok(Self { environments, loads, settings, method, catalog, seed })
    }

    /// How many environments there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.environments.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.environments.is_empty()
    }

    /// The rows of a part of the environments, in their order. An environment with a problem has one row, which says so.
    ///
    /// # Errors
    /// [`Stopped`].
    pub fn run(
        &self,
        part: Part,
        threads: Option<NonZero<usize>>,
        progress: &dyn SweepProgress,
    ) -> Result<Vec<PredictionRow>, Stopped> {
        let environments = &self.environments[part.of(self.environments.len())];
        let rows = side_by_side(environments.len(), threads, progress, |place| self.rows_of(&environments[place]))?;
        Ok(rows.into_iter().flatten().collect())
    }

    fn rows_of(&self, environment: &SweptEnvironment) -> Vec<PredictionRow> {
        let name = environment.name();
        let problem = |error: &dyn std::error::Error| PredictionRow {
            environment: name.to_owned(),
            volume: None,
            cell: None,
            label: None,
            load: None,
            figures: RowFigures::default(),
            problem: Some(in_one_line(error)),
        };
        let read = match environment.read(&self.catalog) {
            Ok(read) => read,
            Err(error) => return vec![problem(&error)],
        };
        let models = self.settings.models(&read, self.seed);
        let volumes: Vec<(String, String)> = if self.settings.volumes.is_empty() {
            volume_names(&models[0]).into_iter().map(|name| (name.clone(), name)).collect()
        } else {
            self.settings.volumes.iter().map(|named| (named.volume.clone(), named.target.clone())).collect()
        };
        let row = |shown: &str, volume: &str, (number, cell): (u64, &RunCell)| {
            let figures = match self.method {
                SweepMethod::Limits => self.by_limits(&models, volume, &cell.spec),
                SweepMethod::Simulation => self.simulated(&models, volume, cell),
            };
            let (figures, problem) = match figures {
                Ok(figures) => (figures, None),
                Err(error) => (RowFigures::default(), Some(in_one_line(&error))),
            };
            PredictionRow {
                environment: name.to_owned(),
                volume: Some(shown.to_owned()),
                cell: Some(number),
                label: Some(label(&cell.spec)),
                load: Some(LoadFigures::from(&cell.spec)),
                figures,
                problem,
            }
        };
        volumes
            .iter()
            .flat_map(|(shown, volume)| (1..).zip(&self.loads).map(move |load| (shown, volume, load)))
            .map(|(shown, volume, load)| row(shown, volume, load))
            .collect()
    }

    fn by_limits(&self, models: &[Model], volume: &str, load: &LoadSpec) -> Result<RowFigures, PredictionError> {
        let initial = self.settings.initially().of(load);
        let (from, to) = (load.warm_up, load.warm_up + load.duration);
        let courses: Vec<FluidCourse> =
            models.iter().map(|model| fluid(model, volume, load, initial)).collect::<Result<_, _>>()?;
        let rates: Vec<f64> = courses.iter().filter_map(|course| course.mean_iops(from, to)).collect();
        let middle = &courses[0];
        let iops = middle.mean_iops(from, to);
        let end = middle.phase_at(to.saturating_sub(Duration::from_ns(1)));
        let burst = middle.burst_end();
        Ok(RowFigures {
            iops,
            range: range(&rates).filter(|_| rates.len() == courses.len()),
            throughput_bytes_per_s: iops.map(|iops| iops * load.block_mean().get() as f64),
            // Little's law: what is outstanding over the rate.
            latency_mean_ns: load.outstanding().zip(iops).map(|(outstanding, iops)| outstanding as f64 * 1e9 / iops),
            latency_p99_ns: None,
            binding: end.map(|phase| (phase.binding.limit.name().to_owned(), Some(phase.binding.iops))),
            next: end.and_then(|phase| phase.next.as_ref()).map(|next| (next.limit.name().to_owned(), next.iops)),
            burst_ends_s: burst.map(|(at, _)| at.as_s_f64()),
            burst_iops: burst.map(|(_, iops)| iops),
            lasting_iops: middle.lasting_iops(),
        })
    }

    /// One trial for each draw.
    fn simulated(&self, models: &[Model], volume: &str, cell: &RunCell) -> Result<RowFigures, PredictionError> {
        let initial = self.settings.initially().of(&cell.spec);
        let seed = cell_seed(self.seed, &cell.id);
        let mut trials: Vec<TrialRecord> = Vec::new();
        for (trial, model) in (0..).zip(models) {
            let load = for_draw(model, volume, &cell.spec);
            let putting = Putting { model, volume, load: &load, trial, seed, initial, started_unix_s: 0 };
            let made = predict(&putting, None, &mut |_| Going::On)?.expect("nothing stops it");
            trials.push(made.record);
        }
        let rates: Vec<f64> = trials.iter().filter_map(TrialRecord::iops).collect();
        let middle = &trials[0];
        let mut latency = Histogram::new();
        for operation in [Operation::Read, Operation::Write, Operation::Trim] {
            middle.of(operation).into_iter().for_each(|of| latency.merge(&of.latency));
        }
        let told = middle.model.as_ref();
        let binding = told.and_then(|model| model.binding.as_ref());
        let next = told.zip(binding).and_then(|(model, binding)| {
            let above = binding.ceiling_iops.unwrap_or(0.0);
            model.ceilings.iter().find(|other| other.limit != binding.limit && other.iops >= above)
        });
        let burst = told.and_then(|model| model.bursts_ended.first());
        Ok(RowFigures {
            iops: middle.iops(),
            range: range(&rates).filter(|_| rates.len() == trials.len()),
            throughput_bytes_per_s: middle.bytes_per_s(),
            latency_mean_ns: latency.mean_ns(),
            latency_p99_ns: latency.quantile(0.99).map(Duration::as_ns),
            binding: binding.map(|found| (found.limit.name().to_owned(), found.ceiling_iops)),
            next: next.map(|next| (next.limit.name().to_owned(), next.iops)),
            burst_ends_s: burst.map(|end| end.at_ns as f64 / 1e9),
            burst_iops: burst.and_then(|end| end.iops_before),
            lasting_iops: burst.and_then(|end| end.iops_after),
        })
    }
}

fn range(rates: &[f64]) -> Option<(f64, f64)> {
    let least = rates.iter().copied().min_by(f64::total_cmp)?;
    Some((least, rates.iter().copied().max_by(f64::total_cmp)?))
}

/// An error with its causes, on one line of a table.
pub(super) fn in_one_line(error: &dyn std::error::Error) -> String {
    in_a_line(error).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rows as a table. Every column is always there.
#[must_use]
pub fn prediction_frame(rows: &[PredictionRow]) -> Frame {
    let text = |name: &str, of: &dyn Fn(&PredictionRow) -> Option<String>| {
        let values: Vec<Option<String>> = rows.iter().map(of).collect();
        column(name, FrameValues::Text(values.iter().map(Option::as_deref).collect()))
    };
    let float = |name: &str, of: &dyn Fn(&PredictionRow) -> Option<f64>| {
        column(name, FrameValues::Float(rows.iter().map(|row| of(row).filter(|value| value.is_finite())).collect()))
    };
    let whole = |name: &str, of: &dyn Fn(&PredictionRow) -> Option<u64>| {
        let value = |row| of(row).and_then(|value| i64::try_from(value).ok());
        column(name, FrameValues::Whole(rows.iter().map(value).collect()))
    };
    let load = |row: &PredictionRow| row.load.clone();
    Frame::of_columns(vec![
        text("environment", &|row| Some(row.environment.clone())),
        text("volume", &|row| row.volume.clone()),
        whole("cell", &|row| row.cell),
        text("label", &|row| row.label.clone()),
        text("pattern", &|row| load(row).map(|load| load.pattern.to_string())),
        float("read_ratio", &|row| load(row).map(|load| load.read_ratio)),
        whole("block_bytes", &|row| load(row).map(|load| load.block_bytes)),
        whole("queue_depth_requests_per_thread", &|row| load(row)?.queue_depth.map(u64::from)),
        whole("threads_count", &|row| load(row).map(|load| load.threads.into())),
        float("offered_iops", &|row| load(row)?.rate_iops),
        float("iops", &|row| row.figures.iops),
        float("iops_low", &|row| row.figures.range.map(|(low, _)| low)),
        float("iops_high", &|row| row.figures.range.map(|(_, high)| high)),
        float("throughput_bytes_per_s", &|row| row.figures.throughput_bytes_per_s),
        float("latency_mean_ns", &|row| row.figures.latency_mean_ns),
        whole("latency_p99_ns", &|row| row.figures.latency_p99_ns),
        text("binding_limit", &|row| row.figures.binding.as_ref().map(|(limit, _)| limit.clone())),
        float("ceiling_iops", &|row| row.figures.binding.as_ref()?.1),
        text("next_limit", &|row| row.figures.next.as_ref().map(|(limit, _)| limit.clone())),
        float("next_ceiling_iops", &|row| row.figures.next.as_ref().map(|(_, iops)| *iops)),
        float("burst_ends_s", &|row| row.figures.burst_ends_s),
        float("burst_iops", &|row| row.figures.burst_iops),
        float("lasting_iops", &|row| row.figures.lasting_iops),
        text("problem", &|row| row.problem.clone()),
    ])
}

pub(super) fn column(name: &str, values: FrameValues) -> FrameColumn {
    FrameColumn { name: name.to_owned(), values }
}
