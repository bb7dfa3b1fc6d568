//! Loads and volumes for tests that run trials.

use loadline_engine::{Access, Control, EngineChoice, EngineOptions, Need, Volume, capabilities, run_trial};
use loadline_record::TrialRecord;
use loadline_units::{Bytes, Duration};
use loadline_workload::{Arrival, LoadSpec};
use std::path::Path;

/// A folder on whatever the build folder lies on: a real file system, not memory.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A test file of this size in a folder, or the null target.
pub(crate) fn open(target: &Path, size: Bytes) -> Volume {
    let need = Need { size: Some(size), files: 1, writes: true, ..Need::default() };
    Volume::open("data", target.to_str().unwrap(), &need, &Access::default()).unwrap()
}

/// A file or device that exists, handed over for writing.
pub(crate) fn take_over(target: &str) -> Volume {
    let need = Need { files: 1, writes: true, ..Need::default() };
    let access = Access { overwrite: vec![target.to_owned()], ..Access::default() };
    Volume::open("data", target, &need, &access).unwrap()
}

/// Short. A request of a busy machine may take seconds, and hangs no trial.
pub(crate) fn short() -> LoadSpec {
    let (warm_up, duration) = (Duration::from_ms(50), Duration::from_ms(300));
    LoadSpec { warm_up, duration, hang_limit: Duration::from_s(60), ..LoadSpec::default() }
}

pub(crate) fn closed(queue_depth: u32) -> Arrival {
    Arrival::Closed { queue_depth, rate_max: None, think_time: Duration::ZERO }
}

pub(crate) fn run_seeded(volume: &mut Volume, spec: &LoadSpec, engine: EngineChoice, seed: u64) -> TrialRecord {
    let options = EngineOptions { engine, ..EngineOptions::default() };
    run_trial(volume, spec, 0, seed, options, &Control::new()).unwrap()
}

pub(crate) fn run(volume: &mut Volume, spec: &LoadSpec, engine: EngineChoice) -> TrialRecord {
    run_seeded(volume, spec, engine, 1)
}

/// The engines to test, less those that this machine forbids.
pub(crate) fn engines() -> Vec<EngineChoice> {
    let can = capabilities();
    let mut engines = vec![EngineChoice::Threads];
    match can.io_uring {
        Ok(()) => engines.push(EngineChoice::IoUring),
        Err(reason) => println!("skipped: io_uring ({reason})"),
    }
    match can.aio {
        Ok(()) => engines.push(EngineChoice::Aio),
        Err(reason) => println!("skipped: Linux AIO ({reason})"),
    }
    engines
}
