//! Traces of emulated disks and their replay: slices, cut-off traces, smaller disks, and traces that nobody recorded.

use crate::support::devices::wait_until;
use crate::support::emulated::Emulated;
use crate::support::nbd_client::{PAIR, READ, TRIM, WRITE, ask, requests};
use crate::support::{Bench, cells, doubts, environment, schema_errors, summary, words};
use loadline_disk::BurstCredits;
use loadline_emulation::Trace;
use loadline_emulation::replay::Dependence;
use loadline_record::{Clock, DoubtCode, DoubtEvidence, RunRecord};
use loadline_runs::replay_run::{ReplayOptions, ReplayRun};
use loadline_runs::{Error, ReplayError};
use serde_json::Value as Json;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

/// A stripe, on which long requests go to the model in slices of 1 GiB.
const FINE: &str = r#"
schema = 1
name = "fine"
[volume.data]
layout = { stripe = { columns = 2, interleave = "64 KiB" } }
[[volume.data.disks]]
size = "4 GiB"
count = 2
[volume.data.disks.limit]
iops = "100000 IOPS"
"#;

/// What a trace comes to on an environment.
fn replayed(trace: &Path, text: &str, dependence: Dependence) -> Result<RunRecord, Error> {
    let read = Trace::read(BufReader::new(File::open(trace).unwrap())).unwrap();
    let options =
        ReplayOptions { name: None, file: trace.to_owned(), dependence, seed: 1, credits: BurstCredits::FULL };
    let bench = Bench::new();
    Ok(ReplayRun::prepare(read, &environment(text), options)?.run(bench.store())?.record)
}

/// An emulation that is recorded.
fn recorded(text: &str) -> Emulated {
    let bench = Bench::new();
    let trace = bench.path("trace");
    Emulated::with(text, bench, |options| options.trace = Some(trace))
}

/// Ends it; its folder, with the trace in it.
fn traced(emulated: Emulated) -> Bench {
    let (ended, bench) = emulated.end();
    ended.result.unwrap();
    bench
}

/// The mean size of a kind of request, bytes, and its longest latency, ns.
fn size_and_latency(record: &RunRecord, kind: &str) -> (u64, u64) {
    let of = &cells(record)[0][kind];
    let rate = |of: &Json| of.as_f64().unwrap();
    (
        (rate(&of["throughput_bytes_per_s"]) / rate(&of["iops"])).round() as u64,
        of["latency_ns"]["max"].as_u64().unwrap(),
    )
}

#[test]
fn a_request_that_went_to_the_model_in_slices_is_one_request_when_it_is_replayed() {
    let emulated = recorded(FINE);
    let asked = [(TRIM, 0, 3 << 30), (READ, 0, 4_096), (TRIM, 4 << 30, 2 << 30), (READ, 8_192, 4_096)];
    assert_eq!(ask(&emulated.socket(), &asked), [0; 4]);
    let bench = traced(emulated);
    let (trace, recorded) = (bench.path("trace"), bench.newest().unwrap());
    // After its head: five slices, two reads and the end.
    let told = fs::metadata(&trace).unwrap().len();
    assert!(told >= 8 * 44, "{told} B hold no slices");
    for by in [Dependence::Time, Dependence::Answers] {
        let replayed = replayed(&trace, FINE, by).unwrap();
        for (kind, size) in [("read", 4_096), ("trim", 5 << 29)] {
            let ((of_recorded, recorded), (of_replayed, replayed)) =
                (size_and_latency(&recorded, kind), size_and_latency(&replayed, kind));
            assert_eq!((of_recorded, of_replayed), (size, size), "{kind} by {by:?}");
            // Between two slices of the recording was what this machine took to hand over the next.
            assert!(replayed <= recorded, "{kind} by {by:?}: {replayed} {recorded}");
        }
    }
}

#[test]
fn a_trace_with_a_record_that_no_disk_can_have_met_is_refused_with_its_place() {
    let emulated = recorded(FINE);
    assert_eq!(ask(&emulated.socket(), &[(READ, 0, 512), (READ, 512, 512)]), [0; 2]);
    let bench = traced(emulated);
    let bytes = fs::read(bench.path("trace")).unwrap();
    // Two records and the end.
    let second = bytes.len() - 2 * 44;
    for (place, number) in [(second + 24, u64::MAX - 100), (second + 8, 1 << 62)] {
        let mut wrong = bytes.clone();
        wrong[place..place + 8].copy_from_slice(&number.to_le_bytes());
        let told = words(&Trace::read(&wrong[..]).unwrap_err());
        assert!(told.contains("record 1 of the trace makes no sense"), "{told}");
    }
    assert!(words(&Trace::read(&b"x"[..]).unwrap_err()).contains("no trace"));
}

#[test]
fn a_trace_that_was_cut_short_before_its_first_request_is_not_taken_for_an_idle_one() {
    let bench = traced(recorded(PAIR));
    let trace = bench.path("trace");
    let error = |trace: &Path| match replayed(trace, PAIR, Dependence::Time) {
        Err(Error::Replay(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(error(&trace), ReplayError::NoRequest);
    let bytes = fs::read(&trace).unwrap();
    fs::write(&trace, &bytes[..bytes.len() - 44]).unwrap();
    assert_eq!(error(&trace), ReplayError::CutShort);
}

#[test]
fn a_trace_replays_on_other_storage_and_tells_what_it_cannot_know() {
    let emulated = recorded(PAIR);
    assert_eq!(requests(&emulated.socket(), &[WRITE, READ, READ, WRITE, READ]), [0; 5]);
    let bench = traced(emulated);
    let trace = bench.path("trace");
    let slower = PAIR.replace("5000 IOPS", "100 IOPS");
    for by in [Dependence::Time, Dependence::Answers] {
        let record = replayed(&trace, &slower, by).unwrap();
        assert_eq!((record.header.clock, record.cells.len()), (Clock::Virtual, 1));
        assert_eq!(record.cells[0].volume, "data");
        assert!(doubts(&record).any(|doubt| doubt.code == DoubtCode::FewSamples));
        assert!(doubts(&record).all(|doubt| doubt.code != DoubtCode::EndedEarly));
        assert_eq!(schema_errors("run.schema.json", &summary(&record)), Vec::<String>::new());
        let binding = &cells(&record)[0]["binding"];
        let evidence = binding["evidence"].as_str().unwrap();
        assert!(binding["inferred"] == false && evidence.contains("its time went to"), "{binding}");
        // Five requests at 100 a second: the second to the fifth wait 10 ms each where they come at once, as they did nearly.
        assert!(evidence.contains("disk-iops"), "{evidence}");
    }
    let other = PAIR.replace("volume.data", "volume.dat");
    let error = replayed(&trace, &other, Dependence::Time).unwrap_err();
    assert!(matches!(error, Error::Replay(ReplayError::NoVolume { .. })), "{error}");
}

#[test]
fn what_a_killed_emulation_left_of_its_trace_is_replayed_and_doubted() {
    let emulated = recorded(PAIR);
    assert_eq!(requests(&emulated.socket(), &[WRITE, READ, READ]), [0; 3]);
    assert_eq!(ask(&emulated.socket(), &[(READ, 1_000 << 20, 512)]), [0]);
    let (trace, copy) = (emulated.bench.path("trace"), emulated.bench.path("copy"));
    let length = || fs::metadata(&trace).unwrap().len();
    let empty = length();
    assert!(empty > 0, "no head");
    assert!(wait_until(|| length() > empty), "nothing is written");
    // What is there while it goes on is what a killed one leaves.
    fs::copy(&trace, &copy).unwrap();
    let _bench = traced(emulated);
    let record = replayed(&copy, PAIR, Dependence::Time).unwrap();
    assert!(doubts(&record).any(|doubt| doubt.code == DoubtCode::EndedEarly), "{:?}", record.cells);
    // What lies beyond the end of a smaller disk is moved, and that is a doubt; more than it holds is refused.
    let small = replayed(&copy, &PAIR.replace("1 GiB", "64 MiB"), Dependence::Time).unwrap();
    let moved = doubts(&small).find(|doubt| doubt.code == DoubtCode::RequestsMoved).expect("the doubt is there");
    assert!(matches!(moved.seen, DoubtEvidence::RequestsBeyondEnd { requests: 1, .. }), "{moved:?}");
    assert_eq!(schema_errors("run.schema.json", &summary(&small)), Vec::<String>::new());
    let error = replayed(&copy, &PAIR.replace("1 GiB", "1 MiB"), Dependence::Time).unwrap_err();
    assert!(error.to_string().contains("asks for 2.00 MiB"), "{error}");
}
