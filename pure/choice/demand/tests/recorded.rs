//! What monitoring itself wrote of a disk that did 140 reads and 60 writes of 8 KiB a second, and outputs that say no demand.
//!
//! `UPDATE_GOLDEN=1 cargo test -p loadline-demand --test recorded` rewrites the table in the documents.

use loadline_demand::{Demand, DemandError, DemandInterval, ReadOptions, read};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Tool and version, its command, and the recorded file.
const OUTPUTS: [(&str, &str, &str); 22] = [
    ("dool 1.3.8", "`-tdr`, in bits", "dool/dool-tdr.csv"),
    ("dool 1.3.8", "`-tdr --bytes -D loop0,total`", "dool/dool-tdr-bytes.csv"),
    ("dool 1.3.8", "`-Td --disk-tps --bytes`", "dool/dool-epoch-tps-bytes.csv"),
    ("dool 1.3.8", "`-tdr --disk-util --disk-avgqu --disk-wait`", "dool/dool-util.csv"),
    ("dool 1.3.8", "`-dr`, without times", "dool/dool-no-time.csv"),
    ("dool 1.3.8", "`-tdr --bytes`, each 2 s", "dool/dool-two-seconds.csv"),
    ("dool 1.3.8", "`--dstat -tdr`", "dool/dool-dstat.csv"),
    ("dool 1.3.8", "no option", "dool/dool-default.csv"),
    ("dool 1.3.8", "its screen", "dool/dool-screen.txt"),
    ("dstat 0.8.0", "`-tdr`", "dool/dstat-tdr.csv"),
    ("sysstat 12.6.1", "`sar -A`", "sysstat/sar-all.txt"),
    ("sysstat 12.6.1", "`sadf -d FILE -- -A`", "sysstat/sadf-d-all.csv"),
    ("sysstat 12.6.1", "`sadf -p FILE -- -d`", "sysstat/sadf-p.txt"),
    ("sysstat 12.6.1", "`sadf -x FILE -- -d`", "sysstat/sadf.xml"),
    ("sysstat 12.6.1", "`sar -u`", "sysstat/sar-cpu.txt"),
    ("sysstat 12.6.1", "`sadf -d FILE -- -u`", "sysstat/sadf-d-cpu.csv"),
    ("procps 4.0.2", "`vmstat -d`", "sysstat/vmstat-d.txt"),
    ("bpftrace 0.17", "`biosnoop.bt`", "bpftrace/biosnoop.txt"),
    ("bpftrace 0.17", "`bitesize.bt`", "bpftrace/bitesize.txt"),
    ("pgbench 15.18", "`--progress=1`", "pgbench/progress.txt"),
    ("fio 3.33", "normal text", "fio/clones-apart.txt"),
    ("ioping 1.3", "text", "ioping/plain.txt"),
];

fn corpus(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/corpus").join(file)
}

#[expect(clippy::disallowed_methods, reason = "recorded outputs are files")]
fn text(file: &str) -> String {
    fs::read_to_string(corpus(file)).unwrap()
}

fn mean(demand: &Demand, of: fn(&DemandInterval) -> f64) -> f64 {
    demand.intervals.iter().map(of).sum::<f64>() / demand.intervals.len() as f64
}

/// Whether it is the load that ran, of four whole seconds at least.
fn is_the_load(demand: &Demand) -> bool {
    let (reads, writes) = (mean(demand, |one| one.reads_per_s), mean(demand, |one| one.writes_per_s));
    let size = mean(demand, DemandInterval::bytes_per_s) / (reads + writes);
    (138.0..=142.0).contains(&reads)
        && (58.0..=62.0).contains(&writes)
        && (8_100.0..=8_300.0).contains(&size)
        && demand.devices == ["loop0"]
        && demand.intervals.len() >= 4
}

#[expect(clippy::disallowed_methods, reason = "golden files are files")]
#[test]
fn everything_that_the_tools_wrote_is_read_as_it_was_or_refused_by_name() {
    let mut faults = Vec::new();
    let mut table = "| monitoring of | output | `loadline advise --from` |\n|---|---|---|\n".to_owned();
    // A loop device stands for another, unless it is asked for.
    let options = ReadOptions { devices: vec!["loop0".to_owned()], ..ReadOptions::default() };
    for (tool, command, file) in OUTPUTS {
        let said = match read(text(file).as_bytes(), file, &options) {
            Ok(demand) if is_the_load(&demand) => "read",
            Err(DemandError::Missing { .. }) => "refused: no requests",
            Err(DemandError::OtherTool { .. }) => "refused by name",
            other => {
                faults.push(format!("{file}: {other:?}"));
                continue;
            }
        };
        let _ = writeln!(table, "| {tool} | {command} | {said} |");
    }
    assert_eq!(faults, Vec::<String>::new());
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/formats/recorded.md");
    let text = fs::read_to_string(&page).unwrap();
    let begin = text.find("| monitoring of |").unwrap();
    let end = text[begin..].find("\n\n").map_or(text.len(), |length| begin + length + 1);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&page, format!("{}{table}{}", &text[..begin], &text[end..])).unwrap();
        return;
    }
    assert_eq!(
        &text[begin..end],
        table,
        "if the change is wanted: UPDATE_GOLDEN=1 cargo test -p loadline-demand --test recorded"
    );
}

#[test]
fn bits_and_the_lengths_of_intervals_are_those_of_the_command() {
    let of = |file: &str| read(text(file).as_bytes(), file, &ReadOptions::default()).unwrap();
    assert!(of("dool/dool-tdr.csv").notes.iter().any(|note| note.contains("its figures are bits")));
    let lengths = |file: &str| of(file).intervals.iter().map(|one| one.length_s).collect::<Vec<_>>();
    assert_eq!(lengths("dool/dool-two-seconds.csv"), [2.0; 4]);
    assert_eq!(lengths("dool/dool-no-time.csv"), [1.0; 5], "the command ends with 1 6");
    let with_queue = of("dool/dool-util.csv");
    assert!(mean(&with_queue, |one| one.in_flight.unwrap()) > 0.05 && with_queue.intervals[0].latency_ns.is_some());
    // Cut within its last line, and appended to by a second call.
    let whole = text("dool/dool-tdr-bytes.csv");
    let twice = format!("{}\n{whole}", &whole[..whole.len() - 30]);
    let demand = read(twice.as_bytes(), "f", &ReadOptions::default()).unwrap();
    assert_eq!(demand.intervals.len(), 4 + 5, "{demand:?}");
}
