//! A recorded load asked of a real file again, under the rules of safety.

use crate::folder;
use loadline_block::Operation;
use loadline_emulation::replay::Dependence;
use loadline_emulation::{
    RecordedRequest, RecordingNotes, Trace, encode_block, encode_recording_end, encode_recording_head,
};
use loadline_engine::{Access, EngineOptions};
use loadline_record::{Clock, DoubtEvidence, RunVerb};
use loadline_runs::{Error, NamedTarget, RunOptions, RunOutcome, Silent, StorageReplay, StorageReplaySettings};
use loadline_units::{Duration, Instant};
use std::fs;
use std::path::Path;

/// 300 requests a millisecond apart, every third a write, over one MiB.
fn trace(missing: u64) -> Trace {
    let requests: Vec<RecordedRequest> = (0..300)
        .map(|number| {
            let arrived_at = Instant::ZERO + Duration::from_ms(number);
            RecordedRequest {
                arrived_at,
                issued_at: arrived_at,
                completed_at: arrived_at + Duration::from_us(100),
                error: None,
                operation: if number % 3 == 0 { Operation::Write } else { Operation::Read },
                durable: false,
                offset: number * 7 % 256 * 4_096,
                length: 4_096,
                export: 0,
                client: 0,
            }
        })
        .collect();
    let notes = RecordingNotes { requests: 300, counted: Some(300 + missing), ..RecordingNotes::default() };
    let mut bytes = encode_recording_head("{}", ["sda"].into_iter());
    bytes.extend(encode_block(&requests));
    bytes.extend(encode_recording_end(&notes));
    Trace::read(&bytes[..]).unwrap()
}

fn settings(target: &Path, dependence: Dependence) -> StorageReplaySettings {
    StorageReplaySettings {
        file: "app.trace".into(),
        targets: vec![NamedTarget { volume: "data".into(), target: target.display().to_string() }],
        dependence,
        speed: 10.0,
        reads_only: false,
        access: Access::default(),
        engine: EngineOptions::default(),
    }
}

fn replayed(trace: Trace, settings: StorageReplaySettings, store: &Path) -> Result<RunOutcome, Error> {
    let observer = &mut Silent::default();
    StorageReplay::prepare(trace, settings, RunOptions::default().stored_in(store), observer)?.run(observer)
}

#[test]
fn every_recorded_request_is_asked_again_whatever_makes_it_come() {
    let folder = folder();
    let (target, store) = (folder.path().join("target"), folder.path().join("runs.db"));
    fs::create_dir(&target).unwrap();
    for dependence in [Dependence::Time, Dependence::Answers, Dependence::Haste] {
        let outcome = replayed(trace(0), settings(&target, dependence), &store).unwrap();
        let header = &outcome.record.header;
        assert_eq!((&header.verb, header.clock), (&RunVerb::Replay, Clock::Real));
        let trial = &outcome.record.cells[0].trials[0];
        let count = |operation| trial.of(operation).map(|of| (of.count, of.errors));
        assert_eq!(count(Operation::Read), Some((200, 0)), "{dependence:?}: {:?}", trial.error_samples);
        assert_eq!(count(Operation::Write), Some((100, 0)), "{dependence:?}: {:?}", trial.error_samples);
        assert_eq!(trial.offered_iops.is_some(), dependence == Dependence::Time);
        assert!(trial.of(Operation::Read).unwrap().waiting.is_some(), "latency has its parts");
    }
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "test files are removed");
}

#[test]
fn what_writes_needs_permission_and_reads_alone_do_not() {
    let folder = folder();
    let (target, store) = (folder.path().join("data.bin"), folder.path().join("runs.db"));
    let before = vec![7; 2 << 20];
    fs::write(&target, &before).unwrap();
    let error = replayed(trace(0), settings(&target, Dependence::Time), &store).unwrap_err();
    assert!(matches!(error, Error::Target(_)), "{error}");
    let reads_only = StorageReplaySettings {
        reads_only: true,
        access: Access { read_only: true, ..Access::default() },
        ..settings(&target, Dependence::Time)
    };
    let outcome = replayed(trace(3), reads_only, &store).unwrap();
    let trial = &outcome.record.cells[0].trials[0];
    assert_eq!(trial.of(Operation::Read).map(|of| of.count), Some(200));
    assert!(trial.of(Operation::Write).is_none());
    assert_eq!(fs::read(&target).unwrap(), before);
    // The recording lacks three requests.
    let lossy = DoubtEvidence::RecordingNotWhole { requests_missing: 3, requests: 303, events_lost: 0 };
    assert!(trial.doubts.iter().any(|doubt| doubt.seen == lossy), "{:?}", trial.doubts);
    let overwrite = vec![target.display().to_string()];
    let allowed = StorageReplaySettings {
        access: Access { overwrite, ..Access::default() },
        ..settings(&target, Dependence::Time)
    };
    replayed(trace(0), allowed, &store).unwrap();
    assert_ne!(fs::read(&target).unwrap(), before);
}
