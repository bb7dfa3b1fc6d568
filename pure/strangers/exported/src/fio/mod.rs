//! A run as fio's `--output-format=json+`: one job for each trial, with its options, figures and every bucket of its histograms.
//!
//! All jobs are one document, as fio writes a job file's results, or a document for each, as programs want them that read a folder.
//! Beside fio's own keys each job has an object `loadline` for what fio cannot express: the cell, the trial, its limit
//! and doubts, and the parts of the load without an option. Programs that read fio's results ignore it.

mod direction;
pub(crate) mod options;

use loadline_analysis::{CellSummary, RunSummary};
use loadline_block::{ErrorKind, Operation};
use loadline_record::{CellRecord, DeviceCounters, Ending, RunRecord, TrialRecord};
use loadline_report::doubt_detail;
use options::{FileOption, Options};
use serde_json::{Map, Value, json};

/// The run as fio's results, a document of JSON with a line break at its end. Times are those of the measurement, without warm-up;
/// figures that are not known are left out.
#[must_use]
pub fn fio(record: &RunRecord, summary: &RunSummary) -> String {
    let trials: Vec<&TrialRecord> = record.cells.iter().flat_map(|cell| &cell.trials).collect();
    document(record, &trials, |written_ms| {
        each_trial(record, summary)
            .enumerate()
            .map(|(group, (cell, known, trial))| job(record, cell, known, trial, group, written_ms))
            .collect()
    })
}

/// A document for each trial, with the path of its file: the place of the cell, then fio's words for the load.
///
/// Programs that plot a folder distinguish its files by pattern, depth and jobs. What else differs within the run (volume, block size, trial)
/// is a folder each.
#[must_use]
pub fn fio_files(record: &RunRecord, summary: &RunSummary) -> Vec<(String, String)> {
    let cells = &record.cells;
    let several_volumes = cells.iter().any(|cell| cell.volume != cells[0].volume);
    let block = |cell: &CellRecord| cell.load.figures().block_bytes;
    let several_blocks = cells.iter().any(|cell| block(cell) != block(&cells[0]));
    let several_trials = cells.iter().any(|cell| cell.trials.len() > 1);
    let places = cells.iter().enumerate().flat_map(|(place, cell)| cell.trials.iter().map(move |_| place + 1));
    let digits = cells.len().to_string().len();
    each_trial(record, summary)
        .zip(places)
        .map(|((cell, known, trial), place)| {
            let folder = |wanted: bool, name: String| if wanted { name + "/" } else { String::new() };
            let folders = folder(several_volumes, cell.volume.clone())
                + &folder(several_blocks, block(cell).to_string())
                + &folder(several_trials, format!("trial-{}", trial.trial));
            let load = cell.load.figures();
            let depth = load.queue_depth.map_or_else(String::new, |depth| format!("-iodepth-{depth}"));
            let words = cell.load.spec().map_or("load", options::direction);
            let path = format!("{folders}{place:0digits$}-{words}{depth}-numjobs-{}.json", load.threads);
            (path, document(record, &[trial], |written_ms| vec![job(record, cell, known, trial, 0, written_ms)]))
        })
        .collect()
}

fn each_trial<'a>(
    record: &'a RunRecord,
    summary: &'a RunSummary,
) -> impl Iterator<Item = (&'a CellRecord, &'a CellSummary, &'a TrialRecord)> {
    let cells = record.cells.iter().zip(&summary.cells);
    cells.flat_map(|(cell, known)| cell.trials.iter().map(move |trial| (cell, known, trial)))
}

/// A document of these trials. It was written when the last of them ended, which `jobs` gets in milliseconds since 1970.
fn document(record: &RunRecord, trials: &[&TrialRecord], jobs: impl FnOnce(u64) -> Vec<Value>) -> String {
    let ended = |trial: &&TrialRecord| trial.started_unix_s * 1_000 + trial.surroundings.elapsed_ns / 1_000_000;
    let written_ms = trials.iter().map(ended).max();
    let mut document = Map::new();
    document.insert("fio version".to_owned(), json!(format!("loadline {}", record.header.version)));
    if let Some(ms) = written_ms {
        document.insert("timestamp".to_owned(), json!(ms / 1_000));
        document.insert("timestamp_ms".to_owned(), json!(ms));
    }
    document.insert("jobs".to_owned(), Value::Array(jobs(written_ms.unwrap_or(0))));
    let devices: Vec<Value> = devices(trials.iter().copied()).iter().map(device).collect();
    if !devices.is_empty() {
        document.insert("disk_util".to_owned(), Value::Array(devices));
    }
    let text = serde_json::to_string_pretty(&Value::Object(document)).expect("names are text");
    text + "\n"
}

/// One trial, in its own group, since trials run one after another.
fn job(
    record: &RunRecord,
    cell: &CellRecord,
    known: &CellSummary,
    trial: &TrialRecord,
    group: usize,
    written_ms: u64,
) -> Value {
    let several = record.cells.iter().any(|other| other.volume != cell.volume);
    let name = if several { format!("{}: {}", cell.volume, cell.label) } else { cell.label.clone() };
    let threads = u64::from(cell.load.figures().threads);
    let runtime_ms = (trial.measured_ns / 1_000_000).max(1);
    let target = record.header.volumes.iter().find(|volume| volume.name == cell.volume).map(FileOption::of_volume);
    let Options { options, beyond } = cell.load.spec().map_or_else(
        || Options { options: Map::new(), beyond: vec!["the load, which is none that a plan could say".to_owned()] },
        |spec| options::of_trial(spec, trial, target.as_ref()),
    );
    let mut job = Map::new();
    let mut put = |key: &str, value: Value| {
        job.insert(key.to_owned(), value);
    };
    put("jobname", json!(name));
    put("groupid", json!(group));
    put("error", json!(error(trial)));
    let began_ms = trial.started_unix_s * 1_000;
    put("elapsed", json!(written_ms.saturating_sub(began_ms) / 1_000));
    put("job options", Value::Object(options));
    let shown = |value: Value| if trial.has_only_means() { direction::without_extremes(value) } else { value };
    for operation in [Operation::Read, Operation::Write, Operation::Trim] {
        put(operation.name(), shown(direction::of(trial, operation, runtime_ms)));
    }
    if let Some(flushes) = trial.operations.get(&Operation::Flush) {
        put("sync", shown(direction::flushes(flushes)));
    }
    for (unit, bins) in direction::bins(trial) {
        put(unit, bins);
    }
    put("job_runtime", json!(runtime_ms * threads));
    let around = &trial.surroundings;
    let percent = |ns: u64| ns as f64 / 1e4 / (runtime_ms * threads) as f64;
    let is_measured = trial.model.is_none() && around.elapsed_ns > 0;
    if is_measured {
        put("usr_cpu", json!(percent(around.load_user_ns)));
        put("sys_cpu", json!(percent(around.load_system_ns)));
    }
    let failed: u64 = trial.errors.values().sum();
    if failed > 0 {
        put("total_err", json!(failed));
        put("first_error", json!(trial.errors.keys().next().map_or(0, |kind| errno(*kind))));
    }
    put("loadline", own(record, cell, known, trial, &beyond));
    Value::Object(job)
}

/// The figures that fio cannot express.
fn own(record: &RunRecord, cell: &CellRecord, known: &CellSummary, trial: &TrialRecord, beyond: &[String]) -> Value {
    let doubts: Vec<Value> =
        trial.doubts.iter().map(|doubt| json!({ "code": doubt.code.name(), "detail": doubt_detail(doubt) })).collect();
    let mut own = json!({
        "run": record.header.id,
        "clock": if trial.model.is_some() { "virtual" } else { "real" },
        "cell": cell.id,
        "volume": cell.volume,
        "trial": trial.trial,
        "engine": trial.engine.name,
        "started_unix_s": trial.started_unix_s,
        "warm_up_ns": trial.warm_up_ns,
        "offered_iops": trial.offered_iops,
        "missed": trial.offered_iops.map(|_| trial.missed),
        "binding": known.binding,
        "doubts": doubts,
        "not_in_options": beyond,
    });
    let how = match &trial.ending {
        Ending::Complete => None,
        Ending::Interrupted => Some("interrupted".to_owned()),
        Ending::Failed(why) | Ending::Hung(why) => Some(why.clone()),
    };
    if let Some(how) = how {
        own["ended"] = json!(how);
    }
    let steps: Vec<Value> =
        trial.steps.iter().map(|(name, step)| direction::step(name.name(), &step.record, trial.measured_ns)).collect();
    if !steps.is_empty() {
        own["steps"] = json!(steps);
    }
    own
}

/// The error that ended a trial, by Linux's number; 0 if none did.
fn error(trial: &TrialRecord) -> u32 {
    match trial.ending {
        Ending::Complete | Ending::Interrupted => 0,
        Ending::Hung(_) => errno(ErrorKind::TimedOut),
        Ending::Failed(_) => trial.errors.keys().next().map_or(errno(ErrorKind::Other), |kind| errno(*kind)),
    }
}

/// The number that Linux has for the plainest error of a kind.
const fn errno(kind: ErrorKind) -> u32 {
    match kind {
        ErrorKind::Io | ErrorKind::Short | ErrorKind::Other => 5,
        ErrorKind::NoSpace => 28,
        ErrorKind::Gone => 19,
        ErrorKind::TimedOut => 110,
        ErrorKind::Refused => 22,
        ErrorKind::Denied => 13,
    }
}

/// The devices' counters over all trials.
fn devices<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<(DeviceCounters, u64)> {
    let mut all: Vec<(DeviceCounters, u64)> = Vec::new();
    for trial in trials {
        let elapsed_ns = trial.surroundings.elapsed_ns;
        for of in &trial.surroundings.devices {
            let Some((sum, elapsed)) = all.iter_mut().find(|(sum, _)| sum.name == of.name) else {
                all.push((of.clone(), elapsed_ns));
                continue;
            };
            *elapsed += elapsed_ns;
            for (own, more) in [
                (&mut sum.reads, of.reads),
                (&mut sum.writes, of.writes),
                (&mut sum.reads_merged, of.reads_merged),
                (&mut sum.writes_merged, of.writes_merged),
                (&mut sum.read_bytes, of.read_bytes),
                (&mut sum.write_bytes, of.write_bytes),
                (&mut sum.read_ms, of.read_ms),
                (&mut sum.write_ms, of.write_ms),
                (&mut sum.busy_ms, of.busy_ms),
                (&mut sum.queue_ms, of.queue_ms),
            ] {
                *own += more;
            }
        }
    }
    all
}

/// fio counts a device's bytes in sectors of 512 bytes.
fn device((of, elapsed_ns): &(DeviceCounters, u64)) -> Value {
    let busy = of.busy_ms as f64 * 1e8 / (*elapsed_ns).max(1) as f64;
    json!({
        "name": of.name,
        "read_ios": of.reads,
        "write_ios": of.writes,
        "read_sectors": of.read_bytes / 512,
        "write_sectors": of.write_bytes / 512,
        "read_merges": of.reads_merged,
        "write_merges": of.writes_merged,
        "read_ticks": of.read_ms,
        "write_ticks": of.write_ms,
        "in_queue": of.queue_ms,
        "util": busy.min(100.0),
    })
}
