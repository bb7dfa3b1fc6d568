//! Rows of predictions: what a load comes to on a volume, by limits alone or by simulation.
//!
//! A row depends on its environment, its load and the seed alone, so that it is the same wherever it is made.

use crate::fluid::{FluidCourse, fluid};
use crate::initially::Initially;
use crate::models::Model;
use crate::trial::{Going, PredictionError, Putting, for_draw, predict};
use crate::volumes::volume_names;
use loadline_block::Operation;
use loadline_disk::Fullness;
use loadline_record::{Ceiling, Histogram, Limit, LoadFigures, TrialRecord};
use loadline_units::Duration;
use loadline_workload::{LoadSpec, RunCell, cell_seed};

/// How a row's figures are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SweepMethod {
    /// By ceilings and credits, as a fluid: microseconds, and no percentiles.
    Limits,
    /// By simulation of every request.
    Simulation,
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

/// How the rows of an environment are made.
#[derive(Debug, Clone, Copy)]
pub struct RowMaker<'a> {
    /// Its plausible forms, the middle first; never empty.
    pub models: &'a [Model],
    /// By limits, or by simulation.
    pub method: SweepMethod,
    /// Of every random choice.
    pub seed: u64,
    /// The state in which storage is when a load begins.
    pub initially: Initially,
}

impl RowMaker<'_> {
    /// A row for each volume and load. Volumes are named with what they are called in the results; none: all that there are.
    #[must_use]
    pub fn rows(&self, environment: &str, volumes: &[(String, String)], loads: &[RunCell]) -> Vec<PredictionRow> {
        let all: Vec<(String, String)>;
        let volumes = if volumes.is_empty() {
            all = volume_names(&self.models[0]).into_iter().map(|name| (name.clone(), name)).collect();
            &all
        } else {
            volumes
        };
        let of = |(shown, volume): &(String, String)| -> Vec<PredictionRow> {
            let row = |(number, cell)| self.row(environment, (shown, volume), number, cell);
            (1..).zip(loads).map(row).collect()
        };
        volumes.iter().flat_map(of).collect()
    }

    /// The row of a load, by its number in the plans, on a volume that is called `shown` in the results.
    #[must_use]
    pub fn row(&self, environment: &str, (shown, volume): (&str, &str), number: u64, cell: &RunCell) -> PredictionRow {
        let figures = match self.method {
            SweepMethod::Limits => self.by_limits(volume, &cell.spec),
            SweepMethod::Simulation => self.simulated(volume, cell),
        };
        let (figures, problem) = match figures {
            Ok(figures) => (figures, None),
            Err(error) => (RowFigures::default(), Some(error.to_string())),
        };
        PredictionRow {
            environment: environment.to_owned(),
            volume: Some(shown.to_owned()),
            cell: Some(number),
            label: Some(cell.spec.label()),
            load: Some(LoadFigures::from(&cell.spec)),
            figures,
            problem,
        }
    }

    fn by_limits(&self, volume: &str, load: &LoadSpec) -> Result<RowFigures, PredictionError> {
        let initial = self.initially.of(load);
        let (from, to) = (load.warm_up, load.warm_up + load.duration);
        let courses: Vec<FluidCourse> =
            self.models.iter().map(|model| fluid(model, volume, load, initial)).collect::<Result<_, _>>()?;
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
    fn simulated(&self, volume: &str, cell: &RunCell) -> Result<RowFigures, PredictionError> {
        let initial = self.initially.of(&cell.spec);
        let seed = cell_seed(self.seed, &cell.id);
        let mut trials: Vec<TrialRecord> = Vec::new();
        for (trial, model) in (0..).zip(self.models) {
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
            // What is left once credits are spent limits nothing while they last.
            let credits_last = self.initially.bursts != Fullness::Empty && model.bursts_ended.is_empty();
            let is_next = |other: &&Ceiling| {
                other.limit != binding.limit
                    && other.iops >= above
                    && !(credits_last && other.limit == Limit::BurstExhausted)
            };
            model.ceilings.iter().find(is_next)
        });
        let end_seen = told.and_then(|model| model.bursts_ended.first());
        let end_seen = end_seen.map(|end| RowBurst {
            ends_s: end.at_ns as f64 / 1e9,
            before: end.iops_before,
            lasting: end.iops_after,
        });
        let burst = end_seen.or_else(|| self.burst_after(volume, &cell.spec));
        Ok(RowFigures {
            iops: middle.iops(),
            range: range(&rates).filter(|_| rates.len() == trials.len()),
            throughput_bytes_per_s: middle.bytes_per_s(),
            latency_mean_ns: latency.mean_ns(),
            latency_p99_ns: latency.quantile(0.99).map(Duration::as_ns),
            binding: binding.map(|found| (found.limit.name().to_owned(), found.ceiling_iops)),
            next: next.map(|next| (next.limit.name().to_owned(), next.iops)),
            burst_ends_s: burst.map(|burst| burst.ends_s),
            burst_iops: burst.and_then(|burst| burst.before),
            lasting_iops: burst.and_then(|burst| burst.lasting),
        })
    }

    /// The burst that outlasts the measured time, by limits; `None` also where they cannot say.
    fn burst_after(&self, volume: &str, load: &LoadSpec) -> Option<RowBurst> {
        let course = fluid(&self.models[0], volume, load, self.initially.of(load)).ok()?;
        let burst = course.burst_end().filter(|(at, _)| *at >= load.warm_up + load.duration);
        let of = |(at, iops): (Duration, f64)| RowBurst {
            ends_s: at.as_s_f64(),
            before: Some(iops),
            lasting: course.lasting_iops(),
        };
        burst.map(of)
    }
}

/// When a burst ends, in seconds, and the rates before and for good.
#[derive(Debug, Clone, Copy)]
struct RowBurst {
    ends_s: f64,
    before: Option<f64>,
    lasting: Option<f64>,
}

fn range(rates: &[f64]) -> Option<(f64, f64)> {
    let least = rates.iter().copied().min_by(f64::total_cmp)?;
    Some((least, rates.iter().copied().max_by(f64::total_cmp)?))
}
