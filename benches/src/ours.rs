//! loadline as a separate program: this one is started again with a job, so that its CPU time is counted like fio's.

use crate::job::{BLOCK, Job, Latency, Length, Pace, Target, Told};
use anyhow::{Context, Result, bail};
use loadline_block::Operation;
use loadline_engine::{Access, Control, EngineOptions, Need, Volume, WaitMode, run_trial};
use loadline_record::{Ending, Histogram, TrialRecord};
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{Arrival, Fill, LoadSpec};
use serde::{Deserialize, Serialize};
use std::process::Command;

/// The hidden first argument that makes this program run one trial.
pub(crate) const SUBCOMMAND: &str = "run-one-trial";

/// The child's order.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    target: String,
    spec: LoadSpec,
    wait: WaitMode,
    seed: u64,
}

impl Order {
    fn of(job: &Job, size: Bytes) -> Self {
        let closed = |queue_depth| Arrival::Closed { queue_depth, rate_max: None, think_time: Duration::ZERO };
        let spec = LoadSpec {
            reads: if job.operation == Operation::Write { Ratio::ZERO } else { Ratio::ONE },
            arrival: match job.pace {
                Pace::Depth(depth) => closed(depth),
                Pace::Constant(rate) => Arrival::Constant { rate },
                Pace::Poisson(rate) => Arrival::Poisson { rate },
            },
            size: Some(size),
            buffered: matches!(job.target, Target::CachedFile(_)),
            fill: Fill::Never,
            warm_up: job.warm_up,
            duration: match job.length {
                Length::Time(time) => time,
                Length::OneRequest => Duration::from_s(60),
            },
            volume: matches!(job.length, Length::OneRequest).then_some(BLOCK),
            ..LoadSpec::default()
        };
        let path = job.target.path().map(|path| path.display().to_string());
        Self {
            target: path.or_else(|| job.target.uri()).unwrap_or_else(|| "null".to_owned()),
            spec,
            wait: job.asleep.into(),
            seed: job.seed,
        }
    }
}

pub(crate) fn command(job: &Job, size: Bytes) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("where is this program?")?);
    command.arg(SUBCOMMAND).arg(serde_json::to_string(&Order::of(job, size))?);
    Ok(command)
}

/// The child's part: runs the trial in `order` and gives its record as JSON.
///
/// # Errors
/// When the target cannot be opened or the trial not begun.
pub(crate) fn run(order: &str) -> Result<String> {
    let Order { target, spec, wait, seed } =
        serde_json::from_str(order).context("the order of a trial cannot be read")?;
    let writes = spec.writes_any();
    let need = Need { size: spec.size, files: 1, writes, buffered: spec.buffered, ..Need::default() };
    let overwrite = if writes { vec![target.clone()] } else { Vec::new() };
    let mut volume = Volume::open("bench", &target, &need, &Access { overwrite, ..Access::default() })?;
    let record =
        run_trial(&mut volume, &spec, 0, seed, EngineOptions { wait, ..EngineOptions::default() }, &Control::new())?;
    Ok(serde_json::to_string(&record)?)
}

/// Reads the child's output.
///
/// # Errors
/// When it is no record, or one of a trial that failed.
pub(crate) fn parse(stdout: &str, operation: Operation) -> Result<Told> {
    let record: TrialRecord = serde_json::from_str(stdout).context("a trial's record cannot be read")?;
    if record.ending != Ending::Complete || record.errors_total() > 0 {
        bail!("the trial ended with {:?} and {:?}", record.ending, record.error_samples);
    }
    let kept = record.of(operation).with_context(|| format!("the trial did no {}", operation.name()))?;
    let p50 = |histogram: &Option<Histogram>| histogram.as_ref().and_then(|h| h.quantile(0.5));
    let at = |quantile| kept.latency.quantile(quantile);
    let latency = match (at(0.5), at(0.9), at(0.99), kept.latency.max()) {
        (Some(p50), Some(p90), Some(p99), Some(max)) => Some(Latency { p50, p90, p99, max }),
        _ => None,
    };
    let asked = record.surroundings.asked.get(&operation).map_or(record.count(), |(requests, _)| *requests);
    Ok(Told {
        requests: asked,
        requests_per_s: record.iops().unwrap_or(0.0),
        latency,
        latency_mean_ns: kept.latency.mean_ns(),
        service_mean_ns: kept.service.as_ref().and_then(Histogram::mean_ns),
        service_p50: p50(&kept.service),
        waiting_p50: p50(&kept.waiting),
        offered_per_s: record.offered_iops,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_request(operation: Operation) -> Order {
        Order::of(&Job::new(Target::Null, operation, Pace::Depth(1), Length::OneRequest), Bytes::gib(1))
    }

    #[test]
    fn an_order_passes_through_the_command_line_and_its_record_back() {
        for operation in [Operation::Read, Operation::Write] {
            let printed = run(&serde_json::to_string(&one_request(operation)).unwrap()).unwrap();
            assert_eq!(parse(&printed, operation).unwrap().requests, 1);
        }
    }

    #[test]
    fn a_trial_that_did_something_else_is_an_error() {
        let printed = run(&serde_json::to_string(&one_request(Operation::Read)).unwrap()).unwrap();
        assert!(parse(&printed, Operation::Write).is_err());
        assert!(parse("{}", Operation::Read).is_err());
        assert!(run("{}").is_err());
    }
}
