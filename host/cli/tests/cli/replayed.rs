//! `replay` of what a model is handed in slices, and of traces that nobody recorded.

use crate::Bench;
use crate::emulate::{end, start_on};
use crate::fault::{connected, head};
use serde_json::Value as Json;
use std::io::{Read, Write};

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

/// Asks the first volume, one request after the other: the kind, where, and how long.
fn ask(bench: &Bench, requests: &[(u16, u64, u32)]) {
    let mut stream = connected(bench);
    for (kind, offset, length) in requests {
        let mut asked = head(*kind);
        asked[16..24].copy_from_slice(&offset.to_be_bytes());
        asked[24..28].copy_from_slice(&length.to_be_bytes());
        stream.write_all(&asked).unwrap();
        let mut reply = [0; 16];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply[4..8], [0; 4], "{kind} {offset} {length}");
        if *kind == 0 {
            stream.read_exact(&mut vec![0; *length as usize]).unwrap();
        }
    }
}

/// The mean size of a kind of request, bytes, and its longest latency, ns.
fn size_and_latency(run: &Json, kind: &str) -> (u64, u64) {
    let of = &run["cells"][0][kind];
    let rate = |of: &Json| of.as_f64().unwrap();
    (
        (rate(&of["throughput_bytes_per_s"]) / rate(&of["iops"])).round() as u64,
        of["latency_ns"]["max"].as_u64().unwrap(),
    )
}

#[test]
fn a_request_that_went_to_the_model_in_slices_is_one_request_when_it_is_replayed() {
    const READ: u16 = 0;
    const TRIM: u16 = 4;
    let bench = Bench::new();
    let trace = bench.path("trace").display().to_string();
    let environment = bench.file("fine.toml", FINE);
    let child = start_on(&bench, FINE, &["--trace", &trace]);
    ask(&bench, &[(TRIM, 0, 3 << 30), (READ, 0, 4_096), (TRIM, 4 << 30, 2 << 30), (READ, 8_192, 4_096)]);
    assert_eq!(end(child, "-TERM").0, 0);
    let recorded = bench.last();
    // After its head: five slices, two reads and the end.
    let told = std::fs::metadata(&trace).unwrap().len();
    assert!(told >= 8 * 44, "{told} B hold no slices");
    for by in ["time", "answers"] {
        bench.done(&["replay", &trace, "--env", &environment, "--seed", "1", "--by", by]);
        let replayed = bench.last();
        for (kind, size) in [("read", 4_096), ("trim", 5 << 29)] {
            let ((of_recorded, recorded), (of_replayed, replayed)) =
                (size_and_latency(&recorded, kind), size_and_latency(&replayed, kind));
            assert_eq!((of_recorded, of_replayed), (size, size), "{kind} by {by}");
            // Between two slices of the recording was what this machine took to hand over the next.
            assert!(replayed <= recorded, "{kind} by {by}: {replayed} {recorded}");
        }
    }
    let shown = bench.done(&["show", "last"]);
    assert!(shown.contains("recorded reads (4 KiB on average, with trims)"), "{shown}");
}

#[test]
fn a_trace_with_a_record_that_no_disk_can_have_met_is_refused_with_its_place() {
    let bench = Bench::new();
    let trace = bench.path("trace");
    let child = start_on(&bench, FINE, &["--trace", &trace.display().to_string()]);
    ask(&bench, &[(0, 0, 512), (0, 512, 512)]);
    end(child, "-TERM");
    let bytes = std::fs::read(&trace).unwrap();
    // Two records and the end.
    let second = bytes.len() - 2 * 44;
    for (place, number) in [(second + 24, u64::MAX - 100), (second + 8, 1 << 62)] {
        let mut wrong = bytes.clone();
        wrong[place..place + 8].copy_from_slice(&number.to_le_bytes());
        let wrong = bench.file("wrong", wrong);
        let told = bench.refused(1, &["replay", &wrong, "--env", "ds3-p30"]);
        assert!(told.contains("record 1 of the trace makes no sense"), "{told}");
    }
}
