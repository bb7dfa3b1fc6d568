//! What a check after the fact finds: by the trial's record, and without one.

use crate::trials::{closed, engines, folder, open, run, short};
use loadline_engine::{
    Control, EngineChoice, EngineError, EngineOptions, Ground, Past, Volume, run_trial, verify_only,
};
use loadline_record::{TrialRecord, VerifyFaultKind, VerifyRecord};
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{Distribution, FlushCadence, FlushMethod, LoadSpec, Pattern};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::slice::from_ref;

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 256;
const SIZE: Bytes = Bytes::new(BLOCK * BLOCKS);

/// Writes every block once, or fewer with a smaller volume.
fn once(pattern: Pattern, queue_depth: u32) -> LoadSpec {
    LoadSpec {
        pattern,
        verify: true,
        reads: Ratio::ZERO,
        arrival: closed(queue_depth),
        volume: Some(SIZE),
        warm_up: Duration::ZERO,
        duration: Duration::from_s(60),
        ..short()
    }
}

/// The volume's file, opened once more, past direct I/O.
fn behind(volume: &Volume) -> File {
    let path = format!("/proc/self/fd/{}", volume.files[0].as_raw_fd());
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

fn sequential() -> Pattern {
    Pattern::Sequential { stride: None }
}

fn check(volume: &Volume, spec: &LoadSpec, past: &Past<'_>) -> VerifyRecord {
    verify_only(volume, spec, 0, 1, past, &Control::new()).unwrap().unwrap()
}

fn by_record(volume: &Volume, spec: &LoadSpec, trial: &TrialRecord) -> VerifyRecord {
    let streams = &trial.verify.as_ref().unwrap().streams;
    assert_eq!(streams.len(), spec.threads as usize);
    check(volume, spec, &Past { streams, ..Past::default() })
}

fn zero(file: &File, blocks: std::ops::Range<u64>) {
    file.write_all_at(&vec![0; ((blocks.end - blocks.start) * BLOCK) as usize], blocks.start * BLOCK).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn acknowledged_writes_that_are_lost_at_the_end_are_each_a_fault() {
    let folder = folder();
    let flush = Some(FlushCadence { every: 1, how: FlushMethod::Fdatasync });
    for engine in engines() {
        let mut volume = open(folder.path(), SIZE);
        let spec = LoadSpec { flush, ..once(sequential(), 1) };
        let trial = run(&mut volume, &spec, engine);
        let stream = &trial.verify.as_ref().unwrap().streams[0];
        assert_eq!((u64::from(stream.issued), stream.acknowledged), (BLOCKS, stream.issued), "{engine:?}");
        assert_eq!(stream.durable, stream.acknowledged, "{engine:?}");
        zero(&behind(&volume), BLOCKS / 2..BLOCKS);
        let found = by_record(&volume, &spec, &trial);
        assert_eq!((found.blocks_checked, found.blocks_unwritten, found.blocks_unknown), (BLOCKS, 0, 0), "{engine:?}");
        assert_eq!(found.faults_total, BLOCKS / 2, "{engine:?}");
        assert!(found.faults.iter().all(|fault| fault.kind == VerifyFaultKind::Lost), "{:?}", found.faults);
        // All of it.
        zero(&behind(&volume), 0..BLOCKS);
        assert_eq!(by_record(&volume, &spec, &trial).faults_total, BLOCKS, "{engine:?}");
    }
}

#[test]
fn every_block_that_was_written_is_checked_at_any_depth() {
    let folder = folder();
    for engine in engines() {
        let mut volume = open(folder.path(), SIZE);
        let spec = LoadSpec { threads: 2, ..once(Pattern::Random(Distribution::Permutation), 64) };
        let trial = run(&mut volume, &spec, engine);
        let written: u64 =
            trial.verify.as_ref().unwrap().streams.iter().map(|stream| u64::from(stream.acknowledged)).sum();
        assert_eq!(written, BLOCKS, "{engine:?}");
        let found = by_record(&volume, &spec, &trial);
        assert_eq!((found.faults_total, found.blocks_unknown), (0, 0), "{engine:?}: {:?}", found.faults);
        assert_eq!(found.blocks_checked, trial.verify.as_ref().unwrap().blocks_checked, "{engine:?}");
        // Also without a record: what is there is judged.
        let inferred = check(&volume, &spec, &Past::default());
        assert_eq!((inferred.faults_total, inferred.blocks_checked), (0, found.blocks_checked), "{engine:?}");
    }
}

#[test]
fn blocks_that_were_never_written_are_told_from_those_that_may_have_been_lost() {
    let folder = folder();
    let mut volume = open(folder.path(), SIZE);
    let spec = LoadSpec { volume: Some(Bytes::new(BLOCK * BLOCKS / 2)), ..once(sequential(), 4) };
    let trial = run(&mut volume, &spec, EngineChoice::Auto);
    let found = by_record(&volume, &spec, &trial);
    assert_eq!((found.blocks_checked, found.blocks_unwritten, found.blocks_unknown), (BLOCKS / 2, BLOCKS / 2, 0));
    let inferred = check(&volume, &spec, &Past::default());
    assert_eq!((inferred.blocks_checked, inferred.blocks_unwritten), (BLOCKS / 2, 0));
    assert_eq!((inferred.blocks_unknown, inferred.faults_total), (BLOCKS / 2, 0));
}

#[test]
fn what_carries_a_mark_is_judged_wherever_it_stands() {
    let folder = folder();
    for recorded in [true, false] {
        let mut volume = open(folder.path(), SIZE);
        // Without a record no write is certain: all of them fit into the window.
        let spec = LoadSpec { volume: Some(Bytes::new(BLOCK * BLOCKS / 4)), ..once(sequential(), 64) };
        let trial = run(&mut volume, &spec, EngineChoice::Auto);
        let file = behind(&volume);
        let mut block = vec![0; BLOCK as usize];
        file.read_exact_at(&mut block, 3 * BLOCK).unwrap();
        file.write_all_at(&block, 200 * BLOCK).unwrap();
        block[1_000] ^= 0xff;
        file.write_all_at(&block, 3 * BLOCK).unwrap();
        file.sync_all().unwrap();
        let found = if recorded { by_record(&volume, &spec, &trial) } else { check(&volume, &spec, &Past::default()) };
        let kinds: Vec<(u64, VerifyFaultKind)> = found.faults.iter().map(|f| (f.offset / BLOCK, f.kind)).collect();
        assert_eq!(kinds, [(3, VerifyFaultKind::Corrupt), (200, VerifyFaultKind::Misplaced)], "{recorded}");
    }
}

#[test]
fn what_a_later_load_wrote_over_is_no_fault_and_a_rotten_block_still_is() {
    let folder = folder();
    let mut volume = open(folder.path(), SIZE);
    let spec = once(sequential(), 4);
    let trial = run(&mut volume, &spec, EngineChoice::Auto);
    let file = behind(&volume);
    zero(&file, 0..BLOCKS / 2);
    let mut block = vec![0; BLOCK as usize];
    file.read_exact_at(&mut block, 200 * BLOCK).unwrap();
    block[1_000] ^= 0xff;
    file.write_all_at(&block, 200 * BLOCK).unwrap();
    file.sync_all().unwrap();
    let streams = &trial.verify.as_ref().unwrap().streams;
    let everywhere = 0..u64::MAX;
    let past = Past { streams, overwritten: from_ref(&everywhere), ..Past::default() };
    let found = check(&volume, &spec, &past);
    assert_eq!((found.blocks_unknown, found.blocks_checked, found.faults_total), (BLOCKS / 2, BLOCKS / 2, 1));
}

#[test]
fn each_part_of_a_trial_is_judged_by_what_came_after_it_there() {
    let folder = folder();
    let mut volume = open(folder.path(), SIZE);
    // The last quarter is never written.
    let spec = LoadSpec { volume: Some(Bytes::new(BLOCK * BLOCKS / 4 * 3)), ..once(sequential(), 4) };
    let trial = run(&mut volume, &spec, EngineChoice::Auto);
    zero(&behind(&volume), 0..BLOCKS);
    let streams = &trial.verify.as_ref().unwrap().streams;
    let quarter = BLOCKS / 4;
    let quarters = |from: u64, to: u64| from * quarter * BLOCK..to * quarter * BLOCK;
    // What a later load wrote over with `verify` is not looked at, what another did may be missing, and all else is a fault.
    let (left_out, overwritten) = (quarters(0, 1), quarters(1, 2));
    let past = Past { streams, overwritten: from_ref(&overwritten), left_out: from_ref(&left_out), ..Past::default() };
    let found = check(&volume, &spec, &past);
    let counts = (found.blocks_checked, found.faults_total, found.blocks_unknown, found.blocks_unwritten);
    assert_eq!(counts, (quarter, quarter, quarter, quarter));
    // A block that is written over in part is written over, and what was never written is missing from nothing.
    let written = 0..quarters(0, 3).end - 1;
    let past = Past { streams, overwritten: from_ref(&written), ..Past::default() };
    let found = check(&volume, &spec, &past);
    let counts = (found.blocks_checked, found.blocks_unknown, found.blocks_unwritten);
    assert_eq!(counts, (0, 3 * quarter, quarter));
    let ground = Ground::of(&volume, &spec);
    assert_eq!((ground.part.clone(), ground.blocks_outside(&[])), (0..SIZE.get(), BLOCKS));
    assert_eq!(ground.blocks_outside(from_ref(&(1..BLOCK + 1))), BLOCKS - 2);
}

#[test]
fn what_is_left_of_a_trial_tells_that_it_was_not_written_anew() {
    let folder = folder();
    let mut volume = open(folder.path(), SIZE);
    let spec = once(sequential(), 4);
    let trial = run(&mut volume, &spec, EngineChoice::Auto);
    let streams = &trial.verify.as_ref().unwrap().streams;
    let past = Past { streams, replaced: true, ..Past::default() };
    for (lost, expected) in [(0, (0, 0)), (BLOCKS - 1, (BLOCKS - 1, 0)), (BLOCKS, (0, BLOCKS))] {
        zero(&behind(&volume), 0..lost);
        let found = check(&volume, &spec, &past);
        assert_eq!((found.faults_total, found.blocks_unknown), expected, "{lost} lost");
    }
}

#[test]
fn a_load_to_be_verified_is_refused_on_the_null_target() {
    let mut volume = open(std::path::Path::new("null"), SIZE);
    let spec = once(sequential(), 1);
    let refused = run_trial(&mut volume, &spec, 0, 1, EngineOptions::default(), &Control::new());
    assert!(matches!(refused, Err(EngineError::KeepsNothing { .. })), "{refused:?}");
    let refused = verify_only(&volume, &spec, 0, 1, &Past::default(), &Control::new());
    assert!(matches!(refused, Err(EngineError::KeepsNothing { .. })), "{refused:?}");
}
