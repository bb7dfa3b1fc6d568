//! The need that was typed: read from its sources, and completed by options.

use super::judge::assumed_words;
use crate::arguments::advise::{AdviseArguments, OsDiskSize};
use crate::failure::Usage;
use crate::stored;
use crate::typed_plan::read_plan;
use loadline_advise::{Asked, NEED_NAME, NO_LATENCY, Need, NeedNumbers, NeedWords, Rates};
use loadline_demand::{Demand, DemandError, ReadOptions};
use loadline_runs::advice::{
    AssumedPart, NeedError, NeedSource, followed, interval_s, need_of_load, need_of_run, read_need_source,
};
use loadline_runs::{PlanLength, store_location};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LatencyFigure, Objective, parse_objective};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Limits alone say nothing of a latency: one that is typed beside them would not be kept.
pub(super) fn refuse_latency(arguments: &AdviseArguments) -> Result<(), Usage> {
    let typed = [("--p99", arguments.p99.is_some()), ("--objective", arguments.objective.is_some())];
    match typed.into_iter().find(|(_, is_typed)| arguments.limits_only && *is_typed) {
        Some((option, _)) => Err(Usage(format!(
            "--limits-only judges no latency, so {option} would not be kept: leave out --limits-only to keep it, or {option}"
        ))),
        None => Ok(()),
    }
}

/// The need that was typed, with what was assumed.
pub(super) fn need_of(
    arguments: &AdviseArguments,
    store: &impl Fn() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<(Need, Vec<String>)> {
    let numbers = numbers_of(arguments);
    let options = ReadOptions { devices: arguments.device.clone(), interval_s: interval_s(arguments.interval) };
    let mut need: Option<(String, Need)> = None;
    let mut demand: Option<(String, Demand)> = None;
    let mut traces = Vec::new();
    let mut notes = Vec::new();
    let both = |one: &str, other: &str| NeedError::Both { one: one.to_owned(), other: other.to_owned() };
    for path in arguments.need.iter().chain(&arguments.from) {
        let name = path.display().to_string();
        match read_need_source(path, &options).map_err(|error| usage(&error))? {
            NeedSource::Need(file) => match &need {
                Some((one, _)) => return Err(usage(&both(one, &name)).into()),
                None => need = Some((name, file.need)),
            },
            NeedSource::Demand(found) => demand = Some(following(demand.take(), name, found)),
            NeedSource::Trace(found, trace) => {
                traces.push(trace);
                demand = Some(following(demand.take(), name, found));
            }
        }
    }
    if let Some(typed) = &arguments.plan {
        let plan = read_plan(typed, PlanLength::Full)?;
        let cells: Vec<_> = plan.cells().map(|(load, _)| load.clone()).collect();
        let cell = arguments.cell.unwrap_or(1);
        let Some(load) = cell.checked_sub(1).and_then(|index| cells.get(index)) else {
            return Err(usage(&NeedError::NoCell { cell, count: cells.len() }).into());
        };
        let found = need_of_load(&plan.name, cell - 1, load).map_err(|error| match error {
            NeedError::NoRate { .. } if numbers.rates().is_some() => None,
            other => Some(other),
        });
        match found {
            Ok(found) => need = Some((typed.clone(), found)),
            Err(Some(error)) => return Err(usage(&error).into()),
            Err(None) => {}
        }
    }
    if arguments.run.is_some() || arguments.time.range().is_some() {
        let store = store_location::store_to_read(&store()?)?;
        let record = stored::load_part(&store, arguments.run.as_deref(), arguments.time)?;
        let run = arguments.run.as_ref().unwrap_or(&record.header.id);
        let cell = match arguments.cell {
            Some(0) => return Err(usage(&NeedError::NoCell { cell: 0, count: record.cells.len() }).into()),
            typed => typed.map(|cell| cell - 1),
        };
        let (found, assumed) = need_of_run(&record, cell).map_err(|error| usage(&error))?;
        if let Some((one, _)) = &demand {
            return Err(usage(&both(one, run)).into());
        }
        // What was typed, or stands in a need file, is meant more than what the run was judged by.
        let is_typed = arguments.p99.is_some() || arguments.objective.is_some();
        let unsized_need = || Need { objective: None, size: Bytes::ZERO, ..found.clone() };
        let (_, whole) = need.get_or_insert_with(|| (run.clone(), unsized_need()));
        let takes_objective = whole.objective.is_none() && !is_typed;
        let takes_size = whole.size == Bytes::ZERO && arguments.size.is_none();
        if takes_objective {
            whole.objective = found.objective;
        }
        if takes_size {
            whole.size = found.size;
        }
        let is_taken = |part| if part == AssumedPart::Size { takes_size } else { takes_objective };
        notes.extend(assumed.iter().filter(|assumption| is_taken(assumption.part)).map(assumed_words));
        if let Asked::Recorded(found) = found.asked {
            demand = Some((run.clone(), found));
        }
    }
    let name = [&need.as_ref().map(|(name, _)| name.clone()), &demand.as_ref().map(|(name, _)| name.clone())]
        .into_iter()
        .flatten()
        .next()
        .cloned();
    let mut found = need.map_or_else(|| Need::steady(NEED_NAME, Rates::default(), Bytes::ZERO), |(_, need)| need);
    if let Some((name, demand)) = demand {
        if let Some(rates) = numbers.rates().filter(|rates| rates.requests_per_s() > 0.0) {
            let typed = format!("a rate of {:.0} IOPS", rates.requests_per_s());
            return Err(usage(&both(&name, &typed)).into());
        }
        notes.extend(demand.notes.iter().cloned());
        found.name = name;
        found.asked = Asked::Recorded(demand);
        // Of several, none has all requests.
        found.trace = traces.pop().filter(|_| traces.is_empty()).map(Arc::from);
    } else if let Some(rates) = numbers.rates() {
        found.asked = Asked::Steady(rates);
        if arguments.reads.is_none() {
            notes.push("no share of reads was given: 70 % are taken to be reads (--reads)".to_owned());
        }
        if arguments.block.is_none() {
            let size = Bytes::new(rates.size() as u64).human();
            notes.push(if numbers.size_of_both().is_some() {
                format!("requests are taken to be of {size} each: --throughput divided by --iops (--block)")
            } else {
                format!("no size of a request was given: {size} is taken (--block)")
            });
        }
    } else if name.is_none() {
        return Err(Usage(format!("{}: --iops 9000, --from FILE, --plan PLAN or --run RUN", NeedError::Nothing)).into());
    }
    let objective = found.objective_text();
    completed(arguments, &mut found)?;
    if let Some(text) = objective.filter(|_| arguments.limits_only) {
        notes.push(format!("the need has a latency to keep ({text}), and --limits-only judges none"));
    }
    Ok((found, notes))
}

/// One source of a demand after another.
fn following(before: Option<(String, Demand)>, name: String, found: Demand) -> (String, Demand) {
    match before {
        Some((one, before)) => (one, followed(before, found)),
        None => (name, found),
    }
}

/// What was typed beside the source of the need.
pub(crate) fn completed(arguments: &AdviseArguments, need: &mut Need) -> anyhow::Result<()> {
    words_of(arguments)?.complete(need);
    if need.objective.is_some_and(|found| found.limit == Duration::ZERO) {
        return Err(Usage(format!("--p99: {NO_LATENCY}")).into());
    }
    // A trace knows the size of its device.
    if need.size == Bytes::ZERO && need.trace.is_none() {
        return Err(Usage(format!("{}: --size 500GiB", NeedError::NoSize)).into());
    }
    Ok(())
}

fn words_of(arguments: &AdviseArguments) -> Result<NeedWords, Usage> {
    let typed = arguments.objective.as_deref().map(parse_objective).transpose();
    let objective = typed.map_err(|reason| Usage(format!("--objective: {reason}")))?;
    let p99 = arguments.p99.map(|limit| Objective { of: LatencyFigure::P99, limit });
    Ok(NeedWords {
        numbers: numbers_of(arguments),
        objective: p99.or(objective),
        limits_only: arguments.limits_only,
        sequential: arguments.sequential,
        size: arguments.size,
        growth: arguments.growth,
        hot: arguments.hot,
        time_met: arguments.time_met,
        sure: arguments.sure,
        providers: arguments.provider.clone(),
        regions: arguments.region.clone(),
        architecture: arguments.arch,
        vcpus: arguments.vcpus,
        memory: arguments.memory,
        machines: arguments.machine.clone(),
        disks: arguments.disk.clone(),
        disks_max: Some(arguments.disks_max),
        os_disk: arguments.os_disk.map(|OsDiskSize(size)| size),
        no_cpu_credits: arguments.no_cpu_credits,
    })
}

const fn numbers_of(arguments: &AdviseArguments) -> NeedNumbers {
    NeedNumbers {
        iops: arguments.iops,
        throughput: arguments.throughput,
        reads: arguments.reads,
        block: arguments.block,
        read_block: None,
        write_block: None,
    }
}

/// A mistake of the user, with its causes.
fn usage(error: &NeedError) -> Usage {
    let mut text = error.to_string();
    if matches!(error, NeedError::Demand(DemandError::NoTimes { .. })) {
        text.push_str(" (--interval 60s)");
    }
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        let told = cause.to_string();
        if !text.contains(&told) {
            let _ = write!(text, ": {told}");
        }
        next = cause.source();
    }
    Usage(text)
}
