//! Conducts a trial: prepares the load threads, sets the times, watches, and gathers what was measured.

mod conductor;
mod filling;
mod heartbeat;
mod hybrid_poll;
mod lane;
mod ledger;
mod load_threads;
mod recorded;
mod timed_sleep;
mod turns;
mod verify_pass;
mod waiting;
mod workers;
mod write_back;

use crate::backend::Trims;
use crate::choose;
use crate::control::Control;
use crate::error::EngineError;
use crate::nbd::NbdExport;
use crate::surroundings::Observation;
use crate::target::Volume;
use conductor::{Outcome, conduct};
use loadline_block::Operation;
use loadline_kernel::clock;
use loadline_kernel::facts::CacheScope;
use loadline_record::EngineOptions;
use loadline_record::{AskedBeside, Ending, MachineCpu, Stops, Surroundings, TrialRecord};
use loadline_units::{Bytes, Duration, Instant};
use loadline_workload::{GroupEnd, LoadSpec, Region};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use verify_pass::Kept;

pub use filling::{FillReport, Filling, fill};
pub use recorded::{RECORDED_LENGTH_MAX, RecordedAnswer, RecordedIo, RecordedRun, RecordedSource, replay_recorded};
pub use verify_pass::{Ground, verify_only};
pub use write_back::{Settled, settle};

/// How long the conductor sleeps at a time: it learns of stops of the tool by sleeping longer than it wanted.
const CONDUCTOR_SLEEP: Duration = Duration::from_ms(10);
/// How often the conductor looks.
const LOOK: Duration = Duration::from_ms(100);
/// A load thread that was given this long beyond the hang limit, and since the tool last stood still, and is not back is left
/// behind.
const HANG_GRACE: Duration = Duration::from_ms(500);

/// The files of a trial; load threads hold them as long as they need.
#[derive(Debug)]
struct TrialFiles {
    files: Vec<File>,
    file_size: Bytes,
    trims: Trims,
    /// They are read and written past the page cache.
    direct: bool,
    /// In place of files.
    export: Option<Arc<NbdExport>>,
}

/// Where `spec` puts its requests on `volume`.
fn region_of(volume: &Volume, spec: &LoadSpec) -> Region {
    let files = volume.parts();
    let room = volume.file_size.saturating_sub(spec.start);
    let wanted = Bytes::new(spec.size_in(room * u64::from(files)).get() / u64::from(files));
    Region { files, file_size: volume.file_size, start: spec.start, size: wanted.min(room) }
}

/// Takes off what the machine's CPUs were busy with for `awake` of `elapsed`, on one of them at a time: load threads that wait awake give
/// way to threads that need the processor.
fn leave_out_waiting(machine: &mut MachineCpu, awake: Duration, elapsed: Duration) {
    let all = elapsed.as_s_f64() * f64::from(machine.cpus);
    if all > 0.0 {
        machine.busy = (machine.busy - awake.as_s_f64() / all).max(0.0);
    }
}

/// A load that is to be put on a volume.
#[derive(Debug, Clone, Copy)]
pub struct LoadOnVolume<'a> {
    /// The volume.
    pub volume: &'a Volume,
    /// The load.
    pub spec: &'a LoadSpec,
    /// Decides every random choice together with the trial's number.
    pub seed: u64,
    /// The way to the device.
    pub options: EngineOptions,
}

/// Puts `spec` on `volume` once.
///
/// The seed decides every random choice together with the trial's number. Doubts are left to the analysis.
///
/// # Errors
/// When the trial cannot be started. What goes wrong later is in the record: `ending`, `errors`.
pub fn run_trial(
    volume: &mut Volume,
    spec: &LoadSpec,
    trial: u32,
    seed: u64,
    options: EngineOptions,
    control: &Control,
) -> Result<TrialRecord, EngineError> {
    let load = LoadOnVolume { volume, spec, seed, options };
    let mut records = run_together(&[load], GroupEnd::Each, trial, control)?;
    Ok(records.pop().expect("a record for the load"))
}

/// Puts loads on their volumes at the same time, and gives a record for each in their order. A load begins after its pause; the pause
/// that all share comes before what is noted around the trial.
///
/// # Errors
/// When one of them cannot be started: then none is. What goes wrong later is in the records.
pub fn run_together(
    loads: &[LoadOnVolume<'_>],
    ends: GroupEnd,
    trial: u32,
    control: &Control,
) -> Result<Vec<TrialRecord>, EngineError> {
    for load in loads {
        load.spec.check()?;
        check_access(load.volume, load.spec)?;
    }
    rest(loads.iter().map(|load| load.spec.pause).min().unwrap_or_default(), control);
    let dropped: Vec<Option<String>> = (loads.iter())
        .map(|load| load.spec.drop_caches.then(|| load.volume.drop_caches(CacheScope::Machine)))
        .collect();
    let mut observed: Vec<(&Volume, Observation)> = Vec::new();
    for load in loads {
        if !observed.iter().any(|(volume, _)| std::ptr::eq(*volume, load.volume)) {
            observed.push((load.volume, Observation::begin(load.volume)));
        }
    }
    let started_unix_s = clock::wall_s();
    let seeded: Vec<LoadOnVolume<'_>> =
        loads.iter().map(|load| LoadOnVolume { seed: trial_seed(load.seed, trial), ..*load }).collect();
    let mut outcomes = conduct(&seeded, ends, control, None)?;
    for (load, outcome) in loads.iter().zip(&mut outcomes) {
        if load.spec.end_flush && outcome.ending == Ending::Complete {
            flush_at_end(load, outcome, control);
        }
    }
    let seen: Vec<(&Volume, Surroundings)> =
        observed.into_iter().rev().map(|(volume, observation)| (volume, observation.end(volume))).collect();
    let awake = outcomes.iter().map(|outcome| outcome.ledger.book().awake).sum();
    let asked: Vec<BTreeMap<Operation, (u64, u64)>> =
        outcomes.iter().map(|outcome| outcome.ledger.book().asked.clone()).collect();
    let mut records = Vec::new();
    for (place, (load, outcome)) in loads.iter().zip(outcomes).enumerate() {
        let around = seen.iter().find(|(volume, _)| std::ptr::eq(*volume, load.volume));
        let mut surroundings = around.map(|(_, around)| around.clone()).unwrap_or_default();
        surroundings.caches_dropped.clone_from(&dropped[place]);
        surroundings.beside = beside(loads, &asked, place);
        records.push(record(load, trial, started_unix_s, outcome, surroundings, awake, control));
    }
    Ok(records)
}

/// Makes what a load wrote durable, and counts the time that takes as its own: only then is its work done.
fn flush_at_end(load: &LoadOnVolume<'_>, outcome: &mut Outcome, control: &Control) {
    let begun_at = clock::now();
    let is_durable = verify_pass::make_durable(load.volume, load.spec.hang_limit, control);
    let took = clock::now().since(begun_at);
    if is_durable {
        outcome.flushed = took;
        outcome.ledger.book().flushed(took);
    } else if control.stopped() {
        outcome.ending = Ending::Interrupted;
    } else {
        let detail = format!("the flush at the end was not confirmed within {}", took.human());
        outcome.ledger.book().timed_out(Some(Operation::Flush), detail.clone());
        outcome.ending = if took >= load.spec.hang_limit { Ending::Hung(detail) } else { Ending::Failed(detail) };
    }
}

/// What the other loads asked of the devices of one.
fn beside(loads: &[LoadOnVolume<'_>], asked: &[BTreeMap<Operation, (u64, u64)>], own: usize) -> Option<AskedBeside> {
    let volume = loads[own].volume;
    let shares = |other: &&usize| {
        let other = loads[**other].volume;
        std::ptr::eq(volume, other) || volume.holding.counted.iter().any(|name| other.holding.counted.contains(name))
    };
    let others: Vec<usize> = (0..loads.len()).filter(|place| *place != own).collect();
    let sharing: Vec<usize> = others.iter().filter(shares).copied().collect();
    let mut found = AskedBeside::default();
    for place in &sharing {
        found.buffered |= loads[*place].spec.buffered;
        for (operation, (requests, bytes)) in &asked[*place] {
            let sum = found.asked.entry(*operation).or_default();
            *sum = (sum.0 + requests, sum.1 + bytes);
        }
    }
    (!sharing.is_empty()).then_some(found)
}

/// The record of a load that has ended: with `verify`, what it wrote is read back now.
fn record(
    load: &LoadOnVolume<'_>,
    trial: u32,
    started_unix_s: u64,
    outcome: Outcome,
    mut surroundings: Surroundings,
    awake: Duration,
    control: &Control,
) -> TrialRecord {
    let LoadOnVolume { volume, spec, .. } = *load;
    let (mut verify, mut ending) = (None, outcome.ending);
    if let Some(ledger) = &outcome.verify_ledger
        && !matches!(ending, Ending::Hung(_))
    {
        let mut record = outcome.verify.clone();
        record.streams = ledger.written();
        let any = record.streams.iter().any(|stream| stream.issued > 0);
        if any && verify_pass::make_durable(volume, spec.hang_limit, control) {
            record.streams.iter_mut().for_each(|stream| stream.durable = stream.acknowledged);
        }
        match verify_pass::read_all(volume, ledger, spec.hang_limit, control, &mut record) {
            Some(Kept::Hung(detail)) => {
                outcome.ledger.book().timed_out(None, detail.clone());
                ending = Ending::Hung(detail);
            }
            Some(Kept::Away(error)) if ending == Ending::Complete => ending = Ending::Failed(error.to_string()),
            // The cause that ended the load is reported already.
            Some(Kept::Away(_)) | None => {}
        }
        verify = Some(record);
    }
    let mut book = outcome.ledger.book();
    let (operations, series) = book.finish(outcome.measured, spec.has_due_times());
    // The observation knows what quotas held back.
    let throttled_ns = surroundings.stops.and_then(|stops| stops.throttled_ns);
    surroundings.stops = Some(Stops { throttled_ns, ..outcome.stops.record() });
    surroundings.threads = std::mem::take(&mut book.threads);
    surroundings.turns = std::mem::take(&mut book.turns);
    surroundings.load_user_ns = book.load_user.as_ns();
    surroundings.load_system_ns = book.load_system.as_ns();
    if let Some(machine) = &mut surroundings.machine {
        leave_out_waiting(machine, awake, Duration::from_ns(surroundings.elapsed_ns));
    }
    surroundings.asked = std::mem::take(&mut book.asked);
    let mut engine = outcome.engine;
    engine.options = std::mem::take(&mut book.in_force);
    let offered =
        spec.offered().map(|_| book.offered as f64 / (outcome.measured + outcome.flushed).as_s_f64().max(1e-9));
    TrialRecord {
        warm_up_ns: outcome.warm_up.as_ns(),
        measured_ns: (outcome.measured + outcome.flushed).as_ns(),
        measured_from_unix_ns: Some(clock::wall_ns().saturating_sub(clock::now().since(outcome.measured_from).as_ns())),
        operations,
        offered_iops: offered,
        missed: book.missed,
        series,
        errors: std::mem::take(&mut book.errors),
        error_samples: std::mem::take(&mut book.error_samples),
        surroundings,
        steady_state: outcome.steady_state,
        verify,
        ending,
        ..TrialRecord::empty(trial, started_unix_s, engine)
    }
}

/// Whether `spec` can be put on `volume` with these options at all, found out without one request of it: what follows from
/// the load, the volume and the machine alone. Of an export the connections that the load takes are made, and kept.
///
/// # Errors
/// What [`run_trial`] would refuse the load with, every time.
pub fn check(volume: &Volume, spec: &LoadSpec, options: EngineOptions) -> Result<(), EngineError> {
    spec.check()?;
    check_access(volume, spec)?;
    let (engine, _) = choose::choose(volume, spec, options)?;
    let (region, room) = (region_of(volume, spec), device_room(volume, spec));
    load_threads::fitting_slots(engine, spec, &region, room, &volume.facts.name).map(drop)
}

/// The seed of one trial of a run.
fn trial_seed(seed: u64, trial: u32) -> u64 {
    seed ^ (u64::from(trial) + 1).wrapping_mul(0xd134_2543_de82_ef95)
}

/// Whether the volume keeps what a load with `verify` writes.
fn check_keeps(volume: &Volume, spec: &LoadSpec) -> Result<(), EngineError> {
    if spec.verify && volume.parts_kept() == 0 {
        return Err(EngineError::KeepsNothing { volume: volume.facts.name.clone() });
    }
    Ok(())
}

fn check_access(volume: &Volume, spec: &LoadSpec) -> Result<(), EngineError> {
    check_keeps(volume, spec)?;
    let name = || volume.facts.name.clone();
    if volume.parts_kept() == 0 {
        return Ok(());
    }
    if spec.writes_any() && !volume.writable {
        return Err(EngineError::ReadOnly { volume: name(), load: spec.to_string() });
    }
    if let Some(export) = volume.export() {
        export.check(spec, &volume.facts.name)?;
    }
    let logical_block = volume.alignment().offset;
    if volume.facts.direct && !spec.buffered {
        let odd = [spec.block_min(), spec.alignment(), spec.start]
            .into_iter()
            .chain(spec.blocks.iter().map(|b| b.size))
            .find(|size| !size.get().is_multiple_of(logical_block.get()));
        if let Some(asked) = odd {
            return Err(EngineError::Alignment { volume: name(), logical_block, asked });
        }
    }
    Ok(())
}

/// Refuses a load that writes on a volume that may not be written to.
fn check_writes(volume: &Volume, writes: bool, load: &str) -> Result<(), EngineError> {
    if writes && volume.parts_kept() > 0 && !volume.writable {
        return Err(EngineError::ReadOnly { volume: volume.facts.name.clone(), load: load.to_owned() });
    }
    Ok(())
}

/// Switches direct I/O on or off for an open file, so that one volume serves direct and buffered loads in turn.
fn set_direct(file: &File, direct: bool) -> std::io::Result<()> {
    // SAFETY: F_GETFL takes and gives numbers only.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let wanted = if direct { flags | libc::O_DIRECT } else { flags & !libc::O_DIRECT };
    // SAFETY: F_SETFL takes numbers only.
    if wanted != flags && unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, wanted) } < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// Requests that the devices below a volume hold at once.
fn device_room(volume: &Volume, spec: &LoadSpec) -> Option<u64> {
    if spec.buffered || !volume.facts.direct || volume.facts.devices.is_empty() {
        return None;
    }
    volume.facts.devices.iter().map(|device| device.queue_requests).sum()
}

/// Waits until an instant of the monotonic clock, unless the user stops it. Returns whether the instant came.
pub fn wait_until(until: Instant, control: &Control) -> bool {
    rest(until.since(clock::now()), control);
    !control.stopped()
}

/// Waits, unless the user stops it.
fn rest(span: Duration, control: &Control) {
    let until = clock::now() + span;
    while clock::now() < until && !control.stopped() {
        std::thread::sleep(LOOK.min(until.since(clock::now())).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_awake_keeps_no_processor_from_others() {
        let seen = MachineCpu { busy: 0.9, iowait: 0.05, steal: 0.01, cpus: 4 };
        let mut machine = seen;
        leave_out_waiting(&mut machine, Duration::from_ms(1_500), Duration::from_s(1));
        assert!((machine.busy - 0.525).abs() < 1e-12, "{machine:?}");
        assert_eq!(MachineCpu { busy: seen.busy, ..machine }, seen);
        leave_out_waiting(&mut machine, Duration::from_s(9), Duration::from_s(1));
        assert!(machine.busy.abs() < 1e-12, "{machine:?}");
        let mut machine = seen;
        leave_out_waiting(&mut machine, Duration::from_s(1), Duration::ZERO);
        assert_eq!(machine, seen);
    }
}
