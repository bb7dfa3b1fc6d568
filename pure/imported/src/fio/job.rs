//! Jobs of a document: their options as loads, their figures as trials.

use super::latency::{self, Latency};
use super::{Document, devices};
use crate::value::{At, COUNT_MAX};
use crate::{ImportError, Job, LeftOut, Results};
use loadline_block::{ErrorKind, Operation};
use loadline_record::{
    Ending, EngineUsed, Histogram, HistogramSnapshot, OperationRecord, Scatter, Surroundings, ThreadBusy, TrialRecord,
};
use loadline_units::{Duration, Ratio};
use loadline_workload::{Arrival, LoadSpec, ReportedJob, THREADS_MAX, reported_job};
use std::collections::BTreeMap;

/// Requests may be this much larger or smaller on average than the options say: the last one of a file is cut.
const SIZE_TOLERANCE: f64 = 0.05;
/// A job that moved this share of its size ended by it.
const ALL_MOVED: f64 = 0.99;
/// A measurement this long is none.
const RUNTIME_MAX_MS: u64 = 1 << 40;
/// A submission time of this share of a latency is mentioned.
const SUBMISSION_SHARE: f64 = 0.05;

/// Counts of independent arrivals lie within this many standard deviations of their mean.
const CHANCE: f64 = 3.0;

/// The directions of a job with their keys.
const DIRECTIONS: [(&str, Operation); 3] =
    [("read", Operation::Read), ("write", Operation::Write), ("trim", Operation::Trim)];

/// An entry of the list of jobs.
struct Entry<'a> {
    at: At<'a>,
    name: String,
    group: u64,
    options: Option<Vec<(String, String)>>,
}

/// The measured figures of an entry, or of several clones together.
#[derive(Default)]
struct Measured {
    operations: BTreeMap<Operation, OperationRecord>,
    runtime_ms: u64,
    /// Of all threads together.
    threads_ms: Option<u64>,
    user_ms: f64,
    system_ms: f64,
    error: u64,
    errors: Option<u64>,
    is_total: bool,
    /// Mean time of a submission over that of the rest of a request, at most.
    submission_share: f64,
    /// How the rate of one thread scattered, its directions together, for each clone. `None`: unknown for some
    /// completions.
    scatters: Option<Vec<Scatter>>,
}

/// Reads the jobs of a document into `results`.
pub(super) fn read(document: &Document<'_>, results: &mut Results) -> Result<(), ImportError> {
    let global = document.top.get("global options").map(|at| options(&at)).transpose()?;
    let list = document.top.get("jobs").ok_or_else(|| document.top.error("has no jobs"))?;
    let entries: Vec<Entry<'_>> =
        list.elements()?.into_iter().map(|at| Entry::of(at, global.as_deref())).collect::<Result<_, _>>()?;
    // Clones that are reported one by one are adjacent.
    let mut jobs: Vec<Vec<Entry<'_>>> = Vec::new();
    for entry in entries {
        match jobs.last_mut().filter(|job| job[0].is_clone_of(&entry)) {
            Some(job) => job.push(entry),
            None => jobs.push(vec![entry]),
        }
    }
    let mut taken: Vec<(u64, Job)> = Vec::new();
    let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
    let version = results.version.clone();
    for clones in jobs {
        if clones.len() > THREADS_MAX as usize {
            let message = format!("more than {THREADS_MAX} clones are reported of job {}", clones[0].name);
            return Err(clones[0].at.error(message));
        }
        let measured = merged(clones.iter().map(|entry| measure(&entry.at)).collect::<Result<_, _>>()?);
        let (name, group) = (clones[0].name.clone(), clones[0].group);
        let understood = understood(&clones, &measured);
        let ramp_ms = understood.as_ref().map_or(0, |job| job.spec.warm_up.as_ns() / 1_000_000);
        let length = lengths.entry(group).or_default();
        *length = (*length).max(measured.runtime_ms.saturating_add(ramp_ms));
        match understood {
            Ok(job) => taken.push((group, finished(name, job, measured, version.as_deref()))),
            Err(why) => results.left_out.push(LeftOut { name, why }),
        }
    }
    // Groups run one after the other, the last one up to the moment of writing.
    for (group, job) in &mut taken {
        let after: u64 = lengths.range(*group + 1..).map(|(_, length)| length).sum();
        let end = document.written_ms.saturating_sub(after);
        let length = lengths.get(group).copied().unwrap_or_default();
        job.span_ms = (end.saturating_sub(length), end);
        job.trial.started_unix_s = job.span_ms.0 / 1_000;
    }
    if let Some(counters) = devices::counters(document, &taken)? {
        taken[0].1.trial.surroundings.devices = vec![counters];
    }
    let beside: Vec<(u64, String, Option<String>)> =
        taken.iter().map(|(group, job)| (*group, job.name.clone(), job.target.clone())).collect();
    for (index, (group, mut job)) in taken.into_iter().enumerate() {
        let others: Vec<&str> = (beside.iter().enumerate())
            .filter(|(other, (at, _, _))| *other != index && at == &group)
            .map(|(_, (_, name, _))| name.as_str())
            .collect();
        if !others.is_empty() {
            let detail = format!(
                "It ran at the same time as {}: what each got is not what it would get alone.",
                others.join(", ")
            );
            job.trial.doubts.push(loadline_record::Doubt { code: loadline_record::DoubtCode::OtherLoad, detail });
        }
        results.jobs.push(job);
    }
    Ok(())
}

fn options(at: &At<'_>) -> Result<Vec<(String, String)>, ImportError> {
    at.entries()?.into_iter().map(|(key, value)| Ok((key.to_owned(), value.text()?))).collect()
}

impl<'a> Entry<'a> {
    fn of(at: At<'a>, global: Option<&[(String, String)]>) -> Result<Self, ImportError> {
        let name = at.get("jobname").ok_or_else(|| at.error("has no jobname"))?.text()?;
        let group = at.get("groupid").map(|at| at.count()).transpose()?.unwrap_or(0);
        let own = at.get("job options").map(|at| options(&at)).transpose()?;
        let options = match (global, own) {
            (None, None) => None,
            (global, own) => Some(global.unwrap_or_default().iter().cloned().chain(own.unwrap_or_default()).collect()),
        };
        Ok(Self { at, name, group, options })
    }
    fn is_clone_of(&self, other: &Self) -> bool {
        let same = (&self.name, self.group, &self.options) == (&other.name, other.group, &other.options);
        same && self.options.iter().flatten().any(|(key, _)| key == "numjobs")
    }
}

/// The load of a job, or of its clones; or why it is none of ours.
fn understood(clones: &[Entry<'_>], measured: &Measured) -> Result<ReportedJob, String> {
    let Some(options) = &clones[0].options else {
        return Err("its results do not say with which options it was run (fio tells them since 2.14)".to_owned());
    };
    let pairs = options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut job = reported_job(&clones[0].name, pairs).map_err(|problems| {
        let told: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
        told.join("; ")
    })?;
    let spec = &mut job.spec;
    let moved = |operation| measured.operations.get(&operation).map_or(0, |record| record.count);
    let transfers: u64 = DIRECTIONS.iter().map(|(_, operation)| moved(*operation)).sum();
    if measured.runtime_ms == 0 || transfers == 0 {
        return Err("it completed no request: there is nothing to import".to_owned());
    }
    if clones.len() > 1 && clones.len() != spec.threads as usize {
        return Err(format!("its options say numjobs={}, and {} clones are reported", spec.threads, clones.len()));
    }
    let is_foreign = (moved(Operation::Read) > 0 && !spec.reads_any())
        || (moved(Operation::Write) > 0 && (spec.reads == Ratio::ONE || spec.trims == Ratio::ONE))
        || (moved(Operation::Trim) > 0 && spec.trims == Ratio::ZERO);
    let bytes: u64 = DIRECTIONS.iter().filter_map(|(_, o)| measured.operations.get(o)).map(|record| record.bytes).sum();
    let (mean, asked) = (bytes as f64 / transfers as f64, spec.block_mean().get() as f64);
    if is_foreign || (mean / asked - 1.0).abs() > SIZE_TOLERANCE {
        return Err(format!(
            "its figures are not those of its options (requests of {mean:.0} bytes, where {asked:.0} were asked, or other \
             operations): group_reporting puts the figures of different jobs together; report jobs apart, or write stonewall or \
             new_group in each"
        ));
    }
    let threads = measured.threads_ms.map(|ms| ms as f64 / measured.runtime_ms as f64);
    if let Some(threads) = threads.filter(|threads| *threads > f64::from(spec.threads) + 0.5) {
        return Err(format!(
            "its figures are of about {threads:.0} threads, and its options say numjobs={}: group_reporting puts several jobs \
             together; report jobs apart, or write stonewall or new_group in each",
            spec.threads
        ));
    }
    let is_all_moved = spec.volume.is_some_and(|volume| bytes as f64 >= volume.get() as f64 * ALL_MOVED);
    if !is_all_moved {
        // fio does not report time_based; a job that moved less than its size ended by time.
        spec.volume = None;
    }
    if !job.is_timed && !is_all_moved {
        spec.duration = Duration::from_ms(measured.runtime_ms);
    }
    spec.trials = 1;
    Ok(job)
}

/// The figures of one entry.
fn measure(at: &At<'_>) -> Result<Measured, ImportError> {
    let mut measured = Measured::default();
    let mut scatters = Vec::new();
    for (key, operation) in DIRECTIONS {
        let Some(direction) = at.get(key) else { continue };
        let figure = |key: &str| direction.get(key).map(|at| at.count()).transpose();
        let wanted = |key: &str| {
            let at = direction.get(key).ok_or_else(|| direction.error(format!("{key} is missing")))?;
            at.count()
        };
        let runtime_ms = wanted("runtime")?;
        if runtime_ms >= RUNTIME_MAX_MS {
            return Err(direction.error(format!("a runtime of {runtime_ms} ms is longer than any can be")));
        }
        let count = if let Some(count) = figure("total_ios")? {
            count
        } else {
            let iops = direction.get("iops").ok_or_else(|| direction.error("total_ios and iops are missing"))?;
            possible(&iops, (iops.number()? * runtime_ms as f64 / 1e3).round() as u64)?
        };
        if count == 0 {
            continue;
        }
        // Before 3.0 io_bytes was in KiB.
        let unit = if direction.get("io_kbytes").is_some() { 1 } else { 1024 };
        let bytes = possible(&direction, wanted("io_bytes")?.saturating_mul(unit))?;
        let Latency { histogram, told, is_total } = latency::of_direction(&direction)?;
        measured.is_total |= is_total;
        let mean = |keys: &[&str]| direction.any(keys).and_then(|at| at.get("mean")).map(|at| at.number()).transpose();
        let (submission, rest) = (mean(&["slat_ns", "slat"])?, mean(&["clat_ns", "clat"])?);
        if let (Some(submission), Some(rest)) = (submission, rest.filter(|rest| *rest > 0.0)) {
            measured.submission_share = measured.submission_share.max(submission / rest);
        }
        measured.runtime_ms = measured.runtime_ms.max(runtime_ms);
        let record = OperationRecord { count, bytes, latency: histogram, told, ..OperationRecord::default() };
        measured.operations.insert(operation, record);
        scatters.push(scatter(&direction)?);
    }
    let scatters: Option<Vec<Scatter>> = scatters.into_iter().collect();
    measured.scatters = scatters.and_then(|all| all.into_iter().reduce(together)).map(|all| vec![all]);
    if let Some(sync) = at.get("sync") {
        let count = sync.get("total_ios").map(|at| at.count()).transpose()?.unwrap_or(0);
        if count > 0 {
            let Latency { histogram, told, .. } = latency::of_flushes(&sync)?;
            let record = OperationRecord { count, latency: histogram, told, ..OperationRecord::default() };
            measured.operations.insert(Operation::Flush, record);
        }
    }
    let count = |key: &str| at.get(key).map(|at| at.count()).transpose();
    measured.threads_ms = count("job_runtime")?;
    let threads_ms = measured.threads_ms.unwrap_or(measured.runtime_ms) as f64;
    let share = |key: &str| -> Result<f64, ImportError> {
        let Some(at) = at.get(key) else { return Ok(0.0) };
        let percent = at.number()?;
        // Shares of the time of all threads: a little above 100 by the ticks of a clock.
        if percent > 1_000.0 { Err(at.error("is no share of CPU time in percent")) } else { Ok(percent / 100.0) }
    };
    (measured.user_ms, measured.system_ms) = (share("usr_cpu")? * threads_ms, share("sys_cpu")? * threads_ms);
    measured.error = match at.get("error") {
        // Negative in some versions.
        Some(error) => error.value.as_i64().map_or_else(|| error.count(), |errno| Ok(errno.unsigned_abs()))?,
        None => 0,
    };
    measured.errors = count("total_err")?;
    if measured.error == 0 {
        measured.error = count("first_error")?.unwrap_or(0);
    }
    Ok(measured)
}

/// How the rate of one direction scattered from sample to sample, by thread. fio adds up means and squares of threads
/// that it reports together, and concatenates their samples.
fn scatter(direction: &At<'_>) -> Result<Option<Scatter>, ImportError> {
    let (Some(deviation), Some(samples)) = (direction.get("iops_stddev"), direction.get("iops_samples")) else {
        return Ok(None);
    };
    Ok(Some(Scatter { samples: samples.count()?, deviation_iops: deviation.number()? }))
}

/// Two parts of a load, as if they rose and fell together: its rate scatters no more than that.
fn together(a: Scatter, b: Scatter) -> Scatter {
    Scatter { samples: a.samples.min(b.samples), deviation_iops: a.deviation_iops + b.deviation_iops }
}

/// How the rate of all threads scattered.
fn of_all_threads(scatters: Option<Vec<Scatter>>, threads: u32) -> Option<Scatter> {
    let clones = scatters?;
    let threads_of_one = (f64::from(threads) / clones.len() as f64).max(1.0);
    let all = clones.into_iter().reduce(together)?;
    let samples = (all.samples as f64 / threads_of_one) as u64;
    (samples >= 2).then_some(Scatter { samples, deviation_iops: all.deviation_iops * threads_of_one })
}

/// Checks that one job can have done this much.
fn possible(at: &At<'_>, count: u64) -> Result<u64, ImportError> {
    if count < COUNT_MAX { Ok(count) } else { Err(at.error("is more than a job can have done")) }
}

/// Clones as one load.
fn merged(mut parts: Vec<Measured>) -> Measured {
    let mut all = parts.remove(0);
    for part in parts {
        for (operation, record) in part.operations {
            let Some(own) = all.operations.get_mut(&operation) else {
                all.operations.insert(operation, record);
                continue;
            };
            let pooled = match (own.figures(), record.figures()) {
                // Percentiles of clones do not give those of all.
                (Some(a), Some(b)) if own.told.is_some() || record.told.is_some() => {
                    let bare = |f: HistogramSnapshot| HistogramSnapshot {
                        p50: None,
                        p90: None,
                        p95: None,
                        p99: None,
                        p99_9: None,
                        p99_99: None,
                        ..f
                    };
                    HistogramSnapshot::pooled(&[(own.count, bare(a)), (record.count, bare(b))])
                }
                _ => None,
            };
            if own.figures().is_none() || record.figures().is_none() || pooled.is_some() {
                own.latency = Histogram::new();
                own.told = pooled;
            } else {
                own.latency.merge(&record.latency);
            }
            own.count = own.count.saturating_add(record.count);
            own.bytes = own.bytes.saturating_add(record.bytes);
        }
        all.runtime_ms = all.runtime_ms.max(part.runtime_ms);
        all.threads_ms = all.threads_ms.zip(part.threads_ms).map(|(a, b)| a.saturating_add(b));
        all.user_ms += part.user_ms;
        all.system_ms += part.system_ms;
        all.error = if all.error == 0 { part.error } else { all.error };
        all.errors = match (all.errors, part.errors) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        all.is_total |= part.is_total;
        all.submission_share = all.submission_share.max(part.submission_share);
        all.scatters = all.scatters.zip(part.scatters).map(|(a, b)| [a, b].concat());
    }
    all
}

/// The job with its trial; its time is still missing.
fn finished(name: String, job: ReportedJob, measured: Measured, version: Option<&str>) -> Job {
    let ReportedJob { spec, target, engine, .. } = job;
    let unknown = unknown(&spec, &measured);
    let (errors, error_samples, ending) = failures(&measured);
    let offered_iops = offered(&spec, &measured);
    let measured_ns = measured.runtime_ms * 1_000_000;
    let asked = measured.operations.iter().map(|(operation, record)| (*operation, (record.count, record.bytes)));
    let nanoseconds = |ms: f64| (ms * 1e6) as u64;
    let surroundings = Surroundings {
        elapsed_ns: measured_ns.saturating_add(spec.warm_up.as_ns()),
        tool_user_ns: nanoseconds(measured.user_ms),
        tool_system_ns: nanoseconds(measured.system_ms),
        load_user_ns: nanoseconds(measured.user_ms),
        load_system_ns: nanoseconds(measured.system_ms),
        threads: busy(&spec, &measured),
        asked: asked.collect(),
        ..Surroundings::default()
    };
    let by = version.map_or_else(|| "fio".to_owned(), |version| format!("fio {version}"));
    let trial = TrialRecord {
        warm_up_ns: spec.warm_up.as_ns(),
        measured_ns,
        operations: measured.operations,
        offered_iops,
        errors,
        error_samples,
        surroundings,
        told_scatter: of_all_threads(measured.scatters, spec.threads),
        ending,
        ..TrialRecord::empty(
            0,
            0,
            EngineUsed {
                name: engine.as_str().into(),
                reason: format!("as the job says, in {by}"),
                options: Vec::new(),
            },
        )
    };
    Job { name, spec, target, is_null: engine == "null", span_ms: (0, 0), trial, unknown }
}

/// The offered rate of an open loop, as far as it is known. Its arrivals are random, and fio does not report their
/// number. If as many were completed as is likely, all were.
fn offered(spec: &LoadSpec, measured: &Measured) -> Option<f64> {
    let rate = spec.offered()?.get() as f64;
    let seconds = measured.runtime_ms as f64 / 1e3;
    let completed: u64 =
        DIRECTIONS.iter().filter_map(|(_, o)| measured.operations.get(o)).map(|record| record.count).sum();
    let expected = rate * seconds;
    let is_chance = (completed as f64 - expected).abs() <= CHANCE * expected.sqrt();
    Some(if is_chance { completed as f64 / seconds } else { rate })
}

/// How busy each thread was on average. fio spins for the next request of a paced load, and for the answer of a polled
/// one. Then this figure means nothing.
fn busy(spec: &LoadSpec, measured: &Measured) -> Vec<ThreadBusy> {
    let threads_ms = measured.threads_ms.filter(|ms| *ms > 0);
    let (Some(threads_ms), false) = (threads_ms, spec.has_due_times()) else { return Vec::new() };
    let busy = ((measured.user_ms + measured.system_ms) / threads_ms as f64).min(1.0);
    vec![ThreadBusy { busy, ..ThreadBusy::default() }; spec.threads.min(THREADS_MAX) as usize]
}

/// Failed requests, and whether the job ended by them.
fn failures(measured: &Measured) -> (BTreeMap<ErrorKind, u64>, Vec<String>, Ending) {
    if measured.error == 0 && measured.errors.unwrap_or(0) == 0 {
        return (BTreeMap::new(), Vec::new(), Ending::Complete);
    }
    let errno = measured.error;
    // As Linux numbers them.
    let kind = match errno {
        5 | 61 | 84 | 121 => ErrorKind::Io,
        28 | 122 => ErrorKind::NoSpace,
        6 | 9 | 19 | 108 => ErrorKind::Gone,
        110 => ErrorKind::TimedOut,
        22 | 95 => ErrorKind::Refused,
        1 | 13 | 30 => ErrorKind::Denied,
        _ => ErrorKind::Other,
    };
    let count = measured.errors.filter(|errors| *errors > 0).unwrap_or(1);
    let ending = match measured.errors {
        Some(_) => Ending::Complete,
        None => Ending::Failed(format!("fio ended the job with error {errno}")),
    };
    (BTreeMap::from([(kind, count)]), vec![format!("error {errno}, as fio reports it")], ending)
}

/// The facts that a measurement of loadline's would have besides.
fn unknown(spec: &LoadSpec, measured: &Measured) -> Vec<String> {
    let mut unknown = Vec::new();
    let records = || measured.operations.values();
    if records().any(|record| record.told.is_some()) {
        unknown.push(
            "Latencies are known by the percentiles that fio told, without a histogram (json+ has one)".to_owned(),
        );
    }
    if records().any(|record| record.figures().is_none()) {
        unknown.push("Latencies were not kept (gtod_reduce, disable_clat)".to_owned());
    }
    match spec.arrival {
        Arrival::Closed { rate_max: None, .. } => {}
        _ => unknown.push(
            "Latencies count from the submission of a request, not from when its rate wanted it: what came late looks quick".to_owned(),
        ),
    }
    if !measured.is_total && measured.submission_share > SUBMISSION_SHARE {
        unknown.push(format!(
            "Latencies count from the end of the submission, which takes {:.0} % of them besides",
            measured.submission_share * 100.0
        ));
    }
    unknown
}
