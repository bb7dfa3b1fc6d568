//! Each format by lines or records as its tool writes them.

use super::*;
use proptest::prelude::*;

/// Time in us, operation, offset, length and the latency in us of each request.
fn found(bytes: &[u8], format: TraceFormat) -> Vec<(u64, Operation, u64, u64, Option<u64>)> {
    let (is, trace) = read(bytes).unwrap();
    assert_eq!(is, format);
    let took = |record: &TraceRecord| Some(record.completed_at?.since(record.submitted_at).as_ns() / 1_000);
    let row = |record: &TraceRecord| {
        (record.submitted_at.as_ns() / 1_000, record.operation, record.offset, record.length, took(record))
    };
    trace.records.iter().map(row).collect()
}

#[test]
fn what_is_no_request_is_counted_and_the_first_has_its_place() {
    let text = "time_us,operation,offset,length\n1,read,0,4096\n\n2,read,x,4096\n3,fly,0,4096\n";
    let notes = read(text.as_bytes()).unwrap().1.recording.unwrap();
    assert_eq!(
        (notes.requests, notes.left_out, notes.first_left_out.as_deref()),
        (1, 2, Some("line 4 (\"2,read,x,4096\")"))
    );
    let none = read(b"fio version 3 iolog\n0 /dev/x add\n5 /dev/x read 4096\n").unwrap_err().to_string();
    assert_eq!(none, "it holds no request; line 3 (\"5 /dev/x read 4096\") is none");
}

#[test]
fn records_of_blktrace_behind_a_broken_one_are_found_again() {
    let requests =
        "time_us,operation,offset,length,latency_us\n1,read,0,4096,9\n20,write,8192,512,5\n40,read,0,512,1\n";
    let bytes = write(&read(requests.as_bytes()).unwrap().1, Written::Blktrace);
    // The second request's first record loses a byte at its end, as in a file that was cut.
    let broken = [&bytes[..4 * 48 - 1], &bytes[4 * 48..]].concat();
    let notes = read(&broken).unwrap().1.recording.unwrap();
    assert_eq!((notes.requests, notes.left_out, notes.first_left_out.as_deref()), (3, 1, Some("byte 144")));
}

use Operation::{Flush, Read, Trim, Write};

#[test]
fn iologs_of_fio_have_times_or_pauses() {
    let third = "fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n5 /dev/sdb read 4096 8192\n9 /dev/sdb trim 0 4096\n\
                 12 /dev/sdb datasync\n13 /dev/sdb close\n";
    let all = [(0, Read, 4_096, 8_192, None), (4, Trim, 0, 4_096, None), (7, Flush, 0, 0, None)];
    assert_eq!(found(third.as_bytes(), TraceFormat::FioIolog), all);
    let second = "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb read 4096 8192\n/dev/sdb wait 4 0\n\
                  /dev/sdb write 0 4096\n";
    assert_eq!(
        found(second.as_bytes(), TraceFormat::FioIolog),
        [(0, Read, 4_096, 8_192, None), (4_000, Write, 0, 4_096, None)]
    );
    // Each wait is until so many ms after the start, as fio 3.33 takes it: these end after 3 s.
    let several = "fio version 2 iolog\n/dev/sdb read 0 512\n/dev/sdb wait 1000 0\n/dev/sdb read 512 512\n/dev/sdb wait 3000 0\n\
                   /dev/sdb read 1024 512\n";
    let times: Vec<u64> = found(several.as_bytes(), TraceFormat::FioIolog).iter().map(|row| row.0).collect();
    assert_eq!(times, [0, 1_000_000, 3_000_000]);
}

/// As the read-me files of the traces and programs that read them have the lines.
#[test]
fn published_traces_of_systor_fiu_and_spc_are_read() {
    let systor = "Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076000,0.000806000,R,0,899056122368,131072\n\
                  1456095145.134076000,0.000100000,,0,4096,4096\n1456095145.143076000,0.001000000,W,0,4096,8192\n";
    let all = [(0, Read, 899_056_122_368, 131_072, Some(806)), (10_000, Write, 4_096, 8_192, Some(1_000))];
    assert_eq!(found(systor.as_bytes(), TraceFormat::Systor), all);
    let (_, rest) = systor.split_once('\n').unwrap();
    assert_eq!(found(rest.as_bytes(), TraceFormat::Systor), all, "a part of a file has no heading");
    let fiu = "0 4892 syslogd 904265560 8 W 6 0 531e779e\n39064 2559 kjour nald 926858672 16 R 6 0 4fd0c43f\n";
    assert_eq!(
        found(fiu.as_bytes(), TraceFormat::Fiu),
        [(0, Write, 904_265_560 * 512, 4_096, None), (39, Read, 926_858_672 * 512, 8_192, None)]
    );
    let spc = "0,20941264,8192,W,0.551706,Alpha/NT\n1,3436288,15872,r,1.250720,0x123,5.99,test\n";
    assert_eq!(
        found(spc.as_bytes(), TraceFormat::Spc),
        [(0, Write, 20_941_264 * 512, 8_192, None), (699_014, Read, 3_436_288 * 512, 15_872, None)]
    );
}

#[test]
fn what_bpftrace_prints_is_named() {
    for (name, text) in [
        ("biosnoop", include_str!("../../../../../tests/corpus/bpftrace/biosnoop.txt")),
        ("bitesize", include_str!("../../../../../tests/corpus/bpftrace/bitesize.txt")),
    ] {
        let told = read(text.as_bytes()).unwrap_err().to_string();
        assert!(told.contains(name) && told.contains("loadline record"), "{told}");
    }
}

#[test]
fn what_blkparse_prints_is_joined() {
    let text = "  8,0    3       11     0.009507758   697  Q   W 223490 + 56 [kjournald]\n\
                \x20 8,0    3       12     0.009508758   697  D   W 223490 + 56 [kjournald]\n\
                \x20 8,0    3       13     0.009607758     0  C   W 223490 + 56 [0]\n\
                \x20 8,0    3        1     0.010000000   697  P   N [kjournald]\n";
    assert_eq!(found(text.as_bytes(), TraceFormat::Blkparse), [(0, Write, 223_490 * 512, 56 * 512, Some(100))]);
}

#[test]
fn events_of_issue_alone_are_requests_without_latencies() {
    let text = "202,16   4    50001  675.701491904   653  D  WS 154088048 + 80 [java]\n\
                202,16   3    50002  675.705310858   643  D   W 75077552 + 8 [kworker/u16:2]\n";
    assert_eq!(
        found(text.as_bytes(), TraceFormat::Blkparse),
        [(0, Write, 154_088_048 * 512, 80 * 512, None), (3_818, Write, 75_077_552 * 512, 4_096, None)]
    );
}

#[test]
fn blkparse_shows_errors_merges_remaps_and_what_is_broken() {
    // A write that was put back and fails, a flush, a trim, and a passed-through command, between lines of the queue.
    let text = "8,0 0 1 0.000000000 9 A W 2048 + 8 <- (8,1) 0\n\
                8,0 0 2 0.000000000 9 Q WS 2048 + 8 [my app]\n\
                8,0 0 3 0.000000200 9 G WS 2048 + 8 [my app]\n\
                8,0 0 4 0.000000300 9 D WS 2048 + 8 [my app]\n\
                8,0 0 5 0.000010000 9 R WS 2048 + 8 [0]\n\
                8,0 0 6 0.000020000 9 D WS 2048 + 8 [my app]\n\
                8,0 0 7 0.000100000 0 C WS 2048 + 8 [65531]\n\
                8,0 0 8 0.001000000 9 Q FN [my app]\n\
                8,0 0 9 0.001001000 9 D FN [my app]\n\
                8,0 0 10 0.001101000 0 C FN 0 [0]\n\
                8,0 0 11 0.002000000 9 Q DS 4096 + 16 [my app]\n\
                8,0 0 12 0.002001000 9 D DS 4096 + 16 [my app]\n\
                8,0 0 13 0.002101000 0 C DS 4096 + 16 [0]\n\
                8,0 0 14 0.003000000 9 Q N 36 (12 00 00 00 24 00 ..) [smartd]\n\
                8,0 0 15 0.004000000 9 Q R 99x + 8 [my app]\n\
                CPU0 (sda):\n Reads Queued: 1, 4KiB\n";
    assert_eq!(
        found(text.as_bytes(), TraceFormat::Blkparse),
        [
            (0, Write, 2_048 * 512, 4_096, Some(100)),
            (1_000, Flush, 0, 0, Some(101)),
            (2_000, Trim, 4_096 * 512, 8_192, Some(101))
        ]
    );
    let trace = read(text.as_bytes()).unwrap().1;
    let errors: Vec<bool> = trace.records.iter().map(|record| record.error.is_some()).collect();
    assert_eq!(errors, [true, false, false]);
    let notes = trace.recording.unwrap();
    assert_eq!(notes.left_out, 1);
    assert!(notes.first_left_out.unwrap().starts_with("line 15 ("), "the place is there");
}

#[test]
fn what_was_under_way_when_biosnoop_began_has_its_whole_latency() {
    let text = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
        0.000000    jbd2/sdb1-8    380    sdb     W 2406576    4096      3.21\n\
        0.000348    app            5689   sdb     W 9009528    4096      0.21\n";
    let rows = found(text.as_bytes(), TraceFormat::Biosnoop);
    let latencies: Vec<Option<u64>> = rows.iter().map(|row| row.4).collect();
    assert_eq!(latencies, [Some(3_210), Some(210)]);
}

#[test]
fn biosnoop_has_its_columns_in_a_header_and_names_with_blanks() {
    let text = "TIME(s)     COMM           PID     DISK    T SECTOR     BYTES  QUE(ms)  LAT(ms)\n\
                0.010       my app         123     vda     R 8          4096   1.0      2.0\n\
                0.020       x              124     vda     W 16         512    0.0      1.0\n\
                Lost 3 samples\n";
    let (_, trace) = read(text.as_bytes()).unwrap();
    let rows = found(text.as_bytes(), TraceFormat::Biosnoop);
    assert_eq!(rows, [(0, Read, 4_096, 4_096, Some(3_000)), (12_000, Write, 8_192, 512, Some(1_000))]);
    assert_eq!((trace.records[0].client, trace.recording.unwrap().left_out), (123, 1));
}

#[test]
fn published_traces_are_known_by_their_fields() {
    let msr = "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372003061639,usr,0,Write,0,512,10\n";
    assert_eq!(
        found(msr.as_bytes(), TraceFormat::Msr),
        [(0, Read, 7_014_609_920, 24_576, Some(4_128)), (1, Write, 0, 512, Some(1))]
    );
    let alibaba = "419,W,8192,4096,1577808144360767\n725,R,0,512,1577808144360867\n";
    assert_eq!(
        found(alibaba.as_bytes(), TraceFormat::Alibaba),
        [(0, Write, 8_192, 4_096, None), (100, Read, 0, 512, None)]
    );
    let tencent = "1538323200,12910952,128,0,1063\n1538323201,16,8,1,1063\n";
    assert_eq!(
        found(tencent.as_bytes(), TraceFormat::Tencent),
        [(0, Read, 12_910_952 * 512, 65_536, None), (1_000_000, Write, 8_192, 4_096, None)]
    );
}

#[test]
fn a_csv_is_read_by_its_names_and_refused_by_what_is_missing() {
    let text = "pid,op,lba,length,time_ms,latency_us\n7,R,8,4096,1.5,250\n8,flush,0,0,2,\n9,dance,0,1,3,1\n";
    assert_eq!(
        found(text.as_bytes(), TraceFormat::Csv),
        [(0, Read, 4_096, 4_096, Some(250)), (500, Flush, 0, 0, None)]
    );
    let without = "pid,op,offset,length,time,cpu\n7,R,8,4096,1.5,0\n";
    assert_eq!(read(without.as_bytes()).unwrap_err(), ImportTraceError::Unknown);
    let error = lines::rows(without.as_bytes(), TraceFormat::Csv).unwrap_err().to_string();
    assert!(error.contains("time_ns") && error.contains("pid, op, offset, length, time, cpu"), "{error}");
}

#[test]
fn vscsi_records_are_read_in_both_versions() {
    let mut first = Vec::new();
    for (number, (command, block, at)) in [(0x28_u16, 8_u64, 100_u64), (0x2a, 16, 350)].into_iter().enumerate() {
        first.extend((number as u32).to_le_bytes());
        first.extend(4_096_u32.to_le_bytes());
        first.extend(1_u32.to_le_bytes());
        first.extend(command.to_le_bytes());
        first.extend(0x0100_u16.to_le_bytes());
        first.extend(block.to_le_bytes());
        first.extend(at.to_le_bytes());
    }
    assert_eq!(found(&first, TraceFormat::Vscsi), [(0, Read, 4_096, 4_096, None), (250, Write, 8_192, 4_096, None)]);
    let mut second = Vec::new();
    for (command, block, at) in [(0x28_u16, 8_u64, 100_u64), (0x2a, 16, 350)] {
        second.extend(command.to_le_bytes());
        second.extend(0x0200_u16.to_le_bytes());
        second.extend(0_u32.to_le_bytes());
        second.extend(4_096_u32.to_le_bytes());
        second.extend(1_u32.to_le_bytes());
        second.extend(block.to_le_bytes());
        second.extend(at.to_le_bytes());
        second.extend(75_u64.to_le_bytes());
    }
    assert_eq!(
        found(&second, TraceFormat::Vscsi),
        [(0, Read, 4_096, 4_096, Some(75)), (250, Write, 8_192, 4_096, Some(75))]
    );
}

fn example() -> Trace {
    let text = "time_us,op,offset,length,latency_us,device,pid\n0,read,4096,8192,100,8:0,1\n50,write,0,4096,300,8:0,2\n\
                400,flush,0,0,20,8:0,2\n500,trim,8192,4096,10,8:0,1\n";
    let mut trace = read(text.as_bytes()).unwrap().1;
    trace.exports = vec!["8,0".to_owned()];
    trace
}

#[test]
fn what_is_written_is_read_again() {
    let trace = example();
    let key = |trace: &Trace, times: bool| {
        let of = |r: &TraceRecord| {
            (
                r.submitted_at.as_ns(),
                r.operation,
                r.offset,
                r.length,
                r.completed_at.filter(|_| times).map(Instant::as_ns),
            )
        };
        trace.records.iter().map(of).collect::<Vec<_>>()
    };
    for (format, times) in [(Written::FioIolog, false), (Written::Blktrace, true), (Written::Csv, true)] {
        let again = read(&write(&trace, format)).unwrap().1;
        assert_eq!(key(&again, times), key(&trace, times), "{format:?}");
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    for text in ["", "hello\n", "a,b,c\n1,2,3\n", "{\"jobs\": []}"] {
        assert_eq!(read(text.as_bytes()).unwrap_err(), ImportTraceError::Unknown, "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_numbers_make_it_fall_over(
        numbers in prop::collection::vec(any::<u64>(), 7), kind in prop::sample::select(vec!["R", "W", "0", "1", "Read"]),
    ) {
        let n = |at: usize| numbers[at];
        for text in [
            format!("{},h,0,{kind},{},{},{}\n", n(0), n(1), n(2), n(3)),
            format!("{},{kind},{},{},{}\n", n(0), n(1), n(2), n(3)),
            format!("{},{},{},{kind},{}\n", n(0), n(1), n(2), n(3)),
            format!("8,0 3 11 {}.{} 1 Q {kind} {} + {} [x]\n8,0 3 11 {}.5 1 C {kind} {} + {} [x]\n", n(0), n(1), n(2), n(3), n(4), n(2), n(3)),
            format!("time_s,op,sector,sectors,latency_s\n{},{kind},{},{},{}\n", n(0), n(1), n(2), n(3)),
        ] {
            let _ = read(text.as_bytes());
        }
        let mut record = 0x6561_7407_u32.to_le_bytes().to_vec();
        record.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        let _ = read(&record);
    }
}
