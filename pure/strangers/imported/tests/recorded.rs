//! What the tools themselves wrote, each with a load that is known: read as it was, or refused by name.
//!
//! `UPDATE_GOLDEN=1 cargo test -p loadline-imported --test recorded` rewrites the table in the documents.

use loadline_block::Operation;
use loadline_imported::{ImportError, Results, read};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What comes of an output.
enum Outcome {
    /// Reads, writes and flushes of each load.
    Read(&'static [(u64, u64, u64)]),
    /// By its name: a part of what is said.
    Refused(&'static str),
    /// Nothing in it shows what it is.
    Unknown,
}

use Outcome::{Read, Refused, Unknown};

/// Tool and version, its command, the recorded file, and what comes of it.
const OUTPUTS: [(&str, &str, &str, Outcome); 49] = [
    ("fio 3.33", "normal, `--group_reporting --status-interval=1`", "fio/status-grouped.txt", Read(&[(4_000, 0, 0)])),
    (
        "fio 3.33",
        "normal, two jobs, `--status-interval=1`",
        "fio/several-status.txt",
        Read(&[(1_200, 0, 0), (0, 400, 0)]),
    ),
    ("fio 3.33", "normal, `--numjobs=3`", "fio/clones-apart.txt", Read(&[(3_602, 0, 0)])),
    ("fio 3.33", "normal, `--unified_rw_reporting=1`", "fio/unified.txt", Read(&[(2_000, 2_000, 0)])),
    ("fio 3.33", "normal, `--unified_rw_reporting=2`", "fio/unified-both.txt", Read(&[(2_800, 1_200, 0)])),
    ("fio 3.33", "normal, `--client`", "fio/client.txt", Read(&[(1_499, 0, 0), (0, 300, 0)])),
    (
        "fio 3.33",
        "normal, `--client --status-interval=1`",
        "fio/client-status.txt",
        Read(&[(1_500, 0, 0), (0, 300, 0)]),
    ),
    ("fio 3.33", "normal, `--rw=write --verify=crc32c`", "fio/verify.txt", Read(&[(0, 512, 0), (512, 0, 0)])),
    (
        "fio 3.33",
        "terse, `--numjobs=2 --status-interval=1`",
        "fio/terse-status.txt",
        Read(&[(1_498, 0, 0), (1_497, 0, 0)]),
    ),
    ("diskspd 2.2.0", "`-Rxml`, by `measure.cmd` of `loadline convert`", "diskspd/mix.xml", Read(&[(7_314, 3_200, 0)])),
    ("diskspd 2.2.0", "text, `-t2 -w25 -g200i -L -D1000`", "diskspd/held.txt", Read(&[(640, 222, 0)])),
    ("diskspd 2.2.0", "`-Rxml`, ended by Ctrl-C", "diskspd/ctrl-c.xml", Read(&[(17_747, 0, 0)])),
    ("ioping 1.3", "`ioping -c 3`", "ioping/plain.txt", Read(&[(2, 0, 0)])),
    ("ioping 1.3", "`ioping -D -q -c 2000 -i 0`", "ioping/direct-quiet.txt", Read(&[(2_000, 0, 0)])),
    ("ioping 1.3", "`ioping -R`", "ioping/rate.txt", Read(&[(12_600, 0, 0)])),
    ("ioping 1.3", "`ioping -RD`", "ioping/rate-direct.txt", Read(&[(9_570, 0, 0)])),
    ("ioping 1.3", "`ioping -RL`", "ioping/sequential.txt", Read(&[(2_190, 0, 0)])),
    ("ioping 1.3", "`ioping -W -D -q`", "ioping/write.txt", Read(&[(0, 499, 0)])),
    ("ioping 1.3", "`ioping -s 64k -D -c 5000`", "ioping/64k.txt", Read(&[(5_000, 0, 0)])),
    ("ioping 1.3", "ended by Ctrl-C", "ioping/ctrl-c.txt", Read(&[(1, 0, 0)])),
    ("ioping 1.3", "`ioping -j`", "ioping/json.json", Read(&[(1, 0, 0)])),
    ("ioping 1.3", "`ioping -p 100 -q`", "ioping/print.txt", Read(&[(900, 0, 0)])),
    ("ioping 1.3", "`ioping -B`", "ioping/batch.txt", Read(&[(99, 0, 0)])),
    ("sysbench 1.0.20", "fileio, `seqwr`", "sysbench/seqwr.txt", Read(&[(0, 7_997, 324)])),
    ("sysbench 1.0.20", "fileio, `seqrewr`", "sysbench/seqrewr.txt", Read(&[(0, 7_097, 287)])),
    ("sysbench 1.0.20", "fileio, `seqrd`", "sysbench/seqrd.txt", Read(&[(460_724, 0, 0)])),
    ("sysbench 1.0.20", "fileio, `rndrd`", "sysbench/rndrd.txt", Read(&[(410_140, 0, 0)])),
    ("sysbench 1.0.20", "fileio, `rndwr`", "sysbench/rndwr.txt", Read(&[(0, 5_698, 231)])),
    ("sysbench 1.0.20", "fileio, `rndrw`", "sysbench/rndrw.txt", Read(&[(5_038, 3_359, 337)])),
    (
        "sysbench 1.0.20",
        "fileio, `--file-fsync-mode=fdatasync --file-fsync-freq=1`",
        "sysbench/fdatasync1.txt",
        Read(&[(0, 229, 917)]),
    ),
    ("sysbench 1.0.20", "fileio, `--file-io-mode=async`", "sysbench/async.txt", Read(&[(0, 24_521, 4)])),
    ("sysbench 1.0.20", "fileio, `--file-io-mode=mmap`", "sysbench/mmap.txt", Read(&[(569_331, 0, 0)])),
    (
        "sysbench 1.0.20",
        "fileio, `--threads=4 --report-interval=1`",
        "sysbench/interval.txt",
        Read(&[(13_018, 8_677, 884)]),
    ),
    (
        "sysbench 1.0.20",
        "fileio, `--histogram --file-fsync-end`",
        "sysbench/histogram.txt",
        Read(&[(105_230, 70_154, 4)]),
    ),
    (
        "pg_test_fsync 15.18",
        "`-s 1`",
        "pg_test_fsync/15.18.txt",
        Read(&[
            (0, 185, 0),
            (0, 217, 217),
            (0, 125, 125),
            (0, 208, 0),
            (0, 202, 0),
            (0, 312, 156),
            (0, 230, 115),
            (0, 78, 0),
            (0, 201, 0),
            (0, 198, 0),
            (0, 151, 0),
            (0, 262, 0),
            (0, 236, 0),
        ]),
    ),
    ("pgbench 15.18", "`-c 2 -T 3`", "pgbench/plain.txt", Refused("pgbench")),
    ("pgbench 15.18", "`--progress=1`", "pgbench/progress.txt", Refused("pgbench")),
    ("pgbench 15.18", "`-R 50 -L 20 --progress=1`", "pgbench/rate.txt", Refused("pgbench")),
    ("pgbench 15.18", "`-S -r`", "pgbench/select.txt", Refused("pgbench")),
    ("pgbench 15.18", "`-N -t 100`", "pgbench/simple.txt", Refused("pgbench")),
    ("pgbench 15.18", "`--max-tries=3 --progress-timestamp`", "pgbench/stamp.txt", Refused("pgbench")),
    ("pgbench 15.18", "`--log`", "pgbench/log.txt", Unknown),
    ("pgbench 15.18", "`--log --aggregate-interval=1`", "pgbench/log-aggregated.txt", Unknown),
    ("kbench", "summary", "kbench/summary.txt", Refused("kbench")),
    ("bpftrace 0.17", "`biosnoop.bt`", "bpftrace/biosnoop.txt", Refused("biosnoop")),
    ("bpftrace 0.17", "`bitesize.bt`", "bpftrace/bitesize.txt", Refused("bitesize")),
    ("dool 1.3.8", "`-tdr --output`", "dool/dool-tdr.csv", Refused("dool")),
    ("dool 1.3.8", "`--output`", "dool/dool-default.csv", Refused("dool")),
    ("dstat 0.8.0", "`-tdr --output`", "dool/dstat-tdr.csv", Refused("dstat")),
];

fn corpus(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/corpus").join(file)
}

fn counts(results: &Results) -> Vec<(u64, u64, u64)> {
    let of = |job: &loadline_imported::Job, operation| job.trial.of(operation).map_or(0, |record| record.count);
    let all = |job| (of(job, Operation::Read), of(job, Operation::Write), of(job, Operation::Flush));
    results.jobs.iter().map(all).collect()
}

/// What a file comes to, as the table says it, and whether that is what it was.
fn outcome(file: &str, expected: &Outcome) -> Result<&'static str, String> {
    #[expect(clippy::disallowed_methods, reason = "recorded outputs are files")]
    let text = fs::read_to_string(corpus(file)).map_err(|error| error.to_string())?;
    match (read(&text, file, 1_000_000_000), expected) {
        (Ok(results), Read(known)) => {
            let found = counts(&results);
            let is_same = found == *known && results.left_out.is_empty();
            if is_same { Ok("read") } else { Err(format!("{found:?}, left out {:?}", results.left_out)) }
        }
        (Err(ImportError::OtherTool { what, .. }), Refused(name)) if what.contains(name) => Ok("refused by name"),
        (Err(ImportError::Unknown { .. }), Unknown) => Ok("unknown"),
        (Ok(results), _) => Err(format!("read: {:?}", counts(&results))),
        (Err(error), _) => Err(error.to_string()),
    }
}

#[expect(clippy::disallowed_methods, reason = "golden files are files")]
#[test]
fn everything_that_the_tools_wrote_is_read_as_it_was_or_refused_by_name() {
    let mut faults = Vec::new();
    let mut table = "| results of | output | `loadline import` |\n|---|---|---|\n".to_owned();
    for (tool, command, file, expected) in &OUTPUTS {
        match outcome(file, expected) {
            Ok(said) => {
                let _ = writeln!(table, "| {tool} | {command} | {said} |");
            }
            Err(fault) => faults.push(format!("{file}: {fault}")),
        }
    }
    assert_eq!(faults, Vec::<String>::new());
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/formats/recorded.md");
    let text = fs::read_to_string(&page).unwrap();
    let begin = text.find("| results of |").unwrap();
    let end = text[begin..].find("\n\n").map_or(text.len(), |length| begin + length + 1);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&page, format!("{}{table}{}", &text[..begin], &text[end..])).unwrap();
        return;
    }
    assert_eq!(
        &text[begin..end],
        table,
        "if the change is wanted: UPDATE_GOLDEN=1 cargo test -p loadline-imported --test recorded"
    );
}

#[test]
fn diskspd_has_its_figures_as_it_printed_them() {
    #[expect(clippy::disallowed_methods, reason = "recorded outputs are files")]
    let of = |file: &str| read(&fs::read_to_string(corpus(file)).unwrap(), file, 0).unwrap();
    let mix = of("diskspd/mix.xml");
    let job = &mix.jobs[0];
    assert_eq!(
        (mix.version.as_deref(), job.target.as_deref()),
        (Some("2.2.0"), Some("C:\\scratch\\loadline-test.dat"))
    );
    assert_eq!((job.spec.reads.as_f64(), job.spec.outstanding(), job.spec.threads), (0.7, Some(8), 2));
    assert_eq!(job.trial.series.iops().collect::<Vec<_>>(), [4_067.0, 6_446.0]);
    assert_eq!(job.trial.iops(), Some(5_257.0));
    let reads = job.trial.of(Operation::Read).unwrap().figures().unwrap();
    assert_eq!(
        (reads.mean, reads.p50, reads.p99_9, reads.max),
        (206_000.0, Some(58_000), Some(10_528_000), 17_400_000)
    );
    // DiskSpd prints the rate that each thread is held to; the load has that of both.
    let held = of("diskspd/held.txt");
    let job = &held.jobs[0];
    assert_eq!((job.spec.threads, job.trial.count(), job.trial.warm_up_ns), (2, 862, 1_000_000_000));
    let rate = match job.spec.arrival {
        loadline_workload::Arrival::Closed { rate_max, .. } => rate_max.map(loadline_units::Iops::get),
        _ => None,
    };
    assert_eq!(rate, Some(400));
    let ended = of("diskspd/ctrl-c.xml");
    assert!(ended.notes.iter().any(|note| note.contains("ended by Ctrl-C")), "{:?}", ended.notes);
}

#[test]
fn what_all_requests_took_together_is_not_what_writes_took() {
    #[expect(clippy::disallowed_methods, reason = "recorded outputs are files")]
    let text = fs::read_to_string(corpus("fio/unified-both.txt")).unwrap();
    let results = read(&text, "f", 0).unwrap();
    let of = |operation| results.jobs[0].trial.of(operation).unwrap().figures().unwrap();
    assert_eq!((of(Operation::Write).p99, of(Operation::Read).p99), (Some(7_373_000), Some(1_237_000)));
}
