//! Jobs of a document: their options as loads, their figures as trials.

use super::latency::{self, Latency};
use super::set_aside::SetAside;
use super::{Document, devices, in_flight};
use crate::value::{At, COUNT_MAX};
use crate::{ImportError, Job, LeftOut, Results};
use loadline_block::{ErrorKind, Operation};
use loadline_record::{
    Doubt, DoubtCode, DoubtEvidence, Ending, EngineUsed, Histogram, HistogramSnapshot, OperationRecord, Scatter,
    Surroundings, ThreadBusy, TrialRecord,
};
use loadline_units::{Duration, Ratio};
use loadline_workload::{Arrival, LoadSpec, ReportedJob, THREADS_MAX, reported_job};
use std::collections::{BTreeMap, BTreeSet};

/// Requests may be this much larger or smaller on average than the options say: the last one of a file is cut.
const SIZE_TOLERANCE: f64 = 0.05;
/// Requests of several sizes may be cut to this share on average.
const CUT_MIN: f64 = 0.5;
/// A job that moved this share of its size ended by it.
const ALL_MOVED: f64 = 0.99;
/// A measurement this long is none.
const RUNTIME_MAX_MS: u64 = 1 << 40;
/// A submission time of this share of a latency is mentioned.
const SUBMISSION_SHARE: f64 = 0.05;

/// Counts of independent arrivals lie within this many standard deviations of their mean.
const CHANCE: f64 = 3.0;
/// Jobs that are named at most.
const NAMED_MAX: usize = 8;
/// What fio calls the sum over the machines of a client/server run.
const ALL_CLIENTS: &str = "All clients";
/// A sum of rates that differs by more from the rate of the sum is mentioned.
const SUM_SHARE: f64 = 0.0005;

/// The directions of a job with their keys.
const DIRECTIONS: [(&str, Operation); 3] =
    [("read", Operation::Read), ("write", Operation::Write), ("trim", Operation::Trim)];

/// An entry of the list of jobs.
struct Entry<'a> {
    at: At<'a>,
    name: String,
    group: u64,
    options: Option<Vec<(String, String)>>,
    /// The machine that ran it, of a client/server run.
    host: Option<String>,
}

/// A job that is taken, before its time is known.
struct Taken {
    group: u64,
    job: Job,
    /// How long its data was read back afterwards, or, of the reading back, how long it took, ms.
    read_back_ms: u64,
    is_read_back: bool,
}

/// The measured figures of an entry, or of several clones together.
#[derive(Default)]
struct Measured {
    operations: BTreeMap<Operation, OperationRecord>,
    runtime_ms: u64,
    /// By direction.
    runtimes_ms: BTreeMap<Operation, u64>,
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
    /// The sum of the rates of clones, where their times differ.
    sum_iops: Option<f64>,
    /// Whether reads and writes were reported as one.
    is_mixed: bool,
    /// Percentiles above the largest latency: operation, share in percent, as printed, ns.
    clamped: Vec<(Operation, f64, u64)>,
    /// The depth at the end, as fio reports it.
    depth: Option<u64>,
    /// Where the figures have more in flight than the options: what is said of it.
    contradiction: Option<String>,
}

/// Reads the jobs of a document into `results`.
pub(super) fn read(document: &Document<'_>, results: &mut Results) -> Result<(), ImportError> {
    let global = document.top.get("global options").map(|at| options(&at)).transpose()?;
    let list = document.top.any(&["jobs", "client_stats"]).ok_or_else(|| document.top.error("has no jobs"))?;
    let mut entries: Vec<Entry<'_>> =
        list.elements()?.into_iter().map(|at| Entry::of(at, global.as_deref())).collect::<Result<_, _>>()?;
    of_clients(&mut entries);
    // Clones that are reported one by one are adjacent.
    let mut jobs: Vec<Vec<Entry<'_>>> = Vec::new();
    for entry in entries {
        match jobs.last_mut().filter(|job| job[0].is_clone_of(&entry)) {
            Some(job) => job.push(entry),
            None => jobs.push(vec![entry]),
        }
    }
    let mut taken: Vec<Taken> = Vec::new();
    let mut lengths: BTreeMap<u64, u64> = BTreeMap::new();
    let version = results.version.clone();
    for clones in jobs {
        if clones.len() > THREADS_MAX as usize {
            let message = format!("more than {THREADS_MAX} clones are reported of job {}", clones[0].name);
            return Err(clones[0].at.error(message));
        }
        let mut measured = merged(clones.iter().map(|entry| measure(&entry.at)).collect::<Result<_, _>>()?);
        let (name, group) = (clones[0].name.clone(), clones[0].group);
        let aside = clones[0].options.as_deref().map(SetAside::of);
        let read_back = aside.as_ref().and_then(|aside| read_back(aside, &mut measured));
        let understood = understood(&clones, aside.as_ref(), &mut measured);
        let ramp_ms = understood.as_ref().map_or(0, |job| job.spec.warm_up.as_ns() / 1_000_000);
        let read_back_ms = read_back.as_ref().map_or(0, |read| read.runtime_ms);
        let length = lengths.entry(group).or_default();
        let own_ms = measured.runtime_ms.saturating_add(ramp_ms).saturating_add(read_back_ms);
        *length = (*length).max(own_ms);
        let mut job = match understood {
            Ok(job) => job,
            Err(why) => {
                results.left_out.push(LeftOut { name, why });
                continue;
            }
        };
        if let Some(host) = &clones[0].host {
            job.target = job.target.map(|target| format!("{host}:{target}"));
        }
        let reading = read_back.map(|read| (job_of_reading_back(&job, &read), read));
        let sentences = aside.map(|aside| aside.sentences).unwrap_or_default();
        let mut job = finished(name.clone(), job, measured, version.as_deref());
        job.unknown.extend(sentences);
        taken.push(Taken { group, job, read_back_ms, is_read_back: false });
        if let Some((job, read)) = reading {
            let job = finished(format!("{name}, read back"), job, read, version.as_deref());
            taken.push(Taken { group, job, read_back_ms, is_read_back: true });
        }
    }
    // Groups run one after the other, the last one up to the moment of writing.
    for Taken { group, job, read_back_ms, is_read_back } in &mut taken {
        let after: u64 = lengths.range(*group + 1..).map(|(_, length)| length).sum();
        let end = document.written_ms.saturating_sub(after);
        let length = lengths.get(group).copied().unwrap_or_default();
        let between = end.saturating_sub(*read_back_ms);
        job.span_ms = if *is_read_back { (between, end) } else { (end.saturating_sub(length).min(between), between) };
        job.trial.started_unix_s = job.span_ms.0 / 1_000;
    }
    if let Some(counters) = devices::counters(document, taken.iter().map(|taken| &taken.job))? {
        taken[0].job.trial.surroundings.devices = vec![counters];
    }
    let beside: Vec<(u64, String)> = taken.iter().map(|taken| (taken.group, taken.job.name.clone())).collect();
    for (index, Taken { group, mut job, read_back_ms, is_read_back }) in taken.into_iter().enumerate() {
        // What a job wrote is read back when it is done.
        let own = if is_read_back { index - 1 } else { index + usize::from(read_back_ms > 0) };
        let mut others: Vec<String> = (beside.iter().enumerate())
            .filter(|(other, (at, _))| *other != index && *other != own && at == &group)
            .map(|(_, (_, name))| name.clone())
            .collect();
        if !others.is_empty() {
            let more = others.split_off(others.len().min(NAMED_MAX)).len() as u64;
            let seen = DoubtEvidence::JobsBeside { jobs: others, more };
            job.trial.doubts.push(Doubt { code: DoubtCode::OtherLoad, seen });
        }
        results.jobs.push(job);
    }
    Ok(())
}

/// Entries of several machines: the sum of all is left out, and each has the name of its machine.
fn of_clients(entries: &mut Vec<Entry<'_>>) {
    // With reports at intervals it does not stand last.
    if entries.len() > 1 {
        entries.retain(|entry| entry.name != ALL_CLIENTS || !entry.is_without_options());
    }
    let hosts: BTreeSet<String> = entries.iter().filter_map(|entry| entry.host.clone()).collect();
    for entry in entries {
        entry.host = entry.host.take().filter(|_| hosts.len() > 1);
        if let Some(host) = &entry.host {
            entry.name = format!("{} on {host}", entry.name);
        }
    }
}

/// Takes out what a job that writes read back to check it.
fn read_back(aside: &SetAside, measured: &mut Measured) -> Option<Measured> {
    aside.verify.as_ref()?;
    let writes = (aside.options.iter().rev()).find(|(key, _)| key == "rw" || key == "readwrite")?;
    if !["write", "randwrite"].contains(&writes.1.split(':').next()?) {
        return None;
    }
    let record = measured.operations.remove(&Operation::Read)?;
    let took_ms = measured.runtimes_ms.remove(&Operation::Read)?;
    measured.runtime_ms = measured.runtimes_ms.values().copied().max().unwrap_or(0);
    // Each thread's time has both in it, one after the other.
    let both_ms = (measured.runtime_ms + took_ms).max(1);
    let of_writes = |ms: u64| (u128::from(ms) * u128::from(measured.runtime_ms) / u128::from(both_ms)) as u64;
    measured.threads_ms = measured.threads_ms.map(of_writes);
    // Rates and CPU time are reported for both together.
    measured.scatters = None;
    let clamped = measured.clamped.extract_if(.., |(operation, ..)| *operation == Operation::Read).collect();
    Some(Measured {
        operations: BTreeMap::from([(Operation::Read, record)]),
        runtime_ms: took_ms,
        runtimes_ms: BTreeMap::from([(Operation::Read, took_ms)]),
        clamped,
        ..Measured::default()
    })
}

/// The load of reading back what a job wrote.
fn job_of_reading_back(job: &ReportedJob, read: &Measured) -> ReportedJob {
    let mut back = job.clone();
    back.spec.reads = Ratio::ONE;
    back.spec.flush = None;
    back.spec.volume = None;
    back.spec.warm_up = Duration::ZERO;
    back.spec.duration = Duration::from_ms(read.runtime_ms.max(1));
    back
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
        let host = at.get("hostname").map(|at| at.text()).transpose()?;
        Ok(Self { at, name, group, options, host })
    }
    fn is_without_options(&self) -> bool {
        self.at.get("job options").is_none()
    }
    fn is_clone_of(&self, other: &Self) -> bool {
        let own = |entry: &Self| (entry.name.clone(), entry.group, entry.options.clone(), entry.host.clone());
        let same = own(self) == own(other);
        same && self.options.iter().flatten().any(|(key, _)| key == "numjobs")
    }
}

/// The load of a job, or of its clones; or why it is none of ours.
fn understood(clones: &[Entry<'_>], aside: Option<&SetAside>, measured: &mut Measured) -> Result<ReportedJob, String> {
    let Some(aside) = aside else {
        return Err("its results do not say with which options it was run: JSON has them since fio 2.14, and the text in its first lines \
                    (`NAME: (g=0): rw=...`), which are missing"
            .to_owned());
    };
    let pairs = aside.options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut job = reported_job(&clones[0].name, pairs).map_err(|problems| {
        let told: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
        told.join("; ")
    })?;
    let spec = &mut job.spec;
    aside.put_into(spec);
    if let (Arrival::Closed { queue_depth, .. }, Some(depth)) = (&mut spec.arrival, aside.depth(measured.depth)) {
        *queue_depth = depth;
    }
    if measured.is_mixed {
        split(measured, spec)?;
    }
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
    if is_foreign {
        return Err(format!(
            "it asks for {}, and its figures have {} as well: they are not those of its options. group_reporting puts the figures of \
             different jobs together; report jobs apart, or write stonewall or new_group in each",
            operations_asked(spec),
            operations_found(measured),
        ));
    }
    let is_cut = spec.blocks.len() > 1 && (asked * CUT_MIN..=asked).contains(&mean);
    // fio cuts blocks of several sizes at those that it asked before.
    if !is_cut && (mean / asked - 1.0).abs() > SIZE_TOLERANCE {
        return Err(format!(
            "its figures are not those of its options (requests of {mean:.0} bytes, where {asked:.0} were asked): group_reporting puts \
             the figures of different jobs together; report jobs apart, or write stonewall or new_group in each"
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
    let records = DIRECTIONS.iter().filter_map(|(_, operation)| measured.operations.get(operation));
    let waited_ns = records.map(|of| Some(of.count as f64 * of.figures()?.mean)).sum::<Option<f64>>();
    let found = waited_ns.map(|ns| ns / (measured.runtime_ms as f64 * 1e6));
    measured.contradiction = found.and_then(|found| in_flight::contradiction(spec, aside, found));
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

/// What a load asks for, in words.
fn operations_asked(spec: &LoadSpec) -> &'static str {
    match (spec.trims, spec.reads) {
        (Ratio::ONE, _) => "trims",
        (_, Ratio::ONE) => "reads",
        (_, Ratio::ZERO) => "writes",
        _ => "reads and writes",
    }
}

/// The operations that figures are of, in words.
fn operations_found(measured: &Measured) -> String {
    let found = DIRECTIONS.iter().filter(|(_, operation)| measured.operations.contains_key(operation));
    found.map(|(key, _)| format!("{key}s")).collect::<Vec<_>>().join(" and ")
}

/// Gives each operation its part of figures that are reported for all together, by the mix that was asked.
fn split(measured: &mut Measured, spec: &LoadSpec) -> Result<(), String> {
    let Some(all) = measured.operations.remove(&Operation::Read) else { return Ok(()) };
    if spec.trims != Ratio::ZERO && spec.trims != Ratio::ONE {
        return Err("its trims are reported together with its writes (unified_rw_reporting)".to_owned());
    }
    if spec.trims == Ratio::ONE {
        measured.operations.insert(Operation::Trim, all);
        return Ok(());
    }
    if spec.reads == Ratio::ONE || spec.reads == Ratio::ZERO {
        let operation = if spec.reads == Ratio::ONE { Operation::Read } else { Operation::Write };
        measured.operations.insert(operation, all);
        return Ok(());
    }
    let reads = spec.reads.of(all.count);
    let bytes = spec.reads.of(all.bytes);
    // The latencies are of both: neither has a histogram of its own.
    let told = all.figures();
    let of = |count, bytes| OperationRecord { count, bytes, told, ..OperationRecord::default() };
    let (count, total) = (all.count, all.bytes);
    for (operation, record) in
        [(Operation::Read, of(reads, bytes)), (Operation::Write, of(count - reads, total - bytes))]
    {
        if record.count > 0 {
            measured.operations.insert(operation, record);
        }
    }
    Ok(())
}

/// The figures of one entry.
fn measure(at: &At<'_>) -> Result<Measured, ImportError> {
    let mut measured = Measured::default();
    let mut scatters = Vec::new();
    // `both` has the sum beside its parts: it counts only where it stands alone.
    measured.is_mixed = at.get("mixed").is_some() && DIRECTIONS.iter().all(|(key, _)| at.get(key).is_none());
    let mixed = [("mixed", Operation::Read)];
    let directions: &[(&str, Operation)] = if measured.is_mixed { &mixed } else { &DIRECTIONS };
    for (key, operation) in directions.iter().copied() {
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
        let Latency { histogram, told, is_total, clamped } = latency::of_direction(&direction)?;
        measured.is_total |= is_total;
        measured.clamped.extend(clamped.into_iter().map(|(share, ns)| (operation, share, ns)));
        let mean = |keys: &[&str]| direction.any(keys).and_then(|at| at.get("mean")).map(|at| at.number()).transpose();
        let (submission, rest) = (mean(&["slat_ns", "slat"])?, mean(&["clat_ns", "clat"])?);
        if let (Some(submission), Some(rest)) = (submission, rest.filter(|rest| *rest > 0.0)) {
            measured.submission_share = measured.submission_share.max(submission / rest);
        }
        measured.runtime_ms = measured.runtime_ms.max(runtime_ms);
        measured.runtimes_ms.insert(operation, runtime_ms);
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
    measured.depth = count("latency_depth")?;
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

/// Samples whose mean is a smaller share of the rate are no samples of it.
const SAMPLE_SHARE: f64 = 0.1;

/// How the rate of one direction scattered from sample to sample, by thread. fio adds up means and squares of threads
/// that it reports together, and concatenates their samples.
fn scatter(direction: &At<'_>) -> Result<Option<Scatter>, ImportError> {
    let (Some(deviation), Some(samples)) = (direction.get("iops_stddev"), direction.get("iops_samples")) else {
        return Ok(None);
    };
    let scatter = Scatter { samples: samples.count()?, deviation_iops: deviation.number()? };
    // With a log of single requests (write_iops_log, no log_avg_msec) each sample is one request.
    let number = |key: &str| direction.get(key).map(|at| at.number()).transpose();
    let of_rate = number("iops_mean")?.zip(number("iops")?).is_none_or(|(mean, rate)| mean >= rate * SAMPLE_SHARE);
    Ok(of_rate.then_some(scatter))
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
    let iops = |part: &Measured| {
        let count: u64 = DIRECTIONS.iter().filter_map(|(_, o)| part.operations.get(o)).map(|record| record.count).sum();
        (part.runtime_ms > 0).then(|| count as f64 * 1e3 / part.runtime_ms as f64)
    };
    let sum_iops = (parts.len() > 1).then(|| parts.iter().filter_map(iops).sum());
    let mut all = parts.remove(0);
    all.sum_iops = sum_iops;
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
        for (operation, runtime_ms) in part.runtimes_ms {
            let own = all.runtimes_ms.entry(operation).or_default();
            *own = (*own).max(runtime_ms);
        }
        // Percentiles of clones are not taken.
        all.clamped.clear();
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

/// Percentiles that a record keeps, in percent.
const KEPT: [f64; 6] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// The facts that a measurement of loadline's would have besides.
fn unknown(spec: &LoadSpec, measured: &Measured) -> Vec<String> {
    let mut unknown: Vec<String> = measured.contradiction.iter().cloned().collect();
    let records = || measured.operations.values();
    if records().any(|record| record.told.is_some()) {
        unknown.push(
            "Latencies are known by the percentiles that fio told, without a histogram (json+ has one)".to_owned(),
        );
    }
    if records().any(|record| record.figures().is_none()) {
        unknown.push("Latencies were not kept (gtod_reduce, disable_clat)".to_owned());
    }
    if measured.is_mixed && spec.reads != Ratio::ONE && spec.reads != Ratio::ZERO {
        unknown.push(
            "fio told reads and writes as one (unified_rw_reporting): their numbers follow the mix that was asked, and their \
             latencies are those of both"
                .to_owned(),
        );
    }
    for (key, operation) in DIRECTIONS {
        let printed = measured.clamped.iter().filter(|(own, share, _)| *own == operation && KEPT.contains(share));
        let printed: Vec<String> = printed.map(|(_, share, ns)| format!("p{share} as {ns} ns")).collect();
        if !printed.is_empty() {
            unknown.push(format!(
                "Of its {key}s, fio printed {}: above their largest latency, which is taken, since fio prints the end of a bucket",
                printed.join(", ")
            ));
        }
    }
    let seconds = measured.runtime_ms as f64 / 1e3;
    let of_all =
        DIRECTIONS.iter().filter_map(|(_, o)| measured.operations.get(o)).map(|record| record.count).sum::<u64>()
            as f64
            / seconds;
    if let Some(sum) = measured.sum_iops.filter(|sum| sum / of_all - 1.0 > SUM_SHARE) {
        unknown.push(format!(
            "The rate is that of all requests over the longest time of a clone, as fio counts a group: the rates of the clones, \
             which did not take the same time, add up to {sum:.1} IOPS, {:.2} % more",
            (sum / of_all - 1.0) * 100.0
        ));
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
