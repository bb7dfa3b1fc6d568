//! Reads a volume back after a verified load, at once or after a crash.

use super::{plumbing, region_of, trial_seed};
use crate::buffers;
use crate::control::{Control, Phase, Progress};
use crate::error::EngineError;
use crate::target::Volume;
use crate::verify;
use loadline_record::VerifyRecord;
use loadline_units::{Bytes, Instant};
use loadline_workload::{LoadGenerator, LoadSpec};
use std::os::unix::fs::FileExt;

/// Checks what stands on `volume` against trial number `trial` of `spec`, run with `seed`: the trial may have been cut off
/// at any moment, also by a crash of the machine. `None` when nothing on the volume is of that trial.
///
/// Takes memory in proportion to the number of blocks.
///
/// # Errors
/// When the volume cannot hold the load, so that it cannot have been run there.
pub fn verify_only(
    volume: &Volume,
    spec: &LoadSpec,
    trial: u32,
    seed: u64,
    control: &Control,
) -> Result<Option<VerifyRecord>, EngineError> {
    spec.check()?;
    let seed = trial_seed(seed, trial);
    let region = region_of(volume, spec);
    let mut streams = (0..spec.threads)
        .map(|thread| LoadGenerator::new(spec, &region, thread, seed, Instant::ZERO))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| EngineError::Region { volume: volume.facts.name.clone(), source })?;
    let block = spec.block_max().get();
    let ledger = verify::Ledger::new(seed, block, region);
    let mut afterwards = verify::Afterwards::new(seed, block);
    let offsets: Vec<u64> = ledger.offsets().collect();
    let all = each_block(volume, &offsets, block, control, |offset, bytes| afterwards.observe(offset, bytes))?;
    if !all {
        return Ok(None);
    }
    Ok(afterwards.judge(&mut streams, plumbing::slots(spec)))
}

/// Reads every block that was written and checks it.
pub(super) fn read_all(volume: &Volume, ledger: &verify::Ledger, control: &Control, record: &mut VerifyRecord) {
    let offsets: Vec<u64> = ledger.offsets().collect();
    let mut found = VerifyRecord::default();
    let block = ledger.block();
    let result = each_block(volume, &offsets, block, control, |offset, bytes| match bytes {
        Ok(bytes) => ledger.check(offset, bytes, &mut found),
        Err(detail) => ledger.unreadable(offset, detail, &mut found),
    });
    if let Err(error) = result {
        ledger.unreadable(0, error.to_string(), &mut found);
    }
    record.blocks_checked = found.blocks_checked;
    record.blocks_unwritten = found.blocks_unwritten;
    record.faults_total += found.faults_total;
    record.faults.extend(found.faults);
}

/// Reads block by block; whether all were read (otherwise the user stopped it).
fn each_block(
    volume: &Volume,
    offsets: &[u64],
    block: u64,
    control: &Control,
    mut each: impl FnMut(u64, Result<&[u8], String>),
) -> Result<bool, EngineError> {
    let mut memory = buffers::Region::for_reading(block as usize)?;
    let started = crate::clock::now();
    for (number, &offset) in offsets.iter().enumerate() {
        if number % 256 == 0 {
            if control.stopped() {
                return Ok(false);
            }
            control.report(Progress {
                phase: Phase::Verifying,
                elapsed: crate::clock::now().since(started),
                done: Some(number as f64 / offsets.len() as f64),
                ..Progress::default()
            });
        }
        let (file, within) = (offset / volume.file_size.get(), offset % volume.file_size.get());
        let bytes = memory.bytes_mut(block as usize);
        match volume.files[file as usize].read_exact_at(bytes, within) {
            Ok(()) => each(offset, Ok(bytes)),
            Err(error) => each(offset, Err(format!("reading {} back: {error}", Bytes::new(block)))),
        }
    }
    Ok(true)
}
